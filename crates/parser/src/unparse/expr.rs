//! Expressions as text.

use super::{HexBytes, QuotedBytes, QuotedIdent, QuotedStr, ident_list, list};
use crate::ast::*;
use crate::grammar::has_own_grammar;
use crate::keywords;
use crate::lexer::is_ident_byte;
use std::fmt::{self, Display, Formatter, Result, Write};

/// An expression in a place where an operator stands beside it.
struct Operand<'a>(&'a Expr);

impl Display for Operand<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let simple = match &self.0.kind {
            ExprKind::Binary(b) => matches!(b.op, BinaryOp::JsonExtract | BinaryOp::JsonUnquote | BinaryOp::Concat),
            ExprKind::Assign(_)
            | ExprKind::Unary(..)
            | ExprKind::And(_)
            | ExprKind::Or(_)
            | ExprKind::Is(_)
            | ExprKind::InList(_)
            | ExprKind::InSubquery(_)
            | ExprKind::Between(_)
            | ExprKind::Like(_)
            | ExprKind::Regexp(_)
            | ExprKind::Quantified(_)
            | ExprKind::Collate(_)
            | ExprKind::DateArith(_) => false,
            _ => true,
        };
        if simple { self.0.fmt(f) } else { write!(f, "({})", self.0) }
    }
}

fn not(negated: bool) -> &'static str {
    if negated { "not " } else { "" }
}

fn exprs<'a>(f: &mut Formatter<'_>, items: impl IntoIterator<Item = &'a Expr>) -> Result {
    list(f, items, ", ", |f, e| e.fmt(f))
}

fn order_by(f: &mut Formatter<'_>, items: &[OrderItem]) -> Result {
    f.write_str("order by ")?;
    list(f, items, ", ", |f, item| item.fmt(f))
}

impl Display for OrderItem {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{}{}", self.expr, if self.desc { " desc" } else { "" })
    }
}

impl Display for ColumnRef {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        for qualifier in [&self.schema, &self.table].into_iter().flatten() {
            write!(f, "{}.", QuotedIdent(qualifier))?;
        }
        QuotedIdent(&self.name).fmt(f)
    }
}

impl Display for ObjectName {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        if let Some(schema) = &self.schema {
            write!(f, "{}.", QuotedIdent(schema))?;
        }
        QuotedIdent(&self.name).fmt(f)
    }
}

impl Display for Literal {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Literal::Null => f.write_str("NULL"),
            Literal::Bool(true) => f.write_str("true"),
            Literal::Bool(false) => f.write_str("false"),
            Literal::Int(v) => v.fmt(f),
            Literal::Decimal(digits) => f.write_str(digits),
            Literal::Float(v) => write!(f, "{v:e}"),
            Literal::Str(s) => QuotedBytes(s).fmt(f),
            Literal::Introduced(i) => match i.form {
                IntroducedForm::National if std::str::from_utf8(&i.value).is_ok() => {
                    write!(f, "N{}", QuotedBytes(&i.value))
                }
                IntroducedForm::Hex => write!(f, "_{} {}", i.charset.as_str(), HexBytes(&i.value)),
                IntroducedForm::Bit => write!(f, "_{} {}", i.charset.as_str(), Literal::Bit(i.value.clone())),
                _ => write!(f, "_{} {}", i.charset.as_str(), QuotedBytes(&i.value)),
            },
            Literal::Hex(bytes) => HexBytes(bytes).fmt(f),
            Literal::Bit(bytes) => {
                f.write_str("b'")?;
                for b in bytes {
                    write!(f, "{b:08b}")?;
                }
                f.write_char('\'')
            }
            Literal::Temporal(kind, text) => {
                let word = match kind {
                    TemporalKind::Date => "DATE",
                    TemporalKind::Time => "TIME",
                    TemporalKind::DateTime => "TIMESTAMP",
                };
                write!(f, "{word} {}", QuotedStr(text))
            }
        }
    }
}

/// `@name`
fn user_var(f: &mut Formatter<'_>, name: &Ident) -> Result {
    let bare = !name.is_empty() && name.bytes().all(|b| is_ident_byte(b) || b == b'.');
    if bare { write!(f, "@{}", name.as_str()) } else { write!(f, "@{}", QuotedIdent(name)) }
}

impl Display for SysVar {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str("@@")?;
        if let Some(scope) = self.scope {
            f.write_str(match scope {
                VarScope::Global => "global.",
                VarScope::Session => "session.",
                VarScope::Persist => "persist.",
                VarScope::PersistOnly => "persist_only.",
            })?;
        }
        if let Some(component) = &self.component {
            write!(f, "{}.", QuotedIdent(component))?;
        }
        QuotedIdent(&self.name).fmt(f)
    }
}

