//! Queries: SELECT, set operations, table references.

use super::{DataType, FieldsLines, Hint};
use super::{Expr, ExprKind, Ident, IntroducedForm, JsonOnResponse, Literal, ObjectName, SourceText, Span, WindowSpec};
use std::borrow::Cow;

/// `[WITH ..] body [ORDER BY ..] [LIMIT ..] [INTO ..] [locking]`
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    pub with: Option<Box<With>>,
    pub body: QueryBody,
    pub order_by: Vec<OrderItem>,
    pub limit: Option<Box<Limit>>,
    /// only on the outermost query of a statement
    pub into: Option<Box<SelectInto>>,
    /// FOR UPDATE / FOR SHARE clauses, in order
    pub locking: Vec<Locking>,
    pub span: Span,
}

/// What a query's ORDER BY and LIMIT apply to.
#[derive(Clone, Debug, PartialEq)]
pub enum QueryBody {
    Select(Box<Select>),
    /// `VALUES ROW(..), ROW(..)`
    Values(Vec<Vec<Expr>>),
    /// `TABLE t`
    Table(Box<ObjectName>),
    SetOp(Box<SetOpChain>),
    /// A parenthesised query that has its own WITH, ORDER BY, LIMIT, INTO or locking
    Nested(Box<Query>),
}

/// Set operations, applied left to right: `((first op1 rest1) op2 rest2) ...`. INTERSECT binds tighter than UNION and
/// EXCEPT, so a chain is either all INTERSECT, or UNION and EXCEPT with INTERSECT chains as operands.
#[derive(Clone, Debug, PartialEq)]
pub struct SetOpChain {
    pub first: QueryBody,
    /// one or more
    pub rest: Vec<SetOpTerm>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct SetOpTerm {
    pub op: SetOp,
    /// ALL; otherwise DISTINCT
    pub all: bool,
    pub body: QueryBody,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SetOp {
    Union,
    Intersect,
    Except,
}

/// `WITH [RECURSIVE] cte, ...`
#[derive(Clone, Debug, PartialEq)]
pub struct With {
    pub recursive: bool,
    pub ctes: Vec<Cte>,
}

/// `name [(columns)] AS (query)`
#[derive(Clone, Debug, PartialEq)]
pub struct Cte {
    pub name: Ident,
    pub columns: Vec<Ident>,
    pub query: Query,
    pub span: Span,
}

/// `SELECT modifiers items FROM .. WHERE .. GROUP BY .. HAVING .. WINDOW ..`
#[derive(Clone, Debug, PartialEq)]
pub struct Select {
    pub modifiers: SelectModifiers,
    pub hints: Vec<Hint>,
    pub items: Vec<SelectItem>,
    /// Comma-separated; empty without FROM and for FROM DUAL
    pub from: Vec<TableRef>,
    /// FROM DUAL: unlike no FROM, it may have WHERE in every version
    pub from_dual: bool,
    pub where_: Option<Expr>,
    pub group_by: Option<Box<GroupBy>>,
    pub having: Option<Expr>,
    pub windows: Vec<NamedWindow>,
    pub span: Span,
}

/// Words between SELECT and the items.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SelectModifiers {
    pub distinct: bool,
    pub high_priority: bool,
    pub straight_join: bool,
    pub sql_small_result: bool,
    pub sql_big_result: bool,
    pub sql_buffer_result: bool,
    pub sql_no_cache: bool,
    pub sql_calc_found_rows: bool,
}

/// One output of a SELECT.
#[derive(Clone, Debug, PartialEq)]
pub enum SelectItem {
    /// `*`
    Wildcard(Span),
    /// `t.*`, `schema.t.*`
    QualifiedWildcard(ObjectName, Span),
    Expr(Box<SelectExpr>),
}

/// `expr [AS alias]`
#[derive(Clone, Debug, PartialEq)]
pub struct SelectExpr {
    pub expr: Expr,
    pub alias: Option<Ident>,
    /// the expression as written, without comments
    pub text: SourceText,
}

impl SelectExpr {
    /// The name of the output column as MySQL gives it: the alias, a column's own name, a string literal's value, or
    /// the source text.
    pub fn name(&self) -> Cow<'_, str> {
        if let Some(alias) = &self.alias {
            return Cow::Borrowed(alias);
        }
        match &self.expr.kind {
            ExprKind::Column(c) => Cow::Borrowed(&c.name),
            ExprKind::Literal(Literal::Str(s)) => String::from_utf8_lossy(s),
            ExprKind::Literal(Literal::Introduced(i))
                if matches!(i.form, IntroducedForm::Str | IntroducedForm::National) =>
            {
                String::from_utf8_lossy(&i.value)
            }
            ExprKind::Literal(Literal::Null) => Cow::Borrowed("NULL"),
            ExprKind::Literal(Literal::Bool(true)) => Cow::Borrowed("TRUE"),
            ExprKind::Literal(Literal::Bool(false)) => Cow::Borrowed("FALSE"),
            _ => Cow::Borrowed(&self.text),
        }
    }
}

