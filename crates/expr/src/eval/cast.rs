//! Conversions between types, with MySQL's warnings.
//!
//! A conversion that cannot fail runs over all positions. The others look at selected rows only and report through
//! [`EvalContext::fault`](crate::EvalContext::fault): what is no number reads as the number at its start (1292), what
//! is no date is NULL (1292), what is out of range is clamped (1292, 1264). [`numbers`] makes numbers, [`temporal`]
//! dates and times; strings are made here.

mod numbers;
mod temporal;

use super::node::Cx;
use super::rows::Rows;
use super::strbuf::StrBuf;
use crate::kernels::text::shown;
use crate::kernels::{self, text};
use crate::{EvalContext, SessionInfo};
use types::temporal::{LocalConverter, TemporalMode};
use types::value::{ConvertMode, convert_for_column, render_text};
use types::{Collation, DateTime, Error, Result, SqlType, StringKind, Timestamp, Value};
use vector::{Chunk, ChunkBuilder, Selection, Values, Vector};

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

/// `v`, of type `from`, as a column of type `to` stores it; see [`convert_for_column`]. The rows have no numbers: it is
/// row 1 that messages speak of.
pub(crate) fn column_value(
    v: &Vector,
    from: &SqlType,
    column: &str,
    to: &SqlType,
    cx: &Cx,
    sel: &Selection,
) -> Result<Vector> {
    let session = cx.ctx.session;
    let mode = ConvertMode {
        strict: session.sql_mode.strict && !cx.ctx.warnings.ignores(),
        temporal: temporal_mode(session),
        zone: &session.time_zone,
        today: statement_now(session).date(),
    };
    // NULL alone has made a column without any width.
    let nothing = SqlType::String { kind: StringKind::VarChar, len: 0, collation: Collation::Binary };
    let stored = if *to == SqlType::Null { &nothing } else { to };
    let mut out = ChunkBuilder::new(to.phys(), cx.rows);
    for row in sel.to_positions(cx.rows) {
        while out.len() < row as usize {
            out.push_null();
        }
        let value = match v.value(row as usize, from) {
            Value::Timestamp(t) => Value::DateTime(session.time_zone.to_datetime(t)),
            value => value,
        };
        let value = match (&value, to) {
            (Value::Time(_) | Value::DateTime(_), SqlType::String { .. }) => {
                let mut text = Vec::with_capacity(32);
                render_text(&value, from, &mut text);
                Value::Bytes(text.into())
            }
            _ => value,
        };
        let (value, warning) = convert_for_column(&value, stored, column, 1, &mode)?;
        warning.into_iter().for_each(|w| cx.ctx.warnings.push(w));
        out.push(if *to == SqlType::Null { &Value::Null } else { &value });
    }
    while out.len() < cx.rows {
        out.push_null();
    }
    Ok(Vector::flat(out.finish()))
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
                if self.explicit {
                    self.each().try_each(|i| match v[i].is_finite() && !(v[i] as f32).is_finite() {
                        true => Err(Error::data_out_of_range("float", format_args!("cast({} as float)", self.text(i)))),
                        false => Ok(()),
                    })?;
                }
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
        Rows::new(self.rows, self.sel, &[self.v], self.ctx)
    }

    fn validity(&self) -> Option<vector::Bitmap> {
        self.v.chunk().0.validity.clone()
    }

    fn text(&self, i: usize) -> String {
        if self.from.is_string() {
            return shown(self.v.bytes(i)).into_owned();
        }
        let mut out = Vec::new();
        text::write_value(self.v, i, self.from, Some(&mut local(self.ctx.session)), &mut out);
        String::from_utf8_lossy(&out).into_owned()
    }

    fn truncated(&self, kind: &str, i: usize) -> Result<()> {
        self.ctx.fault(Error::truncated_wrong_value(kind, self.text(i)))
    }

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
                            types::collation::utf8::encode(c, out.short()?);
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
            text::write_value(self.v, i, self.from, Some(&mut conv), out.short()?);
            self.limit(i, start, limited, len, collation, out)?;
            if pad {
                out.resize(start + len as usize, 0);
            }
            Ok(true)
        })?;
        Ok(Vector::flat(c))
    }

    /// Cuts what was written from `start` on to `len` characters.
    fn limit(&self, i: usize, start: usize, on: bool, len: u32, c: Collation, out: &mut StrBuf<'_>) -> Result<()> {
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
}
