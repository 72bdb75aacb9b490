//! Random queries over a [`Schema`]: scopes, FROM clauses, selects of all forms.
//!
//! A query is bounded in depth, in fuel (about its number of nodes) and in the rows that its joins may visit, outer queries
//! included. What SQL leaves open is not asked for: LIMIT comes with a total order or shows its sort keys alone, windows
//! are ordered by all row ids.

use super::node::{Node, Sort};
use super::schema::{KINDS, Kind, Profile, Schema};
use fastrand::Rng;

/// A column in sight.
#[derive(Clone, Debug)]
pub struct Col {
    pub name: String,
    pub kind: Kind,
    pub unsigned: bool,
    /// About so many different values.
    pub distinct: f64,
}

/// A statement and what of its order is defined.
#[derive(Clone, Debug)]
pub struct Statement {
    pub node: Node,
    /// Its first columns come in one order only, each row's taken together.
    pub ordered: usize,
}

/// What a FROM put into scope.
#[derive(Clone, Debug)]
pub struct From {
    pub node: Node,
    /// Columns that together tell its rows apart, where there are such.
    pub ids: Option<Vec<String>>,
    /// Its tables, as numbers and aliases, where it is an inner join of tables alone.
    pub tables: Vec<(usize, String)>,
    /// Conditions of a comma join, for WHERE.
    pub conditions: Vec<Node>,
}

/// What a query is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    Top,
    /// Outputs are named x0, x1, ..; LIMIT is allowed.
    Derived,
    Subquery,
}

/// Row combinations that one statement may visit.
const VISITS_MAX: f64 = 3e5;

/// The same where equalities lead.
const VISITS_BY_KEY_MAX: f64 = 2e7;

/// What a common table expression is taken to hold.
const COMMON_ROWS: f64 = 30.0;

const FUEL: i32 = 70;

pub struct Queries<'g> {
    pub rng: &'g mut Rng,
    pub schema: &'g Schema,
    pub profile: Profile,
    pub scope: Vec<Col>,
    /// Where the columns of the innermost query begin.
    pub local: usize,
    aliases: usize,
    pub depth: usize,
    pub fuel: i32,
    /// Combinations of rows so far, all and after equalities.
    visits: f64,
    output: f64,
    /// Common table expressions in sight, with their outputs.
    common: Vec<(String, Vec<Kind>, f64)>,
}

