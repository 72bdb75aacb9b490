//! Runs physical plans in the plainest way.

use crate::logical::{Data, agg, set_op};
use crate::scalar::{self, Env, Row, V, eval, is_true};
use expr::{Expr, WindowFunc};
use plan::logical::SetOpKind as Kind;
use plan::{IndexRange, InitKind, JoinKind, LastPart, Plan, PlanNode, PlanOp, SetOpKind};
use std::cell::RefCell;
use std::collections::HashMap;

pub enum Failure {
    ManyRows,
    Broken(String),
}

impl From<String> for Failure {
    fn from(e: String) -> Failure {
        Failure::Broken(e)
    }
}

type Result<T> = std::result::Result<T, Failure>;

struct Machine<'a> {
    data: &'a Data,
    params: RefCell<HashMap<u32, V>>,
    ctes: RefCell<HashMap<u32, Vec<Row>>>,
    /// What the build sides held, by sideways filter.
    filters: RefCell<HashMap<u32, Vec<V>>>,
}

struct Scope<'a> {
    row: &'a [V],
    params: &'a RefCell<HashMap<u32, V>>,
}

impl Env for Scope<'_> {
    fn column(&self, id: u32) -> std::result::Result<V, String> {
        self.row.get(id as usize).copied().ok_or_else(|| format!("no column at {id}"))
    }

    fn param(&self, id: u32) -> std::result::Result<V, String> {
        self.params.borrow().get(&id).copied().ok_or_else(|| format!("parameter {id} is not set"))
    }
}

pub fn run(plan: &Plan, data: &Data) -> Result<Vec<Row>> {
    let m = Machine { data, params: RefCell::default(), ctes: RefCell::default(), filters: RefCell::default() };
    for i in &plan.init {
        if i.param >= plan.param_count {
            return Err(Failure::Broken("a parameter past the count".into()));
        }
        let rows = m.node(&i.plan)?;
        let v = match i.kind {
            InitKind::Exists => Some(!rows.is_empty() as i64),
            InitKind::Scalar => match rows.as_slice() {
                [] => None,
                [r] => r[0],
                _ => return Err(Failure::ManyRows),
            },
        };
        m.params.borrow_mut().insert(i.param, v);
    }
    m.node(&plan.root)
}

