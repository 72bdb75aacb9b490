//! Joins: hash where an equality allows it, nested loops otherwise, and which side is kept in memory.
//!
//! The smaller side builds. Left, semi and anti joins whose *left* side is much smaller turn around (`Right`,
//! `RightSemi`, `RightAnti`): the left side builds, the right side probes and marks.

use super::{Built, Physical};
use crate::optimize::cardinality::join_equality;
use crate::optimize::column_set::ColumnSet;
use crate::optimize::properties::{can_be_null, covered};
use crate::optimize::tree::{and, as_column, exprs_columns, free_columns, output_set, outputs};
use expr::{ColumnId, Expr, ExprKind};
use plan::logical::{Logical, LogicalJoinKind};
use plan::{JoinKey, JoinKind, PlanOp};
use std::collections::HashMap;
use types::{Error, IntSize, Result, SqlType};

struct Key {
    left: Expr,
    right: Expr,
    null_safe: bool,
    /// Belongs to an IN comparison that may be UNKNOWN.
    unknown: bool,
}

impl Physical<'_, '_> {
    pub(super) fn join(&mut self, node: &Logical, needed: &ColumnSet) -> Result<Built> {
        let Logical::Join { kind, left, right, on, straight, .. } = node else {
            return Err(Error::internal("a join that is none"));
        };
        let (lo, ro) = (output_set(left), output_set(right));
        let read = exprs_columns(on);
        let wanted = needed.union(&read);
        let before = self.rows_read;
        let l = self.convert(left, &wanted.intersection(&lo))?;
        let left_read = self.rows_read - before;
        let r = self.convert(right, &wanted.intersection(&ro))?;
        let right_read = self.rows_read - before - left_read;
        let estimate = self.est.node(node, &[l.estimate.clone(), r.estimate.clone()]);
        let null_aware =
            matches!(kind, LogicalJoinKind::NullAwareAnti | LogicalJoinKind::Mark { null_aware: true, .. });
        let facts = l.not_null.union(&r.not_null);

        let mut keys: Vec<Key> = vec![];
        let mut residual: Vec<Expr> = vec![];
        for p in on {
            match join_equality(p, &lo, &ro) {
                Some((a, b, null_safe)) if hashable(&a, &b) => {
                    let unknown = !null_safe && can_be_null(p, &facts);
                    keys.push(Key { left: a, right: b, null_safe, unknown });
                }
                _ => residual.push(p.clone()),
            }
        }
        let mut kind = *kind;
        let mut in_keys = 0;
        if null_aware {
            if residual.iter().any(|p| can_be_null(p, &facts)) {
                // The whole condition is one three-valued predicate; only the nested loop evaluates it as such.
                keys.clear();
                residual = on.clone();
            }
            keys.sort_by_key(|k| !k.unknown);
            in_keys = keys.iter().filter(|k| k.unknown).count();
            if in_keys == 0 && residual.iter().all(|p| !can_be_null(p, &facts)) {
                kind = match kind {
                    LogicalJoinKind::Mark { mark, .. } => LogicalJoinKind::Mark { mark, null_aware: false },
                    _ => LogicalJoinKind::Anti,
                };
            }
        }

        // Which side builds.
        let (l_bytes, r_bytes) = (l.rows() * (l.width() + 16.0), r.rows() * (r.width() + 16.0));
        let turn = match kind {
            LogicalJoinKind::Inner => !*straight && l_bytes < r_bytes,
            LogicalJoinKind::Left | LogicalJoinKind::Semi | LogicalJoinKind::Anti => {
                !*straight && !keys.is_empty() && l_bytes * 1.5 < r_bytes
            }
            _ => false,
        };
        let physical = match (kind, turn) {
            (LogicalJoinKind::Inner, _) => JoinKind::Inner,
            (LogicalJoinKind::Left, false) => JoinKind::Left,
            (LogicalJoinKind::Left, true) => JoinKind::Right,
            (LogicalJoinKind::Semi, false) => JoinKind::Semi,
            (LogicalJoinKind::Semi, true) => JoinKind::RightSemi,
            (LogicalJoinKind::Anti, false) => JoinKind::Anti,
            (LogicalJoinKind::Anti, true) => JoinKind::RightAnti,
            (LogicalJoinKind::Mark { null_aware, .. }, _) => JoinKind::Mark { null_aware },
            (LogicalJoinKind::NullAwareAnti, _) => JoinKind::NullAwareAnti,
            (LogicalJoinKind::Single, _) => JoinKind::Single,
            (LogicalJoinKind::Full, _) => return Err(Error::not_supported("FULL JOIN")),
        };
        let (probe, build) = if turn { (&r, &l) } else { (&l, &r) };
        let natural: Vec<ColumnId> = match physical {
            JoinKind::Inner | JoinKind::Left | JoinKind::Right | JoinKind::Single => {
                probe.layout.iter().chain(&build.layout).copied().collect()
            }
            JoinKind::Semi | JoinKind::Anti | JoinKind::NullAwareAnti => probe.layout.clone(),
            JoinKind::RightSemi | JoinKind::RightAnti => build.layout.clone(),
            JoinKind::Mark { .. } => {
                let mut n = probe.layout.clone();
                if let LogicalJoinKind::Mark { mark, .. } = kind {
                    n.push(mark);
                }
                n
            }
        };
        let project: Vec<usize> = (0..natural.len()).filter(|i| needed.contains(natural[*i])).collect();
        let layout: Vec<ColumnId> = project.iter().map(|i| natural[*i]).collect();
        let mut out_facts = crate::optimize::properties::not_null(node);
        // What the sides know beyond the logical tree, where their rows come through unpadded.
        out_facts.union_with(&l.not_null.intersection(&lo));
        if kind == LogicalJoinKind::Inner {
            out_facts.union_with(&r.not_null);
        }
        let out_facts = out_facts.intersection(&layout.iter().collect());

        let costs = &self.cx.settings.cost;
        let usual = if keys.is_empty() {
            l.cost() + r.cost() + costs.nested_loop(probe.rows(), build.rows(), estimate.rows)
        } else {
            l.cost() + r.cost() + costs.hash_join(probe.rows(), build.rows(), build.width(), estimate.rows)
        };
        if matches!(
            kind,
            LogicalJoinKind::Inner | LogicalJoinKind::Left | LogicalJoinKind::Semi | LogicalJoinKind::Anti
        ) {
            let by_right = self.index_join_path(&l, &lo, right, on, usual);
            let by_left = (kind == LogicalJoinKind::Inner && !*straight)
                .then(|| self.index_join_path(&r, &ro, left, on, usual))
                .flatten();
            let left_first = match (&by_right, &by_left) {
                (Some(a), Some(b)) => (a.forced, -a.cost) >= (b.forced, -b.cost),
                (a, _) => a.is_some(),
            };
            // The few values of an IN look their rows up, once each.
            let partners: Option<Vec<ColumnId>> = (kind == LogicalJoinKind::Semi && residual.is_empty() && !left_first)
                .then(|| keys.iter().map(|k| as_column(&k.right).filter(|_| !k.null_safe)).collect())
                .flatten();
            if let Some(columns) = partners {
                let grouping = r.rows() * self.cx.settings.cost.group;
                if let Some(path) = self.index_join_path(&r, &ro, left, on, usual - grouping) {
                    self.rows_read -= left_read;
                    let mut columns = columns;
                    columns.sort_unstable();
                    columns.dedup();
                    let is_key = covered(&crate::optimize::properties::keys(right), &columns.iter().collect());
                    let mut outer = self.rearranged(r, &columns)?;
                    if !is_key {
                        outer = self.distinct(outer)?;
                    }
                    let made =
                        self.index_join(node, LogicalJoinKind::Inner, outer, left, on, needed, estimate, path)?;
                    return made.ok_or_else(|| Error::internal("a path to nothing"));
                }
            }
            if let Some(path) = if left_first { by_right } else { by_left } {
                let (outer, inner, read) = if left_first { (l, right, right_read) } else { (r, left, left_read) };
                self.rows_read -= read;
                let made = self.index_join(node, kind, outer, inner, on, needed, estimate, path)?;
                return made.ok_or_else(|| Error::internal("a path to nothing"));
            }
        }

        let both: Vec<ColumnId> = probe.layout.iter().chain(&build.layout).copied().collect();
        let condition = if residual.is_empty() { None } else { Some(self.resolve(&and(residual), &both, &facts)?) };
        let (l_cost, r_cost) = (l.cost(), r.cost());
        let op;
        let cost;
        if keys.is_empty() {
            cost = l_cost + r_cost + self.cx.settings.cost.nested_loop(probe.rows(), build.rows(), estimate.rows);
            let (probe, build) = if turn { (r.node, l.node) } else { (l.node, r.node) };
            op = PlanOp::NestedLoopJoin {
                kind: physical,
                probe: Box::new(probe),
                build: Box::new(build),
                condition,
                project,
            };
        } else {
            let mut made = vec![];
            for k in keys {
                let (a, b) = same_form(k.left, k.right);
                let (p, q) = if turn { (b, a) } else { (a, b) };
                made.push(JoinKey {
                    probe: self.resolve(&p, &probe.layout, &probe.not_null)?,
                    build: self.resolve(&q, &build.layout, &build.not_null)?,
                    null_safe: k.null_safe,
                });
            }
            let width = build.width();
            cost = l_cost + r_cost + self.cx.settings.cost.hash_join(probe.rows(), build.rows(), width, estimate.rows);
            let (probe, build) = if turn { (r.node, l.node) } else { (l.node, r.node) };
            op = PlanOp::HashJoin {
                kind: physical,
                probe: Box::new(probe),
                build: Box::new(build),
                keys: made,
                residual: condition,
                sideways: vec![],
                in_keys,
                project,
            };
        }
        Ok(self.node(op, layout, out_facts, estimate, cost))
    }

