//! The oracle: plans interpreted row by row, by definition, without any of the executor's code.

use crate::world::World;
use expr::{AggCall, AggFunc, EvalContext, Expr, FrameBound, FrameUnits, Params, Warnings, WindowCall, WindowFunc};
use plan::physical::*;
use std::cmp::Ordering;
use std::collections::HashMap;
use types::{Decimal, Error, I256, Result, SqlType, Value};

type Row = Vec<Value>;
/// Whether two rows match; None: UNKNOWN.
type Truth<'t> = dyn Fn(&Naive<'_>, &Row, &Row) -> Result<Option<bool>> + 't;

pub struct Naive<'a> {
    world: &'a World,
    ctes: HashMap<u32, Vec<Row>>,
    params: Params,
}

pub fn compare(a: &Value, b: &Value, ty: &SqlType) -> Ordering {
    match (a, b) {
        (Value::Null, Value::Null) => Ordering::Equal,
        (Value::Null, _) => Ordering::Less,
        (_, Value::Null) => Ordering::Greater,
        (Value::Int(a), Value::Int(b)) => a.cmp(b),
        (Value::UInt(a), Value::UInt(b)) => a.cmp(b),
        (Value::Double(a), Value::Double(b)) => a.partial_cmp(b).expect("no NaN"),
        (Value::Decimal(a), Value::Decimal(b)) => a.cmp_value(b),
        (Value::Bytes(a), Value::Bytes(b)) => ty.collation().expect("text").compare(a, b),
        other => panic!("{other:?}"),
    }
}

/// `a = b`: None is UNKNOWN.
fn equal(a: &Value, b: &Value, ty: &SqlType, null_safe: bool) -> Option<bool> {
    if !null_safe && (a.is_null() || b.is_null()) {
        return None;
    }
    Some(compare(a, b, ty) == Ordering::Equal)
}

fn types(n: &PlanNode) -> Vec<SqlType> {
    n.output.iter().map(|c| c.ty).collect()
}

fn nulls(n: usize) -> Row {
    vec![Value::Null; n]
}

