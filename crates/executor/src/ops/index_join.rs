//! IndexJoin: for each input row, the rows of a table with its key in an index.
//!
//! Three ways, of which the plan chooses:
//!
//! - *As rows come*: a batch of input rows is joined at a time; its keys are computed and looked up, and their rows
//!   fetched. Pairs come in the order of the input; of a left join, a batch's rows without a match come after its
//!   pairs.
//! - *Batched key access* ([`batched`]): keys of many input rows are collected, sorted and looked up together, and rows
//!   are read in the order in which they lie.
//! - *Rescued* ([`rescue`]): once far more input rows have come than the plan reckoned with, the table is read whole
//!   into a hash table, once, and the rest of the input probes that.
//!
//! A semijoin or antijoin reads of each key only as many rows as it takes to find a match ([`first_match`]).
//!
//! ```text
//!   input batch ─▶ keys ─▶ (position, row id) pairs ─▶ table columns beside input columns ─▶ conditions ─▶ output
//! ```

mod batched;
mod first_match;
mod rescue;

use crate::columns::null_vector;
use crate::context::{Candidates, TableReader};
use crate::eval::{Filter, Program, eval_all};
use crate::ops::entry_filter::EntryFilter;
use crate::pipeline::{Down, Flow, Push, Stage};
use crate::run::{Run, run_node};
use batched::Buffered;
use catalog::TableDef;
use plan::access::{EXACT_DOUBLE_MAX, Fitted, fit, integers_equal, rounds};
use plan::physical::{JoinKind, KeyBuffer, PlanNode, PlanOp};
use rescue::Rescue;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use types::{Error, Result, SqlType, Value};
use vector::{BATCH_ROWS_MAX, Batch, Bitmap, Selection, Vector};

/// Keys that are looked up together.
const KEYS_AT_ONCE: usize = 256;

/// Shared state.
struct JoinStage<'a> {
    run: Run<'a>,
    node: u32,
    kind: JoinKind,
    reader: Arc<dyn TableReader + 'a>,
    index: usize,
    /// The key's expressions over the input, whether NULL is looked for, the key parts' types.
    programs: Vec<Program>,
    types: Vec<SqlType>,
    null_safe: Vec<bool>,
    part_types: Vec<SqlType>,
    /// Integers are looked up by DOUBLEs, to which several may round.
    rounds: bool,
    /// The whole key of a unique index: looked up by hash.
    single: bool,
    columns: &'a [usize],
    column_types: Vec<SqlType>,
    filter: Filter,
    /// Conditions on further parts of the key, tested before rows are read.
    tests: Option<EntryFilter>,
    condition: Filter,
    project: &'a [usize],
    with_row_id: bool,
    input_types: Vec<SqlType>,
    /// Input columns that are read after the keys have been made.
    input_used: Vec<bool>,
    buffer: Option<KeyBuffer>,
    rescue: Option<Rescue>,
    /// Entries of a key, as the plan reckons.
    matches: f64,
}

struct JoinLocal<'a> {
    stage: &'a JoinStage<'a>,
    candidates: Candidates,
    buffered: Option<Buffered>,
    done: bool,
    next: Box<dyn Push + 'a>,
}

