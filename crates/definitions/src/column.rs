//! Column definitions: types with their limits, attributes, defaults.
//!
//! MySQL manual, "Data Types" and "CREATE TABLE Statement".

use catalog::ColumnDef;
use parser::ast;
use types::{Collation, Error, IntSize, Result, SqlType, StringKind};

/// Longest CHAR, characters.
const CHAR_LEN_MAX: u32 = 255;
/// Longest VARCHAR, bytes of the widest encoding.
const VARCHAR_BYTES_MAX: u32 = 65535;

/// A column's definition and the keys that its attributes ask for.
#[derive(Debug)]
pub struct Defined {
    pub column: ColumnDef,
    pub primary: bool,
    pub unique: bool,
    /// DEFAULT as written, not yet evaluated: (expression, in parentheses).
    pub default: Option<(ast::Expr, bool)>,
    /// NULL or NOT NULL was written.
    pub explicit_null: Option<bool>,
    /// GENERATED ALWAYS AS, not yet bound: (expression, STORED).
    pub generated: Option<(ast::Expr, bool)>,
    pub checks: Vec<ast::CheckDef>,
}

/// Builds the definition of one column. The default is left to the caller, who can evaluate expressions.
pub fn define(def: &ast::ColumnDef, table_collation: Collation) -> Result<Defined> {
    let name: Box<str> = def.name.as_str().into();
    if name.is_empty() || name.ends_with(' ') || ColumnDef::is_hidden_name(&name) {
        return Err(Error::wrong_column_name(&name));
    }
    if name.chars().count() > 64 {
        return Err(Error::too_long_ident(&name));
    }
    let mut typed = column_type(&name, &def.ty, table_collation, &def.attrs)?;
    let serial = matches!(def.ty, ast::DataType::Serial);
    let mut d = Defined {
        column: ColumnDef {
            auto_increment: serial,
            unsigned: typed.unsigned,
            zerofill: typed.zerofill,
            display_width: typed.display_width.take(),
            float_digits: typed.float_digits,
            ..ColumnDef::plain(&name, typed.ty, !serial)
        },
        primary: false,
        unique: serial,
        default: None,
        explicit_null: None,
        generated: None,
        checks: Vec::new(),
    };
    for attr in &def.attrs {
        attribute(&mut d, attr)?;
    }
    if d.primary {
        if d.explicit_null == Some(true) {
            return Err(Error::primary_cant_have_null());
        }
        d.column.nullable = false;
    }
    check_auto_increment(&d)?;
    if d.generated.is_some() {
        let other = [
            (d.default.is_some(), "DEFAULT"),
            (d.column.auto_increment, "AUTO_INCREMENT"),
            (d.column.on_update_current_timestamp, "ON UPDATE CURRENT_TIMESTAMP"),
        ];
        if let Some((_, what)) = other.iter().find(|(given, _)| *given) {
            return Err(Error::wrong_usage(what, "generated column"));
        }
    }
    Ok(d)
}

fn attribute(d: &mut Defined, attr: &ast::ColumnAttr) -> Result<()> {
    use ast::ColumnAttr::*;
    match attr {
        Null => {
            d.column.nullable = true;
            d.explicit_null = Some(true);
        }
        NotNull => {
            d.column.nullable = false;
            d.explicit_null = Some(false);
        }
        Default { value, parens } => d.default = Some((value.clone(), *parens)),
        OnUpdateNow { fsp } => {
            let fits = match d.column.ty {
                SqlType::DateTime { fsp: f } | SqlType::Timestamp { fsp: f } => fsp.unwrap_or(0) == f as u32,
                _ => false,
            };
            if !fits {
                return Err(Error::invalid_on_update(&d.column.name));
            }
            d.column.on_update_current_timestamp = true;
        }
        AutoIncrement => {
            d.column.auto_increment = true;
            d.column.nullable = false;
        }
        SerialDefaultValue => {
            d.column.auto_increment = true;
            d.column.nullable = false;
            d.unique = true;
        }
        PrimaryKey => d.primary = true,
        Unique => d.unique = true,
        Comment(text) => {
            if text.chars().count() > 1024 {
                return Err(Error::too_long_field_comment(&d.column.name, 1024));
            }
            d.column.comment = text.clone();
        }
        Collate(_) => {} // part of the type
        Generated { expr, stored, .. } => d.generated = Some((expr.clone(), *stored)),
        Check(check) => d.checks.push(check.clone()),
        References(_) => {} // MySQL parses and ignores it in a column definition
        Visible => d.column.invisible = false,
        Invisible => d.column.invisible = true,
        ColumnFormat(_) | Storage(_) | EngineAttribute(_) | SecondaryEngineAttribute(_) | NotSecondary => {}
        Srid(_) => return Err(Error::wrong_usage("SRID", "non-geometry column")),
    }
    Ok(())
}

