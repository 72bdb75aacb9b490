//! Makes a failing case small: fewer ways, tables, rows, indexes, changes, and less SQL.

use super::oracle::{Case, Fault, tables_of};
use super::schema::Schema;
use super::world::World;
use std::time::{Duration, Instant};

/// Everything that a fault needs to come again.
#[derive(Clone, Debug)]
pub struct Failure {
    pub seed: u64,
    pub schema: Schema,
    pub changes: Vec<String>,
    pub case: Case,
    pub fault: Fault,
}

/// How long one failure may be worked on.
const WITHIN: Duration = Duration::from_secs(25);

impl Failure {
    /// Whether the same fault is still there; keeps the smaller case if so.
    fn accept(&mut self, schema: &Schema, changes: &[String], case: &Case) -> bool {
        let Ok(mut world) = World::open(schema, changes) else { return false };
        let fault = case.check(&mut world).filter(|f| f.class == self.fault.class);
        self.keep(fault, schema, changes, case)
    }

    fn keep(&mut self, fault: Option<Fault>, schema: &Schema, changes: &[String], case: &Case) -> bool {
        let Some(fault) = fault else { return false };
        (self.schema, self.changes, self.case) = (schema.clone(), changes.to_vec(), case.clone());
        self.fault = fault;
        true
    }

    /// Reduces in turns until nothing gets smaller or time is up. A fault that does not come again stays as it is.
    pub fn reduce(mut self) -> Failure {
        let until = Instant::now() + WITHIN;
        let (schema, changes, case) = (self.schema.clone(), self.changes.clone(), self.case.clone());
        if !self.accept(&schema, &changes, &case) {
            self.fault.text += "\n  (does not come again by itself)";
            return self;
        }
        self.one_way();
        loop {
            let before = self.size();
            self.smaller_sql(until);
            self.fewer_tables();
            self.fewer_statements(until);
            self.fewer_rows(until);
            self.fewer_keys(until);
            if self.size() >= before || Instant::now() > until {
                return self;
            }
        }
    }

    fn size(&self) -> usize {
        let sql: usize = self.case.nodes.iter().map(|n| n.render(true).len()).sum();
        sql + self.schema.script().iter().map(String::len).sum::<usize>() + self.changes.len()
    }

    fn one_way(&mut self) {
        for way in self.case.ways.clone() {
            let mut case = self.case.clone();
            case.ways = vec![way];
            let (schema, changes) = (self.schema.clone(), self.changes.clone());
            if self.accept(&schema, &changes, &case) {
                break;
            }
        }
        // fewer settings, fewer flags
        let mut way = self.case.ways[0].clone();
        for i in (0..way.sets.len()).rev() {
            let mut fewer = way.clone();
            fewer.sets.remove(i);
            if self.with_way(&fewer) {
                way = fewer;
            }
        }
        for i in 0..way.sets.len() {
            let Some((name, flags)) =
                way.sets[i].clone().split_once(" = '").map(|(n, f)| (n.to_string(), f.to_string()))
            else {
                continue;
            };
            let mut flags: Vec<String> = flags.trim_end_matches('\'').split(',').map(str::to_owned).collect();
            let mut at = 0;
            while at < flags.len() && flags.len() > 1 {
                let mut fewer = flags.clone();
                fewer.remove(at);
                let mut new = way.clone();
                new.sets[i] = format!("{name} = '{}'", fewer.join(","));
                if self.with_way(&new) {
                    (flags, way) = (fewer, new);
                } else {
                    at += 1;
                }
            }
        }
        for change in [|w: &mut super::world::Way| w.prepared = false, |w: &mut super::world::Way| w.hints = false] {
            let mut new = self.case.ways[0].clone();
            change(&mut new);
            self.with_way(&new);
        }
        let mut new = self.case.ways[0].clone();
        new.place = super::world::Place::Usual;
        if self.with_way(&new) {
            let (schema, case) = (self.schema.clone(), self.case.clone());
            self.accept(&schema, &[], &case);
        }
    }

    fn with_way(&mut self, way: &super::world::Way) -> bool {
        let mut case = self.case.clone();
        case.ways = vec![way.clone()];
        let (schema, changes) = (self.schema.clone(), self.changes.clone());
        self.accept(&schema, &changes, &case)
    }

