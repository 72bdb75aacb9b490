//! Folders of a real process, killed or shut down, of which a file is then deleted, cut, changed or exchanged: the
//! start is refused with the file's name, or everything that was acknowledged is there, and indexes agree with rows.
//! The child is this executable again, as in crash.rs; storage's damage_sim.rs does the same to many more folders on a
//! simulated disk.
//!
//! NEXTLEAF_DAMAGE_ROUNDS sets how many files are harmed (default 60).

use engine::{Database, Notices, Options};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use std::{fs, thread};
use tests::ours::Ours;

const DIR_VARIABLE: &str = "NEXTLEAF_DAMAGE_CHILD_DIR";
const SHUTDOWN_VARIABLE: &str = "NEXTLEAF_DAMAGE_CHILD_SHUTDOWN";
/// So many files of a folder are harmed, then the child goes on with it.
const HARMS_OF_ONE: u64 = 10;

fn ok(ours: &mut Ours, sql: &str) {
    ours.run(sql).unwrap_or_else(|e| panic!("{sql}: {e:?}"));
}

fn number(ours: &mut Ours, sql: &str) -> u64 {
    let rows = ours.run(sql).unwrap_or_else(|e| panic!("{sql}: {e:?}"));
    rows[0][0].as_deref().unwrap_or("0").parse().unwrap_or_else(|e| panic!("{sql}: {e}"))
}

fn say(line: String) {
    let mut out = std::io::stdout().lock();
    out.write_all(line.as_bytes()).and_then(|()| out.flush()).expect("the parent listens");
}

/// Commits, and says so, until it is killed; or for a while, and shuts down.
fn child(dir: &Path) {
    let mut ours = Ours::open_dir(dir, &[]).expect("the database opens");
    if ours.run("USE d").is_err() {
        ok(&mut ours, "CREATE DATABASE d; USE d");
        ok(&mut ours, "CREATE TABLE t (n INT PRIMARY KEY, s VARCHAR(300), KEY (s)); CREATE TABLE c (n INT)");
        ok(&mut ours, "INSERT INTO c VALUES (0)");
    }
    let from = number(&mut ours, "SELECT n FROM c");
    say("ready\n".into());
    let shuts_down = std::env::var_os(SHUTDOWN_VARIABLE).is_some();
    for n in from + 1.. {
        let text = "x".repeat(fastrand::usize(..200));
        ok(&mut ours, &format!("BEGIN; INSERT INTO t VALUES ({n}, '{n}{text}'); UPDATE c SET n = {n}; COMMIT"));
        say(format!("{n}\n"));
        if fastrand::u32(..40) == 0 {
            ours.database().store().checkpoint().expect("the disk is not full");
        }
        if shuts_down && n == from + 60 {
            break;
        }
    }
    ours.database().close().expect("the disk is not full");
}

/// The number that was acknowledged last.
fn run_child(dir: &Path, shuts_down: bool) -> u64 {
    let mut command = Command::new(std::env::current_exe().expect("this executable"));
    command.args(["--exact", "harmed_files_are_refused_or_harmless", "--nocapture"]);
    command.env(DIR_VARIABLE, dir).stdout(Stdio::piped());
    if shuts_down {
        command.env(SHUTDOWN_VARIABLE, "1");
    }
    let mut child = command.spawn().expect("starts");
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines().map_while(Result::ok);
    assert!(lines.by_ref().any(|l| l.ends_with("ready")), "the child did not come up");
    let ended = thread::spawn(move || {
        if !shuts_down {
            thread::sleep(Duration::from_millis(fastrand::u64(200..600)));
            child.kill().expect("it runs");
        }
        child.wait().expect("it ended").success()
    });
    let last = lines.filter_map(|l| l.parse().ok()).max().unwrap_or(0);
    assert_eq!(ended.join().expect("no panic"), shuts_down);
    last
}

struct Dir(PathBuf);

impl Dir {
    fn new(name: &str) -> Dir {
        let dir = Dir(std::env::temp_dir().join(format!("nextleaf-{name}-{}", std::process::id())));
        let _ = fs::remove_dir_all(&dir.0);
        dir
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).expect("a folder").map(|e| e.expect("an entry").path());
    let mut files: Vec<PathBuf> = entries.filter(|p| p.is_file()).collect();
    files.sort();
    files
}

fn copy(from: &Path, to: &Path) {
    let _ = fs::remove_dir_all(to);
    fs::create_dir_all(to).expect("a folder");
    for file in files(from) {
        fs::copy(&file, to.join(file.file_name().expect("a name"))).expect("copied");
    }
}

