//! Sort: ORDER BY, with or without LIMIT.
//!
//! ```text
//!   per thread: rows as long columns + normalized key bytes
//!      limit:           rows not below the N-th best so far are dropped at once; the rest is cut to N now and then
//!      memory refused:  a run is sorted and written out, key column and all
//!   finish: each thread's run is sorted; output merges all runs, in memory and on disk, by key bytes
//!           ([`merge`]; of many runs on disk, some are merged into longer ones first)
//! ```
//! The threads keep to sort_buffer_size together, where that is set.
//! A key's first eight bytes lie beside its row number, so most comparisons touch nothing else.

mod arena;
mod merge;

use crate::columns::{ColumnAppender, batch_bytes, gather32, string_bytes};
use crate::eval::{Program, are_heavy, check_row, eval_all_within, parts_of};
use crate::memory::{MemoryAccountant, Reservation};
use crate::pipeline::{Down, Flow, Pull, Push, Sink, Source, run_pipeline};
use crate::run::{Run, run_node};
use crate::sort_keys::SortKeyWriter;
use crate::spill::{LazyFile, SpillRun};
use arena::KeyArena;
use merge::{Merge, merge_on_disk};
use plan::physical::{PlanNode, SortKey};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};
use types::{Collation, Result, SqlType};
use vector::{BATCH_ROWS_MAX, Batch, Chunk, Selection, Vector};

/// Limits above this are sorted like no limit.
const TOP_ROWS_MAX: u64 = 1 << 16;
/// So few rows, the first of a limit, are no run.
const FEW_ROWS: usize = 64;
/// Rows of so few bytes, with their keys.
const SHORT_ROW_BYTES: usize = 4096;
/// Rows behind the first of a limit are kept until there are many, or they take so much.
const CUT_BYTES: usize = 4 << 20;
/// Rows sorted at a stretch: a sort cannot be interrupted, so none is long.
const RUN_ROWS_MAX: usize = 1 << 18;

/// Rows of one thread, in memory.
struct RunRows {
    columns: Vec<ColumnAppender>,
    keys: KeyArena,
}

impl RunRows {
    fn new(columns: usize) -> RunRows {
        RunRows { columns: (0..columns).map(|_| ColumnAppender::default()).collect(), keys: KeyArena::default() }
    }

    fn bytes(&self) -> usize {
        // 16: the sort's own pairs.
        self.keys.bytes() + self.keys.len() * 16 + self.columns.iter().map(ColumnAppender::bytes).sum::<usize>()
    }

    /// Row numbers in order of their keys, ties in order of arrival.
    fn order(&self) -> Vec<u32> {
        let mut pairs: Vec<(u64, u32)> = (0..self.keys.len()).map(|i| (self.keys.prefix(i), i as u32)).collect();
        pairs.sort_unstable_by(|a, b| {
            a.0.cmp(&b.0)
                .then_with(|| self.keys.get(a.1 as usize).cmp(self.keys.get(b.1 as usize)))
                .then_with(|| a.1.cmp(&b.1))
        });
        pairs.into_iter().map(|p| p.1).collect()
    }
}

/// A sorted run.
enum SortedRun {
    Memory(MemoryRun),
    /// The last column of each batch is the key.
    Disk(SpillRun),
}

impl SortedRun {
    fn rows(&self) -> u64 {
        match self {
            SortedRun::Memory(run) => run.order.len() as u64,
            SortedRun::Disk(run) => run.extents.iter().map(|e| u64::from(e.rows)).sum(),
        }
    }
}

/// A run in memory: rows as they came, and their order.
struct MemoryRun {
    columns: Vec<Chunk>,
    keys: KeyArena,
    order: Vec<u32>,
    memory: Reservation,
}

impl MemoryRun {
    /// How many of the first `rows` make a batch whose keys have at most `max` bytes; one at least.
    fn rows_within(&self, rows: &[u32], max: usize) -> usize {
        let mut bytes = 0;
        let fits = |&&r: &&u32| {
            bytes += self.keys.get(r as usize).len();
            bytes <= max
        };
        rows.iter().take(BATCH_ROWS_MAX).take_while(fits).count().max(1)
    }
}

impl Drop for MemoryRun {
    fn drop(&mut self) {
        let (columns, keys) = (std::mem::take(&mut self.columns), std::mem::take(&mut self.keys));
        self.memory.free((columns, keys));
    }
}

/// What is sorted, how.
struct SortSpec<'a> {
    run: Run<'a>,
    node: u32,
    keys: Vec<Program>,
    writer: SortKeyWriter,
    types: Vec<SqlType>,
    /// Rows that can be output at most.
    top: Option<usize>,
}

/// Shared state.
pub struct SortSink<'a> {
    spec: SortSpec<'a>,
    memory: Arc<MemoryAccountant>,
    file: LazyFile,
    runs: Mutex<Vec<SortedRun>>,
}

