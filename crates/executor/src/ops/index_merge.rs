//! Index merge: row ids out of several indexes, united or intersected, and their rows read leaf by leaf.
//!
//! ```text
//!   a = 1 OR b > 7      index a:  12 3 40   ─┐
//!                       index b:  77 9 12   ─┴ union ─▶  3 9 12 40 77  ─▶ rows, a batch at a time ─▶ all conditions
//! ```
//! Entries of an index stand for every version of a row that somebody may still see. So the set holds all rows that are
//! wanted and perhaps others; each is read once, as the snapshot sees it, and tested by all conditions. That is why no
//! entry has to be compared with its row's key here.
//!
//! A set is a sorted list. Where the ids lie close together they are sorted by marking them in a bitmap.
//!
//! The plan may be wrong about how much the ranges hold, and the memory may be refused. Then nothing has been handed
//! on yet, and the caller scans instead. An index that turns out wide is left out of an intersection.

use crate::context::{Candidates, KeySpan, TableReader};
use crate::eval::Filter;
use crate::memory::Reservation;
use crate::ops::entry_filter::bounds;
use crate::ops::index_scan::{entries_within, is_wide, merged};
use crate::ops::scan::projected;
use crate::pipeline::{Down, Pull, Source, run_pipeline};
use crate::run::Run;
use plan::access::{Merge, MergeKind};
use plan::physical::{PlanNode, PlanOp};
use std::cmp::Ordering;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use types::{Error, Result};
use vector::{BATCH_ROWS_MAX, Batch, Chunk, Values, Vector};

/// Row ids for which a thread is worth having.
const ROWS_PER_WORKER: usize = 8192;

/// What one index has.
struct Part {
    index: usize,
    spans: Vec<KeySpan>,
    /// About how many entries they hold.
    entries: u64,
}

/// Runs an IndexScan that merges. False: nothing was handed on, and a scan is the better way, or the only one left.
pub fn run_index_merge<'a>(
    run: &Run<'a>,
    node: &'a PlanNode,
    reader: &dyn TableReader,
    merge: &Merge,
    down: &Down<'_>,
) -> Result<bool> {
    let PlanOp::IndexScan { index, ranges, columns, filters, project, with_row_id, table, .. } = &node.op else {
        return Err(Error::internal("not an IndexScan node"));
    };
    let mut parts = Vec::with_capacity(merge.others.len() + 1);
    for (index, ranges) in merge.all(*index, ranges) {
        let bounds = bounds(run, table, &table.indexes[index], ranges)?;
        let Some(spans) = bounds.iter().map(|b| reader.index_span(index, b)).collect::<Option<Vec<_>>>() else {
            return Ok(false);
        };
        let spans = merged(spans);
        parts.push(Part { index, entries: entries_within(reader, index, &spans), spans });
    }
    let mut memory = Reservation::new(&run.memory_of(node.id));
    let found = match merge.kind {
        MergeKind::Intersect => intersection(run, reader, parts, &mut memory)?,
        MergeKind::Union | MergeKind::SortUnion => union(run, reader, &parts, &mut memory)?,
    };
    let Some(ids) = found else { return Ok(false) };
    let source = MergedSource {
        run: *run,
        reader,
        ids: &ids,
        next: AtomicUsize::new(0),
        columns,
        project,
        with_row_id: *with_row_id,
        filter: Filter::new(filters, &run.eval())?,
    };
    run_pipeline(run, node.id, &source, down)?;
    Ok(true)
}

/// The row ids that any part has; `None`: a scan is better.
fn union(
    run: &Run<'_>,
    reader: &dyn TableReader,
    parts: &[Part],
    memory: &mut Reservation,
) -> Result<Option<Vec<u64>>> {
    if is_wide(reader, parts.iter().map(|p| p.entries).fold(0, u64::saturating_add)) {
        return Ok(None);
    }
    let mut ids = Vec::new();
    for part in parts {
        if !walk(run, reader, part, &mut ids, memory)? {
            return Ok(None);
        }
    }
    Ok(sorted(ids, memory))
}

/// The row ids that all parts have, narrow parts only.
fn intersection(
    run: &Run<'_>,
    reader: &dyn TableReader,
    mut parts: Vec<Part>,
    memory: &mut Reservation,
) -> Result<Option<Vec<u64>>> {
    if parts.iter().any(|p| p.spans.is_empty()) {
        return Ok(Some(Vec::new()));
    }
    parts.retain(|p| !is_wide(reader, p.entries));
    parts.sort_by_key(|p| p.entries);
    let mut found: Option<Vec<u64>> = None;
    for part in &parts {
        if found.as_ref().is_some_and(Vec::is_empty) {
            break;
        }
        let mut ids = Vec::new();
        if !walk(run, reader, part, &mut ids, memory)? {
            return Ok(None);
        }
        let Some(ids) = sorted(ids, memory) else { return Ok(None) };
        found = Some(match found {
            None => ids,
            Some(before) => in_both(&before, &ids),
        });
    }
    Ok(found)
}

