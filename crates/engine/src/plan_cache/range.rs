//! RangeSelect: the flat plan of a SELECT of few rows by a unique key of integers.
//!
//! ```text
//!   SELECT columns            FROM table WHERE key BETWEEN a AND b
//!   SELECT SUM(x), COUNT(*)   FROM table WHERE part = c AND key BETWEEN a AND b
//!   SELECT [DISTINCT] column  FROM table WHERE key BETWEEN a AND b ORDER BY column
//!
//!   values ─▶ Table::visit_range ─┬─▶ columns, from the leaf into the sink
//!                                 ├─▶ sums
//!                                 └─▶ a copy of the column ─▶ sorted ─▶ the sink
//! ```
//! The key is unique, so a range of n values has n rows at most: that it is short is known without an estimate. Longer
//! ranges are left to the executor, and so are values that are no integers.

use super::key::{Source, integer_of, operand_source};
use crate::query::meta;
use catalog::{TableDef, TableEngine};
use expr::{AggFunc, CmpOp, ColumnId, Expr, ExprKind};
use plan::logical::{Logical, LogicalQuery};
use session::sink::ResultShape;
use std::cmp::Ordering;
use std::sync::Arc;
use types::{Collation, Decimal, I256, SqlType, Value};
use vector::{Chunk, Rows};

/// Rows that a range may have.
pub(crate) const ROWS_MAX: i128 = 1024;

/// Widest row that is sent: nothing is before all rows are written.
const ROW_BYTES_MAX: usize = 16 << 10;

/// An end of the range.
#[derive(Debug)]
struct End {
    source: Source,
    inclusive: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sum {
    /// Of an integer column.
    Of(usize),
    Rows,
}

/// What is made of the rows.
#[derive(Debug)]
pub(crate) enum Output {
    /// Columns of the table.
    Rows(Vec<usize>),
    Sums(Vec<Sum>),
    Sorted {
        column: usize,
        descending: bool,
        distinct: bool,
    },
}

/// See the module head.
#[derive(Debug)]
pub(crate) struct RangeSelect {
    pub table: Arc<TableDef>,
    pub index: usize,
    /// Least and greatest value of each part's type.
    limits: Vec<(i128, i128)>,
    before: Vec<Source>,
    low: End,
    high: End,
    pub output: Output,
    pub shape: Arc<ResultShape>,
}

/// The range of one execution.
pub(crate) enum Bounds {
    Unsuited,
    Nothing,
    Are { before: Vec<i64>, low: i64, high: i64 },
}

/// What lies between the query's root and its filter.
#[derive(Default)]
struct Above<'q> {
    /// Ids that stand for others.
    renamed: Vec<(ColumnId, ColumnId)>,
    sort: Option<&'q [(Expr, bool)]>,
    distinct: bool,
    aggregates: Option<&'q [(ColumnId, expr::AggCall)]>,
}

impl<'q> Above<'q> {
    /// Walks down to the filter; `None` if something else is on the way.
    fn walk(&mut self, root: &'q Logical) -> Option<(&'q Logical, &'q [Expr])> {
        let mut node = root;
        loop {
            node = match node {
                Logical::Filter { input, predicates } => return Some((input, predicates)),
                Logical::Project { input, exprs } => {
                    for (id, e) in exprs {
                        let ExprKind::Column(of) = e.kind else { return None };
                        if of != *id {
                            self.renamed.push((*id, of));
                        }
                    }
                    input
                }
                Logical::Sort { input, keys } if self.sort.is_none() && !self.distinct && self.aggregates.is_none() => {
                    self.sort = Some(keys);
                    input
                }
                Logical::Distinct { input } if !self.distinct && self.aggregates.is_none() => {
                    self.distinct = true;
                    input
                }
                Logical::Aggregate { input, groups, aggregates, rollup: false }
                    if groups.is_empty() && self.sort.is_none() && !self.distinct && self.aggregates.is_none() =>
                {
                    self.aggregates = Some(aggregates);
                    input
                }
                _ => return None,
            }
        }
    }

