//! JSON_TABLE, and the ON EMPTY / ON ERROR clauses that it shares with JSON_VALUE.

use super::{EXPR_WEIGHT, Parser};
use crate::ast::*;
use crate::keywords::Kw;
use crate::lexer::Tok;
use types::Result;

impl<'a> Parser<'a> {
    /// `JSON_TABLE(doc, path COLUMNS (..)) [AS] alias`, at the word.
    pub(super) fn json_table(&mut self) -> Result<TableRef> {
        let start = self.start();
        self.bump();
        self.expect(Tok::LParen)?;
        let doc = self.expr()?;
        self.expect(Tok::Comma)?;
        let path = self.expr()?;
        let columns = self.json_columns()?;
        self.expect(Tok::RParen)?;
        let alias = self.opt_table_alias()?.ok_or_else(|| self.error())?;
        let span = self.span_from(start);
        Ok(TableRef::JsonTable(Box::new(JsonTable { doc, path, columns, alias, span })))
    }

    fn json_columns(&mut self) -> Result<Vec<JsonTableColumn>> {
        self.nested(EXPR_WEIGHT, |p| {
            p.expect_word("COLUMNS")?;
            p.paren_list(Self::json_column)
        })
    }

    fn json_column(&mut self) -> Result<JsonTableColumn> {
        if self.at_word("NESTED") && self.peek() != Tok::Kw(Kw::FOR) {
            self.bump();
            self.eat_word("PATH");
            let path = self.string_utf8()?;
            return Ok(JsonTableColumn::Nested { path, columns: self.json_columns()? });
        }
        let name = self.ident()?;
        if self.eat_kw(Kw::FOR) {
            self.expect_word("ORDINALITY")?;
            return Ok(JsonTableColumn::Ordinality(name));
        }
        let ty = self.data_type()?;
        let collation = if self.eat_kw(Kw::COLLATE) { Some(self.collation_name()?) } else { None };
        let exists = self.eat_kw(Kw::EXISTS);
        self.expect_word("PATH")?;
        let path = self.string_utf8()?;
        let (on_empty, on_error) = if exists { (None, None) } else { self.on_empty_on_error()? };
        Ok(JsonTableColumn::Path { name, ty, collation, exists, path, on_empty, on_error })
    }

    /// `[response ON EMPTY] [response ON ERROR]`; the older grammar's reverse order as well.
    pub(super) fn on_empty_on_error(&mut self) -> Result<(Option<JsonOnResponse>, Option<JsonOnResponse>)> {
        let (mut on_empty, mut on_error) = (None, None);
        loop {
            let response = if self.eat_kw(Kw::NULL) {
                JsonOnResponse::Null
            } else if self.eat_word("ERROR") {
                JsonOnResponse::Error
            } else if self.eat_kw(Kw::DEFAULT) {
                JsonOnResponse::Default(Box::new(self.expr()?))
            } else {
                return Ok((on_empty, on_error));
            };
            self.expect_kw(Kw::ON)?;
            let empty = self.eat_kw(Kw::EMPTY);
            if !empty {
                self.expect_word("ERROR")?;
            }
            let slot = if empty { &mut on_empty } else { &mut on_error };
            if slot.replace(response).is_some() {
                return Err(self.error());
            }
        }
    }
}
