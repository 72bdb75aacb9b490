//! ALTER TABLE.

use super::Parser;
use crate::ast::*;
use crate::keywords::Kw;
use crate::lexer::Tok;
use types::{Error, Result};

impl<'a> Parser<'a> {
    /// After ALTER TABLE.
    pub(super) fn alter_table(&mut self, start: u32) -> Result<Statement> {
        let name = self.object_name()?;
        let mut alter = AlterTable { name, specs: Vec::new(), partitioning: None, span: Span::default() };
        loop {
            if self.opt_partitioning(&mut alter)? {
                break;
            }
            let Some(spec) = self.opt_alter_spec()? else {
                if alter.specs.is_empty() {
                    break;
                }
                return Err(self.error());
            };
            // Options need no comma between them.
            let is_option = matches!(spec, AlterSpec::Option(_));
            alter.specs.push(spec);
            if self.eat(Tok::Comma) {
                continue;
            }
            let option_follows = is_option && !matches!(self.kind(), Tok::Eof | Tok::Semicolon);
            if option_follows && self.opt_partitioning(&mut alter)? {
                break;
            }
            if option_follows {
                match self.opt_table_option()? {
                    Some(option) => {
                        alter.specs.push(AlterSpec::Option(option));
                        while let Some(option) = self.opt_table_option()? {
                            alter.specs.push(AlterSpec::Option(option));
                        }
                        if self.eat(Tok::Comma) {
                            continue;
                        }
                    }
                    None => return Err(self.error()),
                }
            }
            self.opt_partitioning(&mut alter)?;
            break;
        }
        alter.span = self.span_from(start);
        Ok(Statement::AlterTable(Box::new(alter)))
    }

    /// PARTITION BY or REMOVE PARTITIONING, which come last.
    fn opt_partitioning(&mut self, alter: &mut AlterTable) -> Result<bool> {
        if self.at_kw(Kw::PARTITION) && self.peek() == Tok::Kw(Kw::BY) {
            alter.partitioning = Some(AlterPartitioning::By(Box::new(self.partition_by()?)));
            return Ok(true);
        }
        if self.eat_words("REMOVE PARTITIONING") {
            alter.partitioning = Some(AlterPartitioning::Remove);
            return Ok(true);
        }
        Ok(false)
    }

    fn opt_alter_spec(&mut self) -> Result<Option<AlterSpec>> {
        let spec = match self.kind() {
            Tok::Kw(Kw::ADD) => self.alter_add()?,
            Tok::Kw(Kw::DROP) => self.alter_drop()?,
            Tok::Kw(Kw::CHANGE) => {
                self.bump();
                self.eat_kw(Kw::COLUMN);
                let old = self.ident()?;
                let column = self.column_def()?;
                AlterSpec::ChangeColumn { old, column, position: self.opt_position()? }
            }
            Tok::Kw(Kw::ALTER) => self.alter_alter()?,
            Tok::Kw(Kw::RENAME) => {
                self.bump();
                if self.eat_kw(Kw::COLUMN) {
                    let (old, new) = self.rename_pair()?;
                    AlterSpec::RenameColumn { old, new }
                } else if self.eat_kw(Kw::INDEX) || self.eat_kw(Kw::KEY) {
                    let (old, new) = self.rename_pair()?;
                    AlterSpec::RenameIndex { old, new }
                } else {
                    if !self.eat_kw(Kw::TO) && !self.eat_kw(Kw::AS) {
                        self.eat(Tok::Eq);
                    }
                    AlterSpec::RenameTo(self.object_name()?)
                }
            }
            Tok::Kw(Kw::CONVERT) => {
                self.bump();
                self.expect_kw(Kw::TO)?;
                if !self.eat_charset_words() {
                    return Err(self.error());
                }
                let default = self.eat_kw(Kw::DEFAULT);
                let charset = if default { None } else { Some(self.charset_name()?) };
                let collation = if self.eat_kw(Kw::COLLATE) { Some(self.collation_name()?) } else { None };
                AlterSpec::ConvertCharset { charset, collation }
            }
            Tok::Kw(Kw::ORDER) => {
                self.bump();
                self.expect_kw(Kw::BY)?;
                // A comma may also start the next change; a key part is a column name.
                let mut parts = vec![self.key_part()?];
                while self.at(Tok::Comma) && super::is_ident(self.peek()) && !self.starts_alter_word() {
                    self.bump();
                    parts.push(self.key_part()?);
                }
                AlterSpec::OrderBy(parts)
            }
            Tok::Kw(Kw::FORCE) => {
                self.bump();
                AlterSpec::Force
            }
            Tok::Kw(Kw::LOCK) => AlterSpec::Lock(self.alter_lock()?),
            Tok::Kw(Kw::ANALYZE) => {
                self.bump();
                AlterSpec::AnalyzePartition(self.of_partitions()?)
            }
            Tok::Kw(Kw::CHECK) => {
                self.bump();
                AlterSpec::CheckPartition(self.of_partitions()?)
            }
            Tok::Kw(Kw::OPTIMIZE) => {
                self.bump();
                AlterSpec::OptimizePartition(self.of_partitions()?)
            }
            Tok::Kw(Kw::WITH) => {
                self.bump();
                self.expect_word("VALIDATION")?;
                AlterSpec::WithValidation(true)
            }
            Tok::Ident => return self.alter_word(),
            _ => return Ok(self.opt_table_option()?.map(AlterSpec::Option)),
        };
        Ok(Some(spec))
    }

