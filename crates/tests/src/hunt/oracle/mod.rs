//! What must hold of answers, whatever the plan.
//!
//! - `Forced`: a statement has the same rows under every way to run it (switches, hints, memory, leaves, threads, a
//!   snapshot beside changes), and the rows that MariaDB has, where one is there to ask.
//! - `Change`: an UPDATE or DELETE leaves the same table behind under every way to run it, finds as many rows as a
//!   query with its condition does, and leaves behind what MariaDB does.
//! - `Rows`, `Distinct`, `Aggregates`, `Having`: a query is the union of its partitions by `p`, `NOT p` and `p IS NULL`
//!   (ternary logic partitioning: Rigger and Su, OOPSLA 2020).
//! - `Count`: the rows with `p` are as many as those for which `p` is true in the list of items, where no optimizer
//!   looks (NoREC: Rigger and Su, ESEC/FSE 2020).
//! - `Pivot`: a combination of rows is chosen, the conditions are turned so that they hold for it, and it must be in
//!   the answer (pivoted query synthesis: Rigger and Su, OSDI 2020).

mod answers;
mod change;
mod forced;
mod parts;
mod pivot;

pub use answers::Fault;
pub(super) use answers::differ;

use super::node::Node;
use super::query::Queries;
use super::schema::{Profile, Schema};
use super::way::{Way, random_way};
use super::world::World;
use fastrand::Rng;
use std::collections::BTreeSet;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Oracle {
    Forced,
    Change,
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
    /// By oracle: the statement; the change up to its condition, FROM, condition, ORDER BY and LIMIT; items, FROM,
    /// predicate, group keys; tables' conditions.
    pub nodes: Vec<Node>,
    pub ordered: usize,
    pub ways: Vec<Way>,
    /// Tables that count beside those that the nodes name: of `Change` the one that changes; of `Pivot` those with
    /// their aliases and ids.
    pub tables: Vec<(String, String, String)>,
    /// Of `Aggregates`: what puts the parts' results together.
    pub combine: Vec<&'static str>,
}

/// The classes of differences from MariaDB begin so.
pub const RIVAL: &str = "rival";

/// Ways in which a forced statement runs.
const WAYS: usize = 4;

impl Case {
    pub fn random(rng: &mut Rng, schema: &Schema, profile: Profile) -> Case {
        let oracle = match (profile, rng.u8(0..18)) {
            (_, 0..=1) => Oracle::Change,
            (Profile::Common, _) | (_, 2..=10) => Oracle::Forced,
            (_, 11 | 12) => Oracle::Rows,
            (_, 13) => Oracle::Distinct,
            (_, 14) => Oracle::Aggregates,
            (_, 15) => Oracle::Having,
            (_, 16) => Oracle::Count,
            _ => Oracle::Pivot,
        };
        let ways = match (profile, oracle) {
            (Profile::Common, _) => 1,
            (_, Oracle::Forced) => WAYS,
            (_, Oracle::Change) => 2,
            _ => 1,
        };
        let ways = (0..ways).map(|_| random_way(rng)).collect();
        let mut case = Case { oracle, nodes: Vec::new(), ordered: 0, ways, tables: Vec::new(), combine: Vec::new() };
        let mut q = Queries::new(rng, schema, profile);
        match oracle {
            Oracle::Forced => {
                let s = q.statement();
                (case.nodes, case.ordered) = (vec![s.node], s.ordered);
            }
            Oracle::Change => {
                let c = q.change();
                let name = schema.tables[c.table].name.clone();
                case.tables.push((name, String::new(), String::new()));
                case.nodes = vec![c.verb, c.from, c.condition, c.tail];
            }
            Oracle::Pivot => case.pivot(&mut q),
            _ => case.parts(&mut q),
        }
        case
    }

    /// `None`: all is well, or nothing can be said.
    pub fn check(&self, world: &mut World<'_>) -> Option<Fault> {
        match self.oracle {
            Oracle::Forced => self.forced(world),
            Oracle::Change => self.changed(world),
            Oracle::Pivot => self.pivoted(world),
            _ => self.partitioned(world),
        }
    }

    /// What it is made of.
    pub fn text(&self) -> String {
        let nodes: Vec<String> = self.nodes.iter().map(|n| n.render(true)).collect();
        format!("{:?}: {}", self.oracle, nodes.join(" ~ "))
    }

    /// Tables that it names.
    pub fn tables_of(&self, schema: &Schema) -> BTreeSet<String> {
        let text: String = self.nodes.iter().map(|n| n.render(true) + " ").collect();
        let names = |name: &str| text.contains(&format!("{name} AS")) || self.tables.iter().any(|t| t.0 == name);
        schema.tables.iter().map(|t| t.name.clone()).filter(|n| names(n)).collect()
    }
}
