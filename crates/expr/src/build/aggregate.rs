//! Aggregate and window calls: arguments and result types.
//!
//! ```text
//! COUNT          BIGINT NOT NULL                SUM, AVG of strings, FLOAT, DOUBLE     DOUBLE
//! SUM            DECIMAL(p+22, s)               AVG    DECIMAL(p+inc, s+inc), inc = div_precision_increment
//! MIN, MAX       the argument's type            STD, VARIANCE and kin                  DOUBLE
//! BIT_AND/OR/XOR BIGINT UNSIGNED NOT NULL       GROUP_CONCAT                           text
//! ```

use super::arith::{is_bytes, numeric, scalar};
use super::call::{shape, to_string};
use super::common::scale_of;
use super::digits::{quotient_type, unrounded};
use super::{aggregate_collations, implicit_cast};
use crate::{AggCall, AggFunc, Expr, ExprKind, SessionInfo, WindowCall, WindowFrame, WindowFunc};
use types::{Error, Result, SqlType, StringKind};

/// Digits that SUM adds: enough for 2^64 rows and some.
const SUM_DIGITS: u32 = 22;

/// An aggregate, and the type that its result is shown as: the call's own has all digits. `separator` is GROUP_CONCAT's
/// (`,` if the statement names none).
pub fn aggregate(
    func: AggFunc,
    args: Vec<Expr>,
    distinct: bool,
    order_by: Vec<(Expr, bool)>,
    separator: &str,
    session: &SessionInfo,
) -> Result<(AggCall, SqlType)> {
    use AggFunc::*;
    for a in args.iter().chain(order_by.iter().map(|(e, _)| e)) {
        scalar(a)?;
    }
    let record = func.record();
    if args.len() < record.args_min || args.len() > record.args_max {
        return Err(Error::wrong_paramcount_to_native_fct(func.name()));
    }
    let mut shown = None;
    let (args, ty, nullable) = match func {
        CountStar | Count => (args, SqlType::BIGINT, false),
        Grouping => (args, SqlType::BIGINT, false),
        Sum | Avg => {
            let e = numeric(args.into_iter().next().expect("one argument"));
            if e.ty == SqlType::Double {
                (vec![e], SqlType::Double, true)
            } else {
                shown = Some(exact_type(func, &e, session));
                let e = unrounded(e);
                let ty = exact_type(func, &e, session);
                let ty = if func == Avg { quotient_type(scale_of(&e.ty), 0, ty) } else { ty };
                (vec![e], ty, true)
            }
        }
        Min | Max | AnyValue => {
            let ty = args[0].ty;
            (args, ty, true)
        }
        StdPop | StdSamp | VarPop | VarSamp => {
            let e = numeric(args.into_iter().next().expect("one argument"));
            (vec![implicit_cast(e, SqlType::Double)], SqlType::Double, true)
        }
        BitAnd | BitOr | BitXor => {
            if is_bytes(&args[0]) {
                return Err(Error::not_supported("bit operations on binary strings"));
            }
            let e = numeric(args.into_iter().next().expect("one argument"));
            let e = if e.ty.is_integer() { e } else { implicit_cast(e, SqlType::BIGINT) };
            (vec![e], SqlType::BIGINT_UNSIGNED, false)
        }
        GroupConcat => {
            let connection = session.collation_connection;
            let args: Vec<Expr> = args.into_iter().map(|e| to_string(e, connection)).collect();
            let refs: Vec<&Expr> = args.iter().collect();
            let collation = aggregate_collations(&refs, "group_concat")?.unwrap_or(connection);
            // Beyond this it is a TEXT or BLOB that holds so many bytes.
            let max = session.group_concat_max_len.min(u32::MAX as u64);
            let len = max as u32;
            let kind = match max {
                0..=512 => StringKind::VarChar,
                513..=0xFFFF => StringKind::Text,
                0x1_0000..=0xFF_FFFF => StringKind::MediumText,
                _ => StringKind::LongText,
            };
            (args, SqlType::String { kind, len, collation }, true)
        }
    };
    let call = AggCall { func, args, distinct, order_by, separator: separator.into(), ty, nullable };
    Ok((call, shown.unwrap_or(ty)))
}

