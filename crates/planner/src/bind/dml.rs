//! What UPDATE, DELETE and INSERT need bound.
//!
//! UPDATE and DELETE become queries: they output the row id of each target row and the new values; the engine then
//! changes the rows. Assignments take effect from left to right, as in MySQL's single-table UPDATE: a later one reads
//! what an earlier one assigned.
//!
//! Source: MySQL manual, "UPDATE Statement", "DELETE Statement", "INSERT ... ON DUPLICATE KEY UPDATE".

use super::api::{Bind, Binder};
use super::joins::conjuncts;
use super::names::{find_in_scope, written};
use super::order::Key;
use super::scope::{Base, Block, Clause, Scope, Source, SourceColumn, same_name};
use super::target_reads::NamedTarget;
use super::views::ViewCheck;
use catalog::{DefaultValue, TableDef};
use expr::{ColumnId, Expr, ExprKind, build};
use parser::ast;
use plan::logical::{Logical, LogicalQuery};
use std::sync::Arc;
use types::value::zero_of;
use types::{Error, Result, SqlType};

/// A table that the statement changes.
#[derive(Clone, Debug)]
pub struct DmlTarget {
    pub table: Arc<TableDef>,
    pub alias: Box<str>,
    /// Position of its row id in the query's output; NULL where an outer join found no row.
    pub row_id: usize,
    /// What CHECK OPTION of the view that it is changed through demands.
    pub checks: Vec<ViewCheck>,
}

/// UPDATE: run `query`, then give each target row its new values.
#[derive(Clone, Debug)]
pub struct BoundUpdate {
    pub query: LogicalQuery,
    pub targets: Vec<DmlTarget>,
    /// In the order of the statement.
    pub assignments: Vec<BoundAssignment>,
}

#[derive(Clone, Debug)]
pub struct BoundAssignment {
    /// Index into the targets.
    pub target: usize,
    pub column_idx: usize,
    pub value: NewValue,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NewValue {
    /// Position in the query's output; not yet converted to the column's type.
    Output(usize),
    /// `= DEFAULT`
    Default,
}

/// DELETE: run `query`, then delete each target row.
#[derive(Clone, Debug)]
pub struct BoundDelete {
    pub query: LogicalQuery,
    pub targets: Vec<DmlTarget>,
}

/// A target: which source, and which of the source's tables.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Place {
    source: usize,
    base: usize,
}

impl<'e> Binder<'e> {
    pub fn bind_update(&self, u: &ast::Update) -> Result<BoundUpdate> {
        let mut shared = self.shared();
        shared.note_reads();
        let mut b = Bind::new(&mut shared);
        if let Some(with) = &u.with {
            b.push_ctes(with)?;
        }
        let plan = b.dml_from(&u.tables, &u.hints)?;
        // Targets and columns, so that subqueries can be checked against them.
        b.set_clause(Clause::FieldList);
        let mut places: Vec<Place> = vec![];
        let mut columns = vec![];
        for a in &u.set {
            let (place, column_idx) = b.dml_column(&a.column, "UPDATE")?;
            let target = places.iter().position(|p| *p == place).unwrap_or_else(|| {
                places.push(place);
                places.len() - 1
            });
            columns.push((target, column_idx));
        }
        b.check_one_table_a_view(&places)?;
        b.check_keys_stay(&places, &columns)?;
        let multi = b.block().scope.sources.len() > 1;
        if multi && (!u.order_by.is_empty() || u.limit.is_some()) {
            return Err(Error::wrong_usage("UPDATE", if u.limit.is_some() { "LIMIT" } else { "ORDER BY" }));
        }
        b.set_clause(Clause::Where);
        let predicates = match &u.where_ {
            Some(w) => conjuncts(build::truth(b.expr(w)?)?),
            None => vec![],
        };
        b.set_clause(Clause::FieldList);
        // Columns assigned so far: (id, value).
        let mut assigned: Vec<(ColumnId, Expr)> = vec![];
        let mut values: Vec<Option<Expr>> = vec![];
        for (a, (target, column_idx)) in u.set.iter().zip(&columns) {
            let id = b.base(places[*target]).first + *column_idx as ColumnId;
            let mut value = match (&a.value.kind, b.default_expr(places[*target], *column_idx)) {
                (ast::ExprKind::Default, None) => {
                    values.push(None);
                    continue;
                }
                (ast::ExprKind::Default, Some(default)) => default,
                _ => b.expr(&a.value)?,
            };
            substitute(&mut value, &assigned);
            let column = b.shared.columns.get(id);
            value = build::assigned(value, &column.ty);
            let stored = stored(&value, column.ty, column.nullable)?;
            assigned.retain(|(c, _)| *c != id);
            assigned.push((id, stored));
            values.push(Some(value));
        }
        b.set_clause(Clause::OrderBy);
        let keys = b.dml_order(&u.order_by)?;
        let limit = u.limit.as_ref().map(|l| b.limit_value(l)).transpose()?.flatten();
        b.check_targets_not_read(&places, "UPDATE")?;
        let mut plan = b.filter(plan, predicates);
        plan = sort_and_limit(plan, keys, limit);
        let mut exprs = vec![];
        let mut output = vec![];
        let targets = b.dml_targets(&places, &mut exprs, &mut output)?;
        let mut assignments = vec![];
        for (value, (target, column_idx)) in values.into_iter().zip(columns) {
            let value = match value {
                None => NewValue::Default,
                Some(e) => {
                    let id = b.shared.columns.computed("", e.ty, e.nullable);
                    exprs.push((id, e));
                    output.push((id, "".into()));
                    NewValue::Output(output.len() - 1)
                }
            };
            assignments.push(BoundAssignment { target, column_idx, value });
        }
        let mut bound = super::query::Bound { plan: Logical::Project { input: Box::new(plan), exprs }, output };
        b.blocks.pop();
        b.pop_ctes(0, &mut bound);
        let query = shared.finish(bound.plan, bound.output)?;
        Ok(BoundUpdate { query, targets, assignments })
    }

