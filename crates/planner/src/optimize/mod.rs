//! The optimizer: rewrites, join order, access paths, physical plans.
