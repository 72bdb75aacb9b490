//! Vectors and batches.

use crate::{Chunk, Selection, Values};
use std::sync::Arc;
use types::{SqlType, Value};

/// A column of a batch.
#[derive(Clone, Debug)]
pub enum Vector {
    Flat(Arc<Chunk>),
    /// The single value of a one-row chunk, at every position.
    Const(Arc<Chunk>),
}

impl Vector {
    pub fn flat(chunk: Chunk) -> Vector {
        Vector::Flat(Arc::new(chunk))
    }

    /// The chunk and whether position `i` is to be read at 0.
    #[inline]
    pub fn chunk(&self) -> (&Arc<Chunk>, bool) {
        match self {
            Vector::Flat(c) => (c, false),
            Vector::Const(c) => (c, true),
        }
    }

    #[inline]
    pub fn is_valid(&self, i: usize) -> bool {
        match self {
            Vector::Flat(c) => c.is_valid(i),
            Vector::Const(c) => c.is_valid(0),
        }
    }

    pub fn value(&self, i: usize, ty: &SqlType) -> Value {
        match self {
            Vector::Flat(c) => c.value(i, ty),
            Vector::Const(c) => c.value(0, ty),
        }
    }

    /// The values at `positions`; a constant stays one.
    pub fn gather(&self, positions: &[u16]) -> Vector {
        match self {
            Vector::Flat(c) => Vector::flat(c.gather(positions)),
            Vector::Const(_) => self.clone(),
        }
    }

    /// A flat chunk of `rows` positions.
    pub fn flatten(&self, rows: usize) -> Arc<Chunk> {
        match self {
            Vector::Flat(c) => c.clone(),
            Vector::Const(c) => Arc::new(c.gather(&vec![0; rows])),
        }
    }

    /// The bytes at `i` of a string vector, NULL positions unspecified.
    ///
    /// # Panics
    /// If the vector holds no strings.
    #[inline]
    pub fn bytes(&self, i: usize) -> &[u8] {
        let (chunk, constant) = self.chunk();
        let i = if constant { 0 } else { i };
        match &chunk.values {
            Values::Str(s) => s.bytes(i),
            Values::Dict(d) => d.bytes(i),
            other => panic!("bytes() of a {:?} vector", other.phys()),
        }
    }
}

/// Rows in flight.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// Positions, selected or not.
    pub rows: usize,
    pub columns: Vec<Vector>,
    pub selection: Selection,
}

impl Batch {
    pub fn new(rows: usize, columns: Vec<Vector>) -> Batch {
        Batch { rows, columns, selection: Selection::All }
    }

    /// Selected rows.
    pub fn count(&self) -> usize {
        self.selection.count(self.rows)
    }

    /// The selected rows alone, packed: selection becomes `All`.
    pub fn compact(&self) -> Batch {
        match &self.selection {
            Selection::All => self.clone(),
            Selection::Some(s) => Batch::new(s.len(), self.columns.iter().map(|c| c.gather(s)).collect()),
        }
    }
}
