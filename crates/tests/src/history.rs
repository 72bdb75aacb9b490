//! A checker of list-append histories: did what transactions read and wrote obey their isolation level?
//!
//! Transactions append unique numbers to lists and read whole lists. So a list that was read tells the order of the
//! appends to it, and between any two transactions that touched it who came first:
//!
//! ```text
//!   ww   a appended, then b, to one list
//!   wr   b read what a appended last
//!   rw   a read a list to which b appended next
//!   so   a ended before b began, in one session
//! ```
//! A level is obeyed if its anomalies do not occur:
//!
//! | level | anomalies besides lost, repeated and unknown elements |
//! |---|---|
//! | READ UNCOMMITTED | cycles of ww (G0) |
//! | READ COMMITTED | reads of aborted (G1a) or intermediate (G1b) appends, cycles of ww, wr, so (G1c) |
//! | REPEATABLE READ | two reads of a list that differ, reads of more than one snapshot (G-single by wr) |
//! | SERIALIZABLE | any cycle |
//!
//! REPEATABLE READ is MySQL's: statements that change rows see the newest ones, so updates may be lost to a transaction
//! that reads a list and appends to it later, and its own appends show others' with them.
//!
//! Sources: Adya, "Weak Consistency" (1999); Kingsbury and Alvaro, "Elle: Inferring Isolation Anomalies" (VLDB 2020).

use std::collections::{BTreeMap, HashMap, HashSet};

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Level {
    ReadUncommitted,
    ReadCommitted,
    RepeatableRead,
    Serializable,
}

impl Level {
    pub const ALL: [Level; 4] =
        [Level::ReadUncommitted, Level::ReadCommitted, Level::RepeatableRead, Level::Serializable];

