//! Collecting an operator's rows, in memory or, when refused, in a temporary file; and handing batches out again.

use crate::columns::{batch_bytes, packed};
use crate::memory::{MemoryAccountant, Reservation};
use crate::ops::simple::{row_values, slice_selected};
use crate::pipeline::{Down, Flow, Pull, Push, Sink, Source};
use crate::run::{Run, run_node};
use crate::spill::{Extent, LazyFile};
use plan::physical::PlanNode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use types::{Result, SqlType, Value};
use vector::Batch;

/// What rows are kept as.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// An internal temporary table: it keeps to tmp_table_size, and is counted if it goes to disk.
    Table,
    /// A join's buffer, a subquery's answer.
    Rows,
}

impl Keep {
    fn memory(self, run: &Run<'_>, node: u32) -> Arc<MemoryAccountant> {
        match self {
            Keep::Table => run.table_memory_of(node),
            Keep::Rows => run.memory_of(node),
        }
    }
}

/// Rows kept for reading more than once, each part in memory or on disk.
pub struct Stored {
    parts: Vec<Part>,
    file: Arc<LazyFile>,
    _memory: Vec<Reservation>,
}

pub(crate) enum Part {
    Memory(Batch),
    Disk(Extent),
}

impl Part {
    fn rows(&self) -> u64 {
        match self {
            Part::Memory(b) => b.count() as u64,
            Part::Disk(e) => e.rows as u64,
        }
    }

    /// The rows, read back if they are on disk.
    pub fn batch(&self, run: &Run<'_>, file: &LazyFile) -> Result<Batch> {
        match self {
            Part::Memory(b) => Ok(b.clone()),
            Part::Disk(e) => file.get_for_runs(run.ctx)?.read(*e),
        }
    }
}

impl Stored {
    pub fn batch_count(&self) -> usize {
        self.parts.len()
    }

    pub fn rows(&self) -> u64 {
        self.parts.iter().map(Part::rows).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    pub fn spilled_bytes(&self) -> u64 {
        self.file.bytes()
    }

    /// The `i`th batch, read back if it is on disk.
    pub fn batch(&self, run: &Run<'_>, i: usize) -> Result<Batch> {
        self.parts[i].batch(run, &self.file)
    }
}

/// Keeps batches, in memory as long as that is granted, then in the file.
pub(crate) struct Store<'a> {
    run: Run<'a>,
    pub parts: Vec<Part>,
    pub file: Arc<LazyFile>,
    pub memory: Reservation,
    keep: Keep,
    full: bool,
}

impl<'a> Store<'a> {
    pub fn new(run: &Run<'a>, node: u32, file: Arc<LazyFile>, keep: Keep) -> Store<'a> {
        Store::charged(run, file, keep, &keep.memory(run, node))
    }

    fn charged(run: &Run<'a>, file: Arc<LazyFile>, keep: Keep, memory: &Arc<MemoryAccountant>) -> Store<'a> {
        Store { run: *run, parts: Vec::new(), file, memory: Reservation::new(memory), keep, full: false }
    }

    pub fn push(&mut self, batch: Batch) -> Result<()> {
        let batch = packed(batch);
        let bytes = self.memory.bytes() + batch_bytes(&batch);
        if !self.full && self.memory.try_resize_sparing(bytes, 1) {
            self.parts.push(Part::Memory(batch));
        } else {
            self.full = true;
            let ctx = self.run.ctx;
            let file = self.file.open(ctx, self.keep == Keep::Table)?;
            let mut extents = Vec::new();
            file.write(&batch, ctx, &mut extents)?;
            self.parts.extend(extents.into_iter().map(Part::Disk));
        }
        Ok(())
    }

    pub fn finish(self) -> Stored {
        Stored { parts: self.parts, file: self.file, _memory: vec![self.memory] }
    }
}

/// Shared state: every thread's batches.
pub struct CollectSink<'a> {
    run: Run<'a>,
    file: Arc<LazyFile>,
    keep: Keep,
    memory: Arc<MemoryAccountant>,
    parts: Mutex<(Vec<Part>, Vec<Reservation>)>,
}

struct CollectLocal<'a> {
    sink: &'a CollectSink<'a>,
    store: Store<'a>,
}

impl<'a> CollectSink<'a> {
    /// `node`: whose memory it is.
    fn new(run: &Run<'a>, node: u32, file: Arc<LazyFile>, keep: Keep) -> CollectSink<'a> {
        CollectSink { run: *run, file, keep, memory: keep.memory(run, node), parts: Mutex::default() }
    }

    fn finish(self) -> Stored {
        let (parts, memory) = self.parts.into_inner().expect("no panic while held");
        Stored { parts, file: self.file, _memory: memory }
    }
}

impl Sink for CollectSink<'_> {
    fn local<'b>(&'b self) -> Result<Box<dyn Push + 'b>> {
        Ok(Box::new(CollectLocal {
            sink: self,
            store: Store::charged(&self.run, self.file.clone(), self.keep, &self.memory),
        }))
    }
}

