//! The statement as the binder understood it, as SQL: what SHOW WARNINGS tells after EXPLAIN (note 1003).
//!
//! ```text
//!  select n from (select name n from t where a in (select x from u)) d
//!  /* select#1 */ select `db`.`t`.`name` AS `n` from `db`.`t` semi join (`db`.`u`) where (`db`.`t`.`a` = `db`.`u`.`x`)
//! ```
//! Printed from the bound tree: derived tables and views that do nothing but join and filter are merged there.
//! Conditions of inner joins stand in WHERE, as MySQL has them. An IN that may become a semi join is printed as one.

mod from;

use super::expression::{Names, aggregate, expression, window};
use crate::logical::{BlockRole, Logical, LogicalCte, LogicalQuery, QueryBlock, SetOpKind, SubqueryDef, SubqueryKind};
use expr::{CmpOp, ColumnId, Expr, ExprKind};
use std::collections::HashSet;

/// Levels that are printed.
const DEPTH_MAX: usize = 60;

/// A bound SELECT. `semijoin`: INs of WHERE become semi joins.
pub fn rewritten(query: &LogicalQuery, semijoin: bool) -> String {
    let mut p = Printer::new(query, semijoin);
    p.query(&query.root, &query.output)
}

/// A bound UPDATE or DELETE: the tables it reads and its conditions, with `verb` before and `set` (target column and
/// the position of its value in the output) between.
pub fn rewritten_change(query: &LogicalQuery, verb: &str, set: &[(String, Option<usize>)]) -> String {
    let mut p = Printer::new(query, false);
    let mut parts = Parts::default();
    p.peel(&query.root, &mut parts);
    // What is sorted and cut is below the new values.
    let mut rest = parts.rest.unwrap_or(&query.root);
    if let Logical::Limit { input, limit, offset } = rest {
        parts.limit = Some((*limit, *offset));
        rest = input;
    }
    if let Logical::Sort { input, keys } = rest {
        parts.sort = keys.iter().collect();
        rest = input;
    }
    let from = p.from(rest, &mut parts.conditions);
    p.project(&parts);
    let mut out = format!("{verb} {from}");
    let set: Vec<String> = set
        .iter()
        .map(|(column, at)| match at.and_then(|i| query.output.get(i)) {
            Some((id, _)) => format!("{column} = {}", p.name(*id)),
            None => format!("{column} = default"),
        })
        .collect();
    if !set.is_empty() {
        out += &format!(" set {}", set.join(","));
    }
    p.tail(&parts, &mut out);
    out
}

struct Printer<'q> {
    query: &'q LogicalQuery,
    semijoin: bool,
    /// What each column is called.
    names: Names<'static>,
    texts: Vec<String>,
    depth: usize,
    /// The block of the common table expression that is being printed; 0: none.
    cte_block: u32,
}

/// The clauses of a SELECT, taken off its tree.
#[derive(Default)]
struct Parts<'q> {
    limit: Option<(Option<u64>, u64)>,
    sort: Vec<&'q (Expr, bool)>,
    distinct: bool,
    projects: Vec<&'q [(ColumnId, Expr)]>,
    windows: Vec<&'q Logical>,
    having: Vec<&'q Expr>,
    aggregate: Option<&'q Logical>,
    /// Of FROM: filled by its walk.
    conditions: Vec<String>,
    rest: Option<&'q Logical>,
}

