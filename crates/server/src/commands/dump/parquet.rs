//! Dumps in Parquet: one file a table, Snappy-compressed, types as in [`crate::arrow_scan`].
//!
//! The writers of the Parquet crate for single columns take plain values, without those that are NULL, and beside them
//! a level for each row: 1, or 0 where it is NULL. That needs none of the crate's parts for Arrow, which are several
//! times as big as the rest of it.
//!
//! A group of rows ends at [`GROUP_ROWS_MAX`] rows or [`GROUP_BYTES_MAX`] bytes; its batches are kept until it is
//! written. Source: the Parquet format, "Logical types".

use std::io::Write;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int8Type, Int16Type,
    Int32Type, Int64Type, Time64MicrosecondType, TimestampMicrosecondType, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use arrow_array::{Array, GenericByteArray, RecordBatch, types::ByteArrayType};
use arrow_buffer::ArrowNativeType;
use arrow_schema::{DataType, Field, Schema};
use bytes::Bytes;
use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::data_type as plain;
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{Type, TypePtr};
use types::Result;

use super::fault;
use super::source::{Relation, Source};

/// A row group ends at so many rows, or bytes.
const GROUP_ROWS_MAX: usize = 1 << 17;
const GROUP_BYTES_MAX: usize = 64 << 20;

/// Writes the table's file; answers how many values it cannot hold.
pub fn dump_parquet(source: &mut Source, table: &Relation, names: &[String], out: impl Write + Send) -> Result<u64> {
    if table.is_view {
        return Err(fault("Parquet is for tables, not for views"));
    }
    let mut scan = source.arrow(table, names)?;
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_created_by(concat!("nextleaf ", env!("CARGO_PKG_VERSION")).into())
        .build();
    let failed = |e: ParquetError| fault(format!("cannot write: {e}"));
    let schema = file_schema(scan.schema()).map_err(failed)?;
    let mut writer = SerializedFileWriter::new(out, schema, Arc::new(properties)).map_err(failed)?;
    let mut group = Group::default();
    for batch in scan.by_ref() {
        group.add(batch?);
        if group.rows >= GROUP_ROWS_MAX || group.bytes >= GROUP_BYTES_MAX {
            std::mem::take(&mut group).write(&mut writer).map_err(failed)?;
        }
    }
    if group.rows > 0 {
        group.write(&mut writer).map_err(failed)?;
    }
    writer.close().map_err(failed)?;
    Ok(scan.lost())
}

/// Batches that become one group of rows.
#[derive(Default)]
struct Group {
    batches: Vec<RecordBatch>,
    rows: usize,
    bytes: usize,
}

impl Group {
    fn add(&mut self, batch: RecordBatch) {
        self.rows += batch.num_rows();
        self.bytes += batch.get_array_memory_size();
        self.batches.push(batch);
    }

    fn write<W: Write + Send>(self, writer: &mut SerializedFileWriter<W>) -> ParquetResult<()> {
        let mut group = writer.next_row_group()?;
        let mut idx = 0;
        while let Some(mut column) = group.next_column()? {
            for batch in &self.batches {
                let nullable = batch.schema_ref().field(idx).is_nullable();
                write_array(&mut column, batch.column(idx).as_ref(), nullable)?;
            }
            column.close()?;
            idx += 1;
        }
        group.close().map(|_| ())
    }
}

fn file_schema(schema: &Schema) -> ParquetResult<TypePtr> {
    let fields = schema.fields().iter().map(|f| column_type(f).map(Arc::new));
    let fields = fields.collect::<ParquetResult<Vec<_>>>()?;
    Ok(Arc::new(Type::group_type_builder("schema").with_fields(fields).build()?))
}

fn column_type(field: &Field) -> ParquetResult<Type> {
    let int = |bits: i8, signed: bool| Some(LogicalType::integer(bits, signed));
    let (physical, logical) = match *field.data_type() {
        DataType::Int8 => (Physical::INT32, int(8, true)),
        DataType::Int16 => (Physical::INT32, int(16, true)),
        DataType::Int32 => (Physical::INT32, int(32, true)),
        DataType::Int64 => (Physical::INT64, int(64, true)),
        DataType::UInt8 => (Physical::INT32, int(8, false)),
        DataType::UInt16 => (Physical::INT32, int(16, false)),
        DataType::UInt32 => (Physical::INT32, int(32, false)),
        DataType::UInt64 => (Physical::INT64, int(64, false)),
        DataType::Float32 => (Physical::FLOAT, None),
        DataType::Float64 => (Physical::DOUBLE, None),
        DataType::Utf8 | DataType::LargeUtf8 => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        DataType::Binary | DataType::LargeBinary => (Physical::BYTE_ARRAY, None),
        DataType::Date32 => (Physical::INT32, Some(LogicalType::Date)),
        DataType::Time64(_) => (Physical::INT64, Some(LogicalType::time(false, TimeUnit::MICROS))),
        DataType::Timestamp(_, ref zone) => {
            (Physical::INT64, Some(LogicalType::timestamp(zone.is_some(), TimeUnit::MICROS)))
        }
        DataType::Decimal128(precision, scale) | DataType::Decimal256(precision, scale) => {
            let physical = match precision {
                0..=9 => Physical::INT32,
                10..=18 => Physical::INT64,
                _ => Physical::FIXED_LEN_BYTE_ARRAY,
            };
            (physical, Some(LogicalType::decimal(i32::from(scale), i32::from(precision))))
        }
        ref other => return Err(ParquetError::NYI(format!("columns of type {other}"))),
    };
    let repetition = if field.is_nullable() { Repetition::OPTIONAL } else { Repetition::REQUIRED };
    let column = Type::primitive_type_builder(field.name(), physical);
    let column = column.with_repetition(repetition).with_logical_type(logical);
    match *field.data_type() {
        DataType::Decimal128(precision, scale) | DataType::Decimal256(precision, scale) => column
            .with_precision(i32::from(precision))
            .with_scale(i32::from(scale))
            .with_length(decimal_bytes(precision) as i32)
            .build(),
        _ => column.build(),
    }
}

