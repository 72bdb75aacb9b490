//! Chunks, vectors and batches: the form in which rows travel from leaves to operators.
//!
//! ```text
//!   leaf (storage)              batch (executor)
//!   ┌ Arc<Chunk> col 0 ┐  clone  ┌ Vector::Flat(Arc<Chunk>) ┐
//!   │ Arc<Chunk> col 1 │ ──────▶ │ Vector::Flat(Arc<Chunk>) │  + selection: which of the rows count
//!   └ Arc<Chunk> col 2 ┘         └ Vector::Const(..)        ┘
//! ```
//!
//! A [`Chunk`] is one column of up to [`BATCH_ROWS_MAX`] rows: plain values, optional validity, optional bounds. A
//! [`Vector`] is a chunk, or one value repeated. A [`Batch`] is a set of vectors of one length and a [`Selection`].
//!
//! Invariants
//! 1. Every vector of a batch has exactly `batch.rows` positions; the selection holds strictly increasing positions
//!    below it. Expressions are *position aligned*: a result has a value at each selected position, and unspecified
//!    (but initialized) values elsewhere. A filter only narrows the selection; nothing is moved.
//! 2. Values at NULL positions are unspecified but initialized; kernels compute over them where that is cheaper.
//! 3. DECIMAL values in flight may lie in a narrower array than their type's canonical form (I64 for I128/I256, I128
//!    for I256). Consumers widen. Integer-like values of stored chunks may lie in any narrower array of their family
//!    ([`is_narrower`]); what storage hands out by key or id, and scans to what is above them, is widened.
//! 4. String views are relocatable: they name a block of the chunk's own heap, never an address.

mod batch;
mod bitmap;
mod carrier;
mod chunk;
mod edit;
pub mod hash;
mod selection;
mod str_heap;
mod strings;
mod values;

pub use batch::{Batch, Vector};
pub use bitmap::Bitmap;
pub use carrier::is_narrower;
pub use chunk::{Bounds, Chunk, ChunkBuilder};
pub use edit::Rows;
pub use selection::Selection;
pub use str_heap::{OWN_BLOCK_BYTES_MIN, StrHeap};
pub use strings::{DictValues, INLINE_BYTES_MAX, StrValues, StrView, StringDict};
pub use values::{Native, Values};

/// The most rows a leaf or batch can have.
pub const BATCH_ROWS_MAX: usize = 1024;
