//! The third truth value of `IN`: whether a comparison was UNKNOWN where none was TRUE.
//!
//! Split the build rows S by the set m of IN columns that are NULL. For a probe row with NULL columns q that matched
//! nothing: a row of S_m compares UNKNOWN with it exactly if it agrees on all columns outside u = m | q (and u is not
//! empty: else it would have been TRUE or FALSE). So for every m, look the probe row's columns outside u up in a table
//! of S_m keyed on those columns; the tables are made when first needed and kept by (m, u). Correlation columns are
//! ordinary equalities and part of every key. The facts are about *all* build rows, never about one partition of them.

use super::JoinSpec;
use super::build::JoinTable;
use super::output::Matches;
use super::probe::residual_batch;
use crate::keys::{KeyEncoder, KeyLayout, Keys, Words, all_valid};
use hashbrown::HashMap;
use std::sync::{Arc, Mutex};
use types::{Error, Result};
use vector::{BATCH_ROWS_MAX, Batch, Bitmap, Selection, Vector};

/// Rows of one build batch with the same NULL columns.
struct Masked {
    keys: Arc<Vec<Vector>>,
    rows: usize,
    /// Positions, and the row of each in the join table.
    positions: Vec<u16>,
    table_rows: Vec<u32>,
}

/// Key -> build rows. One of them suffices where there is no residual. Keys of a fixed width are in `words`.
#[derive(Default)]
struct SubTable {
    words: HashMap<u128, Vec<u32>>,
    bytes: HashMap<Box<[u8]>, Vec<u32>>,
}

impl SubTable {
    fn entry(&mut self, keys: &Words, j: usize) -> &mut Vec<u32> {
        match keys {
            Words::U64(words) => self.words.entry(words[j] as u128).or_default(),
            Words::U128(words) => self.words.entry(words[j]).or_default(),
            Words::Bytes { .. } => self.bytes.entry(keys.bytes(j).into()).or_default(),
        }
    }

    #[inline]
    fn get(&self, keys: &Words, j: usize) -> Option<&Vec<u32>> {
        match keys {
            Words::U64(words) => self.words.get(&(words[j] as u128)),
            Words::U128(words) => self.words.get(&words[j]),
            Words::Bytes { .. } => self.bytes.get(keys.bytes(j)),
        }
    }
}

pub struct NullFacts {
    /// By NULL mask.
    groups: Vec<(u64, Vec<Masked>)>,
    tables: Mutex<HashMap<(u64, u64), Arc<SubTable>>>,
}

fn null_mask(keys: &[Vector], in_keys: usize, i: usize) -> u64 {
    (0..in_keys).fold(0, |m, k| m | (!keys[k].is_valid(i) as u64) << k)
}

/// Positions at which one of the columns is NULL; `None`: there are none.
pub fn null_positions<'k>(columns: impl IntoIterator<Item = &'k Vector>, rows: usize) -> Option<Bitmap> {
    let mut nulls = all_valid(columns, rows)?;
    nulls.flip();
    Some(nulls)
}

/// NULL in a correlation column: in nobody's group, unless NULLs are equal there.
fn matches_nothing(spec: &JoinSpec<'_>, keys: &[Vector], i: usize) -> bool {
    keys.iter().zip(&spec.key_types).skip(spec.in_keys).any(|(k, (.., null_safe))| !null_safe && !k.is_valid(i))
}

impl NullFacts {
    pub fn new(spec: &JoinSpec<'_>, batches: &[(&[Vector], &Batch)]) -> Result<NullFacts> {
        if spec.in_keys > 64 {
            return Err(Error::not_supported("NOT IN over more than 64 columns"));
        }
        let mut groups: Vec<(u64, Vec<Masked>)> = Vec::new();
        let mut row = 0u32;
        for (keys, batch) in batches {
            let mut masks: Vec<(u64, Vec<u16>, Vec<u32>)> = Vec::new();
            batch.selection.for_each(batch.rows, |i| {
                let at = row;
                row += 1;
                if matches_nothing(spec, keys, i) {
                    return;
                }
                let m = null_mask(keys, spec.in_keys, i);
                let k = masks.iter().position(|(x, ..)| *x == m).unwrap_or_else(|| {
                    masks.push((m, Vec::new(), Vec::new()));
                    masks.len() - 1
                });
                masks[k].1.push(i as u16);
                masks[k].2.push(at);
            });
            let shared = Arc::new(keys.to_vec());
            for (m, positions, table_rows) in masks {
                let masked = Masked { keys: shared.clone(), rows: batch.rows, positions, table_rows };
                match groups.iter_mut().find(|(x, _)| *x == m) {
                    Some((_, list)) => list.push(masked),
                    None => groups.push((m, vec![masked])),
                }
            }
        }
        Ok(NullFacts { groups, tables: Mutex::default() })
    }

