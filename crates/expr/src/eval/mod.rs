//! Evaluation of expressions over batches.
//!
//! [`Compiled`] is an expression made ready: constants are vectors, LIKE and REGEXP patterns and IN lists are prepared
//! once, each node knows whether it can fail. It is immutable and shared by all workers of a statement.
//!
//! ```text
//!   filter   narrows a selection, conjunct by conjunct          Selection -> Selection
//!   pred     three-valued truth of every position               -> Pred (a constant, or two bitmaps)
//!   eval     values of every position                           -> Vector
//! ```
//!
//! Results are position aligned (see the `vector` crate). A selection is passed down: nodes that can warn or fail look
//! at selected positions only, and so do slow ones; cheap, infallible loops run over every position, because a loop
//! without an index list vectorizes. CASE, COALESCE, AND and OR narrow the selection for what comes later.

mod arith;
pub(crate) mod assemble;
mod bounded;
pub(crate) mod cast;
mod check;
mod compare;
mod exact;
mod logic;
mod node;
pub(crate) mod rows;
pub(crate) mod strbuf;
mod tri;

pub use bounded::{Bound, parts};
pub(crate) use exact::{Exact, Lane, type_bounds};
pub(crate) use node::{Cx, Node, Pred};
pub use strbuf::StringLimit;
pub(crate) use tri::Tri;

use crate::{EvalContext, Expr};
use types::{Result, Value};
use vector::{Batch, Selection, Vector};

/// An expression made ready for evaluation.
#[derive(Debug)]
pub struct Compiled {
    root: Node,
    /// See [`bounded`].
    bounded: bool,
    /// It may make long strings, which are then counted from the beginning of each evaluation.
    long: bool,
}

impl Compiled {
    pub fn new(expr: &Expr, _ctx: &EvalContext) -> Result<Compiled> {
        Ok(Compiled::of(Node::compile(expr, 0)?))
    }

    /// The conjunction of several predicates.
    pub fn conjunction(exprs: &[Expr], _ctx: &EvalContext) -> Result<Compiled> {
        let terms = exprs.iter().map(|e| Node::compile(e, 0)).collect::<Result<Vec<_>>>()?;
        Ok(Compiled::of(Node::conjunction(terms)))
    }

    fn of(root: Node) -> Compiled {
        let long = bounded::makes_long_strings(&root, true);
        let bounded = long && bounded::is_bounded(&root);
        Compiled { root, bounded, long }
    }

    #[inline]
    fn counted<R>(&self, ctx: &EvalContext, f: impl FnOnce(&EvalContext) -> R) -> R {
        if !self.long { f(ctx) } else { f(&EvalContext { strings: ctx.strings.watched(), ..*ctx }) }
    }

    /// The values at every selected position.
    pub fn eval(&self, batch: &Batch, ctx: &EvalContext) -> Result<Vector> {
        match self.eval_within(batch, ctx)? {
            Some(v) => Ok(v),
            None => self.counted(ctx, |ctx| {
                let cx = Cx { columns: &batch.columns, rows: batch.rows, ctx };
                bounded::eval_parts(&self.root, &cx, &batch.selection)
            }),
        }
    }

    /// [`Self::eval`], if the strings that it makes of the rows are not too long together; whoever can do with some
    /// rows at a time then tries [`parts`] of them. One row is never too much.
    pub fn eval_within(&self, batch: &Batch, ctx: &EvalContext) -> Result<Option<Vector>> {
        self.counted(ctx, |ctx| {
            let cx = Cx { columns: &batch.columns, rows: batch.rows, ctx };
            if !self.bounded {
                return self.root.eval(&cx, &batch.selection).map(Some);
            }
            let count = batch.count();
            bounded::attempt(ctx, count, |ctx| self.root.eval(&Cx { ctx, ..cx }, &batch.selection))
        })
    }

    fn filter_rows(&self, cx: &Cx, selection: Selection) -> Result<Selection> {
        self.counted(cx.ctx, |ctx| {
            let cx = &Cx { ctx, ..*cx };
            if !self.bounded {
                return self.root.filter(cx, selection);
            }
            let count = selection.count(cx.rows);
            match bounded::attempt(ctx, count, |ctx| self.root.filter(&Cx { ctx, ..*cx }, selection.clone()))? {
                Some(kept) => Ok(kept),
                None => bounded::filter_parts(&self.root, cx, &selection),
            }
        })
    }

    /// Keeps the selected positions at which the predicate is TRUE.
    pub fn filter(&self, batch: &mut Batch, ctx: &EvalContext) -> Result<()> {
        let selection = std::mem::take(&mut batch.selection);
        if selection.is_empty(batch.rows) {
            batch.selection = selection;
            return Ok(());
        }
        batch.selection = self.filter_rows(&Cx { columns: &batch.columns, rows: batch.rows, ctx }, selection)?;
        Ok(())
    }

    /// Like [`Compiled::filter`], over columns that are not in a batch yet.
    pub fn select(
        &self,
        columns: &[Vector],
        rows: usize,
        selection: Selection,
        ctx: &EvalContext,
    ) -> Result<Selection> {
        if selection.is_empty(rows) {
            return Ok(selection);
        }
        self.filter_rows(&Cx { columns, rows, ctx }, selection)
    }

    /// The value of an expression without columns.
    pub fn eval_const(&self, ctx: &EvalContext) -> Result<Value> {
        self.counted(ctx, |ctx| {
            let v = self.root.eval(&Cx { columns: &[], rows: 1, ctx }, &Selection::All)?;
            value_of(&v, &self.root.ty, ctx)
        })
    }
}

/// The first value of a vector, copied.
fn value_of(v: &Vector, ty: &types::SqlType, ctx: &EvalContext) -> Result<Value> {
    if ty.is_string() && v.is_valid(0) {
        strbuf::check_copy(v.bytes(0).len(), ctx)?;
    }
    Ok(v.value(0, ty))
}

/// [`Compiled::eval`] of an expression that is used once.
pub fn eval(expr: &Expr, batch: &Batch, ctx: &EvalContext) -> Result<Vector> {
    Compiled::new(expr, ctx)?.eval(batch, ctx)
}

/// [`Compiled::filter`] of a predicate that is used once.
pub fn filter(predicate: &Expr, batch: &mut Batch, ctx: &EvalContext) -> Result<()> {
    Compiled::new(predicate, ctx)?.filter(batch, ctx)
}

/// The value of an expression without columns.
pub fn eval_const(expr: &Expr, ctx: &EvalContext) -> Result<Value> {
    if let Some(v) = expr.as_const() {
        return Ok(v.clone());
    }
    Compiled::new(expr, ctx)?.eval_const(ctx)
}

/// The value of an expression for one row; `types` and `values` are the row's columns.
pub fn eval_row(expr: &Expr, values: &[Value], types: &[types::SqlType], ctx: &EvalContext) -> Result<Value> {
    let columns: Vec<Vector> =
        values.iter().zip(types).map(|(v, t)| crate::kernels::constant(v, t)).collect::<Result<_>>()?;
    let v = Compiled::new(expr, ctx)?.eval(&Batch::new(1, columns), ctx)?;
    value_of(&v, &expr.ty, ctx)
}
