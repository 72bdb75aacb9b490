//! Operands: prefix operators, names, parentheses, INTERVAL, CASE, variables.
//!
//! A parenthesis may hold an expression, a row or a query, and a query may itself begin with a parenthesis; which of
//! them it is shows only behind it. So [`Parser::paren`] parses what comes and decides afterwards, without going back.

use super::expr::{ANY, COLLATE, COMPARE, Level, NOT, UNARY, binary};
use super::{EXPR_WEIGHT, Parser, QUERY_WEIGHT, is_ident};
use crate::ast::*;
use crate::keywords::Kw;
use crate::lexer::Tok;
use types::Result;

/// What parentheses held.
pub(super) enum Paren {
    Query(Box<Query>),
    One(Expr),
    /// two or more
    Many(Vec<Expr>),
}

/// What began with INTERVAL.
pub(super) enum Interval {
    /// `INTERVAL value unit`
    Span(Expr, IntervalUnit),
    /// the function INTERVAL(n, ...)
    Call(Expr),
}

/// Items from which on a list does not grow by doubling.
const LONG_LIST: usize = 4096;

impl<'a> Parser<'a> {
    /// An operand with its prefix operators, and the highest level of operator that may follow it.
    pub(super) fn operand(&mut self, min: Level) -> Result<(Expr, Level)> {
        let start = self.start();
        let (op, level) = match self.kind() {
            Tok::Minus => (UnaryOp::Neg, UNARY),
            Tok::Plus => (UnaryOp::Plus, UNARY),
            Tok::Tilde => (UnaryOp::BitNot, UNARY),
            Tok::Bang => (UnaryOp::Not, UNARY),
            Tok::Kw(Kw::NOT) if self.opts.high_not_precedence => (UnaryOp::Not, UNARY),
            Tok::Kw(Kw::NOT) if min <= NOT => (UnaryOp::Not, NOT),
            Tok::Kw(Kw::BINARY) => (UnaryOp::Binary, UNARY),
            _ => return Ok((self.primary()?, COLLATE)),
        };
        self.bump();
        let operand = self.expr_at(level)?;
        Ok((Expr::new(ExprKind::Unary(op, Box::new(operand)), self.span_from(start)), level))
    }

    /// An operand with its signs, and no operator after it (column defaults).
    pub(super) fn bare_operand(&mut self) -> Result<Expr> {
        self.nested(EXPR_WEIGHT, |p| Ok(p.operand(COLLATE)?.0))
    }

    fn primary(&mut self) -> Result<Expr> {
        let start = self.start();
        let kind = match self.kind() {
            Tok::Ident => match self.literal()? {
                Some(literal) => ExprKind::Literal(literal),
                None => return self.name_or_call(),
            },
            Tok::QuotedIdent => return self.name_or_call(),
            Tok::Kw(kw) => return self.keyword_operand(kw),
            Tok::LParen => return self.paren_operand(),
            Tok::Question => {
                self.bump();
                self.param_count += 1;
                ExprKind::Param(self.param_count - 1)
            }
            Tok::AtName | Tok::At => {
                let name = self.user_var()?;
                if self.eat(Tok::Assign) {
                    ExprKind::Assign(Box::new((name, self.expr()?)))
                } else {
                    ExprKind::UserVar(name)
                }
            }
            Tok::AtAt => ExprKind::SysVar(Box::new(self.sys_var()?)),
            Tok::BackslashN => {
                self.bump();
                ExprKind::Literal(Literal::Null)
            }
            Tok::LBrace => self.odbc_escape()?,
            Tok::Dot => {
                let column = self.column_ref()?;
                return self.json_arrow(column, start);
            }
            _ => match self.literal()? {
                Some(literal) => ExprKind::Literal(literal),
                None => return Err(self.error()),
            },
        };
        Ok(Expr::new(kind, self.span_from(start)))
    }

    /// `(expr)`, `(expr, expr)` or `(query)` as an operand. The span includes the parentheses.
    #[inline(never)]
    fn paren_operand(&mut self) -> Result<Expr> {
        let start = self.start();
        let kind = match self.paren()? {
            Paren::Query(query) => ExprKind::Subquery(query),
            Paren::One(one) => one.kind,
            Paren::Many(list) => ExprKind::Row(list.into()),
        };
        Ok(Expr::new(kind, self.span_from(start)))
    }

