//! What an account without privileges may do. REVOKE ALL leaves it the right to connect (USAGE); from its next connection
//! on it may compute, set variables of its session, ask for those and for its own grants, and nothing else: no table has
//! a name for it.

use super::Session;
use parser::ast::{ObjectName, SetItem, ShowWhat, Statement, TableRef, VarScope};
use types::{Error, ErrorCode, Result};

impl Session {
    /// What stands in the way of a statement, if something does: 1044, 1142 or 1227.
    pub(super) fn check_power(&self, statement: &Statement) -> Result<()> {
        use Statement::*;
        if !self.powerless {
            return Ok(());
        }
        let table = |command, name: &str| Err(self.denied(command, name));
        let first =
            |command, names: &[ObjectName]| Err(self.denied(command, names.first().map_or("", |n| n.name.as_str())));
        let of_refs = |command, tables: &[TableRef]| match tables.first() {
            Some(TableRef::Table(t)) => table(command, &t.name.name),
            _ => table(command, ""),
        };
        let database = |name: &str| Err(Error::dbaccess_denied(&*self.user, &*self.host, name));
        match statement {
            Query(_)
            | Do(_)
            | Begin(_)
            | Commit(_)
            | Rollback(_)
            | Savepoint(_)
            | RollbackTo(_)
            | ReleaseSavepoint(_)
            | Prepare { .. }
            | Execute { .. }
            | Deallocate(_)
            | UnlockTables => Ok(()),
            Set(items) if items.iter().all(is_of_session) => Ok(()),
            Set(_) => Err(Error::specific_access_denied("SUPER or SYSTEM_VARIABLES_ADMIN")),
            Show(show) if is_shown_to_all(&show.what) => Ok(()),
            Use(name) | DropDatabase { name, .. } => database(name),
            CreateDatabase(c) => database(&c.name),
            AlterDatabase(a) => database(a.name.as_deref().unwrap_or_default()),
            Insert(i) => table("INSERT", &i.table.name),
            LoadData(l) => table("INSERT", &l.table.name),
            Update(u) => of_refs("UPDATE", &u.tables),
            Delete(d) => of_refs("DELETE", &d.from),
            CreateTable(c) => table("CREATE", &c.name.name),
            CreateView(v) => table("CREATE VIEW", &v.name.name),
            CreateIndex(c) => table("INDEX", &c.table.name),
            DropIndex(d) => table("INDEX", &d.table.name),
            AlterTable(a) => table("ALTER", &a.name.name),
            Truncate(name) => table("DROP", &name.name),
            DropTable(d) => first("DROP", &d.tables),
            DropView(d) => first("DROP", &d.views),
            Describe { table: name, .. } => table("SELECT", &name.name),
            CreateUser(_) | AlterUser(_) | DropUser { .. } | RenameUser(_) | Grant(_) | Revoke(_) => {
                Err(Error::specific_access_denied("CREATE USER"))
            }
            _ => Err(Error::specific_access_denied("SUPER")),
        }
    }

    fn denied(&self, command: &str, table: &str) -> Error {
        Error::tableaccess_denied(command, &*self.user, &*self.host, table)
    }

    /// A table that an account without privileges cannot see is one that it may not read.
    pub(super) fn unseen(&self, e: Error) -> Error {
        if !self.powerless || e.code() != ErrorCode::NO_SUCH_TABLE {
            return e;
        }
        let name = e.message().split('\'').nth(1).unwrap_or_default();
        self.denied("SELECT", name.rsplit_once('.').map_or(name, |(_, table)| table))
    }

    /// Whether the session's account may do nothing.
    pub(crate) fn is_powerless(&self) -> bool {
        self.powerless
    }
}

fn is_of_session(item: &SetItem) -> bool {
    match item {
        SetItem::UserVar { .. } | SetItem::Names { .. } | SetItem::Charset(_) => true,
        SetItem::Var { scope, .. } | SetItem::Transaction { scope, .. } => {
            matches!(scope, None | Some(VarScope::Session))
        }
        SetItem::Password { .. } | SetItem::ResourceGroup(_) => false,
    }
}

fn is_shown_to_all(what: &ShowWhat) -> bool {
    use ShowWhat::*;
    matches!(
        what,
        Status { .. } | Variables { .. } | Engines | Warnings { .. } | Errors { .. } | CountWarnings | CountErrors
    ) || matches!(what, Grants { user: None, .. })
}
