//! The compiled tree.

use super::strbuf::check_copy;
use super::{Tri, arith, assemble, cast, check, compare, logic};
use crate::functions::{Bound, Call, CallState, Function, Kernel, over_dictionary};
use crate::kernels;
use crate::{ArithOp, CmpOp, ConstSet, EvalContext, Expr, ExprKind, Truth};
use std::sync::{Arc, OnceLock};
use types::{Error, Result, SqlType, Value};
use vector::{Bitmap, ChunkBuilder, Selection, Values, Vector};

/// Deeper trees are refused instead of exhausting the stack (MySQL: 1436).
const DEPTH_MAX: usize = 2000;

/// What nodes evaluate against.
#[derive(Clone, Copy)]
pub(crate) struct Cx<'a> {
    pub columns: &'a [Vector],
    pub rows: usize,
    pub ctx: &'a EvalContext<'a>,
}

/// The truth of a predicate: the same at every position, or one a position.
#[derive(Debug)]
pub(crate) enum Pred {
    Const(Option<bool>),
    Rows(Tri),
}

impl Pred {
    pub fn into_tri(self, rows: usize) -> Tri {
        match self {
            Pred::Const(Some(b)) => Tri::all(b, rows),
            Pred::Const(None) => Tri::null(rows),
            Pred::Rows(t) => t,
        }
    }

    pub fn not(self) -> Pred {
        match self {
            Pred::Const(b) => Pred::Const(b.map(|b| !b)),
            Pred::Rows(t) => Pred::Rows(t.not()),
        }
    }

    pub fn negate_if(self, negated: bool) -> Pred {
        if negated { self.not() } else { self }
    }
}

#[derive(Debug)]
#[allow(clippy::large_enum_variant)]
pub(crate) enum Op {
    Column(usize),
    Const(Vector),
    Param(usize),
    And,
    Or,
    Xor,
    Not,
    Compare(CmpOp),
    IsNull {
        negated: bool,
    },
    IsTruth {
        truth: Truth,
        negated: bool,
    },
    Arith(ArithOp),
    Neg,
    BitNot,
    Cast {
        explicit: bool,
    },
    In {
        negated: bool,
        set: OnceLock<Option<logic::InSet>>,
    },
    InSet {
        negated: bool,
        set: Arc<ConstSet>,
        prepared: OnceLock<logic::InSet>,
    },
    Like {
        escape: Option<char>,
        negated: bool,
        matcher: OnceLock<Option<kernels::LikeMatcher>>,
    },
    /// Conditions and values in turn, then the ELSE value if there is one.
    Case {
        otherwise: bool,
    },
    Call {
        function: Function,
        bound: Bound,
        types: Box<[SqlType]>,
        state: CallState,
    },
    UserVar(Box<str>),
    /// By row: what is assigned depends on what was assigned for the row before.
    SetUserVar {
        name: Box<str>,
        by_row: bool,
    },
}

#[derive(Debug)]
pub(crate) struct Node {
    pub op: Op,
    pub ty: SqlType,
    pub args: Vec<Node>,
    /// The value of a node without columns and parameters, once computed.
    cached: Option<OnceLock<Vector>>,
    /// Columns, parameters, variables and volatile functions below.
    varying: bool,
    /// SQL-like text for error messages.
    pub text: TextOf,
}

/// How an expression is shown in error 1690.
#[derive(Debug, Clone, Default)]
pub(crate) struct TextOf(pub Option<Box<str>>);

