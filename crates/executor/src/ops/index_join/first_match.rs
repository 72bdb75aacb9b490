//! Semijoins and antijoins: of each key only as many entries are read as it takes to find a match.
//!
//! ```text
//!  all keys ─▶ first entries of each ─▶ rows, conditions ─┬─ a match, or no further entries: done with the key
//!                                                         └─ neither: on through the key's entries, in growing batches
//! ```
//! A key may have a million entries, of which the first one is as good as any.

use super::{JoinLocal, JoinStage, KEYS_AT_ONCE};
use crate::context::{Candidates, IndexCursor, KeyCut, KeySpan};
use crate::pipeline::Flow;
use std::sync::atomic::Ordering::Relaxed;
use types::{Result, Value};
use vector::{BATCH_ROWS_MAX, Batch, Bitmap};

/// Entries of each key that are read at first.
pub(super) const FIRST_ENTRIES: usize = 2;
/// Entries that are read next, the first ones again among them.
const NEXT_ENTRIES: usize = 16;

/// A walk through the entries of one key.
pub(super) struct KeyWalk<'a> {
    cursor: Box<dyn IndexCursor + 'a>,
    size: usize,
}

impl<'a> KeyWalk<'a> {
    pub(super) fn new(stage: &'a JoinStage<'_>, key: &[u8]) -> Result<KeyWalk<'a>> {
        let cut = |after| KeyCut { prefix: key.to_vec(), after };
        let span = KeySpan { low: cut(false), high: cut(true) };
        Ok(KeyWalk { cursor: stage.reader.index_cursor(stage.index, &span, false)?, size: NEXT_ENTRIES })
    }

    /// The next entries; false at the end.
    pub(super) fn next(&mut self, stage: &JoinStage<'_>, out: &mut Candidates) -> Result<bool> {
        stage.run.ctx.check_killed()?;
        let more = self.cursor.next(out, self.size)?;
        stage.run.ctx.counters.handler_read_next.fetch_add(out.len() as u64, Relaxed);
        self.size = (self.size * 4).min(BATCH_ROWS_MAX);
        Ok(more)
    }
}

impl JoinLocal<'_> {
    /// Notes which input rows have a match; pairs are nobody's wish.
    pub(super) fn first_matches(
        &mut self,
        input: &Batch,
        keys: Vec<Vec<Value>>,
        at: &[u16],
        matched: &mut Bitmap,
    ) -> Result<Flow> {
        let s = self.stage;
        let keys: Vec<Vec<u8>> = keys.iter().map(|k| s.encoded(k)).collect::<Result<_>>()?;
        let (mut open, mut ends) = (Vec::new(), Vec::new());
        let mut found = std::mem::take(&mut self.candidates);
        for (n, part) in keys.chunks(KEYS_AT_ONCE).enumerate() {
            s.run.ctx.check_killed()?;
            let first = n * KEYS_AT_ONCE;
            found.clear();
            ends.clear();
            let moment = s.reader.settled(s.index);
            s.reader.index_get_many(s.index, part, FIRST_ENTRIES, &mut found, &mut ends)?;
            s.run.ctx.counters.handler_read_next.fetch_add(found.len() as u64, Relaxed);
            let mut positions = Vec::with_capacity(found.len());
            for (k, end) in (first..).zip(&ends) {
                if *end as usize - positions.len() == FIRST_ENTRIES {
                    open.push(k);
                }
                positions.resize(*end as usize, at[k]);
            }
            if let Some(tests) = &s.tests {
                tests.apply_beside(&s.run, &mut found, &mut positions)?;
            }
            self.join_candidates(input, &positions, &found, moment, matched)?;
        }
        for k in open {
            let position = at[k];
            let mut walk = KeyWalk::new(s, &keys[k])?;
            while !matched.get(position as usize) && walk.next(s, &mut found)? {
                let mut positions = vec![position; found.len()];
                if let Some(tests) = &s.tests {
                    tests.apply_beside(&s.run, &mut found, &mut positions)?;
                }
                self.join_candidates(input, &positions, &found, None, matched)?;
            }
        }
        self.candidates = found;
        Ok(Flow::More)
    }
}
