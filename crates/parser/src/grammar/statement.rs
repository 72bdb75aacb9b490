//! Which statement it is, by its first words.

use super::Parser;
use crate::ast::*;
use crate::keywords::Kw;
use crate::lexer::Tok;
use types::Result;

impl<'a> Parser<'a> {
    /// The statement at the cursor, up to its semicolon or the end.
    pub(crate) fn statement(&mut self) -> Result<Statement> {
        match self.kind() {
            Tok::Kw(kw) => self.keyword_statement(kw),
            Tok::LParen => Ok(Statement::Query(Box::new(self.query()?))),
            Tok::Ident => self.word_statement(),
            _ => Err(self.error()),
        }
    }

    fn keyword_statement(&mut self, kw: Kw) -> Result<Statement> {
        let start = self.start();
        match kw {
            Kw::SELECT | Kw::TABLE | Kw::VALUES => Ok(Statement::Query(Box::new(self.query()?))),
            Kw::INSERT | Kw::REPLACE => self.insert(),
            Kw::UPDATE => self.update(None, start),
            Kw::DELETE => self.delete(None, start),
            Kw::WITH => self.with_statement(),
            Kw::CALL => self.call_statement(),
            Kw::LOAD => self.load(),
            Kw::EXPLAIN | Kw::DESCRIBE | Kw::DESC => self.explain(),
            _ => self.admin_keyword_statement(kw),
        }
    }

    /// WITH before SELECT, UPDATE or DELETE.
    fn with_statement(&mut self) -> Result<Statement> {
        let start = self.start();
        let with = Some(self.with_clause()?);
        match self.kind() {
            Tok::Kw(Kw::UPDATE) => self.update(with, start),
            Tok::Kw(Kw::DELETE) => self.delete(with, start),
            _ => Ok(Statement::Query(Box::new(self.query_with(with, start)?))),
        }
    }

    /// Takes the rest of the statement as it stands; `what` names it.
    pub(super) fn raw(&mut self, what: &'static str, start: u32) -> Statement {
        // Bodies of routines hold semicolons: whatever follows belongs to the statement.
        let compound = ["CREATE PROCEDURE", "CREATE FUNCTION", "CREATE TRIGGER", "CREATE EVENT", "ALTER EVENT"];
        let to_end = compound.contains(&what);
        while !self.at(Tok::Eof) && !self.at(Tok::Bad) && (to_end || !self.at(Tok::Semicolon)) {
            self.bump();
        }
        Statement::Raw { what, text: self.source_text(self.span_from(start)) }
    }
}
