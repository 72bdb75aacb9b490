//! What expressions, the planner and information_schema ask a session.

use super::Session;
use crate::database::Database;
use crate::information_schema;
use catalog::{CatalogReader, ColumnDef, Relation, TableDef, TableEngine};
use executor::VirtualTables;
use expr::{SessionInfo, SqlMode, UserVars, Warnings};
use parser::ast::VarScope;
use planner::bind::SystemVariables;
use planner::optimize::{OptimizerSettings, Switches};
use std::sync::Arc;
use types::temporal::{TemporalMode, TimeZone};
use types::value::ConvertMode;
use types::{Collation, DateTime, Error, Result, SqlType, Timestamp, Value, Warning, WarningLevel};
use variables::{self, Scope, VarDef};
use vector::Batch;

/// Sizes of a table as information_schema shows them.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TableSize {
    pub rows: u64,
    /// What rows take.
    pub data_bytes: u64,
    /// Beside that: overwritten strings, places of deleted rows, spare room.
    pub free_bytes: u64,
    pub index_bytes: u64,
    pub auto_increment: Option<u64>,
}

impl Session {
    /// The facts that functions answer from.
    pub(crate) fn info(&self) -> SessionInfo {
        let hot = self.vars.hot();
        SessionInfo {
            sql_mode: self.sql_mode,
            statement_time_us: self.statement_time_us,
            time_zone: self.time_zone(),
            connection_id: self.process.id() as u64,
            user: self.user_at_host.clone(),
            database: self.database.clone(),
            version: types::VERSION,
            last_insert_id: self.last_insert_id,
            row_count: self.row_count,
            found_rows: self.found_rows,
            div_precision_increment: hot.div_precision_increment,
            group_concat_max_len: hot.group_concat_max_len,
            max_allowed_packet: hot.max_allowed_packet,
            default_week_format: hot.default_week_format,
            locale: hot.locale,
            collation_connection: hot.collation_connection,
            locks: Some(self.locks.named.clone()),
            stop: self.process.stop_flag().clone(),
        }
    }

    /// The schema of that name as it is spelled; information_schema in any case.
    pub(crate) fn canonical_schema(&self, name: &str) -> Option<Box<str>> {
        if name.eq_ignore_ascii_case("information_schema") {
            return Some("information_schema".into());
        }
        self.db.catalog().has_schema(name).then(|| name.into())
    }

    pub(crate) fn schema_collation(&self, name: &str) -> Collation {
        self.db.catalog().read(|s| s.get(name).map_or(Collation::default(), |d| d.collation))
    }

    /// All schemas that the session may see, by name.
    pub(crate) fn schemas(&self) -> Vec<(Box<str>, Collation)> {
        if !self.may_see_tables() {
            return vec![("information_schema".into(), Collation::default())];
        }
        self.db.catalog().read(|s| s.values().map(|d| (d.name.clone(), d.collation)).collect())
    }

    /// The relations of one schema or of all, as far as the session may see them.
    pub(crate) fn relations(&self, schema: Option<&str>) -> Vec<Relation> {
        if !self.may_see_tables() {
            return Vec::new();
        }
        let mut out: Vec<Relation> = self.db.catalog().read(|s| {
            s.values()
                .filter(|d| schema.is_none_or(|n| *d.name == *n))
                .flat_map(|d| d.relations.iter().cloned())
                .collect()
        });
        for server in ["information_schema", "mysql", "performance_schema", "sys"] {
            if schema.is_none_or(|n| n == server) {
                out.extend(information_schema::relations(server));
            }
        }
        out
    }

    pub(crate) fn table_size(&self, t: &TableDef) -> TableSize {
        if t.engine == TableEngine::Virtual {
            return TableSize::default();
        }
        let Some(table) = self.db.store().table(t.id) else { return TableSize::default() };
        let space = table.space();
        TableSize {
            rows: table.row_count(),
            data_bytes: space.data_bytes as u64,
            free_bytes: space.free_bytes as u64,
            index_bytes: space.index_bytes as u64,
            auto_increment: self.next_auto_increment(t),
        }
    }

