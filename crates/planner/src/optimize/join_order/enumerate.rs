//! Enumeration of join orders: DPhyp (Moerkotte & Neumann, *Dynamic Programming Strikes Back*, SIGMOD 2008) over the
//! block's hypergraph, as long as there are not too many pairs to try.
//!
//! DPhyp visits each connected subgraph with each connected complement exactly once: it grows a connected set S1 by its
//! neighbours, and for each such S1 grows the sets S2 that an edge connects to it; a set X of forbidden relations keeps
//! it from visiting anything twice.

use super::Set;
use super::graph::Graph;
use super::planner::Planner;

/// Pairs of subgraphs after which the search is given up; and where optimizer_prune_level asks for patience.
const PAIRS_MAX: usize = 5_000;
const PAIRS_MAX_UNPRUNED: usize = 500_000;

/// Subsets that are looked at for each pair that may be found: a hub has too many sets of neighbours.
const STEPS_PER_PAIR: usize = 20;

struct Search<'p, 'a> {
    graph: &'p Graph,
    planner: &'p mut Planner<'a>,
    /// Relations that take no part.
    outside: Set,
    pairs: usize,
    pairs_max: usize,
    steps: usize,
}

/// Finds the cheapest order of the relations of `all`; false if there are too many orders or the graph is not
/// connected.
pub(super) fn exhaustive(all: Set, graph: &Graph, planner: &mut Planner) -> bool {
    let pairs_max = if planner.prunes() { PAIRS_MAX } else { PAIRS_MAX_UNPRUNED };
    let mut s = Search { graph, planner, outside: !all, pairs: 0, pairs_max, steps: 0 };
    let mut vs: Vec<usize> = members(all).collect();
    vs.reverse();
    for v in vs {
        let set = 1 << v;
        s.emit_csg(set);
        s.csg_rec(set, below(v) | set);
        if s.is_over() || !s.planner.goes_on() {
            return false;
        }
    }
    s.planner.has_plan(all)
}

/// Relations with a smaller number than `v`.
fn below(v: usize) -> Set {
    (1 << v) - 1
}

pub(super) fn members(s: Set) -> impl Iterator<Item = usize> {
    let mut rest = s;
    std::iter::from_fn(move || {
        if rest == 0 {
            return None;
        }
        let v = rest.trailing_zeros() as usize;
        rest &= rest - 1;
        Some(v)
    })
}

/// Non-empty subsets.
fn subsets(s: Set) -> impl Iterator<Item = Set> {
    let mut sub: Set = 0;
    std::iter::from_fn(move || {
        sub = sub.wrapping_sub(s) & s;
        (sub != 0).then_some(sub)
    })
}

impl Search<'_, '_> {
    fn neighbours(&self, s: Set, x: Set) -> Set {
        self.graph.neighbours(s, x | self.outside)
    }

    fn connected(&self, a: Set, b: Set) -> bool {
        self.graph.connected(a, b)
    }

    fn emit_csg(&mut self, s1: Set) {
        let min = s1.trailing_zeros() as usize;
        let x = s1 | below(min);
        let n = self.neighbours(s1, x);
        let mut vs: Vec<usize> = members(n).collect();
        vs.reverse();
        for v in vs {
            let s2 = 1 << v;
            if self.connected(s1, s2) {
                self.pair(s1, s2);
            }
            self.cmp_rec(s1, s2, x | (below(v) & n));
        }
    }

    fn csg_rec(&mut self, s1: Set, x: Set) {
        let n = self.neighbours(s1, x);
        for sub in subsets(n) {
            if self.step_is_over() {
                return;
            }
            if self.planner.has_plan(s1 | sub) {
                self.emit_csg(s1 | sub);
            }
        }
        for sub in subsets(n) {
            if self.step_is_over() {
                return;
            }
            self.csg_rec(s1 | sub, x | n);
        }
    }

    fn cmp_rec(&mut self, s1: Set, s2: Set, x: Set) {
        let n = self.neighbours(s2, x);
        for sub in subsets(n) {
            if self.step_is_over() {
                return;
            }
            let grown = s2 | sub;
            if self.planner.has_plan(grown) && self.connected(s1, grown) {
                self.pair(s1, grown);
            }
        }
        for sub in subsets(n) {
            if self.step_is_over() {
                return;
            }
            self.cmp_rec(s1, s2 | sub, x | n);
        }
    }

    fn is_over(&self) -> bool {
        self.pairs > self.pairs_max || self.steps > self.pairs_max * STEPS_PER_PAIR
    }

    fn step_is_over(&mut self) -> bool {
        self.steps += 1;
        self.is_over() || !self.planner.goes_on()
    }

    fn pair(&mut self, a: Set, b: Set) {
        self.pairs += 1;
        self.planner.consider(a, b);
    }
}
