//! Statements that change rows: their names, their plans and their answers. What becomes of the rows is the crate
//! `changes`' to say, which has this side of it in [`statement`].
//!
//! - [`insert`]: INSERT and REPLACE; [`values`]: their rows of expressions; [`on_duplicate`]: what they do with
//!   duplicates; [`returning`]: RETURNING.
//! - [`source`]: a query as the source of rows (also CREATE TABLE ... SELECT).
//! - [`targets`]: finding and locking the rows that UPDATE and DELETE change; [`key_locks`]: what was looked for by
//!   key; [`keyed`]: the row of a whole unique key, without a plan.
//! - [`update`], [`delete`]: the statements. [`counted`]: how many rows they changed, by table and index.

mod counted;
mod delete;
mod insert;
mod key_locks;
mod keyed;
mod on_duplicate;
mod returning;
pub mod source;
mod statement;
pub(crate) mod targets;
mod update;
mod values;

pub(crate) use delete::DeletePlan;
pub(crate) use key_locks::{KeyLocks, StatementLocks};
pub(crate) use update::UpdatePlan;

use changes::RowCheck;
use planner::bind::ViewCheck;
use types::Error;

/// What views demand of rows that are written through them.
fn row_checks(checks: &[ViewCheck]) -> Vec<RowCheck> {
    let check = |v: &ViewCheck| RowCheck {
        condition: v.condition.clone(),
        error: Error::view_check_failed(&v.view.0, &v.view.1),
    };
    checks.iter().map(check).collect()
}

impl crate::session::Execution<'_> {
    /// A statement that changes rows begins: in strict mode a fault in a value, such as 1/0, is an error, unless it
    /// says IGNORE.
    pub(crate) fn begin_judging(&self, ignore: bool) {
        self.warnings().set_raise(self.sql_mode().strict && !ignore);
        self.warnings().set_ignore(ignore);
    }
}