pub fn run_index_join<'a>(run: &Run<'a>, node: &'a PlanNode, down: &Down<'_>) -> Result<()> {
    let PlanOp::IndexJoin { kind, input, table, index, key, columns, filters, condition, project, .. } = &node.op
    else {
        return Err(Error::internal("not an IndexJoin node"));
    };
    let PlanOp::IndexJoin { with_row_id, buffer, rescue, entries, .. } = &node.op else {
        return Err(Error::internal("not an IndexJoin node"));
    };
    if !matches!(kind, JoinKind::Inner | JoinKind::Left | JoinKind::Semi | JoinKind::Anti) {
        return Err(Error::internal(format_args!("IndexJoin of kind {kind:?}")));
    }
    let ctx = run.eval();
    let def: &TableDef = table;
    let parts = &def.indexes[*index].parts;
    let mut input_used = vec![false; input.output.len()];
    let mut used = |c: usize| input_used.get_mut(c).map(|u| *u = true);
    project.iter().for_each(|&c| _ = used(c));
    for e in condition {
        e.walk(&mut |e| {
            if let expr::ExprKind::Column(c) = e.kind {
                used(c as usize);
            }
        });
    }
    let reader = run.ctx.tables.open(table)?;
    let stage = JoinStage {
        run: *run,
        node: node.id,
        kind: *kind,
        tests: EntryFilter::new(run, &*reader, table, *index, entries)?,
        reader,
        index: *index,
        programs: Program::all(key.iter().map(|k| &k.expr), &ctx)?,
        types: key.iter().map(|k| k.expr.ty).collect(),
        null_safe: key.iter().zip(parts).map(|(k, p)| k.null_safe && def.columns[p.column_idx].nullable).collect(),
        part_types: parts.iter().take(key.len()).map(|p| def.columns[p.column_idx].ty).collect(),
        rounds: key.iter().zip(parts).any(|(k, p)| rounds(&k.expr.ty, &def.columns[p.column_idx].ty)),
        single: def.indexes[*index].is_unique()
            && key.len() == parts.len()
            && key.iter().all(|k| !k.null_safe)
            && parts.iter().all(|p| p.prefix_len.is_none()),
        columns,
        column_types: columns.iter().map(|&c| def.columns[c].ty).collect(),
        filter: Filter::new(filters, &ctx)?,
        condition: Filter::new(condition, &ctx)?,
        project,
        with_row_id: *with_row_id,
        input_types: input.output.iter().map(|c| c.ty).collect(),
        input_used,
        buffer: *buffer,
        rescue: rescue.as_ref().map(|r| Rescue::new(r, &ctx)).transpose()?,
        matches: node.notes.examined,
    };
    if !stage.single {
        stage.reader.prepare_index(*index, &|| run.ctx.check_killed())?;
    }
    run_node(run, input, &Down::stage(node.id, &stage, down))
}

impl Stage for JoinStage<'_> {
    fn local<'b>(&'b self, next: Box<dyn Push + 'b>) -> Result<Box<dyn Push + 'b>> {
        let buffered = self.buffer.map(|b| Buffered::new(self, b));
        Ok(Box::new(JoinLocal { stage: self, candidates: Candidates::default(), buffered, done: false, next }))
    }

    fn rows_per_row(&self) -> f64 {
        self.matches
    }
}

impl JoinStage<'_> {
    /// The key at position `i` as values of the parts' types; `None`: nothing can have it.
    fn key(&self, values: &[Vector], i: usize) -> Option<Vec<Value>> {
        let mut out = Vec::with_capacity(values.len() + 1);
        for (k, v) in values.iter().enumerate() {
            if !v.is_valid(i) {
                if !self.null_safe[k] {
                    return None;
                }
                out.push(Value::Null);
                continue;
            }
            match fit(v.value(i, &self.types[k]), &self.part_types[k]) {
                Fitted::Exact(v) => out.push(v),
                _ => return None,
            }
        }
        Some(out)
    }

    /// A part of the key is a DOUBLE to which several integers round.
    fn is_rounded(&self, values: &[Vector], i: usize) -> bool {
        (0..values.len()).any(|k| {
            rounds(&self.types[k], &self.part_types[k])
                && values[k].is_valid(i)
                && matches!(values[k].value(i, &SqlType::Double), Value::Double(x) if x.abs() >= EXACT_DOUBLE_MAX)
        })
    }

    /// The keys with each of the integers that such a part may be.
    fn keys_near(&self, values: &[Vector], i: usize) -> Vec<Vec<Value>> {
        let mut keys = vec![vec![]];
        for (k, v) in values.iter().enumerate() {
            let (from, to) = (&self.types[k], &self.part_types[k]);
            let choices = match v.is_valid(i).then(|| v.value(i, from)) {
                None if self.null_safe[k] => vec![Value::Null],
                None => vec![],
                Some(Value::Double(x)) if matches!(to, SqlType::Int { .. }) => integers_equal(x, to),
                Some(v) => match fit(v, to) {
                    Fitted::Exact(v) => vec![v],
                    _ => vec![],
                },
            };
            let with = |key: &Vec<Value>| -> Vec<Vec<Value>> {
                choices.iter().map(|c| key.iter().chain([c]).cloned().collect()).collect()
            };
            keys = keys.iter().flat_map(with).collect();
        }
        keys
    }

    /// The keys of the batch's rows that can have partners, and their positions.
    fn keys(&self, batch: &Batch) -> Result<(Vec<Vec<Value>>, Vec<u16>)> {
        let values = eval_all(&self.programs, batch, &self.run.eval())?;
        let positions = batch.selection.to_positions(batch.rows);
        let (mut keys, mut at) = (Vec::with_capacity(positions.len()), Vec::with_capacity(positions.len()));
        for &i in &positions {
            if self.rounds && self.is_rounded(&values, i as usize) {
                for key in self.keys_near(&values, i as usize) {
                    keys.push(key);
                    at.push(i);
                }
                continue;
            }
            if let Some(key) = self.key(&values, i as usize) {
                keys.push(key);
                at.push(i);
            }
        }
        Ok((keys, at))
    }

    fn encode(&self, values: &[Value], out: &mut Vec<u8>) -> Result<()> {
        match self.reader.index_key(self.index, values, out) {
            true => Ok(()),
            false => Err(Error::internal("a join by an index without order")),
        }
    }

    fn encoded(&self, values: &[Value]) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        self.encode(values, &mut out)?;
        Ok(out)
    }

    fn outputs_pairs(&self) -> bool {
        matches!(self.kind, JoinKind::Inner | JoinKind::Left)
    }
}