fn check_auto_increment(d: &Defined) -> Result<()> {
    if !d.column.auto_increment {
        return Ok(());
    }
    if !matches!(d.column.ty, SqlType::Int { .. } | SqlType::Float | SqlType::Double) {
        return Err(Error::wrong_field_spec(&d.column.name));
    }
    if d.default.is_some() {
        return Err(Error::invalid_default(&d.column.name));
    }
    Ok(())
}

/// A type with the attributes that belong to the column rather than to the type.
#[derive(Debug)]
struct Typed {
    ty: SqlType,
    unsigned: bool,
    zerofill: bool,
    display_width: Option<u32>,
    float_digits: Option<(u8, u8)>,
}

fn plain(ty: SqlType) -> Typed {
    Typed {
        ty,
        unsigned: ty.is_unsigned() && ty != SqlType::Year,
        zerofill: false,
        display_width: None,
        float_digits: None,
    }
}

fn column_type(name: &str, ty: &ast::DataType, table_collation: Collation, attrs: &[ast::ColumnAttr]) -> Result<Typed> {
    use ast::DataType::*;
    let string = |kind: StringKind, len: u32, charset: &ast::CharsetSpec| -> Result<Typed> {
        Ok(plain(SqlType::String { kind, len, collation: column_collation(charset, table_collation, attrs)? }))
    };
    let binary = |kind, len| Ok(plain(SqlType::String { kind, len, collation: Collation::Binary }));
    match ty {
        Int { size, width, unsigned, zerofill } => integer(name, *size, *width, *unsigned, *zerofill),
        Serial => Ok(plain(SqlType::BIGINT_UNSIGNED)),
        Decimal { precision, scale, unsigned, zerofill } => {
            let (p, s) = (precision.unwrap_or(10), scale.unwrap_or(0));
            let p = if p == 0 { 10 } else { p };
            if s > 30 {
                return Err(Error::too_big_scale(s, name, 30));
            }
            if p > 65 {
                return Err(Error::too_big_precision(p, name, 65));
            }
            if s > p {
                return Err(Error::m_bigger_than_d(name));
            }
            let ty = SqlType::Decimal { precision: p as u8, scale: s as u8 };
            Ok(Typed { unsigned: *unsigned || *zerofill, zerofill: *zerofill, ..plain(ty) })
        }
        Float { digits, unsigned, zerofill } => floating(name, SqlType::Float, *digits, *unsigned, *zerofill),
        Double { digits, unsigned, zerofill } => floating(name, SqlType::Double, *digits, *unsigned, *zerofill),
        Char { len, charset } => {
            let len = len.unwrap_or(1);
            if len > CHAR_LEN_MAX {
                return Err(Error::too_big_fieldlength(name, CHAR_LEN_MAX));
            }
            string(StringKind::Char, len, charset)
        }
        VarChar { len, charset } => {
            let collation = column_collation(charset, table_collation, attrs)?;
            let max = VARCHAR_BYTES_MAX / collation.charset().max_len();
            if *len > max {
                return Err(Error::too_big_fieldlength(name, max));
            }
            string(StringKind::VarChar, *len, charset)
        }
        Binary(len) => {
            let len = len.unwrap_or(1);
            if len > CHAR_LEN_MAX {
                return Err(Error::too_big_fieldlength(name, CHAR_LEN_MAX));
            }
            binary(StringKind::Char, len)
        }
        VarBinary(len) if *len > VARCHAR_BYTES_MAX => Err(Error::too_big_fieldlength(name, VARCHAR_BYTES_MAX)),
        VarBinary(len) => binary(StringKind::VarChar, *len),
        Text { tier, len, charset } => {
            let bytes = len.map(|n| n as u64 * 4);
            let (kind, len) = lob(*tier, bytes);
            string(kind, len, charset)
        }
        Blob { tier, len } => {
            let (kind, len) = lob(*tier, len.map(u64::from));
            binary(kind, len)
        }
        Date => Ok(plain(SqlType::Date)),
        Time(fsp) => Ok(plain(SqlType::Time { fsp: fsp_of(name, *fsp)? })),
        DateTime(fsp) => Ok(plain(SqlType::DateTime { fsp: fsp_of(name, *fsp)? })),
        Timestamp(fsp) => Ok(plain(SqlType::Timestamp { fsp: fsp_of(name, *fsp)? })),
        Year(_) => Ok(plain(SqlType::Year)),
        Bit(_) => Err(Error::not_supported("BIT columns")),
        Enum { .. } => Err(Error::not_supported("ENUM columns")),
        Set { .. } => Err(Error::not_supported("SET columns")),
        Json => Err(Error::not_supported("JSON columns")),
        Geometry(_) => Err(Error::not_supported("spatial columns")),
    }
}

