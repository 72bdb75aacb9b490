//! Entry point: runs a plan and hands its rows to the caller, on the caller's thread.

use crate::context::ExecContext;
use crate::ops::collect::collect_rows;
use crate::pipeline::{Down, Flow, Push, Sink};
use crate::run::{Run, run_node};
use expr::Params;
use plan::PlanCounts;
use plan::physical::{InitKind, Plan, PlanNode};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex};
use std::thread::ThreadId;
use std::time::Duration;
use types::{Error, Result, Value};
use vector::Batch;

/// Statements that read fewer rows than this stay on their own thread.
const PARALLEL_ROWS_MIN: f64 = 20_000.0;
/// Result rows that helpers may have waiting for the statement's thread.
const QUEUE_BATCHES_MAX: usize = 64;
/// How long a helper waits before it looks at the kill flag again.
const WAIT: Duration = Duration::from_millis(10);

type Out<'a> = dyn FnMut(&Batch) -> Result<ControlFlow<()>> + 'a;

/// Runs `plan`. Batches arrive at `out` one after the other, in order where the plan orders them; their selections say
/// which rows count. `ControlFlow::Break` ends the statement early and well.
pub fn execute(plan: &Plan, ctx: &ExecContext<'_>, out: &mut Out<'_>) -> Result<()> {
    let result = catch_unwind(AssertUnwindSafe(|| execute_inner(plan, ctx, out)));
    result.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().map(|s| s.to_string());
        Err(Error::internal(text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()))
    })
}

fn execute_inner(plan: &Plan, ctx: &ExecContext<'_>, out: &mut Out<'_>) -> Result<()> {
    ctx.counters.note_plan(&PlanCounts::of(plan));
    let mut params = ctx.params.clone();
    let len = params.values.len().max(plan.param_count as usize);
    params.values.resize(len, None);
    let shared =
        !plan.serial && !ctx.one_by_one && ctx.pool.is_worth_sharing(plan.estimated_rows_read, PARALLEL_ROWS_MIN);
    let dop = if shared { ctx.dop.max(1) } else { 1 };
    for init in &plan.init {
        let value = init_value(&Run { ctx, params: &params, env: None, dop, depth: 0 }, init.kind, &init.plan)?;
        params.values[init.param as usize] = Some((value, init.ty));
    }
    let sink = ResultSink::new(ctx, out);
    let run = Run { ctx, params: &params, env: None, dop, depth: 0 };
    run_node(&run, &plan.root, &Down::sink(u32::MAX, &sink))?;
    sink.drain()?;
    Ok(())
}

/// The value of a subquery that is computed before the plan proper.
fn init_value(run: &Run<'_>, kind: InitKind, plan: &PlanNode) -> Result<Value> {
    match kind {
        InitKind::Exists => Ok(Value::Int(!collect_rows(run, plan, 1)?.is_empty() as i64)),
        InitKind::Scalar => {
            let rows = collect_rows(run, plan, 2)?;
            match rows.len() {
                0 => Ok(Value::Null),
                1 => Ok(rows.into_iter().next().and_then(|r| r.into_iter().next()).unwrap_or(Value::Null)),
                _ => Err(Error::subquery_no_1_row()),
            }
        }
    }
}

/// The receiver of result rows, which only its own thread may touch.
struct CallerOnly<'a, 'b> {
    out: RefCell<&'a mut Out<'b>>,
    owner: ThreadId,
}

// SAFETY: `with` lets no thread but the one that made the value reach the cell.
unsafe impl Sync for CallerOnly<'_, '_> {}
// SAFETY: never moved to another thread by this module; required because sinks are shared by reference.
unsafe impl Send for CallerOnly<'_, '_> {}

impl CallerOnly<'_, '_> {
    fn is_mine(&self) -> bool {
        std::thread::current().id() == self.owner
    }

    fn call(&self, batch: &Batch) -> Result<ControlFlow<()>> {
        assert!(self.is_mine(), "results are delivered on the statement's thread");
        (self.out.borrow_mut())(batch)
    }
}

/// Shared state: helpers queue their batches, the statement's thread delivers its own and the queued ones.
struct ResultSink<'a, 'b> {
    ctx: &'a ExecContext<'a>,
    out: CallerOnly<'a, 'b>,
    queue: Mutex<Queue>,
    room: Condvar,
}

#[derive(Default)]
struct Queue {
    batches: VecDeque<Batch>,
    /// The receiver wants no more.
    broken: bool,
    /// The statement's thread is in the pipeline and will come by to empty the queue.
    caller_active: bool,
}

impl<'a, 'b> ResultSink<'a, 'b> {
    fn new(ctx: &'a ExecContext<'a>, out: &'a mut Out<'b>) -> ResultSink<'a, 'b> {
        let out = CallerOnly { out: RefCell::new(out), owner: std::thread::current().id() };
        ResultSink { ctx, out, queue: Mutex::default(), room: Condvar::new() }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(|p| p.into_inner())
    }

    /// Delivers what helpers have queued.
    fn drain(&self) -> Result<Flow> {
        loop {
            let mut q = self.lock();
            if q.broken {
                return Ok(Flow::Done);
            }
            let Some(batch) = q.batches.pop_front() else { return Ok(Flow::More) };
            drop(q);
            self.room.notify_all();
            self.deliver(&batch)?;
        }
    }

    fn deliver(&self, batch: &Batch) -> Result<Flow> {
        if self.out.call(batch)?.is_break() {
            self.lock().broken = true;
            self.room.notify_all();
            return Ok(Flow::Done);
        }
        Ok(Flow::More)
    }
}

impl Sink for ResultSink<'_, '_> {
    fn local<'s>(&'s self) -> Result<Box<dyn Push + 's>> {
        let mine = self.out.is_mine();
        if mine {
            self.lock().caller_active = true;
        }
        Ok(Box::new(ResultLocal { sink: self, mine }))
    }
}

struct ResultLocal<'a, 'b, 'c> {
    sink: &'c ResultSink<'a, 'b>,
    mine: bool,
}

impl Push for ResultLocal<'_, '_, '_> {
    fn push(&mut self, batch: Batch) -> Result<Flow> {
        let s = self.sink;
        if self.mine {
            return match s.drain()? {
                Flow::Done => Ok(Flow::Done),
                Flow::More => s.deliver(&batch),
            };
        }
        let mut q = s.lock();
        while q.caller_active && !q.broken && q.batches.len() >= QUEUE_BATCHES_MAX {
            s.ctx.check_killed()?;
            q = s.room.wait_timeout(q, WAIT).unwrap_or_else(|p| p.into_inner()).0;
        }
        if q.broken {
            return Ok(Flow::Done);
        }
        q.batches.push_back(batch);
        Ok(Flow::More)
    }

    fn finish(&mut self) -> Result<()> {
        if self.mine {
            let r = self.sink.drain();
            self.sink.lock().caller_active = false;
            self.sink.room.notify_all();
            r?;
        }
        Ok(())
    }
}

impl Drop for ResultLocal<'_, '_, '_> {
    /// Also after an error: helpers must not wait for a thread that has left.
    fn drop(&mut self) {
        if self.mine {
            self.sink.lock().caller_active = false;
            self.sink.room.notify_all();
        }
    }
}

/// Parameters of an empty array, for plans without any.
pub fn no_params() -> Params {
    Params::default()
}
