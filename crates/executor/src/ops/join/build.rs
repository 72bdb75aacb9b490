//! The build side: collects rows and keys by thread, then makes one table.

use super::JoinSpec;
use super::null_aware::NullFacts;
use super::table::{Lookup, Pairs};
use crate::columns::{ColumnAppender, batch_bytes, packed};
use crate::eval::{check_row, eval_made_within, parts_of};
use crate::keys::{KeyEncoder, KeyForm, Keys};
use crate::memory::Reservation;
use crate::ops::sideways::int_keys;
use crate::pipeline::{Flow, Push, Sink, parallel_tasks};
use crate::spill::{LazyFile, SpillRun, SpillWriter};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use types::Result;
use vector::{Batch, Chunk, Vector};

/// Ways a join on disk is split, a level.
pub const SPILL_BITS: u32 = 4;
pub const SPILL_PARTITIONS: usize = 1 << SPILL_BITS;
/// Past this depth a partition is joined in memory whatever it takes: its keys are all the same.
pub const SPILL_DEPTH_MAX: u32 = 8;

/// The rows of the build side, ready to be matched.
pub struct JoinTable {
    pub columns: Vec<Chunk>,
    rows: usize,
    pub lookup: Lookup,
    pub null_facts: Option<NullFacts>,
    _memory: Vec<Reservation>,
}

impl JoinTable {
    pub fn row_count(&self) -> usize {
        self.rows
    }

    pub fn bytes(&self) -> usize {
        self._memory.iter().map(Reservation::bytes).sum()
    }
}

impl Drop for JoinTable {
    fn drop(&mut self) {
        if let Some(mut all) = self._memory.pop() {
            self._memory.drain(..).for_each(|m| all.absorb(m));
            let columns = std::mem::take(&mut self.columns);
            all.free((columns, std::mem::replace(&mut self.lookup, Lookup::empty())));
        }
    }
}

pub struct Built {
    pub table: JoinTable,
    /// For each wanted sideways key, each thread's values; `None` if they are not integer-like.
    pub sideways_keys: Vec<Option<Vec<Vec<i64>>>>,
}

pub enum BuildOutcome {
    Memory(Box<Built>),
    /// The whole build side, by partition.
    Spilled(Vec<Vec<SpillRun>>),
}

/// Rows of one thread: batches, with the selection of those that have a key.
#[derive(Default)]
struct Part {
    batches: Vec<PartBatch>,
    /// By wanted sideways key.
    sideways: Vec<Option<Vec<i64>>>,
}

struct PartBatch {
    batch: Batch,
    keys: Keys,
    /// Among the batch's selected rows (by ordinal): those with a key; `None` = all.
    with_key: Option<Vec<u32>>,
    /// Evaluated keys, kept for the null-aware kinds alone.
    key_columns: Vec<Vector>,
}

/// Shared state.
pub struct BuildSink<'a> {
    spec: &'a JoinSpec<'a>,
    wanted: &'a [usize],
    depth: u32,
    file: LazyFile,
    spilling: AtomicBool,
    parts: Mutex<Vec<(Part, Reservation)>>,
    spilled: Mutex<Vec<Vec<SpillRun>>>,
}

struct BuildLocal<'a> {
    sink: &'a BuildSink<'a>,
    encoder: KeyEncoder,
    part: Part,
    memory: Reservation,
    writers: Option<Vec<SpillWriter>>,
}

