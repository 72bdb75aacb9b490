//! Clients that misbehave, vanish or are thrown out; in each case the others must not notice.

use std::io::Write;
use std::net::Shutdown;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use nextleaf::net::{Kill, Options, ProcessList, Server};

use crate::raw::{CAPS, Raw, error_of, login_payload};
use crate::toy::{Toy, ToyBackend, ToyServer};

/// Waits for something that must come soon; how long it took.
fn within(limit: Duration, mut reached: impl FnMut() -> bool) -> Duration {
    let began = Instant::now();
    while !reached() {
        assert!(began.elapsed() < limit, "took longer than {limit:?}");
        std::thread::sleep(Duration::from_millis(1));
    }
    began.elapsed()
}

const SOON: Duration = Duration::from_secs(2);

fn healthy(server: &ToyServer) {
    let mut raw = Raw::log_in(server.port);
    raw.command(b"\x0e");
    assert_eq!(raw.read()[0], 0);
}

#[test]
fn bad_logins() {
    let server = ToyServer::start();
    for login in [&b""[..], b"x", &[0; 40], &[0xff; 100], &login_payload(CAPS, "root")[..33]] {
        let mut raw = Raw::connect(server.port);
        raw.read();
        raw.write(login);
        assert_eq!(error_of(&raw.read()).0, 1043);
        assert!(raw.is_closed());
    }
    let mut raw = Raw::connect(server.port);
    raw.read();
    raw.seq = 5;
    raw.write(&login_payload(CAPS, "root"));
    assert_eq!(error_of(&raw.read()).0, 1156);
    // a login may not be long
    let mut raw = Raw::connect(server.port);
    raw.read();
    raw.write(&[0; 300_000]);
    assert_eq!(error_of(&raw.read()).0, 1043);
    // and then, TLS that is none
    let mut raw = Raw::connect(server.port);
    raw.read();
    raw.write(&login_payload(CAPS | 1 << 11, "")[..32]);
    raw.stream.write_all(&[0; 100]).unwrap();
    while raw.try_read().is_ok() {}
    healthy(&server);
}

#[test]
fn half_open_connections_end() {
    let server = ToyServer::start_with(|options| options.connect_timeout = Duration::from_millis(150));
    let mut silent = Raw::connect(server.port);
    silent.read();
    let mut slow = Raw::connect(server.port);
    slow.read();
    for byte in [100, 0, 0, 1, 0, 0, 0, 0, 0, 0] {
        let _ = slow.stream.write_all(&[byte]);
        std::thread::sleep(Duration::from_millis(40));
    }
    assert_eq!(error_of(&silent.read()).0, 1159);
    while slow.try_read().is_ok() {}
    drop((silent, slow));
    within(SOON, || server.toy.processes.is_empty());
}

#[test]
fn bad_commands_are_answered() {
    let server = ToyServer::start();
    let mut raw = Raw::log_in(server.port);
    for (payload, code) in [
        (&b"\xee"[..], 1047),
        (b"\x00", 1047),
        (b"\x16SELECT ?", 1295),
        (b"\x17\x01\0\0\0\0\x01\0\0\0", 1295),
        (b"\x12", 1235),
        (b"\x0c\x01", 1835),
        (b"\x04", 1835),
        (b"\x1b\x09\0", 1047),
        (b"", 1835),
        (b"\x0c\xff\xff\xff\x7f", 1094),
        (b"\x03PANIC LATER", 0),
    ] {
        raw.command(payload);
        let answer = raw.read();
        match code {
            0 => assert_eq!(error_of(&answer).0, 1815),
            _ => assert_eq!(error_of(&answer).0, code, "{payload:?}"),
        }
    }
    // after a panic the session is not to be trusted
    assert!(raw.is_closed());
    let mut raw = Raw::log_in(server.port);
    raw.command(b"\x19\x01\0\0\0"); // COM_STMT_CLOSE has no answer
    raw.command(b"\x09");
    assert_eq!(raw.read(), b"Uptime: 1  Threads: 1");
    raw.command(b"\x1b\x01\0"); // multi-statements off
    assert_eq!(raw.read()[0], 0xfe);
    raw.query("ok;ok");
    assert_eq!(raw.read()[0], 0);
    raw.command(b"\x04t\0");
    assert_eq!(raw.read()[..4], *b"\x03def");
    assert_eq!(raw.read()[0], 0xfe);
    raw.command(b"\x01");
    assert!(raw.is_closed());
}

#[test]
fn bad_packets_end_their_connection_only() {
    let server = ToyServer::start();
    let mut raw = Raw::log_in(server.port);
    raw.seq = 3;
    raw.write(b"\x0e");
    assert_eq!(error_of(&raw.read()).0, 1156);
    assert!(raw.is_closed());

    let mut raw = Raw::log_in(server.port);
    raw.stream.write_all(&[100, 0, 0, 0, 3, b'R']).unwrap();
    raw.stream.shutdown(Shutdown::Write).unwrap();
    assert!(raw.is_closed());

    // max_allowed_packet, with the error readable although the client is still sending
    let mut raw = Raw::log_in(server.port);
    let frame = vec![b'x'; (1 << 24) - 1];
    for seq in 0..6 {
        if raw.stream.write_all(&[0xff, 0xff, 0xff, seq]).and_then(|()| raw.stream.write_all(&frame)).is_err() {
            break;
        }
    }
    assert_eq!(error_of(&raw.read()).0, 1153);
    healthy(&server);
}

