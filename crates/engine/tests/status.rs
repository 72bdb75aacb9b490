//! Status counters: the session's, the server's, FLUSH STATUS.

mod common;

use common::{Client, Remote, filled};

#[test]
fn how_tables_are_read_is_counted() {
    let (_db, mut c) = filled();
    let names = [
        "Handler_read_rnd_next",
        "Handler_read_key",
        "Handler_read_next",
        "Select_scan",
        "Select_range",
        "Innodb_rows_read",
    ];
    assert_eq!(c.counts("SELECT SUM(b) FROM t WHERE b % 3 = 0", &names), [2000, 0, 0, 1, 0, 2000]);
    assert_eq!(c.counts("SELECT b FROM t FORCE INDEX (a) WHERE a = 5", &names), [0, 1, 20, 0, 0, 20]);
    assert_eq!(c.counts("SELECT b FROM t WHERE id = 5", &names), [0, 1, 0, 0, 0, 1]);
    assert_eq!(c.counts("SELECT b FROM t FORCE INDEX (a) WHERE a BETWEEN 5 AND 6", &names)[1..5], [1, 40, 0, 1]);
    let names = ["Sort_scan", "Sort_rows", "Created_tmp_tables", "Sort_merge_passes"];
    assert_eq!(c.counts("SELECT a, COUNT(*) n FROM t GROUP BY a ORDER BY n, a", &names), [1, 100, 1, 0]);
    assert_eq!(c.counts("SELECT b FROM t ORDER BY b DESC LIMIT 7", &names)[..3], [1, 7, 0]);
    let names = ["Select_scan", "Select_full_join"];
    assert_eq!(c.counts("SELECT COUNT(*) FROM t x JOIN t y ON x.b = y.b + 1", &names), [1, 1]);
}

#[test]
fn a_statement_of_several_plans_counts_each_once() {
    let (_db, mut c) = filled();
    c.ok("CREATE TABLE u (id INT)");
    let names = ["Innodb_rows_read", "Innodb_rows_inserted", "Handler_write", "Com_insert", "Questions"];
    // the two SHOW STATUS around it count as well
    let n = c.counts("INSERT INTO u SELECT id FROM t WHERE id < 10", &names);
    assert_eq!((n[1], n[2], n[3]), (10, 10, 1));
    assert!(n[0] >= 10);
    let n = c.counts("SELECT (SELECT MAX(b) FROM t WHERE b % 2000 < 7), (SELECT SUM(b) FROM t WHERE b > 1)", &names);
    assert_eq!(n[0], 4000);
}

#[test]
fn global_is_the_sum_of_sessions_that_are_and_were() {
    let (db, mut c) = filled();
    let mut other = Client::new(&db);
    let before = c.status("GLOBAL", "Com_select");
    let own = c.status("SESSION", "Com_select");
    for _ in 0..5 {
        other.ok("SELECT b FROM t WHERE id = 7");
    }
    assert_eq!(c.status("GLOBAL", "Com_select"), before + 5);
    assert_eq!(c.status("SESSION", "Com_select"), own);
    assert_eq!(other.status("SESSION", "Com_select"), 5);
    drop(other);
    assert_eq!(c.status("GLOBAL", "Com_select"), before + 5);
    c.ok("SELECT 1");
    c.ok("FLUSH STATUS");
    assert_eq!(c.status("SESSION", "Com_select"), 0);
    assert_eq!(c.status("GLOBAL", "Com_select"), before + 6);
    c.ok("SELECT 1");
    let at = "WHERE VARIABLE_NAME = 'Com_select'";
    let rows = c.ok(&format!("SELECT VARIABLE_VALUE FROM performance_schema.session_status {at}"));
    assert_eq!(rows, ["2"]);
    let rows = c.ok(&format!("SELECT VARIABLE_VALUE FROM information_schema.global_status {at}"));
    assert_eq!(rows, [(before + 9).to_string()]);
}

#[test]
fn statements_that_change_no_rows_are_counted_by_kind() {
    let (_db, mut c) = filled();
    let names = ["Com_begin", "Com_commit", "Com_rollback", "Com_create_table", "Com_alter_table", "Com_drop_table"];
    let script = "BEGIN; COMMIT; BEGIN; ROLLBACK; CREATE TABLE u (a INT); ALTER TABLE u ADD b INT; DROP TABLE u";
    assert_eq!(c.counts(script, &names), [2, 1, 1, 1, 1, 1]);
    assert_eq!(c.status("GLOBAL", "Innodb_page_size"), 16384);
    assert!(c.status("GLOBAL", "Innodb_buffer_pool_pages_data") > 0 && c.status("GLOBAL", "Open_tables") > 0);
    assert_eq!(c.status("SESSION", "Table_locks_waited"), 0);
    assert!(c.status("GLOBAL", "Queries") > 0);
    c.ok("FLUSH STATUS");
    assert!(c.status("GLOBAL", "Uptime_since_flush_status") <= c.status("GLOBAL", "Uptime"));
}

#[test]
fn waits_for_rows_and_savepoints_are_counted() {
    let (db, mut a) = filled();
    let b = Remote::new(&db);
    a.ok("BEGIN");
    a.ok("UPDATE t SET b = 0 WHERE id = 7");
    b.start("UPDATE t SET b = 1 WHERE id = 7");
    assert!(b.blocks());
    assert_eq!(a.status("GLOBAL", "Innodb_row_lock_current_waits"), 1);
    assert_eq!(a.status("GLOBAL", "Innodb_row_lock_waits"), 1);
    std::thread::sleep(std::time::Duration::from_millis(20));
    a.ok("COMMIT");
    b.answer().expect("the row is free");
    assert_eq!(a.status("GLOBAL", "Innodb_row_lock_current_waits"), 0);
    let (time, most) = ("Innodb_row_lock_time", "Innodb_row_lock_time_max");
    assert!(a.status("GLOBAL", time) >= 20 && a.status("SESSION", time) == a.status("GLOBAL", most));
    a.ok("BEGIN");
    a.ok("SAVEPOINT s");
    let names = ["Handler_savepoint", "Handler_savepoint_rollback"];
    assert_eq!(a.counts("SAVEPOINT u", &names), [1, 0]);
    assert_eq!(a.counts("ROLLBACK TO s", &names), [0, 1]);
}
