//! EXPLAIN: types and select types that are seldom met, formats by variable, what other connections run, and the trace.

mod common;

use common::{Client, Remote, filled, tables};

#[test]
fn a_value_or_null() {
    let mut c = tables();
    c.ok("CREATE TABLE n (a INT, b INT, KEY a (a))");
    c.ok("INSERT INTO n SELECT IF(id % 7 = 0, NULL, id), id FROM t");
    c.ok("ANALYZE TABLE n");
    let sql = "SELECT SUM(b) FROM n FORCE INDEX (a) WHERE a = 5 OR a IS NULL";
    let row = c.explain(sql).remove(0);
    assert_eq!((&*row[4], &*row[6], &*row[8]), ("ref_or_null", "a", "const"), "{row:?}");
    let tree = c.tree(sql);
    assert!(tree.contains("(a=5 or NULL)"), "{tree}");
    assert_eq!(c.ok(sql), c.ok(&sql.replace("FORCE", "IGNORE")));
    let n = c.counts(sql, &["Select_range", "Handler_read_key"]);
    assert_eq!(n, [0, 2]);
    assert_eq!(c.explain("SELECT SUM(b) FROM n FORCE INDEX (a) WHERE a = 5 OR a = 6")[0][4], "range");
}

#[test]
fn derived_tables_of_one_row() {
    let mut c = tables();
    for sql in [
        "SELECT * FROM (SELECT MAX(x) m FROM t) d, w",
        "SELECT * FROM (SELECT x FROM t ORDER BY x LIMIT 1) d",
        "SELECT /*+ NO_MERGE(d) */ * FROM (SELECT 1 AS one) d",
    ] {
        let rows = c.explain(sql);
        let derived = rows.iter().find(|r| r[2] == "<derived2>").unwrap_or_else(|| panic!("{sql}: {rows:?}"));
        assert_eq!(derived[4], "system", "{sql}: {rows:?}");
    }
    assert_eq!(c.explain("SELECT * FROM (SELECT DISTINCT k FROM u LIMIT 2) d")[0][4], "ALL");
}

#[test]
fn subqueries_that_differ_from_row_to_row() {
    let mut c = tables();
    let sql = "SELECT id, (SELECT MAX(k + RAND()) FROM u) FROM w";
    let rows = c.explain(sql);
    assert_eq!(rows[1][1], "UNCACHEABLE SUBQUERY", "{rows:?}");
    let json = c.ok(&format!("EXPLAIN FORMAT=JSON {sql}")).remove(0);
    assert!(json.contains("\"cacheable\": false") && json.contains("\"dependent\": false"), "{json}");
    assert!(c.tree(sql).contains("run for each row"));
    for inner in ["RAND()", "MAX(k + RAND()) FROM u"] {
        let values = c.ok(&format!("SELECT COUNT(DISTINCT r) FROM (SELECT (SELECT {inner}) r FROM w) d"));
        assert_eq!(values, ["30"], "{inner}");
    }
    c.ok("SET @n = 0");
    assert_eq!(c.ok("SELECT MAX(n) FROM (SELECT (SELECT @n := @n + 1) n FROM w) d"), ["30"]);
    // Without such a function once is enough.
    let rows = c.explain("SELECT id, (SELECT MAX(x) FROM t) FROM w");
    assert_eq!(rows[1][1], "SUBQUERY", "{rows:?}");
}

#[test]
fn where_subqueries_stand_in_json() {
    let mut c = tables();
    let json = |c: &mut Client, sql: &str| c.ok(&format!("EXPLAIN FORMAT=JSON {sql}")).remove(0);
    for (sql, key) in [
        ("SELECT id, (SELECT MAX(x) FROM t) FROM w", "select_list_subqueries"),
        ("SELECT x FROM t WHERE id = (SELECT MAX(id) FROM w)", "optimized_away_subqueries"),
        ("SELECT x FROM t WHERE x + 1 > (SELECT MAX(id) FROM w)", "attached_subqueries"),
        ("SELECT k FROM u WHERE k = 100 OR k NOT IN (SELECT v FROM u)", "attached_subqueries"),
        ("SELECT k, COUNT(*) FROM u GROUP BY k HAVING COUNT(*) > (SELECT MIN(id) FROM w)", "having_subqueries"),
        ("SELECT k FROM u ORDER BY k + (SELECT MIN(id) FROM w)", "order_by_subqueries"),
        ("SELECT * FROM (SELECT DISTINCT k FROM u LIMIT 5) d", "materialized_from_subquery"),
        ("SELECT DISTINCT v FROM u", "duplicates_removal"),
        ("SELECT v, COUNT(*) FROM u GROUP BY v ORDER BY 2", "grouping_operation"),
        ("SELECT v, COUNT(*) FROM u GROUP BY v ORDER BY 2", "ordering_operation"),
        ("SELECT k, ROW_NUMBER() OVER (ORDER BY v) FROM u", "windowing"),
        ("SELECT 1 UNION SELECT 2", "union_result"),
        ("INSERT INTO w SELECT id + 1000, k FROM u", "insert_from"),
        ("SELECT x FROM t WHERE a = 77", "used_key_parts"),
    ] {
        let text = json(&mut c, sql);
        assert!(text.contains(&format!("\"{key}\"")), "{sql}: no {key} in {text}");
    }
}

