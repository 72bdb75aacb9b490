//! INSERT ... VALUES | SET | SELECT.

use super::writer::{RowWriter, Written};
use crate::session::Session;
use crate::sink::ResultSink;
use crate::status::add;
use catalog::{TableDef, TableEngine};
use expr::Params;
use parser::ast::{self, ExprKind, Insert, InsertSource};
use std::sync::Arc;
use types::{Error, Result, SqlType, Value};

impl Session {
    pub(crate) fn insert(&mut self, i: &Insert, more: bool, sink: &mut dyn ResultSink) -> Result<()> {
        add(&self.db().status().com_insert, 1);
        let unsupported = [
            (i.replace, "REPLACE"),
            (i.ignore, "INSERT IGNORE"),
            (!i.on_duplicate.is_empty(), "ON DUPLICATE KEY UPDATE"),
            (!i.returning.is_empty(), "INSERT ... RETURNING"),
            (!i.partitions.is_empty(), "PARTITION"),
        ];
        if let Some((_, what)) = unsupported.iter().find(|(used, _)| *used) {
            return Err(Error::not_supported(what));
        }
        let def = self.insertable(&i.table)?;
        let columns = self.insert_columns(&def, i.columns.as_deref())?;
        // In strict mode a fault in a value, such as 1/0, is an error in statements that change data.
        self.warnings().set_raise(self.sql_mode().strict);
        let (txn, savepoint) = self.begin_change()?;
        let result = match &i.source {
            InsertSource::Values(rows) => self.insert_values(&def, &columns, rows, i.columns.is_some(), txn),
            InsertSource::Query(q) => self.insert_query(&def, &columns, q, txn),
        };
        let written = self.end_change(savepoint, result)?;
        if let Some(id) = written.first_generated {
            self.set_last_insert_id(id);
        }
        add(&self.db().status().innodb_rows_inserted, written.rows);
        add(&self.db().status().handler_write, written.rows);
        let several = match &i.source {
            InsertSource::Values(rows) => rows.len() > 1,
            InsertSource::Query(_) => true,
        };
        let info = if several {
            format!("Records: {}  Duplicates: 0  Warnings: {}", written.rows, self.warnings().count())
        } else {
            String::new()
        };
        self.send_ok_with_id(written.rows, written.id_shown, info, more, sink)
    }

    pub(crate) fn insertable(&self, name: &ast::ObjectName) -> Result<Arc<TableDef>> {
        let (schema, n) = self.resolve_name(name)?;
        if let Some(catalog::Relation::View(_)) = catalog::CatalogReader::relation(self, &schema, &n) {
            return Err(Error::not_supported("INSERT into a view"));
        }
        let def = self.base_table(name)?;
        if def.engine == TableEngine::Virtual {
            return Err(Error::dbaccess_denied(self.user().0, self.user().1, &def.schema));
        }
        Ok(def)
    }

    /// Positions of the columns that values are given for: the list's, or all visible ones.
    fn insert_columns(&self, def: &TableDef, list: Option<&[ast::ColumnRef]>) -> Result<Vec<usize>> {
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

    fn insert_values(
        &self,
        def: &Arc<TableDef>,
        columns: &[usize],
        rows: &[Vec<ast::Expr>],
        listed: bool,
        txn: Arc<storage::Txn>,
    ) -> Result<Written> {
        let info = self.info();
        let params = Params::default();
        let ctx = self.eval_context(&info, &params);
        let binder = self.binder(&info);
        let all_default = rows.first().is_some_and(|r| r.is_empty()) && (!listed || columns.is_empty());
        let columns = if all_default { &[] } else { columns };
        let mut w = RowWriter::new(self, def, txn, columns)?;
        let mut values: Vec<Option<(Value, SqlType)>> = Vec::with_capacity(columns.len());
        for (n, row) in rows.iter().enumerate() {
            if row.len() != columns.len() {
                return Err(Error::wrong_value_count_on_row(n + 1));
            }
            values.clear();
            for e in row {
                values.push(match &e.kind {
                    ExprKind::Default => None,
                    kind => match literal_value(kind) {
                        Some(v) => Some(v),
                        None => {
                            let bound = binder.bind_constant_expr(e)?;
                            Some((expr::eval::eval_const(&bound, &ctx)?, bound.ty))
                        }
                    },
                });
            }
            w.push(&values)?;
        }
        w.finish()
    }

    fn insert_query(
        &mut self,
        def: &Arc<TableDef>,
        columns: &[usize],
        query: &ast::Query,
        txn: Arc<storage::Txn>,
    ) -> Result<Written> {
        let source = self.bind_source(query)?;
        if source.width() != columns.len() {
            return Err(Error::wrong_value_count_on_row(1));
        }
        self.write_source(def, columns, source, txn)
    }
}

/// The common literals without a detour through the binder.
fn literal_value(kind: &ExprKind) -> Option<(Value, SqlType)> {
    match kind {
        ExprKind::Literal(ast::Literal::Int(v)) => Some((Value::UInt(*v), SqlType::BIGINT_UNSIGNED)),
        ExprKind::Literal(ast::Literal::Str(s)) if s.is_ascii() => {
            Some((Value::Bytes(s.clone()), SqlType::varchar(s.len() as u32, Default::default())))
        }
        ExprKind::Literal(ast::Literal::Null) => Some((Value::Null, SqlType::Null)),
        _ => None,
    }
}
