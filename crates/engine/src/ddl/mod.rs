//! Schema changes: from syntax trees to definitions, and the statements that publish them.
//!
//! - [`column`], [`index`], [`define`]: CREATE TABLE's clauses to a `catalog::TableDef`, with MySQL's checks.
//! - [`defaults`]: DEFAULT (expr).
//! - [`functional`]: key parts that are expressions.
//! - [`constraints`]: generated columns, checks and foreign keys of it.
//! - [`kept`]: expressions that definitions keep, bound anew.
//! - [`alter`]: ALTER TABLE, CREATE INDEX, DROP INDEX.
//! - [`statements`]: where statements begin, databases; [`tables`], [`views`]: CREATE, DROP, TRUNCATE, RENAME of those.

mod alter;
pub mod column;
mod constraints;
mod defaults;
pub mod define;
mod functional;
pub mod index;
pub mod kept;
pub mod statements;
mod tables;
mod views;
