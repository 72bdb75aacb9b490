//! The one way into a table's rows: what every statement that changes rows calls, with chunks of converted values.
//!
//! It keeps what a definition promises of its rows: columns that update themselves, and (in time) generated columns,
//! CHECK constraints and foreign keys. Storage below knows of keys alone.

use super::convert::now;
use crate::session::Session;
use catalog::TableDef;
use std::borrow::Cow;
use std::sync::Arc;
use storage::{Table, Txn};
use types::{ErrorCode, Result, WarningLevel};
use vector::{Chunk, Values};

pub(crate) struct TableWriter<'s> {
    session: &'s Session,
    def: Arc<TableDef>,
    table: Arc<Table>,
    txn: Arc<Txn>,
    /// Rows that break a rule are left as they are, with a warning.
    ignore: bool,
}

impl<'s> TableWriter<'s> {
    pub fn new(session: &'s Session, def: &Arc<TableDef>, txn: Arc<Txn>, ignore: bool) -> Result<TableWriter<'s>> {
        let table = session.db().store().expect_table(def)?;
        Ok(TableWriter { session, def: def.clone(), table, txn, ignore })
    }

    /// Gives rows, which the transaction holds, the values at their positions; at most a batch. Columns that stay as
    /// they are do not count: returns how many rows changed.
    pub fn update(&mut self, ids: &[u64], columns: &[usize], values: &[Arc<Chunk>]) -> Result<u64> {
        let current = self.session.db().store().txns().current(&self.txn);
        let old = self.table.fetch(ids, columns, &current);
        let differs = |i: usize| old.columns.iter().zip(values).any(|(o, n)| !same(o, i, n, i));
        let changed: Vec<usize> =
            (0..ids.len()).filter(|&i| old.seen.as_ref().is_none_or(|s| s.get(i)) && differs(i)).collect();
        if changed.is_empty() {
            return Ok(0);
        }
        let (mut columns, mut values): (Cow<'_, [usize]>, Cow<'_, [Arc<Chunk>]>) = (columns.into(), values.into());
        for (idx, c) in self.def.columns.iter().enumerate() {
            if c.on_update_current_timestamp && !columns.contains(&idx) {
                let now = Chunk::single(c.ty.phys(), &now(self.session, &c.ty));
                columns.to_mut().push(idx);
                values.to_mut().push(Arc::new(now.gather(&vec![0; ids.len()])));
            }
        }
        let refs: Vec<&Chunk> = values.iter().map(|c| &**c).collect();
        let mut count = 0;
        for i in changed {
            match self.table.update(&self.txn, ids[i], &columns, &refs, i) {
                Ok(done) => count += done as u64,
                Err(e) if self.ignore && e.code() == ErrorCode::DUP_ENTRY => {
                    self.session.warn(e.into_warning(WarningLevel::Warning));
                }
                Err(e) => return Err(e),
            }
        }
        Ok(count)
    }

    /// Deletes rows, which the transaction holds; returns how many there were.
    pub fn delete(&mut self, ids: &[u64]) -> Result<u64> {
        let mut count = 0;
        for &id in ids {
            count += self.table.delete(&self.txn, id)? as u64;
        }
        Ok(count)
    }
}

/// Whether two positions hold the same value to the last bit: what MySQL calls unchanged.
pub(crate) fn same(a: &Chunk, i: usize, b: &Chunk, j: usize) -> bool {
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
        _ => false,
    }
}
