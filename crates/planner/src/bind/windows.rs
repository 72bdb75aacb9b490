//! Window functions: named windows, frames and their defaults.
//!
//! Windows are evaluated after HAVING and before DISTINCT and ORDER BY, so a call may stand in the items and in
//! ORDER BY only, and its arguments and specification may hold aggregates. Calls over equal specifications share a
//! [`WindowGroup`], which becomes one Window node.
//!
//! Source: MySQL manual, "Window Function Frame Specification" and "Named Windows".

use super::api::Bind;
use super::scope::{Clause, same_name};
use expr::{AggFunc, ColumnId, Expr, FrameBound, FrameUnits, WindowCall, WindowFrame, WindowFunc, build};
use parser::ast;
use types::{Error, Result, SqlType, Value};

/// Calls over one specification.
#[derive(Clone, Debug)]
pub struct WindowGroup {
    pub partition_by: Vec<Expr>,
    pub order_by: Vec<(Expr, bool)>,
    pub calls: Vec<(ColumnId, WindowCall)>,
}

/// A specification with its base windows followed.
struct Spec<'a> {
    name: &'a str,
    partition_by: &'a [ast::Expr],
    order_by: &'a [ast::OrderItem],
    frame: Option<&'a ast::Frame>,
}

fn has_distance(bound: &FrameBound) -> bool {
    matches!(bound, FrameBound::Preceding(_) | FrameBound::Following(_))
}

const UNNAMED: &str = "<unnamed window>";

impl<'a> Bind<'a, '_, '_> {
    pub fn window_aggregate(
        &mut self,
        call: &'a ast::AggregateCall,
        func: AggFunc,
        over: &'a ast::Over,
    ) -> Result<Expr> {
        if call.distinct {
            return Err(Error::not_supported("<window function>(DISTINCT ..)"));
        }
        let func = if func == AggFunc::GroupConcat {
            return Err(Error::not_supported("group_concat as window function"));
        } else {
            WindowFunc::Agg(func)
        };
        self.window_call(call.func.name(), func, &call.args, over)
    }

    pub fn window_function(&mut self, call: &'a ast::WindowCall) -> Result<Expr> {
        use ast::WindowFunc::*;
        if call.ignore_nulls {
            return Err(Error::not_supported("IGNORE NULLS"));
        }
        if call.from_last {
            return Err(Error::not_supported("FROM LAST"));
        }
        let func = match call.func {
            RowNumber => WindowFunc::RowNumber,
            Rank => WindowFunc::Rank,
            DenseRank => WindowFunc::DenseRank,
            PercentRank => WindowFunc::PercentRank,
            CumeDist => WindowFunc::CumeDist,
            Ntile => WindowFunc::Ntile,
            Lead => WindowFunc::Lead,
            Lag => WindowFunc::Lag,
            FirstValue => WindowFunc::FirstValue,
            LastValue => WindowFunc::LastValue,
            NthValue => WindowFunc::NthValue,
        };
        self.window_call(call.func.name(), func, &call.args, &call.over)
    }

    fn window_call(
        &mut self,
        name: &str,
        func: WindowFunc,
        args: &'a [ast::Expr],
        over: &'a ast::Over,
    ) -> Result<Expr> {
        let current = self.blocks.len() - 1;
        let block = &mut self.blocks[current];
        if let Some(cte) = block.recursive_of {
            return Err(Error::cte_recursive_forbids_aggregation(cte));
        }
        if matches!(block.clause, Clause::WindowPartition | Clause::WindowOrder) {
            return Err(Error::window_nested_window_func_use(UNNAMED));
        }
        if !block.allows_windows() || block.in_aggregate > 0 || block.in_window > 0 {
            return Err(Error::window_invalid_window_func_use(name));
        }
        let clause = block.clause;
        block.in_window += 1;
        let bound = self.window_parts(func, args, over);
        let block = &mut self.blocks[current];
        block.in_window -= 1;
        block.clause = clause;
        let (args, partition_by, order_by, frame) = bound?;
        let (call, shown) = build::window(func, args, frame, &self.shared.session)?;
        let (ty, nullable) = (call.ty, call.nullable);
        let group = block.windows.iter_mut().find(|w| w.partition_by == partition_by && w.order_by == order_by);
        if let Some((id, _)) = group.as_ref().and_then(|g| g.calls.iter().find(|(_, c)| *c == call)) {
            return Ok(build::rounded(Expr::column(*id, ty, nullable), shown));
        }
        let id = self.shared.columns.computed(name, ty, nullable);
        match group {
            Some(g) => g.calls.push((id, call)),
            None => block.windows.push(WindowGroup { partition_by, order_by, calls: vec![(id, call)] }),
        }
        Ok(build::rounded(Expr::column(id, ty, nullable), shown))
    }

