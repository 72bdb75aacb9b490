//! Merging sorted runs.
//!
//! ```text
//!   heap of the runs' next keys ─▶ least ─▶ its row waits with others of its run ─▶ a batch in order
//! ```
//! Of each run on disk one batch is in memory. More than [`MERGED_MAX`] runs are not read side by side: the first of
//! them are merged into one on disk, which takes its turn behind the others, until few are left (Knuth, TAOCP 5.4.1).
//! Each such merge and the last count in Sort_merge_passes, as MySQL counts its own.

use super::{KEY_TYPE, MemoryRun, SortSpec, SortedRun};
use crate::columns::{ColumnAppender, gather32};
use crate::pipeline::Pull;
use crate::run::Run;
use crate::spill::{LazyFile, SpillRun};
use std::cmp::Ordering as Order;
use std::collections::{BinaryHeap, VecDeque};
use types::{Result, SqlType};
use vector::{BATCH_ROWS_MAX, Batch, Vector};

/// Runs on disk that are merged at once; in debug builds few, for the sake of the tests.
const MERGED_MAX: usize = if cfg!(debug_assertions) { 7 } else { 64 };

/// Merges runs on disk until all that are left can be read side by side; answers those, and how many merges it took.
pub fn merge_on_disk(spec: &SortSpec<'_>, file: &LazyFile, runs: Vec<SortedRun>) -> Result<(Vec<SortedRun>, u64)> {
    let is_on_disk = |r: &SortedRun| matches!(r, SortedRun::Disk(_));
    let merged_max = merged_max(spec, &runs);
    if runs.iter().filter(|r| is_on_disk(r)).count() <= merged_max {
        return Ok((runs, 0));
    }
    let (disk, memory): (Vec<SortedRun>, Vec<SortedRun>) = runs.into_iter().partition(is_on_disk);
    let mut disk = VecDeque::from(disk);
    let mut merges = 0;
    let ctx = spec.run.ctx;
    let types: Vec<SqlType> = spec.types.iter().copied().chain([KEY_TYPE]).collect();
    while disk.len() > merged_max {
        // Merging k runs leaves k - 1 less: no more than are too many.
        let some: Vec<SortedRun> = disk.drain(..merged_max.min(disk.len() - merged_max + 1)).collect();
        let mut merge = Merge::new(&spec.run, &some, &types, 0, spec.top.map(|t| t as u64))?;
        let file = file.get_for_runs(ctx)?;
        let mut extents = Vec::new();
        while let Some(batch) = merge.next()? {
            file.write(&batch, ctx, &mut extents)?;
        }
        disk.push_back(SortedRun::Disk(SpillRun { file, extents }));
        merges += 1;
    }
    Ok((disk.into_iter().chain(memory).collect(), merges))
}

/// How many runs on disk are read side by side: of each as much is in memory as was written at a time, which is much
/// where single rows are long.
fn merged_max(spec: &SortSpec<'_>, runs: &[SortedRun]) -> usize {
    let extents = runs.iter().flat_map(|r| match r {
        SortedRun::Disk(run) => &run.extents[..],
        SortedRun::Memory(_) => &[],
    });
    let longest = extents.map(|e| e.bytes as usize).max().unwrap_or(0).max(1);
    (spec.run.ctx.memory.limit_bytes() / 2 / longest).clamp(2, MERGED_MAX)
}

/// A place in a run.
struct Cursor<'a> {
    run: &'a SortedRun,
    at: usize,
    /// Disk runs: the batch that holds `at`, and the number of its first row's extent.
    loaded: Option<Batch>,
    loaded_bytes: u64,
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
                    self.loaded = None;
                    self.loaded = Some(run.file.read(*e)?);
                    self.loaded_bytes = e.bytes;
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

/// See the module head.
pub struct Merge<'a> {
    run: Run<'a>,
    runs: &'a [SortedRun],
    types: &'a [SqlType],
    cursors: Vec<Cursor<'a>>,
    heap: BinaryHeap<Head>,
    skip: u64,
    left: u64,
}

impl<'a> Merge<'a> {
    /// `types`: of the columns wanted. The key, last in runs on disk, is one more for who merges such runs alone.
    pub fn new(
        run: &Run<'a>,
        runs: &'a [SortedRun],
        types: &'a [SqlType],
        offset: u64,
        limit: Option<u64>,
    ) -> Result<Merge<'a>> {
        let mut cursors: Vec<Cursor<'a>> =
            runs.iter().map(|run| Cursor { run, at: 0, loaded: None, loaded_bytes: 0, extent: 0 }).collect();
        let mut heap = BinaryHeap::new();
        if cursors.len() > 1 || matches!(runs.first(), Some(SortedRun::Disk(_))) {
            for (run, c) in cursors.iter_mut().enumerate() {
                let mut key = Vec::new();
                if c.key(&mut key)? {
                    heap.push(Head { key, run });
                }
            }
        }
        Ok(Merge { run: *run, runs, types, cursors, heap, skip: offset, left: limit.unwrap_or(u64::MAX) })
    }

    /// One run in memory: its order is the order.
    fn next_of_one(&mut self) -> Option<Batch> {
        let SortedRun::Memory(MemoryRun { columns, order, .. }) = self.runs.first()? else { return None };
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
        if let [SortedRun::Memory(_)] = self.runs {
            return Ok(self.next_of_one());
        }
        let mut out = Interleave::new(self.types, self.cursors.len());
        let bytes_max = self.run.ctx.part_bytes() as u64;
        while out.rows() < BATCH_ROWS_MAX && out.held_bytes <= bytes_max && self.left > 0 {
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
                // The batch is about to be let go by all but the rows taken from it.
                out.settle(run, c);
                out.held_bytes += c.loaded_bytes;
            }
            if !c.key(&mut head.key)? {
                std::collections::binary_heap::PeekMut::pop(head);
            }
        }
        self.run.ctx.check_killed()?;
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
    /// Of batches from disk that are at their ends.
    held_bytes: u64,
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
            held_bytes: 0,
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
