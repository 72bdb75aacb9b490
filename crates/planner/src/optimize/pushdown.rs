//! Predicate pushdown: every conjunct goes as far down as it may; outer joins whose padding a conjunct rejects become
//! inner joins on the way.
//!
//! Where a conjunct stops: at LIMIT, at a volatile expression, at columns that the node computes and that cannot be
//! written in terms of its input (aggregates, window functions, marks), at the padded side of an outer join, and at the
//! nodes that feed several readers.

use super::column_set::ColumnSet;
use super::predicates::{implied_by_or, normalize};
use super::properties::{column_equality, equality_is_identity, null_rejected};
use super::tree::{as_column, expr_columns, filter, is_column, is_volatile, output_set, outputs, substitute};
use expr::{ColumnId, Expr, ExprKind};
use plan::logical::{Logical, LogicalJoinKind};
use std::collections::HashMap;
use types::Result;

/// Pushes the tree's filters down.
///
/// `transitive`: where an inner join makes two columns equal, what restricts one restricts the other.
pub fn push_predicates(node: Logical, transitive: bool) -> Result<Logical> {
    Ok(Pusher { transitive }.push(node, vec![]))
}

struct Pusher {
    transitive: bool,
}

/// Conjuncts up to which consequences of equalities are drawn.
const TRANSITIVE_MAX: usize = 200;

/// Adds what follows from `a = b` and a predicate on one of the two alone.
fn add_consequences(all: &mut Vec<Expr>) {
    let pairs: Vec<(ColumnId, ColumnId)> = all
        .iter()
        .filter_map(|p| {
            let pair = column_equality(p)?;
            let ExprKind::Compare { left, .. } = &p.kind else { return None };
            equality_is_identity(&left.ty).then_some(pair)
        })
        .collect();
    if pairs.is_empty() || all.len() > TRANSITIVE_MAX {
        return;
    }
    let mut i = 0;
    while i < all.len() && all.len() <= TRANSITIVE_MAX {
        let columns = expr_columns(&all[i]);
        let mut it = columns.iter();
        if let (Some(c), None) = (it.next(), it.next())
            && !is_volatile(&all[i])
            && small(&all[i])
        {
            for (a, b) in &pairs {
                for (from, to) in [(*a, *b), (*b, *a)] {
                    if from != c {
                        continue;
                    }
                    let mut p = all[i].clone();
                    super::tree::rename_expr(&mut p, &HashMap::from([(from, to)]));
                    // What the other column can be NULL for is its own affair.
                    p.rewrite(&mut |e| e.nullable |= !matches!(e.kind, ExprKind::Const(_)));
                    if !all.iter().any(|q| same_shape(q, &p)) {
                        all.push(p);
                    }
                }
            }
        }
        i += 1;
    }
}

/// Cheap to copy: no list of thousands.
fn small(p: &Expr) -> bool {
    let mut n = 0;
    p.walk(&mut |_| n += 1);
    n <= 1000
}

/// Equal but for what is believed about NULL.
fn same_shape(a: &Expr, b: &Expr) -> bool {
    let plain = |e: &Expr| {
        let mut e = e.clone();
        e.rewrite(&mut |e| e.nullable = true);
        e
    };
    plain(a) == plain(b)
}

fn empty(node: &Logical) -> Logical {
    Logical::Empty { columns: outputs(node) }
}

fn only(p: &Expr, columns: &ColumnSet) -> bool {
    expr_columns(p).is_subset(columns)
}

