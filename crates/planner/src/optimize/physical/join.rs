//! Joins: hash where an equality allows it, nested loops otherwise, and which side is kept in memory.
//!
//! The smaller side builds. Left, semi and anti joins whose *left* side is much smaller turn around (`Right`,
//! `RightSemi`, `RightAnti`): the left side builds, the right side probes and marks.

use super::index_join::table_of;
use super::{Built, Physical, UNNAMED};
use crate::optimize::cardinality::join_equality;
use crate::optimize::column_set::ColumnSet;
use crate::optimize::properties::can_be_null;
use crate::optimize::strategy::{self, Manner};
use crate::optimize::tree::{and, as_column, exprs_columns, output_set};
use expr::{ColumnId, Expr};
use plan::logical::{Logical, LogicalJoinKind};
use plan::{JoinKey, JoinKind, PlanOp, Strategy};
use types::{Error, IntSize, Result, SqlType};

struct Key {
    left: Expr,
    right: Expr,
    null_safe: bool,
    /// Belongs to an IN comparison that may be UNKNOWN.
    unknown: bool,
}

impl Physical<'_, '_> {
    /// Hash joins have two switches: their own, and, since MySQL 8.0.20, the one of block nested loops. A hint for
    /// either table decides before these.
    pub(super) fn may_hash(&self, left: &Logical, right: &Logical) -> bool {
        let switch = &self.cx.settings.switch;
        let of = |node: &Logical| match table_of(node) {
            Some((Logical::Get { tuning, .. }, _)) => (tuning.hash_join(), tuning.bnl()),
            _ => (None, None),
        };
        let ((a, b), (c, d)) = (of(left), of(right));
        both(a, c, switch.hash_join) && both(b, d, switch.block_nested_loop)
    }

    /// May pairs of rows be tested block by block?
    fn may_block(&self, left: &Logical, right: &Logical) -> bool {
        let of = |node: &Logical| match table_of(node) {
            Some((Logical::Get { tuning, .. }, _)) => tuning.bnl(),
            _ => None,
        };
        both(of(left), of(right), self.cx.settings.switch.block_nested_loop)
    }

    /// The equalities of a join of an input laid out as `probe` with one laid out as `build`, as a hash join has them.
    pub(super) fn hash_keys(
        &self,
        on: &[Expr],
        (probe, probe_facts): (&[ColumnId], &ColumnSet),
        (build, build_facts): (&[ColumnId], &ColumnSet),
    ) -> Result<Vec<JoinKey>> {
        let named = |layout: &[ColumnId]| layout.iter().filter(|c| **c != UNNAMED).collect::<ColumnSet>();
        let (lo, ro) = (named(probe), named(build));
        let mut keys = vec![];
        for p in on {
            let Some((a, b, null_safe)) = join_equality(p, &lo, &ro) else { continue };
            if !hashable(&a, &b) {
                continue;
            }
            let (a, b) = same_form(a, b);
            let probe = self.resolve(&a, probe, probe_facts)?;
            keys.push(JoinKey { probe, build: self.resolve(&b, build, build_facts)?, null_safe });
        }
        Ok(keys)
    }

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
        let blocks = self.may_block(left, right);
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

