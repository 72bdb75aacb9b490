//! Optimizer hints: a little language of its own between `/*+` and `*/` (MySQL manual, "Optimizer Hints").
//!
//! ```text
//! hints   := hint+
//! hint    := TABLE_HINT ( [@qb] [t, ..] | [t[@qb], ..] )      BKA, MERGE, JOIN_ORDER, ..
//!          | INDEX_HINT ( t[@qb] [i, ..] | @qb t [i, ..] )    MRR, NO_ICP, INDEX, ..
//!          | SEMIJOIN | NO_SEMIJOIN | SUBQUERY ( [@qb] [strategy, ..] )
//!          | JOIN_FIXED_ORDER ( [@qb] ) | QB_NAME ( q ) | RESOURCE_GROUP ( g )
//!          | MAX_EXECUTION_TIME ( n ) | SET_VAR ( v = value )
//! ```
//! What does not fit is no error but a warning (1064), and the hints after it are lost, those before it stand.

use crate::ast::{Hint, HintArgs, HintName, HintStrategy, HintTable, HintValue, Ident};

/// What is wrong in hints, and where.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HintFault {
    pub offset: usize,
    /// At the end of the comment, where there is no more text to show.
    pub at_close: bool,
    pub what: &'static str,
}

impl HintFault {
    /// The warning's text. `end`: where the statement ends.
    pub fn message(&self, src: &[u8], start: usize, end: usize) -> Box<str> {
        let rest = if self.at_close { b"*/" } else { &src[self.offset..end.max(self.offset)] };
        let rest = String::from_utf8_lossy(rest);
        let mut cut = rest.len().min(NEAR_BYTES_MAX);
        while !rest.is_char_boundary(cut) {
            cut -= 1;
        }
        let line = 1 + src[start..self.offset].iter().filter(|&&b| b == b'\n').count();
        format!("{} near '{}' at line {line}", self.what, &rest[..cut]).into()
    }
}

const NEAR_BYTES_MAX: usize = 80;
const SYNTAX: &str = "Optimizer hint syntax error";

#[derive(Clone, Debug, PartialEq)]
enum Tok {
    Word(String),
    Quoted(String),
    Number(String),
    Text(String),
    /// `@name`
    Block(String),
    Sign(u8),
    Close,
}

/// Over the bytes of one comment.
struct Hints<'a> {
    src: &'a [u8],
    pos: usize,
    /// Where `*/` is.
    end: usize,
    ansi_quotes: bool,
    /// The token looked at and where it begins.
    tok: Tok,
    at: usize,
}

/// The hints of the comment whose inside lies at `pos..end` of `src`.
pub(super) fn parse(src: &[u8], pos: usize, end: usize, ansi_quotes: bool, out: &mut Vec<Hint>) -> Vec<HintFault> {
    let mut hints = Hints { src, pos, end, ansi_quotes, tok: Tok::Close, at: pos };
    hints.bump();
    let mut faults = Vec::new();
    loop {
        match hints.hint(&mut faults) {
            Ok(Some(hint)) => out.push(hint),
            Ok(None) => {}
            Err(()) => {
                faults.push(hints.fault(SYNTAX));
                return faults;
            }
        }
        if hints.tok == Tok::Close {
            return faults;
        }
    }
}

/// How a hint is written.
enum Shape {
    Tables,
    /// At least one table.
    SomeTables,
    Indexes,
    Semijoin,
    Subquery,
    Block,
    Name,
    Limit,
    Variable,
}

fn shape(name: HintName) -> Shape {
    use HintName::*;
    match name {
        Bka | NoBka | Bnl | NoBnl | HashJoin | NoHashJoin | Merge | NoMerge => Shape::Tables,
        DerivedConditionPushdown | NoDerivedConditionPushdown => Shape::Tables,
        JoinOrder | JoinPrefix | JoinSuffix => Shape::SomeTables,
        JoinFixedOrder => Shape::Block,
        Semijoin | NoSemijoin => Shape::Semijoin,
        Subquery => Shape::Subquery,
        QbName | ResourceGroup => Shape::Name,
        MaxExecutionTime => Shape::Limit,
        SetVar => Shape::Variable,
        Mrr | NoMrr | NoIcp | NoRangeOptimization | IndexMerge | NoIndexMerge | SkipScan | NoSkipScan => Shape::Indexes,
        Index | NoIndex | JoinIndex | NoJoinIndex | GroupIndex | NoGroupIndex | OrderIndex | NoOrderIndex => {
            Shape::Indexes
        }
    }
}

