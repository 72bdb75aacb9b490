//! One SELECT: binds its clauses and stacks its nodes.
//!
//! ```text
//! From - Filter(where) - Aggregate - Filter(having) - Window* - Project(items, hidden keys) - Distinct - Sort - Limit
//! ```
//!
//! Clauses are bound over FROM's columns, aggregates and window calls standing in as columns of their own; once all are
//! bound, `grouping` rewrites what lies above the Aggregate in terms of its output.

use super::api::Bind;
use super::api::SourceColumns;
use super::grouping::{Place, Regroup};
use super::joins::conjuncts;
use super::late::Late;
use super::locking::RowIds;
use super::order::{Key, keeps_order};
use super::query::{Bound, QueryUse};
use super::scope::{Block, Clause, Item};
use expr::{AggFunc, ColumnId, Expr, ExprKind, build};
use parser::ast;
use plan::logical::{BlockShape, Logical};
use std::collections::HashSet;
use types::{Error, Result};

impl<'a> Bind<'a, '_, '_> {
    pub fn select(
        &mut self,
        s: &'a ast::Select,
        order_by: &'a [ast::OrderItem],
        limit: Option<&'a ast::Limit>,
        usage: QueryUse,
    ) -> Result<Bound> {
        if s.modifiers.sql_calc_found_rows {
            if usage != QueryUse::Top {
                return Err(Error::cant_use_option_here("SQL_CALC_FOUND_ROWS"));
            }
            self.shared.calc_found_rows = true;
        }
        let mut block = Block::new(Clause::From);
        block.named_windows = &s.windows;
        block.locking = std::mem::take(&mut self.locking);
        block.hints = &s.hints;
        block.is_top = usage == QueryUse::Top;
        block.recursive_of = self.recursive_member.take();
        block.of_view = self.begins_view();
        block.row_ids = block.of_view || usage == QueryUse::Top && self.shared.row_ids.is_some();
        block.rollup = s.group_by.as_ref().is_some_and(|g| g.rollup);
        if let Some(name) = block.recursive_of {
            if s.group_by.is_some() || s.having.is_some() {
                return Err(Error::cte_recursive_forbids_aggregation(name));
            }
            if s.modifiers.distinct {
                let what = "ORDER BY / LIMIT / SELECT DISTINCT in recursive query block of Common Table Expression";
                return Err(Error::not_supported(what));
            }
        }
        let outer_block = self.enter_block(usage, BlockShape::default());
        self.blocks.push(block);
        self.check_named_windows()?;

        let mut plan = self.bind_from(&s.from, s.modifiers.straight_join || super::hints::fixes_order(&s.hints))?;
        self.check_lock_names()?;
        // As in MySQL, a wrong name among the items is found before one in WHERE.
        self.set_clause(Clause::FieldList);
        self.items(&s.items)?;
        if let Some(w) = &s.where_ {
            self.set_clause(Clause::Where);
            let predicates = self.condition(w)?;
            self.note_view_condition(&predicates);
            plan = self.filter(plan, predicates);
        }
        let mut having = None;
        if let Some(g) = &s.group_by {
            self.set_clause(Clause::GroupBy);
            self.group_keys(&g.exprs)?;
        }
        if let Some(h) = &s.having {
            self.set_clause(Clause::Having);
            having = Some(build::truth(self.expr(h)?)?);
        }
        let aggregates_before = self.block().aggregates.len();
        self.set_clause(Clause::OrderBy);
        let mut keys = vec![];
        for (i, o) in order_by.iter().enumerate() {
            keys.push((self.order_key(&o.expr)?, o.desc));
            let strict = self.shared.session.sql_mode.only_full_group_by;
            let block = self.block();
            if strict && aggregates_before == 0 && s.group_by.is_none() && !block.aggregates.is_empty() {
                // An aggregate that only ORDER BY has would make one row of a query that is not meant to be aggregated.
                if !s.from.is_empty() && block.items.iter().any(|i| reads(&i.expr, &block.from_columns)) {
                    return Err(Error::aggregate_order_non_agg_query(i + 1));
                }
            }
        }
        let block = self.blocks.pop().expect("pushed above");
        if let Some(shape) = self.shared.columns.blocks.shape() {
            *shape = BlockShape {
                set_op: None,
                grouped: s.group_by.is_some() || s.having.is_some() || !block.aggregates.is_empty(),
                distinct: s.modifiers.distinct,
                limited: limit.is_some(),
                windows: !block.windows.is_empty(),
                ordered: !keys.is_empty(),
            };
        }
        let bound = self.assemble(s, block, plan, having, keys, limit, usage)?;
        let own_block = self.shared.columns.blocks.current();
        self.shared.hints.note_block(own_block, &s.hints);
        if usage == QueryUse::Subquery {
            self.shared.hints.subquery_bound(own_block);
        }
        self.leave_block(outer_block);
        Ok(bound)
    }