    fn original(&self, id: ColumnId) -> ColumnId {
        self.renamed.iter().fold(id, |id, (new, of)| if *new == id { *of } else { id })
    }
}

impl RangeSelect {
    /// `None`: the query is of another shape.
    pub fn of(query: &LogicalQuery) -> Option<RangeSelect> {
        let mut above = Above::default();
        let (get, predicates) = above.walk(&query.root)?;
        let Logical::Get { table, columns, is_virtual: false, hints, row_id: None, .. } = get else { return None };
        let plain = hints.is_empty() && query.subqueries.is_empty() && !table.temporary;
        if !plain || table.engine == TableEngine::Virtual {
            return None;
        }
        let position = |id: ColumnId| super::key::position_of(columns, id);
        let output = output(query, table, &above, &position)?;
        let (index, before, low, high) =
            (0..table.indexes.len()).find_map(|index| range(table, index, predicates, &position))?;
        let limits = table.indexes[index].parts.iter().map(|p| match table.columns[p.column_idx].ty {
            SqlType::Int { size, unsigned } => Some(size.range(unsigned)),
            _ => None,
        });
        let limits = limits.collect::<Option<Vec<_>>>()?;
        let shape = Arc::new(ResultShape::new(meta::columns(query)));
        Some(RangeSelect { table: table.clone(), index, limits, before, low, high, output, shape })
    }

    /// The range for these values.
    pub fn bounds(&self, params: &[(Value, SqlType)]) -> Bounds {
        let integer = |source: &Source| integer_of(source.value(params)?);
        let (Some(low), Some(high)) = (integer(&self.low.source), integer(&self.high.source)) else {
            return Bounds::Unsuited;
        };
        let mut before = Vec::with_capacity(self.before.len());
        for (source, (min, max)) in self.before.iter().zip(&self.limits) {
            match integer(source) {
                Some(v) if v < *min || v > *max => return Bounds::Nothing,
                Some(v) if i64::try_from(v).is_ok() => before.push(v as i64),
                _ => return Bounds::Unsuited,
            }
        }
        let (min, max) = self.limits[before.len()];
        let low = (low + i128::from(!self.low.inclusive)).max(min);
        let high = (high - i128::from(!self.high.inclusive)).min(max);
        if low > high {
            return Bounds::Nothing;
        }
        match (i64::try_from(low), i64::try_from(high)) {
            (Ok(low), Ok(high)) if i128::from(high) - i128::from(low) < ROWS_MAX => Bounds::Are { before, low, high },
            _ => Bounds::Unsuited,
        }
    }

    /// An end of the range as values of the key's columns.
    pub fn end_values(&self, before: &[i64], last: i64) -> Vec<Value> {
        let columns = self.table.indexes[self.index].parts.iter().map(|p| &self.table.columns[p.column_idx].ty);
        let value = |(ty, v): (&SqlType, &i64)| match ty.is_unsigned() {
            true => Value::UInt(*v as u64),
            false => Value::Int(*v),
        };
        columns.zip(before.iter().chain([&last])).map(value).collect()
    }
}

