//! Time zones: `SYSTEM`, `+hh:mm`, and names of the IANA database, which travels with the binary.
//!
//! TIMESTAMPs are stored in UTC and seen in the session's zone. A local time that a zone skips (the gap when clocks go
//! forward) becomes the end of the gap; one that occurs twice means the first occurrence.

use std::fmt;

use jiff::tz::{AmbiguousOffset, TimeZone as Zone};

use super::parse::read_offset;
use super::{DateTime, MICROS_PER_SECOND, Timestamp};

/// The value of `time_zone`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TimeZone {
    /// The host's zone.
    System,
    Utc,
    /// Seconds east of UTC.
    Offset(i32),
    Named(Zone),
}

/// What [`TimeZone::to_timestamp`] found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LocalTime {
    Exact(Timestamp),
    /// The zone skips this local time; the instant is the end of the gap (warning 1299).
    Gap(Timestamp),
}

/// The names of all zones, sorted.
pub fn names() -> Vec<String> {
    let mut names: Vec<String> = jiff::tz::db().available().map(|name| name.as_str().to_string()).collect();
    names.sort_unstable();
    names
}

impl LocalTime {
    pub fn timestamp(self) -> Timestamp {
        match self {
            LocalTime::Exact(t) | LocalTime::Gap(t) => t,
        }
    }
}

impl TimeZone {
    /// Reads `SYSTEM`, an offset from `-13:59` to `+14:00`, or a zone's name (in any case). None: error 1298.
    pub fn parse(name: &str) -> Option<TimeZone> {
        if name.eq_ignore_ascii_case("SYSTEM") {
            return Some(TimeZone::System);
        }
        if name.starts_with(['+', '-']) {
            // `+5:30` has a one-digit hour.
            let padded = if name.as_bytes().get(2) == Some(&b':') {
                format!("{}0{}", &name[..1], &name[1..])
            } else {
                name.to_string()
            };
            if padded == "-00:00" {
                return Some(TimeZone::Offset(0));
            }
            return match read_offset(padded.as_bytes(), 0) {
                Some((offset, used)) if used == padded.len() => Some(TimeZone::Offset(offset)),
                _ => None,
            };
        }
        if name.eq_ignore_ascii_case("UTC") {
            return Some(TimeZone::Utc);
        }
        Zone::get(name).ok().map(TimeZone::Named)
    }

    fn zone(&self) -> Zone {
        match self {
            TimeZone::System => Zone::system(),
            TimeZone::Utc => Zone::UTC,
            TimeZone::Offset(s) => Zone::fixed(jiff::tz::Offset::from_seconds(*s).expect("offsets are within a day")),
            TimeZone::Named(z) => z.clone(),
        }
    }

    /// A converter for many values.
    pub fn converter(&self) -> LocalConverter {
        let fixed = match self {
            TimeZone::Utc => Some(0),
            TimeZone::Offset(s) => Some(*s),
            _ => None,
        };
        match fixed {
            Some(s) => {
                LocalConverter { from: i64::MIN, to: i64::MAX, offset: s as i64 * MICROS_PER_SECOND, zone: None }
            }
            None => LocalConverter { from: 0, to: 0, offset: 0, zone: Some(self.zone()) },
        }
    }

    /// The instant as a local DATETIME.
    pub fn to_datetime(&self, t: Timestamp) -> DateTime {
        self.converter().to_datetime(t)
    }

    /// The instant of a local DATETIME; the zero datetime is the zero timestamp. The caller checks
    /// [`Timestamp::in_range`]. None for dates with zero parts.
    pub fn to_timestamp(&self, local: DateTime) -> Option<LocalTime> {
        self.converter().to_timestamp(local)
    }

    /// Seconds east of UTC at an instant.
    pub fn offset_at(&self, t: Timestamp) -> i32 {
        let mut c = self.converter();
        c.to_datetime(t);
        (c.offset / MICROS_PER_SECOND) as i32
    }
}

/// Converts between UTC and one zone; remembers the current period of constant offset, so that a column of nearby
/// instants costs an addition each.
pub struct LocalConverter {
    /// Microseconds (UTC) from which to which `offset` holds.
    from: i64,
    to: i64,
    offset: i64,
    /// None: one offset for ever.
    zone: Option<Zone>,
}

impl LocalConverter {
    /// The instant as a local DATETIME.
    #[inline]
    pub fn to_datetime(&mut self, t: Timestamp) -> DateTime {
        if t.0 == 0 {
            return DateTime::ZERO;
        }
        if t.0 < self.from || t.0 >= self.to {
            self.seek(t.0);
        }
        DateTime::from_linear(t.0.saturating_add(self.offset)).unwrap_or(DateTime::ZERO)
    }

    #[cold]
    fn seek(&mut self, micros: i64) {
        let (Some(zone), Ok(t)) = (&self.zone, jiff::Timestamp::from_microsecond(micros)) else {
            return;
        };
        self.offset = zone.to_offset(t).seconds() as i64 * MICROS_PER_SECOND;
        // A transition at the instant itself belongs to the period that it starts.
        let next = t.checked_add(jiff::SignedDuration::from_nanos(1)).unwrap_or(t);
        self.from = zone.preceding(next).next().map_or(i64::MIN, |x| x.timestamp().as_microsecond());
        self.to = zone.following(t).next().map_or(i64::MAX, |x| x.timestamp().as_microsecond());
    }

