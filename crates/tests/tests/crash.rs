//! A real process, killed at any moment, and a witness outside of it.
//!
//! The child (this executable again, told so by its environment) recovers the database, runs sessions on several
//! threads, and writes a line to its parent for each commit that it acknowledges. The parent kills it with SIGKILL
//! after a random time, reads what was acknowledged, opens the database itself and compares:
//!
//! - of each thread's transactions, 1 to n are there, n not less than the last acknowledged, and at most one more;
//! - each of them wholly: its rows in several tables, its transfer between accounts, its table where it made one;
//! - indexes agree with rows.
//!
//! NEXTLEAF_CRASH_ROUNDS sets how many rounds (default 4), NEXTLEAF_CRASH_MS how long a child lives at most (300).

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;
use tests::ours::Ours;

const THREADS: u64 = 4;
const ACCOUNTS: u64 = 20;
const ROWS: u64 = 3;
/// Then a new database begins: each round reads all of what the rounds before it have left.
const ROUNDS_OF_ONE: u64 = 40;
const DIR_VARIABLE: &str = "NEXTLEAF_CRASH_CHILD_DIR";

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default)
}

fn number(ours: &mut Ours, sql: &str) -> u64 {
    let rows = ours.run(sql).unwrap_or_else(|e| panic!("{sql}: {e:?}"));
    rows[0][0].as_deref().unwrap_or("0").parse().unwrap_or_else(|e| panic!("{sql}: {e}"))
}

fn ok(ours: &mut Ours, sql: &str) {
    ours.run(sql).unwrap_or_else(|e| panic!("{sql}: {e:?}"));
}

fn set_up(ours: &mut Ours) {
    ok(
        ours,
        "CREATE DATABASE IF NOT EXISTS d; USE d;
         CREATE TABLE done (t INT, n INT, PRIMARY KEY (t, n));
         CREATE TABLE many (id BIGINT AUTO_INCREMENT PRIMARY KEY, t INT, n INT, text VARCHAR(200), UNIQUE KEY (text), KEY (t, n));
         CREATE TABLE counter (t INT PRIMARY KEY, n INT NOT NULL);
         CREATE TABLE account (id INT PRIMARY KEY, amount INT NOT NULL)",
    );
    for t in 0..THREADS {
        ok(ours, &format!("INSERT INTO counter VALUES ({t}, 0)"));
    }
    for a in 0..ACCOUNTS {
        ok(ours, &format!("INSERT INTO account VALUES ({a}, 100)"));
    }
}

/// One transaction; an error other than a deadlock is a fault.
fn transaction(ours: &mut Ours, rng: &mut fastrand::Rng, t: u64, n: u64) -> bool {
    let (a, b, x) = (rng.u64(..ACCOUNTS), rng.u64(..ACCOUNTS), rng.u32(1..9));
    let mut statements = vec!["BEGIN".to_string(), format!("INSERT INTO done VALUES ({t}, {n})")];
    for i in 0..ROWS {
        let text = "x".repeat(rng.usize(..100));
        statements.push(format!("INSERT INTO many (t, n, text) VALUES ({t}, {n}, '{t}.{n}.{i}.{text}')"));
    }
    statements.push(format!("UPDATE account SET amount = amount - {x} WHERE id = {a}"));
    statements.push(format!("UPDATE account SET amount = amount + {x} WHERE id = {b}"));
    statements.push(format!("UPDATE counter SET n = {n} WHERE t = {t}"));
    if n > 20 && n.is_multiple_of(3) {
        statements.push(format!("DELETE FROM many WHERE t = {t} AND n = {}", n - 20));
    }
    statements.push("COMMIT".into());
    for s in &statements {
        match ours.run(s) {
            Ok(_) => {}
            Err((1213 | 1205, _)) => {
                let _ = ours.run("ROLLBACK");
                return false;
            }
            Err(e) => panic!("{s}: {e:?}"),
        }
    }
    true
}

fn child(dir: &Path) {
    let mode = std::env::var("NEXTLEAF_CRASH_MODE").unwrap_or_else(|_| "1".into());
    let mut ours = Ours::open_dir(dir, &[("innodb_flush_log_at_trx_commit", &mode)]).expect("the database opens");
    if ours.run("SELECT 1 FROM d.account LIMIT 1").is_err() {
        set_up(&mut ours);
    }
    let say = |line: String| {
        let mut out = std::io::stdout().lock();
        out.write_all(line.as_bytes()).and_then(|()| out.flush()).expect("the parent listens");
    };
    say("ready\n".into());
    thread::scope(|s| {
        for t in 0..THREADS {
            let mut ours = ours.another();
            s.spawn(move || {
                let mut rng = fastrand::Rng::new();
                ok(&mut ours, "USE d");
                let mut n = number(&mut ours, &format!("SELECT n FROM counter WHERE t = {t}"));
                loop {
                    if transaction(&mut ours, &mut rng, t, n + 1) {
                        n += 1;
                        say(format!("{t} {n}\n"));
                        if n.is_multiple_of(10) {
                            ok(
                                &mut ours,
                                &format!(
                                    "CREATE TABLE made_{t}_{n} (PRIMARY KEY (t, n)) SELECT * FROM done WHERE t = {t}"
                                ),
                            );
                            ok(&mut ours, &format!("DROP TABLE IF EXISTS made_{t}_{}", n - 10));
                            say(format!("made {t} {n}\n"));
                        }
                    }
                }
            });
        }
        s.spawn(|| {
            loop {
                thread::sleep(Duration::from_millis(fastrand::u64(5..120)));
                ours.database().store().checkpoint().expect("the disk is not full");
            }
        });
    });
}

