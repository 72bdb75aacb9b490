//! Rows with long strings: what statements hold stays near their limit, however wide the rows are. Counted is what is
//! allocated beside the table; a batch of its rows alone would take many times the limit.

#[allow(dead_code)]
mod world;

use expr::{AggCall, AggFunc, Expr, FrameBound, FrameUnits, WindowCall, WindowFrame, WindowFunc};
use plan::physical::*;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use types::{ErrorCode, Result, SqlType, Value};
use world::{A, S, TEXT, U, World, col};

const ROWS: usize = 128;
const ROW_BYTES: usize = 256 << 10;
const LIMIT: usize = 4 << 20;
/// A thread's rows on their way, keys of theirs, what it reads and writes, and strings twice while they move.
const SLACK_PER_THREAD: usize = 5 << 20;

struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: everything is the system allocator's; the counters are beside it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = HELD.fetch_add(layout.size(), Relaxed) + layout.size();
        PEAK.fetch_max(now, Relaxed);
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

/// The counters are of the process: one test at a time.
static ALONE: Mutex<()> = Mutex::new(());

fn node(op: PlanOp, output: Vec<SqlType>) -> PlanNode {
    world::node(op, output.into_iter().map(|ty| (ty, true)).collect())
}

fn scan(world: &World) -> PlanNode {
    world::scan(world, 0)
}

fn types_of(n: &PlanNode) -> Vec<SqlType> {
    n.output.iter().map(|c| c.ty).collect()
}

/// Some columns alone.
fn only(input: PlanNode, columns: &[usize]) -> PlanNode {
    let exprs: Vec<Expr> = columns.iter().map(|&c| col(&input, c)).collect();
    let output = exprs.iter().map(|e| e.ty).collect();
    node(PlanOp::Project { input: Box::new(input), exprs }, output)
}

fn call(func: AggFunc, args: Vec<Expr>, ty: SqlType) -> AggCall {
    AggCall { func, args, distinct: false, order_by: vec![], separator: ",".into(), ty, nullable: true }
}

fn grouped(input: PlanNode, groups: Vec<Expr>, aggregates: Vec<AggCall>) -> PlanNode {
    let output = groups.iter().map(|g| g.ty).chain(aggregates.iter().map(|a| a.ty)).collect();
    let op =
        PlanOp::Aggregate { input: Box::new(input), groups, few: vec![], aggregates, rollup: false, ordered: false };
    node(op, output)
}

fn count(input: PlanNode) -> PlanNode {
    grouped(input, vec![], vec![call(AggFunc::CountStar, vec![], SqlType::BIGINT)])
}

fn join(kind: JoinKind, probe: PlanNode, build: PlanNode, keys: &[usize], project: Vec<usize>) -> PlanNode {
    let natural: Vec<SqlType> = match kind {
        JoinKind::Semi | JoinKind::Anti => types_of(&probe),
        _ => types_of(&probe).into_iter().chain(types_of(&build)).collect(),
    };
    let keys =
        keys.iter().map(|&c| JoinKey { probe: col(&probe, c), build: col(&build, c), null_safe: false }).collect();
    let output = project.iter().map(|&p| natural[p]).collect();
    let (probe, build) = (Box::new(probe), Box::new(build));
    node(PlanOp::HashJoin { kind, probe, build, keys, residual: None, sideways: vec![], in_keys: 0, project }, output)
}

fn sorted(input: PlanNode, key: Expr, limit: Option<u64>) -> PlanNode {
    let output = types_of(&input);
    let keys = vec![SortKey { expr: key, descending: false }];
    node(PlanOp::Sort { input: Box::new(input), keys, limit, offset: 0 }, output)
}

/// Runs the plan with one and several threads, and holds what it takes to the limit.
fn run(world: &World, root: &PlanNode, what: &str) -> Result<Vec<Vec<Value>>> {
    let mut answers = Vec::new();
    for dop in [1, 3] {
        let before = HELD.load(Relaxed);
        PEAK.store(before, Relaxed);
        let answer = world.run(root, dop, LIMIT);
        let taken = PEAK.load(Relaxed) - before;
        let most = LIMIT + dop * SLACK_PER_THREAD;
        assert!(taken <= most, "{what} with {dop} threads took {} KiB, not {} at most", taken >> 10, most >> 10);
        answers.push(answer);
    }
    answers.swap_remove(0)
}

fn number(v: &Value) -> i64 {
    match v {
        Value::Int(n) => *n,
        other => panic!("{other:?} is no number"),
    }
}

fn count_of(rows: Result<Vec<Vec<Value>>>) -> i64 {
    number(&rows.expect("it spills")[0][0])
}

/// How many different strings the table has, and how many pairs of equal ones.
fn strings(world: &World) -> (i64, i64) {
    let mut counts = std::collections::HashMap::new();
    let leaf = &world.tables[0].leaves[0];
    (0..leaf.rows).for_each(|i| *counts.entry(leaf.columns[S].bytes(i)[..8].to_vec()).or_insert(0i64) += 1);
    (counts.len() as i64, counts.values().map(|n| n * n).sum())
}

