//! Batches as binary rows: the results of COM_STMT_EXECUTE.
//!
//! Columns are resolved as for text rows; integers are then written in the width of the column's announced type,
//! however narrow the chunk holds them.

use protocol::BinaryRow;
use types::decimal::write_scaled;
use types::{Date, DateTime, Decimal, SqlType, Time, Timestamp};
use vector::{Batch, Values};

use super::text_rows::{Cells, Column, Format, resolve};

/// Bytes of an integer on the wire.
pub(super) fn int_width(sql_type: &SqlType) -> u8 {
    sql_type.record().wire_bytes
}

/// Writes the rows of one result set.
pub(super) struct BinaryRows {
    formats: Vec<Format>,
    widths: Vec<u8>,
}

impl BinaryRows {
    pub(super) fn new(formats: Vec<Format>) -> BinaryRows {
        let widths = formats.iter().map(|format| int_width(&format.sql_type)).collect();
        // zeros in front are a matter of text
        let formats = formats.into_iter().map(|format| Format { zerofill: None, decimals: None, ..format }).collect();
        BinaryRows { formats, widths }
    }

    /// Calls `write_row` for each selected row, with a function that appends the row's payload.
    pub(super) fn write<E>(
        &self,
        batch: &Batch,
        mut write_row: impl FnMut(&mut dyn FnMut(&mut Vec<u8>)) -> Result<(), E>,
    ) -> Result<(), E> {
        assert_eq!(batch.columns.len(), self.formats.len(), "a batch has the announced columns");
        let columns: Vec<Column<'_>> =
            batch.columns.iter().zip(&self.formats).map(|(vector, format)| resolve(vector, format)).collect();
        let mut result = Ok(());
        batch.selection.for_each(batch.rows, |i| {
            if result.is_ok() {
                result = write_row(&mut |payload| {
                    let mut row = BinaryRow::new(payload, columns.len());
                    columns.iter().zip(&self.widths).for_each(|(c, width)| write_value(c, *width, i, &mut row));
                });
            }
        });
        result
    }
}

#[inline]
pub(super) fn write_value(column: &Column<'_>, width: u8, i: usize, row: &mut BinaryRow<'_>) {
    let i = if column.constant { 0 } else { i };
    if column.validity.is_some_and(|validity| !validity.get(i)) {
        return row.null();
    }
    match &column.cells {
        Cells::I8(v) => row.int(v[i].into(), width),
        Cells::U8(v) => row.int(v[i].into(), width),
        Cells::I16(v) => row.int(v[i].into(), width),
        Cells::U16(v) => row.int(v[i].into(), width),
        Cells::I32(v) => row.int(v[i].into(), width),
        Cells::U32(v) => row.int(v[i].into(), width),
        Cells::I64(v) => row.int(v[i], width),
        Cells::U64(v) => row.int(v[i] as i64, width),
        Cells::Year(v) => row.int(v[i].into(), width),
        Cells::Decimal64(v, scale) => row.short(|out| write_scaled(i128::from(v[i]), *scale, out)),
        Cells::Decimal128(v, scale) => row.short(|out| write_scaled(v[i], *scale, out)),
        Cells::Decimal256(v, scale) => row.short(|out| Decimal::new(v[i], *scale).write_to(out)),
        Cells::Float(v) | Cells::FixedFloat(v, _) => row.float(v[i]),
        Cells::Double(v) | Cells::FixedDouble(v, _) => row.double(v[i]),
        Cells::Date(v) => row.date(Date(v[i])),
        Cells::Time(v, _) => row.time(Time(v[i])),
        Cells::DateTime(v, _) => row.datetime(DateTime(v[i])),
        Cells::Timestamp(v, _) => row.datetime(Timestamp(v[i]).to_utc()),
        Cells::Str(v) => row.bytes(v.bytes(i)),
        Cells::Dict(v) => row.bytes(v.bytes(i)),
        Cells::Carried(values, sql_type) => {
            let v = values.int_at(i).unwrap_or_default();
            match *sql_type {
                SqlType::Decimal { scale, .. } => row.short(|out| write_scaled(v.into(), scale, out)),
                SqlType::Date => row.date(Date(v as i32)),
                SqlType::Time { .. } => row.time(Time(v)),
                SqlType::DateTime { .. } => row.datetime(DateTime(v)),
                SqlType::Timestamp { .. } => row.datetime(Timestamp(v).to_utc()),
                _ => row.int(v, width),
            }
        }
        Cells::ZeroFilled(Values::U64(v), _) => row.int(v[i] as i64, width),
        Cells::ZeroFilled(..) | Cells::Null => row.null(),
    }
}
