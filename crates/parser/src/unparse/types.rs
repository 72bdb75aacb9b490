//! Types as text.

use super::{QuotedBytes, list};
use crate::ast::*;
use std::fmt::{Display, Formatter, Result};

/// `(n)`
struct Len(Option<u32>);

impl Display for Len {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self.0 {
            Some(n) => write!(f, "({n})"),
            None => Ok(()),
        }
    }
}

fn digits(f: &mut Formatter<'_>, precision: Option<u32>, scale: Option<u32>) -> Result {
    match (precision, scale) {
        (Some(p), Some(s)) => write!(f, "({p},{s})"),
        (Some(p), None) => write!(f, "({p})"),
        _ => Ok(()),
    }
}

fn sign(f: &mut Formatter<'_>, unsigned: bool, zerofill: bool) -> Result {
    f.write_str(if unsigned { " unsigned" } else { "" })?;
    f.write_str(if zerofill { " zerofill" } else { "" })
}

impl Display for CharsetSpec {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        if let Some(charset) = &self.charset {
            write!(f, " character set {}", charset.as_str())?;
        }
        f.write_str(if self.binary { " binary" } else { "" })
    }
}

impl GeometryKind {
    /// The type in SQL.
    pub const fn name(self) -> &'static str {
        match self {
            GeometryKind::Geometry => "geometry",
            GeometryKind::Point => "point",
            GeometryKind::LineString => "linestring",
            GeometryKind::Polygon => "polygon",
            GeometryKind::MultiPoint => "multipoint",
            GeometryKind::MultiLineString => "multilinestring",
            GeometryKind::MultiPolygon => "multipolygon",
            GeometryKind::GeometryCollection => "geomcollection",
        }
    }
}

impl Display for DataType {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let tier = |tier: &LobTier| match tier {
            LobTier::Tiny => "tiny",
            LobTier::Normal => "",
            LobTier::Medium => "medium",
            LobTier::Long => "long",
        };
        let strings = |f: &mut Formatter<'_>, word: &str, values: &[Box<[u8]>], charset: &CharsetSpec| {
            write!(f, "{word}(")?;
            list(f, values, ",", |f, v| QuotedBytes(v).fmt(f))?;
            write!(f, "){charset}")
        };
        match self {
            DataType::Bit(n) => write!(f, "bit{}", Len(*n)),
            DataType::Int { size, width, unsigned, zerofill } => {
                let word = match size {
                    IntType::TinyInt => "tinyint",
                    IntType::SmallInt => "smallint",
                    IntType::MediumInt => "mediumint",
                    IntType::Int => "int",
                    IntType::BigInt => "bigint",
                };
                write!(f, "{word}{}", Len(*width))?;
                sign(f, *unsigned, *zerofill)
            }
            DataType::Decimal { precision, scale, unsigned, zerofill } => {
                f.write_str("decimal")?;
                digits(f, *precision, *scale)?;
                sign(f, *unsigned, *zerofill)
            }
            DataType::Float { digits: d, unsigned, zerofill } => {
                f.write_str("float")?;
                digits(f, d.map(|d| d.0), d.map(|d| d.1))?;
                sign(f, *unsigned, *zerofill)
            }
            DataType::Double { digits: d, unsigned, zerofill } => {
                f.write_str("double")?;
                digits(f, d.map(|d| d.0), d.map(|d| d.1))?;
                sign(f, *unsigned, *zerofill)
            }
            DataType::Char { len, charset } => write!(f, "char{}{charset}", Len(*len)),
            DataType::VarChar { len, charset } => write!(f, "varchar({len}){charset}"),
            DataType::Binary(len) => write!(f, "binary{}", Len(*len)),
            DataType::VarBinary(len) => write!(f, "varbinary({len})"),
            DataType::Text { tier: t, len, charset } => write!(f, "{}text{}{charset}", tier(t), Len(*len)),
            DataType::Blob { tier: t, len } => write!(f, "{}blob{}", tier(t), Len(*len)),
            DataType::Enum { values, charset } => strings(f, "enum", values, charset),
            DataType::Set { values, charset } => strings(f, "set", values, charset),
            DataType::Date => f.write_str("date"),
            DataType::Time(fsp) => write!(f, "time{}", Len(*fsp)),
            DataType::DateTime(fsp) => write!(f, "datetime{}", Len(*fsp)),
            DataType::Timestamp(fsp) => write!(f, "timestamp{}", Len(*fsp)),
            DataType::Year(width) => write!(f, "year{}", Len(*width)),
            DataType::Json => f.write_str("json"),
            DataType::Geometry(kind) => f.write_str(kind.name()),
            DataType::Serial => f.write_str("serial"),
        }
    }
}

impl Display for CastType {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            CastType::Signed => f.write_str("signed"),
            CastType::Unsigned => f.write_str("unsigned"),
            CastType::Decimal { precision, scale } => {
                f.write_str("decimal")?;
                digits(f, *precision, *scale)
            }
            CastType::Float => f.write_str("float"),
            CastType::Double => f.write_str("double"),
            CastType::Date => f.write_str("date"),
            CastType::Time { fsp } => write!(f, "time{}", Len(*fsp)),
            CastType::DateTime { fsp } => write!(f, "datetime{}", Len(*fsp)),
            CastType::Year => f.write_str("year"),
            CastType::Char { len, charset } => {
                write!(f, "char{}", Len(*len))?;
                match charset {
                    Some(charset) => write!(f, " character set {}", charset.as_str()),
                    None => Ok(()),
                }
            }
            CastType::Binary { len } => write!(f, "binary{}", Len(*len)),
            CastType::Json => f.write_str("json"),
            CastType::Geometry(kind) => f.write_str(kind.name()),
        }
    }
}