    pub fn name(self) -> &'static str {
        match self {
            Level::ReadUncommitted => "READ UNCOMMITTED",
            Level::ReadCommitted => "READ COMMITTED",
            Level::RepeatableRead => "REPEATABLE READ",
            Level::Serializable => "SERIALIZABLE",
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Op {
    Append { key: u64, element: u64 },
    Read { key: u64, list: Vec<u64> },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    Committed,
    Aborted,
    /// COMMIT was sent, and the server died.
    Unknown,
}

#[derive(Clone, Debug)]
pub struct Transaction {
    pub session: u64,
    pub ops: Vec<Op>,
    pub outcome: Outcome,
}

/// Transactions; those of one session in their order. What the lists are in the end.
#[derive(Clone, Debug, Default)]
pub struct History {
    pub transactions: Vec<Transaction>,
    pub end: BTreeMap<u64, Vec<u64>>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Edge {
    Ww,
    Wr,
    Rw,
    So,
}

struct Graph {
    /// To whom, by whom.
    out: Vec<Vec<(usize, Edge)>>,
}

/// All that is wrong, in words.
pub fn check(history: &History, level: Level) -> Vec<String> {
    let mut faults = Vec::new();
    let mut history = history.clone();
    settle(&mut history, &mut faults);
    let writers = writers(&history, &mut faults);
    let orders = orders(&history, level, &mut faults);
    elements(&history, level, &writers, &orders, &mut faults);
    within(&history, level, &mut faults);
    let graph = graph(&history, &writers, &orders);
    cycles(&history, level, &graph, &mut faults);
    faults
}

/// Who was committed when the server died is seen in the end.
fn settle(history: &mut History, faults: &mut Vec<String>) {
    let there: HashSet<u64> = history.end.values().flatten().copied().collect();
    for (i, t) in history.transactions.iter_mut().enumerate().filter(|(_, t)| t.outcome == Outcome::Unknown) {
        let appended: Vec<u64> = t.appends().map(|(_, e)| e).collect();
        let found = appended.iter().filter(|e| there.contains(e)).count();
        if found != 0 && found != appended.len() {
            faults.push(format!("transaction {i} is half there: {:?}", t.ops));
        }
        t.outcome = if found > 0 { Outcome::Committed } else { Outcome::Aborted };
    }
}

impl Transaction {
    fn appends(&self) -> impl Iterator<Item = (u64, u64)> {
        self.ops.iter().filter_map(|op| match op {
            Op::Append { key, element } => Some((*key, *element)),
            Op::Read { .. } => None,
        })
    }

    /// Reads of lists before its own first append to them.
    fn outer_reads(&self) -> Vec<(u64, &[u64])> {
        let mut own = HashSet::new();
        let mut out = Vec::new();
        for op in &self.ops {
            match op {
                Op::Append { key, .. } => _ = own.insert(*key),
                Op::Read { key, list } if !own.contains(key) => out.push((*key, &list[..])),
                Op::Read { .. } => {}
            }
        }
        out
    }
}

fn committed(history: &History) -> impl Iterator<Item = (usize, &Transaction)> {
    history.transactions.iter().enumerate().filter(|(_, t)| t.outcome == Outcome::Committed)
}

/// Who appended each element.
fn writers(history: &History, faults: &mut Vec<String>) -> HashMap<u64, usize> {
    let mut writers = HashMap::new();
    for (i, t) in history.transactions.iter().enumerate() {
        for (_, element) in t.appends() {
            if writers.insert(element, i).is_some() {
                faults.push(format!("{element} was appended twice: the history is no good"));
            }
        }
    }
    writers
}

/// The order of the elements of each list: that of its end, which all that was read must be a beginning of.
fn orders(history: &History, level: Level, faults: &mut Vec<String>) -> BTreeMap<u64, Vec<u64>> {
    let orders = history.end.clone();
    let none = Vec::new();
    for (i, t) in committed(history) {
        for op in &t.ops {
            let Op::Read { key, list } = op else { continue };
            let whole = orders.get(key).unwrap_or(&none);
            // What is not committed may have gone since.
            if level > Level::ReadUncommitted && !whole.starts_with(list) {
                faults.push(format!("transaction {i} read {list:?} of list {key}, which became {whole:?}"));
            }
        }
    }
    orders
}

fn elements(
    history: &History,
    level: Level,
    writers: &HashMap<u64, usize>,
    orders: &BTreeMap<u64, Vec<u64>>,
    faults: &mut Vec<String>,
) {
    for (key, list) in orders {
        let distinct: HashSet<&u64> = list.iter().collect();
        if distinct.len() != list.len() {
            faults.push(format!("list {key} has elements twice: {list:?}"));
        }
        for e in list {
            match writers.get(e) {
                None => faults.push(format!("list {key} has {e}, which nobody appended")),
                Some(&w) if history.transactions[w].outcome == Outcome::Aborted => {
                    faults.push(format!("list {key} has {e} of transaction {w}, which was aborted"));
                }
                Some(_) => {}
            }
        }
    }
    for (i, t) in committed(history) {
        for (key, e) in t.appends() {
            if !orders.get(&key).is_some_and(|l| l.contains(&e)) {
                faults.push(format!("transaction {i} was committed, but list {key} lost its {e}"));
            }
        }
        if level == Level::ReadUncommitted {
            continue;
        }
        for (key, list) in t.outer_reads() {
            let Some((last, &w)) = list.last().and_then(|e| Some((*e, writers.get(e)?))) else { continue };
            if history.transactions[w].outcome == Outcome::Aborted {
                faults.push(format!("G1a: transaction {i} read {last} of transaction {w}, which was aborted"));
            }
            let later = history.transactions[w].appends().filter(|(k, _)| *k == key).map(|(_, e)| e).last();
            if w != i && later != Some(last) {
                faults
                    .push(format!("G1b: transaction {i} read {last} of transaction {w}, which appended {later:?} too"));
            }
        }
    }
}

/// What a transaction sees of its own appends, and of the same list twice.
fn within(history: &History, level: Level, faults: &mut Vec<String>) {
    for (i, t) in committed(history) {
        let mut own: HashMap<u64, Vec<u64>> = HashMap::new();
        let mut before: HashMap<u64, &[u64]> = HashMap::new();
        for op in &t.ops {
            match op {
                Op::Append { key, element } => {
                    own.entry(*key).or_default().push(*element);
                    before.remove(key);
                }
                Op::Read { key, list } => {
                    let own = own.get(key).map_or(&[][..], |o| o);
                    if !list.ends_with(own) {
                        faults.push(format!("transaction {i} appended {own:?} and read {list:?} of list {key}"));
                    }
                    let differs = before.insert(*key, list).is_some_and(|b| b != &list[..]);
                    if differs && level >= Level::RepeatableRead {
                        faults.push(format!("transaction {i} read list {key} twice, and not the same: {:?}", t.ops));
                    }
                }
            }
        }
    }
}

fn graph(history: &History, writers: &HashMap<u64, usize>, orders: &BTreeMap<u64, Vec<u64>>) -> Graph {
    let mut out: Vec<Vec<(usize, Edge)>> = vec![Vec::new(); history.transactions.len()];
    let mut add = |from: usize, to: usize, edge: Edge| {
        if from != to && !out[from].contains(&(to, edge)) {
            out[from].push((to, edge));
        }
    };
    for list in orders.values() {
        for pair in list.windows(2) {
            if let (Some(&a), Some(&b)) = (writers.get(&pair[0]), writers.get(&pair[1])) {
                add(a, b, Edge::Ww);
            }
        }
    }
    let mut last_of_session: HashMap<u64, usize> = HashMap::new();
    for (i, t) in committed(history) {
        if let Some(before) = last_of_session.insert(t.session, i) {
            add(before, i, Edge::So);
        }
        for (key, list) in t.outer_reads() {
            if let Some(&w) = list.last().and_then(|e| writers.get(e)) {
                add(w, i, Edge::Wr);
            }
            let next = orders.get(&key).and_then(|l| l.get(list.len()));
            if let Some(&w) = next.and_then(|e| writers.get(e)) {
                add(i, w, Edge::Rw);
            }
        }
    }
    Graph { out }
}

fn cycles(history: &History, level: Level, graph: &Graph, faults: &mut Vec<String>) {
    let (name, edges): (&str, &[Edge]) = match level {
        Level::ReadUncommitted => ("G0", &[Edge::Ww]),
        Level::ReadCommitted | Level::RepeatableRead => ("G1c", &[Edge::Ww, Edge::Wr, Edge::So]),
        Level::Serializable => ("G2", &[Edge::Ww, Edge::Wr, Edge::Rw, Edge::So]),
    };
    for component in graph.components(edges) {
        let shown: Vec<String> =
            component.iter().take(8).map(|t| format!("{t}: {:?}", history.transactions[*t].ops)).collect();
        faults.push(format!("{name}: a cycle among {} transactions\n  {}", component.len(), shown.join("\n  ")));
    }
    if level != Level::RepeatableRead {
        return;
    }
    for (t, out) in graph.out.iter().enumerate() {
        for &(after, edge) in out.iter().filter(|o| o.1 == Edge::Rw) {
            debug_assert_eq!(edge, Edge::Rw);
            if let Some(seen) = graph.reaches_by_read(after, t) {
                let ops = |i: usize| &history.transactions[i].ops;
                let (a, b, c) = (ops(t), ops(after), ops(seen));
                faults.push(format!("G-single: {t} read no snapshot\n  {t}: {a:?}\n  {after}: {b:?}\n  {seen}: {c:?}"));
            }
        }
    }
}

impl Graph {
    /// Whether `t` read from something that `from` came before. `from` itself counts.
    fn reaches_by_read(&self, from: usize, t: usize) -> Option<usize> {
        let mut seen = HashSet::from([from]);
        let mut todo = vec![from];
        while let Some(n) = todo.pop() {
            for &(to, edge) in &self.out[n] {
                if to == t {
                    if edge == Edge::Wr {
                        return Some(n);
                    }
                } else if edge != Edge::Rw && seen.insert(to) {
                    todo.push(to);
                }
            }
        }
        None
    }

    /// Sets of transactions that all reach each other by these edges, of more than one.
    fn components(&self, edges: &[Edge]) -> Vec<Vec<usize>> {
        let n = self.out.len();
        let kept = |from: usize| self.out[from].iter().filter(|o| edges.contains(&o.1)).map(|o| o.0);
        // Kosaraju: the order in which a walk leaves the nodes, then walks backwards in the opposite order.
        let (mut seen, mut left) = (vec![false; n], Vec::with_capacity(n));
        for start in 0..n {
            if std::mem::replace(&mut seen[start], true) {
                continue;
            }
            let mut stack = vec![(start, kept(start).collect::<Vec<_>>())];
            while let Some((node, rest)) = stack.last_mut() {
                match rest.pop() {
                    Some(next) if !seen[next] => {
                        seen[next] = true;
                        stack.push((next, kept(next).collect()));
                    }
                    Some(_) => {}
                    None => {
                        left.push(*node);
                        stack.pop();
                    }
                }
            }
        }
        let mut back: Vec<Vec<usize>> = vec![Vec::new(); n];
        (0..n).for_each(|from| kept(from).for_each(|to| back[to].push(from)));
        let mut found = Vec::new();
        let mut taken = vec![false; n];
        for &start in left.iter().rev() {
            let (mut component, mut todo) = (Vec::new(), vec![start]);
            while let Some(node) = todo.pop() {
                if !std::mem::replace(&mut taken[node], true) {
                    component.push(node);
                    todo.extend(&back[node]);
                }
            }
            if component.len() > 1 {
                found.push(component);
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn a(key: u64, element: u64) -> Op {
        Op::Append { key, element }
    }

    fn r(key: u64, list: &[u64]) -> Op {
        Op::Read { key, list: list.to_vec() }
    }

    /// Each transaction in a session of its own.
    fn history(transactions: &[(&[Op], Outcome)], end: &[(u64, &[u64])]) -> History {
        let of = |(i, (ops, outcome)): (usize, &(&[Op], Outcome))| Transaction {
            session: i as u64,
            ops: ops.to_vec(),
            outcome: *outcome,
        };
        History {
            transactions: transactions.iter().enumerate().map(of).collect(),
            end: end.iter().map(|(k, l)| (*k, l.to_vec())).collect(),
        }
    }

    /// The first level that forbids the history.
    fn forbidden(h: &History) -> Option<Level> {
        Level::ALL.into_iter().find(|l| !check(h, *l).is_empty())
    }

    const OK: Outcome = Outcome::Committed;
    const NO: Outcome = Outcome::Aborted;

    #[test]
    fn each_anomaly_is_seen_at_its_level() {
        use Level::*;
        let serial =
            history(&[(&[a(1, 1)], OK), (&[r(1, &[1]), a(1, 2)], OK), (&[r(1, &[1, 2])], OK)], &[(1, &[1, 2])]);
        assert_eq!(forbidden(&serial), None);
        let lost = history(&[(&[a(1, 1)], OK), (&[a(1, 2)], OK)], &[(1, &[2])]);
        assert_eq!(forbidden(&lost), Some(ReadUncommitted));
        let g0 = history(&[(&[a(1, 1), a(2, 2)], OK), (&[a(1, 3), a(2, 4)], OK)], &[(1, &[1, 3]), (2, &[4, 2])]);
        assert_eq!(forbidden(&g0), Some(ReadUncommitted));
        let g1a = history(&[(&[a(1, 1)], NO), (&[r(1, &[1])], OK)], &[]);
        assert_eq!(forbidden(&g1a), Some(ReadCommitted));
        let g1b = history(&[(&[a(1, 1), a(1, 2)], OK), (&[r(1, &[1])], OK)], &[(1, &[1, 2])]);
        assert_eq!(forbidden(&g1b), Some(ReadCommitted));
        let g1c = history(&[(&[a(1, 1), r(2, &[2])], OK), (&[a(2, 2), r(1, &[1])], OK)], &[(1, &[1]), (2, &[2])]);
        assert_eq!(forbidden(&g1c), Some(ReadCommitted));
        let fuzzy = history(&[(&[r(1, &[]), r(1, &[1])], OK), (&[a(1, 1)], OK)], &[(1, &[1])]);
        assert_eq!(forbidden(&fuzzy), Some(RepeatableRead));
        let skew = history(&[(&[r(1, &[]), r(2, &[2])], OK), (&[a(1, 1), a(2, 2)], OK)], &[(1, &[1]), (2, &[2])]);
        assert_eq!(forbidden(&skew), Some(RepeatableRead));
        let write_skew = history(&[(&[r(1, &[]), a(2, 2)], OK), (&[r(2, &[]), a(1, 1)], OK)], &[(1, &[1]), (2, &[2])]);
        assert_eq!(forbidden(&write_skew), Some(Serializable));
        // MySQL lets a reader append to what has changed since.
        let lost_update = history(&[(&[r(1, &[]), a(1, 2), r(1, &[1, 2])], OK), (&[a(1, 1)], OK)], &[(1, &[1, 2])]);
        assert_eq!(forbidden(&lost_update), Some(Serializable));
        let own = history(&[(&[a(1, 1), r(1, &[])], OK)], &[(1, &[1])]);
        assert_eq!(forbidden(&own), Some(ReadUncommitted));
    }

    #[test]
    fn a_session_sees_what_it_did_before() {
        let mut h = history(&[(&[a(1, 1)], OK), (&[r(1, &[])], OK)], &[(1, &[1])]);
        assert_eq!(forbidden(&h), None);
        h.transactions[1].session = 0;
        assert_eq!(forbidden(&h), Some(Level::Serializable));
    }

    #[test]
    fn what_was_on_its_way_is_there_wholly_or_not_at_all() {
        let t = |end| history(&[(&[a(1, 1), a(2, 2)], Outcome::Unknown)], end);
        assert_eq!(forbidden(&t(&[])), None);
        assert_eq!(forbidden(&t(&[(1, &[1]), (2, &[2])])), None);
        assert_eq!(forbidden(&t(&[(1, &[1])])), Some(Level::ReadUncommitted));
    }
}