struct SortLocal<'a> {
    sink: &'a SortSink<'a>,
    rows: RunRows,
    memory: Reservation,
    /// Runs that are sorted already.
    sealed: Vec<MemoryRun>,
    /// With `top`: keys not below this cannot be among the first.
    cutoff: Option<Vec<u8>>,
    scratch: Vec<u8>,
}

const KEY_TYPE: SqlType = SqlType::varchar(u32::MAX, Collation::Binary);

impl<'a> SortSink<'a> {
    /// `node`: whose memory it is. `types`: the input's columns. `top`: rows wanted at most.
    pub fn new(
        run: &Run<'a>,
        node: u32,
        types: Vec<SqlType>,
        keys: &[SortKey],
        top: Option<u64>,
    ) -> Result<SortSink<'a>> {
        Ok(SortSink {
            spec: SortSpec {
                run: *run,
                node,
                keys: Program::all(keys.iter().map(|k| &k.expr), &run.eval())?,
                writer: SortKeyWriter::new(keys.iter().map(|k| (k.expr.ty, k.descending)).collect()),
                types,
                top: top.filter(|&t| t <= TOP_ROWS_MAX).map(|t| t as usize),
            },
            memory: run.sort_memory_of(node),
            file: LazyFile::default(),
            runs: Mutex::default(),
        })
    }

    /// The sorted rows, to be read once by one thread.
    pub fn into_source(self, offset: u64, limit: Option<u64>) -> Result<SortSource<'a>> {
        let runs = self.runs.into_inner().expect("no panic while held");
        let (runs, merges) = merge_on_disk(&self.spec, &self.file, runs)?;
        self.spec.run.note_spill(self.spec.node, self.file.bytes());
        Ok(SortSource { spec: self.spec, runs, merges, offset, limit })
    }
}

impl Sink for SortSink<'_> {
    fn local<'b>(&'b self) -> Result<Box<dyn Push + 'b>> {
        Ok(Box::new(SortLocal {
            sink: self,
            rows: RunRows::new(self.spec.types.len()),
            memory: Reservation::new(&self.memory),
            sealed: Vec::new(),
            cutoff: None,
            scratch: Vec::new(),
        }))
    }
}

impl SortLocal<'_> {
    /// Keeps the first `n` rows by key.
    fn cut(&mut self, n: usize) {
        let order = self.rows.order();
        let kept = &order[..n.min(order.len())];
        let rows = std::mem::replace(&mut self.rows, RunRows::new(self.sink.spec.types.len()));
        if let Some(&last) = kept.last()
            && kept.len() == n
        {
            self.cutoff = Some(rows.keys.get(last as usize).to_vec());
        }
        for &r in kept {
            self.rows.keys.push(rows.keys.get(r as usize));
        }
        for ((to, from), ty) in self.rows.columns.iter_mut().zip(rows.columns).zip(&self.sink.spec.types) {
            to.append_chunk(&gather32(&from.finish(ty), kept), None);
        }
    }

    /// Sorts what has been gathered, as a run in memory.
    fn seal(&mut self) {
        let spec = &self.sink.spec;
        let order = self.rows.order();
        let rows = std::mem::replace(&mut self.rows, RunRows::new(spec.types.len()));
        let columns = rows.columns.into_iter().zip(&spec.types).map(|(a, ty)| a.finish(ty)).collect();
        let memory = self.memory.take();
        self.sealed.push(MemoryRun { columns, keys: rows.keys, order, memory });
    }

    /// Whether there is memory for another batch.
    fn is_granted(&mut self, growth: usize) -> bool {
        if self.rows.keys.is_empty() || self.memory.try_resize_sparing(self.rows.bytes() + growth, 1) {
            return true;
        }
        match self.sink.spec.top {
            // The next batch is mostly dropped by the cutoff.
            Some(top) if self.cutoff.is_some() || self.rows.keys.len() > top => {
                if self.rows.keys.len() > top {
                    self.cut(top);
                }
                let bytes = self.rows.bytes();
                self.rows.keys.len() <= FEW_ROWS && bytes <= FEW_ROWS * SHORT_ROW_BYTES
                    || self.memory.try_resize_sparing(bytes, 1)
            }
            _ => false,
        }
    }

    /// Writes out the rows gathered; where they make a short run, one sealed before as well, so that the next is
    /// longer.
    fn spill(&mut self) -> Result<()> {
        let is_short = self.rows.keys.len() < RUN_ROWS_MAX / 2;
        self.seal();
        for _ in 0..1 + usize::from(is_short) {
            let Some(run) = self.sealed.pop() else { break };
            let run = self.write(&run)?;
            self.sink.runs.lock().expect("no panic while held").push(SortedRun::Disk(run));
        }
        Ok(())
    }

    fn write(&self, run: &MemoryRun) -> Result<SpillRun> {
        let ctx = self.sink.spec.run.ctx;
        let file = self.sink.file.get_for_runs(ctx)?;
        let mut extents = Vec::new();
        let mut rest = &run.order[..];
        while !rest.is_empty() {
            ctx.check_killed()?;
            let (part, later) = rest.split_at(run.rows_within(rest, ctx.extent_bytes()));
            rest = later;
            let mut out: Vec<Vector> = run.columns.iter().map(|c| Vector::flat(gather32(c, part))).collect();
            let mut keys = vector::ChunkBuilder::new(KEY_TYPE.phys(), part.len());
            part.iter().for_each(|&r| keys.push_bytes(run.keys.get(r as usize)));
            out.push(Vector::flat(keys.finish()));
            file.write(&Batch::new(part.len(), out), ctx, &mut extents)?;
        }
        Ok(SpillRun { file, extents })
    }
}

