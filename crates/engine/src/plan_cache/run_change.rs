//! Statements that change rows by flat plans.

use super::change::{PointDelete, PointUpdate};
use super::key::{KeyChunks, with_refs};
use super::point::PointLock;
use crate::query::timestamps::RowToLocal;
use crate::session::Execution;
use changes::flat::{Decided, FlatInsert, ReadyValues};
use changes::{Converter, RowsChanged};
use session::sink::ResultSink;
use std::sync::Arc;
use storage::{IndexIo, Step, TableIo, Txn};
use types::{Result, SqlType, Value};
use vector::Chunk;

type Params<'a> = &'a [(Value, SqlType)];

/// What became of the row that an UPDATE is about.
enum Updated {
    /// There is none.
    Missing,
    Same,
    Changed,
    /// Leave it to the ordinary way; nothing has happened.
    Unsuited,
}

impl Execution<'_> {
    /// `None`: the values do not suit the plan, and nothing has happened.
    pub(super) fn run_point_update(
        &mut self,
        update: &PointUpdate,
        params: Params<'_>,
        io: &TableIo,
        sink: &mut dyn ResultSink,
    ) -> Result<Option<()>> {
        let key = update.key.chunks(params);
        if matches!(key, KeyChunks::Unsuited) {
            return Ok(None);
        }
        let Some(mut ready) = update.row.ready(self, params) else { return Ok(None) };
        let counter = |s: &Execution<'_>| s.status().com_update.add(1);
        let (txn, savepoint) = self.begin_change().inspect_err(|_| counter(self))?;
        let result = self.update_row(update, key, &mut ready, &txn);
        if matches!(result, Ok(Updated::Unsuited)) {
            return Ok(None);
        }
        counter(self);
        let (matched, changed) = match self.end_last_change(savepoint, result)? {
            Updated::Missing | Updated::Unsuited => (0, 0),
            Updated::Same => (1, 0),
            Updated::Changed => (1, 1),
        };
        let io = io.of(Some(update.key.index));
        self.count_lookup(io, matched);
        self.count_rows(io, RowsChanged::updated(changed));
        let affected = if self.reports_found_rows() { matched } else { changed };
        let info = match (matched, changed) {
            (0, _) => "Rows matched: 0  Changed: 0  Warnings: 0",
            (_, 0) => "Rows matched: 1  Changed: 0  Warnings: 0",
            _ => "Rows matched: 1  Changed: 1  Warnings: 0",
        };
        self.send_ok(affected, info.into(), false, sink)?;
        Ok(Some(()))
    }

    /// A row was looked for by key.
    pub(crate) fn count_lookup(&self, io: &IndexIo, found: u64) {
        let status = self.status();
        status.handler_read_key.add(1);
        status.innodb_rows_read.add(found);
        io.fetched(self.process().id(), found);
    }

    /// SELECT ... FOR UPDATE. `None`: the values do not suit the plan, and nothing has happened.
    pub(super) fn run_point_lock(
        &mut self,
        lock: &PointLock,
        params: Params<'_>,
        io: &TableIo,
        sink: &mut dyn ResultSink,
    ) -> Result<Option<()>> {
        let key = lock.key.chunks(params);
        if matches!(key, KeyChunks::Unsuited) {
            return Ok(None);
        }
        self.status().com_select.add(1);
        let txn = self.writing()?;
        let savepoint = txn.savepoint();
        let result = self.lock_row(lock, key, &txn);
        let row = self.end_change(savepoint, result)?;
        let found = u64::from(row.is_some());
        self.count_lookup(io.of(Some(lock.key.index)), found);
        sink.shared_columns(&lock.shape)?;
        if let Some(row) = row {
            RowToLocal::new(&lock.shape, self).send(sink, &lock.shape, &|i| (&row[i], 0))?;
            sink.row_done()?;
        }
        self.set_found_rows(found);
        sink.end_rows(&self.end_info(false))?;
        Ok(Some(()))
    }

    /// The columns of the row, which is held.
    fn lock_row(&self, lock: &PointLock, key: KeyChunks, txn: &Arc<Txn>) -> Result<Option<Vec<Chunk>>> {
        self.check_killed()?;
        let KeyChunks::Is(key) = key else { return Ok(None) };
        let held = self.hold_by_key(&lock.table, lock.key.index, &key, &lock.columns, txn)?;
        Ok(held.map(|row| row.columns))
    }

    fn update_row(
        &self,
        update: &PointUpdate,
        key: KeyChunks,
        ready: &mut ReadyValues,
        txn: &Arc<Txn>,
    ) -> Result<Updated> {
        self.check_killed()?;
        let KeyChunks::Is(key) = key else { return Ok(Updated::Missing) };
        let table = self.db().store().expect_table(&update.row.table)?;
        let hold = self.holds_absent_keys();
        let mut unsuited = false;
        let converter = update.row.calculates().then(|| Converter::new(self, &update.row.table, false));
        let to = converter.as_ref();
        let mut decide =
            |row: storage::RowAt<'_, '_>, out: &mut Vec<Chunk>| match update.row.decide(ready, to, row, out) {
                Decided::Step(step) => step,
                Decided::Unsuited => {
                    unsuited = true;
                    Step::Leave
                }
            };
        let done = with_refs(&key, |key| {
            table.change_by_key(txn, update.key.index, key, &update.row.columns, hold, &mut decide)
        })?;
        Ok(match done {
            _ if unsuited => Updated::Unsuited,
            None => Updated::Missing,
            Some((_, Step::Update)) => Updated::Changed,
            Some(_) => Updated::Same,
        })
    }

    /// `None`: the values do not suit the plan, and nothing has happened.
    pub(super) fn run_point_delete(
        &mut self,
        delete: &PointDelete,
        params: Params<'_>,
        io: &TableIo,
        sink: &mut dyn ResultSink,
    ) -> Result<Option<()>> {
        let key = delete.key.chunks(params);
        if matches!(key, KeyChunks::Unsuited) {
            return Ok(None);
        }
        self.status().com_delete.add(1);
        let (txn, savepoint) = self.begin_change()?;
        let result = self.delete_row(delete, key, &txn);
        let deleted = self.end_last_change(savepoint, result)?;
        let io = io.of(Some(delete.key.index));
        self.count_lookup(io, deleted);
        self.count_rows(io, RowsChanged::deleted(deleted));
        self.send_ok(deleted, String::new(), false, sink)?;
        Ok(Some(()))
    }

    fn delete_row(&self, delete: &PointDelete, key: KeyChunks, txn: &Arc<Txn>) -> Result<u64> {
        self.check_killed()?;
        let KeyChunks::Is(key) = key else { return Ok(0) };
        let table = self.db().store().expect_table(&delete.table)?;
        let hold = self.holds_absent_keys();
        let mut decide = |_: storage::RowAt<'_, '_>, _: &mut Vec<Chunk>| Step::Delete;
        let done = with_refs(&key, |key| table.change_by_key(txn, delete.key.index, key, &[], hold, &mut decide))?;
        Ok(u64::from(done.is_some()))
    }

    /// `None`: the values do not suit the plan, and nothing has happened.
    pub(super) fn run_point_insert(
        &mut self,
        insert: &FlatInsert,
        params: Params<'_>,
        io: &TableIo,
        sink: &mut dyn ResultSink,
    ) -> Result<Option<()>> {
        let Some(mut ready) = insert.ready(self, params) else { return Ok(None) };
        if ready.generates && self.insert_id() != 0 {
            return Ok(None);
        }
        self.status().com_insert.add(1);
        let (txn, savepoint) = self.begin_change()?;
        let result = insert.insert(self, &mut ready, &txn);
        let generated = self.end_last_change(savepoint, result)?;
        if let Some(id) = generated {
            self.set_last_insert_id(id);
        }
        let rows = ready.rows as u64;
        self.count_rows(io.of(None), RowsChanged::inserted(rows));
        let info = match rows {
            1 => String::new(),
            _ => format!("Records: {rows}  Duplicates: 0  Warnings: 0"),
        };
        self.send_ok_with_id(rows, generated.unwrap_or(ready.last_given), info, false, sink)?;
        Ok(Some(()))
    }

    /// What [`Frame::begin_known_statement`] counted is counted again.
    pub(super) fn forget_known_statement(&self) {
        self.status().questions.sub(1);
    }
}
