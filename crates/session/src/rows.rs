//! Small row sets that the server itself makes: SHOW, information_schema, maintenance statements.

use crate::sink::{ColumnMeta, EndInfo, ResultSink};
use catalog::{ColumnDef, TableDef, TableEngine, TableId};
use types::{Collation, Result, SqlType, Value};
use vector::{BATCH_ROWS_MAX, Batch, ChunkBuilder, Vector};

/// Named, typed columns and rows of exactly those types.
#[derive(Debug, Clone)]
pub struct RowSet {
    pub columns: Vec<(Box<str>, SqlType)>,
    pub rows: Vec<Vec<Value>>,
}

/// VARCHAR in the server's own collation, as information_schema has it.
pub const fn text(len: u32) -> SqlType {
    SqlType::varchar(len, Collation::Utf8mb4GeneralCi)
}

/// LONGTEXT, likewise.
pub const fn long_text() -> SqlType {
    SqlType::String { kind: types::StringKind::LongText, len: u32::MAX, collation: Collation::Utf8mb4GeneralCi }
}

pub const BIGINT: SqlType = SqlType::BIGINT;
pub const UBIGINT: SqlType = SqlType::BIGINT_UNSIGNED;

impl RowSet {
    pub fn new(columns: &[(&str, SqlType)]) -> RowSet {
        RowSet { columns: columns.iter().map(|(n, ty)| ((*n).into(), *ty)).collect(), rows: Vec::new() }
    }

    pub fn push(&mut self, row: Vec<Value>) {
        debug_assert_eq!(row.len(), self.columns.len());
        self.rows.push(row);
    }

    pub fn metas(&self) -> Vec<ColumnMeta> {
        self.columns.iter().map(|(name, ty)| ColumnMeta::computed(name, *ty, true)).collect()
    }

    /// The rows as batches; `projection` picks columns.
    pub fn batches(&self, projection: &[usize]) -> Vec<Batch> {
        self.rows
            .chunks(BATCH_ROWS_MAX)
            .map(|rows| {
                let columns = projection
                    .iter()
                    .map(|&c| {
                        let mut b = ChunkBuilder::new(self.columns[c].1.phys(), rows.len());
                        for row in rows {
                            b.push(&row[c]);
                        }
                        Vector::flat(b.finish())
                    })
                    .collect();
                Batch::new(rows.len(), columns)
            })
            .collect()
    }

    pub fn all_batches(&self) -> Vec<Batch> {
        let all: Vec<usize> = (0..self.columns.len()).collect();
        self.batches(&all)
    }

    /// Sends everything as one result set.
    pub fn send(&self, sink: &mut dyn ResultSink, end: &EndInfo) -> Result<()> {
        sink.columns(&self.metas())?;
        for batch in self.all_batches() {
            sink.batch(&batch)?;
        }
        sink.end_rows(end)
    }

    /// A definition with these columns, for binding expressions over them and for information_schema.
    pub fn table_def(&self, id: TableId, schema: &str, name: &str) -> TableDef {
        virtual_table(id, schema, name, &self.columns)
    }
}

/// A definition of a table whose rows the server makes.
pub fn virtual_table(id: TableId, schema: &str, name: &str, columns: &[(impl AsRef<str>, SqlType)]) -> TableDef {
    TableDef {
        id,
        schema: schema.into(),
        name: name.into(),
        columns: columns
            .iter()
            .map(|(name, ty)| ColumnDef { unsigned: ty.is_unsigned(), ..ColumnDef::plain(name.as_ref(), *ty, true) })
            .collect(),
        indexes: Vec::new(),
        checks: Vec::new(),
        foreign_keys: Vec::new(),
        engine: TableEngine::Virtual,
        collation: Collation::Utf8mb4GeneralCi,
        comment: "".into(),
        options: Vec::new(),
        created_at: 0,
        temporary: false,
    }
}

/// Shorthand for rows.
pub fn s(text: impl AsRef<str>) -> Value {
    Value::str(text.as_ref())
}

pub fn opt(text: Option<impl AsRef<str>>) -> Value {
    text.map_or(Value::Null, |t| Value::str(t.as_ref()))
}

pub fn int(v: impl TryInto<i64>) -> Value {
    Value::Int(v.try_into().unwrap_or(i64::MAX))
}

pub fn uint(v: u64) -> Value {
    Value::UInt(v)
}

/// A value for a message.
pub fn display(v: &Value) -> String {
    match v {
        Value::Bytes(b) => String::from_utf8_lossy(b).into_owned(),
        Value::Null => "NULL".into(),
        other => String::from_utf8_lossy(&other.to_text().unwrap_or_default()).into_owned(),
    }
}
