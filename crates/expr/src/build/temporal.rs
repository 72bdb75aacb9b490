//! Temporal literals, comparisons with temporal operands, and interval arithmetic.

use super::arith::{numeric, scalar};
use super::{call, compare, implicit_cast};
use crate::functions::{self, Detail};
use crate::{CmpOp, Expr, ExprKind, Function, IntervalUnit};
use types::temporal::TemporalMode;
use types::temporal::parse::{datetime_from_number, parse_date, parse_datetime, parse_time};
use types::{Collation, Error, Result, SqlType, Value};

/// A temporal literal; see [`super::literal::temporal`].
pub(super) fn literal(text: &str, ty: SqlType) -> Result<Expr> {
    let bytes = text.as_bytes();
    let mode = TemporalMode::RELAXED;
    match ty {
        SqlType::Date => match parse_date(bytes, mode) {
            Ok(p) if !p.truncated && !p.has_time => Ok(Expr::constant(Value::Date(p.value.date()), SqlType::Date)),
            _ => Err(Error::wrong_value("DATE", text)),
        },
        SqlType::Time { .. } => match parse_time(bytes, mode) {
            Ok(p) if !p.truncated && !p.clamped => {
                Ok(Expr::constant(Value::Time(p.value), SqlType::Time { fsp: p.fsp }))
            }
            _ => Err(Error::wrong_value("TIME", text)),
        },
        _ => match parse_datetime(bytes, mode) {
            Ok(p) if !p.truncated && p.has_time => {
                let ty = SqlType::DateTime { fsp: p.fsp };
                if p.offset.is_some() {
                    // Seen from the session's time zone, which evaluation knows.
                    return Ok(implicit_cast(super::string(bytes, Collation::default()), ty));
                }
                Ok(Expr::constant(Value::DateTime(p.value), ty))
            }
            _ => Err(Error::wrong_value("DATETIME", text)),
        },
    }
}

/// Digits after the last point, at most 6.
pub(crate) fn fraction_digits(text: &str) -> u8 {
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
        if let Some(Value::Bytes(b)) = o.as_const() {
            let text = std::string::String::from_utf8_lossy(b).into_owned();
            return text_constant(t, o, &text);
        }
        if matches!(t.ty, Time { .. }) {
            return Ok((t, implicit_cast(o, Time { fsp: 6 })));
        }
        if matches!(t.ty, Timestamp { .. }) && o.is_constant() {
            return Ok((t, implicit_cast(o, Timestamp { fsp: 6 })));
        }
        let ty = DateTime { fsp: 6 };
        return Ok((as_datetime(t, ty), implicit_cast(o, ty)));
    }
    if let Some(Value::Int(n)) = o.as_const()
        && !matches!(t.ty, Time { .. })
        && let Ok((d, has_time)) = datetime_from_number(*n, TemporalMode::RELAXED)
    {
        return Ok(datetime_constant(t, d, 0, has_time));
    }
    // So does a parameter, when it has its value.
    if matches!(o.kind, ExprKind::Param(_)) && o.ty.is_integer() && !matches!(t.ty, Time { .. }) {
        let ty = DateTime { fsp: 0 };
        return Ok((as_datetime(t, ty), implicit_cast(o, ty)));
    }
    // Numbers: both sides as YYYYMMDD... digits.
    let e = compare(CmpOp::Eq, numeric(t), numeric(o))?;
    match e.kind {
        ExprKind::Compare { left, right, .. } => Ok((*left, *right)),
        _ => Err(Error::internal("a comparison of scalars is a comparison")),
    }
}

/// A temporal operand with a string constant: the constant is converted now, 1525 if it cannot be.
fn text_constant(t: Expr, o: Expr, text: &str) -> Result<(Expr, Expr)> {
    let mode = TemporalMode::RELAXED;
    let kind = match t.ty {
        SqlType::Date => "DATE",
        SqlType::Time { .. } => "TIME",
        SqlType::Timestamp { .. } => "TIMESTAMP",
        _ => "DATETIME",
    };
    let wrong = || Error::wrong_value(kind, text);
    if let SqlType::Time { .. } = t.ty {
        let p = parse_time(text.as_bytes(), mode).map_err(|_| wrong())?;
        let ty = SqlType::Time { fsp: p.fsp };
        if p.truncated || p.clamped {
            return Ok((t, implicit_cast(o, ty)));
        }
        return Ok((t, Expr::constant(Value::Time(p.value), ty)));
    }
    let p = parse_datetime(text.as_bytes(), mode).map_err(|_| wrong())?;
    if p.truncated || p.offset.is_some() {
        // Warns, or depends on the session's time zone: at execution.
        let ty = match t.ty {
            SqlType::Timestamp { .. } => SqlType::Timestamp { fsp: 6 },
            _ => SqlType::DateTime { fsp: 6 },
        };
        return Ok(match t.ty {
            SqlType::Date => (as_datetime(t, ty), implicit_cast(o, ty)),
            _ => (t, implicit_cast(o, ty)),
        });
    }
    Ok(datetime_constant(t, p.value, p.fsp, p.has_time))
}

