//! Which sets of relations join conditions connect.
//!
//! Most edges lead from one relation to another; those are kept as a set of neighbours for each relation, so that a
//! dense graph's thousands of edges cost a word each.

use super::Set;
use super::enumerate::members;

/// A join predicate connects `left` with `right`, both whole.
#[derive(Clone, Copy, Debug)]
pub struct Edge {
    pub left: Set,
    pub right: Set,
}

impl Edge {
    fn connects(&self, a: Set, b: Set) -> bool {
        (self.left & !a == 0 && self.right & !b == 0) || (self.left & !b == 0 && self.right & !a == 0)
    }
}

pub(super) struct Graph {
    pub edges: Vec<Edge>,
    /// Of each relation those that an edge of two single relations leads to.
    simple: Vec<Set>,
    others: Vec<Edge>,
}

impl Graph {
    pub fn new(n: usize, edges: Vec<Edge>) -> Graph {
        let (mut simple, mut others) = (vec![0; n], vec![]);
        for e in &edges {
            if e.left.count_ones() == 1 && e.right.count_ones() == 1 {
                simple[e.left.trailing_zeros() as usize] |= e.right;
                simple[e.right.trailing_zeros() as usize] |= e.left;
            } else {
                others.push(*e);
            }
        }
        Graph { edges, simple, others }
    }

    /// Does an edge lead from one set to the other?
    pub fn connected(&self, a: Set, b: Set) -> bool {
        let few = if a.count_ones() <= b.count_ones() { (a, b) } else { (b, a) };
        members(few.0).any(|r| self.simple[r] & few.1 != 0) || self.others.iter().any(|e| e.connects(a, b))
    }

    /// Representatives of the sets that an edge connects with `s`, none of them in `s` or `forbidden`.
    pub fn neighbours(&self, s: Set, forbidden: Set) -> Set {
        let forbidden = s | forbidden;
        let mut n = members(s).fold(0, |n, r| n | self.simple[r]) & !forbidden;
        for e in &self.others {
            for (from, to) in [(e.left, e.right), (e.right, e.left)] {
                if from & !s == 0 && to & forbidden == 0 {
                    n |= to & to.wrapping_neg();
                }
            }
        }
        n
    }

    /// Is every relation reached from the first?
    pub fn is_connected(&self) -> bool {
        let mut reached: Set = 1;
        loop {
            let before = reached;
            for r in members(before) {
                reached |= self.simple[r];
            }
            for e in &self.others {
                if reached & (e.left | e.right) != 0 {
                    reached |= e.left | e.right;
                }
            }
            if reached == before {
                return reached.count_ones() as usize == self.simple.len();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_of_sets_need_them_whole() {
        let edges = vec![Edge { left: 0b1, right: 0b10 }, Edge { left: 0b11, right: 0b1100 }];
        let g = Graph::new(4, edges);
        assert!(g.connected(0b1, 0b10) && g.connected(0b1100, 0b11) && !g.connected(0b1, 0b1100));
        // The second edge's right side is found by its lowest relation.
        assert_eq!((g.neighbours(0b1, 0), g.neighbours(0b11, 0), g.neighbours(0b11, 0b1000)), (0b10, 0b100, 0));
        assert!(g.is_connected());
        assert!(!Graph::new(3, vec![Edge { left: 0b1, right: 0b10 }]).is_connected());
    }
}