    /// The word behind the comma begins a change of its own rather than naming a column.
    fn starts_alter_word(&self) -> bool {
        let (word, after) = self.peek2();
        let words =
            ["ENGINE", "AUTO_INCREMENT", "COMMENT", "ROW_FORMAT", "ALGORITHM", "KEY_BLOCK_SIZE", "MODIFY", "DISABLE"];
        words.iter().any(|w| self.is_word(word, w)) && !matches!(after.tok, Tok::Comma | Tok::Eof | Tok::Semicolon)
    }

    /// Changes that begin with a word that is not reserved.
    fn alter_word(&mut self) -> Result<Option<AlterSpec>> {
        let spec = if self.eat_word("MODIFY") {
            self.eat_kw(Kw::COLUMN);
            let column = self.column_def()?;
            AlterSpec::ModifyColumn { column, position: self.opt_position()? }
        } else if self.eat_words("DISABLE KEYS") {
            AlterSpec::DisableKeys
        } else if self.eat_words("ENABLE KEYS") {
            AlterSpec::EnableKeys
        } else if self.at_word("ALGORITHM") {
            AlterSpec::Algorithm(self.alter_algorithm()?)
        } else if self.eat_words("WITHOUT VALIDATION") {
            AlterSpec::WithValidation(false)
        } else if self.eat_word("SECONDARY_LOAD") {
            AlterSpec::SecondaryLoad
        } else if self.eat_word("SECONDARY_UNLOAD") {
            AlterSpec::SecondaryUnload
        } else if self.eat_words("DISCARD TABLESPACE") {
            AlterSpec::DiscardTablespace
        } else if self.eat_words("IMPORT TABLESPACE") {
            AlterSpec::ImportTablespace
        } else if self.eat_word("DISCARD") {
            let names = self.of_partitions()?;
            self.expect_word("TABLESPACE")?;
            AlterSpec::DiscardPartitionTablespace(names)
        } else if self.eat_word("IMPORT") {
            let names = self.of_partitions()?;
            self.expect_word("TABLESPACE")?;
            AlterSpec::ImportPartitionTablespace(names)
        } else if self.eat_word("REORGANIZE") {
            self.expect_kw(Kw::PARTITION)?;
            let no_write_to_binlog = self.no_write_to_binlog();
            let mut names = Vec::new();
            let mut into = Vec::new();
            if self.at_ident() {
                names = self.ident_list()?;
                self.expect_kw(Kw::INTO)?;
                into = self.partition_defs()?;
            }
            AlterSpec::ReorganizePartition { names, into, no_write_to_binlog }
        } else if self.eat_word("COALESCE") {
            self.expect_kw(Kw::PARTITION)?;
            let no_write_to_binlog = self.no_write_to_binlog();
            AlterSpec::CoalescePartition { count: self.number()?, no_write_to_binlog }
        } else if self.eat_word("TRUNCATE") {
            AlterSpec::TruncatePartition(self.of_partitions()?)
        } else if self.eat_word("REPAIR") {
            AlterSpec::RepairPartition(self.of_partitions()?)
        } else if self.eat_word("REBUILD") {
            AlterSpec::RebuildPartition(self.of_partitions()?)
        } else if self.eat_word("EXCHANGE") {
            self.expect_kw(Kw::PARTITION)?;
            let name = self.ident()?;
            self.expect_kw(Kw::WITH)?;
            self.expect_kw(Kw::TABLE)?;
            let table = self.object_name()?;
            let validation = !self.eat_words("WITHOUT VALIDATION");
            if validation {
                self.eat_words("WITH VALIDATION");
            }
            AlterSpec::ExchangePartition { name, table, validation }
        } else {
            return Ok(self.opt_table_option()?.map(AlterSpec::Option));
        };
        Ok(Some(spec))
    }

