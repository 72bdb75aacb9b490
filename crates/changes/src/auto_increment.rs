//! The AUTO_INCREMENT values of one statement.
//!
//! They are taken from the table's counter as innodb_autoinc_lock_mode says of modes 1 and 2: a statement that knows
//! how many rows it brings takes that many consecutive ones when it needs the first, others take as many as they need
//! at a time. Of the counter's values those count that are `auto_increment_offset` modulo `auto_increment_increment`.
//! What is taken is not given back.

use catalog::TableDef;
use storage::Table;
use types::{Error, Result, SqlType};

/// See the module head.
#[derive(Clone, Debug)]
pub struct AutoIncrement {
    /// Its position in the definition.
    pub column: usize,
    ty: SqlType,
    step: u64,
    offset: u64,
    /// Values taken from the table's counter and not used yet: the next one, and how many.
    next: u64,
    left: u64,
    /// The greatest value that a row came with.
    greatest_given: u64,
}

impl AutoIncrement {
    /// `None`: the table has no such column. `step`, `offset`: auto_increment_increment and auto_increment_offset.
    pub fn of(def: &TableDef, step: u64, offset: u64) -> Option<AutoIncrement> {
        let column = def.columns.iter().position(|c| c.auto_increment)?;
        Some(AutoIncrement::new(column, def.columns[column].ty, step, offset))
    }

    /// Of a column of this type.
    pub fn new(column: usize, ty: SqlType, step: u64, offset: u64) -> AutoIncrement {
        AutoIncrement { column, ty, step, offset, next: 0, left: 0, greatest_given: 0 }
    }

    /// A row has this value, which was not generated: the next ones lie behind it.
    pub fn given(&mut self, value: u64) {
        self.greatest_given = self.greatest_given.max(value);
        if self.left > 0 && value >= self.next {
            let passed = (value - self.next) / self.step + 1;
            self.left = self.left.saturating_sub(passed);
            self.next = self.next.saturating_add(passed.saturating_mul(self.step));
        }
    }

    /// Whether the next value has to be taken from the table's counter.
    pub fn is_spent(&self) -> bool {
        self.left == 0
    }

    /// SET insert_id names the first value; the others of the statement follow it.
    pub fn begin_at(&mut self, first: u64) {
        (self.next, self.left) = (first, u64::from(u32::MAX));
    }

    /// The next value. `wanted`: so many at least will be needed, with this one. Error 1467 if there is none.
    pub fn take(&mut self, table: &Table, wanted: u64) -> Result<u64> {
        if self.left == 0 {
            // The table learns of given values when their rows are in it; those of a batch in the making are not yet.
            table.observe_auto_increment(self.greatest_given);
            self.left = wanted.max(1);
            // Of `step` consecutive values exactly one is offset modulo step.
            let first = table.reserve_auto_increment(self.step.saturating_mul(self.left));
            self.next = first.saturating_add((self.offset + self.step - first % self.step) % self.step);
        }
        let n = self.next;
        self.next = self.next.saturating_add(self.step);
        self.left -= 1;
        self.checked(n)
    }

    /// Whether the table's counter has `n` values left that the type holds.
    pub fn has_room_for(&self, table: &Table, n: u64) -> bool {
        let SqlType::Int { size, unsigned } = self.ty else { return false };
        let first = table.auto_increment().max(self.next).max(self.greatest_given);
        let last = i128::from(first) + i128::from(self.step) * i128::from(n + 1);
        last <= size.range(unsigned).1
    }

    /// `value` was not used after all: the next row gets it, unless a row has it or a greater one by now.
    pub fn give_back(&mut self, value: u64) {
        if value > self.greatest_given {
            self.next = value;
            self.left += 1;
        }
    }

    /// What the column gets whose next value is `next`: beyond its type it is the greatest once more, which mostly is a
    /// duplicate then, as in InnoDB. Error 1467 where 64 bits are used up, or where it is none of the series of `step`.
    fn checked(&self, next: u64) -> Result<u64> {
        match &self.ty {
            _ if next == u64::MAX => Err(Error::autoinc_read_failed()),
            SqlType::Int { size, unsigned } => match size.range(*unsigned).1 {
                max if i128::from(next) <= max => Ok(next),
                max if self.step == 1 => Ok(max as u64),
                _ => Err(Error::autoinc_read_failed()),
            },
            _ => Ok(next),
        }
    }
}
