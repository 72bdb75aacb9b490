//! Predicates tried on a table's row sample.

use catalog::TableStats;
use expr::{ColumnId, Expr};

/// Rows of the sample that pass all predicates, and the sample's size; `None` where they cannot be evaluated ahead of
/// execution.
pub fn hits(_stats: &TableStats, _columns: &[(ColumnId, usize)], _predicates: &[Expr]) -> Option<(usize, usize)> {
    None
}
