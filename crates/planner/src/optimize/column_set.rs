//! Sets of column ids, as bitmaps: ids are dense per statement.

use expr::ColumnId;
use std::fmt;

/// A set of columns. Equality ignores trailing empty words.
#[derive(Clone, Default)]
pub struct ColumnSet {
    words: Vec<u64>,
}

impl ColumnSet {
    pub fn new() -> ColumnSet {
        ColumnSet::default()
    }

    pub fn insert(&mut self, c: ColumnId) -> bool {
        debug_assert!(c < 1 << 24, "no such column");
        let w = c as usize / 64;
        if w >= self.words.len() {
            self.words.resize(w + 1, 0);
        }
        let bit = 1u64 << (c % 64);
        let fresh = self.words[w] & bit == 0;
        self.words[w] |= bit;
        fresh
    }

    pub fn remove(&mut self, c: ColumnId) {
        if let Some(w) = self.words.get_mut(c as usize / 64) {
            *w &= !(1u64 << (c % 64));
        }
    }

    pub fn contains(&self, c: ColumnId) -> bool {
        self.words.get(c as usize / 64).is_some_and(|w| w & (1u64 << (c % 64)) != 0)
    }

    pub fn union_with(&mut self, other: &ColumnSet) {
        if other.words.len() > self.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        for (a, b) in self.words.iter_mut().zip(&other.words) {
            *a |= b;
        }
    }

    pub fn union(&self, other: &ColumnSet) -> ColumnSet {
        let mut r = self.clone();
        r.union_with(other);
        r
    }

    pub fn intersection(&self, other: &ColumnSet) -> ColumnSet {
        ColumnSet { words: self.words.iter().zip(&other.words).map(|(a, b)| a & b).collect() }
    }

    pub fn difference(&self, other: &ColumnSet) -> ColumnSet {
        let at = |i: usize| other.words.get(i).copied().unwrap_or(0);
        ColumnSet { words: self.words.iter().enumerate().map(|(i, a)| a & !at(i)).collect() }
    }

    pub fn is_subset(&self, other: &ColumnSet) -> bool {
        self.words.iter().enumerate().all(|(i, a)| a & !other.words.get(i).copied().unwrap_or(0) == 0)
    }

    pub fn intersects(&self, other: &ColumnSet) -> bool {
        self.words.iter().zip(&other.words).any(|(a, b)| a & b != 0)
    }

    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|w| *w == 0)
    }

    pub fn len(&self) -> usize {
        self.words.iter().map(|w| w.count_ones() as usize).sum()
    }

    /// Ascending.
    pub fn iter(&self) -> impl Iterator<Item = ColumnId> + '_ {
        self.words.iter().enumerate().flat_map(|(i, &w)| {
            let mut rest = w;
            std::iter::from_fn(move || {
                if rest == 0 {
                    return None;
                }
                let b = rest.trailing_zeros();
                rest &= rest - 1;
                Some(i as u32 * 64 + b)
            })
        })
    }
}

impl PartialEq for ColumnSet {
    fn eq(&self, other: &ColumnSet) -> bool {
        self.is_subset(other) && other.is_subset(self)
    }
}

impl Eq for ColumnSet {}

impl FromIterator<ColumnId> for ColumnSet {
    fn from_iter<I: IntoIterator<Item = ColumnId>>(iter: I) -> ColumnSet {
        let mut s = ColumnSet::new();
        for c in iter {
            s.insert(c);
        }
        s
    }
}

impl<'a> FromIterator<&'a ColumnId> for ColumnSet {
    fn from_iter<I: IntoIterator<Item = &'a ColumnId>>(iter: I) -> ColumnSet {
        iter.into_iter().copied().collect()
    }
}

impl fmt::Debug for ColumnSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn set_operations_agree_with_their_definitions() {
        let a: ColumnSet = [1, 5, 200].into_iter().collect();
        let b: ColumnSet = [5, 7].into_iter().collect();
        assert_eq!(a.union(&b).iter().collect::<Vec<_>>(), vec![1, 5, 7, 200]);
        assert_eq!(a.intersection(&b).iter().collect::<Vec<_>>(), vec![5]);
        assert_eq!(a.difference(&b).iter().collect::<Vec<_>>(), vec![1, 200]);
        assert!(a.intersects(&b) && !a.is_subset(&b));
        let mut c = a.clone();
        c.remove(200);
        assert!(c.is_subset(&a));
        assert_eq!(c, [5, 1].into_iter().collect());
        assert_eq!(c.len(), 2);
    }
}
