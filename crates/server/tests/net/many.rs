//! Many connections: idle ones are parked, and come back as if nothing had been.

use std::time::{Duration, Instant};

use nextleaf::net::Kill;

use crate::raw::{Raw, error_of};
use crate::toy::ToyServer;

const MANY: usize = 200;
/// Longer than it takes for an idle connection to be parked.
const PAUSE: Duration = Duration::from_millis(900);

/// Threads of this process that serve connections.
fn connection_threads() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let name = |t: std::fs::DirEntry| std::fs::read_to_string(t.path().join("comm")).unwrap_or_default();
    tasks.filter_map(Result::ok).map(name).filter(|name| name.trim() == "connection").count()
}

fn ping(raw: &mut Raw) {
    raw.command(b"\x0e");
    assert_eq!(raw.read()[0], 0);
}

#[test]
fn idle_connections_share_a_thread() {
    let mut server = ToyServer::start_with(|options| options.max_connections = 2 * MANY);
    let mut all: Vec<Raw> = (0..MANY).map(|_| Raw::log_in(server.port)).collect();
    std::thread::sleep(PAUSE);
    let began = Instant::now();
    while connection_threads() > MANY / 2 {
        assert!(began.elapsed() < Duration::from_secs(20), "{} threads", connection_threads());
        std::thread::sleep(Duration::from_millis(20));
    }
    for round in 0..3 {
        all.iter_mut().for_each(ping);
        for raw in &mut all {
            raw.query("ROWS 3 10");
            (0..8).for_each(|_| drop(raw.read()));
        }
        if round == 1 {
            std::thread::sleep(PAUSE);
        }
    }
    std::thread::sleep(PAUSE);
    // a killed one ends, the others stay
    let id = server.toy.processes.infos()[MANY - 1].id;
    server.toy.processes.kill(id, Kill::Connection).unwrap();
    let began = Instant::now();
    while server.toy.processes.len() == MANY {
        assert!(began.elapsed() < Duration::from_secs(5));
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(server.toy.processes.len(), MANY - 1);
    // so does one whose client goes
    drop(all.remove(0));
    let began = Instant::now();
    while server.toy.processes.len() == MANY - 1 {
        assert!(began.elapsed() < Duration::from_secs(5));
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(server.stop(), "parked connections end with the server");
}

#[test]
fn a_parked_connection_is_idle_for_its_time() {
    let server = ToyServer::start_with(|options| options.max_connections = 2 * MANY);
    let mut all: Vec<Raw> = (0..MANY).map(|_| Raw::log_in(server.port)).collect();
    for raw in &mut all {
        raw.query("LIMIT idle 1500");
        raw.read();
    }
    std::thread::sleep(Duration::from_millis(3200));
    for raw in &mut all {
        assert_eq!(error_of(&raw.read()).0, 4031);
        assert!(raw.is_closed());
    }
}

#[test]
fn one_too_many_is_turned_away() {
    let server = ToyServer::start_with(|options| options.max_connections = 3);
    let mut all: Vec<Raw> = (0..3).map(|_| Raw::log_in(server.port)).collect();
    let mut raw = Raw::connect(server.port);
    assert_eq!(error_of(&raw.read()).0, 1040);
    all.iter_mut().for_each(ping);
}
