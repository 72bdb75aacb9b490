//! The small operators: sources of a few rows, Filter, Project, Limit, SingleRow.

use crate::columns::{null_vector, row_of};
use crate::eval::{Filter, Program, eval_all_within, hold_row, parts_of};
use crate::ops::collect::BatchSource;
use crate::pipeline::{Down, Flow, Push, Stage, run_pipeline};
use crate::run::{Run, run_node};
use expr::Expr;
use plan::physical::{PlanNode, PlanOp};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use types::{Error, Result, Value};
use vector::{BATCH_ROWS_MAX, Batch, ChunkBuilder, Selection, Vector};

pub fn run_one_row(run: &Run<'_>, node: &PlanNode, down: &Down<'_>) -> Result<()> {
    let source = BatchSource::new(vec![Batch::new(1, Vec::new())], true);
    run_pipeline(run, node.id, &source, down)
}

pub fn run_values(run: &Run<'_>, node: &PlanNode, rows: &[Vec<Expr>], down: &Down<'_>) -> Result<()> {
    let ctx = run.eval();
    let one = Batch::new(1, Vec::new());
    let mut batches = Vec::new();
    for part in rows.chunks(BATCH_ROWS_MAX) {
        run.ctx.check_killed()?;
        let mut columns: Vec<ChunkBuilder> =
            node.output.iter().map(|c| ChunkBuilder::new(c.ty.phys(), part.len())).collect();
        for row in part {
            for ((e, b), c) in row.iter().zip(&mut columns).zip(&node.output) {
                let value = match e.as_const() {
                    Some(v) if e.ty == c.ty || v.is_null() => v.clone(),
                    _ => Program::new(e, &ctx)?.eval(&one, &ctx)?.value(0, &e.ty),
                };
                b.push(&value);
            }
        }
        let columns = columns.into_iter().map(|b| Vector::flat(b.finish())).collect();
        batches.push(Batch::new(part.len(), columns));
    }
    run_pipeline(run, node.id, &BatchSource::new(batches, true), down)
}

pub fn run_virtual(run: &Run<'_>, node: &PlanNode, down: &Down<'_>) -> Result<()> {
    let PlanOp::Virtual { schema, name, columns, table, wanted } = &node.op else {
        return Err(Error::internal("not a Virtual node"));
    };
    let (ctx, one) = (run.eval(), Batch::new(1, Vec::new()));
    let value = |(column, e): &(usize, Expr)| -> Result<(usize, Value)> {
        Ok((*column, Program::new(e, &ctx)?.eval(&one, &ctx)?.value(0, &e.ty)))
    };
    let wanted: Vec<(usize, Value)> = wanted.iter().map(value).collect::<Result<_>>()?;
    let batches = run.ctx.virtual_tables.read(schema, name, table, columns, &wanted)?;
    run_pipeline(run, node.id, &BatchSource::new(batches, true), down)
}

// ---- Filter: narrows the selection, moves nothing.

struct FilterStage<'a> {
    run: Run<'a>,
    filter: Filter,
    /// Each row passes through everything before the next one is looked at, as user variables that are assigned demand.
    row_by_row: bool,
}

struct FilterLocal<'a> {
    stage: &'a FilterStage<'a>,
    next: Box<dyn Push + 'a>,
}

pub fn run_filter<'a>(
    run: &Run<'a>,
    node: &PlanNode,
    input: &'a PlanNode,
    predicates: &[Expr],
    down: &Down<'_>,
) -> Result<()> {
    let row_by_row = predicates.iter().any(Expr::follows_variables);
    let stage = FilterStage { run: *run, filter: Filter::new(predicates, &run.eval())?, row_by_row };
    run_node(run, input, &Down::stage(node.id, &stage, down))
}

impl Stage for FilterStage<'_> {
    fn local<'b>(&'b self, next: Box<dyn Push + 'b>) -> Result<Box<dyn Push + 'b>> {
        Ok(Box::new(FilterLocal { stage: self, next }))
    }
}

impl Push for FilterLocal<'_> {
    fn push(&mut self, mut batch: Batch) -> Result<Flow> {
        if self.stage.row_by_row && batch.rows > 1 {
            return push_rows(self, &batch);
        }
        self.stage.filter.apply(&mut batch, &self.stage.run.eval())?;
        if batch.count() == 0 {
            return Ok(Flow::More);
        }
        self.next.push(batch)
    }

    fn finish(&mut self) -> Result<()> {
        self.next.finish()
    }
}

/// Pushes each selected row alone.
fn push_rows(to: &mut dyn Push, batch: &Batch) -> Result<Flow> {
    for row in batch.selection.to_positions(batch.rows) {
        if to.push(row_of(batch, row as usize))? == Flow::Done {
            return Ok(Flow::Done);
        }
    }
    Ok(Flow::More)
}

// ---- Project: computes columns, position aligned.

struct ProjectStage<'a> {
    run: Run<'a>,
    exprs: Vec<Program>,
    row_by_row: bool,
}

struct ProjectLocal<'a> {
    stage: &'a ProjectStage<'a>,
    next: Box<dyn Push + 'a>,
}

pub fn run_project<'a>(
    run: &Run<'a>,
    node: &PlanNode,
    input: &'a PlanNode,
    exprs: &[Expr],
    down: &Down<'_>,
) -> Result<()> {
    let row_by_row = exprs.iter().any(Expr::follows_variables);
    let stage = ProjectStage { run: *run, exprs: Program::all(exprs, &run.eval())?, row_by_row };
    run_node(run, input, &Down::stage(node.id, &stage, down))
}

