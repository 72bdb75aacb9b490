//! SELECT SQL_CALC_FOUND_ROWS: all rows are made, as if there were no outermost LIMIT; those within it are sent, and
//! FOUND_ROWS() tells how many there were.

use super::timestamps;
use crate::session::Execution;
use plan::logical::{Logical, LogicalQuery};
use session::sink::{ResultShape, ResultSink};
use std::ops::{ControlFlow, Range};
use types::{Error, Result, WarningLevel};
use vector::{Batch, Selection};

/// Takes the outermost LIMIT off; the rows that it lets through.
fn take_limit(logical: &mut LogicalQuery) -> Range<u64> {
    let root = std::mem::replace(&mut logical.root, Logical::OneRow);
    match root {
        Logical::Limit { input, limit, offset } => {
            logical.root = *input;
            offset..limit.map_or(u64::MAX, |n| offset.saturating_add(n))
        }
        other => {
            logical.root = other;
            0..u64::MAX
        }
    }
}

/// The rows of `batch`, whose first is row number `first` of the result, that lie within `window`.
fn within(batch: &Batch, first: u64, window: &Range<u64>) -> Batch {
    let count = batch.count() as u64;
    let from = window.start.saturating_sub(first).min(count) as usize;
    let to = window.end.saturating_sub(first).min(count) as usize;
    let mut positions = batch.selection.to_positions(batch.rows);
    positions.truncate(to);
    positions.drain(..from.min(to));
    Batch { selection: Selection::Some(positions), ..batch.clone() }
}

impl Execution<'_> {
    /// Answers a query with SQL_CALC_FOUND_ROWS.
    pub(super) fn query_counting(
        &mut self,
        mut logical: LogicalQuery,
        shape: &ResultShape,
        more: bool,
        sink: &mut dyn ResultSink,
    ) -> Result<()> {
        let window = take_limit(&mut logical);
        let plan = self.optimize(logical)?;
        let mut local = timestamps::ToLocal::new(&shape.columns, self);
        let mut found = 0u64;
        sink.shared_columns(shape)?;
        self.run(&plan, None, &mut |batch| {
            let count = batch.count() as u64;
            if found < window.end && found + count > window.start {
                let cut = within(batch, found, &window);
                sink.batch(&local.convert(&cut))?;
            }
            found += count;
            Ok(ControlFlow::Continue(()))
        })?;
        self.warn(Error::warn_deprecated_syntax("SQL_CALC_FOUND_ROWS", "COUNT(*)").into_warning(WarningLevel::Warning));
        self.set_found_rows(found);
        sink.end_rows(&self.end_info(more))
    }
}
