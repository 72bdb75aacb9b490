//! CREATE TABLE: columns, keys, checks, table options. ALTER TABLE shares the parts.

use super::Parser;
use super::operand::Paren;
use crate::ast::*;
use crate::keywords::Kw;
use crate::lexer::Tok;
use types::{Error, ErrorCode, Result};

impl<'a> Parser<'a> {
    /// After CREATE [TEMPORARY] TABLE.
    pub(super) fn create_table(&mut self, temporary: bool, start: u32) -> Result<Statement> {
        let if_not_exists = self.eat_if("NOT EXISTS")?;
        let name = self.object_name()?;
        let body = self.create_table_body()?;
        let span = self.span_from(start);
        Ok(Statement::CreateTable(Box::new(CreateTable { temporary, if_not_exists, name, body, span })))
    }

    fn create_table_body(&mut self) -> Result<CreateTableBody> {
        if self.eat_kw(Kw::LIKE) {
            return Ok(CreateTableBody::Like(self.object_name()?));
        }
        let mut def = TableDef {
            columns: Vec::new(),
            constraints: Vec::new(),
            options: Vec::new(),
            partition_by: None,
            on_duplicate: SelectDuplicates::Error,
            query: None,
        };
        if self.at(Tok::LParen) && !matches!(self.peek(), Tok::LParen | Tok::Kw(Kw::SELECT | Kw::WITH | Kw::TABLE)) {
            self.bump();
            if self.eat_kw(Kw::LIKE) {
                let table = self.object_name()?;
                self.expect(Tok::RParen)?;
                return Ok(CreateTableBody::Like(table));
            }
            self.table_elements(&mut def.columns, &mut def.constraints)?;
            self.expect(Tok::RParen)?;
        }
        while let Some(option) = self.opt_table_option()? {
            def.options.push(option);
            self.eat(Tok::Comma);
        }
        if self.at_kw(Kw::PARTITION) {
            def.partition_by = Some(Box::new(self.partition_by()?));
        }
        if self.eat_kw(Kw::IGNORE) {
            def.on_duplicate = SelectDuplicates::Ignore;
        } else if self.eat_kw(Kw::REPLACE) {
            def.on_duplicate = SelectDuplicates::Replace;
        }
        let as_query = self.eat_kw(Kw::AS) || def.on_duplicate != SelectDuplicates::Error;
        if as_query || self.at(Tok::LParen) || self.at_query_start() {
            def.query = Some(Box::new(self.query()?));
        }
        if def.columns.is_empty() && def.query.is_none() && def.constraints.is_empty() {
            return Err(Error::new(ErrorCode::TABLE_MUST_HAVE_COLUMNS, "A table must have at least 1 column"));
        }
        Ok(CreateTableBody::Define(Box::new(def)))
    }

    /// Columns, keys and checks between the parentheses.
    pub(super) fn table_elements(
        &mut self,
        columns: &mut Vec<ColumnDef>,
        constraints: &mut Vec<TableConstraint>,
    ) -> Result<()> {
        loop {
            match self.opt_table_constraint()? {
                Some(constraint) => constraints.push(constraint),
                None => columns.push(self.column_def()?),
            }
            if !self.eat(Tok::Comma) {
                return Ok(());
            }
        }
    }

    /// A key, foreign key or check, if there is one.
    pub(super) fn opt_table_constraint(&mut self) -> Result<Option<TableConstraint>> {
        let mut constraint = None;
        let named = self.eat_kw(Kw::CONSTRAINT);
        if named && self.at_ident() {
            constraint = Some(self.ident()?);
        }
        let kind = match self.kind() {
            Tok::Kw(Kw::PRIMARY) => {
                self.bump();
                self.expect_kw(Kw::KEY)?;
                IndexKind::Primary
            }
            Tok::Kw(Kw::UNIQUE) => {
                self.bump();
                self.eat_index_word();
                IndexKind::Unique
            }
            Tok::Kw(Kw::FOREIGN) => {
                self.bump();
                self.expect_kw(Kw::KEY)?;
                let index_name = if self.at_ident() { Some(self.ident()?) } else { None };
                let columns = self.paren_list(Self::ident)?;
                let references = self.references()?;
                return Ok(Some(TableConstraint::ForeignKey(ForeignKey {
                    constraint,
                    index_name,
                    columns,
                    references,
                })));
            }
            Tok::Kw(Kw::CHECK) => return Ok(Some(TableConstraint::Check(self.check(constraint)?))),
            Tok::Kw(Kw::KEY | Kw::INDEX) if !named => {
                self.bump();
                IndexKind::Plain
            }
            Tok::Kw(Kw::FULLTEXT | Kw::SPATIAL) if !named => {
                let kind = if self.at_kw(Kw::FULLTEXT) { IndexKind::FullText } else { IndexKind::Spatial };
                self.bump();
                self.eat_index_word();
                kind
            }
            _ if named => return Err(self.error()),
            _ => return Ok(None),
        };
        Ok(Some(TableConstraint::Index(self.index_def(kind, constraint)?)))
    }

