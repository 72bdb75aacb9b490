//! PointUpdate and PointDelete: the flat plans of
//!
//! ```text
//!   UPDATE table SET column = value | column ± integer | another column, ... WHERE unique key = values
//!   DELETE FROM table WHERE unique key = values
//!
//!   values ─ into the key's types ─▶ Table::change_by_key ─▶ the row's newest version ─▶ new values ─▶ changed in place
//! ```
//! Made of a bound statement of exactly this shape, for tables and columns where nothing else depends on the change:
//! no generated columns, no CHECK, no foreign key of or on the columns. New values are converted to their columns' types
//! beforehand; one that does not fit as it is (an error, a warning, an adjustment) is left to the ordinary way, and so is a
//! result that does not fit.

use super::key::{ChangeShape, Positions, Source, UniqueKey, integer_at, integer_of};
use crate::dml::{Converter, now, same};
use crate::session::Session;
use catalog::{DefaultValue, TableDef};
use expr::{ArithOp, Expr, ExprKind};
use plan::logical::LogicalQuery;
use planner::bind::{BoundDelete, BoundUpdate, NewValue};
use std::sync::Arc;
use storage::{RowAt, Step};
use types::{SqlType, Value};
use vector::Chunk;

/// An integer that is calculated with.
#[derive(Debug)]
enum Operand {
    Column(usize),
    Given(Source),
}

/// What a column is set to.
#[derive(Debug)]
enum Assigned {
    Value(Source),
    /// Another column of the same type.
    Copy(usize),
    /// Of integers; `unsigned`: the result is BIGINT UNSIGNED.
    Arith {
        op: ArithOp,
        left: Operand,
        right: Operand,
        unsigned: bool,
    },
    /// CURRENT_TIMESTAMP
    Now,
}

/// See the module head.
#[derive(Debug)]
pub(crate) struct PointUpdate {
    pub table: Arc<TableDef>,
    pub key: UniqueKey,
    /// Those named, then those that ON UPDATE CURRENT_TIMESTAMP sets.
    pub columns: Vec<usize>,
    values: Vec<Assigned>,
    /// How many columns are named.
    named: usize,
}

/// See the module head.
#[derive(Debug)]
pub(crate) struct PointDelete {
    pub table: Arc<TableDef>,
    pub key: UniqueKey,
}

/// The new values of one execution, as far as they are known before the row is.
pub(crate) struct Ready {
    chunks: Vec<Option<Chunk>>,
    operands: Vec<Option<[Option<i128>; 2]>>,
}

/// What was decided for a row.
pub(crate) enum Decided {
    Step(Step),
    /// A new value does not fit: leave it to the ordinary way.
    Unsuited,
}

/// The shape of a statement whose plan may be kept.
fn shape(query: &LogicalQuery) -> Option<ChangeShape<'_>> {
    ChangeShape::of(query).filter(|s| query.cacheable && !query.serial && !s.table.temporary)
}

/// Whether rows of the table have nothing but keys and types to keep to.
pub(super) fn has_plain_rules(table: &TableDef) -> bool {
    table.columns.iter().all(|c| c.generated.is_none()) && table.checks.iter().all(|c| !c.enforced)
}

impl PointDelete {
    /// `None`: the statement is of another shape.
    pub fn of(session: &Session, bound: &BoundDelete) -> Option<PointDelete> {
        let shape = shape(&bound.query)?;
        let table = shape.table;
        let referenced = !session.db().catalog().references_to(&table.schema, &table.name).is_empty();
        if referenced || bound.targets.len() != 1 {
            return None;
        }
        Some(PointDelete {
            table: table.clone(),
            key: UniqueKey::of(table, shape.predicates, &|id| shape.position(id))?,
        })
    }
}

