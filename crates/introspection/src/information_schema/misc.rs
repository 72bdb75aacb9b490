//! Character sets, collations, engines, sessions and privileges.

use super::VirtualTable;
use session::Frame;
use session::rows::{BIGINT, UBIGINT, int, long_text, opt, s, text, uint};
use types::{Collation, SqlType, Value};

/// The character sets: name, description, bytes of the longest character.
pub const CHARSETS: &[(&str, &str, &str, i64)] = &[
    ("binary", "binary", "Binary pseudo charset", 1),
    ("latin1", "latin1_swedish_ci", "cp1252 West European", 1),
    ("utf8mb4", "utf8mb4_0900_ai_ci", "UTF-8 Unicode", 4),
];

/// The collations, by id.
pub const COLLATION_LIST: &[Collation] = &[
    Collation::Latin1SwedishCi,
    Collation::Utf8mb4GeneralCi,
    Collation::Utf8mb4Bin,
    Collation::Latin1Bin,
    Collation::Binary,
    Collation::Utf8mb4_0900AiCi,
    Collation::Utf8mb4_0900Bin,
];

pub const CHARACTER_SETS: VirtualTable = VirtualTable {
    name: "CHARACTER_SETS",
    columns: &[
        ("CHARACTER_SET_NAME", text(64)),
        ("DEFAULT_COLLATE_NAME", text(64)),
        ("DESCRIPTION", text(2048)),
        ("MAXLEN", BIGINT),
    ],
    rows: |_, out| {
        for (name, collation, description, maxlen) in CHARSETS {
            out.push(vec![s(name), s(collation), s(description), int(*maxlen)]);
        }
    },
};

/// The rows of SHOW COLLATION.
pub fn collation_rows() -> Vec<Vec<Value>> {
    COLLATION_LIST
        .iter()
        .map(|c| {
            vec![
                s(c.name()),
                s(c.charset().name()),
                uint(c.id() as u64),
                s(if c.is_default() { "Yes" } else { "" }),
                s("Yes"),
                uint(if *c == Collation::Utf8mb4_0900AiCi { 0 } else { 1 }),
                s(if c.is_pad_space() { "PAD SPACE" } else { "NO PAD" }),
            ]
        })
        .collect()
}

pub const COLLATIONS: VirtualTable = VirtualTable {
    name: "COLLATIONS",
    columns: &[
        ("COLLATION_NAME", text(64)),
        ("CHARACTER_SET_NAME", text(64)),
        ("ID", UBIGINT),
        ("IS_DEFAULT", text(3)),
        ("IS_COMPILED", text(3)),
        ("SORTLEN", UBIGINT),
        ("PAD_ATTRIBUTE", text(9)),
    ],
    rows: |_, out| out.rows = collation_rows(),
};

pub const COLLATION_CHARACTER_SET_APPLICABILITY: VirtualTable = VirtualTable {
    name: "COLLATION_CHARACTER_SET_APPLICABILITY",
    columns: &[("COLLATION_NAME", text(64)), ("CHARACTER_SET_NAME", text(64))],
    rows: |_, out| out.rows = COLLATION_LIST.iter().map(|c| vec![s(c.name()), s(c.charset().name())]).collect(),
};

/// The rows of SHOW ENGINES.
pub fn engine_rows() -> Vec<Vec<Value>> {
    vec![
        vec![
            s("InnoDB"),
            s("DEFAULT"),
            s("Leaves in memory, row versions; see the manual for what is durable"),
            s("YES"),
            s("NO"),
            s("NO"),
        ],
        vec![s("MEMORY"), s("YES"), s("Leaves in memory, without log"), s("YES"), s("NO"), s("NO")],
    ]
}

pub const ENGINES: VirtualTable = VirtualTable {
    name: "ENGINES",
    columns: &[
        ("ENGINE", text(64)),
        ("SUPPORT", text(8)),
        ("COMMENT", text(80)),
        ("TRANSACTIONS", text(3)),
        ("XA", text(3)),
        ("SAVEPOINTS", text(3)),
    ],
    rows: |_, out| out.rows = engine_rows(),
};