/// Bytes of two's complement that hold every number of so many digits.
fn decimal_bytes(precision: u8) -> usize {
    ((f64::from(precision) * 10f64.log2() + 1.0) / 8.0).ceil() as usize
}

fn write_array(to: &mut SerializedColumnWriter<'_>, array: &dyn Array, nullable: bool) -> ParquetResult<()> {
    let levels: Option<Vec<i16>> = nullable.then(|| (0..array.len()).map(|i| i16::from(array.is_valid(i))).collect());
    let levels = levels.as_deref();
    match *array.data_type() {
        DataType::Int8 => numbers::<Int8Type, plain::Int32Type>(to, array, levels, i32::from),
        DataType::Int16 => numbers::<Int16Type, plain::Int32Type>(to, array, levels, i32::from),
        DataType::Int32 => numbers::<Int32Type, plain::Int32Type>(to, array, levels, |v| v),
        DataType::Int64 => numbers::<Int64Type, plain::Int64Type>(to, array, levels, |v| v),
        DataType::UInt8 => numbers::<UInt8Type, plain::Int32Type>(to, array, levels, i32::from),
        DataType::UInt16 => numbers::<UInt16Type, plain::Int32Type>(to, array, levels, i32::from),
        DataType::UInt32 => numbers::<UInt32Type, plain::Int32Type>(to, array, levels, |v| v as i32),
        DataType::UInt64 => numbers::<UInt64Type, plain::Int64Type>(to, array, levels, |v| v as i64),
        DataType::Float32 => numbers::<Float32Type, plain::FloatType>(to, array, levels, |v| v),
        DataType::Float64 => numbers::<Float64Type, plain::DoubleType>(to, array, levels, |v| v),
        DataType::Date32 => numbers::<Date32Type, plain::Int32Type>(to, array, levels, |v| v),
        DataType::Time64(_) => numbers::<Time64MicrosecondType, plain::Int64Type>(to, array, levels, |v| v),
        DataType::Timestamp(..) => numbers::<TimestampMicrosecondType, plain::Int64Type>(to, array, levels, |v| v),
        DataType::Utf8 => strings(to, array.as_string::<i32>(), levels),
        DataType::LargeUtf8 => strings(to, array.as_string::<i64>(), levels),
        DataType::Binary => strings(to, array.as_binary::<i32>(), levels),
        DataType::LargeBinary => strings(to, array.as_binary::<i64>(), levels),
        DataType::Decimal128(0..=9, _) => numbers::<Decimal128Type, plain::Int32Type>(to, array, levels, |v| v as i32),
        DataType::Decimal128(10..=18, _) => {
            numbers::<Decimal128Type, plain::Int64Type>(to, array, levels, |v| v as i64)
        }
        DataType::Decimal128(precision, _) => {
            let skipped = 16 - decimal_bytes(precision);
            numbers::<Decimal128Type, plain::FixedLenByteArrayType>(to, array, levels, |v| {
                plain::FixedLenByteArray::from(v.to_be_bytes()[skipped..].to_vec())
            })
        }
        DataType::Decimal256(precision, _) => {
            let skipped = 32 - decimal_bytes(precision);
            numbers::<Decimal256Type, plain::FixedLenByteArrayType>(to, array, levels, |v| {
                plain::FixedLenByteArray::from(v.to_be_bytes()[skipped..].to_vec())
            })
        }
        ref other => Err(ParquetError::NYI(format!("columns of type {other}"))),
    }
}

fn numbers<A: ArrowPrimitiveType, P: plain::DataType>(
    to: &mut SerializedColumnWriter<'_>,
    array: &dyn Array,
    levels: Option<&[i16]>,
    convert: impl Fn(A::Native) -> P::T,
) -> ParquetResult<()> {
    let values: Vec<P::T> = array.as_primitive::<A>().iter().flatten().map(convert).collect();
    to.typed::<P>().write_batch(&values, levels, None).map(|_| ())
}

/// The values share the array's bytes.
fn strings<T: ByteArrayType>(
    to: &mut SerializedColumnWriter<'_>,
    array: &GenericByteArray<T>,
    levels: Option<&[i16]>,
) -> ParquetResult<()> {
    let bytes = Bytes::from_owner(array.values().clone());
    let value = |i: usize| {
        let ends = &array.value_offsets()[i..i + 2];
        plain::ByteArray::from(bytes.slice(ends[0].as_usize()..ends[1].as_usize()))
    };
    let values: Vec<plain::ByteArray> = (0..array.len()).filter(|&i| array.is_valid(i)).map(value).collect();
    to.typed::<plain::ByteArrayType>().write_batch(&values, levels, None).map(|_| ())
}
