//! The table of types: what is known of each type of SQL and needs no code.
//!
//! One row a type; signed and unsigned integers, and strings of characters and of bytes, are rows of their own. Who
//! wants to know how a type is called, held, sent, shown or written asks [`SqlType::record`]. Where a type needs code
//! (it is parsed, converted, compared) a `match` over [`SqlType`] stands, and the compiler names each such place to
//! whoever adds one.
//!
//! A type's payload (precision and scale, length and collation, fractional digits) hangs on the value of [`SqlType`];
//! the row says by [`Attributes`] how its text shows it. ENUM and SET, whose payload is a list of names, will be rows
//! here and variants there with a handle of an interned list.

use crate::{Collation, PhysType, SqlType};

/// What sort of values a type has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TypeClass {
    /// The type of a bare NULL.
    Null,
    /// Predicates, integers, YEAR.
    Integer,
    Decimal,
    /// FLOAT and DOUBLE.
    Approximate,
    /// Strings of characters or bytes.
    String,
    Temporal,
}

/// How the text of a type goes on after its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Attributes {
    None,
    /// ` unsigned`
    Unsigned,
    /// `(precision,scale)`
    Digits,
    /// `(length)`
    Length,
    /// `(fsp)`, if that is not 0
    Fraction,
}

/// How values are written in a dump of statements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Literal {
    /// As they are.
    Bare,
    Quoted,
    /// `0x..`
    Hex,
}

/// The type of an Arrow array of such values. Digits of decimals come from the type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ArrowForm {
    Integer {
        bytes: u8,
        unsigned: bool,
    },
    Decimal,
    Float32,
    Float64,
    /// Strings of characters, in arrays of which many may be long.
    Text {
        large: bool,
    },
    Binary {
        large: bool,
    },
    Date32,
    Time64,
    /// Microseconds, local or in UTC.
    Timestamp {
        utc: bool,
    },
}

/// What is known of a type.
#[derive(Debug)]
pub struct TypeRecord {
    /// The word of SQL, in lower case: DATA_TYPE of information_schema.
    pub name: &'static str,
    pub class: TypeClass,
    pub attributes: Attributes,
    /// How values lie in a chunk; DECIMAL's depends on its precision, see [`SqlType::phys`].
    pub phys: PhysType,
    /// MySQL's code in both protocols (`enum_field_types`).
    pub wire_code: u8,
    /// Bytes of an integer in the binary protocol.
    pub wire_bytes: u8,
    /// Bytes that clients are told to make room for, without a fraction; a string's are its length.
    pub wire_length: u8,
    /// Decimal digits before the point: NUMERIC_PRECISION. DECIMAL has its own.
    pub digits: u8,
    /// Characters of a printed value, without a fraction; those of DECIMALs and strings come from the type.
    pub chars: u8,
    /// Bytes in a key as MySQL counts them, without a fraction; those of DECIMALs and strings come from the type.
    pub key_bytes: u8,
    /// What histograms call it; `None`: there are none for it.
    pub histogram: Option<&'static str>,
    pub arrow: ArrowForm,
    pub literal: Literal,
}

use ArrowForm as Arrow;
use Attributes::{Digits, Fraction, Length, Unsigned};
use PhysType as P;

const NULL: TypeRecord = TypeRecord {
    name: "null",
    class: TypeClass::Null,
    attributes: Attributes::None,
    phys: P::I8,
    wire_code: 6,
    wire_bytes: 8,
    wire_length: 0,
    digits: 0,
    chars: 0,
    key_bytes: 1,
    histogram: None,
    arrow: Arrow::Integer { bytes: 1, unsigned: false },
    literal: Literal::Bare,
};

/// An integer of so many bytes, in the protocol and in a key.
const fn int(name: &'static str, phys: PhysType, wire_code: u8, bytes: u8, wire_length: u8, digits: u8) -> TypeRecord {
    TypeRecord {
        name,
        class: TypeClass::Integer,
        phys,
        wire_code,
        wire_bytes: if bytes == 3 { 4 } else { bytes },
        wire_length,
        digits,
        chars: digits + 1,
        key_bytes: bytes,
        histogram: Some("int"),
        arrow: Arrow::Integer { bytes: if bytes == 3 { 4 } else { bytes }, unsigned: false },
        ..NULL
    }
}

