//! Chosen columns of a table as Arrow record batches, as of one moment.
//!
//! | column | Arrow |
//! |---|---|
//! | TINYINT .. BIGINT, also UNSIGNED | Int8 .. Int64, UInt8 .. UInt64; MEDIUMINT: 32 bits |
//! | DECIMAL(p, s) | Decimal128(p, s), above 38 digits Decimal256(p, s) |
//! | FLOAT, DOUBLE | Float32, Float64 |
//! | CHAR, VARCHAR, TEXT | Utf8; LargeUtf8 for MEDIUMTEXT and LONGTEXT |
//! | BINARY, VARBINARY, BLOB | Binary; LargeBinary for MEDIUMBLOB and LONGBLOB |
//! | DATE | Date32 |
//! | TIME | Time64(us) |
//! | DATETIME | Timestamp(us) |
//! | TIMESTAMP | Timestamp(us, UTC) |
//! | YEAR | Int16 |
//!
//! Arrow has no dates with zeros for months or days, and no times of day below 0 or from 24 hours on: such values
//! become NULL, and are counted ([`ArrowScan::lost`]).
//!
//! A batch is what one leaf holds: at most 1024 rows.

use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int8Type, Int16Type,
    Int32Type, Int64Type, Time64MicrosecondType, TimestampMicrosecondType, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use arrow_array::{
    ArrayRef, BinaryArray, LargeBinaryArray, LargeStringArray, PrimitiveArray, RecordBatch, RecordBatchOptions,
    StringArray,
};
use arrow_buffer::{BooleanBuffer, NullBuffer, i256};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use catalog::{ColumnDef, Relation, TableDef, TableEngine};
use std::sync::Arc;
use types::{ArrowForm, Collation, Date, DateTime, Error, Result, SqlType, StringKind};
use vector::{Batch, Chunk, Values};

const DAY_US: i64 = 86_400_000_000;

/// A running scan: an iterator of record batches.
pub struct ArrowScan {
    batches: Box<dyn Iterator<Item = Batch> + Send>,
    columns: Vec<ColumnDef>,
    schema: SchemaRef,
    lost: u64,
}

impl std::fmt::Debug for ArrowScan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ArrowScan").field("schema", &self.schema).field("lost", &self.lost).finish_non_exhaustive()
    }
}

impl ArrowScan {
    /// Over the batches of a [`engine::Database::stream`] of these columns.
    pub(crate) fn new(
        table: &TableDef,
        columns: &[usize],
        stream: impl Iterator<Item = Batch> + Send + 'static,
    ) -> ArrowScan {
        let columns: Vec<ColumnDef> = columns.iter().map(|&c| table.columns[c].clone()).collect();
        let schema = Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()));
        ArrowScan { batches: Box::new(stream), columns, schema, lost: 0 }
    }

    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Values so far that Arrow cannot hold.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    fn convert(&mut self, batch: &Batch) -> Result<RecordBatch> {
        let positions = batch.selection.to_positions(batch.rows);
        let mut arrays = Vec::with_capacity(self.columns.len());
        for (column, vector) in self.columns.iter().zip(&batch.columns) {
            let mut chunk = vector.flatten(batch.rows).gather(&positions);
            chunk.widen_to(column.ty.phys());
            arrays.push(array(&column.ty, &chunk, &mut self.lost)?);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(positions.len()));
        RecordBatch::try_new_with_options(self.schema.clone(), arrays, &options).map_err(Error::internal)
    }
}

impl Iterator for ArrowScan {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        let batch = self.batches.next()?;
        Some(self.convert(&batch))
    }
}

