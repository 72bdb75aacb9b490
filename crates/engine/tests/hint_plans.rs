//! Every optimizer hint changes the plan in the way that the manual says, and never the rows.
//!
//! A case is a statement with a place for the hint (`{}`), the state of optimizer_switch, and a word of EXPLAIN that is
//! there with the hint and not without it, or the other way round.

mod common;

use common::{Client, tables};

struct Case {
    sql: &'static str,
    hint: &'static str,
    switch: &'static str,
    /// In EXPLAIN, with the hint alone, and without it alone; empty: no matter.
    with: &'static str,
    without: &'static str,
}

const fn case(
    sql: &'static str,
    hint: &'static str,
    switch: &'static str,
    with: &'static str,
    without: &'static str,
) -> Case {
    Case { sql, hint, switch, with, without }
}

fn check(c: &mut Client, cases: &[Case]) {
    let mut faults = vec![];
    for x in cases {
        c.ok("SET optimizer_switch = 'default'");
        if !x.switch.is_empty() {
            c.ok(&format!("SET optimizer_switch = '{}'", x.switch));
        }
        let plain = x.sql.replace("{}", "");
        let hinted = x.sql.replace("{}", &format!("/*+ {} */", x.hint));
        let before = c.explained(&plain);
        let after = c.explained(&hinted);
        let said = c.warnings();
        let (mut rows, mut same) = (c.ok(&plain), c.ok(&hinted));
        rows.sort();
        same.sort();
        let mut fault = |what: &str| faults.push(format!("{what}: {hinted}\n{before}\n--\n{after}\n{said:?}"));
        if !said.is_empty() {
            fault("warnings");
        }
        if rows != same {
            fault("other rows");
        }
        if !x.with.is_empty() && (!after.contains(x.with) || before.contains(x.with)) {
            fault(&format!("`{}` is not what the hint adds", x.with));
        }
        if !x.without.is_empty() && (after.contains(x.without) || !before.contains(x.without)) {
            fault(&format!("`{}` is not what the hint takes away", x.without));
        }
    }
    assert!(faults.is_empty(), "{} faults:\n\n{}", faults.len(), faults.join("\n\n"));
}

const RANGE: &str = "SELECT {} SUM(x) FROM t FORCE INDEX (abs) WHERE a BETWEEN 5 AND 30";
const PUSHED: &str = "SELECT {} SUM(x) FROM t FORCE INDEX (abs) WHERE a = 7 AND s = 'W3'";
const SKIP: &str = "SELECT {} SUM(x) FROM t FORCE INDEX (abs) WHERE b = 3";

#[test]
fn index_level() {
    let mut c = tables();
    check(
        &mut c,
        &[
            case(RANGE, "MRR(t)", "mrr=off,mrr_cost_based=off", "Using MRR", ""),
            case(RANGE, "MRR(t abs)", "mrr=off", "Using MRR", ""),
            case(RANGE, "NO_MRR(t)", "mrr_cost_based=off", "", "Using MRR"),
            case(RANGE, "NO_MRR(t abs)", "mrr_cost_based=off", "", "Using MRR"),
            case(PUSHED, "NO_ICP(t)", "", "Using where", "Using index condition"),
            case(PUSHED, "NO_ICP(t abs)", "", "Using where", "Using index condition"),
            case(SKIP, "SKIP_SCAN(t)", "skip_scan=off", "Using index for skip scan", ""),
            case(SKIP, "SKIP_SCAN(t abs)", "skip_scan=off", "Using index for skip scan", ""),
            case(SKIP, "NO_SKIP_SCAN(t)", "", "", "Using index for skip scan"),
            case(SKIP, "NO_SKIP_SCAN(t abs)", "", "", "Using index for skip scan"),
            case("SELECT {} b FROM t WHERE a = 3 AND b = 3", "NO_RANGE_OPTIMIZATION(t)", "", "|ALL|", ""),
            case("SELECT {} x FROM t WHERE a = 77", "NO_RANGE_OPTIMIZATION(t a, abs)", "", "|ALL|", "|a|"),
            case("SELECT {} x FROM t WHERE a = 77", "INDEX(t abs)", "", "|abs|4|", ""),
            case("SELECT {} x FROM t WHERE a = 77", "NO_INDEX(t a, abs)", "", "|ALL|", ""),
            case("SELECT {} x FROM t WHERE a = 77", "NO_INDEX(t)", "", "|ALL|", ""),
            case("SELECT {} x FROM t WHERE a = 77", "JOIN_INDEX(t abs)", "", "|abs|4|", ""),
            case("SELECT {} x FROM t WHERE a = 77", "NO_JOIN_INDEX(t a, abs)", "", "|ALL|", ""),
            case(
                "SELECT {} x FROM t WHERE a BETWEEN 7 AND 9 ORDER BY b",
                "ORDER_INDEX(t b)",
                "",
                "|b|",
                "Using filesort",
            ),
            case("SELECT {} b FROM t ORDER BY b LIMIT 3", "NO_ORDER_INDEX(t b)", "", "Using filesort", "|b|"),
            case("SELECT {} DISTINCT k FROM u", "GROUP_INDEX(u kv)", "", "|kv|", ""),
            case(
                "SELECT {} a, MAX(b) FROM t FORCE INDEX (abs) GROUP BY a",
                "NO_GROUP_INDEX(t abs)",
                "",
                "",
                "Using index for group-by",
            ),
        ],
    );
}

