//! Expressions in MySQL's words: `(lineitem.l_shipdate <= DATE'1998-09-02')`.

use crate::OutputColumn;
use expr::{AggCall, AggFunc, Expr, ExprKind, Truth, WindowCall, WindowFunc};
use std::borrow::Cow;
use types::{SqlType, Value};

/// What a column position is called.
pub struct Names<'a>(Vec<Cow<'a, str>>);

impl<'a> Names<'a> {
    pub fn of(columns: &'a [OutputColumn]) -> Names<'a> {
        Names(columns.iter().map(|c| Cow::Borrowed(&*c.name)).collect())
    }

    /// Columns of a join: first those of the probe side, then those of the build side.
    pub fn of_both(probe: &'a [OutputColumn], build: &'a [OutputColumn]) -> Names<'a> {
        Names(probe.iter().chain(build).map(|c| Cow::Borrowed(&*c.name)).collect())
    }

    pub fn owned(names: Vec<String>) -> Names<'a> {
        Names(names.into_iter().map(Cow::Owned).collect())
    }

    /// Calls a column otherwise from here on.
    pub fn set(&mut self, i: usize, name: String) {
        if let Some(slot) = self.0.get_mut(i) {
            *slot = Cow::Owned(name);
        }
    }

    fn get(&self, i: usize) -> Cow<'_, str> {
        match self.0.get(i) {
            Some(n) if !n.is_empty() => Cow::Borrowed(n),
            _ => Cow::Owned(format!("<{i}>")),
        }
    }
}

/// Expressions deeper than this are cut short.
const DEPTH_MAX: usize = 200;

/// The expression as text.
pub fn expression(e: &Expr, names: &Names) -> String {
    let mut out = String::new();
    write(e, names, &mut out, 0);
    out
}

/// Values of an IN list that are shown.
const LISTED_MAX: usize = 100;

fn list(es: &[Expr], separator: &str, names: &Names, out: &mut String, depth: usize) {
    for (i, e) in es.iter().enumerate() {
        if i > 0 {
            out.push_str(separator);
        }
        write(e, names, out, depth);
    }
}

fn binary(l: &Expr, op: &str, r: &Expr, names: &Names, out: &mut String, depth: usize) {
    out.push('(');
    write(l, names, out, depth);
    out.push(' ');
    out.push_str(op);
    out.push(' ');
    write(r, names, out, depth);
    out.push(')');
}

fn write(e: &Expr, names: &Names, out: &mut String, depth: usize) {
    if depth > DEPTH_MAX {
        out.push_str("...");
        return;
    }
    let d = depth + 1;
    match &e.kind {
        ExprKind::Column(c) => out.push_str(&names.get(*c as usize)),
        ExprKind::Const(v) => out.push_str(&literal(v, &e.ty)),
        ExprKind::Param(p) => out.push_str(&format!("<param {p}>")),
        ExprKind::And(v) => {
            out.push('(');
            list(v, " and ", names, out, d);
            out.push(')');
        }
        ExprKind::Or(v) => {
            out.push('(');
            list(v, " or ", names, out, d);
            out.push(')');
        }
        ExprKind::Xor(a, b) => binary(a, "xor", b, names, out, d),
        ExprKind::Not(x) => {
            out.push_str("(not(");
            write(x, names, out, d);
            out.push_str("))");
        }
        ExprKind::Compare { op, left, right } => binary(left, op.symbol(), right, names, out, d),
        ExprKind::IsNull { expr, negated } => {
            out.push('(');
            write(expr, names, out, d);
            out.push_str(if *negated { " is not null)" } else { " is null)" });
        }
        ExprKind::IsTruth { expr, truth, negated } => {
            out.push('(');
            write(expr, names, out, d);
            out.push_str(if *negated { " is not " } else { " is " });
            out.push_str(match truth {
                Truth::True => "true)",
                Truth::False => "false)",
                Truth::Unknown => "unknown)",
            });
        }
        ExprKind::Arith { op, left, right } => binary(left, op.symbol(), right, names, out, d),
        ExprKind::Neg(x) => {
            out.push_str("-(");
            write(x, names, out, d);
            out.push(')');
        }
        ExprKind::BitNot(x) => {
            out.push_str("~(");
            write(x, names, out, d);
            out.push(')');
        }
        ExprKind::Cast { expr, explicit } => {
            // MySQL does not print the conversions that it makes by itself.
            if *explicit {
                out.push_str("cast(");
                write(expr, names, out, d);
                out.push_str(&format!(" as {})", cast_target(&e.ty)));
            } else {
                write(expr, names, out, d);
            }
        }
        ExprKind::InList { expr, list: values, negated } => {
            out.push('(');
            write(expr, names, out, d);
            out.push_str(if *negated { " not in (" } else { " in (" });
            list(&values[..values.len().min(LISTED_MAX)], ",", names, out, d);
            if values.len() > LISTED_MAX {
                out.push_str(",...");
            }
            out.push_str("))");
        }
        ExprKind::InSet { expr, set, negated } => {
            out.push('(');
            write(expr, names, out, d);
            out.push_str(if *negated { " not in (" } else { " in (" });
            let shown: Vec<Expr> = (0..set.len().min(LISTED_MAX)).map(|i| set.expr(i)).collect();
            list(&shown, ",", names, out, d);
            out.push_str(",...))");
        }
        ExprKind::Like { expr, pattern, escape, negated } => {
            out.push('(');
            write(expr, names, out, d);
            out.push_str(if *negated { " not like " } else { " like " });
            write(pattern, names, out, d);
            if let Some(c) = escape
                && *c != '\\'
            {
                out.push_str(&format!(" escape '{c}'"));
            }
            out.push(')');
        }
        ExprKind::Case { branches, otherwise } => {
            out.push_str("(case");
            for (w, t) in branches {
                out.push_str(" when ");
                write(w, names, out, d);
                out.push_str(" then ");
                write(t, names, out, d);
            }
            if let Some(o) = otherwise {
                out.push_str(" else ");
                write(o, names, out, d);
            }
            out.push_str(" end)");
        }
        // what a quotient is shown as; MySQL has no words for it
        ExprKind::Call { function, args } if function.is_rounding() => write(&args[0], names, out, d),
        ExprKind::Call { function, args } => {
            out.push_str(&function.name().to_lowercase());
            out.push('(');
            list(args, ",", names, out, d);
            out.push(')');
        }
        ExprKind::UserVar { name, .. } => out.push_str(&format!("(@{name})")),
        ExprKind::SetUserVar { name, expr } => {
            out.push_str(&format!("(@{name}:="));
            write(expr, names, out, d);
            out.push(')');
        }
        ExprKind::Row(v) => {
            out.push('(');
            list(v, ",", names, out, d);
            out.push(')');
        }
        ExprKind::Subquery(id) => out.push_str(&format!("(select #{})", id + 2)),
    }
}

