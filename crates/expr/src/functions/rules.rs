//! Rules for the types of results that several functions share.

use super::record::{Record, Ret};
use crate::build::{char_length_of, string_type};
use crate::{Expr, ExprKind};
use types::{Collation, Error, Locale, Result, SqlType, StringKind, Value};

/// The arguments of a call that is being built, converted already.
pub(crate) struct Arguments<'a> {
    pub args: &'a [Expr],
    /// `collation_connection`
    pub connection: Collation,
    pub name: &'static str,
}

impl Arguments<'_> {
    /// The collation of the string arguments, which share one.
    pub fn strings(&self) -> Collation {
        self.args.iter().find_map(|a| a.ty.collation()).unwrap_or(self.connection)
    }

    /// Characters of all string arguments.
    fn total(&self) -> u64 {
        self.args.iter().map(|a| if a.ty.is_string() { char_length_of(&a.ty) as u64 } else { 0 }).sum()
    }

    /// The type of the first argument.
    pub fn first(&self) -> SqlType {
        self.args.first().map_or(SqlType::Null, |a| a.ty)
    }

    /// Characters of an argument.
    pub fn len(&self, k: usize) -> u32 {
        self.args.get(k).map_or(0, |a| char_length_of(&a.ty))
    }

    /// The value of an argument that is a constant integer.
    pub fn int(&self, k: usize) -> Option<i64> {
        const_int(self.args.get(k))
    }

    /// Text of so many characters in the connection's collation.
    pub fn text(&self, len: u32) -> SqlType {
        string_type(len, self.connection)
    }

    /// The most fractional digits of an argument.
    pub fn fsp(&self) -> u8 {
        self.args.iter().map(fsp_of).max().unwrap_or(0)
    }
}

fn const_int(e: Option<&Expr>) -> Option<i64> {
    match e?.as_const()? {
        Value::Int(v) => Some(*v),
        Value::UInt(v) => i64::try_from(*v).ok(),
        _ => None,
    }
}

/// Fractional digits of an argument that becomes temporal.
pub(crate) fn fsp_of(e: &Expr) -> u8 {
    match (&e.ty, e.as_const()) {
        (t, _) if t.is_temporal() => crate::build::scale_of(t),
        (SqlType::String { .. }, Some(Value::Bytes(b))) => crate::build::fraction_digits(&String::from_utf8_lossy(b)),
        (SqlType::String { .. } | SqlType::Double | SqlType::Float, _) => 6,
        (t, _) => crate::build::scale_of(t).min(6),
    }
}

/// The type of a call's result; `common` is that of its `c` arguments.
pub(crate) fn result_type(record: &Record, a: &Arguments, common: Option<SqlType>, locale: &Locale) -> Result<SqlType> {
    Ok(match record.ret {
        Ret::Int => SqlType::BIGINT,
        Ret::UInt => SqlType::BIGINT_UNSIGNED,
        Ret::Bool => SqlType::Bool,
        Ret::Double => SqlType::Double,
        Ret::Text(n) => SqlType::varchar(n, a.connection),
        Ret::Word(longest) => SqlType::varchar(longest(locale), a.connection),
        Ret::Joined => joined(a, 0),
        Ret::First => like_first(a, None),
        Ret::Long => long(a, None),
        Ret::Bytes(n) => SqlType::varchar(n, Collation::Binary),
        Ret::Date => SqlType::Date,
        Ret::NowTime => SqlType::Time { fsp: asked_fsp(a)? },
        Ret::NowDateTime => SqlType::DateTime { fsp: asked_fsp(a)? },
        Ret::Common => common.ok_or_else(|| Error::internal("a common type of no arguments"))?,
        Ret::By(rule) => rule(a)?,
        Ret::Built => return Err(Error::internal(format_args!("no result type for {record:?}"))),
    })
}

/// Fractional digits that a constant asks for.
fn asked_fsp(a: &Arguments) -> Result<u8> {
    match a.int(0).unwrap_or(0) {
        fsp @ 0..=6 => Ok(fsp as u8),
        fsp => Err(Error::too_big_precision(fsp, a.name.to_ascii_lowercase(), 6)),
    }
}

/// As long as all strings together, and `more` characters.
pub(super) fn joined(a: &Arguments, more: u64) -> SqlType {
    string_type((a.total() + more).min(u32::MAX as u64) as u32, a.strings())
}

/// Like the first argument; `kept` characters of it, if that is known.
pub(super) fn like_first(a: &Arguments, kept: Option<i64>) -> SqlType {
    let len = a.len(0);
    let len = kept.map_or(len, |k| len.min(k.clamp(0, u32::MAX as i64) as u32));
    match a.first() {
        SqlType::String { kind, collation, .. }
            if kept.is_none() && !matches!(kind, StringKind::Char | StringKind::VarChar) =>
        {
            SqlType::String { kind, len, collation }
        }
        _ => string_type(len, a.strings()),
    }
}

/// Of `len` characters, if that is known and not too much.
pub(super) fn long(a: &Arguments, len: Option<u64>) -> SqlType {
    match len {
        Some(n) if n < 1 << 22 => string_type(n as u32, a.strings()),
        _ => SqlType::String { kind: StringKind::LongText, len: u32::MAX / 4, collation: a.strings() },
    }
}

/// An integer's type grown to BIGINT.
pub(super) fn widened(t: SqlType) -> SqlType {
    if t.is_unsigned() { SqlType::BIGINT_UNSIGNED } else { SqlType::BIGINT }
}

/// 3995: a binary string is matched with a pattern of characters, or the other way round.
pub(super) fn check_charsets(args: &[Expr], name: &str) -> Result<()> {
    let of = |e: &Expr| e.ty.collation().filter(|_| !matches!(e.kind, ExprKind::Const(Value::Null)));
    match (of(&args[0]), of(&args[1])) {
        (Some(a), Some(b)) if (a == Collation::Binary) != (b == Collation::Binary) => {
            Err(Error::character_set_mismatch(a.name(), b.name(), name))
        }
        _ => Ok(()),
    }
}

/// Puts `f` of an argument in its place.
pub(super) fn replace(slot: &mut Expr, f: impl FnOnce(Expr) -> Expr) {
    let null = Expr::constant(Value::Null, SqlType::Null);
    *slot = f(std::mem::replace(slot, null));
}
