//! TIMESTAMP columns on their way to the client: from UTC to local time.

use crate::session::Session;
use crate::sink::ColumnMeta;
use std::borrow::Cow;
use types::temporal::LocalConverter;
use types::{SqlType, Timestamp};
use vector::{Batch, Chunk, Values, Vector};

/// Converts the TIMESTAMP columns of batches to DATETIME.
pub(crate) struct ToLocal {
    columns: Vec<usize>,
    /// None: there is nothing to convert.
    converter: Option<LocalConverter>,
}

impl ToLocal {
    pub fn new(metas: &[ColumnMeta], session: &Session) -> ToLocal {
        let is_timestamp = |m: &ColumnMeta| matches!(m.ty, SqlType::Timestamp { .. });
        let columns: Vec<usize> = metas.iter().enumerate().filter(|(_, m)| is_timestamp(m)).map(|(i, _)| i).collect();
        let converter = (!columns.is_empty()).then(|| session.time_zone().converter());
        ToLocal { columns, converter }
    }

    pub fn convert<'b>(&mut self, batch: &'b Batch) -> Cow<'b, Batch> {
        let Some(converter) = &mut self.converter else { return Cow::Borrowed(batch) };
        let mut out = batch.clone();
        for &c in &self.columns {
            let (chunk, constant) = out.columns[c].chunk();
            let Values::I64(values) = &chunk.values else { continue };
            let local = values.iter().map(|&v| converter.to_datetime(Timestamp(v)).0).collect();
            let converted = std::sync::Arc::new(Chunk::new(Values::I64(local), chunk.validity.clone()));
            out.columns[c] = if constant { Vector::Const(converted) } else { Vector::Flat(converted) };
        }
        Cow::Owned(out)
    }
}
