//! Date and time functions.
//!
//! DATE is packed as year, month, day, so that YEAR and MONTH of a column are shifts over a slice.

use super::Function;
use super::eval::Call;
use crate::eval::Exact;
use crate::eval::cast::{local, statement_now, temporal_mode};
use crate::kernels::text::shown;
use types::temporal::calendar::{months_to_period, period_to_months};
use types::temporal::date_format::{date_format_in, time_format};
use types::temporal::parse::{parse_datetime, parse_time};
use types::temporal::str_to_date::str_to_date;
use types::temporal::{Interval, IntervalUnit, MICROS_PER_DAY, MICROS_PER_SECOND, TimeZone};
use types::{Date, DateTime, Error, Result, SqlType, Time, Timestamp};
use vector::{Chunk, Selection, Values, Vector};

/// The DATE or DATETIME at a position.
#[inline]
fn datetime(call: &Call, k: usize, i: usize) -> DateTime {
    let (c, constant) = call.args[k].chunk();
    let i = if constant { 0 } else { i };
    match &c.values {
        Values::I32(v) => Date(v[i]).midnight(),
        Values::I64(v) => DateTime(v[i]),
        _ => DateTime(0),
    }
}

#[inline]
fn time(call: &Call, k: usize, i: usize) -> Time {
    Time(call.int(k, i))
}

/// A function of the date part alone, over the whole array.
fn of_date(call: &Call, f: impl Fn(Date) -> i64) -> Option<Chunk> {
    let Vector::Flat(c) = &call.args[0] else { return None };
    let out = match (&c.values, call.types[0]) {
        (Values::I32(v), SqlType::Date) => v.iter().map(|&d| f(Date(d))).collect(),
        (Values::I64(v), SqlType::DateTime { .. }) => v.iter().map(|&d| f(DateTime(d).date())).collect(),
        _ => return None,
    };
    Some(Chunk::new(Values::I64(out), c.validity.clone()))
}

/// Bytes of a formatted time for each byte of its format: `%W` in any locale.
const FORMATTED_BYTES_MAX: usize = 32;

/// A function of the date; dates with a zero month or day are NULL with warning 1292.
fn of_real_date<T: vector::Native>(call: &Call, rows: usize, sel: &Selection, f: impl Fn(Date) -> T) -> Result<Chunk> {
    call.rows(rows, sel).fixed(|i| {
        let d = datetime(call, 0, i);
        if is_incomplete(call, d.date(), d)? { Ok(None) } else { Ok(Some(f(d.date()))) }
    })
}

fn is_incomplete(call: &Call, date: Date, whole: DateTime) -> Result<bool> {
    if !date.has_zero_part() {
        return Ok(false);
    }
    let mut text = Vec::new();
    whole.write_to(0, &mut text);
    call.fault(Error::incorrect_value_1292("datetime", shown(&text)))?;
    Ok(true)
}

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

