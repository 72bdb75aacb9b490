//! The threads of a load.
//!
//! The caller's thread reads blocks; workers convert them, each with an appender of its own. Blocks are taken in order
//! but finish in any order. What must follow the order of the input - row numbers in messages, the order of warnings,
//! which error is the first - waits in [`Order`] for the blocks before it; what need not, does not.
//!
//! Invariants
//! 1. A block is taken after all blocks before it were taken. So whoever waits for earlier blocks waits for workers
//!    that run, never for a block that nobody has.
//! 2. Of several errors the one of the first block is reported.

use super::blocks::{Block, BlockReader};
use super::columns::{ColumnTarget, FileCharset, LoadIds, RowContext};
use super::fields::Scanner;
use super::format::Format;
use changes::AutoIncrement;
use executor::MemoryAccountant;
use expr::Warnings;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::Read;
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Condvar, Mutex};
use storage::{BulkAppender, BulkDone, Table, Txn};
use types::value::ConvertMode;
use types::{Error, Result, Value, WarningLevel};

/// Where a field's value goes.
#[derive(Clone, Debug)]
pub enum FieldTarget {
    Column(ColumnTarget),
    /// Position among the load's user variables: it keeps the value of the last row.
    UserVar(usize),
    /// The field is read over.
    Nothing,
}

/// What a column gets that no field is for.
#[derive(Clone, Debug)]
pub enum Fill {
    Value(Value),
    /// The next AUTO_INCREMENT value.
    Next(ColumnTarget),
    /// 1364 in strict mode, else the type's implicit default.
    NoDefault(ColumnTarget),
    /// The result at this position of [`Load::compute`].
    Computed(usize, ColumnTarget),
}

/// See [`Load::compute`]. Where there is one, the load runs in one thread.
pub type Compute<'a> = &'a (dyn Fn(&[Option<Vec<u8>>]) -> Result<Vec<Value>> + Sync);

/// A load, ready to run.
pub struct Load<'a> {
    pub table: &'a Arc<Table>,
    pub txn: &'a Arc<Txn>,
    pub format: &'a Format,
    pub ignore_lines: u64,
    /// In the order of the fields.
    pub targets: Vec<FieldTarget>,
    /// (column, what it gets) of the other columns.
    pub fills: Vec<(usize, Fill)>,
    pub user_vars: usize,
    /// From the row's user variables to the values of [`Fill::Computed`].
    pub compute: Option<Compute<'a>>,
    pub mode: ConvertMode<'a>,
    pub charset: FileCharset,
    pub no_auto_value_on_zero: bool,
    /// Of the table's AUTO_INCREMENT column.
    pub ids: Option<AutoIncrement>,
    /// Rows whose unique keys exist are skipped.
    pub ignore_duplicates: bool,
    pub warnings: &'a Warnings,
    /// Worker threads at most; 1: everything on this thread.
    pub workers: usize,
    /// What long lines are charged to.
    pub memory: Arc<MemoryAccountant>,
    /// An error if the statement is to stop. Called once a block.
    pub check_killed: &'a (dyn Fn() -> Result<()> + Sync),
    /// Told of the bytes read, once a block.
    pub progress: &'a (dyn Fn(u64) + Sync),
}

/// What a load did.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Loaded {
    pub rows: u64,
    pub skipped: u64,
    /// Values of the user variables after the last row; `None`: NULL or never read.
    pub user_vars: Vec<Option<Vec<u8>>>,
    /// The first AUTO_INCREMENT value that was generated.
    pub first_generated: Option<u64>,
}

/// The blocks' order, for those who need it.
#[derive(Default)]
struct Order {
    state: Mutex<OrderState>,
    changed: Condvar,
}

#[derive(Default)]
struct OrderState {
    /// Blocks below this have ended, and have so many rows.
    ended: u64,
    rows: u64,
    /// Rows of blocks that ended before an earlier one did.
    ahead: BTreeMap<u64, u64>,
    failed: Option<(u64, Error)>,
}

impl Order {
    /// Rows in the blocks before `block`; waits until they have ended. Any number if one of them failed.
    fn rows_before(&self, block: u64) -> u64 {
        let mut state = self.state.lock().expect("no panic while held");
        while state.ended < block && state.failed.as_ref().is_none_or(|f| f.0 >= block) {
            state = self.changed.wait(state).expect("no panic while held");
        }
        state.rows
    }

    fn end(&self, block: u64, rows: u64) {
        let mut state = self.state.lock().expect("no panic while held");
        state.ahead.insert(block, rows);
        loop {
            let next = state.ended;
            let Some(rows) = state.ahead.remove(&next) else { break };
            state.ended += 1;
            state.rows += rows;
        }
        self.changed.notify_all();
    }

