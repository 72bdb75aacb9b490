//! Hash join: builds a table from one input, probes it with the other.
//!
//! ```text
//!   build input ─▶ collect (per thread) ─▶ long columns + table ─▶ sideways filters
//!                       │ memory refused                            │
//!                       ▼                                           ▼
//!                  16 partitions on disk              probe input ─▶ stage Probe ─▶ down
//!                  (probe rows follow them there; then partition by partition, recursively)
//! ```
//! [`table`] is the lookup structure, [`build`] fills it, [`probe`] matches batches against it, [`null_aware`] answers
//! NOT IN's third truth value, [`grace`] is the join on disk, [`parts`] that of NOT IN.

pub mod build;
pub mod grace;
pub mod null_aware;
pub mod output;
pub mod parts;
pub mod probe;
pub mod table;

use crate::eval::Program;
use crate::keys::KeyLayout;
use crate::memory::MemoryAccountant;
use crate::ops::sideways::SidewaysFilter;
use crate::pipeline::{Down, run_pipeline};
use crate::run::{Env, EnvEntry, Run, run_node};
use build::{BuildOutcome, BuildSink, Built};
use expr::eval::Compiled;
use plan::physical::{JoinKind, PlanNode, PlanOp, Strategy};
use probe::{ProbeStage, UnmatchedSource};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use types::{Error, Result, SqlType};

/// What both sides need to know of a join.
pub struct JoinSpec<'a> {
    pub run: Run<'a>,
    pub node: u32,
    pub kind: JoinKind,
    pub layout: KeyLayout,
    pub probe_keys: Vec<Program>,
    pub build_keys: Vec<Program>,
    pub in_keys: usize,
    pub residual: Option<Compiled>,
    /// Natural columns (probe ++ build) the residual reads.
    pub residual_columns: Vec<usize>,
    pub project: &'a [usize],
    pub probe_types: Vec<SqlType>,
    pub build_types: Vec<SqlType>,
    /// Types of the keys, for the tables of NOT IN.
    pub key_types: Vec<(SqlType, SqlType, bool)>,
    pub null_flags: NullFlags,
    /// The build rows are an internal temporary table: a materialized subquery's.
    pub is_table: bool,
    /// What the build rows are charged to.
    pub memory: Arc<MemoryAccountant>,
}

/// All that NOT IN over one column, without further conditions, must know of the whole build side.
#[derive(Default)]
pub struct NullFlags {
    pub any_row: AtomicBool,
    pub any_null: AtomicBool,
}

impl JoinSpec<'_> {
    /// The mark can be UNKNOWN.
    pub fn is_null_aware(&self) -> bool {
        matches!(self.kind, JoinKind::Mark { null_aware: true } | JoinKind::NullAwareAnti)
    }

    /// The facts are but [`NullFlags`], so the join may be split into partitions.
    pub fn needs_null_flags_only(&self) -> bool {
        self.is_null_aware() && self.key_types.len() == 1 && self.in_keys == 1 && self.residual.is_none()
    }

    /// Every build row is seen here once at least.
    pub fn note_build_rows(&self, rows: usize, any_null: bool) {
        if rows > 0 && self.needs_null_flags_only() {
            self.null_flags.any_row.store(true, Ordering::Relaxed);
            self.null_flags.any_null.fetch_or(any_null, Ordering::Relaxed);
        }
    }

    /// Build rows without match are output or build rows are output by match: matches are remembered by build row.
    pub fn remembers_build_rows(&self) -> bool {
        matches!(self.kind, JoinKind::Right | JoinKind::RightSemi | JoinKind::RightAnti)
    }

    /// What comes of a probe row and a build row has nothing to do with other build rows, so that the probe rows may
    /// meet some build rows at a time.
    pub fn joins_in_parts(&self) -> bool {
        self.kind == JoinKind::Inner || self.remembers_build_rows()
    }

    /// A build row whose key holds NULL is of no use.
    pub fn drops_build_nulls(&self) -> bool {
        (!self.is_null_aware() || self.needs_null_flags_only())
            && !matches!(self.kind, JoinKind::Right | JoinKind::RightAnti)
    }

    /// A probe row that matches nothing leaves no trace: scans may drop it.
    pub fn drops_unmatched_probe_rows(&self) -> bool {
        matches!(
            self.kind,
            JoinKind::Inner | JoinKind::Semi | JoinKind::Right | JoinKind::RightSemi | JoinKind::RightAnti
        )
    }
}

