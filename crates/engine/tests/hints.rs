//! Optimizer hints: warnings in MySQL's words (its answers to the same statements), and what hints change.

mod common;

use common::{Client, database};

/// Runs the statement; its warnings as `code message`.
fn warnings(c: &mut Client, sql: &str) -> Vec<String> {
    c.ok(sql);
    let strip = |w: String| w.strip_prefix("Warning,").map(|w| w.replacen(',', " ", 1));
    c.ok("SHOW WARNINGS").into_iter().filter_map(strip).collect()
}

fn check(c: &mut Client, sql: &str, expected: &[&str]) {
    assert_eq!(warnings(c, sql), expected, "{sql}");
}

fn client() -> Client {
    let db = database();
    let mut c = Client::new(&db);
    c.ok("CREATE TABLE t (id INT, INDEX i1 (id), INDEX i2 (id))");
    c.ok("CREATE TABLE u (id INT PRIMARY KEY, a INT, b INT, KEY (a), KEY ab (a, b))");
    c
}

#[test]
fn names_that_are_not_there() {
    let mut c = client();
    for (sql, expected) in [
        ("SELECT /*+ BKA(t) */ 1", &["3128 Unresolved name `t`@`select#1` for BKA hint"][..]),
        ("SELECT /*+ QB_NAME(q) BKA(t) */ 1", &["3128 Unresolved name `t`@`q` for BKA hint"]),
        ("SELECT /*+ BKA(t@q) */ 1", &["3127 Query block name `q` is not found for BKA hint"]),
        ("SELECT /*+ BKA(@q t) */ 1", &["3127 Query block name `q` is not found for BKA hint"]),
        ("SELECT /*+ BKA(@q) */ 1", &["3127 Query block name `q` is not found for BKA hint"]),
        ("SELECT /*+ QB_NAME(Q) BKA(t@q) */ 1", &["3128 Unresolved name `t`@`Q` for BKA hint"]),
        ("SELECT /*+ BKA(t@`select#1`) */ 1", &["3128 Unresolved name `t`@`select#1` for BKA hint"]),
        ("SELECT /*+ BKA(t) */ 1 FROM t AS a", &["3128 Unresolved name `t`@`select#1` for BKA hint"]),
        ("SELECT /*+ BKA(A) MERGE(a) */ 1 FROM t AS a", &[]),
        ("SELECT /*+ BKA(a) */ 1 FROM (SELECT 1) a", &[]),
        ("SELECT (SELECT /*+ BKA(t) */ 1)", &["3128 Unresolved name `t`@`select#2` for BKA hint"]),
        (
            "SELECT /*+ BKA(t) */ 1 UNION ALL SELECT /*+ BKA(t) */ 2",
            &["3128 Unresolved name `t`@`select#1` for BKA hint", "3128 Unresolved name `t`@`select#2` for BKA hint"],
        ),
        ("SELECT /*+ BKA(t@q) */ 1 FROM (SELECT /*+ QB_NAME(q) */ 1 FROM t) a", &[]),
        (
            "SELECT /*+ NO_INDEX(t absent) */ 1 FROM t",
            &["3128 Unresolved name `t`@`select#1` `absent` for NO_INDEX hint"],
        ),
        (
            "SELECT /*+ NO_INDEX(t absent,missing) */ 1 FROM t",
            &[
                "3128 Unresolved name `t`@`select#1` `absent` for NO_INDEX hint",
                "3128 Unresolved name `t`@`select#1` `missing` for NO_INDEX hint",
            ],
        ),
        (
            "SELECT /*+ NO_INDEX(z absent) */ 1 FROM t",
            &[
                "3128 Unresolved name `z`@`select#1` for NO_INDEX hint",
                "3128 Unresolved name `z`@`select#1` `absent` for NO_INDEX hint",
            ],
        ),
        (
            "WITH c AS (SELECT /*+ BKA(x) */ 1 AS n) SELECT /*+ BKA(y) */ * FROM c",
            &["3128 Unresolved name `y`@`select#1` for BKA hint", "3128 Unresolved name `x`@`select#2` for BKA hint"],
        ),
        ("WITH c AS (SELECT /*+ BKA(x) */ 1 AS n) SELECT 1", &[]),
        ("SELECT /*+ JOIN_ORDER(t, z) */ 1 FROM t", &["3128 Unresolved name `z`@`select#1` for JOIN_ORDER hint"]),
        ("UPDATE /*+ NO_ICP(z) */ t SET id = 1", &["3128 Unresolved name `z`@`select#1` for NO_ICP hint"]),
        (
            "SELECT /*+ NO_DERIVED_CONDITION_PUSHDOWN(z) */ 1 FROM t",
            &["3128 Unresolved name `z`@`select#1` for NO_DERIVED_CONDITION_PUSHDOWN hint"],
        ),
        ("DELETE /*+ NO_ICP(z) */ FROM t", &["3128 Unresolved name `z`@`select#1` for NO_ICP hint"]),
    ] {
        check(&mut c, sql, expected);
    }
    assert_eq!(c.err("SELECT /*+ BKA(t) */ 1 FROM absent"), 1146);
}

