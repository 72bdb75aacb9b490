//! How durable a commit is to be, and what happens when the log cannot be written.

use std::fmt::Debug;
use types::Error;

/// innodb_flush_log_at_trx_commit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum FlushMode {
    /// 0: written and synced once a second. A crash of the process loses up to a second.
    Lazy = 0,
    /// 1: synced before a commit is acknowledged.
    #[default]
    Sync = 1,
    /// 2: written before a commit is acknowledged, synced once a second. A crash of the machine loses up to a second.
    Write = 2,
}

impl FlushMode {
    pub fn of(v: u64) -> FlushMode {
        match v {
            0 => FlushMode::Lazy,
            2 => FlushMode::Write,
            _ => FlushMode::Sync,
        }
    }
}

/// What is wrong with the log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trouble {
    /// The disk is full. Commits wait for room.
    Full,
    /// It cannot be written any more: from now on the store is only read.
    Dead,
}

type Tell = dyn Fn(Trouble, &Error) + Send + Sync;

/// Called when the log is in trouble, to tell people.
pub struct OnTrouble(pub Box<Tell>);

impl Debug for OnTrouble {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("OnTrouble")
    }
}
