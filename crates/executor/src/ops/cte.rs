//! Common table expressions: computed once, read often; and recursive ones, round by round.

use crate::group_table::GroupTable;
use crate::keys::{KeyEncoder, KeyLayout, Keys};
use crate::memory::Reservation;
use crate::ops::collect::{Keep, Store, Stored, StoredSource, collect, collect_into};
use crate::pipeline::{Down, run_pipeline};
use crate::run::{Env, EnvEntry, Run, run_through};
use crate::spill::LazyFile;
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
    rows: Stored,
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
                            let stored = Arc::new(collect(&outer, state.plan, node.id, Keep::Table)?);
                            *rows = Some(stored.clone());
                            stored
                        }
                    }
                };
                return run_pipeline(run, node.id, &StoredSource::new(run, &rows), down);
            }
            EnvEntry::Working(id, working) if *id == cte_id => {
                return run_pipeline(run, node.id, &StoredSource::new(run, &working.rows), down);
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
    fn keep_new(&mut self, run: &Run<'_>, batch: &Batch) -> Result<Batch> {
        let mut keys = Keys::default();
        self.encoder.encode(&batch.columns, &batch.selection, batch.rows, &mut keys);
        let (mut groups, mut new) = (Vec::new(), Vec::new());
        self.memory.hold(self.table.bytes_after(keys.hashes.len()), "The rows of a recursive UNION DISTINCT")?;
        if !self.table.reserve(keys.hashes.len(), run.ctx.killed) {
            run.ctx.check_killed()?;
        }
        self.table.find_or_insert(&keys, &mut groups, &mut new);
        let positions = batch.selection.to_positions(batch.rows);
        let kept = new.iter().map(|&j| positions[j as usize]).collect();
        Ok(Batch { selection: Selection::Some(kept), ..batch.clone() })
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
        memory: Reservation::new(&run.memory_of(node.id)),
    });
    let mut round = 0u64;
    // Each round's rows have files of their own, so that those of the last but one are free.
    let mut table = LazyFile::default();
    let made = collect_into(run, anchor, node.id, table.same_table(), Keep::Table)?;
    let mut rows = new_rows(run, node, made, dedup.as_mut(), &mut table)?;
    loop {
        run_pipeline(run, node.id, &StoredSource::new(run, &rows), down)?;
        if rows.is_empty() || down.is_done() {
            return Ok(());
        }
        if round > run.ctx.max_recursion_depth {
            return Err(Error::cte_max_recursion_depth(round));
        }
        round += 1;
        let working = Working { rows };
        let env = Env { entry: EnvEntry::Working(*cte_id, &working), parent: run.env };
        let made = collect_into(&run.with(&env), recursive, node.id, table.same_table(), Keep::Table)?;
        rows = new_rows(run, node, made, dedup.as_mut(), &mut table)?;
    }
}

/// A round's rows without those seen before.
fn new_rows(
    run: &Run<'_>,
    node: &PlanNode,
    made: Stored,
    dedup: Option<&mut Dedup>,
    table: &mut LazyFile,
) -> Result<Stored> {
    let Some(dedup) = dedup else { return Ok(made) };
    let mut out = Store::new(run, node.id, Arc::new(table.same_table()), Keep::Table);
    for i in 0..made.batch_count() {
        run.ctx.check_killed()?;
        let batch = dedup.keep_new(run, &made.batch(run, i)?)?;
        if batch.count() > 0 {
            out.push(batch)?;
        }
    }
    let stored = out.finish();
    run.note_spill(node.id, stored.spilled_bytes());
    Ok(stored)
}