impl Pusher {
    /// The tree with `ps` applied on top, pushed down.
    fn push(&self, node: Logical, ps: Vec<Expr>) -> Logical {
        match node {
            Logical::Filter { input, mut predicates } => {
                predicates.extend(ps);
                match normalize(predicates) {
                    None => empty(&input),
                    Some(all) => self.push(*input, all),
                }
            }
            Logical::Project { input, exprs } => {
                let stay = |p: &Expr| {
                    let cols = expr_columns(p);
                    is_volatile(p) || exprs.iter().any(|(id, e)| cols.contains(*id) && is_volatile(e))
                };
                let (above, below): (Vec<_>, Vec<_>) = ps.into_iter().partition(stay);
                let map: HashMap<ColumnId, Expr> =
                    exprs.iter().filter(|(id, e)| !is_column(e, *id)).map(|(id, e)| (*id, e.clone())).collect();
                let below = below
                    .into_iter()
                    .map(|mut p| {
                        substitute(&mut p, &map);
                        p
                    })
                    .collect();
                filter(Logical::Project { input: Box::new(self.push(*input, below)), exprs }, above)
            }
            Logical::Join { kind, left, right, on, dependent, straight } => {
                self.push_join(kind, *left, *right, on, dependent, straight, ps)
            }
            Logical::Aggregate { input, groups, aggregates, rollup } => {
                let keys: ColumnSet = groups.iter().map(|g| g.0).collect();
                let (below, above): (Vec<_>, Vec<_>) = ps
                    .into_iter()
                    .partition(|p| !rollup && !groups.is_empty() && !is_volatile(p) && only_keys(p, &keys));
                let map: HashMap<ColumnId, Expr> = groups.iter().map(|g| (g.0, g.1.clone())).collect();
                let below = below
                    .into_iter()
                    .map(|mut p| {
                        substitute(&mut p, &map);
                        p
                    })
                    .collect();
                filter(
                    Logical::Aggregate { input: Box::new(self.push(*input, below)), groups, aggregates, rollup },
                    above,
                )
            }
            Logical::Distinct { input } => {
                let (above, below): (Vec<_>, Vec<_>) = ps.into_iter().partition(is_volatile);
                filter(Logical::Distinct { input: Box::new(self.push(*input, below)) }, above)
            }
            Logical::Sort { input, keys } => {
                let (above, below): (Vec<_>, Vec<_>) = ps.into_iter().partition(is_volatile);
                filter(Logical::Sort { input: Box::new(self.push(*input, below)), keys }, above)
            }
            Logical::Limit { input, limit, offset } => {
                filter(Logical::Limit { input: Box::new(self.push(*input, vec![])), limit, offset }, ps)
            }
            Logical::Window { input, partition_by, order_by, calls } => {
                let keys: ColumnSet = partition_by.iter().filter_map(as_column).collect();
                let (below, above): (Vec<_>, Vec<_>) =
                    ps.into_iter().partition(|p| !is_volatile(p) && !keys.is_empty() && only_keys(p, &keys));
                filter(
                    Logical::Window { input: Box::new(self.push(*input, below)), partition_by, order_by, calls },
                    above,
                )
            }
            Logical::SetOp { kind, columns, inputs, distinct } => {
                let (above, below): (Vec<_>, Vec<_>) = ps.into_iter().partition(is_volatile);
                let inputs = inputs
                    .into_iter()
                    .map(|(n, ids)| {
                        let map: HashMap<ColumnId, Expr> = columns
                            .iter()
                            .zip(&ids)
                            .map(|(c, i)| (*c, *i))
                            .filter_map(|(c, i)| Some((c, column_like(&below, c, i)?)))
                            .collect();
                        let mine = below
                            .iter()
                            .map(|p| {
                                let mut p = p.clone();
                                substitute(&mut p, &map);
                                p
                            })
                            .collect();
                        (self.push(n, mine), ids)
                    })
                    .collect();
                filter(Logical::SetOp { kind, columns, inputs, distinct }, above)
            }
            Logical::With { ctes, input } => {
                let ctes = ctes
                    .into_iter()
                    .map(|mut c| {
                        c.plan = self.push(c.plan, vec![]);
                        c
                    })
                    .collect();
                Logical::With { ctes, input: Box::new(self.push(*input, ps)) }
            }
            Logical::RecursiveUnion { cte_id, columns, anchor, recursive, distinct } => {
                let anchor = (Box::new(self.push(*anchor.0, vec![])), anchor.1);
                let recursive = (Box::new(self.push(*recursive.0, vec![])), recursive.1);
                filter(Logical::RecursiveUnion { cte_id, columns, anchor, recursive, distinct }, ps)
            }
            n @ Logical::Empty { .. } => n,
            n @ (Logical::OneRow | Logical::Values { .. } | Logical::Get { .. } | Logical::CteScan { .. }) => {
                filter(n, ps)
            }
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn push_join(
        &self,
        mut kind: LogicalJoinKind,
        left: Logical,
        right: Logical,
        on: Vec<Expr>,
        dependent: bool,
        straight: bool,
        ps: Vec<Expr>,
    ) -> Logical {
        let (lo, ro) = (output_set(&left), output_set(&right));
        // The padding of an outer join that a conjunct rejects need not be made.
        if kind == LogicalJoinKind::Left && ps.iter().any(|p| null_rejected(p).intersects(&ro)) {
            kind = LogicalJoinKind::Inner;
        }
        let build = |kind, left: Logical, right: Logical, on| Logical::Join {
            kind,
            left: Box::new(left),
            right: Box::new(right),
            on,
            dependent,
            straight,
        };
        let three_valued =
            matches!(kind, LogicalJoinKind::NullAwareAnti | LogicalJoinKind::Mark { null_aware: true, .. });
        let on = match normalize(on.clone()) {
            Some(on) => on,
            // Never TRUE: whether it is FALSE or UNKNOWN matters.
            None if three_valued => on,
            None => match kind {
                LogicalJoinKind::Inner | LogicalJoinKind::Semi => {
                    return empty(&build(kind, left, right, vec![]));
                }
                // Nothing ever matches.
                LogicalJoinKind::Anti => return self.push(left, ps),
                _ => vec![super::predicates::never()],
            },
        };
        // What the join adds to the left side's columns.
        let mut added = ro.clone();
        if let LogicalJoinKind::Mark { mark, .. } = kind {
            added.insert(mark);
        }
        let (mut l, mut r, mut here, mut above) = (vec![], vec![], vec![], vec![]);
        match kind {
            LogicalJoinKind::Inner => {
                let mut all = on;
                all.extend(ps);
                if self.transitive {
                    add_consequences(&mut all);
                }
                let all = match normalize(all) {
                    Some(all) => all,
                    None => return empty(&build(kind, left, right, vec![])),
                };
                for p in all {
                    let cols = expr_columns(&p);
                    if is_volatile(&p) {
                        above.push(p);
                    } else if cols.is_subset(&lo) {
                        l.push(p);
                    } else if !cols.intersects(&lo) {
                        // Outer references count as the right side's own.
                        r.push(p);
                    } else {
                        for (side, list) in [(&lo, &mut l), (&ro, &mut r)] {
                            if let Some(d) = implied_by_or(&p, side)
                                && !list.contains(&d)
                            {
                                list.push(d);
                            }
                        }
                        here.push(p);
                    }
                }
            }
            LogicalJoinKind::Left | LogicalJoinKind::Single => {
                for p in ps {
                    if !is_volatile(&p) && !expr_columns(&p).intersects(&added) { l.push(p) } else { above.push(p) }
                }
                for p in on {
                    if !is_volatile(&p) && !expr_columns(&p).intersects(&lo) { r.push(p) } else { here.push(p) }
                }
            }
            LogicalJoinKind::Semi => {
                for p in ps {
                    if is_volatile(&p) { above.push(p) } else { l.push(p) }
                }
                for p in on {
                    if is_volatile(&p) {
                        here.push(p);
                    } else if only(&p, &lo) {
                        l.push(p);
                    } else if !expr_columns(&p).intersects(&lo) {
                        r.push(p);
                    } else {
                        if let Some(d) = implied_by_or(&p, &ro) {
                            r.push(d);
                        }
                        here.push(p);
                    }
                }
            }
            LogicalJoinKind::Anti | LogicalJoinKind::Mark { null_aware: false, .. } => {
                for p in ps {
                    if !is_volatile(&p) && !expr_columns(&p).intersects(&added) { l.push(p) } else { above.push(p) }
                }
                for p in on {
                    // A condition that is UNKNOWN is no match, as one that is FALSE.
                    if !is_volatile(&p) && !expr_columns(&p).intersects(&lo) { r.push(p) } else { here.push(p) }
                }
            }
            LogicalJoinKind::NullAwareAnti | LogicalJoinKind::Mark { .. } => {
                for p in ps {
                    if !is_volatile(&p) && !expr_columns(&p).intersects(&added) { l.push(p) } else { above.push(p) }
                }
                here = on;
            }
            LogicalJoinKind::Full => {
                above = ps;
                here = on;
            }
        }
        let left = self.push(left, l);
        let right = self.push(right, r);
        // An empty side decides most joins.
        let is_empty = |n: &Logical| matches!(n, Logical::Empty { .. });
        let joined = match kind {
            LogicalJoinKind::Inner | LogicalJoinKind::Semi if is_empty(&left) || is_empty(&right) => {
                return empty(&build(kind, left, right, vec![]));
            }
            LogicalJoinKind::Left | LogicalJoinKind::Single | LogicalJoinKind::Mark { .. } if is_empty(&left) => {
                return empty(&build(kind, left, right, vec![]));
            }
            LogicalJoinKind::Anti | LogicalJoinKind::NullAwareAnti if is_empty(&left) || is_empty(&right) => left,
            _ => build(kind, left, right, here),
        };
        filter(joined, above)
    }
}

/// A non-constant predicate over nothing but `keys`, outer references aside.
fn only_keys(p: &Expr, keys: &ColumnSet) -> bool {
    let cols = expr_columns(p);
    !cols.is_empty() && cols.is_subset(keys)
}

/// Column `to` with the type that the predicates read `from` with.
fn column_like(ps: &[Expr], from: ColumnId, to: ColumnId) -> Option<Expr> {
    let mut found = None;
    for p in ps {
        p.walk(&mut |e| {
            if is_column(e, from) {
                found = Some(Expr { kind: ExprKind::Column(to), ty: e.ty, nullable: e.nullable });
            }
        });
    }
    found
}
