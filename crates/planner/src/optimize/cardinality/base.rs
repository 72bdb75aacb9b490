//! The tables that an estimate's columns come from: their statistics, their columns' distributions.
//!
//! A figure of a [`Base`] describes the table as it is stored. What filters and joins have made of a column since is in
//! its [`super::ColumnEstimate`]; who mixes the two checks that they still agree.

use super::Estimate;
use catalog::{Histogram, TableDef, TableStats};
use expr::ColumnId;
use std::sync::Arc;
use types::Value;

#[derive(Debug)]
pub struct Base {
    columns: Vec<(ColumnId, usize)>,
    pub stats: Arc<TableStats>,
    def: Arc<TableDef>,
}

impl Base {
    pub fn new(columns: &[(ColumnId, usize)], stats: Arc<TableStats>, def: Arc<TableDef>) -> Base {
        Base { columns: columns.to_vec(), stats, def }
    }

    /// The position of a column in the table.
    pub fn position(&self, c: ColumnId) -> Option<usize> {
        self.columns.iter().find(|(id, _)| *id == c).map(|(_, i)| *i)
    }

    /// Does a key begin with the column?
    pub fn is_key_part(&self, c: ColumnId) -> bool {
        self.position(c).is_some_and(|i| self.def.indexes.iter().any(|x| x.parts[0].column_idx == i))
    }

    /// The histogram that somebody asked for.
    pub fn histogram(&self, c: ColumnId) -> Option<&Histogram> {
        self.def.columns.get(self.position(c)?)?.histogram.as_deref()
    }

    /// That, or the one of the table's sample.
    fn shape(&self, c: ColumnId) -> Option<&Histogram> {
        self.histogram(c).or_else(|| {
            let i = self.position(c)?;
            self.stats.shape(i, &self.def.columns.get(i)?.ty).map(|h| &**h)
        })
    }

    /// Combinations of the columns' values in the whole table; `None`: they are not all its.
    pub fn tuples(&self, columns: &[ColumnId]) -> Option<f64> {
        let columns: Vec<usize> = columns.iter().map(|c| self.position(*c)).collect::<Option<_>>()?;
        Some(self.stats.distinct_tuples(&columns))
    }
}

/// A column's distribution, with the table's rows.
#[derive(Clone, Copy)]
pub struct Shape<'a> {
    pub histogram: &'a Histogram,
    pub table_rows: f64,
}

impl Estimate {
    /// The table of a column.
    pub fn base(&self, c: ColumnId) -> Option<&Base> {
        self.bases.iter().find(|b| b.position(c).is_some()).map(|b| &**b)
    }

    /// How the column's values are distributed in its table.
    pub fn shape(&self, c: ColumnId) -> Option<Shape<'_>> {
        let base = self.base(c)?;
        let histogram = base.shape(c)?;
        (!histogram.buckets.is_empty()).then_some(Shape { histogram, table_rows: base.stats.rows as f64 })
    }

    /// Is the column's domain still that of its table?
    pub fn is_whole(&self, c: ColumnId) -> bool {
        let distinct = self.base(c).and_then(|b| Some(b.stats.columns.get(b.position(c)?)?.distinct));
        distinct.is_some_and(|d| self.column(c).domain >= 0.9 * d)
    }
}

impl Shape<'_> {
    /// Can the value be compared with the column's?
    fn fits(&self, v: &Value) -> bool {
        let of_text = matches!(self.histogram.buckets[0].low, Value::Bytes(_));
        !v.is_null() && of_text == matches!(v, Value::Bytes(_))
    }

    /// Rows that were looked at.
    fn seen(&self) -> f64 {
        (self.table_rows * self.histogram.sampling_rate).max(1.0)
    }

    /// Share of rows that have this value. One that was not seen is as rare as what is not seen must be.
    pub fn equal(&self, v: &Value, distinct: f64) -> Option<f64> {
        if !self.fits(v) {
            return None;
        }
        let unseen =
            if self.histogram.sampling_rate < 1.0 { 0.5 / self.seen() } else { 0.1 / self.table_rows.max(1.0) };
        Some(match self.histogram.equal(v) {
            0.0 => unseen.min(self.histogram.known() / distinct.max(1.0)),
            share => share,
        })
    }

    /// Shares of rows below the value, and up to it.
    pub fn below(&self, v: &Value) -> Option<(f64, f64)> {
        if !self.fits(v) {
            return None;
        }
        let below = self.histogram.below(v);
        Some((below, (below + self.histogram.equal(v)).min(self.histogram.known())))
    }

    /// Share of rows that begin with a text.
    pub fn starts_with(&self, prefix: &[u8]) -> Option<f64> {
        let mut end = prefix.to_vec();
        end.extend_from_slice("\u{10FFFF}".as_bytes());
        let (low, high) = (Value::Bytes(prefix.into()), Value::Bytes(end.into()));
        let share = self.below(&high)?.1 - self.below(&low)?.0;
        Some(share.max(0.5 / self.seen()))
    }

    /// Share of rows that equal a value nothing is known of: between that of a value as rare as any, and that of one as
    /// likely to be asked for as it is to be there.
    pub fn unknown(&self, distinct: f64) -> f64 {
        let rare = self.histogram.known() / distinct.max(1.0);
        let likely = self.histogram.collisions() / self.histogram.known().max(1e-9);
        (rare * likely.max(rare)).sqrt()
    }

    /// Are some values much more frequent than others?
    pub fn is_skewed(&self, distinct: f64) -> bool {
        self.histogram.collisions() * distinct > 2.0 * self.histogram.known().powi(2)
    }

    /// Values that have a bucket of their own, and their shares.
    pub fn common(&self) -> impl Iterator<Item = (&Value, f64)> {
        let h = self.histogram;
        (0..h.buckets.len()).filter(|i| h.buckets[*i].distinct <= 1.0).map(|i| (&h.buckets[i].low, h.share(i)))
    }
}
