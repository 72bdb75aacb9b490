//! The probe side: matches a batch against the table and makes of it what the join's kind wants.
//!
//! | kind | of a match | of a probe row without | of a build row |
//! |---|---|---|---|
//! | Inner | a row | - | - |
//! | Left, Single | a row (Single: at most one) | a row with NULLs | - |
//! | Right | a row | - | a row with NULLs if unmatched |
//! | Semi, Anti | keeps, drops the probe row | drops, keeps it | - |
//! | RightSemi, RightAnti | remembered | - | a row if matched, unmatched |
//! | Mark | TRUE | FALSE, or UNKNOWN (see [`super::null_aware`]) | - |
//!
//! A residual condition is evaluated over candidate pairs and decides which of them are matches.

use super::build::JoinTable;
use super::null_aware::null_positions;
use super::output::{Matches, joined};
use super::{JoinSpec, NullFlags};
use crate::columns::{NO_ROW, null_vector};
use crate::eval::{eval_made_within, parts_of};
use crate::keys::{KeyEncoder, Keys};
use crate::pipeline::{Flow, Pull, Push, Source, Stage};
use plan::physical::JoinKind;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use types::{Error, Result, SqlType};
use vector::{BATCH_ROWS_MAX, Batch, Bitmap, Chunk, Selection, Values, Vector};

/// Pairs gathered before they are looked at.
const PAIRS_MAX: usize = BATCH_ROWS_MAX;

/// Shared state.
pub struct ProbeStage<'a> {
    spec: &'a JoinSpec<'a>,
    table: &'a JoinTable,
    /// Bit per build row: it has a match. Empty unless the kind asks for it.
    matched: Vec<AtomicU64>,
}

impl<'a> ProbeStage<'a> {
    pub fn new(spec: &'a JoinSpec<'a>, table: &'a JoinTable) -> Result<ProbeStage<'a>> {
        let words = if spec.remembers_build_rows() { table.row_count().div_ceil(64) } else { 0 };
        Ok(ProbeStage { spec, table, matched: (0..words).map(|_| AtomicU64::new(0)).collect() })
    }

    fn remember(&self, row: u32) {
        let word = &self.matched[row as usize >> 6];
        let bit = 1 << (row & 63);
        // Most bits are set once and met often.
        if word.load(Ordering::Relaxed) & bit == 0 {
            word.fetch_or(bit, Ordering::Relaxed);
        }
    }

    fn is_matched(&self, row: usize) -> bool {
        self.matched[row >> 6].load(Ordering::Relaxed) >> (row & 63) & 1 != 0
    }
}

impl Stage for ProbeStage<'_> {
    fn local<'b>(&'b self, next: Box<dyn Push + 'b>) -> Result<Box<dyn Push + 'b>> {
        let mut encoder = KeyEncoder::new(self.spec.layout.clone());
        encoder.set_hashing(!self.table.lookup.is_dense());
        Ok(Box::new(ProbeLocal { stage: self, encoder, keys: Keys::default(), next }))
    }
}

struct ProbeLocal<'a> {
    stage: &'a ProbeStage<'a>,
    encoder: KeyEncoder,
    keys: Keys,
    next: Box<dyn Push + 'a>,
}

impl<'a> ProbeLocal<'a> {
    /// Keeps the pairs for which the residual is TRUE.
    fn residual(&self, probe: &Batch, m: &mut Matches) -> Result<()> {
        let spec = self.stage.spec;
        let Some(residual) = &spec.residual else { return Ok(()) };
        if m.is_empty() {
            return Ok(());
        }
        let batch = residual_batch(spec, &self.stage.table.columns, probe, m);
        let mut batch = batch;
        residual.filter(&mut batch, &spec.run.eval())?;
        if let Selection::Some(kept) = &batch.selection {
            m.positions = kept.iter().map(|&k| m.positions[k as usize]).collect();
            m.rows = kept.iter().map(|&k| m.rows[k as usize]).collect();
        }
        Ok(())
    }

