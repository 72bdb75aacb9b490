//! Nested-loop join: cross products and conditions without an equality.
//!
//! The build rows are kept (on disk if memory is refused). A probe batch meets them in the orientation that makes the
//! longer vectors: one build row as constants against the whole probe batch, or one probe row against each build batch.
//! Kinds and outputs are the hash join's (see [`super::join::probe`]).

use crate::columns::null_vector;
use crate::ops::collect::{Keep, Stored, collect};
use crate::pipeline::{Down, Flow, Pull, Push, Source, Stage, run_pipeline};
use crate::run::{Run, run_node};
use expr::eval::Compiled;
use plan::physical::{JoinKind, PlanNode, PlanOp};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use types::{Error, Result, SqlType};
use vector::{Batch, Bitmap, Chunk, Selection, Values, Vector};

/// Shared state.
struct LoopStage<'a> {
    run: Run<'a>,
    kind: JoinKind,
    condition: Option<Compiled>,
    project: &'a [usize],
    /// Probe rows meet build rows together; else each by itself.
    blocks: bool,
    build: Stored,
    probe_types: Vec<SqlType>,
    build_types: Vec<SqlType>,
    /// By build batch: which rows have a match. Used by the kinds that output build rows by match.
    matched: Mutex<Vec<Bitmap>>,
}

struct LoopLocal<'a> {
    stage: &'a LoopStage<'a>,
    /// This thread's share of `matched`.
    matched: Vec<Bitmap>,
    next: Box<dyn Push + 'a>,
}

/// What a pass over the build side has found out about a probe batch.
struct Found {
    matched: Bitmap,
    unknown: Bitmap,
}

fn remembers_build_rows(kind: JoinKind) -> bool {
    matches!(kind, JoinKind::Right | JoinKind::RightSemi | JoinKind::RightAnti)
}

pub fn run_nested_loop<'a>(run: &Run<'a>, node: &'a PlanNode, down: &Down<'_>) -> Result<()> {
    let PlanOp::NestedLoopJoin { kind, probe, build, condition, project, blocks } = &node.op else {
        return Err(Error::internal("not a NestedLoopJoin node"));
    };
    let stored = collect(run, build, node.id, Keep::Rows)?;
    if stored.is_empty()
        && matches!(
            kind,
            JoinKind::Inner | JoinKind::Semi | JoinKind::Right | JoinKind::RightSemi | JoinKind::RightAnti
        )
    {
        return Ok(());
    }
    let mut matched = Vec::new();
    if remembers_build_rows(*kind) {
        for i in 0..stored.batch_count() {
            matched.push(Bitmap::zeros(stored.batch(run, i)?.rows));
        }
    }
    let stage = LoopStage {
        run: *run,
        kind: *kind,
        condition: condition.as_ref().map(|c| Compiled::new(c, &run.eval())).transpose()?,
        project,
        blocks: *blocks,
        build: stored,
        probe_types: probe.output.iter().map(|c| c.ty).collect(),
        build_types: build.output.iter().map(|c| c.ty).collect(),
        matched: Mutex::new(matched),
    };
    run_node(run, probe, &Down::stage(node.id, &stage, down))?;
    if remembers_build_rows(*kind) {
        let source = BuildRows { stage: &stage, next: AtomicUsize::new(0) };
        run_pipeline(run, node.id, &source, down)?;
    }
    Ok(())
}

impl Stage for LoopStage<'_> {
    fn local<'b>(&'b self, next: Box<dyn Push + 'b>) -> Result<Box<dyn Push + 'b>> {
        let matched =
            self.matched.lock().expect("no panic while held").iter().map(|b| Bitmap::zeros(b.len())).collect();
        Ok(Box::new(LoopLocal { stage: self, matched, next }))
    }
}

fn constant_at(v: &Vector, i: usize) -> Vector {
    match v {
        Vector::Const(_) => v.clone(),
        Vector::Flat(c) => Vector::Const(std::sync::Arc::new(c.gather(&[i as u16]))),
    }
}

