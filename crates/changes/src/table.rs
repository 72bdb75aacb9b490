//! The one way into a table's rows: what every statement that changes rows calls, with chunks of converted values.
//!
//! ```text
//!   values ─▶ generated columns ─▶ CHECK ─▶ storage (keys, locks, versions) ─▶ foreign keys, both directions
//! ```
//! It keeps what a definition promises of its rows. Storage below knows of keys alone. With IGNORE a row that breaks a
//! promise is taken back alone, with a warning.

use super::convert::{Converter, now};
use super::duplicate::OnDuplicate;
use super::foreign_key::{Cascade, ForeignKeys};
use super::rules::{RowCheck, Rules, without};
use crate::statement::Statement;
use catalog::TableDef;
use std::sync::Arc;
use storage::{LockWait, RowLock, RowsBehind, Snapshot, Table, Txn};
use types::{Error, ErrorCode, Result, WarningLevel};
use vector::{Batch, Chunk, Values, Vector};

/// What became of a row that was to be inserted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// Under this id; so many rows with its keys made way (REPLACE).
    Inserted { id: u64, replaced: u64 },
    /// ON DUPLICATE KEY UPDATE changed the row with its key, or left it as it was. `auto`: the positive value that it
    /// gave the AUTO_INCREMENT column.
    Updated { id: u64, changed: bool, auto: Option<u64> },
    /// IGNORE left it out.
    Skipped,
}

pub struct TableChanges<'s> {
    pub(super) statement: &'s dyn Statement,
    pub(super) def: Arc<TableDef>,
    pub(super) table: Arc<Table>,
    pub(super) txn: Arc<Txn>,
    pub(super) converter: Converter<'s>,
    rules: Rules,
    pub(super) keys: ForeignKeys,
    pub(super) cascade: Cascade,
    /// Rows that break a rule are left as they are, with a warning.
    ignore: bool,
    /// Rows that come in batches and are not all in the table yet.
    behind: Option<RowsBehind>,
}

