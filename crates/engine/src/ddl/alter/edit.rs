//! A table's syntax tree under the clauses of ALTER TABLE.
//!
//! Clauses are applied one by one, in their order, to names: columns are looked for under the names that they have by
//! then. What the result may be is checked by CREATE TABLE's rules afterwards.

use catalog::TableDef;
use parser::ast::{
    self, AlterAlgorithm, AlterLock, AlterSpec, ColumnAttr, ColumnPosition, Ident, IndexKind, KeyPartKey,
    TableConstraint, TableOption,
};
use types::{Collation, Error, Result, SqlType};

#[derive(Debug)]
pub struct Edit {
    pub body: ast::TableDef,
    /// For each column of the body, its position in the old definition.
    pub origins: Vec<Option<usize>>,
    pub dropped_keys: Vec<Box<str>>,
    pub algorithm: AlterAlgorithm,
    pub lock: AlterLock,
    pub rename_to: Option<ast::ObjectName>,
    /// FORCE and the like: rows are copied even where they need not be.
    pub force_copy: bool,
    /// Keys come or go.
    pub changes_keys: bool,
    /// ENABLE KEYS or DISABLE KEYS.
    pub keys_option: bool,
    pub sets_auto_increment: bool,
    pub order_by: Vec<(Box<str>, bool)>,
    table: Box<str>,
    /// Collations of the old columns.
    collations: Vec<Option<Collation>>,
    foreign_keys: Vec<Box<str>>,
    renamed_keys: Vec<(Box<str>, Box<str>)>,
}

fn same(a: &str, b: &str) -> bool {
    a.eq_ignore_ascii_case(b) || a.to_lowercase() == b.to_lowercase()
}

/// The name of a key: `PRIMARY`, or its own.
fn key_name(index: &ast::IndexDef) -> Option<&str> {
    match index.kind {
        IndexKind::Primary => Some("PRIMARY"),
        _ => index.name.as_ref().or(index.constraint.as_ref()).map(Ident::as_str),
    }
}

impl Edit {
    pub fn of(body: ast::TableDef, old: &TableDef) -> Edit {
        let collation = |ty: &SqlType| ty.collation().filter(|c| *c != Collation::Binary);
        Edit {
            origins: (0..body.columns.len()).map(Some).collect(),
            body,
            dropped_keys: Vec::new(),
            algorithm: AlterAlgorithm::Default,
            lock: AlterLock::Default,
            rename_to: None,
            force_copy: false,
            changes_keys: false,
            keys_option: false,
            sets_auto_increment: false,
            order_by: Vec::new(),
            table: old.name.clone(),
            collations: old.columns.iter().map(|c| collation(&c.ty)).collect(),
            foreign_keys: old.foreign_keys.iter().map(|f| f.name.clone()).collect(),
            renamed_keys: Vec::new(),
        }
    }

    /// What a key was called before.
    pub fn old_key_name<'a>(&'a self, new: &'a str) -> &'a str {
        self.renamed_keys.iter().find(|(_, n)| **n == *new).map_or(new, |(old, _)| old)
    }

    /// Whether a key of the old definition is still there.
    pub fn keeps_key(&self, old: &str) -> bool {
        !self.dropped_keys.iter().any(|k| same(k, old))
    }

    /// Whether a column of the old definition is still there, under its name.
    pub fn keeps_column(&self, old: usize, name: &str) -> bool {
        self.body.columns.iter().zip(&self.origins).any(|(c, origin)| *origin == Some(old) && same(&c.name, name))
    }

    /// Whether the old definition's foreign key of this name goes.
    pub fn drops_foreign_key(&self, name: &str) -> bool {
        let is_it = |k: &ast::ForeignKey| k.constraint.as_ref().is_some_and(|n| same(n, name));
        !self.body.constraints.iter().any(|c| matches!(c, TableConstraint::ForeignKey(k) if is_it(k)))
    }

