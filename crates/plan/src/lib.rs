//! Plans: what the planner hands to the executor, and what EXPLAIN prints.
//!
//! A physical plan is a tree of [`PlanNode`]s. Expressions in a node name columns by their **position in the node's
//! input** (for joins: probe side's columns first, then build side's). Every node lists the type and name of each
//! column that it outputs. EXPLAIN prints this very tree.

pub mod access;
mod counts;
pub mod explain;
mod inputs;
pub mod logical;
pub mod physical;

pub use access::{EntryUse, IndexRange, KeyValue, LastPart, RangeEnd};
pub use counts::PlanCounts;
pub use explain::NodeStats;
pub use physical::*;
