//! Status and system variables as tables.

use super::VirtualTable;
use crate::server_state::{status_rows, variable_rows};
use session::Frame;
use session::rows::{RowSet, s, text};
use types::SqlType;

const COLUMNS: &[(&str, SqlType)] = &[("VARIABLE_NAME", text(64)), ("VARIABLE_VALUE", text(1024))];

fn status(session: &Frame<'_>, global: bool, out: &mut RowSet) {
    for (name, value) in status_rows(session, global) {
        out.push(vec![s(name), s(value)]);
    }
}

pub const SESSION_STATUS: VirtualTable =
    VirtualTable { name: "SESSION_STATUS", columns: COLUMNS, rows: |session, out| status(session, false, out) };

pub const GLOBAL_STATUS: VirtualTable =
    VirtualTable { name: "GLOBAL_STATUS", columns: COLUMNS, rows: |session, out| status(session, true, out) };

fn variables(session: &Frame<'_>, global: bool, out: &mut RowSet) {
    out.rows.extend(variable_rows(session, global).rows);
}

pub const SESSION_VARIABLES: VirtualTable =
    VirtualTable { name: "SESSION_VARIABLES", columns: COLUMNS, rows: |session, out| variables(session, false, out) };

pub const GLOBAL_VARIABLES: VirtualTable =
    VirtualTable { name: "GLOBAL_VARIABLES", columns: COLUMNS, rows: |session, out| variables(session, true, out) };
