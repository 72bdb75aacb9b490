//! The whole server: clients, network, engine.

mod server;

use std::net::TcpStream;
use std::time::{Duration, Instant};

use mysql::prelude::Queryable;
use mysql::{Conn, LocalInfileHandler, Row};
use server::{TestServer, code};

fn within(limit: Duration, mut reached: impl FnMut() -> bool) -> Duration {
    let began = Instant::now();
    while !reached() {
        assert!(began.elapsed() < limit, "took longer than {limit:?}");
        std::thread::sleep(Duration::from_millis(1));
    }
    began.elapsed()
}

#[test]
fn statements_and_their_answers() {
    let server = TestServer::start();
    let mut conn = server.connect();
    conn.query_drop(
        "CREATE DATABASE d; USE d; CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(20), c DECIMAL(10,2), e DATETIME(3))",
    )
    .unwrap();
    conn.query_drop("INSERT INTO t VALUES (1, 'one', 1.5, '2024-02-29 01:02:03.456'), (2, NULL, -0.05, NULL)").unwrap();
    assert_eq!(conn.affected_rows(), 2);
    let rows: Vec<(i32, Option<String>, String, Option<String>)> =
        conn.query("SELECT a, b, c, CAST(e AS CHAR) FROM t ORDER BY a").unwrap();
    assert_eq!(rows[0], (1, Some("one".into()), "1.50".into(), Some("2024-02-29 01:02:03.456".into())));
    assert_eq!(rows[1], (2, None, "-0.05".into(), None));

    conn.query_drop(
        "SET time_zone = '+05:00'; CREATE TABLE s (t TIMESTAMP(3)); INSERT INTO s VALUES ('2024-01-01 00:00:00.5')",
    )
    .unwrap();
    conn.query_drop("SET time_zone = '+06:00'").unwrap();
    let local: Option<Row> = conn.query_first("SELECT t FROM s").unwrap();
    assert_eq!(local.unwrap().as_ref(0), Some(&mysql::Value::Bytes(b"2024-01-01 01:00:00.500".to_vec())));

    assert_eq!(code(conn.query::<Row, _>("SELEC 1")), 1064);
    assert_eq!(code(conn.query::<Row, _>("SELECT * FROM missing")), 1146);
    assert_eq!(code(conn.query::<Row, _>("SELECT missing FROM t")), 1054);
    assert_eq!(code(conn.query::<Row, _>("INSERT INTO t VALUES (1, '', 0, NULL)")), 1062);
    assert!(conn.select_db("d").is_ok());
    assert_eq!(code(conn.query::<Row, _>("USE nowhere")), 1049);
    assert_eq!(code(Conn::new(server.opts().db_name(Some("nowhere")))), 1049);

    let version: Option<String> = conn.query_first("SELECT VERSION()").unwrap();
    assert!(version.unwrap().starts_with("8.4.0-nextleaf-"));
    let id: Option<u32> = conn.query_first("SELECT CONNECTION_ID()").unwrap();
    assert_eq!(id, Some(conn.connection_id()));
    conn.ping().unwrap();
    conn.reset().unwrap();
    let user: Option<String> = conn.query_first("SELECT USER()").unwrap();
    assert_eq!(user.as_deref(), Some("root@localhost"));
}

#[test]
fn a_local_file_is_loaded() {
    let server = TestServer::start();
    let mut conn = server.connect();
    conn.query_drop("CREATE DATABASE d; USE d; CREATE TABLE t (a INT, b VARCHAR(20))").unwrap();
    conn.set_local_infile_handler(Some(LocalInfileHandler::new(|_, writer| {
        (0..50_000).try_for_each(|i| std::io::Write::write_all(writer, format!("{i}|row {i}\n").as_bytes()))
    })));
    conn.query_drop("LOAD DATA LOCAL INFILE 'x' INTO TABLE t FIELDS TERMINATED BY '|'").unwrap();
    assert_eq!(conn.affected_rows(), 50_000);
    assert!(conn.info_str().contains("Records: 50000"), "{}", conn.info_str());
    let sums: Option<(u64, u64)> = conn.query_first("SELECT COUNT(*), SUM(a) FROM t").unwrap();
    assert_eq!(sums, Some((50_000, 50_000 * 49_999 / 2)));
}

