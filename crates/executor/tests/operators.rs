//! Every operator against a naive interpreter that works row by row on values, over random small tables with NULLs,
//! deleted rows, mixed case strings and tiny leaves; with one and several threads, with plenty and with hardly any
//! memory. A failing seed is named in the message and replays.

mod naive;
#[allow(dead_code)]
mod world;

use executor::MemoryBounds;
use expr::{AggCall, AggFunc, CmpOp, Expr, FrameBound, FrameUnits, WindowCall, WindowFrame, WindowFunc};
use naive::Naive;
use plan::physical::*;
use types::{Collation, ErrorCode, IntSize, SqlType, Value};
use world::{A, B, D, Rng, S, U, World, X, col, node, scan};

const ROUNDS: u64 = 24;

fn types_of(n: &PlanNode) -> Vec<(SqlType, bool)> {
    n.output.iter().map(|c| (c.ty, c.nullable)).collect()
}

fn compare(op: CmpOp, l: Expr, r: Expr) -> Expr {
    Expr::new(expr::ExprKind::Compare { op, left: Box::new(l), right: Box::new(r) }, SqlType::Bool, true)
}

fn int(v: i64) -> Expr {
    Expr::constant(Value::Int(v), SqlType::BIGINT)
}

/// Checks the plan under several configurations. `ordered`: rows must come in the naive order of these keys.
fn check(world: &World, root: &PlanNode, what: &str) {
    let expected = Naive::new(world).rows(root);
    let tiny = MemoryBounds { sort: Some(1), table: Some(1) };
    let unbound = MemoryBounds::default();
    let ways = [
        (1, 64 << 20, unbound),
        (4, 64 << 20, unbound),
        (1, 24 << 10, unbound),
        (3, 24 << 10, unbound),
        (1, 64 << 20, tiny),
        (3, 64 << 20, tiny),
    ];
    for (dop, memory, bounds) in ways {
        match (&expected, world.run_bounded(root, dop, memory, bounds).map(|(rows, _)| rows)) {
            (Ok(expected), Ok(got)) => {
                let (mut e, mut g) = (world::printed(expected), world::printed(&got));
                e.sort();
                g.sort();
                if e != g {
                    panic!(
                        "{what}, dop {dop}, memory {memory}:\nexpected {} rows {:?}\n     got {} rows {:?}\n{:?}",
                        e.len(),
                        e.iter().filter(|r| !g.contains(r)).take(5).collect::<Vec<_>>(),
                        g.len(),
                        g.iter().filter(|r| !e.contains(r)).take(5).collect::<Vec<_>>(),
                        root.op
                    );
                }
            }
            (Err(e), Err(g)) => assert_eq!(e.code(), g.code(), "{what}"),
            // Not everything spills.
            (Ok(_), Err(g)) if g.code() == ErrorCode::CAPACITY_EXCEEDED && memory < 1 << 20 && holds_rows(root) => {}
            (Ok(_), Err(g)) => panic!("{what}, dop {dop}, memory {memory}: {g}\n{:?}", root.op),
            (Err(e), Ok(_)) => panic!("{what}, dop {dop}, memory {memory}: should fail with {e}\n{:?}", root.op),
        }
    }
}

/// Operators that keep some rows in memory whatever they are.
fn holds_rows(n: &PlanNode) -> bool {
    match &n.op {
        PlanOp::Window { .. } => true,
        PlanOp::HashJoin { kind, residual, keys, .. } => {
            matches!(kind, JoinKind::Mark { null_aware: true } | JoinKind::NullAwareAnti)
                && (residual.is_some() || keys.len() > 1)
        }
        _ => false,
    }
}

fn join_kinds() -> Vec<JoinKind> {
    vec![
        JoinKind::Inner,
        JoinKind::Left,
        JoinKind::Right,
        JoinKind::Semi,
        JoinKind::Anti,
        JoinKind::RightSemi,
        JoinKind::RightAnti,
        JoinKind::Mark { null_aware: false },
        JoinKind::Mark { null_aware: true },
        JoinKind::NullAwareAnti,
        JoinKind::Single,
    ]
}

