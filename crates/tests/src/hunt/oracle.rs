//! What must hold of answers, whatever the plan.
//!
//! - `Forced`: a statement has the same rows under every way to run it (switches, hints, memory, leaves, threads, a
//!   snapshot beside changes).
//! - `Rows`, `Distinct`, `Aggregates`, `Having`: a query is the union of its partitions by `p`, `NOT p` and `p IS NULL`
//!   (ternary logic partitioning: Rigger and Su, OOPSLA 2020).
//! - `Count`: the rows with `p` are as many as those for which `p` is true in the list of items, where no optimizer looks
//!   (NoREC: Rigger and Su, ESEC/FSE 2020).
//! - `Pivot`: a combination of rows is chosen, the conditions are turned so that they hold for it, and it must be in the
//!   answer (pivoted query synthesis: Rigger and Su, OSDI 2020).

use super::node::Node;
use super::query::{From, Queries, joined};
use super::schema::{Kind, Profile, Schema};
use super::world::{Way, World, fold, folded, random_way};
use crate::{Answer, TextRows};
use fastrand::Rng;
use std::collections::BTreeSet;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Oracle {
    Forced,
    Rows,
    Distinct,
    Aggregates,
    Having,
    Count,
    Pivot,
}

/// A statement in parts, and how it is checked.
#[derive(Clone, Debug)]
pub struct Case {
    pub oracle: Oracle,
    /// By oracle: the statement; items, FROM, predicate; tables' conditions.
    pub nodes: Vec<Node>,
    pub ordered: usize,
    pub ways: Vec<Way>,
    /// Of `Pivot`: tables with their aliases and ids.
    pub pivot: Vec<(String, String, String)>,
    /// Of `Aggregates`: what puts the parts' results together.
    pub combine: Vec<&'static str>,
}

/// What is wrong.
#[derive(Clone, Debug)]
pub struct Fault {
    /// Faults of one class are the same fault while a case is made smaller.
    pub class: String,
    pub text: String,
}

/// Errors that depend on what is evaluated, on time and on memory.
const MAY_DIFFER: &[u16] = &[1690, 1242, 3024, 3170, 1317];

/// Errors that are our own fault whatever the statement.
const BUGS: &[u16] = &[1815, 1105, 0];

/// Ways in which a forced statement runs.
const WAYS: usize = 4;

impl Case {
    pub fn random(rng: &mut Rng, schema: &Schema, profile: Profile) -> Case {
        let oracle = match rng.u8(0..16) {
            0..=8 => Oracle::Forced,
            9 | 10 => Oracle::Rows,
            11 => Oracle::Distinct,
            12 => Oracle::Aggregates,
            13 => Oracle::Having,
            14 => Oracle::Count,
            _ => Oracle::Pivot,
        };
        let ways = (0..if oracle == Oracle::Forced { WAYS } else { 1 }).map(|_| random_way(rng)).collect();
        let mut case = Case { oracle, nodes: Vec::new(), ordered: 0, ways, pivot: Vec::new(), combine: Vec::new() };
        let mut q = Queries::new(rng, schema, profile);
        match oracle {
            Oracle::Forced => {
                let s = q.statement();
                (case.nodes, case.ordered) = (vec![s.node], s.ordered);
            }
            Oracle::Pivot => case.pivot(&mut q),
            _ => case.parts(&mut q),
        }
        case
    }

    fn parts(&mut self, q: &mut Queries<'_>) {
        let tables = q.pick(&[1, 1, 2, 2, 3, 4]);
        let from = q.from(tables, false);
        let mut items = Vec::new();
        let mut keys = Vec::new();
        match self.oracle {
            Oracle::Aggregates => {
                for _ in 0..q.rng.usize(1..4) {
                    let (f, combine) = q.pick(&[
                        ("COUNT", "SUM"),
                        ("SUM", "SUM"),
                        ("MIN", "MIN"),
                        ("MAX", "MAX"),
                        ("BIT_OR", "BIT_OR"),
                    ]);
                    let k = if matches!(f, "SUM" | "BIT_OR") { Kind::Int } else { q.kind() };
                    let e = q.expr(k, 1);
                    items.push(Node::fixed().t(f).t("(").n(e).t(")"));
                    self.combine.push(combine);
                }
            }
            Oracle::Having => {
                for _ in 0..q.rng.usize(1..3) {
                    let k = q.kind();
                    if let Some(c) = q.local_column(k) {
                        keys.push(Node::fixed().t(c));
                    }
                }
                items.extend(keys.iter().cloned());
                let k = q.kind();
                items.push(q.aggregate_of(k));
            }
            _ => {
                for _ in 0..q.rng.usize(1..4) {
                    let k = q.kind();
                    items.push(q.expr(k, 1));
                }
            }
        }
        let p = if self.oracle == Oracle::Having { q.having(&keys) } else { q.predicate(3) };
        self.nodes = vec![joined(items), from.node, p, joined(keys)];
    }

