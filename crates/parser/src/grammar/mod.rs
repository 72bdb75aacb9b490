//! Tokens to tree: recursive descent for statements, Pratt's operator precedence for expressions.
//!
//! One file per part of the language; this one holds the cursor that they share.
//!
//! **Stack and heap safety.** Two counters bound user-shaped trees:
//! - `depth` counts what is open now, so that the parser's own recursion is bounded;
//! - `height` is the height of the tallest tree built since the enclosing construct began, so that loops which nest to
//!   the left (`x IS NULL IS NULL ..`, joins) count as well. Code that walks the tree recursively may rely on it.
//!
//! Both are in units of one joined table; [`EXPR_WEIGHT`] is a level of expressions, [`QUERY_WEIGHT`] one of queries.

mod account;
mod admin;
mod alter;
mod create_table;
mod data_type;
mod dml;
mod explain;
mod expr;
mod from;
mod function;
mod hints;
mod json_table;
mod literal;
mod load;
mod operand;
mod partition;
mod query;
mod schema;
mod select;
mod set;
mod show;
mod special_function;
mod statement;
mod table_option;
mod window;

pub(crate) use function::has_own_grammar;
pub(crate) use hints::HintFault;

use crate::ast::{Expr, Hint, Ident, ObjectName, SelectInto, SourceText, Span};
use crate::error;
use crate::keywords::Kw;
use crate::lexer::{self, Lexer, Tok, Token};
use crate::options::ParseOptions;
use types::{Error, Overseer, Pace, Result};

pub(crate) const HEIGHT_MAX: u32 = 1536;
pub(crate) const EXPR_WEIGHT: u32 = 6;
pub(crate) const QUERY_WEIGHT: u32 = 12;

/// The cursor: current token, where the previous one ended, counters.
pub(crate) struct Parser<'a> {
    pub(crate) src: &'a [u8],
    lexer: Lexer<'a>,
    pub(crate) tok: Token,
    /// end of the token before `tok`
    prev_end: u32,
    /// start of the statement
    from: usize,
    pub(crate) opts: &'a ParseOptions,
    pace: Pace<'a>,
    depth: u32,
    height: u32,
    pub(crate) param_count: u32,
    /// INTO of the SELECT just parsed, for the query that it belongs to
    into: Option<Box<SelectInto>>,
    pub(crate) hint_faults: Vec<HintFault>,
    /// SET_VAR hints, those of inner blocks first
    pub(crate) variable_hints: Vec<Hint>,
}