/// A statement that runs for much longer than any test.
const ENDLESS: &str = "SELECT COUNT(*) FROM d.n a, d.n b, d.n c, d.n d WHERE a.x + b.x + c.x + d.x < 0";

fn with_numbers() -> TestServer {
    let server = TestServer::start();
    let mut conn = server.connect();
    conn.query_drop("CREATE DATABASE d; CREATE TABLE d.n (x INT)").unwrap();
    let values: Vec<String> = (0..1000).map(|i| format!("({i})")).collect();
    conn.query_drop(format!("INSERT INTO d.n VALUES {}", values.join(","))).unwrap();
    server
}

#[test]
fn a_killed_query_stops_at_once() {
    let server = with_numbers();
    let mut killer = server.connect();
    for connection in [false, true] {
        let mut victim = server.connect();
        let id = victim.connection_id();
        let thread = std::thread::spawn(move || {
            let result = victim.query::<Row, _>(ENDLESS);
            (result.map(drop), victim.ping().is_ok())
        });
        within(Duration::from_secs(2), || server.running() == 1);
        std::thread::sleep(Duration::from_millis(50));
        killer.query_drop(format!("KILL {} {id}", if connection { "CONNECTION" } else { "QUERY" })).unwrap();
        let took = within(Duration::from_secs(2), || server.running() == 0);
        assert!(took < Duration::from_millis(150), "{took:?}");
        let (result, alive) = thread.join().unwrap();
        assert_eq!(code(result), 1317);
        assert_eq!(alive, !connection);
    }
    assert_eq!(code(killer.query::<Row, _>("KILL 999999")), 1094);
}

#[test]
fn a_client_that_vanishes_stops_its_query() {
    let server = with_numbers();
    // by hand: the client crate would wait for the answer
    let stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    let mut conn = (&stream, Vec::new());
    read_packet(&mut conn.0);
    conn.1.extend_from_slice(&(1u32 << 9 | 1 << 15 | 1 << 19).to_le_bytes());
    conn.1.extend_from_slice(&[0, 0, 0, 1, 255]);
    conn.1.extend_from_slice(&[0; 23]);
    conn.1.extend_from_slice(b"root\0\0caching_sha2_password\0");
    write_packet(&mut conn.0, 1, &conn.1);
    assert_eq!(read_packet(&mut conn.0)[0], 0);
    write_packet(&mut conn.0, 0, &[b"\x03", ENDLESS.as_bytes()].concat());
    within(Duration::from_secs(2), || server.running() == 1);
    std::thread::sleep(Duration::from_millis(50));
    drop(stream);
    let took = within(Duration::from_secs(2), || server.running() == 0);
    assert!(took < Duration::from_millis(150), "{took:?}");
}

fn read_packet(stream: &mut &TcpStream) -> Vec<u8> {
    use std::io::Read;
    let mut header = [0; 4];
    stream.read_exact(&mut header).unwrap();
    let mut payload = vec![0; u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize];
    stream.read_exact(&mut payload).unwrap();
    payload
}

fn write_packet(stream: &mut &TcpStream, seq: u8, payload: &[u8]) {
    use std::io::Write;
    let len = (payload.len() as u32).to_le_bytes();
    stream.write_all(&[&[len[0], len[1], len[2], seq], payload].concat()).unwrap();
}

#[test]
fn accounts_with_passwords() {
    let server = TestServer::start();
    let mut root = server.connect();
    root.query_drop("CREATE USER 'a'@'localhost' IDENTIFIED BY 'pw'").unwrap();
    root.query_drop("CREATE USER 'b'@'%' IDENTIFIED WITH mysql_native_password BY 'pw'").unwrap();
    for user in ["a", "b"] {
        let mut conn = Conn::new(server.opts().user(Some(user)).pass(Some("pw"))).unwrap();
        let name: Option<String> = conn.query_first("SELECT USER()").unwrap();
        assert_eq!(name, Some(format!("{user}@localhost")));
        assert_eq!(code(Conn::new(server.opts().user(Some(user)).pass(Some("no")))), 1045);
    }
    root.change_user(mysql::ChangeUserOpts::new().with_user(Some("b".into())).with_pass(Some("pw".into()))).unwrap();
    let name: Option<String> = root.query_first("SELECT USER()").unwrap();
    assert_eq!(name.as_deref(), Some("b@localhost"));
}

