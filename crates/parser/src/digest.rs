//! The text that stands for all statements which differ in their constants only (MySQL 8.4, "Performance Schema
//! Statement Digests"; STATEMENT_DIGEST_TEXT).
//!
//! Works on tokens, so it takes statements that do not parse as well. Constants become `?`, lists of them `?, ...`,
//! rows of them `(?)` or `(...)`, repeated rows `(...) /* , ... */`; names get backticks, comments go, one blank
//! separates tokens.
//!
//! ```
//! let text = parser::digest::digest_text(b"select * FROM t where a in (1, 2) and b = -5", &Default::default());
//! assert_eq!(text, "SELECT * FROM `t` WHERE `a` IN (...) AND `b` = ?");
//! ```

use crate::keywords::Kw;
use crate::lexer::{Lexer, Tok, Token};
use crate::options::ParseOptions;
use crate::unparse::QuotedIdent;
use std::fmt::Write;

/// Longest digest, in bytes, to the next whole token (`performance_schema_max_digest_length`).
pub const DIGEST_LEN_MAX: usize = 1024;

#[derive(Clone, Copy)]
enum Item {
    Value,
    ValueList,
    /// `(?)`
    RowOfOne,
    RowsOfOne,
    /// `(?, ...)`
    Row,
    Rows,
    /// `IN (...)`
    In,
    Null,
    Comma,
    Open,
    Close,
    /// `+` or `-`
    Sign(Token),
    Word(Token),
    Other(Token),
}

/// The digest of the first statement of `sql`.
pub fn digest_text(sql: &[u8], options: &ParseOptions) -> String {
    let mut lexer = Lexer::new(sql, 0, options.ansi_quotes, !options.no_backslash_escapes);
    let mut items: Vec<Item> = Vec::new();
    loop {
        let token = lexer.next();
        match token.tok {
            Tok::Eof | Tok::Semicolon | Tok::Bad => break,
            Tok::Hint => {}
            Tok::Int | Tok::Decimal | Tok::Float | Tok::Hex | Tok::HexStr | Tok::Bit | Tok::BitStr => {
                drop_signs(&mut items);
                push_value(&mut items);
            }
            Tok::Str | Tok::NationalStr | Tok::Question | Tok::BackslashN => push_value(&mut items),
            Tok::Kw(Kw::NULL) => match items.last() {
                Some(Item::Word(t)) if matches!(t.tok, Tok::Kw(Kw::IS | Kw::NOT | Kw::DEFAULT | Kw::SET)) => {
                    items.push(Item::Null);
                }
                _ => push_value(&mut items),
            },
            Tok::RParen => close(&mut items),
            Tok::LParen => items.push(Item::Open),
            Tok::Comma => items.push(Item::Comma),
            Tok::Plus | Tok::Minus => items.push(Item::Sign(token)),
            Tok::Ident | Tok::QuotedIdent | Tok::Kw(_) | Tok::AtName => items.push(Item::Word(token)),
            _ => items.push(Item::Other(token)),
        }
        // Enough for the text, whatever the rest folds into.
        if items.len() > DIGEST_LEN_MAX {
            break;
        }
    }
    print(sql, &items)
}

/// Signs before a number belong to it unless an operand stands before them.
fn drop_signs(items: &mut Vec<Item>) {
    while let [rest @ .., Item::Sign(_)] = items.as_slice() {
        let binary = match rest.last() {
            None | Some(Item::Comma | Item::Open | Item::Sign(_) | Item::Other(_)) => false,
            Some(Item::Word(t)) => match t.tok {
                Tok::Kw(kw) => !kw.is_reserved(),
                _ => true,
            },
            _ => true,
        };
        if binary {
            return;
        }
        items.pop();
    }
}

fn push_value(items: &mut Vec<Item>) {
    match items.as_slice() {
        [.., Item::Value | Item::ValueList, Item::Comma] => {
            items.truncate(items.len() - 2);
            items.push(Item::ValueList);
        }
        _ => items.push(Item::Value),
    }
}