fn natural(kind: JoinKind, l: &PlanNode, r: &PlanNode) -> Vec<(SqlType, bool)> {
    let (l, r) = (types_of(l), types_of(r));
    match kind {
        JoinKind::Inner | JoinKind::Left | JoinKind::Right | JoinKind::Single => l.into_iter().chain(r).collect(),
        JoinKind::Semi | JoinKind::Anti | JoinKind::NullAwareAnti => l,
        JoinKind::RightSemi | JoinKind::RightAnti => r,
        JoinKind::Mark { .. } => l.into_iter().chain([(SqlType::Bool, true)]).collect(),
    }
}

#[test]
fn hash_joins() {
    let key_sets: [&[usize]; 7] = [&[A], &[B], &[A, B], &[S], &[A, S], &[D], &[U, B]];
    for seed in 0..ROUNDS {
        let mut rng = Rng::new(seed);
        let world = World::new(&mut rng, 2);
        for kind in join_kinds() {
            let (l, r) = (scan(&world, 0), scan(&world, 1));
            let set = key_sets[rng.below(key_sets.len())];
            let mut in_keys = rng.below(set.len()) + 1;
            if !matches!(kind, JoinKind::Mark { null_aware: true } | JoinKind::NullAwareAnti) {
                in_keys = 0;
            }
            let keys = set
                .iter()
                .map(|&c| JoinKey {
                    probe: col(&l, c),
                    build: col(&r, c),
                    null_safe: in_keys == 0 && rng.below(4) == 0,
                })
                .collect();
            let both = l.output.len();
            let residual = (rng.below(3) == 0)
                .then(|| compare(CmpOp::Lt, col(&l, U), Expr::column((both + U) as u32, SqlType::INT, true)));
            let natural = natural(kind, &l, &r);
            let mut project: Vec<usize> = (0..natural.len()).filter(|_| rng.below(4) > 0).collect();
            if let JoinKind::Mark { .. } = kind {
                project = (0..natural.len()).collect();
            }
            let output = project.iter().map(|&p| natural[p]).collect();
            let op = PlanOp::HashJoin {
                kind,
                probe: Box::new(l),
                build: Box::new(r),
                keys,
                residual,
                sideways: vec![],
                in_keys,
                project,
            };
            check(&world, &node(op, output), &format!("seed {seed} {kind:?}"));
        }
    }
}

#[test]
fn nested_loop_joins() {
    for seed in 0..ROUNDS / 2 {
        let mut rng = Rng::new(seed);
        let world = World::new(&mut rng, 2);
        for kind in join_kinds() {
            let (l, r) = (scan(&world, 0), scan(&world, 1));
            let both = l.output.len();
            let right = |c: usize, ty| Expr::column((both + c) as u32, ty, true);
            let condition = match rng.below(4) {
                0 => None,
                1 => Some(compare(CmpOp::Eq, col(&l, A), right(A, SqlType::INT))),
                2 => Some(compare(CmpOp::Lt, col(&l, U), right(U, SqlType::INT))),
                _ => Some(compare(CmpOp::Gt, col(&l, B), right(A, SqlType::INT))),
            };
            let natural = natural(kind, &l, &r);
            let project = (0..natural.len()).collect();
            let (probe, build) = (Box::new(l), Box::new(r));
            let blocks = rng.below(2) == 0;
            let op = PlanOp::NestedLoopJoin { kind, probe, build, condition, project, blocks };
            check(&world, &node(op, natural), &format!("seed {seed} {kind:?}"));
        }
    }
}

fn call(func: AggFunc, args: Vec<Expr>, distinct: bool, ty: SqlType) -> AggCall {
    AggCall { func, args, distinct, order_by: vec![], separator: ",".into(), ty, nullable: true }
}

const DEC: SqlType = SqlType::Decimal { precision: 38, scale: 0 };

