//! What an aggregation computes: its groups, its calls, and the arguments, each evaluated once.

use crate::eval::Program;
use crate::keys::KeyLayout;
use crate::memory::Reservation;
use crate::run::Run;
use crate::string_ids::StringIds;
use expr::{AggCall, AggFunc, Expr, ExprKind};
use std::sync::Arc;
use types::{Collation, PhysType, Result, SqlType, Value};

/// See the module head. Its calls are plain ones: DISTINCT and GROUPING() are taken apart before.
pub struct Spec {
    pub groups: Vec<Expr>,
    pub calls: Vec<AggCall>,
    /// For each call, its arguments (and ORDER BY values) in `arg_programs`.
    pub call_args: Vec<Vec<usize>>,
    pub layout: KeyLayout,
    /// Types of a spilled row: keys ++ args.
    pub row_types: Vec<SqlType>,
    pub group_programs: Vec<Program>,
    /// Distinct argument expressions, converted to what the accumulators take.
    pub arg_programs: Vec<Program>,
}

fn cast(e: Expr, ty: SqlType) -> Expr {
    let nullable = true;
    Expr { kind: ExprKind::Cast { expr: Box::new(e), explicit: false }, ty, nullable }
}

/// Converts a call's arguments to what its accumulator takes.
pub fn prepare_args(call: &AggCall) -> AggCall {
    let mut call = call.clone();
    let result = call.ty;
    for a in &mut call.args {
        let is_float = matches!(a.ty, SqlType::Float | SqlType::Double);
        let is_exact = a.ty.is_integer() || matches!(a.ty, SqlType::Decimal { .. });
        let to = match call.func {
            AggFunc::Sum | AggFunc::Avg if matches!(result, SqlType::Double | SqlType::Float) => {
                if is_float {
                    None
                } else {
                    Some(SqlType::Double)
                }
            }
            AggFunc::Sum | AggFunc::Avg => {
                if is_exact {
                    None
                } else {
                    Some(result)
                }
            }
            AggFunc::StdPop | AggFunc::StdSamp | AggFunc::VarPop | AggFunc::VarSamp => {
                if is_float {
                    None
                } else {
                    Some(SqlType::Double)
                }
            }
            AggFunc::BitAnd | AggFunc::BitOr | AggFunc::BitXor => {
                if a.ty.is_integer() {
                    None
                } else {
                    Some(SqlType::BIGINT_UNSIGNED)
                }
            }
            AggFunc::GroupConcat => {
                if a.ty.is_string() {
                    None
                } else {
                    Some(SqlType::varchar(128, result.collation().unwrap_or(Collation::Utf8mb4_0900AiCi)))
                }
            }
            _ => None,
        };
        if let Some(ty) = to {
            *a = cast(std::mem::replace(a, Expr::constant(Value::Null, SqlType::Null)), ty);
        }
    }
    call
}

/// Expressions that give another value each time they are evaluated must not be shared.
pub fn is_volatile(e: &Expr) -> bool {
    let mut found = false;
    e.walk(&mut |x| {
        found |= match &x.kind {
            ExprKind::SetUserVar { .. } => true,
            ExprKind::Call { function, .. } => function.is_volatile(),
            _ => false,
        }
    });
    found
}

/// The expressions that calls read, each once.
#[derive(Default)]
pub struct ArgList(pub Vec<Expr>);

impl ArgList {
    /// Where `e` is, now at the latest.
    pub fn place(&mut self, e: &Expr) -> usize {
        let known = if is_volatile(e) { None } else { self.0.iter().position(|a| a == e) };
        known.unwrap_or_else(|| {
            self.0.push(e.clone());
            self.0.len() - 1
        })
    }
}

/// For the groups that are strings of few values: who numbers them.
fn numbered(groups: &[Expr], few: &[bool], run: &Run<'_>, node: u32) -> Vec<Option<Arc<StringIds>>> {
    let ids = |(g, few): (&Expr, &bool)| {
        let collation = g.ty.collation().filter(|_| *few && g.ty.phys() == PhysType::Str)?;
        Some(StringIds::new(collation, Reservation::new(&run.memory_of(node))))
    };
    groups.iter().zip(few).map(ids).collect()
}

impl Spec {
    /// `few`: which of the groups, strings, have few different values; shorter than `groups` if the last have not.
    /// `node`: the plan node that the strings' numbers are counted to.
    pub fn new(groups: &[Expr], few: &[bool], calls: &[AggCall], run: &Run<'_>, node: u32) -> Result<Spec> {
        let ctx = &run.eval();
        let mut args = ArgList::default();
        let calls: Vec<AggCall> = calls.iter().map(prepare_args).collect();
        let call_args = calls
            .iter()
            .map(|c| c.args.iter().chain(c.order_by.iter().map(|(e, _)| e)).map(|e| args.place(e)).collect())
            .collect();
        let keys: Vec<(SqlType, bool)> = groups.iter().map(|g| (g.ty, g.nullable)).collect();
        Ok(Spec {
            row_types: groups.iter().chain(&args.0).map(|e| e.ty).collect(),
            group_programs: Program::all(groups, ctx)?,
            arg_programs: Program::all(&args.0, ctx)?,
            groups: groups.to_vec(),
            layout: KeyLayout::numbered(&keys, numbered(groups, few, run, node)),
            calls,
            call_args,
        })
    }

    pub fn key_count(&self) -> usize {
        self.groups.len()
    }

    /// Strings joined in the order of rows: the order must be one.
    pub fn needs_order(&self) -> bool {
        self.calls.iter().any(|c| c.func == AggFunc::GroupConcat && c.order_by.is_empty())
    }
}
