//! Days, weeks and months of the calendar.
//!
//! The Gregorian calendar is extended backwards; year 0 is not a leap year here, which shifts January and February of
//! year 0 by one day against astronomers' count, as in MySQL. Conversion from day counts works on years that begin in
//! March, so that the leap day comes last (Neri and Schneider, "Euclidean affine functions and their application to
//! calendar algorithms").

use super::Date;

/// TO_DAYS('1970-01-01').
pub const EPOCH_DAY_NUMBER: i32 = 719_528;
/// 9999-12-31 in days since 1970-01-01.
pub const MAX_EPOCH_DAY: i32 = 3_652_424 - EPOCH_DAY_NUMBER;
/// 0001-01-01; MySQL makes no dates of year 0 from counts.
pub const MIN_EPOCH_DAY: i32 = 366 - EPOCH_DAY_NUMBER;

#[inline]
pub const fn is_leap(year: i32) -> bool {
    year & 3 == 0 && (year % 100 != 0 || (year % 400 == 0 && year != 0))
}

#[inline]
pub const fn days_in_year(year: i32) -> i32 {
    365 + is_leap(year) as i32
}

/// `month` in 1..=12.
#[inline]
pub const fn days_in_month(year: i32, month: i32) -> i32 {
    if month == 2 { 28 + is_leap(year) as i32 } else { 30 | (month ^ (month >> 3)) }
}

/// Days since 1970-01-01 of a packed [`Date`].
#[inline]
pub const fn days_from_packed(packed: i32) -> i32 {
    let (year, month, day) = (packed >> 9, packed >> 5 & 15, packed & 31);
    let early = (month <= 2) as i32;
    // Days by which the months before this one fall short of 31 each.
    let short = if early == 1 { 0 } else { (month * 4 + 23) / 10 };
    let y = year - early;
    let (leaps, centuries) = if y < 0 { (0, 0) } else { (y / 4, (y / 100 + 1) * 3 / 4) };
    365 * year + 31 * (month - 1) + day - short + leaps - centuries - EPOCH_DAY_NUMBER
}

/// The packed [`Date`] of days since 1970-01-01, for the years 1..=9999.
#[inline]
pub const fn packed_from_days(days: i32) -> i32 {
    // Days since 0000-03-01.
    let n = (days + EPOCH_DAY_NUMBER - 60) as u32;
    let century_part = 4 * n + 3;
    let century = century_part / 146_097;
    let year_part = (century_part % 146_097) | 3;
    let wide = 2_939_745 * year_part as u64;
    let year_of_century = (wide >> 32) as u32;
    let day_of_year = (wide as u32 / 2_939_745) / 4;
    let month_part = 2141 * day_of_year + 197_913;
    let (month, day) = (month_part >> 16, (month_part as u16 as u32) / 2141);
    let late = (day_of_year >= 306) as u32;
    let year = 100 * century + year_of_century + late;
    let month = month - 12 * late;
    (year << 9 | month << 5 | (day + 1)) as i32
}

/// Monday 0 .. Sunday 6.
#[inline]
pub const fn weekday(epoch_days: i32) -> i32 {
    (epoch_days + 3).rem_euclid(7)
}

impl Date {
    /// WEEKDAY: Monday 0 .. Sunday 6.
    #[inline]
    pub const fn weekday(self) -> i32 {
        weekday(self.to_epoch_days())
    }

    /// DAYOFWEEK: Sunday 1 .. Saturday 7.
    #[inline]
    pub const fn day_of_week(self) -> i32 {
        (self.weekday() + 1) % 7 + 1
    }

    /// DAYOFYEAR: 1..=366.
    #[inline]
    pub const fn day_of_year(self) -> i32 {
        self.to_epoch_days() - Date::from_ymd(self.year(), 1, 1).to_epoch_days() + 1
    }

    #[inline]
    pub const fn quarter(self) -> i32 {
        (self.month() + 2) / 3
    }

    /// LAST_DAY; None for a date without month.
    #[inline]
    pub const fn last_day(self) -> Option<Date> {
        let month = self.month();
        if month == 0 { None } else { Some(Date::from_ymd(self.year(), month, days_in_month(self.year(), month))) }
    }

    /// FROM_DAYS: the zero date below 366, None past 9999-12-31.
    pub const fn from_day_number(n: i64) -> Option<Date> {
        if n < 366 {
            return Some(Date::ZERO);
        }
        if n > 3_652_424 { None } else { Some(Date::from_epoch_days((n - EPOCH_DAY_NUMBER as i64) as i32)) }
    }

    /// MAKEDATE: `day_of_year` may run past the year's end. Two-digit years are placed in 1970..=2069.
    pub fn from_year_day(year: i64, day_of_year: i64) -> Option<Date> {
        if day_of_year <= 0 || !(0..=9999).contains(&year) {
            return None;
        }
        let year = expand_year(year as i32);
        let n = (Date::from_ymd(year, 1, 1).day_number() as i64 - 1).saturating_add(day_of_year);
        if n > 3_652_424 { None } else { Date::from_day_number(n) }
    }

