//! Accounts: who may connect, from where, and what they may do.
//!
//! - [`Accounts`]: all accounts. Changes go to an [`AccountJournal`] before they count; what that is, others decide.
//! - [`Verifier`]: what is kept of a password.
//! - [`rights`]: what a session may do.
//!
//! At the start there is one account, `root@localhost` without a password, which is good on this machine only. Of a
//! password a [`Verifier`] is kept, as MySQL's authentication plugins have it; the plugins themselves are the
//! protocol's matter.

pub mod rights;
mod verifier;

use parking_lot::{Mutex, RwLock};
use std::sync::atomic::{AtomicU64, Ordering};
use types::{Error, Result};

pub use rights::{Privilege, PrivilegeSet, Rights};
pub use verifier::{HIDDEN, Verifier};

/// User and host of the account that every database begins with. Afterwards it is one like any other.
pub const FIRST_ACCOUNT: (&str, &str) = ("root", "localhost");

/// One account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    pub user: Box<str>,
    /// A host name or address, `%` and `_` as in LIKE, or `localhost`.
    pub host: Box<str>,
    pub plugin: AuthPlugin,
    pub verifier: Verifier,
    pub locked: bool,
    /// May GRANT and REVOKE.
    pub grant_option: bool,
    /// May do everything else, or nothing but connect.
    pub privileged: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuthPlugin {
    MysqlNativePassword,
    CachingSha2Password,
}

impl AuthPlugin {
    pub fn name(self) -> &'static str {
        match self {
            AuthPlugin::MysqlNativePassword => "mysql_native_password",
            AuthPlugin::CachingSha2Password => "caching_sha2_password",
        }
    }
}

/// Where changes of accounts are written down before they count.
pub trait AccountJournal: std::fmt::Debug + Send + Sync {
    /// An error: nothing has changed.
    fn record(&self, before: &[Account], after: &[Account]) -> Result<()>;
}

/// All accounts.
#[derive(Debug)]
pub struct Accounts {
    accounts: RwLock<Vec<Account>>,
    /// Held by the one who changes something, while the journal writes too.
    changing: Mutex<()>,
    journal: Option<Box<dyn AccountJournal>>,
    /// How often FLUSH PRIVILEGES was said.
    flushes: AtomicU64,
}

impl Default for Accounts {
    fn default() -> Accounts {
        Accounts::new(vec![Account {
            user: FIRST_ACCOUNT.0.into(),
            host: FIRST_ACCOUNT.1.into(),
            plugin: AuthPlugin::CachingSha2Password,
            verifier: Verifier::None,
            locked: false,
            grant_option: true,
            privileged: true,
        }])
    }
}

impl Accounts {
    pub fn new(accounts: Vec<Account>) -> Accounts {
        Accounts {
            accounts: RwLock::new(accounts),
            changing: Mutex::new(()),
            journal: None,
            flushes: AtomicU64::new(0),
        }
    }

    /// Changes are logged before they count.
    pub fn with_journal(self, journal: Box<dyn AccountJournal>) -> Accounts {
        Accounts { journal: Some(journal), ..self }
    }

    /// Errors: the journal's; then nothing has changed.
    fn change<R>(&self, f: impl FnOnce(&mut Vec<Account>) -> R) -> Result<R> {
        let _one = self.changing.lock();
        let before = self.all();
        let mut after = before.clone();
        let r = f(&mut after);
        if let Some(journal) = &self.journal {
            journal.record(&before, &after)?;
        }
        *self.accounts.write() = after;
        Ok(r)
    }

    /// The account for a user coming from `host` (an address, or `localhost` for this machine): the most specific host
    /// pattern wins.
    pub fn find(&self, user: &str, host: &str) -> Option<Account> {
        let accounts = self.accounts.read();
        let mut fitting: Vec<&Account> =
            accounts.iter().filter(|a| *a.user == *user && host_matches(&a.host, host)).collect();
        fitting.sort_by_key(|a| (a.host.contains(['%', '_']), std::cmp::Reverse(a.host.len())));
        fitting.first().map(|a| (*a).clone())
    }

    /// Whether anyone can connect from another machine with a password.
    pub fn any_remote_with_password(&self) -> bool {
        self.accounts
            .read()
            .iter()
            .any(|a| !a.verifier.is_none() && !matches!(&*a.host, "localhost" | "127.0.0.1" | "::1"))
    }

    pub fn all(&self) -> Vec<Account> {
        self.accounts.read().clone()
    }

    /// 1396 if it exists.
    pub fn create(&self, account: Account) -> Result<()> {
        self.change(|accounts| {
            if accounts.iter().any(|a| a.user == account.user && a.host == account.host) {
                return Err(Error::cannot_user("CREATE USER", format!("'{}'@'{}'", account.user, account.host)));
            }
            accounts.push(account);
            Ok(())
        })?
    }

