//! Execution of physical plans: push-based pipelines over batches, on all cores, within a memory budget.
//!
//! [`execute`] is the way in. The plan is cut into pipelines ([`pipeline`]) as it is walked ([`run`]); operators are in
//! [`ops`] and [`agg`], one file each. What a statement may use comes in [`ExecContext`].
//!
//! Terms: a *batch* is up to 1024 rows with a selection; a *morsel* is a run of leaves that one thread takes at a time;
//! a *run* on disk is a sequence of batches in a temporary file.

pub mod agg;
mod collate;
pub mod columns;
pub mod context;
mod counters;
mod eval;
mod execute;
mod group_table;
mod keys;
pub mod memory;
pub mod ops;
pub mod pipeline;
pub mod pool;
pub mod run;
mod sort_keys;
mod spill;
pub mod stats;
mod string_ids;
mod tables;
mod temp_space;

pub use context::{
    Candidates, ExecContext, IndexCursor, KeyCut, KeySpan, MemoryBounds, NoVirtualTables, OrderedLeaves, TableReader,
    Tables, VirtualTables,
};
pub use counters::{StatementCounters, StatementCounts};
pub use execute::{execute, no_params};
pub use memory::{MemoryAccountant, Reservation};
pub use pool::WorkerPool;
pub use stats::{NodeStats, NodeStatsSet};
pub use tables::{Lookup, Lookups, StoreTables};
pub use temp_space::{TempFiles, TempSpace};
