//! A combination of rows that must be found.

use super::super::query::Queries;
use super::super::world::World;
use super::answers::{bug, fold};
use super::{Case, Fault};

impl Case {
    pub(super) fn pivot(&mut self, q: &mut Queries<'_>) {
        let mut conditions = Vec::new();
        let tables = q.pick(&[1, 2, 2, 3]);
        for _ in 0..tables {
            let (at, alias) = q.table().table.expect("a table is one");
            let t = &q.schema.tables[at];
            let id = q.rng.usize(0..t.rows.len().max(1)).to_string();
            self.tables.push((t.name.clone(), alias, id));
            conditions.push(q.predicate(2));
        }
        conditions.push(q.predicate(3));
        self.nodes = conditions;
    }

    pub(super) fn pivoted(&self, world: &mut World<'_>) -> Option<Fault> {
        let way = &self.ways[0];
        let mut one = Vec::new();
        for (table, alias, id) in &self.tables {
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
        let mut from = format!("{} AS {}", self.tables[0].0, self.tables[0].1);
        // the condition made when a table came into scope is its join's
        for (i, (table, alias, _)) in self.tables.iter().enumerate().skip(1) {
            let word = ["JOIN", "LEFT JOIN", "STRAIGHT_JOIN"][(i + self.nodes.len()) % 3];
            from += &format!(" {word} {table} AS {alias} ON {}", turned[i]);
        }
        let last = turned.len() - 1;
        let ids: Vec<String> = self.tables.iter().map(|(_, alias, _)| format!("{alias}.id")).collect();
        let sql = format!("SELECT {} FROM {from} WHERE ({}) AND ({})", ids.join(", "), turned[0], turned[last]);
        let rows = match world.run(way, &sql) {
            Ok(rows) => rows,
            Err(e) => return bug(&e, &sql),
        };
        let row: Vec<Option<String>> = self.tables.iter().map(|(_, _, id)| Some(id.clone())).collect();
        (!rows.contains(&row)).then(|| Fault {
            class: "pivot".into(),
            text: format!("{way:?}\n  {asked};\n  {sql};\n  the row {} is missing", fold(&row)),
        })
    }
}
