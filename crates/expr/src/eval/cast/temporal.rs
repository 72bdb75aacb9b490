//! To dates, times and years.

use super::super::exact::Exact;
use super::{Job, local, statement_now, temporal_mode};
use crate::kernels::text::shown;
use types::temporal::LocalConverter;
use types::temporal::parse::{datetime_from_number, parse_date, parse_datetime, parse_time, time_from_number};
use types::{Date, DateTime, Error, Result, SqlType, Time, Timestamp};
use vector::{Chunk, Values};

impl Job<'_> {
    pub(super) fn converter(&self) -> LocalConverter {
        local(self.ctx.session)
    }

    fn bad(&self, kind: &str, i: usize) -> Result<()> {
        self.ctx.fault(Error::incorrect_value_1292(kind, self.text(i)))
    }

    /// Reads each value as a DATETIME and maps it; None is NULL.
    pub(super) fn temporal<T: vector::Native>(
        &self,
        mut f: impl FnMut(DateTime) -> Option<T>,
        conv: &mut LocalConverter,
    ) -> Result<Chunk> {
        let mut mode = temporal_mode(self.ctx.session);
        if !self.explicit {
            // Operators and functions take incomplete dates, and whoever needs a whole one says so; of numbers, 0 too.
            mode.no_zero_in_date = false;
            mode.no_zero_date &= self.from.is_string();
        }
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
                                self.ctx.fault(Error::truncated_wrong_value(kind, shown(s)))?;
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

    pub(super) fn to_datetime(&self, fsp: u8) -> Result<Chunk> {
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

    pub(super) fn to_time(&self, fsp: u8) -> Result<Chunk> {
        let mode = temporal_mode(self.ctx.session);
        let truncate = self.ctx.session.sql_mode.time_truncate_fractional;
        let round = |t: Time| Some(if truncate { t.truncate(fsp).0 } else { t.round(fsp).0 });
        match self.from {
            SqlType::String { .. } => self.each().fixed(|i| {
                let s = self.v.bytes(i);
                match parse_time(s, mode) {
                    Ok(p) => {
                        if p.truncated || p.clamped {
                            self.ctx.fault(Error::truncated_wrong_value("time", shown(s)))?;
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

    pub(super) fn to_year(&self) -> Result<Chunk> {
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