impl crate::Database {
    /// Scans a table; `columns`: their names, or all that are not generated for keys. What is committed later is not
    /// seen.
    pub fn arrow_scan(&self, schema: &str, table: &str, columns: Option<&[&str]>) -> Result<ArrowScan> {
        let db = self.engine();
        let def = match db.catalog().relation(schema, table) {
            Some(Relation::Table(t)) if t.engine != TableEngine::Virtual => t,
            Some(_) => return Err(Error::wrong_object(schema, table, "BASE TABLE")),
            None => return Err(Error::no_such_table(schema, table)),
        };
        let columns: Vec<usize> = match columns {
            None => (0..def.shown_columns().len()).collect(),
            Some(names) => {
                let find = |n: &&str| def.column_idx(n).ok_or_else(|| Error::bad_field(*n, "field list"));
                names.iter().map(find).collect::<Result<_>>()?
            }
        };
        let stream = db.stream(&def, columns.clone(), &db.snapshot())?;
        Ok(ArrowScan::new(&def, &columns, stream))
    }
}

fn field(c: &ColumnDef) -> Field {
    let ty = data_type(&c.ty);
    // Values that Arrow cannot hold may become NULL.
    let temporal = matches!(ty, DataType::Date32 | DataType::Time64(_) | DataType::Timestamp(..));
    Field::new(&*c.name, ty, c.nullable || temporal)
}

fn is_large(kind: StringKind) -> bool {
    matches!(kind, StringKind::MediumText | StringKind::LongText)
}

/// The Arrow type of a column.
pub fn data_type(ty: &SqlType) -> DataType {
    match ty.record().arrow {
        ArrowForm::Integer { bytes, unsigned } => match (bytes, unsigned) {
            (1, false) => DataType::Int8,
            (1, true) => DataType::UInt8,
            (2, false) => DataType::Int16,
            (2, true) => DataType::UInt16,
            (4, false) => DataType::Int32,
            (4, true) => DataType::UInt32,
            (_, false) => DataType::Int64,
            (_, true) => DataType::UInt64,
        },
        ArrowForm::Decimal => match *ty {
            SqlType::Decimal { precision, scale } if precision > 38 => DataType::Decimal256(precision, scale as i8),
            SqlType::Decimal { precision, scale } => DataType::Decimal128(precision, scale as i8),
            _ => DataType::Null,
        },
        ArrowForm::Float32 => DataType::Float32,
        ArrowForm::Float64 => DataType::Float64,
        ArrowForm::Text { large: false } => DataType::Utf8,
        ArrowForm::Text { large: true } => DataType::LargeUtf8,
        ArrowForm::Binary { large: false } => DataType::Binary,
        ArrowForm::Binary { large: true } => DataType::LargeBinary,
        ArrowForm::Date32 => DataType::Date32,
        ArrowForm::Time64 => DataType::Time64(TimeUnit::Microsecond),
        ArrowForm::Timestamp { utc } => DataType::Timestamp(TimeUnit::Microsecond, utc.then(|| "UTC".into())),
    }
}

fn nulls(chunk: &Chunk) -> Option<NullBuffer> {
    chunk.has_nulls().then(|| NullBuffer::new(BooleanBuffer::collect_bool(chunk.len(), |i| chunk.is_valid(i))))
}

/// Values that are the same numbers in Arrow.
fn numbers<T: ArrowPrimitiveType>(values: &[T::Native], chunk: &Chunk) -> PrimitiveArray<T> {
    PrimitiveArray::new(values.to_vec().into(), nulls(chunk))
}

/// Values by `convert`, of which some have no counterpart.
fn converted<T: ArrowPrimitiveType, V: Copy>(
    values: &[V],
    chunk: &Chunk,
    lost: &mut u64,
    convert: impl Fn(V) -> Option<T::Native>,
) -> PrimitiveArray<T> {
    let mut one = |i: usize| {
        if !chunk.is_valid(i) {
            return None;
        }
        let v = convert(values[i]);
        *lost += v.is_none() as u64;
        v
    };
    (0..values.len()).map(&mut one).collect()
}