impl<'a> Naive<'a> {
    pub fn new(world: &'a World) -> Naive<'a> {
        Naive { world, ctes: HashMap::new(), params: Params { values: vec![None; 8] } }
    }

    fn eval(&self, e: &Expr, row: &Row, types: &[SqlType]) -> Result<Value> {
        let warnings = Warnings::new(1);
        let ctx =
            EvalContext::new(&self.world.session, &self.params, &self.world.user_vars, &warnings, &self.world.killed);
        expr::eval::eval_row(e, row, types, &ctx)
    }

    /// None: UNKNOWN.
    fn test(&self, e: &Expr, row: &Row, types: &[SqlType]) -> Result<Option<bool>> {
        Ok(match self.eval(e, row, types)? {
            Value::Null => None,
            Value::Int(v) => Some(v != 0),
            other => panic!("{other:?} is no truth value"),
        })
    }

    pub fn rows(&mut self, n: &PlanNode) -> Result<Vec<Row>> {
        match &n.op {
            PlanOp::Scan { table, columns, project, .. } => {
                let t = self.world.tables.iter().find(|t| t.def.id == table.id).expect("a table of the world");
                let mut out = Vec::new();
                for leaf in &t.leaves {
                    leaf.selection.for_each(leaf.rows, |i| {
                        out.push(
                            project
                                .iter()
                                .map(|&p| leaf.columns[columns[p]].value(i, &table.columns[columns[p]].ty))
                                .collect(),
                        )
                    });
                }
                Ok(out)
            }
            PlanOp::Filter { input, predicates } => {
                let (rows, types) = (self.rows(input)?, types(input));
                let mut out = Vec::new();
                for r in rows {
                    let mut keep = true;
                    for p in predicates {
                        keep &= self.test(p, &r, &types)? == Some(true);
                    }
                    if keep {
                        out.push(r);
                    }
                }
                Ok(out)
            }
            PlanOp::Project { input, exprs } => {
                let (rows, types) = (self.rows(input)?, types(input));
                rows.iter().map(|r| exprs.iter().map(|e| self.eval(e, r, &types)).collect()).collect()
            }
            PlanOp::HashJoin { kind, probe, build, keys, residual, in_keys, project, .. } => {
                let (l, r) = (self.rows(probe)?, self.rows(build)?);
                let (lt, rt) = (types(probe), types(build));
                let both: Vec<SqlType> = lt.iter().chain(&rt).copied().collect();
                let truth = |me: &Naive<'_>, a: &Row, b: &Row| -> Result<Option<bool>> {
                    // UNKNOWN only if it comes of the IN comparison of a row that belongs to the group.
                    let mut in_result = Some(true);
                    for (k, key) in keys.iter().enumerate() {
                        let (x, y) = (me.eval(&key.probe, a, &lt)?, me.eval(&key.build, b, &rt)?);
                        let e = equal(&x, &y, &key.probe.ty, key.null_safe);
                        if k < *in_keys {
                            in_result = match (in_result, e) {
                                (Some(false), _) | (_, Some(false)) => Some(false),
                                (None, _) | (_, None) => None,
                                _ => Some(true),
                            };
                        } else if e != Some(true) {
                            return Ok(Some(false));
                        }
                    }
                    if let Some(res) = residual {
                        let pair: Row = a.iter().chain(b).cloned().collect();
                        if me.test(res, &pair, &both)? != Some(true) {
                            return Ok(Some(false));
                        }
                    }
                    Ok(in_result)
                };
                self.join(*kind, &l, &r, (lt.len(), rt.len()), project, &truth)
            }
            PlanOp::NestedLoopJoin { kind, probe, build, condition, project, .. } => {
                let (l, r) = (self.rows(probe)?, self.rows(build)?);
                let (lt, rt) = (types(probe), types(build));
                let both: Vec<SqlType> = lt.iter().chain(&rt).copied().collect();
                let truth = |me: &Naive<'_>, a: &Row, b: &Row| -> Result<Option<bool>> {
                    match condition {
                        None => Ok(Some(true)),
                        Some(c) => me.test(c, &a.iter().chain(b).cloned().collect(), &both),
                    }
                };
                self.join(*kind, &l, &r, (lt.len(), rt.len()), project, &truth)
            }
            PlanOp::Apply { input, subplan, params, kind, .. } => {
                let (rows, types) = (self.rows(input)?, types(input));
                let width = subplan.output.len();
                let mut out = Vec::new();
                for r in rows {
                    for (id, e) in params {
                        let v = self.eval(e, &r, &types)?;
                        self.params.values[*id as usize] = Some((v, e.ty));
                    }
                    let inner = self.rows(subplan)?;
                    let project: Vec<usize> = (0..r.len() + width.max(1)).collect();
                    let all = |_: &Naive<'_>, _: &Row, _: &Row| Ok(Some(true));
                    let project = match kind {
                        JoinKind::Semi | JoinKind::Anti => &project[..r.len()],
                        JoinKind::Mark { .. } => &project[..r.len() + 1],
                        _ => &project[..r.len() + width],
                    };
                    out.extend(self.join(*kind, &[r], &inner, (types.len(), width), project, &all)?);
                }
                Ok(out)
            }
            PlanOp::Aggregate { input, groups, aggregates, rollup, .. } => {
                let (rows, types) = (self.rows(input)?, types(input));
                let n = groups.len();
                let levels: Vec<usize> = if *rollup { (0..=n).rev().collect() } else { vec![n] };
                let mut out: Vec<Row> = Vec::new();
                for level in levels {
                    let mut found: Vec<(Row, Vec<Row>)> = Vec::new();
                    for r in &rows {
                        let mut key = Vec::new();
                        for (g, e) in groups.iter().enumerate() {
                            key.push(if g < level { self.eval(e, r, &types)? } else { Value::Null });
                        }
                        let same = |k: &Row| {
                            k.iter().zip(&key).zip(groups).all(|((a, b), e)| compare(a, b, &e.ty) == Ordering::Equal)
                        };
                        match found.iter_mut().find(|(k, _)| same(k)) {
                            Some((_, members)) => members.push(r.clone()),
                            None => found.push((key, vec![r.clone()])),
                        }
                    }
                    if n == 0 && found.is_empty() {
                        found.push((vec![], vec![]));
                    }
                    for (key, members) in found {
                        let mut row = key;
                        for a in aggregates {
                            row.push(self.aggregate(a, &members, &types)?);
                        }
                        out.push(row);
                    }
                }
                Ok(out)
            }
            PlanOp::Distinct { input } => {
                let (rows, types) = (self.rows(input)?, types(input));
                let mut out: Vec<Row> = Vec::new();
                for r in rows {
                    if !out.iter().any(|o| same_row(o, &r, &types)) {
                        out.push(r);
                    }
                }
                Ok(out)
            }
            PlanOp::Sort { input, keys, limit, offset } => {
                let (mut rows, types) = (self.rows(input)?, types(input));
                self.sort(&mut rows, keys, &types);
                let take = limit.map_or(usize::MAX, |l| l as usize);
                Ok(rows.into_iter().skip(*offset as usize).take(take).collect())
            }
            PlanOp::Limit { input, limit, offset } => {
                let take = limit.map_or(usize::MAX, |l| l as usize);
                Ok(self.rows(input)?.into_iter().skip(*offset as usize).take(take).collect())
            }
            PlanOp::SetOp { kind, inputs } => {
                let t = types(n);
                let inputs: Vec<Vec<Row>> = inputs.iter().map(|i| self.rows(i)).collect::<Result<_>>()?;
                if *kind == SetOpKind::UnionAll {
                    return Ok(inputs.concat());
                }
                let mut distinct: Vec<Row> = Vec::new();
                for r in inputs.iter().flatten() {
                    if !distinct.iter().any(|o| same_row(o, r, &t)) {
                        distinct.push(r.clone());
                    }
                }
                let mut out = Vec::new();
                for r in distinct {
                    let c: Vec<usize> =
                        inputs.iter().map(|i| i.iter().filter(|o| same_row(o, &r, &t)).count()).collect();
                    let rest: usize = c[1..].iter().sum();
                    let times = match kind {
                        SetOpKind::IntersectAll => *c.iter().min().expect("inputs"),
                        SetOpKind::IntersectDistinct => c.iter().all(|&x| x > 0) as usize,
                        SetOpKind::ExceptAll => c[0].saturating_sub(rest),
                        _ => (c[0] > 0 && rest == 0) as usize,
                    };
                    out.extend(std::iter::repeat_n(r, times));
                }
                Ok(out)
            }
            PlanOp::With { ctes, input } => {
                for c in ctes {
                    let rows = self.rows(&c.plan)?;
                    self.ctes.insert(c.cte_id, rows);
                }
                self.rows(input)
            }
            PlanOp::CteScan { cte_id, .. } => Ok(self.ctes[cte_id].clone()),
            PlanOp::SingleRow { input } => {
                let rows = self.rows(input)?;
                match rows.len() {
                    0 => Ok(vec![nulls(input.output.len())]),
                    1 => Ok(rows),
                    _ => Err(Error::subquery_no_1_row()),
                }
            }
            PlanOp::Window { input, partition_by, order_by, calls } => {
                let (rows, types) = (self.rows(input)?, types(input));
                self.window(rows, &types, partition_by, order_by, calls)
            }
            other => panic!("the oracle does not know {other:?}"),
        }
    }

    fn sort(&self, rows: &mut [Row], keys: &[SortKey], types: &[SqlType]) {
        rows.sort_by(|a, b| {
            for k in keys {
                let (x, y) = (self.eval(&k.expr, a, types).unwrap(), self.eval(&k.expr, b, types).unwrap());
                let o = compare(&x, &y, &k.expr.ty);
                let o = if k.descending { o.reverse() } else { o };
                if o.is_ne() {
                    return o;
                }
            }
            Ordering::Equal
        });
    }

    fn join(
        &self,
        kind: JoinKind,
        l: &[Row],
        r: &[Row],
        (lw, rw): (usize, usize),
        project: &[usize],
        truth: &Truth<'_>,
    ) -> Result<Vec<Row>> {
        let mut out: Vec<Row> = Vec::new();
        let mut matched_right = vec![false; r.len()];
        for a in l {
            let mut hits = Vec::new();
            let mut unknown = false;
            for (j, b) in r.iter().enumerate() {
                match truth(self, a, b)? {
                    Some(true) => {
                        hits.push(j);
                        matched_right[j] = true;
                    }
                    None => unknown = true,
                    Some(false) => {}
                }
            }
            let joined = |j: usize| a.iter().chain(&r[j]).cloned().collect::<Row>();
            match kind {
                JoinKind::Inner | JoinKind::Right => out.extend(hits.iter().map(|&j| joined(j))),
                JoinKind::Left | JoinKind::Single => {
                    if kind == JoinKind::Single && hits.len() > 1 {
                        return Err(Error::subquery_no_1_row());
                    }
                    out.extend(hits.iter().map(|&j| joined(j)));
                    if hits.is_empty() {
                        out.push(a.iter().cloned().chain(nulls(rw)).collect());
                    }
                }
                JoinKind::Semi if !hits.is_empty() => out.push(a.clone()),
                JoinKind::Anti if hits.is_empty() => out.push(a.clone()),
                JoinKind::NullAwareAnti if hits.is_empty() && !unknown => out.push(a.clone()),
                JoinKind::Mark { null_aware } => {
                    let mark = if !hits.is_empty() {
                        Value::Int(1)
                    } else if null_aware && unknown {
                        Value::Null
                    } else {
                        Value::Int(0)
                    };
                    out.push(a.iter().cloned().chain([mark]).collect());
                }
                _ => {}
            }
        }
        for (b, matched) in r.iter().zip(&matched_right) {
            match kind {
                JoinKind::Right if !matched => out.push(nulls(lw).into_iter().chain(b.iter().cloned()).collect()),
                JoinKind::RightSemi if *matched => out.push(b.clone()),
                JoinKind::RightAnti if !matched => out.push(b.clone()),
                _ => {}
            }
        }
        Ok(out.into_iter().map(|row| project.iter().map(|&p| row[p].clone()).collect()).collect())
    }

    fn aggregate(&self, call: &AggCall, rows: &[Row], types: &[SqlType]) -> Result<Value> {
        if call.func == AggFunc::CountStar {
            return Ok(Value::Int(rows.len() as i64));
        }
        let mut rows: Vec<Row> = rows.to_vec();
        if !call.order_by.is_empty() {
            let keys: Vec<SortKey> =
                call.order_by.iter().map(|(e, d)| SortKey { expr: e.clone(), descending: *d }).collect();
            self.sort(&mut rows, &keys, types);
        }
        let mut tuples: Vec<Row> = Vec::new();
        for r in &rows {
            let t: Row = call.args.iter().map(|a| self.eval(a, r, types)).collect::<Result<_>>()?;
            if t.iter().any(Value::is_null) {
                continue;
            }
            let arg_types: Vec<SqlType> = call.args.iter().map(|a| a.ty).collect();
            if !call.distinct || !tuples.iter().any(|o| same_row(o, &t, &arg_types)) {
                tuples.push(t);
            }
        }
        if call.func == AggFunc::Count {
            return Ok(Value::Int(tuples.len() as i64));
        }
        let first: Vec<Value> = tuples.iter().map(|t| t[0].clone()).collect();
        let bits = |start: u64, f: fn(u64, u64) -> u64| {
            Value::UInt(first.iter().fold(start, |m, v| match v {
                Value::Int(v) => f(m, *v as u64),
                other => panic!("{other:?}"),
            }))
        };
        match call.func {
            AggFunc::BitAnd => return Ok(bits(u64::MAX, |a, b| a & b)),
            AggFunc::BitOr => return Ok(bits(0, |a, b| a | b)),
            AggFunc::BitXor => return Ok(bits(0, |a, b| a ^ b)),
            _ => {}
        }
        if first.is_empty() {
            return Ok(Value::Null);
        }
        let ty = call.args[0].ty;
        Ok(match call.func {
            AggFunc::Min => first.iter().min_by(|a, b| compare(a, b, &ty)).expect("not empty").clone(),
            AggFunc::Max => first.iter().max_by(|a, b| compare(a, b, &ty)).expect("not empty").clone(),
            AggFunc::Sum | AggFunc::Avg if call.ty == SqlType::Double => {
                Value::Double(first.iter().map(|v| if let Value::Double(x) = v { *x } else { panic!("{v:?}") }).sum())
            }
            AggFunc::Sum | AggFunc::Avg => {
                let SqlType::Decimal { scale, .. } = call.ty else { panic!("{:?}", call.ty) };
                let mut sum = Decimal { unscaled: I256::from(0i128), scale: 0 };
                for v in &first {
                    let d = match v {
                        Value::Int(v) => Decimal::from_i64(*v),
                        Value::Decimal(d) => *d,
                        other => panic!("{other:?}"),
                    };
                    sum = sum.add(&d).expect("small");
                }
                if call.func == AggFunc::Avg {
                    sum = sum.div_trunc(&Decimal::from_i64(first.len() as i64), scale).expect("not by zero");
                }
                Value::Decimal(sum.rescale(scale).expect("small"))
            }
            AggFunc::GroupConcat => {
                let parts: Vec<String> = first
                    .iter()
                    .map(|v| if let Value::Bytes(b) = v { String::from_utf8_lossy(b).into() } else { panic!("{v:?}") })
                    .collect();
                Value::str(&parts.join(&call.separator))
            }
            other => panic!("the oracle does not know {other:?}"),
        })
    }

    fn window(
        &self,
        rows: Vec<Row>,
        types: &[SqlType],
        partition_by: &[Expr],
        order_by: &[SortKey],
        calls: &[WindowCall],
    ) -> Result<Vec<Row>> {
        let mut parts: Vec<(Row, Vec<Row>)> = Vec::new();
        for r in rows {
            let key: Row = partition_by.iter().map(|e| self.eval(e, &r, types)).collect::<Result<_>>()?;
            let key_types: Vec<SqlType> = partition_by.iter().map(|e| e.ty).collect();
            match parts.iter_mut().find(|(k, _)| same_row(k, &key, &key_types)) {
                Some((_, members)) => members.push(r),
                None => parts.push((key, vec![r])),
            }
        }
        let mut out = Vec::new();
        for (_, mut part) in parts {
            self.sort(&mut part, order_by, types);
            let order: Vec<Row> = part
                .iter()
                .map(|r| order_by.iter().map(|k| self.eval(&k.expr, r, types)).collect::<Result<Row>>())
                .collect::<Result<_>>()?;
            let order_types: Vec<SqlType> = order_by.iter().map(|k| k.expr.ty).collect();
            let peer = |i: usize, j: usize| same_row(&order[i], &order[j], &order_types);
            let n = part.len();
            for i in 0..n {
                let mut row = part[i].clone();
                for c in calls {
                    let arg = |k: usize, r: &Row| self.eval(&c.args[k], r, types);
                    let before = (0..i).filter(|&j| !peer(i, j)).count();
                    let frame: Vec<usize> =
                        (0..n).filter(|&j| self.in_frame(c, order_by, &order, &peer, i, j)).collect();
                    let number = || -> Result<i64> {
                        Ok(match arg(1, &part[i])? {
                            Value::Int(v) => v,
                            other => panic!("{other:?}"),
                        })
                    };
                    row.push(match c.func {
                        WindowFunc::RowNumber => Value::UInt(i as u64 + 1),
                        WindowFunc::Rank => Value::UInt(before as u64 + 1),
                        WindowFunc::DenseRank => {
                            let runs = (1..=i).filter(|&j| !peer(j - 1, j)).count();
                            Value::UInt(runs as u64 + 1)
                        }
                        WindowFunc::PercentRank => {
                            Value::Double(if n > 1 { before as f64 / (n - 1) as f64 } else { 0.0 })
                        }
                        WindowFunc::CumeDist => {
                            let upto = (0..n).filter(|&j| j <= i || peer(i, j)).count();
                            Value::Double(upto as f64 / n as f64)
                        }
                        WindowFunc::Ntile => {
                            // Rows dealt to 3 buckets, the first ones larger.
                            let mut sizes = [n / 3; 3];
                            (0..n % 3).for_each(|k| sizes[k] += 1);
                            let mut left = i;
                            let mut bucket = 0;
                            while left >= sizes[bucket] {
                                left -= sizes[bucket];
                                bucket += 1;
                            }
                            Value::UInt(bucket as u64 + 1)
                        }
                        WindowFunc::Lag | WindowFunc::Lead => {
                            let d = number()?;
                            let to = if c.func == WindowFunc::Lag { i as i64 - d } else { i as i64 + d };
                            if to >= 0 && to < n as i64 {
                                arg(0, &part[to as usize])?
                            } else if c.args.len() > 2 {
                                arg(2, &part[i])?
                            } else {
                                Value::Null
                            }
                        }
                        WindowFunc::FirstValue => frame.first().map_or(Ok(Value::Null), |&j| arg(0, &part[j]))?,
                        WindowFunc::LastValue => frame.last().map_or(Ok(Value::Null), |&j| arg(0, &part[j]))?,
                        WindowFunc::NthValue => frame.get(1).map_or(Ok(Value::Null), |&j| arg(0, &part[j]))?,
                        WindowFunc::Agg(func) => {
                            let call = AggCall {
                                func,
                                args: c.args.clone(),
                                distinct: false,
                                order_by: vec![],
                                separator: ",".into(),
                                ty: c.ty,
                                nullable: true,
                            };
                            let members: Vec<Row> = frame.iter().map(|&j| part[j].clone()).collect();
                            self.aggregate(&call, &members, types)?
                        }
                    });
                }
                out.push(row);
            }
        }
        Ok(out)
    }

    fn in_frame(
        &self,
        c: &WindowCall,
        order_by: &[SortKey],
        order: &[Row],
        peer: &dyn Fn(usize, usize) -> bool,
        i: usize,
        j: usize,
    ) -> bool {
        let distance = |e: &Expr| match e.as_const() {
            Some(Value::Int(v)) => *v,
            other => panic!("{other:?}"),
        };
        // The position of j relative to a bound: is it at or after the start, at or before the end?
        let side = |b: &FrameBound, is_start: bool| -> bool {
            let (signed, e) = match b {
                FrameBound::UnboundedPreceding => return is_start,
                FrameBound::UnboundedFollowing => return !is_start,
                FrameBound::CurrentRow => (0, None),
                FrameBound::Preceding(e) => (-1, Some(e)),
                FrameBound::Following(e) => (1, Some(e)),
            };
            let d = e.map_or(0, |e| distance(e)) * signed;
            if c.frame.units == FrameUnits::Rows {
                let at = i as i64 + d;
                return if is_start { j as i64 >= at } else { j as i64 <= at };
            }
            if e.is_none() {
                return peer(i, j) || if is_start { j > i } else { j < i };
            }
            let number = |v: &Value| match v {
                Value::Null => None,
                Value::Int(v) => Some(*v as f64),
                Value::Decimal(d) => Some(d.to_f64()),
                other => panic!("{other:?}"),
            };
            let turn = if order_by[0].descending { -1.0 } else { 1.0 };
            match (number(&order[i][0]), number(&order[j][0])) {
                (None, None) => true,
                (None, Some(_)) | (Some(_), None) => {
                    // NULLs stand apart: before all if ascending, behind all if descending.
                    let j_before = j < i;
                    if is_start { !j_before } else { j_before }
                }
                (Some(x), Some(y)) => {
                    let (x, y) = (turn * x + d as f64, turn * y);
                    if is_start { y >= x } else { y <= x }
                }
            }
        };
        side(&c.frame.start, true) && side(&c.frame.end, false)
    }
}

fn same_row(a: &Row, b: &Row, types: &[SqlType]) -> bool {
    a.iter().zip(b).zip(types).all(|((x, y), t)| compare(x, y, t) == Ordering::Equal)
}
