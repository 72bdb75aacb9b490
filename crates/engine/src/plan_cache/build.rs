//! Making a plan that may be kept.
//!
//! A query is bound with the types of its parameters only. Its plan may be kept if it holds nothing of this execution
//! (`cacheable`), if every parameter stands where a constant of its type would mean the same, and if the optimizer
//! chose the same plan with the values as without.

use super::change::{PointDelete, PointUpdate};
use super::insert::flat_insert;
use super::point::{PointLock, PointSelect};
use super::range::RangeSelect;
use super::{Body, CachedPlan, LockingQuery, PlanEnv, PlannedTable, QueryPlan, now};
use crate::query::has_locking;
use crate::query::meta;
use crate::session::Execution;
use catalog::{TableDef, TableEngine};
use expr::{ArithOp, Expr, ExprKind};
use parser::ast::{HintName, LockStrength, LockWait, Query, QueryBody, Statement};
use plan::logical::{Logical, LogicalQuery};
use plan::{Plan, PlanNode};
use session::sink::ResultShape;
use std::sync::Arc;
use types::{Result, SqlType, Value};

/// A plan with the tables that it uses; `None`: none is to be kept.
type Made = Result<Option<Built>>;

struct Built {
    body: Body,
    tables: Vec<Arc<TableDef>>,
    /// The plan is good as long as the tables have about these sizes.
    sized: bool,
}

impl Built {
    fn new(body: Body, table: Arc<TableDef>) -> Built {
        Built { body, tables: vec![table], sized: false }
    }
}

/// Plans that read more are made anew each time, for the values at hand.
const ROWS_READ_MAX: f64 = 10_000.0;

