//! The binder: names, types and collations of a statement. Syntax tree in, logical plan out.
//!
//! ```text
//! ast::Query --> FROM --> WHERE --> GROUP BY --> HAVING --> windows --> items --> DISTINCT --> ORDER BY --> LIMIT
//!                 |         |                      |                     |
//!                 scopes    expressions, through expr::build; subqueries become SubqueryDefs
//! ```
//!
//! Terms
//! - A *block* is one SELECT with its clauses ([`scope::Block`]). Blocks nest: an expression sees its own block, then
//!   the enclosing ones (correlation), except where a derived table hides the block whose FROM it stands in.
//! - A *source* is one table, derived table, view or CTE of a FROM.
//! - A *bound* query is a plan and the columns that it outputs, by id.
//!
//! Invariants
//! 1. Every column id is produced by exactly one node on the way from its source to its use; an outer column that a
//!    subquery outputs gets an id of its own, so that an id is free exactly where it is correlated.
//! 2. Every subquery's id stands in exactly one place of the plan.
//! 3. No type is decided here: every construct goes through `expr::build`.
//! 4. Recursion is bounded: by the parser's nesting limit for expressions and queries, by [`MAX_CHAIN`] for operator
//!    chains, by [`MAX_JOIN_TABLES`] for joins, by [`MAX_QUERY_DEPTH`] for queries, views and CTEs in one another.
//!
//! The rules are those of the MySQL 8.4 manual: "SELECT Statement", "JOIN Clause", "WITH", "MySQL Handling of GROUP
//! BY", "Window Function Concepts and Syntax", "Subqueries".

mod aggregates;
mod api;
mod calls;
mod const_sets;
mod cte;
mod dependencies;
mod dml;
mod expression;
mod from;
mod generated;
mod grouping;
mod hints;
mod insert;
mod joins;
mod late;
mod locking;
mod names;
mod order;
mod query;
mod scope;
mod select;
mod set_ops;
mod shown;
mod subquery;
mod target_reads;
mod tidy;
mod unshare;
mod view_query;
mod views;
mod windows;

pub use api::{Binder, SystemVariables};
pub use dml::{BoundAssignment, BoundDelete, BoundUpdate, DmlTarget, NewValue};
pub use insert::{DuplicateNames, DuplicateValue, InsertSelect};
pub use locking::{BoundLocking, LockTarget};
pub use target_reads::NamedTarget;
pub use view_query::ViewQuery;
pub use views::{InsertView, ViewCheck};

/// Tables in one FROM, as in MySQL.
pub const MAX_JOIN_TABLES: usize = 61;
/// Queries within queries, views and CTEs included (MySQL: 63).
pub const MAX_QUERY_DEPTH: usize = 63;
/// Queries bound for one statement, each use of a view counted.
pub const MAX_QUERIES: usize = 1 << 16;
/// Operators in one chain such as `a + b + c`, and set operations that cannot be flattened.
pub const MAX_CHAIN: usize = 1000;
