//! FROM: tables, derived tables and joins.
//!
//! ```text
//! a, b JOIN c ON ..        Join(a, Join(b, c))      the comma binds weaker than JOIN
//! a RIGHT JOIN b ON ..     Left(b, a)               names stay in the order of the text
//! a NATURAL JOIN b         Join(a, b) on a.x = b.x  of each pair one column stays visible by its bare name
//! a, LATERAL (..) d        Join dependent(a, d)
//! ```
//! Here are the items of the list and the tables; [`super::joins`] has the joins between them.
//!
//! Source: MySQL manual, "JOIN Clause", "Derived Tables", "Lateral Derived Tables".

use super::MAX_JOIN_TABLES;
use super::api::Bind;
use super::joins::join;
use super::query::{Bound, QueryUse};
use super::scope::{Base, Clause, Scope, Source, SourceColumn, same_name};
use catalog::{Relation, TableDef, TableEngine};
use expr::{ColumnId, Expr};
use parser::ast;
use plan::logical::{
    BlockRole, ColumnInfo, IndexHint, IndexHintKind, IndexHintScope, Logical, LogicalCte, LogicalJoinKind, QueryBlock,
    RelationNo, TableTuning,
};
use std::sync::Arc;
use types::{Error, Result, SqlType};

impl<'a> Bind<'a, '_, '_> {
    /// Binds FROM and puts its names in sight of the current block.
    pub fn bind_from(&mut self, from: &'a [ast::TableRef], straight: bool) -> Result<Logical> {
        check_table_count(from)?;
        self.check_aliases(from)?;
        self.set_clause(Clause::From);
        let mut all: Option<(Logical, Scope)> = None;
        for t in from {
            let empty = Scope::default();
            let left = all.as_ref().map_or(&empty, |(_, s)| s).clone();
            let (plan, scope) = self.table_ref(t, &left, straight)?;
            all = Some(match all {
                None => (plan, scope),
                Some((l, mut ls)) => {
                    let dependent = self.depends_on(&ls);
                    let plan = join(LogicalJoinKind::Inner, l, plan, vec![], dependent, straight);
                    ls.append(scope);
                    (plan, ls)
                }
            });
        }
        let (plan, scope) = all.unwrap_or((Logical::OneRow, Scope::default()));
        let block = self.block();
        block.from_columns = scope.column_ids().collect();
        block.scope = scope;
        Ok(plan)
    }

    /// 1066 comes before all that binding the tables may find.
    fn check_aliases(&self, from: &[ast::TableRef]) -> Result<()> {
        let database = self.shared.session.database.as_deref().unwrap_or("");
        let mut seen: Vec<(&str, &str)> = vec![];
        let mut todo: Vec<&ast::TableRef> = from.iter().rev().collect();
        while let Some(t) = todo.pop() {
            let name: (&str, &str) = match t {
                ast::TableRef::Join(j) => {
                    todo.extend([&j.right, &j.left]);
                    continue;
                }
                ast::TableRef::Derived(d) => ("", &d.alias),
                ast::TableRef::JsonTable(j) => ("", &j.alias),
                ast::TableRef::Table(f) => {
                    let schema = match &f.name.schema {
                        Some(s) => s,
                        None if self.find_cte(&f.name.name).is_some() => "",
                        None => database,
                    };
                    (schema, f.alias.as_ref().unwrap_or(&f.name.name))
                }
            };
            if seen.contains(&name) {
                return Err(Error::nonuniq_table(name.1));
            }
            seen.push(name);
        }
        Ok(())
    }

    /// `left`: what LATERAL sees.
    pub(super) fn table_ref(&mut self, t: &'a ast::TableRef, left: &Scope, straight: bool) -> Result<(Logical, Scope)> {
        match t {
            ast::TableRef::Table(f) => self.table_factor(f),
            ast::TableRef::Derived(d) => self.derived(d, left),
            ast::TableRef::JsonTable(_) => Err(Error::not_supported("JSON_TABLE")),
            ast::TableRef::Join(j) => self.join(j, left, straight),
        }
    }