    fn eat_index_word(&mut self) {
        if !self.eat_kw(Kw::INDEX) {
            self.eat_kw(Kw::KEY);
        }
    }

    /// `[name] [USING type] (parts) [options]`
    fn index_def(&mut self, kind: IndexKind, constraint: Option<Ident>) -> Result<IndexDef> {
        let name = if self.at_ident() && !self.at_index_type() { Some(self.ident()?) } else { None };
        let mut options = IndexOptions::default();
        self.opt_index_type(&mut options)?;
        let parts = self.key_parts()?;
        self.index_options(&mut options)?;
        Ok(IndexDef { kind, constraint, name, parts, options })
    }

    pub(super) fn key_parts(&mut self) -> Result<Vec<KeyPart>> {
        self.paren_list(Self::key_part)
    }

    /// `column[(prefix)] [ASC|DESC]` or `(expr) [ASC|DESC]`
    pub(super) fn key_part(&mut self) -> Result<KeyPart> {
        let key = if self.at(Tok::LParen) {
            let (expr, text) = self.paren_expr_text()?;
            KeyPartKey::Expr { expr, text }
        } else {
            let name = self.ident()?;
            KeyPartKey::Column { name, prefix: self.opt_length()? }
        };
        Ok(KeyPart { key, desc: self.direction() })
    }

    /// `(expr)` and the text between the parentheses.
    pub(super) fn paren_expr_text(&mut self) -> Result<(Expr, SourceText)> {
        self.expect(Tok::LParen)?;
        let start = self.start();
        let expr = self.expr()?;
        let text = self.source_text(self.span_from(start));
        self.expect(Tok::RParen)?;
        Ok((expr, text))
    }

    /// `TYPE type`, where TYPE could be a name as well.
    fn at_index_type(&self) -> bool {
        let next = self.peek2().0;
        self.at_word("TYPE") && ["BTREE", "HASH", "RTREE"].iter().any(|word| self.is_word(next, word))
    }

    /// `USING type` (TYPE is the old word)
    pub(super) fn opt_index_type(&mut self, options: &mut IndexOptions) -> Result<bool> {
        if !self.at_kw(Kw::USING) && !self.at_index_type() {
            return Ok(false);
        }
        self.bump();
        options.using = Some(if self.eat_word("BTREE") {
            IndexType::BTree
        } else if self.eat_word("HASH") {
            IndexType::Hash
        } else if self.eat_word("RTREE") {
            IndexType::RTree
        } else {
            return Err(self.error());
        });
        Ok(true)
    }

    pub(super) fn index_options(&mut self, options: &mut IndexOptions) -> Result<()> {
        loop {
            if self.opt_index_type(options)? {
            } else if self.eat_word("KEY_BLOCK_SIZE") {
                self.opt_eq();
                options.key_block_size = Some(self.number()?);
            } else if self.eat_word("COMMENT") {
                options.comment = Some(self.string_utf8()?);
            } else if self.at_kw(Kw::WITH) {
                self.bump();
                self.expect_word("PARSER")?;
                options.parser = Some(self.ident()?);
            } else if self.eat_word("VISIBLE") {
                options.invisible = false;
            } else if self.eat_word("INVISIBLE") {
                options.invisible = true;
            } else if self.eat_word("ENGINE_ATTRIBUTE") {
                self.opt_eq();
                options.engine_attribute = Some(self.string_utf8()?);
            } else if self.eat_word("SECONDARY_ENGINE_ATTRIBUTE") {
                self.opt_eq();
                options.secondary_engine_attribute = Some(self.string_utf8()?);
            } else {
                return Ok(());
            }
        }
    }