const fn uint(name: &'static str, phys: PhysType, wire_code: u8, bytes: u8, wire_length: u8, digits: u8) -> TypeRecord {
    TypeRecord {
        attributes: Unsigned,
        chars: digits,
        histogram: Some("uint"),
        arrow: Arrow::Integer { bytes: if bytes == 3 { 4 } else { bytes }, unsigned: true },
        ..int(name, phys, wire_code, bytes, wire_length, digits)
    }
}

const fn text(name: &'static str, attributes: Attributes, wire_code: u8, large: bool) -> TypeRecord {
    TypeRecord {
        name,
        class: TypeClass::String,
        attributes,
        phys: P::Str,
        wire_code,
        key_bytes: 0,
        histogram: Some("string"),
        arrow: Arrow::Text { large },
        literal: Literal::Quoted,
        ..NULL
    }
}

const fn bytes(name: &'static str, attributes: Attributes, wire_code: u8, large: bool) -> TypeRecord {
    TypeRecord { arrow: Arrow::Binary { large }, literal: Literal::Hex, ..text(name, attributes, wire_code, large) }
}

const fn temporal(
    name: &'static str,
    wire_code: u8,
    chars: u8,
    key_bytes: u8,
    histogram: &'static str,
    arrow: Arrow,
) -> TypeRecord {
    TypeRecord {
        name,
        class: TypeClass::Temporal,
        attributes: Fraction,
        phys: P::I64,
        wire_code,
        wire_length: chars,
        chars,
        key_bytes,
        histogram: Some(histogram),
        arrow,
        literal: Literal::Quoted,
        ..NULL
    }
}

/// The rows, where [`row`] finds them.
static TYPES: [TypeRecord; 32] = [
    NULL,
    TypeRecord { arrow: Arrow::Integer { bytes: 1, unsigned: false }, chars: 1, ..int("int", P::I8, 8, 8, 1, 1) }
        .in_key(1),
    int("tinyint", P::I8, 1, 1, 4, 3),
    uint("tinyint", P::U8, 1, 1, 3, 3),
    int("smallint", P::I16, 2, 2, 6, 5),
    uint("smallint", P::U16, 2, 2, 5, 5),
    int("mediumint", P::I32, 9, 3, 9, 7),
    uint("mediumint", P::U32, 9, 3, 8, 8),
    int("int", P::I32, 3, 4, 11, 10),
    uint("int", P::U32, 3, 4, 10, 10),
    int("bigint", P::I64, 8, 8, 20, 19),
    uint("bigint", P::U64, 8, 8, 20, 20),
    TypeRecord {
        name: "decimal",
        class: TypeClass::Decimal,
        attributes: Digits,
        phys: P::I64,
        wire_code: 246,
        key_bytes: 0,
        histogram: Some("decimal"),
        arrow: Arrow::Decimal,
        ..NULL
    },
    TypeRecord {
        name: "float",
        class: TypeClass::Approximate,
        phys: P::F32,
        wire_code: 4,
        wire_length: 12,
        digits: 12,
        chars: 12,
        key_bytes: 4,
        histogram: Some("double"),
        arrow: Arrow::Float32,
        ..NULL
    },
    TypeRecord {
        name: "double",
        class: TypeClass::Approximate,
        phys: P::F64,
        wire_code: 5,
        wire_length: 22,
        digits: 22,
        chars: 22,
        key_bytes: 8,
        histogram: Some("double"),
        arrow: Arrow::Float64,
        ..NULL
    },
    text("char", Length, 254, false),
    bytes("binary", Length, 254, false),
    text("varchar", Length, 253, false),
    bytes("varbinary", Length, 253, false),
    text("tinytext", Attributes::None, 252, false),
    bytes("tinyblob", Attributes::None, 252, false),
    text("text", Attributes::None, 252, false),
    bytes("blob", Attributes::None, 252, false),
    text("mediumtext", Attributes::None, 252, true),
    bytes("mediumblob", Attributes::None, 252, true),
    text("longtext", Attributes::None, 252, true),
    bytes("longblob", Attributes::None, 252, true),
    TypeRecord { attributes: Attributes::None, phys: P::I32, ..temporal("date", 10, 10, 3, "date", Arrow::Date32) },
    temporal("time", 11, 10, 3, "time", Arrow::Time64),
    temporal("datetime", 12, 19, 5, "datetime", Arrow::Timestamp { utc: false }),
    temporal("timestamp", 7, 19, 4, "datetime", Arrow::Timestamp { utc: true }),
    TypeRecord { chars: 4, ..int("year", P::I16, 13, 2, 4, 4) }.in_key(1),
];

