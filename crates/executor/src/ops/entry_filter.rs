//! Index condition pushdown: conditions that an index's entries answer by themselves, tested before any row is read.
//!
//! ```text
//!   index (a, b, c)   a > 5 AND b = 3 AND c % 2 = 0
//!                     range   bytes   read back from the entry
//! ```
//! A condition on one part becomes ranges of that part's bytes: strings too, by their collation's weights. Other
//! conditions on numbers, dates and times are evaluated over columns read back from the keys.
//!
//! An entry that fails by its bytes tells the next key that could pass: `(6, 9)` fails `b = 3`, and so does everything
//! below `(7, 3)`. A walk whose last entries all failed goes on there, and so narrows the search itself. With nothing
//! known of `a` the same walk is a skip scan: one jump a value of `a`.

use crate::context::{Candidates, IndexEncoder, TableReader};
use crate::eval::{Filter, Program};
use crate::run::Run;
use catalog::{IndexDef, KeyBounds, TableDef};
use plan::access::{EntryUse, IndexRange, PartTest, resolve};
use std::sync::atomic::Ordering::Relaxed;
use storage::{PartBounds, PartPlace};
use types::{Error, Result, Value};
use vector::{Batch, Vector};

/// So many entries at the end of a batch must have failed for a jump to be worth its descent.
const JUMP_MIN: usize = 8;

/// Tests of a plan's entries, ready to run.
pub struct EntryFilter {
    keys: IndexEncoder,
    /// By part.
    tests: Vec<(usize, PartBounds)>,
    decoded: Vec<usize>,
    conditions: Option<Filter>,
    /// No entry can pass.
    nothing: bool,
}

/// Where a walk should go on.
#[derive(Debug, PartialEq, Eq)]
pub enum Jump {
    /// At the next entry.
    No,
    /// At the first entry not below this key; backwards, at the last one below.
    To(Vec<u8>),
    /// Nowhere: nothing more can pass.
    End,
}

/// What became of a batch of entries.
pub struct Tested {
    pub jump: Jump,
    /// Entries at its end that failed by their bytes.
    pub failed: usize,
}

impl EntryFilter {
    /// `None`: the plan tests nothing of entries.
    pub fn new(
        run: &Run<'_>,
        reader: &dyn TableReader,
        table: &TableDef,
        index: usize,
        entries: &EntryUse,
    ) -> Result<Option<EntryFilter>> {
        if entries.tests.is_empty() && entries.conditions.is_empty() {
            return Ok(None);
        }
        let keys = reader.index_keys(index).ok_or_else(|| Error::internal("tests of an index without order"))?;
        let mut tests = Vec::with_capacity(entries.tests.len());
        for t in &entries.tests {
            let of_part = PartTest::index_of_part(&table.indexes[index], t.part);
            tests.push((t.part, keys.part_bounds(t.part, &bounds(run, table, &of_part, &t.ranges)?)));
        }
        tests.sort_by_key(|t| t.0);
        let conditions = match entries.conditions.as_slice() {
            [] => None,
            some => Some(Filter::new(some, &run.eval())?),
        };
        let nothing = tests.iter().any(|t| t.1.is_empty());
        Ok(Some(EntryFilter { keys, tests, decoded: entries.decoded.clone(), conditions, nothing }))
    }

    /// Whether no entry at all passes.
    pub fn passes_nothing(&self) -> bool {
        self.nothing
    }

    /// Keeps the candidates that pass, and says where their walk should go on.
    pub fn apply(&self, run: &Run<'_>, candidates: &mut Candidates, reverse: bool) -> Result<Tested> {
        self.run(run, candidates, reverse, &mut |_| {})
    }

    /// `passed` gets the positions of those that pass, in order.
    fn run(
        &self,
        run: &Run<'_>,
        candidates: &mut Candidates,
        reverse: bool,
        passed: &mut dyn FnMut(usize),
    ) -> Result<Tested> {
        let n = candidates.len();
        run.ctx.counters.handler_icp_attempts.fetch_add(n as u64, Relaxed);
        // Entries at the end that failed by their bytes.
        let mut failed = 0;
        let mut jump = Jump::No;
        // Where those that pass the first tests were.
        let mut places: Vec<u16> = Vec::with_capacity(n);
        if self.tests.is_empty() {
            places.extend(0..n as u16);
        } else {
            let (keys, tests) = (&self.keys, &self.tests[..]);
            candidates.keep(|i, key| match first_failure(keys, tests, key) {
                None => {
                    failed = 0;
                    places.push(i as u16);
                    true
                }
                Some(at) => {
                    failed += 1;
                    if i + 1 == n && failed >= JUMP_MIN.min(n) {
                        jump = at.jump(key, reverse);
                    }
                    false
                }
            });
        }
        if let Some(filter) = &self.conditions
            && !candidates.is_empty()
        {
            let mut batch = self.columns(&self.decoded, candidates);
            filter.apply(&mut batch, &run.eval())?;
            let at = batch.selection.to_positions(batch.rows);
            let mut next = at.iter().peekable();
            candidates.keep(|i, _| next.next_if_eq(&&(i as u16)).is_some());
            places = at.iter().map(|&i| places[i as usize]).collect();
        }
        places.iter().for_each(|&i| passed(i as usize));
        run.ctx.counters.handler_icp_match.fetch_add(candidates.len() as u64, Relaxed);
        Ok(Tested { jump, failed })
    }