    #[allow(clippy::type_complexity)]
    fn window_parts(
        &mut self,
        func: WindowFunc,
        args: &'a [ast::Expr],
        over: &'a ast::Over,
    ) -> Result<(Vec<Expr>, Vec<Expr>, Vec<(Expr, bool)>, WindowFrame)> {
        let args = args.iter().map(|a| self.expr(a)).collect::<Result<Vec<_>>>()?;
        let spec = self.window_spec(over)?;
        self.set_clause(Clause::WindowPartition);
        let mut partition_by = vec![];
        for e in spec.partition_by {
            let e = self.window_key(e, spec.name)?;
            if e.as_const().is_none() {
                partition_by.push(e);
            }
        }
        self.set_clause(Clause::WindowOrder);
        let mut order_by = vec![];
        for o in spec.order_by {
            order_by.push((self.window_key(&o.expr, spec.name)?, o.desc));
        }
        let frame = self.frame(func, &spec, &order_by)?;
        // A RANGE distance is one from the key, constant or not.
        if !(frame.units == FrameUnits::Range && [&frame.start, &frame.end].iter().any(|b| has_distance(b))) {
            order_by.retain(|(e, _)| e.as_const().is_none());
        }
        Ok((args, partition_by, order_by, frame))
    }

    fn window_key(&mut self, e: &'a ast::Expr, window: &str) -> Result<Expr> {
        if matches!(e.as_literal(), Some(ast::Literal::Int(_))) {
            return Err(Error::window_illegal_order_by(window));
        }
        self.expr(e)
    }

