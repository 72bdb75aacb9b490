//! Subqueries are materialized under a hash key whether hash joins are allowed or not.

mod common;

use common::filled;

#[test]
fn materialization_is_no_hash_join() {
    let (_db, mut c) = filled();
    c.ok("CREATE TABLE s (k INT, v INT)");
    c.ok("INSERT INTO s SELECT id * 3, IF(id % 50 = 0, NULL, id) FROM t WHERE id < 1500");
    let semijoin = "SELECT COUNT(*), SUM(b) FROM t WHERE b IN (SELECT k FROM s)";
    let statements = [
        semijoin,
        "SELECT COUNT(*), SUM(b) FROM t WHERE b NOT IN (SELECT k FROM s WHERE k IS NOT NULL)",
        "SELECT COUNT(*), SUM(b) FROM t WHERE b NOT IN (SELECT v FROM s WHERE k < 100)",
        "SELECT COUNT(*), SUM(b) FROM t WHERE b IN (SELECT v FROM s) OR id < 7",
        "SELECT SUM(b IN (SELECT v FROM s)), COUNT(b IN (SELECT v FROM s)) FROM t",
        "SELECT COUNT(*), SUM(b) FROM t WHERE (a, b) IN (SELECT v % 100, v FROM s)",
        "SELECT COUNT(*), SUM(b) FROM t WHERE EXISTS (SELECT 1 FROM s WHERE s.k = t.b)",
    ];
    let rows: Vec<Vec<String>> = statements.iter().map(|s| c.ok(s)).collect();
    let settings = [
        "hash_join=off",
        "block_nested_loop=off",
        "hash_join=off,semijoin=off",
        "hash_join=off,materialization=off",
        "hash_join=off,firstmatch=off,loosescan=off,duplicateweedout=off",
    ];
    for set in settings {
        c.ok(&format!("SET optimizer_switch = 'default,{set}'"));
        for (sql, rows) in statements.iter().zip(&rows) {
            assert_eq!(c.ok(sql), *rows, "{set}: {sql}");
        }
    }
    c.ok("SET optimizer_switch = 'default,hash_join=off'");
    let table = c.explained(semijoin);
    assert!(table.contains("MATERIALIZED") && !table.contains("Block Nested Loop"), "{table}");
    let marked = c.explained(statements[3]);
    assert!(!marked.contains("Block Nested Loop"), "{marked}");
    assert_eq!(c.counts(semijoin, &["Created_tmp_tables"]), [1]);
    // Without the switch pairs of rows are tested, as they must be.
    c.ok("SET optimizer_switch = 'default,hash_join=off,materialization=off'");
    assert!(!c.explained(semijoin).contains("MATERIALIZED"));
    // A plain join is none of a subquery's business.
    let plain = c.explained("SELECT COUNT(*) FROM t JOIN s ON t.b = s.v");
    assert!(!plain.contains("hash join"), "{plain}");
}
