//! Statements that change rows.
//!
//! - [`table_writer`]: the one way into a table's rows, which keeps what the definition promises of them.
//! - [`convert`]: values into the types of columns.
//! - [`writer`]: rows of values to chunks: AUTO_INCREMENT, defaults, batches.
//! - [`rules`]: generated columns and CHECK constraints; [`foreign_key`]: references in both directions.
//! - [`insert`]: INSERT and REPLACE; [`values`]: their rows of expressions; [`on_duplicate`]: what they do with duplicates; [`returning`]: RETURNING.
//! - [`source`]: a query as the source of rows (also CREATE TABLE ... SELECT).
//! - [`targets`]: finding and locking the rows that UPDATE and DELETE change; [`key_locks`]: what was looked for by key;
//!   [`keyed`]: the row of a whole unique key, without a plan.
//! - [`update`], [`delete`]: the statements. [`counted`]: how many rows they changed, by table and index.

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
mod writer;

pub(crate) use convert::{Converter, fixed_digits, is_below_zero, now, stored_form, wide_type};
pub(crate) use delete::DeletePlan;
pub(crate) use foreign_key::referenced_index;
pub(crate) use key_locks::{KeyLocks, StatementLocks};
pub(crate) use on_duplicate::OnDuplicate;
pub(crate) use table_writer::same;
pub(crate) use types::value::zero_of;
use types::{Error, Result, SqlType};
pub(crate) use update::UpdatePlan;
pub(crate) use writer::{RowWriter, WriteMode, Written};

impl crate::session::Session {
    /// A statement that changes rows begins: in strict mode a fault in a value, such as 1/0, is an error, unless it says
    /// IGNORE.
    pub(crate) fn begin_judging(&self, ignore: bool) {
        self.warnings().set_raise(self.sql_mode().strict && !ignore);
        self.warnings().set_ignore(ignore);
    }
}

/// What an AUTO_INCREMENT column gets whose next value is `next`: beyond its type it is the greatest once more, which mostly is a
/// duplicate then, as in InnoDB. Error 1467 where 64 bits are used up, or where it is none of the series of `step`.
pub(crate) fn generated_value(next: u64, ty: &SqlType, step: u64) -> Result<u64> {
    match ty {
        _ if next == u64::MAX => Err(Error::autoinc_read_failed()),
        SqlType::Int { size, unsigned } => match size.range(*unsigned).1 {
            max if i128::from(next) <= max => Ok(next),
            max if step == 1 => Ok(max as u64),
            _ => Err(Error::autoinc_read_failed()),
        },
        _ => Ok(next),
    }
}
