//! Prints logical plans for golden tests and traces: one node a line, inputs indented below it.
//!
//! ```text
//! Project t.a#0, ?#2 = (t.a#0 + 1)
//!   Filter (t.b#1 > 3)
//!     Get t [a#0 b#1]
//! Output t.a#0 as a, ?#2 as a+1
//! ```
//!
//! A column is `alias.name#id`. Subqueries of expressions are `$id`, printed below the tree. Implicit casts are
//! `x::TYPE`, explicit ones `cast(x as TYPE)`.

use super::{Columns, IndexHintKind, Logical, LogicalJoinKind, LogicalQuery, SetOpKind, SubqueryKind};
use expr::{AggCall, AggFunc, ColumnId, Expr, ExprKind, FrameBound, FrameUnits, Truth, WindowCall};
use std::fmt::Write;
use types::{SqlType, StringKind, Value};

/// The whole query with its subqueries.
pub fn display(query: &LogicalQuery) -> String {
    let p = Printer { columns: &query.columns };
    let mut out = String::new();
    p.node(&query.root, 0, &mut out);
    let names: Vec<_> = query.output.iter().map(|(id, name)| format!("{} as {name}", p.column(*id))).collect();
    let _ = writeln!(out, "Output {}", names.join(", "));
    for def in &query.subqueries {
        let kind = match &def.kind {
            SubqueryKind::Scalar => "scalar".to_string(),
            SubqueryKind::Exists => "exists".to_string(),
            SubqueryKind::Quantified { left, op, all } => {
                format!("({}) {} {}", p.list(left), op.symbol(), if *all { "all" } else { "any" })
            }
        };
        let _ = writeln!(out, "${}: {kind} -> {}", def.id, p.ids(&def.output));
        p.node(&def.plan, 1, &mut out);
    }
    out
}

/// One subtree.
pub fn display_node(node: &Logical, columns: &Columns) -> String {
    let mut out = String::new();
    Printer { columns }.node(node, 0, &mut out);
    out
}

/// One expression.
pub fn display_expr(e: &Expr, columns: &Columns) -> String {
    Printer { columns }.expr(e)
}

struct Printer<'a> {
    columns: &'a Columns,
}

