//! From syntax tree to plan: the [`bind`]er gives names and types, the [`optimize`]r chooses how to execute.
//!
//! ```text
//!   parser::ast  --bind-->  plan::logical  --optimize-->  plan::physical
//! ```
//!
//! Invariant: nothing here knows storage; what is known of the data comes through `catalog`'s statistics.

pub mod bind;
pub mod optimize;
