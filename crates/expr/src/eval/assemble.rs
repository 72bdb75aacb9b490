//! CASE and COALESCE: branches evaluated for the rows that reach them, results put together by position.

use super::logic::keep;
use super::node::{Cx, Node, Op};
use super::{Exact, Lane, Pred};
use crate::kernels;
use std::sync::Arc;
use types::{I256, Result, SqlType};
use vector::{Bitmap, Bounds, Chunk, Native, Selection, StrHeap, StrValues, StrView, Values, Vector};

/// `CASE WHEN .. THEN .. [ELSE ..] END`: `node.args` holds conditions and values in turn.
pub(crate) fn case(node: &Node, otherwise: bool, cx: &Cx, sel: &Selection) -> Result<Vector> {
    if node.args.len() == 3 && otherwise && sel.count(cx.rows) * 4 > cx.rows {
        let cheap = |n: &Node| matches!(n.op, Op::Column(_) | Op::Const(_)) || (n.is_fixed() && n.is_harmless());
        if cheap(&node.args[1])
            && cheap(&node.args[2])
            && !node.ty.is_string()
            && let Some(v) = blend(node, cx, sel)?
        {
            return Ok(v);
        }
    }
    let mut open = sel.clone();
    let mut parts: Vec<(Selection, Vector)> = Vec::new();
    let pairs = node.args.len() / 2;
    for k in 0..pairs {
        if open.is_empty(cx.rows) {
            break;
        }
        let (taken, left) = match node.args[2 * k].pred(cx, &open)? {
            Pred::Const(Some(true)) => (std::mem::replace(&mut open, Selection::Some(Vec::new())), None),
            Pred::Const(_) => continue,
            Pred::Rows(t) => {
                let taken = keep(&t.truth, open.clone());
                let mut rest = kernels::complement(&t.truth);
                rest.resize(cx.rows);
                (taken, Some(keep(&rest, open.clone())))
            }
        };
        if let Some(left) = left {
            open = left;
        }
        if !taken.is_empty(cx.rows) {
            let v = node.args[2 * k + 1].eval(cx, &taken)?;
            parts.push((taken, v));
        }
    }
    if otherwise && !open.is_empty(cx.rows) {
        let v = node.args[2 * pairs].eval(cx, &open)?;
        parts.push((open, v));
    }
    assemble(&node.ty, cx.rows, sel, parts)
}

/// `CASE WHEN c THEN a ELSE b END` of values that cost nothing: both everywhere, one of them picked. None if their
/// arrays do not fit together.
fn blend(node: &Node, cx: &Cx, sel: &Selection) -> Result<Option<Vector>> {
    let a = node.args[1].eval(cx, sel)?;
    let b = node.args[2].eval(cx, sel)?;
    let (ac, bc) = (a.chunk().0, b.chunk().0);
    let (Values::I64(x), Values::I64(y)) = (&ac.values, &bc.values) else { return Ok(None) };
    if ac.validity.is_some() || bc.validity.is_some() {
        return Ok(None);
    }
    let tri = match node.args[0].pred(cx, sel)? {
        Pred::Const(Some(true)) => return Ok(Some(a)),
        Pred::Const(_) => return Ok(Some(b)),
        Pred::Rows(t) => t,
    };
    let mut out = vec![0i64; cx.rows];
    let (x_const, y_const) = (matches!(a, Vector::Const(_)), matches!(b, Vector::Const(_)));
    for (w, (chunk, &bits)) in out.chunks_mut(64).zip(tri.truth.words()).enumerate() {
        let at = w * 64;
        for (k, o) in chunk.iter_mut().enumerate() {
            let p = x[if x_const { 0 } else { at + k }];
            let q = y[if y_const { 0 } else { at + k }];
            *o = if bits >> k & 1 != 0 { p } else { q };
        }
    }
    let mut chunk = Chunk::new(Values::I64(out), None);
    chunk.bounds = bounds(&[(Selection::All, a), (Selection::All, b)], &node.ty);
    Ok(Some(Vector::flat(chunk)))
}

/// COALESCE, IFNULL.
pub(crate) fn coalesce(node: &Node, cx: &Cx, sel: &Selection) -> Result<Vector> {
    let mut open = sel.clone();
    let mut parts: Vec<(Selection, Vector)> = Vec::new();
    for arg in &node.args {
        if open.is_empty(cx.rows) {
            break;
        }
        let v = arg.eval(cx, &open)?;
        match &v {
            Vector::Const(c) if !c.is_valid(0) => {}
            Vector::Flat(c) if c.validity.is_some() => {
                let valid = c.validity.as_ref().expect("just tested");
                let taken = keep(valid, open.clone());
                open = keep(&kernels::complement(valid), open);
                if !taken.is_empty(cx.rows) {
                    parts.push((taken, v));
                }
            }
            _ => parts.push((std::mem::replace(&mut open, Selection::Some(Vec::new())), v)),
        }
    }
    assemble(&node.ty, cx.rows, sel, parts)
}