impl Printer<'_> {
    fn column(&self, id: ColumnId) -> String {
        if id as usize >= self.columns.len() {
            return format!("#{id}");
        }
        let c = self.columns.get(id);
        match (c.table_alias.is_empty(), c.name.is_empty()) {
            (true, true) => format!("?#{id}"),
            (true, false) => format!("{}#{id}", c.name),
            _ => format!("{}.{}#{id}", c.table_alias, c.name),
        }
    }

    fn ids(&self, ids: &[ColumnId]) -> String {
        ids.iter().map(|id| self.column(*id)).collect::<Vec<_>>().join(", ")
    }

    fn list(&self, exprs: &[Expr]) -> String {
        exprs.iter().map(|e| self.expr(e)).collect::<Vec<_>>().join(", ")
    }

    fn keys(&self, keys: &[(Expr, bool)]) -> String {
        keys.iter()
            .map(|(e, desc)| format!("{}{}", self.expr(e), if *desc { " desc" } else { "" }))
            .collect::<Vec<_>>()
            .join(", ")
    }

    fn node(&self, node: &Logical, depth: usize, out: &mut String) {
        let _ = writeln!(out, "{:1$}{2}", "", depth * 2, self.words(node));
        match node {
            Logical::With { ctes, input } => {
                for c in ctes {
                    let _ =
                        writeln!(out, "{:1$}{2}&{3} -> {4}", "", depth * 2 + 2, c.name, c.cte_id, self.ids(&c.output));
                    self.node(&c.plan, depth + 2, out);
                }
                self.node(input, depth + 1, out);
            }
            _ => {
                for i in node.inputs() {
                    self.node(i, depth + 1, out);
                }
            }
        }
    }

    fn words(&self, node: &Logical) -> String {
        match node {
            Logical::OneRow => "OneRow".into(),
            Logical::Empty { columns } => format!("Empty {}", self.ids(columns)),
            Logical::Values { columns, rows } => {
                let rows: Vec<_> = rows.iter().map(|r| format!("({})", self.list(r))).collect();
                format!("Values {}: {}", self.ids(columns), rows.join(", "))
            }
            Logical::Get { table, alias, columns, is_virtual, hints, tuning: _, row_id } => {
                let mut s = format!("{} {}", if *is_virtual { "GetVirtual" } else { "Get" }, table.name);
                if *alias != table.name {
                    let _ = write!(s, " as {alias}");
                }
                let cols: Vec<_> =
                    columns.iter().map(|(id, idx)| format!("{}#{id}", table.columns[*idx].name)).collect();
                let _ = write!(s, " [{}]", cols.join(" "));
                if let Some(id) = row_id {
                    let _ = write!(s, " row_id#{id}");
                }
                for h in hints {
                    let kind = match h.kind {
                        IndexHintKind::Use => "use",
                        IndexHintKind::Force => "force",
                        IndexHintKind::Ignore => "ignore",
                    };
                    let names: Vec<_> = h.indexes.iter().map(|i| &*table.indexes[*i].name).collect();
                    let _ = write!(s, " {kind}({})", names.join(" "));
                }
                s
            }
            Logical::Filter { predicates, .. } => format!("Filter {}", self.list(predicates)),
            Logical::Project { exprs, .. } => {
                let items: Vec<_> = exprs
                    .iter()
                    .map(|(id, e)| match e.kind {
                        ExprKind::Column(c) if c == *id => self.column(*id),
                        _ => format!("{} = {}", self.column(*id), self.expr(e)),
                    })
                    .collect();
                format!("Project {}", items.join(", "))
            }
            Logical::Join { kind, on, dependent, straight, .. } => {
                let mut s = match kind {
                    LogicalJoinKind::Inner => "Join".to_string(),
                    LogicalJoinKind::Left => "LeftJoin".into(),
                    LogicalJoinKind::Full => "FullJoin".into(),
                    LogicalJoinKind::Semi => "SemiJoin".into(),
                    LogicalJoinKind::Anti => "AntiJoin".into(),
                    LogicalJoinKind::NullAwareAnti => "NullAwareAntiJoin".into(),
                    LogicalJoinKind::Single => "SingleJoin".into(),
                    LogicalJoinKind::Mark { mark, null_aware } => {
                        format!("MarkJoin{} {}", if *null_aware { " null-aware" } else { "" }, self.column(*mark))
                    }
                };
                if *dependent {
                    s += " dependent";
                }
                if *straight {
                    s += " straight";
                }
                if !on.is_empty() {
                    let _ = write!(s, " on {}", self.list(on));
                }
                s
            }
            Logical::Aggregate { groups, aggregates, rollup, .. } => {
                let mut items: Vec<_> = groups
                    .iter()
                    .map(|(id, e)| match e.kind {
                        ExprKind::Column(c) if c == *id => self.column(*id),
                        _ => format!("{} = {}", self.column(*id), self.expr(e)),
                    })
                    .collect();
                items.push("->".into());
                let s = items.join(", ").replace(", ->", " ->");
                let aggs: Vec<_> =
                    aggregates.iter().map(|(id, a)| format!("{} = {}", self.column(*id), self.agg(a))).collect();
                format!("Aggregate{} {s} {}", if *rollup { " rollup" } else { "" }, aggs.join(", "))
                    .trim_end()
                    .to_string()
            }
            Logical::Distinct { .. } => "Distinct".into(),
            Logical::Sort { keys, .. } => format!("Sort {}", self.keys(keys)),
            Logical::Limit { limit, offset, .. } => match (limit, offset) {
                (Some(n), 0) => format!("Limit {n}"),
                (Some(n), o) => format!("Limit {n} offset {o}"),
                (None, o) => format!("Limit all offset {o}"),
            },
            Logical::Window { partition_by, order_by, calls, .. } => {
                let mut s = "Window".to_string();
                if !partition_by.is_empty() {
                    let _ = write!(s, " partition {}", self.list(partition_by));
                }
                if !order_by.is_empty() {
                    let _ = write!(s, " order {}", self.keys(order_by));
                }
                let calls: Vec<_> =
                    calls.iter().map(|(id, c)| format!("{} = {}", self.column(*id), self.window(c))).collect();
                format!("{s} -> {}", calls.join(", "))
            }
            Logical::SetOp { kind, columns, inputs, distinct } => {
                let kind = match kind {
                    SetOpKind::Union => "Union",
                    SetOpKind::Intersect => "Intersect",
                    SetOpKind::Except => "Except",
                };
                let ins: Vec<_> = inputs.iter().map(|(_, ids)| format!("({})", self.ids(ids))).collect();
                format!("{kind}{} {} <- {}", if *distinct { "" } else { "All" }, self.ids(columns), ins.join(" "))
            }
            Logical::With { .. } => "With".into(),
            Logical::CteScan { cte_id, name, columns } => {
                let cols: Vec<_> = columns.iter().map(|(id, pos)| format!("{}:{pos}", self.column(*id))).collect();
                format!("CteScan {name}&{cte_id} [{}]", cols.join(" "))
            }
            Logical::RecursiveUnion { cte_id, columns, anchor, recursive, distinct } => format!(
                "RecursiveUnion{} &{cte_id} {} <- ({}) ({})",
                if *distinct { "" } else { "All" },
                self.ids(columns),
                self.ids(&anchor.1),
                self.ids(&recursive.1)
            ),
        }
    }

    fn agg(&self, a: &AggCall) -> String {
        let mut s = format!("{}(", agg_name(a.func));
        if a.distinct {
            s += "distinct ";
        }
        s += &if a.func == AggFunc::CountStar { "*".to_string() } else { self.list(&a.args) };
        if !a.order_by.is_empty() {
            let _ = write!(s, " order {}", self.keys(&a.order_by));
        }
        if a.func == AggFunc::GroupConcat && &*a.separator != "," {
            let _ = write!(s, " separator {:?}", a.separator);
        }
        s + ")"
    }

    fn window(&self, c: &WindowCall) -> String {
        let name = match c.func {
            expr::WindowFunc::Agg(f) => agg_name(f),
            f => snake(&format!("{f:?}")),
        };
        let bound = |b: &FrameBound| match b {
            FrameBound::UnboundedPreceding => "start".to_string(),
            FrameBound::Preceding(e) => format!("-{}", self.expr(e)),
            FrameBound::CurrentRow => "current".into(),
            FrameBound::Following(e) => format!("+{}", self.expr(e)),
            FrameBound::UnboundedFollowing => "end".into(),
        };
        let units = match c.frame.units {
            FrameUnits::Rows => "rows",
            FrameUnits::Range => "range",
        };
        format!("{name}({}) {units} {}..{}", self.list(&c.args), bound(&c.frame.start), bound(&c.frame.end))
    }

    fn expr(&self, e: &Expr) -> String {
        match &e.kind {
            ExprKind::Column(id) => self.column(*id),
            ExprKind::Const(v) => value(v),
            ExprKind::Param(id) => format!("?{id}"),
            ExprKind::And(v) => self.chain(v, " and "),
            ExprKind::Or(v) => self.chain(v, " or "),
            ExprKind::Xor(a, b) => format!("({} xor {})", self.expr(a), self.expr(b)),
            ExprKind::Not(x) => format!("not({})", self.expr(x)),
            ExprKind::Compare { op, left, right } => {
                format!("({} {} {})", self.expr(left), op.symbol(), self.expr(right))
            }
            ExprKind::IsNull { expr, negated } => format!("{} is {}null", self.expr(expr), not(*negated)),
            ExprKind::IsTruth { expr, truth, negated } => {
                let t = match truth {
                    Truth::True => "true",
                    Truth::False => "false",
                    Truth::Unknown => "unknown",
                };
                format!("{} is {}{t}", self.expr(expr), not(*negated))
            }
            ExprKind::Arith { op, left, right } => {
                format!("({} {} {})", self.expr(left), op.symbol().to_ascii_lowercase(), self.expr(right))
            }
            ExprKind::Neg(x) => format!("-{}", self.expr(x)),
            ExprKind::BitNot(x) => format!("~{}", self.expr(x)),
            ExprKind::Cast { expr, explicit: true } => format!("cast({} as {})", self.expr(expr), type_name(e.ty)),
            ExprKind::Cast { expr, explicit: false } => format!("{}::{}", self.expr(expr), type_name(e.ty)),
            ExprKind::InList { expr, list, negated } => {
                format!("{} {}in ({})", self.expr(expr), not(*negated), self.list(list))
            }
            ExprKind::InSet { expr, set, negated } => {
                let list: Vec<Expr> = (0..set.len()).map(|i| set.expr(i)).collect();
                format!("{} {}in ({})", self.expr(expr), not(*negated), self.list(&list))
            }
            ExprKind::Like { expr, pattern, negated, .. } => {
                format!("{} {}like {}", self.expr(expr), not(*negated), self.expr(pattern))
            }
            ExprKind::Case { branches, otherwise } => {
                let mut s = "case".to_string();
                for (w, t) in branches {
                    let _ = write!(s, " when {} then {}", self.expr(w), self.expr(t));
                }
                if let Some(o) = otherwise {
                    let _ = write!(s, " else {}", self.expr(o));
                }
                s + " end"
            }
            ExprKind::Call { function, args } => format!("{}({})", snake(&format!("{function:?}")), self.list(args)),
            ExprKind::UserVar { name, .. } => format!("@{name}"),
            ExprKind::SetUserVar { name, expr } => format!("(@{name} := {})", self.expr(expr)),
            ExprKind::Row(v) => format!("row({})", self.list(v)),
            ExprKind::Subquery(id) => format!("${id}"),
        }
    }

    fn chain(&self, v: &[Expr], word: &str) -> String {
        format!("({})", v.iter().map(|e| self.expr(e)).collect::<Vec<_>>().join(word))
    }
}