fn exact_type(func: AggFunc, e: &Expr, session: &SessionInfo) -> SqlType {
    let (whole, scale) = shape_of_type(e);
    if func == AggFunc::Sum {
        let precision = (whole + scale + SUM_DIGITS).min(65);
        SqlType::Decimal { precision: precision as u8, scale: scale as u8 }
    } else {
        let more = session.div_precision_increment as u32;
        let new_scale = (scale + more).min(30);
        let precision = (whole + scale + more).clamp(new_scale.max(1), 65);
        SqlType::Decimal { precision: precision as u8, scale: new_scale as u8 }
    }
}

fn shape_of_type(e: &Expr) -> (u32, u32) {
    shape(e)
}

/// A window function call. Defaults are filled in: LAG and LEAD get an offset of 1 and NULL; NTH_VALUE and NTILE need
/// theirs.
pub fn window(
    func: WindowFunc,
    args: Vec<Expr>,
    frame: WindowFrame,
    session: &SessionInfo,
) -> Result<(WindowCall, SqlType)> {
    use WindowFunc::*;
    for a in &args {
        scalar(a)?;
    }
    let count = args.len();
    let record = match func.record() {
        Ok(record) => record,
        Err(f) => {
            if matches!(f, AggFunc::GroupConcat | AggFunc::Grouping) {
                return Err(Error::not_supported(format_args!("{} OVER", f.name())));
            }
            let (call, shown) = aggregate(f, args, false, Vec::new(), ",", session)?;
            return Ok((WindowCall { func, args: call.args, frame, ty: call.ty, nullable: call.nullable }, shown));
        }
    };
    let name = record.name;
    if count < record.args_min || count > record.args_max {
        return Err(Error::wrong_paramcount_to_native_fct(name));
    }
    let mut args = args;
    let (ty, nullable) = match func {
        RowNumber | Rank | DenseRank => (SqlType::BIGINT_UNSIGNED, false),
        Ntile => {
            check_positive(&args[0], name)?;
            (SqlType::BIGINT_UNSIGNED, true)
        }
        PercentRank | CumeDist => (SqlType::Double, false),
        FirstValue | LastValue => (args[0].ty, true),
        NthValue => {
            check_positive(&args[1], name)?;
            (args[0].ty, true)
        }
        Lag | Lead => {
            if count == 1 {
                args.push(super::integer(1));
            }
            match args[1].as_const() {
                Some(types::Value::Int(v)) if *v >= 0 => {}
                _ if matches!(args[1].kind, ExprKind::Param(_)) => {}
                _ => return Err(Error::wrong_arguments(name.to_ascii_lowercase())),
            }
            if count == 3 {
                let default = args.pop().expect("three arguments");
                let connection = session.collation_connection;
                let ty = super::logic::common_result(&[&args[0], &default], &name.to_ascii_lowercase(), connection)?;
                let first = args.remove(0);
                args.insert(0, implicit_cast(first, ty));
                args.push(implicit_cast(default, ty));
                (ty, true)
            } else {
                args.push(Expr::constant(types::Value::Null, args[0].ty));
                (args[0].ty, true)
            }
        }
        Agg(_) => return Err(Error::internal("aggregates were answered above")),
    };
    Ok((WindowCall { func, args, frame, ty, nullable }, ty))
}

fn check_positive(e: &Expr, name: &str) -> Result<()> {
    match e.as_const() {
        Some(types::Value::Int(v)) if *v > 0 => Ok(()),
        _ if matches!(e.kind, ExprKind::Param(_)) => Ok(()),
        _ => Err(Error::wrong_arguments(name.to_ascii_lowercase())),
    }
}