fn aggregates(input: &PlanNode, rng: &mut Rng) -> Vec<AggCall> {
    let c = |i| col(input, i);
    let mut all = vec![
        call(AggFunc::CountStar, vec![], false, SqlType::BIGINT),
        call(AggFunc::Count, vec![c(A)], false, SqlType::BIGINT),
        call(AggFunc::Count, vec![c(A)], true, SqlType::BIGINT),
        call(AggFunc::Count, vec![c(A), c(S)], true, SqlType::BIGINT),
        call(AggFunc::Sum, vec![c(A)], false, DEC),
        call(AggFunc::Sum, vec![c(A)], true, DEC),
        call(AggFunc::Sum, vec![c(D)], false, SqlType::Decimal { precision: 32, scale: 2 }),
        call(AggFunc::Sum, vec![c(X)], false, SqlType::Double),
        call(AggFunc::Avg, vec![c(D)], false, SqlType::Decimal { precision: 14, scale: 6 }),
        call(AggFunc::Avg, vec![c(A)], false, SqlType::Decimal { precision: 14, scale: 4 }),
        call(AggFunc::Min, vec![c(U)], false, SqlType::INT),
        call(AggFunc::Max, vec![c(D)], false, SqlType::Decimal { precision: 10, scale: 2 }),
        call(AggFunc::Min, vec![c(S)], false, world::TEXT),
        call(AggFunc::Max, vec![c(S)], false, world::TEXT),
        call(AggFunc::BitXor, vec![c(A)], false, SqlType::BIGINT_UNSIGNED),
        call(AggFunc::BitAnd, vec![c(A)], false, SqlType::BIGINT_UNSIGNED),
        call(AggFunc::BitOr, vec![c(B)], false, SqlType::BIGINT_UNSIGNED),
        AggCall {
            order_by: vec![(c(U), true), (c(S), false)],
            ..call(AggFunc::GroupConcat, vec![c(S)], false, world::TEXT)
        },
        call(AggFunc::Avg, vec![c(D)], true, SqlType::Decimal { precision: 14, scale: 6 }),
        call(AggFunc::Sum, vec![c(D)], true, SqlType::Decimal { precision: 32, scale: 2 }),
    ];
    all.retain(|_| rng.below(3) > 0);
    all
}

/// The input's rows, those of each group together.
fn sorted_by(input: PlanNode, groups: &[Expr]) -> PlanNode {
    let keys = groups.iter().map(|g| SortKey { expr: g.clone(), descending: false }).collect();
    let output = types_of(&input);
    node(PlanOp::Sort { input: Box::new(input), keys, limit: None, offset: 0 }, output)
}

#[test]
fn aggregations() {
    let group_sets: [&[usize]; 8] = [&[], &[A], &[S], &[A, B], &[A, S], &[D], &[U], &[X, B]];
    for seed in 0..ROUNDS {
        let mut rng = Rng::new(seed);
        check_groups(&World::new(&mut rng, 1), &group_sets, seed, &mut rng, true);
    }
}

#[test]
fn aggregations_of_rows_that_lie_together() {
    for seed in 0..ROUNDS {
        let mut rng = Rng::new(seed);
        check_groups(&World::rising(&mut rng), &[&[B], &[S, B], &[B, A]], seed, &mut rng, false);
    }
}

fn check_groups(world: &World, sets: &[&[usize]], seed: u64, rng: &mut Rng, distinct: bool) {
    for set in sets {
        let input = scan(world, 0);
        let groups: Vec<Expr> = set.iter().map(|&c| col(&input, c)).collect();
        let mut aggregates = aggregates(&input, rng);
        aggregates.retain(|a| distinct || !a.distinct);
        let rollup = distinct && !set.is_empty() && rng.below(3) == 0;
        let ordered = distinct && !set.is_empty() && !rollup && rng.below(2) == 0;
        let output = groups.iter().map(|g| (g.ty, true)).chain(aggregates.iter().map(|a| (a.ty, true))).collect();
        let few = groups.iter().map(|_| rng.below(2) == 0).collect();
        let input = Box::new(if ordered { sorted_by(input, &groups) } else { input });
        let op = PlanOp::Aggregate { input, groups, few, aggregates, rollup, ordered };
        let what = format!("seed {seed} group by {set:?} rollup {rollup} ordered {ordered}");
        check(world, &node(op, output), &what);
    }
    let input = scan(world, 0);
    let output = types_of(&input);
    check(world, &node(PlanOp::Distinct { input: Box::new(input) }, output), &format!("seed {seed} distinct"));
}

