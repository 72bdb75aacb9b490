//! Numeric functions.

use super::Call;
use super::record::{Body, Kernel, MANY, Nulls, Origin, Ret, never, new, records};
use super::rules::{Arguments, replace, widened};
use crate::Expr;
use crate::build::{bits_operand, decimal_type, implicit_cast, is_bytes, to_string};
use crate::eval::{Cx, Exact, Lane, Node};
use crate::kernels;
use Nulls::{Maybe, Seen};
use Ret::{Built, By, Double, Int};
use types::{Collation, Decimal, Error, I256, Result, SqlType};
use vector::{Chunk, Selection, Values, Vector};

records! {
    // Rounded, and signs
    ABS = new(&["ABS"], 1, 1, "n", By(wide), abs_of_exact).body(Body::ByType(abs)).may_warn();
    CEIL = new(&["CEIL", "CEILING"], 1, 1, "n", By(whole), ceil_of_exact).body(Body::ByType(ceil)).may_warn();
    FLOOR = new(&["FLOOR"], 1, 1, "n", By(whole), floor_of_exact).body(Body::ByType(floor)).may_warn();
    ROUND = new(&["ROUND"], 1, 2, "np", By(rounded), round_of_exact).body(Body::ByType(round)).may_warn();
    TRUNCATE = new(&["TRUNCATE"], 2, 2, "np", By(cut), truncate_of_exact).body(Body::ByType(truncate)).may_warn();
    SIGN = new(&["SIGN"], 1, 1, "n", Int, sign_of_exact).body(Body::ByType(sign));
    // Arithmetic over quotients, rounded to the scale of `Expr::ty`
    ROUND_TO_SCALE = new(&["ROUND TO SCALE"], 1, 1, "*", Built, never).body(Body::Node(round_to_scale)).may_warn()
        .origin(Origin::Builder);

    // Of doubles
    POW = new(&["POW", "POWER"], 2, 2, "d", Double, pow).may_warn();
    SQRT = new(&["SQRT"], 1, 1, "d", Double, sqrt).nulls(Maybe);
    EXP = new(&["EXP"], 1, 1, "d", Double, exp).may_warn();
    LN = new(&["LN"], 1, 1, "d", Double, ln).nulls(Maybe).may_warn();
    LOG = new(&["LOG"], 1, 2, "d", Double, log).nulls(Maybe).may_warn();
    LOG2 = new(&["LOG2"], 1, 1, "d", Double, log2).nulls(Maybe).may_warn();
    LOG10 = new(&["LOG10"], 1, 1, "d", Double, log10).nulls(Maybe).may_warn();
    SIN = new(&["SIN"], 1, 1, "d", Double, sin);
    COS = new(&["COS"], 1, 1, "d", Double, cos);
    TAN = new(&["TAN"], 1, 1, "d", Double, tan);
    COT = new(&["COT"], 1, 1, "d", Double, cot).may_warn();
    ASIN = new(&["ASIN"], 1, 1, "d", Double, asin).nulls(Maybe);
    ACOS = new(&["ACOS"], 1, 1, "d", Double, acos).nulls(Maybe);
    // ATAN2 is one with two arguments
    ATAN = new(&["ATAN"], 1, 2, "d", Double, atan);
    PI = new(&["PI"], 0, 0, "", Double, pi);
    DEGREES = new(&["DEGREES"], 1, 1, "d", Double, degrees);
    RADIANS = new(&["RADIANS"], 1, 1, "d", Double, radians);
    RAND = new(&["RAND"], 0, 1, "i", Double, rand).nulls(Seen).each_row();

    // Bits, and places among numbers
    BIT_COUNT = new(&["BIT_COUNT"], 1, 1, "*", Int, bits_of_number).body(Body::ByType(bit_count))
        .converts(bits_or_bytes);
    INTERVAL = new(&["INTERVAL"], 2, MANY, "n", Int, interval).converts(doubles_if_any).nulls(Seen);
    FIELD = new(&["FIELD"], 2, MANY, "*", Int, field).converts(comparable).nulls(Seen);
}

fn by_type(args: &[SqlType], double: Kernel, exact: Kernel) -> Kernel {
    if matches!(args, [SqlType::Double | SqlType::Float, ..]) { double } else { exact }
}

fn abs(args: &[SqlType], _: &SqlType) -> Kernel {
    by_type(args, abs_of_double, abs_of_exact)
}

fn ceil(args: &[SqlType], _: &SqlType) -> Kernel {
    by_type(args, ceil_of_double, ceil_of_exact)
}

