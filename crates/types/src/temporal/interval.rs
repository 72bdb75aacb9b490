//! INTERVAL arithmetic: MySQL's manual, "Temporal Intervals" and "Date and Time Functions".
//!
//! An interval is either a number of months or a number of microseconds: units up to days are exact lengths, months
//! and years move the date and clamp the day to the month's end.

use super::calendar::{MAX_EPOCH_DAY, MIN_EPOCH_DAY, days_in_month};
use super::{Date, DateTime, MICROS_PER_DAY, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND, Time};
use crate::Decimal;

/// A unit of INTERVAL, EXTRACT, TIMESTAMPADD and TIMESTAMPDIFF.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum IntervalUnit {
    Microsecond,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
    SecondMicrosecond,
    MinuteMicrosecond,
    MinuteSecond,
    HourMicrosecond,
    HourSecond,
    HourMinute,
    DayMicrosecond,
    DaySecond,
    DayMinute,
    DayHour,
    YearMonth,
}

impl IntervalUnit {
    pub const ALL: [IntervalUnit; 20] = {
        use IntervalUnit::*;
        [
            Microsecond,
            Second,
            Minute,
            Hour,
            Day,
            Week,
            Month,
            Quarter,
            Year,
            SecondMicrosecond,
            MinuteMicrosecond,
            MinuteSecond,
            HourMicrosecond,
            HourSecond,
            HourMinute,
            DayMicrosecond,
            DaySecond,
            DayMinute,
            DayHour,
            YearMonth,
        ]
    };

    /// The unit in SQL.
    pub const fn name(self) -> &'static str {
        use IntervalUnit::*;
        match self {
            Microsecond => "microsecond",
            Second => "second",
            Minute => "minute",
            Hour => "hour",
            Day => "day",
            Week => "week",
            Month => "month",
            Quarter => "quarter",
            Year => "year",
            SecondMicrosecond => "second_microsecond",
            MinuteMicrosecond => "minute_microsecond",
            MinuteSecond => "minute_second",
            HourMicrosecond => "hour_microsecond",
            HourSecond => "hour_second",
            HourMinute => "hour_minute",
            DayMicrosecond => "day_microsecond",
            DaySecond => "day_second",
            DayMinute => "day_minute",
            DayHour => "day_hour",
            YearMonth => "year_month",
        }
    }
}

/// A length of time to add.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Interval {
    /// YEAR, QUARTER, MONTH and YEAR_MONTH.
    Months(i64),
    /// Everything else. Wide, for user input may ask for anything.
    Micros(i128),
}

impl IntervalUnit {
    /// MONTH and longer.
    pub const fn is_months(self) -> bool {
        matches!(self, Self::Month | Self::Quarter | Self::Year | Self::YearMonth)
    }

    /// The unit has parts below a day: added to a DATE it gives a DATETIME.
    pub const fn has_time(self) -> bool {
        !matches!(self, Self::Day | Self::Week) && !self.is_months()
    }

    /// The unit has date parts: it cannot be added to a TIME as such.
    pub const fn has_date(self) -> bool {
        matches!(
            self,
            Self::Day | Self::Week | Self::DayMicrosecond | Self::DaySecond | Self::DayMinute | Self::DayHour
        ) || self.is_months()
    }

    /// The unit has microseconds: the result has 6 fractional digits.
    pub const fn has_micros(self) -> bool {
        matches!(
            self,
            Self::Microsecond
                | Self::SecondMicrosecond
                | Self::MinuteMicrosecond
                | Self::HourMicrosecond
                | Self::DayMicrosecond
        )
    }

    /// Units written as several numbers in a string.
    pub const fn is_compound(self) -> bool {
        self.parts().len() > 1
    }

