//! Types of columns and casts, names of character sets and collations.

use super::Parser;
use crate::ast::*;
use crate::keywords::Kw;
use crate::lexer::Tok;
use types::{Error, ErrorCode, Result};

impl<'a> Parser<'a> {
    /// A type in a column definition.
    pub(crate) fn data_type(&mut self) -> Result<DataType> {
        if !matches!(self.kind(), Tok::Ident | Tok::Kw(_)) {
            return Err(self.error());
        }
        let token = self.tok;
        let word = String::from_utf8_lossy(self.text_of(token)).to_ascii_uppercase();
        let geometry = geometry_kind(&word);
        if geometry.is_some() || !TYPE_WORDS.contains(&word.as_str()) {
            let kind = geometry.ok_or_else(|| self.error())?;
            self.bump();
            return Ok(DataType::Geometry(kind));
        }
        self.bump();
        Ok(match word.as_str() {
            "BIT" => DataType::Bit(self.opt_length()?),
            "BOOL" | "BOOLEAN" => {
                DataType::Int { size: IntType::TinyInt, width: Some(1), unsigned: false, zerofill: false }
            }
            "TINYINT" | "INT1" => self.int_type(IntType::TinyInt)?,
            "SMALLINT" | "INT2" => self.int_type(IntType::SmallInt)?,
            "MEDIUMINT" | "INT3" | "MIDDLEINT" => self.int_type(IntType::MediumInt)?,
            "INT" | "INTEGER" | "INT4" => self.int_type(IntType::Int)?,
            "BIGINT" | "INT8" => self.int_type(IntType::BigInt)?,
            "DECIMAL" | "DEC" | "NUMERIC" | "FIXED" => {
                let (precision, scale) = self.opt_precision()?;
                let (unsigned, zerofill) = self.number_attrs();
                DataType::Decimal { precision, scale, unsigned, zerofill }
            }
            "FLOAT" | "FLOAT4" => {
                let (m, d) = self.opt_precision()?;
                let (unsigned, zerofill) = self.number_attrs();
                match (m, d) {
                    (Some(m), Some(d)) => DataType::Float { digits: Some((m, d)), unsigned, zerofill },
                    // FLOAT(p) only chooses between the two widths.
                    (Some(25..=53), None) => DataType::Double { digits: None, unsigned, zerofill },
                    (Some(54..), None) => return Err(bad_float_precision()),
                    _ => DataType::Float { digits: None, unsigned, zerofill },
                }
            }
            "REAL" if self.opts.real_as_float => {
                let digits = self.opt_float_digits()?;
                let (unsigned, zerofill) = self.number_attrs();
                DataType::Float { digits, unsigned, zerofill }
            }
            "DOUBLE" | "FLOAT8" | "REAL" => {
                if word == "DOUBLE" {
                    self.eat_kw(Kw::PRECISION);
                }
                let digits = self.opt_float_digits()?;
                let (unsigned, zerofill) = self.number_attrs();
                DataType::Double { digits, unsigned, zerofill }
            }
            "CHAR" | "CHARACTER" => self.char_type(false)?,
            "NCHAR" => self.char_type(true)?,
            "NVARCHAR" => self.varchar_type(true)?,
            "NATIONAL" => {
                if self.eat_kw(Kw::VARCHAR) || self.eat_kw(Kw::VARCHARACTER) {
                    self.varchar_type(true)?
                } else if self.eat_kw(Kw::CHAR) || self.eat_kw(Kw::CHARACTER) {
                    self.char_type(true)?
                } else {
                    return Err(self.error());
                }
            }
            "VARCHAR" | "VARCHARACTER" => self.varchar_type(false)?,
            "BINARY" => DataType::Binary(self.opt_length()?),
            "VARBINARY" => DataType::VarBinary(self.length()?),
            "TINYTEXT" => self.text_type(LobTier::Tiny, None)?,
            "TEXT" => {
                let len = self.opt_length()?;
                self.text_type(LobTier::Normal, len)?
            }
            "MEDIUMTEXT" => self.text_type(LobTier::Medium, None)?,
            "LONGTEXT" => self.text_type(LobTier::Long, None)?,
            "LONG" => {
                if self.eat_kw(Kw::VARBINARY) {
                    DataType::Blob { tier: LobTier::Medium, len: None }
                } else {
                    if self.eat_kw(Kw::CHAR) {
                        self.expect_kw(Kw::VARYING)?;
                    } else if !self.eat_kw(Kw::VARCHAR) {
                        self.eat_kw(Kw::VARCHARACTER);
                    }
                    self.text_type(LobTier::Medium, None)?
                }
            }
            "TINYBLOB" => DataType::Blob { tier: LobTier::Tiny, len: None },
            "BLOB" => DataType::Blob { tier: LobTier::Normal, len: self.opt_length()? },
            "MEDIUMBLOB" => DataType::Blob { tier: LobTier::Medium, len: None },
            "LONGBLOB" => DataType::Blob { tier: LobTier::Long, len: None },
            "ENUM" => {
                let values = self.paren_list(Self::bytes_literal)?;
                DataType::Enum { values, charset: self.charset_spec()? }
            }
            "SET" => {
                let values = self.paren_list(Self::bytes_literal)?;
                DataType::Set { values, charset: self.charset_spec()? }
            }
            "DATE" => DataType::Date,
            "TIME" => DataType::Time(self.opt_length()?),
            "DATETIME" => DataType::DateTime(self.opt_length()?),
            "TIMESTAMP" => DataType::Timestamp(self.opt_length()?),
            "YEAR" => {
                let width = self.opt_length()?;
                self.number_attrs();
                if !matches!(width, None | Some(4)) {
                    return Err(Error::new(
                        ErrorCode::INVALID_YEAR_COLUMN_LENGTH,
                        "Supports only YEAR or YEAR(4) column.",
                    ));
                }
                DataType::Year(width)
            }
            "JSON" => DataType::Json,
            _ => DataType::Serial,
        })
    }

