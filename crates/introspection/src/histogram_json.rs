//! Histograms as JSON, as information_schema.COLUMN_STATISTICS shows them, ANALYZE TABLE .. USING DATA takes them, and
//! the redo log keeps them.
//!
//! ```text
//!  {"buckets": [[1, 0.25], [7, 1.0]], "data-type": "int", "auto-update": false, "null-values": 0.0, "collation-id": 8,
//!   "last-updated": "2024-03-26 16:54:43.674995", "sampling-rate": 1.0, "histogram-type": "singleton",
//!   "number-of-buckets-specified": 100}
//! ```
//! Equi-height buckets are `[low, high, cumulative frequency, distinct values]`. Numbers are numbers, dates and times
//! are texts, strings are `"base64:type254:.."`. MySQL manual, "The INFORMATION_SCHEMA COLUMN_STATISTICS Table".

use catalog::histogram::{BUCKETS_MAX, Bucket, order};
use catalog::{Histogram, HistogramKind};
use std::fmt::Write;
use types::temporal::{TemporalMode, TimeZone};
use types::value::column::{ConvertMode, convert_for_column};
use types::{Collation, Date, SqlType, Timestamp, Value};

/// Arrays and objects in one another.
const DEPTH_MAX: usize = 8;

#[derive(Clone, PartialEq, Debug)]
enum Json {
    Null,
    Bool(bool),
    /// As it is written.
    Number(Box<str>),
    Text(Box<str>),
    Array(Vec<Json>),
    Object(Vec<(Box<str>, Json)>),
}

impl Json {
    fn get(&self, key: &str) -> Option<&Json> {
        match self {
            Json::Object(members) => members.iter().rev().find(|(k, _)| **k == *key).map(|(_, v)| v),
            _ => None,
        }
    }

    fn number(&self) -> Option<f64> {
        match self {
            Json::Number(n) => n.parse().ok().filter(|v: &f64| v.is_finite()),
            _ => None,
        }
    }

    fn text(&self) -> Option<&str> {
        match self {
            Json::Text(t) => Some(t),
            _ => None,
        }
    }
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl Reader<'_> {
    fn parse(text: &str) -> Option<Json> {
        let mut reader = Reader { rest: text.as_bytes() };
        let json = reader.value(0)?;
        reader.skip();
        reader.rest.is_empty().then_some(json)
    }

    fn skip(&mut self) {
        let blanks = self.rest.iter().take_while(|b| b" \t\r\n".contains(b)).count();
        self.rest = &self.rest[blanks..];
    }

