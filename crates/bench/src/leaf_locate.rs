//! `bench leaf-locate`: from a row's position to its leaf.
//!
//! Three ways to the leaf of a position:
//! ```text
//!   division    a tree of 128-way nodes that know the rows below each child; leaves hold any number of rows, so each
//!               level divides by that number (what main-memory heaps with records of any size do)
//!   shift       leaves hold 2^k rows: a directory of 128-way nodes, walked by shifts of the position
//!   next leaf   a scan does not ask the directory: the next leaf is the next slot of the bottom node
//! ```
//! and two ways through them: in order, with every node in the cache, and in a scattered order over as many leaves as
//! asked for, where the bottom node and the leaf's slot miss. Division and shift walk the same nodes, so that the
//! difference is the arithmetic alone. The last lines are the table's own: its scan, leaf by leaf.

use crate::filter::{fill, scatter};
use crate::local::Local;
use crate::machine::{Hash, repeat};
use crate::{Failure, table};
use std::hint::black_box;

#[derive(clap::Args, Debug, Clone)]
pub struct LeafLocateArgs {
    /// Numbers of leaves
    #[arg(long, value_delimiter = ',', default_values_t = [50_000, 100_000, 200_000, 300_000])]
    pub leaves: Vec<u64>,
    /// Runs of each; the best counts
    #[arg(long, default_value_t = 7)]
    pub runs: usize,
}

const FANOUT: u64 = 128;
const LEVELS: usize = 3;

/// Rows of a leaf where they are a power of two, and where they are what 32 KiB hold of 44-byte records.
const ROW_BITS: u32 = 10;
const ROWS_ODD: u64 = 744;

/// A leaf's slot, as wide as one of the table's.
#[repr(align(64))]
struct Slot {
    leaf: u64,
}

enum Node {
    Inner(Vec<Node>),
    Bottom(Vec<Slot>),
}

/// A directory of three levels.
struct Directory {
    root: Node,
    leaves: u64,
    /// Rows below a child of a node at each level from the top, for leaves of [`ROWS_ODD`] rows. Read from memory, as
    /// the divisor of a real tree is: a compiler that knew it would multiply instead.
    rows_below: [u64; LEVELS],
}

fn node(level: usize, first: u64, leaves: u64) -> Node {
    let below = FANOUT.pow((LEVELS - 1 - level) as u32);
    let children = (0..FANOUT).map(|i| first + i * below).take_while(|n| *n < leaves);
    match level {
        l if l == LEVELS - 1 => Node::Bottom(children.map(|n| Slot { leaf: scatter(n) }).collect()),
        _ => Node::Inner(children.map(|n| node(level + 1, n, leaves)).collect()),
    }
}

impl Directory {
    fn new(leaves: u64) -> Directory {
        let rows_below = std::array::from_fn(|l| ROWS_ODD * FANOUT.pow((LEVELS - 1 - l) as u32));
        Directory { root: node(0, 0, leaves), leaves, rows_below: black_box(rows_below) }
    }

    #[inline(always)]
    fn walk(&self, mut digit: impl FnMut(usize) -> usize) -> u64 {
        let mut at = &self.root;
        for level in 0..LEVELS {
            match at {
                Node::Inner(children) => at = &children[digit(level)],
                Node::Bottom(slots) => return slots[digit(level)].leaf,
            }
        }
        unreachable!("the bottom is at the last level")
    }

    #[inline(never)]
    fn by_division(&self, position: u64) -> u64 {
        let mut rest = position;
        self.walk(|level| {
            let below = self.rows_below[level];
            let digit = rest / below;
            rest -= digit * below;
            digit as usize
        })
    }

    #[inline(never)]
    fn by_shift(&self, position: u64) -> u64 {
        let leaf = position >> ROW_BITS;
        self.walk(|level| (leaf >> (7 * (LEVELS - 1 - level))) as usize & (FANOUT as usize - 1))
    }

    /// All leaves, without the directory but at the end of each bottom node.
    #[inline(never)]
    fn in_order(&self) -> u64 {
        fn visit(node: &Node, sum: &mut u64) {
            match node {
                Node::Inner(children) => children.iter().for_each(|c| visit(c, sum)),
                Node::Bottom(slots) => slots.iter().for_each(|s| *sum = sum.wrapping_add(black_box(s).leaf)),
            }
        }
        let mut sum = 0;
        visit(&self.root, &mut sum);
        sum
    }
}

