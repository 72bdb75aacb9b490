//! Optimizer hints that are about a statement as a whole: SET_VAR, and the warnings of hints that could not be read.
//!
//! A variable that a hint sets has its value from before parsing's end to the end of the statement; whatever happens in
//! between, the session's values come back.

use crate::Frame;
use expr::SqlMode;
use parser::StatementHints;
use parser::ast::{Hint, HintArgs, HintValue};
use types::{Error, ErrorCode, Result, Value, Warning};
use variables::{self, SessionVars};

/// System variables that SET_VAR may set (manual, "Server System Variable Reference": those with "SET_VAR Hint Applies:
/// Yes"), and our own.
const HINTABLE: &[&str] = &[
    "auto_increment_increment",
    "auto_increment_offset",
    "big_tables",
    "bulk_insert_buffer_size",
    "cte_max_recursion_depth",
    "default_tmp_storage_engine",
    "div_precision_increment",
    "end_markers_in_json",
    "eq_range_index_dive_limit",
    "foreign_key_checks",
    "group_concat_max_len",
    "internal_tmp_mem_storage_engine",
    "join_buffer_size",
    "lock_wait_timeout",
    "max_error_count",
    "max_execution_time",
    "max_heap_table_size",
    "max_join_size",
    "max_length_for_sort_data",
    "max_points_in_geometry",
    "max_query_memory",
    "max_seeks_for_key",
    "max_sort_length",
    "optimizer_prune_level",
    "optimizer_search_depth",
    "optimizer_switch",
    "parallel_workers",
    "range_alloc_block_size",
    "range_optimizer_max_mem_size",
    "read_buffer_size",
    "read_rnd_buffer_size",
    "sort_buffer_size",
    "sql_auto_is_null",
    "sql_big_selects",
    "sql_buffer_result",
    "sql_mode",
    "sql_require_primary_key",
    "sql_safe_updates",
    "sql_select_limit",
    "time_zone",
    "timestamp",
    "tmp_table_size",
    "unique_checks",
    "updatable_views_with_limit",
    "use_secondary_engine",
    "windowing_use_high_precision",
];

/// What a statement's SET_VAR hints have put aside.
#[derive(Debug)]
pub struct Hinted {
    vars: SessionVars,
    session_mode: SqlMode,
    mode: SqlMode,
}

impl Frame<'_> {
    /// Variables are as the hints say until [`Frame::end_hints`]; `None`: there are no hints.
    pub fn begin_hints(&mut self, hints: &[Hint]) -> Option<Hinted> {
        if hints.is_empty() {
            return None;
        }
        let before = Hinted { vars: self.vars.clone(), session_mode: self.sql_mode, mode: self.mode };
        self.set_hinted(hints);
        Some(before)
    }

    /// Variables are as they were.
    pub fn end_hints(&mut self, before: Option<Hinted>) {
        if let Some(before) = before {
            self.vars = before.vars;
            self.sql_mode = before.session_mode;
            self.mode = before.mode;
        }
    }

    /// Warns of what could not be read.
    pub fn warn_of_hints(&self, hints: &StatementHints) {
        for text in &hints.warnings {
            self.warn(Warning::of(Error::new(ErrorCode::PARSE, &**text)));
        }
    }

    fn set_hinted(&mut self, hints: &[Hint]) {
        let mut done: Vec<&'static str> = Vec::new();
        let mut set: Vec<(&'static variables::VarDef, Value)> = Vec::new();
        for hint in hints {
            let HintArgs::Variable { name, value } = &hint.args else { continue };
            let Some(def) = variables::find(name) else {
                self.warn(Warning::of(Error::new(
                    ErrorCode::UNRESOLVED_HINT_NAME,
                    format!("Unresolved name '{}' for SET_VAR hint", &**name),
                )));
                continue;
            };
            if !HINTABLE.contains(&def.name) {
                let text = format!("Variable '{}' cannot be set using SET_VAR hint.", def.name);
                self.warn(Warning::of(Error::new(ErrorCode::NOT_HINT_UPDATABLE_VARIABLE, text)));
                continue;
            }
            if done.contains(&def.name) {
                let text = format!("Hint SET_VAR({}={value})  is ignored as conflicting/duplicated", &**name);
                self.warn(Warning::of(Error::new(ErrorCode::WARN_CONFLICTING_HINT, text)));
                continue;
            }
            done.push(def.name);
            set.push((def, value_of(value)));
        }
        for (def, value) in set {
            if let Err(e) = self.set_for_statement(def, &value) {
                self.warn(Warning::of(e));
            }
        }
        self.start_clock();
    }

    fn set_for_statement(&mut self, def: &'static variables::VarDef, value: &Value) -> Result<()> {
        let (text, clamped) = variables::normalize(def, value)?;
        if clamped {
            self.warn(Warning::of(Error::truncated_wrong_value(def.name, crate::rows::display(value))));
        }
        let text = self.check_meaning(def, text, false)?;
        if def.name == "sql_mode" {
            self.mode = variables::parse_sql_mode(&text);
            self.sql_mode = self.mode;
        }
        self.vars.set(def, text);
        Ok(())
    }
}

fn value_of(value: &HintValue) -> Value {
    match value {
        HintValue::Word(w) | HintValue::Text(w) => Value::str(w),
        HintValue::Number(n) => match n.parse::<i64>() {
            Ok(v) => Value::Int(v),
            Err(_) => match n.parse::<u64>() {
                Ok(v) => Value::UInt(v),
                Err(_) => n.parse().map_or(Value::Null, Value::Double),
            },
        },
    }
}
