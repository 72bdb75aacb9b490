//! Options that it takes, refuses or passes over, its log and pid file.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use mysql::prelude::Queryable;

use crate::{Started, start};

#[test]
fn options_mean_what_set_means() {
    let mut server = start(
        "options",
        &[
            "--max-allowed-packet=16M",
            "--sql_mode=ANSI",
            "--optimizer_switch=index_merge=off",
            "--character-set-server=latin1",
            "--default-time-zone=+02:00",
            "--loose-unheard-of=1",
            "--loose-log-bin=ON",
            "--default-storage-engine=MyISAM",
        ],
    );
    let said = server.said();
    assert!(said.contains("unheard_of") && said.contains("log_bin"), "{said}");
    let mut c = Started::connect(&said);
    let row: (u64, String, String, String, String) = c
        .query_first("SELECT @@max_allowed_packet, @@sql_mode, @@optimizer_switch, @@collation_server, @@time_zone")
        .expect("answered")
        .expect("a row");
    assert_eq!((row.0, &*row.3, &*row.4), (16 << 20, "latin1_swedish_ci", "+02:00"));
    assert!(row.1.contains("PIPES_AS_CONCAT"), "{}", row.1);
    assert!(row.2.contains("index_merge=off") && row.2.contains("mrr="), "{}", row.2);
    c.query_drop("CREATE DATABASE d").expect("made");
    let database: Option<(String, String)> = c.query_first("SHOW CREATE DATABASE d").expect("answered");
    assert!(database.is_some_and(|d| d.1.contains("latin1")));
}

#[test]
fn what_cannot_be_obeyed_is_refused() {
    for (option, why) in [
        ("--lower-case-table-names=1", "lower_case_table_names=1"),
        ("--loose-lower-case-table-names=1", "lower_case_table_names=1"),
        ("--explicit-defaults-for-timestamp=0", "explicit_defaults_for_timestamp"),
        ("--collation-server=nonsense", "nonsense"),
        ("--character-set-server=latin5", "latin5"),
        ("--sql-mode=NONE_SUCH", "NONE_SUCH"),
        ("--max-allowed-packet=16Q", "max_allowed_packet"),
        ("--unheard-of=1", "unheard_of"),
        ("--log-bin=x", "log_bin"),
    ] {
        let mut server = start("refused", &[option]);
        let said = server.said();
        assert!(!said.contains("ready") && said.contains(why) && said.contains("command line"), "{option}: {said}");
        assert!(!server.child.wait().expect("it ends").success(), "{option}");
    }
}

#[test]
fn log_and_pid_file() {
    let mut server = start("files", &["--log-error=DIR/error.log", "--pid-file=DIR/pid", "--tmpdir=DIR"]);
    let (log, pid) = (server.dir.join("error.log"), server.dir.join("pid"));
    let read = |path: &PathBuf| std::fs::read_to_string(path).unwrap_or_default();
    let since = Instant::now();
    while !(read(&log).contains("ready") && pid.exists()) && since.elapsed() < Duration::from_secs(30) {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(read(&pid).trim(), server.child.id().to_string());
    let mut c = Started::connect(&read(&log));
    let shown: Option<(String, String)> = c.query_first("SELECT @@log_error, @@pid_file").expect("answered");
    assert_eq!(shown, Some((log.display().to_string(), pid.display().to_string())));
    let aborted = |c: &mut mysql::Conn| -> u64 {
        c.query_first::<(String, u64), _>("SHOW GLOBAL STATUS LIKE 'Aborted_connects'")
            .expect("answered")
            .expect("a row")
            .1
    };
    assert_eq!(aborted(&mut c), 0);
    let wrong = mysql::OptsBuilder::new()
        .ip_or_hostname(Some("127.0.0.1"))
        .tcp_port(
            read(&log).split("127.0.0.1:").nth(1).and_then(|s| s.split(',').next()).expect("it").parse().expect("it"),
        )
        .prefer_socket(false)
        .user(Some("nobody"));
    assert!(mysql::Conn::new(wrong).is_err());
    assert_eq!(aborted(&mut c), 1);
    // Others rename the files, and then have the server open new ones.
    let signal = |signal| {
        let pid = rustix::process::Pid::from_raw(server.child.id() as i32).expect("a process");
        rustix::process::kill_process(pid, signal).expect("it is there");
    };
    let slow = server.dir.join("slow.log");
    let log_slow = format!(
        "SET GLOBAL slow_query_log_file = '{}', GLOBAL slow_query_log = 1, long_query_time = 0",
        slow.display()
    );
    c.query_drop(log_slow).expect("valid");
    // A statement is logged after its answer.
    let is_logged = |text: &str| {
        let since = Instant::now();
        while !read(&slow).contains(text) && since.elapsed() < Duration::from_secs(30) {
            std::thread::sleep(Duration::from_millis(10));
        }
        read(&slow).contains(text)
    };
    c.query_drop("DO 'first'").expect("valid");
    assert!(is_logged("first"));
    for (nth, flush) in
        ["FLUSH ERROR LOGS", "FLUSH LOGS", "FLUSH SLOW LOGS, ERROR LOGS", "HUP", "USR1"].iter().enumerate()
    {
        let rotated = [&log, &slow].map(|path| path.with_extension(format!("{nth}")));
        std::fs::rename(&log, &rotated[0]).expect("it is there");
        std::fs::rename(&slow, &rotated[1]).expect("it is there");
        match *flush {
            "HUP" => signal(rustix::process::Signal::HUP),
            "USR1" => signal(rustix::process::Signal::USR1),
            statement => c.query_drop(statement).expect("valid"),
        }
        if *flush == "FLUSH ERROR LOGS" {
            c.query_drop("FLUSH SLOW LOGS").expect("valid");
        }
        let since = Instant::now();
        while !log.exists() && since.elapsed() < Duration::from_secs(30) {
            std::thread::sleep(Duration::from_millis(10));
        }
        c.query_drop(format!("DO 'after {nth}'")).expect("valid");
        assert!(log.exists() && is_logged(&format!("after {nth}")), "{flush}");
    }
    drop(c);
    signal(rustix::process::Signal::TERM);
    assert!(server.child.wait().expect("it ends").success());
    assert!(!pid.exists() && read(&log).contains("shutdown complete"));
}

#[test]
fn a_client_stops_the_server() {
    let mut server = start("shutdown", &["--pid-file=DIR/pid"]);
    let said = server.said();
    let (mut c, mut idle) = (Started::connect(&said), Started::connect(&said));
    idle.query_drop("CREATE DATABASE d; CREATE TABLE d.t (a INT); INSERT INTO d.t VALUES (7)").expect("valid");
    let restarted = c.query_drop("RESTART").expect_err("no supervisor");
    assert!(restarted.to_string().contains("3707"), "{restarted}");
    c.query_drop("SHUTDOWN").expect("an answer comes first");
    assert!(server.child.wait().expect("it ends").success());
    assert!(!server.dir.join("pid").exists());
    assert!(idle.query_drop("DO 1").is_err());
}
