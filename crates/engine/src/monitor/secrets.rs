//! Passwords stay out of logs and histories.
//!
//! Every quoted literal between IDENTIFIED, or SET PASSWORD, and the end of the statement is left out of what is kept of
//! its text: among them may be the names of accounts, but a password never is (MySQL manual, "Passwords and Logging"). So is
//! the text that PREPARE is given, if it has such a word.

use parser::ast::{SetItem, Statement};
use std::borrow::Cow;

const INSTEAD: &[u8] = b"'<secret>'";

/// A statement's text as it may be kept; others than those about passwords are not looked through.
pub(crate) fn shown<'t>(statement: &Statement, text: &'t [u8]) -> Cow<'t, [u8]> {
    let may_have_secrets = match statement {
        Statement::CreateUser(_) | Statement::AlterUser(_) | Statement::Prepare { .. } => true,
        Statement::Set(items) => items.iter().any(|i| matches!(i, SetItem::Password { .. })),
        _ => false,
    };
    if may_have_secrets { without_secrets(text) } else { Cow::Borrowed(text) }
}

/// The text of statements without the literals that may be passwords.
pub(crate) fn without_secrets(text: &[u8]) -> Cow<'_, [u8]> {
    let mut out: Option<Vec<u8>> = None;
    let (mut at, mut kept, mut hides, mut after_set, mut prepares) = (0, 0, false, false, false);
    while let Some(&b) = text.get(at) {
        let from = at;
        at += 1;
        match b {
            b'\'' | b'"' => {
                at = literal_end(text, from);
                if hides || prepares && tells_secrets(&text[from..at]) {
                    let out = out.get_or_insert_default();
                    out.extend_from_slice(&text[kept..from]);
                    out.extend_from_slice(INSTEAD);
                    kept = at;
                }
            }
            b'`' => at = literal_end(text, from),
            b'#' => at = behind(text, at, b"\n"),
            b'-' if text[at..].starts_with(b"-") => at = behind(text, at, b"\n"),
            b'/' if text[at..].starts_with(b"*") && !text[at + 1..].starts_with(b"!") => {
                at = behind(text, at + 1, b"*/")
            }
            b';' => (hides, after_set, prepares) = (false, false, false),
            _ if is_word(b) => {
                while text.get(at).is_some_and(|b| is_word(*b)) {
                    at += 1;
                }
                let word = &text[from..at];
                hides |=
                    word.eq_ignore_ascii_case(b"IDENTIFIED") || after_set && word.eq_ignore_ascii_case(b"PASSWORD");
                after_set = word.eq_ignore_ascii_case(b"SET");
                prepares |= word.eq_ignore_ascii_case(b"PREPARE");
            }
            _ => {}
        }
    }
    match out {
        None => Cow::Borrowed(text),
        Some(mut out) => {
            out.extend_from_slice(&text[kept..]);
            Cow::Owned(out)
        }
    }
}

/// Whether a statement within a literal may have a password.
fn tells_secrets(literal: &[u8]) -> bool {
    let mut words = literal.split(|b| !is_word(*b));
    words.any(|w| w.eq_ignore_ascii_case(b"IDENTIFIED") || w.eq_ignore_ascii_case(b"PASSWORD"))
}

fn is_word(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_' || b == b'$' || b >= 0x80
}

/// Behind the next `end` from `at` on, or the text's end.
fn behind(text: &[u8], at: usize, end: &[u8]) -> usize {
    text[at..].windows(end.len()).position(|w| w == end).map_or(text.len(), |n| at + n + end.len())
}

/// Behind the literal that begins at `from`. A doubled quote ends one and begins the next.
fn literal_end(text: &[u8], from: usize) -> usize {
    let mut at = from + 1;
    while let Some(&b) = text.get(at) {
        at += 1;
        match b {
            b'\\' if text[from] != b'`' => at += 1,
            _ if b == text[from] => return at,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(text: &str) -> String {
        String::from_utf8(without_secrets(text.as_bytes()).into_owned()).expect("as it came")
    }

    #[test]
    fn passwords_are_left_out() {
        assert_eq!(
            kept("CREATE USER 'a'@'%' identified by 'it''s \\' x' ACCOUNT LOCK; SELECT 'y'"),
            "CREATE USER 'a'@'%' identified by '<secret>''<secret>' ACCOUNT LOCK; SELECT 'y'"
        );
        assert_eq!(kept("ALTER USER a IDENTIFIED WITH p BY \"s\" REPLACE 't"), {
            "ALTER USER a IDENTIFIED WITH p BY '<secret>' REPLACE '<secret>'"
        });
        assert_eq!(
            kept("/* it's */ CREATE USER `o'x` -- isn't\n IDENTIFIED # ain't\n /*! BY 'p' */"),
            "/* it's */ CREATE USER `o'x` -- isn't\n IDENTIFIED # ain't\n /*! BY '<secret>' */"
        );
        assert_eq!(kept("SET PASSWORD FOR 'a' = 's'"), "SET PASSWORD FOR '<secret>' = '<secret>'");
        assert_eq!(kept("SET x = 'identified', password = '1'"), "SET x = 'identified', password = '1'");
        assert_eq!(kept("PREPARE p FROM 'ALTER USER a IDENTIFIED BY x'"), "PREPARE p FROM '<secret>'");
        assert_eq!(
            kept("PREPARE p FROM 'SELECT 1'; SELECT 'password'"),
            "PREPARE p FROM 'SELECT 1'; SELECT 'password'"
        );
        assert!(matches!(without_secrets(b"SELECT 'a', \"\\"), Cow::Borrowed(_)));
    }
}
