//! Connectives, tests and membership.

use super::node::{Cx, Node};
use super::{Exact, Pred, Tri};
use crate::kernels::{LikeMatcher, Stopper, fixed, strings};
use crate::{CmpOp, ConstSet, Truth};
use std::sync::OnceLock;
use types::{Collation, Result, SqlType};
use vector::{Bitmap, Selection, Values, Vector};

/// The positions of `sel` where the predicate is TRUE.
pub(crate) fn narrow(p: Pred, sel: Selection) -> Selection {
    match p {
        Pred::Const(Some(true)) => sel,
        Pred::Const(_) => Selection::Some(Vec::new()),
        Pred::Rows(t) => keep(&t.truth, sel),
    }
}

/// The positions of `sel` whose bit is set.
pub(crate) fn keep(bits: &Bitmap, sel: Selection) -> Selection {
    match sel {
        Selection::All => Selection::from_bitmap(bits),
        Selection::Some(mut s) => {
            let mut n = 0;
            for k in 0..s.len() {
                let i = s[k];
                s[n] = i;
                n += bits.get(i as usize) as usize;
            }
            s.truncate(n);
            Selection::Some(s)
        }
    }
}

/// A value as a condition: not zero.
pub(crate) fn truth_of(v: &Vector, ty: &SqlType, rows: usize) -> Pred {
    let (chunk, constant) = v.chunk();
    let n = if constant { 1 } else { rows };
    let mut bits = Bitmap::zeros(n);
    macro_rules! nonzero {
        ($v:expr, $zero:expr) => {
            fixed::compare_const(CmpOp::Ne, &$v[..n], $zero, bits.words_mut())
        };
    }
    match &chunk.values {
        Values::I8(v) => nonzero!(v, 0),
        Values::U8(v) => nonzero!(v, 0),
        Values::I16(v) => nonzero!(v, 0),
        Values::U16(v) => nonzero!(v, 0),
        Values::I32(v) => nonzero!(v, 0),
        Values::U32(v) => nonzero!(v, 0),
        Values::I64(v) => nonzero!(v, 0),
        Values::U64(v) => nonzero!(v, 0),
        Values::I128(v) => nonzero!(v, 0),
        Values::I256(v) => nonzero!(v, types::I256::default()),
        Values::F32(v) => nonzero!(v, 0.0),
        Values::F64(v) => nonzero!(v, 0.0),
        // The builder turns strings into numbers first.
        Values::Str(_) | Values::Dict(_) => {}
    }
    let _ = ty;
    if constant {
        return Pred::Const(chunk.is_valid(0).then(|| bits.get(0)));
    }
    Pred::Rows(Tri::new(bits, chunk.validity.clone()))
}

pub(crate) fn is_null(v: &Vector, rows: usize) -> Pred {
    match v {
        Vector::Const(c) => Pred::Const(Some(!c.is_valid(0))),
        Vector::Flat(c) => match &c.validity {
            None => Pred::Const(Some(false)),
            Some(valid) => {
                debug_assert_eq!(valid.len(), rows);
                Pred::Rows(Tri { truth: valid.clone(), known: None }.not())
            }
        },
    }
}

pub(crate) fn is_truth(p: Pred, truth: Truth) -> Pred {
    match p {
        Pred::Const(b) => Pred::Const(Some(match truth {
            Truth::True => b == Some(true),
            Truth::False => b == Some(false),
            Truth::Unknown => b.is_none(),
        })),
        Pred::Rows(t) => Pred::Rows(match truth {
            Truth::True => Tri { truth: t.truth, known: None },
            Truth::False => Tri { truth: t.falsehood(), known: None },
            Truth::Unknown => match t.known {
                None => Tri::all(false, t.truth.len()),
                Some(k) => Tri { truth: k, known: None }.not(),
            },
        }),
    }
}

