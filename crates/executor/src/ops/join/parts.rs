//! NOT IN whose build rows do not fit into memory.
//!
//! Whether a comparison was UNKNOWN is a fact about all build rows, so the two sides cannot be split alike by hash as
//! [`super::grace`] does. But the truth value over all build rows is the OR of those over parts of them:
//!
//! ```text
//!   build rows on disk ─▶ parts that fit, one after the other ─▶ table + NULL facts
//!   probe rows on disk ─▶ each batch meets each part:  FALSE → UNKNOWN → TRUE, a byte a row
//!                      ─▶ after the last part: the rows that stay, or their marks
//! ```
//! Probe rows that are TRUE already are not looked up again.

use super::JoinSpec;
use super::build::{BuildOutcome, BuildSink, SPILL_DEPTH_MAX};
use super::grace::RunsSource;
use super::probe::{ProbeStage, Verdicts, output_of, verdicts};
use crate::columns::packed;
use crate::memory::Reservation;
use crate::pipeline::{Down, Flow, INTERNAL, Pull, Push, Sink, Source, parallel_tasks, run_pipeline};
use crate::run::{Run, run_node};
use crate::spill::{Extent, LazyFile, SpillRun};
use plan::physical::PlanNode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use types::{Error, Result};
use vector::{Batch, Selection};

/// A part takes this share of the statement's memory on disk; its keys and tables take more than its rows.
const PART_SHARE: usize = 16;
const PART_BYTES_MIN: usize = 4 << 10;

/// A probe batch on disk, and what is known of its rows: all of the extent are selected.
struct Waiting {
    extent: Extent,
    verdicts: Mutex<Verdicts>,
}

/// Shared state: the probe side, in any order.
struct WaitSink<'a> {
    run: Run<'a>,
    file: LazyFile,
    waiting: Mutex<(Vec<Waiting>, Reservation)>,
}

struct WaitLocal<'a>(&'a WaitSink<'a>);

impl Sink for WaitSink<'_> {
    fn local<'b>(&'b self) -> Result<Box<dyn Push + 'b>> {
        Ok(Box::new(WaitLocal(self)))
    }
}

impl Push for WaitLocal<'_> {
    fn push(&mut self, batch: Batch) -> Result<Flow> {
        let sink = self.0;
        let batch = packed(batch);
        let mut extents = Vec::new();
        sink.file.get_for_runs(sink.run.ctx)?.write(&batch, sink.run.ctx, &mut extents)?;
        let mut shared = sink.waiting.lock().expect("no panic while held");
        for extent in extents {
            let rows = extent.rows as usize;
            // A byte a row is what this way needs at least.
            let bytes = shared.1.bytes() + rows + 64;
            shared.1.force(bytes);
            shared.0.push(Waiting { extent, verdicts: Mutex::new(Verdicts::new(rows)) });
        }
        Ok(Flow::More)
    }

    fn finish(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Joins the spilled build side with the probe input.
pub fn run_in_parts<'a>(
    run: &Run<'a>,
    spec: &JoinSpec<'a>,
    build: Vec<Vec<SpillRun>>,
    probe: &'a PlanNode,
    down: &Down<'_>,
) -> Result<()> {
    let memory = Reservation::new(&run.memory_of(spec.node));
    let sink = WaitSink { run: *run, file: LazyFile::default(), waiting: Mutex::new((Vec::new(), memory)) };
    run_node(run, probe, &Down::sink(spec.node, &sink))?;
    run.note_spill(spec.node, sink.file.bytes());
    let (waiting, _memory) = sink.waiting.into_inner().expect("no panic while held");
    if waiting.is_empty() {
        return Ok(());
    }
    let file = sink.file.get_for_runs(run.ctx)?;
    let part_bytes = (run.ctx.memory.limit_bytes() / PART_SHARE).max(PART_BYTES_MIN);
    for part in parts(build, part_bytes) {
        let sink = BuildSink::at_depth(spec, &[], SPILL_DEPTH_MAX);
        run_pipeline(run, INTERNAL, &RunsSource::new(run, &part), &Down::sink(spec.node, &sink))?;
        let BuildOutcome::Memory(built) = sink.finish()? else {
            return Err(Error::internal("a part of NOT IN's rows was spilled again"));
        };
        let stage = ProbeStage::new(spec, &built.table)?;
        parallel_tasks(run, waiting.len(), &|i| {
            let w = &waiting[i];
            let mut batch = file.read(w.extent)?;
            let mut known = w.verdicts.lock().expect("no panic while held");
            let open = known.not_true();
            if open.is_empty() {
                return Ok(());
            }
            batch.selection = Selection::Some(open);
            verdicts(&stage, &batch, &mut known)
        })?;
    }
    let source = Decided { spec, file: &file, waiting: &waiting, next: AtomicUsize::new(0) };
    run_pipeline(run, spec.node, &source, down)
}

/// The build side in parts of about so many bytes.
pub fn parts(build: Vec<Vec<SpillRun>>, part_bytes: usize) -> Vec<Vec<SpillRun>> {
    let mut all: Vec<Vec<SpillRun>> = vec![];
    let mut bytes = usize::MAX;
    for run in build.into_iter().flatten() {
        for extent in &run.extents {
            if bytes >= part_bytes {
                all.push(vec![]);
                bytes = 0;
            }
            bytes += extent.bytes as usize;
            let part = all.last_mut().expect("the first extent begins a part");
            part.push(SpillRun { file: run.file.clone(), extents: vec![*extent] });
        }
    }
    all
}

/// Probe rows of which all is known.
struct Decided<'a, 'b> {
    spec: &'a JoinSpec<'b>,
    file: &'a crate::spill::SpillFile,
    waiting: &'a [Waiting],
    next: AtomicUsize,
}

impl Source for Decided<'_, '_> {
    fn local<'c>(&'c self) -> Result<Box<dyn Pull + 'c>> {
        Ok(Box::new(DecidedPull(self)))
    }

    fn workers_max(&self) -> usize {
        self.waiting.len().div_ceil(8)
    }
}

struct DecidedPull<'a, 'b, 'c>(&'c Decided<'a, 'b>);

impl Pull for DecidedPull<'_, '_, '_> {
    fn next(&mut self) -> Result<Option<Batch>> {
        loop {
            let i = self.0.next.fetch_add(1, Ordering::Relaxed);
            let Some(w) = self.0.waiting.get(i) else { return Ok(None) };
            self.0.spec.run.ctx.check_killed()?;
            let batch = self.0.file.read(w.extent)?;
            let known = w.verdicts.lock().expect("no panic while held");
            if let Some(out) = output_of(self.0.spec, batch, &known) {
                return Ok(Some(out));
            }
        }
    }
}
