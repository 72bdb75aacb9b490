//! Where operators evaluate expressions: compiled once an execution, shared by its threads.

use crate::columns::string_bytes;
use crate::memory::{Reservation, check_room};
use crate::run::Run;
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

/// [`eval_all`], if the strings of the rows are not too long together. Whoever can do with fewer rows then takes
/// [`parts_of`] the batch; one row is never too much.
pub fn eval_all_within(programs: &[Program], batch: &Batch, run: &Run<'_>) -> Result<Option<Vec<Vector>>> {
    let columns = eval_made_within(programs, batch, &run.eval())?;
    let Some(columns) = columns.filter(|c| !are_heavy(c, batch, run.ctx.part_bytes())) else { return Ok(None) };
    check_row(&columns, batch)?;
    Ok(Some(columns))
}

/// One row may be as long as packets may: whoever is about to copy it asks.
pub fn check_row(columns: &[Vector], batch: &Batch) -> Result<()> {
    if batch.count() != 1 { Ok(()) } else { check_room(string_bytes(columns, batch), "A row of long strings") }
}

/// The same where only what is evaluated takes memory, and columns are read where they lie.
pub fn eval_made_within(programs: &[Program], batch: &Batch, ctx: &EvalContext<'_>) -> Result<Option<Vec<Vector>>> {
    programs
        .iter()
        .map(|p| match p {
            Program::Column(c) => Ok(Some(batch.columns[*c].clone())),
            Program::Compiled(p) => p.eval_within(batch, ctx),
        })
        .collect()
}

/// Whether the batch's rows are several, and have more than `max` bytes of strings in these columns.
pub fn are_heavy(columns: &[Vector], batch: &Batch, max: usize) -> bool {
    batch.count() > 1 && string_bytes(columns, batch) > max
}

/// A row with no longer strings is handed on without being charged.
const ROW_NEVER_REFUSED_BYTES: usize = 16 << 20;

/// Charges the strings of a row that is too long to be handed on for nothing.
pub fn hold_row(columns: &[Vector], batch: &Batch, run: &Run<'_>) -> Result<Option<Reservation>> {
    if batch.count() != 1 {
        return Ok(None);
    }
    let bytes = string_bytes(columns, batch);
    if bytes <= ROW_NEVER_REFUSED_BYTES {
        return Ok(None);
    }
    let mut memory = Reservation::new(&run.ctx.memory);
    memory.hold(bytes, "A row of long strings")?;
    Ok(Some(memory))
}

/// The batch in some batches of fewer rows.
pub fn parts_of(batch: &Batch) -> impl Iterator<Item = Batch> + '_ {
    let parts = expr::eval::parts(&batch.selection, batch.rows);
    parts.into_iter().map(|selection| Batch { rows: batch.rows, columns: batch.columns.clone(), selection })
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
