//! Aggregate and window functions, and calls of them. What is known of each stands in one record, in [`AGGREGATES`] or
//! [`WINDOWS`]; their types are inferred by [`crate::build`], the executor accumulates them.

use crate::Expr;
use types::SqlType;

/// What is known of an aggregate.
#[derive(Debug)]
pub struct AggRecord {
    pub func: AggFunc,
    /// In upper case; the first is what messages say.
    pub names: &'static [&'static str],
    pub args_min: usize,
    /// `usize::MAX`: there is no bound.
    pub args_max: usize,
    /// As EXPLAIN and warnings write it.
    pub shown: &'static str,
    pub of_nothing: OfNothing,
    /// Of numbers that are not NULL it is none, over any rows.
    pub keeps_not_null: bool,
}

/// What an aggregate is over no rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OfNothing {
    Null,
    /// This number: over no rows whatever it is never NULL.
    Number(u64),
    /// It is never over no rows.
    Never,
}

const fn agg(func: AggFunc, names: &'static [&'static str], args: (usize, usize), shown: &'static str) -> AggRecord {
    let (args_min, args_max) = args;
    AggRecord { func, names, args_min, args_max, shown, of_nothing: OfNothing::Null, keeps_not_null: false }
}

impl AggRecord {
    const fn counts(self, of_nothing: u64) -> AggRecord {
        AggRecord { of_nothing: OfNothing::Number(of_nothing), ..self }
    }

    const fn keeps_not_null(self) -> AggRecord {
        AggRecord { keeps_not_null: true, ..self }
    }
}

const ONE: (usize, usize) = (1, 1);
const SOME: (usize, usize) = (1, usize::MAX);

/// All aggregates, in the order of [`AggFunc`].
pub static AGGREGATES: [AggRecord; 16] = [
    agg(AggFunc::CountStar, &["COUNT"], (0, 0), "count").counts(0),
    agg(AggFunc::Count, &["COUNT"], SOME, "count").counts(0),
    agg(AggFunc::Sum, &["SUM"], ONE, "sum").keeps_not_null(),
    agg(AggFunc::Avg, &["AVG"], ONE, "avg").keeps_not_null(),
    agg(AggFunc::Min, &["MIN"], ONE, "min").keeps_not_null(),
    agg(AggFunc::Max, &["MAX"], ONE, "max").keeps_not_null(),
    agg(AggFunc::StdPop, &["STDDEV_POP", "STD", "STDDEV"], ONE, "std").keeps_not_null(),
    agg(AggFunc::StdSamp, &["STDDEV_SAMP"], ONE, "stddev_samp"),
    agg(AggFunc::VarPop, &["VAR_POP", "VARIANCE"], ONE, "variance").keeps_not_null(),
    agg(AggFunc::VarSamp, &["VAR_SAMP"], ONE, "var_samp"),
    agg(AggFunc::BitAnd, &["BIT_AND"], ONE, "bit_and").counts(u64::MAX),
    agg(AggFunc::BitOr, &["BIT_OR"], ONE, "bit_or").counts(0),
    agg(AggFunc::BitXor, &["BIT_XOR"], ONE, "bit_xor").counts(0),
    agg(AggFunc::GroupConcat, &["GROUP_CONCAT"], SOME, "group_concat").keeps_not_null(),
    agg(AggFunc::AnyValue, &["ANY_VALUE"], ONE, "any_value").keeps_not_null(),
    AggRecord { of_nothing: OfNothing::Never, ..agg(AggFunc::Grouping, &["GROUPING"], SOME, "grouping") },
];

/// What is known of a function that needs OVER.
#[derive(Debug)]
pub struct WindowRecord {
    pub func: WindowFunc,
    /// In upper case.
    pub name: &'static str,
    pub args_min: usize,
    pub args_max: usize,
    /// As EXPLAIN writes it.
    pub shown: &'static str,
}

const fn win(
    func: WindowFunc,
    name: &'static str,
    shown: &'static str,
    args_min: usize,
    args_max: usize,
) -> WindowRecord {
    WindowRecord { func, name, args_min, args_max, shown }
}

/// All functions that need OVER, in the order of [`WindowFunc`].
pub static WINDOWS: [WindowRecord; 11] = [
    win(WindowFunc::RowNumber, "ROW_NUMBER", "row_number", 0, 0),
    win(WindowFunc::Rank, "RANK", "rank", 0, 0),
    win(WindowFunc::DenseRank, "DENSE_RANK", "dense_rank", 0, 0),
    win(WindowFunc::PercentRank, "PERCENT_RANK", "percent_rank", 0, 0),
    win(WindowFunc::CumeDist, "CUME_DIST", "cume_dist", 0, 0),
    win(WindowFunc::Ntile, "NTILE", "ntile", 1, 1),
    win(WindowFunc::Lag, "LAG", "lag", 1, 3),
    win(WindowFunc::Lead, "LEAD", "lead", 1, 3),
    win(WindowFunc::FirstValue, "FIRST_VALUE", "first_value", 1, 1),
    win(WindowFunc::LastValue, "LAST_VALUE", "last_value", 1, 1),
    win(WindowFunc::NthValue, "NTH_VALUE", "nth_value", 2, 2),
];

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

impl AggFunc {
    pub fn record(self) -> &'static AggRecord {
        &AGGREGATES[self as usize]
    }

    /// MySQL's name, in upper case.
    pub fn name(self) -> &'static str {
        self.record().names[0]
    }
}

impl WindowFunc {
    /// What is known of it; `Err` of an aggregate over a window.
    pub fn record(self) -> Result<&'static WindowRecord, AggFunc> {
        match self {
            WindowFunc::Agg(f) => Err(f),
            f => Ok(WINDOWS.iter().find(|r| r.func == f).expect("each has a record")),
        }
    }

    /// As EXPLAIN writes it.
    pub fn shown(self) -> &'static str {
        self.record().map_or_else(|f| f.record().shown, |r| r.shown)
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_lie_where_they_are_looked_for() {
        for r in &AGGREGATES {
            assert_eq!(r.func.record().func, r.func);
        }
        for r in &WINDOWS {
            assert_eq!(r.func.record().expect("no aggregate").name, r.name);
        }
    }
}
