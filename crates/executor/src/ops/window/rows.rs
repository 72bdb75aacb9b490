//! Gathers partitions from sorted rows, and outputs each row with its results.

use super::Spec;
use super::compute::compute;
use super::frame::{Peers, Rowset, filled};
use crate::columns::{ColumnAppender, batch_bytes, packed, slice};
use crate::eval::{check_row, eval_made_within, parts_of};
use crate::memory::Reservation;
use crate::ops::collect::Part;
use crate::ops::sort::SortSource;
use crate::pipeline::{Pull, Source};
use crate::run::Run;
use crate::spill::LazyFile;
use std::collections::VecDeque;
use types::Result;
use vector::{Batch, Chunk, Selection, Vector};

pub struct WindowSource<'a> {
    pub spec: Spec<'a>,
    pub sorted: SortSource<'a>,
    pub file: LazyFile,
}

impl Source for WindowSource<'_> {
    fn local<'b>(&'b self) -> Result<Box<dyn Pull + 'b>> {
        Ok(Box::new(WindowPull {
            spec: &self.spec,
            input: self.sorted.local()?,
            waiting: Waiting {
                run: self.spec.run,
                file: &self.file,
                parts: VecDeque::new(),
                memory: Reservation::new(&self.spec.run.table_memory_of(self.spec.node)),
            },
            partition: Partition::new(&self.spec),
            results: Results::new(&self.spec),
            ready: None,
            at_end: false,
            memory: Reservation::new(&self.spec.run.memory_of(self.spec.node)),
        }))
    }

    fn workers_max(&self) -> usize {
        1
    }
}

/// Input rows whose results are not out yet.
struct Waiting<'a> {
    run: Run<'a>,
    file: &'a LazyFile,
    /// With each part's rows, and its bytes in memory.
    parts: VecDeque<(Part, usize, usize)>,
    memory: Reservation,
}

impl Waiting<'_> {
    fn push(&mut self, batch: Batch) -> Result<()> {
        let batch = packed(batch);
        let (rows, bytes) = (batch.count(), batch_bytes(&batch));
        if self.memory.try_resize_sparing(self.memory.bytes() + bytes, 1) {
            self.parts.push_back((Part::Memory(batch), rows, bytes));
        } else {
            let ctx = self.run.ctx;
            let mut extents = Vec::new();
            self.file.get(ctx)?.write(&batch, ctx, &mut extents)?;
            self.parts.extend(extents.into_iter().map(|e| (Part::Disk(e), e.rows as usize, 0)));
        }
        Ok(())
    }

    /// The next part, if it has at most `rows` rows.
    fn pop(&mut self, rows: usize) -> Result<Option<Batch>> {
        match self.parts.front() {
            Some((_, n, _)) if *n <= rows => {}
            _ => return Ok(None),
        }
        let Some((part, _, bytes)) = self.parts.pop_front() else { return Ok(None) };
        let batch = part.batch(&self.run, self.file)?;
        self.memory.force(self.memory.bytes() - bytes);
        Ok(Some(batch.compact()))
    }
}

/// What the calls look at in the partition being gathered.
struct Partition {
    key: Vec<u8>,
    last_order_key: Vec<u8>,
    args: Vec<ColumnAppender>,
    /// The first ORDER BY expression's values, for RANGE distances.
    order: ColumnAppender,
    /// Rows that begin a run of peers.
    peer_starts: Vec<u32>,
    rows: usize,
}

impl Partition {
    fn new(spec: &Spec<'_>) -> Partition {
        Partition {
            key: Vec::new(),
            last_order_key: Vec::new(),
            args: spec.args.iter().map(|_| ColumnAppender::default()).collect(),
            order: ColumnAppender::default(),
            peer_starts: Vec::new(),
            rows: 0,
        }
    }

    /// Bytes of what the calls look at (12 a row for peers), and of their results to come.
    fn bytes(&self, calls: usize) -> usize {
        self.args.iter().map(ColumnAppender::bytes).sum::<usize>() + self.order.bytes() + self.rows * (12 + 16 * calls)
    }
}

/// Results of rows that are still waiting.
struct Results {
    columns: Vec<ColumnAppender>,
    rows: usize,
}

impl Results {
    fn new(spec: &Spec<'_>) -> Results {
        Results { columns: spec.calls.iter().map(|_| ColumnAppender::default()).collect(), rows: 0 }
    }

    fn bytes(&self) -> usize {
        self.columns.iter().map(ColumnAppender::bytes).sum()
    }
}

/// Results on their way out, with the rows of theirs that are out.
struct Ready {
    columns: Vec<Chunk>,
    rows: usize,
    out: usize,
}

struct WindowPull<'a> {
    spec: &'a Spec<'a>,
    input: Box<dyn Pull + 'a>,
    waiting: Waiting<'a>,
    partition: Partition,
    results: Results,
    ready: Option<Ready>,
    at_end: bool,
    memory: Reservation,
}

