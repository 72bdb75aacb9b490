//! The type that several expressions have in common: CASE, COALESCE, GREATEST, UNION, VALUES.

use types::{Collation, IntSize, SqlType, StringKind};

/// VARCHAR(len), or the smallest TEXT that holds `len` characters.
pub fn string_type(len: u32, collation: Collation) -> SqlType {
    let bytes_a_char = match collation {
        Collation::Binary | Collation::Latin1SwedishCi | Collation::Latin1Bin => 1u64,
        _ => 4,
    };
    let bytes = len as u64 * bytes_a_char;
    if bytes <= 65535 {
        SqlType::varchar(len, collation)
    } else if bytes < 1 << 24 {
        SqlType::String { kind: StringKind::MediumText, len, collation }
    } else {
        SqlType::String { kind: StringKind::LongText, len, collation }
    }
}

/// The length of a string of collation `from` under `to`: as bytes every character may take several.
pub(super) fn len_in(len: u32, from: Collation, to: Collation) -> u32 {
    if to == Collation::Binary && from != Collation::Binary {
        len.saturating_mul(from.charset().max_len())
    } else {
        len
    }
}

/// Characters that a value of the type takes when printed.
pub fn char_length_of(ty: &SqlType) -> u32 {
    let fraction = |fsp: u8| if fsp > 0 { 1 + fsp as u32 } else { 0 };
    match *ty {
        SqlType::Decimal { precision, scale } => {
            precision as u32 + (scale > 0) as u32 + 1 + (precision == scale) as u32
        }
        SqlType::String { len, .. } => len,
        _ => u32::from(ty.record().chars) + fraction(scale_of(ty)),
    }
}

/// Digits before the point of an exact numeric type.
pub(super) fn whole_digits(ty: &SqlType) -> u8 {
    match *ty {
        SqlType::Decimal { precision, scale } => precision - scale,
        _ if ty.is_integer() => ty.record().digits,
        _ => 0,
    }
}

pub(crate) fn scale_of(ty: &SqlType) -> u8 {
    match *ty {
        SqlType::Decimal { scale, .. } => scale,
        SqlType::Time { fsp } | SqlType::DateTime { fsp } | SqlType::Timestamp { fsp } => fsp,
        _ => 0,
    }
}

/// DECIMAL with these digits before and after the point, cut to what DECIMAL holds: the fraction gives way.
pub(crate) fn decimal_type(whole: u32, scale: u32) -> SqlType {
    let scale = scale.min(30).min(65u32.saturating_sub(whole));
    let precision = (whole + scale).clamp(1, 65);
    SqlType::Decimal { precision: precision as u8, scale: scale as u8 }
}

/// The type to which all of `types` convert without loss of meaning. `connection`: the collation of text made of what
/// is no text.
pub fn common_type(types: &[SqlType], connection: Collation) -> SqlType {
    let mut it = types.iter().filter(|t| **t != SqlType::Null);
    let Some(first) = it.next() else { return SqlType::Null };
    it.fold(*first, |a, b| common_of_two(a, *b, connection))
}

/// [`common_type`] for the columns of UNION: the same rules, except that an all-NULL column is a zero-length binary
/// string for clients.
pub fn union_type(types: &[SqlType], connection: Collation) -> SqlType {
    common_type(types, connection)
}

fn common_of_two(a: SqlType, b: SqlType, connection: Collation) -> SqlType {
    use SqlType::*;
    if a == b {
        return a;
    }
    match (a, b) {
        (Null, t) | (t, Null) => t,
        (String { kind: ka, len: la, collation: ca }, String { kind: kb, len: lb, collation: cb }) => {
            let collation = super::coercibility::merge(ca, cb);
            let len = len_in(la, ca, collation).max(len_in(lb, cb, collation));
            if ka == kb {
                String { kind: ka, len, collation }
            } else {
                let tier = |k| match k {
                    StringKind::Char | StringKind::VarChar => 0,
                    StringKind::TinyText => 1,
                    StringKind::Text => 2,
                    StringKind::MediumText => 3,
                    StringKind::LongText => 4,
                };
                let (kind, _) = if tier(ka) >= tier(kb) { (ka, la) } else { (kb, lb) };
                match string_type(len, collation) {
                    // CHAR with VARCHAR: VARCHAR
                    v @ String { kind: StringKind::VarChar, .. } if tier(kind) == 0 => v,
                    _ if tier(kind) > 0 => String { kind, len, collation },
                    wide => wide,
                }
            }
        }
        // Two predicates are equal types and were answered above; with integers they are INTs.
        (a, b) if a.is_integer() && b.is_integer() => common_integer(a, b),
        (a, b) if a.is_numeric() && b.is_numeric() => {
            if matches!(a, Double | Float) || matches!(b, Double | Float) {
                Double
            } else {
                let whole = whole_digits(&a).max(whole_digits(&b));
                decimal_type(whole as u32, scale_of(&a).max(scale_of(&b)) as u32)
            }
        }
        (Time { fsp: x }, Time { fsp: y }) => Time { fsp: x.max(y) },
        (Timestamp { fsp: x }, Timestamp { fsp: y }) => Timestamp { fsp: x.max(y) },
        (a, b) if a.is_temporal() && b.is_temporal() => DateTime { fsp: scale_of(&a).max(scale_of(&b)) },
        (a, b) => {
            let collation = a.collation().or(b.collation()).unwrap_or(connection);
            let len = char_length_of(&a).max(char_length_of(&b));
            match (a, b) {
                (String { kind, .. }, _) | (_, String { kind, .. })
                    if !matches!(kind, StringKind::Char | StringKind::VarChar) =>
                {
                    String { kind, len, collation }
                }
                _ => string_type(len, collation),
            }
        }
    }
}

fn common_integer(a: SqlType, b: SqlType) -> SqlType {
    let shape = |t| match t {
        SqlType::Int { size, unsigned } => (size, unsigned),
        SqlType::Year => (IntSize::I16, true),
        _ => (IntSize::I32, false),
    };
    let ((sa, ua), (sb, ub)) = (shape(a), shape(b));
    let size = sa.max(sb);
    if ua == ub {
        return SqlType::Int { size, unsigned: ua };
    }
    let unsigned_size = if ua { sa } else { sb };
    let signed_size = if ua { sb } else { sa };
    if signed_size > unsigned_size {
        return SqlType::Int { size: signed_size, unsigned: false };
    }
    let next = match unsigned_size {
        IntSize::I8 => IntSize::I16,
        IntSize::I16 => IntSize::I24,
        IntSize::I24 => IntSize::I32,
        IntSize::I32 => IntSize::I64,
        IntSize::I64 => return SqlType::Decimal { precision: 20, scale: 0 },
    };
    SqlType::Int { size: next, unsigned: false }
}