    /// A predicate's conjuncts.
    pub fn condition(&mut self, e: &'a ast::Expr) -> Result<Vec<Expr>> {
        Ok(conjuncts(build::truth(self.expr(e)?)?))
    }

    pub fn filter(&mut self, plan: Logical, predicates: Vec<Expr>) -> Logical {
        if predicates.is_empty() {
            return plan;
        }
        self.shared.add_equalities(&predicates, &self.own_columns());
        Logical::Filter { input: Box::new(plan), predicates }
    }

    fn items(&mut self, items: &'a [ast::SelectItem]) -> Result<()> {
        for item in items {
            match item {
                ast::SelectItem::Wildcard(span) => {
                    let block = self.block();
                    if block.scope.sources.is_empty() {
                        return Err(Error::no_tables_used());
                    }
                    let columns: Vec<_> = block.scope.visible.iter().filter(|c| !c.invisible).cloned().collect();
                    self.note_star(*span, &columns);
                    for c in columns {
                        self.column_item(c.id, c.name);
                    }
                }
                ast::SelectItem::QualifiedWildcard(name, span) => {
                    let found = self
                        .block()
                        .scope
                        .sources
                        .iter()
                        .find(|s| s.alias == name.name.0 && name.schema.as_ref().is_none_or(|n| *s.schema == **n));
                    let Some(source) = found else { return Err(Error::bad_table(&*name.name)) };
                    let columns: Vec<_> = source.columns.iter().filter(|c| !c.invisible).cloned().collect();
                    self.note_star(*span, &columns);
                    for c in columns {
                        self.column_item(c.id, c.name);
                    }
                }
                ast::SelectItem::Expr(e) => {
                    let expr = self.expr(&e.expr)?;
                    let name = e.name().into();
                    let column = match &expr.kind {
                        ExprKind::Column(id) => self.source_of(*id),
                        _ => None,
                    };
                    self.block().items.push(Item { expr, name, column });
                }
            }
        }
        Ok(())
    }

    fn column_item(&mut self, id: ColumnId, name: Box<str>) {
        let expr = self.shared.columns.expr(id);
        self.note_reference(self.blocks.len() - 1, &expr);
        let column = self.source_of(id);
        self.block().items.push(Item { expr, name, column });
    }

    /// The table's alias and the column's name.
    fn source_of(&mut self, id: ColumnId) -> Option<(Box<str>, Box<str>)> {
        let sources = &self.block().scope.sources;
        sources.iter().find_map(|s| {
            let column = s.columns.iter().find(|c| c.id == id)?;
            Some((s.alias.clone(), column.name.clone()))
        })
    }

    fn group_keys(&mut self, exprs: &'a [ast::Expr]) -> Result<()> {
        for e in exprs {
            let key = match e.as_literal() {
                Some(ast::Literal::Int(n)) => {
                    let idx = usize::try_from(*n).unwrap_or(0).wrapping_sub(1);
                    let block = self.blocks.last().expect("a block is being bound");
                    let Some(item) = block.items.get(idx) else {
                        return Err(Error::bad_field(n, "group statement"));
                    };
                    if self.has_aggregate(block, &item.expr) {
                        return Err(Error::wrong_group_field(&item.name));
                    }
                    let windows: HashSet<ColumnId> = window_ids(block);
                    if reads(&item.expr, &windows) {
                        return Err(Error::wrong_group_field(&item.name));
                    }
                    item.expr.clone()
                }
                _ => match e.as_column() {
                    Some(c) => self.group_column(c)?,
                    None => self.expr(e)?,
                },
            };
            self.block().groups.push(key);
        }
        Ok(())
    }

