//! Whole columns into the types of a table's columns, as far as nothing is lost or adjusted: kernels over slices.
//!
//! ```text
//!   integer, DECIMAL ─▶ integer, DECIMAL, DOUBLE    the range is looked at, then values are moved or multiplied
//!   string ─▶ string of the same character set      each length is looked at, the strings stay where they are
//!   temporal ─▶ the same with as many digits        each date is looked at, values stay
//! ```
//! What a kernel cannot do, or finds a value that does not fit, is left to the way value by value, which knows the
//! words for it ([`super::convert`]). Kernels say nothing: their answer is all or none.

use catalog::ColumnDef;
use std::sync::Arc;
use types::value::ConvertMode;
use types::{Collation, Date, DateTime, PhysType, SqlType, StringKind};
use vector::{Bounds, Chunk, Values};

/// The chunk of values of type `from` as column `c` stores them; NULLs stay. Integers may lie in a narrower array than
/// the column's. `None`: there is no kernel, or some value does not fit as it is.
pub(super) fn fitted(chunk: &Arc<Chunk>, from: &SqlType, c: &ColumnDef, mode: &ConvertMode<'_>) -> Option<Arc<Chunk>> {
    if c.float_digits.is_some() {
        return None;
    }
    match (from, &c.ty) {
        (SqlType::Int { .. } | SqlType::Bool, SqlType::Int { size, unsigned }) => {
            let (min, max) = size.range(*unsigned);
            scaled(chunk, 1, (min, max), c)
        }
        (SqlType::Int { .. } | SqlType::Bool, SqlType::Decimal { precision, scale }) => {
            scaled(chunk, power_of_ten(*scale)?, decimal_range(*precision, c)?, c)
        }
        (SqlType::Decimal { scale: before, .. }, SqlType::Decimal { precision, scale }) => {
            scaled(chunk, power_of_ten(scale.checked_sub(*before)?)?, decimal_range(*precision, c)?, c)
        }
        (SqlType::Int { .. }, SqlType::Double) => doubles(chunk, c),
        (SqlType::Double, SqlType::Double) | (SqlType::Float, SqlType::Float) => {
            (!c.unsigned || none_below_zero(chunk)).then(|| chunk.clone())
        }
        (SqlType::String { collation: given, .. }, SqlType::String { kind, len, collation }) => {
            let same_charset = (*given == Collation::Binary) == (*collation == Collation::Binary);
            (same_charset && strings_fit(chunk, *kind, *len as usize, *collation)).then(|| chunk.clone())
        }
        (SqlType::Date, SqlType::Date) => {
            let admits = |v: i64| mode.temporal.admits(Date(v as i32)).is_ok();
            all_ints(chunk, admits).then(|| chunk.clone())
        }
        (SqlType::DateTime { fsp: before }, SqlType::DateTime { fsp }) if before <= fsp => {
            let admits = |v: i64| mode.temporal.admits(DateTime(v).date()).is_ok();
            all_ints(chunk, admits).then(|| chunk.clone())
        }
        (SqlType::Timestamp { fsp: before }, SqlType::Timestamp { fsp })
        | (SqlType::Time { fsp: before }, SqlType::Time { fsp })
            if before <= fsp =>
        {
            Some(chunk.clone())
        }
        _ => None,
    }
}

fn power_of_ten(n: u8) -> Option<i64> {
    10i64.checked_pow(n.into())
}

/// The unscaled values that a DECIMAL column takes; `None`: there are more than 128 bits hold.
fn decimal_range(precision: u8, c: &ColumnDef) -> Option<(i128, i128)> {
    let max = 10i128.checked_pow(precision.into())? - 1;
    Some((if c.unsigned { 0 } else { -max }, max))
}

/// Integers, or scaled ones, multiplied by `factor`; all results lie in `range`, which the column's array has room for.
fn scaled(chunk: &Arc<Chunk>, factor: i64, range: (i128, i128), c: &ColumnDef) -> Option<Arc<Chunk>> {
    let to = c.ty.phys();
    let fits = |v: i64| (range.0..=range.1).contains(&(i128::from(v) * i128::from(factor)));
    let fit = |b: Bounds| fits(b.min) && fits(b.max);
    if let Values::I128(values) = &chunk.values {
        let fits = |i: usize| !chunk.is_valid(i) || (range.0..=range.1).contains(&values[i]);
        let same = factor == 1 && to == PhysType::I128;
        return (same && (0..values.len()).all(fits)).then(|| chunk.clone());
    }
    // What the chunk says of itself may be wider than its values.
    let bounds = chunk.bounds.filter(|b| fit(*b)).or_else(|| chunk.values.int_bounds(chunk.validity.as_ref()))?;
    if !fit(bounds) {
        return None;
    }
    let own = chunk.values.phys();
    if factor == 1 && (own == to || vector::is_narrower(own, to)) {
        return Some(chunk.clone());
    }
    let values = if factor == 1 { chunk.values.carried(to)? } else { multiplied(&chunk.values, factor, to)? };
    Some(Arc::new(Chunk::new(values, chunk.validity.clone())))
}

/// Values at NULL positions may be anything.
fn multiplied(values: &Values, factor: i64, to: PhysType) -> Option<Values> {
    let Values::I64(mut wide) = values.carried(PhysType::I64)? else { return None };
    match to {
        PhysType::I64 => {
            wide.iter_mut().for_each(|v| *v = v.wrapping_mul(factor));
            Some(Values::I64(wide))
        }
        PhysType::I128 => Some(Values::I128(wide.iter().map(|&v| i128::from(v) * i128::from(factor)).collect())),
        _ => None,
    }
}

