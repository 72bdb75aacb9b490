//! General unnesting: no join's right side reads its left side any more.
//!
//! After Neumann & Kemper, *Unnesting Arbitrary Queries* (BTW 2015), top-down over nested dependent joins as in Neumann,
//! *Improving Unnesting of Complex Queries* (BTW 2025).
//!
//! A dependent join `L ⨝ R` computes R anew for each row of L. R depends on L only through the columns F that it reads;
//! so R need only be computed for the *domain* D, the distinct values of F in L:
//!
//! ```text
//!   L ⨝dep R(F)   =   L ⨝ (D ⨝dep R(F))  on L.F <=> D.F        and  D ⨝dep  sinks through every operator of R
//! ```
//!
//! until it meets a subtree that reads nothing of F, where it is a plain product. Three shortcuts keep D away:
//! 1. *Pull up*: a correlated conjunct with nothing but filters, projections and inner joins above it becomes part of
//!    the join condition.
//! 2. *Substitution*: below a filter `F = x`, x itself serves as F (the rows it adds belong to no row of L).
//! 3. *Static aggregates*: a subquery that always yields one row joins L by a left join; COUNT's NULL becomes 0.
//!
//! What cannot be unnested (correlation inside a recursive CTE, ROLLUP) stays a dependent join, which the executor runs
//! once per distinct value (`PlanOp::Apply`).

use super::column_set::ColumnSet;
use super::context::Context;
use super::properties::{can_be_null, equality_is_identity, not_null};
use super::tree::{
    as_column, collect_columns, compare, conjuncts, expr_columns, filter, free_columns, is_column, is_not_null,
    is_volatile, join, map_children, output_set, outputs, rename_expr, rename_tree, substitute, truth, visit_mut,
};
use expr::build::collate;
use expr::{
    AggCall, AggFunc, CmpOp, ColumnId, Expr, ExprKind, FrameBound, FrameUnits, Truth, WindowCall, WindowFrame,
    WindowFunc,
};
use plan::logical::{Logical, LogicalCte, LogicalJoinKind, SetOpKind};
use std::collections::HashMap;
use types::{Collation, Error, ErrorCode, Result, SqlType, Value};

type Renames = HashMap<ColumnId, ColumnId>;

/// Unnests every dependent join of a tree without free columns.
pub fn unnest(mut node: Logical, cx: &mut Context) -> Result<Logical> {
    if let Logical::Join { kind, left, right, on, dependent: true, straight } = node {
        return eliminate(kind, *left, *right, on, straight, cx);
    }
    map_children(&mut node, &mut |c| unnest(c, cx))?;
    Ok(node)
}

/// The distinct values of the outer columns, in as many copies as are asked for.
struct Domain {
    left: Logical,
    /// `left` is worth computing once: copies read this CTE.
    shared: Option<u32>,
    copies: usize,
    /// Outer columns for which a value equal under their comparison may stand in.
    safe: ColumnSet,
}

impl Domain {
    fn new(left: &Logical, right: &Logical, f: &ColumnSet, cx: &Context) -> Domain {
        let mut safe = ColumnSet::new();
        for c in f.iter() {
            if equality_is_identity(&cx.columns.get(c).ty) || only_compared(right, c) {
                safe.insert(c);
            }
        }
        Domain { left: left.clone(), shared: None, copies: 0, safe }
    }

    /// D over the columns `f`, under new names.
    fn scan(&mut self, f: &ColumnSet, cx: &mut Context) -> Result<(Logical, Renames)> {
        if !f.is_subset(&self.safe) {
            return Err(Error::not_supported("correlation on a string whose equal values differ"));
        }
        self.copies += 1;
        let (source, map) = if cheap(&self.left) {
            cx.fresh_copy(&self.left)
        } else {
            let cte = match self.shared {
                Some(c) => c,
                None => {
                    let c = cx.new_cte();
                    self.shared = Some(c);
                    c
                }
            };
            let mut map = Renames::new();
            let columns = outputs(&self.left)
                .into_iter()
                .enumerate()
                .map(|(i, c)| {
                    let n = cx.column_like(c);
                    map.insert(c, n);
                    (n, i)
                })
                .collect();
            (Logical::CteScan { cte_id: cte, name: "outer".into(), columns }, map)
        };
        let mut groups = vec![];
        let mut names = Renames::new();
        for c in f.iter() {
            let n = *map.get(&c).ok_or_else(|| Error::internal("an outer column from nowhere"))?;
            groups.push((n, cx.columns.expr(n)));
            names.insert(c, n);
        }
        let d = Logical::Aggregate { input: Box::new(source), groups, aggregates: vec![], rollup: false };
        Ok((d, names))
    }
}

