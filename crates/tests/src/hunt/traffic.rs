//! Queries beside changes: what a snapshot holds does not move, whatever others commit meanwhile.
//!
//! ```text
//!  writers: transfers between accounts, random changes, some taken back ──▶ ┐
//!                                                                           ├ one database
//!  reader: START TRANSACTION WITH CONSISTENT SNAPSHOT ─ a case's law ─ COMMIT ┘
//!          the accounts add up, by every way to read them
//! ```
//! What fails here depends on time and does not come again by its seed.

use super::oracle::Fault;
use super::schema::{Profile, Schema};
use super::way::random_way;
use super::world::{World, config, open, settle};
use super::{Case, Failure, Oracle, Tally};
use crate::ours::Ours;
use fastrand::Rng;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const ACCOUNTS: usize = 300;

/// What all accounts hold together.
const TOTAL: usize = ACCOUNTS * 100;

const WRITERS: u64 = 2;

/// Between two transactions of a writer.
const PAUSE: Duration = Duration::from_micros(300);

/// Ways to count the accounts and add them up.
const SUMS: &[&str] = &[
    "SELECT COUNT(*), SUM(v) FROM acc",
    "SELECT COUNT(*), SUM(v) FROM acc FORCE INDEX (k) WHERE k >= 0",
    "SELECT COUNT(*), SUM(v) FROM acc FORCE INDEX (kv) WHERE k >= 0",
    "SELECT COUNT(*), SUM(v) FROM acc FORCE INDEX (PRIMARY) WHERE id >= 0",
    "SELECT SUM(n), SUM(s) FROM (SELECT k, COUNT(*) AS n, SUM(v) AS s FROM acc GROUP BY k) AS g",
    "SELECT COUNT(*), SUM(b.v) FROM acc AS a JOIN acc AS b FORCE INDEX (PRIMARY) ON a.id = b.id",
    "SELECT COUNT(*), SUM(a.v) FROM acc AS a WHERE EXISTS (SELECT 1 FROM acc AS b WHERE b.k = a.k AND b.v = a.v)",
    "SELECT COUNT(*), SUM(v) FROM acc WHERE id IN (SELECT id FROM acc FORCE INDEX (kv))",
    "SELECT COUNT(*), SUM(v) FROM (SELECT v FROM acc WHERE k < 10 UNION ALL SELECT v FROM acc WHERE k >= 10) AS u",
    "SELECT COUNT(*), SUM(v) FROM acc WHERE k < 7 OR k >= 7 OR v = 3",
    "SELECT COUNT(*) + 0, (SELECT SUM(v) FROM acc) FROM acc FORCE INDEX (k) WHERE k >= 0",
    "SELECT COUNT(*), SUM(v) FROM (SELECT v, ROW_NUMBER() OVER (PARTITION BY k ORDER BY id) AS n FROM acc) AS w",
];

/// One random transaction.
fn transaction(rng: &mut Rng, schema: &Schema) -> Vec<String> {
    let (a, b) = (rng.usize(0..ACCOUNTS), rng.usize(0..ACCOUNTS));
    let (n, k) = (rng.usize(0..5), rng.usize(0..20));
    let mut out = vec!["START TRANSACTION".to_string()];
    match rng.u8(0..6) {
        0 | 1 => {
            out.push(format!("UPDATE acc SET v = v - {n} WHERE id = {a}"));
            out.push(format!("UPDATE acc SET v = v + {n} WHERE id = {b}"));
        }
        2 => out.push(format!("UPDATE acc SET k = {k} WHERE id BETWEEN {a} AND {}", a + n)),
        3 => {
            out.push(format!("SELECT v INTO @v FROM acc WHERE id = {a} FOR UPDATE"));
            out.push(format!("DELETE FROM acc WHERE id = {a}"));
            out.push(format!("INSERT INTO acc VALUES ({a}, {k}, @v)"));
        }
        4 => {
            let pair = a / 2 * 2;
            out.push(format!("UPDATE acc SET v = v + IF(id = {pair}, {n}, -{n}) WHERE id IN ({pair}, {})", pair + 1));
        }
        _ => out.push(schema.change(rng)),
    }
    out.push(if rng.u8(0..6) == 0 { "ROLLBACK" } else { "COMMIT" }.into());
    out
}

