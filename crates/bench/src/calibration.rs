//! `bench cost-calibration`: what the constants of the optimizer's cost model are worth here.
//!
//! Each constant is the price of one thing in nanoseconds of one core. It is measured by statements that do that thing
//! many times, with the plan forced by hints, less what a statement costs that does all the rest:
//!
//! ```text
//!   range of 40,000 entries, covering               walk
//!   the same, one column of the table               walk + rows             ─▶ index_row
//!   the same, three columns                         walk + rows + 2 columns ─▶ fetch_column
//! ```
//! A statement whose plan does not have the words that it is measured for is an error. One thread, best of the runs;
//! constants that stand behind a subtraction are as noisy as both sides are.
//!
//! The table: `id` ascends, `k` is a scattered permutation of the ids (an index on it names rows all over the table),
//! `f` has each value on ten scattered rows, `m` has a thousand values, `a`, `b`, `c` are arbitrary. `probe` has
//! scattered values of `k` (and, divided by ten, of `f`).

use crate::local::Local;
use crate::machine::{self, Times};
use crate::page::{self, Page, short};
use crate::{Failure, table};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

#[derive(clap::Args, Debug, Clone)]
pub struct CalibrationArgs {
    /// Rows of the table, in thousands
    #[arg(long, default_value_t = 2000)]
    pub thousands: u64,
    /// Runs of each statement; the best counts
    #[arg(long, default_value_t = 7)]
    pub runs: usize,
    /// Write an HTML report
    #[arg(long)]
    pub out: Option<PathBuf>,
}

/// Rows of `probe`.
const PROBE_ROWS: u64 = 10_000;
/// Rows of `small`.
const SMALL_ROWS: u64 = 1000;

/// How long this thread has had a core: others' work does not count. The system brings the figure up to date when the
/// thread lets go of the core.
fn on_core() -> Option<Duration> {
    std::thread::sleep(Duration::from_micros(100));
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(Duration::from_nanos(text.split(' ').next()?.parse().ok()?))
}

struct Bench {
    local: Local,
    rows: u64,
    runs: usize,
    found: BTreeMap<&'static str, f64>,
}

