//! The table of scalar functions: names, argument counts, argument conversions, result types, and what each may do.
//!
//! One row a function. `args` says to what the builder converts each argument before the kernel sees it, one letter an
//! argument, the last letter repeated for further arguments:
//!
//! ```text
//! s  a string (numbers and temporal values are printed)      e  DATE or DATETIME (TIMESTAMP in the session's time zone)
//! i  BIGINT                                                  T  TIME
//! p  BIGINT, UNSIGNED beyond it as its greatest value
//! u  BIGINT UNSIGNED                                         *  as it is
//! d  DOUBLE                                                  c  the common type of all `c` arguments
//! n  a number (strings become DOUBLE)
//! ```
//!
//! Names and argument rules: MySQL 8.4 manual, chapter "Functions and Operators".

mod eval;
mod list;
mod locks;
mod network;
mod numeric;
mod other;
mod regexp;
mod string;
mod temporal;

pub(crate) use eval::{Call, CallState, eval, over_dictionary};
pub use list::{FunctionInfo, FunctionKind, all};
pub use types::temporal::IntervalUnit;

/// Which ends TRIM cuts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TrimSide {
    Both,
    Leading,
    Trailing,
}

/// What the builder makes of a function's result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ret {
    Int,
    UInt,
    Bool,
    Double,
    /// VARCHAR(n) in the connection's collation.
    Text(u32),
    /// A string in the collation of the string arguments, as long as their sum.
    Joined,
    /// A string like the first argument.
    First,
    /// Unbounded length, in the collation of the string arguments.
    Long,
    /// VARBINARY(n)
    Bytes(u32),
    Date,
    /// TIME or DATETIME with the fractional digits of the first argument (a constant).
    NowTime,
    NowDateTime,
    /// Decided in `build::call`.
    Custom,
}

/// NULL arguments reach the kernel (otherwise any NULL argument makes the result NULL).
pub(crate) const SEES_NULL: u8 = 1;
/// May be NULL although no argument is.
pub(crate) const MAY_NULL: u8 = 2;
/// Differs from call to call: never folded, evaluated once a row.
pub(crate) const VOLATILE: u8 = 4;
/// May warn or fail: evaluated at selected rows only.
pub(crate) const MAY_WARN: u8 = 8;
/// Reads the session or the clock: constant within a statement only.
pub(crate) const SESSION: u8 = 16;

/// One row of the table.
#[derive(Debug)]
pub(crate) struct Signature {
    pub function: Function,
    pub names: &'static [&'static str],
    pub min: usize,
    pub max: usize,
    pub args: &'static str,
    pub ret: Ret,
    pub flags: u8,
}

const MANY: usize = usize::MAX;

