//! Operators, one a file.

pub mod apply;
pub mod attempt;
pub mod collect;
pub mod count;
pub mod cte;
pub mod entry_filter;
pub mod index_join;
pub mod index_merge;
pub mod index_scan;
pub mod join;
pub mod lookup;
pub mod loose_scan;
pub mod multi_range;
pub mod nested_loop;
pub mod scan;
pub mod set_op;
pub mod sideways;
pub mod simple;
pub mod sort;
pub mod window;