impl Execution<'_> {
    /// What a cached plan depends on, now.
    pub(super) fn plan_env(&self, params: &[(Value, SqlType)]) -> PlanEnv {
        PlanEnv {
            catalog_version: self.db().catalog().version(),
            epoch: self.db().plan_cache().epoch(),
            settings: self.vars().hot().plan_settings,
            param_types: params.iter().map(|(_, ty)| *ty).collect(),
        }
    }

    /// The plan to keep for a statement. A fault of the statement, or a lock that cannot be had, is left to the
    /// ordinary way to report.
    pub(super) fn build_plan(&mut self, statement: &Statement, params: &[(Value, SqlType)]) -> CachedPlan {
        // read first: a change during the work has the plan's objects looked at again
        let env = self.plan_env(params);
        let built = self.with_names(statement, |s| {
            let objects = s.names().dependencies(s.db().catalog());
            let lock = |(o, write): (&names::Object, bool)| (s.db().mdl().table(&o.schema, &o.name), write);
            let locks = s.names().plan_locks().map(lock).collect();
            Ok(CachedPlan { objects, locks, ..s.build_named(statement, params, env.clone()) })
        });
        built.unwrap_or_else(|_| CachedPlan::none(env))
    }

    fn build_named(&mut self, statement: &Statement, params: &[(Value, SqlType)], env: PlanEnv) -> CachedPlan {
        let made = match statement {
            Statement::Query(query) if query.into.is_none() && has_locking(query) => {
                self.build_locking(query, params, &env.param_types).ok().flatten()
            }
            Statement::Query(query) if query.into.is_none() => {
                self.build_query(query, params, &env.param_types).ok().flatten()
            }
            Statement::Update(_) | Statement::Delete(_) | Statement::Insert(_) => {
                if let Some(replaced) = now::with_param(statement, params.len() as u32) {
                    let all = self.params_and_now(params);
                    let made = self.build_change(&replaced, &all);
                    return CachedPlan { takes_now: true, ..self.kept(env, made) };
                }
                self.build_change(statement, params)
            }
            _ => None,
        };
        self.kept(env, made)
    }

    fn kept(&self, env: PlanEnv, made: Option<Built>) -> CachedPlan {
        let Some(Built { body, tables, sized }) = made else { return CachedPlan::none(env) };
        let sizes = if sized { tables.iter().map(|t| self.planned(t)).collect() } else { Vec::new() };
        let io = tables.first().and_then(|t| self.db().store().table(t.id)).map(|t| t.io());
        CachedPlan { body, sizes, io, ..CachedPlan::none(env) }
    }

    fn planned(&self, table: &Arc<TableDef>) -> PlannedTable {
        let known = self.db().store().table(table.id);
        let (rows, changes) = known.map_or((0, (0, 0)), |t| (t.row_count(), t.changes_seen()));
        PlannedTable { id: table.id, rows, changes }
    }

    /// UPDATE and DELETE of one table, INSERT of constants.
    fn build_change(&mut self, statement: &Statement, params: &[(Value, SqlType)]) -> Option<Built> {
        self.set_typed_params(params.into());
        let made = self.build_untested_change(statement).ok().flatten();
        self.clear_params();
        let mut made = made?;
        if made.sized {
            // Not by a unique key: the choice must be the same with the values.
            self.set_params(params.into());
            let valued = match statement {
                Statement::Update(u) => self.plan_update(u, |_| true).ok().flatten().map(|p| p.plan),
                Statement::Delete(d) => self.plan_delete(d, |_| true).ok().flatten().map(|p| p.plan),
                _ => None,
            };
            self.clear_params();
            let general = match &mut made.body {
                Body::Update(_, Some(general)) => &mut general.plan,
                Body::Delete(_, Some(general)) => &mut general.plan,
                _ => return None,
            };
            let valued = valued?;
            take_estimate(general, &valued)?;
        }
        Some(made)
    }

    /// Plans of UPDATE and DELETE are by a unique key, or (`sized`) by ranges of another index.
    fn build_untested_change(&self, statement: &Statement) -> Made {
        let wanted = |query: &LogicalQuery, targets: usize| {
            let one = plain_tables(query).is_some_and(|tables| tables.len() == 1);
            one && targets == 1
                && query.cacheable
                && query.locks.is_empty()
                && !query.serial
                && params_are_plain(query, true)
        };
        Ok(match statement {
            Statement::Update(u) => {
                let (mut flat, mut table) = (None, None);
                let general = self.plan_update(u, |b| {
                    flat = PointUpdate::of(self, b).filter(|_| !u.ignore);
                    table = b.targets.first().map(|t| t.table.clone());
                    wanted(&b.query, b.targets.len())
                })?;
                let sized = general.as_ref().is_some_and(|p| is_by_index(&p.plan));
                let general = general.filter(|p| sized || is_by_key(&p.plan)).map(Box::new);
                let flat = flat.filter(|f| general.is_some() || f.row.is_certain());
                let kept = table.filter(|_| flat.is_some() || general.is_some());
                kept.map(|t| Built { sized, ..Built::new(Body::Update(flat, general), t) })
            }
            Statement::Delete(d) if d.returning.is_empty() => {
                let (mut flat, mut table) = (None, None);
                let general = self.plan_delete(d, |b| {
                    flat = PointDelete::of(self, b).filter(|_| !d.ignore);
                    table = b.targets.first().map(|t| t.table.clone());
                    wanted(&b.query, b.targets.len())
                })?;
                let sized = general.as_ref().is_some_and(|p| is_by_index(&p.plan));
                let general = general.filter(|p| sized || is_by_key(&p.plan)).map(Box::new);
                let kept = table.filter(|_| flat.is_some() || general.is_some());
                kept.map(|t| Built { sized, ..Built::new(Body::Delete(flat, general), t) })
            }
            Statement::Insert(i) => {
                flat_insert(self, i).map(|p| (p.table.clone(), p)).map(|(t, p)| Built::new(Body::Insert(p), t))
            }
            _ => None,
        })
    }

    /// SELECT ... FOR UPDATE of tables, without subqueries.
    fn build_locking(&self, query: &Query, params: &[(Value, SqlType)], types: &[SqlType]) -> Made {
        let [clause] = &query.locking[..] else { return Ok(None) };
        let hinted = matches!(&query.body, QueryBody::Select(s) if !s.hints.is_empty());
        if hinted || clause.strength != LockStrength::Update {
            return Ok(None);
        }
        let info = self.info();
        let bound = self.untyped_binder(&info).with_param_types(types).bind_locking_query(query)?;
        let logical = &bound.query;
        let plain = logical.cacheable && logical.locks.is_empty() && !logical.calc_found_rows && !logical.serial;
        if !plain || bound.rows.is_some() || !logical.warnings.is_empty() {
            return Ok(None);
        }
        let waits = clause.wait == LockWait::Wait && bound.targets.len() == 1;
        if let Some(point) = PointLock::of(logical, bound.width).filter(|_| waits) {
            let table = point.table.clone();
            return Ok(Some(Built::new(Body::Lock(point), table)));
        }
        let Some(tables) = plain_tables(logical) else { return Ok(None) };
        let all_locked = logical.subqueries.is_empty() && tables.len() == bound.targets.len();
        if !all_locked || !params_are_plain(logical, false) {
            return Ok(None);
        }
        let mut metas = meta::columns(logical);
        metas.truncate(bound.width);
        let shape = Arc::new(ResultShape::new(metas));
        let mut plan = self.optimize_quietly(bound.query)?;
        let valued = self.untyped_binder(&info).with_params(params).bind_locking_query(query)?.query;
        let valued = self.optimize_quietly(valued)?;
        if take_estimate(&mut plan, &valued).is_none() {
            return Ok(None);
        }
        let locking = LockingQuery { plan, shape, targets: bound.targets };
        Ok(Some(Built { body: Body::Locking(locking), tables, sized: true }))
    }

    fn build_query(&self, query: &Query, params: &[(Value, SqlType)], types: &[SqlType]) -> Made {
        let info = self.info();
        let logical = self.untyped_binder(&info).with_param_types(types).bind_query(query)?;
        // Hints that are about one execution of the statement are the ordinary way's, and so are warnings.
        let limited = matches!(&query.body, QueryBody::Select(s)
            if s.hints.iter().any(|h| matches!(h.name, HintName::MaxExecutionTime | HintName::SetVar)));
        let limited = limited || !logical.warnings.is_empty();
        if !logical.cacheable || !logical.locks.is_empty() || logical.calc_found_rows || logical.serial || limited {
            return Ok(None);
        }
        if let Some(point) = PointSelect::of(&logical) {
            let table = point.table.clone();
            return Ok(Some(Built::new(Body::Point(point), table)));
        }
        let range = RangeSelect::of(&logical);
        let general = self.build_general(logical, query, params)?;
        Ok(match (range, general) {
            (Some(range), general) => {
                let (table, sized) = (range.table.clone(), general.is_some());
                let general = general.map(|(plan, _)| Box::new(plan));
                Some(Built { sized, ..Built::new(Body::Range(range, general), table) })
            }
            (None, general) => general.map(|(plan, tables)| Built { body: Body::Query(plan), tables, sized: true }),
        })
    }

    /// A plan for the executor, if it may be kept.
    fn build_general(
        &self,
        logical: LogicalQuery,
        query: &Query,
        params: &[(Value, SqlType)],
    ) -> Result<Option<(QueryPlan, Vec<Arc<TableDef>>)>> {
        let info = self.info();
        let Some(tables) = plain_tables(&logical) else { return Ok(None) };
        if !params_are_plain(&logical, false) {
            return Ok(None);
        }
        let shape = Arc::new(ResultShape::new(meta::columns(&logical)));
        let mut plan = self.optimize_quietly(logical)?;
        let valued = self.optimize_quietly(self.untyped_binder(&info).with_params(params).bind_query(query)?)?;
        Ok(take_estimate(&mut plan, &valued).map(|()| (QueryPlan { plan, shape }, tables)))
    }
}

