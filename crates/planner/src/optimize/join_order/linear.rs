//! Join orders of many relations: a good order first, then the best trees near it.
//!
//! ```text
//! greedy       joins, again and again, the two sets whose join has the fewest rows
//! linearized   of all trees whose leaves come in the order that greedy found, the cheapest: there are n^3/6 joins to
//!              weigh, and greedy's own tree is among them
//! local        subtrees of up to [`LOCAL_RELATIONS`] relations are searched exhaustively, and costs above them renewed
//! ```
//!
//! Sources: Fegaras, *A New Heuristic for Optimizing Large Queries* (DEXA 1998); Neumann & Radke, *Adaptive
//! Optimization of Very Large Join Queries* (SIGMOD 2018); Kossmann & Stocker, *Iterative Dynamic Programming* (TODS
//! 2000).

use super::Set;
use super::enumerate::exhaustive;
use super::graph::Graph;
use super::planner::Planner;
use std::collections::HashMap;

/// Relations of a subtree that is searched exhaustively.
const LOCAL_RELATIONS: u32 = 9;

/// Finds an order. `refine`: not the greedy one alone.
pub(super) fn search(n: usize, graph: &Graph, planner: &mut Planner, refine: bool) {
    let all = Set::MAX >> (Set::BITS as usize - n);
    greedy(n, graph, planner);
    let found = planner.has_plan(all);
    if !refine && found {
        return;
    }
    let mut order = vec![];
    if found {
        leaves(all, planner, &mut order);
    } else {
        // Constraints have led greedy astray.
        order = (0..n).collect();
    }
    let order = planner.precedence.sorted(&order, |r, before| planner.may_follow(r, before));
    linearized(&order, graph, planner);
    if planner.has_plan(all) {
        local(all, graph, planner);
    }
}

/// The relations of a set's best plan, from left to right.
fn leaves(s: Set, planner: &Planner, out: &mut Vec<usize>) {
    match planner.split(s) {
        Some((a, b)) => {
            leaves(a, planner, out);
            leaves(b, planner, out);
        }
        None => out.push(s.trailing_zeros() as usize),
    }
}

/// The cheapest tree over relations in this order. Products only where nothing else joins neighbours.
fn linearized(order: &[usize], graph: &Graph, planner: &mut Planner) {
    let n = order.len();
    let mut sets = vec![vec![0 as Set; n]; n];
    for (i, from_here) in sets.iter_mut().enumerate() {
        let mut s = 0;
        for (set, relation) in from_here.iter_mut().zip(order).skip(i) {
            s |= 1 << relation;
            *set = s;
        }
    }
    let products = !planner.precedence.is_empty() || !graph.is_connected();
    for len in 2..=n {
        for i in 0..=n - len {
            let j = i + len - 1;
            let splits = |planner: &mut Planner, any: bool| {
                for k in i..j {
                    let (a, b) = (sets[i][k], sets[k + 1][j]);
                    if planner.has_plan(a) && planner.has_plan(b) && (any || graph.connected(a, b)) {
                        planner.consider(a, b);
                    }
                }
            };
            splits(planner, false);
            if products && !planner.has_plan(sets[i][j]) {
                splits(planner, true);
            }
        }
    }
}

/// Searches small subtrees exhaustively.
fn local(s: Set, graph: &Graph, planner: &mut Planner) {
    let Some((a, b)) = planner.split(s) else { return };
    if s.count_ones() <= LOCAL_RELATIONS {
        exhaustive(s, graph, planner);
        return;
    }
    local(a, graph, planner);
    local(b, graph, planner);
    planner.consider(a, b);
}

/// Joins, again and again, the two sets whose join has the fewest rows; products only when no edge is left.
fn greedy(n: usize, graph: &Graph, planner: &mut Planner) {
    let mut parts: Vec<Set> = (0..n).map(|v| 1 << v).collect();
    // Rows of the joins that edges allow now, by pair.
    let mut known: HashMap<(Set, Set), Option<f64>> = HashMap::new();
    while parts.len() > 1 {
        let mut best: Option<(f64, Set, Set)> = None;
        for e in &graph.edges {
            // An edge is usable once each of its ends lies within one part.
            let part_of = |s: Set| parts.iter().copied().find(|p| s & !p == 0);
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
