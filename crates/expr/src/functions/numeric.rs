//! Numeric functions.

use super::Function;
use super::eval::Call;
use crate::eval::{Exact, Lane};
use crate::kernels;
use types::{Decimal, Error, I256, Result, SqlType};
use vector::{Chunk, Selection, Values};

/// One double in, one out; not finite is error 1690.
fn double(call: &Call, rows: usize, sel: &Selection, f: impl Fn(f64) -> Option<f64>) -> Result<Chunk> {
    call.rows(rows, sel).fixed(|i| match f(call.double(0, i)) {
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
fn exact(
    call: &Call,
    rows: usize,
    sel: &Selection,
    mut f: impl FnMut(Decimal, usize) -> Result<Option<Decimal>>,
) -> Result<Chunk> {
    let e = Exact::new(&call.args[0], &call.types[0]);
    let ty = call.ty();
    let scale = if let SqlType::Decimal { scale, .. } = ty { scale } else { 0 };
    let bounds = crate::eval::type_bounds(&ty);
    let kind = match ty {
        SqlType::Decimal { .. } => "DECIMAL",
        t if t.is_unsigned() => "BIGINT UNSIGNED",
        _ => "BIGINT",
    };
    let mut wide: Vec<I256> = vec![I256::default(); rows];
    let chunk = call.rows(rows, sel).fixed(|i| {
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

/// Numeric functions; None if the function is none of them.
pub(crate) fn eval(call: &Call, rows: usize, sel: &Selection) -> Result<Option<Chunk>> {
    use Function::*;
    let r = call.rows(rows, sel);
    Ok(Some(match call.function {
        Abs if is_double(call, 0) => double(call, rows, sel, |v| Some(v.abs()))?,
        Abs => exact(call, rows, sel, |d, _| Ok(Some(d.abs())))?,
        Ceil if is_double(call, 0) => double(call, rows, sel, |v| Some(v.ceil()))?,
        Ceil => exact(call, rows, sel, |d, _| Ok(Some(d.ceil())))?,
        Floor if is_double(call, 0) => double(call, rows, sel, |v| Some(v.floor()))?,
        Floor => exact(call, rows, sel, |d, _| Ok(Some(d.floor())))?,
        Round | Truncate => {
            let truncate = call.function == Truncate;
            let constant_places = match call.args.get(1) {
                None => Some(0),
                Some(vector::Vector::Const(_)) => Some(call.int(1, 0)),
                _ => None,
            };
            if is_double(call, 0) {
                r.fixed(|i| {
                    let places = if call.len() > 1 { call.int(1, i) } else { 0 };
                    Ok(Some(round_double(call.double(0, i), places, truncate)))
                })?
            } else if let Some(c) = constant_places.and_then(|p| round_i64(call, p, truncate)) {
                c
            } else {
                exact(call, rows, sel, |d, i| {
                    let places = if call.len() > 1 { call.int(1, i).clamp(-100, 100) as i32 } else { 0 };
                    let v = if truncate { d.truncate_at(places) } else { d.round_at(places) };
                    v.map(Some).ok_or_else(|| out_of_range(call, "DECIMAL"))
                })?
            }
        }
        Pow => r.fixed(|i| {
            let v = call.double(0, i).powf(call.double(1, i));
            if v.is_finite() { Ok(Some(v)) } else { Err(out_of_range(call, "DOUBLE")) }
        })?,
        Sqrt => double(call, rows, sel, |v| (v >= 0.0).then(|| v.sqrt()))?,
        Exp => double(call, rows, sel, |v| Some(v.exp()))?,
        Ln => r.fixed(|i| logarithm(call, call.double(0, i), f64::ln))?,
        Log2 => r.fixed(|i| logarithm(call, call.double(0, i), f64::log2))?,
        Log10 => r.fixed(|i| logarithm(call, call.double(0, i), f64::log10))?,
        Log if call.len() == 1 => r.fixed(|i| logarithm(call, call.double(0, i), f64::ln))?,
        Log => r.fixed(|i| {
            let (base, v) = (call.double(0, i), call.double(1, i));
            if base == 1.0 {
                return logarithm(call, 0.0, f64::ln);
            }
            match logarithm(call, base, f64::ln)? {
                Some(b) => logarithm(call, v, |v| v.ln() / b),
                None => Ok(None),
            }
        })?,
        Sin => double(call, rows, sel, |v| Some(v.sin()))?,
        Cos => double(call, rows, sel, |v| Some(v.cos()))?,
        Tan => double(call, rows, sel, |v| Some(v.tan()))?,
        Cot => double(call, rows, sel, |v| Some(1.0 / v.tan()))?,
        Asin => double(call, rows, sel, |v| (-1.0..=1.0).contains(&v).then(|| v.asin()))?,
        Acos => double(call, rows, sel, |v| (-1.0..=1.0).contains(&v).then(|| v.acos()))?,
        Atan if call.len() == 2 => r.fixed(|i| Ok(Some(call.double(0, i).atan2(call.double(1, i)))))?,
        Atan => double(call, rows, sel, |v| Some(v.atan()))?,
        Pi => r.fixed(|_| Ok(Some(std::f64::consts::PI)))?,
        Degrees => double(call, rows, sel, |v| Some(v.to_degrees()))?,
        Radians => double(call, rows, sel, |v| Some(v.to_radians()))?,
        Sign if is_double(call, 0) => r.fixed(|i| {
            let v = call.double(0, i);
            Ok(Some(if v > 0.0 {
                1i64
            } else if v < 0.0 {
                -1
            } else {
                0
            }))
        })?,
        Sign => {
            let e = Exact::new(&call.args[0], &call.types[0]);
            r.fixed(|i| {
                let v = e.get(i);
                Ok(Some(if v.is_zero() {
                    0i64
                } else if v.is_negative() {
                    -1
                } else {
                    1
                }))
            })?
        }
        // Every bit of a string of bytes.
        BitCount if call.types[0].is_string() => {
            r.fixed(|i| Ok(Some(call.bytes(0, i).iter().map(|b| b.count_ones() as i64).sum::<i64>())))?
        }
        BitCount => {
            let e = Exact::new(&call.args[0], &call.types[0]);
            r.fixed(|i| Ok(Some((e.get(i).lo as u64).count_ones() as i64)))?
        }
        Crc32 => r.fixed(|i| Ok(Some(crc32fast::hash(call.bytes(0, i)) as u64)))?,
        Rand if call.len() == 0 => call.all_rows(rows, sel).fixed(|_| Ok(Some(fastrand::f64())))?,
        Rand => {
            let constant = matches!(call.args[0], vector::Vector::Const(_));
            let seed = |i: usize| if call.is_null(0, i) { 0 } else { call.int(0, i) };
            let mut state = call.state.rand.lock().map_err(|_| Error::internal("a poisoned lock"))?;
            call.all_rows(rows, sel).fixed(|i| {
                if !constant {
                    return Ok(Some(rand_step(&mut rand_seed(seed(i)))));
                }
                Ok(Some(rand_step(state.get_or_insert_with(|| rand_seed(seed(0))))))
            })?
        }
        Interval => {
            let doubles = (0..call.len()).any(|k| is_double(call, k));
            let exact: Vec<Exact> = if doubles {
                Vec::new()
            } else {
                call.args.iter().zip(call.types).map(|(v, t)| Exact::new(v, t)).collect()
            };
            call.all_rows(rows, sel).fixed(|i| {
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
            })?
        }
        Field => {
            let strings = call.types.iter().all(|t| t.is_string());
            let doubles = (0..call.len()).any(|k| is_double(call, k));
            let exact: Vec<Exact> = if strings || doubles {
                Vec::new()
            } else {
                call.args.iter().zip(call.types).map(|(v, t)| Exact::new(v, t)).collect()
            };
            let c = call.collation(0);
            call.all_rows(rows, sel).fixed(|i| {
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
            })?
        }
        _ => return Ok(None),
    }))
}

/// Any number as a double.
fn number(call: &Call, k: usize, i: usize) -> f64 {
    if is_double(call, k) { call.double(k, i) } else { Exact::new(&call.args[k], &call.types[k]).decimal(i).to_f64() }
}
