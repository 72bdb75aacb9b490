//! A table's syntax tree under the clauses of ALTER TABLE.
//!
//! All clauses speak of the old table: `RENAME COLUMN a TO b, RENAME COLUMN b TO a` swaps two names, and `RENAME COLUMN
//! a TO b, DROP COLUMN b` drops the old `b`. So the new tree is built from the old one, walked once:
//!
//! ```text
//! old columns in order ─ DROP, CHANGE and MODIFY, RENAME COLUMN and ALTER COLUMN ─▶ ADD, FIRST, AFTER     (columns.rs)
//! old keys, foreign keys and checks in order ─ DROP, RENAME INDEX, ALTER ─▶ ADD                           (keys.rs)
//! ```
//! What the result may be is checked by CREATE TABLE's rules afterwards.
//!
//! MySQL manual, "ALTER TABLE Statement", "Renaming, Redefining, and Reordering Columns".

use super::clauses::{Charset, Clauses};
use crate::constraints::RenamedColumns;
use catalog::TableDef;
use parser::ast::{self, AlterAlgorithm, AlterLock, AlterSpec, ColumnAttr, Ident, KeyPartKey, TableOption};
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
    /// Columns of the old table.
    pub order_by: Vec<(Box<str>, bool)>,
    pub table: Box<str>,
    /// Keys that stay: their names before and now.
    pub kept_keys: Vec<(Box<str>, Box<str>)>,
    pub dropped_foreign_keys: Vec<Box<str>>,
}

pub fn same(a: &str, b: &str) -> bool {
    a.eq_ignore_ascii_case(b) || a.to_lowercase() == b.to_lowercase()
}

impl Edit {
    /// `body` is the tree of `old`.
    pub fn of(body: ast::TableDef, old: &TableDef, specs: &[AlterSpec]) -> Result<Edit> {
        let mut edit = Edit {
            origins: Vec::new(),
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
            kept_keys: Vec::new(),
            dropped_foreign_keys: Vec::new(),
        };
        let mut clauses = Clauses::default();
        for spec in specs {
            if !clauses.add(spec)? {
                edit.set_manner(spec)?;
            }
        }
        clauses.name_foreign_keys(&old.name, old.foreign_keys.iter().map(|f| &*f.name));
        edit.order_by(&clauses.order_by)?;
        edit.set_options(&clauses.options, old)?;
        edit.rebuild_columns(&mut clauses, old)?;
        edit.rebuild_constraints(&mut clauses, old)?;
        Ok(edit)
    }

