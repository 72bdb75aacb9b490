//! FROM: tables, derived tables and common table expressions, joined in all ways.

use super::super::node::{Node, Sort};
use super::super::schema::Kind;
use super::scope::{Col, VISITS_MAX};
use super::{Place, Queries, and};

/// What a FROM put into scope.
#[derive(Clone, Debug)]
pub struct From {
    pub node: Node,
    /// Columns that together tell its rows apart, where there are such.
    pub ids: Option<Vec<String>>,
    /// Its table, as number and alias, where it is one.
    pub table: Option<(usize, String)>,
    /// Conditions of a comma join, for WHERE.
    pub conditions: Vec<Node>,
}

impl From {
    fn factor(node: Node) -> From {
        From { node, ids: None, table: None, conditions: Vec::new() }
    }
}

const JOINS: &[&str] = &["JOIN", "JOIN", "JOIN", "LEFT JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "STRAIGHT_JOIN"];

const JOIN_KINDS: &[Kind] =
    &[Kind::Int, Kind::Int, Kind::Int, Kind::Txt, Kind::Dec, Kind::Date, Kind::Bin, Kind::Stamp];

impl Queries<'_> {
    /// Tables joined in all ways, their columns in scope. `commas`: conditions may be left to WHERE.
    pub fn from(&mut self, tables: usize, commas: bool) -> From {
        let start = self.scope.len();
        let mut from = self.table_or_query();
        let comma = commas && self.one_in(6);
        for n in 1..tables {
            if self.fuel <= 0 {
                break;
            }
            let before = self.scope.len();
            let group = !comma && n + 1 < tables && self.one_in(10);
            let right = if group { self.group(start) } else { self.table_or_query() };
            let tables = from.table.is_some() && right.table.is_some();
            let on = self.on(start, before);
            let ids = from.ids.take().zip(right.ids).map(|(a, b)| [a, b].concat());
            let mut conditions = from.conditions;
            conditions.extend(right.conditions);
            let node = Node::new(Sort::From).n(from.node);
            let node = if comma {
                conditions.push(on);
                node.t(", ").n(right.node)
            } else if self.visits <= VISITS_MAX && self.one_in(14) {
                node.t(" CROSS JOIN ").n(right.node)
            } else if tables && self.one_in(20) {
                let word = self.pick(&["JOIN", "LEFT JOIN", "RIGHT JOIN"]);
                node.t(format!(" {word} ")).n(right.node).t(" USING (id)")
            } else {
                node.t(format!(" {} ", self.pick(JOINS))).n(right.node).t(" ON ").n(on)
            };
            from = From { node, ids, table: None, conditions };
        }
        from.node = Node::new(Sort::From).n(from.node);
        from
    }

    /// `(a JOIN b ON ..)` to the right of a join: its conditions see its own tables and outer queries'.
    fn group(&mut self, start: usize) -> From {
        let hidden: Vec<Col> = self.scope.drain(start..).collect();
        let mut inner = self.from(2, false);
        let new: Vec<Col> = self.scope.drain(start..).collect();
        self.scope.extend(hidden);
        self.scope.extend(new);
        inner.node = Node::new(Sort::Factor).t("(").n(inner.node).t(")");
        inner
    }

    /// A condition between what came before `before` and what came after.
    fn on(&mut self, start: usize, before: usize) -> Node {
        let after = self.scope.len();
        let kind = self.pick(JOIN_KINDS);
        let both = |q: &mut Self, kind| q.column_in(start, before, kind).zip(q.column_in(before, after, kind));
        let Some((left, right)) = both(self, kind).or_else(|| both(self, Kind::Int)) else {
            return Node::leaf(Sort::Pred, "TRUE");
        };
        let loose = self.visits <= VISITS_MAX && self.one_in(9);
        let op = if loose {
            self.pick(&["<", ">", "<=", "<>", "<=>"])
        } else {
            self.output = (self.output / right.distinct.min(left.distinct).max(1.0)).max(1.0);
            if self.one_in(14) { "<=>" } else { "=" }
        };
        let mut on = Node::leaf(Sort::Pred, format!("{} {op} {}", left.name, right.name));
        if self.one_in(5) {
            // a second equality, as multi-column keys like
            let kind = self.kind();
            if let Some((l, r)) = both(self, kind) {
                on = and(vec![on, Node::leaf(Sort::Pred, format!("{} = {}", l.name, r.name))]);
            }
        }
        if self.one_in(5) {
            let hidden = std::mem::replace(&mut self.local, start);
            let depth = if self.one_in(4) { 2 } else { 1 };
            let p = self.predicate(depth);
            self.local = hidden;
            on = match self.visits <= VISITS_MAX && self.one_in(6) {
                true => Node::new(Sort::Pred).t("(").n(on).t(" OR ").n(p).t(")"),
                false => and(vec![on, p]),
            };
        }
        on
    }

    fn table_or_query(&mut self) -> From {
        self.fuel -= 1;
        if !self.common.is_empty() && self.one_in(2) {
            let common = self.common[self.rng.usize(0..self.common.len())].clone();
            if self.fits(common.rows) {
                self.add(common.rows);
                let alias = self.alias('c');
                self.outputs(&alias, &common.kinds, common.rows);
                return From::factor(Node::leaf(Sort::Factor, format!("{} AS {alias}", common.name)));
            }
        }
        if self.may_nest() && self.one_in(9) {
            return self.derived();
        }
        self.table()
    }

    /// A table; the smallest where the query visits enough rows already.
    pub fn table(&mut self) -> From {
        let schema = self.schema;
        let mut at = self.rng.usize(0..schema.tables.len());
        if !self.fits(schema.tables[at].rows.len() as f64) {
            let smallest = schema.tables.iter().enumerate().min_by_key(|(_, t)| t.rows.len());
            at = smallest.map_or(at, |(i, _)| i);
        }
        let table = &schema.tables[at];
        self.add(table.rows.len() as f64);
        let alias = self.alias('a');
        self.columns_of(at, &alias);
        let hint = self.index_hint(at);
        let node = Node::new(Sort::Factor).t(format!("{} AS {alias}", table.name)).hint(hint);
        From { node, ids: Some(vec![format!("{alias}.id")]), table: Some((at, alias)), conditions: Vec::new() }
    }

    /// Puts a table's columns into scope.
    pub(super) fn columns_of(&mut self, table: usize, alias: &str) {
        let table = &self.schema.tables[table];
        for c in &table.columns {
            let distinct = (c.distinct as f64).min(table.rows.len() as f64);
            let name = format!("{alias}.{}", c.name);
            self.scope.push(Col { name, kind: c.kind, unsigned: c.unsigned, distinct });
        }
    }

    fn derived(&mut self) -> From {
        let kinds = self.kinds();
        let lateral = self.wild() && !self.scope.is_empty() && self.one_in(8);
        let output = self.output;
        let inner = |q: &mut Self| {
            q.nested(|q| {
                let node = q.query_of(&kinds, Place::Derived);
                (node, (q.output / output).max(1.0))
            })
        };
        let (inner, rows) = if lateral { inner(self) } else { self.apart(inner) };
        self.add(rows);
        let alias = self.alias('q');
        self.outputs(&alias, &kinds, rows);
        let word = if lateral { "LATERAL (" } else { "(" };
        From::factor(Node::new(Sort::Factor).t(word).n(inner).t(format!(") AS {alias}")))
    }
}