/// One table with filters: cheaper read twice than kept.
fn cheap(node: &Logical) -> bool {
    match node {
        Logical::OneRow | Logical::Get { .. } | Logical::Values { .. } | Logical::CteScan { .. } => true,
        Logical::Filter { input, .. } | Logical::Project { input, .. } => cheap(input),
        _ => false,
    }
}

/// Is the column used in `node` only as one side of comparisons with its own type?
fn only_compared(node: &Logical, c: ColumnId) -> bool {
    fn ok(e: &Expr, c: ColumnId) -> bool {
        match &e.kind {
            ExprKind::Column(x) => *x != c,
            ExprKind::Compare { left, right, .. } => [(left, right), (right, left)]
                .into_iter()
                .all(|(a, b)| ok(a, c) || (is_column(a, c) && a.ty.collation() == b.ty.collation())),
            _ => e.children().into_iter().all(|k| ok(k, c)),
        }
    }
    node.exprs().into_iter().all(|e| ok(e, c)) && node.inputs().into_iter().all(|n| only_compared(n, c))
}

fn null_aware(kind: LogicalJoinKind) -> bool {
    matches!(kind, LogicalJoinKind::NullAwareAnti | LogicalJoinKind::Mark { null_aware: true, .. })
}

/// `a` (left) and `b` (right) hold the same value or are both NULL.
fn same(a: ColumnId, b: ColumnId, l: &ColumnSet, r: &ColumnSet, kind: LogicalJoinKind, cx: &Context) -> Expr {
    let plain = if null_aware(kind) { l.contains(a) && r.contains(b) } else { l.contains(a) || r.contains(b) };
    compare(if plain { CmpOp::Eq } else { CmpOp::NullSafeEq }, cx.columns.expr(a), cx.columns.expr(b))
}

fn eliminate(
    kind: LogicalJoinKind,
    left: Logical,
    right: Logical,
    mut on: Vec<Expr>,
    straight: bool,
    cx: &mut Context,
) -> Result<Logical> {
    let left = unnest(left, cx)?;
    let f = free_columns(&right).intersection(&output_set(&left));
    let plain = |left: Logical, right: Logical, on: Vec<Expr>| Logical::Join {
        kind,
        left: Box::new(left),
        right: Box::new(right),
        on,
        dependent: false,
        straight,
    };
    if f.is_empty() {
        return Ok(plain(left, unnest(right, cx)?, on));
    }
    // 1. Pull the correlated conjuncts up into the condition.
    if !hides_rows(kind, &right) {
        let mut pulled = vec![];
        let candidate = pull_up(right.clone(), &f, &mut pulled);
        if !free_columns(&candidate).intersects(&f) {
            let mut right = candidate;
            for p in pulled {
                let (p, guard) = if null_aware(kind) { never_unknown(p, &left, &right) } else { (p, None) };
                right = filter(right, guard.into_iter().collect());
                on.push(p);
            }
            return Ok(plain(left, unnest(right, cx)?, on));
        }
    }
    let (left, right, added) = exact_text(left, right, &f, cx)?;
    let joined = by_domain(kind, left, right, on, straight, cx)?;
    if added.is_empty() {
        return Ok(joined);
    }
    let exprs = outputs(&joined).into_iter().filter(|c| !added.contains(*c)).map(|c| (c, cx.columns.expr(c))).collect();
    Ok(Logical::Project { input: Box::new(joined), exprs })
}

/// Outer strings whose collation holds different texts equal, where the subquery looks at more than comparisons: the
/// left side hands them down as bytes in an added column, the subquery reads them back from there.
fn exact_text(
    left: Logical,
    mut right: Logical,
    f: &ColumnSet,
    cx: &mut Context,
) -> Result<(Logical, Logical, ColumnSet)> {
    let mut added = ColumnSet::new();
    let mut computed = vec![];
    let mut read = HashMap::new();
    for c in f.iter() {
        let e = cx.columns.expr(c);
        let SqlType::String { collation, .. } = e.ty else { continue };
        if equality_is_identity(&e.ty)
            || collation.charset() != Collation::Utf8mb4_0900Bin.charset()
            || only_compared(&right, c)
        {
            continue;
        }
        let exact = collate(e, Collation::Utf8mb4_0900Bin)?;
        let id = cx.computed("correlated", &exact);
        added.insert(id);
        computed.push((id, exact));
        read.insert(c, collate(cx.columns.expr(id), collation)?);
    }
    if added.is_empty() {
        return Ok((left, right, added));
    }
    visit_mut(&mut right, &mut |n| n.exprs_mut().into_iter().for_each(|e| substitute(e, &read)));
    let mut exprs: Vec<_> = outputs(&left).into_iter().map(|c| (c, cx.columns.expr(c))).collect();
    exprs.extend(computed);
    Ok((Logical::Project { input: Box::new(left), exprs }, right, added))
}

