//! Statements by cached plans.

use super::key::with_refs;
use super::point::{PointKeys, PointSelect};
use super::range::Bounds;
use super::{Body, CachedPlan, LockingQuery, Lookup, QueryPlan};
use crate::prepared::Prepared;
use crate::query::timestamps::RowToLocal;
use crate::session::Execution;
use parser::normalize::string_param_type;
use session::CachedPlans;
use session::sink::ResultSink;
use std::sync::Arc;
use std::time::Duration;
use storage::TableIo;
use types::{Result, SqlType, StringKind, Value};

/// A table of which more than this times as many rows, or fewer, are there than when a plan was made wants another
/// plan.
const GROWTH_MAX: u64 = 8;
/// After so long it is tried again to make a plan for a statement that had none.
const RETRY_AFTER: Duration = Duration::from_secs(10);
/// Plans of a prepared statement, for parameters of different types.
const PLANS_MAX: usize = 4;
/// Smaller tables count as this large.
const ROWS_MIN: u64 = 1000;

/// The type that a parameter is planned with: texts are of one type, however long each is.
fn planned_type(given: SqlType) -> SqlType {
    match given {
        SqlType::String { kind: StringKind::VarChar, len, collation } => {
            let any = string_param_type(collation);
            if matches!(any, SqlType::String { len: most, .. } if len <= most) { any } else { given }
        }
        other => other,
    }
}

impl CachedPlan {
    fn is_current(&self, session: &Execution<'_>, params: &[(Value, SqlType)]) -> bool {
        self.is_fresh(session.db())
            && self.env.settings == session.vars().hot().plan_settings
            && self.has_types(params)
            // what stood against a plan may be gone, such as a table that was nearly empty
            && (!matches!(self.body, Body::None) || self.made.elapsed() < RETRY_AFTER)
            && self.sizes_hold(session)
    }

    fn has_types(&self, params: &[(Value, SqlType)]) -> bool {
        let fits =
            |(planned, (_, given)): (&SqlType, &(Value, SqlType))| planned == given || *planned == planned_type(*given);
        self.env.param_types.len() == params.len() && self.env.param_types.iter().zip(params).all(fits)
    }

    fn sizes_hold(&self, session: &Execution<'_>) -> bool {
        self.sizes.iter().all(|t| {
            let Some(table) = session.db().store().table(t.id) else { return false };
            let (now, then) = (table.row_count().max(ROWS_MIN), t.rows.max(ROWS_MIN));
            let (changes, analyzed) = table.changes_seen();
            // Rows may change a lot while they stay as many.
            let changed = changes.saturating_sub(t.changes.0);
            now <= then * GROWTH_MAX && then <= now * GROWTH_MAX && changed <= then && analyzed == t.changes.1
        })
    }
}

