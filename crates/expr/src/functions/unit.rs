//! Units of INTERVAL and EXTRACT, sides of TRIM.

/// Units of INTERVAL, EXTRACT, TIMESTAMPADD and TIMESTAMPDIFF.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
    /// Whether adding it to a DATE yields a DATE.
    pub const fn is_date_only(self) -> bool {
        use IntervalUnit::*;
        matches!(self, Day | Week | Month | Quarter | Year | YearMonth)
    }

    /// Whether the unit has a year or month part (such intervals cannot be added to a TIME).
    pub const fn has_months(self) -> bool {
        use IntervalUnit::*;
        matches!(self, Month | Quarter | Year | YearMonth)
    }

    pub const fn has_microseconds(self) -> bool {
        use IntervalUnit::*;
        matches!(self, Microsecond | SecondMicrosecond | MinuteMicrosecond | HourMicrosecond | DayMicrosecond)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TrimSide {
    Both,
    Leading,
    Trailing,
}
