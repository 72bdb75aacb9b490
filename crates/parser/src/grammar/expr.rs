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
use super::operand::{Interval, Paren};
use super::{EXPR_WEIGHT, Parser};
use crate::ast::*;
use crate::keywords::Kw;
use crate::lexer::Tok;
use types::Result;

pub(super) type Level = u8;
pub(super) const ANY: Level = 0;
const OR: Level = 1;
const XOR: Level = 2;
const AND: Level = 3;
pub(super) const NOT: Level = 4;
pub(super) const COMPARE: Level = 5;
const PREDICATE: Level = 6;
pub(super) const BIT_EXPR: Level = 7;
const BIT_AND: Level = 8;
const SHIFT: Level = 9;
const ADD: Level = 10;
const MUL: Level = 11;
const BIT_XOR: Level = 12;
pub(super) const SIMPLE: Level = 13;
pub(super) const UNARY: Level = 14;
pub(super) const COLLATE: Level = 15;

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

impl<'a> Parser<'a> {
    /// An expression.
    pub(crate) fn expr(&mut self) -> Result<Expr> {
        self.expr_at(ANY)
    }

    /// An expression onto the end of `list`.
    ///
    /// A literal with a comma or parenthesis right behind it is the bulk of INSERT and IN lists: it is built in its
    /// place, past all levels of operators.
    #[inline]
    pub(super) fn push_expr(&mut self, list: &mut Vec<Expr>) -> Result<()> {
        self.pace.step()?;
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
    pub(super) fn infix(&mut self, mut left: Expr, min: Level, mut max: Level) -> Result<Expr> {
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
}

pub(super) fn binary(op: BinaryOp, left: Expr, right: Expr) -> Expr {
    let span = left.span.to(right.span);
    Expr::new(ExprKind::Binary(BinaryExpr::new(op, left, right)), span)
}
