//! MySQL's temporal values, zero dates included, in packed forms that order as the values do.

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
