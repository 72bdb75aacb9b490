//! What optimizer hints (`/*+ .. */`) say, resolved against the statement's tables: the manual's "Optimizer Hints".
//!
//! A hint outranks optimizer_switch, the more exact one the less exact: index before table before query block. `None`
//! is everywhere: no hint speaks, the switch decides.

/// A FROM item of the statement that is a base table; 0: no hint can name it.
pub type RelationNo = u32;

/// What hints say of one table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TableTuning {
    /// The name under which [`JoinOrderHint`] knows the table.
    pub relation: RelationNo,
    hints: Option<Box<TableHints>>,
}

/// The hints of a table, if it has any.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TableHints {
    pub bka: Option<bool>,
    pub bnl: Option<bool>,
    pub hash_join: Option<bool>,
    pub icp: PerIndex,
    pub mrr: PerIndex,
    pub range: PerIndex,
    pub index_merge: PerIndex,
    pub skip_scan: PerIndex,
}

/// An answer for the whole table, and others for some indexes (positions in `TableDef::indexes`).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PerIndex {
    pub whole: Option<bool>,
    pub some: Vec<(usize, bool)>,
}

impl PerIndex {
    pub fn get(&self, index: usize) -> Option<bool> {
        self.some.iter().find(|(i, _)| *i == index).map(|(_, on)| *on).or(self.whole)
    }
}

impl TableTuning {
    pub fn of_relation(relation: RelationNo) -> TableTuning {
        TableTuning { relation, hints: None }
    }

    pub fn hints(&self) -> Option<&TableHints> {
        self.hints.as_deref()
    }

    pub fn hints_mut(&mut self) -> &mut TableHints {
        self.hints.get_or_insert_default()
    }

    /// NO_ICP.
    pub fn icp(&self, index: usize) -> Option<bool> {
        self.hints()?.icp.get(index)
    }

    /// MRR, NO_MRR.
    pub fn mrr(&self, index: usize) -> Option<bool> {
        self.hints()?.mrr.get(index)
    }

    /// NO_RANGE_OPTIMIZATION: the index is not to find ranges.
    pub fn no_range(&self, index: usize) -> bool {
        self.hints().is_some_and(|h| h.range.get(index) == Some(false))
    }

    /// INDEX_MERGE, NO_INDEX_MERGE.
    pub fn index_merge(&self, index: usize) -> Option<bool> {
        self.hints()?.index_merge.get(index)
    }

    /// SKIP_SCAN, NO_SKIP_SCAN.
    pub fn skip_scan(&self, index: usize) -> Option<bool> {
        self.hints()?.skip_scan.get(index)
    }

    /// BKA, NO_BKA: rows of this table are found for batches of keys.
    pub fn bka(&self) -> Option<bool> {
        self.hints()?.bka
    }

    /// BNL, NO_BNL: this table is joined through a join buffer.
    pub fn bnl(&self) -> Option<bool> {
        self.hints()?.bnl
    }

    /// HASH_JOIN, NO_HASH_JOIN.
    pub fn hash_join(&self) -> Option<bool> {
        self.hints()?.hash_join
    }
}

/// What hints say of a subquery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SubqueryHints {
    /// SEMIJOIN (true) or NO_SEMIJOIN (false), with the strategies that it names; none: all.
    pub semijoin: Option<(bool, SemijoinStrategies)>,
    /// SUBQUERY(MATERIALIZATION | INTOEXISTS).
    pub strategy: Option<SubqueryStrategy>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubqueryStrategy {
    Materialization,
    InToExists,
}

/// Ways to run a semijoin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SemijoinStrategies {
    pub dups_weedout: bool,
    pub first_match: bool,
    pub loose_scan: bool,
    pub materialization: bool,
}

impl SemijoinStrategies {
    pub fn is_empty(self) -> bool {
        self == SemijoinStrategies::default()
    }
}

/// A strategy of semijoins, by the name of its optimizer_switch flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SemijoinStrategy {
    DupsWeedout,
    FirstMatch,
    LooseScan,
    Materialization,
}

impl SubqueryHints {
    /// May the subquery become a semijoin? `switched`: optimizer_switch's `semijoin`.
    pub fn allows_semijoin(&self, switched: bool) -> bool {
        match self.semijoin {
            Some((true, _)) => true,
            // NO_SEMIJOIN with strategies forbids these alone.
            Some((false, strategies)) if strategies.is_empty() => false,
            _ => switched,
        }
    }

    /// May the semijoin run so? `switched`: the strategy's flag.
    pub fn allows_strategy(&self, strategy: SemijoinStrategy, switched: bool) -> bool {
        let named = |s: SemijoinStrategies| match strategy {
            SemijoinStrategy::DupsWeedout => s.dups_weedout,
            SemijoinStrategy::FirstMatch => s.first_match,
            SemijoinStrategy::LooseScan => s.loose_scan,
            SemijoinStrategy::Materialization => s.materialization,
        };
        match self.semijoin {
            Some((true, s)) if !s.is_empty() => named(s),
            Some((false, s)) if !s.is_empty() => switched && !named(s),
            _ => switched,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JoinOrderKind {
    /// JOIN_ORDER: the tables in this order, others anywhere between.
    Order,
    /// JOIN_PREFIX: the first tables of the join.
    Prefix,
    /// JOIN_SUFFIX: the last ones.
    Suffix,
    /// JOIN_FIXED_ORDER: all tables of the block as FROM has them.
    Fixed,
}

/// An order of tables that a hint asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct JoinOrderHint {
    pub kind: JoinOrderKind,
    /// The named tables in order. A derived table or view stands for all base tables in it.
    pub tables: Vec<Vec<RelationNo>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_more_exact_hint_wins() {
        let mut t = TableTuning::of_relation(1);
        assert_eq!((t.mrr(0), t.no_range(0)), (None, false));
        t.hints_mut().mrr = PerIndex { whole: Some(true), some: vec![(1, false)] };
        t.hints_mut().range.whole = Some(false);
        assert_eq!((t.mrr(0), t.mrr(1), t.no_range(7)), (Some(true), Some(false), true));
    }

    #[test]
    fn strategies() {
        use SemijoinStrategy::*;
        let only = |on| SubqueryHints {
            semijoin: Some((on, SemijoinStrategies { first_match: true, ..Default::default() })),
            strategy: None,
        };
        assert!(only(true).allows_semijoin(false) && only(true).allows_strategy(FirstMatch, false));
        assert!(!only(true).allows_strategy(LooseScan, true));
        assert!(only(false).allows_semijoin(true) && !only(false).allows_strategy(FirstMatch, true));
        assert!(only(false).allows_strategy(LooseScan, true));
        let none = SubqueryHints { semijoin: Some((false, Default::default())), strategy: None };
        assert!(!none.allows_semijoin(true) && SubqueryHints::default().allows_semijoin(true));
    }
}
