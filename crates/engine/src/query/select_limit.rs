//! `sql_select_limit`: how many rows a query of the client has that says nothing of LIMIT itself. What it reads, and
//! what other statements read, is not limited. Source: MySQL's manual, "Server System Variables".

use parser::ast::{Expr, ExprKind, Limit, Literal, Query, QueryBody};

/// `query` with that many rows; `None`: it needs no other LIMIT than it has.
pub(super) fn limited(query: &Query, rows_max: u64) -> Option<Query> {
    if rows_max == u64::MAX || query.limit.is_some() {
        return None;
    }
    if let QueryBody::Nested(inner) = &query.body
        && query.order_by.is_empty()
    {
        // Parentheses around all of it are nothing by themselves; an ORDER BY behind them makes another query.
        let body = QueryBody::Nested(Box::new(limited(inner, rows_max)?));
        return Some(Query { body, ..query.clone() });
    }
    let count = Expr::new(ExprKind::Literal(Literal::Int(rows_max)), query.span);
    Some(Query { limit: Some(Box::new(Limit { count, offset: None })), ..query.clone() })
}