impl<'q> Printer<'q> {
    fn new(query: &'q LogicalQuery, semijoin: bool) -> Printer<'q> {
        let columns = &query.columns;
        // Columns of derived tables may remember a table's, but are not in its database.
        let mut derived = HashSet::new();
        for plan in std::iter::once(&query.root).chain(query.subqueries.iter().map(|d| &d.plan)) {
            plan.walk(&mut |node| {
                if let Logical::CteScan { columns, .. } = node {
                    derived.extend(columns.iter().map(|c| c.0));
                }
            });
        }
        let texts: Vec<String> = (0..columns.len() as ColumnId)
            .map(|id| {
                let c = columns.get(id);
                let origin = c.origin.as_ref().filter(|_| !derived.contains(&id));
                match (origin, c.table_alias.is_empty()) {
                    (Some((t, _)), _) => format!("`{}`.`{}`.`{}`", t.schema, c.table_alias, c.name),
                    (None, false) => format!("`{}`.`{}`", c.table_alias, c.name),
                    (None, true) => format!("`{}`", c.name),
                }
            })
            .collect();
        Printer { query, semijoin, names: Names::owned(texts.clone()), texts, depth: 0, cte_block: 0 }
    }

    fn name(&self, id: ColumnId) -> String {
        self.texts.get(id as usize).cloned().unwrap_or_default()
    }

    fn call(&mut self, id: ColumnId, text: String) {
        if let Some(slot) = self.texts.get_mut(id as usize) {
            self.names.set(id as usize, text.clone());
            *slot = text;
        }
    }

    fn expr(&mut self, e: &Expr) -> String {
        let mut text = expression(e, &self.names);
        let mut ids = vec![];
        e.walk(&mut |e| {
            if let ExprKind::Subquery(id) = e.kind {
                ids.push(id);
            }
        });
        for id in ids {
            let inner = self.subquery(id);
            text = text.replace(&format!("(select #{})", id + 2), &inner);
        }
        text
    }

    fn def(&self, id: u32) -> Option<&'q SubqueryDef> {
        self.query.subqueries.iter().find(|d| d.id == id)
    }

    fn subquery(&mut self, id: u32) -> String {
        let Some(def) = self.def(id) else { return "(...)".into() };
        let output: Vec<(ColumnId, Box<str>)> = def.output.iter().map(|c| (*c, "".into())).collect();
        let inner = self.query(&def.plan, &output);
        match &def.kind {
            SubqueryKind::Scalar => format!("({inner})"),
            SubqueryKind::Exists => format!("exists({inner})"),
            SubqueryKind::Quantified { left, op, all } => {
                let left: Vec<String> = left.iter().map(|e| self.expr(e)).collect();
                let left = if left.len() == 1 { left.join("") } else { format!("({})", left.join(",")) };
                match (op, all) {
                    (CmpOp::Eq, false) => format!("<in_optimizer>({left},{left} in ({inner}))"),
                    (op, all) => {
                        let word = if *all { "all" } else { "any" };
                        let sign = op.symbol();
                        format!("<in_optimizer>({left},({left} {sign} {word} ({inner})))")
                    }
                }
            }
        }
    }

    /// What a CTE outputs, by the names under which it is read.
    fn cte_columns(&self, cte: &LogicalCte) -> Vec<(ColumnId, Box<str>)> {
        let name = |id: &ColumnId| self.query.columns.get(*id).name.clone();
        let mut columns: Vec<(ColumnId, Box<str>)> = cte.output.iter().map(|id| (*id, name(id))).collect();
        let plans = self.query.subqueries.iter().map(|d| &d.plan).chain([&self.query.root]);
        plans.for_each(|plan| {
            plan.walk(&mut |n| {
                let Logical::CteScan { cte_id, columns: read, .. } = n else { return };
                for (id, position) in read.iter().filter(|_| *cte_id == cte.cte_id) {
                    columns[*position].1 = name(id);
                }
            })
        });
        columns
    }

    /// What a block that stays apart does.
    fn definition(&mut self, cte: &'q LogicalCte, role: BlockRole, names: &[(ColumnId, Box<str>)]) -> String {
        let defines = |b: &QueryBlock| b.role == role && *b.name == *cte.name;
        let block = self.query.columns.blocks.all().iter().position(defines).map_or(0, |i| i as u32 + 1);
        let outside = std::mem::replace(&mut self.cte_block, block);
        let text = self.query(&cte.plan, names);
        self.cte_block = outside;
        text
    }