/// Says what was done.
fn harm(path: &Path, older: &Path) -> &'static str {
    let mut bytes = fs::read(path).expect("it is there");
    let used = bytes.iter().rposition(|b| *b != 0).map_or(0, |i| i + 1);
    let what = match fastrand::u32(..8) {
        0 => {
            fs::remove_file(path).expect("it is there");
            return "deleted";
        }
        1 => {
            bytes.clear();
            "emptied"
        }
        2 => {
            bytes.truncate(fastrand::usize(..used.max(1)));
            "cut"
        }
        3 => {
            let frames: Vec<usize> = bytes.windows(4).enumerate().filter(|w| w.1 == b"NLrf").map(|w| w.0).collect();
            bytes.truncate(fastrand::choice(&frames).copied().unwrap_or(used / 2));
            "cut at a record"
        }
        4 if used > 0 => {
            bytes[fastrand::usize(..used)] ^= 1 << fastrand::u32(..8);
            "a bit flipped"
        }
        5 => {
            bytes.extend((0..fastrand::usize(1..5000)).map(|_| fastrand::u8(..)));
            "appended to"
        }
        6 => match fs::read(older.join(path.file_name().expect("a name"))) {
            Ok(older) => {
                bytes = older;
                "replaced by an older one"
            }
            Err(_) => "left",
        },
        _ => {
            let others = files(path.parent().expect("a folder"));
            let with = fastrand::choice(&others).expect("it is there itself");
            let theirs = fs::read(with).expect("it is there");
            fs::write(with, &bytes).expect("written");
            bytes = theirs;
            "exchanged"
        }
    };
    fs::write(path, bytes).expect("written");
    what
}

/// True: it was refused.
fn open_and_compare(case: &str, dir: &Path, acknowledged: u64) -> bool {
    let told: Arc<Mutex<Vec<String>>> = Arc::default();
    let lines = told.clone();
    let warnings = Notices(Some(Arc::new(move |line| lines.lock().expect("no panic").push(line))));
    let db = match Database::open(Options { dir: Some(dir.into()), workers: Some(0), warnings, ..Options::default() }) {
        Ok(db) => db,
        Err(e) => {
            assert!(e.message().contains(&*dir.to_string_lossy()), "{case}: {e}");
            return true;
        }
    };
    let mut ours = Ours::session_of(&db);
    let told = told.lock().expect("no panic").clone();
    let case = format!("{case}, {told:?}");
    assert!(ours.run("USE d").is_ok(), "{case}: the database is gone");
    let n = number(&mut ours, "SELECT n FROM c");
    assert!(n == acknowledged || n == acknowledged + 1, "{case}: {acknowledged} were acknowledged, {n} are there");
    assert_eq!(number(&mut ours, "SELECT COUNT(*) FROM t"), n, "{case}");
    assert_eq!(number(&mut ours, "SELECT MAX(n) FROM t"), n, "{case}");
    for id in db.store().table_ids() {
        let table = db.store().table(id).expect("it is listed");
        assert_eq!(table.check(), Vec::<String>::new(), "{case}: {}", table.def().name);
    }
    false
}

#[test]
fn harmed_files_are_refused_or_harmless() {
    if let Some(dir) = std::env::var_os(DIR_VARIABLE) {
        return child(Path::new(&dir));
    }
    let rounds = std::env::var("NEXTLEAF_DAMAGE_ROUNDS").ok().and_then(|v| v.parse().ok()).unwrap_or(60);
    let (dir, older, harmed) = (Dir::new("damage"), Dir::new("damage-older"), Dir::new("damage-harmed"));
    run_child(&dir.0, false);
    let (mut acknowledged, mut shut_down) = (0, false);
    let (mut refused, mut whole) = (0, 0);
    for round in 0..rounds {
        if round % HARMS_OF_ONE == 0 {
            copy(&dir.0, &older.0);
            shut_down = round / HARMS_OF_ONE % 2 == 1;
            acknowledged = run_child(&dir.0, shut_down);
            copy(&dir.0, &harmed.0);
            assert!(!open_and_compare("as it is", &harmed.0, acknowledged));
        }
        copy(&dir.0, &harmed.0);
        let all = files(&harmed.0);
        let path = fastrand::choice(&all).expect("there are files");
        let what = harm(path, &older.0);
        let ending = if shut_down { "shut down" } else { "killed" };
        let case = format!("round {round}, {ending}, {} was {what}", path.display());
        match open_and_compare(&case, &harmed.0, acknowledged) {
            true => refused += 1,
            false => whole += 1,
        }
    }
    println!("{rounds} rounds: {refused} refused, {whole} whole");
    assert!(rounds < 50 || refused > rounds / 4 && whole > 0);
}
