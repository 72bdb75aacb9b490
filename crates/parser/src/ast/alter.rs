//! ALTER TABLE.

use super::{
    ColumnDef, Expr, Ident, KeyPart, ObjectName, PartitionBy, PartitionDef, Span, TableConstraint, TableOption,
};

/// ALTER TABLE.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterTable {
    pub name: ObjectName,
    /// In order. Empty for a bare ALTER TABLE t.
    pub specs: Vec<AlterSpec>,
    /// PARTITION BY or REMOVE PARTITIONING at the end
    pub partitioning: Option<AlterPartitioning>,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub enum AlterPartitioning {
    By(Box<PartitionBy>),
    Remove,
}

#[derive(Clone, Debug, PartialEq)]
pub enum AlterSpec {
    AddColumn {
        column: ColumnDef,
        position: Option<ColumnPosition>,
    },
    /// ADD COLUMN (a INT, KEY (a), ...)
    AddColumns {
        columns: Vec<ColumnDef>,
        constraints: Vec<TableConstraint>,
    },
    AddConstraint(TableConstraint),
    DropColumn(Ident),
    DropPrimaryKey,
    DropIndex(Ident),
    DropForeignKey(Ident),
    DropCheck(Ident),
    /// DROP CONSTRAINT: a key, foreign key or check
    DropConstraint(Ident),
    ModifyColumn {
        column: ColumnDef,
        position: Option<ColumnPosition>,
    },
    ChangeColumn {
        old: Ident,
        column: ColumnDef,
        position: Option<ColumnPosition>,
    },
    RenameColumn {
        old: Ident,
        new: Ident,
    },
    RenameIndex {
        old: Ident,
        new: Ident,
    },
    RenameTo(ObjectName),
    /// ALTER COLUMN c SET DEFAULT
    SetDefault {
        column: Ident,
        value: Expr,
        parens: bool,
    },
    DropDefault(Ident),
    SetColumnVisible {
        column: Ident,
        visible: bool,
    },
    SetIndexVisible {
        index: Ident,
        visible: bool,
    },
    /// `ALTER CHECK|CONSTRAINT c [NOT] ENFORCED`
    SetEnforced {
        constraint: Ident,
        enforced: bool,
    },
    Option(TableOption),
    ConvertCharset {
        charset: Option<Ident>,
        collation: Option<Ident>,
    },
    OrderBy(Vec<KeyPart>),
    EnableKeys,
    DisableKeys,
    Force,
    Algorithm(AlterAlgorithm),
    Lock(AlterLock),
    WithValidation(bool),
    SecondaryLoad,
    SecondaryUnload,
    DiscardTablespace,
    ImportTablespace,
    // partitions
    AddPartition {
        definitions: Vec<PartitionDef>,
        count: Option<u64>,
        no_write_to_binlog: bool,
    },
    DropPartition(Vec<Ident>),
    ReorganizePartition {
        names: Vec<Ident>,
        into: Vec<PartitionDef>,
        no_write_to_binlog: bool,
    },
    CoalescePartition {
        count: u64,
        no_write_to_binlog: bool,
    },
    TruncatePartition(PartitionNames),
    ExchangePartition {
        name: Ident,
        table: ObjectName,
        validation: bool,
    },
    AnalyzePartition(PartitionNames),
    CheckPartition(PartitionNames),
    OptimizePartition(PartitionNames),
    RepairPartition(PartitionNames),
    RebuildPartition(PartitionNames),
    DiscardPartitionTablespace(PartitionNames),
    ImportPartitionTablespace(PartitionNames),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartitionNames {
    All,
    Names(Vec<Ident>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColumnPosition {
    First,
    After(Ident),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AlterAlgorithm {
    Default,
    Instant,
    Inplace,
    Copy,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AlterLock {
    Default,
    None,
    Shared,
    Exclusive,
}