impl LoopStage<'_> {
    /// Narrows `pairs` to those whose condition is TRUE; answers those where it is UNKNOWN, if the kind asks.
    fn test(&self, pairs: &mut Batch) -> Result<Option<Bitmap>> {
        let Some(condition) = &self.condition else { return Ok(None) };
        let ctx = self.run.eval();
        if !matches!(self.kind, JoinKind::Mark { null_aware: true } | JoinKind::NullAwareAnti) {
            condition.filter(pairs, &ctx)?;
            return Ok(None);
        }
        let v = condition.eval(pairs, &ctx)?;
        let chunk = v.flatten(pairs.rows);
        let mut unknown = Bitmap::zeros(pairs.rows);
        let mut kept = Vec::new();
        pairs.selection.for_each(pairs.rows, |i| {
            if !chunk.is_valid(i) {
                unknown.set(i, true);
            } else if is_true(&chunk, i) {
                kept.push(i as u16);
            }
        });
        pairs.selection = Selection::Some(kept);
        Ok(Some(unknown))
    }

    fn outputs_pairs(&self) -> bool {
        matches!(self.kind, JoinKind::Inner | JoinKind::Left | JoinKind::Single | JoinKind::Right)
    }

    /// A probe row that has matched needs no further look.
    fn one_match_is_enough(&self) -> bool {
        matches!(self.kind, JoinKind::Semi | JoinKind::Anti | JoinKind::Mark { .. } | JoinKind::NullAwareAnti)
    }
}

fn is_true(chunk: &Chunk, i: usize) -> bool {
    match &chunk.values {
        Values::I8(v) => v[i] != 0,
        Values::U8(v) => v[i] != 0,
        Values::I16(v) => v[i] != 0,
        Values::U16(v) => v[i] != 0,
        Values::I32(v) => v[i] != 0,
        Values::U32(v) => v[i] != 0,
        Values::I64(v) => v[i] != 0,
        Values::U64(v) => v[i] != 0,
        Values::I128(v) => v[i] != 0,
        Values::I256(v) => !v[i].is_zero(),
        Values::F32(v) => v[i] != 0.0,
        Values::F64(v) => v[i] != 0.0,
        Values::Str(_) | Values::Dict(_) => false,
    }
}

impl LoopLocal<'_> {
    fn project(&self, pairs: Batch) -> Batch {
        let columns = self.stage.project.iter().map(|&c| pairs.columns[c].clone()).collect();
        Batch { columns, ..pairs }
    }

    /// Every build row against the whole probe batch.
    fn by_build_row(&mut self, probe: &Batch, build: &Batch, k: usize, found: &mut Found) -> Result<Flow> {
        let stage = self.stage;
        for b in build.selection.to_positions(build.rows) {
            stage.run.ctx.check_killed()?;
            let mut selection = probe.selection.clone();
            if stage.one_match_is_enough() {
                selection = without(&selection, probe.rows, &found.matched);
                if selection.is_empty(probe.rows) {
                    break;
                }
            }
            let columns =
                probe.columns.iter().cloned().chain(build.columns.iter().map(|v| constant_at(v, b as usize))).collect();
            let mut pairs = Batch { rows: probe.rows, columns, selection };
            if let Some(unknown) = stage.test(&mut pairs)? {
                found.unknown.or(&unknown);
            }
            if pairs.count() == 0 {
                continue;
            }
            if remembers_build_rows(stage.kind) {
                self.matched[k].set(b as usize, true);
            }
            let mut twice = false;
            pairs.selection.for_each(pairs.rows, |i| {
                twice |= found.matched.get(i);
                found.matched.set(i, true);
            });
            if twice && stage.kind == JoinKind::Single {
                return Err(Error::subquery_no_1_row());
            }
            if stage.outputs_pairs() {
                let out = self.project(pairs);
                if self.next.push(out)? == Flow::Done {
                    return Ok(Flow::Done);
                }
            }
        }
        Ok(Flow::More)
    }

    /// Every probe row against the whole build batch.
    fn by_probe_row(&mut self, probe: &Batch, build: &Batch, k: usize, found: &mut Found) -> Result<Flow> {
        let stage = self.stage;
        for p in probe.selection.to_positions(probe.rows) {
            stage.run.ctx.check_killed()?;
            let p = p as usize;
            if stage.one_match_is_enough() && found.matched.get(p) {
                continue;
            }
            let columns =
                probe.columns.iter().map(|v| constant_at(v, p)).chain(build.columns.iter().cloned()).collect();
            let mut pairs = Batch { rows: build.rows, columns, selection: build.selection.clone() };
            if let Some(unknown) = stage.test(&mut pairs)?
                && unknown.count_ones() > 0
            {
                found.unknown.set(p, true);
            }
            let n = pairs.count();
            if n == 0 {
                continue;
            }
            if stage.kind == JoinKind::Single && (n > 1 || found.matched.get(p)) {
                return Err(Error::subquery_no_1_row());
            }
            found.matched.set(p, true);
            if remembers_build_rows(stage.kind) {
                pairs.selection.for_each(pairs.rows, |i| self.matched[k].set(i, true));
            }
            if stage.outputs_pairs() {
                let out = self.project(pairs);
                if self.next.push(out)? == Flow::Done {
                    return Ok(Flow::Done);
                }
            }
        }
        Ok(Flow::More)
    }

    fn finish_probe_batch(&mut self, probe: Batch, found: &Found) -> Result<Flow> {
        let stage = self.stage;
        let unmatched = || without(&probe.selection, probe.rows, &found.matched);
        let selection = match stage.kind {
            JoinKind::Inner | JoinKind::Right | JoinKind::RightSemi | JoinKind::RightAnti => return Ok(Flow::More),
            JoinKind::Left | JoinKind::Single => {
                let selection = unmatched();
                if selection.is_empty(probe.rows) {
                    return Ok(Flow::More);
                }
                let mut columns = probe.columns.clone();
                columns.extend(stage.build_types.iter().map(null_vector));
                let out = self.project(Batch { rows: probe.rows, columns, selection });
                return self.next.push(out);
            }
            JoinKind::Semi => {
                let mut kept = probe.selection.to_positions(probe.rows);
                kept.retain(|&i| found.matched.get(i as usize));
                Selection::Some(kept)
            }
            JoinKind::Anti => unmatched(),
            JoinKind::NullAwareAnti => without(&unmatched(), probe.rows, &found.unknown),
            JoinKind::Mark { .. } => {
                let values = Values::I8((0..probe.rows).map(|i| found.matched.get(i) as i8).collect());
                let mut valid = Bitmap::ones(probe.rows);
                found.unknown.iter_ones().filter(|&i| !found.matched.get(i)).for_each(|i| valid.set(i, false));
                let validity = if valid.all() { None } else { Some(valid) };
                let mut columns = probe.columns.clone();
                columns.push(Vector::flat(Chunk::new(values, validity)));
                let out = self.project(Batch { columns, ..probe });
                return self.next.push(out);
            }
        };
        if selection.is_empty(probe.rows) {
            return Ok(Flow::More);
        }
        let out = self.project(Batch { selection, ..probe });
        self.next.push(out)
    }
}

