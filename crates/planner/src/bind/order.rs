//! ORDER BY and LIMIT: keys of a SELECT, and of bodies whose outputs alone are in sight (set operations, VALUES, TABLE,
//! parenthesised queries).

use super::api::Bind;
use super::names::{FoundBy, find_item, written};
use super::query::{Bound, QueryUse};
use super::scope::{Block, Clause, Item};
use expr::Expr;
use parser::ast;
use plan::logical::Logical;
use types::{Decimal, Error, Result, Value};

/// What a sort key names.
pub enum Key {
    /// The item at this position.
    Item(usize),
    Expr(Expr),
}

impl<'a> Bind<'a, '_, '_> {
    /// A key of ORDER BY over the current block's items: a position, an item's name, or any expression.
    pub fn order_key(&mut self, e: &'a ast::Expr) -> Result<Key> {
        let block = self.blocks.last().expect("a block is being bound");
        if let Some(ast::Literal::Int(n)) = e.as_literal() {
            let idx = usize::try_from(*n).unwrap_or(0).wrapping_sub(1);
            return if idx < block.items.len() {
                Ok(Key::Item(idx))
            } else {
                Err(Error::bad_field(n, block.clause.name()))
            };
        }
        if let Some(c) = e.as_column()
            && let Some((item, FoundBy::Name)) = find_item(block, c)?
        {
            let idx = block.items.iter().position(|i| std::ptr::eq(i, item)).expect("an item of the block");
            return Ok(Key::Item(idx));
        }
        Ok(Key::Expr(self.expr(e)?))
    }

    /// ORDER BY and LIMIT over a bound query, of which only the outputs are in sight.
    pub fn order_and_limit(
        &mut self,
        bound: Bound,
        order_by: &'a [ast::OrderItem],
        limit: Option<&'a ast::Limit>,
        usage: QueryUse,
    ) -> Result<Bound> {
        let Bound { mut plan, output } = bound;
        if !order_by.is_empty() {
            let mut block = Block::new(Clause::OrderBy);
            for (id, name) in &output {
                let expr = self.shared.columns.expr(*id);
                block.items.push(Item { expr, name: name.clone(), column: None });
            }
            self.blocks.push(block);
            let mut keys = vec![];
            for (i, o) in order_by.iter().enumerate() {
                if let Some(c) = o.expr.as_column()
                    && c.table.is_some()
                {
                    let table = c.table.as_ref().map_or("", |t| t);
                    return Err(Error::tablename_not_allowed_here(table, "global ORDER clause"));
                }
                let key = match self.order_key(&o.expr)? {
                    Key::Item(idx) => self.blocks.last().expect("pushed above").items[idx].expr.clone(),
                    Key::Expr(e) => e,
                };
                if !self.blocks.last().expect("pushed above").aggregates.is_empty() {
                    return Err(Error::aggregate_order_for_union(i + 1));
                }
                if key.as_const().is_none() {
                    keys.push((key, o.desc));
                }
            }
            let block = self.blocks.pop().expect("pushed above");
            if !block.windows.is_empty() {
                return Err(Error::not_supported("window functions in the ORDER BY of a set operation"));
            }
            if !keys.is_empty() && keeps_order(usage, limit) {
                plan = Logical::Sort { input: Box::new(plan), keys };
            }
        }
        plan = self.limit(plan, limit)?;
        Ok(Bound { plan, output })
    }

    pub fn limit(&mut self, plan: Logical, limit: Option<&'a ast::Limit>) -> Result<Logical> {
        let Some(l) = limit else { return Ok(plan) };
        let count = self.limit_value(&l.count)?;
        let offset = match &l.offset {
            Some(o) => self.limit_value(o)?.unwrap_or(0),
            None => 0,
        };
        // LIMIT 18446744073709551615 is how MySQL spells "all rows from an offset on".
        let limit = count.filter(|n| *n != u64::MAX);
        if limit.is_none() && offset == 0 {
            return Ok(plan);
        }
        Ok(Logical::Limit { input: Box::new(plan), limit, offset })
    }

    /// None for a parameter without a value.
    pub fn limit_value(&mut self, e: &ast::Expr) -> Result<Option<u64>> {
        match &e.kind {
            ast::ExprKind::Literal(ast::Literal::Int(n)) => Ok(Some(*n)),
            // An integer beyond 64 bits is as good as no limit.
            ast::ExprKind::Literal(ast::Literal::Decimal(d)) if d.bytes().all(|b| b.is_ascii_digit()) => {
                Ok(Some(u64::MAX))
            }
            ast::ExprKind::Param(n) => {
                self.shared.cacheable = false;
                let param = self.param(*n)?;
                match param.as_const() {
                    None => Ok(None),
                    Some(Value::UInt(v)) => Ok(Some(*v)),
                    Some(Value::Int(v)) if *v >= 0 => Ok(Some(*v as u64)),
                    // Some drivers send every number as a double.
                    Some(Value::Double(v)) if *v >= 0.0 && v.fract() == 0.0 && *v < u64::MAX as f64 => {
                        Ok(Some(*v as u64))
                    }
                    Some(Value::Decimal(d)) => row_count(*d),
                    // Others send every parameter as a string.
                    Some(Value::Bytes(text)) => match types::decimal::parse_decimal(text) {
                        read if read.bad || read.trailing => Err(Error::wrong_arguments("LIMIT")),
                        read => row_count(read.value),
                    },
                    Some(_) => Err(Error::wrong_arguments("LIMIT")),
                }
            }
            ast::ExprKind::Column(c) => Err(Error::sp_undeclared_var(written(c))),
            _ => Err(Error::wrong_arguments("LIMIT")),
        }
    }
}

/// A whole number of rows; beyond 64 bits it is as good as no limit.
fn row_count(d: Decimal) -> Result<Option<u64>> {
    match d.truncate(0) {
        Some(whole) if !d.is_negative() && whole.eq_value(&d) => Ok(Some(whole.unscaled.to_u64().unwrap_or(u64::MAX))),
        _ => Err(Error::wrong_arguments("LIMIT")),
    }
}

/// Whether a Sort below here can be seen: rows of subqueries, operands and CTEs have no order unless they are limited.
pub fn keeps_order(usage: QueryUse, limit: Option<&ast::Limit>) -> bool {
    limit.is_some() || matches!(usage, QueryUse::Top | QueryUse::Derived)
}