    /// (year, week) by one of MySQL's modes 0..=7:
    ///
    /// | mode | week begins | range | week 1 is the first week ... |
    /// |---|---|---|---|
    /// | 0, 2 | Sunday | 0-53, 1-53 | with a Sunday in this year |
    /// | 1, 3 | Monday | 0-53, 1-53 | with 4 or more days this year |
    /// | 4, 6 | Sunday | 0-53, 1-53 | with 4 or more days this year |
    /// | 5, 7 | Monday | 0-53, 1-53 | with a Monday in this year |
    ///
    /// In the modes that begin with week 0 the year is the date's own.
    pub const fn year_week(self, mode: u8) -> (i32, i32) {
        let monday_first = mode & 1 != 0;
        let from_week_1 = mode & 2 != 0;
        let by_first_weekday = (mode & 4 != 0) == monday_first;
        let year = self.year();
        let days = self.to_epoch_days();
        // Week 1 of a year starts on this day.
        let today_in_year = week_1_start(year, monday_first, by_first_weekday);
        if days < today_in_year {
            if !from_week_1 {
                return (year, 0);
            }
            let start = week_1_start(year - 1, monday_first, by_first_weekday);
            return (year - 1, (days - start) / 7 + 1);
        }
        if from_week_1 && days >= week_1_start(year + 1, monday_first, by_first_weekday) {
            return (year + 1, 1);
        }
        (year, (days - today_in_year) / 7 + 1)
    }

    /// WEEK(date, mode).
    pub const fn week(self, mode: u8) -> i32 {
        self.year_week(mode).1
    }

    /// YEARWEEK(date, mode): always a week from 1 on, in the year it belongs to.
    pub const fn yearweek(self, mode: u8) -> i32 {
        let (year, week) = self.year_week(mode | 2);
        year * 100 + week
    }
}

const fn week_1_start(year: i32, monday_first: bool, by_first_weekday: bool) -> i32 {
    let jan_1 = if year >= 0 {
        days_from_packed(Date::from_ymd(year, 1, 1).0)
    } else {
        days_from_packed(Date::from_ymd(0, 1, 1).0) - 365
    };
    // How far January 1 is into its week.
    let offset = if monday_first { weekday(jan_1) } else { (weekday(jan_1) + 1) % 7 };
    let next_week = if by_first_weekday { offset != 0 } else { offset >= 4 };
    if next_week { jan_1 + 7 - offset } else { jan_1 - offset }
}

/// Two-digit years: 00..69 are 2000..2069, 70..99 are 1970..1999.
#[inline]
pub const fn expand_year(year: i32) -> i32 {
    if year < 70 {
        year + 2000
    } else if year < 100 {
        year + 1900
    } else {
        year
    }
}

/// Months of a period `YYMM` or `YYYYMM` since year 0 (PERIOD_ADD, PERIOD_DIFF).
pub const fn period_to_months(period: i64) -> i64 {
    if period == 0 {
        return 0;
    }
    let (year, month) = (period / 100, period % 100);
    let year = if year < 70 {
        year + 2000
    } else if year < 100 {
        year + 1900
    } else {
        year
    };
    year.saturating_mul(12).saturating_add(month - 1)
}

/// The period `YYYYMM` of months since year 0.
pub const fn months_to_period(months: i64) -> i64 {
    if months == 0 {
        return 0;
    }
    let year = months / 12;
    let year = if year < 70 {
        year + 2000
    } else if year < 100 {
        year + 1900
    } else {
        year
    };
    year.saturating_mul(100).saturating_add(months % 12 + 1)
}

pub const MONTH_NAMES: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// From Monday on.
pub const DAY_NAMES: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_round_trips_in_order() {
        let mut expected = (1, 1, 1);
        for days in MIN_EPOCH_DAY..=MAX_EPOCH_DAY {
            let d = Date::from_epoch_days(days);
            assert_eq!((d.year(), d.month(), d.day()), expected);
            assert_eq!(d.to_epoch_days(), days);
            let (y, m, day) = expected;
            expected = if day < days_in_month(y, m) {
                (y, m, day + 1)
            } else if m < 12 {
                (y, m + 1, 1)
            } else {
                (y + 1, 1, 1)
            };
        }
    }

    #[test]
    fn counts_of_the_manual() {
        let d = |y, m, day| Date::from_ymd(y, m, day);
        assert_eq!(d(1970, 1, 1).day_number(), 719_528);
        assert_eq!(d(2007, 10, 7).day_number(), 733_321);
        assert_eq!(d(0, 1, 1).day_number(), 1);
        assert_eq!(Date::from_day_number(730_669), Date::new(2000, 7, 3));
        assert_eq!((d(2007, 2, 3).day_of_week(), d(2008, 2, 3).weekday(), d(2007, 2, 3).day_of_year()), (7, 6, 34));
        assert_eq!(d(2003, 3, 32 - 1).last_day(), Date::new(2003, 3, 31));
        assert_eq!(Date::from_year_day(2011, 365), Date::new(2011, 12, 31));
        assert_eq!(Date::from_year_day(2011, 0), None);
        assert_eq!(d(2008, 2, 20).week(0), 7);
        assert_eq!(d(2008, 2, 20).week(1), 8);
        assert_eq!(d(2008, 12, 31).week(1), 53);
        assert_eq!(d(2000, 1, 1).year_week(0), (2000, 0));
        assert_eq!(d(2000, 1, 1).week(2), 52);
        assert_eq!(d(1987, 1, 1).yearweek(0), 198_652);
        assert_eq!(months_to_period(period_to_months(200801) + 2), 200803);
    }
}
