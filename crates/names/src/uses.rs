//! What is done with an object: the metadata lock and the privileges that it takes.

use crate::Object;
use accounts::{Privilege, PrivilegeSet};
use catalog::ViewDef;
use parser::ast::{AlterLock, LockStrength, MaintenanceOp, TableUse};
use std::sync::Arc;

/// Where a use finds its object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the catalog, or it would be there.
    Stored,
    /// A temporary table of the session.
    Temporary,
    /// The server makes it up.
    Server,
}

/// Why an object is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UseKind {
    /// The statement, or a view behind it, says so.
    Named(TableUse),
    /// A foreign key leads to it from a table that is changed: its rows are looked at.
    Checked,
    /// The same; rows of it may be changed in consequence, under a lock that is taken when the first one is.
    Cascade,
}

impl UseKind {
    /// Whether the statement may change what the name stands for, and then looks it up again.
    pub fn defines(self) -> bool {
        use TableUse::*;
        match self {
            UseKind::Named(usage) => match usage {
                Read | Lock(_) | Insert { .. } | Update { .. } | Delete { .. } => false,
                Copy | Refer | LockTable(_) | Describe | ShowView => false,
                Create { .. } | Drop { .. } | RenameFrom | RenameTo | Truncate | Alter(_) | Index(_) => true,
                CreateView { .. } | DropView | Maintain(_) => true,
            },
            UseKind::Checked | UseKind::Cascade => false,
        }
    }

    pub fn changes_rows(self) -> bool {
        match self {
            UseKind::Named(TableUse::Insert { .. }) | UseKind::Cascade => true,
            UseKind::Named(TableUse::Update { assigned: changed } | TableUse::Delete { emptied: changed }) => changed,
            _ => false,
        }
    }
}

/// Whose rights count.
#[derive(Clone, Debug)]
pub enum ActsAs {
    /// The session's own: the statement's text names the object, or a view with SQL SECURITY INVOKER.
    Session,
    /// The definer's of this view.
    Definer(Arc<ViewDef>),
}

impl ActsAs {
    pub(crate) fn is_same(&self, other: &ActsAs) -> bool {
        match (self, other) {
            (ActsAs::Session, ActsAs::Session) => true,
            (ActsAs::Definer(a), ActsAs::Definer(b)) => a.definer == b.definer,
            _ => false,
        }
    }
}

/// The metadata lock that a use needs; later ones are stronger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NeededLock {
    None,
    /// The definition is to stay.
    Look,
    /// Rows are read; what is read may be to stay, too (SERIALIZABLE).
    Read,
    /// Writers stay out.
    Keep,
    /// Rows come.
    Write,
    /// Rows are read and changed, or locked.
    ReadWrite,
    /// The definition changes while others use the table, as far as LOCK = lets them.
    Alter,
    /// The same, LOCK = SHARED.
    AlterShared,
    /// The name is made, given away, or means something else afterwards.
    Exclusive,
}

/// One use of an object. See the crate's head.
#[derive(Clone, Debug)]
pub struct ObjectUse {
    pub kind: UseKind,
    pub place: Place,
    pub acts_as: ActsAs,
    /// Its place among the uses of the statement.
    pub order: u32,
}

impl ObjectUse {
    /// The privileges on the object that the use needs.
    ///
    /// To read columns in WHERE or SET, UPDATE and DELETE need SELECT of these; which they are only binding knows.
    pub fn privileges(&self) -> PrivilegeSet {
        use Privilege as P;
        let UseKind::Named(usage) = self.kind else { return PrivilegeSet::NONE };
        let set = PrivilegeSet::of;
        match usage {
            TableUse::Read | TableUse::Lock(_) | TableUse::Copy | TableUse::Describe => set(&[P::Select]),
            TableUse::Insert { deletes, updates } => {
                set(&[P::Insert]).with(P::Delete, deletes).with(P::Update, updates)
            }
            TableUse::Update { assigned: true } => set(&[P::Update]),
            TableUse::Delete { emptied: true } => set(&[P::Delete]),
            TableUse::Update { assigned: false } | TableUse::Delete { emptied: false } => set(&[P::Select]),
            TableUse::Create { filled, .. } => set(&[P::Create]).with(P::Insert, filled),
            TableUse::Refer => set(&[P::References]),
            TableUse::Drop { .. } | TableUse::Truncate | TableUse::DropView => set(&[P::Drop]),
            TableUse::RenameFrom => set(&[P::Alter, P::Drop]),
            TableUse::RenameTo => set(&[P::Create, P::Insert]),
            TableUse::Alter(_) => set(&[P::Alter]),
            TableUse::Index(_) => set(&[P::Index]),
            TableUse::CreateView { replaces } => set(&[P::CreateView]).with(P::Drop, replaces),
            TableUse::Maintain(MaintenanceOp::Check | MaintenanceOp::Checksum) => set(&[P::Select]),
            TableUse::Maintain(_) => set(&[P::Select, P::Insert]),
            TableUse::LockTable(_) => set(&[P::Select, P::LockTables]),
            TableUse::ShowView => set(&[P::Select, P::ShowView]),
        }
    }

    /// `only_looks`: whatever the statement says, it is not run.
    pub fn lock(&self, object: &Object, only_looks: bool) -> NeededLock {
        if self.place != Place::Stored {
            return NeededLock::None;
        }
        match self.kind {
            UseKind::Checked | UseKind::Cascade => NeededLock::Look,
            UseKind::Named(usage) => match lock_of(usage, object) {
                NeededLock::None => NeededLock::None,
                _ if only_looks => NeededLock::Look,
                needed => needed,
            },
        }
    }
}

fn lock_of(usage: TableUse, object: &Object) -> NeededLock {
    match usage {
        TableUse::Read | TableUse::Lock(LockStrength::Share) => NeededLock::Read,
        TableUse::Lock(LockStrength::Update) => NeededLock::ReadWrite,
        TableUse::Insert { .. } => NeededLock::Write,
        TableUse::Update { .. } | TableUse::Delete { .. } => NeededLock::ReadWrite,
        TableUse::Create { temporary: true, .. } | TableUse::Drop { temporary: true } => NeededLock::None,
        // Nobody is kept from a table that is there already.
        TableUse::Create { .. } if object.relation.is_some() => NeededLock::Look,
        TableUse::Create { .. } | TableUse::Drop { .. } | TableUse::RenameFrom | TableUse::RenameTo => {
            NeededLock::Exclusive
        }
        TableUse::Truncate | TableUse::CreateView { .. } | TableUse::DropView => NeededLock::Exclusive,
        TableUse::Copy => NeededLock::Look,
        TableUse::Alter(lock) | TableUse::Index(lock) => match lock {
            Some(AlterLock::Exclusive) => NeededLock::Exclusive,
            Some(AlterLock::Shared) => NeededLock::AlterShared,
            _ => NeededLock::Alter,
        },
        TableUse::Maintain(MaintenanceOp::Optimize) => NeededLock::Alter,
        TableUse::Maintain(MaintenanceOp::Check) => NeededLock::Keep,
        TableUse::Maintain(_) => NeededLock::Look,
        // Who has deleted a parent's rows did not know of the children to come.
        TableUse::Refer => NeededLock::Keep,
        // LOCK TABLES locks by itself, until UNLOCK TABLES; who only describes waits for nobody.
        TableUse::LockTable(_) | TableUse::Describe | TableUse::ShowView => NeededLock::None,
    }
}
