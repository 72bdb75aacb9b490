//! COUNT(*) of a whole table is what a scan counts, whatever transactions are under way.

use std::sync::atomic::{AtomicBool, Ordering};
use tests::ours::{Ours, configs};

fn one(s: &mut Ours, sql: &str) -> String {
    s.run(sql).unwrap_or_else(|e| panic!("{sql}: {e:?}"))[0][0].clone().expect("a number")
}

/// A condition that always holds has the rows looked at.
fn check(s: &mut Ours, when: &str) {
    let scanned = one(s, "SELECT COUNT(*) FROM t WHERE id >= 0 OR v IS NULL");
    for sql in ["SELECT COUNT(*) FROM t", "SELECT COUNT(id) FROM t", "SELECT COUNT(1) FROM t"] {
        assert_eq!(one(s, sql), scanned, "{sql} {when}");
    }
}

struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn counted_rows_are_those_a_scan_sees() {
    for config in configs().iter().take(2) {
        let mut a = Ours::open(config);
        a.run("CREATE DATABASE d").expect("a database");
        let mut sessions = vec![a];
        for _ in 0..3 {
            let other = sessions[0].beside();
            sessions.push(other);
        }
        for s in &mut sessions {
            s.run("USE d").expect("it is there");
            s.run("SET innodb_lock_wait_timeout = 1").expect("a variable");
        }
        sessions[0].run("CREATE TABLE t (id INT PRIMARY KEY, v INT)").expect("a table");
        let rows: Vec<String> = (0..5000).map(|i| format!("({i},{})", i % 10)).collect();
        sessions[0].run(&format!("INSERT INTO t VALUES {}", rows.join(","))).expect("rows");
        let mut rng = fastrand::Rng::with_seed(17);
        let mut next = 5000;
        for step in 0..400 {
            let which = rng.usize(0..sessions.len());
            let s = &mut sessions[which];
            // Each session changes rows of its own, so that none waits.
            let low = which as u32 * 1200 + rng.u32(0..1000);
            let sql = match rng.u32(0..10) {
                0 => "BEGIN".to_string(),
                1 => "START TRANSACTION WITH CONSISTENT SNAPSHOT".to_string(),
                2 => "COMMIT".to_string(),
                3 => "ROLLBACK".to_string(),
                4 | 5 => format!("DELETE FROM t WHERE id BETWEEN {low} AND {}", low + rng.u32(0..60)),
                6 => format!("UPDATE t SET v = v + 1 WHERE id BETWEEN {low} AND {}", low + rng.u32(0..60)),
                7 => "SAVEPOINT p".to_string(),
                8 => "ROLLBACK TO p".to_string(),
                _ => {
                    let from = next;
                    next += rng.i32(1..40);
                    let rows: Vec<String> = (from..next).map(|i| format!("({i},0)")).collect();
                    format!("INSERT INTO t VALUES {}", rows.join(","))
                }
            };
            let _ = s.run(&sql);
            for (k, s) in sessions.iter_mut().enumerate() {
                check(s, &format!("in session {k} after step {step}, {sql} ({})", config.name));
            }
        }
    }
}

/// Transactions that take away as many rows as they bring: who counts meanwhile counts the same.
#[test]
fn counts_hold_while_others_change_rows() {
    let mut a = Ours::open(&configs()[0]);
    for sql in ["CREATE DATABASE d", "USE d", "CREATE TABLE t (id INT PRIMARY KEY, v INT)"] {
        a.run(sql).expect("works");
    }
    let rows: Vec<String> = (0..3000).map(|i| format!("({i},{})", i % 10)).collect();
    a.run(&format!("INSERT INTO t VALUES {}", rows.join(","))).expect("rows");
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for k in 0..2 {
            let mut s = a.beside();
            let stop = &stop;
            scope.spawn(move || {
                s.run("USE d").expect("it is there");
                let mut low = k * 1500;
                let mut high = 10_000 + k * 1_000_000;
                while !stop.load(Ordering::Relaxed) && low < (k + 1) * 1500 - 20 {
                    let n = 1 + low % 17;
                    s.run("BEGIN").expect("begins");
                    let rows: Vec<String> = (high..high + n).map(|i| format!("({i},0)")).collect();
                    s.run(&format!("INSERT INTO t VALUES {}", rows.join(","))).expect("new keys");
                    s.run(&format!("DELETE FROM t WHERE id BETWEEN {low} AND {}", low + n - 1)).expect("own rows");
                    s.run(if low % 3 == 0 { "ROLLBACK" } else { "COMMIT" }).expect("ends");
                    if low % 3 == 0 {
                        s.run(&format!("UPDATE t SET v = v + 1 WHERE id = {low}")).expect("own row");
                        low += 1;
                    } else {
                        low += n;
                    }
                    high += n;
                }
            });
        }
        let _stop = Stop(&stop);
        for _ in 0..300 {
            assert_eq!(one(&mut a, "SELECT COUNT(*) FROM t"), "3000");
        }
    });
}