    #[allow(clippy::too_many_arguments)]
    fn assemble(
        &mut self,
        s: &'a ast::Select,
        mut block: Block<'a>,
        mut plan: Logical,
        mut having: Option<Expr>,
        mut keys: Vec<(Key, bool)>,
        limit: Option<&'a ast::Limit>,
        usage: QueryUse,
    ) -> Result<Bound> {
        let mut items = std::mem::take(&mut block.items);
        let mut windows = std::mem::take(&mut block.windows);
        if s.group_by.is_some() || !block.aggregates.is_empty() {
            let mut regroup = Regroup::new(self.shared, &mut block, s.group_by.is_some())?;
            for (i, item) in items.iter_mut().enumerate() {
                regroup.rewrite(&mut item.expr, Place { n: i + 1, clause: "SELECT list" })?;
            }
            if let Some(h) = &mut having {
                regroup.rewrite(h, Place { n: 1, clause: "HAVING clause" })?;
            }
            for (i, (key, _)) in keys.iter_mut().enumerate() {
                if let Key::Expr(e) = key {
                    regroup.rewrite(e, Place { n: i + 1, clause: "ORDER BY clause" })?;
                }
            }
            for w in &mut windows {
                regroup.rewrite_window(w)?;
            }
            plan = regroup.finish(plan);
        } else {
            let any = std::mem::take(&mut block.any_values);
            let mut plain = |e: &mut Expr| {
                e.rewrite(&mut |e| {
                    if let ExprKind::Column(id) = e.kind
                        && let Some((_, inner)) = any.iter().find(|(a, _)| *a == id)
                    {
                        *e = inner.clone();
                    }
                })
            };
            if !any.is_empty() {
                items.iter_mut().for_each(|i| plain(&mut i.expr));
                having.iter_mut().for_each(&mut plain);
                for (key, _) in &mut keys {
                    if let Key::Expr(e) = key {
                        plain(e);
                    }
                }
                for w in &mut windows {
                    w.partition_by.iter_mut().for_each(&mut plain);
                    w.order_by.iter_mut().for_each(|(e, _)| plain(e));
                    w.calls.iter_mut().flat_map(|(_, c)| &mut c.args).for_each(&mut plain);
                }
            }
        }
        if let Some(h) = having {
            let predicates = conjuncts(h);
            if !predicates.is_empty() {
                plan = Logical::Filter { input: Box::new(plan), predicates };
            }
        }
        for w in windows {
            plan = Logical::Window {
                input: Box::new(plan),
                partition_by: w.partition_by,
                order_by: w.order_by,
                calls: w.calls,
            };
        }
        self.output(s, items, plan, keys, limit, usage, &block)
    }

