//! Statements that change rows.
//!
//! - [`table_writer`]: the one way into a table's rows, which keeps what the definition promises of them.
//! - [`convert`]: values into the types of columns; [`whole`]: columns of values.
//! - [`writer`]: rows of values to chunks: defaults, batches; [`columns`]: batches of a query; [`auto_increment`].
//! - [`rules`]: generated columns and CHECK constraints; [`foreign_key`]: references in both directions.
//! - [`insert`]: INSERT and REPLACE; [`values`]: their rows of expressions; [`on_duplicate`]: what they do with duplicates; [`returning`]: RETURNING.
//! - [`source`]: a query as the source of rows (also CREATE TABLE ... SELECT).
//! - [`targets`]: finding and locking the rows that UPDATE and DELETE change; [`key_locks`]: what was looked for by key;
//!   [`keyed`]: the row of a whole unique key, without a plan.
//! - [`update`], [`delete`]: the statements. [`counted`]: how many rows they changed, by table and index.

mod auto_increment;
mod columns;
mod convert;
mod counted;
mod delete;
mod foreign_key;
mod insert;
mod key_locks;
mod keyed;
mod on_duplicate;
mod returning;
mod rules;
pub mod source;
mod table_writer;
pub(crate) mod targets;
mod update;
mod values;
mod whole;
mod writer;

pub(crate) use auto_increment::AutoIncrement;
pub(crate) use convert::{Converter, now, store, stored_form};
pub(crate) use delete::DeletePlan;
pub(crate) use foreign_key::referenced_index;
pub(crate) use key_locks::{KeyLocks, StatementLocks};
pub(crate) use on_duplicate::OnDuplicate;
pub(crate) use table_writer::same;
pub(crate) use types::value::zero_of;
pub(crate) use update::UpdatePlan;
pub(crate) use writer::{RowWriter, WriteMode, Written};

impl crate::session::Execution<'_> {
    /// A statement that changes rows begins: in strict mode a fault in a value, such as 1/0, is an error, unless it says
    /// IGNORE.
    pub(crate) fn begin_judging(&self, ignore: bool) {
        self.warnings().set_raise(self.sql_mode().strict && !ignore);
        self.warnings().set_ignore(ignore);
    }
}