/// Statements that fill the tables.
fn tables(rows: u64) -> Vec<String> {
    let mut out = vec![
        "CREATE TABLE t (id INT NOT NULL PRIMARY KEY, k INT NOT NULL, f INT NOT NULL, m INT NOT NULL, a INT NOT NULL, \
         b INT NOT NULL, c BIGINT NOT NULL)"
            .to_owned(),
        "CREATE TABLE probe (id INT NOT NULL PRIMARY KEY, v INT NOT NULL, w INT NOT NULL)".to_owned(),
        "CREATE TABLE small (id INT NOT NULL PRIMARY KEY, v INT NOT NULL)".to_owned(),
    ];
    // An odd multiplier permutes the residues of a power of two; of those below the number of rows it is a permutation
    // too if they are stepped through by a number that has no divisor in common with it.
    let step = (1..).map(|i| rows * 5 / 8 + i).find(|s| gcd(*s, rows) == 1).unwrap_or(1);
    let row = |id: u64| {
        let k = (id as u128 * step as u128 % rows as u128) as u64;
        let r = crate::filter::scatter(id);
        format!("({id},{k},{},{},{},{},{})", k / 10, r % 1000, r % 1_000_000, (r >> 20) % 1_000_000, r >> 40)
    };
    let mut insert = |table: &str, n: u64, row: &dyn Fn(u64) -> String| {
        for from in (0..n).step_by(4000) {
            let rows: Vec<String> = (from..n.min(from + 4000)).map(row).collect();
            out.push(format!("INSERT INTO {table} VALUES {}", rows.join(",")));
        }
    };
    insert("t", rows, &row);
    let v = |id: u64| crate::filter::scatter(id * 3 + 1) % rows;
    insert("probe", PROBE_ROWS, &|id| format!("({id},{},{})", v(id), v(id) / 10));
    insert("small", SMALL_ROWS, &|id| format!("({id},{})", id * 7 % SMALL_ROWS));
    out.extend(
        ["ALTER TABLE t ADD KEY k (k), ADD KEY f (f), ADD KEY ka (k, a, b)", "ANALYZE TABLE t, probe, small"]
            .map(str::to_owned),
    );
    out
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

impl Bench {
    /// Nanoseconds of a statement whose plan has the words.
    fn ns(&mut self, sql: &str, words: &[&str]) -> Result<f64, Failure> {
        self.local.run(&format!("EXPLAIN FORMAT=TREE {sql}"))?;
        let plan: String = self.local.answer().rows.into_iter().flatten().flatten().collect::<Vec<_>>().join("\n");
        if let Some(missing) = words.iter().find(|w| !plan.contains(**w)) {
            return Err(format!("no \"{missing}\" in the plan of {sql}:\n{plan}").into());
        }
        let mut times = Times::default();
        for _ in 0..=self.runs {
            let (started, on_core) = (Instant::now(), on_core());
            self.local.run(sql)?;
            times.add(match (on_core, self::on_core()) {
                (Some(before), Some(after)) => after - before,
                _ => started.elapsed(),
            });
        }
        Ok(times.least().as_nanos() as f64)
    }

    fn set(&mut self, name: &'static str, ns: f64) -> f64 {
        self.found.insert(name, ns);
        ns
    }

    fn known(&self, name: &'static str) -> Result<f64, Failure> {
        self.found.get(name).copied().ok_or_else(|| format!("{name} is not known").into())
    }

    fn with_switch<R>(&mut self, switch: &str, f: impl FnOnce(&mut Bench) -> Result<R, Failure>) -> Result<R, Failure> {
        self.local.run(&format!("SET SESSION optimizer_switch = '{switch}'"))?;
        let r = f(self);
        self.local.run("SET SESSION optimizer_switch = DEFAULT")?;
        r
    }

    fn scans(&mut self) -> Result<(), Failure> {
        let n = self.rows as f64;
        let one = self.ns("SELECT COUNT(*) FROM t WHERE a >= 10", &["Table scan"])?;
        let two = self.ns("SELECT COUNT(*) FROM t WHERE a >= 10 AND b >= 10", &["Table scan"])?;
        let three = self.ns("SELECT COUNT(*) FROM t WHERE a >= 10 AND b >= 10 AND c >= 10", &["Table scan"])?;
        let predicate = self.set("predicate", (three - one) / 2.0 / n);
        self.set("scan", (one / n - predicate).max(0.0));
        let grouped = self.ns("SELECT m, COUNT(*) FROM t WHERE a >= 10 GROUP BY m", &["Aggregate"])?;
        self.set("group", (grouped - one) / n);
        let hundred = "FROM t WHERE id < 100000";
        let plain = self.ns(&format!("SELECT SUM(a) {hundred}"), &[])?;
        let sorted = self.ns(
            &format!("SELECT SUM(r) FROM (SELECT ROW_NUMBER() OVER (ORDER BY a) AS r {hundred}) AS s"),
            &["Window"],
        )?;
        let rows = (self.rows as f64).min(100_000.0);
        self.set("sort_compare", (sorted - plain) / (rows * rows.log2()));
        let _ = two;
        Ok(())
    }

    fn hash_joins(&mut self) -> Result<(), Failure> {
        let n = self.rows as f64;
        let scan = self.ns("SELECT SUM(m) FROM t", &["Table scan"])?;
        let joined = self.ns(
            "SELECT /*+ NO_INDEX(t) NO_INDEX(small) */ SUM(small.v) FROM t JOIN small ON small.id = t.m",
            &["hash join"],
        )?;
        let output = self.set("output", 2.0);
        let probe = self.set("hash_probe", ((joined - scan) / n - output).max(0.0));
        // What fits the second-level cache: 20,000 rows of two columns.
        let few = 20_000.0_f64.min(n);
        let built = |from: f64| {
            format!(
                "SELECT STRAIGHT_JOIN SUM(x.a) FROM (SELECT /*+ NO_MERGE() */ id, a FROM t WHERE id < {from}) AS x \
                 JOIN t AS y ON y.id = x.id WHERE y.id < {from}"
            )
        };
        let base = self.ns(&format!("SELECT SUM(a), SUM(b) FROM t WHERE id < {few}"), &[])?;
        let both = self.with_switch("batched_key_access=off", |b| b.ns(&built(few), &["hash join"]))?;
        self.set("hash_build", ((both - 2.0 * base) / few - probe - output).max(1.0));
        let large = self.ns(
            "SELECT /*+ NO_INDEX(x) NO_INDEX(y) */ STRAIGHT_JOIN SUM(x.a) FROM t AS x JOIN t AS y ON y.k = x.id",
            &["hash join"],
        )?;
        let build = self.known("hash_build")?;
        let miss = ((large - 2.0 * scan) / n - build - probe - output) / 2.0;
        let megabytes = n * 24.0 / (1024.0 * 1024.0);
        self.set("cache_miss", (miss / (megabytes.log2() / 4.0).clamp(0.25, 2.5)).max(0.0));
        let pairs = SMALL_ROWS as f64 * SMALL_ROWS as f64;
        let looped = self.ns("SELECT COUNT(*) FROM small AS x JOIN small AS y ON x.v + y.v < 7", &["loop"])?;
        self.set("pair", looped / pairs);
        Ok(())
    }

    fn index_scans(&mut self) -> Result<(), Failure> {
        // Below the share of the table from which on the operator scans.
        let most = self.rows / 40;
        let rows = most as f64;
        let range = |hints: &str, what: &str, index: &str, below: u64| {
            format!("SELECT /*+ {hints} */ {what} FROM t FORCE INDEX ({index}) WHERE k < {below}")
        };
        let walked = self.ns(&range("", "SUM(k)", "k", most), &["Covering index range scan"])?;
        let entry = self.set("index_entry", walked / rows);
        let tested =
            self.ns(&range("", "SUM(k)", "ka", most).replace("WHERE", "WHERE a >= 10 AND"), &["index condition"]);
        if let Ok(tested) = tested {
            self.set("(a test of an entry)", tested / rows - entry);
        }
        let one = self.ns(&range("NO_MRR(t)", "SUM(a)", "k", most), &["Index range scan"])?;
        let three = self.ns(&range("NO_MRR(t)", "SUM(a), SUM(b), SUM(c)", "k", most), &["Index range scan"])?;
        let column = self.set("fetch_column", ((three - one) / 2.0 / rows).max(0.0));
        // `k` is read, too: a predicate mentions it.
        self.set("index_row", one / rows - 2.0 * column);
        let many = self.ns(&range("MRR(t)", "SUM(a)", "k", most), &["multi-range read"])? / rows - entry - 2.0 * column;
        // About one row a leaf.
        let sparse = (self.rows / 1024).max(64);
        let lonely = self.ns(&range("MRR(t)", "SUM(a)", "k", sparse), &["multi-range read"])? / sparse as f64;
        let walk = self.ns(&range("", "SUM(k)", "k", sparse), &["Covering index range scan"])? / sparse as f64;
        let visit = (lonely - walk - 2.0 * column - many).max(0.0);
        self.set("leaf_visit", visit);
        let at_once = rows.min(32_768.0);
        self.set("multi_range_row", many - visit * (self.rows as f64 / 1024.0 / at_once).min(1.0));
        Ok(())
    }

    fn index_joins(&mut self) -> Result<(), Failure> {
        let rows = PROBE_ROWS as f64;
        let (output, column) = (self.known("output")?, self.known("fetch_column")?);
        let join = |hint: &str, key: &str| {
            format!(
                "SELECT /*+ JOIN_PREFIX(probe) {hint}(t) */ SUM(t.a) FROM probe JOIN t FORCE INDEX ({}) ON t.{key}",
                &key[..1]
            )
        };
        let (by_k, by_f, by_id) = ("k = probe.v", "f = probe.w", "id = probe.v");
        let unique = |hint: &str| join(hint, by_id).replace("(i)", "(PRIMARY)");
        let alone = ["Nested loop", "ndex lookup on t"];
        let batched = ["Batched key access"];
        // Ten matches each against one.
        let one = self.ns(&join("NO_BKA", by_k), &alone)? / rows;
        let ten = self.ns(&join("NO_BKA", by_f), &alone)? / rows;
        let row = (ten - one) / 9.0;
        self.set("random_row", row - output - 2.0 * column);
        self.set("index_descent", one - row);
        let one = self.ns(&join("BKA", by_k), &batched)? / rows;
        let ten = self.ns(&join("BKA", by_f), &batched)? / rows;
        let row = (ten - one) / 9.0;
        self.set("batched_row", row - output - 2.0 * column);
        self.set("batched_descent", one - row);
        let plain = self.ns(&unique("NO_BKA"), &["Single-row index lookup"])? / rows;
        self.set("key_lookup", plain - output - 2.0 * column);
        let sorted = self.ns(&unique("BKA"), &batched)? / rows;
        self.set("(key_lookup, batched)", sorted - output - 2.0 * column);
        // From how many outer rows on sorting keys gains.
        let mut least = f64::NAN;
        for n in [10u64, 30, 100, 300, 1000, 3000] {
            let some = |hint| join(hint, by_k) + &format!(" WHERE probe.id < {n}");
            let (a, b) = (self.ns(&some("NO_BKA"), &alone)?, self.ns(&some("BKA"), &batched)?);
            if b < a * 0.95 && least.is_nan() {
                least = n as f64;
            }
        }
        self.set("batch_keys_min", least);
        Ok(())
    }

    fn runs_of_subqueries(&mut self) -> Result<(), Failure> {
        let n = 1000.0;
        let outer = format!("FROM probe WHERE id < {n}");
        let plain = self.ns(&format!("SELECT SUM(v) {outer}"), &[])?;
        let asked = self.with_switch("semijoin=off,materialization=off,subquery_cache=off", |b| {
            b.ns(&format!("SELECT COUNT(*) {outer} AND v IN (SELECT k FROM t WHERE f >= 0)"), &["ndex lookup on t"])
        })?;
        // A limit above an index scan.
        let one = (asked - plain) / n - self.known("index_descent")? - self.known("index_row")?;
        self.set("subquery_run", one / 2.0);
        let point = self.ns("SELECT a FROM t FORCE INDEX (k) WHERE k = 77", &["Index lookup"])?;
        let other = self.ns("SELECT 77", &[])?;
        self.set("(a statement by index)", point - other);
        Ok(())
    }
}

/// Runs the experiment.
pub fn run(args: &CalibrationArgs) -> Result<bool, Failure> {
    let mut facts = vec![machine::describe()];
    let rows = args.thousands.max(10) * 1000;
    let mut b = Bench { local: Local::open(1)?, rows, runs: args.runs.max(1), found: BTreeMap::new() };
    for sql in tables(rows) {
        b.local.run(&sql)?;
    }
    let steps = [Bench::scans, Bench::hash_joins, Bench::index_scans, Bench::index_joins, Bench::runs_of_subqueries];
    let failures: Vec<String> = steps.into_iter().filter_map(|s| s(&mut b).err()).map(|e| e.to_string()).collect();
    b.local.run("SELECT cost_name, default_value FROM mysql.engine_cost WHERE engine_name = 'InnoDB'")?;
    let in_use: BTreeMap<String, String> = b
        .local
        .answer()
        .rows
        .into_iter()
        .filter_map(|r| {
            let mut r = r.into_iter().flatten();
            Some((r.next()?, r.next()?))
        })
        .collect();
    let head = ["constant", "measured, ns", "in use"];
    let cells: Vec<Vec<String>> = b
        .found
        .iter()
        .map(|(name, ns)| vec![name.to_string(), short(*ns), in_use.get(*name).cloned().unwrap_or("-".into())])
        .collect();
    facts.push(format!("{rows} rows, one thread, best of {} runs; after: {}", args.runs, machine::describe()));
    print!("\n{}", table::render(&head, &cells));
    facts[1..].iter().chain(&failures).for_each(|f| println!("{f}"));
    facts.extend(failures.iter().cloned());
    let page = Page {
        title: "Cost constants".into(),
        facts,
        bars: Vec::new(),
        tables: vec![("Nanoseconds".into(), head.map(str::to_owned).into(), cells)],
    };
    page::write(&page, args.out.as_deref())?;
    Ok(failures.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_statement_has_the_plan_that_it_is_measured_for() {
        let args = CalibrationArgs { thousands: 20, runs: 1, out: None };
        assert!(run(&args).expect("it runs"));
    }
}
