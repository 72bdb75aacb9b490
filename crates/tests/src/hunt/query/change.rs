//! UPDATE, DELETE and INSERT .. SELECT whose outcome SQL leaves no choice about: unique keys stay as they are or are
//! new, and where a row may be found several times it gets constants.

use super::super::node::{Node, Sort};
use super::super::schema::literal;
use super::{Queries, filter, joined};

/// Rows of a table from which on its changes have no subqueries: no time limit ends a change that a forced plan makes
/// slow.
const ROWS_WITH_SUBQUERIES_MAX: usize = 300;

/// No row has an id as large.
const FREE_IDS: u32 = 20_000_000;

/// A change of the rows of one table.
#[derive(Clone, Debug)]
pub struct Change {
    pub table: usize,
    /// The statement up to its condition.
    pub verb: Node,
    /// The FROM of a query for the rows that it finds.
    pub from: Node,
    pub condition: Node,
    /// ORDER BY and LIMIT.
    pub tail: Node,
}

impl Queries<'_> {
    /// A change; its table goes by its own name.
    pub fn change(&mut self) -> Change {
        let schema = self.schema;
        let table = self.rng.usize(0..schema.tables.len());
        let name = schema.tables[table].name.clone();
        self.columns_of(table, &name);
        let rows = schema.tables[table].rows.len();
        self.add(rows as f64);
        if self.one_in(4) {
            return self.insert(table);
        }
        if rows > ROWS_WITH_SUBQUERIES_MAX {
            self.depth = usize::MAX / 2;
        }
        let with_other = self.one_in(4);
        let mut from = Node::new(Sort::From).t(name.clone());
        if with_other {
            let other = self.table();
            let kind = self.kind();
            let own = schema.tables[table].columns.len();
            let both = self.column_in(0, own, kind).zip(self.column_in(own, self.scope.len(), kind));
            let on = both.map_or("TRUE".into(), |(l, r)| format!("{} = {}", l.name, r.name));
            let word = self.pick(&["JOIN", "LEFT JOIN"]);
            let on = Node::leaf(Sort::Pred, on);
            from = Node::new(Sort::From).t(format!("{name} {word} ")).n(other.node).t(" ON ").n(on);
        }
        let verb = match self.one_in(3) {
            true if with_other => Node::fixed().t(format!("DELETE {name} FROM ")).n(from.clone()),
            true => Node::fixed().t(format!("DELETE FROM {name}")),
            false => self.update(table, &from, with_other),
        };
        let condition = filter(self.predicate(3));
        let tail = match !with_other && self.one_in(5) {
            true => Node::empty().t(format!(" ORDER BY {name}.id LIMIT {}", self.rng.u32(1..9))),
            false => Node::empty(),
        };
        Change { table, verb, from, condition, tail }
    }

    /// Rows of another table, or of the same one, with ids that no row has.
    fn insert(&mut self, table: usize) -> Change {
        let schema = self.schema;
        let into = &schema.tables[table];
        self.scope.clear();
        let other = self.table();
        let (_, alias) = other.table.expect("a table is one");
        let mut columns = vec!["id".to_string()];
        let mut items = vec![Node::fixed().t(format!("{alias}.id + {FREE_IDS}"))];
        for c in &into.columns[1..] {
            let value = if self.one_in(3) { self.expr(c.kind, 1) } else { self.own(c.kind) };
            columns.push(c.name.clone());
            items.push(value);
        }
        let verb = Node::fixed().t(format!("INSERT INTO {} ({}) SELECT ", into.name, columns.join(", ")));
        let verb = verb.n(joined(items)).t(" FROM ").n(other.node.clone());
        let from = Node::new(Sort::From).t(format!("{} JOIN ", into.name)).n(other.node).t(" ON FALSE");
        let condition = filter(self.predicate(2));
        Change { table, verb, from, condition, tail: Node::empty() }
    }

    fn update(&mut self, table: usize, from: &Node, constants: bool) -> Node {
        let schema = self.schema;
        let table = &schema.tables[table];
        let mut sets: Vec<Node> = Vec::new();
        let mut used: Vec<&str> = Vec::new();
        for _ in 0..self.pick(&[1, 1, 2, 3]) {
            let c = &table.columns[self.rng.usize(1..table.columns.len())];
            if used.contains(&c.name.as_str()) {
                continue;
            }
            used.push(&c.name);
            let value = match constants || self.one_in(2) {
                true => Node::leaf(Sort::Expr(c.kind), literal(self.rng, c.kind)),
                false => self.expr(c.kind, 2),
            };
            sets.push(Node::fixed().t(format!("{}.{} = ", table.name, c.name)).n(value));
        }
        Node::fixed().t("UPDATE ").n(from.clone()).t(" SET ").n(Node::list(sets, ", "))
    }
}
