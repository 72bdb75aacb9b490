//! SELECTs: items, WHERE, GROUP BY, windows, ORDER BY and LIMIT.

use super::super::node::{Node, Sort};
use super::super::schema::Kind;
use super::{From, Queries, Statement, and, filter, joined};

/// What a query is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    Top,
    /// Outputs are named x0, x1, ..; LIMIT is allowed.
    Derived,
    Subquery,
}

/// Window functions; `?` stands for an argument.
const WINDOWS: &[&str] = &[
    "ROW_NUMBER()",
    "RANK()",
    "DENSE_RANK()",
    "NTILE(3)",
    "COUNT(*)",
    "SUM(?)",
    "COUNT(?)",
    "MIN(?)",
    "MAX(?)",
    "AVG(?)",
    "LAG(?)",
    "LEAD(?, 2)",
    "FIRST_VALUE(?)",
    "LAST_VALUE(?)",
    "NTH_VALUE(?, 2)",
];

const FRAMES: &[&str] = &[
    " ROWS BETWEEN 1 PRECEDING AND CURRENT ROW",
    " ROWS BETWEEN UNBOUNDED PRECEDING AND 1 FOLLOWING",
    " ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING",
];

/// The parts of a SELECT.
pub(super) struct Block {
    pub from: From,
    pub filter: Node,
    pub distinct: bool,
    pub items: Node,
    /// What follows WHERE.
    pub tail: Node,
}