impl Node {
    pub fn compile(e: &Expr, depth: usize) -> Result<Node> {
        use ExprKind::*;
        if depth > DEPTH_MAX {
            return Err(Error::not_supported("expressions nested more than 2000 levels deep"));
        }
        let mut args = Vec::new();
        let mut text = TextOf::default();
        match &e.kind {
            Arith { .. } | Neg(_) | Call { .. } if e.ty.is_numeric() => text = TextOf(Some(kernels::show(e).into())),
            _ => {}
        }
        for c in e.children() {
            args.push(Node::compile(c, depth + 1)?);
        }
        check::of_expr(e)?;
        let op = match &e.kind {
            Column(id) => Op::Column(*id as usize),
            Const(v) => Op::Const(kernels::constant(v, &e.ty)?),
            Param(id) => Op::Param(*id as usize),
            And(_) => Op::And,
            Or(_) => Op::Or,
            Xor(..) => Op::Xor,
            Not(_) => Op::Not,
            Compare { op, .. } => Op::Compare(*op),
            IsNull { negated, .. } => Op::IsNull { negated: *negated },
            IsTruth { truth, negated, .. } => Op::IsTruth { truth: *truth, negated: *negated },
            Arith { op, .. } => Op::Arith(*op),
            Neg(_) => Op::Neg,
            BitNot(_) => Op::BitNot,
            Cast { explicit, .. } => Op::Cast { explicit: *explicit },
            InList { negated, .. } => Op::In { negated: *negated, set: OnceLock::new() },
            InSet { set, negated, .. } => Op::InSet { negated: *negated, set: set.clone(), prepared: OnceLock::new() },
            Like { escape, negated, .. } => Op::Like { escape: *escape, negated: *negated, matcher: OnceLock::new() },
            Case { otherwise, .. } => Op::Case { otherwise: otherwise.is_some() },
            Call { function, args } => {
                let types: Box<[SqlType]> = args.iter().map(|a| a.ty).collect();
                let bound = function.record().bind(&types, &e.ty);
                Op::Call { function: *function, bound, types, state: CallState::default() }
            }
            UserVar { name, .. } => Op::UserVar(name.clone()),
            SetUserVar { name, expr } => Op::SetUserVar { name: name.clone(), by_row: expr.follows_variables() },
            Row(items) => return Err(Error::operand_columns(items.len().min(1))),
            Subquery(_) => return Err(Error::internal("a subquery reached the evaluator")),
        };
        let varying = args.iter().any(|a| a.varying)
            || match &op {
                Op::Column(_) | Op::Param(_) | Op::UserVar(_) | Op::SetUserVar { .. } => true,
                Op::Call { function, .. } => function.is_volatile(),
                _ => false,
            };
        let cached = (!varying && !matches!(op, Op::Const(_))).then(OnceLock::new);
        Ok(Node { op, ty: e.ty, args, cached, varying, text })
    }

    pub fn conjunction(mut terms: Vec<Node>) -> Node {
        if terms.len() == 1 {
            return terms.pop().expect("one term");
        }
        let varying = terms.iter().any(|t| t.varying);
        Node { op: Op::And, ty: SqlType::Bool, args: terms, cached: None, varying, text: TextOf::default() }
    }

    /// Same value at all rows of all batches of one execution, parameters aside.
    pub fn is_fixed(&self) -> bool {
        !self.varying
    }

    /// Neither warns nor fails, whatever the rows hold.
    pub fn is_harmless(&self) -> bool {
        let here = match &self.op {
            Op::Arith(_) | Op::Neg | Op::Cast { .. } | Op::SetUserVar { .. } => false,
            Op::Call { function, .. } => function.is_harmless(),
            _ => true,
        };
        here && self.args.iter().all(Node::is_harmless)
    }

    fn is_predicate(&self) -> bool {
        matches!(
            self.op,
            Op::And
                | Op::Or
                | Op::Xor
                | Op::Not
                | Op::Compare(_)
                | Op::IsNull { .. }
                | Op::IsTruth { .. }
                | Op::In { .. }
                | Op::InSet { .. }
                | Op::Like { .. }
        )
    }

    /// The values at the selected positions.
    pub fn eval(&self, cx: &Cx, sel: &Selection) -> Result<Vector> {
        if sel.is_empty(cx.rows) {
            return Ok(kernels::null_vector(&self.ty));
        }
        if let Some(cell) = &self.cached {
            if let Some(v) = cell.get() {
                return Ok(v.clone());
            }
            let one = Cx { columns: &[], rows: 1, ctx: cx.ctx };
            let v = match self.eval_op(&one, &Selection::All)? {
                Vector::Flat(c) => Vector::Const(c),
                v => v,
            };
            return Ok(cell.get_or_init(|| v).clone());
        }
        self.eval_op(cx, sel)
    }

