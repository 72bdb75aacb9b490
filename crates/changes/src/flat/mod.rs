//! Changes of one row, or of few, whose values a statement gives: compiled once, for tables whose rows have nothing but
//! keys and types to keep to.
//!
//! A value that does not fit its column as it is (an error, a warning, an adjustment) is left to the general way,
//! before anything has happened; so what happens here is what would happen there.

mod insert;
mod update;

pub use insert::{Cell, FlatInsert, ReadyRows};
pub use update::{Arith, Assigned, Decided, FlatUpdate, Operand, ReadyValues};

use catalog::TableDef;
use types::{SqlType, Value};

/// Where a value comes from.
#[derive(Clone, Debug)]
pub enum Source {
    /// The statement's value at this position.
    Param(usize),
    Const(Value),
}

impl Source {
    pub fn value<'v>(&'v self, params: &'v [(Value, SqlType)]) -> Option<&'v Value> {
        match self {
            Source::Param(n) => params.get(*n).map(|(value, _)| value),
            Source::Const(value) => Some(value),
        }
    }
}

/// Whether rows of the table have nothing but keys and types to keep to.
pub fn has_plain_rules(table: &TableDef) -> bool {
    table.columns.iter().all(|c| c.generated.is_none() && c.float_digits.is_none())
        && table.checks.iter().all(|c| !c.enforced)
}

/// An integer value.
pub fn integer_of(value: &Value) -> Option<i128> {
    match value {
        Value::Int(v) => Some((*v).into()),
        Value::UInt(v) => Some((*v).into()),
        _ => None,
    }
}
