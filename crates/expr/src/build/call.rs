//! Function calls: by name, with MySQL's argument conversions and result types.

use super::arith::{decimal_shape, is_bytes, numeric, scalar};
use super::common::{decimal_type, len_in, scale_of};
use super::digits::{of_all_digits, unrounded};
use super::logic::common_result;
use super::{aggregate_collations, char_length_of, implicit_cast, string_type};
use crate::functions::{MAY_NULL, NOT_YET, Ret, SEES_NULL, SIGNATURES, TrimSide};
use crate::{ArithOp, Expr, ExprKind, Function, SessionInfo};
use types::locale::longest;
use types::{Collation, Error, IntSize, Result, SqlType, StringKind, Value};

/// `name(args)`. 1582 for a wrong number of arguments, 1235 for a function of MySQL's that is not here yet, 1305 for
/// any other name.
pub fn function(name: &str, mut args: Vec<Expr>, session: &SessionInfo) -> Result<Expr> {
    let upper = name.to_ascii_uppercase();
    let connection = session.collation_connection;
    for a in &args {
        scalar(a)?;
    }
    let wrong_count = || Error::wrong_paramcount_to_native_fct(name);
    let exactly = |n: usize| if args.len() == n { Ok(()) } else { Err(wrong_count()) };
    let mut next = {
        let mut it = std::mem::take(&mut args.clone()).into_iter();
        move || it.next().expect("the count was checked")
    };
    match upper.as_str() {
        "IF" => {
            exactly(3)?;
            return super::if_(next(), next(), next(), connection);
        }
        "NULLIF" => {
            exactly(2)?;
            return super::nullif(next(), next());
        }
        "IFNULL" => {
            exactly(2)?;
            return ifnull(next(), next(), connection);
        }
        "ISNULL" => {
            exactly(1)?;
            return super::is_null(next(), false);
        }
        "MOD" => {
            exactly(2)?;
            return super::arith(ArithOp::Mod, next(), next(), session);
        }
        "LIKE" => {
            exactly(2)?;
            return super::like(next(), next(), Some('\\'), false, connection);
        }
        "NAME_CONST" => {
            exactly(2)?;
            next();
            return Ok(next());
        }
        "DATE" => {
            exactly(1)?;
            return super::cast(next(), SqlType::Date, false);
        }
        "TIME" => {
            exactly(1)?;
            let e = next();
            let fsp = fsp_of(&e);
            return super::cast(e, SqlType::Time { fsp }, false);
        }
        "ADDDATE" | "SUBDATE" => {
            exactly(2)?;
            return super::date_add(next(), next(), crate::IntervalUnit::Day, upper == "SUBDATE", connection);
        }
        "TRIM" => {
            exactly(1)?;
            return trim(next(), TrimSide::Both, None, connection);
        }
        "VALUES" => return Err(Error::internal("VALUES() is the binder's")),
        _ => {}
    }
    let Some(signature) = SIGNATURES.iter().find(|s| s.names.contains(&upper.as_str())) else {
        if NOT_YET.contains(&upper.as_str()) || upper.starts_with("ST_") {
            return Err(Error::not_supported(format_args!("function {upper}")));
        }
        let db = session.database.as_deref();
        return Err(match db {
            Some(db) => Error::sp_does_not_exist("FUNCTION", format_args!("{db}.{name}")),
            None => Error::sp_does_not_exist("FUNCTION", name),
        });
    };
    if upper == "LAST_INSERT_ID" && args.len() == 1 {
        // The session looks at the variable when the statement ends.
        let expr = Box::new(super::implicit_cast(next(), SqlType::BIGINT_UNSIGNED));
        let nullable = expr.nullable;
        let kind = ExprKind::SetUserVar { name: crate::context::LAST_INSERT_ID.into(), expr };
        return Ok(Expr::new(kind, SqlType::BIGINT_UNSIGNED, nullable));
    }
    if args.len() < signature.min || args.len() > signature.max || (upper == "ATAN2" && args.len() != 2) {
        return Err(wrong_count());
    }
    if signature.function == Function::Instr {
        args.swap(0, 1);
        return build(Function::Locate, args, connection);
    }
    let mut call = build(signature.function, args, connection)?;
    // As long as the longest name of the session's locale.
    match signature.function {
        Function::Dayname => call.ty = SqlType::varchar(longest(&session.locale.days), connection),
        Function::Monthname => call.ty = SqlType::varchar(longest(&session.locale.months), connection),
        _ => {}
    }
    Ok(call)
}