fn output(
    query: &LogicalQuery,
    table: &TableDef,
    above: &Above<'_>,
    position: &dyn Fn(ColumnId) -> Option<usize>,
) -> Option<Output> {
    if let Some(aggregates) = above.aggregates {
        let sum = |id: ColumnId| {
            let (_, call) = aggregates.iter().find(|(a, _)| *a == above.original(id))?;
            match (call.func, &call.args[..]) {
                (AggFunc::CountStar, []) => Some(Sum::Rows),
                (AggFunc::Sum, [Expr { kind: ExprKind::Column(c), ty, .. }]) if !call.distinct && ty.is_integer() => {
                    let exact = matches!(call.ty, SqlType::Decimal { scale: 0, .. });
                    exact.then_some(Sum::Of(position(*c)?))
                }
                _ => None,
            }
        };
        return query.output.iter().map(|(id, _)| sum(*id)).collect::<Option<Vec<Sum>>>().map(Output::Sums);
    }
    let columns: Vec<usize> =
        query.output.iter().map(|(id, _)| position(above.original(*id))).collect::<Option<_>>()?;
    let width =
        |ty: &SqlType| if let SqlType::String { len, .. } = ty { (*len as usize).saturating_mul(4) } else { 32 };
    let bytes = columns.iter().fold(0usize, |sum, &c| sum.saturating_add(width(&table.columns[c].ty)));
    if bytes > ROW_BYTES_MAX {
        return None;
    }
    let Some(keys) = above.sort else { return (!above.distinct).then_some(Output::Rows(columns)) };
    let ([(key, descending)], [column]) = (keys, &columns[..]) else { return None };
    let ExprKind::Column(id) = key.kind else { return None };
    let ty = &table.columns[*column].ty;
    let fits = position(above.original(id)) == Some(*column) && (ty.is_integer() || ty.is_string());
    fits.then_some(Output::Sorted { column: *column, descending: *descending, distinct: above.distinct })
}

/// The range that the predicates say, if they say nothing else.
fn range(
    table: &TableDef,
    index: usize,
    predicates: &[Expr],
    position: &dyn Fn(ColumnId) -> Option<usize>,
) -> Option<(usize, Vec<Source>, End, End)> {
    let def = &table.indexes[index];
    let suits = |p: &catalog::IndexPart| {
        p.prefix_len.is_none() && !p.descending && matches!(table.columns[p.column_idx].ty, SqlType::Int { .. })
    };
    if !def.is_unique() || def.invisible || !def.parts.iter().all(suits) || predicates.len() != def.parts.len() + 1 {
        return None;
    }
    let (last, before) = def.parts.split_last()?;
    let find = |column: usize, ops: &[CmpOp]| {
        let ty = &table.columns[column].ty;
        let is_it = |e: &Expr| matches!(e.kind, ExprKind::Column(id) if position(id) == Some(column));
        predicates.iter().find_map(|p| {
            let ExprKind::Compare { op, left, right } = &p.kind else { return None };
            let (op, other) = match (is_it(left), is_it(right)) {
                (true, false) => (*op, right),
                (false, true) => (mirrored(*op)?, left),
                _ => return None,
            };
            let source = if ops.contains(&op) { operand_source(other, ty) } else { None };
            source.map(|source| (op, source))
        })
    };
    let before = before.iter().map(|p| find(p.column_idx, &[CmpOp::Eq]).map(|f| f.1)).collect::<Option<Vec<_>>>()?;
    let (op, source) = find(last.column_idx, &[CmpOp::Ge, CmpOp::Gt])?;
    let low = End { source, inclusive: op == CmpOp::Ge };
    let (op, source) = find(last.column_idx, &[CmpOp::Le, CmpOp::Lt])?;
    let high = End { source, inclusive: op == CmpOp::Le };
    Some((index, before, low, high))
}

fn mirrored(op: CmpOp) -> Option<CmpOp> {
    Some(match op {
        CmpOp::Eq => CmpOp::Eq,
        CmpOp::Lt => CmpOp::Gt,
        CmpOp::Le => CmpOp::Ge,
        CmpOp::Gt => CmpOp::Lt,
        CmpOp::Ge => CmpOp::Le,
        _ => return None,
    })
}

/// Sums of one execution: one number a [`Sum`].
#[derive(Debug)]
pub(crate) struct Sums {
    totals: Vec<i128>,
    /// How many values were added.
    counts: Vec<u64>,
}

impl Sums {
    pub fn new(n: usize) -> Sums {
        Sums { totals: vec![0; n], counts: vec![0; n] }
    }