/// Shortcuts 2 and 3 and the general way.
fn by_domain(
    kind: LogicalJoinKind,
    left: Logical,
    right: Logical,
    mut on: Vec<Expr>,
    straight: bool,
    cx: &mut Context,
) -> Result<Logical> {
    let f = free_columns(&right).intersection(&output_set(&left));
    let plain = |left: Logical, right: Logical, on: Vec<Expr>| Logical::Join {
        kind,
        left: Box::new(left),
        right: Box::new(right),
        on,
        dependent: false,
        straight,
    };
    let mut domain = Domain::new(&left, &right, &f, cx);
    // 2. A subquery that yields one row whatever happens.
    if matches!(kind, LogicalJoinKind::Inner | LogicalJoinKind::Left | LogicalJoinKind::Single)
        && (on.is_empty() || kind == LogicalJoinKind::Inner)
        && static_aggregate(&right)
    {
        match one_row_subquery(&left, right.clone(), &f, &mut domain, cx) {
            Ok(joined) => {
                let joined = filter(joined, on);
                return share(joined, left, domain, cx).and_then(|n| unnest_right_of(n, cx));
            }
            Err(e) if e.code() == ErrorCode::NOT_SUPPORTED_YET => {
                domain = Domain::new(&left, &right, &f, cx);
            }
            Err(e) => return Err(e),
        }
    }
    // 3. The general way.
    match push(right.clone(), &f, &mut domain, cx) {
        Ok((right, map)) => {
            let (l, r) = (not_null(&left), not_null(&right));
            for c in f.iter() {
                on.push(same(c, map[&c], &l, &r, kind, cx));
            }
            let right = unnest(right, cx)?;
            let joined = plain(left.clone(), right, on);
            share(joined, left, domain, cx)
        }
        Err(e) if e.code() == ErrorCode::NOT_SUPPORTED_YET => {
            Ok(Logical::Join { kind, left: Box::new(left), right: Box::new(right), on, dependent: true, straight })
        }
        Err(e) => Err(e),
    }
}

/// The right sides made by [`one_row_subquery`] may hold dependent joins still; the left side is done.
fn unnest_right_of(mut node: Logical, cx: &mut Context) -> Result<Logical> {
    match &mut node {
        Logical::With { input, .. } | Logical::Filter { input, .. } | Logical::Project { input, .. } => {
            **input = unnest_right_of(super::tree::take(input), cx)?;
        }
        Logical::Join { right, .. } => **right = unnest(super::tree::take(right), cx)?,
        _ => {}
    }
    Ok(node)
}

/// If the domain read a shared copy of the left side: defines it, and lets the join read it too.
fn share(joined: Logical, left: Logical, domain: Domain, cx: &mut Context) -> Result<Logical> {
    let Some(cte_id) = domain.shared else { return Ok(joined) };
    let output = outputs(&left);
    let (copy, map) = cx.fresh_copy(&left);
    let scan = Logical::CteScan {
        cte_id,
        name: "outer".into(),
        columns: output.iter().enumerate().map(|(i, c)| (*c, i)).collect(),
    };
    let mut joined = joined;
    if !replace_left(&mut joined, scan) {
        return Err(Error::internal("the left side of an unnested join is gone"));
    }
    let output = output.iter().map(|c| map.get(c).copied().unwrap_or(*c)).collect();
    let cte = LogicalCte { cte_id, name: "outer".into(), plan: copy, output };
    Ok(Logical::With { ctes: vec![cte], input: Box::new(joined) })
}

fn replace_left(node: &mut Logical, by: Logical) -> bool {
    match node {
        Logical::Filter { input, .. } | Logical::Project { input, .. } => replace_left(input, by),
        Logical::Join { left, .. } => {
            **left = by;
            true
        }
        _ => false,
    }
}