impl JoinLocal<'_> {
    /// Joins the rows at `positions` with `fetched`, one row each; notes which match and hands pairs on.
    fn pairs(&mut self, input: &Batch, positions: &[u16], mut fetched: Batch, matched: &mut Bitmap) -> Result<Flow> {
        let s = self.stage;
        s.run.ctx.counters.read_by_index(fetched.count() as u64);
        s.reader.note_read(Some(s.index), fetched.count() as u64);
        s.filter.apply(&mut fetched, &s.run.eval())?;
        if fetched.count() == 0 {
            return Ok(Flow::More);
        }
        let columns = input.columns.iter().map(|c| c.gather(positions)).chain(fetched.columns).collect();
        let mut pairs = Batch { rows: fetched.rows, columns, selection: fetched.selection };
        s.condition.apply(&mut pairs, &s.run.eval())?;
        pairs.selection.for_each(pairs.rows, |i| matched.set(positions[i] as usize, true));
        if pairs.count() == 0 || !s.outputs_pairs() {
            return Ok(Flow::More);
        }
        self.next.push(self.projected(pairs))
    }

    fn projected(&self, pairs: Batch) -> Batch {
        let columns = self.stage.project.iter().map(|&c| pairs.columns[c].clone()).collect();
        Batch { columns, ..pairs }
    }

    /// Fetches and joins rows known by id.
    fn join_rows(&mut self, input: &Batch, rows: &[(u16, u64)], matched: &mut Bitmap) -> Result<Flow> {
        for part in rows.chunks(BATCH_ROWS_MAX) {
            let ids: Vec<u64> = part.iter().map(|p| p.1).collect();
            let mut fetched = self.stage.reader.fetch(&ids, self.stage.columns)?;
            if self.stage.with_row_id {
                let ids = vector::Values::U64(ids);
                fetched.columns.push(Vector::flat(vector::Chunk::new(ids, None)));
            }
            let positions: Vec<u16> = part.iter().map(|p| p.0).collect();
            if self.pairs(input, &positions, fetched, matched)? == Flow::Done {
                return Ok(Flow::Done);
            }
        }
        Ok(Flow::More)
    }

    /// Looks keys up, some at a time, and joins what they have.
    fn join_keys(&mut self, input: &Batch, keys: Vec<Vec<Value>>, at: &[u16], matched: &mut Bitmap) -> Result<Flow> {
        let s = self.stage;
        let keys: Vec<Vec<u8>> = keys.iter().map(|k| s.encoded(k)).collect::<Result<_>>()?;
        let (mut done, mut size) = (0, KEYS_AT_ONCE);
        let mut ends = Vec::new();
        while done < keys.len() {
            s.run.ctx.check_killed()?;
            let next = (done + size).min(keys.len());
            let mut found = std::mem::take(&mut self.candidates);
            found.clear();
            ends.clear();
            let moment = s.reader.settled(s.index);
            s.reader.index_get_many(s.index, &keys[done..next], usize::MAX, &mut found, &mut ends)?;
            s.run.ctx.counters.handler_read_next.fetch_add(found.len() as u64, Relaxed);
            // Keys with many entries go a few at a time.
            size = if found.len() > 8 * BATCH_ROWS_MAX { (size / 4).max(1) } else { KEYS_AT_ONCE };
            let mut positions = Vec::with_capacity(found.len());
            for (end, i) in ends.iter().zip(&at[done..next]) {
                positions.resize(*end as usize, *i);
            }
            if let Some(tests) = &s.tests {
                tests.apply_beside(&s.run, &mut found, &mut positions)?;
            }
            let flow = self.join_candidates(input, &positions, &found, moment, matched)?;
            self.candidates = found;
            if flow == Flow::Done {
                return Ok(Flow::Done);
            }
            done = next;
        }
        Ok(Flow::More)
    }

    /// Fetches and joins candidates read since `moment`, each with the input row at its position.
    fn join_candidates(
        &mut self,
        input: &Batch,
        positions: &[u16],
        found: &Candidates,
        moment: Option<u64>,
        matched: &mut Bitmap,
    ) -> Result<Flow> {
        let s = self.stage;
        let mut part = Candidates::default();
        for (n, positions) in positions.chunks(BATCH_ROWS_MAX).enumerate() {
            s.run.ctx.check_killed()?;
            let from = n * BATCH_ROWS_MAX;
            part.clear();
            part.append(found, from, from + positions.len());
            let fetched = s.reader.fetch_candidates_since(s.index, &part, s.columns, s.with_row_id, moment)?;
            if self.pairs(input, positions, fetched, matched)? == Flow::Done {
                return Ok(Flow::Done);
            }
        }
        Ok(Flow::More)
    }

    /// What comes after the pairs: rows by whether they have a match.
    fn finish_batch(&mut self, input: Batch, matched: &Bitmap) -> Result<Flow> {
        let s = self.stage;
        let wanted = s.kind == JoinKind::Semi;
        let mut kept = input.selection.to_positions(input.rows);
        kept.retain(|&i| matched.get(i as usize) == wanted);
        if s.kind == JoinKind::Inner || kept.is_empty() {
            return Ok(Flow::More);
        }
        let mut columns = input.columns;
        if s.kind == JoinKind::Left {
            columns.extend(s.column_types.iter().map(null_vector));
            if s.with_row_id {
                columns.push(null_vector(&SqlType::BIGINT_UNSIGNED));
            }
        }
        let out = self.projected(Batch { rows: input.rows, columns, selection: Selection::Some(kept) });
        self.next.push(out)
    }
}

