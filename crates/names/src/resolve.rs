//! From a statement's tree to its objects.
//!
//! ```text
//!   names in the text ──▶ table ──▶ foreign keys of tables that are changed ──▶ parents, children, their children
//!                    └──▶ view ───▶ names in its text, all of the catalog ──▶ as above
//! ```
//! A use is followed once for each of its kinds, so that no circle of views or keys goes on for ever.

use crate::{ActsAs, Names, Object, ObjectUse, Place, UseKind};
use catalog::{Catalog, FkAction, Relation, TableDef, ViewDef};
use parser::ast::{LockStrength, ObjectName, Query, QueryBody, Select, Statement, TableLockKind, TableRef, TableUse};
use parser::{ParseOptions, parse};
use std::sync::Arc;

/// What names mean to a session.
pub struct Scope<'a> {
    pub catalog: &'a Catalog,
    /// The current database.
    pub schema: Option<&'a str>,
    /// A temporary table of the session.
    pub is_temporary: &'a dyn Fn(&str, &str) -> bool,
    /// A table that the server makes up, or one that would be.
    pub is_made_up: &'a dyn Fn(&str, &str) -> bool,
    /// foreign_key_checks
    pub foreign_keys: bool,
    /// See [`Names::only_looks`].
    pub only_looks: bool,
}

/// What the statement names. Names without a database where there is no current one are left out: 1046 when they are
/// bound.
pub fn resolve(statement: &Statement, scope: &Scope<'_>) -> Names {
    let uses = statement.table_uses();
    let version = scope.catalog.version();
    let names = Names { version, queries: uses.queries, only_looks: scope.only_looks, ..Names::default() };
    let mut resolver = Resolver { scope, names, todo: Vec::new(), order: 0 };
    // A foreign key's parent is by default in the database of the table that is being defined.
    let own_schema = uses.tables.first().and_then(|(name, _)| name.schema.as_deref());
    let of_temporary = matches!(statement, Statement::AlterTable(a) if resolver.is_temporary(&a.name));
    for (name, usage) in uses.tables {
        let own = own_schema.filter(|_| usage == TableUse::Refer);
        let Some(schema) = name.schema.as_deref().or(own).or(scope.schema) else { continue };
        let place = resolver.place(schema, &name.name, usage, of_temporary);
        resolver.put(schema, &name.name, UseKind::Named(usage), place, ActsAs::Session);
    }
    while let Some(next) = resolver.todo.pop() {
        resolver.follow(next);
    }
    // CREATE TABLE of a table that is there does nothing.
    let is_there = |o: &Object| {
        let made = |u: &ObjectUse| matches!(u.kind, UseKind::Named(TableUse::Create { temporary: false, .. }));
        o.relation.is_some() && o.uses.iter().any(made)
    };
    resolver.names.only_looks |= resolver.names.objects.iter().any(is_there);
    resolver.names
}

/// A use that leads further.
enum Next {
    Through(Arc<ViewDef>, TableUse, ActsAs),
    Keys(Arc<TableDef>, UseKind),
}

struct Resolver<'a> {
    scope: &'a Scope<'a>,
    names: Names,
    todo: Vec<Next>,
    order: u32,
}

