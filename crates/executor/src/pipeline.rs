//! Pipelines: a source, streaming stages, a sink; pushed a batch at a time by several threads.
//!
//! ```text
//!              shared (Sync, on the statement's stack)      one per thread (built by `local`)
//!   Source  ─── hands out batches ──────────────▶  Pull ──┐
//!   Stage   ─── parameters, shared counters ────▶  Push ◀─┘──▶ next stage's Push
//!   Sink    ─── what all threads make together ─▶  Push: collects, merges into the Sink at `finish`
//! ```
//! A thread's chain of `Push`es is nested: each owns the one behind it, so a batch travels by plain calls, one virtual
//! call an operator and batch. The plan is cut into pipelines by the operators that must see all their input first
//! (sort, aggregate, hash-join build): such an operator runs its input into a sink, then is the source of the next.
//!
//! Invariants
//! 1. `finish` is called on every thread's chain whose pipeline ended well, also after [`Flow::Done`].
//! 2. Nothing is pushed after `Done` or an error.
//! 3. An ordered source is drained by one thread, so stages see its rows in order.

use crate::run::Run;
use crate::stats::Meter;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use types::{Error, Result};
use vector::Batch;

/// Whether the receiver wants more rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flow {
    More,
    Done,
}

/// One thread's end of an operator that takes rows.
pub trait Push {
    fn push(&mut self, batch: Batch) -> Result<Flow>;
    /// No more rows will come from this thread.
    fn finish(&mut self) -> Result<()>;
}

/// One thread's end of a source.
pub trait Pull {
    fn next(&mut self) -> Result<Option<Batch>>;
}

/// A source, shared by the threads that drain it.
pub trait Source: Sync {
    fn local<'a>(&'a self) -> Result<Box<dyn Pull + 'a>>;
    /// How many threads are worth having; 1 for ordered sources.
    fn workers_max(&self) -> usize;
}

/// A streaming operator, shared by its threads.
pub trait Stage: Sync {
    fn local<'a>(&'a self, next: Box<dyn Push + 'a>) -> Result<Box<dyn Push + 'a>>;
    /// True if no further row can pass: inputs not yet started need not be.
    fn is_done(&self) -> bool {
        false
    }
    /// About how many rows are touched for each that comes.
    fn rows_per_row(&self) -> f64 {
        1.0
    }
}

/// The end of a pipeline, shared by its threads.
pub trait Sink: Sync {
    fn local<'a>(&'a self) -> Result<Box<dyn Push + 'a>>;
}

/// Stands for a plan node where rows move within an operator and are not its output.
pub const INTERNAL: u32 = u32::MAX;

/// What lies downstream of an operator: the next consumer, and behind it the rest up to the sink.
pub struct Down<'a> {
    /// Plan node of the consumer.
    pub node: u32,
    pub kind: DownKind<'a>,
}

