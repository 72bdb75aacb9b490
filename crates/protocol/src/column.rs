//! Column definitions: how a result set describes itself to the client (`Protocol::ColumnDefinition41`).

use types::{Collation, SqlType, StringKind};

use crate::bytes::{put_lenenc_bytes, put_lenenc_int, put_u16, put_u32};

/// Type byte of a column definition (`MYSQL_TYPE_...`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum ColumnType {
    Tiny = 1,
    Short = 2,
    Long = 3,
    Float = 4,
    Double = 5,
    Null = 6,
    Timestamp = 7,
    LongLong = 8,
    Int24 = 9,
    Date = 10,
    Time = 11,
    DateTime = 12,
    Year = 13,
    Bit = 16,
    Json = 245,
    NewDecimal = 246,
    Enum = 247,
    Set = 248,
    Blob = 252,
    VarString = 253,
    String = 254,
    Geometry = 255,
}

impl ColumnType {
    /// The code of a type's record ([`types::TypeRecord::wire_code`]).
    pub const fn of_code(code: u8) -> ColumnType {
        use ColumnType::*;
        match code {
            1 => Tiny,
            2 => Short,
            3 => Long,
            4 => Float,
            5 => Double,
            7 => Timestamp,
            8 => LongLong,
            9 => Int24,
            10 => Date,
            11 => Time,
            12 => DateTime,
            13 => Year,
            16 => Bit,
            245 => Json,
            246 => NewDecimal,
            247 => Enum,
            248 => Set,
            252 => Blob,
            253 => VarString,
            254 => String,
            255 => Geometry,
            _ => Null,
        }
    }
}

/// Flag bits of a column definition.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct ColumnFlags(pub u16);

impl ColumnFlags {
    pub const NOT_NULL: ColumnFlags = ColumnFlags(1);
    pub const PRI_KEY: ColumnFlags = ColumnFlags(1 << 1);
    pub const UNIQUE_KEY: ColumnFlags = ColumnFlags(1 << 2);
    pub const MULTIPLE_KEY: ColumnFlags = ColumnFlags(1 << 3);
    pub const BLOB: ColumnFlags = ColumnFlags(1 << 4);
    pub const UNSIGNED: ColumnFlags = ColumnFlags(1 << 5);
    pub const ZEROFILL: ColumnFlags = ColumnFlags(1 << 6);
    pub const BINARY: ColumnFlags = ColumnFlags(1 << 7);
    pub const ENUM: ColumnFlags = ColumnFlags(1 << 8);
    pub const AUTO_INCREMENT: ColumnFlags = ColumnFlags(1 << 9);
    pub const TIMESTAMP: ColumnFlags = ColumnFlags(1 << 10);
    pub const SET: ColumnFlags = ColumnFlags(1 << 11);
    pub const NO_DEFAULT_VALUE: ColumnFlags = ColumnFlags(1 << 12);
    pub const ON_UPDATE_NOW: ColumnFlags = ColumnFlags(1 << 13);
    pub const PART_KEY: ColumnFlags = ColumnFlags(1 << 14);

    pub const fn with(self, other: ColumnFlags) -> ColumnFlags {
        ColumnFlags(self.0 | other.0)
    }

    pub const fn without(self, other: ColumnFlags) -> ColumnFlags {
        ColumnFlags(self.0 & !other.0)
    }

    pub const fn has(self, other: ColumnFlags) -> bool {
        self.0 & other.0 == other.0
    }
}

/// Id of the collation `binary`, which numbers and temporal values have on the wire.
const BINARY_ID: u16 = 63;
/// `decimals` of a floating-point number that has no fixed scale.
const NOT_FIXED_DEC: u8 = 31;

/// One column of a result set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Column<'a> {
    pub schema: &'a str,
    /// Alias of the table, and the table.
    pub table: &'a str,
    pub org_table: &'a str,
    /// Alias of the column, and the column.
    pub name: &'a str,
    pub org_name: &'a str,
    pub collation_id: u16,
    /// Display length in bytes.
    pub length: u32,
    pub column_type: ColumnType,
    pub flags: ColumnFlags,
    pub decimals: u8,
}

