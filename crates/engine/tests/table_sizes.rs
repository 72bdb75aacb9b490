//! What tables are said to hold: rows, and beside them what could be given back.

mod common;

use common::Client;

/// DATA_LENGTH, DATA_FREE, AVG_ROW_LENGTH
fn sizes(c: &mut Client) -> [u64; 3] {
    let sql = "SELECT DATA_LENGTH, DATA_FREE, AVG_ROW_LENGTH FROM information_schema.TABLES WHERE TABLE_NAME = 't'";
    let row = c.ok(sql).remove(0);
    let parts: Vec<u64> = row.split(',').map(|v| v.parse().expect("a number")).collect();
    parts.try_into().expect("three columns")
}

#[test]
fn dead_and_free_bytes_are_shown_and_given_back() {
    let mut c = Client::new(&common::database());
    c.ok("CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(300), n BIGINT)");
    c.ok("SET SESSION cte_max_recursion_depth = 100000");
    c.ok("INSERT INTO t WITH RECURSIVE r AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM r WHERE i < 20000) \
          SELECT i, CONCAT('row number ', i, REPEAT('-', 100)), i FROM r");
    let [data, free, average] = sizes(&mut c);
    assert!((120 * 20_000..180 * 20_000).contains(&data), "{data}");
    assert!(free < data / 20, "{free} of {data}");
    assert_eq!(average, data / 20_000);

    c.ok("UPDATE t SET s = CONCAT('another ', s) WHERE id % 10 = 0");
    let [updated, free_then, _] = sizes(&mut c);
    assert!(updated > data && updated < data + data / 20, "{data}, then {updated}");
    assert!(free_then > free + 80 * 2000 && free_then < updated / 3, "{free_then} of {updated}");

    // Strings go with their rows, once a collector has been there; the places of these stay.
    c.ok("DELETE FROM t WHERE id % 2 = 0");
    let begun = std::time::Instant::now();
    let mut before = sizes(&mut c);
    let [left, free, average] = loop {
        std::thread::sleep(std::time::Duration::from_millis(50));
        let now = sizes(&mut c);
        if now == before && now[0] < data * 11 / 20 || begun.elapsed().as_secs() >= 60 {
            break now;
        }
        before = now;
    };
    assert!(left < data * 11 / 20, "{data}, then {left}");
    assert!(free > 16 * 10_000 && free < left / 2, "{free} of {left}");
    assert_eq!(average, left / 10_000);
    let status = c.ok("SHOW TABLE STATUS LIKE 't'").remove(0);
    let fields: Vec<&str> = status.split(',').collect();
    assert_eq!((fields[6], fields[9]), (&*left.to_string(), &*free.to_string()), "{status}");

    c.ok("OPTIMIZE TABLE t");
    let [data, free, _] = sizes(&mut c);
    assert!(free < data / 20, "{free} of {data}");
    c.ok("DELETE FROM t WHERE id % 3 = 0");
    c.ok("ALTER TABLE t FORCE");
    let [data, free, _] = sizes(&mut c);
    assert!(free < data / 20, "{free} of {data}");
    assert_eq!(c.ok("SELECT COUNT(*), MIN(s) FROM t WHERE id = 1"), [format!("1,row number 1{}", "-".repeat(100))]);
}
