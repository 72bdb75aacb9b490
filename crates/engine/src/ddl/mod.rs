//! Schema changes: from syntax trees to definitions, and the statements that publish them.
//!
//! - [`column`], [`index`], [`define`]: CREATE TABLE's clauses to a `catalog::TableDef`, with MySQL's checks.
//! - [`statements`]: CREATE, DROP, TRUNCATE, RENAME of databases, tables and views.
//! - [`show_create`]: definitions back to text.

pub mod column;
pub mod define;
pub mod index;
pub mod show_create;
pub mod statements;