impl<'a> Parser<'a> {
    /// At the statement that starts at byte `from`.
    pub(crate) fn new(src: &'a [u8], from: usize, opts: &'a ParseOptions) -> Parser<'a> {
        let mut lexer = Lexer::new(src, from, opts.ansi_quotes, !opts.no_backslash_escapes);
        let tok = lexer.next();
        Parser {
            src,
            lexer,
            tok,
            prev_end: from as u32,
            from,
            opts,
            pace: Pace::default(),
            depth: 0,
            height: 0,
            param_count: 0,
            into: None,
            hint_faults: Vec::new(),
            variable_hints: Vec::new(),
        }
    }

    /// It ends as soon as the overseer says so.
    pub(crate) fn overseen(self, overseer: Option<&'a dyn Overseer>) -> Parser<'a> {
        Parser { pace: Pace::new(overseer), ..self }
    }

    // --- tokens

    pub(crate) fn kind(&self) -> Tok {
        self.tok.tok
    }

    /// Steps over the current token and returns it.
    #[inline]
    pub(crate) fn bump(&mut self) -> Token {
        let tok = self.tok;
        self.prev_end = tok.end;
        self.tok = self.lexer.next();
        tok
    }

    /// The token after the current one.
    pub(crate) fn peek(&self) -> Tok {
        self.lexer.clone().next().tok
    }

    /// The two tokens after the current one.
    pub(crate) fn peek2(&self) -> (Token, Token) {
        let mut ahead = self.lexer;
        (ahead.next(), ahead.next())
    }

    pub(crate) fn at(&self, tok: Tok) -> bool {
        self.tok.tok == tok
    }

    pub(crate) fn at_kw(&self, kw: Kw) -> bool {
        self.tok.tok == Tok::Kw(kw)
    }

    #[inline]
    pub(crate) fn eat(&mut self, tok: Tok) -> bool {
        let found = self.at(tok);
        if found {
            self.bump();
        }
        found
    }

    #[inline]
    pub(crate) fn eat_kw(&mut self, kw: Kw) -> bool {
        self.eat(Tok::Kw(kw))
    }

    pub(crate) fn expect(&mut self, tok: Tok) -> Result<Token> {
        if self.at(tok) { Ok(self.bump()) } else { Err(self.error()) }
    }

    pub(crate) fn expect_kw(&mut self, kw: Kw) -> Result<()> {
        self.expect(Tok::Kw(kw)).map(|_| ())
    }

    pub(crate) fn text_of(&self, tok: Token) -> &'a [u8] {
        &self.src[tok.start as usize..tok.end as usize]
    }

    /// The token is a bare word (keyword or not) that spells `word`.
    pub(crate) fn is_word(&self, tok: Token, word: &str) -> bool {
        matches!(tok.tok, Tok::Ident | Tok::Kw(_)) && self.text_of(tok).eq_ignore_ascii_case(word.as_bytes())
    }

    /// At a bare word that spells `word`, which is given in upper case.
    pub(crate) fn at_word(&self, word: &str) -> bool {
        self.is_word(self.tok, word)
    }

    pub(crate) fn eat_word(&mut self, word: &str) -> bool {
        let found = self.at_word(word);
        if found {
            self.bump();
        }
        found
    }

    pub(crate) fn expect_word(&mut self, word: &str) -> Result<()> {
        if self.eat_word(word) { Ok(()) } else { Err(self.error()) }
    }

    /// Eats all of `words`, separated by blanks, or nothing.
    pub(crate) fn eat_words(&mut self, words: &str) -> bool {
        let mut ahead = (self.lexer, self.tok, self.prev_end);
        for word in words.split(' ') {
            if !self.is_word(ahead.1, word) {
                return false;
            }
            ahead.2 = ahead.1.end;
            ahead.1 = ahead.0.next();
        }
        (self.lexer, self.tok, self.prev_end) = ahead;
        true
    }

    pub(crate) fn at_words(&self, words: &str) -> bool {
        let (mut lexer, mut tok) = (self.lexer, self.tok);
        words.split(' ').all(|word| {
            let found = self.is_word(tok, word);
            tok = lexer.next();
            found
        })
    }

    /// `IF [NOT] EXISTS`: the words after IF are given.
    pub(crate) fn eat_if(&mut self, rest: &str) -> Result<bool> {
        if !self.at_kw(Kw::IF) {
            return Ok(false);
        }
        self.bump();
        if self.eat_words(rest) { Ok(true) } else { Err(self.error()) }
    }

    // --- errors

    /// 1064 at the current token.
    #[cold]
    pub(crate) fn error(&self) -> Error {
        self.error_at(self.tok.start)
    }

    #[cold]
    pub(crate) fn error_at(&self, at: u32) -> Error {
        error::syntax(self.src, self.from, at as usize)
    }

    // --- spans and text

    pub(crate) fn start(&self) -> u32 {
        self.tok.start
    }

    /// The current token is within `/*! .. */`.
    pub(crate) fn in_version_comment(&self) -> bool {
        self.lexer.in_version_comment
    }

    /// From `start` to the end of the last token taken.
    pub(crate) fn span_from(&self, start: u32) -> Span {
        Span::new(start, self.prev_end.max(start))
    }

    /// The source under the span.
    pub(crate) fn source_text(&self, span: Span) -> SourceText {
        SourceText(String::from_utf8_lossy(span.of(self.src)).into())
    }

    /// The source under the span without its comments, as MySQL names columns.
    pub(crate) fn name_text(&self, span: Span) -> SourceText {
        let text = span.of(self.src);
        let may_comment = memchr::memchr3(b'#', b'/', b'-', text).is_some();
        if !may_comment {
            return self.source_text(span);
        }
        let mut lexer = Lexer::new(text, 0, self.opts.ansi_quotes, !self.opts.no_backslash_escapes);
        let (mut out, mut end) = (Vec::with_capacity(text.len()), 0);
        loop {
            let token = lexer.next();
            let start = token.start as usize;
            lexer::space_of_gap(&text[end..start], &mut out);
            out.extend_from_slice(&text[start..token.end as usize]);
            end = token.end as usize;
            if matches!(token.tok, Tok::Eof | Tok::Bad) {
                return SourceText(String::from_utf8_lossy(&out).into());
            }
        }
    }

    // --- bounds

    /// Runs `f` one construct deeper.
    #[inline]
    pub(crate) fn nested<T>(&mut self, weight: u32, f: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.pace.step()?;
        let height_before = std::mem::replace(&mut self.height, 0);
        self.depth += weight;
        if self.depth > HEIGHT_MAX {
            return Err(self.too_deep(weight));
        }
        let out = f(self)?;
        self.depth -= weight;
        self.grow(weight)?;
        self.height = self.height.max(height_before);
        Ok(out)
    }

    /// The tree at hand got another node on top.
    #[inline]
    pub(crate) fn grow(&mut self, weight: u32) -> Result<()> {
        self.height += weight;
        if self.height > HEIGHT_MAX { Err(self.too_deep(weight)) } else { Ok(()) }
    }

    #[cold]
    fn too_deep(&self, weight: u32) -> Error {
        match weight {
            QUERY_WEIGHT => error::too_deep_select(),
            1 => error::too_many_tables(),
            _ => error::too_deep(),
        }
    }

    // --- names

    fn utf8(&self, bytes: &'a [u8]) -> Result<&'a str> {
        std::str::from_utf8(bytes).map_err(|_| error::invalid_utf8(bytes))
    }

    /// The current token could be a bare or quoted identifier.
    pub(crate) fn at_ident(&self) -> bool {
        is_ident(self.tok.tok)
    }

    /// An identifier; reserved words only when quoted.
    pub(crate) fn ident(&mut self) -> Result<Ident> {
        if self.at_ident() { self.any_word() } else { Err(self.error()) }
    }

    /// Any word, reserved or not, as a name (after a point, or where the grammar allows).
    pub(crate) fn any_word(&mut self) -> Result<Ident> {
        match self.tok.tok {
            Tok::Ident | Tok::Kw(_) => {
                let name = self.utf8(self.text_of(self.tok))?;
                self.bump();
                Ok(Ident(name.into()))
            }
            Tok::QuotedIdent => {
                let token = self.tok;
                let name = self.unquote_ident(self.text_of(token))?;
                if name.is_empty() {
                    return Err(self.error());
                }
                self.bump();
                Ok(name)
            }
            _ => Err(self.error()),
        }
    }

    /// Two quotes with nothing in between, which the caller has seen.
    pub(crate) fn empty_ident(&mut self) -> Ident {
        self.bump();
        Ident("".into())
    }

    fn unquote_ident(&self, quoted: &'a [u8]) -> Result<Ident> {
        let quote = quoted[0];
        let inner = self.utf8(&quoted[1..quoted.len() - 1])?;
        if memchr::memchr(quote, inner.as_bytes()).is_none() {
            return Ok(Ident(inner.into()));
        }
        let (one, two) = (char::from(quote).to_string(), char::from(quote).to_string().repeat(2));
        Ok(Ident(inner.replace(&two, &one).into()))
    }

    /// An identifier or a string, as aliases and charset names may be.
    pub(crate) fn ident_or_string(&mut self) -> Result<Ident> {
        if self.at(Tok::Str) { Ok(Ident(self.string_utf8()?)) } else { self.ident() }
    }

    /// `[schema.]name`
    pub(crate) fn object_name(&mut self) -> Result<ObjectName> {
        // `.t` is a table of the current schema.
        if self.at(Tok::Dot) {
            self.bump();
            return Ok(ObjectName { schema: None, name: self.any_word()? });
        }
        let first = self.ident()?;
        if self.eat(Tok::Dot) {
            Ok(ObjectName { schema: Some(first), name: self.any_word()? })
        } else {
            Ok(ObjectName { schema: None, name: first })
        }
    }

    /// One or more of `item`, separated by commas.
    pub(crate) fn comma_list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let mut list = vec![item(self)?];
        while self.eat(Tok::Comma) {
            self.pace.step()?;
            list.push(item(self)?);
        }
        Ok(list)
    }

    /// `(item, item, ...)`
    pub(crate) fn paren_list<T>(&mut self, item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        self.expect(Tok::LParen)?;
        let list = self.comma_list(item)?;
        self.expect(Tok::RParen)?;
        Ok(list)
    }

    pub(crate) fn ident_list(&mut self) -> Result<Vec<Ident>> {
        self.comma_list(Self::ident)
    }

    /// `(name, name, ...)` if there is one.
    pub(crate) fn opt_paren_idents(&mut self) -> Result<Vec<Ident>> {
        if self.at(Tok::LParen) { self.paren_list(Self::ident) } else { Ok(Vec::new()) }
    }

    /// An optional `=`, as options have.
    pub(crate) fn opt_eq(&mut self) {
        self.eat(Tok::Eq);
    }

    // --- expressions in other places

    pub(crate) fn expr_list(&mut self) -> Result<Vec<Expr>> {
        self.comma_list(Self::expr)
    }
}

/// Identifier or non-reserved keyword.
pub(crate) fn is_ident(tok: Tok) -> bool {
    match tok {
        Tok::Ident | Tok::QuotedIdent => true,
        Tok::Kw(kw) => !kw.is_reserved(),
        _ => false,
    }
}
