//! The query of CREATE VIEW. A view keeps what its names meant when it was created: `*` is spelled out, every column is
//! named with its table, and USING and NATURAL become conditions. Columns that a table gains or loses later change
//! nothing of it, but for error 1356 where one that it names is gone.
//!
//! Within a view temporary tables are not in sight; the query of a new one may not name them, nor variables, nor
//! itself.
//!
//! Source: MySQL manual, "CREATE VIEW Statement".

use super::api::{Bind, Binder};
use super::query::QueryUse;
use super::scope::{Block, Scope, Source, SourceColumn, same_name};
use expr::{ColumnId, Expr, ExprKind};
use parser::ast::{self, ColumnRef, Ident, JoinConstraint, NameUse, QueryBody, SelectItem, Span, TableRef};
use std::collections::HashMap;
use std::ptr::from_ref;
use types::{Error, Result};

/// A view's query as it is to be kept.
#[derive(Debug)]
pub struct ViewQuery {
    pub query: ast::Query,
    /// Names of its columns.
    pub columns: Vec<Box<str>>,
}

/// What is found out while the query of a new view is bound. Its tree does not move meanwhile: parts of it go by their
/// addresses.
#[derive(Debug, Default)]
pub(super) struct ViewNotes {
    stars: Vec<(Span, Vec<ColumnRef>)>,
    /// Names that are to be written in full.
    names: HashMap<*const ColumnRef, ColumnRef>,
    /// Pairs that USING or NATURAL joins by.
    joins: HashMap<*const ast::Join, Vec<(ColumnRef, ColumnRef)>>,
    /// It names variables of the session or the server, or parameters.
    has_variables: bool,
}

impl Binder<'_> {
    /// Binds the query of a view that is to be created under this name: 1351, 1352, 1462.
    pub fn bind_view_query(&self, query: &ast::Query, schema: &str, name: &str) -> Result<ViewQuery> {
        let mut query = query.clone();
        query.each_name(&mut spell_table());
        let mut shared = self.shared();
        shared.views.push((schema.into(), name.into()));
        shared.view_notes = Some(ViewNotes::default());
        let bound = Bind::new(&mut shared).query(&query, QueryUse::Top)?;
        let notes = shared.view_notes.take().expect("put there above");
        if notes.has_variables {
            return Err(Error::view_select_variable());
        }
        let columns = shared.finish(bound.plan, bound.output)?.output.into_iter().map(|(_, name)| name).collect();
        query.each_name(&mut |name| match name {
            NameUse::Column(c) => {
                if let Some(full) = notes.names.get(&from_ref(c)) {
                    *c = full.clone();
                }
            }
            NameUse::Body { body: QueryBody::Select(select), of_exists } => {
                select.from.iter_mut().for_each(|t| notes.spell_joins(t));
                if !of_exists {
                    select.items =
                        std::mem::take(&mut select.items).into_iter().flat_map(|i| notes.spelled(i)).collect();
                }
            }
            _ => {}
        });
        Ok(ViewQuery { query, columns })
    }
}

impl ViewNotes {
    /// The item, or those that a star stands for, with names of their own.
    fn spelled(&self, mut item: SelectItem) -> Vec<SelectItem> {
        let (SelectItem::Wildcard(span) | SelectItem::QualifiedWildcard(_, span)) = item else {
            if let SelectItem::Expr(e) = &mut item
                && e.alias.is_none()
            {
                e.alias = Some(Ident::from(&*e.name()));
            }
            return vec![item];
        };
        let Some((_, columns)) = self.stars.iter().find(|(s, _)| s.start == span.start) else { return vec![item] };
        let item = |c: &ColumnRef| {
            SelectItem::Expr(Box::new(ast::SelectExpr {
                alias: Some(c.name.clone()),
                text: ast::SourceText(c.name.0.clone()),
                expr: column(c, span),
            }))
        };
        columns.iter().map(item).collect()
    }

    fn spell_joins(&self, mut table: &mut TableRef) {
        // Joins are long on the left.
        while let TableRef::Join(join) = table {
            if let Some(pairs) = self.joins.get(&from_ref(&**join)) {
                let equal = |(l, r): &(ColumnRef, ColumnRef)| equality(column(l, join.span), column(r, join.span));
                let mut terms: Vec<ast::Expr> = pairs.iter().map(equal).collect();
                let on = match terms.len() {
                    0 => ast::Expr::new(ast::ExprKind::Literal(ast::Literal::Bool(true)), join.span),
                    1 => terms.remove(0),
                    _ => ast::Expr::new(ast::ExprKind::And(terms.into()), join.span),
                };
                join.constraint = JoinConstraint::On(on);
            }
            self.spell_joins(&mut join.right);
            table = &mut join.left;
        }
    }
}

