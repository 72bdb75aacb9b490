//! Transactions, locks, prepared statements, diagnostics, maintenance: statements of few words.

use super::Parser;
use crate::ast::*;
use crate::keywords::Kw;
use crate::lexer::Tok;
use types::Result;

impl<'a> Parser<'a> {
    /// Statements that begin with a reserved word and change or ask no rows.
    pub(super) fn admin_keyword_statement(&mut self, kw: Kw) -> Result<Statement> {
        let start = self.start();
        match kw {
            Kw::CREATE => self.create(),
            Kw::ALTER => self.alter(),
            Kw::DROP => self.drop_statement(),
            Kw::RENAME => self.rename(),
            Kw::SET => self.set_statement(),
            Kw::SHOW => self.show(),
            Kw::GRANT => self.grant(),
            Kw::REVOKE => self.revoke(),
            Kw::USE => {
                self.bump();
                // MySQL's error for a name that is empty comes with the execution.
                let unnamed = self.tok.tok == Tok::QuotedIdent && self.text_of(self.tok).len() == 2;
                Ok(Statement::Use(if unnamed { self.empty_ident() } else { self.ident()? }))
            }
            Kw::LOCK => self.lock(),
            Kw::UNLOCK => {
                self.bump();
                if self.eat_word("INSTANCE") {
                    return Ok(Statement::UnlockInstance);
                }
                self.expect_tables_word()?;
                Ok(Statement::UnlockTables)
            }
            Kw::KILL => {
                self.bump();
                let query = self.eat_word("QUERY");
                if !query {
                    self.eat_word("CONNECTION");
                }
                Ok(Statement::Kill(Kill { query, id: self.expr()? }))
            }
            Kw::RELEASE => {
                self.bump();
                self.expect_word("SAVEPOINT")?;
                Ok(Statement::ReleaseSavepoint(self.ident()?))
            }
            Kw::ANALYZE => self.maintenance(MaintenanceOp::Analyze),
            Kw::CHECK => self.maintenance(MaintenanceOp::Check),
            Kw::OPTIMIZE => self.maintenance(MaintenanceOp::Optimize),
            Kw::GET => self.get_diagnostics(),
            Kw::SIGNAL | Kw::RESIGNAL => self.signal(kw == Kw::RESIGNAL),
            Kw::PURGE => Ok(self.raw("PURGE BINARY LOGS", start)),
            Kw::CHANGE => Ok(self.raw("CHANGE REPLICATION", start)),
            _ => Err(self.error()),
        }
    }