fn floor(args: &[SqlType], _: &SqlType) -> Kernel {
    by_type(args, floor_of_double, floor_of_exact)
}

fn round(args: &[SqlType], _: &SqlType) -> Kernel {
    by_type(args, round_of_double, round_of_exact)
}

fn truncate(args: &[SqlType], _: &SqlType) -> Kernel {
    by_type(args, truncate_of_double, truncate_of_exact)
}

fn sign(args: &[SqlType], _: &SqlType) -> Kernel {
    by_type(args, sign_of_double, sign_of_exact)
}

fn bit_count(args: &[SqlType], _: &SqlType) -> Kernel {
    if matches!(args, [SqlType::String { .. }]) { bits_of_bytes } else { bits_of_number }
}

/// The argument's type; BIGINT of integers.
fn wide(a: &Arguments) -> Result<SqlType> {
    let first = a.first();
    Ok(if first.is_integer() { widened(first) } else { first })
}

/// Without a fraction.
fn whole(a: &Arguments) -> Result<SqlType> {
    Ok(match a.first() {
        t if t.is_integer() => widened(t),
        SqlType::Decimal { precision, scale } if precision - scale <= 18 => SqlType::BIGINT,
        SqlType::Decimal { precision, scale } => decimal_type((precision - scale + 1) as u32, 0),
        _ => SqlType::Double,
    })
}

fn rounded(a: &Arguments) -> Result<SqlType> {
    at_places(a, true)
}

fn cut(a: &Arguments) -> Result<SqlType> {
    at_places(a, false)
}

/// With the fractional digits that a constant asks for; what rounds may carry into a digit more.
fn at_places(a: &Arguments, carries: bool) -> Result<SqlType> {
    Ok(match a.first() {
        t if t.is_integer() => widened(t),
        SqlType::Decimal { precision, scale } => match if a.args.len() == 1 { Some(0) } else { a.int(1) } {
            Some(places) => {
                let to = places.clamp(0, 30) as u32;
                let carry = (carries && (to as u8) < scale) as u32;
                decimal_type((precision - scale) as u32 + carry, to)
            }
            None => a.first(),
        },
        _ => SqlType::Double,
    })
}

fn bits_or_bytes(args: &mut [Expr], _: Collation) -> Result<()> {
    if !is_bytes(&args[0]) {
        replace(&mut args[0], bits_operand);
    }
    Ok(())
}

fn all_doubles(args: &mut [Expr]) {
    args.iter_mut().for_each(|a| replace(a, |e| implicit_cast(e, SqlType::Double)));
}

fn doubles_if_any(args: &mut [Expr], _: Collation) -> Result<()> {
    if args.iter().any(|a| matches!(a.ty, SqlType::Double | SqlType::Float)) {
        all_doubles(args);
    }
    Ok(())
}

/// Strings, exact numbers or doubles.
fn comparable(args: &mut [Expr], connection: Collation) -> Result<()> {
    let strings = args.iter().all(|a| a.ty.is_string() || a.ty.is_temporal() || a.ty == SqlType::Null);
    let exact = |t: &SqlType| t.is_integer() || matches!(t, SqlType::Decimal { .. });
    if strings {
        args.iter_mut().for_each(|a| replace(a, |e| to_string(e, connection)));
    } else if !args.iter().all(|a| exact(&a.ty) || a.ty == SqlType::Null) {
        all_doubles(args);
    }
    Ok(())
}

fn round_to_scale(node: &Node, cx: &Cx, sel: &Selection) -> Result<Vector> {
    let v = node.args[0].eval(cx, sel)?;
    crate::eval::cast::cast(&v, &node.args[0].ty, &node.ty, false, cx, sel)
}

/// One double in, one out; not finite is error 1690.
fn double(call: &Call, f: impl Fn(f64) -> Option<f64>) -> Result<Chunk> {
    call.rows().fixed(|i| match f(call.double(0, i)) {
        Some(v) if !v.is_finite() => Err(out_of_range(call, "DOUBLE")),
        v => Ok(v),
    })
}

fn out_of_range(call: &Call, kind: &str) -> Error {
    Error::data_out_of_range(kind, call.node.text.0.as_deref().unwrap_or("expression"))
}

