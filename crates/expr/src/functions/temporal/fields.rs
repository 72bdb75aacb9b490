//! Fields of dates and times. DATE is packed as year, month, day, so that YEAR and MONTH of a column are shifts over a
//! slice.

use crate::eval::cast::temporal_mode;
use crate::functions::{Call, IntervalUnit};
use crate::kernels::text::shown;
use types::temporal::MICROS_PER_SECOND;
use types::temporal::parse::{parse_datetime, parse_time};
use types::{Date, DateTime, Error, Result, SqlType, Time};
use vector::{Chunk, Values, Vector};

/// The DATE or DATETIME at a position.
#[inline]
pub(super) fn datetime(call: &Call, k: usize, i: usize) -> DateTime {
    let (c, constant) = call.args[k].chunk();
    let i = if constant { 0 } else { i };
    match &c.values {
        Values::I32(v) => Date(v[i]).midnight(),
        Values::I64(v) => DateTime(v[i]),
        _ => DateTime(0),
    }
}

#[inline]
pub(super) fn time(call: &Call, k: usize, i: usize) -> Time {
    Time(call.int(k, i))
}

/// A function of the date part alone, over the whole array where there is one.
fn of_date(call: &Call, f: impl Fn(Date) -> i64) -> Result<Chunk> {
    let Vector::Flat(c) = &call.args[0] else { return call.rows().fixed(|i| Ok(Some(f(datetime(call, 0, i).date())))) };
    let out = match (&c.values, call.types[0]) {
        (Values::I32(v), SqlType::Date) => v.iter().map(|&d| f(Date(d))).collect(),
        (Values::I64(v), SqlType::DateTime { .. }) => v.iter().map(|&d| f(DateTime(d).date())).collect(),
        _ => return call.rows().fixed(|i| Ok(Some(f(datetime(call, 0, i).date())))),
    };
    Ok(Chunk::new(Values::I64(out), c.validity.clone()))
}

/// A function of the date; dates with a zero month or day are NULL with warning 1292.
fn of_real_date<T: vector::Native>(call: &Call, f: impl Fn(Date) -> T) -> Result<Chunk> {
    call.rows().fixed(|i| {
        let d = datetime(call, 0, i);
        if is_incomplete(call, d.date(), d)? { Ok(None) } else { Ok(Some(f(d.date()))) }
    })
}

pub(super) fn is_incomplete(call: &Call, date: Date, whole: DateTime) -> Result<bool> {
    if !date.has_zero_part() {
        return Ok(false);
    }
    let mut text = Vec::new();
    whole.write_to(0, &mut text);
    call.fault(Error::incorrect_value_1292("datetime", shown(&text)))?;
    Ok(true)
}

/// What a string, TIME or DATETIME argument of TIMEDIFF, ADDTIME and EXTRACT is.
pub(super) enum Moment {
    Time(Time),
    DateTime(DateTime),
}

