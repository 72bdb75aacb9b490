//! What each hint is about, and how it reads in warnings and in EXPLAIN's statement.

use parser::ast::{Hint, HintArgs, HintName, Ident};
use plan::logical::{IndexHintScope, PerIndex, TableHints};
use types::{Error, ErrorCode, Warning};

pub(super) fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

pub(super) fn warning(code: ErrorCode, text: String) -> Warning {
    Warning::of(Error::new(code, text))
}

/// The name without NO_: hints that contradict each other have one.
pub(super) fn kind(name: HintName) -> &'static str {
    name.word().strip_prefix("NO_").unwrap_or(name.word())
}

/// The hint with the name of the block that it is about, where that is its `own`.
pub(super) fn qualified(h: &Hint, own: &str) -> Hint {
    let mut h = h.clone();
    let here = || Some(Ident::from(own));
    match &mut h.args {
        HintArgs::Tables { block: Some(_), .. } | HintArgs::Strategies { block: Some(_), .. } => {}
        HintArgs::Tables { block, tables } if tables.is_empty() => *block = here(),
        HintArgs::Tables { tables, .. } => {
            tables.iter_mut().filter(|t| t.block.is_none()).for_each(|t| t.block = here());
        }
        HintArgs::Indexes { table, .. } => table.block = table.block.take().or_else(here),
        HintArgs::Strategies { block, .. } => *block = here(),
        HintArgs::Limit(_) | HintArgs::Name(_) | HintArgs::Variable { .. } => {}
    }
    h
}

pub(super) fn is_on(name: HintName) -> bool {
    !name.word().starts_with("NO_")
}

pub(super) fn is_pushdown(name: HintName) -> bool {
    matches!(name, HintName::DerivedConditionPushdown | HintName::NoDerivedConditionPushdown)
}

/// Where a hint about tables is kept; `None` for those about derived tables.
pub(super) fn slot(hints: &mut TableHints, name: HintName) -> Option<&mut Option<bool>> {
    match name {
        HintName::Bka | HintName::NoBka => Some(&mut hints.bka),
        HintName::Bnl | HintName::NoBnl => Some(&mut hints.bnl),
        HintName::HashJoin | HintName::NoHashJoin => Some(&mut hints.hash_join),
        _ => None,
    }
}

pub(super) fn answers(hints: &mut TableHints, name: HintName) -> Option<&mut PerIndex> {
    match name {
        HintName::NoIcp => Some(&mut hints.icp),
        HintName::Mrr | HintName::NoMrr => Some(&mut hints.mrr),
        HintName::NoRangeOptimization => Some(&mut hints.range),
        HintName::IndexMerge | HintName::NoIndexMerge => Some(&mut hints.index_merge),
        HintName::SkipScan | HintName::NoSkipScan => Some(&mut hints.skip_scan),
        _ => None,
    }
}

/// What INDEX and its like are about.
pub(super) fn scope(name: HintName) -> Option<IndexHintScope> {
    match name {
        HintName::Index | HintName::NoIndex => Some(IndexHintScope::All),
        HintName::JoinIndex | HintName::NoJoinIndex => Some(IndexHintScope::Join),
        HintName::GroupIndex | HintName::NoGroupIndex => Some(IndexHintScope::GroupBy),
        HintName::OrderIndex | HintName::NoOrderIndex => Some(IndexHintScope::OrderBy),
        _ => None,
    }
}
