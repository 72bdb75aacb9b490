//! INSERT and REPLACE: VALUES, SET, SELECT.

use super::source::BoundSource;
use crate::query::{Runner, has_locking};
use crate::session::Execution;
use catalog::{CatalogReader, Relation, TableDef, TableEngine};
use changes::{RowCheck, WriteMode, Written, check_not_generated};
use parser::ast::{self, Insert, InsertSource};
use session::sink::ResultSink;
use std::ops::ControlFlow;
use std::sync::Arc;
use storage::Txn;
use types::{Error, ErrorCode, Result, SqlType, Value};

/// What an INSERT writes to.
pub(crate) struct InsertInto {
    pub def: Arc<TableDef>,
    /// Positions of the columns that values are given for.
    pub columns: Vec<usize>,
    view_checks: Vec<RowCheck>,
    /// The view that it goes through.
    pub view: Option<(Box<str>, Box<str>)>,
}

impl Execution<'_> {
    pub(crate) fn insert(&mut self, i: &Insert, more: bool, sink: &mut dyn ResultSink) -> Result<()> {
        let status = self.status();
        if i.replace { &status.com_replace } else { &status.com_insert }.add(1);
        if !i.partitions.is_empty() {
            return Err(Error::not_supported("PARTITION"));
        }
        let mut into = self.insert_into(i)?;
        let view_checks = std::mem::take(&mut into.view_checks);
        let InsertInto { def, columns, view, .. } = &into;
        let (expected_rows, several) = match &i.source {
            InsertSource::Values(rows) => (rows.len() as u64, rows.len() > 1),
            InsertSource::Query(_) => (1, true),
        };
        let (source, names) = match &i.source {
            InsertSource::Values(_) => (None, None),
            InsertSource::Query(q) if i.on_duplicate.is_empty() || has_locking(q) => {
                (Some(self.bind_inserted(q)?), None)
            }
            InsertSource::Query(q) => {
                let (source, names) = self.bind_insert_source(i, q, def)?;
                (Some(source), Some(names))
            }
        };
        let mode = WriteMode {
            on_duplicate: self.on_duplicate(i, def, names, view.as_ref())?,
            ignore: i.ignore,
            expected_rows,
            single: !several,
            keep_ids: !i.returning.is_empty(),
            view_checks,
            kept: None,
            zero_is_value: false,
        };
        let returning = self.plan_returning(&i.returning, &i.table, None)?;
        self.begin_judging(i.ignore);
        let (txn, savepoint) = self.begin_change_of(def.temporary)?;
        let result = match (&i.source, source) {
            (InsertSource::Values(rows), _) => self.insert_values(i, rows, &into, &txn, mode),
            (_, Some(source)) => self.insert_query(def, columns, source, &txn, mode),
            (_, None) => Err(Error::internal("a query that was not bound")),
        };
        let result = result.and_then(|written| {
            let snapshot = self.db().store().txns().current(&txn);
            let rows = returning.map(|r| r.run(self, def, &written.ids, snapshot)).transpose()?;
            Ok((written, rows))
        });
        let result = result.map_err(|e| match view {
            Some((schema, name)) if e.code() == ErrorCode::NO_DEFAULT_FOR_FIELD => {
                Error::no_default_for_view_field(schema, name)
            }
            _ => e,
        });
        let (written, rows) = self.end_change(savepoint, result)?;
        if let Some(id) = written.first_generated {
            self.set_last_insert_id(id);
        }
        self.count_written(def, &written)?;
        let updated = if self.reports_found_rows() { written.touched } else { written.updated };
        let affected = written.copied + written.deleted + updated;
        if let Some(rows) = rows {
            return rows.send(self, affected, more, sink);
        }
        let info = if several { written.info(i.ignore, self.warnings().count()) } else { String::new() };
        self.send_ok_with_id(affected, written.id_shown, info, more, sink)
    }

    /// The table that an INSERT writes to, be it through a view.
    pub(crate) fn insert_into(&self, i: &Insert) -> Result<InsertInto> {
        let (schema, name) = self.resolve_name(&i.table)?;
        let Some(Relation::View(view)) = CatalogReader::relation(&**self, &schema, &name)? else {
            let def = self.insertable(&i.table)?;
            let columns = self.insert_columns(&def, i.columns.as_deref())?;
            return Ok(InsertInto { def, columns, view_checks: Vec::new(), view: None });
        };
        if !i.returning.is_empty() {
            return Err(Error::not_supported("RETURNING of rows inserted through a view"));
        }
        let info = self.info();
        let bound = self.binder(&info).bind_insert_view(&i.table, &view, i.columns.as_deref())?;
        if bound.table.engine == TableEngine::Virtual {
            return Err(Error::dbaccess_denied(self.user().0, self.user().1, &bound.table.schema));
        }
        if !i.on_duplicate.is_empty() && bound.renames {
            return Err(Error::not_supported("ON DUPLICATE KEY UPDATE through a view that renames columns"));
        }
        Ok(InsertInto {
            def: bound.table,
            columns: bound.columns,
            view_checks: super::row_checks(&bound.checks),
            view: Some((schema, name)),
        })
    }

    /// A table by name, to insert into.
    pub(crate) fn insertable(&self, name: &ast::ObjectName) -> Result<Arc<TableDef>> {
        let (schema, n) = self.resolve_name(name)?;
        if let Some(Relation::View(_)) = CatalogReader::relation(&**self, &schema, &n)? {
            return Err(Error::not_supported("LOAD DATA into a view"));
        }
        let def = self.base_table(name)?;
        if def.engine == TableEngine::Virtual {
            return Err(Error::dbaccess_denied(self.user().0, self.user().1, &def.schema));
        }
        Ok(def)
    }

    /// Positions of the columns that values are given for: the list's, or all visible ones.
    pub(crate) fn insert_columns(&self, def: &TableDef, list: Option<&[ast::ColumnRef]>) -> Result<Vec<usize>> {
        let Some(list) = list else {
            return Ok((0..def.columns.len()).filter(|&i| !def.columns[i].invisible).collect());
        };
        let mut out = Vec::with_capacity(list.len());
        for c in list {
            let table_fits = c.table.as_ref().is_none_or(|t| t.as_str() == &*def.name);
            let idx = def
                .column_idx(&c.name)
                .filter(|_| table_fits)
                .ok_or_else(|| Error::bad_field(c.name.as_str(), "field list"))?;
            if out.contains(&idx) {
                return Err(Error::field_specified_twice(&def.columns[idx].name));
            }
            out.push(idx);
        }
        Ok(out)
    }

    /// The value of an expression with subqueries, which read what is committed now.
    pub(super) fn scalar_at(&self, logical: plan::logical::LogicalQuery, txn: &Arc<Txn>) -> Result<(Value, SqlType)> {
        let ty = logical.columns.get(logical.output[0].0).ty;
        let mut value = Value::Null;
        if !logical.locks.is_empty() {
            for batch in &self.lock_until_stable(&self.plan_locking(logical.into())?, txn)?.batches {
                batch.selection.for_each(batch.rows, |i| value = batch.columns[0].value(i, &ty));
            }
            return Ok((value, ty));
        }
        let plan = self.optimize(logical)?;
        let snapshot = self.db().store().txns().snapshot_of(txn);
        Runner::at(snapshot).run(self, &plan, None, &mut |batch| {
            batch.selection.for_each(batch.rows, |i| value = batch.columns[0].value(i, &ty));
            Ok(ControlFlow::Continue(()))
        })?;
        Ok((value, ty))
    }

    fn insert_query(
        &self,
        def: &Arc<TableDef>,
        columns: &[usize],
        source: BoundSource,
        txn: &Arc<Txn>,
        mode: WriteMode,
    ) -> Result<Written> {
        if source.width() != columns.len() {
            return Err(Error::wrong_value_count_on_row(1));
        }
        check_not_generated(def, columns)?;
        self.write_source(def, columns, source, txn, mode)
    }
}