impl PointUpdate {
    /// `None`: the statement is of another shape.
    pub fn of(session: &Session, bound: &BoundUpdate) -> Option<PointUpdate> {
        let shape = shape(&bound.query)?;
        let table = shape.table;
        if bound.targets.len() != 1 || !has_plain_rules(table) || !bound.targets[0].checks.is_empty() {
            return None;
        }
        let position = |id| shape.position(id);
        let key = UniqueKey::of(table, shape.predicates, &position)?;
        let (mut columns, mut values) = (Vec::new(), Vec::new());
        for a in &bound.assignments {
            if columns.contains(&a.column_idx) {
                return None;
            }
            columns.push(a.column_idx);
            values.push(match a.value {
                NewValue::Default => default(table, a.column_idx)?,
                NewValue::Output(p) => assigned(table, a.column_idx, shape.expr(bound.query.output[p].0)?, &position)?,
            });
        }
        let named = columns.len();
        for (idx, c) in table.columns.iter().enumerate() {
            if c.on_update_current_timestamp && !columns.contains(&idx) {
                columns.push(idx);
                values.push(Assigned::Now);
            }
        }
        let free = !columns.iter().any(|&c| table.columns[c].auto_increment || is_in_reference(session, table, c));
        free.then(|| PointUpdate { table: table.clone(), key, columns, values, named })
    }

    /// Whether it depends on the values given alone if it can be done.
    pub fn is_certain(&self) -> bool {
        self.values.iter().all(|v| matches!(v, Assigned::Value(_) | Assigned::Now))
    }

    /// The new values as far as they are known; `None`: one does not fit.
    pub fn ready(&self, session: &Session, params: &[(Value, SqlType)]) -> Option<Ready> {
        let converter = Converter::new(session, &self.table, false);
        let n = self.values.len();
        let mut ready = Ready { chunks: Vec::with_capacity(n), operands: Vec::with_capacity(n) };
        for (&c, value) in self.columns.iter().zip(&self.values) {
            let ty = &self.table.columns[c].ty;
            let mut operands = None;
            let chunk = match value {
                Assigned::Value(source) => Some(Chunk::single(ty.phys(), &converter.fit(c, source.value(params)?)?)),
                Assigned::Now => Some(Chunk::single(ty.phys(), &now(session, ty))),
                Assigned::Copy(_) => None,
                Assigned::Arith { left, right, .. } => {
                    operands = Some([given(left, params)?, given(right, params)?]);
                    None
                }
            };
            ready.chunks.push(chunk);
            ready.operands.push(operands);
        }
        Some(ready)
    }

    /// Puts the row's new values into `out`, if there is anything new.
    pub fn decide(&self, ready: &mut Ready, row: RowAt<'_, '_>, out: &mut Vec<Chunk>) -> Decided {
        let mut changed = false;
        for (i, (&c, value)) in self.columns.iter().zip(&self.values).enumerate() {
            let chunk = match value {
                Assigned::Value(_) | Assigned::Now => ready.chunks[i].take(),
                Assigned::Copy(from) => {
                    let (chunk, at) = row(*from);
                    let mut copy = chunk.gather_owned(&[at as u16]);
                    copy.widen_to(self.table.columns[c].ty.phys());
                    let fits = self.table.columns[c].nullable || copy.is_valid(0);
                    fits.then_some(copy)
                }
                Assigned::Arith { op, left, right, unsigned } => {
                    let [l, r] = ready.operands[i].unwrap_or_default();
                    self.calculate(c, *op, *unsigned, (left, l), (right, r), row)
                }
            };
            let Some(chunk) = chunk else { return Decided::Unsuited };
            let (old, at) = row(c);
            changed |= i < self.named && !same(old, at, &chunk, 0);
            out.push(chunk);
        }
        Decided::Step(if changed { Step::Update } else { Step::Lock })
    }

