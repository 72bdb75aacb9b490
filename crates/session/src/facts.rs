//! What expressions, the planner and information_schema ask a session.

use crate::Frame;
use catalog::{CatalogReader, Relation, TableDef, TableEngine};
use executor::VirtualTables;
use expr::SessionInfo;
use parser::ast::{ObjectName, VarScope};
use planner::bind::SystemVariables;
use planner::optimize::{OptimizerSettings, Switches};
use std::sync::Arc;
use types::temporal::{TemporalMode, TimeZone};
use types::value::ConvertMode;
use types::{Collation, DateTime, Error, Result, SqlType, Timestamp, Value};
use variables::{self, Scope, VarDef};
use vector::Batch;

/// Sizes of a table as information_schema shows them.
#[derive(Debug, Clone, Copy, Default)]
pub struct TableSize {
    pub rows: u64,
    /// What rows take.
    pub data_bytes: u64,
    /// Beside that: overwritten strings, places of deleted rows, spare room.
    pub free_bytes: u64,
    pub index_bytes: u64,
    pub auto_increment: Option<u64>,
}

impl Frame<'_> {
    /// The facts that functions answer from.
    pub fn info(&self) -> SessionInfo {
        let hot = self.vars.hot();
        SessionInfo {
            sql_mode: self.sql_mode(),
            statement_time_us: self.now_us(),
            time_zone: self.time_zone(),
            connection_id: self.process.id() as u64,
            user: self.user_at_host.clone(),
            database: self.schema_name(),
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

    /// The schema and name of an object; 1046 without a current database.
    pub fn resolve_name(&self, name: &ObjectName) -> Result<(Box<str>, Box<str>)> {
        let schema = match &name.schema {
            Some(s) => self.canonical_schema(s).ok_or_else(|| Error::bad_db(s.as_str()))?,
            None => self.current_database().ok_or_else(Error::no_db)?.into(),
        };
        Ok((schema, name.name.as_str().into()))
    }

    /// A base table by name; 1146, or 1347 for a view.
    pub fn base_table(&self, name: &ObjectName) -> Result<Arc<TableDef>> {
        let (schema, name) = self.resolve_name(name)?;
        match CatalogReader::relation(self, &schema, &name)? {
            Some(Relation::Table(t)) => Ok(t),
            Some(Relation::View(_)) => Err(Error::wrong_object(&schema, &name, "BASE TABLE")),
            None => Err(Error::no_such_table(&schema, &name)),
        }
    }

    /// All schemas that the session may see, by name.
    pub fn schemas(&self) -> Vec<(Box<str>, Collation)> {
        if !self.may_see_tables() {
            return vec![("information_schema".into(), Collation::default())];
        }
        self.db.catalog().read(|s| s.values().map(|d| (d.name.clone(), d.collation)).collect())
    }

    /// The relations of one schema or of all, as far as the session may see them.
    pub fn relations(&self, schema: Option<&str>) -> Vec<Relation> {
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
                out.extend(self.db.tables().relations(server));
            }
        }
        out
    }

    pub fn table_size(&self, t: &TableDef) -> TableSize {
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
    pub fn next_auto_increment(&self, t: &TableDef) -> Option<u64> {
        let has = t.columns.iter().any(|c| c.auto_increment);
        Some(self.db.store().table(t.id).filter(|_| has)?.auto_increment())
    }

    /// Estimated number of distinct values of a tuple of columns.
    pub fn distinct_estimate(&self, t: &TableDef, columns: &[usize], unique: bool) -> i64 {
        let Some(stats) = catalog::Statistics::table(self.db.store(), t.id) else { return 0 };
        if unique {
            return stats.rows as i64;
        }
        stats.distinct_tuples(columns).min(stats.rows as f64).round() as i64
    }

    pub fn time_zone(&self) -> TimeZone {
        self.vars.hot().time_zone.clone().unwrap_or(TimeZone::Utc)
    }

    /// An instant as a DATETIME in the session's time zone.
    pub fn local_datetime(&self, unix_us: i64) -> DateTime {
        self.time_zone().to_datetime(Timestamp(unix_us))
    }
}

impl Frame<'_> {
    /// A variable's text in the session or globally; live values for those that say what is.
    pub fn variable_text(&self, def: &VarDef, global: bool) -> String {
        match def.name {
            "warning_count" => self.diagnostics_count.to_string(),
            "error_count" => self.diagnostics_total(true).to_string(),
            "identity" | "last_insert_id" => self.last_insert_id.to_string(),
            "insert_id" => self.insert_id().to_string(),
            "pseudo_thread_id" => self.process.id().to_string(),
            "timestamp" if self.vars.text("timestamp") == "0.000000" => {
                format!("{:.6}", self.now_us() as f64 / 1e6)
            }
            _ if global => self.db.variables().get(def).into_string(),
            _ => self.vars.get(def).map_or_else(|| self.db.variables().get(def).into_string(), str::to_string),
        }
    }

    pub fn optimizer_settings(&self) -> OptimizerSettings {
        OptimizerSettings {
            switch: self.vars().hot().switches,
            limits: self.vars().hot().limits,
            cost: (*self.db().costs()).clone(),
            ..OptimizerSettings::default()
        }
    }

    /// How values are fitted to columns.
    pub fn convert_mode<'z>(&self, zone: &'z TimeZone) -> ConvertMode<'z> {
        ConvertMode {
            strict: self.mode.strict,
            temporal: TemporalMode {
                no_zero_date: self.mode.no_zero_date,
                no_zero_in_date: self.mode.no_zero_in_date,
                allow_invalid_dates: self.mode.allow_invalid_dates,
                truncate_fractional: self.mode.time_truncate_fractional,
            },
            zone,
            today: zone.to_datetime(Timestamp(self.now_us())).date(),
        }
    }
}

impl SystemVariables for Frame<'_> {
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

impl VirtualTables for Frame<'_> {
    fn read(
        &self,
        schema: &str,
        name: &str,
        _table: &TableDef,
        columns: &[usize],
        wanted: &[(usize, Value)],
    ) -> Result<Vec<Batch>> {
        let rows = self
            .db
            .tables()
            .rows(self, schema, name, wanted)
            .ok_or_else(|| Error::internal(format_args!("no server table {name}")))?;
        Ok(rows.batches(columns))
    }
}