    #[allow(clippy::too_many_arguments)]
    fn output(
        &mut self,
        s: &'a ast::Select,
        items: Vec<Item>,
        plan: Logical,
        keys: Vec<(Key, bool)>,
        limit: Option<&'a ast::Limit>,
        usage: QueryUse,
        block: &Block<'a>,
    ) -> Result<Bound> {
        let local: HashSet<ColumnId> = plan.output_columns().into_iter().collect();
        let mut project: Vec<(ColumnId, Expr)> = vec![];
        let mut output: Vec<(ColumnId, Box<str>)> = vec![];
        for item in &items {
            let id = self.project(&mut project, &local, &item.expr, &item.name);
            output.push((id, item.name.clone()));
        }
        self.output_row_ids(s, block, &local, &mut project);
        self.output_source_columns(s, block, &local, &mut project);
        if block.of_view && limit.is_none() && is_row_by_row(s, &plan) {
            self.output_view_rows(block, &local, &mut project);
        }
        let width = project.len();
        let mut sort: Vec<(Expr, bool)> = vec![];
        let mut hidden: Vec<(ColumnId, Expr)> = vec![];
        for (i, (key, desc)) in keys.into_iter().enumerate() {
            let (expr, position) = match key {
                Key::Item(idx) => (items[idx].expr.clone(), Some(idx)),
                Key::Expr(e) => {
                    let idx = items.iter().position(|item| item.expr == e);
                    (e, idx)
                }
            };
            if expr.as_const().is_some() {
                continue;
            }
            let id = match position {
                Some(idx) => output[idx].0,
                None if s.modifiers.distinct => {
                    let outputs: HashSet<ColumnId> = output.iter().map(|(id, _)| *id).collect();
                    let expr = self.over_items(expr, &items, &output);
                    if self.not_selected(&expr, &outputs, &local).is_none() {
                        sort.push((expr, desc));
                        continue;
                    }
                    if self.shared.session.sql_mode.only_full_group_by {
                        return Err(self.order_not_selected(i + 1, &expr, &outputs, &local, block));
                    }
                    let id = self.shared.columns.computed("", expr.ty, true);
                    hidden.push((id, expr.clone()));
                    id
                }
                None => self.project(&mut project, &local, &expr, ""),
            };
            let info = self.shared.columns.get(id);
            sort.push((Expr::column(id, info.ty, info.nullable), desc));
        }
        debug_assert!(!s.modifiers.distinct || project.len() == width);
        if !keeps_order(usage, limit) {
            sort.clear();
            project.truncate(width);
        }
        let bounds = match self.limit(Logical::OneRow, limit)? {
            Logical::Limit { limit, offset, .. } => Some((limit, offset)),
            _ => None,
        };
        // Who counts what LIMIT leaves over makes all rows, and wants LIMIT outermost.
        let counts = s.modifiers.sql_calc_found_rows;
        let page = bounds.and_then(|(limit, _)| limit).filter(|_| !counts);
        let late = match s.modifiers.distinct {
            true => Late::default(),
            false => self.late_items(&mut project, &sort, page, &local),
        };
        // What is joined to the rows that are sent does not keep their order.
        let again = if late.has_subqueries && usage == QueryUse::Top { sort.clone() } else { vec![] };
        let mut plan = if s.modifiers.distinct && !hidden.is_empty() {
            self.distinct_with_hidden(plan, project, hidden)?
        } else {
            let plan = Logical::Project { input: Box::new(plan), exprs: project };
            if s.modifiers.distinct { Logical::Distinct { input: Box::new(plan) } } else { plan }
        };
        if !sort.is_empty() {
            plan = Logical::Sort { input: Box::new(plan), keys: sort };
        }
        let limited = |plan: Logical| match bounds {
            Some((limit, offset)) => Logical::Limit { input: Box::new(plan), limit, offset },
            None => plan,
        };
        let projected = |plan: Logical| match late.all.is_empty() {
            true => plan,
            false => Logical::Project { input: Box::new(plan), exprs: late.all },
        };
        plan = if counts { limited(projected(plan)) } else { projected(limited(plan)) };
        if !again.is_empty() {
            plan = Logical::Sort { input: Box::new(plan), keys: again };
        }
        Ok(Bound { plan, output })
    }

    /// The row ids that locking clauses need pass through, where an output row stands for one row of each table.
    fn output_row_ids(
        &mut self,
        s: &ast::Select,
        block: &Block<'a>,
        local: &HashSet<ColumnId>,
        project: &mut Vec<(ColumnId, Expr)>,
    ) {
        if !block.row_ids || !matches!(self.shared.row_ids, Some(RowIds::Wanted)) {
            return;
        }
        let sources = block.scope.sources.iter().enumerate();
        let ids: Vec<(usize, ColumnId)> =
            sources.filter_map(|(i, source)| Some((i, source.base.as_ref()?.row_id?))).collect();
        let grouped = s.modifiers.distinct || ids.iter().any(|(_, id)| !local.contains(id));
        self.shared.row_ids = Some(if grouped {
            RowIds::Apart
        } else {
            project.extend(ids.iter().map(|(_, id)| (*id, self.shared.columns.expr(*id))));
            RowIds::Output(block.scope.clone(), ids)
        });
    }

    /// The columns of FROM pass through for ON DUPLICATE KEY UPDATE.
    fn output_source_columns(
        &mut self,
        s: &ast::Select,
        block: &Block<'a>,
        local: &HashSet<ColumnId>,
        project: &mut Vec<(ColumnId, Expr)>,
    ) {
        if !block.is_top || !matches!(self.shared.source_columns, Some(SourceColumns::Wanted)) {
            return;
        }
        let ids: Vec<ColumnId> = block.scope.sources.iter().flat_map(|s| s.columns.iter().map(|c| c.id)).collect();
        let lost = s.modifiers.distinct || s.group_by.is_some() || ids.iter().any(|id| !local.contains(id));
        self.shared.source_columns = Some(if lost {
            SourceColumns::Lost
        } else {
            for id in ids {
                if project.iter().all(|(p, _)| *p != id) {
                    project.push((id, self.shared.columns.expr(id)));
                }
            }
            SourceColumns::Output(block.scope.clone())
        });
    }