/// Appends the row ids of a part's entries; false if there is no memory for them.
fn walk(
    run: &Run<'_>,
    reader: &dyn TableReader,
    part: &Part,
    ids: &mut Vec<u64>,
    memory: &mut Reservation,
) -> Result<bool> {
    let counters = run.ctx.counters;
    counters.handler_read_key.fetch_add(part.spans.len() as u64, Relaxed);
    if part.spans.is_empty() {
        return Ok(true);
    }
    reader.prepare_index(part.index, &|| run.ctx.check_killed())?;
    let mut some = Candidates::default();
    for span in &part.spans {
        let mut cursor = reader.index_cursor(part.index, span, false)?;
        while cursor.next(&mut some, BATCH_ROWS_MAX)? {
            let more = ids.len() + some.len();
            if more > ids.capacity() {
                let room = more.next_power_of_two();
                let bytes = memory.bytes() + (room - ids.capacity()) * size_of::<u64>();
                if !memory.try_resize_sparing(bytes, 1) {
                    return Ok(false);
                }
                ids.reserve_exact(room - ids.len());
            }
            ids.extend_from_slice(some.row_ids());
            counters.handler_read_next.fetch_add(some.len() as u64, Relaxed);
            // The rows themselves, read later, count for no index.
            reader.note_read(Some(part.index), some.len() as u64);
            run.ctx.check_killed()?;
        }
    }
    Ok(true)
}

/// Ascending, each once; `None`: there is no memory to do it in.
fn sorted(mut ids: Vec<u64>, memory: &mut Reservation) -> Option<Vec<u64>> {
    let words = ids.iter().max().map_or(0, |max| max / 64 + 1);
    if words <= ids.len() as u64 {
        let bytes = memory.bytes();
        if !memory.try_resize_sparing(bytes + words as usize * size_of::<u64>(), 1) {
            return None;
        }
        sort_by_marks(&mut ids, words as usize);
        memory.force(bytes);
    } else {
        ids.sort_unstable();
        ids.dedup();
    }
    Some(ids)
}

/// Ids below `64 * words`: each marks a bit, and the bits are read in order.
fn sort_by_marks(ids: &mut Vec<u64>, words: usize) {
    let mut marks = vec![0u64; words];
    for &id in ids.iter() {
        marks[(id / 64) as usize] |= 1 << (id % 64);
    }
    ids.clear();
    for (word, mut bits) in marks.into_iter().enumerate() {
        while bits != 0 {
            ids.push(word as u64 * 64 + u64::from(bits.trailing_zeros()));
            bits &= bits - 1;
        }
    }
}

/// What two sorted lists have in common.
fn in_both(a: &[u64], b: &[u64]) -> Vec<u64> {
    let (mut i, mut j) = (0, 0);
    let mut out = Vec::with_capacity(a.len().min(b.len()));
    while i < a.len() && j < b.len() {
        match a[i].cmp(&b[j]) {
            Ordering::Less => i += 1,
            Ordering::Greater => j += 1,
            Ordering::Equal => {
                out.push(a[i]);
                (i, j) = (i + 1, j + 1);
            }
        }
    }
    out
}

struct MergedSource<'a, 'r> {
    run: Run<'a>,
    reader: &'r dyn TableReader,
    ids: &'r [u64],
    next: AtomicUsize,
    columns: &'r [usize],
    project: &'r [usize],
    with_row_id: bool,
    filter: Filter,
}

impl Source for MergedSource<'_, '_> {
    fn local<'b>(&'b self) -> Result<Box<dyn Pull + 'b>> {
        Ok(Box::new(MergedPull(self)))
    }

    fn workers_max(&self) -> usize {
        (self.ids.len() / ROWS_PER_WORKER).max(1)
    }
}

struct MergedPull<'b, 'a, 'r>(&'b MergedSource<'a, 'r>);

impl Pull for MergedPull<'_, '_, '_> {
    fn next(&mut self) -> Result<Option<Batch>> {
        let s = self.0;
        loop {
            s.run.ctx.check_killed()?;
            let from = s.next.fetch_add(BATCH_ROWS_MAX, Relaxed);
            if from >= s.ids.len() {
                return Ok(None);
            }
            let ids = &s.ids[from..(from + BATCH_ROWS_MAX).min(s.ids.len())];
            let mut batch = s.reader.fetch(ids, s.columns)?;
            if s.with_row_id {
                batch.columns.push(Vector::flat(Chunk::new(Values::U64(ids.to_vec()), None)));
            }
            s.run.ctx.counters.read_by_index(batch.count() as u64);
            s.run.ctx.counters.handler_read_rnd.fetch_add(batch.count() as u64, Relaxed);
            s.filter.apply(&mut batch, &s.run.eval())?;
            if batch.count() == 0 {
                continue;
            }
            return Ok(Some(projected(batch, s.project, s.with_row_id)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_sort_as_comparisons_do() {
        let mut seed = 7u64;
        for n in [0usize, 1, 63, 64, 65, 1000] {
            let mut ids: Vec<u64> = (0..n)
                .map(|_| {
                    seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                    (seed >> 40) % (n as u64 * 2 + 1)
                })
                .collect();
            let mut expected = ids.clone();
            expected.sort_unstable();
            expected.dedup();
            sort_by_marks(&mut ids, n / 16 + 2);
            assert_eq!(ids, expected);
        }
    }

    #[test]
    fn common_ids() {
        assert_eq!(in_both(&[1, 3, 5, 9], &[0, 3, 4, 5, 10]), [3, 5]);
        assert!(in_both(&[], &[1]).is_empty());
    }
}