    /// Statements whose first word is not reserved.
    pub(super) fn word_statement(&mut self) -> Result<Statement> {
        let start = self.start();
        let word = String::from_utf8_lossy(self.text_of(self.tok)).to_ascii_uppercase();
        match word.as_str() {
            "BEGIN" => {
                self.bump();
                self.eat_word("WORK");
                Ok(Statement::Begin(BeginTransaction::default()))
            }
            "START" => self.start_statement(start),
            "COMMIT" => {
                self.bump();
                self.eat_word("WORK");
                Ok(Statement::Commit(self.completion_type()?))
            }
            "ROLLBACK" => {
                self.bump();
                self.eat_word("WORK");
                if self.eat_kw(Kw::TO) {
                    if self.at_word("SAVEPOINT") && super::is_ident(self.peek()) {
                        self.bump();
                    }
                    return Ok(Statement::RollbackTo(self.ident()?));
                }
                Ok(Statement::Rollback(self.completion_type()?))
            }
            "SAVEPOINT" => {
                self.bump();
                Ok(Statement::Savepoint(self.ident()?))
            }
            "XA" => self.xa(),
            "PREPARE" => {
                self.bump();
                let name = self.ident()?;
                self.expect_kw(Kw::FROM)?;
                let source = if self.at(Tok::AtName) {
                    PrepareSource::UserVar(self.user_var()?)
                } else {
                    let token = self.expect(Tok::Str)?;
                    PrepareSource::Text(self.string_value(token))
                };
                Ok(Statement::Prepare { name, source })
            }
            "EXECUTE" => {
                self.bump();
                let name = self.ident()?;
                let using = if self.eat_kw(Kw::USING) { self.comma_list(Self::user_var)? } else { Vec::new() };
                Ok(Statement::Execute { name, using })
            }
            "DEALLOCATE" => {
                self.bump();
                self.expect_word("PREPARE")?;
                Ok(Statement::Deallocate(self.ident()?))
            }
            "DO" => self.do_statement(),
            "HANDLER" => self.handler(),
            "HELP" => {
                self.bump();
                Ok(Statement::Help(self.ident_or_string()?.0))
            }
            "TRUNCATE" => self.truncate(),
            "CHECKSUM" => self.maintenance(MaintenanceOp::Checksum),
            "REPAIR" => self.maintenance(MaintenanceOp::Repair),
            "FLUSH" => self.flush(),
            "RESET" => {
                self.bump();
                let items = self.comma_list(|p| {
                    let start = p.start();
                    while matches!(
                        p.kind(),
                        Tok::Ident | Tok::Kw(_) | Tok::QuotedIdent | Tok::Dot | Tok::Int | Tok::Str
                    ) {
                        p.bump();
                    }
                    if p.start() == start {
                        return Err(p.error());
                    }
                    Ok(p.source_text(p.span_from(start)).0)
                })?;
                Ok(Statement::Reset(items))
            }
            "BACKUP" => {
                self.bump();
                self.expect_kw(Kw::TO)?;
                Ok(Statement::BackupTo(self.string_utf8()?))
            }
            "SHUTDOWN" => {
                self.bump();
                Ok(Statement::Shutdown)
            }
            "RESTART" => {
                self.bump();
                Ok(Statement::Restart)
            }
            "CACHE" => Ok(self.raw("CACHE INDEX", start)),
            "INSTALL" => Ok(self.raw("INSTALL", start)),
            "UNINSTALL" => Ok(self.raw("UNINSTALL", start)),
            "STOP" => Ok(self.raw("STOP REPLICA", start)),
            "BINLOG" => Ok(self.raw("BINLOG", start)),
            "IMPORT" => Ok(self.raw("IMPORT TABLE", start)),
            "CLONE" => Ok(self.raw("CLONE", start)),
            _ => Err(self.error()),
        }
    }

    fn start_statement(&mut self, start: u32) -> Result<Statement> {
        self.bump();
        if !self.at_word("TRANSACTION") {
            let replication = ["REPLICA", "SLAVE", "GROUP_REPLICATION"];
            if replication.iter().any(|word| self.at_word(word)) {
                return Ok(self.raw("START REPLICA", start));
            }
            return Err(self.error());
        }
        self.bump();
        let mut begin = BeginTransaction::default();
        let mut first = true;
        loop {
            if !begin.consistent_snapshot && self.eat_words("WITH CONSISTENT SNAPSHOT") {
                begin.consistent_snapshot = true;
            } else if begin.read_only.is_none() && self.eat_words("READ ONLY") {
                begin.read_only = Some(true);
            } else if begin.read_only.is_none() && self.eat_words("READ WRITE") {
                begin.read_only = Some(false);
            } else if first {
                return Ok(Statement::Begin(begin));
            } else {
                return Err(self.error());
            }
            first = false;
            if !self.eat(Tok::Comma) {
                return Ok(Statement::Begin(begin));
            }
        }
    }

    /// `[AND [NO] CHAIN] [[NO] RELEASE]`
    fn completion_type(&mut self) -> Result<CompletionType> {
        let mut completion = CompletionType::default();
        if self.eat_kw(Kw::AND) {
            completion.chain = Some(!self.eat_word("NO"));
            self.expect_word("CHAIN")?;
        }
        if self.eat_words("NO RELEASE") {
            completion.release = Some(false);
        } else if completion.chain != Some(true) && self.eat_kw(Kw::RELEASE) {
            completion.release = Some(true);
        }
        Ok(completion)
    }

