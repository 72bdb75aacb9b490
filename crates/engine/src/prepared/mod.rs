//! Prepared statements: COM_STMT_PREPARE and its like, and SQL's PREPARE, EXECUTE, DEALLOCATE PREPARE.
//!
//! ```text
//!   prepare ─▶ Prepared { syntax tree, number of parameters, schema } ─ execute(values) ─▶ dispatch, as for text
//! ```
//! A statement is kept as its syntax tree. Each execution binds it anew against the catalog as it then is, with the
//! parameters' values as constants, so that tables may change between executions and `LIMIT ?` works; what repeats
//! often is served by a cached plan instead.
//!
//! - [`registry`]: the statements of a session, by number and by name.
//! - [`sql`]: PREPARE, EXECUTE, DEALLOCATE PREPARE.
//!
//! Invariants
//! 1. A statement runs in the schema that was current when it was prepared, whatever is current when it is executed.
//! 2. `Prepared_stmt_count` counts the statements of all sessions; it never exceeds max_prepared_stmt_count.
//!
//! Source: MySQL manual, "Prepared Statements" and "SQL Syntax Permitted in Prepared Statements".

mod registry;
mod sql;

use crate::query::meta;
use crate::session::{Execution, Session};
use parking_lot::Mutex;
use parser::StatementHints;
use parser::ast::{Insert, Statement};
use session::sink::{ColumnMeta, ResultSink};
use types::{Error, Result, SqlType, Value};

pub(crate) use registry::{Prepared, PreparedSlot, PreparedStatements};

/// Most `?` that a statement may have: clients are told their number in two bytes.
const PARAMS_MAX: u32 = u16::MAX as u32;

/// What a client is told of a statement that it has prepared.
#[derive(Clone, Debug)]
pub struct PreparedInfo {
    pub id: u32,
    pub param_count: u16,
    /// Columns of its result, as far as they are known before its parameters are; empty if it has none.
    pub columns: Vec<ColumnMeta>,
    pub warnings: u64,
}

impl Session {
    /// COM_STMT_PREPARE.
    pub fn prepare(&mut self, text: &[u8]) -> Result<PreparedInfo> {
        self.status().com_stmt_prepare.add(1);
        self.note_command("Prepare", text);
        self.begin_diagnostics();
        let mut x = self.execution();
        let result = x.prepare_statement(text);
        let (statement, columns) = result.map_err(|e| x.failed_to_parse(e))?;
        let (param_count, warnings) = (statement.param_count as u16, x.warnings().count());
        let id = x.prepared_mut().add(statement);
        Ok(PreparedInfo { id, param_count, columns, warnings })
    }

    /// The number of parameters of a prepared statement. `command` names who asks, for error 1243.
    pub fn prepared_param_count(&self, id: u32, command: &str) -> Result<u16> {
        let statement = self.prepared().get(id).ok_or_else(|| Error::unknown_stmt_handler(id, command))?;
        Ok(statement.param_count as u16)
    }

    /// COM_STMT_EXECUTE.
    pub fn execute_prepared(&mut self, id: u32, params: &[(Value, SqlType)], sink: &mut dyn ResultSink) -> Result<()> {
        self.status().com_stmt_execute.add(1);
        let statement = self.prepared().get(id).cloned();
        let statement = statement.ok_or_else(|| Error::unknown_stmt_handler(id, "mysqld_stmt_execute"))?;
        if params.len() != statement.param_count as usize {
            return Err(Error::wrong_arguments("mysqld_stmt_execute"));
        }
        self.process().show_statement(&statement.text);
        self.note_command("Execute", &statement.text);
        let mut x = self.execution();
        if let Some(result) = x.execute_known_prepared(&statement, params, sink) {
            return result;
        }
        x.clear_params();
        x.set_params(params.into());
        if x.current_database() != statement.schema.as_deref() {
            x.swap_schema(Some(statement.schema.clone()));
        }
        x.execute_one(&statement.statement, &statement.hints, &statement.text, false, sink)
    }

    /// Counts a COM_STMT_FETCH.
    pub fn count_fetch(&self) {
        self.status().com_stmt_fetch.add(1);
    }

    /// COM_STMT_CLOSE; nothing happens if there is no such statement.
    pub fn close_prepared(&mut self, id: u32) {
        self.status().com_stmt_close.add(1);
        self.prepared_mut().remove(id);
    }
}

impl Execution<'_> {
    fn prepare_statement(&mut self, text: &[u8]) -> Result<(Prepared, Vec<ColumnMeta>)> {
        executor::memory::check_not_full("A prepared statement")?;
        let parsed = parser::parse_single_overseen(text, &self.parse_options(), Some(&**self))?;
        check_preparable(&parsed.statement)?;
        if parsed.param_count > PARAMS_MAX {
            return Err(Error::ps_many_param());
        }
        self.warn_of_hints(&parsed.hints);
        let columns = self.describe_statement(&parsed.statement)?;
        let slot = self.db().take_prepared_slot()?;
        let statement = Prepared {
            text: text[parsed.start..parsed.end].into(),
            statement: parsed.statement,
            // It has been warned of now.
            hints: StatementHints { warnings: Vec::new(), ..parsed.hints },
            param_count: parsed.param_count,
            schema: self.current_database().map(Into::into),
            plans: Mutex::default(),
            _charge: self.take_tree_charge(),
            _slot: slot,
        };
        Ok((statement, columns))
    }

    /// Finds the faults that can be found before the parameters are known; the columns of a query's result.
    fn describe_statement(&mut self, statement: &Statement) -> Result<Vec<ColumnMeta>> {
        match statement {
            Statement::Query(_) | Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_) => {
                self.with_names(statement, |x| x.describe_bound(statement))
            }
            _ => Ok(Vec::new()),
        }
    }

    fn describe_bound(&self, statement: &Statement) -> Result<Vec<ColumnMeta>> {
        let info = self.info();
        match statement {
            Statement::Query(query) if query.into.is_none() => {
                let logical = self.untyped_binder(&info).with_param_types(&[]).bind_query(query)?;
                Ok(meta::columns(&logical))
            }
            Statement::Insert(insert) => self.describe_insert(insert),
            Statement::Update(update) => {
                self.untyped_binder(&info).with_param_types(&[]).bind_update(update).map(|_| Vec::new())
            }
            Statement::Delete(delete) => {
                self.untyped_binder(&info).with_param_types(&[]).bind_delete(delete).map(|_| Vec::new())
            }
            _ => Ok(Vec::new()),
        }
    }

    fn describe_insert(&self, insert: &Insert) -> Result<Vec<ColumnMeta>> {
        self.insert_into(insert)?;
        Ok(Vec::new())
    }
}

/// 1295 for statements that MySQL does not let clients prepare.
fn check_preparable(statement: &Statement) -> Result<()> {
    use Statement::*;
    let refused = matches!(
        statement,
        Prepare { .. }
            | Execute { .. }
            | Deallocate(_)
            | Begin(_)
            | Savepoint(_)
            | RollbackTo(_)
            | ReleaseSavepoint(_)
            | Use(_)
            | LoadData(_)
            | LockTables(_)
            | UnlockTables
            | LockInstance
            | UnlockInstance
            | Handler(_)
            | Help(_)
            | GetDiagnostics(_)
            | Signal(_)
            | Xa(_)
            | Restart
    );
    if refused { Err(Error::unsupported_ps()) } else { Ok(()) }
}
