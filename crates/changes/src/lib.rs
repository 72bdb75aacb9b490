//! Changes of a table's rows: the one door through which rows come, change and go.
//!
//! ```text
//!   given values ─▶ the columns' types ─▶ defaults, AUTO_INCREMENT ─▶ generated columns ─▶ CHECK
//!                ─▶ storage (keys, locks, versions) ─▶ foreign keys, both directions
//! ```
//! Between generated columns and CHECK is where a row's partition will be chosen and BEFORE triggers will run; behind
//! the foreign keys, AFTER triggers and the notes of a change stream.
//!
//! - [`statement`]: what is asked of the statement that changes rows.
//! - [`table`]: chunks of converted values into a table's rows, which keeps what the definition promises of them.
//! - [`convert`]: values into the types of columns; [`whole`]: columns of values; [`defaults`].
//! - [`writer`]: rows that come, to chunks; [`columns`]: batches of a query; [`auto_increment`]; [`duplicate`]: what
//!   becomes of a row whose key exists.
//! - [`flat`]: single rows whose values a statement gives, without all of that where nothing of it is needed.
//! - [`rules`]: generated columns and CHECK constraints; [`foreign_key`]: references in both directions.
//!
//! What statements are called and how they find their rows is not known here: there is no syntax and no session.

mod auto_increment;
mod columns;
mod convert;
mod defaults;
mod duplicate;
pub mod flat;
mod foreign_key;
mod rules;
mod statement;
mod table;
mod whole;
mod writer;

pub use auto_increment::AutoIncrement;
pub use convert::{Converter, Stored, now, store, stored_form};
pub use defaults::default_chunk;
pub use duplicate::{AssignedValue, DuplicateUpdate, EachTime, OnDuplicate};
pub use foreign_key::check_own_references;
pub use rules::RowCheck;
pub use statement::{Settings, Statement};
pub use table::{TableChanges, generated_takes_no_value, same};
pub use writer::{RowWriter, RowsChanged, WriteMode, Written, check_not_generated};
