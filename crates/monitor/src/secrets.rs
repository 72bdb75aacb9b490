//! Passwords stay out of logs and histories.
//!
//! Every quoted literal between IDENTIFIED, or SET PASSWORD, and the end of the statement is left out of what is kept
//! of its text, hexadecimal ones too, which may be verifiers: among them may be the names of accounts, but a password
//! never is (MySQL manual, "Passwords and Logging"). So is the text that PREPARE or a user variable is given, if it has
//! such a word.

use parser::ast::{SetItem, Statement};
use std::borrow::Cow;

const INSTEAD: &[u8] = b"'<secret>'";

/// A statement's text as it may be kept; others than those about passwords are not looked through.
pub fn shown<'t>(statement: &Statement, text: &'t [u8]) -> Cow<'t, [u8]> {
    let may_have_secrets = match statement {
        Statement::CreateUser(_) | Statement::AlterUser(_) | Statement::Prepare { .. } => true,
        Statement::Set(items) => items.iter().any(|i| matches!(i, SetItem::Password { .. } | SetItem::UserVar { .. })),
        _ => false,
    };
    if may_have_secrets { without_secrets(text) } else { Cow::Borrowed(text) }
}

/// The text of statements without the literals that may be passwords.
pub fn without_secrets(text: &[u8]) -> Cow<'_, [u8]> {
    scan(text, 0).map_or(Cow::Borrowed(text), Cow::Owned)
}

/// The words of a statement so far, as far as they tell where secrets begin.
#[derive(Default)]
struct Words<'t> {
    first: &'t [u8],
    second: &'t [u8],
    /// The one right before, with no literal or sign in between.
    previous: &'t [u8],
    hides: bool,
}

impl<'t> Words<'t> {
    fn add(&mut self, word: &'t [u8]) {
        let is = |w: &[u8], text: &str| w.eq_ignore_ascii_case(text.as_bytes());
        if self.first.is_empty() {
            self.first = word;
        } else if self.second.is_empty() {
            self.second = word;
        }
        let first = |text| is(self.first, text);
        let identified = is(self.previous, "IDENTIFIED") && (is(word, "BY") || is(word, "WITH"));
        // SET PASSWORD; SOURCE_PASSWORD and the like of CHANGE and START; CREATE and ALTER SERVER.
        let is_password = word.len() >= 8 && is(&word[word.len() - 8..], "PASSWORD");
        let told = first("CHANGE") || first("START") || is(self.second, "SERVER") || is(self.second, "PASSWORD");
        let takes = told && (first("SET") || first("CHANGE") || first("START") || first("CREATE") || first("ALTER"));
        self.hides |= identified || is_password && takes;
        self.previous = word;
    }

    /// A literal may be the text of a statement.
    fn takes_statements(&self) -> bool {
        [&b"PREPARE"[..], b"SET"].iter().any(|word| self.first.eq_ignore_ascii_case(word))
    }
}

/// `None`: there are no secrets.
fn scan(text: &[u8], depth: usize) -> Option<Vec<u8>> {
    let mut out: Option<Vec<u8>> = None;
    let (mut at, mut kept, mut words) = (0, 0, Words::default());
    while let Some(&b) = text.get(at) {
        let from = at;
        at += 1;
        match b {
            b'\'' | b'"' => {
                at = literal_end(text, from);
                words.previous = b"";
                // A doubled quote makes two literals of one, so what follows is hidden, too.
                words.hides |= words.takes_statements() && tells_secrets(&text[from..at], depth);
                if words.hides {
                    let out = out.get_or_insert_default();
                    out.extend_from_slice(&text[kept..from]);
                    out.extend_from_slice(INSTEAD);
                    kept = at;
                }
            }
            b'`' => {
                at = literal_end(text, from);
                words.previous = b"";
            }
            b'#' => at = behind(text, at, b"\n"),
            b'-' if text[at..].starts_with(b"-") => at = behind(text, at, b"\n"),
            b'/' if text[at..].starts_with(b"*") && !text[at + 1..].starts_with(b"!") => {
                at = behind(text, at + 1, b"*/")
            }
            b';' => words = Words::default(),
            b'@' if words.second.is_empty() => words.add(b"@"),
            b',' | b'=' | b'(' | b')' | b'.' => words.previous = b"",
            _ if is_word(b) => {
                while text.get(at).is_some_and(|b| is_word(*b)) {
                    at += 1;
                }
                if words.hides && is_number(&text[from..at]) {
                    let out = out.get_or_insert_default();
                    out.extend_from_slice(&text[kept..from]);
                    out.extend_from_slice(INSTEAD);
                    kept = at;
                // The version of `/*!80000 .. */` is no word.
                } else if !text[from..at].iter().all(u8::is_ascii_digit) {
                    words.add(&text[from..at]);
                }
            }
            _ => {}
        }
    }
    out.map(|mut out| {
        out.extend_from_slice(&text[kept..]);
        out
    })
}