/// Would pulling conjuncts above `right` change which rows a Single join counts or a limit keeps? Filters commute with
/// everything [`pull_up`] passes, so only the join kind matters; a full join keeps both sides.
fn hides_rows(kind: LogicalJoinKind, _right: &Logical) -> bool {
    kind == LogicalJoinKind::Full
}

/// Takes the conjuncts that read `f` out of filters and inner joins near the top. Columns they need stay visible.
fn pull_up(node: Logical, f: &ColumnSet, pulled: &mut Vec<Expr>) -> Logical {
    match node {
        Logical::Filter { input, predicates } => {
            let (with, without): (Vec<_>, Vec<_>) =
                conjuncts(predicates).into_iter().partition(|p| expr_columns(p).intersects(f) && !is_volatile(p));
            let input = pull_up(*input, f, pulled);
            pulled.extend(with);
            filter(input, without)
        }
        Logical::Project { input, mut exprs } => {
            let from = pulled.len();
            let input = pull_up(*input, f, pulled);
            let mut needed = ColumnSet::new();
            for p in &pulled[from..] {
                collect_columns(p, &mut needed);
            }
            let have: ColumnSet = exprs.iter().map(|e| e.0).collect();
            let facts = super::properties::not_null(&input);
            let available: Vec<(ColumnId, SqlType)> = {
                let mut seen = HashMap::new();
                for p in &pulled[from..] {
                    p.walk(&mut |e| {
                        if let ExprKind::Column(c) = e.kind {
                            seen.insert(c, e.ty);
                        }
                    });
                }
                outputs(&input).into_iter().filter_map(|c| seen.get(&c).map(|t| (c, *t))).collect()
            };
            for (c, ty) in available {
                if needed.contains(c) && !have.contains(c) {
                    exprs.push((c, Expr::column(c, ty, !facts.contains(c))));
                }
            }
            Logical::Project { input: Box::new(input), exprs }
        }
        Logical::Join { kind: LogicalJoinKind::Inner, left, right, on, dependent: false, straight } => {
            let left = pull_up(*left, f, pulled);
            let right = pull_up(*right, f, pulled);
            let (with, without): (Vec<_>, Vec<_>) =
                conjuncts(on).into_iter().partition(|p| expr_columns(p).intersects(f) && !is_volatile(p));
            pulled.extend(with);
            Logical::Join {
                kind: LogicalJoinKind::Inner,
                left: Box::new(left),
                right: Box::new(right),
                on: without,
                dependent: false,
                straight,
            }
        }
        Logical::Join {
            kind:
                kind @ (LogicalJoinKind::Semi
                | LogicalJoinKind::Anti
                | LogicalJoinKind::NullAwareAnti
                | LogicalJoinKind::Left
                | LogicalJoinKind::Single
                | LogicalJoinKind::Mark { .. }),
            left,
            right,
            on,
            dependent,
            straight,
        } => {
            let left = Box::new(pull_up(*left, f, pulled));
            Logical::Join { kind, left, right, on, dependent, straight }
        }
        Logical::Sort { input, keys } => Logical::Sort { input: Box::new(pull_up(*input, f, pulled)), keys },
        n => n,
    }
}

/// A form of `p` that is FALSE where `p` is UNKNOWN; hashable if `p` is an equality of left and right: then the right
/// side is to be filtered by the second result.
fn never_unknown(p: Expr, left: &Logical, right: &Logical) -> (Expr, Option<Expr>) {
    let facts = not_null(left).union(&not_null(right));
    if !can_be_null(&p, &facts) {
        return (p, None);
    }
    if let ExprKind::Compare { op: CmpOp::Eq, left: a, right: b } = &p.kind {
        let inside = output_set(right);
        for (x, y) in [(a, b), (b, a)] {
            let cols = expr_columns(y);
            if !cols.is_empty() && cols.is_subset(&inside) && !expr_columns(x).intersects(&inside) {
                let guard = is_not_null((**y).clone());
                return (compare(CmpOp::NullSafeEq, (**a).clone(), (**b).clone()), Some(guard));
            }
        }
    }
    let e = ExprKind::IsTruth { expr: Box::new(p), truth: Truth::True, negated: false };
    (Expr::new(e, SqlType::Bool, false), None)
}

fn static_aggregate(node: &Logical) -> bool {
    match node {
        Logical::Aggregate { groups, rollup: false, .. } => groups.is_empty(),
        Logical::Project { input, .. } => static_aggregate(input),
        _ => false,
    }
}

