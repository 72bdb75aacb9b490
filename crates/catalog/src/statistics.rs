//! What the planner may know of a table's contents. Implemented over storage, by the engine.

use crate::TableId;
use crate::histogram::Histogram;
use std::sync::{Arc, OnceLock};
use types::{SqlType, Value};
use vector::Batch;
use vector::hash::fold_words;

#[derive(Clone, Debug, PartialEq)]
pub struct ColumnStats {
    /// Estimated number of distinct non-NULL values (HyperLogLog).
    pub distinct: f64,
    /// Share of NULLs, 0..=1.
    pub null_fraction: f64,
    /// From zone maps: every non-NULL value lies within (integer-like columns only).
    pub min: Option<Value>,
    pub max: Option<Value>,
    /// Bytes of an average value.
    pub width: f64,
}

#[derive(Clone, Debug)]
pub struct TableStats {
    pub rows: u64,
    /// One per column of the definition.
    pub columns: Vec<ColumnStats>,
    /// Some thousand rows, picked by hashes of their keys, all columns in definition order (TIMESTAMPs in stored form).
    pub sample: Arc<Batch>,
    /// Distinct combinations of the first columns of keys of several.
    pub tuples: Vec<(Box<[usize]>, f64)>,
    /// Histograms of the sample, by column; made when they are asked for.
    shapes: Vec<OnceLock<Option<Arc<Histogram>>>>,
}

/// Buckets of a sample's histogram.
const SHAPE_BUCKETS: usize = 64;

impl TableStats {
    pub fn new(rows: u64, columns: Vec<ColumnStats>, sample: Arc<Batch>) -> TableStats {
        let shapes = columns.iter().map(|_| OnceLock::new()).collect();
        TableStats { rows, columns, sample, tuples: Vec::new(), shapes }
    }

    /// Rows of the sample, if it has all columns.
    fn sample_rows(&self) -> usize {
        if self.sample.columns.len() == self.columns.len() { self.sample.rows } else { 0 }
    }

    /// How the column's values are distributed, as far as the sample shows.
    pub fn shape(&self, column: usize, ty: &SqlType) -> Option<&Arc<Histogram>> {
        let make = || {
            if self.sample_rows() == 0 {
                return None;
            }
            let (chunk, constant) = self.sample.columns[column].chunk();
            let valid = |i: &usize| chunk.is_valid(*i);
            let (mut values, mut nulls) = (Vec::with_capacity(self.sample.rows), 0);
            for i in (0..self.sample.rows).map(|i| if constant { 0 } else { i }) {
                if valid(&i) { values.push(chunk.value(i, ty)) } else { nulls += 1 }
            }
            let mut h = Histogram::of(values, nulls, SHAPE_BUCKETS, ty.collation().unwrap_or_default());
            h.scale_distinct(self.columns[column].distinct);
            h.sampling_rate = (self.sample.rows as f64 / self.rows.max(1) as f64).min(1.0);
            Some(Arc::new(h))
        };
        self.shapes.get(column)?.get_or_init(make).as_ref()
    }

    /// About how many combinations of values the columns have together.
    pub fn distinct_tuples(&self, columns: &[usize]) -> f64 {
        let single =
            |c: &usize| self.columns.get(*c).map_or(1.0, |s| s.distinct + (s.null_fraction > 0.0) as u8 as f64);
        let rows = self.rows as f64;
        let product = columns.iter().map(single).product::<f64>().min(rows).max(1.0);
        if columns.len() < 2 {
            return product;
        }
        let same = |known: &[usize]| known.len() == columns.len() && known.iter().all(|c| columns.contains(c));
        if let Some((_, distinct)) = self.tuples.iter().find(|(known, _)| same(known)) {
            return distinct.min(rows).max(1.0);
        }
        let least = columns.iter().map(single).fold(1.0, f64::max).min(product);
        match self.sampled_tuples(columns) {
            Some(d) => d.clamp(least, product),
            None => product,
        }
    }

    /// From the combinations that come once in the sample: Haas and Stokes's estimator Duj1, as PostgreSQL uses it.
    fn sampled_tuples(&self, columns: &[usize]) -> Option<f64> {
        let n = self.sample_rows();
        if n == 0 {
            return None;
        }
        let mut hashes = vec![0u64; n];
        for c in columns {
            let (chunk, constant) = self.sample.columns.get(*c)?.chunk();
            if !constant {
                fold_words(chunk, 0, &mut hashes);
            }
        }
        hashes.sort_unstable();
        let (mut distinct, mut once) = (0.0, 0.0);
        for group in hashes.chunk_by(|a, b| a == b) {
            distinct += 1.0;
            once += (group.len() == 1) as u8 as f64;
        }
        let (n, rows) = (n as f64, (self.rows as f64).max(n as f64));
        Some(if n >= rows { distinct } else { n * distinct / (n - once + once * n / rows) })
    }
}

/// One end of a range of an index's entries, by the values of leading key parts. No values: the very end.
///
/// All entries that begin with the values lie inside if `inclusive`, outside if not.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyEnd {
    /// Of the columns' types, NULL included.
    pub values: Vec<Value>,
    pub inclusive: bool,
    /// The last value is a string, and strings that only begin with it count as beginning with the values too.
    pub starts_with: bool,
}

/// A range of an index's entries. The ends are in the order of the entries: where a DESC part tells them apart, `low`
/// has the greater value.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyBounds {
    pub low: KeyEnd,
    pub high: KeyEnd,
}

impl KeyBounds {
    /// All entries.
    pub fn all() -> KeyBounds {
        let end = KeyEnd { values: vec![], inclusive: true, starts_with: false };
        KeyBounds { low: end.clone(), high: end }
    }
}

/// What can be done with an index besides finding whole unique keys.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct IndexForm {
    /// Its entries can be walked in order.
    pub ordered: bool,
    /// The rows lie in the order of the index, nearly all of them: a range of keys is a few leaves.
    pub clustered: bool,
    /// Every row has an entry, so that entries alone can answer for rows.
    pub complete: bool,
}

/// Statistics by table. Never depends on what happens to be cached.
pub trait Statistics: Sync {
    fn table(&self, id: TableId) -> Option<Arc<TableStats>>;

    /// `index`: position in the definition.
    fn index_form(&self, _id: TableId, _index: usize) -> IndexForm {
        IndexForm::default()
    }

    /// About how many entries lie within the bounds, by a look at the index itself.
    fn index_estimate(&self, _id: TableId, _index: usize, _bounds: &KeyBounds) -> Option<u64> {
        None
    }
}
