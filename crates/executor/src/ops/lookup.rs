//! KeyLookup: the rows under given unique keys. Fetch: columns of rows already known by id.

use crate::context::TableReader;
use crate::counters::StatementCounters;
use crate::eval::{Filter, Program};
use crate::ops::collect::BatchSource;
use crate::ops::scan::projected;
use crate::pipeline::{Down, Flow, Push, Stage, run_pipeline};
use crate::run::{Run, run_node};
use plan::physical::{PlanNode, PlanOp};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use types::{Error, Result, SqlType, Value};
use vector::{BATCH_ROWS_MAX, Batch, Chunk, Selection, Values, Vector};

pub fn run_lookup<'a>(run: &Run<'a>, node: &'a PlanNode, down: &Down<'_>) -> Result<()> {
    let PlanOp::KeyLookup { table, index, keys, columns, filters, project, with_row_id, .. } = &node.op else {
        return Err(Error::internal("not a KeyLookup node"));
    };
    let ctx = run.eval();
    let one = Batch::new(1, Vec::new());
    let mut tuples = Vec::with_capacity(keys.len());
    let parts = &table.indexes[*index].parts;
    for key in keys {
        let mut tuple = Vec::with_capacity(key.len());
        for (e, part) in key.iter().zip(parts) {
            let value = match e.as_const() {
                Some(v) => v.clone(),
                None => Program::new(e, &ctx)?.eval(&one, &ctx)?.value(0, &e.ty),
            };
            tuple.extend(as_key(value, &table.columns[part.column_idx].ty));
        }
        if tuple.len() == key.len() {
            tuples.push(tuple);
        }
    }
    let reader = run.ctx.tables.open(table)?;
    run.ctx.counters.handler_read_key.fetch_add(tuples.len() as u64, Ordering::Relaxed);
    let mut ids: Vec<u64> = Vec::new();
    for part in tuples.chunks(BATCH_ROWS_MAX) {
        ids.extend(reader.lookup(*index, part)?.into_iter().flatten());
    }
    // Two tuples may name one row (IN with a repeated value).
    let mut seen = std::collections::HashSet::new();
    ids.retain(|id| seen.insert(*id));
    let filter = Filter::new(filters, &ctx)?;
    let mut batches = Vec::new();
    for part in ids.chunks(BATCH_ROWS_MAX) {
        let mut batch = reader.fetch(part, columns)?;
        if *with_row_id {
            batch.columns.push(Vector::flat(Chunk::new(Values::U64(part.to_vec()), None)));
        }
        run.ctx.counters.read_by_index(batch.count() as u64);
        reader.note_read(Some(*index), batch.count() as u64);
        filter.apply(&mut batch, &ctx)?;
        batches.push(projected(batch, project, *with_row_id));
    }
    run_pipeline(run, node.id, &BatchSource::new(batches, true), down)
}

/// The value as the key holds it. `None`: it equals no key, being NULL or an integer beyond the column's type.
fn as_key(value: Value, ty: &SqlType) -> Option<Value> {
    let v = match value {
        Value::Null => return None,
        Value::Int(v) => i128::from(v),
        Value::UInt(v) => i128::from(v),
        other => return Some(other),
    };
    let SqlType::Int { size, unsigned } = *ty else { return Some(value) };
    let (min, max) = size.range(unsigned);
    if !(min..=max).contains(&v) {
        return None;
    }
    Some(if unsigned { Value::UInt(v as u64) } else { Value::Int(v as i64) })
}

struct FetchStage<'a> {
    reader: Arc<dyn TableReader + 'a>,
    row_id: usize,
    columns: &'a [usize],
    counters: &'a StatementCounters,
}

struct FetchLocal<'a> {
    stage: &'a FetchStage<'a>,
    next: Box<dyn Push + 'a>,
}

pub fn run_fetch<'a>(run: &Run<'a>, node: &'a PlanNode, input: &'a PlanNode, down: &Down<'_>) -> Result<()> {
    let PlanOp::Fetch { table, row_id, columns, .. } = &node.op else {
        return Err(Error::internal("not a Fetch node"));
    };
    let stage =
        FetchStage { reader: run.ctx.tables.open(table)?, row_id: *row_id, columns, counters: run.ctx.counters };
    run_node(run, input, &Down::stage(node.id, &stage, down))
}

impl Stage for FetchStage<'_> {
    fn local<'b>(&'b self, next: Box<dyn Push + 'b>) -> Result<Box<dyn Push + 'b>> {
        Ok(Box::new(FetchLocal { stage: self, next }))
    }
}

impl Push for FetchLocal<'_> {
    fn push(&mut self, batch: Batch) -> Result<Flow> {
        let mut batch = batch.compact();
        let ids = batch.columns[self.stage.row_id].flatten(batch.rows);
        let Values::U64(ids) = &ids.values else { return Err(Error::internal("row ids of another type")) };
        self.stage.counters.handler_read_rnd.fetch_add(batch.rows as u64, Ordering::Relaxed);
        // A row id of an outer join's missing side is NULL; its columns are too.
        let valid = batch.columns[self.stage.row_id].chunk().0.validity.clone();
        match valid {
            None => batch.columns.extend(self.stage.reader.fetch(ids, self.stage.columns)?.columns),
            Some(valid) => {
                let known: Vec<u64> = (0..batch.rows).filter(|&i| valid.get(i)).map(|i| ids[i]).collect();
                let fetched = self.stage.reader.fetch(&known, self.stage.columns)?;
                let mut next = 0;
                let rows: Vec<u32> = (0..batch.rows)
                    .map(|i| {
                        if valid.get(i) {
                            next += 1;
                            next - 1
                        } else {
                            crate::columns::NO_ROW
                        }
                    })
                    .collect();
                for c in fetched.columns {
                    let chunk = c.flatten(known.len());
                    batch.columns.push(Vector::flat(crate::columns::gather32_or_null(&chunk, &rows)));
                }
            }
        }
        batch.selection = Selection::All;
        self.next.push(batch)
    }

    fn finish(&mut self) -> Result<()> {
        self.next.finish()
    }
}
