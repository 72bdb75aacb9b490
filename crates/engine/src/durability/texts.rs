//! Objects as bytes: fields, each a length in digits, a colon, and that many bytes.
//!
//! A table is its CREATE TABLE statement as SHOW CREATE TABLE prints it, the time when it was made, and the names of
//! columns that have histograms, each with its histogram; behind [`MADE_KEY`] the name of a key that a foreign key made. Whatever a
//! definition has must therefore be printed there and read back; debug builds compare.

use crate::session::Execution;
use accounts::{Account, AuthPlugin, Verifier};
use catalog::{SchemaDef, TableDef, TableId, ViewDef};
use introspection::histogram_json as json;
use introspection::show_create;
use session::view_text;
use std::sync::Arc;
use types::{Collation, Error, ErrorCode, Result};

/// Stands where the name of a column with a histogram may stand, and is no such name.
const MADE_KEY: &[u8] = b"\0key";

fn put(fields: &[&[u8]]) -> Box<[u8]> {
    let mut out = Vec::new();
    for f in fields {
        out.extend_from_slice(format!("{}:", f.len()).as_bytes());
        out.extend_from_slice(f);
    }
    out.into()
}

fn get(mut bytes: &[u8]) -> Option<Vec<&[u8]>> {
    let mut out = Vec::new();
    while !bytes.is_empty() {
        let colon = bytes.iter().position(|b| *b == b':')?;
        let len: usize = std::str::from_utf8(&bytes[..colon]).ok()?.parse().ok()?;
        let (field, rest) = bytes[colon + 1..].split_at_checked(len)?;
        out.push(field);
        bytes = rest;
    }
    Some(out)
}

fn text(field: &[u8]) -> Option<&str> {
    std::str::from_utf8(field).ok()
}

/// The definition of an object cannot be read.
fn unreadable(what: &str, schema: &str, name: &str, why: impl std::fmt::Display) -> Error {
    Error::new(ErrorCode::GET_ERRNO, format!("the definition of {what} {schema}.{name} cannot be read: {why}"))
}

pub fn of_schema(schema: &SchemaDef) -> Box<[u8]> {
    put(&[schema.collation.name().as_bytes()])
}

pub fn schema(name: &str, bytes: &[u8]) -> Result<SchemaDef> {
    let collation = get(bytes).and_then(|f| text(f.first()?)?.parse_collation());
    let collation = collation.ok_or_else(|| unreadable("database", name, "", "its collation is unknown"))?;
    Ok(SchemaDef { name: name.into(), collation, relations: Default::default() })
}

trait ParseCollation {
    fn parse_collation(&self) -> Option<Collation>;
}

impl ParseCollation for str {
    fn parse_collation(&self) -> Option<Collation> {
        variables::charset::collation(self).ok()
    }
}

pub fn of_table(table: &TableDef, auto_increment: Option<u64>) -> Box<[u8]> {
    let create = show_create::table(table, auto_increment);
    let created_at = table.created_at.to_string();
    let mut fields = vec![create.into_bytes(), created_at.into_bytes()];
    for c in &table.columns {
        if let Some(h) = &c.histogram {
            fields.extend([c.name.as_bytes().to_vec(), json::of_histogram(h, &c.ty).into_bytes()]);
        }
    }
    for key in table.indexes.iter().filter(|i| i.made_for_foreign_key) {
        fields.extend([MADE_KEY.to_vec(), key.name.as_bytes().to_vec()]);
    }
    put(&fields.iter().map(|f| &f[..]).collect::<Vec<_>>())
}

