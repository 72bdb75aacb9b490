//! The statement LOAD DATA: names, clauses, defaults, the file.
//!
//! With LOCAL the client sends the file, and since it cannot be stopped halfway, LOCAL means IGNORE: misfits become
//! warnings, rows with existing keys are skipped. SET and defaults that are expressions are evaluated row by row, on
//! one thread, as are generated AUTO_INCREMENT values, which follow the order of the lines.

use super::columns::{ColumnTarget, FileCharset};
use super::format::Format;
use super::rows::RowLoad;
use super::run::{FieldTarget, Fill, Load, Loaded};
use super::source::{self, Source};
use crate::session::Execution;
use catalog::{ColumnDef, DefaultValue, TableDef};
use changes::{AutoIncrement, RowsChanged, now};
use expr::{Expr, Params};
use parser::ast::{ExprKind, LoadData, LoadDuplicates, LoadTarget};
use session::sink::ResultSink;
use std::io::Read;
use std::sync::Arc;
use types::value::ConvertMode;
use types::{Collation, Error, ErrorCode, Result, SqlType, StringKind, Value};

/// The type of a user variable that takes a field.
pub(super) const FIELD_TYPE: SqlType =
    SqlType::String { kind: StringKind::LongText, len: u32::MAX, collation: Collation::Utf8mb4_0900AiCi };

/// More threads than this help nobody: one reads the input.
const WORKERS_MAX: usize = 16;

/// Where fields go and what other columns get, by name resolved.
struct Targets {
    fields: Vec<FieldTarget>,
    fills: Vec<(usize, Fill)>,
    user_vars: Vec<Box<str>>,
    /// Evaluated for each row; [`Fill::Computed`] names them by position.
    computed: Vec<Expr>,
    generates: bool,
}

