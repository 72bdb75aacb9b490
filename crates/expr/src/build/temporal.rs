//! Temporal literals, comparisons with temporal operands, and interval arithmetic.

use super::arith::{numeric, scalar};
use super::{call, compare, implicit_cast};
use crate::{CmpOp, Expr, ExprKind, Function, IntervalUnit};
use types::{Result, SqlType, Value};

/// A temporal literal; see [`super::literal::temporal`].
pub(super) fn literal(text: &str, ty: SqlType) -> Result<Expr> {
    let ty = match ty {
        SqlType::Date => ty,
        SqlType::Time { .. } => SqlType::Time { fsp: fraction_digits(text) },
        _ => SqlType::DateTime { fsp: fraction_digits(text) },
    };
    let constant = Expr::constant(Value::str(text), super::string_type(text.len() as u32, super::CONNECTION_COLLATION));
    Ok(implicit_cast(constant, ty))
}

/// Digits after the last point, at most 6.
pub(super) fn fraction_digits(text: &str) -> u8 {
    match text.rsplit_once('.') {
        Some((_, f)) => f.bytes().take_while(u8::is_ascii_digit).count().min(6) as u8,
        None => 0,
    }
}

fn fsp(ty: &SqlType) -> u8 {
    super::common::scale_of(ty)
}

/// Two temporal operands in one type.
pub(super) fn unify(l: Expr, r: Expr) -> (Expr, Expr) {
    use SqlType::*;
    match (l.ty, r.ty) {
        (Date, Date) | (Time { .. }, Time { .. }) | (DateTime { .. }, DateTime { .. }) => (l, r),
        (Timestamp { .. }, Timestamp { .. }) => (l, r),
        (Timestamp { .. }, Date | DateTime { .. }) if r.is_constant() => {
            let ty = Timestamp { fsp: fsp(&r.ty) };
            (l, implicit_cast(r, ty))
        }
        (Date | DateTime { .. }, Timestamp { .. }) if l.is_constant() => {
            let ty = Timestamp { fsp: fsp(&l.ty) };
            (implicit_cast(l, ty), r)
        }
        (a, b) => {
            let ty = DateTime { fsp: fsp(&a).max(fsp(&b)) };
            (as_datetime(l, ty), as_datetime(r, ty))
        }
    }
}

fn as_datetime(e: Expr, ty: SqlType) -> Expr {
    if matches!(e.ty, SqlType::DateTime { .. }) { e } else { implicit_cast(e, ty) }
}

/// A temporal operand `t` with a string or number `o`.
pub(super) fn unify_with_other(t: Expr, o: Expr) -> Result<(Expr, Expr)> {
    use SqlType::*;
    if o.ty.is_string() {
        let target = match t.ty {
            Date => Date,
            Time { .. } => Time { fsp: 6 },
            Timestamp { .. } => Timestamp { fsp: 6 },
            _ => DateTime { fsp: 6 },
        };
        if o.is_constant() {
            return Ok((t, implicit_cast(o, target)));
        }
        if matches!(t.ty, Time { .. }) {
            return Ok((t, implicit_cast(o, target)));
        }
        let ty = DateTime { fsp: 6 };
        return Ok((as_datetime(t, ty), implicit_cast(o, ty)));
    }
    // Numbers: both sides as YYYYMMDD... digits.
    let e = compare(CmpOp::Eq, numeric(t), numeric(o))?;
    match e.kind {
        ExprKind::Compare { left, right, .. } => Ok((*left, *right)),
        _ => Err(types::Error::internal("a comparison of scalars is a comparison")),
    }
}

/// `date ± INTERVAL value unit` (also DATE_ADD, DATE_SUB, TIMESTAMPADD).
pub fn date_add(date: Expr, value: Expr, unit: IntervalUnit, subtract: bool) -> Result<Expr> {
    scalar(&date)?;
    scalar(&value)?;
    let value = interval_value(value, unit);
    let fraction = match (unit, value.ty) {
        (u, _) if u.has_microseconds() => 6,
        (IntervalUnit::Second, SqlType::Decimal { scale, .. }) => scale.min(6),
        _ => 0,
    };
    let (date, ty) = match date.ty {
        SqlType::Date if unit.is_date_only() => (date, SqlType::Date),
        SqlType::Date => (date, SqlType::DateTime { fsp: fraction }),
        SqlType::DateTime { fsp } => (date, SqlType::DateTime { fsp: fsp.max(fraction) }),
        SqlType::Timestamp { fsp } => {
            (implicit_cast(date, SqlType::DateTime { fsp }), SqlType::DateTime { fsp: fsp.max(fraction) })
        }
        SqlType::Time { fsp } if !unit.has_months() => (date, SqlType::Time { fsp: fsp.max(fraction) }),
        SqlType::Time { fsp } => {
            (implicit_cast(date, SqlType::DateTime { fsp }), SqlType::DateTime { fsp: fsp.max(fraction) })
        }
        SqlType::Null => (Expr::constant(Value::Null, SqlType::DateTime { fsp: 0 }), SqlType::DateTime { fsp: 0 }),
        _ => (call::to_string(date), SqlType::varchar(29, super::CONNECTION_COLLATION)),
    };
    let function = if subtract { Function::DateSub(unit) } else { Function::DateAdd(unit) };
    Ok(Expr::new(ExprKind::Call { function, args: vec![date, value] }, ty, true))
}

/// Composite units read the digits of a string; SECOND takes a fraction; the others a BIGINT.
fn interval_value(value: Expr, unit: IntervalUnit) -> Expr {
    use IntervalUnit::*;
    match unit {
        Second => match value.ty {
            t if t.is_integer() => value,
            _ => implicit_cast(value, SqlType::Decimal { precision: 24, scale: 6 }),
        },
        Microsecond | Minute | Hour | Day | Week | Month | Quarter | Year => {
            if value.ty.is_integer() {
                value
            } else {
                implicit_cast(value, SqlType::BIGINT)
            }
        }
        _ => call::to_string(value),
    }
}

/// `EXTRACT(unit FROM e)`
pub fn extract(unit: IntervalUnit, e: Expr) -> Result<Expr> {
    use IntervalUnit::*;
    scalar(&e)?;
    let e = match e.ty {
        SqlType::Date | SqlType::DateTime { .. } | SqlType::Time { .. } => e,
        SqlType::Timestamp { fsp } => implicit_cast(e, SqlType::DateTime { fsp }),
        _ => match unit {
            Hour | Minute | Second | Microsecond | SecondMicrosecond | MinuteMicrosecond | MinuteSecond
            | HourMicrosecond | HourSecond | HourMinute => implicit_cast(e, SqlType::Time { fsp: 6 }),
            _ => implicit_cast(e, SqlType::DateTime { fsp: 6 }),
        },
    };
    let nullable = e.nullable;
    Ok(Expr::new(ExprKind::Call { function: Function::Extract(unit), args: vec![e] }, SqlType::BIGINT, nullable))
}

/// `TIMESTAMPDIFF(unit, from, to)`
pub fn timestamp_diff(unit: IntervalUnit, from: Expr, to: Expr) -> Result<Expr> {
    scalar(&from)?;
    scalar(&to)?;
    let date = |e: Expr| match e.ty {
        SqlType::DateTime { .. } => e,
        t => {
            let fsp = if t.is_temporal() { fsp(&t) } else { 6 };
            implicit_cast(e, SqlType::DateTime { fsp })
        }
    };
    let args = vec![date(from), date(to)];
    Ok(Expr::new(ExprKind::Call { function: Function::TimestampDiff(unit), args }, SqlType::BIGINT, true))
}
