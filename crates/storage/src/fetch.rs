//! Rows by id and by key, in batches: late materialization, lookups, joins by index.

use crate::leaf::Leaf;
use crate::near;
use crate::table::Table;
use crate::txn::Snapshot;
use vector::{Bitmap, Chunk, Rows, Values};

/// Columns of rows fetched by id.
#[derive(Clone, Debug)]
pub struct Fetched {
    /// One chunk a wanted column, one position a row id, in the order of the ids.
    pub columns: Vec<Chunk>,
    /// Which ids stood for rows that were wanted and that the snapshot sees; `None`: all. Other positions are NULL.
    pub seen: Option<Bitmap>,
}

/// Rows that are to be copied from one leaf.
struct Group<'a> {
    leaf_no: u64,
    /// (row id, position in the output), ascending.
    rows: &'a [(u64, u32)],
}

fn groups(order: &[(u64, u32)], shift: u32) -> impl Iterator<Item = Group<'_>> {
    order
        .chunk_by(move |a, b| a.0 >> shift == b.0 >> shift)
        .map(move |rows| Group { leaf_no: rows[0].0 >> shift, rows })
}

impl Table {
    /// The wanted columns of the rows with these ids. Ids may come in any order and more than once.
    ///
    /// Each leaf is visited once; its chunks' Arcs are cloned under the latch and values are copied with nothing held.
    /// Where each leaf has a row or two of many, these are copied under the latch: that is shorter than to count
    /// references. Rows of one leaf share its string heap, rows of several are copied into a heap of their own.
    pub fn fetch(&self, row_ids: &[u64], columns: &[usize], snapshot: &Snapshot) -> Fetched {
        self.fetch_if(row_ids, columns, snapshot, |leaf, slot, _| leaf.is_seen(slot, snapshot))
    }

    /// Like [`Table::fetch`], of those rows alone that `wanted` accepts: it gets the leaf, the slot and the position in
    /// `row_ids`, under the leaf's read latch, and must accept none that the snapshot does not see.
    pub(crate) fn fetch_if(
        &self,
        row_ids: &[u64],
        columns: &[usize],
        snapshot: &Snapshot,
        mut wanted: impl FnMut(&Leaf, usize, usize) -> bool,
    ) -> Fetched {
        if let [row_id] = *row_ids {
            return self.fetch_one(row_id, columns, snapshot, wanted);
        }
        let mut order: Vec<(u64, u32)> = row_ids.iter().copied().zip(0..).collect();
        if !row_ids.is_sorted() {
            order.sort_unstable();
        }
        let shift = self.leaf_rows().trailing_zeros();
        // Chunks of leaf-ordered rows, and where each row went.
        let mut parts: Vec<(Vec<std::sync::Arc<Chunk>>, Vec<u16>)> = Vec::new();
        // Where output row i lies in leaf order; NOWHERE: not seen.
        let mut place = vec![NOWHERE; row_ids.len()];
        let mut next = 0;
        let groups: Vec<Group<'_>> = groups(&order, shift).collect();
        let leaves = groups.len();
        let is_scattered = leaves > 1 && order.len() < leaves * SCATTERED_ROWS;
        let is_far = leaves > 1 && self.heap.leaf_count() >= near::LEAVES_MIN;
        let mut copied: Vec<Chunk> = Vec::new();
        if is_scattered {
            copied.extend(columns.iter().map(|&c| Chunk::empty(self.types()[c], order.len())));
        }
        let mut slots = Vec::new();
        for (i, group) in groups.iter().enumerate() {
            if is_far && i % near::LEAVES_AT_ONCE == 0 {
                let few = &groups[i..leaves.min(i + near::LEAVES_AT_ONCE)];
                let places = few.iter().map(|g| (g.leaf_no, g.rows.iter().map(|r| self.split(r.0).1)));
                near::bring_near(&self.heap, places, columns);
            }
            let Some(slot) = self.heap.slot(group.leaf_no) else { continue };
            let state = slot.read();
            let Some(leaf) = state.leaf() else { continue };
            slots.clear();
            let mut patched = false;
            for &(row_id, out) in group.rows {
                let slot = self.split(row_id).1;
                if wanted(leaf, slot, out as usize) {
                    slots.push(slot as u16);
                    place[out as usize] = next;
                    next += 1;
                    patched |= leaf.is_versioned(slot);
                }
            }
            if slots.is_empty() {
                continue;
            }
            if is_scattered && !patched {
                copied.iter_mut().zip(columns).for_each(|(to, &c)| append(to, leaf.column(c), &slots));
                continue;
            }
            let chunks: Vec<std::sync::Arc<Chunk>> = if patched {
                as_seen(leaf, &slots, columns, snapshot).into_iter().map(std::sync::Arc::new).collect()
            } else {
                columns.iter().map(|&c| leaf.column(c).clone()).collect()
            };
            drop(state);
            if patched {
                slots = (0..slots.len() as u16).collect();
            }
            if is_scattered {
                copied.iter_mut().zip(&chunks).for_each(|(to, from)| append(to, from, &slots));
            } else {
                parts.push((chunks, std::mem::take(&mut slots)));
            }
        }
        let all = next as usize == row_ids.len();
        let in_order = all && place.iter().enumerate().all(|(i, p)| *p as usize == i);
        let chunks = (0..columns.len())
            .map(|i| {
                let chunk = match copied.get_mut(i) {
                    Some(copied) => std::mem::replace(copied, Chunk::empty(self.types()[columns[i]], 0)),
                    None => {
                        let mut chunk = self.concat(columns[i], &parts, i);
                        chunk.widen_to(self.types()[columns[i]]);
                        chunk
                    }
                };
                if in_order { chunk } else { arrange(chunk, &place) }
            })
            .collect();
        let seen = (!all).then(|| {
            let mut bits = Bitmap::zeros(row_ids.len());
            place.iter().enumerate().for_each(|(i, p)| bits.set(i, *p != NOWHERE));
            bits
        });
        Fetched { columns: chunks, seen }
    }

