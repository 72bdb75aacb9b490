//! What the session knows: who, where, and what came before.

use super::Call;
use super::record::{Nulls, Reads, Ret, Strength, new, records};
use crate::eval::strbuf::StrBuf;
use Nulls::Maybe;
use Reads::{Diagnostics, Identity};
use Ret::{Int, Text, UInt};
use Strength::System;
use types::Result;
use vector::Chunk;

records! {
    DATABASE = new(&["DATABASE", "SCHEMA"], 0, 0, "", Text(64), database).nulls(Maybe).reads(Identity).strength(System);
    USER = new(&["USER", "SESSION_USER", "SYSTEM_USER"], 0, 0, "", Text(288), user).reads(Identity).strength(System);
    CURRENT_USER = new(&["CURRENT_USER"], 0, 0, "", Text(288), user).reads(Identity).strength(System);
    CURRENT_ROLE = new(&["CURRENT_ROLE"], 0, 0, "", Text(4), current_role).reads(Identity);
    VERSION = new(&["VERSION"], 0, 0, "", Text(60), version).reads(Identity).strength(System);
    CONNECTION_ID = new(&["CONNECTION_ID"], 0, 0, "", UInt, connection_id).reads(Identity);
    LAST_INSERT_ID = new(&["LAST_INSERT_ID"], 0, 1, "*", UInt, last_insert_id).reads(Diagnostics)
        .instead(super::built::last_insert_id);
    ROW_COUNT = new(&["ROW_COUNT"], 0, 0, "", Int, row_count).reads(Diagnostics);
    FOUND_ROWS = new(&["FOUND_ROWS"], 0, 0, "", Int, found_rows).reads(Diagnostics);
}

fn text(s: &str, out: &mut StrBuf<'_>) -> Result<bool> {
    out.extend_from_slice(s.as_bytes());
    Ok(true)
}

fn database(call: &Call) -> Result<Chunk> {
    let session = call.ctx.session;
    call.all_rows().strings(|_, out| match &session.database {
        Some(d) => text(d, out),
        None => Ok(false),
    })
}

fn user(call: &Call) -> Result<Chunk> {
    let session = call.ctx.session;
    call.rows().strings(|_, out| text(&session.user, out))
}

fn current_role(call: &Call) -> Result<Chunk> {
    call.rows().strings(|_, out| text("NONE", out))
}

fn version(call: &Call) -> Result<Chunk> {
    let session = call.ctx.session;
    call.rows().strings(|_, out| text(session.version, out))
}

fn connection_id(call: &Call) -> Result<Chunk> {
    let session = call.ctx.session;
    call.rows().fixed(|_| Ok(Some(session.connection_id)))
}

fn last_insert_id(call: &Call) -> Result<Chunk> {
    let session = call.ctx.session;
    call.rows().fixed(|_| Ok(Some(session.last_insert_id)))
}

fn row_count(call: &Call) -> Result<Chunk> {
    let session = call.ctx.session;
    call.rows().fixed(|_| Ok(Some(session.row_count)))
}

fn found_rows(call: &Call) -> Result<Chunk> {
    let session = call.ctx.session;
    call.rows().fixed(|_| Ok(Some(session.found_rows as i64)))
}
