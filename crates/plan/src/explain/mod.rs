//! EXPLAIN: the plan that runs, as text.
//!
//! - [`tree`]: FORMAT=TREE, and with [`NodeStats`] EXPLAIN ANALYZE: one line an operator, inputs indented below it, in
//!   the words of MySQL 8. A hash join's first input probes, the one under `Hash` builds.
//! - [`traditional`]: the table of EXPLAIN without a format: one row a table, in the order in which they are joined.
//!
//! - [`json`]: FORMAT=JSON. [`steps`]: its second version, which EXPLAIN ANALYZE has, too.
//! - [`rewritten`]: the statement as it was understood, as SQL, for SHOW WARNINGS.
//!
//! Table and JSON are made from one intermediate form ([`model`]), in which the plan is put back into query blocks.
//! Projections have no line of their own. Uncorrelated subqueries follow as `Select #n`, and expressions name them so.

mod expression;
pub(crate) mod index;
mod json;
mod model;
mod rewritten;
mod steps;
mod trace;
mod traditional;
mod tree;
mod value;
mod weighed;
mod words;

pub use expression::{Names, expression};
pub use index::range_texts;
pub use json::json;
pub use rewritten::{rewritten, rewritten_change};
pub use steps::steps;
pub use trace::{TraceStyle, trace};
pub use traditional::{TRADITIONAL_COLUMNS, TraditionalRow, traditional};
pub use tree::tree;
pub use weighed::{JoinTried, TableWays, Way, Weighed};

/// What a statement does with the rows that its plan finds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Change {
    /// `INSERT`, `REPLACE`, `UPDATE`, `DELETE`
    pub verb: &'static str,
    /// Aliases of the tables that are changed.
    pub targets: Vec<String>,
}

impl Change {
    pub fn inserts(&self) -> bool {
        matches!(self.verb, "INSERT" | "REPLACE")
    }
}

/// The line above the plan of a statement that changes rows.
pub fn change_words(c: &Change) -> String {
    let names = c.targets.join(", ");
    match c.verb {
        "INSERT" => format!("Insert into {names}"),
        "REPLACE" => format!("Replace into {names}"),
        "DELETE" => format!("Delete from {names} (buffered)"),
        _ => format!("Update {names} (buffered)"),
    }
}

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
