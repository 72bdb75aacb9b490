//! Parsing and planning ask again and again whether they may go on, whatever the statement is long of; and they end
//! when told to, with the error that they were told.

#[allow(dead_code)]
mod common;

use common::long::{bounded_shapes, shapes};
use common::scale::scale_one;
use common::{Variables, fixture, session};
use parser::ParseOptions;
use parser::ast::Statement;
use planner::bind::Binder;
use planner::optimize::{OptimizerSettings, optimize_traced};
use std::sync::Mutex;
use std::time::{Duration, Instant};
use types::{Error, ErrorCode, Overseer, Result};

/// Notes the longest time between two looks, and stops the work at one of them.
struct Looks {
    state: Mutex<State>,
    most: usize,
}

struct State {
    last: Instant,
    longest: Duration,
    count: usize,
}

impl Looks {
    fn new(most: usize) -> Looks {
        Looks { state: Mutex::new(State { last: Instant::now(), longest: Duration::ZERO, count: 0 }), most }
    }

    /// A look from outside: its count so far, and the longest time since the last such one.
    fn now(&self) -> (usize, Duration) {
        let mut s = self.state.lock().unwrap();
        s.longest = s.longest.max(s.last.elapsed());
        s.last = Instant::now();
        (s.count, std::mem::take(&mut s.longest))
    }
}

impl Overseer for Looks {
    fn check(&self) -> Result<()> {
        let mut s = self.state.lock().unwrap();
        s.count += 1;
        s.longest = s.longest.max(s.last.elapsed());
        s.last = Instant::now();
        if s.count > self.most { Err(Error::query_timeout()) } else { Ok(()) }
    }
}

/// Parses and plans; what was noted of each of the three phases.
fn planned(sql: &str, looks: &Looks) -> Result<[(usize, Duration); 3]> {
    let catalog = fixture();
    let stats = scale_one(&catalog);
    let mut session = session();
    session.database = Some("tpch".into());
    let settings = OptimizerSettings::default();
    looks.now();
    let parsed = parser::parse_single_overseen(sql.as_bytes(), &ParseOptions::default(), Some(looks))?;
    let parsing = looks.now();
    let Statement::Query(q) = &parsed.statement else { panic!("no query") };
    let query = Binder::new(&catalog, &session, &Variables).overseen(Some(looks)).bind_query(q)?;
    let binding = looks.now();
    let plan = optimize_traced(query, &stats, &settings, Some(looks), None)?;
    let planning = looks.now();
    assert!(plan.root.estimated_rows >= 0.0);
    Ok([parsing, binding, planning])
}

#[test]
fn no_work_goes_on_for_long_unasked() {
    // Of a build without optimizations nobody expects much.
    let most = Duration::from_millis(if cfg!(debug_assertions) { 1500 } else { 100 });
    let only = std::env::var("SHAPE").unwrap_or_default();
    for (name, sql) in shapes(100_000).into_iter().chain(bounded_shapes()).filter(|s| s.0.contains(&only)) {
        let looks = Looks::new(usize::MAX);
        let phases = planned(&sql, &looks).unwrap_or_else(|e| panic!("{name}: {e}"));
        eprintln!("{name:12} {phases:9.2?}");
        assert!(phases.iter().all(|p| p.1 < most), "{name}: {phases:?}");
    }
}

#[test]
fn work_ends_at_any_look() {
    for (name, sql) in shapes(5_000).into_iter().chain(bounded_shapes()) {
        let looks = Looks::new(usize::MAX);
        planned(&sql, &looks).unwrap_or_else(|e| panic!("{name}: {e}"));
        let all = looks.now().0;
        assert!(all > 8, "{name}: {all} looks");
        for at in [0, 1, 2, all / 4, all / 2, all * 3 / 4, all - 2, all - 1] {
            let looks = Looks::new(at);
            let result = planned(&sql, &looks).map(|_| ());
            assert_eq!(
                result.map_err(|e| e.code()),
                Err(ErrorCode::QUERY_TIMEOUT),
                "{name}, after {at} of {all} looks"
            );
            assert_eq!(looks.now().0, at + 1, "{name}: it goes on after look {at} of {all}");
        }
    }
}
