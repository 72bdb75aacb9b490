//! Functions whose arguments have a grammar of their own: CAST, TRIM, EXTRACT, SUBSTRING .. FROM, and their kin.

use super::Parser;
use super::expr::{BIT_EXPR, SIMPLE};
use crate::ast::*;
use crate::keywords::Kw;
use crate::lexer::Tok;
use types::Result;

impl<'a> Parser<'a> {
    /// After the name, at `(`. None: an ordinary function, nothing taken.
    pub(super) fn special_call(&mut self, name: &str) -> Result<Option<ExprKind>> {
        let simple = |name: &str, args: Vec<Expr>| {
            ExprKind::Function(Box::new(FunctionCall { schema: None, name: name.into(), args }))
        };
        let kind = match name {
            "cast" => {
                self.expect(Tok::LParen)?;
                self.cast_args()?
            }
            "substring" | "substr" | "mid" => simple("substring", self.substring_args()?),
            "trim" => self.trim_args()?,
            "extract" => {
                self.expect(Tok::LParen)?;
                let unit = self.interval_unit()?;
                self.expect_kw(Kw::FROM)?;
                ExprKind::Extract(unit, Box::new(self.expr()?))
            }
            "position" => {
                self.expect(Tok::LParen)?;
                let what = self.expr_at(BIT_EXPR)?;
                self.expect_kw(Kw::IN)?;
                simple("locate", vec![what, self.expr()?])
            }
            "date_add" | "date_sub" | "adddate" | "subdate" => self.date_add_args(name)?,
            "timestampadd" => {
                self.expect(Tok::LParen)?;
                let unit = self.interval_unit()?;
                self.expect(Tok::Comma)?;
                let value = self.expr()?;
                self.expect(Tok::Comma)?;
                let date = self.expr()?;
                ExprKind::DateArith(Box::new(DateArith { date, value, unit, subtract: false }))
            }
            "timestampdiff" => {
                self.expect(Tok::LParen)?;
                let unit = self.interval_unit()?;
                self.expect(Tok::Comma)?;
                let from = self.expr()?;
                self.expect(Tok::Comma)?;
                ExprKind::TimestampDiff(Box::new((unit, from, self.expr()?)))
            }
            "get_format" => {
                self.expect(Tok::LParen)?;
                let kind = match () {
                    () if self.eat_kw(Kw::DATE) => TemporalKind::Date,
                    () if self.eat_kw(Kw::TIME) => TemporalKind::Time,
                    () if self.eat_kw(Kw::TIMESTAMP) || self.eat_word("DATETIME") => TemporalKind::DateTime,
                    () => return Err(self.error()),
                };
                self.expect(Tok::Comma)?;
                ExprKind::GetFormat(kind, Box::new(self.expr()?))
            }
            "weight_string" => self.weight_string_args()?,
            "json_value" => self.json_value_args()?,
            "curdate" | "curtime" | "now" | "sysdate" | "user" | "session_user" | "system_user" => {
                let args = self.call_args()?;
                let most = usize::from(matches!(name, "curtime" | "now" | "sysdate"));
                if args.len() > most {
                    return Err(self.error_at(self.prev_end - 1));
                }
                let name = if name.ends_with("_user") { "user" } else { name };
                return Ok(Some(simple(name, args)));
            }
            _ => return Ok(None),
        };
        self.expect(Tok::RParen)?;
        Ok(Some(kind))
    }

    /// After `CAST(`.
    fn cast_args(&mut self) -> Result<ExprKind> {
        let expr = self.expr()?;
        let at_time_zone = if self.eat_words("AT TIME ZONE") {
            self.eat_kw(Kw::INTERVAL);
            Some(self.string_utf8()?)
        } else {
            None
        };
        self.expect_kw(Kw::AS)?;
        let target = self.cast_type()?;
        let array = self.eat_word("ARRAY");
        Ok(ExprKind::Cast(Box::new(Cast { expr, target, array, at_time_zone })))
    }

    /// `CONVERT(x, type)` or `CONVERT(x USING charset)`, at the word.
    pub(super) fn convert_call(&mut self) -> Result<ExprKind> {
        self.bump();
        self.expect(Tok::LParen)?;
        let expr = self.expr()?;
        let kind = if self.eat_kw(Kw::USING) {
            ExprKind::ConvertUsing(Box::new((expr, self.charset_name()?)))
        } else {
            self.expect(Tok::Comma)?;
            let target = self.cast_type()?;
            ExprKind::Cast(Box::new(Cast { expr, target, array: false, at_time_zone: None }))
        };
        self.expect(Tok::RParen)?;
        Ok(kind)
    }

