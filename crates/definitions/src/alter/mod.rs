//! A table's definition under the clauses of ALTER TABLE: see [`edit`]. [`references`] checks what other tables refer
//! to.

mod clauses;
mod columns;
pub mod edit;
mod keys;
pub mod references;

use catalog::ColumnDef;
pub use edit::Edit;
use parser::ast;
use types::{Error, Result, SqlType, StringKind};

/// The primary key may not be hidden.
pub fn check_invisible(index: &ast::IndexDef) -> Result<()> {
    if index.options.invisible && index.kind == ast::IndexKind::Primary {
        return Err(Error::pk_index_cant_be_invisible());
    }
    Ok(())
}

/// Whether every value that column `b` may have is one of column `a`.
pub fn holds(a: &ColumnDef, b: &ColumnDef) -> bool {
    let signed = b.unsigned || !a.unsigned;
    let digits = a.float_digits.is_none() || a.float_digits == b.float_digits;
    signed && digits && holds_type(&a.ty, &b.ty)
}

pub fn holds_type(a: &SqlType, b: &SqlType) -> bool {
    match (a, b) {
        (
            SqlType::String { kind: StringKind::VarChar, len: a, collation: x },
            SqlType::String { kind: StringKind::VarChar, len: b, collation: y },
        ) => a >= b && x == y,
        _ => a == b,
    }
}