/// Operators of one level print without parentheses along the left spine.
fn level(op: BinaryOp) -> u8 {
    use BinaryOp::*;
    match op {
        Xor => 1,
        Eq | NullSafeEq | Ne | Lt | Le | Gt | Ge => 2,
        BitOr => 3,
        BitAnd => 4,
        ShiftLeft | ShiftRight => 5,
        Add | Sub => 6,
        Mul | Div | IntDiv | Mod => 7,
        BitXor => 8,
        // These do not chain.
        Concat | JsonExtract | JsonUnquote | MemberOf | SoundsLike => 0,
    }
}

/// `inner`, the left operand of `outer`, needs parentheses.
fn parens(inner: BinaryOp, outer: BinaryOp) -> bool {
    use BinaryOp::{Concat, JsonExtract, JsonUnquote};
    let chains = level(inner) != 0 && level(inner) == level(outer);
    // concat(..) and arrows are simple; commas separate as well as parentheses.
    !chains && !matches!(inner, Concat | JsonExtract | JsonUnquote) && outer != Concat
}

impl Display for BinaryExpr {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let (first, nodes) = self.spine();
        // Prefixes from the outermost node inwards, then operators outwards.
        for (i, node) in nodes.iter().enumerate().rev() {
            if node.op == BinaryOp::Concat {
                f.write_str("concat(")?;
            }
            let inner = i.checked_sub(1).and_then(|i| nodes.get(i));
            if inner.is_some_and(|inner| parens(inner.op, node.op)) {
                f.write_char('(')?;
            }
        }
        Operand(first).fmt(f)?;
        for (i, node) in nodes.iter().enumerate() {
            match node.op {
                BinaryOp::Concat => write!(f, ", {})", node.right)?,
                BinaryOp::MemberOf => write!(f, " member of ({})", Operand(&node.right))?,
                BinaryOp::JsonExtract | BinaryOp::JsonUnquote => write!(f, "{}{}", node.op.symbol(), node.right)?,
                _ => write!(f, " {} {}", node.op.symbol(), Operand(&node.right))?,
            }
            if nodes.get(i + 1).is_some_and(|outer| parens(node.op, outer.op)) {
                f.write_char(')')?;
            }
        }
        Ok(())
    }
}

impl Display for Expr {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match &self.kind {
            ExprKind::Literal(l) => l.fmt(f),
            ExprKind::Column(c) => c.fmt(f),
            ExprKind::Param(_) => f.write_char('?'),
            ExprKind::UserVar(name) => user_var(f, name),
            ExprKind::Assign(assign) => {
                user_var(f, &assign.0)?;
                write!(f, " := {}", assign.1)
            }
            ExprKind::SysVar(var) => var.fmt(f),
            ExprKind::Default => f.write_str("default"),
            ExprKind::DefaultOf(column) => write!(f, "default({column})"),
            ExprKind::ValuesOf(column) => write!(f, "values({column})"),
            ExprKind::Unary(op, e) => {
                let symbol = match op {
                    UnaryOp::Neg => "-",
                    UnaryOp::Plus => "+",
                    UnaryOp::BitNot => "~",
                    UnaryOp::Not => "not ",
                    UnaryOp::Binary => "binary ",
                };
                write!(f, "{symbol}{}", Operand(e))
            }
            ExprKind::Binary(b) => b.fmt(f),
            ExprKind::And(terms) => list(f, &**terms, " and ", |f, e| Operand(e).fmt(f)),
            ExprKind::Or(terms) => list(f, &**terms, " or ", |f, e| Operand(e).fmt(f)),
            ExprKind::Row(items) => {
                f.write_char('(')?;
                exprs(f, &**items)?;
                f.write_char(')')
            }
            ExprKind::Subquery(query) => write!(f, "({query})"),
            ExprKind::Exists(query) => write!(f, "exists ({query})"),
            ExprKind::Case(case) => case.fmt(f),
            ExprKind::Function(call) => call.fmt(f),
            ExprKind::Aggregate(call) => call.fmt(f),
            ExprKind::Window(call) => call.fmt(f),
            _ => special(f, &self.kind),
        }
    }
}

