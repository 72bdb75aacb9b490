//! Scalars of the oracle: integers and NULL; predicates are 0, 1, NULL.

use expr::{AggCall, AggFunc, ArithOp, CmpOp, ColumnId, Expr, ExprKind, Truth};
use types::Value;

pub type V = Option<i64>;
pub type Row = Vec<V>;

/// What an expression may ask for.
pub trait Env {
    fn column(&self, id: ColumnId) -> Result<V, String>;
    fn param(&self, _id: u32) -> Result<V, String> {
        Err("a parameter".into())
    }
    fn subquery(&self, _id: u32) -> Result<V, String> {
        Err("a subquery".into())
    }
}

fn b(v: bool) -> V {
    Some(v as i64)
}

pub fn compare(op: CmpOp, l: V, r: V) -> V {
    if op == CmpOp::NullSafeEq {
        return b(l == r);
    }
    let (l, r) = (l?, r?);
    b(match op {
        CmpOp::Eq => l == r,
        CmpOp::Ne => l != r,
        CmpOp::Lt => l < r,
        CmpOp::Le => l <= r,
        CmpOp::Gt => l > r,
        CmpOp::Ge => l >= r,
        CmpOp::NullSafeEq => unreachable!(),
    })
}

pub fn and(vs: impl IntoIterator<Item = V>) -> V {
    let mut unknown = false;
    for v in vs {
        match v {
            Some(0) => return b(false),
            None => unknown = true,
            _ => {}
        }
    }
    if unknown { None } else { b(true) }
}

pub fn not(v: V) -> V {
    v.map(|v| (v == 0) as i64)
}

pub fn or(vs: impl IntoIterator<Item = V>) -> V {
    not(and(vs.into_iter().map(not)))
}

pub fn is_true(v: V) -> bool {
    matches!(v, Some(x) if x != 0)
}

pub fn eval(e: &Expr, env: &dyn Env) -> Result<V, String> {
    let all = |es: &[Expr]| es.iter().map(|e| eval(e, env)).collect::<Result<Vec<V>, String>>();
    let v = match &e.kind {
        ExprKind::Column(c) => env.column(*c)?,
        ExprKind::Const(Value::Null) => None,
        ExprKind::Const(Value::Int(v)) => Some(*v),
        ExprKind::Const(Value::UInt(v)) => Some(*v as i64),
        ExprKind::Param(p) => env.param(*p)?,
        ExprKind::Subquery(s) => env.subquery(*s)?,
        ExprKind::And(v) => and(all(v)?),
        ExprKind::Or(v) => or(all(v)?),
        ExprKind::Not(e) => not(eval(e, env)?),
        ExprKind::Compare { op, left, right } => compare(*op, eval(left, env)?, eval(right, env)?),
        ExprKind::IsNull { expr, negated } => b(eval(expr, env)?.is_none() != *negated),
        ExprKind::IsTruth { expr, truth, negated } => {
            let v = eval(expr, env)?;
            let is = match truth {
                Truth::True => is_true(v),
                Truth::False => v == Some(0),
                Truth::Unknown => v.is_none(),
            };
            b(is != *negated)
        }
        ExprKind::Arith { op: ArithOp::Add, left, right } => {
            eval(left, env)?.zip(eval(right, env)?).map(|(a, b)| a.wrapping_add(b))
        }
        ExprKind::Cast { expr, .. } => eval(expr, env)?,
        ExprKind::InList { expr, list, negated } => {
            let x = eval(expr, env)?;
            let v = or(all(list)?.into_iter().map(|y| compare(CmpOp::Eq, x, y)));
            if *negated { not(v) } else { v }
        }
        ExprKind::Case { branches, otherwise } => {
            for (w, t) in branches {
                if is_true(eval(w, env)?) {
                    return eval(t, env);
                }
            }
            match otherwise {
                Some(o) => eval(o, env)?,
                None => None,
            }
        }
        other => return Err(format!("the oracle knows no {other:?}")),
    };
    if v.is_none() && !e.nullable {
        return Err(format!("NULL from an expression that claims never to be: {e:?}"));
    }
    Ok(v)
}

/// An aggregate over the argument values of its rows.
pub fn aggregate(a: &AggCall, rows: &[Vec<V>]) -> V {
    let mut args: Vec<&Vec<V>> = rows.iter().filter(|r| r.iter().all(Option::is_some)).collect();
    if a.distinct {
        args.sort();
        args.dedup();
    }
    let values = args.iter().filter_map(|r| r.first().copied().flatten());
    match a.func {
        AggFunc::CountStar => Some(rows.len() as i64),
        AggFunc::Count => Some(args.len() as i64),
        AggFunc::Sum => values.reduce(|a, b| a.wrapping_add(b)),
        AggFunc::Min => values.min(),
        AggFunc::Max => values.max(),
        AggFunc::AnyValue => rows.first().and_then(|r| r[0]),
        AggFunc::BitOr => Some(values.fold(0, |a, b| a | b)),
        other => panic!("the oracle knows no {other:?}"),
    }
}
