//! SHOW in all its forms.

use super::Parser;
use crate::ast::*;
use crate::keywords::Kw;
use crate::lexer::Tok;
use types::Result;

impl<'a> Parser<'a> {
    pub(super) fn show(&mut self) -> Result<Statement> {
        let start = self.start();
        self.bump();
        let what = self.show_what(start)?;
        let filtered = matches!(
            what,
            ShowWhat::Databases
                | ShowWhat::Tables { .. }
                | ShowWhat::TableStatus { .. }
                | ShowWhat::OpenTables { .. }
                | ShowWhat::Triggers { .. }
                | ShowWhat::Events { .. }
                | ShowWhat::Columns { .. }
                | ShowWhat::Index { .. }
                | ShowWhat::Status { .. }
                | ShowWhat::Variables { .. }
                | ShowWhat::Collation
                | ShowWhat::CharacterSet
                | ShowWhat::ProcedureStatus
                | ShowWhat::FunctionStatus
        );
        let like = filtered && !matches!(what, ShowWhat::Index { .. });
        let filter = if like && self.eat_kw(Kw::LIKE) {
            Some(ShowFilter::Like(self.string()?))
        } else if filtered && self.eat_kw(Kw::WHERE) {
            Some(ShowFilter::Where(self.expr()?))
        } else {
            None
        };
        Ok(Statement::Show(Box::new(Show { what, filter })))
    }

    fn show_what(&mut self, start: u32) -> Result<ShowWhat> {
        if let Some(what) = self.show_plain()? {
            return Ok(what);
        }
        if self.eat_kw(Kw::CREATE) {
            return self.show_create();
        }
        if self.at_word("COUNT") && self.peek() == Tok::LParen {
            self.bump();
            self.bump();
            self.expect(Tok::Star)?;
            self.expect(Tok::RParen)?;
            if self.eat_word("WARNINGS") {
                return Ok(ShowWhat::CountWarnings);
            }
            self.expect_word("ERRORS")?;
            return Ok(ShowWhat::CountErrors);
        }
        if self.eat_word("WARNINGS") {
            let (offset, limit) = self.show_limit()?;
            return Ok(ShowWhat::Warnings { offset, limit });
        }
        if self.eat_word("ERRORS") {
            let (offset, limit) = self.show_limit()?;
            return Ok(ShowWhat::Errors { offset, limit });
        }
        let others = [
            "BINLOG EVENTS",
            "RELAYLOG EVENTS",
            "REPLICAS",
            "REPLICA STATUS",
            "REPLICA HOSTS",
            "SLAVE STATUS",
            "SLAVE HOSTS",
            "PARSE_TREE",
            "AUTHORS",
            "CONTRIBUTORS",
        ];
        if others.iter().any(|words| self.at_words(words)) {
            while !matches!(self.kind(), Tok::Eof | Tok::Semicolon | Tok::Bad) {
                self.bump();
            }
            return Ok(ShowWhat::Other(self.source_text(self.span_from(start)).0));
        }
        let global = self.eat_word("GLOBAL");
        if global || self.eat_word("SESSION") || self.eat_word("LOCAL") {
            if self.eat_word("STATUS") {
                return Ok(ShowWhat::Status { global });
            }
            self.expect_word("VARIABLES")?;
            return Ok(ShowWhat::Variables { global });
        }
        self.show_of_schema()
    }

    /// Those of fixed words.
    fn show_plain(&mut self) -> Result<Option<ShowWhat>> {
        let plain: [(&str, ShowWhat); 21] = [
            ("DATABASES", ShowWhat::Databases),
            ("SCHEMAS", ShowWhat::Databases),
            ("STATUS", ShowWhat::Status { global: false }),
            ("VARIABLES", ShowWhat::Variables { global: false }),
            ("ENGINES", ShowWhat::Engines),
            ("STORAGE ENGINES", ShowWhat::Engines),
            ("PROCESSLIST", ShowWhat::ProcessList { full: false }),
            ("FULL PROCESSLIST", ShowWhat::ProcessList { full: true }),
            ("COLLATION", ShowWhat::Collation),
            ("CHARACTER SET", ShowWhat::CharacterSet),
            ("CHAR SET", ShowWhat::CharacterSet),
            ("CHARSET", ShowWhat::CharacterSet),
            ("PRIVILEGES", ShowWhat::Privileges),
            ("PLUGINS", ShowWhat::Plugins),
            ("PROFILES", ShowWhat::Profiles),
            ("PROCEDURE STATUS", ShowWhat::ProcedureStatus),
            ("FUNCTION STATUS", ShowWhat::FunctionStatus),
            ("BINARY LOG STATUS", ShowWhat::BinaryLogStatus),
            ("MASTER STATUS", ShowWhat::BinaryLogStatus),
            ("BINARY LOGS", ShowWhat::BinaryLogs),
            ("MASTER LOGS", ShowWhat::BinaryLogs),
        ];
        for (words, what) in plain {
            if self.eat_words(words) {
                return Ok(Some(what));
            }
        }
        Ok(None)
    }

