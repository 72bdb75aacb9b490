//! From a transaction's changes to row images, and back into leaves.
//!
//! ```text
//!   body = op | op | ...
//!   op   = | kind 1 | table id, leaf, slot: varints | length of the image 4 | image |
//! ```
//! An image is made at commit, when the transaction still holds its rows: of each row that it changed, what the whole
//! transaction came to. How often it changed the row does not matter, nor in which order it changed several.
//!
//! - insert: the row, all columns;
//! - update: the columns that changed; their numbers come first (count and each, varints);
//! - delete: nothing;
//! - leaf: all rows of a leaf that the transaction loaded (see [`crate::image::leaf`]); slot is 0.
//!
//! Applying an op twice, or on a leaf that has it already, changes nothing.

use crate::image::{leaf as leaf_image, row};
use crate::leaf::Leaf;
use crate::log::segment::Images;
use crate::table::Table;
use crate::txn::{Change, Txn};
use crate::undo::UndoKind;
use disk::codec::{Get, Put};
use std::sync::Arc;
use types::PhysType;
use vector::Chunk;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OpKind {
    Insert = 1,
    Update = 2,
    Delete = 3,
    Leaf = 4,
}

/// One change of a log record.
#[derive(Clone, Copy, Debug)]
pub struct Op<'a> {
    pub kind: OpKind,
    pub table: u64,
    pub leaf_no: u64,
    pub slot: usize,
    pub image: &'a [u8],
}

/// The next op of a body; `None` if the bytes are none.
pub fn next_op<'a>(get: &mut Get<'a>) -> Option<Op<'a>> {
    let kind = match get.u8()? {
        1 => OpKind::Insert,
        2 => OpKind::Update,
        3 => OpKind::Delete,
        4 => OpKind::Leaf,
        _ => return None,
    };
    let (table, leaf_no) = (get.varint()?, get.varint()?);
    let slot = get.count(vector::BATCH_ROWS_MAX - 1)?;
    let len = get.u32()? as usize;
    Some(Op { kind, table, leaf_no, slot, image: get.take(len)? })
}

fn put_op(kind: OpKind, table: u64, leaf_no: u64, slot: usize, out: &mut Vec<u8>, image: impl FnOnce(&mut Vec<u8>)) {
    out.put_u8(kind as u8);
    out.put_varint(table);
    out.put_varint(leaf_no);
    out.put_varint(slot as u64);
    let len_at = out.len();
    out.put_u32(0);
    image(out);
    let len = u32::try_from(out.len() - len_at - 4).expect("an image is below 4 GiB");
    out[len_at..len_at + 4].copy_from_slice(&len.to_le_bytes());
}

/// Leaves of a load are compressed so many at a time.
const LEAVES_A_ROUND: usize = 256;
/// Fewer leaves than twice this are encoded by the committing thread alone.
const LEAVES_A_THREAD: usize = 8;

/// What a transaction made of a row, all in all.
enum Net {
    Nothing,
    Insert,
    Update(Vec<u16>),
    Delete,
}

/// Walks the transaction's own records of the row, newest first.
fn net(leaf: &Leaf, slot: usize, txn: &Txn) -> Net {
    let mut columns: Vec<u16> = Vec::new();
    let mut existed = true;
    let mut own = false;
    let mut chain = leaf.newest(slot);
    while let Some(undo) = chain.filter(|u| u.txn.id() == txn.id()) {
        own = true;
        match &undo.kind {
            UndoKind::Insert => existed = false,
            UndoKind::Delete => existed = true,
            UndoKind::Update(image) => {
                for (c, ..) in leaf.before(*image).each() {
                    if !columns.contains(&(c as u16)) {
                        columns.push(c as u16);
                    }
                }
            }
            UndoKind::Lock => {}
        }
        chain = undo.next.as_deref();
    }
    match (own && existed, leaf.is_live(slot)) {
        _ if !own => Net::Nothing,
        (true, true) if columns.is_empty() => Net::Nothing,
        (true, true) => Net::Update(columns),
        (true, false) => Net::Delete,
        (false, true) => Net::Insert,
        (false, false) => Net::Nothing,
    }
}

