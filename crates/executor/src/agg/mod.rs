//! Aggregation.
//!
//! [`spec`] says what is computed, [`accumulator`] holds the states, [`groups`] a set of groups with its states;
//! [`builder`] is one thread's work, [`operator`] joins the threads'. [`flat`] takes DISTINCT aggregates and WITH
//! ROLLUP apart into plain ones; [`ordered`] is for input that brings each group's rows together, [`leaves`] for tables
//! whose leaves do.

pub mod accumulator;
mod builder;
mod concat;
mod fast;
mod flat;
mod front;
mod groups;
mod leaves;
mod operator;
mod ordered;
pub mod spec;

pub use operator::{AggregateSink, Grouping, run_aggregate, run_distinct};
