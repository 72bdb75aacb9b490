//! Selection vectors: the positions of a batch that still count.

use crate::Bitmap;

/// Which positions of a batch of `rows` rows are selected.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Selection {
    /// Every position.
    #[default]
    All,
    /// These positions, strictly ascending.
    Some(Vec<u16>),
}

impl Selection {
    /// How many of `rows` positions are selected.
    pub fn count(&self, rows: usize) -> usize {
        match self {
            Selection::All => rows,
            Selection::Some(s) => s.len(),
        }
    }

    pub fn is_empty(&self, rows: usize) -> bool {
        self.count(rows) == 0
    }

    pub fn from_bitmap(bits: &Bitmap) -> Selection {
        let n = bits.count_ones();
        if n == bits.len() {
            return Selection::All;
        }
        let mut s = Vec::with_capacity(n);
        bits.ones_into(&mut s);
        Selection::Some(s)
    }

    /// Calls `f` with each selected position, ascending.
    #[inline]
    pub fn for_each(&self, rows: usize, mut f: impl FnMut(usize)) {
        match self {
            Selection::All => (0..rows).for_each(f),
            Selection::Some(s) => s.iter().for_each(|&i| f(i as usize)),
        }
    }

    /// The selected positions numbered `rows`, which ascend.
    pub fn numbered(&self, rows: &[u32]) -> Selection {
        Selection::Some(match self {
            Selection::All => rows.iter().map(|&j| j as u16).collect(),
            Selection::Some(s) => rows.iter().map(|&j| s[j as usize]).collect(),
        })
    }

    /// The selected positions as an explicit list.
    pub fn to_positions(&self, rows: usize) -> Vec<u16> {
        match self {
            Selection::All => (0..rows as u16).collect(),
            Selection::Some(s) => s.clone(),
        }
    }
}
