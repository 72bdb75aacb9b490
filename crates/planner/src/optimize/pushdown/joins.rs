//! What of a join's conditions, and of those above it, goes to which side.
//!
//! ```text
//!                 conjunct above the join              conjunct of its condition
//!   inner         either side, or the join             the same
//!   left, single  left; else above                     right; else the join
//!   semi          left (there is nothing else)         either side, or the join
//!   anti, mark    left; else above                     right, as no match is no match; else the join
//!   null-aware    left; else above                     the join: FALSE and UNKNOWN differ
//!   full          above                                the join
//! ```
//! A conjunct that reads neither side's columns counts as the right side's own: it may be of an enclosing query.

use super::consequences::add_consequences;
use super::{Pusher, empty};
use crate::optimize::column_set::ColumnSet;
use crate::optimize::predicates::{implied_by_or, never, normalize};
use crate::optimize::properties::null_rejected;
use crate::optimize::tree::{expr_columns, filter, is_volatile, output_set};
use expr::Expr;
use plan::logical::{Logical, LogicalJoinKind};

/// A join taken apart.
pub(super) struct Joined {
    pub kind: LogicalJoinKind,
    pub left: Logical,
    pub right: Logical,
    pub on: Vec<Expr>,
    pub dependent: bool,
    pub straight: bool,
}

impl Joined {
    fn build(self) -> Logical {
        let Joined { kind, left, right, on, dependent, straight } = self;
        Logical::Join { kind, left: Box::new(left), right: Box::new(right), on, dependent, straight }
    }

    /// Nothing comes of it.
    fn empty(self) -> Logical {
        empty(&Joined { on: vec![], ..self }.build())
    }
}

/// Where conjuncts go.
#[derive(Default)]
struct Parts {
    left: Vec<Expr>,
    right: Vec<Expr>,
    /// The join's condition.
    here: Vec<Expr>,
    above: Vec<Expr>,
}

impl Parts {
    /// Conjuncts above a join that keeps or drops rows of the left side, and has columns `added` to them.
    fn put_above(&mut self, ps: Vec<Expr>, added: &ColumnSet) {
        let goes = |p: &Expr| !is_volatile(p) && !expr_columns(p).intersects(added);
        for p in ps {
            if goes(&p) { self.left.push(p) } else { self.above.push(p) }
        }
    }

    /// Conjuncts of a condition that decides which rows of the right side match, not which of the left remain.
    fn put_matching(&mut self, on: Vec<Expr>, lo: &ColumnSet) {
        let goes = |p: &Expr| !is_volatile(p) && !expr_columns(p).intersects(lo);
        for p in on {
            if goes(&p) { self.right.push(p) } else { self.here.push(p) }
        }
    }

    /// All conjuncts of an inner join, in it or above it.
    fn put_inner(&mut self, all: Vec<Expr>, lo: &ColumnSet, ro: &ColumnSet) {
        for p in all {
            let cols = expr_columns(&p);
            if is_volatile(&p) {
                self.above.push(p);
            } else if cols.is_subset(lo) {
                self.left.push(p);
            } else if !cols.intersects(lo) {
                self.right.push(p);
            } else {
                for (side, list) in [(lo, &mut self.left), (ro, &mut self.right)] {
                    if let Some(d) = implied_by_or(&p, side)
                        && !list.contains(&d)
                    {
                        list.push(d);
                    }
                }
                self.here.push(p);
            }
        }
    }

    fn put_semi(&mut self, on: Vec<Expr>, lo: &ColumnSet, ro: &ColumnSet) {
        for p in on {
            let cols = expr_columns(&p);
            if is_volatile(&p) {
                self.here.push(p);
            } else if cols.is_subset(lo) {
                self.left.push(p);
            } else if !cols.intersects(lo) {
                self.right.push(p);
            } else {
                self.right.extend(implied_by_or(&p, ro));
                self.here.push(p);
            }
        }
    }
}

