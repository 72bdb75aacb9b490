//! Values as text, as the text protocol and CAST AS CHAR print them.

use std::fmt;

use super::Value;
use super::number::{fmt_double, fmt_float, fmt_i64, fmt_u64};
use crate::SqlType;

/// Appends the value's text by its type, which gives the scale of decimals and the fractional digits of temporal
/// values. NULL appends nothing: protocols have a mark of their own for it. A stored TIMESTAMP prints in UTC; convert
/// it first.
pub fn render_text(value: &Value, ty: &SqlType, out: &mut Vec<u8>) {
    match (value, ty) {
        (Value::Decimal(d), SqlType::Decimal { scale, .. }) if d.scale != *scale => {
            d.rescale(*scale).unwrap_or(*d).write_to(out);
        }
        (Value::Int(v), SqlType::Year) => out.extend_from_slice(format!("{v:04}").as_bytes()),
        (Value::Int(v), SqlType::Decimal { scale, .. }) if *scale > 0 => {
            let d = crate::Decimal::from_i64(*v);
            d.rescale(*scale).unwrap_or(d).write_to(out);
        }
        (Value::Double(v), SqlType::Float) => fmt_float(*v as f32, out),
        (Value::Float(v), SqlType::Double) => fmt_double(*v as f64, out),
        (Value::Time(t), SqlType::Time { fsp }) => t.write_to(*fsp, out),
        (Value::DateTime(d), SqlType::DateTime { fsp } | SqlType::Timestamp { fsp }) => d.write_to(*fsp, out),
        (Value::DateTime(d), SqlType::Date) => d.date().write_to(out),
        (Value::Timestamp(t), SqlType::DateTime { fsp } | SqlType::Timestamp { fsp }) => t.to_utc().write_to(*fsp, out),
        (Value::Date(d), SqlType::DateTime { fsp } | SqlType::Timestamp { fsp }) => d.midnight().write_to(*fsp, out),
        _ => write_value(value, out),
    }
}

/// Appends the value's text by itself.
pub(super) fn write_value(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => {}
        Value::Int(v) => fmt_i64(*v, out),
        Value::UInt(v) => fmt_u64(*v, out),
        Value::Decimal(d) => d.write_to(out),
        Value::Float(v) => fmt_float(*v, out),
        Value::Double(v) => fmt_double(*v, out),
        Value::Bytes(b) => out.extend_from_slice(b),
        Value::Date(d) => d.write_to(out),
        Value::Time(t) => t.write_to(t.natural_fsp(), out),
        Value::DateTime(d) => d.write_to(d.natural_fsp(), out),
        Value::Timestamp(t) => {
            let d = t.to_utc();
            d.write_to(d.natural_fsp(), out);
        }
    }
}

impl fmt::Display for Value {
    /// The text; `NULL` for NULL. Bytes that are no UTF-8 print as replacement characters.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_null() {
            return f.pad("NULL");
        }
        let mut out = Vec::with_capacity(32);
        write_value(self, &mut out);
        f.pad(&String::from_utf8_lossy(&out))
    }
}
