//! Definitions as folders of format 1 and 2 have them: texts. **They are only read**; what is written has been in
//! [`catalog::encoding`] since format 3. This module goes when those formats are opened no more, which is never
//! planned.
//!
//! An object is fields, each a length in digits, a colon, and that many bytes:
//!
//! - schema: its collation;
//! - table: CREATE TABLE as SHOW CREATE TABLE printed it; seconds since 1970 UTC; then pairs: a column and its
//!   histogram (JSON), or [`MADE_KEY`] and the name of a key that a foreign key made;
//! - view: SELECT; `collation` and its name, or `=` and the database to look tables up in; ALGORITHM; DEFINER; SQL
//!   SECURITY; CHECK OPTION; columns;
//! - account: plugin; verifier; `locked`; `grant`; `usage` if it has no privileges. The last two came later.

use crate::session::Execution;
use accounts::{Account, AuthPlugin, Verifier};
use catalog::encoding::unreadable;
use catalog::{ObjectKind, SchemaDef, TableDef, TableId, ViewDef};
use introspection::histogram_json as json;
use session::view_text;
use std::sync::Arc;
use types::{Collation, Result};

/// Stands where the name of a column with a histogram may stand, and is no such name.
const MADE_KEY: &[u8] = b"\0key";

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

pub fn schema(name: &str, bytes: &[u8]) -> Result<SchemaDef> {
    let collation = get(bytes).and_then(|f| text(f.first()?)?.parse_collation());
    let collation = collation.ok_or_else(|| unreadable(ObjectKind::Schema, name, "", "its collation is unknown"))?;
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

/// Reads a table's definition with a session that has no sql_mode and checks no foreign keys.
pub fn table(session: &mut Execution<'_>, id: TableId, schema: &str, name: &str, bytes: &[u8]) -> Result<TableDef> {
    let bad = |why: &dyn std::fmt::Display| unreadable(ObjectKind::Table, schema, name, why);
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

pub fn view(schema: &str, name: &str, bytes: &[u8]) -> Result<ViewDef> {
    let read = || -> Option<ViewDef> {
        let fields: Vec<&str> = get(bytes)?.into_iter().map(text).collect::<Option<_>>()?;
        let [select_text, circumstance, algorithm, definer, security, check_option, columns @ ..] = &fields[..] else {
            return None;
        };
        let mut select_text: Box<str> = (*select_text).into();
        // Once views kept the database in which their tables were to be looked up, not their connection's collation.
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
    read().ok_or_else(|| unreadable(ObjectKind::View, schema, name, "its text is damaged"))
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
    read().ok_or_else(|| unreadable(ObjectKind::Account, user, host, "its text is damaged"))
}
