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

/// Statistics by table. Never depends on what happens to be cached.
pub trait Statistics: Sync {
    fn table(&self, id: TableId) -> Option<Arc<TableStats>>;
}
