//! Evaluates bound queries as SQL defines them, nothing optimized.

use crate::scalar::{self, Env, Row, V, eval, is_true};
use expr::{AggFunc, ColumnId, WindowFunc};
use plan::logical::{Logical, LogicalJoinKind, LogicalQuery, SetOpKind, SubqueryKind};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;

pub type Data = HashMap<u64, Vec<Row>>;
type Tuple = HashMap<ColumnId, V>;

struct World<'a> {
    query: &'a LogicalQuery,
    data: &'a Data,
    ctes: RefCell<HashMap<u32, Vec<Row>>>,
    steps: Cell<usize>,
}

/// Nodes run and rows paired before a query is given up.
const STEPS_MAX: usize = 3_000;

struct Scope<'a> {
    world: &'a World<'a>,
    row: &'a Tuple,
}

impl Env for Scope<'_> {
    fn column(&self, id: ColumnId) -> Result<V, String> {
        self.row.get(&id).copied().ok_or_else(|| format!("column {id} is not there"))
    }

    fn subquery(&self, id: u32) -> Result<V, String> {
        let def = &self.world.query.subqueries[id as usize];
        let rows = run_node(&def.plan, self.row, self.world)?;
        match &def.kind {
            SubqueryKind::Exists => Ok(Some(!rows.is_empty() as i64)),
            SubqueryKind::Scalar => match rows.as_slice() {
                [] => Ok(None),
                [one] => Ok(one[&def.output[0]]),
                _ => Err("many rows".into()),
            },
            SubqueryKind::Quantified { left, op, all } => {
                let l = left.iter().map(|e| eval(e, self)).collect::<Result<Vec<V>, _>>()?;
                let each = rows.iter().map(|r| {
                    let parts = l.iter().zip(&def.output).map(|(x, c)| scalar::compare(*op, *x, r[c]));
                    if *op == expr::CmpOp::Ne && l.len() > 1 { scalar::or(parts) } else { scalar::and(parts) }
                });
                Ok(if *all { scalar::and(each) } else { scalar::or(each) })
            }
        }
    }
}

pub fn run(query: &LogicalQuery, data: &Data) -> Result<Vec<Row>, String> {
    let world = World { query, data, ctes: RefCell::default(), steps: Cell::new(0) };
    let rows = run_node(&query.root, &Tuple::new(), &world)?;
    Ok(rows.into_iter().map(|r| query.output.iter().map(|(c, _)| r[c]).collect()).collect())
}

fn merged(a: &Tuple, b: &Tuple) -> Tuple {
    let mut r = a.clone();
    r.extend(b);
    r
}

