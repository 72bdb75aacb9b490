//! One thread's aggregation of rows into groups.
//!
//! ```text
//!   narrow   one set of groups, found through the front or its table
//!      │ many groups
//!      ▼
//!   wide     one set a partition of the keys' hashes: no table or column is so large that growing it takes long, and
//!            merging, output and freeing go partition by partition
//!      │ memory refused (from narrow, too)
//!      ▼
//!   frozen   rows of known groups are aggregated, the others spilled by partition
//! ```

use super::accumulator::Rows;
use super::front::Front;
use super::groups::Groups;
use super::spec::Spec;
use crate::eval::{eval_all_within, parts_of};
use crate::group_table::NO_GROUP;
use crate::keys::{KeyEncoder, Keys};
use crate::memory::{MemoryAccountant, Reservation};
use crate::run::Run;
use crate::spill::{LazyFile, SpillRun, SpillWriter};
use std::sync::Arc;
use types::Result;
use vector::{BATCH_ROWS_MAX, Batch, Selection, Vector};

/// Sets and spilled rows are split this many ways a level.
pub const PARTITION_BITS: u32 = 4;
pub const PARTITIONS: usize = 1 << PARTITION_BITS;
/// Past this depth a partition is kept in memory whatever it takes.
const DEPTH_MAX: u32 = 12;
/// A set with this many groups is made wide; in debug builds soon, for the sake of the tests.
const WIDE_GROUPS_MIN: usize = if cfg!(debug_assertions) { 64 } else { 1 << 18 };

/// The partition of a key at a level: the next bits of its hash.
pub fn partition_of(hash: u64, depth: u32) -> usize {
    (hash >> (64 - PARTITION_BITS * (depth + 1))) as usize & (PARTITIONS - 1)
}

/// What all builders of an operator share.
#[derive(Clone, Copy)]
pub struct Inputs<'a> {
    pub spec: &'a Spec,
    pub run: Run<'a>,
    pub file: &'a LazyFile,
    /// The rows that are spilled count as a temporary table on disk.
    pub is_table: bool,
    /// What the states are charged to.
    pub memory: &'a Arc<MemoryAccountant>,
}

impl Inputs<'_> {
    pub fn reservation(&self) -> Reservation {
        Reservation::new(self.memory)
    }

    fn writers(&self) -> Result<Vec<SpillWriter>> {
        let file = self.file.open(self.run.ctx, self.is_table)?;
        Ok((0..PARTITIONS).map(|_| SpillWriter::new(file.clone(), &self.spec.row_types)).collect())
    }
}

/// What a builder made: its sets (one, or one a partition), and by partition the rows that did not fit.
pub struct Built {
    pub sets: Vec<Groups>,
    pub spilled: Vec<SpillRun>,
}

/// See the module head.
pub struct Builder<'a> {
    inputs: Inputs<'a>,
    depth: u32,
    sets: Vec<Groups>,
    memory: Reservation,
    encoder: KeyEncoder,
    front: Front,
    /// Frozen: one writer a partition; none as long as all rows are of known groups.
    spilling: Option<Vec<SpillWriter>>,
    // Scratch.
    keys: Keys,
    numbers: Vec<u32>,
    shares: Vec<PartRows>,
}

/// The rows of a batch that fall to one partition.
#[derive(Default)]
struct PartRows {
    /// Among the selected rows.
    ordinals: Vec<u32>,
    positions: Vec<u16>,
    keys: Keys,
}