fn close(items: &mut Vec<Item>) {
    let row = match items.as_slice() {
        [.., Item::Open, Item::Value] => Item::RowOfOne,
        [.., Item::Open, Item::ValueList] => Item::Row,
        _ => return items.push(Item::Close),
    };
    items.truncate(items.len() - 2);
    let (taken, folded) = match (items.as_slice(), row) {
        ([.., Item::Word(t)], _) if t.tok == Tok::Kw(Kw::IN) => (1, Item::In),
        ([.., Item::RowOfOne | Item::RowsOfOne, Item::Comma], Item::RowOfOne) => (2, Item::RowsOfOne),
        ([.., Item::Row | Item::Rows, Item::Comma], Item::Row) => (2, Item::Rows),
        _ => (0, row),
    };
    items.truncate(items.len() - taken);
    items.push(folded);
}

fn print(sql: &[u8], items: &[Item]) -> String {
    let mut out = String::new();
    let text = |t: &Token| String::from_utf8_lossy(&sql[t.start as usize..t.end as usize]);
    for (i, item) in items.iter().enumerate() {
        if out.len() >= DIGEST_LEN_MAX {
            out.push_str(" ...");
            break;
        }
        if !out.is_empty() && !out.ends_with("@@") {
            out.push(' ');
        }
        match item {
            Item::Value => out.push('?'),
            Item::ValueList => out.push_str("?, ..."),
            Item::RowOfOne => out.push_str("(?)"),
            Item::RowsOfOne => out.push_str("(?) /* , ... */"),
            Item::Row => out.push_str("(...)"),
            Item::Rows => out.push_str("(...) /* , ... */"),
            Item::In => out.push_str("IN (...)"),
            Item::Null => out.push_str("NULL"),
            Item::Comma => out.push(','),
            Item::Open => out.push('('),
            Item::Close => out.push(')'),
            Item::Sign(t) | Item::Other(t) => out.push_str(&text(t)),
            Item::Word(t) => {
                let text = text(t);
                let call = matches!(items.get(i + 1), Some(Item::Open | Item::RowOfOne | Item::Row));
                match t.tok {
                    Tok::Kw(kw) => out.push_str(kw.text()),
                    Tok::QuotedIdent | Tok::AtName => out.push_str(&text),
                    _ if call && crate::grammar::has_own_grammar(&text.to_ascii_lowercase()) => {
                        out.push_str(&text.to_ascii_uppercase());
                    }
                    _ => write!(out, "{}", QuotedIdent(&text)).expect("a String takes all text"),
                }
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_and_lists_fold() {
        let cases = [
            (
                "SELECT * FROM mytable WHERE cola = 10 AND colb = 20",
                "SELECT * FROM `mytable` WHERE `cola` = ? AND `colb` = ?",
            ),
            ("insert into t values (1),(2), (3)", "INSERT INTO `t` VALUES (?) /* , ... */"),
            ("insert into t values (1,'a'),(-2,NULL)", "INSERT INTO `t` VALUES (...) /* , ... */"),
            ("insert into t values (1, DEFAULT)", "INSERT INTO `t` VALUES ( ? , DEFAULT )"),
            ("select a from t limit 5, 10", "SELECT `a` FROM `t` LIMIT ?, ..."),
            ("SELECT a - 1, -1, a+ -1 FROM t", "SELECT `a` - ?, ... , `a` + ? FROM `t`"),
            ("SELECT count(*), f(1), f(1,2) /* c */ FROM t -- x", "SELECT COUNT ( * ) , `f` (?) , `f` (...) FROM `t`"),
            (
                "SELECT t.a FROM t WHERE b IS NOT NULL AND c = NULL",
                "SELECT `t` . `a` FROM `t` WHERE `b` IS NOT NULL AND `c` = ?",
            ),
            ("select @@version_comment limit 1; select 2", "SELECT @@`version_comment` LIMIT ?"),
            ("select 'unfinished", "SELECT"),
            ("", ""),
        ];
        for (sql, digest) in cases {
            let got = digest_text(sql.as_bytes(), &ParseOptions::default());
            assert_eq!(got, digest, "{sql}");
        }
    }

    #[test]
    fn long_statements_end_early() {
        let sql = format!("SELECT {}", vec!["a"; 100_000].join(" + "));
        assert!(digest_text(sql.as_bytes(), &ParseOptions::default()).len() <= DIGEST_LEN_MAX + 20);
        let sql = format!("SELECT a IN ({})", vec!["1"; 100_000].join(","));
        assert_eq!(digest_text(sql.as_bytes(), &ParseOptions::default()), "SELECT `a` IN (...)");
    }
}
