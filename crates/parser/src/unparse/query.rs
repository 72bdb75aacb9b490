//! Queries as text.

use super::expr::on_response;
use super::{QuotedBytes, QuotedIdent, QuotedStr, ident_list, list};
use crate::ast::*;
use std::fmt::{Display, Formatter, Result, Write};

impl Display for Query {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        if let Some(with) = &self.with {
            write!(f, "{with} ")?;
        }
        self.body.fmt(f)?;
        if !self.order_by.is_empty() {
            f.write_str(" order by ")?;
            list(f, &self.order_by, ", ", |f, item| item.fmt(f))?;
        }
        if let Some(limit) = &self.limit {
            limit.fmt(f)?;
        }
        if let Some(into) = &self.into {
            write!(f, " {into}")?;
        }
        list(f, &self.locking, "", |f, locking| locking.fmt(f))
    }
}

impl Display for Limit {
    /// Parameters keep their order.
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match (&self.offset, &self.count) {
            (None, count) => write!(f, " limit {count}"),
            (Some(Expr { kind: ExprKind::Param(o), .. }), Expr { kind: ExprKind::Param(c), .. }) if c < o => {
                f.write_str(" limit ? offset ?")
            }
            (Some(offset), count) => write!(f, " limit {offset}, {count}"),
        }
    }
}

impl Display for QueryBody {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            QueryBody::Select(select) => select.fmt(f),
            QueryBody::Values(rows) => {
                f.write_str("values ")?;
                list(f, rows, ", ", |f, row| {
                    f.write_str("row(")?;
                    list(f, row, ", ", |f, e| e.fmt(f))?;
                    f.write_char(')')
                })
            }
            QueryBody::Table(name) => write!(f, "table {name}"),
            QueryBody::SetOp(chain) => {
                SetOperand(&chain.first).fmt(f)?;
                for term in &chain.rest {
                    let op = match term.op {
                        SetOp::Union => "union",
                        SetOp::Intersect => "intersect",
                        SetOp::Except => "except",
                    };
                    write!(f, " {op} {}{}", if term.all { "all " } else { "" }, SetOperand(&term.body))?;
                }
                Ok(())
            }
            QueryBody::Nested(query) => write!(f, "({query})"),
        }
    }
}

struct SetOperand<'a>(&'a QueryBody);

impl Display for SetOperand<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self.0 {
            QueryBody::SetOp(_) => write!(f, "({})", self.0),
            other => other.fmt(f),
        }
    }
}

impl Display for Select {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str("select ")?;
        if !self.hints.is_empty() {
            f.write_str("/*+ ")?;
            for hint in &self.hints {
                write!(f, "{hint} ")?;
            }
            f.write_str("*/ ")?;
        }
        let m = &self.modifiers;
        let words = [
            (m.distinct, "distinct "),
            (m.high_priority, "high_priority "),
            (m.straight_join, "straight_join "),
            (m.sql_small_result, "sql_small_result "),
            (m.sql_big_result, "sql_big_result "),
            (m.sql_buffer_result, "sql_buffer_result "),
            (m.sql_no_cache, "sql_no_cache "),
            (m.sql_calc_found_rows, "sql_calc_found_rows "),
        ];
        for (_, word) in words.iter().filter(|(on, _)| *on) {
            f.write_str(word)?;
        }
        list(f, &self.items, ", ", |f, item| item.fmt(f))?;
        if self.from_dual {
            f.write_str(" from dual")?;
        }
        if !self.from.is_empty() {
            f.write_str(" from ")?;
            list(f, &self.from, ", ", |f, table| table.fmt(f))?;
        }
        if let Some(condition) = &self.where_ {
            write!(f, " where {condition}")?;
        }
        if let Some(group_by) = &self.group_by {
            f.write_str(" group by ")?;
            list(f, &group_by.exprs, ", ", |f, e| e.fmt(f))?;
            if group_by.rollup {
                f.write_str(" with rollup")?;
            }
        }
        if let Some(condition) = &self.having {
            write!(f, " having {condition}")?;
        }
        if !self.windows.is_empty() {
            f.write_str(" window ")?;
            list(f, &self.windows, ", ", |f, w| write!(f, "{} as ({})", QuotedIdent(&w.name), w.spec))?;
        }
        Ok(())
    }
}

impl Display for SelectItem {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            SelectItem::Wildcard(_) => f.write_char('*'),
            SelectItem::QualifiedWildcard(table, _) => write!(f, "{table}.*"),
            SelectItem::Expr(item) => {
                item.expr.fmt(f)?;
                match &item.alias {
                    // An alias may be empty, which backticks cannot say.
                    Some(alias) if alias.is_empty() => f.write_str(" AS ''"),
                    Some(alias) => write!(f, " AS {}", QuotedIdent(alias)),
                    None => Ok(()),
                }
            }
        }
    }
}

impl Display for SelectInto {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str("into ")?;
        match self {
            SelectInto::Dumpfile(path) => write!(f, "dumpfile {}", QuotedStr(path)),
            SelectInto::Vars(vars) => list(f, vars, ", ", |f, var| match var {
                IntoVar::User(name) => write!(f, "@{}", QuotedIdent(name)),
                IntoVar::Local(name) => QuotedIdent(name).fmt(f),
            }),
            SelectInto::Outfile { path, charset, format } => {
                write!(f, "outfile {}", QuotedStr(path))?;
                if let Some(charset) = charset {
                    write!(f, " character set {}", charset.as_str())?;
                }
                format.fmt(f)
            }
        }
    }
}