impl TypeRecord {
    const fn in_key(self, key_bytes: u8) -> TypeRecord {
        TypeRecord { key_bytes, ..self }
    }
}

const fn row(ty: &SqlType) -> usize {
    match ty {
        SqlType::Null => 0,
        SqlType::Bool => 1,
        SqlType::Int { size, unsigned } => 2 + 2 * *size as usize + *unsigned as usize,
        SqlType::Decimal { .. } => 12,
        SqlType::Float => 13,
        SqlType::Double => 14,
        SqlType::String { kind, collation, .. } => {
            15 + 2 * *kind as usize + matches!(collation, Collation::Binary) as usize
        }
        SqlType::Date => 27,
        SqlType::Time { .. } => 28,
        SqlType::DateTime { .. } => 29,
        SqlType::Timestamp { .. } => 30,
        SqlType::Year => 31,
    }
}

impl SqlType {
    /// What is known of the type.
    #[inline]
    pub fn record(&self) -> &'static TypeRecord {
        &TYPES[row(self)]
    }
}

/// All rows, for documentation and tests.
pub fn all() -> &'static [TypeRecord] {
    &TYPES
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{IntSize, StringKind};

    /// One type a row, in the order of the rows.
    fn examples() -> Vec<SqlType> {
        let mut out = vec![SqlType::Null, SqlType::Bool];
        for size in [IntSize::I8, IntSize::I16, IntSize::I24, IntSize::I32, IntSize::I64] {
            out.extend([false, true].map(|unsigned| SqlType::Int { size, unsigned }));
        }
        out.extend([SqlType::Decimal { precision: 10, scale: 2 }, SqlType::Float, SqlType::Double]);
        use StringKind::*;
        for kind in [Char, VarChar, TinyText, Text, MediumText, LongText] {
            out.extend([Collation::default(), Collation::Binary].map(|collation| SqlType::String {
                kind,
                len: 7,
                collation,
            }));
        }
        out.extend([SqlType::Date, SqlType::Time { fsp: 3 }, SqlType::DateTime { fsp: 0 }]);
        out.extend([SqlType::Timestamp { fsp: 6 }, SqlType::Year]);
        out
    }

    #[test]
    fn each_type_has_its_row() {
        let examples = examples();
        assert_eq!(examples.len(), TYPES.len());
        for (i, ty) in examples.iter().enumerate() {
            assert_eq!(row(ty), i, "{ty:?}");
            let r = ty.record();
            assert!(ty.to_string().starts_with(r.name), "{ty} is {}", r.name);
            assert_eq!(r.class == TypeClass::String, ty.is_string());
            assert_eq!(r.class == TypeClass::Temporal, ty.is_temporal());
            assert_eq!(r.class == TypeClass::Integer, ty.is_integer());
            assert_eq!(r.phys, ty.phys());
            assert_eq!(r.phys == PhysType::Str, ty.is_string());
        }
    }

    #[test]
    fn integers_are_as_wide_as_they_say() {
        for ty in examples() {
            let SqlType::Int { size, unsigned } = ty else { continue };
            let r = ty.record();
            let (lo, hi) = size.range(unsigned);
            assert_eq!(u32::from(r.key_bytes), size.bytes());
            assert_eq!(usize::from(r.digits), hi.to_string().len(), "{ty}");
            assert_eq!(usize::from(r.chars), lo.to_string().len().max(hi.to_string().len()), "{ty}");
            assert!(r.phys.bytes() >= size.bytes() as usize);
            assert_eq!(r.arrow, ArrowForm::Integer { bytes: r.phys.bytes() as u8, unsigned });
        }
    }
}