impl Table {
    /// Appends the ops of `txn`'s changes of this table. `changes` is put in order.
    pub(crate) fn put_changes(&self, txn: &Txn, changes: &mut Vec<Change>, out: &mut Images) {
        changes.sort_unstable_by_key(|c| match c {
            Change::Leaf { leaf_no } => (*leaf_no, 0, 0),
            Change::Row { leaf_no, slot } => (*leaf_no, 1, *slot),
        });
        changes.dedup();
        let mut loaded: Vec<u64> = Vec::new();
        for of_leaf in changes.chunk_by(|a, b| a.leaf_no() == b.leaf_no()) {
            let leaf_no = of_leaf[0].leaf_no();
            if matches!(of_leaf[0], Change::Leaf { .. }) {
                // The leaf is the transaction's own: its image has all that happened to its rows since.
                loaded.push(leaf_no);
            } else {
                self.put_row_ops(leaf_no, txn, of_leaf, out.buffer());
                out.cut_if_long();
            }
        }
        self.put_leaf_ops(&loaded, out);
    }

    /// Images of a load. Compressing them takes about as long as loading, so all cores help.
    fn put_leaf_ops(&self, leaves: &[u64], out: &mut Images) {
        // Asking for the cores reads files: not for a commit of some rows.
        let threads = match leaves.len() / LEAVES_A_THREAD {
            0 | 1 => 1,
            worth => std::thread::available_parallelism().map_or(1, |n| n.get()).min(worth),
        };
        for round in leaves.chunks(LEAVES_A_ROUND) {
            if threads < 2 {
                round.iter().for_each(|leaf_no| self.put_leaf_op(*leaf_no, out.buffer()));
            } else {
                let pieces: Vec<Vec<u8>> = std::thread::scope(|s| {
                    let piece = |leaves: &[u64]| {
                        let mut bytes = Vec::new();
                        leaves.iter().for_each(|leaf_no| self.put_leaf_op(*leaf_no, &mut bytes));
                        bytes
                    };
                    let pieces = round.chunks(round.len().div_ceil(threads));
                    let handles: Vec<_> = pieces.map(|leaves| s.spawn(move || piece(leaves))).collect();
                    handles.into_iter().map(|h| h.join().expect("a piece does not panic")).collect()
                });
                pieces.iter().for_each(|p| out.buffer().extend_from_slice(p));
            }
            out.cut_if_long();
        }
    }

    fn put_leaf_op(&self, leaf_no: u64, out: &mut Vec<u8>) {
        let Some((rows, live, columns)) = self.slot(leaf_no).read().leaf().map(Leaf::contents) else { return };
        put_op(OpKind::Leaf, self.def().id.0, leaf_no, 0, out, |out| {
            leaf_image::put(rows, &live, columns.iter().map(|c| &**c), out);
        });
    }

    fn put_row_ops(&self, leaf_no: u64, txn: &Txn, changes: &[Change], out: &mut Vec<u8>) {
        let (id, types) = (self.def().id.0, self.types());
        let state = self.slot(leaf_no).read();
        let Some(leaf) = state.leaf() else { return };
        for change in changes {
            let Change::Row { slot, .. } = change else { continue };
            let slot = *slot as usize;
            let at = |c: usize| (&**leaf.column(c), slot);
            match net(leaf, slot, txn) {
                Net::Nothing => {}
                Net::Delete => put_op(OpKind::Delete, id, leaf_no, slot, out, |_| {}),
                Net::Insert => {
                    put_op(OpKind::Insert, id, leaf_no, slot, out, |out| row::put(types, 0..types.len(), at, out))
                }
                Net::Update(columns) => put_op(OpKind::Update, id, leaf_no, slot, out, |out| {
                    out.put_varint(columns.len() as u64);
                    columns.iter().for_each(|c| out.put_varint(*c as u64));
                    row::put(types, columns.iter().map(|c| *c as usize), at, out);
                }),
            }
        }
    }
}

/// Applies an op to a leaf that is being recovered. `None`: the image is none of this table.
pub fn apply(op: &Op<'_>, types: &[PhysType], capacity: usize, leaf: &mut Leaf) -> Option<()> {
    let mut get = Get(op.image);
    let columns: Vec<usize> = match op.kind {
        OpKind::Insert => (0..types.len()).collect(),
        OpKind::Update => {
            let n = get.count(types.len())?;
            (0..n).map(|_| get.count(types.len() - 1)).collect::<Option<_>>()?
        }
        OpKind::Delete => Vec::new(),
        OpKind::Leaf => return None,
    };
    if op.slot >= capacity {
        return None;
    }
    leaf.replay(op.slot, op.kind != OpKind::Delete, |chunks: &mut [Arc<Chunk>]| {
        row::set(&mut get, types, columns.into_iter(), chunks, op.slot)
    })?;
    get.is_empty().then_some(())
}
