//! mysql.server_cost and mysql.engine_cost: the optimizer's cost constants as tables that an administrator changes.
//!
//! ```text
//!   UPDATE mysql.engine_cost SET cost_value = .. ─▶ a row ─ FLUSH OPTIMIZER_COSTS, or a start ─▶ all CostParams
//! ```
//! They are ordinary tables, made when somebody first names one of them; until then there is nothing to read. A
//! `cost_value` of NULL means the default, which `default_value` shows. MySQL's constants have no unit; here each is a
//! factor, its value over its default, on those of ours that it stands for. Ours are in engine_cost under the engine's
//! name, in nanoseconds of one core. Values that are not above zero are not taken.
//!
//! MySQL manual, "The Optimizer Cost Model".

use crate::database::Database;
use crate::session::Execution;
use planner::optimize::cost::CostParams;
use session::Frame;
use session::collect::Collect;
use std::fmt::Write;
use std::sync::Arc;
use types::Result;

/// MySQL's constants of mysql.server_cost, with their defaults and what of ours they stand for.
const SERVER_COSTS: &[(&str, f64, &[&str])] = &[
    ("disk_temptable_create_cost", 20.0, &[]),
    ("disk_temptable_row_cost", 0.5, &[]),
    ("key_compare_cost", 0.05, &["sort_compare"]),
    ("memory_temptable_create_cost", 1.0, &[]),
    ("memory_temptable_row_cost", 0.1, &["hash_build", "group"]),
    ("row_evaluate_cost", 0.1, &["scan", "predicate", "pair", "output"]),
];

/// Those of mysql.engine_cost, for the engine `default`.
const ENGINE_COSTS: &[(&str, f64, &[&str])] = &[
    ("io_block_read_cost", 1.0, &[]),
    (
        "memory_block_read_cost",
        0.25,
        &[
            "key_lookup",
            "index_open",
            "index_descent",
            "index_row",
            "lonely_row",
            "index_entry",
            "multi_range_row",
            "leaf_visit",
            "merge_row_id",
            "random_row",
            "batched_descent",
            "batched_row",
            "fetch_column",
            "cache_miss",
        ],
    ),
];

/// The engine under whose name our constants are.
const OURS: &str = "InnoDB";

/// Tables that are made when they are first named.
const TABLES: [&str; 2] = ["server_cost", "engine_cost"];

pub fn is_cost_table(schema: &str, name: &str) -> bool {
    schema == "mysql" && TABLES.contains(&name)
}

/// `CASE cost_name WHEN .. THEN .. END`
fn default_clause(costs: &[(&str, f64)]) -> String {
    let mut out = String::from("CASE cost_name");
    for (name, value) in costs {
        let _ = write!(out, " WHEN '{name}' THEN {value:?}");
    }
    out + " ELSE NULL END"
}

