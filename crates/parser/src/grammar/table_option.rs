//! Table options, of CREATE TABLE and ALTER TABLE.

use super::Parser;
use crate::ast::*;
use crate::keywords::Kw;
use crate::lexer::Tok;
use types::Result;

impl<'a> Parser<'a> {
    /// A table option, if there is one.
    pub(super) fn opt_table_option(&mut self) -> Result<Option<TableOption>> {
        let default = self.at_kw(Kw::DEFAULT);
        if default {
            let ahead = self.peek2().0;
            let charset = ["CHARACTER", "CHARSET", "CHAR", "COLLATE"].iter().any(|word| self.is_word(ahead, word));
            if !charset {
                return Ok(None);
            }
            self.bump();
        }
        if self.at_word("CHARSET") || self.at_words("CHARACTER SET") || self.at_words("CHAR SET") {
            self.eat_charset_words();
            self.opt_eq();
            return Ok(Some(TableOption::Charset(self.charset_name()?)));
        }
        if self.eat_kw(Kw::COLLATE) {
            self.opt_eq();
            return Ok(Some(TableOption::Collate(self.collation_name()?)));
        }
        if self.at_word("DATA") || self.at_word("INDEX") {
            if !self.is_word(self.peek2().0, "DIRECTORY") {
                return Ok(None);
            }
            let data = self.eat_word("DATA");
            if !data {
                self.bump();
            }
            self.bump();
            self.opt_eq();
            let path = self.string_utf8()?;
            return Ok(Some(if data { TableOption::DataDirectory(path) } else { TableOption::IndexDirectory(path) }));
        }
        if self.eat_words("START TRANSACTION") {
            return Ok(Some(TableOption::StartTransaction));
        }
        if self.at_kw(Kw::UNION) {
            self.bump();
            self.opt_eq();
            self.expect(Tok::LParen)?;
            let mut tables = Vec::new();
            if !self.at(Tok::RParen) {
                tables = self.comma_list(Self::object_name)?;
            }
            self.expect(Tok::RParen)?;
            return Ok(Some(TableOption::Union(tables)));
        }
        if self.kind() != Tok::Ident {
            return Ok(None);
        }
        let word = String::from_utf8_lossy(self.text_of(self.tok)).to_ascii_uppercase();
        let take = |p: &mut Self| {
            p.bump();
            p.opt_eq();
        };
        Ok(Some(match word.as_str() {
            "ENGINE" => {
                take(self);
                TableOption::Engine(self.ident_or_string()?)
            }
            "SECONDARY_ENGINE" => {
                take(self);
                let none = self.eat_kw(Kw::NULL);
                TableOption::SecondaryEngine(if none { None } else { Some(self.ident_or_string()?) })
            }
            "AUTO_INCREMENT" => {
                take(self);
                TableOption::AutoIncrement(self.number()?)
            }
            "AVG_ROW_LENGTH" => {
                take(self);
                TableOption::AvgRowLength(self.number()?)
            }
            "CHECKSUM" | "TABLE_CHECKSUM" => {
                take(self);
                TableOption::Checksum(self.number()?)
            }
            "COMMENT" => {
                take(self);
                TableOption::Comment(self.string_utf8()?)
            }
            "COMPRESSION" => {
                take(self);
                TableOption::Compression(self.string_utf8()?)
            }
            "CONNECTION" => {
                take(self);
                TableOption::Connection(self.string_utf8()?)
            }
            "DELAY_KEY_WRITE" => {
                take(self);
                TableOption::DelayKeyWrite(self.number()?)
            }
            "ENCRYPTION" => {
                take(self);
                TableOption::Encryption(self.string_utf8()?)
            }
            "INSERT_METHOD" => {
                take(self);
                TableOption::InsertMethod(self.any_word()?)
            }
            "KEY_BLOCK_SIZE" => {
                take(self);
                TableOption::KeyBlockSize(self.number()?)
            }
            "MAX_ROWS" => {
                take(self);
                TableOption::MaxRows(self.number()?)
            }
            "MIN_ROWS" => {
                take(self);
                TableOption::MinRows(self.number()?)
            }
            "PACK_KEYS" => {
                take(self);
                TableOption::PackKeys(self.option_value()?)
            }
            "PASSWORD" => {
                take(self);
                TableOption::Password(self.string_utf8()?)
            }
            "ROW_FORMAT" => {
                take(self);
                let formats = ["DEFAULT", "DYNAMIC", "FIXED", "COMPRESSED", "REDUNDANT", "COMPACT"];
                TableOption::RowFormat(self.format_word(&formats)?)
            }
            "STATS_AUTO_RECALC" => {
                take(self);
                TableOption::StatsAutoRecalc(self.option_value()?)
            }
            "STATS_PERSISTENT" => {
                take(self);
                TableOption::StatsPersistent(self.option_value()?)
            }
            "STATS_SAMPLE_PAGES" => {
                take(self);
                TableOption::StatsSamplePages(self.option_value()?)
            }
            "TABLESPACE" => {
                take(self);
                TableOption::Tablespace(self.ident_or_string()?)
            }
            "STORAGE" => {
                self.bump();
                TableOption::Storage(self.format_word(&["DISK", "MEMORY"])?)
            }
            "AUTOEXTEND_SIZE" => {
                take(self);
                TableOption::AutoextendSize(self.size_number()?)
            }
            "ENGINE_ATTRIBUTE" => {
                take(self);
                TableOption::EngineAttribute(self.string_utf8()?)
            }
            "SECONDARY_ENGINE_ATTRIBUTE" => {
                take(self);
                TableOption::SecondaryEngineAttribute(self.string_utf8()?)
            }
            _ => return Ok(None),
        }))
    }

    fn option_value(&mut self) -> Result<OptionValue> {
        if self.eat_kw(Kw::DEFAULT) { Ok(OptionValue::Default) } else { self.number().map(OptionValue::Number) }
    }
}