const EITHER: &str = "SELECT {} SUM(x) FROM t FORCE INDEX (a, b) WHERE a = 3 OR b = 3";

#[test]
fn index_merge() {
    let mut c = tables();
    let both = "SELECT {} SUM(x) FROM t IGNORE INDEX (abs) WHERE a = 3 AND b = 3";
    check(
        &mut c,
        &[
            case(EITHER, "INDEX_MERGE(t)", "index_merge=off", "Using union(", ""),
            case(EITHER, "INDEX_MERGE(t a, b)", "index_merge_union=off,index_merge_sort_union=off", "Using union(", ""),
            case(EITHER, "NO_INDEX_MERGE(t)", "", "", "Using union("),
            case(EITHER, "NO_INDEX_MERGE(t b)", "", "", "Using union("),
            case(both, "INDEX_MERGE(t a, b)", "index_merge=off", "Using intersect(", ""),
        ],
    );
}

const LOOKUP: &str = "SELECT {} SUM(t.x) FROM w STRAIGHT_JOIN t FORCE INDEX (a) ON t.a = w.k";
const UNEQUAL: &str = "SELECT {} COUNT(*) FROM w x JOIN w y ON x.k < y.k";
const HASHED: &str = "SELECT {} COUNT(*) FROM w x JOIN u y ON x.k = y.v";

#[test]
fn table_level() {
    let mut c = tables();
    let on = "mrr=on,mrr_cost_based=off";
    check(
        &mut c,
        &[
            case(LOOKUP, "BKA(t)", "batched_key_access=off,mrr_cost_based=off", "Batched Key Access", ""),
            case(LOOKUP, "BKA()", "batched_key_access=off,mrr_cost_based=off", "Batched Key Access", ""),
            case(LOOKUP, "NO_BKA(t)", on, "", "Batched Key Access"),
            case(LOOKUP, "NO_BKA()", on, "", "Batched Key Access"),
            case(UNEQUAL, "BNL(x, y)", "block_nested_loop=off", "Block Nested Loop", ""),
            case(UNEQUAL, "NO_BNL(x, y)", "", "", "Block Nested Loop"),
            case(UNEQUAL, "NO_BNL()", "", "", "Block Nested Loop"),
            case(HASHED, "HASH_JOIN(x, y)", "hash_join=off", "hash join", ""),
            case(HASHED, "NO_HASH_JOIN(x, y)", "", "", "hash join"),
            case(HASHED, "NO_HASH_JOIN()", "", "", "hash join"),
            case("SELECT {} x FROM (SELECT a, x FROM t) d WHERE a = 3", "NO_MERGE(d)", "", "<derived2>", ""),
            case(
                "SELECT {} x FROM (SELECT a, x FROM t) d WHERE a = 3",
                "MERGE(d)",
                "derived_merge=off",
                "",
                "<derived2>",
            ),
            case(
                "SELECT {} x FROM (SELECT a, x FROM t) d WHERE a = 3",
                "MERGE()",
                "derived_merge=off",
                "",
                "<derived2>",
            ),
        ],
    );
}

