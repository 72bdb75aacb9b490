//! When far more rows come to a join by index than the plan reckoned with: the table is read once, hashed, and probed.
//!
//! The outer side's size is an estimate of estimates; if it is a hundred times too small, so many lookups cost many
//! times what reading the table would. With the switch the worst case costs the lookups made up to it and the hash join
//! that the plan could have been. One thread builds the table; others go on with lookups meanwhile. A table for which
//! there is no memory is not built: lookups need none.

use super::{JoinLocal, JoinStage};
use crate::columns::{ColumnAppender, gather32};
use crate::eval::{Program, eval_all};
use crate::keys::{KeyEncoder, KeyLayout, Keys};
use crate::memory::Reservation;
use crate::ops::join::table::{Lookup, Pairs};
use crate::ops::scan::widen;
use crate::pipeline::Flow;
use crate::run::Run;
use expr::EvalContext;
use plan::physical::HashRescue;
use std::sync::OnceLock;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use types::{Result, SqlType};
use vector::{BATCH_ROWS_MAX, Batch, Bitmap, Chunk, Vector};

/// Shared state.
pub(super) struct Rescue {
    after_rows: u64,
    layout: KeyLayout,
    probe: Vec<Program>,
    build: Vec<Program>,
    /// Input rows that have come.
    seen: AtomicU64,
    begun: AtomicBool,
    /// `None`: there was no memory for it.
    table: OnceLock<Option<HashTable>>,
}

/// The rows of the table that pass its filter, by key.
pub(super) struct HashTable {
    columns: Vec<Chunk>,
    lookup: Lookup,
    _memory: Reservation,
}

impl Rescue {
    pub(super) fn new(plan: &HashRescue, ctx: &EvalContext<'_>) -> Result<Rescue> {
        let types: Vec<(SqlType, SqlType, bool)> =
            plan.keys.iter().map(|k| (k.probe.ty, k.build.ty, k.null_safe)).collect();
        Ok(Rescue {
            after_rows: plan.after_rows,
            layout: KeyLayout::of_join(&types)?,
            probe: Program::all(plan.keys.iter().map(|k| &k.probe), ctx)?,
            build: Program::all(plan.keys.iter().map(|k| &k.build), ctx)?,
            seen: AtomicU64::new(0),
            begun: AtomicBool::new(false),
            table: OnceLock::new(),
        })
    }

    /// The table, if so many rows more make it worth having.
    pub(super) fn table(&self, stage: &JoinStage<'_>, rows: u64) -> Result<Option<&HashTable>> {
        if let Some(table) = self.table.get() {
            return Ok(table.as_ref());
        }
        let seen = self.seen.fetch_add(rows, Relaxed) + rows;
        if seen <= self.after_rows || self.begun.swap(true, Relaxed) {
            return Ok(None);
        }
        let made = self.make(stage)?;
        Ok(self.table.get_or_init(|| made).as_ref())
    }

