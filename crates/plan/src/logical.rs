//! Logical plans: what the binder makes of a statement and the rewrites work on.
//!
//! Columns are named by [`ColumnId`]s that are unique in the whole statement, subqueries included, so that rewrites may
//! move nodes freely: a column is *free* (an outer reference, a correlation) in a subtree exactly when the subtree uses
//! it and does not produce it. [`Columns`] holds each id's type and name.
//!
//! Subqueries in expressions are `ExprKind::Subquery(id)`, each id in exactly one place, with the definition in
//! [`LogicalQuery::subqueries`] (of an EXISTS without output); the
//! unnesting rewrites turn each into a join ([`LogicalJoinKind`]) and none is left when physical planning begins.

pub mod blocks;
pub mod display;
mod hints;
pub mod visit;

pub use blocks::{BlockRole, BlockShape, Place, QueryBlock};
pub use hints::*;

use catalog::TableDef;
use expr::{AggCall, CmpOp, ColumnId, Expr, SubqueryId, WindowCall};
use std::sync::Arc;
use types::{SqlType, Warning};

/// Literal rows. There may be very many, so copies of a node share them.
pub type Rows = Arc<Vec<Vec<Expr>>>;

/// A bound SELECT (or the SELECT part of another statement).
#[derive(Clone, Debug)]
pub struct LogicalQuery {
    pub root: Logical,
    /// Output columns in order, with the names that clients see.
    pub output: Vec<(ColumnId, Box<str>)>,
    pub columns: Columns,
    /// Indexed by SubqueryId.
    pub subqueries: Vec<SubqueryDef>,
    /// Assigns user variables or calls functions with side effects.
    pub serial: bool,
    /// Parameters that the statement itself has (`?`): slots from 0. The planner numbers its own from here.
    pub param_count: u32,
    /// The plan may be kept for later executions. Not so if it holds values of this one: variables, NOW() and other
    /// facts of the session that were folded, `LIMIT ?`.
    pub cacheable: bool,
    /// SQL_CALC_FOUND_ROWS: rows are to be counted as if there were no outermost LIMIT.
    pub calc_found_rows: bool,
    /// Orders of tables that hints ask for.
    pub join_order: Vec<JoinOrderHint>,
    /// Query blocks of derived tables into which hints let conditions be pushed (true), or forbid it.
    pub derived_pushdown: Vec<(u32, bool)>,
    /// Hints that hold, as text, by the number of the query block in which they stand.
    pub hint_texts: Vec<(u32, String)>,
    /// What hints are to be warned of.
    pub warnings: Vec<Warning>,
    /// Tables of which the rows read are to be locked: locking clauses of inner queries. Whoever runs the query sees to
    /// it.
    pub locks: Vec<TableLock>,
}

/// What a locking clause says of a table.
#[derive(Clone, Debug)]
pub struct TableLock {
    pub table: Arc<TableDef>,
    /// FOR UPDATE; else FOR SHARE.
    pub exclusive: bool,
    pub wait: LockWait,
}

/// What a locking clause does at rows that others hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LockWait {
    Wait,
    NoWait,
    SkipLocked,
}

/// All columns of a statement, and the query blocks that they come from.
#[derive(Clone, Debug, Default)]
pub struct Columns {
    infos: Vec<ColumnInfo>,
    /// The block in which each was made.
    block_of: Vec<u32>,
    pub blocks: blocks::Blocks,
}

#[derive(Clone, Debug)]
pub struct ColumnInfo {
    pub name: Box<str>,
    /// Alias of the table or derived table it comes from; empty for computed columns.
    pub table_alias: Box<str>,
    pub ty: SqlType,
    pub nullable: bool,
    /// The base table column it is, if it is one.
    pub origin: Option<(Arc<TableDef>, usize)>,
}

impl Columns {
    pub fn add(&mut self, info: ColumnInfo) -> ColumnId {
        self.infos.push(info);
        self.block_of.push(self.blocks.current());
        self.infos.len() as ColumnId - 1
    }

    /// A new column like another, of the same query block.
    pub fn add_like(&mut self, id: ColumnId) -> ColumnId {
        self.infos.push(self.infos[id as usize].clone());
        self.block_of.push(self.block_of[id as usize]);
        self.infos.len() as ColumnId - 1
    }

    /// The query block (see [`blocks`]) in which the column was made; 0: the optimizer's own.
    pub fn block_of(&self, id: ColumnId) -> u32 {
        self.block_of.get(id as usize).copied().unwrap_or(0)
    }

    /// A computed column.
    pub fn computed(&mut self, name: &str, ty: SqlType, nullable: bool) -> ColumnId {
        self.add(ColumnInfo { name: name.into(), table_alias: "".into(), ty, nullable, origin: None })
    }

    pub fn get(&self, id: ColumnId) -> &ColumnInfo {
        &self.infos[id as usize]
    }

    pub fn get_mut(&mut self, id: ColumnId) -> &mut ColumnInfo {
        &mut self.infos[id as usize]
    }

    pub fn len(&self) -> usize {
        self.infos.len()
    }

    pub fn is_empty(&self) -> bool {
        self.infos.is_empty()
    }

    /// An expression that reads the column.
    pub fn expr(&self, id: ColumnId) -> Expr {
        let c = self.get(id);
        Expr::column(id, c.ty, c.nullable)
    }
}

