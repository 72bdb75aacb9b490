//! What a session sets about optimization.

use super::cost::CostParams;
use super::switches::Switches;

/// Switches and figures that steer the optimizer. The flags exist so that tests can run every statement with any
/// rewrite off; those that MySQL's optimizer_switch has bear its names.
#[derive(Clone, Debug)]
pub struct OptimizerSettings {
    /// Cores that the executor will use.
    pub parallelism: usize,
    pub cost: CostParams,
    /// optimizer_switch.
    pub switch: Switches,
    pub limits: Limits,
    /// Choose join orders; off: as written.
    pub reorder_joins: bool,
    /// derived_condition_pushdown, and predicate pushdown in general.
    pub condition_pushdown: bool,
    /// Hash joins narrow the scans below their probe side.
    pub sideways_filters: bool,
    /// Predicates on one column of an equality are copied to the others.
    pub transitive_predicates: bool,
    /// GROUP BY a unique key and what depends on it: group by the key alone.
    pub functional_groups: bool,
    /// Correlated subqueries become joins.
    pub unnest: bool,
    /// Indexes find rows, order them and join by them.
    pub index_access: bool,
}

/// System variables that bound what plans do. Bytes, unless said otherwise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    pub join_buffer_size: u64,
    pub read_rnd_buffer_size: u64,
    /// Rows that a lookup by key is expected to read at most; the default bounds nothing.
    pub max_seeks_for_key: u64,
    /// Equality ranges up to which each is counted in the index; 0: always.
    pub eq_range_index_dive_limit: u64,
    /// Bytes that the ranges of one statement may take while they are found; 0: no bound.
    pub range_optimizer_max_mem_size: u64,
    /// Relations up to which join orders are searched; 0: as many as are worth it.
    pub search_depth: u64,
    /// 0: the search for a join order takes more time before it is cut short.
    pub prune_level: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            join_buffer_size: 256 << 10,
            read_rnd_buffer_size: 256 << 10,
            max_seeks_for_key: u64::MAX,
            eq_range_index_dive_limit: 200,
            range_optimizer_max_mem_size: 8 << 20,
            search_depth: 62,
            prune_level: 1,
        }
    }
}

impl Default for OptimizerSettings {
    fn default() -> OptimizerSettings {
        OptimizerSettings {
            parallelism: 1,
            cost: CostParams::default(),
            reorder_joins: true,
            switch: Switches::default(),
            limits: Limits::default(),
            condition_pushdown: true,
            sideways_filters: true,
            transitive_predicates: true,
            functional_groups: true,
            unnest: true,
            index_access: true,
        }
    }
}

impl OptimizerSettings {
    /// Every optional rewrite off: the plainest plan that answers the statement.
    pub fn plain() -> OptimizerSettings {
        OptimizerSettings {
            reorder_joins: false,
            switch: Switches { derived_merge: false, ..Switches::default() },
            condition_pushdown: false,
            sideways_filters: false,
            transitive_predicates: false,
            functional_groups: false,
            index_access: false,
            ..OptimizerSettings::default()
        }
    }
}
