//! SELECTs of a few rows by flat plans.

use super::range::{Bounds, Output, RangeSelect, Sorter, Sums};
use crate::query::timestamps::RowToLocal;
use crate::session::Execution;
use session::sink::ResultSink;
use storage::{IntRange, RowAt, Snapshot, Table, TableIo};
use types::Result;

impl Execution<'_> {
    /// `None`: the table has not the order that this takes; nothing has happened.
    pub(super) fn run_range(
        &mut self,
        range: &RangeSelect,
        bounds: &Bounds,
        io: &TableIo,
        sink: &mut dyn ResultSink,
    ) -> Result<Option<()>> {
        self.check_killed()?;
        let table = self.db().store().expect_table(&range.table)?;
        // rows in another character set are not written where they lie
        if !table.has_runs(range.index) || self.vars().hot().results_are_latin1 {
            return Ok(None);
        }
        let snapshot = self.read_snapshot();
        table.check_known_to(&snapshot)?;
        let read;
        let mut sent = 0;
        match &range.output {
            Output::Rows(columns) => {
                sink.shared_columns(&range.shape)?;
                let mut result = Ok(());
                let mut local = RowToLocal::new(&range.shape, self);
                read = visit(range, bounds, &table, &snapshot, &mut |row| {
                    if result.is_ok() {
                        result = local.send(sink, &range.shape, &|i| row(columns[i]));
                        sent += 1;
                    }
                });
                result?;
                sink.row_done()?;
            }
            Output::Sums(sums) => {
                let mut totals = Sums::new(sums.len());
                read = visit(range, bounds, &table, &snapshot, &mut |row| totals.add(sums, row));
                sink.shared_columns(&range.shape)?;
                let chunks = totals.finish(sums, &range.shape);
                sink.row_at(&range.shape, &|i| (&chunks[i], 0))?;
                sink.row_done()?;
                sent = 1;
            }
            Output::Sorted { column, descending, distinct } => {
                let mut sorter = Sorter::new(&range.table.columns[*column].ty);
                read = visit(range, bounds, &table, &snapshot, &mut |row| {
                    let (chunk, at) = row(*column);
                    sorter.add(chunk, at);
                });
                let (values, order) = sorter.finish(*descending, *distinct);
                sink.shared_columns(&range.shape)?;
                for at in &order {
                    sink.row_at(&range.shape, &|_| (&values, *at as usize))?;
                    sink.row_done()?;
                }
                sent = order.len() as u64;
            }
        }
        drop(snapshot);
        let status = self.status();
        status.com_select.add(1);
        status.handler_read_key.add(1);
        status.handler_read_next.add(read);
        status.innodb_rows_read.add(read);
        io.of(Some(range.index)).fetched(self.process().id(), read);
        self.set_found_rows(sent);
        sink.end_rows(&self.end_info(false))?;
        Ok(Some(()))
    }
}

/// Visits the rows within the bounds; how many there were.
fn visit(
    range: &RangeSelect,
    bounds: &Bounds,
    table: &Table,
    snapshot: &Snapshot,
    f: &mut dyn FnMut(RowAt<'_, '_>),
) -> u64 {
    let Bounds::Are { before, low, high } = bounds else { return 0 };
    let mut rows = 0;
    let ends = || (range.end_values(before, *low), range.end_values(before, *high));
    let wanted = IntRange { before, low: *low, high: *high };
    let mut counted = |row: RowAt<'_, '_>| {
        rows += 1;
        f(row);
    };
    let visited = table.visit_range(range.index, wanted, ends, snapshot, &mut counted);
    debug_assert!(visited, "the caller has asked for the order");
    rows
}
