//! A set of groups: the table that numbers them, their key columns, and one state a group for each call.

use super::accumulator::{Accumulator, Rows};
use super::spec::Spec;
use crate::columns::{ColumnAppender, gather32, slice};
use crate::group_table::{GroupList, GroupTable};
use crate::keys::Keys;
use crate::memory::Reservation;
use crate::run::Run;
use expr::EvalContext;
use types::Result;
use vector::{BATCH_ROWS_MAX, Batch, Chunk, Selection, Vector};

/// Groups merged between two looks at the kill flag.
const MERGE_GROUPS_MAX: usize = 8192;

/// See the module head.
pub struct Groups {
    /// `None`: without GROUP BY all rows are one group.
    pub table: Option<GroupTable>,
    columns: Vec<ColumnAppender>,
    pub accumulators: Vec<Accumulator>,
    pub count: usize,
    /// Set when the groups are handed on; while they grow, their builder holds the bytes.
    pub memory: Reservation,
}

impl Drop for Groups {
    fn drop(&mut self) {
        let (table, columns) = (self.table.take(), std::mem::take(&mut self.columns));
        self.memory.free((table, columns, std::mem::take(&mut self.accumulators)));
    }
}

/// Part of a set, to be taken into another.
pub struct Share<'a> {
    pub from: &'a Groups,
    pub columns: &'a [Chunk],
    pub list: &'a GroupList,
}

impl Groups {
    pub fn new(spec: &Spec, run: &Run<'_>, memory: Reservation) -> Result<Groups> {
        let ctx = run.eval();
        let accumulators = spec.calls.iter().map(|c| Accumulator::new(c, &ctx)).collect::<Result<_>>()?;
        let has_groups = spec.key_count() > 0;
        let mut g = Groups {
            table: has_groups.then(|| GroupTable::new(spec.layout.form)),
            columns: (0..spec.key_count()).map(|_| ColumnAppender::default()).collect(),
            accumulators,
            count: 0,
            memory,
        };
        g.resize(if has_groups { 0 } else { 1 });
        Ok(g)
    }

    fn resize(&mut self, count: usize) {
        self.count = count;
        self.accumulators.iter_mut().for_each(|a| a.resize(count));
    }

    pub fn bytes(&self) -> usize {
        self.table.as_ref().map_or(0, GroupTable::bytes)
            + self.columns.iter().map(ColumnAppender::bytes).sum::<usize>()
            + self.accumulators.iter().map(Accumulator::bytes).sum::<usize>()
    }

    /// What `bytes` may become with `rows` more groups in the table.
    pub fn bytes_after(&self, rows: usize) -> usize {
        self.bytes() + self.table.as_ref().map_or(0, |t| t.bytes_after(rows) - t.bytes())
    }

    /// The group of each key of the rows `positions`, which are founded where they are new.
    pub fn find_or_found(
        &mut self,
        run: &Run<'_>,
        keys: &Keys,
        columns: &[Vector],
        (positions, rows): (&Selection, usize),
        numbers: &mut Vec<u32>,
    ) -> Result<()> {
        let table = self.table.as_mut().expect("looked up in a set with keys");
        if !table.reserve(keys.hashes.len(), run.ctx.killed) {
            run.ctx.check_killed()?;
        }
        let mut new = Vec::new();
        table.find_or_insert(keys, numbers, &mut new);
        if new.is_empty() {
            return Ok(());
        }
        self.found(columns, &positions.numbered(&new), rows);
        Ok(())
    }

    /// Adds a group for each of the rows `first`, of `rows`. The table, if it is used, knows them.
    pub fn found(&mut self, columns: &[Vector], first: &Selection, rows: usize) {
        for (c, v) in self.columns.iter_mut().zip(columns) {
            c.append(v, first, rows);
        }
        self.resize(self.count + first.count(rows));
    }

    /// An empty set without a table takes in one group of another, whose key columns are `columns`.
    pub fn take_one(&mut self, from: &Groups, columns: &[Chunk], group: usize) -> Result<()> {
        let group = [group as u32];
        for (c, from) in self.columns.iter_mut().zip(columns) {
            c.append_chunk(&gather32(from, &group), None);
        }
        self.resize(1);
        for (a, b) in self.accumulators.iter_mut().zip(&from.accumulators) {
            a.merge(b, &group, &[0])?;
        }
        Ok(())
    }

