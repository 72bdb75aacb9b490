//! Definitions of tables: from syntax trees to `catalog::TableDef`, with MySQL's checks.
//!
//! ```text
//!   CREATE TABLE ─ syntax tree ─▶ define ─ columns, indexes, generated columns, CHECK, foreign keys ─▶ TableDef
//!   ALTER TABLE ─ the old definition's syntax tree ─▶ alter::Edit ─ syntax tree ─▶ define
//! ```
//! - [`define`], [`column`], [`index`]: CREATE TABLE's clauses.
//! - [`defaults`]: DEFAULT (expr); [`functional`]: key parts that are expressions.
//! - [`constraints`]: generated columns, checks and foreign keys; [`kept`]: expressions that definitions keep as texts.
//! - [`alter`]: a table's syntax tree under the clauses of ALTER TABLE, and what other tables refer to.
//!
//! Invariant: a definition is made or refused here, and published elsewhere: nothing is locked, logged or stored.

pub mod alter;
pub mod column;
pub mod constraints;
pub mod defaults;
pub mod define;
pub mod functional;
pub mod index;
pub mod kept;