    /// Finds the matches of the batch, at most [`PAIRS_MAX`] at a time. `on` answers whether more are wanted.
    fn find(
        &mut self,
        probe: &Batch,
        key_columns: &[Vector],
        first_only: bool,
        on: &mut dyn FnMut(&mut Self, &mut Matches, bool) -> Result<Flow>,
    ) -> Result<Flow> {
        let valid = self.encoder.valid_positions(key_columns, probe);
        let mut keys = std::mem::take(&mut self.keys);
        self.encoder.encode(key_columns, &valid, probe.rows, &mut keys);
        let mut m = Matches::default();
        let mut result: Result<Flow> = Ok(Flow::More);
        let table = self.stage.table;
        let positions;
        let at: &[u16] = match &valid {
            Selection::Some(s) => s,
            Selection::All => {
                positions = Selection::All.to_positions(probe.rows);
                &positions
            }
        };
        let single = first_only && self.stage.spec.residual.is_none();
        let ctx = self.stage.spec.run.ctx;
        table.lookup.probe(&keys, |j, row| {
            if !matches!(result, Ok(Flow::More)) {
                return false;
            }
            m.positions.push(at[j]);
            m.rows.push(row);
            if m.len() >= PAIRS_MAX && !single {
                // A position may go on in the next portion.
                result = ctx.check_killed().and_then(|()| on(self, &mut m, false));
                m.clear();
            }
            !single
        });
        self.keys = keys;
        if let Ok(Flow::More) = result {
            result = on(self, &mut m, true);
        }
        result
    }

    fn inner(&mut self, probe: &Batch, keys: &[Vector]) -> Result<Flow> {
        let right = self.stage.spec.kind == JoinKind::Right;
        self.find(probe, keys, false, &mut |this, m, _| {
            this.residual(probe, m)?;
            if m.is_empty() {
                return Ok(Flow::More);
            }
            if right {
                m.rows.iter().for_each(|&r| this.stage.remember(r));
            }
            let out = joined(probe, &this.stage.table.columns, m, this.stage.spec.project);
            this.next.push(out)
        })
    }

    /// Left and Single.
    fn outer(&mut self, probe: &Batch, keys: &[Vector]) -> Result<Flow> {
        let single = self.stage.spec.kind == JoinKind::Single;
        let mut seen = Bitmap::zeros(probe.rows);
        self.find(probe, keys, false, &mut |this, m, last| {
            this.residual(probe, m)?;
            for &p in &m.positions {
                if single && seen.get(p as usize) {
                    return Err(Error::subquery_no_1_row());
                }
                seen.set(p as usize, true);
            }
            if last {
                with_unmatched(m, &seen, probe);
            }
            if m.is_empty() {
                return Ok(Flow::More);
            }
            let out = joined(probe, &this.stage.table.columns, m, this.stage.spec.project);
            this.next.push(out)
        })
    }

    /// Positions with a match.
    fn matched(&mut self, probe: &Batch, keys: &[Vector]) -> Result<Bitmap> {
        let mut seen = Bitmap::zeros(probe.rows);
        self.find(probe, keys, true, &mut |this, m, _| {
            this.residual(probe, m)?;
            m.positions.iter().for_each(|&p| seen.set(p as usize, true));
            Ok(Flow::More)
        })?;
        Ok(seen)
    }

    /// Semi and Anti: only the selection changes.
    fn narrowed(&mut self, probe: Batch, keep: &Bitmap) -> Result<Flow> {
        let selection = match &probe.selection {
            Selection::All => Selection::from_bitmap(keep),
            Selection::Some(s) => Selection::Some(s.iter().copied().filter(|&i| keep.get(i as usize)).collect()),
        };
        if selection.is_empty(probe.rows) {
            return Ok(Flow::More);
        }
        let columns = self.stage.spec.project.iter().map(|&c| probe.columns[c].clone()).collect();
        self.next.push(Batch { rows: probe.rows, columns, selection })
    }

    fn marked(&mut self, probe: Batch, is_true: &Bitmap, unknown: Option<Bitmap>) -> Result<Flow> {
        let values = Values::I8((0..probe.rows).map(|i| is_true.get(i) as i8).collect());
        let validity = unknown.and_then(|u| {
            let mut valid = Bitmap::ones(probe.rows);
            u.iter_ones().for_each(|i| valid.set(i, false));
            if valid.all() { None } else { Some(valid) }
        });
        let mark = Vector::flat(Chunk::new(values, validity));
        let n = probe.columns.len();
        let columns = self
            .stage
            .spec
            .project
            .iter()
            .map(|&c| if c == n { mark.clone() } else { probe.columns[c].clone() })
            .collect();
        self.next.push(Batch { columns, ..probe })
    }

    /// Of the rows that are not TRUE, those whose mark is UNKNOWN.
    fn unknown(&self, probe: &Batch, keys: &[Vector], is_true: &Bitmap) -> Result<Option<Bitmap>> {
        if self.stage.spec.needs_null_flags_only() {
            return Ok(unknown_by_flags(&self.stage.spec.null_flags, probe, &keys[0], is_true));
        }
        match &self.stage.table.null_facts {
            Some(facts) => facts.unknown(self.stage.spec, self.stage.table, probe, keys, is_true).map(Some),
            None => Ok(None),
        }
    }
}

