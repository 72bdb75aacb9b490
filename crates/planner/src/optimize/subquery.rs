//! Subqueries in expressions become joins.
//!
//! ```text
//!  WHERE EXISTS (S)              Semi            anywhere else EXISTS (S)     Mark
//!  WHERE NOT EXISTS (S)          Anti            x IN (S) inside OR, CASE ..  Mark (null aware)
//!  WHERE x IN (S)                Semi, x = s     x > ANY (S)                  join with MIN, MAX, COUNT of S
//!  WHERE x NOT IN (S)            NullAwareAnti   (S) scalar                   Single; Left or Inner when <= 1 row
//!  uncorrelated scalar, EXISTS   computed once, before the statement, into a parameter
//! ```
//!
//! A join made for a correlated subquery is *dependent*: its right side still reads columns of its left side; see
//! [`super::unnest`]. The condition of a null-aware join is one three-valued predicate: whatever is added to it later
//! must never be UNKNOWN unless it belongs to the IN comparison.
//!
//! Quantified comparisons other than `= ANY` and `<> ALL` use the extremes of S (n rows, m of them not NULL, least and
//! greatest value lo, hi), with MySQL's three-valued outcome:
//! `x > ANY S` = CASE WHEN n = 0 THEN FALSE WHEN x > lo THEN TRUE WHEN m < n THEN NULL ELSE x > lo END, and so on.

use super::column_set::ColumnSet;
use super::context::{Context, LogicalInit};
use super::properties::{at_most_one_row, can_be_null, exactly_one_row, not_null};
use super::tree::{
    compare, conjuncts, differs_by_call, filter, free_columns, free_ctes, inverse, is_column, map_children, not, or,
    outputs, take, truth,
};
use expr::{AggCall, AggFunc, CmpOp, Expr, ExprKind, SubqueryId};
use plan::InitKind;
use plan::logical::{Logical, LogicalJoinKind, SetOpKind, SubqueryKind};
use std::sync::Arc;
use types::{Error, Result, SqlType, Value};

/// Replaces every subquery of the tree by joins and parameters.
pub fn subqueries_to_joins(mut node: Logical, cx: &mut Context) -> Result<Logical> {
    map_children(&mut node, &mut |c| subqueries_to_joins(c, cx))?;
    if !node.exprs().into_iter().any(Expr::has_subquery) {
        return Ok(node);
    }
    match node {
        Logical::Filter { input, predicates } => filter_with_subqueries(*input, predicates, cx),
        Logical::Join { kind: LogicalJoinKind::Inner, left, right, on, dependent, straight } => {
            let (with, without): (Vec<_>, Vec<_>) = conjuncts(on).into_iter().partition(Expr::has_subquery);
            let joined = Logical::Join { kind: LogicalJoinKind::Inner, left, right, on: without, dependent, straight };
            filter_with_subqueries(joined, with, cx)
        }
        Logical::Join { kind: kind @ LogicalJoinKind::Left, left, right, on, straight, .. } => {
            // The right side is restricted to the rows that match, for each left row: the meaning of ON itself.
            let (with, without): (Vec<_>, Vec<_>) = conjuncts(on).into_iter().partition(Expr::has_subquery);
            let right = filter_with_subqueries(*right, with, cx)?;
            let dependent = super::column_set::ColumnSet::from_iter(outputs(&left)).intersects(&free_columns(&right));
            Ok(Logical::Join { kind, left, right: Box::new(right), on: without, dependent, straight })
        }
        Logical::Join { .. } => Err(Error::not_supported("a subquery in this join condition")),
        Logical::Values { columns, rows } if !rows.iter().flatten().any(Expr::has_subquery) => {
            Ok(Logical::Values { columns, rows })
        }
        Logical::Values { columns, rows } => {
            let mut rows = Arc::unwrap_or_clone(rows);
            let mut input = Logical::OneRow;
            for e in rows.iter_mut().flatten() {
                replace(e, &mut input, cx)?;
            }
            if matches!(input, Logical::OneRow) {
                return Ok(Logical::Values { columns, rows: Arc::new(rows) });
            }
            // Correlated: one projection a row, over a copy of what its subqueries need.
            let mut inputs = vec![];
            for row in rows {
                let (copy, map) = cx.fresh_copy(&input);
                let mut exprs = vec![];
                for (c, mut e) in columns.iter().zip(row) {
                    super::tree::rename_expr(&mut e, &map);
                    exprs.push((cx.column_like(*c), e));
                }
                let ids = exprs.iter().map(|e| e.0).collect();
                inputs.push((Logical::Project { input: Box::new(copy), exprs }, ids));
            }
            Ok(Logical::SetOp { kind: SetOpKind::Union, columns, inputs, distinct: false })
        }
        mut node => {
            // Project, Aggregate, Sort, Window: compute the subqueries below.
            let mut es: Vec<Expr> = node
                .exprs_mut()
                .into_iter()
                .map(|e| std::mem::replace(e, Expr::new(ExprKind::Row(vec![]), SqlType::Null, true)))
                .collect();
            let input = match &mut node {
                Logical::Project { input, .. }
                | Logical::Aggregate { input, .. }
                | Logical::Sort { input, .. }
                | Logical::Window { input, .. } => input,
                _ => return Err(Error::internal("a subquery where none can be")),
            };
            let mut below = take(input);
            for e in &mut es {
                replace(e, &mut below, cx)?;
            }
            **input = below;
            for (slot, e) in node.exprs_mut().into_iter().zip(es) {
                *slot = e;
            }
            Ok(node)
        }
    }
}

