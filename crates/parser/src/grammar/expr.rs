//! Expressions: Pratt's algorithm over MySQL's levels.
//!
//! ```text
//!  1 OR ||          5 = <=> <> < <= > >= IS          8 &        11 * / DIV % MOD    14 - + ~ ! BINARY (prefix)
//!  2 XOR            6 IN LIKE REGEXP BETWEEN         9 << >>    12 ^                15 COLLATE (postfix)
//!  3 AND &&           MEMBER OF, SOUNDS LIKE        10 + -      13 || (concatenation)
//!  4 NOT            7 |
//! ```
//!
//! Level 6 does not chain: what follows `a LIKE b` must be of a lower level. `:=` takes everything to its right.
//! (MySQL 8.4, "Operator Precedence" and "Expressions".)

use super::literal::small_u64;
use super::{EXPR_WEIGHT, Parser, QUERY_WEIGHT, is_ident};
use crate::ast::*;
use crate::keywords::Kw;
use crate::lexer::Tok;
use types::Result;

type Level = u8;
const ANY: Level = 0;
const OR: Level = 1;
const XOR: Level = 2;
const AND: Level = 3;
const NOT: Level = 4;
const COMPARE: Level = 5;
const PREDICATE: Level = 6;
pub(super) const BIT_EXPR: Level = 7;
const BIT_AND: Level = 8;
const SHIFT: Level = 9;
const ADD: Level = 10;
const MUL: Level = 11;
const BIT_XOR: Level = 12;
pub(super) const SIMPLE: Level = 13;
const UNARY: Level = 14;
const COLLATE: Level = 15;

/// What a token means after an operand.
#[derive(Clone, Copy)]
enum Infix {
    Or,
    Xor,
    And,
    Compare(BinaryOp),
    Is,
    Predicate,
    Binary(BinaryOp),
    /// `+` and `-`, which may have an INTERVAL on the right
    Additive(BinaryOp),
    Collate,
}

/// What parentheses held.
pub(super) enum Paren {
    Query(Box<Query>),
    One(Expr),
    /// two or more
    Many(Vec<Expr>),
}

/// What began with INTERVAL.
enum Interval {
    /// `INTERVAL value unit`
    Span(Expr, IntervalUnit),
    /// the function INTERVAL(n, ...)
    Call(Expr),
}

impl<'a> Parser<'a> {
    /// An expression.
    pub(crate) fn expr(&mut self) -> Result<Expr> {
        self.expr_at(ANY)
    }

    /// An expression onto the end of `list`.
    ///
    /// A literal with a comma or parenthesis right behind it is the bulk of INSERT and IN lists: it is built in its place,
    /// past all levels of operators.
    #[inline]
    pub(super) fn push_expr(&mut self, list: &mut Vec<Expr>) -> Result<()> {
        let token = self.tok;
        let span = Span::new(token.start, token.end);
        let plain = matches!(self.src.get(token.end as usize), Some(b',' | b')'));
        match token.tok {
            Tok::Int if plain && token.end - token.start < 19 => {
                let value = small_u64(self.text_of(token));
                self.bump();
                list.push(Expr::new(ExprKind::Literal(Literal::Int(value)), span));
            }
            Tok::Str if plain => {
                let value = self.string_value(token);
                self.bump();
                list.push(Expr::new(ExprKind::Literal(Literal::Str(value)), span));
            }
            Tok::Decimal if plain => {
                let digits = self.utf8(self.text_of(token))?.into();
                self.bump();
                list.push(Expr::new(ExprKind::Literal(Literal::Decimal(digits)), span));
            }
            Tok::Kw(Kw::NULL) if plain => {
                self.bump();
                list.push(Expr::new(ExprKind::Literal(Literal::Null), span));
            }
            Tok::Minus if self.plain_number_follows() => {
                self.bump();
                let number = Span::new(self.tok.start, self.tok.end);
                let literal = self.literal()?.unwrap_or(Literal::Null);
                let operand = Box::new(Expr::new(ExprKind::Literal(literal), number));
                list.push(Expr::new(ExprKind::Unary(UnaryOp::Neg, operand), span.to(number)));
            }
            _ => list.push(self.expr()?),
        }
        Ok(())
    }