    /// See [`TimeZone::to_timestamp`].
    #[inline]
    pub fn to_timestamp(&mut self, local: DateTime) -> Option<LocalTime> {
        if local.is_zero() {
            return Some(LocalTime::Exact(Timestamp::ZERO));
        }
        if local.date().has_zero_part() {
            return None;
        }
        let linear = local.linear();
        // Inside the period by a day on both sides, the local time is neither skipped nor doubled.
        let t = linear - self.offset;
        if self.zone.is_none()
            || (t.saturating_sub(super::MICROS_PER_DAY) >= self.from
                && t.saturating_add(super::MICROS_PER_DAY) < self.to)
        {
            return Some(LocalTime::Exact(Timestamp(t)));
        }
        self.resolve_slow(local)
    }

    #[cold]
    fn resolve_slow(&mut self, local: DateTime) -> Option<LocalTime> {
        let zone = self.zone.as_ref()?;
        let d = local.date();
        let civil = jiff::civil::DateTime::new(
            d.year() as i16,
            d.month() as i8,
            d.day() as i8,
            local.hour() as i8,
            local.minute() as i8,
            local.second() as i8,
            local.micros() as i32 * 1000,
        )
        .ok()?;
        let linear = local.linear();
        let at = |o: jiff::tz::Offset| linear - o.seconds() as i64 * MICROS_PER_SECOND;
        let found = match zone.to_ambiguous_timestamp(civil).offset() {
            AmbiguousOffset::Unambiguous { offset } => LocalTime::Exact(Timestamp(at(offset))),
            AmbiguousOffset::Fold { before, .. } => LocalTime::Exact(Timestamp(at(before))),
            AmbiguousOffset::Gap { before, .. } => {
                let after_gap = jiff::Timestamp::from_microsecond(at(before) + 1).ok()?;
                let start = zone.preceding(after_gap).next().map_or(at(before), |x| x.timestamp().as_microsecond());
                LocalTime::Gap(Timestamp(start))
            }
        };
        self.seek(found.timestamp().0);
        Some(found)
    }
}

impl fmt::Display for TimeZone {
    /// As `@@time_zone` shows it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TimeZone::System => f.write_str("SYSTEM"),
            TimeZone::Utc => f.write_str("UTC"),
            TimeZone::Offset(s) => {
                let m = s.abs() / 60;
                write!(f, "{}{:02}:{:02}", if *s < 0 { '-' } else { '+' }, m / 60, m % 60)
            }
            TimeZone::Named(z) => f.write_str(z.iana_name().unwrap_or("UTC")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(y: i32, mo: i32, d: i32, h: i32, mi: i32) -> DateTime {
        DateTime::new(y, mo, d, h, mi, 0, 0).expect("a date")
    }

    #[test]
    fn names_and_offsets() {
        for (name, shown) in
            [("+05:30", "+05:30"), ("-8:00", "-08:00"), ("system", "SYSTEM"), ("europe/berlin", "Europe/Berlin")]
        {
            assert_eq!(TimeZone::parse(name).expect(name).to_string(), shown);
        }
        for bad in ["+14:01", "-14:00", "Mars/Olympus", "+05", "", "+05:60"] {
            assert_eq!(TimeZone::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn summer_time() {
        let z = TimeZone::parse("Europe/Berlin").expect("a zone");
        let there = |l| z.to_timestamp(l).expect("a date");
        for l in [at(2024, 1, 15, 12, 0), at(2024, 7, 15, 12, 0), at(2024, 3, 31, 3, 0), at(2024, 3, 31, 1, 59)] {
            let t = there(l);
            assert!(matches!(t, LocalTime::Exact(_)));
            assert_eq!(z.to_datetime(t.timestamp()), l);
        }
        assert_eq!(there(at(2024, 7, 15, 12, 0)).timestamp().to_utc(), at(2024, 7, 15, 10, 0));
        // 02:30 does not exist: the clock goes from 02:00 to 03:00.
        assert_eq!(there(at(2024, 3, 31, 2, 30)), LocalTime::Gap(there(at(2024, 3, 31, 3, 0)).timestamp()));
        // 02:30 occurs twice: the first is summer time.
        assert_eq!(there(at(2024, 10, 27, 2, 30)).timestamp().to_utc(), at(2024, 10, 27, 0, 30));
        assert_eq!(z.to_timestamp(DateTime::ZERO), Some(LocalTime::Exact(Timestamp::ZERO)));
        // One converter over a whole year of hours agrees with fresh ones.
        let mut c = z.converter();
        for hour in 0..366 * 24 {
            let t = Timestamp(1_704_067_200_000_000 + hour * 3_600_000_000);
            assert_eq!(c.to_datetime(t), z.to_datetime(t));
            let l = c.to_datetime(t);
            assert_eq!(c.to_timestamp(l), z.to_timestamp(l));
        }
    }
}