/// AND or OR; a term sees only the rows that the terms before it left open.
pub(crate) fn and_or(node: &Node, conjunction: bool, cx: &Cx, sel: &Selection) -> Result<Pred> {
    // `decided` is FALSE for AND, TRUE for OR: it ends the evaluation of a row.
    let mut sofar: Option<Tri> = None;
    let mut constant: Option<bool> = Some(conjunction);
    let mut open = sel.clone();
    for term in &node.args {
        if open.is_empty(cx.rows) {
            break;
        }
        match term.pred(cx, &open)? {
            Pred::Const(Some(b)) if b != conjunction => return Ok(Pred::Const(Some(b))),
            Pred::Const(Some(_)) => {}
            Pred::Const(None) => match sofar.take() {
                None => constant = None,
                Some(t) => sofar = Some(join(t, &Tri::null(cx.rows), conjunction)),
            },
            Pred::Rows(t) => {
                let t = match sofar.take() {
                    None => match constant {
                        Some(_) => t,
                        None => join(Tri::null(cx.rows), &t, conjunction),
                    },
                    Some(before) => join(before, &t, conjunction),
                };
                // Rows that are decided need no further term.
                let still_open = if conjunction { t.falsehood().clone_not() } else { t.truth.clone_not() };
                let left = still_open.count_ones();
                if left * 2 < open.count(cx.rows) || !matches!(open, Selection::All) || term_may_fail(node) {
                    open = keep(&still_open, open);
                }
                sofar = Some(t);
            }
        }
    }
    Ok(match sofar {
        Some(t) => Pred::Rows(t),
        None => Pred::Const(constant),
    })
}

fn term_may_fail(node: &Node) -> bool {
    !node.args.iter().all(|a| a.is_harmless())
}

fn join(a: Tri, b: &Tri, conjunction: bool) -> Tri {
    if conjunction { a.and(b) } else { a.or(b) }
}

trait CloneNot {
    fn clone_not(&self) -> Bitmap;
}

impl CloneNot for Bitmap {
    fn clone_not(&self) -> Bitmap {
        Tri { truth: self.clone(), known: None }.not().truth
    }
}

/// A prepared list of constants.
#[derive(Debug)]
pub(crate) enum InSet {
    Integers { set: IntSet, few: Vec<Vector>, scale: u8, has_null: bool },
    Strings { set: strings::StringSet, has_null: bool },
    Doubles { values: Vec<f64>, has_null: bool },
}

/// The least number from 0 on that is not among the values.
fn least_absent(values: &[i64]) -> i64 {
    let mut is_there = vec![false; values.len() + 1];
    for v in values {
        if let Some(there) = usize::try_from(*v).ok().and_then(|v| is_there.get_mut(v)) {
            *there = true;
        }
    }
    is_there.iter().position(|there| !there).expect("more places than values") as i64
}

/// Integers: a bit each from the least to the greatest, where that is not larger, or else an open-addressed table at
/// most a quarter full, where nearly every look-up ends at its first slot.
#[derive(Debug)]
pub(crate) struct IntSet {
    /// The least, and bits from there on; then there are no slots.
    dense: Option<(i64, Bitmap)>,
    slots: Vec<i64>,
    /// Stands for an empty slot; not in the set.
    empty: i64,
    shift: u32,
    /// What 64 bits do not hold, sorted.
    wide: Vec<i128>,
}

impl IntSet {
    fn new(values: &[i128]) -> IntSet {
        let mut wide: Vec<i128> = values.iter().copied().filter(|&v| i64::try_from(v).is_err()).collect();
        wide.sort_unstable();
        let narrow: Vec<i64> = values.iter().filter_map(|&v| i64::try_from(v).ok()).collect();
        let bits = (narrow.len() * 4).next_power_of_two().trailing_zeros().max(2);
        let span = narrow.iter().min().zip(narrow.iter().max()).map(|(min, max)| (*min, max.wrapping_sub(*min) as u64));
        if let Some((min, span)) = span.filter(|(_, span)| *span < (size_of::<i64>() as u64 * 8) << bits) {
            let mut there = Bitmap::zeros(span as usize + 1);
            narrow.iter().for_each(|v| there.set(v.wrapping_sub(min) as usize, true));
            return IntSet { dense: Some((min, there)), slots: Vec::new(), empty: 0, shift: 0, wide };
        }
        let empty = least_absent(&narrow);
        let mut set = IntSet { dense: None, slots: vec![empty; 1 << bits], empty, shift: 64 - bits, wide };
        for v in narrow {
            let mut at = set.home(v);
            while set.slots[at] != empty && set.slots[at] != v {
                at = (at + 1) & (set.slots.len() - 1);
            }
            set.slots[at] = v;
        }
        set
    }

