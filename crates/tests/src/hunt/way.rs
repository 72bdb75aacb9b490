//! Ways to run a statement: where, and under which settings.

use fastrand::Rng;

/// Where a statement runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// The usual leaves, two threads.
    Usual,
    /// Leaves of 8 rows, one thread, costs that are not true.
    Tiny,
    /// Leaves of 16 rows, three threads for the smallest statement, costs that are not true.
    Threads,
    /// A REPEATABLE READ snapshot of tables that others change.
    Snapshot,
}

/// A way to run a statement.
#[derive(Clone, Debug)]
pub struct Way {
    pub place: Place,
    /// `name = value` of session variables.
    pub sets: Vec<String>,
    pub hints: bool,
    pub prepared: bool,
    /// Prepared with parameters for constants.
    pub parameters: bool,
    /// With other constants first, whose plan is then at hand.
    pub warmed: bool,
    /// FOR UPDATE, where that shows the same rows.
    pub locks: bool,
}

impl Way {
    pub fn usual() -> Way {
        Way {
            place: Place::Usual,
            sets: Vec::new(),
            hints: false,
            prepared: false,
            parameters: false,
            warmed: false,
            locks: false,
        }
    }
}

/// Flags of optimizer_switch that a query may meet on or off.
const FLAGS: &[&str] = &[
    "index_merge",
    "index_merge_union",
    "index_merge_sort_union",
    "index_merge_intersection",
    "engine_condition_pushdown",
    "index_condition_pushdown",
    "mrr",
    "mrr_cost_based",
    "block_nested_loop",
    "batched_key_access",
    "materialization",
    "semijoin",
    "loosescan",
    "firstmatch",
    "duplicateweedout",
    "subquery_materialization_cost_based",
    "use_index_extensions",
    "condition_fanout_filter",
    "derived_merge",
    "use_invisible_indexes",
    "skip_scan",
    "hash_join",
    "subquery_to_derived",
    "prefer_ordering_index",
    "hypergraph_optimizer",
    "derived_condition_pushdown",
    "hash_set_operations",
    "derived_with_keys",
    "in_to_exists",
    "partial_match_rowid_merge",
    "partial_match_table_scan",
    "subquery_cache",
    "mrr_sort_keys",
    "outer_join_with_cache",
    "semijoin_with_cache",
    "join_cache_incremental",
    "join_cache_hashed",
    "join_cache_bka",
    "optimize_join_buffer_size",
    "table_elimination",
    "extended_keys",
    "exists_to_in",
    "orderby_uses_equalities",
    "condition_pushdown_for_derived",
    "split_materialized",
    "condition_pushdown_for_subquery",
    "rowid_filter",
    "condition_pushdown_from_having",
    "not_null_range_scan",
];

/// Other settings that steer plans.
const SETTINGS: &[&str] = &[
    "max_query_memory = 1048576",
    "join_buffer_size = 128",
    "read_rnd_buffer_size = 1",
    "sort_buffer_size = 32768",
    "tmp_table_size = 1024",
    "max_seeks_for_key = 1",
    "eq_range_index_dive_limit = 1",
    "optimizer_search_depth = 1",
    "optimizer_search_depth = 3",
    "optimizer_prune_level = 0",
    "range_optimizer_max_mem_size = 1",
];

/// A way chosen at random.
pub fn random_way(rng: &mut Rng) -> Way {
    let mut way = Way::usual();
    let mut flags: Vec<String> = Vec::new();
    let flip = |rng: &mut Rng, f: &str| format!("{f}={}", if rng.u8(0..4) > 0 { "off" } else { "on" });
    match rng.u8(0..6) {
        // one flag alone, and with all that it may hide behind
        0 | 1 => flags.push(format!("{}=off", FLAGS[rng.usize(0..FLAGS.len())])),
        2 | 3 => {
            for f in FLAGS {
                if rng.bool() {
                    flags.push(flip(rng, f));
                }
            }
        }
        4 => FLAGS.iter().for_each(|f| flags.push(format!("{f}={}", if rng.u8(0..6) > 0 { "off" } else { "on" }))),
        _ => {}
    }
    if !flags.is_empty() {
        way.sets.push(format!("optimizer_switch = '{}'", flags.join(",")));
    }
    for _ in 0..[0, 0, 1, 2][rng.usize(0..4)] {
        let set = SETTINGS[rng.usize(0..SETTINGS.len())];
        let name = set.split(' ').next();
        if !way.sets.iter().any(|s| s.split(' ').next() == name) {
            way.sets.push(set.into());
        }
    }
    way.place = [Place::Usual, Place::Usual, Place::Tiny, Place::Threads, Place::Snapshot][rng.usize(0..5)];
    way.hints = rng.bool();
    match rng.u8(0..10) {
        0 => way.prepared = true,
        1 => way.parameters = true,
        2 => way.locks = true,
        _ => {}
    }
    way.warmed = rng.u8(0..4) == 0;
    way
}
