//! Schemas, tables, indexes, views.

use super::{Account, Expr, GeometryKind, Ident, ObjectName, Query, SourceText, Span};

/// A type as written in a column definition.
#[derive(Clone, Debug, PartialEq)]
pub enum DataType {
    /// BIT[(n)], default 1
    Bit(Option<u32>),
    /// BOOL and BOOLEAN are TINYINT with width 1
    Int {
        size: IntType,
        width: Option<u32>,
        unsigned: bool,
        zerofill: bool,
    },
    /// DECIMAL, DEC, NUMERIC, FIXED; default (10,0)
    Decimal {
        precision: Option<u32>,
        scale: Option<u32>,
        unsigned: bool,
        zerofill: bool,
    },
    /// FLOAT, FLOAT(p) with p <= 24, FLOAT(m,d). `digits` is (m,d)
    Float {
        digits: Option<(u32, u32)>,
        unsigned: bool,
        zerofill: bool,
    },
    /// DOUBLE [PRECISION], REAL, FLOAT(p) with p > 24
    Double {
        digits: Option<(u32, u32)>,
        unsigned: bool,
        zerofill: bool,
    },
    /// CHAR[(n)], default 1. National ones have charset utf8mb3. CHAR BYTE is BINARY.
    Char {
        len: Option<u32>,
        charset: CharsetSpec,
    },
    VarChar {
        len: u32,
        charset: CharsetSpec,
    },
    Binary(Option<u32>),
    VarBinary(u32),
    /// `len`: TEXT(n) picks the smallest tier that holds n characters
    Text {
        tier: LobTier,
        len: Option<u32>,
        charset: CharsetSpec,
    },
    Blob {
        tier: LobTier,
        len: Option<u32>,
    },
    Enum {
        values: Vec<Box<[u8]>>,
        charset: CharsetSpec,
    },
    Set {
        values: Vec<Box<[u8]>>,
        charset: CharsetSpec,
    },
    Date,
    Time(Option<u32>),
    DateTime(Option<u32>),
    Timestamp(Option<u32>),
    /// YEAR[(4)]
    Year(Option<u32>),
    Json,
    Geometry(GeometryKind),
    /// BIGINT UNSIGNED NOT NULL AUTO_INCREMENT UNIQUE
    Serial,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IntType {
    TinyInt,
    SmallInt,
    MediumInt,
    Int,
    BigInt,
}

/// Size class of TEXT and BLOB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LobTier {
    Tiny,
    Normal,
    Medium,
    Long,
}

/// CHARACTER SET and the old attributes of character types. COLLATE is a [`ColumnAttr::Collate`].
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct CharsetSpec {
    /// ASCII is latin1, UNICODE is ucs2
    pub charset: Option<Ident>,
    /// BINARY: the character set's `_bin` collation
    pub binary: bool,
}

/// CREATE TABLE.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateTable {
    pub temporary: bool,
    pub if_not_exists: bool,
    pub name: ObjectName,
    pub body: CreateTableBody,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub enum CreateTableBody {
    Like(ObjectName),
    Define(Box<TableDef>),
}