pub fn run_hash_join<'a>(run: &Run<'a>, node: &'a PlanNode, down: &Down<'_>) -> Result<()> {
    let PlanOp::HashJoin { kind, probe, build, keys, residual, sideways, in_keys, project } = &node.op else {
        return Err(Error::internal("not a HashJoin node"));
    };
    let ctx = run.eval();
    let is_table = matches!(node.notes.strategy, Some(Strategy::MaterializeLookup | Strategy::Materialization));
    let key_types: Vec<(SqlType, SqlType, bool)> = keys.iter().map(|k| (k.probe.ty, k.build.ty, k.null_safe)).collect();
    let mut residual_columns = Vec::new();
    if let Some(r) = residual {
        r.walk(&mut |e| {
            if let expr::ExprKind::Column(c) = e.kind {
                residual_columns.push(c as usize);
            }
        });
    }
    let spec = JoinSpec {
        run: *run,
        node: node.id,
        kind: *kind,
        layout: KeyLayout::of_join(&key_types)?,
        probe_keys: Program::all(keys.iter().map(|k| &k.probe), &ctx)?,
        build_keys: Program::all(keys.iter().map(|k| &k.build), &ctx)?,
        in_keys: *in_keys,
        residual: residual.as_ref().map(|r| Compiled::new(r, &ctx)).transpose()?,
        residual_columns,
        project,
        probe_types: probe.output.iter().map(|c| c.ty).collect(),
        build_types: build.output.iter().map(|c| c.ty).collect(),
        key_types,
        null_flags: NullFlags::default(),
        is_table,
        memory: if is_table { run.table_memory_of(node.id) } else { run.memory_of(node.id) },
    };
    let wanted: Vec<usize> =
        if spec.drops_unmatched_probe_rows() { sideways.iter().map(|s| s.key).collect() } else { Vec::new() };
    let sink = BuildSink::new(&spec, &wanted);
    run_node(run, build, &Down::sink(node.id, &sink))?;
    match sink.finish()? {
        BuildOutcome::Memory(built) => {
            let Built { table, sideways_keys } = *built;
            let filters: Vec<(u32, Arc<SidewaysFilter>)> = sideways
                .iter()
                .filter_map(|s| {
                    let at = wanted.iter().position(|k| *k == s.key)?;
                    let keys = sideways_keys.get(at)?.as_ref()?;
                    Some((s.filter_id, Arc::new(SidewaysFilter::new(keys))))
                })
                .collect();
            drop(sideways_keys);
            // Nothing to match: kinds that need a match are done without reading the probe side.
            if table.row_count() == 0
                && matches!(
                    kind,
                    JoinKind::Inner | JoinKind::Semi | JoinKind::Right | JoinKind::RightSemi | JoinKind::RightAnti
                )
            {
                return Ok(());
            }
            let env = Env { entry: EnvEntry::Filters(&filters), parent: run.env };
            let stage = ProbeStage::new(&spec, &table)?;
            run_node(&run.with(&env), probe, &Down::stage(node.id, &stage, down))?;
            finish_build_side(&spec, &stage, down)
        }
        BuildOutcome::Spilled(runs) if spec.is_null_aware() && !spec.needs_null_flags_only() => {
            parts::run_in_parts(run, &spec, runs, probe, down)
        }
        BuildOutcome::Spilled(runs) => grace::run_grace(run, &spec, runs, probe, down),
    }
}

/// After the last probe row: the build rows that are output by having or lacking a match.
fn finish_build_side(spec: &JoinSpec<'_>, stage: &ProbeStage<'_>, down: &Down<'_>) -> Result<()> {
    if spec.remembers_build_rows() {
        run_pipeline(&spec.run, spec.node, &UnmatchedSource::new(stage), down)?;
    }
    Ok(())
}
