//! FROM: tables, derived tables, joins.
//!
//! A join without ON ends where the next join begins, unless an ON follows later that could belong to it:
//! ```text
//! a JOIN b JOIN c ON x ON y   =  a JOIN (b JOIN c ON x) ON y
//! a JOIN b JOIN c ON x        =  (a JOIN b) JOIN c ON x
//! ```
//! Operands wait on a stack; ON and USING join the top of it with the table at hand. What is left at the end has no
//! condition and goes under the leftmost table of its right side, as in MySQL (8.4, "JOIN Clause").

use super::{EXPR_WEIGHT, Parser};
use crate::ast::*;
use crate::keywords::Kw;
use crate::lexer::Tok;
use types::{Error, ErrorCode, Result};

/// A join tree in the making.
struct Joined {
    table: TableRef,
    /// links from the root to its leftmost table, not counting those within parentheses
    left_links: u32,
    start: u32,
}

/// What a parenthesis in FROM held.
enum ParenTable {
    /// still to be named
    Query(Box<Query>),
    Table(TableRef),
}

impl<'a> Parser<'a> {
    /// `table, table, ...`
    pub(super) fn table_refs(&mut self) -> Result<Vec<TableRef>> {
        self.comma_list(Self::table_ref)
    }

    /// A table with all its joins.
    pub(crate) fn table_ref(&mut self) -> Result<TableRef> {
        let start = self.start();
        let first = self.table_factor()?;
        self.joins(first, start)
    }

    /// The joins after `first`.
    fn joins(&mut self, first: TableRef, start: u32) -> Result<TableRef> {
        let mut waiting: Vec<(Joined, JoinKind)> = Vec::new();
        let mut at_hand = Joined { table: first, left_links: 0, start };
        loop {
            if let Some((kind, natural)) = self.join_words()? {
                let start = self.start();
                let right = Joined { table: self.table_factor()?, left_links: 0, start };
                self.grow(1)?;
                if natural {
                    at_hand = self.join(at_hand, right, kind, JoinConstraint::Natural);
                } else {
                    waiting.push((at_hand, kind));
                    at_hand = right;
                }
                continue;
            }
            let constraint = match self.kind() {
                Tok::Kw(Kw::ON) if !waiting.is_empty() => {
                    self.bump();
                    JoinConstraint::On(self.expr()?)
                }
                Tok::Kw(Kw::USING) if !waiting.is_empty() => {
                    self.bump();
                    JoinConstraint::Using(self.paren_list(Self::ident)?)
                }
                _ => break,
            };
            if let Some((left, kind)) = waiting.pop() {
                at_hand = self.join(left, at_hand, kind, constraint);
            }
        }
        while let Some((left, kind)) = waiting.pop() {
            if matches!(kind, JoinKind::Left | JoinKind::Right) {
                return Err(self.error());
            }
            at_hand = self.cross_join(left, at_hand, kind);
        }
        Ok(at_hand.table)
    }

    fn join(&self, left: Joined, right: Joined, kind: JoinKind, constraint: JoinConstraint) -> Joined {
        let span = self.span_from(left.start);
        let (left_links, start) = (left.left_links + 1, left.start);
        let join = Join { left: left.table, right: right.table, kind, constraint, span };
        Joined { table: TableRef::Join(Box::new(join)), left_links, start }
    }

    /// Puts `left` before the leftmost table of `right`.
    fn cross_join(&self, left: Joined, mut right: Joined, kind: JoinKind) -> Joined {
        let (left_links, start) = (right.left_links + left.left_links + 1, left.start);
        let mut leftmost = &mut right.table;
        for _ in 0..right.left_links {
            let TableRef::Join(join) = leftmost else { break };
            join.span.start = start;
            leftmost = &mut join.left;
        }
        // A stand-in without meaning while the leftmost table moves.
        let name = ObjectName { schema: None, name: Ident::default() };
        let hole =
            TableFactor { name, partitions: Vec::new(), alias: None, index_hints: Vec::new(), span: Span::default() };
        let moved = std::mem::replace(leftmost, TableRef::Table(Box::new(hole)));
        let span = self.span_from(start);
        let join = Join { left: left.table, right: moved, kind, constraint: JoinConstraint::None, span };
        *leftmost = TableRef::Join(Box::new(join));
        Joined { table: right.table, left_links, start }
    }

    /// The words of a join, and whether it is NATURAL.
    fn join_words(&mut self) -> Result<Option<(JoinKind, bool)>> {
        let Tok::Kw(kw) = self.kind() else { return Ok(None) };
        let natural = kw == Kw::NATURAL;
        if natural {
            self.bump();
        }
        let kind = match self.kind() {
            Tok::Kw(Kw::JOIN) => JoinKind::Inner,
            Tok::Kw(Kw::STRAIGHT_JOIN) if !natural => {
                self.bump();
                return Ok(Some((JoinKind::Straight, false)));
            }
            Tok::Kw(Kw::INNER) => {
                self.bump();
                JoinKind::Inner
            }
            Tok::Kw(Kw::CROSS) if !natural => {
                self.bump();
                JoinKind::Inner
            }
            Tok::Kw(side @ (Kw::LEFT | Kw::RIGHT)) => {
                self.bump();
                self.eat_kw(Kw::OUTER);
                if side == Kw::LEFT { JoinKind::Left } else { JoinKind::Right }
            }
            _ if natural => return Err(self.error()),
            _ => return Ok(None),
        };
        self.expect_kw(Kw::JOIN)?;
        Ok(Some((kind, natural)))
    }

