//! SQL types and the physical form in which each is stored.
//!
//! A type says what a value means; [`SqlType::phys`] says how a chunk holds it. Attributes that only matter to DDL and
//! to display (ZEROFILL, display width, UNSIGNED on DECIMAL/FLOAT/DOUBLE) live in the catalog's column definition.

use std::fmt;

use crate::Collation;
use crate::record::Attributes;

/// Width of an integer type.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum IntSize {
    /// TINYINT, 1 byte
    I8,
    /// SMALLINT, 2 bytes
    I16,
    /// MEDIUMINT, 3 bytes; held in 4
    I24,
    /// INT, 4 bytes
    I32,
    /// BIGINT, 8 bytes
    I64,
}

impl IntSize {
    /// Bytes of a value on disk and in the protocol.
    pub const fn bytes(self) -> u32 {
        match self {
            IntSize::I8 => 1,
            IntSize::I16 => 2,
            IntSize::I24 => 3,
            IntSize::I32 => 4,
            IntSize::I64 => 8,
        }
    }

    /// The least and the greatest value.
    pub const fn range(self, unsigned: bool) -> (i128, i128) {
        let bits = self.bytes() * 8;
        if unsigned { (0, (1 << bits) - 1) } else { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) }
    }

    /// The least signed value.
    pub const fn min_value(self) -> i64 {
        self.range(false).0 as i64
    }

    /// The greatest signed value.
    pub const fn max_value(self) -> i64 {
        self.range(false).1 as i64
    }

    /// The greatest unsigned value.
    pub const fn max_unsigned(self) -> u64 {
        self.range(true).1 as u64
    }

    /// The SQL word, in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            IntSize::I8 => "tinyint",
            IntSize::I16 => "smallint",
            IntSize::I24 => "mediumint",
            IntSize::I32 => "int",
            IntSize::I64 => "bigint",
        }
    }
}

/// Family of a character or byte string type. With [`Collation::Binary`] these are BINARY, VARBINARY and the BLOBs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum StringKind {
    /// CHAR / BINARY
    Char,
    /// VARCHAR / VARBINARY
    VarChar,
    /// TINYTEXT / TINYBLOB
    TinyText,
    /// TEXT / BLOB
    Text,
    /// MEDIUMTEXT / MEDIUMBLOB
    MediumText,
    /// LONGTEXT / LONGBLOB
    LongText,
}

/// The type of a column or expression.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SqlType {
    /// The type of a bare NULL.
    Null,
    /// Result of a predicate: 0, 1 or NULL. Clients see INT(1). Not a column type (BOOL is TINYINT(1)).
    Bool,
    Int {
        size: IntSize,
        unsigned: bool,
    },
    /// precision 1..=65 digits, of which `scale` 0..=30 after the point.
    Decimal {
        precision: u8,
        scale: u8,
    },
    Float,
    Double,
    /// `len`: characters for character strings, bytes for binary strings; the maximum of the TEXT/BLOB tier otherwise.
    String {
        kind: StringKind,
        len: u32,
        collation: Collation,
    },
    Date,
    /// `fsp`: 0..=6 digits of fractional seconds.
    Time {
        fsp: u8,
    },
    DateTime {
        fsp: u8,
    },
    /// Stored in UTC, read and written in the session's time zone.
    Timestamp {
        fsp: u8,
    },
    Year,
}

/// How values lie in a chunk.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PhysType {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    I128,
    I256,
    F32,
    F64,
    /// 16-byte views over heap blocks, or dictionary codes.
    Str,
}

impl PhysType {
    /// Bytes of one value in its array.
    #[inline]
    pub const fn bytes(self) -> usize {
        match self {
            PhysType::I8 | PhysType::U8 => 1,
            PhysType::I16 | PhysType::U16 => 2,
            PhysType::I32 | PhysType::U32 | PhysType::F32 => 4,
            PhysType::I64 | PhysType::U64 | PhysType::F64 => 8,
            PhysType::I128 | PhysType::Str => 16,
            PhysType::I256 => 32,
        }
    }
}

impl SqlType {
    pub const BIGINT: SqlType = SqlType::Int { size: IntSize::I64, unsigned: false };
    pub const BIGINT_UNSIGNED: SqlType = SqlType::Int { size: IntSize::I64, unsigned: true };
    pub const INT: SqlType = SqlType::Int { size: IntSize::I32, unsigned: false };

    /// VARCHAR(len) in the given collation.
    pub const fn varchar(len: u32, collation: Collation) -> SqlType {
        SqlType::String { kind: StringKind::VarChar, len, collation }
    }

    /// The canonical physical form. DECIMAL values *in flight* may be carried narrower than this (an I64 array in place
    /// of I128 or I256 when bounds prove that it suffices); stored columns always have exactly this form.
    #[inline]
    pub fn phys(&self) -> PhysType {
        match self {
            SqlType::Decimal { precision: 0..=18, .. } => PhysType::I64,
            SqlType::Decimal { precision: 19..=38, .. } => PhysType::I128,
            SqlType::Decimal { .. } => PhysType::I256,
            _ => self.record().phys,
        }
    }

    pub const fn is_string(&self) -> bool {
        matches!(self, SqlType::String { .. })
    }

    /// Integers, YEAR and predicates.
    pub const fn is_integer(&self) -> bool {
        matches!(self, SqlType::Int { .. } | SqlType::Bool | SqlType::Year)
    }

    pub const fn is_numeric(&self) -> bool {
        self.is_integer() || matches!(self, SqlType::Decimal { .. } | SqlType::Float | SqlType::Double)
    }

    pub const fn is_temporal(&self) -> bool {
        matches!(self, SqlType::Date | SqlType::Time { .. } | SqlType::DateTime { .. } | SqlType::Timestamp { .. })
    }

    pub const fn is_unsigned(&self) -> bool {
        matches!(self, SqlType::Int { unsigned: true, .. } | SqlType::Year)
    }

    /// The collation of a string type.
    pub const fn collation(&self) -> Option<Collation> {
        match self {
            SqlType::String { collation, .. } => Some(*collation),
            _ => None,
        }
    }
}

impl fmt::Display for SqlType {
    /// As SHOW CREATE TABLE writes the type, without character set: `decimal(10,2)`, `bigint unsigned`, `varchar(20)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let record = self.record();
        f.write_str(record.name)?;
        match (record.attributes, *self) {
            (Attributes::Unsigned, _) => f.write_str(" unsigned"),
            (_, SqlType::Decimal { precision, scale }) => write!(f, "({precision},{scale})"),
            (Attributes::Length, SqlType::String { len, .. }) => write!(f, "({len})"),
            (_, SqlType::Time { fsp } | SqlType::DateTime { fsp } | SqlType::Timestamp { fsp }) if fsp > 0 => {
                write!(f, "({fsp})")
            }
            _ => Ok(()),
        }
    }
}
