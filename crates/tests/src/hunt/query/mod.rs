//! Random statements over a schema: queries of all forms, and changes of rows.
//!
//! ```text
//!  statement ─▶ set operations, WITH ─▶ select ─▶ from ─▶ tables, derived tables
//!                                         ├─▶ flat, grouped          │
//!                                         └─▶ predicates ◀───────────┘ the columns in scope
//!                                               └─▶ expressions, subqueries ─▶ select one level down
//! ```
//! A statement is bounded in depth, in fuel (about its number of nodes) and in the rows that its joins may visit, outer
//! queries included. What SQL leaves open is not asked for: LIMIT comes with a total order or shows its sort keys
//! alone, windows are ordered by all row ids.

mod change;
mod expr;
mod from;
mod hints;
mod predicate;
mod scope;
mod select;
mod statement;

pub use from::From;
pub use scope::Queries;
pub use select::Place;
pub use statement::Statement;

use super::node::{Node, Sort};

/// Nodes with commas between; all stay.
pub fn joined(nodes: Vec<Node>) -> Node {
    nodes.into_iter().enumerate().fold(Node::fixed(), |out, (i, n)| if i > 0 { out.t(", ").n(n) } else { out.n(n) })
}

fn and(mut nodes: Vec<Node>) -> Node {
    let first = nodes.remove(0);
    nodes.into_iter().fold(first, |all, n| Node::new(Sort::Pred).n(all).t(" AND ").n(n))
}

/// ` WHERE ..`, which may go.
fn filter(condition: Node) -> Node {
    Node::empty().t(" WHERE ").n(condition)
}
