//! Where operators evaluate expressions: compiled once an execution, shared by its threads.

use expr::eval::Compiled;
use expr::{EvalContext, Expr, ExprKind};
use types::Result;
use vector::{Batch, Vector};

/// An expression ready to run. A bare column costs one clone of its Arc.
#[derive(Debug)]
pub enum Program {
    Column(usize),
    Compiled(Box<Compiled>),
}

impl Program {
    pub fn new(e: &Expr, ctx: &EvalContext<'_>) -> Result<Program> {
        Ok(match e.kind {
            ExprKind::Column(c) => Program::Column(c as usize),
            _ => Program::Compiled(Box::new(Compiled::new(e, ctx)?)),
        })
    }

    pub fn all<'e>(exprs: impl IntoIterator<Item = &'e Expr>, ctx: &EvalContext<'_>) -> Result<Vec<Program>> {
        exprs.into_iter().map(|e| Program::new(e, ctx)).collect()
    }

    /// The values at the batch's selected positions.
    #[inline]
    pub fn eval(&self, batch: &Batch, ctx: &EvalContext<'_>) -> Result<Vector> {
        match self {
            Program::Column(c) => Ok(batch.columns[*c].clone()),
            Program::Compiled(p) => p.eval(batch, ctx),
        }
    }
}

pub fn eval_all(programs: &[Program], batch: &Batch, ctx: &EvalContext<'_>) -> Result<Vec<Vector>> {
    programs.iter().map(|p| p.eval(batch, ctx)).collect()
}

/// Predicates ready to run, all of which must be TRUE.
#[derive(Debug)]
pub struct Filter(Option<Compiled>);

impl Filter {
    pub fn new(predicates: &[Expr], ctx: &EvalContext<'_>) -> Result<Filter> {
        Ok(Filter(if predicates.is_empty() { None } else { Some(Compiled::conjunction(predicates, ctx)?) }))
    }

    pub fn one(predicate: &Expr, ctx: &EvalContext<'_>) -> Result<Filter> {
        Ok(Filter(Some(Compiled::new(predicate, ctx)?)))
    }

    /// Narrows the batch's selection.
    pub fn apply(&self, batch: &mut Batch, ctx: &EvalContext<'_>) -> Result<()> {
        match &self.0 {
            Some(p) => p.filter(batch, ctx),
            None => Ok(()),
        }
    }
}
