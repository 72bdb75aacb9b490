//! Tables of information_schema that are always empty, because their objects do not exist here. Tools read them all the
//! same, and name their columns: they have all of MySQL's.

use super::VirtualTable;
use super::reading::Reading;
use session::rows::{BIGINT, RowSet, UBIGINT, long_text, text};
use types::SqlType;

const DATETIME: SqlType = SqlType::DateTime { fsp: 0 };
const TIMESTAMP: SqlType = SqlType::Timestamp { fsp: 0 };

pub(super) const fn empty(name: &'static str, columns: &'static [(&'static str, SqlType)]) -> VirtualTable {
    VirtualTable { name, columns, rows: |_: &Reading<'_>, _: &mut RowSet| {} }
}

pub const COLUMN_PRIVILEGES: VirtualTable = empty(
    "COLUMN_PRIVILEGES",
    &[
        ("GRANTEE", text(292)),
        ("TABLE_CATALOG", text(512)),
        ("TABLE_SCHEMA", text(64)),
        ("TABLE_NAME", text(64)),
        ("COLUMN_NAME", text(64)),
        ("PRIVILEGE_TYPE", text(64)),
        ("IS_GRANTABLE", text(3)),
    ],
);

pub const EVENTS: VirtualTable = empty(
    "EVENTS",
    &[
        ("EVENT_CATALOG", text(64)),
        ("EVENT_SCHEMA", text(64)),
        ("EVENT_NAME", text(64)),
        ("DEFINER", text(288)),
        ("TIME_ZONE", text(64)),
        ("EVENT_BODY", text(3)),
        ("EVENT_DEFINITION", long_text()),
        ("EVENT_TYPE", text(9)),
        ("EXECUTE_AT", DATETIME),
        ("INTERVAL_VALUE", text(256)),
        ("INTERVAL_FIELD", text(18)),
        ("SQL_MODE", text(8192)),
        ("STARTS", DATETIME),
        ("ENDS", DATETIME),
        ("STATUS", text(21)),
        ("ON_COMPLETION", text(12)),
        ("CREATED", TIMESTAMP),
        ("LAST_ALTERED", TIMESTAMP),
        ("LAST_EXECUTED", DATETIME),
        ("EVENT_COMMENT", text(2048)),
        ("ORIGINATOR", UBIGINT),
        ("CHARACTER_SET_CLIENT", text(64)),
        ("COLLATION_CONNECTION", text(64)),
        ("DATABASE_COLLATION", text(64)),
    ],
);

pub const FILES: VirtualTable = empty(
    "FILES",
    &[
        ("FILE_ID", BIGINT),
        ("FILE_NAME", long_text()),
        ("FILE_TYPE", text(256)),
        ("TABLESPACE_NAME", text(268)),
        ("TABLE_CATALOG", text(64)),
        ("TABLE_SCHEMA", text(64)),
        ("TABLE_NAME", text(64)),
        ("LOGFILE_GROUP_NAME", text(256)),
        ("LOGFILE_GROUP_NUMBER", BIGINT),
        ("ENGINE", text(64)),
        ("FULLTEXT_KEYS", text(64)),
        ("DELETED_ROWS", BIGINT),
        ("UPDATE_COUNT", BIGINT),
        ("FREE_EXTENTS", BIGINT),
        ("TOTAL_EXTENTS", BIGINT),
        ("EXTENT_SIZE", BIGINT),
        ("INITIAL_SIZE", BIGINT),
        ("MAXIMUM_SIZE", BIGINT),
        ("AUTOEXTEND_SIZE", BIGINT),
        ("CREATION_TIME", DATETIME),
        ("LAST_UPDATE_TIME", DATETIME),
        ("LAST_ACCESS_TIME", DATETIME),
        ("RECOVER_TIME", BIGINT),
        ("TRANSACTION_COUNTER", BIGINT),
        ("VERSION", BIGINT),
        ("ROW_FORMAT", text(256)),
        ("TABLE_ROWS", BIGINT),
        ("AVG_ROW_LENGTH", BIGINT),
        ("DATA_LENGTH", BIGINT),
        ("MAX_DATA_LENGTH", BIGINT),
        ("INDEX_LENGTH", BIGINT),
        ("DATA_FREE", BIGINT),
        ("CREATE_TIME", DATETIME),
        ("UPDATE_TIME", DATETIME),
        ("CHECK_TIME", DATETIME),
        ("CHECKSUM", BIGINT),
        ("STATUS", text(256)),
        ("EXTRA", text(256)),
    ],
);

pub const PARAMETERS: VirtualTable = empty(
    "PARAMETERS",
    &[
        ("SPECIFIC_CATALOG", text(64)),
        ("SPECIFIC_SCHEMA", text(64)),
        ("SPECIFIC_NAME", text(64)),
        ("ORDINAL_POSITION", UBIGINT),
        ("PARAMETER_MODE", text(5)),
        ("PARAMETER_NAME", text(64)),
        ("DATA_TYPE", long_text()),
        ("CHARACTER_MAXIMUM_LENGTH", BIGINT),
        ("CHARACTER_OCTET_LENGTH", BIGINT),
        ("NUMERIC_PRECISION", UBIGINT),
        ("NUMERIC_SCALE", BIGINT),
        ("DATETIME_PRECISION", UBIGINT),
        ("CHARACTER_SET_NAME", text(64)),
        ("COLLATION_NAME", text(64)),
        ("DTD_IDENTIFIER", long_text()),
        ("ROUTINE_TYPE", text(64)),
    ],
);

pub const PARTITIONS: VirtualTable = empty(
    "PARTITIONS",
    &[
        ("TABLE_CATALOG", text(64)),
        ("TABLE_SCHEMA", text(64)),
        ("TABLE_NAME", text(64)),
        ("PARTITION_NAME", text(64)),
        ("SUBPARTITION_NAME", text(64)),
        ("PARTITION_ORDINAL_POSITION", UBIGINT),
        ("SUBPARTITION_ORDINAL_POSITION", UBIGINT),
        ("PARTITION_METHOD", text(13)),
        ("SUBPARTITION_METHOD", text(13)),
        ("PARTITION_EXPRESSION", text(2048)),
        ("SUBPARTITION_EXPRESSION", text(2048)),
        ("PARTITION_DESCRIPTION", long_text()),
        ("TABLE_ROWS", UBIGINT),
        ("AVG_ROW_LENGTH", UBIGINT),
        ("DATA_LENGTH", UBIGINT),
        ("MAX_DATA_LENGTH", UBIGINT),
        ("INDEX_LENGTH", UBIGINT),
        ("DATA_FREE", UBIGINT),
        ("CREATE_TIME", TIMESTAMP),
        ("UPDATE_TIME", DATETIME),
        ("CHECK_TIME", DATETIME),
        ("CHECKSUM", BIGINT),
        ("PARTITION_COMMENT", long_text()),
        ("NODEGROUP", text(256)),
        ("TABLESPACE_NAME", text(268)),
    ],
);

pub const ROUTINES: VirtualTable = empty(
    "ROUTINES",
    &[
        ("SPECIFIC_NAME", text(64)),
        ("ROUTINE_CATALOG", text(64)),
        ("ROUTINE_SCHEMA", text(64)),
        ("ROUTINE_NAME", text(64)),
        ("ROUTINE_TYPE", text(10)),
        ("DATA_TYPE", long_text()),
        ("CHARACTER_MAXIMUM_LENGTH", BIGINT),
        ("CHARACTER_OCTET_LENGTH", BIGINT),
        ("NUMERIC_PRECISION", UBIGINT),
        ("NUMERIC_SCALE", UBIGINT),
        ("DATETIME_PRECISION", UBIGINT),
        ("CHARACTER_SET_NAME", text(64)),
        ("COLLATION_NAME", text(64)),
        ("DTD_IDENTIFIER", long_text()),
        ("ROUTINE_BODY", text(3)),
        ("ROUTINE_DEFINITION", long_text()),
        ("EXTERNAL_NAME", text(64)),
        ("EXTERNAL_LANGUAGE", text(64)),
        ("PARAMETER_STYLE", text(3)),
        ("IS_DETERMINISTIC", text(3)),
        ("SQL_DATA_ACCESS", text(17)),
        ("SQL_PATH", text(1)),
        ("SECURITY_TYPE", text(7)),
        ("CREATED", TIMESTAMP),
        ("LAST_ALTERED", TIMESTAMP),
        ("SQL_MODE", text(8192)),
        ("ROUTINE_COMMENT", long_text()),
        ("DEFINER", text(288)),
        ("CHARACTER_SET_CLIENT", text(64)),
        ("COLLATION_CONNECTION", text(64)),
        ("DATABASE_COLLATION", text(64)),
    ],
);

pub const SCHEMA_PRIVILEGES: VirtualTable = empty(
    "SCHEMA_PRIVILEGES",
    &[
        ("GRANTEE", text(292)),
        ("TABLE_CATALOG", text(512)),
        ("TABLE_SCHEMA", text(64)),
        ("PRIVILEGE_TYPE", text(64)),
        ("IS_GRANTABLE", text(3)),
    ],
);

pub const TABLE_PRIVILEGES: VirtualTable = empty(
    "TABLE_PRIVILEGES",
    &[
        ("GRANTEE", text(292)),
        ("TABLE_CATALOG", text(512)),
        ("TABLE_SCHEMA", text(64)),
        ("TABLE_NAME", text(64)),
        ("PRIVILEGE_TYPE", text(64)),
        ("IS_GRANTABLE", text(3)),
    ],
);

pub const TRIGGERS: VirtualTable = empty(
    "TRIGGERS",
    &[
        ("TRIGGER_CATALOG", text(64)),
        ("TRIGGER_SCHEMA", text(64)),
        ("TRIGGER_NAME", text(64)),
        ("EVENT_MANIPULATION", text(6)),
        ("EVENT_OBJECT_CATALOG", text(64)),
        ("EVENT_OBJECT_SCHEMA", text(64)),
        ("EVENT_OBJECT_TABLE", text(64)),
        ("ACTION_ORDER", UBIGINT),
        ("ACTION_CONDITION", long_text()),
        ("ACTION_STATEMENT", long_text()),
        ("ACTION_ORIENTATION", text(3)),
        ("ACTION_TIMING", text(6)),
        ("ACTION_REFERENCE_OLD_TABLE", text(64)),
        ("ACTION_REFERENCE_NEW_TABLE", text(64)),
        ("ACTION_REFERENCE_OLD_ROW", text(3)),
        ("ACTION_REFERENCE_NEW_ROW", text(3)),
        ("CREATED", SqlType::Timestamp { fsp: 2 }),
        ("SQL_MODE", text(8192)),
        ("DEFINER", text(288)),
        ("CHARACTER_SET_CLIENT", text(64)),
        ("COLLATION_CONNECTION", text(64)),
        ("DATABASE_COLLATION", text(64)),
    ],
);