    pub fn bind_delete(&self, d: &ast::Delete) -> Result<BoundDelete> {
        let mut shared = self.shared();
        shared.note_reads();
        let mut b = Bind::new(&mut shared);
        if let Some(with) = &d.with {
            b.push_ctes(with)?;
        }
        let plan = b.dml_from(&d.from, &d.hints)?;
        let sources: Vec<usize> = if d.targets.is_empty() {
            vec![0]
        } else {
            if !d.order_by.is_empty() || d.limit.is_some() {
                return Err(Error::wrong_usage("DELETE", if d.limit.is_some() { "LIMIT" } else { "ORDER BY" }));
            }
            let mut sources = vec![];
            for t in &d.targets {
                let found = b.block().scope.sources.iter().position(|s| {
                    *s.alias == *t.name.0 && t.schema.as_ref().is_none_or(|schema| *s.schema == **schema)
                });
                let idx = found.ok_or_else(|| Error::unknown_table(&*t.name, "MULTI DELETE"))?;
                if sources.contains(&idx) {
                    return Err(Error::nonuniq_table(&*t.name));
                }
                sources.push(idx);
            }
            sources
        };
        let mut places = vec![];
        for s in sources {
            let source = &b.block().scope.sources[s];
            match (source.bases().len(), &source.view) {
                (0, _) => return Err(Error::non_updatable_table(&source.alias, "DELETE")),
                (2.., Some(view)) => return Err(Error::view_delete_merge_view(&view.name.0, &view.name.1)),
                _ => places.push(Place { source: s, base: 0 }),
            }
        }
        b.set_clause(Clause::Where);
        let predicates = match &d.where_ {
            Some(w) => conjuncts(build::truth(b.expr(w)?)?),
            None => vec![],
        };
        b.set_clause(Clause::OrderBy);
        let keys = b.dml_order(&d.order_by)?;
        let limit = d.limit.as_ref().map(|l| b.limit_value(l)).transpose()?.flatten();
        b.check_targets_not_read(&places, "DELETE")?;
        let mut plan = b.filter(plan, predicates);
        plan = sort_and_limit(plan, keys, limit);
        let mut exprs = vec![];
        let mut output = vec![];
        let targets = b.dml_targets(&places, &mut exprs, &mut output)?;
        let mut bound = super::query::Bound { plan: Logical::Project { input: Box::new(plan), exprs }, output };
        b.blocks.pop();
        b.pop_ctes(0, &mut bound);
        let query = shared.finish(bound.plan, bound.output)?;
        Ok(BoundDelete { query, targets })
    }
}

/// What a column holds once `value` was assigned to it. NULL in a NOT NULL column has become the type's zero, if the
/// statement did not fail.
pub(super) fn stored(value: &Expr, ty: SqlType, nullable: bool) -> Result<Expr> {
    let cast = build::implicit_cast(value.clone(), ty);
    match nullable || !value.nullable {
        true => Ok(cast),
        false => Ok(build::implicit_cast(
            build::ifnull(cast, Expr::constant(zero_of(&ty), ty), ty.collation().unwrap_or_default())?,
            ty,
        )),
    }
}