/// `GROUP BY exprs [WITH ROLLUP]`
#[derive(Clone, Debug, PartialEq)]
pub struct GroupBy {
    pub exprs: Vec<Expr>,
    pub rollup: bool,
}

/// `WINDOW name AS (spec)`
#[derive(Clone, Debug, PartialEq)]
pub struct NamedWindow {
    pub name: Ident,
    pub spec: WindowSpec,
}

/// `expr [ASC|DESC]`
#[derive(Clone, Debug, PartialEq)]
pub struct OrderItem {
    pub expr: Expr,
    pub desc: bool,
}

/// `LIMIT count [OFFSET offset]`: integer literals, parameters or routine variables
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    pub count: Expr,
    pub offset: Option<Expr>,
}

/// Where a SELECT's rows go instead of to the client.
#[derive(Clone, Debug, PartialEq)]
pub enum SelectInto {
    Outfile { path: Box<str>, charset: Option<Ident>, format: FieldsLines },
    Dumpfile(Box<str>),
    Vars(Vec<IntoVar>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IntoVar {
    /// `@x`
    User(Ident),
    /// a routine's variable
    Local(Ident),
}

/// `FOR UPDATE|SHARE [OF tables] [NOWAIT|SKIP LOCKED]`; LOCK IN SHARE MODE is FOR SHARE
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Locking {
    pub strength: LockStrength,
    /// empty: all tables
    pub of: Vec<ObjectName>,
    pub wait: LockWait,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LockStrength {
    Update,
    Share,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LockWait {
    Wait,
    NoWait,
    SkipLocked,
}

/// A source of rows in FROM.
#[derive(Clone, Debug, PartialEq)]
pub enum TableRef {
    Table(Box<TableFactor>),
    Derived(Box<DerivedTable>),
    JsonTable(Box<JsonTable>),
    Join(Box<Join>),
}

/// `name [PARTITION (..)] [AS alias] [index hints]`
#[derive(Clone, Debug, PartialEq)]
pub struct TableFactor {
    pub name: ObjectName,
    pub partitions: Vec<Ident>,
    pub alias: Option<Ident>,
    pub index_hints: Vec<IndexHint>,
    pub span: Span,
}

/// `USE|FORCE|IGNORE INDEX [FOR scope] (names)`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexHint {
    pub kind: IndexHintKind,
    pub scope: IndexHintScope,
    /// `PRIMARY` names the primary key; may be empty for USE
    pub indexes: Vec<Ident>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IndexHintKind {
    Use,
    Force,
    Ignore,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IndexHintScope {
    All,
    Join,
    OrderBy,
    GroupBy,
}

/// `[LATERAL] (query) [AS] alias [(columns)]`
#[derive(Clone, Debug, PartialEq)]
pub struct DerivedTable {
    pub query: Query,
    pub alias: Ident,
    pub columns: Vec<Ident>,
    pub lateral: bool,
    pub span: Span,
}

/// A join. CROSS JOIN, JOIN, INNER JOIN and a comma inside parentheses are all `Inner`.
#[derive(Clone, Debug, PartialEq)]
pub struct Join {
    pub left: TableRef,
    pub right: TableRef,
    pub kind: JoinKind,
    pub constraint: JoinConstraint,
    pub span: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JoinKind {
    Inner,
    /// STRAIGHT_JOIN: inner, left table read first
    Straight,
    Left,
    Right,
}

#[derive(Clone, Debug, PartialEq)]
pub enum JoinConstraint {
    None,
    On(Expr),
    Using(Vec<Ident>),
    Natural,
}

/// `JSON_TABLE(doc, path COLUMNS (..)) [AS] alias`
#[derive(Clone, Debug, PartialEq)]
pub struct JsonTable {
    pub doc: Expr,
    pub path: Expr,
    pub columns: Vec<JsonTableColumn>,
    pub alias: Ident,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub enum JsonTableColumn {
    Ordinality(Ident),
    Path {
        name: Ident,
        ty: DataType,
        collation: Option<Ident>,
        /// EXISTS PATH
        exists: bool,
        path: Box<str>,
        on_empty: Option<JsonOnResponse>,
        on_error: Option<JsonOnResponse>,
    },
    Nested {
        path: Box<str>,
        columns: Vec<JsonTableColumn>,
    },
}