/// `x NOT IN (S)`, x not in S: UNKNOWN if S holds a NULL, or if x is NULL and S holds anything.
fn unknown_by_flags(flags: &NullFlags, probe: &Batch, key: &Vector, is_true: &Bitmap) -> Option<Bitmap> {
    if !flags.any_row.load(Ordering::Relaxed) {
        return None;
    }
    let mut out = is_true.clone();
    out.flip();
    if !flags.any_null.load(Ordering::Relaxed) {
        out.and(&null_positions([key], probe.rows)?);
    }
    Some(out)
}

/// Pairs as a batch of natural columns, those that the residual does not read being constant NULLs.
pub fn residual_batch(spec: &JoinSpec<'_>, build: &[Chunk], probe: &Batch, m: &Matches) -> Batch {
    let natural = probe.columns.len() + build.len();
    let null = null_vector(&SqlType::Null);
    let mut columns = vec![null; natural];
    for &c in &spec.residual_columns {
        columns[c] = match c.checked_sub(probe.columns.len()) {
            None => probe.columns[c].gather(&m.positions),
            Some(b) => Vector::flat(crate::columns::gather32(&build[b], &m.rows)),
        };
    }
    Batch::new(m.len(), columns)
}

/// Adds the selected probe positions that no match has been seen of; in order if the matches are.
fn with_unmatched(m: &mut Matches, seen: &Bitmap, probe: &Batch) {
    let mut missing = Vec::new();
    probe.selection.for_each(probe.rows, |i| {
        if !seen.get(i) {
            missing.push(i as u16);
        }
    });
    if missing.is_empty() {
        return;
    }
    let mut positions = Vec::with_capacity(m.len() + missing.len());
    let mut rows = Vec::with_capacity(m.len() + missing.len());
    let mut next = missing.into_iter().peekable();
    for (&p, &r) in m.positions.iter().zip(&m.rows) {
        while next.peek().is_some_and(|&x| x < p) {
            positions.extend(next.next());
            rows.push(NO_ROW);
        }
        positions.push(p);
        rows.push(r);
    }
    for p in next {
        positions.push(p);
        rows.push(NO_ROW);
    }
    *m = Matches { positions, rows };
}

impl Push for ProbeLocal<'_> {
    fn push(&mut self, batch: Batch) -> Result<Flow> {
        let spec = self.stage.spec;
        let Some(keys) = eval_made_within(&spec.probe_keys, &batch, &spec.run.eval())? else {
            for part in parts_of(&batch) {
                if self.push(part)? == Flow::Done {
                    return Ok(Flow::Done);
                }
            }
            return Ok(Flow::More);
        };
        match spec.kind {
            JoinKind::Inner | JoinKind::Right => self.inner(&batch, &keys),
            JoinKind::Left | JoinKind::Single => self.outer(&batch, &keys),
            JoinKind::Semi => {
                let seen = self.matched(&batch, &keys)?;
                self.narrowed(batch, &seen)
            }
            JoinKind::Anti => {
                let mut seen = self.matched(&batch, &keys)?;
                seen.flip();
                self.narrowed(batch, &seen)
            }
            JoinKind::RightSemi | JoinKind::RightAnti => self.find(&batch, &keys, false, &mut |this, m, _| {
                this.residual(&batch, m)?;
                m.rows.iter().for_each(|&r| this.stage.remember(r));
                Ok(Flow::More)
            }),
            JoinKind::Mark { .. } => {
                let seen = self.matched(&batch, &keys)?;
                let unknown = self.unknown(&batch, &keys, &seen)?;
                self.marked(batch, &seen, unknown)
            }
            JoinKind::NullAwareAnti => {
                let mut seen = self.matched(&batch, &keys)?;
                if let Some(unknown) = self.unknown(&batch, &keys, &seen)? {
                    seen.or(&unknown);
                }
                seen.flip();
                self.narrowed(batch, &seen)
            }
        }
    }

    fn finish(&mut self) -> Result<()> {
        self.next.finish()
    }
}

/// The build rows that are output for having, or lacking, a match.
pub struct UnmatchedSource<'a> {
    stage: &'a ProbeStage<'a>,
    next: AtomicUsize,
}

impl<'a> UnmatchedSource<'a> {
    pub fn new(stage: &'a ProbeStage<'a>) -> UnmatchedSource<'a> {
        UnmatchedSource { stage, next: AtomicUsize::new(0) }
    }
}

impl Source for UnmatchedSource<'_> {
    fn local<'b>(&'b self) -> Result<Box<dyn Pull + 'b>> {
        Ok(Box::new(UnmatchedPull(self)))
    }

    fn workers_max(&self) -> usize {
        self.stage.table.row_count().div_ceil(BATCH_ROWS_MAX * 16)
    }
}

