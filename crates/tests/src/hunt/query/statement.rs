//! Whole statements: set operations and WITH around SELECTs.

use super::super::node::{Node, Sort};
use super::super::schema::Kind;
use super::scope::Common;
use super::{Place, Queries};

/// A statement and what of its order is defined.
#[derive(Clone, Debug)]
pub struct Statement {
    pub node: Node,
    /// Its first columns come in one order only, each row's taken together.
    pub ordered: usize,
}

/// What a common table expression is taken to hold.
const COMMON_ROWS: f64 = 30.0;

impl Queries<'_> {
    /// A whole statement.
    pub fn statement(&mut self) -> Statement {
        match self.rng.u32(0..14) {
            0 => {
                let kinds = self.kinds();
                self.set_operation(&kinds, Place::Top)
            }
            1 | 2 => self.with(),
            _ => self.select(None, Place::Top),
        }
    }

    /// Queries of the same outputs.
    fn set_operation(&mut self, kinds: &[Kind], place: Place) -> Statement {
        let mut node = Node::new(Sort::Select).t("(").n(self.apart(|q| q.select(Some(kinds), place).node)).t(")");
        for _ in 0..self.pick(&[1, 1, 1, 2]) {
            let op = self.pick(&["UNION", "UNION", "UNION ALL", "UNION ALL", "INTERSECT", "EXCEPT"]);
            let right = self.apart(|q| q.select(Some(kinds), place).node);
            node = Node::new(Sort::Select).n(node).t(" ").t(op).t(" (").n(right).t(")");
        }
        let mut ordered = 0;
        if place == Place::Top && self.one_in(4) {
            ordered = kinds.len();
            let keys: Vec<String> = (1..=ordered).map(|i| format!("{i}{}", self.pick(&["", " DESC"]))).collect();
            node = node.n(Node::empty().t(format!(" ORDER BY {}", keys.join(", "))));
            if self.one_in(2) {
                let limit = format!(" LIMIT {}", self.rng.u32(1..9));
                node = node.n(Node::empty().t(limit));
            }
        }
        Statement { node, ordered }
    }

    fn with(&mut self) -> Statement {
        let mut clauses = Vec::new();
        let recursive = self.one_in(6);
        if recursive {
            let n = self.rng.u32(2..9);
            let text = format!("r (x0) AS (SELECT 1 UNION ALL SELECT x0 + 1 FROM r WHERE x0 < {n})");
            clauses.push(Node::fixed().t(text));
            self.common.push(Common { name: "r".into(), kinds: vec![Kind::Int], rows: n as f64 });
        }
        for i in 0..self.pick(&[1, 1, 2]) {
            let kinds = self.kinds();
            let inner = self.apart(|q| q.nested(|q| q.query_of(&kinds, Place::Derived)));
            clauses.push(Node::fixed().t(format!("w{i} AS (")).n(inner).t(")"));
            self.common.push(Common { name: format!("w{i}"), kinds, rows: COMMON_ROWS });
        }
        let body = match self.one_in(4) {
            true => {
                let kinds = self.kinds();
                self.set_operation(&kinds, Place::Top)
            }
            false => self.select(None, Place::Top),
        };
        self.common.clear();
        let word = if recursive { "WITH RECURSIVE " } else { "WITH " };
        let node = Node::new(Sort::Select).t(word).n(Node::list(clauses, ", ")).t(" ").n(body.node);
        Statement { node, ordered: body.ordered }
    }

    /// A query of given outputs, of any form.
    pub(super) fn query_of(&mut self, kinds: &[Kind], place: Place) -> Node {
        // the sides of a set operation within a subquery see outer columns as well
        if place == Place::Derived && self.one_in(10) {
            return self.set_operation(kinds, place).node;
        }
        self.select(Some(kinds), place).node
    }
}
