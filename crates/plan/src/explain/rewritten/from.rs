//! FROM, with the conditions of its joins, and which SELECT reads what.

use super::{DEPTH_MAX, Parts, Printer, conjunction};
use crate::logical::{BlockRole, Logical, LogicalCte, LogicalJoinKind, SubqueryDef, SubqueryKind};
use expr::{CmpOp, ColumnId, Expr, ExprKind};

impl<'q> Printer<'q> {
    /// The number of a SELECT whose clauses stand on `rest`.
    pub(super) fn number(&self, rest: &'q Logical, output: &[(ColumnId, Box<str>)]) -> u32 {
        self.block(rest, output).and_then(|b| self.query.columns.blocks.get(b)).map_or(1, |b| b.number)
    }

    /// The block of a SELECT: that of what it computes, or reads. What a derived table computes is the enclosing
    /// block's.
    fn block(&self, rest: &'q Logical, output: &[(ColumnId, Box<str>)]) -> Option<u32> {
        let columns = &self.query.columns;
        let all = &columns.blocks;
        let up = |mut b: u32| {
            while let Some(x) = all.get(b).filter(|x| x.is_mergeable() && x.role != BlockRole::Subquery) {
                if x.parent == 0 || b == self.cte_block {
                    break;
                }
                b = x.parent;
            }
            b
        };
        let (mut found, mut derived) = (vec![], vec![]);
        self.tables(rest, &mut found, &mut derived);
        let around = |b: &u32| all.get(*b).map_or(0, |x| x.parent);
        found.extend(derived.iter().map(|(_, b)| around(b)));
        found.extend(output.iter().map(|o| o.0).filter(|id| (*id as usize) < columns.len()).map(|id| {
            let inner = derived.iter().find(|(ids, _)| ids.contains(&id));
            inner.map_or(columns.block_of(id), |(_, b)| around(b))
        }));
        // An outer column may be selected: the innermost block then is not its.
        let number = |b: &u32| all.get(*b).map_or(0, |x| x.number);
        found.into_iter().filter(|b| *b > 0).map(up).min_by_key(number)
    }

    /// The blocks of the tables that FROM reads, and each derived table's columns and block.
    fn tables(&self, from: &'q Logical, found: &mut Vec<u32>, derived: &mut Vec<(Vec<ColumnId>, u32)>) {
        match from {
            Logical::Get { columns, .. } => found.extend(columns.first().map(|c| self.query.columns.block_of(c.0))),
            Logical::CteScan { .. } | Logical::OneRow => {}
            Logical::With { ctes, input } if is_set_apart(ctes, input) => {}
            Logical::Filter { input, .. } => self.tables(input, found, derived),
            Logical::Project { input, .. } if is_plain(input) => self.tables(input, found, derived),
            Logical::Join { left, right, .. } => {
                self.tables(left, found, derived);
                self.tables(right, found, derived);
            }
            other => {
                let ids = other.output_columns();
                let output: Vec<(ColumnId, Box<str>)> = ids.iter().map(|id| (*id, "".into())).collect();
                let mut parts = Parts::default();
                self.peel(other, &mut parts);
                let block = match parts.rest.filter(|rest| !std::ptr::eq(*rest, other)) {
                    Some(rest) => self.block(rest, &output),
                    // A set operation or the like: its columns are its own.
                    None => ids.first().map(|id| self.query.columns.block_of(*id)).filter(|b| *b > 0),
                };
                let is_derived =
                    |b: &u32| self.query.columns.blocks.get(*b).is_some_and(|b| b.role == BlockRole::Derived);
                match block {
                    Some(b) if is_derived(&b) => derived.push((ids, b)),
                    // What else stands below the clauses is of the same SELECT.
                    block => found.extend(block),
                }
            }
        }
    }

    /// FROM; the conditions of WHERE and of inner joins go to `conditions`.
    pub(super) fn from(&mut self, node: &'q Logical, conditions: &mut Vec<String>) -> String {
        if self.depth > DEPTH_MAX {
            return "...".into();
        }
        self.depth += 1;
        let out = self.inner_from(node, conditions);
        self.depth -= 1;
        out
    }

