//! Statements of megabytes end when they are killed while they are parsed or planned, and fail where they need more
//! memory than they may have.

mod common;

use common::Client;
use engine::{Database, Kill, Options};
use std::alloc::System;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

#[global_allocator]
static ALLOCATOR: memory::Metered<System> = memory::Metered(System);

/// Tests that measure the process's memory run alone.
static ALONE: std::sync::RwLock<()> = std::sync::RwLock::new(());

fn list(n: usize) -> String {
    (0..n).map(|i| i.to_string()).collect::<Vec<_>>().join(",")
}

fn with_table(options: Options) -> Arc<Database> {
    let db = common::database_with(options);
    let mut c = Client::of(&db);
    c.ok("CREATE TABLE d.t (a INT, b INT, c VARCHAR(20))");
    c.ok("INSERT INTO d.t VALUES (1, 2, 'x'), (3, 4, 'y')");
    db
}

/// What is asked to stop at once does not find the fault at the end of its text.
#[test]
fn parsing_ends_when_killed() {
    let _others = ALONE.read();
    let db = with_table(Options::default());
    for (kill, code) in [(Kill::Connection, 1317), (Kill::Shutdown, 1053), (Kill::Gone, 1317)] {
        let mut c = Client::new(&db);
        assert_eq!(c.err(&format!("SELECT * FROM t WHERE a IN ({}) ORDER", list(20_000))), 1064);
        c.session.process().kill(kill);
        assert_eq!(c.err(&format!("SELECT * FROM t WHERE a IN ({}) ORDER", list(20_000))), code);
        assert_eq!(c.err(&format!("INSERT INTO t VALUES {} ORDER", vec!["(1,2,'x')"; 20_000].join(","))), code);
        let text = format!("SELECT * FROM t WHERE {} ORDER", vec!["a=1"; 20_000].join(" OR "));
        assert_eq!(c.session.prepare(text.as_bytes()).map_err(|e| e.code().0).unwrap_err(), code);
    }
}

/// Kills a statement at many moments of its life: it always ends soon, with that error or with its answer.
#[test]
fn killed_statements_end_soon() {
    let _others = ALONE.read();
    let db = with_table(Options::default());
    let most = Duration::from_millis(if cfg!(debug_assertions) { 3000 } else { 100 });
    let n = 30_000;
    let ranges = (0..n).map(|i| format!("a>{i}")).collect::<Vec<_>>().join(" OR ");
    for sql in [
        format!("SELECT * FROM t WHERE {ranges}"),
        format!("EXPLAIN SELECT * FROM t WHERE a IN ({})", list(n)),
        format!(
            "UPDATE t SET b = 1 WHERE (a, b) IN ({})",
            (0..n).map(|i| format!("({i},1)")).collect::<Vec<_>>().join(",")
        ),
    ] {
        let mut c = Client::new(&db);
        for wait_ms in [0, 5, 20, 50, 100, 200] {
            let process = c.session.process().clone();
            let over = AtomicBool::new(false);
            let (result, since_kill) = std::thread::scope(|s| {
                let killer = s.spawn(|| {
                    while !process.is_running() && !over.load(Relaxed) {
                        std::hint::spin_loop();
                    }
                    std::thread::sleep(Duration::from_millis(wait_ms));
                    process.kill(Kill::Query);
                    Instant::now()
                });
                let result = c.run(&sql);
                let ended = Instant::now();
                over.store(true, Relaxed);
                (result, ended.saturating_duration_since(killer.join().unwrap()))
            });
            assert!(matches!(result, Ok(_) | Err(1317)), "{:?} {wait_ms}", result.err());
            assert!(since_kill < most, "{since_kill:?} after it was killed: {}..", &sql[..40]);
        }
    }
}

#[test]
fn planning_ends_when_its_time_is_up() {
    let _others = ALONE.read();
    let db = with_table(Options::default());
    let mut c = Client::new(&db);
    let ranges = (0..60_000).map(|i| format!("a>{i}")).collect::<Vec<_>>().join(" OR ");
    assert_eq!(c.err(&format!("SELECT /*+ MAX_EXECUTION_TIME(1) */ * FROM t WHERE {ranges}")), 3024);
    c.ok("SET max_execution_time = 1");
    assert_eq!(c.err(&format!("SELECT * FROM t WHERE {ranges}")), 3024);
    c.ok("SET max_execution_time = 0");
    assert_eq!(c.ok("SELECT a FROM t WHERE a = 1"), ["1"]);
}