/// Gives a plan made without values the estimate of the one made with them; `None` if that is another plan, much is
/// read, or each execution is to be warned of something.
fn take_estimate(plan: &mut Arc<Plan>, valued: &Plan) -> Option<()> {
    if !plan.warnings.is_empty() || !valued.warnings.is_empty() {
        return None;
    }
    if valued.estimated_rows_read > ROWS_READ_MAX || !same_shape(plan, valued) {
        return None;
    }
    Arc::make_mut(plan).estimated_rows_read = valued.estimated_rows_read;
    Some(())
}

/// The tables read; `None` if the server makes one of them, or it is the session's own.
fn plain_tables(query: &LogicalQuery) -> Option<Vec<Arc<TableDef>>> {
    let mut tables = Some(Vec::new());
    let mut visit = |node: &Logical| {
        if let Logical::Get { table, .. } = node {
            let plain = table.engine != TableEngine::Virtual && !table.temporary;
            match &mut tables {
                Some(list) if plain => list.push(table.clone()),
                _ => tables = None,
            }
        }
    };
    query.root.walk(&mut visit);
    query.subqueries.iter().for_each(|s| s.plan.walk(&mut visit));
    tables
}

/// Whether the table's rows are found by a unique key, whatever the values.
pub(crate) fn is_by_key(plan: &Plan) -> bool {
    fn node(n: &PlanNode) -> bool {
        matches!(n.op, plan::PlanOp::KeyLookup { .. }) || matches!(&n.inputs()[..], [one] if node(one))
    }
    plan.init.is_empty() && node(&plan.root)
}

