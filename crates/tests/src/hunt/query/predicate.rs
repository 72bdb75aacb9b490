//! Predicates: comparisons, their combinations, subqueries, and those over groups.

use super::super::node::{Node, Sort};
use super::super::schema::Kind;
use super::select::Block;
use super::{Place, Queries, and, filter, joined};

/// Rows of an IN list that is planned as a join.
const ROWS_MANY: usize = 101;

impl Queries<'_> {
    /// A predicate that often compares with an outer column.
    pub(super) fn correlated(&mut self, depth: u32) -> Node {
        let (local, all) = (self.local, self.scope.len());
        if local > 0 && self.one_in(2) {
            let kind = self.kind();
            if let (Some(o), Some(i)) = (self.column_in(0, local, kind), self.column_in(local, all, kind)) {
                let op = self.pick(&["=", "=", "=", "=", "<", ">=", "<>", "<=>"]);
                let p = Node::new(Sort::Pred).t(format!("{} {op} {}", i.name, o.name));
                return if self.one_in(2) { and(vec![p, self.predicate(depth - 1)]) } else { p };
            }
        }
        self.predicate(depth)
    }

    pub fn predicate(&mut self, depth: u32) -> Node {
        self.fuel -= 1;
        if depth == 0 || self.fuel <= 0 {
            return self.comparison(0);
        }
        let new = || Node::new(Sort::Pred);
        match self.rng.u32(0..12) {
            0 | 1 => new().t("(").n(self.predicate(depth - 1)).t(" AND ").n(self.predicate(depth - 1)).t(")"),
            2 | 3 => new().t("(").n(self.predicate(depth - 1)).t(" OR ").n(self.predicate(depth - 1)).t(")"),
            4 => {
                // MariaDB errs on NOT (NOT (x < ANY ..)) where NULLs take part
                let p = self.predicate(depth - 1);
                let twice = !self.wild() && p.render(false).starts_with("NOT ");
                if twice { p } else { new().t("NOT (").n(p).t(")") }
            }
            5 | 6 if self.may_nest() => self.subquery_predicate(),
            7 => {
                let p = self.predicate(depth - 1);
                // MariaDB takes comparisons of rows for never NULL
                let of_rows = [") = (", ") <> (", ") < (", ") >= ("].iter().any(|op| p.render(false).contains(op));
                let words = &["TRUE", "NOT TRUE", "FALSE", "NOT FALSE", "UNKNOWN", "NOT UNKNOWN"];
                let word = self.pick(if of_rows && !self.wild() { &words[..4] } else { words });
                new().t("(").n(p).t(format!(") IS {word}"))
            }
            8 if self.one_in(3) => {
                new().t("((").n(self.predicate(depth - 1)).t(") XOR (").n(self.predicate(depth - 1)).t("))")
            }
            _ => self.comparison(depth),
        }
    }

    fn comparison(&mut self, depth: u32) -> Node {
        let d = depth.saturating_sub(1);
        let kind = self.kind();
        let left = self.column(kind);
        let not = self.pick(&["", "", "NOT "]);
        let new = || Node::new(Sort::Pred);
        match self.rng.u32(0..12) {
            0 => new().n(left).t(format!(" IS {not}NULL")),
            1 | 2 => {
                let n = if self.one_in(12) { 40 } else { self.rng.usize(1..5) };
                let items: Vec<Node> = (0..n).map(|_| self.constant(kind)).collect();
                new().n(left).t(format!(" {not}IN (")).n(Node::list(items, ", ")).t(")")
            }
            3 => {
                let (a, b) = (self.constant(kind), self.expr(kind, d));
                new().n(left).t(format!(" {not}BETWEEN ")).n(a).t(" AND ").n(b)
            }
            4 if matches!(kind, Kind::Txt | Kind::Bin) => {
                let pattern = self.pick(&["a%", "%b", "_", "%a%", "A_", "%", "ab%c", "w1%", "b c"]);
                new().n(left).t(format!(" {not}LIKE '{pattern}'"))
            }
            5 => self.rows(),
            6 if self.wild() => self.across(),
            7 => new().n(left).t(format!(" {} ", self.pick(&["=", "<", ">", "<=", ">="]))).n(self.constant(kind)),
            _ => {
                let op = self.pick(&["=", "<>", "<", "<=", ">", ">=", "<=>", "=", "="]);
                new().n(left).t(format!(" {op} ")).n(self.expr(kind, d))
            }
        }
    }

    /// A constant in a list of rows; MariaDB takes NULL there for unequal to nothing, whatever the rest of the row is.
    fn member(&mut self, kind: Kind) -> Node {
        loop {
            let c = self.constant(kind);
            if self.wild() || c.render(false) != "NULL" {
                return c;
            }
        }
    }

    /// `(a, b) = (c, d)` and its kin.
    fn rows(&mut self) -> Node {
        let (k, l) = (self.kind(), self.kind());
        let left = joined(vec![self.column(k), self.column(l)]);
        let new = || Node::new(Sort::Pred);
        if self.one_in(2) {
            let mut rows: Vec<Node> = (0..self.rng.usize(1..4))
                .map(|_| Node::fixed().t("(").n(joined(vec![self.member(k), self.member(l)])).t(")"))
                .collect();
            if self.one_in(6) {
                rows = rows.iter().cycle().take(ROWS_MANY).cloned().collect();
            }
            let not = self.pick(if self.wild() { &["", "NOT "] } else { &["", ""] });
            return new().t("(").n(left).t(format!(") {not}IN (")).n(Node::list(rows, ", ")).t(")");
        }
        // MariaDB takes a row that is unequal to another to have no NULLs, and so outer joins below it for inner ones.
        let op = self.pick(if self.wild() { &["=", "<>", "<", ">=", "<=>"] } else { &["=", "<=>", "=", "<=>", "="] });
        let right = joined(vec![self.expr(k, 0), self.expr(l, 0)]);
        new().t("(").n(left).t(format!(") {op} (")).n(right).t(")")
    }

    /// A comparison of different kinds.
    fn across(&mut self) -> Node {
        let op = self.pick(&["=", "<>", "<", ">=", "<=>"]);
        let new = || Node::new(Sort::Pred);
        let (a, b) = self.pick(&[
            (Kind::Int, Kind::Dec),
            (Kind::Int, Kind::Dbl),
            (Kind::Dec, Kind::Dbl),
            (Kind::Int, Kind::Txt),
            (Kind::Date, Kind::Stamp),
        ]);
        if self.one_in(2) {
            return new().n(self.column(a)).t(format!(" {op} ")).n(self.column(b));
        }
        let odd = match a {
            Kind::Int => self.pick(&["1.5", "'2'", "300", "-1", "99999999999", "1e0", "'1x'", "-0.0", "TRUE"]),
            Kind::Dec => self.pick(&["1e0", "'0.25'", "0.255", "99999999999.5", "-1"]),
            _ => self.pick(&["'2023-01-02 00:00:00'", "'2023-01-02 10:00:00'", "20230102", "'2023-1-2'"]),
        };
        if self.one_in(3) && a == Kind::Int {
            let other = self.pick(&["2.0", "'3'", "0.5", "-7"]);
            return new().n(self.column(a)).t(format!(" IN ({odd}, {other}, 1)"));
        }
        new().n(self.column(a)).t(format!(" {op} {odd}"))
    }

    pub(super) fn subquery_predicate(&mut self) -> Node {
        self.fuel -= 2;
        let new = || Node::new(Sort::Pred);
        let not = self.pick(&["", "NOT "]);
        let kind = self.kind();
        let left = if self.one_in(4) { self.expr(kind, 1) } else { self.column(kind) };
        match self.rng.u32(0..8) {
            0 | 1 => {
                let inner = self.nested(|q| q.set(&[Kind::Int]));
                new().t(format!("{not}EXISTS (")).n(inner).t(")")
            }
            2 => {
                let op = self.pick(&["=", "<>", "<", ">=", ">", "<="]);
                let all = self.pick(&["ANY", "ALL", "SOME"]);
                let inner = self.nested(|q| q.set(&[kind]));
                new().n(left).t(format!(" {op} {all} (")).n(inner).t(")")
            }
            3 => {
                let second = self.kind();
                let right = self.column(second);
                let inner = self.nested(|q| q.set(&[kind, second]));
                new().t("(").n(left).t(", ").n(right).t(format!(") {not}IN (")).n(inner).t(")")
            }
            4 => {
                let op = self.pick(&["=", "<>", "<", ">="]);
                new().n(left).t(format!(" {op} ")).n(self.scalar_subquery(kind))
            }
            _ => {
                let inner = self.nested(|q| q.set(&[kind]));
                new().n(left).t(format!(" {not}IN (")).n(inner).t(")")
            }
        }
    }

    /// The query of a set predicate: mostly plain, sometimes any, sometimes a union whose sides see outer columns.
    fn set(&mut self, kinds: &[Kind]) -> Node {
        if self.one_in(3) {
            return self.query_of(kinds, Place::Subquery);
        }
        let (visits, output) = (self.visits, self.output);
        let first = self.plain_set(kinds);
        if !self.one_in(14) {
            return first;
        }
        self.scope.truncate(self.local);
        (self.visits, self.output) = (visits, output);
        let op = self.pick(&[" UNION ", " UNION ", " UNION ALL "]);
        Node::new(Sort::Select).n(first).t(op).n(self.plain_set(kinds))
    }

    fn plain_set(&mut self, kinds: &[Kind]) -> Node {
        let tables = self.pick(&[1, 1, 1, 2, 2, 3]);
        let from = self.from(tables, false);
        let items = joined(kinds.iter().map(|k| self.own(*k)).collect());
        let filter = if self.one_in(4) { Node::empty() } else { filter(self.correlated(2)) };
        self.block(Block { from, filter, distinct: false, items, tail: Node::empty() })
    }

    /// A predicate over groups.
    pub fn having(&mut self, keys: &[Node]) -> Node {
        let k = self.pick(&[Kind::Int, Kind::Dec, Kind::Int, Kind::Txt]);
        let left = match keys.is_empty() || self.one_in(2) {
            true => self.aggregate_of(k),
            false => return self.having_key(keys),
        };
        let op = self.pick(&["=", "<>", "<", "<=", ">", ">=", "<=>"]);
        let right = match self.may_nest() && self.wild() && self.one_in(4) {
            true => self.apart_scalar(k),
            false => self.constant(k),
        };
        let p = Node::new(Sort::Pred).n(left).t(format!(" {op} ")).n(right);
        if self.one_in(4) {
            let q = self.having(keys);
            return Node::new(Sort::Pred).t("(").n(p).t(self.pick(&[" AND ", " OR "])).n(q).t(")");
        }
        p
    }

    fn having_key(&mut self, keys: &[Node]) -> Node {
        let key = keys[self.rng.usize(0..keys.len())].clone();
        let word = self.pick(&[" IS NULL", " IS NOT NULL"]);
        Node::new(Sort::Pred).n(key).t(word)
    }
}
