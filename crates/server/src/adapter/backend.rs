//! Accounts, and sessions for clients that have logged in.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use engine::{AuthPlugin, Database};
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

impl Backend for EngineBackend {
    fn account(&self, user: &str, host: &ClientHost) -> Option<Account> {
        let account = self.db.accounts().find(user, &host.name())?;
        let plugin = match account.plugin {
            AuthPlugin::MysqlNativePassword => Plugin::NativePassword,
            AuthPlugin::CachingSha2Password => Plugin::CachingSha2Password,
        };
        let stored = &*account.secret;
        let secret = match (plugin, stored.len()) {
            (_, 0) => Secret::None,
            (Plugin::NativePassword, _) => Secret::Sha1(stored.try_into().ok()?),
            (Plugin::CachingSha2Password, _) => Secret::Sha256(stored.try_into().ok()?),
        };
        Some(Account {
            user: account.user.into(),
            host: account.host.into(),
            plugin,
            secret,
            locked: account.locked,
            tls_required: false,
        })
    }

    fn has_account_with_password(&self) -> bool {
        self.db.accounts().all().iter().any(|account| !account.secret.is_empty())
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
