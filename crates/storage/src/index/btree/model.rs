//! The protocol of the tree's nodes under a scheduler that tries interleavings at every atomic:
//! `cargo test -p nextleaf-storage --features shuttle --lib btree`.

use super::*;
use crate::index::cursor::Candidates;
use shuttle::thread;
use std::sync::Arc;

const SCHEDULES: usize = 3_000;

fn key(long: bool, i: u64) -> Vec<u8> {
    let mut key = i.to_be_bytes().to_vec();
    if long {
        key.extend([7; 12]);
    }
    key
}

fn start(long: bool, keys: impl Iterator<Item = u64>) -> Arc<Tree> {
    let tree = Tree::with_caps((!long).then_some(8), 2, 3);
    keys.for_each(|i| assert!(tree.insert(&key(long, i), 0)));
    Arc::new(tree)
}

fn walk(tree: &Tree, reverse: bool) -> Vec<u64> {
    let mut out = Candidates::default();
    let mut last: Option<(Vec<u8>, u64)> = None;
    loop {
        let more = match (&last, reverse) {
            (None, true) => tree.backward(None, &[], 2, &mut out),
            (Some((key, row)), true) => tree.backward(Some((key, *row)), &[], 2, &mut out),
            (None, false) => tree.forward((&[], 0), None, 2, &mut out),
            (Some((key, row)), false) => tree.forward((key, row + 1), None, 2, &mut out),
        };
        if !more {
            break;
        }
        last = out.last().map(|(key, row)| (key.to_vec(), row));
    }
    let number = |i: usize| u64::from_be_bytes(out.key(i)[..8].try_into().expect("eight bytes"));
    let mut keys: Vec<u64> = (0..out.len()).map(number).collect();
    if reverse {
        keys.reverse();
    }
    keys
}

/// While keys around them come and go, and nodes split and merge, keys that stay are found: by a walk in either
/// direction, and alone.
#[test]
fn keys_that_stay_are_found() {
    for long in [false, true] {
        shuttle::check_random(
            move || {
                let tree = start(long, (0..10).map(|i| i * 10));
                let changer = |step: u64, remove: std::ops::Range<u64>| {
                    let tree = tree.clone();
                    thread::spawn(move || {
                        for i in 0..3 {
                            assert!(tree.insert(&key(long, step + i), 1));
                        }
                        for i in remove {
                            assert!(tree.remove(&key(long, i * 10), 0));
                        }
                    })
                };
                let threads = [changer(41, 1..4), changer(45, 6..9)];
                for reverse in [false, true] {
                    let keys = walk(&tree, reverse);
                    assert!(keys.is_sorted_by(|a, b| a < b), "{keys:?}");
                    for stays in [0, 40, 50, 90] {
                        assert!(keys.contains(&stays), "{stays} in {keys:?}");
                    }
                }
                let wanted = [key(long, 40), key(long, 90)];
                let (mut out, mut ends) = (Candidates::default(), Vec::new());
                tree.get_many(2, |i| &wanted[i], usize::MAX, &mut out, &mut ends);
                assert_eq!(ends, [1, 2]);
                threads.into_iter().for_each(|t| t.join().expect("no panic"));
                tree.check();
                assert_eq!(walk(&tree, false), [0, 40, 41, 42, 43, 45, 46, 47, 50, 90]);
            },
            SCHEDULES,
        );
    }
}

/// Of two who insert, or remove, the same entry, one does.
#[test]
fn each_change_happens_once() {
    shuttle::check_random(
        || {
            let tree = start(false, 0..5);
            let change = || {
                let tree = tree.clone();
                thread::spawn(move || (tree.insert(&key(false, 7), 3), tree.remove(&key(false, 2), 0)))
            };
            let (a, b) = (change(), change());
            let (a, b) = (a.join().expect("no panic"), b.join().expect("no panic"));
            assert!(a.0 != b.0 && a.1 != b.1);
            tree.check();
            assert_eq!(walk(&tree, true), [0, 1, 3, 4, 7]);
        },
        SCHEDULES,
    );
}
