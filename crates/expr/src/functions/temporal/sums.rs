//! Sums and differences of dates and times.

use super::fields::{Moment, datetime, is_incomplete, moment, time};
use crate::eval::Exact;
use crate::eval::cast::temporal_mode;
use crate::functions::{Call, IntervalUnit};
use crate::kernels::text::shown;
use types::temporal::calendar::{months_to_period, period_to_months};
use types::temporal::parse::parse_datetime;
use types::temporal::{Interval, MICROS_PER_DAY, MICROS_PER_SECOND};
use types::{Error, Result, SqlType, Time};
use vector::{Chunk, Vector};

/// The interval of DATE_ADD at a row; None is NULL.
fn interval(call: &Call, unit: IntervalUnit, subtract: bool, i: usize) -> Option<Interval> {
    let v = &call.args[1];
    let n = match call.types[1] {
        SqlType::String { .. } => Interval::parse(v.bytes(i), unit)?,
        SqlType::Decimal { .. } => Interval::of_decimal(Exact::new(v, &call.types[1]).decimal(i), unit),
        _ => Interval::of(call.int(1, i), unit),
    };
    Some(if subtract { n.negated() } else { n })
}

fn overflow(call: &Call, what: &str) -> Result<()> {
    call.fault(Error::datetime_function_overflow(what))
}

/// `x + INTERVAL n unit` and `x - INTERVAL n unit`.
fn shifted(call: &Call, subtract: bool) -> Result<Chunk> {
    let unit = call.unit();
    let r = call.rows();
    let fixed = matches!(call.args[1], Vector::Const(_)).then(|| interval(call, unit, subtract, 0));
    let interval = |i: usize| match &fixed {
        Some(f) => *f,
        None => interval(call, unit, subtract, i),
    };
    match (call.types[0], call.ty()) {
        (SqlType::Date, SqlType::Date) => r.fixed(|i| {
            let d = datetime(call, 0, i).date();
            let Some(n) = interval(i) else { return Ok(None) };
            let sum = match n {
                _ if d.has_zero_part() => None,
                Interval::Months(n) => d.add_months(n),
                Interval::Micros(n) => i64::try_from(n / MICROS_PER_DAY as i128).ok().and_then(|n| d.add_days(n)),
            };
            if sum.is_none() {
                overflow(call, "datetime")?;
            }
            Ok(sum.map(|d| d.0))
        }),
        (SqlType::Time { .. }, _) => r.fixed(|i| {
            let Some(n) = interval(i) else { return Ok(None) };
            let sum = time(call, 0, i).checked_add(n);
            if sum.is_none() {
                overflow(call, "time")?;
            }
            Ok(sum.map(|t| t.0))
        }),
        (SqlType::Date | SqlType::DateTime { .. }, _) => r.fixed(|i| {
            let Some(n) = interval(i) else { return Ok(None) };
            let sum = datetime(call, 0, i).checked_add(n);
            if sum.is_none() {
                overflow(call, "datetime")?;
            }
            Ok(sum.map(|d| d.0))
        }),
        _ => {
            let mode = temporal_mode(call.ctx.session);
            r.strings(|i, out| {
                let s = call.bytes(0, i);
                let Some(n) = interval(i) else { return Ok(false) };
                let p = match parse_datetime(s, mode) {
                    Ok(p) => p,
                    Err(_) => {
                        call.fault(Error::incorrect_value_1292("datetime", shown(s)))?;
                        return Ok(false);
                    }
                };
                if p.truncated {
                    call.fault(Error::truncated_wrong_value("datetime", shown(s)))?;
                }
                let Some(sum) = p.value.checked_add(n) else {
                    overflow(call, "datetime")?;
                    return Ok(false);
                };
                if !p.has_time && !unit.has_time() {
                    sum.date().write_to(out.short()?);
                } else {
                    let fsp = if sum.micros() != 0 || unit.has_micros() { 6 } else { 0 };
                    sum.write_to(fsp, out.short()?);
                }
                Ok(true)
            })
        }
    }
}

pub(super) fn date_add(call: &Call) -> Result<Chunk> {
    shifted(call, false)
}

pub(super) fn date_sub(call: &Call) -> Result<Chunk> {
    shifted(call, true)
}

