//! Nanoseconds a row of the expressions that reports spend their time in: `cargo run --release --example speed`.

use expr::{ArithOp, CmpOp, Compiled, EvalContext, Expr, Params, SessionInfo, UserVars, Warnings, build, kernels};
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;
use types::{Collation, Date, SqlType};
use vector::{Batch, Bounds, Chunk, ChunkBuilder, DictValues, Selection, StringDict, Values, Vector};

const ROWS: usize = 1024;
const BATCHES: usize = 24;
const CI: Collation = Collation::Utf8mb4_0900AiCi;

fn measure(name: &str, batches: &[Batch], mut f: impl FnMut(&Batch) -> u64) {
    let mut best = f64::MAX;
    let mut sum = 0u64;
    for _ in 0..200 {
        let start = Instant::now();
        sum = 0;
        for b in batches {
            sum = sum.wrapping_add(black_box(f(b)));
        }
        best = best.min(start.elapsed().as_nanos() as f64 / (batches.len() * ROWS) as f64);
    }
    println!("{name:50} {best:8.3} ns/row   ({sum})");
}

fn main() {
    let (session, params, user_vars, warnings, killed) =
        (SessionInfo::default(), Params::default(), UserVars::default(), Warnings::new(8), AtomicBool::new(false));
    let ctx = EvalContext::new(&session, &params, &user_vars, &warnings, &killed);
    let mut rng = fastrand::Rng::with_seed(7);
    let dec = SqlType::Decimal { precision: 15, scale: 2 };
    let types = [
        SqlType::BIGINT,
        dec,
        dec,
        dec,
        SqlType::Date,
        SqlType::varchar(79, CI),
        SqlType::varchar(10, CI),
        SqlType::varchar(10, CI),
    ];
    let words =
        ["carefully", "packages", "the", "special", "requests", "furiously", "deposits", "sleep", "accounts", "final"];
    let mut dict = ChunkBuilder::new(types::PhysType::Str, 5);
    for m in ["AIR", "MAIL", "RAIL", "SHIP", "TRUCK"] {
        dict.push_bytes(m.as_bytes());
    }
    let Values::Str(strings) = dict.finish().values else { unreachable!() };
    let dict = Arc::new(StringDict { strings });
    let bounded = |v: Vec<i64>, min, max| {
        let mut c = Chunk::new(Values::I64(v), None);
        c.bounds = Some(Bounds { min, max });
        Vector::flat(c)
    };
    let batches: Vec<Batch> = (0..BATCHES)
        .map(|_| {
            let mut comments = ChunkBuilder::new(types::PhysType::Str, ROWS);
            let mut short = ChunkBuilder::new(types::PhysType::Str, ROWS);
            for _ in 0..ROWS {
                let n = 4 + rng.usize(..5);
                let text: Vec<&str> = (0..n).map(|_| words[rng.usize(..10)]).collect();
                comments.push_bytes(text.join(" ").as_bytes());
                short.push_bytes(words[rng.usize(..10)].as_bytes());
            }
            let mut v = |lo: i64, hi: i64| (0..ROWS).map(|_| rng.i64(lo..=hi)).collect::<Vec<_>>();
            let ids = Vector::flat(Chunk::new(Values::I64(v(0, 99_999)), None));
            let price = bounded(v(90_000, 10_494_950), 90_000, 10_494_950);
            let discount = bounded(v(0, 10), 0, 10);
            let tax = bounded(v(0, 8), 0, 8);
            let dates: Vec<i32> = v(0, 2500).iter().map(|&d| Date::from_epoch_days(8035 + d as i32).0).collect();
            let codes = v(0, 4).iter().map(|&c| c as u8).collect();
            let columns = vec![
                ids,
                price,
                discount,
                tax,
                Vector::flat(Chunk::new(Values::I32(dates), None)),
                Vector::flat(comments.finish()),
                Vector::flat(short.finish()),
                Vector::flat(Chunk::new(Values::Dict(DictValues { codes, dict: dict.clone() }), None)),
            ];
            Batch::new(ROWS, columns)
        })
        .collect();
    let col = |i: usize| Expr::column(i as u32, types[i], false);
    let text = |s: &str| build::string(s.as_bytes(), CI);
    let d = |s: &str| build::decimal(s).expect("a decimal");
    let compile = |e: Expr| Compiled::new(&expr::fold(e, &ctx), &ctx).expect("compiles");
    let filtered = |name: &str, e: Expr| {
        let c = compile(e);
        measure(name, &batches, |b| {
            let s = c.select(&b.columns, b.rows, Selection::All, &ctx).expect("filters");
            s.count(ROWS) as u64
        });
    };
    let evaluated = |name: &str, e: Expr| {
        let c = compile(e);
        measure(name, &batches, |b| c.eval(b, &ctx).expect("evaluates").chunk().0.len() as u64);
    };
    let arith = |op, l, r| build::arith(op, l, r, &session).expect("builds");
    let cmp = |op, l, r| build::compare(op, l, r).expect("builds");

    filtered("bigint < c, 1 % pass", cmp(CmpOp::Lt, col(0), build::integer(1000)));
    filtered("bigint < c, 50 % pass", cmp(CmpOp::Lt, col(0), build::integer(50_000)));
    filtered("date <= c, most pass", cmp(CmpOp::Le, col(4), text("1998-09-02")));
    let q6 = build::and(vec![
        cmp(CmpOp::Ge, col(4), text("1994-01-01")),
        cmp(CmpOp::Lt, col(4), text("1995-01-01")),
        build::between(col(2), d("0.05"), d("0.07"), false).expect("builds"),
        cmp(CmpOp::Lt, col(1), build::integer(24_000)),
    ]);
    filtered("Q6's predicate", q6.expect("builds"));
    let price = arith(ArithOp::Mul, col(1), arith(ArithOp::Sub, build::integer(1), col(2)));
    evaluated("price * (1 - discount)", price.clone());
    evaluated(
        "price * (1 - discount) * (1 + tax)",
        arith(ArithOp::Mul, price, arith(ArithOp::Add, build::integer(1), col(3))),
    );
    let like = |e, p: &str| build::like(e, text(p), Some('\\'), false, types::Collation::default()).expect("builds");
    filtered("comment LIKE '%special%requests%' (ai_ci)", like(col(5), "%special%requests%"));
    filtered("comment LIKE 'special%' (ai_ci)", like(col(5), "special%"));
    filtered("word = 'accounts' (ai_ci)", cmp(CmpOp::Eq, col(6), text("accounts")));
    filtered("word < 'final' (ai_ci)", cmp(CmpOp::Lt, col(6), text("final")));
    filtered("dict = 'MAIL'", cmp(CmpOp::Eq, col(7), text("MAIL")));
    filtered(
        "dict IN ('MAIL', 'SHIP')",
        build::in_list(col(7), vec![text("MAIL"), text("SHIP")], false).expect("builds"),
    );
    let ids: Vec<Expr> = (0..20).map(|i| build::integer(i * 5000)).collect();
    filtered("bigint IN (20 values)", build::in_list(col(0), ids, false).expect("builds"));
    let case = build::case(
        None,
        vec![(cmp(CmpOp::Eq, col(7), text("MAIL")), col(1))],
        Some(build::integer(0)),
        types::Collation::default(),
    );
    evaluated("CASE WHEN dict = 'MAIL' THEN price ELSE 0 END", case.expect("builds"));
    evaluated("EXTRACT(YEAR FROM date)", build::extract(expr::IntervalUnit::Year, col(4)).expect("builds"));
    let sub = build::function("substring", vec![col(5), build::integer(1), build::integer(2)], &session);
    evaluated("SUBSTRING(comment, 1, 2)", sub.expect("builds"));
    evaluated("price / 7", arith(ArithOp::Div, col(1), build::integer(7)));
    let mut hashes = vec![0u64; ROWS];
    measure("hash bigint", &batches, |b| {
        hashes.fill(1);
        kernels::hash_vector(&b.columns[0], &types[0], ROWS, &Selection::All, &mut hashes);
        hashes[3]
    });
    measure("hash word (ai_ci)", &batches, |b| {
        hashes.fill(1);
        kernels::hash_vector(&b.columns[6], &types[6], ROWS, &Selection::All, &mut hashes);
        hashes[3]
    });
    measure("sum bigint", &batches, |b| {
        let Values::I64(v) = &b.columns[1].chunk().0.values else { unreachable!() };
        kernels::fixed::sum_i64(v) as u64
    });
}
