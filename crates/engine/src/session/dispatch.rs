//! One arm a statement.

use super::Execution;
use accounts::Privilege;
use introspection::show;
use monitor::process::Kill;
use parser::ast::{FlushWhat, HintArgs, QueryBody, SetItem, ShowWhat, Statement};
use session::sink::ResultSink;
use std::time::Duration;
use types::{Error, ErrorCode, Result};

/// Statements that show the diagnostics area instead of starting a new one.
pub(crate) fn keeps_diagnostics(s: &Statement) -> bool {
    match s {
        Statement::Show(show) => matches!(
            show.what,
            ShowWhat::Warnings { .. } | ShowWhat::Errors { .. } | ShowWhat::CountWarnings | ShowWhat::CountErrors
        ),
        Statement::GetDiagnostics(_) => true,
        _ => false,
    }
}

/// Statements that commit the open transaction before they run (MySQL manual, "Statements That Cause an Implicit
/// Commit").
fn commits_first(s: &Statement) -> bool {
    use Statement::*;
    match s {
        CreateTable(c) => !c.temporary,
        DropTable(d) => !d.temporary,
        CreateDatabase(_)
        | AlterDatabase(_)
        | DropDatabase { .. }
        | AlterTable(_)
        | RenameTable(_)
        | Truncate(_)
        | CreateIndex(_)
        | DropIndex(_)
        | CreateView(_)
        | DropView(_)
        | CreateUser(_)
        | AlterUser(_)
        | DropUser { .. }
        | RenameUser(_)
        | CreateRole { .. }
        | DropRole { .. }
        | Grant(_)
        | Revoke(_)
        | TableMaintenance(_)
        | Flush(_)
        | LockTables(_) => true,
        Set(items) => items.iter().any(|item| matches!(item, SetItem::Password { .. })),
        _ => false,
    }
}

