//! Session variables that every statement asks for, read once when they change.

use super::SessionVars;
use crate::Isolation;
use executor::MemoryBounds;
use planner::optimize::{Limits, Switches};
use std::hash::{DefaultHasher, Hash, Hasher};
use types::Collation;
use types::temporal::TimeZone;

/// See the module head.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HotVars {
    pub autocommit: bool,
    pub max_error_count: usize,
    pub sql_select_limit: u64,
    /// Microseconds since 1970 that `SET timestamp` fixed.
    pub timestamp_us: Option<i64>,
    /// Of transactions to come.
    pub isolation: Isolation,
    pub read_only: bool,
    pub lock_wait_timeout_s: u64,
    pub innodb_lock_wait_timeout_s: u64,
    /// auto_increment_increment, and auto_increment_offset as far as it counts.
    pub auto_increment_step: u64,
    pub auto_increment_offset: u64,
    /// `None`: not one that is known.
    pub time_zone: Option<TimeZone>,
    pub collation_connection: Collation,
    /// character_set_client and character_set_results are latin1.
    pub client_is_latin1: bool,
    pub results_are_latin1: bool,
    pub wait_timeout_s: u64,
    pub max_execution_time_ms: u64,
    pub long_query_time_us: u64,
    /// optimizer_trace is enabled.
    pub traces_optimizer: bool,
    pub interactive_timeout_s: u64,
    pub net_read_timeout_s: u64,
    pub net_write_timeout_s: u64,
    pub max_allowed_packet: u64,
    pub div_precision_increment: u8,
    pub group_concat_max_len: u64,
    pub default_week_format: u8,
    pub locale: &'static types::Locale,
    pub cte_max_recursion_depth: u64,
    pub max_query_memory: u64,
    pub max_tmp_session_space_usage: u64,
    pub parallel_workers: usize,
    pub sql_notes: bool,
    pub sql_safe_updates: bool,
    pub foreign_key_checks: bool,
    /// optimizer_switch, and the sizes and bounds that the optimizer keeps to.
    pub switches: Switches,
    pub limits: Limits,
    /// What sorts and internal temporary tables keep in memory.
    pub bounds: MemoryBounds,
    /// A hash of everything that a plan may depend on.
    pub plan_settings: u128,
}

/// Variables that the binder, the optimizer or folded constants look at.
const PLAN_SETTINGS: &[&str] = &[
    "sql_mode",
    "collation_connection",
    "character_set_client",
    "time_zone",
    "div_precision_increment",
    "default_week_format",
    "group_concat_max_len",
    "max_allowed_packet",
    "optimizer_switch",
    "optimizer_prune_level",
    "optimizer_search_depth",
    "eq_range_index_dive_limit",
    "range_optimizer_max_mem_size",
    "max_seeks_for_key",
    "join_buffer_size",
    "read_rnd_buffer_size",
    "lc_time_names",
    "cte_max_recursion_depth",
    "sql_safe_updates",
    "sql_select_limit",
    "explicit_defaults_for_timestamp",
];

impl HotVars {
    pub(super) fn of(vars: &SessionVars) -> HotVars {
        let fixed = vars.text("timestamp").parse::<f64>().unwrap_or(0.0);
        let step = vars.uint("auto_increment_increment").max(1);
        let offset = vars.uint("auto_increment_offset").max(1);
        HotVars {
            auto_increment_step: step,
            auto_increment_offset: if offset > step { 1 } else { offset },
            time_zone: TimeZone::parse(vars.text("time_zone")),
            autocommit: vars.on("autocommit"),
            max_error_count: vars.uint("max_error_count") as usize,
            sql_select_limit: vars.uint("sql_select_limit"),
            timestamp_us: (fixed > 0.0).then_some((fixed * 1e6) as i64),
            isolation: Isolation::from_text(vars.text("transaction_isolation")),
            read_only: vars.on("transaction_read_only"),
            lock_wait_timeout_s: vars.uint("lock_wait_timeout"),
            innodb_lock_wait_timeout_s: vars.uint("innodb_lock_wait_timeout"),
            collation_connection: Collation::from_name(vars.text("collation_connection")).unwrap_or_default(),
            client_is_latin1: vars.text("character_set_client") == "latin1",
            results_are_latin1: vars.text("character_set_results") == "latin1",
            wait_timeout_s: vars.uint("wait_timeout"),
            max_execution_time_ms: vars.uint("max_execution_time"),
            traces_optimizer: vars.text("optimizer_trace").starts_with("enabled=on"),
            long_query_time_us: (vars.text("long_query_time").parse::<f64>().unwrap_or(10.0) * 1e6) as u64,
            interactive_timeout_s: vars.uint("interactive_timeout"),
            net_read_timeout_s: vars.uint("net_read_timeout"),
            net_write_timeout_s: vars.uint("net_write_timeout"),
            max_allowed_packet: vars.uint("max_allowed_packet"),
            div_precision_increment: vars.uint("div_precision_increment") as u8,
            group_concat_max_len: vars.uint("group_concat_max_len"),
            default_week_format: vars.uint("default_week_format") as u8,
            locale: types::locale::find(vars.text("lc_time_names")).unwrap_or(types::locale::english()),
            cte_max_recursion_depth: vars.uint("cte_max_recursion_depth"),
            max_query_memory: vars.uint("max_query_memory"),
            max_tmp_session_space_usage: vars.uint("max_tmp_session_space_usage"),
            parallel_workers: vars.uint("parallel_workers") as usize,
            sql_notes: vars.on("sql_notes"),
            sql_safe_updates: vars.on("sql_safe_updates"),
            foreign_key_checks: vars.on("foreign_key_checks"),
            switches: Switches::parse(vars.text("optimizer_switch")),
            limits: limits(vars),
            bounds: bounds(vars),
            plan_settings: plan_settings(vars),
        }
    }
}

fn limits(vars: &SessionVars) -> Limits {
    Limits {
        join_buffer_size: vars.uint("join_buffer_size"),
        read_rnd_buffer_size: vars.uint("read_rnd_buffer_size"),
        max_seeks_for_key: vars.uint("max_seeks_for_key"),
        eq_range_index_dive_limit: vars.uint("eq_range_index_dive_limit"),
        range_optimizer_max_mem_size: vars.uint("range_optimizer_max_mem_size"),
        search_depth: vars.uint("optimizer_search_depth"),
        prune_level: vars.uint("optimizer_prune_level"),
    }
}

/// MySQL's default sizes, at which they bound nothing: what MySQL sizes for many sessions on a small machine would make
/// each statement spill that is not tiny.
fn bounds(vars: &SessionVars) -> MemoryBounds {
    let bound = |name: &str| {
        let is_default = super::find(name).is_some_and(|d| d.default == vars.text(name));
        (!is_default).then(|| usize::try_from(vars.uint(name)).unwrap_or(usize::MAX))
    };
    let table = bound("tmp_table_size");
    MemoryBounds {
        sort: bound("sort_buffer_size"),
        table: match vars.text("internal_tmp_mem_storage_engine") {
            "MEMORY" => table.into_iter().chain(bound("max_heap_table_size")).min(),
            _ => table,
        },
    }
}

fn plan_settings(vars: &SessionVars) -> u128 {
    let half = |seed: u64| {
        let mut hasher = DefaultHasher::new();
        seed.hash(&mut hasher);
        PLAN_SETTINGS.iter().for_each(|name| vars.text(name).hash(&mut hasher));
        u128::from(hasher.finish())
    };
    half(1) << 64 | half(2)
}
