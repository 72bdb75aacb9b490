//! The names in a query: of tables, and of columns, wherever they stand.
//!
//! Walks the whole tree with its subqueries and common table expressions, and knows which of these are in sight where:
//! a bare name may mean one of them. Left spines of joins and operators, which may be long, are walked without
//! recursion, from the right.

use super::*;

/// A name, or what gives names, to be looked at or changed.
pub enum NameUse<'n> {
    /// In FROM, or of TABLE. `is_cte_here`: a common table expression of that name is in sight, which the name means if
    /// it has no schema.
    Table {
        name: &'n mut ObjectName,
        is_cte_here: bool,
    },
    Column(&'n mut ColumnRef),
    /// `t.*`
    Star(&'n mut ObjectName),
    /// What a query is made of, after all that stands in it. `of_exists`: EXISTS asks whether it has rows.
    Body {
        body: &'n mut QueryBody,
        of_exists: bool,
    },
}

impl Query {
    /// Calls `f` for each name and each body in the query.
    pub fn each_name(&mut self, f: &mut dyn FnMut(NameUse<'_>)) {
        Walk { ctes: Vec::new(), f }.query(self, false);
    }
}

struct Walk<'f> {
    /// Common table expressions in sight.
    ctes: Vec<Box<str>>,
    f: &'f mut dyn FnMut(NameUse<'_>),
}

