//! EXPLAIN: the plan that would run, runs, or did.
//!
//! What is explained becomes an [`Explained`]: a plan (INSERT ... VALUES has none) and what is done with the rows that
//! it finds. The formats are printed from that by `plan::explain`.

use crate::dml::targets::change_of;
use crate::session::Execution;
use executor::NodeStatsSet;
use monitor::process::Process;
use parser::ast::{self, Explain, ExplainFormat, ExplainTarget, InsertSource, Statement};
use plan::Plan;
use plan::explain::Change;
use plan::logical::LogicalQuery;
use planner::bind::{BoundDelete, BoundUpdate, NewValue};
use session::rows::{RowSet, UBIGINT, long_text, s, text};
use session::sink::ResultSink;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use types::{Error, ErrorCode, Result, SqlType, Value};

/// What EXPLAIN prints.
struct Explained {
    plan: Option<Arc<Plan>>,
    change: Option<Change>,
    /// The statement as it was understood.
    rewritten: Option<String>,
}

/// How it is to look.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Look {
    Table,
    Tree,
    /// Blocks, as MySQL's version 1.
    Json,
    /// Operators, as MySQL's version 2.
    Steps,
}

impl Execution<'_> {
    pub(crate) fn explain(&mut self, e: &Explain, more: bool, sink: &mut dyn ResultSink) -> Result<()> {
        let look = self.explain_look(e)?;
        if e.into.is_some() && e.format != Some(ExplainFormat::Json) {
            return Err(Error::not_supported("EXPLAIN INTO without FORMAT=JSON"));
        }
        let statement = match &e.target {
            ExplainTarget::Connection(_) if e.into.is_some() => {
                return Err(Error::not_supported("EXPLAIN INTO FOR CONNECTION"));
            }
            ExplainTarget::Connection(id) => {
                let explained = self.explained_connection(*id)?;
                return self.send_explained(e, &explained, look, None, &[], more, sink);
            }
            ExplainTarget::Statement(s) => s,
        };
        let Some(schema) = &e.schema else { return self.explain_statement(e, statement, look, more, sink) };
        let schema = self.canonical_schema(schema).ok_or_else(|| Error::bad_db(schema.as_str()))?;
        let own = self.swap_schema(Some(Some(schema.into())));
        let done = self.explain_statement(e, statement, look, more, sink);
        self.swap_schema(own);
        done
    }

    fn explain_look(&self, e: &Explain) -> Result<Look> {
        let default = match self.vars().text("explain_format") {
            "TREE" => ExplainFormat::Tree,
            "JSON" => ExplainFormat::Json,
            _ => ExplainFormat::Traditional,
        };
        let format = match e.format {
            None if e.analyze && default == ExplainFormat::Traditional => ExplainFormat::Tree,
            f => f.unwrap_or(default),
        };
        if e.analyze && matches!(e.target, ExplainTarget::Connection(_)) {
            return Err(Error::not_supported("EXPLAIN ANALYZE FOR CONNECTION"));
        }
        Ok(match format {
            ExplainFormat::Tree => Look::Tree,
            ExplainFormat::Json if e.analyze || self.vars().uint("explain_json_format_version") == 2 => Look::Steps,
            ExplainFormat::Json => Look::Json,
            ExplainFormat::Traditional if e.analyze => {
                return Err(Error::not_supported("EXPLAIN ANALYZE with TRADITIONAL format"));
            }
            ExplainFormat::Traditional => Look::Table,
        })
    }

    fn explain_statement(
        &mut self,
        e: &Explain,
        statement: &Statement,
        look: Look,
        more: bool,
        sink: &mut dyn ResultSink,
    ) -> Result<()> {
        if e.analyze && !matches!(statement, Statement::Query(_)) {
            return Err(Error::not_supported("EXPLAIN ANALYZE on this statement"));
        }
        let explained = self.explained(statement, e.analyze)?;
        if let Some(text) = &explained.rewritten {
            self.note(Error::new(ErrorCode::YES, text.clone()));
        }
        match (&explained.plan, e.analyze) {
            (Some(plan), true) => {
                let stats = NodeStatsSet::new(plan.node_count());
                let before = self.status().all();
                self.run(plan, Some(&stats), &mut |_| Ok(ControlFlow::Continue(())))?;
                let figures = figures(&stats, plan.node_count());
                let counted: Vec<(String, u64)> = before
                    .into_iter()
                    .zip(self.status().all())
                    .map(|((name, a), (_, b))| (name.to_string(), b.wrapping_sub(a)))
                    .filter(|(_, n)| *n > 0)
                    .collect();
                self.send_explained(e, &explained, look, Some(&figures), &counted, more, sink)
            }
            _ => self.send_explained(e, &explained, look, None, &[], more, sink),
        }
    }

    /// The rows that UPDATE and DELETE change are found by a query.
    fn explained(&mut self, statement: &Statement, analyze: bool) -> Result<Explained> {
        let of = |verb, targets: &[planner::bind::DmlTarget]| Some(change_of(verb, targets));
        Ok(match statement {
            Statement::Query(query) => {
                let limited = super::select_limit::limited(query, self.vars().hot().sql_select_limit);
                let mut logical = self.bind_query(limited.as_ref().unwrap_or(query))?;
                if !analyze {
                    logical.locks.clear();
                }
                let rewritten = Some(self.rewritten(&logical));
                Explained { plan: Some(self.optimize(logical)?), change: None, rewritten }
            }
            Statement::Update(u) => {
                let mut rewritten = None;
                let wanted = |b: &BoundUpdate| {
                    rewritten = Some(plan::explain::rewritten_change(&b.query, "update", &assignments(b)));
                    true
                };
                let u = self.plan_update(u, wanted)?.ok_or_else(unplanned)?;
                Explained { change: of("UPDATE", &u.targets), plan: Some(u.plan), rewritten }
            }
            Statement::Delete(d) => {
                let mut rewritten = None;
                let wanted = |b: &BoundDelete| {
                    rewritten = Some(plan::explain::rewritten_change(&b.query, "delete from", &[]));
                    true
                };
                let d = self.plan_delete(d, wanted)?.ok_or_else(unplanned)?;
                Explained { change: of("DELETE", &d.targets), plan: Some(d.plan), rewritten }
            }
            Statement::Insert(i) => self.explained_insert(i)?,
            _ => return Err(Error::not_supported("EXPLAIN of this statement")),
        })
    }

    fn explained_insert(&mut self, i: &ast::Insert) -> Result<Explained> {
        let def = self.insertable(&i.table)?;
        let columns = self.insert_columns(&def, i.columns.as_deref())?;
        let verb = if i.replace { "REPLACE" } else { "INSERT" };
        let mut rewritten = format!("{} into `{}`.`{}`", verb.to_lowercase(), def.schema, def.name);
        let plan = match &i.source {
            InsertSource::Values(rows) => {
                let fits = |r: &Vec<ast::Expr>| r.len() == columns.len() || r.is_empty();
                if let Some(n) = rows.iter().position(|r| !fits(r)) {
                    return Err(Error::wrong_value_count_on_row(n + 1));
                }
                None
            }
            InsertSource::Query(q) => {
                let mut logical = self.bind_query(q)?;
                if logical.output.len() != columns.len() {
                    return Err(Error::wrong_value_count_on_row(1));
                }
                logical.locks.clear();
                rewritten += &format!(" {}", self.rewritten(&logical));
                Some(self.optimize(logical)?)
            }
        };
        let change = Some(Change { verb, targets: vec![def.name.to_string()] });
        Ok(Explained { plan, change, rewritten: Some(rewritten) })
    }

    /// What another connection is running.
    fn explained_connection(&mut self, id: u64) -> Result<Explained> {
        let found = u32::try_from(id).ok().and_then(|id| self.db().processes().get(id));
        let process: Arc<Process> = found.ok_or_else(|| Error::no_such_thread(id))?;
        if !self.may_see_processes_of(&process.info().user) {
            return Err(Error::kill_denied(id));
        }
        if let Some((plan, change)) = process.running_plan() {
            return Ok(Explained { plan: Some(plan), change, rewritten: None });
        }
        // It needs no plan of operators (one row by a unique key, rows of constants), or is waiting to make one.
        let info = process.info();
        let mut text = Vec::new();
        process.copy_info(&mut text, usize::MAX);
        if text.is_empty() || !process.is_running() {
            return Err(Error::explain_not_supported());
        }
        let parsed = parser::parse_single_overseen(&text, &self.parse_options(), Some(&**self))
            .map_err(|_| Error::explain_not_supported())?;
        if parsed.param_count > 0 || !is_explainable(&parsed.statement) {
            return Err(Error::explain_not_supported());
        }
        let own = self.swap_schema(Some(info.database.map(Into::into)));
        let explained = self.with_names(&parsed.statement, |x| x.explained(&parsed.statement, false));
        self.swap_schema(own);
        explained.map(|x| Explained { rewritten: None, ..x })
    }

    fn rewritten(&self, query: &LogicalQuery) -> String {
        plan::explain::rewritten(query, self.optimizer_settings().switch.semijoin)
    }

    #[allow(clippy::too_many_arguments)]
    fn send_explained(
        &mut self,
        e: &Explain,
        x: &Explained,
        look: Look,
        stats: Option<&[plan::explain::NodeStats]>,
        counters: &[(String, u64)],
        more: bool,
        sink: &mut dyn ResultSink,
    ) -> Result<()> {
        let (plan, change) = (x.plan.as_deref(), x.change.as_ref());
        let text = match look {
            Look::Table => return self.send_table(plan, change, more, sink),
            Look::Tree => tree(plan, change, stats, counters),
            Look::Json => plan::explain::json(plan, change),
            Look::Steps => plan::explain::steps(plan, change, stats, x.rewritten.as_deref().unwrap_or(""), counters),
        };
        if let Some(name) = &e.into {
            self.user_vars().set(name, Value::Bytes(text.into_bytes().into()), long_text())?;
            return self.send_ok(0, String::new(), more, sink);
        }
        let mut rows = RowSet::new(&[("EXPLAIN", long_text())]);
        rows.push(vec![s(text)]);
        rows.send(sink, &self.end_info(more))
    }

    fn send_table(
        &mut self,
        plan: Option<&Plan>,
        change: Option<&Change>,
        more: bool,
        sink: &mut dyn ResultSink,
    ) -> Result<()> {
        let types = [UBIGINT, text(19), text(64), long_text(), text(10), long_text(), long_text()].into_iter().chain([
            long_text(),
            text(1024),
            UBIGINT,
            SqlType::Double,
            text(255),
        ]);
        let columns: Vec<(&str, SqlType)> = plan::explain::TRADITIONAL_COLUMNS.into_iter().zip(types).collect();
        let mut rows = RowSet::new(&columns);
        for r in plan::explain::traditional(plan, change) {
            rows.push(traditional_row(r));
        }
        rows.send(sink, &self.end_info(more))
    }
}