#[test]
fn sorts_and_limits() {
    for seed in 0..ROUNDS {
        let mut rng = Rng::new(seed);
        let world = World::new(&mut rng, 1);
        for _ in 0..4 {
            let input = scan(&world, 0);
            let mut keys: Vec<SortKey> = [A, S, D, X, B]
                .iter()
                .filter(|_| rng.below(2) == 0)
                .map(|&c| SortKey { expr: col(&input, c), descending: false })
                .collect();
            // The unique column makes the order total, so that LIMIT picks the same rows.
            keys.push(SortKey { expr: col(&input, U), descending: false });
            keys.iter_mut().for_each(|k| k.descending = rng.below(2) == 0);
            let limit = (rng.below(2) == 0).then(|| rng.below(50) as u64);
            let offset = rng.below(2) as u64 * rng.below(20) as u64;
            let output = types_of(&input);
            let op =
                PlanOp::Sort { input: Box::new(input), keys, limit, offset: if limit.is_some() { offset } else { 0 } };
            let root = node(op, output);
            check(&world, &root, &format!("seed {seed} sort"));
            let expected = world::printed(&Naive::new(&world).rows(&root).expect("sorting cannot fail"));
            for (dop, memory, sort) in [(4, 64 << 20, None), (3, 24 << 10, None), (2, 64 << 20, Some(2000))] {
                let bounds = MemoryBounds { sort, table: None };
                let (got, _) = world.run_bounded(&root, dop, memory, bounds).expect("sorting cannot fail");
                let got = world::printed(&got);
                assert_eq!(expected, got, "seed {seed}: order, dop {dop}, memory {memory}");
            }
        }
    }
}

#[test]
fn bounds_make_sorts_and_tables_spill() {
    let mut rng = Rng::new(5);
    let world = World::sized(&mut rng, &[20_000]);
    let input = scan(&world, 0);
    let output = types_of(&input);
    let keys = vec![SortKey { expr: col(&input, U), descending: true }];
    let sort = node(PlanOp::Sort { input: Box::new(input), keys, limit: None, offset: 0 }, output);
    let input = scan(&world, 0);
    let output = types_of(&input);
    let distinct = node(PlanOp::Distinct { input: Box::new(input) }, output);
    let of = |root: &PlanNode, dop, bounds| world.run_bounded(root, dop, 64 << 20, bounds).expect("nothing fails");
    for dop in [1, 3] {
        let (rows, plain) = of(&sort, dop, MemoryBounds::default());
        assert_eq!((plain.sort_merge_passes, plain.spilled_bytes), (0, 0));
        let (sorted, counts) = of(&sort, dop, MemoryBounds { sort: Some(100 << 10), table: None });
        assert_eq!(world::printed(&rows), world::printed(&sorted));
        assert!(counts.sort_merge_passes > 1 && counts.spilled_bytes > 0, "{counts:?}");
        let (_, counts) = of(&sort, dop, MemoryBounds { sort: None, table: Some(1) });
        assert_eq!(counts.spilled_bytes, 0, "a sort is no table");

        let (rows, plain) = of(&distinct, dop, MemoryBounds { sort: Some(1), table: None });
        assert_eq!((plain.created_tmp_disk_tables, plain.spilled_bytes), (0, 0));
        let (kept, counts) = of(&distinct, dop, MemoryBounds { sort: None, table: Some(100 << 10) });
        let (mut rows, mut kept) = (world::printed(&rows), world::printed(&kept));
        rows.sort();
        kept.sort();
        assert_eq!(rows, kept);
        assert!(counts.created_tmp_disk_tables == 1 && counts.spilled_bytes > 0, "{counts:?}");
    }
}

#[test]
fn set_operations() {
    let kinds = [
        SetOpKind::UnionAll,
        SetOpKind::IntersectAll,
        SetOpKind::IntersectDistinct,
        SetOpKind::ExceptAll,
        SetOpKind::ExceptDistinct,
    ];
    for seed in 0..ROUNDS / 2 {
        let mut rng = Rng::new(seed);
        let world = World::new(&mut rng, 3);
        for kind in kinds {
            let inputs: Vec<PlanNode> = (0..3)
                .map(|t| {
                    let input = scan(&world, t);
                    let exprs = vec![col(&input, A), col(&input, S)];
                    let output = exprs.iter().map(|e| (e.ty, true)).collect();
                    node(PlanOp::Project { input: Box::new(input), exprs }, output)
                })
                .collect();
            let output = types_of(&inputs[0]);
            check(&world, &node(PlanOp::SetOp { kind, inputs }, output), &format!("seed {seed} {kind:?}"));
        }
    }
}

