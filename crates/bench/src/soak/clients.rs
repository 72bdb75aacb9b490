//! The clients of a soak: writers, the reporter, and who keeps snapshots open.
//!
//! Each writer has rows of its own, so that no two wait for each other's locks and a row is there as often as it is
//! asked for. Their new rows get numbers that nobody had.

use super::{SCHEMA, SoakArgs};
use crate::Failure;
use crate::servers::Server;
use mysql::Conn;
use mysql::Value;
use mysql::prelude::Queryable;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

const ROWS_PER_INSERT: u64 = 100;
/// Distinct values of `grp`.
const GROUPS: u64 = 100;
/// How long a snapshot is kept at least and at most.
const SNAPSHOT_S: (f64, f64) = (10.0, 60.0);
/// It is kept for no more than this part of the run.
const SNAPSHOT_PART: f64 = 0.1;
const NAP: Duration = Duration::from_millis(20);

/// What was done, for the end's verdict.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    pub operations: u64,
    pub reports: u64,
    pub snapshots: u64,
}

/// What the clients and who measures them have in common.
#[derive(Debug)]
pub struct Shared {
    stop: AtomicBool,
    failed: AtomicBool,
    /// Reports may run.
    reports_on: AtomicBool,
    /// Reports that run, or are about to look whether they may.
    reporting: AtomicU64,
    next_id: AtomicU64,
    /// When the last snapshot ended; `None`: one is open.
    rest_since: Mutex<Option<Instant>>,
    reports: AtomicU64,
    snapshots: AtomicU64,
    writers: Vec<Writer>,
}

#[derive(Debug, Default)]
struct Writer {
    operations: AtomicU64,
    /// Microseconds of each operation since they were last looked at.
    latencies: Mutex<Vec<u64>>,
}

impl Shared {
    pub fn new(writers: u64) -> Shared {
        Shared {
            stop: AtomicBool::new(false),
            failed: AtomicBool::new(false),
            reports_on: AtomicBool::new(false),
            reporting: AtomicU64::new(0),
            next_id: AtomicU64::new(0),
            rest_since: Mutex::new(Some(Instant::now())),
            reports: AtomicU64::new(0),
            snapshots: AtomicU64::new(0),
            writers: (0..writers).map(|_| Writer::default()).collect(),
        }
    }

    pub fn operations(&self) -> u64 {
        self.writers.iter().map(|w| w.operations.load(Ordering::Relaxed)).sum()
    }

    pub fn counts(&self) -> Counts {
        let of = |n: &AtomicU64| n.load(Ordering::Relaxed);
        Counts { operations: self.operations(), reports: of(&self.reports), snapshots: of(&self.snapshots) }
    }

    pub fn take_latencies(&self) -> Vec<u64> {
        let take = |w: &Writer| std::mem::take(&mut *w.latencies.lock().expect("no panic while held"));
        self.writers.iter().flat_map(take).collect()
    }

    pub fn let_report(&self, on: bool) {
        self.reports_on.store(on, Ordering::SeqCst);
    }

    /// Returns when no report runs.
    pub fn await_quiet(&self) {
        while self.reporting.load(Ordering::SeqCst) > 0 && !self.has_failed() {
            std::thread::sleep(NAP);
        }
    }

    /// Runs `report` once reports may run. `None`: the end has come.
    fn in_turn<R>(&self, report: impl FnOnce() -> R) -> Option<R> {
        loop {
            // Said before the look: who waits for quiet must not miss a report that begins.
            self.reporting.fetch_add(1, Ordering::SeqCst);
            let goes_on = self.goes_on();
            if !goes_on || self.reports_on.load(Ordering::SeqCst) {
                let reported = goes_on.then(report);
                self.reporting.fetch_sub(1, Ordering::SeqCst);
                return reported;
            }
            self.reporting.fetch_sub(1, Ordering::SeqCst);
            std::thread::sleep(NAP);
        }
    }

    /// How long no snapshot has been kept.
    pub fn rest(&self) -> Duration {
        self.rest_since.lock().expect("no panic while held").map_or(Duration::ZERO, |since| since.elapsed())
    }

    fn set_rest(&self, since: Option<Instant>) {
        *self.rest_since.lock().expect("no panic while held") = since;
    }

    pub fn stop(&self) {
        self.stop.store(true, Ordering::SeqCst);
    }

    pub fn has_failed(&self) -> bool {
        self.failed.load(Ordering::SeqCst)
    }

    fn goes_on(&self) -> bool {
        !self.stop.load(Ordering::SeqCst) && !self.has_failed()
    }

    /// Sleeps, but not past the end.
    fn sleep(&self, time: Duration) {
        let until = Instant::now() + time;
        while self.goes_on() && Instant::now() < until {
            std::thread::sleep(NAP.min(time));
        }
    }
}

