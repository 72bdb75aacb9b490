//! Common table expressions: computed once, read often; and recursive ones, round by round.

use crate::group_table::GroupTable;
use crate::keys::{KeyEncoder, KeyLayout, Keys};
use crate::memory::Reservation;
use crate::ops::collect::{BatchSource, Stored, StoredSource, collect};
use crate::pipeline::{Down, run_pipeline};
use crate::run::{Env, EnvEntry, Run, run_through};
use plan::physical::{CteDef, PlanNode, PlanOp};
use std::sync::{Arc, Mutex};
use types::{Error, Result};
use vector::{Batch, Selection};

/// One definition's rows, computed by its first reader.
pub struct CteState<'a> {
    plan: &'a PlanNode,
    rows: Mutex<Option<Arc<Stored>>>,
}

/// The rows of a recursive CTE's last round.
pub struct Working {
    batches: Vec<Batch>,
}

pub fn run_with<'a>(
    run: &Run<'a>,
    node: &'a PlanNode,
    ctes: &'a [CteDef],
    input: &'a PlanNode,
    down: &Down<'_>,
) -> Result<()> {
    match ctes.split_first() {
        None => run_through(run, node, input, down),
        // One frame a definition: each sees those before it.
        Some((first, rest)) => {
            let state = CteState { plan: &first.plan, rows: Mutex::new(None) };
            let env = Env { entry: EnvEntry::Cte(first.cte_id, &state), parent: run.env };
            run_with(&run.with(&env), node, rest, input, down)
        }
    }
}

pub fn run_cte_scan(run: &Run<'_>, node: &PlanNode, cte_id: u32, down: &Down<'_>) -> Result<()> {
    let mut env = run.env;
    while let Some(e) = env {
        match &e.entry {
            EnvEntry::Cte(id, state) if *id == cte_id => {
                let rows = {
                    let mut rows = state.rows.lock().unwrap_or_else(|p| p.into_inner());
                    match &*rows {
                        Some(r) => r.clone(),
                        None => {
                            let outer = Run { env: e.parent, ..*run };
                            let stored = Arc::new(collect(&outer, state.plan, node.id)?);
                            *rows = Some(stored.clone());
                            stored
                        }
                    }
                };
                return run_pipeline(run, node.id, &StoredSource::new(run, &rows), down);
            }
            EnvEntry::Working(id, working) if *id == cte_id => {
                return run_pipeline(run, node.id, &BatchSource::new(working.batches.clone(), false), down);
            }
            _ => env = e.parent,
        }
    }
    Err(Error::internal(format_args!("no definition of common table expression {cte_id} is in scope")))
}

/// Drops rows seen before.
struct Dedup {
    table: GroupTable,
    encoder: KeyEncoder,
    memory: Reservation,
}

impl Dedup {
    fn keep_new(&mut self, batch: &Batch) -> Batch {
        let mut keys = Keys::default();
        self.encoder.encode(&batch.columns, &batch.selection, batch.rows, &mut keys);
        let (mut groups, mut new) = (Vec::new(), Vec::new());
        self.table.find_or_insert(&keys, &mut groups, &mut new);
        self.memory.force(self.table.bytes());
        let positions = batch.selection.to_positions(batch.rows);
        let kept = new.iter().map(|&j| positions[j as usize]).collect();
        Batch { selection: Selection::Some(kept), ..batch.clone() }
    }
}

pub fn run_recursive<'a>(run: &Run<'a>, node: &'a PlanNode, down: &Down<'_>) -> Result<()> {
    let PlanOp::RecursiveUnion { cte_id, anchor, recursive, distinct } = &node.op else {
        return Err(Error::internal("not a RecursiveUnion node"));
    };
    let layout = KeyLayout::new(&node.output.iter().map(|c| (c.ty, true)).collect::<Vec<_>>());
    let mut dedup = distinct.then(|| Dedup {
        table: GroupTable::new(layout.form),
        encoder: KeyEncoder::new(layout),
        memory: Reservation::new(&run.ctx.memory),
    });
    let mut round = 0u64;
    let mut working = round_rows(run, collect(run, anchor, node.id)?, dedup.as_mut())?;
    loop {
        let source = BatchSource::new(working.clone(), false);
        run_pipeline(run, node.id, &source, down)?;
        if working.iter().all(|b| b.count() == 0) || down.is_done() {
            return Ok(());
        }
        if round > run.ctx.max_recursion_depth {
            return Err(Error::cte_max_recursion_depth(round));
        }
        round += 1;
        let rows = Working { batches: working };
        let env = Env { entry: EnvEntry::Working(*cte_id, &rows), parent: run.env };
        let made = collect(&run.with(&env), recursive, node.id)?;
        working = round_rows(run, made, dedup.as_mut())?;
    }
}

fn round_rows(run: &Run<'_>, stored: Stored, mut dedup: Option<&mut Dedup>) -> Result<Vec<Batch>> {
    let mut out = Vec::with_capacity(stored.batch_count());
    for i in 0..stored.batch_count() {
        run.ctx.check_killed()?;
        let b = stored.batch(run, i)?;
        let b = match &mut dedup {
            Some(d) => d.keep_new(&b),
            None => b,
        };
        if b.count() > 0 {
            out.push(b);
        }
    }
    Ok(out)
}