fn cast_target(ty: &SqlType) -> String {
    match ty {
        SqlType::Int { unsigned, .. } => if *unsigned { "unsigned" } else { "signed" }.into(),
        SqlType::Decimal { precision, scale } => format!("decimal({precision},{scale})"),
        SqlType::Float => "float".into(),
        SqlType::Double => "double".into(),
        SqlType::Date => "date".into(),
        SqlType::Time { fsp } => temporal("time", *fsp),
        SqlType::DateTime { fsp } | SqlType::Timestamp { fsp } => temporal("datetime", *fsp),
        SqlType::Year => "year".into(),
        SqlType::String { len, collation: types::Collation::Binary, .. } => format!("binary({len})"),
        SqlType::String { len, .. } => format!("char({len})"),
        SqlType::Bool | SqlType::Null => "signed".into(),
    }
}

fn temporal(name: &str, fsp: u8) -> String {
    if fsp == 0 { name.into() } else { format!("{name}({fsp})") }
}

/// Bytes of a string literal that are printed.
const LITERAL_BYTES_MAX: usize = 200;

fn literal(v: &Value, ty: &SqlType) -> String {
    let text = |f: &dyn Fn(&mut Vec<u8>)| {
        let mut out = vec![];
        f(&mut out);
        String::from_utf8_lossy(&out).into_owned()
    };
    match v {
        Value::Null => "NULL".into(),
        Value::Int(v) if *ty == SqlType::Bool => if *v != 0 { "true" } else { "false" }.into(),
        Value::Int(v) => v.to_string(),
        Value::UInt(v) => v.to_string(),
        Value::Decimal(d) => text(&|o| d.write_to(o)),
        Value::Float(v) => v.to_string(),
        Value::Double(v) => v.to_string(),
        Value::Bytes(b) => {
            let shown = &b[..b.len().min(LITERAL_BYTES_MAX)];
            let tail = if b.len() > shown.len() { "..." } else { "" };
            format!("'{}{tail}'", String::from_utf8_lossy(shown).replace('\'', "\\'"))
        }
        Value::Date(d) => format!("DATE'{}'", text(&|o| d.write_to(o))),
        Value::Time(t) => format!("TIME'{}'", text(&|o| t.write_to(fsp(ty), o))),
        Value::DateTime(t) => format!("TIMESTAMP'{}'", text(&|o| t.write_to(fsp(ty), o))),
        Value::Timestamp(t) => format!("<timestamp {}>", t.0),
    }
}

fn fsp(ty: &SqlType) -> u8 {
    match ty {
        SqlType::Time { fsp } | SqlType::DateTime { fsp } | SqlType::Timestamp { fsp } => *fsp,
        _ => 0,
    }
}

pub(super) fn aggregate(a: &AggCall, names: &Names) -> String {
    let mut out = format!("{}({}", a.func.record().shown, if a.distinct { "distinct " } else { "" });
    if a.func == AggFunc::CountStar {
        out.push('0');
    }
    list(&a.args, ",", names, &mut out, 0);
    out.push(')');
    out
}

pub(super) fn window(c: &WindowCall, names: &Names) -> String {
    let mut out = format!("{}(", c.func.shown());
    if c.func == WindowFunc::Agg(AggFunc::CountStar) {
        out.push('0');
    }
    list(&c.args, ",", names, &mut out, 0);
    out.push_str(") OVER ()");
    out
}
