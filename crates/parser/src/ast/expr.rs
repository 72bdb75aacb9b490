//! Expressions.
//!
//! Chains of AND and OR are n-ary nodes, because programs write them with thousands of terms. Chains of other binary
//! operators are left-deep; [`BinaryExpr`] drops, clones and compares its left spine without recursion, and
//! [`BinaryExpr::spine`] walks it, so that `1+1+1+...` of any length never exhausts a stack. Every other nesting is
//! bounded by the parser.

use super::{Ident, OrderItem, Query, Span};
use std::fmt;

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
    /// `date + INTERVAL value unit`, `INTERVAL value unit + date`, `date - INTERVAL ..`, DATE_ADD, DATE_SUB, ADDDATE and
    /// SUBDATE with an INTERVAL, and TIMESTAMPADD
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

/// A constant as written. Signs are [`UnaryOp::Neg`].
#[derive(Clone, PartialEq)]
pub enum Literal {
    Null,
    Bool(bool),
    /// Integers that fit; larger ones are `Decimal`
    Int(u64),
    /// Digits with at most one point, e.g. `1.50`, `.5`, or an integer beyond u64
    Decimal(Box<str>),
    /// Has an exponent
    Float(f64),
    /// `'..'` in the connection's character set; escapes resolved, adjacent literals joined. `\%` and `\_` keep their
    /// backslash (MySQL manual, "String Literals").
    Str(Box<[u8]>),
    /// `N'..'` (charset `utf8mb3`) or `_charset'..'`, `_charset x'..'`, `_charset b'..'`
    Introduced(Box<Introduced>),
    /// `x'..'` and `0x..`: a binary string, or an unsigned integer in numeric contexts
    Hex(Box<[u8]>),
    /// `b'..'` and `0b..`: likewise
    Bit(Box<[u8]>),
    /// `DATE '..'`, `{d '..'}` and so on
    Temporal(TemporalKind, Box<str>),
}

impl fmt::Debug for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Literal::Null => f.write_str("NULL"),
            Literal::Bool(b) => write!(f, "{b}"),
            Literal::Int(v) => write!(f, "{v}"),
            Literal::Decimal(s) => write!(f, "dec {s}"),
            Literal::Float(v) => write!(f, "{v:?}"),
            Literal::Str(s) => write!(f, "{:?}", String::from_utf8_lossy(s)),
            Literal::Introduced(i) => write!(f, "_{:?} {:?}", i.charset, i.value.escape_ascii().to_string()),
            Literal::Hex(b) => write!(f, "x'{}'", b.escape_ascii()),
            Literal::Bit(b) => write!(f, "b'{}'", b.escape_ascii()),
            Literal::Temporal(k, s) => write!(f, "{k:?} {s:?}"),
        }
    }
}

/// A literal with a character set introducer.
#[derive(Clone, Debug, PartialEq)]
pub struct Introduced {
    /// lower case, without the underscore
    pub charset: Ident,
    /// bytes in that character set
    pub value: Box<[u8]>,
    pub form: IntroducedForm,
}

/// How an introduced literal was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntroducedForm {
    /// `_cs'..'`
    Str,
    /// `N'..'`
    National,
    /// `_cs x'..'`, `_cs 0x..`
    Hex,
    /// `_cs b'..'`
    Bit,
}

/// DATE, TIME or TIMESTAMP/DATETIME.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TemporalKind {
    Date,
    Time,
    DateTime,
}

/// `@@[scope.][component.]name`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SysVar {
    pub scope: Option<VarScope>,
    /// of `component.name` (key caches, components)
    pub component: Option<Ident>,
    pub name: Ident,
}

/// Where a system variable lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VarScope {
    Global,
    /// also LOCAL
    Session,
    Persist,
    PersistOnly,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    /// `-x`
    Neg,
    /// `+x`: the value itself
    Plus,
    /// `~x`
    BitNot,
    /// `NOT x` and `!x`
    Not,
    /// `BINARY x`
    Binary,
}

/// Binary operators other than AND and OR.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    Xor,
    Eq,
    /// `<=>`
    NullSafeEq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    BitOr,
    BitAnd,
    BitXor,
    ShiftLeft,
    ShiftRight,
    Add,
    Sub,
    Mul,
    /// `/`
    Div,
    /// `DIV`
    IntDiv,
    /// `%` and MOD
    Mod,
    /// `||` under PIPES_AS_CONCAT
    Concat,
    /// `column -> path`
    JsonExtract,
    /// `column ->> path`
    JsonUnquote,
    /// `x MEMBER OF (y)`
    MemberOf,
    /// `x SOUNDS LIKE y`
    SoundsLike,
}