impl Queries<'_> {
    /// Puts a SELECT together.
    pub(super) fn block(&mut self, b: Block) -> Node {
        let hint = self.block_hint(&b.from);
        Node::new(Sort::Select)
            .t("SELECT ")
            .hint(hint)
            .n(Node::empty().t(if b.distinct { "DISTINCT " } else { "" }))
            .n(b.items)
            .t(" FROM ")
            .n(b.from.node)
            .n(b.filter)
            .n(b.tail)
    }

    /// A SELECT; with `kinds`, of exactly these outputs.
    pub(super) fn select(&mut self, kinds: Option<&[Kind]>, place: Place) -> Statement {
        let (before, local) = (self.scope.len(), self.local);
        self.local = before;
        let tables = match self.depth {
            0 => self.pick(&[1, 1, 2, 2, 2, 3, 3, 4, 5, 6]),
            _ => self.pick(&[1, 1, 1, 2, 2, 3]),
        };
        let mut from = self.from(tables, true);
        let mut conditions = std::mem::take(&mut from.conditions);
        if !self.one_in(4) {
            conditions.push(self.predicate(3));
        }
        let filter = if conditions.is_empty() { Node::empty() } else { filter(and(conditions)) };
        let grouped = if kinds.is_some() { self.one_in(5) } else { self.one_in(3) };
        let statement = match grouped {
            true => self.grouped(kinds, from, filter, place),
            false => self.flat(kinds, from, filter, place),
        };
        self.scope.truncate(before);
        self.local = local;
        statement
    }

    fn items(&self, items: Vec<Node>, place: Place) -> Node {
        match place {
            // with fixed outputs each stays where it is; else all but the first may go
            Place::Top => Node::list(items, ", "),
            Place::Subquery => joined(items),
            Place::Derived => {
                joined(items.into_iter().enumerate().map(|(i, n)| Node::fixed().n(n).t(format!(" AS x{i}"))).collect())
            }
        }
    }

    fn flat(&mut self, kinds: Option<&[Kind]>, from: From, filter: Node, place: Place) -> Statement {
        let chosen = match kinds {
            Some(kinds) => kinds.to_vec(),
            None => self.kinds(),
        };
        let mut items: Vec<Node> = chosen
            .iter()
            .map(|k| match &from.ids {
                // of a number alone is it known which values a window function has
                Some(ids) if *k == Kind::Int && (self.wild() || place != Place::Subquery) && self.one_in(9) => {
                    self.window(ids)
                }
                _ => self.expr(*k, 2),
            })
            .collect();
        let distinct = self.one_in(5);
        let (mut tail, mut ordered) = (Node::empty(), 0);
        if place != Place::Subquery && self.one_in(3) {
            let limit = place == Place::Derived || self.one_in(2);
            let shown = kinds.is_none();
            let total = from.ids.clone().filter(|_| !distinct && (!shown || self.one_in(2)));
            let mut keys: Vec<String> = Vec::new();
            if shown {
                // the keys are shown, so that their order can be seen; without a total order they alone
                let mut first: Vec<Node> = Vec::new();
                for name in self.columns_for_order() {
                    keys.push(format!("{name}{}", self.pick(&["", "", " DESC"])));
                    first.push(Node::fixed().t(name));
                }
                ordered = first.len();
                if total.is_some() || !limit {
                    first.append(&mut items);
                }
                items = first;
            }
            keys.extend(total.iter().flatten().cloned());
            if !keys.is_empty() {
                tail = tail.t(format!(" ORDER BY {}", keys.join(", ")));
                if limit {
                    tail = tail.n(self.limit());
                }
            }
        }
        let items = self.items(items, place);
        Statement { node: self.block(Block { from, filter, distinct, items, tail }), ordered }
    }

    fn limit(&mut self) -> Node {
        let offset = if self.one_in(3) { format!(" OFFSET {}", self.rng.u32(0..5)) } else { String::new() };
        let n = self.pick(&[1, 2, 3, 5, 10, 100]);
        Node::empty().t(format!(" LIMIT {n}{offset}"))
    }

    /// One or two columns of this query, as an index might order them.
    fn columns_for_order(&mut self) -> Vec<String> {
        let own = self.scope.len() - self.local;
        let mut all: Vec<String> = Vec::new();
        for _ in 0..self.pick(&[1, 1, 2]) {
            let at = self.local + self.rng.usize(0..own);
            let name = self.scope[at].name.clone();
            if !all.contains(&name) {
                all.push(name);
            }
        }
        all
    }

    /// A window function over rows that `ids` tell apart.
    fn window(&mut self, ids: &[String]) -> Node {
        self.fuel -= 2;
        let function = self.pick(WINDOWS);
        let mut f = match function.split_once('?') {
            Some((l, r)) => {
                let argument = if self.wild() { self.expr(Kind::Int, 1) } else { self.own(Kind::Int) };
                Node::new(Sort::Expr(Kind::Int)).t(l).n(argument).t(r)
            }
            None => Node::new(Sort::Expr(Kind::Int)).t(function),
        };
        f = f.t(" OVER (");
        if self.one_in(2) {
            let k = self.kind();
            let key = self.own(k);
            f = f.n(Node::empty().t("PARTITION BY ").n(key).t(" "));
        }
        let frames = function.starts_with(['S', 'C', 'M', 'A', 'F']) || function.starts_with("LAST");
        let frame = if frames && self.one_in(2) { self.pick(FRAMES) } else { "" };
        f.t(format!("ORDER BY {}", ids.join(", "))).n(Node::empty().t(frame)).t(")")
    }

    fn grouped(&mut self, kinds: Option<&[Kind]>, from: From, filter: Node, place: Place) -> Statement {
        let (keys, items) = match kinds {
            Some(kinds) => self.groups_of(kinds),
            None => self.groups(),
        };
        let (mut tail, mut ordered) = (Node::empty(), 0);
        // MariaDB takes a key that is named twice for rolled up with the last of its names, MySQL with the first
        let repeats = (1..keys.len()).any(|i| keys[..i].iter().any(|k| k.render(false) == keys[i].render(false)));
        let plain = self.wild() || !repeats;
        let rollup = kinds.is_none() && !keys.is_empty() && self.one_in(12) && plain;
        if !keys.is_empty() {
            tail = tail.t(" GROUP BY ").n(joined(keys.clone())).t(if rollup { " WITH ROLLUP" } else { "" });
        }
        if self.one_in(4) && (self.wild() || !rollup) {
            let p = self.having(&keys);
            tail = tail.n(Node::empty().t(" HAVING ").n(p));
        }
        if place == Place::Top && kinds.is_none() && !keys.is_empty() && !rollup && self.one_in(3) {
            let order: Vec<String> =
                keys.iter().map(|k| format!("{}{}", k.render(false), self.pick(&["", " DESC"]))).collect();
            ordered = keys.len();
            let mut order = Node::empty().t(format!(" ORDER BY {}", order.join(", ")));
            if self.one_in(2) {
                order = order.n(Node::empty().t(format!(" LIMIT {}", self.rng.u32(1..6))));
            }
            tail = tail.n(order);
        }
        let items = self.items(items, place);
        Statement { node: self.block(Block { from, filter, distinct: false, items, tail }), ordered }
    }

    /// Group keys and items of given kinds.
    fn groups_of(&mut self, kinds: &[Kind]) -> (Vec<Node>, Vec<Node>) {
        let (mut keys, mut items) = (Vec::new(), Vec::new());
        for k in kinds {
            let key = if self.one_in(2) { None } else { self.local_column(*k) };
            match key {
                Some(c) => {
                    keys.push(Node::fixed().t(c.clone()));
                    items.push(Node::fixed().t(c));
                }
                None => items.push(self.aggregate_of(*k)),
            }
        }
        if keys.is_empty() && self.one_in(2) {
            let k = self.kind();
            keys.extend(self.local_column(k).map(|c| Node::fixed().t(c)));
        }
        (keys, items)
    }

    fn groups(&mut self) -> (Vec<Node>, Vec<Node>) {
        let mut keys = Vec::new();
        for _ in 0..self.rng.usize(0..4) {
            let k = self.kind();
            let Some(c) = self.local_column(k) else { continue };
            let key = Node::fixed().t(c);
            // a key that is an expression is repeated word by word
            keys.push(match self.wild() && k == Kind::Int && self.one_in(5) {
                true => Node::fixed().t("(").n(key).t(" + 1)"),
                false => key,
            });
        }
        let mut items = keys.clone();
        for _ in 0..self.rng.usize(1..4) {
            let k = self.kind();
            items.push(self.aggregate_of(k));
        }
        (keys, items)
    }
}
