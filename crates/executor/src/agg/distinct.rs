//! DISTINCT inside an aggregate: each group's distinct argument values, aggregated once at the end.
//!
//! A table keyed (group, arguments) numbers the distinct rows; their arguments are kept as long columns. NULL in any
//! argument leaves the row out, as COUNT, SUM and the others would.

use super::accumulator::{Accumulator, Rows};
use crate::columns::{ColumnAppender, gather32};
use crate::group_table::GroupTable;
use crate::keys::{KeyEncoder, KeyLayout, Keys};
use expr::{AggCall, EvalContext};
use std::sync::Arc;
use types::{IntSize, Result, SqlType};
use vector::{BATCH_ROWS_MAX, Batch, Chunk, Selection, Values, Vector};

pub struct Distinct {
    inner: Accumulator,
    arg_types: Vec<SqlType>,
    encoder: KeyEncoder,
    table: GroupTable,
    /// By number in `table`.
    row_groups: Vec<u32>,
    args: Vec<ColumnAppender>,
    group_count: usize,
    finished: bool,
}

const GROUP_NUMBER: SqlType = SqlType::Int { size: IntSize::I32, unsigned: true };

impl Distinct {
    pub fn new(call: &AggCall, inner: Accumulator) -> Distinct {
        let mut key = vec![(GROUP_NUMBER, false)];
        // GROUP_CONCAT's ORDER BY expressions travel behind the arguments and are no part of the key.
        let arg_types: Vec<SqlType> =
            call.args.iter().map(|a| a.ty).chain(call.order_by.iter().map(|(e, _)| e.ty)).collect();
        key.extend(call.args.iter().map(|a| (a.ty, false)));
        let layout = KeyLayout::new(&key);
        Distinct {
            inner,
            table: GroupTable::new(layout.form),
            encoder: KeyEncoder::new(layout),
            row_groups: Vec::new(),
            args: arg_types.iter().map(|_| ColumnAppender::default()).collect(),
            arg_types,
            group_count: 0,
            finished: false,
        }
    }

    pub fn resize(&mut self, groups: usize) {
        self.group_count = groups;
    }

    pub fn bytes(&self) -> usize {
        self.table.bytes() + self.row_groups.capacity() * 4 + self.args.iter().map(ColumnAppender::bytes).sum::<usize>()
    }

    pub fn update(&mut self, rows: Rows<'_>, args: &[Vector]) -> Result<()> {
        // Group numbers, position aligned.
        let mut numbers = vec![0u32; rows.rows];
        let mut j = 0;
        rows.selection.for_each(rows.rows, |i| {
            numbers[i] = rows.groups[j];
            j += 1;
        });
        let key_args = self.encoder_columns();
        let mut key: Vec<Vector> = vec![Vector::flat(Chunk::new(Values::U32(numbers), None))];
        key.extend(args[..key_args].iter().cloned());
        let batch = Batch { rows: rows.rows, columns: Vec::new(), selection: rows.selection.clone() };
        let valid = self.encoder.valid_positions(&key, &batch);
        let mut keys = Keys::default();
        self.encoder.encode(&key, &valid, rows.rows, &mut keys);
        let (mut found, mut new) = (Vec::new(), Vec::new());
        self.table.find_or_insert(&keys, &mut found, &mut new);
        let positions = valid.to_positions(rows.rows);
        let new: Vec<u16> = new.iter().map(|&j| positions[j as usize]).collect();
        let (chunk, _) = key[0].chunk();
        let Values::U32(numbers) = &chunk.values else { unreachable!("made so above") };
        self.row_groups.extend(new.iter().map(|&i| numbers[i as usize]));
        let new = Selection::Some(new);
        for (a, v) in self.args.iter_mut().zip(args) {
            a.append(v, &new, rows.rows);
        }
        Ok(())
    }

    fn encoder_columns(&self) -> usize {
        self.encoder.column_count() - 1
    }

    /// Calls `f` with the distinct rows `numbers`, a batch at a time: (groups, arguments).
    fn replay(&self, numbers: &[u32], mut f: impl FnMut(&[u32], Vec<Vector>) -> Result<()>) -> Result<()> {
        let columns: Vec<Chunk> = self.args.iter().zip(&self.arg_types).map(|(a, t)| a.snapshot(t)).collect();
        for part in numbers.chunks(BATCH_ROWS_MAX) {
            let groups: Vec<u32> = part.iter().map(|&r| self.row_groups[r as usize]).collect();
            f(&groups, columns.iter().map(|c| Vector::Flat(Arc::new(gather32(c, part)))).collect())?;
        }
        Ok(())
    }

    pub fn merge(&mut self, other: &Distinct, src: &[u32], dst: &[u32]) -> Result<()> {
        let mut to = vec![u32::MAX; other.group_count];
        src.iter().zip(dst).for_each(|(&s, &d)| to[s as usize] = d);
        let numbers: Vec<u32> = (0..other.row_groups.len() as u32)
            .filter(|&r| to[other.row_groups[r as usize] as usize] != u32::MAX)
            .collect();
        other.replay(&numbers, |groups, args| {
            let mapped: Vec<u32> = groups.iter().map(|&g| to[g as usize]).collect();
            let rows = mapped.len();
            self.update(
                Rows { groups: &mapped, selection: &Selection::All, rows, group_count: self.group_count },
                &args,
            )
        })
    }

    pub fn finish(&mut self, from: usize, to: usize, ctx: &EvalContext<'_>) -> Result<Chunk> {
        if !self.finished {
            self.finished = true;
            let mut inner = std::mem::replace(&mut self.inner, Accumulator::Count { n: Vec::new() });
            inner.resize(self.group_count);
            let all: Vec<u32> = (0..self.row_groups.len() as u32).collect();
            self.replay(&all, |groups, args| {
                let rows = groups.len();
                let rows = Rows { groups, selection: &Selection::All, rows, group_count: self.group_count };
                inner.update(rows, &args, ctx)
            })?;
            self.inner = inner;
        }
        self.inner.finish(from, to, ctx)
    }
}