    /// The same, with a value beside each candidate.
    pub fn apply_beside<T: Copy>(&self, run: &Run<'_>, candidates: &mut Candidates, beside: &mut Vec<T>) -> Result<()> {
        let mut kept = Vec::with_capacity(beside.len());
        let all = std::mem::take(candidates);
        for from in (0..all.len()).step_by(vector::BATCH_ROWS_MAX) {
            let to = (from + vector::BATCH_ROWS_MAX).min(all.len());
            let mut part = Candidates::default();
            part.append(&all, from, to);
            self.run(run, &mut part, false, &mut |i| kept.push(beside[from + i]))?;
            candidates.append(&part, 0, part.len());
        }
        *beside = kept;
        Ok(())
    }

    fn columns(&self, parts: &[usize], candidates: &Candidates) -> Batch {
        decoded(&self.keys, parts, candidates)
    }
}

/// Parts of the candidates' keys as columns.
pub fn decoded(keys: &IndexEncoder, parts: &[usize], candidates: &Candidates) -> Batch {
    let columns = parts.iter().map(|&p| Vector::flat(keys.decode_part(p, candidates))).collect();
    Batch::new(candidates.len(), columns)
}

/// Where a key failed first.
struct Failure<'a> {
    start: usize,
    end: usize,
    bounds: &'a PartBounds,
    place: PartPlace<'a>,
}

#[inline]
fn first_failure<'a>(keys: &IndexEncoder, tests: &'a [(usize, PartBounds)], key: &[u8]) -> Option<Failure<'a>> {
    let (mut part, mut at) = (0, 0);
    for (wanted, bounds) in tests {
        while part < *wanted {
            at = keys.part_end(part, key, at);
            part += 1;
        }
        let end = keys.part_end(part, key, at);
        let place = bounds.place(&key[at..end]);
        if place != PartPlace::Inside {
            return Some(Failure { start: at, end, bounds, place });
        }
    }
    None
}

impl Failure<'_> {
    fn jump(&self, key: &[u8], reverse: bool) -> Jump {
        let before = &key[..self.start];
        if reverse {
            return match self.bounds.end_below(&key[self.start..self.end]) {
                Some(Some(end)) => Jump::To([before, end].concat()),
                // Every key that begins so is below the last one that could pass: go on before them all.
                Some(None) | None if before.is_empty() => Jump::End,
                Some(None) | None => Jump::To(before.to_vec()),
            };
        }
        match self.place {
            PartPlace::Inside => Jump::No,
            PartPlace::Before(start) => Jump::To([before, start].concat()),
            PartPlace::Behind => above(before),
        }
    }
}

/// Behind all keys that begin so.
pub fn above(prefix: &[u8]) -> Jump {
    match prefix.iter().rposition(|b| *b != 0xFF) {
        None => Jump::End,
        Some(last) => {
            let mut key = prefix[..=last].to_vec();
            key[last] += 1;
            Jump::To(key)
        }
    }
}

/// The ranges that can hold anything, their values computed.
pub fn bounds(run: &Run<'_>, table: &TableDef, index: &IndexDef, ranges: &[IndexRange]) -> Result<Vec<KeyBounds>> {
    let ctx = run.eval();
    let one = Batch::new(1, Vec::new());
    let mut eval = |e: &expr::Expr| -> Result<Value> {
        Ok(match e.as_const() {
            Some(v) => v.clone(),
            None => Program::new(e, &ctx)?.eval(&one, &ctx)?.value(0, &e.ty),
        })
    };
    let mut out = Vec::with_capacity(ranges.len());
    for r in ranges {
        out.extend(resolve(r, table, index, &mut eval)?);
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn behind_a_prefix() {
        assert_eq!(above(&[1, 255, 255]), Jump::To(vec![2]));
        assert_eq!(above(&[1, 2]), Jump::To(vec![1, 3]));
        assert_eq!(above(&[255]), Jump::End);
        assert_eq!(above(&[]), Jump::End);
    }
}
