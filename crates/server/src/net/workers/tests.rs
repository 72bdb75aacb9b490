use std::io::Write;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Sender, channel};
use std::time::Instant;

use super::*;

/// Answers each byte with its own number; `s` blocks for a while, `e` ends, `p` panics.
struct Echo {
    id: u32,
    socket: Arc<Socket>,
    send: Sender<(u32, u8)>,
    patience: Duration,
}

impl Served for Echo {
    fn serve(self: Box<Self>, why: Why) -> After {
        let mut byte = [0];
        let tell = |what| self.send.send((self.id, what)).expect("the test waits");
        if why == Why::Expired {
            tell(b'x');
            return After::Ended;
        }
        match self.socket.try_read(&mut byte) {
            Ok(0) => {
                tell(b'0');
                return After::Ended;
            }
            Ok(_) => {}
            Err(_) => {
                let patience = self.patience;
                return After::Idle { who: self, patience };
            }
        }
        match byte[0] {
            b's' => std::thread::sleep(Duration::from_millis(300)),
            b'w' => {
                waits();
                std::thread::sleep(Duration::from_millis(300));
            }
            b'e' => return After::Ended,
            b'l' => return After::Leaves(self),
            b'p' => panic!("as asked"),
            _ => {}
        }
        tell(byte[0]);
        After::Again(self)
    }

    fn rest(&mut self) {}

    fn take_thread(self: Box<Self>) {
        self.send.send((self.id, b't')).expect("the test waits");
    }
}

struct Bench {
    workers: Workers,
    send: Sender<(u32, u8)>,
    receive: std::sync::mpsc::Receiver<(u32, u8)>,
}

impl Bench {
    fn new() -> Bench {
        let (send, receive) = channel();
        Bench { workers: Workers::start().unwrap(), send, receive }
    }

    fn connect(&self, id: u32, patience: Duration) -> UnixStream {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let socket = Arc::new(Socket::Unix(ours));
        let who = Box::new(Echo { id, socket: socket.clone(), send: self.send.clone(), patience });
        self.workers.add(id, socket, who, patience, id.is_multiple_of(2)).unwrap();
        theirs
    }

    fn next(&self) -> (u32, u8) {
        self.receive.recv_timeout(Duration::from_secs(10)).unwrap()
    }
}

const LONG: Duration = Duration::from_secs(600);

#[test]
fn commands_of_a_connection_keep_their_order() {
    let bench = Bench::new();
    let mut clients: Vec<UnixStream> = (0..50).map(|id| bench.connect(id, LONG)).collect();
    for round in 0..200u8 {
        clients.iter_mut().for_each(|c| c.write_all(&[130 + round % 100, 100]).unwrap());
    }
    let mut last = [100; 50];
    let mut counts = [0; 50];
    for _ in 0..50 * 400 {
        let (id, what) = bench.next();
        assert!((what == 100) == (counts[id as usize] % 2 == 1), "of {id} comes {what} after {}", last[id as usize]);
        last[id as usize] = what;
        counts[id as usize] += 1;
    }
    assert!(counts.iter().all(|c| *c == 400));
}

#[test]
fn who_waits_or_is_slow_holds_up_nobody() {
    let bench = Bench::new();
    let mut slow: Vec<UnixStream> = (0..20).map(|id| bench.connect(id, LONG)).collect();
    let mut quick = bench.connect(100, LONG);
    for what in [b's', b'w'] {
        let began = Instant::now();
        slow.iter_mut().for_each(|c| c.write_all(&[what]).unwrap());
        std::thread::sleep(Duration::from_millis(50));
        quick.write_all(b"q").unwrap();
        assert_eq!(bench.next(), (100, b'q'));
        (0..20).for_each(|_| assert_eq!(bench.next().1, what));
        assert!(began.elapsed() < Duration::from_secs(4), "one after the other: {:?}", began.elapsed());
    }
}

#[test]
fn connections_end_by_hanging_up_by_silence_and_by_panics() {
    let bench = Bench::new();
    let quiet = bench.connect(1, Duration::from_millis(100));
    assert_eq!(bench.next(), (1, b'x'));
    let mut gone = bench.connect(2, LONG);
    gone.write_all(b"q").unwrap();
    drop(gone);
    assert_eq!((bench.next(), bench.next()), ((2, b'q'), (2, b'0')));
    let mut broken = bench.connect(3, LONG);
    broken.write_all(b"p").unwrap();
    let mut ended = bench.connect(4, LONG);
    ended.write_all(b"e").unwrap();
    let mut other = bench.connect(5, LONG);
    other.write_all(b"q").unwrap();
    assert_eq!(bench.next(), (5, b'q'));
    drop(quiet);
}

#[test]
fn who_leaves_is_forgotten() {
    let bench = Bench::new();
    let mut client = bench.connect(1, LONG);
    client.write_all(b"ql").unwrap();
    assert_eq!((bench.next(), bench.next()), ((1, b'q'), (1, b't')));
    let other = bench.connect(2, Duration::from_millis(100));
    assert_eq!(bench.next(), (2, b'x'), "its place is another's now");
    drop(other);
}

#[test]
fn the_threads_end_with_the_workers() {
    let bench = Bench::new();
    let groups: Vec<_> = bench.workers.groups.iter().map(Arc::downgrade).collect();
    let mut client = bench.connect(1, LONG);
    client.write_all(b"q").unwrap();
    bench.next();
    let Bench { workers, .. } = bench;
    drop(workers);
    let began = Instant::now();
    while groups.iter().any(|group| group.strong_count() > 0) {
        assert!(began.elapsed() < Duration::from_secs(10), "a thread still runs");
        std::thread::sleep(Duration::from_millis(5));
    }
}
