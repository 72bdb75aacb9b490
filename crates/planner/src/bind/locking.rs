//! SELECT ... FOR UPDATE and FOR SHARE.
//!
//! The query outputs, behind its own columns, the row ids of the tables that its locking clauses mean; the engine locks
//! those rows. Where no output row stands for one row of a table (DISTINCT, aggregates), a second query finds the rows:
//! the same FROM and WHERE without what comes after them.
//!
//! That is so for base tables of the outermost FROM. Subqueries, derived tables, operands of set operations and the
//! SELECT of other statements may have clauses of their own; and a clause that means a view means the tables in it. Of
//! those all rows are locked that are read, as InnoDB does it: they are named beside the query
//! ([`plan::logical::TableLock`]).
//!
//! Source: MySQL manual, "Locking Reads".

use super::api::{Bind, Binder};
use super::query::QueryUse;
use super::scope::Scope;
use catalog::{TableDef, TableEngine};
use expr::ColumnId;
use parser::ast;
use plan::logical::{LockWait, LogicalQuery, TableLock};
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

impl From<LogicalQuery> for BoundLocking {
    /// A query that locks by clauses of inner queries alone.
    fn from(query: LogicalQuery) -> BoundLocking {
        BoundLocking { width: query.output.len(), query, targets: Vec::new(), rows: None }
    }
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
            let s = &scope.sources[source];
            let Some(clause) = clause_of(&query.locking, &s.schema, &s.alias)? else { continue };
            let base = scope.sources[source].base.as_ref().ok_or_else(|| Error::internal("row ids are of tables"))?;
            if base.table.engine == TableEngine::Virtual {
                continue;
            }
            bound.output.push((id, "".into()));
            let row_id = bound.output.len() - 1;
            let (strength, wait) = (clause.strength, clause.wait);
            targets.push(LockTarget { table: base.table.clone(), row_id, strength, wait });
        }
        Ok(Some(BoundLocking { query: shared.finish(bound.plan, bound.output)?, width, targets, rows: None }))
    }
}

/// Whether the name in OF means the source.
fn means(name: &ast::ObjectName, source_schema: &str, alias: &str) -> bool {
    *alias == *name.name.0 && name.schema.as_ref().is_none_or(|schema| *source_schema == **schema)
}

/// The clause that means the source, if one does.
fn clause_of<'q>(clauses: &'q [ast::Locking], schema: &str, alias: &str) -> Result<Option<&'q ast::Locking>> {
    let mut found = None;
    for clause in clauses {
        if clause.of.is_empty() || clause.of.iter().any(|n| means(n, schema, alias)) {
            if found.is_some() {
                return Err(Error::duplicate_table_lock(alias));
            }
            found = Some(clause);
        }
    }
    Ok(found)
}

impl<'a> Bind<'a, '_, '_> {
    /// The current block's locking clause that means the source.
    pub fn lock_clause(&self, schema: &str, alias: &str) -> Result<Option<&'a ast::Locking>> {
        self.blocks.last().map_or(Ok(None), |block| clause_of(block.locking, schema, alias))
    }

    /// A base table of the current block's FROM: of an inner query its clause is noted.
    pub fn note_lock(&mut self, table: &Arc<TableDef>, alias: &str) -> Result<()> {
        let own = match self.blocks.last().is_some_and(|b| b.is_top) {
            true => None,
            false => self.lock_clause(&table.schema, alias)?,
        };
        let lock = own.map(|c| (c.strength, c.wait)).or(self.shared.outer_lock);
        if let Some((strength, wait)) = lock
            && table.engine != TableEngine::Virtual
        {
            let exclusive = strength == ast::LockStrength::Update;
            let wait = match wait {
                ast::LockWait::Wait => LockWait::Wait,
                ast::LockWait::NoWait => LockWait::NoWait,
                ast::LockWait::SkipLocked => LockWait::SkipLocked,
            };
            self.shared.locks.push(TableLock { table: table.clone(), exclusive, wait });
        }
        Ok(())
    }

    /// 3568 for a name in OF that FROM does not have.
    pub fn check_lock_names(&mut self) -> Result<()> {
        let block = self.block();
        for name in block.locking.iter().flat_map(|c| &c.of) {
            if !block.scope.sources.iter().any(|s| means(name, &s.schema, &s.alias)) {
                return Err(Error::unresolved_table_lock(&*name.name));
            }
        }
        Ok(())
    }
}
