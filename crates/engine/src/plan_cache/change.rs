//! PointUpdate and PointDelete: the flat plans of
//!
//! ```text
//!   UPDATE table SET column = value | column ± number | another column, ... WHERE unique key = values
//!   DELETE FROM table WHERE unique key = values
//!
//!   values ─ into the key's types ─▶ Table::change_by_key ─▶ the row's newest version ─▶ new values ─▶ changed in place
//! ```
//! Made of a bound statement of exactly this shape, for tables and columns where nothing else depends on the change:
//! no generated columns, no CHECK, no foreign key of or on the columns. New values are converted to their columns' types
//! beforehand; one that does not fit as it is (an error, a warning, an adjustment) is left to the ordinary way, and so is a
//! result that does not fit.

use super::key::{ChangeShape, Positions, Source, UniqueKey, integer_of};
use crate::dml::{Converter, now, same};
use crate::session::Execution;
use catalog::{DefaultValue, TableDef};
use expr::{ArithOp, Expr, ExprKind};
use plan::logical::LogicalQuery;
use planner::bind::{BoundDelete, BoundUpdate, NewValue};
use std::sync::Arc;
use storage::{RowAt, Step};
use types::{Decimal, SqlType, Value};
use vector::Chunk;

/// A number that is calculated with.
#[derive(Debug)]
enum Operand {
    Column(usize, SqlType),
    Given(Source),
}

/// What a column is set to.
#[derive(Debug)]
enum Assigned {
    Value(Source),
    /// Another column of the same type.
    Copy(usize),
    /// Of numbers.
    Arith(Box<Arith>),
    /// CURRENT_TIMESTAMP
    Now,
}

#[derive(Debug)]
struct Arith {
    op: ArithOp,
    left: Operand,
    right: Operand,
    /// Of the result.
    ty: SqlType,
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
    /// What is given for the operands of a calculation.
    operands: Vec<[Option<Number>; 2]>,
}

/// A value that is calculated with.
#[derive(Clone, Copy)]
enum Number {
    Null,
    Int(i128),
    Decimal(Decimal),
    Double(f64),
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
    table.columns.iter().all(|c| c.generated.is_none() && c.float_digits.is_none())
        && table.checks.iter().all(|c| !c.enforced)
}

impl PointDelete {
    /// `None`: the statement is of another shape.
    pub fn of(session: &Execution<'_>, bound: &BoundDelete) -> Option<PointDelete> {
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
    pub fn of(session: &Execution<'_>, bound: &BoundUpdate) -> Option<PointUpdate> {
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
    pub fn ready(&self, session: &Execution<'_>, params: &[(Value, SqlType)]) -> Option<Ready> {
        let converter = Converter::new(session, &self.table, false);
        let n = self.values.len();
        let (mut chunks, mut all_operands) = (Vec::with_capacity(n), Vec::with_capacity(n));
        for (&c, value) in self.columns.iter().zip(&self.values) {
            let ty = &self.table.columns[c].ty;
            let mut operands = [None; 2];
            let chunk = match value {
                Assigned::Value(source) => Some(Chunk::single(ty.phys(), &converter.fit(c, source.value(params)?)?)),
                Assigned::Now => Some(Chunk::single(ty.phys(), &now(session, ty))),
                Assigned::Copy(_) => None,
                Assigned::Arith(a) => {
                    operands = [given(&a.left, params)?, given(&a.right, params)?];
                    None
                }
            };
            chunks.push(chunk);
            all_operands.push(operands);
        }
        Some(Ready { chunks, operands: all_operands })
    }

    /// Whether a new value is calculated from the row, and so has to be fitted when the row is known.
    pub fn calculates(&self) -> bool {
        self.values.iter().any(|v| matches!(v, Assigned::Arith(_)))
    }

    /// Puts the row's new values into `out`, if there is anything new. `converter`: of the table, where the update
    /// [calculates](Self::calculates).
    pub fn decide(
        &self,
        ready: &mut Ready,
        converter: Option<&Converter<'_>>,
        row: RowAt<'_, '_>,
        out: &mut Vec<Chunk>,
    ) -> Decided {
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
                Assigned::Arith(a) => {
                    let [left, right] = &ready.operands[i];
                    let operand = |o: &Operand, given: &Option<Number>| given.or_else(|| number_at(o, row));
                    let values = operand(&a.left, left).zip(operand(&a.right, right));
                    let result = values.and_then(|(l, r)| a.calculate(l, r));
                    let fitting = result.zip(converter).and_then(|(v, to)| to.fit(c, &v));
                    fitting.map(|v| Chunk::single(self.table.columns[c].ty.phys(), &v))
                }
            };
            let Some(chunk) = chunk else { return Decided::Unsuited };
            let (old, at) = row(c);
            changed |= i < self.named && !same(old, at, &chunk, 0);
            out.push(chunk);
        }
        Decided::Step(if changed { Step::Update } else { Step::Lock })
    }
}