impl<'a> BuildSink<'a> {
    pub fn new(spec: &'a JoinSpec<'a>, wanted: &'a [usize]) -> BuildSink<'a> {
        BuildSink::at_depth(spec, wanted, 0)
    }

    pub fn at_depth(spec: &'a JoinSpec<'a>, wanted: &'a [usize], depth: u32) -> BuildSink<'a> {
        BuildSink {
            spec,
            wanted,
            depth,
            file: LazyFile::default(),
            spilling: AtomicBool::new(false),
            parts: Mutex::default(),
            spilled: Mutex::new(vec![Vec::new(); SPILL_PARTITIONS]),
        }
    }

    /// Not at the greatest depth: there is no use in it, or the rows are a part of NOT IN's (see [`super::parts`]).
    fn may_spill(&self) -> bool {
        self.depth < SPILL_DEPTH_MAX
    }

    pub fn finish(self) -> Result<BuildOutcome> {
        let run = &self.spec.run;
        let parts = self.parts.into_inner().expect("no panic while held");
        if self.spilling.load(Ordering::Relaxed) {
            // Threads that finished before the first refusal still hold theirs.
            let mut spilled = self.spilled.into_inner().expect("no panic while held");
            let file = self.file.get_for_runs(run.ctx)?;
            let mut writers: Vec<SpillWriter> =
                (0..SPILL_PARTITIONS).map(|_| SpillWriter::new(file.clone(), &self.spec.build_types)).collect();
            let mut encoder = KeyEncoder::new(self.spec.layout.clone());
            for (part, memory) in parts {
                for b in part.batches {
                    spill_rows(&mut writers, &mut encoder, &self.spec.build_keys, &b.batch, self.depth, self.spec)?;
                }
                drop(memory);
            }
            for (p, w) in writers.into_iter().enumerate() {
                spilled[p].push(w.finish(run.ctx)?);
            }
            run.note_spill(self.spec.node, file.bytes());
            return Ok(BuildOutcome::Spilled(spilled));
        }
        let mut sideways: Vec<Option<Vec<Vec<i64>>>> = self.wanted.iter().map(|_| Some(Vec::new())).collect();
        let mut memory = Vec::new();
        let mut batches = Vec::new();
        for (part, m) in parts {
            for (all, one) in sideways.iter_mut().zip(part.sideways) {
                match (all.as_mut(), one) {
                    (Some(lists), Some(one)) => lists.push(one),
                    _ => *all = None,
                }
            }
            batches.extend(part.batches);
            memory.push(m);
        }
        let table = make_table(self.spec, batches, memory)?;
        Ok(BuildOutcome::Memory(Box::new(Built { table, sideways_keys: sideways })))
    }
}

/// Rows whose keys go into the table together, and bytes of theirs.
const GROUP_ROWS: usize = 32 << 10;
const GROUP_BYTES: usize = 16 << 20;

fn make_table(spec: &JoinSpec<'_>, batches: Vec<PartBatch>, mut memory: Vec<Reservation>) -> Result<JoinTable> {
    let run = &spec.run;
    let rows: usize = batches.iter().map(|b| b.batch.count()).sum();
    let columns: Vec<Mutex<Chunk>> =
        spec.build_types.iter().map(|ty| Mutex::new(crate::columns::null_chunk(ty, 0))).collect();
    // Columns that nobody reads again are not put together: keys live in the table.
    let used = used_build_columns(spec);
    parallel_tasks(run, columns.len(), &|c| {
        if !used[c] {
            return Ok(());
        }
        let mut a = ColumnAppender::default();
        for b in &batches {
            run.ctx.check_killed()?;
            a.append(&b.batch.columns[c], &b.batch.selection, b.batch.rows);
        }
        *columns[c].lock().expect("no panic while held") = a.finish(&spec.build_types[c]);
        Ok(())
    })?;
    let null_facts = if spec.is_null_aware() && !spec.needs_null_flags_only() {
        let keys: Vec<(&[Vector], &Batch)> = batches.iter().map(|b| (&b.key_columns[..], &b.batch)).collect();
        Some(NullFacts::new(spec, &keys)?)
    } else {
        None
    };
    // One list a few batches, so that the parallel build has tasks of even size.
    let mut pairs = Pairs::new(spec.layout.form);
    let mut first_row = 0u32;
    let mut group = Keys::default();
    let mut group_rows: Vec<u32> = Vec::new();
    for b in batches {
        match &b.with_key {
            None => group_rows.extend((0..b.keys.hashes.len() as u32).map(|k| first_row + k)),
            Some(ordinals) => group_rows.extend(ordinals.iter().map(|&k| first_row + k)),
        }
        first_row += b.batch.count() as u32;
        append_keys(&mut group, b.keys, spec.layout.form);
        if group_rows.len() >= GROUP_ROWS || group.words.heap_bytes() >= GROUP_BYTES {
            run.ctx.check_killed()?;
            pairs.add(&group, group_rows.drain(..));
            group = Keys::default();
        }
    }
    if !group_rows.is_empty() {
        pairs.add(&group, group_rows.drain(..));
    }
    let lookup = Lookup::build(run, pairs)?;
    let mut more = Reservation::new(&spec.memory);
    more.force(lookup.bytes());
    memory.push(more);
    let columns = columns.into_iter().map(|c| c.into_inner().expect("no panic while held")).collect();
    Ok(JoinTable { columns, rows, lookup, null_facts, _memory: memory })
}

fn append_keys(to: &mut Keys, from: Keys, form: KeyForm) {
    use crate::keys::Words;
    if to.hashes.is_empty() {
        *to = from;
        return;
    }
    to.hashes.extend(from.hashes);
    match (&mut to.words, from.words) {
        (Words::U64(a), Words::U64(b)) => a.extend(b),
        (Words::U128(a), Words::U128(b)) => a.extend(b),
        (Words::Bytes { data, ends }, Words::Bytes { data: more, ends: more_ends }) => {
            let base = data.len() as u32;
            data.extend(more);
            ends.extend(more_ends.into_iter().map(|e| e + base));
        }
        _ => panic!("keys of form {form:?} mixed with others"),
    }
}

/// Which build columns are output or read by the residual.
pub fn used_build_columns(spec: &JoinSpec<'_>) -> Vec<bool> {
    use plan::physical::JoinKind::*;
    let probe_columns = spec.probe_types.len();
    let mut used = vec![false; spec.build_types.len()];
    for &p in spec.project {
        let at = match spec.kind {
            Inner | Left | Right | Single => p.checked_sub(probe_columns),
            RightSemi | RightAnti => Some(p),
            Semi | Anti | Mark { .. } | NullAwareAnti => None,
        };
        if let Some(c) = at {
            used[c] = true;
        }
    }
    for c in spec.residual_columns.iter().filter_map(|c| c.checked_sub(probe_columns)) {
        used[c] = true;
    }
    used
}

/// Sends a batch's rows to the writers of their partitions; rows without key to the first. Answers whether there were
/// such.
pub fn spill_rows(
    writers: &mut [SpillWriter],
    encoder: &mut KeyEncoder,
    key_programs: &[crate::eval::Program],
    batch: &Batch,
    depth: u32,
    spec: &JoinSpec<'_>,
) -> Result<bool> {
    let Some(columns) = eval_made_within(key_programs, batch, &spec.run.eval())? else {
        let mut any_null = false;
        for part in parts_of(batch) {
            any_null |= spill_rows(writers, encoder, key_programs, &part, depth, spec)?;
        }
        return Ok(any_null);
    };
    let valid = encoder.valid_positions(&columns, batch);
    let mut keys = Keys::default();
    encoder.encode(&columns, &valid, batch.rows, &mut keys);
    let mut out: Vec<Vec<u16>> = vec![Vec::new(); SPILL_PARTITIONS];
    let with_key = valid.to_positions(batch.rows);
    let mut j = 0;
    batch.selection.for_each(batch.rows, |i| {
        let p = if j < with_key.len() && with_key[j] as usize == i {
            let h = keys.hashes[j];
            j += 1;
            (h >> (64 - SPILL_BITS * (depth + 1))) as usize & (SPILL_PARTITIONS - 1)
        } else {
            0
        };
        out[p].push(i as u16);
    });
    for (w, positions) in writers.iter_mut().zip(&out) {
        if !positions.is_empty() {
            w.append(&batch.columns, positions, batch.rows, spec.run.ctx)?;
        }
    }
    Ok(with_key.len() < batch.count())
}

impl Sink for BuildSink<'_> {
    fn local<'b>(&'b self) -> Result<Box<dyn Push + 'b>> {
        Ok(Box::new(BuildLocal {
            sink: self,
            encoder: KeyEncoder::new(self.spec.layout.clone()),
            part: Part { batches: Vec::new(), sideways: self.wanted.iter().map(|_| Some(Vec::new())).collect() },
            memory: Reservation::new(&self.spec.memory),
            writers: None,
        }))
    }
}

