//! Conjunctions of very many ORs: looks at indexes are bounded, however many there are, and planning ends when it is
//! told to.

#[allow(dead_code)]
mod common;

use catalog::{Catalog, IndexForm, KeyBounds, Statistics, TableId, TableStats};
use common::scale::{ScaleOne, scale_one};
use common::{Variables, fixture, session};
use parser::ast::Statement;
use parser::{ParseOptions, parse};
use plan::logical::LogicalQuery;
use planner::bind::Binder;
use planner::optimize::{OptimizerSettings, optimize, optimize_traced};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use types::{ErrorCode, Overseer};

/// Looks that the unions of a statement may take, and some for the three indexes by themselves.
const DIVES_MAX: usize = 512 + 64;

/// Counts the looks at indexes.
struct Counted {
    stats: ScaleOne,
    dives: AtomicUsize,
}

impl Statistics for Counted {
    fn table(&self, id: TableId) -> Option<Arc<TableStats>> {
        self.stats.table(id)
    }

    fn index_form(&self, id: TableId, index: usize) -> IndexForm {
        self.stats.index_form(id, index)
    }

    fn index_estimate(&self, id: TableId, index: usize, bounds: &KeyBounds) -> Option<u64> {
        self.dives.fetch_add(1, Relaxed);
        self.stats.index_estimate(id, index, bounds)
    }
}

/// The conditions as one conjunction of `n`.
fn conjunction(n: usize, each: impl Fn(usize) -> String) -> String {
    (0..n).map(each).collect::<Vec<_>>().join(" and ")
}

fn bound(catalog: &Catalog, condition: &str) -> LogicalQuery {
    let mut session = session();
    session.database = Some("shop".into());
    let sql = format!("select /*+ index_merge(reviews) */ body from reviews where {condition}");
    let Ok(Statement::Query(q)) = parse(&sql, &ParseOptions::default()) else { panic!("no query") };
    Binder::new(catalog, &session, &Variables).bind_query(&q).expect("it binds")
}

#[test]
fn looks_at_indexes_are_bounded() {
    let catalog = fixture();
    let stats = Counted { stats: scale_one(&catalog), dives: AtomicUsize::new(0) };
    let dives = |condition: &str| {
        stats.dives.store(0, Relaxed);
        optimize(bound(&catalog, condition), &stats, &OptimizerSettings::default()).expect("it plans");
        stats.dives.load(Relaxed)
    };
    let shapes: [fn(usize) -> String; 6] = [
        |i| format!("(product_id <> {i} or customer_id <> {i})"),
        |i| format!("(product_id < {i} or customer_id > {i})"),
        |i| format!("(product_id in ({i}, 5, 6) or customer_id between {i} and 900 or id > {i})"),
        |i| format!("(product_id <> {i} and (stars = 3 or id < {i}) or customer_id = {i} and stars > 3)"),
        |i| format!("(product_id < {i} or product_id > {i} + 5 or customer_id is null)"),
        |i| format!("(product_id, customer_id) not in (({i}, {i}), (5, {i}), ({i}, 7), (1, 1))"),
    ];
    for (n, shape) in shapes.iter().enumerate() {
        let few = dives(&conjunction(20, shape));
        let many = dives(&conjunction(400, shape));
        eprintln!("shape {n}: {few} looks for 20, {many} for 400");
        assert!(many <= DIVES_MAX, "shape {n}: {many} looks");
        assert!(many <= few * 2 + 16, "shape {n}: {few} looks for 20, {many} for 400");
    }
    // A statement with many tables has no more of them for its unions.
    let union = conjunction(30, |i| format!("(product_id <> {i} or customer_id <> {i})"));
    let inner = (0..30).map(|_| format!("exists (select 1 from reviews where {union} limit 1)"));
    let all = dives(&inner.collect::<Vec<_>>().join(" and "));
    assert!(all <= DIVES_MAX + 30 * 48, "{all} looks");
}

/// The most selective of many ORs is still found.
#[test]
fn the_best_of_many_unions_is_taken() {
    let catalog = fixture();
    let stats = scale_one(&catalog);
    let wide = conjunction(100, |i| format!("(product_id <> {i} or customer_id <> {i})"));
    let condition = format!("{wide} and (product_id = 77 or customer_id = 78)");
    let plan = optimize(bound(&catalog, &condition), &stats, &OptimizerSettings::default()).expect("it plans");
    let text = format!("{:?}", plan.root);
    assert!(text.contains("Union"), "{text}");
    let union = text.split("merge: Some(").nth(1).expect("a merge");
    assert!(union.contains("Int(78)") && !union.split("columns:").next().expect("text").contains("Int(3)"), "{union}");
}

struct Flag(AtomicBool);

impl Overseer for Flag {
    fn check(&self) -> types::Result<()> {
        if self.0.load(Relaxed) { Err(types::Error::query_interrupted()) } else { Ok(()) }
    }
}

#[test]
fn planning_ends_when_killed() {
    let catalog = fixture();
    let stats = scale_one(&catalog);
    let settings = OptimizerSettings::default();
    let planned = |killed: bool| {
        let flag = Flag(AtomicBool::new(killed));
        optimize_traced(bound(&catalog, "product_id = 1 or customer_id = 2"), &stats, &settings, Some(&flag), None)
            .map(|_| ())
            .map_err(|e| e.code())
    };
    assert_eq!(planned(false), Ok(()));
    assert_eq!(planned(true), Err(ErrorCode::QUERY_INTERRUPTED));
}