pub(super) fn moment(call: &Call, k: usize, i: usize) -> Result<Option<Moment>> {
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

/// YEAR, also as EXTRACT.
pub(super) fn year(call: &Call) -> Result<Chunk> {
    of_date(call, |d| d.year() as i64)
}

/// MONTH, also as EXTRACT.
pub(super) fn month(call: &Call) -> Result<Chunk> {
    of_date(call, |d| d.month() as i64)
}

/// DAY, also as EXTRACT.
pub(super) fn day(call: &Call) -> Result<Chunk> {
    of_date(call, |d| d.day() as i64)
}

/// QUARTER, also as EXTRACT.
pub(super) fn quarter(call: &Call) -> Result<Chunk> {
    of_date(call, |d| d.quarter() as i64)
}

/// EXTRACT of a TIME.
pub(super) fn extract_of_time(call: &Call) -> Result<Chunk> {
    let unit = call.unit();
    call.rows().fixed(|i| Ok(Some(time(call, 0, i).extract(unit))))
}

/// EXTRACT of a string, which may be a time or a date and time.
pub(super) fn extract_of_text(call: &Call) -> Result<Chunk> {
    let unit = call.unit();
    call.rows().fixed(|i| {
        Ok(moment(call, 0, i)?.map(|m| match m {
            Moment::Time(t) => t.extract(unit),
            Moment::DateTime(d) => d.extract(unit),
        }))
    })
}

/// EXTRACT of a DATE or DATETIME.
pub(super) fn extract(call: &Call) -> Result<Chunk> {
    match call.unit() {
        IntervalUnit::Year => year(call),
        IntervalUnit::Month => month(call),
        IntervalUnit::Day => day(call),
        IntervalUnit::Quarter => quarter(call),
        unit => call.rows().fixed(|i| Ok(Some(datetime(call, 0, i).extract(unit)))),
    }
}

pub(super) fn hour(call: &Call) -> Result<Chunk> {
    call.rows().fixed(|i| Ok(Some(time(call, 0, i).hour())))
}

pub(super) fn minute(call: &Call) -> Result<Chunk> {
    call.rows().fixed(|i| Ok(Some(time(call, 0, i).minute())))
}

pub(super) fn second(call: &Call) -> Result<Chunk> {
    call.rows().fixed(|i| Ok(Some(time(call, 0, i).second())))
}

pub(super) fn microsecond(call: &Call) -> Result<Chunk> {
    call.rows().fixed(|i| Ok(Some(time(call, 0, i).micros())))
}

pub(super) fn dayofweek(call: &Call) -> Result<Chunk> {
    of_real_date(call, |d| d.day_of_week() as i64)
}

pub(super) fn weekday(call: &Call) -> Result<Chunk> {
    of_real_date(call, |d| d.weekday() as i64)
}

pub(super) fn dayofyear(call: &Call) -> Result<Chunk> {
    of_real_date(call, |d| d.day_of_year() as i64)
}

pub(super) fn to_days(call: &Call) -> Result<Chunk> {
    of_real_date(call, |d| d.day_number() as i64)
}

pub(super) fn weekofyear(call: &Call) -> Result<Chunk> {
    of_real_date(call, |d| d.week(3) as i64)
}

pub(super) fn last_day(call: &Call) -> Result<Chunk> {
    call.rows().fixed(|i| {
        let d = datetime(call, 0, i);
        match d.date().last_day() {
            Some(l) => Ok(Some(l.0)),
            None => {
                is_incomplete(call, d.date(), d)?;
                Ok(None)
            }
        }
    })
}

/// The mode that an argument of WEEK asks for, or the session's.
fn week_mode(call: &Call, k: usize, i: usize) -> u8 {
    if call.len() > k { (call.int(k, i) & 7) as u8 } else { call.ctx.session.default_week_format & 7 }
}

pub(super) fn week(call: &Call) -> Result<Chunk> {
    call.rows().fixed(|i| {
        let d = datetime(call, 0, i);
        if is_incomplete(call, d.date(), d)? {
            return Ok(None);
        }
        Ok(Some(d.date().week(week_mode(call, 1, i)) as i64))
    })
}

pub(super) fn yearweek(call: &Call) -> Result<Chunk> {
    call.rows().fixed(|i| {
        let d = datetime(call, 0, i);
        if is_incomplete(call, d.date(), d)? {
            return Ok(None);
        }
        let mode = if call.len() > 1 { week_mode(call, 1, i) } else { 0 };
        Ok(Some(d.date().yearweek(mode) as i64))
    })
}

pub(super) fn dayname(call: &Call) -> Result<Chunk> {
    let session = call.ctx.session;
    call.rows().strings(|i, out| {
        let d = datetime(call, 0, i);
        if is_incomplete(call, d.date(), d)? {
            return Ok(false);
        }
        out.extend_from_slice(session.locale.days[d.date().weekday() as usize].as_bytes());
        Ok(true)
    })
}

pub(super) fn monthname(call: &Call) -> Result<Chunk> {
    let session = call.ctx.session;
    call.rows().strings(|i, out| {
        let m = datetime(call, 0, i).date().month();
        if m > 0 {
            out.extend_from_slice(session.locale.months[m as usize - 1].as_bytes());
        }
        Ok(m > 0)
    })
}

pub(super) fn to_seconds(call: &Call) -> Result<Chunk> {
    call.rows().fixed(|i| {
        let d = datetime(call, 0, i);
        if is_incomplete(call, d.date(), d)? {
            return Ok(None);
        }
        Ok(Some(d.date().day_number() as i64 * 86_400 + d.micros_of_day() / MICROS_PER_SECOND))
    })
}

pub(super) fn from_days(call: &Call) -> Result<Chunk> {
    call.rows().fixed(|i| Ok(types::Date::from_day_number(call.int(0, i)).map(|d| d.0)))
}

pub(super) fn time_to_sec(call: &Call) -> Result<Chunk> {
    call.rows().fixed(|i| {
        let t = time(call, 0, i);
        let s = t.hour() * 3600 + t.minute() * 60 + t.second();
        Ok(Some(if t.is_negative() { -s } else { s }))
    })
}