    fn xa(&mut self) -> Result<Statement> {
        self.bump();
        let xa = if self.eat_word("START") || self.eat_word("BEGIN") {
            let xid = self.xid()?;
            let join = if self.eat_kw(Kw::JOIN) {
                Some(XaJoin::Join)
            } else if self.eat_word("RESUME") {
                Some(XaJoin::Resume)
            } else {
                None
            };
            Xa::Start { xid, join }
        } else if self.eat_word("END") {
            let xid = self.xid()?;
            let suspend = self.eat_word("SUSPEND");
            Xa::End { xid, suspend, for_migrate: suspend && self.eat_words("FOR MIGRATE") }
        } else if self.eat_word("PREPARE") {
            Xa::Prepare(self.xid()?)
        } else if self.eat_word("COMMIT") {
            let xid = self.xid()?;
            Xa::Commit { xid, one_phase: self.eat_words("ONE PHASE") }
        } else if self.eat_word("ROLLBACK") {
            Xa::Rollback(self.xid()?)
        } else {
            self.expect_word("RECOVER")?;
            Xa::Recover { convert_xid: self.eat_words("CONVERT XID") }
        };
        Ok(Statement::Xa(xa))
    }

    fn xid(&mut self) -> Result<Xid> {
        let gtrid = self.bytes_literal()?;
        let bqual = if self.eat(Tok::Comma) { Some(self.bytes_literal()?) } else { None };
        let format_id = if bqual.is_some() && self.eat(Tok::Comma) { Some(self.number()?) } else { None };
        Ok(Xid { gtrid, bqual, format_id })
    }

    fn expect_tables_word(&mut self) -> Result<()> {
        if self.eat_kw(Kw::TABLE) { Ok(()) } else { self.expect_word("TABLES") }
    }

    fn lock(&mut self) -> Result<Statement> {
        self.bump();
        if self.eat_words("INSTANCE FOR BACKUP") {
            return Ok(Statement::LockInstance);
        }
        self.expect_tables_word()?;
        Ok(Statement::LockTables(self.comma_list(|p| {
            let table = p.object_name()?;
            let alias = p.opt_table_alias()?;
            let kind = if p.eat_kw(Kw::READ) {
                if p.eat_word("LOCAL") { TableLockKind::ReadLocal } else { TableLockKind::Read }
            } else if p.eat_kw(Kw::LOW_PRIORITY) {
                p.expect_kw(Kw::WRITE)?;
                TableLockKind::LowPriorityWrite
            } else {
                p.expect_kw(Kw::WRITE)?;
                TableLockKind::Write
            };
            Ok(TableLock { table, alias, kind })
        })?))
    }

    fn flush(&mut self) -> Result<Statement> {
        self.bump();
        let no_write_to_binlog = self.no_write_to_binlog();
        if self.eat_kw(Kw::TABLE) || self.eat_word("TABLES") {
            let mut tables = Vec::new();
            if self.at_ident() {
                tables = self.comma_list(Self::object_name)?;
            }
            let with_read_lock = self.eat_words("WITH READ LOCK");
            let for_export = !with_read_lock && self.eat_words("FOR EXPORT");
            let what = FlushWhat::Tables { tables, with_read_lock, for_export };
            return Ok(Statement::Flush(Box::new(Flush { no_write_to_binlog, what })));
        }
        let options = self.comma_list(|p| {
            let mut words = String::new();
            while matches!(p.kind(), Tok::Ident | Tok::Kw(_)) {
                if !words.is_empty() {
                    words.push(' ');
                }
                words.push_str(&p.any_word()?.to_ascii_uppercase());
            }
            if words.is_empty() { Err(p.error()) } else { Ok(words.into()) }
        })?;
        Ok(Statement::Flush(Box::new(Flush { no_write_to_binlog, what: FlushWhat::Options(options) })))
    }

