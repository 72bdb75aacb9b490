//! Kernels: stand-alone loops over slices, and what the operators of the executor share with expressions.
//!
//! - [`fixed`]: comparisons, arithmetic, minima and sums over fixed-width slices.
//! - [`strings`]: comparison and membership under a collation. [`like`]: LIKE.
//! - [`hash`]: hashes and equality of rows by value, for joins and grouping.
//! - [`sort`]: comparison of rows and memcomparable keys.

pub(crate) mod dispatch;
pub mod fixed;
pub mod hash;
pub mod like;
mod make;
mod show;
pub mod sort;
pub mod strings;
pub mod text;

pub use hash::{eq_positions, hash_vector};
pub use like::{LikeMatcher, Stopper};
pub use make::{canonical, constant, null_vector};
pub(crate) use make::{complement, narrow_to};
pub(crate) use show::show;
pub use sort::{compare_positions, sort_key_append};
