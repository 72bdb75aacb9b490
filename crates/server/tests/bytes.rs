//! Bytes_received and Bytes_sent, held against the bytes that a client counts itself.

#[path = "net/raw.rs"]
#[allow(dead_code)]
mod raw;
mod server;

use raw::{CAPS, Raw, login_payload};
use server::TestServer;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// A socket that counts.
struct Counted {
    stream: TcpStream,
    received: u64,
    sent: u64,
}

impl Read for Counted {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let n = self.stream.read(out)?;
        self.received += n as u64;
        Ok(n)
    }
}

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let n = self.stream.write(bytes)?;
        self.sent += n as u64;
        Ok(n)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.stream.flush()
    }
}

fn log_in(port: u16) -> Raw<Counted> {
    let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let mut raw = Raw { stream: Counted { stream, received: 0, sent: 0 }, seq: 0 };
    assert_eq!(raw.read()[0], 10);
    raw.write(&login_payload(CAPS, "root"));
    assert_eq!(raw.read()[0], 0);
    raw
}

/// The rows of a result set of columns shorter than 251 bytes; none for an OK.
fn rows(raw: &mut Raw<Counted>, sql: &str) -> Vec<Vec<String>> {
    raw.query(sql);
    let first = raw.read();
    if first[0] == 0 {
        return Vec::new();
    }
    assert_ne!(first[0], 0xff, "{sql}: {}", String::from_utf8_lossy(&first));
    let is_eof = |p: &[u8]| p[0] == 0xfe && p.len() < 9;
    while !is_eof(&raw.read()) {}
    let mut rows = Vec::new();
    loop {
        let packet = raw.read();
        if is_eof(&packet) {
            return rows;
        }
        let (mut row, mut at) = (Vec::new(), 0);
        while at < packet.len() {
            let len = packet[at] as usize;
            row.push(String::from_utf8_lossy(&packet[at + 1..at + 1 + len]).into_owned());
            at += 1 + len;
        }
        rows.push(row);
    }
}

/// (received, sent), as the server says.
fn said(raw: &mut Raw<Counted>, scope: &str) -> (u64, u64) {
    let rows = rows(raw, &format!("SHOW {scope} STATUS LIKE 'Bytes\\_%'"));
    let of = |name: &str| rows.iter().find(|r| r[0] == name).unwrap()[1].parse().unwrap();
    (of("Bytes_received"), of("Bytes_sent"))
}

#[test]
fn each_byte_counts_once() {
    let server = TestServer::start();
    let mut a = log_in(server.port);
    for sql in ["CREATE DATABASE d", "USE d", "CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(200))"] {
        rows(&mut a, sql);
    }
    let values: Vec<String> = (0..500).map(|i| format!("({i}, REPEAT('x', {}))", i % 200)).collect();
    rows(&mut a, &format!("INSERT INTO t VALUES {}", values.join(",")));
    for (i, sql) in
        ["SELECT * FROM t", "SELECT s FROM t WHERE id = 7", "SELECT s FROM t WHERE id = 8"].iter().enumerate()
    {
        assert_eq!(rows(&mut a, sql).len(), [500, 1, 1][i]);
        // Of the answer that tells it nothing has gone yet.
        let sent_before = a.stream.received;
        let (received, sent) = said(&mut a, "SESSION");
        assert_eq!((received, sent), (a.stream.sent, sent_before), "after {sql}");
    }
    // An error is an answer, too.
    a.query("SELEC");
    assert_eq!(a.read()[0], 0xff);
    let sent_before = a.stream.received;
    assert_eq!(said(&mut a, "LOCAL"), (a.stream.sent, sent_before));
}

#[test]
fn connections_that_ended_stay_in_the_sum() {
    let server = TestServer::start();
    let mut a = log_in(server.port);
    assert_eq!(rows(&mut a, "SELECT REPEAT('x', 200)")[0][0].len(), 200);
    a.command(b"\x01");
    assert!(a.is_closed());
    let gone = (a.stream.sent, a.stream.received);
    let mut b = log_in(server.port);
    while rows(&mut b, "SHOW STATUS LIKE 'Threads_connected'")[0][1] != "1" {
        std::thread::sleep(Duration::from_millis(1));
    }
    let sent_before = b.stream.received;
    let all = said(&mut b, "GLOBAL");
    assert_eq!(all, (gone.0 + b.stream.sent, gone.1 + sent_before));
}
