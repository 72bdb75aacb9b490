//! Bound expressions: typed trees over the columns of a batch, and the kernels that evaluate them.
//!
//! The binder builds expressions through [`build`], which resolves functions, infers MySQL's result types and inserts
//! the conversions that MySQL performs implicitly. Nothing above this crate decides a type. Executors evaluate them
//! through [`eval`]: a whole batch at a time, position aligned, narrowed by the selection.

pub mod aggregate;
pub mod build;
pub mod const_set;
pub mod context;
pub mod eval;
pub mod fold;
pub mod functions;
pub mod kernels;
pub mod tree;

pub use aggregate::{
    AggCall, AggFunc, AggRecord, FrameBound, FrameUnits, OfNothing, WindowCall, WindowFrame, WindowFunc, WindowRecord,
};
pub use const_set::{ConstSet, ConstSetBuilder};
pub use context::{EvalContext, HeldBytes, Params, SavedVars, SessionInfo, SqlMode, UserLocks, UserVars, Warnings};
pub use eval::Compiled;
pub use fold::{fold, fold_overseen};
pub use functions::{Function, IntervalUnit, TrimSide};
pub use tree::{ArithOp, CmpOp, ColumnId, Expr, ExprKind, ParamId, SubqueryId, Truth};