/// Columns, keys, options, partitions and the query of CREATE TABLE.
#[derive(Clone, Debug, PartialEq)]
pub struct TableDef {
    pub columns: Vec<ColumnDef>,
    /// keys, foreign keys and checks, in order
    pub constraints: Vec<TableConstraint>,
    pub options: Vec<TableOption>,
    pub partition_by: Option<Box<PartitionBy>>,
    /// what CREATE TABLE .. SELECT does with duplicates
    pub on_duplicate: SelectDuplicates,
    pub query: Option<Box<Query>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum SelectDuplicates {
    #[default]
    Error,
    Ignore,
    Replace,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ColumnDef {
    pub name: Ident,
    pub ty: DataType,
    /// in order; later ones win
    pub attrs: Vec<ColumnAttr>,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ColumnAttr {
    Null,
    NotNull,
    /// A literal (maybe signed), `now` with an optional precision, or any expression if `parens`
    Default {
        value: Expr,
        /// written as `DEFAULT (expr)`
        parens: bool,
    },
    /// ON UPDATE CURRENT_TIMESTAMP[(fsp)]
    OnUpdateNow {
        fsp: Option<u32>,
    },
    AutoIncrement,
    /// PRIMARY KEY or KEY
    PrimaryKey,
    /// UNIQUE [KEY]
    Unique,
    Comment(Box<str>),
    Collate(Ident),
    Generated {
        expr: Expr,
        /// the expression as written
        text: SourceText,
        stored: bool,
    },
    Check(CheckDef),
    /// Parsed and ignored by MySQL before 9.0 when in a column (the manual says so); kept here
    References(References),
    Visible,
    Invisible,
    ColumnFormat(Ident),
    Storage(Ident),
    Srid(u32),
    /// SERIAL DEFAULT VALUE: NOT NULL AUTO_INCREMENT UNIQUE
    SerialDefaultValue,
    EngineAttribute(Box<str>),
    SecondaryEngineAttribute(Box<str>),
    NotSecondary,
}

/// `[CONSTRAINT name] CHECK (expr) [[NOT] ENFORCED]`
#[derive(Clone, Debug, PartialEq)]
pub struct CheckDef {
    pub name: Option<Ident>,
    pub expr: Expr,
    pub text: SourceText,
    pub enforced: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub enum TableConstraint {
    Index(IndexDef),
    ForeignKey(ForeignKey),
    Check(CheckDef),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IndexKind {
    Primary,
    Unique,
    /// KEY, INDEX
    Plain,
    FullText,
    Spatial,
}

#[derive(Clone, Debug, PartialEq)]
pub struct IndexDef {
    pub kind: IndexKind,
    /// CONSTRAINT symbol of PRIMARY and UNIQUE; names the index when `name` is None
    pub constraint: Option<Ident>,
    pub name: Option<Ident>,
    pub parts: Vec<KeyPart>,
    pub options: IndexOptions,
}

/// `column[(prefix)] [ASC|DESC]` or `(expr) [ASC|DESC]`
#[derive(Clone, Debug, PartialEq)]
pub struct KeyPart {
    pub key: KeyPartKey,
    pub desc: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub enum KeyPartKey {
    Column { name: Ident, prefix: Option<u32> },
    Expr { expr: Expr, text: SourceText },
}

#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct IndexOptions {
    pub using: Option<IndexType>,
    pub key_block_size: Option<u64>,
    pub comment: Option<Box<str>>,
    pub parser: Option<Ident>,
    /// INVISIBLE; later VISIBLE takes it back
    pub invisible: bool,
    pub engine_attribute: Option<Box<str>>,
    pub secondary_engine_attribute: Option<Box<str>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IndexType {
    BTree,
    Hash,
    RTree,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ForeignKey {
    pub constraint: Option<Ident>,
    pub index_name: Option<Ident>,
    pub columns: Vec<Ident>,
    pub references: References,
}

#[derive(Clone, Debug, PartialEq)]
pub struct References {
    pub table: ObjectName,
    pub columns: Vec<Ident>,
    pub match_: Option<FkMatch>,
    pub on_delete: Option<FkAction>,
    pub on_update: Option<FkAction>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FkMatch {
    Full,
    Partial,
    Simple,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FkAction {
    Restrict,
    Cascade,
    SetNull,
    NoAction,
    SetDefault,
}

/// Options after the parentheses of CREATE TABLE, or in ALTER TABLE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TableOption {
    Engine(Ident),
    SecondaryEngine(Option<Ident>),
    AutoIncrement(u64),
    AvgRowLength(u64),
    /// [DEFAULT] CHARACTER SET
    Charset(Ident),
    Collate(Ident),
    Checksum(u64),
    Comment(Box<str>),
    Compression(Box<str>),
    Connection(Box<str>),
    DataDirectory(Box<str>),
    IndexDirectory(Box<str>),
    DelayKeyWrite(u64),
    Encryption(Box<str>),
    InsertMethod(Ident),
    KeyBlockSize(u64),
    MaxRows(u64),
    MinRows(u64),
    PackKeys(OptionValue),
    Password(Box<str>),
    RowFormat(Ident),
    /// START TRANSACTION
    StartTransaction,
    StatsAutoRecalc(OptionValue),
    StatsPersistent(OptionValue),
    StatsSamplePages(OptionValue),
    Tablespace(Ident),
    Storage(Ident),
    Union(Vec<ObjectName>),
    AutoextendSize(u64),
    EngineAttribute(Box<str>),
    SecondaryEngineAttribute(Box<str>),
}

/// A number or DEFAULT.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OptionValue {
    Default,
    Number(u64),
}

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
    /// ALTER CHECK|CONSTRAINT c [NOT] ENFORCED
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

/// DROP [TEMPORARY] TABLE. RESTRICT and CASCADE do nothing in MySQL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DropTable {
    pub temporary: bool,
    pub if_exists: bool,
    pub tables: Vec<ObjectName>,
}

/// CREATE INDEX.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateIndex {
    /// `name` is set, `constraint` is not
    pub index: IndexDef,
    pub table: ObjectName,
    pub algorithm: Option<AlterAlgorithm>,
    pub lock: Option<AlterLock>,
}

/// DROP INDEX. `PRIMARY` names the primary key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DropIndex {
    pub name: Ident,
    pub table: ObjectName,
    pub algorithm: Option<AlterAlgorithm>,
    pub lock: Option<AlterLock>,
}

/// CREATE [OR REPLACE] VIEW and ALTER VIEW.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateView {
    pub or_replace: bool,
    /// ALTER VIEW
    pub alter: bool,
    pub if_not_exists: bool,
    pub algorithm: ViewAlgorithm,
    pub definer: Option<Account>,
    /// SQL SECURITY INVOKER
    pub invoker: bool,
    pub name: ObjectName,
    pub columns: Vec<Ident>,
    pub query: Box<Query>,
    /// the query as written
    pub text: SourceText,
    pub check_option: Option<ViewCheck>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum ViewAlgorithm {
    #[default]
    Undefined,
    Merge,
    Temptable,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ViewCheck {
    Local,
    /// also without a word
    Cascaded,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DropView {
    pub if_exists: bool,
    pub views: Vec<ObjectName>,
}

/// CREATE DATABASE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateDatabase {
    pub if_not_exists: bool,
    pub name: Ident,
    pub options: Vec<DatabaseOption>,
}

/// ALTER DATABASE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlterDatabase {
    /// None: the current one
    pub name: Option<Ident>,
    pub options: Vec<DatabaseOption>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DatabaseOption {
    Charset(Ident),
    Collate(Ident),
    /// ENCRYPTION 'Y' or 'N'
    Encryption(bool),
    ReadOnly(bool),
}
