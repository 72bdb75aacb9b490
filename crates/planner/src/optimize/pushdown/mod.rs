//! Predicate pushdown: every conjunct goes as far down as it may; outer joins whose padding a conjunct rejects become
//! inner joins on the way.
//!
//! - here: from node to node;
//! - [`joins`]: what of a join's conditions goes to which side;
//! - [`consequences`]: what equalities say of other columns;
//! - [`definitions`]: into common table expressions.
//!
//! Where a conjunct stops: at LIMIT, at a volatile expression, at columns that the node computes and that cannot be
//! written in terms of its input (aggregates, window functions, marks), at the padded side of an outer join, and at the
//! nodes that feed several readers.

mod consequences;
mod definitions;
mod joins;

use super::OptimizerSettings;
use super::column_set::ColumnSet;
use super::predicates::normalize;
use super::tree::{as_column, expr_columns, filter, is_column, is_volatile, outputs, substitute};
use definitions::into_cte;
use expr::{ColumnId, Expr, ExprKind};
use joins::Joined;
use plan::logical::{Columns, Logical};
use std::collections::HashMap;
use types::{Pace, Result};

/// Where filters may go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pushing {
    /// Where an inner join makes two columns equal, what restricts one restricts the other.
    pub transitive: bool,
    /// Into derived tables that make groups, distinct rows, windows or unions, and into common table expressions.
    pub derived: bool,
    /// What HAVING says of group columns alone.
    pub having: bool,
    /// Into what IN is looked up in: what restricts x in `x IN (S)` restricts S.
    pub subquery: bool,
}

impl Pushing {
    pub const ALL: Pushing = Pushing { transitive: true, derived: true, having: true, subquery: true };

    pub fn new(settings: &OptimizerSettings) -> Pushing {
        let switch = &settings.switch;
        Pushing {
            transitive: settings.transitive_predicates,
            derived: switch.derived_condition_pushdown && switch.condition_pushdown_for_derived,
            having: switch.condition_pushdown_from_having,
            subquery: switch.condition_pushdown_for_subquery,
        }
    }
}

/// What hints say of derived tables, by query block; it outranks [`Pushing::derived`].
#[derive(Clone, Copy)]
pub struct Hinted<'a> {
    pub columns: &'a Columns,
    pub blocks: &'a [(u32, bool)],
}

impl Hinted<'_> {
    /// What is said of the innermost derived table around the node that is spoken of.
    fn of(&self, node: &Logical) -> Option<bool> {
        if self.blocks.is_empty() { None } else { self.of_columns(&outputs(node)) }
    }

    fn of_columns(&self, columns: &[ColumnId]) -> Option<bool> {
        if self.blocks.is_empty() {
            return None;
        }
        let mut block = columns.iter().map(|c| self.columns.block_of(*c)).find(|b| *b != 0)?;
        while block != 0 {
            if let Some(found) = self.blocks.iter().find(|b| b.0 == block) {
                return Some(found.1);
            }
            block = self.columns.blocks.get(block).map_or(0, |b| b.parent);
        }
        None
    }
}

/// Pushes the tree's filters down.
pub fn push_predicates(
    node: Logical,
    pushing: Pushing,
    hinted: Option<Hinted<'_>>,
    pace: &Pace<'_>,
) -> Result<Logical> {
    let pushed = Pusher { pushing, hinted, pace }.push(node, vec![]);
    pace.check()?;
    Ok(pushed)
}

struct Pusher<'a> {
    pushing: Pushing,
    hinted: Option<Hinted<'a>>,
    pace: &'a Pace<'a>,
}

/// Is the node the result of a query block that makes other rows than its FROM has?
fn makes_rows(node: &Logical) -> bool {
    match node {
        Logical::Filter { input, .. } | Logical::Project { input, .. } => makes_rows(input),
        Logical::Aggregate { .. } | Logical::Distinct { .. } | Logical::SetOp { .. } | Logical::Window { .. } => true,
        _ => false,
    }
}

fn empty(node: &Logical) -> Logical {
    Logical::Empty { columns: outputs(node) }
}

fn substituted(mut ps: Vec<Expr>, map: &HashMap<ColumnId, Expr>) -> Vec<Expr> {
    ps.iter_mut().for_each(|p| substitute(p, map));
    ps
}

