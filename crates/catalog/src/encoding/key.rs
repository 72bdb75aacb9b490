//! Indexes, foreign keys and checks.
//!
//! ```text
//!   index         1 name   2 kind 1: 1 primary, 2 unique, 3 plain, 4 full text, 5 spatial   3 part (record), in order
//!                 4 algorithm 1: 1 BTREE, 2 HASH   5 comment   6 INVISIBLE   7 made for a foreign key
//!   part          1 column 4   2 prefix 4   3 DESC
//!
//!   foreign key   1 name   2 column 4, in order   3 parent's database   4 parent table   5 parent's column, in order
//!                 6 ON DELETE 1   7 ON UPDATE 1: 0 NO ACTION, 1 RESTRICT, 2 CASCADE, 3 SET NULL
//!
//!   check         1 name   2 text of the expression   3 NOT ENFORCED   4 settings (record)
//! ```
//! A column is its position in the table, from 0. A key part that is an expression is a part over a hidden column, one
//! of the last of the table.

use super::column::unbound;
use super::record::{Field, Read, Writer};
use super::value;
use crate::{CheckConstraint, FkAction, ForeignKey, IndexAlgorithm, IndexDef, IndexKind, IndexPart};

mod index_tag {
    pub const NAME: u16 = 1;
    pub const KIND: u16 = 2;
    pub const PART: u16 = 3;
    pub const ALGORITHM: u16 = 4;
    pub const COMMENT: u16 = 5;
    pub const INVISIBLE: u16 = 6;
    pub const MADE_FOR_FOREIGN_KEY: u16 = 7;
}

mod part_tag {
    pub const COLUMN: u16 = 1;
    pub const PREFIX: u16 = 2;
    pub const DESC: u16 = 3;
}

mod foreign_tag {
    pub const NAME: u16 = 1;
    pub const COLUMN: u16 = 2;
    pub const PARENT_SCHEMA: u16 = 3;
    pub const PARENT_TABLE: u16 = 4;
    pub const PARENT_COLUMN: u16 = 5;
    pub const ON_DELETE: u16 = 6;
    pub const ON_UPDATE: u16 = 7;
}

mod check_tag {
    pub const NAME: u16 = 1;
    pub const TEXT: u16 = 2;
    pub const NOT_ENFORCED: u16 = 3;
    pub const UNDER: u16 = 4;
}

pub(super) fn put_index(w: &mut Writer, index: &IndexDef) {
    let IndexDef { name, kind, parts, algorithm, comment, invisible, made_for_foreign_key } = index;
    w.text(index_tag::NAME, name);
    let kind = match kind {
        IndexKind::Primary => 1,
        IndexKind::Unique => 2,
        IndexKind::Plain => 3,
        IndexKind::FullText => 4,
        IndexKind::Spatial => 5,
    };
    w.u8(index_tag::KIND, kind);
    for IndexPart { column_idx, prefix_len, descending } in parts {
        w.record(index_tag::PART, |w| {
            w.u32(part_tag::COLUMN, *column_idx as u32);
            if let Some(n) = prefix_len {
                w.u32(part_tag::PREFIX, *n);
            }
            w.flag(part_tag::DESC, *descending);
        });
    }
    match algorithm {
        None => {}
        Some(IndexAlgorithm::BTree) => w.u8(index_tag::ALGORITHM, 1),
        Some(IndexAlgorithm::Hash) => w.u8(index_tag::ALGORITHM, 2),
    }
    w.some_text(index_tag::COMMENT, comment);
    w.flag(index_tag::INVISIBLE, *invisible);
    w.flag(index_tag::MADE_FOR_FOREIGN_KEY, *made_for_foreign_key);
}