#[test]
fn windows() {
    let big = SqlType::Int { size: IntSize::I64, unsigned: true };
    for seed in 0..ROUNDS {
        let mut rng = Rng::new(seed);
        let world = World::new(&mut rng, 1);
        let input = scan(&world, 0);
        let partition_by: Vec<Expr> = [A, S].iter().filter(|_| rng.below(2) == 0).map(|&c| col(&input, c)).collect();
        let order = if rng.below(2) == 0 { B } else { D };
        let mut order_by = vec![SortKey { expr: col(&input, order), descending: rng.below(2) == 0 }];
        let total = rng.below(2) == 0;
        if total {
            order_by.push(SortKey { expr: col(&input, U), descending: false });
        }
        let distance = |rng: &mut Rng| Box::new(int(rng.below(4) as i64));
        let (start, end) = match rng.below(6) {
            0 => (FrameBound::UnboundedPreceding, FrameBound::CurrentRow),
            1 => (FrameBound::UnboundedPreceding, FrameBound::UnboundedFollowing),
            2 => (FrameBound::Preceding(distance(&mut rng)), FrameBound::Following(distance(&mut rng))),
            3 => (FrameBound::CurrentRow, FrameBound::Following(distance(&mut rng))),
            4 => (FrameBound::Following(distance(&mut rng)), FrameBound::UnboundedFollowing),
            _ => (FrameBound::Preceding(distance(&mut rng)), FrameBound::Preceding(distance(&mut rng))),
        };
        // ROWS over ties would depend on the order of rows; RANGE distances need a single key.
        let units = if total { FrameUnits::Rows } else { FrameUnits::Range };
        let frame = WindowFrame { units, start, end };
        let call = |func, args: Vec<Expr>, ty| WindowCall { func, args, frame: frame.clone(), ty, nullable: true };
        let mut calls = vec![
            call(WindowFunc::Rank, vec![], big),
            call(WindowFunc::DenseRank, vec![], big),
            call(WindowFunc::PercentRank, vec![], SqlType::Double),
            call(WindowFunc::CumeDist, vec![], SqlType::Double),
            call(WindowFunc::Agg(AggFunc::Sum), vec![col(&input, U)], DEC),
            call(WindowFunc::Agg(AggFunc::Count), vec![col(&input, A)], SqlType::BIGINT),
            call(WindowFunc::Agg(AggFunc::Max), vec![col(&input, S)], world::TEXT),
        ];
        if total {
            calls.push(call(WindowFunc::RowNumber, vec![], big));
            calls.push(call(WindowFunc::Ntile, vec![int(3)], big));
            calls.push(call(WindowFunc::Lag, vec![col(&input, U), int(2)], SqlType::INT));
            calls.push(call(WindowFunc::Lead, vec![col(&input, U), int(1), col(&input, A)], SqlType::INT));
            calls.push(call(WindowFunc::FirstValue, vec![col(&input, U)], SqlType::INT));
            calls.push(call(WindowFunc::LastValue, vec![col(&input, U)], SqlType::INT));
            calls.push(call(WindowFunc::NthValue, vec![col(&input, U), int(2)], SqlType::INT));
        }
        let output = types_of(&input).into_iter().chain(calls.iter().map(|c| (c.ty, true))).collect();
        let op = PlanOp::Window { input: Box::new(input), partition_by, order_by, calls };
        check(&world, &node(op, output), &format!("seed {seed} window {frame:?}"));
    }
}