/// Logarithms of what is not positive are NULL with warning 3020.
fn logarithm(call: &Call, v: f64, f: impl Fn(f64) -> f64) -> Result<Option<f64>> {
    if v > 0.0 {
        return Ok(Some(f(v)));
    }
    let code = types::ErrorCode(3020);
    call.fault(Error::new(code, "Invalid argument for logarithm"))?;
    Ok(None)
}

fn is_double(call: &Call, k: usize) -> bool {
    matches!(call.args[k].chunk().0.values, Values::F64(_) | Values::F32(_))
}

/// Rounds a double at `places` digits after the point (before it, if negative), half away from zero.
fn round_double(v: f64, places: i64, truncate: bool) -> f64 {
    let cut = |x: f64| if truncate { x.trunc() } else { x.round_ties_even() };
    if places == 0 {
        return cut(v);
    }
    let factor = 10f64.powi(places.unsigned_abs().min(400) as i32);
    let r = if places > 0 {
        if factor.is_infinite() || (v * factor).is_infinite() {
            return v;
        }
        cut(v * factor) / factor
    } else {
        if factor.is_infinite() {
            return 0.0;
        }
        cut(v / factor) * factor
    };
    if r.is_finite() { r } else { v }
}

/// Exact results row by row, brought to the scale of the result type.
fn exact(call: &Call, mut f: impl FnMut(Decimal, usize) -> Result<Option<Decimal>>) -> Result<Chunk> {
    let e = Exact::new(&call.args[0], &call.types[0]);
    let ty = call.ty();
    let scale = if let SqlType::Decimal { scale, .. } = ty { scale } else { 0 };
    let bounds = crate::eval::type_bounds(&ty);
    let kind = match ty {
        SqlType::Decimal { .. } => "DECIMAL",
        t if t.is_unsigned() => "BIGINT UNSIGNED",
        _ => "BIGINT",
    };
    let mut wide: Vec<I256> = vec![I256::default(); call.row_count];
    let chunk = call.rows().fixed(|i| {
        let Some(d) = f(e.decimal(i), i)? else { return Ok(None) };
        let d = d.rescale(scale).ok_or_else(|| out_of_range(call, kind))?;
        if !matches!(ty, SqlType::Decimal { .. })
            && let Some((lo, hi)) = bounds
            && !d.to_i128().is_some_and(|x| (lo..=hi).contains(&x))
        {
            return Err(out_of_range(call, kind));
        }
        wide[i] = d.unscaled;
        Ok(Some(0i8))
    })?;
    let values = match ty {
        SqlType::Decimal { precision, .. } if precision > 38 => Values::I256(wide),
        _ => kernels::narrow_to(wide.iter().map(|v| v.to_i128().unwrap_or(0)).collect(), &ty)?,
    };
    Ok(Chunk::new(values, chunk.validity))
}

/// ROUND and TRUNCATE of DECIMALs in 64 bits: one division a row.
fn round_i64(call: &Call, places: i64, truncate: bool) -> Option<Chunk> {
    let e = Exact::new(&call.args[0], &call.types[0]);
    let (chunk, constant) = call.args[0].chunk();
    let SqlType::Decimal { scale, .. } = call.ty() else { return None };
    let Lane::I64(v) = &e.lane else { return None };
    if constant || places != scale as i64 || e.scale < scale || e.scale - scale > 18 {
        return None;
    }
    let by = 10i64.pow((e.scale - scale) as u32);
    let out: Vec<i64> = if truncate {
        v.iter().map(|&x| x / by).collect()
    } else {
        v.iter()
            .map(|&x| {
                let (q, r) = (x / by, x % by);
                q + (r.unsigned_abs() * 2 >= by as u64 && by > 1) as i64 * x.signum()
            })
            .collect()
    };
    Some(Chunk::new(Values::I64(out), chunk.validity.clone()))
}

/// MySQL's generator of RAND(n).
pub(crate) fn rand_step(state: &mut (u32, u32)) -> f64 {
    const MAX: u64 = 0x3FFF_FFFF;
    let a = (state.0 as u64 * 3 + state.1 as u64) % MAX;
    let b = (a + state.1 as u64 + 33) % MAX;
    *state = (a as u32, b as u32);
    a as f64 / MAX as f64
}

pub(crate) fn rand_seed(n: i64) -> (u32, u32) {
    const MAX: u32 = 0x3FFF_FFFF;
    let n = n as u32;
    (n.wrapping_mul(0x10001).wrapping_add(55_555_555) % MAX, n.wrapping_mul(0x1000_0001) % MAX)
}

