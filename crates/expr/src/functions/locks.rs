//! GET_LOCK, RELEASE_LOCK, RELEASE_ALL_LOCKS, IS_FREE_LOCK, IS_USED_LOCK.
//!
//! Names are regardless of case and at most 64 characters long: MySQL manual, "Locking Functions".

use super::Function;
use super::eval::Call;
use crate::context::UserLocks;
use crate::eval::rows::Rows;
use std::time::Duration;
use types::{Error, Result};
use vector::Chunk;

const NAME_CHARS_MAX: usize = 64;

fn name(call: &Call, i: usize) -> Result<String> {
    if call.is_null(0, i) {
        return Err(Error::user_lock_wrong_name("NULL"));
    }
    let text = String::from_utf8_lossy(call.bytes(0, i));
    if text.is_empty() || text.chars().count() > NAME_CHARS_MAX {
        return Err(Error::user_lock_wrong_name(text));
    }
    Ok(text.to_lowercase())
}

pub(super) fn eval(call: &Call, r: Rows) -> Result<Chunk> {
    let locks: &dyn UserLocks =
        call.ctx.session.locks.as_deref().ok_or_else(|| Error::not_supported("user-level locks here"))?;
    match call.function {
        Function::GetLock => r.fixed(|i| {
            let seconds = if call.is_null(1, i) { 0 } else { call.int(1, i) };
            let timeout = u64::try_from(seconds).ok().map(Duration::from_secs);
            Ok(Some(locks.get(&name(call, i)?, timeout)? as i64))
        }),
        Function::ReleaseLock => r.fixed(|i| Ok(locks.release(&name(call, i)?).map(|mine| mine as i64))),
        Function::IsFreeLock => r.fixed(|i| Ok(Some(locks.holder(&name(call, i)?).is_none() as i64))),
        Function::IsUsedLock => r.fixed(|i| Ok(locks.holder(&name(call, i)?))),
        _ => r.fixed(|_| Ok(Some(locks.release_all()))),
    }
}
