//! Statements that change rows, and LOAD DATA.

use super::{ColumnRef, Expr, Hint, Ident, Limit, ObjectName, OrderItem, Query, SelectItem, Span, TableRef, With};

/// LOW_PRIORITY and its kin. Hints to MyISAM's table locks; they change no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Priority {
    #[default]
    Normal,
    Low,
    High,
    Delayed,
}

/// INSERT and REPLACE.
#[derive(Clone, Debug, PartialEq)]
pub struct Insert {
    pub hints: Vec<Hint>,
    /// REPLACE
    pub replace: bool,
    pub priority: Priority,
    pub ignore: bool,
    pub table: ObjectName,
    pub partitions: Vec<Ident>,
    /// None: no list, all columns in order. `()` is an empty list. `SET a = 1` is `(a) VALUES (1)`.
    pub columns: Option<Vec<ColumnRef>>,
    pub source: InsertSource,
    /// `AS new(a, b)`
    pub row_alias: Option<RowAlias>,
    pub on_duplicate: Vec<Assignment>,
    /// RETURNING (MariaDB's; MySQL has none)
    pub returning: Vec<SelectItem>,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub enum InsertSource {
    /// A row may be empty (`VALUES ()`: all defaults); bare DEFAULT is [`super::ExprKind::Default`]
    Values(Vec<Vec<Expr>>),
    Query(Box<Query>),
}

/// `AS alias [(columns)]` after VALUES or SET
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowAlias {
    pub name: Ident,
    pub columns: Vec<Ident>,
}

/// `column = value`
#[derive(Clone, Debug, PartialEq)]
pub struct Assignment {
    pub column: ColumnRef,
    pub value: Expr,
}

/// UPDATE of one table (then ORDER BY and LIMIT are possible) or of a join.
#[derive(Clone, Debug, PartialEq)]
pub struct Update {
    pub with: Option<Box<With>>,
    pub hints: Vec<Hint>,
    pub low_priority: bool,
    pub ignore: bool,
    pub tables: Vec<TableRef>,
    pub set: Vec<Assignment>,
    pub where_: Option<Expr>,
    pub order_by: Vec<OrderItem>,
    /// no OFFSET
    pub limit: Option<Expr>,
    pub span: Span,
}

/// DELETE.
#[derive(Clone, Debug, PartialEq)]
pub struct Delete {
    pub with: Option<Box<With>>,
    pub hints: Vec<Hint>,
    pub low_priority: bool,
    pub quick: bool,
    pub ignore: bool,
    /// Empty: the single-table form, whose table is `from[0]`. Else `DELETE targets FROM from` or `DELETE FROM targets
    /// USING from`; targets name tables or aliases of `from`.
    pub targets: Vec<ObjectName>,
    pub from: Vec<TableRef>,
    pub where_: Option<Expr>,
    pub order_by: Vec<OrderItem>,
    pub limit: Option<Expr>,
    /// RETURNING (MariaDB's; MySQL has none)
    pub returning: Vec<SelectItem>,
    pub span: Span,
}

/// LOAD DATA and LOAD XML.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadData {
    pub xml: bool,
    pub priority: LoadPriority,
    pub local: bool,
    pub path: Box<str>,
    pub duplicates: LoadDuplicates,
    pub table: ObjectName,
    pub partitions: Vec<Ident>,
    pub charset: Option<Ident>,
    /// XML: ROWS IDENTIFIED BY
    pub rows_identified_by: Option<Box<[u8]>>,
    pub format: FieldsLines,
    /// IGNORE n LINES
    pub ignore_lines: u64,
    /// None: all columns. Some entries may be user variables.
    pub columns: Option<Vec<LoadTarget>>,
    pub set: Vec<Assignment>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum LoadPriority {
    #[default]
    Normal,
    Low,
    Concurrent,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum LoadDuplicates {
    /// an error; with LOCAL the same as Ignore
    #[default]
    Error,
    Ignore,
    Replace,
}

#[derive(Clone, Debug, PartialEq)]
pub enum LoadTarget {
    Column(ColumnRef),
    UserVar(Ident),
}

/// FIELDS and LINES clauses; None is the documented default.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct FieldsLines {
    /// default tab
    pub fields_terminated_by: Option<Box<[u8]>>,
    /// default empty
    pub enclosed_by: Option<Box<[u8]>>,
    pub optionally_enclosed: bool,
    /// default backslash
    pub escaped_by: Option<Box<[u8]>>,
    /// default empty
    pub lines_starting_by: Option<Box<[u8]>>,
    /// default newline
    pub lines_terminated_by: Option<Box<[u8]>>,
}

/// HANDLER statements.
#[derive(Clone, Debug, PartialEq)]
pub enum Handler {
    Open { table: ObjectName, alias: Option<Ident> },
    Close(ObjectName),
    Read { table: ObjectName, target: HandlerRead, where_: Option<Expr>, limit: Option<Box<Limit>> },
}

#[derive(Clone, Debug, PartialEq)]
pub enum HandlerRead {
    /// table scan: FIRST or NEXT
    Scan(HandlerMove),
    /// along an index
    Index { index: Ident, step: HandlerMove },
    /// `index op (values)`
    Key { index: Ident, op: super::BinaryOp, values: Vec<Expr> },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HandlerMove {
    First,
    Next,
    Prev,
    Last,
}

/// `CALL name [(args)]`
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    pub name: ObjectName,
    pub args: Vec<Expr>,
}