/// `L ⨝dep Π(Γ(T))` without GROUP BY: `Π'(L ⟕ Γ_F(T'))`.
fn one_row_subquery(
    left: &Logical,
    right: Logical,
    f: &ColumnSet,
    domain: &mut Domain,
    cx: &mut Context,
) -> Result<Logical> {
    match right {
        Logical::Project { input, exprs } => {
            let joined = one_row_subquery(left, *input, f, domain, cx)?;
            let mut all: Vec<(ColumnId, Expr)> = outputs(left).into_iter().map(|c| (c, cx.columns.expr(c))).collect();
            // A column of the left side that the subquery hands out under its own name is there already.
            all.extend(exprs.into_iter().filter(|(id, e)| !(is_column(e, *id) && f.contains(*id))));
            Ok(Logical::Project { input: Box::new(joined), exprs: all })
        }
        Logical::Aggregate { input, aggregates, .. } => {
            let fa = f.intersection(&free_columns(&input).union(&aggregate_columns(&aggregates)));
            if fa.is_empty() {
                let right = Logical::Aggregate { input, groups: vec![], aggregates, rollup: false };
                return Ok(join(LogicalJoinKind::Inner, left.clone(), right, vec![]));
            }
            let (agg, map, fixed) = grouped(*input, aggregates, &fa, domain, cx)?;
            let (l, r) = (not_null(left), not_null(&agg));
            let on = fa.iter().map(|c| same(c, map[&c], &l, &r, LogicalJoinKind::Left, cx)).collect();
            let joined = join(LogicalJoinKind::Left, left.clone(), agg, on);
            let mut all: Vec<(ColumnId, Expr)> = outputs(left).into_iter().map(|c| (c, cx.columns.expr(c))).collect();
            all.extend(fixed);
            Ok(Logical::Project { input: Box::new(joined), exprs: all })
        }
        _ => Err(Error::internal("not a static aggregate")),
    }
}

fn aggregate_columns(aggregates: &[(ColumnId, AggCall)]) -> ColumnSet {
    super::tree::exprs_columns(
        aggregates.iter().flat_map(|(_, a)| a.args.iter().chain(a.order_by.iter().map(|o| &o.0))),
    )
}

/// The scalar aggregation of `input`, per value of `f`: the grouped aggregate, where F is in it, and what the original
/// columns are once a missing group reads as NULL.
#[allow(clippy::type_complexity)]
fn grouped(
    input: Logical,
    aggregates: Vec<(ColumnId, AggCall)>,
    f: &ColumnSet,
    domain: &mut Domain,
    cx: &mut Context,
) -> Result<(Logical, Renames, Vec<(ColumnId, Expr)>)> {
    let (input, below) = push(input, f, domain, cx)?;
    let mut map = Renames::new();
    let mut groups = vec![];
    for c in f.iter() {
        let g = cx.column_like(c);
        groups.push((g, cx.columns.expr(below[&c])));
        map.insert(c, g);
    }
    let mut inner = vec![];
    let mut fixed = vec![];
    for (id, mut call) in aggregates {
        for e in call.args.iter_mut().chain(call.order_by.iter_mut().map(|o| &mut o.0)) {
            rename_expr(e, &below);
        }
        let n = cx.column_like(id);
        let read = Expr::column(n, call.ty, true);
        let empty = match call.func {
            AggFunc::CountStar | AggFunc::Count => Some(0u64),
            AggFunc::BitAnd => Some(u64::MAX),
            AggFunc::BitOr | AggFunc::BitXor => Some(0),
            _ => None,
        };
        let value = match empty {
            None => read,
            Some(v) => {
                let v = if call.ty.is_unsigned() { Value::UInt(v) } else { Value::Int(v as i64) };
                let missing =
                    Expr::new(ExprKind::IsNull { expr: Box::new(read.clone()), negated: false }, SqlType::Bool, false);
                Expr::new(
                    ExprKind::Case {
                        branches: vec![(missing, Expr::constant(v, call.ty))],
                        otherwise: Some(Box::new(read)),
                    },
                    call.ty,
                    false,
                )
            }
        };
        fixed.push((id, value));
        inner.push((n, call));
    }
    let agg = Logical::Aggregate { input: Box::new(input), groups, aggregates: inner, rollup: false };
    Ok((agg, map, fixed))
}

