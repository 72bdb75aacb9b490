//! Which relations must come before which others: STRAIGHT_JOIN, JOIN_ORDER, JOIN_PREFIX, JOIN_SUFFIX,
//! JOIN_FIXED_ORDER.
//!
//! The order of a join tree is that of its leaves from left to right, and a join's left side is read first. A tree is
//! allowed if that order keeps every constraint; trees need not be left-deep.

use super::Set;
use plan::logical::JoinOrderKind;

/// By relation, those that come before it; transitively closed.
#[derive(Default)]
pub(super) struct Precedence {
    before: Vec<Set>,
}

fn members(s: Set) -> impl Iterator<Item = usize> {
    super::enumerate::members(s)
}

impl Precedence {
    pub fn is_empty(&self) -> bool {
        self.before.is_empty()
    }

    /// `first` comes before `then`.
    pub fn add(&mut self, first: Set, then: Set) {
        let n = (Set::BITS - (first | then).leading_zeros()) as usize;
        if self.before.len() < n {
            self.before.resize(n, 0);
        }
        let above = members(first).fold(first, |s, r| s | self.before[r]);
        for r in 0..self.before.len() {
            if then & 1 << r != 0 || self.before[r] & then != 0 {
                self.before[r] |= above;
            }
        }
    }

    /// Is nothing before itself, `needs` (first, then) taken into account?
    fn holds_with(&self, needs: &[(Set, Set)]) -> bool {
        let mut all = Precedence { before: self.before.clone() };
        needs.iter().for_each(|(first, then)| all.add(*first, *then));
        all.before.iter().enumerate().all(|(r, b)| b & 1 << r == 0)
    }

    /// Adds what a hint asks for, if it can be had.
    pub fn heed(&mut self, kind: JoinOrderKind, named: &[Set], relations: usize, needs: &[(Set, Set)]) {
        let all = Set::MAX >> (Set::BITS as usize - relations);
        let mut more = Precedence { before: self.before.clone() };
        let mut sequence: Vec<Set> = named.to_vec();
        let own = named.iter().fold(0, |s, t| s | t);
        match kind {
            JoinOrderKind::Order => {}
            JoinOrderKind::Fixed if named.is_empty() => sequence = (0..relations).map(|r| 1 << r).collect(),
            JoinOrderKind::Fixed => {}
            _ if named.is_empty() => return,
            JoinOrderKind::Prefix => sequence.push(all & !own),
            JoinOrderKind::Suffix => sequence.insert(0, all & !own),
        }
        let mut so_far: Set = 0;
        for t in sequence {
            let t = t & !so_far;
            if so_far != 0 && t != 0 {
                more.add(so_far, t);
            }
            so_far |= t;
        }
        if more.holds_with(needs) {
            *self = more;
        }
    }

    fn before(&self, r: usize) -> Set {
        self.before.get(r).copied().unwrap_or(0)
    }

    /// Must something of `a` come before something of `b`?
    pub fn orders(&self, a: Set, b: Set) -> bool {
        !self.is_empty() && members(b).any(|r| self.before(r) & a != 0)
    }

    /// May `a` be the left side and `b` the right side of a join?
    pub fn allows(&self, a: Set, b: Set) -> bool {
        if self.is_empty() {
            return true;
        }
        if self.orders(b, a) {
            return false;
        }
        // Nothing that is not here yet belongs in between.
        let s = a | b;
        let above = members(s).fold(0, |x, r| x | self.before(r)) & !s;
        !members(above).any(|r| self.before(r) & s != 0)
    }

    /// The relations `0..n` in an order that keeps the constraints, `wanted` being that of the others. `may_follow`:
    /// whether a relation can be joined with a set of those before it.
    pub fn sorted(&self, wanted: &[usize], may_follow: impl Fn(usize, Set) -> bool) -> Vec<usize> {
        let mut left: Vec<usize> = wanted.to_vec();
        let (mut out, mut done) = (Vec::with_capacity(left.len()), 0);
        while !left.is_empty() {
            let next = left.iter().position(|&r| self.before(r) & !done == 0 && may_follow(r, done)).unwrap_or(0);
            let r = left.remove(next);
            done |= 1 << r;
            out.push(r);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_that_contradict_are_left_out() {
        let mut p = Precedence::default();
        p.heed(JoinOrderKind::Order, &[0b001, 0b010], 3, &[]);
        p.heed(JoinOrderKind::Order, &[0b010, 0b001], 3, &[]);
        assert!(p.allows(0b001, 0b010) && !p.allows(0b010, 0b001));
        // A left join's right side cannot come first.
        p.heed(JoinOrderKind::Prefix, &[0b100], 3, &[(0b001, 0b100)]);
        assert!(p.allows(0b001, 0b100) && !p.orders(0b100, 0b001));
        assert_eq!(p.sorted(&[2, 1, 0], |_, _| true), vec![2, 0, 1]);
        assert_eq!(p.sorted(&[2, 1, 0], |r, before| r != 2 || before == 0b011), vec![0, 1, 2]);
    }

    #[test]
    fn what_belongs_between_two_keeps_them_apart() {
        let mut p = Precedence::default();
        p.heed(JoinOrderKind::Prefix, &[0b001, 0b010], 4, &[]);
        assert!(p.allows(0b001, 0b010) && p.allows(0b0011, 0b0100) && p.allows(0b0100, 0b1000));
        assert!(!p.allows(0b001, 0b100), "the second of the prefix is missing");
        assert!(!p.allows(0b0100, 0b0010));
    }
}
