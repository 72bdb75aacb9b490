//! Functions that are no nodes of their own: other expressions stand for them. And constructs of the grammar that look
//! like functions, so that the list of functions is whole.

use super::numeric::ATAN;
use super::record::{Instead, Origin, Record, built, records};
use super::string::LOCATE;
use super::{Function, IntervalUnit, TrimSide};
use crate::build::{self, unrounded};
use crate::{ArithOp, Expr, ExprKind, SessionInfo};
use types::{Collation, Error, Result, SqlType};

records! {
    IF = built(&["IF"], 3, 3, if_);
    IFNULL = built(&["IFNULL"], 2, 2, ifnull);
    NULLIF = built(&["NULLIF"], 2, 2, nullif);
    ISNULL = built(&["ISNULL"], 1, 1, isnull);
    MOD = built(&["MOD"], 2, 2, modulo);
    NAME_CONST = built(&["NAME_CONST"], 2, 2, name_const);
    DATE = built(&["DATE"], 1, 1, date);
    TIME = built(&["TIME"], 1, 1, time);
    ADDDATE = built(&["ADDDATE"], 2, 2, adddate);
    SUBDATE = built(&["SUBDATE"], 2, 2, subdate);
    ATAN2 = built(&["ATAN2"], 2, 2, atan2);

    // Of the grammar; the binder takes them apart.
    VALUES = grammar(&["VALUES"], 1, 1);
    TIMESTAMPADD = grammar(&["TIMESTAMPADD"], 3, 3);
    POSITION = grammar(&["POSITION"], 2, 2);
    CAST = grammar(&["CAST"], 2, 2);
    CONVERT = grammar(&["CONVERT"], 2, 2);
}

const fn grammar(names: &'static [&'static str], min: usize, max: usize) -> Record {
    built(names, min, max, of_grammar).origin(Origin::Grammar)
}

fn of_grammar(_: Vec<Expr>, _: &SessionInfo) -> Result<Instead> {
    Err(Error::internal("a construct of the grammar was called by name"))
}

/// The arguments, whose number was checked.
fn exactly<const N: usize>(args: Vec<Expr>) -> Result<[Expr; N]> {
    args.try_into().map_err(|_| Error::internal("another number of arguments"))
}

fn if_(args: Vec<Expr>, session: &SessionInfo) -> Result<Instead> {
    let [condition, then, otherwise] = exactly(args)?;
    build::if_(condition, then, otherwise, session.collation_connection).map(Instead::Done)
}

fn ifnull(args: Vec<Expr>, session: &SessionInfo) -> Result<Instead> {
    let [a, b] = exactly(args)?;
    build::ifnull(a, b, session.collation_connection).map(Instead::Done)
}

fn nullif(args: Vec<Expr>, _: &SessionInfo) -> Result<Instead> {
    let [a, b] = exactly(args)?;
    build::nullif(a, b).map(Instead::Done)
}

fn isnull(args: Vec<Expr>, _: &SessionInfo) -> Result<Instead> {
    let [e] = exactly(args)?;
    build::is_null(e, false).map(Instead::Done)
}

fn modulo(args: Vec<Expr>, session: &SessionInfo) -> Result<Instead> {
    let [a, b] = exactly(args)?;
    build::arith(ArithOp::Mod, a, b, session).map(Instead::Done)
}

fn name_const(args: Vec<Expr>, _: &SessionInfo) -> Result<Instead> {
    let [_, value] = exactly(args)?;
    Ok(Instead::Done(value))
}

fn date(args: Vec<Expr>, _: &SessionInfo) -> Result<Instead> {
    let [e] = exactly(args)?;
    build::cast(e, SqlType::Date, false).map(Instead::Done)
}

fn time(args: Vec<Expr>, _: &SessionInfo) -> Result<Instead> {
    let [e] = exactly(args)?;
    let fsp = super::rules::fsp_of(&e);
    build::cast(e, SqlType::Time { fsp }, false).map(Instead::Done)
}

