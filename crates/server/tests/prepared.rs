//! Prepared statements through the wire: the `mysql` crate as client, and packets by hand where it does not go.

#[path = "net/raw.rs"]
#[allow(dead_code)]
mod raw;
mod server;

use mysql::prelude::Queryable;
use mysql::{Conn, Row, Value};
use raw::{Raw, error_of};
use server::{TestServer, code};

/// A connection that uses the database `d`.
fn connect(server: &TestServer) -> Conn {
    let mut conn = server.connect();
    conn.query_drop("CREATE DATABASE IF NOT EXISTS d; USE d").unwrap();
    conn
}

/// A binary value as the text protocol writes it.
fn text_of(value: &Value, scale: usize) -> Option<String> {
    Some(match value {
        Value::NULL => return None,
        Value::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Value::Int(v) => v.to_string(),
        Value::UInt(v) => v.to_string(),
        Value::Float(v) => v.to_string(),
        Value::Double(v) => v.to_string(),
        Value::Date(y, m, d, 0, 0, 0, 0) if scale == 99 => format!("{y:04}-{m:02}-{d:02}"),
        Value::Date(y, m, d, h, i, s, us) => {
            let fraction = if scale == 0 { String::new() } else { format!(".{us:06}")[..=scale].to_string() };
            format!("{y:04}-{m:02}-{d:02} {h:02}:{i:02}:{s:02}{fraction}")
        }
        Value::Time(negative, days, h, m, s, us) => {
            let fraction = if scale == 0 { String::new() } else { format!(".{us:06}")[..=scale].to_string() };
            let sign = if *negative { "-" } else { "" };
            format!("{sign}{:02}:{m:02}:{s:02}{fraction}", u32::from(*h) + days * 24)
        }
    })
}

#[test]
fn every_type_comes_back_as_in_the_text_protocol() {
    let server = TestServer::start();
    let mut conn = connect(&server);
    conn.query_drop(
        "CREATE TABLE v (i1 TINYINT, i2 SMALLINT UNSIGNED, i3 MEDIUMINT, i4 INT UNSIGNED, i8 BIGINT, u8 BIGINT UNSIGNED,
         d1 DECIMAL(10,2), d2 DECIMAL(30,5), d3 DECIMAL(65,10), f FLOAT, g DOUBLE, c CHAR(5), s VARCHAR(300), b BLOB,
         y YEAR, da DATE, dt DATETIME, dt6 DATETIME(6), ts TIMESTAMP(3) NULL, t TIME, t3 TIME(3));
         INSERT INTO v VALUES (-128, 65535, -8388608, 4294967295, -9223372036854775808, 18446744073709551615,
         -1.25, 123456789012345678901234.5, -1234567890123456789012345678901234567890.5, 1.5, -2.25, 'ab', REPEAT('x', 299),
         x'00ff', 1999, '2024-02-29', '2024-02-29 23:59:58', '2024-02-29 00:00:00.000001', '2024-01-01 12:00:00.5',
         '-838:59:59', '100:00:00.25');
         INSERT INTO v (i1, dt, da, t) VALUES (NULL, '2024-02-29 00:00:00', NULL, '00:00:00')",
    )
    .unwrap();
    let text: Vec<Row> = conn.query("SELECT * FROM v").unwrap();
    let binary: Vec<Row> = conn.exec("SELECT * FROM v", ()).unwrap();
    assert_eq!(text.len(), binary.len());
    for (t, b) in text.iter().zip(&binary) {
        for (i, column) in t.columns_ref().iter().enumerate() {
            let scale = match column.column_type() {
                mysql::consts::ColumnType::MYSQL_TYPE_DATE => 99,
                _ => column.decimals().into(),
            };
            let name = column.name_str();
            let b = &b[i];
            if column.column_type() == mysql::consts::ColumnType::MYSQL_TYPE_BLOB {
                assert_eq!(&t[i], b);
            } else {
                assert_eq!(text_of(&t[i], 0), text_of(b, scale), "{name}");
            }
        }
    }
}