/// The running clients.
pub struct Clients<'s>(Vec<ScopedJoinHandle<'s, Result<(), Failure>>>);

impl<'s> Clients<'s> {
    /// Fills the table, then lets all clients go.
    pub fn start<'e>(
        scope: &'s Scope<'s, 'e>,
        server: &Server,
        shared: &'s Shared,
        args: &SoakArgs,
        length: Duration,
    ) -> Result<Clients<'s>, Failure> {
        let mut hands = Vec::new();
        for i in 0..shared.writers.len() as u64 {
            let rng = fastrand::Rng::with_seed(args.seed << 32 | i);
            hands.push(Hand { conn: server.connect(Some(SCHEMA))?, rng, ids: Vec::new(), shared });
        }
        let rows_each = args.rows.div_ceil(hands.len() as u64);
        std::thread::scope(|s| {
            let filling: Vec<_> = hands.iter_mut().map(|hand| s.spawn(|| hand.fill(rows_each))).collect();
            filling.into_iter().try_for_each(|f| f.join().expect("a client does not panic"))
        })?;
        let (reporter, historian) = (server.connect(Some(SCHEMA))?, server.connect(Some(SCHEMA))?);
        let rng = fastrand::Rng::with_seed(args.seed);
        let interval = Duration::from_secs_f64(args.interval);
        let watched = move |work: Result<(), Failure>| {
            shared.failed.fetch_or(work.is_err(), Ordering::SeqCst);
            work
        };
        let mut running = Vec::new();
        for (hand, i) in hands.into_iter().zip(0..) {
            running.push(scope.spawn(move || watched(hand.write(i))));
        }
        running.push(scope.spawn(move || watched(report(reporter, shared))));
        running.push(scope.spawn(move || watched(keep_snapshots(historian, shared, rng, (length, interval)))));
        Ok(Clients(running))
    }

    /// Waits for all; the first error that one met.
    pub fn join(&mut self) -> Result<(), Failure> {
        let joined: Vec<_> = self.0.drain(..).map(|c| c.join().expect("a client does not panic")).collect();
        joined.into_iter().collect()
    }
}

/// A writer.
struct Hand<'a> {
    conn: Conn,
    rng: fastrand::Rng,
    /// The rows that are its own.
    ids: Vec<u64>,
    shared: &'a Shared,
}

impl Hand<'_> {
    /// A string of a random width: most are short, few are long.
    fn text(&mut self, usual_max: usize, long_max: usize) -> Value {
        let len = match self.rng.u32(..20) {
            0 => return Value::NULL,
            1 => 0,
            2 => self.rng.usize(..=long_max),
            _ => self.rng.usize(..=usual_max),
        };
        let first = self.rng.u8(..);
        Value::Bytes((0..len).map(|i| b'a' + (first.wrapping_add(i as u8) % 26)).collect())
    }

    fn v(&mut self) -> Value {
        self.text(200, 1000)
    }

    fn t(&mut self) -> Value {
        self.text(600, 5000)
    }

    fn b(&mut self) -> Value {
        match self.rng.u32(..10_000) {
            0 => self.text(1_000_000, 4_000_000),
            _ => self.text(400, 20_000),
        }
    }

    fn new_rows(&mut self, rows: u64) -> Result<(), Failure> {
        let first = self.shared.next_id.fetch_add(rows, Ordering::Relaxed);
        let mut params = Vec::new();
        for id in first..first + rows {
            let strings = [self.v(), self.t(), self.b()];
            params.extend([Value::UInt(id), Value::UInt(id % GROUPS), Value::UInt(0)].into_iter().chain(strings));
        }
        let marks = vec!["(?,?,?,?,?,?)"; rows as usize].join(",");
        self.conn.exec_drop(format!("INSERT INTO soak VALUES {marks}"), params)?;
        self.ids.extend(first..first + rows);
        Ok(())
    }

    fn fill(&mut self, rows: u64) -> Result<(), Failure> {
        while (self.ids.len() as u64) < rows {
            self.new_rows((rows - self.ids.len() as u64).min(ROWS_PER_INSERT))?;
        }
        Ok(())
    }

    fn any_id(&mut self) -> u64 {
        self.ids[self.rng.usize(..self.ids.len())]
    }

    fn update(&mut self) -> Result<(), Failure> {
        let id = Value::UInt(self.any_id());
        match self.rng.u32(..6) {
            0 => self.conn.exec_drop("UPDATE soak SET n = n + 1 WHERE id = ?", vec![id])?,
            1 | 2 => {
                let params = vec![self.v(), id];
                self.conn.exec_drop("UPDATE soak SET v = ? WHERE id = ?", params)?
            }
            3 => {
                let params = vec![self.t(), id];
                self.conn.exec_drop("UPDATE soak SET t = ? WHERE id = ?", params)?
            }
            4 => {
                let params = vec![self.b(), id];
                self.conn.exec_drop("UPDATE soak SET b = ? WHERE id = ?", params)?
            }
            _ => {
                let params = vec![self.v(), self.t(), self.b(), id];
                self.conn.exec_drop("UPDATE soak SET v = ?, t = ?, b = ?, n = n + 1 WHERE id = ?", params)?
            }
        }
        Ok(())
    }

    /// A row goes, another comes.
    fn replace(&mut self) -> Result<(), Failure> {
        let at = self.rng.usize(..self.ids.len());
        self.conn.exec_drop("DELETE FROM soak WHERE id = ?", (self.ids[at],))?;
        if self.conn.affected_rows() != 1 {
            return Err(format!("row {} was not there", self.ids[at]).into());
        }
        self.ids.swap_remove(at);
        self.new_rows(1)
    }

    /// Several changes at once, half of the time taken back.
    fn transact(&mut self) -> Result<(), Failure> {
        self.conn.query_drop("BEGIN")?;
        for _ in 0..self.rng.u32(2..10) {
            self.update()?;
        }
        let end = if self.rng.bool() { "COMMIT" } else { "ROLLBACK" };
        Ok(self.conn.query_drop(end)?)
    }

    fn write(mut self, writer: usize) -> Result<(), Failure> {
        let own = &self.shared.writers[writer];
        while self.shared.goes_on() {
            let begun = Instant::now();
            match self.rng.u32(..20) {
                0 => self.transact()?,
                1..5 => self.replace()?,
                _ => self.update()?,
            }
            own.operations.fetch_add(1, Ordering::Relaxed);
            own.latencies.lock().expect("no panic while held").push(begun.elapsed().as_micros() as u64);
        }
        Ok(())
    }
}