pub enum DownKind<'a> {
    Stage(&'a dyn Stage, &'a Down<'a>),
    Sink(&'a dyn Sink),
}

impl<'a> Down<'a> {
    pub fn stage(node: u32, stage: &'a dyn Stage, next: &'a Down<'a>) -> Down<'a> {
        Down { node, kind: DownKind::Stage(stage, next) }
    }

    pub fn sink(node: u32, sink: &'a dyn Sink) -> Down<'a> {
        Down { node, kind: DownKind::Sink(sink) }
    }

    /// One thread's chain. `from`: the plan node that will push into it.
    pub fn build(&self, run: &Run<'a>, from: u32) -> Result<Box<dyn Push + 'a>> {
        let push = match self.kind {
            DownKind::Stage(stage, next) => stage.local(next.build(run, self.node)?)?,
            DownKind::Sink(sink) => sink.local()?,
        };
        Ok(match run.ctx.node_stats {
            None => push,
            Some(set) => Box::new(Meter { set, producer: set.get(from), consumer: set.get(self.node), next: push }),
        })
    }

    /// About how many rows are touched downstream for each that is handed out: few rows may be work for several
    /// threads.
    pub fn weight(&self) -> f64 {
        match self.kind {
            DownKind::Stage(stage, next) => stage.rows_per_row().max(1.0) * next.weight(),
            DownKind::Sink(_) => 1.0,
        }
    }

    /// Whether nothing downstream can take a further row.
    pub fn is_done(&self) -> bool {
        match self.kind {
            DownKind::Stage(stage, next) => stage.is_done() || next.is_done(),
            DownKind::Sink(_) => false,
        }
    }
}

/// Drains `source` into `down` with as many threads as the statement, the source and the pool allow.
pub fn run_pipeline<'a>(run: &Run<'a>, node: u32, source: &'a dyn Source, down: &'a Down<'a>) -> Result<()> {
    if down.is_done() {
        return Ok(());
    }
    let workers = run.dop.min(source.workers_max()).max(1);
    let stop = AtomicBool::new(false);
    parallel(run, workers, &|_, failed| {
        let since = Instant::now();
        let mut pull = source.local()?;
        let mut chain = down.build(run, node)?;
        loop {
            run.ctx.check_killed()?;
            if stop.load(Ordering::Relaxed) || failed() {
                break;
            }
            let Some(batch) = pull.next()? else { break };
            if batch.count() == 0 {
                continue;
            }
            if chain.push(batch)? == Flow::Done {
                stop.store(true, Ordering::Relaxed);
                break;
            }
        }
        chain.finish()?;
        if let Some(set) = run.ctx.node_stats
            && let Some(s) = set.get(node)
        {
            s.self_ns.fetch_add(since.elapsed().as_nanos() as i64, Ordering::Relaxed);
        }
        Ok(())
    })
}

/// One thread's part of a job: its number, and whether another thread has failed.
pub type Part<'f> = dyn Fn(usize, &dyn Fn() -> bool) -> Result<()> + Sync + 'f;

/// Runs `f(worker, failed)` on `workers` threads and answers the first error. A panic is error 1815 and ends nothing
/// but the statement. `failed()` tells that another thread has failed.
pub fn parallel(run: &Run<'_>, workers: usize, f: &Part<'_>) -> Result<()> {
    let failed = AtomicBool::new(false);
    let error: Mutex<Option<Error>> = Mutex::new(None);
    run.ctx.pool.run(workers.saturating_sub(1), &|worker| {
        let is_failed = || failed.load(Ordering::Relaxed);
        let result = catch_unwind(AssertUnwindSafe(|| f(worker, &is_failed)))
            .unwrap_or_else(|panic| Err(Error::internal(panic_text(&*panic))));
        if let Err(e) = result {
            failed.store(true, Ordering::Relaxed);
            error.lock().unwrap_or_else(|p| p.into_inner()).get_or_insert(e);
        }
    });
    match error.into_inner().unwrap_or_else(|p| p.into_inner()) {
        Some(e) => Err(e),
        None => Ok(()),
    }
}

/// Runs `f(task)` for each task of `0..tasks` on the statement's threads.
pub fn parallel_tasks(run: &Run<'_>, tasks: usize, f: &(dyn Fn(usize) -> Result<()> + Sync)) -> Result<()> {
    let next = std::sync::atomic::AtomicUsize::new(0);
    parallel(run, run.dop.min(tasks), &|_, failed| {
        loop {
            let task = next.fetch_add(1, Ordering::Relaxed);
            if task >= tasks || failed() {
                return Ok(());
            }
            run.ctx.check_killed()?;
            f(task)?;
        }
    })
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|s| s.to_string()).or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "panic in an operator".into())
}

/// Passes batches through: stands for plan nodes that have no work per batch, so that their rows are counted.
pub struct PassThrough;

impl Stage for PassThrough {
    fn local<'a>(&'a self, next: Box<dyn Push + 'a>) -> Result<Box<dyn Push + 'a>> {
        Ok(next)
    }
}