    /// The groups `from..to` as rows: `keys`, which were taken from the set, and each call's result.
    pub fn batch(&mut self, keys: &[Chunk], from: usize, to: usize, ctx: &EvalContext<'_>) -> Result<Batch> {
        let mut out: Vec<Vector> = keys.iter().map(|c| Vector::flat(slice(c, from, to))).collect();
        for a in &mut self.accumulators {
            out.push(Vector::flat(a.finish(from, to, ctx)?));
        }
        Ok(Batch::new(to - from, out))
    }

    /// Whether the groups' states may grow while no group is added.
    pub fn hold_strings(&self) -> bool {
        self.accumulators.iter().any(Accumulator::holds_strings)
    }

    /// Up to which group results are handed out together from `from` on: so many that their strings have about `max`
    /// bytes.
    pub fn batch_end(&self, from: usize, max: usize) -> usize {
        let to = (from + BATCH_ROWS_MAX).min(self.count);
        if !self.hold_strings() {
            return to;
        }
        let mut bytes = 0;
        let fits = |&g: &usize| {
            bytes += self.accumulators.iter().map(|a| a.result_bytes(g)).sum::<usize>();
            bytes <= max
        };
        (from + (from..to).take_while(fits).count()).max(from + 1)
    }

    pub fn update(&mut self, spec: &Spec, rows: Rows<'_>, args: &[Vector], run: &Run<'_>) -> Result<()> {
        let ctx = run.eval();
        for (a, positions) in self.accumulators.iter_mut().zip(&spec.call_args) {
            let call_args: Vec<Vector> = positions.iter().map(|&p| args[p].clone()).collect();
            a.update(rows, &call_args, &ctx)?;
        }
        Ok(())
    }

    /// The key columns, which the set then lacks.
    pub fn take_key_columns(&mut self, spec: &Spec) -> Vec<Chunk> {
        self.columns.drain(..).zip(&spec.row_types).map(|(c, ty)| c.finish(ty)).collect()
    }

    /// Takes some groups of another set in.
    pub fn merge_share(&mut self, run: &Run<'_>, share: Share<'_>) -> Result<()> {
        let list = share.list;
        let mut dst = Vec::with_capacity(list.groups.len());
        match &mut self.table {
            None => dst.push(0),
            Some(t) => {
                if !t.reserve(list.groups.len(), run.ctx.killed) {
                    run.ctx.check_killed()?;
                }
                let mut new = Vec::new();
                t.find_or_insert(&list.keys, &mut dst, &mut new);
                let source: Vec<u32> = new.iter().map(|&j| list.groups[j as usize]).collect();
                for (c, from) in self.columns.iter_mut().zip(share.columns) {
                    c.append_chunk(&gather32(from, &source), None);
                }
                self.resize(self.count + new.len());
            }
        }
        for (a, b) in self.accumulators.iter_mut().zip(&share.from.accumulators) {
            a.merge(b, &list.groups, &dst)?;
        }
        Ok(())
    }

    /// Takes all groups of another set in.
    pub fn merge(&mut self, spec: &Spec, run: &Run<'_>, mut other: Groups) -> Result<()> {
        let columns = other.take_key_columns(spec);
        let from = &other;
        let Some(table) = &other.table else {
            let list = GroupList { groups: vec![0], keys: Keys::default() };
            return self.merge_share(run, Share { from, columns: &columns, list: &list });
        };
        table.lists(
            1,
            |_| 0,
            MERGE_GROUPS_MAX,
            |_, list| {
                run.ctx.check_killed()?;
                self.merge_share(run, Share { from, columns: &columns, list })
            },
        )
    }

    /// The groups as `parts` sets, by `part_of` their keys' hashes.
    pub fn split(
        mut self,
        spec: &Spec,
        run: &Run<'_>,
        parts: usize,
        part_of: impl Fn(u64) -> usize,
    ) -> Result<Vec<Groups>> {
        let fellow = self.memory.fellow();
        let empty = || Groups::new(spec, run, fellow.fellow());
        let mut sets: Vec<Groups> = (0..parts).map(|_| empty()).collect::<Result<_>>()?;
        let columns = self.take_key_columns(spec);
        let from = &self;
        let table = from.table.as_ref().expect("only sets with keys are split");
        table.lists(parts, part_of, MERGE_GROUPS_MAX, |p, list| {
            run.ctx.check_killed()?;
            sets[p].merge_share(run, Share { from, columns: &columns, list })
        })?;
        Ok(sets)
    }
}
