//! Batched key access: keys of many input rows are looked up together, and the rows that they have are read in the
//! order in which they lie.
//!
//! ```text
//!   input rows ─▶ buffer (join_buffer_size)          columns that are read again, end to end, and keys
//!                   │ full, or no more rows
//!                   ▼
//!   keys, sorted, each once ─▶ index ─▶ row ids      key-ordered: neighbours share the nodes of the tree
//!                                          │ sorted (read_rnd_buffer_size)
//!                                          ▼
//!                                     table rows     rowid-ordered: each leaf is visited once a buffer
//!                                          │
//!   pairs: each table row with all input rows of its key ─▶ conditions ─▶ output
//! ```
//! Rows do not come in the order of the input. A unique index is asked by hash, where sorting keys gains nothing; equal
//! keys then meet when row ids are sorted.
//!
//! Source: the Batched Key Access and Disk-Sweep Multi-Range Read sections of MySQL's manual (10.2.1.12, 10.2.1.11).

use super::first_match::{FIRST_ENTRIES, KeyWalk};
use super::{JoinLocal, JoinStage, KEYS_AT_ONCE};
use crate::columns::{ColumnAppender, gather32, null_vector};
use crate::context::Candidates;
use crate::memory::Reservation;
use crate::pipeline::Flow;
use plan::physical::{JoinKind, KeyBuffer};
use std::sync::atomic::Ordering::Relaxed;
use types::{Result, SqlType, Value};
use vector::{BATCH_ROWS_MAX, Batch, Bitmap, Chunk, Selection, Values, Vector};

/// What a buffer may hold at least, whatever its size is set to: one batch.
const BYTES_MIN: usize = 16 << 10;
/// Input rows of a buffer: their numbers are 32 bits wide.
const ROWS_MAX: u32 = 1 << 30;

/// What one thread has collected.
pub(super) struct Buffered {
    bytes_max: usize,
    row_ids_max: usize,
    sorts_keys: bool,
    row_bytes: usize,
    memory: Reservation,
    /// One an input column; those that are not read again stay empty.
    columns: Vec<ColumnAppender>,
    rows: u32,
    keys: Keys,
    /// Times that the buffer was filled.
    fills: u64,
}

/// Keys, and the input row of each.
#[derive(Default)]
struct Keys {
    rows: Vec<u32>,
    /// For a unique index.
    values: Vec<Vec<Value>>,
    /// Encoded, for others.
    bytes: Vec<u8>,
    ends: Vec<u32>,
}

impl Keys {
    fn bytes_of(&self, i: usize) -> &[u8] {
        let from = if i == 0 { 0 } else { self.ends[i - 1] as usize };
        &self.bytes[from..self.ends[i] as usize]
    }

    fn held_bytes(&self) -> usize {
        self.bytes.len() + self.rows.len() * 8 + self.values.len() * 64
    }
}

/// Input rows by key: those of key `k` are `rows[starts[k]..starts[k + 1]]`.
struct Groups {
    rows: Vec<u32>,
    starts: Vec<u32>,
}

impl Groups {
    fn of(&self, k: u32) -> &[u32] {
        &self.rows[self.starts[k as usize] as usize..self.starts[k as usize + 1] as usize]
    }
}

/// The first bytes of a key as a number that orders like them.
fn head(key: &[u8]) -> u64 {
    let mut b = [0; 8];
    let n = key.len().min(8);
    b[..n].copy_from_slice(&key[..n]);
    u64::from_be_bytes(b)
}

impl Buffered {
    pub(super) fn new(stage: &JoinStage<'_>, buffer: KeyBuffer) -> Buffered {
        let used = stage.input_types.iter().zip(&stage.input_used).filter(|(_, used)| **used);
        Buffered {
            bytes_max: (buffer.bytes as usize).max(BYTES_MIN),
            row_ids_max: (buffer.row_id_bytes as usize / 8).max(BATCH_ROWS_MAX),
            sorts_keys: buffer.sorts_keys,
            row_bytes: used.map(|(ty, _)| ty.phys().bytes()).sum(),
            memory: Reservation::new(&stage.run.memory_of(stage.node)),
            columns: stage.input_types.iter().map(|_| ColumnAppender::default()).collect(),
            rows: 0,
            keys: Keys::default(),
            fills: 0,
        }
    }

