//! Aggregation: group tables, accumulators, and the operator that joins them.

pub mod accumulator;
pub mod concat;
pub mod distinct;
pub mod fast;
pub mod operator;
