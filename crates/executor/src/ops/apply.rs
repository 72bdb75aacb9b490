//! Apply: runs a subplan for each value of its parameters and joins its rows. Dependent subqueries.
//!
//! Each thread keeps the rows of the parameter values it has met, until memory is refused; then it starts anew.
//!
//! `x IN (S)` of which the value is pushed into S is TRUE where the subplan has a row. Where it has none, FALSE and
//! UNKNOWN are told apart by further subplans (see [`plan::UnknownTest`]), which for one column are two questions that
//! do not depend on x: whether S has a NULL, and, for x that is NULL, whether it has any row.

use crate::columns::{ColumnAppender, null_chunk};
use crate::eval::{Program, eval_all};
use crate::keys::{KeyEncoder, KeyLayout, Keys};
use crate::memory::Reservation;
use crate::ops::collect::{Keep, Stored, collect};
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
    cache: bool,
    tests: Vec<Test<'a>>,
}

/// A [`plan::UnknownTest`], its parameters by position in the node's.
struct Test<'a> {
    when_null: Option<(usize, bool)>,
    params: Vec<usize>,
    layout: KeyLayout,
    subplan: &'a PlanNode,
}

struct ApplyLocal<'a> {
    stage: &'a ApplyStage<'a>,
    cache: HashMap<Box<[u8]>, Arc<Stored>>,
    encoder: KeyEncoder,
    tests: Vec<LocalTest>,
    memory: Reservation,
    next: Box<dyn Push + 'a>,
}

/// One thread's part of a test.
struct LocalTest {
    encoder: KeyEncoder,
    found: HashMap<Box<[u8]>, bool>,
}