impl Arith {
    /// `None`: the result is beyond its type.
    fn calculate(&self, left: Number, right: Number) -> Option<Value> {
        use Number::*;
        Some(match (self.ty, left, right) {
            (_, Null, _) | (_, _, Null) => Value::Null,
            (SqlType::Int { unsigned, .. }, Int(l), Int(r)) => {
                let result = match self.op {
                    ArithOp::Add => l.checked_add(r)?,
                    ArithOp::Sub => l.checked_sub(r)?,
                    ArithOp::Mul => l.checked_mul(r)?,
                    _ => return None,
                };
                match unsigned {
                    true => Value::UInt(u64::try_from(result).ok()?),
                    false => Value::Int(i64::try_from(result).ok()?),
                }
            }
            (SqlType::Decimal { .. }, l, r) => {
                let (l, r) = (l.decimal()?, r.decimal()?);
                Value::Decimal(match self.op {
                    ArithOp::Add => l.add(&r)?,
                    ArithOp::Sub => l.sub(&r)?,
                    ArithOp::Mul => l.mul(&r)?,
                    _ => return None,
                })
            }
            (SqlType::Double, l, r) => {
                let (l, r) = (l.double(), r.double());
                let result = match self.op {
                    ArithOp::Add => l + r,
                    ArithOp::Sub => l - r,
                    ArithOp::Mul => l * r,
                    _ => return None,
                };
                result.is_finite().then_some(Value::Double(result))?
            }
            _ => return None,
        })
    }
}

impl Number {
    fn of(value: &Value) -> Option<Number> {
        Some(match value {
            Value::Null => Number::Null,
            Value::Decimal(d) => Number::Decimal(*d),
            Value::Double(v) => Number::Double(*v),
            _ => Number::Int(integer_of(value)?),
        })
    }

    fn decimal(self) -> Option<Decimal> {
        match self {
            Number::Int(v) => Some(Decimal::from_i128(v, 0)),
            Number::Decimal(d) => Some(d),
            Number::Double(_) | Number::Null => None,
        }
    }

    fn double(self) -> f64 {
        match self {
            Number::Int(v) => v as f64,
            Number::Decimal(d) => d.to_f64(),
            Number::Double(v) => v,
            Number::Null => f64::NAN,
        }
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
            // What becomes of a fraction in an integer column, or of a FLOAT, is left to the ordinary way.
            let of = |e: &Expr| (e.ty.is_integer(), matches!(e.ty, SqlType::Decimal { .. } | SqlType::Double));
            let column_ty = &table.columns[column].ty;
            let suits = match of(e) {
                (true, _) => column_ty.is_integer(),
                (_, true) => matches!(column_ty, SqlType::Decimal { .. } | SqlType::Double),
                _ => false,
            };
            if !suits {
                return None;
            }
            let operand = |side: &Expr| {
                // Exact numbers beside a DOUBLE become such.
                let side = match &side.kind {
                    ExprKind::Cast { expr, explicit: false } if e.ty == SqlType::Double => expr,
                    _ => side,
                };
                match &side.kind {
                    _ if of(side) == (false, false) => None,
                    ExprKind::Param(n) => Some(Operand::Given(Source::Param(*n as usize))),
                    ExprKind::Const(v) => Some(Operand::Given(Source::Const(v.clone()))),
                    ExprKind::Column(id) => position(*id).map(|c| Operand::Column(c, side.ty)),
                    _ => None,
                }
            };
            Assigned::Arith(Box::new(Arith { op: *op, left: operand(left)?, right: operand(right)?, ty: e.ty }))
        }
        _ => return None,
    })
}

/// Whether a foreign key refers from the column, or to it.
fn is_in_reference(session: &Execution<'_>, table: &TableDef, column: usize) -> bool {
    let name = &table.columns[column].name;
    let incoming = session.db().catalog().references_to(&table.schema, &table.name);
    table.foreign_keys.iter().any(|key| key.columns.contains(&column))
        || incoming.iter().any(|(child, fk)| {
            child.foreign_keys[*fk].parent_columns.iter().any(|n| n.eq_ignore_ascii_case(name) || !n.is_ascii())
        })
}

/// The number that is given for an operand: `None` inside: it is a column; outside: what is given is no number.
fn given(operand: &Operand, params: &[(Value, SqlType)]) -> Option<Option<Number>> {
    match operand {
        Operand::Column(..) => Some(None),
        Operand::Given(source) => Number::of(source.value(params)?).map(Some),
    }
}

/// The number in a column of the row.
fn number_at(operand: &Operand, row: RowAt<'_, '_>) -> Option<Number> {
    let Operand::Column(c, ty) = operand else { return None };
    let (chunk, at) = row(*c);
    Number::of(&chunk.value(at, ty))
}