fn named(costs: &[(&'static str, f64, &[&str])]) -> Vec<(&'static str, f64)> {
    costs.iter().map(|(name, default, _)| (*name, *default)).collect()
}

fn ours() -> Vec<(&'static str, f64)> {
    CostParams::default().named().into_iter().map(|(name, value)| (name, *value)).collect()
}

/// CREATE TABLE statements.
fn definitions() -> [String; 2] {
    let common = |costs: &[(&str, f64)]| {
        format!(
            "cost_name VARCHAR(64) NOT NULL, cost_value DOUBLE DEFAULT NULL, \
             last_update TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP, \
             comment VARCHAR(1024) DEFAULT NULL, default_value DOUBLE GENERATED ALWAYS AS ({}) VIRTUAL",
            default_clause(costs)
        )
    };
    let of_engines = [named(ENGINE_COSTS), ours()].concat();
    [
        format!("CREATE TABLE mysql.server_cost ({}, PRIMARY KEY (cost_name))", common(&named(SERVER_COSTS))),
        format!(
            "CREATE TABLE mysql.engine_cost (engine_name VARCHAR(64) NOT NULL, device_type INT NOT NULL, {}, \
             PRIMARY KEY (cost_name, engine_name, device_type))",
            common(&of_engines)
        ),
    ]
}

/// INSERT statements for the rows that a new database has.
fn first_rows() -> [String; 2] {
    let list = |costs: &[(&str, f64)], engine: Option<&str>| {
        let row = |name: &str| match engine {
            Some(engine) => format!("('{engine}', 0, '{name}')"),
            None => format!("('{name}')"),
        };
        costs.iter().map(|(name, _)| row(name)).collect::<Vec<_>>().join(", ")
    };
    [
        format!("INSERT INTO mysql.server_cost (cost_name) VALUES {}", list(&named(SERVER_COSTS), None)),
        format!(
            "INSERT INTO mysql.engine_cost (engine_name, device_type, cost_name) VALUES {}, {}",
            list(&named(ENGINE_COSTS), Some("default")),
            list(&ours(), Some(OURS))
        ),
    ]
}

impl Database {
    /// Makes the tables that there are not yet.
    pub(crate) fn make_cost_tables(self: &Arc<Self>) -> Result<()> {
        let _one = self.cost_tables().lock();
        let mut session = self.system_session();
        for ((name, definition), rows) in TABLES.iter().zip(definitions()).zip(first_rows()) {
            if self.catalog().relation("mysql", name).is_some() {
                continue;
            }
            session.execute(b"SET sql_mode = ''", false, &mut Collect::without_rows())?;
            session.execution().create_system_table(name, definition.as_bytes())?;
            session.execute(rows.as_bytes(), false, &mut Collect::without_rows())?;
        }
        Ok(())
    }

    /// The constants as the tables have them now; without tables, the defaults.
    pub(crate) fn read_costs(self: &Arc<Self>) -> Result<CostParams> {
        let mut costs = CostParams::default();
        let has = |name: &&&str| self.catalog().relation("mysql", name).is_some();
        if TABLES.iter().filter(has).count() < TABLES.len() {
            return Ok(costs);
        }
        let mut session = self.system_session();
        let mut read = |sql: &str| -> Result<Vec<(String, f64)>> {
            let mut found = Collect::default();
            session.execute(sql.as_bytes(), false, &mut found)?;
            let rows = found.texts().into_iter().filter_map(|row| {
                let [Some(name), Some(value)] = &row[..] else { return None };
                Some((name.clone(), value.parse().ok().filter(|v: &f64| v.is_finite() && *v > 0.0)?))
            });
            Ok(rows.collect())
        };
        let factors = read("SELECT cost_name, cost_value FROM mysql.server_cost")?;
        apply_factors(&mut costs, SERVER_COSTS, &factors);
        let factors = read("SELECT cost_name, cost_value FROM mysql.engine_cost WHERE engine_name = 'default'")?;
        apply_factors(&mut costs, ENGINE_COSTS, &factors);
        // What is said of the engine itself goes before what is said of all.
        let of_engine = "SELECT cost_name, cost_value FROM mysql.engine_cost WHERE engine_name = 'InnoDB'";
        let values = read(of_engine)?;
        apply_factors(&mut costs, ENGINE_COSTS, &values);
        for (name, value) in costs.named() {
            if let Some((_, new)) = values.iter().find(|(n, _)| n == name) {
                *value = *new;
            }
        }
        Ok(costs)
    }

    /// A statement that names a cost table finds it: if there are none yet, they are made. Says whether they were.
    pub(crate) fn make_named_cost_tables(self: &Arc<Self>, frame: &Frame<'_>, names: &names::Names) -> Result<bool> {
        let missing = |o: &names::Object| o.relation.is_none() && is_cost_table(&o.schema, &o.name);
        // Who keeps all writers out would wait for himself.
        if !names.objects().iter().any(missing) || frame.keeps_writers_out() {
            return Ok(false);
        }
        self.make_cost_tables().map(|()| true)
    }

    /// FLUSH OPTIMIZER_COSTS.
    pub(crate) fn flush_costs(self: &Arc<Self>) -> Result<()> {
        let costs = self.read_costs()?;
        *self.costs_cell().write() = Arc::new(costs);
        // Plans that were made with others go.
        self.forget_plans();
        Ok(())
    }
}

fn apply_factors(costs: &mut CostParams, known: &[(&str, f64, &[&str])], given: &[(String, f64)]) {
    for (name, default, parts) in known {
        let Some((_, value)) = given.iter().find(|(n, _)| n == name) else { continue };
        for (ours, cost) in costs.named() {
            if parts.contains(&ours) {
                *cost *= value / default;
            }
        }
    }
}

impl Execution<'_> {
    /// Makes a table of the schema `mysql`, where users make none.
    fn create_system_table(&mut self, name: &str, text: &[u8]) -> Result<()> {
        let id = self.db().catalog().new_table_id();
        let mut def = self.define_from_text(id, "mysql", name, text)?;
        def.created_at = self.now_us() / 1_000_000;
        self.publish_table(&Arc::new(def), None, true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_constant_named_exists() {
        let ours: Vec<&str> = ours().iter().map(|c| c.0).collect();
        for (_, default, parts) in SERVER_COSTS.iter().chain(ENGINE_COSTS) {
            assert!(*default > 0.0 && parts.iter().all(|p| ours.contains(p)));
        }
    }
}
