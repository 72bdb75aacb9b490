//! Texts and numbers as dates and times: MySQL's manual, "Date and Time Literals" and "The DATE, DATETIME, and
//! TIMESTAMP Types".
//!
//! - Delimited: `2024-12-31 23:59:59.5`, any punctuation between the parts, one-digit parts allowed, `T` for the space.
//! - Solid: `YYYYMMDD`, `YYMMDD`, `YYYYMMDDhhmmss`, `YYMMDDhhmmss`, optionally with a fraction.
//! - A time zone offset `+05:30` may end a text with a time.
//! - TIME: `[D ]hh[:mm[:ss]]`, `hhmmss`, or a whole DATETIME.
//!
//! Reading gives a value with what was wrong about it, or a fault: callers turn faults into NULL and warning 1292, or
//! into an error in strict mode.

use super::calendar::{days_in_month, expand_year};
use super::{Date, DateTime, MICROS_PER_DAY, MICROS_PER_SECOND, Time};

/// The parts of `sql_mode` that say which dates are allowed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TemporalMode {
    /// NO_ZERO_DATE: '0000-00-00' is a fault.
    pub no_zero_date: bool,
    /// NO_ZERO_IN_DATE: '2024-00-01' and '2024-01-00' are faults.
    pub no_zero_in_date: bool,
    /// ALLOW_INVALID_DATES: '2024-02-31' is allowed.
    pub allow_invalid_dates: bool,
    /// TIME_TRUNCATE_FRACTIONAL: fractions are cut, not rounded.
    pub truncate_fractional: bool,
}

impl TemporalMode {
    /// Everything that can be packed.
    pub const RELAXED: TemporalMode = TemporalMode {
        no_zero_date: false,
        no_zero_in_date: false,
        allow_invalid_dates: false,
        truncate_fractional: false,
    };
    /// Real dates only.
    pub const STRICT: TemporalMode = TemporalMode {
        no_zero_date: true,
        no_zero_in_date: true,
        allow_invalid_dates: false,
        truncate_fractional: false,
    };

    /// Whether the mode admits `date`.
    #[inline]
    pub fn admits(self, date: Date) -> Result<(), TemporalFault> {
        if date.is_zero() {
            return if self.no_zero_date { Err(TemporalFault::ZeroDate) } else { Ok(()) };
        }
        let (month, day) = (date.month(), date.day());
        if month == 0 || day == 0 {
            return if self.no_zero_in_date { Err(TemporalFault::ZeroPart) } else { Ok(()) };
        }
        if self.allow_invalid_dates || day <= days_in_month(date.year(), month) {
            return Ok(());
        }
        Err(TemporalFault::OutOfRange)
    }
}

/// Why a text or number is no date or time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TemporalFault {
    /// Not of any of the forms, or a part of a date beyond what the part can be (month 13, hour 25).
    Malformed,
    /// No such day, or a value beyond the type's range.
    OutOfRange,
    /// '0000-00-00', which the mode forbids.
    ZeroDate,
    /// A zero month or day, which the mode forbids.
    ZeroPart,
}

/// A text read as DATE or DATETIME.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DatetimeText {
    /// Rounded (or cut) to microseconds.
    pub value: DateTime,
    /// The text has a time part.
    pub has_time: bool,
    /// Fractional digits written, at most 6.
    pub fsp: u8,
    /// Something else follows: warning 1292.
    pub truncated: bool,
    /// Seconds east of UTC that the text names; the value is then local to that offset.
    pub offset: Option<i32>,
}

/// A text read as TIME.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimeText {
    /// Rounded (or cut) to microseconds.
    pub value: Time,
    /// Fractional digits written, at most 6.
    pub fsp: u8,
    /// Something else follows: warning 1292.
    pub truncated: bool,
    /// The text was beyond 838:59:59 and clamped.
    pub clamped: bool,
    /// The text was a whole DATETIME, of which this is the date.
    pub date: Option<Date>,
}