    /// `CHECK (expr) [[NOT] ENFORCED]`
    fn check(&mut self, name: Option<Ident>) -> Result<CheckDef> {
        self.expect_kw(Kw::CHECK)?;
        let (expr, text) = self.paren_expr_text()?;
        let enforced = if self.eat_words("NOT ENFORCED") {
            false
        } else {
            self.eat_word("ENFORCED");
            true
        };
        Ok(CheckDef { name, expr, text, enforced })
    }

    fn references(&mut self) -> Result<References> {
        self.expect_kw(Kw::REFERENCES)?;
        let table = self.object_name()?;
        let columns = self.opt_paren_idents()?;
        let mut references = References { table, columns, match_: None, on_delete: None, on_update: None };
        if self.eat_kw(Kw::MATCH) {
            references.match_ = Some(if self.eat_word("FULL") {
                FkMatch::Full
            } else if self.eat_word("PARTIAL") {
                FkMatch::Partial
            } else {
                self.expect_word("SIMPLE")?;
                FkMatch::Simple
            });
        }
        while self.at_kw(Kw::ON) {
            self.bump();
            let slot = if self.eat_kw(Kw::DELETE) {
                &mut references.on_delete
            } else {
                self.expect_kw(Kw::UPDATE)?;
                &mut references.on_update
            };
            if slot.is_some() {
                return Err(self.error());
            }
            *slot = Some(if self.eat_kw(Kw::RESTRICT) {
                FkAction::Restrict
            } else if self.eat_kw(Kw::CASCADE) {
                FkAction::Cascade
            } else if self.eat_words("SET NULL") {
                FkAction::SetNull
            } else if self.eat_words("SET DEFAULT") {
                FkAction::SetDefault
            } else if self.eat_words("NO ACTION") {
                FkAction::NoAction
            } else {
                return Err(self.error());
            });
        }
        Ok(references)
    }

    /// `name type attributes`
    pub(super) fn column_def(&mut self) -> Result<ColumnDef> {
        let start = self.start();
        let name = self.ident()?;
        let ty = self.data_type()?;
        let mut attrs = Vec::new();
        while let Some(attr) = self.opt_column_attr()? {
            attrs.push(attr);
        }
        Ok(ColumnDef { name, ty, attrs, span: self.span_from(start) })
    }

    fn opt_column_attr(&mut self) -> Result<Option<ColumnAttr>> {
        let attr = match self.kind() {
            Tok::Kw(Kw::NULL) => {
                self.bump();
                ColumnAttr::Null
            }
            Tok::Kw(Kw::NOT) => {
                self.bump();
                if self.eat_kw(Kw::NULL) {
                    ColumnAttr::NotNull
                } else {
                    self.expect_word("SECONDARY")?;
                    ColumnAttr::NotSecondary
                }
            }
            Tok::Kw(Kw::DEFAULT) => {
                self.bump();
                let (value, parens) = self.default_value()?;
                ColumnAttr::Default { value, parens }
            }
            Tok::Kw(Kw::ON) => {
                self.bump();
                self.expect_kw(Kw::UPDATE)?;
                let at = self.start();
                let now = self.default_value()?.0;
                match now.kind {
                    ExprKind::Function(f) if f.name.is("now") => ColumnAttr::OnUpdateNow { fsp: literal_fsp(&f.args) },
                    _ => return Err(self.error_at(at)),
                }
            }
            Tok::Kw(Kw::PRIMARY) => {
                self.bump();
                self.expect_kw(Kw::KEY)?;
                ColumnAttr::PrimaryKey
            }
            Tok::Kw(Kw::KEY) => {
                self.bump();
                ColumnAttr::PrimaryKey
            }
            Tok::Kw(Kw::UNIQUE) => {
                self.bump();
                self.eat_kw(Kw::KEY);
                ColumnAttr::Unique
            }
            Tok::Kw(Kw::COLLATE) => {
                self.bump();
                ColumnAttr::Collate(self.collation_name()?)
            }
            Tok::Kw(Kw::GENERATED | Kw::AS) => {
                if self.eat_kw(Kw::GENERATED) {
                    self.expect_word("ALWAYS")?;
                }
                self.expect_kw(Kw::AS)?;
                let (expr, text) = self.paren_expr_text()?;
                let stored = self.eat_kw(Kw::STORED) || self.eat_word("PERSISTENT");
                if !stored {
                    self.eat_kw(Kw::VIRTUAL);
                }
                ColumnAttr::Generated { expr, text, stored }
            }
            Tok::Kw(Kw::CHECK) => ColumnAttr::Check(self.check(None)?),
            Tok::Kw(Kw::CONSTRAINT) => {
                self.bump();
                let name = if self.at_ident() { Some(self.ident()?) } else { None };
                ColumnAttr::Check(self.check(name)?)
            }
            Tok::Kw(Kw::REFERENCES) => ColumnAttr::References(self.references()?),
            Tok::Ident => return self.opt_column_word_attr(),
            _ => return Ok(None),
        };
        Ok(Some(attr))
    }

