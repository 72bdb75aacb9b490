//! Enumeration of join orders: DPhyp (Moerkotte & Neumann, *Dynamic Programming Strikes Back*, SIGMOD 2008) over the
//! block's hypergraph for up to a dozen relations or so, then greedy operator ordering (Fegaras, DEXA 1998).
//!
//! DPhyp visits each connected subgraph with each connected complement exactly once: it grows a connected set S1 by its
//! neighbours, and for each such S1 grows the sets S2 that an edge connects to it; a set X of forbidden relations keeps
//! it from visiting anything twice.

use super::join_order::Planner;

/// A join predicate connects `left` with `right`, both whole.
#[derive(Clone, Copy, Debug)]
pub struct Edge {
    pub left: u64,
    pub right: u64,
}

/// Pairs of subgraphs after which the search is left to the greedy algorithm.
const PAIRS_MAX: usize = 10_000;
/// Relations above which exhaustive search is not begun.
const EXHAUSTIVE_RELATIONS_MAX: usize = 14;

struct Search<'p, 'a> {
    edges: &'p [Edge],
    planner: &'p mut Planner<'a>,
    pairs: usize,
}

/// Finds the cheapest order; false if the graph is too large or not connected.
pub(super) fn exhaustive(n: usize, edges: &[Edge], planner: &mut Planner) -> bool {
    if n > EXHAUSTIVE_RELATIONS_MAX {
        return false;
    }
    let mut s = Search { edges, planner, pairs: 0 };
    for v in (0..n).rev() {
        let set = 1u64 << v;
        s.emit_csg(set);
        s.csg_rec(set, below(v) | set);
        if s.pairs > PAIRS_MAX {
            return false;
        }
    }
    let all = (1u64 << n) - 1;
    s.planner.has_plan(all)
}

/// Relations with a smaller number than `v`.
fn below(v: usize) -> u64 {
    (1u64 << v) - 1
}

fn members(s: u64) -> impl Iterator<Item = usize> {
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
fn subsets(s: u64) -> impl Iterator<Item = u64> {
    let mut sub = 0u64;
    std::iter::from_fn(move || {
        sub = sub.wrapping_sub(s) & s;
        (sub != 0).then_some(sub)
    })
}

impl Search<'_, '_> {
    /// Representatives of the sets that an edge connects with `s`, none of them in `x`.
    fn neighbours(&self, s: u64, x: u64) -> u64 {
        let forbidden = s | x;
        let mut n = 0;
        for e in self.edges {
            for (from, to) in [(e.left, e.right), (e.right, e.left)] {
                if from & !s == 0 && to & forbidden == 0 {
                    n |= to & to.wrapping_neg();
                }
            }
        }
        n
    }

    fn connected(&self, a: u64, b: u64) -> bool {
        self.edges.iter().any(|e| (e.left & !a == 0 && e.right & !b == 0) || (e.left & !b == 0 && e.right & !a == 0))
    }

    fn emit_csg(&mut self, s1: u64) {
        let min = s1.trailing_zeros() as usize;
        let x = s1 | below(min);
        let n = self.neighbours(s1, x);
        let mut vs: Vec<usize> = members(n).collect();
        vs.reverse();
        for v in vs {
            let s2 = 1u64 << v;
            if self.connected(s1, s2) {
                self.pair(s1, s2);
            }
            self.cmp_rec(s1, s2, x | (below(v) & n));
        }
    }

    fn csg_rec(&mut self, s1: u64, x: u64) {
        if self.pairs > PAIRS_MAX {
            return;
        }
        let n = self.neighbours(s1, x);
        for sub in subsets(n) {
            if self.planner.has_plan(s1 | sub) {
                self.emit_csg(s1 | sub);
            }
        }
        for sub in subsets(n) {
            self.csg_rec(s1 | sub, x | n);
        }
    }

    fn cmp_rec(&mut self, s1: u64, s2: u64, x: u64) {
        if self.pairs > PAIRS_MAX {
            return;
        }
        let n = self.neighbours(s2, x);
        for sub in subsets(n) {
            let grown = s2 | sub;
            if self.planner.has_plan(grown) && self.connected(s1, grown) {
                self.pair(s1, grown);
            }
        }
        for sub in subsets(n) {
            self.cmp_rec(s1, s2 | sub, x | n);
        }
    }

    fn pair(&mut self, a: u64, b: u64) {
        self.pairs += 1;
        self.planner.consider(a, b);
    }
}

/// Joins, again and again, the two sets whose join has the fewest rows; products only when no edge is left.
pub(super) fn greedy(n: usize, edges: &[Edge], planner: &mut Planner) {
    let mut parts: Vec<u64> = (0..n).map(|v| 1u64 << v).collect();
    // Rows of the joins that edges allow now, by pair.
    let mut known: std::collections::HashMap<(u64, u64), Option<f64>> = std::collections::HashMap::new();
    while parts.len() > 1 {
        let mut best: Option<(f64, u64, u64)> = None;
        for e in edges {
            // An edge is usable once each of its ends lies within one part.
            let part_of = |s: u64| parts.iter().copied().find(|p| s & !p == 0);
            let (Some(a), Some(b)) = (part_of(e.left), part_of(e.right)) else { continue };
            if a == b {
                continue;
            }
            let (a, b) = (a.min(b), a.max(b));
            let rows = *known.entry((a, b)).or_insert_with(|| planner.rows_of_join(a, b));
            if let Some(rows) = rows
                && best.is_none_or(|(r, ..)| rows < r)
            {
                best = Some((rows, a, b));
            }
        }
        if best.is_none() {
            for (i, a) in parts.iter().enumerate() {
                for b in &parts[i + 1..] {
                    let rows = *known.entry((*a, *b)).or_insert_with(|| planner.rows_of_join(*a, *b));
                    if let Some(rows) = rows
                        && best.is_none_or(|(r, ..)| rows < r)
                    {
                        best = Some((rows, *a, *b));
                    }
                }
            }
        }
        let Some((_, a, b)) = best else { return };
        planner.consider(a, b);
        parts.retain(|p| *p != a && *p != b);
        parts.push(a | b);
    }
}
