//! What a session sets about optimization.

use super::cost::CostParams;

/// Switches and figures that steer the optimizer. The flags exist so that tests can run every statement with any rewrite
/// off; those that MySQL's optimizer_switch has bear its names.
#[derive(Clone, Debug)]
pub struct OptimizerSettings {
    /// Cores that the executor will use.
    pub parallelism: usize,
    pub cost: CostParams,
    /// Choose join orders; off: as written.
    pub reorder_joins: bool,
    /// derived_merge: CTEs and derived tables read once become part of their reader.
    pub derived_merge: bool,
    /// derived_condition_pushdown, and predicate pushdown in general.
    pub condition_pushdown: bool,
    /// Hash joins narrow the scans below their probe side.
    pub sideways_filters: bool,
    /// Predicates on one column of an equality are copied to the others.
    pub transitive_predicates: bool,
    /// GROUP BY a unique key and what depends on it: group by the key alone.
    pub functional_groups: bool,
    /// Indexes find rows, order them and join by them.
    pub index_access: bool,
    /// use_invisible_indexes: invisible indexes may be used, too.
    pub use_invisible_indexes: bool,
}

impl Default for OptimizerSettings {
    fn default() -> OptimizerSettings {
        OptimizerSettings {
            parallelism: 1,
            cost: CostParams::default(),
            reorder_joins: true,
            derived_merge: true,
            condition_pushdown: true,
            sideways_filters: true,
            transitive_predicates: true,
            functional_groups: true,
            index_access: true,
            use_invisible_indexes: false,
        }
    }
}

impl OptimizerSettings {
    /// Every optional rewrite off: the plainest plan that answers the statement.
    pub fn plain() -> OptimizerSettings {
        OptimizerSettings {
            reorder_joins: false,
            derived_merge: false,
            condition_pushdown: false,
            sideways_filters: false,
            transitive_predicates: false,
            functional_groups: false,
            index_access: false,
            ..OptimizerSettings::default()
        }
    }
}
