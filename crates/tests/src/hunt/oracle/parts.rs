//! A query and its partitions.

use super::super::node::Node;
use super::super::query::{Queries, joined};
use super::super::schema::Kind;
use super::super::world::World;
use super::answers::{bug, equal, folded, show};
use super::{Case, Fault, Oracle};

impl Case {
    pub(super) fn parts(&mut self, q: &mut Queries<'_>) {
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

    pub(super) fn partitioned(&self, world: &mut World<'_>) -> Option<Fault> {
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
}
