//! Logic-bug hunting: random tables, random queries, and laws that their answers must obey.
//!
//! ```text
//!  seed ─▶ schema ─▶ World: usual leaves, leaves of 8 rows, many threads, a snapshot beside changes; a MariaDB
//!            │                     ▲
//!            └──▶ query ─▶ Case ───┤ check: forced plans, partitions, counts, a pivot row, a rival (see `oracle`)
//!                                  ▼
//!                       Failure ─ reduce ─▶ a short script with its seed
//! ```
//! One seed makes one schema and all cases over it; a failure comes again from its seed alone, but for those of
//! `traffic`.

mod node;
mod oracle;
mod query;
mod reduce;
mod rival;
mod schema;
mod traffic;
mod way;
mod world;

pub use oracle::{Case, Oracle};
pub use query::Queries;
pub use reduce::Failure;
pub use rival::Rival;
pub use schema::{Profile, Schema};
pub use traffic::traffic;
pub use world::World;

use fastrand::Rng;

/// Cases over one schema.
pub const CASES_A_SCHEMA: u64 = 100;

/// What a hunt did.
#[derive(Debug, Default)]
pub struct Tally {
    pub cases: u64,
    pub statements: u64,
    pub failures: Vec<Failure>,
    /// Base statements that answered with an error, by number.
    pub refused: std::collections::BTreeMap<u16, u64>,
}

impl Tally {
    pub fn add(&mut self, other: Tally) {
        self.cases += other.cases;
        self.statements += other.statements;
        self.failures.extend(other.failures);
        other.refused.into_iter().for_each(|(code, n)| *self.refused.entry(code).or_default() += n);
    }
}

/// Makes the tables of a seed and checks `cases` cases over them; beside a rival, cases that both define alike.
/// Failures are not reduced yet.
pub fn round(seed: u64, cases: u64, rival: Option<&Rival>) -> Tally {
    let profile = if rival.is_some() { Profile::Common } else { Profile::Wild };
    let mut rng = Rng::with_seed(seed);
    let schema = Schema::random(&mut rng, profile);
    let changes: Vec<String> = match rng.u8(0..3) {
        0 if rival.is_none() => (0..rng.usize(1..12)).map(|_| schema.change(&mut rng)).collect(),
        _ => Vec::new(),
    };
    let mut tally = Tally::default();
    let mut world = World::open(&schema, &changes, rival).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
    for _ in 0..cases {
        let case = Case::random(&mut rng, &schema, profile);
        tally.cases += 1;
        if let Some(fault) = case.check(&mut world) {
            let (schema, changes) = (schema.clone(), changes.clone());
            tally.failures.push(Failure { seed, schema, changes, case, fault });
        }
    }
    tally.statements = world.statements;
    std::mem::swap(&mut tally.refused, &mut world.refused);
    tally
}

#[cfg(test)]
mod tests {
    use super::node::{Node, Sort};
    use super::way::Way;
    use super::*;

    #[test]
    fn what_is_found_is_made_small() {
        let mut rng = Rng::with_seed(7);
        let schema = Schema::random(&mut rng, Profile::Wild);
        let table = schema.tables.iter().max_by_key(|t| t.rows.len()).expect("there are tables").name.clone();
        let pred = |t: &'static str| Node::leaf(Sort::Pred, t);
        // the hint changes the rows, which hints never do
        let node = Node::new(Sort::Select)
            .t(format!("SELECT a0.id FROM {table} AS a0 WHERE "))
            .n(Node::new(Sort::Pred).n(pred("a0.id >= 0")).t(" AND ").n(pred("a0.id < 1000")))
            .hint(Node::fixed().t(" AND a0.id > 0"));
        let way = Way { hints: true, sets: vec!["max_seeks_for_key = 1".into()], ..Way::usual() };
        let case = Case {
            oracle: Oracle::Forced,
            nodes: vec![node],
            ordered: 0,
            ways: vec![way],
            tables: Vec::new(),
            combine: Vec::new(),
        };
        let mut world = World::open(&schema, &[], None).expect("the tables are made");
        let fault = case.check(&mut world).expect("the fault is found");
        let small = Failure { seed: 7, schema: schema.clone(), changes: Vec::new(), case, fault }.reduce(None);
        assert_eq!(small.schema.tables.len(), 1);
        assert_eq!(small.schema.tables[0].rows.len(), 1, "{}", small.report());
        assert_eq!(small.schema.tables[0].columns.len(), 1, "{}", small.report());
        assert!(small.case.nodes[0].render(true).ends_with("WHERE TRUE AND a0.id > 0"), "{}", small.report());
        assert!(small.case.ways[0].sets.is_empty());
    }

    #[test]
    fn a_seed_makes_the_same_cases() {
        let texts = |seed| {
            let mut rng = Rng::with_seed(seed);
            let schema = Schema::random(&mut rng, Profile::Wild);
            let case =
                |_| Case::random(&mut rng, &schema, Profile::Wild).nodes.iter().map(|n| n.render(true)).collect();
            (schema.script(), (0..20).map(case).collect::<Vec<Vec<String>>>())
        };
        assert_eq!(texts(3), texts(3));
        assert_ne!(texts(3), texts(4));
    }
}