fn long_statements(n: usize) -> Vec<String> {
    let chain = |by: &str, each: &dyn Fn(usize) -> String| (0..n).map(each).collect::<Vec<_>>().join(by);
    vec![
        format!("SELECT * FROM t WHERE a + b IN ({}, a)", list(n)),
        format!("SELECT * FROM t WHERE c IN ({}, b)", chain(",", &|i| format!("'{i}'"))),
        format!("SELECT * FROM t WHERE {}", chain(" OR ", &|i| format!("a > {i}"))),
        format!("SELECT CASE {} END FROM t", chain(" ", &|i| format!("WHEN a = {i} THEN b"))),
        format!("INSERT INTO t VALUES {}", chain(",", &|i| format!("({i}, {i}, 'abc')"))),
        format!("SELECT {}", chain(",", &|i| format!("1+{i}"))),
    ]
}

#[test]
fn trees_beyond_the_statements_bound_are_refused() {
    let _others = ALONE.read();
    let db = with_table(Options::default());
    let mut root = Client::of(&db);
    root.ok("CREATE USER app");
    root.ok("REVOKE ALL PRIVILEGES, GRANT OPTION FROM app");
    let mut app = Client::of(&db);
    app.session = db.session("app", "10.0.0.1");
    let mut c = Client::new(&db);
    for sql in long_statements(100_000) {
        c.ok("SET max_query_memory = 1048576");
        app.ok("SET max_query_memory = 1048576");
        let before = memory::thread_bytes();
        assert_eq!(c.err(&sql), 3170, "{}", &sql[..60]);
        assert_eq!(app.err(&sql.replace(" t ", " d.t ")), 3170, "{}", &sql[..60]);
        assert!(memory::thread_bytes() - before < 1 << 20, "nothing stays");
        let prepared = c.session.prepare(sql.as_bytes());
        assert_eq!(prepared.map_err(|e| e.code().0).unwrap_err(), 3170, "{}", &sql[..60]);
    }
    assert_eq!(c.ok("SELECT a FROM t WHERE a IN (1, 2)"), ["1"]);
    assert_eq!(db.memory().used_bytes(), 0);
}

/// Many sessions with long statements at once hold no more together than all may.
#[test]
fn many_long_statements_keep_to_the_servers_bound() {
    let _alone = ALONE.write();
    let (bound, sessions) = (48 << 20, 64);
    let db = with_table(Options { query_memory_bytes: Some(bound), ..Options::default() });
    let sql = format!("SELECT COUNT(*) FROM t WHERE {}", vec!["a = b + 123456"; 60_000].join(" OR "));
    let (refused, running) = (AtomicUsize::new(0), AtomicUsize::new(sessions));
    let before = memory::process_bytes().expect("it is metered");
    let peak = std::thread::scope(|s| {
        for _ in 0..sessions {
            s.spawn(|| {
                match Client::new(&db).run(&sql) {
                    Err(3170) => _ = refused.fetch_add(1, Relaxed),
                    other => assert_eq!(other, Ok(vec!["0".to_string()])),
                }
                running.fetch_sub(1, Relaxed);
            });
        }
        let mut peak = 0;
        while running.load(Relaxed) > 0 {
            peak = peak.max(memory::process_bytes().unwrap_or(0));
            std::thread::sleep(Duration::from_millis(1));
        }
        peak
    });
    let beside = sessions * (1 << 20);
    eprintln!("{} of {sessions} refused, {} MiB at most", refused.load(Relaxed), (peak - before) >> 20);
    assert!(refused.load(Relaxed) > 0 && peak - before < bound + beside, "{} MiB", (peak - before) >> 20);
    assert_eq!(Client::new(&db).ok("SELECT COUNT(*) FROM t WHERE a = 1 OR a = 3"), ["2"]);
}

/// `n` numbers in steps of three, each as `each` writes it.
fn threes(n: usize, by: &str, each: impl Fn(usize) -> String) -> String {
    (0..n).map(|i| each(i * 3)).collect::<Vec<_>>().join(by)
}

