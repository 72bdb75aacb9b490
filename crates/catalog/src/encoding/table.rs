//! Tables.
//!
//! ```text
//!   table    1 id 8   2 database   3 name   4 column (record), in order   5 index (record), in order
//!            6 check (record), in order   7 foreign key (record), in order
//!            8 engine 1: 1 InnoDB, 2 MEMORY, 3 the server's own   9 collation 2   10 comment
//!            11 option (record), in order   12 seconds since 1970 UTC at CREATE 8   13 TEMPORARY
//!   option   1 name   2 value
//! ```
//! The next AUTO_INCREMENT value is no part of the definition: it moves with the rows, and storage keeps it.

use super::column;
use super::key;
use super::record::{Damage, Field, Read, Writer};
use super::{ObjectKind, damaged, object, record_of, unreadable, value};
use crate::{BoundUnder, DefaultValue, TableDef, TableEngine, TableId};
use expr::Expr;
use types::{Collation, Result};

mod tag {
    pub const ID: u16 = 1;
    pub const SCHEMA: u16 = 2;
    pub const NAME: u16 = 3;
    pub const COLUMN: u16 = 4;
    pub const INDEX: u16 = 5;
    pub const CHECK: u16 = 6;
    pub const FOREIGN_KEY: u16 = 7;
    pub const ENGINE: u16 = 8;
    pub const COLLATION: u16 = 9;
    pub const COMMENT: u16 = 10;
    pub const OPTION: u16 = 11;
    pub const CREATED_AT: u16 = 12;
    pub const TEMPORARY: u16 = 13;
}

mod option_tag {
    pub const NAME: u16 = 1;
    pub const VALUE: u16 = 2;
}

/// What an expression of a table is for, with the position of its column or check.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExprOf {
    /// A column that is generated, visible to users.
    Generated(usize),
    /// The hidden column behind a key part.
    KeyPart(usize),
    Default(usize),
    Check(usize),
}

/// Binds the expressions of tables that are read.
pub trait ExprBinder {
    /// `table` has all its columns. Expressions come in this order: those of generated columns, defaults, key parts,
    /// checks.
    fn bind(&mut self, table: &TableDef, of: ExprOf, text: &str, under: &BoundUnder) -> Result<Expr>;
}

/// The bytes of a table's definition.
pub fn of_table(table: &TableDef) -> Result<Box<[u8]>> {
    let TableDef {
        id,
        schema,
        name,
        columns,
        indexes,
        checks,
        foreign_keys,
        engine,
        collation,
        comment,
        options,
        created_at,
        temporary,
    } = table;
    object(ObjectKind::Table, |w| {
        w.u64(tag::ID, id.0);
        w.text(tag::SCHEMA, schema);
        w.text(tag::NAME, name);
        columns.iter().for_each(|c| w.record(tag::COLUMN, |w| column::put(w, c)));
        indexes.iter().for_each(|i| w.record(tag::INDEX, |w| key::put_index(w, i)));
        checks.iter().for_each(|c| w.record(tag::CHECK, |w| key::put_check(w, c)));
        foreign_keys.iter().for_each(|f| w.record(tag::FOREIGN_KEY, |w| key::put_foreign_key(w, f)));
        let engine = match engine {
            TableEngine::InnoDb => 1,
            TableEngine::Memory => 2,
            TableEngine::Virtual => 3,
        };
        w.u8(tag::ENGINE, engine);
        w.u16(tag::COLLATION, collation.id());
        w.some_text(tag::COMMENT, comment);
        for (name, value) in options {
            w.record(tag::OPTION, |w| put_option(w, name, value));
        }
        w.i64(tag::CREATED_AT, *created_at);
        w.flag(tag::TEMPORARY, *temporary);
    })
}

fn put_option(w: &mut Writer, name: &str, value: &str) {
    w.text(option_tag::NAME, name);
    w.text(option_tag::VALUE, value);
}

/// The table of these bytes, which are known to storage by this id and these names. Errors: 1030, and the binder's with
/// what they are about.
pub fn table(id: TableId, schema: &str, name: &str, bytes: &[u8], binder: &mut dyn ExprBinder) -> Result<TableDef> {
    let mut def = read(bytes).map_err(|d| damaged(ObjectKind::Table, schema, name, bytes, d))?;
    if (def.id, &*def.schema, &*def.name) != (id, schema, name) {
        let found = format_args!("it is that of {}.{}, id {}", def.schema, def.name, def.id.0).to_string();
        return Err(unreadable(ObjectKind::Table, schema, name, found));
    }
    bind(&mut def, binder)?;
    Ok(def)
}

