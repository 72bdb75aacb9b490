//! What a table promises of its rows beyond types and keys.
//!
//! Expressions are bound over the table's columns: column ids are positions in the definition. Texts are what SHOW
//! CREATE TABLE prints, without the outer parentheses; CREATE TABLE reads them back to the same expression.

use expr::Expr;

/// `GENERATED ALWAYS AS (expr)`. Values are kept with the row in either form.
#[derive(Clone, Debug, PartialEq)]
pub struct Generated {
    pub expr: Box<Expr>,
    pub text: Box<str>,
    /// STORED, else VIRTUAL.
    pub stored: bool,
}

/// `CONSTRAINT name CHECK (expr)`: no row for which it is FALSE.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckConstraint {
    pub name: Box<str>,
    /// A predicate.
    pub expr: Box<Expr>,
    pub text: Box<str>,
    /// False: NOT ENFORCED.
    pub enforced: bool,
}

/// What happens to referencing rows when a referenced key goes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum FkAction {
    /// The same as RESTRICT; SHOW CREATE TABLE leaves it out.
    #[default]
    NoAction,
    Restrict,
    Cascade,
    SetNull,
}

impl FkAction {
    /// As information_schema shows it.
    pub fn name(self) -> &'static str {
        match self {
            FkAction::NoAction => "NO ACTION",
            FkAction::Restrict => "RESTRICT",
            FkAction::Cascade => "CASCADE",
            FkAction::SetNull => "SET NULL",
        }
    }
}

/// `CONSTRAINT name FOREIGN KEY (columns) REFERENCES parent (parent_columns)`: a row whose columns are all non-NULL has
/// a row in the parent table with these values in a unique key. The parent is known by name: with foreign_key_checks=0
/// it may come later, or never.
#[derive(Clone, Debug, PartialEq)]
pub struct ForeignKey {
    pub name: Box<str>,
    /// Positions in the definition.
    pub columns: Vec<usize>,
    pub parent_schema: Box<str>,
    pub parent_table: Box<str>,
    pub parent_columns: Vec<Box<str>>,
    pub on_delete: FkAction,
    pub on_update: FkAction,
}

impl ForeignKey {
    pub fn references(&self, schema: &str, table: &str) -> bool {
        *self.parent_schema == *schema && *self.parent_table == *table
    }
}
