//! A few expressions end to end.

use expr::{ArithOp, CmpOp, EvalContext, Expr, Params, SessionInfo, UserVars, Warnings, build};
use std::sync::atomic::AtomicBool;
use types::{Decimal, SqlType, Value};

fn with<R>(f: impl FnOnce(&EvalContext) -> R) -> R {
    let (session, params, user_vars, warnings, killed) =
        (SessionInfo::default(), Params::default(), UserVars::default(), Warnings::new(64), AtomicBool::new(false));
    f(&EvalContext::new(&session, &params, &user_vars, &warnings, &killed))
}

fn value(e: Expr) -> Value {
    with(|ctx| expr::eval::eval_const(&e, ctx).expect("evaluates"))
}

fn arith(op: ArithOp, l: Expr, r: Expr) -> Expr {
    build::arith(op, l, r, &SessionInfo::default()).expect("builds")
}

#[test]
fn arithmetic() {
    let d = |s: &str| build::decimal(s).expect("a decimal");
    assert_eq!(value(arith(ArithOp::Add, build::integer(1), build::integer(2))), Value::Int(3));
    let third = arith(ArithOp::Div, build::integer(1), build::integer(3));
    assert_eq!(third.ty, SqlType::Decimal { precision: 5, scale: 4 });
    assert_eq!(value(third), Value::Decimal(Decimal::from_i128(3333, 4)));
    let e = arith(ArithOp::Mul, d("1.50"), arith(ArithOp::Sub, build::integer(1), d("0.04")));
    assert_eq!(value(e), Value::Decimal(Decimal::from_i128(14400, 4)));
    assert_eq!(value(arith(ArithOp::Div, build::integer(1), build::integer(0))), Value::Null);
    assert_eq!(value(arith(ArithOp::IntDiv, build::integer(7), build::integer(2))), Value::Int(3));
    let big = arith(ArithOp::Add, build::integer(i64::MAX as u64), build::integer(1));
    with(|ctx| {
        let e = expr::eval::eval_const(&big, ctx).expect_err("out of range");
        assert_eq!(e.code().0, 1690);
    });
}

#[test]
fn comparisons() {
    let s = |s: &str| build::string(s.as_bytes(), types::Collation::default());
    let cmp = |op, l, r| value(build::compare(op, l, r).expect("builds"));
    assert_eq!(cmp(CmpOp::Eq, s("abc"), s("ABC")), Value::Int(1));
    assert_eq!(cmp(CmpOp::Eq, s("1.0"), build::integer(1)), Value::Int(1));
    assert_eq!(cmp(CmpOp::Lt, build::decimal("1.5").expect("a decimal"), build::integer(2)), Value::Int(1));
    assert_eq!(cmp(CmpOp::Eq, build::null(), build::integer(2)), Value::Null);
    assert_eq!(cmp(CmpOp::NullSafeEq, build::null(), build::null()), Value::Int(1));
    let like = build::like(
        s("special packages requests"),
        s("%SPECIAL%requests%"),
        Some('\\'),
        false,
        types::Collation::default(),
    )
    .expect("builds");
    assert_eq!(value(like), Value::Int(1));
    let date = build::temporal("1998-12-01", SqlType::Date).expect("a date");
    assert_eq!(cmp(CmpOp::Gt, date, s("1998-11-30")), Value::Int(1));
}
