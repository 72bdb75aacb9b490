//! The columns of the new table: the old ones in their order, as the clauses leave them, then those that come.

use super::clauses::{Altered, Charset, Clauses, Dropped};
use super::edit::{Edit, same, take_table_charset};
use catalog::TableDef;
use parser::ast::{ColumnAttr, ColumnDef, ColumnPosition};
use types::{Error, Result};

/// A column of the new table, and its position in the old one.
type Placed = (ColumnDef, Option<usize>);

impl Edit {
    /// Columns that the clauses drop go, others change in their places; then those with FIRST or AFTER move, and those
    /// that are new are added.
    pub fn rebuild_columns(&mut self, clauses: &mut Clauses, old: &TableDef) -> Result<()> {
        let mut placed: Vec<Placed> = Vec::new();
        if clauses.options.iter().any(|o| matches!(o, Charset::Convert { .. })) {
            clauses.columns.iter_mut().for_each(|c| take_table_charset(&mut c.column));
        }
        for (idx, column) in std::mem::take(&mut self.body.columns).into_iter().enumerate() {
            if clauses.drops(&[Dropped::Column], &column.name) {
                continue;
            }
            let is_it = |of: &str| same(of, &column.name);
            let changed = clauses.columns.iter_mut().find(|c| c.met.is_none() && c.of.as_deref().is_some_and(is_it));
            placed.push(match changed {
                Some(new) => {
                    new.met = Some(idx);
                    check_stored(&old.columns[idx], &new.column)?;
                    (new.column.clone(), Some(idx))
                }
                None => (altered(clauses, column), Some(idx)),
            });
        }
        self.place_new(&mut placed, clauses)?;
        if let Some((name, _)) = clauses.altered.first() {
            return Err(Error::bad_field(name.as_str(), &*self.table));
        }
        if placed.is_empty() {
            return Err(Error::cant_remove_all_fields());
        }
        (self.body.columns, self.origins) = placed.into_iter().unzip();
        Ok(())
    }

    fn place_new(&self, placed: &mut Vec<Placed>, clauses: &mut Clauses) -> Result<()> {
        for new in &mut clauses.columns {
            if let (Some(of), None) = (&new.of, new.met) {
                return Err(Error::bad_field(of.as_str(), &*self.table));
            }
            let Some(position) = &new.position else {
                if new.met.is_none() {
                    placed.push((new.column.clone(), None));
                }
                continue;
            };
            if new.met.is_some() {
                placed.retain(|(_, origin)| *origin != new.met);
            }
            let at = match position {
                ColumnPosition::First => 0,
                ColumnPosition::After(name) => {
                    let before = placed.iter().position(|(c, _)| same(&c.name, name));
                    before.ok_or_else(|| Error::bad_field(name.as_str(), &*self.table))? + 1
                }
            };
            placed.insert(at, (new.column.clone(), new.met));
        }
        Ok(())
    }
}

/// Uses up the first RENAME COLUMN or ALTER COLUMN that names the column.
fn altered(clauses: &mut Clauses, mut column: ColumnDef) -> ColumnDef {
    let Some(at) = clauses.altered.iter().position(|(name, _)| same(name, &column.name)) else { return column };
    match clauses.altered.remove(at).1 {
        Altered::Name(new) => column.name = new,
        Altered::Default(default) => {
            column.attrs.retain(|a| !matches!(a, ColumnAttr::Default { .. }));
            column.attrs.extend(default.map(|(value, parens)| ColumnAttr::Default { value, parens }));
        }
        Altered::Visible(visible) => {
            column.attrs.retain(|a| !matches!(a, ColumnAttr::Visible | ColumnAttr::Invisible));
            column.attrs.push(if visible { ColumnAttr::Visible } else { ColumnAttr::Invisible });
        }
    }
    column
}

/// 3106: a virtual column stays one, and others do not become one.
fn check_stored(old: &catalog::ColumnDef, new: &ColumnDef) -> Result<()> {
    let is_virtual = new.attrs.iter().any(|a| matches!(a, ColumnAttr::Generated { stored: false, .. }));
    let was_virtual = old.generated.as_ref().is_some_and(|g| !g.stored);
    if is_virtual == was_virtual {
        return Ok(());
    }
    Err(Error::unsupported_action_on_generated_column("Changing the STORED status"))
}
