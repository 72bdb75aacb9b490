//! Random expressions over random batches against a row-at-a-time interpreter that shares no code with the evaluator.
//!
//! Columns come as plain arrays, dictionaries and constants, with and without NULLs, under all kinds of selections.

use expr::{
    ArithOp, CmpOp, Compiled, EvalContext, Expr, ExprKind, Params, SessionInfo, Truth, UserVars, Warnings, build,
    kernels,
};
use proptest::prelude::*;
use std::cmp::Ordering;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use types::{Collation, Date, Decimal, SqlType, Value};
use vector::{Batch, Bitmap, Bounds, Chunk, ChunkBuilder, DictValues, Selection, StringDict, Values, Vector};

const CI: Collation = Collation::Utf8mb4_0900AiCi;

/// xorshift, so that a failing seed replays.
struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
    fn below(&mut self, n: u64) -> u64 {
        (self.next() >> 11) % n
    }
    fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

fn column_types() -> Vec<SqlType> {
    vec![
        SqlType::INT,
        SqlType::BIGINT,
        SqlType::BIGINT_UNSIGNED,
        SqlType::Decimal { precision: 12, scale: 2 },
        SqlType::Decimal { precision: 30, scale: 4 },
        SqlType::Decimal { precision: 50, scale: 3 },
        SqlType::Double,
        SqlType::varchar(20, CI),
        SqlType::varchar(20, Collation::Utf8mb4Bin),
        SqlType::Date,
    ]
}

fn value(rng: &mut Rng, ty: &SqlType) -> Value {
    if rng.chance(15) {
        return Value::Null;
    }
    let small = rng.chance(80);
    match ty {
        SqlType::Int { size: types::IntSize::I64, unsigned: true } => {
            Value::UInt(if small { rng.below(10) } else { rng.next() })
        }
        SqlType::Int { size: types::IntSize::I64, .. } => {
            Value::Int(if small { rng.below(20) as i64 - 10 } else { rng.next() as i64 })
        }
        SqlType::Int { .. } => Value::Int(if small { rng.below(20) as i64 - 10 } else { rng.next() as i32 as i64 }),
        SqlType::Decimal { precision, scale } => {
            let max = 10i128.pow((*precision).min(36) as u32);
            let wide = (rng.next() as i128) << 64 | rng.next() as i128;
            let v = if small { rng.below(2000) as i128 - 1000 } else { wide % max };
            Value::Decimal(Decimal::from_i128(v, *scale))
        }
        SqlType::Double => {
            Value::Double(if small { rng.below(20) as f64 / 4.0 - 2.0 } else { rng.next() as i32 as f64 * 1.5 })
        }
        SqlType::Date => {
            Value::Date(Date::from_ymd(1990 + rng.below(3) as i32, 1 + rng.below(12) as i32, 1 + rng.below(28) as i32))
        }
        _ => {
            let words = [
                "",
                "a",
                "A",
                "abc",
                "ABC",
                "abd",
                "é",
                "e",
                "a long string of text",
                "A LONG string of text",
                "12",
                "-3.5x",
                "straße",
                "tail ",
            ];
            Value::str(words[rng.below(words.len() as u64) as usize])
        }
    }
}

fn column(rng: &mut Rng, ty: &SqlType, rows: usize) -> (Vector, Vec<Value>) {
    let nulls = rng.chance(60);
    let pick = |rng: &mut Rng| loop {
        let v = value(rng, ty);
        if nulls || !v.is_null() {
            return v;
        }
    };
    if rng.chance(10) {
        let v = pick(rng);
        return (kernels::constant(&v, ty).expect("a constant"), vec![v; rows]);
    }
    let values: Vec<Value> = (0..rows).map(|_| pick(rng)).collect();
    if ty.is_string() && rng.chance(50) {
        let mut dict: Vec<Value> = values.iter().filter(|v| !v.is_null()).cloned().collect();
        dict.sort_by(|a, b| a.as_bytes().cmp(&b.as_bytes()));
        dict.dedup();
        let mut b = ChunkBuilder::new(types::PhysType::Str, dict.len());
        dict.iter().for_each(|v| b.push(v));
        let Values::Str(strings) = b.finish().values else { unreachable!() };
        let codes = values.iter().map(|v| dict.iter().position(|d| d == v).unwrap_or(0) as u8).collect();
        let mut valid = Bitmap::zeros(rows);
        values.iter().enumerate().for_each(|(i, v)| valid.set(i, !v.is_null()));
        if dict.is_empty() {
            return (kernels::null_vector(ty), values);
        }
        let all = valid.all();
        let chunk = Chunk::new(
            Values::Dict(DictValues { codes, dict: Arc::new(StringDict { strings }) }),
            (!all).then_some(valid),
        );
        return (Vector::flat(chunk), values);
    }
    let mut b = ChunkBuilder::new(ty.phys(), rows);
    values.iter().for_each(|v| b.push(v));
    let mut chunk = b.finish();
    if rng.chance(50) {
        let ints = values.iter().filter_map(|v| match v {
            Value::Int(x) => Some(*x as i128),
            Value::UInt(x) => Some(*x as i128),
            Value::Decimal(d) => d.to_i128(),
            Value::Date(d) => Some(d.0 as i128),
            _ => None,
        });
        let (lo, hi) = ints.fold((i128::MAX, i128::MIN), |(a, b), x| (a.min(x), b.max(x)));
        if let (Ok(min), Ok(max)) = (i64::try_from(lo), i64::try_from(hi)) {
            chunk.bounds = Some(Bounds { min, max });
        }
    }
    (Vector::flat(chunk), values)
}

