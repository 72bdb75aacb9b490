//! Columns.
//!
//! ```text
//!   column      1 name   2 type (record)   3 nullable   4 default (record)   5 AUTO_INCREMENT
//!               6 ON UPDATE CURRENT_TIMESTAMP   7 comment   8 UNSIGNED   9 ZEROFILL   10 display width 4
//!               11 digits of FLOAT(m,d): m 1, d 1   12 INVISIBLE   13 generated (record)   14 histogram (record)
//!
//!   default     1 kind 1: 1 value, 2 CURRENT_TIMESTAMP, 3 expression
//!               2 value   3 text of the expression   4 settings (record)
//!
//!   generated   1 text of the expression   2 STORED   3 settings (record)
//! ```
//! Types, values and settings: [`super::value`]. A column without a default has no field 4.

use super::record::{Field, Read, Record, Writer};
use super::{histogram, value};
use crate::{ColumnDef, DefaultValue, Generated};
use expr::Expr;
use std::sync::Arc;
use types::{SqlType, Value};

mod tag {
    pub const NAME: u16 = 1;
    pub const TYPE: u16 = 2;
    pub const NULLABLE: u16 = 3;
    pub const DEFAULT: u16 = 4;
    pub const AUTO_INCREMENT: u16 = 5;
    pub const ON_UPDATE_NOW: u16 = 6;
    pub const COMMENT: u16 = 7;
    pub const UNSIGNED: u16 = 8;
    pub const ZEROFILL: u16 = 9;
    pub const DISPLAY_WIDTH: u16 = 10;
    pub const FLOAT_DIGITS: u16 = 11;
    pub const INVISIBLE: u16 = 12;
    pub const GENERATED: u16 = 13;
    pub const HISTOGRAM: u16 = 14;
}

mod default_tag {
    pub const KIND: u16 = 1;
    pub const VALUE: u16 = 2;
    pub const TEXT: u16 = 3;
    pub const UNDER: u16 = 4;
}

mod generated_tag {
    pub const TEXT: u16 = 1;
    pub const STORED: u16 = 2;
    pub const UNDER: u16 = 3;
}

/// Stands for an expression until all columns are read and it can be bound.
pub(super) fn unbound() -> Box<Expr> {
    Box::new(Expr::constant(Value::Null, SqlType::Null))
}

pub(super) fn put(w: &mut Writer, column: &ColumnDef) {
    let ColumnDef {
        name,
        ty,
        nullable,
        default,
        auto_increment,
        on_update_current_timestamp,
        comment,
        unsigned,
        zerofill,
        display_width,
        float_digits,
        invisible,
        generated,
        histogram,
    } = column;
    w.text(tag::NAME, name);
    w.record(tag::TYPE, |w| value::put_type(w, ty));
    w.flag(tag::NULLABLE, *nullable);
    put_default(w, default);
    w.flag(tag::AUTO_INCREMENT, *auto_increment);
    w.flag(tag::ON_UPDATE_NOW, *on_update_current_timestamp);
    w.some_text(tag::COMMENT, comment);
    w.flag(tag::UNSIGNED, *unsigned);
    w.flag(tag::ZEROFILL, *zerofill);
    if let Some(width) = display_width {
        w.u32(tag::DISPLAY_WIDTH, *width);
    }
    if let Some((m, d)) = float_digits {
        w.bytes(tag::FLOAT_DIGITS, &[*m, *d]);
    }
    w.flag(tag::INVISIBLE, *invisible);
    if let Some(Generated { expr: _, text, under, stored }) = generated {
        w.record(tag::GENERATED, |w| {
            w.text(generated_tag::TEXT, text);
            w.flag(generated_tag::STORED, *stored);
            value::put_under(w, generated_tag::UNDER, under);
        });
    }
    if let Some(h) = histogram {
        w.record(tag::HISTOGRAM, |w| histogram::put(w, h));
    }
}

fn put_default(w: &mut Writer, default: &DefaultValue) {
    use default_tag::*;
    match default {
        DefaultValue::None => {}
        DefaultValue::Value(v) => w.record(tag::DEFAULT, |w| {
            w.u8(KIND, 1);
            w.bytes(VALUE, &value::value_bytes(v));
        }),
        DefaultValue::CurrentTimestamp => w.record(tag::DEFAULT, |w| w.u8(KIND, 2)),
        DefaultValue::Expr { expr: _, text, under } => w.record(tag::DEFAULT, |w| {
            w.u8(KIND, 3);
            w.text(TEXT, text);
            value::put_under(w, UNDER, under);
        }),
    }
}

/// Expressions are left [`unbound`].
pub(super) fn get(field: &Field<'_>) -> Read<ColumnDef> {
    let mut c = ColumnDef::plain("", SqlType::Null, false);
    let (mut has_type, mut default, mut histogram) = (false, None, None);
    field.record().each(|f| {
        match f.tag {
            tag::NAME => c.name = f.text()?,
            tag::TYPE => (c.ty, has_type) = (value::type_of(f)?, true),
            tag::NULLABLE => c.nullable = f.flag()?,
            // What these two hold depends on the type.
            tag::DEFAULT => default = Some(*f),
            tag::HISTOGRAM => histogram = Some(*f),
            tag::AUTO_INCREMENT => c.auto_increment = f.flag()?,
            tag::ON_UPDATE_NOW => c.on_update_current_timestamp = f.flag()?,
            tag::COMMENT => c.comment = f.text()?,
            tag::UNSIGNED => c.unsigned = f.flag()?,
            tag::ZEROFILL => c.zerofill = f.flag()?,
            tag::DISPLAY_WIDTH => c.display_width = Some(f.u32()?),
            tag::FLOAT_DIGITS => {
                let [m, d] = f.u16()?.to_le_bytes();
                c.float_digits = Some((m, d));
            }
            tag::INVISIBLE => c.invisible = f.flag()?,
            tag::GENERATED => c.generated = Some(generated(f.record())?),
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    if c.name.is_empty() || !has_type {
        return Err(field.damage("a column has no name or no type"));
    }
    if let Some(f) = default {
        c.default = default_of(&f, &c.ty)?;
    }
    if let Some(f) = histogram {
        c.histogram = Some(Arc::new(histogram::get(&f, &c.ty)?));
    }
    Ok(c)
}

fn default_of(field: &Field<'_>, ty: &SqlType) -> Read<DefaultValue> {
    use default_tag::*;
    let (mut kind, mut value, mut text, mut under) = (0, None, None, Default::default());
    field.record().each(|f| {
        match f.tag {
            KIND => kind = f.u8()?,
            VALUE => value = Some(value::value_of(f, ty)?),
            TEXT => text = Some(f.text()?),
            UNDER => under = value::under_of(f.record())?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    match (kind, value, text) {
        (1, Some(v), None) => Ok(DefaultValue::Value(v)),
        (2, None, None) => Ok(DefaultValue::CurrentTimestamp),
        (3, None, Some(text)) => Ok(DefaultValue::Expr { expr: unbound(), text, under }),
        _ => Err(field.damage(format!("a default of kind {kind} does not have what goes with it"))),
    }
}

fn generated(record: Record<'_>) -> Read<Generated> {
    use generated_tag::*;
    let mut g = Generated { expr: unbound(), text: "".into(), under: Default::default(), stored: false };
    record.each(|f| {
        match f.tag {
            TEXT => g.text = f.text()?,
            STORED => g.stored = f.flag()?,
            UNDER => g.under = value::under_of(f.record())?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    Ok(g)
}