#[inline]
fn is_space(b: u8) -> bool {
    matches!(b, b' ' | b'\t'..=b'\r')
}

fn skip_spaces(text: &[u8], mut at: usize) -> usize {
    while at < text.len() && is_space(text[at]) {
        at += 1;
    }
    at
}

fn digit_run(text: &[u8], at: usize) -> usize {
    text[at.min(text.len())..].iter().take_while(|b| b.is_ascii_digit()).count()
}

/// Digits after a point: (microseconds, digits that count, whether the seventh rounds up, bytes used).
fn read_fraction(text: &[u8], at: usize) -> (i64, u8, bool, usize) {
    let n = digit_run(text, at);
    let mut micros = 0i64;
    for k in 0..6 {
        micros = micros * 10 + if k < n { (text[at + k] - b'0') as i64 } else { 0 };
    }
    (micros, n.min(6) as u8, n > 6 && text[at + 6] >= b'5', n)
}

/// `+hh:mm` at `at`, with MySQL's range -13:59 ..= +14:00: seconds east of UTC. A bare `-00:00` is not allowed.
pub(crate) fn read_offset(text: &[u8], at: usize) -> Option<(i32, usize)> {
    let t = text.get(at..at + 6)?;
    if !matches!(t[0], b'+' | b'-') || t[3] != b':' {
        return None;
    }
    let pair = |k: usize| -> Option<i32> {
        (t[k].is_ascii_digit() && t[k + 1].is_ascii_digit()).then(|| ((t[k] - b'0') * 10 + (t[k + 1] - b'0')) as i32)
    };
    let (h, m) = (pair(1)?, pair(4)?);
    let minutes = h * 60 + m;
    let negative = t[0] == b'-';
    if m > 59 || (negative && (minutes == 0 || minutes > 839)) || minutes > 840 {
        return None;
    }
    Some((if negative { -minutes } else { minutes } * 60, 6))
}