impl Hints<'_> {
    fn fault(&self, what: &'static str) -> HintFault {
        HintFault { offset: self.at, at_close: self.tok == Tok::Close, what }
    }

    /// `Err`: the token looked at does not fit. `None`: the hint says nothing; `faults` says why.
    fn hint(&mut self, faults: &mut Vec<HintFault>) -> Result<Option<Hint>, ()> {
        let Tok::Word(word) = &self.tok else { return Err(()) };
        let name = HintName::from_word(word).ok_or(())?;
        self.bump();
        self.sign(b'(')?;
        let args = match shape(name) {
            Shape::Tables => Some(self.tables()?),
            Shape::SomeTables => match self.tables()? {
                HintArgs::Tables { tables, .. } if tables.is_empty() => return Err(()),
                args => Some(args),
            },
            Shape::Indexes => Some(self.indexes()?),
            Shape::Semijoin => {
                let block = self.opt_block();
                let strategies = if self.is_sign(b')') { vec![] } else { self.list(|h| h.strategy(false))? };
                Some(HintArgs::Strategies { block, strategies })
            }
            Shape::Subquery => {
                let block = self.opt_block();
                Some(HintArgs::Strategies { block, strategies: vec![self.strategy(true)?] })
            }
            Shape::Block => Some(HintArgs::Tables { block: self.opt_block(), tables: vec![] }),
            Shape::Name => Some(HintArgs::Name(self.ident()?)),
            Shape::Limit => self.limit(faults)?,
            Shape::Variable => {
                let name = self.ident()?;
                self.sign(b'=')?;
                Some(HintArgs::Variable { name, value: self.value()? })
            }
        };
        self.sign(b')')?;
        Ok(args.map(|args| Hint { name, args }))
    }

    fn tables(&mut self) -> Result<HintArgs, ()> {
        let block = self.opt_block();
        let qualified = block.is_some();
        let tables = if self.is_sign(b')') {
            vec![]
        } else {
            self.list(|h| {
                let name = h.ident()?;
                let block = if qualified { None } else { h.opt_block() };
                Ok(HintTable { name, block })
            })?
        };
        Ok(HintArgs::Tables { block, tables })
    }

    fn indexes(&mut self) -> Result<HintArgs, ()> {
        let before = self.opt_block();
        let name = self.ident()?;
        let block = if before.is_some() { before } else { self.opt_block() };
        let indexes = if self.is_sign(b')') { vec![] } else { self.list(Self::ident)? };
        Ok(HintArgs::Indexes { table: HintTable { name, block }, indexes })
    }

    fn strategy(&mut self, subquery: bool) -> Result<HintStrategy, ()> {
        let Tok::Word(word) = &self.tok else { return Err(()) };
        let strategy = HintStrategy::from_word(word).ok_or(())?;
        let fits = match strategy {
            HintStrategy::Materialization => true,
            HintStrategy::InToExists => subquery,
            _ => !subquery,
        };
        if !fits {
            return Err(());
        }
        self.bump();
        Ok(strategy)
    }

    fn limit(&mut self, faults: &mut Vec<HintFault>) -> Result<Option<HintArgs>, ()> {
        let Tok::Number(digits) = &self.tok else { return Err(()) };
        if digits.contains('.') {
            return Err(());
        }
        let ms = digits.parse::<u32>().ok();
        self.bump();
        if ms.is_none() {
            faults.push(self.fault("Unsupported MAX_EXECUTION_TIME"));
        }
        Ok(ms.map(HintArgs::Limit))
    }

    fn value(&mut self) -> Result<HintValue, ()> {
        let value = match &self.tok {
            Tok::Number(n) => HintValue::Number(n.as_str().into()),
            Tok::Text(t) => HintValue::Text(t.as_str().into()),
            Tok::Quoted(w) => HintValue::Word(w.as_str().into()),
            Tok::Word(w) => match scaled(w) {
                Some(n) => HintValue::Number(n.to_string().into()),
                None => HintValue::Word(w.as_str().into()),
            },
            _ => return Err(()),
        };
        self.bump();
        Ok(value)
    }

    fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Result<T, ()>) -> Result<Vec<T>, ()> {
        let mut items = vec![item(self)?];
        while self.is_sign(b',') {
            self.bump();
            items.push(item(self)?);
        }
        Ok(items)
    }

    fn ident(&mut self) -> Result<Ident, ()> {
        let (Tok::Word(name) | Tok::Quoted(name)) = &self.tok else { return Err(()) };
        let ident = Ident::from(name.as_str());
        self.bump();
        Ok(ident)
    }

    fn opt_block(&mut self) -> Option<Ident> {
        let Tok::Block(name) = &self.tok else { return None };
        let ident = Ident::from(name.as_str());
        self.bump();
        Some(ident)
    }

    fn is_sign(&self, sign: u8) -> bool {
        self.tok == Tok::Sign(sign)
    }

    fn sign(&mut self, sign: u8) -> Result<(), ()> {
        if !self.is_sign(sign) {
            return Err(());
        }
        self.bump();
        Ok(())
    }

    /// Looks at the next token.
    fn bump(&mut self) {
        while self.pos < self.end && self.src[self.pos].is_ascii_whitespace() {
            self.pos += 1;
        }
        self.at = self.pos;
        if self.pos >= self.end {
            self.tok = Tok::Close;
            return;
        }
        self.tok = match self.src[self.pos] {
            b'`' => self.quoted(b'`'),
            b'"' if self.ansi_quotes => self.quoted(b'"'),
            b'\'' | b'"' => self.text(),
            b'@' => self.block_name(),
            b if is_word(b) => self.word(),
            b => {
                self.pos += 1;
                Tok::Sign(b)
            }
        };
    }

    fn word(&mut self) -> Tok {
        let start = self.pos;
        self.skip_word();
        let all_digits = self.src[start..self.pos].iter().all(u8::is_ascii_digit);
        if all_digits {
            if self.pos + 1 < self.end && self.src[self.pos] == b'.' && self.src[self.pos + 1].is_ascii_digit() {
                self.pos += 1;
                self.skip_word();
            }
            return Tok::Number(self.lossy(start));
        }
        Tok::Word(self.lossy(start))
    }

    fn skip_word(&mut self) {
        while self.pos < self.end && is_word(self.src[self.pos]) {
            self.pos += 1;
        }
    }

    fn lossy(&self, start: usize) -> String {
        String::from_utf8_lossy(&self.src[start..self.pos]).into_owned()
    }

    /// A name in quotes, which are doubled within it. An empty or open one fits nowhere; as in MySQL, a fault in one is
    /// shown without the first quote.
    fn quoted(&mut self, quote: u8) -> Tok {
        match self.until(quote) {
            Some(name) if !name.is_empty() => {
                self.at += 1;
                Tok::Quoted(name)
            }
            _ => {
                self.at += 1;
                Tok::Sign(quote)
            }
        }
    }

    fn text(&mut self) -> Tok {
        let quote = self.src[self.pos];
        self.until(quote).map_or(Tok::Sign(quote), Tok::Text)
    }

    /// What stands between quotes; None if there is no second one.
    fn until(&mut self, quote: u8) -> Option<String> {
        let mut bytes = Vec::new();
        self.pos += 1;
        while self.pos < self.end {
            let b = self.src[self.pos];
            self.pos += 1;
            if b == quote {
                if self.pos < self.end && self.src[self.pos] == quote {
                    self.pos += 1;
                } else {
                    return Some(String::from_utf8_lossy(&bytes).into_owned());
                }
            }
            bytes.push(b);
        }
        None
    }

    fn block_name(&mut self) -> Tok {
        let start = self.pos;
        self.pos += 1;
        let name = match self.src.get(self.pos) {
            Some(b'`') if self.pos < self.end => self.until(b'`').unwrap_or_default(),
            Some(b'"') if self.pos < self.end && self.ansi_quotes => self.until(b'"').unwrap_or_default(),
            _ => {
                self.skip_word();
                self.lossy(start + 1)
            }
        };
        if name.is_empty() { Tok::Sign(b'@') } else { Tok::Block(name) }
    }
}

/// `16M` and the like.
fn scaled(word: &str) -> Option<u64> {
    let (digits, suffix) = word.split_at_checked(word.len().checked_sub(1)?)?;
    let shift = match suffix {
        "K" | "k" => 10,
        "M" | "m" => 20,
        "G" | "g" => 30,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

fn is_word(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_' || b == b'$' || b >= 0x80
}