#[test]
fn every_statement_in_every_format() {
    let mut c = tables();
    for sql in [
        "SELECT * FROM t WHERE id = 3",
        "TABLE w",
        "VALUES ROW(1, 2)",
        "INSERT INTO w VALUES (100, 1)",
        "INSERT INTO w SELECT id + 1000, k FROM u WHERE k = 3",
        "REPLACE INTO w VALUES (1, 1)",
        "REPLACE INTO w SELECT id, k FROM u WHERE k = 3",
        "UPDATE w SET k = 1 WHERE id = 3",
        "UPDATE w, t SET w.k = 1, t.x = 2 WHERE w.k = t.a",
        "DELETE FROM w WHERE id = 3",
        "DELETE w, t FROM w JOIN t ON w.k = t.a WHERE t.x < 10",
        "WITH q AS (SELECT k FROM u) DELETE FROM w WHERE k IN (SELECT k FROM q)",
    ] {
        let plain = c.explain(sql);
        for (format, version, word) in
            [("TRADITIONAL", 1, ""), ("TREE", 1, "->"), ("JSON", 1, "\"query_block\""), ("JSON", 2, "\"query_plan\"")]
        {
            c.ok(&format!("SET explain_json_format_version = {version}, explain_format = {format}"));
            let by_variable = c.ok(&format!("EXPLAIN {sql}"));
            assert_eq!(by_variable, c.ok(&format!("EXPLAIN FORMAT={format} {sql}")), "{sql}");
            assert!(by_variable[0].contains(word), "{sql}: {by_variable:?}");
        }
        c.ok("SET explain_format = DEFAULT, explain_json_format_version = DEFAULT");
        assert_eq!(c.explain(sql), plain);
        c.ok(&format!("EXPLAIN FORMAT=JSON INTO @plan FOR SCHEMA d {sql}"));
        assert_eq!(c.ok("SELECT @plan LIKE '%\"query_block\"%'"), ["1"], "{sql}");
    }
    assert_eq!(c.ok("SELECT COUNT(*) FROM w"), ["30"]);
    assert_eq!(c.ok("SELECT @@explain_format, @@explain_json_format_version"), ["TRADITIONAL,1"]);
    c.ok("SET explain_format = 'DEFAULT'");
    assert_eq!(c.ok("SELECT @@explain_format"), ["TRADITIONAL"]);
    assert_eq!(c.err("SET explain_format = 'NONSENSE'"), 1231);
    c.ok("SET explain_json_format_version = 3");
    assert_eq!(c.ok("SELECT @@explain_json_format_version"), ["2"]);
}

/// Statements that wait can be asked for, whether a plan of operators is running or none is needed.
#[test]
fn what_waits_can_be_explained() {
    let (db, mut c) = filled();
    c.ok("CREATE TABLE o (id INT PRIMARY KEY, b INT)");
    let other = Remote::new(&db);
    let id = other.process_id;
    for (sql, expected) in [
        ("UPDATE t SET b = 1 WHERE id = 5", vec!["UPDATE,t,const,PRIMARY"]),
        ("UPDATE t SET b = b + 1 WHERE a BETWEEN 4 AND 5", vec!["UPDATE,t,"]),
        ("DELETE FROM t WHERE id = 5 AND b > 100000", vec!["DELETE,t,const,PRIMARY"]),
        ("SELECT * FROM t WHERE id = 5 FOR UPDATE", vec!["SIMPLE,t,const,PRIMARY"]),
        ("SELECT COUNT(*) FROM t WHERE b < 50 FOR UPDATE", vec!["SIMPLE,t,ALL,"]),
        ("INSERT INTO t VALUES (5, 0, 0)", vec!["INSERT,t,ALL,"]),
        ("INSERT INTO o SELECT id, b FROM t WHERE id = 5 FOR UPDATE", vec!["INSERT,o,ALL,", "SIMPLE,t,const,PRIMARY"]),
    ] {
        c.ok("BEGIN");
        c.ok("UPDATE t SET b = 77 WHERE id = 5");
        other.start(sql);
        assert!(other.blocks(), "{sql}");
        let rows = c.explain(&format!("FOR CONNECTION {id}"));
        let facts: Vec<String> = rows.iter().map(|r| [&*r[1], &*r[2], &*r[4], &*r[6]].join(",")).collect();
        assert!(
            facts.len() == expected.len() && facts.iter().zip(&expected).all(|(f, e)| f.starts_with(e)),
            "{sql}: {facts:?}"
        );
        for format in ["JSON", "TREE"] {
            let text = c.ok(&format!("EXPLAIN FORMAT={format} FOR CONNECTION {id}"));
            assert!(text[0].contains('t'), "{sql}");
        }
        c.ok("ROLLBACK");
        let _ = other.answer();
    }
    assert_eq!(c.err(&format!("EXPLAIN FOR CONNECTION {id}")), 3012, "it is idle");
}

