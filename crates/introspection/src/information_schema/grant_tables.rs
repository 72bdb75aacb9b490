//! The tables of `mysql` in which MySQL keeps accounts and privileges, and time zones: tools look there. They are made
//! when they are read, and cannot be changed. Those of privileges that GRANT cannot give are empty.

use super::VirtualTable;
use super::absent::empty;
use accounts::Account;
use session::rows::{UBIGINT, s, text, uint};
use types::{SqlType, Value};

const TIMESTAMP: SqlType = SqlType::Timestamp { fsp: 0 };

/// Columns of `user` that are 'Y' or 'N'.
const FLAG: SqlType = text(1);

pub const USER: VirtualTable = VirtualTable {
    name: "user",
    columns: &[
        ("Host", text(255)),
        ("User", text(32)),
        ("Select_priv", FLAG),
        ("Insert_priv", FLAG),
        ("Update_priv", FLAG),
        ("Delete_priv", FLAG),
        ("Create_priv", FLAG),
        ("Drop_priv", FLAG),
        ("Reload_priv", FLAG),
        ("Shutdown_priv", FLAG),
        ("Process_priv", FLAG),
        ("File_priv", FLAG),
        ("Grant_priv", FLAG),
        ("References_priv", FLAG),
        ("Index_priv", FLAG),
        ("Alter_priv", FLAG),
        ("Show_db_priv", FLAG),
        ("Super_priv", FLAG),
        ("Create_tmp_table_priv", FLAG),
        ("Lock_tables_priv", FLAG),
        ("Execute_priv", FLAG),
        ("Repl_slave_priv", FLAG),
        ("Repl_client_priv", FLAG),
        ("Create_view_priv", FLAG),
        ("Show_view_priv", FLAG),
        ("Create_routine_priv", FLAG),
        ("Alter_routine_priv", FLAG),
        ("Create_user_priv", FLAG),
        ("Event_priv", FLAG),
        ("Trigger_priv", FLAG),
        ("Create_tablespace_priv", FLAG),
        ("ssl_type", text(9)),
        ("ssl_cipher", text(65535)),
        ("x509_issuer", text(65535)),
        ("x509_subject", text(65535)),
        ("max_questions", UBIGINT),
        ("max_updates", UBIGINT),
        ("max_connections", UBIGINT),
        ("max_user_connections", UBIGINT),
        ("plugin", text(64)),
        ("authentication_string", text(65535)),
        ("password_expired", FLAG),
        ("password_last_changed", TIMESTAMP),
        ("password_lifetime", UBIGINT),
        ("account_locked", FLAG),
        ("Create_role_priv", FLAG),
        ("Drop_role_priv", FLAG),
        ("Password_reuse_history", UBIGINT),
        ("Password_reuse_time", UBIGINT),
        ("Password_require_current", FLAG),
        ("User_attributes", text(65535)),
    ],
    rows: |session, out| {
        for account in session.db().accounts().all() {
            let row = USER.columns.iter().map(|(column, _)| of_account(&account, column)).collect();
            out.push(row);
        }
    },
};

fn of_account(account: &Account, column: &str) -> Value {
    let flag = |set: bool| s(if set { "Y" } else { "N" });
    match column {
        "Host" => s(&account.host),
        "User" => s(&account.user),
        "Grant_priv" => flag(account.grant_option),
        "ssl_type" | "ssl_cipher" | "x509_issuer" | "x509_subject" => s(""),
        "max_questions" | "max_updates" | "max_connections" | "max_user_connections" => uint(0),
        "plugin" => s(account.plugin.name()),
        "authentication_string" => s(account.verifier.authentication_string()),
        "password_expired" => flag(false),
        "account_locked" => flag(account.locked),
        _ if column.ends_with("_priv") => flag(account.privileged),
        _ => Value::Null,
    }
}

