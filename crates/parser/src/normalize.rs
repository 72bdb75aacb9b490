//! Statements that differ in their constants only, recognized without a tree: the key under which a plan is kept, and
//! the constants that are its parameters.
//!
//! ```text
//!   SELECT c FROM t WHERE id = 5 AND s = 'x' LIMIT 1
//!   key     "SELECT c FROM t WHERE id = " ⟨BIGINT⟩ " AND s = " ⟨string⟩ " LIMIT 1"
//!   values  5, 'x'
//!   text    SELECT c FROM t WHERE id = ? AND s = ? LIMIT 1
//! ```
//! Only constants whose place says that they are values are taken out: operands of comparisons behind WHERE, elements
//! of IN lists there, what SET assigns, the rows of INSERT ... VALUES. Everything else (names of result columns,
//! positions in ORDER BY, LIMIT, arguments of functions, hints) stays in the key as it is written. The types of the
//! constants belong to the key. Whether a parameter is as good as the constant in its place is for whoever binds the
//! text to say.
//!
//! Refused are statements with subqueries, set operations, common table expressions, variables, markers and hints,
//! INSERTs of anything but constants, and long texts: they are not what is sent a thousand times a second.

use crate::keywords::Kw;
use crate::lexer::{Lexer, Tok, Token};
use crate::options::ParseOptions;
use std::ops::Range;
use types::decimal::parse_decimal;
use types::{Collation, SqlType, StringKind, Value};

/// Longest text that is looked at, in bytes.
pub const TEXT_LEN_MAX: usize = 8192;
/// Most constants that are taken out.
pub const VALUES_MAX: usize = 256;

/// Characters that a string parameter's type allows: the type must not tell values apart, or each would get a plan.
const STRING_LEN: u32 = 16383;

/// What became of a text. Kept from statement to statement, for its memory.
#[derive(Debug, Default)]
pub struct Normalized {
    key: Vec<u8>,
    values: Vec<(Value, SqlType)>,
    cuts: Vec<Range<usize>>,
    end: usize,
}

impl Normalized {
    /// Equal for two statements that may share a plan, as far as their texts go.
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// The constants taken out, with their types.
    pub fn values(&self) -> &[(Value, SqlType)] {
        &self.values
    }

    /// The text with `?` for each constant taken out, up to its semicolon.
    pub fn parameterized(&self, sql: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(sql.len());
        let mut from = 0;
        for cut in &self.cuts {
            out.extend_from_slice(&sql[from..cut.start]);
            out.push(b'?');
            from = cut.end;
        }
        out.extend_from_slice(&sql[from..self.end]);
        out
    }
}