    /// The key columns outside `u`.
    fn columns(spec: &JoinSpec<'_>, u: u64) -> Vec<usize> {
        (0..spec.key_types.len()).filter(|&k| k >= spec.in_keys || u >> k & 1 == 0).collect()
    }

    fn encoder(spec: &JoinSpec<'_>, columns: &[usize]) -> Result<KeyEncoder> {
        let types: Vec<_> = columns.iter().map(|&c| spec.key_types[c]).collect();
        Ok(KeyEncoder::new(KeyLayout::of_join(&types)?))
    }

    fn table(&self, spec: &JoinSpec<'_>, m: u64, u: u64) -> Result<Arc<SubTable>> {
        if let Some(t) = self.tables.lock().expect("no panic while held").get(&(m, u)) {
            return Ok(t.clone());
        }
        let columns = NullFacts::columns(spec, u);
        let mut encoder = NullFacts::encoder(spec, &columns)?;
        let mut table = SubTable::default();
        let empty = Vec::new();
        let group = self.groups.iter().find(|(x, _)| *x == m).map_or(&empty, |(_, g)| g);
        for b in group {
            spec.run.ctx.check_killed()?;
            let vectors: Vec<Vector> = columns.iter().map(|&c| b.keys[c].clone()).collect();
            let mut keys = Keys::default();
            encoder.encode(&vectors, &Selection::Some(b.positions.clone()), b.rows, &mut keys);
            for (j, &row) in b.table_rows.iter().enumerate() {
                let rows = table.entry(&keys.words, j);
                if spec.residual.is_some() || rows.is_empty() {
                    rows.push(row);
                }
            }
        }
        let table = Arc::new(table);
        self.tables.lock().expect("no panic while held").insert((m, u), table.clone());
        Ok(table)
    }

    /// Which selected rows, not TRUE, are UNKNOWN.
    pub fn unknown(
        &self,
        spec: &JoinSpec<'_>,
        build: &JoinTable,
        probe: &Batch,
        keys: &[Vector],
        is_true: &Bitmap,
    ) -> Result<Bitmap> {
        let mut out = Bitmap::zeros(probe.rows);
        let nulls = null_positions(&keys[..spec.in_keys], probe.rows);
        let lost = &spec.key_types[spec.in_keys..];
        let lost = keys[spec.in_keys..].iter().zip(lost).filter(|(_, (.., null_safe))| !null_safe).map(|(k, _)| k);
        let lost = null_positions(lost, probe.rows);
        // A row without NULLs is certain of build rows without any.
        let only_nulls = self.groups.iter().all(|(m, _)| *m == 0);
        if only_nulls && nulls.is_none() {
            return Ok(out);
        }
        // Pending rows by their own NULL columns.
        let mut pending: Vec<(u64, Vec<u16>)> = Vec::new();
        probe.selection.for_each(probe.rows, |i| {
            let has_null = nulls.as_ref().is_some_and(|n| n.get(i));
            if only_nulls && !has_null || is_true.get(i) || lost.as_ref().is_some_and(|l| l.get(i)) {
                return;
            }
            let q = if has_null { null_mask(keys, spec.in_keys, i) } else { 0 };
            match pending.iter_mut().find(|(x, _)| *x == q) {
                Some((_, list)) => list.push(i as u16),
                None => pending.push((q, vec![i as u16])),
            }
        });
        for (q, positions) in pending {
            for (m, _) in &self.groups {
                let u = m | q;
                if u == 0 {
                    continue;
                }
                let left: Vec<u16> = positions.iter().copied().filter(|&p| !out.get(p as usize)).collect();
                if left.is_empty() {
                    break;
                }
                spec.run.ctx.check_killed()?;
                let table = self.table(spec, *m, u)?;
                let columns = NullFacts::columns(spec, u);
                let vectors: Vec<Vector> = columns.iter().map(|&c| keys[c].clone()).collect();
                let mut encoded = Keys::default();
                let mut encoder = NullFacts::encoder(spec, &columns)?;
                encoder.encode(&vectors, &Selection::Some(left.clone()), probe.rows, &mut encoded);
                for (j, &p) in left.iter().enumerate() {
                    if let Some(rows) = table.get(&encoded.words, j)
                        && self.residual_holds(spec, build, probe, p, rows)?
                    {
                        out.set(p as usize, true);
                    }
                }
            }
        }
        Ok(out)
    }

    /// Whether one of `rows` meets the residual with probe position `p`.
    fn residual_holds(
        &self,
        spec: &JoinSpec<'_>,
        build: &JoinTable,
        probe: &Batch,
        p: u16,
        rows: &[u32],
    ) -> Result<bool> {
        let Some(residual) = &spec.residual else { return Ok(!rows.is_empty()) };
        for part in rows.chunks(BATCH_ROWS_MAX) {
            let m = Matches { positions: vec![p; part.len()], rows: part.to_vec() };
            let mut batch = residual_batch(spec, &build.columns, probe, &m);
            residual.filter(&mut batch, &spec.run.eval())?;
            if batch.count() > 0 {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