impl JoinLocal<'_> {
    /// Joins a batch by itself.
    fn join_batch(&mut self, batch: Batch) -> Result<Flow> {
        let mut matched = Bitmap::zeros(batch.rows);
        let (keys, at) = self.stage.keys(&batch)?;
        self.stage.run.ctx.counters.handler_read_key.fetch_add(keys.len() as u64, Relaxed);
        let flow = if self.stage.single {
            let found = self.stage.reader.lookup(self.stage.index, &keys)?;
            let rows: Vec<(u16, u64)> = at.into_iter().zip(found).filter_map(|(i, id)| Some((i, id?))).collect();
            self.join_rows(&batch, &rows, &mut matched)?
        } else if self.stage.outputs_pairs() {
            self.join_keys(&batch, keys, &at, &mut matched)?
        } else {
            self.first_matches(&batch, keys, &at, &mut matched)?
        };
        if flow == Flow::Done {
            return Ok(Flow::Done);
        }
        self.finish_batch(batch, &matched)
    }
}

impl Push for JoinLocal<'_> {
    fn push(&mut self, batch: Batch) -> Result<Flow> {
        let stage = self.stage;
        stage.run.ctx.check_killed()?;
        let hashed = match &stage.rescue {
            Some(r) => r.table(stage, batch.count() as u64)?,
            None => None,
        };
        let flow = match hashed {
            Some(table) => match self.flush()? {
                Flow::Done => Flow::Done,
                Flow::More => self.join_hashed(batch, table)?,
            },
            None if self.buffered.is_some() => self.collect(batch)?,
            None => self.join_batch(batch)?,
        };
        self.done |= flow == Flow::Done;
        Ok(flow)
    }

    fn finish(&mut self) -> Result<()> {
        if !self.done {
            self.flush()?;
        }
        self.next.finish()
    }
}