impl<'s> TableChanges<'s> {
    pub fn new(
        statement: &'s dyn Statement,
        def: &Arc<TableDef>,
        txn: Arc<Txn>,
        ignore: bool,
    ) -> Result<TableChanges<'s>> {
        TableChanges::cascading(statement, def, txn, ignore, Cascade::default())
    }

    pub(super) fn cascading(
        statement: &'s dyn Statement,
        def: &Arc<TableDef>,
        txn: Arc<Txn>,
        ignore: bool,
        cascade: Cascade,
    ) -> Result<TableChanges<'s>> {
        Ok(TableChanges {
            statement,
            def: def.clone(),
            table: statement.store().expect_table(def)?,
            txn,
            converter: Converter::new(statement, def, ignore),
            rules: Rules::new(statement, def, &[])?,
            keys: ForeignKeys::new(statement, def)?,
            cascade,
            ignore,
            behind: None,
        })
    }

    /// Rows are written through a view, which demands this of them.
    pub fn through_view(mut self, checks: &[RowCheck]) -> Result<TableChanges<'s>> {
        if !checks.is_empty() {
            self.rules = Rules::new(self.statement, &self.def, checks)?;
        }
        Ok(self)
    }

    pub fn table(&self) -> &Arc<Table> {
        &self.table
    }

    pub fn converter(&self) -> &Converter<'s> {
        &self.converter
    }

    /// Everything committed and all that the transaction did.
    pub fn current(&self) -> Snapshot {
        self.statement.store().txns().current(&self.txn)
    }

    /// Inserts rows, one chunk a column; what lies in generated columns is replaced. `first_row`: number of the first
    /// one, for messages. `done` is told of each row, in order.
    pub fn insert(
        &mut self,
        columns: Vec<Arc<Chunk>>,
        rows: usize,
        first_row: u64,
        on_duplicate: &OnDuplicate,
        done: &mut dyn FnMut(usize, Outcome),
    ) -> Result<()> {
        let mut batch = Batch::new(rows, columns.into_iter().map(Vector::Flat).collect());
        if !self.rules.is_empty() {
            let said = self.statement.warnings().count();
            let bad = match self.broken_rules(&mut batch, first_row) {
                Err(_) if rows > 1 => {
                    self.statement.warnings().forget_after(said);
                    return self.insert_singly(&batch, first_row, on_duplicate, done);
                }
                bad => bad?,
            };
            if let Some((row, e)) = bad.first()
                && !self.ignore
            {
                // The rows before it come first: one of them may fail for another reason.
                self.insert_rows(&batch, (0..*row).collect(), on_duplicate, &mut |_, _| {})?;
                return Err(e.clone());
            }
            batch.selection = without(rows, &bad);
            bad.into_iter().for_each(|(_, e)| self.statement.warn(e.into_warning(WarningLevel::Warning)));
        }
        let positions = batch.selection.to_positions(rows).into_iter().map(usize::from).collect();
        self.insert_rows(&batch, positions, on_duplicate, done)
    }

    /// Whether a row that is inserted is no more than that: it refers to nothing, and a fault is the statement's.
    pub fn inserts_plainly(&self) -> bool {
        !self.ignore && !self.keys.refers()
    }

    /// Inserts rows of which many come, where [`Self::inserts_plainly`]: some of them may only be in the table after
    /// [`Self::flush_behind`]. Integers may lie in narrower arrays than the table's.
    pub fn insert_behind(&mut self, mut columns: Vec<Arc<Chunk>>, rows: usize, first_row: u64) -> Result<()> {
        if !self.rules.is_empty() {
            let types = self.table.types();
            columns = columns.into_iter().zip(types).map(|(c, phys)| c.widened(*phys)).collect();
            let mut batch = Batch::new(rows, columns.iter().cloned().map(Vector::Flat).collect());
            let said = self.statement.warnings().count();
            match self.broken_rules(&mut batch, first_row) {
                Ok(broken) if broken.is_empty() => {}
                _ => {
                    self.statement.warnings().forget_after(said);
                    self.flush_behind()?;
                    return self.insert(columns, rows, first_row, &OnDuplicate::Error, &mut |_, _| {});
                }
            }
            columns = batch.columns.iter().map(|c| c.flatten(rows)).collect();
        }
        self.behind.get_or_insert_with(|| RowsBehind::new(&self.table, &self.txn)).push(columns, rows)
    }

    /// All rows are in the table.
    pub fn flush_behind(&mut self) -> Result<()> {
        self.behind.as_mut().map_or(Ok(()), RowsBehind::flush)
    }

    /// Computes generated columns; which rows break a rule.
    fn broken_rules(&self, batch: &mut Batch, first_row: u64) -> Result<Vec<(usize, Error)>> {
        self.rules.generate(self.statement, &self.converter, batch, None, first_row)?;
        self.rules.violations(self.statement, batch, None)
    }

    /// A rule of some row has no answer, which is the statement's fault if the rows before have none.
    fn insert_singly(
        &mut self,
        batch: &Batch,
        first_row: u64,
        on_duplicate: &OnDuplicate,
        done: &mut dyn FnMut(usize, Outcome),
    ) -> Result<()> {
        for row in 0..batch.rows {
            let one = batch.columns.iter().map(|c| Arc::new(c.flatten(batch.rows).gather(&[row as u16])));
            let mut done = |_, outcome| done(row, outcome);
            self.insert(one.collect(), 1, first_row + row as u64, on_duplicate, &mut done)?;
        }
        Ok(())
    }

    fn insert_rows(
        &mut self,
        batch: &Batch,
        positions: Vec<usize>,
        on_duplicate: &OnDuplicate,
        done: &mut dyn FnMut(usize, Outcome),
    ) -> Result<()> {
        let chunks: Vec<Arc<Chunk>> = batch.columns.iter().map(|c| c.flatten(batch.rows)).collect();
        let refs: Vec<&Chunk> = chunks.iter().map(|c| &**c).collect();
        let plain = matches!(on_duplicate, OnDuplicate::Error) && !self.ignore && !self.keys.refers();
        if plain && positions.len() == batch.rows {
            let ids = self.table.insert_rows(&self.txn, &refs, batch.rows)?;
            ids.into_iter().enumerate().for_each(|(i, id)| done(i, Outcome::Inserted { id, replaced: 0 }));
            return Ok(());
        }
        for (i, row) in positions.into_iter().enumerate() {
            if i.is_multiple_of(64) {
                self.statement.check_killed()?;
            }
            let outcome = self.or_ignore(Outcome::Skipped, |w| w.insert_one(&refs, row, on_duplicate))?;
            done(row, outcome);
        }
        Ok(())
    }

    fn insert_one(&mut self, columns: &[&Chunk], row: usize, on_duplicate: &OnDuplicate) -> Result<Outcome> {
        let mut held = None;
        let mut replaced = 0;
        loop {
            // Behind the table's columns lies what ON DUPLICATE KEY UPDATE reads.
            let own = &columns[..self.def.columns.len()];
            let duplicate = match self.table.try_insert(&self.txn, own, row)? {
                Ok(id) => {
                    self.check_parents(id, None)?;
                    return Ok(Outcome::Inserted { id, replaced });
                }
                Err(duplicate) => duplicate,
            };
            let id = duplicate.row_id;
            if matches!(on_duplicate, OnDuplicate::Error) {
                if held == Some(id) {
                    return Err(duplicate.error());
                }
                held = self.table.share_row(&self.txn, id)?;
                continue;
            }
            if held != Some(id) {
                // It may have changed by the time it is held: then the row is tried anew.
                let lock = self.table.lock_row(&self.txn, id, LockWait::Wait)?;
                held = (lock == RowLock::Locked).then_some(id);
                continue;
            }
            if let OnDuplicate::Update(update) = on_duplicate {
                let (changed, auto) = self.update_duplicate(update, id, columns, row)?;
                return Ok(Outcome::Updated { id, changed, auto });
            }
            if self.is_replaced_by_itself(duplicate.index, id, columns, row) {
                return Ok(Outcome::Inserted { id, replaced: 0 });
            }
            replaced += self.delete(&[id])?;
            held = None;
        }
    }

    /// REPLACE of a row by an equal one changes nothing, if no other key can stand in the way.
    fn is_replaced_by_itself(&self, index: usize, id: u64, columns: &[&Chunk], row: usize) -> bool {
        let last = self.def.indexes.iter().filter(|i| i.is_unique()).count() == index + 1;
        if !last || self.keys.is_referenced() {
            return false;
        }
        let all: Vec<usize> = (0..columns.len()).collect();
        let old = self.table.fetch(&[id], &all, &self.current());
        old.columns.iter().zip(columns).all(|(o, n)| same(o, 0, n, row))
    }

    /// Runs `change` on one row. With IGNORE, what it did is taken back if it breaks a rule.
    fn or_ignore<T>(&mut self, skipped: T, change: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if !self.ignore {
            return change(self);
        }
        let savepoint = self.txn.savepoint();
        match change(self) {
            Err(e) if is_ignorable(e.code()) => {
                self.statement.store().txns().rollback_to(&self.txn, savepoint);
                self.statement.warn(e.into_warning(WarningLevel::Warning));
                Ok(skipped)
            }
            result => result,
        }
    }

    /// Gives rows, which the transaction holds, the values at their positions; at most a batch. Rows that stay as they
    /// are do not count: returns how many changed.
    pub fn update(&mut self, ids: &[u64], columns: &[usize], values: &[Arc<Chunk>]) -> Result<u64> {
        if !self.keys.concerns(columns, &self.def) || ids.len() == 1 {
            return self.update_batch(ids, columns, values);
        }
        let mut changed = 0;
        for (i, id) in ids.iter().enumerate() {
            let one: Vec<Arc<Chunk>> = values.iter().map(|v| Arc::new(v.gather(&[i as u16]))).collect();
            changed += self.update_batch(&[*id], columns, &one)?;
        }
        Ok(changed)
    }

    fn update_batch(&mut self, ids: &[u64], columns: &[usize], values: &[Arc<Chunk>]) -> Result<u64> {
        let referenced = self.keys.referenced_columns();
        let wanted: Vec<usize> = match self.rules.is_empty() && referenced.is_empty() {
            true => columns.to_vec(),
            false => (0..self.def.columns.len()).collect(),
        };
        let old = self.table.fetch(ids, &wanted, &self.current());
        let old_of = |c: usize| &old.columns[wanted.iter().position(|w| *w == c).expect("it was fetched")];
        let differs = |i: usize| columns.iter().zip(values).any(|(&c, n)| !same(old_of(c), i, n, i));
        let mut changed: Vec<usize> =
            (0..ids.len()).filter(|&i| old.seen.as_ref().is_none_or(|s| s.get(i)) && differs(i)).collect();
        if changed.is_empty() {
            return Ok(0);
        }
        let (mut columns, mut values) = (columns.to_vec(), values.to_vec());
        for (idx, c) in self.def.columns.iter().enumerate() {
            if c.on_update_current_timestamp && !columns.contains(&idx) {
                let now = Chunk::single(c.ty.phys(), &now(self.statement, &c.ty));
                columns.push(idx);
                values.push(Arc::new(now.gather(&vec![0; ids.len()])));
            }
        }
        if !self.rules.is_empty() {
            let mut batch = Batch::new(ids.len(), old.columns.iter().cloned().map(Vector::flat).collect());
            for (&c, v) in columns.iter().zip(&values) {
                batch.columns[c] = Vector::Flat(v.clone());
            }
            batch.selection = vector::Selection::Some(changed.iter().map(|&i| i as u16).collect());
            for idx in self.rules.generate(self.statement, &self.converter, &mut batch, Some(&columns), 1)? {
                columns.push(idx);
                values.push(batch.columns[idx].flatten(ids.len()));
            }
            let mut bad = self.rules.violations(self.statement, &batch, Some(&columns))?;
            if !self.ignore && !bad.is_empty() {
                // The rows before it come first: one of them may fail for another reason.
                let (row, e) = bad.swap_remove(0);
                changed.retain(|i| *i < row);
                self.update_rows(ids, &columns, &values, &changed, &old.columns)?;
                return Err(e);
            }
            changed.retain(|i| !bad.iter().any(|(row, _)| row == i));
            bad.into_iter().for_each(|(_, e)| self.statement.warn(e.into_warning(WarningLevel::Warning)));
        }
        self.update_rows(ids, &columns, &values, &changed, &old.columns)
    }

    fn update_rows(
        &mut self,
        ids: &[u64],
        columns: &[usize],
        values: &[Arc<Chunk>],
        changed: &[usize],
        old: &[Chunk],
    ) -> Result<u64> {
        let refs: Vec<&Chunk> = values.iter().map(|c| &**c).collect();
        let mut count = 0;
        if let Some(p) = columns.iter().position(|&c| self.def.columns[c].auto_increment) {
            self.table.observe_auto_increment(storage::greatest_number(&values[p]));
        }
        for &i in changed {
            let done = self.or_ignore(false, |w| {
                let restricted = w.find_restriction(old, i, columns, &refs)?;
                match (w.table.try_update(&w.txn, ids[i], columns, &refs, i)?, restricted) {
                    (Ok(false), _) => return Ok(false),
                    (Ok(true), None) => {}
                    (Err(duplicate), Some((index, e))) if index <= duplicate.index => return Err(e),
                    (Err(duplicate), _) => return Err(duplicate.error()),
                    (Ok(true), Some((_, e))) => return Err(e),
                }
                w.check_parents(ids[i], Some(columns))?;
                w.referenced_row_changed(ids[i], old, i, Some(columns))?;
                Ok(true)
            })?;
            count += done as u64;
        }
        Ok(count)
    }

    /// Deletes rows, which the transaction holds; returns how many there were.
    pub fn delete(&mut self, ids: &[u64]) -> Result<u64> {
        let mut count = 0;
        let all: Vec<usize> = if self.keys.is_referenced() { (0..self.def.columns.len()).collect() } else { vec![] };
        for &id in ids {
            count += self.or_ignore(0, |w| {
                let old = if all.is_empty() { Vec::new() } else { w.table.fetch(&[id], &all, &w.current()).columns };
                if !w.table.delete(&w.txn, id)? {
                    return Ok(0);
                }
                w.referenced_row_changed(id, &old, 0, None)?;
                Ok(1)
            })?;
        }
        Ok(count)
    }
}

