//! What INSERT needs bound: values that name columns, the SELECT that rows come from, ON DUPLICATE KEY UPDATE.
//!
//! Expressions of ON DUPLICATE KEY UPDATE read a row of three parts, and column ids are positions in it:
//!
//! ```text
//!   0 .. n            n .. 2n                          2n ..
//!   the existing row  the row that was to be inserted  the row of the SELECT's FROM that it came from
//!   col, t.col        VALUES(col), alias.col           t2.col, and col where the table has none of the name
//! ```
//! Those without subqueries are bound once. Those with subqueries are bound anew for each duplicate, the row's values
//! standing in them as constants: so a subquery may name any of them without being a correlated one.
//!
//! Source: MySQL manual, "INSERT Statement", "INSERT ... ON DUPLICATE KEY UPDATE".

use super::api::{Bind, Binder, SourceColumns};
use super::dml::{stored, substitute};
use super::names::written;
use super::query::QueryUse;
use super::scope::{Block, Clause, Source};
use super::target_reads::NamedTarget;
use super::tidy::keep_digits;
use catalog::{DefaultValue, TableDef};
use expr::{ColumnId, Expr, ExprKind, build};
use parser::ast;
use plan::logical::{Logical, LogicalQuery};
use std::sync::Arc;
use types::{Error, Result, SqlType, Value};

/// The names that ON DUPLICATE KEY UPDATE of an INSERT may use.
#[derive(Clone, Debug)]
pub struct DuplicateNames {
    table: Arc<TableDef>,
    /// The columns that values are given for, where the INSERT lists them.
    listed: Option<Vec<ast::ColumnRef>>,
    row_alias: Option<ast::RowAlias>,
    target: NamedTarget,
    /// Of the SELECT's FROM; ids are positions.
    sources: Vec<Source>,
    types: Vec<(SqlType, bool)>,
}

/// An assignment of ON DUPLICATE KEY UPDATE.
#[derive(Clone, Debug)]
pub enum DuplicateValue {
    Expr(Expr),
    Default,
    /// It has subqueries: [`Binder::bind_duplicate_value`] for each row.
    EachTime(ast::Expr),
}

/// The SELECT of an INSERT.
#[derive(Clone, Debug)]
pub struct InsertSelect {
    pub query: LogicalQuery,
    /// Columns for the table; behind them, for ON DUPLICATE KEY UPDATE, those of FROM.
    pub width: usize,
    pub names: DuplicateNames,
}

impl DuplicateNames {
    pub fn new(table: &Arc<TableDef>, insert: &ast::Insert) -> DuplicateNames {
        let of_table = table.columns.iter().map(|c| (c.ty, c.nullable));
        DuplicateNames {
            table: table.clone(),
            listed: insert.columns.clone(),
            row_alias: insert.row_alias.clone(),
            target: NamedTarget { alias: insert.table.name.as_str().into(), view: None },
            sources: Vec::new(),
            types: of_table.clone().chain(of_table).collect(),
        }
    }

    /// The rows are written through this view.
    pub fn through(mut self, view: Option<&(Box<str>, Box<str>)>) -> DuplicateNames {
        self.target.view = view.cloned();
        self
    }

    /// Types of the whole row.
    pub fn types(&self) -> &[(SqlType, bool)] {
        &self.types
    }

    fn block<'a>(&self) -> Result<Block<'a>> {
        let mut block = Block::ungrouped(Clause::FieldList);
        let table = &self.table;
        block.add_positional(table, &table.name);
        // The new row is reached through VALUES() or its alias, not by bare names.
        let visible = block.scope.visible.len();
        let alias = self.row_alias.as_ref().map_or("", |a| &a.name);
        block.add_positional(table, alias);
        block.scope.visible.truncate(visible);
        block.new_row = Some(1);
        block.table = Some(table.clone());
        if let Some(row_alias) = &self.row_alias {
            self.rename_new_row(&mut block, row_alias)?;
        }
        for source in &self.sources {
            block.scope.visible.extend(source.columns.iter().cloned());
            block.scope.sources.push(source.clone());
        }
        block.positional = Some(self.types.clone());
        Ok(block)
    }

    fn rename_new_row(&self, block: &mut Block<'_>, row_alias: &ast::RowAlias) -> Result<()> {
        if row_alias.columns.is_empty() {
            return Ok(());
        }
        let table = &self.table;
        let position =
            |c: &ast::ColumnRef| table.column_idx(&c.name).ok_or_else(|| Error::bad_field(written(c), "field list"));
        let listed: Vec<usize> = match &self.listed {
            None => (0..table.columns.len()).collect(),
            Some(columns) => columns.iter().map(position).collect::<Result<_>>()?,
        };
        if listed.len() != row_alias.columns.len() {
            return Err(Error::view_wrong_list());
        }
        let source = &mut block.scope.sources[1];
        for (idx, name) in listed.iter().zip(&row_alias.columns) {
            source.columns[*idx].name = name.0.clone();
            // Column aliases go by their bare names too.
            let column = source.columns[*idx].clone();
            block.scope.visible.push(column);
        }
        Ok(())
    }
}

