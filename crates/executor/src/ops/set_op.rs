//! Set operations. UNION ALL runs its inputs one after the other; INTERSECT and EXCEPT count each distinct row's
//! occurrences by input and output it as often as the counts say.

use crate::agg::AggregateSink;
use crate::agg::spec::Spec;
use crate::columns::gather32;
use crate::pipeline::{Down, Flow, INTERNAL, PassThrough, Push, Sink, Stage};
use crate::run::{Run, run_node};
use expr::{AggCall, AggFunc, Expr};
use plan::physical::{PlanNode, SetOpKind};
use std::sync::Arc;
use types::{Error, Result, SqlType};
use vector::{BATCH_ROWS_MAX, Batch, Chunk, Values, Vector};

const COUNT: SqlType = SqlType::Decimal { precision: 38, scale: 0 };

pub fn run_set_op<'a>(
    run: &Run<'a>,
    node: &'a PlanNode,
    kind: SetOpKind,
    inputs: &'a [PlanNode],
    down: &Down<'_>,
) -> Result<()> {
    if kind == SetOpKind::UnionAll {
        let through = Down::stage(node.id, &PassThrough, down);
        for input in inputs {
            if !down.is_done() {
                run_node(run, input, &through)?;
            }
        }
        return Ok(());
    }
    let n = node.output.len();
    let groups: Vec<Expr> = node
        .output
        .iter()
        .enumerate()
        .map(|(i, c)| {
            let nullable = c.nullable || inputs.iter().any(|input| input.output[i].nullable);
            Expr::column(i as u32, c.ty, nullable)
        })
        .collect();
    let calls: Vec<AggCall> = (0..inputs.len())
        .map(|k| AggCall {
            func: AggFunc::Sum,
            args: vec![Expr::column((n + k) as u32, SqlType::BIGINT, false)],
            distinct: false,
            order_by: Vec::new(),
            separator: "".into(),
            ty: COUNT,
            nullable: false,
        })
        .collect();
    let spec = Spec::new(&groups, &[], &calls, run, node.id)?;
    let repeat = Repeat { kind, columns: n };
    let down = Down::stage(node.id, &repeat, down);
    let sink = AggregateSink::new(run, node.id, &spec);
    for (k, input) in inputs.iter().enumerate() {
        let tag = Tag { input: k, inputs: inputs.len(), sink: &sink };
        run_node(run, input, &Down::sink(node.id, &tag))?;
    }
    sink.drain(INTERNAL, &down)
}

/// Adds one column an input: 1 in the row's own, 0 in the others.
struct Tag<'a> {
    input: usize,
    inputs: usize,
    sink: &'a AggregateSink<'a>,
}

struct TagLocal<'a> {
    tags: Vec<Vector>,
    next: Box<dyn Push + 'a>,
}

impl Sink for Tag<'_> {
    fn local<'b>(&'b self) -> Result<Box<dyn Push + 'b>> {
        let tags = (0..self.inputs)
            .map(|k| Vector::Const(Arc::new(Chunk::new(Values::I64(vec![(k == self.input) as i64]), None))))
            .collect();
        Ok(Box::new(TagLocal { tags, next: self.sink.local()? }))
    }
}

impl Push for TagLocal<'_> {
    fn push(&mut self, mut batch: Batch) -> Result<Flow> {
        batch.columns.extend(self.tags.iter().cloned());
        self.next.push(batch)
    }

    fn finish(&mut self) -> Result<()> {
        self.next.finish()
    }
}

/// Outputs each row as often as its counts say.
struct Repeat {
    kind: SetOpKind,
    columns: usize,
}

struct RepeatLocal<'a> {
    stage: &'a Repeat,
    next: Box<dyn Push + 'a>,
}

impl Stage for Repeat {
    fn local<'b>(&'b self, next: Box<dyn Push + 'b>) -> Result<Box<dyn Push + 'b>> {
        Ok(Box::new(RepeatLocal { stage: self, next }))
    }
}

fn times(kind: SetOpKind, counts: &[i128]) -> i128 {
    let rest: i128 = counts[1..].iter().sum();
    match kind {
        SetOpKind::UnionAll => counts.iter().sum(),
        SetOpKind::IntersectAll => counts.iter().copied().min().unwrap_or(0),
        SetOpKind::IntersectDistinct => counts.iter().all(|&c| c > 0) as i128,
        SetOpKind::ExceptAll => (counts[0] - rest).max(0),
        SetOpKind::ExceptDistinct => (counts[0] > 0 && rest == 0) as i128,
    }
}

impl Push for RepeatLocal<'_> {
    fn push(&mut self, batch: Batch) -> Result<Flow> {
        let batch = batch.compact();
        let n = self.stage.columns;
        let mut counts: Vec<Arc<Chunk>> = Vec::new();
        for c in &batch.columns[n..] {
            counts.push(c.flatten(batch.rows));
        }
        let mut rows: Vec<u32> = Vec::new();
        let mut of_row = vec![0i128; counts.len()];
        for i in 0..batch.rows {
            for (c, out) in counts.iter().zip(&mut of_row) {
                let Values::I128(v) = &c.values else { return Err(Error::internal("counts of another type")) };
                *out = v[i];
            }
            for _ in 0..times(self.stage.kind, &of_row) {
                rows.push(i as u32);
                if rows.len() == BATCH_ROWS_MAX {
                    if self.emit(&batch, &rows)? == Flow::Done {
                        return Ok(Flow::Done);
                    }
                    rows.clear();
                }
            }
        }
        if rows.is_empty() { Ok(Flow::More) } else { self.emit(&batch, &rows) }
    }

    fn finish(&mut self) -> Result<()> {
        self.next.finish()
    }
}

impl RepeatLocal<'_> {
    fn emit(&mut self, batch: &Batch, rows: &[u32]) -> Result<Flow> {
        let columns = batch.columns[..self.stage.columns]
            .iter()
            .map(|c| match c {
                Vector::Flat(chunk) => Vector::flat(gather32(chunk, rows)),
                Vector::Const(_) => c.clone(),
            })
            .collect();
        self.next.push(Batch::new(rows.len(), columns))
    }
}