    /// As [`Table::fetch_if`] of one row, which is copied under its leaf's latch.
    fn fetch_one(
        &self,
        row_id: u64,
        columns: &[usize],
        snapshot: &Snapshot,
        mut wanted: impl FnMut(&Leaf, usize, usize) -> bool,
    ) -> Fetched {
        let copy = |leaf: &Leaf, slot: usize| -> Option<Vec<Chunk>> {
            if !wanted(leaf, slot, 0) {
                return None;
            }
            let here = [slot as u16];
            let mut chunks = match leaf.is_versioned(slot) {
                true => as_seen(leaf, &here, columns, snapshot),
                false => columns.iter().map(|&c| leaf.column(c).gather(&here)).collect(),
            };
            chunks.iter_mut().zip(columns).for_each(|(chunk, &c)| chunk.widen_to(self.types()[c]));
            Some(chunks)
        };
        match self.rows().with(row_id, copy).flatten() {
            Some(columns) => Fetched { columns, seen: None },
            None => {
                let nothing = |&c: &usize| arrange(Chunk::empty(self.types()[c], 0), &[NOWHERE]);
                Fetched { columns: columns.iter().map(nothing).collect(), seen: Some(Bitmap::zeros(1)) }
            }
        }
    }

    fn concat(&self, column: usize, parts: &[(Vec<std::sync::Arc<Chunk>>, Vec<u16>)], i: usize) -> Chunk {
        if let [(chunks, slots)] = parts {
            return chunks[i].gather(slots);
        }
        let rows = parts.iter().map(|p| p.1.len()).sum();
        let mut out = Chunk::empty(self.types()[column], rows);
        parts.iter().for_each(|(chunks, slots)| append(&mut out, &chunks[i], slots));
        out
    }

    /// The row that `snapshot` sees under each key of a unique index (`index`: its position in the definition), `None`
    /// where there is none. `keys`: one chunk a key part, of the column's physical type; NULL finds nothing.
    pub fn get_many(&self, index: usize, keys: &[&Chunk], rows: usize, snapshot: &Snapshot) -> Vec<Option<u64>> {
        self.indexes().unique[index].get_many(keys, rows, snapshot, self.rows())
    }

    /// The row that `snapshot` sees under the key at `row` of the chunks.
    pub fn get(&self, index: usize, keys: &[&Chunk], row: usize, snapshot: &Snapshot) -> Option<u64> {
        let one: Vec<Chunk> = keys.iter().map(|k| k.gather(&[row as u16])).collect();
        self.get_many(index, &one.iter().collect::<Vec<_>>(), 1, snapshot)[0]
    }
}

const NOWHERE: u32 = u32::MAX;

/// Rows a leaf below which they are scattered.
const SCATTERED_ROWS: usize = 4;

/// Appends values of a leaf. Leaves of one load share dictionaries: codes are enough as long as all have the same.
fn append(out: &mut Chunk, from: &Chunk, slots: &[u16]) {
    if out.is_empty()
        && let Values::Dict(d) = &from.values
    {
        out.values = Values::Dict(vector::DictValues { codes: Vec::with_capacity(slots.len()), dict: d.dict.clone() });
    }
    out.append(from, Rows::At(slots));
}

/// The columns of `slots` as `snapshot` sees them, packed.
fn as_seen(leaf: &Leaf, slots: &[u16], columns: &[usize], snapshot: &Snapshot) -> Vec<Chunk> {
    let mut out: Vec<Chunk> = columns.iter().map(|&c| leaf.column(c).gather(slots)).collect();
    for (i, &slot) in slots.iter().enumerate() {
        leaf.with_seen(slot as usize, snapshot, |at| {
            for (chunk, &c) in out.iter_mut().zip(columns) {
                let (from, j) = at(c);
                if !std::ptr::eq(from, &**leaf.column(c)) {
                    chunk.set(i, from, j);
                }
            }
        });
    }
    out
}

/// `chunk` with its rows at the places wanted; NULL where there is none.
fn arrange(chunk: Chunk, place: &[u32]) -> Chunk {
    if chunk.is_empty() {
        let mut b = vector::ChunkBuilder::new(chunk.values.phys(), place.len());
        place.iter().for_each(|_| b.push_null());
        return b.finish();
    }
    assert!(place.len() <= u16::MAX as usize + 1, "a batch fits u16 positions");
    let positions: Vec<u16> = place.iter().map(|&p| if p == NOWHERE { 0 } else { p as u16 }).collect();
    let mut out = chunk.gather(&positions);
    if place.contains(&NOWHERE) {
        let mut validity = out.validity.take().unwrap_or_else(|| Bitmap::ones(place.len()));
        place.iter().enumerate().filter(|(_, p)| **p == NOWHERE).for_each(|(i, _)| validity.set(i, false));
        out.validity = Some(validity);
    }
    out
}