    fn inner_from(&mut self, node: &'q Logical, conditions: &mut Vec<String>) -> String {
        match node {
            Logical::OneRow => String::new(),
            Logical::Get { table, alias, .. } => {
                let name = format!("`{}`.`{}`", table.schema, table.name);
                if *alias == table.name { name } else { format!("{name} `{alias}`") }
            }
            Logical::CteScan { name, columns, .. } => {
                let alias = columns.first().map_or("".into(), |c| self.query.columns.get(c.0).table_alias.clone());
                if alias.is_empty() || alias == *name { format!("`{name}`") } else { format!("`{name}` `{alias}`") }
            }
            Logical::Filter { input, predicates } => {
                let mut from = self.from(input, conditions);
                for p in predicates {
                    match self.semi_join(p, conditions) {
                        Some(inner) => from += &format!(" semi join ({inner})"),
                        None => {
                            let text = self.expr(p);
                            conditions.push(text);
                        }
                    }
                }
                from
            }
            Logical::Project { input, exprs } if is_plain(input) => {
                let from = self.from(input, conditions);
                for (id, e) in exprs {
                    if !matches!(e.kind, ExprKind::Column(c) if c == *id) {
                        let text = self.expr(e);
                        self.call(*id, text);
                    }
                }
                from
            }
            Logical::Join { kind, left, right, on, .. } => {
                let l = self.from(left, conditions);
                let mut inner = vec![];
                let mut r = self.from(right, &mut inner);
                if matches!(**right, Logical::Join { .. }) {
                    r = format!("({r})");
                }
                for p in on {
                    let text = self.expr(p);
                    inner.push(text);
                }
                match kind {
                    LogicalJoinKind::Inner => {
                        conditions.append(&mut inner);
                        if l.is_empty() || r.is_empty() { format!("{l}{r}") } else { format!("{l} join {r}") }
                    }
                    _ => {
                        let on = if inner.is_empty() { "true".into() } else { conjunction(&inner) };
                        format!("{l} left join {r} on({on})")
                    }
                }
            }
            Logical::With { ctes, input } if is_set_apart(ctes, input) => {
                let names = self.cte_columns(&ctes[0]);
                let text = self.definition(&ctes[0], BlockRole::Derived, &names);
                format!("({text}) `{}`", ctes[0].name)
            }
            other => {
                let output: Vec<(ColumnId, Box<str>)> = other
                    .output_columns()
                    .into_iter()
                    .map(|id| (id, self.query.columns.get(id).name.clone()))
                    .collect();
                let alias = self.alias(other, &output);
                let text = self.query(other, &output);
                // From here on its columns go by its name.
                for (id, name) in &output {
                    let outside = format!("`{alias}`.`{name}`");
                    self.call(*id, outside);
                }
                format!("({text}) `{alias}`")
            }
        }
    }

    /// What a derived table is called.
    fn alias(&self, node: &'q Logical, output: &[(ColumnId, Box<str>)]) -> Box<str> {
        let mut parts = Parts::default();
        self.peel(node, &mut parts);
        let block = self.block(parts.rest.unwrap_or(node), output).and_then(|b| self.query.columns.blocks.get(b));
        if let Some(b) = block.filter(|b| b.role == BlockRole::Derived && !b.name.is_empty()) {
            return b.name.clone();
        }
        let aliases = output.iter().map(|(id, _)| &self.query.columns.get(*id).table_alias);
        aliases.into_iter().find(|a| !a.is_empty()).cloned().unwrap_or_default()
    }

    /// The FROM of an IN or EXISTS that stands alone in WHERE, its conditions among those of WHERE.
    fn semi_join(&mut self, p: &Expr, conditions: &mut Vec<String>) -> Option<String> {
        let ExprKind::Subquery(id) = p.kind else { return None };
        let may_become = |d: &&SubqueryDef| d.hints.strategy.is_none() && d.hints.allows_semijoin(self.semijoin);
        let def = self.def(id).filter(may_become)?;
        let body = match &def.plan {
            Logical::Project { input, .. } => &**input,
            other => other,
        };
        if !is_plain(body) || matches!(body, Logical::OneRow) {
            return None;
        }
        // One that does not depend on the row is asked once.
        let is_exists = matches!(def.kind, SubqueryKind::Exists);
        if is_exists && def.plan.free_columns(&self.query.subqueries).is_empty() {
            return None;
        }
        let mut inner = vec![];
        let from = self.from(&def.plan, &mut inner);
        if let SubqueryKind::Quantified { left, op: CmpOp::Eq, all: false } = &def.kind {
            for (l, r) in left.iter().zip(&def.output) {
                let l = self.expr(l);
                inner.push(format!("({l} = {})", self.name(*r)));
            }
        } else if !matches!(def.kind, SubqueryKind::Exists) {
            return None;
        }
        conditions.append(&mut inner);
        Some(from)
    }
}

/// A derived table that is not to be merged.
fn is_set_apart(ctes: &[LogicalCte], input: &Logical) -> bool {
    matches!((ctes, input), ([cte], Logical::CteScan { cte_id, .. }) if *cte_id == cte.cte_id)
}

/// Nothing but tables, joins, conditions and computed columns.
fn is_plain(n: &Logical) -> bool {
    match n {
        Logical::Get { .. } | Logical::CteScan { .. } | Logical::OneRow => true,
        Logical::Filter { input, .. } | Logical::Project { input, .. } => is_plain(input),
        // Sides of joins may be derived tables: they are printed as such.
        Logical::Join { .. } => true,
        _ => false,
    }
}