#[test]
fn long_lists_answer_what_short_conditions_do() {
    let _others = ALONE.read();
    let db = with_table(Options::default());
    let mut c = Client::new(&db);
    c.ok("CREATE TABLE n (a INT, b DECIMAL(10,2), c VARCHAR(20), d DOUBLE, e DATETIME)");
    let row = |i: usize| format!("({i}, {i}.5, 'S{i}', {i}, '2024-01-01' + INTERVAL {i} SECOND)");
    c.ok(&format!(
        "INSERT INTO n VALUES (NULL, NULL, NULL, NULL, NULL), {}",
        (0..1000).map(row).collect::<Vec<_>>().join(",")
    ));
    let n = 5000;
    let date = |i: usize| {
        let (h, m, s) = (i / 3600, i / 60 % 60, i % 60);
        format!("'2024-01-01 {h:02}:{m:02}:{s:02}'")
    };
    let lists = [
        ("a", threes(n, ",", |i| i.to_string())),
        ("a", threes(n, ",", |i| format!("'{i}'"))),
        ("b", threes(n, ",", |i| format!("{i}.50"))),
        ("c", threes(n, ",", |i| format!("'s{i}'"))),
        ("d", threes(n, ",", |i| i.to_string())),
        ("e", threes(n, ",", date)),
    ];
    let count = |c: &mut Client, condition: &str| c.ok(&format!("SELECT COUNT(*) FROM n WHERE {condition}")).remove(0);
    for (column, list) in &lists {
        assert_eq!(count(&mut c, &format!("{column} IN ({list})")), "334", "{column}");
        assert_eq!(count(&mut c, &format!("{column} NOT IN ({list})")), "666", "{column}");
        assert_eq!(count(&mut c, &format!("NOT {column} IN ({list}, NULL)")), "0", "{column}");
        assert_eq!(count(&mut c, &format!("({column} IN ({list}, NULL)) IS NULL")), "667", "{column}");
        let chain =
            |op: &str, by: &str| list.split(',').map(|v| format!("{column} {op} {v}")).collect::<Vec<_>>().join(by);
        assert_eq!(count(&mut c, &chain("=", " OR ")), "334", "{column}");
        assert_eq!(count(&mut c, &chain("<>", " AND ")), "666", "{column}");
        let rows = list.split(',').map(|v| format!("({v}, {v})")).collect::<Vec<_>>().join(",");
        assert_eq!(count(&mut c, &format!("({column}, {column}) IN ({rows})")), "334", "{column}");
        assert_eq!(count(&mut c, &format!("({column}, {column}) NOT IN ({rows})")), "666", "{column}");
    }
    // One list of two columns, and terms that belong to none.
    let mixed = threes(n, " OR ", |i| format!("{} = {i}", if i % 2 == 0 { "a" } else { "d" }));
    assert_eq!(count(&mut c, &format!("{mixed} OR a = 1 OR a > 998 OR b IS NULL")), "336");
    let text = c.ok(&format!("EXPLAIN FORMAT=TREE SELECT * FROM n WHERE a IN ({})", lists[0].1)).remove(0);
    assert!(text.contains(" in (0,3,6,") && text.contains(",...)") && text.len() < 2000, "{text}");
    // What compares in several types is as it was.
    assert_eq!(count(&mut c, &format!("a IN ({}, 1.5, 18446744073709551615)", lists[0].1)), "334");
    assert_eq!(c.err(&format!("SELECT * FROM n WHERE (a, b) IN ({}, (1, 2, 3))", vec!["(1,2)"; n].join(","))), 1241);
}

/// A statement's peak, all that it does included, in bytes for each byte of its text.
fn peak_of(c: &mut Client, sql: &str) -> f64 {
    let before = memory::process_bytes().expect("it is metered");
    let over = AtomicBool::new(false);
    let peak = std::thread::scope(|s| {
        let watch = s.spawn(|| {
            let mut peak = 0;
            while !over.load(Relaxed) {
                peak = peak.max(memory::process_bytes().unwrap_or(0));
                std::thread::yield_now();
            }
            peak
        });
        c.ok(sql);
        over.store(true, Relaxed);
        watch.join().unwrap()
    });
    peak.saturating_sub(before) as f64 / sql.len() as f64
}

#[test]
fn megabytes_of_text_are_not_gigabytes_of_memory() {
    let _alone = ALONE.write();
    let db = with_table(Options::default());
    let mut c = Client::new(&db);
    let n = 200_000;
    for sql in [
        format!("SELECT * FROM t WHERE a IN ({})", list(n)),
        format!("SELECT * FROM t WHERE c IN ('{}')", list(n).replace(",", "','")),
        format!(
            "SELECT * FROM t WHERE {}",
            (0..n).map(|i| format!("{}={i}", ["a", "b"][i % 2])).collect::<Vec<_>>().join(" OR ")
        ),
        format!(
            "INSERT INTO t VALUES {}",
            (0..n / 4).map(|i| format!("({i},{i},'some text {i}')")).collect::<Vec<_>>().join(",")
        ),
    ] {
        let peak = peak_of(&mut c, &sql);
        eprintln!("{peak:5.1} times {} bytes: {}..", sql.len(), &sql[..40]);
        assert!(peak < 20.0, "{peak:.1} times {} bytes: {}..", sql.len(), &sql[..40]);
    }
}