/// One vector of values that come from `parts`, each at its positions; selected positions of no part are NULL.
pub(crate) fn assemble(ty: &SqlType, rows: usize, sel: &Selection, parts: Vec<(Selection, Vector)>) -> Result<Vector> {
    if parts.is_empty() {
        return Ok(kernels::null_vector(ty));
    }
    if parts.len() == 1 && parts[0].0.count(rows) == sel.count(rows) {
        return Ok(parts.into_iter().next().expect("one part").1);
    }
    let mut valid = Bitmap::zeros(rows);
    for (s, v) in &parts {
        let (c, constant) = v.chunk();
        s.for_each(rows, |i| valid.set(i, c.is_valid(if constant { 0 } else { i })));
    }
    let values = if ty.is_string() { strings(rows, &parts) } else { numbers(ty, rows, &parts)? };
    let missing_is_fine = match sel {
        Selection::All => valid.all(),
        Selection::Some(s) => s.iter().all(|&i| valid.get(i as usize)),
    };
    let mut chunk = Chunk::new(values, (!missing_is_fine).then_some(valid));
    chunk.bounds = bounds(&parts, ty);
    Ok(Vector::flat(chunk))
}

fn bounds(parts: &[(Selection, Vector)], ty: &SqlType) -> Option<Bounds> {
    let mut all: Option<Bounds> = None;
    for (_, v) in parts {
        let (c, constant) = v.chunk();
        if constant && !c.is_valid(0) {
            continue;
        }
        if matches!(c.values, Values::F32(_) | Values::F64(_) | Values::Str(_) | Values::Dict(_)) {
            return None;
        }
        let b = match (constant, c.bounds) {
            (true, _) => {
                let x = Exact::new(v, ty).get(0).to_i64()?;
                Bounds { min: x, max: x }
            }
            (false, Some(b)) => b,
            (false, None) => return None,
        };
        all = Some(match all {
            None => b,
            Some(a) => Bounds { min: a.min.min(b.min), max: a.max.max(b.max) },
        });
    }
    // Positions of no part hold zeros, but they are NULL or not selected.
    all
}

fn scatter<T: Copy>(out: &mut [T], sel: &Selection, from: &[T], constant: bool) {
    match (sel, constant) {
        (Selection::All, true) => out.fill(from[0]),
        (Selection::All, false) => out.copy_from_slice(&from[..out.len()]),
        (Selection::Some(s), true) => s.iter().for_each(|&i| out[i as usize] = from[0]),
        (Selection::Some(s), false) => s.iter().for_each(|&i| out[i as usize] = from[i as usize]),
    }
}

fn is_null_const(v: &Vector) -> bool {
    matches!(v, Vector::Const(c) if !c.is_valid(0))
}

fn numbers(ty: &SqlType, rows: usize, parts: &[(Selection, Vector)]) -> Result<Values> {
    fn same<T: Native>(rows: usize, parts: &[(Selection, Vector)]) -> Option<Values> {
        let mut out = vec![T::default(); rows];
        for (s, v) in parts {
            if is_null_const(v) {
                continue;
            }
            let (c, constant) = v.chunk();
            scatter(&mut out, s, T::slice(&c.values)?, constant);
        }
        Some(T::wrap(out))
    }
    let Some(first) = parts.iter().find(|(_, v)| !is_null_const(v)) else {
        let mut v = Values::with_capacity(ty.phys(), rows);
        (0..rows).for_each(|_| v.push_default());
        return Ok(v);
    };
    macro_rules! try_same {
        ($($variant:ident => $t:ty),*) => {
            match &first.1.chunk().0.values {
                $(Values::$variant(_) => same::<$t>(rows, parts),)*
                _ => None,
            }
        };
    }
    let done = try_same!(I8 => i8, U8 => u8, I16 => i16, U16 => u16, I32 => i32, U32 => u32, I64 => i64, U64 => u64,
        I128 => i128, I256 => I256, F32 => f32, F64 => f64);
    if let Some(v) = done {
        return Ok(v);
    }
    // Carriers differ: the widest.
    let lanes: Vec<(&Selection, Exact)> =
        parts.iter().filter(|(_, v)| !is_null_const(v)).map(|(s, v)| (s, Exact::new(v, ty))).collect();
    if lanes.iter().any(|(_, e)| matches!(e.lane, Lane::I256(_))) {
        let mut out = vec![I256::default(); rows];
        for (s, e) in &lanes {
            s.for_each(rows, |i| out[i] = e.get(i));
        }
        return Ok(Values::I256(out));
    }
    let mut out = vec![0i128; rows];
    for (s, e) in &lanes {
        let x = e.to_i128().ok_or_else(|| types::Error::internal("a 256-bit lane among 128-bit ones"))?;
        scatter(&mut out, s, &x, e.constant);
    }
    kernels::narrow_to(out, ty)
}

fn strings(rows: usize, parts: &[(Selection, Vector)]) -> Values {
    let mut views = vec![StrView::EMPTY; rows];
    let mut heap = StrHeap::default();
    for (s, v) in parts {
        if is_null_const(v) {
            continue;
        }
        let (c, constant) = v.chunk();
        let owned;
        let from = match &c.values {
            Values::Str(s) => s,
            Values::Dict(d) => {
                owned = d.to_str();
                &owned
            }
            _ => continue,
        };
        let base = heap.push_blocks(&from.heap);
        let moved = |view: &StrView| -> StrView {
            if view.is_inline() || base == 0 {
                return *view;
            }
            let (block, offset) = view.location();
            StrView::pointing(view.bytes(&from.heap), base + block, offset)
        };
        s.for_each(rows, |i| views[i] = moved(&from.views[if constant { 0 } else { i }]));
    }
    Values::Str(StrValues { views, heap: Arc::new(heap) })
}