    /// A SELECT or set operation.
    fn query(&mut self, node: &'q Logical, output: &[(ColumnId, Box<str>)]) -> String {
        if self.depth > DEPTH_MAX {
            return "...".into();
        }
        self.depth += 1;
        let out = self.query_inner(node, output);
        self.depth -= 1;
        out
    }

    fn query_inner(&mut self, node: &'q Logical, output: &[(ColumnId, Box<str>)]) -> String {
        if let Logical::With { ctes, input } = node {
            let mut list = vec![];
            for c in ctes {
                let names = self.cte_columns(c);
                list.push(format!("`{}` as ({})", c.name, self.definition(c, BlockRole::Cte, &names)));
            }
            return format!("with {} {}", list.join(", "), self.query(input, output));
        }
        let mut parts = Parts::default();
        self.peel(node, &mut parts);
        let rest = parts.rest.unwrap_or(node);
        if let Logical::SetOp { kind, columns, inputs, distinct } = rest {
            let word = match (kind, distinct) {
                (SetOpKind::Union, true) => " union ",
                (SetOpKind::Union, false) => " union all ",
                (SetOpKind::Intersect, true) => " intersect ",
                (SetOpKind::Intersect, false) => " intersect all ",
                (SetOpKind::Except, true) => " except ",
                (SetOpKind::Except, false) => " except all ",
            };
            let mut list = vec![];
            for (n, ids) in inputs {
                let names: Vec<(ColumnId, Box<str>)> =
                    ids.iter().zip(columns).map(|(i, c)| (*i, self.query.columns.get(*c).name.clone())).collect();
                list.push(self.query(n, &names));
            }
            for c in columns {
                let name = format!("`{}`", self.query.columns.get(*c).name);
                self.call(*c, name);
            }
            let mut out = list.join(word);
            self.project(&parts);
            self.tail(&parts, &mut out);
            return out;
        }
        if let Logical::RecursiveUnion { columns, anchor, recursive, distinct, .. } = rest {
            let names = |p: &Self, ids: &[ColumnId]| -> Vec<(ColumnId, Box<str>)> {
                ids.iter().zip(columns).map(|(i, c)| (*i, p.query.columns.get(*c).name.clone())).collect()
            };
            let (a, r) = (names(self, &anchor.1), names(self, &recursive.1));
            let word = if *distinct { "union" } else { "union all" };
            return format!("{} {word} {}", self.query(&anchor.0, &a), self.query(&recursive.0, &r));
        }
        if let Logical::Values { rows, .. } = rest {
            let rows: Vec<String> = rows
                .iter()
                .map(|r| format!("row({})", r.iter().map(|e| self.expr(e)).collect::<Vec<_>>().join(",")))
                .collect();
            return format!("values {}", rows.join(","));
        }
        let number = self.number(rest, output);
        let from = self.from(rest, &mut parts.conditions);
        self.project(&parts);
        let mut items: Vec<String> = output
            .iter()
            .map(|(id, name)| match &**name {
                "" => self.name(*id),
                name => format!("{} AS `{name}`", self.name(*id)),
            })
            .collect();
        if items.is_empty() {
            items.push("1".into());
        }
        let distinct = if parts.distinct { "distinct " } else { "" };
        let hints: Vec<&str> = self.query.hint_texts.iter().filter(|h| h.0 == number).map(|h| h.1.as_str()).collect();
        let hints = if hints.is_empty() { String::new() } else { format!("/*+ {} */ ", hints.join(" ")) };
        let mut out = format!("/* select#{number} */ select {hints}{distinct}{}", items.join(","));
        if !from.is_empty() {
            out += &format!(" from {from}");
        }
        self.tail(&parts, &mut out);
        out
    }