fn write(mut session: Ours, mut rng: Rng, schema: &Schema, stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        for sql in transaction(&mut rng, schema) {
            // a deadlock, or a wait that was too long: all of it goes
            if session.run(&sql).is_err() {
                let _ = session.run("ROLLBACK");
                break;
            }
        }
        std::thread::sleep(PAUSE);
    }
}

/// Sets its flag when it goes, so that a reader's panic does not leave writers behind.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn accounts(ours: &mut Ours) -> Result<(), (u16, String)> {
    ours.run("CREATE TABLE acc (id INT PRIMARY KEY, k INT NOT NULL, v INT NOT NULL, KEY k (k), KEY kv (k, v))")?;
    let rows: Vec<String> = (0..ACCOUNTS).map(|i| format!("({i}, {}, 100)", i % 20)).collect();
    ours.run(&format!("INSERT INTO acc VALUES {}", rows.join(", "))).map(drop)
}

/// Whether the accounts add up, by one way.
fn sum(world: &mut World<'_>, rng: &mut Rng) -> Option<Fault> {
    let (way, sql) = (random_way(rng), SUMS[rng.usize(0..SUMS.len())]);
    let found = match world.run(&way, sql) {
        Ok(rows) => rows[0].iter().map(|c| c.clone().unwrap_or_default()).collect::<Vec<_>>().join(", "),
        Err((code, m)) => format!("error {code}: {m}"),
    };
    let expected = format!("{ACCOUNTS}, {TOTAL}");
    (found != expected)
        .then(|| Fault { class: "sum".into(), text: format!("{way:?}\n  {sql};\n  {found}, not {expected}") })
}

/// Checks `cases` cases over the tables of a seed, while others change them.
pub fn traffic(seed: u64, cases: u64) -> Tally {
    let mut rng = Rng::with_seed(seed);
    let schema = Schema::random(&mut rng, Profile::Wild);
    let leaf_rows = [None, Some(64), Some(8)][rng.usize(0..3)];
    let workers = rng.usize(0..3);
    let config = config("traffic", workers, leaf_rows);
    let mut usual = open(&config, &schema).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
    accounts(&mut usual).expect("a table of accounts");
    let stop = AtomicBool::new(false);
    let mut tally = Tally::default();
    std::thread::scope(|scope| {
        let _stop = Stop(&stop);
        for n in 0..WRITERS {
            let mut session = usual.beside();
            settle(&mut session, &schema).expect("settings");
            session.run("SET innodb_lock_wait_timeout = 1").expect("a setting");
            let (schema, stop, rng) = (&schema, &stop, Rng::with_seed(seed ^ (n + 1) << 32));
            scope.spawn(move || write(session, rng, schema, stop));
        }
        let mut world = World::of(usual, &schema);
        for _ in 0..cases {
            let case = Case::random(&mut rng, &schema, Profile::Wild);
            tally.cases += 1;
            let apart = rng.bool();
            if apart {
                assert!(world.aside("START TRANSACTION WITH CONSISTENT SNAPSHOT"), "a snapshot");
            }
            let fault = match case.oracle {
                // these change things themselves, or read outside a snapshot
                Oracle::Change | Oracle::Pivot => None,
                _ if !apart => None,
                _ => case.check(&mut world),
            };
            let fault = fault.or_else(|| sum(&mut world, &mut rng));
            if apart {
                assert!(world.aside("COMMIT"), "the snapshot goes");
            }
            if let Some(fault) = fault {
                let changes = vec!["(random transactions)".into()];
                tally.failures.push(Failure { seed, schema: schema.clone(), changes, case, fault });
            }
        }
        tally.statements = world.statements;
        std::mem::swap(&mut tally.refused, &mut world.refused);
    });
    tally
}