/// The rows of a node; `outer` are the columns in sight from outside.
fn run_node(node: &Logical, outer: &Tuple, w: &World) -> Result<Vec<Tuple>, String> {
    let value = |e: &expr::Expr, row: &Tuple| eval(e, &Scope { world: w, row: &merged(outer, row) });
    w.steps.set(w.steps.get() + 1);
    if w.steps.get() > STEPS_MAX {
        return Err("too long".into());
    }
    match node {
        Logical::OneRow => Ok(vec![Tuple::new()]),
        Logical::Empty { .. } => Ok(vec![]),
        Logical::Values { columns, rows } => rows
            .iter()
            .map(|r| columns.iter().zip(r).map(|(c, e)| Ok((*c, value(e, &Tuple::new())?))).collect())
            .collect(),
        Logical::Get { table, columns, .. } => {
            Ok(w.data[&table.id.0].iter().map(|r| columns.iter().map(|(c, i)| (*c, r[*i])).collect()).collect())
        }
        Logical::Filter { input, predicates } => {
            let mut out = vec![];
            for r in run_node(input, outer, w)? {
                let mut keep = true;
                for p in predicates {
                    keep = keep && is_true(value(p, &r)?);
                }
                if keep {
                    out.push(r);
                }
            }
            Ok(out)
        }
        Logical::Project { input, exprs } => run_node(input, outer, w)?
            .iter()
            .map(|r| exprs.iter().map(|(c, e)| Ok((*c, value(e, r)?))).collect())
            .collect(),
        Logical::Join { kind, left, right, on, .. } => {
            let mut out = vec![];
            for l in run_node(left, outer, w)? {
                let rights = run_node(right, &merged(outer, &l), w)?;
                let mut matches = vec![];
                w.steps.set(w.steps.get() + rights.len());
                for r in &rights {
                    let both = merged(&l, r);
                    let mut v = Some(1);
                    for p in on {
                        v = scalar::and([v, value(p, &both)?]);
                    }
                    if is_true(v) {
                        matches.push(both);
                    }
                }
                let padded = || merged(&l, &right.output_columns().into_iter().map(|c| (c, None)).collect());
                match kind {
                    LogicalJoinKind::Inner => out.extend(matches),
                    LogicalJoinKind::Left if matches.is_empty() => out.push(padded()),
                    LogicalJoinKind::Left => out.extend(matches),
                    LogicalJoinKind::Semi if !matches.is_empty() => out.push(l),
                    LogicalJoinKind::Anti if matches.is_empty() => out.push(l),
                    LogicalJoinKind::Semi | LogicalJoinKind::Anti => {}
                    other => return Err(format!("no {other:?} in bound queries")),
                }
            }
            Ok(out)
        }
        Logical::Aggregate { input, groups, aggregates, rollup } => {
            assert!(!rollup);
            let mut found: Vec<(Row, Vec<Tuple>)> = vec![];
            for r in run_node(input, outer, w)? {
                let key = groups.iter().map(|(_, e)| value(e, &r)).collect::<Result<Row, _>>()?;
                match found.iter_mut().find(|f| f.0 == key) {
                    Some(f) => f.1.push(r),
                    None => found.push((key, vec![r])),
                }
            }
            if groups.is_empty() && found.is_empty() {
                found.push((vec![], vec![]));
            }
            let mut out = vec![];
            for (key, rows) in found {
                let mut t: Tuple = groups.iter().zip(key).map(|((c, _), v)| (*c, v)).collect();
                for (c, a) in aggregates {
                    let args = rows
                        .iter()
                        .map(|r| a.args.iter().map(|e| value(e, r)).collect::<Result<Row, _>>())
                        .collect::<Result<Vec<_>, _>>()?;
                    t.insert(*c, scalar::aggregate(a, &args));
                }
                out.push(t);
            }
            Ok(out)
        }
        Logical::Distinct { input } => {
            let columns = input.output_columns();
            let mut out: Vec<Tuple> = vec![];
            for r in run_node(input, outer, w)? {
                let r: Tuple = columns.iter().map(|c| (*c, r[c])).collect();
                if !out.contains(&r) {
                    out.push(r);
                }
            }
            Ok(out)
        }
        Logical::Sort { input, keys } => {
            let mut rows = vec![];
            for r in run_node(input, outer, w)? {
                let k = keys.iter().map(|(e, _)| value(e, &r)).collect::<Result<Row, _>>()?;
                rows.push((k, r));
            }
            rows.sort_by(|a, b| {
                for (i, (_, desc)) in keys.iter().enumerate() {
                    let o = a.0[i].cmp(&b.0[i]);
                    let o = if *desc { o.reverse() } else { o };
                    if o.is_ne() {
                        return o;
                    }
                }
                std::cmp::Ordering::Equal
            });
            Ok(rows.into_iter().map(|r| r.1).collect())
        }
        Logical::Limit { input, limit, offset } => Ok(run_node(input, outer, w)?
            .into_iter()
            .skip(*offset as usize)
            .take(limit.map_or(usize::MAX, |l| l as usize))
            .collect()),
        Logical::Window { input, partition_by, calls, .. } => {
            let rows = run_node(input, outer, w)?;
            let mut keys = vec![];
            for r in &rows {
                keys.push(partition_by.iter().map(|e| value(e, r)).collect::<Result<Row, _>>()?);
            }
            let mut out = vec![];
            for (r, k) in rows.iter().zip(&keys) {
                let mut t = r.clone();
                for (c, call) in calls {
                    let WindowFunc::Agg(f) = call.func else { return Err("only aggregates".into()) };
                    let mut args = vec![];
                    for (r2, k2) in rows.iter().zip(&keys) {
                        if k2 == k {
                            args.push(call.args.iter().map(|e| value(e, r2)).collect::<Result<Row, _>>()?);
                        }
                    }
                    t.insert(*c, scalar::aggregate(&agg(f), &args));
                }
                out.push(t);
            }
            Ok(out)
        }
        Logical::SetOp { kind, columns, inputs, distinct } => {
            let mut sides = vec![];
            for (n, ids) in inputs {
                let rows: Vec<Row> =
                    run_node(n, outer, w)?.iter().map(|r| ids.iter().map(|c| r[c]).collect()).collect();
                sides.push(rows);
            }
            Ok(set_op(*kind, *distinct, sides).into_iter().map(|r| columns.iter().copied().zip(r).collect()).collect())
        }
        Logical::With { ctes, input } => {
            for c in ctes {
                let rows = run_node(&c.plan, outer, w)?;
                let rows = rows.iter().map(|r| c.output.iter().map(|c| r[c]).collect()).collect();
                w.ctes.borrow_mut().insert(c.cte_id, rows);
            }
            run_node(input, outer, w)
        }
        Logical::CteScan { cte_id, columns, .. } => {
            let ctes = w.ctes.borrow();
            let rows = ctes.get(cte_id).ok_or("no such CTE")?;
            Ok(rows.iter().map(|r| columns.iter().map(|(c, i)| (*c, r[*i])).collect()).collect())
        }
        other => Err(format!("the oracle knows no {other:?}")),
    }
}

pub fn agg(func: AggFunc) -> expr::AggCall {
    expr::AggCall {
        func,
        args: vec![],
        distinct: false,
        order_by: vec![],
        separator: ",".into(),
        ty: types::SqlType::BIGINT,
        nullable: true,
    }
}

pub fn set_op(kind: SetOpKind, distinct: bool, sides: Vec<Vec<Row>>) -> Vec<Row> {
    let mut it = sides.into_iter();
    let mut acc = it.next().unwrap_or_default();
    for mut side in it {
        match kind {
            SetOpKind::Union => acc.extend(side),
            SetOpKind::Intersect => acc.retain(|r| match side.iter().position(|s| s == r) {
                Some(i) => {
                    if !distinct {
                        side.remove(i);
                    }
                    true
                }
                None => false,
            }),
            SetOpKind::Except => acc.retain(|r| match side.iter().position(|s| s == r) {
                Some(i) => {
                    if !distinct {
                        side.remove(i);
                    }
                    false
                }
                None => true,
            }),
        }
    }
    if distinct {
        let mut seen = std::collections::HashSet::new();
        acc.retain(|r| seen.insert(r.clone()));
    }
    acc
}
