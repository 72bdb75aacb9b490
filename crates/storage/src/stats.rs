//! What the planner may know of a table: row count, distinct values, NULLs, ranges, a sample.
//!
//! Distinct values come from a HyperLogLog a column, and one for each beginning of a key of several columns; every
//! insert and load keeps them up to date, and CREATE INDEX counts what its key begins with. Updates and deletes do not
//! lower them: once a tenth of the rows has gone or changed that way they are counted anew, from the rows that there
//! are. The rest is gathered from zone maps and from a sample of rows, and kept until more than a tenth of the rows has
//! changed (as innodb_stats_auto_recalc has it).
//!
//! ```text
//!   asked ─▶ kept, fresh ─────────────────────────────────▶ answer
//!            none yet; few rows; twice or half the rows ──▶ gathered at once: a walk over zone maps, and the sample
//!            else ─▶ what is kept, and the table is due ──▶ a thread gathers (`Table::refresh_if_due`)
//! ```
//! Statistics are made of the rows alone, wherever these lie and in whatever order they came: the same rows give the
//! same statistics after a restart, and in another database ([`crate::row_sample`] says how the sample is chosen).
//!
//! Source of the estimator: Flajolet et al., "HyperLogLog", AofA 2007, with linear counting for small sets.

use crate::index::ordered::GoOn;
use crate::row_sample::{Low, RowSample};
use crate::sync::{AtomicBool, AtomicU8, AtomicU64, Mutex, Ordering, Rank};
use crate::table::Table;
use crate::txn::Snapshot;
use catalog::{ColumnStats, TableDef, TableStats};
use std::sync::{Arc, OnceLock};
use types::{PhysType, Result, Value};
use vector::hash::{each_word, fold_words, hash_bytes};
use vector::{Batch, Bounds, Chunk, Values, Vector};

