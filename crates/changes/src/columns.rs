//! Rows of a query into a table, a batch of columns at a time.
//!
//! ```text
//!   batch ─ each column fits as it is ─▶ chunks ─▶ TableChanges
//!         ─ some value does not       ─▶ its rows, one after the other: RowWriter::push
//! ```
//! The way by rows knows which fault comes first, and the words for it; this one only knows that there is none.

use super::convert::now;
use super::writer::{RowWriter, Source};
use catalog::DefaultValue;
use std::sync::Arc;
use types::{Result, SqlType, Value};
use vector::{Batch, Chunk, ChunkBuilder, Values, Vector};

impl RowWriter<'_> {
    /// Adds the rows of a batch, all of its positions. Its columns are those given, and then what ON DUPLICATE KEY
    /// UPDATE reads.
    pub fn push_batch(&mut self, batch: &Batch, types: &[SqlType]) -> Result<()> {
        if batch.rows == 0 {
            return Ok(());
        }
        self.flush()?;
        if let Some(columns) = self.fitting_columns(batch, types) {
            return self.write_columns(columns, batch.rows);
        }
        self.writer.flush_behind()?;
        let mut row = Vec::with_capacity(types.len());
        for i in 0..batch.rows {
            row.clear();
            row.extend(batch.columns.iter().zip(types).map(|(c, ty)| Some((c.value(i, ty), *ty))));
            self.push(&row)?;
        }
        Ok(())
    }

    /// One chunk a column of the table, and behind them what else is read. `None`: some value is adjusted, at fault, or
    /// made anew for each row.
    fn fitting_columns(&mut self, batch: &Batch, types: &[SqlType]) -> Option<Vec<Arc<Chunk>>> {
        if self.row_defaults {
            return None;
        }
        let rows = batch.rows;
        let mut out: Vec<Arc<Chunk>> = Vec::with_capacity(self.sources.len());
        for i in 0..self.sources.len() {
            let c = &self.def.columns[i];
            let takes_null = c.nullable || c.auto_increment;
            let chunk = match self.sources[i] {
                Source::Given(p) => self.writer.converter().fit_column(i, &batch.columns[p], &types[p], rows)?,
                Source::Kept(p) => batch.columns[p].flatten(rows),
                Source::Default => self.default_column(i, rows)?,
                Source::Generated => constant(&Value::Null, &c.ty, rows),
            };
            if chunk.has_nulls() && !takes_null && self.sources[i] != Source::Generated {
                return None;
            }
            out.push(chunk);
        }
        let extra = self.mode.on_duplicate.source_types();
        let read = &batch.columns[batch.columns.len() - extra.len()..];
        out.extend(read.iter().zip(extra).map(|(c, ty)| c.flatten(rows).widened(ty.phys())));
        if let Some(column) = self.auto.as_ref().map(|a| a.ids.column) {
            out[column] = self.auto_column(column, &out[column], rows)?;
        }
        Some(out)
    }

    fn default_column(&self, i: usize, rows: usize) -> Option<Arc<Chunk>> {
        let c = &self.def.columns[i];
        let value = match (&self.defaults[i], &c.default) {
            (Some(known), _) => known.clone(),
            (None, DefaultValue::Value(v)) => v.clone(),
            (None, DefaultValue::CurrentTimestamp) => now(self.statement, &c.ty),
            (None, DefaultValue::None) if c.auto_increment || c.nullable => Value::Null,
            (None, DefaultValue::None | DefaultValue::Expr { .. }) => return None,
        };
        Some(constant(&value, &c.ty, rows))
    }

    /// The AUTO_INCREMENT column, which all rows came with values for, or none.
    fn auto_column(&mut self, column: usize, chunk: &Arc<Chunk>, rows: usize) -> Option<Arc<Chunk>> {
        let zero_is_value = self.zero_is_value();
        let ty = self.def.columns[column].ty;
        let number = |i: usize| match &chunk.values {
            Values::U64(v) => Some(v[i]),
            other => other.int_at(i).map(|v| v as u64),
        };
        let asks = |i: usize| !chunk.is_valid(i) || !zero_is_value && number(i) == Some(0);
        let asking = (0..rows).filter(|&i| asks(i)).count();
        let a = self.auto.as_mut()?;
        if !ty.is_integer() || asking > 0 && (asking < rows || a.left_over) {
            return None;
        }
        if asking == 0 {
            let is_positive = |v: u64| matches!(chunk.values, Values::U64(_)) || (v as i64) > 0;
            for i in 0..rows {
                let v = number(i)?;
                if is_positive(v) {
                    a.ids.given(v);
                }
                a.values.push((v, false));
            }
            return Some(chunk.clone());
        }
        let table = self.writer.table();
        if self.statement.insert_id() != 0 || !a.ids.has_room_for(table, rows as u64) {
            return None;
        }
        let mut ids = Vec::with_capacity(rows);
        for i in 0..rows {
            ids.push(a.ids.take(table, (rows - i) as u64).ok()?);
        }
        a.values.extend(ids.iter().map(|id| (*id, true)));
        let values = Values::U64(ids).carried(ty.phys())?;
        Some(Arc::new(Chunk::new(values, None)))
    }

    fn write_columns(&mut self, columns: Vec<Arc<Chunk>>, rows: usize) -> Result<()> {
        self.row_number += rows as u64;
        if !self.writes_plainly() {
            let columns = self.widened(columns);
            return self.write(columns, rows);
        }
        self.statement.check_killed()?;
        self.writer.insert_behind(columns, rows, self.rows_flushed + 1)?;
        self.rows_flushed += rows as u64;
        self.written.rows += rows as u64;
        self.written.copied += rows as u64;
        if let Some(a) = &mut self.auto {
            if let Some(&(first, true)) = a.values.first() {
                self.written.first_generated.get_or_insert(first);
            }
            self.written.id_shown = a.values.last().map_or(self.written.id_shown, |v| v.0);
            a.values.clear();
        }
        Ok(())
    }

    fn widened(&self, columns: Vec<Arc<Chunk>>) -> Vec<Arc<Chunk>> {
        let extra = self.mode.on_duplicate.source_types().iter();
        let types = self.def.columns.iter().map(|c| &c.ty).chain(extra);
        columns.into_iter().zip(types).map(|(c, ty)| c.widened(ty.phys())).collect()
    }
}

fn constant(value: &Value, ty: &SqlType, rows: usize) -> Arc<Chunk> {
    let mut one = ChunkBuilder::new(ty.phys(), 1);
    one.push(value);
    Vector::Const(Arc::new(one.finish())).flatten(rows)
}
