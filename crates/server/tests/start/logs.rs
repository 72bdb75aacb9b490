//! Files that the server writes lines to: which names they may have, at the start and later.

use std::collections::BTreeSet;
use std::os::unix::fs::symlink;
use std::path::Path;

use mysql::prelude::Queryable;
use mysql::{Conn, Error};

use crate::{Started, run, start};

const FOREIGN: &str = "not a log\n";

fn code(c: &mut Conn, sql: &str) -> u16 {
    match c.query_drop(sql) {
        Ok(()) => 0,
        Err(Error::MySqlError(e)) => e.code,
        Err(other) => panic!("{sql}: {other}"),
    }
}

/// Files that no log may be written to.
fn traps(dir: &Path) -> Vec<&'static str> {
    std::fs::create_dir_all(dir.join("folder")).expect("a folder");
    for name in ["foreign", "one", "app.log"] {
        std::fs::write(dir.join(name), FOREIGN).expect("written");
    }
    symlink(dir.join("foreign"), dir.join("link")).expect("a link");
    symlink(dir.join("not there"), dir.join("dangling")).expect("a link");
    symlink(dir.join("data"), dir.join("up")).expect("a link");
    std::fs::write(dir.join("two"), "").expect("written");
    std::fs::hard_link(dir.join("two"), dir.join("three")).expect("a link");
    let fifo = std::process::Command::new("mkfifo").arg(dir.join("fifo")).status().expect("runs");
    assert!(fifo.success());
    vec![
        "DIR/foreign",
        "DIR/app.log",
        "DIR/link",
        "DIR/dangling",
        "DIR/three",
        "DIR/fifo",
        "DIR/folder",
        "DIR/folder/",
        "DIR/..",
        "DIR/not there/x.log",
        "DIR/new.cnf",
        "DIR/new.INI",
        "my.cnf",
        "/dev/null",
        "/proc/self/fd/2",
        "/proc/self/environ",
        "manifest",
        "manifest.new",
        "redo.new",
        "redo.end",
        "redo.end.new",
        "redo-1.log",
        "redo-99999999.log",
        "data-99.nlx",
        "nextleaf.lock",
        "server-key.pem",
        "new.pem",
        "tmp/x.log",
        "tmp",
        "files",
        "../data/manifest",
        "DIR/up/manifest",
        "/proc/self/rootDIR/data/manifest",
        "DIR/folder/../data/redo-77.log",
    ]
}

fn is_untouched(dir: &Path) {
    for name in ["foreign", "one", "app.log"] {
        assert_eq!(std::fs::read_to_string(dir.join(name)).expect("there"), FOREIGN, "{name}");
    }
    for name in ["not there", "new.cnf", "new.INI", "data/my.cnf", "data/redo-99999999.log", "data/tmp/x.log"] {
        assert!(!dir.join(name).exists(), "{name}");
    }
    assert_eq!(std::fs::read(dir.join("two")).expect("there"), b"");
}

#[test]
fn set_global_names_no_other_file() {
    let options = ["--socket=s.sock", "--pid-file=server.pid", "--general-log=1"];
    let mut server = start("log-traps", &options);
    let mut c = Started::connect(&server.said());
    let dir = server.dir.display().to_string();
    let mut refused = traps(&server.dir);
    refused.extend(["s.sock", "server.pid", ""]);
    for log in ["general_log", "slow_query_log"] {
        for on in ["ON", "OFF"] {
            assert_eq!(code(&mut c, &format!("SET GLOBAL {log} = {on}")), 0);
            for name in &refused {
                let sql = format!("SET GLOBAL {log}_file = '{}'", name.replace("DIR", &dir));
                assert_eq!(code(&mut c, &sql), 1231, "{sql}");
            }
        }
    }
    is_untouched(&server.dir);
    assert_eq!(code(&mut c, "SET GLOBAL general_log_file = 'nextleaf-slow.log'"), 1231, "the other log's");
    assert_eq!(code(&mut c, "SET GLOBAL general_log_file = NULL"), 1231);
    // New ones, empty ones, and those that were written before.
    std::fs::write(server.dir.join("empty"), "").expect("written");
    for on in ["ON", "OFF"] {
        assert_eq!(code(&mut c, &format!("SET GLOBAL general_log = {on}")), 0);
        for name in ["DIR/folder/new.log", "DIR/empty", "DIR/up/top.log", "files/in.log", "DIR/folder/new.log"] {
            let sql = format!("SET GLOBAL general_log_file = '{}'", name.replace("DIR", &dir));
            assert_eq!(code(&mut c, &sql), 0, "{sql}");
        }
    }
    for name in ["folder/new.log", "empty", "data/top.log", "data/files/in.log", "data/nextleaf.log"] {
        let text = std::fs::read_to_string(server.dir.join(name)).expect("a log");
        assert!(text.starts_with("nextleaf, Version: "), "{name}: {text}");
        assert_eq!(text.matches("started with:").count(), 1, "{name}: {text}");
    }
}

