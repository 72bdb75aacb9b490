//! What may become of a subquery predicate: which strategies optimizer_switch leaves to the choice by cost.
//!
//! ```text
//!                         semijoin=on                      semijoin=off, or no semijoin possible
//!   WHERE x IN, EXISTS    semijoin, antijoin:              apart:
//!   WHERE NOT IN ..         firstmatch                       materialization   kept under a hash key, looked up
//!                           loosescan                        (in_to_exists)    run for each value of the outer query
//!   OR, SELECT list,        materialization                                    with the value pushed into it
//!   nullable NOT IN         duplicateweedout
//!      └ apart always
//! ```
//! With no strategy of semijoins left, duplicate weedout serves, as in MySQL. With neither of the two others, both may.

use super::context::Context;
use expr::Expr;
use plan::logical::{Logical, LogicalJoinKind, SemijoinStrategy, SubqueryHints, SubqueryStrategy};

/// Strategies that a semijoin or antijoin may use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Semijoin {
    pub first_match: bool,
    pub loose_scan: bool,
    pub materialize: bool,
    pub weedout: bool,
}

/// Strategies of a subquery that stays apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Apart {
    pub materialize: bool,
    pub in_to_exists: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Manner {
    /// A join that stands for no predicate.
    Plain,
    Semijoin(Semijoin),
    Apart(Apart),
}

impl Semijoin {
    /// The strategy that is the only one left.
    pub fn only_first_match(self) -> bool {
        self == Semijoin { first_match: true, loose_scan: false, materialize: false, weedout: false }
    }

    pub fn only_loose_scan(self) -> bool {
        self == Semijoin { first_match: false, loose_scan: true, materialize: false, weedout: false }
    }

    /// The outer rows may be looked up in what the inner side holds. `by_value`: they are found by their values alone.
    pub fn may_look_up(self, by_value: bool) -> bool {
        self.first_match || (self.materialize && by_value)
    }
}

/// How a join of this kind may be run.
pub fn manner(kind: LogicalJoinKind, hints: &SubqueryHints, cx: &Context) -> Manner {
    let switch = &cx.settings.switch;
    match kind {
        LogicalJoinKind::Semi | LogicalJoinKind::Anti
            if hints.strategy.is_none() && hints.allows_semijoin(switch.semijoin) =>
        {
            Manner::Semijoin(Semijoin {
                first_match: hints.allows_strategy(SemijoinStrategy::FirstMatch, switch.firstmatch),
                loose_scan: hints.allows_strategy(SemijoinStrategy::LooseScan, switch.loosescan),
                materialize: hints.allows_strategy(SemijoinStrategy::Materialization, switch.materialization),
                weedout: hints.allows_strategy(SemijoinStrategy::DupsWeedout, switch.duplicateweedout),
            })
        }
        LogicalJoinKind::Semi
        | LogicalJoinKind::Anti
        | LogicalJoinKind::Mark { .. }
        | LogicalJoinKind::NullAwareAnti => Manner::Apart(match hints.strategy {
            Some(SubqueryStrategy::Materialization) => Apart { materialize: true, in_to_exists: false },
            Some(SubqueryStrategy::InToExists) => Apart { materialize: false, in_to_exists: true },
            None if switch.materialization == switch.in_to_exists => {
                let by_cost = switch.subquery_materialization_cost_based || !switch.materialization;
                Apart { materialize: true, in_to_exists: by_cost }
            }
            None => Apart { materialize: switch.materialization, in_to_exists: switch.in_to_exists },
        }),
        _ => Manner::Plain,
    }
}

/// May the subquery's values be materialized under a hash key? `by_value`: nothing but their values decides.
pub fn keeps_values(manner: Manner, hints: &SubqueryHints, by_value: bool, cx: &Context) -> bool {
    match manner {
        Manner::Plain => false,
        Manner::Semijoin(s) => s.materialize && by_value,
        Manner::Apart(a) => {
            let asked = hints.strategy == Some(SubqueryStrategy::Materialization);
            a.materialize && (asked || cx.settings.switch.materialization)
        }
    }
}

/// Does a correlated subquery run for each outer row, rather than becoming a join?
pub fn stays_dependent(kind: LogicalJoinKind, left: &Logical, right: &Logical, on: &[Expr], cx: &Context) -> bool {
    let settings = cx.settings;
    if !settings.unnest {
        return true;
    }
    match manner(kind, &cx.hints_of(left, right), cx) {
        Manner::Plain => false,
        Manner::Apart(a) if !a.materialize => true,
        // EXISTS has no condition of its own.
        _ => !settings.switch.exists_to_in && on.is_empty(),
    }
}
