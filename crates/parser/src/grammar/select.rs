//! SELECT up to its ORDER BY.

use super::{Parser, is_ident};
use crate::ast::*;
use crate::keywords::Kw;
use crate::lexer::Tok;
use types::{Error, Result};

impl<'a> Parser<'a> {
    /// A SELECT. INTO before FROM is left for the query.
    pub(super) fn select(&mut self) -> Result<Select> {
        let start = self.start();
        self.expect_kw(Kw::SELECT)?;
        let hints = self.opt_hints();
        let modifiers = self.select_modifiers();
        let items = self.select_items()?;
        let into = if self.at_kw(Kw::INTO) { Some(self.select_into()?) } else { None };
        let mut select = Select {
            modifiers,
            hints,
            items,
            from: Vec::new(),
            from_dual: false,
            where_: None,
            group_by: None,
            having: None,
            windows: Vec::new(),
            span: Span::default(),
        };
        if self.eat_kw(Kw::FROM) {
            if self.eat_kw(Kw::DUAL) {
                select.from_dual = true;
            } else {
                select.from = self.table_refs()?;
            }
        }
        if self.eat_kw(Kw::WHERE) {
            select.where_ = Some(self.expr()?);
        }
        select.group_by = self.opt_group_by()?;
        if self.eat_kw(Kw::HAVING) {
            select.having = Some(self.expr()?);
        }
        if self.eat_kw(Kw::WINDOW) {
            select.windows = self.comma_list(|p| {
                let name = p.ident()?;
                p.expect_kw(Kw::AS)?;
                Ok(NamedWindow { name, spec: p.window_spec()? })
            })?;
        }
        if self.at_kw(Kw::QUALIFY) {
            return Err(Error::not_supported("QUALIFY"));
        }
        select.span = self.span_from(start);
        self.note_variable_hints(&select.hints);
        self.into = into;
        Ok(select)
    }

    fn select_modifiers(&mut self) -> SelectModifiers {
        let mut m = SelectModifiers::default();
        while let Tok::Kw(kw) = self.kind() {
            match kw {
                Kw::ALL => {}
                Kw::DISTINCT | Kw::DISTINCTROW => m.distinct = true,
                Kw::HIGH_PRIORITY => m.high_priority = true,
                Kw::STRAIGHT_JOIN => m.straight_join = true,
                Kw::SQL_SMALL_RESULT => m.sql_small_result = true,
                Kw::SQL_BIG_RESULT => m.sql_big_result = true,
                Kw::SQL_BUFFER_RESULT => m.sql_buffer_result = true,
                Kw::SQL_NO_CACHE => m.sql_no_cache = true,
                Kw::SQL_CALC_FOUND_ROWS => m.sql_calc_found_rows = true,
                _ => break,
            }
            self.bump();
        }
        m
    }

    /// `*` may only come first; `t.*` anywhere.
    pub(super) fn select_items(&mut self) -> Result<Vec<SelectItem>> {
        let mut items = Vec::new();
        if self.at(Tok::Star) {
            let token = self.bump();
            items.push(SelectItem::Wildcard(Span::new(token.start, token.end)));
            if !self.eat(Tok::Comma) {
                return Ok(items);
            }
        }
        loop {
            items.push(self.select_item()?);
            if !self.eat(Tok::Comma) {
                return Ok(items);
            }
        }
    }

    fn select_item(&mut self) -> Result<SelectItem> {
        let start = self.start();
        if is_ident(self.kind())
            && self.peek() == Tok::Dot
            && let Some(table) = self.opt_qualified_wildcard()?
        {
            return Ok(SelectItem::QualifiedWildcard(table, self.span_from(start)));
        }
        let expr = self.expr()?;
        let text = self.name_text(self.span_from(start));
        let alias = if self.eat_kw(Kw::AS) || self.at_ident() || self.at(Tok::Str) {
            Some(self.ident_or_string()?)
        } else {
            None
        };
        Ok(SelectItem::Expr(Box::new(SelectExpr { expr, alias, text })))
    }

    /// `t.*` or `s.t.*`, or nothing taken. At an identifier before a point.
    pub(super) fn opt_qualified_wildcard(&mut self) -> Result<Option<ObjectName>> {
        let mut ahead = self.lexer;
        ahead.next();
        let mut names = 1;
        let mut after = ahead.next();
        if matches!(after.tok, Tok::Ident | Tok::QuotedIdent) {
            names = 2;
            if ahead.next().tok != Tok::Dot {
                return Ok(None);
            }
            after = ahead.next();
        }
        if after.tok != Tok::Star {
            return Ok(None);
        }
        let first = self.ident()?;
        self.bump();
        if names == 1 {
            self.bump();
            return Ok(Some(ObjectName { schema: None, name: first }));
        }
        let name = self.any_word()?;
        self.bump();
        self.bump();
        Ok(Some(ObjectName { schema: Some(first), name }))
    }

    fn opt_group_by(&mut self) -> Result<Option<Box<GroupBy>>> {
        if !self.eat_kw(Kw::GROUP) {
            return Ok(None);
        }
        self.expect_kw(Kw::BY)?;
        let exprs = self.comma_list(|p| {
            let expr = p.expr()?;
            if matches!(p.kind(), Tok::Kw(Kw::ASC | Kw::DESC)) {
                return Err(Error::not_supported("GROUP BY ... ASC/DESC"));
            }
            Ok(expr)
        })?;
        let rollup = self.eat_words("WITH ROLLUP");
        Ok(Some(Box::new(GroupBy { exprs, rollup })))
    }

    /// `/*+ .. */` after a statement's first word.
    pub(super) fn opt_hints(&mut self) -> Vec<Hint> {
        let mut hints = Vec::new();
        while self.at(Tok::Hint) {
            let token = self.bump();
            let (from, to) = (token.start as usize + 3, token.end as usize - 2);
            let faults = super::hints::parse(self.src, from, to.max(from), self.opts.ansi_quotes, &mut hints);
            self.hint_faults.extend(faults);
        }
        hints
    }

    /// A block with these hints has been read to its end.
    pub(super) fn note_variable_hints(&mut self, hints: &[Hint]) {
        self.variable_hints.extend(hints.iter().filter(|h| h.name == HintName::SetVar).cloned());
    }
}
