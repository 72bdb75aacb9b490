//! How a table's rows are found: by scanning, or by the values of a unique key.

use super::{Built, Physical};
use crate::optimize::column_set::ColumnSet;
use crate::optimize::properties::{not_null, null_rejected};
use crate::optimize::tree::{as_column, filter};
use catalog::{IndexDef, TableDef};
use expr::{CmpOp, ColumnId, Expr, ExprKind};
use plan::PlanOp;
use plan::logical::{IndexHintKind, Logical};
use types::{Error, Result, SqlType};

/// Key tuples that one lookup may have.
const LOOKUP_KEYS_MAX: usize = 1024;

impl Physical<'_, '_> {
    /// A base table under `predicates`.
    pub(super) fn access(&mut self, get: &Logical, predicates: &[Expr], needed: &ColumnSet) -> Result<Built> {
        let Logical::Get { table, alias, columns, is_virtual, hints, row_id } = get else {
            return Err(Error::internal("an access path to something that is no table"));
        };
        let mut read = needed.clone();
        predicates.iter().for_each(|p| crate::optimize::tree::collect_columns(p, &mut read));
        let used: Vec<(ColumnId, usize)> = columns.iter().copied().filter(|c| read.contains(c.0)).collect();
        let layout: Vec<ColumnId> = used.iter().map(|c| c.0).collect();
        let whole = self.est.node(get, &[]);
        // Filters see the table's own NULLs; the rows that pass are free of those that a filter rejects.
        let facts = not_null(get);
        let mut passed = facts.clone();
        for p in predicates {
            passed.union_with(&null_rejected(p));
        }
        let cost = &self.cx.settings.cost;
        let scan_cost = whole.rows * (cost.scan + predicates.len() as f64 * cost.predicate);
        if *is_virtual {
            let op = PlanOp::Virtual {
                schema: table.schema.clone(),
                name: table.name.clone(),
                columns: used.iter().map(|c| c.1).collect(),
                table: table.clone(),
            };
            return Ok(self.node(op, layout, facts, whole, scan_cost));
        }
        let project: Vec<usize> = (0..used.len()).filter(|i| needed.contains(used[*i].0)).collect();
        let mut out: Vec<ColumnId> = project.iter().map(|i| used[*i].0).collect();
        let with_row_id = row_id.is_some_and(|r| needed.contains(r));
        out.extend(row_id.filter(|_| with_row_id));
        let numbers: Vec<usize> = used.iter().map(|c| c.1).collect();
        let usable = |i: usize| {
            hints.iter().all(|h| match h.kind {
                IndexHintKind::Ignore => !h.indexes.contains(&i),
                IndexHintKind::Use | IndexHintKind::Force => h.indexes.contains(&i),
            })
        };
        let lookup = table
            .indexes
            .iter()
            .enumerate()
            .filter(|(i, x)| x.is_unique() && !x.invisible && usable(*i))
            .filter_map(|(i, x)| key_values(table, x, columns, predicates).map(|k| (i, k)))
            .min_by_key(|(_, k)| k.keys.len());
        if let Some((index, found)) = lookup
            && (found.keys.len() as f64) * cost.key_lookup < scan_cost.max(cost.key_lookup * 4.0)
        {
            let rest: Vec<Expr> = predicates
                .iter()
                .enumerate()
                .filter(|(i, _)| !found.used.contains(i))
                .map(|(_, p)| self.resolve(p, &layout, &facts))
                .collect::<Result<_>>()?;
            let found_rows = whole.rows.min(found.keys.len() as f64);
            let share = found_rows / whole.rows.max(1.0);
            let e = crate::optimize::cardinality::filtered(whole, predicates, share);
            let cost = found.keys.len() as f64 * self.cx.settings.cost.key_lookup;
            self.rows_read += found.keys.len() as f64;
            let op = PlanOp::KeyLookup {
                table: table.clone(),
                alias: alias.clone(),
                index,
                keys: found.keys,
                columns: numbers,
                filters: rest,
                project,
                with_row_id,
            };
            return Ok(self.node(op, out, passed, e, cost));
        }
        let filtered = if predicates.is_empty() {
            whole.clone()
        } else {
            let node = filter(get.clone(), predicates.to_vec());
            self.est.node(&node, std::slice::from_ref(&whole))
        };
        // Cheap and selective conjuncts first; the scan reorders them by what it measures.
        let mut ranked: Vec<(f64, &Expr)> = predicates
            .iter()
            .map(|p| {
                let s = crate::optimize::cardinality::one(p, &whole);
                ((s - 1.0) / weight(p), p)
            })
            .collect();
        ranked.sort_by(|a, b| a.0.total_cmp(&b.0));
        let filters = ranked.into_iter().map(|(_, p)| self.resolve(p, &layout, &facts)).collect::<Result<Vec<_>>>()?;
        self.rows_read += whole.rows;
        let op = PlanOp::Scan {
            table: table.clone(),
            alias: alias.clone(),
            columns: numbers,
            filters,
            project,
            sideways: vec![],
            with_row_id,
        };
        Ok(self.node(op, out, passed, filtered, scan_cost))
    }
}