    /// `(n)`
    fn length(&mut self) -> Result<u32> {
        self.expect(Tok::LParen)?;
        let len = self.number_u32()?;
        self.expect(Tok::RParen)?;
        Ok(len)
    }

    pub(super) fn opt_length(&mut self) -> Result<Option<u32>> {
        if self.at(Tok::LParen) { self.length().map(Some) } else { Ok(None) }
    }

    /// `(m)` or `(m, d)`
    fn opt_precision(&mut self) -> Result<(Option<u32>, Option<u32>)> {
        if !self.eat(Tok::LParen) {
            return Ok((None, None));
        }
        let precision = self.number_u32()?;
        let scale = if self.eat(Tok::Comma) { Some(self.number_u32()?) } else { None };
        self.expect(Tok::RParen)?;
        Ok((Some(precision), scale))
    }

    /// `(m, d)`
    fn opt_float_digits(&mut self) -> Result<Option<(u32, u32)>> {
        match self.opt_precision()? {
            (Some(m), Some(d)) => Ok(Some((m, d))),
            (None, _) => Ok(None),
            _ => Err(self.error_at(self.prev_end - 1)),
        }
    }

    /// SIGNED, UNSIGNED, ZEROFILL in any order; ZEROFILL implies UNSIGNED.
    fn number_attrs(&mut self) -> (bool, bool) {
        let (mut unsigned, mut zerofill) = (false, false);
        loop {
            if self.eat_kw(Kw::UNSIGNED) {
                unsigned = true;
            } else if self.eat_kw(Kw::ZEROFILL) {
                (unsigned, zerofill) = (true, true);
            } else if !self.eat_word("SIGNED") {
                return (unsigned, zerofill);
            }
        }
    }

    fn int_type(&mut self, size: IntType) -> Result<DataType> {
        let width = self.opt_length()?;
        let (unsigned, zerofill) = self.number_attrs();
        Ok(DataType::Int { size, width, unsigned, zerofill })
    }