impl<'a> Column<'a> {
    /// A nullable column of an expression.
    pub fn of_type(name: &'a str, sql_type: &SqlType, results_collation_id: u16) -> Column<'a> {
        let mut column = wire_type(sql_type, results_collation_id);
        column.name = name;
        column
    }
}

/// The wire form of a type; names are empty. Character strings are sent in the character set of the results, whose
/// default collation `results_collation_id` is; a character of it takes at most four bytes.
pub fn wire_type(sql_type: &SqlType, results_collation_id: u16) -> Column<'static> {
    let record = sql_type.record();
    let fraction = |fsp: u8| u32::from(fsp) + u32::from(fsp > 0);
    let fixed = u32::from(record.wire_length);
    let (length, decimals, flags) = match *sql_type {
        SqlType::String { kind, len, collation } => return string(kind, len, collation, results_collation_id),
        SqlType::Int { unsigned: true, .. } => (fixed, 0, ColumnFlags::UNSIGNED),
        SqlType::Decimal { precision, scale } => {
            (u32::from(precision) + 1 + u32::from(scale > 0), scale, ColumnFlags::default())
        }
        SqlType::Float | SqlType::Double => (fixed, NOT_FIXED_DEC, ColumnFlags::default()),
        SqlType::Time { fsp } | SqlType::DateTime { fsp } | SqlType::Timestamp { fsp } => {
            (fixed + fraction(fsp), fsp, ColumnFlags::default())
        }
        SqlType::Year => (fixed, 0, ColumnFlags::UNSIGNED.with(ColumnFlags::ZEROFILL)),
        _ => (fixed, 0, ColumnFlags::default()),
    };
    let column_type = ColumnType::of_code(record.wire_code);
    let flags = if *sql_type == SqlType::Null { flags } else { flags.with(ColumnFlags::BINARY) };
    Column { column_type, length, decimals, flags, ..unnamed(BINARY_ID) }
}

fn string(kind: StringKind, len: u32, collation: Collation, results_collation_id: u16) -> Column<'static> {
    let sql_type = SqlType::String { kind, len, collation };
    let column_type = ColumnType::of_code(sql_type.record().wire_code);
    let blob = column_type == ColumnType::Blob;
    let mut flags = if blob { ColumnFlags::BLOB } else { ColumnFlags::default() };
    let by_bytes = matches!(
        collation,
        Collation::Binary | Collation::Utf8mb4Bin | Collation::Utf8mb4_0900Bin | Collation::Latin1Bin
    );
    if by_bytes {
        flags = flags.with(ColumnFlags::BINARY);
    }
    let (collation_id, length) = match collation {
        Collation::Binary => (BINARY_ID, len),
        _ => (results_collation_id, len.saturating_mul(4)),
    };
    Column { column_type, length, flags, ..unnamed(collation_id) }
}

const fn unnamed(collation_id: u16) -> Column<'static> {
    Column {
        schema: "",
        table: "",
        org_table: "",
        name: "",
        org_name: "",
        collation_id,
        length: 0,
        column_type: ColumnType::Null,
        flags: ColumnFlags(0),
        decimals: 0,
    }
}

/// Appends the payload that opens a result set.
pub fn column_count(out: &mut Vec<u8>, count: usize) {
    put_lenenc_int(out, count as u64);
}

/// Appends a column definition's payload.
pub fn column_definition(out: &mut Vec<u8>, column: &Column<'_>) {
    const FIXED_LEN: u64 = 12;
    put_lenenc_bytes(out, b"def");
    for name in [column.schema, column.table, column.org_table, column.name, column.org_name] {
        put_lenenc_bytes(out, name.as_bytes());
    }
    put_lenenc_int(out, FIXED_LEN);
    put_u16(out, column.collation_id);
    put_u32(out, column.length);
    out.push(column.column_type as u8);
    put_u16(out, column.flags.0);
    out.push(column.decimals);
    put_u16(out, 0);
}

/// Appends a column definition as COM_FIELD_LIST answers it, with the column's default; None is NULL.
pub fn field_list_definition(out: &mut Vec<u8>, column: &Column<'_>, default: Option<&[u8]>) {
    column_definition(out, column);
    match default {
        Some(text) => put_lenenc_bytes(out, text),
        None => out.push(0xfb),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layout() {
        let mut out = Vec::new();
        let column = Column {
            schema: "s",
            table: "t",
            org_table: "T",
            org_name: "C",
            ..Column::of_type("c", &SqlType::BIGINT_UNSIGNED, 255)
        };
        column_definition(&mut out, &column);
        assert_eq!(out, b"\x03def\x01s\x01t\x01T\x01c\x01C\x0c\x3f\0\x14\0\0\0\x08\xa0\0\0\0\0");
    }

    #[test]
    fn types_on_the_wire() {
        let of = |sql_type| {
            let c = wire_type(&sql_type, 255);
            (c.column_type, c.length, c.decimals, c.collation_id)
        };
        assert_eq!(of(SqlType::INT), (ColumnType::Long, 11, 0, 63));
        assert_eq!(of(SqlType::Decimal { precision: 15, scale: 2 }), (ColumnType::NewDecimal, 17, 2, 63));
        assert_eq!(of(SqlType::DateTime { fsp: 6 }), (ColumnType::DateTime, 26, 6, 63));
        assert_eq!(of(SqlType::Time { fsp: 0 }), (ColumnType::Time, 10, 0, 63));
        assert_eq!(of(SqlType::varchar(25, Collation::Utf8mb4_0900AiCi)), (ColumnType::VarString, 100, 0, 255));
        let blob = SqlType::String { kind: StringKind::LongText, len: u32::MAX, collation: Collation::Binary };
        assert_eq!(of(blob), (ColumnType::Blob, u32::MAX, 0, 63));
        assert!(wire_type(&blob, 255).flags.has(ColumnFlags::BLOB.with(ColumnFlags::BINARY)));
    }
}