fn array(ty: &SqlType, chunk: &Chunk, lost: &mut u64) -> Result<ArrayRef> {
    Ok(match (&chunk.values, ty) {
        (Values::Str(_) | Values::Dict(_), SqlType::String { kind, collation, .. }) => {
            return strings(chunk, is_large(*kind), *collation == Collation::Binary);
        }
        (Values::I32(v), SqlType::Date) => Arc::new(converted::<Date32Type, _>(v, chunk, lost, |v| {
            Some(Date(v)).filter(|d| d.is_real()).map(Date::to_epoch_days)
        })),
        (Values::I64(v), SqlType::Time { .. }) => {
            Arc::new(converted::<Time64MicrosecondType, _>(v, chunk, lost, |v| {
                Some(v).filter(|v| (0..DAY_US).contains(v))
            }))
        }
        (Values::I64(v), SqlType::DateTime { .. }) => {
            Arc::new(converted::<TimestampMicrosecondType, _>(v, chunk, lost, |v| {
                let t = DateTime(v);
                t.date().is_real().then(|| t.date().to_epoch_days() as i64 * DAY_US + t.micros_of_day())
            }))
        }
        (Values::I64(v), SqlType::Timestamp { .. }) => {
            // 0 is the zero timestamp.
            let array = converted::<TimestampMicrosecondType, _>(v, chunk, lost, |v| Some(v).filter(|v| *v != 0));
            Arc::new(array.with_timezone("UTC"))
        }
        (Values::I64(v), SqlType::Decimal { precision, scale }) => {
            let wide: Vec<i128> = v.iter().map(|&v| v as i128).collect();
            decimal128(&wide, chunk, *precision, *scale)?
        }
        (Values::I128(v), SqlType::Decimal { precision, scale }) => decimal128(v, chunk, *precision, *scale)?,
        (Values::I256(v), SqlType::Decimal { precision, scale }) => {
            let v: Vec<i256> = v.iter().map(|v| i256::from_parts(v.lo, v.hi)).collect();
            let array = numbers::<Decimal256Type>(&v, chunk).with_precision_and_scale(*precision, *scale as i8);
            Arc::new(array.map_err(Error::internal)?)
        }
        (Values::I8(v), _) => Arc::new(numbers::<Int8Type>(v, chunk)),
        (Values::U8(v), _) => Arc::new(numbers::<UInt8Type>(v, chunk)),
        (Values::I16(v), _) => Arc::new(numbers::<Int16Type>(v, chunk)),
        (Values::U16(v), _) => Arc::new(numbers::<UInt16Type>(v, chunk)),
        (Values::I32(v), _) => Arc::new(numbers::<Int32Type>(v, chunk)),
        (Values::U32(v), _) => Arc::new(numbers::<UInt32Type>(v, chunk)),
        (Values::I64(v), _) => Arc::new(numbers::<Int64Type>(v, chunk)),
        (Values::U64(v), _) => Arc::new(numbers::<UInt64Type>(v, chunk)),
        (Values::F32(v), _) => Arc::new(numbers::<Float32Type>(v, chunk)),
        (Values::F64(v), _) => Arc::new(numbers::<Float64Type>(v, chunk)),
        (other, ty) => return Err(Error::internal(format_args!("{:?} values of type {ty:?}", other.phys()))),
    })
}

fn decimal128(values: &[i128], chunk: &Chunk, precision: u8, scale: u8) -> Result<ArrayRef> {
    let array = numbers::<Decimal128Type>(values, chunk).with_precision_and_scale(precision, scale as i8);
    Ok(Arc::new(array.map_err(Error::internal)?))
}

fn strings(chunk: &Chunk, large: bool, binary: bool) -> Result<ArrayRef> {
    let bytes = |i: usize| chunk.is_valid(i).then(|| chunk.values.str_bytes(i));
    let all = || (0..chunk.len()).map(bytes);
    if binary {
        return Ok(if large {
            Arc::new(all().collect::<LargeBinaryArray>())
        } else {
            Arc::new(all().collect::<BinaryArray>())
        });
    }
    let text = all().map(|b| b.map(std::str::from_utf8).transpose());
    let text: Vec<Option<&str>> = text.collect::<std::result::Result<_, _>>().map_err(Error::internal)?;
    Ok(if large {
        Arc::new(text.into_iter().collect::<LargeStringArray>())
    } else {
        Arc::new(text.into_iter().collect::<StringArray>())
    })
}