/// Runs the experiment; the hash of its answers.
pub fn run(args: &LeafLocateArgs) -> Result<u64, Failure> {
    let mut rows = Vec::new();
    let mut hash = Hash::default();
    for &leaves in &args.leaves {
        let leaves = leaves.clamp(1, FANOUT.pow(LEVELS as u32));
        let directory = Directory::new(leaves);
        // As many visits as leaves: to the first 64 of them over and over (all nodes cached), or to all of them
        // scattered.
        let cached: Vec<u64> = (0..leaves).map(|i| i % 64.min(leaves)).collect();
        let mut scattered: Vec<u64> = (0..leaves).collect();
        scattered.sort_by_key(|&n| scatter(n));
        let expected = (0..leaves).fold(0u64, |s, n| s.wrapping_add(scatter(n)));
        for (order, visits) in [("cached", &cached), ("a miss per visit", &scattered)] {
            // A position in the middle of each leaf.
            let odd: Vec<u64> = visits.iter().map(|n| n * ROWS_ODD + ROWS_ODD / 2).collect();
            let even: Vec<u64> = visits.iter().map(|n| (n << ROW_BITS) + 300).collect();
            let (a, division) =
                repeat(args.runs, || odd.iter().fold(0u64, |s, &p| s.wrapping_add(directory.by_division(p))));
            let (b, shift) =
                repeat(args.runs, || even.iter().fold(0u64, |s, &p| s.wrapping_add(directory.by_shift(p))));
            if a != b || (order != "cached" && a != expected) {
                return Err(format!("{leaves} leaves: division and shift went to different leaves").into());
            }
            hash.add_u64(a);
            let (d, s) = (division.best_ns_per(leaves), shift.best_ns_per(leaves));
            let gain = format!("{:+.0} %", (d / s - 1.0) * 100.0);
            rows.push(vec![
                leaves.to_string(),
                order.into(),
                format!("{d:.2}"),
                format!("{s:.2}"),
                gain,
                String::new(),
            ]);
        }
        let (c, next) = repeat(args.runs, || directory.in_order());
        if c != expected {
            return Err(format!("{} leaves: walking in order missed some", directory.leaves).into());
        }
        rows.push(vec![
            leaves.to_string(),
            "in order".into(),
            String::new(),
            String::new(),
            String::new(),
            format!("{:.2}", next.best_ns_per(leaves)),
        ]);
    }
    let head = ["leaves", "nodes", "division ns", "shift ns", "shift gains", "next leaf ns"];
    print!("{}", table::render(&head, &rows));

    let leaves = args.leaves.iter().copied().max().unwrap_or(1).min(20_000);
    let mut local = Local::open(1)?;
    local.run("CREATE TABLE t (a INT NOT NULL)")?;
    let leaf_rows = local.table("t").leaf_rows() as u64;
    fill(&local, "t", leaves * leaf_rows, |row, _| row as i64)?;
    let t = local.table("t");
    let snapshot = local.db().store().txns().snapshot();
    let (seen, scan) = repeat(args.runs, || {
        (0..t.leaf_count()).filter_map(|n| t.scan_leaf(n, &[0], &snapshot)).map(|v| v.rows as u64).sum::<u64>()
    });
    hash.add_u64(seen);
    println!(
        "the table's scan: {:.1} ns a leaf (latch, column, visibility), {:.3} ns a row, over {leaves} leaves of {leaf_rows} rows",
        scan.best_ns_per(leaves),
        scan.best_ns_per(seen)
    );
    println!("answers: {hash}");
    Ok(hash.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small() {
        run(&LeafLocateArgs { leaves: vec![1, 200, 20_000], runs: 1 }).expect("all ways lead to the same leaf");
    }

    #[test]
    fn positions_find_their_leaf() {
        let d = Directory::new(17_000);
        for n in [0, 1, 127, 128, 129, 16_383, 16_384, 16_999] {
            assert_eq!(d.by_shift((n << ROW_BITS) + 1023), scatter(n));
            assert_eq!(d.by_shift(n << ROW_BITS), scatter(n));
            assert_eq!(d.by_division(n * ROWS_ODD), scatter(n));
            assert_eq!(d.by_division(n * ROWS_ODD + ROWS_ODD - 1), scatter(n));
        }
    }
}
