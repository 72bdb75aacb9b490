//! EXPLAIN: the plan that runs, as text.
//!
//! - [`tree`]: FORMAT=TREE, and with [`NodeStats`] EXPLAIN ANALYZE: one line an operator, inputs indented below it, in the
//!   words of MySQL 8. A hash join's first input probes, the one under `Hash` builds.
//! - [`traditional`]: the table of EXPLAIN without a format: one row a table, in the order in which they are joined.
//!
//! Projections have no line of their own. Uncorrelated subqueries follow as `Select #n`, and expressions name them so.

mod expression;
pub(crate) mod index;
mod traditional;
mod tree;

pub use expression::{Names, expression};
pub use traditional::{TRADITIONAL_COLUMNS, TraditionalRow, traditional};
pub use tree::tree;

/// What an operator did, for EXPLAIN ANALYZE; indexed by [`crate::PlanNode::id`].
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct NodeStats {
    /// Rows handed up, all loops together.
    pub rows: u64,
    /// How often the operator was run from the start; 0: never.
    pub loops: u64,
    /// Microseconds from the statement's start to the first row and to the last.
    pub time_first_us: u64,
    pub time_last_us: u64,
    /// Nanoseconds of all threads in this operator alone.
    pub self_ns: u64,
    pub memory_peak_bytes: u64,
    pub spilled_bytes: u64,
}