/// Any number as a double.
fn number(call: &Call, k: usize, i: usize) -> f64 {
    if is_double(call, k) { call.double(k, i) } else { Exact::new(&call.args[k], &call.types[k]).decimal(i).to_f64() }
}
fn abs_of_double(call: &Call) -> Result<Chunk> {
    double(call, |v| Some(v.abs()))
}

fn abs_of_exact(call: &Call) -> Result<Chunk> {
    exact(call, |d, _| Ok(Some(d.abs())))
}

fn ceil_of_double(call: &Call) -> Result<Chunk> {
    double(call, |v| Some(v.ceil()))
}

fn ceil_of_exact(call: &Call) -> Result<Chunk> {
    exact(call, |d, _| Ok(Some(d.ceil())))
}

fn floor_of_double(call: &Call) -> Result<Chunk> {
    double(call, |v| Some(v.floor()))
}

fn floor_of_exact(call: &Call) -> Result<Chunk> {
    exact(call, |d, _| Ok(Some(d.floor())))
}

/// ROUND and TRUNCATE of doubles.
fn round_doubles(call: &Call, truncate: bool) -> Result<Chunk> {
    call.rows().fixed(|i| {
        let places = if call.len() > 1 { call.int(1, i) } else { 0 };
        Ok(Some(round_double(call.double(0, i), places, truncate)))
    })
}

/// ROUND and TRUNCATE of exact numbers.
fn round_exact(call: &Call, truncate: bool) -> Result<Chunk> {
    let constant_places = match call.args.get(1) {
        None => Some(0),
        Some(Vector::Const(_)) => Some(call.int(1, 0)),
        _ => None,
    };
    if let Some(c) = constant_places.and_then(|p| round_i64(call, p, truncate)) {
        return Ok(c);
    }
    exact(call, |d, i| {
        let places = if call.len() > 1 { call.int(1, i).clamp(-100, 100) as i32 } else { 0 };
        let v = if truncate { d.truncate_at(places) } else { d.round_at(places) };
        v.map(Some).ok_or_else(|| out_of_range(call, "DECIMAL"))
    })
}

fn round_of_double(call: &Call) -> Result<Chunk> {
    round_doubles(call, false)
}

fn round_of_exact(call: &Call) -> Result<Chunk> {
    round_exact(call, false)
}

fn truncate_of_double(call: &Call) -> Result<Chunk> {
    round_doubles(call, true)
}

fn truncate_of_exact(call: &Call) -> Result<Chunk> {
    round_exact(call, true)
}

fn pow(call: &Call) -> Result<Chunk> {
    call.rows().fixed(|i| {
        let v = call.double(0, i).powf(call.double(1, i));
        if v.is_finite() { Ok(Some(v)) } else { Err(out_of_range(call, "DOUBLE")) }
    })
}

fn sqrt(call: &Call) -> Result<Chunk> {
    double(call, |v| (v >= 0.0).then(|| v.sqrt()))
}

fn exp(call: &Call) -> Result<Chunk> {
    double(call, |v| Some(v.exp()))
}

fn ln(call: &Call) -> Result<Chunk> {
    call.rows().fixed(|i| logarithm(call, call.double(0, i), f64::ln))
}

fn log2(call: &Call) -> Result<Chunk> {
    call.rows().fixed(|i| logarithm(call, call.double(0, i), f64::log2))
}

fn log10(call: &Call) -> Result<Chunk> {
    call.rows().fixed(|i| logarithm(call, call.double(0, i), f64::log10))
}

fn log(call: &Call) -> Result<Chunk> {
    if call.len() == 1 {
        return ln(call);
    }
    call.rows().fixed(|i| {
        let (base, v) = (call.double(0, i), call.double(1, i));
        if base == 1.0 {
            return logarithm(call, 0.0, f64::ln);
        }
        match logarithm(call, base, f64::ln)? {
            Some(b) => logarithm(call, v, |v| v.ln() / b),
            None => Ok(None),
        }
    })
}

fn sin(call: &Call) -> Result<Chunk> {
    double(call, |v| Some(v.sin()))
}

fn cos(call: &Call) -> Result<Chunk> {
    double(call, |v| Some(v.cos()))
}

fn tan(call: &Call) -> Result<Chunk> {
    double(call, |v| Some(v.tan()))
}

fn cot(call: &Call) -> Result<Chunk> {
    double(call, |v| Some(1.0 / v.tan()))
}

fn asin(call: &Call) -> Result<Chunk> {
    double(call, |v| (-1.0..=1.0).contains(&v).then(|| v.asin()))
}