        let hints = self.cx.hints_of(left, right);
        let manner = strategy::manner(kind, &hints, self.cx);
        let may_hash = self.may_hash(left, right);
        // The hash key of a materialized subquery is no hash join.
        if !may_hash && !strategy::keeps_values(manner, &hints, residual.is_empty(), self.cx) {
            keys.clear();
            residual = on.clone();
            in_keys = 0;
        }
        // Which side builds.
        let (l_bytes, r_bytes) = (l.rows() * (l.width() + 16.0), r.rows() * (r.width() + 16.0));
        let turn = match kind {
            // The left side is read first: it is what builds, as in MySQL, or the outer loop.
            LogicalJoinKind::Inner if *straight => !keys.is_empty(),
            LogicalJoinKind::Inner => l_bytes < r_bytes,
            LogicalJoinKind::Left | LogicalJoinKind::Semi | LogicalJoinKind::Anti => {
                let smaller = !*straight && !keys.is_empty() && l_bytes * 1.5 < r_bytes;
                match manner {
                    Manner::Plain => smaller,
                    Manner::Semijoin(s) => (smaller && s.weedout && may_hash) || !s.may_look_up(residual.is_empty()),
                    Manner::Apart(_) => false,
                }
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
        // What the build side holds narrows the scan below the probe side.
        let narrows = self.cx.settings.sideways_filters
            && matches!(physical, JoinKind::Inner | JoinKind::Semi | JoinKind::RightSemi)
            && super::sideways::narrowed(&build.node);
        let kept = match physical {
            _ if !narrows => 1.0,
            JoinKind::RightSemi => (build.rows() / probe.rows().max(1.0)).min(1.0),
            _ => (estimate.rows / probe.rows().max(1.0)).min(1.0),
        };
        let own = if keys.is_empty() {
            costs.nested_loop(probe.rows(), build.rows(), estimate.rows)
        } else {
            costs.hash_join(probe.rows(), build.rows(), build.width(), estimate.rows, kept)
        };
        let usual = l.cost() + r.cost() + own;
        // A strategy that is the only one left is taken whatever it costs.
        let (by_index, index_budget, index_strategy) = match (manner, kind) {
            (Manner::Plain, LogicalJoinKind::Inner | LogicalJoinKind::Left) => (true, usual, None),
            (Manner::Semijoin(s), _) => {
                let budget = if s.only_first_match() { f64::INFINITY } else { usual };
                (s.first_match, budget, Some(Strategy::FirstMatch))
            }
            (Manner::Apart(a), LogicalJoinKind::Semi | LogicalJoinKind::Anti) => {
                let budget = if a.materialize { usual } else { f64::INFINITY };
                (a.in_to_exists, budget, Some(Strategy::InToExists))
            }
            _ => (false, usual, None),
        };
        let stops = matches!(kind, LogicalJoinKind::Semi | LogicalJoinKind::Anti);
        let by_right = by_index.then(|| self.index_join_path(&l, &lo, right, on, index_budget, stops)).flatten();
        let by_left = (kind == LogicalJoinKind::Inner && !*straight)
            .then(|| self.index_join_path(&r, &ro, left, on, usual, false))
            .flatten();
        let left_first = match (&by_right, &by_left) {
            (Some(a), Some(b)) => (a.forced, -a.cost) >= (b.forced, -b.cost),
            (a, _) => a.is_some(),
        };
        let mut r = r;
        if let Manner::Semijoin(allowed) = manner
            && kind == LogicalJoinKind::Semi
            && residual.is_empty()
            && !left_first
        {
            // The few values of an IN look their rows up, once each.
            let partners: Option<Vec<ColumnId>> =
                keys.iter().map(|k| as_column(&k.right).filter(|_| !k.null_safe)).collect();
            if let Some(columns) = partners.filter(|c| !c.is_empty()) {
                let sides = super::semijoin::Sides { node, left, right, on, ro: &ro, needed };
                let read = (left_read, right_read);
                match self.scan_of_values(&sides, r, columns, allowed, usual, &estimate, read)? {
                    Ok(made) => return Ok(made),
                    Err(again) => r = again,
                }
            }
        }
        if let Some(path) = if left_first { by_right } else { by_left } {
            let (outer, inner, read) = if left_first { (l, right, right_read) } else { (r, left, left_read) };
            self.rows_read -= read;
            let made = self.index_join(node, kind, outer, inner, on, needed, estimate, path, false)?;
            let mut made = made.ok_or_else(|| Error::internal("a path to nothing"))?;
            made.node.notes.strategy = index_strategy;
            return Ok(made);
        }
        if let Some((budget, strategy)) = self.dependent_budget(manner, kind, right, usual, !keys.is_empty())
            && let Some(dependent) = self.dependent_path(&l, kind, right, on, needed, budget)?
        {
            self.rows_read -= right_read;
            return self.applied(l, kind, dependent, estimate, Some(strategy));
        }
        let (probe, build) = if turn { (&r, &l) } else { (&l, &r) };

        let both: Vec<ColumnId> = probe.layout.iter().chain(&build.layout).copied().collect();
        let no_residual = residual.is_empty();
        let condition = if no_residual { None } else { Some(self.resolve(&and(residual), &both, &facts)?) };
        let (l_cost, r_cost) = (l.cost(), r.cost());
        let op;
        let cost;
        if keys.is_empty() {
            cost = l_cost + r_cost + own;
            let (probe, build) = if turn { (r.node, l.node) } else { (l.node, r.node) };
            op = PlanOp::NestedLoopJoin {
                kind: physical,
                probe: Box::new(probe),
                build: Box::new(build),
                condition,
                project,
                blocks,
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
            cost = l_cost + r_cost + own;
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
        let mut made = self.node(op, layout, out_facts, estimate, cost);
        made.node.notes.strategy = match manner {
            Manner::Plain => None,
            Manner::Semijoin(_) if turn => Some(Strategy::DuplicateWeedout),
            Manner::Semijoin(s) if s.materialize && no_residual => Some(Strategy::MaterializeLookup),
            Manner::Semijoin(_) => Some(Strategy::FirstMatch),
            Manner::Apart(_) => Some(Strategy::Materialization),
        };
        Ok(made)
    }
}

/// What hints for two tables say, or the switch.
fn both(a: Option<bool>, b: Option<bool>, switched: bool) -> bool {
    match (a, b) {
        (Some(false), _) | (_, Some(false)) => false,
        (Some(true), _) | (_, Some(true)) => true,
        _ => switched,
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
