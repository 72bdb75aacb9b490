//! Predicate pushdown: every conjunct goes as far down as it may; outer joins whose padding a conjunct rejects become
//! inner joins on the way.
//!
//! Where a conjunct stops: at LIMIT, at a volatile expression, at columns that the node computes and that cannot be
//! written in terms of its input (aggregates, window functions, marks), at the padded side of an outer join, and at the
//! nodes that feed several readers.

use super::OptimizerSettings;
use super::column_set::ColumnSet;
use super::predicates::{implied_by_or, normalize};
use super::properties::{column_equality, equality_is_identity, null_rejected};
use super::tree::{as_column, expr_columns, filter, is_column, is_volatile, output_set, outputs, substitute};
use expr::{ColumnId, Expr, ExprKind};
use plan::logical::{Columns, Logical, LogicalCte, LogicalJoinKind};
use std::collections::HashMap;
use types::Result;

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
pub fn push_predicates(node: Logical, pushing: Pushing, hinted: Option<Hinted<'_>>) -> Result<Logical> {
    Ok(Pusher { pushing, hinted }.push(node, vec![]))
}

struct Pusher<'a> {
    pushing: Pushing,
    hinted: Option<Hinted<'a>>,
}

/// Is the node the result of a query block that makes other rows than its FROM has?
fn makes_rows(node: &Logical) -> bool {
    match node {
        Logical::Filter { input, .. } | Logical::Project { input, .. } => makes_rows(input),
        Logical::Aggregate { .. } | Logical::Distinct { .. } | Logical::SetOp { .. } | Logical::Window { .. } => true,
        _ => false,
    }
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
                match normalize(predicates) {
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
                let (below, above): (Vec<_>, Vec<_>) = ps.into_iter().partition(|p| {
                    self.pushing.having && !rollup && !groups.is_empty() && !is_volatile(p) && only_keys(p, &keys)
                });
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
                if self.pushing.transitive {
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
                let on = self.with_consequences(on, &left, &ps);
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
                let on = if kind == LogicalJoinKind::Anti { self.with_consequences(on, &left, &[]) } else { on };
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

/// Takes the conditions upon the only scan of a definition, in terms of what it outputs.
fn into_cte(input: &mut Logical, ctes: &mut [LogicalCte], at: usize) -> Vec<Expr> {
    let id = ctes[at].cte_id;
    let mut scans = count_scans(input, id);
    for later in &ctes[at + 1..] {
        scans += count_scans(&later.plan, id);
    }
    if scans != 1 {
        return vec![];
    }
    let output = ctes[at].output.clone();
    let found = take_filter(input, id, &output);
    let found = found.or_else(|| ctes[at + 1..].iter_mut().find_map(|c| take_filter(&mut c.plan, id, &output)));
    found.unwrap_or_default()
}

fn count_scans(node: &Logical, id: u32) -> usize {
    let mut n = 0;
    super::tree::visit(node, &mut |k| n += matches!(k, Logical::CteScan { cte_id, .. } if *cte_id == id) as usize);
    n
}

fn take_filter(node: &mut Logical, id: u32, output: &[ColumnId]) -> Option<Vec<Expr>> {
    match node {
        // What is read in each round is not what is defined.
        Logical::RecursiveUnion { anchor, .. } => return take_filter(&mut anchor.0, id, output),
        Logical::Filter { input, predicates } => {
            if let Logical::CteScan { cte_id, columns, .. } = &**input
                && *cte_id == id
            {
                let map: HashMap<ColumnId, ColumnId> = columns.iter().map(|(c, i)| (*c, output[*i])).collect();
                let own: ColumnSet = columns.iter().map(|c| c.0).collect();
                let (mut down, stay): (Vec<Expr>, Vec<Expr>) =
                    std::mem::take(predicates).into_iter().partition(|p| !is_volatile(p) && only_keys(p, &own));
                down.iter_mut().for_each(|p| super::tree::rename_expr(p, &map));
                // What an outer join pads above the definition need not be NULL-able in it, and the other way round.
                down.iter_mut().for_each(|p| p.rewrite(&mut |e| e.nullable |= !matches!(e.kind, ExprKind::Const(_))));
                *predicates = stay;
                if predicates.is_empty() {
                    *node = super::tree::take(input);
                }
                return Some(down);
            }
        }
        _ => {}
    }
    node.inputs_mut().into_iter().find_map(|c| take_filter(c, id, output))
}
