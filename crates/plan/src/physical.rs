//! Physical plan nodes.

use crate::access::{EntryUse, IndexRange, KeyValue};
use crate::logical::{QueryBlock, Rows};
use catalog::TableDef;
use expr::{AggCall, Expr, ParamId, WindowCall};
use std::sync::Arc;
use types::{SqlType, Warning};

/// A whole statement's plan.
#[derive(Clone, Debug)]
pub struct Plan {
    pub root: Box<PlanNode>,
    /// Uncorrelated scalar subqueries and the like: run in order before `root`, each fills its parameter with its
    /// single value (no row: NULL; more than one: error 1242).
    pub init: Vec<InitPlan>,
    /// Size of the parameter array.
    pub param_count: u32,
    /// User variables are assigned, or functions with side effects are called per row: one thread, in order.
    pub serial: bool,
    /// Rows the planner expects the statement to read: small statements stay on the caller's thread.
    pub estimated_rows_read: f64,
    /// The statement's query blocks, for EXPLAIN.
    pub blocks: Vec<QueryBlock>,
    /// What the session is to be told of the planning.
    pub warnings: Vec<Warning>,
}

#[derive(Clone, Debug)]
pub struct InitPlan {
    pub param: ParamId,
    pub kind: InitKind,
    pub ty: SqlType,
    pub plan: Box<PlanNode>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InitKind {
    /// The single value of a scalar subquery.
    Scalar,
    /// 1 if there is a row, else 0.
    Exists,
}

/// An output column.
#[derive(Clone, Debug, PartialEq)]
pub struct OutputColumn {
    pub name: Box<str>,
    pub ty: SqlType,
    pub nullable: bool,
}

#[derive(Clone, Debug)]
pub struct PlanNode {
    /// Unique in the plan, dense from 0: operators' statistics are kept by it.
    pub id: u32,
    pub op: PlanOp,
    pub output: Vec<OutputColumn>,
    /// Estimates, for EXPLAIN and for sizing.
    pub estimated_rows: f64,
    pub estimated_cost: f64,
    pub notes: AccessNotes,
}

/// What the planner knew when it made the node, for EXPLAIN.
#[derive(Clone, Debug, Default)]
pub struct AccessNotes {
    /// The query block that the operator is part of ([`crate::logical::blocks`]); 0: not known.
    pub block: u32,
    /// Indexes of the table that its conditions could use, by position in the definition.
    pub possible: Vec<usize>,
    /// Rows that one pass of the access reads, before any filter; 0: not known.
    pub examined: f64,
    /// Of a join that stands for a subquery: the strategy that it carries out.
    pub strategy: Option<Strategy>,
    /// Of an aggregation: its input is the rows at the ends of indexes, one each, found by a descent.
    pub optimized_away: bool,
}

/// How a subquery is run (MySQL manual, 10.2.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Strategy {
    /// Semijoin: an outer row is done with at its first match.
    FirstMatch,
    /// Semijoin: the distinct values of an index of the inner table drive the join.
    LooseScan,
    /// Semijoin: outer rows are looked up among the inner values.
    MaterializeLookup,
    /// Semijoin: the distinct inner values drive the join.
    MaterializeScan,
    /// Semijoin: inner rows drive it, and each outer row is let through once.
    DuplicateWeedout,
    /// Not a semijoin: the subquery's rows are kept under a hash key and each value is looked up.
    Materialization,
    /// Not a semijoin: the value is pushed into the subquery, which runs for each.
    InToExists,
    /// A grouped derived table is computed for the groups that the outer rows ask for, one after the other.
    SplitMaterialized,
}