impl Stage for ProjectStage<'_> {
    fn local<'b>(&'b self, next: Box<dyn Push + 'b>) -> Result<Box<dyn Push + 'b>> {
        Ok(Box::new(ProjectLocal { stage: self, next }))
    }
}

impl Push for ProjectLocal<'_> {
    fn push(&mut self, batch: Batch) -> Result<Flow> {
        if self.stage.row_by_row && batch.rows > 1 {
            return push_rows(self, &batch);
        }
        let Some(columns) = eval_all_within(&self.stage.exprs, &batch, &self.stage.run)? else {
            for part in parts_of(&batch) {
                if self.push(part)? == Flow::Done {
                    return Ok(Flow::Done);
                }
            }
            return Ok(Flow::More);
        };
        let _held = hold_row(&columns, &batch, &self.stage.run)?;
        self.next.push(Batch { rows: batch.rows, columns, selection: batch.selection })
    }

    fn finish(&mut self) -> Result<()> {
        self.next.finish()
    }
}

// ---- Limit: threads draw row numbers from one counter.

struct LimitStage {
    offset: u64,
    /// First row number past the last wanted one.
    end: u64,
    next_row: AtomicU64,
}

struct LimitLocal<'a> {
    stage: &'a LimitStage,
    next: Box<dyn Push + 'a>,
}

pub fn run_limit<'a>(
    run: &Run<'a>,
    node: &PlanNode,
    input: &'a PlanNode,
    limit: Option<u64>,
    offset: u64,
    down: &Down<'_>,
) -> Result<()> {
    let end = limit.map_or(u64::MAX, |l| offset.saturating_add(l));
    if end <= offset {
        return Ok(());
    }
    let stage = LimitStage { offset, end, next_row: AtomicU64::new(0) };
    run_node(run, input, &Down::stage(node.id, &stage, down))
}

impl Stage for LimitStage {
    fn local<'b>(&'b self, next: Box<dyn Push + 'b>) -> Result<Box<dyn Push + 'b>> {
        Ok(Box::new(LimitLocal { stage: self, next }))
    }

    fn is_done(&self) -> bool {
        self.next_row.load(Ordering::Relaxed) >= self.end
    }
}

/// The selected rows `from..to` (counted among the selected) of a batch.
pub fn slice_selected(batch: Batch, from: usize, to: usize) -> Batch {
    if from == 0 && to == batch.count() {
        return batch;
    }
    let positions = batch.selection.to_positions(batch.rows)[from..to].to_vec();
    Batch { selection: Selection::Some(positions), ..batch }
}

impl Push for LimitLocal<'_> {
    fn push(&mut self, batch: Batch) -> Result<Flow> {
        let s = self.stage;
        let n = batch.count() as u64;
        let first = s.next_row.fetch_add(n, Ordering::Relaxed);
        let from = s.offset.clamp(first, first + n) - first;
        let to = s.end.clamp(first, first + n) - first;
        if from < to && self.next.push(slice_selected(batch, from as usize, to as usize))? == Flow::Done {
            return Ok(Flow::Done);
        }
        Ok(if first + n >= s.end { Flow::Done } else { Flow::More })
    }

    fn finish(&mut self) -> Result<()> {
        self.next.finish()
    }
}

// ---- SingleRow: one row exactly; none becomes NULLs, two are error 1242.

struct SingleRowStage {
    seen: AtomicBool,
    row: Mutex<Option<Batch>>,
}

struct SingleRowLocal<'a>(&'a SingleRowStage);

pub fn run_single_row<'a>(run: &Run<'a>, node: &PlanNode, input: &'a PlanNode, down: &Down<'_>) -> Result<()> {
    let stage = SingleRowStage { seen: AtomicBool::new(false), row: Mutex::new(None) };
    run_node(run, input, &Down::sink(node.id, &stage))?;
    let row = stage.row.into_inner().expect("no panic while held");
    let batch = row.unwrap_or_else(|| Batch::new(1, node.output.iter().map(|c| null_vector(&c.ty)).collect()));
    run_pipeline(run, node.id, &BatchSource::new(vec![batch], true), down)
}

impl crate::pipeline::Sink for SingleRowStage {
    fn local<'b>(&'b self) -> Result<Box<dyn Push + 'b>> {
        Ok(Box::new(SingleRowLocal(self)))
    }
}

impl Push for SingleRowLocal<'_> {
    fn push(&mut self, batch: Batch) -> Result<Flow> {
        match batch.count() {
            0 => Ok(Flow::More),
            1 if !self.0.seen.swap(true, Ordering::Relaxed) => {
                *self.0.row.lock().expect("no panic while held") = Some(batch.compact());
                Ok(Flow::More)
            }
            _ => Err(Error::subquery_no_1_row()),
        }
    }

    fn finish(&mut self) -> Result<()> {
        Ok(())
    }
}

/// The rows of a batch as values, for row-at-a-time users.
pub fn row_values(batch: &Batch, types: &[types::SqlType]) -> Vec<Vec<Value>> {
    let mut rows = Vec::with_capacity(batch.count());
    batch.selection.for_each(batch.rows, |i| {
        rows.push(batch.columns.iter().zip(types).map(|(c, ty)| c.value(i, ty)).collect());
    });
    rows
}