    /// Whether some key begins with these columns, all of each.
    pub fn has_key_of(&self, columns: &[&str]) -> bool {
        let is =
            |p: &ast::KeyPart, c: &str| matches!(&p.key, KeyPartKey::Column { name, prefix: None } if same(name, c));
        let leads =
            |i: &ast::IndexDef| i.parts.len() >= columns.len() && i.parts.iter().zip(columns).all(|(p, c)| is(p, c));
        let is_primary = |c: &ast::ColumnDef| {
            columns.len() == 1 && same(&c.name, columns[0]) && c.attrs.contains(&ColumnAttr::PrimaryKey)
        };
        self.body.constraints.iter().any(|c| matches!(c, TableConstraint::Index(i) if leads(i)))
            || self.body.columns.iter().any(is_primary)
    }

    pub fn apply(&mut self, spec: &AlterSpec) -> Result<()> {
        use AlterSpec::*;
        match spec {
            AddColumn { column, position } => self.add_column(column, position.as_ref()),
            AddColumns { columns, constraints } => {
                columns.iter().try_for_each(|c| self.add_column(c, None))?;
                constraints.iter().try_for_each(|c| self.add_constraint(c))
            }
            AddConstraint(c) => self.add_constraint(c),
            DropColumn(name) => self.drop_column(name),
            DropPrimaryKey => self.drop_key("PRIMARY"),
            DropIndex(name) => self.drop_key(name.as_str()),
            DropForeignKey(name) => self.drop_foreign_key(name),
            DropCheck(name) => self.drop_check(name),
            DropConstraint(name) => self.drop_constraint(name),
            ModifyColumn { column, position } => self.change_column(&column.name, column, position.as_ref()),
            ChangeColumn { old, column, position } => self.change_column(old, column, position.as_ref()),
            RenameColumn { old, new } => {
                let at = self.column(old)?;
                self.body.columns[at].name = new.clone();
                self.column_renamed(old, new);
                Ok(())
            }
            RenameIndex { old, new } => self.rename_key(old, new),
            RenameTo(name) => {
                self.rename_to = Some(name.clone());
                Ok(())
            }
            SetDefault { column, value, parens } => {
                let attrs = self.attrs_without_default(column)?;
                attrs.push(ColumnAttr::Default { value: value.clone(), parens: *parens });
                Ok(())
            }
            DropDefault(column) => self.attrs_without_default(column).map(|_| ()),
            SetColumnVisible { column, visible } => {
                let at = self.column(column)?;
                let attrs = &mut self.body.columns[at].attrs;
                attrs.retain(|a| !matches!(a, ColumnAttr::Visible | ColumnAttr::Invisible));
                attrs.push(if *visible { ColumnAttr::Visible } else { ColumnAttr::Invisible });
                Ok(())
            }
            SetIndexVisible { index, visible } => {
                let table = self.table.clone();
                let key = self.key(index.as_str()).ok_or_else(|| Error::key_does_not_exist(&**index, table))?;
                key.options.invisible = !visible;
                super::check_invisible(key)
            }
            SetEnforced { constraint, enforced } => {
                let check = self.body.constraints.iter_mut().find_map(|c| match c {
                    TableConstraint::Check(c) if c.name.as_ref().is_some_and(|n| n.is(constraint)) => Some(c),
                    _ => None,
                });
                check.ok_or_else(|| Error::check_constraint_not_found(&**constraint))?.enforced = *enforced;
                Ok(())
            }
            Option(option) => self.set_option(option),
            ConvertCharset { charset, collation } => self.convert(charset.as_ref(), collation.as_ref()),
            OrderBy(parts) => self.order_by(parts),
            EnableKeys | DisableKeys => {
                self.keys_option = true;
                Ok(())
            }
            Force => {
                self.force_copy = true;
                Ok(())
            }
            Algorithm(a) => {
                self.algorithm = *a;
                self.force_copy |= *a == AlterAlgorithm::Copy;
                Ok(())
            }
            Lock(l) => {
                self.lock = *l;
                Ok(())
            }
            WithValidation(_) => Ok(()),
            SecondaryLoad | SecondaryUnload | DiscardTablespace | ImportTablespace => {
                Err(Error::not_supported("ALTER TABLE of tablespaces and secondary engines"))
            }
            _ => Err(Error::not_supported("ALTER TABLE ... PARTITION")),
        }
    }

