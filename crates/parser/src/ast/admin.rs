//! Session, transactions, server and accounts.

use super::{Expr, Ident, ObjectName, Statement, VarScope};

/// One assignment of SET.
#[derive(Clone, Debug, PartialEq)]
pub enum SetItem {
    /// `@x = value`
    UserVar { name: Ident, value: Expr },
    /// `[scope] [component.]name = value`. Without a scope: a routine's variable if there is one, else a session's.
    Var { scope: Option<VarScope>, component: Option<Ident>, name: Ident, value: SetValue },
    /// `SET [scope] TRANSACTION ..`; without a scope: the next transaction only
    Transaction { scope: Option<VarScope>, isolation: Option<IsolationLevel>, read_only: Option<bool> },
    /// `SET NAMES cs [COLLATE c]`; None is DEFAULT
    Names { charset: Option<Ident>, collation: Option<Ident> },
    /// `SET CHARACTER SET cs`; None is DEFAULT
    Charset(Option<Ident>),
    /// `SET PASSWORD [FOR user] = 'x'`, or `TO RANDOM` (password None)
    Password { user: Option<Account>, password: Option<Box<str>>, replace: Option<Box<str>>, retain: bool },
    /// `SET RESOURCE GROUP g`
    ResourceGroup(Ident),
}

