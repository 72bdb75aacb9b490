//! Join order: blocks of joins are taken apart into relations, predicates and operators, and put together anew.
//!
//! ```text
//!   relations   everything that is not a join: filtered tables, aggregates, ...
//!   classes     columns made equal by conjuncts a = b, b = c; a join of two sides needs one equality of each class
//!               that has members on both
//!   predicates  other conjuncts, applied as soon as all their relations are joined
//!   operators   left, semi, anti, mark and single joins: their right side is one relation, which enters only through
//!               the operator, once the relations that its condition reads are there
//!   precedence  STRAIGHT_JOIN and hints: relations that must come before others
//! ```
//!
//! Each of these operators acts on a left row by itself, so it commutes with every inner join of its left side and with
//! every other operator that does not read what it brings; its right side is a block of its own. That makes the
//! constraints directed hyperedges (what the condition reads on the left, the right relation), and no further conflict
//! rules (CD-C of Moerkotte, Fender & Eich, *On the Correct and Complete Enumeration of the Core Search Space*, SIGMOD
//! 2013) are needed but one: `a left join (b left join c)` may be `(a left join b) left join c`, if c's condition is
//! not met by a missing b. It is turned so where a has fewer rows than b.
//!
//! The search, by the number of ways there are:
//!
//! ```text
//!   few          exhaustive (enumerate)
//!   many         greedy; then the best tree over its order of relations; then small subtrees exhaustively (linear)
//! ```

mod enumerate;
mod graph;
mod linear;
mod planner;
mod precedence;

use super::cardinality::Estimator;
use super::column_set::ColumnSet;
use super::context::Context;
use super::properties::null_rejected;
use super::tree::{exprs_columns, map_children, output_set, take, visit};
use expr::Expr;
use plan::logical::{Logical, LogicalJoinKind};
use planner::Planner;
use precedence::Precedence;
use types::Result;

/// A set of a block's relations.
type Set = u128;

/// Relations of a block. In larger blocks the topmost joins stay where they are.
pub const RELATIONS_MAX: usize = Set::BITS as usize;

/// Chooses the order of every block of joins in the tree.
pub fn order_joins(node: Logical, cx: &Context, est: &mut Estimator) -> Result<Logical> {
    match node {
        Logical::Join { dependent: false, .. } => order_block(node, cx, est),
        Logical::With { mut ctes, input } => {
            for c in &mut ctes {
                c.plan = order_joins(take(&mut c.plan), cx, est)?;
                let e = est.tree(&c.plan);
                est.define_cte(c.cte_id, &e, &c.output);
            }
            Ok(Logical::With { ctes, input: Box::new(order_joins(*input, cx, est)?) })
        }
        Logical::RecursiveUnion { cte_id, columns, anchor, recursive, distinct } => {
            let anchor = (Box::new(order_joins(*anchor.0, cx, est)?), anchor.1);
            let e = est.tree(&anchor.0);
            est.define_cte(cte_id, &e, &anchor.1);
            let recursive = (Box::new(order_joins(*recursive.0, cx, est)?), recursive.1);
            Ok(Logical::RecursiveUnion { cte_id, columns, anchor, recursive, distinct })
        }
        mut node => {
            map_children(&mut node, &mut |c| order_joins(c, cx, est))?;
            Ok(node)
        }
    }
}

fn leaves(node: &Logical) -> usize {
    match node {
        Logical::Join { kind: LogicalJoinKind::Inner, left, right, dependent: false, .. } => {
            leaves(left) + leaves(right)
        }
        Logical::Join { left, dependent: false, kind, .. } if *kind != LogicalJoinKind::Full => leaves(left) + 1,
        _ => 1,
    }
}

struct Operator {
    kind: LogicalJoinKind,
    on: Vec<Expr>,
    /// Its right side.
    relation: usize,
    /// Relations of the left side that the condition reads (at least one).
    needs: Set,
}

#[derive(Default)]
struct Block {
    relations: Vec<Logical>,
    predicates: Vec<Expr>,
    operators: Vec<Operator>,
    precedence: Precedence,
}

fn order_block(mut node: Logical, cx: &Context, est: &mut Estimator) -> Result<Logical> {
    cx.pace.check()?;
    if leaves(&node) > RELATIONS_MAX || matches!(&node, Logical::Join { kind: LogicalJoinKind::Full, .. }) {
        map_children(&mut node, &mut |c| order_joins(c, cx, est))?;
        return Ok(node);
    }
    let mut block = Block::default();
    flatten(node, &mut block, cx, est)?;
    heed_hints(&mut block, cx);
    Planner::new(block, cx, est).order()
}

