//! What changes of rows ask of the statement that makes them.

use crate::duplicate::EachTime;
use catalog::{Catalog, ForeignKey, Relation, TableDef};
use executor::MemoryAccountant;
use expr::{EvalContext, Params, SessionInfo, SqlMode, Warnings};
use std::sync::Arc;
use storage::{Store, Txn};
use types::temporal::TimeZone;
use types::value::ConvertMode;
use types::{Result, SqlType, Value, Warning};

/// What a statement has of its session's variables, as they were when it began.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    pub sql_mode: SqlMode,
    pub auto_increment_step: u64,
    pub auto_increment_offset: u64,
    pub foreign_key_checks: bool,
    /// Its clock, microseconds since 1970.
    pub time_us: i64,
}

/// A statement that changes rows. Sessions are such; so will be whatever else brings rows.
pub trait Statement {
    fn settings(&self) -> Settings;
    fn time_zone(&self) -> TimeZone;
    /// How values are fitted to columns.
    fn convert_mode<'z>(&self, zone: &'z TimeZone) -> ConvertMode<'z>;
    fn store(&self) -> &Store;
    fn catalog(&self) -> &Catalog;

    fn warnings(&self) -> &Warnings;
    /// Unless it is a note, and these are not wanted.
    fn warn(&self, warning: Warning);

    /// The facts that functions answer from, and what expressions are evaluated in.
    fn info(&self) -> SessionInfo;
    fn eval_context<'a>(&'a self, info: &'a SessionInfo, params: &'a Params) -> EvalContext<'a>;

    /// Error 1317 if it was killed.
    fn check_killed(&self) -> Result<()>;
    /// What rows are charged to that are long alone.
    fn memory(&self) -> &Arc<MemoryAccountant>;

    /// The value that SET insert_id named; 0: none.
    fn insert_id(&self) -> u64;
    /// The same, and none from then on.
    fn take_insert_id(&self) -> u64;

    /// Whether keys that were looked for in vain stay absent until its transaction ends.
    fn holds_absent_keys(&self) -> bool;
    /// A table that a foreign key leads to, or comes from, with its definition kept in place.
    fn relation_of_key(&self, schema: &str, name: &str) -> Result<Option<Relation>>;
    /// Rows of a table are about to be changed because those that they refer to were.
    fn lock_for_cascade(&self, table: &TableDef) -> Result<()>;
    /// A foreign key as SHOW CREATE TABLE has it, with its table: for errors 1451 and 1452.
    fn reference_text(&self, child: &TableDef, fk: &ForeignKey) -> String;

    /// The value of an assignment that is bound anew for each row, over what the row's columns, and what is read beside
    /// them, hold by now. `at`: its position.
    fn assigned_each_time(
        &self,
        each_time: &EachTime,
        at: usize,
        values: &[Value],
        txn: &Arc<Txn>,
    ) -> Result<(Value, SqlType)>;
}
