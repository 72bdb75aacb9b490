//! Date and time functions.

mod convert;
mod fields;
mod sums;

use super::YEARS;
use super::built::timestamp;
use super::record::{Body, Kernel, Nulls, Origin, Reads, Ret, new, records};
use super::rules::{Arguments, fsp_of, replace};
use crate::Expr;
use crate::build::implicit_cast;
use Nulls::Maybe;
use Reads::{Clock, TimeZone};
use Ret::{Built, By, Date, Int, NowDateTime, NowTime, Text, Word};
use convert::*;
use fields::*;
use sums::*;
use types::locale::longest;
use types::temporal::str_to_date::{StrToDateKind, str_to_date_kind};
use types::{Collation, Result, SqlType, Value};

records! {
    // The clock
    NOW = new(&["NOW", "CURRENT_TIMESTAMP", "LOCALTIME", "LOCALTIMESTAMP"], 0, 1, "i", NowDateTime, now).reads(Clock);
    SYSDATE = new(&["SYSDATE"], 0, 1, "i", NowDateTime, sysdate).reads(Clock).each_row();
    CURDATE = new(&["CURDATE", "CURRENT_DATE"], 0, 0, "", Date, curdate).reads(Clock);
    CURTIME = new(&["CURTIME", "CURRENT_TIME"], 0, 1, "i", NowTime, curtime).reads(Clock);
    UTC_DATE = new(&["UTC_DATE"], 0, 0, "", Date, utc_date).reads(Clock);
    UTC_TIME = new(&["UTC_TIME"], 0, 1, "i", NowTime, utc_time).reads(Clock);
    UTC_TIMESTAMP = new(&["UTC_TIMESTAMP"], 0, 1, "i", NowDateTime, utc_timestamp).reads(Clock);

    // Fields
    YEAR = new(&["YEAR"], 1, 1, "e", Int, year).nulls(Maybe).values(YEARS);
    MONTH = new(&["MONTH"], 1, 1, "e", Int, month).nulls(Maybe);
    DAY = new(&["DAY", "DAYOFMONTH"], 1, 1, "e", Int, day).nulls(Maybe);
    HOUR = new(&["HOUR"], 1, 1, "T", Int, hour).nulls(Maybe);
    MINUTE = new(&["MINUTE"], 1, 1, "T", Int, minute).nulls(Maybe);
    SECOND = new(&["SECOND"], 1, 1, "T", Int, second).nulls(Maybe);
    MICROSECOND = new(&["MICROSECOND"], 1, 1, "T", Int, microsecond).nulls(Maybe);
    QUARTER = new(&["QUARTER"], 1, 1, "e", Int, quarter).nulls(Maybe);
    DAYOFWEEK = new(&["DAYOFWEEK"], 1, 1, "e", Int, dayofweek).nulls(Maybe).may_warn();
    WEEKDAY = new(&["WEEKDAY"], 1, 1, "e", Int, weekday).nulls(Maybe).may_warn();
    DAYOFYEAR = new(&["DAYOFYEAR"], 1, 1, "e", Int, dayofyear).nulls(Maybe).may_warn();
    WEEK = new(&["WEEK"], 1, 2, "ei", Int, week).nulls(Maybe).may_warn();
    WEEKOFYEAR = new(&["WEEKOFYEAR"], 1, 1, "e", Int, weekofyear).nulls(Maybe).may_warn();
    YEARWEEK = new(&["YEARWEEK"], 1, 2, "ei", Int, yearweek).nulls(Maybe).may_warn().values(YEARS);
    DAYNAME = new(&["DAYNAME"], 1, 1, "e", Word(|l| longest(&l.days)), dayname).nulls(Maybe).may_warn().makes_text();
    MONTHNAME = new(&["MONTHNAME"], 1, 1, "e", Word(|l| longest(&l.months)), monthname).nulls(Maybe).makes_text();
    LAST_DAY = new(&["LAST_DAY"], 1, 1, "e", Date, last_day).nulls(Maybe).may_warn();
    TO_DAYS = new(&["TO_DAYS"], 1, 1, "e", Int, to_days).nulls(Maybe).may_warn();
    TO_SECONDS = new(&["TO_SECONDS"], 1, 1, "e", Int, to_seconds).nulls(Maybe).may_warn();
    FROM_DAYS = new(&["FROM_DAYS"], 1, 1, "i", Date, from_days).nulls(Maybe);
    TIME_TO_SEC = new(&["TIME_TO_SEC"], 1, 1, "T", Int, time_to_sec).nulls(Maybe);
    // `EXTRACT(unit FROM x)`; the unit is its detail
    EXTRACT = new(&["EXTRACT"], 1, 1, "m", Int, extract).body(Body::ByType(extract_kernel)).nulls(Maybe)
        .origin(Origin::Grammar);
    // of units from DAY down to a part of the time: of strings, which may be no times
    EXTRACT_DAY_TIME = new(&["EXTRACT"], 1, 1, "m", Int, extract).body(Body::ByType(extract_kernel)).nulls(Maybe)
        .may_warn().origin(Origin::Builder);

    // Sums and differences; the unit of an interval is its function's detail
    DATE_ADD = new(&["DATE_ADD"], 2, 2, "m*", Built, date_add).nulls(Maybe).may_warn().makes_text()
        .origin(Origin::Grammar);
    DATE_SUB = new(&["DATE_SUB"], 2, 2, "m*", Built, date_sub).nulls(Maybe).may_warn().makes_text()
        .origin(Origin::Grammar);
    TIMESTAMP_DIFF = new(&["TIMESTAMPDIFF"], 2, 2, "*", Int, timestamp_diff).nulls(Maybe).may_warn()
        .origin(Origin::Grammar);
    DATEDIFF = new(&["DATEDIFF"], 2, 2, "e", Int, datediff).nulls(Maybe).may_warn();
    TIMEDIFF = new(&["TIMEDIFF"], 2, 2, "m", By(time), timediff).converts(moments).nulls(Maybe).may_warn();
    ADDTIME = new(&["ADDTIME"], 2, 2, "mt", By(moved), addtime).converts(moment_and_time).nulls(Maybe).may_warn()
        .makes_text();
    SUBTIME = new(&["SUBTIME"], 2, 2, "mt", By(moved), subtime).converts(moment_and_time).nulls(Maybe).may_warn()
        .makes_text();
    TIMESTAMP_OF = new(&["TIMESTAMP"], 1, 2, "*", By(datetime_of_all), timestamp_of).instead(timestamp)
        .converts(datetime_and_time).nulls(Maybe).may_warn();
    PERIOD_ADD = new(&["PERIOD_ADD"], 2, 2, "i", Int, period_add).may_warn();
    PERIOD_DIFF = new(&["PERIOD_DIFF"], 2, 2, "i", Int, period_diff).may_warn();

    // Conversions
    DATE_FORMAT = new(&["DATE_FORMAT"], 2, 2, "es", By(formatted), date_format).nulls(Maybe)
        .keeps_collations().makes_text();
    TIME_FORMAT = new(&["TIME_FORMAT"], 2, 2, "Ts", By(formatted), time_format).nulls(Maybe)
        .keeps_collations().makes_text();
    GET_FORMAT = new(&["GET_FORMAT"], 2, 2, "s", Text(32), get_format).nulls(Maybe).makes_text();
    STR_TO_DATE = new(&["STR_TO_DATE"], 2, 2, "s", By(by_format), str_to_date).nulls(Maybe).may_warn();
    FROM_UNIXTIME = new(&["FROM_UNIXTIME"], 1, 2, "ns", By(of_unixtime), from_unixtime).nulls(Maybe).reads(TimeZone)
        .makes_text();
    UNIX_TIMESTAMP = new(&["UNIX_TIMESTAMP"], 0, 1, "*", By(seconds), unix_timestamp).converts(datetime_or_timestamp)
        .nulls(Maybe).reads(TimeZone);
    MAKEDATE = new(&["MAKEDATE"], 2, 2, "i", Date, makedate).nulls(Maybe);
    MAKETIME = new(&["MAKETIME"], 3, 3, "iin", By(time_of_last), maketime).nulls(Maybe).may_warn();
    SEC_TO_TIME = new(&["SEC_TO_TIME"], 1, 1, "n", By(time_of_last), sec_to_time).nulls(Maybe).may_warn();
    CONVERT_TZ = new(&["CONVERT_TZ"], 3, 3, "ess", By(datetime_of_first), convert_tz).keeps_collations().nulls(Maybe)
        .reads(TimeZone);
}

