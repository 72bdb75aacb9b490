//! Definitions that outlive the process.
//!
//! ```text
//!   DDL ─▶ Catalog::write ─▶ next schemas ─▶ Journal: what differs, encoded ─▶ redo log, synced ─▶ published
//!   start: redo log, checkpoint ─▶ bytes ─▶ definitions, their expressions bound anew ─▶ catalog
//! ```
//! - [`objects`]: an object as the bytes that are logged, and back. [`old_texts`]: as former formats had them.
//! - [`journal`]: logs what a change of the catalog or of the accounts comes to.
//! - [`open`]: a database from its folder.
//! - [`backup`]: BACKUP TO.
//!
//! A statement's DDL is one change of the catalog, so it is one log record: after a crash it happened or it did not.
//! Rows are logged by table id; CREATE TABLE ... SELECT fills a table that no name leads to, and rows without a
//! definition are dropped at the next start.

mod backup;
pub mod journal;
mod objects;
mod old_texts;
pub mod open;
