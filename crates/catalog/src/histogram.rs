//! How a column's values are distributed: shares of its rows by value or by stretch of values.
//!
//! ```text
//!   singleton     1: 0.2   2: 0.5   7: 0.9                 a bucket a value; the rest (0.1) is NULL
//!   equi-height   [1, 40]: 0.33, 38 values   [41, 41]: 0.6, 1 value   [43, 99]: 1.0, 20 values
//! ```
//! Frequencies are *cumulative*: the share of all rows, NULLs included, whose value is at most the bucket's last one. A
//! value that is frequent enough to fill a bucket has one of its own, so an equi-height histogram knows the most common
//! values too. Within a bucket values are taken to be spread evenly, each as frequent as any other.
//!
//! Values are ordered as the column's collation has them. Made by ANALYZE TABLE .. UPDATE HISTOGRAM, and by the planner
//! from a table's sample; MySQL manual, "Optimizer Statistics" and "Histogram Statistics Analysis".

use std::cmp::Ordering;
use types::{Collation, Value};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HistogramKind {
    Singleton,
    EquiHeight,
}

/// Values `low..=high`.
#[derive(Clone, PartialEq, Debug)]
pub struct Bucket {
    pub low: Value,
    pub high: Value,
    /// Share of all rows with a value up to `high`.
    pub cumulative: f64,
    /// Distinct values within.
    pub distinct: f64,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Histogram {
    pub kind: HistogramKind,
    /// In ascending order, without overlaps.
    pub buckets: Vec<Bucket>,
    pub null_fraction: f64,
    /// Of strings; else the default.
    pub collation: Collation,
    /// Share of the table's rows that were looked at.
    pub sampling_rate: f64,
    /// Buckets that were asked for.
    pub buckets_asked: u32,
    /// Microseconds since 1970 UTC.
    pub updated_us: i64,
    /// Made anew with the table's other statistics.
    pub auto_update: bool,
}

/// The most buckets there may be.
pub const BUCKETS_MAX: u64 = 1024;
/// How many there are if nothing is said.
pub const BUCKETS_DEFAULT: u64 = 100;

impl Bucket {
    /// Values that there can be from one end to the other.
    fn width(&self) -> f64 {
        match (&self.low, &self.high) {
            (Value::Int(_) | Value::UInt(_) | Value::Date(_), Value::Int(_) | Value::UInt(_) | Value::Date(_)) => {
                as_number(&self.high).zip(as_number(&self.low)).map_or(f64::INFINITY, |(high, low)| high - low + 1.0)
            }
            _ => f64::INFINITY,
        }
    }
}

impl Histogram {
    /// Of `values`, in any order and without NULLs, and `nulls` NULLs.
    pub fn of(mut values: Vec<Value>, nulls: u64, buckets_max: usize, collation: Collation) -> Histogram {
        values.sort_by(|a, b| order(a, b, collation));
        let mut counted: Vec<(Value, u64)> = Vec::new();
        for v in values {
            match counted.last_mut() {
                Some((last, n)) if order(last, &v, collation).is_eq() => *n += 1,
                _ => counted.push((v, 1)),
            }
        }
        Histogram::of_counted(counted, nulls, buckets_max, collation)
    }

    /// Of distinct values in order, each with the number of its rows.
    pub fn of_counted(counted: Vec<(Value, u64)>, nulls: u64, buckets_max: usize, collation: Collation) -> Histogram {
        let with_value: u64 = counted.iter().map(|c| c.1).sum();
        let total = (with_value + nulls).max(1) as f64;
        let buckets_max = buckets_max.max(1);
        let kind = if counted.len() <= buckets_max { HistogramKind::Singleton } else { HistogramKind::EquiHeight };
        let height = match kind {
            HistogramKind::Singleton => 0,
            HistogramKind::EquiHeight => least_height(&counted, with_value, buckets_max),
        };
        let mut buckets: Vec<Bucket> = Vec::new();
        let (mut sum, mut in_bucket) = (0u64, 0u64);
        for (value, n) in counted {
            sum += n;
            let cumulative = sum as f64 / total;
            match buckets.last_mut() {
                Some(b) if in_bucket + n <= height => {
                    in_bucket += n;
                    *b = Bucket {
                        low: std::mem::replace(&mut b.low, Value::Null),
                        high: value,
                        cumulative,
                        distinct: b.distinct + 1.0,
                    };
                }
                _ => {
                    in_bucket = n;
                    buckets.push(Bucket { low: value.clone(), high: value, cumulative, distinct: 1.0 });
                }
            }
        }
        Histogram {
            kind,
            buckets,
            null_fraction: nulls as f64 / total,
            collation,
            sampling_rate: 1.0,
            buckets_asked: buckets_max as u32,
            updated_us: 0,
            auto_update: false,
        }
    }

