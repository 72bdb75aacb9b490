//! Every flag of optimizer_switch that steers something: the plan with it on, the plan with it off, the same rows.

mod common;

use common::{Client, tables};

/// A flag, other flags that are set first, a statement, and a word of EXPLAIN (of FORMAT=TREE, if `tree`) that is there
/// while the flag is on, and one while it is off; empty: no matter.
struct Case {
    flag: &'static str,
    others: &'static str,
    sql: &'static str,
    on: &'static str,
    off: &'static str,
    tree: bool,
}

const fn table(
    flag: &'static str,
    others: &'static str,
    sql: &'static str,
    on: &'static str,
    off: &'static str,
) -> Case {
    Case { flag, others, sql, on, off, tree: false }
}

const fn tree(
    flag: &'static str,
    others: &'static str,
    sql: &'static str,
    on: &'static str,
    off: &'static str,
) -> Case {
    Case { flag, others, sql, on, off, tree: true }
}

fn check(c: &mut Client, cases: &[Case]) {
    let mut faults = vec![];
    for x in cases {
        let mut seen = vec![];
        for state in ["on", "off"] {
            c.ok("SET optimizer_switch = 'default'");
            if !x.others.is_empty() {
                c.ok(&format!("SET optimizer_switch = '{}'", x.others));
            }
            c.ok(&format!("SET optimizer_switch = '{}={state}'", x.flag));
            let plan = if x.tree { c.tree(x.sql) } else { c.explained(x.sql) };
            let mut rows = c.ok(x.sql);
            rows.sort();
            seen.push((plan, rows));
        }
        let [(on, rows), (off, same)] = &seen[..] else { panic!("two states") };
        let mut fault = |what: &str| faults.push(format!("{}: {what}\n{}\non\n{on}\noff\n{off}", x.flag, x.sql));
        if rows != same {
            fault("other rows");
        }
        if !x.on.is_empty() && (!on.contains(x.on) || off.contains(x.on)) {
            fault(&format!("`{}` is not what on adds", x.on));
        }
        if !x.off.is_empty() && (!off.contains(x.off) || on.contains(x.off)) {
            fault(&format!("`{}` is not what off adds", x.off));
        }
    }
    c.ok("SET optimizer_switch = 'default'");
    assert!(faults.is_empty(), "{} faults:\n\n{}", faults.len(), faults.join("\n\n"));
}

#[test]
fn access_to_tables() {
    let mut c = tables();
    c.ok("CREATE TABLE i (a INT, b INT, KEY ia (a) INVISIBLE)");
    c.ok("INSERT INTO i SELECT x, a FROM t");
    c.ok("ANALYZE TABLE i");
    let range = "SELECT SUM(x) FROM t FORCE INDEX (abs) WHERE a BETWEEN 5 AND 30";
    check(
        &mut c,
        &[
            table(
                "index_condition_pushdown",
                "",
                "SELECT SUM(x) FROM t FORCE INDEX (abs) WHERE a = 7 AND s = 'W3'",
                "Using index condition",
                "Using where",
            ),
            table("mrr", "mrr_cost_based=off", range, "Using MRR", ""),
            table(
                "mrr_cost_based",
                "",
                "SELECT SUM(x) FROM t FORCE INDEX (abs) WHERE a BETWEEN 5 AND 6",
                "",
                "Using MRR",
            ),
            table(
                "skip_scan",
                "",
                "SELECT SUM(x) FROM t FORCE INDEX (abs) WHERE b = 3",
                "Using index for skip scan",
                "",
            ),
            table("prefer_ordering_index", "", "SELECT x FROM t ORDER BY b LIMIT 3", "|b|", "Using filesort"),
            table("use_invisible_indexes", "", "SELECT b FROM i WHERE a = 3", "|ia|", "|ALL|"),
        ],
    );
}

#[test]
fn index_merge() {
    let mut c = tables();
    let union = "SELECT SUM(x) FROM t FORCE INDEX (a, b) WHERE a = 3 OR b = 3";
    let sorted = "SELECT SUM(x) FROM t FORCE INDEX (a, b) WHERE a < 2 OR b = 3";
    check(
        &mut c,
        &[
            table("index_merge", "", union, "Using union(", ""),
            table("index_merge_union", "", union, "Using union(", ""),
            table("index_merge", "", sorted, "Using sort_union(", ""),
            table("index_merge_sort_union", "", sorted, "Using sort_union(", ""),
        ],
    );
}

