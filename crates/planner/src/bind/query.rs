//! Queries: WITH, a body, ORDER BY and LIMIT.

use super::api::Bind;
use super::scope::{Block, Clause};
use super::{MAX_QUERIES, MAX_QUERY_DEPTH};
use expr::{ColumnId, Expr};
use parser::ast;
use plan::logical::{BlockRole, BlockShape, Logical, Place, SetOpKind};
use std::sync::Arc;
use types::{Error, Result};

pub fn set_op_kind(op: Option<ast::SetOp>) -> SetOpKind {
    match op {
        Some(ast::SetOp::Intersect) => SetOpKind::Intersect,
        Some(ast::SetOp::Except) => SetOpKind::Except,
        _ => SetOpKind::Union,
    }
}

/// A plan and its output columns with their names.
pub struct Bound {
    pub plan: Logical,
    pub output: Vec<(ColumnId, Box<str>)>,
}

/// Where a query stands: ORDER BY without LIMIT means something only to some.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QueryUse {
    Top,
    Derived,
    Cte,
    Subquery,
    /// Of a set operation.
    Operand,
}

impl<'a> Bind<'a, '_, '_> {
    /// The current block.
    pub fn block(&mut self) -> &mut Block<'a> {
        self.blocks.last_mut().expect("a block is being bound")
    }

    /// Begins a block of EXPLAIN's; to be given to `leave_block`: the one around it.
    pub fn enter_block(&mut self, usage: QueryUse, shape: BlockShape) -> u32 {
        let role = match usage {
            QueryUse::Top => BlockRole::Top,
            QueryUse::Derived => BlockRole::Derived,
            QueryUse::Cte => BlockRole::Cte,
            QueryUse::Subquery => BlockRole::Subquery,
            QueryUse::Operand => BlockRole::Operand,
        };
        let place = match self.blocks.last().map(|b| b.clause) {
            _ if usage == QueryUse::Operand => Place::Items,
            Some(Clause::FieldList) => Place::Items,
            None | Some(Clause::From | Clause::On) => Place::From,
            Some(Clause::Where) => Place::Where,
            Some(Clause::GroupBy) => Place::GroupBy,
            Some(Clause::Having) => Place::Having,
            Some(Clause::WindowPartition | Clause::WindowOrder) => Place::Windows,
            Some(Clause::OrderBy) => Place::OrderBy,
        };
        self.shared.columns.blocks.enter(role, place, shape)
    }

    pub fn leave_block(&mut self, outer: u32) {
        self.shared.columns.blocks.leave(outer);
    }

    pub fn set_clause(&mut self, clause: Clause) {
        self.block().clause = clause;
    }

    pub fn query(&mut self, q: &'a ast::Query, usage: QueryUse) -> Result<Bound> {
        if self.shared.depth >= MAX_QUERY_DEPTH {
            return Err(Error::too_high_level_of_nesting_for_select());
        }
        // Views of views multiply, and so do rows compared with subqueries.
        self.shared.query_count += 1;
        if self.shared.query_count > MAX_QUERIES {
            return Err(Error::not_supported(format_args!("more than {MAX_QUERIES} queries in a statement")));
        }
        if q.into.is_some() && usage != QueryUse::Top {
            return Err(Error::wrong_usage("INTO", "subquery"));
        }
        if !q.locking.is_empty() && !matches!(q.body, ast::QueryBody::Select(_)) {
            return Err(Error::not_supported("locking clauses of set operations"));
        }
        self.shared.depth += 1;
        let mark = self.ctes.len();
        if let Some(with) = &q.with {
            self.push_ctes(with)?;
        }
        self.locking = &q.locking;
        let limit = q.limit.as_deref();
        let mut bound = match &q.body {
            ast::QueryBody::Select(s) => self.select(s, &q.order_by, limit, usage)?,
            body => {
                let bound = self.body(body, usage, limit.is_some(), !q.order_by.is_empty())?;
                self.order_and_limit(bound, &q.order_by, limit, usage)?
            }
        };
        self.pop_ctes(mark, &mut bound);
        self.shared.depth -= 1;
        Ok(bound)
    }

    /// `limited`, `ordered`: the query around it has a LIMIT, an ORDER BY.
    pub fn body(&mut self, body: &'a ast::QueryBody, usage: QueryUse, limited: bool, ordered: bool) -> Result<Bound> {
        match body {
            ast::QueryBody::Select(s) => self.select(s, &[], None, usage),
            ast::QueryBody::Values(rows) => {
                let outer = self.enter_block(usage, BlockShape { limited: true, ..BlockShape::default() });
                let bound = self.values(rows)?;
                self.leave_block(outer);
                Ok(bound)
            }
            ast::QueryBody::Table(name) => {
                let outer = self.enter_block(usage, BlockShape { limited, ordered, ..BlockShape::default() });
                let bound = self.table(name)?;
                self.leave_block(outer);
                Ok(bound)
            }
            ast::QueryBody::SetOp(chain) => {
                let kind = set_op_kind(chain.rest.last().map(|t| t.op));
                let distinct = chain.rest.iter().any(|t| !t.all);
                let shape = BlockShape { set_op: Some(kind), distinct, limited, ordered, ..BlockShape::default() };
                let outer = self.enter_block(usage, shape);
                let bound = self.set_chain(&chain.first, &chain.rest)?;
                self.leave_block(outer);
                Ok(bound)
            }
            ast::QueryBody::Nested(q) => self.query(q, usage),
        }
    }

    /// `TABLE t`
    fn table(&mut self, name: &'a ast::ObjectName) -> Result<Bound> {
        let mut block = Block::new(Clause::From);
        block.recursive_of = self.recursive_member.take();
        self.blocks.push(block);
        let (plan, scope) = self.named_table(name, &name.name, &[])?;
        self.blocks.pop();
        let output = scope.visible.into_iter().filter(|c| !c.invisible).map(|c| (c.id, c.name)).collect();
        Ok(Bound { plan, output })
    }

    /// `VALUES ROW(..), ROW(..)`: columns are column_0, column_1, ...
    fn values(&mut self, rows: &'a [Vec<ast::Expr>]) -> Result<Bound> {
        self.blocks.push(Block::ungrouped(Clause::FieldList));
        let width = rows.first().map_or(0, Vec::len);
        let mut bound: Vec<Vec<Expr>> = vec![];
        for (i, row) in rows.iter().enumerate() {
            if row.len() != width {
                return Err(Error::wrong_value_count_on_row(i + 1));
            }
            bound.push(row.iter().map(|e| self.expr(e)).collect::<Result<_>>()?);
        }
        self.blocks.pop();
        let mut output = vec![];
        for c in 0..width {
            let types: Vec<_> = bound.iter().map(|r| r[c].ty).collect();
            let ty = expr::build::union_type(&types, self.shared.session.collation_connection);
            for row in &mut bound {
                let e = std::mem::replace(&mut row[c], expr::build::null());
                row[c] = expr::build::implicit_cast(e, ty);
            }
            let nullable = bound.iter().any(|r| r[c].nullable);
            let name = format!("column_{c}");
            output.push((self.shared.columns.computed(&name, ty, nullable), name.into()));
        }
        let columns = output.iter().map(|(id, _)| *id).collect();
        Ok(Bound { plan: Logical::Values { columns, rows: Arc::new(bound) }, output })
    }
}