fn add_time(call: &Call, subtract: bool) -> Result<Chunk> {
    let r = call.rows();
    let sum = |i: usize| -> Result<Option<Moment>> {
        let by = time(call, 1, i).0;
        let by = if subtract { -by } else { by };
        Ok(match moment(call, 0, i)? {
            None => None,
            Some(Moment::Time(t)) => {
                let (t, clamped) = Time::clamped(t.0 + by);
                if clamped {
                    let mut text = Vec::new();
                    t.write_to(0, &mut text);
                    call.fault(Error::truncated_wrong_value("time", shown(&text)))?;
                }
                Some(Moment::Time(t))
            }
            Some(Moment::DateTime(d)) => {
                let sum = d.checked_add(Interval::Micros(by as i128));
                if sum.is_none() {
                    overflow(call, "datetime")?;
                }
                sum.map(Moment::DateTime)
            }
        })
    };
    match call.ty() {
        SqlType::Time { .. } | SqlType::DateTime { .. } => r.fixed(|i| {
            Ok(sum(i)?.map(|m| match m {
                Moment::Time(t) => t.0,
                Moment::DateTime(d) => d.0,
            }))
        }),
        _ => r.strings(|i, out| {
            match sum(i)? {
                None => return Ok(false),
                Some(Moment::Time(t)) => t.write_to(if t.micros() != 0 { 6 } else { 0 }, out.short()?),
                Some(Moment::DateTime(d)) => d.write_to(if d.micros() != 0 { 6 } else { 0 }, out.short()?),
            }
            Ok(true)
        }),
    }
}

pub(super) fn addtime(call: &Call) -> Result<Chunk> {
    add_time(call, false)
}

pub(super) fn subtime(call: &Call) -> Result<Chunk> {
    add_time(call, true)
}

pub(super) fn datediff(call: &Call) -> Result<Chunk> {
    call.rows().fixed(|i| {
        let (a, b) = (datetime(call, 0, i), datetime(call, 1, i));
        if is_incomplete(call, a.date(), a)? || is_incomplete(call, b.date(), b)? {
            return Ok(None);
        }
        Ok(Some((a.date().to_epoch_days() - b.date().to_epoch_days()) as i64))
    })
}

pub(super) fn timediff(call: &Call) -> Result<Chunk> {
    call.rows().fixed(|i| {
        let micros = match (moment(call, 0, i)?, moment(call, 1, i)?) {
            (Some(Moment::Time(a)), Some(Moment::Time(b))) => a.0 - b.0,
            (Some(Moment::DateTime(a)), Some(Moment::DateTime(b))) => a.linear() - b.linear(),
            _ => return Ok(None),
        };
        let (t, clamped) = Time::clamped(micros);
        if clamped {
            call.fault(Error::truncated_wrong_value("time", micros / MICROS_PER_SECOND))?;
        }
        Ok(Some(t.0))
    })
}

pub(super) fn timestamp_of(call: &Call) -> Result<Chunk> {
    call.rows().fixed(|i| {
        let by = if call.len() > 1 { time(call, 1, i).0 } else { 0 };
        let sum = datetime(call, 0, i).checked_add(Interval::Micros(by as i128));
        if sum.is_none() {
            overflow(call, "datetime")?;
        }
        Ok(sum.map(|d| d.0))
    })
}

pub(super) fn timestamp_diff(call: &Call) -> Result<Chunk> {
    let unit = call.unit();
    call.rows().fixed(|i| {
        let (a, b) = (datetime(call, 0, i), datetime(call, 1, i));
        if is_incomplete(call, a.date(), a)? || is_incomplete(call, b.date(), b)? {
            return Ok(None);
        }
        Ok(a.diff(b, unit))
    })
}

fn check_period(p: i64, function: &str) -> Result<()> {
    if p > 0 && (1..=12).contains(&(p % 100)) { Ok(()) } else { Err(Error::wrong_arguments(function)) }
}

pub(super) fn period_add(call: &Call) -> Result<Chunk> {
    call.rows().fixed(|i| {
        let p = call.int(0, i);
        check_period(p, "period_add")?;
        Ok(Some(months_to_period(period_to_months(p) + call.int(1, i).clamp(-1 << 40, 1 << 40))))
    })
}

pub(super) fn period_diff(call: &Call) -> Result<Chunk> {
    call.rows().fixed(|i| {
        let (a, b) = (call.int(0, i), call.int(1, i));
        check_period(a, "period_diff")?;
        check_period(b, "period_diff")?;
        Ok(Some(period_to_months(a) - period_to_months(b)))
    })
}