impl Resolver<'_> {
    fn is_temporary(&self, name: &ObjectName) -> bool {
        let schema = name.schema.as_deref().or(self.scope.schema);
        schema.is_some_and(|s| (self.scope.is_temporary)(s, &name.name))
    }

    /// `of_temporary`: the statement alters a temporary table, and so gives no other one a name.
    fn place(&self, schema: &str, name: &str, usage: TableUse, of_temporary: bool) -> Place {
        use TableUse::*;
        let means_stored = matches!(
            usage,
            Create { .. } | RenameFrom | RenameTo | CreateView { .. } | DropView | Refer | Drop { temporary: true }
        );
        if (self.scope.is_made_up)(schema, name) {
            Place::Server
        } else if of_temporary || !means_stored && (self.scope.is_temporary)(schema, name) {
            Place::Temporary
        } else {
            Place::Stored
        }
    }

    fn put(&mut self, schema: &str, name: &str, kind: UseKind, place: Place, acts_as: ActsAs) {
        let at = self.names.place(schema, name).unwrap_or_else(|at| {
            let relation = self.scope.catalog.relation(schema, name);
            let object = Object { schema: schema.into(), name: name.into(), relation, uses: Vec::new() };
            self.names.objects.insert(at, object);
            at
        });
        let object = &mut self.names.objects[at];
        let is_known = |u: &ObjectUse| (u.kind, u.place) == (kind, place) && u.acts_as.is_same(&acts_as);
        if object.uses.iter().any(is_known) {
            return;
        }
        self.order += 1;
        object.uses.push(ObjectUse { kind, place, acts_as: acts_as.clone(), order: self.order });
        if place != Place::Stored {
            return;
        }
        match (&object.relation, kind) {
            (Some(Relation::View(view)), UseKind::Named(usage)) => {
                self.todo.push(Next::Through(view.clone(), usage, acts_as));
            }
            (Some(Relation::Table(table)), _) => self.todo.push(Next::Keys(table.clone(), kind)),
            _ => {}
        }
    }

    fn follow(&mut self, next: Next) {
        match next {
            Next::Through(view, usage, acts_as) => self.through_view(&view, usage, &acts_as),
            Next::Keys(table, UseKind::Named(TableUse::LockTable(kind))) => {
                if matches!(kind, TableLockKind::Write | TableLockKind::LowPriorityWrite) {
                    self.lock_related(&table);
                }
            }
            Next::Keys(table, kind) if kind.changes_rows() && self.scope.foreign_keys => self.keys(&table),
            Next::Keys(..) => {}
        }
    }

    /// What the view's text names, all of which has its database. Rows that are changed through a view are rows of the
    /// tables in its own FROM.
    fn through_view(&mut self, view: &Arc<ViewDef>, usage: TableUse, acts_as: &ActsAs) {
        use TableUse::*;
        let inner = match usage {
            Read | Update { assigned: false } | Delete { emptied: false } => Read,
            Lock(_) | Insert { .. } | Update { .. } | Delete { .. } | LockTable(_) => usage,
            _ => return,
        };
        // The text was stored with sql_mode's effects on quoting taken out.
        let Ok(Statement::Query(query)) = parse(&view.select_text, &ParseOptions::default()) else { return };
        let acts_as = match &*view.security {
            "INVOKER" => acts_as.clone(),
            _ => ActsAs::Definer(view.clone()),
        };
        let own = changeable(&query);
        for (name, said) in query.table_uses().tables {
            let Some(schema) = name.schema.as_deref() else { continue };
            let usage = match (inner, said) {
                (Lock(LockStrength::Share), Lock(b)) => Lock(b),
                (Lock(_) | LockTable(_), _) => inner,
                (Insert { .. } | Update { .. } | Delete { .. }, _) if own.iter().any(|n| std::ptr::eq(*n, name)) => {
                    inner
                }
                _ => said,
            };
            let place = if (self.scope.is_made_up)(schema, &name.name) { Place::Server } else { Place::Stored };
            self.put(schema, &name.name, UseKind::Named(usage), place, acts_as.clone());
        }
    }

    /// The tables that foreign keys of and on a changed table lead to.
    fn keys(&mut self, table: &TableDef) {
        for key in &table.foreign_keys {
            self.put(&key.parent_schema, &key.parent_table, UseKind::Checked, Place::Stored, ActsAs::Session);
        }
        for (child, key) in self.scope.catalog.references_to(&table.schema, &table.name).iter() {
            let kind = if acts(child, *key) { UseKind::Cascade } else { UseKind::Checked };
            self.put(&child.schema, &child.name, kind, Place::Stored, ActsAs::Session);
        }
    }

    /// The same for LOCK TABLES: they are read, or written, too.
    fn lock_related(&mut self, table: &TableDef) {
        let children = self.scope.catalog.references_to(&table.schema, &table.name);
        let mut put = |schema: &str, name: &str, writes| {
            let kind = if writes { TableLockKind::Write } else { TableLockKind::Read };
            self.put(schema, name, UseKind::Named(TableUse::LockTable(kind)), Place::Stored, ActsAs::Session);
        };
        table.foreign_keys.iter().for_each(|key| put(&key.parent_schema, &key.parent_table, false));
        children.iter().for_each(|(child, key)| put(&child.schema, &child.name, acts(child, *key)));
    }
}

/// Whether rows of the child may change because one that they refer to does.
fn acts(child: &TableDef, key: usize) -> bool {
    let key = &child.foreign_keys[key];
    let acts = |action| !matches!(action, FkAction::Restrict | FkAction::NoAction);
    acts(key.on_delete) || acts(key.on_update)
}

/// The names in the FROM of a view whose rows may be changed; none if they cannot be.
fn changeable(query: &Query) -> Vec<&ObjectName> {
    let mut names = Vec::new();
    let QueryBody::Select(select) = &query.body else { return names };
    let Select { modifiers, group_by: None, having: None, from, .. } = &**select else { return names };
    if modifiers.distinct || query.limit.is_some() {
        return names;
    }
    let mut todo: Vec<&TableRef> = from.iter().collect();
    while let Some(table) = todo.pop() {
        match table {
            TableRef::Table(t) => names.push(&t.name),
            TableRef::Join(join) => todo.extend([&join.left, &join.right]),
            TableRef::Derived(_) | TableRef::JsonTable(_) => {}
        }
    }
    names
}
