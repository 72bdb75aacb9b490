//! The files of a server: who may read them.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use mysql::prelude::Queryable;

use crate::{Started, folder, run_under};

fn mode(path: impl AsRef<Path>) -> u32 {
    let path = path.as_ref();
    path.symlink_metadata().unwrap_or_else(|e| panic!("{}: {e}", path.display())).mode() & 0o7777
}

/// A server under an umask.
fn under(name: &str, umask: &str, options: &[&str]) -> Started {
    let dir = folder(&format!("files-{name}"));
    let child = run_under(&dir, Some(umask), options);
    Started { dir, child }
}

/// All files and folders below, with their modes, but for temporary ones.
fn modes(dir: &Path) -> Vec<(String, u32)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).expect("a folder").map(|e| e.expect("an entry")) {
        let path = entry.path();
        found.push((path.display().to_string(), mode(&path)));
        if path.is_dir() {
            found.extend(modes(&path));
        }
    }
    found
}

#[test]
fn files_have_mysqls_modes_under_any_umask() {
    for umask in ["000", "077"] {
        let options = [
            "--ssl",
            "--socket=s.sock",
            "--pid-file=server.pid",
            "--log-error=server.err",
            "--general-log=1",
            "--slow-query-log=1",
            "--long-query-time=0",
        ];
        let mut server = under(umask, umask, &options);
        let data = server.dir.join("data");
        let since = std::time::Instant::now();
        let log = || std::fs::read_to_string(data.join("server.err")).unwrap_or_default();
        while !log().contains("ready for connections on 127") || !data.join("server.pid").exists() {
            assert!(since.elapsed() < std::time::Duration::from_secs(60), "{}", log());
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        let mut c = Started::connect(&log());
        c.query_drop("CREATE DATABASE d; CREATE TABLE d.t (a INT); INSERT INTO d.t VALUES (1)").expect("valid");
        c.query_drop("DO SLEEP(0.01); BACKUP TO 'files/copy'").expect("valid");
        // an RSA key is made when it is asked for
        let opts = mysql::OptsBuilder::new()
            .ip_or_hostname(Some("127.0.0.1"))
            .tcp_port(Started::port(&log()))
            .prefer_socket(false)
            .user(Some("nobody"))
            .pass(Some("wrong"));
        assert!(mysql::Conn::new(opts).is_err());
        assert_eq!(mode(&data), 0o750, "{umask}");
        let all = modes(&data);
        for (path, mode) in &all {
            let name = path.rsplit('/').next().expect("a name");
            let expected = match name {
                "s.sock" => 0o777,
                "ca-key.pem" | "server-key.pem" | "private_key.pem" => 0o600,
                _ if name.ends_with(".pem") => 0o644,
                _ if Path::new(path).is_dir() => 0o750,
                _ => 0o640,
            };
            assert_eq!(*mode, expected, "umask {umask}: {path} has {mode:o}");
        }
        for name in [
            "manifest",
            "s.sock",
            "server.pid",
            "server.err",
            "nextleaf.log",
            "nextleaf-slow.log",
            "files",
            "public_key.pem",
            "ca.pem",
            "tmp",
            "copy",
            "nextleaf.lock",
        ] {
            assert!(all.iter().any(|(path, _)| path.ends_with(&format!("/{name}"))), "{name} is not in {all:?}");
        }
        // What was wider, from before or by hand, is narrow again after the next start; the folder is only spoken of.
        let pid = rustix::process::Pid::from_raw(server.child.id() as i32).expect("a process");
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("it is there");
        assert!(server.child.wait().expect("it ends").success());
        std::fs::set_permissions(data.join("manifest"), PermissionsExt::from_mode(0o666)).expect("ours");
        std::fs::set_permissions(&data, PermissionsExt::from_mode(0o755)).expect("ours");
        server.child = run_under(&server.dir, Some(umask), &[]);
        let said = server.said();
        assert!(said.contains("is open to all users (mode 0755)"), "{said}");
        assert_eq!((mode(&data), mode(data.join("manifest"))), (0o755, 0o640));
    }
}

#[test]
fn a_dump_is_as_the_caller_wants_it() {
    let dir = folder("dump-mode");
    let run = |umask: &str, line: &str| {
        let script = format!("umask {umask}; cd {}; exec {} {line}", dir.display(), env!("CARGO_BIN_EXE_nextleaf"));
        assert!(std::process::Command::new("sh").args(["-c", &script]).status().expect("runs").success(), "{line}");
    };
    run("077", "sql data -e 'CREATE DATABASE d; CREATE TABLE d.t (a INT); INSERT INTO d.t VALUES (1)'");
    assert_eq!((mode(dir.join("data")), mode(dir.join("data/manifest"))), (0o750, 0o640));
    for (umask, expected) in [("000", 0o666), ("022", 0o644), ("077", 0o600)] {
        run(umask, &format!("dump data --output dump{umask}.sql"));
        assert_eq!(mode(dir.join(format!("dump{umask}.sql"))), expected);
    }
    let _ = std::fs::remove_dir_all(&dir);
}

#[test]
fn temporary_files_are_their_owners_alone() {
    let mut server = under("spill", "000", &["--max-connections=5"]);
    let mut c = Started::connect(&server.said());
    c.query_drop("SET cte_max_recursion_depth = 1000000; CREATE DATABASE d; CREATE TABLE d.t (a INT)").expect("valid");
    c.query_drop("INSERT INTO d.t WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50000) SELECT i FROM n")
        .expect("valid");
    c.query_drop("SET sort_buffer_size = 32768").expect("valid");
    // A result that waits for its client.
    let rows = c.query_iter("SELECT a, REPEAT('x', 1000) FROM d.t ORDER BY a % 1000, REPEAT('y', 100)").expect("valid");
    let mut seen = 0;
    for entry in std::fs::read_dir(format!("/proc/{}/fd", server.child.id())).expect("it runs").flatten() {
        let leads_to = std::fs::read_link(entry.path()).unwrap_or_default();
        if leads_to.to_string_lossy().contains("/data/tmp/") {
            assert!(leads_to.to_string_lossy().ends_with(".tmp (deleted)"), "{}", leads_to.display());
            assert_eq!(std::fs::metadata(entry.path()).expect("open").mode() & 0o7777, 0o600);
            seen += 1;
        }
    }
    assert!(seen > 0);
    drop(rows);
}