#[test]
fn the_trace_shows_what_was_dropped() {
    let mut c = tables();
    c.ok("SET optimizer_trace = 'enabled=on'");
    let trace = |c: &mut Client| c.ok("SELECT TRACE FROM information_schema.OPTIMIZER_TRACE").remove(0);
    c.ok("SELECT x FROM t WHERE a = 3 AND b = 3 AND id > 5");
    let t = trace(&mut c);
    for word in [
        "\"range_scan_alternatives\"",
        "\"index\": \"a\"",
        "\"index\": \"b\"",
        "\"index\": \"abs\"",
        "\"cause\": \"cost\"",
        "\"chosen_range_access_summary\"",
        "\"table_scan\"",
    ] {
        assert!(t.contains(word), "no {word} in {t}");
    }
    c.ok("SELECT x FROM t IGNORE INDEX (a) WHERE a = 3 AND x = 1");
    let t = trace(&mut c);
    assert!(t.contains("\"cause\": \"index_hint\"") && t.contains("\"cause\": \"not_applicable\""), "{t}");
    c.ok("SELECT COUNT(*) FROM t JOIN u ON t.a = u.k JOIN w ON w.k = u.v");
    let t = trace(&mut c);
    for word in ["\"pruned_by_cost\": true", "\"access_type\": \"hash join\"", "\"cost_for_plan\"", "\"rest_of_plan\""]
    {
        assert!(t.contains(word), "no {word} in {t}");
    }
    c.ok("SELECT /*+ INDEX_MERGE(t a, b) */ SUM(x) FROM t WHERE a = 3 OR b = 3");
    let t = trace(&mut c);
    assert!(t.contains("\"index\": \"union(") && t.contains("\"type\": \"index_merge\""), "{t}");
    c.ok("SET optimizer_trace_features = 'greedy_search=off,range_optimizer=off'");
    c.ok("SELECT COUNT(*) FROM t JOIN u ON t.a = u.k WHERE t.b = 3");
    let t = trace(&mut c);
    assert!(!t.contains("pruned_by_cost") && t.contains("\"range_analysis\": \"...\""), "{t}");
    assert_eq!(c.err("SET optimizer_trace_features = 'nothing=on'"), 1231);
    c.ok("SET optimizer_trace_features = DEFAULT");
    // Which traces are kept.
    let queries = |c: &mut Client| c.ok("SELECT QUERY FROM information_schema.OPTIMIZER_TRACE");
    let run = |c: &mut Client| (1..=5).for_each(|i| drop(c.ok(&format!("SELECT {i}"))));
    c.ok("SET optimizer_trace_offset = -2, optimizer_trace_limit = 2");
    assert!(queries(&mut c).is_empty());
    run(&mut c);
    assert_eq!(queries(&mut c), ["SELECT 4", "SELECT 5"]);
    c.ok("SET optimizer_trace_offset = 1, optimizer_trace_limit = 3");
    run(&mut c);
    assert_eq!(queries(&mut c), ["SELECT 2", "SELECT 3", "SELECT 4"]);
    c.ok("SET optimizer_trace_offset = -3, optimizer_trace_limit = 1");
    run(&mut c);
    assert_eq!(queries(&mut c), ["SELECT 3"]);
    // Memory is for all that are kept.
    c.ok("SET optimizer_trace_offset = -3, optimizer_trace_limit = 3, optimizer_trace_max_mem_size = 100");
    run(&mut c);
    let sizes =
        c.ok("SELECT LENGTH(TRACE), MISSING_BYTES_BEYOND_MAX_MEM_SIZE > 0 FROM information_schema.OPTIMIZER_TRACE");
    assert_eq!(sizes.len(), 3);
    assert!(sizes.iter().all(|s| s == "0,1" || s == "100,1"), "{sizes:?}");
}