    /// What the next row gets in the table's AUTO_INCREMENT column, if it has one.
    pub(crate) fn next_auto_increment(&self, t: &TableDef) -> Option<u64> {
        let has = t.columns.iter().any(|c| c.auto_increment);
        Some(self.db.store().table(t.id).filter(|_| has)?.auto_increment())
    }

    /// Estimated number of distinct values of a tuple of columns.
    pub(crate) fn distinct_estimate(&self, t: &TableDef, columns: &[usize], unique: bool) -> i64 {
        let Some(stats) = catalog::Statistics::table(self.db.store(), t.id) else { return 0 };
        if unique {
            return stats.rows as i64;
        }
        stats.distinct_tuples(columns).min(stats.rows as f64).round() as i64
    }

    pub(crate) fn time_zone(&self) -> TimeZone {
        self.vars.hot().time_zone.clone().unwrap_or(TimeZone::Utc)
    }

    /// An instant as a DATETIME in the session's time zone.
    pub(crate) fn local_datetime(&self, unix_us: i64) -> DateTime {
        self.time_zone().to_datetime(Timestamp(unix_us))
    }
}

/// The catalog with information_schema added.
impl CatalogReader for Session {
    fn relation(&self, schema: &str, name: &str) -> Option<Relation> {
        if !self.may_see_tables() {
            self.hide(name);
            return None;
        }
        if information_schema::is_virtual(schema) || information_schema::is_virtual_table(schema, name) {
            return information_schema::relation(schema, name);
        }
        if let Some(t) = self.temporary().get(schema, name) {
            return Some(Relation::Table(t.clone()));
        }
        self.stored_relation(schema, name)
    }

    fn stored_relation(&self, schema: &str, name: &str) -> Option<Relation> {
        if !self.may_see_tables() {
            self.hide(name);
            return None;
        }
        if information_schema::is_virtual(schema) || information_schema::is_virtual_table(schema, name) {
            return information_schema::relation(schema, name);
        }
        if crate::statistics::costs::is_cost_table(schema, name)
            && let Err(e) = self.need_cost_tables(name)
        {
            self.locks.fail(e);
            return None;
        }
        if let Err(e) = self.lock_named(schema, name) {
            self.locks.fail(e);
            return None;
        }
        self.db.catalog().relation(schema, name)
    }

    fn is_temporary(&self, schema: &str, name: &str) -> bool {
        self.temporary().get(schema, name).is_some()
    }

    fn has_schema(&self, schema: &str) -> bool {
        // Whoever may see no tables does not learn either what schemas there are.
        !self.may_see_tables() || self.canonical_schema(schema).is_some()
    }
}

impl Session {
    pub(crate) fn db(&self) -> &Arc<Database> {
        &self.db
    }

    pub(crate) fn user_vars(&self) -> &UserVars {
        &self.user_vars
    }

    pub(crate) fn warnings(&self) -> &Warnings {
        &self.warnings
    }

    pub(crate) fn sql_mode(&self) -> SqlMode {
        self.sql_mode
    }

    pub(crate) fn diagnostics(&self) -> &[Warning] {
        &self.diagnostics
    }

    /// How many warnings, or errors, the last statement had, kept or not.
    pub(crate) fn diagnostics_total(&self, errors_only: bool) -> u64 {
        if errors_only {
            self.diagnostics.iter().filter(|w| w.level == WarningLevel::Error).count() as u64
        } else {
            self.diagnostics_count
        }
    }

    pub(crate) fn set_last_insert_id(&mut self, id: u64) {
        self.last_insert_id = id;
    }

    pub(crate) fn set_found_rows(&mut self, rows: u64) {
        self.found_rows = rows;
        self.row_count = -1;
        self.running.rows_sent = rows;
    }

    /// What ROW_COUNT() says after a statement that sent rows and changed some.
    pub(crate) fn set_row_count(&mut self, rows: u64) {
        self.row_count = rows as i64;
    }