#[test]
fn clients_that_speak_latin1() {
    let server = TestServer::start();
    let mut conn = server.connect();
    conn.query_drop("CREATE DATABASE d; USE d; CREATE TABLE t (a VARCHAR(20), b VARBINARY(20)); SET NAMES latin1")
        .unwrap();
    // Each of the two bytes of this e acute is a character of its own for such a client.
    assert_eq!(conn.query_first::<u32, _>("SELECT CHAR_LENGTH('\u{e9}')").unwrap(), Some(2));
    assert_eq!(conn.exec_first::<u32, _, _>("SELECT CHAR_LENGTH(?)", ("\u{e9}",)).unwrap(), Some(2));
    conn.query_drop("INSERT INTO t VALUES ('\u{e9}', x'e9'), (x'c3a9', NULL)").unwrap();
    let bytes = |row: Option<Row>| match row.unwrap().as_ref(0) {
        Some(mysql::Value::Bytes(b)) => b.clone(),
        other => panic!("{other:?}"),
    };
    for sql in ["SELECT a FROM t WHERE b IS NOT NULL", "SELECT MIN(a) FROM t WHERE b IS NOT NULL"] {
        assert_eq!(bytes(conn.query_first(sql).unwrap()), b"\xc3\xa9", "{sql}");
        assert_eq!(bytes(conn.exec_first(sql, ()).unwrap()), b"\xc3\xa9", "{sql}");
    }
    assert_eq!(bytes(conn.query_first("SELECT a FROM t WHERE b IS NULL").unwrap()), b"\xe9");
    assert_eq!(bytes(conn.query_first("SELECT b FROM t WHERE b IS NOT NULL").unwrap()), b"\xe9");
    assert_eq!(bytes(conn.query_first("SELECT CONCAT(a, _utf8mb4 x'cea9') FROM t WHERE b IS NULL").unwrap()), b"\xe9?");
    let row: Row = conn.query_first("SELECT a, b FROM t").unwrap().unwrap();
    assert_eq!(row.columns_ref()[0].character_set(), 8);
    assert_eq!(row.columns_ref()[0].column_length(), 20);
    conn.query_drop("SET NAMES utf8mb4").unwrap();
    let hex: Option<String> = conn.query_first("SELECT HEX(a) FROM t WHERE b IS NOT NULL").unwrap();
    assert_eq!(hex.as_deref(), Some("C383C2A9"));
}

#[test]
fn long_rows_are_charged() {
    let memory = Some(32 << 20);
    let options = engine::Options { workers: Some(1), query_memory_bytes: memory, ..Default::default() };
    let server = TestServer::of(options);
    let mut conn = server.connect();
    conn.query_drop("CREATE DATABASE d; USE d; CREATE TABLE t (id INT PRIMARY KEY, a LONGTEXT, b LONGTEXT)").unwrap();
    conn.query_drop("INSERT INTO t (id, a) VALUES (1, REPEAT('a', 20000000)), (2, 'a')").unwrap();
    conn.query_drop("UPDATE t SET b = REPEAT('b', 20000000) WHERE id = 1").unwrap();
    // The first time by the ordinary way, then by a cached plan.
    for _ in 0..4 {
        assert_eq!(code(conn.query::<Row, _>("SELECT a, b FROM t WHERE id = 1")), 1041);
        let row: Option<(String, Option<String>)> = conn.query_first("SELECT a, b FROM t WHERE id = 2").unwrap();
        assert_eq!(row, Some(("a".into(), None)));
    }
    for _ in 0..4 {
        let row: Option<String> = conn.query_first("SELECT a FROM t WHERE id = 1").unwrap();
        assert_eq!(row.map(|a| a.len()), Some(20_000_000));
        assert_eq!(server.db.memory().used_bytes(), 0, "what was sent is charged no more");
    }
}
