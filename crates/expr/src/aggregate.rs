//! Aggregate and window calls. Their types are inferred by [`crate::build`]; the executor accumulates them.

use crate::Expr;
use types::SqlType;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AggFunc {
    /// COUNT(*): no arguments.
    CountStar,
    /// COUNT(a) or COUNT(DISTINCT a, b): rows where no argument is NULL.
    Count,
    Sum,
    /// Of exact numbers: cut at the result's scale, not rounded.
    Avg,
    Min,
    Max,
    /// STD, STDDEV, STDDEV_POP
    StdPop,
    StdSamp,
    /// VARIANCE, VAR_POP
    VarPop,
    VarSamp,
    BitAnd,
    BitOr,
    BitXor,
    GroupConcat,
    AnyValue,
    /// GROUPING(exprs...): arguments are group expressions; a bitmask of which are rolled up.
    Grouping,
}

/// One aggregate of an Aggregate node.
#[derive(Clone, Debug, PartialEq)]
pub struct AggCall {
    pub func: AggFunc,
    pub args: Vec<Expr>,
    pub distinct: bool,
    /// GROUP_CONCAT's ORDER BY: (expression, descending).
    pub order_by: Vec<(Expr, bool)>,
    /// GROUP_CONCAT's SEPARATOR.
    pub separator: Box<str>,
    pub ty: SqlType,
    pub nullable: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum WindowFunc {
    RowNumber,
    Rank,
    DenseRank,
    PercentRank,
    CumeDist,
    Ntile,
    Lag,
    Lead,
    FirstValue,
    LastValue,
    NthValue,
    Agg(AggFunc),
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FrameUnits {
    Rows,
    Range,
}

#[derive(Clone, Debug, PartialEq)]
pub enum FrameBound {
    UnboundedPreceding,
    /// Constant count (ROWS), or a constant distance (RANGE) already of the order key's type.
    Preceding(Box<Expr>),
    CurrentRow,
    Following(Box<Expr>),
    UnboundedFollowing,
}

#[derive(Clone, Debug, PartialEq)]
pub struct WindowFrame {
    pub units: FrameUnits,
    pub start: FrameBound,
    pub end: FrameBound,
}

/// One window function of a Window node (which holds the partitioning and ordering).
#[derive(Clone, Debug, PartialEq)]
pub struct WindowCall {
    pub func: WindowFunc,
    pub args: Vec<Expr>,
    pub frame: WindowFrame,
    pub ty: SqlType,
    pub nullable: bool,
}
