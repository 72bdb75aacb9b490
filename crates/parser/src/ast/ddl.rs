//! Schemas, tables, indexes, views.

use super::{
    Account, AlterAlgorithm, AlterLock, DataType, Expr, Ident, ObjectName, PartitionBy, Query, SourceText, Span,
};

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
    /// `UNIQUE [KEY]`
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
    /// `[DEFAULT] CHARACTER SET`
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

/// `DROP [TEMPORARY] TABLE`. RESTRICT and CASCADE do nothing in MySQL.
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