    fn of_partitions(&mut self) -> Result<PartitionNames> {
        self.expect_kw(Kw::PARTITION)?;
        self.no_write_to_binlog();
        self.partition_names()
    }

    pub(super) fn no_write_to_binlog(&mut self) -> bool {
        self.eat_kw(Kw::NO_WRITE_TO_BINLOG) || self.eat_word("LOCAL")
    }

    fn rename_pair(&mut self) -> Result<(Ident, Ident)> {
        let old = self.ident()?;
        self.expect_kw(Kw::TO)?;
        Ok((old, self.ident()?))
    }

    fn opt_position(&mut self) -> Result<Option<ColumnPosition>> {
        if self.eat_word("FIRST") {
            return Ok(Some(ColumnPosition::First));
        }
        if self.eat_word("AFTER") {
            return Ok(Some(ColumnPosition::After(self.ident()?)));
        }
        Ok(None)
    }

    fn alter_add(&mut self) -> Result<AlterSpec> {
        self.bump();
        if self.at_kw(Kw::PARTITION) {
            self.bump();
            let no_write_to_binlog = self.no_write_to_binlog();
            if self.eat_word("PARTITIONS") {
                let count = Some(self.number()?);
                return Ok(AlterSpec::AddPartition { definitions: Vec::new(), count, no_write_to_binlog });
            }
            let definitions = self.partition_defs()?;
            return Ok(AlterSpec::AddPartition { definitions, count: None, no_write_to_binlog });
        }
        let column_word = self.eat_kw(Kw::COLUMN);
        if !column_word && let Some(constraint) = self.opt_table_constraint()? {
            return Ok(AlterSpec::AddConstraint(constraint));
        }
        if self.eat(Tok::LParen) {
            let (mut columns, mut constraints) = (Vec::new(), Vec::new());
            self.table_elements(&mut columns, &mut constraints)?;
            self.expect(Tok::RParen)?;
            return Ok(AlterSpec::AddColumns { columns, constraints });
        }
        let column = self.column_def()?;
        Ok(AlterSpec::AddColumn { column, position: self.opt_position()? })
    }