    /// A dependent join that stayed one: the right side runs once for each distinct set of outer values.
    pub(super) fn apply(&mut self, node: &Logical, needed: &ColumnSet) -> Result<Built> {
        let Logical::Join { kind, left, right, on, .. } = node else {
            return Err(Error::internal("a join that is none"));
        };
        let physical = match kind {
            LogicalJoinKind::Inner => JoinKind::Inner,
            LogicalJoinKind::Left => JoinKind::Left,
            LogicalJoinKind::Semi => JoinKind::Semi,
            LogicalJoinKind::Anti => JoinKind::Anti,
            LogicalJoinKind::Single => JoinKind::Single,
            LogicalJoinKind::Mark { null_aware: false, .. } => JoinKind::Mark { null_aware: false },
            _ => return Err(Error::not_supported("this correlated subquery under NOT IN")),
        };
        let lo = output_set(left);
        let mut right = (**right).clone();
        if !on.is_empty() {
            right = Logical::Filter { input: Box::new(right), predicates: on.clone() };
        }
        let outer = free_columns(&right).intersection(&lo);
        let l = self.convert(left, &needed.intersection(&lo).union(&outer))?;
        let mut params = vec![];
        let mut map: HashMap<ColumnId, Expr> = HashMap::new();
        for c in outer.iter() {
            let p = self.cx.new_param();
            let e = self.cx.columns.expr(c);
            map.insert(c, Expr::new(ExprKind::Param(p), e.ty, true));
            params.push((p, self.resolve(&e, &l.layout, &l.not_null)?));
        }
        crate::optimize::tree::visit_mut(&mut right, &mut |n| {
            for e in n.exprs_mut() {
                crate::optimize::tree::substitute(e, &map);
            }
        });
        let columns: Vec<ColumnId> = outputs(&right).into_iter().filter(|c| needed.contains(*c)).collect();
        let r = self.exact(&right, &columns)?;
        let mut layout = l.layout.clone();
        match kind {
            LogicalJoinKind::Inner | LogicalJoinKind::Left | LogicalJoinKind::Single => layout.extend(&columns),
            LogicalJoinKind::Mark { mark, .. } => layout.push(*mark),
            _ => {}
        }
        let facts = l.not_null.clone();
        let estimate = self.est.node(node, &[l.estimate.clone(), r.estimate.clone()]);
        let cost = l.cost() + l.rows() * r.cost().max(1.0);
        let op = PlanOp::Apply { input: Box::new(l.node), subplan: Box::new(r.node), params, kind: physical };
        Ok(self.node(op, layout, facts, estimate, cost))
    }
}