struct UnmatchedPull<'a>(&'a UnmatchedSource<'a>);

impl Pull for UnmatchedPull<'_> {
    fn next(&mut self) -> Result<Option<Batch>> {
        let stage = self.0.stage;
        let spec = stage.spec;
        loop {
            let from = self.0.next.fetch_add(BATCH_ROWS_MAX, Ordering::Relaxed);
            let end = stage.table.row_count();
            if from >= end {
                return Ok(None);
            }
            let wanted = spec.kind == JoinKind::RightSemi;
            let rows: Vec<u32> = (from..(from + BATCH_ROWS_MAX).min(end))
                .filter(|&r| stage.is_matched(r) == wanted)
                .map(|r| r as u32)
                .collect();
            if rows.is_empty() {
                continue;
            }
            let probe_columns = spec.probe_types.len();
            let columns = spec
                .project
                .iter()
                .map(|&c| match spec.kind {
                    JoinKind::Right if c < probe_columns => null_vector(&spec.probe_types[c]),
                    JoinKind::Right => {
                        Vector::flat(crate::columns::gather32(&stage.table.columns[c - probe_columns], &rows))
                    }
                    _ => Vector::flat(crate::columns::gather32(&stage.table.columns[c], &rows)),
                })
                .collect();
            return Ok(Some(Batch::new(rows.len(), columns)));
        }
    }
}

/// What is known of the rows of a probe batch, by position.
pub struct Verdicts {
    values: Vec<u8>,
}

const FALSE: u8 = 0;
const UNKNOWN: u8 = 1;
const TRUE: u8 = 2;

impl Verdicts {
    /// Nothing has been met yet.
    pub fn new(rows: usize) -> Verdicts {
        Verdicts { values: vec![FALSE; rows] }
    }

    /// Positions that are not TRUE yet.
    pub fn not_true(&self) -> Vec<u16> {
        (0..self.values.len()).filter(|&i| self.values[i] != TRUE).map(|i| i as u16).collect()
    }
}

/// Stands where rows do not go.
struct Nowhere;

impl Push for Nowhere {
    fn push(&mut self, _: Batch) -> Result<Flow> {
        Ok(Flow::More)
    }

    fn finish(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Adds what the stage's build rows say of the selected rows of a batch.
pub fn verdicts(stage: &ProbeStage<'_>, batch: &Batch, known: &mut Verdicts) -> Result<()> {
    let mut encoder = KeyEncoder::new(stage.spec.layout.clone());
    encoder.set_hashing(!stage.table.lookup.is_dense());
    let mut local = ProbeLocal { stage, encoder, keys: Keys::default(), next: Box::new(Nowhere) };
    let Some(keys) = eval_made_within(&stage.spec.probe_keys, batch, &stage.spec.run.eval())? else {
        return parts_of(batch).try_for_each(|part| verdicts(stage, &part, known));
    };
    let seen = local.matched(batch, &keys)?;
    let unknown = local.unknown(batch, &keys, &seen)?;
    batch.selection.for_each(batch.rows, |i| {
        let met = match &unknown {
            _ if seen.get(i) => TRUE,
            Some(u) if u.get(i) => UNKNOWN,
            _ => FALSE,
        };
        known.values[i] = known.values[i].max(met);
    });
    Ok(())
}

/// What comes out of a batch all of whose verdicts are known: of NOT IN the rows that stay, else all with their marks.
pub fn output_of(spec: &JoinSpec<'_>, batch: Batch, known: &Verdicts) -> Option<Batch> {
    let mut selection = batch.selection;
    let mut mark = null_vector(&SqlType::Bool);
    if spec.kind == JoinKind::NullAwareAnti {
        let kept: Vec<u16> = (0..batch.rows).filter(|&i| known.values[i] == FALSE).map(|i| i as u16).collect();
        if kept.is_empty() {
            return None;
        }
        selection = Selection::Some(kept);
    } else {
        let values = Values::I8(known.values.iter().map(|v| (*v == TRUE) as i8).collect());
        let mut valid = Bitmap::ones(batch.rows);
        (0..batch.rows).filter(|&i| known.values[i] == UNKNOWN).for_each(|i| valid.set(i, false));
        let validity = if valid.all() { None } else { Some(valid) };
        mark = Vector::flat(Chunk::new(values, validity));
    }
    let columns = spec.project.iter().map(|&c| batch.columns.get(c).unwrap_or(&mark).clone()).collect();
    Some(Batch { rows: batch.rows, columns, selection })
}