// --- the interpreter

#[derive(Debug, PartialEq)]
struct Fails;
type Naive = Result<Value, Fails>;

fn truth(v: &Value) -> Option<bool> {
    match v {
        Value::Null => None,
        Value::Int(x) => Some(*x != 0),
        Value::UInt(x) => Some(*x != 0),
        Value::Double(x) => Some(*x != 0.0),
        Value::Decimal(d) => Some(!d.is_zero()),
        other => panic!("no truth: {other:?}"),
    }
}

fn boolean(b: Option<bool>) -> Value {
    b.map_or(Value::Null, |b| Value::Int(b as i64))
}

fn decimal(v: &Value) -> Decimal {
    match v {
        Value::Int(x) => Decimal::from_i64(*x),
        Value::UInt(x) => Decimal::from_u64(*x),
        Value::Decimal(d) => *d,
        other => panic!("no decimal: {other:?}"),
    }
}

fn order(a: &Value, b: &Value, ty: &SqlType) -> Ordering {
    match (a, b) {
        (Value::Bytes(a), Value::Bytes(b)) => ty.collation().expect("a string").compare(a, b),
        (Value::Date(a), Value::Date(b)) => a.cmp(b),
        (Value::Double(a), Value::Double(b)) => a.partial_cmp(b).expect("no NaN"),
        _ => decimal(a).cmp_value(&decimal(b)),
    }
}

fn compare(op: CmpOp, a: &Value, b: &Value, ty: &SqlType) -> Option<bool> {
    if op == CmpOp::NullSafeEq {
        return Some(match (a.is_null(), b.is_null()) {
            (true, true) => true,
            (false, false) => order(a, b, ty).is_eq(),
            _ => false,
        });
    }
    if a.is_null() || b.is_null() {
        return None;
    }
    let o = order(a, b, ty);
    Some(match op {
        CmpOp::Eq | CmpOp::NullSafeEq => o.is_eq(),
        CmpOp::Ne => o.is_ne(),
        CmpOp::Lt => o.is_lt(),
        CmpOp::Le => o.is_le(),
        CmpOp::Gt => o.is_gt(),
        CmpOp::Ge => o.is_ge(),
    })
}

/// A decimal as the expression's type: an integer in range, or at the type's scale.
fn typed(d: Decimal, ty: &SqlType) -> Naive {
    match ty {
        SqlType::Int { unsigned, .. } => {
            let x = d.to_i128().ok_or(Fails)?;
            if *unsigned {
                u64::try_from(x).map(Value::UInt).map_err(|_| Fails)
            } else {
                i64::try_from(x).map(Value::Int).map_err(|_| Fails)
            }
        }
        SqlType::Decimal { scale, .. } => d.rescale(*scale).map(Value::Decimal).ok_or(Fails),
        other => panic!("not exact: {other:?}"),
    }
}