    fn char_type(&mut self, national: bool) -> Result<DataType> {
        if self.eat_kw(Kw::VARYING) {
            return self.varchar_type(national);
        }
        let len = self.opt_length()?;
        if !national && self.eat_word("BYTE") {
            return Ok(DataType::Binary(len));
        }
        Ok(DataType::Char { len, charset: self.char_charset(national)? })
    }

    fn varchar_type(&mut self, national: bool) -> Result<DataType> {
        if national {
            self.eat_kw(Kw::VARYING);
        }
        let len = self.length()?;
        if !national && self.eat_word("BYTE") {
            return Ok(DataType::VarBinary(len));
        }
        Ok(DataType::VarChar { len, charset: self.char_charset(national)? })
    }

    fn char_charset(&mut self, national: bool) -> Result<CharsetSpec> {
        if national {
            return Ok(CharsetSpec { charset: Some("utf8mb3".into()), binary: self.eat_kw(Kw::BINARY) });
        }
        self.charset_spec()
    }

    fn text_type(&mut self, tier: LobTier, len: Option<u32>) -> Result<DataType> {
        if self.eat_word("BYTE") {
            return Ok(DataType::Blob { tier, len });
        }
        Ok(DataType::Text { tier, len, charset: self.charset_spec()? })
    }

    /// `[BINARY] [ASCII | UNICODE | CHARACTER SET cs] [BINARY]`
    fn charset_spec(&mut self) -> Result<CharsetSpec> {
        let mut spec = CharsetSpec { charset: None, binary: self.eat_kw(Kw::BINARY) };
        if self.eat_word("ASCII") {
            spec.charset = Some("latin1".into());
        } else if self.eat_word("UNICODE") {
            spec.charset = Some("ucs2".into());
        } else {
            spec.charset = self.opt_charset()?;
        }
        spec.binary |= self.eat_kw(Kw::BINARY);
        Ok(spec)
    }

    /// `CHARACTER SET cs`, `CHARSET cs`, `CHAR SET cs`
    pub(super) fn opt_charset(&mut self) -> Result<Option<Ident>> {
        if self.eat_charset_words() { self.charset_name().map(Some) } else { Ok(None) }
    }

    pub(super) fn eat_charset_words(&mut self) -> bool {
        self.eat_word("CHARSET") || self.eat_words("CHARACTER SET") || self.eat_words("CHAR SET")
    }

    /// A character set: a name, a string, or BINARY. In lower case; utf8 is utf8mb3.
    pub(super) fn charset_name(&mut self) -> Result<Ident> {
        if self.eat_word("ASCII") {
            return Ok("ascii".into());
        }
        let name = if self.at_kw(Kw::BINARY) { self.any_word()? } else { self.ident_or_string()? };
        let lower = name.to_ascii_lowercase();
        Ok(if lower == "utf8" { "utf8mb3".into() } else { lower.into() })
    }

    /// A collation: a name, a string, or BINARY. In lower case.
    pub(super) fn collation_name(&mut self) -> Result<Ident> {
        let name = if self.at_kw(Kw::BINARY) { self.any_word()? } else { self.ident_or_string()? };
        let lower = name.to_ascii_lowercase();
        Ok(match lower.strip_prefix("utf8_") {
            Some(rest) => format!("utf8mb3_{rest}").into(),
            None => lower.into(),
        })
    }