    #[inline]
    fn home(&self, v: i64) -> usize {
        ((v as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> self.shift) as usize
    }

    #[inline]
    fn contains_i64(&self, v: i64) -> bool {
        if let Some((min, there)) = &self.dense {
            let at = v.wrapping_sub(*min) as u64;
            return at < there.len() as u64 && there.get(at as usize);
        }
        let mut at = self.home(v);
        loop {
            let s = self.slots[at];
            if s == v {
                return v != self.empty;
            }
            if s == self.empty {
                return false;
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
    }

    fn contains(&self, v: i128) -> bool {
        match i64::try_from(v) {
            Ok(v) => self.contains_i64(v),
            Err(_) => self.wide.binary_search(&v).is_ok(),
        }
    }
}

/// Up to this many integers are compared one by one, each in a vectorized loop.
const FEW: usize = 4;

impl InSet {
    fn build(items: &[Vector], item_types: &[SqlType], ty: &SqlType) -> Option<InSet> {
        let has_null = items.iter().any(|v| !v.is_valid(0));
        let valid = || items.iter().zip(item_types).filter(|(v, _)| v.is_valid(0));
        Some(match ty {
            SqlType::String { collation, .. } => {
                let mut set = strings::StringSet::new(*collation);
                for (v, _) in valid() {
                    set.insert(v.bytes(0));
                }
                InSet::Strings { set, has_null }
            }
            SqlType::Double | SqlType::Float => {
                let mut values = Vec::new();
                for (v, _) in valid() {
                    match &v.chunk().0.values {
                        Values::F64(x) => values.push(x[0]),
                        Values::F32(x) => values.push(x[0] as f64),
                        _ => return None,
                    }
                }
                InSet::Doubles { values: sorted(values), has_null }
            }
            _ => {
                let scale = if let SqlType::Decimal { scale, .. } = ty { *scale } else { 0 };
                let mut values = Vec::new();
                let mut few = Vec::new();
                for (v, t) in valid() {
                    let e = Exact::new(v, t);
                    if e.scale != scale {
                        return None;
                    }
                    values.push(e.get(0).to_i128()?);
                    few.push(v.clone());
                }
                if few.len() > FEW {
                    few.clear();
                }
                InSet::Integers { set: IntSet::new(&values), few, scale, has_null }
            }
        })
    }

    /// Of values in one chunk.
    fn of(set: &ConstSet, ty: &SqlType) -> InSet {
        let chunk = set.chunk();
        let has_null = set.has_null();
        let valid = || (0..chunk.len()).filter(|&i| chunk.is_valid(i));
        match (ty, &chunk.values) {
            (SqlType::String { collation, .. }, Values::Str(texts)) => {
                let mut set = strings::StringSet::new(*collation);
                valid().for_each(|i| set.insert(texts.bytes(i)));
                InSet::Strings { set, has_null }
            }
            (SqlType::Double | SqlType::Float, Values::F64(v)) => {
                InSet::Doubles { values: sorted(valid().map(|i| v[i]).collect()), has_null }
            }
            (SqlType::Double | SqlType::Float, Values::F32(v)) => {
                InSet::Doubles { values: sorted(valid().map(|i| v[i] as f64).collect()), has_null }
            }
            _ => {
                let scale = if let SqlType::Decimal { scale, .. } = ty { *scale } else { 0 };
                let flat = Vector::Flat(chunk.clone().into());
                let e = Exact::new(&flat, &set.ty());
                let values: Vec<i128> =
                    valid().map(|i| e.get(i).to_i128().expect("the set has nothing wider")).collect();
                InSet::Integers { set: IntSet::new(&values), few: Vec::new(), scale, has_null }
            }
        }
    }

    fn has_null(&self) -> bool {
        match self {
            InSet::Integers { has_null, .. } | InSet::Strings { has_null, .. } | InSet::Doubles { has_null, .. } => {
                *has_null
            }
        }
    }
}

/// Zeros of both signs are one.
fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.iter_mut().for_each(|v| *v += 0.0);
    values.sort_unstable_by(f64::total_cmp);
    values
}

fn holds(sorted: &[f64], v: f64) -> bool {
    sorted.binary_search_by(|x| x.total_cmp(&(v + 0.0))).is_ok()
}

/// `expr IN (constants)`, not negated.
pub(crate) fn in_const_set(
    node: &Node,
    set: &ConstSet,
    prepared: &OnceLock<InSet>,
    cx: &Cx,
    sel: &Selection,
) -> Result<Pred> {
    let v = node.args[0].eval(cx, sel)?;
    let ty = &node.args[0].ty;
    let prepared = prepared.get_or_init(|| InSet::of(set, ty));
    in_set(prepared, &v, ty, cx.rows, sel)?
        .ok_or_else(|| types::Error::internal("a set of another kind than its values"))
}

/// `expr IN (list)`, not negated.
pub(crate) fn in_list(node: &Node, set: &OnceLock<Option<InSet>>, cx: &Cx, sel: &Selection) -> Result<Pred> {
    let v = node.args[0].eval(cx, sel)?;
    let ty = &node.args[0].ty;
    let list = &node.args[1..];
    let prepared = match set.get() {
        Some(p) => p,
        // Asked of the list once: it may be long.
        None if list.iter().all(|n| n.is_fixed()) => {
            let one = Cx { columns: &[], rows: 1, ctx: cx.ctx };
            let items = list.iter().map(|n| n.eval(&one, &Selection::All)).collect::<Result<Vec<_>>>()?;
            let types: Vec<SqlType> = list.iter().map(|n| n.ty).collect();
            set.get_or_init(|| InSet::build(&items, &types, ty))
        }
        None => set.get_or_init(|| None),
    };
    if let Some(p) = prepared
        && let Some(pred) = in_set(p, &v, ty, cx.rows, sel)?
    {
        return Ok(pred);
    }
    // Items of the row itself, or parameters: an OR of comparisons.
    let mut result = Pred::Const(Some(false));
    for n in list {
        let item = n.eval(cx, sel)?;
        let p = super::compare::compare(CmpOp::Eq, &v, ty, &item, &n.ty, cx.rows, sel)?;
        result = match (result, p) {
            (Pred::Const(Some(true)), _) | (_, Pred::Const(Some(true))) => Pred::Const(Some(true)),
            (Pred::Const(Some(false)), p) => p,
            (r, Pred::Const(Some(false))) => r,
            (Pred::Const(None), Pred::Const(None)) => Pred::Const(None),
            (a, b) => Pred::Rows(a.into_tri(cx.rows).or(&b.into_tri(cx.rows))),
        };
    }
    Ok(result)
}

fn in_set(set: &InSet, v: &Vector, ty: &SqlType, rows: usize, sel: &Selection) -> Result<Option<Pred>> {
    let (chunk, constant) = v.chunk();
    let (rows, all) = if constant { (1, Selection::All) } else { (rows, Selection::All) };
    let sel = if constant { &all } else { sel };
    if constant && !chunk.is_valid(0) {
        return Ok(Some(Pred::Const(None)));
    }
    let mut truth = Bitmap::zeros(rows);
    match set {
        InSet::Integers { few, scale, .. } if !few.is_empty() => {
            let flat = Vector::Flat(chunk.clone());
            for item in few {
                let item_ty = integer_type(item, ty, *scale);
                let p = super::compare::compare(CmpOp::Eq, &flat, ty, item, &item_ty, rows, sel)?;
                truth.or(&p.into_tri(rows).truth);
            }
        }
        InSet::Integers { set, .. } => {
            let e = Exact::new(v, ty);
            match &e.lane {
                super::Lane::I64(x) => match (sel, &set.dense) {
                    (Selection::All, Some((min, there))) => {
                        let is_there = |at: u64| at < there.len() as u64 && there.get(at as usize);
                        truth = Bitmap::from_fn(rows, |i| is_there(x[i].wrapping_sub(*min) as u64));
                    }
                    _ => sel.for_each(rows, |i| truth.set(i, set.contains_i64(x[i]))),
                },
                super::Lane::I128(x) => sel.for_each(rows, |i| truth.set(i, set.contains(x[i]))),
                super::Lane::I256(x) => {
                    sel.for_each(rows, |i| truth.set(i, x[i].to_i128().is_some_and(|x| set.contains(x))));
                }
            }
        }
        InSet::Strings { set, .. } => strings::in_set(set, v, rows, sel, &mut truth),
        InSet::Doubles { values, .. } => match &chunk.values {
            Values::F64(x) => sel.for_each(rows, |i| truth.set(i, holds(values, x[i]))),
            Values::F32(x) => sel.for_each(rows, |i| truth.set(i, holds(values, x[i] as f64))),
            _ => return Ok(None),
        },
    }
    if constant {
        let found = truth.get(0);
        return Ok(Some(Pred::Const(if !found && set.has_null() { None } else { Some(found) })));
    }
    let mut tri = Tri::new(truth, chunk.validity.clone());
    if set.has_null() {
        // Not found among the others: unknown.
        tri.known = Some(tri.truth.clone());
    }
    Ok(Some(Pred::Rows(tri)))
}

fn integer_type(item: &Vector, ty: &SqlType, scale: u8) -> SqlType {
    match ty {
        SqlType::Decimal { precision, .. } => SqlType::Decimal { precision: *precision, scale },
        _ => match item.chunk().0.values.phys() {
            types::PhysType::U64 => SqlType::BIGINT_UNSIGNED,
            _ => *ty,
        },
    }
}

/// `expr LIKE pattern`, not negated.
pub(crate) fn like(
    node: &Node,
    escape: Option<char>,
    matcher: &OnceLock<Option<LikeMatcher>>,
    cx: &Cx,
    sel: &Selection,
) -> Result<Pred> {
    let v = node.args[0].eval(cx, sel)?;
    let collation = node.args[0].ty.collation().unwrap_or(Collation::Binary);
    let pattern = node.args[1].eval(cx, sel)?;
    let ask: types::Ask<'_> = &|| cx.ctx.check_killed();
    let (chunk, constant) = v.chunk();
    if constant && !chunk.is_valid(0) {
        return Ok(Pred::Const(None));
    }
    if let Vector::Const(p) = &pattern {
        if !p.is_valid(0) {
            return Ok(Pred::Const(None));
        }
        let own;
        let m = if node.args[1].is_fixed() {
            matcher.get_or_init(|| Some(LikeMatcher::new(pattern.bytes(0), escape, collation)))
        } else {
            own = Some(LikeMatcher::new(pattern.bytes(0), escape, collation));
            &own
        };
        let Some(m) = m else { return Err(types::Error::internal("LIKE without a matcher")) };
        if constant {
            let stopper = Stopper::new(ask);
            let holds = m.matches(v.bytes(0), &stopper);
            stopper.finish()?;
            return Ok(Pred::Const(Some(holds)));
        }
        let mut truth = Bitmap::zeros(cx.rows);
        strings::like(m, &v, cx.rows, sel, &mut truth, ask)?;
        return Ok(Pred::Rows(Tri::new(truth, chunk.validity.clone())));
    }
    let mut truth = Bitmap::zeros(cx.rows);
    let mut known = Bitmap::zeros(cx.rows);
    let stopper = Stopper::new(ask);
    sel.for_each(cx.rows, |i| {
        if v.is_valid(i) && pattern.is_valid(i) {
            known.set(i, true);
            truth.set(i, LikeMatcher::new(pattern.bytes(i), escape, collation).matches(v.bytes(i), &stopper));
        }
    });
    stopper.finish()?;
    Ok(Pred::Rows(Tri { truth, known: Some(known) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_of_integers_hold_what_was_put_in() {
        let lists: [&[i128]; 7] = [
            &[],
            &[0],
            &[5, 6, 9, 70, 71],
            &[-3, 0, 1, 2, 3],
            &[i64::MIN as i128, -1, i64::MAX as i128],
            &[1, 1_000_000_007, -9_000_000_000],
            &[7, u64::MAX as i128, -(1 << 80)],
        ];
        for list in lists {
            let set = IntSet::new(list);
            let near = list.iter().flat_map(|v| [v - 1, *v, v + 1]).chain([0, -1, i64::MAX as i128]);
            for v in near {
                assert_eq!(set.contains(v), list.contains(&v), "{v} in {list:?}");
            }
        }
        assert!(IntSet::new(&[5, 6, 9]).dense.is_some() && IntSet::new(&[5, 6, 1 << 40]).dense.is_none());
    }
}
