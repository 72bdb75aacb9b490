//! MySQL's temporal values, zero dates included, in packed forms that order as the values do.
//!
//! ```text
//! Date      i32   year << 9 | month << 5 | day                       0 = '0000-00-00'
//! Time      i64   signed microseconds, within ±838:59:59.000000
//! DateTime  i64   date << 37 | microseconds of the day
//! Timestamp i64   microseconds since 1970-01-01 00:00:00 UTC         0 = '0000-00-00 00:00:00'
//! ```
//!
//! Terms: a *zero date* is '0000-00-00'; a date *with zero parts* has month or day 0; a *day number* counts days as
//! TO_DAYS does (1970-01-01 is 719528); a *linear* DATETIME counts microseconds since 1970-01-01 00:00:00, so that it
//! can be added and subtracted; *fsp* is the number of fractional digits, 0..=6.
//!
//! - [`calendar`]: days, weeks, months.
//! - [`parse`]: texts and numbers to values. [`format`]: the way back.
//! - [`interval`]: INTERVAL arithmetic, TIMESTAMPDIFF, EXTRACT.
//! - [`date_format`], [`str_to_date`]: the two format-string engines.
//! - [`zone`]: time zones.

pub mod calendar;
pub mod date_format;
pub mod format;
pub mod interval;
pub mod parse;
pub mod str_to_date;
pub mod zone;

pub use interval::{Interval, IntervalUnit};
pub use parse::{DatetimeText, TemporalFault, TemporalMode, TimeText};
pub use zone::{LocalConverter, TimeZone};

pub const MICROS_PER_SECOND: i64 = 1_000_000;
pub const MICROS_PER_MINUTE: i64 = 60 * MICROS_PER_SECOND;
pub const MICROS_PER_HOUR: i64 = 60 * MICROS_PER_MINUTE;
pub const MICROS_PER_DAY: i64 = 24 * MICROS_PER_HOUR;

/// Bits of [`DateTime`] below the date.
const DAY_BITS: u32 = 37;
const DAY_MASK: i64 = (1 << DAY_BITS) - 1;

/// DATE: `year << 9 | month << 5 | day`. 0 is '0000-00-00'; months and days may be 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Date(pub i32);

/// TIME: signed microseconds, within ±838:59:59.000000.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Time(pub i64);

/// DATETIME: `date.0 << 37 | microseconds of the day`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct DateTime(pub i64);

/// TIMESTAMP as stored: microseconds since 1970-01-01 00:00:00 UTC; 0 is '0000-00-00 00:00:00'.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Timestamp(pub i64);

impl Date {
    pub const ZERO: Date = Date(0);
    pub const MAX: Date = Date::from_ymd(9999, 12, 31);

    /// Packs the parts as they are.
    #[inline]
    pub const fn from_ymd(year: i32, month: i32, day: i32) -> Date {
        Date(year << 9 | month << 5 | day)
    }

    /// A real date of the years 0..=9999, or None.
    #[inline]
    pub const fn new(year: i32, month: i32, day: i32) -> Option<Date> {
        if year < 0 || year > 9999 || month < 1 || month > 12 || day < 1 || day > calendar::days_in_month(year, month) {
            return None;
        }
        Some(Date::from_ymd(year, month, day))
    }

    #[inline]
    pub const fn year(self) -> i32 {
        self.0 >> 9
    }

    #[inline]
    pub const fn month(self) -> i32 {
        self.0 >> 5 & 15
    }

    #[inline]
    pub const fn day(self) -> i32 {
        self.0 & 31
    }

    #[inline]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Month or day is 0 (true of the zero date too).
    #[inline]
    pub const fn has_zero_part(self) -> bool {
        self.month() == 0 || self.day() == 0
    }

    /// A date of the calendar.
    #[inline]
    pub const fn is_real(self) -> bool {
        Date::new(self.year(), self.month(), self.day()).is_some()
    }

    /// Days since 1970-01-01. Dates with zero parts count as MySQL counts them in TO_DAYS.
    #[inline]
    pub const fn to_epoch_days(self) -> i32 {
        calendar::days_from_packed(self.0)
    }

    /// The date of a number of days since 1970-01-01, within the years 0..=9999.
    #[inline]
    pub const fn from_epoch_days(days: i32) -> Date {
        Date(calendar::packed_from_days(days))
    }

