//! Groups whose rows are neighbours: the input is in an order of the group keys.
//!
//! ```text
//!   batch    a a b b b c c        a and b are whole: they go out
//!                       └─┴─▶     c may go on in the next batch: its state is carried over
//! ```
//! A row belongs to the group before it if its key is the same; nothing is looked up, and nothing is kept but the
//! groups of one batch. Groups come in the order of the input, and whoever wants the first few stops what brings the
//! rows.

use super::accumulator::Rows;
use super::groups::Groups;
use super::spec::Spec;
use crate::eval::{eval_all_within, parts_of};
use crate::keys::{KeyEncoder, Keys, Words};
use crate::memory::Reservation;
use crate::pipeline::{Down, Flow, Push, Stage};
use crate::run::{Run, run_node};
use plan::physical::PlanNode;
use types::Result;
use vector::{BATCH_ROWS_MAX, Batch};

/// Shared state.
struct OrderedGroups<'a> {
    spec: &'a Spec,
    run: Run<'a>,
    node: u32,
}

struct OrderedLocal<'a> {
    stage: &'a OrderedGroups<'a>,
    encoder: KeyEncoder,
    /// Of the batch.
    keys: Keys,
    numbers: Vec<u32>,
    /// The group that may go on, if there is one, and its key.
    open: Groups,
    open_key: Keys,
    done: bool,
    next: Box<dyn Push + 'a>,
}

/// Runs the node, whose input brings each group's rows together, and pushes its rows down.
pub fn run_ordered<'a>(
    run: &Run<'a>,
    node: &'a PlanNode,
    input: &'a PlanNode,
    spec: &Spec,
    down: &Down<'_>,
) -> Result<()> {
    let stage = OrderedGroups { spec, run: *run, node: node.id };
    // More threads would bring the rows in another order.
    let inner = Run { dop: 1, ..*run };
    run_node(&inner, input, &Down::stage(node.id, &stage, down))
}

impl OrderedGroups<'_> {
    fn groups(&self) -> Result<Groups> {
        Groups::new(self.spec, &self.run, Reservation::new(&self.run.memory_of(self.node)))
    }
}

impl Stage for OrderedGroups<'_> {
    fn local<'b>(&'b self, next: Box<dyn Push + 'b>) -> Result<Box<dyn Push + 'b>> {
        Ok(Box::new(OrderedLocal {
            stage: self,
            encoder: KeyEncoder::new(self.spec.layout.clone()),
            keys: Keys::default(),
            numbers: Vec::new(),
            open: self.groups()?,
            open_key: Keys::default(),
            done: false,
            next,
        }))
    }
}

impl OrderedLocal<'_> {
    /// Hands the first `count` groups on; of all there are if one stays open, that one is carried over.
    fn emit(&mut self, count: usize) -> Result<Flow> {
        let OrderedGroups { spec, run, .. } = self.stage;
        let mut groups = std::mem::replace(&mut self.open, self.stage.groups()?);
        let keys = groups.take_key_columns(spec);
        if count < groups.count {
            self.open.take_one(&groups, &keys, count)?;
            self.open.memory.force(self.open.bytes());
        }
        let ctx = run.eval();
        for from in (0..count).step_by(BATCH_ROWS_MAX) {
            let out = groups.batch(&keys, from, (from + BATCH_ROWS_MAX).min(count), &ctx)?;
            if self.next.push(out)? == Flow::Done {
                self.done = true;
                return Ok(Flow::Done);
            }
        }
        Ok(Flow::More)
    }
}

impl Push for OrderedLocal<'_> {
    fn push(&mut self, batch: Batch) -> Result<Flow> {
        let (spec, run) = (self.stage.spec, &self.stage.run);
        if self.done {
            return Ok(Flow::Done);
        }
        run.ctx.check_killed()?;
        let count = batch.count();
        if count == 0 {
            return Ok(Flow::More);
        }
        let keys = eval_all_within(&spec.group_programs, &batch, run)?;
        let args = eval_all_within(&spec.arg_programs, &batch, run)?;
        let (Some(keys), Some(args)) = (keys, args) else {
            for part in parts_of(&batch) {
                if self.push(part)? == Flow::Done {
                    return Ok(Flow::Done);
                }
            }
            return Ok(Flow::More);
        };
        let (selection, rows) = (&batch.selection, batch.rows);
        self.encoder.encode(&keys, selection, rows, &mut self.keys);
        let open = (self.open.count > 0).then_some(&self.open_key);
        let firsts = number(&self.keys, open, &mut self.numbers);
        self.open.found(&keys, &selection.numbered(&firsts), rows);
        let group_count = self.open.count;
        let r = Rows { groups: &self.numbers, selection, rows, group_count };
        self.open.update(spec, r, &args, run)?;
        self.open.memory.force(self.open.bytes());
        self.keys.pick(&[count as u32 - 1], &mut self.open_key);
        if group_count == 1 { Ok(Flow::More) } else { self.emit(group_count - 1) }
    }

    fn finish(&mut self) -> Result<()> {
        if !self.done && self.open.count > 0 {
            self.emit(self.open.count)?;
        }
        self.next.finish()
    }
}

/// The group of each row, into `numbers`, from 0 on: the open one if there is one. Answers which rows are the first of
/// a new group.
pub(super) fn number(keys: &Keys, open: Option<&Keys>, numbers: &mut Vec<u32>) -> Vec<u32> {
    let n = keys.hashes.len();
    let open_words = open.map(|k| &k.words);
    match (&keys.words, open_words) {
        (Words::U64(k), Some(Words::U64(o))) => number_runs(n, true, |j| k[j] != k[j - 1], k[0] != o[0], numbers),
        (Words::U64(k), _) => number_runs(n, false, |j| k[j] != k[j - 1], true, numbers),
        (Words::U128(k), Some(Words::U128(o))) => number_runs(n, true, |j| k[j] != k[j - 1], k[0] != o[0], numbers),
        (Words::U128(k), _) => number_runs(n, false, |j| k[j] != k[j - 1], true, numbers),
        (words @ Words::Bytes { .. }, open) => {
            let first_is_new = open.is_none_or(|o| words.bytes(0) != o.bytes(0));
            number_runs(n, open.is_some(), |j| words.bytes(j) != words.bytes(j - 1), first_is_new, numbers)
        }
    }
}

#[inline]
fn number_runs(
    n: usize,
    is_open: bool,
    is_new: impl Fn(usize) -> bool,
    first_is_new: bool,
    numbers: &mut Vec<u32>,
) -> Vec<u32> {
    numbers.clear();
    let mut firsts = Vec::new();
    let mut count = is_open as u32;
    for j in 0..n {
        let begins = if j == 0 { first_is_new } else { is_new(j) };
        if begins {
            firsts.push(j as u32);
            count += 1;
        }
        numbers.push(count - 1);
    }
    firsts
}