/// Reads a table's definition with a session that has no sql_mode and checks no foreign keys.
pub fn table(session: &mut Execution<'_>, id: TableId, schema: &str, name: &str, bytes: &[u8]) -> Result<TableDef> {
    let bad = |why: &dyn std::fmt::Display| unreadable("table", schema, name, why);
    let fields = get(bytes).ok_or_else(|| bad(&"its text is damaged"))?;
    let [create, created_at, ref histograms @ ..] = fields[..] else { return Err(bad(&"its text is damaged")) };
    let mut def = session.define_from_text(id, schema, name, create).map_err(|e| bad(&e))?;
    def.created_at = text(created_at).and_then(|t| t.parse().ok()).ok_or_else(|| bad(&"it has no time"))?;
    for pair in histograms.chunks(2) {
        let [name, histogram] = pair else { return Err(bad(&"its text is damaged")) };
        if *name == MADE_KEY {
            let key = text(histogram).and_then(|n| def.indexes.iter_mut().find(|i| *i.name == *n));
            key.ok_or_else(|| bad(&"a foreign key's key is not there"))?.made_for_foreign_key = true;
            continue;
        }
        let column = text(name).and_then(|n| def.column_idx(n)).ok_or_else(|| bad(&"a histogram has no column"))?;
        let column = &mut def.columns[column];
        let histogram = text(histogram).ok_or_else(|| bad(&"its text is damaged"))?;
        column.histogram = Some(Arc::new(json::to_histogram(histogram, &column.ty).map_err(|e| bad(&e))?));
    }
    Ok(def)
}

pub fn of_view(v: &ViewDef) -> Box<[u8]> {
    let collation = format!("collation {}", v.collation.name());
    let mut fields: Vec<&[u8]> = vec![
        v.select_text.as_bytes(),
        collation.as_bytes(),
        v.algorithm.as_bytes(),
        v.definer.as_bytes(),
        v.security.as_bytes(),
        v.check_option.as_bytes(),
    ];
    fields.extend(v.columns.iter().map(|c| c.as_bytes()));
    put(&fields)
}

pub fn view(schema: &str, name: &str, bytes: &[u8]) -> Result<ViewDef> {
    let read = || -> Option<ViewDef> {
        let fields: Vec<&str> = get(bytes)?.into_iter().map(text).collect::<Option<_>>()?;
        let [select_text, circumstance, algorithm, definer, security, check_option, columns @ ..] = &fields[..] else {
            return None;
        };
        let mut select_text: Box<str> = (*select_text).into();
        // Once views kept the database in which their tables were to be looked up, instead of their connection's collation.
        if let Some(database) = circumstance.strip_prefix('=') {
            select_text = view_text::qualified(&select_text, database)?.into();
        }
        let collation = circumstance.strip_prefix("collation ").and_then(|c| c.parse_collation());
        Some(ViewDef {
            schema: schema.into(),
            name: name.into(),
            columns: columns.iter().map(|c| (*c).into()).collect(),
            select_text,
            collation: collation.unwrap_or_default(),
            algorithm: (*algorithm).into(),
            definer: (*definer).into(),
            security: (*security).into(),
            check_option: (*check_option).into(),
        })
    };
    read().ok_or_else(|| unreadable("view", schema, name, "its text is damaged"))
}

pub fn of_account(a: &Account) -> Box<[u8]> {
    let flag = |set: bool, word: &'static str| if set { word.as_bytes() } else { b"" };
    let fields =
        [a.plugin.name().as_bytes(), a.verifier.bytes(), flag(a.locked, "locked"), flag(a.grant_option, "grant")];
    if a.privileged { put(&fields) } else { put(&[&fields[..], &[b"usage"]].concat()) }
}

pub fn account(user: &str, host: &str, bytes: &[u8]) -> Result<Account> {
    let read = || -> Option<Account> {
        let fields = get(bytes)?;
        // Once every account had the grant option, and then every account had the other privileges.
        let (plugin, secret, locked, grant, usage) = match fields[..] {
            [plugin, secret, locked] => (plugin, secret, locked, &b"grant"[..], &b""[..]),
            [plugin, secret, locked, grant] => (plugin, secret, locked, grant, &b""[..]),
            [plugin, secret, locked, grant, usage] => (plugin, secret, locked, grant, usage),
            _ => return None,
        };
        let plugins = [AuthPlugin::MysqlNativePassword, AuthPlugin::CachingSha2Password];
        let plugin = plugins.into_iter().find(|p| p.name().as_bytes() == plugin)?;
        Some(Account {
            user: user.into(),
            host: host.into(),
            plugin,
            verifier: Verifier::from_bytes(plugin, secret)?,
            locked: !locked.is_empty(),
            grant_option: !grant.is_empty(),
            privileged: usage.is_empty(),
        })
    };
    read().ok_or_else(|| unreadable("account", user, host, "its text is damaged"))
}