/// Reads a DATE or DATETIME.
pub fn parse_datetime(text: &[u8], mode: TemporalMode) -> Result<DatetimeText, TemporalFault> {
    let start = skip_spaces(text, 0);
    if !text.get(start).is_some_and(|b| b.is_ascii_digit()) {
        return Err(TemporalFault::Malformed);
    }
    // Digits up to the first other byte ('T' may stand between solid date and time) decide between the two forms.
    let solid = text[start..].iter().take_while(|b| b.is_ascii_digit() || **b == b'T').count();
    let is_solid = matches!(text.get(start + solid), None | Some(b'.')) || only_spaces(text, start + solid);
    let year_digits = if is_solid { if matches!(solid, 4 | 8) || solid >= 14 { 4 } else { 2 } } else { usize::MAX };

    let mut parts = [0i64; 6];
    let (mut micros, mut fsp, mut round_up) = (0, 0, false);
    let mut offset = None;
    let mut year_len = 0;
    let mut at = start;
    let mut count = 0;
    // `at` may run ahead over delimiters; `end` is after the last byte that belongs to the value.
    let mut end = at;
    while count < 6 && text.get(at).is_some_and(|b| b.is_ascii_digit()) {
        let limit = match (is_solid, count) {
            (true, 0) => year_digits,
            (true, _) => 2,
            (false, _) => usize::MAX,
        };
        let n = digit_run(text, at).min(limit);
        let mut v = 0i64;
        for b in &text[at..at + n] {
            v = v * 10 + (b - b'0') as i64;
            if v > 999_999 {
                return Err(TemporalFault::Malformed);
            }
        }
        parts[count] = v;
        if count == 0 {
            year_len = n;
        }
        at += n;
        end = at;
        count += 1;
        if at == text.len() {
            break;
        }
        if count == 3 && text[at] == b'T' {
            at += 1;
            continue;
        }
        if count == 6 {
            if text[at] == b'.' {
                let (m, f, up, n) = read_fraction(text, at + 1);
                (micros, fsp, round_up) = (m, f, up);
                at += 1 + n;
                end = at;
            }
            break;
        }
        if count >= 4
            && matches!(text[at], b'+' | b'-')
            && let Some((o, n)) = read_offset(text, at)
            && only_spaces(text, at + n)
        {
            offset = Some(o);
            at += n;
            end = at;
            break;
        }
        // Delimiters: punctuation anywhere, spaces only between date and time.
        while at < text.len() && (text[at].is_ascii_punctuation() || (is_space(text[at]) && count == 3)) {
            at += 1;
        }
        if at == text.len() {
            end = at; // delimiters behind the last part are part of it
        }
    }
    if count == 6
        && offset.is_none()
        && matches!(text.get(end), Some(b'+' | b'-'))
        && let Some((o, n)) = read_offset(text, end)
    {
        offset = Some(o);
        end += n;
    }
    let [mut year, month, day, hour, minute, second] = parts;
    let nonzero = parts.iter().any(|&p| p != 0) || micros != 0;
    if year_len <= 2 && (is_solid || year_len == 2) && nonzero {
        year = expand_year(year as i32) as i64;
    }
    if count < 3 {
        return Err(TemporalFault::Malformed);
    }
    if year > 9999 || month > 12 || day > 31 || hour > 23 || minute > 59 || second > 59 {
        return Err(TemporalFault::Malformed);
    }
    let date = Date::from_ymd(year as i32, month as i32, day as i32);
    mode.admits(date)?;
    let truncated = !only_spaces(text, end);
    let mut time = (hour * 3600 + minute * 60 + second) * MICROS_PER_SECOND + micros;
    if round_up && !mode.truncate_fractional {
        time += 1;
    }
    let value = if time < MICROS_PER_DAY {
        date.at(time)
    } else {
        DateTime::from_linear(date.midnight().linear() + time).ok_or(TemporalFault::OutOfRange)?
    };
    Ok(DatetimeText { value, has_time: count > 3, fsp, truncated, offset })
}

fn only_spaces(text: &[u8], at: usize) -> bool {
    skip_spaces(text, at) == text.len()
}

/// Reads a DATE: a time part is allowed and dropped by the caller's choice (`has_time`).
pub fn parse_date(text: &[u8], mode: TemporalMode) -> Result<DatetimeText, TemporalFault> {
    parse_datetime(text, mode)
}