fn filter_with_subqueries(input: Logical, predicates: Vec<Expr>, cx: &mut Context) -> Result<Logical> {
    let (with, plain): (Vec<_>, Vec<_>) = conjuncts(predicates).into_iter().partition(Expr::has_subquery);
    let mut input = filter(input, plain);
    let mut rest = vec![];
    for p in with {
        if let Some(p) = conjunct(p, &mut input, cx)? {
            rest.push(p);
        }
    }
    Ok(filter(input, rest))
}

/// A WHERE conjunct: a semi or anti join where its shape allows; else what remains to be tested above.
fn conjunct(p: Expr, input: &mut Logical, cx: &mut Context) -> Result<Option<Expr>> {
    let (inner, negated) = match p.kind {
        ExprKind::Not(ref e) if matches!(e.kind, ExprKind::Subquery(_)) => (&**e, true),
        _ => (&p, false),
    };
    if let ExprKind::Subquery(id) = inner.kind {
        match cx.subquery(id)?.kind.clone() {
            SubqueryKind::Exists => {
                if let Some(e) = known_exists(id, cx)? {
                    return Ok(Some(if negated { not(e) } else { e }));
                }
                let (plan, _) = place(id, cx)?;
                let kind = if negated { LogicalJoinKind::Anti } else { LogicalJoinKind::Semi };
                attach(input, kind, strip_for_exists(plan), vec![]);
                return Ok(None);
            }
            SubqueryKind::Quantified { left, op, all } if !by_extremes(op, all, left.len()) => {
                // `x op ALL S` is NOT (x inverse-op ANY S).
                let any_op = if all { inverse(op).ok_or_else(|| bad_quantifier(op))? } else { op };
                let (plan, on) = quantified(id, left, any_op, input, cx)?;
                let kind = match negated != all {
                    false => LogicalJoinKind::Semi,
                    true if may_be_unknown(input, &plan, &on) => LogicalJoinKind::NullAwareAnti,
                    true => LogicalJoinKind::Anti,
                };
                attach(input, kind, plan, on);
                return Ok(None);
            }
            _ => {}
        }
    }
    let mut p = p;
    replace(&mut p, input, cx)?;
    Ok(Some(p))
}

fn bad_quantifier(op: CmpOp) -> Error {
    Error::not_supported(format_args!("{op:?} with a quantified subquery"))
}

/// Is the comparison decided by the subquery's extremes rather than by a join?
fn by_extremes(op: CmpOp, all: bool, columns: usize) -> bool {
    columns == 1
        && match op {
            CmpOp::Lt | CmpOp::Le | CmpOp::Gt | CmpOp::Ge => true,
            CmpOp::Eq => all,
            CmpOp::Ne => !all,
            CmpOp::NullSafeEq => false,
        }
}

