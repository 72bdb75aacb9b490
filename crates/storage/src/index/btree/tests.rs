use super::*;
use crate::index::cursor::Candidates;
use proptest::prelude::*;
use std::collections::BTreeSet;

#[derive(Clone, Debug)]
enum Op {
    Insert(usize, u64),
    Remove(usize, u64),
    Forward(usize, Option<usize>, usize),
    Backward(Option<usize>, usize, usize),
    GetMany(Vec<usize>),
    /// Removes or inserts many in order.
    Sweep(bool, u64),
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        8 => (0usize..60, 0u64..4).prop_map(|(k, r)| Op::Insert(k, r)),
        6 => (0usize..60, 0u64..4).prop_map(|(k, r)| Op::Remove(k, r)),
        2 => (0usize..60, proptest::option::of(0usize..60), 1usize..20).prop_map(|(a, b, n)| Op::Forward(a, b, n)),
        2 => (proptest::option::of(0usize..60), 0usize..60, 1usize..20).prop_map(|(a, b, n)| Op::Backward(a, b, n)),
        1 => proptest::collection::vec(0usize..60, 1..40).prop_map(Op::GetMany),
        1 => (any::<bool>(), 0u64..4).prop_map(|(i, r)| Op::Sweep(i, r)),
    ]
}

/// Sixty keys in order, of the kind: fixed width, short, or long with much in common.
fn key(kind: usize, i: usize) -> Vec<u8> {
    match kind {
        0 => (i as u32 * 7).to_be_bytes().to_vec(),
        1 => {
            let mut key = vec![1, 1, 1, 1, 1, 1, (i / 10) as u8];
            key.extend((0..i % 10).map(|_| 9));
            key.push(0);
            key
        }
        _ => {
            let mut key = vec![b'x'; 8 + 9 * (i / 20)];
            key.extend([b'a' + (i % 20) as u8, 0, i as u8, 7, 7]);
            key
        }
    }
}

fn run(kind: usize, built: BTreeSet<(usize, u64)>, ops: Vec<Op>, caps: (usize, usize)) {
    let mut keys: Vec<Vec<u8>> = (0..60).map(|i| key(kind, i)).collect();
    keys.sort();
    let tree = Tree::with_caps((kind == 0).then_some(4), caps.0, caps.1);
    let mut parts: Vec<Entries> = (0..3).map(|_| Entries::new((kind == 0).then_some(4))).collect();
    for (n, (k, r)) in built.iter().enumerate() {
        parts[n % 3].push(&keys[*k], *r);
        parts[(n + n / 4) % 3].push(&keys[*k], *r);
    }
    parts.iter_mut().for_each(|p| p.sort_while(&|| Ok(())).expect("nobody stops it"));
    tree.fill(parts, &|| Ok(())).expect("nobody stops it");
    tree.check();
    let mut model = built;
    for op in ops {
        match op {
            Op::Insert(k, r) => assert_eq!(tree.insert(&keys[k], r), model.insert((k, r))),
            Op::Remove(k, r) => assert_eq!(tree.remove(&keys[k], r), model.remove(&(k, r))),
            Op::Sweep(insert, r) => {
                for (k, key) in keys.iter().enumerate() {
                    if insert {
                        assert_eq!(tree.insert(key, r), model.insert((k, r)));
                    } else {
                        assert_eq!(tree.remove(key, r), model.remove(&(k, r)));
                    }
                }
            }
            Op::Forward(a, b, n) => {
                let end = b.map(|b| &keys[b][..]);
                let mut out = Candidates::default();
                let mut wanted: Vec<(usize, u64)> =
                    model.iter().copied().filter(|e| *e >= (a, 1) && b.is_none_or(|b| e.0 < b)).collect();
                let more = tree.forward((&keys[a], 1), end, n, &mut out);
                assert_eq!(more, wanted.len() > n);
                wanted.truncate(n);
                same(&out, &wanted, &keys);
            }
            Op::Backward(b, a, n) => {
                let mut out = Candidates::default();
                let mut wanted: Vec<(usize, u64)> =
                    model.iter().rev().copied().filter(|e| b.is_none_or(|b| *e < (b, 2)) && e.0 >= a).collect();
                let more = tree.backward(b.map(|b| (&keys[b][..], 2)), &keys[a], n, &mut out);
                assert_eq!(more, wanted.len() > n);
                wanted.truncate(n);
                same(&out, &wanted, &keys);
            }
            Op::GetMany(wanted) => {
                let (mut out, mut ends) = (Candidates::default(), Vec::new());
                let most = if wanted.len().is_multiple_of(3) { 1 + wanted.len() / 3 } else { usize::MAX };
                tree.get_many(wanted.len(), |i| &keys[wanted[i]], most, &mut out, &mut ends);
                let expected: Vec<Vec<(usize, u64)>> =
                    wanted.iter().map(|k| model.iter().copied().filter(|e| e.0 == *k).take(most).collect()).collect();
                same(&out, &expected.concat(), &keys);
                let mut end = 0;
                for (e, found) in ends.iter().zip(&expected) {
                    end += found.len();
                    assert_eq!(*e as usize, end);
                }
            }
        }
    }
    tree.check();
    for (k, r) in &model {
        assert!(tree.contains(&keys[*k], *r));
    }
    for a in (0..60).step_by(7) {
        let exact = |b: usize| model.iter().filter(|e| e.0 >= a && e.0 < b).count() as u64;
        assert_eq!(tree.count(&keys[a], None), exact(usize::MAX));
        for b in (0..60).step_by(5) {
            assert_eq!(tree.count(&keys[a], Some(&keys[b])), exact(b), "from {a} to {b}");
        }
    }
    // Emptied, the tree gives all its nodes but a few back for reuse, and its key blocks too.
    for (k, r) in &model {
        assert!(tree.remove(&keys[*k], *r));
    }
    tree.check();
    assert_eq!(tree.len(), 0);
}

