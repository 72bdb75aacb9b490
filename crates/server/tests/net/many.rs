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
fn busy_connections_share_few_threads() {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let busy = 120 * cores.max(2);
    let mut server = ToyServer::start_with(|options| options.max_connections = 2 * busy);
    let stop = std::sync::atomic::AtomicBool::new(false);
    struct Stop<'a>(&'a std::sync::atomic::AtomicBool);
    impl Drop for Stop<'_> {
        fn drop(&mut self) {
            self.0.store(true, std::sync::atomic::Ordering::Relaxed);
        }
    }
    let mut one = Raw::log_in(server.port);
    std::thread::scope(|scope| {
        let stop = Stop(&stop);
        for _ in 0..4 {
            let mut mine: Vec<Raw> = (0..busy / 4).map(|_| Raw::log_in(server.port)).collect();
            let stop = stop.0;
            scope.spawn(move || {
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    mine.iter_mut().for_each(ping);
                    for raw in &mut mine {
                        raw.query("ROWS 3 10");
                    }
                    for raw in &mut mine {
                        (0..8).for_each(|_| drop(raw.read()));
                    }
                }
            });
        }
        let began = Instant::now();
        while connection_threads() > busy / 2 {
            assert!(began.elapsed() < Duration::from_secs(30), "{} threads", connection_threads());
            ping(&mut one);
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    // few again
    for _ in 0..150 {
        ping(&mut one);
        std::thread::sleep(Duration::from_millis(10));
    }
    one.query("ROWS 3 10");
    (0..8).for_each(|_| drop(one.read()));
    assert!(server.stop());
}

#[test]
fn one_too_many_is_turned_away() {
    let server = ToyServer::start_with(|options| options.max_connections = 3);
    let mut all: Vec<Raw> = (0..3).map(|_| Raw::log_in(server.port)).collect();
    let mut raw = Raw::connect(server.port);
    assert_eq!(error_of(&raw.read()).0, 1040);
    all.iter_mut().for_each(ping);
}