    /// From the longest part to the shortest, as (months, microseconds) of one.
    const fn parts(self) -> &'static [(i64, i64)] {
        const YEAR: (i64, i64) = (12, 0);
        const MONTH: (i64, i64) = (1, 0);
        const DAY: (i64, i64) = (0, MICROS_PER_DAY);
        const HOUR: (i64, i64) = (0, MICROS_PER_HOUR);
        const MINUTE: (i64, i64) = (0, MICROS_PER_MINUTE);
        const SECOND: (i64, i64) = (0, MICROS_PER_SECOND);
        const MICRO: (i64, i64) = (0, 1);
        match self {
            Self::Microsecond => &[MICRO],
            Self::Second => &[SECOND],
            Self::Minute => &[MINUTE],
            Self::Hour => &[HOUR],
            Self::Day => &[DAY],
            Self::Week => &[(0, 7 * MICROS_PER_DAY)],
            Self::Month => &[MONTH],
            Self::Quarter => &[(3, 0)],
            Self::Year => &[YEAR],
            Self::SecondMicrosecond => &[SECOND, MICRO],
            Self::MinuteMicrosecond => &[MINUTE, SECOND, MICRO],
            Self::MinuteSecond => &[MINUTE, SECOND],
            Self::HourMicrosecond => &[HOUR, MINUTE, SECOND, MICRO],
            Self::HourSecond => &[HOUR, MINUTE, SECOND],
            Self::HourMinute => &[HOUR, MINUTE],
            Self::DayMicrosecond => &[DAY, HOUR, MINUTE, SECOND, MICRO],
            Self::DaySecond => &[DAY, HOUR, MINUTE, SECOND],
            Self::DayMinute => &[DAY, HOUR, MINUTE],
            Self::DayHour => &[DAY, HOUR],
            Self::YearMonth => &[YEAR, MONTH],
        }
    }
}

impl Interval {
    /// `n` of a simple unit. For a compound unit, `n` of its shortest part (as the number alone in a string means).
    #[inline]
    pub const fn of(n: i64, unit: IntervalUnit) -> Interval {
        let parts = unit.parts();
        let (months, micros) = parts[parts.len() - 1];
        if months != 0 {
            Interval::Months(n.saturating_mul(months))
        } else {
            Interval::Micros(n as i128 * micros as i128)
        }
    }

    /// `INTERVAL 1.5 SECOND`: seconds keep their fraction, other units round to an integer.
    pub fn of_decimal(n: Decimal, unit: IntervalUnit) -> Interval {
        match unit {
            IntervalUnit::Second => {
                let micros = n.truncate(6).and_then(|d| d.to_i128()).unwrap_or(i64::MAX as i128 * 1_000_000);
                Interval::Micros(micros)
            }
            _ if unit.is_compound() => Interval::parse(n.to_string().as_bytes(), unit).unwrap_or(Interval::of(0, unit)),
            _ => Interval::of(n.to_i64_round().0, unit),
        }
    }

    /// A compound interval text: numbers between any other characters, `'1 10:11:12.5'`. When there are fewer numbers
    /// than parts the leftmost parts are missing. None if there are too many.
    pub fn parse(text: &[u8], unit: IntervalUnit) -> Option<Interval> {
        let start = text.iter().position(|b| !matches!(b, b' ' | b'\t'..=b'\r')).unwrap_or(text.len());
        let negative = text.get(start) == Some(&b'-');
        let parts = unit.parts();
        let mut numbers = [0i64; 5];
        let mut count = 0;
        let mut at = start;
        let mut last_digits = 0;
        loop {
            while at < text.len() && !text[at].is_ascii_digit() {
                at += 1;
            }
            if at == text.len() {
                break;
            }
            if count == parts.len() {
                return None;
            }
            let mut v = 0i64;
            let from = at;
            while at < text.len() && text[at].is_ascii_digit() {
                v = v.saturating_mul(10).saturating_add((text[at] - b'0') as i64);
                at += 1;
            }
            last_digits = at - from;
            numbers[count] = v;
            count += 1;
        }
        // A fraction of a second: '1.5' is 1 second and 500000 microseconds.
        if unit.has_micros() && unit.is_compound() && count > 0 && last_digits < 6 {
            numbers[count - 1] = numbers[count - 1].saturating_mul(10i64.pow((6 - last_digits) as u32));
        }
        let (mut months, mut micros) = (0i64, 0i128);
        for (part, n) in parts[parts.len() - count..].iter().zip(numbers) {
            months = months.saturating_add(n.saturating_mul(part.0));
            micros += n as i128 * part.1 as i128;
        }
        Some(match (unit.is_months(), negative) {
            (true, false) => Interval::Months(months),
            (true, true) => Interval::Months(-months),
            (false, false) => Interval::Micros(micros),
            (false, true) => Interval::Micros(-micros),
        })
    }