#[test]
fn parameters_of_every_type() {
    let server = TestServer::start();
    let mut conn = connect(&server);
    conn.query_drop("CREATE TABLE p (id INT PRIMARY KEY, i BIGINT, s VARCHAR(100), d DECIMAL(10,2), g DOUBLE, dt DATETIME(6), t TIME(6))")
        .unwrap();
    let date = Value::Date(2024, 2, 29, 1, 2, 3, 456);
    let time = Value::Time(true, 1, 2, 3, 4, 5);
    let insert = conn.prep("INSERT INTO p VALUES (?, ?, ?, ?, ?, ?, ?)").unwrap();
    for id in 1..=3 {
        let values = (id, i64::MIN + id, format!("s{id}"), "1.25", 0.5f64, date.clone(), time.clone());
        conn.exec_drop(&insert, values).unwrap();
        assert_eq!(conn.affected_rows(), 1);
    }
    let nulls: Vec<Value> = [4.into()].into_iter().chain(std::iter::repeat_n(Value::NULL, 6)).collect();
    conn.exec_drop(&insert, nulls).unwrap();
    let row: Option<(i64, String, String, f64, Value, Value)> =
        conn.exec_first("SELECT i, s, d, g, dt, t FROM p WHERE id = ? AND s = ?", (2, "s2")).unwrap();
    assert_eq!(row, Some((i64::MIN + 2, "s2".into(), "1.25".into(), 0.5, date, time)));
    let ids: Vec<i32> = conn.exec("SELECT id FROM p WHERE id IN (?, ?, ?) ORDER BY id LIMIT ?", (3, 1, 9, 2)).unwrap();
    assert_eq!(ids, [1, 3]);
    let ids: Vec<i32> = conn.exec("SELECT id FROM p ORDER BY id LIMIT ? OFFSET ?", ("2", "1")).unwrap();
    assert_eq!(ids, [2, 3]);
    let nothing: Option<i32> = conn.exec_first("SELECT id FROM p WHERE id = ?", (Value::NULL,)).unwrap();
    assert_eq!(nothing, None);
    let sum: Option<i64> = conn.exec_first("SELECT ? + ?", (2, 3)).unwrap();
    assert_eq!(sum, Some(5));
    let text: Option<String> = conn.exec_first("SELECT CONCAT(?, '-', ?)", ("a", 7)).unwrap();
    assert_eq!(text.as_deref(), Some("a-7"));
    let max: Option<u64> = conn.exec_first("SELECT ?", (u64::MAX,)).unwrap();
    assert_eq!(max, Some(u64::MAX));
    assert_eq!(code(conn.exec_drop(&insert, (1, 0, "", "0", 0.0, Value::NULL, Value::NULL))), 1062);
}

#[test]
fn bytes_that_are_no_text() {
    let server = TestServer::start();
    let mut conn = connect(&server);
    conn.query_drop("CREATE TABLE bytes (a VARBINARY(10), b BLOB, t VARCHAR(10))").unwrap();
    let bytes = vec![0x80, 0, 0xff, b'x'];
    let insert = "INSERT INTO bytes (a, b) VALUES (?, ?)";
    // Clients send bytes as text; a second and third time by a cached plan, then text again.
    for _ in 0..3 {
        conn.exec_drop(insert, (&bytes, &bytes)).unwrap();
    }
    conn.exec_drop(insert, ("text", "text")).unwrap();
    let rows: Vec<(Vec<u8>, Vec<u8>)> = conn.query("SELECT a, b FROM bytes").unwrap();
    assert_eq!(rows[..3], vec![(bytes.clone(), bytes.clone()); 3]);
    assert_eq!(rows[3].0, b"text");
    assert_eq!(code(conn.exec_drop("INSERT INTO bytes (t) VALUES (?)", (&bytes,))), 1366);
    let found: Option<i64> = conn.exec_first("SELECT COUNT(*) FROM bytes WHERE a = ?", (&bytes,)).unwrap();
    assert_eq!(found, Some(3));
}