    /// The position of a column: 1054.
    fn column(&self, name: &Ident) -> Result<usize> {
        let found = self.body.columns.iter().position(|c| same(&c.name, name));
        found.ok_or_else(|| Error::bad_field(name.as_str(), &*self.table))
    }

    fn key(&mut self, name: &str) -> Option<&mut ast::IndexDef> {
        self.body.constraints.iter_mut().find_map(|c| match c {
            TableConstraint::Index(i) if key_name(i).is_some_and(|n| same(n, name)) => Some(i),
            _ => None,
        })
    }

    fn place(&mut self, column: ast::ColumnDef, origin: Option<usize>, at: usize) {
        self.body.columns.insert(at, column);
        self.origins.insert(at, origin);
    }

    fn position(&self, position: Option<&ColumnPosition>, otherwise: usize) -> Result<usize> {
        match position {
            None => Ok(otherwise),
            Some(ColumnPosition::First) => Ok(0),
            Some(ColumnPosition::After(name)) => Ok(self.column(name)? + 1),
        }
    }

    fn add_column(&mut self, column: &ast::ColumnDef, position: Option<&ColumnPosition>) -> Result<()> {
        let at = self.position(position, self.body.columns.len())?;
        self.place_with_key(column, None, at)
    }

    /// Places a column. UNIQUE in its definition is a new key, named after those that there are.
    fn place_with_key(&mut self, column: &ast::ColumnDef, origin: Option<usize>, at: usize) -> Result<()> {
        let mut column = column.clone();
        let name = column.name.clone();
        let before = column.attrs.len();
        column.attrs.retain(|a| !matches!(a, ColumnAttr::Unique));
        let unique = column.attrs.len() < before;
        self.place(column, origin, at);
        if unique {
            let key = crate::ddl::define::column_key(&name, IndexKind::Unique);
            self.add_constraint(&TableConstraint::Index(key))?;
        }
        Ok(())
    }

    fn add_constraint(&mut self, constraint: &TableConstraint) -> Result<()> {
        let mut constraint = constraint.clone();
        match &mut constraint {
            TableConstraint::Index(index) => {
                super::check_invisible(index)?;
                self.changes_keys = true;
                if index.kind == IndexKind::Primary {
                    self.forbid_nulls(index);
                }
            }
            TableConstraint::ForeignKey(key) if key.constraint.is_none() => {
                // Numbers go on from the greatest in use.
                let prefix = format!("{}_ibfk_", self.table);
                let number = |n: &str| n.strip_prefix(&prefix)?.parse::<u64>().ok();
                let last = self.foreign_keys.iter().filter_map(|n| number(n)).max().unwrap_or(0);
                let name = format!("{prefix}{}", last + 1);
                self.foreign_keys.push(name.clone().into());
                key.constraint = Some(Ident::new(name));
                self.changes_keys = true;
            }
            TableConstraint::ForeignKey(_) => self.changes_keys = true,
            TableConstraint::Check(_) => {}
        }
        self.body.constraints.push(constraint);
        Ok(())
    }

    /// Columns of a new primary key are NOT NULL, whatever they were.
    fn forbid_nulls(&mut self, index: &ast::IndexDef) {
        let is_null = |a: &ColumnAttr| match a {
            ColumnAttr::Null => true,
            ColumnAttr::Default { value, .. } => matches!(value.as_literal(), Some(ast::Literal::Null)),
            _ => false,
        };
        for part in &index.parts {
            if let KeyPartKey::Column { name, .. } = &part.key
                && let Some(column) = self.body.columns.iter_mut().find(|c| same(&c.name, name))
            {
                column.attrs.retain(|a| !is_null(a));
                column.attrs.push(ColumnAttr::NotNull);
            }
        }
    }

