//! Predicates and conditionals.

use super::arith::{decimal_shape, numeric, scalar};
use super::common::decimal_type;
use super::compare::is_null_const;
use super::digits::of_all_digits;
use super::{aggregate_collations, boolean, common_type, compare, implicit_cast};
use crate::functions::REGEXP_LIKE;
use crate::{CmpOp, Expr, ExprKind, Function, Truth};
use types::{Collation, Result, SqlType};

/// The expression as a condition: predicates stay, anything else is compared with zero.
pub fn truth(e: Expr) -> Result<Expr> {
    scalar(&e)?;
    if e.ty == SqlType::Bool {
        return Ok(e);
    }
    if e.ty == SqlType::Null {
        return Ok(Expr::constant(types::Value::Null, SqlType::Bool));
    }
    // Temporal values are true unless they are zero; as numbers they are just that.
    let n = numeric(e);
    let zero = match n.ty {
        SqlType::Double => super::double(0.0),
        _ => super::integer(0),
    };
    compare(CmpOp::Ne, n, zero)
}

/// Three-valued AND; nested ANDs are flattened. An empty list is TRUE.
pub fn and(terms: Vec<Expr>) -> Result<Expr> {
    chain(terms, true)
}

/// Three-valued OR; nested ORs are flattened. An empty list is FALSE.
pub fn or(terms: Vec<Expr>) -> Result<Expr> {
    chain(terms, false)
}

fn chain(terms: Vec<Expr>, conjunction: bool) -> Result<Expr> {
    // In its place: it may be long.
    let mut flat = terms.into_iter().map(truth).collect::<Result<Vec<_>>>()?;
    let is_nested = |t: &Expr| match t.kind {
        ExprKind::And(_) => conjunction,
        ExprKind::Or(_) => !conjunction,
        _ => false,
    };
    if flat.iter().any(is_nested) {
        let terms = std::mem::take(&mut flat);
        for t in terms {
            match t.kind {
                ExprKind::And(inner) if conjunction => flat.extend(inner),
                ExprKind::Or(inner) if !conjunction => flat.extend(inner),
                kind => flat.push(Expr { kind, ..t }),
            }
        }
    }
    match flat.len() {
        0 => Ok(boolean(conjunction)),
        1 => Ok(flat.pop().expect("one term")),
        _ => {
            let nullable = flat.iter().any(|t| t.nullable);
            let kind = if conjunction { ExprKind::And(flat) } else { ExprKind::Or(flat) };
            Ok(Expr::new(kind, SqlType::Bool, nullable))
        }
    }
}

/// `a XOR b`
pub fn xor(a: Expr, b: Expr) -> Result<Expr> {
    let (a, b) = (truth(a)?, truth(b)?);
    let nullable = a.nullable || b.nullable;
    Ok(Expr::new(ExprKind::Xor(a.into(), b.into()), SqlType::Bool, nullable))
}

/// `NOT e`; comparisons and negatable predicates are turned around instead.
pub fn not(e: Expr) -> Result<Expr> {
    let e = truth(e)?;
    let (ty, nullable) = (e.ty, e.nullable);
    let kind = match e.kind {
        ExprKind::Not(inner) => inner.kind,
        ExprKind::IsNull { expr, negated } => ExprKind::IsNull { expr, negated: !negated },
        ExprKind::IsTruth { expr, truth, negated } => ExprKind::IsTruth { expr, truth, negated: !negated },
        ExprKind::InList { expr, list, negated } => ExprKind::InList { expr, list, negated: !negated },
        ExprKind::InSet { expr, set, negated } => ExprKind::InSet { expr, set, negated: !negated },
        ExprKind::Like { expr, pattern, escape, negated } => {
            ExprKind::Like { expr, pattern, escape, negated: !negated }
        }
        ExprKind::Compare { op, left, right } if op != CmpOp::NullSafeEq => {
            let op = match op {
                CmpOp::Eq => CmpOp::Ne,
                CmpOp::Ne => CmpOp::Eq,
                CmpOp::Lt => CmpOp::Ge,
                CmpOp::Le => CmpOp::Gt,
                CmpOp::Gt => CmpOp::Le,
                CmpOp::Ge => CmpOp::Lt,
                CmpOp::NullSafeEq => op,
            };
            ExprKind::Compare { op, left, right }
        }
        kind => ExprKind::Not(Box::new(Expr { kind, ty, nullable })),
    };
    Ok(Expr::new(kind, ty, nullable))
}

/// `e IS [NOT] NULL`
pub fn is_null(e: Expr, negated: bool) -> Result<Expr> {
    scalar(&e)?;
    Ok(Expr::new(ExprKind::IsNull { expr: e.into(), negated }, SqlType::Bool, false))
}

/// `e IS [NOT] TRUE | FALSE | UNKNOWN`
pub fn is_truth(e: Expr, value: Truth, negated: bool) -> Result<Expr> {
    if value == Truth::Unknown {
        return is_null(e, negated);
    }
    let e = truth(e)?;
    Ok(Expr::new(ExprKind::IsTruth { expr: e.into(), truth: value, negated }, SqlType::Bool, false))
}

