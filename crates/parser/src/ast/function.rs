//! Functions: casts, date arithmetic, calls, aggregates, windows.

use super::{ColumnRef, Expr, Ident, OrderItem};
pub use types::temporal::IntervalUnit;

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
/// NOW), `curdate` (CURRENT_DATE), `curtime` (CURRENT_TIME), `current_user`, `substring` (SUBSTR, MID, `FROM .. FOR`),
/// `locate` (POSITION(a IN b) is locate(a, b)). `interval(n, ...)`, `if`, `left`, `mod` and the like keep theirs.
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