    fn smaller_sql(&mut self, until: Instant) {
        let Ok(mut world) = World::open(&self.schema, &self.changes) else { return };
        'again: loop {
            for i in 0..self.case.nodes.len() {
                for smaller in self.case.nodes[i].smaller() {
                    if Instant::now() > until {
                        return;
                    }
                    let mut case = self.case.clone();
                    let shorter = smaller.render(true).len() < case.nodes[i].render(true).len();
                    case.nodes[i] = smaller;
                    let fault = case.check(&mut world).filter(|f| f.class == self.fault.class);
                    let (schema, changes) = (self.schema.clone(), self.changes.clone());
                    if shorter && self.keep(fault, &schema, &changes, &case) {
                        continue 'again;
                    }
                }
            }
            return;
        }
    }

    fn fewer_tables(&mut self) {
        let used = tables_of(&self.case, &self.schema);
        let mut schema = self.schema.clone();
        schema.tables.retain(|t| used.contains(&t.name));
        let gone = |s: &String| s.split(' ').any(|w| w.starts_with('t') && w.len() == 2 && !used.contains(w));
        schema.then.retain(|s| !gone(s));
        let changes: Vec<String> = self.changes.iter().filter(|s| !gone(s)).cloned().collect();
        let case = self.case.clone();
        self.accept(&schema, &changes, &case);
    }

    fn fewer_statements(&mut self, until: Instant) {
        for i in (0..self.schema.then.len()).rev() {
            let (mut schema, changes, case) = (self.schema.clone(), self.changes.clone(), self.case.clone());
            schema.then.remove(i);
            self.accept(&schema, &changes, &case);
        }
        for i in (0..self.changes.len()).rev() {
            if Instant::now() > until {
                return;
            }
            let (schema, mut changes, case) = (self.schema.clone(), self.changes.clone(), self.case.clone());
            changes.remove(i);
            if !changes.is_empty() {
                self.accept(&schema, &changes, &case);
            }
        }
    }

    fn fewer_rows(&mut self, until: Instant) {
        for t in 0..self.schema.tables.len() {
            let mut chunk = self.schema.tables[t].rows.len().div_ceil(2);
            while chunk > 0 {
                let mut at = 0;
                while at < self.schema.tables[t].rows.len() {
                    if Instant::now() > until {
                        return;
                    }
                    let (mut schema, changes, case) = (self.schema.clone(), self.changes.clone(), self.case.clone());
                    let end = (at + chunk).min(schema.tables[t].rows.len());
                    schema.tables[t].rows.drain(at..end);
                    if !self.accept(&schema, &changes, &case) {
                        at += chunk;
                    }
                }
                chunk = if chunk == 1 { 0 } else { chunk.div_ceil(2) };
            }
        }
    }

    /// Indexes, and columns that nothing names.
    fn fewer_keys(&mut self, until: Instant) {
        for t in 0..self.schema.tables.len() {
            for k in (0..self.schema.tables[t].keys.len()).rev() {
                let (mut schema, changes, case) = (self.schema.clone(), self.changes.clone(), self.case.clone());
                schema.tables[t].keys.remove(k);
                self.accept(&schema, &changes, &case);
            }
            for c in (1..self.schema.tables[t].columns.len()).rev() {
                if Instant::now() > until {
                    return;
                }
                let (mut schema, changes, case) = (self.schema.clone(), self.changes.clone(), self.case.clone());
                let table = &mut schema.tables[t];
                table.columns.remove(c);
                table.rows.iter_mut().for_each(|r| drop(r.remove(c)));
                self.accept(&schema, &changes, &case);
            }
        }
    }

    /// The script that shows it.
    pub fn report(&self) -> String {
        let mut out = format!("seed {} ({:?}, {})\n", self.seed, self.case.oracle, self.fault.class);
        for statement in self.schema.script() {
            out += &format!("  {};\n", super::world::shorten(&statement));
        }
        for change in &self.changes {
            out += &format!("  beside: {change};\n");
        }
        out + &self.fault.text + "\n"
    }
}