    /// ANALYZE, CHECK, CHECKSUM, OPTIMIZE, REPAIR TABLE, at the word.
    fn maintenance(&mut self, op: MaintenanceOp) -> Result<Statement> {
        self.bump();
        let binlog_words = matches!(op, MaintenanceOp::Analyze | MaintenanceOp::Optimize | MaintenanceOp::Repair);
        let no_write_to_binlog = binlog_words && self.no_write_to_binlog();
        self.expect_tables_word()?;
        let tables = self.comma_list(Self::object_name)?;
        let words: &[&str] = match op {
            MaintenanceOp::Check => &["FOR UPGRADE", "QUICK", "FAST", "MEDIUM", "EXTENDED", "CHANGED"],
            MaintenanceOp::Checksum => &["QUICK", "EXTENDED"],
            MaintenanceOp::Repair => &["QUICK", "EXTENDED", "USE_FRM"],
            _ => &[],
        };
        let mut options = Vec::new();
        while let Some(word) = words.iter().find(|word| self.at_words(word)) {
            self.eat_words(word);
            options.push((*word).into());
        }
        let histogram = if op == MaintenanceOp::Analyze { self.opt_histogram()? } else { None };
        let maintenance = TableMaintenance { op, no_write_to_binlog, tables, options, histogram };
        Ok(Statement::TableMaintenance(Box::new(maintenance)))
    }

    fn opt_histogram(&mut self) -> Result<Option<Histogram>> {
        if self.eat_words("DROP HISTOGRAM ON") {
            return Ok(Some(Histogram::Drop { columns: self.ident_list()? }));
        }
        if !self.eat_words("UPDATE HISTOGRAM ON") {
            return Ok(None);
        }
        let columns = self.ident_list()?;
        let (mut buckets, mut using_data, mut auto_update) = (None, None, None);
        if self.eat_kw(Kw::USING) {
            self.expect_word("DATA")?;
            using_data = Some(self.string_utf8()?);
        } else {
            if self.eat_kw(Kw::WITH) {
                buckets = Some(self.number()?);
                self.expect_word("BUCKETS")?;
            }
            if self.eat_words("AUTO UPDATE") {
                auto_update = Some(true);
            } else if self.eat_words("MANUAL UPDATE") {
                auto_update = Some(false);
            }
        }
        Ok(Some(Histogram::Update { columns, buckets, using_data, auto_update }))
    }

    fn get_diagnostics(&mut self) -> Result<Statement> {
        self.bump();
        let stacked = self.eat_word("STACKED");
        if !stacked {
            self.eat_word("CURRENT");
        }
        self.expect_word("DIAGNOSTICS")?;
        let condition = if self.eat_kw(Kw::CONDITION) { Some(self.bit_expr()?) } else { None };
        let items = self.comma_list(|p| {
            let target = if p.at(Tok::AtName) {
                DiagnosticsTarget::UserVar(p.user_var()?)
            } else {
                DiagnosticsTarget::Local(p.ident()?)
            };
            p.expect(Tok::Eq)?;
            Ok((target, p.ident()?))
        })?;
        Ok(Statement::GetDiagnostics(Box::new(GetDiagnostics { stacked, condition, items })))
    }

    fn signal(&mut self, resignal: bool) -> Result<Statement> {
        self.bump();
        let condition = if self.at_kw(Kw::SQLSTATE) {
            self.bump();
            self.eat_kw(Kw::VALUE);
            Some(SignalCondition::SqlState(self.string_utf8()?))
        } else if self.at_ident() {
            Some(SignalCondition::Name(self.ident()?))
        } else if resignal {
            None
        } else {
            return Err(self.error());
        };
        let set = if self.eat_kw(Kw::SET) {
            self.comma_list(|p| {
                let item = p.ident()?;
                p.expect(Tok::Eq)?;
                Ok((item, p.expr()?))
            })?
        } else {
            Vec::new()
        };
        Ok(Statement::Signal(Box::new(Signal { resignal, condition, set })))
    }
}
