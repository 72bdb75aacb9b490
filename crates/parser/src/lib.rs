//! The MySQL dialect: text in, tree out. No catalog, no types of columns, no evaluation.
//!
//! ```text
//! bytes --lexer--> tokens --grammar (recursive descent, Pratt for operators)--> ast::Statement
//! ```
//!
//! The meaning of every construct is MySQL 8.4's ("SQL Statements" and "Language Structure" in its manual).
//!
//! ```
//! let options = parser::ParseOptions::default();
//! let statement = parser::parse("SELECT a + 1 FROM t WHERE b = 'x'", &options).unwrap();
//! assert!(matches!(statement, parser::ast::Statement::Query(_)));
//! ```
//!
//! Invariants:
//! 1. No input panics or exhausts the stack: nesting is counted and bounded ([`MAX_NESTING`]).
//! 2. A tree holds everything the text said that has a meaning. What the grammar does not take apart is refused by name
//!    (error 1235) or kept as [`ast::Statement::Raw`], never dropped.
//! 3. Nothing here looks at a catalog: names stay names.

pub mod ast;
pub mod digest;
mod error;
mod grammar;
mod keywords;

pub use keywords::{reserved_words, words as keywords};
mod lexer;
pub mod normalize;
mod options;
pub mod unparse;

pub use lexer::VERSION_ID;
pub use options::ParseOptions;

use ast::Statement;
use grammar::Parser;
use lexer::Tok;
use types::{Overseer, Result};

/// Levels of parentheses, CASE, function calls and the like that may lie within each other.
pub const MAX_NESTING: u32 = grammar::HEIGHT_MAX / grammar::EXPR_WEIGHT;
/// Levels of subqueries that may lie within each other.
pub const MAX_QUERY_NESTING: u32 = grammar::HEIGHT_MAX / grammar::QUERY_WEIGHT;
/// Tables that one tree of joins may hold.
pub const MAX_JOIN_TABLES: u32 = grammar::HEIGHT_MAX;
/// Longest text, in bytes.
pub const MAX_TEXT_LEN: usize = u32::MAX as usize;

/// A statement with what a client or a plan cache asks about it.
#[derive(Debug)]
pub struct Parsed {
    pub statement: Statement,
    /// `?` markers
    pub param_count: u32,
    /// Where the statement starts, white space and comments before it left out.
    pub start: usize,
    /// Where it ends, without its semicolon.
    pub end: usize,
    /// Where the next statement may start: behind the semicolon, or the end of the text.
    pub next: usize,
    pub hints: StatementHints,
}

/// What optimizer hints say to the statement as a whole.
#[derive(Clone, Debug, Default)]
pub struct StatementHints {
    /// Texts of warnings of code 1064: hints that could not be read.
    pub warnings: Vec<Box<str>>,
    /// SET_VAR hints of all blocks, those of inner blocks first.
    pub variables: Vec<ast::Hint>,
}

/// Parses one statement; a semicolon may end it.
pub fn parse(sql: &str, options: &ParseOptions) -> Result<Statement> {
    parse_bytes(sql.as_bytes(), options)
}

/// [`parse`] for text that may hold any bytes in its string literals.
pub fn parse_bytes(sql: &[u8], options: &ParseOptions) -> Result<Statement> {
    parse_single(sql, options).map(|parsed| parsed.statement)
}

/// One statement with its parameter count; a second one is a syntax error.
pub fn parse_single(sql: &[u8], options: &ParseOptions) -> Result<Parsed> {
    parse_single_overseen(sql, options, None)
}

/// [`parse_single`], which ends with the overseer's error as soon as it has one.
pub fn parse_single_overseen(sql: &[u8], options: &ParseOptions, overseer: Option<&dyn Overseer>) -> Result<Parsed> {
    let parsed = parse_next_overseen(sql, 0, options, overseer)?;
    let rest = Parser::new(sql, parsed.next, options);
    match rest.kind() {
        Tok::Eof => Ok(parsed),
        _ => Err(error::syntax(sql, 0, rest.tok.start as usize)),
    }
}

/// Parses the statement at byte `offset` of a text of several. An empty one is error 1065; to step over it, and to find
/// out whether there is another one, see [`next_statement`].
pub fn parse_next(sql: &[u8], offset: usize, options: &ParseOptions) -> Result<Parsed> {
    parse_next_overseen(sql, offset, options, None)
}

/// [`parse_next`], which ends with the overseer's error as soon as it has one.
pub fn parse_next_overseen(
    sql: &[u8],
    offset: usize,
    options: &ParseOptions,
    overseer: Option<&dyn Overseer>,
) -> Result<Parsed> {
    if sql.len() > MAX_TEXT_LEN {
        return Err(types::Error::new(
            types::ErrorCode::NET_PACKET_TOO_LARGE,
            "Got a packet bigger than 'max_allowed_packet' bytes",
        ));
    }
    let mut parser = Parser::new(sql, offset, options).overseen(overseer);
    if matches!(parser.kind(), Tok::Eof | Tok::Semicolon) {
        return Err(error::empty());
    }
    let start = parser.start() as usize;
    let statement = parser.statement()?;
    let (end, semicolon) = (parser.span_from(start as u32).end as usize, parser.tok);
    let next = match semicolon.tok {
        Tok::Eof => sql.len(),
        Tok::Semicolon => semicolon.end as usize,
        _ => return Err(parser.error()),
    };
    let warnings = parser.hint_faults.iter().map(|f| f.message(sql, start, end)).collect();
    let hints = StatementHints { warnings, variables: std::mem::take(&mut parser.variable_hints) };
    Ok(Parsed { statement, param_count: parser.param_count, start, end, next, hints })
}

/// Where, at or behind byte `offset`, a statement starts; None at the end of the text. Steps over white space, comments
/// and lone semicolons; not into a version comment, which would then be read without its beginning.
pub fn next_statement(sql: &[u8], offset: usize, options: &ParseOptions) -> Option<usize> {
    let mut parser = Parser::new(sql, offset, options);
    while parser.eat(Tok::Semicolon) {}
    match parser.kind() {
        Tok::Eof => None,
        _ if parser.in_version_comment() => Some(parser.span_from(0).end as usize),
        _ => Some(parser.start() as usize),
    }
}

/// Parses all statements of a text.
pub fn parse_multi(sql: &[u8], options: &ParseOptions) -> Result<Vec<Parsed>> {
    let mut all = Vec::new();
    let mut offset = 0;
    while let Some(start) = next_statement(sql, offset, options) {
        let parsed = parse_next(sql, start, options)?;
        offset = parsed.next;
        all.push(parsed);
    }
    Ok(all)
}

/// Parses a single expression, such as a stored default or generated column.
pub fn parse_expr(sql: &str, options: &ParseOptions) -> Result<ast::Expr> {
    let mut parser = Parser::new(sql.as_bytes(), 0, options);
    let expr = parser.expr()?;
    if parser.at(Tok::Eof) { Ok(expr) } else { Err(parser.error()) }
}
