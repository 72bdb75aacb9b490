//! New values of one row: those given, and those calculated from the row.

use super::{Source, integer_of};
use crate::convert::{Converter, now};
use crate::statement::Statement;
use crate::table::same;
use catalog::TableDef;
use expr::ArithOp;
use std::sync::Arc;
use storage::{RowAt, Step};
use types::{Decimal, SqlType, Value};
use vector::Chunk;

/// A number that is calculated with.
#[derive(Debug)]
pub enum Operand {
    Column(usize, SqlType),
    Given(Source),
}

/// What a column is set to.
#[derive(Debug)]
pub enum Assigned {
    Value(Source),
    /// Another column of the same type.
    Copy(usize),
    /// Of numbers.
    Arith(Box<Arith>),
    /// CURRENT_TIMESTAMP
    Now,
}

#[derive(Debug)]
pub struct Arith {
    pub op: ArithOp,
    pub left: Operand,
    pub right: Operand,
    /// Of the result.
    pub ty: SqlType,
}

/// An UPDATE of a row.
#[derive(Debug)]
pub struct FlatUpdate {
    pub table: Arc<TableDef>,
    /// Those named, then those that ON UPDATE CURRENT_TIMESTAMP sets.
    pub columns: Vec<usize>,
    pub values: Vec<Assigned>,
    /// How many columns are named.
    pub named: usize,
}

/// The new values of one execution, as far as they are known before the row is.
pub struct ReadyValues {
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
pub enum Decided {
    Step(Step),
    /// A new value does not fit: leave it to the ordinary way.
    Unsuited,
}

impl FlatUpdate {
    /// Whether it depends on the values given alone if it can be done.
    pub fn is_certain(&self) -> bool {
        self.values.iter().all(|v| matches!(v, Assigned::Value(_) | Assigned::Now))
    }

    /// The new values as far as they are known; `None`: one does not fit.
    pub fn ready(&self, statement: &dyn Statement, params: &[(Value, SqlType)]) -> Option<ReadyValues> {
        let converter = Converter::new(statement, &self.table, false);
        let n = self.values.len();
        let (mut chunks, mut all_operands) = (Vec::with_capacity(n), Vec::with_capacity(n));
        for (&c, value) in self.columns.iter().zip(&self.values) {
            let ty = &self.table.columns[c].ty;
            let mut operands = [None; 2];
            let chunk = match value {
                Assigned::Value(source) => Some(Chunk::single(ty.phys(), &converter.fit(c, source.value(params)?)?)),
                Assigned::Now => Some(Chunk::single(ty.phys(), &now(statement, ty))),
                Assigned::Copy(_) => None,
                Assigned::Arith(a) => {
                    operands = [given(&a.left, params)?, given(&a.right, params)?];
                    None
                }
            };
            chunks.push(chunk);
            all_operands.push(operands);
        }
        Some(ReadyValues { chunks, operands: all_operands })
    }

    /// Whether a new value is calculated from the row, and so has to be fitted when the row is known.
    pub fn calculates(&self) -> bool {
        self.values.iter().any(|v| matches!(v, Assigned::Arith(_)))
    }

    /// Puts the row's new values into `out`, if there is anything new. `converter`: of the table, where the update
    /// [calculates](Self::calculates).
    pub fn decide(
        &self,
        ready: &mut ReadyValues,
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
