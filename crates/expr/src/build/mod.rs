//! Building typed expressions: the only place where MySQL's result types and implicit conversions are decided.
//!
//! The binder resolves names and calls one function here for each construct of the language. Each function takes
//! expressions that are built already, inserts [`ExprKind::Cast`](crate::ExprKind::Cast) nodes where MySQL converts,
//! and returns an expression with its type and nullability. Constants are converted at once where the conversion is
//! exact, so that a bare column stays bare and an index on it stays usable.
//!
//! `connection` is `collation_connection` wherever it is asked for: text that is made of numbers, dates or nothing at
//! all has that collation.
//!
//! Sources: MySQL 8.4 manual, "Type Conversion in Expression Evaluation", "Arithmetic Operators", "Precision Math",
//! "Collation Coercibility in Expressions", and the sections of each function.

mod aggregate;
mod arith;
mod call;
mod cast;
mod coercibility;
mod common;
pub(crate) mod compare;
mod digits;
mod literal;
mod logic;
mod temporal;

pub use aggregate::{aggregate, window};
pub use arith::{arith, bit_not, neg};
pub(crate) use arith::{bits_operand, is_bytes};
pub(crate) use call::{call, to_string};
pub use call::{coalesce, convert_using, function, ifnull, trim};
pub use cast::{cast, cast_char, collate, column_value, implicit_cast};
pub use coercibility::{aggregate_collations, coercibility};
pub use common::{char_length_of, common_type, string_type, union_type};
pub(crate) use common::{decimal_type, scale_of};
pub use compare::{RowList, RowListBuilder, between, compare, in_list, lists_of_or, row_list};
pub(crate) use digits::unrounded;
pub use digits::{all_digits, rounded};
pub use literal::{assigned, bit, boolean, decimal, double, hex, integer, null, plain, string, temporal};
pub use logic::{and, case, if_, is_null, is_truth, like, not, nullif, or, regexp, truth, xor};
pub(crate) use temporal::fraction_digits;
pub use temporal::{date_add, extract, invalid_date, timestamp_diff};