    fn window_spec(&self, over: &'a ast::Over) -> Result<Spec<'a>> {
        match over {
            ast::Over::Named(name) => self.named_window(name, 0),
            ast::Over::Spec(spec) => self.extend_window(spec, UNNAMED, 0),
        }
    }

    fn named_window(&self, name: &'a str, depth: usize) -> Result<Spec<'a>> {
        let named = self.blocks.last().expect("expressions stand in blocks").named_windows;
        if depth > named.len() {
            return Err(Error::window_circularity());
        }
        let Some(window) = named.iter().find(|w| same_name(&w.name, name)) else {
            return Err(Error::window_no_such_window(name));
        };
        self.extend_window(&window.spec, &window.name, depth)
    }

    fn extend_window(&self, spec: &'a ast::WindowSpec, name: &'a str, depth: usize) -> Result<Spec<'a>> {
        let own = Spec { name, partition_by: &spec.partition_by, order_by: &spec.order_by, frame: spec.frame.as_ref() };
        let Some(base_name) = &spec.base else { return Ok(own) };
        let base = self.named_window(base_name, depth + 1)?;
        if base.frame.is_some() {
            return Err(Error::window_no_inherit_frame(base.name));
        }
        if !own.partition_by.is_empty() {
            return Err(Error::window_no_child_partitioning());
        }
        if !own.order_by.is_empty() && !base.order_by.is_empty() {
            return Err(Error::window_no_redefine_order_by(name, base.name));
        }
        let order_by = if base.order_by.is_empty() { own.order_by } else { base.order_by };
        Ok(Spec { name, partition_by: base.partition_by, order_by, frame: own.frame })
    }

    /// Checks every named window, used or not, as MySQL does.
    pub fn check_named_windows(&self) -> Result<()> {
        let named = self.blocks.last().expect("called with the block in place").named_windows;
        for (i, w) in named.iter().enumerate() {
            if named[..i].iter().any(|v| same_name(&v.name, &w.name)) {
                return Err(Error::window_duplicate_name(&*w.name));
            }
            self.named_window(&w.name, 0)?;
        }
        Ok(())
    }

    fn frame(&mut self, func: WindowFunc, spec: &Spec<'a>, order_by: &[(Expr, bool)]) -> Result<WindowFrame> {
        use WindowFunc::*;
        let whole = WindowFrame {
            units: FrameUnits::Rows,
            start: FrameBound::UnboundedPreceding,
            end: FrameBound::UnboundedFollowing,
        };
        let frame = match spec.frame {
            None if order_by.is_empty() => whole.clone(),
            None => WindowFrame {
                units: FrameUnits::Range,
                start: FrameBound::UnboundedPreceding,
                end: FrameBound::CurrentRow,
            },
            Some(f) => self.explicit_frame(f, spec.name, order_by)?,
        };
        Ok(match func {
            RowNumber | Rank | DenseRank | PercentRank | CumeDist | Ntile | Lag | Lead => whole,
            FirstValue | LastValue | NthValue | Agg(_) => frame,
        })
    }

    fn explicit_frame(&mut self, f: &'a ast::Frame, name: &str, order_by: &[(Expr, bool)]) -> Result<WindowFrame> {
        use ast::FrameBound::*;
        let units = match f.unit {
            ast::FrameUnit::Rows => FrameUnits::Rows,
            ast::FrameUnit::Range => FrameUnits::Range,
            ast::FrameUnit::Groups => return Err(Error::not_supported("GROUPS")),
        };
        if f.exclude.is_some() {
            return Err(Error::not_supported("EXCLUDE"));
        }
        let end = f.end.as_ref().unwrap_or(&CurrentRow);
        match (&f.start, end) {
            (UnboundedFollowing, _) => return Err(Error::window_frame_start_illegal(name)),
            (_, UnboundedPreceding) => return Err(Error::window_frame_end_illegal(name)),
            (CurrentRow, Preceding(_)) | (Following(_), Preceding(_) | CurrentRow) => {
                return Err(Error::window_frame_illegal(name));
            }
            _ => {}
        }
        let start = self.frame_bound(&f.start, units, name, order_by)?;
        let end = self.frame_bound(end, units, name, order_by)?;
        Ok(WindowFrame { units, start, end })
    }

    fn frame_bound(
        &mut self,
        bound: &'a ast::FrameBound,
        units: FrameUnits,
        name: &str,
        order_by: &[(Expr, bool)],
    ) -> Result<FrameBound> {
        Ok(match bound {
            ast::FrameBound::UnboundedPreceding => FrameBound::UnboundedPreceding,
            ast::FrameBound::CurrentRow => FrameBound::CurrentRow,
            ast::FrameBound::UnboundedFollowing => FrameBound::UnboundedFollowing,
            ast::FrameBound::Preceding(o) => {
                FrameBound::Preceding(Box::new(self.frame_offset(o, units, name, order_by)?))
            }
            ast::FrameBound::Following(o) => {
                FrameBound::Following(Box::new(self.frame_offset(o, units, name, order_by)?))
            }
        })
    }

    fn frame_offset(
        &mut self,
        offset: &'a ast::FrameOffset,
        units: FrameUnits,
        name: &str,
        order_by: &[(Expr, bool)],
    ) -> Result<Expr> {
        let value = match (offset, units) {
            (ast::FrameOffset::Interval(..), FrameUnits::Rows) => return Err(Error::window_rows_interval_use(name)),
            (ast::FrameOffset::Value(e) | ast::FrameOffset::Interval(e, _), _) => e,
        };
        let value = self.expr(value)?;
        let param = matches!(value.kind, expr::ExprKind::Param(_));
        if units == FrameUnits::Rows {
            return match value.as_const() {
                Some(Value::Int(n)) if *n >= 0 => Ok(value),
                _ if param => Ok(value),
                _ => Err(Error::window_frame_illegal(name)),
            };
        }
        if value.as_const().is_none() && !param {
            return Err(Error::window_range_bound_not_constant(name));
        }
        let [(key, _)] = order_by else { return Err(Error::window_range_frame_order_type(name)) };
        let interval = matches!(offset, ast::FrameOffset::Interval(..));
        match key.ty {
            t if t.is_numeric() && interval => Err(Error::window_range_frame_numeric_type(name)),
            t if t.is_numeric() => {
                let negative = match value.as_const() {
                    Some(Value::Int(n)) => *n < 0,
                    Some(Value::Null) => true,
                    Some(Value::Double(d)) => *d < 0.0,
                    Some(Value::Decimal(d)) => d.unscaled.hi < 0,
                    _ => false,
                };
                if negative {
                    return Err(Error::window_frame_illegal(name));
                }
                // Not of the key's type, which need not hold it: 1 is 2001 as a YEAR.
                Ok(if value.ty.is_numeric() { value } else { build::implicit_cast(value, SqlType::Double) })
            }
            t if t.is_temporal() && !interval => Err(Error::window_range_frame_temporal_type(name)),
            t if t.is_temporal() => Err(Error::not_supported("RANGE frame with INTERVAL")),
            _ => Err(Error::window_range_frame_order_type(name)),
        }
    }
}
