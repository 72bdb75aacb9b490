//! Types as written in column definitions.

use super::{GeometryKind, Ident};

/// A type as written in a column definition.
#[derive(Clone, Debug, PartialEq)]
pub enum DataType {
    /// BIT[(n)], default 1
    Bit(Option<u32>),
    /// BOOL and BOOLEAN are TINYINT with width 1
    Int {
        size: IntType,
        width: Option<u32>,
        unsigned: bool,
        zerofill: bool,
    },
    /// DECIMAL, DEC, NUMERIC, FIXED; default (10,0)
    Decimal {
        precision: Option<u32>,
        scale: Option<u32>,
        unsigned: bool,
        zerofill: bool,
    },
    /// FLOAT, FLOAT(p) with p <= 24, FLOAT(m,d). `digits` is (m,d)
    Float {
        digits: Option<(u32, u32)>,
        unsigned: bool,
        zerofill: bool,
    },
    /// `DOUBLE [PRECISION]`, REAL, FLOAT(p) with p > 24
    Double {
        digits: Option<(u32, u32)>,
        unsigned: bool,
        zerofill: bool,
    },
    /// CHAR[(n)], default 1. National ones have charset utf8mb3. CHAR BYTE is BINARY.
    Char {
        len: Option<u32>,
        charset: CharsetSpec,
    },
    VarChar {
        len: u32,
        charset: CharsetSpec,
    },
    Binary(Option<u32>),
    VarBinary(u32),
    /// `len`: TEXT(n) picks the smallest tier that holds n characters
    Text {
        tier: LobTier,
        len: Option<u32>,
        charset: CharsetSpec,
    },
    Blob {
        tier: LobTier,
        len: Option<u32>,
    },
    Enum {
        values: Vec<Box<[u8]>>,
        charset: CharsetSpec,
    },
    Set {
        values: Vec<Box<[u8]>>,
        charset: CharsetSpec,
    },
    Date,
    Time(Option<u32>),
    DateTime(Option<u32>),
    Timestamp(Option<u32>),
    /// YEAR[(4)]
    Year(Option<u32>),
    Json,
    Geometry(GeometryKind),
    /// BIGINT UNSIGNED NOT NULL AUTO_INCREMENT UNIQUE
    Serial,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IntType {
    TinyInt,
    SmallInt,
    MediumInt,
    Int,
    BigInt,
}

/// Size class of TEXT and BLOB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LobTier {
    Tiny,
    Normal,
    Medium,
    Long,
}

/// CHARACTER SET and the old attributes of character types. COLLATE is a [`super::ColumnAttr::Collate`].
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct CharsetSpec {
    /// ASCII is latin1, UNICODE is ucs2
    pub charset: Option<Ident>,
    /// BINARY: the character set's `_bin` collation
    pub binary: bool,
}