/// Predicates and functions with a grammar of their own.
fn special(f: &mut Formatter<'_>, kind: &ExprKind) -> Result {
    match kind {
        ExprKind::Is(is) => {
            let test = match is.test {
                IsTest::Null => "null",
                IsTest::True => "true",
                IsTest::False => "false",
                IsTest::Unknown => "unknown",
            };
            write!(f, "{} is {}{test}", Operand(&is.expr), not(is.negated))
        }
        ExprKind::InList(x) => {
            write!(f, "{} {}in (", Operand(&x.expr), not(x.negated))?;
            exprs(f, &x.list)?;
            f.write_char(')')
        }
        ExprKind::InSubquery(x) => write!(f, "{} {}in ({})", Operand(&x.expr), not(x.negated), x.query),
        ExprKind::Between(x) => {
            write!(f, "{} {}between {} and {}", Operand(&x.expr), not(x.negated), Operand(&x.low), Operand(&x.high))
        }
        ExprKind::Like(x) => {
            write!(f, "{} {}like {}", Operand(&x.expr), not(x.negated), Operand(&x.pattern))?;
            match &x.escape {
                Some(escape) => write!(f, " escape {}", Operand(escape)),
                None => Ok(()),
            }
        }
        ExprKind::Regexp(x) => {
            write!(f, "{} {}regexp {}", Operand(&x.expr), not(x.negated), Operand(&x.pattern))
        }
        ExprKind::Quantified(x) => {
            let quantifier = if x.all { "all" } else { "any" };
            write!(f, "{} {} {quantifier} ({})", Operand(&x.left), x.op.symbol(), x.query)
        }
        ExprKind::Cast(x) => {
            write!(f, "cast({}", x.expr)?;
            if let Some(zone) = &x.at_time_zone {
                write!(f, " at time zone {}", QuotedStr(zone))?;
            }
            write!(f, " as {}{})", x.target, if x.array { " array" } else { "" })
        }
        ExprKind::ConvertUsing(x) => write!(f, "convert({} using {})", x.0, x.1.as_str()),
        ExprKind::Collate(x) => write!(f, "{} collate {}", Operand(&x.0), QuotedIdent(&x.1)),
        ExprKind::DateArith(x) => {
            let sign = if x.subtract { '-' } else { '+' };
            write!(f, "{} {sign} interval {} {}", Operand(&x.date), Operand(&x.value), x.unit.name())
        }
        ExprKind::Extract(unit, e) => write!(f, "extract({} from {e})", unit.name()),
        ExprKind::TimestampDiff(x) => write!(f, "timestampdiff({}, {}, {})", x.0.name(), x.1, x.2),
        ExprKind::Trim(x) => {
            let side = match x.side {
                TrimSide::Both => "both",
                TrimSide::Leading => "leading",
                TrimSide::Trailing => "trailing",
            };
            match &x.what {
                Some(what) => write!(f, "trim({side} {what} from {})", x.expr),
                None if x.side == TrimSide::Both => write!(f, "trim({})", x.expr),
                None => write!(f, "trim({side} from {})", x.expr),
            }
        }
        ExprKind::Match(x) => {
            f.write_str("match (")?;
            list(f, &x.columns, ", ", |f, c| c.fmt(f))?;
            let mode = match x.mode {
                MatchMode::Natural => "",
                MatchMode::NaturalExpansion => " with query expansion",
                MatchMode::Boolean => " in boolean mode",
            };
            write!(f, ") against ({}{mode})", Operand(&x.against))
        }
        ExprKind::CharUsing(x) => {
            f.write_str("char(")?;
            exprs(f, &x.0)?;
            write!(f, " using {})", x.1.as_str())
        }
        ExprKind::GetFormat(kind, e) => {
            let word = match kind {
                TemporalKind::Date => "date",
                TemporalKind::Time => "time",
                TemporalKind::DateTime => "datetime",
            };
            write!(f, "get_format({word}, {e})")
        }
        ExprKind::WeightString(x) => match x.cast {
            Some((binary, len)) => {
                write!(f, "weight_string({} as {}({len}))", x.expr, if binary { "binary" } else { "char" })
            }
            None => write!(f, "weight_string({})", x.expr),
        },
        ExprKind::JsonValue(x) => {
            write!(f, "json_value({}, {}", Operand(&x.doc), x.path)?;
            if let Some(returning) = &x.returning {
                write!(f, " returning {returning}")?;
            }
            on_response(f, &x.on_empty, "empty")?;
            on_response(f, &x.on_error, "error")?;
            f.write_char(')')
        }
        // `Expr`'s own match has all others.
        _ => Err(fmt::Error),
    }
}

/// ` null on empty`
pub(super) fn on_response(f: &mut Formatter<'_>, response: &Option<JsonOnResponse>, event: &str) -> Result {
    match response {
        None => Ok(()),
        Some(JsonOnResponse::Null) => write!(f, " null on {event}"),
        Some(JsonOnResponse::Error) => write!(f, " error on {event}"),
        Some(JsonOnResponse::Default(e)) => write!(f, " default {e} on {event}"),
    }
}

impl Display for Case {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str("case")?;
        if let Some(operand) = &self.operand {
            write!(f, " {operand}")?;
        }
        for (when, then) in &self.whens {
            write!(f, " when {when} then {then}")?;
        }
        if let Some(e) = &self.else_expr {
            write!(f, " else {e}")?;
        }
        f.write_str(" end")
    }
}

