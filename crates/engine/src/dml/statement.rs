//! An execution as the statement whose changes of rows go through the crate `changes`.

use crate::session::Execution;
use catalog::{Catalog, ForeignKey, Relation, TableDef};
use changes::{EachTime, Settings, Statement};
use executor::MemoryAccountant;
use expr::{EvalContext, Params, SessionInfo, Warnings};
use std::sync::Arc;
use storage::{Store, Txn};
use types::temporal::TimeZone;
use types::value::ConvertMode;
use types::{Result, SqlType, Value, Warning};

impl Statement for Execution<'_> {
    fn settings(&self) -> Settings {
        let hot = self.vars().hot();
        Settings {
            sql_mode: self.sql_mode(),
            auto_increment_step: hot.auto_increment_step,
            auto_increment_offset: hot.auto_increment_offset,
            foreign_key_checks: hot.foreign_key_checks,
            time_us: self.now_us(),
        }
    }

    fn time_zone(&self) -> TimeZone {
        (**self).time_zone()
    }

    fn convert_mode<'z>(&self, zone: &'z TimeZone) -> ConvertMode<'z> {
        (**self).convert_mode(zone)
    }

    fn store(&self) -> &Store {
        self.db().store()
    }

    fn catalog(&self) -> &Catalog {
        self.db().catalog()
    }

    fn warnings(&self) -> &Warnings {
        (**self).warnings()
    }

    fn warn(&self, warning: Warning) {
        (**self).warn(warning);
    }

    fn info(&self) -> SessionInfo {
        (**self).info()
    }

    fn eval_context<'a>(&'a self, info: &'a SessionInfo, params: &'a Params) -> EvalContext<'a> {
        (**self).eval_context(info, params)
    }

    fn check_killed(&self) -> Result<()> {
        (**self).check_killed()
    }

    fn memory(&self) -> &Arc<MemoryAccountant> {
        self.db().memory()
    }

    fn insert_id(&self) -> u64 {
        (**self).insert_id()
    }

    fn take_insert_id(&self) -> u64 {
        (**self).take_insert_id()
    }

    fn holds_absent_keys(&self) -> bool {
        Execution::holds_absent_keys(self)
    }

    fn relation_of_key(&self, schema: &str, name: &str) -> Result<Option<Relation>> {
        (**self).relation_of_key(schema, name)
    }

    fn lock_for_cascade(&self, table: &TableDef) -> Result<()> {
        (**self).lock_for_cascade(table)
    }

    fn reference_text(&self, child: &TableDef, fk: &ForeignKey) -> String {
        use introspection::show_create::{foreign_key, quote};
        format!("{}.{}, {}", quote(&child.schema), quote(&child.name), foreign_key(child, fk))
    }

    fn assigned_each_time(
        &self,
        each_time: &EachTime,
        at: usize,
        values: &[Value],
        txn: &Arc<Txn>,
    ) -> Result<(Value, SqlType)> {
        self.bind_assigned(each_time, at, values, txn)
    }
}
