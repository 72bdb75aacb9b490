//! The tree that the grammar builds: owned, boxed enums, one type per construct of the language.
//!
//! - [`expr`], [`literal`], [`operator`], [`function`]: expressions; every node carries its [`Span`].
//! - [`query`]: SELECT, set operations, FROM.
//! - [`dml`]: INSERT, UPDATE, DELETE, LOAD DATA, CALL, DO, HANDLER.
//! - [`ddl`], [`data_type`], [`partition`], [`alter`]: tables, indexes, views, schemas.
//! - [`NameUse`]: what a query names, to be changed; [`TableUse`]: the tables that a statement names, to be looked at.
//! - [`admin`]: SET, SHOW, EXPLAIN, transactions, accounts, maintenance.
//!
//! Equality compares meaning: [`Span`] and [`SourceText`] are positions and spellings, so they always compare equal.

pub mod admin;
pub mod alter;
pub mod data_type;
pub mod ddl;
pub mod dml;
pub mod expr;
pub mod function;
mod hint;
pub mod literal;
mod names;
pub mod operator;
pub mod partition;
pub mod query;
mod uses;

pub use admin::*;
pub use alter::*;
pub use data_type::*;
pub use ddl::*;
pub use dml::*;
pub use expr::*;
pub use function::*;
pub use hint::*;
pub use literal::*;
pub use names::NameUse;
pub use operator::*;
pub use partition::*;
pub use query::*;
pub use uses::{TableUse, TableUses};

use std::fmt;
use std::ops::Deref;

/// Byte offsets of a node in the statement's text, end exclusive.
#[derive(Clone, Copy, Default)]
pub struct Span {
    pub start: u32,
    pub end: u32,
}

impl Span {
    pub const fn new(start: u32, end: u32) -> Span {
        Span { start, end }
    }

    /// From the start of `self` to the end of `last`.
    pub const fn to(self, last: Span) -> Span {
        Span { start: self.start, end: last.end }
    }

    /// The text under the span. Empty where the span does not fit `source`.
    pub fn of(self, source: &[u8]) -> &[u8] {
        source.get(self.start as usize..self.end as usize).unwrap_or_default()
    }
}

impl PartialEq for Span {
    fn eq(&self, _: &Span) -> bool {
        true
    }
}

impl Eq for Span {}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.start, self.end)
    }
}

/// The spelling of a construct in the statement, kept where MySQL shows it again (unaliased select items, view bodies).
#[derive(Clone, Default)]
pub struct SourceText(pub Box<str>);

impl PartialEq for SourceText {
    fn eq(&self, _: &SourceText) -> bool {
        true
    }
}

impl Eq for SourceText {}

impl fmt::Debug for SourceText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Deref for SourceText {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

/// An identifier with quotes taken off, as written. Which names are equal regardless of case is the catalog's matter;
/// `==` here is exact.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Ident(pub Box<str>);

impl Ident {
    pub fn new(name: impl Into<Box<str>>) -> Ident {
        Ident(name.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn is(&self, name: &str) -> bool {
        self.0.eq_ignore_ascii_case(name)
    }
}

impl Deref for Ident {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Ident {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", &self.0)
    }
}

impl From<&str> for Ident {
    fn from(s: &str) -> Ident {
        Ident(s.into())
    }
}

impl From<String> for Ident {
    fn from(s: String) -> Ident {
        Ident(s.into())
    }
}

/// `[schema.]name` of a table, view, routine, trigger or event.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ObjectName {
    pub schema: Option<Ident>,
    pub name: Ident,
}

/// A statement. Large ones are boxed, so that this stays small.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    // queries and changes of rows
    /// SELECT, TABLE, VALUES, WITH, parenthesised queries, set operations
    Query(Box<Query>),
    /// INSERT and REPLACE
    Insert(Box<Insert>),
    Update(Box<Update>),
    Delete(Box<Delete>),
    LoadData(Box<LoadData>),
    Call(Box<Call>),
    /// DO expr, expr: evaluate, answer nothing
    Do(Vec<Expr>),
    Handler(Box<Handler>),

    // schema
    CreateDatabase(Box<CreateDatabase>),
    AlterDatabase(Box<AlterDatabase>),
    DropDatabase {
        if_exists: bool,
        name: Ident,
    },
    CreateTable(Box<CreateTable>),
    AlterTable(Box<AlterTable>),
    DropTable(Box<DropTable>),
    RenameTable(Vec<(ObjectName, ObjectName)>),
    Truncate(ObjectName),
    CreateIndex(Box<CreateIndex>),
    DropIndex(Box<DropIndex>),
    /// CREATE [OR REPLACE] VIEW and ALTER VIEW
    CreateView(Box<CreateView>),
    DropView(Box<DropView>),

    // session
    Use(Ident),
    Set(Vec<SetItem>),
    Show(Box<Show>),
    Explain(Box<Explain>),
    /// DESCRIBE t [column or pattern]
    Describe {
        table: ObjectName,
        column: Option<DescribeColumn>,
    },
    Help(Box<str>),
    Prepare {
        name: Ident,
        source: PrepareSource,
    },
    Execute {
        name: Ident,
        using: Vec<Ident>,
    },
    Deallocate(Ident),
    GetDiagnostics(Box<GetDiagnostics>),
    /// SIGNAL (`resignal` false) and RESIGNAL
    Signal(Box<Signal>),

    // transactions and locks
    /// `BEGIN [WORK]` and START TRANSACTION
    Begin(BeginTransaction),
    Commit(CompletionType),
    Rollback(CompletionType),
    Savepoint(Ident),
    RollbackTo(Ident),
    ReleaseSavepoint(Ident),
    Xa(Xa),
    LockTables(Vec<TableLock>),
    UnlockTables,
    /// LOCK INSTANCE FOR BACKUP
    LockInstance,
    UnlockInstance,

    // server
    Kill(Kill),
    Flush(Box<Flush>),
    /// RESET MASTER, REPLICA, PERSIST, ...
    Reset(Vec<Box<str>>),
    TableMaintenance(Box<TableMaintenance>),
    Shutdown,
    Restart,
    /// BACKUP TO 'folder'; ours
    BackupTo(Box<str>),

    // accounts
    CreateUser(Box<CreateUser>),
    AlterUser(Box<AlterUser>),
    DropUser {
        if_exists: bool,
        users: Vec<Account>,
    },
    RenameUser(Vec<(Account, Account)>),
    CreateRole {
        if_not_exists: bool,
        roles: Vec<Account>,
    },
    DropRole {
        if_exists: bool,
        roles: Vec<Account>,
    },
    Grant(Box<Grant>),
    Revoke(Box<Revoke>),
    SetRole(SetRole),
    SetDefaultRole {
        roles: DefaultRoles,
        users: Vec<Account>,
    },

    /// A statement whose first words name it surely, but which the grammar does not take apart (CREATE PROCEDURE,
    /// CREATE TABLESPACE, ...). `what` is its name, for "not supported" answers.
    Raw {
        what: &'static str,
        text: SourceText,
    },
}
