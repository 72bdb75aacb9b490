//! The flags of `optimizer_switch`: those of MySQL 8.4 (manual, 10.9.2) and, after them, those that MariaDB 10.11 has
//! beside them. What each steers here is said in COMPAT.md.

macro_rules! switches {
    ($($(#[$doc:meta])* $name:ident = $default:ident,)*) => {
        /// One `bool` a flag.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct Switches {
            $($(#[$doc])* pub $name: bool,)*
        }

        /// The default of `optimizer_switch`: `flag=on,flag=off,..`.
        pub const DEFAULT_SWITCHES: &str = concat!($(",", stringify!($name), "=", stringify!($default)),*).split_at(1).1;

        impl Default for Switches {
            fn default() -> Switches {
                Switches { $($name: is_on(stringify!($default)),)* }
            }
        }

        impl Switches {
            /// Sets a flag by its name; false if there is none such.
            pub fn set(&mut self, name: &str, on: bool) -> bool {
                match name {
                    $(stringify!($name) => self.$name = on,)*
                    _ => return false,
                }
                true
            }
        }
    };
}

fn is_on(word: &str) -> bool {
    word == "on"
}

switches! {
    index_merge = on,
    index_merge_union = on,
    index_merge_sort_union = on,
    index_merge_intersection = on,
    engine_condition_pushdown = on,
    index_condition_pushdown = on,
    mrr = on,
    mrr_cost_based = on,
    block_nested_loop = on,
    batched_key_access = on,
    materialization = on,
    semijoin = on,
    loosescan = on,
    firstmatch = on,
    duplicateweedout = on,
    subquery_materialization_cost_based = on,
    use_index_extensions = on,
    condition_fanout_filter = on,
    derived_merge = on,
    use_invisible_indexes = off,
    skip_scan = on,
    hash_join = on,
    subquery_to_derived = off,
    prefer_ordering_index = on,
    hypergraph_optimizer = off,
    derived_condition_pushdown = on,
    hash_set_operations = on,
    derived_with_keys = on,
    in_to_exists = on,
    partial_match_rowid_merge = on,
    partial_match_table_scan = on,
    subquery_cache = on,
    mrr_sort_keys = on,
    outer_join_with_cache = on,
    semijoin_with_cache = on,
    join_cache_incremental = on,
    join_cache_hashed = on,
    join_cache_bka = on,
    optimize_join_buffer_size = on,
    table_elimination = on,
    extended_keys = on,
    exists_to_in = on,
    orderby_uses_equalities = on,
    condition_pushdown_for_derived = on,
    split_materialized = on,
    condition_pushdown_for_subquery = on,
    rowid_filter = on,
    condition_pushdown_from_having = on,
    not_null_range_scan = off,
    hash_join_cardinality = on,
    cset_narrowing = off,
    sargable_casefold = on,
}

impl Switches {
    /// The flags as `optimizer_switch` has them; flags that the text leaves out have their default.
    pub fn parse(text: &str) -> Switches {
        let mut s = Switches::default();
        for (name, value) in text.split(',').filter_map(|f| f.split_once('=')) {
            s.set(name, is_on(value));
        }
        s
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_text_says_what_the_default_is() {
        assert!(DEFAULT_SWITCHES.starts_with("index_merge=on,"));
        assert_eq!(Switches::parse(DEFAULT_SWITCHES), Switches::default());
        let s = Switches::parse("mrr=off,use_invisible_indexes=on");
        assert!(!s.mrr && s.use_invisible_indexes && s.mrr_cost_based);
    }
}