fn not(negated: bool) -> &'static str {
    if negated { "not " } else { "" }
}

/// `DateAdd` as `date_add`.
fn snake(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() && !out.is_empty() && !out.ends_with('(') {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

fn agg_name(f: AggFunc) -> String {
    match f {
        AggFunc::CountStar => "count".into(),
        f => snake(&format!("{f:?}")),
    }
}

fn value(v: &Value) -> String {
    match v {
        Value::Null => "NULL".into(),
        Value::Int(v) => v.to_string(),
        Value::UInt(v) => format!("{v}u"),
        Value::Bytes(b) => format!("'{}'", String::from_utf8_lossy(b)),
        Value::Double(v) => format!("{v:?}"),
        Value::Float(v) => format!("{v:?}f"),
        Value::Decimal(d) => decimal(&d.unscaled.to_string(), d.scale as usize),
        Value::Date(d) => date(d.0),
        Value::DateTime(d) => {
            let us = d.0 & ((1 << 37) - 1);
            format!("{} {}", date((d.0 >> 37) as i32), clock(us))
        }
        Value::Time(t) => format!("{}{}", if t.0 < 0 { "-" } else { "" }, clock(t.0.abs())),
        Value::Timestamp(t) => format!("ts {}", t.0),
    }
}

fn decimal(digits: &str, scale: usize) -> String {
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |d| ("-", d));
    if scale == 0 {
        return format!("{sign}{digits}.");
    }
    let digits = format!("{digits:0>width$}", width = scale + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    format!("{sign}{whole}.{fraction}")
}

fn date(packed: i32) -> String {
    format!("{:04}-{:02}-{:02}", packed >> 9, packed >> 5 & 15, packed & 31)
}

fn clock(us: i64) -> String {
    let s = us / 1_000_000;
    let mut out = format!("{:02}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
    if us % 1_000_000 != 0 {
        let _ = write!(out, ".{:06}", us % 1_000_000);
    }
    out
}

/// A short name of the type.
pub fn type_name(ty: SqlType) -> String {
    match ty {
        SqlType::Null => "null".into(),
        SqlType::Bool => "bool".into(),
        SqlType::Int { size, unsigned } => {
            format!("{}{}", if unsigned { "u" } else { "" }, format!("{size:?}").to_lowercase())
        }
        SqlType::Decimal { precision, scale } => format!("dec({precision},{scale})"),
        SqlType::Float => "float".into(),
        SqlType::Double => "double".into(),
        SqlType::String { kind, len, collation } => {
            let binary = collation == types::Collation::Binary;
            match kind {
                StringKind::Char => format!("{}({len})", if binary { "binary" } else { "char" }),
                StringKind::VarChar => format!("{}({len})", if binary { "varbinary" } else { "varchar" }),
                k if binary => format!("{k:?}").to_lowercase().replace("text", "blob"),
                k => format!("{k:?}").to_lowercase(),
            }
        }
        SqlType::Date => "date".into(),
        SqlType::Time { fsp } => format!("time({fsp})"),
        SqlType::DateTime { fsp } => format!("datetime({fsp})"),
        SqlType::Timestamp { fsp } => format!("timestamp({fsp})"),
        SqlType::Year => "year".into(),
        #[allow(unreachable_patterns)]
        other => format!("{other:?}").to_lowercase(),
    }
}
