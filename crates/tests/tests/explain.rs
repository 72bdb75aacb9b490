//! EXPLAIN of what another connection runs, and the counters of EXPLAIN ANALYZE.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tests::ours::{Ours, configs};

fn ours() -> Ours {
    let mut o = Ours::open(&configs()[0]);
    for sql in [
        "CREATE DATABASE e",
        "USE e",
        "CREATE TABLE t (id INT NOT NULL PRIMARY KEY, a INT, KEY a (a))",
        "INSERT INTO t WITH RECURSIVE n AS (SELECT 1 i UNION ALL SELECT i + 1 FROM n WHERE i < 900) SELECT i, i % 7 FROM n",
    ] {
        o.run(sql).unwrap_or_else(|e| panic!("{sql}: {e:?}"));
    }
    o
}

fn cell(answer: &[Vec<Option<String>>], row: usize, column: usize) -> String {
    answer[row][column].clone().unwrap_or_default()
}

/// Sets the flag when dropped: whoever waits for it must not wait for ever.
struct Done<'a>(&'a AtomicBool);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[test]
fn the_plan_of_another_connection() {
    let mut a = ours();
    let mut b = a.beside();
    let id = cell(&a.run("SELECT CONNECTION_ID()").expect("it has one"), 0, 0);
    assert_eq!(b.run(&format!("EXPLAIN FOR CONNECTION {id}")).map_err(|e| e.0), Err(3012), "it is idle");
    assert_eq!(b.run("EXPLAIN FOR CONNECTION 4000000").map_err(|e| e.0), Err(1094));
    let done = AtomicBool::new(false);
    std::thread::scope(|s| {
        s.spawn(|| {
            let _done = Done(&done);
            let _ = a.run("SELECT SLEEP(20) FROM t WHERE id = 5");
        });
        let start = Instant::now();
        let mut found = None;
        while found.is_none() && start.elapsed() < Duration::from_secs(15) && !done.load(Ordering::SeqCst) {
            found = b.run(&format!("EXPLAIN FOR CONNECTION {id}")).ok();
            std::thread::sleep(Duration::from_millis(20));
        }
        let json = b.run(&format!("EXPLAIN FORMAT=JSON FOR CONNECTION {id}"));
        let _ = b.run(&format!("KILL QUERY {id}"));
        let rows = found.expect("the plan was seen");
        assert_eq!((cell(&rows, 0, 2), cell(&rows, 0, 6)), ("t".into(), "PRIMARY".into()));
        assert!(cell(&json.expect("it still sleeps"), 0, 0).contains("\"key\": \"PRIMARY\""));
    });
}

#[test]
fn counters_add_up_to_the_status() {
    let mut o = ours();
    for sql in
        ["SELECT COUNT(*) FROM t WHERE a + 1 = 3", "SELECT * FROM t WHERE id = 3", "SELECT * FROM t ORDER BY a + id"]
    {
        o.run("FLUSH STATUS").expect("it flushes");
        let text = cell(&o.run(&format!("EXPLAIN ANALYZE {sql}")).expect("it runs"), 0, 0);
        let line = text.lines().last().and_then(|l| l.strip_prefix("Counters: ")).expect("counters come last");
        let status = o.run("SHOW SESSION STATUS LIKE 'Handler\\_read%'").expect("there is a status");
        for row in status.iter().filter(|r| r[1].as_deref() != Some("0")) {
            let shown = format!("{}: {}", row[0].as_deref().unwrap_or(""), row[1].as_deref().unwrap_or(""));
            assert!(line.split(", ").any(|c| c == shown), "{shown} of {sql} is not in {line}");
        }
        assert!(line.contains("Handler_read"), "{line}");
        let json = cell(&o.run(&format!("EXPLAIN ANALYZE FORMAT=JSON {sql}")).expect("it runs"), 0, 0);
        for key in ["\"actual_rows\"", "\"actual_loops\"", "\"estimated_rows\"", "\"operation\"", "\"counters\""] {
            assert!(json.contains(key), "{key} is not in {json}");
        }
    }
}