fn date_add(call: &Call, unit: IntervalUnit, subtract: bool, rows: usize, sel: &Selection) -> Result<Chunk> {
    let r = call.rows(rows, sel);
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

/// What a string, TIME or DATETIME argument of TIMEDIFF, ADDTIME and EXTRACT is.
enum Moment {
    Time(Time),
    DateTime(DateTime),
}

fn moment(call: &Call, k: usize, i: usize) -> Result<Option<Moment>> {
    Ok(match call.types[k] {
        SqlType::Time { .. } => Some(Moment::Time(time(call, k, i))),
        SqlType::Date | SqlType::DateTime { .. } => Some(Moment::DateTime(datetime(call, k, i))),
        _ => {
            let s = call.bytes(k, i);
            let mode = temporal_mode(call.ctx.session);
            match parse_time(s, mode) {
                Ok(p) => match p.date {
                    Some(d) => {
                        let micros = p.value.0;
                        Some(Moment::DateTime(d.at(micros)))
                    }
                    None => Some(Moment::Time(p.value)),
                },
                Err(_) => match parse_datetime(s, mode) {
                    Ok(p) => Some(Moment::DateTime(p.value)),
                    Err(_) => {
                        call.fault(Error::incorrect_value_1292("time", shown(s)))?;
                        None
                    }
                },
            }
        }
    })
}

fn add_time(call: &Call, subtract: bool, rows: usize, sel: &Selection) -> Result<Chunk> {
    let r = call.rows(rows, sel);
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

fn now(call: &Call) -> DateTime {
    let session = call.ctx.session;
    match call.function {
        Function::Sysdate => {
            let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
            let micros = since.map_or(0, |d| d.as_micros() as i64);
            local(session).to_datetime(Timestamp(micros))
        }
        Function::UtcDate | Function::UtcTime | Function::UtcTimestamp => Timestamp(session.statement_time_us).to_utc(),
        _ => statement_now(session),
    }
}

/// The numeric argument in microseconds, rounded.
fn micros_of_number(call: &Call, k: usize, i: usize) -> i128 {
    match &call.args[k].chunk().0.values {
        Values::F64(_) | Values::F32(_) => (call.double(k, i) * 1e6).round() as i128,
        _ => {
            let d = Exact::new(&call.args[k], &call.types[k]).decimal(i);
            d.rescale(6).and_then(|d| d.to_i128()).unwrap_or(i128::MAX / 2)
        }
    }
}

/// Whether the seconds of MAKETIME are 60 and more.
fn whole_minute(call: &Call, i: usize) -> bool {
    match &call.args[2].chunk().0.values {
        Values::F64(_) | Values::F32(_) => call.double(2, i) >= 60.0,
        _ => Exact::new(&call.args[2], &call.types[2]).decimal(i).cmp_value(&types::Decimal::from_i128(60, 0)).is_ge(),
    }
}

/// Seconds since 1970 up to which FROM_UNIXTIME has values.
const UNIXTIME_MAX: i128 = 32_536_771_199;

/// Date and time functions; None if the function is none of them.
pub(crate) fn eval(call: &Call, rows: usize, sel: &Selection) -> Result<Option<Chunk>> {
    use Function::*;
    let r = call.rows(rows, sel);
    let session = call.ctx.session;
    let mode_of = |k: usize, i: usize| -> u8 {
        if call.len() > k { (call.int(k, i) & 7) as u8 } else { session.default_week_format & 7 }
    };
    Ok(Some(match call.function {
        Year | Extract(IntervalUnit::Year) if let Some(c) = of_date(call, |d| d.year() as i64) => c,
        Month | Extract(IntervalUnit::Month) if let Some(c) = of_date(call, |d| d.month() as i64) => c,
        Day | Extract(IntervalUnit::Day) if let Some(c) = of_date(call, |d| d.day() as i64) => c,
        Quarter | Extract(IntervalUnit::Quarter) if let Some(c) = of_date(call, |d| d.quarter() as i64) => c,
        Year => r.fixed(|i| Ok(Some(datetime(call, 0, i).date().year() as i64)))?,
        Month => r.fixed(|i| Ok(Some(datetime(call, 0, i).date().month() as i64)))?,
        Day => r.fixed(|i| Ok(Some(datetime(call, 0, i).date().day() as i64)))?,
        Quarter => r.fixed(|i| Ok(Some(datetime(call, 0, i).date().quarter() as i64)))?,
        Extract(unit) => match call.types[0] {
            SqlType::Time { .. } => r.fixed(|i| Ok(Some(time(call, 0, i).extract(unit))))?,
            SqlType::String { .. } => r.fixed(|i| {
                Ok(moment(call, 0, i)?.map(|m| match m {
                    Moment::Time(t) => t.extract(unit),
                    Moment::DateTime(d) => d.extract(unit),
                }))
            })?,
            _ => r.fixed(|i| Ok(Some(datetime(call, 0, i).extract(unit))))?,
        },
        Hour => r.fixed(|i| Ok(Some(time(call, 0, i).hour())))?,
        Minute => r.fixed(|i| Ok(Some(time(call, 0, i).minute())))?,
        Second => r.fixed(|i| Ok(Some(time(call, 0, i).second())))?,
        Microsecond => r.fixed(|i| Ok(Some(time(call, 0, i).micros())))?,
        Dayofweek => of_real_date(call, rows, sel, |d| d.day_of_week() as i64)?,
        Weekday => of_real_date(call, rows, sel, |d| d.weekday() as i64)?,
        Dayofyear => of_real_date(call, rows, sel, |d| d.day_of_year() as i64)?,
        ToDays => of_real_date(call, rows, sel, |d| d.day_number() as i64)?,
        Weekofyear => of_real_date(call, rows, sel, |d| d.week(3) as i64)?,
        LastDay => r.fixed(|i| {
            let d = datetime(call, 0, i);
            match d.date().last_day() {
                Some(l) => Ok(Some(l.0)),
                None => {
                    is_incomplete(call, d.date(), d)?;
                    Ok(None)
                }
            }
        })?,
        Week => r.fixed(|i| {
            let d = datetime(call, 0, i);
            if is_incomplete(call, d.date(), d)? {
                return Ok(None);
            }
            Ok(Some(d.date().week(mode_of(1, i)) as i64))
        })?,
        Yearweek => r.fixed(|i| {
            let d = datetime(call, 0, i);
            if is_incomplete(call, d.date(), d)? {
                return Ok(None);
            }
            let mode = if call.len() > 1 { mode_of(1, i) } else { 0 };
            Ok(Some(d.date().yearweek(mode) as i64))
        })?,
        Dayname => r.strings(|i, out| {
            let d = datetime(call, 0, i);
            if is_incomplete(call, d.date(), d)? {
                return Ok(false);
            }
            out.extend_from_slice(session.locale.days[d.date().weekday() as usize].as_bytes());
            Ok(true)
        })?,
        Monthname => r.strings(|i, out| {
            let m = datetime(call, 0, i).date().month();
            if m > 0 {
                out.extend_from_slice(session.locale.months[m as usize - 1].as_bytes());
            }
            Ok(m > 0)
        })?,
        ToSeconds => r.fixed(|i| {
            let d = datetime(call, 0, i);
            if is_incomplete(call, d.date(), d)? {
                return Ok(None);
            }
            Ok(Some(d.date().day_number() as i64 * 86_400 + d.micros_of_day() / MICROS_PER_SECOND))
        })?,
        FromDays => r.fixed(|i| Ok(types::Date::from_day_number(call.int(0, i)).map(|d| d.0)))?,
        Datediff => r.fixed(|i| {
            let (a, b) = (datetime(call, 0, i), datetime(call, 1, i));
            if is_incomplete(call, a.date(), a)? || is_incomplete(call, b.date(), b)? {
                return Ok(None);
            }
            Ok(Some((a.date().to_epoch_days() - b.date().to_epoch_days()) as i64))
        })?,
        Timediff => r.fixed(|i| {
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
        })?,
        Addtime => add_time(call, false, rows, sel)?,
        Subtime => add_time(call, true, rows, sel)?,
        TimestampOf => r.fixed(|i| {
            let sum = datetime(call, 0, i).checked_add(types::temporal::Interval::Micros(time(call, 1, i).0 as i128));
            if sum.is_none() {
                overflow(call, "datetime")?;
            }
            Ok(sum.map(|d| d.0))
        })?,
        DateAdd(unit) => date_add(call, unit, false, rows, sel)?,
        DateSub(unit) => date_add(call, unit, true, rows, sel)?,
        TimestampDiff(unit) => r.fixed(|i| {
            let (a, b) = (datetime(call, 0, i), datetime(call, 1, i));
            if is_incomplete(call, a.date(), a)? || is_incomplete(call, b.date(), b)? {
                return Ok(None);
            }
            Ok(a.diff(b, unit))
        })?,
        DateFormat => r.strings(|i, out| {
            let format = call.bytes(1, i);
            let out = out.at_most(FORMATTED_BYTES_MAX * format.len())?;
            Ok(!format.is_empty() && date_format_in(session.locale, datetime(call, 0, i), format, out))
        })?,
        TimeFormat => r.strings(|i, out| {
            let format = call.bytes(1, i);
            let out = out.at_most(FORMATTED_BYTES_MAX * format.len())?;
            Ok(!format.is_empty() && time_format(time(call, 0, i), format, out))
        })?,
        StrToDate => {
            let mode = temporal_mode(session);
            let read = |i: usize| {
                let s = call.bytes(0, i);
                match str_to_date(s, call.bytes(1, i), mode) {
                    Ok(v) => {
                        if v.truncated {
                            let kind = if call.ty() == SqlType::Date { "date" } else { "datetime" };
                            call.fault(Error::truncated_wrong_value(kind, shown(s)))?;
                        }
                        Ok(Some(v))
                    }
                    Err(_) => {
                        call.fault(Error::wrong_value_for_type("datetime", shown(s), "str_to_date"))?;
                        Ok(None)
                    }
                }
            };
            match call.ty() {
                SqlType::Date => r.fixed(|i| Ok(read(i)?.map(|v| v.value.date().0)))?,
                SqlType::Time { .. } => r.fixed(|i| Ok(read(i)?.map(|v| v.time.0)))?,
                _ => r.fixed(|i| Ok(read(i)?.map(|v| v.value.0)))?,
            }
        }
        FromUnixtime => {
            let mut zone = local(session);
            let mut at = |i: usize| {
                let micros = micros_of_number(call, 0, i);
                if !(0..(UNIXTIME_MAX + 1) * 1_000_000).contains(&micros) {
                    return None;
                }
                // The zero TIMESTAMP is the zero date, but second 0 is a moment.
                let micros = micros as i64;
                if micros == 0 {
                    let next = zone.to_datetime(Timestamp(1));
                    return DateTime::from_linear(next.linear() - 1);
                }
                Some(zone.to_datetime(Timestamp(micros)))
            };
            match call.ty() {
                SqlType::DateTime { .. } => r.fixed(|i| Ok(at(i).map(|d| d.0)))?,
                _ => r.strings(|i, out| {
                    let format = call.bytes(1, i);
                    let out = out.at_most(FORMATTED_BYTES_MAX * format.len())?;
                    Ok(!format.is_empty() && at(i).is_some_and(|d| date_format_in(session.locale, d, format, out)))
                })?,
            }
        }
        UnixTimestamp => {
            let scale = if let SqlType::Decimal { scale, .. } = call.ty() { scale } else { 0 };
            let unit = 10i64.pow(6 - scale as u32);
            let mut zone = local(session);
            r.fixed(|i| {
                let micros = match call.types.first() {
                    None => session.statement_time_us,
                    Some(SqlType::Timestamp { .. }) => call.int(0, i),
                    Some(_) => {
                        let d = datetime(call, 0, i);
                        match zone.to_timestamp(d) {
                            Some(t) => t.timestamp().0,
                            None => 0,
                        }
                    }
                };
                let in_range = (0..=UNIXTIME_MAX as i64 * 1_000_000).contains(&micros);
                Ok(Some(if in_range { micros / unit } else { 0 }))
            })?
        }
        Makedate => r.fixed(|i| Ok(types::Date::from_year_day(call.int(0, i), call.int(1, i)).map(|d| d.0)))?,
        Maketime => r.fixed(|i| {
            let (h, m, s) = (call.int(0, i), call.int(1, i), micros_of_number(call, 2, i));
            // What rounds up to the minute was less than it.
            if !(0..60).contains(&m) || !(0..=60_000_000).contains(&s) || s == 60_000_000 && whole_minute(call, i) {
                return Ok(None);
            }
            let size = h.unsigned_abs().min(1000) as i64 * 3600 * MICROS_PER_SECOND;
            let size = size + m * 60 * MICROS_PER_SECOND + s as i64;
            let (t, clamped) = Time::clamped(if h < 0 { -size } else { size });
            if clamped {
                call.fault(Error::truncated_wrong_value("time", format_args!("{h}:{m:02}:{:02}", s / 1_000_000)))?;
            }
            Ok(Some(t.0))
        })?,
        SecToTime => r.fixed(|i| {
            let micros = micros_of_number(call, 0, i).clamp(i64::MIN as i128, i64::MAX as i128) as i64;
            let (t, clamped) = Time::clamped(micros);
            if clamped {
                call.fault(Error::truncated_wrong_value("time", micros / MICROS_PER_SECOND))?;
            }
            Ok(Some(t.0))
        })?,
        TimeToSec => r.fixed(|i| {
            let t = time(call, 0, i);
            let s = t.hour() * 3600 + t.minute() * 60 + t.second();
            Ok(Some(if t.is_negative() { -s } else { s }))
        })?,
        PeriodAdd => r.fixed(|i| {
            let p = call.int(0, i);
            check_period(p, "period_add")?;
            Ok(Some(months_to_period(period_to_months(p) + call.int(1, i).clamp(-1 << 40, 1 << 40))))
        })?,
        PeriodDiff => r.fixed(|i| {
            let (a, b) = (call.int(0, i), call.int(1, i));
            check_period(a, "period_diff")?;
            check_period(b, "period_diff")?;
            Ok(Some(period_to_months(a) - period_to_months(b)))
        })?,
        ConvertTz => r.fixed(|i| {
            let zone = |k: usize| std::str::from_utf8(call.bytes(k, i)).ok().and_then(TimeZone::parse);
            let (Some(from), Some(to)) = (zone(1), zone(2)) else { return Ok(None) };
            let d = datetime(call, 0, i);
            let Some(t) = from.to_timestamp(d) else { return Ok(None) };
            let t = t.timestamp();
            // Outside of the years that UNIX_TIMESTAMP knows nothing is converted.
            let known = t >= Timestamp::MIN && (t.0 as i128) < (UNIXTIME_MAX + 1) * MICROS_PER_SECOND as i128;
            Ok(Some(if known && !d.is_zero() { to.to_datetime(t).0 } else { d.0 }))
        })?,
        GetFormat => r.strings(|i, out| {
            let text = |k: usize| String::from_utf8_lossy(call.bytes(k, i)).to_ascii_uppercase();
            let format = match (text(0).as_str(), text(1).as_str()) {
                ("DATE", "USA") => "%m.%d.%Y",
                ("DATE", "JIS" | "ISO") => "%Y-%m-%d",
                ("DATE", "EUR") => "%d.%m.%Y",
                ("DATE", "INTERNAL") => "%Y%m%d",
                ("TIME", "USA") => "%h:%i:%s %p",
                ("TIME", "JIS" | "ISO") => "%H:%i:%s",
                ("TIME", "EUR") => "%H.%i.%s",
                ("TIME", "INTERNAL") => "%H%i%s",
                (_, "USA" | "EUR") => "%Y-%m-%d %H.%i.%s",
                (_, "JIS" | "ISO") => "%Y-%m-%d %H:%i:%s",
                (_, "INTERNAL") => "%Y%m%d%H%i%s",
                _ => return Ok(false),
            };
            out.extend_from_slice(format.as_bytes());
            Ok(true)
        })?,
        Now | Sysdate | UtcTimestamp => {
            let SqlType::DateTime { fsp } = call.ty() else { return Ok(None) };
            r.fixed(|_| Ok(Some(now(call).truncate(fsp).0)))?
        }
        Curtime | UtcTime => {
            let SqlType::Time { fsp } = call.ty() else { return Ok(None) };
            r.fixed(|_| Ok(Some(now(call).time().truncate(fsp).0)))?
        }
        Curdate | UtcDate => r.fixed(|_| Ok(Some(now(call).date().0)))?,
        _ => return Ok(None),
    }))
}

fn check_period(p: i64, function: &str) -> Result<()> {
    if p > 0 && (1..=12).contains(&(p % 100)) { Ok(()) } else { Err(Error::wrong_arguments(function)) }
}