impl<'a> Builder<'a> {
    pub fn new(inputs: Inputs<'a>, depth: u32) -> Result<Builder<'a>> {
        let memory = inputs.reservation();
        let groups = Groups::new(inputs.spec, &inputs.run, memory.fellow())?;
        Ok(Builder::around(inputs, depth, groups))
    }

    /// Goes on from `groups`.
    pub fn around(inputs: Inputs<'a>, depth: u32, mut groups: Groups) -> Builder<'a> {
        let memory = groups.memory.take();
        Builder {
            sets: vec![groups],
            memory,
            encoder: KeyEncoder::new(inputs.spec.layout.clone()),
            front: Front::new(),
            spilling: None,
            keys: Keys::default(),
            numbers: Vec::new(),
            shares: Vec::new(),
            inputs,
            depth,
        }
    }

    /// The one set of a builder that has not seen a row yet.
    pub fn only_set(&mut self) -> &mut Groups {
        assert_eq!(self.sets.len(), 1, "sets are merged before rows are added");
        &mut self.sets[0]
    }

    /// Charges what merging has made of the sets.
    pub fn charge(&mut self) {
        self.memory.force(self.sets.iter().map(Groups::bytes).sum());
    }

    /// Charges the sets, which have nothing left to spill: strings in their states are what they may still grow by.
    fn charge_states(&mut self) -> Result<()> {
        let bytes = self.sets.iter().map(Groups::bytes).sum();
        if bytes > self.memory.bytes() && self.sets[0].hold_strings() {
            return self.memory.hold_long(bytes, "The strings of groups");
        }
        self.memory.force(bytes);
        Ok(())
    }

    pub fn push_batch(&mut self, batch: &Batch) -> Result<()> {
        let Inputs { spec, run, .. } = self.inputs;
        let keys = eval_all_within(&spec.group_programs, batch, &run)?;
        let args = eval_all_within(&spec.arg_programs, batch, &run)?;
        let (Some(keys), Some(args)) = (keys, args) else {
            return parts_of(batch).try_for_each(|part| self.push_batch(&part));
        };
        self.push_vectors(&keys, &args, &batch.selection, batch.rows)
    }

    pub fn push_vectors(&mut self, keys: &[Vector], args: &[Vector], selection: &Selection, rows: usize) -> Result<()> {
        let Inputs { spec, run, .. } = self.inputs;
        if spec.key_count() == 0 {
            self.numbers.clear();
            self.numbers.resize(selection.count(rows), 0);
            let r = Rows { groups: &self.numbers, selection, rows, group_count: 1 };
            self.sets[0].update(spec, r, args, &run)?;
            return self.charge_states();
        }
        if self.sets.len() > 1 || self.spilling.is_some() {
            return self.push_parted(keys, args, selection, rows);
        }
        self.numbers.clear();
        if self.front.encode(keys, selection, rows) {
            self.through_front(keys, selection, rows)?;
        } else {
            self.encoder.encode(keys, selection, rows, &mut self.keys);
            self.sets[0].find_or_found(&run, &self.keys, keys, (selection, rows), &mut self.numbers)?;
        }
        let set = &mut self.sets[0];
        let r = Rows { groups: &self.numbers, selection, rows, group_count: set.count };
        set.update(spec, r, args, &run)?;
        self.reserve()
    }

    /// Charges what the next batch may need; freezes the sets if that is refused, and widens them if they are large.
    fn reserve(&mut self) -> Result<()> {
        let next: usize = self.sets.iter().map(|s| s.bytes_after(BATCH_ROWS_MAX / self.sets.len())).sum();
        if self.depth >= DEPTH_MAX {
            return self.charge_states();
        }
        if !self.memory.try_resize_sparing(next, self.depth + 1) {
            self.charge();
            self.spilling = Some(Vec::new());
        } else if self.sets.len() == 1 && self.sets[0].count >= WIDE_GROUPS_MIN {
            let depth = self.depth;
            let set = self.sets.pop().expect("one set");
            self.sets = set.split(self.inputs.spec, &self.inputs.run, PARTITIONS, |hash| partition_of(hash, depth))?;
            self.front = Front::new();
            self.charge();
        }
        Ok(())
    }

    fn through_front(&mut self, keys: &[Vector], selection: &Selection, rows: usize) -> Result<()> {
        let mut missing = false;
        let front = &self.front;
        self.numbers.extend(front.codes.iter().map(|&c| {
            let g = front.groups[c as usize];
            missing |= g == u32::MAX;
            g
        }));
        if !missing {
            return Ok(());
        }
        let positions = selection.to_positions(rows);
        let unknown: Vec<usize> = (0..positions.len()).filter(|&j| self.numbers[j] == u32::MAX).collect();
        let at = Selection::Some(unknown.iter().map(|&j| positions[j]).collect());
        self.encoder.encode(keys, &at, rows, &mut self.keys);
        let mut found = Vec::new();
        self.sets[0].find_or_found(&self.inputs.run, &self.keys, keys, (&at, rows), &mut found)?;
        for (&j, &g) in unknown.iter().zip(&found) {
            self.numbers[j] = g;
            self.front.groups[self.front.codes[j] as usize] = g;
        }
        Ok(())
    }

    /// Wide or frozen: the batch's rows go to their partitions' sets or writers.
    fn push_parted(&mut self, keys: &[Vector], args: &[Vector], selection: &Selection, rows: usize) -> Result<()> {
        let Inputs { spec, run, .. } = self.inputs;
        self.encoder.encode(keys, selection, rows, &mut self.keys);
        let mut shares = std::mem::take(&mut self.shares);
        share_out(&self.keys, selection, rows, self.depth, &mut shares);
        let spilled: Vec<Vector> = match self.spilling {
            Some(_) => keys.iter().chain(args).cloned().collect(),
            None => Vec::new(),
        };
        let wide = self.sets.len() > 1;
        for (p, share) in shares.iter_mut().enumerate().filter(|(_, s)| !s.positions.is_empty()) {
            let set = &mut self.sets[if wide { p } else { 0 }];
            let mut numbers = std::mem::take(&mut self.numbers);
            numbers.clear();
            let mut positions = std::mem::take(&mut share.positions);
            if let Some(writers) = &mut self.spilling {
                set.table.as_ref().expect("sets with keys").find(&share.keys, &mut numbers);
                let unknown: Vec<u16> =
                    positions.iter().zip(&numbers).filter(|(_, g)| **g == NO_GROUP).map(|(p, _)| *p).collect();
                if !unknown.is_empty() {
                    if writers.is_empty() {
                        *writers = self.inputs.writers()?;
                    }
                    writers[p].append(&spilled, &unknown, rows, run.ctx)?;
                    let mut known = numbers.iter().map(|g| *g != NO_GROUP);
                    positions.retain(|_| known.next().unwrap_or(false));
                    numbers.retain(|g| *g != NO_GROUP);
                }
            }
            let at = Selection::Some(positions);
            if self.spilling.is_none() {
                set.find_or_found(&run, &share.keys, keys, (&at, rows), &mut numbers)?;
            }
            if !numbers.is_empty() {
                let r = Rows { groups: &numbers, selection: &at, rows, group_count: set.count };
                set.update(spec, r, args, &run)?;
            }
            self.numbers = numbers;
            if let Selection::Some(positions) = at {
                share.positions = positions;
            }
        }
        self.shares = shares;
        if self.spilling.is_some() {
            return self.charge_states();
        }
        self.reserve()
    }

    pub fn finish(mut self) -> Result<Built> {
        let mut spilled = Vec::new();
        for w in self.spilling.take().into_iter().flatten() {
            spilled.push(w.finish(self.inputs.run.ctx)?);
        }
        self.charge_sets();
        Ok(Built { sets: std::mem::take(&mut self.sets), spilled })
    }

    /// Each set takes over its bytes.
    fn charge_sets(&mut self) {
        for s in &mut self.sets {
            s.memory = self.memory.split_off(s.bytes());
        }
    }
}

impl Drop for Builder<'_> {
    fn drop(&mut self) {
        self.charge_sets();
    }
}

/// Sorts a batch's selected rows, whose keys are `keys`, by their partitions.
fn share_out(keys: &Keys, selection: &Selection, rows: usize, depth: u32, shares: &mut Vec<PartRows>) {
    shares.resize_with(PARTITIONS, PartRows::default);
    for s in shares.iter_mut() {
        s.ordinals.clear();
        s.positions.clear();
    }
    for (j, &h) in keys.hashes.iter().enumerate() {
        shares[partition_of(h, depth)].ordinals.push(j as u32);
    }
    for s in shares {
        match selection {
            Selection::All => s.positions.extend(s.ordinals.iter().map(|&j| j as u16)),
            Selection::Some(at) => s.positions.extend(s.ordinals.iter().map(|&j| at[j as usize])),
        }
        keys.pick(&s.ordinals, &mut s.keys);
    }
    debug_assert!(selection.count(rows) == keys.hashes.len());
}
