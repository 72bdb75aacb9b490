//! Sessions append to lists and read them, at each isolation level; the history is checked for the level's anomalies
//! ([`tests::history`]). In one test the process is killed again and again.
//!
//! NEXTLEAF_HISTORY_MS sets how long each level runs (default 150), NEXTLEAF_HISTORY_ROUNDS how many times the process
//! is killed (default 3).

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use tests::history::{History, Level, Op, Outcome, Transaction, check};
use tests::ours::{Ours, configs};

const SESSIONS: u64 = 5;
/// Lists in use at a time, and transactions after which others are.
const LISTS: u64 = 6;
const TURN: u64 = 150;
const DIR_VARIABLE: &str = "NEXTLEAF_HISTORY_CHILD_DIR";
const FIRST_VARIABLE: &str = "NEXTLEAF_HISTORY_FIRST";

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default)
}

fn set_up(ours: &mut Ours) {
    ours.run("CREATE DATABASE IF NOT EXISTS h; CREATE TABLE IF NOT EXISTS h.lists (k BIGINT PRIMARY KEY, v TEXT)")
        .expect("a table");
}

fn list(text: &str) -> Vec<u64> {
    text.split(',').filter(|e| !e.is_empty()).map(|e| e.parse().expect("an element")).collect()
}

/// What the sessions share: elements and the turns of lists.
struct Shared {
    level: Level,
    next_element: AtomicU64,
    begun: AtomicU64,
}

/// Runs the statements of one transaction, up to COMMIT; an error that ends it is its end.
fn operations(
    ours: &mut Ours,
    rng: &mut fastrand::Rng,
    shared: &Shared,
    ops: &mut Vec<Op>,
) -> Result<(), (u16, String)> {
    let turn = shared.begun.fetch_add(1, Ordering::Relaxed) / TURN;
    ours.run("START TRANSACTION")?;
    for _ in 0..rng.usize(1..6) {
        let key = turn * LISTS + rng.u64(..LISTS);
        if shared.level == Level::Serializable && rng.u8(..3) > 0 {
            serializable_operation(ours, rng, shared, turn, key, ops)?;
        } else if rng.bool() {
            let rows = ours.run(&format!("SELECT v FROM lists WHERE k = {key}"))?;
            let text = rows.first().and_then(|r| r[0].clone()).unwrap_or_default();
            ops.push(Op::Read { key, list: list(&text) });
        } else {
            let element = shared.next_element.fetch_add(1, Ordering::Relaxed);
            // It is noted first: the statement may fail after it was done.
            ops.push(Op::Append { key, element });
            ours.run(&format!(
                "INSERT INTO lists VALUES ({key}, '{element}') ON DUPLICATE KEY UPDATE v = CONCAT(v, ',{element}')"
            ))?;
        }
        if rng.u8(..4) == 0 {
            std::thread::yield_now();
        }
    }
    Ok(())
}

/// Reads and appends in ways that differ in what they lock: rows, absent keys, or the table. At lower levels some of
/// these read newer versions than others, as they should.
fn serializable_operation(
    ours: &mut Ours,
    rng: &mut fastrand::Rng,
    shared: &Shared,
    turn: u64,
    key: u64,
    ops: &mut Vec<Op>,
) -> Result<(), (u16, String)> {
    let append = |v: &str, element: u64| format!("UPDATE lists SET v = CONCAT(v, ',{element}') WHERE {v}");
    let (from, to) = (turn * LISTS, (turn + 1) * LISTS);
    let read = match rng.u8(..12) {
        0 => format!("SELECT k, v FROM lists WHERE k >= {from} AND k < {to}"),
        1 => format!("SELECT k, v FROM lists WHERE k + 0 = {key} FOR SHARE"),
        2 | 3 => format!("SELECT k, v FROM lists WHERE k = {key} FOR UPDATE"),
        4 => format!("SELECT k, v FROM lists WHERE k IN ({key}, {from}, {})", to - 1),
        5 => format!("SELECT a.k, a.v FROM lists a JOIN lists b ON a.k = b.k WHERE a.k = {key}"),
        kind => {
            let element = shared.next_element.fetch_add(1, Ordering::Relaxed);
            ops.push(Op::Append { key, element });
            if kind == 6 {
                // A part that is taken back leaves nothing.
                ours.run("SAVEPOINT s")?;
                ours.run(&append(&format!("k = {key}"), 0))?;
                ours.run("ROLLBACK TO s")?;
            }
            let by = if kind == 7 { format!("k + 0 = {key}") } else { format!("k = {key}") };
            ours.run(&append(&by, element))?;
            let changed = ours.run("SELECT ROW_COUNT()")?;
            if changed[0][0].as_deref() == Some("0") {
                ours.run(&format!("INSERT INTO lists VALUES ({key}, '{element}')"))?;
            }
            return Ok(());
        }
    };
    let keys: BTreeSet<u64> = match &read {
        r if r.contains(" IN ") => [key, from, to - 1].into(),
        r if r.contains(">=") => (from..to).collect(),
        _ => [key].into(),
    };
    let rows = ours.run(&read)?;
    for key in keys {
        let row = rows.iter().find(|r| r[0].as_deref() == Some(&*key.to_string()));
        ops.push(Op::Read { key, list: list(row.and_then(|r| r[1].as_deref()).unwrap_or_default()) });
    }
    Ok(())
}