    /// After SHOW CREATE.
    fn show_create(&mut self) -> Result<ShowWhat> {
        if self.eat_kw(Kw::DATABASE) || self.eat_kw(Kw::SCHEMA) {
            let if_not_exists = self.eat_if("NOT EXISTS")?;
            return Ok(ShowWhat::CreateDatabase { name: self.ident()?, if_not_exists });
        }
        if self.eat_word("USER") {
            return Ok(ShowWhat::CreateUser(self.account()?));
        }
        let word = String::from_utf8_lossy(self.text_of(self.tok)).to_ascii_uppercase();
        let what = match word.as_str() {
            "TABLE" => ShowWhat::CreateTable,
            "VIEW" => ShowWhat::CreateView,
            "PROCEDURE" => ShowWhat::CreateProcedure,
            "FUNCTION" => ShowWhat::CreateFunction,
            "TRIGGER" => ShowWhat::CreateTrigger,
            "EVENT" => ShowWhat::CreateEvent,
            _ => return Err(self.error()),
        };
        self.bump();
        Ok(what(self.object_name()?))
    }

    /// `LIMIT [offset,] n`
    fn show_limit(&mut self) -> Result<(u64, Option<u64>)> {
        if !self.eat_kw(Kw::LIMIT) {
            return Ok((0, None));
        }
        let first = self.number()?;
        if self.eat(Tok::Comma) {
            return Ok((first, Some(self.number()?)));
        }
        if self.eat_kw(Kw::OFFSET) {
            return Ok((self.number()?, Some(first)));
        }
        Ok((0, Some(first)))
    }

    /// Those that may name a schema or a table.
    fn show_of_schema(&mut self) -> Result<ShowWhat> {
        let extended = self.eat_word("EXTENDED");
        let full = self.eat_word("FULL");
        if self.eat_word("TABLES") {
            return Ok(ShowWhat::Tables { full, extended, schema: self.opt_from_schema()? });
        }
        if self.eat_word("COLUMNS") || self.eat_word("FIELDS") {
            return Ok(ShowWhat::Columns { full, extended, table: self.shown_table()? });
        }
        if !extended && self.eat_word("TRIGGERS") {
            return Ok(ShowWhat::Triggers { full, schema: self.opt_from_schema()? });
        }
        if full {
            return Err(self.error());
        }
        if self.eat_kw(Kw::INDEX) || self.eat_kw(Kw::KEYS) || self.eat_word("INDEXES") {
            return Ok(ShowWhat::Index { extended, table: self.shown_table()? });
        }
        if extended {
            return Err(self.error());
        }
        if self.eat_words("TABLE STATUS") {
            return Ok(ShowWhat::TableStatus { schema: self.opt_from_schema()? });
        }
        if self.eat_words("OPEN TABLES") {
            return Ok(ShowWhat::OpenTables { schema: self.opt_from_schema()? });
        }
        if self.eat_word("EVENTS") {
            return Ok(ShowWhat::Events { schema: self.opt_from_schema()? });
        }
        if self.eat_word("ENGINE") {
            let engine = if self.eat_kw(Kw::ALL) { None } else { Some(self.ident_or_string()?) };
            let what = if self.eat_word("STATUS") {
                EngineShow::Status
            } else if self.eat_word("MUTEX") {
                EngineShow::Mutex
            } else {
                self.expect_word("LOGS")?;
                EngineShow::Logs
            };
            return Ok(ShowWhat::Engine { engine, what });
        }
        if self.eat_word("GRANTS") {
            let user = if self.eat_kw(Kw::FOR) { Some(self.account()?) } else { None };
            let using = if self.eat_kw(Kw::USING) { self.comma_list(Self::account)? } else { Vec::new() };
            return Ok(ShowWhat::Grants { user, using });
        }
        if self.eat_words("PROCEDURE CODE") {
            return Ok(ShowWhat::ProcedureCode(self.object_name()?));
        }
        if self.eat_words("FUNCTION CODE") {
            return Ok(ShowWhat::FunctionCode(self.object_name()?));
        }
        if self.eat_word("PROFILE") {
            return self.show_profile();
        }
        Err(self.error())
    }

    fn show_profile(&mut self) -> Result<ShowWhat> {
        let mut types = Vec::new();
        if matches!(self.kind(), Tok::Ident | Tok::Kw(Kw::ALL)) {
            types = self.comma_list(|p| {
                let first = p.any_word()?.to_ascii_uppercase();
                // BLOCK IO, CONTEXT SWITCHES, PAGE FAULTS
                if matches!(first.as_str(), "BLOCK" | "CONTEXT" | "PAGE") {
                    return Ok(format!("{first} {}", p.any_word()?.to_ascii_uppercase()).into());
                }
                Ok(Ident::from(first))
            })?;
        }
        let query = if self.eat_words("FOR QUERY") { Some(self.number()?) } else { None };
        let (offset, limit) = self.show_limit()?;
        Ok(ShowWhat::Profile { types, query, offset, limit })
    }

    fn eat_from_or_in(&mut self) -> bool {
        self.eat_kw(Kw::FROM) || self.eat_kw(Kw::IN)
    }

    fn opt_from_schema(&mut self) -> Result<Option<Ident>> {
        if self.eat_from_or_in() { self.ident().map(Some) } else { Ok(None) }
    }

    /// `FROM [schema.]table [FROM schema]`; the later schema wins.
    fn shown_table(&mut self) -> Result<ObjectName> {
        if !self.eat_from_or_in() {
            return Err(self.error());
        }
        let mut table = self.object_name()?;
        if let Some(schema) = self.opt_from_schema()? {
            table.schema = Some(schema);
        }
        Ok(table)
    }
}
