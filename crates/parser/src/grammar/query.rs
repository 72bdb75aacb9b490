//! Queries around the SELECT: WITH, set operations, ORDER BY, LIMIT, INTO, locking.
//!
//! INTERSECT binds tighter than UNION and EXCEPT (MySQL 8.4, "Set Operations with UNION, INTERSECT, and EXCEPT").

use super::{Parser, QUERY_WEIGHT};
use crate::ast::*;
use crate::keywords::Kw;
use crate::lexer::Tok;
use types::{Error, Result};

impl<'a> Parser<'a> {
    /// SELECT, WITH, TABLE or VALUES ROW. (A parenthesis may start a query as well, but not only that.)
    pub(super) fn at_query_start(&self) -> bool {
        match self.kind() {
            Tok::Kw(Kw::SELECT | Kw::WITH | Kw::TABLE) => true,
            Tok::Kw(Kw::VALUES) => self.peek() == Tok::Kw(Kw::ROW),
            _ => false,
        }
    }

    /// What may follow a parenthesised query to make a larger one.
    pub(super) fn at_query_continuation(&self) -> bool {
        matches!(
            self.kind(),
            Tok::Kw(
                Kw::UNION
                    | Kw::INTERSECT
                    | Kw::EXCEPT
                    | Kw::ORDER
                    | Kw::LIMIT
                    | Kw::FOR
                    | Kw::LOCK
                    | Kw::INTO
                    | Kw::PROCEDURE
            )
        )
    }

    /// A whole query, maybe in parentheses.
    pub(crate) fn query(&mut self) -> Result<Query> {
        self.nested(QUERY_WEIGHT, |p| {
            let start = p.start();
            let with = p.opt_with()?;
            p.query_with(with, start)
        })
    }

    /// A query after its WITH clause.
    pub(super) fn query_with(&mut self, with: Option<Box<With>>, start: u32) -> Result<Query> {
        if self.at(Tok::LParen) {
            let inner = self.subquery()?;
            if with.is_none() {
                return self.query_after_parens(inner, start);
            }
            let body = self.set_ops(operand_of(inner))?;
            return self.finish_query(with, body, start);
        }
        let body = self.simple_body()?;
        let body = self.set_ops(body)?;
        self.finish_query(with, body, start)
    }

    /// What may follow `(inner)`. Nothing: the inner query itself.
    pub(super) fn query_after_parens(&mut self, inner: Query, start: u32) -> Result<Query> {
        if !self.at_query_continuation() {
            return Ok(inner);
        }
        let body = self.set_ops(operand_of(inner))?;
        self.finish_query(None, body, start)
    }

    /// ORDER BY, LIMIT, INTO and locking, in the places where MySQL has them.
    fn finish_query(&mut self, with: Option<Box<With>>, body: QueryBody, start: u32) -> Result<Query> {
        let into = self.into.take();
        let mut query =
            Query { with, body, order_by: Vec::new(), limit: None, into, locking: Vec::new(), span: Span::default() };
        query.order_by = self.opt_order_by()?;
        query.limit = self.opt_limit()?;
        if self.at_kw(Kw::PROCEDURE) && self.peek() == Tok::Ident {
            return Err(Error::not_supported("PROCEDURE ANALYSE"));
        }
        self.opt_into(&mut query)?;
        while let Some(locking) = self.opt_locking()? {
            query.locking.push(locking);
        }
        self.opt_into(&mut query)?;
        query.span = self.span_from(start);
        Ok(query)
    }

    fn opt_into(&mut self, query: &mut Query) -> Result<()> {
        if !self.at_kw(Kw::INTO) {
            return Ok(());
        }
        if query.into.is_some() {
            return Err(self.error());
        }
        query.into = Some(self.select_into()?);
        Ok(())
    }

    fn opt_with(&mut self) -> Result<Option<Box<With>>> {
        if !self.at_kw(Kw::WITH) {
            return Ok(None);
        }
        self.with_clause().map(Some)
    }