/// What a variable is set to.
#[derive(Clone, Debug, PartialEq)]
pub enum SetValue {
    Default,
    /// Words such as ON, ALL, BINARY, ROW and SYSTEM arrive as string literals; other bare names as columns, which the
    /// engine reads as strings
    Expr(Expr),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IsolationLevel {
    ReadUncommitted,
    ReadCommitted,
    RepeatableRead,
    Serializable,
}

/// SHOW: what, and for most of them LIKE or WHERE.
#[derive(Clone, Debug, PartialEq)]
pub struct Show {
    pub what: ShowWhat,
    pub filter: Option<ShowFilter>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ShowFilter {
    Like(Box<[u8]>),
    Where(Expr),
}

#[derive(Clone, Debug, PartialEq)]
pub enum ShowWhat {
    Databases,
    Tables {
        full: bool,
        extended: bool,
        schema: Option<Ident>,
    },
    TableStatus {
        schema: Option<Ident>,
    },
    OpenTables {
        schema: Option<Ident>,
    },
    Triggers {
        full: bool,
        schema: Option<Ident>,
    },
    Events {
        schema: Option<Ident>,
    },
    /// COLUMNS and FIELDS
    Columns {
        full: bool,
        extended: bool,
        table: ObjectName,
    },
    /// INDEX, INDEXES, KEYS
    Index {
        extended: bool,
        table: ObjectName,
    },
    CreateTable(ObjectName),
    CreateView(ObjectName),
    CreateDatabase {
        name: Ident,
        if_not_exists: bool,
    },
    CreateProcedure(ObjectName),
    CreateFunction(ObjectName),
    CreateTrigger(ObjectName),
    CreateEvent(ObjectName),
    CreateUser(Account),
    /// `global` false: SESSION, LOCAL or nothing
    Status {
        global: bool,
    },
    Variables {
        global: bool,
    },
    Engines,
    /// `engine` None is ALL
    Engine {
        engine: Option<Ident>,
        what: EngineShow,
    },
    ProcessList {
        full: bool,
    },
    Warnings {
        offset: u64,
        limit: Option<u64>,
    },
    Errors {
        offset: u64,
        limit: Option<u64>,
    },
    CountWarnings,
    CountErrors,
    Grants {
        user: Option<Account>,
        using: Vec<Account>,
    },
    Collation,
    CharacterSet,
    Privileges,
    Plugins,
    Profiles,
    Profile {
        types: Vec<Ident>,
        query: Option<u64>,
        offset: u64,
        limit: Option<u64>,
    },
    ProcedureStatus,
    FunctionStatus,
    ProcedureCode(ObjectName),
    FunctionCode(ObjectName),
    BinaryLogs,
    BinaryLogStatus,
    /// BINLOG EVENTS, RELAYLOG EVENTS, REPLICAS, REPLICA STATUS, PARSE_TREE: by name
    Other(Box<str>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EngineShow {
    Status,
    Mutex,
    Logs,
}

/// EXPLAIN of a statement or of another connection's.
#[derive(Clone, Debug, PartialEq)]
pub struct Explain {
    pub analyze: bool,
    pub format: Option<ExplainFormat>,
    /// EXTENDED or PARTITIONS, which MySQL 8 took away (it answers as without)
    pub legacy: Option<ExplainLegacy>,
    /// `INTO @var`
    pub into: Option<Ident>,
    /// `FOR SCHEMA name`
    pub schema: Option<Ident>,
    pub target: ExplainTarget,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExplainLegacy {
    Extended,
    Partitions,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExplainFormat {
    Traditional,
    Json,
    Tree,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ExplainTarget {
    /// SELECT, TABLE, VALUES, INSERT, REPLACE, UPDATE, DELETE
    Statement(Statement),
    Connection(u64),
}

/// The second word of DESCRIBE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DescribeColumn {
    Name(Ident),
    Like(Box<[u8]>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PrepareSource {
    Text(Box<[u8]>),
    UserVar(Ident),
}

/// `GET [CURRENT|STACKED] DIAGNOSTICS ..`
#[derive(Clone, Debug, PartialEq)]
pub struct GetDiagnostics {
    pub stacked: bool,
    /// None: statement information
    pub condition: Option<Expr>,
    /// target = item
    pub items: Vec<(DiagnosticsTarget, Ident)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiagnosticsTarget {
    UserVar(Ident),
    Local(Ident),
}

/// SIGNAL and RESIGNAL.
#[derive(Clone, Debug, PartialEq)]
pub struct Signal {
    pub resignal: bool,
    pub condition: Option<SignalCondition>,
    /// MESSAGE_TEXT and other items
    pub set: Vec<(Ident, Expr)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SignalCondition {
    SqlState(Box<str>),
    Name(Ident),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct BeginTransaction {
    pub consistent_snapshot: bool,
    pub read_only: Option<bool>,
}

/// `[AND [NO] CHAIN] [[NO] RELEASE]`; None leaves it to completion_type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct CompletionType {
    pub chain: Option<bool>,
    pub release: Option<bool>,
}

/// XA statements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Xa {
    /// START or BEGIN
    Start {
        xid: Xid,
        join: Option<XaJoin>,
    },
    End {
        xid: Xid,
        suspend: bool,
        for_migrate: bool,
    },
    Prepare(Xid),
    Commit {
        xid: Xid,
        one_phase: bool,
    },
    Rollback(Xid),
    Recover {
        convert_xid: bool,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum XaJoin {
    Join,
    Resume,
}

/// `gtrid [, bqual [, formatID]]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Xid {
    pub gtrid: Box<[u8]>,
    pub bqual: Option<Box<[u8]>>,
    pub format_id: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableLock {
    pub table: ObjectName,
    pub alias: Option<Ident>,
    pub kind: TableLockKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TableLockKind {
    Read,
    ReadLocal,
    Write,
    LowPriorityWrite,
}

/// `KILL [CONNECTION|QUERY] id`
#[derive(Clone, Debug, PartialEq)]
pub struct Kill {
    pub query: bool,
    pub id: Expr,
}

/// FLUSH.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flush {
    /// NO_WRITE_TO_BINLOG or LOCAL
    pub no_write_to_binlog: bool,
    pub what: FlushWhat,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FlushWhat {
    Tables {
        tables: Vec<ObjectName>,
        with_read_lock: bool,
        for_export: bool,
    },
    /// STATUS, PRIVILEGES, HOSTS, LOGS, BINARY LOGS, ...; upper case, each one blank
    Options(Vec<Box<str>>),
}

/// ANALYZE, CHECK, CHECKSUM, OPTIMIZE, REPAIR TABLE.
#[derive(Clone, Debug, PartialEq)]
pub struct TableMaintenance {
    pub op: MaintenanceOp,
    pub no_write_to_binlog: bool,
    pub tables: Vec<ObjectName>,
    /// FOR UPGRADE, QUICK, FAST, MEDIUM, EXTENDED, CHANGED, USE_FRM; upper case
    pub options: Vec<Ident>,
    pub histogram: Option<Histogram>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MaintenanceOp {
    Analyze,
    Check,
    Checksum,
    Optimize,
    Repair,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Histogram {
    Update { columns: Vec<Ident>, buckets: Option<u64>, using_data: Option<Box<str>>, auto_update: Option<bool> },
    Drop { columns: Vec<Ident> },
}

/// `'user'@'host'`, a role, or CURRENT_USER.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Account {
    /// host None means `%`
    Named {
        user: Box<str>,
        host: Option<Box<str>>,
    },
    CurrentUser,
}

/// An account in CREATE or ALTER USER, with its ways to prove itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserSpec {
    pub account: Account,
    pub auth: Option<AuthOption>,
    /// ALTER USER: DISCARD OLD PASSWORD
    pub discard_old: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthOption {
    /// IDENTIFIED WITH plugin
    pub plugin: Option<Ident>,
    pub secret: AuthSecret,
    /// REPLACE 'current'
    pub replace: Option<Box<str>>,
    /// RETAIN CURRENT PASSWORD
    pub retain: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AuthSecret {
    None,
    /// BY 'password'
    Password(Box<str>),
    /// BY RANDOM PASSWORD
    Random,
    /// AS 'hash'
    Hash(Box<[u8]>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateUser {
    pub if_not_exists: bool,
    pub users: Vec<UserSpec>,
    pub default_roles: Vec<Account>,
    pub options: AccountOptions,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlterUser {
    pub if_exists: bool,
    pub users: Vec<UserSpec>,
    pub default_roles: Option<DefaultRoles>,
    pub options: AccountOptions,
}

/// REQUIRE, WITH, PASSWORD, ACCOUNT, COMMENT and ATTRIBUTE.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct AccountOptions {
    pub require: Option<TlsRequire>,
    /// MAX_QUERIES_PER_HOUR and its kin, upper case
    pub resources: Vec<(Ident, u64)>,
    pub password: Vec<PasswordOption>,
    /// ACCOUNT LOCK
    pub locked: Option<bool>,
    pub comment: Option<Box<str>>,
    pub attribute: Option<Box<str>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TlsRequire {
    None,
    Ssl,
    X509,
    /// SUBJECT, ISSUER, CIPHER
    Details(Vec<(Ident, Box<str>)>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PasswordOption {
    Expire,
    ExpireDefault,
    ExpireNever,
    ExpireDays(u64),
    /// None is DEFAULT
    History(Option<u64>),
    ReuseDays(Option<u64>),
    /// CURRENT; Some(false) is OPTIONAL, None is DEFAULT
    RequireCurrent(Option<bool>),
    FailedLoginAttempts(u64),
    /// None is UNBOUNDED
    LockTime(Option<u64>),
}

/// GRANT.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    pub what: GrantWhat,
    pub to: Vec<UserSpec>,
    /// WITH GRANT OPTION, or WITH ADMIN OPTION for roles
    pub with_grant_option: bool,
    /// AS user [WITH ROLE ..]
    pub as_user: Option<Account>,
}

/// REVOKE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revoke {
    pub if_exists: bool,
    pub what: GrantWhat,
    pub from: Vec<Account>,
    pub ignore_unknown_user: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GrantWhat {
    Privileges {
        privileges: Vec<Privilege>,
        object: GrantObject,
        level: GrantLevel,
    },
    Roles(Vec<Account>),
    /// PROXY ON account
    Proxy(Account),
    /// REVOKE ALL PRIVILEGES, GRANT OPTION
    AllAndGrantOption,
}

/// `SELECT (a, b)`, `CREATE TEMPORARY TABLES`, a dynamic privilege, or `ALL`; upper case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Privilege {
    pub name: Box<str>,
    pub columns: Vec<Ident>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GrantObject {
    Table,
    Function,
    Procedure,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GrantLevel {
    /// `*.*`
    Global,
    /// `*`
    CurrentSchema,
    /// `db.*`
    Schema(Ident),
    Object(ObjectName),
}

/// SET ROLE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SetRole {
    Default,
    None,
    All,
    AllExcept(Vec<Account>),
    Roles(Vec<Account>),
}

/// SET DEFAULT ROLE and ALTER USER .. DEFAULT ROLE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DefaultRoles {
    None,
    All,
    Roles(Vec<Account>),
}
