//! Sets of constants answer what lists of the same constants do.

use expr::{
    CmpOp, Compiled, ConstSetBuilder, EvalContext, Expr, ExprKind, Params, SessionInfo, UserVars, Warnings, build,
};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use types::{Collation, Date, Decimal, I256, SqlType, Value};
use vector::{Batch, ChunkBuilder, Vector};

/// `column IN (constants)` as a list and as a set.
fn both(ty: SqlType, constants: &[Expr], negated: bool) -> (Expr, Expr) {
    let column = Expr::column(0, ty, true);
    let mut set = ConstSetBuilder::default();
    for c in constants {
        let compared = build::compare(CmpOp::Eq, column.clone(), c.clone()).expect("it compares");
        let ExprKind::Compare { left, right, .. } = compared.kind else { panic!("a comparison") };
        assert!(set.push(*left, *right), "{ty:?} {c:?}");
    }
    let (left, set) = set.finish().expect("it has values");
    let set = ExprKind::InSet { expr: left.into(), set: Arc::new(set), negated };
    let list = build::in_list(column, constants.to_vec(), negated).expect("it is bound");
    (list, Expr::new(set, SqlType::Bool, true))
}

fn rows(ty: SqlType, values: &[Value]) -> Batch {
    let mut column = ChunkBuilder::new(ty.phys(), values.len());
    values.iter().for_each(|v| column.push(v));
    Batch::new(values.len(), vec![Vector::flat(column.finish())])
}

fn answers(e: &Expr, batch: &Batch) -> Vec<Value> {
    let (session, params, vars, warnings) =
        (SessionInfo::default(), Params::default(), UserVars::default(), Warnings::new(0));
    let killed = AtomicBool::new(false);
    let ctx = EvalContext::new(&session, &params, &vars, &warnings, &killed);
    let v = Compiled::new(e, &ctx).and_then(|c| c.eval(batch, &ctx)).expect("it evaluates");
    (0..batch.rows).map(|i| v.value(i, &SqlType::Bool)).collect()
}

#[test]
fn sets_answer_what_lists_do() {
    let decimal = |v: i64| Value::Decimal(Decimal { unscaled: I256::from(v), scale: 2 });
    let two_digits = SqlType::Decimal { precision: 10, scale: 2 };
    let text = |s: &str| build::string(s.as_bytes(), Collation::default());
    let texts = |v: &[&str]| v.iter().map(|s| Value::str(s)).chain([Value::Null]).collect::<Vec<_>>();
    let ints = |v: &[i64]| v.iter().map(|v| Value::Int(*v)).chain([Value::Null]).collect::<Vec<_>>();
    let cases: Vec<(SqlType, Vec<Expr>, Vec<Value>)> = vec![
        (SqlType::INT, [3u64, 5, 1 << 40, 3].map(build::integer).to_vec(), ints(&[1, 3, 5, -3])),
        (SqlType::BIGINT_UNSIGNED, [3u64, 5].map(build::integer).to_vec(), vec![Value::UInt(3), Value::UInt(u64::MAX)]),
        (
            two_digits,
            [build::decimal("1.50").unwrap(), build::integer(2)].to_vec(),
            [150, 200, 201].map(decimal).to_vec(),
        ),
        (
            SqlType::Double,
            [build::double(0.5), build::double(-0.0)].to_vec(),
            [0.0, 0.5, 1.0].map(Value::Double).to_vec(),
        ),
        (SqlType::INT, vec![text("3"), text("7")], ints(&[3, 7, 8])),
        (
            SqlType::varchar(9, Collation::default()),
            vec![text("ab"), text("long enough for a heap")],
            texts(&["AB", "b", ""]),
        ),
        (
            SqlType::Date,
            vec![text("2024-01-02"), text("2024-02-03")],
            vec![Value::Date(Date::from_ymd(2024, 1, 2)), Value::Null],
        ),
    ];
    for (ty, constants, values) in cases {
        let batch = rows(ty, &values);
        for negated in [false, true] {
            for null in [false, true] {
                let mut constants = constants.clone();
                constants.extend(null.then(|| Expr::constant(Value::Null, ty)));
                let (list, set) = both(ty, &constants, negated);
                assert_eq!(answers(&set, &batch), answers(&list, &batch), "{ty:?} {constants:?} {negated}");
            }
        }
    }
}

#[test]
fn many_strings_are_found() {
    let ty = SqlType::varchar(20, Collation::default());
    let constants: Vec<Expr> =
        (0..10_000).map(|i| build::string(format!("Number {i}").as_bytes(), Collation::default())).collect();
    let (_, set) = both(ty, &constants, false);
    let values: Vec<Value> = (0..30_000).map(|i| Value::str(&format!("number {}", i - 10_000))).collect();
    let found = answers(&set, &rows(ty, &values)).into_iter().filter(|v| *v == Value::Int(1)).count();
    assert_eq!(found, 10_000);
}

#[test]
fn what_does_not_go_together_is_no_set() {
    let mut set = ConstSetBuilder::default();
    let column = |ty| Expr::column(0, ty, true);
    assert!(set.push(column(SqlType::INT), build::integer(1)));
    assert!(!set.push(column(SqlType::Double), build::double(1.5)), "another comparison");
    assert!(!set.push(column(SqlType::INT), build::integer(u64::MAX)), "beyond BIGINT");
    assert!(!set.push(column(SqlType::INT), column(SqlType::INT)), "no constant");
}