const REGISTER_BITS: u32 = 11;
const REGISTERS: usize = 1 << REGISTER_BITS;

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
pub fn scramble(mut h: u64) -> u64 {
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

/// The columns of the beginnings of the definition's keys, of two columns and more.
fn key_beginnings(def: &TableDef) -> Vec<Box<[usize]>> {
    let mut all: Vec<Box<[usize]>> = Vec::new();
    for index in &def.indexes {
        for n in 2..=index.parts.len() {
            let columns: Box<[usize]> = index.parts[..n].iter().map(|p| p.column_idx).collect();
            if !all.contains(&columns) {
                all.push(columns);
            }
        }
    }
    all
}

/// Calls `f` with the position and the hash of the columns' values of each row. `chunks`: one a column of the table.
pub fn each_tuple(columns: &[usize], chunks: &[&Chunk], mut f: impl FnMut(usize, u64)) {
    const PIECE: usize = 64;
    let rows = columns.first().map_or(0, |c| chunks[*c].len());
    let mut hashes = [0u64; PIECE];
    for from in (0..rows).step_by(PIECE) {
        let hashes = &mut hashes[..(rows - from).min(PIECE)];
        hashes.fill(0);
        columns.iter().for_each(|c| fold_words(chunks[*c], from, hashes));
        hashes.iter().enumerate().for_each(|(i, h)| f(from + i, *h));
    }
}

impl Tuples {
    fn new(columns: Box<[usize]>) -> Tuples {
        Tuples { columns, sketch: HyperLogLog::default() }
    }

    /// Those of the beginnings of the definition's keys.
    fn of(def: &TableDef) -> Vec<Tuples> {
        key_beginnings(def).into_iter().map(Tuples::new).collect()
    }

    fn observe(&self, chunks: &[&Chunk]) {
        each_tuple(&self.columns, chunks, |_, hash| self.sketch.add(hash));
    }
}

/// Sketches of keys that came when the table had rows already: a list that only grows, so that who brings rows need not
/// latch anything to see them.
#[derive(Debug)]
struct Later {
    tuples: Box<[Tuples]>,
    /// All rows that were there are in.
    counted: AtomicBool,
    next: OnceLock<Box<Later>>,
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
    /// Of keys that came later.
    later: OnceLock<Box<Later>>,
    pub sample: RowSample,
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
            later: OnceLock::new(),
            sample: RowSample::new(def),
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

    /// Adds all values of the chunks, one chunk a column. What it answers is for [`RowSample::keep`].
    pub fn observe(&self, columns: &[&Chunk]) -> Low {
        for (sketch, chunk) in self.distinct.iter().zip(columns) {
            observe_chunk(sketch, chunk);
        }
        self.tuples.iter().for_each(|t| t.observe(columns));
        self.lists().flat_map(|l| &l.tuples).for_each(|t| t.observe(columns));
        self.sample.low(columns)
    }

    fn lists(&self) -> impl Iterator<Item = &Later> {
        std::iter::successors(self.later.get(), |l| l.next.get()).map(|l| &**l)
    }

    /// The sketches that have all rows.
    fn counted(&self) -> impl Iterator<Item = &Tuples> {
        let later = self.lists().filter(|l| l.counted.load(Ordering::Acquire)).flat_map(|l| &l.tuples);
        self.tuples.iter().chain(later)
    }

    /// The beginnings of the definition's keys that there is no sketch of.
    fn unknown(&self, def: &TableDef) -> Vec<Box<[usize]>> {
        let mut all = key_beginnings(def);
        all.retain(|columns| !self.counted().any(|t| t.columns == *columns));
        all
    }

    fn append(&self, tuples: Vec<Tuples>, counted: bool) -> &Later {
        let mut later =
            Box::new(Later { tuples: tuples.into(), counted: AtomicBool::new(counted), next: OnceLock::new() });
        let mut at = &self.later;
        loop {
            match at.set(later) {
                Ok(()) => return at.get().expect("it was just set"),
                Err(refused) => later = refused,
            }
            at = &at.get().expect("somebody else set it").next;
        }
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

    /// Much was updated or deleted since distinct values were counted.
    fn wants_count(&self, rows: u64) -> bool {
        self.stats.churn.load(Ordering::Relaxed) * 10 > rows
    }

    /// Counts what the definition's new keys begin with, with several threads. Rows that come meanwhile are counted by
    /// who brings them. `go_on` is asked at every leaf, and its error ends the work.
    pub(crate) fn count_new_keys(&self, def: &TableDef, go_on: GoOn<'_>) -> Result<()> {
        let unknown = self.stats.unknown(def);
        if unknown.is_empty() {
            return Ok(());
        }
        let mut columns: Vec<usize> = unknown.iter().flatten().copied().collect();
        columns.sort_unstable();
        columns.dedup();
        let list = self.stats.append(unknown.into_iter().map(Tuples::new).collect(), false);
        let (snapshot, leaf_count, next_leaf) = (self.txns().snapshot(), self.leaf_count(), AtomicU64::new(0));
        let nothing = Chunk::empty(PhysType::I8, 0);
        let done = self.with_build_threads(&|| {
            loop {
                go_on()?;
                let leaf_no = next_leaf.fetch_add(1, Ordering::Relaxed);
                if leaf_no >= leaf_count {
                    return Ok(());
                }
                let Some(seen) = self.seen_chunks(leaf_no, &columns, &snapshot) else { continue };
                let mut chunks = vec![&nothing; self.types().len()];
                columns.iter().zip(&seen.1).for_each(|(c, chunk)| chunks[*c] = chunk);
                list.tuples.iter().for_each(|t| t.observe(&chunks));
            }
        });
        done.into_iter().collect::<Result<()>>()?;
        list.counted.store(true, Ordering::Release);
        Ok(())
    }

    /// The rows of a leaf that the snapshot sees: their ids, and chunks of them alone.
    fn seen_chunks(
        &self,
        leaf_no: u64,
        columns: &[usize],
        snapshot: &Snapshot,
    ) -> Option<(impl Fn(usize) -> u64, Vec<Arc<Chunk>>)> {
        let view = self.scan_leaf(leaf_no, columns, snapshot)?;
        let positions = view.selection.to_positions(view.rows);
        let whole = positions.len() == view.rows;
        let chunks =
            view.columns.iter().map(|c| if whole { c.clone() } else { Arc::new(c.gather(&positions)) }).collect();
        let base = view.base_row_id;
        Some((move |i: usize| base + positions[i] as u64, chunks))
    }

    /// Counts distinct values in all rows that there are. `false`: stopped.
    fn count_distinct(&self, stop: &dyn Fn() -> bool) -> bool {
        let snapshot = self.txns().snapshot();
        let churn = self.stats.churn.load(Ordering::Relaxed);
        let all: Vec<usize> = (0..self.types().len()).collect();
        let fresh: Vec<HyperLogLog> = all.iter().map(|_| HyperLogLog::default()).collect();
        let tuples = Tuples::of(&self.def());
        let sample = RowSample::new(&self.def());
        for leaf_no in 0..self.leaf_count() {
            if stop() {
                return false;
            }
            let Some((id, seen)) = self.seen_chunks(leaf_no, &all, &snapshot) else { continue };
            let seen: Vec<&Chunk> = seen.iter().map(|c| &**c).collect();
            fresh.iter().zip(&seen).for_each(|(sketch, chunk)| observe_chunk(sketch, chunk));
            tuples.iter().for_each(|t| t.observe(&seen));
            sample.keep(sample.low(&seen), seen.first().map_or(0, |c| c.len()), id);
        }
        self.stats.distinct.iter().zip(&fresh).for_each(|(own, fresh)| own.replace(fresh));
        let mut new = Vec::new();
        for t in tuples {
            match self.stats.counted().find(|k| k.columns == t.columns) {
                Some(own) => own.sketch.replace(&t.sketch),
                None => new.push(t),
            }
        }
        if !new.is_empty() {
            self.stats.append(new, true);
        }
        self.replace_sample(&sample);
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
            slots += leaf.live_count() as u64;
            for c in 0..columns {
                let chunk = leaf.column(c);
                if let Some(v) = &chunk.validity {
                    nulls[c] += match leaf.live_count() == leaf.rows() {
                        true => (v.len() - v.count_ones()) as u64,
                        false => (0..leaf.rows()).filter(|s| leaf.is_live(*s) && !v.get(*s)).count() as u64,
                    };
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
        // A key that was dropped is not asked for any more: after a restart it would not be known.
        let estimate = |columns: Box<[usize]>| {
            let known = self.stats.counted().find(|t| t.columns == columns)?;
            Some((columns, known.sketch.estimate().min(rows as f64)))
        };
        stats.tuples = key_beginnings(&self.def()).into_iter().filter_map(estimate).collect();
        stats
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