    /// Whether the buffer is full. Memory that is refused makes it full sooner.
    fn is_full(&mut self) -> bool {
        let strings: usize = self.columns.iter().map(|c| c.bytes()).sum();
        let bytes = (self.rows as usize * self.row_bytes).max(strings) + self.keys.held_bytes();
        bytes >= self.bytes_max || self.rows >= ROWS_MAX || !self.memory.try_resize_sparing(bytes, 1)
    }
}

/// A full buffer, being joined.
struct Filled {
    columns: Vec<Option<Chunk>>,
    rows: u32,
    matched: Bitmap,
}

impl Filled {
    /// The input's columns at these rows.
    fn gather(&self, types: &[SqlType], rows: &[u32]) -> Vec<Vector> {
        let column = |(c, ty): (&Option<Chunk>, &SqlType)| match c {
            Some(c) => Vector::flat(gather32(c, rows)),
            None => null_vector(ty),
        };
        self.columns.iter().zip(types).map(column).collect()
    }
}

impl JoinLocal<'_> {
    /// Puts a batch into the buffer, and joins the buffer if it is full then.
    pub(super) fn collect(&mut self, mut batch: Batch) -> Result<Flow> {
        let stage = self.stage;
        let (keys, at) = stage.keys(&batch)?;
        let buffered = self.buffered.as_mut().expect("there is a buffer");
        if matches!(stage.kind, JoinKind::Inner | JoinKind::Semi) {
            // Rows without a key have no partners.
            let mut rows = at.clone();
            rows.dedup();
            batch.selection = Selection::Some(rows);
        }
        let positions = batch.selection.to_positions(batch.rows);
        let mut n = 0;
        for (key, i) in keys.into_iter().zip(at) {
            while positions[n] != i {
                n += 1;
            }
            buffered.keys.rows.push(buffered.rows + n as u32);
            if stage.single {
                buffered.keys.values.push(key);
            } else {
                stage.encode(&key, &mut buffered.keys.bytes)?;
                buffered.keys.ends.push(buffered.keys.bytes.len() as u32);
            }
        }
        for (c, (to, used)) in buffered.columns.iter_mut().zip(&stage.input_used).enumerate() {
            if *used {
                to.append(&batch.columns[c], &batch.selection, batch.rows);
            }
        }
        buffered.rows += positions.len() as u32;
        if buffered.is_full() { self.flush() } else { Ok(Flow::More) }
    }

    /// Joins what the buffer holds.
    pub(super) fn flush(&mut self) -> Result<Flow> {
        let stage = self.stage;
        let Some(b) = self.buffered.as_mut().filter(|b| b.rows > 0) else { return Ok(Flow::More) };
        let keys = std::mem::take(&mut b.keys);
        let mut filled = Filled { columns: Vec::new(), rows: std::mem::take(&mut b.rows), matched: Bitmap::zeros(0) };
        for (c, (from, ty)) in b.columns.iter_mut().zip(&stage.input_types).enumerate() {
            let column = std::mem::take(from);
            filled.columns.push(stage.input_used[c].then(|| column.finish(ty)));
        }
        filled.matched.resize(filled.rows as usize);
        b.fills += 1;
        let counters = stage.run.ctx.counters;
        counters.handler_mrr_init.fetch_add((b.fills == 1) as u64, Relaxed);
        counters.handler_mrr_key_refills.fetch_add((b.fills > 1) as u64, Relaxed);
        let flow = if stage.single { self.by_hash(keys, &mut filled)? } else { self.by_order(keys, &mut filled)? };
        if flow == Flow::Done || self.rest(&filled)? == Flow::Done {
            return Ok(Flow::Done);
        }
        if let Some(b) = &mut self.buffered {
            b.memory.force(0);
        }
        Ok(Flow::More)
    }

    /// Of a unique index: one row a key at most.
    fn by_hash(&mut self, keys: Keys, filled: &mut Filled) -> Result<Flow> {
        let stage = self.stage;
        let mut found: Vec<(u64, u32)> = Vec::with_capacity(keys.rows.len());
        stage.run.ctx.counters.handler_read_key.fetch_add(keys.rows.len() as u64, Relaxed);
        for (values, rows) in keys.values.chunks(BATCH_ROWS_MAX).zip(keys.rows.chunks(BATCH_ROWS_MAX)) {
            stage.run.ctx.check_killed()?;
            let ids = stage.reader.lookup(stage.index, values)?;
            found.extend(ids.into_iter().zip(rows).filter_map(|(id, row)| Some((id?, *row))));
        }
        found.sort_unstable();
        let mut groups = Groups { rows: Vec::with_capacity(found.len()), starts: Vec::new() };
        let mut ids: Vec<u64> = Vec::new();
        for (id, row) in found {
            if ids.last() != Some(&id) {
                ids.push(id);
                groups.starts.push(groups.rows.len() as u32);
            }
            groups.rows.push(row);
        }
        groups.starts.push(groups.rows.len() as u32);
        for (n, part) in ids.chunks(BATCH_ROWS_MAX).enumerate() {
            stage.run.ctx.check_killed()?;
            let mut fetched = stage.reader.fetch(part, stage.columns)?;
            if stage.with_row_id {
                fetched.columns.push(Vector::flat(Chunk::new(Values::U64(part.to_vec()), None)));
            }
            let first = (n * BATCH_ROWS_MAX) as u32;
            let owners: Vec<u32> = (first..first + part.len() as u32).collect();
            if self.with_partners(filled, fetched, &owners, &groups)? == Flow::Done {
                return Ok(Flow::Done);
            }
        }
        Ok(Flow::More)
    }

    /// Of an ordered index: any number of rows a key.
    fn by_order(&mut self, keys: Keys, filled: &mut Filled) -> Result<Flow> {
        let stage = self.stage;
        let (row_ids_max, sorts) =
            self.buffered.as_ref().map_or((BATCH_ROWS_MAX, true), |b| (b.row_ids_max, b.sorts_keys));
        let (distinct, groups) = grouped(&keys, sorts);
        stage.run.ctx.counters.handler_read_key.fetch_add(distinct.len() as u64, Relaxed);
        let mut found = std::mem::take(&mut self.candidates);
        let (mut owners, mut ends) = (Vec::<u32>::new(), Vec::new());
        let most = if stage.outputs_pairs() { usize::MAX } else { FIRST_ENTRIES };
        let (mut done, mut size, mut refills, mut open) = (0, KEYS_AT_ONCE, 0, Vec::new());
        found.clear();
        let mut moment = stage.reader.settled(stage.index);
        let mut flow = Flow::More;
        while done < distinct.len() && flow == Flow::More {
            stage.run.ctx.check_killed()?;
            let next = (done + size).min(distinct.len());
            let before = found.len();
            ends.clear();
            stage.reader.index_get_many(stage.index, &distinct[done..next], most, &mut found, &mut ends)?;
            // Keys with many entries go a few at a time.
            size = if found.len() - before > 8 * BATCH_ROWS_MAX { (size / 4).max(1) } else { KEYS_AT_ONCE };
            for (k, end) in (done as u32..).zip(&ends) {
                if *end as usize - owners.len() == most {
                    open.push(k);
                }
                owners.resize(*end as usize, k);
            }
            done = next;
            if found.len() >= row_ids_max || done == distinct.len() {
                stage.run.ctx.counters.handler_read_next.fetch_add(found.len() as u64, Relaxed);
                stage.run.ctx.counters.handler_mrr_rowid_refills.fetch_add((refills > 0) as u64, Relaxed);
                refills += 1;
                if let Some(tests) = &stage.tests {
                    tests.apply_beside(&stage.run, &mut found, &mut owners)?;
                }
                flow = self.read_in_order((&found, moment), &owners, &groups, filled)?;
                moment = stage.reader.settled(stage.index);
                found.clear();
                owners.clear();
            }
        }
        self.candidates = found;
        for k in open {
            if flow == Flow::More {
                flow = self.rest_of_group(&distinct[k as usize], k, &groups, filled)?;
            }
        }
        Ok(flow)
    }

    /// Reads on under a key until all input rows that have it have a match.
    fn rest_of_group(&mut self, key: &[u8], k: u32, groups: &Groups, filled: &mut Filled) -> Result<Flow> {
        let stage = self.stage;
        let mut walk = KeyWalk::new(stage, key)?;
        let mut found = std::mem::take(&mut self.candidates);
        let mut flow = Flow::More;
        let open = |filled: &Filled| groups.of(k).iter().any(|&row| !filled.matched.get(row as usize));
        while flow == Flow::More && open(filled) && walk.next(stage, &mut found)? {
            let mut owners = vec![k; found.len()];
            if let Some(tests) = &stage.tests {
                tests.apply_beside(&stage.run, &mut found, &mut owners)?;
            }
            flow = self.read_in_order((&found, None), &owners, groups, filled)?;
        }
        self.candidates = found;
        Ok(flow)
    }

    /// Reads candidates, read since a moment, in the order in which their rows lie.
    fn read_in_order(
        &mut self,
        (found, moment): (&Candidates, Option<u64>),
        owners: &[u32],
        groups: &Groups,
        filled: &mut Filled,
    ) -> Result<Flow> {
        let stage = self.stage;
        let ids = found.row_ids();
        let mut order: Vec<u32> = (0..ids.len() as u32).collect();
        order.sort_unstable_by_key(|&i| ids[i as usize]);
        let mut part = Candidates::default();
        for chosen in order.chunks(BATCH_ROWS_MAX) {
            stage.run.ctx.check_killed()?;
            part.clear();
            chosen.iter().for_each(|&i| part.append(found, i as usize, i as usize + 1));
            let fetched =
                stage.reader.fetch_candidates_since(stage.index, &part, stage.columns, stage.with_row_id, moment)?;
            let owners: Vec<u32> = chosen.iter().map(|&i| owners[i as usize]).collect();
            if self.with_partners(filled, fetched, &owners, groups)? == Flow::Done {
                return Ok(Flow::Done);
            }
        }
        Ok(Flow::More)
    }

    /// Joins table rows, each with the input rows of its key.
    fn with_partners(
        &mut self,
        filled: &mut Filled,
        mut fetched: Batch,
        owners: &[u32],
        groups: &Groups,
    ) -> Result<Flow> {
        let stage = self.stage;
        stage.run.ctx.counters.read_by_index(fetched.count() as u64);
        stage.reader.note_read(Some(stage.index), fetched.count() as u64);
        stage.filter.apply(&mut fetched, &stage.run.eval())?;
        let (mut at, mut rows) = (Vec::new(), Vec::new());
        for i in fetched.selection.to_positions(fetched.rows) {
            for &row in groups.of(owners[i as usize]) {
                at.push(i);
                rows.push(row);
                if rows.len() == BATCH_ROWS_MAX {
                    if self.emit(filled, &fetched, &at, &rows)? == Flow::Done {
                        return Ok(Flow::Done);
                    }
                    at.clear();
                    rows.clear();
                }
            }
        }
        if rows.is_empty() { Ok(Flow::More) } else { self.emit(filled, &fetched, &at, &rows) }
    }

    /// Tests pairs and hands them on.
    fn emit(&mut self, filled: &mut Filled, fetched: &Batch, at: &[u16], rows: &[u32]) -> Result<Flow> {
        let stage = self.stage;
        stage.run.ctx.check_killed()?;
        let mut columns = filled.gather(&stage.input_types, rows);
        columns.extend(fetched.columns.iter().map(|c| c.gather(at)));
        let mut pairs = Batch::new(rows.len(), columns);
        stage.condition.apply(&mut pairs, &stage.run.eval())?;
        if stage.kind != JoinKind::Inner {
            pairs.selection.for_each(pairs.rows, |i| filled.matched.set(rows[i] as usize, true));
        }
        if pairs.count() == 0 || !stage.outputs_pairs() {
            return Ok(Flow::More);
        }
        let out = self.projected(pairs);
        self.next.push(out)
    }

    /// After the pairs: input rows by whether they have a match.
    fn rest(&mut self, filled: &Filled) -> Result<Flow> {
        let stage = self.stage;
        if stage.kind == JoinKind::Inner {
            return Ok(Flow::More);
        }
        let wanted = stage.kind == JoinKind::Semi;
        let kept: Vec<u32> = (0..filled.rows).filter(|&r| filled.matched.get(r as usize) == wanted).collect();
        for rows in kept.chunks(BATCH_ROWS_MAX) {
            let mut columns = filled.gather(&stage.input_types, rows);
            if stage.kind == JoinKind::Left {
                columns.extend(stage.column_types.iter().map(null_vector));
                if stage.with_row_id {
                    columns.push(null_vector(&SqlType::BIGINT_UNSIGNED));
                }
            }
            let out = self.projected(Batch::new(rows.len(), columns));
            if self.next.push(out)? == Flow::Done {
                return Ok(Flow::Done);
            }
        }
        Ok(Flow::More)
    }
}