impl Pusher<'_> {
    /// May conditions go into the derived table that the node is part of?
    fn goes_into_derived(&self, node: &Logical) -> bool {
        self.hinted.and_then(|h| h.of(node)).unwrap_or(self.pushing.derived)
    }

    /// The tree with `ps` applied on top, pushed down.
    fn push(&self, node: Logical, ps: Vec<Expr>) -> Logical {
        match node {
            Logical::Filter { input, mut predicates } => {
                predicates.extend(ps);
                match normalize(predicates, self.pace) {
                    None => empty(&input),
                    Some(all) => self.push(*input, all),
                }
            }
            Logical::Project { input, exprs } => {
                let closed = makes_rows(&input) && !self.goes_into_derived(&input);
                let stay = |p: &Expr| {
                    let cols = expr_columns(p);
                    closed || is_volatile(p) || exprs.iter().any(|(id, e)| cols.contains(*id) && is_volatile(e))
                };
                let (above, below): (Vec<_>, Vec<_>) = ps.into_iter().partition(stay);
                let map: HashMap<ColumnId, Expr> =
                    exprs.iter().filter(|(id, e)| !is_column(e, *id)).map(|(id, e)| (*id, e.clone())).collect();
                let below = substituted(below, &map);
                filter(Logical::Project { input: Box::new(self.push(*input, below)), exprs }, above)
            }
            Logical::Join { kind, left, right, on, dependent, straight } => {
                self.push_join(Joined { kind, left: *left, right: *right, on, dependent, straight }, ps)
            }
            Logical::Aggregate { input, groups, aggregates, rollup } => {
                let keys: ColumnSet = groups.iter().map(|g| g.0).collect();
                let (below, above): (Vec<_>, Vec<_>) = ps.into_iter().partition(|p| {
                    self.pushing.having && !rollup && !groups.is_empty() && !is_volatile(p) && only_keys(p, &keys)
                });
                let map: HashMap<ColumnId, Expr> = groups.iter().map(|g| (g.0, g.1.clone())).collect();
                let below = substituted(below, &map);
                filter(
                    Logical::Aggregate { input: Box::new(self.push(*input, below)), groups, aggregates, rollup },
                    above,
                )
            }
            Logical::Distinct { input } => {
                let open = ps.is_empty() || self.goes_into_derived(&input);
                let (above, below): (Vec<_>, Vec<_>) = ps.into_iter().partition(|p| !open || is_volatile(p));
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
                let open = !ps.is_empty() && !keys.is_empty() && self.goes_into_derived(&input);
                let (below, above): (Vec<_>, Vec<_>) =
                    ps.into_iter().partition(|p| open && !is_volatile(p) && only_keys(p, &keys));
                filter(
                    Logical::Window { input: Box::new(self.push(*input, below)), partition_by, order_by, calls },
                    above,
                )
            }
            Logical::SetOp { kind, columns, inputs, distinct } => {
                let hint = self.hinted.and_then(|h| h.of_columns(&columns));
                let open = hint.unwrap_or(self.pushing.derived);
                let (above, below): (Vec<_>, Vec<_>) = ps.into_iter().partition(|p| !open || is_volatile(p));
                let inputs = inputs
                    .into_iter()
                    .map(|(n, ids)| {
                        let map: HashMap<ColumnId, Expr> = columns
                            .iter()
                            .zip(&ids)
                            .map(|(c, i)| (*c, *i))
                            .filter_map(|(c, i)| Some((c, column_like(&below, c, i)?)))
                            .collect();
                        (self.push(n, substituted(below.clone(), &map)), ids)
                    })
                    .collect();
                filter(Logical::SetOp { kind, columns, inputs, distinct }, above)
            }
            Logical::With { mut ctes, input } => {
                let mut input = self.push(*input, ps);
                for i in (0..ctes.len()).rev() {
                    let hint = self.hinted.and_then(|h| h.of_columns(&ctes[i].output));
                    let open = hint.unwrap_or(self.pushing.derived);
                    let restrictions = if open { into_cte(&mut input, &mut ctes, i) } else { vec![] };
                    let plan = super::tree::take(&mut ctes[i].plan);
                    ctes[i].plan = self.push(plan, restrictions);
                }
                Logical::With { ctes, input: Box::new(input) }
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
