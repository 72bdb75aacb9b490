//! Schemas, views and accounts.
//!
//! ```text
//!   schema    1 name   2 collation 2
//!
//!   view      1 database   2 name   3 column's name, in order   4 SELECT   5 collation_connection at CREATE VIEW 2
//!             6 ALGORITHM   7 DEFINER   8 SQL SECURITY   9 CHECK OPTION: all four as SHOW CREATE VIEW prints them
//!
//!   account   1 user   2 host   3 plugin   4 form of the verifier 1: 0 there is none, 1 as the plugin stores it,
//!             2 SHA256(SHA256(password))   5 verifier   6 locked   7 GRANT OPTION   8 all privileges
//! ```

use super::record::{Damage, Read};
use super::{ObjectKind, damaged, object, record_of, unreadable, value};
use crate::{SchemaDef, ViewDef};
use types::{Collation, Result};

mod schema_tag {
    pub const NAME: u16 = 1;
    pub const COLLATION: u16 = 2;
}

mod view_tag {
    pub const SCHEMA: u16 = 1;
    pub const NAME: u16 = 2;
    pub const COLUMN: u16 = 3;
    pub const SELECT: u16 = 4;
    pub const COLLATION: u16 = 5;
    pub const ALGORITHM: u16 = 6;
    pub const DEFINER: u16 = 7;
    pub const SECURITY: u16 = 8;
    pub const CHECK_OPTION: u16 = 9;
}

mod account_tag {
    pub const USER: u16 = 1;
    pub const HOST: u16 = 2;
    pub const PLUGIN: u16 = 3;
    pub const VERIFIER_FORM: u16 = 4;
    pub const VERIFIER: u16 = 5;
    pub const LOCKED: u16 = 6;
    pub const GRANT_OPTION: u16 = 7;
    pub const PRIVILEGED: u16 = 8;
}

/// The names under which storage keeps the object must be those in it.
fn check_names(kind: ObjectKind, kept: (&str, &str), found: (&str, &str)) -> Result<()> {
    if kept == found {
        return Ok(());
    }
    let (schema, name) = found;
    Err(unreadable(kind, kept.0, kept.1, format_args!("it is that of {schema} {name}")))
}

/// The bytes of a schema, without what is in it.
pub fn of_schema(schema: &SchemaDef) -> Result<Box<[u8]>> {
    let SchemaDef { name, collation, relations: _ } = schema;
    object(ObjectKind::Schema, |w| {
        w.text(schema_tag::NAME, name);
        w.u16(schema_tag::COLLATION, collation.id());
    })
}