    /// Behind the current token, digits with at most one point, then a comma or parenthesis.
    fn plain_number_follows(&self) -> bool {
        let rest = self.src.get(self.tok.end as usize..).unwrap_or_default();
        let len = rest.iter().take_while(|b| b.is_ascii_digit() || **b == b'.').count();
        let points = rest[..len].iter().filter(|b| **b == b'.').count();
        len > points && points <= 1 && matches!(rest.get(len), Some(b',' | b')'))
    }

    /// [`Parser::push_expr`], or DEFAULT.
    #[inline]
    pub(super) fn push_value(&mut self, list: &mut Vec<Expr>) -> Result<()> {
        if self.at_kw(Kw::DEFAULT) {
            list.push(self.expr_or_default()?);
            return Ok(());
        }
        self.push_expr(list)
    }

    /// An expression of operators that bind at least as tightly as `min`.
    pub(super) fn expr_at(&mut self, min: Level) -> Result<Expr> {
        self.nested(EXPR_WEIGHT, |p| {
            let (left, max) = p.operand(min)?;
            p.infix(left, min, max)
        })
    }

    fn infix_of(&self) -> Option<(Level, Infix)> {
        use Infix::*;
        Some(match self.kind() {
            Tok::Kw(kw) => match kw {
                Kw::OR => (OR, Or),
                Kw::XOR => (XOR, Xor),
                Kw::AND => (AND, And),
                Kw::IS => (COMPARE, Is),
                Kw::IN | Kw::LIKE | Kw::REGEXP | Kw::RLIKE | Kw::BETWEEN => (PREDICATE, Predicate),
                Kw::NOT if matches!(self.peek(), Tok::Kw(Kw::IN | Kw::LIKE | Kw::REGEXP | Kw::RLIKE | Kw::BETWEEN)) => {
                    (PREDICATE, Predicate)
                }
                Kw::SOUNDS if self.peek() == Tok::Kw(Kw::LIKE) => (PREDICATE, Predicate),
                Kw::MEMBER if matches!(self.peek(), Tok::Kw(Kw::OF) | Tok::LParen) => (PREDICATE, Predicate),
                Kw::DIV => (MUL, Binary(BinaryOp::IntDiv)),
                Kw::MOD => (MUL, Binary(BinaryOp::Mod)),
                Kw::COLLATE => (COLLATE, Collate),
                _ => return None,
            },
            Tok::Eq => (COMPARE, Compare(BinaryOp::Eq)),
            Tok::NullSafeEq => (COMPARE, Compare(BinaryOp::NullSafeEq)),
            Tok::Ne => (COMPARE, Compare(BinaryOp::Ne)),
            Tok::Lt => (COMPARE, Compare(BinaryOp::Lt)),
            Tok::Le => (COMPARE, Compare(BinaryOp::Le)),
            Tok::Gt => (COMPARE, Compare(BinaryOp::Gt)),
            Tok::Ge => (COMPARE, Compare(BinaryOp::Ge)),
            Tok::Plus => (ADD, Additive(BinaryOp::Add)),
            Tok::Minus => (ADD, Additive(BinaryOp::Sub)),
            Tok::Star => (MUL, Binary(BinaryOp::Mul)),
            Tok::Slash => (MUL, Binary(BinaryOp::Div)),
            Tok::Percent => (MUL, Binary(BinaryOp::Mod)),
            Tok::AmpAmp => (AND, And),
            Tok::PipePipe if self.opts.pipes_as_concat => (SIMPLE, Binary(BinaryOp::Concat)),
            Tok::PipePipe => (OR, Or),
            Tok::Pipe => (BIT_EXPR, Binary(BinaryOp::BitOr)),
            Tok::Amp => (BIT_AND, Binary(BinaryOp::BitAnd)),
            Tok::ShiftLeft => (SHIFT, Binary(BinaryOp::ShiftLeft)),
            Tok::ShiftRight => (SHIFT, Binary(BinaryOp::ShiftRight)),
            Tok::Caret => (BIT_XOR, Binary(BinaryOp::BitXor)),
            _ => return None,
        })
    }