impl BinaryOp {
    /// `=`, `<=>`, `<>`, `<`, `<=`, `>`, `>=`
    pub const fn is_comparison(self) -> bool {
        use BinaryOp::*;
        matches!(self, Eq | NullSafeEq | Ne | Lt | Le | Gt | Ge)
    }

    /// The operator in SQL.
    pub const fn symbol(self) -> &'static str {
        use BinaryOp::*;
        match self {
            Xor => "xor",
            Eq => "=",
            NullSafeEq => "<=>",
            Ne => "<>",
            Lt => "<",
            Le => "<=",
            Gt => ">",
            Ge => ">=",
            BitOr => "|",
            BitAnd => "&",
            BitXor => "^",
            ShiftLeft => "<<",
            ShiftRight => ">>",
            Add => "+",
            Sub => "-",
            Mul => "*",
            Div => "/",
            IntDiv => "DIV",
            Mod => "%",
            Concat => "||",
            JsonExtract => "->",
            JsonUnquote => "->>",
            MemberOf => "member of",
            SoundsLike => "sounds like",
        }
    }
}

/// `left op right`. Left-associative chains are deep on the left; use [`BinaryExpr::spine`] to walk them.
pub struct BinaryExpr {
    pub op: BinaryOp,
    pub left: Expr,
    pub right: Expr,
}

impl BinaryExpr {
    pub fn new(op: BinaryOp, left: Expr, right: Expr) -> Box<BinaryExpr> {
        Box::new(BinaryExpr { op, left, right })
    }

    /// Takes the node apart (its `Drop` forbids moving fields out).
    pub fn into_parts(mut self) -> (BinaryOp, Expr, Expr) {
        (self.op, self.left.take(), self.right.take())
    }

    /// The left-deep chain as (leftmost operand, nodes from the innermost to this one): evaluate the operand, then apply
    /// each node's `op` and `right` in turn. Never recurses.
    pub fn spine(&self) -> (&Expr, Vec<&BinaryExpr>) {
        let mut nodes = vec![self];
        let mut left = &self.left;
        while let ExprKind::Binary(b) = &left.kind {
            nodes.push(b);
            left = &b.left;
        }
        nodes.reverse();
        (left, nodes)
    }
}

impl Drop for BinaryExpr {
    fn drop(&mut self) {
        if !matches!(self.left.kind, ExprKind::Binary(_)) {
            return;
        }
        let mut left = self.left.take();
        while let ExprKind::Binary(b) = &mut left.kind {
            left = b.left.take();
        }
    }
}

impl Clone for BinaryExpr {
    fn clone(&self) -> BinaryExpr {
        let (first, nodes) = self.spine();
        let mut left = first.clone();
        for (i, node) in nodes.iter().enumerate() {
            let joined = BinaryExpr { op: node.op, left, right: node.right.clone() };
            match nodes.get(i + 1) {
                Some(outer) => left = Expr::new(ExprKind::Binary(Box::new(joined)), outer.left.span),
                None => return joined,
            }
        }
        unreachable!("the spine holds at least its own node")
    }
}

impl PartialEq for BinaryExpr {
    fn eq(&self, other: &BinaryExpr) -> bool {
        let ((a, a_nodes), (b, b_nodes)) = (self.spine(), other.spine());
        a_nodes.len() == b_nodes.len()
            && a == b
            && a_nodes.iter().zip(&b_nodes).all(|(x, y)| x.op == y.op && x.right == y.right)
    }
}

impl fmt::Debug for BinaryExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, nodes) = self.spine();
        for _ in &nodes {
            f.write_str("(")?;
        }
        write!(f, "{first:?}")?;
        for node in &nodes {
            write!(f, " {} {:?})", node.op.symbol(), node.right)?;
        }
        Ok(())
    }
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

/// `CAST(expr [AT TIME ZONE zone] AS target [ARRAY])`
#[derive(Clone, Debug, PartialEq)]
pub struct Cast {
    pub expr: Expr,
    pub target: CastType,
    /// `AS type ARRAY` of multi-valued indexes
    pub array: bool,
    /// `AT TIME ZONE [INTERVAL] '+00:00'`
    pub at_time_zone: Option<Box<str>>,
}

/// Target of a cast.
#[derive(Clone, Debug, PartialEq)]
pub enum CastType {
    Signed,
    Unsigned,
    Decimal {
        precision: Option<u32>,
        scale: Option<u32>,
    },
    Float,
    /// DOUBLE, FLOAT(p) with p > 24, and REAL unless REAL_AS_FLOAT
    Double,
    Date,
    Time {
        fsp: Option<u32>,
    },
    DateTime {
        fsp: Option<u32>,
    },
    Year,
    /// `CHAR[(n)] [CHARACTER SET cs]`; NCHAR has charset utf8mb3
    Char {
        len: Option<u32>,
        charset: Option<Ident>,
    },
    Binary {
        len: Option<u32>,
    },
    Json,
    /// POINT, LINESTRING, ...
    Geometry(GeometryKind),
}