impl Display for FunctionCall {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match &self.schema {
            Some(schema) => write!(f, "{}.{}(", QuotedIdent(schema), QuotedIdent(&self.name))?,
            None => {
                let reserved = keywords::lookup(self.name.as_bytes()).is_some_and(keywords::Kw::is_reserved);
                let callable = [
                    "char",
                    "current_user",
                    "database",
                    "grouping",
                    "if",
                    "insert",
                    "interval",
                    "left",
                    "mod",
                    "repeat",
                    "replace",
                    "right",
                    "utc_date",
                    "utc_time",
                    "utc_timestamp",
                ];
                let plain = !self.name.is_empty()
                    && self.name.bytes().all(is_ident_byte)
                    && !self.name.as_bytes()[0].is_ascii_digit()
                    && !self.name.starts_with('_')
                    && !has_own_grammar(&self.name)
                    && (!reserved || callable.contains(&self.name.as_str()));
                if plain { write!(f, "{}(", self.name.as_str())? } else { write!(f, "{}(", QuotedIdent(&self.name))? }
            }
        }
        exprs(f, &self.args)?;
        f.write_char(')')
    }
}

impl Display for AggregateCall {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{}({}", self.func.name(), if self.distinct { "distinct " } else { "" })?;
        if self.args.is_empty() {
            f.write_char('*')?;
        }
        exprs(f, &self.args)?;
        if !self.order_by.is_empty() {
            f.write_char(' ')?;
            order_by(f, &self.order_by)?;
        }
        if let Some(separator) = &self.separator {
            write!(f, " separator {}", QuotedBytes(separator))?;
        }
        f.write_char(')')?;
        match &self.over {
            Some(over) => write!(f, " {over}"),
            None => Ok(()),
        }
    }
}

impl Display for WindowCall {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{}(", self.func.name())?;
        exprs(f, &self.args)?;
        f.write_char(')')?;
        if self.from_last {
            f.write_str(" from last")?;
        }
        if self.ignore_nulls {
            f.write_str(" ignore nulls")?;
        }
        write!(f, " {}", self.over)
    }
}

impl Display for Over {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Over::Named(name) => write!(f, "over {}", QuotedIdent(name)),
            Over::Spec(spec) => write!(f, "over ({spec})"),
        }
    }
}

/// Without the parentheses.
impl Display for WindowSpec {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let mut space = "";
        if let Some(base) = &self.base {
            QuotedIdent(base).fmt(f)?;
            space = " ";
        }
        if !self.partition_by.is_empty() {
            write!(f, "{space}partition by ")?;
            exprs(f, &self.partition_by)?;
            space = " ";
        }
        if !self.order_by.is_empty() {
            f.write_str(space)?;
            order_by(f, &self.order_by)?;
            space = " ";
        }
        match &self.frame {
            Some(frame) => write!(f, "{space}{frame}"),
            None => Ok(()),
        }
    }
}

impl Display for Frame {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let unit = match self.unit {
            FrameUnit::Rows => "rows",
            FrameUnit::Range => "range",
            FrameUnit::Groups => "groups",
        };
        match &self.end {
            Some(end) => write!(f, "{unit} between {} and {end}", self.start)?,
            None => write!(f, "{unit} {}", self.start)?,
        }
        f.write_str(match self.exclude {
            None => "",
            Some(FrameExclude::CurrentRow) => " exclude current row",
            Some(FrameExclude::Group) => " exclude group",
            Some(FrameExclude::Ties) => " exclude ties",
            Some(FrameExclude::NoOthers) => " exclude no others",
        })
    }
}

impl Display for FrameBound {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let offset = |f: &mut Formatter<'_>, offset: &FrameOffset, side: &str| match offset {
            FrameOffset::Value(e) => write!(f, "{} {side}", Operand(e)),
            FrameOffset::Interval(e, unit) => write!(f, "interval {} {} {side}", Operand(e), unit.name()),
        };
        match self {
            FrameBound::UnboundedPreceding => f.write_str("unbounded preceding"),
            FrameBound::Preceding(x) => offset(f, x, "preceding"),
            FrameBound::CurrentRow => f.write_str("current row"),
            FrameBound::Following(x) => offset(f, x, "following"),
            FrameBound::UnboundedFollowing => f.write_str("unbounded following"),
        }
    }
}

impl Display for With {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(if self.recursive { "with recursive " } else { "with " })?;
        list(f, &self.ctes, ", ", |f, cte| {
            QuotedIdent(&cte.name).fmt(f)?;
            if !cte.columns.is_empty() {
                f.write_char(' ')?;
                ident_list(f, &cte.columns)?;
            }
            write!(f, " as ({})", cte.query)
        })
    }
}