    fn calculate(
        &self,
        column: usize,
        op: ArithOp,
        unsigned: bool,
        left: (&Operand, Option<i128>),
        right: (&Operand, Option<i128>),
        row: RowAt<'_, '_>,
    ) -> Option<Chunk> {
        let value = |(operand, given): (&Operand, Option<i128>)| match operand {
            Operand::Given(_) => Some(given),
            Operand::Column(c) => {
                let (chunk, at) = row(*c);
                chunk.is_valid(at).then(|| integer_at(chunk, at)).map_or(Some(None), |v| v.map(Some))
            }
        };
        let c = &self.table.columns[column];
        let (Some(l), Some(r)) = (value(left)?, value(right)?) else {
            return c.nullable.then(|| Chunk::single(c.ty.phys(), &Value::Null));
        };
        let result = match op {
            ArithOp::Add => l.checked_add(r)?,
            ArithOp::Sub => l.checked_sub(r)?,
            ArithOp::Mul => l.checked_mul(r)?,
            _ => return None,
        };
        let in_type = if unsigned { u64::try_from(result).is_ok() } else { i64::try_from(result).is_ok() };
        let SqlType::Int { size, unsigned } = c.ty else { return None };
        let (min, max) = size.range(unsigned);
        let value = if unsigned { Value::UInt(result as u64) } else { Value::Int(result as i64) };
        (in_type && (min..=max).contains(&result)).then(|| Chunk::single(c.ty.phys(), &value))
    }
}

/// `SET column = DEFAULT`
fn default(table: &TableDef, column: usize) -> Option<Assigned> {
    let c = &table.columns[column];
    match &c.default {
        DefaultValue::Value(v) => Some(Assigned::Value(Source::Const(v.clone()))),
        DefaultValue::CurrentTimestamp => Some(Assigned::Now),
        DefaultValue::None if c.nullable => Some(Assigned::Value(Source::Const(Value::Null))),
        _ => None,
    }
}

fn assigned(table: &TableDef, column: usize, e: &Expr, position: Positions<'_>) -> Option<Assigned> {
    Some(match &e.kind {
        ExprKind::Param(n) => Assigned::Value(Source::Param(*n as usize)),
        ExprKind::Const(v) => Assigned::Value(Source::Const(v.clone())),
        ExprKind::Column(id) => {
            let from = position(*id)?;
            (table.columns[from].ty == table.columns[column].ty).then_some(Assigned::Copy(from))?
        }
        ExprKind::Arith { op: op @ (ArithOp::Add | ArithOp::Sub | ArithOp::Mul), left, right } => {
            let SqlType::Int { unsigned, .. } = e.ty else { return None };
            if !table.columns[column].ty.is_integer() {
                return None;
            }
            let operand = |e: &Expr| match &e.kind {
                _ if !e.ty.is_integer() => None,
                ExprKind::Param(n) => Some(Operand::Given(Source::Param(*n as usize))),
                ExprKind::Const(v) => Some(Operand::Given(Source::Const(v.clone()))),
                ExprKind::Column(id) => position(*id).map(Operand::Column),
                _ => None,
            };
            Assigned::Arith { op: *op, left: operand(left)?, right: operand(right)?, unsigned }
        }
        _ => return None,
    })
}

/// Whether a foreign key refers from the column, or to it.
fn is_in_reference(session: &Session, table: &TableDef, column: usize) -> bool {
    let name = &table.columns[column].name;
    let incoming = session.db().catalog().references_to(&table.schema, &table.name);
    table.foreign_keys.iter().any(|key| key.columns.contains(&column))
        || incoming.iter().any(|(child, fk)| {
            child.foreign_keys[*fk].parent_columns.iter().any(|n| n.eq_ignore_ascii_case(name) || !n.is_ascii())
        })
}

/// The integer that is given for an operand: `None` inside is NULL; outside, that it is none.
fn given(operand: &Operand, params: &[(Value, SqlType)]) -> Option<Option<i128>> {
    let Operand::Given(source) = operand else { return Some(None) };
    match source.value(params)? {
        Value::Null => Some(None),
        value => integer_of(value).map(Some),
    }
}
