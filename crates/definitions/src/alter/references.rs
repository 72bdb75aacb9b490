//! What foreign keys forbid ALTER TABLE of the tables at their two ends.
//!
//! ```text
//!   child: a column of a key that stays      dropped 1828, of another type 1832
//!   parent: a column that others refer to    dropped 1829, of another type 1833, renamed: so it is in their keys
//!           the unique key that it makes up  gone 1553
//! ```
//! Source: MySQL manual, "FOREIGN KEY Constraints".

use super::{Edit, holds};
use catalog::TableDef;
use session::Frame;
use types::{Error, Result};

/// The column `name` of the old definition, in the new one: its position, if it is there.
fn kept(old: &TableDef, edit: &Edit, name: &str) -> Option<usize> {
    let at = old.column_idx(name)?;
    edit.origins.iter().position(|origin| *origin == Some(at))
}

/// A foreign key that stays loses no column.
pub fn check_columns(old: &TableDef, edit: &Edit) -> Result<()> {
    for fk in old.foreign_keys.iter().filter(|fk| !edit.drops_foreign_key(&fk.name)) {
        for &c in &fk.columns {
            let name = &old.columns[c].name;
            if kept(old, edit, name).is_none() {
                return Err(Error::fk_column_cannot_drop(name, &fk.name));
            }
        }
    }
    Ok(())
}

/// References from and to the table hold for the new definition.
pub fn check(session: &Frame<'_>, old: &TableDef, new: &TableDef, edit: &Edit) -> Result<()> {
    let checked = session.vars().on("foreign_key_checks");
    for fk in old.foreign_keys.iter().filter(|fk| checked && !edit.drops_foreign_key(&fk.name)) {
        for &c in &fk.columns {
            let name = &old.columns[c].name;
            if kept(old, edit, name).is_some_and(|at| !holds(&new.columns[at], &old.columns[c])) {
                return Err(Error::fk_column_cannot_change(name, &fk.name));
            }
        }
    }
    for (child, fk) in session.db().catalog().references_to(&old.schema, &old.name).iter() {
        let own = child.id == old.id;
        let fk = &child.foreign_keys[*fk];
        if own && edit.drops_foreign_key(&fk.name) {
            continue;
        }
        let of_child = format!("{}.{}", child.schema, child.name);
        for name in &fk.parent_columns {
            let Some(was) = old.column_idx(name) else { continue };
            let Some(at) = kept(old, edit, name) else {
                return Err(Error::fk_column_cannot_drop_child(name, &fk.name, of_child));
            };
            if checked && !holds(&new.columns[at], &old.columns[was]) {
                return Err(Error::fk_column_cannot_change_child(name, &fk.name, of_child));
            }
        }
        let before = old.referenced_index(&fk.parent_columns);
        let renamed = edit.renamed_columns(old);
        let now: Vec<Box<str>> = fk.parent_columns.iter().map(|c| renamed.now(c).into()).collect();
        if let Some(index) = before
            && new.referenced_index(&now).is_none()
        {
            return Err(Error::drop_index_fk(&old.indexes[index].name));
        }
    }
    Ok(())
}