/// Whether the table's rows are found by ranges of an index that begin with something equal.
fn is_by_index(plan: &Plan) -> bool {
    fn node(n: &PlanNode) -> bool {
        match &n.op {
            plan::PlanOp::IndexScan { ranges, .. } => ranges.iter().all(|r| !r.equal.is_empty()),
            _ => matches!(&n.inputs()[..], [one] if node(one)),
        }
    }
    plan.init.is_empty() && node(&plan.root)
}

/// Whether every parameter is an operand of a comparison with something of its own class, or (`assigned`) the new value
/// of a column, or added to an integer in one.
fn params_are_plain(query: &LogicalQuery, assigned: bool) -> bool {
    let mut plain = true;
    let mut visit = |node: &Logical| {
        let projected = assigned && matches!(node, Logical::Project { .. });
        plain &= node.exprs().into_iter().all(|e| projected && is_assignable(e) || expr_is_plain(e));
    };
    query.root.walk(&mut visit);
    query.subqueries.iter().for_each(|s| s.plan.walk(&mut visit));
    plain
}

fn is_assignable(e: &Expr) -> bool {
    match &e.kind {
        ExprKind::Param(_) => true,
        ExprKind::Arith { op: ArithOp::Add | ArithOp::Sub | ArithOp::Mul, left, right } => {
            let is_number = |ty: &SqlType| ty.is_integer() || matches!(ty, SqlType::Decimal { .. } | SqlType::Double);
            let operand = |e: &Expr| match &e.kind {
                ExprKind::Cast { expr, explicit: false } if is_number(&expr.ty) => {
                    matches!(expr.kind, ExprKind::Param(_) | ExprKind::Column(_))
                }
                kind => is_number(&e.ty) && matches!(kind, ExprKind::Param(_) | ExprKind::Column(_)),
            };
            operand(left) && operand(right)
        }
        _ => false,
    }
}

fn expr_is_plain(e: &Expr) -> bool {
    let operands = |all: &mut dyn Iterator<Item = &Expr>| {
        let all: Vec<&Expr> = all.collect();
        let class = all.iter().find(|e| !is_param(e)).map(|e| e.ty);
        all.into_iter()
            .all(|e| if is_param(e) { class.is_some_and(|c| same_class(&e.ty, &c)) } else { expr_is_plain(e) })
    };
    match &e.kind {
        ExprKind::Param(_) => false,
        ExprKind::Compare { left, right, .. } => operands(&mut [&**left, &**right].into_iter()),
        ExprKind::InList { expr, list, .. } => operands(&mut std::iter::once(&**expr).chain(list.iter())),
        _ => e.children().into_iter().all(expr_is_plain),
    }
}

/// A parameter, possibly text under another collation.
fn is_param(e: &Expr) -> bool {
    match &e.kind {
        ExprKind::Param(_) => true,
        ExprKind::Cast { expr, explicit: false } => {
            matches!(expr.kind, ExprKind::Param(_)) && expr.ty.is_string() && e.ty.is_string()
        }
        _ => false,
    }
}

fn same_class(param: &SqlType, other: &SqlType) -> bool {
    match (param, other) {
        (SqlType::Int { .. }, SqlType::Int { .. }) => true,
        (SqlType::String { collation: a, .. }, SqlType::String { collation: b, .. }) => a == b,
        (a, b) => a == b && !matches!(a, SqlType::Null),
    }
}

/// The same operators over the same tables by the same indexes.
fn same_shape(a: &Plan, b: &Plan) -> bool {
    fn nodes(a: &PlanNode, b: &PlanNode) -> bool {
        let (x, y) = (a.inputs(), b.inputs());
        std::mem::discriminant(&a.op) == std::mem::discriminant(&b.op)
            && x.len() == y.len()
            && x.into_iter().zip(y).all(|(a, b)| nodes(a, b))
    }
    // table, type and key of EXPLAIN
    const COMPARED: [usize; 3] = [2, 4, 6];
    let (x, y) = (plan::explain::traditional(Some(a), None), plan::explain::traditional(Some(b), None));
    nodes(&a.root, &b.root)
        && a.init.len() == b.init.len()
        && x.len() == y.len()
        && x.iter().zip(&y).all(|(x, y)| COMPARED.iter().all(|&i| x[i] == y[i]))
}
