//! Histograms.
//!
//! ```text
//!   histogram   1 kind 1: 1 singleton, 2 equi-height   2 bucket (record), one after the other
//!               3 share of NULLs 8   4 collation 2   5 sampling rate 8   6 buckets asked for 4
//!               7 microseconds since 1970 UTC 8   8 made anew with the other statistics
//!
//!   bucket      1 least value   2 greatest value, if another one   3 share of rows up to it 8
//!               4 distinct values 8, if not one
//! ```
//! Shares and counts are IEEE 754 doubles.

use super::record::{Field, Read, Writer};
use super::value::{collation_of, value_bytes, value_of};
use crate::histogram::{Bucket, Histogram, HistogramKind};
use types::{Collation, SqlType};

mod tag {
    pub const KIND: u16 = 1;
    pub const BUCKET: u16 = 2;
    pub const NULL_FRACTION: u16 = 3;
    pub const COLLATION: u16 = 4;
    pub const SAMPLING_RATE: u16 = 5;
    pub const BUCKETS_ASKED: u16 = 6;
    pub const UPDATED_US: u16 = 7;
    pub const AUTO_UPDATE: u16 = 8;
}

mod bucket_tag {
    pub const LOW: u16 = 1;
    pub const HIGH: u16 = 2;
    pub const CUMULATIVE: u16 = 3;
    pub const DISTINCT: u16 = 4;
}

pub(super) fn put(w: &mut Writer, histogram: &Histogram) {
    let Histogram { kind, buckets, null_fraction, collation, sampling_rate, buckets_asked, updated_us, auto_update } =
        histogram;
    let kind = match kind {
        HistogramKind::Singleton => 1,
        HistogramKind::EquiHeight => 2,
    };
    w.u8(tag::KIND, kind);
    for Bucket { low, high, cumulative, distinct } in buckets {
        let (low, high) = (value_bytes(low), value_bytes(high));
        w.record(tag::BUCKET, |w| {
            w.bytes(bucket_tag::LOW, &low);
            if low != high {
                w.bytes(bucket_tag::HIGH, &high);
            }
            w.f64(bucket_tag::CUMULATIVE, *cumulative);
            if *distinct != 1.0 {
                w.f64(bucket_tag::DISTINCT, *distinct);
            }
        });
    }
    w.f64(tag::NULL_FRACTION, *null_fraction);
    w.u16(tag::COLLATION, collation.id());
    w.f64(tag::SAMPLING_RATE, *sampling_rate);
    w.u32(tag::BUCKETS_ASKED, *buckets_asked);
    w.i64(tag::UPDATED_US, *updated_us);
    w.flag(tag::AUTO_UPDATE, *auto_update);
}

/// Of a column of the type.
pub(super) fn get(field: &Field<'_>, ty: &SqlType) -> Read<Histogram> {
    let mut kind = None;
    let mut h = Histogram {
        kind: HistogramKind::Singleton,
        buckets: Vec::new(),
        null_fraction: 0.0,
        collation: Collation::default(),
        sampling_rate: 0.0,
        buckets_asked: 0,
        updated_us: 0,
        auto_update: false,
    };
    field.record().each(|f| {
        match f.tag {
            tag::KIND => {
                kind = Some(match f.u8()? {
                    1 => HistogramKind::Singleton,
                    2 => HistogramKind::EquiHeight,
                    kind => return Err(f.damage(format!("a histogram is of the unknown kind {kind}"))),
                });
            }
            tag::BUCKET => h.buckets.push(bucket(f, ty)?),
            tag::NULL_FRACTION => h.null_fraction = f.f64()?,
            tag::COLLATION => h.collation = collation_of(f)?,
            tag::SAMPLING_RATE => h.sampling_rate = f.f64()?,
            tag::BUCKETS_ASKED => h.buckets_asked = f.u32()?,
            tag::UPDATED_US => h.updated_us = f.i64()?,
            tag::AUTO_UPDATE => h.auto_update = f.flag()?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    h.kind = kind.ok_or_else(|| field.damage("a histogram has no kind"))?;
    Ok(h)
}

fn bucket(field: &Field<'_>, ty: &SqlType) -> Read<Bucket> {
    let (mut low, mut high, mut cumulative, mut distinct) = (None, None, 0.0, 1.0);
    field.record().each(|f| {
        match f.tag {
            bucket_tag::LOW => low = Some(value_of(f, ty)?),
            bucket_tag::HIGH => high = Some(value_of(f, ty)?),
            bucket_tag::CUMULATIVE => cumulative = f.f64()?,
            bucket_tag::DISTINCT => distinct = f.f64()?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    let low = low.ok_or_else(|| field.damage("a bucket has no value"))?;
    Ok(Bucket { high: high.unwrap_or_else(|| low.clone()), low, cumulative, distinct })
}
