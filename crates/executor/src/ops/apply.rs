//! Apply: runs a subplan for each distinct value of its parameters and joins its rows. What unnesting could not remove.
//!
//! Each thread keeps the rows of the parameter values it has met, until memory is refused; then it starts anew.

use crate::columns::{ColumnAppender, null_chunk};
use crate::eval::{Program, eval_all};
use crate::keys::{KeyEncoder, KeyLayout, Keys};
use crate::memory::Reservation;
use crate::ops::collect::{Stored, collect};
use crate::pipeline::{Down, Flow, Push, Stage};
use crate::run::{Run, run_node};
use expr::{Expr, ParamId};
use plan::physical::{JoinKind, PlanNode, PlanOp};
use std::collections::HashMap;
use std::sync::Arc;
use types::{Error, Result, SqlType};
use vector::{BATCH_ROWS_MAX, Batch, Bitmap, Chunk, Selection, Values, Vector};

/// Shared state.
struct ApplyStage<'a> {
    run: Run<'a>,
    node: u32,
    subplan: &'a PlanNode,
    params: &'a [(ParamId, Expr)],
    programs: Vec<Program>,
    layout: KeyLayout,
    kind: JoinKind,
    /// Types of the subplan's columns.
    types: Vec<SqlType>,
}

struct ApplyLocal<'a> {
    stage: &'a ApplyStage<'a>,
    cache: HashMap<Box<[u8]>, Arc<Stored>>,
    encoder: KeyEncoder,
    memory: Reservation,
    next: Box<dyn Push + 'a>,
}

pub fn run_apply<'a>(run: &Run<'a>, node: &'a PlanNode, down: &Down<'_>) -> Result<()> {
    let PlanOp::Apply { input, subplan, params, kind } = &node.op else {
        return Err(Error::internal("not an Apply node"));
    };
    if matches!(kind, JoinKind::Right | JoinKind::RightSemi | JoinKind::RightAnti | JoinKind::NullAwareAnti)
        || *kind == (JoinKind::Mark { null_aware: true })
    {
        return Err(Error::internal(format_args!("Apply of kind {kind:?}")));
    }
    let stage = ApplyStage {
        run: *run,
        node: node.id,
        subplan,
        params,
        programs: Program::all(params.iter().map(|(_, e)| e), &run.eval())?,
        layout: KeyLayout::new(&params.iter().map(|(_, e)| (binary(e.ty), true)).collect::<Vec<_>>()).into_bytes(),
        kind: *kind,
        types: subplan.output.iter().map(|c| c.ty).collect(),
    };
    run_node(run, input, &Down::stage(node.id, &stage, down))
}

/// Parameters that differ in any byte are different: functions may look below the collation.
fn binary(ty: SqlType) -> SqlType {
    match ty {
        SqlType::String { kind, len, .. } => SqlType::String { kind, len, collation: types::Collation::Binary },
        other => other,
    }
}

impl Stage for ApplyStage<'_> {
    fn local<'b>(&'b self, next: Box<dyn Push + 'b>) -> Result<Box<dyn Push + 'b>> {
        Ok(Box::new(ApplyLocal {
            stage: self,
            cache: HashMap::new(),
            encoder: KeyEncoder::new(self.layout.clone()),
            memory: Reservation::new(&self.run.memory_of(self.node)),
            next,
        }))
    }
}

/// Rows on their way out: positions of the input with the subplan's rows beside them.
struct Pending {
    positions: Vec<u16>,
    columns: Vec<ColumnAppender>,
}

impl Pending {
    fn new(columns: usize) -> Pending {
        Pending { positions: Vec::new(), columns: (0..columns).map(|_| ColumnAppender::default()).collect() }
    }
}