/// A call of a function with a signature; arguments are counted already.
pub(super) fn build(function: Function, args: Vec<Expr>, connection: Collation) -> Result<Expr> {
    let mut args = args;
    if function == Function::Format
        && let Some(number) = args.first_mut()
    {
        replace(number, unrounded);
    }
    of_all_digits(args, |args| call(function, args, connection))
}

fn call(function: Function, args: Vec<Expr>, connection: Collation) -> Result<Expr> {
    let signature = function.signature().ok_or_else(|| Error::internal("a function without a signature"))?;
    let letters = signature.args.as_bytes();
    let common = if letters.contains(&b'c') {
        let all: Vec<&Expr> = args.iter().collect();
        Some(common_result(&all, &signature.names[0].to_ascii_lowercase(), connection)?)
    } else {
        None
    };
    let mut args: Vec<Expr> = args
        .into_iter()
        .enumerate()
        .map(|(i, e)| convert(e, letters.get(i).or(letters.last()).copied().unwrap_or(b'*'), common, connection))
        .collect();
    special_arguments(function, &mut args, connection);
    check_regexp_charsets(function, &args)?;
    share_collation(signature.names[0], &mut args)?;
    if let Some(constant) = answered_by_type(function, &args, connection) {
        return Ok(constant);
    }
    if function == Function::TimestampOf && args.len() == 1 {
        let ty = custom_type(function, &args, connection, connection)?;
        let one = args.pop().expect("one argument");
        return Ok(implicit_cast(one, ty));
    }
    let ty = match common {
        Some(ty) if matches!(function, Function::Greatest | Function::Least | Function::Coalesce) => ty,
        _ => result_type(function, signature.ret, &args, connection)?,
    };
    let sees_null = signature.flags & SEES_NULL != 0;
    let nullable = match function {
        Function::Coalesce => args.iter().all(|a| a.nullable),
        Function::ConcatWs => args[0].nullable,
        Function::Charset | Function::CollationOf | Function::Coercibility | Function::Interval | Function::Field => {
            false
        }
        Function::Quote | Function::Char | Function::Rand => false,
        _ => signature.flags & MAY_NULL != 0 || (!sees_null && args.iter().any(|a| a.nullable)),
    };
    Ok(Expr::new(ExprKind::Call { function, args }, ty, nullable))
}

/// 3995: a binary string is matched with a pattern of characters, or the other way round.
fn check_regexp_charsets(function: Function, args: &[Expr]) -> Result<()> {
    use Function::*;
    if !matches!(function, RegexpLike | RegexpInstr | RegexpSubstr | RegexpReplace) {
        return Ok(());
    }
    let of = |e: &Expr| e.ty.collation().filter(|_| !matches!(e.kind, ExprKind::Const(Value::Null)));
    match (of(&args[0]), of(&args[1])) {
        (Some(a), Some(b)) if (a == Collation::Binary) != (b == Collation::Binary) => {
            let name = function.name().to_ascii_lowercase();
            Err(Error::character_set_mismatch(a.name(), b.name(), name))
        }
        _ => Ok(()),
    }
}

fn replace(slot: &mut Expr, f: impl FnOnce(Expr) -> Expr) {
    let null = Expr::constant(Value::Null, SqlType::Null);
    *slot = f(std::mem::replace(slot, null));
}