fn doubles(chunk: &Arc<Chunk>, c: &ColumnDef) -> Option<Arc<Chunk>> {
    macro_rules! each {
        ($($p:ident)*) => {
            match &chunk.values {
                $(Values::$p(v) => v.iter().map(|&x| x as f64).collect(),)*
                _ => return None,
            }
        };
    }
    let values: Vec<f64> = each!(I8 U8 I16 U16 I32 U32 I64 U64);
    let chunk = Arc::new(Chunk::new(Values::F64(values), chunk.validity.clone()));
    (!c.unsigned || none_below_zero(&chunk)).then_some(chunk)
}

fn none_below_zero(chunk: &Chunk) -> bool {
    match &chunk.values {
        Values::F64(v) => (0..v.len()).all(|i| !chunk.is_valid(i) || v[i] >= 0.0),
        Values::F32(v) => (0..v.len()).all(|i| !chunk.is_valid(i) || v[i] >= 0.0),
        _ => false,
    }
}

fn all_ints(chunk: &Chunk, is: impl Fn(i64) -> bool) -> bool {
    let at = |i: usize| !chunk.is_valid(i) || chunk.values.int_at(i).is_some_and(&is);
    (0..chunk.len()).all(at)
}

fn strings_fit(chunk: &Chunk, kind: StringKind, len: usize, collation: Collation) -> bool {
    let fits = |bytes: &[u8]| string_fits(bytes, kind, len, collation);
    match &chunk.values {
        // A dictionary is mostly shorter than the chunk; it may have strings that no row has, which are no harm.
        Values::Dict(d) if d.dict.strings.views.len() < chunk.len() => {
            (0..d.dict.strings.views.len()).all(|code| fits(d.dict.strings.bytes(code)))
        }
        values @ (Values::Dict(_) | Values::Str(_)) => {
            (0..chunk.len()).all(|i| !chunk.is_valid(i) || fits(values.str_bytes(i)))
        }
        _ => false,
    }
}

fn string_fits(bytes: &[u8], kind: StringKind, len: usize, collation: Collation) -> bool {
    let is_char = kind == StringKind::Char;
    if collation == Collation::Binary {
        return if is_char { bytes.len() == len } else { bytes.len() <= len };
    }
    // The TEXT tiers count bytes, others characters.
    let counts_chars = matches!(kind, StringKind::Char | StringKind::VarChar);
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let is_short = bytes.len() <= len || counts_chars && text.chars().count() <= len;
    is_short && !(is_char && bytes.last() == Some(&b' '))
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::IntSize;
    use vector::Bitmap;

    fn column(ty: SqlType, unsigned: bool) -> ColumnDef {
        ColumnDef { unsigned, ..ColumnDef::plain("c", ty, true) }
    }

    #[test]
    fn integers_go_where_they_fit() {
        let zone = types::temporal::TimeZone::Utc;
        let temporal = types::temporal::TemporalMode::default();
        let mode = ConvertMode { strict: true, temporal, zone: &zone, today: Date::default() };
        let int = |size, unsigned| SqlType::Int { size, unsigned };
        let to = |chunk: &Arc<Chunk>, c: &ColumnDef| fitted(chunk, &SqlType::BIGINT, c, &mode);
        let (tiny, utiny) = (column(int(IntSize::I8, false), false), column(int(IntSize::I8, true), true));
        let mut valid = Bitmap::ones(3);
        valid.set(2, false);
        let given = Arc::new(Chunk::new(Values::I64(vec![0, 255, 300]), Some(valid)));
        let as_u8 = to(&given, &utiny).expect("what is not NULL fits");
        assert!(matches!(&as_u8.values, Values::U8(v) if v[..2] == [0, 255]));
        assert_eq!((as_u8.is_valid(1), as_u8.is_valid(2)), (true, false));
        assert!(to(&given, &tiny).is_none());
        assert!(to(&Arc::new(Chunk::new(Values::I64(vec![0, 300]), None)), &utiny).is_none());
        assert!(to(&Arc::new(Chunk::new(Values::I64(vec![0, -1]), None)), &utiny).is_none());
        let decimal = column(SqlType::Decimal { precision: 4, scale: 2 }, false);
        let scaled = to(&Arc::new(Chunk::new(Values::I16(vec![99, -99]), None)), &decimal).expect("two digits fit");
        assert!(matches!(&scaled.values, Values::I64(v) if *v == [9900, -9900]));
        assert!(to(&Arc::new(Chunk::new(Values::I16(vec![100]), None)), &decimal).is_none());
    }

    #[test]
    fn strings_are_measured_as_their_types_do() {
        let text = Collation::Utf8mb4_0900AiCi;
        assert!(string_fits("äöü".as_bytes(), StringKind::VarChar, 3, text));
        assert!(!string_fits("äöü".as_bytes(), StringKind::TinyText, 3, text));
        assert!(!string_fits(b"ab ", StringKind::Char, 3, text));
        assert!(string_fits(b"ab ", StringKind::VarChar, 3, text));
        assert!(!string_fits(b"ab", StringKind::Char, 3, Collation::Binary));
        assert!(!string_fits(b"\xff", StringKind::VarChar, 3, text));
        assert!(string_fits(b"\xff", StringKind::VarChar, 3, Collation::Binary));
    }
}
