//! GET_LOCK: locks by name.

use crate::Shared;
use mdl::Owner;
use std::sync::Arc;
use std::time::Duration;
use types::{ErrorCode, Result};

/// GET_LOCK and its like, for the expressions of a session.
#[derive(Debug)]
pub(super) struct NamedLocks {
    pub db: Arc<Shared>,
    pub owner: Arc<Owner>,
}

impl expr::UserLocks for NamedLocks {
    fn get(&self, name: &str, timeout: Option<Duration>) -> Result<bool> {
        executor::memory::check_not_full("A named lock")?;
        // Without a limit: a year.
        let timeout = timeout.unwrap_or(Duration::from_secs(365 * 86_400));
        match self.db.mdl().take_user_lock(&self.owner, name, timeout) {
            Ok(()) => Ok(true),
            Err(e) if e.code() == ErrorCode::LOCK_WAIT_TIMEOUT => Ok(false),
            Err(e) => Err(e),
        }
    }

    fn release(&self, name: &str) -> Option<bool> {
        self.db.mdl().release_user_lock(&self.owner, name)
    }

    fn release_all(&self) -> u64 {
        self.db.mdl().release_user_locks(&self.owner)
    }

    fn holder(&self, name: &str) -> Option<u64> {
        self.db.mdl().user_lock_holder(name).map(u64::from)
    }
}
