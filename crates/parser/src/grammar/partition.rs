//! PARTITION BY and partition definitions.

use super::Parser;
use super::operand::Paren;
use crate::ast::*;
use crate::keywords::Kw;
use crate::lexer::Tok;
use types::Result;

impl<'a> Parser<'a> {
    /// `PARTITION BY method [PARTITIONS n] [SUBPARTITION BY ..] [(definitions)]`, at PARTITION.
    pub(super) fn partition_by(&mut self) -> Result<PartitionBy> {
        self.expect_kw(Kw::PARTITION)?;
        self.expect_kw(Kw::BY)?;
        let method = match self.kind() {
            Tok::Kw(Kw::RANGE) => {
                self.bump();
                if self.eat_word("COLUMNS") {
                    PartitionMethod::RangeColumns(self.paren_list(Self::ident)?)
                } else {
                    PartitionMethod::Range(self.paren_expr_text()?.0)
                }
            }
            Tok::Ident if self.at_word("LIST") => {
                self.bump();
                if self.eat_word("COLUMNS") {
                    PartitionMethod::ListColumns(self.paren_list(Self::ident)?)
                } else {
                    PartitionMethod::List(self.paren_expr_text()?.0)
                }
            }
            _ => self.hash_or_key()?,
        };
        let count = if self.eat_word("PARTITIONS") { Some(self.number()?) } else { None };
        let subpartition = if self.eat_word("SUBPARTITION") {
            self.expect_kw(Kw::BY)?;
            let method = self.hash_or_key()?;
            let count = if self.eat_word("SUBPARTITIONS") { Some(self.number()?) } else { None };
            Some(SubpartitionBy { method, count })
        } else {
            None
        };
        let definitions = if self.at(Tok::LParen) { self.partition_defs()? } else { Vec::new() };
        Ok(PartitionBy { method, count, subpartition, definitions })
    }

    fn hash_or_key(&mut self) -> Result<PartitionMethod> {
        let linear = self.eat_kw(Kw::LINEAR);
        if self.eat_word("HASH") {
            return Ok(PartitionMethod::Hash { linear, expr: self.paren_expr_text()?.0 });
        }
        self.expect_kw(Kw::KEY)?;
        let algorithm = if self.eat_word("ALGORITHM") {
            self.expect(Tok::Eq)?;
            Some(self.number_u32()?)
        } else {
            None
        };
        self.expect(Tok::LParen)?;
        let columns = if self.at(Tok::RParen) { Vec::new() } else { self.ident_list()? };
        self.expect(Tok::RParen)?;
        Ok(PartitionMethod::Key { linear, algorithm, columns })
    }

    /// `(PARTITION .., PARTITION ..)`
    pub(super) fn partition_defs(&mut self) -> Result<Vec<PartitionDef>> {
        self.paren_list(|p| {
            p.expect_kw(Kw::PARTITION)?;
            let name = p.ident()?;
            let values = p.partition_values()?;
            let options = p.partition_options()?;
            let subpartitions = if p.at(Tok::LParen) {
                p.paren_list(|p| {
                    p.expect_word("SUBPARTITION")?;
                    let name = p.ident_or_string()?;
                    Ok(SubpartitionDef { name, options: p.partition_options()? })
                })?
            } else {
                Vec::new()
            };
            Ok(PartitionDef { name, values, options, subpartitions })
        })
    }

    fn partition_values(&mut self) -> Result<PartitionValues> {
        if !self.eat_kw(Kw::VALUES) {
            return Ok(PartitionValues::None);
        }
        if self.eat_words("LESS THAN") {
            if self.eat_kw(Kw::MAXVALUE) {
                return Ok(PartitionValues::LessThanMax);
            }
            return Ok(PartitionValues::LessThan(self.paren_list(|p| {
                if p.eat_kw(Kw::MAXVALUE) { Ok(RangeBound::MaxValue) } else { p.bit_expr().map(RangeBound::Value) }
            })?));
        }
        self.expect_kw(Kw::IN)?;
        let rows = self.paren_list(|p| {
            if !p.at(Tok::LParen) {
                return Ok(vec![p.bit_expr()?]);
            }
            match p.paren()? {
                Paren::Many(row) => Ok(row),
                Paren::One(one) => Ok(vec![one]),
                Paren::Query(_) => Err(p.error()),
            }
        })?;
        Ok(PartitionValues::In(rows))
    }

    fn partition_options(&mut self) -> Result<Vec<PartitionOption>> {
        let mut options = Vec::new();
        loop {
            let storage = self.at_word("STORAGE") && self.is_word(self.peek2().0, "ENGINE");
            if storage {
                self.bump();
            }
            let option = if self.eat_word("ENGINE") {
                self.opt_eq();
                PartitionOption::Engine(self.ident_or_string()?)
            } else if self.eat_word("COMMENT") {
                self.opt_eq();
                PartitionOption::Comment(self.string_utf8()?)
            } else if self.eat_words("DATA DIRECTORY") {
                self.opt_eq();
                PartitionOption::DataDirectory(self.string_utf8()?)
            } else if self.eat_words("INDEX DIRECTORY") {
                self.opt_eq();
                PartitionOption::IndexDirectory(self.string_utf8()?)
            } else if self.eat_word("MAX_ROWS") {
                self.opt_eq();
                PartitionOption::MaxRows(self.number()?)
            } else if self.eat_word("MIN_ROWS") {
                self.opt_eq();
                PartitionOption::MinRows(self.number()?)
            } else if self.eat_word("TABLESPACE") {
                self.opt_eq();
                PartitionOption::Tablespace(self.ident_or_string()?)
            } else if self.eat_word("NODEGROUP") {
                self.opt_eq();
                PartitionOption::Nodegroup(self.number()?)
            } else {
                return Ok(options);
            };
            options.push(option);
        }
    }

    /// ALL, or names.
    pub(super) fn partition_names(&mut self) -> Result<PartitionNames> {
        if self.eat_kw(Kw::ALL) { Ok(PartitionNames::All) } else { Ok(PartitionNames::Names(self.ident_list()?)) }
    }
}
