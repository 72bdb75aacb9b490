//! CREATE, ALTER, DROP, RENAME and TRUNCATE of everything but accounts.

use super::Parser;
use crate::ast::*;
use crate::keywords::Kw;
use crate::lexer::Tok;
use types::Result;

/// Words between CREATE or ALTER and VIEW.
#[derive(Default)]
struct ViewWords {
    algorithm: ViewAlgorithm,
    definer: Option<Account>,
    invoker: bool,
}

impl<'a> Parser<'a> {
    pub(super) fn create(&mut self) -> Result<Statement> {
        let start = self.start();
        self.bump();
        let or_replace = self.eat_words("OR REPLACE");
        let mut words = ViewWords::default();
        self.view_words(&mut words)?;
        if self.at_word("VIEW") {
            return self.view(words, or_replace, false);
        }
        if self.at_kw(Kw::SPATIAL) && self.is_word(self.peek2().0, "REFERENCE") {
            return Ok(self.raw("CREATE SPATIAL REFERENCE SYSTEM", start));
        }
        let routines = [
            ("PROCEDURE", "CREATE PROCEDURE"),
            ("FUNCTION", "CREATE FUNCTION"),
            ("AGGREGATE", "CREATE FUNCTION"),
            ("TRIGGER", "CREATE TRIGGER"),
            ("EVENT", "CREATE EVENT"),
        ];
        if let Some((_, what)) = routines.iter().find(|(word, _)| self.at_word(word)) {
            return Ok(self.raw(what, start));
        }
        if or_replace || words.definer.is_some() {
            return Err(self.error());
        }
        let raws = [
            ("TABLESPACE", "CREATE TABLESPACE"),
            ("UNDO", "CREATE UNDO TABLESPACE"),
            ("LOGFILE", "CREATE LOGFILE GROUP"),
            ("SERVER", "CREATE SERVER"),
            ("RESOURCE", "CREATE RESOURCE GROUP"),
        ];
        if let Some((_, what)) = raws.iter().find(|(word, _)| self.at_word(word)) {
            return Ok(self.raw(what, start));
        }
        match self.kind() {
            Tok::Kw(Kw::TABLE) => {
                self.bump();
                self.create_table(false, start)
            }
            Tok::Kw(Kw::DATABASE | Kw::SCHEMA) => {
                self.bump();
                let if_not_exists = self.eat_if("NOT EXISTS")?;
                let name = self.ident()?;
                let options = self.database_options()?;
                Ok(Statement::CreateDatabase(Box::new(CreateDatabase { if_not_exists, name, options })))
            }
            Tok::Kw(Kw::INDEX) => self.create_index(IndexKind::Plain),
            Tok::Kw(kind @ (Kw::UNIQUE | Kw::FULLTEXT | Kw::SPATIAL)) => {
                self.bump();
                self.create_index(match kind {
                    Kw::UNIQUE => IndexKind::Unique,
                    Kw::FULLTEXT => IndexKind::FullText,
                    _ => IndexKind::Spatial,
                })
            }
            Tok::Ident if self.eat_word("TEMPORARY") => {
                self.expect_kw(Kw::TABLE)?;
                self.create_table(true, start)
            }
            Tok::Ident if self.eat_word("USER") => self.create_user(),
            Tok::Ident if self.eat_word("ROLE") => {
                let if_not_exists = self.eat_if("NOT EXISTS")?;
                Ok(Statement::CreateRole { if_not_exists, roles: self.comma_list(Self::account)? })
            }
            _ => Err(self.error()),
        }
    }

