//! The query of CREATE VIEW. A view keeps the columns that `*` meant when it was created: those that a table gains or loses
//! later change nothing of it, but for error 1356 where one that it names is gone.
//!
//! Within a view temporary tables are not in sight; the query of a new one may not name them, nor variables, nor itself.
//!
//! Source: MySQL manual, "CREATE VIEW Statement".

use super::api::{Bind, Binder};
use super::query::QueryUse;
use super::scope::SourceColumn;
use expr::ColumnId;
use parser::ast::{self, ColumnRef, Ident, QueryBody, SelectItem, Span, TableRef};
use types::{Error, Result};

/// A view's query as it is to be kept.
#[derive(Debug)]
pub struct ViewQuery {
    pub query: ast::Query,
    /// Names of its columns.
    pub columns: Vec<Box<str>>,
}

/// What is found out while the query of a new view is bound.
#[derive(Debug, Default)]
pub(super) struct ViewNotes {
    stars: Vec<(Span, Vec<ColumnRef>)>,
    /// It names variables of the session or the server, or parameters.
    has_variables: bool,
}

impl Binder<'_> {
    /// Binds the query of a view that is to be created under this name: 1351, 1352, 1462.
    pub fn bind_view_query(&self, query: &ast::Query, schema: &str, name: &str) -> Result<ViewQuery> {
        let mut query = query.clone();
        each_body(&mut query, &mut spell_table());
        let mut shared = self.shared();
        shared.views.push((schema.into(), name.into()));
        shared.view_notes = Some(ViewNotes::default());
        let bound = Bind::new(&mut shared).query(&query, QueryUse::Top)?;
        let notes = shared.view_notes.take().expect("put there above");
        if notes.has_variables {
            return Err(Error::view_select_variable());
        }
        let columns = shared.finish(bound.plan, bound.output).output.into_iter().map(|(_, name)| name).collect();
        each_body(&mut query, &mut |body| {
            if let QueryBody::Select(select) = body {
                select.items = std::mem::take(&mut select.items).into_iter().flat_map(|i| notes.spelled(i)).collect();
            }
        });
        Ok(ViewQuery { query, columns })
    }
}

impl ViewNotes {
    fn spelled(&self, item: SelectItem) -> Vec<SelectItem> {
        let (SelectItem::Wildcard(span) | SelectItem::QualifiedWildcard(_, span)) = item else { return vec![item] };
        let Some((_, columns)) = self.stars.iter().find(|(s, _)| s.start == span.start) else { return vec![item] };
        let item = |c: &ColumnRef| {
            SelectItem::Expr(Box::new(ast::SelectExpr {
                alias: Some(c.name.clone()),
                text: ast::SourceText(c.name.0.clone()),
                expr: ast::Expr::new(ast::ExprKind::Column(Box::new(c.clone())), span),
            }))
        };
        columns.iter().map(item).collect()
    }
}

impl Bind<'_, '_, '_> {
    /// Notes what a `*` of the view being created means.
    pub(super) fn note_star(&mut self, span: Span, columns: &[SourceColumn]) {
        if self.shared.view_notes.is_none() || self.shared.views.len() > 1 {
            return;
        }
        let spelled = columns.iter().map(|c| self.spelled(c.id, &c.name)).collect();
        if let Some(notes) = &mut self.shared.view_notes {
            notes.stars.push((span, spelled));
        }
    }

    /// A variable or parameter is named.
    pub(super) fn note_variable(&mut self) {
        if let Some(notes) = &mut self.shared.view_notes {
            notes.has_variables = true;
        }
    }

    fn spelled(&mut self, id: ColumnId, name: &str) -> ColumnRef {
        let sources = &self.block().scope.sources;
        let source = sources.iter().find(|s| s.columns.iter().any(|c| c.id == id));
        let is_ambiguous = |alias: &str| sources.iter().filter(|s| *s.alias == *alias).count() > 1;
        let schema = source.filter(|s| !s.schema.is_empty() && is_ambiguous(&s.alias)).map(|s| Ident(s.schema.clone()));
        ColumnRef { schema, table: source.map(|s| Ident(s.alias.clone())), name: Ident(name.into()) }
    }
}

/// Makes `TABLE t` a SELECT, whose star gets a place of its own, counted down from the end of all.
fn spell_table() -> impl FnMut(&mut QueryBody) {
    let mut count = 0;
    move |body| {
        if let QueryBody::Table(name) = body {
            count += 1;
            let span = Span::new(u32::MAX - count, u32::MAX);
            let factor =
                ast::TableFactor { name: (**name).clone(), partitions: vec![], alias: None, index_hints: vec![], span };
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

/// Calls `f` for each body of the query, those of its CTEs and derived tables included; not of subqueries in expressions.
fn each_body(query: &mut ast::Query, f: &mut dyn FnMut(&mut QueryBody)) {
    for cte in query.with.iter_mut().flat_map(|w| &mut w.ctes) {
        each_body(&mut cte.query, f);
    }
    within(&mut query.body, f);
}

fn within(body: &mut QueryBody, f: &mut dyn FnMut(&mut QueryBody)) {
    f(body);
    match body {
        QueryBody::Select(select) => select.from.iter_mut().for_each(|t| within_table(t, f)),
        QueryBody::SetOp(chain) => {
            within(&mut chain.first, f);
            chain.rest.iter_mut().for_each(|t| within(&mut t.body, f));
        }
        QueryBody::Nested(query) => each_body(query, f),
        QueryBody::Values(_) | QueryBody::Table(_) => {}
    }
}

fn within_table(mut table: &mut TableRef, f: &mut dyn FnMut(&mut QueryBody)) {
    // Joins are long on the left.
    while let TableRef::Join(j) = table {
        within_table(&mut j.right, f);
        table = &mut j.left;
    }
    if let TableRef::Derived(d) = table {
        each_body(&mut d.query, f);
    }
}