fn may_be_unknown(left: &Logical, right: &Logical, on: &[Expr]) -> bool {
    let facts = not_null(left).union(&not_null(right));
    on.iter().any(|p| can_be_null(p, &facts))
}

/// Puts a join with the subquery above `input`.
fn attach(input: &mut Logical, kind: LogicalJoinKind, right: Logical, on: Vec<Expr>) {
    let left = take(input);
    let dependent = ColumnSet::from_iter(outputs(&left)).intersects(&free_columns(&right));
    *input = Logical::Join { kind, left: Box::new(left), right: Box::new(right), on, dependent, straight: false };
}

/// The subquery's tree, its own subqueries already joins, under names of its own, and its output columns.
fn place(id: SubqueryId, cx: &mut Context) -> Result<(Logical, Vec<u32>)> {
    if !cx.converted.contains_key(&id) {
        let plan = cx.subquery(id)?.plan.clone();
        let plan = own_outputs(subqueries_to_joins(plan, cx)?, id, cx)?;
        cx.converted.insert(id, plan);
    }
    let plan = cx.converted[&id].clone();
    let output = cx.subquery(id)?.output.clone();
    if !cx.placed.contains(&id) {
        cx.placed.push(id);
        return Ok((plan, output));
    }
    let (copy, map) = cx.fresh_copy(&plan);
    Ok((copy, output.iter().map(|c| map.get(c).copied().unwrap_or(*c)).collect()))
}

/// Output columns that are outer references get a name of the subquery's own.
fn own_outputs(plan: Logical, id: SubqueryId, cx: &mut Context) -> Result<Logical> {
    let free = free_columns(&plan);
    let output = cx.subquery(id)?.output.clone();
    let mut exprs: Vec<(u32, Expr)> = outputs(&plan).into_iter().map(|c| (c, cx.columns.expr(c))).collect();
    let mut changed = false;
    let mut new_output = output.clone();
    for (slot, c) in new_output.iter_mut().zip(&output) {
        if free.contains(*c) {
            changed = true;
            *slot = cx.column_like(*c);
            exprs.push((*slot, cx.columns.expr(*c)));
        }
    }
    if !changed {
        return Ok(plan);
    }
    exprs.retain(|(c, _)| !free.contains(*c));
    if let Some(d) = cx.subqueries.iter_mut().find(|d| d.id == id) {
        d.output = new_output;
    }
    Ok(Logical::Project { input: Box::new(plan), exprs })
}

/// Replaces the subqueries of `e` by columns that joins above `input` supply, or by parameters.
fn replace(e: &mut Expr, input: &mut Logical, cx: &mut Context) -> Result<()> {
    if let ExprKind::Subquery(id) = e.kind {
        *e = value_of(id, e, input, cx)?;
        return Ok(());
    }
    for c in e.children_mut() {
        replace(c, input, cx)?;
    }
    if e.children().iter().any(|c| c.nullable)
        && matches!(e.kind, ExprKind::And(_) | ExprKind::Or(_) | ExprKind::Not(_) | ExprKind::Xor(..))
    {
        e.nullable = true;
    }
    Ok(())
}

