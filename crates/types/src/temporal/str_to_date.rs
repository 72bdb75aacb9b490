//! STR_TO_DATE: reads a text by a format string of DATE_FORMAT's specifiers. English names.

use super::calendar::{DAY_NAMES, MONTH_NAMES, expand_year, weekday};
use super::{Date, DateTime, MICROS_PER_DAY, MICROS_PER_SECOND, TemporalFault, TemporalMode, Time};

/// The type that STR_TO_DATE has for a constant format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StrToDateKind {
    Date,
    Time { fsp: u8 },
    DateTime { fsp: u8 },
}

/// A text that was read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StrToDate {
    /// Date and time of the day; for a TIME format see `time`.
    pub value: DateTime,
    /// The time; hours above 23 only occur where the format has no date parts.
    pub time: Time,
    /// Text is left over: warning 1292.
    pub truncated: bool,
}

/// The result type of a format: DATE, TIME or DATETIME, with 6 digits of fraction where it has `%f`.
pub fn str_to_date_kind(format: &[u8]) -> StrToDateKind {
    let (mut date, mut time, mut micros) = (false, false, false);
    let mut specs = format.iter().copied();
    while let Some(b) = specs.next() {
        if b != b'%' {
            continue;
        }
        match specs.next() {
            Some(b'f') => (time, micros) = (true, true),
            Some(b'H' | b'k' | b'h' | b'I' | b'l' | b'i' | b's' | b'S' | b'p' | b'r' | b'T') => time = true,
            Some(b'%') | None => {}
            Some(_) => date = true,
        }
    }
    let fsp = if micros { 6 } else { 0 };
    match (date, time) {
        (true, true) => StrToDateKind::DateTime { fsp },
        (false, true) => StrToDateKind::Time { fsp },
        _ => StrToDateKind::Date,
    }
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    /// A number of at most `max` digits.
    fn number(&mut self, max: usize) -> Result<i64, TemporalFault> {
        let n = self.text[self.at..].iter().take(max).take_while(|b| b.is_ascii_digit()).count();
        if n == 0 {
            return Err(TemporalFault::Malformed);
        }
        let v = self.text[self.at..self.at + n].iter().fold(0, |v, b| v * 10 + (b - b'0') as i64);
        self.at += n;
        Ok(v)
    }

    /// The index of the name that the next word is, in full or cut to three letters.
    fn name(&mut self, names: &[&'static str], short: bool) -> Result<i64, TemporalFault> {
        let rest = &self.text[self.at..];
        let word = &rest[..rest.iter().take_while(|b| b.is_ascii_alphabetic()).count()];
        let cut = |name: &'static str| if short { &name[..3] } else { name };
        let is_word = |name: &&'static str| word.eq_ignore_ascii_case(cut(name).as_bytes());
        let index = names.iter().position(is_word).ok_or(TemporalFault::Malformed)?;
        self.at += word.len();
        Ok(index as i64)
    }

    fn spaces(&mut self) {
        while self.text.get(self.at).is_some_and(|b| matches!(b, b' ' | b'\t'..=b'\r')) {
            self.at += 1;
        }
    }

    fn meridiem(&mut self) -> Result<bool, TemporalFault> {
        let rest = &self.text[self.at..];
        if rest.len() < 2 || !rest[1].eq_ignore_ascii_case(&b'M') {
            return Err(TemporalFault::Malformed);
        }
        self.at += 2;
        match rest[0] {
            b'A' | b'a' => Ok(false),
            b'P' | b'p' => Ok(true),
            _ => Err(TemporalFault::Malformed),
        }
    }
}

/// The parts read so far.
#[derive(Default)]
struct Parts {
    year: i64,
    month: i64,
    day: i64,
    hour: i64,
    minute: i64,
    second: i64,
    micros: i64,
    pm: Option<bool>,
    twelve_hours: bool,
    day_of_year: Option<i64>,
    weekday: Option<i64>,
    week: Option<Week>,
    week_year: Option<(i64, bool)>,
}

#[derive(Clone, Copy)]
struct Week {
    number: i64,
    sunday_first: bool,
    strict: bool,
}

/// Reads `text` by `format`. A fault is NULL with warning 1411.
pub fn str_to_date(text: &[u8], format: &[u8], mode: TemporalMode) -> Result<StrToDate, TemporalFault> {
    let mut r = Reader { text, at: 0 };
    let mut p = Parts::default();
    read_by(&mut r, format, &mut p)?;
    if p.twelve_hours || p.pm.is_some() {
        if p.hour > 12 || p.hour < 1 {
            return Err(TemporalFault::OutOfRange);
        }
        p.hour = p.hour % 12 + if p.pm == Some(true) { 12 } else { 0 };
    }
    let mut date = Date::from_ymd(p.year as i32, p.month as i32, p.day as i32);
    if let Some(n) = p.day_of_year.filter(|n| *n > 0) {
        date = Date::from_ymd(p.year as i32, 1, 1).add_days(n - 1).ok_or(TemporalFault::OutOfRange)?;
    }
    if let (Some(week), Some(day)) = (p.week, p.weekday) {
        date = date_of_week(&p, week, day)?;
    }
    let has_date = !matches!(str_to_date_kind(format), StrToDateKind::Time { .. });
    if p.month > 12 || p.day > 31 || p.minute > 59 || p.second > 59 || (has_date && p.hour > 23) {
        return Err(TemporalFault::OutOfRange);
    }
    if has_date {
        mode.admits(date)?;
    }
    let micros = ((p.hour * 60 + p.minute) * 60 + p.second) * MICROS_PER_SECOND + p.micros;
    r.spaces();
    Ok(StrToDate { value: date.at(micros % MICROS_PER_DAY), time: Time(micros), truncated: r.at < text.len() })
}

fn read_by(r: &mut Reader<'_>, format: &[u8], p: &mut Parts) -> Result<(), TemporalFault> {
    let mut at = 0;
    while at < format.len() && r.at < r.text.len() {
        let b = format[at];
        at += 1;
        // Spaces of the text are skipped before every item; spaces of the format match any number.
        r.spaces();
        if r.at >= r.text.len() {
            return Ok(());
        }
        if b != b'%' || at == format.len() {
            if !matches!(b, b' ' | b'\t'..=b'\r') {
                if r.text[r.at] != b {
                    return Err(TemporalFault::Malformed);
                }
                r.at += 1;
            }
            continue;
        }
        let spec = format[at];
        at += 1;
        match spec {
            b'Y' => {
                let from = r.at;
                p.year = r.number(4)?;
                if r.at - from <= 2 {
                    p.year = expand_year(p.year as i32) as i64;
                }
            }
            b'y' => p.year = expand_year(r.number(2)? as i32) as i64,
            b'm' | b'c' => p.month = r.number(2)?,
            b'M' => p.month = r.name(&MONTH_NAMES, false)? + 1,
            b'b' => p.month = r.name(&MONTH_NAMES, true)? + 1,
            b'd' | b'e' => p.day = r.number(2)?,
            b'D' => {
                p.day = r.number(2)?;
                // st, nd, rd, th
                r.at = (r.at + 2).min(r.text.len());
            }
            b'h' | b'I' | b'l' => {
                p.hour = r.number(2)?;
                p.twelve_hours = true;
            }
            b'H' | b'k' => p.hour = r.number(2)?,
            b'i' => p.minute = r.number(2)?,
            b's' | b'S' => p.second = r.number(2)?,
            b'f' => {
                let from = r.at;
                p.micros = r.number(6)?;
                p.micros *= 10i64.pow(6 - (r.at - from) as u32);
            }
            b'p' => {
                p.pm = Some(r.meridiem()?);
                p.twelve_hours = true;
            }
            b'W' => p.weekday = Some(r.name(&DAY_NAMES, false)?),
            b'a' => p.weekday = Some(r.name(&DAY_NAMES, true)?),
            b'w' => {
                let n = r.number(1)?;
                if n > 6 {
                    return Err(TemporalFault::OutOfRange);
                }
                // From Sunday 0 to Monday 0.
                p.weekday = Some((n + 6) % 7);
            }
            b'j' => p.day_of_year = Some(r.number(3)?),
            b'U' | b'u' | b'V' | b'v' => {
                let number = r.number(2)?;
                let strict = matches!(spec, b'V' | b'v');
                if number > 53 || (strict && number == 0) {
                    return Err(TemporalFault::OutOfRange);
                }
                p.week = Some(Week { number, sunday_first: matches!(spec, b'U' | b'V'), strict });
            }
            b'X' | b'x' => p.week_year = Some((r.number(4)?, spec == b'X')),
            b'r' => read_by(r, b"%I:%i:%S %p", p)?,
            b'T' => read_by(r, b"%H:%i:%S", p)?,
            b'.' => skip_while(r, |b| b.is_ascii_punctuation()),
            b'@' => skip_while(r, |b| b.is_ascii_alphabetic()),
            b'#' => skip_while(r, |b| b.is_ascii_digit()),
            b'%' => {
                if r.text[r.at] != b'%' {
                    return Err(TemporalFault::Malformed);
                }
                r.at += 1;
            }
            _ => return Err(TemporalFault::Malformed),
        }
    }
    Ok(())
}

fn skip_while(r: &mut Reader<'_>, class: fn(u8) -> bool) {
    while r.text.get(r.at).copied().is_some_and(class) {
        r.at += 1;
    }
}

/// `%X%V %W`: the day `weekday` (Monday 0) of a week. Strict weeks want the matching year specifier.
fn date_of_week(p: &Parts, week: Week, day: i64) -> Result<Date, TemporalFault> {
    let year = match p.week_year {
        Some((y, sunday_first)) if week.strict && sunday_first == week.sunday_first => y,
        None if !week.strict => p.year,
        _ => return Err(TemporalFault::Malformed),
    };
    let jan_1 = Date::from_ymd(year as i32, 1, 1).to_epoch_days() as i64;
    let first = weekday(jan_1 as i32) as i64;
    let from_jan_1 = if week.sunday_first {
        let sunday_based = (first + 1) % 7;
        (if sunday_based == 0 { 0 } else { 7 }) - sunday_based + (week.number - 1) * 7 + (day + 1) % 7
    } else {
        (if first <= 3 { 0 } else { 7 }) - first + (week.number - 1) * 7 + day
    };
    Date::from_day_number(Date::from_ymd(year as i32, 1, 1).day_number() as i64 + from_jan_1)
        .filter(|d| !d.is_zero())
        .ok_or(TemporalFault::OutOfRange)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, format: &str) -> String {
        match str_to_date(text.as_bytes(), format.as_bytes(), TemporalMode::RELAXED) {
            Err(e) => format!("{e:?}"),
            Ok(v) => match str_to_date_kind(format.as_bytes()) {
                StrToDateKind::Date => v.value.date().to_string(),
                StrToDateKind::Time { .. } => v.time.to_string(),
                StrToDateKind::DateTime { .. } => v.value.to_string(),
            },
        }
    }

    #[test]
    fn examples_of_the_manual() {
        for (text, format, want) in [
            ("01,5,2013", "%d,%m,%Y", "2013-05-01"),
            ("May 1, 2013", "%M %d,%Y", "2013-05-01"),
            ("a09:30:17", "a%h:%i:%s", "09:30:17"),
            ("a09:30:17", "%h:%i:%s", "Malformed"),
            ("09:30:17a", "%h:%i:%s", "09:30:17"),
            ("abc", "abc", "0000-00-00"),
            ("9", "%m", "0000-09-00"),
            ("9", "%s", "00:00:09"),
            ("200442 Monday", "%X%V %W", "2004-10-18"),
            ("10:11:12 PM", "%r", "22:11:12"),
            ("2024-01-02 03:04:05.6", "%Y-%m-%d %H:%i:%s.%f", "2024-01-02 03:04:05.6"),
            ("1st Feb 99", "%D %b %y", "1999-02-01"),
            ("2024 060", "%Y %j", "2024-02-29"),
            ("31/02/2024", "%d/%m/%Y", "OutOfRange"),
            ("15:00 PM", "%h:%i %p", "OutOfRange"),
        ] {
            assert_eq!(read(text, format), want, "{text} {format}");
        }
    }
}
