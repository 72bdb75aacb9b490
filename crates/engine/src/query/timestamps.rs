//! TIMESTAMP columns on their way to the client: from UTC to local time.

use crate::session::Execution;
use session::sink::{ColumnMeta, ResultShape, ResultSink, RowAt};
use std::borrow::Cow;
use types::temporal::LocalConverter;
use types::{Result, SqlType, Timestamp};
use vector::{Batch, Chunk, Values, Vector};

/// Converts the TIMESTAMP columns of batches to DATETIME.
pub(crate) struct ToLocal {
    columns: Vec<usize>,
    /// None: there is nothing to convert.
    converter: Option<LocalConverter>,
}

impl ToLocal {
    pub fn new(metas: &[ColumnMeta], session: &Execution<'_>) -> ToLocal {
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

/// Sends rows where they lie, but for their TIMESTAMP columns.
pub(crate) struct RowToLocal {
    local: ToLocal,
    /// Of the row that is being sent, one a TIMESTAMP column.
    converted: Vec<Chunk>,
}

impl RowToLocal {
    pub fn new(shape: &ResultShape, session: &Execution<'_>) -> RowToLocal {
        RowToLocal { local: ToLocal::new(&shape.columns, session), converted: Vec::new() }
    }

    /// See [`ResultSink::row_at`].
    pub fn send(&mut self, sink: &mut dyn ResultSink, shape: &ResultShape, at: RowAt<'_, '_>) -> Result<()> {
        let Some(converter) = &mut self.local.converter else { return sink.row_at(shape, at) };
        self.converted.clear();
        for &c in &self.local.columns {
            let (chunk, position) = at(c);
            let mut one = chunk.gather(&[position as u16]);
            one.widen_to(shape.columns[c].data_ty.phys());
            if let Values::I64(values) = &mut one.values {
                values.iter_mut().for_each(|v| *v = converter.to_datetime(Timestamp(*v)).0);
            }
            self.converted.push(Chunk::new(one.values, one.validity));
        }
        let (columns, converted) = (&self.local.columns, &self.converted);
        sink.row_at(shape, &|i| match columns.iter().position(|c| *c == i) {
            Some(n) => (&converted[n], 0),
            None => at(i),
        })
    }
}