    /// Distinct values.
    pub fn distinct(&self) -> f64 {
        self.buckets.iter().map(|b| b.distinct).sum()
    }

    /// The values of buckets with several are told to be more than were seen: `distinct` in all, but in no bucket more
    /// than there are integers or days between its ends.
    pub fn scale_distinct(&mut self, distinct: f64) {
        let mut open: Vec<usize> = (0..self.buckets.len()).filter(|i| self.buckets[*i].distinct > 1.0).collect();
        // What a full bucket does not take is for the others.
        while !open.is_empty() {
            let several: f64 = open.iter().map(|i| self.buckets[*i].distinct).sum();
            let by = (distinct - (self.distinct() - several)) / several;
            if by <= 1.0 {
                return;
            }
            let before = open.len();
            open.retain(|&i| {
                let b = &mut self.buckets[i];
                let width = b.width().max(b.distinct);
                let is_full = b.distinct * by >= width;
                if is_full {
                    b.distinct = width;
                }
                !is_full
            });
            if open.len() == before {
                return open.iter().for_each(|i| self.buckets[*i].distinct *= by);
            }
        }
    }

    /// Share of rows in the bucket.
    pub fn share(&self, bucket: usize) -> f64 {
        let before = if bucket == 0 { 0.0 } else { self.buckets[bucket - 1].cumulative };
        (self.buckets[bucket].cumulative - before).max(0.0)
    }

    /// Share of rows that are not NULL.
    pub fn known(&self) -> f64 {
        1.0 - self.null_fraction
    }

    /// Share of rows whose value is `v`. Zero: no row of those that were looked at has it.
    pub fn equal(&self, v: &Value) -> f64 {
        let i = self.bucket_of(v);
        match self.buckets.get(i) {
            Some(b) if !order(v, &b.low, self.collation).is_lt() => self.share(i) / b.distinct.max(1.0),
            _ => 0.0,
        }
    }

    /// Share of rows whose value is less than `v`.
    pub fn below(&self, v: &Value) -> f64 {
        let i = self.bucket_of(v);
        let before = if i == 0 { 0.0 } else { self.buckets[i - 1].cumulative };
        let Some(b) = self.buckets.get(i) else { return before };
        if !order(v, &b.low, self.collation).is_gt() {
            return before;
        }
        let share = self.share(i);
        // The bucket has at least its two ends: what is above the first and below the last is in between.
        let least = share / b.distinct.max(2.0);
        before + (share * position(v, &b.low, &b.high)).clamp(least, share - least)
    }

    /// Share of the distinct values that are less than `v`.
    pub fn distinct_below(&self, v: &Value) -> f64 {
        let i = self.bucket_of(v);
        let before: f64 = self.buckets[..i].iter().map(|b| b.distinct).sum();
        let within = match self.buckets.get(i) {
            Some(b) if order(v, &b.low, self.collation).is_gt() => b.distinct * position(v, &b.low, &b.high),
            _ => 0.0,
        };
        (before + within) / self.distinct().max(1.0)
    }

    /// Sum of the squares of all values' shares: how likely two rows have the same value, and how many rows a value has
    /// that is drawn from the rows themselves.
    pub fn collisions(&self) -> f64 {
        (0..self.buckets.len()).map(|i| self.share(i).powi(2) / self.buckets[i].distinct.max(1.0)).sum()
    }

