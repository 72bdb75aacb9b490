//! Batches as text rows: from columns to the protocol's row after row.
//!
//! Per batch, each column is resolved once to a typed slice ([`Cells`]); the loop over rows then does one match per
//! value and formats it in place in the output buffer. TIMESTAMPs come as DATETIMEs in the session's time zone; stored
//! ones would be shown in UTC.

use protocol::TextRow;
use types::decimal::write_scaled;
use types::value::{fmt_double, fmt_float};
use types::{Date, DateTime, Decimal, I256, SqlType, Time, Timestamp};
use vector::{Batch, Bitmap, Chunk, DictValues, StrValues, Values, Vector};

/// How a column is written, beyond its type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Format {
    pub sql_type: SqlType,
    /// Integers are padded with zeros to this many digits.
    pub zerofill: Option<u8>,
    /// Floating-point numbers have so many digits behind the point.
    pub decimals: Option<u8>,
}

/// One column of a batch, resolved.
pub(super) struct Column<'a> {
    pub(super) validity: Option<&'a Bitmap>,
    /// All rows are row 0.
    pub(super) constant: bool,
    pub(super) cells: Cells<'a>,
}

pub(super) enum Cells<'a> {
    I8(&'a [i8]),
    U8(&'a [u8]),
    I16(&'a [i16]),
    U16(&'a [u16]),
    I32(&'a [i32]),
    U32(&'a [u32]),
    I64(&'a [i64]),
    U64(&'a [u64]),
    Decimal64(&'a [i64], u8),
    Decimal128(&'a [i128], u8),
    Decimal256(&'a [I256], u8),
    Float(&'a [f32]),
    Double(&'a [f64]),
    FixedFloat(&'a [f32], usize),
    FixedDouble(&'a [f64], usize),
    Date(&'a [i32]),
    Time(&'a [i64], u8),
    DateTime(&'a [i64], u8),
    Timestamp(&'a [i64], u8),
    Year(&'a [i16]),
    Str(&'a StrValues),
    Dict(&'a DictValues),
    ZeroFilled(&'a Values, u8),
    /// Of a type that is no integer, in a narrower array than the type's.
    Carried(&'a Values, SqlType),
    /// A NULL literal, or a value that does not fit its announced type, which would be a bug.
    Null,
}

/// Writes the rows of one result set.
pub struct TextRows {
    formats: Vec<Format>,
}

impl TextRows {
    pub fn new(formats: Vec<Format>) -> TextRows {
        TextRows { formats }
    }

    /// Calls `write_row` for each selected row, with a function that appends the row's values.
    pub fn write<E>(
        &self,
        batch: &Batch,
        mut write_row: impl FnMut(&mut dyn FnMut(&mut TextRow<'_>)) -> Result<(), E>,
    ) -> Result<(), E> {
        assert_eq!(batch.columns.len(), self.formats.len(), "a batch has the announced columns");
        let columns: Vec<Column<'_>> =
            batch.columns.iter().zip(&self.formats).map(|(vector, format)| resolve(vector, format)).collect();
        let mut result = Ok(());
        batch.selection.for_each(batch.rows, |i| {
            if result.is_ok() {
                result = write_row(&mut |row| columns.iter().for_each(|column| write_value(column, i, row)));
            }
        });
        result
    }
}

pub(super) fn resolve<'a>(vector: &'a Vector, format: &Format) -> Column<'a> {
    let (chunk, constant) = vector.chunk();
    resolve_chunk(chunk, constant, format)
}

pub(super) fn resolve_chunk<'a>(chunk: &'a Chunk, constant: bool, format: &Format) -> Column<'a> {
    let cells = match (&format.sql_type, &chunk.values) {
        (SqlType::Decimal { scale, .. }, Values::I64(v)) => Cells::Decimal64(v, *scale),
        (SqlType::Decimal { scale, .. }, Values::I128(v)) => Cells::Decimal128(v, *scale),
        (SqlType::Decimal { scale, .. }, Values::I256(v)) => Cells::Decimal256(v, *scale),
        (SqlType::Date, Values::I32(v)) => Cells::Date(v),
        (SqlType::Time { fsp }, Values::I64(v)) => Cells::Time(v, *fsp),
        (SqlType::DateTime { fsp }, Values::I64(v)) => Cells::DateTime(v, *fsp),
        (SqlType::Timestamp { fsp }, Values::I64(v)) => Cells::Timestamp(v, *fsp),
        (SqlType::Year, Values::I16(v)) => Cells::Year(v),
        (SqlType::Null, _) => Cells::Null,
        (ty, values) if !ty.is_integer() && vector::is_narrower(values.phys(), ty.phys()) => {
            Cells::Carried(values, format.sql_type)
        }
        (SqlType::Int { .. }, values) if format.zerofill.is_some() => {
            Cells::ZeroFilled(values, format.zerofill.unwrap_or(0))
        }
        (_, Values::I8(v)) => Cells::I8(v),
        (_, Values::U8(v)) => Cells::U8(v),
        (_, Values::I16(v)) => Cells::I16(v),
        (_, Values::U16(v)) => Cells::U16(v),
        (_, Values::I32(v)) => Cells::I32(v),
        (_, Values::U32(v)) => Cells::U32(v),
        (_, Values::I64(v)) => Cells::I64(v),
        (_, Values::U64(v)) => Cells::U64(v),
        (_, Values::F32(v)) => match format.decimals {
            Some(d) => Cells::FixedFloat(v, d.into()),
            None => Cells::Float(v),
        },
        (_, Values::F64(v)) => match format.decimals {
            Some(d) => Cells::FixedDouble(v, d.into()),
            None => Cells::Double(v),
        },
        (_, Values::Str(v)) => Cells::Str(v),
        (_, Values::Dict(v)) => Cells::Dict(v),
        (sql_type, Values::I128(_) | Values::I256(_)) => {
            debug_assert!(false, "a {sql_type:?} in wide integers");
            Cells::Null
        }
    };
    Column { validity: chunk.validity.as_ref(), constant, cells }
}

#[inline]
pub(super) fn write_value(column: &Column<'_>, i: usize, row: &mut TextRow<'_>) {
    let i = if column.constant { 0 } else { i };
    if column.validity.is_some_and(|validity| !validity.get(i)) {
        return row.null();
    }
    match &column.cells {
        Cells::I8(v) => row.int(i64::from(v[i])),
        Cells::U8(v) => row.uint(u64::from(v[i])),
        Cells::I16(v) => row.int(i64::from(v[i])),
        Cells::U16(v) => row.uint(u64::from(v[i])),
        Cells::I32(v) => row.int(i64::from(v[i])),
        Cells::U32(v) => row.uint(u64::from(v[i])),
        Cells::I64(v) => row.int(v[i]),
        Cells::U64(v) => row.uint(v[i]),
        Cells::Decimal64(v, scale) => row.short(|out| write_scaled(i128::from(v[i]), *scale, out)),
        Cells::Decimal128(v, scale) => row.short(|out| write_scaled(v[i], *scale, out)),
        Cells::Decimal256(v, scale) => row.short(|out| Decimal::new(v[i], *scale).write_to(out)),
        Cells::Float(v) => row.short(|out| fmt_float(v[i], out)),
        Cells::Double(v) => row.short(|out| fmt_double(v[i], out)),
        Cells::FixedFloat(v, decimals) => fixed(f64::from(v[i]), *decimals, row),
        Cells::FixedDouble(v, decimals) => fixed(v[i], *decimals, row),
        Cells::Date(v) => row.short(|out| Date(v[i]).write_to(out)),
        Cells::Time(v, fsp) => row.short(|out| Time(v[i]).write_to(*fsp, out)),
        Cells::DateTime(v, fsp) => row.short(|out| DateTime(v[i]).write_to(*fsp, out)),
        Cells::Timestamp(v, fsp) => row.short(|out| Timestamp(v[i]).to_utc().write_to(*fsp, out)),
        Cells::Year(v) => row.short(|out| zero_filled(i64::from(v[i]) as u64, 4, out)),
        Cells::Str(v) => row.bytes(v.bytes(i)),
        Cells::Dict(v) => row.bytes(v.bytes(i)),
        Cells::ZeroFilled(values, width) => {
            let value = match values {
                Values::U8(v) => u64::from(v[i]),
                Values::U16(v) => u64::from(v[i]),
                Values::U32(v) => u64::from(v[i]),
                Values::U64(v) => v[i],
                _ => return row.null(),
            };
            row.short(|out| zero_filled(value, *width, out));
        }
        Cells::Carried(values, sql_type) => {
            let v = values.int_at(i).unwrap_or_default();
            row.short(|out| match *sql_type {
                SqlType::Decimal { scale, .. } => write_scaled(v.into(), scale, out),
                SqlType::Date => Date(v as i32).write_to(out),
                SqlType::Time { fsp } => Time(v).write_to(fsp, out),
                SqlType::DateTime { fsp } => DateTime(v).write_to(fsp, out),
                SqlType::Timestamp { fsp } => Timestamp(v).to_utc().write_to(fsp, out),
                _ => zero_filled(v as u64, 4, out),
            });
        }
        Cells::Null => row.null(),
    }
}

/// DOUBLE(255,D) may have more digits than a short value.
fn fixed(v: f64, decimals: usize, row: &mut TextRow<'_>) {
    row.bytes(format!("{v:.decimals$}").as_bytes());
}

fn zero_filled(mut value: u64, width: u8, out: &mut Vec<u8>) {
    let start = out.len();
    while value > 0 || out.len() - start < usize::from(width).max(1) {
        out.push(b'0' + (value % 10) as u8);
        value /= 10;
    }
    out[start..].reverse();
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::{Collation, IntSize, Value};
    use vector::{ChunkBuilder, Selection};

    /// The text of each value of each selected row; None is NULL.
    fn texts(columns: Vec<(SqlType, Vec<Value>)>, selection: Selection) -> Vec<Vec<Option<String>>> {
        let rows = columns[0].1.len();
        let vectors = columns.iter().map(|(sql_type, values)| {
            let mut builder = ChunkBuilder::new(sql_type.phys(), rows);
            values.iter().for_each(|value| builder.push(value));
            let chunk = std::sync::Arc::new(builder.finish());
            if values.len() == rows { Vector::Flat(chunk) } else { Vector::Const(chunk) }
        });
        let mut batch = Batch::new(rows, vectors.collect());
        batch.selection = selection;
        let formats = columns
            .iter()
            .map(|(sql_type, _)| Format { sql_type: *sql_type, zerofill: None, decimals: None })
            .collect();
        let writer = TextRows::new(formats);
        let mut out = Vec::new();
        writer
            .write(&batch, |values| {
                let mut bytes = Vec::new();
                values(&mut TextRow::new(&mut bytes));
                let mut cursor = protocol::Cursor::new(&bytes);
                let mut row = Vec::new();
                while !cursor.is_empty() {
                    let mut probe = cursor;
                    if probe.u8() == Ok(0xfb) {
                        cursor = probe;
                        row.push(None);
                    } else {
                        row.push(Some(String::from_utf8(cursor.lenenc_bytes().unwrap().to_vec()).unwrap()));
                    }
                }
                out.push(row);
                Ok::<(), ()>(())
            })
            .unwrap();
        out
    }

    fn one(sql_type: SqlType, value: Value) -> String {
        texts(vec![(sql_type, vec![value])], Selection::All)[0][0].clone().unwrap()
    }

    #[test]
    fn each_type() {
        let datetime = DateTime::new(2024, 2, 29, 23, 59, 58, 123_456).unwrap();
        assert_eq!(one(SqlType::BIGINT, Value::Int(-5)), "-5");
        assert_eq!(one(SqlType::BIGINT_UNSIGNED, Value::UInt(u64::MAX)), "18446744073709551615");
        assert_eq!(one(SqlType::Int { size: IntSize::I8, unsigned: false }, Value::Int(-128)), "-128");
        let decimal = Decimal::from_i128(-12_345, 2);
        for precision in [10, 30, 65] {
            assert_eq!(one(SqlType::Decimal { precision, scale: 2 }, Value::Decimal(decimal)), "-123.45");
        }
        assert_eq!(one(SqlType::Double, Value::Double(1.5e20)), "1.5e20");
        assert_eq!(one(SqlType::Float, Value::Float(0.1)), "0.1");
        assert_eq!(one(SqlType::Date, Value::Date(datetime.date())), "2024-02-29");
        assert_eq!(one(SqlType::Time { fsp: 3 }, Value::Time(datetime.time())), "23:59:58.123");
        assert_eq!(one(SqlType::DateTime { fsp: 6 }, Value::DateTime(datetime)), "2024-02-29 23:59:58.123456");
        assert_eq!(one(SqlType::Timestamp { fsp: 0 }, Value::Timestamp(Timestamp(1_000_000))), "1970-01-01 00:00:01");
        assert_eq!(one(SqlType::Year, Value::Int(1999)), "1999");
        assert_eq!(one(SqlType::Year, Value::Int(0)), "0000");
        assert_eq!(one(SqlType::varchar(300, Collation::Binary), Value::str(&"x".repeat(300))), "x".repeat(300));
    }

    #[test]
    fn nulls_constants_and_selections() {
        let columns = vec![
            (SqlType::BIGINT, vec![Value::Int(1), Value::Null, Value::Int(3)]),
            (SqlType::BIGINT, vec![Value::Int(7)]),
            (SqlType::Null, vec![Value::Null]),
        ];
        let some = |text: &str| Some(text.to_owned());
        let all = texts(columns.clone(), Selection::All);
        assert_eq!(all[0], [some("1"), some("7"), None]);
        assert_eq!(all[1], [None, some("7"), None]);
        assert_eq!(texts(columns, Selection::Some(vec![2])), [[some("3"), some("7"), None]]);
    }

    #[test]
    fn zeros_in_front() {
        let mut out = Vec::new();
        zero_filled(42, 5, &mut out);
        zero_filled(123_456, 5, &mut out);
        zero_filled(0, 0, &mut out);
        assert_eq!(out, b"000421234560");
    }
}