    /// `CHAR(n, ... [USING charset])`, at the word.
    pub(super) fn char_call(&mut self) -> Result<ExprKind> {
        self.bump();
        self.expect(Tok::LParen)?;
        let args = self.expr_list()?;
        let charset = if self.eat_kw(Kw::USING) { Some(self.charset_name()?) } else { None };
        self.expect(Tok::RParen)?;
        Ok(match charset {
            Some(charset) => ExprKind::CharUsing(Box::new((args, charset))),
            None => ExprKind::Function(Box::new(FunctionCall { schema: None, name: "char".into(), args })),
        })
    }

    /// `MATCH columns AGAINST (x mode)`, at the word.
    pub(super) fn match_against(&mut self) -> Result<ExprKind> {
        self.bump();
        let parens = self.eat(Tok::LParen);
        let columns = self.comma_list(Self::column_ref)?;
        if parens {
            self.expect(Tok::RParen)?;
        }
        self.expect_word("AGAINST")?;
        self.expect(Tok::LParen)?;
        let against = self.expr_at(BIT_EXPR)?;
        let mode = if self.eat_words("IN BOOLEAN MODE") {
            MatchMode::Boolean
        } else {
            self.eat_words("IN NATURAL LANGUAGE MODE");
            if self.eat_words("WITH QUERY EXPANSION") { MatchMode::NaturalExpansion } else { MatchMode::Natural }
        };
        self.expect(Tok::RParen)?;
        Ok(ExprKind::Match(Box::new(Match { columns, against, mode })))
    }

    /// `(x, pos [, len])` or `(x FROM pos [FOR len])`, without the closing parenthesis.
    fn substring_args(&mut self) -> Result<Vec<Expr>> {
        self.expect(Tok::LParen)?;
        let mut args = vec![self.expr()?];
        let next = if self.eat_kw(Kw::FROM) {
            Tok::Kw(Kw::FOR)
        } else {
            self.expect(Tok::Comma)?;
            Tok::Comma
        };
        args.push(self.expr()?);
        if self.eat(next) {
            args.push(self.expr()?);
        }
        Ok(args)
    }

    fn trim_args(&mut self) -> Result<ExprKind> {
        self.expect(Tok::LParen)?;
        let side = match self.kind() {
            Tok::Kw(Kw::BOTH) => Some(TrimSide::Both),
            Tok::Kw(Kw::LEADING) => Some(TrimSide::Leading),
            Tok::Kw(Kw::TRAILING) => Some(TrimSide::Trailing),
            _ => None,
        };
        let trim = |side, what, expr| ExprKind::Trim(Box::new(Trim { side, what, expr }));
        let Some(side) = side else {
            let first = self.expr()?;
            return Ok(if self.eat_kw(Kw::FROM) {
                trim(TrimSide::Both, Some(first), self.expr()?)
            } else {
                trim(TrimSide::Both, None, first)
            });
        };
        self.bump();
        let what = if self.at_kw(Kw::FROM) { None } else { Some(self.expr()?) };
        self.expect_kw(Kw::FROM)?;
        Ok(trim(side, what, self.expr()?))
    }

    /// DATE_ADD, DATE_SUB need an INTERVAL; ADDDATE and SUBDATE take days as well.
    fn date_add_args(&mut self, name: &str) -> Result<ExprKind> {
        self.expect(Tok::LParen)?;
        let date = self.expr()?;
        self.expect(Tok::Comma)?;
        let days_allowed = matches!(name, "adddate" | "subdate");
        let (value, unit) = if !days_allowed || self.at_kw(Kw::INTERVAL) {
            self.interval_span()?
        } else {
            (self.expr()?, IntervalUnit::Day)
        };
        let subtract = matches!(name, "date_sub" | "subdate");
        Ok(ExprKind::DateArith(Box::new(DateArith { date, value, unit, subtract })))
    }

    fn weight_string_args(&mut self) -> Result<ExprKind> {
        self.expect(Tok::LParen)?;
        let expr = self.expr()?;
        let cast = if self.eat_kw(Kw::AS) {
            let binary = self.eat_kw(Kw::BINARY);
            if !binary {
                self.expect_kw(Kw::CHAR)?;
            }
            self.expect(Tok::LParen)?;
            let len = self.number_u32()?;
            self.expect(Tok::RParen)?;
            Some((binary, len))
        } else {
            None
        };
        Ok(ExprKind::WeightString(Box::new(WeightString { expr, cast })))
    }

    fn json_value_args(&mut self) -> Result<ExprKind> {
        self.expect(Tok::LParen)?;
        let doc = self.expr_at(SIMPLE)?;
        self.expect(Tok::Comma)?;
        let path = self.expr()?;
        let returning = if self.eat_word("RETURNING") { Some(self.cast_type()?) } else { None };
        let (on_empty, on_error) = self.on_empty_on_error()?;
        Ok(ExprKind::JsonValue(Box::new(JsonValue { doc, path, returning, on_empty, on_error })))
    }
}
