//! Expressions and aggregates of a kind, scalar subqueries.

use super::super::node::{Node, Sort};
use super::super::schema::{Kind, literal};
use super::select::Block;
use super::{Queries, filter};

impl Queries<'_> {
    pub(super) fn literal(&mut self, kind: Kind) -> Node {
        Node::leaf(Sort::Expr(kind), literal(self.rng, kind))
    }

    /// A literal with which something is compared.
    pub(super) fn constant(&mut self, kind: Kind) -> Node {
        Node::constant(Sort::Expr(kind), literal(self.rng, kind))
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

    pub fn expr(&mut self, kind: Kind, depth: u32) -> Node {
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
            3 => {
                let (p, a, b) = (self.predicate(d), self.expr(kind, d), self.column(kind));
                new().t("IF(").n(p).t(", ").n(a).t(", ").n(b).t(")")
            }
            4 | 5 if self.may_nest() => self.scalar_subquery(kind),
            6 if matches!(kind, Kind::Int | Kind::Dec | Kind::Dbl) || (self.wild() && kind == Kind::Txt) => {
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
            Kind::Int => match self.rng.u32(0..9) {
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
            Kind::Dec if self.one_in(4) => new().t("ROUND(").n(self.column(kind)).t(", 1)"),
            Kind::Dec | Kind::Dbl => new().t("(").n(self.column(kind)).t(format!(" {op} ")).n(self.column(kind)).t(")"),
            Kind::Txt => match self.rng.u32(0..5) {
                0 => new().t("CONCAT(").n(self.expr(kind, d)).t(", 'x', ").n(self.expr(kind, d)).t(", 'y')"),
                1 => new().t("LOWER(").n(self.expr(kind, d)).t(")"),
                2 => new().t("LEFT(CONCAT(").n(self.column(kind)).t(", 'q'), 1)"),
                3 => new().t("CAST(").n(self.column(Kind::Int)).t(" AS CHAR)"),
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
    pub fn aggregate_of(&mut self, kind: Kind) -> Node {
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
            (Kind::Int, 5) => {
                let (a, b) = (self.own(Kind::Int), self.own(Kind::Txt));
                new().t("COUNT(DISTINCT ").n(a).t(", ").n(b).t(")")
            }
            (Kind::Dec, 0 | 1) => new().t("SUM(").n(self.expr_own(Kind::Int)).t(")"),
            (Kind::Dec, 2) => new().t("SUM(").n(self.expr_own(Kind::Dec)).t(")"),
            (Kind::Dec, 3) => new().t("SUM(DISTINCT ").n(self.own(Kind::Int)).t(")"),
            (Kind::Dec, 4) => new().t("AVG(").n(self.own(Kind::Dec)).t(")"),
            (Kind::Dbl, 0 | 1) => new().t("SUM(").n(self.own(Kind::Dbl)).t(")"),
            (Kind::Txt, 0) => {
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

    fn expr_own(&mut self, kind: Kind) -> Node {
        if self.depth > usize::MAX / 4 && self.local == 0 { self.expr(kind, 1) } else { self.own(kind) }
    }

    /// A scalar subquery that sees no column of this query, which groups.
    pub(super) fn apart_scalar(&mut self, kind: Kind) -> Node {
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
            let filter = if q.one_in(5) { Node::empty() } else { filter(q.correlated(2)) };
            let tail = first.map_or(String::new(), |ids| format!(" ORDER BY {} LIMIT 1", ids.join(", ")));
            let node = q.block(Block { from, filter, distinct: false, items: item, tail: Node::fixed().t(tail) });
            // it stays of one row
            Node { sort: Sort::Fixed, plain: Vec::new(), ..node }
        });
        Node::new(Sort::Expr(kind)).t("(").n(inner).t(")")
    }
}