    pub(crate) fn leave_database(&mut self) {
        self.database = None;
        self.process.set_database(None);
    }

    /// A variable's text in the session or globally; live values for those that say what is.
    pub(crate) fn variable_text(&self, def: &VarDef, global: bool) -> String {
        match def.name {
            "warning_count" => self.diagnostics_count.to_string(),
            "error_count" => self.diagnostics_total(true).to_string(),
            "identity" | "last_insert_id" => self.last_insert_id.to_string(),
            "insert_id" => self.insert_id().to_string(),
            "pseudo_thread_id" => self.process.id().to_string(),
            "timestamp" if self.vars.text("timestamp") == "0.000000" => {
                format!("{:.6}", self.statement_time_us as f64 / 1e6)
            }
            _ if global => self.db.variables().get(def).into_string(),
            _ => self.vars.get(def).map_or_else(|| self.db.variables().get(def).into_string(), str::to_string),
        }
    }

    pub(crate) fn optimizer_settings(&self) -> OptimizerSettings {
        OptimizerSettings {
            switch: self.vars().hot().switches,
            limits: self.vars().hot().limits,
            cost: (*self.db().costs()).clone(),
            ..OptimizerSettings::default()
        }
    }

    /// How values are fitted to columns.
    pub(crate) fn convert_mode<'z>(&self, zone: &'z TimeZone) -> ConvertMode<'z> {
        ConvertMode {
            strict: self.sql_mode.strict,
            temporal: TemporalMode {
                no_zero_date: self.sql_mode.no_zero_date,
                no_zero_in_date: self.sql_mode.no_zero_in_date,
                allow_invalid_dates: self.sql_mode.allow_invalid_dates,
                truncate_fractional: self.sql_mode.time_truncate_fractional,
            },
            zone,
            today: zone.to_datetime(Timestamp(self.statement_time_us)).date(),
        }
    }

    /// A constant default in its column's type; any loss is an error.
    pub(crate) fn convert_default(&self, value: &Value, ty: &SqlType, c: &ColumnDef) -> Result<Value> {
        let zone = self.time_zone();
        let mode = ConvertMode { strict: true, ..self.convert_mode(&zone) };
        let value = crate::dml::stored_form(value, ty, &zone);
        let stored = crate::dml::store(&value, c, 1, &mode)?;
        let fits = stored.beyond == 0;
        if fits { Ok(stored.value) } else { Err(Error::warn_data_out_of_range(&c.name, 1)) }
    }
}

impl SystemVariables for Session {
    fn get(&self, name: &str, scope: Option<VarScope>) -> Result<(Value, SqlType)> {
        let def = variables::require(name)?;
        let global = match scope {
            Some(VarScope::Global) if def.scope == Scope::Session => {
                return Err(Error::incorrect_global_local_var(def.name, "SESSION"));
            }
            Some(VarScope::Session) if def.scope == Scope::Global => {
                return Err(Error::incorrect_global_local_var(def.name, "GLOBAL"));
            }
            Some(VarScope::Global) => true,
            _ => def.scope == Scope::Global,
        };
        Ok(variables::sql_value(def, &self.variable_text(def, global)))
    }

    fn user_variable(&self, name: &str) -> Option<(Value, SqlType)> {
        self.user_vars.get(name).map(|held| (*held).clone())
    }

    fn user_variable_type(&self, name: &str) -> Option<SqlType> {
        self.user_vars.get(name).map(|held| held.1)
    }

    fn switches(&self) -> Switches {
        self.vars().hot().switches
    }
}

impl VirtualTables for Session {
    fn read(
        &self,
        schema: &str,
        name: &str,
        _table: &TableDef,
        columns: &[usize],
        wanted: &[(usize, Value)],
    ) -> Result<Vec<Batch>> {
        let rows = information_schema::rows(self, schema, name, wanted)
            .ok_or_else(|| Error::internal(format_args!("no server table {name}")))?;
        Ok(rows.batches(columns))
    }
}