    /// From `(` over `)`. A parenthesis within may turn out to be the first operand of a query or of an expression;
    /// which of them shows only after it, so both are parsed the same way.
    pub(super) fn paren(&mut self) -> Result<Paren> {
        self.expect(Tok::LParen)?;
        if self.at_query_start() {
            let query = Box::new(self.query()?);
            self.expect(Tok::RParen)?;
            return Ok(Paren::Query(query));
        }
        let first = if self.at(Tok::LParen) {
            let start = self.start();
            let inner = self.nested(EXPR_WEIGHT, Self::paren)?;
            let kind = match inner {
                Paren::Query(query) => {
                    if self.at(Tok::RParen) || self.at_query_continuation() {
                        let query = Box::new(self.query_after_parens(*query, start)?);
                        self.expect(Tok::RParen)?;
                        return Ok(Paren::Query(query));
                    }
                    ExprKind::Subquery(query)
                }
                Paren::One(one) => one.kind,
                Paren::Many(list) => ExprKind::Row(list.into()),
            };
            let left = Expr::new(kind, self.span_from(start));
            self.infix(left, ANY, COLLATE)?
        } else {
            self.expr()?
        };
        if self.eat(Tok::RParen) {
            return Ok(Paren::One(first));
        }
        let mut list = vec![first];
        while self.eat(Tok::Comma) {
            // Of a list of millions half should not be room for more.
            if list.len() == list.capacity() && list.len() >= LONG_LIST {
                list.reserve_exact(list.len() / 4);
            }
            self.push_expr(&mut list)?;
        }
        self.expect(Tok::RParen)?;
        // `(a` without comma or parenthesis has failed above.
        Ok(Paren::Many(list))
    }

    /// `(query)`
    pub(super) fn subquery(&mut self) -> Result<Query> {
        let start = self.start();
        self.expect(Tok::LParen)?;
        let query = if self.at(Tok::LParen) {
            let inner = self.nested(QUERY_WEIGHT, Self::subquery)?;
            self.query_after_parens(inner, start)?
        } else {
            self.query()?
        };
        self.expect(Tok::RParen)?;
        Ok(query)
    }

    /// At INTERVAL: a span of time, or the function.
    pub(super) fn interval(&mut self) -> Result<Interval> {
        let start = self.start();
        self.bump();
        let value = if self.at(Tok::LParen) {
            let inner_start = self.start();
            let kind = match self.nested(EXPR_WEIGHT, Self::paren)? {
                Paren::Query(query) => ExprKind::Subquery(query),
                Paren::One(one) => one.kind,
                Paren::Many(args) => {
                    let call = FunctionCall { schema: None, name: "interval".into(), args };
                    let span = self.span_from(start);
                    return Ok(Interval::Call(Expr::new(ExprKind::Function(Box::new(call)), span)));
                }
            };
            let left = Expr::new(kind, self.span_from(inner_start));
            self.infix(left, ANY, COLLATE)?
        } else {
            self.expr()?
        };
        Ok(Interval::Span(value, self.interval_unit()?))
    }

    /// `INTERVAL value unit` where nothing else may stand (DATE_ADD, window frames).
    pub(super) fn interval_span(&mut self) -> Result<(Expr, IntervalUnit)> {
        if !self.at_kw(Kw::INTERVAL) {
            return Err(self.error());
        }
        match self.interval()? {
            Interval::Span(value, unit) => Ok((value, unit)),
            Interval::Call(_) => Err(self.error()),
        }
    }

    /// `INTERVAL value unit + date`, or the function INTERVAL.
    fn interval_operand(&mut self) -> Result<Expr> {
        let start = self.start();
        match self.interval()? {
            Interval::Call(call) => Ok(call),
            Interval::Span(value, unit) => {
                self.expect(Tok::Plus)?;
                let date = self.expr_at(COMPARE)?;
                let arith = DateArith { date, value, unit, subtract: false };
                Ok(Expr::new(ExprKind::DateArith(Box::new(arith)), self.span_from(start)))
            }
        }
    }

