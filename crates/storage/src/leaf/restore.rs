//! Leaves as they are written to disk, and made again from it.
//!
//! Recovery is alone with its leaves: it makes no versions, and it drops zone maps while it replays and makes them at
//! its end.

use super::Leaf;
use std::sync::Arc;
use vector::{Bitmap, Chunk};

impl Leaf {
    /// A leaf as it was written once.
    pub(crate) fn restored(rows: usize, live: Bitmap, columns: Vec<Chunk>) -> Leaf {
        let mut leaf = Leaf {
            rows,
            live_count: live.count_ones(),
            live,
            columns: columns.into_iter().map(Arc::new).collect(),
            creator: None,
            versions: None,
            shared: None,
        };
        leaf.clear_gone();
        leaf
    }

    /// Older images have the strings of rows that are gone.
    fn clear_gone(&mut self) {
        if self.live_count < self.rows {
            self.clear_free(0..self.rows);
        }
    }

    /// Recovery: has `set` overwrite columns at `slot`, which is made if need be, and lets the row exist or not.
    pub(crate) fn replay(
        &mut self,
        slot: usize,
        live: bool,
        set: impl FnOnce(&mut [Arc<Chunk>]) -> Option<()>,
    ) -> Option<()> {
        if slot >= self.rows {
            self.columns.iter_mut().for_each(|c| crate::image::row::grow(c, slot + 1));
            self.rows = slot + 1;
            self.live.resize(self.rows);
        }
        set(&mut self.columns)?;
        self.live_count += live as usize;
        self.live_count -= self.live.get(slot) as usize;
        self.live.set(slot, live);
        Some(())
    }

    /// Recovery: makes the zone maps that [`Leaf::replay`] dropped, and lets go of the strings of rows that are gone.
    pub(crate) fn end_replay(&mut self) {
        self.clear_gone();
        for chunk in self.columns.iter_mut().filter(|c| c.bounds.is_none()) {
            let chunk = Arc::make_mut(chunk);
            chunk.compute_bounds();
            chunk.narrow();
            chunk.shrink();
        }
    }

    /// Every row's newest version: slots, which of them exist, columns.
    pub(crate) fn contents(&self) -> (usize, Bitmap, Vec<Arc<Chunk>>) {
        (self.rows, self.live.clone(), self.columns.to_vec())
    }
}
