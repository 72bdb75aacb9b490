//! Keys of CREATE TABLE: parts, prefixes, names.
//!
//! MySQL manual, "CREATE INDEX Statement" and "Column Prefix Key Parts".

use catalog::{ColumnDef, IndexAlgorithm, IndexDef, IndexKind, IndexPart, TableDef};
use parser::ast;
use session::Frame;
use types::{Collation, Error, ErrorCode, Result, SqlType, StringKind, WarningLevel};

/// Longest key part, bytes (InnoDB, DYNAMIC rows).
const KEY_PART_BYTES_MAX: u64 = 3072;
const KEY_PARTS_MAX: usize = 16;
/// Most keys of a table.
const KEYS_MAX: usize = 64;

/// Key parts that are expressions. Until their columns exist, part n stands as column `FIRST_EXPR + n`.
pub type KeyExprs = Vec<ast::Expr>;

/// See [`KeyExprs`].
pub const FIRST_EXPR: usize = usize::MAX / 2;

/// Builds a table's keys in MySQL's order: primary, unique, others. Without strict mode too long parts of keys that are
/// not unique are cut, with a warning.
pub fn define_all(
    session: &Frame<'_>,
    columns: &mut [ColumnDef],
    keys: Vec<ast::IndexDef>,
) -> Result<(Vec<IndexDef>, KeyExprs)> {
    if keys.len() > KEYS_MAX {
        return Err(Error::too_many_keys(KEYS_MAX));
    }
    let mut out: Vec<IndexDef> = Vec::with_capacity(keys.len());
    let mut exprs = Vec::new();
    for key in keys {
        let def = define(session, columns, &key, &out, &mut exprs)?;
        if def.kind == IndexKind::Primary && out.iter().any(|i| i.kind == IndexKind::Primary) {
            return Err(Error::multiple_pri_key());
        }
        if out.iter().any(|i| i.name.eq_ignore_ascii_case(&def.name)) {
            return Err(Error::dup_keyname(&def.name));
        }
        out.push(def);
    }
    out.sort_by_key(|i| match i.kind {
        IndexKind::Primary => 0,
        // unique keys without NULLs come first: they can stand in for a primary key
        IndexKind::Unique if i.parts.iter().all(|p| columns.get(p.column_idx).is_some_and(|c| !c.nullable)) => 1,
        IndexKind::Unique => 2,
        _ => 3,
    });
    Ok((out, exprs))
}

fn define(
    session: &Frame<'_>,
    columns: &mut [ColumnDef],
    key: &ast::IndexDef,
    before: &[IndexDef],
    exprs: &mut KeyExprs,
) -> Result<IndexDef> {
    let kind = match key.kind {
        ast::IndexKind::Primary => IndexKind::Primary,
        ast::IndexKind::Unique => IndexKind::Unique,
        ast::IndexKind::Plain => IndexKind::Plain,
        ast::IndexKind::FullText => return Err(Error::not_supported("FULLTEXT indexes")),
        ast::IndexKind::Spatial => return Err(Error::not_supported("SPATIAL indexes")),
    };
    if key.parts.len() > KEY_PARTS_MAX {
        return Err(Error::too_many_key_parts(KEY_PARTS_MAX));
    }
    let mut parts = Vec::with_capacity(key.parts.len());
    for part in &key.parts {
        if let ast::KeyPartKey::Expr { expr, .. } = &part.key {
            if kind == IndexKind::Primary {
                return Err(Error::functional_index_primary_key());
            }
            let column_idx = FIRST_EXPR + exprs.len();
            exprs.push(expr.clone());
            parts.push(IndexPart { column_idx, prefix_len: None, descending: part.desc });
            continue;
        }
        let may_cut = kind == IndexKind::Plain && !session.sql_mode().strict;
        let p = define_part(columns, part, may_cut.then_some(session))?;
        if parts.iter().any(|q: &IndexPart| q.column_idx == p.column_idx) {
            return Err(Error::dup_fieldname(&columns[p.column_idx].name));
        }
        parts.push(p);
    }
    if kind == IndexKind::Primary {
        for p in &parts {
            columns[p.column_idx].nullable = false;
        }
    }
    let name = match (kind, key.name.as_ref().or(key.constraint.as_ref())) {
        (IndexKind::Primary, _) => "PRIMARY".into(),
        (_, Some(name)) => {
            if name.is("PRIMARY") || name.is_empty() || name.ends_with(' ') {
                return Err(Error::wrong_name_for_index(name.as_str()));
            }
            if name.chars().count() > 64 {
                return Err(Error::too_long_ident(name.as_str()));
            }
            name.as_str().into()
        }
        (_, None) => {
            let first = columns.get(parts[0].column_idx).map_or("functional_index", |c| &*c.name);
            generated_name(first, before)
        }
    };
    Ok(IndexDef {
        name,
        kind,
        parts,
        algorithm: match key.options.using {
            Some(ast::IndexType::BTree) => Some(IndexAlgorithm::BTree),
            Some(ast::IndexType::Hash) => Some(IndexAlgorithm::Hash),
            Some(ast::IndexType::RTree) => return Err(Error::not_supported("RTREE indexes")),
            None => None,
        },
        comment: key.options.comment.clone().unwrap_or_default(),
        invisible: key.options.invisible,
        made_for_foreign_key: false,
    })
}

