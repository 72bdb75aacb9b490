//! Lists of 100,000 values: the optimizer's memory for them is bounded, and so is its time.

#[allow(dead_code)]
mod common;

use common::scale::scale_one;
use common::{Variables, fixture, session};
use parser::ast::Statement;
use parser::{ParseOptions, parse};
use planner::bind::Binder;
use planner::optimize::{OptimizerSettings, optimize};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Instant;

const VALUES: usize = 100_000;
/// Bytes of a value, beside the statement's tree.
const BYTES_PER_VALUE_MAX: usize = 64;

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
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn a_long_list_takes_little_memory_and_time() {
    let catalog = fixture();
    let stats = scale_one(&catalog);
    let mut session = session();
    session.database = Some("tpch".into());
    let list: Vec<String> = (0..VALUES).map(|i| (i * 7).to_string()).collect();
    for column in ["o_custkey", "o_orderkey", "o_totalprice"] {
        let sql = format!("select count(*), max(o_comment) from orders where {column} in ({})", list.join(","));
        let begun = Instant::now();
        let Ok(Statement::Query(q)) = parse(&sql, &ParseOptions::default()) else { panic!("no query") };
        let parsed = begun.elapsed();
        let query = Binder::new(&catalog, &session, &Variables).bind_query(&q).expect("it binds");
        let bound = begun.elapsed();
        let before = HELD.load(Relaxed);
        PEAK.store(before, Relaxed);
        let plan = optimize(query, &stats, &OptimizerSettings::default()).expect("it plans");
        let bytes = (PEAK.load(Relaxed) - before) / VALUES;
        let all = begun.elapsed();
        eprintln!(
            "{column}: parsed in {parsed:?}, bound in {:?}, planned in {:?}; {bytes} bytes a value",
            bound - parsed,
            all - bound
        );
        assert!(plan.root.estimated_rows > 0.0);
        assert!(bytes < BYTES_PER_VALUE_MAX, "{column}: {bytes} bytes a value");
        // Of a build without optimizations nobody expects much.
        let most_ms = if cfg!(debug_assertions) { 5000 } else { 100 };
        assert!(all.as_millis() < most_ms, "{column}: {all:?}");
    }
}
