//! Function calls: by name, with MySQL's argument conversions and result types.

use super::arith::{decimal_shape, numeric, scalar};
use super::common::len_in;
use super::digits::of_all_digits;
use super::logic::common_result;
use super::{aggregate_collations, char_length_of, implicit_cast, string_type};
use crate::functions::{self, Arguments, Detail, Instead, TrimSide, fsp_of, result_type};
use crate::{Expr, ExprKind, Function, SessionInfo};
use types::{Collation, Error, IntSize, Locale, Result, SqlType, StringKind, Value};

/// `name(args)`. 1582 for a wrong number of arguments, 1235 for a function of MySQL's that is not here yet, 1305 for
/// any other name.
pub fn function(name: &str, args: Vec<Expr>, session: &SessionInfo) -> Result<Expr> {
    for a in &args {
        scalar(a)?;
    }
    let record = functions::find(name).ok_or_else(|| unknown(name, session))?;
    if args.len() < record.args_min || args.len() > record.args_max {
        return Err(Error::wrong_paramcount_to_native_fct(name));
    }
    let args = match record.instead {
        None => args,
        Some(instead) => match instead(args, session)? {
            Instead::Done(e) => return Ok(e),
            Instead::Call(args) => args,
        },
    };
    build(Function::new(record), args, session.collation_connection, session.locale)
}

fn unknown(name: &str, session: &SessionInfo) -> Error {
    let upper = name.to_ascii_uppercase();
    if functions::is_not_yet(&upper) {
        return Error::not_supported(format_args!("function {upper}"));
    }
    match session.database.as_deref() {
        Some(db) => Error::sp_does_not_exist("FUNCTION", format_args!("{db}.{name}")),
        None => Error::sp_does_not_exist("FUNCTION", name),
    }
}

/// A call whose arguments are counted already.
pub(crate) fn call(function: Function, args: Vec<Expr>, connection: Collation) -> Result<Expr> {
    build(function, args, connection, types::locale::english())
}

fn build(function: Function, args: Vec<Expr>, connection: Collation, locale: &Locale) -> Result<Expr> {
    of_all_digits(args, |args| node(function, args, connection, locale))
}

fn node(function: Function, args: Vec<Expr>, connection: Collation, locale: &Locale) -> Result<Expr> {
    let record = function.record();
    let letters = record.args.as_bytes();
    let common = if letters.contains(&b'c') {
        let all: Vec<&Expr> = args.iter().collect();
        Some(common_result(&all, &function.name().to_ascii_lowercase(), connection)?)
    } else {
        None
    };
    let mut args: Vec<Expr> = args
        .into_iter()
        .enumerate()
        .map(|(i, e)| convert(e, letters.get(i).or(letters.last()).copied().unwrap_or(b'*'), common, connection))
        .collect();
    if let Some(convert) = record.convert {
        convert(&mut args, connection)?;
    }
    if !record.keeps_collations {
        share_collation(function.name(), &mut args)?;
    }
    let ty = result_type(record, &Arguments { args: &args, connection, name: function.name() }, common, locale)?;
    let nullable = record.nulls.of(&args);
    Ok(Expr::new(ExprKind::Call { function, args }, ty, nullable))
}

/// All string arguments in one collation, where the function joins or compares them.
fn share_collation(name: &str, args: &mut [Expr]) -> Result<()> {
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
pub(crate) fn to_string(e: Expr, connection: Collation) -> Expr {
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

/// `COALESCE(args)`: the first that is not NULL; later ones are evaluated only where earlier ones are NULL.
pub fn coalesce(args: Vec<Expr>, connection: Collation) -> Result<Expr> {
    if args.is_empty() {
        return Err(Error::wrong_paramcount_to_native_fct("COALESCE"));
    }
    for a in &args {
        scalar(a)?;
    }
    call(Function::new(&functions::COALESCE), args, connection)
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
    let record = &functions::TRIM;
    let typed = Arguments { args: &args, connection, name: record.names[0] };
    let ty = result_type(record, &typed, None, types::locale::english())?;
    let nullable = record.nulls.of(&args);
    let function = Function::with(record, Detail::Side(side));
    Ok(Expr::new(ExprKind::Call { function, args }, ty, nullable))
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
