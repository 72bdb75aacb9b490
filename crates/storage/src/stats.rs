//! What the planner may know of a table: row count, distinct values, NULLs, ranges, a sample.
//!
//! Distinct values come from a HyperLogLog a column, and one for each beginning of a key of several columns; every insert
//! and load keeps them up to date. Updates and deletes do not lower them: once a tenth of the rows has gone or changed
//! that way they are counted anew, from the rows that there are. The rest is gathered from zone maps and from a sample
//! of rows, and kept until more than a tenth of the rows has changed (as innodb_stats_auto_recalc has it).
//!
//! ```text
//!   asked ─▶ kept, fresh ─────────────────────────────────▶ answer
//!            none yet; few rows; twice or half the rows ──▶ gathered at once: a walk over zone maps, and the sample
//!            else ─▶ what is kept, and the table is due ──▶ a thread gathers (`Table::refresh_if_due`)
//! ```
//! Nothing depends on timing or on what was read before: the same rows under the same ids give the same statistics, also
//! after a restart.
//!
//! Source of the estimator: Flajolet et al., "HyperLogLog", AofA 2007, with linear counting for small sets.

use crate::sync::{AtomicBool, AtomicU8, AtomicU64, Mutex, Ordering, Rank};
use crate::table::Table;
use catalog::{ColumnStats, TableDef, TableStats};
use std::sync::Arc;
use types::{PhysType, Value};
use vector::hash::{each_word, fold_words, hash_bytes};
use vector::{Batch, Bounds, Chunk, Values, Vector};

const REGISTER_BITS: u32 = 11;
const REGISTERS: usize = 1 << REGISTER_BITS;

/// Rows of the sample, and of that of a large table.
pub const SAMPLE_ROWS: usize = 1024;
const SAMPLE_ROWS_MAX: usize = 4096;
const LARGE_TABLE_ROWS: u64 = 100_000;
/// Tables of so few leaves are gathered by who asks.
const SMALL_LEAVES: u64 = 16;

/// A sketch of a set that estimates its size within some 2.3 %.
#[derive(Debug)]
pub struct HyperLogLog(Box<[AtomicU8]>);

impl Default for HyperLogLog {
    fn default() -> HyperLogLog {
        HyperLogLog((0..REGISTERS).map(|_| AtomicU8::new(0)).collect())
    }
}

impl HyperLogLog {
    #[inline]
    pub fn add(&self, hash: u64) {
        let hash = scramble(hash);
        let register = &self.0[(hash >> (64 - REGISTER_BITS)) as usize];
        let rank = (hash << REGISTER_BITS | 1 << (REGISTER_BITS - 1)).leading_zeros() as u8 + 1;
        if register.load(Ordering::Relaxed) < rank {
            register.fetch_max(rank, Ordering::Relaxed);
        }
    }

    pub fn estimate(&self) -> f64 {
        let m = REGISTERS as f64;
        let mut sum = 0.0;
        let mut zeros = 0;
        for r in &self.0 {
            let r = r.load(Ordering::Relaxed);
            sum += 1.0 / (1u64 << r) as f64;
            zeros += (r == 0) as usize;
        }
        let raw = 0.7213 / (1.0 + 1.079 / m) * m * m / sum;
        if raw <= 2.5 * m && zeros > 0 { m * (m / zeros as f64).ln() } else { raw }
    }

