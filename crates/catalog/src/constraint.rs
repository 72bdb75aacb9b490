//! What a table promises of its rows beyond types and keys.
//!
//! Expressions are bound over the table's columns: column ids are positions in the definition. Texts are what SHOW
//! CREATE TABLE prints, without the outer parentheses; CREATE TABLE reads them back to the same expression.

use expr::{Expr, SessionInfo};
use types::Collation;

/// What the meaning of a kept expression depends on besides its text: settings of the session that wrote it. Its tree
/// has them in it already; whoever binds the text anew needs them. (Syntax does not: texts are canonical.)
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BoundUnder {
    /// collation_connection: that of string literals.
    pub collation: Collation,
    /// Digits that a division adds.
    pub div_precision_increment: u8,
    pub no_unsigned_subtraction: bool,
    /// LIKE without ESCAPE has no escape character.
    pub no_backslash_escapes: bool,
    pub allow_invalid_dates: bool,
}

impl Default for BoundUnder {
    /// MySQL's defaults.
    fn default() -> BoundUnder {
        BoundUnder {
            collation: Collation::default(),
            div_precision_increment: 4,
            no_unsigned_subtraction: false,
            no_backslash_escapes: false,
            allow_invalid_dates: false,
        }
    }
}

impl BoundUnder {
    /// What a session binds under.
    pub fn of(session: &SessionInfo) -> BoundUnder {
        BoundUnder {
            collation: session.collation_connection,
            div_precision_increment: session.div_precision_increment,
            no_unsigned_subtraction: session.sql_mode.no_unsigned_subtraction,
            no_backslash_escapes: session.sql_mode.no_backslash_escapes,
            allow_invalid_dates: session.sql_mode.allow_invalid_dates,
        }
    }

    /// Has the session bind under these settings.
    pub fn apply(&self, session: &mut SessionInfo) {
        let BoundUnder {
            collation,
            div_precision_increment,
            no_unsigned_subtraction,
            no_backslash_escapes,
            allow_invalid_dates,
        } = *self;
        session.collation_connection = collation;
        session.div_precision_increment = div_precision_increment;
        session.sql_mode.no_unsigned_subtraction = no_unsigned_subtraction;
        session.sql_mode.no_backslash_escapes = no_backslash_escapes;
        session.sql_mode.allow_invalid_dates = allow_invalid_dates;
    }
}

/// `GENERATED ALWAYS AS (expr)`. Values are kept with the row in either form.
#[derive(Clone, Debug, PartialEq)]
pub struct Generated {
    pub expr: Box<Expr>,
    pub text: Box<str>,
    pub under: BoundUnder,
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
    pub under: BoundUnder,
    /// False: NOT ENFORCED.
    pub enforced: bool,
}

impl CheckConstraint {
    /// Whether it forbids the same rows under the same name.
    pub fn is_same(&self, other: &CheckConstraint) -> bool {
        let CheckConstraint { name, expr, text, under: _, enforced } = self;
        *name == other.name && *expr == other.expr && *text == other.text && *enforced == other.enforced
    }
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