#[test]
fn a_client_that_vanishes_stops_its_query() {
    let server = ToyServer::start();
    let mut raw = Raw::log_in(server.port);
    raw.query("SPIN");
    within(SOON, || server.toy.running.load(Ordering::SeqCst) == 1);
    std::thread::sleep(Duration::from_millis(30));
    drop(raw);
    let took = within(SOON, || server.toy.killed.load(Ordering::SeqCst) == 1);
    assert!(took < Duration::from_millis(100), "{took:?}");
    within(SOON, || server.toy.processes.is_empty());
    healthy(&server);
}

#[test]
fn the_monitor_wakes_after_a_pause() {
    let server = ToyServer::start();
    let mut raw = Raw::log_in(server.port);
    std::thread::sleep(Duration::from_millis(1300));
    raw.query("SPIN");
    within(SOON, || server.toy.running.load(Ordering::SeqCst) == 1);
    drop(raw);
    within(Duration::from_millis(100), || server.toy.killed.load(Ordering::SeqCst) == 1);
}

#[test]
fn a_client_that_vanishes_amid_a_result() {
    let server = ToyServer::start();
    for way in 0..2 {
        let mut raw = Raw::log_in(server.port);
        raw.query("ROWS 1000000000 1000");
        raw.read();
        if way == 0 {
            drop(raw);
        } else {
            raw.stream.shutdown(Shutdown::Write).unwrap();
        }
        let took = within(SOON, || server.toy.processes.is_empty());
        assert!(took < Duration::from_millis(700), "{took:?}");
    }
}

#[test]
fn a_client_that_does_not_read_can_be_killed() {
    let server = ToyServer::start();
    let mut stuck = Raw::log_in(server.port);
    stuck.query("ROWS 1000000000 1000");
    stuck.read();
    std::thread::sleep(Duration::from_millis(200));
    let id = server.toy.processes.infos()[0].id;
    // KILL QUERY: what was sent can be read, then comes the error, and the connection lives
    server.toy.processes.kill(id, Kill::Query).unwrap();
    let error = loop {
        let packet = stuck.read();
        if packet[0] == 0xff {
            break error_of(&packet);
        }
    };
    assert_eq!(error.0, 1317);
    stuck.command(b"\x0e");
    assert_eq!(stuck.read()[0], 0);
    // KILL CONNECTION, by a command
    stuck.query("ROWS 1000000000 1000");
    std::thread::sleep(Duration::from_millis(200));
    let mut killer = Raw::log_in(server.port);
    killer.command(&[&[0x0c], &id.to_le_bytes()[..]].concat());
    assert_eq!(killer.read()[0], 0);
    within(SOON, || server.toy.processes.len() == 1);
    // idle
    let mut idle = Raw::log_in(server.port);
    let id = server.toy.processes.infos()[1].id;
    server.toy.processes.kill(id, Kill::Connection).unwrap();
    assert!(idle.is_closed());
}

#[test]
fn idle_connections_end() {
    let server = ToyServer::start();
    let mut raw = Raw::log_in(server.port);
    raw.query("LIMIT idle 300");
    raw.read();
    let began = Instant::now();
    assert_eq!(error_of(&raw.read()).0, 4031);
    assert!(began.elapsed() >= Duration::from_millis(290) && began.elapsed() < SOON);
    assert!(raw.is_closed());
}

#[test]
fn too_many_connections() {
    let server = ToyServer::start_with(|options| options.max_connections = 2);
    let (first, _second) = (Raw::log_in(server.port), Raw::log_in(server.port));
    let mut third = Raw::connect(server.port);
    assert_eq!(error_of(&third.read()), (1040, "Too many connections".to_owned()));
    drop(first);
    within(SOON, || server.toy.processes.len() == 1);
    healthy(&server);
}

#[test]
fn stopping() {
    let mut server = ToyServer::start();
    let (mut idle, mut busy, mut stuck) =
        (Raw::log_in(server.port), Raw::log_in(server.port), Raw::log_in(server.port));
    let _half_open = Raw::connect(server.port);
    busy.query("SPIN");
    stuck.query("ROWS 1000000000 1000");
    within(SOON, || server.toy.running.load(Ordering::SeqCst) == 1);
    let socket = server.dir.join("s.sock");
    assert!(socket.exists());
    let began = Instant::now();
    assert!(server.stop());
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
    assert_eq!(error_of(&idle.read()).0, 1053);
    assert_eq!(error_of(&busy.read()).0, 1053);
    assert!(!socket.exists());
}

#[test]
fn reasons_not_to_start() {
    let server = ToyServer::start();
    let start = |change: &dyn Fn(&mut Options)| {
        let mut options = Options::new(&server.dir);
        options.port = server.port;
        change(&mut options);
        let toy = Arc::new(Toy::default());
        Server::bind(options, Arc::new(ToyBackend(toy)), Arc::new(ProcessList::new()))
            .map(drop)
            .unwrap_err()
            .to_string()
    };
    let taken = start(&|_| {});
    assert!(taken.contains("has taken port") && taken.contains("--port="), "{taken}");
    for address in ["0.0.0.0", "*", "::"] {
        let refused = start(&|options| options.bind_addresses = vec![address.to_owned()]);
        assert!(refused.contains("no account has a password") && refused.contains("IDENTIFIED BY"), "{refused}");
    }
    let taken = start(&|options| {
        options.bind_addresses.clear();
        options.socket = Some(server.dir.join("s.sock"));
    });
    assert!(taken.contains("another server listens on the socket file"), "{taken}");
    assert!(start(&|options| options.bind_addresses.clear()).contains("neither"));
}