#[test]
fn common_tables_apply_and_single_rows() {
    for seed in 0..ROUNDS / 2 {
        let mut rng = Rng::new(seed);
        let world = World::new(&mut rng, 2);
        // WITH c AS (distinct a, s) SELECT ... FROM c JOIN c
        let input = scan(&world, 0);
        let exprs = vec![col(&input, A), col(&input, S)];
        let output: Vec<(SqlType, bool)> = exprs.iter().map(|e| (e.ty, true)).collect();
        let project = node(PlanOp::Project { input: Box::new(input), exprs }, output.clone());
        let def = node(PlanOp::Distinct { input: Box::new(project) }, output.clone());
        let read = || node(PlanOp::CteScan { cte_id: 7, name: "c".into() }, output.clone());
        let (l, r) = (read(), read());
        let keys = vec![JoinKey { probe: col(&l, 0), build: col(&r, 0), null_safe: false }];
        let both = natural(JoinKind::Inner, &l, &r);
        let join = node(
            PlanOp::HashJoin {
                kind: JoinKind::Inner,
                probe: Box::new(l),
                build: Box::new(r),
                keys,
                residual: None,
                sideways: vec![],
                in_keys: 0,
                project: (0..both.len()).collect(),
            },
            both.clone(),
        );
        let ctes = vec![CteDef { cte_id: 7, name: "c".into(), plan: Box::new(def) }];
        check(&world, &node(PlanOp::With { ctes, input: Box::new(join) }, both), &format!("seed {seed} with"));

        // For each row of t0, the rows of t1 with the same a.
        for kind in [
            JoinKind::Inner,
            JoinKind::Left,
            JoinKind::Semi,
            JoinKind::Anti,
            JoinKind::Mark { null_aware: false },
            JoinKind::Single,
        ] {
            let (outer, inner) = (scan(&world, 0), scan(&world, 1));
            let param = Expr::new(expr::ExprKind::Param(0), SqlType::INT, true);
            let predicates = vec![compare(CmpOp::Eq, col(&inner, A), param)];
            let inner_types = types_of(&inner);
            let filter = node(PlanOp::Filter { input: Box::new(inner), predicates }, inner_types);
            let output = natural(kind, &outer, &filter);
            let params = vec![(0, col(&outer, A))];
            let op = PlanOp::Apply {
                input: Box::new(outer),
                subplan: Box::new(filter),
                params,
                kind,
                cache: seed % 2 == 0,
                unknown: vec![],
            };
            check(&world, &node(op, output), &format!("seed {seed} apply {kind:?}"));
        }
        let one = scan(&world, 1);
        let output = types_of(&one);
        let limited =
            node(PlanOp::Limit { input: Box::new(one), limit: Some(rng.below(3) as u64), offset: 0 }, output.clone());
        if matches!(&limited.op, PlanOp::Limit { limit: Some(n), .. } if *n != 1) {
            check(
                &world,
                &node(PlanOp::SingleRow { input: Box::new(limited) }, output),
                &format!("seed {seed} single row"),
            );
        }
    }
}

#[test]
fn recursion_counts_and_stops() {
    let world = World::new(&mut Rng::new(1), 1);
    let big = SqlType::BIGINT;
    let count_to = |n: i64| {
        let anchor = node(PlanOp::Values { rows: vec![vec![int(1)]].into() }, vec![(big, false)]);
        let read = node(PlanOp::CteScan { cte_id: 1, name: "r".into() }, vec![(big, true)]);
        let next = Expr::new(
            expr::ExprKind::Arith {
                op: expr::ArithOp::Add,
                left: Box::new(Expr::column(0, big, true)),
                right: Box::new(int(1)),
            },
            big,
            true,
        );
        let predicates = vec![compare(CmpOp::Lt, Expr::column(0, big, true), int(n))];
        let filter = node(PlanOp::Filter { input: Box::new(read), predicates }, vec![(big, true)]);
        let step = node(PlanOp::Project { input: Box::new(filter), exprs: vec![next] }, vec![(big, true)]);
        node(
            PlanOp::RecursiveUnion { cte_id: 1, anchor: Box::new(anchor), recursive: Box::new(step), distinct: false },
            vec![(big, true)],
        )
    };
    let rows = world.run(&count_to(500), 1, 1 << 20).expect("500 rounds are allowed");
    assert_eq!(rows.len(), 500);
    let e = world.run(&count_to(5000), 1, 1 << 20).expect_err("5000 rounds are not");
    assert_eq!(e.code().0, 3636);
}

#[test]
fn kill_ends_a_cross_join() {
    let mut rng = Rng::new(3);
    let world = World::sized(&mut rng, &[2000, 2000, 2000]);
    let mut plan = scan(&world, 0);
    for t in [1, 2] {
        let r = scan(&world, t);
        let natural = natural(JoinKind::Inner, &plan, &r);
        let op = PlanOp::NestedLoopJoin {
            kind: JoinKind::Inner,
            probe: Box::new(plan),
            build: Box::new(r),
            condition: None,
            project: (0..natural.len()).collect(),
            blocks: true,
        };
        plan = node(op, natural);
    }
    let sorted = node(
        PlanOp::Aggregate {
            groups: vec![],
            few: vec![],
            aggregates: vec![call(AggFunc::CountStar, vec![], false, SqlType::BIGINT)],
            rollup: false,
            ordered: false,
            input: Box::new(plan),
        },
        vec![(SqlType::BIGINT, false)],
    );
    let (e, after) = world.run_and_kill(&sorted, 2, std::time::Duration::from_millis(50));
    assert_eq!(e.expect_err("8e9 rows are not done in time").code().0, 1317);
    assert!(after < std::time::Duration::from_millis(1500), "ended {after:?} after the kill");
    assert_eq!(Collation::Utf8mb4_0900AiCi, world::TEXT.collation().expect("text"));
}
