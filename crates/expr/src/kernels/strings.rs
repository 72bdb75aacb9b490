//! Strings under a collation: comparison, equality and membership, over views and dictionaries.
//!
//! Views decide most comparisons without touching a heap: equal words of inline views are equal strings under every
//! collation, and under the default collation first letters that differ (case aside) decide inequality.

use super::fixed::test;
use super::like::{LikeMatcher, Stopper};
use crate::CmpOp;
use std::cmp::Ordering;
use types::Collation;
use vector::{Bitmap, DictValues, Selection, StrValues, StrView, Values, Vector};

/// What a dictionary's entries answer, spread over the codes; only entries of selected rows are asked where those are
/// few.
fn by_code(d: &DictValues, sel: &Selection, out: &mut Bitmap, mut f: impl FnMut(&[u8]) -> bool) {
    let entries = d.dict.strings.views.len();
    if let Selection::Some(at) = sel
        && at.len() < entries
    {
        let mut answers = [None; 256];
        for &i in at {
            let code = d.codes[i as usize] as usize;
            // A NULL's code may be anything.
            if code < entries {
                let answer = *answers[code].get_or_insert_with(|| f(d.dict.strings.bytes(code)));
                out.set(i as usize, answer);
            }
        }
        return;
    }
    let mut table = [false; 256];
    for (c, t) in table.iter_mut().enumerate().take(entries) {
        *t = f(d.dict.strings.bytes(c));
    }
    for (w, codes) in out.words_mut().iter_mut().zip(d.codes.chunks(64)) {
        let mut bits = 0u64;
        for (k, &c) in codes.iter().enumerate() {
            bits |= (table[c as usize] as u64) << k;
        }
        *w = bits;
    }
}

/// What an ASCII letter or digit counts as where case does not matter; 0 for other bytes.
const CLASS: [u8; 256] = {
    let mut t = [0u8; 256];
    let mut b = 0;
    while b < 256 {
        if (b as u8).is_ascii_alphanumeric() {
            t[b] = (b as u8).to_ascii_lowercase();
        }
        b += 1;
    }
    t
};

/// The collation's order. First letters or digits that differ (case aside) decide: every collation orders them as ASCII
/// does, in one case.
#[inline]
pub fn cmp(c: Collation, a: &[u8], b: &[u8]) -> Ordering {
    if !c.is_bin() && c != Collation::Binary {
        let first = |s: &[u8]| s.first().map_or(0, |&x| CLASS[x as usize]);
        let (x, y) = (first(a), first(b));
        if x != 0 && y != 0 && x != y {
            return x.cmp(&y);
        }
    }
    c.compare(a, b)
}

fn ordering_holds(op: CmpOp, o: Ordering) -> bool {
    test(op, o as i8, 0)
}

/// Bits of `l op r`, NULLs not considered. `l` is flat unless `rows` is 1.
pub fn compare(op: CmpOp, c: Collation, l: &Vector, r: &Vector, rows: usize, sel: &Selection, out: &mut Bitmap) {
    let equality = matches!(op, CmpOp::Eq | CmpOp::Ne | CmpOp::NullSafeEq);
    let negated = op == CmpOp::Ne;
    if let (Vector::Flat(a), Vector::Const(_)) = (l, r) {
        let right = r.bytes(0);
        match &a.values {
            Values::Dict(d) if d.dict.strings.views.len() <= rows => {
                by_code(d, sel, out, |x| {
                    if equality { c.eq(x, right) != negated } else { ordering_holds(op, cmp(c, x, right)) }
                });
            }
            Values::Str(s) if equality => {
                eq_const(c, s, right, negated, rows, sel, out);
            }
            _ => sel.for_each(rows, |i| {
                let x = l.bytes(i);
                let holds = if equality { c.eq(x, right) != negated } else { ordering_holds(op, cmp(c, x, right)) };
                out.set(i, holds);
            }),
        }
        return;
    }
    if equality {
        sel.for_each(rows, |i| out.set(i, eq(c, l.bytes(i), r.bytes(i)) != negated));
    } else {
        sel.for_each(rows, |i| out.set(i, ordering_holds(op, cmp(c, l.bytes(i), r.bytes(i)))));
    }
}

/// Equality with the cheap answers first.
#[inline]
pub fn eq(c: Collation, a: &[u8], b: &[u8]) -> bool {
    a == b || (!c.is_bytewise() && c.eq(a, b))
}