/// Of a table with so many columns.
pub(super) fn get_index(field: &Field<'_>, columns: usize) -> Read<IndexDef> {
    use index_tag::*;
    let mut kind = None;
    let mut i = IndexDef {
        name: "".into(),
        kind: IndexKind::Plain,
        parts: Vec::new(),
        algorithm: None,
        comment: "".into(),
        invisible: false,
        made_for_foreign_key: false,
    };
    field.record().each(|f| {
        match f.tag {
            NAME => i.name = f.text()?,
            KIND => {
                kind = Some(match f.u8()? {
                    1 => IndexKind::Primary,
                    2 => IndexKind::Unique,
                    3 => IndexKind::Plain,
                    4 => IndexKind::FullText,
                    5 => IndexKind::Spatial,
                    kind => return Err(f.damage(format!("an index is of the unknown kind {kind}"))),
                });
            }
            PART => i.parts.push(part(f, columns)?),
            ALGORITHM => {
                i.algorithm = Some(match f.u8()? {
                    1 => IndexAlgorithm::BTree,
                    2 => IndexAlgorithm::Hash,
                    a => return Err(f.damage(format!("an index has the unknown algorithm {a}"))),
                });
            }
            COMMENT => i.comment = f.text()?,
            INVISIBLE => i.invisible = f.flag()?,
            MADE_FOR_FOREIGN_KEY => i.made_for_foreign_key = f.flag()?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    match kind {
        Some(kind) if !i.parts.is_empty() && !i.name.is_empty() => Ok(IndexDef { kind, ..i }),
        _ => Err(field.damage("an index has no name, no kind or no part")),
    }
}

/// A position among so many columns.
fn column(field: &Field<'_>, columns: usize) -> Read<usize> {
    let idx = field.u32()? as usize;
    if idx < columns { Ok(idx) } else { Err(field.damage(format!("column {idx} of {columns}"))) }
}

fn part(field: &Field<'_>, columns: usize) -> Read<IndexPart> {
    let (mut column_idx, mut prefix_len, mut descending) = (None, None, false);
    field.record().each(|f| {
        match f.tag {
            part_tag::COLUMN => column_idx = Some(column(f, columns)?),
            part_tag::PREFIX => prefix_len = Some(f.u32()?),
            part_tag::DESC => descending = f.flag()?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    let column_idx = column_idx.ok_or_else(|| field.damage("a key part has no column"))?;
    Ok(IndexPart { column_idx, prefix_len, descending })
}

pub(super) fn put_foreign_key(w: &mut Writer, key: &ForeignKey) {
    use foreign_tag::*;
    let ForeignKey { name, columns, parent_schema, parent_table, parent_columns, on_delete, on_update } = key;
    w.text(NAME, name);
    columns.iter().for_each(|c| w.u32(COLUMN, *c as u32));
    w.text(PARENT_SCHEMA, parent_schema);
    w.text(PARENT_TABLE, parent_table);
    parent_columns.iter().for_each(|c| w.text(PARENT_COLUMN, c));
    for (tag, action) in [(ON_DELETE, on_delete), (ON_UPDATE, on_update)] {
        match action {
            FkAction::NoAction => {}
            FkAction::Restrict => w.u8(tag, 1),
            FkAction::Cascade => w.u8(tag, 2),
            FkAction::SetNull => w.u8(tag, 3),
        }
    }
}

/// Of a table with so many columns.
pub(super) fn get_foreign_key(field: &Field<'_>, columns: usize) -> Read<ForeignKey> {
    use foreign_tag::*;
    let mut key = ForeignKey {
        name: "".into(),
        columns: Vec::new(),
        parent_schema: "".into(),
        parent_table: "".into(),
        parent_columns: Vec::new(),
        on_delete: FkAction::NoAction,
        on_update: FkAction::NoAction,
    };
    let action = |f: &Field<'_>| match f.u8()? {
        0 => Ok(FkAction::NoAction),
        1 => Ok(FkAction::Restrict),
        2 => Ok(FkAction::Cascade),
        3 => Ok(FkAction::SetNull),
        a => Err(f.damage(format!("a foreign key has the unknown action {a}"))),
    };
    field.record().each(|f| {
        match f.tag {
            NAME => key.name = f.text()?,
            COLUMN => key.columns.push(column(f, columns)?),
            PARENT_SCHEMA => key.parent_schema = f.text()?,
            PARENT_TABLE => key.parent_table = f.text()?,
            PARENT_COLUMN => key.parent_columns.push(f.text()?),
            ON_DELETE => key.on_delete = action(f)?,
            ON_UPDATE => key.on_update = action(f)?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    let ForeignKey { name, columns, parent_schema, parent_table, parent_columns, .. } = &key;
    let named = ![name, parent_schema, parent_table].iter().any(|n| n.is_empty());
    match named && !columns.is_empty() && columns.len() == parent_columns.len() {
        true => Ok(key),
        false => Err(field.damage("a foreign key lacks a name or a column")),
    }
}

pub(super) fn put_check(w: &mut Writer, check: &CheckConstraint) {
    let CheckConstraint { name, expr: _, text, under, enforced } = check;
    w.text(check_tag::NAME, name);
    w.text(check_tag::TEXT, text);
    w.flag(check_tag::NOT_ENFORCED, !*enforced);
    value::put_under(w, check_tag::UNDER, under);
}

/// The expression is left unbound.
pub(super) fn get_check(field: &Field<'_>) -> Read<CheckConstraint> {
    use check_tag::*;
    let mut check = CheckConstraint {
        name: "".into(),
        expr: unbound(),
        text: "".into(),
        under: Default::default(),
        enforced: true,
    };
    field.record().each(|f| {
        match f.tag {
            NAME => check.name = f.text()?,
            TEXT => check.text = f.text()?,
            NOT_ENFORCED => check.enforced = !f.flag()?,
            UNDER => check.under = value::under_of(f.record())?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    if check.name.is_empty() { Err(field.damage("a check has no name")) } else { Ok(check) }
}