    fn table_factor(&mut self) -> Result<TableRef> {
        let start = self.start();
        match self.kind() {
            Tok::LParen => match self.paren_table()? {
                ParenTable::Query(query) => self.derived(*query, false, start),
                ParenTable::Table(table) => Ok(table),
            },
            Tok::Kw(Kw::LATERAL) => {
                self.bump();
                let query = self.subquery()?;
                self.derived(query, true, start)
            }
            Tok::Kw(Kw::JSON_TABLE) => self.json_table(),
            // {OJ table LEFT JOIN ..}
            Tok::LBrace => self.nested(EXPR_WEIGHT, |p| {
                p.bump();
                p.ident()?;
                let table = p.table_ref()?;
                p.expect(Tok::RBrace)?;
                Ok(table)
            }),
            _ => Ok(TableRef::Table(Box::new(self.named_table()?))),
        }
    }

    /// From `(` over `)`: a query or tables. As with expressions, an inner parenthesis shows only afterwards what it
    /// was.
    fn paren_table(&mut self) -> Result<ParenTable> {
        self.nested(EXPR_WEIGHT, |p| {
            p.expect(Tok::LParen)?;
            if p.at_query_start() {
                let query = Box::new(p.query()?);
                p.expect(Tok::RParen)?;
                return Ok(ParenTable::Query(query));
            }
            let start = p.start();
            let first = if p.at(Tok::LParen) {
                let factor = match p.paren_table()? {
                    ParenTable::Query(query) => {
                        if p.at(Tok::RParen) || p.at_query_continuation() {
                            let query = Box::new(p.query_after_parens(*query, start)?);
                            p.expect(Tok::RParen)?;
                            return Ok(ParenTable::Query(query));
                        }
                        p.derived(*query, false, start)?
                    }
                    ParenTable::Table(table) => table,
                };
                p.joins(factor, start)?
            } else {
                p.table_ref()?
            };
            let mut joined = Joined { table: first, left_links: 0, start };
            while p.eat(Tok::Comma) {
                let right_start = p.start();
                let right = Joined { table: p.table_ref()?, left_links: 0, start: right_start };
                p.grow(1)?;
                joined = p.join(joined, right, JoinKind::Inner, JoinConstraint::None);
            }
            p.expect(Tok::RParen)?;
            Ok(ParenTable::Table(joined.table))
        })
    }

    /// `[AS] alias [(columns)]` of a derived table.
    fn derived(&mut self, query: Query, lateral: bool, start: u32) -> Result<TableRef> {
        let Some(alias) = self.opt_table_alias()? else {
            return Err(Error::new(ErrorCode::DERIVED_MUST_HAVE_ALIAS, "Every derived table must have its own alias"));
        };
        let columns = self.opt_paren_idents()?;
        let span = self.span_from(start);
        Ok(TableRef::Derived(Box::new(DerivedTable { query, alias, columns, lateral, span })))
    }

    pub(super) fn opt_table_alias(&mut self) -> Result<Option<Ident>> {
        if self.eat_kw(Kw::AS) || self.at_ident() { self.ident().map(Some) } else { Ok(None) }
    }

    /// `name [PARTITION (..)] [[AS] alias] [index hints]`
    pub(super) fn named_table(&mut self) -> Result<TableFactor> {
        let start = self.start();
        let name = self.object_name()?;
        let partitions = self.opt_partition_list()?;
        let alias = self.opt_table_alias()?;
        let mut index_hints = Vec::new();
        while let Some(hint) = self.opt_index_hint()? {
            index_hints.push(hint);
        }
        Ok(TableFactor { name, partitions, alias, index_hints, span: self.span_from(start) })
    }

    /// `PARTITION (p0, p1)`
    pub(super) fn opt_partition_list(&mut self) -> Result<Vec<Ident>> {
        if self.eat_kw(Kw::PARTITION) { self.paren_list(Self::ident) } else { Ok(Vec::new()) }
    }

    fn opt_index_hint(&mut self) -> Result<Option<IndexHint>> {
        let kind = match self.kind() {
            Tok::Kw(Kw::USE) => IndexHintKind::Use,
            Tok::Kw(Kw::FORCE) => IndexHintKind::Force,
            Tok::Kw(Kw::IGNORE) => IndexHintKind::Ignore,
            _ => return Ok(None),
        };
        if !matches!(self.peek(), Tok::Kw(Kw::INDEX | Kw::KEY)) {
            return Ok(None);
        }
        self.bump();
        self.bump();
        let scope = if !self.eat_kw(Kw::FOR) {
            IndexHintScope::All
        } else if self.eat_kw(Kw::JOIN) {
            IndexHintScope::Join
        } else if self.eat_words("ORDER BY") {
            IndexHintScope::OrderBy
        } else if self.eat_words("GROUP BY") {
            IndexHintScope::GroupBy
        } else {
            return Err(self.error());
        };
        self.expect(Tok::LParen)?;
        let mut indexes = Vec::new();
        if !(kind == IndexHintKind::Use && self.at(Tok::RParen)) {
            indexes = self.comma_list(|p| if p.at_kw(Kw::PRIMARY) { p.any_word() } else { p.ident() })?;
        }
        self.expect(Tok::RParen)?;
        Ok(Some(IndexHint { kind, scope, indexes }))
    }
}