/// An empty schema.
pub fn schema(name: &str, bytes: &[u8]) -> Result<SchemaDef> {
    let read = || -> Read<SchemaDef> {
        let (mut name, mut collation) = (Box::default(), None);
        record_of(ObjectKind::Schema, bytes)?.each(|f| {
            match f.tag {
                schema_tag::NAME => name = f.text()?,
                schema_tag::COLLATION => collation = Some(value::collation_of(f)?),
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        let collation = collation.ok_or_else(|| Damage::at(bytes.len(), "it has no collation"))?;
        Ok(SchemaDef { name, collation, relations: Default::default() })
    };
    let schema = read().map_err(|d| damaged(ObjectKind::Schema, name, "", bytes, d))?;
    check_names(ObjectKind::Schema, (name, ""), (&schema.name, ""))?;
    Ok(schema)
}

/// The bytes of a view.
pub fn of_view(view: &ViewDef) -> Result<Box<[u8]>> {
    use view_tag::*;
    let ViewDef { schema, name, columns, select_text, collation, algorithm, definer, security, check_option } = view;
    object(ObjectKind::View, |w| {
        w.text(SCHEMA, schema);
        w.text(NAME, name);
        columns.iter().for_each(|c| w.text(COLUMN, c));
        w.text(SELECT, select_text);
        w.u16(COLLATION, collation.id());
        w.some_text(ALGORITHM, algorithm);
        w.some_text(DEFINER, definer);
        w.some_text(SECURITY, security);
        w.some_text(CHECK_OPTION, check_option);
    })
}

pub fn view(schema: &str, name: &str, bytes: &[u8]) -> Result<ViewDef> {
    let view = read_view(bytes).map_err(|d| damaged(ObjectKind::View, schema, name, bytes, d))?;
    check_names(ObjectKind::View, (schema, name), (&view.schema, &view.name))?;
    Ok(view)
}

fn read_view(bytes: &[u8]) -> Read<ViewDef> {
    use view_tag::*;
    let mut v = ViewDef {
        schema: "".into(),
        name: "".into(),
        columns: Vec::new(),
        select_text: "".into(),
        collation: Collation::default(),
        algorithm: "".into(),
        definer: "".into(),
        security: "".into(),
        check_option: "".into(),
    };
    record_of(ObjectKind::View, bytes)?.each(|f| {
        match f.tag {
            SCHEMA => v.schema = f.text()?,
            NAME => v.name = f.text()?,
            COLUMN => v.columns.push(f.text()?),
            SELECT => v.select_text = f.text()?,
            COLLATION => v.collation = value::collation_of(f)?,
            ALGORITHM => v.algorithm = f.text()?,
            DEFINER => v.definer = f.text()?,
            SECURITY => v.security = f.text()?,
            CHECK_OPTION => v.check_option = f.text()?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    if v.select_text.is_empty() { Err(Damage::at(bytes.len(), "it has no SELECT")) } else { Ok(v) }
}

/// What is kept of a password.
#[derive(Clone, PartialEq, Eq)]
pub enum StoredVerifier {
    /// There is no password.
    None,
    /// As the plugin stores it in MySQL.
    Text(Box<str>),
    /// SHA256(SHA256(password))
    Unsalted([u8; 32]),
}

/// Says what it is without saying which.
impl std::fmt::Debug for StoredVerifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            StoredVerifier::None => "None",
            StoredVerifier::Text(_) => "Text",
            StoredVerifier::Unsalted(_) => "Unsalted",
        })
    }
}

/// An account as it is on disk. What plugins and verifiers there are is for others to know.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AccountDef {
    pub user: Box<str>,
    pub host: Box<str>,
    pub plugin: Box<str>,
    pub verifier: StoredVerifier,
    pub locked: bool,
    pub grant_option: bool,
    pub privileged: bool,
}

/// The bytes of an account.
pub fn of_account(account: &AccountDef) -> Result<Box<[u8]>> {
    use account_tag::*;
    let AccountDef { user, host, plugin, verifier, locked, grant_option, privileged } = account;
    object(ObjectKind::Account, |w| {
        w.text(USER, user);
        w.text(HOST, host);
        w.text(PLUGIN, plugin);
        let (form, bytes): (u8, &[u8]) = match verifier {
            StoredVerifier::None => (0, &[]),
            StoredVerifier::Text(text) => (1, text.as_bytes()),
            StoredVerifier::Unsalted(digest) => (2, digest),
        };
        w.u8(VERIFIER_FORM, form);
        if form != 0 {
            w.bytes(VERIFIER, bytes);
        }
        w.flag(LOCKED, *locked);
        w.flag(GRANT_OPTION, *grant_option);
        w.flag(PRIVILEGED, *privileged);
    })
}

pub fn account(user: &str, host: &str, bytes: &[u8]) -> Result<AccountDef> {
    let account = read_account(bytes).map_err(|d| damaged(ObjectKind::Account, user, host, bytes, d))?;
    check_names(ObjectKind::Account, (user, host), (&account.user, &account.host))?;
    Ok(account)
}

fn read_account(bytes: &[u8]) -> Read<AccountDef> {
    use account_tag::*;
    let mut a = AccountDef {
        user: "".into(),
        host: "".into(),
        plugin: "".into(),
        verifier: StoredVerifier::None,
        locked: false,
        grant_option: false,
        privileged: false,
    };
    let (mut form, mut verifier) = (None, None);
    record_of(ObjectKind::Account, bytes)?.each(|f| {
        match f.tag {
            USER => a.user = f.text()?,
            HOST => a.host = f.text()?,
            PLUGIN => a.plugin = f.text()?,
            VERIFIER_FORM => form = Some(f.u8()?),
            VERIFIER => verifier = Some(*f),
            LOCKED => a.locked = f.flag()?,
            GRANT_OPTION => a.grant_option = f.flag()?,
            PRIVILEGED => a.privileged = f.flag()?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    // Who has lost his verifier must not get in without a password.
    a.verifier = match (form, verifier) {
        (Some(0), None) => StoredVerifier::None,
        (Some(1), Some(f)) => StoredVerifier::Text(f.text()?),
        (Some(2), Some(f)) => {
            let digest = f.bytes.try_into().map_err(|_| f.damage("a digest has not 32 bytes"))?;
            StoredVerifier::Unsalted(digest)
        }
        _ => return Err(Damage::at(bytes.len(), "it has no verifier, and does not say that there is none")),
    };
    Ok(a)
}
