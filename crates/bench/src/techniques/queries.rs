//! The published experiments: which query, and how its technique goes on and off.
//!
//! The texts are TPC-H's with the parameters of the publication (Q3 with AUTOMOBILE and 1995-03-09, Q10 from
//! 1993-08-01, Q16 with Brand#23, Q19 with brands 45, 24 and 53), and its index hints.

use crate::tpch::QUERIES;

/// One experiment.
#[derive(Debug)]
pub struct Technique {
    pub title: &'static str,
    /// Number of the query in TPC-H.
    pub query: usize,
    /// Texts of the specification's run, and what stands there instead.
    replace: &'static [(&'static str, &'static str)],
    /// SET SESSION of Nextleaf: with the technique, without.
    pub ours: [&'static [&'static str]; 2],
    /// The same of MariaDB.
    pub theirs: [&'static [&'static str]; 2],
    /// Words that EXPLAIN shows with the technique alone.
    pub words: &'static str,
}

impl Technique {
    pub fn sql(&self) -> String {
        let text = QUERIES[self.query - 1].trim_end().trim_end_matches(';');
        self.replace.iter().fold(text.to_owned(), |t, (from, to)| {
            assert!(t.contains(from), "query {} has no {from}", self.query);
            t.replace(from, to)
        })
    }
}

const Q3: &[(&str, &str)] = &[("BUILDING", "AUTOMOBILE"), ("1995-03-15", "1995-03-09")];
const Q3_BY_KEY: &[(&str, &str)] = &[
    ("BUILDING", "AUTOMOBILE"),
    ("1995-03-15", "1995-03-09"),
    ("    lineitem\n", "    lineitem force index (i_l_orderkey)\n"),
];
const Q10: &[(&str, &str)] =
    &[("1993-10-01", "1993-08-01"), ("    orders,\n", "    orders force index (i_o_orderdate),\n")];
const Q16: &[(&str, &str)] = &[
    ("Brand#45", "Brand#23"),
    ("MEDIUM POLISHED%", "LARGE PLATED%"),
    ("(49, 14, 23, 45, 19, 3, 36, 9)", "(43, 1, 25, 5, 35, 12, 42, 40)"),
];
const Q19: &[(&str, &str)] = &[
    ("Brand#12", "Brand#45"),
    ("Brand#23", "Brand#24"),
    ("Brand#34", "Brand#53"),
    ("l_quantity >= 10 and l_quantity <= 10 + 10", "l_quantity >= 14 and l_quantity <= 14 + 10"),
    ("l_quantity >= 20 and l_quantity <= 20 + 10", "l_quantity >= 28 and l_quantity <= 28 + 10"),
    ("    lineitem,\n", "    lineitem force index (i_l_partkey),\n"),
];

pub const ICP: Technique = Technique {
    title: "Index condition pushdown: Q19",
    query: 19,
    replace: Q19,
    ours: [&["optimizer_switch='index_condition_pushdown=on'"], &["optimizer_switch='index_condition_pushdown=off'"]],
    theirs: [&["optimizer_switch='index_condition_pushdown=on'"], &["optimizer_switch='index_condition_pushdown=off'"]],
    words: "Using index condition",
};

pub const MRR: Technique = Technique {
    title: "Multi-range read: Q10",
    query: 10,
    replace: Q10,
    ours: [&["optimizer_switch='mrr=on,mrr_cost_based=off'"], &["optimizer_switch='mrr=off'"]],
    theirs: [
        &["optimizer_switch='mrr=on,mrr_sort_keys=on,mrr_cost_based=off'", "read_rnd_buffer_size=67108864"],
        &["optimizer_switch='mrr=off,mrr_sort_keys=off'"],
    ],
    words: "Using MRR",
};

pub const BKA: Technique = Technique {
    title: "Batched key access: Q3",
    query: 3,
    replace: Q3_BY_KEY,
    ours: [
        &["optimizer_switch='batched_key_access=on,hash_join=off,mrr=on,mrr_cost_based=off'"],
        &["optimizer_switch='batched_key_access=off,hash_join=off'"],
    ],
    theirs: [
        &["optimizer_switch='join_cache_bka=on,mrr=on,mrr_sort_keys=on,mrr_cost_based=off'", "join_cache_level=8"],
        &["optimizer_switch='join_cache_bka=off,mrr=off,mrr_sort_keys=off'", "join_cache_level=2"],
    ],
    words: "Batched Key Access",
};

pub const HASH_JOIN: Technique = Technique {
    title: "Hash join: Q3",
    query: 3,
    replace: Q3,
    ours: [&["optimizer_switch='hash_join=on'"], &["optimizer_switch='hash_join=off'"]],
    theirs: [
        &["optimizer_switch='join_cache_hashed=on'", "join_cache_level=4"],
        &["optimizer_switch='join_cache_hashed=off'", "join_cache_level=2"],
    ],
    words: "hash join",
};

pub const MATERIALIZATION: Technique = Technique {
    title: "Subquery materialization: Q16",
    query: 16,
    replace: Q16,
    ours: [&["optimizer_switch='materialization=on'"], &["optimizer_switch='materialization=off'"]],
    theirs: [
        &["optimizer_switch='materialization=on,in_to_exists=off'"],
        &["optimizer_switch='materialization=off,in_to_exists=on'"],
    ],
    words: "MATERIALIZED",
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_texts_are_the_publication_s() {
        for t in [ICP, MRR, BKA, HASH_JOIN, MATERIALIZATION] {
            let sql = t.sql();
            assert!(!sql.ends_with(';') && !sql.contains("1995-03-15") && !sql.contains("Brand#12"), "{sql}");
        }
        assert!(BKA.sql().contains("force index (i_l_orderkey)") && !HASH_JOIN.sql().contains("force"));
        assert!(ICP.sql().contains("l_quantity >= 28 and l_quantity <= 28 + 10"));
    }
}