/// Conversions that depend on more than the argument's place.
fn special_arguments(function: Function, args: &mut [Expr], connection: Collation) {
    let as_datetime = |e: Expr| match e.ty {
        SqlType::DateTime { .. } => e,
        _ => {
            let fsp = fsp_of(&e);
            implicit_cast(e, SqlType::DateTime { fsp })
        }
    };
    // Strings are read as whatever they look like, row by row.
    let moment = |e: Expr| match e.ty {
        SqlType::Time { .. } | SqlType::Date | SqlType::DateTime { .. } | SqlType::String { .. } => e,
        SqlType::Timestamp { fsp } => implicit_cast(e, SqlType::DateTime { fsp }),
        _ => implicit_cast(e, SqlType::Time { fsp: 6 }),
    };
    let as_time = |e: Expr| match e.ty {
        SqlType::Time { .. } => e,
        _ => {
            let fsp = fsp_of(&e);
            implicit_cast(e, SqlType::Time { fsp })
        }
    };
    match function {
        Function::BitCount if !is_bytes(&args[0]) => {
            replace(&mut args[0], super::arith::bits_operand);
        }
        Function::Hex => replace(&mut args[0], |e| if e.ty.is_numeric() { e } else { to_string(e, connection) }),
        Function::Field => {
            let strings = args.iter().all(|a| a.ty.is_string() || a.ty.is_temporal() || a.ty == SqlType::Null);
            let exact = |t: &SqlType| t.is_integer() || matches!(t, SqlType::Decimal { .. });
            if strings {
                args.iter_mut().for_each(|a| replace(a, |e| to_string(e, connection)));
            } else if !args.iter().all(|a| exact(&a.ty) || a.ty == SqlType::Null) {
                args.iter_mut().for_each(|a| replace(a, |e| implicit_cast(e, SqlType::Double)));
            }
        }
        Function::UnixTimestamp if !args.is_empty() => {
            replace(&mut args[0], |e| if matches!(e.ty, SqlType::Timestamp { .. }) { e } else { as_datetime(e) });
        }
        Function::Timediff => args.iter_mut().for_each(|a| replace(a, moment)),
        Function::Addtime | Function::Subtime => {
            replace(&mut args[0], moment);
            replace(&mut args[1], as_time);
        }
        Function::TimestampOf if args.len() == 2 => {
            replace(&mut args[0], as_datetime);
            replace(&mut args[1], as_time);
        }
        Function::Interval if args.iter().any(|a| matches!(a.ty, SqlType::Double | SqlType::Float)) => {
            args.iter_mut().for_each(|a| replace(a, |e| implicit_cast(e, SqlType::Double)));
        }
        _ => {}
    }
}

/// CHARSET, COLLATION and COERCIBILITY depend on types alone.
fn answered_by_type(function: Function, args: &[Expr], connection: Collation) -> Option<Expr> {
    let e = args.first()?;
    let collation = e.ty.collation().unwrap_or(Collation::Binary);
    match function {
        Function::Charset => Some(super::string(collation.charset().name().as_bytes(), connection)),
        Function::CollationOf => Some(super::string(collation.name().as_bytes(), connection)),
        Function::Coercibility => Some(super::integer(super::coercibility(e) as u64)),
        _ => None,
    }
}

/// All string arguments in one collation, where the function joins or compares them.
fn share_collation(name: &str, args: &mut [Expr]) -> Result<()> {
    if matches!(
        name,
        "CONVERT USING"
            | "COLLATE"
            | "CHARSET"
            | "COLLATION"
            | "COERCIBILITY"
            | "DATE_FORMAT"
            | "TIME_FORMAT"
            | "CONVERT_TZ"
            | "HEX"
    ) {
        return Ok(());
    }
    let refs: Vec<&Expr> = args.iter().collect();
    if refs.iter().filter(|e| e.ty.is_string()).count() < 2 {
        return Ok(());
    }
    let Some(c) = aggregate_collations(&refs, &name.to_ascii_lowercase())? else { return Ok(()) };
    for e in args {
        if let SqlType::String { kind, len, collation } = e.ty
            && collation != c
        {
            let len = match e.as_const() {
                Some(Value::Bytes(b)) if c == Collation::Binary => b.len() as u32,
                _ => len_in(len, collation, c),
            };
            let null = Expr::constant(Value::Null, SqlType::Null);
            *e = implicit_cast(std::mem::replace(e, null), SqlType::String { kind, len, collation: c });
        }
    }
    Ok(())
}

/// Any expression as a string.
pub(super) fn to_string(e: Expr, connection: Collation) -> Expr {
    match e.ty {
        SqlType::String { .. } => super::plain(e),
        t => {
            let ty = string_type(char_length_of(&t), connection);
            implicit_cast(e, ty)
        }
    }
}