impl Push for SortLocal<'_> {
    fn push(&mut self, batch: Batch) -> Result<Flow> {
        let sink = self.sink;
        let spec = &sink.spec;
        let keys = match eval_all_within(&spec.keys, &batch, &spec.run)? {
            Some(keys) if !are_heavy(&batch.columns, &batch, spec.run.ctx.part_bytes()) => keys,
            _ => {
                for part in parts_of(&batch) {
                    self.push(part)?;
                }
                return Ok(Flow::More);
            }
        };
        // A string's key may have twice its bytes.
        check_row(&batch.columns, &batch)?;
        let growth = batch_bytes(&batch) + batch.count() * 48 + 2 * string_bytes(&keys, &batch);
        if !self.is_granted(growth) {
            self.spill()?;
        }
        let mut kept: Vec<u16> = Vec::with_capacity(batch.count());
        let arena = &mut self.rows.keys;
        let (scratch, cutoff) = (&mut self.scratch, &self.cutoff);
        batch.selection.for_each(batch.rows, |i| {
            match cutoff {
                None => arena.push_with(|out| spec.writer.write(&keys, i, out)),
                Some(cutoff) => {
                    scratch.clear();
                    spec.writer.write(&keys, i, scratch);
                    if &*scratch >= cutoff {
                        return;
                    }
                    arena.push(scratch);
                }
            }
            kept.push(i as u16);
        });
        let kept = if kept.len() == batch.rows { Selection::All } else { Selection::Some(kept) };
        for (a, v) in self.rows.columns.iter_mut().zip(&batch.columns) {
            a.append(v, &kept, batch.rows);
        }
        if let Some(top) = spec.top
            && self.rows.keys.len() > 2 * top
            && (self.rows.keys.len() > 4 * BATCH_ROWS_MAX || self.rows.bytes() > CUT_BYTES)
        {
            self.cut(top);
        }
        self.memory.force(self.rows.bytes());
        if self.rows.keys.len() >= RUN_ROWS_MAX {
            self.seal();
        }
        Ok(Flow::More)
    }

    fn finish(&mut self) -> Result<()> {
        if let Some(top) = self.sink.spec.top
            && self.rows.keys.len() > top
        {
            self.cut(top);
        }
        if !self.rows.keys.is_empty() {
            self.seal();
        }
        let mut runs = self.sink.runs.lock().expect("no panic while held");
        runs.extend(self.sealed.drain(..).map(SortedRun::Memory));
        Ok(())
    }
}

/// Merges the runs.
pub struct SortSource<'a> {
    spec: SortSpec<'a>,
    runs: Vec<SortedRun>,
    /// Merges that have been made on disk.
    merges: u64,
    offset: u64,
    limit: Option<u64>,
}

impl SortSource<'_> {
    /// Counts the sort among those of the statement.
    pub fn count(&self) {
        let counters = self.spec.run.ctx.counters;
        let rows: u64 = self.runs.iter().map(SortedRun::rows).sum();
        let wanted = self.limit.map_or(u64::MAX, |l| l.saturating_add(self.offset));
        counters.sort_rows.fetch_add(rows.min(wanted), Relaxed);
        if self.runs.iter().any(|r| matches!(r, SortedRun::Disk(_))) {
            counters.sort_merge_passes.fetch_add(self.merges + 1, Relaxed);
        }
    }
}

impl Source for SortSource<'_> {
    fn local<'b>(&'b self) -> Result<Box<dyn Pull + 'b>> {
        let SortSource { spec, runs, offset, limit, .. } = self;
        Ok(Box::new(Merge::new(&spec.run, runs, &spec.types, *offset, *limit)?))
    }

    fn workers_max(&self) -> usize {
        1
    }
}

pub fn run_sort<'a>(
    run: &Run<'a>,
    node: &'a PlanNode,
    input: &'a PlanNode,
    keys: &[SortKey],
    limit: Option<u64>,
    offset: u64,
    down: &Down<'_>,
) -> Result<()> {
    if limit == Some(0) {
        return Ok(());
    }
    let sink = SortSink::new(
        run,
        node.id,
        input.output.iter().map(|c| c.ty).collect(),
        keys,
        limit.map(|l| l.saturating_add(offset)),
    )?;
    run_node(run, input, &Down::sink(node.id, &sink))?;
    let source = sink.into_source(offset, limit)?;
    source.count();
    run_pipeline(run, node.id, &source, down)
}