#[test]
fn the_first_of_two_stands() {
    let mut c = client();
    let conflict = |hint: &str| format!("3126 Hint {hint} is ignored as conflicting/duplicated");
    for (sql, hint) in [
        ("SELECT /*+ BKA(a) NO_BKA(a) */ 1 FROM t AS a", "NO_BKA(`a` )"),
        ("SELECT /*+ QB_NAME(q1) BKA(t@q1) BKA(t@q1) */ 1 FROM t", "BKA(`t`@`q1` )"),
        ("SELECT /*+ NO_INDEX(t i1) NO_INDEX(t i2) */ 1 FROM t", "NO_INDEX(`t`  `i2`)"),
        ("SELECT /*+ INDEX(t i1) NO_INDEX(t i2) */ 1 FROM t", "NO_INDEX(`t`  `i2`)"),
        ("SELECT /*+ NO_INDEX(t) INDEX(t i1) */ 1 FROM t", "INDEX(`t`  `i1`)"),
        ("SELECT /*+ QB_NAME(q1) NO_ICP(@q1 t i1) NO_ICP(@q1 t i1) */ 1 FROM t", "NO_ICP(`t`@`q1` `i1` )"),
        ("SELECT /*+ BKA() BKA() */ 1", "BKA( )"),
        ("SELECT /*+ BKA() NO_BKA() */ 1", "NO_BKA( )"),
        (
            "SELECT /*+ DERIVED_CONDITION_PUSHDOWN(d) NO_DERIVED_CONDITION_PUSHDOWN(d) */ 1 FROM (SELECT 1) d",
            "NO_DERIVED_CONDITION_PUSHDOWN(`d` )",
        ),
        ("SELECT /*+ QB_NAME(q) QB_NAME(r) */ 1", "QB_NAME(`r`)"),
        ("SELECT /*+ MAX_EXECUTION_TIME(10000)MAX_EXECUTION_TIME(2) */ 1", "MAX_EXECUTION_TIME(2)"),
        (
            "SELECT /*+ SET_VAR(max_points_in_geometry=9) */ (SELECT /*+ SET_VAR(max_points_in_geometry=7) */ 1)",
            "SET_VAR(max_points_in_geometry=9) ",
        ),
    ] {
        check(&mut c, sql, &[&conflict(hint)]);
    }
    check(&mut c, "SELECT /*+ QB_NAME(q) */ (SELECT /*+ QB_NAME(q) */ 1)", &[&conflict("QB_NAME(`q`)")]);
    check(
        &mut c,
        "SELECT * FROM (SELECT /*+ MAX_EXECUTION_TIME(1) */ 1) d",
        &["3125 MAX_EXECUTION_TIME hint is supported by top-level standalone SELECT statements only"],
    );
}

