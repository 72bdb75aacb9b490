//! Errors as MySQL's clients see them: number, SQLSTATE and message, attached once, here.
//!
//! Every fallible function of the project returns [`Result`]. An error is made by the constructor of its kind, which
//! holds MySQL's wording; code that needs another one adds a constructor rather than a format string of its own.

use std::fmt;

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A MySQL error number (`ER_...`), e.g. 1064.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ErrorCode(pub u16);

/// An error with MySQL's number and message. Boxed so that `Result<T>` stays one word wide.
#[derive(Clone, PartialEq, Eq)]
pub struct Error(Box<Inner>);

#[derive(Clone, PartialEq, Eq)]
struct Inner {
    code: ErrorCode,
    message: String,
}

impl Error {
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Error {
        Error(Box::new(Inner { code, message: message.into() }))
    }

    pub fn code(&self) -> ErrorCode {
        self.0.code
    }

    pub fn message(&self) -> &str {
        &self.0.message
    }

    pub fn sqlstate(&self) -> &'static str {
        self.0.code.sqlstate()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ERROR {} ({}): {}", self.0.code.0, self.sqlstate(), self.0.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {}

/// Level column of SHOW WARNINGS.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WarningLevel {
    Note,
    Warning,
    Error,
}

/// One row of SHOW WARNINGS.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Warning {
    pub level: WarningLevel,
    pub code: ErrorCode,
    pub message: String,
}

macro_rules! errors {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $state:literal;)*) => {
        impl ErrorCode {
            $($(#[$doc])* pub const $name: ErrorCode = ErrorCode($code);)*

            /// The five-character SQLSTATE that MySQL pairs with the number.
            pub const fn sqlstate(self) -> &'static str {
                match self.0 {
                    $($code => $state,)*
                    _ => "HY000",
                }
            }
        }
    };
}

errors! {
    DB_CREATE_EXISTS = 1007, "HY000";
    DB_DROP_EXISTS = 1008, "HY000";
    DISK_FULL = 1021, "HY000";
    CON_COUNT = 1040, "08004";
    OUT_OF_RESOURCES = 1041, "HY000";
    BAD_HOST = 1042, "08S01";
    HANDSHAKE = 1043, "08S01";
    DBACCESS_DENIED = 1044, "42000";
    ACCESS_DENIED = 1045, "28000";
    NO_DB = 1046, "3D000";
    UNKNOWN_COM = 1047, "08S01";
    BAD_DB = 1049, "42000";
    TABLE_EXISTS = 1050, "42S01";
    BAD_TABLE = 1051, "42S02";
    NON_UNIQ = 1052, "23000";
    SERVER_SHUTDOWN = 1053, "08S01";
    BAD_FIELD = 1054, "42S22";
    DUP_FIELDNAME = 1060, "42S21";
    DUP_ENTRY = 1062, "23000";
    PARSE = 1064, "42000";
    NO_SUCH_THREAD = 1094, "HY000";
    KILL_DENIED = 1095, "HY000";
    HOST_NOT_PRIVILEGED = 1130, "HY000";
    CANT_CREATE_THREAD = 1135, "HY000";
    NO_SUCH_TABLE = 1146, "42S02";
    ABORTING_CONNECTION = 1152, "08S01";
    NET_PACKET_TOO_LARGE = 1153, "08S01";
    NET_FCNTL_ERROR = 1155, "08S01";
    NET_PACKETS_OUT_OF_ORDER = 1156, "08S01";
    NET_UNCOMPRESS = 1157, "08S01";
    NET_READ = 1158, "08S01";
    NET_READ_INTERRUPTED = 1159, "08S01";
    NET_ERROR_ON_WRITE = 1160, "08S01";
    NET_WRITE_INTERRUPTED = 1161, "08S01";
    NOT_SUPPORTED_YET = 1235, "42000";
    SUBQUERY_NO_1_ROW = 1242, "21000";
    NOT_SUPPORTED_AUTH_MODE = 1251, "08004";
    UNSUPPORTED_PS = 1295, "HY000";
    QUERY_INTERRUPTED = 1317, "70100";
    INTERNAL = 1815, "HY000";
    MALFORMED_PACKET = 1835, "HY000";
    ACCOUNT_HAS_BEEN_LOCKED = 3118, "HY000";
    SECURE_TRANSPORT_REQUIRED = 3159, "HY000";
    CLIENT_LOCAL_FILES_DISABLED = 3948, "42000";
    CLIENT_INTERACTION_TIMEOUT = 4031, "HY000";
}

impl Error {
    /// 1235: a statement or clause of MySQL's that Nextleaf does not have yet.
    pub fn not_supported(what: impl fmt::Display) -> Error {
        Error::new(ErrorCode::NOT_SUPPORTED_YET, format!("This version of Nextleaf doesn't yet support '{what}'"))
    }

    /// 1815: a broken invariant of ours, answered instead of a panic.
    pub fn internal(what: impl fmt::Display) -> Error {
        Error::new(ErrorCode::INTERNAL, format!("Internal error: {what}"))
    }
}