    pub(super) fn interval_unit(&mut self) -> Result<IntervalUnit> {
        let text = self.text_of(self.tok);
        let text = match text.get(..8) {
            Some(prefix) if prefix.eq_ignore_ascii_case(b"SQL_TSI_") => &text[8..],
            _ => text,
        };
        let unit = IntervalUnit::ALL.iter().find(|u| u.name().as_bytes().eq_ignore_ascii_case(text));
        match unit {
            Some(unit) if matches!(self.kind(), Tok::Ident | Tok::Kw(_)) => {
                self.bump();
                Ok(*unit)
            }
            _ => Err(self.error()),
        }
    }

    /// A column, or a call of a function that is no keyword.
    fn name_or_call(&mut self) -> Result<Expr> {
        let token = self.tok;
        let name = self.any_word()?;
        match self.kind() {
            Tok::LParen => return self.call(token, name),
            Tok::Dot => {}
            _ => return self.json_arrow(ColumnRef { schema: None, table: None, name }, token.start),
        }
        let mut column = self.qualified_column(name)?;
        if self.at(Tok::LParen) && column.schema.is_none() {
            let args = self.call_args()?;
            let call = FunctionCall { schema: column.table.take(), name: column.name, args };
            return Ok(Expr::new(ExprKind::Function(Box::new(call)), self.span_from(token.start)));
        }
        self.json_arrow(column, token.start)
    }

    /// After `first`, at the point.
    fn qualified_column(&mut self, first: Ident) -> Result<ColumnRef> {
        self.bump();
        let second = self.any_word()?;
        if !self.eat(Tok::Dot) {
            return Ok(ColumnRef { schema: None, table: Some(first), name: second });
        }
        Ok(ColumnRef { schema: Some(first), table: Some(second), name: self.any_word()? })
    }

    /// `[[schema.]table.]name`; a leading point is allowed.
    pub(crate) fn column_ref(&mut self) -> Result<ColumnRef> {
        if self.eat(Tok::Dot) {
            let table = Some(self.any_word()?);
            self.expect(Tok::Dot)?;
            return Ok(ColumnRef { schema: None, table, name: self.any_word()? });
        }
        let first = self.ident()?;
        if self.at(Tok::Dot) {
            return self.qualified_column(first);
        }
        Ok(ColumnRef { schema: None, table: None, name: first })
    }

    /// `column`, `column -> path`, `column ->> path`
    fn json_arrow(&mut self, column: ColumnRef, start: u32) -> Result<Expr> {
        let left = Expr::new(ExprKind::Column(Box::new(column)), self.span_from(start));
        let op = match self.kind() {
            Tok::Arrow => BinaryOp::JsonExtract,
            Tok::ArrowText => BinaryOp::JsonUnquote,
            _ => return Ok(left),
        };
        self.bump();
        let path_start = self.start();
        let token = self.expect(Tok::Str)?;
        let path = ExprKind::Literal(Literal::Str(self.string_value(token)));
        Ok(binary(op, left, Expr::new(path, self.span_from(path_start))))
    }

    /// `@name`
    pub(crate) fn user_var(&mut self) -> Result<Ident> {
        if self.at(Tok::At) && matches!(self.peek(), Tok::QuotedIdent | Tok::Str | Tok::Ident) {
            return Err(self.error());
        }
        let token = self.expect(Tok::AtName)?;
        self.at_name_value(token)
    }

    /// The name after the `@` of a token.
    pub(super) fn at_name_value(&self, token: crate::lexer::Token) -> Result<Ident> {
        let text = &self.text_of(token)[1..];
        match text[0] {
            b'`' => self.unquote_ident(text),
            b'\'' | b'"' => {
                let value = self.string_value(token);
                let name = String::from_utf8(value.into_vec());
                name.map(Ident::from).map_err(|e| crate::error::invalid_utf8(e.as_bytes()))
            }
            _ => Ok(self.utf8(text)?.into()),
        }
    }

    /// `@@[scope.][component.]name`
    fn sys_var(&mut self) -> Result<SysVar> {
        self.expect(Tok::AtAt)?;
        let scope = match self.peek() {
            Tok::Dot => self.scope_word(),
            _ => None,
        };
        if scope.is_some() {
            self.bump();
            self.expect(Tok::Dot)?;
        }
        let first = self.any_word()?;
        if self.eat(Tok::Dot) {
            return Ok(SysVar { scope, component: Some(first), name: self.any_word()? });
        }
        Ok(SysVar { scope, component: None, name: first })
    }