#[test]
fn statements_of_other_kinds() {
    let server = TestServer::start();
    let mut conn = connect(&server);
    for sql in [
        "CREATE TABLE k (a INT PRIMARY KEY, b VARCHAR(10))",
        "INSERT INTO k SELECT 1, 'x'",
        "SET @x = 5",
        "CREATE VIEW kv AS SELECT a FROM k",
        "ANALYZE TABLE k",
        "TRUNCATE TABLE k",
        "COMMIT",
        "DO 1",
    ] {
        conn.exec_drop(sql, ()).unwrap_or_else(|e| panic!("{sql}: {e}"));
    }
    let tables: Vec<String> = conn.exec("SHOW TABLES", ()).unwrap();
    assert_eq!(tables, ["k", "kv"]);
    let x: Option<i64> = conn.exec_first("SELECT @x", ()).unwrap();
    assert_eq!(x, Some(5));
    conn.exec_drop("SET @y = ?, @z = ?", (7, "text")).unwrap();
    let yz: Option<(i64, String)> = conn.query_first("SELECT @y, @z").unwrap();
    assert_eq!(yz, Some((7, "text".into())));
    for sql in [
        "USE d",
        "BEGIN",
        "SAVEPOINT a",
        "LOCK TABLES k READ",
        "PREPARE a FROM 'SELECT 1'",
        "LOAD DATA LOCAL INFILE 'x' INTO TABLE k",
    ] {
        assert_eq!(code(conn.prep(sql)), 1295, "{sql}");
    }
    assert_eq!(code(conn.prep("SELEC ?")), 1064);
    assert_eq!(code(conn.prep("SELECT 1; SELECT 2")), 1064);
    assert_eq!(code(conn.prep("SELECT * FROM missing")), 1146);
    assert_eq!(code(conn.prep("SELECT missing FROM k")), 1054);
    assert_eq!(code(conn.prep("INSERT INTO missing VALUES (?)")), 1146);
    assert_eq!(code(conn.prep("UPDATE missing SET a = ?")), 1146);
    assert_eq!(code(conn.prep("UPDATE k SET missing = ?")), 1054);
    assert_eq!(code(conn.prep("DELETE FROM k WHERE missing = ?")), 1054);
    assert_eq!(code(conn.query_drop("SELECT ?")), 1064);
}

#[test]
fn changes_by_prepared_statements() {
    let server = TestServer::start();
    let mut conn = connect(&server);
    conn.query_drop("CREATE TABLE w (id INT PRIMARY KEY, k INT, c VARCHAR(20))").unwrap();
    let insert = conn.prep("INSERT INTO w VALUES (?, ?, ?)").unwrap();
    let update = conn.prep("UPDATE w SET k = k + ?, c = ? WHERE id = ?").unwrap();
    let delete = conn.prep("DELETE FROM w WHERE id = ?").unwrap();
    let replace = conn.prep("REPLACE INTO w (id, k) VALUES (?, ?)").unwrap();
    for id in 0..10 {
        conn.exec_drop(&insert, (id, id, "a")).unwrap();
        conn.exec_drop(&update, (10, format!("b{id}"), id)).unwrap();
        assert_eq!(conn.affected_rows(), 1);
        assert!(conn.info_str().starts_with("Rows matched: 1  Changed: 1"), "{}", conn.info_str());
    }
    for id in 0..5 {
        conn.exec_drop(&delete, (id,)).unwrap();
        assert_eq!(conn.affected_rows(), 1);
        conn.exec_drop(&delete, (id,)).unwrap();
        assert_eq!(conn.affected_rows(), 0);
        conn.exec_drop(&replace, (id + 5, 0)).unwrap();
        assert_eq!(conn.affected_rows(), 2);
    }
    conn.exec_drop("UPDATE w SET k = ? ORDER BY id LIMIT ?", (7, 2)).unwrap();
    assert_eq!(conn.affected_rows(), 2);
    let rows: Vec<(i32, i32, Option<String>)> = conn.exec("SELECT * FROM w ORDER BY id", ()).unwrap();
    assert_eq!(rows, [(5, 7, None), (6, 7, None), (7, 0, None), (8, 0, None), (9, 0, None)]);
    assert_eq!(code(conn.exec_drop(&insert, (5, 0, "x"))), 1062);
    assert_eq!(code(conn.exec_drop(&insert, (50, 0, "x".repeat(21)))), 1406);
}