impl BuildLocal<'_> {
    fn add(&mut self, batch: Batch) -> Result<()> {
        if self.writers.is_some() { self.spill(&batch) } else { self.keep(batch) }
    }

    fn keep(&mut self, batch: Batch) -> Result<()> {
        let spec = self.sink.spec;
        let mut batch = packed(batch);
        let Some(columns) = eval_made_within(&spec.build_keys, &batch, &spec.run.eval())? else {
            return parts_of(&batch).try_for_each(|part| self.add(part));
        };
        check_row(&columns, &batch)?;
        let valid = self.encoder.valid_positions(&columns, &batch);
        let mut with_key = None;
        spec.note_build_rows(batch.count(), valid.count(batch.rows) != batch.count());
        if valid.count(batch.rows) != batch.count() {
            if spec.drops_build_nulls() {
                batch.selection = valid.clone();
                if batch.count() == 0 {
                    return Ok(());
                }
            } else {
                let positions = batch.selection.to_positions(batch.rows);
                let keyed = valid.to_positions(batch.rows);
                let mut ordinals = Vec::with_capacity(keyed.len());
                let mut k = 0;
                for (ordinal, p) in positions.iter().enumerate() {
                    if k < keyed.len() && keyed[k] == *p {
                        ordinals.push(ordinal as u32);
                        k += 1;
                    }
                }
                with_key = Some(ordinals);
            }
        }
        let mut keys = Keys::default();
        self.encoder.encode(&columns, &valid, batch.rows, &mut keys);
        for (list, &key) in self.part.sideways.iter_mut().zip(self.sink.wanted) {
            if let Some(values) = list
                && !int_keys(&columns[key], &valid, batch.rows, values)
            {
                *list = None;
            }
        }
        // Keys are in memory once more as they go into the table.
        let bytes = batch_bytes(&batch) + keys.hashes.len() * 48 + 2 * keys.words.heap_bytes();
        let key_columns = if spec.is_null_aware() && !spec.needs_null_flags_only() { columns } else { Vec::new() };
        // Only what is read again is kept.
        let used = used_build_columns(spec);
        if !self.sink.may_spill() {
            let all = self.memory.bytes() + bytes;
            if spec.is_null_aware() {
                self.memory.hold(all, "The rows of NOT IN")?;
            } else if spec.joins_in_parts() {
                self.memory.force(all);
            } else {
                self.memory.hold_long(all, "The rows of a join's key")?;
            }
            drop_unused(&mut batch, &used);
        } else if !self.sink.spilling.load(Ordering::Relaxed) && self.is_granted(self.memory.bytes() + bytes) {
            // Keys are evaluated anew if rows must be spilled later, so all columns stay.
        } else {
            self.sink.spilling.store(true, Ordering::Relaxed);
            return self.spill(&batch);
        }
        self.part.batches.push(PartBatch { batch, keys, with_key, key_columns });
        Ok(())
    }

    /// A partition of one batch is not split further.
    fn is_granted(&mut self, bytes: usize) -> bool {
        let depth = self.sink.depth;
        if depth > 0 && self.part.batches.is_empty() {
            self.memory.force(bytes);
            return true;
        }
        self.memory.try_resize_sparing(bytes, depth.min(3) + 1)
    }

    fn spill(&mut self, batch: &Batch) -> Result<()> {
        let (sink, spec) = (self.sink, self.sink.spec);
        if self.writers.is_none() {
            let file = sink.file.open(spec.run.ctx, spec.is_table && sink.depth == 0)?;
            self.writers =
                Some((0..SPILL_PARTITIONS).map(|_| SpillWriter::new(file.clone(), &spec.build_types)).collect());
        }
        let writers = self.writers.as_mut().expect("just set");
        for b in std::mem::take(&mut self.part.batches) {
            spill_rows(writers, &mut self.encoder, &spec.build_keys, &b.batch, sink.depth, spec)?;
        }
        self.memory.force(0);
        let any_null = spill_rows(writers, &mut self.encoder, &spec.build_keys, batch, sink.depth, spec)?;
        spec.note_build_rows(batch.count(), any_null);
        Ok(())
    }
}

fn drop_unused(batch: &mut Batch, used: &[bool]) {
    for (c, used) in batch.columns.iter_mut().zip(used) {
        if !used {
            *c = Vector::Const(std::sync::Arc::new(crate::columns::null_chunk(&types::SqlType::Null, 1)));
        }
    }
}

impl Push for BuildLocal<'_> {
    fn push(&mut self, batch: Batch) -> Result<Flow> {
        self.add(batch)?;
        Ok(Flow::More)
    }

    fn finish(&mut self) -> Result<()> {
        let sink = self.sink;
        if let Some(writers) = self.writers.take() {
            let mut spilled = sink.spilled.lock().expect("no panic while held");
            for (p, w) in writers.into_iter().enumerate() {
                spilled[p].push(w.finish(sink.spec.run.ctx)?);
            }
            return Ok(());
        }
        let memory = self.memory.take();
        let part = std::mem::take(&mut self.part);
        sink.parts.lock().expect("no panic while held").push((part, memory));
        Ok(())
    }
}