fn convert(e: Expr, letter: u8, common: Option<SqlType>, connection: Collation) -> Expr {
    match letter {
        b's' => to_string(e, connection),
        b'p' if e.ty == SqlType::BIGINT_UNSIGNED => e,
        b'i' | b'p' => match e.ty {
            SqlType::Int { unsigned: false, .. } | SqlType::Bool | SqlType::Year => e,
            SqlType::Int { unsigned: true, size } if size < IntSize::I64 => e,
            _ => implicit_cast(e, SqlType::BIGINT),
        },
        b'u' => implicit_cast(e, SqlType::BIGINT_UNSIGNED),
        b'd' => implicit_cast(e, SqlType::Double),
        b'n' => numeric(e),
        b'e' => match e.ty {
            SqlType::Date | SqlType::DateTime { .. } => e,
            SqlType::Timestamp { fsp } | SqlType::Time { fsp } => implicit_cast(e, SqlType::DateTime { fsp }),
            _ => {
                let fsp = fsp_of(&e);
                implicit_cast(e, SqlType::DateTime { fsp })
            }
        },
        b'T' => match e.ty {
            SqlType::Time { .. } => e,
            SqlType::DateTime { fsp } | SqlType::Timestamp { fsp } => implicit_cast(e, SqlType::Time { fsp }),
            SqlType::Date => implicit_cast(e, SqlType::Time { fsp: 0 }),
            _ => implicit_cast(e, SqlType::Time { fsp: 6 }),
        },
        b'c' => match common {
            Some(ty) => implicit_cast(e, ty),
            None => e,
        },
        _ => e,
    }
}

/// Fractional digits of an argument that becomes temporal.
fn fsp_of(e: &Expr) -> u8 {
    match (&e.ty, e.as_const()) {
        (t, _) if t.is_temporal() => scale_of(t),
        (SqlType::String { .. }, Some(Value::Bytes(b))) => {
            super::temporal::fraction_digits(&String::from_utf8_lossy(b))
        }
        (SqlType::String { .. } | SqlType::Double | SqlType::Float, _) => 6,
        (t, _) => scale_of(t).min(6),
    }
}

fn const_int(e: Option<&Expr>) -> Option<i64> {
    match e?.as_const()? {
        Value::Int(v) => Some(*v),
        Value::UInt(v) => i64::try_from(*v).ok(),
        _ => None,
    }
}

fn result_type(function: Function, ret: Ret, args: &[Expr], connection: Collation) -> Result<SqlType> {
    let strings = || args.iter().find_map(|a| a.ty.collation()).unwrap_or(connection);
    let total = || args.iter().map(|a| if a.ty.is_string() { char_length_of(&a.ty) as u64 } else { 0 }).sum::<u64>();
    let fsp = || const_int(args.first()).unwrap_or(0);
    Ok(match ret {
        Ret::Int => SqlType::BIGINT,
        Ret::UInt => SqlType::BIGINT_UNSIGNED,
        Ret::Bool => SqlType::Bool,
        Ret::Double => SqlType::Double,
        Ret::Text(n) => SqlType::varchar(n, connection),
        Ret::Joined => {
            let separators = if function == Function::ConcatWs {
                char_length_of(&args[0].ty) as u64 * (args.len() as u64).saturating_sub(2)
            } else {
                0
            };
            string_type((total() + separators).min(u32::MAX as u64) as u32, strings())
        }
        Ret::First => {
            let len = char_length_of(&args[0].ty);
            let kept = match function {
                Function::Left | Function::Right => const_int(args.get(1)),
                Function::Substring => const_int(args.get(2)),
                _ => None,
            };
            let len = kept.map_or(len, |k| len.min(k.clamp(0, u32::MAX as i64) as u32));
            match args[0].ty {
                SqlType::String { kind, collation, .. }
                    if kept.is_none() && !matches!(kind, StringKind::Char | StringKind::VarChar) =>
                {
                    SqlType::String { kind, len, collation }
                }
                _ => string_type(len, strings()),
            }
        }
        Ret::Long => {
            let len = match function {
                Function::Lpad | Function::Rpad => const_int(args.get(1)).map(|n| n.max(0) as u64),
                Function::Repeat => {
                    const_int(args.get(1)).map(|n| (n.max(0) as u64).saturating_mul(char_length_of(&args[0].ty) as u64))
                }
                // Each piece of the length of the second argument may become the third.
                Function::Replace => {
                    let len = |k: usize| char_length_of(&args[k].ty) as u64;
                    let piece = if args[1].as_const().is_some() { len(1) } else { 1 };
                    Some(match len(0).checked_div(piece) {
                        Some(pieces) => len(0).saturating_add(pieces.saturating_mul(len(2).saturating_sub(piece))),
                        None => len(0),
                    })
                }
                Function::Space => const_int(args.first()).map(|n| n.max(0) as u64),
                _ => None,
            };
            match len {
                Some(n) if n < 1 << 22 => string_type(n as u32, strings()),
                _ => SqlType::String { kind: StringKind::LongText, len: u32::MAX / 4, collation: strings() },
            }
        }
        Ret::Bytes(n) => SqlType::varchar(n, Collation::Binary),
        Ret::Date => SqlType::Date,
        Ret::NowTime | Ret::NowDateTime => {
            let fsp = fsp();
            if !(0..=6).contains(&fsp) {
                return Err(Error::too_big_precision(fsp, function.name().to_ascii_lowercase(), 6));
            }
            match ret {
                Ret::NowTime => SqlType::Time { fsp: fsp as u8 },
                _ => SqlType::DateTime { fsp: fsp as u8 },
            }
        }
        Ret::Custom => custom_type(function, args, strings(), connection)?,
    })
}

