//! Many lookups at once.
//!
//! A lookup in a large tree waits for memory, a few hundred nanoseconds at each of the lower levels. Sixteen that go
//! down together wait together: each takes one step, asks for the memory of its next node, and lets the others step.

use super::Tree;
use super::keys::Target;
use super::node::Node;
use crate::index::cursor::Candidates;

const LANES: usize = 16;

/// One lookup on its way down.
struct Lane<'t> {
    node: Node<'t>,
    version: u64,
    /// The parent, with its version: the node's version is yet to be taken.
    above: Option<(Node<'t>, u64)>,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Down,
    AtLeaf,
    /// Somebody changed a node on the way: this one is looked up alone.
    Disturbed,
}

impl Tree {
    /// Appends the entries whose keys start with key `i` for each `i` below `n`, in order of `i`, the first `most` of
    /// each; appends to `ends` where the entries of each end in `out`.
    pub fn get_many<'k>(
        &self,
        n: usize,
        key: impl Fn(usize) -> &'k [u8],
        most: usize,
        out: &mut Candidates,
        ends: &mut Vec<u32>,
    ) {
        let mut lanes: Vec<Lane<'_>> = Vec::with_capacity(LANES);
        let mut targets: Vec<Target<'k>> = Vec::with_capacity(LANES);
        for first in (0..n).step_by(LANES) {
            targets.clear();
            targets.extend((first..n.min(first + LANES)).map(|i| Target::new(key(i), 0)));
            lanes.clear();
            let root = self.root();
            let version = root.begin();
            lanes.extend(targets.iter().map(|_| Lane { node: root, version, above: None, state: State::Down }));
            let mut on_the_way = true;
            while on_the_way {
                on_the_way = false;
                for (lane, target) in lanes.iter_mut().zip(&targets) {
                    if lane.state == State::Down {
                        self.step(lane, target);
                        on_the_way |= lane.state == State::Down;
                    }
                }
            }
            for (lane, target) in lanes.iter().zip(&targets) {
                if lane.state != State::AtLeaf || !self.take(lane, target, most, out) {
                    self.take_alone(target.key(), most, out);
                }
                ends.push(out.len() as u32);
            }
        }
    }

    /// Appends the entries whose keys start with `key`.
    pub fn get(&self, key: &[u8], out: &mut Candidates) {
        let target = Target::new(key, 0);
        let root = self.root();
        let mut lane = Lane { node: root, version: root.begin(), above: None, state: State::Down };
        while lane.state == State::Down {
            self.step(&mut lane, &target);
        }
        if lane.state != State::AtLeaf || !self.take(&lane, &target, usize::MAX, out) {
            self.take_alone(key, usize::MAX, out);
        }
    }

    #[inline]
    fn step<'t>(&'t self, lane: &mut Lane<'t>, target: &Target<'_>) {
        if let Some((parent, parent_version)) = lane.above {
            lane.version = lane.node.begin();
            if !parent.check(parent_version) {
                lane.state = State::Disturbed;
                return;
            }
        }
        let (count, level) = lane.node.meta();
        let shape = self.shape(level);
        if count > shape.cap {
            lane.state = State::Disturbed;
            return;
        }
        if level == 0 {
            lane.state = State::AtLeaf;
            return;
        }
        let i = self.rank(&lane.node, shape, count, target, true);
        let child = lane.node.child(shape, i);
        match self.node(child).filter(|_| lane.node.check(lane.version)) {
            Some(child) => {
                child.ask_for();
                lane.above = Some((lane.node, lane.version));
                lane.node = child;
            }
            None => lane.state = State::Disturbed,
        }
    }

    /// Takes the target's entries out of its leaf, `most` at most. False: they may go on in the next, or the leaf has
    /// changed.
    #[inline]
    fn take(&self, lane: &Lane<'_>, target: &Target<'_>, most: usize, out: &mut Candidates) -> bool {
        let mark = out.mark();
        let (count, _) = lane.node.meta();
        if count > self.leaf.cap {
            return false;
        }
        let first = self.rank(&lane.node, &self.leaf, count, target, false);
        for i in first..count {
            let before = out.mark();
            if before.0 - mark.0 == most {
                if lane.node.check(lane.version) {
                    return true;
                }
                break;
            }
            self.push(&lane.node, &self.leaf, i, out);
            if !out.key(out.len() - 1).starts_with(target.key()) {
                out.back_to(before);
                if lane.node.check(lane.version) {
                    return true;
                }
                break;
            }
        }
        out.back_to(mark);
        false
    }

    fn take_alone(&self, key: &[u8], most: usize, out: &mut Candidates) {
        let end = crate::index::cursor::successor(key);
        self.forward((key, 0), end.as_deref(), most.min(usize::MAX >> 1), out);
    }
}