fn naive(e: &Expr, row: &[Value]) -> Naive {
    let eval = |e: &Expr| naive(e, row);
    Ok(match &e.kind {
        ExprKind::Column(i) => row[*i as usize].clone(),
        ExprKind::Const(v) => v.clone(),
        ExprKind::And(terms) | ExprKind::Or(terms) => {
            let stop = matches!(e.kind, ExprKind::Or(_));
            let mut result = Some(!stop);
            for t in terms {
                match truth(&eval(t)?) {
                    Some(b) if b == stop => return Ok(boolean(Some(stop))),
                    Some(_) => {}
                    None => result = None,
                }
            }
            boolean(result)
        }
        ExprKind::Xor(a, b) => boolean(truth(&eval(a)?).zip(truth(&eval(b)?)).map(|(a, b)| a != b)),
        ExprKind::Not(a) => boolean(truth(&eval(a)?).map(|b| !b)),
        ExprKind::Compare { op, left, right } => boolean(compare(*op, &eval(left)?, &eval(right)?, &left.ty)),
        ExprKind::IsNull { expr, negated } => boolean(Some(eval(expr)?.is_null() != *negated)),
        ExprKind::IsTruth { expr, truth: t, negated } => {
            let wanted = match t {
                Truth::True => Some(true),
                Truth::False => Some(false),
                Truth::Unknown => None,
            };
            boolean(Some((truth(&eval(expr)?) == wanted) != *negated))
        }
        ExprKind::InList { expr, list, negated } => {
            let x = eval(expr)?;
            let mut result = Some(false);
            for item in list.iter() {
                match compare(CmpOp::Eq, &x, &eval(item)?, &expr.ty) {
                    Some(true) => {
                        result = Some(true);
                        break;
                    }
                    Some(false) => {}
                    None => result = None,
                }
            }
            boolean(result.map(|b| b != *negated))
        }
        ExprKind::Like { expr, pattern, negated, .. } => {
            let (Value::Bytes(s), Value::Bytes(p)) = (eval(expr)?, eval(pattern)?) else { return Ok(Value::Null) };
            boolean(Some(like(&s, &p, expr.ty.collation().expect("a string")) != *negated))
        }
        ExprKind::Case { branches, otherwise } => {
            for (w, t) in branches {
                if truth(&eval(w)?) == Some(true) {
                    return eval(t);
                }
            }
            match otherwise {
                Some(o) => eval(o)?,
                None => Value::Null,
            }
        }
        ExprKind::Call { function, args } if function.is_coalesce() => {
            for a in args {
                let v = eval(a)?;
                if !v.is_null() {
                    return Ok(v);
                }
            }
            Value::Null
        }
        ExprKind::Call { function, args } if function.is_rounding() => match eval(&args[0])? {
            Value::Decimal(d) => typed(d, &e.ty)?,
            other => other,
        },
        ExprKind::Cast { expr, .. } => {
            let v = eval(expr)?;
            match (&e.ty, &v) {
                (_, Value::Null) => Value::Null,
                (SqlType::Double, _) => Value::Double(v.to_f64().value),
                (SqlType::Decimal { precision, scale }, _) => {
                    Value::Decimal(v.to_decimal().value.fit(*precision, *scale).0)
                }
                (SqlType::Int { .. }, _) => typed(v.to_decimal().value.round_at(0).ok_or(Fails)?, &e.ty)?,
                (SqlType::String { .. }, Value::Bytes(_)) => v,
                (SqlType::String { .. }, _) => Value::Bytes(v.to_text().expect("not NULL")),
                other => panic!("cast {other:?}"),
            }
        }
        ExprKind::Neg(a) => match eval(a)? {
            Value::Null => Value::Null,
            Value::Double(x) => Value::Double(-x),
            v => typed(Decimal::from_i64(0).sub(&decimal(&v)).ok_or(Fails)?, &e.ty)?,
        },
        ExprKind::Arith { op, left, right } => {
            let (a, b) = (eval(left)?, eval(right)?);
            if a.is_null() || b.is_null() {
                return Ok(Value::Null);
            }
            if let (Value::Double(x), Value::Double(y)) = (&a, &b) {
                let v = match op {
                    ArithOp::Add => x + y,
                    ArithOp::Sub => x - y,
                    ArithOp::Mul => x * y,
                    ArithOp::Div | ArithOp::Mod if *y == 0.0 => return Ok(Value::Null),
                    ArithOp::Div => x / y,
                    ArithOp::Mod => x % y,
                    other => panic!("double {other:?}"),
                };
                return if v.is_finite() { Ok(Value::Double(v)) } else { Err(Fails) };
            }
            let (x, y) = (decimal(&a), decimal(&b));
            let scale = if let SqlType::Decimal { scale, .. } = e.ty { scale } else { 0 };
            let v = match op {
                ArithOp::Add => x.add(&y),
                ArithOp::Sub => x.sub(&y),
                ArithOp::Mul => x.mul(&y),
                _ if y.is_zero() => return Ok(Value::Null),
                ArithOp::Div if has_all_digits(left, right, scale) => x.div_trunc(&y, scale),
                ArithOp::Div => x.div(&y, scale),
                ArithOp::IntDiv => x.int_div(&y),
                ArithOp::Mod => x.rem(&y),
                other => panic!("exact {other:?}"),
            };
            typed(v.ok_or(Fails)?, &e.ty)?
        }
        other => panic!("not interpreted: {other:?}"),
    })
}

