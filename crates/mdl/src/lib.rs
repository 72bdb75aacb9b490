//! Metadata locks: what keeps a table's definition still while a transaction uses the table.
//!
//! A lock is on a name (a [`Key`]), not on a definition, so that it can be taken before the definition is looked up,
//! and on names that do not exist yet. Each statement takes a shared lock on every table it names, for its transaction;
//! DDL takes an exclusive one. LOCK TABLES, FLUSH TABLES WITH READ LOCK and GET_LOCK are locks of the same manager, and
//! so is what keeps phantoms away from SERIALIZABLE readers, so that one search finds deadlocks among all of them and
//! the row locks of the storage ([`storage::WaitGraph`]).
//!
//! ```text
//!              IX  SR  SW  SU  SRO SNRW S   X      wanted or held
//!   IX                                 x   x      a statement that changes something, in the scope it is in
//!   SR                         .   x       x      reads the table
//!   SW                         x   x       x      changes its rows, or locks them
//!   SU                     x       x       x      changes its definition while others use it; becomes X in the end
//!   SRO                x           x       x      keeps writers away: LOCK TABLES READ, SERIALIZABLE readers
//!   SNRW           x   x   x   x   x       x      LOCK TABLES WRITE
//!   S      x                               x      FLUSH TABLES WITH READ LOCK: on all statements, then on all commits
//!   X      x   x   x   x   x   x   x   x   x      DDL; GET_LOCK
//! ```
//! - [`manager`]: granting, waiting, the fast path.
//!
//! Source: MySQL manual, "Metadata Locking"; the head of MySQL's `sql/mdl.h` on lock types.

mod manager;

pub use manager::{Mdl, Object, OpenTxn, Owner};

use std::hash::{Hash, Hasher};

/// What kind of thing a name names.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Space {
    /// The server; names are empty.
    Global,
    /// Commits of changes; names are empty.
    Commit,
    /// A database; the second name is empty.
    Schema,
    Table,
    /// GET_LOCK; the first name is empty.
    UserLock,
}

impl Space {
    /// OBJECT_TYPE in performance_schema.metadata_locks.
    pub fn name(self) -> &'static str {
        match self {
            Space::Global => "GLOBAL",
            Space::Commit => "COMMIT",
            Space::Schema => "SCHEMA",
            Space::Table => "TABLE",
            Space::UserLock => "USER LEVEL LOCK",
        }
    }

    /// The State column of a process that waits.
    pub fn waiting(self) -> &'static str {
        match self {
            Space::Global => "Waiting for global read lock",
            Space::Commit => "Waiting for commit lock",
            Space::Schema => "Waiting for schema metadata lock",
            Space::Table => "Waiting for table metadata lock",
            Space::UserLock => "User lock",
        }
    }
}

/// What a lock is on.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Key {
    pub space: Space,
    pub schema: Box<str>,
    pub name: Box<str>,
}

impl Key {
    pub fn new(space: Space, schema: &str, name: &str) -> Key {
        Key { space, schema: schema.into(), name: name.into() }
    }
}

/// A key that borrows its names, to look one up.
#[derive(Clone, Copy, Debug)]
pub struct KeyRef<'a> {
    pub space: Space,
    pub schema: &'a str,
    pub name: &'a str,
}

impl Hash for KeyRef<'_> {
    fn hash<H: Hasher>(&self, h: &mut H) {
        (self.space, self.schema, self.name).hash(h);
    }
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, h: &mut H) {
        (self.space, &*self.schema, &*self.name).hash(h);
    }
}

impl hashbrown::Equivalent<Key> for KeyRef<'_> {
    fn equivalent(&self, key: &Key) -> bool {
        self.space == key.space && *self.schema == *key.schema && *self.name == *key.name
    }
}

/// How a lock is held; see the module head.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Mode {
    IntentionExclusive = 1,
    SharedRead = 2,
    SharedWrite = 4,
    SharedUpgradable = 8,
    SharedReadOnly = 16,
    SharedNoReadWrite = 32,
    Shared = 64,
    Exclusive = 128,
}

impl Mode {
    /// The modes that nobody else may hold beside this one, as bits.
    const fn conflicts(self) -> u8 {
        use Mode::*;
        match self {
            IntentionExclusive => Shared as u8 | Exclusive as u8,
            SharedRead => SharedNoReadWrite as u8 | Exclusive as u8,
            SharedWrite => SharedReadOnly as u8 | SharedNoReadWrite as u8 | Exclusive as u8,
            SharedUpgradable => SharedUpgradable as u8 | SharedNoReadWrite as u8 | Exclusive as u8,
            SharedReadOnly => SharedWrite as u8 | SharedNoReadWrite as u8 | Exclusive as u8,
            SharedNoReadWrite => !(IntentionExclusive as u8 | Shared as u8),
            Shared => IntentionExclusive as u8 | Exclusive as u8,
            Exclusive => u8::MAX,
        }
    }

    pub fn conflicts_with(self, other: Mode) -> bool {
        self.conflicts() & other as u8 != 0
    }

    /// Whoever holds this holds `other` too.
    pub fn covers(self, other: Mode) -> bool {
        self.conflicts() & other.conflicts() == other.conflicts()
    }

    /// Compatible with all other weak modes: taken without a look at other sessions.
    pub fn is_weak(self) -> bool {
        matches!(self, Mode::IntentionExclusive | Mode::SharedRead | Mode::SharedWrite)
    }

    /// LOCK_TYPE in performance_schema.metadata_locks.
    pub fn name(self) -> &'static str {
        match self {
            Mode::IntentionExclusive => "INTENTION_EXCLUSIVE",
            Mode::SharedRead => "SHARED_READ",
            Mode::SharedWrite => "SHARED_WRITE",
            Mode::SharedUpgradable => "SHARED_UPGRADABLE",
            Mode::SharedReadOnly => "SHARED_READ_ONLY",
            Mode::SharedNoReadWrite => "SHARED_NO_READ_WRITE",
            Mode::Shared => "SHARED",
            Mode::Exclusive => "EXCLUSIVE",
        }
    }
}

/// How long a lock is held.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Until {
    /// The statement ends.
    Statement,
    /// The transaction ends (or the statement, outside of one).
    Transaction,
    /// UNLOCK TABLES, RELEASE_LOCK.
    Released,
}

/// A held or wanted lock, as performance_schema.metadata_locks shows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shown {
    pub key: Key,
    pub mode: Mode,
    pub until: Until,
    pub granted: bool,
    pub process_id: u32,
    pub owner: storage::OwnerId,
}

#[cfg(test)]
mod tests {
    use super::*;
    use Mode::*;

    const ALL: [Mode; 8] = [
        IntentionExclusive,
        SharedRead,
        SharedWrite,
        SharedUpgradable,
        SharedReadOnly,
        SharedNoReadWrite,
        Shared,
        Exclusive,
    ];

    #[test]
    fn conflicts_are_mutual_and_the_weak_modes_have_none_among_them() {
        for a in ALL {
            for b in ALL {
                assert_eq!(a.conflicts_with(b), b.conflicts_with(a), "{a:?} {b:?}");
                assert!(!(a.is_weak() && b.is_weak() && a.conflicts_with(b)), "{a:?} {b:?}");
            }
            assert!(a.covers(a) && Exclusive.covers(a));
        }
        assert!(SharedWrite.covers(SharedRead) && !SharedRead.covers(SharedWrite));
        assert!(SharedNoReadWrite.covers(SharedWrite) && !SharedReadOnly.covers(SharedWrite));
    }
}
