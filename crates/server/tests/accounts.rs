//! Logins over the wire: full authentication by RSA, TLS and socket, then fast; accounts that other servers made, and
//! accounts whose verifiers had no salt.

#[path = "server/mod.rs"]
mod server;

use engine::{Account, AuthPlugin, Verifier};
use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder};
use protocol::crypt::{sha2_hash, sha256};
use server::{TestServer, code};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/logins.py");

fn has_pymysql() -> bool {
    let found = Command::new("python3").args(["-c", "import pymysql, cryptography"]).output();
    let found = found.is_ok_and(|o| o.status.success());
    assert!(
        found || std::env::var_os("NEXTLEAF_REQUIRE_ORACLES").is_none(),
        "pymysql and cryptography are required and not installed for python3"
    );
    found
}

/// How pymysql logs in: `full clear`, `fast tls`, ...
fn python(server: &TestServer, user: &str, password: &str, channel: &str) -> String {
    let out = Command::new("python3").args([SCRIPT, &server.port.to_string(), user, password, channel]).output();
    let out = out.expect("python3 starts");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8_lossy(&out.stdout).trim().to_owned()
}

fn of(server: &TestServer, user: &str, password: &str) -> OptsBuilder {
    server.opts().user(Some(user.to_owned())).pass(Some(password.to_owned()))
}

/// An account as it was stored once.
fn unsalted(server: &TestServer, user: &str, password: &[u8]) {
    let account = Account {
        user: user.into(),
        host: "%".into(),
        plugin: AuthPlugin::CachingSha2Password,
        verifier: Verifier::Unsalted(sha256(&[&sha256(&[password])])),
        locked: false,
        grant_option: false,
        privileged: true,
    };
    server.db.accounts().create(account).expect("is made");
}

fn verifier(server: &TestServer, user: &str) -> Verifier {
    server.db.accounts().get(user, "%").expect("is there").verifier
}

/// A folder for sockets and keys that is gone when the test is.
struct Dir(std::path::PathBuf);