    /// `WITH [RECURSIVE] name [(columns)] AS (query), ...`
    pub(super) fn with_clause(&mut self) -> Result<Box<With>> {
        self.expect_kw(Kw::WITH)?;
        let recursive = self.eat_kw(Kw::RECURSIVE);
        let ctes = self.comma_list(|p| {
            let start = p.start();
            let name = p.ident()?;
            let columns = p.opt_paren_idents()?;
            p.expect_kw(Kw::AS)?;
            let query = p.subquery()?;
            Ok(Cte { name, columns, query, span: p.span_from(start) })
        })?;
        Ok(Box::new(With { recursive, ctes }))
    }

    /// Set operations after the first operand.
    fn set_ops(&mut self, first: QueryBody) -> Result<QueryBody> {
        let first = self.intersections(first)?;
        let mut rest = Vec::new();
        while let Some(op) = self.set_op(&[Kw::UNION, Kw::EXCEPT])? {
            let all = self.set_quantifier();
            let operand = self.set_operand()?;
            let body = self.intersections(operand)?;
            rest.push(SetOpTerm { op, all, body });
        }
        Ok(chain(first, rest))
    }

    fn intersections(&mut self, first: QueryBody) -> Result<QueryBody> {
        let mut rest = Vec::new();
        while let Some(op) = self.set_op(&[Kw::INTERSECT])? {
            let all = self.set_quantifier();
            rest.push(SetOpTerm { op, all, body: self.set_operand()? });
        }
        Ok(chain(first, rest))
    }

    fn set_op(&mut self, among: &[Kw]) -> Result<Option<SetOp>> {
        let Tok::Kw(kw) = self.kind() else { return Ok(None) };
        if !among.contains(&kw) {
            return Ok(None);
        }
        // Only the last operand may have INTO.
        if self.into.is_some() {
            return Err(self.error());
        }
        self.bump();
        Ok(Some(match kw {
            Kw::UNION => SetOp::Union,
            Kw::INTERSECT => SetOp::Intersect,
            _ => SetOp::Except,
        }))
    }

    /// ALL, or DISTINCT, which is also the default.
    fn set_quantifier(&mut self) -> bool {
        let all = self.eat_kw(Kw::ALL);
        if !all {
            self.eat_kw(Kw::DISTINCT);
        }
        all
    }

    /// An operand after a set operator.
    fn set_operand(&mut self) -> Result<QueryBody> {
        if self.at(Tok::LParen) {
            return Ok(operand_of(self.subquery()?));
        }
        self.simple_body()
    }

    /// SELECT, TABLE or VALUES without what may follow.
    fn simple_body(&mut self) -> Result<QueryBody> {
        match self.kind() {
            Tok::Kw(Kw::SELECT) => Ok(QueryBody::Select(Box::new(self.select()?))),
            Tok::Kw(Kw::TABLE) => {
                self.bump();
                Ok(QueryBody::Table(Box::new(self.object_name()?)))
            }
            Tok::Kw(Kw::VALUES) => {
                self.bump();
                let rows = self.comma_list(|p| {
                    p.expect_kw(Kw::ROW)?;
                    p.row_values()
                })?;
                Ok(QueryBody::Values(rows))
            }
            _ => Err(self.error()),
        }
    }

    /// `(value, ...)`, maybe empty; a value may be DEFAULT.
    pub(super) fn row_values(&mut self) -> Result<Vec<Expr>> {
        self.expect(Tok::LParen)?;
        if self.eat(Tok::RParen) {
            return Ok(Vec::new());
        }
        let row = self.comma_list(Self::expr_or_default)?;
        self.expect(Tok::RParen)?;
        Ok(row)
    }

    pub(super) fn opt_order_by(&mut self) -> Result<Vec<OrderItem>> {
        if !self.eat_kw(Kw::ORDER) {
            return Ok(Vec::new());
        }
        self.expect_kw(Kw::BY)?;
        self.comma_list(|p| {
            let expr = p.expr()?;
            Ok(OrderItem { expr, desc: p.direction() })
        })
    }

    /// ASC (also nothing) or DESC.
    pub(super) fn direction(&mut self) -> bool {
        let desc = self.eat_kw(Kw::DESC);
        if !desc {
            self.eat_kw(Kw::ASC);
        }
        desc
    }