    fn pivot(&mut self, q: &mut Queries<'_>) {
        let mut conditions = Vec::new();
        let tables = q.pick(&[1, 2, 2, 3]);
        for _ in 0..tables {
            let From { tables, .. } = q.table();
            let (at, alias) = tables.into_iter().next().expect("a table is one");
            let t = &q.schema.tables[at];
            let id = q.rng.usize(0..t.rows.len().max(1)).to_string();
            self.pivot.push((t.name.clone(), alias, id));
            conditions.push(q.predicate(2));
        }
        conditions.push(q.predicate(3));
        self.nodes = conditions;
    }

    /// `None`: all is well, or nothing can be said.
    pub fn check(&self, world: &mut World) -> Option<Fault> {
        match self.oracle {
            Oracle::Forced => self.forced(world),
            Oracle::Pivot => self.pivoted(world),
            _ => self.partitioned(world),
        }
    }

    /// What it is made of.
    pub fn text(&self) -> String {
        let nodes: Vec<String> = self.nodes.iter().map(|n| n.render(true)).collect();
        format!("{:?}: {}", self.oracle, nodes.join(" ~ "))
    }

    fn forced(&self, world: &mut World) -> Option<Fault> {
        let sql = self.nodes[0].render(false);
        let base = match world.plain(&sql) {
            Ok(rows) => rows,
            Err(e) => return bug(&e, &sql),
        };
        for way in &self.ways {
            let sql = self.nodes[0].render(way.hints);
            let fault = match world.run(way, &sql) {
                Ok(rows) => differ(&base, &rows, self.ordered),
                Err((code, _)) if MAY_DIFFER.contains(&code) => None,
                Err((code, m)) => Some((format!("error {code}"), format!("error {code}: {m}"))),
            };
            if let Some((class, text)) = fault {
                return Some(Fault { class, text: format!("{way:?}\n  {sql};\n{text}") });
            }
        }
        None
    }

    fn statement(&self, p: &str) -> String {
        let [items, from, keys] = [0, 1, 3].map(|i| self.nodes[i].render(true));
        let filter = |word: &str| if p.is_empty() { String::new() } else { format!(" {word} {p}") };
        match self.oracle {
            Oracle::Having => {
                let group = if keys.is_empty() { String::new() } else { format!(" GROUP BY {keys}") };
                format!("SELECT {items} FROM {from}{group}{}", filter("HAVING"))
            }
            Oracle::Distinct => format!("SELECT DISTINCT {items} FROM {from}{}", filter("WHERE")),
            _ => format!("SELECT {items} FROM {from}{}", filter("WHERE")),
        }
    }

    fn partitioned(&self, world: &mut World) -> Option<Fault> {
        let way = &self.ways[0];
        let p = self.nodes[2].render(true);
        if self.oracle == Oracle::Count {
            let from = self.nodes[1].render(true);
            let first = format!("SELECT COUNT(*) FROM {from} WHERE {p}");
            let second = format!("SELECT COALESCE(SUM(({p}) IS TRUE), 0) FROM {from}");
            return equal(world, way, &first, &second);
        }
        let parts = [p.clone(), format!("NOT ({p})"), format!("({p}) IS NULL")].map(|p| self.statement(&p));
        let whole = self.statement("");
        if self.oracle == Oracle::Aggregates {
            let named = |sql: &String| {
                let names: Vec<String> = (0..self.combine.len()).map(|i| format!("x{i}")).collect();
                format!("(SELECT * FROM ({sql}) AS p ({}))", names.join(", "))
            };
            let combined: Vec<String> = self.combine.iter().enumerate().map(|(i, c)| format!("{c}(x{i})")).collect();
            let union = parts.iter().map(named).collect::<Vec<_>>().join(" UNION ALL ");
            return equal(world, way, &whole, &format!("SELECT {} FROM ({union}) AS u", combined.join(", ")));
        }
        let all = match world.run(way, &whole) {
            Ok(rows) => folded(&rows),
            Err(e) => return bug(&e, &whole),
        };
        let mut union = Vec::new();
        for part in &parts {
            match world.run(way, part) {
                Ok(rows) => union.extend(folded(&rows)),
                Err(e) => return bug(&e, part),
            }
        }
        union.sort_unstable();
        let (mut a, mut b) = (all, union);
        if self.oracle == Oracle::Distinct {
            a.dedup();
            b.dedup();
        }
        (a != b).then(|| Fault {
            class: "partitions".into(),
            text: format!("{way:?}\n  {whole};\n  {};\n{}", parts.join(";\n  "), show(&a, &b)),
        })
    }

