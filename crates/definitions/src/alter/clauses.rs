//! The clauses of one ALTER TABLE, sorted by what they name.
//!
//! Names of columns, keys and constraints are those of the old table, and each is used once: what is left when the old
//! table has been walked names something that is not there, or not any more. AFTER, and the parts of new keys, name
//! columns of the new table.

use super::edit::same;
use crate::define::column_key;
use parser::ast::{
    self, AlterSpec, ColumnAttr, ColumnPosition, Expr, ForeignKey, Ident, IndexKind, TableConstraint, TableOption,
};
use types::{Error, ErrorCode, Result};

/// What DROP names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dropped {
    Column,
    Key,
    ForeignKey,
    Check,
    /// A key, foreign key or check.
    Constraint,
}

/// A column that comes, or that takes the place of an old one.
#[derive(Debug)]
pub struct NewColumn {
    pub column: ast::ColumnDef,
    /// CHANGE and MODIFY: the old column's name.
    pub of: Option<Ident>,
    pub position: Option<ColumnPosition>,
    /// The old column's position, once it has been met.
    pub met: Option<usize>,
}

/// What becomes of a column that is otherwise as it was.
#[derive(Debug)]
pub enum Altered {
    Name(Ident),
    Default(Option<(Expr, bool)>),
    Visible(bool),
}

/// See the head.
#[derive(Debug, Default)]
pub struct Clauses {
    pub columns: Vec<NewColumn>,
    pub altered: Vec<(Ident, Altered)>,
    pub drops: Vec<(Dropped, Ident)>,
    pub key_names: Vec<(Ident, Ident)>,
    pub key_visibility: Vec<(Ident, bool)>,
    pub enforced: Vec<(Ident, bool)>,
    /// Keys, foreign keys and checks that come, those of new columns' UNIQUE among them.
    pub constraints: Vec<TableConstraint>,
    /// Table options and CONVERT TO, in order.
    pub options: Vec<Charset>,
    pub order_by: Vec<ast::KeyPart>,
}

/// A table option, or CONVERT TO CHARACTER SET.
#[derive(Debug)]
pub enum Charset {
    Option(TableOption),
    Convert { charset: Option<Ident>, collation: Option<Ident> },
}

impl Clauses {
    /// Takes a clause in; `false`: it says how the statement is done, not what it does.
    pub fn add(&mut self, spec: &AlterSpec) -> Result<bool> {
        use AlterSpec::*;
        match spec {
            AddColumn { column, position } => self.column(column, None, position.as_ref()),
            AddColumns { columns, constraints } => {
                columns.iter().for_each(|c| self.column(c, None, None));
                self.constraints.extend(constraints.iter().cloned());
            }
            ModifyColumn { column, position } => self.column(column, Some(&column.name), position.as_ref()),
            ChangeColumn { old, column, position } => self.column(column, Some(old), position.as_ref()),
            AddConstraint(c) => self.constraints.push(c.clone()),
            DropColumn(name) => self.drops.push((Dropped::Column, name.clone())),
            DropPrimaryKey => self.drops.push((Dropped::Key, Ident::new("PRIMARY"))),
            DropIndex(name) => self.drops.push((Dropped::Key, name.clone())),
            DropForeignKey(name) => self.drops.push((Dropped::ForeignKey, name.clone())),
            DropCheck(name) => self.drops.push((Dropped::Check, name.clone())),
            DropConstraint(name) => self.drops.push((Dropped::Constraint, name.clone())),
            RenameColumn { old, new } => self.altered.push((old.clone(), Altered::Name(new.clone()))),
            SetDefault { column, value, parens } => {
                self.altered.push((column.clone(), Altered::Default(Some((value.clone(), *parens)))));
            }
            AlterSpec::DropDefault(column) => self.altered.push((column.clone(), Altered::Default(None))),
            SetColumnVisible { column, visible } => self.altered.push((column.clone(), Altered::Visible(*visible))),
            RenameIndex { old, new } => {
                if let Some(name) = [old, new].into_iter().find(|n| same(n, "PRIMARY")) {
                    return Err(Error::wrong_name_for_index(name.as_str()));
                }
                self.key_names.push((old.clone(), new.clone()));
            }
            SetIndexVisible { index, visible } => self.key_visibility.push((index.clone(), *visible)),
            SetEnforced { constraint, enforced } => self.enforced.push((constraint.clone(), *enforced)),
            AlterSpec::Option(option) => self.options.push(Charset::Option(option.clone())),
            ConvertCharset { charset, collation } => {
                self.options.push(Charset::Convert { charset: charset.clone(), collation: collation.clone() });
            }
            OrderBy(parts) => self.order_by.extend(parts.iter().cloned()),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// UNIQUE in a column's definition is a new key.
    fn column(&mut self, column: &ast::ColumnDef, of: Option<&Ident>, position: Option<&ColumnPosition>) {
        let mut column = column.clone();
        let before = column.attrs.len();
        column.attrs.retain(|a| !matches!(a, ColumnAttr::Unique));
        if column.attrs.len() < before {
            self.constraints.push(TableConstraint::Index(column_key(&column.name, IndexKind::Unique)));
        }
        self.columns.push(NewColumn { column, of: of.cloned(), position: position.cloned(), met: None });
    }

    /// Uses up the first DROP of one of these kinds that has the name.
    pub fn drops(&mut self, kinds: &[Dropped], name: &str) -> bool {
        let found = self.drops.iter().position(|(kind, n)| kinds.contains(kind) && same(n, name));
        found.map(|i| self.drops.remove(i)).is_some()
    }

    /// Foreign keys that come without a name get numbers that go on from the greatest in use.
    pub fn name_foreign_keys<'a>(&mut self, table: &str, used: impl Iterator<Item = &'a str>) {
        let prefix = format!("{table}_ibfk_");
        let number = |n: &str| n.strip_prefix(&prefix)?.parse::<u64>().ok();
        let mut last = used.filter_map(number).max().unwrap_or(0);
        for constraint in &mut self.constraints {
            if let TableConstraint::ForeignKey(ForeignKey { constraint: name @ None, .. }) = constraint {
                last += 1;
                *name = Some(Ident::new(format!("{prefix}{last}")));
            }
        }
    }

    /// What the old table does not have: 1091, 3821.
    pub fn check_dropped(&self) -> Result<()> {
        match self.drops.first() {
            None => Ok(()),
            Some((Dropped::Check, name)) => Err(Error::check_constraint_not_found(name.as_str())),
            Some((Dropped::Constraint, name)) => Err(constraint_not_found(name)),
            Some((_, name)) => Err(Error::cant_drop_field_or_key(name.as_str())),
        }
    }
}

const MULTIPLE_CONSTRAINTS_WITH_SAME_NAME: ErrorCode = ErrorCode(3939);
const CONSTRAINT_NOT_FOUND: ErrorCode = ErrorCode(3940);

fn constraint_not_found(name: &str) -> Error {
    Error::new(CONSTRAINT_NOT_FOUND, format!("Constraint '{name}' does not exist."))
}

/// DROP CONSTRAINT cannot tell which is meant.
pub fn multiple_constraints(name: &str) -> Error {
    let message =
        format!("Table has multiple constraints with the name '{name}'. Please use constraint specific 'DROP' clause.");
    Error::new(MULTIPLE_CONSTRAINTS_WITH_SAME_NAME, message)
}