fn extract_kernel(args: &[SqlType], _: &SqlType) -> Kernel {
    match args {
        [SqlType::Time { .. }] => extract_of_time,
        [SqlType::String { .. }] => extract_of_text,
        _ => extract,
    }
}

fn as_datetime(e: Expr) -> Expr {
    match e.ty {
        SqlType::DateTime { .. } => e,
        _ => {
            let fsp = fsp_of(&e);
            implicit_cast(e, SqlType::DateTime { fsp })
        }
    }
}

fn as_time(e: Expr) -> Expr {
    match e.ty {
        SqlType::Time { .. } => e,
        _ => {
            let fsp = fsp_of(&e);
            implicit_cast(e, SqlType::Time { fsp })
        }
    }
}

/// Strings are read as whatever they look like, row by row.
fn as_moment(e: Expr) -> Expr {
    match e.ty {
        SqlType::Time { .. } | SqlType::Date | SqlType::DateTime { .. } | SqlType::String { .. } => e,
        SqlType::Timestamp { fsp } => implicit_cast(e, SqlType::DateTime { fsp }),
        _ => implicit_cast(e, SqlType::Time { fsp: 6 }),
    }
}

fn moments(args: &mut [Expr], _: Collation) -> Result<()> {
    args.iter_mut().for_each(|a| replace(a, as_moment));
    Ok(())
}