    pub(super) fn alter(&mut self) -> Result<Statement> {
        let start = self.start();
        self.bump();
        let mut words = ViewWords::default();
        self.view_words(&mut words)?;
        if self.at_word("VIEW") {
            return self.view(words, false, true);
        }
        let raws = [
            ("EVENT", "ALTER EVENT"),
            ("PROCEDURE", "ALTER PROCEDURE"),
            ("FUNCTION", "ALTER FUNCTION"),
            ("TABLESPACE", "ALTER TABLESPACE"),
            ("UNDO", "ALTER UNDO TABLESPACE"),
            ("LOGFILE", "ALTER LOGFILE GROUP"),
            ("SERVER", "ALTER SERVER"),
            ("RESOURCE", "ALTER RESOURCE GROUP"),
            ("INSTANCE", "ALTER INSTANCE"),
            ("ONLINE", "ALTER ONLINE TABLE"),
            ("OFFLINE", "ALTER OFFLINE TABLE"),
        ];
        if let Some((_, what)) = raws.iter().find(|(word, _)| self.at_word(word)) {
            return Ok(self.raw(what, start));
        }
        match self.kind() {
            Tok::Kw(Kw::TABLE) => {
                self.bump();
                self.alter_table(start)
            }
            Tok::Kw(Kw::DATABASE | Kw::SCHEMA) => {
                self.bump();
                let options_follow = self.at_words("CHARACTER SET")
                    || self.at_words("CHAR SET")
                    || self.at_kw(Kw::DEFAULT)
                    || self.at_kw(Kw::COLLATE)
                    || (!matches!(self.peek(), Tok::Ident | Tok::Kw(_))
                        && ["CHARSET", "ENCRYPTION"].iter().any(|w| self.at_word(w)));
                let name = if options_follow { None } else { Some(self.ident()?) };
                let options = self.database_options()?;
                if options.is_empty() {
                    return Err(self.error());
                }
                Ok(Statement::AlterDatabase(Box::new(AlterDatabase { name, options })))
            }
            Tok::Ident if self.eat_word("USER") => self.alter_user(),
            _ => Err(self.error()),
        }
    }

    pub(super) fn drop_statement(&mut self) -> Result<Statement> {
        let start = self.start();
        self.bump();
        let raws = [
            ("PROCEDURE", "DROP PROCEDURE"),
            ("FUNCTION", "DROP FUNCTION"),
            ("TRIGGER", "DROP TRIGGER"),
            ("EVENT", "DROP EVENT"),
            ("TABLESPACE", "DROP TABLESPACE"),
            ("UNDO", "DROP UNDO TABLESPACE"),
            ("LOGFILE", "DROP LOGFILE GROUP"),
            ("SERVER", "DROP SERVER"),
            ("RESOURCE", "DROP RESOURCE GROUP"),
            ("SPATIAL", "DROP SPATIAL REFERENCE SYSTEM"),
        ];
        if let Some((_, what)) = raws.iter().find(|(word, _)| self.at_word(word)) {
            return Ok(self.raw(what, start));
        }
        let temporary = self.eat_word("TEMPORARY");
        if self.eat_kw(Kw::TABLE) || self.eat_word("TABLES") {
            let if_exists = self.eat_if("EXISTS")?;
            let tables = self.comma_list(Self::object_name)?;
            self.restrict_or_cascade();
            return Ok(Statement::DropTable(Box::new(DropTable { temporary, if_exists, tables })));
        }
        if temporary {
            return Err(self.error());
        }
        match self.kind() {
            Tok::Kw(Kw::DATABASE | Kw::SCHEMA) => {
                self.bump();
                let if_exists = self.eat_if("EXISTS")?;
                Ok(Statement::DropDatabase { if_exists, name: self.ident()? })
            }
            Tok::Kw(Kw::INDEX) => {
                self.bump();
                let name = self.index_name()?;
                self.expect_kw(Kw::ON)?;
                let table = self.object_name()?;
                let (algorithm, lock) = self.algorithm_and_lock()?;
                Ok(Statement::DropIndex(Box::new(DropIndex { name, table, algorithm, lock })))
            }
            Tok::Ident if self.eat_word("VIEW") => {
                let if_exists = self.eat_if("EXISTS")?;
                let views = self.comma_list(Self::object_name)?;
                self.restrict_or_cascade();
                Ok(Statement::DropView(Box::new(DropView { if_exists, views })))
            }
            Tok::Ident if self.eat_word("USER") => {
                let if_exists = self.eat_if("EXISTS")?;
                Ok(Statement::DropUser { if_exists, users: self.comma_list(Self::account)? })
            }
            Tok::Ident if self.eat_word("ROLE") => {
                let if_exists = self.eat_if("EXISTS")?;
                Ok(Statement::DropRole { if_exists, roles: self.comma_list(Self::account)? })
            }
            Tok::Ident if self.eat_word("PREPARE") => Ok(Statement::Deallocate(self.ident()?)),
            _ => Err(self.error()),
        }
    }

    fn restrict_or_cascade(&mut self) {
        if !self.eat_kw(Kw::RESTRICT) {
            self.eat_kw(Kw::CASCADE);
        }
    }

    pub(super) fn rename(&mut self) -> Result<Statement> {
        self.bump();
        if self.eat_word("USER") {
            return Ok(Statement::RenameUser(self.comma_list(|p| {
                let old = p.account()?;
                p.expect_kw(Kw::TO)?;
                Ok((old, p.account()?))
            })?));
        }
        if !self.eat_word("TABLES") {
            self.expect_kw(Kw::TABLE)?;
        }
        Ok(Statement::RenameTable(self.comma_list(|p| {
            let old = p.object_name()?;
            p.expect_kw(Kw::TO)?;
            Ok((old, p.object_name()?))
        })?))
    }

