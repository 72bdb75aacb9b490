//! Where a statement's answer goes: the wire, the shell or a program. Implemented above; the engine only calls it.
//!
//! ```text
//! columns ─▶ batch* ─▶ end_rows        a result set
//! ok                                   anything else
//! ```
//! A statement that fails returns an `Err` from `Session::execute`, possibly after `columns` and some batches.

use std::any::Any;
use std::io::Read;
use std::sync::OnceLock;
use types::{Result, SqlType};
use vector::{Batch, Chunk};

/// An output column as clients see it (COM_QUERY's column definition).
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnMeta {
    pub schema: Box<str>,
    /// Alias of the table.
    pub table: Box<str>,
    pub org_table: Box<str>,
    pub name: Box<str>,
    pub org_name: Box<str>,
    pub ty: SqlType,
    /// The type that batches hold the column in: `ty`, or DATETIME in the session's time zone for a TIMESTAMP.
    pub data_ty: SqlType,
    pub nullable: bool,
    pub primary_key: bool,
    pub unique_key: bool,
    pub multiple_key: bool,
    /// In some index.
    pub part_key: bool,
    pub auto_increment: bool,
    /// INSERT has to name it.
    pub no_default: bool,
    /// DEFAULT or ON UPDATE CURRENT_TIMESTAMP; the latter.
    pub timestamp: bool,
    pub on_update_now: bool,
    pub unsigned: bool,
    pub zerofill: bool,
    /// Digits behind the point of a FLOAT(M,D) or DOUBLE(M,D).
    pub decimals: Option<u8>,
    /// Characters that a client should reserve; `None`: the type's own.
    pub display_width: Option<u32>,
}

impl ColumnMeta {
    /// A computed column.
    pub fn computed(name: &str, ty: SqlType, nullable: bool) -> ColumnMeta {
        ColumnMeta {
            schema: "".into(),
            table: "".into(),
            org_table: "".into(),
            name: name.into(),
            org_name: "".into(),
            ty,
            data_ty: ty,
            nullable,
            primary_key: false,
            unique_key: false,
            multiple_key: false,
            part_key: false,
            auto_increment: false,
            no_default: false,
            timestamp: false,
            on_update_now: false,
            unsigned: ty.is_unsigned(),
            zerofill: false,
            decimals: None,
            display_width: None,
        }
    }
}

/// The columns of results that are sent again and again.
#[derive(Debug)]
pub struct ResultShape {
    pub columns: Vec<ColumnMeta>,
    /// What a sink makes of them once, for the next time.
    prepared: OnceLock<Box<dyn Any + Send + Sync>>,
}

impl ResultShape {
    pub fn new(columns: Vec<ColumnMeta>) -> ResultShape {
        ResultShape { columns, prepared: OnceLock::new() }
    }

    /// What a sink has made of the columns; made by the first that asks. `None`: another kind of sink was faster.
    pub fn prepared<T: Any + Send + Sync>(&self, make: impl FnOnce(&[ColumnMeta]) -> T) -> Option<&T> {
        self.prepared.get_or_init(|| Box::new(make(&self.columns))).downcast_ref()
    }
}

impl ResultShape {
    /// A copy of one row.
    pub fn one_row(&self, at: RowAt<'_, '_>) -> Batch {
        let column = |(i, meta): (usize, &ColumnMeta)| {
            let (chunk, position) = at(i);
            let mut one = chunk.gather(&[position as u16]);
            one.widen_to(meta.data_ty.phys());
            vector::Vector::flat(one)
        };
        Batch::new(1, self.columns.iter().enumerate().map(column).collect())
    }
}

/// Where a column of a row lies: the chunk and the position in it, by position in the result.
pub type RowAt<'r, 'l> = &'r dyn Fn(usize) -> (&'l Chunk, usize);

/// The session's state as OK and EOF packets report it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatusFlags {
    pub in_transaction: bool,
    pub autocommit: bool,
    /// Another result of the same command follows.
    pub more_results: bool,
    pub no_backslash_escapes: bool,
    pub in_read_only_transaction: bool,
}

/// End of a statement without rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OkInfo {
    pub affected_rows: u64,
    /// First AUTO_INCREMENT value that the statement made, or LAST_INSERT_ID(expr); 0 if none.
    pub last_insert_id: u64,
    pub warnings: u64,
    pub status: StatusFlags,
    /// "Records: 3  Duplicates: 0  Warnings: 0"
    pub info: String,
    /// Set when the statement changed the current database: clients with session tracking are told.
    pub schema_changed: Option<Box<str>>,
}

/// End of a result set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EndInfo {
    pub warnings: u64,
    pub status: StatusFlags,
}

pub trait ResultSink {
    fn columns(&mut self, columns: &[ColumnMeta]) -> Result<()>;
    /// Selected rows of `batch`, of the types announced by `columns`.
    fn batch(&mut self, batch: &Batch) -> Result<()>;
    /// [`ResultSink::columns`] of a result that may be sent again.
    fn shared_columns(&mut self, shape: &ResultShape) -> Result<()> {
        self.columns(&shape.columns)
    }
    /// One row, where it lies. A latch is held: this must not wait for anybody.
    fn row_at(&mut self, shape: &ResultShape, at: RowAt<'_, '_>) -> Result<()> {
        self.batch(&shape.one_row(at))
    }
    /// Behind a [`ResultSink::row_at`], with no latch held.
    fn row_done(&mut self) -> Result<()> {
        Ok(())
    }
    fn end_rows(&mut self, end: &EndInfo) -> Result<()>;
    fn ok(&mut self, ok: &OkInfo) -> Result<()>;
    /// LOAD DATA LOCAL: the client's file. Error 3948 where the client does not offer files.
    fn local_infile(&mut self, name: &str) -> Result<Box<dyn Read + Send + '_>>;
}