/// Division makes digits behind the point in groups of nine and cuts the rest off; fewer are made of these by rounding.
fn has_all_digits(left: &Expr, right: &Expr, scale: u8) -> bool {
    let groups = |e: &Expr| match e.ty {
        SqlType::Decimal { scale, .. } => scale.div_ceil(9),
        _ => 0,
    };
    scale.is_multiple_of(9) && scale / 9 >= groups(left) + groups(right)
}

/// LIKE by the textbook: recursion over characters.
fn like(s: &[u8], p: &[u8], c: Collation) -> bool {
    let (s, p) = (String::from_utf8_lossy(s).into_owned(), String::from_utf8_lossy(p).into_owned());
    let (s, p): (Vec<char>, Vec<char>) = (s.chars().collect(), p.chars().collect());
    fn go(s: &[char], p: &[char], c: Collation) -> bool {
        match p.first() {
            None => s.is_empty(),
            Some('%') => (0..=s.len()).any(|k| go(&s[k..], &p[1..], c)),
            Some('_') => !s.is_empty() && go(&s[1..], &p[1..], c),
            Some(ch) => {
                let same = |a: char, b: char| c.eq(a.to_string().as_bytes(), b.to_string().as_bytes());
                s.first().is_some_and(|x| x == ch || (*x != ' ' && *ch != ' ' && same(*x, *ch)))
                    && go(&s[1..], &p[1..], c)
            }
        }
    }
    go(&s, &p, c)
}

// --- random expressions

struct Gen<'a> {
    rng: &'a mut Rng,
    columns: &'a [SqlType],
    session: &'a SessionInfo,
}