fn eq_const(c: Collation, s: &StrValues, right: &[u8], negated: bool, rows: usize, sel: &Selection, out: &mut Bitmap) {
    let inline = right.len() <= vector_inline_max();
    if c.is_bytewise() {
        if inline {
            let word = StrView::inline(right).word();
            sel.for_each(rows, |i| out.set(i, (s.views[i].word() == word) != negated));
        } else {
            let prefix = [right[0], right[1], right[2], right[3]];
            sel.for_each(rows, |i| {
                let v = &s.views[i];
                let same = v.len() == right.len() && v.prefix() == prefix && v.bytes(&s.heap) == right;
                out.set(i, same != negated);
            });
        }
        return;
    }
    // First letters or digits that differ (case aside) decide. A first byte of another kind, or an empty string where
    // padding counts, goes to the collation.
    let word = if inline { Some(StrView::inline(right).word()) } else { None };
    let first = right.first().map_or(0, |&b| CLASS[b as usize]);
    let mut open = [true; 256];
    if first != 0 {
        for (b, o) in open.iter_mut().enumerate() {
            *o = CLASS[b] == 0 || CLASS[b] == first;
        }
    }
    let mut undecided: Vec<u16> = Vec::new();
    for (at, (w, views)) in out.words_mut().iter_mut().zip(s.views[..rows].chunks(64)).enumerate() {
        let (mut equal, mut maybe) = (0u64, 0u64);
        for (k, v) in views.iter().enumerate() {
            equal |= ((Some(v.word()) == word) as u64) << k;
            maybe |= (open[v.prefix()[0] as usize] as u64) << k;
        }
        *w = equal;
        let mut rest = maybe & !equal;
        while rest != 0 {
            undecided.push((at * 64 + rest.trailing_zeros() as usize) as u16);
            rest &= rest - 1;
        }
    }
    let decide = |i: usize, out: &mut Bitmap| out.set(i, c.eq(s.views[i].bytes(&s.heap), right));
    match sel {
        Selection::All => undecided.iter().for_each(|&i| decide(i as usize, out)),
        Selection::Some(p) => {
            let mut wanted = Bitmap::zeros(rows);
            p.iter().for_each(|&i| wanted.set(i as usize, true));
            undecided.iter().filter(|&&i| wanted.get(i as usize)).for_each(|&i| decide(i as usize, out));
        }
    }
    if negated {
        *out = super::complement(out);
    }
}

const fn vector_inline_max() -> usize {
    12
}

/// A set of strings that are different under a collation: an open-addressed table of their numbers, at most half full.
#[derive(Debug)]
pub struct StringSet {
    collation: Collation,
    items: StrValues,
    slots: Vec<u32>,
}

const EMPTY: u32 = u32::MAX;

impl StringSet {
    pub fn new(collation: Collation) -> StringSet {
        StringSet { collation, items: StrValues::default(), slots: vec![EMPTY; 8] }
    }

    pub fn insert(&mut self, s: &[u8]) {
        if (self.items.views.len() + 1) * 2 > self.slots.len() {
            self.grow();
        }
        if let Err(at) = self.find(s) {
            self.slots[at] = self.items.views.len() as u32;
            self.items.push(s);
        }
    }

    pub fn contains(&self, s: &[u8]) -> bool {
        self.find(s).is_ok()
    }

    /// The slot of a string; Err: where it would be.
    fn find(&self, s: &[u8]) -> std::result::Result<usize, usize> {
        let mask = self.slots.len() - 1;
        let mut at = spread(self.collation.hash(s)) as usize & mask;
        loop {
            match self.slots[at] {
                EMPTY => return Err(at),
                n if eq(self.collation, self.items.bytes(n as usize), s) => return Ok(at),
                _ => at = (at + 1) & mask,
            }
        }
    }

    fn grow(&mut self) {
        let mask = self.slots.len() * 2 - 1;
        self.slots = vec![EMPTY; mask + 1];
        for n in 0..self.items.views.len() {
            let mut at = spread(self.collation.hash(self.items.bytes(n))) as usize & mask;
            while self.slots[at] != EMPTY {
                at = (at + 1) & mask;
            }
            self.slots[at] = n as u32;
        }
    }
}

/// The low bits of a collation's hash need not be good.
fn spread(hash: u64) -> u64 {
    hash.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32
}

/// Bits of `v IN set`.
pub fn in_set(set: &StringSet, v: &Vector, rows: usize, sel: &Selection, out: &mut Bitmap) {
    match (&v.chunk().0.values, v) {
        (Values::Dict(d), Vector::Flat(_)) if d.dict.strings.views.len() <= rows => {
            by_code(d, sel, out, |s| set.contains(s));
        }
        _ => sel.for_each(rows, |i| out.set(i, set.contains(v.bytes(i)))),
    }
}

/// Bits of `v LIKE pattern`; an error where `ask` stops it.
pub fn like(
    m: &LikeMatcher,
    v: &Vector,
    rows: usize,
    sel: &Selection,
    out: &mut Bitmap,
    ask: types::Ask<'_>,
) -> types::Result<()> {
    let stopper = Stopper::new(ask);
    match &v.chunk().0.values {
        Values::Dict(d) if d.dict.strings.views.len() <= rows => by_code(d, sel, out, |s| m.matches(s, &stopper)),
        Values::Str(s) if matches!(v, Vector::Flat(_)) => m.select(s, rows, sel, out, &stopper),
        _ => sel.for_each(rows, |i| out.set(i, m.matches(v.bytes(i), &stopper))),
    }
    stopper.finish()
}