    fn eat(&mut self, word: &str) -> bool {
        self.skip();
        match self.rest.strip_prefix(word.as_bytes()) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn value(&mut self, depth: usize) -> Option<Json> {
        if depth > DEPTH_MAX {
            return None;
        }
        self.skip();
        match self.rest.first()? {
            b'{' => self.object(depth),
            b'[' => self.array(depth),
            b'"' => self.string().map(Json::Text),
            b't' => self.eat("true").then_some(Json::Bool(true)),
            b'f' => self.eat("false").then_some(Json::Bool(false)),
            b'n' => self.eat("null").then_some(Json::Null),
            _ => {
                let len = self.rest.iter().take_while(|b| b.is_ascii_digit() || b"+-.eE".contains(b)).count();
                let (number, rest) = self.rest.split_at(len);
                let number = std::str::from_utf8(number).ok()?;
                number.parse::<f64>().ok()?;
                self.rest = rest;
                Some(Json::Number(number.into()))
            }
        }
    }

    fn array(&mut self, depth: usize) -> Option<Json> {
        let mut items = Vec::new();
        self.eat("[");
        if self.eat("]") {
            return Some(Json::Array(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            if self.eat("]") {
                return Some(Json::Array(items));
            }
            self.eat(",").then_some(())?;
        }
    }

    fn object(&mut self, depth: usize) -> Option<Json> {
        let mut members = Vec::new();
        self.eat("{");
        if self.eat("}") {
            return Some(Json::Object(members));
        }
        loop {
            self.skip();
            let key = self.string()?;
            self.eat(":").then_some(())?;
            members.push((key, self.value(depth + 1)?));
            if self.eat("}") {
                return Some(Json::Object(members));
            }
            self.eat(",").then_some(())?;
        }
    }

    fn string(&mut self) -> Option<Box<str>> {
        self.rest = self.rest.strip_prefix(b"\"")?;
        let mut out = Vec::new();
        loop {
            let (&b, rest) = self.rest.split_first()?;
            self.rest = rest;
            match b {
                b'"' => return String::from_utf8(out).ok().map(Into::into),
                b'\\' => {
                    let (&escaped, rest) = self.rest.split_first()?;
                    self.rest = rest;
                    let c = match escaped {
                        b'"' | b'\\' | b'/' => escaped as char,
                        b'b' => '\u{8}',
                        b'f' => '\u{c}',
                        b'n' => '\n',
                        b'r' => '\r',
                        b't' => '\t',
                        b'u' => {
                            let (digits, rest) = self.rest.split_at_checked(4)?;
                            self.rest = rest;
                            char::from_u32(u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?)?
                        }
                        _ => return None,
                    };
                    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                }
                _ => out.push(b),
            }
        }
    }
}

/// What MySQL calls the type in histograms; `None`: there are none for it.
pub fn data_type(ty: &SqlType) -> Option<&'static str> {
    ty.record().histogram
}

fn put_value(v: &Value, out: &mut String) {
    match v {
        Value::Bytes(b) => {
            out.push_str("\"base64:type254:");
            to_base64(b, out);
            out.push('"');
        }
        Value::Double(d) => put_double(*d, out),
        Value::Float(d) => put_double(*d as f64, out),
        Value::Date(_) | Value::Time(_) | Value::DateTime(_) | Value::Timestamp(_) => {
            let ty = match v {
                Value::Date(_) => SqlType::Date,
                Value::Time(_) => SqlType::Time { fsp: 6 },
                _ => SqlType::DateTime { fsp: 6 },
            };
            // TIMESTAMPs are kept in UTC, and shown so.
            let shown = match v {
                Value::Timestamp(t) => Value::DateTime(TimeZone::Utc.to_datetime(*t)),
                other => other.clone(),
            };
            let mut text = Vec::new();
            types::value::render_text(&shown, &ty, &mut text);
            let _ = write!(out, "\"{}\"", String::from_utf8_lossy(&text));
        }
        other => out.push_str(&session::rows::display(other)),
    }
}

fn put_double(v: f64, out: &mut String) {
    let _ = write!(out, "{v:?}");
}

/// The histogram of a column of type `ty`.
pub fn of_histogram(h: &Histogram, ty: &SqlType) -> String {
    let mut out = String::from("{\"buckets\": [");
    for (i, b) in h.buckets.iter().enumerate() {
        out.push_str(if i == 0 { "[" } else { ", [" });
        put_value(&b.low, &mut out);
        out.push_str(", ");
        if h.kind == HistogramKind::EquiHeight {
            put_value(&b.high, &mut out);
            out.push_str(", ");
        }
        put_double(b.cumulative, &mut out);
        if h.kind == HistogramKind::EquiHeight {
            let _ = write!(out, ", {}", b.distinct.round() as u64);
        }
        out.push(']');
    }
    let collation = if ty.is_string() { h.collation.id() } else { Collation::Utf8mb4GeneralCi.id() };
    let _ = write!(
        out,
        "], \"data-type\": \"{}\", \"auto-update\": {}, \"null-values\": {:?}, \"collation-id\": {collation}, \
         \"last-updated\": \"",
        data_type(ty).unwrap_or("int"),
        h.auto_update,
        h.null_fraction,
    );
    let mut updated = Vec::new();
    let at = Value::DateTime(TimeZone::Utc.to_datetime(Timestamp(h.updated_us)));
    types::value::render_text(&at, &SqlType::DateTime { fsp: 6 }, &mut updated);
    out.push_str(&String::from_utf8_lossy(&updated));
    let kind = match h.kind {
        HistogramKind::Singleton => "singleton",
        HistogramKind::EquiHeight => "equi-height",
    };
    let _ = write!(
        out,
        "\", \"sampling-rate\": {:?}, \"histogram-type\": \"{kind}\", \"number-of-buckets-specified\": {}}}",
        h.sampling_rate, h.buckets_asked,
    );
    out
}

/// The histogram that a text describes for a column of type `ty`; an error says what is wrong with it.
pub fn to_histogram(text: &str, ty: &SqlType) -> Result<Histogram, String> {
    let json = Reader::parse(text).ok_or("JSON format error.")?;
    if !matches!(json, Json::Object(_)) {
        return Err("JSON format error.".into());
    }
    let member = |key: &str| json.get(key).ok_or(format!("Missing attribute '{key}'."));
    let number = |key: &str| member(key)?.number().ok_or(format!("The attribute '{key}' has a wrong type."));
    let of_text = |key: &str| member(key)?.text().ok_or(format!("The attribute '{key}' has a wrong type."));
    if data_type(ty) != Some(of_text("data-type")?) {
        return Err("The attribute 'data-type' does not match the column.".into());
    }
    let kind = match of_text("histogram-type")? {
        "singleton" => HistogramKind::Singleton,
        "equi-height" => HistogramKind::EquiHeight,
        _ => return Err("Unsupported histogram type.".into()),
    };
    let share = |key: &str| match number(key)? {
        v if (0.0..=1.0).contains(&v) => Ok(v),
        _ => Err(format!("The value of attribute '{key}' is out of range.")),
    };
    let asked = number("number-of-buckets-specified")?;
    if !(1.0..=BUCKETS_MAX as f64).contains(&asked) {
        return Err("The value of attribute 'number-of-buckets-specified' is out of range.".into());
    }
    let updated = convert(of_text("last-updated")?, &SqlType::DateTime { fsp: 6 });
    let Some(Value::DateTime(updated)) = updated else {
        return Err("The attribute 'last-updated' has a wrong type.".into());
    };
    let Json::Array(listed) = member("buckets")? else {
        return Err("The attribute 'buckets' has a wrong type.".into());
    };
    let mut histogram = Histogram {
        kind,
        buckets: Vec::with_capacity(listed.len()),
        null_fraction: share("null-values")?,
        collation: ty.collation().unwrap_or_default(),
        sampling_rate: share("sampling-rate")?,
        buckets_asked: asked as u32,
        updated_us: TimeZone::Utc.to_timestamp(updated).map_or(0, |t| t.timestamp().0),
        auto_update: json.get("auto-update") == Some(&Json::Bool(true)),
    };
    for b in listed {
        let bucket = bucket(b, kind, ty).ok_or("A bucket has a wrong form.")?;
        if let Some(last) = histogram.buckets.last()
            && (!order(&last.high, &bucket.low, histogram.collation).is_lt() || last.cumulative > bucket.cumulative)
        {
            return Err("The buckets are not in order.".into());
        }
        if order(&bucket.low, &bucket.high, histogram.collation).is_gt() || !(0.0..=1.0).contains(&bucket.cumulative) {
            return Err("A bucket has values that are out of range.".into());
        }
        histogram.buckets.push(bucket);
    }
    if histogram.buckets.len() > histogram.buckets_asked as usize {
        return Err("There are more buckets than were specified.".into());
    }
    Ok(histogram)
}

fn bucket(json: &Json, kind: HistogramKind, ty: &SqlType) -> Option<Bucket> {
    let Json::Array(parts) = json else { return None };
    match (kind, &parts[..]) {
        (HistogramKind::Singleton, [v, cumulative]) => {
            let v = value(v, ty)?;
            Some(Bucket { low: v.clone(), high: v, cumulative: cumulative.number()?, distinct: 1.0 })
        }
        (HistogramKind::EquiHeight, [low, high, cumulative, distinct]) => Some(Bucket {
            low: value(low, ty)?,
            high: value(high, ty)?,
            cumulative: cumulative.number()?,
            distinct: distinct.number()?.max(1.0),
        }),
        _ => None,
    }
}

fn value(json: &Json, ty: &SqlType) -> Option<Value> {
    match json {
        Json::Number(n) => convert(n, ty),
        Json::Text(t) if ty.is_string() => {
            let encoded = t.strip_prefix("base64:type")?.split_once(':')?.1;
            Some(Value::Bytes(from_base64(encoded)?.into()))
        }
        Json::Text(t) => convert(t, ty),
        _ => None,
    }
}

/// A text as a value of a type that is no string.
fn convert(text: &str, ty: &SqlType) -> Option<Value> {
    let mode = ConvertMode { strict: true, temporal: TemporalMode::default(), zone: &TimeZone::Utc, today: Date(0) };
    convert_for_column(&Value::str(text), ty, "", 1, &mode).ok().map(|c| c.0).filter(|v| !v.is_null())
}

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn to_base64(bytes: &[u8], out: &mut String) {
    for c in bytes.chunks(3) {
        let word = c.iter().enumerate().fold(0u32, |w, (i, b)| w | (*b as u32) << (16 - 8 * i));
        for k in 0..4 {
            out.push(if k <= c.len() { DIGITS[(word >> (18 - 6 * k) & 63) as usize] as char } else { '=' });
        }
    }
}

fn from_base64(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    for group in text.as_bytes().chunks(4) {
        let padding = group.iter().rev().take_while(|b| **b == b'=').count();
        if group.len() != 4 || padding > 2 {
            return None;
        }
        let mut word = 0u32;
        for b in &group[..4 - padding] {
            word = word << 6 | DIGITS.iter().position(|d| d == b)? as u32;
        }
        word <<= 6 * padding;
        out.extend_from_slice(&word.to_be_bytes()[1..4 - padding]);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn back_and_forth(values: Vec<Value>, ty: SqlType, buckets: usize) -> String {
        let h = Histogram::of(values, 1, buckets, ty.collation().unwrap_or_default());
        let text = of_histogram(&h, &ty);
        let again = to_histogram(&text, &ty).expect("what we print reads back");
        assert_eq!(of_histogram(&again, &ty), text);
        assert_eq!(again.buckets, h.buckets);
        text
    }

    #[test]
    fn histograms_read_back() {
        let text = back_and_forth(vec![Value::Int(3), Value::Int(1), Value::Int(3)], SqlType::INT, 10);
        assert_eq!(
            text,
            "{\"buckets\": [[1, 0.25], [3, 0.75]], \"data-type\": \"int\", \"auto-update\": false, \
             \"null-values\": 0.25, \"collation-id\": 45, \"last-updated\": \"0000-00-00 00:00:00.000000\", \
             \"sampling-rate\": 1.0, \"histogram-type\": \"singleton\", \"number-of-buckets-specified\": 10}"
        );
        let strings = ["a", "b\u{e9}\"", "", "longer than three"].map(Value::str).to_vec();
        let text = back_and_forth(strings, SqlType::varchar(20, Collation::default()), 2);
        assert!(text.contains("base64:type254:"));
        back_and_forth(vec![Value::Double(1.5), Value::Double(-2e300)], SqlType::Double, 1);
        let dates = ["2020-01-31", "1999-12-31"].map(|d| convert(d, &SqlType::Date).expect("a date"));
        assert!(back_and_forth(dates.to_vec(), SqlType::Date, 8).contains("\"1999-12-31\""));
    }

    #[test]
    fn bad_texts_are_refused() {
        let good = of_histogram(&Histogram::of(vec![Value::Int(1)], 0, 3, Collation::default()), &SqlType::INT);
        assert!(to_histogram(&good, &SqlType::INT).is_ok());
        assert!(to_histogram(&good, &SqlType::Date).is_err());
        for bad in ["", "{", "[]", "{}", "{\"buckets\": 1}", &"[".repeat(100_000), "\u{e9}", "\"\\u12\""] {
            assert!(to_histogram(bad, &SqlType::INT).is_err(), "{bad}");
        }
        let len = good.len();
        for i in 0..len {
            assert!(to_histogram(&good[..i], &SqlType::INT).is_err());
        }
        assert!(to_histogram(&good.replace("0.0,", "2.0,"), &SqlType::INT).is_err());
        assert!(to_histogram(&good.replace("[1, 1.0]", "[1, 1.0], [1, 1.0]"), &SqlType::INT).is_err());
        assert!(to_histogram(&good.replace("[1, 1.0]", "[\"x\", 1.0]"), &SqlType::INT).is_err());
    }
}
