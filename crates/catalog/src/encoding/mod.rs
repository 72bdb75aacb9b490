//! Definitions as bytes: what the redo log and the manifest hold of schemas, tables, views and accounts.
//!
//! ```text
//!   object   offset  0  magic                      4   "NLdf"
//!                    4  kind                       1   ObjectKind
//!                    5  version of the layout      1   1
//!                    6  zero                       2
//!                    8  length of the record       4
//!                   12  record
//!
//!   record   = field | field | ..
//!   field    offset  0  tag                        2
//!                    2  length of the value        4
//!                    6  value
//! ```
//! All numbers are little-endian and of fixed width, strings are UTF-8, a flag is one byte that is 0 or 1. A value may
//! be a record itself; a list is a field that comes several times, in the list's order. A field that is not there has
//! its default: no text, no number, false. Tags, and what they mean, stand in the module of each thing.
//!
//! Later versions add fields. A reader that does not know a tag steps over the field; with the bit [`MUST_KNOW`] in its
//! tag it refuses the object instead, because without that field it would take it for something else. A tag is never
//! given a second meaning. The version grows only when this page is no longer true.
//!
//! **Expressions** (defaults, generated columns, checks, key parts) are kept as SQL text, in the form in which SHOW
//! CREATE TABLE prints them, with the settings that they were bound under ([`crate::BoundUnder`]). Reading a table
//! binds them anew, through an [`ExprBinder`]: trees of functions are no form for a disk.
//!
//! - [`record`]: the writer and the reader of records. [`value`]: constants and types.
//! - [`table`] with [`column`], [`key`], [`histogram`]; [`object`]: schemas, views and accounts.
//!
//! Invariants
//! 1. What is written is read back the same, or the reader says at which byte it stops understanding.
//! 2. Reading never panics, whatever the bytes, and never takes more memory than a small multiple of them.
//! 3. Every field of a definition is in its encoding: writers take definitions apart without `..`.

pub mod column;
pub mod histogram;
pub mod key;
pub mod object;
pub mod record;
pub mod table;
pub mod value;

#[cfg(test)]
mod tests;

pub use object::{AccountDef, StoredVerifier, account, of_account, of_schema, of_view, schema, view};
pub use table::{ExprBinder, ExprOf, of_table, table};

use record::{Damage, Record, Writer};
use types::{Error, ErrorCode, Result};

const MAGIC: [u8; 4] = *b"NLdf";
const VERSION: u8 = 1;
const HEADER_BYTES: usize = 12;

/// In the tag of a field without which the object would be misread.
pub const MUST_KNOW: u16 = 0x8000;

/// What an object is. The numbers are on disk.
///
/// 6 and up are taken, for what is to come: 6 procedures, 7 functions, 8 triggers, 9 events, 10 roles, 11 grants,
/// 12 partitions of tables.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ObjectKind {
    Schema = 1,
    Table = 2,
    View = 3,
    Account = 4,
    /// A fact about the database as a whole; its bytes are no record.
    Variable = 5,
}

impl ObjectKind {
    pub fn of(v: u8) -> Option<ObjectKind> {
        use ObjectKind::*;
        [Schema, Table, View, Account, Variable].into_iter().find(|k| *k as u8 == v)
    }

    /// As messages call it.
    pub fn name(self) -> &'static str {
        match self {
            ObjectKind::Schema => "database",
            ObjectKind::Table => "table",
            ObjectKind::View => "view",
            ObjectKind::Account => "account",
            ObjectKind::Variable => "variable",
        }
    }
}

/// Whether the bytes are an object in this encoding. The texts that formats before 3 kept never are: they begin with a
/// digit.
pub fn is_encoded(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC)
}

/// The definition of an object cannot be read: its name, and why.
pub fn unreadable(kind: ObjectKind, schema: &str, name: &str, why: impl std::fmt::Display) -> Error {
    let dot = if name.is_empty() { "" } else { "." };
    let what = kind.name();
    Error::new(ErrorCode::GET_ERRNO, format!("the definition of {what} {schema}{dot}{name} cannot be read: {why}"))
}

/// The error of an object whose bytes are damaged.
fn damaged(kind: ObjectKind, schema: &str, name: &str, bytes: &[u8], damage: Damage) -> Error {
    let Damage { offset, what } = damage;
    unreadable(kind, schema, name, format_args!("at byte {offset} of {}: {what}", bytes.len()))
}

/// An object of what `fill` puts into its record. 1030: it is longer than a record can be.
fn object(kind: ObjectKind, fill: impl FnOnce(&mut Writer)) -> Result<Box<[u8]>> {
    let mut out = MAGIC.to_vec();
    out.extend_from_slice(&[kind as u8, VERSION, 0, 0]);
    out.extend_from_slice(&[0; 4]);
    let mut writer = Writer::new(out);
    fill(&mut writer);
    let mut out = writer.into_bytes();
    let Ok(length) = u32::try_from(out.len() - HEADER_BYTES) else {
        return Err(Error::new(ErrorCode::GET_ERRNO, format!("a definition of {} bytes is too long", out.len())));
    };
    out[8..HEADER_BYTES].copy_from_slice(&length.to_le_bytes());
    Ok(out.into())
}

/// The record of an object of this kind.
fn record_of(kind: ObjectKind, bytes: &[u8]) -> std::result::Result<Record<'_>, Damage> {
    let Some((header, body)) = bytes.split_at_checked(HEADER_BYTES) else {
        return Err(Damage::at(bytes.len(), "the header ends too soon"));
    };
    if !is_encoded(header) {
        return Err(Damage::at(0, "it is no definition"));
    }
    if header[4] != kind as u8 {
        return Err(Damage::at(4, format!("it is of kind {}", header[4])));
    }
    if header[5] != VERSION {
        return Err(Damage::at(
            5,
            format!("its layout is of version {}, and this Nextleaf knows version 1", header[5]),
        ));
    }
    let length = u32::from_le_bytes([header[8], header[9], header[10], header[11]]) as usize;
    if length != body.len() {
        return Err(Damage::at(8, format!("{length} bytes should follow, and {} do", body.len())));
    }
    Ok(Record::new(body, HEADER_BYTES))
}
