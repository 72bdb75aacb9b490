//! Unique keys whose values a statement gives: where the values come from, and what they are as the index holds them.

use catalog::{TableDef, TableEngine};
pub(crate) use changes::flat::{Source, integer_of};
use expr::{CmpOp, ColumnId, Expr, ExprKind};
use plan::logical::{Logical, LogicalQuery};
use std::sync::Arc;
use types::{SqlType, Value};
use vector::Chunk;

/// Which column of the table an id stands for.
pub(crate) type Positions<'a> = &'a dyn Fn(ColumnId) -> Option<usize>;

/// The place of an id among a table's columns.
pub(crate) fn position_of(columns: &[(ColumnId, usize)], id: ColumnId) -> Option<usize> {
    columns.iter().find(|(c, _)| *c == id).map(|(_, n)| *n)
}

/// The query of a statement that changes rows of one table, in no order and without limit.
pub(crate) struct ChangeShape<'q> {
    pub table: &'q Arc<TableDef>,
    pub row_id: ColumnId,
    /// Ids of its columns.
    pub columns: &'q [(ColumnId, usize)],
    pub predicates: &'q [Expr],
    pub exprs: &'q [(ColumnId, Expr)],
}

impl<'q> ChangeShape<'q> {
    /// `None`: the query is of another shape.
    pub fn of(query: &'q LogicalQuery) -> Option<ChangeShape<'q>> {
        let Logical::Project { input, exprs } = &query.root else { return None };
        let Logical::Filter { input, predicates } = &**input else { return None };
        let Logical::Get { table, columns, is_virtual: false, hints, row_id: Some(row_id), .. } = &**input else {
            return None;
        };
        let plain = hints.is_empty() && query.subqueries.is_empty() && table.engine != TableEngine::Virtual;
        plain.then_some(ChangeShape { table, row_id: *row_id, columns, predicates, exprs })
    }

    pub fn position(&self, id: ColumnId) -> Option<usize> {
        position_of(self.columns, id)
    }

    /// What the query computes under this id.
    pub fn expr(&self, id: ColumnId) -> Option<&'q Expr> {
        self.exprs.iter().find(|(e, _)| *e == id).map(|(_, e)| e)
    }
}