fn adddate(args: Vec<Expr>, session: &SessionInfo) -> Result<Instead> {
    days_later(args, false, session)
}

fn subdate(args: Vec<Expr>, session: &SessionInfo) -> Result<Instead> {
    days_later(args, true, session)
}

fn days_later(args: Vec<Expr>, subtract: bool, session: &SessionInfo) -> Result<Instead> {
    let [date, days] = exactly(args)?;
    build::date_add(date, days, IntervalUnit::Day, subtract, session.collation_connection).map(Instead::Done)
}

fn atan2(args: Vec<Expr>, session: &SessionInfo) -> Result<Instead> {
    build::call(Function::new(&ATAN), args, session.collation_connection).map(Instead::Done)
}

/// `TRIM(x)`; with more words it comes from the grammar.
pub(super) fn trim(args: Vec<Expr>, session: &SessionInfo) -> Result<Instead> {
    let [e] = exactly(args)?;
    build::trim(e, TrimSide::Both, None, session.collation_connection).map(Instead::Done)
}

/// LOCATE with its arguments in turn.
pub(super) fn instr(mut args: Vec<Expr>, session: &SessionInfo) -> Result<Instead> {
    args.reverse();
    build::call(Function::new(&LOCATE), args, session.collation_connection).map(Instead::Done)
}

/// FORMAT rounds, once.
pub(super) fn unrounded_first(mut args: Vec<Expr>, _: &SessionInfo) -> Result<Instead> {
    if let Some(number) = args.first_mut() {
        super::rules::replace(number, unrounded);
    }
    Ok(Instead::Call(args))
}

/// `TIMESTAMP(x)` is a conversion; `TIMESTAMP(x, time)` a sum.
pub(super) fn timestamp(mut args: Vec<Expr>, _: &SessionInfo) -> Result<Instead> {
    if args.len() != 1 {
        return Ok(Instead::Call(args));
    }
    let one = args.remove(0);
    let fsp = super::rules::fsp_of(&one);
    Ok(Instead::Done(build::implicit_cast(one, SqlType::DateTime { fsp })))
}

/// `LAST_INSERT_ID(x)` sets what LAST_INSERT_ID() answers later: the session looks at the variable when the statement
/// ends.
pub(super) fn last_insert_id(mut args: Vec<Expr>, _: &SessionInfo) -> Result<Instead> {
    let Some(value) = args.pop() else { return Ok(Instead::Call(args)) };
    let expr = Box::new(build::implicit_cast(value, SqlType::BIGINT_UNSIGNED));
    let nullable = expr.nullable;
    let kind = ExprKind::SetUserVar { name: crate::context::LAST_INSERT_ID.into(), expr };
    Ok(Instead::Done(Expr::new(kind, SqlType::BIGINT_UNSIGNED, nullable)))
}

fn collation_of(e: &Expr) -> Collation {
    e.ty.collation().unwrap_or(Collation::Binary)
}

/// CHARSET(x): of its type alone.
pub(super) fn charset_name(args: Vec<Expr>, session: &SessionInfo) -> Result<Instead> {
    let [e] = exactly(args)?;
    let name = collation_of(&e).charset().name();
    Ok(Instead::Done(build::string(name.as_bytes(), session.collation_connection)))
}

/// COLLATION(x): of its type alone.
pub(super) fn collation_name(args: Vec<Expr>, session: &SessionInfo) -> Result<Instead> {
    let [e] = exactly(args)?;
    Ok(Instead::Done(build::string(collation_of(&e).name().as_bytes(), session.collation_connection)))
}

/// COERCIBILITY(x): of what it is made of.
pub(super) fn coercibility(args: Vec<Expr>, _: &SessionInfo) -> Result<Instead> {
    let [e] = exactly(args)?;
    Ok(Instead::Done(build::integer(build::coercibility(&e) as u64)))
}
