//! What the planner may know of a table's contents. Implemented over storage, by the engine.

use crate::TableId;
use std::sync::Arc;
use types::Value;
use vector::Batch;

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
    /// Up to about a thousand rows picked uniformly, all columns in definition order (TIMESTAMPs in stored form).
    pub sample: Arc<Batch>,
}

/// One end of a stretch of an index's entries, by the values of leading key parts. No values: the very end.
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

/// A stretch of an index's entries. The ends are in the order of the entries: where a DESC part tells them apart, `low`
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
