//! Conversions between types, with MySQL's warnings.
//!
//! A conversion that cannot fail runs over all positions. The others look at selected rows only and report through
//! [`EvalContext::fault`](crate::EvalContext::fault): what is no number reads as the number at its start (1292), what is
//! no date is NULL (1292), what is out of range is clamped (1292, 1264).

use super::exact::{Exact, Lane, pow10_i128, type_bounds};
use super::node::Cx;
use super::rows::Rows;
use crate::kernels::{self, text};
use crate::{EvalContext, SessionInfo};
use types::temporal::parse::{datetime_from_number, parse_date, parse_datetime, parse_time, time_from_number};
use types::temporal::{LocalConverter, TemporalMode};
use types::value::number::{Read, Truncation, parse_f64, parse_i64, parse_u64};
use types::{Collation, Date, DateTime, Decimal, Error, I256, Result, SqlType, StringKind, Time, Timestamp};
use vector::{Chunk, Selection, Values, Vector};

/// The session's rules for dates.
pub(crate) fn temporal_mode(session: &SessionInfo) -> TemporalMode {
    let m = &session.sql_mode;
    TemporalMode {
        no_zero_date: m.no_zero_date,
        no_zero_in_date: m.no_zero_in_date,
        allow_invalid_dates: m.allow_invalid_dates,
        truncate_fractional: m.time_truncate_fractional,
    }
}

/// A converter between UTC and the session's time zone.
pub(crate) fn local(session: &SessionInfo) -> LocalConverter {
    session.time_zone.converter()
}

/// The moment at which the statement began, in the session's time zone.
pub(crate) fn statement_now(session: &SessionInfo) -> DateTime {
    local(session).to_datetime(Timestamp(session.statement_time_us))
}

/// `v`, of type `from`, as `to`.
pub(crate) fn cast(
    v: &Vector,
    from: &SqlType,
    to: &SqlType,
    explicit: bool,
    cx: &Cx,
    sel: &Selection,
) -> Result<Vector> {
    if from == to {
        return Ok(v.clone());
    }
    let (chunk, constant) = v.chunk();
    if constant && !chunk.is_valid(0) || *from == SqlType::Null {
        return Ok(kernels::null_vector(to));
    }
    let all = Selection::All;
    let (rows, sel) = if constant { (1, &all) } else { (cx.rows, sel) };
    let job = Job { v, from, to, explicit, rows, sel, ctx: cx.ctx };
    Ok(match job.run()? {
        Vector::Flat(c) if constant => Vector::Const(c),
        v => v,
    })
}

struct Job<'a> {
    v: &'a Vector,
    from: &'a SqlType,
    to: &'a SqlType,
    explicit: bool,
    rows: usize,
    sel: &'a Selection,
    ctx: &'a EvalContext<'a>,
}