#[test]
fn tables_change_between_executions() {
    let server = TestServer::start();
    let mut conn = connect(&server);
    conn.query_drop("CREATE TABLE r (a INT); INSERT INTO r VALUES (1)").unwrap();
    let all = conn.prep("SELECT * FROM r").unwrap();
    let rows: Vec<Row> = conn.exec(&all, ()).unwrap();
    assert_eq!(rows[0].len(), 1);
    conn.query_drop("DROP TABLE r").unwrap();
    assert_eq!(code(conn.exec_drop(&all, ())), 1146);
    conn.query_drop("CREATE TABLE r (x VARCHAR(9), y INT); INSERT INTO r VALUES ('new', 2)").unwrap();
    let rows: Vec<Row> = conn.exec(&all, ()).unwrap();
    assert_eq!((rows[0].len(), rows[0].get(0)), (2, Some("new".to_string())));
    // the schema of the time of preparing
    conn.query_drop("CREATE DATABASE e; USE e").unwrap();
    let rows: Vec<Row> = conn.exec(&all, ()).unwrap();
    assert_eq!(rows.len(), 1);
    let current: Option<String> = conn.query_first("SELECT DATABASE()").unwrap();
    assert_eq!(current.as_deref(), Some("e"));
}

#[test]
fn sql_prepare_execute_deallocate() {
    let server = TestServer::start();
    let mut conn = connect(&server);
    conn.query_drop("PREPARE s FROM 'SELECT ? + 1, ?'; SET @a = 41, @b = 'text'").unwrap();
    let row: Option<(i64, String)> = conn.query_first("EXECUTE S USING @a, @b").unwrap();
    assert_eq!(row, Some((42, "text".into())));
    let row: Option<(Value, Value)> = conn.query_first("EXECUTE s USING @unset, @unset").unwrap();
    assert_eq!(row, Some((Value::NULL, Value::NULL)));
    assert_eq!(code(conn.query_drop("EXECUTE s USING @a")), 1210);
    assert_eq!(code(conn.query_drop("EXECUTE s")), 1210);
    assert_eq!(code(conn.query_drop("EXECUTE missing")), 1243);
    assert_eq!(code(conn.query_drop("DEALLOCATE PREPARE missing")), 1243);
    conn.query_drop("SET @text = 'CREATE TABLE made (a INT)'; PREPARE t FROM @text; EXECUTE t").unwrap();
    assert_eq!(code(conn.query_drop("EXECUTE t")), 1050);
    assert_eq!(code(conn.query_drop("PREPARE s FROM 'SELEC 1'")), 1064);
    assert_eq!(code(conn.query_drop("EXECUTE s")), 1243, "the failed PREPARE took the old one away");
    assert_eq!(code(conn.query_drop("PREPARE n FROM 'EXECUTE t'")), 1295);
    conn.query_drop("DROP PREPARE t").unwrap();
    assert_eq!(code(conn.query_drop("EXECUTE t")), 1243);
}

