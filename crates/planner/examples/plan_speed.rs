//! Microseconds to bind and plan short statements: `cargo run --release --example plan_speed`.

#[allow(dead_code)]
#[path = "../tests/common/mod.rs"]
mod common;

use catalog::{ColumnStats, IndexForm, KeyBounds, Relation, Statistics, TableId, TableStats};
use common::{Variables, fixture, session};
use parser::ast::Statement;
use parser::{ParseOptions, parse};
use planner::bind::Binder;
use planner::optimize::{OptimizerSettings, optimize};
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

const STATEMENTS: &[&str] = &[
    "select c from sbtest where id = 4711",
    "select c from sbtest where id between 1000 and 1099",
    "select sum(k) from sbtest where id between 1000 and 1099",
    "select c from sbtest where id between 1000 and 1099 order by c",
    "select distinct c from sbtest where id between 1000 and 1099 order by c",
    "select c from sbtest where k = 77",
    "select id, k from sbtest where k > 50 order by k limit 10",
];

struct Fixed(Arc<TableStats>);

impl Statistics for Fixed {
    fn table(&self, _: TableId) -> Option<Arc<TableStats>> {
        Some(self.0.clone())
    }

    fn index_form(&self, _: TableId, index: usize) -> IndexForm {
        IndexForm { ordered: true, clustered: index == 0, complete: index != 0 }
    }

    fn index_estimate(&self, _: TableId, _: usize, _: &KeyBounds) -> Option<u64> {
        Some(100)
    }
}

fn main() {
    let catalog = fixture();
    let mut session = session();
    session.database = Some("tpch".into());
    let Some(Relation::Table(t)) = catalog.relation("tpch", "sbtest") else { panic!("no table") };
    let column = |_| ColumnStats { distinct: 1e5, null_fraction: 0.0, min: None, max: None, width: 20.0 };
    let columns = t.columns.iter().map(column).collect();
    let stats = Fixed(Arc::new(TableStats::new(1_000_000, columns, Arc::default())));
    let settings = OptimizerSettings::default();
    for sql in STATEMENTS {
        let Ok(Statement::Query(q)) = parse(sql, &ParseOptions::default()) else { panic!("{sql}") };
        let bind = || Binder::new(&catalog, &session, &Variables).bind_query(&q).expect("it binds");
        let (mut binding, mut planning) = (f64::MAX, f64::MAX);
        for _ in 0..2000 {
            let start = Instant::now();
            let query = bind();
            let bound = Instant::now();
            black_box(optimize(query, &stats, &settings).expect("it plans"));
            binding = binding.min((bound - start).as_nanos() as f64 / 1000.0);
            planning = planning.min(bound.elapsed().as_nanos() as f64 / 1000.0);
        }
        println!("{sql:75} bind {binding:6.1} us  plan {planning:6.1} us");
    }
}