/// A subquery of an expression.
#[derive(Clone, Debug)]
pub struct SubqueryDef {
    pub id: SubqueryId,
    pub kind: SubqueryKind,
    pub plan: Logical,
    /// Its output columns.
    pub output: Vec<ColumnId>,
    pub hints: SubqueryHints,
}

#[derive(Clone, Debug)]
pub enum SubqueryKind {
    /// Exactly one output column; at most one row.
    Scalar,
    /// EXISTS; NOT EXISTS is `Not` around it.
    Exists,
    /// `left [row] op ANY | ALL (subquery)`; `IN` is `= ANY`, `NOT IN` is `<> ALL` (kept as Not around IN).
    /// `left` has one expression an output column, casts to the comparison type inserted on the left; casts needed on
    /// the right are already part of the subquery's output.
    Quantified { left: Vec<Expr>, op: CmpOp, all: bool },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LogicalJoinKind {
    Inner,
    /// Left rows kept, right columns NULL.
    Left,
    /// Both kept (internal; MySQL has no FULL JOIN).
    Full,
    Semi,
    Anti,
    /// Left rows ++ the mark column.
    Mark {
        mark: ColumnId,
        null_aware: bool,
    },
    NullAwareAnti,
    /// Left join that errs on a second match (1242).
    Single,
}

#[derive(Clone, Debug)]
pub enum Logical {
    OneRow,
    Empty {
        columns: Vec<ColumnId>,
    },
    Values {
        columns: Vec<ColumnId>,
        rows: Rows,
    },
    /// A base table (or server-made table): `columns` gives an id to each table column that may be used.
    Get {
        table: Arc<TableDef>,
        alias: Box<str>,
        columns: Vec<(ColumnId, usize)>,
        is_virtual: bool,
        hints: Vec<IndexHint>,
        /// What optimizer hints say beside them.
        tuning: TableTuning,
        /// Also output the row id (BIGINT UNSIGNED) as this column: for targets of UPDATE and DELETE.
        row_id: Option<ColumnId>,
    },
    Filter {
        input: Box<Logical>,
        predicates: Vec<Expr>,
    },
    /// Output is exactly `exprs`; pass-through columns keep their id with an `ExprKind::Column` of the same id.
    Project {
        input: Box<Logical>,
        exprs: Vec<(ColumnId, Expr)>,
    },
    /// `dependent`: the right side may have free columns that the left side produces (LATERAL, correlated subqueries).
    /// `straight`: STRAIGHT_JOIN, the left side is to be read first.
    Join {
        kind: LogicalJoinKind,
        left: Box<Logical>,
        right: Box<Logical>,
        on: Vec<Expr>,
        dependent: bool,
        straight: bool,
    },
    /// A group that is a plain column keeps the column's id, except with `rollup`, where the output may be NULL where
    /// the input is not.
    Aggregate {
        input: Box<Logical>,
        groups: Vec<(ColumnId, Expr)>,
        aggregates: Vec<(ColumnId, AggCall)>,
        rollup: bool,
    },
    Distinct {
        input: Box<Logical>,
    },
    Sort {
        input: Box<Logical>,
        keys: Vec<(Expr, bool)>,
    },
    /// Applies to the order of its input (a Sort below it makes a top-N).
    Limit {
        input: Box<Logical>,
        limit: Option<u64>,
        offset: u64,
    },
    Window {
        input: Box<Logical>,
        partition_by: Vec<Expr>,
        order_by: Vec<(Expr, bool)>,
        calls: Vec<(ColumnId, WindowCall)>,
    },
    /// UNION has two or more inputs, the others two. Output ids are `columns`; input i supplies `inputs[i].1` in the
    /// same order, types already equal.
    SetOp {
        kind: SetOpKind,
        columns: Vec<ColumnId>,
        inputs: Vec<(Logical, Vec<ColumnId>)>,
        distinct: bool,
    },
    /// CTEs that are read more than once or must be materialized; others are merged by the binder or a rewrite.
    With {
        ctes: Vec<LogicalCte>,
        input: Box<Logical>,
    },
    /// `columns` pairs new ids with positions of the definition's output.
    CteScan {
        cte_id: u32,
        name: Box<str>,
        columns: Vec<(ColumnId, usize)>,
    },
    RecursiveUnion {
        cte_id: u32,
        columns: Vec<ColumnId>,
        anchor: (Box<Logical>, Vec<ColumnId>),
        recursive: (Box<Logical>, Vec<ColumnId>),
        distinct: bool,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SetOpKind {
    Union,
    Intersect,
    Except,
}

#[derive(Clone, Debug)]
pub struct LogicalCte {
    /// Not to be merged into what reads it: NO_MERGE, or derived_merge is off.
    pub apart: bool,
    pub cte_id: u32,
    pub name: Box<str>,
    pub plan: Logical,
    pub output: Vec<ColumnId>,
}

/// USE / FORCE / IGNORE INDEX, names resolved against the table's indexes.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexHint {
    pub kind: IndexHintKind,
    pub scope: IndexHintScope,
    /// Positions in `TableDef::indexes`; empty for `USE INDEX ()`.
    pub indexes: Vec<usize>,
}

/// What an index hint is about: `FOR JOIN` is finding rows, not only in joins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IndexHintScope {
    All,
    Join,
    OrderBy,
    GroupBy,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IndexHintKind {
    Use,
    Force,
    Ignore,
}
