//! Accounts, and sessions for clients that have logged in.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use engine::{AuthPlugin, Database, Verifier};
use executor::MemoryAccountant;
use protocol::auth::{Account, Plugin, Secret};
use types::Result;

use super::session::EngineSession;
use crate::net::{Backend, Client, ClientHost, Session};

/// An open database as the network sees it.
pub struct EngineBackend {
    db: Arc<Database>,
}

impl EngineBackend {
    pub fn new(db: Arc<Database>) -> EngineBackend {
        EngineBackend { db }
    }
}

/// None if it is none of the plugin's, which the engine does not let happen.
fn secret(plugin: Plugin, verifier: &Verifier) -> Option<Secret> {
    match verifier {
        Verifier::Unsalted(digest) => Some(Secret::Unsalted(*digest)),
        verifier => Secret::from_auth_string(plugin, verifier.authentication_string().as_bytes()),
    }
}

impl Backend for EngineBackend {
    fn account(&self, user: &str, host: &ClientHost) -> Option<Account> {
        let account = self.db.accounts().find(user, &host.name())?;
        let plugin = match account.plugin {
            AuthPlugin::MysqlNativePassword => Plugin::NativePassword,
            AuthPlugin::CachingSha2Password => Plugin::CachingSha2Password,
        };
        let secret = secret(plugin, &account.verifier)?;
        Some(Account {
            user: account.user.into(),
            host: account.host.into(),
            plugin,
            secret,
            locked: account.locked,
            tls_required: false,
        })
    }

    fn salt(&self, account: &Account, password: &[u8]) -> Option<Secret> {
        let Secret::Unsalted(digest) = &account.secret else { return None };
        match self.db.accounts().salt(&account.user, &account.host, digest, password) {
            Ok(verifier) => secret(account.plugin, &verifier?),
            Err(e) => {
                let name = format_args!("'{}'@'{}'", account.user, account.host);
                crate::log::error(format_args!("the password of {name} is still stored without a salt: {e}"));
                None
            }
        }
    }

    fn privilege_flushes(&self) -> u64 {
        self.db.accounts().flushes()
    }

    fn has_account_with_password(&self) -> bool {
        self.db.accounts().all().iter().any(|account| !account.verifier.is_none())
    }

    fn memory(&self) -> Option<Arc<MemoryAccountant>> {
        Some(self.db.memory().clone())
    }

    fn max_connections(&self) -> Option<usize> {
        self.db.global_if_set("max_connections").and_then(|text| text.parse().ok())
    }

    fn workers_serve(&self) -> Option<bool> {
        match &*self.db.global_if_set("thread_handling")? {
            "one-thread-per-connection" => Some(false),
            "pool-of-threads" => Some(true),
            _ => None,
        }
    }

    fn connect_timeout(&self) -> Option<Duration> {
        self.db.global_if_set("connect_timeout").and_then(|text| text.parse().ok()).map(Duration::from_secs)
    }

    fn reopen_logs(&self) -> Result<()> {
        self.db.reopen_logs()
    }

    fn note_aborted_login(&self) {
        self.db.status().aborted_connects.fetch_add(1, Ordering::Relaxed);
    }

    fn note_aborted_client(&self) {
        self.db.status().aborted_clients.fetch_add(1, Ordering::Relaxed);
    }

    fn connect(&self, client: Client) -> Result<Box<dyn Session>> {
        Ok(Box::new(EngineSession::open(self.db.clone(), client)?))
    }
}
