//! Sums by digest, the slow query log, the optimizer trace.

mod common;

use common::{Client, filled};
use engine::{Database, Options};

const SUMMARY: &str = "performance_schema.events_statements_summary_by_digest";

#[test]
fn statements_are_summed_up_by_digest() {
    let (db, mut c) = filled();
    for i in 0..10 {
        c.ok(&format!("SELECT b FROM t WHERE id = {i}"));
        c.ok(&format!("SELECT b FROM t WHERE b > {} ORDER BY b LIMIT 5", 100 + i));
    }
    c.err("SELECT nothing FROM t WHERE id = 3");
    let what = "COUNT_STAR, SUM_ROWS_SENT, SUM_ROWS_EXAMINED, SUM_NO_INDEX_USED, SUM_SORT_SCAN, SUM_ERRORS";
    let of = |c: &mut Client, text: &str| c.ok(&format!("SELECT {what} FROM {SUMMARY} WHERE DIGEST_TEXT = '{text}'"));
    assert_eq!(of(&mut c, "SELECT `b` FROM `t` WHERE `id` = ?"), ["10,10,10,0,0,0"]);
    assert_eq!(of(&mut c, "SELECT `nothing` FROM `t` WHERE `id` = ?"), ["1,0,0,0,0,1"]);
    let sorted = of(&mut c, "SELECT `b` FROM `t` WHERE `b` > ? ORDER BY `b` LIMIT ?");
    assert!(sorted[0].starts_with("10,50,") && sorted[0].ends_with(",10,10,0"), "{sorted:?}");
    let times = c.ok(&format!(
        "SELECT COUNT(*) FROM {SUMMARY} WHERE MIN_TIMER_WAIT <= AVG_TIMER_WAIT AND AVG_TIMER_WAIT <= MAX_TIMER_WAIT \
         AND SUM_TIMER_WAIT >= MAX_TIMER_WAIT AND QUANTILE_95 <= QUANTILE_999 AND QUANTILE_999 <= MAX_TIMER_WAIT \
         AND LENGTH(DIGEST) = 64 AND SCHEMA_NAME = 'd' AND FIRST_SEEN <= LAST_SEEN"
    ));
    assert!(times[0].parse::<u64>().unwrap() >= 5, "{times:?}");
    // prepared statements count under the same digest, from any session
    let mut other = Client::new(&db);
    other.ok("PREPARE s FROM 'SELECT b FROM t WHERE id = ?'");
    other.ok("SET @i = 3");
    let sample =
        c.ok(&format!("SELECT QUERY_SAMPLE_TEXT FROM {SUMMARY} WHERE DIGEST_TEXT LIKE '%`id` = ?' AND SUM_ERRORS = 0"));
    assert!(sample[0].starts_with("SELECT b FROM t WHERE id = "), "{sample:?}");
    let scans = c.ok(
        "SELECT query, no_index_used_count, no_index_used_pct FROM sys.statements_with_full_table_scans WHERE db = 'd'",
    );
    assert!(scans.contains(&"SELECT `b` FROM `t` WHERE `b` > ? ORDER BY `b` LIMIT ?,10,100".to_string()), "{scans:?}");
    assert_eq!(c.ok("SELECT rows_sorted FROM sys.statements_with_sorting WHERE query LIKE '%LIMIT ?'"), ["50"]);
    assert_eq!(c.ok("SELECT exec_count, full_scan FROM sys.`x$statement_analysis` WHERE query LIKE '%`b` FROM `t` WHERE `id` = ?'"), ["10,"]);
    let latency = c.ok("SELECT total_latency FROM sys.statement_analysis LIMIT 1");
    assert!(latency[0].ends_with('s') || latency[0].ends_with('m'), "{latency:?}");
    assert!(!c.ok("SELECT query FROM sys.statements_with_runtimes_in_95th_percentile").is_empty());
    c.ok(&format!("TRUNCATE TABLE {SUMMARY}"));
    assert!(of(&mut c, "SELECT `b` FROM `t` WHERE `id` = ?").is_empty());
    c.ok("SELECT b FROM t WHERE id = 77");
    assert_eq!(of(&mut c, "SELECT `b` FROM `t` WHERE `id` = ?"), ["1,1,1,0,0,0"]);
}