    /// A column takes its part in keys with it; a key without parts goes.
    fn drop_column(&mut self, name: &Ident) -> Result<()> {
        let at = self.body.columns.iter().position(|c| same(&c.name, name));
        let at = at.ok_or_else(|| Error::cant_drop_field_or_key(name.as_str()))?;
        if self.body.columns.len() == 1 {
            return Err(Error::cant_remove_all_fields());
        }
        self.body.columns.remove(at);
        self.origins.remove(at);
        let is_part = |p: &ast::KeyPart| matches!(&p.key, KeyPartKey::Column { name: n, .. } if same(n, name));
        for constraint in &mut self.body.constraints {
            if let TableConstraint::Index(i) = constraint {
                i.parts.retain(|p| !is_part(p));
            }
        }
        self.body.constraints.retain(|c| !matches!(c, TableConstraint::Index(i) if i.parts.is_empty()));
        Ok(())
    }

    fn drop_key(&mut self, name: &str) -> Result<()> {
        let before = self.body.constraints.len();
        let is_it = |i: &ast::IndexDef| key_name(i).is_some_and(|n| same(n, name));
        self.body.constraints.retain(|c| !matches!(c, TableConstraint::Index(i) if is_it(i)));
        if self.body.constraints.len() == before {
            return Err(Error::cant_drop_field_or_key(name));
        }
        self.dropped_keys.push(name.into());
        self.changes_keys = true;
        Ok(())
    }

    fn drop_foreign_key(&mut self, name: &Ident) -> Result<()> {
        let before = self.body.constraints.len();
        let is_it = |k: &ast::ForeignKey| k.constraint.as_ref().is_some_and(|n| same(n, name));
        self.body.constraints.retain(|c| !matches!(c, TableConstraint::ForeignKey(k) if is_it(k)));
        if self.body.constraints.len() == before {
            return Err(Error::cant_drop_field_or_key(name.as_str()));
        }
        Ok(())
    }

    fn drop_check(&mut self, name: &Ident) -> Result<()> {
        let before = self.body.constraints.len();
        let is_it = |k: &ast::CheckDef| k.name.as_ref().is_some_and(|n| same(n, name));
        self.body.constraints.retain(|c| !matches!(c, TableConstraint::Check(k) if is_it(k)));
        if self.body.constraints.len() == before {
            return Err(Error::check_constraint_not_found(name.as_str()));
        }
        Ok(())
    }

    fn drop_constraint(&mut self, name: &Ident) -> Result<()> {
        let found = self.drop_key(name.as_str()).or_else(|_| self.drop_foreign_key(name));
        found.or_else(|_| self.drop_check(name))
    }

    fn change_column(&mut self, old: &Ident, column: &ast::ColumnDef, position: Option<&ColumnPosition>) -> Result<()> {
        let at = self.column(old)?;
        let origin = self.origins.remove(at);
        self.body.columns.remove(at);
        let at = self.position(position, at)?;
        // Keys that there are follow the column before it brings one of its own.
        if !same(old, &column.name) {
            self.column_renamed(old, &column.name);
        }
        self.place_with_key(column, origin, at)
    }

    /// Keys and foreign keys follow a column to its new name.
    fn column_renamed(&mut self, old: &Ident, new: &Ident) {
        for constraint in &mut self.body.constraints {
            match constraint {
                TableConstraint::Index(i) => {
                    for part in &mut i.parts {
                        if let KeyPartKey::Column { name, .. } = &mut part.key
                            && same(name, old)
                        {
                            *name = new.clone();
                        }
                    }
                }
                TableConstraint::ForeignKey(k) => {
                    k.columns.iter_mut().filter(|c| same(c, old)).for_each(|c| *c = new.clone());
                }
                TableConstraint::Check(_) => {}
            }
        }
    }