impl WindowPull<'_> {
    fn take(&mut self, batch: Batch) -> Result<()> {
        let spec = self.spec;
        let ctx = spec.run.eval();
        let partition = eval_made_within(&spec.partition, &batch, &ctx)?;
        let order = eval_made_within(&spec.order, &batch, &ctx)?;
        let args = eval_made_within(&spec.args, &batch, &ctx)?;
        let (Some(partition), Some(order), Some(args)) = (partition, order, args) else {
            return parts_of(&batch).try_for_each(|part| self.take(part));
        };
        for columns in [&partition, &order, &args] {
            check_row(columns, &batch)?;
        }
        let (mut key, mut order_key) = (Vec::new(), Vec::new());
        let mut segment: Vec<u16> = Vec::new();
        for i in batch.selection.to_positions(batch.rows) {
            key.clear();
            order_key.clear();
            spec.partition_writer.write(&partition, i as usize, &mut key);
            spec.order_writer.write(&order, i as usize, &mut order_key);
            if self.partition.rows > 0 && key != self.partition.key {
                self.append(batch.rows, &args, &order, &mut segment);
                self.close()?;
            }
            let p = &mut self.partition;
            if p.rows == 0 || order_key != p.last_order_key {
                p.peer_starts.push(p.rows as u32);
                std::mem::swap(&mut p.last_order_key, &mut order_key);
            }
            if p.rows == 0 {
                p.key.clone_from(&key);
            }
            p.rows += 1;
            segment.push(i);
        }
        self.append(batch.rows, &args, &order, &mut segment);
        self.waiting.push(batch)?;
        let bytes = self.partition.bytes(spec.calls.len()) + self.results.bytes();
        self.memory.hold(bytes, "A window partition")
    }

    fn append(&mut self, rows: usize, args: &[Vector], order: &[Vector], segment: &mut Vec<u16>) {
        let selection = Selection::Some(std::mem::take(segment));
        let p = &mut self.partition;
        for (a, v) in p.args.iter_mut().zip(args) {
            a.append(v, &selection, rows);
        }
        if let Some(v) = order.first() {
            p.order.append(v, &selection, rows);
        }
    }

    /// Computes the partition's calls.
    fn close(&mut self) -> Result<()> {
        let spec = self.spec;
        let p = std::mem::replace(&mut self.partition, Partition::new(spec));
        if p.rows == 0 {
            return Ok(());
        }
        let n = p.rows;
        let args: Vec<Chunk> = p.args.into_iter().zip(&spec.arg_types).map(|(a, t)| a.finish(t)).collect();
        let order = spec.order_types.first().map(|(ty, descending)| (p.order.finish(ty), *ty, *descending));
        let filled = order.as_ref().map_or(0..n, |(values, ..)| filled(values, n));
        let part = Rowset { n, peers: Peers::new(&p.peer_starts, n), order, filled, args };
        for (c, results) in spec.calls.iter().zip(&mut self.results.columns) {
            spec.run.ctx.check_killed()?;
            let mut made = self.memory.fellow();
            results.append_chunk(&compute(c, &part, &spec.run, &mut made)?, None);
        }
        self.results.rows += n;
        Ok(())
    }

    /// Lets the results out, if they complete a waiting part.
    fn release(&mut self) {
        let rows = self.results.rows;
        if self.waiting.parts.front().is_none_or(|(_, n, _)| *n > rows) {
            return;
        }
        let results = std::mem::replace(&mut self.results, Results::new(self.spec));
        let columns = results.columns.into_iter().zip(&self.spec.calls).map(|(a, c)| a.finish(&c.ty)).collect();
        self.ready = Some(Ready { columns, rows, out: 0 });
    }

    /// The next completed rows.
    fn next_ready(&mut self) -> Result<Option<Batch>> {
        let Some(r) = &mut self.ready else { return Ok(None) };
        let Some(batch) = self.waiting.pop(r.rows - r.out)? else {
            // The beginning of a part whose end is not computed yet.
            for (a, c) in self.results.columns.iter_mut().zip(&r.columns) {
                a.append_chunk(&slice(c, r.out, r.rows), None);
            }
            self.results.rows = r.rows - r.out;
            self.ready = None;
            return Ok(None);
        };
        let (from, to) = (r.out, r.out + batch.rows);
        r.out = to;
        let mut columns = batch.columns;
        columns.extend(r.columns.iter().map(|c| Vector::flat(slice(c, from, to))));
        Ok(Some(Batch::new(to - from, columns)))
    }
}

impl Pull for WindowPull<'_> {
    fn next(&mut self) -> Result<Option<Batch>> {
        loop {
            if let Some(b) = self.next_ready()? {
                return Ok(Some(b));
            }
            if self.at_end {
                return Ok(None);
            }
            self.spec.run.ctx.check_killed()?;
            match self.input.next()? {
                Some(b) => self.take(b)?,
                None => {
                    self.at_end = true;
                    self.close()?;
                }
            }
            self.release();
        }
    }
}