/// Takes a block apart; returns its relations.
fn flatten(node: Logical, block: &mut Block, cx: &Context, est: &mut Estimator) -> Result<Set> {
    match rotated(node, est) {
        Logical::Join { kind: LogicalJoinKind::Inner, left, right, on, dependent: false, straight } => {
            let l = flatten(*left, block, cx, est)?;
            let r = flatten(*right, block, cx, est)?;
            block.predicates.extend(on);
            if straight {
                block.precedence.add(l, r);
            }
            Ok(l | r)
        }
        Logical::Join { kind, left, right, on, dependent: false, straight } if kind != LogicalJoinKind::Full => {
            let l = flatten(*left, block, cx, est)?;
            let right = order_joins(*right, cx, est)?;
            let relation = block.relations.len();
            block.relations.push(right);
            let columns = exprs_columns(&on);
            let mut needs = 0;
            for i in 0..relation {
                if l & (1 << i) != 0 && produces(block, i).intersects(&columns) {
                    needs |= 1 << i;
                }
            }
            if needs == 0 {
                needs = l & l.wrapping_neg();
            }
            if straight {
                block.precedence.add(l, 1 << relation);
            }
            block.operators.push(Operator { kind, on, relation, needs });
            Ok(l | 1 << relation)
        }
        other => {
            let other = order_joins(other, cx, est)?;
            block.relations.push(other);
            Ok(1 << (block.relations.len() - 1))
        }
    }
}

/// `a left join (b left join c)` as `(a left join b) left join c`, where that is the same and a has fewer rows than b.
fn rotated(node: Logical, est: &mut Estimator) -> Logical {
    let parts =
        |n: &Logical| matches!(n, Logical::Join { kind: LogicalJoinKind::Left, dependent: false, straight: false, .. });
    let turns = match &node {
        Logical::Join { left, right, on, .. } if parts(&node) && parts(right) => match &**right {
            Logical::Join { left: b, right: c, on: on_c, .. } => {
                let from_b = output_set(b);
                !exprs_columns(on).intersects(&output_set(c))
                    && on_c.iter().any(|p| null_rejected(p).intersects(&from_b))
                    && est.tree(left).rows <= est.tree(b).rows
            }
            _ => false,
        },
        _ => false,
    };
    match node {
        Logical::Join { kind, left, right, on, dependent, straight } if turns => match *right {
            Logical::Join { left: b, right: c, on: on_c, .. } => {
                let ab = Logical::Join { kind, left, right: b, on, dependent, straight };
                rotated(Logical::Join { kind, left: Box::new(ab), right: c, on: on_c, dependent, straight }, est)
            }
            right => Logical::Join { kind, left, right: Box::new(right), on, dependent, straight },
        },
        node => node,
    }
}

/// Columns that come with a relation: its outputs, or the mark of its operator.
fn produces(block: &Block, i: usize) -> ColumnSet {
    if let Some(Operator { kind: LogicalJoinKind::Mark { mark, .. }, .. }) =
        block.operators.iter().find(|o| o.relation == i)
    {
        return [*mark].into_iter().collect();
    }
    output_set(&block.relations[i])
}

/// Adds what JOIN_ORDER and its like say. A hint that contradicts what is said already is left out, as MySQL does.
fn heed_hints(block: &mut Block, cx: &Context) {
    if cx.join_order.is_empty() {
        return;
    }
    let mut numbers: Vec<Vec<u32>> = vec![];
    for r in &block.relations {
        let mut found = vec![];
        visit(r, &mut |n| {
            if let Logical::Get { tuning, .. } = n
                && tuning.relation != 0
            {
                found.push(tuning.relation);
            }
        });
        numbers.push(found);
    }
    let needs: Vec<(Set, Set)> = block.operators.iter().map(|o| (o.needs, 1 << o.relation)).collect();
    for hint in &cx.join_order {
        let set = |table: &Vec<u32>| {
            let has = |i: &usize| numbers[*i].iter().any(|n| table.contains(n));
            (0..numbers.len()).filter(has).fold(0, |s: Set, i| s | 1 << i)
        };
        let named: Vec<Set> = hint.tables.iter().map(set).filter(|s| *s != 0).collect();
        block.precedence.heed(hint.kind, &named, numbers.len(), &needs);
    }
}
