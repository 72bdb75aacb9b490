//! The last statements of connections, the logs as tables, and what is counted of waits.

mod common;

use common::{Client, Remote, filled};
use engine::{Database, Options};

const PS: &str = "performance_schema";

#[test]
fn a_connection_remembers_its_last_statements() {
    let (db, mut c) = filled();
    let mut other = Client::new(&db);
    for i in 0..15 {
        other.ok(&format!("SELECT b FROM t WHERE id = {i}"));
    }
    other.err("SELECT nothing FROM t");
    other.ok("PREPARE s FROM 'SELECT COUNT(*) FROM t WHERE a = ?'");
    other.ok("SET @a = 3");
    let id = other.session.process().id();
    let of = |c: &mut Client, what: &str| {
        c.ok(&format!("SELECT {what} FROM {PS}.events_statements_history WHERE THREAD_ID = {id} ORDER BY EVENT_ID"))
    };
    let texts = of(&mut c, "SQL_TEXT");
    assert_eq!(texts.len(), 10);
    assert_eq!(texts[0], "SELECT b FROM t WHERE id = 8");
    assert_eq!(texts[9], "SET @a = 3");
    let names = of(&mut c, "EVENT_NAME, ROWS_SENT, MYSQL_ERRNO, RETURNED_SQLSTATE, ERRORS, CURRENT_SCHEMA");
    assert_eq!(names[0], "statement/sql/select,1,0,00000,0,d");
    assert_eq!(names[7], "statement/sql/select,0,1054,42S22,1,d");
    assert_eq!(names[9], "statement/sql/set_option,0,0,00000,0,d");
    assert_eq!(of(&mut c, "DIGEST_TEXT")[0], "SELECT `b` FROM `t` WHERE `id` = ?");
    let times = of(&mut c, "TIMER_WAIT > 0 AND TIMER_END - TIMER_START = TIMER_WAIT AND END_EVENT_ID = EVENT_ID");
    assert_eq!(times, ["1"; 10]);
    // The statement that asks is running.
    let current = c.ok(&format!("SELECT THREAD_ID, END_EVENT_ID FROM {PS}.events_statements_current ORDER BY 1"));
    let own = c.session.process().id();
    assert!(current.contains(&format!("{own},~")), "{current:?}");
    assert!(current.iter().any(|r| r.starts_with(&format!("{id},")) && !r.ends_with('~')), "{current:?}");
    let joined = c.ok(&format!(
        "SELECT COUNT(*) FROM {PS}.threads th JOIN {PS}.events_statements_history e ON e.THREAD_ID = th.THREAD_ID \
         WHERE th.PROCESSLIST_ID = {id}"
    ));
    assert_eq!(joined, ["10"]);
    c.ok(&format!("TRUNCATE TABLE {PS}.events_statements_history"));
    assert!(of(&mut c, "1").is_empty());
}

#[test]
fn consumers_are_turned_on_and_off() {
    let (_db, mut c) = filled();
    let long = format!("SELECT COUNT(*) FROM {PS}.events_statements_history_long");
    c.ok("SELECT 1");
    assert_eq!(c.ok(&long), ["0"]);
    c.ok(&format!("UPDATE {PS}.setup_consumers SET ENABLED = 'YES' WHERE NAME LIKE '%history_long'"));
    for _ in 0..20 {
        c.ok("SELECT b FROM t WHERE id = 3");
    }
    assert!(c.ok(&long)[0].parse::<u64>().unwrap() >= 20);
    c.ok(&format!("UPDATE {PS}.setup_consumers SET ENABLED = 'NO'"));
    assert_eq!(c.ok(&format!("SELECT DISTINCT ENABLED FROM {PS}.setup_consumers")), ["NO"]);
    c.ok(&format!("TRUNCATE TABLE {PS}.events_statements_history_long"));
    c.ok("SELECT 1");
    assert_eq!(c.ok(&long), ["0"]);
    c.ok(&format!("UPDATE {PS}.setup_consumers SET ENABLED = 'YES' WHERE NAME <> 'events_statements_history_long'"));
    assert_eq!(c.err(&format!("UPDATE {PS}.setup_consumers SET ENABLED = 'MAYBE'")), 1265);
}

