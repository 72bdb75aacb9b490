//! SHOW and DESCRIBE.

mod accounts;
mod objects;
mod replication;
pub mod server;
pub mod status;

use crate::session::Execution;
use expr::Params;
use parser::ast::{EngineShow, Show, ShowFilter, ShowWhat};
use session::rows::RowSet;
use session::sink::ResultSink;
use types::collation::LikePattern;
use types::{Collation, Error, Result, Value};

impl Execution<'_> {
    pub(crate) fn show(&mut self, show: &Show, more: bool, sink: &mut dyn ResultSink) -> Result<()> {
        use ShowWhat::*;
        let mut rows = match &show.what {
            Databases => self.show_databases(),
            Tables { full, schema, .. } => self.show_tables(*full, schema.as_ref())?,
            TableStatus { schema } => self.show_table_status(schema.as_ref())?,
            OpenTables { schema } => self.show_open_tables(schema.as_ref())?,
            Columns { full, table, .. } => self.show_columns(table, *full)?,
            Index { table, .. } => self.show_index(table)?,
            CreateTable(name) => self.show_create_table(name)?,
            CreateView(name) => self.show_create_view(name)?,
            CreateDatabase { name, if_not_exists } => self.show_create_database(name, *if_not_exists)?,
            Status { global } => self.show_status(*global),
            Variables { global } => server::show_variables(self, *global),
            Engines => self.show_engines(),
            ProcessList { full } => self.show_processlist(*full),
            Warnings { offset, limit } => self.show_warnings(*offset, *limit, false),
            Errors { offset, limit } => self.show_warnings(*offset, *limit, true),
            CountWarnings => self.show_count("@@session.warning_count", false),
            CountErrors => self.show_count("@@session.error_count", true),
            Grants { user, .. } => self.show_grants(user.as_ref())?,
            CreateUser(account) => self.show_create_user(account)?,
            Collation => self.show_collation(),
            CharacterSet => self.show_character_set(),
            Privileges => self.show_privileges(),
            Plugins => self.show_plugins(),
            Triggers { .. } => server::empty_triggers(),
            Events { .. } => server::empty_events(),
            ProcedureStatus | FunctionStatus => server::empty_routines(),
            Profiles => server::empty_profiles(),
            Engine { engine, what: EngineShow::Status }
                if engine.as_ref().is_none_or(|e| e.eq_ignore_ascii_case("innodb")) =>
            {
                crate::information_schema::locks::engine_status_rows(self)
            }
            Engine { .. } => return Err(Error::not_supported("SHOW ENGINE but for INNODB STATUS")),
            CreateProcedure(n) => return Err(Error::sp_does_not_exist("PROCEDURE", n.name.as_str())),
            CreateFunction(n) => return Err(Error::sp_does_not_exist("FUNCTION", n.name.as_str())),
            CreateTrigger(n) => return Err(Error::trg_does_not_exist(n.name.as_str())),
            CreateEvent(n) => return Err(Error::event_does_not_exist(n.name.as_str())),
            Profile { .. } => return Err(Error::not_supported("SHOW PROFILE")),
            ProcedureCode(_) | FunctionCode(_) => return Err(Error::not_supported("SHOW PROCEDURE CODE")),
            BinaryLogs => return Err(Error::no_binary_logging()),
            BinaryLogStatus => replication::binary_log_status(),
            Other(statement) => replication::show(statement)?,
        };
        if let Some(filter) = &show.filter {
            self.filter_rows(&mut rows, filter)?;
        }
        rows.send(sink, &self.end_info(more))
    }

    /// LIKE tests the first column (the second of SHOW INDEX and the like has none); WHERE any.
    pub(super) fn filter_rows(&self, rows: &mut RowSet, filter: &ShowFilter) -> Result<()> {
        let keep: Vec<bool> = match filter {
            ShowFilter::Like(pattern) => rows.rows.iter().map(|r| like(&r[0], pattern)).collect(),
            ShowFilter::Where(condition) => {
                let info = self.info();
                let table = rows.table_def(catalog::TableId(u64::MAX), "", "");
                let bound = self.binder(&info).bind_table_expr(condition, &table)?;
                let bound = expr::build::truth(bound)?;
                let params = Params::default();
                let ctx = self.eval_context(&info, &params);
                let mut keep = Vec::with_capacity(rows.rows.len());
                for batch in rows.all_batches() {
                    let mut kept = batch.clone();
                    expr::eval::filter(&bound, &mut kept, &ctx)?;
                    let base = keep.len();
                    keep.resize(base + batch.rows, false);
                    kept.selection.for_each(kept.rows, |i| keep[base + i] = true);
                }
                keep
            }
        };
        let mut it = keep.into_iter();
        rows.rows.retain(|_| it.next().unwrap_or(false));
        Ok(())
    }
}

fn like(value: &Value, pattern: &[u8]) -> bool {
    match value {
        Value::Bytes(b) => LikePattern::new(pattern, Some('\\'), Collation::Utf8mb4GeneralCi).matches(b),
        _ => false,
    }
}