    #[inline]
    pub const fn negated(self) -> Interval {
        match self {
            Interval::Months(n) => Interval::Months(n.saturating_neg()),
            Interval::Micros(n) => Interval::Micros(-n),
        }
    }
}

impl Date {
    /// The date `n` days later. None outside the years 1..=9999.
    #[inline]
    pub const fn add_days(self, n: i64) -> Option<Date> {
        let days = (self.to_epoch_days() as i64).saturating_add(n);
        if days < MIN_EPOCH_DAY as i64 || days > MAX_EPOCH_DAY as i64 {
            return None;
        }
        Some(Date::from_epoch_days(days as i32))
    }

    /// The date `n` months later, its day clamped to the month's length.
    #[inline]
    pub const fn add_months(self, n: i64) -> Option<Date> {
        if n.unsigned_abs() > 12 * 10_000 || self.month() == 0 {
            return None;
        }
        let months = self.year() as i64 * 12 + self.month() as i64 - 1 + n;
        if months < 0 || months >= 12 * 10_000 {
            return None;
        }
        let (year, month) = ((months / 12) as i32, (months % 12) as i32 + 1);
        let max = days_in_month(year, month);
        Some(Date::from_ymd(year, month, if self.day() > max { max } else { self.day() }))
    }
}

impl DateTime {
    /// `self + interval`; None outside the calendar (MySQL: NULL and warning 1441) and for dates with zero parts.
    #[inline]
    pub fn checked_add(self, interval: Interval) -> Option<DateTime> {
        if self.date().has_zero_part() {
            return None;
        }
        match interval {
            Interval::Months(n) => Some(self.date().add_months(n)?.at(self.micros_of_day())),
            Interval::Micros(n) => DateTime::from_linear(i64::try_from(self.linear() as i128 + n).ok()?),
        }
    }

    /// TIMESTAMPDIFF(unit, self, other): whole units from `self` to `other`. None for dates with zero parts.
    pub fn diff(self, other: DateTime, unit: IntervalUnit) -> Option<i64> {
        if self.date().has_zero_part() || other.date().has_zero_part() {
            return None;
        }
        let micros = other.linear() - self.linear();
        Some(match unit {
            IntervalUnit::Microsecond => micros,
            IntervalUnit::Second => micros / MICROS_PER_SECOND,
            IntervalUnit::Minute => micros / MICROS_PER_MINUTE,
            IntervalUnit::Hour => micros / MICROS_PER_HOUR,
            IntervalUnit::Day => micros / MICROS_PER_DAY,
            IntervalUnit::Week => micros / (7 * MICROS_PER_DAY),
            IntervalUnit::Month => self.whole_months_to(other),
            IntervalUnit::Quarter => self.whole_months_to(other) / 3,
            IntervalUnit::Year => self.whole_months_to(other) / 12,
            _ => return None,
        })
    }

    fn whole_months_to(self, other: DateTime) -> i64 {
        if other < self {
            return -other.whole_months_to(self);
        }
        let (a, b) = (self.date(), other.date());
        let months = (b.year() - a.year()) as i64 * 12 + (b.month() - a.month()) as i64;
        let earlier_in_month = (b.day(), other.micros_of_day()) < (a.day(), self.micros_of_day());
        months - earlier_in_month as i64
    }

    /// EXTRACT(unit FROM self).
    #[inline]
    pub fn extract(self, unit: IntervalUnit) -> i64 {
        use IntervalUnit::*;
        let date = self.date();
        match unit {
            Year => date.year() as i64,
            Quarter => date.quarter() as i64,
            Month => date.month() as i64,
            Week => date.week(0) as i64,
            Day => date.day() as i64,
            YearMonth => date.year() as i64 * 100 + date.month() as i64,
            DayMicrosecond | DaySecond | DayMinute | DayHour => {
                let t = self.time();
                let d = date.day() as i64;
                match unit {
                    DayHour => d * 100 + t.hour(),
                    DayMinute => d * 10_000 + t.hour() * 100 + t.minute(),
                    DaySecond => d * 1_000_000 + t.to_number(),
                    _ => (d * 1_000_000 + t.to_number()) * 1_000_000 + t.micros(),
                }
            }
            _ => self.time().extract(unit),
        }
    }
}

