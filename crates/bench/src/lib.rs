//! Nextleaf's experiments: data, queries, drivers and reports.

pub mod tpch;
