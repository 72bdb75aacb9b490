//! Long strings of many rows: made of some rows at a time, and stopped by KILL.

use expr::eval::{Compiled, parts};
use expr::{CmpOp, EvalContext, Expr, ExprKind, Params, SessionInfo, UserVars, Warnings, build};
use std::sync::atomic::AtomicBool;
use types::{SqlType, Value};
use vector::{Batch, Chunk, Selection, Values, Vector};

const ROWS: usize = 200;

fn with<R>(killed: bool, f: impl FnOnce(&EvalContext) -> R) -> R {
    let (session, params, user_vars, warnings, killed) =
        (SessionInfo::default(), Params::default(), UserVars::default(), Warnings::new(1024), AtomicBool::new(killed));
    f(&EvalContext::new(&session, &params, &user_vars, &warnings, &killed))
}

fn call(name: &str, args: Vec<Expr>) -> Expr {
    build::function(name, args, &SessionInfo::default()).expect("builds")
}

/// `REPEAT('abcdefghij', n)` of a column of counts: 20 MB over all rows.
fn long() -> Expr {
    let column = Expr::new(ExprKind::Column(0), SqlType::BIGINT, false);
    let text = build::string(b"abcdefghij", types::Collation::default());
    call("repeat", vec![text, column])
}

fn batch() -> Batch {
    let counts = (0..ROWS as i64).map(|i| 9_900 + i).collect();
    Batch::new(ROWS, vec![Vector::flat(Chunk::new(Values::I64(counts), None))])
}

#[test]
fn rows_are_parted_where_their_strings_are_long() {
    with(false, |ctx| {
        let batch = batch();
        let text = Compiled::new(&long(), ctx).expect("compiles");
        assert!(text.eval_within(&batch, ctx).expect("evaluates").is_none(), "too much together");
        for selection in parts(&batch.selection, ROWS) {
            let part = Batch { selection, ..batch.clone() };
            assert!(text.eval_within(&part, ctx).expect("evaluates").is_some());
        }
        let whole = text.eval(&batch, ctx).expect("evaluates");
        assert!((0..ROWS).all(|i| whole.bytes(i).len() == 10 * (9_900 + i)));

        let length = Compiled::new(&call("length", vec![long()]), ctx).expect("compiles");
        let v = length.eval(&batch, ctx).expect("evaluates");
        assert!((0..ROWS).all(|i| v.value(i, &SqlType::BIGINT) == Value::Int(10 * (9_900 + i as i64))));
    });
}

#[test]
fn predicates_keep_the_same_rows_in_parts() {
    with(false, |ctx| {
        let length = call("length", vec![call("reverse", vec![long()])]);
        let above = build::compare(CmpOp::Ge, length, build::integer(100_000)).expect("builds");
        let mut batch = batch();
        Compiled::new(&above, ctx).expect("compiles").filter(&mut batch, ctx).expect("filters");
        let kept: Vec<u16> = (100..ROWS as u16).collect();
        assert_eq!(batch.selection.to_positions(ROWS), kept);
        batch.selection = Selection::Some(vec![7, 150]);
        Compiled::new(&above, ctx).expect("compiles").filter(&mut batch, ctx).expect("filters");
        assert_eq!(batch.selection.to_positions(ROWS), [150]);
    });
}

#[test]
fn warnings_of_a_try_are_told_once() {
    with(false, |ctx| {
        // The strings are no numbers.
        let number = build::cast(long(), SqlType::BIGINT, true).expect("builds");
        Compiled::new(&number, ctx).expect("compiles").eval(&batch(), ctx).expect("evaluates");
        assert_eq!(ctx.warnings.count(), ROWS as u64);
    });
}

#[test]
fn kill_is_noticed_within_a_batch() {
    with(true, |ctx| {
        let length = Compiled::new(&call("length", vec![long()]), ctx).expect("compiles");
        assert_eq!(length.eval(&batch(), ctx).expect_err("killed").code().0, 1317);
    });
}