/// Where conditions on a derived table are tested shows in FORMAT=TREE alone.
#[test]
fn derived_condition_pushdown() {
    let mut c = tables();
    let from = "FROM t IGNORE INDEX (a, abs)";
    for (sql, border) in [
        (format!("SELECT {{}} * FROM (SELECT a, SUM(x) n {from} GROUP BY a) d WHERE a > 37"), "Aggregate"),
        (format!("SELECT {{}} * FROM (SELECT a {from} UNION SELECT 1) d WHERE a > 37"), "Append"),
        (format!("WITH d AS (SELECT a, SUM(x) n {from} GROUP BY a) SELECT {{}} * FROM d WHERE a > 37"), "Aggregate"),
        (format!("SELECT {{}} * FROM (SELECT DISTINCT a, s {from}) d WHERE a > 37"), "deduplication"),
    ] {
        let hinted = |hint: &str| sql.replace("{}", &format!("/*+ {hint} */"));
        let mut rows = c.ok(&sql.replace("{}", ""));
        rows.sort();
        for (switch, hint, pushed) in [
            ("on", "", true),
            ("on", "NO_DERIVED_CONDITION_PUSHDOWN(d)", false),
            ("on", "NO_DERIVED_CONDITION_PUSHDOWN()", false),
            ("on", "NO_DERIVED_CONDITION_PUSHDOWN() DERIVED_CONDITION_PUSHDOWN(d)", true),
            ("off", "", false),
            ("off", "DERIVED_CONDITION_PUSHDOWN(d)", true),
            ("off", "DERIVED_CONDITION_PUSHDOWN()", true),
            ("off", "QB_NAME(q) DERIVED_CONDITION_PUSHDOWN(@q d)", true),
        ] {
            c.ok(&format!("SET optimizer_switch = 'derived_condition_pushdown={switch}'"));
            let sql = if hint.is_empty() { sql.replace("{}", "") } else { hinted(hint) };
            let tree = c.tree(&sql);
            assert_eq!(c.warnings(), [""; 0], "{sql}");
            let at = |word: &str| tree.find(word).unwrap_or_else(|| panic!("no {word}: {sql}\n{tree}"));
            assert_eq!(at(border) < at("> 37"), pushed, "{sql} ({switch})\n{tree}");
            let mut same = c.ok(&sql);
            same.sort();
            assert_eq!(same, rows, "{sql}");
        }
    }
}

const IN: &str = "SELECT {} COUNT(*) FROM u WHERE k IN (SELECT {q} a FROM t WHERE x < 900)";