    fn alter_drop(&mut self) -> Result<AlterSpec> {
        self.bump();
        Ok(match self.kind() {
            Tok::Kw(Kw::PARTITION) => {
                self.bump();
                AlterSpec::DropPartition(self.ident_list()?)
            }
            Tok::Kw(Kw::PRIMARY) => {
                self.bump();
                self.expect_kw(Kw::KEY)?;
                AlterSpec::DropPrimaryKey
            }
            Tok::Kw(Kw::INDEX | Kw::KEY) => {
                self.bump();
                AlterSpec::DropIndex(self.index_name()?)
            }
            Tok::Kw(Kw::FOREIGN) => {
                self.bump();
                self.expect_kw(Kw::KEY)?;
                AlterSpec::DropForeignKey(self.ident()?)
            }
            Tok::Kw(Kw::CHECK) => {
                self.bump();
                AlterSpec::DropCheck(self.ident()?)
            }
            Tok::Kw(Kw::CONSTRAINT) => {
                self.bump();
                AlterSpec::DropConstraint(self.ident()?)
            }
            _ => {
                self.eat_kw(Kw::COLUMN);
                let column = self.ident()?;
                if !self.eat_kw(Kw::RESTRICT) {
                    self.eat_kw(Kw::CASCADE);
                }
                AlterSpec::DropColumn(column)
            }
        })
    }

    /// The name of an index; PRIMARY needs no quotes.
    pub(super) fn index_name(&mut self) -> Result<Ident> {
        if self.at_kw(Kw::PRIMARY) { self.any_word() } else { self.ident() }
    }

    fn alter_alter(&mut self) -> Result<AlterSpec> {
        self.bump();
        if self.eat_kw(Kw::INDEX) {
            let index = self.ident()?;
            return Ok(AlterSpec::SetIndexVisible { index, visible: self.visible()? });
        }
        if self.eat_kw(Kw::CHECK) || self.eat_kw(Kw::CONSTRAINT) {
            let constraint = self.ident()?;
            let enforced = !self.eat_kw(Kw::NOT);
            self.expect_word("ENFORCED")?;
            return Ok(AlterSpec::SetEnforced { constraint, enforced });
        }
        self.eat_kw(Kw::COLUMN);
        let column = self.ident()?;
        if self.eat_kw(Kw::DROP) {
            self.expect_kw(Kw::DEFAULT)?;
            return Ok(AlterSpec::DropDefault(column));
        }
        self.expect_kw(Kw::SET)?;
        if self.eat_kw(Kw::DEFAULT) {
            let (value, parens) = self.default_value()?;
            return Ok(AlterSpec::SetDefault { column, value, parens });
        }
        Ok(AlterSpec::SetColumnVisible { column, visible: self.visible()? })
    }

    fn visible(&mut self) -> Result<bool> {
        if self.eat_word("VISIBLE") {
            return Ok(true);
        }
        self.expect_word("INVISIBLE")?;
        Ok(false)
    }

    /// `ALGORITHM [=] word`
    pub(super) fn alter_algorithm(&mut self) -> Result<AlterAlgorithm> {
        self.bump();
        self.opt_eq();
        let word = self.any_word()?;
        Ok(match word.to_ascii_uppercase().as_str() {
            "DEFAULT" => AlterAlgorithm::Default,
            "INSTANT" => AlterAlgorithm::Instant,
            "INPLACE" => AlterAlgorithm::Inplace,
            "COPY" => AlterAlgorithm::Copy,
            _ => {
                let message = format!("Unknown ALGORITHM type: '{}'", word.as_str());
                return Err(Error::new(types::ErrorCode::UNKNOWN_ALTER_ALGORITHM, message));
            }
        })
    }

    /// `LOCK [=] word`
    pub(super) fn alter_lock(&mut self) -> Result<AlterLock> {
        self.bump();
        self.opt_eq();
        let word = self.any_word()?;
        Ok(match word.to_ascii_uppercase().as_str() {
            "DEFAULT" => AlterLock::Default,
            "NONE" => AlterLock::None,
            "SHARED" => AlterLock::Shared,
            "EXCLUSIVE" => AlterLock::Exclusive,
            _ => {
                let message = format!("Unknown LOCK type: '{}'", word.as_str());
                return Err(Error::new(types::ErrorCode::UNKNOWN_ALTER_LOCK, message));
            }
        })
    }
}
