//! The columns of a query as columns of a table: for CREATE TABLE ... SELECT, and of views as they are shown.

use catalog::{ColumnDef, DefaultValue};
use expr::{Expr, ExprKind};
use plan::logical::{Logical, LogicalQuery};
use types::{Collation, SqlType};

/// A column of a query that is bound.
pub struct SourceColumn {
    pub name: Box<str>,
    pub ty: SqlType,
    pub nullable: bool,
    /// The base table's column that it is.
    pub origin: Option<ColumnDef>,
    /// The hexadecimal literal that it is: a number to a column of numbers.
    pub literal: Option<Expr>,
}

/// The first `width` columns of the query's output.
pub fn source_columns(query: &LogicalQuery, width: usize) -> Vec<SourceColumn> {
    let column = |(id, name): &(_, Box<str>)| {
        let c = query.columns.get(*id);
        let origin = c.origin.as_ref().map(|(t, i)| t.columns[*i].clone());
        let literal = match &query.root {
            Logical::Project { exprs, .. } => exprs.iter().find(|(e, _)| e == id).map(|(_, e)| e),
            _ => None,
        };
        let is_hex = |e: &&Expr| matches!(e.kind, ExprKind::Call { function, .. } if function.is_hex_literal());
        let literal = literal.filter(is_hex).cloned();
        SourceColumn { name: name.clone(), ty: c.ty, nullable: c.nullable, origin, literal }
    };
    query.output.iter().take(width).map(column).collect()
}

impl SourceColumn {
    /// As a column of a table: a base table's column keeps its attributes, but for AUTO_INCREMENT and keys. The default
    /// of what was AUTO_INCREMENT is 0.
    pub fn column(&self) -> ColumnDef {
        let default = |o: &ColumnDef| match &o.default {
            DefaultValue::None if o.auto_increment => DefaultValue::Value(types::value::zero_of(&o.ty)),
            default if default.reads_row() => DefaultValue::None,
            default => default.clone(),
        };
        match &self.origin {
            Some(o) => ColumnDef {
                name: self.name.clone(),
                default: default(o),
                generated: None,
                auto_increment: false,
                nullable: o.nullable || self.nullable,
                invisible: false,
                ..o.clone()
            },
            None => ColumnDef {
                unsigned: self.ty.is_unsigned(),
                ..ColumnDef::plain(&self.name, storable(self.ty), self.nullable)
            },
        }
    }
}

/// The column type for an expression's type.
fn storable(ty: SqlType) -> SqlType {
    match ty {
        SqlType::Null => SqlType::String { kind: types::StringKind::Char, len: 0, collation: Collation::Binary },
        SqlType::Bool => SqlType::INT,
        SqlType::String { kind, len, collation } => {
            let max = 65535 / if collation == Collation::Binary { 1 } else { collation.charset().max_len() };
            let kind = match kind {
                types::StringKind::VarChar | types::StringKind::Char if len > max => types::StringKind::LongText,
                k => k,
            };
            let len = match kind {
                types::StringKind::VarChar | types::StringKind::Char => len,
                types::StringKind::TinyText => u8::MAX.into(),
                types::StringKind::Text => u16::MAX.into(),
                types::StringKind::MediumText => 0xFF_FFFF,
                types::StringKind::LongText => u32::MAX,
            };
            SqlType::String { kind, len, collation }
        }
        other => other,
    }
}