fn moment_and_time(args: &mut [Expr], _: Collation) -> Result<()> {
    replace(&mut args[0], as_moment);
    replace(&mut args[1], as_time);
    Ok(())
}

fn datetime_and_time(args: &mut [Expr], _: Collation) -> Result<()> {
    replace(&mut args[0], as_datetime);
    replace(&mut args[1], as_time);
    Ok(())
}

fn datetime_or_timestamp(args: &mut [Expr], _: Collation) -> Result<()> {
    if let Some(e) = args.first_mut().filter(|e| !matches!(e.ty, SqlType::Timestamp { .. })) {
        replace(e, as_datetime);
    }
    Ok(())
}

fn time(a: &Arguments) -> Result<SqlType> {
    Ok(SqlType::Time { fsp: a.fsp() })
}

fn datetime_of_all(a: &Arguments) -> Result<SqlType> {
    Ok(SqlType::DateTime { fsp: a.fsp() })
}

fn datetime_of_first(a: &Arguments) -> Result<SqlType> {
    Ok(SqlType::DateTime { fsp: fsp_of(&a.args[0]) })
}

fn time_of_last(a: &Arguments) -> Result<SqlType> {
    Ok(SqlType::Time { fsp: a.args.last().map_or(0, fsp_of) })
}

/// What ADDTIME yields: what its first argument is; text of a string.
fn moved(a: &Arguments) -> Result<SqlType> {
    let fsp = a.fsp();
    Ok(match a.first() {
        SqlType::Time { .. } => SqlType::Time { fsp },
        t if t.is_temporal() => SqlType::DateTime { fsp },
        _ => SqlType::varchar(29, a.connection),
    })
}

/// Text by the format that the second argument is.
fn formatted(a: &Arguments) -> Result<SqlType> {
    Ok(a.text(a.len(1).saturating_mul(16).min(1 << 12)))
}

fn of_unixtime(a: &Arguments) -> Result<SqlType> {
    if a.args.len() == 1 { datetime_of_first(a) } else { formatted(a) }
}

/// What STR_TO_DATE with this format yields.
fn by_format(a: &Arguments) -> Result<SqlType> {
    let Some(Value::Bytes(format)) = a.args[1].as_const() else { return Ok(SqlType::DateTime { fsp: 6 }) };
    Ok(match str_to_date_kind(format) {
        StrToDateKind::Date => SqlType::Date,
        StrToDateKind::Time { fsp } => SqlType::Time { fsp },
        StrToDateKind::DateTime { fsp } => SqlType::DateTime { fsp },
    })
}

fn seconds(a: &Arguments) -> Result<SqlType> {
    Ok(match a.args.first().map_or(0, fsp_of) {
        0 => SqlType::BIGINT,
        fsp => SqlType::Decimal { precision: 12 + fsp, scale: fsp },
    })
}
