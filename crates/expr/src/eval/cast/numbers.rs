//! To doubles, integers and decimals.

use super::super::exact::{Exact, Lane, pow10_i128, type_bounds};
use super::{Job, local};
use crate::kernels;
use types::value::number::{Read, Truncation, parse_f64, parse_i64, parse_u64};
use types::{Date, DateTime, Decimal, Error, I256, Result, SqlType, Time, Timestamp};
use vector::{Chunk, Values};

impl Job<'_> {
    pub(super) fn to_double(&self) -> Result<Chunk> {
        let chunk = self.v.chunk().0;
        match (self.from, &chunk.values) {
            (_, Values::F64(_)) => Ok((**chunk).clone()),
            (_, Values::F32(v)) => Ok(Chunk::new(Values::F64(v.iter().map(|&x| x as f64).collect()), self.validity())),
            (SqlType::String { .. }, _) => self.each().fixed(|i| {
                let Read { value: v, truncation } = parse_f64(self.v.bytes(i));
                if truncation != Truncation::None {
                    self.truncated("DOUBLE", i)?;
                }
                Ok(Some(v))
            }),
            (t, _) if t.is_temporal() => {
                let scale = 6;
                self.number_of_time(|micros| Decimal::from_i128(micros, scale).to_f64())
            }
            _ => {
                let e = Exact::new(self.v, self.from);
                let out: Vec<f64> = match &e.lane {
                    Lane::I64(v) if e.scale == 0 => v.iter().map(|&x| x as f64).collect(),
                    // Quotients of integers below 2^53 and of powers of ten up to 10^22 are rounded correctly.
                    Lane::I64(v) if e.scale <= 22 => {
                        let d = 10f64.powi(e.scale as i32);
                        v.iter()
                            .map(|&x| {
                                if x.unsigned_abs() <= 1 << 53 {
                                    x as f64 / d
                                } else {
                                    types::decimal::scaled_to_f64(x as i128, e.scale)
                                }
                            })
                            .collect()
                    }
                    _ => (0..e.len()).map(|i| e.decimal(i).to_f64()).collect(),
                };
                Ok(Chunk::new(Values::F64(out), self.validity()))
            }
        }
    }

    /// Temporal values as `f(YYYYMMDDhhmmss * 10^6 + microseconds)`.
    fn number_of_time<T: vector::Native>(&self, f: impl Fn(i128) -> T) -> Result<Chunk> {
        let mut conv = local(self.ctx.session);
        self.each().fixed(|i| {
            let e = Exact::new(self.v, self.from);
            let x = e.get(i).to_i64().unwrap_or(0);
            let micros = match self.from {
                SqlType::Date => Date(x as i32).to_number() as i128 * 1_000_000,
                SqlType::Time { .. } => {
                    let t = Time(x);
                    let sign = if t.is_negative() { -1 } else { 1 };
                    t.to_number() as i128 * 1_000_000 + sign * t.micros() as i128
                }
                SqlType::Timestamp { .. } => {
                    let d = conv.to_datetime(Timestamp(x));
                    d.to_number() as i128 * 1_000_000 + d.micros() as i128
                }
                _ => {
                    let d = DateTime(x);
                    d.to_number() as i128 * 1_000_000 + d.micros() as i128
                }
            };
            Ok(Some(f(micros)))
        })
    }

    pub(super) fn to_integer(&self) -> Result<Chunk> {
        let Some((lo, hi)) = type_bounds(self.to) else { return Err(Error::internal("integers have bounds")) };
        let chunk = self.v.chunk().0;
        let wraps = lo == 0 || hi == i64::MAX as i128;
        let fit = |x: i128, i: usize, kind: &str| -> Result<i128> {
            if (lo..=hi).contains(&x) {
                return Ok(x);
            }
            // Integers of the other sign keep their bits in CAST; anything else is clamped.
            let clamped = x.clamp(lo, hi);
            self.truncated(kind, i)?;
            Ok(clamped)
        };
        let mut out = vec![0i128; self.rows];
        match (self.from, &chunk.values) {
            (SqlType::String { .. }, _) => self.each().try_each(|i| {
                // CAST('-1' AS UNSIGNED) keeps the bits.
                let (x, truncation) = if lo == 0 {
                    let r = parse_u64(self.v.bytes(i));
                    (r.value as i128, r.truncation)
                } else {
                    let r = parse_i64(self.v.bytes(i));
                    (r.value as i128, r.truncation)
                };
                if truncation != Truncation::None {
                    self.truncated("INTEGER", i)?;
                }
                out[i] = fit(x, i, "INTEGER")?;
                Ok(())
            })?,
            (_, Values::F64(_) | Values::F32(_)) => {
                let d = self.to_double()?;
                let Values::F64(d) = &d.values else { return Err(Error::internal("doubles are F64")) };
                self.each().try_each(|i| {
                    let x = d[i].round_ties_even();
                    let x =
                        if lo == 0 && x < 0.0 && x >= i64::MIN as f64 { x as i64 as u64 as i128 } else { x as i128 };
                    out[i] = fit(x, i, "INTEGER")?;
                    Ok(())
                })?;
            }
            (t, _) if t.is_temporal() => {
                // Fractions of a second round.
                let c = self.number_of_time(|micros| {
                    let half = if micros < 0 { -500_000 } else { 500_000 };
                    ((micros + half) / 1_000_000) as i64
                })?;
                let Values::I64(x) = &c.values else { return Err(Error::internal("numbers are I64")) };
                out = x.iter().map(|&x| x as i128).collect();
            }
            (_, _) => {
                let mut e = Exact::new(self.v, self.from);
                if e.scale == 0 && e.bounds.is_none_or(|(a, b)| a < lo || b > hi) {
                    e.tighten();
                }
                match (e.scale, e.bounds, e.to_i128()) {
                    (0, Some((a, b)), Some(x)) if a >= lo && b <= hi => out = x.into_owned(),
                    (0, _, Some(x)) => self.each().try_each(|i| {
                        let x = x[i];
                        let same_bits = wraps && self.from.is_integer();
                        out[i] = match (lo, x) {
                            (0, x) if same_bits && x < 0 => x as i64 as u64 as i128,
                            (_, x) if same_bits && x > i64::MAX as i128 => x as u64 as i64 as i128,
                            _ => fit(x, i, "DECIMAL")?,
                        };
                        Ok(())
                    })?,
                    _ => self.each().try_each(|i| {
                        let x = e
                            .decimal(i)
                            .round_at(0)
                            .and_then(|d| d.to_i128())
                            .unwrap_or(if e.get(i).is_negative() { i128::MIN } else { i128::MAX });
                        out[i] = fit(x, i, "DECIMAL")?;
                        Ok(())
                    })?,
                }
            }
        }
        let mut c = Chunk::new(kernels::narrow_to(out, self.to)?, self.validity());
        c.bounds = if self.from.is_integer() && lo <= i64::MIN as i128 { chunk.bounds } else { None };
        Ok(c)
    }

    pub(super) fn to_decimal(&self) -> Result<Chunk> {
        let SqlType::Decimal { precision, scale } = *self.to else {
            return Err(Error::internal("to_decimal is for DECIMAL"));
        };
        let chunk = self.v.chunk().0;
        let number = !matches!(chunk.values, Values::F32(_) | Values::F64(_) | Values::Str(_) | Values::Dict(_))
            && !self.from.is_temporal();
        if number {
            let mut e = Exact::new(self.v, self.from);
            if e.scale <= scale && e.scaled_up(scale) && precision <= 38 {
                let limit = pow10_i128(precision) - 1;
                let fits = |e: &Exact| e.bounds.is_some_and(|(lo, hi)| -limit <= lo && hi <= limit);
                if !fits(&e) {
                    e.tighten();
                }
                if fits(&e) {
                    let bounds = e.bounds.and_then(|(lo, hi)| {
                        Some(vector::Bounds { min: i64::try_from(lo).ok()?, max: i64::try_from(hi).ok()? })
                    });
                    let values = match e.lane {
                        Lane::I64(v) => Values::I64(v.into_owned()),
                        Lane::I128(v) => kernels::narrow_to(v.into_owned(), self.to)?,
                        Lane::I256(v) => Values::I256(v.into_owned()),
                    };
                    let mut c = Chunk::new(values, self.validity());
                    c.bounds = bounds;
                    return Ok(c);
                }
            }
        }
        let mut out = vec![I256::default(); self.rows];
        let exact = number.then(|| Exact::new(self.v, self.from));
        let doubles = match &chunk.values {
            Values::F32(_) | Values::F64(_) => Some(self.to_double()?),
            _ => None,
        };
        let times = if self.from.is_temporal() { Some(self.number_of_time(|m| m)?) } else { None };
        self.each().try_each(|i| {
            let d = if let Some(e) = &exact {
                e.decimal(i)
            } else if let Some(Chunk { values: Values::F64(v), .. }) = &doubles {
                match Decimal::from_f64(v[i]) {
                    Some(d) => d,
                    // Beyond 65 digits: the nearest bound.
                    None => Decimal { unscaled: if v[i] < 0.0 { -I256::pow10(65) } else { I256::pow10(65) }, scale: 0 },
                }
            } else if let Some(Chunk { values: Values::I128(v), .. }) = &times {
                Decimal::from_i128(v[i], 6)
            } else {
                let p = types::decimal::parse_decimal(self.v.bytes(i));
                if p.bad || p.trailing {
                    self.truncated("DECIMAL", i)?;
                }
                p.value
            };
            let (d, clamped) = d.fit(precision, scale);
            if clamped {
                self.ctx.fault(Error::warn_data_out_of_range(self.text(i), 1))?;
            }
            out[i] = d.unscaled;
            Ok(())
        })?;
        let values = if precision > 38 {
            Values::I256(out)
        } else {
            kernels::narrow_to(out.iter().map(|v| v.to_i128().unwrap_or(0)).collect(), self.to)?
        };
        Ok(Chunk::new(values, self.validity()))
    }
}
