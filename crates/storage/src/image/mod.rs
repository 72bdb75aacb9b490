//! Rows and leaves as bytes.
//!
//! - [`row`]: one row, or some columns of one: what a change is in the redo log (and in whatever else tells others of
//!   changes). Position and table are the caller's.
//! - [`leaf`]: all rows of a leaf, column by column, compressed: what a checkpoint and a load write.
//!
//! Both know only physical types. A table id stands for one column layout for ever, so these bytes never go stale.

pub mod leaf;
pub mod row;

#[cfg(test)]
mod tests;