/// Replaces columns by the values just assigned to them.
pub(super) fn substitute(e: &mut Expr, assigned: &[(ColumnId, Expr)]) {
    if assigned.is_empty() {
        return;
    }
    e.rewrite(&mut |e| {
        if let ExprKind::Column(id) = e.kind
            && let Some((_, value)) = assigned.iter().find(|(c, _)| *c == id)
        {
            *e = value.clone();
        }
    });
}

fn sort_and_limit(mut plan: Logical, keys: Vec<(Expr, bool)>, limit: Option<u64>) -> Logical {
    if !keys.is_empty() {
        plan = Logical::Sort { input: Box::new(plan), keys };
    }
    match limit {
        Some(n) => Logical::Limit { input: Box::new(plan), limit: Some(n), offset: 0 },
        None => plan,
    }
}

impl<'a> Bind<'a, '_, '_> {
    fn dml_from(&mut self, tables: &'a [ast::TableRef], hints: &'a [ast::Hint]) -> Result<Logical> {
        let mut block = Block::ungrouped(Clause::From);
        block.row_ids = true;
        block.hints = hints;
        self.enter_block(super::query::QueryUse::Top, plan::logical::BlockShape::default());
        self.blocks.push(block);
        let own_block = self.shared.columns.blocks.current();
        self.shared.hints.note_change(own_block, hints);
        self.bind_from(tables, super::hints::fixes_order(hints))
    }

    fn base(&self, place: Place) -> &Base {
        &self.blocks.last().expect("dml_from pushed it").scope.sources[place.source].bases()[place.base]
    }

    /// `SET column = DEFAULT` where that is an expression: evaluated for each row.
    fn default_expr(&mut self, place: Place, column_idx: usize) -> Option<Expr> {
        let base = self.base(place);
        let first = base.first;
        let DefaultValue::Expr { expr, .. } = &base.table.columns[column_idx].default else { return None };
        let mut e = (**expr).clone();
        e.rewrite(&mut |e| {
            if let ExprKind::Column(position) = e.kind {
                *e = self.shared.columns.expr(first + position);
            }
        });
        // It may be UUID() or RAND().
        self.shared.serial = true;
        Some(e)
    }

    /// Subqueries do not read the tables that change. As in MySQL, the first table of an UPDATE is the one that is
    /// named.
    fn check_targets_not_read(&self, places: &[Place], operation: &str) -> Result<()> {
        let sources = &self.blocks.last().expect("dml_from pushed it").scope.sources;
        places.iter().try_for_each(|p| {
            let named = &sources[if operation == "UPDATE" { 0 } else { p.source }];
            let view = named.view.as_ref().map(|v| v.name.clone());
            let target = NamedTarget { alias: named.alias.clone(), view };
            self.shared.check_not_read(self.base(*p).table.id, &target, operation)
        })
    }

    /// 1706: a table that is updated under two names keeps its primary key, by which the second update finds its rows.
    fn check_keys_stay(&self, places: &[Place], columns: &[(usize, usize)]) -> Result<()> {
        let table = |p: &Place| &self.base(*p).table;
        for (i, first) in places.iter().enumerate() {
            for (j, second) in places.iter().enumerate().skip(i + 1) {
                let key = table(first).primary_key();
                let moves = |(target, c): &(usize, usize)| {
                    (*target == i || *target == j)
                        && key.is_some_and(|k| k.parts.iter().any(|part| part.column_idx == *c))
                };
                if table(first).id == table(second).id && columns.iter().any(moves) {
                    let alias = |p: &Place| self.blocks[self.blocks.len() - 1].scope.sources[p.source].alias.clone();
                    return Err(Error::multi_update_key_conflict(alias(first), alias(second)));
                }
            }
        }
        Ok(())
    }

    /// 1393: a statement changes one of the tables of a join view.
    fn check_one_table_a_view(&mut self, places: &[Place]) -> Result<()> {
        for (i, p) in places.iter().enumerate() {
            if places[..i].iter().any(|q| q.source == p.source)
                && let Some(view) = &self.block().scope.sources[p.source].view
            {
                return Err(Error::view_multiupdate(&view.name.0, &view.name.1));
            }
        }
        Ok(())
    }