fn column(c: &ColumnRef, span: Span) -> ast::Expr {
    ast::Expr::new(ast::ExprKind::Column(Box::new(c.clone())), span)
}

fn equality(left: ast::Expr, right: ast::Expr) -> ast::Expr {
    let span = left.span;
    let kind = ast::ExprKind::Binary(Box::new(ast::BinaryExpr { op: ast::BinaryOp::Eq, left, right }));
    ast::Expr::new(kind, span)
}

impl Bind<'_, '_, '_> {
    /// The text being bound is the one of the view being created, not that of a view which it reads.
    fn creates_view(&self) -> bool {
        self.shared.view_notes.is_some() && self.shared.views.len() == 1
    }

    /// Notes what a `*` of the view being created means.
    pub(super) fn note_star(&mut self, span: Span, columns: &[SourceColumn]) {
        if !self.creates_view() {
            return;
        }
        let block = self.blocks.last().expect("a block is being bound");
        let spelled = columns.iter().map(|c| full_name(block, c.id, &c.name)).collect();
        if let Some(notes) = &mut self.shared.view_notes {
            notes.stars.push((span, spelled));
        }
    }

    /// Notes which column of the block at this level a name means. Aliases of items stay, and so does a name that an
    /// inner table of the same alias would catch.
    pub(super) fn note_name(&mut self, level: usize, c: &ColumnRef, meaning: &Expr) {
        let ExprKind::Column(id) = meaning.kind else { return };
        if !self.creates_view() || self.blocks[level].positional.is_some() {
            return;
        }
        let full = full_name(&self.blocks[level], id, &c.name);
        let Some(table) = &full.table else { return };
        let catches = |b: &Block| b.scope.sources.iter().any(|s| *s.alias == **table);
        if self.blocks[level + 1..].iter().any(catches) {
            return;
        }
        if let Some(notes) = &mut self.shared.view_notes {
            notes.names.insert(from_ref(c), full);
        }
    }

    /// Notes the columns by which a join with USING or NATURAL joins.
    pub(super) fn note_join(&mut self, join: &ast::Join, left: &Scope, right: &Scope, pairs: &[(ColumnId, ColumnId)]) {
        if !self.creates_view() {
            return;
        }
        let sources: Vec<&Source> = left.sources.iter().chain(&right.sources).collect();
        let name = |id| {
            let found = sources.iter().find_map(|s| Some((s, s.columns.iter().find(|c| c.id == id)?)));
            found.map(|(s, c)| named(&sources, s, &c.name))
        };
        let spelled: Option<Vec<_>> = pairs.iter().map(|(l, r)| Some((name(*l)?, name(*r)?))).collect();
        if let (Some(notes), Some(spelled)) = (&mut self.shared.view_notes, spelled) {
            notes.joins.insert(from_ref(join), spelled);
        }
    }

    /// A variable or parameter is named.
    pub(super) fn note_variable(&mut self) {
        if let Some(notes) = &mut self.shared.view_notes {
            notes.has_variables = true;
        }
    }
}

/// The column with its table, if it is one of a table of the block that has this name.
fn full_name(block: &Block, id: ColumnId, name: &str) -> ColumnRef {
    let has = |s: &&Source| s.columns.iter().any(|c| c.id == id && same_name(&c.name, name));
    let sources: Vec<&Source> = block.scope.sources.iter().collect();
    match sources.iter().find(|s| has(s)) {
        Some(source) => named(&sources, source, name),
        None => ColumnRef { schema: None, table: None, name: Ident(name.into()) },
    }
}

/// With the schema where tables of one name come from several.
fn named(all: &[&Source], source: &Source, name: &str) -> ColumnRef {
    let is_ambiguous = all.iter().filter(|s| s.alias == source.alias).count() > 1;
    let schema = (is_ambiguous && !source.schema.is_empty()).then(|| Ident(source.schema.clone()));
    ColumnRef { schema, table: Some(Ident(source.alias.clone())), name: Ident(name.into()) }
}

/// Makes `TABLE t` a SELECT, whose star gets a place of its own, counted down from the end of all.
fn spell_table() -> impl FnMut(NameUse<'_>) {
    let mut count = 0;
    move |name| {
        if let NameUse::Body { body, .. } = name
            && let QueryBody::Table(table) = body
        {
            count += 1;
            let span = Span::new(u32::MAX - count, u32::MAX);
            let factor = ast::TableFactor {
                name: (**table).clone(),
                partitions: vec![],
                alias: None,
                index_hints: vec![],
                span,
            };
            *body = QueryBody::Select(Box::new(ast::Select {
                modifiers: ast::SelectModifiers::default(),
                hints: vec![],
                items: vec![SelectItem::Wildcard(span)],
                from: vec![TableRef::Table(Box::new(factor))],
                from_dual: false,
                where_: None,
                group_by: None,
                having: None,
                windows: vec![],
                span,
            }));
        }
    }
}
