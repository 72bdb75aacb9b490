//! DATE_FORMAT and TIME_FORMAT: MySQL's manual, "Date and Time Functions", the table of specifiers.

use super::{Date, DateTime, Time};
use crate::locale::{self, Locale};

/// What is being formatted: a whole DATETIME, or a TIME (date parts are 0, hours may exceed 23).
#[derive(Clone, Copy)]
struct Subject {
    date: Date,
    time: Time,
}

/// Appends DATE_FORMAT(value, format), with English names. False (and nothing sensible appended) where MySQL answers
/// NULL: names of weekdays and months for dates that have none.
pub fn date_format(value: DateTime, format: &[u8], out: &mut Vec<u8>) -> bool {
    date_format_in(locale::english(), value, format, out)
}

/// [`date_format`] with the names of a locale.
pub fn date_format_in(locale: &Locale, value: DateTime, format: &[u8], out: &mut Vec<u8>) -> bool {
    render(Subject { date: value.date(), time: value.time() }, locale, format, out)
}

/// Appends TIME_FORMAT(value, format). False where MySQL answers NULL: date specifiers.
pub fn time_format(value: Time, format: &[u8], out: &mut Vec<u8>) -> bool {
    if value.is_negative() {
        out.push(b'-');
    }
    render(Subject { date: Date::ZERO, time: value }, locale::english(), format, out)
}

fn number(v: i64, width: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(format!("{v:0width$}").as_bytes());
}

fn twelve(hour: i64) -> i64 {
    (hour + 11) % 12 + 1
}

fn render(s: Subject, locale: &Locale, format: &[u8], out: &mut Vec<u8>) -> bool {
    let (date, time) = (s.date, s.time);
    let mut at = 0;
    while at < format.len() {
        let b = format[at];
        at += 1;
        if b != b'%' || at == format.len() {
            out.push(b);
            continue;
        }
        let spec = format[at];
        at += 1;
        let real = date.is_real();
        match spec {
            b'M' | b'b' => {
                if date.month() == 0 {
                    return false;
                }
                let names = if spec == b'M' { &locale.months } else { &locale.months_short };
                out.extend_from_slice(names[date.month() as usize - 1].as_bytes());
            }
            b'W' | b'a' => {
                if date.is_zero() || date.has_zero_part() {
                    return false;
                }
                let names = if spec == b'W' { &locale.days } else { &locale.days_short };
                out.extend_from_slice(names[date.weekday() as usize].as_bytes());
            }
            b'D' => {
                let day = date.day();
                number(day as i64, 1, out);
                out.extend_from_slice(match (day / 10, day % 10) {
                    (1, _) => b"th",
                    (_, 1) => b"st",
                    (_, 2) => b"nd",
                    (_, 3) => b"rd",
                    _ => b"th",
                });
            }
            b'Y' => number(date.year() as i64, 4, out),
            b'y' => number(date.year() as i64 % 100, 2, out),
            b'm' => number(date.month() as i64, 2, out),
            b'c' => number(date.month() as i64, 1, out),
            b'd' => number(date.day() as i64, 2, out),
            b'e' => number(date.day() as i64, 1, out),
            b'f' => number(time.micros(), 6, out),
            b'H' => number(time.hour(), 2, out),
            b'k' => number(time.hour(), 1, out),
            b'h' | b'I' => number(twelve(time.hour()), 2, out),
            b'l' => number(twelve(time.hour()), 1, out),
            b'i' => number(time.minute(), 2, out),
            b's' | b'S' => number(time.second(), 2, out),
            b'p' => out.extend_from_slice(if time.hour() % 24 < 12 { b"AM" } else { b"PM" }),
            b'r' => {
                number(twelve(time.hour()), 2, out);
                out.push(b':');
                number(time.minute(), 2, out);
                out.push(b':');
                number(time.second(), 2, out);
                out.extend_from_slice(if time.hour() % 24 < 12 { b" AM" } else { b" PM" });
            }
            b'T' => {
                number(time.hour(), 2, out);
                out.push(b':');
                number(time.minute(), 2, out);
                out.push(b':');
                number(time.second(), 2, out);
            }
            b'j' => {
                if !real {
                    return false;
                }
                number(date.day_of_year() as i64, 3, out);
            }
            b'w' => {
                if date.is_zero() || date.has_zero_part() {
                    return false;
                }
                number(date.day_of_week() as i64 - 1, 1, out);
            }
            b'U' => number(date.week(0) as i64, 2, out),
            b'u' => number(date.week(1) as i64, 2, out),
            b'V' => number(date.week(2) as i64, 2, out),
            b'v' => number(date.week(3) as i64, 2, out),
            b'X' => number(date.year_week(2).0 as i64, 4, out),
            b'x' => number(date.year_week(3).0 as i64, 4, out),
            other => out.push(other),
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn f(v: DateTime, format: &str) -> String {
        let mut out = Vec::new();
        assert!(date_format(v, format.as_bytes(), &mut out));
        String::from_utf8(out).expect("ASCII")
    }

    #[test]
    fn examples_of_the_manual() {
        let at = |y, mo, d, h, mi, s| DateTime::new(y, mo, d, h, mi, s, 0).expect("a date");
        assert_eq!(f(at(2009, 10, 4, 22, 23, 0), "%W %M %Y"), "Sunday October 2009");
        assert_eq!(f(at(2007, 10, 4, 22, 23, 0), "%H:%i:%s"), "22:23:00");
        assert_eq!(f(at(1900, 10, 4, 22, 23, 0), "%D %y %a %d %m %b %j"), "4th 00 Thu 04 10 Oct 277");
        assert_eq!(f(at(1997, 10, 4, 22, 23, 0), "%H %k %I %r %T %S %w"), "22 22 10 10:23:00 PM 22:23:00 00 6");
        assert_eq!(f(at(1999, 1, 1, 0, 0, 0), "%X %V"), "1998 52");
        assert_eq!(f(Date::from_ymd(2006, 6, 0).midnight(), "%d"), "00");
        assert_eq!(f(at(2000, 1, 1, 0, 0, 0), "%% %q"), "% q");
        let mut out = Vec::new();
        assert!(time_format(Time::new(false, 100, 0, 0, 0).expect("a time"), b"%H %k %h %I %l", &mut out));
        assert_eq!(out, b"100 100 04 04 4");
        assert!(!date_format(DateTime::ZERO, b"%M", &mut out));
    }
}