pub fn run_apply<'a>(run: &Run<'a>, node: &'a PlanNode, down: &Down<'_>) -> Result<()> {
    let PlanOp::Apply { input, subplan, params, kind, cache, unknown } = &node.op else {
        return Err(Error::internal("not an Apply node"));
    };
    if matches!(kind, JoinKind::Right | JoinKind::RightSemi | JoinKind::RightAnti) {
        return Err(Error::internal(format_args!("Apply of kind {kind:?}")));
    }
    let layout_of = |positions: &mut dyn Iterator<Item = usize>| {
        KeyLayout::new(&positions.map(|p| (binary(params[p].1.ty), true)).collect::<Vec<_>>()).into_bytes()
    };
    let position = |id: &ParamId| {
        params.iter().position(|p| p.0 == *id).ok_or_else(|| Error::internal("a test by another's parameter"))
    };
    let mut tests = Vec::with_capacity(unknown.len());
    for u in unknown {
        let own = u.params.iter().map(position).collect::<Result<Vec<usize>>>()?;
        tests.push(Test {
            when_null: u.when_null.map(|(id, null)| position(&id).map(|p| (p, null))).transpose()?,
            layout: layout_of(&mut own.iter().copied()),
            params: own,
            subplan: &u.subplan,
        });
    }
    let stage = ApplyStage {
        run: *run,
        node: node.id,
        subplan,
        params,
        programs: Program::all(params.iter().map(|(_, e)| e), &run.eval())?,
        layout: layout_of(&mut (0..params.len())),
        kind: *kind,
        types: subplan.output.iter().map(|c| c.ty).collect(),
        cache: *cache,
        tests,
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
            tests: self
                .tests
                .iter()
                .map(|t| LocalTest { encoder: KeyEncoder::new(t.layout.clone()), found: HashMap::new() })
                .collect(),
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

impl<'a> ApplyStage<'a> {
    /// The rows of `subplan` for the values at position `i`.
    fn rows_of(&self, subplan: &'a PlanNode, values: &[Vector], i: usize) -> Result<Stored> {
        self.run.ctx.check_killed()?;
        let mut params = self.run.params.clone();
        for ((id, e), v) in self.params.iter().zip(values) {
            let id = *id as usize;
            if params.values.len() <= id {
                params.values.resize(id + 1, None);
            }
            params.values[id] = Some((v.value(i, &e.ty), e.ty));
        }
        let run = Run { params: &params, dop: 1, ..self.run };
        collect(&run, subplan, self.node, Keep::Rows)
    }
}

/// One key for each of `at`.
fn encode(encoder: &mut KeyEncoder, values: &[Vector], batch: &Batch, at: &[u16]) -> Keys {
    let mut keys = Keys::default();
    if values.is_empty() {
        keys.words = crate::keys::Words::Bytes { data: Vec::new(), ends: vec![0; at.len()] };
    } else {
        encoder.encode(values, &batch.selection, batch.rows, &mut keys);
    }
    keys
}

impl ApplyLocal<'_> {
    fn rows_for(&mut self, key: &[u8], values: &[Vector], i: usize) -> Result<Arc<Stored>> {
        let s = self.stage;
        if !s.cache {
            return s.rows_of(s.subplan, values, i).map(Arc::new);
        }
        if let Some(rows) = self.cache.get(key) {
            return Ok(rows.clone());
        }
        let rows = Arc::new(s.rows_of(s.subplan, values, i)?);
        self.make_room(key.len() + 200 + rows.rows() as usize * 16);
        self.cache.insert(key.into(), rows.clone());
        Ok(rows)
    }

    /// Accounts for one more entry; refused, forgets all others.
    fn make_room(&mut self, bytes: usize) {
        if !self.memory.try_resize_sparing(self.memory.bytes() + bytes, 2) {
            self.cache.clear();
            self.tests.iter_mut().for_each(|t| t.found.clear());
            self.memory.force(0);
        }
    }

    /// Of the rows at `at` that do not match, those whose comparison was UNKNOWN.
    fn unknown(&mut self, batch: &Batch, values: &[Vector], at: &[u16], matched: &Bitmap) -> Result<Bitmap> {
        let s = self.stage;
        let mut out = Bitmap::zeros(batch.rows);
        for (n, t) in s.tests.iter().enumerate() {
            let own: Vec<Vector> = t.params.iter().map(|&p| values[p].clone()).collect();
            let keys = encode(&mut self.tests[n].encoder, &own, batch, at);
            for (j, &i) in at.iter().enumerate() {
                let i = i as usize;
                let asked = t.when_null.is_none_or(|(p, null)| values[p].is_valid(i) != null);
                if matched.get(i) || out.get(i) || !asked {
                    continue;
                }
                let key = keys.words.bytes(j);
                let found = match self.tests[n].found.get(key) {
                    Some(found) => *found,
                    None => {
                        let found = s.rows_of(t.subplan, values, i)?.rows() > 0;
                        // The answer for all rows alike is no matter of the cache's switch.
                        if s.cache || own.is_empty() {
                            self.make_room(key.len() + 64);
                            self.tests[n].found.insert(key.into(), found);
                        }
                        found
                    }
                };
                out.set(i, found);
            }
        }
        Ok(out)
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
        let at = batch.selection.to_positions(batch.rows);
        let keys = encode(&mut self.encoder, &values, &batch, &at);
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
        let null_aware = matches!(s.kind, JoinKind::NullAwareAnti | JoinKind::Mark { null_aware: true });
        let unknown =
            if null_aware { self.unknown(&batch, &values, &at, &matched)? } else { Bitmap::zeros(batch.rows) };
        match s.kind {
            JoinKind::Semi => self.next.push(Batch { selection: keep(true), ..batch }),
            JoinKind::Anti => self.next.push(Batch { selection: keep(false), ..batch }),
            JoinKind::NullAwareAnti => {
                let mut kept = at;
                kept.retain(|&i| !matched.get(i as usize) && !unknown.get(i as usize));
                self.next.push(Batch { selection: Selection::Some(kept), ..batch })
            }
            JoinKind::Mark { .. } => {
                let values = Values::I8((0..batch.rows).map(|i| matched.get(i) as i8).collect());
                let mut valid = Bitmap::ones(batch.rows);
                unknown.iter_ones().for_each(|i| valid.set(i, false));
                let validity = if valid.all() { None } else { Some(valid) };
                let mut batch = batch;
                batch.columns.push(Vector::flat(Chunk::new(values, validity)));
                self.next.push(batch)
            }
            _ => self.flush(&batch, &mut pending),
        }
    }

    fn finish(&mut self) -> Result<()> {
        self.next.finish()
    }
}
