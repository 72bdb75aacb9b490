//! GET_LOCK, RELEASE_LOCK, RELEASE_ALL_LOCKS, IS_FREE_LOCK, IS_USED_LOCK.
//!
//! Names are regardless of case and at most 64 characters long: MySQL manual, "Locking Functions".

use super::Call;
use super::record::{Nulls, Ret, new, records};
use crate::context::UserLocks;
use Nulls::SeenMaybe;
use Ret::{Int, UInt};
use std::time::Duration;
use types::{Error, Result};
use vector::Chunk;

records! {
    GET_LOCK = new(&["GET_LOCK"], 2, 2, "si", Int, get_lock).nulls(SeenMaybe).each_row().serial();
    RELEASE_LOCK = new(&["RELEASE_LOCK"], 1, 1, "s", Int, release_lock).nulls(SeenMaybe).each_row().serial();
    RELEASE_ALL_LOCKS = new(&["RELEASE_ALL_LOCKS"], 0, 0, "", UInt, release_all_locks).each_row().serial();
    IS_FREE_LOCK = new(&["IS_FREE_LOCK"], 1, 1, "s", Int, is_free_lock).nulls(SeenMaybe).each_row().serial();
    IS_USED_LOCK = new(&["IS_USED_LOCK"], 1, 1, "s", UInt, is_used_lock).nulls(SeenMaybe).each_row().serial();
}

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

fn locks<'a>(call: &Call<'a>) -> Result<&'a dyn UserLocks> {
    call.ctx
        .session
        .locks
        .as_deref()
        .map(|l| l as &dyn UserLocks)
        .ok_or_else(|| Error::not_supported("user-level locks here"))
}

fn get_lock(call: &Call) -> Result<Chunk> {
    let locks = locks(call)?;
    call.all_rows().fixed(|i| {
        let seconds = if call.is_null(1, i) { 0 } else { call.int(1, i) };
        let timeout = u64::try_from(seconds).ok().map(Duration::from_secs);
        Ok(Some(locks.get(&name(call, i)?, timeout)? as i64))
    })
}

fn release_lock(call: &Call) -> Result<Chunk> {
    let locks = locks(call)?;
    call.all_rows().fixed(|i| Ok(locks.release(&name(call, i)?).map(|mine| mine as i64)))
}

fn release_all_locks(call: &Call) -> Result<Chunk> {
    let locks = locks(call)?;
    call.all_rows().fixed(|_| Ok(Some(locks.release_all())))
}

fn is_free_lock(call: &Call) -> Result<Chunk> {
    let locks = locks(call)?;
    call.all_rows().fixed(|i| Ok(Some(locks.holder(&name(call, i)?).is_none() as i64)))
}

fn is_used_lock(call: &Call) -> Result<Chunk> {
    let locks = locks(call)?;
    call.all_rows().fixed(|i| Ok(locks.holder(&name(call, i)?)))
}