    /// WHERE and what follows it.
    fn tail(&mut self, parts: &Parts<'q>, out: &mut String) {
        if !parts.conditions.is_empty() {
            *out += &format!(" where {}", conjunction(&parts.conditions));
        }
        if let Some(Logical::Aggregate { groups, rollup, .. }) = parts.aggregate
            && !groups.is_empty()
        {
            let list: Vec<String> = groups.iter().map(|(_, e)| self.expr(e)).collect();
            *out += &format!(" group by {}{}", list.join(","), if *rollup { " with rollup" } else { "" });
        }
        if !parts.having.is_empty() {
            let list: Vec<String> = parts.having.iter().map(|e| self.expr(e)).collect();
            *out += &format!(" having {}", conjunction(&list));
        }
        if !parts.sort.is_empty() {
            let mut list = vec![];
            for (e, descending) in parts.sort.iter().copied() {
                list.push(format!("{}{}", self.expr(e), if *descending { " desc" } else { "" }));
            }
            *out += &format!(" order by {}", list.join(","));
        }
        match parts.limit {
            Some((Some(n), 0)) => *out += &format!(" limit {n}"),
            Some((Some(n), offset)) => *out += &format!(" limit {offset},{n}"),
            _ => {}
        }
    }

    /// Takes the clauses off, outermost first.
    fn peel(&self, node: &'q Logical, parts: &mut Parts<'q>) {
        let mut n = node;
        if let Logical::Limit { input, limit, offset } = n {
            parts.limit = Some((*limit, *offset));
            n = input;
        }
        if let Logical::Sort { input, keys } = n {
            parts.sort = keys.iter().collect();
            n = input;
        }
        if let Logical::Distinct { input } = n {
            parts.distinct = true;
            n = input;
        }
        while let Logical::Project { input, exprs } = n {
            parts.projects.push(exprs);
            n = input;
        }
        while let Logical::Window { input, .. } = n {
            parts.windows.push(n);
            n = input;
        }
        if let Logical::Filter { input, predicates } = n
            && matches!(**input, Logical::Aggregate { .. })
        {
            parts.having = predicates.iter().collect();
            n = input;
        }
        if let Logical::Aggregate { input, .. } = n {
            parts.aggregate = Some(n);
            n = input;
        }
        parts.rest = Some(n);
    }

    /// Names what the clauses compute, innermost first.
    fn project(&mut self, parts: &Parts<'q>) {
        if let Some(Logical::Aggregate { groups, aggregates, .. }) = parts.aggregate {
            for (id, e) in groups {
                let text = self.expr(e);
                self.call(*id, text);
            }
            for (id, a) in aggregates {
                let text = aggregate(a, &self.names);
                self.call(*id, text);
            }
        }
        for w in parts.windows.iter().rev() {
            if let Logical::Window { calls, partition_by, order_by, .. } = w {
                let mut over = vec![];
                if !partition_by.is_empty() {
                    let list: Vec<String> = partition_by.iter().map(|e| self.expr(e)).collect();
                    over.push(format!("PARTITION BY {}", list.join(",")));
                }
                if !order_by.is_empty() {
                    let key = |p: &mut Self, (e, desc): &(Expr, bool)| {
                        format!("{}{}", p.expr(e), if *desc { " desc" } else { "" })
                    };
                    let list: Vec<String> = order_by.iter().map(|k| key(self, k)).collect();
                    over.push(format!("ORDER BY {}", list.join(",")));
                }
                for (id, c) in calls {
                    let text = window(c, &self.names).replace("OVER ()", &format!("OVER ({})", over.join(" ")));
                    self.call(*id, text);
                }
            }
        }
        for exprs in parts.projects.iter().rev() {
            for (id, e) in exprs.iter() {
                if !matches!(e.kind, ExprKind::Column(c) if c == *id) {
                    let text = self.expr(e);
                    self.call(*id, text);
                }
            }
        }
    }
}

fn conjunction(conditions: &[String]) -> String {
    match conditions {
        [one] if one.starts_with('(') || one.starts_with('<') || one.starts_with("exists(") => one.clone(),
        many => format!("({})", many.join(" and ")),
    }
}