    /// TO_DAYS.
    #[inline]
    pub const fn day_number(self) -> i32 {
        self.to_epoch_days() + calendar::EPOCH_DAY_NUMBER
    }

    #[inline]
    pub const fn at(self, micros_of_day: i64) -> DateTime {
        DateTime((self.0 as i64) << DAY_BITS | micros_of_day)
    }

    /// Midnight of the day.
    #[inline]
    pub const fn midnight(self) -> DateTime {
        self.at(0)
    }

    /// 20241231.
    #[inline]
    pub const fn to_number(self) -> i64 {
        self.year() as i64 * 10000 + self.month() as i64 * 100 + self.day() as i64
    }
}

impl Time {
    /// 838:59:59.
    pub const MAX: Time = Time((838 * 3600 + 59 * 60 + 59) * MICROS_PER_SECOND);
    pub const MIN: Time = Time(-Time::MAX.0);

    /// The time of a sign and parts; None beyond 838:59:59 or for minutes and seconds above 59.
    pub const fn new(negative: bool, hours: u32, minutes: u32, seconds: u32, micros: u32) -> Option<Time> {
        if minutes > 59 || seconds > 59 || micros > 999_999 || hours > 838 {
            return None;
        }
        let t = (hours as i64 * 3600 + minutes as i64 * 60 + seconds as i64) * MICROS_PER_SECOND + micros as i64;
        if t > Time::MAX.0 {
            return None;
        }
        Some(Time(if negative { -t } else { t }))
    }

    /// Clamps into the range of TIME; the flag says that it clamped.
    #[inline]
    pub fn clamped(micros: i64) -> (Time, bool) {
        let t = micros.clamp(Time::MIN.0, Time::MAX.0);
        (Time(t), t != micros)
    }

    #[inline]
    pub const fn is_negative(self) -> bool {
        self.0 < 0
    }

    /// Hours of the magnitude, 0..=838.
    #[inline]
    pub const fn hour(self) -> i64 {
        self.0.abs() / MICROS_PER_HOUR
    }

    #[inline]
    pub const fn minute(self) -> i64 {
        self.0.abs() / MICROS_PER_MINUTE % 60
    }

    #[inline]
    pub const fn second(self) -> i64 {
        self.0.abs() / MICROS_PER_SECOND % 60
    }

    #[inline]
    pub const fn micros(self) -> i64 {
        self.0.abs() % MICROS_PER_SECOND
    }

    /// `hhmmss`, negative for negative times.
    #[inline]
    pub const fn to_number(self) -> i64 {
        let n = self.hour() * 10000 + self.minute() * 100 + self.second();
        if self.0 < 0 { -n } else { n }
    }

    /// Rounded to `fsp` digits, half away from zero, clamped to the range.
    #[inline]
    pub fn round(self, fsp: u8) -> Time {
        Time::clamped(round_micros(self.0, fsp)).0
    }

    /// Cut to `fsp` digits.
    #[inline]
    pub fn truncate(self, fsp: u8) -> Time {
        Time(self.0 - self.0 % FSP_UNIT[fsp as usize])
    }

    /// The DATETIME this many microseconds from midnight of `today`: how MySQL converts TIME to DATETIME.
    pub fn on(self, today: Date) -> Option<DateTime> {
        DateTime::from_linear(today.midnight().linear() + self.0)
    }
}

impl DateTime {
    pub const ZERO: DateTime = DateTime(0);
    pub const MAX: DateTime = Date::MAX.at(MICROS_PER_DAY - 1);

    /// A real date with a real time, or None.
    pub const fn new(
        year: i32,
        month: i32,
        day: i32,
        hour: i32,
        minute: i32,
        second: i32,
        micros: i32,
    ) -> Option<DateTime> {
        if hour as u32 > 23 || minute as u32 > 59 || second as u32 > 59 || micros as u32 > 999_999 {
            return None;
        }
        let t = (hour as i64 * 3600 + minute as i64 * 60 + second as i64) * MICROS_PER_SECOND + micros as i64;
        match Date::new(year, month, day) {
            Some(d) => Some(d.at(t)),
            None => None,
        }
    }

    #[inline]
    pub const fn date(self) -> Date {
        Date((self.0 >> DAY_BITS) as i32)
    }

