//! Statements that change rows.
//!
//! - [`table_writer`]: the one way into a table's rows, which keeps what the definition promises of them.
//! - [`convert`]: values into the types of columns.
//! - [`writer`]: rows of values to chunks: AUTO_INCREMENT, defaults, batches.
//! - [`insert`]: INSERT ... VALUES and INSERT ... SELECT.
//! - [`source`]: a query as the source of rows (also CREATE TABLE ... SELECT).
//! - [`targets`]: finding and locking the rows that UPDATE and DELETE change.
//! - [`update`], [`delete`]: the statements.

mod convert;
mod delete;
mod insert;
pub mod source;
mod table_writer;
pub(crate) mod targets;
mod update;
mod writer;

pub(crate) use convert::{now, stored_form, zero_of};