impl Job<'_> {
    fn run(&self) -> Result<Vector> {
        match self.to {
            SqlType::String { .. } => self.to_string(),
            SqlType::Double => self.to_double().map(Vector::flat),
            SqlType::Float => {
                let c = self.to_double()?;
                let Values::F64(v) = &c.values else { return Err(Error::internal("doubles are F64")) };
                let v = v.iter().map(|&x| x as f32).collect();
                Ok(Vector::flat(Chunk::new(Values::F32(v), c.validity.clone())))
            }
            SqlType::Int { .. } => self.to_integer().map(Vector::flat),
            SqlType::Decimal { .. } => self.to_decimal().map(Vector::flat),
            SqlType::Date => {
                let mut conv = self.converter();
                self.temporal(|d| Some(d.date().0), &mut conv).map(Vector::flat)
            }
            SqlType::DateTime { fsp } => self.to_datetime(*fsp).map(Vector::flat),
            SqlType::Timestamp { fsp } => {
                let mut back = local(self.ctx.session);
                let mut conv = self.converter();
                self.temporal(|d| Some(back.to_timestamp(d.round(*fsp)?)?.timestamp().0), &mut conv).map(Vector::flat)
            }
            SqlType::Time { fsp } => self.to_time(*fsp).map(Vector::flat),
            SqlType::Year => self.to_year().map(Vector::flat),
            SqlType::Bool => {
                let p = super::logic::truth_of(self.v, self.from, self.rows);
                Ok(Vector::flat(p.into_tri(self.rows).into_chunk()))
            }
            SqlType::Null => Ok(kernels::null_vector(self.to)),
        }
    }

    fn each(&self) -> Rows<'_> {
        Rows::new(self.rows, self.sel, &[self.v])
    }

    fn validity(&self) -> Option<vector::Bitmap> {
        self.v.chunk().0.validity.clone()
    }

    fn text(&self, i: usize) -> String {
        let mut out = Vec::new();
        text::write_value(self.v, i, self.from, Some(&mut local(self.ctx.session)), &mut out);
        String::from_utf8_lossy(&out).into_owned()
    }

    fn truncated(&self, kind: &str, i: usize) -> Result<()> {
        self.ctx.fault(Error::truncated_wrong_value(kind, self.text(i)))
    }

    // --- numbers

    fn to_double(&self) -> Result<Chunk> {
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

    fn to_integer(&self) -> Result<Chunk> {
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

    fn to_decimal(&self) -> Result<Chunk> {
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

    // --- strings

    fn to_string(&self) -> Result<Vector> {
        let SqlType::String { kind, len, collation } = *self.to else {
            return Err(Error::internal("to_string is for strings"));
        };
        let limited = self.explicit && matches!(kind, StringKind::Char | StringKind::VarChar);
        let pad = self.explicit && kind == StringKind::Char && collation == Collation::Binary;
        if let SqlType::String { len: from_len, collation: from_collation, .. } = *self.from {
            let from_bytes = from_collation == Collation::Binary;
            let reinterpret = from_bytes && collation != Collation::Binary;
            let narrower = matches!(collation, Collation::Latin1SwedishCi | Collation::Latin1Bin)
                && !matches!(from_collation, Collation::Latin1SwedishCi | Collation::Latin1Bin);
            let cut = limited && (from_len > len || collation == Collation::Binary && !from_bytes);
            if !reinterpret && !narrower && !cut && !pad {
                return Ok(self.v.clone());
            }
            let c = self.each().strings(|i, out| {
                let start = out.len();
                let s = self.v.bytes(i);
                if reinterpret && std::str::from_utf8(s).is_err() {
                    let bad = types::collation::utf8::valid_prefix(s);
                    let shown: String = s[bad..].iter().take(6).map(|b| format!("\\x{b:02X}")).collect();
                    self.ctx.fault(Error::invalid_character_string("utf8mb4", shown))?;
                    return Ok(false);
                }
                if narrower {
                    for c in types::collation::utf8::chars(s) {
                        if types::collation::simple::to_latin1(c).is_some() {
                            types::collation::utf8::encode(c, out);
                        } else {
                            out.push(b'?');
                        }
                    }
                } else {
                    out.extend_from_slice(s);
                }
                self.limit(i, start, limited, len, collation, out)?;
                if pad {
                    out.resize(start + len as usize, 0);
                }
                Ok(true)
            })?;
            return Ok(Vector::flat(c));
        }
        let mut conv = local(self.ctx.session);
        let c = self.each().strings(|i, out| {
            let start = out.len();
            text::write_value(self.v, i, self.from, Some(&mut conv), out);
            self.limit(i, start, limited, len, collation, out)?;
            if pad {
                out.resize(start + len as usize, 0);
            }
            Ok(true)
        })?;
        Ok(Vector::flat(c))
    }

    /// Cuts what was written from `start` on to `len` characters.
    fn limit(&self, i: usize, start: usize, on: bool, len: u32, c: Collation, out: &mut Vec<u8>) -> Result<()> {
        if !on || c.char_length(&out[start..]) <= len as usize {
            return Ok(());
        }
        let keep = if c == Collation::Binary {
            len as usize
        } else {
            types::collation::utf8::offset_of_char(&out[start..], len as usize)
        };
        out.truncate(start + keep);
        let kind = if c == Collation::Binary { "BINARY" } else { "CHAR" };
        self.truncated(&format!("{kind}({len})"), i)
    }

    // --- temporal values

    fn converter(&self) -> LocalConverter {
        local(self.ctx.session)
    }

    fn bad(&self, kind: &str, i: usize) -> Result<()> {
        self.ctx.fault(Error::incorrect_value_1292(kind, self.text(i)))
    }

    /// Reads each value as a DATETIME and maps it; None is NULL.
    fn temporal<T: vector::Native>(
        &self,
        mut f: impl FnMut(DateTime) -> Option<T>,
        conv: &mut LocalConverter,
    ) -> Result<Chunk> {
        let mode = temporal_mode(self.ctx.session);
        let kind = if *self.to == SqlType::Date { "date" } else { "datetime" };
        match self.from {
            SqlType::String { .. } => {
                let mut zone = local(self.ctx.session);
                self.each().fixed(|i| {
                    let s = self.v.bytes(i);
                    let parsed = if *self.to == SqlType::Date { parse_date(s, mode) } else { parse_datetime(s, mode) };
                    match parsed {
                        Ok(p) => {
                            if p.truncated {
                                self.ctx.fault(Error::truncated_wrong_value(kind, String::from_utf8_lossy(s)))?;
                            }
                            let value = match p.offset {
                                // A local time of that offset, seen from the session's zone.
                                Some(seconds) => {
                                    zone.to_datetime(Timestamp(p.value.linear() - seconds as i64 * 1_000_000))
                                }
                                None => p.value,
                            };
                            Ok(f(value))
                        }
                        Err(_) => {
                            self.bad(kind, i)?;
                            Ok(None)
                        }
                    }
                })
            }
            SqlType::Date | SqlType::DateTime { .. } | SqlType::Timestamp { .. } | SqlType::Time { .. } => {
                let e = Exact::new(self.v, self.from);
                let today = if matches!(self.from, SqlType::Time { .. }) {
                    statement_now(self.ctx.session).date()
                } else {
                    Date::ZERO
                };
                self.each().fixed(|i| {
                    let x = e.get(i).to_i64().unwrap_or(0);
                    Ok(match self.from {
                        SqlType::Date => f(Date(x as i32).midnight()),
                        SqlType::DateTime { .. } => f(DateTime(x)),
                        SqlType::Timestamp { .. } => f(conv.to_datetime(Timestamp(x))),
                        _ => Time(x).on(today).and_then(&mut f),
                    })
                })
            }
            _ => {
                let (whole, micros) = self.split_number()?;
                self.each().fixed(|i| match datetime_from_number(whole[i], mode) {
                    Ok((d, _)) => Ok(f(DateTime(d.0 + micros[i]))),
                    Err(_) => {
                        self.bad(kind, i)?;
                        Ok(None)
                    }
                })
            }
        }
    }

    /// Numbers as an integer and microseconds.
    fn split_number(&self) -> Result<(Vec<i64>, Vec<i64>)> {
        let chunk = self.v.chunk().0;
        let n = chunk.len();
        if matches!(chunk.values, Values::F32(_) | Values::F64(_)) {
            let c = self.to_double()?;
            let Values::F64(v) = &c.values else { return Err(Error::internal("doubles are F64")) };
            let whole = v.iter().map(|x| x.trunc() as i64).collect();
            let micros = v.iter().map(|x| ((x - x.trunc()).abs() * 1e6).round() as i64).collect();
            return Ok((whole, micros));
        }
        let e = Exact::new(self.v, self.from);
        let mut whole = vec![0i64; n];
        let mut micros = vec![0i64; n];
        for i in 0..n {
            let d = e.decimal(i);
            let w = d.truncate(0).unwrap_or(d);
            whole[i] = w.unscaled.to_i64().unwrap_or(i64::MAX);
            if e.scale > 0 {
                let f = d.sub(&w).and_then(|f| f.abs().rescale(6));
                micros[i] = f.and_then(|f| f.to_i128()).unwrap_or(0) as i64;
            }
        }
        Ok((whole, micros))
    }

    fn to_datetime(&self, fsp: u8) -> Result<Chunk> {
        if *self.from == SqlType::Date {
            // A shift.
            if let Values::I32(v) = &self.v.chunk().0.values {
                let out = v.iter().map(|&d| Date(d).midnight().0).collect();
                return Ok(Chunk::new(Values::I64(out), self.validity()));
            }
        }
        let truncate = self.ctx.session.sql_mode.time_truncate_fractional;
        let mut conv = self.converter();
        self.temporal(|d| if truncate { Some(d.truncate(fsp).0) } else { d.round(fsp).map(|d| d.0) }, &mut conv)
    }

    fn to_time(&self, fsp: u8) -> Result<Chunk> {
        let mode = temporal_mode(self.ctx.session);
        let truncate = self.ctx.session.sql_mode.time_truncate_fractional;
        let round = |t: Time| Some(if truncate { t.truncate(fsp).0 } else { t.round(fsp).0 });
        match self.from {
            SqlType::String { .. } => self.each().fixed(|i| {
                let s = self.v.bytes(i);
                match parse_time(s, mode) {
                    Ok(p) => {
                        if p.truncated || p.clamped {
                            self.ctx.fault(Error::truncated_wrong_value("time", String::from_utf8_lossy(s)))?;
                        }
                        Ok(round(p.value))
                    }
                    Err(_) => {
                        self.bad("time", i)?;
                        Ok(None)
                    }
                }
            }),
            SqlType::Date => self.each().fixed(|_| Ok(Some(0i64))),
            t if t.is_temporal() => {
                let e = Exact::new(self.v, self.from);
                let mut conv = self.converter();
                self.each().fixed(|i| {
                    let x = e.get(i).to_i64().unwrap_or(0);
                    Ok(match self.from {
                        SqlType::Time { .. } => round(Time(x)),
                        SqlType::Timestamp { .. } => round(conv.to_datetime(Timestamp(x)).time()),
                        _ => round(DateTime(x).time()),
                    })
                })
            }
            _ => {
                let (whole, micros) = self.split_number()?;
                self.each().fixed(|i| match time_from_number(whole[i]) {
                    Ok((t, clamped)) => {
                        if clamped {
                            self.truncated("time", i)?;
                        }
                        let sign = if whole[i] < 0 { -1 } else { 1 };
                        Ok(round(Time::clamped(t.0 + sign * micros[i]).0))
                    }
                    Err(_) => {
                        self.bad("time", i)?;
                        Ok(None)
                    }
                })
            }
        }
    }

    fn to_year(&self) -> Result<Chunk> {
        if self.from.is_temporal() {
            let mut conv = self.converter();
            return self.temporal(|d| Some(d.date().year() as i16), &mut conv);
        }
        let is_text = self.from.is_string();
        let bigint = SqlType::BIGINT;
        let inner = Job { to: &bigint, ..*self };
        let c = inner.to_integer()?;
        let Values::I64(v) = &c.values else { return Err(Error::internal("BIGINT is I64")) };
        self.each().fixed(|i| match types::temporal::parse::year_from_number(v[i], is_text) {
            Some(y) => Ok(Some(y)),
            None => {
                self.truncated("YEAR", i)?;
                Ok(None)
            }
        })
    }
}
