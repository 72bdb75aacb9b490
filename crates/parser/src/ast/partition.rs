//! PARTITION BY and its definitions.

use super::{Expr, Ident};

/// PARTITION BY.
#[derive(Clone, Debug, PartialEq)]
pub struct PartitionBy {
    pub method: PartitionMethod,
    /// PARTITIONS n
    pub count: Option<u64>,
    pub subpartition: Option<SubpartitionBy>,
    pub definitions: Vec<PartitionDef>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum PartitionMethod {
    Hash { linear: bool, expr: Expr },
    Key { linear: bool, algorithm: Option<u32>, columns: Vec<Ident> },
    Range(Expr),
    RangeColumns(Vec<Ident>),
    List(Expr),
    ListColumns(Vec<Ident>),
}

/// SUBPARTITION BY, with HASH or KEY.
#[derive(Clone, Debug, PartialEq)]
pub struct SubpartitionBy {
    pub method: PartitionMethod,
    pub count: Option<u64>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct PartitionDef {
    pub name: Ident,
    pub values: PartitionValues,
    pub options: Vec<PartitionOption>,
    pub subpartitions: Vec<SubpartitionDef>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum PartitionValues {
    /// HASH and KEY
    None,
    /// VALUES LESS THAN (bounds); one per column
    LessThan(Vec<RangeBound>),
    /// VALUES LESS THAN MAXVALUE, without parentheses
    LessThanMax,
    /// VALUES IN (rows); one value per row for LIST, one per column for LIST COLUMNS
    In(Vec<Vec<Expr>>),
}

#[derive(Clone, Debug, PartialEq)]
pub enum RangeBound {
    Value(Expr),
    MaxValue,
}

#[derive(Clone, Debug, PartialEq)]
pub struct SubpartitionDef {
    pub name: Ident,
    pub options: Vec<PartitionOption>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartitionOption {
    Engine(Ident),
    Comment(Box<str>),
    DataDirectory(Box<str>),
    IndexDirectory(Box<str>),
    MaxRows(u64),
    MinRows(u64),
    Tablespace(Ident),
    Nodegroup(u64),
}
