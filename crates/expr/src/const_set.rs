//! The constants of a long IN list: one chunk of values instead of an expression each.
//!
//! A list of millions of numbers takes little more than the numbers, copies of the expression share it, and nobody
//! walks it who has no need to. Short lists stay expressions ([`crate::ExprKind::InList`]), which indexes look up one
//! by one.
//!
//! Invariant: all values are of one type, and of one comparison class with what they are compared with; integers are
//! within BIGINT, decimals within 128 bits.

use crate::Expr;
use types::{PhysType, SqlType, Value};
use vector::{Chunk, ChunkBuilder, Values};

/// Lists of constants that are longer than this are sets.
pub const LISTED_MAX: usize = 4096;

/// See the module head.
#[derive(Debug)]
pub struct ConstSet {
    values: Chunk,
    ty: SqlType,
}

impl ConstSet {
    pub fn len(&self) -> usize {
        self.values.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Of all values.
    pub fn ty(&self) -> SqlType {
        self.ty
    }

    /// The values, as they came; NULLs among them.
    pub fn chunk(&self) -> &Chunk {
        &self.values
    }

    pub fn has_null(&self) -> bool {
        self.values.has_nulls()
    }

    /// The least and the greatest of values that are integers or stored as such.
    pub fn int_bounds(&self) -> Option<(i64, i64)> {
        let valid = (0..self.len()).filter(|&i| self.values.is_valid(i));
        match &self.values.values {
            Values::I64(v) => bounds(valid.map(|i| v[i])),
            Values::I32(v) => bounds(valid.map(|i| v[i].into())),
            _ => None,
        }
    }

    pub fn value(&self, i: usize) -> Value {
        self.values.value(i, &self.ty)
    }

    /// A value as an expression.
    pub fn expr(&self, i: usize) -> Expr {
        Expr::constant(self.value(i), self.ty)
    }
}

impl PartialEq for ConstSet {
    fn eq(&self, other: &ConstSet) -> bool {
        std::ptr::eq(self, other)
            || self.ty == other.ty
                && self.len() == other.len()
                && (0..self.len()).all(|i| self.value(i) == other.value(i))
    }
}

/// Collects a set, one comparison after the other.
#[derive(Debug, Default)]
pub struct ConstSetBuilder {
    /// What the values are compared with.
    left: Option<Expr>,
    ty: Option<SqlType>,
    values: Option<ChunkBuilder>,
    /// Before the first value.
    nulls: usize,
}

impl ConstSetBuilder {
    /// Adds the right side of `left = right`, as [`crate::build::compare`] makes it. False: it does not go with those
    /// before, and the list is no set.
    pub fn push(&mut self, left: Expr, right: Expr) -> bool {
        let Some(value) = right.as_const() else { return false };
        if value.is_null() {
            match &mut self.values {
                Some(values) => values.push_null(),
                None => self.nulls += 1,
            }
            return true;
        }
        let ty = match (&self.left, self.ty) {
            (Some(first), Some(ty)) => {
                if *first != left {
                    return false;
                }
                crate::build::compare::wider(ty, right.ty)
            }
            _ => crate::build::compare::wider(right.ty, right.ty),
        };
        let Some(ty) = ty.filter(|_| is_storable(value)) else { return false };
        if self.left.is_none() {
            self.left = Some(left);
        }
        self.ty = Some(ty);
        let phys = if ty.is_integer() { PhysType::I64 } else { ty.phys() };
        let nulls = std::mem::take(&mut self.nulls);
        let values = self.values.get_or_insert_with(|| {
            let mut values = ChunkBuilder::new(phys, 0);
            (0..nulls).for_each(|_| values.push_null());
            values
        });
        // A wider type may be kept otherwise.
        if values.values.phys() != phys {
            return false;
        }
        values.push(value);
        true
    }

    /// What is compared, and the set; `None` if there is nothing but NULLs.
    pub fn finish(self) -> Option<(Expr, ConstSet)> {
        let (mut values, ty) = (self.values?.finish(), self.ty?);
        shrink(&mut values);
        let ty = if ty.is_integer() { SqlType::BIGINT } else { ty };
        Some((self.left?, ConstSet { values, ty }))
    }
}

fn bounds(values: impl Iterator<Item = i64>) -> Option<(i64, i64)> {
    values.fold(None, |b, v| Some(b.map_or((v, v), |(min, max): (i64, i64)| (min.min(v), max.max(v)))))
}

/// Lists are collected by doubling.
fn shrink(chunk: &mut Chunk) {
    match &mut chunk.values {
        Values::I32(v) => v.shrink_to_fit(),
        Values::I64(v) => v.shrink_to_fit(),
        Values::I128(v) => v.shrink_to_fit(),
        Values::F64(v) => v.shrink_to_fit(),
        Values::Str(s) => s.views.shrink_to_fit(),
        _ => {}
    }
}

fn is_storable(value: &Value) -> bool {
    match value {
        Value::UInt(v) => i64::try_from(*v).is_ok(),
        Value::Decimal(d) => d.unscaled.to_i128().is_some(),
        _ => true,
    }
}
