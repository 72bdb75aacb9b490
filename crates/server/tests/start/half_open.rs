//! Clients that connect and do not log in: they cost no threads, are nobody's way, and end at connect_timeout.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use mysql::prelude::Queryable;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::raw::{CAPS, Raw, error_of, login_payload};
use crate::{Started, start};

const MANY: usize = 5000;
const SSL: u32 = 1 << 11;

/// Threads of the server.
fn threads(server: &Started) -> usize {
    std::fs::read_dir(format!("/proc/{}/task", server.child.id())).expect("it runs").count()
}

fn status(c: &mut mysql::Conn, name: &str) -> u64 {
    let row: Option<(String, u64)> = c.query_first(format!("SHOW GLOBAL STATUS LIKE '{name}'")).expect("answered");
    row.expect("a row").1
}

/// The request for TLS, as a packet.
fn ssl_request() -> Vec<u8> {
    let mut packet = vec![32, 0, 0, 1];
    packet.extend_from_slice(&login_payload(CAPS | SSL, "")[..32]);
    packet
}

/// The beginning of a record of TLS, which says that 512 bytes follow.
const TLS_RECORD: [u8; 12] = [22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3, 0];

/// A client that has come as far as the `way`th of the ways not to log in.
fn half_open(port: u16, way: usize) -> TcpStream {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("accepted");
    match way % 5 {
        // says nothing
        0 => {}
        // half a header; a packet that has only begun
        1 => stream.write_all(&[100, 0]).expect("sent"),
        2 => stream.write_all(&[100, 0, 0, 1, 0, 0, 0, 0]).expect("sent"),
        // half a TLS handshake
        3 => stream.write_all(&[&ssl_request()[..], &TLS_RECORD].concat()).expect("sent"),
        // a password in another account's way: the server asks once more
        _ => {
            let mut payload = login_payload(CAPS, "nobody");
            let at = payload.len() - b"\0\0caching_sha2_password\0".len() + 1;
            payload.splice(at..at + 1, [&[20][..], &[7; 20]].concat());
            let mut packet = (payload.len() as u32 | 1 << 24).to_le_bytes().to_vec();
            packet.extend_from_slice(&payload);
            stream.write_all(&packet).expect("sent");
        }
    }
    stream
}

#[test]
fn they_cost_no_threads() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    let most = maximum.map_or(MANY, |m| MANY.min(m as usize / 2));
    let mut server = start("half-open", &["--ssl", "--max-connections=6000", "--connect-timeout=300"]);
    let said = server.said();
    let port = Started::port(&said);
    let mut first = Started::connect(&said);
    let before = threads(&server);
    let all: Vec<TcpStream> = (0..most).map(|i| half_open(port, i)).collect();
    let since = Instant::now();
    while status(&mut first, "Threads_connected") < most as u64 + 1 && since.elapsed() < Duration::from_secs(30) {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(status(&mut first, "Threads_connected"), most as u64 + 1);
    // Each got its greeting, and none an error.
    for stream in all.iter().step_by(17) {
        let mut header = [0; 5];
        (&mut &*stream).read_exact(&mut header).expect("a greeting");
        assert_eq!(header[4], 10);
    }
    let after = threads(&server);
    // On a busy machine workers take each other's places.
    assert!(after <= before + 16, "{before} threads without them, {after} with {most}");
    // The quickest of some: this machine does other things, too.
    let took = (0..10).map(|_| {
        let began = Instant::now();
        let mut c = Started::try_connect(port).expect("logs in");
        c.query_drop("DO 1").expect("answered");
        began.elapsed()
    });
    let took = took.min().expect("ten");
    assert!(took < Duration::from_millis(100), "{took:?}");
    drop(all);
    let since = Instant::now();
    while status(&mut first, "Aborted_connects") < most as u64 && since.elapsed() < Duration::from_secs(30) {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(status(&mut first, "Aborted_connects"), most as u64);
    assert_eq!(status(&mut first, "Threads_connected"), 1);
}

#[test]
fn connect_timeout_ends_them() {
    let mut server = start("late", &["--ssl", "--max-connections=7", "--connect-timeout=2"]);
    let said = server.said();
    let port = Started::port(&said);
    let mut first = Started::connect(&said);
    let began = Instant::now();
    let mut all: Vec<Raw> = (0..5).map(|way| Raw { stream: half_open(port, way), seq: 0 }).collect();
    // One that goes on, a byte at a time.
    let mut slow = Raw::connect(port);
    assert_eq!(slow.read()[0], 10);
    assert_eq!(error_of(&Raw::connect(port).read()).0, 1040);
    assert_eq!(status(&mut first, "Connection_errors_max_connections"), 1);
    let mut packet = vec![0; 200];
    packet[..4].copy_from_slice(&[0, 1, 0, 1]);
    for byte in packet {
        if slow.stream.write_all(&[byte]).is_err() {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(began.elapsed() < Duration::from_secs(6), "{:?}", began.elapsed());
    for (way, raw) in all.iter_mut().enumerate() {
        assert_eq!(raw.read()[0], 10);
        if way == 4 {
            assert_eq!(raw.read()[0], 1, "asked for the password itself");
        }
        // Within a handshake nothing can be said.
        if way != 3 {
            assert_eq!(error_of(&raw.read()).0, 1159, "{way}");
        }
        let mut rest = Vec::new();
        let _ = raw.stream.read_to_end(&mut rest);
    }
    assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
    assert_eq!((status(&mut first, "Aborted_connects"), status(&mut first, "Threads_connected")), (6, 1));
}

#[test]
fn a_login_may_come_in_pieces() {
    let mut server = start("pieces", &["--ssl"]);
    let port = Started::port(&server.said());
    let mut raw = Raw::connect(port);
    assert_eq!(raw.read()[0], 10);
    let payload = login_payload(CAPS, "root");
    let mut packet = (payload.len() as u32 | 1 << 24).to_le_bytes().to_vec();
    packet.extend_from_slice(&payload);
    for piece in packet.chunks(7) {
        raw.stream.write_all(piece).expect("sent");
        std::thread::sleep(Duration::from_millis(3));
    }
    assert_eq!(raw.read()[0], 0);
    raw.query("DO 1");
    assert_eq!(raw.read()[0], 0);
}