#[test]
fn options_name_no_other_file() {
    let mut server = start("log-start", &[]);
    drop(Started::connect(&server.said()));
    let pid = rustix::process::Pid::from_raw(server.child.id() as i32).expect("a process");
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("it is there");
    assert!(server.child.wait().expect("it ends").success());
    let dir = server.dir.clone();
    let manifest = std::fs::read(dir.join("data/manifest")).expect("there");
    let names = traps(&dir);
    for option in ["general-log-file", "slow-query-log-file", "log-error", "pid-file"] {
        // each of them for one, and the server's own for all
        for name in
            names.iter().filter(|name| option == "log-error" || name.contains("manifest")).chain(["DIR/app.log"].iter())
        {
            let option = format!("--{option}={name}");
            server.child = run(&dir, &["--general-log=1", &option]);
            let said = server.said();
            // the number of the process is written once it listens
            let status = server.child.wait().expect("it ends");
            assert!(!status.success() && said.contains("[Error]"), "{option}: {said}");
        }
    }
    is_untouched(&dir);
    assert_eq!(std::fs::read(dir.join("data/manifest")).expect("there"), manifest);
    for name in ["manifest", "../app.log"] {
        server.child = run(&dir, &[&format!("--socket={name}")]);
        let said = server.said();
        assert!(said.contains("no socket file") && !server.child.wait().expect("it ends").success(), "{said}");
    }
    assert_eq!(std::fs::read(dir.join("data/manifest")).expect("there"), manifest);
    // A pid file that was left behind, and logs of before.
    std::fs::write(dir.join("data/old.pid"), "123\n").expect("written");
    for _ in 0..2 {
        server.child = run(&dir, &["--pid-file=old.pid", "--general-log=1", "--slow-query-log=1"]);
        drop(Started::connect(&server.said()));
        server.child.kill().expect("it runs");
        server.child.wait().expect("it ends");
    }
}

#[test]
fn another_file_takes_over_without_loss() {
    let mut server = start("log-switch", &["--general-log=1"]);
    let said = server.said();
    let mut c = Started::connect(&said);
    let stop = std::sync::atomic::AtomicBool::new(false);
    let files = ["a.log", "b.log", "c.log", "nextleaf.log"];
    let run = |who: usize| {
        let mut c = Started::connect(&said);
        let mut count = 0;
        while !stop.load(std::sync::atomic::Ordering::Relaxed) {
            c.query_drop(format!("DO 'who {who} nr {count} '")).expect("valid");
            count += 1;
        }
        count
    };
    let counts: Vec<u64> = std::thread::scope(|scope| {
        let run = &run;
        let all: Vec<_> = (0..3).map(|who| scope.spawn(move || run(who))).collect();
        for i in 0..120 {
            let sql = format!("SET GLOBAL general_log_file = '{}'", files[i % files.len()]);
            assert_eq!(code(&mut c, &sql), 0);
            // no file at all
            assert_eq!(code(&mut c, "SET GLOBAL general_log_file = 'not there/x.log'"), 1231);
            if i % 7 == 0 {
                assert_eq!(code(&mut c, "FLUSH GENERAL LOGS"), 0);
            }
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        all.into_iter().map(|one| one.join().expect("ran")).collect()
    });
    let texts: Vec<String> =
        files.iter().map(|f| std::fs::read_to_string(server.dir.join("data").join(f)).expect("a log")).collect();
    assert!(counts.iter().sum::<u64>() > 100);
    for (who, count) in counts.into_iter().enumerate() {
        let mark = format!("who {who} nr ");
        let records = texts.iter().flat_map(|text| text.split(&mark).skip(1));
        let found: BTreeSet<&str> = records.map(|rest| rest.split(' ').next().expect("a number")).collect();
        assert_eq!(found.len() as u64, count);
    }
}

#[test]
fn records_that_are_lost_are_spoken_of() {
    let mut server = start("log-lost", &["--log-error=server.err", "--log-output=TABLE"]);
    let log = server.dir.join("data/server.err");
    let said = || std::fs::read_to_string(&log).unwrap_or_default();
    let since = std::time::Instant::now();
    while !said().contains("ready for connections on 127") && since.elapsed() < std::time::Duration::from_secs(30) {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let mut c = Started::connect(&said());
    std::fs::write(server.dir.join("data/nextleaf.log"), FOREIGN).expect("written");
    assert_eq!(code(&mut c, "SET GLOBAL general_log = ON"), 0, "it writes to no file");
    for sql in ["SET GLOBAL log_output = 'FILE'", "DO 1", "DO 2"] {
        assert_eq!(code(&mut c, sql), 0);
    }
    assert_eq!(said().matches("records are lost").count(), 1, "{}", said());
    assert_eq!(std::fs::read_to_string(server.dir.join("data/nextleaf.log")).expect("there"), FOREIGN);
    assert_eq!(code(&mut c, "FLUSH GENERAL LOGS"), 1016);
    assert_eq!(code(&mut c, "SET GLOBAL general_log = OFF"), 0);
    assert_eq!(code(&mut c, "SET GLOBAL general_log = ON"), 1016);
    assert_eq!(code(&mut c, "SET GLOBAL general_log_file = 'other.log'"), 0);
    assert_eq!(code(&mut c, "SET GLOBAL general_log = ON"), 0);
    assert!(std::fs::read_to_string(server.dir.join("data/other.log")).expect("there").contains("started with:"));
    let _ = server.child.kill();
}