    #[inline]
    pub const fn micros_of_day(self) -> i64 {
        self.0 & DAY_MASK
    }

    /// The time of the day as a TIME.
    #[inline]
    pub const fn time(self) -> Time {
        Time(self.micros_of_day())
    }

    #[inline]
    pub const fn hour(self) -> i64 {
        self.micros_of_day() / MICROS_PER_HOUR
    }

    #[inline]
    pub const fn minute(self) -> i64 {
        self.micros_of_day() / MICROS_PER_MINUTE % 60
    }

    #[inline]
    pub const fn second(self) -> i64 {
        self.micros_of_day() / MICROS_PER_SECOND % 60
    }

    #[inline]
    pub const fn micros(self) -> i64 {
        self.micros_of_day() % MICROS_PER_SECOND
    }

    #[inline]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Microseconds since 1970-01-01 00:00:00, without a time zone.
    #[inline]
    pub const fn linear(self) -> i64 {
        self.date().to_epoch_days() as i64 * MICROS_PER_DAY + self.micros_of_day()
    }

    /// The inverse of [`DateTime::linear`]; None outside the years 0..=9999 (and in year 0 before March, as in MySQL).
    #[inline]
    pub const fn from_linear(micros: i64) -> Option<DateTime> {
        let days = micros.div_euclid(MICROS_PER_DAY);
        if days < calendar::MIN_EPOCH_DAY as i64 || days > calendar::MAX_EPOCH_DAY as i64 {
            return None;
        }
        Some(Date::from_epoch_days(days as i32).at(micros.rem_euclid(MICROS_PER_DAY)))
    }

    /// 20241231235959.
    #[inline]
    pub const fn to_number(self) -> i64 {
        self.date().to_number() * 1_000_000 + self.time().to_number()
    }

    /// Rounded to `fsp` digits, half up, carrying into the date. None past 9999-12-31 23:59:59.
    #[inline]
    pub fn round(self, fsp: u8) -> Option<DateTime> {
        let t = round_micros(self.micros_of_day(), fsp);
        if t < MICROS_PER_DAY {
            return Some(self.date().at(t));
        }
        if self.date().has_zero_part() {
            return None;
        }
        DateTime::from_linear(self.date().midnight().linear() + t)
    }

    /// Cut to `fsp` digits.
    #[inline]
    pub fn truncate(self, fsp: u8) -> DateTime {
        DateTime(self.0 - self.micros_of_day() % FSP_UNIT[fsp as usize])
    }
}

impl Timestamp {
    /// 2038-01-19 03:14:07.999999 UTC.
    pub const MAX: Timestamp = Timestamp(2_147_483_647 * MICROS_PER_SECOND + 999_999);
    /// 1970-01-01 00:00:01 UTC.
    pub const MIN: Timestamp = Timestamp(MICROS_PER_SECOND);
    pub const ZERO: Timestamp = Timestamp(0);

    #[inline]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Within the range of the TIMESTAMP type.
    #[inline]
    pub const fn in_range(self) -> bool {
        self.0 >= Timestamp::MIN.0 && self.0 <= Timestamp::MAX.0
    }

    /// The instant in UTC; the zero timestamp is the zero datetime.
    #[inline]
    pub fn to_utc(self) -> DateTime {
        if self.0 == 0 { DateTime::ZERO } else { DateTime::from_linear(self.0).unwrap_or(DateTime::ZERO) }
    }

    /// Rounded to `fsp` digits, half up.
    #[inline]
    pub fn round(self, fsp: u8) -> Timestamp {
        Timestamp(round_micros(self.0, fsp))
    }

    #[inline]
    pub fn truncate(self, fsp: u8) -> Timestamp {
        Timestamp(self.0 - self.0.rem_euclid(FSP_UNIT[fsp as usize]))
    }
}

/// Microseconds of one unit of the last of `fsp` digits.
pub const FSP_UNIT: [i64; 7] = [1_000_000, 100_000, 10_000, 1_000, 100, 10, 1];

/// Rounds microseconds to `fsp` digits of a second, half away from zero.
#[inline]
pub const fn round_micros(micros: i64, fsp: u8) -> i64 {
    if fsp >= 6 {
        return micros;
    }
    let unit = FSP_UNIT[fsp as usize];
    crate::decimal::rescale::div_round_i64(micros, unit) * unit
}