impl<'g> Queries<'g> {
    pub fn new(rng: &'g mut Rng, schema: &'g Schema, profile: Profile) -> Queries<'g> {
        Queries {
            rng,
            schema,
            profile,
            scope: Vec::new(),
            local: 0,
            aliases: 0,
            depth: 0,
            fuel: FUEL,
            visits: 1.0,
            output: 1.0,
            common: Vec::new(),
        }
    }

    pub fn wild(&self) -> bool {
        self.profile == Profile::Wild
    }

    pub fn one_in(&mut self, n: u32) -> bool {
        self.rng.u32(0..n) == 0
    }

    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.rng.usize(0..of.len())]
    }

    pub fn kind(&mut self) -> Kind {
        if self.one_in(2) { self.pick(&[Kind::Int, Kind::Int, Kind::Txt]) } else { self.pick(&KINDS) }
    }

    pub fn depth_max(&self) -> usize {
        if self.wild() { 3 } else { 2 }
    }

    /// Whether a subquery may come here.
    pub fn may_nest(&self) -> bool {
        self.depth < self.depth_max() && self.fuel > 0
    }

    fn alias(&mut self, letter: char) -> String {
        self.aliases += 1;
        format!("{letter}{}", self.aliases - 1)
    }

    /// A whole statement.
    pub fn statement(&mut self) -> Statement {
        match self.rng.u32(0..14) {
            0 => self.set_operation(Place::Top),
            1 | 2 => self.with(),
            3 => self.window(),
            _ => self.select(None, Place::Top),
        }
    }

    /// Two queries of the same outputs.
    fn set_operation(&mut self, place: Place) -> Statement {
        let kinds: Vec<Kind> = (0..self.rng.usize(1..4)).map(|_| self.kind()).collect();
        self.set_operation_of(&kinds, place)
    }

    fn set_operation_of(&mut self, kinds: &[Kind], place: Place) -> Statement {
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

    /// A query that sees neither the columns of this one nor what it leaves behind.
    fn apart<R>(&mut self, f: impl FnOnce(&mut Self) -> R) -> R {
        let (scope, local) = (std::mem::take(&mut self.scope), std::mem::take(&mut self.local));
        let (visits, output) = (self.visits, self.output);
        let r = f(self);
        (self.scope, self.local, self.visits, self.output) = (scope, local, visits, output);
        r
    }

    /// One level down; the columns that it brings go away, and so do its visits.
    pub fn nested<R>(&mut self, f: impl FnOnce(&mut Self) -> R) -> R {
        let (before, local, visits, output) = (self.scope.len(), self.local, self.visits, self.output);
        self.depth += 1;
        self.local = before;
        let r = f(self);
        self.depth -= 1;
        self.scope.truncate(before);
        (self.local, self.visits, self.output) = (local, visits, output);
        r
    }

    fn with(&mut self) -> Statement {
        let mut clauses = Vec::new();
        let recursive = self.one_in(6);
        if recursive {
            let n = self.rng.u32(2..9);
            clauses
                .push(Node::fixed().t(format!("r (x0) AS (SELECT 1 UNION ALL SELECT x0 + 1 FROM r WHERE x0 < {n})")));
            self.common.push(("r".into(), vec![Kind::Int], n as f64));
        }
        for i in 0..self.pick(&[1, 1, 2]) {
            let kinds: Vec<Kind> = (0..self.rng.usize(1..4)).map(|_| self.kind()).collect();
            let inner = self.apart(|q| q.nested(|q| q.query_of(&kinds, Place::Derived)));
            clauses.push(Node::fixed().t(format!("w{i} AS (")).n(inner).t(")"));
            self.common.push((format!("w{i}"), kinds, COMMON_ROWS));
        }
        let body = if self.one_in(4) { self.set_operation(Place::Top) } else { self.select(None, Place::Top) };
        self.common.clear();
        let word = if recursive { "WITH RECURSIVE " } else { "WITH " };
        let node = Node::new(Sort::Select).t(word).n(Node::list(clauses, ", ")).t(" ").n(body.node);
        Statement { node, ordered: body.ordered }
    }

    /// A query of given outputs, of any form.
    pub fn query_of(&mut self, kinds: &[Kind], place: Place) -> Node {
        // the sides of a set operation within a subquery see outer columns as well
        if self.one_in(10) && place == Place::Derived {
            return self.set_operation_of(kinds, place).node;
        }
        self.select(Some(kinds), place).node
    }

    /// A SELECT; with `kinds`, of exactly these outputs.
    pub fn select(&mut self, kinds: Option<&[Kind]>, place: Place) -> Statement {
        let (before, local) = (self.scope.len(), self.local);
        self.local = before;
        let top = self.depth == 0;
        let tables = if top { self.pick(&[1, 1, 2, 2, 2, 3, 3, 4, 5, 6]) } else { self.pick(&[1, 1, 1, 2, 2, 3]) };
        let from = self.from(tables, true);
        let mut conditions = from.conditions.clone();
        if !self.one_in(4) {
            conditions.push(self.predicate(3));
        }
        let filter = match conditions.is_empty() {
            true => Node::empty(),
            false => Node::empty().t(" WHERE ").n(and(conditions)),
        };
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
        if place != Place::Derived {
            // with fixed outputs each stays where it is; else all but the first may go
            return match place {
                Place::Top => Node::list(items, ", "),
                _ => joined(items),
            };
        }
        joined(items.into_iter().enumerate().map(|(i, n)| Node::fixed().n(n).t(format!(" AS x{i}"))).collect())
    }

    fn flat(&mut self, kinds: Option<&[Kind]>, from: From, filter: Node, place: Place) -> Statement {
        let mut items: Vec<Node> = match kinds {
            Some(kinds) => kinds.iter().map(|k| self.expr(*k, 2)).collect(),
            None => (0..self.rng.usize(1..4))
                .map(|_| {
                    let k = self.kind();
                    self.expr(k, 2)
                })
                .collect(),
        };
        let distinct = self.one_in(5);
        let mut tail = Node::empty();
        let mut ordered = 0;
        let may_limit = place != Place::Subquery;
        if may_limit && self.one_in(3) {
            let limit = self.one_in(2) || place == Place::Derived;
            let mut keys: Vec<String> = Vec::new();
            let total = from.ids.clone().filter(|_| !distinct && (kinds.is_some() || self.one_in(2)));
            if kinds.is_none() {
                // the keys are shown, so that their order can be seen; without a total order they alone
                let columns = self.columns_for_order();
                let mut first: Vec<Node> = Vec::new();
                for name in columns {
                    keys.push(format!("{name}{}", self.pick(&["", "", " DESC"])));
                    first.push(Node::fixed().t(name));
                }
                ordered = first.len();
                if total.is_some() || !limit {
                    if !distinct || !limit {
                        first.append(&mut items);
                    }
                    items = first;
                } else {
                    items = first;
                }
            }
            let shown = kinds.is_none();
            if let Some(ids) = &total {
                keys.extend(ids.iter().cloned());
            }
            if !keys.is_empty() && (shown || total.is_some()) {
                tail = tail.t(format!(" ORDER BY {}", keys.join(", ")));
                if limit {
                    let offset = if self.one_in(3) { format!(" OFFSET {}", self.rng.u32(0..5)) } else { String::new() };
                    let n = self.pick(&[1, 2, 3, 5, 10, 100]);
                    tail = tail.n(Node::empty().t(format!(" LIMIT {n}{offset}")));
                }
            }
        }
        let hint = self.block_hint(&from);
        let node = Node::new(Sort::Select)
            .t("SELECT ")
            .hint(hint)
            .n(Node::empty().t(if distinct { "DISTINCT " } else { "" }))
            .n(self.items(items, place))
            .t(" FROM ")
            .n(from.node)
            .n(filter)
            .n(tail);
        Statement { node, ordered }
    }

    /// One or two columns of one table, as an index might order them.
    fn columns_for_order(&mut self) -> Vec<String> {
        let own = self.scope.len() - self.local;
        (0..self.pick(&[1, 1, 2]))
            .map(|_| {
                let at = self.local + self.rng.usize(0..own);
                self.scope[at].name.clone()
            })
            .fold(Vec::new(), |mut all, name| {
                if !all.contains(&name) {
                    all.push(name);
                }
                all
            })
    }

    fn grouped(&mut self, kinds: Option<&[Kind]>, from: From, filter: Node, place: Place) -> Statement {
        let mut keys: Vec<Node> = Vec::new();
        let mut items: Vec<Node> = Vec::new();
        match kinds {
            Some(kinds) => {
                for k in kinds {
                    if self.one_in(2) {
                        items.push(self.aggregate_of(*k));
                    } else if let Some(c) = self.local_column(*k) {
                        keys.push(Node::fixed().t(c.clone()));
                        items.push(Node::fixed().t(c));
                    } else {
                        items.push(self.aggregate_of(*k));
                    }
                }
                if keys.is_empty() && self.one_in(2) {
                    let k = self.kind();
                    keys.extend(self.local_column(k).map(|c| Node::fixed().t(c)));
                }
            }
            None => {
                for _ in 0..self.rng.usize(0..4) {
                    let k = self.kind();
                    let key = match self.local_column(k) {
                        Some(c) => Node::fixed().t(c),
                        None => continue,
                    };
                    // a key that is an expression is repeated word by word
                    let key = if self.wild() && k == Kind::Int && self.one_in(5) {
                        Node::fixed().t("(").n(key).t(" + 1)")
                    } else {
                        key
                    };
                    keys.push(key.clone());
                    items.push(key);
                }
                for _ in 0..self.rng.usize(1..4) {
                    let k = self.kind();
                    items.push(self.aggregate_of(k));
                }
            }
        }
        let mut tail = Node::empty();
        let mut ordered = 0;
        let rollup = kinds.is_none() && !keys.is_empty() && self.wild() && self.one_in(12);
        if !keys.is_empty() {
            let keys: Vec<Node> = keys.clone();
            tail = tail.t(" GROUP BY ").n(joined(keys)).t(if rollup { " WITH ROLLUP" } else { "" });
        }
        if self.one_in(4) {
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
        let hint = self.block_hint(&from);
        let node = Node::new(Sort::Select)
            .t("SELECT ")
            .hint(hint)
            .n(self.items(items, place))
            .t(" FROM ")
            .n(from.node)
            .n(filter)
            .n(tail);
        Statement { node, ordered }
    }

    fn window(&mut self) -> Statement {
        let from = loop {
            let tables = self.pick(&[1, 1, 2]);
            self.scope.clear();
            let from = self.from(tables, false);
            if from.ids.is_some() {
                break from;
            }
        };
        let ids = from.ids.clone().expect("just seen").join(", ");
        let mut items = vec![Node::fixed().t(ids.clone())];
        for _ in 0..self.rng.usize(1..3) {
            let i = self.expr(Kind::Int, 1);
            let function = self.pick(&[
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
            ]);
            let mut f = Node::new(Sort::Fixed);
            f = match function.split_once('?') {
                Some((l, r)) => f.t(l).n(i).t(r),
                None => f.t(function),
            };
            f = f.t(" OVER (");
            if self.one_in(2) {
                let k = self.kind();
                let key = self.column(k);
                f = f.n(Node::empty().t("PARTITION BY ").n(key).t(" "));
            }
            let frames = function.starts_with(['S', 'C', 'M', 'A', 'F']) || function.starts_with("LAST");
            let frame = match frames && self.one_in(2) {
                true => self.pick(&[
                    " ROWS BETWEEN 1 PRECEDING AND CURRENT ROW",
                    " ROWS BETWEEN UNBOUNDED PRECEDING AND 1 FOLLOWING",
                    " ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING",
                ]),
                false => "",
            };
            items.push(f.t(format!("ORDER BY {ids}")).n(Node::empty().t(frame)).t(")"));
        }
        let filter = match self.one_in(2) {
            true => Node::empty(),
            false => Node::empty().t(" WHERE ").n(self.predicate(2)),
        };
        self.scope.clear();
        let node = Node::new(Sort::Select).t("SELECT ").n(Node::list(items, ", ")).t(" FROM ").n(from.node).n(filter);
        Statement { node, ordered: 0 }
    }

    // ---- FROM

    /// Tables joined in all ways, their columns in scope. `commas`: conditions may be left to WHERE.
    pub fn from(&mut self, tables: usize, commas: bool) -> From {
        let start = self.scope.len();
        let mut from = self.factor();
        let comma = commas && self.one_in(6);
        for n in 1..tables {
            if self.fuel <= 0 {
                break;
            }
            let before = self.scope.len();
            let group = !comma && n + 1 < tables && self.one_in(10);
            let right = if group { self.group(start) } else { self.factor() };
            if self.scope.len() == before && right.node.parts.is_empty() {
                break; // too many rows already
            }
            let on = self.on(start, before);
            from.ids = match (from.ids.take(), right.ids) {
                (Some(mut a), Some(b)) => {
                    a.extend(b);
                    Some(a)
                }
                _ => None,
            };
            from.conditions.extend(right.conditions);
            if comma {
                from.node = Node::new(Sort::From).n(from.node).t(", ").n(right.node);
                from.conditions.push(on);
                continue;
            }
            let word = self.pick(&[
                "JOIN",
                "JOIN",
                "JOIN",
                "LEFT JOIN",
                "LEFT JOIN",
                "LEFT JOIN",
                "RIGHT JOIN",
                "STRAIGHT_JOIN",
            ]);
            if self.one_in(14) && self.visits <= VISITS_MAX {
                from.node = Node::new(Sort::From).n(from.node).t(" CROSS JOIN ").n(right.node);
                continue;
            }
            from.node = Node::new(Sort::From).n(from.node).t(format!(" {word} ")).n(right.node).t(" ON ").n(on);
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
        let kind =
            self.pick(&[Kind::Int, Kind::Int, Kind::Int, Kind::Txt, Kind::Dec, Kind::Date, Kind::Bin, Kind::Stamp]);
        let left = self.column_in(start, before, kind);
        let right = self.column_in(before, after, kind);
        let (left, right) = match (left, right) {
            (Some(l), Some(r)) => (l, r),
            _ => match (self.column_in(start, before, Kind::Int), self.column_in(before, after, Kind::Int)) {
                (Some(l), Some(r)) => (l, r),
                _ => return Node::leaf(Sort::Pred, "TRUE"),
            },
        };
        let distinct = right.distinct.min(left.distinct).max(1.0);
        let loose = self.visits <= VISITS_MAX && self.one_in(9);
        let mut on = if loose {
            let op = self.pick(&["<", ">", "<=", "<>", "<=>"]);
            Node::new(Sort::Pred).t(format!("{} {op} {}", left.name, right.name))
        } else {
            self.output = (self.output / distinct).max(1.0);
            let op = if self.one_in(14) { "<=>" } else { "=" };
            Node::new(Sort::Pred).t(format!("{} {op} {}", left.name, right.name))
        };
        if self.one_in(5) {
            // a second equality, as multi-column keys like
            let kind = self.kind();
            if let (Some(l), Some(r)) = (self.column_in(start, before, kind), self.column_in(before, after, kind)) {
                on = and(vec![on, Node::new(Sort::Pred).t(format!("{} = {}", l.name, r.name))]);
            }
        }
        if self.one_in(5) {
            let hidden = std::mem::replace(&mut self.local, start);
            let depth = if self.one_in(4) { 2 } else { 1 };
            let p = self.predicate(depth);
            self.local = hidden;
            on = match self.one_in(6) && self.visits <= VISITS_MAX {
                true => Node::new(Sort::Pred).t("(").n(on).t(" OR ").n(p).t(")"),
                false => and(vec![on, p]),
            };
        }
        on
    }

    fn factor(&mut self) -> From {
        self.fuel -= 1;
        if !self.common.is_empty() && self.one_in(2) {
            let (name, kinds, rows) = self.common[self.rng.usize(0..self.common.len())].clone();
            if self.fits(rows) {
                self.add(rows);
                let alias = self.alias('c');
                self.outputs(&alias, &kinds, rows);
                let node = Node::new(Sort::Factor).t(format!("{name} AS {alias}"));
                return From { node, ids: None, tables: Vec::new(), conditions: Vec::new() };
            }
        }
        if self.may_nest() && self.one_in(9) {
            return self.derived();
        }
        self.table()
    }

    fn fits(&self, rows: f64) -> bool {
        self.visits * rows <= VISITS_BY_KEY_MAX && self.output * rows <= VISITS_MAX
    }

    fn add(&mut self, rows: f64) {
        self.visits *= rows.max(1.0);
        self.output *= rows.max(1.0);
    }

    /// A table; the smallest where the query visits enough rows already.
    pub fn table(&mut self) -> From {
        let mut at = self.rng.usize(0..self.schema.tables.len());
        if !self.fits(self.schema.tables[at].rows.len() as f64) {
            let smallest = self.schema.tables.iter().enumerate().min_by_key(|(_, t)| t.rows.len());
            at = smallest.map_or(at, |(i, _)| i);
        }
        let schema = self.schema;
        let table = &schema.tables[at];
        self.add(table.rows.len() as f64);
        let alias = self.alias('a');
        for c in &table.columns {
            let distinct = (c.distinct as f64).min(table.rows.len() as f64);
            let name = format!("{alias}.{}", c.name);
            self.scope.push(Col { name, kind: c.kind, unsigned: c.unsigned, distinct });
        }
        let hint = self.index_hint(at);
        let node = Node::new(Sort::Factor).t(format!("{} AS {alias}", table.name)).hint(hint);
        let ids = Some(vec![format!("{alias}.id")]);
        From { node, ids, tables: vec![(at, alias)], conditions: Vec::new() }
    }

    fn derived(&mut self) -> From {
        let kinds: Vec<Kind> = (0..self.rng.usize(1..4)).map(|_| self.kind()).collect();
        let lateral = self.wild() && !self.scope.is_empty() && self.one_in(8);
        let output = self.output;
        let mut rows = 1.0;
        let inner = match lateral {
            true => self.nested(|q| {
                let n = q.query_of(&kinds, Place::Derived);
                rows = (q.output / output).max(1.0);
                n
            }),
            false => self.apart(|q| {
                q.nested(|q| {
                    let n = q.query_of(&kinds, Place::Derived);
                    rows = (q.output / output).max(1.0);
                    n
                })
            }),
        };
        self.add(rows);
        let alias = self.alias('q');
        self.outputs(&alias, &kinds, rows);
        let word = if lateral { "LATERAL (" } else { "(" };
        let node = Node::new(Sort::Factor).t(word).n(inner).t(format!(") AS {alias}"));
        From { node, ids: None, tables: Vec::new(), conditions: Vec::new() }
    }

    fn outputs(&mut self, alias: &str, kinds: &[Kind], rows: f64) {
        for (i, kind) in kinds.iter().enumerate() {
            let name = format!("{alias}.x{i}");
            // of unknown sign: as if unsigned, so that no subtraction overflows
            self.scope.push(Col { name, kind: *kind, unsigned: true, distinct: (rows / 2.0).max(1.0) });
        }
    }

    // ---- columns

    pub fn column_in(&mut self, from: usize, to: usize, kind: Kind) -> Option<Col> {
        let n = self.scope[from..to].iter().filter(|c| c.kind == kind).count();
        if n == 0 {
            return None;
        }
        let nth = self.rng.usize(0..n);
        self.scope[from..to].iter().filter(|c| c.kind == kind).nth(nth).cloned()
    }

    /// A column of this query; outer ones now and then.
    pub fn any_column(&mut self, kind: Kind) -> Option<Col> {
        let all = self.scope.len();
        if self.local > 0 && self.one_in(4) {
            let local = self.local;
            return self.column_in(0, local, kind).or_else(|| self.column_in(0, all, kind));
        }
        let local = self.local;
        self.column_in(local, all, kind).or_else(|| self.column_in(0, all, kind))
    }

    pub fn local_column(&mut self, kind: Kind) -> Option<String> {
        let (local, all) = (self.local, self.scope.len());
        self.column_in(local, all, kind).map(|c| c.name)
    }
}

/// Nodes with commas between; all stay.
pub fn joined(nodes: Vec<Node>) -> Node {
    nodes.into_iter().enumerate().fold(Node::fixed(), |out, (i, n)| if i > 0 { out.t(", ").n(n) } else { out.n(n) })
}

pub fn and(mut nodes: Vec<Node>) -> Node {
    let first = nodes.remove(0);
    nodes.into_iter().fold(first, |all, n| Node::new(Sort::Pred).n(all).t(" AND ").n(n))
}
