//! Schema changes: the statements that publish definitions (the crate `definitions` makes them of syntax trees).
//!
//! - [`alter`]: ALTER TABLE, CREATE INDEX, DROP INDEX.
//! - [`statements`]: where statements begin, databases; [`tables`], [`views`]: CREATE, DROP, TRUNCATE, RENAME of those.

mod alter;
pub mod statements;
mod tables;
mod views;