macro_rules! functions {
    ($($variant:ident [$($name:literal),+] $min:tt .. $max:tt $args:literal $ret:expr, $flags:expr;)*) => {
        /// A scalar function, resolved by name and argument types through [`crate::build`].
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[non_exhaustive]
        pub enum Function {
            $(#[doc = concat!($("`", $name, "` "),+)] $variant,)*
            /// `EXTRACT(unit FROM x)`
            Extract(IntervalUnit),
            /// `x + INTERVAL n unit`, DATE_ADD: (x, n)
            DateAdd(IntervalUnit),
            /// `x - INTERVAL n unit`, DATE_SUB: (x, n)
            DateSub(IntervalUnit),
            /// `TIMESTAMPDIFF(unit, a, b)`: (a, b)
            TimestampDiff(IntervalUnit),
            /// `TRIM([side] [what FROM] x)`: (x, what)
            Trim(TrimSide),
        }

        /// Functions that are resolved by name alone.
        pub(crate) static SIGNATURES: &[Signature] = &[
            $(Signature {
                function: Function::$variant,
                names: &[$($name),+],
                min: $min,
                max: $max,
                args: $args,
                ret: { use Ret::*; #[allow(unused_imports)] $ret },
                flags: $flags,
            },)*
        ];
    };
}

functions! {
    // Strings
    Concat ["CONCAT"] 1..MANY "s" Joined, 0;
    ConcatWs ["CONCAT_WS"] 2..MANY "s" Joined, SEES_NULL;
    Length ["LENGTH", "OCTET_LENGTH"] 1..1 "s" Int, 0;
    BitLength ["BIT_LENGTH"] 1..1 "s" Int, 0;
    CharLength ["CHAR_LENGTH", "CHARACTER_LENGTH"] 1..1 "s" Int, 0;
    Lower ["LOWER", "LCASE"] 1..1 "s" First, 0;
    Upper ["UPPER", "UCASE"] 1..1 "s" First, 0;
    Substring ["SUBSTRING", "SUBSTR", "MID"] 2..3 "spp" First, 0;
    Left ["LEFT"] 2..2 "sp" First, 0;
    Right ["RIGHT"] 2..2 "sp" First, 0;
    Ltrim ["LTRIM"] 1..1 "s" First, 0;
    Rtrim ["RTRIM"] 1..1 "s" First, 0;
    Lpad ["LPAD"] 3..3 "sps" Long, MAY_NULL | MAY_WARN;
    Rpad ["RPAD"] 3..3 "sps" Long, MAY_NULL | MAY_WARN;
    Repeat ["REPEAT"] 2..2 "sp" Long, MAY_NULL | MAY_WARN;
    Replace ["REPLACE"] 3..3 "s" Long, MAY_WARN | MAY_NULL;
    Reverse ["REVERSE"] 1..1 "s" First, 0;
    Space ["SPACE"] 1..1 "p" Long, MAY_NULL | MAY_WARN;
    Insert ["INSERT"] 4..4 "spps" Joined, 0;
    Locate ["LOCATE"] 2..3 "ssp" Int, 0;
    Instr ["INSTR"] 2..2 "s" Int, 0;
    SubstringIndex ["SUBSTRING_INDEX"] 3..3 "ssi" First, 0;
    Ascii ["ASCII"] 1..1 "s" Int, 0;
    Ord ["ORD"] 1..1 "s" Int, 0;
    Char ["CHAR"] 1..MANY "i" Custom, SEES_NULL;
    Hex ["HEX"] 1..1 "*" Custom, 0;
    Unhex ["UNHEX"] 1..1 "s" Custom, MAY_NULL | MAY_WARN;
    Bin ["BIN"] 1..1 "s" Text(64), MAY_NULL;
    Oct ["OCT"] 1..1 "s" Text(64), MAY_NULL;
    Conv ["CONV"] 3..3 "sii" Text(65), MAY_NULL | MAY_WARN;
    Field ["FIELD"] 2..MANY "*" Custom, SEES_NULL;
    FindInSet ["FIND_IN_SET"] 2..2 "s" Int, 0;
    Elt ["ELT"] 2..MANY "is" Custom, SEES_NULL | MAY_NULL;
    MakeSet ["MAKE_SET"] 2..MANY "is" Custom, SEES_NULL | MAY_NULL;
    ExportSet ["EXPORT_SET"] 3..5 "usssi" Long, 0;
    Format ["FORMAT"] 2..3 "nis" Text(100), MAY_NULL | MAY_WARN | SEES_NULL;
    Quote ["QUOTE"] 1..1 "s" Custom, SEES_NULL;
    Strcmp ["STRCMP"] 2..2 "s" Custom, 0;
    Soundex ["SOUNDEX"] 1..1 "s" Custom, 0;
    Md5 ["MD5"] 1..1 "s" Text(32), 0;
    Sha1 ["SHA1", "SHA"] 1..1 "s" Text(40), 0;
    Sha2 ["SHA2"] 2..2 "si" Text(128), MAY_NULL | MAY_WARN;
    Crc32 ["CRC32"] 1..1 "s" UInt, 0;
    ToBase64 ["TO_BASE64"] 1..1 "s" Custom, 0;
    FromBase64 ["FROM_BASE64"] 1..1 "s" Custom, MAY_NULL;
    Uuid ["UUID"] 0..0 "" Text(36), VOLATILE;
    IsUuid ["IS_UUID"] 1..1 "s" Int, 0;
    UuidToBin ["UUID_TO_BIN"] 1..2 "si" Bytes(16), MAY_WARN;
    BinToUuid ["BIN_TO_UUID"] 1..2 "si" Text(36), MAY_WARN;
    RandomBytes ["RANDOM_BYTES"] 1..1 "i" Bytes(1024), VOLATILE | MAY_WARN;
    RegexpLike ["REGEXP_LIKE"] 2..3 "s" Bool, MAY_WARN;
    RegexpInstr ["REGEXP_INSTR"] 2..6 "ssiiis" Int, MAY_WARN;
    RegexpSubstr ["REGEXP_SUBSTR"] 2..5 "ssiis" First, MAY_NULL | MAY_WARN;
    RegexpReplace ["REGEXP_REPLACE"] 3..6 "sssiis" Long, MAY_WARN;
    WeightString ["WEIGHT_STRING"] 1..1 "s" Custom, 0;
    Charset ["CHARSET"] 1..1 "*" Text(64), SEES_NULL;
    CollationOf ["COLLATION"] 1..1 "*" Text(64), SEES_NULL;
    Coercibility ["COERCIBILITY"] 1..1 "*" Int, SEES_NULL;

    // Numbers
    Abs ["ABS"] 1..1 "n" Custom, MAY_WARN;
    Ceil ["CEIL", "CEILING"] 1..1 "n" Custom, MAY_WARN;
    Floor ["FLOOR"] 1..1 "n" Custom, MAY_WARN;
    Round ["ROUND"] 1..2 "np" Custom, MAY_WARN;
    Truncate ["TRUNCATE"] 2..2 "np" Custom, MAY_WARN;
    Pow ["POW", "POWER"] 2..2 "d" Double, MAY_WARN;
    Sqrt ["SQRT"] 1..1 "d" Double, MAY_NULL;
    Exp ["EXP"] 1..1 "d" Double, MAY_WARN;
    Ln ["LN"] 1..1 "d" Double, MAY_NULL | MAY_WARN;
    Log ["LOG"] 1..2 "d" Double, MAY_NULL | MAY_WARN;
    Log2 ["LOG2"] 1..1 "d" Double, MAY_NULL | MAY_WARN;
    Log10 ["LOG10"] 1..1 "d" Double, MAY_NULL | MAY_WARN;
    Sin ["SIN"] 1..1 "d" Double, 0;
    Cos ["COS"] 1..1 "d" Double, 0;
    Tan ["TAN"] 1..1 "d" Double, 0;
    Cot ["COT"] 1..1 "d" Double, MAY_WARN;
    Asin ["ASIN"] 1..1 "d" Double, MAY_NULL;
    Acos ["ACOS"] 1..1 "d" Double, MAY_NULL;
    Atan ["ATAN", "ATAN2"] 1..2 "d" Double, 0;
    Pi ["PI"] 0..0 "" Double, 0;
    Sign ["SIGN"] 1..1 "n" Int, 0;
    Rand ["RAND"] 0..1 "i" Double, VOLATILE | SEES_NULL;
    Greatest ["GREATEST"] 2..MANY "c" Custom, 0;
    Least ["LEAST"] 2..MANY "c" Custom, 0;
    Degrees ["DEGREES"] 1..1 "d" Double, 0;
    Radians ["RADIANS"] 1..1 "d" Double, 0;
    BitCount ["BIT_COUNT"] 1..1 "*" Int, 0;

    // Dates and times
    Now ["NOW", "CURRENT_TIMESTAMP", "LOCALTIME", "LOCALTIMESTAMP"] 0..1 "i" NowDateTime, SESSION;
    Sysdate ["SYSDATE"] 0..1 "i" NowDateTime, VOLATILE | SESSION;
    Curdate ["CURDATE", "CURRENT_DATE"] 0..0 "" Date, SESSION;
    Curtime ["CURTIME", "CURRENT_TIME"] 0..1 "i" NowTime, SESSION;
    UtcDate ["UTC_DATE"] 0..0 "" Date, SESSION;
    UtcTime ["UTC_TIME"] 0..1 "i" NowTime, SESSION;
    UtcTimestamp ["UTC_TIMESTAMP"] 0..1 "i" NowDateTime, SESSION;
    Year ["YEAR"] 1..1 "e" Int, MAY_NULL;
    Month ["MONTH"] 1..1 "e" Int, MAY_NULL;
    Day ["DAY", "DAYOFMONTH"] 1..1 "e" Int, MAY_NULL;
    Hour ["HOUR"] 1..1 "T" Int, MAY_NULL;
    Minute ["MINUTE"] 1..1 "T" Int, MAY_NULL;
    Second ["SECOND"] 1..1 "T" Int, MAY_NULL;
    Microsecond ["MICROSECOND"] 1..1 "T" Int, MAY_NULL;
    Quarter ["QUARTER"] 1..1 "e" Int, MAY_NULL;
    Dayofweek ["DAYOFWEEK"] 1..1 "e" Int, MAY_NULL | MAY_WARN;
    Weekday ["WEEKDAY"] 1..1 "e" Int, MAY_NULL | MAY_WARN;
    Dayofyear ["DAYOFYEAR"] 1..1 "e" Int, MAY_NULL | MAY_WARN;
    Week ["WEEK"] 1..2 "ei" Int, MAY_NULL | MAY_WARN;
    Weekofyear ["WEEKOFYEAR"] 1..1 "e" Int, MAY_NULL | MAY_WARN;
    Yearweek ["YEARWEEK"] 1..2 "ei" Int, MAY_NULL | MAY_WARN;
    Dayname ["DAYNAME"] 1..1 "e" Text(9), MAY_NULL | MAY_WARN;
    Monthname ["MONTHNAME"] 1..1 "e" Text(9), MAY_NULL;
    LastDay ["LAST_DAY"] 1..1 "e" Date, MAY_NULL | MAY_WARN;
    ToDays ["TO_DAYS"] 1..1 "e" Int, MAY_NULL | MAY_WARN;
    ToSeconds ["TO_SECONDS"] 1..1 "e" Int, MAY_NULL | MAY_WARN;
    FromDays ["FROM_DAYS"] 1..1 "i" Date, MAY_NULL;
    Datediff ["DATEDIFF"] 2..2 "e" Int, MAY_NULL | MAY_WARN;
    Timediff ["TIMEDIFF"] 2..2 "*" Custom, MAY_NULL | MAY_WARN;
    Addtime ["ADDTIME"] 2..2 "*" Custom, MAY_NULL | MAY_WARN;
    Subtime ["SUBTIME"] 2..2 "*" Custom, MAY_NULL | MAY_WARN;
    TimestampOf ["TIMESTAMP"] 1..2 "*" Custom, MAY_NULL | MAY_WARN;
    DateFormat ["DATE_FORMAT"] 2..2 "es" Custom, MAY_NULL;
    TimeFormat ["TIME_FORMAT"] 2..2 "Ts" Custom, MAY_NULL;
    StrToDate ["STR_TO_DATE"] 2..2 "s" Custom, MAY_NULL | MAY_WARN;
    FromUnixtime ["FROM_UNIXTIME"] 1..2 "ns" Custom, MAY_NULL | SESSION;
    UnixTimestamp ["UNIX_TIMESTAMP"] 0..1 "*" Custom, MAY_NULL | SESSION;
    Makedate ["MAKEDATE"] 2..2 "i" Date, MAY_NULL;
    Maketime ["MAKETIME"] 3..3 "iin" Custom, MAY_NULL | MAY_WARN;
    SecToTime ["SEC_TO_TIME"] 1..1 "n" Custom, MAY_NULL | MAY_WARN;
    TimeToSec ["TIME_TO_SEC"] 1..1 "T" Int, MAY_NULL;
    PeriodAdd ["PERIOD_ADD"] 2..2 "i" Int, MAY_WARN;
    PeriodDiff ["PERIOD_DIFF"] 2..2 "i" Int, MAY_WARN;
    ConvertTz ["CONVERT_TZ"] 3..3 "ess" Custom, MAY_NULL | SESSION;
    GetFormat ["GET_FORMAT"] 2..2 "s" Text(32), MAY_NULL;

    // Session
    Database ["DATABASE", "SCHEMA"] 0..0 "" Text(64), MAY_NULL | SESSION;
    User ["USER", "SESSION_USER", "SYSTEM_USER"] 0..0 "" Text(288), SESSION;
    CurrentUser ["CURRENT_USER"] 0..0 "" Text(288), SESSION;
    CurrentRole ["CURRENT_ROLE"] 0..0 "" Text(4), SESSION;
    Version ["VERSION"] 0..0 "" Text(60), SESSION;
    ConnectionId ["CONNECTION_ID"] 0..0 "" UInt, SESSION;
    LastInsertId ["LAST_INSERT_ID"] 0..0 "" UInt, SESSION;
    RowCount ["ROW_COUNT"] 0..0 "" Int, SESSION;
    FoundRows ["FOUND_ROWS"] 0..0 "" Int, SESSION;

    // Others
    Sleep ["SLEEP"] 1..1 "d" Int, VOLATILE | MAY_WARN | SEES_NULL;
    GetLock ["GET_LOCK"] 2..2 "si" Int, MAY_NULL | VOLATILE | SEES_NULL;
    ReleaseLock ["RELEASE_LOCK"] 1..1 "s" Int, MAY_NULL | VOLATILE | SEES_NULL;
    ReleaseAllLocks ["RELEASE_ALL_LOCKS"] 0..0 "" UInt, VOLATILE;
    IsFreeLock ["IS_FREE_LOCK"] 1..1 "s" Int, MAY_NULL | VOLATILE | SEES_NULL;
    IsUsedLock ["IS_USED_LOCK"] 1..1 "s" UInt, MAY_NULL | VOLATILE | SEES_NULL;
    Benchmark ["BENCHMARK"] 2..2 "i*" Int, VOLATILE | SEES_NULL;
    InetAton ["INET_ATON"] 1..1 "s" UInt, MAY_NULL | MAY_WARN;
    InetNtoa ["INET_NTOA"] 1..1 "i" Text(15), MAY_NULL;
    Inet6Aton ["INET6_ATON"] 1..1 "s" Bytes(16), MAY_NULL | MAY_WARN;
    Inet6Ntoa ["INET6_NTOA"] 1..1 "s" Text(39), MAY_NULL;
    IsIpv4 ["IS_IPV4"] 1..1 "s" Bool, 0;
    IsIpv6 ["IS_IPV6"] 1..1 "s" Bool, 0;
    IsIpv4Compat ["IS_IPV4_COMPAT"] 1..1 "s" Bool, 0;
    IsIpv4Mapped ["IS_IPV4_MAPPED"] 1..1 "s" Bool, 0;
    FormatBytes ["FORMAT_BYTES"] 1..1 "d" Text(17), 0;
    FormatPicoTime ["FORMAT_PICO_TIME"] 1..1 "d" Text(17), 0;
    Interval ["INTERVAL"] 2..MANY "n" Custom, SEES_NULL;
    Coalesce ["COALESCE", "IFNULL"] 1..MANY "c" Custom, SEES_NULL;
    // Arithmetic over quotients, rounded to the scale of `Expr::ty`. Made by the builder only.
    RoundToScale ["ROUND TO SCALE"] 1..1 "*" Custom, MAY_WARN;
    // `0x41`, `x'41'`, `b'..'`: a binary string that is a number where one is wanted. Made by the builder only.
    HexLiteral ["HEXADECIMAL LITERAL"] 1..1 "*" Custom, 0;
    // A value as a column of the type of `Expr::ty` stores it: (x, the column's name). Made by the builder only.
    ColumnValue ["COLUMN VALUE"] 2..2 "*" Custom, MAY_NULL | MAY_WARN | SEES_NULL;
    // `x COLLATE c`; the collation is that of `Expr::ty`.
    Collate ["COLLATE"] 1..1 "s" Custom, 0;
}

/// Functions of MySQL's that are known here by name only: 1235, where an unknown name answers 1305.
pub(crate) static NOT_YET: &[&str] = &[
    "AES_DECRYPT",
    "AES_ENCRYPT",
    "ASYMMETRIC_DECRYPT",
    "ASYMMETRIC_DERIVE",
    "ASYMMETRIC_ENCRYPT",
    "ASYMMETRIC_SIGN",
    "ASYMMETRIC_VERIFY",
    "CAN_ACCESS_COLUMN",
    "CAN_ACCESS_DATABASE",
    "CAN_ACCESS_TABLE",
    "CAN_ACCESS_USER",
    "CAN_ACCESS_VIEW",
    "COMPRESS",
    "EXTRACTVALUE",
    "FREE_LOCK",
    "GEOMCOLLECTION",
    "GEOMETRYCOLLECTION",
    "GET_DD_COLUMN_PRIVILEGES",
    "GET_DD_CREATE_OPTIONS",
    "GET_DD_INDEX_SUB_PART_LENGTH",
    "GTID_SUBSET",
    "GTID_SUBTRACT",
    "ICU_VERSION",
    "JSON_ARRAY",
    "JSON_ARRAY_APPEND",
    "JSON_ARRAY_INSERT",
    "JSON_CONTAINS",
    "JSON_CONTAINS_PATH",
    "JSON_DEPTH",
    "JSON_EXTRACT",
    "JSON_INSERT",
    "JSON_KEYS",
    "JSON_LENGTH",
    "JSON_MERGE",
    "JSON_MERGE_PATCH",
    "JSON_MERGE_PRESERVE",
    "JSON_OBJECT",
    "JSON_OVERLAPS",
    "JSON_PRETTY",
    "JSON_QUOTE",
    "JSON_REMOVE",
    "JSON_REPLACE",
    "JSON_SCHEMA_VALID",
    "JSON_SCHEMA_VALIDATION_REPORT",
    "JSON_SEARCH",
    "JSON_SET",
    "JSON_STORAGE_FREE",
    "JSON_STORAGE_SIZE",
    "JSON_TYPE",
    "JSON_UNQUOTE",
    "JSON_VALID",
    "JSON_VALUE",
    "LINESTRING",
    "LOAD_FILE",
    "MASTER_POS_WAIT",
    "MBRCONTAINS",
    "MBRCOVEREDBY",
    "MBRCOVERS",
    "MBRDISJOINT",
    "MBREQUALS",
    "MBRINTERSECTS",
    "MBROVERLAPS",
    "MBRTOUCHES",
    "MBRWITHIN",
    "MULTILINESTRING",
    "MULTIPOINT",
    "MULTIPOLYGON",
    "POINT",
    "POLYGON",
    "PS_CURRENT_THREAD_ID",
    "PS_THREAD_ID",
    "ROLES_GRAPHML",
    "SOURCE_POS_WAIT",
    "STATEMENT_DIGEST",
    "STATEMENT_DIGEST_TEXT",
    "UNCOMPRESS",
    "UNCOMPRESSED_LENGTH",
    "UPDATEXML",
    "UUID_SHORT",
    "VALIDATE_PASSWORD_STRENGTH",
    "WAIT_FOR_EXECUTED_GTID_SET",
    "WAIT_UNTIL_SQL_THREAD_AFTER_GTIDS",
];

impl Function {
    pub(crate) fn signature(self) -> Option<&'static Signature> {
        SIGNATURES.iter().find(|s| s.function == self)
    }

    /// The function in SQL, upper case.
    pub fn name(self) -> &'static str {
        match self {
            Function::Extract(_) => "EXTRACT",
            Function::DateAdd(_) => "DATE_ADD",
            Function::DateSub(_) => "DATE_SUB",
            Function::TimestampDiff(_) => "TIMESTAMPDIFF",
            Function::Trim(_) => "TRIM",
            f => f.signature().map_or("", |s| s.names[0]),
        }
    }

    pub(crate) fn flags(self) -> u8 {
        match self {
            // Of strings, which may be no times.
            Function::Extract(
                IntervalUnit::DayMicrosecond
                | IntervalUnit::DaySecond
                | IntervalUnit::DayMinute
                | IntervalUnit::DayHour,
            ) => MAY_NULL | MAY_WARN,
            Function::Extract(_) => MAY_NULL,
            Function::DateAdd(_) | Function::DateSub(_) => MAY_NULL | MAY_WARN,
            Function::TimestampDiff(_) => MAY_NULL | MAY_WARN,
            Function::Trim(_) => 0,
            f => f.signature().map_or(0, |s| s.flags),
        }
    }

    /// Differs from call to call (RAND, UUID, SLEEP, SYSDATE).
    pub fn is_volatile(self) -> bool {
        self.flags() & VOLATILE != 0
    }

    /// Neither warns nor fails, and is the same at every call.
    pub(crate) fn is_harmless(self) -> bool {
        self.flags() & (MAY_WARN | VOLATILE) == 0
    }

    /// Depends on the session or on the time of the statement.
    pub fn is_session(self) -> bool {
        self.flags() & SESSION != 0
    }
}