fn integer(name: &str, size: ast::IntType, width: Option<u32>, unsigned: bool, zerofill: bool) -> Result<Typed> {
    if width.is_some_and(|w| w > 255) {
        return Err(Error::too_big_displaywidth(name, 255));
    }
    let unsigned = unsigned || zerofill;
    let (size, zerofill_width) = match size {
        ast::IntType::TinyInt => (IntSize::I8, 3),
        ast::IntType::SmallInt => (IntSize::I16, 5),
        ast::IntType::MediumInt => (IntSize::I24, 8),
        ast::IntType::Int => (IntSize::I32, 10),
        ast::IntType::BigInt => (IntSize::I64, 20),
    };
    // MySQL 8 forgets display widths, but for ZEROFILL and TINYINT(1).
    let display_width = if zerofill {
        Some(width.unwrap_or(zerofill_width))
    } else {
        width.filter(|w| *w == 1 && size == IntSize::I8 && !unsigned)
    };
    let ty = SqlType::Int { size, unsigned };
    Ok(Typed { ty, unsigned, zerofill, display_width, float_digits: None })
}

fn floating(name: &str, ty: SqlType, digits: Option<(u32, u32)>, unsigned: bool, zerofill: bool) -> Result<Typed> {
    let float_digits = match digits {
        None => None,
        Some((m, d)) => {
            if d > 30 {
                return Err(Error::too_big_scale(d, name, 30));
            }
            if m > 255 {
                return Err(Error::too_big_displaywidth(name, 255));
            }
            if d > m {
                return Err(Error::m_bigger_than_d(name));
            }
            Some((m as u8, d as u8))
        }
    };
    Ok(Typed { ty, unsigned: unsigned || zerofill, zerofill, display_width: None, float_digits })
}

fn fsp_of(name: &str, fsp: Option<u32>) -> Result<u8> {
    match fsp.unwrap_or(0) {
        f @ 0..=6 => Ok(f as u8),
        f => Err(Error::too_big_precision(f, name, 6)),
    }
}

/// The tier of a TEXT or BLOB and its bytes: the one named, or the smallest that holds `bytes`.
fn lob(tier: ast::LobTier, bytes: Option<u64>) -> (StringKind, u32) {
    let tiers = [
        (StringKind::TinyText, 255u32),
        (StringKind::Text, 65535),
        (StringKind::MediumText, 16777215),
        (StringKind::LongText, u32::MAX),
    ];
    match bytes {
        Some(n) => *tiers.iter().find(|(_, max)| n <= *max as u64).unwrap_or(&tiers[3]),
        None => match tier {
            ast::LobTier::Tiny => tiers[0],
            ast::LobTier::Normal => tiers[1],
            ast::LobTier::Medium => tiers[2],
            ast::LobTier::Long => tiers[3],
        },
    }
}

/// CHARACTER SET, BINARY and COLLATE of a character column, over the table's default.
fn column_collation(
    charset: &ast::CharsetSpec,
    table_collation: Collation,
    attrs: &[ast::ColumnAttr],
) -> Result<Collation> {
    let explicit = attrs.iter().rev().find_map(|a| match a {
        ast::ColumnAttr::Collate(c) => Some(c),
        _ => None,
    });
    let base = match &charset.charset {
        Some(cs) => Some(variables::charset::default_collation(cs)?),
        None => None,
    };
    if let Some(name) = explicit {
        let collation = variables::charset::collation(name)?;
        if let Some(base) = base
            && base.charset().name() != collation.charset().name()
        {
            return Err(Error::collation_charset_mismatch(name.as_str(), base.charset().name()));
        }
        return Ok(collation);
    }
    let base = base.unwrap_or(table_collation);
    if charset.binary { Ok(variables::charset::bin_collation(base)) } else { Ok(base) }
}
