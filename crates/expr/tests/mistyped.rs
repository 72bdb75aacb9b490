//! Trees that do not fit together are errors that name the expression: neither panics nor values.

use expr::{CmpOp, Compiled, EvalContext, Expr, ExprKind, Params, SessionInfo, UserVars, Warnings, build};
use std::sync::atomic::AtomicBool;
use types::{Collation, ErrorCode, Result, SqlType, Value};
use vector::{Batch, Chunk, ChunkBuilder, Values, Vector};

fn text(s: &str) -> Expr {
    build::string(s.as_bytes(), Collation::default())
}

fn int(v: u64) -> Expr {
    build::integer(v)
}

fn with_session<R>(f: impl FnOnce(&EvalContext) -> R) -> R {
    let (session, params, user_vars, warnings, killed) =
        (SessionInfo::default(), Params::default(), UserVars::default(), Warnings::new(64), AtomicBool::new(false));
    f(&EvalContext::new(&session, &params, &user_vars, &warnings, &killed))
}

fn eval(e: &Expr, batch: &Batch) -> Result<Vector> {
    with_session(|ctx| Compiled::new(e, ctx).and_then(|c| c.eval(batch, ctx)))
}

/// Two rows: integers in column 0, strings in column 1, doubles in column 2.
fn batch() -> Batch {
    let mut strings = ChunkBuilder::new(types::PhysType::Str, 2);
    strings.push_bytes(b"a");
    strings.push_bytes(b"a string of some length");
    let numbers = Chunk::new(Values::I64(vec![1, 2]), None);
    let doubles = Chunk::new(Values::F64(vec![0.5, 1.5]), None);
    Batch::new(2, vec![Vector::flat(numbers), Vector::flat(strings.finish()), Vector::flat(doubles)])
}

fn fails(e: &Expr) {
    let error = eval(e, &batch()).expect_err("a mistyped tree");
    assert_eq!(error.code(), ErrorCode::INTERNAL, "{error}");
    assert!(error.message().contains("mistyped"), "{error}");
}

fn column(i: u32, ty: SqlType) -> Expr {
    Expr::column(i, ty, false)
}

const TEXT: SqlType = SqlType::varchar(30, Collation::Utf8mb4_0900AiCi);

#[test]
fn arguments_of_other_kinds() {
    let like = ExprKind::Like { expr: int(1).into(), pattern: text("1").into(), escape: Some('\\'), negated: false };
    fails(&Expr::new(like, SqlType::Bool, false));
    for (l, r) in [(text("1"), column(0, SqlType::BIGINT)), (column(2, SqlType::Double), column(0, SqlType::BIGINT))] {
        let compare = ExprKind::Compare { op: CmpOp::Eq, left: l.into(), right: r.into() };
        fails(&Expr::new(compare, SqlType::Bool, false));
    }
    let list = ExprKind::InList { expr: column(1, TEXT).into(), list: vec![int(1), int(2)].into(), negated: false };
    fails(&Expr::new(list, SqlType::Bool, false));
    let case = ExprKind::Case { branches: vec![(build::boolean(true), text("a"))], otherwise: Some(int(1).into()) };
    fails(&Expr::new(case, SqlType::BIGINT, false));
}

/// Each function, called with numbers, strings or doubles where the builder would have converted them.
#[test]
fn functions_of_unconverted_arguments() {
    let session = SessionInfo::default();
    let columns = [column(0, SqlType::BIGINT), column(1, TEXT), column(2, SqlType::Double)];
    let mut refused = 0;
    for f in expr::functions::all() {
        for count in f.args_min..=f.args_max.unwrap_or(f.args_min).min(f.args_min + 2) {
            let args = vec![int(1); count];
            let Ok(built) = build::function(f.names[0], args, &session) else { continue };
            let ExprKind::Call { function, .. } = built.kind else { continue };
            if function.record().is_serial() {
                continue;
            }
            for column in &columns {
                let args = vec![column.clone(); count];
                let mistyped = Expr::new(ExprKind::Call { function, args }, built.ty, true);
                refused += u32::from(eval(&mistyped, &batch()).is_err_and(|e| e.code() == ErrorCode::INTERNAL));
            }
        }
    }
    assert!(refused > 200, "{refused}");
}

#[test]
fn columns_under_other_types() {
    fails(&column(0, TEXT));
    fails(&column(1, SqlType::BIGINT));
    fails(&column(2, SqlType::Decimal { precision: 10, scale: 2 }));
    let upper = with_session(|ctx| build::function("upper", vec![column(0, TEXT)], ctx.session)).expect("a function");
    fails(&upper);
    // NULL is of every type.
    let null = Batch::new(1, vec![expr::kernels::constant(&Value::Null, &SqlType::Null).expect("NULL")]);
    assert!(eval(&column(0, TEXT), &null).is_ok());
}

#[test]
fn a_result_of_another_type_than_is_said() {
    let upper = with_session(|ctx| build::function("upper", vec![column(1, TEXT)], ctx.session)).expect("a function");
    fails(&Expr { ty: SqlType::BIGINT, ..upper });
}