impl Execution<'_> {
    /// Runs a statement under the metadata locks that it needs.
    pub(crate) fn dispatch(
        &mut self,
        statement: &Statement,
        text: &[u8],
        more: bool,
        sink: &mut dyn ResultSink,
    ) -> Result<()> {
        let mark = self.mark_locks();
        let deadline = self.time_limit(statement).map(|limit| self.db().timer().limit(self.process(), limit));
        let mut result = self.run_statement(statement, text, more, sink);
        if deadline.is_some() && self.process().killed() == Some(Kill::Timeout) {
            result =
                result.map_err(|e| if e.code() == ErrorCode::QUERY_INTERRUPTED { Error::query_timeout() } else { e });
        }
        self.unlock_statement(statement, mark, result)
    }

    /// max_execution_time, or the hint of that name: SELECT only.
    fn time_limit(&self, statement: &Statement) -> Option<Duration> {
        let Statement::Query(query) = statement else { return None };
        let mut body = &query.body;
        while let QueryBody::Nested(inner) = body {
            body = &inner.body;
        }
        let hinted = match body {
            QueryBody::Select(s) => s.hints.iter().find_map(|h| match &h.args {
                HintArgs::Limit(ms) => Some(u64::from(*ms)),
                _ => None,
            }),
            _ => None,
        };
        let ms = hinted.unwrap_or(self.vars().hot().max_execution_time_ms);
        (ms > 0).then(|| Duration::from_millis(ms))
    }

    fn run_statement(
        &mut self,
        statement: &Statement,
        text: &[u8],
        more: bool,
        sink: &mut dyn ResultSink,
    ) -> Result<()> {
        use Statement::*;
        let only_looks = matches!(statement, Explain(e) if !e.analyze);
        let names = self.resolve_allowed(statement, only_looks)?;
        self.check_rights(statement)?;
        if commits_first(statement) {
            if !matches!(statement, LockTables(_)) {
                self.check_writable()?;
                self.check_server_takes(statement, &names)?;
            }
            if !matches!(statement, LockTables(_) | Flush(_)) {
                self.db().store().txns().check_writable()?;
            }
            self.commit_all()?;
        }
        let temporary = match statement {
            CreateTable(c) => c.temporary,
            DropTable(d) => d.temporary,
            _ => false,
        };
        if temporary {
            self.check_writable()?;
        }
        self.lock_statement(statement, names)?;
        self.status().count_statement(statement);
        match statement {
            Query(q) => self.query(q, more, sink),
            Explain(e) => self.explain(e, more, sink),
            Insert(i) => self.insert(i, more, sink),
            LoadData(l) => self.load_data(l, more, sink),
            Show(show) => {
                self.status().com_show.add(1);
                show::show(self, show, more, sink)
            }
            Describe { table, column } => show::objects::describe(self, table, column.as_ref(), more, sink),
            Set(items) => {
                self.status().com_set_option.add(1);
                self.set(items)?;
                self.send_ok(0, String::new(), more, sink)
            }
            Use(name) => {
                self.use_database(name)?;
                self.send_ok(0, String::new(), more, sink)
            }
            Do(exprs) => {
                for e in exprs {
                    self.eval_scalar(e)?;
                }
                self.send_ok(0, String::new(), more, sink)
            }
            Begin(b) => self.simple(more, sink, |s| s.begin(b.consistent_snapshot, b.read_only)),
            Commit(c) => self.end_transaction(true, *c, more, sink),
            Rollback(c) => self.end_transaction(false, *c, more, sink),
            Savepoint(name) => self.simple(more, sink, |s| s.savepoint(name)),
            RollbackTo(name) => self.simple(more, sink, |s| s.rollback_to(name)),
            ReleaseSavepoint(name) => self.simple(more, sink, |s| s.release_savepoint(name)),
            Kill(k) => self.kill(k, more, sink),
            Flush(f) => self.simple(more, sink, |s| s.flush_what(&f.what)),
            TableMaintenance(t) => self.maintain(t, more, sink),
            CreateUser(_)
            | AlterUser(_)
            | DropUser { .. }
            | RenameUser(_)
            | Grant(_)
            | Revoke(_)
            | CreateRole { .. }
            | DropRole { .. }
            | SetRole(_)
            | SetDefaultRole { .. } => {
                self.account_statement(statement)?;
                self.send_ok(0, String::new(), more, sink)
            }
            CreateDatabase(_)
            | AlterDatabase(_)
            | DropDatabase { .. }
            | CreateTable(_)
            | DropTable(_)
            | RenameTable(_)
            | Truncate(_)
            | CreateView(_)
            | DropView(_)
            | AlterTable(_)
            | CreateIndex(_)
            | DropIndex(_) => self.ddl(statement, text, more, sink),
            Update(u) => self.update(u, more, sink),
            Delete(d) => self.delete(d, more, sink),
            Call(_) => Err(Error::not_supported("CALL")),
            Handler(_) => Err(Error::not_supported("HANDLER")),
            Help(_) => Err(Error::not_supported("HELP")),
            Prepare { name, source } => self.sql_prepare(name, source, more, sink),
            Execute { name, using } => self.sql_execute(name, using, more, sink),
            Deallocate(name) => self.sql_deallocate(name, more, sink),
            GetDiagnostics(_) => Err(Error::not_supported("GET DIAGNOSTICS")),
            Signal(_) => Err(Error::not_supported("SIGNAL")),
            Xa(_) => Err(Error::not_supported("XA")),
            LockTables(locks) => self.simple(more, sink, |s| s.lock_tables(locks.clone())),
            UnlockTables => self.simple(more, sink, |s| s.unlock_tables()),
            LockInstance | UnlockInstance => Err(Error::not_supported("LOCK INSTANCE")),
            Reset(_) => Err(Error::not_supported("RESET")),
            Shutdown => self.shut_down(more, sink),
            BackupTo(dir) => self.backup(dir, more, sink),
            Restart => Err(Error::restart_server_failed("mysqld is not managed by supervisor process")),
            Raw { what, .. } => Err(Error::not_supported(what)),
        }
    }

    /// SHUTDOWN: the client has its answer before the server begins to stop.
    fn shut_down(&mut self, more: bool, sink: &mut dyn ResultSink) -> Result<()> {
        let Some(stop) = self.db().stopper() else { return Err(Error::not_supported("SHUTDOWN without a server")) };
        self.send_ok(0, String::new(), more, sink)?;
        stop();
        Ok(())
    }

    fn simple(
        &mut self,
        more: bool,
        sink: &mut dyn ResultSink,
        f: impl FnOnce(&mut Execution<'_>) -> Result<()>,
    ) -> Result<()> {
        f(self)?;
        self.send_ok(0, String::new(), more, sink)
    }

    fn flush_what(&mut self, what: &FlushWhat) -> Result<()> {
        self.flush(what)?;
        match what {
            FlushWhat::Options(options) if options.iter().any(|o| &**o == "OPTIMIZER_COSTS") => self.db().flush_costs(),
            _ => Ok(()),
        }
    }

    fn end_transaction(
        &mut self,
        commit: bool,
        completion: parser::ast::CompletionType,
        more: bool,
        sink: &mut dyn ResultSink,
    ) -> Result<()> {
        if self.complete(commit, completion, !more)? {
            self.process().kill(Kill::Connection);
        }
        self.send_ok(0, String::new(), more, sink)
    }

    fn kill(&mut self, kill: &parser::ast::Kill, more: bool, sink: &mut dyn ResultSink) -> Result<()> {
        let id = match self.eval_scalar(&kill.id)?.0 {
            types::Value::Int(v) if v >= 0 => v as u64,
            types::Value::UInt(v) => v,
            other => return Err(Error::no_such_thread(session::rows::display(&other))),
        };
        let id = u32::try_from(id).map_err(|_| Error::no_such_thread(id))?;
        let target = self.db().processes().get(id).ok_or_else(|| Error::no_such_thread(id))?;
        if target.info().user != *self.user().0 && !self.has(Privilege::ConnectionAdmin) {
            return Err(Error::kill_denied(id));
        }
        target.kill(if kill.query { Kill::Query } else { Kill::Connection });
        self.check_killed()?;
        self.send_ok(0, String::new(), more, sink)
    }
}