/// Spatial types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GeometryKind {
    Geometry,
    Point,
    LineString,
    Polygon,
    MultiPoint,
    MultiLineString,
    MultiPolygon,
    GeometryCollection,
}

/// Units of INTERVAL, EXTRACT and TIMESTAMPADD/DIFF.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IntervalUnit {
    Microsecond,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
    SecondMicrosecond,
    MinuteMicrosecond,
    MinuteSecond,
    HourMicrosecond,
    HourSecond,
    HourMinute,
    DayMicrosecond,
    DaySecond,
    DayMinute,
    DayHour,
    YearMonth,
}

impl IntervalUnit {
    pub const ALL: [IntervalUnit; 20] = {
        use IntervalUnit::*;
        [
            Microsecond,
            Second,
            Minute,
            Hour,
            Day,
            Week,
            Month,
            Quarter,
            Year,
            SecondMicrosecond,
            MinuteMicrosecond,
            MinuteSecond,
            HourMicrosecond,
            HourSecond,
            HourMinute,
            DayMicrosecond,
            DaySecond,
            DayMinute,
            DayHour,
            YearMonth,
        ]
    };

    /// The unit in SQL.
    pub const fn name(self) -> &'static str {
        use IntervalUnit::*;
        match self {
            Microsecond => "microsecond",
            Second => "second",
            Minute => "minute",
            Hour => "hour",
            Day => "day",
            Week => "week",
            Month => "month",
            Quarter => "quarter",
            Year => "year",
            SecondMicrosecond => "second_microsecond",
            MinuteMicrosecond => "minute_microsecond",
            MinuteSecond => "minute_second",
            HourMicrosecond => "hour_microsecond",
            HourSecond => "hour_second",
            HourMinute => "hour_minute",
            DayMicrosecond => "day_microsecond",
            DaySecond => "day_second",
            DayMinute => "day_minute",
            DayHour => "day_hour",
            YearMonth => "year_month",
        }
    }
}

/// `date ± INTERVAL value unit`
#[derive(Clone, Debug, PartialEq)]
pub struct DateArith {
    pub date: Expr,
    pub value: Expr,
    pub unit: IntervalUnit,
    pub subtract: bool,
}

/// `[schema.]name(args)`.
///
/// Functions with a grammar of their own come here under one name: `now` (CURRENT_TIMESTAMP, LOCALTIME, LOCALTIMESTAMP,
/// NOW), `curdate` (CURRENT_DATE), `curtime` (CURRENT_TIME), `current_user`, `substring` (SUBSTR, MID, `FROM .. FOR`), `locate`
/// (POSITION(a IN b) is locate(a, b)). `interval(n, ...)`, `if`, `left`, `mod` and the like keep theirs.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionCall {
    pub schema: Option<Ident>,
    /// In lower case when no schema is given.
    pub name: Ident,
    pub args: Vec<Expr>,
}

/// Aggregate functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AggregateFunc {
    Count,
    Sum,
    Avg,
    Min,
    Max,
    BitAnd,
    BitOr,
    BitXor,
    /// STD, STDDEV, STDDEV_POP
    StddevPop,
    StddevSamp,
    /// VARIANCE, VAR_POP
    VarPop,
    VarSamp,
    GroupConcat,
    JsonArrayAgg,
    JsonObjectAgg,
    StCollect,
}

impl AggregateFunc {
    /// The function in SQL.
    pub const fn name(self) -> &'static str {
        use AggregateFunc::*;
        match self {
            Count => "count",
            Sum => "sum",
            Avg => "avg",
            Min => "min",
            Max => "max",
            BitAnd => "bit_and",
            BitOr => "bit_or",
            BitXor => "bit_xor",
            StddevPop => "stddev_pop",
            StddevSamp => "stddev_samp",
            VarPop => "var_pop",
            VarSamp => "var_samp",
            GroupConcat => "group_concat",
            JsonArrayAgg => "json_arrayagg",
            JsonObjectAgg => "json_objectagg",
            StCollect => "st_collect",
        }
    }
}

/// An aggregate call.
#[derive(Clone, Debug, PartialEq)]
pub struct AggregateCall {
    pub func: AggregateFunc,
    pub distinct: bool,
    /// Empty for `COUNT(*)`, and only then.
    pub args: Vec<Expr>,
    /// GROUP_CONCAT only
    pub order_by: Vec<OrderItem>,
    /// GROUP_CONCAT only; None is `,`
    pub separator: Option<Box<[u8]>>,
    pub over: Option<Over>,
}