    /// Changes an account in place; false if there is none.
    pub fn alter(&self, user: &str, host: &str, f: impl FnOnce(&mut Account)) -> Result<bool> {
        self.change(|accounts| {
            let found = accounts.iter_mut().find(|a| *a.user == *user && *a.host == *host);
            found.map(f).is_some()
        })
    }

    /// The account of exactly this user and host.
    pub fn get(&self, user: &str, host: &str) -> Option<Account> {
        self.accounts.read().iter().find(|a| *a.user == *user && *a.host == *host).cloned()
    }

    /// The account has proved with its password that `unsalted` was made of it: the verifier is salted from now on, and
    /// logged as such. `None`: the account has another verifier by now. Errors: 1819 for a password too long for a
    /// salted verifier, and the log's; then the verifier is what it was.
    pub fn salt(&self, user: &str, host: &str, unsalted: &[u8; 32], password: &[u8]) -> Result<Option<Verifier>> {
        let salted = Verifier::of_password(AuthPlugin::CachingSha2Password, password)?;
        self.change(|accounts| {
            let found = accounts.iter_mut().find(|a| *a.user == *user && *a.host == *host);
            let found = found.filter(|a| a.verifier == Verifier::Unsalted(*unsalted))?;
            found.verifier = salted.clone();
            Some(salted)
        })
    }

    /// FLUSH PRIVILEGES: what was kept to make logins quick is forgotten.
    pub fn flush(&self) {
        self.flushes.fetch_add(1, Ordering::Release);
    }

    /// How often [`Accounts::flush`] was called.
    pub fn flushes(&self) -> u64 {
        self.flushes.load(Ordering::Acquire)
    }

    pub fn is_there(&self, user: &str, host: &str) -> bool {
        self.accounts.read().iter().any(|a| *a.user == *user && *a.host == *host)
    }

    /// Gives or takes privileges and the grant option of these (user, host), where it is said of either.
    pub fn set_privileges(
        &self,
        whose: &[(Box<str>, Box<str>)],
        privileged: Option<bool>,
        grant_option: Option<bool>,
    ) -> Result<()> {
        self.change(|accounts| {
            let meant = |a: &Account| whose.iter().any(|(user, host)| a.user == *user && a.host == *host);
            for account in accounts.iter_mut().filter(|a| meant(a)) {
                account.privileged = privileged.unwrap_or(account.privileged);
                account.grant_option = grant_option.unwrap_or(account.grant_option);
            }
        })
    }

    pub fn drop(&self, user: &str, host: &str) -> Result<bool> {
        self.change(|accounts| {
            let before = accounts.len();
            accounts.retain(|a| !(*a.user == *user && *a.host == *host));
            accounts.len() < before
        })
    }
}

fn host_matches(pattern: &str, host: &str) -> bool {
    if pattern.eq_ignore_ascii_case(host) {
        return true;
    }
    let local = |h: &str| matches!(h, "localhost" | "127.0.0.1" | "::1");
    if pattern == "localhost" && local(host) {
        return true;
    }
    like(pattern.as_bytes(), host.as_bytes())
}

/// `%` and `_` over bytes, without escapes; linear in pattern x text at worst.
fn like(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t, mut star) = (0, 0, None);
    while t < text.len() {
        if p < pattern.len() && (pattern[p] == b'_' || pattern[p].eq_ignore_ascii_case(&text[t])) && pattern[p] != b'%'
        {
            p += 1;
            t += 1;
        } else if p < pattern.len() && pattern[p] == b'%' {
            star = Some((p, t));
            p += 1;
        } else if let Some((sp, st)) = star {
            p = sp + 1;
            t = st + 1;
            star = Some((sp, st + 1));
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|&c| c == b'%')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_specific_host_wins() {
        let accounts = Accounts::default();
        let account = |host: &str| Account {
            user: "app".into(),
            host: host.into(),
            plugin: AuthPlugin::CachingSha2Password,
            verifier: Verifier::Unsalted([1; 32]),
            locked: false,
            grant_option: false,
            privileged: true,
        };
        accounts.create(account("%")).unwrap();
        accounts.create(account("10.0.%")).unwrap();
        accounts.create(account("10.0.0.7")).unwrap();
        assert!(accounts.create(account("%")).is_err());
        let host = |from: &str| accounts.find("app", from).map(|a| a.host);
        assert_eq!(host("10.0.0.7").as_deref(), Some("10.0.0.7"));
        assert_eq!(host("10.0.9.1").as_deref(), Some("10.0.%"));
        assert_eq!(host("192.168.1.1").as_deref(), Some("%"));
        assert_eq!(accounts.find("root", "10.0.0.7"), None);
        assert!(accounts.find("root", "127.0.0.1").is_some());
        assert!(accounts.any_remote_with_password());
    }
}
