//! What the network keeps of a connection's prepared statements: the types of their parameters, long data that came
//! ahead of an execution, open cursors. The statements themselves are the session's.
//!
//! ```text
//!   prepared ─ SEND_LONG_DATA* ─▶ with long data ─ EXECUTE ─▶ prepared
//!            ─ EXECUTE with a cursor ─▶ open cursor ─ FETCH* ─▶ (last row sent) prepared
//!   RESET: long data and cursor go. CLOSE: all goes.
//! ```
//! A cursor holds its rows as they will be sent, so the tables may change while the client fetches, as in MySQL, where
//! a cursor is a temporary table.

use std::collections::HashMap;
use std::sync::Arc;

use executor::{MemoryAccountant, Reservation};
use protocol::statement::ParamType;
use types::{Error, Result};

/// One prepared statement.
#[derive(Default)]
pub(super) struct Statement {
    /// Of the last execution.
    pub(super) types: Vec<ParamType>,
    long_data: Vec<(u16, Vec<u8>)>,
    /// What the long data takes.
    memory: Option<Reservation>,
    /// What went wrong with long data, which has no answer of its own: the next execution tells.
    fault: Option<Error>,
    pub(super) cursor: Option<Cursor>,
}

impl Statement {
    /// COM_STMT_SEND_LONG_DATA: `len_max` bytes a parameter at most. What it takes is charged to `accountant`.
    pub(super) fn add_long_data(
        &mut self,
        parameter: u16,
        param_count: u16,
        data: &[u8],
        len_max: usize,
        accountant: &Arc<MemoryAccountant>,
    ) {
        if self.fault.is_some() {
            return;
        }
        if parameter >= param_count {
            self.fault = Some(Error::wrong_arguments("mysqld_stmt_send_long_data"));
            return;
        }
        if !self.charge(data.len(), accountant) {
            self.forget_long_data();
            self.fault = Some(Error::out_of_resources());
            return;
        }
        let at = self.long_data.iter().position(|(p, _)| *p == parameter).unwrap_or_else(|| {
            self.long_data.push((parameter, Vec::new()));
            self.long_data.len() - 1
        });
        let bytes = &mut self.long_data[at].1;
        if bytes.len() + data.len() > len_max {
            self.fault = Some(Error::new(
                types::ErrorCode::UNKNOWN,
                "Parameter of prepared statement which is set through mysql_send_long_data() is longer than 'max_allowed_packet' bytes",
            ));
            return;
        }
        bytes.extend_from_slice(data);
    }

    /// Charges the long data and so many bytes more; as much again for the values made of it as they are read, and as
    /// they are used.
    fn charge(&mut self, more: usize, accountant: &Arc<MemoryAccountant>) -> bool {
        let bytes = more + self.long_data.iter().map(|(_, bytes)| bytes.len()).sum::<usize>();
        bytes < CHARGED_BYTES_MIN
            || self.memory.get_or_insert_with(|| Reservation::new(accountant)).try_resize(bytes.saturating_mul(3))
    }

    pub(super) fn long_data(&self, parameter: usize) -> Option<&[u8]> {
        self.long_data.iter().find(|(p, _)| usize::from(*p) == parameter).map(|(_, bytes)| &bytes[..])
    }

    /// The fault, with which the long data goes.
    pub(super) fn take_fault(&mut self) -> Result<()> {
        let Some(fault) = self.fault.take() else { return Ok(()) };
        self.forget_long_data();
        Err(fault)
    }

    /// An execution has taken the long data; what it is charged for lasts as long as the values.
    pub(super) fn take_long_data(&mut self) -> Option<Reservation> {
        self.long_data = Vec::new();
        self.memory.take()
    }

    fn forget_long_data(&mut self) {
        self.take_long_data();
    }

    /// COM_STMT_RESET
    pub(super) fn reset(&mut self) {
        self.forget_long_data();
        self.fault = None;
        self.cursor = None;
    }
}

/// Less long data than this, of one statement, is not charged.
const CHARGED_BYTES_MIN: usize = 64 << 10;

pub(super) type Statements = HashMap<u32, Statement>;

/// Rows that wait to be fetched.
#[derive(Default)]
pub(super) struct Cursor {
    /// Payloads, each behind its length.
    rows: Vec<u8>,
    at: usize,
    memory: Option<Reservation>,
}

