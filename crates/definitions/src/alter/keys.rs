//! The keys, foreign keys and checks of the new table: the old ones in their order, over the columns that are left and
//! under their new names, then those that come.

use super::clauses::{Clauses, Dropped, multiple_constraints};
use super::edit::{Edit, same};
use crate::constraints::columns_of;
use catalog::TableDef;
use parser::ast::{
    CheckDef, ColumnAttr, ColumnDef, DataType, ForeignKey, Ident, IndexDef, IndexKind, KeyPartKey, Literal,
    TableConstraint,
};
use types::{Error, ErrorCode, Result};

/// The name of a key: `PRIMARY`, or its own.
fn key_name(index: &IndexDef) -> Option<&str> {
    match index.kind {
        IndexKind::Primary => Some("PRIMARY"),
        _ => index.name.as_ref().or(index.constraint.as_ref()).map(Ident::as_str),
    }
}

impl Edit {
    pub fn rebuild_constraints(&mut self, clauses: &mut Clauses, old: &TableDef) -> Result<()> {
        let before = std::mem::take(&mut self.body.constraints);
        check_unique_names(&before, clauses)?;
        for constraint in before {
            let kept = match constraint {
                TableConstraint::Index(i) => self.kept_key(i, clauses, old).map(TableConstraint::Index),
                TableConstraint::ForeignKey(k) => {
                    self.kept_foreign_key(k, clauses, old).map(TableConstraint::ForeignKey)
                }
                TableConstraint::Check(c) => self.kept_check(c, clauses, old)?.map(TableConstraint::Check),
            };
            self.body.constraints.extend(kept);
        }
        let missing_key = clauses.key_names.first().map(|(n, _)| n);
        if let Some(name) = missing_key.or(clauses.key_visibility.first().map(|(n, _)| n)) {
            return Err(Error::key_does_not_exist(name.as_str(), &*self.table));
        }
        if let Some((name, _)) = clauses.enforced.first() {
            return Err(Error::check_constraint_not_found(name.as_str()));
        }
        clauses.check_dropped()?;
        for constraint in &self.body.constraints {
            if let TableConstraint::Index(i) = constraint {
                super::check_invisible(i)?;
            }
        }
        for constraint in std::mem::take(&mut clauses.constraints) {
            self.add_constraint(constraint)?;
        }
        self.drop_superseded_keys(old);
        Ok(())
    }

    /// Keys that were made for foreign keys go where one that is asked for begins with their columns.
    fn drop_superseded_keys(&mut self, old: &TableDef) {
        for index in old.indexes.iter().filter(|i| i.made_for_foreign_key) {
            if !self.keeps_key_as(&index.name) {
                continue;
            }
            let columns: Vec<Ident> = index
                .parts
                .iter()
                .filter_map(|p| self.position_of(p.column_idx))
                .map(|at| self.body.columns[at].name.clone())
                .collect();
            let columns: Vec<&str> = columns.iter().map(Ident::as_str).collect();
            let mut own = None;
            let mut others = false;
            for (at, constraint) in self.body.constraints.iter().enumerate() {
                let TableConstraint::Index(i) = constraint else { continue };
                if own.is_none() && key_name(i).is_some_and(|n| same(n, &index.name)) {
                    own = Some(at); // the old ones come first
                } else {
                    others |= begins_with(i, &columns);
                }
            }
            if let (Some(at), true) = (own, others) {
                self.body.constraints.remove(at);
                self.kept_keys.retain(|(_, now)| !same(now, &index.name));
                self.dropped_keys.push(index.name.clone());
            }
        }
    }

    /// The new definition's column that an old one of this name has become.
    fn column_of(&self, old: &TableDef, name: &str) -> Option<&ColumnDef> {
        self.position_of(old.column_idx(name)?).map(|at| &self.body.columns[at])
    }

    /// A key loses the columns that go, and goes with the last of them.
    fn kept_key(&mut self, mut index: IndexDef, clauses: &mut Clauses, old: &TableDef) -> Option<IndexDef> {
        let name: Box<str> = key_name(&index).unwrap_or_default().into();
        let kinds: &[Dropped] = match index.kind {
            IndexKind::Primary | IndexKind::Unique => &[Dropped::Key, Dropped::Constraint],
            _ => &[Dropped::Key],
        };
        if clauses.drops(kinds, &name) {
            self.dropped_keys.push(name);
            self.changes_keys = true;
            return None;
        }
        index.parts.retain_mut(|part| {
            let KeyPartKey::Column { name, prefix } = &mut part.key else { return true };
            let Some(column) = self.column_of(old, name) else { return false };
            *name = column.name.clone();
            *prefix = prefix.filter(|n| takes_prefix(&column.ty, *n));
            true
        });
        clauses.key_visibility.retain(|(n, visible)| {
            let is_it = same(n, &name);
            if is_it {
                index.options.invisible = !visible;
            }
            !is_it
        });
        let mut now = name.clone();
        if let Some(at) = clauses.key_names.iter().position(|(n, _)| same(n, &name)) {
            let new = clauses.key_names.remove(at).1;
            now = new.as_str().into();
            index.name = Some(new);
            index.constraint = None;
        }
        if index.parts.is_empty() {
            return None;
        }
        self.kept_keys.push((name, now));
        Some(index)
    }

