//! Calls: ordinary functions, aggregates, window functions. Functions with a grammar of their own are next door.

use super::Parser;
use crate::ast::*;
use crate::keywords::Kw;
use crate::lexer::{Tok, Token};
use types::Result;

/// Names that are functions only if the parenthesis follows at once, unless IGNORE_SPACE is on (MySQL 8.4, "Function
/// Name Parsing and Resolution").
const ADJACENT: &[&str] = &[
    "adddate",
    "bit_and",
    "bit_or",
    "bit_xor",
    "cast",
    "count",
    "curdate",
    "curtime",
    "date_add",
    "date_sub",
    "extract",
    "group_concat",
    "json_arrayagg",
    "json_objectagg",
    "max",
    "mid",
    "min",
    "now",
    "position",
    "session_user",
    "st_collect",
    "std",
    "stddev",
    "stddev_pop",
    "stddev_samp",
    "subdate",
    "substr",
    "substring",
    "sum",
    "sysdate",
    "system_user",
    "trim",
    "var_pop",
    "var_samp",
    "variance",
];

fn aggregate(name: &str) -> Option<AggregateFunc> {
    use AggregateFunc::*;
    Some(match name {
        "count" => Count,
        "sum" => Sum,
        "avg" => Avg,
        "min" => Min,
        "max" => Max,
        "bit_and" => BitAnd,
        "bit_or" => BitOr,
        "bit_xor" => BitXor,
        "std" | "stddev" | "stddev_pop" => StddevPop,
        "stddev_samp" => StddevSamp,
        "variance" | "var_pop" => VarPop,
        "var_samp" => VarSamp,
        "group_concat" => GroupConcat,
        "json_arrayagg" => JsonArrayAgg,
        "json_objectagg" => JsonObjectAgg,
        "st_collect" => StCollect,
        _ => return None,
    })
}

/// A call by this name, unquoted, is not just a name with a list of expressions.
pub(crate) fn has_own_grammar(name: &str) -> bool {
    aggregate(name).is_some()
        || matches!(
            name,
            "cast"
                | "substr"
                | "mid"
                | "trim"
                | "extract"
                | "position"
                | "date_add"
                | "date_sub"
                | "adddate"
                | "subdate"
                | "timestampadd"
                | "timestampdiff"
                | "get_format"
                | "weight_string"
                | "json_value"
                | "session_user"
                | "system_user"
        )
}

impl<'a> Parser<'a> {
    /// `name(...)` after the name, which is no reserved word, at the parenthesis.
    #[inline(never)]
    pub(super) fn call(&mut self, name_token: Token, name: Ident) -> Result<Expr> {
        let start = name_token.start;
        // A quoted name is never a built-in with a grammar of its own, but may be an ordinary one.
        let lower: Ident = name.to_ascii_lowercase().into();
        let adjacent = self.start() == name_token.end || self.opts.ignore_space;
        let own_grammar = name_token.tok != Tok::QuotedIdent && (adjacent || !ADJACENT.contains(&lower.as_str()));
        let kind = if !own_grammar {
            None
        } else if let Some(func) = aggregate(&lower) {
            Some(self.aggregate_call(func)?)
        } else {
            self.special_call(&lower)?
        };
        let kind = match kind {
            Some(kind) => kind,
            None => {
                let args = self.call_args()?;
                ExprKind::Function(Box::new(FunctionCall { schema: None, name: lower, args }))
            }
        };
        Ok(Expr::new(kind, self.span_from(start)))
    }

    /// `(expr, ...)`, maybe empty.
    pub(super) fn call_args(&mut self) -> Result<Vec<Expr>> {
        self.expect(Tok::LParen)?;
        if self.eat(Tok::RParen) {
            return Ok(Vec::new());
        }
        let args = self.expr_list()?;
        self.expect(Tok::RParen)?;
        Ok(args)
    }