/// One transaction. `before_commit` is told what it did, and when COMMIT is sent.
fn transaction(
    ours: &mut Ours,
    rng: &mut fastrand::Rng,
    shared: &Shared,
    before_commit: impl FnOnce(&[Op]),
) -> (Vec<Op>, Outcome) {
    let mut ops = Vec::new();
    let ended = match operations(ours, rng, shared, &mut ops) {
        Ok(()) if rng.u8(..12) == 0 => Err((0, "rolled back at will".into())),
        Ok(()) => {
            before_commit(&ops);
            ours.run("COMMIT").map(|_| ())
        }
        Err(e) => Err(e),
    };
    match ended {
        Ok(()) => (ops, Outcome::Committed),
        Err((0 | 1205 | 1213, _)) => {
            ours.run("ROLLBACK").expect("it ends");
            (ops, Outcome::Aborted)
        }
        Err(e) => panic!("{e:?} after {ops:?}"),
    }
}

fn ready(ours: &mut Ours, level: Level) {
    ours.run(&format!("USE h; SET SESSION TRANSACTION ISOLATION LEVEL {}", level.name())).expect("settings");
    ours.run("SET innodb_lock_wait_timeout = 5, lock_wait_timeout = 5").expect("settings");
}

fn end(ours: &mut Ours) -> BTreeMap<u64, Vec<u64>> {
    let rows = ours.run("SELECT k, v FROM h.lists").expect("rows");
    let text = |cell: &Option<String>| cell.clone().unwrap_or_default();
    rows.iter().map(|r| (text(&r[0]).parse().expect("a key"), list(&text(&r[1])))).collect()
}

/// Sets the flag when a thread ends, by a panic too.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

#[test]
fn histories_obey_their_isolation_level() {
    for (level, config) in Level::ALL.into_iter().flat_map(|l| configs().into_iter().take(2).map(move |c| (l, c))) {
        let mut ours = Ours::open(&config);
        set_up(&mut ours);
        let shared = Shared { level, next_element: AtomicU64::new(1), begun: AtomicU64::new(0) };
        let (stop, done) = (AtomicBool::new(false), Mutex::new(Vec::new()));
        std::thread::scope(|scope| {
            for session in 0..SESSIONS {
                let (mut ours, shared, stop, done) = (ours.another(), &shared, &stop, &done);
                scope.spawn(move || {
                    let _stop = Stop(stop);
                    let mut rng = fastrand::Rng::new();
                    ready(&mut ours, shared.level);
                    while !stop.load(Ordering::Acquire) {
                        let (ops, outcome) = transaction(&mut ours, &mut rng, shared, |_| {});
                        done.lock().expect("no panic").push(Transaction { session, ops, outcome });
                    }
                });
            }
            std::thread::sleep(Duration::from_millis(setting("NEXTLEAF_HISTORY_MS", 150)));
            stop.store(true, Ordering::Release);
        });
        let history = History { transactions: done.into_inner().expect("no panic"), end: end(&mut ours) };
        let committed = history.transactions.iter().filter(|t| t.outcome == Outcome::Committed).count();
        let faults = check(&history, level);
        println!("{} ({}): {committed} of {} committed", level.name(), config.name, history.transactions.len());
        assert!(committed > 20, "{}: only {committed} were committed", level.name());
        assert!(
            faults.is_empty(),
            "{}: {} faults\n{}",
            level.name(),
            faults.len(),
            faults[..faults.len().min(5)].join("\n")
        );
    }
}

// ---- killed in between

fn written(op: &Op) -> String {
    match op {
        Op::Append { key, element } => format!("a:{key}:{element}"),
        Op::Read { key, list } => {
            format!("r:{key}:{}", list.iter().map(u64::to_string).collect::<Vec<_>>().join(","))
        }
    }
}