/// What tells, where an [`PlanOp::Apply`]'s subplan has no row, whether the comparison was UNKNOWN.
#[derive(Clone, Debug)]
pub struct UnknownTest {
    /// Made only if this parameter is NULL (true), or is not (false).
    pub when_null: Option<(ParamId, bool)>,
    /// The parameters that `subplan` reads.
    pub params: Vec<ParamId>,
    /// Has a row if the comparison was UNKNOWN.
    pub subplan: Box<PlanNode>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JoinKind {
    /// Probe columns ++ build columns.
    Inner,
    /// Every probe row; build columns NULL where nothing matches.
    Left,
    /// Every build row; probe columns NULL where nothing matches. (RIGHT JOIN with sides kept.)
    Right,
    /// Probe rows that have a match. Output: probe columns.
    Semi,
    /// Probe rows that have none. Output: probe columns.
    Anti,
    /// Build rows that have a match / none. Output: build columns.
    RightSemi,
    RightAnti,
    /// Probe columns ++ one Bool column: TRUE if a match exists; UNKNOWN if `null_aware` and a comparison was UNKNOWN
    /// and none TRUE; else FALSE.
    Mark {
        null_aware: bool,
    },
    /// Anti with NOT IN's semantics: a probe row stays only if the mark would be FALSE. Output: probe columns.
    NullAwareAnti,
    /// Like Left, but error 1242 if a probe row has more than one match.
    Single,
}

/// One equality of a hash join.
#[derive(Clone, Debug)]
pub struct JoinKey {
    /// Over the probe input.
    pub probe: Expr,
    /// Over the build input, of the same comparison type.
    pub build: Expr,
    /// `<=>`: NULL matches NULL.
    pub null_safe: bool,
}

/// A filter learnt from a hash join's build side and applied in a scan of its probe side (min/max, bloom, small set).
#[derive(Clone, Debug)]
pub struct SidewaysTarget {
    /// Identifies the filter; the producing HashJoin lists the same id.
    pub filter_id: u32,
    /// Position in the scan's `columns`.
    pub column: usize,
}

#[derive(Clone, Debug)]
pub struct SidewaysSource {
    pub filter_id: u32,
    /// Index into the join's `keys`.
    pub key: usize,
}

/// How a join by index collects keys before it looks them up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeyBuffer {
    /// Bytes of input rows and keys that a thread collects (join_buffer_size).
    pub bytes: u64,
    /// Bytes of row ids that it collects before it reads rows (read_rnd_buffer_size).
    pub row_id_bytes: u64,
    /// Keys are sorted before the index is asked (mrr_sort_keys).
    pub sorts_keys: bool,
}

/// The hash join that a join by index may become.
#[derive(Clone, Debug)]
pub struct HashRescue {
    /// Input rows from which on reading the whole table once is the better bargain.
    pub after_rows: u64,
    /// Equalities: `probe` over the input, `build` over the table columns that are read.
    pub keys: Vec<JoinKey>,
}