    fn make(&self, stage: &JoinStage<'_>) -> Result<Option<HashTable>> {
        let run = &stage.run;
        let width = stage.columns.len() + stage.with_row_id as usize;
        let mut columns: Vec<ColumnAppender> = (0..width).map(|_| ColumnAppender::default()).collect();
        let mut encoder = KeyEncoder::new(self.layout.clone());
        let mut pairs = Pairs::new(self.layout.form);
        let mut memory = Reservation::new(&run.memory_of(stage.node));
        let (mut rows, mut key_bytes) = (0u32, 0);
        for leaf in 0..stage.reader.leaf_count() {
            run.ctx.check_killed()?;
            let Some(mut batch) = stage.reader.read(leaf, stage.columns, stage.with_row_id, &|_| true)? else {
                continue;
            };
            run.ctx.counters.scanned(batch.count() as u64);
            stage.reader.note_read(None, batch.count() as u64);
            stage.filter.apply(&mut batch, &run.eval())?;
            batch.columns.iter_mut().zip(&stage.column_types).for_each(|(c, ty)| widen(c, ty.phys()));
            let values = eval_all(&self.build, &batch, &run.eval())?;
            batch.selection = encoder.valid_positions(&values, &batch);
            let n = batch.count() as u32;
            if n == 0 {
                continue;
            }
            let mut keys = Keys::default();
            encoder.encode(&values, &batch.selection, batch.rows, &mut keys);
            pairs.add(&keys, rows..rows + n);
            rows += n;
            key_bytes += keys.hashes.len() * 48;
            for (to, from) in columns.iter_mut().zip(&batch.columns) {
                to.append(from, &batch.selection, batch.rows);
            }
            let bytes = key_bytes + columns.iter().map(ColumnAppender::bytes).sum::<usize>();
            if !memory.try_resize_sparing(bytes, 1) {
                return Ok(None);
            }
        }
        let lookup = Lookup::build(&Run { dop: 1, ..*run }, pairs)?;
        let row_id = stage.with_row_id.then_some(SqlType::BIGINT_UNSIGNED);
        let types = stage.column_types.iter().copied().chain(row_id);
        let columns = columns.into_iter().zip(types).map(|(c, ty)| c.finish(&ty)).collect();
        Ok(Some(HashTable { columns, lookup, _memory: memory }))
    }
}

impl JoinLocal<'_> {
    /// Joins a batch by the hash table.
    pub(super) fn join_hashed(&mut self, batch: Batch, table: &HashTable) -> Result<Flow> {
        let stage = self.stage;
        let Some(rescue) = &stage.rescue else { return Ok(Flow::More) };
        let values = eval_all(&rescue.probe, &batch, &stage.run.eval())?;
        let mut encoder = KeyEncoder::new(rescue.layout.clone());
        encoder.set_hashing(!table.lookup.is_dense());
        let valid = encoder.valid_positions(&values, &batch);
        let mut keys = Keys::default();
        encoder.encode(&values, &valid, batch.rows, &mut keys);
        let at = valid.to_positions(batch.rows);
        let mut matched = Bitmap::zeros(batch.rows);
        let (mut positions, mut rows) = (Vec::<u16>::new(), Vec::<u32>::new());
        let mut result = Ok(Flow::More);
        table.lookup.probe(&keys, |j, row| {
            if !matches!(result, Ok(Flow::More)) {
                return false;
            }
            positions.push(at[j]);
            rows.push(row);
            if rows.len() == BATCH_ROWS_MAX {
                result = self.hashed_pairs(&batch, table, &positions, &rows, &mut matched);
                positions.clear();
                rows.clear();
            }
            true
        });
        if let Ok(Flow::More) = result
            && !rows.is_empty()
        {
            result = self.hashed_pairs(&batch, table, &positions, &rows, &mut matched);
        }
        match result? {
            Flow::Done => Ok(Flow::Done),
            Flow::More => self.finish_batch(batch, &matched),
        }
    }

    fn hashed_pairs(
        &mut self,
        input: &Batch,
        table: &HashTable,
        positions: &[u16],
        rows: &[u32],
        matched: &mut Bitmap,
    ) -> Result<Flow> {
        let stage = self.stage;
        stage.run.ctx.check_killed()?;
        let mut columns: Vec<Vector> = input.columns.iter().map(|c| c.gather(positions)).collect();
        columns.extend(table.columns.iter().map(|c| Vector::flat(gather32(c, rows))));
        let mut pairs = Batch::new(rows.len(), columns);
        stage.condition.apply(&mut pairs, &stage.run.eval())?;
        pairs.selection.for_each(pairs.rows, |i| matched.set(positions[i] as usize, true));
        if pairs.count() == 0 || !stage.outputs_pairs() {
            return Ok(Flow::More);
        }
        let out = self.projected(pairs);
        self.next.push(out)
    }
}