fn value_of(id: SubqueryId, e: &Expr, input: &mut Logical, cx: &mut Context) -> Result<Expr> {
    match cx.subquery(id)?.kind.clone() {
        SubqueryKind::Exists => {
            if let Some(e) = known_exists(id, cx)? {
                return Ok(e);
            }
            let (plan, _) = place(id, cx)?;
            let mark = cx.columns.computed("exists", SqlType::Bool, false);
            attach(input, LogicalJoinKind::Mark { mark, null_aware: false }, strip_for_exists(plan), vec![]);
            Ok(Expr::column(mark, SqlType::Bool, false))
        }
        SubqueryKind::Quantified { mut left, op, all } if by_extremes(op, all, left.len()) => {
            let mut x = left.pop().ok_or_else(|| Error::internal("a quantified comparison of nothing"))?;
            replace(&mut x, input, cx)?;
            let (plan, output) = place(id, cx)?;
            extremes(x, op, all, plan, output[0], input, cx)
        }
        SubqueryKind::Quantified { left, op, all } => {
            let any_op = if all { inverse(op).ok_or_else(|| bad_quantifier(op))? } else { op };
            let (plan, on) = quantified(id, left, any_op, input, cx)?;
            let null_aware = may_be_unknown(input, &plan, &on);
            let mark = cx.columns.computed("in", SqlType::Bool, null_aware);
            attach(input, LogicalJoinKind::Mark { mark, null_aware }, plan, on);
            let m = Expr::column(mark, SqlType::Bool, null_aware);
            Ok(if all { not(m) } else { m })
        }
        SubqueryKind::Scalar => {
            if let Some(p) = cx.params_of.get(&id) {
                return Ok(Expr::new(ExprKind::Param(*p), e.ty, true));
            }
            let (plan, output) = place(id, cx)?;
            let value = *output.first().ok_or_else(|| Error::internal("a scalar subquery without a column"))?;
            let ty = cx.columns.get(value).ty;
            let independent = free_columns(&plan).is_empty();
            if independent && differs_by_call(&plan) {
                // RAND() and the like: run for each row.
                let kind = if exactly_one_row(&plan) { LogicalJoinKind::Left } else { LogicalJoinKind::Single };
                let left = Box::new(take(input));
                let right = Box::new(plan);
                *input = Logical::Join { kind, left, right, on: vec![], dependent: true, straight: false };
                return Ok(Expr::column(value, ty, true));
            }
            if independent && free_ctes(&plan).is_empty() {
                let param = cx.new_param();
                cx.params_of.insert(id, param);
                cx.init.push(LogicalInit { param, kind: InitKind::Scalar, ty, plan, output: vec![value] });
                return Ok(Expr::new(ExprKind::Param(param), ty, true));
            }
            let kind = if independent && exactly_one_row(&plan) {
                LogicalJoinKind::Inner
            } else if at_most_one_row(&plan) {
                LogicalJoinKind::Left
            } else {
                LogicalJoinKind::Single
            };
            attach(input, kind, plan, vec![]);
            Ok(Expr::column(value, ty, true))
        }
    }
}

/// EXISTS that needs no join: certain, or the same for all rows.
fn known_exists(id: SubqueryId, cx: &mut Context) -> Result<Option<Expr>> {
    if let Some(p) = cx.params_of.get(&id) {
        return Ok(Some(param_truth(*p)));
    }
    let placed_before = cx.placed.contains(&id);
    let (plan, _) = place(id, cx)?;
    if exactly_one_row(&plan) {
        return Ok(Some(truth(true)));
    }
    if matches!(plan, Logical::Empty { .. }) {
        return Ok(Some(truth(false)));
    }
    if free_columns(&plan).is_empty() && free_ctes(&plan).is_empty() {
        let param = cx.new_param();
        cx.params_of.insert(id, param);
        let plan = Logical::Limit { input: Box::new(strip_for_exists(plan)), limit: Some(1), offset: 0 };
        cx.init.push(LogicalInit { param, kind: InitKind::Exists, ty: SqlType::Bool, plan, output: vec![] });
        return Ok(Some(param_truth(param)));
    }
    // Not used after all: the caller places it again under the same names.
    if !placed_before {
        cx.placed.retain(|p| *p != id);
    }
    Ok(None)
}

fn param_truth(p: u32) -> Expr {
    Expr::new(ExprKind::Param(p), SqlType::Bool, false)
}

/// The condition of `left op ANY (subquery)` as a join condition, and the subquery's tree.
fn quantified(
    id: SubqueryId,
    mut left: Vec<Expr>,
    op: CmpOp,
    input: &mut Logical,
    cx: &mut Context,
) -> Result<(Logical, Vec<Expr>)> {
    for l in &mut left {
        replace(l, input, cx)?;
    }
    let (plan, output) = place(id, cx)?;
    let plan = bare(plan);
    let parts: Vec<Expr> = left.into_iter().zip(&output).map(|(l, c)| compare(op, l, cx.columns.expr(*c))).collect();
    let on = match op {
        CmpOp::Eq => parts,
        _ if parts.len() == 1 => parts,
        CmpOp::Ne => vec![or(parts)],
        _ => return Err(bad_quantifier(op)),
    };
    Ok((plan, on))
}