/// The type that parameters of a string type are planned with.
pub fn string_param_type(collation: Collation) -> SqlType {
    SqlType::String { kind: StringKind::VarChar, len: STRING_LEN, collation }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Verb {
    Select,
    Update,
    Delete,
    Insert,
}

/// Takes `sql` apart into `out`; false if it is not a statement to be recognized so. `collation`: of string constants.
pub fn normalize(sql: &[u8], options: &ParseOptions, collation: Collation, out: &mut Normalized) -> bool {
    out.key.clear();
    out.values.clear();
    out.cuts.clear();
    if sql.len() > TEXT_LEN_MAX {
        return false;
    }
    let mut lexer = Lexer::new(sql, 0, options.ansi_quotes, !options.no_backslash_escapes);
    let first = lexer.next();
    let verb = match first.tok {
        Tok::Kw(Kw::SELECT) => Verb::Select,
        Tok::Kw(Kw::UPDATE) => Verb::Update,
        Tok::Kw(Kw::DELETE) => Verb::Delete,
        Tok::Kw(Kw::INSERT) => Verb::Insert,
        _ => return false,
    };
    let mut pass = Pass {
        sql,
        verb,
        collation,
        lexer,
        values_here: false,
        calls: 0,
        depth: 0,
        rows: 0,
        from: first.start as usize,
        out,
    };
    pass.run(first)
}

/// Parentheses deeper than this are not followed.
const DEPTH_MAX: u32 = 63;

struct Pass<'a, 'o> {
    sql: &'a [u8],
    verb: Verb,
    collation: Collation,
    lexer: Lexer<'a>,
    /// Constants here are values.
    values_here: bool,
    /// Bit d: the parenthesis at depth d belongs to a call, whose arguments stay.
    calls: u64,
    depth: u32,
    /// Rows of VALUES.
    rows: u32,
    /// How far the text is in the key.
    from: usize,
    out: &'o mut Normalized,
}

impl Pass<'_, '_> {
    fn run(&mut self, first: Token) -> bool {
        let mut before = Tok::Eof;
        let mut prev = first.tok;
        let mut prev_start = first.start as usize;
        loop {
            let token = self.lexer.next();
            match token.tok {
                Tok::Eof => return self.finish(token),
                Tok::Semicolon => return self.lexer.next().tok == Tok::Eof && self.finish(token),
                Tok::Bad | Tok::Hint | Tok::Question | Tok::At | Tok::AtAt | Tok::AtName | Tok::Assign => return false,
                Tok::Kw(kw) if !self.keyword(kw) => return false,
                Tok::LParen if !self.open(prev) => return false,
                Tok::RParen => {
                    let Some(depth) = self.depth.checked_sub(1) else { return false };
                    self.depth = depth;
                }
                Tok::Int | Tok::Str | Tok::Decimal
                    if self.is_value(prev) && !self.take(token, before, (prev, prev_start)) =>
                {
                    return false;
                }
                // adjacent strings are one
                Tok::Str if prev == Tok::Str => return false,
                _ => {}
            }
            before = prev;
            prev = token.tok;
            prev_start = token.start as usize;
        }
    }

    /// False: not for us.
    fn keyword(&mut self, kw: Kw) -> bool {
        match kw {
            Kw::SELECT | Kw::UNION | Kw::EXCEPT | Kw::INTERSECT | Kw::WITH | Kw::INTO
                if self.verb != Verb::Insert || kw != Kw::INTO =>
            {
                return false;
            }
            Kw::WHERE => self.values_here = matches!(self.verb, Verb::Select | Verb::Update | Verb::Delete),
            Kw::SET if self.verb == Verb::Update => self.values_here = true,
            Kw::VALUES if self.verb == Verb::Insert && self.rows == 0 => self.values_here = true,
            // what follows would stay in the key
            Kw::ON | Kw::AS if self.verb == Verb::Insert => return false,
            Kw::GROUP | Kw::HAVING | Kw::ORDER | Kw::LIMIT | Kw::WINDOW | Kw::FOR | Kw::LOCK | Kw::ON | Kw::AS => {
                self.values_here = false;
            }
            Kw::IGNORE | Kw::SET if self.verb == Verb::Insert => return false,
            _ => {}
        }
        true
    }

    fn open(&mut self, prev: Tok) -> bool {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return false;
        }
        let call = match prev {
            Tok::Ident | Tok::QuotedIdent => true,
            Tok::Kw(kw) => !matches!(kw, Kw::IN | Kw::VALUES | Kw::WHERE | Kw::AND | Kw::OR | Kw::NOT | Kw::BETWEEN),
            _ => false,
        };
        let bit = 1u64 << self.depth;
        let inherited = self.depth > 0 && self.calls >> (self.depth - 1) & 1 == 1;
        if call || inherited {
            self.calls |= bit
        } else {
            self.calls &= !bit
        }
        if self.verb == Verb::Insert && self.values_here && self.depth == 1 {
            self.rows += 1;
        }
        true
    }

    /// Whether a constant behind `prev` is a value.
    fn is_value(&self, prev: Tok) -> bool {
        let operand = matches!(
            prev,
            Tok::Eq
                | Tok::Ne
                | Tok::Lt
                | Tok::Le
                | Tok::Gt
                | Tok::Ge
                | Tok::LParen
                | Tok::Comma
                | Tok::Plus
                | Tok::Minus
        ) || matches!(prev, Tok::Kw(Kw::BETWEEN | Kw::AND));
        self.values_here && operand && self.calls >> self.depth & 1 == 0
    }

    fn take(&mut self, token: Token, before: Tok, (prev, prev_start): (Tok, usize)) -> bool {
        if self.out.values.len() == VALUES_MAX {
            return false;
        }
        let (mut start, end) = (token.start as usize, token.end as usize);
        let mut text = &self.sql[start..end];
        // a sign that nothing stands before belongs to the number
        let signed = prev == Tok::Minus
            && matches!(before, Tok::Eq | Tok::Ne | Tok::Lt | Tok::Le | Tok::Gt | Tok::Ge | Tok::LParen | Tok::Comma);
        if signed {
            if self.verb != Verb::Insert || prev_start + 1 != start || token.tok == Tok::Str {
                return true; // stays in the key
            }
            start = prev_start;
            text = &self.sql[start..end];
        }
        let value = match token.tok {
            Tok::Int if signed => negative(text),
            Tok::Int => int(text),
            Tok::Str => self.string(text),
            Tok::Decimal if self.verb == Verb::Insert => decimal(text),
            Tok::Decimal => return true,
            _ => None,
        };
        let Some((value, ty)) = value else { return false };
        self.out.key.extend_from_slice(&self.sql[self.from..start]);
        let tag: [u8; 3] = match ty {
            SqlType::Int { unsigned: false, .. } => *b"i  ",
            SqlType::Int { .. } => *b"u  ",
            SqlType::Decimal { precision, scale } => [b'd', precision, scale],
            _ => *b"s  ",
        };
        self.out.key.push(0);
        self.out.key.extend_from_slice(&tag);
        self.out.values.push((value, ty));
        self.out.cuts.push(start..end);
        self.from = end;
        true
    }

    /// A string without escapes; doubled quotes are undone.
    fn string(&self, text: &[u8]) -> Option<(Value, SqlType)> {
        let quote = *text.first()?;
        let inner = text.get(1..text.len().checked_sub(1)?)?;
        if inner.contains(&b'\\') || std::str::from_utf8(inner).is_err() {
            return None;
        }
        let bytes: Box<[u8]> = if inner.contains(&quote) {
            let mut out = Vec::with_capacity(inner.len());
            let mut it = inner.iter();
            while let Some(&b) = it.next() {
                out.push(b);
                if b == quote {
                    it.next();
                }
            }
            out.into()
        } else {
            inner.into()
        };
        Some((Value::Bytes(bytes), string_param_type(self.collation)))
    }

    fn finish(&mut self, end: Token) -> bool {
        if self.verb == Verb::Insert && self.rows == 0 {
            return false;
        }
        self.out.end = end.start as usize;
        self.out.key.extend_from_slice(&self.sql[self.from..self.out.end]);
        true
    }
}