impl Display for FieldsLines {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let enclosed = if self.optionally_enclosed { "optionally enclosed" } else { "enclosed" };
        let clauses = [
            [("terminated", &self.fields_terminated_by), (enclosed, &self.enclosed_by), ("escaped", &self.escaped_by)],
            [("starting", &self.lines_starting_by), ("terminated", &self.lines_terminated_by), ("", &None)],
        ];
        for (word, clauses) in ["fields", "lines"].iter().zip(clauses) {
            let mut first = true;
            for (clause, value) in clauses {
                if let Some(value) = value {
                    if first {
                        write!(f, " {word}")?;
                    }
                    first = false;
                    write!(f, " {clause} by {}", QuotedBytes(value))?;
                }
            }
        }
        Ok(())
    }
}

/// With a blank before.
impl Display for Locking {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(if self.strength == LockStrength::Update { " for update" } else { " for share" })?;
        if !self.of.is_empty() {
            f.write_str(" of ")?;
            list(f, &self.of, ", ", |f, table| table.fmt(f))?;
        }
        f.write_str(match self.wait {
            LockWait::Wait => "",
            LockWait::NoWait => " nowait",
            LockWait::SkipLocked => " skip locked",
        })
    }
}

impl Display for TableRef {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        // Joins are long on the left: from the innermost outwards, without recursion.
        let mut joins = Vec::new();
        let mut first = self;
        while let TableRef::Join(join) = first {
            joins.push(join);
            first = &join.left;
        }
        factor(f, first)?;
        for join in joins.iter().rev() {
            let natural = if join.constraint == JoinConstraint::Natural { "natural " } else { "" };
            let word = match join.kind {
                JoinKind::Inner => "join",
                JoinKind::Straight => "straight_join",
                JoinKind::Left => "left join",
                JoinKind::Right => "right join",
            };
            write!(f, " {natural}{word} ")?;
            match &join.right {
                right @ TableRef::Join(_) => write!(f, "({right})")?,
                right => factor(f, right)?,
            }
            match &join.constraint {
                JoinConstraint::None | JoinConstraint::Natural => {}
                JoinConstraint::On(condition) => write!(f, " on {condition}")?,
                JoinConstraint::Using(columns) => {
                    f.write_str(" using ")?;
                    ident_list(f, columns)?;
                }
            }
        }
        Ok(())
    }
}

/// A table that is no join.
fn factor(f: &mut Formatter<'_>, table: &TableRef) -> Result {
    match table {
        TableRef::Table(t) => {
            t.name.fmt(f)?;
            if !t.partitions.is_empty() {
                f.write_str(" partition ")?;
                ident_list(f, &t.partitions)?;
            }
            if let Some(alias) = &t.alias {
                write!(f, " {}", QuotedIdent(alias))?;
            }
            list(f, &t.index_hints, "", |f, hint| hint.fmt(f))
        }
        TableRef::Derived(d) => {
            write!(f, "{}({}) {}", if d.lateral { "lateral " } else { "" }, d.query, QuotedIdent(&d.alias))?;
            if !d.columns.is_empty() {
                f.write_char(' ')?;
                ident_list(f, &d.columns)?;
            }
            Ok(())
        }
        TableRef::JsonTable(t) => {
            write!(f, "json_table({}, {} ", t.doc, t.path)?;
            json_columns(f, &t.columns)?;
            write!(f, ") {}", QuotedIdent(&t.alias))
        }
        TableRef::Join(_) => write!(f, "({table})"),
    }
}

/// With a blank before.
impl Display for IndexHint {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(match self.kind {
            IndexHintKind::Use => " use index ",
            IndexHintKind::Force => " force index ",
            IndexHintKind::Ignore => " ignore index ",
        })?;
        f.write_str(match self.scope {
            IndexHintScope::All => "",
            IndexHintScope::Join => "for join ",
            IndexHintScope::OrderBy => "for order by ",
            IndexHintScope::GroupBy => "for group by ",
        })?;
        ident_list(f, &self.indexes)
    }
}

fn json_columns(f: &mut Formatter<'_>, columns: &[JsonTableColumn]) -> Result {
    f.write_str("columns (")?;
    list(f, columns, ", ", |f, column| match column {
        JsonTableColumn::Ordinality(name) => write!(f, "{} for ordinality", QuotedIdent(name)),
        JsonTableColumn::Nested { path, columns } => {
            write!(f, "nested path {} ", QuotedStr(path))?;
            json_columns(f, columns)
        }
        JsonTableColumn::Path { name, ty, collation, exists, path, on_empty, on_error } => {
            write!(f, "{} {ty}", QuotedIdent(name))?;
            if let Some(collation) = collation {
                write!(f, " collate {}", QuotedIdent(collation))?;
            }
            write!(f, "{} path {}", if *exists { " exists" } else { "" }, QuotedStr(path))?;
            on_response(f, on_empty, "empty")?;
            on_response(f, on_error, "error")
        }
    })?;
    f.write_char(')')
}