#[test]
fn the_number_of_statements_is_limited() {
    let server = TestServer::start();
    let mut conn = connect(&server);
    conn.query_drop("SET GLOBAL max_prepared_stmt_count = 3").unwrap();
    let first = conn.prep("SELECT 1").unwrap();
    let mut other = connect(&server);
    other.prep("SELECT 2").unwrap();
    conn.query_drop("PREPARE s FROM 'SELECT 3'").unwrap();
    assert_eq!(code(other.prep("SELECT 4")), 1461);
    let count: Option<(String, u32)> = conn.query_first("SHOW STATUS LIKE 'Prepared_stmt_count'").unwrap();
    assert_eq!(count.unwrap().1, 3);
    conn.close(first).unwrap();
    conn.ping().unwrap(); // closing is not answered: by now it is done
    other.prep("SELECT 4").unwrap();
    drop(other);
    conn.reset().unwrap();
    for _ in 0..200 {
        let count: Option<(String, u32)> = conn.query_first("SHOW STATUS LIKE 'Prepared_stmt_count'").unwrap();
        if count.unwrap().1 == 0 {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("statements outlived their sessions");
}

fn prepare(raw: &mut Raw, sql: &str) -> (u32, u16, u16) {
    raw.command(&[b"\x16", sql.as_bytes()].concat());
    let answer = raw.read();
    assert_eq!(answer[0], 0, "{:?}", error_of(&answer));
    let id = u32::from_le_bytes(answer[1..5].try_into().unwrap());
    let (columns, params) = (u16::from_le_bytes([answer[5], answer[6]]), u16::from_le_bytes([answer[7], answer[8]]));
    for count in [params, columns].into_iter().filter(|n| *n > 0) {
        (0..=count).for_each(|_| drop(raw.read())); // definitions and EOF
    }
    (id, columns, params)
}

fn execute(raw: &mut Raw, id: u32, flags: u8, arguments: &[u8]) {
    raw.command(&[&[0x17][..], &id.to_le_bytes(), &[flags, 1, 0, 0, 0], arguments].concat());
}

fn fetch(raw: &mut Raw, id: u32, rows: u32) -> (Vec<Vec<u8>>, u16) {
    raw.command(&[&[0x1c][..], &id.to_le_bytes(), &rows.to_le_bytes()].concat());
    let mut all = vec![];
    loop {
        let packet = raw.read();
        match packet[0] {
            0xfe => return (all, u16::from_le_bytes([packet[3], packet[4]])),
            0xff => panic!("{:?}", error_of(&packet)),
            _ => all.push(packet),
        }
    }
}

#[test]
fn cursors() {
    const EXISTS: u16 = 1 << 6;
    const LAST: u16 = 1 << 7;
    let server = TestServer::start();
    let mut conn = connect(&server);
    conn.query_drop("CREATE TABLE c (a INT); INSERT INTO c VALUES (1),(2),(3),(4),(5)").unwrap();
    let mut raw = Raw::log_in(server.port);
    raw.command(b"\x02d");
    raw.read();
    let (id, columns, params) = prepare(&mut raw, "SELECT a FROM c ORDER BY a");
    assert_eq!((columns, params), (1, 0));
    execute(&mut raw, id, 1, b"");
    assert_eq!(raw.read(), [1]);
    raw.read();
    let eof = raw.read();
    assert_eq!((eof[0], u16::from_le_bytes([eof[3], eof[4]]) & EXISTS), (0xfe, EXISTS));
    conn.query_drop("TRUNCATE TABLE c").unwrap();
    let (rows, status) = fetch(&mut raw, id, 2);
    assert_eq!(rows, [[0, 0, 1, 0, 0, 0], [0, 0, 2, 0, 0, 0]]);
    assert_eq!(status & (EXISTS | LAST), EXISTS);
    // another statement goes on in between
    let (other, ..) = prepare(&mut raw, "SELECT 1");
    execute(&mut raw, other, 0, b"");
    (0..5).for_each(|_| drop(raw.read()));
    let (rows, status) = fetch(&mut raw, id, 9);
    assert_eq!((rows.len(), status & (EXISTS | LAST)), (3, EXISTS | LAST));
    raw.command(&[&[0x1c][..], &id.to_le_bytes(), &[1, 0, 0, 0]].concat());
    assert_eq!(error_of(&raw.read()).0, 1421);
    // RESET closes
    execute(&mut raw, id, 1, b"");
    (0..3).for_each(|_| drop(raw.read()));
    raw.command(&[&[0x1a][..], &id.to_le_bytes()].concat());
    assert_eq!(raw.read()[0], 0);
    raw.command(&[&[0x1c][..], &id.to_le_bytes(), &[1, 0, 0, 0]].concat());
    assert_eq!(error_of(&raw.read()).0, 1421);
}

#[test]
fn long_data_and_misuse() {
    let server = TestServer::start();
    connect(&server);
    let mut raw = Raw::log_in(server.port);
    let (id, _, params) = prepare(&mut raw, "SELECT CONCAT(?, '|', ?)");
    assert_eq!(params, 2);
    for piece in ["lo", "ng"] {
        raw.command(&[&[0x18][..], &id.to_le_bytes(), &[0, 0], piece.as_bytes()].concat());
    }
    execute(&mut raw, id, 0, b"\0\x01\xfc\0\xfd\0\x01x");
    (0..3).for_each(|_| drop(raw.read()));
    assert_eq!(raw.read(), b"\0\0\x06long|x");
    raw.read();
    // the data was for one execution; the types stay
    execute(&mut raw, id, 0, b"\0\0\x01a\x01b");
    (0..3).for_each(|_| drop(raw.read()));
    assert_eq!(raw.read(), b"\0\0\x03a|b");
    raw.read();
    for arguments in [&b""[..], b"\0", b"\0\x01", b"\0\x01\xfd\0", b"\0\x01\x03\0\x03\0\x01", b"\0\x01\x63\0\x63\0aa"] {
        execute(&mut raw, id, 0, arguments);
        assert_eq!(error_of(&raw.read()).0, 1210, "{arguments:?}");
    }
    raw.command(&[&[0x18][..], &id.to_le_bytes(), &[9, 0], b"x"].concat());
    execute(&mut raw, id, 0, b"\0\x01\xfd\0\xfd\0\x01a\x01b");
    assert_eq!(error_of(&raw.read()).0, 1210);
    // no such statement
    for command in [0x17, 0x1a, 0x1c] {
        raw.command(&[&[command][..], &[99, 0, 0, 0], &[0, 1, 0, 0, 0]].concat());
        assert_eq!(error_of(&raw.read()).0, 1243);
    }
    raw.command(&[&[0x19][..], &[99, 0, 0, 0]].concat());
    raw.command(&[&[0x19][..], &id.to_le_bytes()].concat());
    execute(&mut raw, id, 0, b"\0\x01\xfd\0\xfd\0\x01a\x01b");
    assert_eq!(error_of(&raw.read()).0, 1243);
    for short in [&b"\x17"[..], b"\x17\x01", b"\x1a\x01", b"\x1c\x01\0\0\0\x01"] {
        raw.command(short);
        assert_eq!(error_of(&raw.read()).0, 1835, "{short:?}");
    }
    raw.command(b"\x0e");
    assert_eq!(raw.read()[0], 0);
}

/// Arguments of any shape: an answer or an error, and the session goes on.
#[test]
fn random_packets() {
    let server = TestServer::start();
    connect(&server);
    let mut raw = Raw::log_in(server.port);
    let (id, ..) = prepare(&mut raw, "SELECT ?, ?, ?");
    let mut state = 42u64;
    let mut random = move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize
    };
    for _ in 0..2000 {
        let mut arguments = vec![(random() & 7) as u8, 1];
        for _ in 0..3 {
            let types = [0u8, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 245, 246, 252, 253, 254, 100];
            arguments.extend([types[random() % types.len()], if random().is_multiple_of(4) { 0x80 } else { 0 }]);
        }
        arguments.extend(
            (0..random() % 40).map(|_| if random().is_multiple_of(2) { (random() % 13) as u8 } else { random() as u8 }),
        );
        arguments.truncate(random() % 64);
        execute(&mut raw, id, 0, &arguments);
        let mut eofs = 0;
        loop {
            let packet = raw.read();
            eofs += usize::from(packet[0] == 0xfe && packet.len() == 5);
            if packet[0] == 0xff || eofs == 2 {
                break;
            }
        }
    }
    raw.command(b"\x0e");
    assert_eq!(raw.read()[0], 0);
}