    /// Operators after `left`, of levels `min..=max`.
    fn infix(&mut self, mut left: Expr, min: Level, mut max: Level) -> Result<Expr> {
        while let Some((level, infix)) = self.infix_of() {
            if level < min || level > max {
                break;
            }
            max = level;
            left = match infix {
                Infix::Binary(op) => {
                    self.bump();
                    let right = self.expr_at(level + 1)?;
                    binary(op, left, right)
                }
                Infix::Additive(op) => {
                    let sum = self.additive(op, left)?;
                    if matches!(sum.kind, ExprKind::DateArith(_)) {
                        // It ends with its unit: `d + INTERVAL 1 DAY * 2` multiplies the sum.
                        max = BIT_XOR;
                    }
                    sum
                }
                Infix::Compare(op) => self.comparison(op, left)?,
                Infix::And => self.terms(left, AND, NOT, ExprKind::And)?,
                Infix::Or => self.terms(left, OR, XOR, ExprKind::Or)?,
                Infix::Xor => {
                    self.bump();
                    let right = self.expr_at(AND)?;
                    binary(BinaryOp::Xor, left, right)
                }
                Infix::Is => self.is_test(left)?,
                Infix::Predicate => {
                    max = COMPARE;
                    self.predicate(left)?
                }
                Infix::Collate => {
                    self.bump();
                    let collation = self.collation_name()?;
                    self.grow(EXPR_WEIGHT)?;
                    let span = self.span_from(left.span.start);
                    Expr::new(ExprKind::Collate(Box::new((left, collation))), span)
                }
            };
        }
        Ok(left)
    }

    /// `left AND term AND term ...` as one node; OR likewise.
    fn terms(&mut self, left: Expr, level: Level, term: Level, node: fn(Box<[Expr]>) -> ExprKind) -> Result<Expr> {
        let start = left.span.start;
        let mut terms = vec![left];
        while matches!(self.infix_of(), Some((l, _)) if l == level) {
            self.bump();
            terms.push(self.expr_at(term)?);
        }
        Ok(Expr::new(node(terms.into()), self.span_from(start)))
    }

    fn additive(&mut self, op: BinaryOp, left: Expr) -> Result<Expr> {
        self.bump();
        if !self.at_kw(Kw::INTERVAL) {
            let right = self.expr_at(MUL)?;
            return Ok(binary(op, left, right));
        }
        match self.interval()? {
            Interval::Call(call) => {
                let right = self.infix(call, MUL, COLLATE)?;
                Ok(binary(op, left, right))
            }
            Interval::Span(value, unit) => {
                self.grow(EXPR_WEIGHT)?;
                let span = self.span_from(left.span.start);
                let arith = DateArith { date: left, value, unit, subtract: op == BinaryOp::Sub };
                Ok(Expr::new(ExprKind::DateArith(Box::new(arith)), span))
            }
        }
    }

    fn comparison(&mut self, op: BinaryOp, left: Expr) -> Result<Expr> {
        self.bump();
        let all = match self.kind() {
            Tok::Kw(Kw::ALL) => true,
            Tok::Kw(Kw::ANY | Kw::SOME) if self.peek() == Tok::LParen => false,
            _ => {
                let right = self.expr_at(PREDICATE)?;
                return Ok(binary(op, left, right));
            }
        };
        if op == BinaryOp::NullSafeEq {
            return Err(self.error());
        }
        self.bump();
        let query = self.subquery()?;
        self.grow(EXPR_WEIGHT)?;
        let span = self.span_from(left.span.start);
        Ok(Expr::new(ExprKind::Quantified(Box::new(Quantified { left, op, all, query })), span))
    }

