//! Aggregate calls: which block an aggregate belongs to.
//!
//! An aggregate belongs to the innermost block among those whose columns its arguments use, if that block's clause may
//! hold aggregates; else to the next block inwards that may. Without columns it belongs to the block it stands in.
//! So in `SELECT (SELECT SUM(t.a) FROM u) FROM t` the sum is the outer block's, and the subquery reads its result as it
//! would read any outer column.

use super::api::Bind;
use expr::{AggCall, AggFunc, Expr, ExprKind, build};
use parser::ast;
use types::{Error, Result};

/// An aggregate whose arguments are being bound.
pub struct Frame {
    /// Block in which it stands.
    pub block: usize,
    /// Innermost block, of those up to `block`, whose columns the arguments use.
    pub level: Option<usize>,
}

impl<'a> Bind<'a, '_, '_> {
    /// Notes that an expression of block `level` is used in what is being bound.
    pub fn note_reference(&mut self, level: usize, e: &Expr) {
        let mut reads = false;
        e.walk(&mut |e| reads |= matches!(e.kind, ExprKind::Column(_)));
        if reads {
            self.note_level(level);
            if self.blocks[level].clause == super::scope::Clause::From
                && let ExprKind::Column(id) = e.kind
            {
                self.blocks[level].lateral_references.push(id);
            }
        }
    }

    fn note_level(&mut self, level: usize) {
        for f in &mut self.frames {
            if level <= f.block {
                f.level = f.level.max(Some(level));
            }
        }
    }

    /// An aggregate, with or without OVER.
    pub fn aggregate(&mut self, call: &'a ast::AggregateCall) -> Result<Expr> {
        let func = agg_func(call)?;
        if let Some(over) = &call.over {
            return self.window_aggregate(call, func, over);
        }
        let current = self.blocks.len() - 1;
        if let Some(name) = self.blocks[current].recursive_of {
            return Err(Error::cte_recursive_forbids_aggregation(name));
        }
        self.frames.push(Frame { block: current, level: None });
        self.blocks[current].in_aggregate += 1;
        let parts = self.aggregate_parts(call);
        self.blocks[current].in_aggregate -= 1;
        let frame = self.frames.pop().expect("pushed above");
        let (args, order_by) = parts?;
        let separator = String::from_utf8_lossy(call.separator.as_deref().unwrap_or(b","));
        let (bound, shown) = build::aggregate(func, args, call.distinct, order_by, &separator, &self.shared.session)?;
        let owner = self.owner(frame.level.unwrap_or(current), current)?;
        self.note_level(owner);
        Ok(build::rounded(self.add_aggregate(owner, bound), shown))
    }

    #[allow(clippy::type_complexity)]
    fn aggregate_parts(&mut self, call: &'a ast::AggregateCall) -> Result<(Vec<Expr>, Vec<(Expr, bool)>)> {
        let args = call.args.iter().map(|a| self.expr(a)).collect::<Result<Vec<_>>>()?;
        let mut order_by = vec![];
        for o in &call.order_by {
            let key = match o.expr.as_literal() {
                Some(ast::Literal::Int(n)) => {
                    let idx = usize::try_from(*n).unwrap_or(0).wrapping_sub(1);
                    args.get(idx).cloned().ok_or_else(|| Error::bad_field(n, "order clause"))?
                }
                _ => self.expr(&o.expr)?,
            };
            if key.as_const().is_none() {
                order_by.push((key, o.desc));
            }
        }
        Ok((args, order_by))
    }

    fn owner(&self, innermost: usize, current: usize) -> Result<usize> {
        (innermost..=current)
            .find(|&level| {
                let b = &self.blocks[level];
                !b.hidden && b.in_aggregate == 0 && b.allows_aggregates()
            })
            .ok_or_else(Error::invalid_group_func_use)
    }

    fn add_aggregate(&mut self, owner: usize, call: AggCall) -> Expr {
        let (ty, nullable) = (call.ty, call.nullable);
        let block = &mut self.blocks[owner];
        if let Some((id, _)) = block.aggregates.iter().find(|(_, c)| *c == call) {
            return Expr::column(*id, ty, nullable);
        }
        let id = self.shared.columns.computed(&call.func.name().to_ascii_lowercase(), ty, nullable);
        block.aggregates.push((id, call));
        Expr::column(id, ty, nullable)
    }

    /// ANY_VALUE(x): an aggregate in an aggregated block, else x.
    pub fn any_value(&mut self, args: &'a [ast::Expr]) -> Result<Expr> {
        let [arg] = args else { return Err(Error::wrong_paramcount_to_native_fct("ANY_VALUE")) };
        let arg = self.expr(arg)?;
        let block = self.blocks.last_mut().expect("expressions stand in blocks");
        if block.in_aggregate > 0 || !block.allows_aggregates() {
            return Ok(arg);
        }
        let id = self.shared.columns.computed("any_value", arg.ty, true);
        let read = Expr::column(id, arg.ty, true);
        block.any_values.push((id, arg));
        Ok(read)
    }

    /// GROUPING(group, ...). That the arguments are groups is checked once the groups are known.
    pub fn grouping(&mut self, args: &'a [ast::Expr]) -> Result<Expr> {
        let current = self.blocks.len() - 1;
        let block = &mut self.blocks[current];
        if block.in_aggregate > 0 || !block.allows_aggregates() || !block.rollup {
            return Err(Error::invalid_group_func_use());
        }
        block.in_aggregate += 1;
        let args = args.iter().map(|a| self.expr(a)).collect::<Result<Vec<_>>>();
        self.blocks[current].in_aggregate -= 1;
        let (call, _) = build::aggregate(AggFunc::Grouping, args?, false, vec![], ",", &self.shared.session)?;
        Ok(self.add_aggregate(current, call))
    }
}

fn agg_func(call: &ast::AggregateCall) -> Result<AggFunc> {
    use ast::AggregateFunc::*;
    Ok(match call.func {
        Count if call.args.is_empty() => AggFunc::CountStar,
        Count => AggFunc::Count,
        Sum => AggFunc::Sum,
        Avg => AggFunc::Avg,
        Min => AggFunc::Min,
        Max => AggFunc::Max,
        BitAnd => AggFunc::BitAnd,
        BitOr => AggFunc::BitOr,
        BitXor => AggFunc::BitXor,
        StddevPop => AggFunc::StdPop,
        StddevSamp => AggFunc::StdSamp,
        VarPop => AggFunc::VarPop,
        VarSamp => AggFunc::VarSamp,
        GroupConcat => AggFunc::GroupConcat,
        JsonArrayAgg | JsonObjectAgg | StCollect => {
            return Err(Error::not_supported(call.func.name().to_ascii_uppercase()));
        }
    })
}