/// A string constant beside a DATE or DATETIME where sql_mode has ALLOW_INVALID_DATES: one that holds a day that no
/// month has is that date. Anything else stays as it is.
pub fn invalid_date(o: Expr, beside: &SqlType) -> Expr {
    let is_date = *beside == SqlType::Date;
    if !is_date && !matches!(beside, SqlType::DateTime { .. }) {
        return o;
    }
    let Some(Value::Bytes(text)) = o.as_const() else { return o };
    let lenient = TemporalMode { allow_invalid_dates: true, ..TemporalMode::RELAXED };
    match (parse_datetime(text, TemporalMode::RELAXED), parse_datetime(text, lenient)) {
        (Err(_), Ok(p)) if !p.truncated && p.offset.is_none() => match is_date && !p.has_time {
            true => Expr::constant(Value::Date(p.value.date()), SqlType::Date),
            false => Expr::constant(Value::DateTime(p.value), SqlType::DateTime { fsp: p.fsp }),
        },
        _ => o,
    }
}

/// A DATE, DATETIME or TIMESTAMP operand with a constant.
fn datetime_constant(t: Expr, value: types::DateTime, fsp: u8, has_time: bool) -> (Expr, Expr) {
    let full = Expr::constant(Value::DateTime(value), SqlType::DateTime { fsp });
    match t.ty {
        SqlType::Date if !has_time || value.micros_of_day() == 0 => {
            (t, Expr::constant(Value::Date(value.date()), SqlType::Date))
        }
        SqlType::Date => (as_datetime(t, SqlType::DateTime { fsp }), full),
        SqlType::Timestamp { .. } => (t, implicit_cast(full, SqlType::Timestamp { fsp })),
        _ => (t, full),
    }
}

/// `date ± INTERVAL value unit` (also DATE_ADD, DATE_SUB, TIMESTAMPADD).
pub fn date_add(date: Expr, value: Expr, unit: IntervalUnit, subtract: bool, connection: Collation) -> Result<Expr> {
    scalar(&date)?;
    scalar(&value)?;
    let value = interval_value(value, unit, connection);
    let fraction = match (unit, value.ty) {
        (u, _) if u.has_micros() => 6,
        (IntervalUnit::Second, SqlType::Decimal { scale, .. }) => scale.min(6),
        _ => 0,
    };
    let (date, ty) = match date.ty {
        SqlType::Date if !unit.has_time() => (date, SqlType::Date),
        SqlType::Date => (date, SqlType::DateTime { fsp: fraction }),
        SqlType::DateTime { fsp } => (date, SqlType::DateTime { fsp: fsp.max(fraction) }),
        SqlType::Timestamp { fsp } => {
            (implicit_cast(date, SqlType::DateTime { fsp }), SqlType::DateTime { fsp: fsp.max(fraction) })
        }
        SqlType::Time { fsp } if !unit.is_months() => (date, SqlType::Time { fsp: fsp.max(fraction) }),
        SqlType::Time { fsp } => {
            (implicit_cast(date, SqlType::DateTime { fsp }), SqlType::DateTime { fsp: fsp.max(fraction) })
        }
        SqlType::Null => (Expr::constant(Value::Null, SqlType::DateTime { fsp: 0 }), SqlType::DateTime { fsp: 0 }),
        _ => (call::to_string(date, connection), SqlType::varchar(29, connection)),
    };
    let record = if subtract { &functions::DATE_SUB } else { &functions::DATE_ADD };
    let function = Function::with(record, Detail::Unit(unit));
    Ok(Expr::new(ExprKind::Call { function, args: vec![date, value] }, ty, true))
}

/// Composite units read the digits of a string; SECOND takes a fraction; the others a BIGINT.
fn interval_value(value: Expr, unit: IntervalUnit, connection: Collation) -> Expr {
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
        _ => call::to_string(value, connection),
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
            // What looks like a date and time has a day, a time has none, or has it among its hours.
            DayMicrosecond | DaySecond | DayMinute | DayHour => match e.ty {
                SqlType::String { .. } => e,
                _ => implicit_cast(e, SqlType::Time { fsp: 6 }),
            },
            _ => implicit_cast(e, SqlType::DateTime { fsp: 6 }),
        },
    };
    let nullable = e.nullable || e.ty.is_string();
    let record = match unit {
        DayMicrosecond | DaySecond | DayMinute | DayHour => &functions::EXTRACT_DAY_TIME,
        _ => &functions::EXTRACT,
    };
    let function = Function::with(record, Detail::Unit(unit));
    Ok(Expr::new(ExprKind::Call { function, args: vec![e] }, SqlType::BIGINT, nullable))
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
    let function = Function::with(&functions::TIMESTAMP_DIFF, Detail::Unit(unit));
    Ok(Expr::new(ExprKind::Call { function, args }, SqlType::BIGINT, true))
}