fn custom_type(function: Function, args: &[Expr], strings: Collation, connection: Collation) -> Result<SqlType> {
    use Function::*;
    let first = args.first().map_or(SqlType::Null, |a| a.ty);
    let first_len = char_length_of(&first);
    let text = |n: u32| string_type(n, connection);
    Ok(match function {
        Char => SqlType::varchar(4 * args.len() as u32, Collation::Binary),
        Hex => text(if first.is_string() {
            first_len.saturating_mul(2 * if first.collation() == Some(Collation::Binary) { 1 } else { 4 })
        } else {
            16
        }),
        Unhex | FromBase64 => string_type(first_len.saturating_mul(4), Collation::Binary),
        ToBase64 => text(first_len.saturating_mul(6).saturating_add(64)),
        Field | Interval => SqlType::BIGINT,
        Strcmp => SqlType::BIGINT,
        Elt => string_type(args[1..].iter().map(|a| char_length_of(&a.ty)).max().unwrap_or(0), strings),
        MakeSet => string_type(args[1..].iter().map(|a| char_length_of(&a.ty).saturating_add(1)).sum(), strings),
        Quote => string_type(first_len.saturating_mul(2).saturating_add(2), strings),
        Soundex => string_type(first_len.max(4), strings),
        WeightString => string_type(first_len.saturating_mul(16), Collation::Binary),
        Abs => match first {
            t if t.is_integer() => SqlType::Int { size: IntSize::I64, unsigned: t.is_unsigned() },
            t => t,
        },
        Ceil | Floor => match first {
            t if t.is_integer() => SqlType::Int { size: IntSize::I64, unsigned: t.is_unsigned() },
            SqlType::Decimal { precision, scale } if precision - scale <= 18 => SqlType::BIGINT,
            SqlType::Decimal { precision, scale } => decimal_type((precision - scale + 1) as u32, 0),
            _ => SqlType::Double,
        },
        Round | Truncate => match first {
            t if t.is_integer() => SqlType::Int { size: IntSize::I64, unsigned: t.is_unsigned() },
            SqlType::Decimal { precision, scale } => {
                match if args.len() == 1 { Some(0) } else { const_int(args.get(1)) } {
                    Some(d) => {
                        let to = d.clamp(0, 30) as u32;
                        let carry = (function == Round && (to as u8) < scale) as u32;
                        decimal_type((precision - scale) as u32 + carry, to)
                    }
                    None => first,
                }
            }
            _ => SqlType::Double,
        },
        Timediff => SqlType::Time { fsp: args.iter().map(fsp_of).max().unwrap_or(0) },
        Addtime | Subtime => {
            let fsp = args.iter().map(fsp_of).max().unwrap_or(0);
            match first {
                SqlType::Time { .. } => SqlType::Time { fsp },
                t if t.is_temporal() => SqlType::DateTime { fsp },
                _ => SqlType::varchar(29, connection),
            }
        }
        TimestampOf => SqlType::DateTime { fsp: args.iter().map(fsp_of).max().unwrap_or(0) },
        DateFormat | TimeFormat => text(char_length_of(&args[1].ty).saturating_mul(16).min(1 << 12)),
        StrToDate => match args[1].as_const() {
            Some(Value::Bytes(b)) => format_type(b),
            _ => SqlType::DateTime { fsp: 6 },
        },
        FromUnixtime if args.len() == 1 => SqlType::DateTime { fsp: fsp_of(&args[0]) },
        FromUnixtime => text(char_length_of(&args[1].ty).saturating_mul(16).min(1 << 12)),
        UnixTimestamp => match args.first() {
            None => SqlType::BIGINT,
            Some(e) => match fsp_of(e) {
                0 => SqlType::BIGINT,
                fsp => SqlType::Decimal { precision: 12 + fsp, scale: fsp },
            },
        },
        Maketime => SqlType::Time { fsp: fsp_of(&args[2]) },
        SecToTime => SqlType::Time { fsp: fsp_of(&args[0]) },
        ConvertTz => SqlType::DateTime { fsp: fsp_of(&args[0]) },
        other => return Err(Error::internal(format_args!("no result type for {other:?}"))),
    })
}