/// `D(f) ⨝dep node`: the node's rows for every value of `f`, and the columns that hold those values.
///
/// The result may hold rows for values outside the domain; they match no row of the left side.
fn push(node: Logical, f: &ColumnSet, domain: &mut Domain, cx: &mut Context) -> Result<(Logical, Renames)> {
    if f.is_empty() {
        return Ok((node, Renames::new()));
    }
    if !free_columns(&node).intersects(f) {
        let (d, map) = domain.scan(f, cx)?;
        return Ok(match node {
            Logical::OneRow => (d, map),
            n => (join(LogicalJoinKind::Inner, d, n, vec![]), map),
        });
    }
    match node {
        Logical::Filter { input, predicates } => push_filter(*input, conjuncts(predicates), f, domain, cx),
        Logical::Project { input, mut exprs } => {
            let (input, map) = push(*input, f, domain, cx)?;
            for (id, e) in &mut exprs {
                if is_column(e, *id) && f.contains(*id) {
                    return Err(Error::not_supported("an outer column under its own name"));
                }
                rename_expr(e, &map);
            }
            for k in map.values() {
                if !exprs.iter().any(|e| e.0 == *k) {
                    exprs.push((*k, cx.columns.expr(*k)));
                }
            }
            Ok((Logical::Project { input: Box::new(input), exprs }, map))
        }
        Logical::Aggregate { rollup: true, .. } => Err(Error::not_supported("a correlated subquery WITH ROLLUP")),
        Logical::Aggregate { input, groups, aggregates, .. } if groups.is_empty() => {
            let (agg, map, fixed) = grouped(*input, aggregates, f, domain, cx)?;
            let (d, names) = domain.scan(f, cx)?;
            let (l, r) = (not_null(&d), not_null(&agg));
            let on = f.iter().map(|c| same(names[&c], map[&c], &l, &r, LogicalJoinKind::Left, cx)).collect();
            let joined = join(LogicalJoinKind::Left, d, agg, on);
            let mut exprs: Vec<_> = names.values().map(|c| (*c, cx.columns.expr(*c))).collect();
            exprs.extend(fixed);
            Ok((Logical::Project { input: Box::new(joined), exprs }, names))
        }
        Logical::Aggregate { input, mut groups, mut aggregates, rollup } => {
            let (input, below) = push(*input, f, domain, cx)?;
            for e in groups.iter_mut().map(|g| &mut g.1).chain(
                aggregates
                    .iter_mut()
                    .flat_map(|(_, a)| a.args.iter_mut().chain(a.order_by.iter_mut().map(|o| &mut o.0))),
            ) {
                rename_expr(e, &below);
            }
            let mut map = Renames::new();
            for c in f.iter() {
                let g = match groups.iter().find(|g| is_column(&g.1, below[&c])) {
                    Some(g) => g.0,
                    None => {
                        let g = cx.column_like(c);
                        groups.push((g, cx.columns.expr(below[&c])));
                        g
                    }
                };
                map.insert(c, g);
            }
            Ok((Logical::Aggregate { input: Box::new(input), groups, aggregates, rollup }, map))
        }
        Logical::Join { kind, left, right, on, dependent, straight } => {
            push_join(kind, *left, *right, on, dependent, straight, f, domain, cx)
        }
        Logical::Distinct { input } => {
            let (input, map) = push(*input, f, domain, cx)?;
            Ok((Logical::Distinct { input: Box::new(input) }, map))
        }
        Logical::Sort { input, .. } => push(*input, f, domain, cx),
        Logical::Limit { input, limit, offset } => {
            let (input, mut keys) = match *input {
                Logical::Sort { input, keys } => (*input, keys),
                n => (n, vec![]),
            };
            let (input, map) = push(input, f, domain, cx)?;
            keys.iter_mut().for_each(|k| rename_expr(&mut k.0, &map));
            let number = cx.columns.computed("row_number", SqlType::BIGINT_UNSIGNED, false);
            let call = WindowCall {
                func: WindowFunc::RowNumber,
                args: vec![],
                frame: WindowFrame {
                    units: FrameUnits::Rows,
                    start: FrameBound::UnboundedPreceding,
                    end: FrameBound::CurrentRow,
                },
                ty: SqlType::BIGINT_UNSIGNED,
                nullable: false,
            };
            let window = Logical::Window {
                input: Box::new(input),
                partition_by: f.iter().map(|c| cx.columns.expr(map[&c])).collect(),
                order_by: keys,
                calls: vec![(number, call)],
            };
            let n = || Expr::column(number, SqlType::BIGINT_UNSIGNED, false);
            let c = |v: u64| Expr::constant(Value::UInt(v), SqlType::BIGINT_UNSIGNED);
            let mut predicates = vec![];
            if offset > 0 {
                predicates.push(compare(CmpOp::Gt, n(), c(offset)));
            }
            if let Some(l) = limit {
                predicates.push(compare(CmpOp::Le, n(), c(offset.saturating_add(l))));
            }
            Ok((filter(window, predicates), map))
        }
        Logical::Window { input, mut partition_by, mut order_by, mut calls } => {
            let (input, map) = push(*input, f, domain, cx)?;
            partition_by.iter_mut().chain(order_by.iter_mut().map(|o| &mut o.0)).for_each(|e| rename_expr(e, &map));
            for (_, c) in &mut calls {
                c.args.iter_mut().for_each(|e| rename_expr(e, &map));
            }
            partition_by.extend(f.iter().map(|c| cx.columns.expr(map[&c])));
            Ok((Logical::Window { input: Box::new(input), partition_by, order_by, calls }, map))
        }
        Logical::SetOp { kind, mut columns, inputs, distinct } => {
            let mut done = vec![];
            for (n, mut ids) in inputs {
                let (n, map) = push(n, f, domain, cx)?;
                ids.extend(f.iter().map(|c| map[&c]));
                done.push((n, ids));
            }
            let mut map = Renames::new();
            for c in f.iter() {
                let n = cx.column_like(c);
                columns.push(n);
                map.insert(c, n);
            }
            Ok((Logical::SetOp { kind, columns, inputs: done, distinct }, map))
        }
        Logical::Values { columns, rows } => {
            let mut done = vec![];
            let single = rows.len() == 1;
            let mut out = Renames::new();
            for row in rows {
                let (d, map) = domain.scan(f, cx)?;
                let mut exprs = vec![];
                for (c, mut e) in columns.iter().zip(row) {
                    rename_expr(&mut e, &map);
                    exprs.push((if single { *c } else { cx.column_like(*c) }, e));
                }
                exprs.extend(f.iter().map(|c| (map[&c], cx.columns.expr(map[&c]))));
                let ids = exprs.iter().map(|e| e.0).collect();
                out = map;
                done.push((Logical::Project { input: Box::new(d), exprs }, ids));
            }
            if single {
                let (n, _) = done.pop().expect("one row");
                return Ok((n, out));
            }
            let mut columns = columns;
            for c in f.iter() {
                let n = cx.column_like(c);
                columns.push(n);
                out.insert(c, n);
            }
            Ok((Logical::SetOp { kind: SetOpKind::Union, columns, inputs: done, distinct: false }, out))
        }
        Logical::With { ctes, input } => {
            if ctes.iter().any(|c| free_columns(&c.plan).intersects(f)) {
                let node = super::cte::inline_all(Logical::With { ctes, input }, cx)?;
                return push(node, f, domain, cx);
            }
            let (input, map) = push(*input, f, domain, cx)?;
            Ok((Logical::With { ctes, input: Box::new(input) }, map))
        }
        Logical::RecursiveUnion { .. } => Err(Error::not_supported("a correlated recursive CTE")),
        Logical::OneRow | Logical::Empty { .. } | Logical::Get { .. } | Logical::CteScan { .. } => {
            Err(Error::internal("a leaf with outer references"))
        }
    }
}