/// Whether a statement within a literal may have a password.
fn tells_secrets(literal: &[u8], depth: usize) -> bool {
    let mut inner = literal[1..].to_vec();
    // Its quotes are doubled or escaped.
    inner.retain(|b| *b != b'\\');
    depth > 0 || scan(&inner, depth + 1).is_some()
}

/// 0xFF, 0b1: a string in other digits.
fn is_number(word: &[u8]) -> bool {
    matches!(word, [b'0', b'x' | b'X' | b'b' | b'B', ..])
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
        assert_eq!(kept("ALTER USER a IDENTIFIED WITH 'p' AS '$A$005$x' ACCOUNT LOCK"), {
            "ALTER USER a IDENTIFIED WITH '<secret>' AS '<secret>' ACCOUNT LOCK"
        });
        assert_eq!(kept("CREATE USER a IDENTIFIED WITH p AS 0x2441, b IDENTIFIED WITH p AS x'41'"), {
            "CREATE USER a IDENTIFIED WITH p AS '<secret>', b IDENTIFIED WITH p AS x'<secret>'"
        });
        assert_eq!(kept("SET @a = 0x41, @s = 'ALTER USER a IDENTIFIED BY \\'x\\''"), "SET @a = 0x41, @s = '<secret>'");
        assert_eq!(kept("SET PASSWORD FOR 'a' = 's'"), "SET PASSWORD FOR '<secret>' = '<secret>'");
        assert_eq!(kept("SET x = 'identified', password = '1'"), "SET x = 'identified', password = '1'");
        for inner in [r"ALTER USER a IDENTIFIED BY \'x\'", "CHANGE MASTER TO MASTER_PASSWORD = \"x\""] {
            assert_eq!(kept(&format!("PREPARE p FROM '{inner}'")), "PREPARE p FROM '<secret>'");
        }
        assert_eq!(
            kept("PREPARE p FROM 'SET PASSWORD = ''x'''; SELECT 'y'"),
            "PREPARE p FROM '<secret>''<secret>''<secret>'; SELECT 'y'"
        );
        assert_eq!(kept("CHANGE MASTER TO MASTER_USER = 'u', MASTER_PASSWORD = 's'"), {
            "CHANGE MASTER TO MASTER_USER = 'u', MASTER_PASSWORD = '<secret>'"
        });
        assert_eq!(kept("CREATE SERVER s OPTIONS (USER 'u', PASSWORD 'p')"), {
            "CREATE SERVER s OPTIONS (USER 'u', PASSWORD '<secret>')"
        });
        assert_eq!(kept("GRANT ALL ON *.* TO u IDENTIFIED BY 'x'"), "GRANT ALL ON *.* TO u IDENTIFIED BY '<secret>'");
        assert_eq!(
            kept("PREPARE p FROM 'SELECT 1'; SELECT 'password'"),
            "PREPARE p FROM 'SELECT 1'; SELECT 'password'"
        );
        for plain in [
            "UPDATE users SET password = 'x' WHERE name = 'y'",
            "INSERT INTO users SET identified = 'x', password = 'y'",
            "PREPARE p FROM 'UPDATE users SET password = 1 WHERE identified = 2'",
            "CREATE TABLE t (password TEXT DEFAULT ('x'))",
            "SET @password = 'x'",
        ] {
            assert_eq!(kept(plain), plain);
        }
        assert!(matches!(without_secrets(b"SELECT 'a', \"\\"), Cow::Borrowed(_)));
    }
}
