//! LOAD DATA and LOAD XML; the FIELDS and LINES clauses, which SELECT INTO OUTFILE shares.

use super::Parser;
use crate::ast::*;
use crate::keywords::Kw;
use crate::lexer::Tok;
use types::Result;

impl<'a> Parser<'a> {
    pub(super) fn load(&mut self) -> Result<Statement> {
        let start = self.start();
        self.bump();
        if self.at_kw(Kw::INDEX) {
            return Ok(self.raw("LOAD INDEX INTO CACHE", start));
        }
        let xml = self.eat_word("XML");
        if !xml {
            self.expect_word("DATA")?;
        }
        let priority = if self.eat_kw(Kw::LOW_PRIORITY) {
            LoadPriority::Low
        } else if self.eat_word("CONCURRENT") {
            LoadPriority::Concurrent
        } else {
            LoadPriority::Normal
        };
        let local = self.eat_word("LOCAL");
        self.expect_kw(Kw::INFILE)?;
        let path = self.string_utf8()?;
        let duplicates = if self.eat_kw(Kw::IGNORE) {
            LoadDuplicates::Ignore
        } else if self.eat_kw(Kw::REPLACE) {
            LoadDuplicates::Replace
        } else {
            LoadDuplicates::Error
        };
        self.expect_kw(Kw::INTO)?;
        self.expect_kw(Kw::TABLE)?;
        let table = self.object_name()?;
        let partitions = self.opt_partition_list()?;
        let charset = self.opt_charset()?;
        let rows_identified_by =
            if xml && self.eat_words("ROWS IDENTIFIED BY") { Some(self.bytes_literal()?) } else { None };
        let format = self.fields_lines()?;
        let mut ignore_lines = 0;
        if self.eat_kw(Kw::IGNORE) {
            ignore_lines = self.number()?;
            if !self.eat_kw(Kw::ROWS) {
                self.expect_kw(Kw::LINES)?;
            }
        }
        let mut columns = None;
        if self.eat(Tok::LParen) {
            let mut list = Vec::new();
            if !self.at(Tok::RParen) {
                list = self.comma_list(|p| {
                    Ok(if p.at(Tok::AtName) {
                        LoadTarget::UserVar(p.user_var()?)
                    } else {
                        LoadTarget::Column(p.column_ref()?)
                    })
                })?;
            }
            self.expect(Tok::RParen)?;
            columns = Some(list);
        }
        let set = if self.eat_kw(Kw::SET) { self.comma_list(Self::assignment)? } else { Vec::new() };
        Ok(Statement::LoadData(Box::new(LoadData {
            xml,
            priority,
            local,
            path,
            duplicates,
            table,
            partitions,
            charset,
            rows_identified_by,
            format,
            ignore_lines,
            columns,
            set,
        })))
    }

    /// `[FIELDS ..] [LINES ..]`
    pub(super) fn fields_lines(&mut self) -> Result<FieldsLines> {
        let mut f = FieldsLines::default();
        if self.eat_word("FIELDS") || self.eat_word("COLUMNS") {
            let mut count = 0;
            loop {
                if self.eat_words("TERMINATED BY") {
                    f.fields_terminated_by = Some(self.bytes_literal()?);
                } else if self.eat_words("OPTIONALLY ENCLOSED BY") {
                    f.optionally_enclosed = true;
                    f.enclosed_by = Some(self.bytes_literal()?);
                } else if self.eat_words("ENCLOSED BY") {
                    f.enclosed_by = Some(self.bytes_literal()?);
                } else if self.eat_words("ESCAPED BY") {
                    f.escaped_by = Some(self.bytes_literal()?);
                } else if count == 0 {
                    return Err(self.error());
                } else {
                    break;
                }
                count += 1;
            }
        }
        if self.eat_kw(Kw::LINES) {
            let mut count = 0;
            loop {
                if self.eat_words("TERMINATED BY") {
                    f.lines_terminated_by = Some(self.bytes_literal()?);
                } else if self.eat_words("STARTING BY") {
                    f.lines_starting_by = Some(self.bytes_literal()?);
                } else if count == 0 {
                    return Err(self.error());
                } else {
                    break;
                }
                count += 1;
            }
        }
        Ok(f)
    }
}