/// Faults of a row that IGNORE turns into warnings.
fn is_ignorable(code: ErrorCode) -> bool {
    [
        ErrorCode::DUP_ENTRY,
        ErrorCode::NO_REFERENCED_ROW_2,
        ErrorCode::ROW_IS_REFERENCED_2,
        ErrorCode::CHECK_CONSTRAINT_VIOLATED,
        ErrorCode::BAD_NULL,
    ]
    .contains(&code)
}

/// 3105 unless the value given for a generated column is DEFAULT.
pub fn generated_takes_no_value(def: &TableDef, idx: usize) -> Error {
    Error::non_default_value_for_generated_column(&def.columns[idx].name, &def.name)
}

/// Whether two positions hold the same value to the last bit: what MySQL calls unchanged.
pub fn same(a: &Chunk, i: usize, b: &Chunk, j: usize) -> bool {
    match (a.is_valid(i), b.is_valid(j)) {
        (true, true) => {}
        (x, y) => return x == y,
    }
    match (&a.values, &b.values) {
        (Values::I8(a), Values::I8(b)) => a[i] == b[j],
        (Values::U8(a), Values::U8(b)) => a[i] == b[j],
        (Values::I16(a), Values::I16(b)) => a[i] == b[j],
        (Values::U16(a), Values::U16(b)) => a[i] == b[j],
        (Values::I32(a), Values::I32(b)) => a[i] == b[j],
        (Values::U32(a), Values::U32(b)) => a[i] == b[j],
        (Values::I64(a), Values::I64(b)) => a[i] == b[j],
        (Values::U64(a), Values::U64(b)) => a[i] == b[j],
        (Values::I128(a), Values::I128(b)) => a[i] == b[j],
        (Values::I256(a), Values::I256(b)) => a[i] == b[j],
        (Values::F32(a), Values::F32(b)) => a[i].to_bits() == b[j].to_bits(),
        (Values::F64(a), Values::F64(b)) => a[i].to_bits() == b[j].to_bits(),
        (a @ (Values::Str(_) | Values::Dict(_)), b @ (Values::Str(_) | Values::Dict(_))) => {
            a.str_bytes(i) == b.str_bytes(j)
        }
        // full leaves hold integers as narrow as they get
        (a, b) => matches!((wide(a, i), wide(b, j)), (Some(a), Some(b)) if a == b),
    }
}

fn wide(values: &Values, i: usize) -> Option<types::I256> {
    match values {
        Values::U64(v) => Some(types::I256::from(i128::from(v[i]))),
        Values::I128(v) => Some(types::I256::from(v[i])),
        Values::I256(v) => Some(v[i]),
        Values::F32(_) | Values::F64(_) | Values::Str(_) | Values::Dict(_) => None,
        other => other.int_at(i).map(|v| types::I256::from(i128::from(v))),
    }
}
