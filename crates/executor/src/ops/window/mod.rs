//! Window functions.
//!
//! ```text
//!   input ─▶ sort by (partition, order) ─▶ rows wait (spilling) ──────────────────────────▶ row + its results ─▶ down
//!                                          └▶ one partition's arguments as long columns ─▶ a column a call ┘
//! ```
//! Terms: a row's *peers* are the rows of its partition with equal ORDER BY values (all of them without ORDER BY); its
//! *frame* is the run of rows `start..end` that an aggregate or FIRST_VALUE looks at. Ranking functions, LAG and LEAD
//! look at the whole partition, as MySQL's manual says (Window Function Frame Specification).
//!
//! [`frame`] finds frames, [`compute`] computes calls over a partition, [`rows`] gathers partitions and outputs rows.
//! The arguments, order values and results of one partition are in memory at a time: error 3170 where they do not fit.

mod compute;
mod frame;
mod rows;

use crate::agg::spec::prepare_args;
use crate::eval::Program;
use crate::ops::sort::SortSink;
use crate::pipeline::{Down, run_pipeline};
use crate::run::{Run, run_node};
use crate::sort_keys::SortKeyWriter;
use crate::spill::LazyFile;
use expr::{AggCall, Expr, ExprKind, FrameUnits, WindowCall, WindowFunc};
use frame::{Bound, bound, constant, count_of};
use plan::physical::{PlanNode, PlanOp, SortKey};
use rows::WindowSource;
use types::{Error, Result, SqlType};

struct Call {
    func: WindowFunc,
    ty: SqlType,
    units: FrameUnits,
    start: Bound,
    end: Bound,
    /// Where its arguments are among the evaluated columns.
    args: Vec<usize>,
    /// For aggregates: the call with converted arguments.
    aggregate: Option<AggCall>,
    /// NTILE's, NTH_VALUE's, LAG's and LEAD's number.
    number: Option<i64>,
}

struct Spec<'a> {
    run: Run<'a>,
    node: u32,
    partition: Vec<Program>,
    partition_writer: SortKeyWriter,
    order: Vec<Program>,
    order_writer: SortKeyWriter,
    order_types: Vec<(SqlType, bool)>,
    calls: Vec<Call>,
    args: Vec<Program>,
    arg_types: Vec<SqlType>,
    input_types: Vec<SqlType>,
}

pub fn run_window<'a>(run: &Run<'a>, node: &'a PlanNode, down: &Down<'_>) -> Result<()> {
    let PlanOp::Window { input, partition_by, order_by, calls } = &node.op else {
        return Err(Error::internal("not a Window node"));
    };
    let spec = Spec::new(run, node.id, input, partition_by, order_by, calls)?;
    let mut keys: Vec<SortKey> = partition_by.iter().map(|e| SortKey { expr: e.clone(), descending: false }).collect();
    keys.extend(order_by.iter().cloned());
    let mut inner = *run;
    if keys.is_empty() {
        // Rows keep the order in which they come.
        inner.dop = 1;
    }
    let sink = SortSink::new(run, node.id, spec.input_types.clone(), &keys, None)?;
    run_node(&inner, input, &Down::sink(node.id, &sink))?;
    let sorted = sink.into_source(0, None)?;
    sorted.count();
    let source = WindowSource { spec, sorted, file: LazyFile::default() };
    run_pipeline(run, node.id, &source, down)?;
    run.note_spill(node.id, source.file.bytes());
    Ok(())
}

impl<'a> Spec<'a> {
    fn new(
        run: &Run<'a>,
        node: u32,
        input: &PlanNode,
        partition_by: &[Expr],
        order_by: &[SortKey],
        calls: &[WindowCall],
    ) -> Result<Spec<'a>> {
        let ctx = run.eval();
        let (mut args, mut arg_types, mut made) = (Vec::new(), Vec::new(), Vec::new());
        for c in calls {
            let aggregate = match c.func {
                WindowFunc::Agg(func) => Some(prepare_args(&AggCall {
                    func,
                    args: c.args.clone(),
                    distinct: false,
                    order_by: Vec::new(),
                    separator: ",".into(),
                    ty: c.ty,
                    nullable: c.nullable,
                })),
                _ => None,
            };
            let number = match c.func {
                WindowFunc::Ntile => c.args.first().map(|e| constant(e, run)).transpose()?,
                WindowFunc::NthValue | WindowFunc::Lag | WindowFunc::Lead => {
                    c.args.get(1).map(|e| constant(e, run)).transpose()?
                }
                _ => None,
            };
            let number = number.map(|v| count_of(&v)).transpose()?.flatten();
            let columns: Vec<Expr> = match (&aggregate, c.func) {
                (Some(a), _) => a.args.clone(),
                (None, WindowFunc::Lag | WindowFunc::Lead) => {
                    [c.args.first(), c.args.get(2)].into_iter().flatten().map(|e| converted(e, c.ty)).collect()
                }
                (None, WindowFunc::FirstValue | WindowFunc::LastValue | WindowFunc::NthValue) => {
                    c.args.first().into_iter().map(|e| converted(e, c.ty)).collect()
                }
                _ => Vec::new(),
            };
            let mut positions = Vec::new();
            for e in columns {
                positions.push(args.len());
                args.push(Program::new(&e, &ctx)?);
                arg_types.push(e.ty);
            }
            made.push(Call {
                func: c.func,
                ty: c.ty,
                units: c.frame.units,
                start: bound(&c.frame.start, c.frame.units, order_by, run)?,
                end: bound(&c.frame.end, c.frame.units, order_by, run)?,
                args: positions,
                aggregate,
                number,
            });
        }
        Ok(Spec {
            run: *run,
            node,
            partition: Program::all(partition_by, &ctx)?,
            partition_writer: SortKeyWriter::new(partition_by.iter().map(|e| (e.ty, false)).collect()),
            order: Program::all(order_by.iter().map(|k| &k.expr), &ctx)?,
            order_writer: SortKeyWriter::new(order_by.iter().map(|k| (k.expr.ty, k.descending)).collect()),
            order_types: order_by.iter().map(|k| (k.expr.ty, k.descending)).collect(),
            calls: made,
            args,
            arg_types,
            input_types: input.output.iter().map(|c| c.ty).collect(),
        })
    }
}

fn converted(e: &Expr, ty: SqlType) -> Expr {
    if e.ty.phys() == ty.phys() {
        return e.clone();
    }
    Expr { kind: ExprKind::Cast { expr: Box::new(e.clone()), explicit: false }, ty, nullable: true }
}
