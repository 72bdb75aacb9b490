//! Sort: ORDER BY, with or without LIMIT.
//!
//! ```text
//!   per thread: rows as long columns + normalized key bytes
//!      limit:           rows not below the N-th best so far are dropped at once; the rest is cut to N now and then
//!      memory refused:  the run is sorted and written out, key column and all
//!   finish: each thread's run is sorted; output merges all runs, in memory and on disk, by key bytes
//! ```
//! A key's first eight bytes lie beside its row number, so most comparisons touch nothing else.

use crate::columns::{ColumnAppender, batch_bytes, gather32};
use crate::eval::{Program, eval_all};
use crate::memory::Reservation;
use crate::pipeline::{Down, Flow, Pull, Push, Sink, Source, run_pipeline};
use crate::run::{Run, run_node};
use crate::sort_keys::SortKeyWriter;
use crate::spill::{LazyFile, SpillRun};
use plan::physical::{PlanNode, SortKey};
use std::cmp::Ordering as Order;
use std::collections::BinaryHeap;
use std::sync::Mutex;
use std::sync::atomic::Ordering::Relaxed;

use types::{Collation, Result, SqlType};
use vector::{BATCH_ROWS_MAX, Batch, Chunk, Selection, Vector};

/// Limits above this are sorted like no limit.
const TOP_ROWS_MAX: u64 = 1 << 16;
/// Rows sorted at a stretch: a sort cannot be interrupted, so none is long.
const RUN_ROWS_MAX: usize = 1 << 18;

/// Byte strings end to end.
#[derive(Default, Clone)]
pub struct KeyArena {
    data: Vec<u8>,
    ends: Vec<usize>,
}

impl KeyArena {
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    pub fn get(&self, i: usize) -> &[u8] {
        let start = if i == 0 { 0 } else { self.ends[i - 1] };
        &self.data[start..self.ends[i]]
    }

    fn prefix(&self, i: usize) -> u64 {
        let k = self.get(i);
        let mut p = [0; 8];
        let n = k.len().min(8);
        p[..n].copy_from_slice(&k[..n]);
        u64::from_be_bytes(p)
    }

    fn bytes(&self) -> usize {
        self.data.capacity() + self.ends.capacity() * 8
    }
}

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
    file: LazyFile,
    runs: Mutex<Vec<SortedRun>>,
}

struct SortLocal<'a> {
    sink: &'a SortSink<'a>,
    rows: RunRows,
    memory: Reservation,
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
            file: LazyFile::default(),
            runs: Mutex::default(),
        })
    }

    pub fn spilled_bytes(&self) -> u64 {
        self.file.bytes()
    }

    /// The sorted rows, to be read once by one thread.
    pub fn into_source(self, offset: u64, limit: Option<u64>) -> SortSource<'a> {
        let runs = self.runs.into_inner().expect("no panic while held");
        SortSource { spec: self.spec, runs, offset, limit }
    }
}

impl Sink for SortSink<'_> {
    fn local<'b>(&'b self) -> Result<Box<dyn Push + 'b>> {
        Ok(Box::new(SortLocal {
            sink: self,
            rows: RunRows::new(self.spec.types.len()),
            memory: Reservation::new(&self.spec.run.memory_of(self.spec.node)),
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
            self.rows.keys.data.extend_from_slice(rows.keys.get(r as usize));
            self.rows.keys.ends.push(self.rows.keys.data.len());
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
        let run = SortedRun::Memory(MemoryRun { columns, keys: rows.keys, order, memory });
        self.sink.runs.lock().expect("no panic while held").push(run);
    }

    fn spill(&mut self) -> Result<()> {
        let spec = &self.sink.spec;
        let ctx = spec.run.ctx;
        let order = self.rows.order();
        let rows = std::mem::replace(&mut self.rows, RunRows::new(spec.types.len()));
        let columns: Vec<Chunk> = rows.columns.into_iter().zip(&spec.types).map(|(a, ty)| a.finish(ty)).collect();
        let file = self.sink.file.get_for_runs(ctx)?;
        let mut extents = Vec::new();
        for part in order.chunks(BATCH_ROWS_MAX) {
            ctx.check_killed()?;
            let mut out: Vec<Vector> = columns.iter().map(|c| Vector::flat(gather32(c, part))).collect();
            let mut keys = vector::ChunkBuilder::new(KEY_TYPE.phys(), part.len());
            part.iter().for_each(|&r| keys.push_bytes(rows.keys.get(r as usize)));
            out.push(Vector::flat(keys.finish()));
            extents.push(file.write(&Batch::new(part.len(), out), ctx)?);
        }
        let run = SortedRun::Disk(SpillRun { file, extents });
        self.sink.runs.lock().expect("no panic while held").push(run);
        self.memory.force(0);
        Ok(())
    }
}

impl Push for SortLocal<'_> {
    fn push(&mut self, batch: Batch) -> Result<Flow> {
        let sink = self.sink;
        let spec = &sink.spec;
        let keys = eval_all(&spec.keys, &batch, &spec.run.eval())?;
        let growth = batch_bytes(&batch) + batch.count() * 48;
        if !self.rows.keys.is_empty() && !self.memory.try_resize_sparing(self.rows.bytes() + growth, 1) {
            self.spill()?;
        }
        let mut kept: Vec<u16> = Vec::with_capacity(batch.count());
        let arena = &mut self.rows.keys;
        let (scratch, cutoff) = (&mut self.scratch, &self.cutoff);
        batch.selection.for_each(batch.rows, |i| {
            match cutoff {
                None => spec.writer.write(&keys, i, &mut arena.data),
                Some(cutoff) => {
                    scratch.clear();
                    spec.writer.write(&keys, i, scratch);
                    if &*scratch >= cutoff {
                        return;
                    }
                    arena.data.extend_from_slice(scratch);
                }
            }
            arena.ends.push(arena.data.len());
            kept.push(i as u16);
        });
        let kept = if kept.len() == batch.rows { Selection::All } else { Selection::Some(kept) };
        for (a, v) in self.rows.columns.iter_mut().zip(&batch.columns) {
            a.append(v, &kept, batch.rows);
        }
        if let Some(top) = spec.top
            && self.rows.keys.len() > (2 * top).max(4 * BATCH_ROWS_MAX)
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
        let sink = self.sink;
        if self.rows.keys.is_empty() {
            return Ok(());
        }
        if let Some(top) = sink.spec.top
            && self.rows.keys.len() > top
        {
            self.cut(top);
        }
        self.seal();
        Ok(())
    }
}

