//! Views: a view's text is parsed and bound anew at each use, as a derived table that sees nothing of the statement,
//! and of the session all but `collation_connection`: that is its creator's.
//!
//! Rows can be changed through a view whose rows each stand for one row of every table in its FROM: no DISTINCT, no
//! groups, no LIMIT, no set operation, not ALGORITHM = TEMPTABLE. Such a view, named in the FROM of a statement that
//! changes rows, outputs the row ids of its tables beside its columns, and those of the views in its own FROM pass
//! through it:
//!
//! ```text
//!  UPDATE v SET b = 1      v: Project(t.x AS b, t.id; t.row_id)       b ─ column id ─▶ t.x, position in the definition
//! ```
//! WITH CHECK OPTION makes the conditions of WHERE hold for rows that are written: a view's own with LOCAL, those of
//! the views below it too with CASCADED; views below have their own option obeyed in any case.
//!
//! Source: MySQL manual, "Updatable and Insertable Views", "The View WITH CHECK OPTION Clause".

use super::api::{Bind, Binder};
use super::query::{Bound, QueryUse};
use super::scope::{Base, Block, Clause};
use super::target_reads::NamedTarget;
use catalog::{TableDef, ViewDef};
use expr::{ColumnId, Expr, ExprKind};
use parser::{ParseOptions, ast};
use std::collections::HashSet;
use std::sync::Arc;
use types::{Error, ErrorCode, Result};

/// The tables whose rows the rows of a view are.
#[derive(Clone, Debug, Default)]
pub struct ViewRows {
    /// The view's schema and name.
    pub name: (Box<str>, Box<str>),
    pub bases: Vec<Base>,
    /// Columns that the view computes, in terms of the bases' columns.
    computed: Vec<(ColumnId, Expr)>,
    conditions: Vec<Condition>,
}

#[derive(Clone, Debug)]
struct Condition {
    predicates: Vec<Expr>,
    /// It must hold for rows that are written.
    checked: bool,
}

/// What the next SELECT to be bound is to find out.
#[derive(Debug)]
pub enum Wanted {
    No,
    /// It is the one of a view whose rows may be changed.
    Yes,
    /// It is being bound, or is not updatable. Holds the predicates of WHERE.
    Bound(Vec<Expr>),
    Rows(ViewRows),
}

/// A condition of WITH CHECK OPTION.
#[derive(Clone, Debug)]
pub struct ViewCheck {
    /// Schema and name of the view that the statement names.
    pub view: (Box<str>, Box<str>),
    /// Column ids are positions in the table's definition. A row that is written must make it TRUE.
    pub condition: Expr,
}

/// A view to insert into.
#[derive(Clone, Debug)]
pub struct InsertView {
    pub table: Arc<TableDef>,
    /// The table's columns that get values, in the order of the statement.
    pub columns: Vec<usize>,
    pub checks: Vec<ViewCheck>,
    /// Some column goes by another name in the view than in the table.
    pub renames: bool,
}

impl ViewRows {
    /// The conditions that rows of `base` must fulfil to be written.
    pub fn checks(&self, base: &Base) -> Result<Vec<ViewCheck>> {
        let mut checks = vec![];
        for p in self.conditions.iter().filter(|c| c.checked).flat_map(|c| &c.predicates) {
            let mut condition = p.clone();
            self.expand(&mut condition);
            let mut fits = true;
            condition.rewrite(&mut |e| match &mut e.kind {
                ExprKind::Column(id) => match base.position(*id) {
                    Some(p) => *id = p as ColumnId,
                    None => fits = false,
                },
                ExprKind::Subquery(_) => fits = false,
                _ => {}
            });
            if !fits {
                return Err(Error::not_supported("WITH CHECK OPTION over several tables or subqueries"));
            }
            checks.push(ViewCheck { view: self.name.clone(), condition });
        }
        Ok(checks)
    }

    /// Writes what views compute in terms of tables' columns.
    fn expand(&self, e: &mut Expr) {
        e.rewrite(&mut |e| {
            if let ExprKind::Column(id) = e.kind
                && let Some((_, value)) = self.computed.iter().find(|(c, _)| *c == id)
            {
                *e = value.clone();
            }
        });
    }
}

