//! Milliseconds to plan joins of many tables: `cargo run --release --example plan_joins`.

#[allow(dead_code)]
#[path = "../tests/common/mod.rs"]
mod common;

use common::{Variables, fixture, joins, scale, session};
use parser::ast::Statement;
use parser::{ParseOptions, parse};
use planner::bind::Binder;
use planner::optimize::{OptimizerSettings, optimize};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Goals.
const GOALS: [(usize, Duration); 3] =
    [(12, Duration::from_millis(50)), (20, Duration::from_millis(50)), (61, Duration::from_secs(1))];

fn main() {
    let catalog = fixture();
    let mut session = session();
    session.database = Some("tpch".into());
    let stats = scale::scale_one(&catalog);
    let settings = OptimizerSettings::default();
    for (n, goal) in GOALS {
        for shape in joins::SHAPES {
            let sql = joins::statement(shape, n);
            let Ok(Statement::Query(q)) = parse(&sql, &ParseOptions::default()) else { panic!("{sql}") };
            let mut least = Duration::MAX;
            for _ in 0..5 {
                let query = Binder::new(&catalog, &session, &Variables).bind_query(&q).expect("it binds");
                let start = Instant::now();
                black_box(optimize(query, &stats, &settings).expect("it plans"));
                least = least.min(start.elapsed());
            }
            let verdict = if least <= goal { "" } else { "   MISSED" };
            println!(
                "{n:3} tables, {shape:10} {:9.2} ms, goal {:4} ms{verdict}",
                least.as_secs_f64() * 1e3,
                goal.as_millis()
            );
        }
    }
}