fn acos(call: &Call) -> Result<Chunk> {
    double(call, |v| (-1.0..=1.0).contains(&v).then(|| v.acos()))
}

fn atan(call: &Call) -> Result<Chunk> {
    if call.len() == 2 {
        return call.rows().fixed(|i| Ok(Some(call.double(0, i).atan2(call.double(1, i)))));
    }
    double(call, |v| Some(v.atan()))
}

fn pi(call: &Call) -> Result<Chunk> {
    call.rows().fixed(|_| Ok(Some(std::f64::consts::PI)))
}

fn degrees(call: &Call) -> Result<Chunk> {
    double(call, |v| Some(v.to_degrees()))
}

fn radians(call: &Call) -> Result<Chunk> {
    double(call, |v| Some(v.to_radians()))
}

fn sign_of_double(call: &Call) -> Result<Chunk> {
    call.rows().fixed(|i| {
        let v = call.double(0, i);
        Ok(Some(if v > 0.0 {
            1i64
        } else if v < 0.0 {
            -1
        } else {
            0
        }))
    })
}

fn sign_of_exact(call: &Call) -> Result<Chunk> {
    let e = Exact::new(&call.args[0], &call.types[0]);
    call.rows().fixed(|i| {
        let v = e.get(i);
        Ok(Some(if v.is_zero() {
            0i64
        } else if v.is_negative() {
            -1
        } else {
            1
        }))
    })
}

/// Every bit of a string of bytes.
fn bits_of_bytes(call: &Call) -> Result<Chunk> {
    call.rows().fixed(|i| Ok(Some(call.bytes(0, i).iter().map(|b| b.count_ones() as i64).sum::<i64>())))
}

fn bits_of_number(call: &Call) -> Result<Chunk> {
    let e = Exact::new(&call.args[0], &call.types[0]);
    call.rows().fixed(|i| Ok(Some((e.get(i).lo as u64).count_ones() as i64)))
}

fn rand(call: &Call) -> Result<Chunk> {
    if call.len() == 0 {
        return call.all_rows().fixed(|_| Ok(Some(fastrand::f64())));
    }
    let constant = matches!(call.args[0], Vector::Const(_));
    let seed = |i: usize| if call.is_null(0, i) { 0 } else { call.int(0, i) };
    let mut state = call.state.rand.lock().map_err(|_| Error::internal("a poisoned lock"))?;
    call.all_rows().fixed(|i| {
        if !constant {
            return Ok(Some(rand_step(&mut rand_seed(seed(i)))));
        }
        Ok(Some(rand_step(state.get_or_insert_with(|| rand_seed(seed(0))))))
    })
}

fn interval(call: &Call) -> Result<Chunk> {
    let doubles = (0..call.len()).any(|k| is_double(call, k));
    let exact: Vec<Exact> =
        if doubles { Vec::new() } else { call.args.iter().zip(call.types).map(|(v, t)| Exact::new(v, t)).collect() };
    call.all_rows().fixed(|i| {
        if call.is_null(0, i) {
            return Ok(Some(-1i64));
        }
        let mut n = 0;
        for k in 1..call.len() {
            if call.is_null(k, i) {
                n = k as i64;
                continue;
            }
            let reached = if doubles {
                number(call, k, i) <= number(call, 0, i)
            } else {
                exact[k].decimal(i).cmp_value(&exact[0].decimal(i)).is_le()
            };
            if !reached {
                break;
            }
            n = k as i64;
        }
        Ok(Some(n))
    })
}

fn field(call: &Call) -> Result<Chunk> {
    let strings = call.types.iter().all(|t| t.is_string());
    let doubles = (0..call.len()).any(|k| is_double(call, k));
    let exact: Vec<Exact> = if strings || doubles {
        Vec::new()
    } else {
        call.args.iter().zip(call.types).map(|(v, t)| Exact::new(v, t)).collect()
    };
    let c = call.collation(0);
    call.all_rows().fixed(|i| {
        if call.is_null(0, i) {
            return Ok(Some(0i64));
        }
        let found = (1..call.len()).find(|&k| {
            !call.is_null(k, i)
                && if strings {
                    kernels::strings::eq(c, call.bytes(0, i), call.bytes(k, i))
                } else if doubles {
                    number(call, 0, i) == number(call, k, i)
                } else {
                    exact[0].decimal(i).eq_value(&exact[k].decimal(i))
                }
        });
        Ok(Some(found.unwrap_or(0) as i64))
    })
}
