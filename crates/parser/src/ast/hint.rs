//! Optimizer hints: `/*+ .. */` after a statement's first word.

use super::Ident;

/// One hint.
#[derive(Clone, Debug, PartialEq)]
pub struct Hint {
    pub name: HintName,
    pub args: HintArgs,
}

/// What stands between a hint's parentheses.
#[derive(Clone, Debug, PartialEq)]
pub enum HintArgs {
    /// `[@block] [table, ..]` or `table@block, ..`. No table: all of the block.
    Tables { block: Option<Ident>, tables: Vec<HintTable> },
    /// `table[@block] [index, ..]` or `@block table [index, ..]`. No index: all of the table.
    Indexes { table: HintTable, indexes: Vec<Ident> },
    /// `[@block] [strategy, ..]`
    Strategies { block: Option<Ident>, strategies: Vec<HintStrategy> },
    /// QB_NAME and RESOURCE_GROUP.
    Name(Ident),
    /// Milliseconds.
    Limit(u32),
    /// SET_VAR: `variable = value`.
    Variable { name: Ident, value: HintValue },
}

/// A table that a hint names.
#[derive(Clone, Debug, PartialEq)]
pub struct HintTable {
    pub name: Ident,
    pub block: Option<Ident>,
}

/// The value of SET_VAR.
#[derive(Clone, Debug, PartialEq)]
pub enum HintValue {
    /// A bare word.
    Word(Box<str>),
    Text(Box<str>),
    /// As it is written; a suffix K, M or G is worked out.
    Number(Box<str>),
}

macro_rules! words {
    ($(#[$doc:meta])* $type:ident { $($name:ident = $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $type {
            $($name,)*
        }

        impl $type {
            pub fn word(self) -> &'static str {
                match self {
                    $($type::$name => $word,)*
                }
            }

            pub fn from_word(word: &str) -> Option<$type> {
                [$($type::$name,)*].into_iter().find(|n| n.word().eq_ignore_ascii_case(word))
            }
        }
    };
}

words! {
    /// The hints of MySQL 8.4.
    HintName {
        Bka = "BKA",
        Bnl = "BNL",
        DerivedConditionPushdown = "DERIVED_CONDITION_PUSHDOWN",
        GroupIndex = "GROUP_INDEX",
        HashJoin = "HASH_JOIN",
        Index = "INDEX",
        IndexMerge = "INDEX_MERGE",
        JoinFixedOrder = "JOIN_FIXED_ORDER",
        JoinIndex = "JOIN_INDEX",
        JoinOrder = "JOIN_ORDER",
        JoinPrefix = "JOIN_PREFIX",
        JoinSuffix = "JOIN_SUFFIX",
        MaxExecutionTime = "MAX_EXECUTION_TIME",
        Merge = "MERGE",
        Mrr = "MRR",
        NoBka = "NO_BKA",
        NoBnl = "NO_BNL",
        NoDerivedConditionPushdown = "NO_DERIVED_CONDITION_PUSHDOWN",
        NoGroupIndex = "NO_GROUP_INDEX",
        NoHashJoin = "NO_HASH_JOIN",
        NoIcp = "NO_ICP",
        NoIndex = "NO_INDEX",
        NoIndexMerge = "NO_INDEX_MERGE",
        NoJoinIndex = "NO_JOIN_INDEX",
        NoMerge = "NO_MERGE",
        NoMrr = "NO_MRR",
        NoOrderIndex = "NO_ORDER_INDEX",
        NoRangeOptimization = "NO_RANGE_OPTIMIZATION",
        NoSemijoin = "NO_SEMIJOIN",
        NoSkipScan = "NO_SKIP_SCAN",
        OrderIndex = "ORDER_INDEX",
        QbName = "QB_NAME",
        ResourceGroup = "RESOURCE_GROUP",
        Semijoin = "SEMIJOIN",
        SetVar = "SET_VAR",
        SkipScan = "SKIP_SCAN",
        Subquery = "SUBQUERY",
    }
}

words! {
    /// Ways to run subqueries.
    HintStrategy {
        DupsWeedout = "DUPSWEEDOUT",
        FirstMatch = "FIRSTMATCH",
        InToExists = "INTOEXISTS",
        LooseScan = "LOOSESCAN",
        Materialization = "MATERIALIZATION",
    }
}
