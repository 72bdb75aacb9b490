//! Statements that change rows by flat plans.

use super::change::{Decided, PointDelete, PointUpdate, Ready};
use super::insert::{PointInsert, ReadyRows};
use super::key::{KeyChunks, with_refs};
use super::point::PointLock;
use crate::dml::{AutoIncrement, Converter};
use crate::query::timestamps::RowToLocal;
use crate::session::Execution;
use session::sink::ResultSink;
use std::sync::Arc;
use storage::{IndexIo, Step, Table, TableIo, Txn};
use types::{Error, Result, SqlType, Value};
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
        let Some(mut ready) = update.ready(self, params) else { return Ok(None) };
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
        io.updated(self.process().id(), changed);
        let status = self.status();
        status.innodb_rows_updated.add(changed);
        status.handler_update.add(changed);
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

    fn update_row(&self, update: &PointUpdate, key: KeyChunks, ready: &mut Ready, txn: &Arc<Txn>) -> Result<Updated> {
        self.check_killed()?;
        let KeyChunks::Is(key) = key else { return Ok(Updated::Missing) };
        let table = self.db().store().expect_table(&update.table)?;
        let hold = self.holds_absent_keys();
        let mut unsuited = false;
        let converter = update.calculates().then(|| Converter::new(self, &update.table, false));
        let to = converter.as_ref();
        let mut decide = |row: storage::RowAt<'_, '_>, out: &mut Vec<Chunk>| match update.decide(ready, to, row, out) {
            Decided::Step(step) => step,
            Decided::Unsuited => {
                unsuited = true;
                Step::Leave
            }
        };
        let done =
            with_refs(&key, |key| table.change_by_key(txn, update.key.index, key, &update.columns, hold, &mut decide))?;
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
        io.deleted(self.process().id(), deleted);
        let status = self.status();
        status.innodb_rows_deleted.add(deleted);
        status.handler_delete.add(deleted);
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
        insert: &PointInsert,
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
        let result = self.insert_ready(insert, &mut ready, &txn);
        let generated = self.end_last_change(savepoint, result)?;
        if let Some(id) = generated {
            self.set_last_insert_id(id);
        }
        let rows = ready.rows as u64;
        let status = self.status();
        status.innodb_rows_inserted.add(rows);
        status.handler_write.add(rows);
        io.of(None).inserted(self.process().id(), rows);
        let info = match rows {
            1 => String::new(),
            _ => format!("Records: {rows}  Duplicates: 0  Warnings: 0"),
        };
        self.send_ok_with_id(rows, generated.unwrap_or(ready.last_given), info, false, sink)?;
        Ok(Some(()))
    }

    /// Inserts the rows; the first value generated.
    fn insert_ready(&self, insert: &PointInsert, ready: &mut ReadyRows, txn: &Arc<Txn>) -> Result<Option<u64>> {
        self.check_killed()?;
        let table = self.db().store().expect_table(&insert.table)?;
        let generated = match insert.auto {
            Some(column) if ready.generates => Some(self.generate(insert, column, ready, &table)?),
            _ => None,
        };
        let refs: Vec<&Chunk> = ready.columns.iter().collect();
        table.insert_rows(txn, &refs, ready.rows)?;
        Ok(generated)
    }

    /// Puts the next AUTO_INCREMENT values into the column; returns the first.
    fn generate(&self, insert: &PointInsert, column: usize, ready: &mut ReadyRows, table: &Table) -> Result<u64> {
        let hot = self.vars().hot();
        let ty = insert.table.columns[column].ty;
        let SqlType::Int { unsigned, .. } = ty else { return Err(Error::internal("AUTO_INCREMENT is an integer")) };
        let mut ids = AutoIncrement::new(column, ty, hot.auto_increment_step, hot.auto_increment_offset);
        let mut builder = vector::ChunkBuilder::new(ty.phys(), ready.rows);
        let mut first = None;
        for _ in 0..ready.rows {
            let n = ids.take(table, ready.rows as u64)?;
            first.get_or_insert(n);
            builder.push(&if unsigned { Value::UInt(n) } else { Value::Int(n as i64) });
        }
        ready.columns[column] = builder.finish();
        first.ok_or_else(|| Error::internal("an INSERT without rows"))
    }

    /// What [`Frame::begin_known_statement`] counted is counted again.
    pub(super) fn forget_known_statement(&self) {
        self.status().questions.sub(1);
    }
}