    fn kept_foreign_key(&mut self, mut key: ForeignKey, clauses: &mut Clauses, old: &TableDef) -> Option<ForeignKey> {
        let name = key.constraint.clone().unwrap_or_default();
        if clauses.drops(&[Dropped::ForeignKey, Dropped::Constraint], &name) {
            self.dropped_foreign_keys.push(name.as_str().into());
            return None;
        }
        for column in &mut key.columns {
            if let Some(now) = self.column_of(old, column) {
                *column = now.name.clone();
            }
        }
        let is_own = |f: &&catalog::ForeignKey| same(&f.name, &name) && f.references(&old.schema, &old.name);
        if old.foreign_keys.iter().any(|f| is_own(&f)) {
            for column in &mut key.references.columns {
                if let Some(now) = self.column_of(old, column) {
                    *column = now.name.clone();
                }
            }
        }
        Some(key)
    }

    /// A check goes with its only column. 3959: it uses a column that goes or gets another name.
    fn kept_check(&self, mut check: CheckDef, clauses: &mut Clauses, old: &TableDef) -> Result<Option<CheckDef>> {
        let name = check.name.clone().unwrap_or_default();
        if clauses.drops(&[Dropped::Check, Dropped::Constraint], &name) {
            return Ok(None);
        }
        let defined = old.checks.iter().find(|c| same(&c.name, &name));
        let used = defined.map(|c| columns_of(&c.expr)).unwrap_or_default();
        if let Some(&moved) = used.iter().find(|&&c| !self.keeps_column(c, &old.columns[c].name)) {
            if self.position_of(moved).is_none() && used.iter().all(|&c| c == moved) {
                return Ok(None);
            }
            return Err(used_by_check(&old.columns[moved].name, &name));
        }
        clauses.enforced.retain(|(n, enforced)| {
            let is_it = same(n, &name);
            if is_it {
                check.enforced = *enforced;
            }
            !is_it
        });
        Ok(Some(check))
    }

    fn add_constraint(&mut self, constraint: TableConstraint) -> Result<()> {
        match &constraint {
            TableConstraint::Index(index) => {
                super::check_invisible(index)?;
                self.changes_keys = true;
                if index.kind == IndexKind::Primary {
                    self.forbid_nulls(index);
                }
            }
            TableConstraint::ForeignKey(_) => self.changes_keys = true,
            TableConstraint::Check(_) => {}
        }
        self.body.constraints.push(constraint);
        Ok(())
    }

    /// Columns of a new primary key are NOT NULL, whatever they were.
    fn forbid_nulls(&mut self, index: &IndexDef) {
        let is_null = |a: &ColumnAttr| match a {
            ColumnAttr::Null => true,
            ColumnAttr::Default { value, .. } => matches!(value.as_literal(), Some(Literal::Null)),
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

    /// Whether a key that was asked for begins with these columns of the new table.
    pub fn has_key_over(&self, columns: &[&str]) -> bool {
        let indexes = self.body.constraints.iter().filter_map(|c| match c {
            TableConstraint::Index(i) => Some(i),
            _ => None,
        });
        indexes.into_iter().any(|i| begins_with(i, columns))
    }
}

fn begins_with(index: &IndexDef, columns: &[&str]) -> bool {
    let is = |key: &KeyPartKey, column: &str| match key {
        KeyPartKey::Column { name, prefix: None } => same(name, column),
        _ => false,
    };
    index.parts.len() >= columns.len() && index.parts.iter().zip(columns).all(|(p, c)| is(&p.key, c))
}

fn used_by_check(column: &str, check: &str) -> Error {
    const DEPENDENT_BY_CHECK_CONSTRAINT: ErrorCode = ErrorCode(3959);
    let message =
        format!("Check constraint '{check}' uses column '{column}', hence column cannot be dropped or renamed.");
    Error::new(DEPENDENT_BY_CHECK_CONSTRAINT, message)
}

/// A part of this many characters is shorter than the whole column.
fn takes_prefix(ty: &DataType, chars: u32) -> bool {
    match ty {
        DataType::VarChar { len, .. } | DataType::VarBinary(len) => chars < *len,
        DataType::Char { len, .. } | DataType::Binary(len) => chars < len.unwrap_or(1),
        DataType::Text { .. } | DataType::Blob { .. } => true,
        _ => false,
    }
}

/// 3939: DROP CONSTRAINT with the name of several.
fn check_unique_names(constraints: &[TableConstraint], clauses: &Clauses) -> Result<()> {
    for (_, name) in clauses.drops.iter().filter(|(kind, _)| *kind == Dropped::Constraint) {
        let is_it = |c: &&TableConstraint| match c {
            TableConstraint::Index(i) if !matches!(i.kind, IndexKind::Primary | IndexKind::Unique) => false,
            TableConstraint::Index(i) => key_name(i).is_some_and(|n| same(n, name)),
            TableConstraint::ForeignKey(k) => k.constraint.as_ref().is_some_and(|n| same(n, name)),
            TableConstraint::Check(c) => c.name.as_ref().is_some_and(|n| same(n, name)),
        };
        if constraints.iter().filter(is_it).count() > 1 {
            return Err(multiple_constraints(name));
        }
    }
    Ok(())
}