#[test]
fn subqueries() {
    let mut c = tables();
    let outer = |hint: &str| IN.replace("{q}", "/*+ QB_NAME(q) */").replace("{}", &format!("/*+ {hint} */"));
    let inner = |hint: &str| IN.replace("{}", "").replace("{q}", &format!("/*+ {hint} */"));
    let rows = c.ok(&inner(""));
    for (name, word) in [
        ("SEMIJOIN({}FIRSTMATCH)", "FirstMatch"),
        ("SEMIJOIN({}LOOSESCAN)", "LooseScan"),
        ("SEMIJOIN({}MATERIALIZATION)", "MATERIALIZED"),
        ("SEMIJOIN({}DUPSWEEDOUT)", "Start temporary"),
        ("SUBQUERY({}MATERIALIZATION)", "|SUBQUERY|"),
        ("SUBQUERY({}INTOEXISTS)", "DEPENDENT SUBQUERY"),
    ] {
        for sql in [outer(&name.replace("{}", "@q ")), inner(&name.replace("{}", ""))] {
            let text = c.explained(&sql);
            assert!(text.contains(word), "{sql}: no {word} in\n{text}");
            assert!(c.warnings().is_empty(), "{sql}");
            assert_eq!(c.ok(&sql), rows, "{sql}");
        }
    }
    for sql in [outer("NO_SEMIJOIN(@q)"), inner("NO_SEMIJOIN()")] {
        let text = c.explained(&sql);
        assert!(text.contains("SUBQUERY"), "{sql}: {text}");
        assert_eq!(c.ok(&sql), rows, "{sql}");
    }
    // A strategy that is forbidden is not taken, whatever the others cost.
    for (name, word) in [
        ("FIRSTMATCH", "FirstMatch"),
        ("LOOSESCAN", "LooseScan"),
        ("MATERIALIZATION", "MATERIALIZED"),
        ("DUPSWEEDOUT", "Start temporary"),
    ] {
        let sql = inner(&format!("NO_SEMIJOIN({name})"));
        let text = c.explained(&sql);
        assert!(!text.contains(word), "{sql}: {word} in\n{text}");
        assert_eq!(c.ok(&sql), rows, "{sql}");
    }
    // Hints outrank the switch.
    c.ok("SET optimizer_switch = 'semijoin=off'");
    let text = c.explained(&inner("SEMIJOIN(MATERIALIZATION)"));
    assert!(text.contains("MATERIALIZED"), "{text}");
    c.ok("SET optimizer_switch = 'semijoin=on,firstmatch=off'");
    let text = c.explained(&inner("SEMIJOIN(FIRSTMATCH)"));
    assert!(text.contains("FirstMatch"), "{text}");
}

/// The base tables in the order of EXPLAIN.
fn order(c: &mut Client, sql: &str) -> Vec<String> {
    let rows = c.explain(sql);
    assert!(c.warnings().is_empty(), "{sql}");
    rows.into_iter().map(|r| r[2].clone()).collect()
}

#[test]
fn join_orders() {
    let mut c = tables();
    let sql = "SELECT {} COUNT(*) FROM t JOIN u ON t.a = u.k JOIN w ON w.k = u.v WHERE t.x < 100";
    let plain = c.ok(&sql.replace("{}", ""));
    // Joins by hash show the side that is kept first: without them the order is that of the search.
    c.ok("SET optimizer_switch = 'hash_join=off'");
    let at = |order: &[String], t: &str| order.iter().position(|o| o == t).expect("it is there");
    let mut with = |hint: &str| {
        let sql = sql.replace("{}", &format!("/*+ {hint} */"));
        assert_eq!(c.ok(&sql), plain, "{sql}");
        order(&mut c, &sql)
    };
    assert_eq!(with("JOIN_FIXED_ORDER()"), ["t", "u", "w"]);
    for (a, b) in [("t", "w"), ("w", "t"), ("u", "t"), ("w", "u"), ("u", "w"), ("t", "u")] {
        let found = with(&format!("JOIN_ORDER({a}, {b})"));
        assert!(at(&found, a) < at(&found, b), "JOIN_ORDER({a}, {b}): {found:?}");
    }
    for first in ["t", "u", "w"] {
        assert_eq!(with(&format!("JOIN_PREFIX({first})"))[0], first);
        assert_eq!(with(&format!("JOIN_SUFFIX({first})"))[2], first);
    }
    assert_eq!(with("JOIN_PREFIX(w, u)"), ["w", "u", "t"]);
    assert_eq!(with("JOIN_SUFFIX(u, t)"), ["w", "u", "t"]);
    assert_eq!(with("QB_NAME(q) JOIN_PREFIX(t@q, u@q)"), ["t", "u", "w"]);
}