    fn table_factor(&mut self, f: &'a ast::TableFactor) -> Result<(Logical, Scope)> {
        if !f.partitions.is_empty() {
            return Err(Error::not_supported("PARTITION in FROM"));
        }
        self.named_table(&f.name, f.alias.as_ref().unwrap_or(&f.name.name), &f.index_hints)
    }

    /// A CTE, table or view by name.
    pub fn named_table(
        &mut self,
        name: &'a ast::ObjectName,
        alias: &str,
        hints: &'a [ast::IndexHint],
    ) -> Result<(Logical, Scope)> {
        if name.schema.is_none()
            && let Some(idx) = self.find_cte(&name.name)
        {
            let mark = self.shared.hints.mark();
            let used = self.use_cte(idx, alias)?;
            let defines = |b: &QueryBlock| b.role == BlockRole::Cte && *b.name == *self.ctes[idx].name;
            let inner = self.shared.columns.blocks.all().iter().rposition(defines).map_or(0, |i| i as u32 + 1);
            self.note_hinted(alias, mark, false, inner);
            return Ok(used);
        }
        let (schema, relation) = self.relation(name)?;
        match relation {
            Relation::Table(table) => self.base_table(table, alias, hints),
            Relation::View(view) => {
                let lock = self.lock_clause(&schema, alias)?.map(|c| (c.strength, c.wait)).or(self.shared.outer_lock);
                let outer = std::mem::replace(&mut self.shared.outer_lock, lock);
                let changed = self.block().row_ids && self.shared.row_ids.is_none();
                let mark = self.shared.hints.mark();
                let (inner, reads) = (self.next_block(), self.reads_mark());
                let bound = self.view(&view, changed);
                self.shared.outer_lock = outer;
                let (mut bound, rows) = bound?;
                self.read_through(&view, alias, &bound.plan, inner, reads);
                self.note_hinted(alias, mark, false, inner);
                if rows.is_none() {
                    bound = self.set_apart(bound, alias);
                }
                let mut scope = self.derived_scope(&mut bound, &schema, alias);
                scope.sources[0].view = rows;
                Ok((bound.plan, scope))
            }
        }
    }

    /// Looks a relation up: 1046, 1049, 1146.
    pub fn relation(&self, name: &ast::ObjectName) -> Result<(Box<str>, Relation)> {
        let schema = match &name.schema {
            Some(s) => &**s,
            None => self.shared.default_schema.as_deref().ok_or_else(Error::no_db)?,
        };
        let catalog = self.shared.catalog;
        let found = match self.shared.views.len() {
            0 => catalog.relation(schema, &name.name)?,
            1 if self.shared.view_notes.is_some() && catalog.is_temporary(schema, &name.name) => {
                return Err(Error::view_select_tmptable(&*name.name));
            }
            _ => catalog.stored_relation(schema, &name.name)?,
        };
        match found {
            Some(r) => Ok((schema.into(), r)),
            None if !self.shared.catalog.has_schema(schema) => Err(Error::bad_db(schema)),
            None => Err(Error::no_such_table(schema, &*name.name)),
        }
    }

    fn base_table(
        &mut self,
        table: Arc<TableDef>,
        alias: &str,
        hints: &'a [ast::IndexHint],
    ) -> Result<(Logical, Scope)> {
        self.note_read(table.id);
        self.note_lock(&table, alias)?;
        let mark = self.shared.hints.mark();
        let relation = self.shared.hints.next_relation();
        self.note_hinted(alias, mark, true, 0);
        let first = self.shared.columns.len() as ColumnId;
        for (i, c) in table.columns.iter().enumerate() {
            self.shared.columns.add(ColumnInfo {
                name: c.shown_name().into(),
                table_alias: alias.into(),
                ty: c.ty,
                nullable: c.nullable,
                origin: Some((table.clone(), i)),
            });
        }
        self.shared.add_keys(&table, first);
        let row_id = self.block().row_ids.then(|| {
            let id = self.shared.columns.computed("_rowid", SqlType::BIGINT_UNSIGNED, false);
            self.shared.columns.get_mut(id).table_alias = alias.into();
            id
        });
        let columns: Vec<SourceColumn> = table
            .shown_columns()
            .iter()
            .enumerate()
            .map(|(i, c)| SourceColumn { name: c.name.clone(), id: first + i as ColumnId, invisible: c.invisible })
            .collect();
        let plan = Logical::Get {
            alias: alias.into(),
            columns: (0..table.columns.len()).map(|i| (first + i as ColumnId, i)).collect(),
            is_virtual: table.engine == TableEngine::Virtual,
            hints: self.index_hints(&table, alias, hints)?,
            tuning: TableTuning::of_relation(relation),
            row_id,
            table: table.clone(),
        };
        let source = Source {
            schema: table.schema.clone(),
            alias: alias.into(),
            columns,
            base: Some(Base { table, first, row_id }),
            view: None,
        };
        Ok((plan, Scope::of(source)))
    }