    pub(super) fn opt_limit(&mut self) -> Result<Option<Box<Limit>>> {
        if !self.eat_kw(Kw::LIMIT) {
            return Ok(None);
        }
        let first = self.limit_value()?;
        let limit = if self.eat(Tok::Comma) {
            Limit { count: self.limit_value()?, offset: Some(first) }
        } else if self.eat_kw(Kw::OFFSET) {
            Limit { count: first, offset: Some(self.limit_value()?) }
        } else {
            Limit { count: first, offset: None }
        };
        Ok(Some(Box::new(limit)))
    }

    /// `LIMIT n` of UPDATE and DELETE.
    pub(super) fn opt_limit_count(&mut self) -> Result<Option<Expr>> {
        if self.eat_kw(Kw::LIMIT) { self.limit_value().map(Some) } else { Ok(None) }
    }

    /// An unsigned integer, a parameter, or a routine's variable.
    fn limit_value(&mut self) -> Result<Expr> {
        let start = self.start();
        let kind = match self.kind() {
            Tok::Int | Tok::Hex => ExprKind::Literal(Literal::Int(self.number()?)),
            Tok::Question => {
                self.bump();
                self.param_count += 1;
                ExprKind::Param(self.param_count - 1)
            }
            _ if self.at_ident() => {
                let name = self.ident()?;
                ExprKind::Column(Box::new(ColumnRef { schema: None, table: None, name }))
            }
            _ => return Err(self.error()),
        };
        Ok(Expr::new(kind, self.span_from(start)))
    }

    /// `INTO OUTFILE ..`, `INTO DUMPFILE ..`, `INTO @x, y`
    pub(super) fn select_into(&mut self) -> Result<Box<SelectInto>> {
        self.expect_kw(Kw::INTO)?;
        let into = if self.eat_kw(Kw::OUTFILE) {
            let path = self.string_utf8()?;
            let charset = self.opt_charset()?;
            SelectInto::Outfile { path, charset, format: self.fields_lines()? }
        } else if self.eat_word("DUMPFILE") {
            SelectInto::Dumpfile(self.string_utf8()?)
        } else {
            SelectInto::Vars(self.comma_list(|p| {
                Ok(if p.at(Tok::AtName) { IntoVar::User(p.user_var()?) } else { IntoVar::Local(p.ident()?) })
            })?)
        };
        Ok(Box::new(into))
    }

    fn opt_locking(&mut self) -> Result<Option<Locking>> {
        let strength = match self.kind() {
            Tok::Kw(Kw::FOR) => {
                self.bump();
                if self.eat_kw(Kw::UPDATE) {
                    LockStrength::Update
                } else {
                    self.expect_word("SHARE")?;
                    LockStrength::Share
                }
            }
            Tok::Kw(Kw::LOCK) if self.eat_words("LOCK IN SHARE MODE") => {
                return Ok(Some(Locking { strength: LockStrength::Share, of: Vec::new(), wait: LockWait::Wait }));
            }
            _ => return Ok(None),
        };
        let of = if self.eat_kw(Kw::OF) { self.comma_list(Self::object_name)? } else { Vec::new() };
        let wait = if self.eat_word("NOWAIT") {
            LockWait::NoWait
        } else if self.eat_words("SKIP LOCKED") {
            LockWait::SkipLocked
        } else {
            LockWait::Wait
        };
        Ok(Some(Locking { strength, of, wait }))
    }
}

fn chain(first: QueryBody, rest: Vec<SetOpTerm>) -> QueryBody {
    if rest.is_empty() { first } else { QueryBody::SetOp(Box::new(SetOpChain { first, rest })) }
}

/// A parenthesised query as an operand: its body if it has nothing else.
fn operand_of(query: Query) -> QueryBody {
    let bare = query.with.is_none()
        && query.order_by.is_empty()
        && query.limit.is_none()
        && query.into.is_none()
        && query.locking.is_empty();
    if bare { query.body } else { QueryBody::Nested(Box::new(query)) }
}