impl<'a> Bind<'a, '_, '_> {
    /// `changed`: rows may be changed through it; then it says of which tables, if it can be.
    pub fn view(&mut self, view: &ViewDef, changed: bool) -> Result<(Bound, Option<ViewRows>)> {
        let name = (view.schema.clone(), view.name.clone());
        if self.shared.views.contains(&name) {
            return Err(Error::view_recursive(&view.schema, &view.name));
        }
        // The text was stored with sql_mode's effects on quoting taken out.
        let statement = parser::parse(&view.select_text, &ParseOptions::default())?;
        let ast::Statement::Query(query) = &statement else {
            return Err(Error::view_invalid(&view.schema, &view.name));
        };
        self.shared.views.push(name);
        let in_subquery = self.is_in_subquery();
        let within = std::mem::replace(&mut self.shared.within_subquery, in_subquery);
        let outside = self.shared.default_schema.take();
        let inside = self.shared.session.with_collation(view.collation);
        let session = std::mem::replace(&mut self.shared.session, inside);
        let simple = matches!(query.body, ast::QueryBody::Select(_)) && &*view.algorithm != "TEMPTABLE";
        let before =
            std::mem::replace(&mut self.shared.view_rows, if changed && simple { Wanted::Yes } else { Wanted::No });
        let bound = Bind::new(self.shared).query(query, QueryUse::Derived);
        let found = std::mem::replace(&mut self.shared.view_rows, before);
        self.shared.session = session;
        self.shared.default_schema = outside;
        self.shared.within_subquery = within;
        self.shared.views.pop();
        let mut bound = bound.map_err(|e| {
            let invalid = [
                ErrorCode::NO_DB,
                ErrorCode::BAD_DB,
                ErrorCode::NO_SUCH_TABLE,
                ErrorCode::BAD_FIELD,
                ErrorCode::SP_DOES_NOT_EXIST,
                ErrorCode::FUNC_INEXISTENT_NAME_COLLISION,
            ];
            if invalid.contains(&e.code()) { Error::view_invalid(&view.schema, &view.name) } else { e }
        })?;
        if bound.output.len() < view.columns.len() {
            return Err(Error::view_invalid(&view.schema, &view.name));
        }
        // Columns that a table gained after CREATE VIEW are not the view's.
        if !view.columns.is_empty() {
            bound.output.truncate(view.columns.len());
            for ((_, n), new) in bound.output.iter_mut().zip(&view.columns) {
                *n = new.clone();
            }
        }
        let rows = match found {
            Wanted::Rows(rows) => Some(rows.of_view(view)),
            _ => None,
        };
        Ok((bound, rows))
    }

    /// Whether the SELECT that begins is the one of a view whose rows may be changed.
    pub fn begins_view(&mut self) -> bool {
        let begins = matches!(self.shared.view_rows, Wanted::Yes);
        if begins {
            self.shared.view_rows = Wanted::Bound(vec![]);
        }
        begins
    }

    pub fn note_view_condition(&mut self, predicates: &[Expr]) {
        if self.block().of_view {
            self.shared.view_rows = Wanted::Bound(predicates.to_vec());
        }
    }

    /// The row ids of the tables pass through the view.
    pub fn output_view_rows(
        &mut self,
        block: &Block<'a>,
        local: &HashSet<ColumnId>,
        project: &mut Vec<(ColumnId, Expr)>,
    ) {
        let predicates = match std::mem::replace(&mut self.shared.view_rows, Wanted::No) {
            Wanted::Bound(predicates) => predicates,
            _ => vec![],
        };
        let mut rows = ViewRows::default();
        for source in &block.scope.sources {
            rows.bases.extend_from_slice(source.bases());
            if let Some(view) = &source.view {
                rows.computed.extend_from_slice(&view.computed);
                rows.conditions.extend_from_slice(&view.conditions);
            }
        }
        let ids: Vec<ColumnId> = rows.bases.iter().filter_map(|b| b.row_id).collect();
        if ids.is_empty() || ids.len() != rows.bases.len() || ids.iter().any(|id| !local.contains(id)) {
            return;
        }
        for (id, e) in project.iter().filter(|(id, e)| !matches!(e.kind, ExprKind::Column(c) if c == *id)) {
            let mut e = e.clone();
            rows.expand(&mut e);
            rows.computed.push((*id, e));
        }
        rows.conditions.push(Condition { predicates, checked: false });
        project.extend(ids.iter().map(|id| (*id, self.shared.columns.expr(*id))));
        self.shared.view_rows = Wanted::Rows(rows);
    }
}