impl ApplyLocal<'_> {
    fn rows_for(&mut self, key: &[u8], values: &[Vector], i: usize) -> Result<Arc<Stored>> {
        if let Some(rows) = self.cache.get(key) {
            return Ok(rows.clone());
        }
        let s = self.stage;
        s.run.ctx.check_killed()?;
        let mut params = s.run.params.clone();
        for ((id, e), v) in s.params.iter().zip(values) {
            let id = *id as usize;
            if params.values.len() <= id {
                params.values.resize(id + 1, None);
            }
            params.values[id] = Some((v.value(i, &e.ty), e.ty));
        }
        let run = Run { params: &params, dop: 1, ..s.run };
        let rows = Arc::new(collect(&run, s.subplan, s.node)?);
        let bytes = self.memory.bytes() + key.len() + 200 + rows.rows() as usize * 16;
        if !self.memory.try_resize_sparing(bytes, 2) {
            self.cache.clear();
            self.memory.force(0);
        }
        self.cache.insert(key.into(), rows.clone());
        Ok(rows)
    }

    fn flush(&mut self, input: &Batch, pending: &mut Pending) -> Result<Flow> {
        if pending.positions.is_empty() {
            return Ok(Flow::More);
        }
        let done = std::mem::replace(pending, Pending::new(self.stage.types.len()));
        let mut columns: Vec<Vector> = input.columns.iter().map(|c| c.gather(&done.positions)).collect();
        columns.extend(done.columns.into_iter().zip(&self.stage.types).map(|(a, ty)| Vector::flat(a.finish(ty))));
        self.next.push(Batch::new(done.positions.len(), columns))
    }
}

impl Push for ApplyLocal<'_> {
    fn push(&mut self, batch: Batch) -> Result<Flow> {
        let s = self.stage;
        let values = eval_all(&s.programs, &batch, &s.run.eval())?;
        let mut keys = Keys::default();
        let at = batch.selection.to_positions(batch.rows);
        if values.is_empty() {
            keys.words = crate::keys::Words::Bytes { data: Vec::new(), ends: vec![0; at.len()] };
        } else {
            self.encoder.encode(&values, &batch.selection, batch.rows, &mut keys);
        }
        let mut matched = Bitmap::zeros(batch.rows);
        let mut pending = Pending::new(s.types.len());
        for (j, &i) in at.iter().enumerate() {
            let rows = self.rows_for(keys.words.bytes(j), &values, i as usize)?;
            let n = rows.rows();
            if n > 0 {
                matched.set(i as usize, true);
            }
            match s.kind {
                JoinKind::Single if n > 1 => return Err(Error::subquery_no_1_row()),
                JoinKind::Inner | JoinKind::Left | JoinKind::Single => {
                    for k in 0..rows.batch_count() {
                        let b = rows.batch(&s.run, k)?;
                        if pending.positions.len() + b.count() > BATCH_ROWS_MAX
                            && self.flush(&batch, &mut pending)? == Flow::Done
                        {
                            return Ok(Flow::Done);
                        }
                        pending.positions.extend(std::iter::repeat_n(i, b.count()));
                        for (a, v) in pending.columns.iter_mut().zip(&b.columns) {
                            a.append(v, &b.selection, b.rows);
                        }
                    }
                    if n == 0 && s.kind != JoinKind::Inner {
                        if pending.positions.len() == BATCH_ROWS_MAX && self.flush(&batch, &mut pending)? == Flow::Done
                        {
                            return Ok(Flow::Done);
                        }
                        pending.positions.push(i);
                        for (a, ty) in pending.columns.iter_mut().zip(&s.types) {
                            a.append_chunk(&null_chunk(ty, 1), None);
                        }
                    }
                }
                _ => {}
            }
        }
        let keep = |wanted: bool| {
            let mut kept = at.clone();
            kept.retain(|&i| matched.get(i as usize) == wanted);
            Selection::Some(kept)
        };
        match s.kind {
            JoinKind::Semi => self.next.push(Batch { selection: keep(true), ..batch }),
            JoinKind::Anti => self.next.push(Batch { selection: keep(false), ..batch }),
            JoinKind::Mark { .. } => {
                let values = Values::I8((0..batch.rows).map(|i| matched.get(i) as i8).collect());
                let mut batch = batch;
                batch.columns.push(Vector::flat(Chunk::new(values, None)));
                self.next.push(batch)
            }
            _ => self.flush(&batch, &mut pending),
        }
    }

    fn finish(&mut self) -> Result<()> {
        self.next.finish()
    }
}
