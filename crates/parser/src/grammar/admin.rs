//! stub
use super::Parser;
use crate::ast::*;
use crate::keywords::Kw;
use types::Result;
impl<'a> Parser<'a> {
    pub(super) fn admin_keyword_statement(&mut self, _: Kw) -> Result<Statement> {
        Err(self.error())
    }
    pub(super) fn word_statement(&mut self) -> Result<Statement> {
        if self.at_word("DO") {
            return self.do_statement();
        }
        if self.at_word("HANDLER") {
            return self.handler();
        }
        Err(self.error())
    }
}
