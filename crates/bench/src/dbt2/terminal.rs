//! A terminal: one connection that runs transactions of the mix, one after the other, without think time.

use super::delivery::{Delivery, StockLevel};
use super::new_order::NewOrder;
use super::payment::{OrderStatus, Payment};
use super::schema::{DISTRICTS, Scale};
use fastrand::Rng;
use mysql::prelude::Queryable;
use mysql::{Conn, Result};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    NewOrder,
    Payment,
    OrderStatus,
    Delivery,
    StockLevel,
}

impl Kind {
    pub const ALL: [Kind; 5] = [Kind::NewOrder, Kind::Payment, Kind::OrderStatus, Kind::Delivery, Kind::StockLevel];

    pub fn name(self) -> &'static str {
        match self {
            Kind::NewOrder => "New-Order",
            Kind::Payment => "Payment",
            Kind::OrderStatus => "Order-Status",
            Kind::Delivery => "Delivery",
            Kind::StockLevel => "Stock-Level",
        }
    }

    /// The standard mix: of a hundred transactions 45, 43, 4, 4, 4.
    fn pick(rng: &mut Rng) -> Kind {
        match rng.u32(..100) {
            0..45 => Kind::NewOrder,
            45..88 => Kind::Payment,
            88..92 => Kind::OrderStatus,
            92..96 => Kind::Delivery,
            _ => Kind::StockLevel,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Done {
    Committed,
    /// As the transaction has it, because of an item that does not exist.
    RolledBack,
}

/// What one terminal, or several, did.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Microseconds of each transaction that came to its end, by kind.
    pub took_us: [Vec<u32>; 5],
    /// Acknowledged commits, by kind.
    pub committed: [u64; 5],
    /// Transactions begun anew after error 1213 or 1205.
    pub retries: u64,
}

impl Tally {
    pub fn add(&mut self, other: Tally) {
        for (all, more) in self.took_us.iter_mut().zip(other.took_us) {
            all.extend(more);
        }
        for (all, more) in self.committed.iter_mut().zip(other.committed) {
            *all += more;
        }
        self.retries += other.retries;
    }

    pub fn count(&self, kind: Kind) -> u64 {
        self.took_us[kind as usize].len() as u64
    }

    pub fn total(&self) -> u64 {
        Kind::ALL.iter().map(|&k| self.count(k)).sum()
    }

    /// The time that 95 of 100 transactions of the kind did not exceed, in milliseconds.
    pub fn p95_ms(&self, kind: Kind) -> f64 {
        let mut took = self.took_us[kind as usize].clone();
        if took.is_empty() {
            return f64::NAN;
        }
        let at = (took.len() * 95).div_ceil(100) - 1;
        f64::from(*took.select_nth_unstable(at).1) / 1e3
    }
}

/// A row that the population has was not found: the answer is wrong.
pub fn row_is_missing(what: &str) -> mysql::Error {
    mysql::Error::IoError(std::io::Error::other(format!("WRONG: no {what} where there must be one")))
}

const LOCK_WAIT_TIMEOUT: u16 = 1205;
const DEADLOCK: u16 = 1213;

fn may_retry(e: &mysql::Error) -> bool {
    matches!(e, mysql::Error::MySqlError(e) if matches!(e.code, LOCK_WAIT_TIMEOUT | DEADLOCK))
}

pub struct Terminal {
    conn: Conn,
    rng: Rng,
    scale: Scale,
    home: u32,
    district: u32,
    new_order: NewOrder,
    payment: Payment,
    order_status: OrderStatus,
    delivery: Delivery,
    stock_level: StockLevel,
}

impl Terminal {
    /// Terminal `nth` works for a warehouse and, where the transaction leaves it no choice, for one district.
    pub fn new(mut conn: Conn, scale: Scale, nth: u32, seed: u64) -> Result<Terminal> {
        Ok(Terminal {
            new_order: NewOrder::prepare(&mut conn)?,
            payment: Payment::prepare(&mut conn)?,
            order_status: OrderStatus::prepare(&mut conn)?,
            delivery: Delivery::prepare(&mut conn)?,
            stock_level: StockLevel::prepare(&mut conn)?,
            conn,
            rng: Rng::with_seed(seed),
            scale,
            home: nth % scale.warehouses + 1,
            district: nth / scale.warehouses % DISTRICTS + 1,
        })
    }

    fn run(&mut self, kind: Kind) -> Result<Done> {
        let (conn, rng, scale, w) = (&mut self.conn, &mut self.rng, &self.scale, self.home);
        match kind {
            Kind::NewOrder => self.new_order.run(conn, rng, scale, w),
            Kind::Payment => self.payment.run(conn, rng, scale, w),
            Kind::OrderStatus => self.order_status.run(conn, rng, scale, w),
            Kind::Delivery => self.delivery.run(conn, rng, w),
            Kind::StockLevel => self.stock_level.run(conn, rng, (w, self.district)),
        }
    }

    /// Runs until `until`, or until `stop`. Transactions that end after `counted_from` count.
    pub fn work(
        &mut self,
        counted_from: Instant,
        until: Instant,
        stop: &AtomicBool,
    ) -> std::result::Result<Tally, String> {
        let mut tally = Tally::default();
        while Instant::now() < until && !stop.load(Ordering::Relaxed) {
            let kind = Kind::pick(&mut self.rng);
            let started = Instant::now();
            // A transaction that is begun anew does the same as before.
            let again = self.rng.clone();
            let done = loop {
                match self.run(kind) {
                    Ok(done) => break done,
                    Err(e) if may_retry(&e) => {
                        tally.retries += 1;
                        self.conn.query_drop("ROLLBACK").map_err(|e| format!("ROLLBACK: {e}"))?;
                        self.rng = again.clone();
                    }
                    Err(e) => return Err(format!("{}: {e}", kind.name())),
                }
            };
            if done == Done::Committed {
                tally.committed[kind as usize] += 1;
            }
            if started >= counted_from {
                tally.took_us[kind as usize].push(elapsed_us(started.elapsed()));
            }
        }
        Ok(tally)
    }
}

fn elapsed_us(took: Duration) -> u32 {
    took.as_micros().try_into().unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mix_is_the_standard_one() {
        let mut rng = Rng::with_seed(1);
        let mut counts = [0u32; 5];
        (0..100_000).for_each(|_| counts[Kind::pick(&mut rng) as usize] += 1);
        for (count, share) in counts.into_iter().zip([45, 43, 4, 4, 4]) {
            assert!(count.abs_diff(share * 1000) < 500, "{counts:?}");
        }
    }

    #[test]
    fn a_percentile_of_few() {
        let mut tally = Tally::default();
        assert!(tally.p95_ms(Kind::Payment).is_nan());
        tally.took_us[Kind::Payment as usize] = (1..=100).rev().map(|ms| ms * 1000).collect();
        assert_eq!(tally.p95_ms(Kind::Payment), 95.0);
    }
}