/// Reads a TIME.
pub fn parse_time(text: &[u8], mode: TemporalMode) -> Result<TimeText, TemporalFault> {
    let mut at = skip_spaces(text, 0);
    let mut negative = false;
    if text.get(at) == Some(&b'-') {
        negative = true;
        at += 1;
    } else if text.get(at) == Some(&b'+') {
        at += 1;
    }
    if at == text.len() {
        return Err(TemporalFault::Malformed);
    }
    // Long texts may be whole DATETIMEs.
    if text.len() - at >= 12
        && let Some(t) = time_of_datetime(&text[at..], mode)
    {
        return Ok(t);
    }
    let n = digit_run(text, at);
    if n == 0 && text.get(at) != Some(&b'.') {
        return Err(TemporalFault::Malformed);
    }
    let number = |from: usize, n: usize| -> Result<i64, TemporalFault> {
        let mut v = 0i64;
        for b in &text[from..from + n] {
            v = v * 10 + (b - b'0') as i64;
            if v > u32::MAX as i64 {
                return Err(TemporalFault::OutOfRange);
            }
        }
        Ok(v)
    };
    let first = number(at, n)?;
    at += n;
    let spaced = skip_spaces(text, at);
    let (mut days, mut minutes, mut seconds) = (0, 0, 0);
    let hours;
    let next_is_digit = |k: usize| text.get(k).is_some_and(|b| b.is_ascii_digit());
    let colon_number = |k: usize| text.get(k) == Some(&b':') && next_is_digit(k + 1);
    let read_colon_parts = |mut k: usize, slots: &mut [&mut i64]| -> Result<usize, TemporalFault> {
        for slot in slots {
            if !colon_number(k) {
                break;
            }
            let n = digit_run(text, k + 1);
            **slot = number(k + 1, n)?;
            k += 1 + n;
        }
        Ok(k)
    };
    // A day and one digit, `1 5`, is not of this form, as in MySQL.
    if spaced > at && next_is_digit(spaced) && spaced + 1 < text.len() {
        days = first;
        let n = digit_run(text, spaced);
        hours = number(spaced, n)?;
        at = read_colon_parts(spaced + n, &mut [&mut minutes, &mut seconds])?;
    } else if colon_number(at) {
        hours = first;
        at = read_colon_parts(at, &mut [&mut minutes, &mut seconds])?;
    } else {
        (hours, minutes, seconds) = (first / 10000, first / 100 % 100, first % 100);
    }
    let (mut micros, mut fsp, mut round_up) = (0, 0, false);
    if text.get(at) == Some(&b'.') {
        let (m, f, up, n) = read_fraction(text, at + 1);
        (micros, fsp, round_up) = (m, f, up);
        at += 1 + n;
    }
    if matches!(text.get(at), Some(b'e' | b'E'))
        && (next_is_digit(at + 1) || (matches!(text.get(at + 1), Some(b'+' | b'-')) && next_is_digit(at + 2)))
    {
        return Err(TemporalFault::Malformed);
    }
    if minutes > 59 || seconds > 59 {
        return Err(TemporalFault::OutOfRange);
    }
    // Hours are bounded before they are multiplied.
    let hours = (days * 24 + hours).min(10_000);
    let mut total = (hours * 3600 + minutes * 60 + seconds) * MICROS_PER_SECOND + micros;
    if round_up && !mode.truncate_fractional {
        total += 1;
    }
    let (value, clamped) = Time::clamped(if negative { -total } else { total });
    Ok(TimeText { value, fsp, truncated: !only_spaces(text, at), clamped, date: None })
}

fn time_of_datetime(text: &[u8], mode: TemporalMode) -> Option<TimeText> {
    let relaxed = TemporalMode { truncate_fractional: mode.truncate_fractional, ..TemporalMode::RELAXED };
    let d = parse_datetime(text, relaxed).ok()?;
    if !d.has_time {
        return None;
    }
    // `12:30:45.123` has the shape of a delimited date: only a break between date and time tells them apart.
    let solid = text.iter().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'T') || is_space(*b));
    if !solid && !text.iter().any(|b| *b == b'T' || is_space(*b)) {
        return None;
    }
    Some(TimeText {
        value: d.value.time(),
        fsp: d.fsp,
        truncated: d.truncated,
        clamped: false,
        date: Some(d.value.date()),
    })
}

/// A number as DATETIME: `YYMMDD`, `YYYYMMDD`, `YYMMDDhhmmss` or `YYYYMMDDhhmmss`. The flag says that it has a time.
pub fn datetime_from_number(n: i64, mode: TemporalMode) -> Result<(DateTime, bool), TemporalFault> {
    let (full, has_time) = match n {
        0 => (0, false),
        1..101 => return Err(TemporalFault::Malformed),
        101..=691_231 => ((n + 20_000_000) * 1_000_000, false),
        691_232..700_101 => return Err(TemporalFault::Malformed),
        700_101..=991_231 => ((n + 19_000_000) * 1_000_000, false),
        991_232..=99_991_231 => (n * 1_000_000, false),
        99_991_232..101_000_000 => return Err(TemporalFault::Malformed),
        101_000_000..=691_231_235_959 => (n + 20_000_000_000_000, true),
        691_231_235_960..700_101_000_000 => return Err(TemporalFault::Malformed),
        700_101_000_000..=991_231_235_959 => (n + 19_000_000_000_000, true),
        991_231_235_960..=99_991_231_235_959 => (n, true),
        _ => return Err(TemporalFault::OutOfRange),
    };
    let (d, t) = (full / 1_000_000, full % 1_000_000);
    let (year, month, day) = (d / 10000, d / 100 % 100, d % 100);
    let (hour, minute, second) = (t / 10000, t / 100 % 100, t % 100);
    if month > 12 || day > 31 || hour > 23 || minute > 59 || second > 59 {
        return Err(TemporalFault::Malformed);
    }
    let date = Date::from_ymd(year as i32, month as i32, day as i32);
    mode.admits(date)?;
    Ok((date.at((hour * 3600 + minute * 60 + second) * MICROS_PER_SECOND), has_time))
}

