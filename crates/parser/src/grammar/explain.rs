//! EXPLAIN, DESCRIBE and DESC, which are one word.

use super::Parser;
use crate::ast::*;
use crate::keywords::Kw;
use crate::lexer::Tok;
use types::{Error, ErrorCode, Result};

impl<'a> Parser<'a> {
    pub(super) fn explain(&mut self) -> Result<Statement> {
        self.bump();
        let mut explain = Explain {
            analyze: false,
            format: None,
            legacy: None,
            into: None,
            schema: None,
            target: ExplainTarget::Connection(0),
        };
        let format = self.at_word("FORMAT") && self.peek() == Tok::Eq;
        let plain = !(format || self.at_kw(Kw::ANALYZE) || self.at_explainable());
        if plain && !self.at_kw(Kw::FOR) {
            let ahead = self.peek2().0;
            // EXTENDED and PARTITIONS are words of old; but a table may have such a name.
            let legacy = match () {
                () if self.at_word("EXTENDED") => Some(ExplainLegacy::Extended),
                () if self.at_word("PARTITIONS") => Some(ExplainLegacy::Partitions),
                () => None,
            };
            if legacy.is_none() || !explainable(ahead.tok) {
                return self.describe();
            }
            explain.legacy = legacy;
            self.bump();
        }
        explain.analyze = self.eat_kw(Kw::ANALYZE);
        if self.eat_word("FORMAT") {
            self.expect(Tok::Eq)?;
            let name = self.ident_or_string()?;
            explain.format = Some(match name.to_ascii_uppercase().as_str() {
                "TRADITIONAL" => ExplainFormat::Traditional,
                "JSON" => ExplainFormat::Json,
                "TREE" => ExplainFormat::Tree,
                _ => {
                    return Err(Error::new(
                        ErrorCode::UNKNOWN_EXPLAIN_FORMAT,
                        format!("Unknown EXPLAIN format name: '{}'", name.as_str()),
                    ));
                }
            });
        }
        if self.eat_kw(Kw::INTO) {
            explain.into = Some(self.user_var()?);
        }
        if self.eat_kw(Kw::FOR) {
            if self.eat_word("CONNECTION") {
                explain.target = ExplainTarget::Connection(self.number()?);
                return Ok(Statement::Explain(Box::new(explain)));
            }
            if !self.eat_kw(Kw::SCHEMA) {
                self.expect_kw(Kw::DATABASE)?;
            }
            explain.schema = Some(self.ident()?);
        }
        if !self.at_explainable() {
            return Err(self.error());
        }
        explain.target = ExplainTarget::Statement(self.statement()?);
        Ok(Statement::Explain(Box::new(explain)))
    }

    fn at_explainable(&self) -> bool {
        explainable(self.kind())
    }

    /// `DESCRIBE table [column | 'pattern']`
    fn describe(&mut self) -> Result<Statement> {
        let table = self.object_name()?;
        let column = if self.at(Tok::Str) {
            Some(DescribeColumn::Like(self.string()?))
        } else if self.at_ident() {
            Some(DescribeColumn::Name(self.ident()?))
        } else {
            None
        };
        Ok(Statement::Describe { table, column })
    }
}

fn explainable(tok: Tok) -> bool {
    matches!(
        tok,
        Tok::LParen
            | Tok::Kw(
                Kw::SELECT | Kw::WITH | Kw::TABLE | Kw::VALUES | Kw::INSERT | Kw::REPLACE | Kw::UPDATE | Kw::DELETE
            )
    )
}
