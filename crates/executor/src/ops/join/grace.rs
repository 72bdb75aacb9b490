//! The join on disk: both inputs split by key hash, then joined part by part (Kitsuregawa et al.'s GRACE join).
//!
//! Rows that match lie in the same partition, so each pair of partitions is a join of its own, of any kind: an
//! unmatched row of either side is unmatched in its partition. A build partition that still does not fit is split by
//! further bits of the hash, and joined in parts where that no longer helps.

use super::build::{BuildOutcome, BuildSink, SPILL_DEPTH_MAX, SPILL_PARTITIONS, spill_rows};
use super::parts::parts;
use super::probe::ProbeStage;
use super::{JoinSpec, finish_build_side};
use crate::keys::KeyEncoder;
use crate::pipeline::{Down, Flow, INTERNAL, Pull, Push, Sink, Source, run_pipeline};
use crate::run::{Run, run_node};
use crate::spill::{Extent, LazyFile, SpillFile, SpillRun, SpillWriter};
use plan::physical::PlanNode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use types::{Error, Result};
use vector::Batch;

/// A part of rows with one key takes this share of the statement's memory on disk.
const PART_SHARE: usize = 8;

/// Shared state: the probe side's partitions.
struct SplitSink<'a> {
    spec: &'a JoinSpec<'a>,
    depth: u32,
    file: LazyFile,
    runs: Mutex<Vec<Vec<SpillRun>>>,
}

struct SplitLocal<'a> {
    sink: &'a SplitSink<'a>,
    encoder: KeyEncoder,
    writers: Vec<SpillWriter>,
}

impl Sink for SplitSink<'_> {
    fn local<'b>(&'b self) -> Result<Box<dyn Push + 'b>> {
        let file = self.file.get_for_runs(self.spec.run.ctx)?;
        let writers = (0..SPILL_PARTITIONS).map(|_| SpillWriter::new(file.clone(), &self.spec.probe_types)).collect();
        Ok(Box::new(SplitLocal { sink: self, encoder: KeyEncoder::new(self.spec.layout.clone()), writers }))
    }
}

impl Push for SplitLocal<'_> {
    fn push(&mut self, batch: Batch) -> Result<Flow> {
        let s = self.sink;
        spill_rows(&mut self.writers, &mut self.encoder, &s.spec.probe_keys, &batch, s.depth, s.spec)?;
        Ok(Flow::More)
    }

    fn finish(&mut self) -> Result<()> {
        let mut runs = self.sink.runs.lock().expect("no panic while held");
        for (p, w) in self.writers.drain(..).enumerate() {
            runs[p].push(w.finish(self.sink.spec.run.ctx)?);
        }
        Ok(())
    }
}

/// Batches of several runs, in any order.
pub struct RunsSource<'a> {
    run: Run<'a>,
    extents: Vec<(Arc<SpillFile>, Extent)>,
    next: AtomicUsize,
}

impl<'a> RunsSource<'a> {
    pub fn new(run: &Run<'a>, runs: &[SpillRun]) -> RunsSource<'a> {
        let extents = runs.iter().flat_map(|r| r.extents.iter().map(|e| (r.file.clone(), *e))).collect();
        RunsSource { run: *run, extents, next: AtomicUsize::new(0) }
    }
}

impl Source for RunsSource<'_> {
    fn local<'b>(&'b self) -> Result<Box<dyn Pull + 'b>> {
        Ok(Box::new(RunsPull(self)))
    }

    fn workers_max(&self) -> usize {
        self.extents.len().div_ceil(8)
    }
}

struct RunsPull<'a>(&'a RunsSource<'a>);

impl Pull for RunsPull<'_> {
    fn next(&mut self) -> Result<Option<Batch>> {
        self.0.run.ctx.check_killed()?;
        let i = self.0.next.fetch_add(1, Ordering::Relaxed);
        self.0.extents.get(i).map(|(file, e)| file.read(*e)).transpose()
    }
}

fn split_sink<'a>(spec: &'a JoinSpec<'a>, depth: u32) -> SplitSink<'a> {
    let runs = Mutex::new(vec![Vec::new(); SPILL_PARTITIONS]);
    SplitSink { spec, depth, file: LazyFile::default(), runs }
}

/// Splits the probe input like the build side was, then joins partition by partition.
pub fn run_grace<'a>(
    run: &Run<'a>,
    spec: &JoinSpec<'a>,
    build: Vec<Vec<SpillRun>>,
    probe: &'a PlanNode,
    down: &Down<'_>,
) -> Result<()> {
    let sink = split_sink(spec, 0);
    run_node(run, probe, &Down::sink(spec.node, &sink))?;
    run.note_spill(spec.node, sink.file.bytes());
    let probe = sink.runs.into_inner().expect("no panic while held");
    for (b, p) in build.into_iter().zip(probe) {
        join_partition(spec, b, p, 1, down)?;
    }
    Ok(())
}

/// Rows that no hash parts, since their keys are the same: the probe rows meet some build rows after the other.
fn join_in_parts(spec: &JoinSpec<'_>, build: Vec<SpillRun>, probe: &[SpillRun], down: &Down<'_>) -> Result<()> {
    let run = &spec.run;
    for part in parts(vec![build], run.ctx.memory.limit_bytes() / PART_SHARE) {
        let sink = BuildSink::at_depth(spec, &[], SPILL_DEPTH_MAX);
        run_pipeline(run, INTERNAL, &RunsSource::new(run, &part), &Down::sink(spec.node, &sink))?;
        let BuildOutcome::Memory(built) = sink.finish()? else {
            return Err(Error::internal("a part of a join's rows was spilled again"));
        };
        let stage = ProbeStage::new(spec, &built.table)?;
        run_pipeline(run, INTERNAL, &RunsSource::new(run, probe), &Down::stage(spec.node, &stage, down))?;
        finish_build_side(spec, &stage, down)?;
        if down.is_done() {
            break;
        }
    }
    Ok(())
}

fn join_partition(
    spec: &JoinSpec<'_>,
    build: Vec<SpillRun>,
    probe: Vec<SpillRun>,
    depth: u32,
    down: &Down<'_>,
) -> Result<()> {
    if down.is_done() {
        return Ok(());
    }
    let run = &spec.run;
    if depth >= SPILL_DEPTH_MAX && spec.joins_in_parts() {
        return join_in_parts(spec, build, &probe, down);
    }
    let sink = BuildSink::at_depth(spec, &[], depth);
    run_pipeline(run, INTERNAL, &RunsSource::new(run, &build), &Down::sink(spec.node, &sink))?;
    drop(build);
    match sink.finish()? {
        BuildOutcome::Memory(built) => {
            let stage = ProbeStage::new(spec, &built.table)?;
            run_pipeline(run, INTERNAL, &RunsSource::new(run, &probe), &Down::stage(spec.node, &stage, down))?;
            finish_build_side(spec, &stage, down)
        }
        BuildOutcome::Spilled(build) => {
            let sink = split_sink(spec, depth);
            run_pipeline(run, INTERNAL, &RunsSource::new(run, &probe), &Down::sink(spec.node, &sink))?;
            drop(probe);
            let probe = sink.runs.into_inner().expect("no panic while held");
            for (b, p) in build.into_iter().zip(probe) {
                join_partition(spec, b, p, depth + 1, down)?;
            }
            Ok(())
        }
    }
}