impl Pusher<'_> {
    /// A semijoin's condition, and what the equalities in it say of the right side of what is known of the left one.
    fn with_consequences(&self, mut on: Vec<Expr>, left: &Logical, above: &[Expr]) -> Vec<Expr> {
        if !self.pushing.subquery || !self.pushing.transitive || on.is_empty() {
            return on;
        }
        let mut all = on.clone();
        all.extend_from_slice(above);
        if let Logical::Filter { predicates, .. } = left {
            all.extend_from_slice(predicates);
        }
        let known = all.len();
        add_consequences(&mut all);
        let lo = output_set(left);
        on.extend(all.drain(known..).filter(|p| !expr_columns(p).intersects(&lo)));
        on
    }

    /// The join with `ps` applied on top, all of it pushed down.
    pub(super) fn push_join(&self, mut join: Joined, ps: Vec<Expr>) -> Logical {
        let (lo, ro) = (output_set(&join.left), output_set(&join.right));
        // The padding of an outer join that a conjunct rejects need not be made.
        if join.kind == LogicalJoinKind::Left && ps.iter().any(|p| null_rejected(p).intersects(&ro)) {
            join.kind = LogicalJoinKind::Inner;
        }
        let kind = join.kind;
        let three_valued =
            matches!(kind, LogicalJoinKind::NullAwareAnti | LogicalJoinKind::Mark { null_aware: true, .. });
        match normalize(join.on.clone(), self.pace) {
            Some(on) => join.on = on,
            // Never TRUE: whether it is FALSE or UNKNOWN matters.
            None if three_valued => {}
            None => match kind {
                LogicalJoinKind::Inner | LogicalJoinKind::Semi => return join.empty(),
                // Nothing ever matches.
                LogicalJoinKind::Anti => return self.push(join.left, ps),
                _ => join.on = vec![never()],
            },
        };
        let Some(parts) = self.divided(&mut join, ps, &lo, &ro) else { return join.empty() };
        let left = self.push(join.left, parts.left);
        let right = self.push(join.right, parts.right);
        // An empty side decides most joins.
        let is_empty = |n: &Logical| matches!(n, Logical::Empty { .. });
        let (no_left, no_right) = (is_empty(&left), is_empty(&right));
        let join = Joined { left, right, on: parts.here, ..join };
        let joined = match kind {
            LogicalJoinKind::Inner | LogicalJoinKind::Semi if no_left || no_right => return join.empty(),
            LogicalJoinKind::Left | LogicalJoinKind::Single | LogicalJoinKind::Mark { .. } if no_left => {
                return join.empty();
            }
            LogicalJoinKind::Anti | LogicalJoinKind::NullAwareAnti if no_left || no_right => join.left,
            _ => join.build(),
        };
        filter(joined, parts.above)
    }

    /// Takes the join's condition and `ps` apart; `None` where nothing passes them all.
    fn divided(&self, join: &mut Joined, ps: Vec<Expr>, lo: &ColumnSet, ro: &ColumnSet) -> Option<Parts> {
        let mut parts = Parts::default();
        let on = std::mem::take(&mut join.on);
        // What the join adds to the left side's columns.
        let mut added = ro.clone();
        if let LogicalJoinKind::Mark { mark, .. } = join.kind {
            added.insert(mark);
        }
        match join.kind {
            LogicalJoinKind::Inner => {
                let mut all = on;
                all.extend(ps);
                if self.pushing.transitive {
                    add_consequences(&mut all);
                }
                parts.put_inner(normalize(all, self.pace)?, lo, ro);
            }
            LogicalJoinKind::Left | LogicalJoinKind::Single => {
                parts.put_above(ps, &added);
                parts.put_matching(on, lo);
            }
            LogicalJoinKind::Semi => {
                let on = self.with_consequences(on, &join.left, &ps);
                parts.put_above(ps, &ColumnSet::default());
                parts.put_semi(on, lo, ro);
            }
            LogicalJoinKind::Anti => {
                let on = self.with_consequences(on, &join.left, &[]);
                parts.put_above(ps, &added);
                parts.put_matching(on, lo);
            }
            LogicalJoinKind::Mark { null_aware: false, .. } => {
                parts.put_above(ps, &added);
                parts.put_matching(on, lo);
            }
            LogicalJoinKind::NullAwareAnti | LogicalJoinKind::Mark { .. } => {
                parts.put_above(ps, &added);
                parts.here = on;
            }
            LogicalJoinKind::Full => {
                parts.above = ps;
                parts.here = on;
            }
        }
        Some(parts)
    }
}
