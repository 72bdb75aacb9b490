//! The clock, and conversions: texts, UNIX times, parts.

use super::fields::{datetime, time};
use crate::eval::Exact;
use crate::eval::cast::{local, statement_now, temporal_mode};
use crate::functions::Call;
use crate::kernels::text::shown;
use types::temporal::date_format::date_format_in;
use types::temporal::{MICROS_PER_SECOND, TimeZone};
use types::{DateTime, Error, Result, SqlType, Time, Timestamp};
use vector::{Chunk, Values};

/// Bytes of a formatted time for each byte of its format: `%W` in any locale.
const FORMATTED_BYTES_MAX: usize = 32;

/// Now as the server's clock has it, at this moment.
fn clock(call: &Call) -> DateTime {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let micros = since.map_or(0, |d| d.as_micros() as i64);
    local(call.ctx.session).to_datetime(Timestamp(micros))
}

/// When the statement began, in UTC.
fn utc(call: &Call) -> DateTime {
    Timestamp(call.ctx.session.statement_time_us).to_utc()
}

fn as_datetime(call: &Call, now: impl Fn() -> DateTime) -> Result<Chunk> {
    let fsp = crate::build::scale_of(&call.ty());
    call.rows().fixed(|_| Ok(Some(now().truncate(fsp).0)))
}

fn as_time(call: &Call, now: DateTime) -> Result<Chunk> {
    let fsp = crate::build::scale_of(&call.ty());
    call.rows().fixed(|_| Ok(Some(now.time().truncate(fsp).0)))
}

pub(super) fn now(call: &Call) -> Result<Chunk> {
    let now = statement_now(call.ctx.session);
    as_datetime(call, || now)
}

pub(super) fn sysdate(call: &Call) -> Result<Chunk> {
    as_datetime(call, || clock(call))
}

pub(super) fn utc_timestamp(call: &Call) -> Result<Chunk> {
    as_datetime(call, || utc(call))
}

pub(super) fn curtime(call: &Call) -> Result<Chunk> {
    as_time(call, statement_now(call.ctx.session))
}

pub(super) fn utc_time(call: &Call) -> Result<Chunk> {
    as_time(call, utc(call))
}

pub(super) fn curdate(call: &Call) -> Result<Chunk> {
    let today = statement_now(call.ctx.session).date();
    call.rows().fixed(|_| Ok(Some(today.0)))
}

pub(super) fn utc_date(call: &Call) -> Result<Chunk> {
    let today = utc(call).date();
    call.rows().fixed(|_| Ok(Some(today.0)))
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

pub(super) fn date_format(call: &Call) -> Result<Chunk> {
    let session = call.ctx.session;
    call.rows().strings(|i, out| {
        let format = call.bytes(1, i);
        let out = out.at_most(FORMATTED_BYTES_MAX * format.len())?;
        Ok(!format.is_empty() && date_format_in(session.locale, datetime(call, 0, i), format, out))
    })
}

pub(super) fn time_format(call: &Call) -> Result<Chunk> {
    call.rows().strings(|i, out| {
        let format = call.bytes(1, i);
        let out = out.at_most(FORMATTED_BYTES_MAX * format.len())?;
        Ok(!format.is_empty() && types::temporal::date_format::time_format(time(call, 0, i), format, out))
    })
}

pub(super) fn str_to_date(call: &Call) -> Result<Chunk> {
    let session = call.ctx.session;
    let mode = temporal_mode(session);
    let read = |i: usize| {
        let s = call.bytes(0, i);
        match types::temporal::str_to_date::str_to_date(s, call.bytes(1, i), mode) {
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
        SqlType::Date => call.rows().fixed(|i| Ok(read(i)?.map(|v| v.value.date().0))),
        SqlType::Time { .. } => call.rows().fixed(|i| Ok(read(i)?.map(|v| v.time.0))),
        _ => call.rows().fixed(|i| Ok(read(i)?.map(|v| v.value.0))),
    }
}

pub(super) fn from_unixtime(call: &Call) -> Result<Chunk> {
    let session = call.ctx.session;
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
        SqlType::DateTime { .. } => call.rows().fixed(|i| Ok(at(i).map(|d| d.0))),
        _ => call.rows().strings(|i, out| {
            let format = call.bytes(1, i);
            let out = out.at_most(FORMATTED_BYTES_MAX * format.len())?;
            Ok(!format.is_empty() && at(i).is_some_and(|d| date_format_in(session.locale, d, format, out)))
        }),
    }
}

pub(super) fn unix_timestamp(call: &Call) -> Result<Chunk> {
    let session = call.ctx.session;
    let scale = if let SqlType::Decimal { scale, .. } = call.ty() { scale } else { 0 };
    let unit = 10i64.pow(6 - scale as u32);
    let mut zone = local(session);
    call.rows().fixed(|i| {
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
    })
}

pub(super) fn makedate(call: &Call) -> Result<Chunk> {
    call.rows().fixed(|i| Ok(types::Date::from_year_day(call.int(0, i), call.int(1, i)).map(|d| d.0)))
}

pub(super) fn maketime(call: &Call) -> Result<Chunk> {
    call.rows().fixed(|i| {
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
    })
}

pub(super) fn sec_to_time(call: &Call) -> Result<Chunk> {
    call.rows().fixed(|i| {
        let micros = micros_of_number(call, 0, i).clamp(i64::MIN as i128, i64::MAX as i128) as i64;
        let (t, clamped) = Time::clamped(micros);
        if clamped {
            call.fault(Error::truncated_wrong_value("time", micros / MICROS_PER_SECOND))?;
        }
        Ok(Some(t.0))
    })
}

pub(super) fn convert_tz(call: &Call) -> Result<Chunk> {
    call.rows().fixed(|i| {
        let zone = |k: usize| std::str::from_utf8(call.bytes(k, i)).ok().and_then(TimeZone::parse);
        let (Some(from), Some(to)) = (zone(1), zone(2)) else { return Ok(None) };
        let d = datetime(call, 0, i);
        let Some(t) = from.to_timestamp(d) else { return Ok(None) };
        let t = t.timestamp();
        // Outside of the years that UNIX_TIMESTAMP knows nothing is converted.
        let known = t >= Timestamp::MIN && (t.0 as i128) < (UNIXTIME_MAX + 1) * MICROS_PER_SECOND as i128;
        Ok(Some(if known && !d.is_zero() { to.to_datetime(t).0 } else { d.0 }))
    })
}

pub(super) fn get_format(call: &Call) -> Result<Chunk> {
    call.rows().strings(|i, out| {
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
    })
}