/// The keys, each once, in order if that is wanted; and the input rows of each.
fn grouped(keys: &Keys, sorts: bool) -> (Vec<Vec<u8>>, Groups) {
    let mut order: Vec<(u64, u32)> =
        (0..keys.rows.len() as u32).map(|i| (head(keys.bytes_of(i as usize)), i)).collect();
    if sorts {
        order.sort_unstable_by(|a, b| {
            a.0.cmp(&b.0).then_with(|| keys.bytes_of(a.1 as usize).cmp(keys.bytes_of(b.1 as usize))).then(a.1.cmp(&b.1))
        });
    }
    let mut distinct: Vec<Vec<u8>> = Vec::new();
    let mut groups = Groups { rows: Vec::with_capacity(order.len()), starts: Vec::new() };
    for (_, i) in order {
        let key = keys.bytes_of(i as usize);
        if distinct.last().is_none_or(|k| k != key) {
            distinct.push(key.to_vec());
            groups.starts.push(groups.rows.len() as u32);
        }
        groups.rows.push(keys.rows[i as usize]);
    }
    groups.starts.push(groups.rows.len() as u32);
    (distinct, groups)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_keys_are_looked_up_once() {
        let mut keys = Keys::default();
        for (row, key) in [(0u32, "b"), (1, "abcdefghij"), (3, "b"), (4, "abcdefghi"), (5, "")] {
            keys.rows.push(row);
            keys.bytes.extend(key.as_bytes());
            keys.ends.push(keys.bytes.len() as u32);
        }
        let (distinct, groups) = grouped(&keys, true);
        let wanted: Vec<Vec<u8>> = ["", "abcdefghi", "abcdefghij", "b"].iter().map(|k| k.as_bytes().to_vec()).collect();
        assert_eq!(distinct, wanted);
        assert_eq!(
            (groups.of(0), groups.of(1), groups.of(2), groups.of(3)),
            (&[5][..], &[4][..], &[1][..], &[0, 3][..])
        );
        let (unsorted, _) = grouped(&keys, false);
        assert_eq!(unsorted.len(), 5);
    }
}
