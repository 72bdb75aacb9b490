//! SHOW and DESCRIBE.

mod accounts;
pub mod objects;
mod replication;
pub mod server;

use crate::server_state::variable_rows;
use expr::Params;
use parser::ast::{EngineShow, Show, ShowFilter, ShowWhat};
use session::Frame;
use session::rows::RowSet;
use session::sink::ResultSink;
use types::collation::LikePattern;
use types::{Collation, Error, Result, Value};

pub fn show(frame: &mut Frame<'_>, show: &Show, more: bool, sink: &mut dyn ResultSink) -> Result<()> {
    use ShowWhat::*;
    let mut rows = match &show.what {
        Databases => objects::show_databases(frame),
        Tables { full, schema, .. } => objects::show_tables(frame, *full, schema.as_ref())?,
        TableStatus { schema } => objects::show_table_status(frame, schema.as_ref())?,
        OpenTables { schema } => objects::show_open_tables(frame, schema.as_ref())?,
        Columns { full, table, .. } => objects::show_columns(frame, table, *full)?,
        Index { table, .. } => objects::show_index(frame, table)?,
        CreateTable(name) => objects::show_create_table(frame, name)?,
        CreateView(name) => objects::show_create_view(frame, name)?,
        CreateDatabase { name, if_not_exists } => objects::show_create_database(frame, name, *if_not_exists)?,
        Status { global } => server::show_status(frame, *global),
        Variables { global } => variable_rows(frame, *global),
        Engines => server::show_engines(),
        ProcessList { full } => server::show_processlist(frame, *full),
        Warnings { offset, limit } => server::show_warnings(frame, *offset, *limit, false),
        Errors { offset, limit } => server::show_warnings(frame, *offset, *limit, true),
        CountWarnings => server::show_count(frame, "@@session.warning_count", false),
        CountErrors => server::show_count(frame, "@@session.error_count", true),
        Grants { user, .. } => accounts::show_grants(frame, user.as_ref())?,
        CreateUser(account) => accounts::show_create_user(frame, account)?,
        Collation => server::show_collation(),
        CharacterSet => server::show_character_set(),
        Privileges => server::show_privileges(),
        Plugins => server::show_plugins(),
        Triggers { .. } => server::empty_triggers(),
        Events { .. } => server::empty_events(),
        ProcedureStatus | FunctionStatus => server::empty_routines(),
        Profiles => server::empty_profiles(),
        Engine { engine, what: EngineShow::Status }
            if engine.as_ref().is_none_or(|e| e.eq_ignore_ascii_case("innodb")) =>
        {
            crate::information_schema::locks::engine_status_rows(frame)
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
        filter_rows(frame, &mut rows, filter)?;
    }
    rows.send(sink, &frame.end_info(more))
}

/// LIKE tests the first column (the second of SHOW INDEX and the like has none); WHERE any.
pub(super) fn filter_rows(frame: &Frame<'_>, rows: &mut RowSet, filter: &ShowFilter) -> Result<()> {
    let keep: Vec<bool> = match filter {
        ShowFilter::Like(pattern) => rows.rows.iter().map(|r| like(&r[0], pattern)).collect(),
        ShowFilter::Where(condition) => {
            let info = frame.info();
            let table = rows.table_def(catalog::TableId(u64::MAX), "", "");
            let bound = frame.binder(&info).bind_table_expr(condition, &table)?;
            let bound = expr::build::truth(bound)?;
            let params = Params::default();
            let ctx = frame.eval_context(&info, &params);
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

fn like(value: &Value, pattern: &[u8]) -> bool {
    match value {
        Value::Bytes(b) => LikePattern::new(pattern, Some('\\'), Collation::Utf8mb4GeneralCi).matches(b),
        _ => false,
    }
}