#[test]
fn slow_statements_are_logged() {
    let dir = std::env::temp_dir().join(format!("nextleaf-slow-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&dir);
    let db = Database::open(Options { dir: Some(dir.clone()), workers: Some(1), ..Options::default() }).unwrap();
    let mut c = Client::of(&db);
    c.ok("CREATE DATABASE d");
    c.session.use_database("d").unwrap();
    c.ok("CREATE TABLE t (id INT PRIMARY KEY, a INT)");
    c.ok("INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)");
    c.ok("SET GLOBAL slow_query_log = ON, GLOBAL slow_query_log_file = 'slow.log'");
    let log = || std::fs::read_to_string(dir.join("slow.log")).unwrap_or_default();
    c.ok("SELECT a FROM t");
    assert_eq!(log().lines().count(), 2, "what a log begins with");
    c.ok("SET long_query_time = 0.01");
    c.ok("SELECT SLEEP(0.05), a FROM t WHERE id = 2");
    let text = log();
    assert!(text.contains("\nuse d;\nSET timestamp="), "{text}");
    assert!(text.contains(";\nSELECT SLEEP(0.05), a FROM t WHERE id = 2;\n"), "{text}");
    assert!(text.contains("# User@Host: root[root] @ localhost []  Id: "), "{text}");
    assert!(text.contains("Rows_sent: 1  Rows_examined: 1\n"), "{text}");
    assert_eq!(c.ok("SHOW STATUS LIKE 'Slow_queries'"), ["Slow_queries,1"]);
    c.ok("SET long_query_time = 10");
    c.ok("SET GLOBAL log_queries_not_using_indexes = ON");
    c.ok("SELECT a FROM t WHERE a > 1");
    c.ok("SELECT a FROM t WHERE id = 1");
    let text = log();
    assert!(text.contains("SELECT a FROM t WHERE a > 1;") && !text.contains("WHERE id = 1;"), "{text}");
    c.ok("SET min_examined_row_limit = 1000");
    c.ok("SELECT a FROM t WHERE a > 2");
    assert!(!log().contains("a > 2"));
    std::fs::remove_file(dir.join("slow.log")).unwrap();
    c.ok("FLUSH SLOW LOGS");
    c.ok("SET min_examined_row_limit = 0");
    c.ok("SELECT a FROM t WHERE a > 3");
    assert!(log().starts_with("nextleaf, Version: 8.4.0"));
    drop(c);
    drop(db);
    let _ = std::fs::remove_dir_all(&dir);
}

#[test]
fn the_optimizer_tells_what_it_did() {
    let (_db, mut c) = filled();
    let trace = |c: &mut Client| c.ok("SELECT TRACE FROM information_schema.OPTIMIZER_TRACE");
    c.ok("SELECT b FROM t WHERE a = 3");
    assert!(trace(&mut c).is_empty());
    c.ok("SET optimizer_trace = 'enabled=on'");
    c.ok("SELECT x.b FROM t x JOIN t y ON x.id = y.a WHERE y.b BETWEEN 5 AND 9 AND x.a = 3 ORDER BY x.b");
    let t = trace(&mut c).remove(0);
    for step in [
        "join_preparation",
        "expanded_query",
        "join_optimization",
        "condition_processing",
        "rows_estimation",
        "considered_execution_plans",
        "best_access_path",
        "attaching_conditions_to_tables",
        "refine_plan",
        "join_execution",
    ] {
        assert!(t.contains(&format!("\"{step}\"")), "{step}: {t}");
    }
    assert_eq!(
        c.ok("SELECT LEFT(QUERY, 10), MISSING_BYTES_BEYOND_MAX_MEM_SIZE FROM information_schema.OPTIMIZER_TRACE"),
        ["SELECT x.b,0"]
    );
    c.ok("SET optimizer_trace = 'one_line=on'");
    c.ok("SELECT b FROM t WHERE a = 4");
    assert!(!trace(&mut c)[0].contains('\n'));
    c.ok("SET optimizer_trace_max_mem_size = 100");
    c.ok("SELECT b FROM t WHERE a = 5");
    assert_eq!(
        c.ok("SELECT LENGTH(TRACE), MISSING_BYTES_BEYOND_MAX_MEM_SIZE > 0 FROM information_schema.OPTIMIZER_TRACE"),
        ["100,1"]
    );
    assert_eq!(c.err("SET optimizer_trace = 'nothing=on'"), 1231);
    c.ok("SET optimizer_trace = 'enabled=off'");
    assert_eq!(c.err("SET optimizer_switch = 'nothing=on'"), 1231);
}

#[test]
fn passwords_are_in_no_log() {
    let mut c = Client::new(&common::database());
    c.ok("SET GLOBAL log_output = 'TABLE'");
    c.ok("SET GLOBAL general_log = ON");
    c.ok("SET GLOBAL slow_query_log = ON");
    c.ok("SET long_query_time = 0");
    c.ok("CREATE USER 'joe'@'localhost' IDENTIFIED BY 'hunter2'");
    c.ok("ALTER USER 'joe'@'localhost' IDENTIFIED BY 'hunter2'");
    c.ok("SET PASSWORD FOR 'joe'@'localhost' = 'hunter2'");
    c.ok("PREPARE p FROM 'ALTER USER joe@localhost IDENTIFIED BY \"hunter2\"'");
    c.ok("SET long_query_time = DEFAULT");
    c.ok("SET GLOBAL general_log = OFF");
    for (column, table) in [
        ("argument", "mysql.general_log"),
        ("sql_text", "mysql.slow_log"),
        ("SQL_TEXT", "performance_schema.events_statements_history"),
        ("QUERY_SAMPLE_TEXT", "performance_schema.events_statements_summary_by_digest"),
    ] {
        let texts = c.ok(&format!("SELECT {column} FROM {table}"));
        assert!(texts.iter().any(|t| t.contains("IDENTIFIED BY '<secret>'")), "{table}: {texts:?}");
        assert!(!texts.iter().any(|t| t.contains("hunter2")), "{table}: {texts:?}");
    }
}
