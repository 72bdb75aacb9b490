//! A JSON value, printed as MySQL lays EXPLAIN's out.

use std::fmt::Write;

pub(super) enum Value {
    Text(String),
    Number(String),
    Bool(bool),
    List(Vec<Value>),
    Object(Object),
}

#[derive(Default)]
pub(super) struct Object(Vec<(std::borrow::Cow<'static, str>, Value)>);

impl Object {
    pub fn put(&mut self, key: &'static str, v: Value) {
        self.0.push((key.into(), v));
    }

    pub fn put_owned(&mut self, key: String, v: Value) {
        self.0.push((key.into(), v));
    }

    pub fn text(&mut self, key: &'static str, v: impl Into<String>) {
        self.put(key, Value::Text(v.into()));
    }

    pub fn number(&mut self, key: &'static str, v: impl std::fmt::Display) {
        self.put(key, Value::Number(v.to_string()));
    }

    pub fn flag(&mut self, key: &'static str, v: bool) {
        self.put(key, Value::Bool(v));
    }

    pub fn texts(&mut self, key: &'static str, v: &[String]) {
        if !v.is_empty() {
            self.put(key, Value::List(v.iter().cloned().map(Value::Text).collect()));
        }
    }

    pub fn object(&mut self, key: &'static str, v: Object) {
        self.put(key, Value::Object(v));
    }

    pub fn extend(&mut self, other: Object) {
        self.0.extend(other.0);
    }
}

/// The object, keys in the order in which they were put.
pub(super) fn print(o: &Object) -> String {
    let mut out = String::new();
    object(o, 0, &mut out);
    out
}

fn object(o: &Object, depth: usize, out: &mut String) {
    if o.0.is_empty() {
        out.push_str("{}");
        return;
    }
    out.push('{');
    for (i, (key, v)) in o.0.iter().enumerate() {
        out.push_str(if i > 0 { ",\n" } else { "\n" });
        let _ = write!(out, "{:1$}\"{key}\": ", "", depth * 2 + 2);
        value(v, depth + 1, out);
    }
    let _ = write!(out, "\n{:1$}}}", "", depth * 2);
}

fn value(v: &Value, depth: usize, out: &mut String) {
    match v {
        Value::Text(t) => text(t, out),
        Value::Number(n) => out.push_str(n),
        Value::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
        Value::Object(o) => object(o, depth, out),
        Value::List(l) if l.is_empty() => out.push_str("[]"),
        Value::List(l) => {
            out.push('[');
            for (i, v) in l.iter().enumerate() {
                out.push_str(if i > 0 { ",\n" } else { "\n" });
                let _ = write!(out, "{:1$}", "", depth * 2 + 2);
                value(v, depth + 1, out);
            }
            let _ = write!(out, "\n{:1$}]", "", depth * 2);
        }
    }
}

fn text(t: &str, out: &mut String) {
    out.push('"');
    for c in t.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if (c as u32) < 0x20 => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
}