    /// A column to assign: its table and position in the definition.
    fn dml_column(&mut self, c: &ast::ColumnRef, statement: &str) -> Result<(Place, usize)> {
        let scope: &Scope = &self.block().scope;
        let found = find_in_scope(scope, c, Clause::FieldList)?;
        let id = found.ok_or_else(|| Error::bad_field(written(c), "field list"))?.id;
        let has = |s: &Source| s.columns.iter().any(|col: &SourceColumn| col.id == id);
        let (idx, source) = scope
            .sources
            .iter()
            .enumerate()
            .find(|(_, s)| has(s))
            .ok_or_else(|| Error::internal("a column of the scope has a source"))?;
        if source.bases().is_empty() {
            return Err(Error::non_updatable_table(&source.alias, statement));
        }
        let found = source.bases().iter().enumerate().find_map(|(base, b)| Some((base, b.position(id)?)));
        let (base, position) = found.ok_or_else(|| Error::nonupdateable_column(&*c.name))?;
        Ok((Place { source: idx, base }, position))
    }

    fn dml_order(&mut self, order_by: &'a [ast::OrderItem]) -> Result<Vec<(Expr, bool)>> {
        let mut keys = vec![];
        for o in order_by {
            if let Key::Expr(e) = self.order_key(&o.expr)?
                && e.as_const().is_none()
            {
                keys.push((e, o.desc));
            }
        }
        Ok(keys)
    }

    /// Outputs the targets' row ids.
    fn dml_targets(
        &mut self,
        places: &[Place],
        exprs: &mut Vec<(ColumnId, Expr)>,
        output: &mut Vec<(ColumnId, Box<str>)>,
    ) -> Result<Vec<DmlTarget>> {
        let mut targets = vec![];
        for place in places {
            let source = &self.blocks.last().expect("dml_from pushed it").scope.sources[place.source];
            let base = &source.bases()[place.base];
            let id = base.row_id.ok_or_else(|| Error::internal("targets have row ids"))?;
            exprs.push((id, self.shared.columns.expr(id)));
            output.push((id, "".into()));
            targets.push(DmlTarget {
                table: base.table.clone(),
                alias: source.alias.clone(),
                row_id: output.len() - 1,
                checks: source.view.as_ref().map(|v| v.checks(base)).transpose()?.unwrap_or_default(),
            });
        }
        Ok(targets)
    }

    /// `DEFAULT(col)`: the column's default value.
    pub fn default_of(&mut self, c: &ast::ColumnRef) -> Result<Expr> {
        let of_row = self.blocks.last().and_then(|b| b.table.clone());
        let (table, idx) = match of_row {
            Some(table) => {
                let idx = table.column_idx(&c.name).ok_or_else(|| Error::bad_field(written(c), "field list"))?;
                (table, idx)
            }
            None => {
                let column = self.column(c)?;
                let ExprKind::Column(id) = column.kind else { return Err(Error::bad_field(written(c), "field list")) };
                if (id as usize) >= self.shared.columns.len() {
                    return Err(Error::not_supported("DEFAULT(column) here"));
                }
                let origin = self.shared.columns.get(id).origin.clone();
                origin.ok_or_else(|| Error::no_default_for_field(&*c.name))?
            }
        };
        let def = &table.columns[idx];
        match &def.default {
            DefaultValue::Value(v) => Ok(Expr::constant(v.clone(), def.ty)),
            DefaultValue::None if def.nullable => Ok(Expr::constant(types::Value::Null, def.ty)),
            DefaultValue::None => Err(Error::no_default_for_field(&def.name)),
            DefaultValue::CurrentTimestamp => {
                let fsp = match def.ty {
                    SqlType::DateTime { fsp } | SqlType::Timestamp { fsp } => fsp,
                    _ => 0,
                };
                build::function("now", vec![build::integer(fsp as u64)], &self.shared.session)
            }
            DefaultValue::Expr { .. } => Err(Error::default_as_val_generated()),
        }
    }

    /// `VALUES(col)`: the new row's value in ON DUPLICATE KEY UPDATE; NULL anywhere else.
    pub fn values_of(&mut self, c: &ast::ColumnRef) -> Result<Expr> {
        let last = self.blocks.last().expect("expressions stand in blocks");
        let block = self.blocks.iter().rev().find(|b| b.new_row.is_some()).unwrap_or(last);
        let Some(source) = block.new_row else {
            let column = self.column(c)?;
            return Ok(Expr::constant(types::Value::Null, column.ty));
        };
        // A row alias may rename the new row's columns; VALUES() keeps to the table's names.
        let names = &block.scope.sources[0].columns;
        let idx = names
            .iter()
            .position(|col| same_name(&col.name, &c.name))
            .ok_or_else(|| Error::bad_field(written(c), "field list"))?;
        let id = block.scope.sources[source].columns[idx].id;
        let types = block.positional.as_ref().ok_or_else(|| Error::internal("the new row is positional"))?;
        let (ty, _) = types[id as usize];
        Ok(match block.values {
            Some(values) => Expr::constant(values[id as usize].clone(), ty),
            None => Expr::column(id, ty, true),
        })
    }
}