    pub(super) fn truncate(&mut self) -> Result<Statement> {
        self.bump();
        self.eat_kw(Kw::TABLE);
        Ok(Statement::Truncate(self.object_name()?))
    }

    /// ALGORITHM, DEFINER and SQL SECURITY, in MySQL's order.
    fn view_words(&mut self, words: &mut ViewWords) -> Result<()> {
        if self.eat_word("ALGORITHM") {
            self.opt_eq();
            words.algorithm = if self.eat_word("UNDEFINED") {
                ViewAlgorithm::Undefined
            } else if self.eat_word("MERGE") {
                ViewAlgorithm::Merge
            } else {
                self.expect_word("TEMPTABLE")?;
                ViewAlgorithm::Temptable
            };
        }
        if self.eat_word("DEFINER") {
            self.expect(Tok::Eq)?;
            words.definer = Some(self.account()?);
        }
        if self.at_kw(Kw::SQL) {
            self.bump();
            self.expect_word("SECURITY")?;
            words.invoker = self.eat_word("INVOKER");
            if !words.invoker {
                self.expect_word("DEFINER")?;
            }
        }
        Ok(())
    }

    /// At VIEW.
    fn view(&mut self, words: ViewWords, or_replace: bool, alter: bool) -> Result<Statement> {
        self.bump();
        let if_not_exists = !alter && self.eat_if("NOT EXISTS")?;
        let name = self.object_name()?;
        let columns = self.opt_paren_idents()?;
        self.expect_kw(Kw::AS)?;
        let start = self.start();
        let query = Box::new(self.query()?);
        let text = self.source_text(self.span_from(start));
        let check_option = if self.eat_words("WITH CHECK OPTION") || self.eat_words("WITH CASCADED CHECK OPTION") {
            Some(ViewCheck::Cascaded)
        } else if self.eat_words("WITH LOCAL CHECK OPTION") {
            Some(ViewCheck::Local)
        } else {
            None
        };
        let ViewWords { algorithm, definer, invoker } = words;
        Ok(Statement::CreateView(Box::new(CreateView {
            or_replace,
            alter,
            if_not_exists,
            algorithm,
            definer,
            invoker,
            name,
            columns,
            query,
            text,
            check_option,
        })))
    }

    /// At INDEX.
    fn create_index(&mut self, kind: IndexKind) -> Result<Statement> {
        self.expect_kw(Kw::INDEX)?;
        let name = Some(self.ident()?);
        let mut options = IndexOptions::default();
        self.opt_index_type(&mut options)?;
        self.expect_kw(Kw::ON)?;
        let table = self.object_name()?;
        let parts = self.key_parts()?;
        self.index_options(&mut options)?;
        let (algorithm, lock) = self.algorithm_and_lock()?;
        let index = IndexDef { kind, constraint: None, name, parts, options };
        Ok(Statement::CreateIndex(Box::new(CreateIndex { index, table, algorithm, lock })))
    }

    fn algorithm_and_lock(&mut self) -> Result<(Option<AlterAlgorithm>, Option<AlterLock>)> {
        let (mut algorithm, mut lock) = (None, None);
        loop {
            if self.at_word("ALGORITHM") {
                algorithm = Some(self.alter_algorithm()?);
            } else if self.at_kw(Kw::LOCK) {
                lock = Some(self.alter_lock()?);
            } else {
                return Ok((algorithm, lock));
            }
        }
    }

    fn database_options(&mut self) -> Result<Vec<DatabaseOption>> {
        let mut options = Vec::new();
        loop {
            let default = self.eat_kw(Kw::DEFAULT);
            let option = if self.eat_charset_words() {
                self.opt_eq();
                DatabaseOption::Charset(self.charset_name()?)
            } else if self.eat_kw(Kw::COLLATE) {
                self.opt_eq();
                DatabaseOption::Collate(self.collation_name()?)
            } else if self.eat_word("ENCRYPTION") {
                self.opt_eq();
                DatabaseOption::Encryption(self.string_utf8()?.eq_ignore_ascii_case("Y"))
            } else if !default && self.eat_words("READ ONLY") {
                self.opt_eq();
                DatabaseOption::ReadOnly(!self.eat_kw(Kw::DEFAULT) && self.number()? == 1)
            } else if default {
                return Err(self.error());
            } else {
                return Ok(options);
            };
            options.push(option);
        }
    }
}
