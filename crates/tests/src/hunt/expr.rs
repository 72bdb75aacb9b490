//! Random expressions, predicates and subqueries.

use super::node::{Node, Sort};
use super::query::{Place, Queries, and, joined};
use super::schema::{Kind, literal};

impl Queries<'_> {
    fn literal(&mut self, kind: Kind) -> Node {
        Node::leaf(Sort::Expr(kind), literal(self.rng, kind))
    }

    pub(super) fn column(&mut self, kind: Kind) -> Node {
        match self.any_column(kind) {
            Some(c) => Node::leaf(Sort::Expr(kind), c.name),
            None => self.literal(kind),
        }
    }

    fn signed_column(&mut self) -> Option<Node> {
        let c = self.any_column(Kind::Int).filter(|c| !c.unsigned)?;
        Some(Node::leaf(Sort::Expr(Kind::Int), c.name))
    }

    pub(super) fn expr(&mut self, kind: Kind, depth: u32) -> Node {
        self.fuel -= 1;
        if depth == 0 || self.fuel <= 0 || self.one_in(2) {
            return if self.one_in(5) { self.literal(kind) } else { self.column(kind) };
        }
        let d = depth - 1;
        let new = || Node::new(Sort::Expr(kind));
        match self.rng.u32(0..12) {
            0 => new().t("COALESCE(").n(self.expr(kind, d)).t(", ").n(self.expr(kind, d)).t(")"),
            1 => {
                let (p, a, b) = (self.predicate(d), self.expr(kind, d), self.expr(kind, d));
                new().t("CASE WHEN ").n(p).t(" THEN ").n(a).t(" ELSE ").n(b).t(" END")
            }
            2 => new().t("NULLIF(").n(self.column(kind)).t(", ").n(self.expr(kind, d)).t(")"),
            3 if self.wild() => {
                let (p, a, b) = (self.predicate(d), self.expr(kind, d), self.column(kind));
                new().t("IF(").n(p).t(", ").n(a).t(", ").n(b).t(")")
            }
            4 | 5 if self.may_nest() => self.scalar_subquery(kind),
            6 if self.wild() && !matches!(kind, Kind::Time | Kind::Stamp | Kind::Date) => {
                let f = self.pick(&["GREATEST(", "LEAST("]);
                new().t(f).n(self.column(kind)).t(", ").n(self.expr(kind, d)).t(")")
            }
            _ => self.function(kind, d),
        }
    }

    /// What its kind alone has.
    fn function(&mut self, kind: Kind, d: u32) -> Node {
        let new = || Node::new(Sort::Expr(kind));
        let op = self.pick(&["+", "-"]);
        match kind {
            Kind::Int => match self.rng.u32(0..if self.wild() { 9 } else { 5 }) {
                0 => new().t("CHAR_LENGTH(").n(self.expr(Kind::Txt, d)).t(")"),
                1 => {
                    let (a, b) = (self.expr(kind, d), self.expr(kind, d));
                    new().t("((").n(a).t(") = (").n(b).t("))")
                }
                2 | 3 => match (self.signed_column(), self.signed_column()) {
                    (Some(a), Some(b)) => {
                        let op = self.pick(&["+", "-", "*"]);
                        new().t("(").n(a).t(format!(" {op} ")).n(b).t(")")
                    }
                    _ => self.column(kind),
                },
                4 => {
                    let f = self.pick(&["YEAR(", "MONTH(", "DAYOFMONTH("]);
                    new().t(f).n(self.column(Kind::Date)).t(")")
                }
                5 => new().t("MOD(").n(self.column(kind)).t(", ").n(self.literal(kind)).t(")"),
                6 => new().t("(").n(self.column(kind)).t(" DIV ").n(self.literal(kind)).t(")"),
                7 => new().t("DATEDIFF(").n(self.column(Kind::Date)).t(", ").n(self.expr(Kind::Date, d)).t(")"),
                _ => new().t("CAST(").n(self.column(Kind::Txt)).t(" AS SIGNED)"),
            },
            Kind::Dec if self.wild() && self.one_in(4) => new().t("ROUND(").n(self.column(kind)).t(", 1)"),
            Kind::Dec | Kind::Dbl => new().t("(").n(self.column(kind)).t(format!(" {op} ")).n(self.column(kind)).t(")"),
            Kind::Txt => match self.rng.u32(0..5) {
                0 => new().t("CONCAT(").n(self.expr(kind, d)).t(", 'x', ").n(self.expr(kind, d)).t(", 'y')"),
                1 => new().t("LOWER(").n(self.expr(kind, d)).t(")"),
                2 if self.wild() => new().t("LEFT(CONCAT(").n(self.column(kind)).t(", 'q'), 1)"),
                3 if self.wild() => new().t("CAST(").n(self.column(Kind::Int)).t(" AS CHAR)"),
                _ => new().t("UPPER(").n(self.expr(kind, d)).t(")"),
            },
            Kind::Bin => self.column(kind),
            Kind::Date => {
                let days = self.rng.u32(0..40);
                new().t("DATE_ADD(").n(self.column(kind)).t(format!(", INTERVAL {days} DAY)"))
            }
            Kind::Stamp | Kind::Time => self.column(kind),
        }
    }

    /// An aggregate whose value is of that kind.
    pub(super) fn aggregate_of(&mut self, kind: Kind) -> Node {
        self.fuel -= 2;
        // aggregates over subqueries are refused by some
        let depth = if self.wild() && self.one_in(8) { self.depth } else { usize::MAX / 2 };
        let saved = std::mem::replace(&mut self.depth, depth);
        let new = || Node::new(Sort::Expr(kind));
        let node = match (kind, self.rng.u32(0..8)) {
            (Kind::Int, 0 | 1) => new().t("COUNT(*)"),
            (Kind::Int, 2) => {
                let k = self.kind();
                new().t("COUNT(").n(self.own(k)).t(")")
            }
            (Kind::Int, 3) => {
                let k = self.kind();
                new().t("COUNT(DISTINCT ").n(self.own(k)).t(")")
            }
            (Kind::Int, 4) => new().t("BIT_OR(").n(self.own(kind)).t(")"),
            (Kind::Int, 5) if self.wild() => {
                let (a, b) = (self.own(Kind::Int), self.own(Kind::Txt));
                new().t("COUNT(DISTINCT ").n(a).t(", ").n(b).t(")")
            }
            (Kind::Dec, 0 | 1) => new().t("SUM(").n(self.expr_own(Kind::Int)).t(")"),
            (Kind::Dec, 2) => new().t("SUM(").n(self.expr_own(Kind::Dec)).t(")"),
            (Kind::Dec, 3) => new().t("SUM(DISTINCT ").n(self.own(Kind::Int)).t(")"),
            (Kind::Dec, 4) => new().t("AVG(").n(self.own(Kind::Dec)).t(")"),
            (Kind::Dbl, 0 | 1) => new().t("SUM(").n(self.own(Kind::Dbl)).t(")"),
            (Kind::Txt, 0) if self.wild() => {
                let c = self.own(Kind::Int);
                new().t("GROUP_CONCAT(").n(c.clone()).t(" ORDER BY ").n(c).t(")")
            }
            _ => {
                let f = self.pick(&["MIN(", "MAX("]);
                new().t(f).n(self.expr_own(kind)).t(")")
            }
        };
        self.depth = saved;
        node
    }

    /// A column of the query itself: an aggregate of outer columns alone would belong to the outer query.
    fn own(&mut self, kind: Kind) -> Node {
        match self.local_column(kind) {
            Some(c) => Node::leaf(Sort::Expr(kind), c),
            None => self.literal(kind),
        }
    }

    fn expr_own(&mut self, kind: Kind) -> Node {
        if self.depth > usize::MAX / 4 && self.local == 0 { self.expr(kind, 1) } else { self.own(kind) }
    }

    /// A predicate over groups.
    pub(super) fn having(&mut self, keys: &[Node]) -> Node {
        let k = self.pick(&[Kind::Int, Kind::Dec, Kind::Int, Kind::Txt]);
        let left = match keys.is_empty() || self.one_in(2) {
            true => self.aggregate_of(k),
            false => return self.having_key(keys),
        };
        let op = self.pick(&["=", "<>", "<", "<=", ">", ">=", "<=>"]);
        let right = match self.may_nest() && self.wild() && self.one_in(4) {
            true => self.apart_scalar(k),
            false => self.literal(k),
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

    /// A scalar subquery that sees no column of this query, which groups.
    fn apart_scalar(&mut self, kind: Kind) -> Node {
        let scope = std::mem::take(&mut self.scope);
        let local = std::mem::take(&mut self.local);
        let node = self.scalar_subquery(kind);
        (self.scope, self.local) = (scope, local);
        node
    }

    /// `(SELECT ..)` of one row: an aggregate, or the first by id.
    pub(super) fn scalar_subquery(&mut self, kind: Kind) -> Node {
        self.fuel -= 2;
        let inner = self.nested(|q| {
            let tables = q.pick(&[1, 1, 1, 2]);
            let from = q.from(tables, false);
            let first = from.ids.clone().filter(|_| q.one_in(3));
            let item = match first {
                Some(_) => q.own(kind),
                None => q.aggregate_of(kind),
            };
            let condition = match q.one_in(5) {
                true => Node::empty(),
                false => {
                    let p = q.correlated(2);
                    Node::empty().t(" WHERE ").n(p)
                }
            };
            let tail = first.map_or(String::new(), |ids| format!(" ORDER BY {} LIMIT 1", ids.join(", ")));
            let hint = q.block_hint(&from);
            Node::fixed().t("SELECT ").hint(hint).n(item).t(" FROM ").n(from.node).n(condition).t(tail)
        });
        Node::new(Sort::Expr(kind)).t("(").n(inner).t(")")
    }

    /// A predicate that often compares with an outer column.
    fn correlated(&mut self, depth: u32) -> Node {
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

    pub(super) fn predicate(&mut self, depth: u32) -> Node {
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
                let word = self.pick(&["TRUE", "NOT TRUE", "FALSE", "UNKNOWN", "NOT UNKNOWN", "NOT FALSE"]);
                new().t("(").n(self.predicate(depth - 1)).t(format!(") IS {word}"))
            }
            8 if self.wild() && self.one_in(3) => {
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
                let items: Vec<Node> = (0..n).map(|_| self.literal(kind)).collect();
                new().n(left).t(format!(" {not}IN (")).n(Node::list(items, ", ")).t(")")
            }
            3 => {
                let (a, b) = (self.literal(kind), self.expr(kind, d));
                new().n(left).t(format!(" {not}BETWEEN ")).n(a).t(" AND ").n(b)
            }
            4 if matches!(kind, Kind::Txt | Kind::Bin) => {
                let pattern = self.pick(&["a%", "%b", "_", "%a%", "A_", "%", "ab%c", "w1%", "b c"]);
                new().n(left).t(format!(" {not}LIKE '{pattern}'"))
            }
            5 if self.wild() => self.rows(),
            6 if self.wild() => self.across(),
            7 => new().n(left).t(format!(" {} ", self.pick(&["=", "<", ">", "<=", ">="]))).n(self.literal(kind)),
            _ => {
                let op = self.pick(&["=", "<>", "<", "<=", ">", ">=", "<=>", "=", "="]);
                new().n(left).t(format!(" {op} ")).n(self.expr(kind, d))
            }
        }
    }

    /// `(a, b) = (c, d)` and its kin.
    fn rows(&mut self) -> Node {
        let (k, l) = (self.kind(), self.kind());
        let left = joined(vec![self.column(k), self.column(l)]);
        let new = || Node::new(Sort::Pred);
        if self.one_in(2) {
            let rows: Vec<Node> = (0..self.rng.usize(1..4))
                .map(|_| Node::fixed().t("(").n(joined(vec![self.literal(k), self.literal(l)])).t(")"))
                .collect();
            let not = self.pick(&["", "NOT "]);
            return new().t("(").n(left).t(format!(") {not}IN (")).n(Node::list(rows, ", ")).t(")");
        }
        let op = self.pick(&["=", "<>", "<", ">=", "<=>"]);
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

    /// The query of a set predicate: mostly plain, sometimes any.
    fn set(&mut self, kinds: &[Kind]) -> Node {
        if self.one_in(3) {
            return self.query_of(kinds, Place::Subquery);
        }
        let tables = self.pick(&[1, 1, 1, 2, 2, 3]);
        let from = self.from(tables, false);
        let items: Vec<Node> = kinds.iter().map(|k| self.own(*k)).collect();
        let condition = match self.one_in(4) {
            true => Node::empty(),
            false => {
                let p = self.correlated(2);
                Node::empty().t(" WHERE ").n(p)
            }
        };
        let hint = self.block_hint(&from);
        Node::new(Sort::Select).t("SELECT ").hint(hint).n(joined(items)).t(" FROM ").n(from.node).n(condition)
    }
}