/// `selection` without the positions set in `bits`.
fn without(selection: &Selection, rows: usize, bits: &Bitmap) -> Selection {
    let mut kept = selection.to_positions(rows);
    kept.retain(|&i| !bits.get(i as usize));
    Selection::Some(kept)
}

impl Push for LoopLocal<'_> {
    fn push(&mut self, probe: Batch) -> Result<Flow> {
        let stage = self.stage;
        let mut found = Found { matched: Bitmap::zeros(probe.rows), unknown: Bitmap::zeros(probe.rows) };
        for k in 0..stage.build.batch_count() {
            let build = stage.build.batch(&stage.run, k)?;
            let flow = if stage.blocks && build.count() <= probe.count() {
                self.by_build_row(&probe, &build, k, &mut found)?
            } else {
                self.by_probe_row(&probe, &build, k, &mut found)?
            };
            if flow == Flow::Done {
                return Ok(Flow::Done);
            }
        }
        self.finish_probe_batch(probe, &found)
    }

    fn finish(&mut self) -> Result<()> {
        let mut shared = self.stage.matched.lock().expect("no panic while held");
        for (all, mine) in shared.iter_mut().zip(&self.matched) {
            all.or(mine);
        }
        drop(shared);
        self.next.finish()
    }
}

/// Build rows output for having, or lacking, a match.
struct BuildRows<'a> {
    stage: &'a LoopStage<'a>,
    next: AtomicUsize,
}

impl Source for BuildRows<'_> {
    fn local<'b>(&'b self) -> Result<Box<dyn Pull + 'b>> {
        Ok(Box::new(BuildRowsPull(self)))
    }

    fn workers_max(&self) -> usize {
        1
    }
}

struct BuildRowsPull<'a>(&'a BuildRows<'a>);

impl Pull for BuildRowsPull<'_> {
    fn next(&mut self) -> Result<Option<Batch>> {
        let stage = self.0.stage;
        loop {
            let k = self.0.next.fetch_add(1, Ordering::Relaxed);
            if k >= stage.build.batch_count() {
                return Ok(None);
            }
            let batch = stage.build.batch(&stage.run, k)?;
            let wanted = stage.kind == JoinKind::RightSemi;
            let matched = stage.matched.lock().expect("no panic while held");
            let mut kept = batch.selection.to_positions(batch.rows);
            kept.retain(|&i| matched[k].get(i as usize) == wanted);
            drop(matched);
            if kept.is_empty() {
                continue;
            }
            let n = stage.probe_types.len();
            let columns = stage
                .project
                .iter()
                .map(|&c| match stage.kind {
                    JoinKind::Right if c < n => null_vector(&stage.probe_types[c]),
                    JoinKind::Right => batch.columns[c - n].clone(),
                    _ => batch.columns[c].clone(),
                })
                .collect();
            return Ok(Some(Batch { rows: batch.rows, columns, selection: Selection::Some(kept) }));
        }
    }
}
