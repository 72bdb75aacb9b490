//! sort_buffer_size and tmp_table_size: rows stay the same, and go through temporary files.

mod common;

use common::{Client, filled};

const NAMES: [&str; 3] = ["Sort_merge_passes", "Created_tmp_disk_tables", "Created_tmp_tables"];

/// 20,000 rows: `x` of as many values, `y` of 7, `z` long.
fn big() -> (std::sync::Arc<engine::Database>, Client) {
    let (db, mut c) = filled();
    c.ok("CREATE TABLE big (x INT, y INT, z VARCHAR(200))");
    c.ok("INSERT INTO big SELECT t.id * 10 + n.id, t.id % 7, REPEAT('z', 50 + n.id) FROM t, t n WHERE n.id < 10");
    (db, c)
}

#[test]
fn a_small_sort_buffer_is_kept_to_and_shown() {
    let (_db, mut c) = big();
    let sort = "SELECT x, z FROM big ORDER BY y DESC, x";
    let rows = c.ok(sort);
    assert_eq!(c.counts(sort, &NAMES), [0, 0, 0], "the default bounds nothing");
    c.ok("SET sort_buffer_size = 32768");
    assert_eq!(c.ok(sort), rows);
    let counts = c.counts(sort, &NAMES);
    assert!(counts[0] > 1 && counts[1] == 0, "{counts:?}");
    let shown = c.ok(&format!("EXPLAIN ANALYZE {sort}")).join("\n");
    assert!(shown.contains("spilled"), "{shown}");
    // Few rows stay in memory: the others are dropped as they come.
    assert_eq!(c.counts("SELECT x FROM big ORDER BY z, x LIMIT 5", &NAMES), [0, 0, 0]);
    let window = "SELECT x, RANK() OVER (PARTITION BY y ORDER BY x DESC) r FROM big";
    assert!(c.counts(window, &NAMES)[0] > 1);
    c.ok("SET sort_buffer_size = 100000000");
    assert_eq!(c.counts(sort, &NAMES), [0, 0, 0]);
    c.ok("SET sort_buffer_size = DEFAULT");
    let hinted = "SELECT /*+ SET_VAR(sort_buffer_size = 32768) */ x, z FROM big ORDER BY y DESC, x";
    assert!(c.counts(hinted, &NAMES)[0] > 1);
    assert_eq!(c.ok(hinted), rows);
    assert_eq!(c.counts(sort, &NAMES), [0, 0, 0], "the hint is for its statement");
}

#[test]
fn a_small_table_size_is_kept_to_and_counted() {
    let (db, mut c) = big();
    let statements = [
        "SELECT x, COUNT(*), MAX(z) FROM big GROUP BY x",
        "SELECT DISTINCT x, z FROM big",
        "SELECT x, z FROM big UNION SELECT x + 5000, z FROM big",
        "SELECT x FROM big INTERSECT SELECT x + 5000 FROM big",
        "WITH c AS (SELECT x, z FROM big WHERE y < 5) SELECT a.x, b.z FROM c a JOIN c b ON a.x = b.x + 1",
        "SELECT x, SUM(y) OVER (ORDER BY x ROWS BETWEEN 1 PRECEDING AND CURRENT ROW), z FROM big",
    ];
    for sql in statements {
        c.ok("SET tmp_table_size = DEFAULT");
        let sorted = |mut rows: Vec<String>| {
            rows.sort();
            rows
        };
        let rows = sorted(c.ok(sql));
        let counts = c.counts(sql, &NAMES);
        assert!(counts[1] == 0 && counts[2] >= 1, "{sql}: {counts:?}");
        let global = c.status("GLOBAL", NAMES[1]);
        c.ok("SET tmp_table_size = 1024");
        assert_eq!(sorted(c.ok(sql)), rows, "{sql}");
        assert_eq!(c.counts(sql, &NAMES)[1], 1, "{sql}");
        assert_eq!(c.status("GLOBAL", NAMES[1]), global + 2, "{sql}");
        let shown = c.ok(&format!("EXPLAIN ANALYZE {sql}")).join("\n");
        assert!(shown.contains("spilled"), "{sql}: {shown}");
    }
    // What stays small needs no disk.
    assert_eq!(c.counts("SELECT y FROM big WHERE x < 30 GROUP BY y", &NAMES), [0, 0, 1]);
    // Counting distinct values keeps to the size as well, but is no table.
    let distinct = "SELECT COUNT(DISTINCT x), COUNT(DISTINCT z) FROM big";
    assert_eq!(c.counts(distinct, &NAMES)[1], 0);
    assert!(c.ok(&format!("EXPLAIN ANALYZE {distinct}")).join("\n").contains("spilled"));
    // Rounds of one recursion are one table.
    c.ok("SET cte_max_recursion_depth = 100000");
    let rounds = "WITH RECURSIVE r AS (SELECT 0 n, x, z FROM big UNION ALL SELECT n + 1, x, z FROM r WHERE n < 3)
        SELECT COUNT(*), SUM(x) FROM r";
    assert_eq!(c.counts(rounds, &NAMES)[1], 1);
    let mut other = Client::new(&db);
    other.ok("SET SESSION internal_tmp_mem_storage_engine = MEMORY, max_heap_table_size = 16384");
    assert_eq!(other.counts(statements[0], &NAMES)[1], 1, "the lesser of both counts for tables of MEMORY");
    other.ok("SET SESSION internal_tmp_mem_storage_engine = TempTable");
    assert_eq!(other.counts(statements[0], &NAMES)[1], 0);
}

#[test]
fn a_materialized_subquery_goes_to_disk() {
    let (_db, mut c) = big();
    let sql = "SELECT COUNT(*) FROM big b WHERE b.x NOT IN (SELECT x + 3 FROM big) OR b.y = 2";
    let rows = c.ok(sql);
    assert_eq!(c.counts(sql, &NAMES)[1], 0);
    c.ok("SET tmp_table_size = 20000");
    assert_eq!(c.ok(sql), rows);
    let counts = c.counts(sql, &NAMES);
    assert_eq!((counts[1], counts[2]), (1, 1), "{counts:?}");
}