    fn rename_key(&mut self, old: &Ident, new: &Ident) -> Result<()> {
        let table = self.table.clone();
        if self.key(new.as_str()).is_some() && !same(old, new) {
            return Err(Error::dup_keyname(new.as_str()));
        }
        let key = self.key(old.as_str()).filter(|k| k.kind != IndexKind::Primary);
        let key = key.ok_or_else(|| Error::key_does_not_exist(old.as_str(), table))?;
        let before: Box<str> = key.name.as_ref().map_or_else(|| old.as_str().into(), |n| n.as_str().into());
        key.name = Some(new.clone());
        key.constraint = None;
        self.renamed_keys.push((before, new.as_str().into()));
        Ok(())
    }

    fn attrs_without_default(&mut self, column: &Ident) -> Result<&mut Vec<ColumnAttr>> {
        let at = self.column(column)?;
        let attrs = &mut self.body.columns[at].attrs;
        attrs.retain(|a| !matches!(a, ColumnAttr::Default { .. }));
        Ok(attrs)
    }

    fn set_option(&mut self, option: &TableOption) -> Result<()> {
        match option {
            TableOption::Charset(_) | TableOption::Collate(_) => {
                self.keep_collations();
                self.drop_collation_options(matches!(option, TableOption::Charset(_)));
            }
            TableOption::AutoIncrement(_) => self.sets_auto_increment = true,
            _ => {}
        }
        let kind = std::mem::discriminant(option);
        self.body.options.retain(|o| std::mem::discriminant(o) != kind);
        self.body.options.push(option.clone());
        Ok(())
    }

    /// The options that say the collation so far give way; a character set named by the same statement stays.
    fn drop_collation_options(&mut self, charset: bool) {
        self.body.options.retain(|o| match o {
            TableOption::Collate(_) => false,
            TableOption::Charset(_) => !charset,
            _ => true,
        });
    }

    /// Columns that had the table's collation by default have it by name from now on.
    fn keep_collations(&mut self) {
        for (column, origin) in self.body.columns.iter_mut().zip(&self.origins) {
            let Some(collation) = origin.and_then(|o| self.collations[o]) else { continue };
            let named = |a: &ColumnAttr| matches!(a, ColumnAttr::Collate(_));
            if has_charset(&column.ty) && !column.attrs.iter().any(named) {
                set_charset(&mut column.ty, Some(Ident::new(collation.charset().name())));
                column.attrs.push(ColumnAttr::Collate(Ident::new(collation.name())));
            }
        }
    }

    /// CONVERT TO CHARACTER SET: the table's columns with it.
    fn convert(&mut self, charset: Option<&Ident>, collation: Option<&Ident>) -> Result<()> {
        for column in &mut self.body.columns {
            if has_charset(&column.ty) {
                set_charset(&mut column.ty, None);
                column.attrs.retain(|a| !matches!(a, ColumnAttr::Collate(_)));
            }
        }
        self.drop_collation_options(true);
        self.body.options.extend(charset.map(|c| TableOption::Charset(c.clone())));
        self.body.options.extend(collation.map(|c| TableOption::Collate(c.clone())));
        Ok(())
    }

    fn order_by(&mut self, parts: &[ast::KeyPart]) -> Result<()> {
        for part in parts {
            match &part.key {
                KeyPartKey::Column { name, prefix: None } => {
                    self.column(name)?;
                    self.order_by.push((name.as_str().into(), part.desc));
                }
                _ => return Err(Error::not_supported("ALTER TABLE ... ORDER BY of expressions")),
            }
        }
        self.force_copy = true;
        Ok(())
    }
}

fn has_charset(ty: &ast::DataType) -> bool {
    use ast::DataType::*;
    matches!(ty, Char { .. } | VarChar { .. } | Text { .. } | Enum { .. } | Set { .. })
}

fn set_charset(ty: &mut ast::DataType, to: Option<Ident>) {
    use ast::DataType::*;
    if let Char { charset, .. } | VarChar { charset, .. } | Text { charset, .. } = ty {
        charset.charset = to;
        charset.binary = false;
    }
}