impl ViewRows {
    /// Names it, and marks what its CHECK OPTION demands.
    fn of_view(mut self, view: &ViewDef) -> ViewRows {
        self.name = (view.schema.clone(), view.name.clone());
        match &*view.check_option {
            "CASCADED" => self.conditions.iter_mut().for_each(|c| c.checked = true),
            "LOCAL" => self.conditions.iter_mut().next_back().into_iter().for_each(|c| c.checked = true),
            _ => {}
        }
        self
    }
}

impl Binder<'_> {
    /// Whether rows can be changed through a view.
    pub fn is_updatable(&self, view: &ViewDef) -> bool {
        let mut shared = self.shared();
        let mut b = Bind::new(&mut shared);
        b.blocks.push(Block::new(Clause::From));
        matches!(b.view(view, true), Ok((_, Some(_))))
    }

    /// The table behind a view, and its columns that get values: those listed, or all of the view.
    pub fn bind_insert_view(
        &self,
        name: &ast::ObjectName,
        view: &ViewDef,
        listed: Option<&[ast::ColumnRef]>,
    ) -> Result<InsertView> {
        let mut shared = self.shared();
        shared.note_reads();
        let mut b = Bind::new(&mut shared);
        b.blocks.push(Block::new(Clause::From));
        let reads = b.reads_mark();
        let inner = b.next_block();
        let (bound, rows) = b.view(view, true)?;
        b.read_through(view, &name.name, &bound.plan, inner, reads);
        let not_insertable = || Error::non_insertable_table(&*name.name, "INSERT");
        let rows = rows.ok_or_else(not_insertable)?;
        // The table and position of each of its columns: it must be one, and another each time.
        let mut places: Vec<(usize, usize)> = vec![];
        for (id, _) in &bound.output {
            let place = rows.bases.iter().enumerate().find_map(|(b, base)| Some((b, base.position(*id)?)));
            let place = place.filter(|p| !places.contains(p)).ok_or_else(not_insertable)?;
            places.push(place);
        }
        let chosen: Vec<(usize, usize)> = match listed {
            None if rows.bases.len() > 1 => return Err(Error::view_no_insert_field_list(&view.schema, &view.name)),
            None => places,
            Some(list) => {
                let mut chosen = vec![];
                for c in list {
                    let fits = c.table.as_ref().is_none_or(|t| t.as_str() == &*view.name);
                    let at = bound.output.iter().position(|(_, n)| super::scope::same_name(n, &c.name));
                    let at = at.filter(|_| fits).ok_or_else(|| Error::bad_field(c.name.as_str(), "field list"))?;
                    if chosen.contains(&places[at]) {
                        return Err(Error::field_specified_twice(c.name.as_str()));
                    }
                    chosen.push(places[at]);
                }
                chosen
            }
        };
        let base = chosen.first().map_or(0, |c| c.0);
        if chosen.iter().any(|c| c.0 != base) || (chosen.is_empty() && rows.bases.len() > 1) {
            return Err(Error::view_multiupdate(&view.schema, &view.name));
        }
        let base = &rows.bases[base];
        let target =
            NamedTarget { alias: name.name.as_str().into(), view: Some((view.schema.clone(), view.name.clone())) };
        shared.check_not_read(base.table.id, &target, "INSERT")?;
        let renames = bound.output.iter().any(|(id, name)| {
            base.position(*id).is_none_or(|p| !super::scope::same_name(name, &base.table.columns[p].name))
        });
        Ok(InsertView {
            table: base.table.clone(),
            renames,
            columns: chosen.iter().map(|c| c.1).collect(),
            checks: rows.checks(base)?,
        })
    }
}