fn push_filter(
    input: Logical,
    predicates: Vec<Expr>,
    f: &ColumnSet,
    domain: &mut Domain,
    cx: &mut Context,
) -> Result<(Logical, Renames)> {
    let read_below = free_columns(&input).intersection(f);
    let inside = output_set(&input);
    let mut replaced: Vec<Option<Expr>> = vec![None; predicates.len()];
    let mut stands_for: Vec<(ColumnId, Expr)> = vec![];
    for c in f.iter() {
        if read_below.contains(c) || !domain.safe.contains(c) {
            continue;
        }
        for (i, p) in predicates.iter().enumerate() {
            let Some(x) = equal_to(p, c) else { continue };
            let cols = expr_columns(&x);
            if cols.is_empty() || !cols.is_subset(&inside) || is_volatile(&x) || x.ty != cx.columns.get(c).ty {
                continue;
            }
            let strict = !matches!(&p.kind, ExprKind::Compare { op: CmpOp::NullSafeEq, .. });
            replaced[i] = Some(if strict { is_not_null(x.clone()) } else { truth(true) });
            stands_for.push((c, x));
            break;
        }
    }
    let mut below = f.clone();
    stands_for.iter().for_each(|(c, _)| below.remove(*c));
    if !below.is_empty() && read_below.is_empty() && !stands_for.is_empty() {
        // The domain is needed here anyway: joined by the equalities it brings few rows, as a product of its other
        // columns it would bring many.
        stands_for.clear();
        replaced.fill(None);
        below = f.clone();
    }
    let (mut input, mut map) = push(input, &below, domain, cx)?;
    let mut computed = vec![];
    for (c, x) in stands_for {
        match as_column(&x) {
            Some(k) => {
                map.insert(c, k);
            }
            None => {
                let k = cx.computed("correlated", &x);
                computed.push((k, x));
                map.insert(c, k);
            }
        }
    }
    if !computed.is_empty() {
        let mut exprs: Vec<_> = outputs(&input).into_iter().map(|c| (c, cx.columns.expr(c))).collect();
        exprs.extend(computed);
        input = Logical::Project { input: Box::new(input), exprs };
    }
    let facts = not_null(&input);
    let mut done = vec![];
    for (p, r) in predicates.into_iter().zip(replaced) {
        let mut p = r.unwrap_or(p);
        rename_expr(&mut p, &map);
        let certain = match &p.kind {
            ExprKind::IsNull { expr, negated: true } => !can_be_null(expr, &facts),
            ExprKind::Const(Value::Int(1)) => true,
            _ => false,
        };
        if !certain {
            done.push(p);
        }
    }
    Ok((filter(input, done), map))
}