impl Time {
    /// `self + interval`; None for month units and beyond the range of TIME.
    #[inline]
    pub fn checked_add(self, interval: Interval) -> Option<Time> {
        match interval {
            Interval::Months(_) => None,
            Interval::Micros(n) => {
                let t = i64::try_from(self.0 as i128 + n).ok()?;
                (Time::MIN.0..=Time::MAX.0).contains(&t).then_some(Time(t))
            }
        }
    }

    /// EXTRACT(unit FROM self): date parts are 0; hours may exceed 23.
    #[inline]
    pub fn extract(self, unit: IntervalUnit) -> i64 {
        use IntervalUnit::*;
        let v = match unit {
            Microsecond => self.micros(),
            Second => self.second(),
            Minute => self.minute(),
            Hour => self.hour(),
            SecondMicrosecond => self.second() * 1_000_000 + self.micros(),
            MinuteMicrosecond => (self.minute() * 100 + self.second()) * 1_000_000 + self.micros(),
            MinuteSecond => self.minute() * 100 + self.second(),
            HourMicrosecond | DayMicrosecond => self.to_number().abs() * 1_000_000 + self.micros(),
            HourSecond | DaySecond => self.to_number().abs(),
            HourMinute | DayMinute => self.hour() * 100 + self.minute(),
            DayHour => self.hour(),
            Year | Quarter | Month | Week | Day | YearMonth => 0,
        };
        if self.is_negative() { -v } else { v }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{TemporalMode, parse};
    use super::*;

    fn dt(s: &str) -> DateTime {
        parse::parse_datetime(s.as_bytes(), TemporalMode::STRICT).expect("a date").value
    }

    #[test]
    fn additions_of_the_manual() {
        use IntervalUnit::*;
        for (from, text, unit, want) in [
            ("2018-05-01", "1", Day, "2018-05-02 00:00:00"),
            ("2020-12-31 23:59:59", "1", Second, "2021-01-01 00:00:00"),
            ("2018-12-31 23:59:59", "1", Day, "2019-01-01 23:59:59"),
            ("2100-12-31 23:59:59", "1:1", MinuteSecond, "2101-01-01 00:01:00"),
            ("2025-01-01 00:00:00", "-1 1:1:1", DaySecond, "2024-12-30 22:58:59"),
            ("1900-01-01 00:00:00", "-1 10", DayHour, "1899-12-30 14:00:00"),
            ("1992-12-31 23:59:59.000002", "1.999999", SecondMicrosecond, "1993-01-01 00:00:01.000001"),
            ("2019-01-30", "1", Month, "2019-02-28 00:00:00"),
            ("2020-02-29", "1-1", YearMonth, "2021-03-29 00:00:00"),
            ("2020-02-29", "1.5", SecondMicrosecond, "2020-02-29 00:00:01.5"),
            ("2020-01-31", "1", Quarter, "2020-04-30 00:00:00"),
        ] {
            let i = Interval::parse(text.as_bytes(), unit).expect("parts fit");
            assert_eq!(dt(from).checked_add(i).map(|d| d.to_string()).as_deref(), Some(want), "{from} {text} {unit:?}");
        }
        assert_eq!(dt("9999-12-31").checked_add(Interval::of(1, Day)), None);
        assert_eq!(dt("2020-01-01").checked_add(Interval::of(i64::MAX, Year)), None);
        assert_eq!(Interval::parse(b"1 2 3", DayHour), None);
        let half: Decimal = Decimal::from_i128(15, 1);
        assert_eq!(Interval::of_decimal(half, Second), Interval::Micros(1_500_000));
        assert_eq!(Interval::of_decimal(half, Day), Interval::Micros(2 * MICROS_PER_DAY as i128));
    }

    #[test]
    fn differences_and_parts() {
        use IntervalUnit::*;
        assert_eq!(dt("2003-02-01").diff(dt("2003-05-01"), Month), Some(3));
        assert_eq!(dt("2002-05-01").diff(dt("2001-01-01"), Year), Some(-1));
        assert_eq!(dt("2003-02-01").diff(dt("2003-05-01 12:05:55"), Minute), Some(128_885));
        assert_eq!(dt("2020-01-31").diff(dt("2020-02-29"), Month), Some(0));
        assert_eq!(dt("2019-07-02 01:02:03").extract(YearMonth), 201_907);
        assert_eq!(dt("2019-07-02 01:02:03").extract(DayMinute), 20_102);
        assert_eq!(dt("2003-01-02 10:30:00.000123").extract(Microsecond), 123);
    }
}