#[test]
fn joins() {
    let mut c = tables();
    let lookup = "SELECT SUM(t.x) FROM w STRAIGHT_JOIN t FORCE INDEX (a) ON t.a = w.k";
    let outer = "SELECT SUM(t.x) FROM w LEFT JOIN t FORCE INDEX (a) ON t.a = w.k";
    let semi = "SELECT COUNT(*) FROM w WHERE EXISTS (SELECT * FROM t FORCE INDEX (a) WHERE t.a = w.k AND t.x < 3000)";
    let batches = "mrr_cost_based=off";
    check(
        &mut c,
        &[
            table("batched_key_access", batches, lookup, "Batched Key Access", ""),
            table("join_cache_bka", batches, lookup, "Batched Key Access", ""),
            table("mrr", batches, lookup, "Batched Key Access", ""),
            table("outer_join_with_cache", batches, outer, "Batched Key Access", ""),
            table(
                "semijoin_with_cache",
                "mrr_cost_based=off,materialization=off,loosescan=off,hash_join=off",
                semi,
                "Batched Key Access",
                "",
            ),
            table("block_nested_loop", "", "SELECT COUNT(*) FROM w x JOIN w y ON x.k < y.k", "Block Nested Loop", ""),
            table("block_nested_loop", "", "SELECT COUNT(*) FROM w x JOIN u y ON x.k = y.v", "hash join", ""),
            table("hash_join", "", "SELECT COUNT(*) FROM w x JOIN u y ON x.k = y.v", "hash join", ""),
        ],
    );
}

#[test]
fn subqueries() {
    let mut c = tables();
    let sql = "SELECT COUNT(*) FROM u WHERE k IN (SELECT a FROM t WHERE x < 900)";
    let apart = "SELECT COUNT(*) FROM u WHERE v = 100 OR k IN (SELECT a FROM t WHERE x < 900)";
    let grouped = "SELECT COUNT(*) FROM u WHERE k IN (SELECT a FROM t WHERE x < 900 GROUP BY a, s HAVING COUNT(*) > 1)";
    let exists = "SELECT COUNT(*) FROM u WHERE EXISTS (SELECT * FROM t WHERE t.a = u.k AND t.x < 900)";
    check(
        &mut c,
        &[
            table("semijoin", "", sql, "", "SUBQUERY"),
            table(
                "firstmatch",
                "loosescan=off,materialization=off,duplicateweedout=off",
                sql,
                "FirstMatch",
                "Start temporary",
            ),
            table(
                "loosescan",
                "firstmatch=off,materialization=off,duplicateweedout=off",
                sql,
                "LooseScan",
                "Start temporary",
            ),
            table(
                "materialization",
                "firstmatch=off,loosescan=off,duplicateweedout=off",
                sql,
                "MATERIALIZED",
                "Start temporary",
            ),
            table(
                "duplicateweedout",
                "firstmatch=off,loosescan=off",
                "SELECT COUNT(*) FROM u WHERE k IN (SELECT a FROM t WHERE x < 900)",
                "",
                "",
            ),
            table("materialization", "semijoin=off", sql, "|SUBQUERY|", "DEPENDENT SUBQUERY"),
            table("materialization", "", apart, "|SUBQUERY|", "DEPENDENT SUBQUERY"),
            table("in_to_exists", "semijoin=off,materialization=off", sql, "DEPENDENT SUBQUERY", ""),
            table("exists_to_in", "", exists, "", "DEPENDENT SUBQUERY"),
            tree(
                "subquery_cache",
                "semijoin=off,materialization=off",
                grouped,
                "subquery cached by",
                "subquery run by",
            ),
        ],
    );
    // IN-to-EXISTS where it costs less, unless costs are not to be asked.
    c.ok("SET optimizer_switch = 'semijoin=off'");
    let few = "SELECT COUNT(*) FROM w WHERE id = 3 AND k IN (SELECT a FROM t FORCE INDEX (a) WHERE x < 3000)";
    let by_cost = c.explained(few);
    c.ok("SET optimizer_switch = 'subquery_materialization_cost_based=off'");
    let always = c.explained(few);
    assert!(!always.contains("DEPENDENT"), "{always}");
    assert!(by_cost.contains("DEPENDENT"), "{by_cost}");
}