#[test]
fn index_hints_of_one_purpose() {
    let mut c = tables();
    let access = |c: &mut Client, sql: &str| c.explain(sql)[0].join("|");
    let of = |table: &str, rest: &str| format!("SELECT x FROM t {table} {rest}");
    let find = "WHERE a = 77";
    for (hint, key) in [
        ("FORCE INDEX FOR JOIN (abs)", "|abs|4|"),
        ("USE INDEX FOR JOIN (abs)", "|abs|4|"),
        ("IGNORE INDEX FOR JOIN (a)", "|abs|4|"),
        ("IGNORE INDEX FOR JOIN (a, abs)", "|ALL|"),
        ("USE INDEX FOR JOIN (b)", "|ALL|"),
        // About something else.
        ("IGNORE INDEX FOR ORDER BY (a)", "|a|4|"),
        ("IGNORE INDEX FOR GROUP BY (a)", "|a|4|"),
    ] {
        let text = access(&mut c, &of(hint, find));
        assert!(text.contains(key), "{hint}: {text}");
    }
    let sorted = "ORDER BY b, id LIMIT 4";
    for (hint, by_index) in [
        ("FORCE INDEX FOR ORDER BY (b)", true),
        ("FORCE INDEX FOR JOIN (b)", false),
        ("IGNORE INDEX FOR ORDER BY (b)", false),
        ("USE INDEX FOR ORDER BY (a)", false),
        ("IGNORE INDEX (b)", false),
    ] {
        let sql = format!("SELECT b FROM t {hint} {}", sorted.replace(", id", ""));
        let text = access(&mut c, &sql);
        if hint != "FORCE INDEX FOR JOIN (b)" {
            assert_eq!(!text.contains("Using filesort"), by_index, "{hint}: {text}");
        }
        assert_eq!(c.ok(&sql), ["0", "0", "0", "0"], "{hint}");
    }
    for (hint, by_index) in [
        ("FORCE INDEX FOR GROUP BY (abs)", true),
        ("USE INDEX FOR GROUP BY (abs) USE INDEX FOR JOIN (abs)", true),
        ("IGNORE INDEX FOR GROUP BY (abs)", false),
        ("IGNORE INDEX (abs)", false),
        ("USE INDEX FOR GROUP BY (b)", false),
    ] {
        let sql = format!("SELECT a, MAX(b) FROM t {hint} GROUP BY a ORDER BY a LIMIT 2");
        let text = access(&mut c, &sql);
        if !by_index || hint.starts_with("FORCE") {
            let in_order = text.contains("|index||abs|") && !text.contains("Using temporary");
            assert_eq!(text.contains("Using index for group-by") || in_order, by_index, "{hint}: {text}");
        }
        assert_eq!(c.ok(&sql), ["0,9", "1,9"], "{hint}");
    }
    for hint in ["FORCE INDEX (nothing)", "USE INDEX FOR ORDER BY (nothing)", "IGNORE INDEX FOR GROUP BY (nothing)"] {
        assert_eq!(c.err(&of(hint, find)), 1176, "{hint}");
    }
    assert_eq!(c.err("UPDATE t FORCE INDEX (nothing) SET x = 1"), 1176);
    assert_eq!(c.err("DELETE t FROM t USE INDEX (nothing)"), 1176);
    assert_eq!(c.err(&of("FORCE INDEX (a) USE INDEX (b)", find)), 1221);
}

#[test]
fn changes_obey_hints_as_well() {
    let mut c = tables();
    for (plain, hint, with) in [
        ("UPDATE {} t SET x = x + 0 WHERE a = 3", "NO_INDEX(t)", "|ALL|"),
        ("DELETE {} FROM t WHERE a = 3 AND id < 0", "NO_INDEX(t)", "|ALL|"),
        ("INSERT INTO w SELECT {} id + 1000, a FROM t WHERE a = 3 AND id < 0", "NO_INDEX(t)", "|ALL|"),
        ("REPLACE INTO w SELECT {} id + 1000, a FROM t WHERE a = 3 AND id < 0", "INDEX(t abs)", "|abs|4|"),
        ("UPDATE {} w, t SET t.x = t.x WHERE t.a = w.k AND w.id < 3", "JOIN_PREFIX(t)", ""),
    ] {
        let before = c.explained(&plain.replace("{}", ""));
        let sql = plain.replace("{}", &format!("/*+ {hint} */"));
        let after = c.explained(&sql);
        assert!(c.warnings().is_empty(), "{sql}");
        assert_ne!(before, after, "{sql}");
        assert!(after.contains(with), "{sql}: {after}");
        c.ok(&sql);
    }
}