fn read(word: &str) -> Op {
    let parts: Vec<&str> = word.split(':').collect();
    let key = parts[1].parse().expect("a key");
    match parts[0] {
        "a" => Op::Append { key, element: parts[2].parse().expect("an element") },
        _ => Op::Read { key, list: list(parts[2]) },
    }
}

/// Runs sessions for ever. A line `S try OPS` is said before each COMMIT, `S ok` after it.
fn child(dir: &Path) {
    let mut ours = Ours::open_dir(dir, &[("innodb_flush_log_at_trx_commit", "1")]).expect("the database opens");
    set_up(&mut ours);
    let first = setting(FIRST_VARIABLE, 1);
    let level = Level::ALL[2 + (first as usize & 1)];
    let shared = Shared { level, next_element: AtomicU64::new(first), begun: AtomicU64::new(first * TURN) };
    let say = |line: String| {
        let mut out = std::io::stdout().lock();
        out.write_all(line.as_bytes()).and_then(|()| out.flush()).expect("the parent listens");
    };
    say("ready\n".into());
    std::thread::scope(|scope| {
        for session in 0..SESSIONS {
            let (mut ours, shared) = (ours.another(), &shared);
            scope.spawn(move || {
                let mut rng = fastrand::Rng::new();
                ready(&mut ours, shared.level);
                loop {
                    let tell = |ops: &[Op]| {
                        say(format!("{session} try {}\n", ops.iter().map(written).collect::<Vec<_>>().join(" ")));
                    };
                    if transaction(&mut ours, &mut rng, shared, tell).1 == Outcome::Committed {
                        say(format!("{session} ok\n"));
                    }
                }
            });
        }
        scope.spawn(|| {
            loop {
                std::thread::sleep(Duration::from_millis(fastrand::u64(20..150)));
                ours.database().store().checkpoint().expect("the disk is not full");
            }
        });
    });
}

/// Runs a child until it is killed; what it said goes into the history.
fn run_child(dir: &Path, round: u64, first: u64, history: &mut History) {
    let mut child = Command::new(std::env::current_exe().expect("this executable"))
        .args(["--exact", "histories_hold_when_the_server_is_killed", "--nocapture"])
        .env(DIR_VARIABLE, dir)
        .env(FIRST_VARIABLE, first.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .expect("starts");
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines().map_while(Result::ok);
    assert!(lines.by_ref().any(|l| l.ends_with("ready")), "round {round}: the child did not come up");
    let killer = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(fastrand::u64(50..400)));
        child.kill().expect("it runs");
        child.wait().expect("it ended").code()
    });
    let mut running: BTreeMap<u64, usize> = BTreeMap::new();
    for line in lines {
        let words: Vec<&str> = line.split_whitespace().collect();
        let session: u64 = words[0].parse().expect("a session");
        match words[1] {
            // A transaction of which nothing more was heard came to nothing, or is one that was being committed.
            "try" => {
                running.insert(session, history.transactions.len());
                let ops = words[2..].iter().map(|w| read(w)).collect();
                // Sessions of each round are others: nothing is said of their order.
                let session = round * SESSIONS + session;
                history.transactions.push(Transaction { session, ops, outcome: Outcome::Unknown });
            }
            "ok" => {
                let t = running.remove(&session).expect("it was tried");
                history.transactions[t].outcome = Outcome::Committed;
            }
            other => panic!("{other}"),
        }
    }
    assert_eq!(killer.join().expect("no panic"), None, "round {round}: the child ended by itself");
}

struct Dir(PathBuf);

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn histories_hold_when_the_server_is_killed() {
    if let Some(dir) = std::env::var_os(DIR_VARIABLE) {
        return child(Path::new(&dir));
    }
    let dir = Dir(std::env::temp_dir().join(format!("nextleaf-history-{}", std::process::id())));
    let _ = std::fs::remove_dir_all(&dir.0);
    let mut history = History::default();
    for round in 0..setting("NEXTLEAF_HISTORY_ROUNDS", 3) {
        // Elements of a round are greater than all of those before. REPEATABLE READ and SERIALIZABLE take turns.
        let first = (round + 1) * 1_000_000 + round % 2;
        run_child(&dir.0, round, first, &mut history);
        let mut ours = Ours::open_dir(&dir.0, &[]).expect("the database opens");
        history.end = end(&mut ours);
        let faults = check(&history, Level::RepeatableRead);
        assert!(
            faults.is_empty(),
            "round {round}: {} faults\n{}",
            faults.len(),
            faults[..faults.len().min(5)].join("\n")
        );
    }
    let committed = history.transactions.iter().filter(|t| t.outcome == Outcome::Committed).count();
    println!("{committed} of {} transactions are known to be committed", history.transactions.len());
    assert!(committed > 0);
}