/// Merges the runs.
pub struct SortSource<'a> {
    spec: SortSpec<'a>,
    runs: Vec<SortedRun>,
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
            counters.sort_merge_passes.fetch_add(1, Relaxed);
        }
    }
}

impl Source for SortSource<'_> {
    fn local<'b>(&'b self) -> Result<Box<dyn Pull + 'b>> {
        Ok(Box::new(Merge::new(self)?))
    }

    fn workers_max(&self) -> usize {
        1
    }
}

/// A place in a run.
struct Cursor<'a> {
    run: &'a SortedRun,
    at: usize,
    /// Disk runs: the batch that holds `at`, and the number of its first row's extent.
    loaded: Option<Batch>,
    extent: usize,
}

impl Cursor<'_> {
    /// Reads the current row's key into `out`; false at the end.
    fn key(&mut self, out: &mut Vec<u8>) -> Result<bool> {
        out.clear();
        match self.run {
            SortedRun::Memory(run) => match run.order.get(self.at) {
                Some(&r) => out.extend_from_slice(run.keys.get(r as usize)),
                None => return Ok(false),
            },
            SortedRun::Disk(run) => {
                if self.loaded.as_ref().is_none_or(|b| self.at >= b.rows) {
                    let Some(e) = run.extents.get(self.extent) else { return Ok(false) };
                    self.loaded = Some(run.file.read(*e)?);
                    self.extent += 1;
                    self.at = 0;
                }
                let b = self.loaded.as_ref().expect("just loaded");
                out.extend_from_slice(b.columns.last().expect("the key column").bytes(self.at));
            }
        }
        Ok(true)
    }
}

struct Head {
    key: Vec<u8>,
    run: usize,
}

impl PartialEq for Head {
    fn eq(&self, other: &Head) -> bool {
        self.cmp(other) == Order::Equal
    }
}

impl Eq for Head {}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Head) -> Option<Order> {
        Some(self.cmp(other))
    }
}

impl Ord for Head {
    /// Reversed: the heap's greatest is the least key, of the earliest run.
    fn cmp(&self, other: &Head) -> Order {
        other.key.cmp(&self.key).then_with(|| other.run.cmp(&self.run))
    }
}

struct Merge<'a> {
    source: &'a SortSource<'a>,
    cursors: Vec<Cursor<'a>>,
    heap: BinaryHeap<Head>,
    skip: u64,
    left: u64,
}

impl<'a> Merge<'a> {
    fn new(source: &'a SortSource<'a>) -> Result<Merge<'a>> {
        let mut cursors: Vec<Cursor<'a>> =
            source.runs.iter().map(|run| Cursor { run, at: 0, loaded: None, extent: 0 }).collect();
        let mut heap = BinaryHeap::new();
        if cursors.len() > 1 || matches!(source.runs.first(), Some(SortedRun::Disk(_))) {
            for (run, c) in cursors.iter_mut().enumerate() {
                let mut key = Vec::new();
                if c.key(&mut key)? {
                    heap.push(Head { key, run });
                }
            }
        }
        Ok(Merge { source, cursors, heap, skip: source.offset, left: source.limit.unwrap_or(u64::MAX) })
    }

    /// One run in memory: its order is the order.
    fn next_of_one(&mut self) -> Option<Batch> {
        let SortedRun::Memory(MemoryRun { columns, order, .. }) = self.source.runs.first()? else { return None };
        let c = &mut self.cursors[0];
        if self.skip > 0 {
            c.at = (self.skip as usize).min(order.len());
            self.skip = 0;
        }
        let n = (order.len() - c.at).min(BATCH_ROWS_MAX).min(self.left.min(usize::MAX as u64) as usize);
        if n == 0 {
            return None;
        }
        let rows = &order[c.at..c.at + n];
        c.at += n;
        self.left -= n as u64;
        Some(Batch::new(n, columns.iter().map(|c| Vector::flat(gather32(c, rows))).collect()))
    }
}

