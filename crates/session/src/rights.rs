//! What a session's rights let it do, beside what the tables that a statement names ask for
//! (`names::ObjectUse::privileges`). Both are looked at before anything else of the statement happens. An account
//! without privileges may connect, compute, set variables of its session, and see these, its own grants and its own
//! connections; of a table that it asks for it does not learn whether there is one.

use crate::Frame;
use accounts::{Account, Privilege, Rights};
use parser::ast::{self, ExplainTarget, SetItem, Show, ShowWhat, Statement, VarScope};
use types::{Error, Result};

impl Frame<'_> {
    /// User and host of the account that the frame acts under: CURRENT_USER().
    pub fn account(&self) -> (&str, &str) {
        match &self.acting {
            Some(acting) => (&acting.user, &acting.host),
            None => (&self.user, &self.account_host),
        }
    }

    /// What it may do.
    pub fn rights(&self) -> Rights {
        self.acting.as_ref().map_or(self.session.rights, |acting| acting.rights)
    }

    /// The account that it acts under as errors name it: with the host that the client came from, where that is who
    /// logged in.
    pub(crate) fn denied_account(&self) -> (&str, &str) {
        if self.acting.is_some() { self.account() } else { self.user() }
    }

    /// (user, host) of an account as written.
    pub fn account_name(&self, account: &ast::Account) -> (Box<str>, Box<str>) {
        match account {
            ast::Account::Named { user, host } => (user.clone(), host.clone().unwrap_or_else(|| "%".into())),
            ast::Account::CurrentUser => {
                let (user, host) = self.account();
                (user.into(), host.into())
            }
        }
    }

    /// The account that the session acts under, as long as it is there.
    pub fn own_account(&self) -> Option<Account> {
        let (user, host) = self.account();
        self.db.accounts().get(user, host)
    }

    pub fn is_own_account(&self, account: &ast::Account) -> bool {
        let (user, host) = self.account_name(account);
        (&*user, &*host) == self.account()
    }

    pub fn has(&self, privilege: Privilege) -> bool {
        self.rights().has(privilege)
    }

    /// Error 1227 without the privilege.
    pub fn require(&self, privilege: Privilege) -> Result<()> {
        if self.has(privilege) { Ok(()) } else { Err(Error::specific_access_denied(privilege.asked_for())) }
    }

    /// Error 1142 without the privilege.
    pub fn require_on_table(&self, privilege: Privilege, table: &str) -> Result<()> {
        if self.has(privilege) { Ok(()) } else { Err(self.denied(privilege.name(), table)) }
    }

    /// Error 1044 without the privilege.
    pub fn require_on_schema(&self, privilege: Privilege, schema: &str) -> Result<()> {
        if self.has(privilege) { Ok(()) } else { Err(self.denied_on_schema(schema)) }
    }

    /// Error 1044.
    pub fn denied_on_schema(&self, schema: &str) -> Error {
        let (user, host) = self.denied_account();
        Error::dbaccess_denied(user, host, schema)
    }

    /// Whether the session may see statements and connections of that user.
    pub fn may_see_processes_of(&self, user: &str) -> bool {
        self.account().0 == user || self.has(Privilege::Process)
    }

    /// Whether tables have names for the session.
    pub fn may_see_tables(&self) -> bool {
        self.has(Privilege::Select)
    }

    fn denied(&self, command: &str, table: &str) -> Error {
        let (user, host) = self.denied_account();
        Error::tableaccess_denied(command, user, host, table)
    }

    /// What stands in the way of a statement, beside rights on the tables that it names: 1044, 1045 or 1227.
    pub fn check_rights(&self, statement: &Statement) -> Result<()> {
        use Statement::*;
        match statement {
            Query(_) | Insert(_) | Update(_) | Delete(_) | Do(_) => Ok(()),
            CreateTable(_) | CreateView(_) | CreateIndex(_) | DropIndex(_) | AlterTable(_) | RenameTable(_) => Ok(()),
            Truncate(_) | DropTable(_) | DropView(_) | TableMaintenance(_) | LockTables(_) | Describe { .. } => Ok(()),
            // What is prepared is looked at by itself, when it is bound and when it runs.
            Prepare { .. } | Execute { .. } | Deallocate(_) => Ok(()),
            Begin(_) | Commit(_) | Rollback(_) | Savepoint(_) | RollbackTo(_) | ReleaseSavepoint(_) => Ok(()),
            LoadData(l) if l.local => Ok(()),
            LoadData(_) => self.require(Privilege::File),
            // Who may not do it may not ask how it is done; of a connection, its owner may.
            Explain(e) => match &e.target {
                ExplainTarget::Statement(explained) => self.check_rights(explained),
                ExplainTarget::Connection(_) => Ok(()),
            },
            Set(items) => items.iter().try_for_each(|item| self.check_set_rights(item)),
            Show(show) => self.check_show_rights(show),
            Use(name) => self.require_on_schema(Privilege::Select, name),
            CreateDatabase(c) => self.require_on_schema(Privilege::Create, &c.name),
            AlterDatabase(a) => self.require_on_schema(Privilege::Alter, a.name.as_deref().unwrap_or_default()),
            DropDatabase { name, .. } => self.require_on_schema(Privilege::Drop, name),
            // Own connections may be ended without a privilege.
            Kill(_) => Ok(()),
            Flush(_) | Reset(_) => self.require(Privilege::Reload),
            Shutdown | Restart => self.require(Privilege::Shutdown),
            BackupTo(_) | LockInstance | UnlockInstance => self.require(Privilege::BackupAdmin),
            AlterUser(a) if self.alters_own_password(a) => Ok(()),
            CreateUser(_) | AlterUser(_) | DropUser { .. } | RenameUser(_) => self.require_account_right(),
            Grant(_) | Revoke(_) => self.check_grant_option(),
            // All that answers 1235 here.
            Call(_) | Handler(_) | Help(_) | GetDiagnostics(_) | Signal(_) | Xa(_) | Raw { .. } => Ok(()),
            CreateRole { .. } | DropRole { .. } | SetRole(_) | SetDefaultRole { .. } => {
                self.require(Privilege::CreateUser)
            }
            UnlockTables => Ok(()),
        }
    }

    fn check_set_rights(&self, item: &SetItem) -> Result<()> {
        match item {
            SetItem::UserVar { .. } | SetItem::Names { .. } | SetItem::Charset(_) => Ok(()),
            SetItem::Var { scope, .. } | SetItem::Transaction { scope, .. } => match scope {
                None | Some(VarScope::Session) => Ok(()),
                _ => self.require(Privilege::SystemVariablesAdmin),
            },
            SetItem::Password { user, .. } if user.as_ref().is_none_or(|u| self.is_own_account(u)) => Ok(()),
            SetItem::Password { .. } => self.require_account_right(),
            SetItem::ResourceGroup(_) => Ok(()),
        }
    }

    fn check_show_rights(&self, show: &Show) -> Result<()> {
        use ShowWhat::*;
        match &show.what {
            Tables { schema, .. } | TableStatus { schema } | Triggers { schema, .. } | Events { schema } => {
                let named = schema.as_ref().map(|n| n.as_str());
                // Without any it is error 1046, for everybody.
                let schema = named.or(self.current_database());
                schema.map_or(Ok(()), |schema| self.require_on_schema(Privilege::Select, schema))
            }
            CreateDatabase { name, .. } => self.require_on_schema(Privilege::Select, name),
            // They name a table.
            Columns { .. } | Index { .. } | CreateTable(_) | CreateView(_) => Ok(()),
            // What mysql.user shows.
            Grants { user: Some(account), .. } | CreateUser(account) if !self.is_own_account(account) => {
                self.require_on_schema(Privilege::Select, "mysql")
            }
            Engine { .. } => self.require(Privilege::Process),
            BinaryLogs | BinaryLogStatus | Other(_) => self.require(Privilege::ReplicationClient),
            // Each shows what the session may see: its own, or what anybody may know.
            Databases | OpenTables { .. } | ProcessList { .. } | Grants { .. } | CreateUser(_) => Ok(()),
            Status { .. } | Variables { .. } | Engines | Warnings { .. } | Errors { .. } | CountWarnings => Ok(()),
            CountErrors | Collation | CharacterSet | Privileges | Plugins => Ok(()),
            // Empty, or answered with an error, for everybody.
            ProcedureStatus | FunctionStatus | Profiles | Profile { .. } | CreateProcedure(_) => Ok(()),
            CreateFunction(_) | CreateTrigger(_) | CreateEvent(_) | ProcedureCode(_) | FunctionCode(_) => Ok(()),
        }
    }

    /// To change accounts: the privilege, and that the session's own account has not been dropped meanwhile.
    fn require_account_right(&self) -> Result<()> {
        self.require(Privilege::CreateUser)?;
        if self.account_is_there() { Ok(()) } else { Err(Error::specific_access_denied("CREATE USER")) }
    }

    /// Error 1045 where the session may not GRANT and REVOKE, or its account has been dropped.
    fn check_grant_option(&self) -> Result<()> {
        if self.has(Privilege::GrantOption) && self.account_is_there() {
            return Ok(());
        }
        let account = self.own_account();
        let using_password = if account.is_none_or(|a| a.verifier.is_none()) { "NO" } else { "YES" };
        let (user, host) = self.account();
        Err(Error::access_denied(user, host, using_password))
    }

    fn account_is_there(&self) -> bool {
        self.rights().is_system() || self.own_account().is_some()
    }

    /// ALTER USER of nothing but the session's own password.
    fn alters_own_password(&self, a: &ast::AlterUser) -> bool {
        let [own] = &a.users[..] else { return false };
        self.is_own_account(&own.account) && a.default_roles.is_none() && a.options == ast::AccountOptions::default()
    }
}