const REPORTS: [&str; 3] = [
    "SELECT grp, COUNT(*), SUM(n), AVG(LENGTH(v)), MAX(t) FROM soak GROUP BY grp ORDER BY grp",
    "SELECT COUNT(*), SUM(LENGTH(b)) FROM soak WHERE v LIKE 'ab%' OR t LIKE '%xyzab'",
    "SELECT a.grp, COUNT(*), MAX(b.v) FROM soak a JOIN soak b ON a.id = b.id + 1 WHERE a.n <= b.n GROUP BY a.grp",
];

fn report(mut conn: Conn, shared: &Shared) -> Result<(), Failure> {
    for sql in REPORTS.iter().cycle() {
        let Some(reported) = shared.in_turn(|| conn.query_drop(sql)) else { break };
        reported?;
        shared.reports.fetch_add(1, Ordering::Relaxed);
    }
    Ok(())
}

const SUMS: &str = "SELECT COUNT(*), SUM(id), SUM(n), SUM(LENGTH(v)), SUM(LENGTH(t)), SUM(LENGTH(b)), \
                    SUM(CRC32(CONCAT_WS('-', id, v, LEFT(t, 100)))) FROM soak";

/// Between two snapshots the table is looked at once when none was open for a while: `interval` is how often that is.
fn keep_snapshots(
    mut conn: Conn,
    shared: &Shared,
    mut rng: fastrand::Rng,
    (length, interval): (Duration, Duration),
) -> Result<(), Failure> {
    let longest = SNAPSHOT_S.1.min(length.as_secs_f64() * SNAPSHOT_PART);
    let shortest = SNAPSHOT_S.0.min(longest);
    let sums = |conn: &mut Conn| -> Result<Option<Vec<Value>>, Failure> {
        let Some(row) = shared.in_turn(|| conn.query_first::<mysql::Row, _>(SUMS)) else { return Ok(None) };
        Ok(Some(row?.ok_or("no answer")?.unwrap()))
    };
    while shared.goes_on() {
        shared.set_rest(None);
        conn.query_drop("START TRANSACTION WITH CONSISTENT SNAPSHOT")?;
        let Some(first) = sums(&mut conn)? else { break };
        shared.sleep(Duration::from_secs_f64(shortest + rng.f64() * (longest - shortest)));
        let Some(then) = sums(&mut conn)? else { break };
        if first != then {
            return Err(format!("a snapshot changed: {first:?}, then {then:?}").into());
        }
        conn.query_drop("COMMIT")?;
        shared.snapshots.fetch_add(1, Ordering::Relaxed);
        shared.set_rest(Some(Instant::now()));
        shared.sleep(interval * 2);
    }
    Ok(())
}