    /// The target of a cast.
    pub(super) fn cast_type(&mut self) -> Result<CastType> {
        if !matches!(self.kind(), Tok::Ident | Tok::Kw(_)) {
            return Err(self.error());
        }
        let word = String::from_utf8_lossy(self.text_of(self.tok)).to_ascii_uppercase();
        if let Some(kind) = geometry_kind(&word) {
            if kind == GeometryKind::Geometry {
                return Err(self.error());
            }
            self.bump();
            return Ok(CastType::Geometry(kind));
        }
        let known = [
            "SIGNED",
            "UNSIGNED",
            "DECIMAL",
            "DEC",
            "FLOAT",
            "DOUBLE",
            "REAL",
            "DATE",
            "TIME",
            "DATETIME",
            "YEAR",
            "CHAR",
            "CHARACTER",
            "NCHAR",
            "NATIONAL",
            "BINARY",
            "JSON",
        ];
        if !known.contains(&word.as_str()) {
            return Err(self.error());
        }
        self.bump();
        Ok(match word.as_str() {
            "SIGNED" | "UNSIGNED" => {
                if !self.eat_kw(Kw::INTEGER) {
                    self.eat_kw(Kw::INT);
                }
                if word == "SIGNED" { CastType::Signed } else { CastType::Unsigned }
            }
            "DECIMAL" | "DEC" => {
                let (precision, scale) = self.opt_precision()?;
                CastType::Decimal { precision, scale }
            }
            "FLOAT" => match self.opt_length()? {
                Some(25..=53) => CastType::Double,
                Some(54..) => return Err(bad_float_precision()),
                _ => CastType::Float,
            },
            "DOUBLE" => {
                self.eat_kw(Kw::PRECISION);
                CastType::Double
            }
            "REAL" if self.opts.real_as_float => CastType::Float,
            "REAL" => CastType::Double,
            "DATE" => CastType::Date,
            "TIME" => CastType::Time { fsp: self.opt_length()? },
            "DATETIME" => CastType::DateTime { fsp: self.opt_length()? },
            "YEAR" => CastType::Year,
            "CHAR" | "CHARACTER" => {
                let len = self.opt_length()?;
                let spec = self.charset_spec()?;
                if spec.binary && spec.charset.is_none() {
                    return Err(Error::not_supported("CAST(... AS CHAR BINARY)"));
                }
                CastType::Char { len, charset: spec.charset }
            }
            "NCHAR" | "NATIONAL" => {
                if word == "NATIONAL" && !self.eat_kw(Kw::CHARACTER) {
                    self.expect_kw(Kw::CHAR)?;
                }
                CastType::Char { len: self.opt_length()?, charset: Some("utf8mb3".into()) }
            }
            "BINARY" => CastType::Binary { len: self.opt_length()? },
            _ => CastType::Json,
        })
    }
}

const TYPE_WORDS: &[&str] = &[
    "BIT",
    "BOOL",
    "BOOLEAN",
    "TINYINT",
    "INT1",
    "SMALLINT",
    "INT2",
    "MEDIUMINT",
    "INT3",
    "MIDDLEINT",
    "INT",
    "INTEGER",
    "INT4",
    "BIGINT",
    "INT8",
    "DECIMAL",
    "DEC",
    "NUMERIC",
    "FIXED",
    "FLOAT",
    "FLOAT4",
    "REAL",
    "DOUBLE",
    "FLOAT8",
    "CHAR",
    "CHARACTER",
    "NCHAR",
    "NVARCHAR",
    "NATIONAL",
    "VARCHAR",
    "VARCHARACTER",
    "BINARY",
    "VARBINARY",
    "TINYTEXT",
    "TEXT",
    "MEDIUMTEXT",
    "LONGTEXT",
    "LONG",
    "TINYBLOB",
    "BLOB",
    "MEDIUMBLOB",
    "LONGBLOB",
    "ENUM",
    "SET",
    "DATE",
    "TIME",
    "DATETIME",
    "TIMESTAMP",
    "YEAR",
    "JSON",
    "SERIAL",
];

fn geometry_kind(word: &str) -> Option<GeometryKind> {
    Some(match word {
        "GEOMETRY" => GeometryKind::Geometry,
        "POINT" => GeometryKind::Point,
        "LINESTRING" => GeometryKind::LineString,
        "POLYGON" => GeometryKind::Polygon,
        "MULTIPOINT" => GeometryKind::MultiPoint,
        "MULTILINESTRING" => GeometryKind::MultiLineString,
        "MULTIPOLYGON" => GeometryKind::MultiPolygon,
        "GEOMETRYCOLLECTION" | "GEOMCOLLECTION" => GeometryKind::GeometryCollection,
        _ => return None,
    })
}

fn bad_float_precision() -> Error {
    Error::new(ErrorCode::WRONG_FIELD_SPEC, "Incorrect column specifier for column")
}
