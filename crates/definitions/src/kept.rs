//! Expressions that definitions keep, bound anew from their text: what CREATE TABLE made of them, without its checks.

use crate::defaults::inline_generated;
use catalog::encoding::ExprOf;
use catalog::{BoundUnder, TableDef};
use expr::{Expr, build};
use session::Frame;
use types::Result;

/// Binds the text for this use in the table, under the settings that it was bound under before.
pub fn bind(session: &Frame<'_>, table: &TableDef, of: ExprOf, text: &str, under: &BoundUnder) -> Result<Expr> {
    let clause = parser::parse_expr(text, &parser::ParseOptions::default())?;
    let mut info = session.info();
    under.apply(&mut info);
    let mut bound = session.binder(&info).bind_table_expr(&clause, table)?;
    match of {
        ExprOf::Generated(column) => Ok(build::assigned(bound, &table.columns[column].ty)),
        ExprOf::KeyPart(_) => Ok(bound),
        ExprOf::Default(column) => {
            inline_generated(&mut bound, &table.columns);
            Ok(build::assigned(bound, &table.columns[column].ty))
        }
        ExprOf::Check(_) => build::truth(bound),
    }
}