impl Gen<'_> {
    fn leaf(&mut self, numeric: bool) -> Expr {
        let candidates: Vec<usize> =
            (0..self.columns.len()).filter(|&i| self.columns[i].is_numeric() == numeric).collect();
        if self.rng.chance(70) {
            let i = candidates[self.rng.below(candidates.len() as u64) as usize];
            return Expr::column(i as u32, self.columns[i], true);
        }
        if numeric {
            match self.rng.below(5) {
                0 => build::integer(self.rng.below(5)),
                1 => build::neg(build::integer(self.rng.below(100))).expect("builds"),
                2 => build::decimal(["0.5", "1.25", "100.000", "3"][self.rng.below(4) as usize]).expect("builds"),
                3 => build::double(self.rng.below(8) as f64 / 2.0),
                _ => build::null(),
            }
        } else {
            build::string(["a", "ABC", "é", "a long STRING of text", ""][self.rng.below(5) as usize].as_bytes(), CI)
        }
    }

    fn number(&mut self, depth: u32) -> Expr {
        if depth == 0 || self.rng.chance(25) {
            return self.leaf(true);
        }
        match self.rng.below(10) {
            0 => build::neg(self.number(depth - 1)).expect("builds"),
            1 => {
                let whens = vec![(self.predicate(depth - 1), self.number(depth - 1))];
                let otherwise = self.rng.chance(70).then(|| self.number(depth - 1));
                build::case(None, whens, otherwise, types::Collation::default()).expect("builds")
            }
            2 => build::coalesce(vec![self.number(depth - 1), self.number(depth - 1)], types::Collation::default())
                .expect("builds"),
            k => {
                let (l, r) = (self.number(depth - 1), self.number(depth - 1));
                let double = matches!(l.ty, SqlType::Double) || matches!(r.ty, SqlType::Double);
                let op = match k {
                    3 | 4 => ArithOp::Add,
                    5 => ArithOp::Sub,
                    6 | 7 => ArithOp::Mul,
                    8 => ArithOp::Div,
                    _ if double || self.rng.chance(50) => ArithOp::Mod,
                    _ => ArithOp::IntDiv,
                };
                build::arith(op, l, r, self.session).expect("builds")
            }
        }
    }

    fn string(&mut self) -> Expr {
        loop {
            let e = self.leaf(false);
            if e.ty.is_string() {
                return e;
            }
        }
    }

    fn predicate(&mut self, depth: u32) -> Expr {
        let ops = [CmpOp::Eq, CmpOp::Ne, CmpOp::Lt, CmpOp::Le, CmpOp::Gt, CmpOp::Ge, CmpOp::NullSafeEq];
        let op = ops[self.rng.below(7) as usize];
        let depth = depth.saturating_sub(1);
        match self.rng.below(if depth == 0 { 6 } else { 11 }) {
            0 | 1 => build::compare(op, self.number(depth), self.number(depth)).expect("builds"),
            2 => {
                let (l, r) = (self.string(), self.string());
                build::compare(op, l, r).expect("builds")
            }
            3 => {
                let dates: Vec<usize> = (0..self.columns.len()).filter(|&i| self.columns[i] == SqlType::Date).collect();
                let l = Expr::column(dates[0] as u32, SqlType::Date, true);
                build::compare(op, l, build::string(b"1991-06-15", CI)).expect("builds")
            }
            4 => {
                let patterns = ["a%", "%B%", "a_c", "%", "ABC", "%long%text", "_", "%é%", "ta%l "];
                let p = build::string(patterns[self.rng.below(9) as usize].as_bytes(), CI);
                let negated = self.rng.chance(30);
                build::like(self.string(), p, Some('\\'), negated, types::Collation::default()).expect("builds")
            }
            5 => {
                let n = 1 + self.rng.below(7);
                let negated = self.rng.chance(30);
                if self.rng.chance(50) {
                    let list = (0..n).map(|_| self.string()).collect();
                    build::in_list(self.string(), list, negated).expect("builds")
                } else {
                    let list = (0..n).map(|_| self.leaf(true)).collect();
                    build::in_list(self.leaf(true), list, negated).expect("builds")
                }
            }
            6 => build::and((0..2 + self.rng.below(2)).map(|_| self.predicate(depth)).collect()).expect("builds"),
            7 => build::or((0..2 + self.rng.below(2)).map(|_| self.predicate(depth)).collect()).expect("builds"),
            8 => build::not(self.predicate(depth)).expect("builds"),
            9 => {
                let e = if self.rng.chance(50) { self.predicate(depth) } else { self.number(depth) };
                let negated = self.rng.chance(50);
                match self.rng.below(3) {
                    0 => build::is_null(e, negated),
                    1 => build::is_truth(e, Truth::True, negated),
                    _ => build::is_truth(e, Truth::False, negated),
                }
                .expect("builds")
            }
            _ => build::xor(self.predicate(depth), self.predicate(depth)).expect("builds"),
        }
    }
}

fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Null, Value::Null) => true,
        (Value::Null, _) | (_, Value::Null) => false,
        (Value::Double(x), Value::Double(y)) => x == y || (x - y).abs() <= 1e-12 * x.abs().max(y.abs()),
        (Value::Bytes(x), Value::Bytes(y)) => x == y,
        (Value::Date(x), Value::Date(y)) => x == y,
        (Value::Int(_) | Value::UInt(_) | Value::Decimal(_), Value::Int(_) | Value::UInt(_) | Value::Decimal(_)) => {
            decimal(a).eq_value(&decimal(b))
        }
        _ => false,
    }
}

fn selection(rng: &mut Rng, rows: usize) -> Selection {
    match rng.below(4) {
        0 => Selection::All,
        1 => Selection::Some((0..rows as u16).filter(|_| rng.chance(5)).collect()),
        2 => Selection::Some((0..rows as u16).filter(|_| rng.chance(60)).collect()),
        _ => Selection::Some(Vec::new()),
    }
}

fn with_context(f: impl FnOnce(&EvalContext)) {
    let (session, params, user_vars, warnings, killed) =
        (SessionInfo::default(), Params::default(), UserVars::default(), Warnings::new(8), AtomicBool::new(false));
    f(&EvalContext::new(&session, &params, &user_vars, &warnings, &killed));
}