impl Machine<'_> {
    fn value(&self, e: &Expr, row: &[V]) -> Result<V> {
        Ok(eval(e, &Scope { row, params: &self.params })?)
    }

    fn values(&self, es: &[Expr], row: &[V]) -> Result<Row> {
        es.iter().map(|e| self.value(e, row)).collect()
    }

    fn passes(&self, es: &[Expr], row: &[V]) -> Result<bool> {
        for e in es {
            if !is_true(self.value(e, row)?) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn node(&self, n: &PlanNode) -> Result<Vec<Row>> {
        let rows = self.op(n)?;
        for r in &rows {
            if r.len() != n.output.len() {
                return Err(Failure::Broken(format!(
                    "{} columns, {} announced by node {}",
                    r.len(),
                    n.output.len(),
                    n.id
                )));
            }
            for (v, o) in r.iter().zip(&n.output) {
                if v.is_none() && !o.nullable {
                    return Err(Failure::Broken(format!("NULL in column {} of node {}", o.name, n.id)));
                }
            }
        }
        Ok(rows)
    }

    /// Does a range hold the key?
    fn is_within(&self, range: &IndexRange, key: &[V]) -> Result<bool> {
        for (k, v) in range.equal.iter().zip(key) {
            let wanted = self.value(&k.expr, &[])?;
            if wanted != *v || (wanted.is_none() && !k.null_safe) {
                return Ok(false);
            }
        }
        match &range.last {
            None => Ok(true),
            Some(LastPart::StartsWith(_)) => Err(Failure::Broken("no strings here".into())),
            Some(LastPart::Between { low, high }) => {
                let Some(v) = key[range.equal.len()] else { return Ok(false) };
                for (end, is_low) in [(low, true), (high, false)] {
                    let Some(end) = end else { continue };
                    let Some(e) = self.value(&end.expr, &[])? else { return Ok(false) };
                    let inside = if is_low { v > e } else { v < e };
                    if !(inside || end.inclusive && v == e) {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
        }
    }

    /// Do the tests of entries hold for a key?
    fn entry_passes(&self, used: &plan::EntryUse, key: &[V]) -> Result<bool> {
        for t in &used.tests {
            let mut within = false;
            for range in &t.ranges {
                within |= self.is_within(range, &key[t.part..=t.part])?;
            }
            if !within {
                return Ok(false);
            }
        }
        let decoded: Row = used.decoded.iter().map(|p| key[*p]).collect();
        self.passes(&used.conditions, &decoded)
    }

    fn op(&self, n: &PlanNode) -> Result<Vec<Row>> {
        match &n.op {
            PlanOp::OneRow => Ok(vec![vec![]]),
            PlanOp::Empty => Ok(vec![]),
            PlanOp::Values { rows } => rows.iter().map(|r| self.values(r, &[])).collect(),
            PlanOp::Scan { table, columns, filters, project, sideways, .. } => {
                let mut out = vec![];
                for r in &self.data[&table.id.0] {
                    let r: Row = columns.iter().map(|c| r[*c]).collect();
                    let known = self.filters.borrow();
                    let narrowed = sideways.iter().all(|s| known[&s.filter_id].contains(&r[s.column]));
                    if narrowed && self.passes(filters, &r)? {
                        out.push(project.iter().map(|p| r[*p]).collect());
                    }
                }
                Ok(out)
            }
            PlanOp::KeyLookup { table, index, keys, columns, filters, project, .. } => {
                let mut out = vec![];
                for k in keys {
                    let k = self.values(k, &[])?;
                    for r in &self.data[&table.id.0] {
                        let parts = &table.indexes[*index].parts;
                        if parts.iter().zip(&k).all(|(p, v)| v.is_some() && r[p.column_idx] == *v) {
                            let r: Row = columns.iter().map(|c| r[*c]).collect();
                            if self.passes(filters, &r)? {
                                out.push(project.iter().map(|p| r[*p]).collect());
                            }
                        }
                    }
                }
                Ok(out)
            }
            PlanOp::IndexScan {
                table, index, ranges, reverse, ordered, columns, filters, project, entries, ..
            } => {
                let parts = &table.indexes[*index].parts;
                let mut all = self.data[&table.id.0].clone();
                all.sort_by_key(|r| parts.iter().map(|p| r[p.column_idx]).collect::<Vec<_>>());
                if *reverse && *ordered {
                    all.reverse();
                }
                let mut out = vec![];
                for r in all {
                    let mut within = false;
                    for range in ranges {
                        within |= self.is_within(range, &parts.iter().map(|p| r[p.column_idx]).collect::<Vec<_>>())?;
                    }
                    if let Some(merge) = &entries.merge {
                        for (i, ranges) in &merge.others {
                            let key: Row = table.indexes[*i].parts.iter().map(|p| r[p.column_idx]).collect();
                            let mut other = false;
                            for range in ranges {
                                other |= self.is_within(range, &key)?;
                            }
                            match merge.kind {
                                plan::access::MergeKind::Intersect => within &= other,
                                _ => within |= other,
                            }
                        }
                    }
                    within = within
                        && self.entry_passes(entries, &parts.iter().map(|p| r[p.column_idx]).collect::<Vec<_>>())?;
                    let r: Row = columns.iter().map(|c| r[*c]).collect();
                    if within && self.passes(filters, &r)? {
                        out.push(project.iter().map(|p| r[*p]).collect());
                    }
                }
                Ok(out)
            }
            PlanOp::IndexJoin {
                kind, input, table, index, key, columns, filters, condition, project, entries, ..
            } => {
                let parts = &table.indexes[*index].parts;
                let mut out = vec![];
                for l in self.node(input)? {
                    let mut matched = false;
                    for r in &self.data[&table.id.0] {
                        let mut found = true;
                        for (k, p) in key.iter().zip(parts) {
                            let v = self.value(&k.expr, &l)?;
                            found &= v == r[p.column_idx] && (v.is_some() || k.null_safe);
                        }
                        let entry: Vec<_> = parts.iter().map(|p| r[p.column_idx]).collect();
                        found = found && self.entry_passes(entries, &entry)?;
                        let own: Row = columns.iter().map(|c| r[*c]).collect();
                        let both: Row = l.iter().copied().chain(own.iter().copied()).collect();
                        if !found || !self.passes(filters, &own)? || !self.passes(condition, &both)? {
                            continue;
                        }
                        matched = true;
                        if matches!(kind, JoinKind::Inner | JoinKind::Left) {
                            out.push(project.iter().map(|p| both[*p]).collect());
                        }
                    }
                    let alone = match kind {
                        JoinKind::Left | JoinKind::Anti => !matched,
                        JoinKind::Semi => matched,
                        _ => false,
                    };
                    if alone {
                        let both: Row = l.iter().copied().chain(columns.iter().map(|_| None)).collect();
                        out.push(project.iter().map(|p| both[*p]).collect());
                    }
                }
                Ok(out)
            }
            PlanOp::Filter { input, predicates } => {
                let mut out = vec![];
                for r in self.node(input)? {
                    if self.passes(predicates, &r)? {
                        out.push(r);
                    }
                }
                Ok(out)
            }
            PlanOp::Project { input, exprs } => self.node(input)?.iter().map(|r| self.values(exprs, r)).collect(),
            PlanOp::HashJoin { kind, probe, build, keys, residual, sideways, in_keys, project } => {
                let b = self.node(build)?;
                for s in sideways {
                    let mut held = vec![];
                    for r in &b {
                        held.push(self.value(&keys[s.key].build, r)?);
                    }
                    self.filters.borrow_mut().insert(s.filter_id, held);
                }
                let p = self.node(probe)?;
                self.join(*kind, p, b, probe.output.len(), build.output.len(), project, |l, r| {
                    let mut vs = vec![];
                    for (i, k) in keys.iter().enumerate() {
                        let (x, y) = (self.value(&k.probe, l)?, self.value(&k.build, r)?);
                        let op = if k.null_safe { expr::CmpOp::NullSafeEq } else { expr::CmpOp::Eq };
                        let mut v = scalar::compare(op, x, y);
                        if i >= *in_keys {
                            v = Some(is_true(v) as i64);
                        }
                        vs.push(v);
                    }
                    if let Some(e) = residual {
                        let both: Row = l.iter().chain(r).copied().collect();
                        vs.push(Some(is_true(self.value(e, &both)?) as i64));
                    }
                    Ok(scalar::and(vs))
                })
            }
            PlanOp::NestedLoopJoin { kind, probe, build, condition, project, .. } => {
                let (b, p) = (self.node(build)?, self.node(probe)?);
                self.join(*kind, p, b, probe.output.len(), build.output.len(), project, |l, r| match condition {
                    None => Ok(Some(1)),
                    Some(e) => {
                        let both: Row = l.iter().chain(r).copied().collect();
                        self.value(e, &both)
                    }
                })
            }
            PlanOp::Apply { input, subplan, params, kind, unknown, .. } => {
                let mut out = vec![];
                for l in self.node(input)? {
                    for (p, e) in params {
                        let v = self.value(e, &l)?;
                        self.params.borrow_mut().insert(*p, v);
                    }
                    let rows = self.node(subplan)?;
                    let width = l.len() + subplan.output.len();
                    let all: Vec<usize> = (0..width).collect();
                    if rows.is_empty() && matches!(kind, JoinKind::NullAwareAnti | JoinKind::Mark { null_aware: true })
                    {
                        let mut is_unknown = false;
                        for u in unknown {
                            let asked = match u.when_null {
                                None => true,
                                Some((p, null)) => self.params.borrow()[&p].is_none() == null,
                            };
                            if asked && !is_unknown {
                                // What a test does not read must not matter.
                                let kept = self.params.borrow().clone();
                                for (p, _) in params {
                                    if !u.params.contains(p) {
                                        self.params.borrow_mut().remove(p);
                                    }
                                }
                                is_unknown = !self.node(&u.subplan)?.is_empty();
                                *self.params.borrow_mut() = kept;
                            }
                        }
                        let mut row = l.clone();
                        match kind {
                            JoinKind::Mark { .. } => {
                                row.push(if is_unknown { None } else { Some(0) });
                                out.push(row);
                            }
                            _ if !is_unknown => out.push(row),
                            _ => {}
                        }
                        continue;
                    }
                    let project: Vec<usize> = match kind {
                        JoinKind::Semi | JoinKind::Anti | JoinKind::NullAwareAnti => (0..l.len()).collect(),
                        JoinKind::Mark { .. } => (0..=l.len()).collect(),
                        _ => all,
                    };
                    let (n, m) = (l.len(), subplan.output.len());
                    out.extend(self.join(*kind, vec![l], rows, n, m, &project, |_, _| Ok(Some(1)))?);
                }
                Ok(out)
            }
            PlanOp::Aggregate { input, groups, aggregates, rollup, .. } => {
                assert!(!rollup);
                let mut found: Vec<(Row, Vec<Row>)> = vec![];
                for r in self.node(input)? {
                    let key = self.values(groups, &r)?;
                    match found.iter_mut().find(|f| f.0 == key) {
                        Some(f) => f.1.push(r),
                        None => found.push((key, vec![r])),
                    }
                }
                if groups.is_empty() && found.is_empty() {
                    found.push((vec![], vec![]));
                }
                let mut out = vec![];
                for (mut key, rows) in found {
                    for a in aggregates {
                        let args = rows.iter().map(|r| self.values(&a.args, r)).collect::<Result<Vec<_>>>()?;
                        key.push(scalar::aggregate(a, &args));
                    }
                    out.push(key);
                }
                Ok(out)
            }
            PlanOp::Distinct { input } => Ok(set_op(Kind::Union, true, vec![self.node(input)?])),
            PlanOp::Sort { input, keys, limit, offset } => {
                let mut rows = vec![];
                for r in self.node(input)? {
                    let k = keys.iter().map(|k| self.value(&k.expr, &r)).collect::<Result<Row>>()?;
                    rows.push((k, r));
                }
                rows.sort_by(|a, b| {
                    for (i, k) in keys.iter().enumerate() {
                        let o = a.0[i].cmp(&b.0[i]);
                        let o = if k.descending { o.reverse() } else { o };
                        if o.is_ne() {
                            return o;
                        }
                    }
                    std::cmp::Ordering::Equal
                });
                let take = limit.map_or(usize::MAX, |l| l as usize);
                Ok(rows.into_iter().map(|r| r.1).skip(*offset as usize).take(take).collect())
            }
            // Either, by what the other tests of the plan make of it.
            PlanOp::Attempt { first, otherwise } => self.node(if n.id.is_multiple_of(2) { first } else { otherwise }),
            PlanOp::Limit { input, limit, offset } => Ok(self
                .node(input)?
                .into_iter()
                .skip(*offset as usize)
                .take(limit.map_or(usize::MAX, |l| l as usize))
                .collect()),
            PlanOp::Window { input, partition_by, order_by, calls } => {
                let rows = self.node(input)?;
                let mut keys = vec![];
                for r in &rows {
                    let order = order_by.iter().map(|k| self.value(&k.expr, r)).collect::<Result<Row>>()?;
                    keys.push((self.values(partition_by, r)?, order));
                }
                // Positions in window order.
                let mut at: Vec<usize> = (0..rows.len()).collect();
                at.sort_by(|a, b| {
                    for (i, k) in order_by.iter().enumerate() {
                        let o = keys[*a].1[i].cmp(&keys[*b].1[i]);
                        let o = if k.descending { o.reverse() } else { o };
                        if o.is_ne() {
                            return o;
                        }
                    }
                    a.cmp(b)
                });
                let mut out = vec![];
                for i in &at {
                    let mut r = rows[*i].clone();
                    for c in calls {
                        let peers = at.iter().filter(|j| keys[**j].0 == keys[*i].0);
                        let v = match c.func {
                            WindowFunc::RowNumber => {
                                Some(peers.clone().position(|j| j == i).expect("itself") as i64 + 1)
                            }
                            WindowFunc::Agg(f) => {
                                let args =
                                    peers.map(|j| self.values(&c.args, &rows[*j])).collect::<Result<Vec<_>>>()?;
                                scalar::aggregate(&agg(f), &args)
                            }
                            other => return Err(Failure::Broken(format!("no {other:?}"))),
                        };
                        r.push(v);
                    }
                    out.push(r);
                }
                Ok(out)
            }
            PlanOp::SetOp { kind, inputs } => {
                let sides = inputs.iter().map(|i| self.node(i)).collect::<Result<Vec<_>>>()?;
                let (kind, distinct) = match kind {
                    SetOpKind::UnionAll => (Kind::Union, false),
                    SetOpKind::IntersectAll => (Kind::Intersect, false),
                    SetOpKind::IntersectDistinct => (Kind::Intersect, true),
                    SetOpKind::ExceptAll => (Kind::Except, false),
                    SetOpKind::ExceptDistinct => (Kind::Except, true),
                };
                Ok(set_op(kind, distinct, sides))
            }
            PlanOp::With { ctes, input } => {
                for c in ctes {
                    let rows = self.node(&c.plan)?;
                    self.ctes.borrow_mut().insert(c.cte_id, rows);
                }
                self.node(input)
            }
            PlanOp::CteScan { cte_id, .. } => {
                Ok(self.ctes.borrow().get(cte_id).ok_or_else(|| Failure::Broken("no such CTE".into()))?.clone())
            }
            other => Err(Failure::Broken(format!("the interpreter knows no {other:?}"))),
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn join(
        &self,
        kind: JoinKind,
        probe: Vec<Row>,
        build: Vec<Row>,
        probe_width: usize,
        build_width: usize,
        project: &[usize],
        condition: impl Fn(&[V], &[V]) -> Result<V>,
    ) -> Result<Vec<Row>> {
        let mut out: Vec<Row> = vec![];
        let mut hit = vec![false; build.len()];
        if probe.len() * build.len() > 200_000 {
            return Err(Failure::ManyRows);
        }
        for l in &probe {
            let mut matches = 0;
            let mut unknown = false;
            for (i, r) in build.iter().enumerate() {
                let v = condition(l, r)?;
                unknown |= v.is_none();
                if is_true(v) {
                    hit[i] = true;
                    matches += 1;
                    if matches!(kind, JoinKind::Inner | JoinKind::Left | JoinKind::Right | JoinKind::Single) {
                        out.push(l.iter().chain(r).copied().collect());
                    }
                }
            }
            let padded = || l.iter().copied().chain(std::iter::repeat_n(None, build_width)).collect();
            match kind {
                JoinKind::Left | JoinKind::Single if matches == 0 => out.push(padded()),
                JoinKind::Single if matches > 1 => return Err(Failure::ManyRows),
                JoinKind::Semi if matches > 0 => out.push(l.clone()),
                JoinKind::Anti if matches == 0 => out.push(l.clone()),
                JoinKind::NullAwareAnti if matches == 0 && !unknown => out.push(l.clone()),
                JoinKind::Mark { null_aware } => {
                    let mark = match (matches > 0, unknown && null_aware) {
                        (true, _) => Some(1),
                        (false, true) => None,
                        (false, false) => Some(0),
                    };
                    let mut r = l.clone();
                    r.push(mark);
                    out.push(r);
                }
                _ => {}
            }
        }
        for (r, hit) in build.iter().zip(hit) {
            match kind {
                JoinKind::Right if !hit => {
                    out.push(std::iter::repeat_n(None, probe_width).chain(r.iter().copied()).collect())
                }
                JoinKind::RightSemi if hit => out.push(r.clone()),
                JoinKind::RightAnti if !hit => out.push(r.clone()),
                _ => {}
            }
        }
        Ok(out.into_iter().map(|r| project.iter().map(|p| r[*p]).collect()).collect())
    }
}
