//! How the key columns of a statement are laid out: which form, how wide each column, where NULL bits are.

use crate::string_ids::StringIds;
use std::sync::Arc;
use types::{Collation, Error, PhysType, Result, SqlType};

/// Which form the keys have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeyForm {
    U64,
    U128,
    Bytes,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// Up to 64 bits wide, sign irrelevant.
    Int {
        bits: u32,
    },
    Wide128,
    Wide256,
    F32,
    F64,
    Str(Collation),
    /// Strings that are numbered; never in byte keys.
    Id,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct KeyColumn {
    pub(super) kind: Kind,
    /// NULL is a key value like others. If false, rows with NULL have no key.
    pub(super) null_bit: bool,
}

/// How the key columns are laid out. Both sides of a join share one.
#[derive(Clone)]
pub struct KeyLayout {
    pub(super) columns: Vec<KeyColumn>,
    /// By column; empty where no strings are numbered.
    pub(super) ids: Vec<Option<Arc<StringIds>>>,
    pub form: KeyForm,
}

impl KeyLayout {
    /// `columns`: (type, whether NULL is a key value).
    pub fn new(columns: &[(SqlType, bool)]) -> KeyLayout {
        let columns: Vec<KeyColumn> =
            columns.iter().map(|&(ty, null_bit)| KeyColumn { kind: kind(&ty), null_bit }).collect();
        KeyLayout { form: form_of(&columns), columns, ids: Vec::new() }
    }

    /// The same, but the strings of columns that have `ids` stand in the keys by their numbers, if all keys then have a
    /// fixed width.
    pub fn numbered(columns: &[(SqlType, bool)], ids: Vec<Option<Arc<StringIds>>>) -> KeyLayout {
        let plain = KeyLayout::new(columns);
        let mut columns = plain.columns.clone();
        for (c, _) in columns.iter_mut().zip(&ids).filter(|(_, id)| id.is_some()) {
            c.kind = Kind::Id;
        }
        match form_of(&columns) {
            KeyForm::Bytes => plain,
            form => KeyLayout { columns, ids, form },
        }
    }

    /// The layout of a join's keys, whose two sides may differ in width of integers.
    pub fn of_join(columns: &[(SqlType, SqlType, bool)]) -> Result<KeyLayout> {
        let columns: Vec<(SqlType, bool)> =
            columns.iter().map(|&(a, b, null_safe)| Ok((common(a, b)?, null_safe))).collect::<Result<_>>()?;
        Ok(KeyLayout::new(&columns))
    }

    /// The same columns as byte keys, whatever they could be packed into.
    pub fn into_bytes(mut self) -> KeyLayout {
        debug_assert!(self.ids.is_empty(), "numbers are for keys of a fixed width");
        self.form = KeyForm::Bytes;
        self
    }
}

fn form_of(columns: &[KeyColumn]) -> KeyForm {
    let bits: u32 = columns
        .iter()
        .map(|c| {
            let b = match c.kind {
                Kind::Int { bits } => bits,
                Kind::F32 | Kind::Id => 32,
                Kind::F64 => 64,
                Kind::Wide128 => 128,
                Kind::Wide256 | Kind::Str(_) => 1000,
            };
            b + c.null_bit as u32
        })
        .sum();
    match bits {
        0..=64 => KeyForm::U64,
        65..=128 => KeyForm::U128,
        _ => KeyForm::Bytes,
    }
}

/// The type in which keys of types `a` and `b` compare; the planner has made them equal but for integer widths.
fn common(a: SqlType, b: SqlType) -> Result<SqlType> {
    use SqlType::*;
    Ok(match (a, b) {
        _ if a == b => a,
        (Null, x) | (x, Null) => x,
        (String { .. }, String { .. }) => {
            if a.collation() != b.collation() {
                return Err(Error::internal("join keys of two collations"));
            }
            a
        }
        (Decimal { precision: p, scale: s }, Decimal { precision: q, scale: t }) if s == t => {
            Decimal { precision: p.max(q), scale: s }
        }
        (Time { .. }, Time { .. }) | (DateTime { .. }, DateTime { .. }) | (Timestamp { .. }, Timestamp { .. }) => a,
        _ if a.is_integer() && b.is_integer() => {
            if a.is_unsigned() == b.is_unsigned() {
                if a.is_unsigned() { SqlType::BIGINT_UNSIGNED } else { SqlType::BIGINT }
            } else if matches!(a.phys(), PhysType::U64) || matches!(b.phys(), PhysType::U64) {
                // -1 and 2^64-1 share their 64 bits.
                Decimal { precision: 38, scale: 0 }
            } else {
                SqlType::BIGINT
            }
        }
        _ => return Err(Error::internal(format_args!("join keys of types {a:?} and {b:?}"))),
    })
}

fn kind(ty: &SqlType) -> Kind {
    if let SqlType::String { collation, .. } = ty {
        return Kind::Str(*collation);
    }
    match ty.phys() {
        PhysType::I8 | PhysType::U8 => Kind::Int { bits: 8 },
        PhysType::I16 | PhysType::U16 => Kind::Int { bits: 16 },
        PhysType::I32 | PhysType::U32 => Kind::Int { bits: 32 },
        PhysType::I64 | PhysType::U64 => Kind::Int { bits: 64 },
        PhysType::I128 => Kind::Wide128,
        PhysType::I256 => Kind::Wide256,
        PhysType::F32 => Kind::F32,
        PhysType::F64 => Kind::F64,
        PhysType::Str => Kind::Str(Collation::Binary),
    }
}
