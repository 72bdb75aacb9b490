//! Window functions: OVER, window specifications, frames.

use super::Parser;
use super::expr::SIMPLE;
use crate::ast::*;
use crate::keywords::Kw;
use crate::lexer::Tok;
use types::Result;

impl<'a> Parser<'a> {
    /// A window function, at its word.
    pub(super) fn window_call(&mut self, func: WindowFunc) -> Result<ExprKind> {
        self.bump();
        self.expect(Tok::LParen)?;
        let mut args = Vec::new();
        match func {
            WindowFunc::Ntile | WindowFunc::FirstValue | WindowFunc::LastValue => args.push(self.expr()?),
            WindowFunc::NthValue => {
                args.push(self.expr()?);
                self.expect(Tok::Comma)?;
                args.push(self.expr_at(SIMPLE)?);
            }
            WindowFunc::Lead | WindowFunc::Lag => {
                args.push(self.expr()?);
                while args.len() < 3 && self.eat(Tok::Comma) {
                    args.push(self.expr()?);
                }
            }
            _ => {}
        }
        self.expect(Tok::RParen)?;
        let from_last = if func == WindowFunc::NthValue && self.eat_kw(Kw::FROM) {
            let last = self.eat_word("LAST");
            if !last {
                self.expect_word("FIRST")?;
            }
            last
        } else {
            false
        };
        let mut ignore_nulls = false;
        let takes_nulls = matches!(
            func,
            WindowFunc::Lead | WindowFunc::Lag | WindowFunc::FirstValue | WindowFunc::LastValue | WindowFunc::NthValue
        );
        if takes_nulls && !self.eat_words("RESPECT NULLS") {
            ignore_nulls = self.eat_words("IGNORE NULLS");
        }
        let over = self.opt_over()?.ok_or_else(|| self.error())?;
        Ok(ExprKind::Window(Box::new(WindowCall { func, args, from_last, ignore_nulls, over })))
    }

    /// `OVER name` or `OVER (spec)`
    pub(super) fn opt_over(&mut self) -> Result<Option<Over>> {
        if !self.eat_kw(Kw::OVER) {
            return Ok(None);
        }
        if self.at(Tok::LParen) {
            return Ok(Some(Over::Spec(Box::new(self.window_spec()?))));
        }
        Ok(Some(Over::Named(self.ident()?)))
    }

    /// `([base] [PARTITION BY ..] [ORDER BY ..] [frame])`
    pub(super) fn window_spec(&mut self) -> Result<WindowSpec> {
        self.expect(Tok::LParen)?;
        let base = if self.at_ident() { Some(self.ident()?) } else { None };
        let partition_by = if self.eat_kw(Kw::PARTITION) {
            self.expect_kw(Kw::BY)?;
            self.expr_list()?
        } else {
            Vec::new()
        };
        let order_by = self.opt_order_by()?;
        let frame = self.opt_frame()?;
        self.expect(Tok::RParen)?;
        Ok(WindowSpec { base, partition_by, order_by, frame })
    }

    fn opt_frame(&mut self) -> Result<Option<Frame>> {
        let unit = match self.kind() {
            Tok::Kw(Kw::ROWS) => FrameUnit::Rows,
            Tok::Kw(Kw::RANGE) => FrameUnit::Range,
            Tok::Kw(Kw::GROUPS) => FrameUnit::Groups,
            _ => return Ok(None),
        };
        self.bump();
        let (start, end) = if self.eat_kw(Kw::BETWEEN) {
            let start = self.frame_bound()?;
            self.expect_kw(Kw::AND)?;
            (start, Some(self.frame_bound()?))
        } else {
            (self.frame_bound()?, None)
        };
        let exclude = if !self.eat_word("EXCLUDE") {
            None
        } else if self.eat_words("CURRENT ROW") {
            Some(FrameExclude::CurrentRow)
        } else if self.eat_word("GROUP") {
            Some(FrameExclude::Group)
        } else if self.eat_word("TIES") {
            Some(FrameExclude::Ties)
        } else if self.eat_words("NO OTHERS") {
            Some(FrameExclude::NoOthers)
        } else {
            return Err(self.error());
        };
        Ok(Some(Frame { unit, start, end, exclude }))
    }

    fn frame_bound(&mut self) -> Result<FrameBound> {
        if self.eat_words("CURRENT ROW") {
            return Ok(FrameBound::CurrentRow);
        }
        if self.eat_word("UNBOUNDED") {
            if self.eat_word("PRECEDING") {
                return Ok(FrameBound::UnboundedPreceding);
            }
            self.expect_word("FOLLOWING")?;
            return Ok(FrameBound::UnboundedFollowing);
        }
        let offset = if self.at_kw(Kw::INTERVAL) {
            let (value, unit) = self.interval_span()?;
            FrameOffset::Interval(value, unit)
        } else {
            FrameOffset::Value(self.expr_at(SIMPLE)?)
        };
        if self.eat_word("PRECEDING") {
            return Ok(FrameBound::Preceding(offset));
        }
        self.expect_word("FOLLOWING")?;
        Ok(FrameBound::Following(offset))
    }
}