/// What STR_TO_DATE with this format yields.
fn format_type(format: &[u8]) -> SqlType {
    use types::temporal::str_to_date::{StrToDateKind, str_to_date_kind};
    match str_to_date_kind(format) {
        StrToDateKind::Date => SqlType::Date,
        StrToDateKind::Time { fsp } => SqlType::Time { fsp },
        StrToDateKind::DateTime { fsp } => SqlType::DateTime { fsp },
    }
}

/// `COALESCE(args)`: the first that is not NULL; later ones are evaluated only where earlier ones are NULL.
pub fn coalesce(args: Vec<Expr>, connection: Collation) -> Result<Expr> {
    if args.is_empty() {
        return Err(Error::wrong_paramcount_to_native_fct("COALESCE"));
    }
    for a in &args {
        scalar(a)?;
    }
    build(Function::Coalesce, args, connection)
}

/// `IFNULL(a, b)`
pub fn ifnull(a: Expr, b: Expr, connection: Collation) -> Result<Expr> {
    coalesce(vec![a, b], connection)
}

/// `TRIM([side] [what FROM] e)`
pub fn trim(e: Expr, side: TrimSide, what: Option<Expr>, connection: Collation) -> Result<Expr> {
    scalar(&e)?;
    let e = to_string(e, connection);
    let collation = e.ty.collation().unwrap_or(connection);
    let what = match what {
        Some(w) => {
            scalar(&w)?;
            to_string(w, connection)
        }
        None => super::string(b" ", collation),
    };
    let mut args = vec![e, what];
    share_collation("TRIM", &mut args)?;
    let ty = result_type(Function::Lower, Ret::First, &args, connection)?;
    let nullable = args.iter().any(|a| a.nullable);
    Ok(Expr::new(ExprKind::Call { function: Function::Trim(side), args }, ty, nullable))
}

/// `CONVERT(e USING charset)`; `collation` is the default one of the character set.
pub fn convert_using(e: Expr, collation: Collation) -> Result<Expr> {
    scalar(&e)?;
    let e = to_string(e, collation);
    let SqlType::String { kind, len, collation: from } = e.ty else {
        return Err(Error::internal("to_string yields strings"));
    };
    // As bytes a character is longer; those of every character set are held as UTF-8.
    let len = match e.as_const() {
        _ if collation != Collation::Binary || from == Collation::Binary => len,
        Some(Value::Bytes(bytes)) => bytes.len() as u32,
        _ => len.saturating_mul(4),
    };
    let nullable = true;
    let ty = match kind {
        StringKind::Char | StringKind::VarChar => string_type(len, collation),
        _ => SqlType::String { kind, len, collation },
    };
    Ok(Expr::new(ExprKind::Cast { expr: e.into(), explicit: true }, ty, nullable))
}

/// Digits of an exact argument, for aggregates.
pub(super) fn shape(e: &Expr) -> (u32, u32) {
    decimal_shape(e)
}