impl Binder<'_> {
    /// Binds the SELECT of an INSERT with ON DUPLICATE KEY UPDATE: it outputs the columns of its FROM too, if an output
    /// row stands for one row of it.
    pub fn bind_insert_select(
        &self,
        insert: &ast::Insert,
        query: &ast::Query,
        table: &Arc<TableDef>,
    ) -> Result<InsertSelect> {
        let mut shared = self.shared();
        shared.source_columns = Some(SourceColumns::Wanted);
        let mut bound = Bind::new(&mut shared).query(query, QueryUse::Top)?;
        bound.output.iter().for_each(|(id, _)| keep_digits(&mut bound.plan, *id, &mut shared.columns));
        let width = bound.output.len();
        let mut names = DuplicateNames::new(table, insert);
        if let Some(SourceColumns::Output(scope)) = shared.source_columns.take() {
            for mut source in scope.sources {
                for column in &mut source.columns {
                    let info = shared.columns.get(column.id);
                    names.types.push((info.ty, info.nullable));
                    bound.output.push((column.id, "".into()));
                    column.id = (names.types.len() - 1) as ColumnId;
                }
                names.sources.push(source);
            }
        }
        Ok(InsertSelect { query: shared.finish(bound.plan, bound.output)?, width, names })
    }

    /// The assignments of ON DUPLICATE KEY UPDATE, by position of the column assigned.
    pub fn bind_on_duplicate(
        &self,
        assignments: &[ast::Assignment],
        names: &DuplicateNames,
    ) -> Result<Vec<(usize, DuplicateValue)>> {
        let table = &names.table;
        let mut out: Vec<(usize, DuplicateValue)> = vec![];
        for a in assignments {
            let column_idx =
                table.column_idx(&a.column.name).ok_or_else(|| Error::bad_field(written(&a.column), "field list"))?;
            let bound = match (&a.value.kind, &table.columns[column_idx].default) {
                (ast::ExprKind::Default, DefaultValue::Expr { expr, .. }) => Some((**expr).clone()),
                (ast::ExprKind::Default, _) => {
                    out.push((column_idx, DuplicateValue::Default));
                    continue;
                }
                _ => self.bind_without_subqueries(&a.value, names.block()?)?,
            };
            let Some(mut value) = bound else {
                // Faults are the statement's, not those of a duplicate.
                let nulls = vec![Value::Null; names.types.len()];
                self.bind_duplicate_value(&a.value, column_idx, names, &nulls)?;
                out.push((column_idx, DuplicateValue::EachTime(a.value.clone())));
                continue;
            };
            let mut assigned: Vec<(ColumnId, Expr)> = vec![];
            for (c, e) in &out {
                let column = &table.columns[*c];
                if let DuplicateValue::Expr(e) = e {
                    assigned.retain(|(id, _)| *id != *c as ColumnId);
                    assigned.push((*c as ColumnId, stored(e, column.ty, column.nullable)?));
                }
            }
            super::shown::show_columns_of(&mut value, table, self.session);
            value = build::assigned(value, &table.columns[column_idx].ty);
            substitute(&mut value, &assigned);
            debug_assert!(max_column(&value).is_none_or(|c| (c as usize) < names.types.len()));
            out.push((column_idx, DuplicateValue::Expr(value)));
        }
        Ok(out)
    }

    /// One assignment (to the column `column_idx`) for one row, `values`, as a query of one value.
    pub fn bind_duplicate_value(
        &self,
        e: &ast::Expr,
        column_idx: usize,
        names: &DuplicateNames,
        values: &[Value],
    ) -> Result<LogicalQuery> {
        let mut block = names.block()?;
        block.values = Some(values);
        self.bind_row_query(e, block, &names.table, Some(column_idx), &names.target)
    }

    /// A value of VALUES that names columns of its row, or has subqueries: `values` are those that the row's columns
    /// have by now.
    pub fn bind_row_value(
        &self,
        e: &ast::Expr,
        table: &Arc<TableDef>,
        target: &NamedTarget,
        values: &[Value],
    ) -> Result<LogicalQuery> {
        let mut block = Block::ungrouped(Clause::FieldList);
        block.add_positional(table, &table.name);
        block.table = Some(table.clone());
        block.values = Some(values);
        self.bind_row_query(e, block, table, None, target)
    }

    fn bind_row_query<'a>(
        &self,
        e: &'a ast::Expr,
        block: Block<'a>,
        table: &TableDef,
        column_idx: Option<usize>,
        target: &NamedTarget,
    ) -> Result<LogicalQuery> {
        let mut shared = self.shared();
        shared.note_reads();
        let mut b = Bind::new(&mut shared);
        b.blocks.push(block);
        let mut value = b.expr(e)?;
        b.shared.check_not_read(table.id, target, "INSERT")?;
        if let Some(c) = column_idx {
            value = build::assigned(value, &table.columns[c].ty);
        }
        let id = b.shared.columns.computed("", value.ty, value.nullable);
        let plan = Logical::Project { input: Box::new(Logical::OneRow), exprs: vec![(id, value)] };
        shared.finish(plan, vec![(id, "".into())])
    }
}

fn max_column(e: &Expr) -> Option<ColumnId> {
    let mut max = None;
    e.walk(&mut |e| {
        if let ExprKind::Column(c) = e.kind {
            max = max.max(Some(c));
        }
    });
    max
}