    /// The scope that the current word names.
    pub(super) fn scope_word(&self) -> Option<VarScope> {
        const SCOPES: [(&str, VarScope); 5] = [
            ("GLOBAL", VarScope::Global),
            ("SESSION", VarScope::Session),
            ("LOCAL", VarScope::Session),
            ("PERSIST", VarScope::Persist),
            ("PERSIST_ONLY", VarScope::PersistOnly),
        ];
        SCOPES.iter().find(|(word, _)| self.at_word(word)).map(|(_, scope)| *scope)
    }

    /// `{d '..'}`, `{t '..'}`, `{ts '..'}`, `{fn expr}`
    fn odbc_escape(&mut self) -> Result<ExprKind> {
        self.bump();
        let temporal = match () {
            () if self.at_word("D") => Some(TemporalKind::Date),
            () if self.at_word("T") => Some(TemporalKind::Time),
            () if self.at_word("TS") => Some(TemporalKind::DateTime),
            () => None,
        };
        let kind = match temporal {
            Some(kind) if self.peek() == Tok::Str => ExprKind::Literal(self.temporal_literal(kind)?),
            _ => {
                self.ident()?;
                self.expr()?.kind
            }
        };
        self.expect(Tok::RBrace)?;
        Ok(kind)
    }

    /// An operand that begins with a keyword.
    fn keyword_operand(&mut self, kw: Kw) -> Result<Expr> {
        let start = self.start();
        let kind = match kw {
            Kw::NULL => {
                self.bump();
                ExprKind::Literal(Literal::Null)
            }
            Kw::TRUE | Kw::FALSE => {
                self.bump();
                ExprKind::Literal(Literal::Bool(kw == Kw::TRUE))
            }
            Kw::DATE | Kw::TIME | Kw::TIMESTAMP if self.peek() == Tok::Str => {
                let kind = match kw {
                    Kw::DATE => TemporalKind::Date,
                    Kw::TIME => TemporalKind::Time,
                    _ => TemporalKind::DateTime,
                };
                ExprKind::Literal(self.temporal_literal(kind)?)
            }
            Kw::CASE => self.case()?,
            Kw::EXISTS => {
                self.bump();
                ExprKind::Exists(Box::new(self.subquery()?))
            }
            Kw::INTERVAL => return self.interval_operand(),
            Kw::ROW => {
                self.bump();
                match self.paren()? {
                    Paren::Many(list) => ExprKind::Row(list.into()),
                    _ => return Err(self.error_at(start)),
                }
            }
            Kw::DEFAULT => {
                self.bump();
                self.expect(Tok::LParen)?;
                let column = self.column_ref()?;
                self.expect(Tok::RParen)?;
                ExprKind::DefaultOf(Box::new(column))
            }
            Kw::VALUES => {
                self.bump();
                self.expect(Tok::LParen)?;
                let column = self.column_ref()?;
                self.expect(Tok::RParen)?;
                ExprKind::ValuesOf(Box::new(column))
            }
            _ if is_ident(self.kind()) => return self.name_or_call(),
            _ => self.reserved_call(kw)?,
        };
        Ok(Expr::new(kind, self.span_from(start)))
    }

    #[inline(never)]
    fn case(&mut self) -> Result<ExprKind> {
        self.bump();
        let operand = if self.at_kw(Kw::WHEN) { None } else { Some(self.expr()?) };
        let mut whens = Vec::new();
        while self.eat_kw(Kw::WHEN) {
            let when = self.expr()?;
            self.expect_kw(Kw::THEN)?;
            whens.push((when, self.expr()?));
        }
        if whens.is_empty() {
            return Err(self.error());
        }
        let else_expr = if self.eat_kw(Kw::ELSE) { Some(self.expr()?) } else { None };
        self.expect_kw(Kw::END)?;
        Ok(ExprKind::Case(Box::new(Case { operand, whens, else_expr })))
    }

    /// An expression, or DEFAULT as INSERT, UPDATE and SET have it.
    #[inline]
    pub(crate) fn expr_or_default(&mut self) -> Result<Expr> {
        if self.at_kw(Kw::DEFAULT) && self.peek() != Tok::LParen {
            let token = self.bump();
            return Ok(Expr::new(ExprKind::Default, Span::new(token.start, token.end)));
        }
        self.expr()
    }
}