    fn derived(&mut self, d: &'a ast::DerivedTable, left: &Scope) -> Result<(Logical, Scope)> {
        if d.alias.is_empty() {
            return Err(Error::derived_must_have_alias());
        }
        let block = self.block();
        let (hidden, scope) = (block.hidden, std::mem::take(&mut block.scope));
        if d.lateral {
            block.scope = left.clone();
        } else {
            block.hidden = true;
        }
        let reads = self.reads_mark();
        let mark = self.shared.hints.mark();
        let inner = self.next_block();
        let bound = self.query(&d.query, QueryUse::Derived);
        self.shared.forget_reads(reads);
        let block = self.block();
        (block.hidden, block.scope) = (hidden, scope);
        let mut bound = bound?;
        self.note_hinted(&d.alias, mark, false, inner);
        super::cte::rename_columns(&mut bound, &d.columns)?;
        super::cte::check_distinct_names(&bound)?;
        if !d.lateral {
            bound = self.set_apart(bound, &d.alias);
        }
        let scope = self.derived_scope(&mut bound, "", &d.alias);
        Ok((bound.plan, scope))
    }

    /// The block that is entered next.
    pub fn next_block(&self) -> u32 {
        self.shared.columns.blocks.all().len() as u32 + 1
    }

    /// The FROM item can be named by hints; its base tables have the numbers since `mark`. `inner`: the block that
    /// defines it.
    fn note_hinted(&mut self, alias: &str, mark: RelationNo, is_base: bool, inner: u32) {
        let block = self.shared.columns.blocks.current();
        if !is_base {
            self.shared.columns.blocks.name_derived(inner, alias);
        }
        self.shared.hints.note_table(block, alias, mark, is_base, inner);
    }

    /// Keeps the derived table or view out of what reads it, if it is not to be merged: hints, then derived_merge.
    fn set_apart(&mut self, bound: Bound, alias: &str) -> Bound {
        let (block, outer) = self.blocks.split_last().expect("a block is being bound");
        let merge =
            super::hints::merges(block.hints, alias).unwrap_or_else(|| self.shared.variables.switches().derived_merge);
        // What may read enclosing blocks is no definition of its own; rows that are to be changed must be seen.
        if merge || block.row_ids || outer.iter().any(|b| !b.hidden) {
            return bound;
        }
        let cte_id = self.shared.cte_count;
        self.shared.cte_count += 1;
        let (mut columns, mut output) = (vec![], vec![]);
        for (position, (id, name)) in bound.output.iter().enumerate() {
            let info = self.shared.columns.get(*id);
            let (ty, nullable, origin) = (info.ty, info.nullable, info.origin.clone());
            let read = self.shared.columns.computed(name, ty, nullable);
            self.shared.columns.get_mut(read).origin = origin;
            columns.push((read, position));
            output.push((read, name.clone()));
        }
        let ids = bound.output.iter().map(|(id, _)| *id).collect();
        let cte = LogicalCte { cte_id, name: alias.into(), plan: bound.plan, output: ids, apart: true };
        let input = Box::new(Logical::CteScan { cte_id, name: alias.into(), columns });
        Bound { plan: Logical::With { ctes: vec![cte], input }, output }
    }

