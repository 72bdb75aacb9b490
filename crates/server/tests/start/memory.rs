//! Sessions that want more memory than there is: theirs are the errors, and the server goes on.
//!
//! A server under `ulimit -v` with both bounds set is asked by many sessions at once, with rights and without, for
//! whatever takes much: long strings, large packets, variables, groups and sorts of long strings, long rows. Meanwhile
//! one more session selects by key. In the end the process lives, and was at no time larger than its bound, give or
//! take a fifth.
//!
//! NEXTLEAF_MEMORY_SECONDS says for how long (default 4), NEXTLEAF_MEMORY_SESSIONS how many (64).

use super::{Started, run_after};
use mysql::Conn;
use mysql::prelude::Queryable;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const BOUND_BYTES: usize = 640 << 20;
/// What a statement may hold.
const STATEMENT_BYTES: usize = 256 << 20;
/// Address space: the bound, what the allocator asks for at once, the stacks of all threads.
const ULIMIT_KB: usize = 6 << 20;
/// What the process needs besides what it counts: its code, stacks, what is smaller than is counted.
const BASE_BYTES: usize = 96 << 20;
/// By the slowest of hundred selects, on a machine that does much else.
const SLOW_MS_MAX: u128 = 3000;

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default)
}

const OUT_OF_RESOURCES: u16 = 1041;
/// The sessions that send these.
const LARGE_PACKETS: u64 = 5;

const NUMBERS: &str = "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 200)";

/// What session `k` asks for in its round `i`.
fn hostile(k: u64, i: u64) -> String {
    match k % 8 {
        0 | 1 => "SELECT LENGTH(CONCAT(REPEAT('a', 67000000), 'b'))".into(),
        2 => format!("SET @v{i} = REPEAT('u', 30000000), @w{i} = CONCAT(@v{i}, REPEAT('w', 1000000))"),
        3 => format!(
            "{NUMBERS} SELECT COUNT(*) FROM (SELECT CONCAT(REPEAT('g', 1000000), n) AS s, COUNT(*) FROM r GROUP BY s) AS d"
        ),
        4 => format!(
            "{NUMBERS} SELECT LENGTH(s) FROM (SELECT CONCAT(REPEAT('s', 1000000), n) AS s FROM r) AS d ORDER BY s LIMIT 1 OFFSET 100"
        ),
        LARGE_PACKETS => format!("SELECT LENGTH('{}')", "p".repeat(8_000_000)),
        6 => format!("{NUMBERS} SELECT LENGTH(GROUP_CONCAT(REPEAT('c', 1000000))), MAX(REPEAT(n, 300000)) FROM r"),
        _ => "SELECT REPEAT('r', 12000000), REPEAT(REPEAT('x', 1000), 12000)".into(),
    }
}

/// Asks until the end; how often each error was the answer (0: none).
fn torment(port: u16, k: u64, until: Instant) -> BTreeMap<u16, u64> {
    let connect = || {
        let mut conn =
            Started::connect_as(port, if k.is_multiple_of(3) { "root" } else { "nobody" }).expect("connects");
        conn.query_drop("SET SESSION group_concat_max_len = 1000000000").expect("it may");
        conn
    };
    let mut answers = BTreeMap::new();
    let mut conn = connect();
    for i in 0.. {
        if Instant::now() >= until {
            break;
        }
        let code = match conn.query_drop(hostile(k, i)) {
            Ok(()) => 0,
            Err(mysql::Error::MySqlError(e)) => e.code,
            // A packet that finds no room is not read to its end.
            Err(_) if k % 8 == LARGE_PACKETS => {
                conn = connect();
                OUT_OF_RESOURCES
            }
            Err(e) => panic!("the connection of session {k} was lost: {e}"),
        };
        *answers.entry(code).or_default() += 1;
    }
    answers
}

/// How long selects by key take, in order.
fn probe(mut conn: Conn, stop: &AtomicBool) -> Vec<Duration> {
    let mut times = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let id = times.len() % 1000;
        let since = Instant::now();
        let found: Option<u32> = conn.query_first(format!("SELECT v FROM d.t WHERE id = {id}")).expect("it answers");
        times.push(since.elapsed());
        assert_eq!(found, Some(id as u32 * 2));
        std::thread::sleep(Duration::from_millis(2));
    }
    times.sort();
    times
}

fn high_water_bytes(pid: u32) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it lives");
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:")).expect("the system tells");
    line.trim().trim_end_matches(" kB").parse::<usize>().expect("a number") << 10
}

#[cfg(target_os = "linux")]
#[test]
fn sessions_that_want_too_much_harm_nobody_else() {
    let dir = std::env::temp_dir().join(format!("nextleaf-start-memory-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("a folder");
    let options = [
        &*format!("--max-server-memory={BOUND_BYTES}"),
        &format!("--max-query-memory={STATEMENT_BYTES}"),
        "--max-connections=500",
    ];
    let child = run_after(&dir, &format!("ulimit -v {ULIMIT_KB}; "), &options);
    let mut server = Started { dir, child };
    let port = Started::port(&server.said());
    let mut root = Started::try_connect(port).expect("connects");
    for sql in [
        "CREATE DATABASE d",
        "CREATE TABLE d.t (id INT PRIMARY KEY, v INT)",
        "INSERT INTO d.t WITH RECURSIVE r AS (SELECT 0 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 999) SELECT n, 2 * n FROM r",
        "CREATE USER nobody",
    ] {
        root.query_drop(sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
    }
    let stop = AtomicBool::new(false);
    let mut answers: BTreeMap<u16, u64> = BTreeMap::new();
    let times = std::thread::scope(|s| {
        let until = Instant::now() + Duration::from_secs(setting("NEXTLEAF_MEMORY_SECONDS", 4));
        let sessions: Vec<_> =
            (0..setting("NEXTLEAF_MEMORY_SESSIONS", 64)).map(|k| s.spawn(move || torment(port, k, until))).collect();
        let prober = s.spawn(|| probe(Started::try_connect(port).expect("connects"), &stop));
        let ended: Vec<_> = sessions.into_iter().map(|session| session.join()).collect();
        stop.store(true, Ordering::Relaxed);
        for answered in ended {
            for (code, n) in answered.expect("its connection lives") {
                *answers.entry(code).or_default() += n;
            }
        }
        prober.join().expect("selects go on")
    });
    let high = high_water_bytes(server.child.id());
    let slow = times[times.len() * 99 / 100].as_millis();
    eprintln!(
        "answers by error {answers:?}; {} selects, the hundredth slowest {slow} ms, the slowest {} ms; {} MiB at most of {}",
        times.len(),
        times.last().expect("some").as_millis(),
        high >> 20,
        BOUND_BYTES >> 20,
    );
    assert!(answers.keys().all(|code| [0, 1021, 1037, 1041, 1114, 3170].contains(code)), "{answers:?}");
    assert!(answers.contains_key(&0) && answers.contains_key(&3170), "{answers:?}");
    assert!(high < BOUND_BYTES / 5 * 6 + BASE_BYTES, "{high} bytes");
    assert!(slow < SLOW_MS_MAX, "{slow} ms");
    // What they held is there again.
    let length: Option<u64> = root.query_first("SELECT LENGTH(REPEAT('a', 60000000))").expect("there is room again");
    assert_eq!(length, Some(60_000_000));
    assert!(server.child.try_wait().expect("asked").is_none(), "it lives");
}