    fn fail(&self, block: u64, error: Error) {
        let mut state = self.state.lock().expect("no panic while held");
        if state.failed.as_ref().is_none_or(|f| f.0 > block) {
            state.failed = Some((block, error));
        }
        self.changed.notify_all();
    }

    /// Whether the block need not be looked at: an earlier one failed.
    fn is_moot(&self, block: u64) -> bool {
        self.state.lock().expect("no panic while held").failed.as_ref().is_some_and(|f| f.0 <= block)
    }

    fn error(self) -> Option<Error> {
        self.state.into_inner().expect("no panic while held").failed.map(|f| f.1)
    }
}

/// One worker's part of the outcome.
#[derive(Default)]
struct Part {
    done: BulkDone,
    /// Of the last block that this worker had, the values of its last row.
    user_vars: Option<(u64, Vec<Option<Vec<u8>>>)>,
    /// The first AUTO_INCREMENT value that this worker generated, with its block.
    first_generated: Option<(u64, u64)>,
}

impl Load<'_> {
    /// Loads all of `input`. After an error the caller rolls back what was loaded.
    pub fn run(&self, input: &mut dyn Read) -> Result<Loaded> {
        let mut reader = BlockReader::new(input, self.format, self.ignore_lines, &self.memory);
        let order = Order::default();
        let Some(first) = reader.next_block()? else {
            return Ok(Loaded { user_vars: vec![None; self.user_vars], ..Loaded::default() });
        };
        let parts = if first.last || self.workers <= 1 {
            vec![self.run_here(first, &mut reader, &order)]
        } else {
            self.run_parallel(first, &mut reader, &order)
        };
        let mut total = Part::default();
        let mut result = Ok(());
        for part in parts {
            match part {
                Ok(part) => total.add(part),
                Err(e) => result = Err(e),
            }
        }
        match order.error() {
            Some(e) => return Err(e),
            None => result?,
        }
        let user_vars = total.user_vars.map_or_else(|| vec![None; self.user_vars], |v| v.1);
        Ok(Loaded {
            rows: total.done.rows,
            skipped: total.done.duplicates,
            user_vars,
            first_generated: total.first_generated.map(|f| f.1),
        })
    }

    fn run_here(&self, first: Block, reader: &mut BlockReader<'_>, order: &Order) -> Result<Part> {
        let mut worker = Worker::new(self, order);
        let mut next = Some(first);
        while let Some(block) = next {
            (self.check_killed)()?;
            worker.block(&block)?;
            (self.progress)(reader.bytes_read());
            next = if block.last { None } else { reader.next_block()? };
        }
        worker.finish()
    }

    fn run_parallel(&self, first: Block, reader: &mut BlockReader<'_>, order: &Order) -> Vec<Result<Part>> {
        std::thread::scope(|scope| {
            let (blocks, receiver) = sync_channel::<Block>(self.workers);
            let receiver = Arc::new(Mutex::new(receiver));
            let workers: Vec<_> = (0..self.workers)
                .map(|_| {
                    let receiver = receiver.clone();
                    scope.spawn(move || self.work(&receiver, order))
                })
                .collect();
            drop(receiver);
            let mut next = Ok(Some(first));
            let read = loop {
                match next {
                    Ok(Some(block)) => {
                        let (number, last) = (block.number, block.last);
                        (self.progress)(reader.bytes_read());
                        if order.is_moot(number) || blocks.send(block).is_err() || last {
                            break Ok(());
                        }
                    }
                    Ok(None) => break Ok(()),
                    Err(e) => break Err(e),
                }
                next = (self.check_killed)().and_then(|()| reader.next_block());
            };
            drop(blocks);
            let mut parts: Vec<Result<Part>> =
                workers.into_iter().map(|w| w.join().unwrap_or_else(|p| std::panic::resume_unwind(p))).collect();
            parts.push(read.map(|()| Part::default()));
            parts
        })
    }

    fn work(&self, blocks: &Mutex<Receiver<Block>>, order: &Order) -> Result<Part> {
        let mut worker = Worker::new(self, order);
        loop {
            let next = blocks.lock().expect("no panic while held").recv();
            let Ok(block) = next else { break };
            if order.is_moot(block.number) {
                continue;
            }
            let number = block.number;
            if let Err(e) = (self.check_killed)().and_then(|()| worker.block(&block)) {
                order.fail(number, e);
            }
        }
        worker.finish()
    }
}

impl Part {
    fn add(&mut self, other: Part) {
        self.done.rows += other.done.rows;
        self.done.duplicates += other.done.duplicates;
        if other.user_vars.as_ref().map(|v| v.0) > self.user_vars.as_ref().map(|v| v.0) {
            self.user_vars = other.user_vars;
        }
        self.first_generated = self.first_generated.into_iter().chain(other.first_generated).min();
    }
}

