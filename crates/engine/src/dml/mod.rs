//! Statements that add rows.
//!
//! - [`writer`]: values to chunks of the table's types, AUTO_INCREMENT, defaults, and into storage in batches.
//! - [`insert`]: INSERT ... VALUES and INSERT ... SELECT.
//! - [`source`]: a query as the source of rows (also CREATE TABLE ... SELECT).

mod insert;
pub mod source;
mod writer;

pub(crate) use writer::{now, stored_form, zero_of};