    fn opt_column_word_attr(&mut self) -> Result<Option<ColumnAttr>> {
        Ok(Some(if self.eat_word("AUTO_INCREMENT") {
            ColumnAttr::AutoIncrement
        } else if self.eat_word("COMMENT") {
            ColumnAttr::Comment(self.string_utf8()?)
        } else if self.eat_word("COLUMN_FORMAT") {
            ColumnAttr::ColumnFormat(self.format_word(&["FIXED", "DYNAMIC", "DEFAULT"])?)
        } else if self.eat_word("STORAGE") {
            ColumnAttr::Storage(self.format_word(&["DISK", "MEMORY", "DEFAULT"])?)
        } else if self.eat_word("VISIBLE") {
            ColumnAttr::Visible
        } else if self.eat_word("INVISIBLE") {
            ColumnAttr::Invisible
        } else if self.eat_word("SRID") {
            ColumnAttr::Srid(self.number_u32()?)
        } else if self.eat_words("SERIAL DEFAULT VALUE") {
            ColumnAttr::SerialDefaultValue
        } else if self.eat_word("ENGINE_ATTRIBUTE") {
            self.opt_eq();
            ColumnAttr::EngineAttribute(self.string_utf8()?)
        } else if self.eat_word("SECONDARY_ENGINE_ATTRIBUTE") {
            self.opt_eq();
            ColumnAttr::SecondaryEngineAttribute(self.string_utf8()?)
        } else {
            return Ok(None);
        }))
    }

    /// One of `words`, in upper case.
    pub(super) fn format_word(&mut self, words: &[&str]) -> Result<Ident> {
        match words.iter().find(|word| self.at_word(word)) {
            Some(word) => {
                self.bump();
                Ok((*word).into())
            }
            None => Err(self.error()),
        }
    }

    /// After DEFAULT: a literal, a signed number, the current time, or an expression in parentheses (then true).
    pub(super) fn default_value(&mut self) -> Result<(Expr, bool)> {
        let start = self.start();
        if self.at(Tok::LParen) {
            let kind = match self.paren()? {
                Paren::One(one) => one.kind,
                Paren::Query(query) => ExprKind::Subquery(query),
                Paren::Many(_) => return Err(self.error_at(start)),
            };
            return Ok((Expr::new(kind, self.span_from(start)), true));
        }
        let value = self.bare_operand()?;
        let good = match &value.kind {
            ExprKind::Literal(_) => true,
            ExprKind::Unary(UnaryOp::Neg | UnaryOp::Plus, e) => e.as_literal().is_some(),
            ExprKind::Function(f) => f.name.is("now"),
            _ => false,
        };
        if good { Ok((value, false)) } else { Err(self.error_at(start)) }
    }
}

/// The precision of `now(n)`.
fn literal_fsp(args: &[Expr]) -> Option<u32> {
    match args.first()?.as_literal()? {
        Literal::Int(n) => u32::try_from(*n).ok(),
        _ => None,
    }
}