    /// The first bucket that ends at `v` or later.
    fn bucket_of(&self, v: &Value) -> usize {
        self.buckets.partition_point(|b| order(&b.high, v, self.collation).is_lt())
    }
}

/// The least height of buckets with which there are at most `buckets_max`.
fn least_height(counted: &[(Value, u64)], rows: u64, buckets_max: usize) -> u64 {
    let fits = |height: u64| {
        let (mut buckets, mut in_bucket) = (0usize, u64::MAX);
        for (_, n) in counted {
            match in_bucket.checked_add(*n) {
                Some(sum) if sum <= height => in_bucket = sum,
                _ => {
                    buckets += 1;
                    in_bucket = *n;
                }
            }
        }
        buckets <= buckets_max
    };
    let (mut low, mut high) = (rows / buckets_max as u64, rows.max(1));
    while low < high {
        let middle = low + (high - low) / 2;
        if fits(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    high
}

/// The order of values of one column.
pub fn order(a: &Value, b: &Value, collation: Collation) -> Ordering {
    a.sort_cmp(b, collation)
}

/// Where `v` lies between the ends, 0 to 1.
fn position(v: &Value, low: &Value, high: &Value) -> f64 {
    let at = match (v, low, high) {
        (Value::Bytes(v), Value::Bytes(low), Value::Bytes(high)) => {
            let common = low.iter().zip(high.iter()).take_while(|(a, b)| a == b).count();
            let number = |s: &[u8]| {
                let digits = s.iter().skip(common).take(6);
                digits.enumerate().map(|(i, b)| *b as f64 / 256f64.powi(i as i32 + 1)).sum::<f64>()
            };
            (number(v) - number(low)) / (number(high) - number(low))
        }
        _ => match (as_number(v), as_number(low), as_number(high)) {
            (Some(v), Some(low), Some(high)) => (v - low) / (high - low),
            _ => 0.5,
        },
    };
    if at.is_finite() { at.clamp(0.0, 1.0) } else { 0.5 }
}

/// A number that orders as the value does, where that is meaningful.
pub fn as_number(v: &Value) -> Option<f64> {
    Some(match v {
        Value::Int(v) => *v as f64,
        Value::UInt(v) => *v as f64,
        Value::Float(v) => *v as f64,
        Value::Double(v) => *v,
        Value::Decimal(d) => d.to_f64(),
        Value::Date(d) => day_number(d.0 as i64),
        Value::DateTime(d) => day_number(d.0 >> 37) + (d.0 & ((1 << 37) - 1)) as f64 / 86_400e6,
        Value::Time(t) => t.0 as f64,
        Value::Timestamp(t) => t.0 as f64,
        Value::Null | Value::Bytes(_) => return None,
    })
}

/// Days, all months taken as 31 days: linear enough for interpolation.
fn day_number(packed: i64) -> f64 {
    ((packed >> 9) * 372 + (packed >> 5 & 15) * 31 + (packed & 31)) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ints(values: impl IntoIterator<Item = i64>) -> Vec<Value> {
        values.into_iter().map(Value::Int).collect()
    }

    #[test]
    fn few_values_have_a_bucket_each() {
        let h = Histogram::of(ints([3, 1, 2, 2, 3, 3]), 2, 100, Collation::default());
        assert_eq!(h.kind, HistogramKind::Singleton);
        let shares: Vec<f64> = h.buckets.iter().map(|b| b.cumulative).collect();
        assert_eq!(shares, [0.125, 0.375, 0.75]);
        assert_eq!(h.null_fraction, 0.25);
        assert_eq!((h.equal(&Value::Int(2)), h.equal(&Value::Int(4)), h.equal(&Value::Int(0))), (0.25, 0.0, 0.0));
        assert_eq!((h.below(&Value::Int(3)), h.below(&Value::Int(1)), h.below(&Value::Int(9))), (0.375, 0.0, 0.75));
    }

    #[test]
    fn many_values_share_buckets_and_frequent_ones_do_not() {
        let values = (0..1000).chain(std::iter::repeat_n(500, 1000));
        let h = Histogram::of(ints(values), 0, 16, Collation::default());
        assert_eq!(h.kind, HistogramKind::EquiHeight);
        assert!(h.buckets.len() <= 16, "{}", h.buckets.len());
        assert!((h.equal(&Value::Int(500)) - 0.5).abs() < 0.1, "{}", h.equal(&Value::Int(500)));
        assert!((h.equal(&Value::Int(77)) - 0.0005).abs() < 0.0001);
        assert!((h.below(&Value::Int(250)) - 0.125).abs() < 0.01);
        assert_eq!(h.below(&Value::Int(5000)), 1.0);
        assert_eq!(h.distinct(), 1000.0);
        assert!((h.distinct_below(&Value::Int(250)) - 0.25).abs() < 0.01);
        for w in h.buckets.windows(2) {
            assert!(order(&w[0].high, &w[1].low, h.collation).is_lt() && w[0].cumulative < w[1].cumulative);
        }
    }

    #[test]
    fn values_that_a_sample_missed_are_where_there_is_room_for_them() {
        // 0 to 9 are all seen, of the thousands above one in ten.
        let often = (0..10).flat_map(|v| std::iter::repeat_n(v, 100));
        let mut h = Histogram::of(ints(often.chain((10..10_000).step_by(10))), 0, 16, Collation::default());
        h.scale_distinct(10_000.0);
        assert!((h.distinct() - 10_000.0).abs() < 100.0, "{}", h.distinct());
        let below = |v| h.distinct_below(&Value::Int(v)) * h.distinct();
        assert!(below(3) <= 4.0 && (below(5000) - 5000.0).abs() < 500.0, "{} {}", below(3), below(5000));
        // More than there is room for are nowhere.
        h.scale_distinct(1e9);
        assert!(h.distinct() < 11_000.0, "{}", h.distinct());
    }

    #[test]
    fn nothing_has_no_buckets() {
        let h = Histogram::of(vec![], 0, 8, Collation::default());
        assert!(h.buckets.is_empty());
        assert_eq!((h.equal(&Value::Int(1)), h.below(&Value::Int(1)), h.collisions()), (0.0, 0.0, 0.0));
    }
}