impl Execution<'_> {
    pub(crate) fn load_data(&mut self, l: &LoadData, more: bool, sink: &mut dyn ResultSink) -> Result<()> {
        self.status().com_load.add(1);
        let unsupported = [(l.xml, "LOAD XML"), (!l.partitions.is_empty(), "PARTITION")];
        if let Some((_, what)) = unsupported.iter().find(|(used, _)| *used) {
            return Err(Error::not_supported(what));
        }
        let format = Format::new(&l.format)?;
        let charset =
            file_charset(l.charset.as_ref().map_or(self.vars().text("character_set_database"), |c| c.as_str()))?;
        let def = self.insertable(&l.table)?;
        let local_allowed = self.db().variables().by_name("local_infile").is_some_and(|v| &*v == "ON");
        if l.local && !local_allowed {
            return Err(Error::client_local_files_disabled());
        }
        let ignore = l.local || l.duplicates == LoadDuplicates::Ignore;
        if self.loads_by_row(l, &def)? {
            return self.load_rows(l, &def, &format, charset, more, sink);
        }
        let targets = self.load_targets(l, &def)?;
        let (txn, savepoint) = self.begin_change_of(def.temporary)?;
        let process = self.process().clone();
        let check_killed = || process.check_killed();
        // A client sends all of its file; what is left of it is read when the rows of a failed load are gone.
        let mut source = None;
        let result = self.source_of(l, sink, &check_killed).and_then(|opened| {
            let Source { length, input } = source.insert(opened);
            self.load_from(l, &def, &format, charset, ignore, &targets, &txn, &mut **input, *length)
        });
        let loaded = self.end_change(savepoint, result);
        drop(source);
        let loaded = loaded?;
        for (name, value) in targets.user_vars.iter().zip(loaded.user_vars) {
            let value = value.map_or(Value::Null, |b| Value::Bytes(b.into()));
            self.user_vars().set(name, value, FIELD_TYPE)?;
        }
        // Of a load LAST_INSERT_ID() alone tells it, not the answer.
        if let Some(id) = loaded.first_generated {
            self.set_last_insert_id(id);
        }
        let inserted = loaded.rows - loaded.skipped;
        let table = self.db().store().expect_table(&def)?;
        self.count_rows(table.io().of(None), RowsChanged::inserted(inserted));
        let info = format!(
            "Records: {}  Deleted: 0  Skipped: {}  Warnings: {}",
            loaded.rows,
            loaded.skipped,
            self.warnings().count()
        );
        self.send_ok(inserted, info, more, sink)
    }

    /// Whether the load has to go row by row.
    fn loads_by_row(&self, l: &LoadData, def: &TableDef) -> Result<bool> {
        let by_row = |c: &ColumnDef| c.generated.is_some() || c.default.reads_row() || c.float_digits.is_some();
        let has_rules = def.columns.iter().any(by_row) || !def.checks.is_empty() || !def.foreign_keys.is_empty();
        let from_insert_id = self.insert_id() != 0 && def.columns.iter().any(|c| c.auto_increment);
        if has_rules || from_insert_id || l.duplicates == LoadDuplicates::Replace {
            return Ok(true);
        }
        for a in l.set.iter().filter(|a| !matches!(a.value.kind, ExprKind::Default)) {
            match self.bind_constant_expr(&a.value) {
                Err(e) if e.code() == ErrorCode::BAD_FIELD => return Ok(true),
                _ => {}
            }
        }
        Ok(false)
    }

    fn load_rows(
        &mut self,
        l: &LoadData,
        def: &Arc<TableDef>,
        format: &Format,
        charset: FileCharset,
        more: bool,
        sink: &mut dyn ResultSink,
    ) -> Result<()> {
        let replace = l.duplicates == LoadDuplicates::Replace;
        // LOCAL: misfits are warnings, even with REPLACE.
        let ignore = l.local || l.duplicates == LoadDuplicates::Ignore;
        let (txn, savepoint) = self.begin_change_of(def.temporary)?;
        let process = self.process().clone();
        let run = |session: &Execution<'_>, input: &mut dyn Read, bytes_total: u64| {
            let progress = |done| process.set_load_progress(done, bytes_total);
            let load = RowLoad {
                session,
                def,
                format,
                charset,
                ignore_lines: l.ignore_lines,
                replace,
                ignore,
                progress: &progress,
            };
            load.run(l, txn.clone(), input)
        };
        let check_killed = || process.check_killed();
        let mut source = None;
        let result = self.source_of(l, sink, &check_killed).and_then(|opened| {
            let Source { length, input } = source.insert(opened);
            run(self, &mut **input, *length)
        });
        let written = self.end_change(savepoint, result);
        drop(source);
        let written = written?;
        if let Some(id) = written.first_generated {
            self.set_last_insert_id(id);
        }
        self.count_written(def, &written)?;
        let info = format!(
            "Records: {}  Deleted: {}  Skipped: {}  Warnings: {}",
            written.rows,
            written.deleted,
            written.rows - written.copied,
            self.warnings().count()
        );
        self.send_ok(written.copied + written.deleted, info, more, sink)
    }

    #[allow(clippy::too_many_arguments)]
    fn load_from(
        &self,
        l: &LoadData,
        def: &Arc<TableDef>,
        format: &Format,
        charset: FileCharset,
        ignore: bool,
        targets: &Targets,
        txn: &Arc<storage::Txn>,
        input: &mut dyn Read,
        bytes_total: u64,
    ) -> Result<Loaded> {
        let table = self.db().store().expect_table(def)?;
        let zone = self.time_zone();
        let mode = self.convert_mode(&zone);
        let process = self.process().clone();
        let info = self.info();
        let params = Params::default();
        let context = self.eval_context(&info, &params);
        let compute = |fields: &[Option<Vec<u8>>]| -> Result<Vec<Value>> {
            for (name, value) in targets.user_vars.iter().zip(fields) {
                let value = value.as_ref().map_or(Value::Null, |b| Value::Bytes(b.as_slice().into()));
                context.user_vars.set(name, value, FIELD_TYPE)?;
            }
            let value = |e| Ok(changes::stored_form(&expr::eval::eval_const(e, &context)?, &e.ty, &zone));
            targets.computed.iter().map(value).collect()
        };
        let hot = self.vars().hot();
        let one_by_one = targets.generates || !targets.computed.is_empty();
        let load = Load {
            table: &table,
            txn,
            format,
            ignore_lines: l.ignore_lines,
            targets: targets.fields.clone(),
            fills: targets.fills.clone(),
            user_vars: targets.user_vars.len(),
            compute: if targets.computed.is_empty() { None } else { Some(&compute) },
            mode: ConvertMode { strict: mode.strict && !ignore, ..mode },
            charset,
            ids: AutoIncrement::of(def, hot.auto_increment_step, hot.auto_increment_offset),
            no_auto_value_on_zero: self.sql_mode().no_auto_value_on_zero,
            ignore_duplicates: ignore,
            warnings: self.warnings(),
            workers: if one_by_one { 1 } else { self.load_workers() },
            memory: self.statement_memory(),
            check_killed: &|| process.check_killed(),
            progress: &|done| process.set_load_progress(done, bytes_total),
        };
        load.run(input)
    }

    fn load_workers(&self) -> usize {
        let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
        self.db().options().workers.map_or(cores, |w| w + 1).min(WORKERS_MAX)
    }

    fn load_targets(&self, l: &LoadData, def: &Arc<TableDef>) -> Result<Targets> {
        let target = |c: usize| ColumnTarget::new(c, &def.columns[c]);
        let mut t = Targets { fields: vec![], fills: vec![], user_vars: vec![], computed: vec![], generates: false };
        let mut assigned: Vec<usize> = Vec::new();
        for a in &l.set {
            let c = column_named(def, &a.column)?;
            if assigned.contains(&c) {
                return Err(Error::field_specified_twice(&def.columns[c].name));
            }
            assigned.push(c);
        }
        let mut listed = Vec::new();
        let all: Vec<LoadTarget>;
        let fields = match &l.columns {
            Some(fields) => fields,
            None => {
                for c in (0..def.columns.len()).filter(|&c| !def.columns[c].invisible) {
                    t.push_field(c, &assigned, target(c), &mut listed);
                }
                all = Vec::new();
                &all
            }
        };
        for field in fields {
            match field {
                LoadTarget::UserVar(name) => t.push_user_var(name.as_str()),
                LoadTarget::Column(name) => {
                    let c = column_named(def, name)?;
                    if listed.contains(&c) {
                        return Err(Error::field_specified_twice(&def.columns[c].name));
                    }
                    t.push_field(c, &assigned, target(c), &mut listed);
                }
            }
        }
        // The variables take text; SET is bound with that in mind.
        for name in &t.user_vars {
            self.user_vars().set(name, Value::Null, FIELD_TYPE)?;
        }
        for c in 0..def.columns.len() {
            let set = l.set.iter().zip(&assigned).find(|(_, a)| **a == c).map(|(s, _)| &s.value);
            let fill = match set {
                Some(e) if !matches!(e.kind, ExprKind::Default) => {
                    let bound = expr::build::assigned(self.bind_constant_expr(e)?, &def.columns[c].ty);
                    t.compute(bound, target(c))
                }
                None if listed.contains(&c) => continue,
                _ => match &def.columns[c].default {
                    DefaultValue::Value(v) => Fill::Value(v.clone()),
                    DefaultValue::CurrentTimestamp => Fill::Value(now(self, &def.columns[c].ty)),
                    DefaultValue::Expr { expr, .. } => t.compute((**expr).clone(), target(c)),
                    DefaultValue::None if def.columns[c].auto_increment => {
                        t.generates = true;
                        Fill::Next(target(c))
                    }
                    DefaultValue::None if def.columns[c].nullable => Fill::Value(Value::Null),
                    DefaultValue::None => Fill::NoDefault(target(c)),
                },
            };
            t.fills.push((c, fill));
        }
        Ok(t)
    }

    /// What is to be loaded.
    fn source_of<'a>(
        &self,
        l: &LoadData,
        sink: &'a mut dyn ResultSink,
        check_killed: &'a dyn Fn() -> Result<()>,
    ) -> Result<Source<'a>> {
        if l.local {
            return Ok(Source { length: 0, input: sink.local_infile(&l.path)? });
        }
        let (file, length) = self.db().bounds().open(&l.path)?;
        source::of_file(file, length, check_killed)
    }
}

