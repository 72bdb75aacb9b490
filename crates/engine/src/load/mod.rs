//! LOAD DATA: text into leaves, on all cores.
//!
//! ```text
//!   input ─ blocks::BlockReader ─▶ block 0 ─▶ worker ─ fields ─ columns ─▶ BulkAppender ─▶ leaves
//!           cuts at line ends      block 1 ─▶ worker ─ ...
//! ```
//! - [`format`]: the FIELDS and LINES clauses, checked.
//! - [`blocks`]: the input cut into blocks of whole lines, some MiB each, in order.
//! - [`fields`]: the lines and fields of a block: terminators, enclosing, escapes, NULL.
//! - [`columns`]: text to a column: fast paths for the usual forms, MySQL's conversion for the rest.
//! - [`run`]: the threads; row numbers, warnings and errors in the order of the input, though blocks are not.
//! - [`rows`]: row by row instead, for REPLACE, SET over columns, and tables with rules.
//! - [`statement`]: the statement: names, defaults, SET, counts.
//!
//! A block is a piece of the load in the sense of [`storage::BulkAppender::set_piece`].
//!
//! Source: MySQL 8.4 manual, "LOAD DATA Statement".

mod blocks;
mod columns;
mod fields;
mod format;
mod rows;
mod run;
mod source;
mod statement;
#[cfg(test)]
mod tests;