fn same(found: &Candidates, wanted: &[(usize, u64)], keys: &[Vec<u8>]) {
    let found: Vec<(&[u8], u64)> = (0..found.len()).map(|i| (found.key(i), found.row_ids()[i])).collect();
    let wanted: Vec<(&[u8], u64)> = wanted.iter().map(|(k, r)| (&keys[*k][..], *r)).collect();
    assert_eq!(found, wanted);
}

proptest! {
    #[test]
    fn a_tree_is_an_ordered_set(
        kind in 0usize..3,
        built in proptest::collection::btree_set((0usize..60, 0u64..4), 0..100),
        ops in proptest::collection::vec(op(), 0..if cfg!(miri) { 20 } else { 150 }),
        caps in proptest::sample::select(vec![(2usize, 3usize), (4, 3), (5, 4), (16, 8)]),
    ) {
        run(kind, built, ops, caps);
    }
}

#[test]
fn churn_does_not_grow_the_tree() {
    for width in [Some(8), None] {
        let tree = Tree::with_caps(width, 8, 4);
        let key = |i: u64| {
            let mut key = i.to_be_bytes().to_vec();
            if width.is_none() {
                key.extend([0; 20]);
            }
            key
        };
        let mut after_one_round = 0;
        for i in 0..20_000u64 {
            tree.insert(&key(i), i);
            if i >= 500 {
                assert!(tree.remove(&key(i - 500), i - 500));
            }
            if i == 2000 {
                after_one_round = tree.bytes_allocated();
            }
        }
        assert!(tree.bytes_allocated() <= after_one_round * 3 / 2, "{} {after_one_round}", tree.bytes_allocated());
        tree.check();
    }
}

#[test]
fn threads_change_and_read_one_tree() {
    const THREADS: u64 = 4;
    const KEYS: u64 = if cfg!(miri) { 40 } else { 3000 };
    for (width, rounds) in [(Some(8), 6), (None, 6)] {
        let tree = Tree::with_caps(width, 6, 4);
        let key = |i: u64| {
            let mut key = i.to_be_bytes().to_vec();
            if width.is_none() {
                key.extend(std::iter::repeat_n(3, (i % 4) as usize * 8));
                key.push(0);
            }
            key
        };
        // Keys that are never touched: whatever happens around them, they are found, in order.
        (0..KEYS).filter(|i| i % 10 == 9).for_each(|i| assert!(tree.insert(&key(i), 0)));
        std::thread::scope(|scope| {
            for t in 0..THREADS {
                let (tree, key) = (&tree, &key);
                scope.spawn(move || {
                    for round in 0..if cfg!(miri) { 1 } else { rounds } {
                        let mine = (0..KEYS).filter(|i| i % 10 != 9 && i % THREADS == t);
                        mine.clone().for_each(|i| assert!(tree.insert(&key(i), round)));
                        mine.for_each(|i| assert!(tree.remove(&key(i), round)));
                    }
                });
            }
            for reverse in [false, true] {
                let (tree, key) = (&tree, &key);
                scope.spawn(move || {
                    for _ in 0..if cfg!(miri) { 1 } else { 10 } {
                        let mut out = Candidates::default();
                        if reverse {
                            assert!(!tree.backward(None, &[], usize::MAX >> 1, &mut out));
                        } else {
                            assert!(!tree.forward((&[], 0), None, usize::MAX >> 1, &mut out));
                        }
                        let keys: Vec<&[u8]> = (0..out.len()).map(|i| out.key(i)).collect();
                        assert!(keys.is_sorted_by(|a, b| if reverse { a > b } else { a < b }));
                        for i in (0..KEYS).filter(|i| i % 10 == 9) {
                            let place = if reverse {
                                keys.binary_search_by(|k| key(i)[..].cmp(k))
                            } else {
                                keys.binary_search_by(|k| (*k).cmp(&key(i)[..]))
                            };
                            assert!(place.is_ok(), "key {i} was always there");
                        }
                        let wanted: Vec<Vec<u8>> = (0..KEYS).filter(|i| i % 10 == 9).map(key).collect();
                        let (mut out, mut ends) = (Candidates::default(), Vec::new());
                        tree.get_many(wanted.len(), |i| &wanted[i], usize::MAX, &mut out, &mut ends);
                        assert_eq!(out.len(), wanted.len());
                    }
                });
            }
        });
        tree.check();
    }
}