    fn eval_op(&self, cx: &Cx, sel: &Selection) -> Result<Vector> {
        match &self.op {
            Op::Column(i) => match cx.columns.get(*i) {
                Some(v) => {
                    check::of_vector(v, &self.ty, || format!("column {i}"))?;
                    Ok(v.clone())
                }
                None => Err(Error::internal(format_args!("column {i} of {}", cx.columns.len()))),
            },
            Op::Const(v) => Ok(v.clone()),
            Op::Param(i) => match cx.ctx.params.values.get(*i) {
                Some(Some((v, ty))) => param(v, ty, &self.ty, cx.ctx),
                _ => Err(Error::internal(format_args!("parameter {i} has no value"))),
            },
            Op::Arith(op) => {
                let l = self.args[0].eval(cx, sel)?;
                let r = self.args[1].eval(cx, sel)?;
                arith::arith(self, *op, &l, &r, cx, sel)
            }
            Op::Neg => {
                let v = self.args[0].eval(cx, sel)?;
                arith::neg(self, &v, cx, sel)
            }
            Op::BitNot => {
                let v = self.args[0].eval(cx, sel)?;
                arith::bit_not(self, &v, cx)
            }
            Op::Cast { explicit } => {
                let v = self.args[0].eval(cx, sel)?;
                cast::cast(&v, &self.args[0].ty, &self.ty, *explicit, cx, sel)
            }
            Op::Case { otherwise } => assemble::case(self, *otherwise, cx, sel),
            Op::Call { bound, function, types, state } => {
                let v = match bound {
                    Bound::Node(evaluate) => evaluate(self, cx, sel)?,
                    Bound::Kernel(kernel) => self.call(*function, *kernel, types, state, cx, sel)?,
                };
                check::of_vector(&v, &self.ty, || function.name().to_ascii_lowercase())?;
                Ok(v)
            }
            Op::UserVar(name) => match cx.ctx.user_vars.get(name) {
                Some(held) => param(&held.0, &held.1, &self.ty, cx.ctx),
                None => Ok(kernels::null_vector(&self.ty)),
            },
            Op::SetUserVar { name, by_row: true } => {
                let mut out = ChunkBuilder::new(self.ty.phys(), cx.rows);
                for row in sel.to_positions(cx.rows) {
                    while out.len() < row as usize {
                        out.push_null();
                    }
                    let v = self.args[0].eval(cx, &Selection::Some(vec![row]))?;
                    // Once for the variable, and once for the result.
                    check_copies(&v, row as usize, 2, cx.ctx)?;
                    let v = v.value(row as usize, &self.ty);
                    out.push(&v);
                    cx.ctx.user_vars.set(name, v, self.ty)?;
                }
                while out.len() < cx.rows {
                    out.push_null();
                }
                Ok(Vector::flat(out.finish()))
            }
            Op::SetUserVar { name, by_row: false } => {
                let v = self.args[0].eval(cx, sel)?;
                let mut set = Ok(());
                sel.for_each(cx.rows, |i| {
                    if set.is_ok() {
                        set = check_copies(&v, i, 1, cx.ctx)
                            .and_then(|()| cx.ctx.user_vars.set(name, v.value(i, &self.ty), self.ty));
                    }
                });
                set.map(|()| v)
            }
            _ => match self.pred_op(cx, sel)? {
                Pred::Const(b) => kernels::constant(&b.map_or(Value::Null, |b| Value::Int(b as i64)), &SqlType::Bool),
                Pred::Rows(t) => Ok(Vector::flat(t.into_chunk())),
            },
        }
    }

    fn call(
        &self,
        function: Function,
        kernel: Kernel,
        types: &[SqlType],
        state: &CallState,
        cx: &Cx,
        sel: &Selection,
    ) -> Result<Vector> {
        cx.ctx.check_killed()?;
        let mut args = Vec::with_capacity(self.args.len());
        for a in &self.args {
            args.push(a.eval(cx, sel)?);
        }
        if !function.record().nulls.seen() && args.iter().any(|v| matches!(v, Vector::Const(c) if !c.is_valid(0))) {
            return Ok(kernels::null_vector(&self.ty));
        }
        let call = Call { function, node: self, args: &args, types, state, ctx: cx.ctx, row_count: cx.rows, sel };
        if function.is_volatile() {
            return Ok(Vector::flat(kernel(&call)?));
        }
        if args.iter().all(|v| matches!(v, Vector::Const(_))) {
            let c = kernel(&Call { row_count: 1, sel: &Selection::All, ..call })?;
            return Ok(Vector::Const(c.into()));
        }
        // One dictionary column: once for each distinct string.
        if function.is_harmless()
            && let Some(v) = over_dictionary(&call, kernel)?
        {
            return Ok(v);
        }
        Ok(Vector::flat(kernel(&call)?))
    }

    /// The truth at the selected positions.
    pub fn pred(&self, cx: &Cx, sel: &Selection) -> Result<Pred> {
        if sel.is_empty(cx.rows) {
            return Ok(Pred::Const(Some(false)));
        }
        if self.cached.is_some() || !self.is_predicate() {
            let v = self.eval(cx, sel)?;
            return Ok(logic::truth_of(&v, &self.ty, cx.rows));
        }
        self.pred_op(cx, sel)
    }