pub const DB: VirtualTable = empty(
    "db",
    &[
        ("Host", text(255)),
        ("Db", text(64)),
        ("User", text(32)),
        ("Select_priv", FLAG),
        ("Insert_priv", FLAG),
        ("Update_priv", FLAG),
        ("Delete_priv", FLAG),
        ("Create_priv", FLAG),
        ("Drop_priv", FLAG),
        ("Grant_priv", FLAG),
        ("References_priv", FLAG),
        ("Index_priv", FLAG),
        ("Alter_priv", FLAG),
        ("Create_tmp_table_priv", FLAG),
        ("Lock_tables_priv", FLAG),
        ("Create_view_priv", FLAG),
        ("Show_view_priv", FLAG),
        ("Create_routine_priv", FLAG),
        ("Alter_routine_priv", FLAG),
        ("Execute_priv", FLAG),
        ("Event_priv", FLAG),
        ("Trigger_priv", FLAG),
    ],
);

pub const TABLES_PRIV: VirtualTable = empty(
    "tables_priv",
    &[
        ("Host", text(255)),
        ("Db", text(64)),
        ("User", text(32)),
        ("Table_name", text(64)),
        ("Grantor", text(288)),
        ("Timestamp", TIMESTAMP),
        ("Table_priv", text(255)),
        ("Column_priv", text(255)),
    ],
);

pub const COLUMNS_PRIV: VirtualTable = empty(
    "columns_priv",
    &[
        ("Host", text(255)),
        ("Db", text(64)),
        ("User", text(32)),
        ("Table_name", text(64)),
        ("Column_name", text(64)),
        ("Timestamp", TIMESTAMP),
        ("Column_priv", text(255)),
    ],
);

pub const PROCS_PRIV: VirtualTable = empty(
    "procs_priv",
    &[
        ("Host", text(255)),
        ("Db", text(64)),
        ("User", text(32)),
        ("Routine_name", text(64)),
        ("Routine_type", text(9)),
        ("Grantor", text(288)),
        ("Proc_priv", text(255)),
        ("Timestamp", TIMESTAMP),
    ],
);

pub const PROXIES_PRIV: VirtualTable = empty(
    "proxies_priv",
    &[
        ("Host", text(255)),
        ("User", text(32)),
        ("Proxied_host", text(255)),
        ("Proxied_user", text(32)),
        ("With_grant", UBIGINT),
        ("Grantor", text(288)),
        ("Timestamp", TIMESTAMP),
    ],
);

pub const GLOBAL_GRANTS: VirtualTable =
    empty("global_grants", &[("USER", text(32)), ("HOST", text(255)), ("PRIV", text(32)), ("WITH_GRANT_OPTION", FLAG)]);

pub const ROLE_EDGES: VirtualTable = empty(
    "role_edges",
    &[
        ("FROM_HOST", text(255)),
        ("FROM_USER", text(32)),
        ("TO_HOST", text(255)),
        ("TO_USER", text(32)),
        ("WITH_ADMIN_OPTION", FLAG),
    ],
);

pub const DEFAULT_ROLES: VirtualTable = empty(
    "default_roles",
    &[("HOST", text(255)), ("USER", text(32)), ("DEFAULT_ROLE_HOST", text(255)), ("DEFAULT_ROLE_USER", text(32))],
);

/// A zone's number is its place among the names.
pub const TIME_ZONE: VirtualTable = VirtualTable {
    name: "time_zone",
    columns: &[("Time_zone_id", UBIGINT), ("Use_leap_seconds", FLAG)],
    rows: |_, out| (1..=types::temporal::zone::names().len()).for_each(|i| out.push(vec![uint(i as u64), s("N")])),
};

pub const TIME_ZONE_NAME: VirtualTable = VirtualTable {
    name: "time_zone_name",
    columns: &[("Name", text(64)), ("Time_zone_id", UBIGINT)],
    rows: |_, out| {
        for (name, i) in types::temporal::zone::names().iter().zip(1..) {
            out.push(vec![s(name.as_str()), uint(i)]);
        }
    },
};