    /// Each column of a derived table needs an id of its own, also where the query outputs one column twice.
    fn derived_scope(&mut self, bound: &mut Bound, schema: &str, alias: &str) -> Scope {
        let mut copies: Vec<(ColumnId, Expr)> = vec![];
        for i in 0..bound.output.len() {
            let (id, name) = bound.output[i].clone();
            if bound.output[..i].iter().any(|(o, _)| *o == id) {
                let read = self.shared.columns.expr(id);
                let copy = self.shared.columns.computed(&name, read.ty, read.nullable);
                self.shared.add_computed(copy, &read);
                copies.push((copy, read));
                bound.output[i].0 = copy;
            }
        }
        if !copies.is_empty() {
            let input = std::mem::replace(&mut bound.plan, Logical::OneRow);
            let mut exprs: Vec<(ColumnId, Expr)> = vec![];
            for id in input.output_columns() {
                if exprs.iter().all(|(e, _)| *e != id) {
                    exprs.push((id, self.shared.columns.expr(id)));
                }
            }
            exprs.extend(copies);
            bound.plan = Logical::Project { input: Box::new(input), exprs };
        }
        let mut columns = vec![];
        for (id, name) in &bound.output {
            let info = self.shared.columns.get_mut(*id);
            if info.table_alias.is_empty() {
                info.table_alias = alias.into();
                info.name = name.clone();
            }
            columns.push(SourceColumn { name: name.clone(), id: *id, invisible: false });
        }
        Scope::of(Source { schema: schema.into(), alias: alias.into(), columns, base: None, view: None })
    }
}

/// Counts without recursion, so that no join is too deep to be refused.
fn check_table_count(from: &[ast::TableRef]) -> Result<()> {
    let mut todo: Vec<&ast::TableRef> = from.iter().collect();
    let mut count = 0;
    while let Some(t) = todo.pop() {
        match t {
            ast::TableRef::Join(j) => todo.extend([&j.left, &j.right]),
            _ => count += 1,
        }
        if count > MAX_JOIN_TABLES || todo.len() > MAX_JOIN_TABLES * 2 {
            return Err(Error::too_many_tables(MAX_JOIN_TABLES));
        }
    }
    Ok(())
}

impl Bind<'_, '_, '_> {
    /// The hints with positions of indexes; 1176 for one that is not there, or invisible.
    fn index_hints(&self, table: &TableDef, alias: &str, hints: &[ast::IndexHint]) -> Result<Vec<IndexHint>> {
        let mut out = vec![];
        for h in hints {
            let mut indexes = vec![];
            for name in &h.indexes {
                let idx = table
                    .indexes
                    .iter()
                    .position(|i| same_name(&i.name, name) && (!i.invisible || self.sees_invisible()))
                    .ok_or_else(|| Error::key_does_not_exist(&**name, alias))?;
                indexes.push(idx);
            }
            let kind = match h.kind {
                ast::IndexHintKind::Use => IndexHintKind::Use,
                ast::IndexHintKind::Force => IndexHintKind::Force,
                ast::IndexHintKind::Ignore => IndexHintKind::Ignore,
            };
            let scope = match h.scope {
                ast::IndexHintScope::All => IndexHintScope::All,
                ast::IndexHintScope::Join => IndexHintScope::Join,
                ast::IndexHintScope::OrderBy => IndexHintScope::OrderBy,
                ast::IndexHintScope::GroupBy => IndexHintScope::GroupBy,
            };
            let clash = |a: IndexHintKind, b: IndexHintKind| a == IndexHintKind::Use && b == IndexHintKind::Force;
            if out.iter().any(|o: &IndexHint| clash(o.kind, kind) || clash(kind, o.kind)) {
                return Err(Error::wrong_usage("USE INDEX", "FORCE INDEX"));
            }
            out.push(IndexHint { kind, scope, indexes });
        }
        Ok(out)
    }

    /// Whether optimizer_switch lets statements use invisible indexes.
    fn sees_invisible(&self) -> bool {
        self.shared.variables.switches().use_invisible_indexes
    }
}