fn is_explainable(s: &Statement) -> bool {
    matches!(s, Statement::Query(_) | Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_))
}

fn unplanned() -> Error {
    Error::internal("a change without a plan")
}

/// Columns that are assigned, and where their values are in the query's output.
fn assignments(b: &BoundUpdate) -> Vec<(String, Option<usize>)> {
    b.assignments
        .iter()
        .map(|a| {
            let target = &b.targets[a.target];
            let column = &target.table.columns[a.column_idx].name;
            let at = match a.value {
                NewValue::Output(i) => Some(i),
                NewValue::Default => None,
            };
            (format!("`{}`.`{}`.`{column}`", target.table.schema, target.alias), at)
        })
        .collect()
}

fn tree(
    plan: Option<&Plan>,
    change: Option<&Change>,
    stats: Option<&[plan::explain::NodeStats]>,
    counters: &[(String, u64)],
) -> String {
    let mut text = plan.map_or(String::new(), |p| plan::explain::tree(p, stats));
    if let Some(c) = change {
        let below: String = text.lines().map(|l| format!("    {l}\n")).collect();
        text = format!("-> {}\n{below}", plan::explain::change_words(c));
    }
    if !counters.is_empty() {
        let words: Vec<String> = counters.iter().map(|(name, n)| format!("{name}: {n}")).collect();
        text += &format!("Counters: {}\n", words.join(", "));
    }
    text
}

/// A row of the table: numbers where the columns are numbers.
fn traditional_row(row: plan::explain::TraditionalRow) -> Vec<Value> {
    row.into_iter()
        .enumerate()
        .map(|(i, cell)| match (i, cell) {
            (_, None) => Value::Null,
            (0 | 9, Some(t)) => t.parse().map_or(Value::Null, Value::UInt),
            (10, Some(t)) => t.parse().map_or(Value::Null, Value::Double),
            (_, Some(t)) => s(t),
        })
        .collect()
}

/// What the operators counted, in the printer's form.
fn figures(stats: &NodeStatsSet, nodes: usize) -> Vec<plan::explain::NodeStats> {
    (0..nodes as u32)
        .map(|id| {
            let n = stats.node(id);
            plan::explain::NodeStats {
                rows: n.rows.load(Relaxed),
                loops: n.loops.load(Relaxed),
                time_first_us: n.first_row_ns.load(Relaxed) / 1000,
                time_last_us: n.last_row_ns.load(Relaxed) / 1000,
                self_ns: n.self_ns.load(Relaxed).max(0) as u64,
                memory_peak_bytes: n.peak_bytes(),
                spilled_bytes: n.spilled_bytes.load(Relaxed),
            }
        })
        .collect()
}