#[derive(Default)]
struct Witness {
    acknowledged: BTreeMap<u64, u64>,
    made: BTreeMap<u64, u64>,
}

fn run_child(dir: &Path, round: u64, witness: &mut Witness) {
    let mut child = Command::new(std::env::current_exe().expect("this executable"))
        .args(["--exact", "killed_at_any_moment", "--nocapture"])
        .env(DIR_VARIABLE, dir)
        .env("NEXTLEAF_CRASH_MODE", ["1", "2"][round as usize % 2])
        .stdout(Stdio::piped())
        .spawn()
        .expect("starts");
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines().map_while(Result::ok);
    let ready = lines.by_ref().any(|l| l.ends_with("ready"));
    assert!(ready, "round {round}: the child did not come up");
    let killer = thread::spawn(move || {
        thread::sleep(Duration::from_millis(fastrand::u64(1..setting("NEXTLEAF_CRASH_MS", 300))));
        child.kill().expect("it runs");
        child.wait().expect("it ended").code()
    });
    for line in lines {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            [t, n] => drop(witness.acknowledged.insert(t.parse().expect("a number"), n.parse().expect("a number"))),
            ["made", t, n] => drop(witness.made.insert(t.parse().expect("a number"), n.parse().expect("a number"))),
            _ => panic!("{line}"),
        }
    }
    assert_eq!(killer.join().expect("no panic"), None, "round {round}: the child ended by itself");
}

fn check(dir: &Path, witness: &mut Witness) {
    let mut ours = Ours::open_dir(dir, &[]).expect("the database opens");
    for t in 0..THREADS {
        let acknowledged = witness.acknowledged.get(&t).copied().unwrap_or(0);
        let n = number(&mut ours, &format!("SELECT n FROM d.counter WHERE t = {t}"));
        assert!(n == acknowledged || n == acknowledged + 1, "thread {t}: {acknowledged} acknowledged, {n} there");
        let of_thread = format!("FROM d.done WHERE t = {t}");
        assert_eq!(number(&mut ours, &format!("SELECT COUNT(*) {of_thread}")), n, "thread {t}");
        assert_eq!(number(&mut ours, &format!("SELECT MAX(n) {of_thread}")), n, "thread {t}");
        witness.acknowledged.insert(t, n);
        let made = witness.made.get(&t).copied().unwrap_or(0);
        if made > 0 {
            // The next one may have been made, and this one dropped after that, without word of it.
            let count = |ours: &mut Ours, n: u64| {
                ours.run(&format!("SELECT COUNT(*) FROM d.made_{t}_{n}")).ok().map(|r| r[0][0].clone())
            };
            let (this, next) = (count(&mut ours, made), count(&mut ours, made + 10));
            let whole = |n: u64| Some(Some(n.to_string()));
            assert!(this == whole(made) || next == whole(made + 10), "thread {t}: {made} was made, {this:?}, {next:?}");
            assert!(this.is_none() || this == whole(made));
            assert!(next.is_none() || next == whole(made + 10));
            if next.is_some() {
                witness.made.insert(t, made + 10);
            }
        }
    }
    let halves = "SELECT COUNT(*) FROM (SELECT t, n FROM d.many GROUP BY t, n HAVING COUNT(*) <> 3) x";
    assert_eq!(number(&mut ours, halves), 0, "a transaction is half there");
    assert_eq!(number(&mut ours, "SELECT SUM(amount) FROM d.account"), ACCOUNTS * 100);
    let store = ours.database().store();
    for id in store.table_ids() {
        let table = store.table(id).expect("it is listed");
        assert_eq!(table.check(), Vec::<String>::new(), "{}", table.def().name);
    }
}

struct Dir(PathBuf);

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn killed_at_any_moment() {
    if let Some(dir) = std::env::var_os(DIR_VARIABLE) {
        return child(Path::new(&dir));
    }
    let dir = Dir(std::env::temp_dir().join(format!("nextleaf-crash-{}", std::process::id())));
    let _ = std::fs::remove_dir_all(&dir.0);
    let mut witness = Witness::default();
    let rounds = setting("NEXTLEAF_CRASH_ROUNDS", 4);
    let mut commits = 0;
    for round in 0..rounds {
        if round > 0 && round.is_multiple_of(ROUNDS_OF_ONE) {
            commits += witness.acknowledged.values().sum::<u64>();
            println!("{round} rounds, {commits} commits, none lost");
            std::fs::remove_dir_all(&dir.0).expect("nobody has it open");
            witness = Witness::default();
        }
        run_child(&dir.0, round, &mut witness);
        check(&dir.0, &mut witness);
    }
    commits += witness.acknowledged.values().sum::<u64>();
    println!("{rounds} rounds, {commits} commits, none lost");
    assert!(commits > 0);
}