impl Dir {
    fn new(name: &str) -> Dir {
        let dir = std::env::temp_dir().join(format!("nextleaf-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir).expect("a folder");
        Dir(dir)
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn start(dir: &Dir) -> TestServer {
    let (keys, socket) = (dir.0.clone(), dir.0.join("s.sock"));
    TestServer::with(engine::Options { workers: Some(1), ..Default::default() }, |options| {
        options.tls.enabled = true;
        options.tls.dir = keys;
        options.socket = Some(socket);
    })
}

#[test]
fn full_authentication_and_then_fast() {
    let dir = Dir::new("logins");
    let server = start(&dir);
    let mut root = server.connect();
    root.query_drop("CREATE USER app IDENTIFIED BY 'right', other IDENTIFIED BY 'right'").unwrap();
    for _ in 0..2 {
        assert_eq!(Conn::new(of(&server, "app", "right")).unwrap().query_first("SELECT 1").unwrap(), Some(1));
        assert_eq!(code(Conn::new(of(&server, "app", "wrong"))), 1045);
        assert_eq!(code(Conn::new(of(&server, "app", ""))), 1045);
    }
    let by_socket = |password: &str| of(&server, "other", password).socket(dir.0.join("s.sock").to_str());
    assert_eq!(code(Conn::new(by_socket("wrong"))), 1045);
    assert_eq!(Conn::new(by_socket("right")).unwrap().query_first("SELECT 1").unwrap(), Some(1));
    if !has_pymysql() {
        return;
    }
    root.query_drop("FLUSH PRIVILEGES").unwrap();
    for (channel, shown) in [("rsa", "clear"), ("tls", "tls")] {
        assert_eq!(python(&server, "app", "wrong", channel), "error 1045");
        assert_eq!(python(&server, "app", "right", channel), format!("full {shown}"));
        assert_eq!(python(&server, "app", "right", channel), format!("fast {shown}"));
        assert_eq!(python(&server, "app", "wrong", channel), "error 1045");
        root.query_drop("FLUSH PRIVILEGES").unwrap();
    }
    // Another password, or another salt of the same, is another verifier: nothing is quick until it was proved.
    assert_eq!(python(&server, "app", "right", "rsa"), "full clear");
    root.query_drop("ALTER USER app IDENTIFIED BY 'right'").unwrap();
    assert_eq!(python(&server, "app", "right", "rsa"), "full clear");
    root.query_drop("ALTER USER app IDENTIFIED BY 'new'").unwrap();
    assert_eq!(python(&server, "app", "right", "rsa"), "error 1045");
    assert_eq!(python(&server, "app", "new", "rsa"), "full clear");
}

#[test]
fn accounts_without_salts_get_them_at_the_first_login() {
    let dir = Dir::new("unsalted-logins");
    let server = start(&dir);
    for user in ["tcp", "socket", "python", "changes"] {
        unsalted(&server, user, b"right");
    }
    assert_eq!(code(Conn::new(of(&server, "tcp", "wrong"))), 1045);
    assert!(matches!(verifier(&server, "tcp"), Verifier::Unsalted(_)));
    Conn::new(of(&server, "tcp", "right")).unwrap();
    Conn::new(of(&server, "socket", "right").socket(dir.0.join("s.sock").to_str())).unwrap();
    // COM_CHANGE_USER proves a user, too.
    let mut conn = server.connect();
    let change = mysql::ChangeUserOpts::new();
    conn.change_user(change.with_user(Some("changes".into())).with_pass(Some("right".into()))).unwrap();
    if has_pymysql() {
        assert_eq!(python(&server, "python", "right", "rsa"), "full clear");
        assert_eq!(python(&server, "python", "right", "rsa"), "fast clear");
    } else {
        Conn::new(of(&server, "python", "right")).unwrap();
    }
    for user in ["tcp", "socket", "python", "changes"] {
        assert!(matches!(verifier(&server, user), Verifier::Stored(_)), "{user}");
        Conn::new(of(&server, user, "right")).unwrap();
        assert_eq!(code(Conn::new(of(&server, user, "wrong"))), 1045);
    }
}

#[test]
fn an_account_of_another_server() {
    let server = TestServer::start();
    let mut root = server.connect();
    // With all bytes that MySQL's salts may have.
    let made = sha2_hash(b"right", b"\x01\n\r'\"\\\x1a\x7fabcdefghijkl");
    let hex: String = made.iter().map(|b| format!("{b:02x}")).collect();
    root.query_drop(format!("CREATE USER app IDENTIFIED WITH 'caching_sha2_password' AS 0x{hex}")).unwrap();
    root.query_drop(
        "CREATE USER old IDENTIFIED WITH 'mysql_native_password' AS '*6C8989366EAF75BB670AD8EA7A7FC1176A95CEF4'",
    )
    .unwrap();
    for (user, password) in [("app", "right"), ("old", "mypass")] {
        for _ in 0..2 {
            Conn::new(of(&server, user, password)).unwrap();
            assert_eq!(code(Conn::new(of(&server, user, "wrong"))), 1045);
        }
    }
    // And back: what is shown makes an account that the same password opens.
    let shown: String = root.query_first("SHOW CREATE USER app").unwrap().unwrap();
    root.query_drop("DROP USER app").unwrap();
    assert_eq!(code(Conn::new(of(&server, "app", "right"))), 1045);
    root.query_drop(shown).unwrap();
    Conn::new(of(&server, "app", "right")).unwrap();
}

/// Rights are asked of the account that logged in, by every command.
#[test]
fn a_connection_without_rights() {
    let server = TestServer::start();
    let mut root = server.connect();
    root.query_drop("CREATE DATABASE d").unwrap();
    root.query_drop("CREATE TABLE d.t (a INT PRIMARY KEY)").unwrap();
    root.query_drop("CREATE USER app IDENTIFIED BY 'pw'").unwrap();
    root.query_drop("REVOKE ALL, GRANT OPTION FROM app").unwrap();
    let mut app = Conn::new(of(&server, "app", "pw")).unwrap();
    assert_eq!(code(app.query_drop("SELECT * FROM d.t WHERE a = 1")), 1142);
    assert_eq!(code(app.prep("SELECT * FROM d.t WHERE a = ?")), 1142);
    assert_eq!(code(app.select_db("d")), 1044);
    assert_eq!(code(Conn::new(of(&server, "app", "pw").db_name(Some("d")))), 1044);
    assert_eq!(code(app.query_drop(format!("KILL {}", root.connection_id()))), 1095);
    // A refused login leaves the list when its socket is closed, which may be after the client has its error.
    let alone = [(u64::from(app.connection_id()), "app".to_owned())];
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let seen: Vec<(u64, String)> =
            app.query_map("SHOW PROCESSLIST", |row: mysql::Row| (row.get(0).unwrap(), row.get(1).unwrap())).unwrap();
        if seen == alone {
            break;
        }
        assert!(seen.iter().all(|(_, user)| user == "app") && Instant::now() < deadline, "{seen:?}");
    }
}

/// Five thousand rounds are for who logs in alone: others are served meanwhile.
#[test]
fn logins_hold_up_nobody_else() {
    let server = Arc::new(TestServer::start());
    let mut root = server.connect();
    root.query_drop("CREATE USER app IDENTIFIED BY 'right'").unwrap();
    let attempts: Vec<_> = (0..4)
        .map(|_| {
            let server = server.clone();
            std::thread::spawn(move || {
                (0..5).for_each(|_| assert_eq!(code(Conn::new(of(&server, "app", "wrong"))), 1045));
            })
        })
        .collect();
    let mut answered = 0;
    while attempts.iter().any(|t| !t.is_finished()) {
        root.query_drop("SELECT 1").unwrap();
        answered += 1;
    }
    attempts.into_iter().for_each(|t| t.join().unwrap());
    assert!(answered > 20, "{answered} statements beside 20 logins");
}