fn check(seed: u64, rows: usize, predicate: bool) {
    let rng = &mut Rng(seed | 1);
    for _ in 0..8 {
        rng.next();
    }
    let types = column_types();
    let (vectors, values): (Vec<Vector>, Vec<Vec<Value>>) = types.iter().map(|t| column(rng, t, rows)).unzip();
    let session = SessionInfo::default();
    let mut generator = Gen { rng, columns: &types, session: &session };
    let e = if predicate { generator.predicate(4) } else { generator.number(4) };
    let mut batch = Batch::new(rows, vectors);
    batch.selection = selection(rng, rows);
    let positions = batch.selection.to_positions(rows);
    let row = |i: usize| -> Vec<Value> { values.iter().map(|c| c[i].clone()).collect() };
    let wanted: Result<Vec<Value>, Fails> = positions.iter().map(|&i| naive(&e, &row(i as usize))).collect();
    with_context(|ctx| {
        for folded in [false, true] {
            let e = if folded { expr::fold(e.clone(), ctx) } else { e.clone() };
            let compiled = Compiled::new(&e, ctx).expect("compiles");
            // Twice: the second time from the caches.
            for _ in 0..2 {
                match (compiled.eval(&batch, ctx), &wanted) {
                    (Ok(v), Ok(w)) => {
                        for (&i, w) in positions.iter().zip(w) {
                            let got = v.value(i as usize, &e.ty);
                            assert!(same(&got, w), "row {i} {:?}: got {got:?}, want {w:?}\n{e:?}", row(i as usize));
                            assert!(e.nullable || !w.is_null(), "NULL from {e:?}");
                        }
                    }
                    (Err(_), Err(_)) => {}
                    (Err(got), Ok(_)) => panic!("fails with {got}, should not: {e:?}"),
                    // Folding may drop a term that fails, as `x AND FALSE` is FALSE.
                    (Ok(_), Err(_)) if folded => {}
                    (Ok(_), Err(_)) => panic!("should fail: {e:?}"),
                }
            }
            if predicate {
                let mut b = batch.clone();
                // A filter may skip what an evaluation computes, so it may fail less.
                if compiled.filter(&mut b, ctx).is_ok()
                    && let Ok(w) = &wanted
                {
                    let kept: Vec<u16> =
                        positions.iter().zip(w).filter(|(_, w)| truth(w) == Some(true)).map(|(&i, _)| i).collect();
                    assert_eq!(b.selection.to_positions(rows), kept, "{e:?}");
                }
            }
        }
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn values(seed in any::<u64>(), rows in prop_oneof![1usize..4, 60usize..70, Just(200usize)]) {
        check(seed, rows, false);
    }

    #[test]
    fn predicates(seed in any::<u64>(), rows in prop_oneof![1usize..4, 60usize..70, Just(200usize)]) {
        check(seed, rows, true);
    }

    /// Equal values hash equally and have equal keys; keys order as values do; whatever carries them.
    #[test]
    fn hashes_and_keys(seed in any::<u64>()) {
        let rng = &mut Rng(seed | 1);
        let rows = 40;
        for ty in column_types() {
            let (a, av) = column(rng, &ty, rows);
            let (b, bv) = column(rng, &ty, rows);
            let hash = |v: &Vector| {
                let mut out = vec![7u64; rows];
                kernels::hash_vector(v, &ty, rows, &Selection::All, &mut out);
                out
            };
            let (ha, hb) = (hash(&a), hash(&b));
            let key = |v: &Vector, i: usize, desc: bool| {
                let mut k = Vec::new();
                kernels::sort_key_append(v, i, &ty, desc, &mut k);
                k
            };
            for i in 0..rows {
                for j in 0..rows {
                    let want = match (av[i].is_null(), bv[j].is_null()) {
                        (true, true) => Ordering::Equal,
                        (true, false) => Ordering::Less,
                        (false, true) => Ordering::Greater,
                        _ => order(&av[i], &bv[j], &ty),
                    };
                    prop_assert_eq!(kernels::compare_positions(&a, i, &b, j, &ty), want);
                    prop_assert_eq!(key(&a, i, false).cmp(&key(&b, j, false)), want, "{:?} {:?}", av[i], bv[j]);
                    prop_assert_eq!(key(&a, i, true).cmp(&key(&b, j, true)), want.reverse());
                    if want.is_eq() {
                        prop_assert_eq!(ha[i], hb[j]);
                    }
                }
            }
            let mut pairs: Vec<(u32, u32)> =
                (0..rows as u32).flat_map(|i| (0..rows as u32).map(move |j| (i, j))).collect();
            let expected: Vec<(u32, u32)> = pairs
                .iter()
                .copied()
                .filter(|&(i, j)| {
                    let (x, y) = (&av[i as usize], &bv[j as usize]);
                    !x.is_null() && !y.is_null() && order(x, y, &ty).is_eq()
                })
                .collect();
            kernels::eq_positions(&a, &b, &ty, false, &mut pairs);
            prop_assert_eq!(pairs, expected);
        }
    }
}