impl Walk<'_> {
    fn query(&mut self, query: &mut Query, of_exists: bool) {
        let mark = self.ctes.len();
        if let Some(with) = &mut query.with {
            let recursive = with.recursive;
            for cte in &mut with.ctes {
                if recursive {
                    self.ctes.push(cte.name.0.clone());
                }
                self.query(&mut cte.query, false);
                if !recursive {
                    self.ctes.push(cte.name.0.clone());
                }
            }
        }
        self.body(&mut query.body, of_exists);
        self.order(&mut query.order_by);
        self.ctes.truncate(mark);
    }

    fn body(&mut self, body: &mut QueryBody, of_exists: bool) {
        match body {
            QueryBody::Select(select) => self.select(select),
            QueryBody::Values(rows) => rows.iter_mut().for_each(|r| self.exprs(r)),
            QueryBody::Table(name) => self.table(name),
            QueryBody::SetOp(chain) => {
                self.body(&mut chain.first, of_exists);
                chain.rest.iter_mut().for_each(|t| self.body(&mut t.body, of_exists));
            }
            QueryBody::Nested(query) => self.query(query, of_exists),
        }
        (self.f)(NameUse::Body { body, of_exists });
    }

    fn select(&mut self, select: &mut Select) {
        for item in &mut select.items {
            match item {
                SelectItem::Wildcard(_) => {}
                SelectItem::QualifiedWildcard(table, _) => (self.f)(NameUse::Star(table)),
                SelectItem::Expr(item) => self.expr(&mut item.expr),
            }
        }
        select.from.iter_mut().for_each(|t| self.from(t));
        self.exprs(&mut select.where_);
        select.group_by.iter_mut().for_each(|g| self.exprs(&mut g.exprs));
        self.exprs(&mut select.having);
        select.windows.iter_mut().for_each(|w| self.window(&mut w.spec));
    }

    fn table(&mut self, name: &mut ObjectName) {
        let is_cte_here = self.ctes.iter().any(|c| **c == *name.name);
        (self.f)(NameUse::Table { name, is_cte_here });
    }

    fn from(&mut self, table: &mut TableRef) {
        let mut table = table;
        loop {
            match table {
                TableRef::Table(t) => return self.table(&mut t.name),
                TableRef::Derived(d) => return self.query(&mut d.query, false),
                TableRef::JsonTable(t) => {
                    self.expr(&mut t.doc);
                    return self.expr(&mut t.path);
                }
                TableRef::Join(join) => {
                    self.from(&mut join.right);
                    if let JoinConstraint::On(condition) = &mut join.constraint {
                        self.expr(condition);
                    }
                    table = &mut join.left;
                }
            }
        }
    }

    fn order(&mut self, items: &mut [OrderItem]) {
        items.iter_mut().for_each(|item| self.expr(&mut item.expr));
    }

    fn window(&mut self, spec: &mut WindowSpec) {
        self.exprs(&mut spec.partition_by);
        self.order(&mut spec.order_by);
    }

    fn over(&mut self, over: &mut Over) {
        if let Over::Spec(spec) = over {
            self.window(spec);
        }
    }

    fn exprs<'e>(&mut self, exprs: impl IntoIterator<Item = &'e mut Expr>) {
        exprs.into_iter().for_each(|e| self.expr(e));
    }

    /// The operands of a chain, the last one first.
    fn chain(&mut self, chain: &mut BinaryExpr) {
        let mut node = chain;
        while matches!(node.left.kind, ExprKind::Binary(_)) {
            self.expr(&mut node.right);
            let ExprKind::Binary(next) = &mut node.left.kind else { return };
            node = next;
        }
        self.exprs([&mut node.right, &mut node.left]);
    }

    fn expr(&mut self, e: &mut Expr) {
        use ExprKind::*;
        match &mut e.kind {
            Literal(_) | Param(_) | UserVar(_) | SysVar(_) | Default => {}
            Column(c) | DefaultOf(c) | ValuesOf(c) => (self.f)(NameUse::Column(c)),
            Assign(a) => self.expr(&mut a.1),
            Unary(_, x) | Extract(_, x) | GetFormat(_, x) => self.expr(x),
            Binary(b) => self.chain(b),
            And(v) | Or(v) | Row(v) => self.exprs(v.iter_mut()),
            Is(x) => self.expr(&mut x.expr),
            InList(x) => self.exprs(std::iter::once(&mut x.expr).chain(&mut x.list)),
            InSubquery(x) => {
                self.expr(&mut x.expr);
                self.query(&mut x.query, false);
            }
            Between(x) => self.exprs([&mut x.expr, &mut x.low, &mut x.high]),
            Like(x) => self.exprs([&mut x.expr, &mut x.pattern].into_iter().chain(&mut x.escape)),
            Regexp(x) => self.exprs([&mut x.expr, &mut x.pattern]),
            Quantified(x) => {
                self.expr(&mut x.left);
                self.query(&mut x.query, false);
            }
            Subquery(q) => self.query(q, false),
            Exists(q) => self.query(q, true),
            Case(x) => {
                self.exprs(&mut x.operand);
                x.whens.iter_mut().for_each(|(when, then)| self.exprs([when, then]));
                self.exprs(&mut x.else_expr);
            }
            Cast(x) => self.expr(&mut x.expr),
            ConvertUsing(x) | Collate(x) => self.expr(&mut x.0),
            DateArith(x) => self.exprs([&mut x.date, &mut x.value]),
            Function(x) => self.exprs(&mut x.args),
            Aggregate(x) => {
                self.exprs(&mut x.args);
                self.order(&mut x.order_by);
                x.over.iter_mut().for_each(|o| self.over(o));
            }
            Window(x) => {
                self.exprs(&mut x.args);
                self.over(&mut x.over);
            }
            TimestampDiff(x) => self.exprs([&mut x.1, &mut x.2]),
            Trim(x) => self.exprs(x.what.iter_mut().chain([&mut x.expr])),
            Match(x) => {
                x.columns.iter_mut().for_each(|c| (self.f)(NameUse::Column(c)));
                self.expr(&mut x.against);
            }
            CharUsing(x) => self.exprs(&mut x.0),
            WeightString(x) => self.expr(&mut x.expr),
            JsonValue(x) => self.exprs([&mut x.doc, &mut x.path]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        let mut statement = crate::parse(text, &crate::ParseOptions::default()).expect("valid");
        let Statement::Query(query) = &mut statement else { panic!("not a query") };
        let mut out = vec![];
        query.each_name(&mut |name| {
            out.extend(match name {
                NameUse::Table { name, is_cte_here: true } => Some(format!("{name}?")),
                NameUse::Table { name, .. } => Some(name.to_string()),
                NameUse::Column(c) => Some(format!("c{c}")),
                NameUse::Star(t) => Some(format!("{t}.*")),
                NameUse::Body { .. } => None,
            })
        });
        out.iter().map(|n| n.replace('`', "")).collect()
    }

    #[test]
    fn every_name_is_met_where_it_stands() {
        assert_eq!(names("SELECT a, t.*, (SELECT MAX(x) FROM s) FROM d.t"), ["ca", "t.*", "cx", "s", "d.t"]);
        assert_eq!(
            names("WITH c AS (SELECT 1 FROM c), e AS (SELECT 1 FROM c) SELECT 1 FROM c WHERE 1 IN (TABLE e)"),
            ["c", "c?", "c?", "e?"]
        );
        assert_eq!(names("WITH RECURSIVE c AS (SELECT 1 UNION SELECT 1 FROM c, d.c) TABLE c"), ["c?", "d.c?", "c?"]);
        assert_eq!(names("(WITH c AS (SELECT 1) TABLE c) UNION TABLE c"), ["c?", "c"]);
        assert_eq!(
            names("SELECT CASE a WHEN b + c * d THEN f(e) END FROM t JOIN (SELECT 1 FROM u) x ON y = z ORDER BY o"),
            ["ca", "cd", "cc", "cb", "ce", "u", "cz", "cy", "t", "co"]
        );
        let long = format!("SELECT {} FROM {}", vec!["a"; 50_000].join("+"), vec!["t"; 1500].join(" JOIN "));
        assert_eq!(names(&long).len(), 51_500);
    }
}