    fn pred_op(&self, cx: &Cx, sel: &Selection) -> Result<Pred> {
        match &self.op {
            Op::And => logic::and_or(self, true, cx, sel),
            Op::Or => logic::and_or(self, false, cx, sel),
            Op::Xor => {
                let a = self.args[0].pred(cx, sel)?;
                let b = self.args[1].pred(cx, sel)?;
                Ok(match (a, b) {
                    (Pred::Const(a), Pred::Const(b)) => Pred::Const(a.zip(b).map(|(a, b)| a != b)),
                    (a, b) => Pred::Rows(a.into_tri(cx.rows).xor(&b.into_tri(cx.rows))),
                })
            }
            Op::Not => Ok(self.args[0].pred(cx, sel)?.not()),
            Op::Compare(op) => {
                let l = self.args[0].eval(cx, sel)?;
                let r = self.args[1].eval(cx, sel)?;
                compare::compare(*op, &l, &self.args[0].ty, &r, &self.args[1].ty, cx.rows, sel)
            }
            Op::IsNull { negated } => {
                let v = self.args[0].eval(cx, sel)?;
                Ok(logic::is_null(&v, cx.rows).negate_if(*negated))
            }
            Op::IsTruth { truth, negated } => {
                let p = self.args[0].pred(cx, sel)?;
                Ok(logic::is_truth(p, *truth).negate_if(*negated))
            }
            Op::In { negated, set } => Ok(logic::in_list(self, set, cx, sel)?.negate_if(*negated)),
            Op::InSet { negated, set, prepared } => {
                Ok(logic::in_const_set(self, set, prepared, cx, sel)?.negate_if(*negated))
            }
            Op::Like { escape, negated, matcher } => {
                Ok(logic::like(self, *escape, matcher, cx, sel)?.negate_if(*negated))
            }
            _ => {
                let v = self.eval_op(cx, sel)?;
                Ok(logic::truth_of(&v, &self.ty, cx.rows))
            }
        }
    }

    /// The part of `sel` (not empty) at which the predicate is TRUE.
    pub fn filter(&self, cx: &Cx, sel: Selection) -> Result<Selection> {
        match &self.op {
            Op::And if self.cached.is_none() => return self.filter_conjunction(cx, sel),
            // Few rows left: test just those.
            Op::Compare(op) if self.cached.is_none() => {
                if let Selection::Some(s) = &sel
                    && s.len() * 8 <= cx.rows
                {
                    let l = self.args[0].eval(cx, &sel)?;
                    let r = self.args[1].eval(cx, &sel)?;
                    let types = (&self.args[0].ty, &self.args[1].ty);
                    if let Some(kept) = compare::select(*op, &l, types.0, &r, types.1, s) {
                        return Ok(Selection::Some(kept));
                    }
                    let p = compare::compare(*op, &l, types.0, &r, types.1, cx.rows, &sel)?;
                    return Ok(logic::narrow(p, sel));
                }
            }
            _ => {}
        }
        let p = self.pred(cx, &sel)?;
        Ok(logic::narrow(p, sel))
    }
}

impl Node {
    /// Term by term. While many rows are left, terms that are cheap loops over whole arrays are joined as bitmaps;
    /// positions are listed once few rows are left, or when a term wants to look at selected rows alone.
    fn filter_conjunction(&self, cx: &Cx, sel: Selection) -> Result<Selection> {
        let mut sel = sel;
        let mut bits: Option<Bitmap> = None;
        for term in &self.args {
            if let Some(b) = &bits
                && (b.count_ones() * 8 <= cx.rows || !term.is_cheap())
            {
                sel = logic::keep(b, sel);
                bits = None;
            }
            if bits.is_none() && sel.is_empty(cx.rows) {
                return Ok(sel);
            }
            if term.is_cheap() && sel.count(cx.rows) * 8 > cx.rows {
                match term.pred(cx, &sel)? {
                    Pred::Const(Some(true)) => {}
                    Pred::Const(_) => return Ok(Selection::Some(Vec::new())),
                    Pred::Rows(t) => match &mut bits {
                        Some(b) => b.and(&t.truth),
                        None => bits = Some(t.truth),
                    },
                }
            } else {
                sel = term.filter(cx, sel)?;
            }
        }
        Ok(match bits {
            Some(b) => logic::keep(&b, sel),
            None => sel,
        })
    }

    /// A comparison of a fixed-width column with something fixed.
    fn is_cheap(&self) -> bool {
        match &self.op {
            Op::Compare(_) => self
                .args
                .iter()
                .all(|a| !a.ty.is_string() && matches!(a.op, Op::Column(_) | Op::Const(_) | Op::Param(_))),
            _ => false,
        }
    }
}

/// Room for `count` copies of a string at a position.
fn check_copies(v: &Vector, i: usize, count: usize, ctx: &EvalContext) -> Result<()> {
    match v.chunk().0.values {
        Values::Str(_) | Values::Dict(_) if v.is_valid(i) => check_copy(count * v.bytes(i).len(), ctx),
        _ => Ok(()),
    }
}

/// A parameter or variable as a constant of the type that the plan gave it.
fn param(v: &Value, ty: &SqlType, wanted: &SqlType, ctx: &EvalContext) -> Result<Vector> {
    if let Value::Bytes(b) = v {
        check_copy(b.len(), ctx)?;
    }
    let vector = kernels::constant(v, ty)?;
    if ty == wanted || v.is_null() || *wanted == SqlType::Null {
        return if v.is_null() { Ok(kernels::null_vector(wanted)) } else { Ok(vector) };
    }
    let cx = Cx { columns: &[], rows: 1, ctx };
    cast::cast(&vector, ty, wanted, false, &cx, &Selection::All)
}
