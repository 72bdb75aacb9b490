//! The one row that UPDATE or DELETE is about, found by a unique key: what [`Frame::find_rows`] does, without a plan.
//!
//! ```text
//!   key ─▶ Table::change_by_key: the row's newest version, held ─▶ rest of WHERE ─▶ the query's output
//! ```
//! For `WHERE` that gives every part of a unique key, whatever else it says. What is not of the key's types is left to
//! the plan. As there, the row stays locked from REPEATABLE READ on even if the rest of WHERE does not hold.

use super::targets::FoundRows;
use crate::plan_cache::{ChangeShape, KeyChunks, UniqueKey, with_refs};
use crate::session::Execution;
use catalog::TableDef;
use expr::{Compiled, Expr, ExprKind, Params};
use plan::logical::LogicalQuery;
use std::sync::Arc;
use storage::{Step, Txn};
use types::Result;
use vector::{Batch, Chunk, Values, Vector};

#[derive(Debug)]
enum Output {
    RowId,
    Value(Box<Compiled>),
}

/// See the module head.
#[derive(Debug)]
pub(crate) struct KeyedRow {
    table: Arc<TableDef>,
    key: UniqueKey,
    /// Columns of the table that the expressions use, by position.
    columns: Vec<usize>,
    rest: Option<Compiled>,
    output: Vec<Output>,
}

impl KeyedRow {
    /// `None`: the query is of another shape.
    pub fn of(session: &Execution<'_>, query: &LogicalQuery) -> Option<KeyedRow> {
        let shape = ChangeShape::of(query)?;
        let position = |id| shape.position(id);
        let (key, rest) = UniqueKey::among(shape.table, shape.predicates, &position)?;
        let mut columns = Vec::new();
        let mut placed = |e: &Expr| {
            let mut e = e.clone();
            let mut known = true;
            e.rewrite(&mut |e| {
                if let ExprKind::Column(id) = &mut e.kind {
                    let Some(column) = position(*id) else { return known = false };
                    let at = columns.iter().position(|c| *c == column).unwrap_or_else(|| {
                        columns.push(column);
                        columns.len() - 1
                    });
                    *id = at as expr::ColumnId;
                }
            });
            known.then_some(e)
        };
        let rest: Vec<Expr> = rest.into_iter().map(&mut placed).collect::<Option<_>>()?;
        let mut values = Vec::new();
        for (id, _) in &query.output {
            values.push(match *id == shape.row_id {
                true => None,
                false => Some(placed(shape.expr(*id)?)?),
            });
        }
        let (info, params) = (session.info(), Params::default());
        let ctx = session.eval_context(&info, &params);
        let rest = match rest.is_empty() {
            true => None,
            false => Some(Compiled::conjunction(&rest, &ctx).ok()?),
        };
        let compiled = |e: Option<Expr>| match e {
            None => Some(Output::RowId),
            Some(e) => Compiled::new(&e, &ctx).ok().map(|c| Output::Value(Box::new(c))),
        };
        let output = values.into_iter().map(compiled).collect::<Option<_>>()?;
        Some(KeyedRow { table: shape.table.clone(), key, columns, rest, output })
    }
}

impl KeyedRow {
    /// Whether the values that the running statement gives are of the key's types.
    pub fn suits(&self, session: &Execution<'_>) -> bool {
        !matches!(self.key.chunks(session.params()), KeyChunks::Unsuited)
    }
}

/// A row that the transaction has locked.
pub(crate) struct HeldRow {
    pub row_id: u64,
    /// The columns that were asked for, one value each, in the types of the table.
    pub columns: Vec<Chunk>,
}

impl Execution<'_> {
    /// Locks the row of a unique key, for the transaction, and takes `columns` of its newest version.
    pub(crate) fn hold_by_key(
        &self,
        def: &TableDef,
        index: usize,
        key: &[Chunk],
        columns: &[usize],
        txn: &Arc<Txn>,
    ) -> Result<Option<HeldRow>> {
        let table = self.db().store().expect_table(def)?;
        let mut taken = Vec::with_capacity(columns.len());
        let mut take = |row: storage::RowAt<'_, '_>, _: &mut Vec<Chunk>| {
            taken.extend(columns.iter().map(|&c| {
                let (chunk, at) = row(c);
                let mut one = chunk.gather_owned(&[at as u16]);
                one.widen_to(def.columns[c].ty.phys());
                one
            }));
            Step::Lock
        };
        let hold = self.holds_absent_keys();
        let found = with_refs(key, |key| table.change_by_key(txn, index, key, &[], hold, &mut take))?;
        Ok(found.map(|(row_id, _)| HeldRow { row_id, columns: taken }))
    }

    /// The row, held, as the query puts it out. `None`: the values are not of the key's types.
    pub(super) fn find_keyed(&self, row: &KeyedRow, txn: &Arc<Txn>) -> Result<Option<FoundRows>> {
        self.check_killed()?;
        let key = match row.key.chunks(self.params()) {
            KeyChunks::Unsuited => return Ok(None),
            KeyChunks::Nothing => return Ok(Some(FoundRows::none())),
            KeyChunks::Is(key) => key,
        };
        let savepoint = txn.savepoint();
        let held = self.hold_by_key(&row.table, row.key.index, &key, &row.columns, txn)?;
        let io = self.db().store().expect_table(&row.table)?.io();
        self.count_lookup(io.of(Some(row.key.index)), u64::from(held.is_some()));
        let Some(HeldRow { row_id, columns }) = held else { return Ok(Some(FoundRows::none())) };
        let mut batch = Batch::new(1, columns.into_iter().map(Vector::flat).collect());
        let (info, params) = (self.info(), self.plan_params());
        let ctx = self.eval_context(&info, &params);
        if let Some(rest) = &row.rest {
            rest.filter(&mut batch, &ctx)?;
        }
        if batch.count() == 0 {
            if !self.isolation().keeps_what_was_looked_at() {
                self.db().store().txns().rollback_to(txn, savepoint);
            }
            return Ok(Some(FoundRows::none()));
        }
        batch.selection = vector::Selection::All;
        let value = |output: &Output| match output {
            Output::RowId => Ok(Vector::flat(Chunk::new(Values::U64(vec![row_id]), None))),
            Output::Value(value) => value.eval(&batch, &ctx).map(|v| Vector::Flat(v.flatten(1))),
        };
        let output = row.output.iter().map(value).collect::<Result<_>>()?;
        Ok(Some(FoundRows::one(Batch::new(1, output))))
    }
}