const LEN_BYTES: usize = 4;

impl Cursor {
    /// `memory`: what the rows are charged to.
    pub(super) fn new(memory: Option<Reservation>) -> Cursor {
        Cursor { memory, ..Cursor::default() }
    }

    /// Adds a row; error 3170 if there is no memory for the rows.
    pub(super) fn push(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Result<()> {
        let start = self.rows.len();
        self.rows.extend_from_slice(&[0; LEN_BYTES]);
        write(&mut self.rows);
        let len = (self.rows.len() - start - LEN_BYTES) as u32;
        self.rows[start..start + LEN_BYTES].copy_from_slice(&len.to_le_bytes());
        match &mut self.memory {
            Some(memory) if self.rows.capacity() > memory.bytes() => {
                memory.hold(self.rows.capacity(), "The rows of a cursor")
            }
            _ => Ok(()),
        }
    }

    /// The next row's payload.
    pub(super) fn next_row(&mut self) -> Option<&[u8]> {
        let len: [u8; LEN_BYTES] = self.rows.get(self.at..self.at + LEN_BYTES)?.try_into().ok()?;
        let start = self.at + LEN_BYTES;
        self.at = start + u32::from_le_bytes(len) as usize;
        Some(&self.rows[start..self.at])
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.at == self.rows.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_gives_its_rows_once() {
        let mut cursor = Cursor::default();
        cursor.push(|out| out.extend_from_slice(b"one")).expect("nothing is charged");
        cursor.push(|_| {}).expect("nothing is charged");
        assert_eq!(cursor.next_row(), Some(&b"one"[..]));
        assert!(!cursor.is_at_end());
        assert_eq!(cursor.next_row(), Some(&b""[..]));
        assert!(cursor.is_at_end());
        assert_eq!(cursor.next_row(), None);
    }

    #[test]
    fn a_cursor_that_does_not_fit_is_refused() {
        let root = executor::MemoryAccountant::new(1 << 20);
        let mut cursor = Cursor::new(Some(Reservation::new(&root)));
        let row = vec![b'x'; 100_000];
        let refused = (0..20).find_map(|_| cursor.push(|out| out.extend_from_slice(&row)).err());
        assert_eq!(refused.map(|e| e.code()), Some(types::ErrorCode::CAPACITY_EXCEEDED));
        drop(cursor);
        assert_eq!(root.used_bytes(), 0);
    }

    #[test]
    fn long_data_is_collected() {
        let root = MemoryAccountant::new(1 << 20);
        let mut statement = Statement::default();
        statement.add_long_data(1, 2, b"ab", 4, &root);
        statement.add_long_data(1, 2, b"cd", 4, &root);
        assert_eq!(statement.long_data(1), Some(&b"abcd"[..]));
        assert_eq!(statement.long_data(0), None);
        assert!(statement.take_fault().is_ok());
        statement.add_long_data(1, 2, b"e", 4, &root);
        assert!(statement.take_fault().is_err());
        statement.add_long_data(2, 2, b"", 4, &root);
        assert_eq!(statement.take_fault().map_err(|e| e.code().0), Err(1210));
        assert!(statement.take_fault().is_ok());
        assert_eq!(root.used_bytes(), 0, "a little is not charged");
    }

    #[test]
    fn long_data_that_does_not_fit_is_refused() {
        let root = MemoryAccountant::new(1 << 20);
        let mut statement = Statement::default();
        let data = vec![b'x'; 100_000];
        (0..3).for_each(|_| statement.add_long_data(0, 1, &data, usize::MAX, &root));
        assert!(statement.take_fault().is_ok());
        assert_eq!(root.used_bytes(), 900_000);
        statement.add_long_data(0, 1, &data, usize::MAX, &root);
        assert_eq!(statement.take_fault().map_err(|e| e.code()), Err(types::ErrorCode::OUT_OF_RESOURCES));
        assert_eq!((statement.long_data(0), root.used_bytes()), (None, 0));
        statement.add_long_data(0, 1, &data, usize::MAX, &root);
        let taken = statement.take_long_data();
        assert_eq!(root.used_bytes(), 300_000);
        drop(taken);
        assert_eq!(root.used_bytes(), 0);
    }
}