/// A number as TIME: `hhmmss`, or a whole DATETIME number. The flag says that it was clamped.
pub fn time_from_number(n: i64) -> Result<(Time, bool), TemporalFault> {
    if n.unsigned_abs() > 8_385_959 {
        if n >= 10_000_000_000
            && let Ok((d, true)) = datetime_from_number(n, TemporalMode::RELAXED)
        {
            return Ok((d.time(), false));
        }
        return Ok((if n < 0 { Time::MIN } else { Time::MAX }, true));
    }
    let m = n.abs();
    let (hours, minutes, seconds) = (m / 10000, m / 100 % 100, m % 100);
    if minutes > 59 || seconds > 59 {
        return Err(TemporalFault::OutOfRange);
    }
    let t = (hours * 3600 + minutes * 60 + seconds) * MICROS_PER_SECOND;
    Ok((Time(if n < 0 { -t } else { t }), false))
}

/// A year as the YEAR type stores it: 0, or 1901..=2155. Numbers 1..=99 are two-digit years; from texts, `'0'` and
/// `'00'` are 2000 too (`from_text`).
pub fn year_from_number(n: i64, from_text: bool) -> Option<i16> {
    match n {
        0 => Some(if from_text { 2000 } else { 0 }),
        1..100 => Some(expand_year(n as i32) as i16),
        1901..=2155 => Some(n as i16),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dt(text: &str) -> String {
        match parse_datetime(text.as_bytes(), TemporalMode::RELAXED) {
            Ok(d) => format!("{}{}", d.value, if d.truncated { "!" } else { "" }),
            Err(e) => format!("{e:?}"),
        }
    }

    fn tm(text: &str) -> String {
        match parse_time(text.as_bytes(), TemporalMode::RELAXED) {
            Ok(d) => format!("{}{}", d.value, if d.truncated || d.clamped { "!" } else { "" }),
            Err(e) => format!("{e:?}"),
        }
    }

    #[test]
    fn datetimes() {
        for (text, want) in [
            ("2024-12-31", "2024-12-31 00:00:00"),
            ("2024-1-2 3:4:5", "2024-01-02 03:04:05"),
            ("2012^12^31 11+30+45", "2012-12-31 11:30:45"),
            ("2012-12-31T11:30:45", "2012-12-31 11:30:45"),
            ("20070523091528", "2007-05-23 09:15:28"),
            ("070523091528", "2007-05-23 09:15:28"),
            ("20070523", "2007-05-23 00:00:00"),
            ("070523", "2007-05-23 00:00:00"),
            ("20070523T091528", "2007-05-23 09:15:28"),
            ("20070523091528.25", "2007-05-23 09:15:28.25"),
            ("071332", "Malformed"),
            ("98-12-31", "1998-12-31 00:00:00"),
            ("2024-02-29 10:11:12.1234567", "2024-02-29 10:11:12.123457"),
            ("2024-12-31 23:59:59.9999999", "2025-01-01 00:00:00"),
            ("2023-02-29", "OutOfRange"),
            ("2024-00-00", "2024-00-00 00:00:00"),
            ("0000-00-00 00:00:00", "0000-00-00 00:00:00"),
            ("2024-12-31abc", "2024-12-31 00:00:00!"),
            ("2024-12-31 10:11", "2024-12-31 10:11:00"),
            ("2024-12-31  10", "2024-12-31 10:00:00"),
            ("2024.3:23", "2024-03-23 00:00:00"),
            ("abc", "Malformed"),
            ("", "Malformed"),
            ("2024-12", "Malformed"),
            ("2024-12-31 25:00:00", "Malformed"),
            (" 2024-12-31 ", "2024-12-31 00:00:00"),
            ("2024-12-31 10:", "2024-12-31 10:00:00"),
            ("2024-12-31-", "2024-12-31 00:00:00"),
            ("2024-12-31 10:11:", "2024-12-31 10:11:00"),
            ("10000-01-01", "Malformed"),
        ] {
            assert_eq!(dt(text), want, "{text}");
        }
        let d = parse_datetime(b"2020-01-01 10:10:10+05:30", TemporalMode::STRICT).expect("reads");
        assert_eq!((d.offset, d.truncated), (Some(19800), false));
        let d = parse_datetime(b"2020-01-01 10:10:10.5-08:00", TemporalMode::STRICT).expect("reads");
        assert_eq!((d.offset, d.fsp), (Some(-28800), 1));
        assert_eq!(parse_datetime(b"0000-00-00", TemporalMode::STRICT), Err(TemporalFault::ZeroDate));
        assert_eq!(parse_datetime(b"2024-00-01", TemporalMode::STRICT), Err(TemporalFault::ZeroPart));
    }

    #[test]
    fn times() {
        for (text, want) in [
            ("10:11:12", "10:11:12"),
            ("-10:11:12.5", "-10:11:12.5"),
            ("11:12", "11:12:00"),
            ("1112", "00:11:12"),
            ("12", "00:00:12"),
            ("101112", "10:11:12"),
            ("1 10", "34:00:00"),
            ("1 10:11", "34:11:00"),
            ("1 5", "00:00:01!"),
            ("34 22:59:57", "838:59:57"),
            ("850:00:00", "838:59:59!"),
            ("-850:00:00", "-838:59:59!"),
            ("10:61:00", "OutOfRange"),
            ("2024-12-31 10:11:12", "10:11:12"),
            ("20241231101112", "10:11:12"),
            ("10:11:12.123456789", "10:11:12.123457"),
            ("10:11:12abc", "10:11:12!"),
            ("4294967295 4294967295:00:00", "838:59:59!"),
            ("abc", "Malformed"),
            ("1e3", "Malformed"),
        ] {
            assert_eq!(tm(text), want, "{text}");
        }
    }

    #[test]
    fn numbers() {
        let n = |v| datetime_from_number(v, TemporalMode::RELAXED).map(|d| d.0.to_string()).unwrap_or("-".into());
        assert_eq!(n(20070523), "2007-05-23 00:00:00");
        assert_eq!(n(70523), "2007-05-23 00:00:00");
        assert_eq!(n(19830905132800), "1983-09-05 13:28:00");
        assert_eq!(n(830905132800), "1983-09-05 13:28:00");
        assert_eq!(n(0), "0000-00-00 00:00:00");
        assert_eq!(n(99), "-");
        assert_eq!(time_from_number(101112).map(|t| t.0.to_string()), Ok("10:11:12".into()));
        assert_eq!(time_from_number(-9_000_000).map(|t| (t.0, t.1)), Ok((Time::MIN, true)));
        assert_eq!(time_from_number(6100), Err(TemporalFault::OutOfRange));
        assert_eq!(year_from_number(69, false), Some(2069));
        assert_eq!(year_from_number(0, true), Some(2000));
        assert_eq!(year_from_number(1900, false), None);
    }
}