    /// Becomes what `other` is.
    fn replace(&self, other: &HyperLogLog) {
        for (own, r) in self.0.iter().zip(&other.0) {
            own.store(r.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }
}

/// Registers must fill as if by chance: multiplicative hashes of consecutive integers fill them far too evenly.
#[inline]
fn scramble(mut h: u64) -> u64 {
    h = (h ^ h >> 32).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    h = (h ^ h >> 32).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    h ^ h >> 32
}

/// The combinations of some columns' values.
#[derive(Debug)]
struct Tuples {
    columns: Box<[usize]>,
    sketch: HyperLogLog,
}

impl Tuples {
    /// Those of the beginnings of the definition's keys.
    fn of(def: &TableDef) -> Vec<Tuples> {
        let mut all: Vec<Tuples> = Vec::new();
        for index in &def.indexes {
            for n in 2..=index.parts.len() {
                let columns: Box<[usize]> = index.parts[..n].iter().map(|p| p.column_idx).collect();
                if !all.iter().any(|t| t.columns == columns) {
                    all.push(Tuples { columns, sketch: HyperLogLog::default() });
                }
            }
        }
        all
    }

    fn observe(&self, chunks: &[&Chunk]) {
        const PIECE: usize = 64;
        let rows = chunks.first().map_or(0, |c| c.len());
        let mut hashes = [0u64; PIECE];
        for from in (0..rows).step_by(PIECE) {
            let hashes = &mut hashes[..(rows - from).min(PIECE)];
            hashes.fill(0);
            self.columns.iter().for_each(|c| fold_words(chunks[*c], from, hashes));
            hashes.iter().for_each(|h| self.sketch.add(*h));
        }
    }
}

#[derive(Debug)]
struct Cached {
    /// Value of `changes` when this was gathered.
    changes: u64,
    stats: Arc<TableStats>,
}

/// A table's sketches and cached statistics.
#[derive(Debug)]
pub struct StatsState {
    distinct: Box<[HyperLogLog]>,
    /// Of the keys that the table had when it was opened.
    tuples: Box<[Tuples]>,
    /// Of keys that came later: as last counted.
    late: Mutex<Vec<(Box<[usize]>, f64)>>,
    /// Rows inserted, updated and deleted so far.
    changes: AtomicU64,
    /// Rows updated and deleted, which the sketches do not know of.
    churn: AtomicU64,
    cached: Mutex<Option<Cached>>,
    /// What is kept is out of date, and nobody gathers yet.
    due: AtomicBool,
    /// How often ANALYZE TABLE was asked for.
    analyzed: AtomicU64,
}

impl StatsState {
    pub fn new(def: &TableDef) -> StatsState {
        StatsState {
            distinct: def.columns.iter().map(|_| HyperLogLog::default()).collect(),
            tuples: Tuples::of(def).into(),
            late: Mutex::new(Rank::Statistics, Vec::new()),
            changes: AtomicU64::new(0),
            churn: AtomicU64::new(0),
            cached: Mutex::new(Rank::Statistics, None),
            due: AtomicBool::new(false),
            analyzed: AtomicU64::new(0),
        }
    }

    pub fn inserted(&self, rows: u64) {
        self.changes.fetch_add(rows, Ordering::Relaxed);
    }

    /// Rows went, or have other values.
    pub fn changed(&self, rows: u64) {
        self.changes.fetch_add(rows, Ordering::Relaxed);
        self.churn.fetch_add(rows, Ordering::Relaxed);
    }

    /// Adds all values of the chunks, one chunk a column.
    pub fn observe(&self, columns: &[&Chunk]) {
        for (sketch, chunk) in self.distinct.iter().zip(columns) {
            observe_chunk(sketch, chunk);
        }
        self.tuples.iter().for_each(|t| t.observe(columns));
    }

    pub fn observe_one(&self, column: usize, chunk: &Chunk, i: usize) {
        observe_chunk(&self.distinct[column], &chunk.gather(&[i as u16]));
    }
}

fn observe_chunk(sketch: &HyperLogLog, chunk: &Chunk) {
    if let Values::Dict(d) = &chunk.values {
        let mut used = [false; 256];
        d.codes.iter().enumerate().filter(|(i, _)| chunk.is_valid(*i)).for_each(|(_, &c)| used[c as usize] = true);
        for (code, _) in used.iter().enumerate().filter(|(_, used)| **used) {
            sketch.add(hash_bytes(d.dict.strings.bytes(code)));
        }
        return;
    }
    each_word(chunk, 0..chunk.len(), hash_bytes, |_, word| word.into_iter().for_each(|w| sketch.add(w)));
}

impl Table {
    /// The table's statistics, at most a tenth of its rows out of date: see the module head for what this may cost.
    pub fn statistics(&self) -> Arc<TableStats> {
        let changes = self.stats.changes.load(Ordering::Relaxed);
        let rows = self.row_count();
        if let Some(c) = &*self.stats.cached.lock() {
            let (before, after) = (c.stats.rows.max(1), rows.max(1));
            if changes.saturating_sub(c.changes) * 10 <= before.max(after) {
                return c.stats.clone();
            }
            if self.leaf_count() > SMALL_LEAVES && before <= 2 * after && after <= 2 * before {
                self.stats.due.store(true, Ordering::Relaxed);
                return c.stats.clone();
            }
        }
        if self.leaf_count() <= SMALL_LEAVES {
            if self.wants_count(rows) {
                self.count_distinct(&|| false);
            }
        } else if self.wants_count(rows) {
            self.stats.due.store(true, Ordering::Relaxed);
        }
        self.gather_and_keep(changes, rows)
    }

    fn gather_and_keep(&self, changes: u64, rows: u64) -> Arc<TableStats> {
        let stats = Arc::new(self.gather_statistics(rows));
        *self.stats.cached.lock() = Some(Cached { changes, stats: stats.clone() });
        stats
    }

    /// Makes the statistics anew, however few rows have changed: ANALYZE TABLE. `stop` is asked now and then; if it
    /// says so, things stay as they were.
    pub fn refresh_statistics(&self, stop: &dyn Fn() -> bool) {
        self.stats.due.store(false, Ordering::Relaxed);
        let changes = self.stats.changes.load(Ordering::Relaxed);
        if self.count_distinct(stop) {
            self.gather_and_keep(changes, self.row_count());
            self.stats.analyzed.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Whether the statistics are out of date and wait for a thread that makes them anew.
    pub fn statistics_due(&self) -> bool {
        self.stats.due.load(Ordering::Relaxed)
    }

    /// Makes the statistics anew if they are out of date. Says whether they were.
    pub fn refresh_if_due(&self, stop: &dyn Fn() -> bool) -> bool {
        let due = self.stats.due.swap(false, Ordering::Relaxed);
        if due {
            let changes = self.stats.changes.load(Ordering::Relaxed);
            if self.wants_count(self.row_count()) {
                self.count_distinct(stop);
            }
            self.gather_and_keep(changes, self.row_count());
        }
        due
    }

    /// Rows that have changed so far, and how often the table was analyzed: for those who keep what they made of the
    /// statistics.
    pub fn changes_seen(&self) -> (u64, u64) {
        (self.stats.changes.load(Ordering::Relaxed), self.stats.analyzed.load(Ordering::Relaxed))
    }

    /// Much was updated or deleted since distinct values were counted, or there are new keys.
    fn wants_count(&self, rows: u64) -> bool {
        self.stats.churn.load(Ordering::Relaxed) * 10 > rows || !self.late_keys().is_empty()
    }

    /// Keys of several columns that no sketch is kept for and that were not counted yet.
    fn late_keys(&self) -> Vec<Tuples> {
        let mut all = Tuples::of(&self.def());
        all.retain(|t| !self.stats.tuples.iter().any(|k| k.columns == t.columns));
        if !all.is_empty() {
            let late = self.stats.late.lock();
            all.retain(|t| !late.iter().any(|l| l.0 == t.columns));
        }
        all
    }

    /// Counts distinct values in all rows that there are. `false`: stopped.
    fn count_distinct(&self, stop: &dyn Fn() -> bool) -> bool {
        let snapshot = self.txns().snapshot();
        let churn = self.stats.churn.load(Ordering::Relaxed);
        let all: Vec<usize> = (0..self.types().len()).collect();
        let fresh: Vec<HyperLogLog> = all.iter().map(|_| HyperLogLog::default()).collect();
        let tuples = Tuples::of(&self.def());
        for leaf_no in 0..self.leaf_count() {
            if stop() {
                return false;
            }
            let Some(view) = self.scan_leaf(leaf_no, &all, &snapshot) else { continue };
            let positions = view.selection.to_positions(view.rows);
            let whole = positions.len() == view.rows;
            let seen: Vec<_> =
                view.columns.iter().map(|c| if whole { c.clone() } else { Arc::new(c.gather(&positions)) }).collect();
            let seen: Vec<&Chunk> = seen.iter().map(|c| &**c).collect();
            fresh.iter().zip(&seen).for_each(|(sketch, chunk)| observe_chunk(sketch, chunk));
            tuples.iter().for_each(|t| t.observe(&seen));
        }
        self.stats.distinct.iter().zip(&fresh).for_each(|(own, fresh)| own.replace(fresh));
        let mut late = Vec::new();
        for t in tuples {
            match self.stats.tuples.iter().find(|k| k.columns == t.columns) {
                Some(own) => own.sketch.replace(&t.sketch),
                None => late.push((t.columns, t.sketch.estimate())),
            }
        }
        *self.stats.late.lock() = late;
        // What has changed meanwhile counts for the next time.
        let less = |now: u64| Some(now.saturating_sub(churn));
        // Two may have counted the same.
        let _ = self.stats.churn.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        true
    }

    fn gather_statistics(&self, rows: u64) -> TableStats {
        let snapshot = self.txns().snapshot();
        let columns = self.types().len();
        let all: Vec<usize> = (0..columns).collect();
        let sample_ids = self.sample_rows(&snapshot);
        let fetched = self.fetch(&sample_ids, &all, &snapshot);
        let sample = Batch::new(sample_ids.len(), fetched.columns.into_iter().map(Vector::flat).collect());
        let mut nulls = vec![0u64; columns];
        let mut bounds: Vec<Option<Option<Bounds>>> = vec![None; columns];
        let mut slots = 0u64;
        for leaf_no in 0..self.leaf_count() {
            let Some(state) = self.heap.slot(leaf_no).map(|s| s.read()) else { continue };
            let Some(leaf) = state.leaf() else { continue };
            slots += leaf.rows() as u64;
            for c in 0..columns {
                let chunk = leaf.column(c);
                if let Some(v) = &chunk.validity {
                    nulls[c] += (v.len() - v.count_ones()) as u64;
                }
                bounds[c] = Some(match (bounds[c], chunk.bounds) {
                    (None, b) => b,
                    (Some(Some(a)), Some(b)) => Some(a.union(b)),
                    _ => None,
                });
            }
        }
        let set = self.indexes();
        let stats = |c: usize| {
            let def = &self.def().columns[c];
            let phys = self.types()[c];
            let int = |v: i64| int_value(phys, v, &def.ty);
            let is_key = set.unique.iter().any(|i| *i.spec.columns == [c]) && !def.nullable;
            let distinct = if is_key { rows as f64 } else { self.stats.distinct[c].estimate() };
            let range = bounds[c].flatten();
            ColumnStats {
                distinct: distinct.min(rows as f64).max(if rows > 0 { 1.0 } else { 0.0 }),
                null_fraction: if slots == 0 { 0.0 } else { nulls[c] as f64 / slots as f64 },
                min: range.and_then(|b| int(b.min)),
                max: range.and_then(|b| int(b.max)),
                width: width(&sample, c),
            }
        };
        let mut stats = TableStats::new(rows, (0..columns).map(stats).collect(), Arc::new(sample));
        let kept = self.stats.tuples.iter().map(|t| (t.columns.clone(), t.sketch.estimate()));
        let late = self.stats.late.lock().clone();
        stats.tuples = kept.chain(late).map(|(c, d)| (c, d.min(rows as f64))).collect();
        stats
    }

    /// Ids of about [`SAMPLE_ROWS`] rows that the snapshot sees, each as likely as any other, ascending.
    fn sample_rows(&self, snapshot: &crate::txn::Snapshot) -> Vec<u64> {
        let leaves = self.leaf_count();
        let ids = |leaf_no: u64| {
            self.scan_leaf(leaf_no, &[], snapshot).into_iter().flat_map(move |view| {
                let positions = view.selection.to_positions(view.rows);
                positions.into_iter().map(move |p| view.base_row_id + p as u64)
            })
        };
        if self.row_count() <= SAMPLE_ROWS as u64 {
            return (0..leaves).flat_map(ids).take(SAMPLE_ROWS).collect();
        }
        let wanted = if self.row_count() >= LARGE_TABLE_ROWS { SAMPLE_ROWS_MAX } else { SAMPLE_ROWS };
        let mut rng = fastrand::Rng::with_seed(self.def().id.0);
        let mut picked = std::collections::BTreeSet::new();
        // Slots are picked blindly; those without a row are rejected, so that rows of sparse leaves are not favoured.
        for _ in 0..wanted * 16 {
            let id = self.row_id(rng.u64(0..leaves), rng.usize(0..self.leaf_rows()));
            if self.sees(id, snapshot) && picked.insert(id) && picked.len() == wanted {
                break;
            }
        }
        picked.into_iter().collect()
    }
}

fn int_value(phys: PhysType, v: i64, ty: &types::SqlType) -> Option<Value> {
    let values = match phys {
        PhysType::I8 => Values::I8(vec![v as i8]),
        PhysType::U8 => Values::U8(vec![v as u8]),
        PhysType::I16 => Values::I16(vec![v as i16]),
        PhysType::U16 => Values::U16(vec![v as u16]),
        PhysType::I32 => Values::I32(vec![v as i32]),
        PhysType::U32 => Values::U32(vec![v as u32]),
        PhysType::I64 => Values::I64(vec![v]),
        PhysType::U64 => Values::U64(vec![v as u64]),
        _ => return None,
    };
    Some(Chunk::new(values, None).value(0, ty))
}

/// Average bytes of a value.
fn width(sample: &Batch, column: usize) -> f64 {
    let (chunk, _) = sample.columns[column].chunk();
    match &chunk.values {
        Values::Str(_) | Values::Dict(_) if sample.rows > 0 => {
            let bytes: usize =
                (0..sample.rows).filter(|&i| chunk.is_valid(i)).map(|i| chunk.values.str_bytes(i).len()).sum();
            bytes as f64 / sample.rows as f64
        }
        Values::I8(_) | Values::U8(_) => 1.0,
        Values::I16(_) | Values::U16(_) => 2.0,
        Values::I32(_) | Values::U32(_) | Values::F32(_) => 4.0,
        Values::I64(_) | Values::U64(_) | Values::F64(_) => 8.0,
        Values::I256(_) => 32.0,
        _ => 16.0,
    }
}