/// The first column's name, with `_2`, `_3`, ... if that is taken.
pub fn generated_name(column: &str, before: &[IndexDef]) -> Box<str> {
    let taken = |n: &str| n.eq_ignore_ascii_case("PRIMARY") || before.iter().any(|i| i.name.eq_ignore_ascii_case(n));
    if !taken(column) {
        return column.into();
    }
    (2..).map(|i| format!("{column}_{i}")).find(|n| !taken(n)).expect("some number is free").into()
}

/// `warned`: whom to tell that the part is cut.
fn define_part(columns: &[ColumnDef], part: &ast::KeyPart, warned: Option<&Frame<'_>>) -> Result<IndexPart> {
    let ast::KeyPartKey::Column { name, prefix } = &part.key else {
        return Err(Error::internal("an expression is no column"));
    };
    let column_idx = columns
        .iter()
        .position(|c| c.name.to_lowercase() == name.to_lowercase() && !c.is_hidden())
        .ok_or_else(|| Error::key_column_does_not_exist(name.as_str()))?;
    let column = &columns[column_idx];
    let prefix_len = match (check_prefix(column, *prefix), warned) {
        (Err(e), Some(session)) if e.code() == ErrorCode::TOO_LONG_KEY => {
            session.warn(e.into_warning(WarningLevel::Warning));
            Some((KEY_PART_BYTES_MAX / char_bytes(&column.ty)) as u32)
        }
        (checked, _) => checked?,
    };
    Ok(IndexPart { column_idx, prefix_len, descending: part.desc })
}

pub fn check_prefix(column: &ColumnDef, prefix: Option<u32>) -> Result<Option<u32>> {
    let SqlType::String { kind, len, .. } = column.ty else {
        return if prefix.is_some() { Err(Error::wrong_sub_key()) } else { Ok(None) };
    };
    let is_lob = !matches!(kind, StringKind::Char | StringKind::VarChar);
    let char_bytes = char_bytes(&column.ty);
    match prefix {
        Some(0) => Err(Error::key_part_0(&column.name)),
        None if is_lob => Err(Error::blob_key_without_length(&column.name)),
        Some(n) if !is_lob && n > len => Err(Error::wrong_sub_key()),
        Some(n) if !is_lob && n == len => check_prefix(column, None),
        Some(n) if n as u64 * char_bytes > KEY_PART_BYTES_MAX => Err(Error::too_long_key(KEY_PART_BYTES_MAX)),
        Some(n) => Ok(Some(n)),
        None if len as u64 * char_bytes > KEY_PART_BYTES_MAX => Err(Error::too_long_key(KEY_PART_BYTES_MAX)),
        None => Ok(None),
    }
}

/// The longest character's bytes.
fn char_bytes(ty: &SqlType) -> u64 {
    match ty.collation() {
        None | Some(Collation::Binary) => 1,
        Some(collation) => collation.charset().max_len() as u64,
    }
}

/// 1831 for keys over the same parts as one before them, where either is new.
pub fn warn_of_duplicate_keys(frame: &Frame<'_>, def: &TableDef, is_new: impl Fn(&str) -> bool) {
    for (i, index) in def.indexes.iter().enumerate() {
        let same = |o: &&IndexDef| o.kind == index.kind && o.parts == index.parts;
        let Some(before) = def.indexes[..i].iter().find(same) else { continue };
        if let Some(new) = [index, before].into_iter().find(|k| is_new(&k.name)) {
            let warning = Error::dup_index(&new.name, &def.schema, &def.name);
            frame.warn(warning.into_warning(WarningLevel::Warning));
        }
    }
}