#[test]
fn derived_tables_and_conditions() {
    let mut c = tables();
    let grouped = "SELECT * FROM (SELECT a, SUM(x) n FROM t IGNORE INDEX (a, abs) GROUP BY a) d WHERE a > 37";
    c.ok("CREATE TABLE g (k INT NOT NULL, x INT, KEY (k))");
    c.ok("INSERT INTO g SELECT p.id * 10 + q.id % 10, q.x FROM t p JOIN t q ON q.id < 20");
    c.ok("ANALYZE TABLE g");
    let split = "SELECT w.id, d.n FROM w JOIN (SELECT k, SUM(x) n FROM g GROUP BY k) d ON d.k = w.k WHERE w.id = 3";
    let below = "table\n    -> Filter: (t.a > 37)\n";
    let above = "Filter: (t.a > 37)\n    -> Aggregate";
    let having = "SELECT a, SUM(x) FROM t IGNORE INDEX (a, abs) GROUP BY a HAVING a > 37";
    let into = "SELECT COUNT(*) FROM u WHERE k = 7 AND k IN (SELECT a FROM t IGNORE INDEX (a, abs) GROUP BY a HAVING SUM(x) > 0)";
    check(
        &mut c,
        &[
            table("derived_merge", "", "SELECT x FROM (SELECT a, x FROM t) d WHERE a = 3", "|SIMPLE|t|", "<derived2>"),
            tree("derived_condition_pushdown", "", grouped, below, above),
            tree("condition_pushdown_for_derived", "", grouped, below, above),
            tree("condition_pushdown_from_having", "", having, below, above),
            tree("condition_pushdown_for_subquery", "", into, "", ""),
            table("split_materialized", "", split, "DEPENDENT DERIVED", "|DERIVED|"),
        ],
    );
}

/// Flags that change estimates.
#[test]
fn estimates() {
    let mut c = tables();
    // No index has x.
    let sql = "SELECT COUNT(*) FROM u JOIN t ON t.id = u.k WHERE t.x < 40";
    let (on, rows) = (c.explained(sql), c.ok(sql));
    c.ok("SET optimizer_switch = 'condition_fanout_filter=off'");
    assert_ne!(on, c.explained(sql));
    assert_eq!(c.ok(sql), rows);
}

/// What MySQL and MariaDB know and is not known here, and what neither knows.
#[test]
fn what_can_be_set() {
    let mut c = tables();
    let all = c.ok("SELECT @@optimizer_switch").remove(0);
    for flag in all.split(',').filter_map(|f| f.split_once('=')).map(|f| f.0) {
        for state in ["off", "on", "default"] {
            c.ok(&format!("SET optimizer_switch = '{flag}={state}'"));
        }
    }
    assert_eq!(c.ok("SELECT @@optimizer_switch"), std::slice::from_ref(&all));
    for bad in ["nothing=on", "mrr", "mrr=yes", "mrr=on,,nothing=off", "=on"] {
        assert_eq!(c.err(&format!("SET optimizer_switch = '{bad}'")), 1231, "{bad}");
    }
    assert_eq!(c.ok("SELECT @@optimizer_switch"), std::slice::from_ref(&all), "a wrong one changes nothing");
    // The global value is changed from what it is, not from the session's.
    c.ok("SET optimizer_switch = 'mrr=off'");
    c.ok("SET GLOBAL optimizer_switch = 'hash_join=off'");
    let global = c.ok("SELECT @@GLOBAL.optimizer_switch").remove(0);
    assert!(global.contains("mrr=on") && global.contains("hash_join=off"), "{global}");
    c.ok("SET GLOBAL optimizer_switch = 'default'");
    c.ok("SET optimizer_switch = DEFAULT");
    assert_eq!(c.ok("SELECT @@optimizer_switch"), [all]);
}
