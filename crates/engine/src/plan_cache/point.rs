//! PointSelect: the flat plan of `SELECT columns FROM table WHERE unique key = values`.
//!
//! ```text
//!   values ─ into the key's types ─▶ Table::with_row ─▶ the row's columns, from the leaf into the sink
//! ```
//! Made of a bound query of exactly this shape, with one value for every part of a unique key, or a list of integers for
//! a key of one part. Anything beyond (other conditions, expressions, TIMESTAMPs, which have to be moved to the session's
//! time zone) is left to the executor.

use crate::query::meta;
use crate::sink::ResultShape;
use catalog::{TableDef, TableEngine};
use expr::{CmpOp, ColumnId, Expr, ExprKind};
use plan::logical::{Logical, LogicalQuery};
use std::sync::Arc;
use types::{SqlType, Value};
use vector::Chunk;

/// Longest list of keys.
const KEYS_MAX: usize = 64;

/// Where a key part's value comes from.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    Param(usize),
    Const(Value),
}

impl Source {
    /// The operand of a comparison with a key column of type `key`.
    fn of(e: &Expr, key: &SqlType) -> Option<Source> {
        match &e.kind {
            ExprKind::Const(value) => Some(Source::Const(value.clone())),
            ExprKind::Param(n) => Some(Source::Param(*n as usize)),
            // text under the column's collation is the same text
            ExprKind::Cast { expr, explicit: false } if key.is_string() && e.ty.collation() == key.collation() => {
                match (&expr.kind, expr.ty) {
                    (ExprKind::Param(n), SqlType::String { .. }) => Some(Source::Param(*n as usize)),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    fn value<'v>(&'v self, params: &'v [(Value, SqlType)]) -> Option<&'v Value> {
        match self {
            Source::Param(n) => params.get(*n).map(|(value, _)| value),
            Source::Const(value) => Some(value),
        }
    }
}

#[derive(Debug)]
enum Keys {
    /// One value a part.
    One(Vec<Source>),
    /// Values of the only part.
    List(Vec<Source>),
}

/// See the module head.
#[derive(Debug)]
pub(crate) struct PointSelect {
    pub table: Arc<TableDef>,
    pub index: usize,
    keys: Keys,
    /// Types of the key's parts.
    types: Vec<SqlType>,
    /// Columns of the table that are output, in order.
    pub columns: Vec<usize>,
    pub shape: Arc<ResultShape>,
}

/// The keys of one execution.
pub(crate) enum KeyChunks {
    /// The values are not of the key's types: leave it to the executor.
    Unsuited,
    /// One chunk a part; each inner list is a key.
    Keys(Vec<Vec<Chunk>>),
    /// The one key.
    One(Vec<Chunk>),
    /// No value can be in the index.
    Nothing,
}

enum Fit {
    Is(Value),
    Nothing,
    Unsuited,
}

/// A value as a key of type `key` holds it, if it can be equal to one.
fn fit(value: &Value, key: &SqlType) -> Fit {
    match (value, key) {
        (Value::Null, _) => Fit::Nothing,
        (Value::Int(_) | Value::UInt(_), SqlType::Int { size, unsigned }) => {
            let v = match value {
                Value::Int(v) => i128::from(*v),
                Value::UInt(v) => i128::from(*v),
                _ => return Fit::Unsuited,
            };
            let (min, max) = size.range(*unsigned);
            match (v >= min && v <= max, unsigned) {
                (false, _) => Fit::Nothing,
                (true, true) => Fit::Is(Value::UInt(v as u64)),
                (true, false) => Fit::Is(Value::Int(v as i64)),
            }
        }
        (Value::Bytes(bytes), SqlType::String { .. }) => Fit::Is(Value::Bytes(bytes.clone())),
        (Value::Date(date), SqlType::Date) => Fit::Is(Value::Date(*date)),
        _ => Fit::Unsuited,
    }
}

impl PointSelect {
    /// `None`: the query is of another shape.
    pub fn of(query: &LogicalQuery) -> Option<PointSelect> {
        let plan = match &query.root {
            // at most one row is found, if the key is a single one: see below
            Logical::Limit { input, limit: Some(1..), offset: 0 } => input,
            other => other,
        };
        let limited = !std::ptr::eq(plan, &query.root);
        let (filter, exprs) = match plan {
            Logical::Project { input, exprs } => (&**input, Some(exprs)),
            other => (other, None),
        };
        let Logical::Filter { input, predicates } = filter else { return None };
        let Logical::Get { table, columns, is_virtual: false, hints, row_id: None, .. } = &**input else { return None };
        if !hints.is_empty() || !query.subqueries.is_empty() || table.engine == TableEngine::Virtual || table.temporary
        {
            return None;
        }
        let position = |id: ColumnId| columns.iter().find(|(c, _)| *c == id).map(|(_, n)| *n);
        let output: Vec<usize> = query
            .output
            .iter()
            .map(|(id, _)| match exprs {
                None => position(*id),
                Some(exprs) => match exprs.iter().find(|(e, _)| e == id)?.1.kind {
                    ExprKind::Column(c) => position(c),
                    _ => None,
                },
            })
            .collect::<Option<_>>()?;
        if output.iter().any(|&c| matches!(table.columns[c].ty, SqlType::Timestamp { .. })) {
            return None;
        }
        let shape = Arc::new(ResultShape::new(meta::columns(query)));
        let (index, keys) = table.indexes.iter().enumerate().find_map(|(i, index)| {
            if !index.is_unique() || index.invisible || index.parts.iter().any(|p| p.prefix_len.is_some()) {
                return None;
            }
            let parts: Vec<usize> = index.parts.iter().map(|p| p.column_idx).collect();
            key_sources(table, &parts, predicates, &position).map(|k| (i, k))
        })?;
        if limited && matches!(keys, Keys::List(_)) {
            return None;
        }
        let types = table.indexes[index].parts.iter().map(|p| table.columns[p.column_idx].ty).collect();
        Some(PointSelect { table: table.clone(), index, keys, types, columns: output, shape })
    }

    /// The keys for these values.
    pub fn keys(&self, params: &[(Value, SqlType)]) -> KeyChunks {
        match &self.keys {
            Keys::One(sources) => {
                let mut chunks = Vec::with_capacity(sources.len());
                for (source, ty) in sources.iter().zip(&self.types) {
                    match source.value(params).map_or(Fit::Unsuited, |v| fit(v, ty)) {
                        Fit::Is(value) => chunks.push(Chunk::single(ty.phys(), &value)),
                        Fit::Nothing => return KeyChunks::Nothing,
                        Fit::Unsuited => return KeyChunks::Unsuited,
                    }
                }
                KeyChunks::One(chunks)
            }
            Keys::List(sources) => {
                let ty = &self.types[0];
                let mut values: Vec<i128> = Vec::with_capacity(sources.len());
                for source in sources {
                    match source.value(params).map_or(Fit::Unsuited, |v| fit(v, ty)) {
                        Fit::Is(Value::Int(v)) => values.push(v.into()),
                        Fit::Is(Value::UInt(v)) => values.push(v.into()),
                        Fit::Nothing => {}
                        Fit::Is(_) | Fit::Unsuited => return KeyChunks::Unsuited,
                    }
                }
                values.sort_unstable();
                values.dedup();
                let value = |v: i128| if ty.is_unsigned() { Value::UInt(v as u64) } else { Value::Int(v as i64) };
                KeyChunks::Keys(values.into_iter().map(|v| vec![Chunk::single(ty.phys(), &value(v))]).collect())
            }
        }
    }
}

/// Values for every part of a key, if the predicates say nothing else.
fn key_sources(
    table: &TableDef,
    parts: &[usize],
    predicates: &[Expr],
    position: &dyn Fn(ColumnId) -> Option<usize>,
) -> Option<Keys> {
    let column = |e: &Expr| match e.kind {
        ExprKind::Column(id) => position(id),
        _ => None,
    };
    let suits = |ty: &SqlType| matches!(ty, SqlType::Int { .. } | SqlType::String { .. } | SqlType::Date);
    if predicates.len() != parts.len() || !parts.iter().all(|&p| suits(&table.columns[p].ty)) {
        return None;
    }
    if let ([part], [Expr { kind: ExprKind::InList { expr, list, negated: false }, .. }]) = (parts, predicates) {
        let ty = &table.columns[*part].ty;
        let fits = column(expr) == Some(*part) && ty.is_integer() && list.len() <= KEYS_MAX;
        let sources: Option<Vec<Source>> = list.iter().map(|e| Source::of(e, ty)).collect();
        return sources.filter(|_| fits).map(Keys::List);
    }
    let mut sources = Vec::with_capacity(parts.len());
    for &part in parts {
        let ty = &table.columns[part].ty;
        let source = predicates.iter().find_map(|p| match &p.kind {
            ExprKind::Compare { op: CmpOp::Eq, left, right } if column(left) == Some(part) => Source::of(right, ty),
            ExprKind::Compare { op: CmpOp::Eq, left, right } if column(right) == Some(part) => Source::of(left, ty),
            _ => None,
        });
        sources.push(source?);
    }
    Some(Keys::One(sources))
}
