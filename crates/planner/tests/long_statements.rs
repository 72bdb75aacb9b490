//! Statements of megabytes: the memory for their trees and plans is a small multiple of their text, and their time
//! grows with their length and no faster.

#[allow(dead_code)]
mod common;

use common::long::shapes;
use common::scale::scale_one;
use common::{Variables, fixture, session};
use parser::ast::Statement;
use parser::{ParseOptions, parse};
use planner::bind::Binder;
use planner::optimize::{OptimizerSettings, optimize};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Instant;

struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

fn grown(bytes: usize) {
    let now = HELD.fetch_add(bytes, Relaxed) + bytes;
    PEAK.fetch_max(now, Relaxed);
}

// SAFETY: everything is the system allocator's; the counters are beside it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grown(layout.size());
        // SAFETY: the caller's promises are those that the system allocator asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        match size.checked_sub(layout.size()) {
            Some(more) => grown(more),
            None => _ = HELD.fetch_sub(layout.size() - size, Relaxed),
        }
        // SAFETY: as above.
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

struct Cost {
    bytes_a_byte: f64,
    ms: f64,
}

/// Parses, binds and optimizes a query.
fn cost(name: &str, sql: &str) -> Cost {
    let catalog = fixture();
    let stats = scale_one(&catalog);
    let mut session = session();
    session.database = Some("tpch".into());
    let before = HELD.load(Relaxed);
    PEAK.store(before, Relaxed);
    let peak = || (PEAK.swap(HELD.load(Relaxed), Relaxed) - before) as f64 / sql.len() as f64;
    let now = || (HELD.load(Relaxed) - before) as f64 / sql.len() as f64;
    let begun = Instant::now();
    let Ok(Statement::Query(q)) = parse(sql, &ParseOptions::default()) else { panic!("no query") };
    let parsed = (begun.elapsed(), peak(), now());
    let query = Binder::new(&catalog, &session, &Variables).bind_query(&q).expect("it binds");
    let bound = (begun.elapsed() - parsed.0, peak(), now());
    let plan = optimize(query, &stats, &OptimizerSettings::default()).expect("it plans");
    let all = begun.elapsed();
    let planned = (all - parsed.0 - bound.0, peak(), now());
    eprintln!(
        "{name:24} {:>9} bytes; parse {:>9.2?} {:>5.1} ({:>5.1}); bind {:>9.2?} {:>5.1} ({:>5.1}); plan {:>9.2?} {:>5.1} ({:>5.1})",
        sql.len(),
        parsed.0,
        parsed.1,
        parsed.2,
        bound.0,
        bound.1,
        bound.2,
        planned.0,
        planned.1,
        planned.2
    );
    drop(plan);
    Cost { bytes_a_byte: parsed.1.max(bound.1).max(planned.1), ms: all.as_secs_f64() * 1e3 }
}

/// Bytes of tree and plan at most for each byte of text.
fn bytes_a_byte_max(name: &str) -> f64 {
    match name {
        "IN digits" => 28.0,
        "IN rows" => 40.0,
        name if name.starts_with("IN ") || name == "OR of two" || name == "AND of <>" => 20.0,
        "VALUES" => 40.0,
        _ => 45.0,
    }
}

fn trees_and_plans_are_small() {
    for (name, sql) in shapes(100_000) {
        let c = cost(name, &sql);
        assert!(c.bytes_a_byte <= bytes_a_byte_max(name), "{name}: {:.1} bytes for each of its text", c.bytes_a_byte);
    }
}

/// Ten times as many items take some ten times as long; a second try for what else the machine does.
fn time_grows_with_the_length() {
    for ((name, short), (_, long)) in shapes(5_000).into_iter().zip(shapes(50_000)) {
        let grows = || {
            let short = (0..3).map(|_| cost(name, &short).ms).fold(f64::INFINITY, f64::min);
            cost(name, &long).ms / short
        };
        let most = 40.0;
        let ratio = Some(grows()).filter(|r| *r < most).unwrap_or_else(grows);
        assert!(ratio < most, "{name}: {ratio:.0} times as long for ten times as many");
    }
}

/// One after the other: the counters are the process's.
#[test]
fn long_statements_cost_what_their_length_is_worth() {
    trees_and_plans_are_small();
    time_grows_with_the_length();
}