/// `e [NOT] LIKE pattern [ESCAPE c]`. `escape` is `\` by default; None switches escaping off (`ESCAPE ''`).
pub fn like(e: Expr, pattern: Expr, escape: Option<char>, negated: bool, connection: Collation) -> Result<Expr> {
    scalar(&e)?;
    scalar(&pattern)?;
    let (e, pattern) = (super::call::to_string(e, connection), super::call::to_string(pattern, connection));
    let collation = aggregate_collations(&[&e, &pattern], "like")?;
    let to = |e: Expr| match (e.ty, collation) {
        (SqlType::String { kind, len, collation: c }, Some(to)) if c != to => {
            implicit_cast(e, SqlType::String { kind, len, collation: to })
        }
        _ => e,
    };
    let (e, pattern) = (to(e), to(pattern));
    let nullable = e.nullable || pattern.nullable;
    let kind = ExprKind::Like { expr: e.into(), pattern: pattern.into(), escape, negated };
    Ok(Expr::new(kind, SqlType::Bool, nullable))
}

/// `e [NOT] REGEXP pattern`
pub fn regexp(e: Expr, pattern: Expr, negated: bool, connection: Collation) -> Result<Expr> {
    let call = super::call::call(Function::new(&REGEXP_LIKE), vec![e, pattern], connection)?;
    if negated { not(call) } else { Ok(call) }
}

/// `CASE [operand] WHEN .. THEN .. ELSE .. END`
pub fn case(
    operand: Option<Expr>,
    whens: Vec<(Expr, Expr)>,
    otherwise: Option<Expr>,
    connection: Collation,
) -> Result<Expr> {
    let mut branches = Vec::with_capacity(whens.len());
    for (when, then) in whens {
        scalar(&then)?;
        let condition = match &operand {
            Some(o) => compare(CmpOp::Eq, o.clone(), when)?,
            None => truth(when)?,
        };
        branches.push((condition, then));
    }
    let (conditions, mut results): (Vec<Expr>, Vec<Expr>) = branches.into_iter().unzip();
    results.extend(otherwise);
    of_all_digits(results, |results| alternatives(&conditions, results, connection))
}

/// One result for each condition, and perhaps one for ELSE.
fn alternatives(conditions: &[Expr], mut results: Vec<Expr>, connection: Collation) -> Result<Expr> {
    let otherwise = (results.len() > conditions.len()).then(|| results.pop().expect("it is longer"));
    let branches: Vec<(Expr, Expr)> = conditions.iter().cloned().zip(results).collect();
    let results: Vec<&Expr> = branches.iter().map(|(_, t)| t).chain(&otherwise).collect();
    let ty = common_result(&results, "case", connection)?;
    let nullable = otherwise.as_ref().is_none_or(|e| e.nullable) || branches.iter().any(|(_, t)| t.nullable);
    let branches = branches.into_iter().map(|(w, t)| (w, implicit_cast(t, ty))).collect();
    let otherwise = match otherwise {
        Some(e) if !is_null_const(&e) => Some(Box::new(implicit_cast(e, ty))),
        _ => None,
    };
    Ok(Expr::new(ExprKind::Case { branches, otherwise }, ty, nullable))
}

/// The common type of alternatives, with the collation that wins among them.
pub(super) fn common_result(exprs: &[&Expr], operation: &str, connection: Collation) -> Result<SqlType> {
    let is_decimal = exprs.iter().any(|e| matches!(e.ty, SqlType::Decimal { .. }));
    let type_of = |e: &&Expr| match e.as_const() {
        // beside a DECIMAL a whole number has as many digits as are written
        Some(types::Value::Int(_) | types::Value::UInt(_)) if is_decimal && e.ty.is_integer() => {
            decimal_type(decimal_shape(e).0, 0)
        }
        _ => e.ty,
    };
    let types: Vec<SqlType> = exprs.iter().map(type_of).collect();
    let ty = common_type(&types, connection);
    Ok(match (ty, aggregate_collations(exprs, operation)?) {
        (SqlType::String { kind, len, .. }, Some(collation)) => SqlType::String { kind, len, collation },
        _ => ty,
    })
}

/// `IF(condition, then, otherwise)`
pub fn if_(condition: Expr, then: Expr, otherwise: Expr, connection: Collation) -> Result<Expr> {
    case(None, vec![(condition, then)], Some(otherwise), connection)
}

/// `NULLIF(a, b)`: NULL if they are equal, else `a`.
pub fn nullif(a: Expr, b: Expr) -> Result<Expr> {
    scalar(&a)?;
    let equal = compare(CmpOp::Eq, a.clone(), b)?;
    let a = super::plain(a);
    let ty = a.ty;
    let null = Expr::constant(types::Value::Null, ty);
    Ok(Expr::new(ExprKind::Case { branches: vec![(equal, null)], otherwise: Some(a.into()) }, ty, true))
}