/// The rows of SHOW PROCESSLIST: the session's own user's, or with PROCESS all. Info is cut to 100 characters unless
/// `full`.
pub fn process_rows(session: &Frame<'_>, full: bool) -> Vec<Vec<Value>> {
    session
        .db()
        .processes()
        .infos()
        .iter()
        .filter(|p| session.may_see_processes_of(&p.user))
        .map(|p| {
            let info = p.info.as_deref().map(|i| {
                let text = String::from_utf8_lossy(i);
                if full { text.into_owned() } else { text.chars().take(100).collect() }
            });
            vec![
                uint(p.id as u64),
                s(&p.user),
                s(&p.host),
                opt(p.database.as_deref()),
                s(p.command),
                int(p.time.as_secs()),
                s(p.state),
                opt(info),
            ]
        })
        .collect()
}

pub const PROCESS_COLUMNS: &[(&str, SqlType)] = &[
    ("ID", UBIGINT),
    ("USER", text(32)),
    ("HOST", text(261)),
    ("DB", text(64)),
    ("COMMAND", text(16)),
    ("TIME", BIGINT),
    ("STATE", text(64)),
    ("INFO", long_text()),
];

pub const PROCESSLIST: VirtualTable = VirtualTable {
    name: "PROCESSLIST",
    columns: PROCESS_COLUMNS,
    rows: |session, out| out.rows = process_rows(session, true),
};

/// What MySQL has as plugins: name, type.
pub const PLUGIN_LIST: &[(&str, &str)] = &[
    ("mysql_native_password", "AUTHENTICATION"),
    ("caching_sha2_password", "AUTHENTICATION"),
    ("InnoDB", "STORAGE ENGINE"),
    ("MEMORY", "STORAGE ENGINE"),
];

pub const PLUGIN_LICENSE: &str = "Apache-2.0";

pub const PLUGINS: VirtualTable = VirtualTable {
    name: "PLUGINS",
    columns: &[
        ("PLUGIN_NAME", text(64)),
        ("PLUGIN_VERSION", text(20)),
        ("PLUGIN_STATUS", text(10)),
        ("PLUGIN_TYPE", text(80)),
        ("PLUGIN_TYPE_VERSION", text(20)),
        ("PLUGIN_LIBRARY", text(64)),
        ("PLUGIN_LIBRARY_VERSION", text(20)),
        ("PLUGIN_AUTHOR", text(64)),
        ("PLUGIN_DESCRIPTION", long_text()),
        ("PLUGIN_LICENSE", text(80)),
        ("LOAD_OPTION", text(64)),
    ],
    rows: |_, out| {
        for (name, kind) in PLUGIN_LIST {
            let mut row = vec![s(name), s("1.0"), s("ACTIVE"), s(kind), s("1.0"), Value::Null, Value::Null];
            row.extend([s("Nextleaf"), s(""), s(PLUGIN_LICENSE), s("FORCE")]);
            out.push(row);
        }
    },
};

/// What GRANT ALL ON *.* gives.
const PRIVILEGES: &[&str] = &[
    "SELECT",
    "INSERT",
    "UPDATE",
    "DELETE",
    "CREATE",
    "DROP",
    "RELOAD",
    "SHUTDOWN",
    "PROCESS",
    "FILE",
    "REFERENCES",
    "INDEX",
    "ALTER",
    "SHOW DATABASES",
    "SUPER",
    "CREATE TEMPORARY TABLES",
    "LOCK TABLES",
    "EXECUTE",
    "REPLICATION SLAVE",
    "REPLICATION CLIENT",
    "CREATE VIEW",
    "SHOW VIEW",
    "CREATE ROUTINE",
    "ALTER ROUTINE",
    "CREATE USER",
    "EVENT",
    "TRIGGER",
    "CREATE TABLESPACE",
    "CREATE ROLE",
    "DROP ROLE",
];

pub const USER_PRIVILEGES: VirtualTable = VirtualTable {
    name: "USER_PRIVILEGES",
    columns: &[
        ("GRANTEE", text(292)),
        ("TABLE_CATALOG", text(512)),
        ("PRIVILEGE_TYPE", text(64)),
        ("IS_GRANTABLE", text(3)),
    ],
    rows: |session, out| {
        for account in session.db().accounts().all() {
            let grantee = format!("'{}'@'{}'", account.user, account.host);
            let grantable = if account.grant_option { "YES" } else { "NO" };
            for privilege in if account.privileged { PRIVILEGES } else { &["USAGE"] } {
                out.push(vec![s(grantee.as_str()), s("def"), s(*privilege), s(grantable)]);
            }
        }
    },
};
