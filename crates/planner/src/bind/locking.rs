//! SELECT ... FOR UPDATE and FOR SHARE.
//!
//! The query outputs, behind its own columns, the row ids of the tables that its locking clauses mean; the engine locks
//! those rows. Where no output row stands for one row of a table (DISTINCT, aggregates), a second query finds the rows:
//! the same FROM and WHERE without what comes after them.
//!
//! Locked are base tables of the outermost FROM: not those of subqueries and derived tables, which may have clauses of
//! their own in MySQL; here those are refused (1235).
//!
//! Source: MySQL manual, "Locking Reads".

use super::api::{Bind, Binder};
use super::query::QueryUse;
use super::scope::Scope;
use catalog::{TableDef, TableEngine};
use expr::ColumnId;
use parser::ast;
use plan::logical::LogicalQuery;
use std::sync::Arc;
use types::{Error, Result};

/// A query and the rows that it locks.
#[derive(Clone, Debug)]
pub struct BoundLocking {
    pub query: LogicalQuery,
    /// The query's own output columns; row ids come behind them.
    pub width: usize,
    pub targets: Vec<LockTarget>,
    /// The query whose output holds the row ids, if it is another one.
    pub rows: Option<LogicalQuery>,
}

/// A table whose rows are locked.
#[derive(Clone, Debug)]
pub struct LockTarget {
    pub table: Arc<TableDef>,
    /// Position of its row id in the output; NULL where an outer join found no row.
    pub row_id: usize,
    pub strength: ast::LockStrength,
    pub wait: ast::LockWait,
}

/// What the outermost SELECT found out about its row ids.
#[derive(Debug)]
pub(super) enum RowIds {
    Wanted,
    /// (source in FROM, the column of its row id).
    Output(Scope, Vec<(usize, ColumnId)>),
    /// They cannot be had beside the query's own columns.
    Apart,
}

impl Binder<'_> {
    /// Binds a query that has locking clauses.
    pub fn bind_locking_query(&self, query: &ast::Query) -> Result<BoundLocking> {
        let mut query = query;
        while let ast::QueryBody::Nested(inner) = &query.body
            && query.with.is_none()
            && query.order_by.is_empty()
            && query.limit.is_none()
            && query.locking.is_empty()
        {
            query = inner;
        }
        let ast::QueryBody::Select(select) = &query.body else {
            return Err(Error::not_supported("locking clauses of set operations"));
        };
        if let Some(bound) = self.bind_with_row_ids(query)? {
            return Ok(bound);
        }
        let plain = ast::Select {
            modifiers: ast::SelectModifiers { straight_join: select.modifiers.straight_join, ..Default::default() },
            hints: select.hints.clone(),
            items: Vec::new(),
            from: select.from.clone(),
            from_dual: select.from_dual,
            where_: select.where_.clone(),
            group_by: None,
            having: None,
            windows: Vec::new(),
            span: select.span,
        };
        let rows = ast::Query {
            with: query.with.clone(),
            body: ast::QueryBody::Select(Box::new(plain)),
            order_by: Vec::new(),
            limit: None,
            into: None,
            locking: query.locking.clone(),
            span: query.span,
        };
        let rows = self.bind_with_row_ids(&rows)?.ok_or_else(|| Error::internal("a plain SELECT has row ids"))?;
        let own = self.bind_query(query)?;
        Ok(BoundLocking { width: own.output.len(), query: own, targets: rows.targets, rows: Some(rows.query) })
    }

    /// `None`: the row ids have to be found apart.
    fn bind_with_row_ids(&self, query: &ast::Query) -> Result<Option<BoundLocking>> {
        let mut shared = self.shared();
        shared.row_ids = Some(RowIds::Wanted);
        let mut bound = Bind::new(&mut shared).query(query, QueryUse::Top)?;
        let Some(RowIds::Output(scope, ids)) = shared.row_ids.take() else { return Ok(None) };
        let width = bound.output.len();
        let mut targets = Vec::new();
        for (source, id) in ids {
            let Some(clause) = clause_of(query, &scope, source)? else { continue };
            let base = scope.sources[source].base.as_ref().ok_or_else(|| Error::internal("row ids are of tables"))?;
            if base.table.engine == TableEngine::Virtual {
                continue;
            }
            bound.output.push((id, "".into()));
            let row_id = bound.output.len() - 1;
            let (strength, wait) = (clause.strength, clause.wait);
            targets.push(LockTarget { table: base.table.clone(), row_id, strength, wait });
        }
        check_names(query, &scope)?;
        Ok(Some(BoundLocking { query: shared.finish(bound.plan, bound.output), width, targets, rows: None }))
    }
}

/// Whether the name in OF means the source.
fn means(name: &ast::ObjectName, scope: &Scope, source: usize) -> bool {
    let s = &scope.sources[source];
    *s.alias == *name.name.0 && name.schema.as_ref().is_none_or(|schema| *s.schema == **schema)
}

/// The clause that means the source, if one does.
fn clause_of<'q>(query: &'q ast::Query, scope: &Scope, source: usize) -> Result<Option<&'q ast::Locking>> {
    let mut found = None;
    for clause in &query.locking {
        if clause.of.is_empty() || clause.of.iter().any(|n| means(n, scope, source)) {
            if found.is_some() {
                return Err(Error::duplicate_table_lock(&scope.sources[source].alias));
            }
            found = Some(clause);
        }
    }
    Ok(found)
}

/// 3568 for a name in OF that FROM does not have; 1235 for a view that would have to be locked.
fn check_names(query: &ast::Query, scope: &Scope) -> Result<()> {
    for name in query.locking.iter().flat_map(|c| &c.of) {
        if !(0..scope.sources.len()).any(|s| means(name, scope, s)) {
            return Err(Error::unresolved_table_lock(&*name.name));
        }
    }
    for (i, source) in scope.sources.iter().enumerate() {
        let is_view = source.base.is_none() && !source.schema.is_empty();
        if is_view && clause_of(query, scope, i)?.is_some() {
            return Err(Error::not_supported("locking clauses for rows of a view"));
        }
    }
    Ok(())
}