#[test]
fn logs_are_tables() {
    let (_db, mut c) = filled();
    c.ok("SET GLOBAL log_output = 'TABLE', GLOBAL slow_query_log = ON, GLOBAL general_log = ON");
    c.ok("SET long_query_time = 0.01");
    c.ok("SELECT SLEEP(0.05), b FROM t WHERE id = 2");
    c.ok("SET long_query_time = 10");
    let slow = c.ok("SELECT sql_text, rows_sent, rows_examined, db, query_time >= '00:00:00.05' FROM mysql.slow_log");
    assert_eq!(slow, ["SELECT SLEEP(0.05), b FROM t WHERE id = 2,1,1,d,1"]);
    let said = c.ok("SELECT command_type, argument FROM mysql.general_log WHERE argument LIKE 'SELECT SLEEP%'");
    assert_eq!(said, ["Query,SELECT SLEEP(0.05), b FROM t WHERE id = 2"]);
    let user = c.ok("SELECT DISTINCT user_host FROM mysql.general_log");
    assert_eq!(user, ["root[root] @ localhost []"]);
    c.ok("SET sql_log_off = ON");
    let before = c.ok("SELECT COUNT(*) FROM mysql.general_log");
    assert_eq!(c.ok("SELECT COUNT(*) FROM mysql.general_log"), before);
    c.ok("TRUNCATE TABLE mysql.general_log");
    c.ok("TRUNCATE TABLE mysql.slow_log");
    assert_eq!(c.ok("SELECT COUNT(*) FROM mysql.slow_log"), ["0"]);
    c.ok("SET GLOBAL general_log = OFF, GLOBAL log_output = DEFAULT");
}

#[test]
fn the_general_log_is_a_file() {
    let dir = std::env::temp_dir().join(format!("nextleaf-general-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&dir);
    let db = Database::open(Options { dir: Some(dir.clone()), workers: Some(1), ..Options::default() }).unwrap();
    let mut c = Client::of(&db);
    c.ok("SELECT 1");
    c.ok("SET GLOBAL general_log_file = 'all.log', GLOBAL general_log = ON");
    c.ok("SELECT 2 + 2");
    let text = std::fs::read_to_string(dir.join("all.log")).unwrap();
    assert!(text.contains(" Query\tSELECT 2 + 2\n") && !text.contains("SELECT 1\n"), "{text}");
    drop(c);
    drop(db);
    let _ = std::fs::remove_dir_all(&dir);
}

#[test]
fn waits_for_locks_are_timed() {
    let (db, mut c) = filled();
    let waiting = Remote::new(&db);
    c.ok("BEGIN");
    c.ok("UPDATE t SET b = 0 WHERE id = 5");
    waiting.start("UPDATE t SET b = 1 WHERE id = 5");
    assert!(waiting.blocks());
    c.ok("COMMIT");
    waiting.answer().expect("it goes on");
    c.ok("LOCK TABLES t WRITE");
    waiting.start("SELECT COUNT(*) FROM t");
    assert!(waiting.blocks());
    c.ok("UNLOCK TABLES");
    waiting.answer().expect("it goes on");
    let id = waiting.process_id;
    let times = c.ok(&format!(
        "SELECT LOCK_TIME > 50000000000, LOCK_TIME <= TIMER_WAIT FROM {PS}.events_statements_history \
         WHERE THREAD_ID = {id} ORDER BY EVENT_ID"
    ));
    assert_eq!(times, ["1,1", "1,1"]);
}

#[test]
fn unused_indexes_are_shown() {
    let (_db, mut c) = filled();
    c.ok("ALTER TABLE t ADD KEY kb (b)");
    let unused = |c: &mut Client| c.ok("SELECT index_name FROM sys.schema_unused_indexes WHERE object_schema = 'd'");
    assert_eq!(unused(&mut c), ["a", "kb"]);
    c.ok("EXPLAIN SELECT b FROM t FORCE INDEX (a) WHERE a = 3");
    assert_eq!(unused(&mut c), ["a", "kb"], "a plan reads nothing");
    c.ok("SELECT b FROM t FORCE INDEX (a) WHERE a = 3");
    assert_eq!(unused(&mut c), ["kb"]);
    c.ok("SELECT COUNT(*) FROM t x JOIN t y FORCE INDEX (kb) ON x.id = y.b WHERE x.id < 3");
    assert!(unused(&mut c).is_empty());
}

#[test]
fn redundant_indexes_are_shown() {
    let (_db, mut c) = filled();
    c.ok("CREATE TABLE r (a INT, b INT, c INT, KEY ka (a), KEY kab (a, b), UNIQUE u1 (c), UNIQUE u2 (c), KEY kc (c))");
    let rows = c.ok(
        "SELECT redundant_index_name, dominant_index_name FROM sys.schema_redundant_indexes WHERE table_name = 'r' \
         ORDER BY 1, 2",
    );
    assert_eq!(rows, ["ka,kab", "kc,u1", "kc,u2", "u2,u1"]);
    let drop =
        c.ok("SELECT DISTINCT sql_drop_index FROM sys.schema_redundant_indexes WHERE redundant_index_name = 'ka'");
    assert_eq!(drop, ["ALTER TABLE `d`.`r` DROP INDEX `ka`"]);
}