/// Rough cost of evaluating a predicate on a row, in comparisons of integers.
fn weight(p: &Expr) -> f64 {
    let mut w = 0.0f64;
    p.walk(&mut |e| {
        w += match &e.kind {
            ExprKind::Column(_) if e.ty.is_string() => 2.0,
            ExprKind::Column(_) => 0.5,
            ExprKind::Const(_) | ExprKind::Param(_) => 0.0,
            ExprKind::Like { .. } => 10.0,
            ExprKind::Call { .. } => 5.0,
            _ => 1.0,
        }
    });
    w.max(0.5)
}

struct KeyValues {
    keys: Vec<Vec<Expr>>,
    /// Conjuncts that the lookup answers, by position.
    used: Vec<usize>,
}

/// Constants for every part of a unique key.
fn key_values(
    table: &TableDef,
    index: &IndexDef,
    columns: &[(ColumnId, usize)],
    predicates: &[Expr],
) -> Option<KeyValues> {
    let mut keys: Vec<Vec<Expr>> = vec![vec![]];
    let mut used = vec![];
    for part in &index.parts {
        if part.prefix_len.is_some() {
            return None;
        }
        let ty = table.columns[part.column_idx].ty;
        let (i, values) = predicates.iter().enumerate().find_map(|(i, p)| {
            values_of(p, ty, |c| columns.iter().any(|(id, n)| *id == c && *n == part.column_idx)).map(|v| (i, v))
        })?;
        used.push(i);
        if keys.len() * values.len() > LOOKUP_KEYS_MAX {
            return None;
        }
        keys = keys
            .iter()
            .flat_map(|k| {
                values.iter().map(move |v| {
                    let mut k = k.clone();
                    k.push(v.clone());
                    k
                })
            })
            .collect();
    }
    Some(KeyValues { keys, used })
}

/// The values that `column = constant` or `column IN (constants)` allows.
fn values_of(p: &Expr, ty: SqlType, is_key: impl Fn(ColumnId) -> bool) -> Option<Vec<Expr>> {
    let key = |e: &Expr| as_column(e).is_some_and(&is_key);
    let fits = |e: &Expr| e.is_constant() && comparable(&e.ty, &ty);
    match &p.kind {
        ExprKind::Compare { op: CmpOp::Eq, left, right } => {
            if key(left) && fits(right) {
                Some(vec![(**right).clone()])
            } else if key(right) && fits(left) {
                Some(vec![(**left).clone()])
            } else {
                None
            }
        }
        ExprKind::InList { expr, list, negated: false }
            if key(expr) && list.len() <= LOOKUP_KEYS_MAX && list.iter().all(fits) =>
        {
            let mut values: Vec<Expr> = vec![];
            for v in list {
                if !values.contains(v) {
                    values.push(v.clone());
                }
            }
            // Equal under the collation though different: the lookup would yield the row twice.
            if ty.is_string() && values.len() > 1 {
                return None;
            }
            // Parameters may turn out equal.
            if values.len() > 1 && values.iter().any(|v| v.as_const().is_none()) {
                return None;
            }
            Some(values)
        }
        _ => None,
    }
}

/// Is a value of type `v` looked up as it is in a key of type `key`?
fn comparable(v: &SqlType, key: &SqlType) -> bool {
    match (v, key) {
        (SqlType::Decimal { scale: a, .. }, SqlType::Decimal { scale: b, .. }) => a == b,
        (SqlType::String { collation: a, .. }, SqlType::String { collation: b, .. }) => a == b,
        _ => v == key,
    }
}
