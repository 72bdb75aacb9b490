//! TIMESTAMP columns on their way to the client: from UTC to local time.

use crate::sink::ColumnMeta;
use std::borrow::Cow;
use types::temporal::{LocalConverter, TimeZone};
use types::{SqlType, Timestamp};
use vector::{Batch, Chunk, Values, Vector};

/// Converts the TIMESTAMP columns of batches to DATETIME.
pub(super) struct ToLocal {
    columns: Vec<usize>,
    converter: LocalConverter,
}

impl ToLocal {
    pub fn new(metas: &[ColumnMeta], zone: &TimeZone) -> ToLocal {
        let is_timestamp = |m: &ColumnMeta| matches!(m.ty, SqlType::Timestamp { .. });
        let columns = metas.iter().enumerate().filter(|(_, m)| is_timestamp(m)).map(|(i, _)| i).collect();
        ToLocal { columns, converter: zone.converter() }
    }

    pub fn convert<'b>(&mut self, batch: &'b Batch) -> Cow<'b, Batch> {
        if self.columns.is_empty() {
            return Cow::Borrowed(batch);
        }
        let mut out = batch.clone();
        for &c in &self.columns {
            let (chunk, constant) = out.columns[c].chunk();
            let Values::I64(values) = &chunk.values else { continue };
            let local = values.iter().map(|&v| self.converter.to_datetime(Timestamp(v)).0).collect();
            let converted = std::sync::Arc::new(Chunk::new(Values::I64(local), chunk.validity.clone()));
            out.columns[c] = if constant { Vector::Const(converted) } else { Vector::Flat(converted) };
        }
        Cow::Owned(out)
    }
}