#[derive(Clone, Debug)]
pub struct SortKey {
    pub expr: Expr,
    /// NULLs sort first ascending, last descending, as MySQL.
    pub descending: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SetOpKind {
    UnionAll,
    IntersectAll,
    IntersectDistinct,
    ExceptAll,
    ExceptDistinct,
}

#[derive(Clone, Debug)]
pub enum PlanOp {
    /// One row without columns: SELECT 1.
    OneRow,
    /// No rows (contradictory WHERE).
    Empty,
    /// Literal rows; expressions over no input.
    Values {
        rows: Rows,
    },
    /// Reads a table where it lies.
    Scan {
        table: Arc<TableDef>,
        alias: Box<str>,
        /// Table columns read, by position in the definition. `filters` see these positions.
        columns: Vec<usize>,
        /// Conjuncts over `columns`; the scan derives zone-map tests from them and orders them adaptively.
        filters: Vec<Expr>,
        /// Which of `columns` are output, in order; columns only filters need are not listed.
        project: Vec<usize>,
        sideways: Vec<SidewaysTarget>,
        /// Output the row id (BIGINT UNSIGNED) as one more, last column.
        with_row_id: bool,
    },
    /// Rows of a table whose unique key equals given values: at most one row a key tuple.
    KeyLookup {
        table: Arc<TableDef>,
        alias: Box<str>,
        /// Index into `table.indexes`, a unique one whose parts all have values.
        index: usize,
        /// Key tuples, each expression constant at execution.
        keys: Vec<Vec<Expr>>,
        columns: Vec<usize>,
        filters: Vec<Expr>,
        project: Vec<usize>,
        with_row_id: bool,
    },
    /// Rows found by ranges of an index.
    IndexScan {
        table: Arc<TableDef>,
        alias: Box<str>,
        /// Index into `table.indexes`.
        index: usize,
        /// In any order; they may overlap. One without bounds: the whole index.
        ranges: Vec<IndexRange>,
        /// From the greatest key to the least.
        reverse: bool,
        /// The rows are wanted in the order of the index.
        ordered: bool,
        columns: Vec<usize>,
        /// Conjuncts over `columns` that the ranges answer: tested only where rows come in another way.
        answered: Vec<Expr>,
        filters: Vec<Expr>,
        project: Vec<usize>,
        with_row_id: bool,
        /// Rows after which the reader is likely to stop.
        expected_rows: Option<u64>,
        entries: Box<EntryUse>,
    },
    /// For each input row the rows of `table` that have its key in an index. Inner, without a buffer: the order of the
    /// input is kept.
    IndexJoin {
        /// Inner, Left, Semi or Anti.
        kind: JoinKind,
        input: Box<PlanNode>,
        table: Arc<TableDef>,
        alias: Box<str>,
        index: usize,
        /// Leading parts, over the input.
        key: Vec<KeyValue>,
        /// Table columns read, by position in the definition.
        columns: Vec<usize>,
        /// Over `columns`; those that `entries` tests are among them only where that does not answer them.
        filters: Vec<Expr>,
        entries: Box<EntryUse>,
        /// Over input ++ `columns`; with `filters` decides what matches. Holds the equalities of the key as well.
        condition: Vec<Expr>,
        /// Which of input ++ `columns` (++ row id) are output.
        project: Vec<usize>,
        with_row_id: bool,
        /// Batched Key Access; none: as the input's rows come.
        buffer: Option<KeyBuffer>,
        /// What the operator turns into when far more input rows come than were expected.
        rescue: Option<HashRescue>,
    },
    /// Adds columns of a base table by row id: late materialization. Output: input columns ++ fetched columns.
    Fetch {
        input: Box<PlanNode>,
        table: Arc<TableDef>,
        row_id: usize,
        columns: Vec<usize>,
    },
    Filter {
        input: Box<PlanNode>,
        predicates: Vec<Expr>,
    },
    /// Output: one column an expression.
    Project {
        input: Box<PlanNode>,
        exprs: Vec<Expr>,
    },
    HashJoin {
        kind: JoinKind,
        probe: Box<PlanNode>,
        build: Box<PlanNode>,
        /// At least one.
        keys: Vec<JoinKey>,
        /// Further ON condition over probe ++ build columns; decides matches (before NULL-extension).
        residual: Option<Expr>,
        sideways: Vec<SidewaysSource>,
        /// Mark / NullAwareAnti: how many leading keys belong to the IN comparison; the rest are correlation equalities
        /// (plain: NULL never matches).
        in_keys: usize,
        /// Which of the natural output columns (see [`JoinKind`]) are output, in order.
        project: Vec<usize>,
    },
    /// No equality to hash on: cross products and other conditions. Same kinds and output.
    NestedLoopJoin {
        kind: JoinKind,
        probe: Box<PlanNode>,
        build: Box<PlanNode>,
        /// Over probe ++ build columns. For Mark{null_aware}/NullAwareAnti its UNKNOWN counts as UNKNOWN.
        condition: Option<Expr>,
        project: Vec<usize>,
        /// Block nested loop: probe rows meet build rows a batch at a time; else each by itself.
        blocks: bool,
    },
    /// Runs `subplan` for each value of `params` and joins its rows: dependent subqueries.
    Apply {
        input: Box<PlanNode>,
        subplan: Box<PlanNode>,
        params: Vec<(ParamId, Expr)>,
        kind: JoinKind,
        /// What came of a value is kept for its next occurrence.
        cache: bool,
        /// Mark {null_aware} and NullAwareAnti: `subplan` has a row if the comparison is TRUE; else the first of these
        /// that has one makes it UNKNOWN.
        unknown: Vec<UnknownTest>,
    },
    /// Output: group expressions ++ aggregates. No groups: one row, always.
    Aggregate {
        input: Box<PlanNode>,
        groups: Vec<Expr>,
        /// Which groups are strings of which few different ones are expected; shorter than `groups` if the last are
        /// not.
        few: Vec<bool>,
        aggregates: Vec<AggCall>,
        /// WITH ROLLUP: also every prefix of the groups, the rest NULL.
        rollup: bool,
        /// The input brings each group's rows together; groups come in its order. Not with ROLLUP or DISTINCT.
        ordered: bool,
    },
    /// Distinct rows of the input (all columns, by collation).
    Distinct {
        input: Box<PlanNode>,
    },
    /// `limit`: top-N of offset + limit rows.
    Sort {
        input: Box<PlanNode>,
        keys: Vec<SortKey>,
        limit: Option<u64>,
        offset: u64,
    },
    Limit {
        input: Box<PlanNode>,
        limit: Option<u64>,
        offset: u64,
    },
    /// Output: input columns ++ one column a call. The first rows in an order, by a walk that may give up
    /// ([`EntryUse::give_up`]) before it has found them; then its rows are thrown away, and `otherwise`, which answers
    /// the same, is run.
    Attempt {
        first: Box<PlanNode>,
        otherwise: Box<PlanNode>,
    },
    Window {
        input: Box<PlanNode>,
        partition_by: Vec<Expr>,
        order_by: Vec<SortKey>,
        calls: Vec<WindowCall>,
    },
    /// Inputs have equal column types (the planner inserted casts). Union distinct = Distinct over UnionAll.
    SetOp {
        kind: SetOpKind,
        inputs: Vec<PlanNode>,
    },
    /// Computes each definition once (when first read), then runs `input`, whose CteScans read it.
    With {
        ctes: Vec<CteDef>,
        input: Box<PlanNode>,
    },
    CteScan {
        cte_id: u32,
        name: Box<str>,
    },
    /// Rows of `anchor`, then of `recursive` over the rows of the previous round (its CteScan of `cte_id`), until none.
    /// `distinct`: UNION DISTINCT. Error 3636 past cte_max_recursion_depth rounds.
    RecursiveUnion {
        cte_id: u32,
        anchor: Box<PlanNode>,
        recursive: Box<PlanNode>,
        distinct: bool,
    },
    /// An error if the input has more than one row (1242); no row becomes one row of NULLs.
    SingleRow {
        input: Box<PlanNode>,
    },
    /// Rows made by the server itself: information_schema, SHOW. The engine supplies them by name.
    Virtual {
        schema: Box<str>,
        name: Box<str>,
        columns: Vec<usize>,
        table: Arc<TableDef>,
        /// Columns of the table, and constants that their values equal in the rows that are read on: who makes the rows
        /// may leave out others.
        wanted: Vec<(usize, Expr)>,
    },
}

#[derive(Clone, Debug)]
pub struct CteDef {
    pub cte_id: u32,
    pub name: Box<str>,
    pub plan: Box<PlanNode>,
}

impl Plan {
    /// One more than the largest node id.
    pub fn node_count(&self) -> usize {
        fn largest(n: &PlanNode) -> u32 {
            n.inputs().into_iter().map(largest).max().unwrap_or(0).max(n.id)
        }
        let init = self.init.iter().map(|i| largest(&i.plan)).max().unwrap_or(0);
        largest(&self.root).max(init) as usize + 1
    }
}