impl Execution<'_> {
    /// Answers a text by a plan that was kept for its like. `None`: there is none, and the ordinary way is to be gone.
    pub(crate) fn execute_known_text(&mut self, text: &[u8], sink: &mut dyn ResultSink) -> Option<Result<()>> {
        if !self.may_use_kept_plans() {
            return None;
        }
        let options = self.parse_options();
        let collation = self.vars().hot().collation_connection;
        let mut normalized = std::mem::take(self.normalized_mut());
        let result = if parser::normalize::normalize(text, &options, collation, &mut normalized) {
            self.execute_normalized(text, &normalized, sink)
        } else {
            None
        };
        *self.normalized_mut() = normalized;
        result
    }

    fn execute_normalized(
        &mut self,
        text: &[u8],
        normalized: &parser::normalize::Normalized,
        sink: &mut dyn ResultSink,
    ) -> Option<Result<()>> {
        let mut key = std::mem::take(self.plan_key_mut());
        key.clear();
        key.extend_from_slice(&self.vars().hot().plan_settings.to_le_bytes());
        key.extend_from_slice(self.current_database().unwrap_or_default().as_bytes());
        key.push(0);
        key.extend_from_slice(normalized.key());
        let plan = self.plan_of_text(&key, text, normalized);
        *self.plan_key_mut() = key;
        let plan = plan?;
        self.execute_plan(&plan, normalized.values(), sink)
    }

    fn plan_of_text(
        &mut self,
        key: &[u8],
        text: &[u8],
        normalized: &parser::normalize::Normalized,
    ) -> Option<Arc<CachedPlan>> {
        match self.db().plan_cache().lookup(key) {
            Lookup::Plan(plan) if plan.is_current(self, normalized.values()) => {
                let usable = !matches!(plan.body, Body::None);
                self.status().plan_cache_hits.add(usable.into());
                return usable.then_some(plan);
            }
            Lookup::New if self.db().options().cached_plans == CachedPlans::Usual => {
                self.status().plan_cache_misses.add(1);
                return None;
            }
            Lookup::New | Lookup::Seen | Lookup::Plan(_) => self.status().plan_cache_misses.add(1),
        };
        let with_markers = normalized.parameterized(text);
        let parsed = parser::parse_single(&with_markers, &self.parse_options());
        let plan = match parsed {
            Ok(parsed) if parsed.param_count as usize == normalized.values().len() => {
                self.build_plan(&parsed.statement, normalized.values())
            }
            _ => CachedPlan::none(self.plan_env(normalized.values())),
        };
        self.note_digest(&plan, text);
        let plan = Arc::new(plan);
        self.db().plan_cache().insert(key, plan.clone());
        Some(plan)
    }

    /// The plan's executions are to be summed up under the digest of this text.
    fn note_digest(&self, plan: &CachedPlan, text: &[u8]) {
        let digests = self.db().digests();
        if digests.is_on() && !matches!(plan.body, Body::None) {
            plan.digest.get_or_init(|| digests.of(self.current_database(), text, &self.parse_options()));
        }
    }

    /// Answers a prepared statement by its plan, which is made at the second execution and whenever it has become
    /// stale.
    pub(crate) fn execute_known_prepared(
        &mut self,
        statement: &Prepared,
        params: &[(Value, SqlType)],
        sink: &mut dyn ResultSink,
    ) -> Option<Result<()>> {
        if !self.may_use_kept_plans() || self.current_database() != statement.schema.as_deref() {
            return None;
        }
        let plan = self.plan_of_prepared(statement, params)?;
        self.execute_plan(&plan, params, sink)
    }

    fn plan_of_prepared(&mut self, statement: &Prepared, params: &[(Value, SqlType)]) -> Option<Arc<CachedPlan>> {
        let mut kept = statement.plans.lock();
        kept.executions += 1;
        if let Some(plan) = kept.plans.iter().find(|plan| plan.is_current(self, params)) {
            let usable = !matches!(plan.body, Body::None);
            self.status().plan_cache_hits.add(usable.into());
            return usable.then(|| plan.clone());
        }
        if kept.executions == 1 {
            return None;
        }
        self.status().plan_cache_misses.add(1);
        let typed: Vec<(Value, SqlType)> = params.iter().map(|(v, ty)| (v.clone(), planned_type(*ty))).collect();
        let plan = self.build_plan(&statement.statement, &typed);
        self.note_digest(&plan, &statement.text);
        let plan = Arc::new(plan);
        let before = kept.plans.len();
        kept.plans.retain(|p| p.is_fresh(self.db()) && !p.has_types(params));
        if kept.plans.len() < before {
            self.status().com_stmt_reprepare.add(1);
        }
        if kept.plans.len() >= PLANS_MAX {
            kept.plans.remove(0);
        }
        kept.plans.push(plan.clone());
        (!matches!(plan.body, Body::None)).then_some(plan)
    }

    /// Whether the session is in a state in which statements may skip the ordinary way.
    pub(crate) fn may_use_kept_plans(&self) -> bool {
        let hot = self.vars().hot();
        let plain = hot.sql_select_limit == u64::MAX && hot.max_execution_time_ms == 0 && !hot.traces_optimizer;
        plain
            && self.has_plain_locks()
            && self.may_see_tables()
            && self.db().options().cached_plans != CachedPlans::Never
    }

    /// Answers a statement by its plan; `None` if that does not suit these values.
    pub(crate) fn execute_plan(
        &mut self,
        plan: &CachedPlan,
        params: &[(Value, SqlType)],
        sink: &mut dyn ResultSink,
    ) -> Option<Result<()>> {
        let with_now;
        let params = if plan.takes_now {
            with_now = self.params_and_now(params);
            &with_now
        } else {
            params
        };
        match &plan.body {
            Body::None => None,
            Body::Point(point) => {
                let keys = point.keys(params);
                if matches!(keys, PointKeys::Unsuited) {
                    return None;
                }
                let io = plan.io.as_ref()?;
                self.run_locked(plan, |s| s.run_point(point, keys, io, sink).map(Some))
            }
            Body::Lock(lock) => {
                let io = plan.io.as_ref()?;
                self.run_locked(plan, |s| s.run_point_lock(lock, params, io, sink))
            }
            Body::Locking(query) => {
                if query.targets.iter().any(|t| t.wait == parser::ast::LockWait::NoWait) {
                    self.wait_for_no_rows();
                }
                self.run_with_params(plan, params, |s| s.run_locking_query(query, sink))
            }
            Body::Range(range, general) => {
                let bounds = range.bounds(params);
                if !matches!(bounds, Bounds::Unsuited)
                    && let Some(io) = &plan.io
                    && let Some(result) = self.run_locked(plan, |s| s.run_range(range, &bounds, io, sink))
                {
                    return Some(result);
                }
                let general = general.as_ref()?;
                self.run_with_params(plan, params, |s| s.run_query_plan(general, sink))
            }
            Body::Query(query) => self.run_with_params(plan, params, |s| s.run_query_plan(query, sink)),
            Body::Update(flat, general) => {
                if let (Some(flat), Some(io)) = (flat, &plan.io)
                    && let Some(result) = self.run_locked(plan, |s| s.run_point_update(flat, params, io, sink))
                {
                    return Some(result);
                }
                let general = general.as_ref()?;
                self.run_with_params(plan, params, |s| s.execute_update(general, false, sink))
            }
            Body::Delete(flat, general) => {
                if let (Some(flat), Some(io)) = (flat, &plan.io)
                    && let Some(result) = self.run_locked(plan, |s| s.run_point_delete(flat, params, io, sink))
                {
                    return Some(result);
                }
                let general = general.as_ref()?;
                self.run_with_params(plan, params, |s| s.execute_delete(general, None, false, sink))
            }
            Body::Insert(insert) => {
                let io = plan.io.as_ref()?;
                self.run_locked(plan, |s| s.run_point_insert(insert, params, io, sink))
            }
        }
    }

    /// Takes the metadata locks of a plan. False: a definition has changed before they were there.
    fn lock_plan(&mut self, plan: &CachedPlan) -> Result<bool> {
        for (object, write) in &plan.locks {
            self.lock_known(object, *write)?;
        }
        Ok(plan.is_fresh(self.db()))
    }

    fn run_point(
        &mut self,
        point: &PointSelect,
        keys: PointKeys,
        io: &TableIo,
        sink: &mut dyn ResultSink,
    ) -> Result<()> {
        self.status().com_select.add(1);
        let table = self.db().store().expect_table(&point.table)?;
        let snapshot = self.read_snapshot();
        table.check_known_to(&snapshot)?;
        sink.shared_columns(&point.shape)?;
        let mut rows = 0;
        let mut lookups = 0;
        let mut local = RowToLocal::new(&point.shape, self);
        let index = point.index();
        let mut find = |key: &[vector::Chunk], sink: &mut dyn ResultSink| -> Result<()> {
            lookups += 1;
            let found = with_refs(key, |key| {
                table.with_row(index, key, &snapshot, |at| local.send(sink, &point.shape, &|i| at(point.columns[i])))
            });
            match found {
                None => Ok(()),
                Some(sent) => {
                    rows += 1;
                    sent?;
                    sink.row_done()
                }
            }
        };
        match &keys {
            PointKeys::One(key) => find(key, sink)?,
            PointKeys::Many(keys) => keys.chunks(1).try_for_each(|key| find(key, sink))?,
            PointKeys::Nothing | PointKeys::Unsuited => {}
        }
        drop(snapshot);
        let status = self.status();
        status.handler_read_key.add(lookups);
        status.innodb_rows_read.add(rows);
        io.of(Some(index)).fetched(self.process().id(), rows);
        self.set_found_rows(rows);
        sink.end_rows(&self.end_info(false))
    }

    /// Runs a plan under its locks. `None`: a definition has changed, or `run` says that the values do not suit the
    /// plan; then nothing has happened, and the statement counts when it goes the next way.
    fn run_locked(
        &mut self,
        plan: &CachedPlan,
        run: impl FnOnce(&mut Execution<'_>) -> Result<Option<()>>,
    ) -> Option<Result<()>> {
        self.begin_known_statement();
        let result = match self.lock_plan(plan) {
            Ok(true) => run(self),
            Ok(false) => Ok(None),
            Err(e) => Err(e),
        };
        let Some(result) = result.transpose() else {
            self.forget_known_statement();
            return None;
        };
        let result = self.end_known_statement(result);
        let warnings = self.diagnostics_count() - u64::from(result.is_err());
        self.note_ended(plan.digest.get().map(|d| &**d), b"", result.as_ref().err(), warnings);
        Some(result)
    }

    /// Runs a plan that holds parameters, under its locks. `None`: a definition has changed.
    fn run_with_params(
        &mut self,
        plan: &CachedPlan,
        params: &[(Value, SqlType)],
        run: impl FnOnce(&mut Execution<'_>) -> Result<()>,
    ) -> Option<Result<()>> {
        self.run_locked(plan, |s| {
            s.set_typed_params(params.into());
            let result = run(s);
            s.clear_params();
            result.map(Some)
        })
    }

    fn run_locking_query(&mut self, query: &LockingQuery, sink: &mut dyn ResultSink) -> Result<()> {
        self.status().com_select.add(1);
        let targets = query.targets.clone();
        let plan = self.locking_plan(query.plan.clone(), query.shape.columns.len(), targets)?;
        self.send_locking(&plan, &query.shape, false, sink)
    }

    fn run_query_plan(&mut self, query: &QueryPlan, sink: &mut dyn ResultSink) -> Result<()> {
        self.status().com_select.add(1);
        self.send_query(&query.plan, &query.shape, false, sink)
    }
}