impl Pull for Merge<'_> {
    fn next(&mut self) -> Result<Option<Batch>> {
        if self.source.runs.len() == 1 && matches!(self.source.runs[0], SortedRun::Memory(_)) {
            return Ok(self.next_of_one());
        }
        let mut out = Interleave::new(&self.source.spec.types, self.cursors.len());
        while out.rows() < BATCH_ROWS_MAX && self.left > 0 {
            let Some(mut head) = self.heap.peek_mut() else { break };
            let run = head.run;
            let c = &mut self.cursors[run];
            if self.skip > 0 {
                self.skip -= 1;
            } else {
                out.take(run, c);
                self.left -= 1;
            }
            c.at += 1;
            if let (SortedRun::Disk(_), Some(b)) = (c.run, &c.loaded)
                && c.at >= b.rows
            {
                // The batch is about to be let go.
                out.settle(run, c);
            }
            if !c.key(&mut head.key)? {
                std::collections::binary_heap::PeekMut::pop(head);
            }
        }
        self.source.spec.run.ctx.check_killed()?;
        Ok(out.finish(&self.cursors))
    }
}

/// Rows taken from several runs in turn, put together a batch at a time: first each run's rows side by side, then all
/// into their order.
struct Interleave<'a> {
    types: &'a [SqlType],
    columns: Vec<ColumnAppender>,
    /// Rows of each run not yet appended.
    waiting: Vec<Vec<u32>>,
    /// For each output row: (run, number among all rows taken from that run's waiting list so far).
    order: Vec<(u32, u32)>,
    /// For each run: (first number, place in `columns`) of each appended stretch.
    placed: Vec<Vec<(u32, u32)>>,
    taken: Vec<u32>,
}

impl<'a> Interleave<'a> {
    fn new(types: &'a [SqlType], runs: usize) -> Interleave<'a> {
        Interleave {
            types,
            columns: types.iter().map(|_| ColumnAppender::default()).collect(),
            waiting: vec![Vec::new(); runs],
            order: Vec::new(),
            placed: vec![Vec::new(); runs],
            taken: vec![0; runs],
        }
    }

    fn rows(&self) -> usize {
        self.order.len()
    }

    fn take(&mut self, run: usize, c: &Cursor<'_>) {
        let row = match c.run {
            SortedRun::Memory(run) => run.order[c.at],
            SortedRun::Disk(_) => c.at as u32,
        };
        self.waiting[run].push(row);
        self.order.push((run as u32, self.taken[run]));
        self.taken[run] += 1;
    }

    /// Appends the run's waiting rows.
    fn settle(&mut self, run: usize, c: &Cursor<'_>) {
        let rows = std::mem::take(&mut self.waiting[run]);
        if rows.is_empty() {
            return;
        }
        let place = self.columns.first().map_or(0, ColumnAppender::len) as u32;
        self.placed[run].push((self.taken[run] - rows.len() as u32, place));
        for (k, a) in self.columns.iter_mut().enumerate() {
            match (c.run, &c.loaded) {
                (SortedRun::Memory(run), _) => a.append_chunk(&gather32(&run.columns[k], &rows), None),
                (SortedRun::Disk(_), Some(b)) => a.append_chunk(&gather32(b.columns[k].chunk().0, &rows), None),
                (SortedRun::Disk(_), None) => unreachable!("rows were taken from a loaded batch"),
            }
        }
    }

    fn finish(mut self, cursors: &[Cursor<'_>]) -> Option<Batch> {
        if self.order.is_empty() {
            return None;
        }
        for (run, c) in cursors.iter().enumerate() {
            self.settle(run, c);
        }
        let positions: Vec<u32> = self
            .order
            .iter()
            .map(|&(run, number)| {
                let stretches = &self.placed[run as usize];
                let s = stretches.partition_point(|(first, _)| *first <= number) - 1;
                stretches[s].1 + number - stretches[s].0
            })
            .collect();
        let n = positions.len();
        let columns = self
            .columns
            .into_iter()
            .zip(self.types)
            .map(|(a, ty)| Vector::flat(gather32(&a.finish(ty), &positions)))
            .collect();
        Some(Batch::new(n, columns))
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
    run.note_spill(node.id, sink.spilled_bytes());
    let source = sink.into_source(offset, limit);
    source.count();
    run_pipeline(run, node.id, &source, down)
}