/// Functions that need OVER.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WindowFunc {
    RowNumber,
    Rank,
    DenseRank,
    PercentRank,
    CumeDist,
    Ntile,
    Lead,
    Lag,
    FirstValue,
    LastValue,
    NthValue,
}

impl WindowFunc {
    /// The function in SQL.
    pub const fn name(self) -> &'static str {
        use WindowFunc::*;
        match self {
            RowNumber => "row_number",
            Rank => "rank",
            DenseRank => "dense_rank",
            PercentRank => "percent_rank",
            CumeDist => "cume_dist",
            Ntile => "ntile",
            Lead => "lead",
            Lag => "lag",
            FirstValue => "first_value",
            LastValue => "last_value",
            NthValue => "nth_value",
        }
    }
}

/// `func(args) [FROM FIRST|LAST] [RESPECT|IGNORE NULLS] OVER ..`
#[derive(Clone, Debug, PartialEq)]
pub struct WindowCall {
    pub func: WindowFunc,
    pub args: Vec<Expr>,
    /// NTH_VALUE .. FROM LAST (MySQL refuses it: 1235)
    pub from_last: bool,
    /// IGNORE NULLS (MySQL refuses it: 1235)
    pub ignore_nulls: bool,
    pub over: Over,
}

/// What stands after OVER.
#[derive(Clone, Debug, PartialEq)]
pub enum Over {
    /// `OVER w`
    Named(Ident),
    /// `OVER (spec)`
    Spec(Box<WindowSpec>),
}

/// `([base] [PARTITION BY ..] [ORDER BY ..] [frame])`
#[derive(Clone, Debug, PartialEq, Default)]
pub struct WindowSpec {
    /// an existing window that this one extends
    pub base: Option<Ident>,
    pub partition_by: Vec<Expr>,
    pub order_by: Vec<OrderItem>,
    pub frame: Option<Frame>,
}

/// `ROWS|RANGE|GROUPS BETWEEN start AND end`
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    pub unit: FrameUnit,
    pub start: FrameBound,
    /// None: CURRENT ROW, as `ROWS start` means
    pub end: Option<FrameBound>,
    /// EXCLUDE .. (MySQL refuses it: 1235)
    pub exclude: Option<FrameExclude>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FrameUnit {
    Rows,
    Range,
    /// MySQL refuses it: 1235
    Groups,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FrameExclude {
    CurrentRow,
    Group,
    Ties,
    NoOthers,
}

#[derive(Clone, Debug, PartialEq)]
pub enum FrameBound {
    UnboundedPreceding,
    Preceding(FrameOffset),
    CurrentRow,
    Following(FrameOffset),
    UnboundedFollowing,
}

/// Distance of a frame bound.
#[derive(Clone, Debug, PartialEq)]
pub enum FrameOffset {
    /// a number or parameter
    Value(Expr),
    /// `INTERVAL value unit`
    Interval(Expr, IntervalUnit),
}

/// `TRIM([side] [what] FROM expr)`; `what` None trims spaces
#[derive(Clone, Debug, PartialEq)]
pub struct Trim {
    pub side: TrimSide,
    pub what: Option<Expr>,
    pub expr: Expr,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TrimSide {
    Both,
    Leading,
    Trailing,
}

/// `MATCH (columns) AGAINST (against mode)`
#[derive(Clone, Debug, PartialEq)]
pub struct Match {
    pub columns: Vec<ColumnRef>,
    pub against: Expr,
    pub mode: MatchMode,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MatchMode {
    /// nothing, or IN NATURAL LANGUAGE MODE
    Natural,
    /// WITH QUERY EXPANSION
    NaturalExpansion,
    Boolean,
}

/// `WEIGHT_STRING(expr [AS CHAR(n)|BINARY(n)])`
#[derive(Clone, Debug, PartialEq)]
pub struct WeightString {
    pub expr: Expr,
    /// (AS BINARY rather than AS CHAR, length)
    pub cast: Option<(bool, u32)>,
}

/// `JSON_VALUE(..)`
#[derive(Clone, Debug, PartialEq)]
pub struct JsonValue {
    pub doc: Expr,
    pub path: Expr,
    pub returning: Option<CastType>,
    pub on_empty: Option<JsonOnResponse>,
    pub on_error: Option<JsonOnResponse>,
}

/// `NULL | ERROR | DEFAULT x` of JSON_VALUE and JSON_TABLE.
#[derive(Clone, Debug, PartialEq)]
pub enum JsonOnResponse {
    Null,
    Error,
    Default(Box<Expr>),
}