impl Targets {
    fn push_user_var(&mut self, name: &str) {
        self.fields.push(FieldTarget::UserVar(self.user_vars.len()));
        self.user_vars.push(name.into());
    }

    /// A field for column `c`; it is read over if SET assigns the column.
    fn push_field(&mut self, c: usize, assigned: &[usize], target: ColumnTarget, listed: &mut Vec<usize>) {
        listed.push(c);
        self.fields.push(if assigned.contains(&c) { FieldTarget::Nothing } else { FieldTarget::Column(target) });
    }

    fn compute(&mut self, expr: Expr, target: ColumnTarget) -> Fill {
        self.computed.push(expr);
        Fill::Computed(self.computed.len() - 1, target)
    }
}

pub(super) fn column_named(def: &TableDef, name: &parser::ast::ColumnRef) -> Result<usize> {
    let table_fits = name.table.as_ref().is_none_or(|t| t.as_str() == &*def.name);
    let found = def.column_idx(&name.name).filter(|_| table_fits);
    found.ok_or_else(|| Error::bad_field(name.name.as_str(), "field list"))
}

fn file_charset(name: &str) -> Result<FileCharset> {
    match name.to_ascii_lowercase().as_str() {
        "utf8mb4" | "utf8" | "utf8mb3" | "ascii" | "binary" => Ok(FileCharset::Utf8),
        "latin1" => Ok(FileCharset::Latin1),
        other => Err(Error::not_supported(format!("CHARACTER SET {other} in LOAD DATA"))),
    }
}
