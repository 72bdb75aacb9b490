//! read_only and super_read_only, as all statements look at them.
//!
//! MySQL manual, "Server System Variables", read_only.

use super::GlobalVars;
use std::sync::atomic::{AtomicU8, Ordering};

/// Who may change nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReadOnly {
    Nobody,
    /// All but administrators.
    Users,
    All,
}

impl ReadOnly {
    pub fn of(variables: &GlobalVars) -> ReadOnly {
        let on = |name: &str| variables.by_name(name).as_deref() == Some("ON");
        match (on("super_read_only"), on("read_only")) {
            (true, _) => ReadOnly::All,
            (_, true) => ReadOnly::Users,
            _ => ReadOnly::Nobody,
        }
    }
}

/// A [`ReadOnly`] that many read and few set.
#[derive(Debug, Default)]
pub struct ReadOnlyCell(AtomicU8);

impl ReadOnlyCell {
    pub fn set(&self, who: ReadOnly) {
        self.0.store(who as u8, Ordering::Relaxed);
    }

    pub fn get(&self) -> ReadOnly {
        match self.0.load(Ordering::Relaxed) {
            0 => ReadOnly::Nobody,
            1 => ReadOnly::Users,
            _ => ReadOnly::All,
        }
    }
}