/// The operand of a comparison with a key column of type `key`.
pub(crate) fn operand_source(e: &Expr, key: &SqlType) -> Option<Source> {
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

/// See [`fit`].
pub(crate) enum Fit {
    Is(Value),
    Nothing,
    Unsuited,
}

/// A value as a key of type `key` holds it, if it can be equal to one.
pub(crate) fn fit(value: &Value, key: &SqlType) -> Fit {
    match (value, key) {
        (Value::Null, _) => Fit::Nothing,
        (_, SqlType::Int { size, unsigned }) => {
            let Some(v) = integer_of(value) else { return Fit::Unsuited };
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

/// Values for every part of a unique key.
#[derive(Debug)]
pub(crate) struct UniqueKey {
    /// Position in the definition.
    pub index: usize,
    parts: Vec<Source>,
    /// Types of the parts.
    types: Vec<SqlType>,
}

/// A key of one execution.
pub(crate) enum KeyChunks {
    /// The values are not of the key's types: leave it to the executor.
    Unsuited,
    /// One chunk a part.
    Is(Vec<Chunk>),
    /// No value can be in the index.
    Nothing,
}

/// The columns of a key that values may be looked up in; `None` if the index is none such.
pub(crate) fn key_columns(table: &TableDef, index: usize) -> Option<Vec<usize>> {
    let index = &table.indexes[index];
    let suits = |ty: &SqlType| matches!(ty, SqlType::Int { .. } | SqlType::String { .. } | SqlType::Date);
    let fits = |p: &catalog::IndexPart| p.prefix_len.is_none() && suits(&table.columns[p.column_idx].ty);
    let usable = index.is_unique() && !index.invisible && index.parts.iter().all(fits);
    usable.then(|| index.parts.iter().map(|p| p.column_idx).collect())
}

impl UniqueKey {
    /// The unique key of which every part is given by one of `predicates`, if they say nothing else.
    pub fn of(table: &TableDef, predicates: &[Expr], position: Positions<'_>) -> Option<UniqueKey> {
        let (key, rest) = UniqueKey::among(table, predicates, position)?;
        rest.is_empty().then_some(key)
    }

    /// The unique key of which every part is given by one of `predicates`, with the others.
    pub fn among<'e>(
        table: &TableDef,
        predicates: &'e [Expr],
        position: Positions<'_>,
    ) -> Option<(UniqueKey, Vec<&'e Expr>)> {
        (0..table.indexes.len()).find_map(|index| {
            let columns = key_columns(table, index)?;
            let mut rest: Vec<&Expr> = predicates.iter().collect();
            let mut parts = Vec::with_capacity(columns.len());
            for &c in &columns {
                let found = rest.iter().enumerate().find_map(|(i, p)| Some((i, source_of(table, c, p, position)?)));
                let (at, source) = found?;
                rest.remove(at);
                parts.push(source);
            }
            let types = columns.iter().map(|&c| table.columns[c].ty).collect();
            Some((UniqueKey { index, parts, types }, rest))
        })
    }

    /// The key for these values.
    pub fn chunks(&self, params: &[(Value, SqlType)]) -> KeyChunks {
        let mut chunks = Vec::with_capacity(self.parts.len());
        for (source, ty) in self.parts.iter().zip(&self.types) {
            match source.value(params).map_or(Fit::Unsuited, |v| fit(v, ty)) {
                Fit::Is(value) => chunks.push(Chunk::single(ty.phys(), &value)),
                Fit::Nothing => return KeyChunks::Nothing,
                Fit::Unsuited => return KeyChunks::Unsuited,
            }
        }
        KeyChunks::Is(chunks)
    }
}

/// What the predicate says that the column is equal to.
fn source_of(table: &TableDef, column: usize, predicate: &Expr, position: Positions<'_>) -> Option<Source> {
    let ty = &table.columns[column].ty;
    let is_it = |e: &Expr| matches!(e.kind, ExprKind::Column(id) if position(id) == Some(column));
    match &predicate.kind {
        ExprKind::Compare { op: CmpOp::Eq, left, right } if is_it(left) => operand_source(right, ty),
        ExprKind::Compare { op: CmpOp::Eq, left, right } if is_it(right) => operand_source(left, ty),
        _ => None,
    }
}

/// Whether the predicates give a unique key its whole value, or one of few.
pub(crate) fn gives_keys(table: &TableDef, predicates: &[Expr], position: Positions<'_>) -> bool {
    let is_key = |e: &Expr| {
        let ExprKind::Column(id) = e.kind else { return false };
        position(id).is_some_and(|c| (0..table.indexes.len()).any(|i| key_columns(table, i).as_deref() == Some(&[c])))
    };
    let listed = |p: &Expr| match &p.kind {
        ExprKind::InList { expr, negated: false, .. } | ExprKind::InSet { expr, negated: false, .. } => is_key(expr),
        _ => false,
    };
    UniqueKey::among(table, predicates, position).is_some() || predicates.iter().any(listed)
}

/// The integer at a position that is not NULL.
pub(crate) fn integer_at(chunk: &Chunk, at: usize) -> Option<i128> {
    match &chunk.values {
        vector::Values::U64(v) => Some(v[at].into()),
        values => values.int_at(at).map(i128::from),
    }
}

/// Key parts as the storage takes them.
pub(crate) fn with_refs<R>(key: &[Chunk], f: impl FnOnce(&[&Chunk]) -> R) -> R {
    match key {
        [one] => f(&[one]),
        [one, two] => f(&[one, two]),
        [one, two, three] => f(&[one, two, three]),
        many => f(&many.iter().collect::<Vec<_>>()),
    }
}