    /// What a key of the new definition was called before, if it may be one of the old definition.
    pub fn old_key_name<'a>(&'a self, new: &str) -> Option<&'a str> {
        let kept = self.kept_keys.iter().find(|(_, n)| same(n, new)).map(|(old, _)| &**old);
        kept.or_else(|| self.dropped_keys.iter().find(|k| same(k, new)).map(|k| &**k))
    }

    /// Whether a key of the old definition is still there.
    pub fn keeps_key(&self, old: &str) -> bool {
        self.kept_keys.iter().any(|(k, _)| same(k, old))
    }

    /// Whether a key of the new definition is one of the old.
    pub fn keeps_key_as(&self, new: &str) -> bool {
        self.kept_keys.iter().any(|(_, k)| same(k, new))
    }

    /// Where a column of the old definition is in the new one.
    pub fn position_of(&self, old: usize) -> Option<usize> {
        self.origins.iter().position(|origin| *origin == Some(old))
    }

    /// Whether a column of the old definition is still there, under its name.
    pub fn keeps_column(&self, old: usize, name: &str) -> bool {
        self.position_of(old).is_some_and(|at| same(&self.body.columns[at].name, name))
    }

    /// The columns that stay under another name.
    pub fn renamed_columns(&self, old: &TableDef) -> RenamedColumns {
        let was_and_is = |(origin, new): (&Option<usize>, &ast::ColumnDef)| {
            let was = &old.columns[(*origin)?].name;
            (**was != *new.name).then(|| (was.clone(), new.name.as_str().into()))
        };
        RenamedColumns(self.origins.iter().zip(&self.body.columns).filter_map(was_and_is).collect())
    }

    /// Whether the old definition's foreign key of this name goes.
    pub fn drops_foreign_key(&self, name: &str) -> bool {
        self.dropped_foreign_keys.iter().any(|k| same(k, name))
    }

    /// Clauses that say how, and those on the table as a whole.
    fn set_manner(&mut self, spec: &AlterSpec) -> Result<()> {
        use AlterSpec::*;
        match spec {
            RenameTo(name) => self.rename_to = Some(name.clone()),
            EnableKeys | DisableKeys => self.keys_option = true,
            Force => self.force_copy = true,
            Algorithm(a) => {
                self.algorithm = *a;
                self.force_copy |= *a == AlterAlgorithm::Copy;
            }
            Lock(l) => self.lock = *l,
            WithValidation(_) => {}
            SecondaryLoad | SecondaryUnload | DiscardTablespace | ImportTablespace => {
                return Err(Error::not_supported("ALTER TABLE of tablespaces and secondary engines"));
            }
            _ => return Err(Error::not_supported("ALTER TABLE ... PARTITION")),
        }
        Ok(())
    }

    fn set_options(&mut self, options: &[Charset], old: &TableDef) -> Result<()> {
        let mut named: Option<Ident> = None;
        for option in options {
            let charset = match option {
                Charset::Option(TableOption::Charset(name)) | Charset::Convert { charset: Some(name), .. } => name,
                _ => continue,
            };
            let set = |name: &Ident| Ok::<_, Error>(variables::charset::default_collation(name)?.charset());
            if let Some(before) = &named
                && set(before)? != set(charset)?
            {
                return Err(variables::charset::conflicting(set(before)?, set(charset)?));
            }
            named = Some(charset.clone());
        }
        for option in options {
            match option {
                Charset::Option(option) => self.set_option(option, old),
                Charset::Convert { charset, collation } => self.convert(charset.as_ref(), collation.as_ref()),
            }
        }
        Ok(())
    }

    fn set_option(&mut self, option: &TableOption, old: &TableDef) {
        match option {
            TableOption::Charset(_) | TableOption::Collate(_) => {
                self.keep_collations(old);
                self.drop_collation_options(matches!(option, TableOption::Charset(_)));
            }
            TableOption::AutoIncrement(_) => self.sets_auto_increment = true,
            _ => {}
        }
        let kind = std::mem::discriminant(option);
        self.body.options.retain(|o| std::mem::discriminant(o) != kind);
        self.body.options.push(option.clone());
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
    fn keep_collations(&mut self, old: &TableDef) {
        let collation = |ty: &SqlType| ty.collation().filter(|c| *c != Collation::Binary);
        for (column, old) in self.body.columns.iter_mut().zip(&old.columns) {
            let Some(collation) = collation(&old.ty) else { continue };
            let named = |a: &ColumnAttr| matches!(a, ColumnAttr::Collate(_));
            if has_charset(&column.ty) && !column.attrs.iter().any(named) {
                set_charset(&mut column.ty, Some(Ident::new(collation.charset().name())));
                column.attrs.push(ColumnAttr::Collate(Ident::new(collation.name())));
            }
        }
    }

    /// CONVERT TO CHARACTER SET: the table's columns with it.
    fn convert(&mut self, charset: Option<&Ident>, collation: Option<&Ident>) {
        self.body.columns.iter_mut().for_each(take_table_charset);
        self.drop_collation_options(true);
        self.body.options.extend(charset.map(|c| TableOption::Charset(c.clone())));
        self.body.options.extend(collation.map(|c| TableOption::Collate(c.clone())));
    }

    fn order_by(&mut self, parts: &[ast::KeyPart]) -> Result<()> {
        for part in parts {
            let KeyPartKey::Column { name, prefix: None } = &part.key else {
                return Err(Error::not_supported("ALTER TABLE ... ORDER BY of expressions"));
            };
            if !self.body.columns.iter().any(|c| same(&c.name, name)) {
                return Err(Error::bad_field(name.as_str(), "order clause"));
            }
            self.order_by.push((name.as_str().into(), part.desc));
        }
        self.force_copy |= !parts.is_empty();
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

/// The column's character set and collation are the table's.
pub fn take_table_charset(column: &mut ast::ColumnDef) {
    if has_charset(&column.ty) {
        set_charset(&mut column.ty, None);
        column.attrs.retain(|a| !matches!(a, ColumnAttr::Collate(_)));
    }
}
