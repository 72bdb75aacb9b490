//! read_only and super_read_only: a server on which nobody, or nobody but its administrators, changes anything.
//!
//! Both are looked at when a statement that changes something begins and again when its transaction commits, which may
//! be after SET GLOBAL (error 1290). Temporary tables are nobody else's and may change. Administrators are those with
//! the privilege CONNECTION_ADMIN.
//!
//! MySQL manual, "Server System Variables", read_only.

use crate::{Frame, SessionState};
use accounts::Privilege;
use names::{Names, Place};
use parser::ast::Statement;
use types::{Error, Result};
use variables::ReadOnly;

impl SessionState {
    /// Error 1290 if the server is read-only for this session.
    pub fn check_server_writable(&self) -> Result<()> {
        match self.db.read_only() {
            ReadOnly::Nobody => Ok(()),
            ReadOnly::Users if self.rights.has(Privilege::ConnectionAdmin) => Ok(()),
            ReadOnly::Users => Err(Error::option_prevents_statement("--read-only")),
            ReadOnly::All => Err(Error::option_prevents_statement("--super-read-only")),
        }
    }
}

impl Frame<'_> {
    /// The same for a statement that commits before it runs: those that look after tables or the server may.
    pub fn check_server_takes(&self, statement: &Statement, names: &Names) -> Result<()> {
        use Statement::*;
        let all_temporary = || {
            let mut uses = names.objects().iter().flat_map(|o| &o.uses).peekable();
            uses.peek().is_some() && uses.all(|u| u.place == Place::Temporary)
        };
        match statement {
            TableMaintenance(_) | LockTables(_) | Flush(_) => Ok(()),
            DropTable(_) | Truncate(_) | AlterTable(_) | CreateIndex(_) | DropIndex(_) if all_temporary() => Ok(()),
            _ => self.check_server_writable(),
        }
    }
}
