//! Optimizer hints: what is read, and the words of the warnings, which are MySQL's.

use parser::ParseOptions;
use parser::ast::{QueryBody, Statement};

/// The hints as the tree prints them, and the warnings.
fn check(sql: &str, hints: &str, warnings: &[&str]) {
    let parsed = parser::parse_single(sql.as_bytes(), &ParseOptions::default()).expect(sql);
    assert_eq!(parsed.hints.warnings.iter().map(|w| &**w).collect::<Vec<_>>(), warnings, "{sql}");
    let Statement::Query(q) = &parsed.statement else { panic!("{sql}") };
    let QueryBody::Select(s) = &q.body else { panic!("{sql}") };
    let printed: Vec<String> = s.hints.iter().map(|h| h.to_string()).collect();
    assert_eq!(printed.join(" "), hints, "{sql}");
}

#[test]
fn forms() {
    check(
        "SELECT /*+ BKA() NO_BNL(t1, `t 2`@q) HASH_JOIN(@q a,b) */ 1",
        "BKA() NO_BNL(`t1`, `t 2`@`q`) HASH_JOIN(@`q` `a`, `b`)",
        &[],
    );
    check(
        "SELECT /*+ mrr(t idx) NO_ICP(@q u) NO_RANGE_OPTIMIZATION(t@q PRIMARY,3rd) */ 1",
        "MRR(`t` `idx`) NO_ICP(`u`@`q`) NO_RANGE_OPTIMIZATION(`t`@`q` `PRIMARY`, `3rd`)",
        &[],
    );
    check(
        "SELECT /*+ SEMIJOIN() NO_SEMIJOIN(@s FIRSTMATCH, LOOSESCAN) SUBQUERY(@s INTOEXISTS) */ 1",
        "SEMIJOIN() NO_SEMIJOIN(@`s` FIRSTMATCH, LOOSESCAN) SUBQUERY(@`s` INTOEXISTS)",
        &[],
    );
    check(
        "SELECT /*+ JOIN_FIXED_ORDER() JOIN_ORDER(a,b@q) JOIN_PREFIX(@q a) JOIN_SUFFIX(b) */ 1",
        "JOIN_FIXED_ORDER() JOIN_ORDER(`a`, `b`@`q`) JOIN_PREFIX(@`q` `a`) JOIN_SUFFIX(`b`)",
        &[],
    );
    check(
        "SELECT /*+ QB_NAME(q) MAX_EXECUTION_TIME(10) SET_VAR(sort_buffer_size = 16M) SET_VAR(a='x)') SET_VAR(b=on) RESOURCE_GROUP(g) */ 1",
        "QB_NAME(`q`) MAX_EXECUTION_TIME(10) SET_VAR(`sort_buffer_size`=16777216) SET_VAR(`a`='x)') SET_VAR(`b`=on) RESOURCE_GROUP(`g`)",
        &[],
    );
    check(
        "SELECT /*+ NO_INDEX(t) JOIN_INDEX(t i) GROUP_INDEX(t i) NO_ORDER_INDEX(t i,j) INDEX_MERGE(t i,j) SKIP_SCAN(t) MERGE(d) */ 1",
        "NO_INDEX(`t`) JOIN_INDEX(`t` `i`) GROUP_INDEX(`t` `i`) NO_ORDER_INDEX(`t` `i`, `j`) INDEX_MERGE(`t` `i`, `j`) SKIP_SCAN(`t`) MERGE(`d`)",
        &[],
    );
    check(
        "SELECT /*+ MAX_EXECUTION_TIME(1)MAX_EXECUTION_TIME(2) */ 1",
        "MAX_EXECUTION_TIME(1) MAX_EXECUTION_TIME(2)",
        &[],
    );
    check("SELECT 1 FROM /*+ no hint here */ t", "", &[]);
}

#[test]
fn faults_cost_what_stands_after_them() {
    let near = |text: &str| format!("Optimizer hint syntax error near '{text}' at line 1");
    for (sql, hints, at) in [
        ("SELECT /*+ BOGUS */ 1 AS n", "", "BOGUS */ 1 AS n"),
        ("SELECT /*+ BKA(t) BOGUS() BKA(u) */ 1", "BKA(`t`)", "BOGUS() BKA(u) */ 1"),
        ("SELECT /*+ BKA(t), BKA(u) */ 1", "BKA(`t`)", ", BKA(u) */ 1"),
        ("SELECT /*+ BKA BKA(u) */ 1", "", "BKA(u) */ 1"),
        ("SELECT /*+*/ 1", "", "*/"),
        ("SELECT /*+ */ 1", "", "*/"),
        ("SELECT /*+ @foo */ 1", "", "@foo */ 1"),
        ("SELECT /*+ `@` */ 1", "", "@` */ 1"),
        ("SELECT /*+ NO_ICP() */ 1", "", ") */ 1"),
        ("SELECT /*+ NO_ICP(10) */ 1", "", "10) */ 1"),
        ("SELECT /*+ NO_ICP(t1 */ 1", "", "*/"),
        ("SELECT /*+ NO_ICP(t1 ( */ 1", "", "( */ 1"),
        ("SELECT /*+ QB_NAME(``) */ 1", "", "`) */ 1"),
        ("SELECT /*+ MAX_EXECUTION_TIME(1.5) BOGUS */ 1", "", "1.5) BOGUS */ 1"),
        ("SELECT /*+ MAX_EXECUTION_TIME(-1) */ 1", "", "-1) */ 1"),
        ("SELECT /*+ BKA(a b) */   1 FROM t1 a", "", "b) */   1 FROM t1 a"),
        ("SELECT /*+ SUBQUERY(FIRSTMATCH) */ 1", "", "FIRSTMATCH) */ 1"),
        ("SELECT /*+ BKA(\"t\") */ 1", "", "\"t\") */ 1"),
        ("SELECT /*+ JOIN_ORDER() */ 1", "", ") */ 1"),
    ] {
        check(sql, hints, &[&near(at)]);
    }
    check(
        "SELECT /*+ MAX_EXECUTION_TIME(4294967296) BOGUS */ 1",
        "",
        &["Unsupported MAX_EXECUTION_TIME near ') BOGUS */ 1' at line 1", &near("BOGUS */ 1")],
    );
    check("SELECT\n/*+ ? bad */ 1;", "", &["Optimizer hint syntax error near '? bad */ 1' at line 2"]);
    let long = format!("SELECT /*+ X */ '{}'", "y".repeat(100));
    let parsed = parser::parse_single(long.as_bytes(), &ParseOptions::default()).unwrap();
    assert_eq!(parsed.hints.warnings[0].len(), "Optimizer hint syntax error near '' at line 1".len() + 80);
}

#[test]
fn variables_come_inner_blocks_first() {
    let sql = "SELECT /*+ SET_VAR(a=1) */ (SELECT /*+ SET_VAR(a=2) */ 1)";
    let parsed = parser::parse_single(sql.as_bytes(), &ParseOptions::default()).unwrap();
    let values: Vec<String> = parsed.hints.variables.iter().map(|h| format!("{h:?}")).collect();
    assert!(values[0].contains("\"2\"") && values[1].contains("\"1\""), "{values:?}");
}