/// `c = x` or `c <=> x`, either way round: x.
fn equal_to(p: &Expr, c: ColumnId) -> Option<Expr> {
    match &p.kind {
        ExprKind::Compare { op: CmpOp::Eq | CmpOp::NullSafeEq, left, right } => {
            if is_column(left, c) {
                Some((**right).clone())
            } else if is_column(right, c) {
                Some((**left).clone())
            } else {
                None
            }
        }
        _ => None,
    }
}

#[allow(clippy::too_many_arguments)]
fn push_join(
    kind: LogicalJoinKind,
    left: Logical,
    mut right: Logical,
    mut on: Vec<Expr>,
    dependent: bool,
    straight: bool,
    f: &ColumnSet,
    domain: &mut Domain,
    cx: &mut Context,
) -> Result<(Logical, Renames)> {
    if kind == LogicalJoinKind::Full {
        return Err(Error::not_supported("correlation inside a full join"));
    }
    let build = |left: Logical, right: Logical, on: Vec<Expr>| {
        let dependent = free_columns(&right).intersects(&output_set(&left));
        Logical::Join { kind, left: Box::new(left), right: Box::new(right), on, dependent, straight }
    };
    if kind == LogicalJoinKind::Inner && !dependent {
        let (with, without): (Vec<_>, Vec<_>) = conjuncts(on).into_iter().partition(|p| expr_columns(p).intersects(f));
        if !with.is_empty() {
            return push_filter(build(left, right, without), with, f, domain, cx);
        }
        let (fl, fr) = (free_columns(&left).intersection(f), free_columns(&right).intersection(f));
        if fr.is_empty() {
            let (left, map) = push(left, f, domain, cx)?;
            return Ok((build(left, right, without), map));
        }
        if fl.is_empty() {
            let (right, map) = push(right, f, domain, cx)?;
            return Ok((build(left, right, without), map));
        }
        let (left, mut map) = push(left, &f.difference(&fr.difference(&fl)), domain, cx)?;
        let (right, rmap) = push(right, &fr, domain, cx)?;
        let (l, r) = (not_null(&left), not_null(&right));
        let mut on = without;
        for c in fr.iter() {
            if fl.contains(c) {
                on.push(same(map[&c], rmap[&c], &l, &r, kind, cx));
            } else {
                map.insert(c, rmap[&c]);
            }
        }
        return Ok((build(left, right, on), map));
    }
    // The left side carries all of F; the right side reads it from there.
    let (left, map) = push(left, f, domain, cx)?;
    on.iter_mut().for_each(|p| rename_expr(p, &map));
    if dependent {
        rename_tree(&mut right, &map);
        return Ok((build(left, right, on), map));
    }
    let fr = free_columns(&right).intersection(f);
    if !fr.is_empty() {
        let (r, rmap) = push(right, &fr, domain, cx)?;
        right = r;
        let (l, r) = (not_null(&left), not_null(&right));
        for c in fr.iter() {
            on.push(same(map[&c], rmap[&c], &l, &r, kind, cx));
        }
    }
    Ok((build(left, right, on), map))
}