/// Without what makes no difference to a search for values: their order, how often they occur, columns beside them.
fn bare(plan: Logical) -> Logical {
    match plan {
        Logical::Sort { input, .. } | Logical::Distinct { input } => bare(*input),
        // A table alone may be searched by an index.
        Logical::Project { input, exprs } if exprs.iter().all(|(id, e)| is_column(e, *id)) && is_table(&input) => {
            *input
        }
        p => p,
    }
}

fn is_table(node: &Logical) -> bool {
    match node {
        Logical::Filter { input, .. } => is_table(input),
        other => matches!(other, Logical::Get { .. }),
    }
}

/// `x op ANY|ALL S` through one row of aggregates over S.
fn extremes(
    x: Expr,
    op: CmpOp,
    all: bool,
    plan: Logical,
    value: u32,
    input: &mut Logical,
    cx: &mut Context,
) -> Result<Expr> {
    let v = cx.columns.expr(value);
    let mut aggregates = vec![];
    let mut agg = |func: AggFunc, args: Vec<Expr>, ty: SqlType, nullable: bool, cx: &mut Context| {
        let call = AggCall { func, args, distinct: false, order_by: vec![], separator: ",".into(), ty, nullable };
        let id = cx.columns.computed("quantified", ty, nullable);
        aggregates.push((id, call));
        Expr::column(id, ty, nullable)
    };
    let rows = agg(AggFunc::CountStar, vec![], SqlType::BIGINT, false, cx);
    let known = agg(AggFunc::Count, vec![v.clone()], SqlType::BIGINT, false, cx);
    let lo = agg(AggFunc::Min, vec![v.clone()], v.ty, true, cx);
    let hi = agg(AggFunc::Max, vec![v.clone()], v.ty, true, cx);
    // What decides at once, and to what.
    let (decisive, decided) = match (op, all) {
        (CmpOp::Gt | CmpOp::Ge, false) => (compare(op, x.clone(), lo.clone()), true),
        (CmpOp::Lt | CmpOp::Le, false) => (compare(op, x.clone(), hi.clone()), true),
        (CmpOp::Gt | CmpOp::Ge, true) => {
            (compare(inverse(op).ok_or_else(|| bad_quantifier(op))?, x.clone(), hi.clone()), false)
        }
        (CmpOp::Lt | CmpOp::Le, true) => {
            (compare(inverse(op).ok_or_else(|| bad_quantifier(op))?, x.clone(), lo.clone()), false)
        }
        (CmpOp::Eq, true) | (CmpOp::Ne, false) => {
            let differs =
                or(vec![compare(CmpOp::Ne, x.clone(), lo.clone()), compare(CmpOp::Ne, x.clone(), hi.clone())]);
            (differs, !all)
        }
        _ => return Err(bad_quantifier(op)),
    };
    let undecided = if decided { decisive.clone() } else { not(decisive.clone()) };
    let zero = Expr::constant(Value::Int(0), SqlType::BIGINT);
    let unknown = Expr::constant(Value::Null, SqlType::Bool);
    let result = Expr::new(
        ExprKind::Case {
            branches: vec![
                (compare(CmpOp::Eq, rows.clone(), zero), truth(all)),
                (decisive, truth(decided)),
                (compare(CmpOp::Lt, known, rows), unknown),
            ],
            otherwise: Some(Box::new(undecided)),
        },
        SqlType::Bool,
        true,
    );
    let plan = Logical::Aggregate { input: Box::new(plan), groups: vec![], aggregates, rollup: false };
    attach(input, LogicalJoinKind::Inner, plan, vec![]);
    Ok(result)
}

/// Existence needs neither values nor order.
pub fn strip_for_exists(plan: Logical) -> Logical {
    match plan {
        Logical::Project { input, .. }
        | Logical::Sort { input, .. }
        | Logical::Distinct { input }
        | Logical::Window { input, .. } => strip_for_exists(*input),
        Logical::Limit { input, limit, offset: 0 } if limit.is_none_or(|l| l > 0) => strip_for_exists(*input),
        Logical::Aggregate { input, groups, rollup: false, .. } if !groups.is_empty() => strip_for_exists(*input),
        p => p,
    }
}