/// All but the expressions.
fn read(bytes: &[u8]) -> Read<TableDef> {
    let mut t = TableDef {
        id: TableId(0),
        schema: "".into(),
        name: "".into(),
        columns: Vec::new(),
        indexes: Vec::new(),
        checks: Vec::new(),
        foreign_keys: Vec::new(),
        engine: TableEngine::InnoDb,
        collation: Collation::default(),
        comment: "".into(),
        options: Vec::new(),
        created_at: 0,
        temporary: false,
    };
    // They name columns, which may come behind them.
    let (mut indexes, mut foreign_keys) = (Vec::new(), Vec::new());
    record_of(ObjectKind::Table, bytes)?.each(|f| {
        match f.tag {
            tag::ID => t.id = TableId(f.u64()?),
            tag::SCHEMA => t.schema = f.text()?,
            tag::NAME => t.name = f.text()?,
            tag::COLUMN => t.columns.push(column::get(f)?),
            tag::INDEX => indexes.push(*f),
            tag::CHECK => t.checks.push(key::get_check(f)?),
            tag::FOREIGN_KEY => foreign_keys.push(*f),
            tag::ENGINE => t.engine = engine(f)?,
            tag::COLLATION => t.collation = value::collation_of(f)?,
            tag::COMMENT => t.comment = f.text()?,
            tag::OPTION => t.options.push(option(f)?),
            tag::CREATED_AT => t.created_at = f.i64()?,
            tag::TEMPORARY => t.temporary = f.flag()?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    if t.columns.is_empty() {
        return Err(Damage::at(bytes.len(), "it has no columns"));
    }
    let columns = t.columns.len();
    t.indexes = indexes.iter().map(|f| key::get_index(f, columns)).collect::<Read<_>>()?;
    t.foreign_keys = foreign_keys.iter().map(|f| key::get_foreign_key(f, columns)).collect::<Read<_>>()?;
    Ok(t)
}

fn engine(f: &Field<'_>) -> Read<TableEngine> {
    match f.u8()? {
        1 => Ok(TableEngine::InnoDb),
        2 => Ok(TableEngine::Memory),
        3 => Ok(TableEngine::Virtual),
        e => Err(f.damage(format!("the engine {e} is unknown"))),
    }
}

fn option(field: &Field<'_>) -> Read<(Box<str>, Box<str>)> {
    let (mut name, mut value) = (Box::default(), Box::default());
    field.record().each(|f| {
        match f.tag {
            option_tag::NAME => name = f.text()?,
            option_tag::VALUE => value = f.text()?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    Ok((name, value))
}

fn bind(def: &mut TableDef, binder: &mut dyn ExprBinder) -> Result<()> {
    let mut bound = |def: &TableDef, of: ExprOf, text: &str, under: &BoundUnder| {
        let named = |e| unreadable(ObjectKind::Table, &def.schema, &def.name, format_args!("in ({text}): {e}"));
        binder.bind(def, of, text, under).map(Box::new).map_err(named)
    };
    let shown = def.shown_columns().len();
    let generated = |def: &TableDef, i: usize| {
        let g = def.columns[i].generated.as_ref();
        g.map(|g| (g.text.clone(), g.under))
    };
    for i in 0..shown {
        let Some((text, under)) = generated(def, i) else { continue };
        let expr = bound(def, ExprOf::Generated(i), &text, &under)?;
        def.columns[i].generated.iter_mut().for_each(|g| g.expr = expr.clone());
    }
    for i in 0..shown {
        let DefaultValue::Expr { text, under, .. } = def.columns[i].default.clone() else { continue };
        let expr = bound(def, ExprOf::Default(i), &text, &under)?;
        def.columns[i].default = DefaultValue::Expr { expr, text, under };
    }
    for i in shown..def.columns.len() {
        let Some((text, under)) = generated(def, i) else { continue };
        let expr = bound(def, ExprOf::KeyPart(i), &text, &under)?;
        def.columns[i].generated.iter_mut().for_each(|g| g.expr = expr.clone());
    }
    for i in 0..def.checks.len() {
        let (text, under) = (def.checks[i].text.clone(), def.checks[i].under);
        def.checks[i].expr = bound(def, ExprOf::Check(i), &text, &under)?;
    }
    Ok(())
}