    fn is_test(&mut self, expr: Expr) -> Result<Expr> {
        self.bump();
        let negated = self.eat_kw(Kw::NOT);
        let test = match self.kind() {
            Tok::Kw(Kw::NULL) | Tok::BackslashN => IsTest::Null,
            Tok::Kw(Kw::TRUE) => IsTest::True,
            Tok::Kw(Kw::FALSE) => IsTest::False,
            Tok::Kw(Kw::UNKNOWN) => IsTest::Unknown,
            _ => return Err(self.error()),
        };
        self.bump();
        self.grow(EXPR_WEIGHT)?;
        let span = self.span_from(expr.span.start);
        Ok(Expr::new(ExprKind::Is(Box::new(Is { expr, test, negated })), span))
    }

    /// `[NOT] IN`, BETWEEN, LIKE, REGEXP; MEMBER OF; SOUNDS LIKE.
    #[inline(never)]
    fn predicate(&mut self, expr: Expr) -> Result<Expr> {
        let start = expr.span.start;
        let negated = self.eat_kw(Kw::NOT);
        let kind = match self.bump().tok {
            Tok::Kw(Kw::IN) => match self.paren()? {
                Paren::Query(query) => ExprKind::InSubquery(Box::new(InSubquery { expr, query: *query, negated })),
                Paren::One(one) => ExprKind::InList(Box::new(InList { expr, list: vec![one], negated })),
                Paren::Many(list) => ExprKind::InList(Box::new(InList { expr, list, negated })),
            },
            Tok::Kw(Kw::BETWEEN) => {
                let low = self.expr_at(BIT_EXPR)?;
                self.expect_kw(Kw::AND)?;
                let high = self.expr_at(PREDICATE)?;
                ExprKind::Between(Box::new(Between { expr, low, high, negated }))
            }
            Tok::Kw(Kw::LIKE) => {
                let pattern = self.expr_at(SIMPLE)?;
                let escape = if self.eat_kw(Kw::ESCAPE) { Some(self.expr_at(SIMPLE)?) } else { None };
                ExprKind::Like(Box::new(Like { expr, pattern, escape, negated }))
            }
            Tok::Kw(Kw::REGEXP | Kw::RLIKE) => {
                let pattern = self.expr_at(BIT_EXPR)?;
                ExprKind::Regexp(Box::new(Regexp { expr, pattern, negated }))
            }
            Tok::Kw(Kw::SOUNDS) => {
                self.expect_kw(Kw::LIKE)?;
                let right = self.expr_at(BIT_EXPR)?;
                return Ok(binary(BinaryOp::SoundsLike, expr, right));
            }
            _ => {
                // MEMBER [OF] (array)
                self.eat_kw(Kw::OF);
                self.expect(Tok::LParen)?;
                let array = self.expr_at(SIMPLE)?;
                self.expect(Tok::RParen)?;
                let span = self.span_from(start);
                return Ok(Expr::new(ExprKind::Binary(BinaryExpr::new(BinaryOp::MemberOf, expr, array)), span));
            }
        };
        self.grow(EXPR_WEIGHT)?;
        Ok(Expr::new(kind, self.span_from(start)))
    }

    /// An operand with its prefix operators, and the highest level of operator that may follow it.
    fn operand(&mut self, min: Level) -> Result<(Expr, Level)> {
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
    fn interval(&mut self) -> Result<Interval> {
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

fn binary(op: BinaryOp, left: Expr, right: Expr) -> Expr {
    let span = left.span.to(right.span);
    Expr::new(ExprKind::Binary(BinaryExpr::new(op, left, right)), span)
}