    fn pivoted(&self, world: &mut World) -> Option<Fault> {
        let way = &self.ways[0];
        let mut one = Vec::new();
        for (table, alias, id) in &self.pivot {
            // the chosen rows alone, in tables without indexes
            let copy = format!("pv.{table}_{alias}");
            let copied = world.aside(&format!("CREATE TABLE IF NOT EXISTS {copy} LIKE pv.{table}"))
                && world.aside(&format!("DELETE FROM {copy}"))
                && world.aside(&format!("INSERT INTO {copy} SELECT * FROM d.{table} WHERE id = {id}"));
            if !copied {
                return None;
            }
            one.push(format!("pv.{table}_{alias} AS {alias}"));
        }
        let items: Vec<String> = self.nodes.iter().map(|p| format!("({})", p.render(false))).collect();
        let asked = format!("SELECT {} FROM {}", items.join(", "), one.join(", "));
        let truth = match world.plain(&asked) {
            Ok(rows) => rows,
            Err(e) => return bug(&e, &asked),
        };
        let truth = truth.first()?;
        let turned: Vec<String> = items
            .iter()
            .zip(truth)
            .map(|(p, t)| match t.as_deref() {
                None => format!("{p} IS NULL"),
                Some("0") => format!("NOT {p}"),
                Some(_) => p.clone(),
            })
            .collect();
        let mut from = format!("{} AS {}", self.pivot[0].0, self.pivot[0].1);
        // the condition made when a table came into scope is its join's
        for (i, (table, alias, _)) in self.pivot.iter().enumerate().skip(1) {
            let word = ["JOIN", "LEFT JOIN", "STRAIGHT_JOIN"][(i + self.nodes.len()) % 3];
            from += &format!(" {word} {table} AS {alias} ON {}", turned[i]);
        }
        let last = turned.len() - 1;
        let ids: Vec<String> = self.pivot.iter().map(|(_, alias, _)| format!("{alias}.id")).collect();
        let sql = format!("SELECT {} FROM {from} WHERE ({}) AND ({})", ids.join(", "), turned[0], turned[last]);
        let rows = match world.run(way, &sql) {
            Ok(rows) => rows,
            Err(e) => return bug(&e, &sql),
        };
        let row: Vec<Option<String>> = self.pivot.iter().map(|(_, _, id)| Some(id.clone())).collect();
        (!rows.contains(&row)).then(|| Fault {
            class: "pivot".into(),
            text: format!("{way:?}\n  {asked};\n  {sql};\n  the row {} is missing", fold(&row)),
        })
    }
}

fn bug((code, message): &(u16, String), sql: &str) -> Option<Fault> {
    BUGS.contains(code).then(|| Fault {
        class: format!("error {code} {}", message.chars().filter(|c| !c.is_ascii_digit()).take(40).collect::<String>()),
        text: format!("  {sql};\n  error {code}: {message}"),
    })
}

/// Two statements of one row each.
fn equal(world: &mut World, way: &Way, first: &str, second: &str) -> Option<Fault> {
    let answers: [Answer; 2] = [world.run(way, first), world.run(way, second)];
    match answers {
        [Ok(a), Ok(b)] => differ(&a, &b, 0)
            .map(|(class, text)| Fault { class, text: format!("{way:?}\n  {first};\n  {second};\n{text}") }),
        [Err(e), _] => bug(&e, first),
        [_, Err(e)] => bug(&e, second),
    }
}

fn differ(a: &TextRows, b: &TextRows, ordered: usize) -> Option<(String, String)> {
    let (x, y) = (folded(a), folded(b));
    if x != y {
        return Some(("rows".into(), show(&x, &y)));
    }
    let keys = |rows: &TextRows| rows.iter().map(|r| fold(&r[..ordered.min(r.len())])).collect::<Vec<_>>();
    (ordered > 0 && keys(a) != keys(b)).then(|| ("order".into(), show(&keys(a), &keys(b))))
}

/// Rows that one has and the other has not.
fn show(a: &[String], b: &[String]) -> String {
    let surplus = |a: &[String], b: &[String]| {
        let mut rest = b.to_vec();
        let mut out = Vec::new();
        for row in a {
            match rest.iter().position(|r| r == row) {
                Some(i) => drop(rest.swap_remove(i)),
                None => out.push(row.clone()),
            }
            if out.len() >= 8 {
                break;
            }
        }
        out
    };
    let (left, right) = (surplus(a, b), surplus(b, a));
    format!("  {} rows against {}\n  only first: {left:?}\n  only second: {right:?}", a.len(), b.len())
}

/// Tables that a case names.
pub fn tables_of(case: &Case, schema: &Schema) -> BTreeSet<String> {
    let text: String = case.nodes.iter().map(|n| n.render(true) + " ").collect();
    schema
        .tables
        .iter()
        .filter(|t| text.contains(&format!("{} AS", t.name)) || case.pivot.iter().any(|p| p.0 == t.name))
        .map(|t| t.name.clone())
        .collect()
}
