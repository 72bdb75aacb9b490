//! What a session may do.
//!
//! - A *privilege* is one right by its name in GRANT: [`Privilege`]. Every check names the privilege that it asks for.
//! - *Rights* are what a session has: [`Rights`]. It gets them when it begins, from the account that it acts under, and
//!   keeps them until it ends or becomes another user, as MySQL has it for global privileges (MySQL manual, "When
//!   Privilege Changes Take Effect"; DROP USER does not end sessions either).
//! - *The system* acts under no account: start-up, the keeper of statistics, the library, `nextleaf sql`.
//!
//! Accounts have all privileges or none (and the grant option or not), so [`Rights::has`] needs no more than that; it
//! is the one place that finer privileges have to change.
//!
//! Invariant: whoever has no account, or an account without the privilege, is refused. No name of a user means
//! anything.

use crate::Account;

/// Rights by their names in GRANT: static ones first, then dynamic ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Privilege {
    Select,
    Insert,
    Update,
    Delete,
    Create,
    Drop,
    Alter,
    Index,
    References,
    CreateView,
    ShowView,
    Trigger,
    ShowDatabases,
    LockTables,
    Reload,
    Shutdown,
    Process,
    File,
    GrantOption,
    CreateUser,
    /// Checked nowhere by itself: for what MySQL still calls by that name in its messages.
    Super,
    ReplicationClient,
    BackupAdmin,
    ConnectionAdmin,
    SystemVariablesAdmin,
}

impl Privilege {
    /// Those that can be had on a table or view.
    pub const ON_OBJECTS: [Privilege; 13] = [
        Privilege::Select,
        Privilege::Insert,
        Privilege::Update,
        Privilege::Delete,
        Privilege::Create,
        Privilege::Drop,
        Privilege::Alter,
        Privilege::Index,
        Privilege::References,
        Privilege::CreateView,
        Privilege::ShowView,
        Privilege::Trigger,
        Privilege::LockTables,
    ];

    /// What error 1227 says is needed.
    pub const fn asked_for(self) -> &'static str {
        match self {
            Privilege::ReplicationClient => "SUPER, REPLICATION CLIENT",
            Privilege::ConnectionAdmin => "SUPER or CONNECTION_ADMIN",
            Privilege::SystemVariablesAdmin => "SUPER or SYSTEM_VARIABLES_ADMIN",
            _ => self.name(),
        }
    }

    /// Its name in GRANT.
    pub const fn name(self) -> &'static str {
        match self {
            Privilege::Select => "SELECT",
            Privilege::Insert => "INSERT",
            Privilege::Update => "UPDATE",
            Privilege::Delete => "DELETE",
            Privilege::Create => "CREATE",
            Privilege::Drop => "DROP",
            Privilege::Alter => "ALTER",
            Privilege::Index => "INDEX",
            Privilege::References => "REFERENCES",
            Privilege::CreateView => "CREATE VIEW",
            Privilege::ShowView => "SHOW VIEW",
            Privilege::Trigger => "TRIGGER",
            Privilege::ShowDatabases => "SHOW DATABASES",
            Privilege::LockTables => "LOCK TABLES",
            Privilege::Reload => "RELOAD",
            Privilege::Shutdown => "SHUTDOWN",
            Privilege::Process => "PROCESS",
            Privilege::File => "FILE",
            Privilege::GrantOption => "GRANT OPTION",
            Privilege::CreateUser => "CREATE USER",
            Privilege::Super => "SUPER",
            Privilege::ReplicationClient => "REPLICATION CLIENT",
            Privilege::BackupAdmin => "BACKUP_ADMIN",
            Privilege::ConnectionAdmin => "CONNECTION_ADMIN",
            Privilege::SystemVariablesAdmin => "SYSTEM_VARIABLES_ADMIN",
        }
    }
}

/// Several privileges: what a use of a table needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PrivilegeSet(u32);

impl PrivilegeSet {
    pub const NONE: PrivilegeSet = PrivilegeSet(0);

    pub const fn of(privileges: &[Privilege]) -> PrivilegeSet {
        let (mut bits, mut i) = (0, 0);
        while i < privileges.len() {
            bits |= 1 << privileges[i] as u32;
            i += 1;
        }
        PrivilegeSet(bits)
    }

    /// The same with another one, if `is`.
    pub const fn with(self, privilege: Privilege, is: bool) -> PrivilegeSet {
        if is { PrivilegeSet(self.0 | 1 << privilege as u32) } else { self }
    }

    pub fn contains(self, privilege: Privilege) -> bool {
        self.0 & 1 << privilege as u32 != 0
    }

    /// In the order of [`Privilege`].
    pub fn iter(self) -> impl Iterator<Item = Privilege> {
        Privilege::ON_OBJECTS.into_iter().filter(move |p| self.contains(*p))
    }
}

/// See the module head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rights {
    all: bool,
    grant_option: bool,
    is_system: bool,
}

impl Rights {
    /// Of a session under a name without account.
    pub const NONE: Rights = Rights { all: false, grant_option: false, is_system: false };
    /// Of the system: everything.
    pub const SYSTEM: Rights = Rights { all: true, grant_option: true, is_system: true };

    pub fn of(account: Option<&Account>) -> Rights {
        account.map_or(Rights::NONE, |a| Rights { all: a.privileged, grant_option: a.grant_option, is_system: false })
    }

    pub fn has(self, privilege: Privilege) -> bool {
        match privilege {
            Privilege::GrantOption => self.grant_option,
            _ => self.all,
        }
    }

    /// What of the set is missing, as error 1142 names it; `None`: nothing.
    pub fn lacks(self, needed: PrivilegeSet) -> Option<String> {
        let missing: Vec<&str> = needed.iter().filter(|p| !self.has(*p)).map(Privilege::name).collect();
        (!missing.is_empty()).then(|| missing.join(", "))
    }

    /// It acts under no account.
    pub fn is_system(self) -> bool {
        self.is_system
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Accounts;

    #[test]
    fn rights_come_from_an_account_or_not_at_all() {
        let accounts = Accounts::default();
        let root = accounts.find("root", "localhost").expect("is there");
        let limited = Account { privileged: false, ..root.clone() };
        for (rights, all, grant) in [
            (Rights::of(None), false, false),
            (Rights::of(Some(&root)), true, true),
            (Rights::of(Some(&limited)), false, true),
            (Rights::SYSTEM, true, true),
        ] {
            assert_eq!(rights.has(Privilege::File), all);
            assert_eq!(rights.has(Privilege::Process), all);
            assert_eq!(rights.has(Privilege::GrantOption), grant);
        }
        assert!(!Rights::of(Some(&root)).is_system());
        let needed = PrivilegeSet::of(&[Privilege::Delete]).with(Privilege::Insert, true).with(Privilege::Drop, false);
        assert_eq!(Rights::of(Some(&limited)).lacks(needed).as_deref(), Some("INSERT, DELETE"));
        assert_eq!(Rights::of(Some(&root)).lacks(needed), None);
        assert_eq!(Rights::NONE.lacks(PrivilegeSet::NONE), None);
    }
}
