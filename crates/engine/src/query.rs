//! SELECT: bind, optimize, execute, send. Also the values of expressions outside queries.

mod explain;
mod found_rows;
mod into;
mod locking;
pub(crate) use locking::{LockingPlan, has_locking};
pub(crate) mod meta;
mod select_limit;
mod sleep;
pub(crate) mod timestamps;

use crate::session::Execution;
use catalog::TableId;
use executor::{ExecContext, Lookups, NodeStatsSet, StoreTables, Tables, TempFiles};
use parser::ast;
use plan::Plan;
use plan::logical::LogicalQuery;
use session::Frame;
use session::sink::{ResultShape, ResultSink};
use std::ops::ControlFlow;
use std::sync::Arc;
use storage::Snapshot;
use types::{Error, Result, SqlType, Value};
use vector::Batch;

/// Rows at which a statement is worth more than its own thread.
const PARALLEL_ROWS_MIN: f64 = 20_000.0;

/// Rows of values with their types.
type Rows = Vec<Vec<(Value, SqlType)>>;

impl Execution<'_> {
    /// Answers a query of the client.
    pub(crate) fn query(&mut self, query: &ast::Query, more: bool, sink: &mut dyn ResultSink) -> Result<()> {
        self.status().com_select.add(1);
        let limited = select_limit::limited(query, self.vars().hot().sql_select_limit);
        let query = limited.as_ref().unwrap_or(query);
        if let Some(into) = &query.into {
            return self.query_into(query, into, more, sink);
        }
        if locking::has_locking(query) {
            let bound = self.bind_locking(query)?;
            return self.locking_query(bound, more, sink);
        }
        let logical = self.bind_query(query)?;
        if !logical.locks.is_empty() {
            return self.locking_query(logical.into(), more, sink);
        }
        if self.has_unkept() {
            if locking::names_keys(&logical) {
                let shared = ast::Query { locking: vec![locking::SHARED], ..query.clone() };
                let bound = self.bind_locking(&shared)?;
                return self.locking_query(bound, more, sink);
            }
            self.keep_unkept()?;
        }
        let shape = ResultShape::new(meta::columns(&logical));
        if logical.calc_found_rows {
            return self.query_counting(logical, &shape, more, sink);
        }
        let plan = self.optimize(logical)?;
        self.send_query(&plan, &shape, more, sink)
    }

    /// Runs the plan of a query of the client and sends its rows.
    pub(crate) fn send_query(
        &mut self,
        plan: &Arc<Plan>,
        shape: &ResultShape,
        more: bool,
        sink: &mut dyn ResultSink,
    ) -> Result<()> {
        let mut local = timestamps::ToLocal::new(&shape.columns, self);
        let mut sent = 0u64;
        sink.shared_columns(shape)?;
        self.run(plan, None, &mut |batch| {
            let batch = &*local.convert(batch);
            sent += batch.count() as u64;
            sink.batch(batch)?;
            Ok(ControlFlow::Continue(()))
        })?;
        self.set_found_rows(sent);
        self.note_last_insert_id();
        sink.end_rows(&self.end_info(more))
    }

    pub(crate) fn optimize(&self, logical: LogicalQuery) -> Result<Arc<Plan>> {
        if !logical.locks.is_empty() {
            // Who can lock rows has taken them out.
            return Err(Error::not_supported("locking clauses in this statement"));
        }
        logical.warnings.iter().for_each(|w| self.warn(w.clone()));
        let plan = self.optimize_quietly(logical)?;
        plan.warnings.iter().for_each(|w| self.warn(w.clone()));
        Ok(plan)
    }

    /// The same, the plan's warnings left in it.
    pub(crate) fn optimize_quietly(&self, logical: LogicalQuery) -> Result<Arc<Plan>> {
        let settings = self.optimizer_settings();
        let mut weighed = self.is_traced().then(plan::explain::Weighed::default);
        let overseer: &Frame<'_> = self;
        let store = self.db().store();
        let plan = planner::optimize::optimize_traced(logical, store, &settings, Some(overseer), weighed.as_mut());
        if let (Some(weighed), Ok(plan)) = (&weighed, &plan) {
            self.keep_trace(weighed, plan);
        }
        self.db().keep_statistics();
        plan.map(Arc::new)
    }

    /// Runs a plan; batches arrive at `out` on this thread.
    pub(crate) fn run(
        &mut self,
        plan: &Arc<Plan>,
        stats: Option<&NodeStatsSet>,
        out: &mut dyn FnMut(&Batch) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let runner = self.runner();
        let result = runner.run(self, plan, stats, out);
        match result.as_ref().err().filter(|_| stats.is_none()).and_then(|e| self.interrupted_sleep(plan, e)) {
            Some(row) => out(&row).map(|_| ()),
            None => result,
        }
    }

    /// Fixes what the running statement sees.
    pub(crate) fn runner(&mut self) -> Runner {
        Runner::at(self.read_snapshot())
    }

    fn run_at(
        &self,
        runner: Runner,
        plan: &Arc<Plan>,
        stats: Option<&NodeStatsSet>,
        out: &mut dyn FnMut(&Batch) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let info = self.info();
        let all = StoreTables::new(self.db().store(), &runner.snapshot)
            .read_by(self.process().id())
            .with_snapshots(&runner.skipping)
            .noting(runner.lookups.as_deref());
        let some = runner.only.as_ref().map(|(table, ids)| all.only(*table, ids));
        let tables: &dyn Tables = match &some {
            Some(some) => some,
            None => &all,
        };
        let hot = self.vars().hot();
        let dop = match hot.parallel_workers {
            0 => self.db().pool().thread_count() + 1,
            n => n,
        };
        let params = self.plan_params();
        let ctx = ExecContext {
            session: &info,
            user_vars: self.user_vars(),
            warnings: self.warnings(),
            params: &params,
            tables,
            virtual_tables: &**self,
            pool: self.db().pool(),
            memory: self.statement_memory(),
            bounds: self.vars().hot().bounds,
            killed: self.process().stop_flag(),
            spill_dir: self.db().spill_dir(),
            temp_files: TempFiles::new(self.db().temp_space(), hot.max_tmp_session_space_usage),
            dop: match self.db().pool().is_worth_sharing(plan.estimated_rows_read, PARALLEL_ROWS_MIN) {
                true => dop,
                false => 1,
            },
            one_by_one: runner.one_by_one,
            max_recursion_depth: hot.cte_max_recursion_depth,
            counters: self.process().counters(),
            node_stats: stats,
        };
        self.process().publish_plan(plan);
        let _compiled = self.hold_compiled()?;
        let result = self.beside_tree(|| executor::execute(plan, &ctx, out));
        self.status().add_counts(&self.process().counters().take());
        result
    }

    /// Runs a query to its end and collects the rows, at most `max` of them (1172 beyond).
    pub(crate) fn collect(&mut self, logical: LogicalQuery, max: usize) -> Result<Vec<Vec<(Value, SqlType)>>> {
        let (rows, more_rows) = self.collect_first(logical, max)?;
        if more_rows { Err(Error::too_many_rows()) } else { Ok(rows) }
    }

    /// The first `max` rows of a query, and whether there are more.
    fn collect_first(&mut self, logical: LogicalQuery, max: usize) -> Result<(Rows, bool)> {
        if !logical.locks.is_empty() {
            let mut rows = self.locked_values(logical.into())?;
            let more_rows = rows.len() > max;
            rows.truncate(max);
            return Ok((rows, more_rows));
        }
        let types: Vec<SqlType> = logical.output.iter().map(|(id, _)| logical.columns.get(*id).ty).collect();
        let plan = self.optimize(logical)?;
        let mut rows = Vec::new();
        let mut over = false;
        self.run(&plan, None, &mut |batch| {
            batch.selection.for_each(batch.rows, |i| {
                if rows.len() == max {
                    over = true;
                } else {
                    rows.push(batch.columns.iter().zip(&types).map(|(c, ty)| (c.value(i, ty), *ty)).collect());
                }
            });
            Ok(if over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        Ok((rows, over))
    }

    /// The value of an expression that may hold subqueries: SET, DO, CALL.
    pub(crate) fn eval_scalar(&mut self, e: &ast::Expr) -> Result<(Value, SqlType)> {
        let logical = {
            let info = self.info();
            self.binder(&info).bind_scalar_exprs([e])?
        };
        let mut rows = self.collect(logical, 1)?;
        let mut row = rows.pop().ok_or_else(|| Error::internal("an expression yielded no row"))?;
        row.pop().ok_or_else(|| Error::internal("an expression yielded no column"))
    }
}

/// A statement's snapshot, ready to run plans.
pub(crate) struct Runner {
    snapshot: Snapshot,
    /// Tables that are seen without the rows that others hold.
    skipping: Vec<(TableId, Snapshot)>,
    only: Option<(TableId, Vec<u64>)>,
    /// Where lookups by unique keys are noted.
    lookups: Option<Arc<Lookups>>,
    one_by_one: bool,
}

impl Runner {
    pub fn at(snapshot: Snapshot) -> Runner {
        Runner { snapshot, skipping: Vec::new(), only: None, lookups: None, one_by_one: false }
    }

    /// Tables that are seen by other snapshots than the statement's.
    pub fn skipping(self, skipping: Vec<(TableId, Snapshot)>) -> Runner {
        Runner { skipping, ..self }
    }

    /// Rows are tested and handed on one by one: what a LIMIT leaves unread is not looked at.
    pub fn one_by_one(self, one_by_one: bool) -> Runner {
        Runner { one_by_one, ..self }
    }

    /// Has lookups by unique keys noted.
    pub fn noting(self, lookups: &Arc<Lookups>) -> Runner {
        Runner { lookups: Some(lookups.clone()), ..self }
    }

    /// Like [`Runner::at`], but of one table the statement sees these rows alone.
    pub fn of_rows(snapshot: Snapshot, table: TableId, row_ids: Vec<u64>) -> Runner {
        Runner { only: Some((table, row_ids)), ..Runner::at(snapshot) }
    }

    pub fn run(
        self,
        session: &Execution<'_>,
        plan: &Arc<Plan>,
        stats: Option<&NodeStatsSet>,
        out: &mut dyn FnMut(&Batch) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        session.run_at(self, plan, stats, out)
    }
}