fn int(digits: &[u8]) -> Option<(Value, SqlType)> {
    let value: u64 = std::str::from_utf8(digits).ok()?.parse().ok()?;
    Some(match i64::try_from(value) {
        Ok(v) => (Value::Int(v), SqlType::BIGINT),
        Err(_) => (Value::UInt(value), SqlType::BIGINT_UNSIGNED),
    })
}

/// With its sign.
fn negative(text: &[u8]) -> Option<(Value, SqlType)> {
    let value: i64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    Some((Value::Int(value), SqlType::BIGINT))
}

fn decimal(text: &[u8]) -> Option<(Value, SqlType)> {
    let parsed = parse_decimal(text);
    let clean = !(parsed.bad || parsed.trailing || parsed.rounded || parsed.overflow);
    let (precision, scale) = (parsed.value.precision().max(parsed.value.scale).max(1), parsed.value.scale);
    clean.then_some((Value::Decimal(parsed.value), SqlType::Decimal { precision, scale }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(sql: &str) -> Option<(String, Vec<String>)> {
        let mut out = Normalized::default();
        normalize(sql.as_bytes(), &ParseOptions::default(), Collation::default(), &mut out).then(|| {
            let text = String::from_utf8(out.parameterized(sql.as_bytes())).unwrap();
            let show = |v: &Value| String::from_utf8(v.to_text().unwrap().into_vec()).unwrap();
            (text, out.values().iter().map(|(v, _)| show(v)).collect())
        })
    }

    #[test]
    fn values_are_taken_out() {
        let cases = [
            ("SELECT c FROM t WHERE id=5", "SELECT c FROM t WHERE id=?", "5"),
            ("SELECT c FROM t WHERE id = 5 ;", "SELECT c FROM t WHERE id = ? ", "5"),
            (
                "select 1, a+2 from t where a=3 and b in (4,'5') limit 6",
                "select 1, a+2 from t where a=? and b in (?,?) limit 6",
                "3 4 5",
            ),
            (
                "SELECT c FROM t WHERE id BETWEEN 1 AND 2 ORDER BY 1",
                "SELECT c FROM t WHERE id BETWEEN ? AND ? ORDER BY 1",
                "1 2",
            ),
            ("SELECT c FROM t WHERE ROUND(a, 2) = 3", "SELECT c FROM t WHERE ROUND(a, 2) = ?", "3"),
            ("UPDATE t SET k=k+1, c='it''s' WHERE id=2", "UPDATE t SET k=k+?, c=? WHERE id=?", "1 it's 2"),
            ("DELETE FROM t WHERE id=7", "DELETE FROM t WHERE id=?", "7"),
            (
                "INSERT INTO t (a, b) VALUES (1, 'x', 1.50, f(2))",
                "INSERT INTO t (a, b) VALUES (?, ?, ?, f(2))",
                "1 x 1.50",
            ),
            (
                "INSERT INTO t VALUES (-1, -2.50, - 3), (4, 5)",
                "INSERT INTO t VALUES (?, ?, - 3), (?, ?)",
                "-1 -2.50 4 5",
            ),
            ("SELECT a FROM t WHERE a = -5", "SELECT a FROM t WHERE a = -5", ""),
            ("SELECT a FROM t WHERE (a = 5 OR (b > 6))", "SELECT a FROM t WHERE (a = ? OR (b > ?))", "5 6"),
        ];
        for (sql, text, values) in cases {
            let (got, got_values) = taken(sql).unwrap_or_else(|| panic!("{sql}"));
            assert_eq!((got.as_str(), got_values.join(" ").as_str()), (text, values));
        }
    }

    #[test]
    fn others_are_refused() {
        for sql in [
            "",
            "BEGIN",
            "SELECT 1; SELECT 2",
            "SELECT (SELECT 1)",
            "SELECT 1 UNION SELECT 2",
            "SELECT @a",
            "SELECT @@version",
            "SELECT ?",
            "SELECT /*+ NO_ICP(t) */ a FROM t",
            "SELECT a FROM t WHERE a = 'x",
            "SELECT a FROM t WHERE a = 'x' 'y'",
            "SELECT a FROM t WHERE a = 'x\\n'",
            "INSERT INTO t VALUES (1) ON DUPLICATE KEY UPDATE a = 2",
            "INSERT IGNORE INTO t VALUES (1)",
            "INSERT INTO t SET a = 1",
            "INSERT INTO t SELECT 1",
            "SELECT a INTO @x FROM t",
            "SELECT a FROM t WHERE a = 1)",
        ] {
            assert_eq!(taken(sql), None, "{sql}");
        }
    }

    #[test]
    fn keys_tell_texts_and_types_apart() {
        let key = |sql: &str| {
            let mut out = Normalized::default();
            assert!(normalize(sql.as_bytes(), &ParseOptions::default(), Collation::default(), &mut out));
            out.key().to_vec()
        };
        assert_eq!(key("SELECT a FROM t WHERE a = 1"), key("SELECT a FROM t WHERE a = 23"));
        assert_ne!(key("SELECT a FROM t WHERE a = 1"), key("SELECT a FROM t WHERE a = '1'"));
        assert_ne!(key("SELECT a FROM t WHERE a = 1"), key("SELECT a FROM t WHERE a = 18446744073709551615"));
        assert_ne!(key("SELECT a FROM t WHERE a = 1 LIMIT 1"), key("SELECT a FROM t WHERE a = 1 LIMIT 2"));
        assert_ne!(key("SELECT 1 FROM t WHERE a = 1"), key("SELECT 2 FROM t WHERE a = 1"));
    }
}
