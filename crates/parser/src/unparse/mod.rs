//! Tree to text: [`std::fmt::Display`] for expressions, queries and types.
//!
//! The text is what the server stores and shows again: bodies of views, generated columns, checks, EXPLAIN. It parses,
//! under the default sql_mode, to an equal tree. Keywords are lower case and names are in backticks, as MySQL prints
//! them; an operand that is not simple gets parentheses, so that no precedence need be remembered.
//!
//! Output is flat along the spines that may be long (AND, OR, `a + b + ..`, joins), so it needs no more stack than the
//! tree's bounded height.

mod expr;
mod hint;
mod query;
mod types;

use std::fmt::{self, Write};

/// A name in backticks.
pub struct QuotedIdent<'a>(pub &'a str);

impl fmt::Display for QuotedIdent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('`')?;
        for (i, part) in self.0.split('`').enumerate() {
            if i > 0 {
                f.write_str("``")?;
            }
            f.write_str(part)?;
        }
        f.write_char('`')
    }
}

/// A string in single quotes, with escapes for the default sql_mode.
pub struct QuotedStr<'a>(pub &'a str);

impl fmt::Display for QuotedStr<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('\'')?;
        let mut rest = self.0;
        while let Some(i) = rest.find(['\'', '\\', '\0', '\n', '\r', '\x1a']) {
            f.write_str(&rest[..i])?;
            f.write_str(match rest.as_bytes()[i] {
                b'\'' => "''",
                b'\\' => "\\\\",
                0 => "\\0",
                b'\n' => "\\n",
                b'\r' => "\\r",
                _ => "\\Z",
            })?;
            rest = &rest[i + 1..];
        }
        f.write_str(rest)?;
        f.write_char('\'')
    }
}

/// `'..'`, or `x'..'` where the bytes are no UTF-8.
struct QuotedBytes<'a>(&'a [u8]);

impl fmt::Display for QuotedBytes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match std::str::from_utf8(self.0) {
            Ok(s) => QuotedStr(s).fmt(f),
            Err(_) => HexBytes(self.0).fmt(f),
        }
    }
}

/// `x'..'`
struct HexBytes<'a>(&'a [u8]);

impl fmt::Display for HexBytes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("x'")?;
        for b in self.0 {
            write!(f, "{b:02X}")?;
        }
        f.write_char('\'')
    }
}

/// Items with a separator.
fn list<T>(
    f: &mut fmt::Formatter<'_>,
    items: impl IntoIterator<Item = T>,
    separator: &str,
    mut item: impl FnMut(&mut fmt::Formatter<'_>, T) -> fmt::Result,
) -> fmt::Result {
    for (i, x) in items.into_iter().enumerate() {
        if i > 0 {
            f.write_str(separator)?;
        }
        item(f, x)?;
    }
    Ok(())
}

/// `(`name`, `name`)`
fn ident_list(f: &mut fmt::Formatter<'_>, names: &[crate::ast::Ident]) -> fmt::Result {
    f.write_char('(')?;
    list(f, names, ", ", |f, name| QuotedIdent(name).fmt(f))?;
    f.write_char(')')
}

use fmt::Display;