/// As MySQL does, the note of EXPLAIN tells which hints hold.
#[test]
fn the_note_names_the_hints_that_hold() {
    let mut c = client();
    let mut note = |sql: &str| {
        c.ok(&format!("EXPLAIN {sql}"));
        let rows = c.ok("SHOW WARNINGS");
        rows.into_iter().find(|r| r.starts_with("Note,1003,")).unwrap_or_default()
    };
    for (sql, hints) in [
        ("SELECT /*+ NO_INDEX(t) */ id FROM t", "/*+ NO_INDEX(`t`@`select#1`) */ `d`"),
        ("SELECT /*+ QB_NAME(q) NO_ICP(t i1) */ id FROM t", "/*+ QB_NAME(`q`) NO_ICP(`t`@`q` `i1`) */ `d`"),
        ("SELECT /*+ BKA() NO_BKA() BKA(z) */ id FROM t", "/*+ BKA(@`select#1`) */ `d`"),
        (
            "SELECT /*+ SEMIJOIN(@s FIRSTMATCH) */ id FROM t WHERE id IN (SELECT /*+ QB_NAME(s) */ a FROM u)",
            "/*+ SEMIJOIN(@`s` FIRSTMATCH) */",
        ),
        ("SELECT /*+ JOIN_PREFIX(u) */ t.id FROM t JOIN u ON t.id = u.id", "/*+ JOIN_PREFIX(`u`@`select#1`) */"),
    ] {
        let text = note(sql);
        assert!(text.contains(hints), "{sql}: {text}");
    }
    assert!(!note("SELECT id FROM t").contains("/*+"));
}

#[test]
fn what_cannot_be_read() {
    let mut c = client();
    check(&mut c, "SELECT /*+ BOGUS */ 1 AS n", &["1064 Optimizer hint syntax error near 'BOGUS */ 1 AS n' at line 1"]);
    check(
        &mut c,
        "SELECT /*+ BKA(t) BOGUS */ 1 AS n",
        &[
            "1064 Optimizer hint syntax error near 'BOGUS */ 1 AS n' at line 1",
            "3128 Unresolved name `t`@`select#1` for BKA hint",
        ],
    );
    check(
        &mut c,
        "INSERT /*+ x */ INTO t VALUES (1)",
        &["1064 Optimizer hint syntax error near 'x */ INTO t VALUES (1)' at line 1"],
    );
}

#[test]
fn set_var_is_for_one_statement() {
    let mut c = client();
    let set = "SET_VAR(max_points_in_geometry=7)";
    assert_eq!(c.ok(&format!("SELECT /*+ {set} */ @@max_points_in_geometry")), ["7"]);
    assert_eq!(c.ok("SELECT @@max_points_in_geometry"), ["65536"]);
    c.err(&format!("SELECT /*+ {set} */ nothing"));
    assert_eq!(c.ok("SELECT @@max_points_in_geometry"), ["65536"]);
    c.ok(&format!("PREPARE s FROM 'SELECT /*+ {set} */ @@max_points_in_geometry'"));
    for _ in 0..3 {
        assert_eq!(c.ok("EXECUTE s"), ["7"]);
    }
    assert_eq!(c.ok("SELECT @@max_points_in_geometry"), ["65536"]);
    check(&mut c, "SELECT /*+ SET_VAR(nothing=1) */ 1", &["3128 Unresolved name 'nothing' for SET_VAR hint"]);
    check(
        &mut c,
        "SELECT /*+ SET_VAR(autocommit=1) */ 1",
        &["3637 Variable 'autocommit' cannot be set using SET_VAR hint."],
    );
    check(
        &mut c,
        "SELECT /*+ SET_VAR(max_points_in_geometry=2) */ @@max_points_in_geometry",
        &["1292 Truncated incorrect max_points_in_geometry value: '2'"],
    );
    check(
        &mut c,
        "SELECT /*+ SET_VAR(max_points_in_geometry='bad') */ 1",
        &["1232 Incorrect argument type to variable 'max_points_in_geometry'"],
    );
    check(
        &mut c,
        "SELECT /*+ SET_VAR(optimizer_switch='nothing=on') */ 1",
        &["1231 Variable 'optimizer_switch' can't be set to the value of 'nothing=on'"],
    );
    assert_eq!(c.ok("SELECT /*+ SET_VAR(sql_mode='NO_UNSIGNED_SUBTRACTION') */ CAST(1 AS UNSIGNED) - 2"), ["-1"]);
    assert_eq!(c.err("SELECT CAST(1 AS UNSIGNED) - 2"), 1690);
    assert_eq!(c.ok("SELECT /*+ SET_VAR(sort_buffer_size = 1M) */ @@sort_buffer_size"), ["1048576"]);
}