    fn aggregate_call(&mut self, func: AggregateFunc) -> Result<ExprKind> {
        self.expect(Tok::LParen)?;
        let mut call = AggregateCall {
            func,
            distinct: false,
            args: Vec::new(),
            order_by: Vec::new(),
            separator: None,
            over: None,
        };
        if self.eat_kw(Kw::DISTINCT) {
            call.distinct = true;
            let takes_distinct = !matches!(
                func,
                AggregateFunc::BitAnd
                    | AggregateFunc::BitOr
                    | AggregateFunc::BitXor
                    | AggregateFunc::StddevPop
                    | AggregateFunc::StddevSamp
                    | AggregateFunc::VarPop
                    | AggregateFunc::VarSamp
                    | AggregateFunc::JsonArrayAgg
                    | AggregateFunc::JsonObjectAgg
            );
            if !takes_distinct {
                return Err(self.error_at(self.prev_end - Kw::DISTINCT.text().len() as u32));
            }
        } else if func != AggregateFunc::GroupConcat {
            self.eat_kw(Kw::ALL);
        }
        if func == AggregateFunc::Count && !call.distinct && self.eat(Tok::Star) {
            self.expect(Tok::RParen)?;
        } else {
            call.args.push(self.expr()?);
            let several = match func {
                AggregateFunc::Count => call.distinct,
                AggregateFunc::GroupConcat => true,
                _ => false,
            };
            if func == AggregateFunc::JsonObjectAgg {
                self.expect(Tok::Comma)?;
                call.args.push(self.expr()?);
            }
            while several && self.eat(Tok::Comma) {
                call.args.push(self.expr()?);
            }
            if func == AggregateFunc::GroupConcat {
                call.order_by = self.opt_order_by()?;
                if self.eat_kw(Kw::SEPARATOR) {
                    call.separator = Some(self.bytes_literal()?);
                }
            }
            self.expect(Tok::RParen)?;
        }
        call.over = self.opt_over()?;
        Ok(ExprKind::Aggregate(Box::new(call)))
    }

    /// A reserved word as the name of a function, or a window function.
    pub(super) fn reserved_call(&mut self, kw: Kw) -> Result<ExprKind> {
        let window = match kw {
            Kw::ROW_NUMBER => Some(WindowFunc::RowNumber),
            Kw::RANK => Some(WindowFunc::Rank),
            Kw::DENSE_RANK => Some(WindowFunc::DenseRank),
            Kw::PERCENT_RANK => Some(WindowFunc::PercentRank),
            Kw::CUME_DIST => Some(WindowFunc::CumeDist),
            Kw::NTILE => Some(WindowFunc::Ntile),
            Kw::LEAD => Some(WindowFunc::Lead),
            Kw::LAG => Some(WindowFunc::Lag),
            Kw::FIRST_VALUE => Some(WindowFunc::FirstValue),
            Kw::LAST_VALUE => Some(WindowFunc::LastValue),
            Kw::NTH_VALUE => Some(WindowFunc::NthValue),
            _ => None,
        };
        if let Some(func) = window {
            return self.window_call(func);
        }
        let name = match kw {
            Kw::CHAR => return self.char_call(),
            Kw::CONVERT => return self.convert_call(),
            Kw::MATCH => return self.match_against(),
            Kw::CURRENT_TIMESTAMP | Kw::LOCALTIME | Kw::LOCALTIMESTAMP => "now",
            Kw::CURRENT_DATE => "curdate",
            Kw::CURRENT_TIME => "curtime",
            Kw::CURRENT_USER => "current_user",
            Kw::UTC_DATE => "utc_date",
            Kw::UTC_TIME => "utc_time",
            Kw::UTC_TIMESTAMP => "utc_timestamp",
            Kw::IF => "if",
            Kw::LEFT => "left",
            Kw::RIGHT => "right",
            Kw::REPEAT => "repeat",
            Kw::REPLACE => "replace",
            Kw::INSERT => "insert",
            Kw::MOD => "mod",
            Kw::DATABASE | Kw::SCHEMA => "database",
            Kw::GROUPING => "grouping",
            _ => return Err(self.error()),
        };
        self.bump();
        // Functions of the clock and the account may go without parentheses.
        let bare = matches!(name, "now" | "curdate" | "curtime" | "current_user")
            || matches!(kw, Kw::UTC_DATE | Kw::UTC_TIME | Kw::UTC_TIMESTAMP);
        let args = if bare && !self.at(Tok::LParen) { Vec::new() } else { self.call_args()? };
        let arity = match kw {
            Kw::LEFT | Kw::RIGHT | Kw::REPEAT | Kw::MOD => 2..=2,
            Kw::IF | Kw::REPLACE => 3..=3,
            Kw::INSERT => 4..=4,
            Kw::DATABASE | Kw::SCHEMA | Kw::CURRENT_USER | Kw::CURRENT_DATE | Kw::UTC_DATE => 0..=0,
            Kw::GROUPING => 1..=usize::MAX,
            _ => 0..=1,
        };
        if !arity.contains(&args.len()) {
            return Err(self.error_at(self.prev_end - 1));
        }
        Ok(ExprKind::Function(Box::new(FunctionCall { schema: None, name: name.into(), args })))
    }
}
