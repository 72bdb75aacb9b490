//! Makes a failing case small: fewer ways, tables, rows, indexes, changes, and less SQL.

use super::oracle::{Case, Fault, RIVAL};
use super::rival::Rival;
use super::schema::Schema;
use super::way::{Place, Way};
use super::world::{World, shorten};
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

/// How long one failure may be worked on; with a MariaDB, whose tables take longer to make.
const WITHIN: Duration = Duration::from_secs(25);
const WITHIN_WITH_RIVAL: Duration = Duration::from_secs(60);

/// A failure that is being made smaller.
struct Reducer<'r> {
    failure: Failure,
    rival: Option<&'r Rival>,
    until: Instant,
}

impl Reducer<'_> {
    /// Keeps an edit if the same fault is still there.
    fn tried(&mut self, edit: impl FnOnce(&mut Failure)) -> bool {
        let mut new = self.failure.clone();
        edit(&mut new);
        let Ok(mut world) = World::open(&new.schema, &new.changes, self.rival) else { return false };
        let fault = new.case.check(&mut world);
        drop(world);
        self.kept(new, fault)
    }

    fn kept(&mut self, mut new: Failure, fault: Option<Fault>) -> bool {
        let Some(fault) = fault.filter(|f| f.class == self.failure.fault.class) else { return false };
        new.fault = fault;
        self.failure = new;
        true
    }

    /// Reduces in turns until nothing gets smaller or time is up. A fault that does not come again stays as it is.
    fn reduce(&mut self) {
        if !self.tried(|_| ()) {
            self.failure.fault.text += "\n  (does not come again by itself)";
            return;
        }
        self.fewer_tables();
        if !self.failure.fault.class.starts_with(RIVAL) {
            self.one_way();
        }
        loop {
            let before = self.size();
            self.smaller_sql();
            self.fewer_tables();
            self.fewer_statements();
            self.fewer_rows();
            self.fewer_keys();
            if self.size() >= before || self.is_late() {
                return;
            }
        }
    }

    fn is_late(&self) -> bool {
        Instant::now() > self.until
    }

    fn size(&self) -> usize {
        let Failure { schema, changes, case, .. } = &self.failure;
        let sql: usize = case.nodes.iter().map(|n| n.render(true).len()).sum();
        let statements = schema.costs.len() + changes.len();
        sql + schema.script().iter().map(String::len).sum::<usize>() + statements
    }

    fn one_way(&mut self) {
        for way in self.failure.case.ways.clone() {
            if self.tried(|f| f.case.ways = vec![way]) {
                break;
            }
        }
        self.fewer_settings();
        let changes: [fn(&mut Way); 6] = [
            |w| w.warmed = false,
            |w| w.locks = false,
            |w| w.prepared = false,
            |w| w.parameters = false,
            |w| w.hints = false,
            |w| w.place = Place::Usual,
        ];
        for change in changes {
            self.tried(|f| change(&mut f.case.ways[0]));
        }
        if self.failure.case.ways[0].place == Place::Usual {
            self.tried(|f| f.changes.clear());
        }
    }

    /// Fewer settings, fewer flags.
    fn fewer_settings(&mut self) {
        for i in (0..self.failure.case.ways[0].sets.len()).rev() {
            self.tried(|f| drop(f.case.ways[0].sets.remove(i)));
        }
        for i in 0..self.failure.case.ways[0].sets.len() {
            let set = self.failure.case.ways[0].sets[i].clone();
            let Some((name, flags)) = set.split_once(" = '") else { continue };
            let mut flags: Vec<&str> = flags.trim_end_matches('\'').split(',').collect();
            let mut at = 0;
            while at < flags.len() && flags.len() > 1 {
                let mut fewer = flags.clone();
                fewer.remove(at);
                let set = format!("{name} = '{}'", fewer.join(","));
                if self.tried(|f| f.case.ways[0].sets[i] = set) {
                    flags = fewer;
                } else {
                    at += 1;
                }
            }
        }
    }

    fn smaller_sql(&mut self) {
        let (schema, changes) = (self.failure.schema.clone(), self.failure.changes.clone());
        let Ok(mut world) = World::open(&schema, &changes, self.rival) else { return };
        'again: loop {
            for i in 0..self.failure.case.nodes.len() {
                let node = self.failure.case.nodes[i].clone();
                let length = node.render(true).len();
                for smaller in node.smaller().filter(|n| n.render(true).len() < length) {
                    if self.is_late() {
                        return;
                    }
                    let mut new = self.failure.clone();
                    new.case.nodes[i] = smaller;
                    let fault = new.case.check(&mut world);
                    if self.kept(new, fault) {
                        continue 'again;
                    }
                }
            }
            return;
        }
    }

    fn fewer_tables(&mut self) {
        let used = self.failure.case.tables_of(&self.failure.schema);
        let gone = |s: &String| s.split(' ').any(|w| w.starts_with('t') && w.len() == 2 && !used.contains(w));
        self.tried(|f| {
            f.schema.tables.retain(|t| used.contains(&t.name));
            f.schema.then.retain(|s| !gone(s));
            f.changes.retain(|s| !gone(s));
        });
    }

    fn fewer_statements(&mut self) {
        for i in (0..self.failure.schema.then.len()).rev() {
            self.tried(|f| drop(f.schema.then.remove(i)));
        }
        self.tried(|f| f.schema.costs.clear());
        for i in (0..self.failure.schema.costs.len()).rev() {
            if !self.is_late() {
                self.tried(|f| drop(f.schema.costs.remove(i)));
            }
        }
        // without any there is no snapshot
        for i in (1..self.failure.changes.len()).rev() {
            if !self.is_late() {
                self.tried(|f| drop(f.changes.remove(i)));
            }
        }
    }

    fn fewer_rows(&mut self) {
        for t in 0..self.failure.schema.tables.len() {
            self.tried(|f| f.schema.tables[t].loaded = 0);
            let mut chunk = self.failure.schema.tables[t].rows.len().div_ceil(2);
            while chunk > 0 {
                let mut at = 0;
                while at < self.failure.schema.tables[t].rows.len() {
                    if self.is_late() {
                        return;
                    }
                    let fewer = |f: &mut Failure| {
                        let rows = &mut f.schema.tables[t].rows;
                        rows.drain(at..(at + chunk).min(rows.len()));
                    };
                    if !self.tried(fewer) {
                        at += chunk;
                    }
                }
                chunk = if chunk == 1 { 0 } else { chunk.div_ceil(2) };
            }
        }
    }

    /// Indexes, and columns that nothing names.
    fn fewer_keys(&mut self) {
        for t in 0..self.failure.schema.tables.len() {
            for k in (0..self.failure.schema.tables[t].keys.len()).rev() {
                self.tried(|f| drop(f.schema.tables[t].keys.remove(k)));
            }
            for c in (1..self.failure.schema.tables[t].columns.len()).rev() {
                if self.is_late() {
                    return;
                }
                self.tried(|f| {
                    let table = &mut f.schema.tables[t];
                    table.columns.remove(c);
                    table.rows.iter_mut().for_each(|r| drop(r.remove(c)));
                });
            }
        }
    }
}

impl Failure {
    /// As small as it gets in the time there is.
    pub fn reduce(self, rival: Option<&Rival>) -> Failure {
        let within = if rival.is_some() { WITHIN_WITH_RIVAL } else { WITHIN };
        let mut reducer = Reducer { failure: self, rival, until: Instant::now() + within };
        reducer.reduce();
        reducer.failure
    }

    /// The script that shows it.
    pub fn report(&self) -> String {
        let mut out = format!("seed {} ({:?}, {})\n", self.seed, self.case.oracle, self.fault.class);
        for t in self.schema.tables.iter().filter(|t| t.loaded > 0) {
            out += &format!("  -- {}: the first {} rows by LOAD DATA\n", t.name, t.loaded);
        }
        for statement in self.schema.script() {
            out += &format!("  {};\n", shorten(&statement));
        }
        for cost in &self.schema.costs {
            out += &format!("  for odd costs: {cost};\n");
        }
        for change in &self.changes {
            out += &format!("  beside: {change};\n");
        }
        out + &self.fault.text + "\n"
    }
}