    pub fn add(&mut self, sums: &[Sum], row: storage::RowAt<'_, '_>) {
        for (i, sum) in sums.iter().enumerate() {
            let value = match sum {
                Sum::Rows => Some(1),
                Sum::Of(column) => {
                    let (chunk, at) = row(*column);
                    if chunk.is_valid(at) { super::key::integer_at(chunk, at) } else { None }
                }
            };
            if let Some(value) = value {
                self.totals[i] += value;
                self.counts[i] += 1;
            }
        }
    }

    /// One chunk a sum.
    pub fn finish(&self, sums: &[Sum], shape: &ResultShape) -> Vec<Chunk> {
        let value = |i: usize| match sums[i] {
            Sum::Rows => Value::Int(self.totals[i] as i64),
            Sum::Of(_) if self.counts[i] == 0 => Value::Null,
            Sum::Of(_) => Value::Decimal(Decimal { unscaled: I256::from(self.totals[i]), scale: 0 }),
        };
        (0..sums.len()).map(|i| Chunk::single(shape.columns[i].data_ty.phys(), &value(i))).collect()
    }
}

/// Values of one column, to be sorted.
#[derive(Debug)]
pub(crate) struct Sorter {
    values: Chunk,
    collation: Option<Collation>,
}

impl Sorter {
    pub fn new(ty: &SqlType) -> Sorter {
        Sorter { values: Chunk::empty(ty.phys(), 128), collation: ty.collation() }
    }

    pub fn add(&mut self, chunk: &Chunk, at: usize) {
        self.values.append(chunk, Rows::At(&[at as u16]));
    }

    /// The values, and the positions in which they are to be sent.
    pub fn finish(self, descending: bool, distinct: bool) -> (Chunk, Vec<u16>) {
        let n = self.values.len();
        let mut scratch = Vec::new();
        let heads: Option<Vec<u64>> = (0..n).map(|i| self.head(i, &mut scratch)).collect();
        let heads = heads.unwrap_or_else(|| vec![0; n]);
        let mut order: Vec<u16> = (0..self.values.len() as u16).collect();
        let compare = |a: &u16, b: &u16| {
            let heads = heads[*a as usize].cmp(&heads[*b as usize]);
            let ascending = heads.then_with(|| self.compare(*a as usize, *b as usize));
            if descending { ascending.reverse() } else { ascending }
        };
        order.sort_by(compare);
        if distinct {
            order.dedup_by(|a, b| compare(a, b) == Ordering::Equal);
        }
        (self.values, order)
    }

    /// A number for the beginning of a text, so that texts are ordered as their numbers where those differ. `None`: the
    /// beginning alone does not tell.
    fn head(&self, i: usize, scratch: &mut Vec<u8>) -> Option<u64> {
        const CHARS: usize = 4;
        let Some(Collation::Utf8mb4_0900AiCi) = self.collation else { return Some(0) };
        if !self.values.is_valid(i) {
            return Some(0);
        }
        let text = self.values.values.str_bytes(i);
        let start = &text[..text.len().min(CHARS)];
        scratch.clear();
        Collation::Utf8mb4_0900AiCi.sort_key(start, scratch);
        if !start.is_ascii() || scratch.len() != start.len() * 2 {
            return None;
        }
        scratch.resize(CHARS * 2, 0);
        scratch.first_chunk().map(|head| u64::from_be_bytes(*head))
    }

    fn compare(&self, a: usize, b: usize) -> Ordering {
        match (self.values.is_valid(a), self.values.is_valid(b)) {
            (true, true) => {}
            (x, y) => return x.cmp(&y),
        }
        match self.collation {
            Some(collation) => collation.compare(self.values.values.str_bytes(a), self.values.values.str_bytes(b)),
            None => super::key::integer_at(&self.values, a).cmp(&super::key::integer_at(&self.values, b)),
        }
    }
}
