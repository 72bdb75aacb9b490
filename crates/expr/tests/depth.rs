//! Deep trees do not exhaust a thread's stack (the server gives 16 MiB): they are evaluated or refused.

use expr::{ArithOp, EvalContext, Params, SessionInfo, UserVars, Warnings, build};
use std::sync::atomic::AtomicBool;

fn chain(n: usize) {
    let session = SessionInfo::default();
    let mut e = expr::Expr::column(0, types::SqlType::Double, false);
    for _ in 0..n {
        e = build::arith(ArithOp::Add, e, build::double(1.0), &session).expect("builds");
    }
    let (params, user_vars, warnings, killed) =
        (Params::default(), UserVars::default(), Warnings::new(8), AtomicBool::new(false));
    let ctx = EvalContext::new(&session, &params, &user_vars, &warnings, &killed);
    let e = expr::fold(e, &ctx);
    match expr::eval::eval_row(&e, &[types::Value::Double(0.0)], &[types::SqlType::Double], &ctx) {
        Ok(v) => assert_eq!(v, types::Value::Double(n as f64)),
        Err(e) => assert_eq!(e.code().0, 1235),
    }
}

#[test]
fn eight_megabytes_suffice() {
    for n in [100, 500, 1500, 3000] {
        let t = std::thread::Builder::new().stack_size(8 << 20).spawn(move || chain(n)).expect("a thread");
        t.join().expect("no overflow");
    }
}
