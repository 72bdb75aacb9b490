//! PointSelect: the flat plan of `SELECT columns FROM table WHERE unique key = values`.
//!
//! ```text
//!   values ─ into the key's types ─▶ Table::with_row ─▶ the row's columns, from the leaf into the sink
//! ```
//! Made of a bound query of exactly this shape, with one value for every part of a unique key, or a list of integers
//! for a key of one part. Anything beyond (other conditions, expressions) is left to the executor.

use super::key::{Fit, KeyChunks, Source, UniqueKey, fit, key_columns, operand_source};
use crate::query::meta;
use catalog::{TableDef, TableEngine};
use expr::{ColumnId, Expr, ExprKind};
use plan::logical::{Logical, LogicalQuery};
use session::sink::ResultShape;
use std::sync::Arc;
use types::{SqlType, Value};
use vector::Chunk;

/// Longest list of keys.
const KEYS_MAX: usize = 64;

#[derive(Debug)]
enum Keys {
    One(UniqueKey),
    /// Values of the only part, an integer; the index's position and the part's type.
    List(usize, SqlType, Vec<Source>),
}

/// The keys of one execution.
pub(crate) enum PointKeys {
    /// The values are not of the key's types: leave it to the executor.
    Unsuited,
    /// One chunk each.
    Many(Vec<Chunk>),
    /// One chunk a part.
    One(Vec<Chunk>),
    /// No value can be in the index.
    Nothing,
}

/// See the module head.
#[derive(Debug)]
pub(crate) struct PointSelect {
    pub table: Arc<TableDef>,
    keys: Keys,
    /// Columns of the table that are output, in order.
    pub columns: Vec<usize>,
    pub shape: Arc<ResultShape>,
}

/// `SELECT columns FROM table WHERE unique key = values FOR UPDATE`: the row is held, and then sent.
#[derive(Debug)]
pub(crate) struct PointLock {
    pub table: Arc<TableDef>,
    pub key: UniqueKey,
    /// Columns of the table that are output, in order.
    pub columns: Vec<usize>,
    pub shape: Arc<ResultShape>,
}

impl PointLock {
    /// Of a query whose columns from `width` on are not the client's. `None`: the query is of another shape.
    pub fn of(query: &LogicalQuery, width: usize) -> Option<PointLock> {
        let PointSelect { table, keys: Keys::One(key), columns, shape } = PointSelect::with(query, width, true)? else {
            return None;
        };
        Some(PointLock { table, key, columns, shape })
    }
}

impl PointSelect {
    /// `None`: the query is of another shape.
    pub fn of(query: &LogicalQuery) -> Option<PointSelect> {
        PointSelect::with(query, query.output.len(), false)
    }

    /// `width`: how many columns are sent; `locked`: the table has its row id read.
    fn with(query: &LogicalQuery, width: usize, locked: bool) -> Option<PointSelect> {
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
        let Logical::Get { table, columns, is_virtual: false, hints, row_id, .. } = &**input else { return None };
        if row_id.is_some() != locked
            || !hints.is_empty()
            || !query.subqueries.is_empty()
            || table.engine == TableEngine::Virtual
            || table.temporary
        {
            return None;
        }
        let position = |id: ColumnId| super::key::position_of(columns, id);
        let output: Vec<usize> = query.output[..width]
            .iter()
            .map(|(id, _)| match exprs {
                None => position(*id),
                Some(exprs) => match exprs.iter().find(|(e, _)| e == id)?.1.kind {
                    ExprKind::Column(c) => position(c),
                    _ => None,
                },
            })
            .collect::<Option<_>>()?;
        let mut metas = meta::columns(query);
        metas.truncate(width);
        let shape = Arc::new(ResultShape::new(metas));
        let keys = match UniqueKey::of(table, predicates, &position) {
            Some(key) => Keys::One(key),
            None if limited => return None,
            None => key_list(table, predicates, &position)?,
        };
        Some(PointSelect { table: table.clone(), keys, columns: output, shape })
    }

    /// Position in the definition of the index that the rows are looked up in.
    pub fn index(&self) -> usize {
        match &self.keys {
            Keys::One(key) => key.index,
            Keys::List(index, ..) => *index,
        }
    }

    /// The keys for these values.
    pub fn keys(&self, params: &[(Value, SqlType)]) -> PointKeys {
        let (ty, sources) = match &self.keys {
            Keys::One(key) => {
                return match key.chunks(params) {
                    KeyChunks::Is(chunks) => PointKeys::One(chunks),
                    KeyChunks::Nothing => PointKeys::Nothing,
                    KeyChunks::Unsuited => PointKeys::Unsuited,
                };
            }
            Keys::List(_, ty, sources) => (ty, sources),
        };
        let mut values: Vec<i128> = Vec::with_capacity(sources.len());
        for source in sources {
            match source.value(params).map_or(Fit::Unsuited, |v| fit(v, ty)) {
                Fit::Is(Value::Int(v)) => values.push(v.into()),
                Fit::Is(Value::UInt(v)) => values.push(v.into()),
                Fit::Nothing => {}
                Fit::Is(_) | Fit::Unsuited => return PointKeys::Unsuited,
            }
        }
        values.sort_unstable();
        values.dedup();
        let value = |v: i128| if ty.is_unsigned() { Value::UInt(v as u64) } else { Value::Int(v as i64) };
        PointKeys::Many(values.into_iter().map(|v| Chunk::single(ty.phys(), &value(v))).collect())
    }
}

/// `WHERE key IN (..)`, of a unique key of one integer.
fn key_list(table: &TableDef, predicates: &[Expr], position: &dyn Fn(ColumnId) -> Option<usize>) -> Option<Keys> {
    let [Expr { kind: ExprKind::InList { expr, list, negated: false }, .. }] = predicates else { return None };
    let ExprKind::Column(id) = expr.kind else { return None };
    let column = position(id)?;
    let ty = table.columns[column].ty;
    if !ty.is_integer() || list.len() > KEYS_MAX {
        return None;
    }
    let index = (0..table.indexes.len()).find(|i| key_columns(table, *i).as_deref() == Some(&[column]))?;
    let sources: Vec<Source> = list.iter().map(|e| operand_source(e, &ty)).collect::<Option<_>>()?;
    Some(Keys::List(index, ty, sources))
}