#[test]
fn time_limits() {
    let mut c = client();
    let slow = "COUNT(*) FROM (WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 900) SELECT i FROM n) a, \
                (WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 900) SELECT i FROM n) b, \
                (WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 900) SELECT i FROM n) c \
                WHERE a.i * b.i * c.i % 7 = 3";
    assert_eq!(c.err(&format!("SELECT /*+ MAX_EXECUTION_TIME(20) */ {slow}")), 3024);
    assert_eq!(c.err(&format!("(SELECT /*+ MAX_EXECUTION_TIME(20) */ {slow})")), 3024);
    assert_eq!(c.err(&format!("SELECT /*+ SET_VAR(max_execution_time=20) */ {slow}")), 3024);
    c.ok("SELECT /*+ MAX_EXECUTION_TIME(0) */ 1");
}

/// The plan of a SELECT, as a tree.
fn plan(c: &mut Client, sql: &str) -> String {
    c.ok(&format!("EXPLAIN FORMAT=TREE {sql}")).join("\n")
}

#[test]
fn hints_change_plans() {
    let mut c = client();
    let rows: Vec<String> = (0..3000).map(|i| format!("({i},{},{})", i % 50, i % 7)).collect();
    c.ok(&format!("INSERT INTO u VALUES {}", rows.join(",")));
    let plain = plan(&mut c, "SELECT b FROM u WHERE a = 3");
    assert!(plain.contains("using a"), "{plain}");
    for hint in ["NO_INDEX(u)", "NO_INDEX(u a, ab)", "NO_JOIN_INDEX(u)"] {
        let hinted = plan(&mut c, &format!("SELECT /*+ {hint} */ b FROM u WHERE a = 3"));
        assert!(hinted.contains("Table scan on u"), "{hint}: {hinted}");
    }
    let other = plan(&mut c, "SELECT /*+ INDEX(u ab) */ b FROM u WHERE a = 3");
    assert!(other.contains("using ab"), "{other}");
    let inner = plan(&mut c, "SELECT /*+ NO_INDEX(u@q) */ * FROM (SELECT /*+ QB_NAME(q) */ b FROM u WHERE a = 3) d");
    assert!(inner.contains("Table scan on u"), "{inner}");
    // derived tables
    let merged = plan(&mut c, "SELECT d.b FROM (SELECT a, b FROM u) d WHERE d.a = 3");
    for sql in [
        "SELECT /*+ NO_MERGE(d) */ d.b FROM (SELECT a, b FROM u) d WHERE d.a = 3",
        "SELECT /*+ NO_MERGE() */ d.b FROM (SELECT a, b FROM u) d WHERE d.a = 3",
        "SELECT /*+ SET_VAR(optimizer_switch='derived_merge=off') */ d.b FROM (SELECT a, b FROM u) d WHERE d.a = 3",
    ] {
        let apart = plan(&mut c, sql);
        assert_ne!(apart, merged, "{sql}");
        let rows = c.ok(sql).len();
        assert_eq!(rows, 60, "{sql}");
    }
    let back = "SELECT /*+ MERGE(d) SET_VAR(optimizer_switch='derived_merge=off') */ d.b FROM (SELECT a, b FROM u) d WHERE d.a = 3";
    let without_figures = |plan: &str| plan.split("(cost").next().map(str::to_string);
    assert_eq!(without_figures(&plan(&mut c, back)), without_figures(&merged));
}