    /// Adds an expression to a Project. A column that the input produces keeps its id; an outer one must not, lest it
    /// look as if it were produced here.
    fn project(
        &mut self,
        project: &mut Vec<(ColumnId, Expr)>,
        local: &HashSet<ColumnId>,
        e: &Expr,
        name: &str,
    ) -> ColumnId {
        if let ExprKind::Column(id) = e.kind
            && local.contains(&id)
        {
            if project.iter().all(|(p, _)| *p != id) {
                project.push((id, e.clone()));
            }
            return id;
        }
        let id = self.shared.columns.computed(name, e.ty, e.nullable);
        self.shared.add_computed(id, e);
        project.push((id, e.clone()));
        id
    }

    /// DISTINCT with sort keys that are not selected (not ONLY_FULL_GROUP_BY): any value of the key will do.
    fn distinct_with_hidden(
        &mut self,
        plan: Logical,
        mut project: Vec<(ColumnId, Expr)>,
        hidden: Vec<(ColumnId, Expr)>,
    ) -> Result<Logical> {
        let groups = project.iter().map(|(id, _)| (*id, self.shared.columns.expr(*id))).collect();
        let mut aggregates = vec![];
        for (id, e) in hidden {
            let from = self.shared.columns.computed("", e.ty, e.nullable);
            let read = Expr::column(from, e.ty, e.nullable);
            project.push((from, e));
            let (any, _) = build::aggregate(AggFunc::AnyValue, vec![read], false, vec![], ",", &self.shared.session)?;
            aggregates.push((id, any));
        }
        let input = Box::new(Logical::Project { input: Box::new(plan), exprs: project });
        Ok(Logical::Aggregate { input, groups, aggregates, rollup: false })
    }

    /// A sort key behind DISTINCT: what is among the items in it, subqueries too, is read from the output.
    fn over_items(&self, mut key: Expr, items: &[Item], output: &[(ColumnId, Box<str>)]) -> Expr {
        key.rewrite(&mut |e| {
            if e.as_const().is_some() || matches!(e.kind, ExprKind::Column(_)) {
                return;
            }
            if let Some(idx) = items.iter().position(|item| item.expr == *e) {
                let info = self.shared.columns.get(output[idx].0);
                *e = Expr::column(output[idx].0, info.ty, info.nullable);
            }
        });
        key
    }

    /// A local column that the expression reads, its subqueries included, and that is not among `outputs`.
    fn not_selected(&self, e: &Expr, outputs: &HashSet<ColumnId>, local: &HashSet<ColumnId>) -> Option<ColumnId> {
        let definition = |id: expr::SubqueryId| self.shared.subqueries.get(id as usize).and_then(Option::as_ref);
        let read = plan::logical::visit::columns_read(e, definition);
        read.into_iter().find(|id| local.contains(id) && !outputs.contains(id))
    }

    fn order_not_selected(
        &self,
        n: usize,
        e: &Expr,
        outputs: &HashSet<ColumnId>,
        local: &HashSet<ColumnId>,
        block: &Block,
    ) -> Error {
        let mut aggregate = false;
        e.walk(&mut |e| {
            if let ExprKind::Column(id) = e.kind
                && !outputs.contains(&id)
            {
                aggregate |= block.aggregates.iter().any(|(a, c)| *a == id && c.func != AggFunc::AnyValue);
            }
        });
        match self.not_selected(e, outputs, local) {
            Some(id) if !aggregate => {
                let name = block.scope.full_name(id, &self.shared.columns);
                Error::field_in_order_not_select(n, "ORDER BY clause", name, "DISTINCT")
            }
            _ => Error::aggregate_in_order_not_select(n, "ORDER BY clause", "DISTINCT"),
        }
    }
}

/// Whether each row of the SELECT stands for one row of its FROM.
fn is_row_by_row(s: &ast::Select, plan: &Logical) -> bool {
    let grouped = s.modifiers.distinct || s.group_by.is_some() || s.having.is_some();
    !grouped && !matches!(plan, Logical::Window { .. } | Logical::Aggregate { .. })
}

/// Whether the expression reads any of the columns.
pub fn reads(e: &Expr, columns: &HashSet<ColumnId>) -> bool {
    let mut found = false;
    e.walk(&mut |e| found |= matches!(e.kind, ExprKind::Column(id) if columns.contains(&id)));
    found
}

fn window_ids(block: &Block) -> HashSet<ColumnId> {
    block.windows.iter().flat_map(|w| w.calls.iter().map(|(id, _)| *id)).collect()
}