/// May rows be hashed on this equality? Both sides need one form of equality.
fn hashable(a: &Expr, b: &Expr) -> bool {
    match (a.ty, b.ty) {
        (SqlType::String { collation: x, .. }, SqlType::String { collation: y, .. }) => x == y,
        (x, y) if x.is_integer() && y.is_integer() => true,
        (SqlType::Decimal { scale: x, .. }, SqlType::Decimal { scale: y, .. }) => x == y,
        (SqlType::Time { .. }, SqlType::Time { .. })
        | (SqlType::DateTime { .. }, SqlType::DateTime { .. })
        | (SqlType::Timestamp { .. }, SqlType::Timestamp { .. }) => true,
        (x, y) => x == y,
    }
}

/// Integers of different width or sign are hashed as BIGINT, or as DECIMAL where only that holds both.
fn same_form(a: Expr, b: Expr) -> (Expr, Expr) {
    if a.ty == b.ty || !a.ty.is_integer() || !b.ty.is_integer() || a.ty.phys() == b.ty.phys() {
        return (a, b);
    }
    let big = |t: &SqlType| matches!(t, SqlType::Int { size: IntSize::I64, unsigned: true });
    let common = match (big(&a.ty), big(&b.ty)) {
        (false, false) => SqlType::BIGINT,
        (true, true) => SqlType::BIGINT_UNSIGNED,
        _ => SqlType::Decimal { precision: 20, scale: 0 },
    };
    (expr::build::implicit_cast(a, common), expr::build::implicit_cast(b, common))
}
