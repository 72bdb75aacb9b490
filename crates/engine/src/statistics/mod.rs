//! What the optimizer knows of tables, as far as users see and steer it.
//!
//! - [`costs`]: the tables of the optimizer's cost constants.
//! - [`histogram`]: ANALYZE TABLE .. UPDATE HISTOGRAM and DROP HISTOGRAM.
//! - [`keeper`]: figures that are out of date are made anew in the background.
//!
//! The figures themselves are gathered in `storage::stats`.

pub mod costs;
pub mod histogram;
pub mod keeper;