#[test]
fn sorts() {
    let _alone = ALONE.lock();
    let world = World::wide(ROWS, ROW_BYTES);
    let input = scan(&world);
    let key = col(&input, S);
    let rows = run(&world, &only(sorted(input, key.clone(), None), &[U]), "a sort").expect("it spills");
    let strings = &world.tables[0].leaves[0].columns[S];
    let sorted_strings: Vec<&[u8]> = rows.iter().map(|r| strings.bytes(number(&r[0]) as usize)).collect();
    assert!(sorted_strings.len() == ROWS && sorted_strings.is_sorted());
    let top = only(sorted(scan(&world), key, Some(3)), &[U]);
    assert_eq!(run(&world, &top, "the first of a sort").expect("it fits").len(), 3);
}

#[test]
fn joins() {
    let _alone = ALONE.lock();
    let world = World::wide(ROWS, ROW_BYTES);
    let (_, pairs) = strings(&world);
    let both = || (scan(&world), scan(&world));
    let (probe, build) = both();
    let width = probe.output.len();
    let by_string = count(join(JoinKind::Inner, probe, build, &[S], vec![U, width + U]));
    assert_eq!(count_of(run(&world, &by_string, "a join by long strings")), pairs);
    let (probe, build) = both();
    let of_strings = grouped(
        join(JoinKind::Inner, probe, build, &[A], vec![S, width + S]),
        vec![],
        vec![call(AggFunc::Count, vec![Expr::column(1, TEXT, true)], SqlType::BIGINT)],
    );
    let quarter = (ROWS / 4) as i64;
    assert_eq!(count_of(run(&world, &of_strings, "a join that puts out long strings")), 4 * quarter * quarter);
    for kind in [JoinKind::Semi, JoinKind::Anti] {
        let (probe, build) = both();
        let n = count_of(run(&world, &count(join(kind, probe, build, &[S], vec![U])), "a semijoin by long strings"));
        assert_eq!(n, if kind == JoinKind::Semi { ROWS as i64 } else { 0 });
    }
}

#[test]
fn groups() {
    let _alone = ALONE.lock();
    let world = World::wide(ROWS, ROW_BYTES);
    let (different, _) = strings(&world);
    let input = scan(&world);
    let key = col(&input, S);
    let by_string =
        count(only(grouped(input, vec![key], vec![call(AggFunc::CountStar, vec![], SqlType::BIGINT)]), &[1]));
    assert_eq!(count_of(run(&world, &by_string, "groups of long strings")), different);
    let distinct = only(scan(&world), &[S]);
    let output = types_of(&distinct);
    let distinct = count(node(PlanOp::Distinct { input: Box::new(distinct) }, output));
    assert_eq!(count_of(run(&world, &distinct, "DISTINCT")), different);
    for func in [AggFunc::Max, AggFunc::AnyValue] {
        let input = scan(&world);
        let (u, s) = (col(&input, U), col(&input, S));
        let greatest = count(only(grouped(input, vec![u], vec![call(func, vec![s], TEXT)]), &[0, 1]));
        assert_eq!(count_of(run(&world, &greatest, &format!("{func:?} by group"))), ROWS as i64);
    }
}

/// What cannot be parted is refused.
#[test]
fn strings_that_grow_beyond_the_limit_are_an_error() {
    let _alone = ALONE.lock();
    let mut world = World::wide(ROWS, ROW_BYTES);
    world.session.group_concat_max_len = u64::MAX;
    world.session.max_allowed_packet = 1 << 30;
    let input = scan(&world);
    let (s, u) = (col(&input, S), col(&input, U));
    let joined = grouped(input, vec![], vec![call(AggFunc::GroupConcat, vec![s.clone()], TEXT)]);
    let e = run(&world, &joined, "GROUP_CONCAT").expect_err("32 MiB do not fit");
    assert_eq!(e.code(), ErrorCode::CAPACITY_EXCEEDED, "{e}");
    let input = scan(&world);
    let mut output = types_of(&input);
    output.push(TEXT);
    let calls = vec![WindowCall {
        func: WindowFunc::Agg(AggFunc::Max),
        args: vec![s],
        frame: WindowFrame {
            units: FrameUnits::Rows,
            start: FrameBound::UnboundedPreceding,
            end: FrameBound::CurrentRow,
        },
        ty: TEXT,
        nullable: true,
    }];
    let order_by = vec![SortKey { expr: u, descending: false }];
    let op = PlanOp::Window { input: Box::new(input), partition_by: vec![], order_by, calls };
    let e = run(&world, &node(op, output), "MAX over a window").expect_err("32 MiB do not fit");
    assert_eq!(e.code(), ErrorCode::CAPACITY_EXCEEDED, "{e}");
}

#[test]
fn group_concat_ends_at_max_allowed_packet() {
    let _alone = ALONE.lock();
    let mut world = World::wide(ROWS, ROW_BYTES);
    world.session.group_concat_max_len = u64::MAX;
    world.session.max_allowed_packet = 1 << 20;
    let input = scan(&world);
    let s = col(&input, S);
    let rows = run(&world, &grouped(input, vec![], vec![call(AggFunc::GroupConcat, vec![s], TEXT)]), "GROUP_CONCAT");
    assert_eq!(rows.expect("it fits")[0][0].as_bytes().map(<[u8]>::len), Some(1 << 20));
}