/// One thread's share of the work.
struct Worker<'a> {
    load: &'a Load<'a>,
    order: &'a Order,
    out: BulkAppender,
    user_vars: Option<(u64, Vec<Option<Vec<u8>>>)>,
    ids: RefCell<Option<LoadIds>>,
    first_generated: Option<(u64, u64)>,
}

impl<'a> Worker<'a> {
    fn new(load: &'a Load<'a>, order: &'a Order) -> Worker<'a> {
        let mut out = BulkAppender::new(load.table, load.txn);
        if load.ignore_duplicates {
            out = out.ignore_duplicates();
        }
        let ids = RefCell::new(load.ids.clone().map(LoadIds::new));
        Worker { load, order, out, user_vars: None, ids, first_generated: None }
    }

    fn block(&mut self, block: &Block) -> Result<()> {
        // An error in an earlier block of this worker left a row half built; nothing more is wanted then.
        self.out.set_piece(block.number);
        let rows = self.rows(block)?;
        if !(block.last && block.number == 0) {
            self.out.flush()?;
            self.warn_of_duplicates();
        }
        self.order.end(block.number, rows);
        Ok(())
    }

    fn rows(&mut self, block: &Block) -> Result<u64> {
        let load = self.load;
        let order = self.order;
        let mut rows = 0u64;
        let mut user_vars: Vec<Option<Vec<u8>>> = vec![None; load.user_vars];
        let mut scanner = Scanner::new(load.format, &block.bytes);
        while scanner.next_line() {
            rows += 1;
            let number = || order.rows_before(block.number) + rows;
            let warn = |w| {
                // Warnings come in the order of the input.
                order.rows_before(block.number);
                load.warnings.push(w);
            };
            let context = RowContext {
                mode: &load.mode,
                charset: load.charset,
                no_auto_value_on_zero: load.no_auto_value_on_zero,
                row_number: &number,
                warn: &warn,
                ids: &self.ids,
            };
            row(load, &mut self.out, &mut scanner, &context, &mut user_vars)?;
            self.out.end_row()?;
        }
        let first = self.ids.get_mut().as_ref().and_then(|ids| ids.first);
        self.first_generated = self.first_generated.or(first.map(|id| (block.number, id)));
        if load.user_vars > 0 && rows > 0 {
            self.user_vars = Some((block.number, user_vars));
        }
        Ok(rows)
    }

    fn warn_of_duplicates(&mut self) {
        for e in self.out.take_duplicate_errors() {
            self.load.warnings.push(e.into_warning(WarningLevel::Warning));
        }
    }

    fn finish(mut self) -> Result<Part> {
        if self.order.is_moot(u64::MAX) {
            return Ok(Part::default()); // a row may be half built; the statement is rolled back
        }
        let done = self.out.finish()?;
        self.warn_of_duplicates();
        Ok(Part { done, user_vars: self.user_vars, first_generated: self.first_generated })
    }
}

/// Reads one row.
fn row(
    load: &Load<'_>,
    out: &mut BulkAppender,
    scanner: &mut Scanner<'_>,
    context: &RowContext<'_>,
    user_vars: &mut [Option<Vec<u8>>],
) -> Result<()> {
    let mut targets = load.targets.iter();
    while scanner.has_field() {
        let Some(target) = targets.next() else { break };
        let field = scanner.next_field();
        match target {
            FieldTarget::Column(c) => c.store(field, out, context)?,
            FieldTarget::UserVar(i) => user_vars[*i] = (!field.is_null).then(|| field.bytes.to_vec()),
            FieldTarget::Nothing => {}
        }
    }
    for target in targets {
        // Each missing column counts.
        if !matches!(target, FieldTarget::UserVar(_)) {
            context.misfit(Error::warn_too_few_records((context.row_number)()))?;
        }
        match target {
            FieldTarget::Column(c) => c.store_missing(out, context)?,
            FieldTarget::UserVar(i) => user_vars[*i] = None,
            FieldTarget::Nothing => {}
        }
    }
    if scanner.end_line() {
        context.misfit(Error::warn_too_many_records((context.row_number)()))?;
    }
    let computed = load.compute.map_or(Ok(vec![]), |compute| compute(user_vars))?;
    for (column, fill) in &load.fills {
        match fill {
            Fill::Value(v) => out.push_value(*column, v),
            Fill::Next(c) => c.store_value(&Value::Null, out, context)?,
            Fill::NoDefault(c) => {
                context.misfit(Error::no_default_for_field(c.name()))?;
                c.store_missing(out, context)?;
            }
            Fill::Computed(i, c) => c.store_value(&computed[*i], out, context)?,
        }
    }
    Ok(())
}