impl Push for CollectLocal<'_> {
    fn push(&mut self, batch: Batch) -> Result<Flow> {
        self.store.push(batch)?;
        Ok(Flow::More)
    }

    fn finish(&mut self) -> Result<()> {
        let mut shared = self.sink.parts.lock().expect("no panic while held");
        shared.0.append(&mut self.store.parts);
        shared.1.push(self.store.memory.take());
        Ok(())
    }
}

/// All rows of `node`.
pub fn collect<'a>(run: &Run<'a>, node: &'a PlanNode, consumer: u32, keep: Keep) -> Result<Stored> {
    collect_into(run, node, consumer, LazyFile::default(), keep)
}

/// The same with the file that they go to.
pub fn collect_into<'a>(
    run: &Run<'a>,
    node: &'a PlanNode,
    consumer: u32,
    file: LazyFile,
    keep: Keep,
) -> Result<Stored> {
    let sink = CollectSink::new(run, consumer, Arc::new(file), keep);
    run_node(run, node, &Down::sink(consumer, &sink))?;
    let stored = sink.finish();
    run.note_spill(consumer, stored.file.bytes());
    Ok(stored)
}

/// Hands out stored rows, a batch at a time, to any number of threads; in order to one.
pub struct StoredSource<'a> {
    run: Run<'a>,
    stored: &'a Stored,
    next: AtomicUsize,
}

impl<'a> StoredSource<'a> {
    pub fn new(run: &Run<'a>, stored: &'a Stored) -> StoredSource<'a> {
        StoredSource { run: *run, stored, next: AtomicUsize::new(0) }
    }
}

impl Source for StoredSource<'_> {
    fn local<'b>(&'b self) -> Result<Box<dyn Pull + 'b>> {
        Ok(Box::new(StoredPull(self)))
    }

    fn workers_max(&self) -> usize {
        self.stored.parts.len().div_ceil(8)
    }
}

struct StoredPull<'a>(&'a StoredSource<'a>);

impl Pull for StoredPull<'_> {
    fn next(&mut self) -> Result<Option<Batch>> {
        let i = self.0.next.fetch_add(1, Ordering::Relaxed);
        if i >= self.0.stored.parts.len() {
            return Ok(None);
        }
        self.0.stored.batch(&self.0.run, i).map(Some)
    }
}

/// Hands out batches that are at hand.
pub struct BatchSource {
    batches: Vec<Batch>,
    ordered: bool,
    next: AtomicUsize,
}

impl BatchSource {
    pub fn new(batches: Vec<Batch>, ordered: bool) -> BatchSource {
        BatchSource { batches, ordered, next: AtomicUsize::new(0) }
    }
}

impl Source for BatchSource {
    fn local<'b>(&'b self) -> Result<Box<dyn Pull + 'b>> {
        Ok(Box::new(BatchPull(self)))
    }

    fn workers_max(&self) -> usize {
        if self.ordered { 1 } else { self.batches.len() }
    }
}

struct BatchPull<'a>(&'a BatchSource);

impl Pull for BatchPull<'_> {
    fn next(&mut self) -> Result<Option<Batch>> {
        let i = self.0.next.fetch_add(1, Ordering::Relaxed);
        Ok(self.0.batches.get(i).cloned())
    }
}

// ---- A few rows as values: scalar subqueries.

struct RowsSink<'a> {
    types: Vec<SqlType>,
    max: usize,
    rows: Mutex<Vec<Vec<Value>>>,
    _run: Run<'a>,
}

struct RowsLocal<'a>(&'a RowsSink<'a>);

impl Sink for RowsSink<'_> {
    fn local<'b>(&'b self) -> Result<Box<dyn Push + 'b>> {
        Ok(Box::new(RowsLocal(self)))
    }
}

impl Push for RowsLocal<'_> {
    fn push(&mut self, batch: Batch) -> Result<Flow> {
        let mut rows = self.0.rows.lock().expect("no panic while held");
        let wanted = batch.count().min(self.0.max);
        rows.extend(row_values(&slice_selected(batch, 0, wanted), &self.0.types));
        Ok(if rows.len() >= self.0.max { Flow::Done } else { Flow::More })
    }

    fn finish(&mut self) -> Result<()> {
        Ok(())
    }
}

/// The first rows of `node`, `max` of them (or a few more) if there are so many.
pub fn collect_rows<'a>(run: &Run<'a>, node: &'a PlanNode, max: usize) -> Result<Vec<Vec<Value>>> {
    let types = node.output.iter().map(|c| c.ty).collect();
    let sink = RowsSink { types, max, rows: Mutex::default(), _run: *run };
    run_node(run, node, &Down::sink(node.id, &sink))?;
    Ok(sink.rows.into_inner().expect("no panic while held"))
}
