//! Expressions.
//!
//! Chains of AND and OR are n-ary nodes, because programs write them with thousands of terms. Chains of other binary
//! operators are left-deep; [`BinaryExpr`] drops, clones and compares its left spine without recursion, and
//! [`BinaryExpr::spine`] walks it, so that `1+1+1+...` of any length never exhausts a stack. Every other nesting is
//! bounded by the parser.

use super::{
    AggregateCall, BinaryExpr, BinaryOp, Cast, DateArith, FunctionCall, Ident, IntervalUnit, JsonValue, Literal, Match,
    Query, Span, SysVar, TemporalKind, Trim, UnaryOp, WeightString, WindowCall,
};

/// An expression and where it stood.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    pub kind: ExprKind,
    pub span: Span,
}

impl Expr {
    pub fn new(kind: ExprKind, span: Span) -> Expr {
        Expr { kind, span }
    }

    /// A NULL from nowhere, to leave behind when an operand is taken.
    pub fn null() -> Expr {
        Expr { kind: ExprKind::Literal(Literal::Null), span: Span::default() }
    }

    /// Takes the expression out, leaving NULL.
    pub fn take(&mut self) -> Expr {
        std::mem::replace(self, Expr::null())
    }

    pub fn as_literal(&self) -> Option<&Literal> {
        match &self.kind {
            ExprKind::Literal(l) => Some(l),
            _ => None,
        }
    }

    pub fn as_column(&self) -> Option<&ColumnRef> {
        match &self.kind {
            ExprKind::Column(c) => Some(c),
            _ => None,
        }
    }
}

/// What an expression is.
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    Literal(Literal),
    Column(Box<ColumnRef>),
    /// `?`, numbered from 0 in the order of the text
    Param(u32),
    /// `@name`; the name is case-insensitive
    UserVar(Ident),
    /// `@name := value`
    Assign(Box<(Ident, Expr)>),
    /// `@@[scope.]name`
    SysVar(Box<SysVar>),
    /// bare DEFAULT as a value in INSERT, UPDATE and SET
    Default,
    /// `DEFAULT(column)`
    DefaultOf(Box<ColumnRef>),
    /// `VALUES(column)` in ON DUPLICATE KEY UPDATE
    ValuesOf(Box<ColumnRef>),
    Unary(UnaryOp, Box<Expr>),
    Binary(Box<BinaryExpr>),
    /// two or more terms
    And(Box<[Expr]>),
    /// two or more terms
    Or(Box<[Expr]>),
    /// `x IS [NOT] NULL | TRUE | FALSE | UNKNOWN`
    Is(Box<Is>),
    InList(Box<InList>),
    InSubquery(Box<InSubquery>),
    Between(Box<Between>),
    Like(Box<Like>),
    /// `x [NOT] REGEXP y`, RLIKE
    Regexp(Box<Regexp>),
    /// `x op ANY|ALL (query)`
    Quantified(Box<Quantified>),
    /// `(a, b, ...)` or `ROW(a, b)`: two or more
    Row(Box<[Expr]>),
    Subquery(Box<Query>),
    /// `EXISTS (query)`; NOT EXISTS is a [`UnaryOp::Not`] around it
    Exists(Box<Query>),
    Case(Box<Case>),
    /// CAST(x AS type) and CONVERT(x, type)
    Cast(Box<Cast>),
    /// `CONVERT(x USING charset)`
    ConvertUsing(Box<(Expr, Ident)>),
    Collate(Box<(Expr, Ident)>),
    /// `date + INTERVAL value unit`, `INTERVAL value unit + date`, `date - INTERVAL ..`, DATE_ADD, DATE_SUB, ADDDATE
    /// and SUBDATE with an INTERVAL, and TIMESTAMPADD
    DateArith(Box<DateArith>),
    /// Any function without a node of its own
    Function(Box<FunctionCall>),
    /// An aggregate, with or without OVER
    Aggregate(Box<AggregateCall>),
    /// A function that exists only with OVER
    Window(Box<WindowCall>),
    /// `EXTRACT(unit FROM x)`
    Extract(IntervalUnit, Box<Expr>),
    /// `TIMESTAMPDIFF(unit, from, to)`
    TimestampDiff(Box<(IntervalUnit, Expr, Expr)>),
    Trim(Box<Trim>),
    /// `MATCH (columns) AGAINST (x mode)`
    Match(Box<Match>),
    /// `CHAR(n, ... USING charset)`; CHAR without USING is a [`FunctionCall`] named `char`
    CharUsing(Box<(Vec<Expr>, Ident)>),
    /// `GET_FORMAT(DATE | TIME | DATETIME, x)`
    GetFormat(TemporalKind, Box<Expr>),
    /// `WEIGHT_STRING(x [AS CHAR(n) | BINARY(n)])`
    WeightString(Box<WeightString>),
    /// `JSON_VALUE(doc, path [RETURNING type] [.. ON EMPTY] [.. ON ERROR])`
    JsonValue(Box<JsonValue>),
}

/// `[[schema.]table.]name`
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ColumnRef {
    pub schema: Option<Ident>,
    pub table: Option<Ident>,
    pub name: Ident,
}

/// `expr IS [NOT] test`
#[derive(Clone, Debug, PartialEq)]
pub struct Is {
    pub expr: Expr,
    pub test: IsTest,
    pub negated: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IsTest {
    Null,
    True,
    False,
    /// same as Null for a predicate
    Unknown,
}

/// `expr [NOT] IN (list)`, one or more values
#[derive(Clone, Debug, PartialEq)]
pub struct InList {
    pub expr: Expr,
    pub list: Vec<Expr>,
    pub negated: bool,
}

/// `expr [NOT] IN (query)`; `expr` may be a row
#[derive(Clone, Debug, PartialEq)]
pub struct InSubquery {
    pub expr: Expr,
    pub query: Query,
    pub negated: bool,
}

/// `expr [NOT] BETWEEN low AND high`
#[derive(Clone, Debug, PartialEq)]
pub struct Between {
    pub expr: Expr,
    pub low: Expr,
    pub high: Expr,
    pub negated: bool,
}

/// `expr [NOT] LIKE pattern [ESCAPE escape]`
#[derive(Clone, Debug, PartialEq)]
pub struct Like {
    pub expr: Expr,
    pub pattern: Expr,
    pub escape: Option<Expr>,
    pub negated: bool,
}

/// `expr [NOT] REGEXP pattern`
#[derive(Clone, Debug, PartialEq)]
pub struct Regexp {
    pub expr: Expr,
    pub pattern: Expr,
    pub negated: bool,
}

/// `left op ANY (query)` or `left op ALL (query)`; SOME is ANY
#[derive(Clone, Debug, PartialEq)]
pub struct Quantified {
    pub left: Expr,
    /// a comparison
    pub op: BinaryOp,
    pub all: bool,
    pub query: Query,
}

/// `CASE [operand] WHEN .. THEN .. ELSE .. END`
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    pub operand: Option<Expr>,
    /// (WHEN, THEN), one or more
    pub whens: Vec<(Expr, Expr)>,
    pub else_expr: Option<Expr>,
}
