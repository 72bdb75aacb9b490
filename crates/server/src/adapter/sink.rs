//! Answers of the engine on their way to the client.

use std::io::Read;
use std::sync::Arc;

use engine::{ColumnMeta, EndInfo, OkInfo, ResultShape, ResultSink, RowAt};
use executor::columns::{for_each_part, string_bytes};
use protocol::{BinaryRow, OkPacket, SessionChange, StatusFlags, TextRow};
use types::{Error, Result, SqlType};
use vector::{Batch, Values};

use super::binary_rows::{self, BinaryRows, int_width};
use super::charset::{self, Charsets, LATIN1_COLLATION_ID};
use super::columns::{column, format};
use super::statements::Cursor;
use super::text_rows::{self, Column, Format, TextRows, resolve_chunk};
use crate::net::{DEFAULT_COLLATION_ID, Reply, encode_columns};

/// Rows whose strings have more bytes together are written in parts.
const ROWS_BYTES: usize = 16 << 20;

/// Status flags in the protocol's bits.
pub(super) fn status(flags: engine::StatusFlags) -> StatusFlags {
    let mut status = StatusFlags::default();
    for (on, flag) in [
        (flags.in_transaction, StatusFlags::IN_TRANSACTION),
        (flags.autocommit, StatusFlags::AUTOCOMMIT),
        (flags.more_results, StatusFlags::MORE_RESULTS),
        (flags.no_backslash_escapes, StatusFlags::NO_BACKSLASH_ESCAPES),
        (flags.in_read_only_transaction, StatusFlags::IN_READONLY_TRANSACTION),
    ] {
        if on {
            status |= flag;
        }
    }
    status
}

/// The packet's counter is narrower than the engine's.
fn warning_count(warnings: u64) -> u16 {
    u16::try_from(warnings).unwrap_or(u16::MAX)
}

/// How rows travel.
pub(super) enum RowForm<'c> {
    /// COM_QUERY
    Text,
    /// COM_STMT_EXECUTE
    Binary,
    /// COM_STMT_EXECUTE with a cursor: the rows wait there to be fetched.
    Cursor(&'c mut Option<Cursor>),
}

/// What is made once of the columns of a result that is sent again and again.
struct KnownColumns {
    packets: Vec<u8>,
    text: Arc<[Format]>,
    /// With the widths of integers.
    binary: Vec<(Format, u8)>,
    /// A row may be longer than what is written without asking for memory.
    may_be_long: bool,
}

impl KnownColumns {
    fn new(columns: &[ColumnMeta]) -> KnownColumns {
        let definitions: Vec<_> = columns.iter().map(|meta| column(meta, DEFAULT_COLLATION_ID)).collect();
        let text: Arc<[Format]> = columns.iter().map(format).collect();
        let binary =
            text.iter().map(|f| (Format { zerofill: None, decimals: None, ..*f }, int_width(&f.sql_type))).collect();
        let may_be_long = text.iter().any(|f| matches!(f.sql_type, SqlType::String { len, .. } if len > 1 << 20));
        KnownColumns { packets: encode_columns(&definitions), text, binary, may_be_long }
    }

    fn row_bytes(&self, at: RowAt<'_, '_>) -> usize {
        let bytes = |i: usize| {
            let (chunk, position) = at(i);
            match &chunk.values {
                values @ (Values::Str(_) | Values::Dict(_)) => values.str_bytes(position).len(),
                _ => 0,
            }
        };
        (0..self.text.len()).map(bytes).sum()
    }

    fn write_binary<'c>(&self, out: &mut Vec<u8>, cell: impl Fn(usize, &Format) -> (Column<'c>, usize)) {
        let mut row = BinaryRow::new(out, self.binary.len());
        for (i, (format, width)) in self.binary.iter().enumerate() {
            let (column, position) = cell(i, format);
            binary_rows::write_value(&column, *width, position, &mut row);
        }
    }
}

enum Rows {
    Text(TextRows),
    Binary(BinaryRows),
}

/// Writes answers as result sets.
pub(super) struct WireSink<'a, 'b, 'c> {
    reply: &'a mut Reply<'b>,
    status: StatusFlags,
    form: RowForm<'c>,
    rows: Option<Rows>,
    /// Columns that were announced, before the first batch comes.
    shared: Option<Arc<[Format]>>,
    /// For clients that want latin1: the columns whose text is to be converted.
    latin1: Option<Vec<Format>>,
}

impl<'a, 'b, 'c> WireSink<'a, 'b, 'c> {
    pub(super) fn new(
        reply: &'a mut Reply<'b>,
        status: StatusFlags,
        form: RowForm<'c>,
        charsets: Charsets,
    ) -> WireSink<'a, 'b, 'c> {
        let latin1 = charsets.results_are_latin1.then(Vec::new);
        WireSink { reply, status, form, rows: None, shared: None, latin1 }
    }

    fn collation_id(&self) -> u16 {
        if self.latin1.is_some() { LATIN1_COLLATION_ID } else { DEFAULT_COLLATION_ID }
    }

    /// Writes rows whose strings are not too long together to be copied, or one row.
    fn write(&mut self, batch: &Batch) -> Result<()> {
        let bytes = string_bytes(&batch.columns, batch);
        self.reply.expect_bytes(if bytes > ROWS_BYTES { bytes } else { 0 })?;
        let encoded = self.latin1.as_ref().map(|formats| charset::encode(&batch.compact(), formats));
        let batch = encoded.as_ref().unwrap_or(batch);
        match (&self.rows, &mut self.form) {
            (Some(Rows::Text(rows)), _) => rows.write(batch, |values| self.reply.row(values)),
            (Some(Rows::Binary(rows)), RowForm::Cursor(Some(cursor))) => rows.write(batch, |write| cursor.push(write)),
            (Some(Rows::Binary(rows)), _) => rows.write(batch, |write| self.reply.payload(write)),
            (None, _) => Err(Error::internal("rows before their columns")),
        }
    }
}

impl ResultSink for WireSink<'_, '_, '_> {
    fn columns(&mut self, columns: &[ColumnMeta]) -> Result<()> {
        let collation_id = self.collation_id();
        let definitions: Vec<_> = columns.iter().map(|meta| column(meta, collation_id)).collect();
        let formats: Vec<Format> = columns.iter().map(format).collect();
        if let Some(latin1) = &mut self.latin1 {
            latin1.clone_from(&formats);
        }
        self.rows = Some(match &mut self.form {
            RowForm::Text => Rows::Text(TextRows::new(formats)),
            RowForm::Binary => Rows::Binary(BinaryRows::new(formats)),
            RowForm::Cursor(cursor) => {
                **cursor = Some(Cursor::new(self.reply.reservation()));
                self.reply.cursor_columns(&definitions)?;
                self.rows = Some(Rows::Binary(BinaryRows::new(formats)));
                return Ok(());
            }
        });
        self.reply.columns(&definitions, 0, self.status)
    }

    fn batch(&mut self, batch: &Batch) -> Result<()> {
        if let Some(formats) = self.shared.take() {
            self.rows = Some(match self.form {
                RowForm::Text => Rows::Text(TextRows::new(formats.to_vec())),
                RowForm::Binary | RowForm::Cursor(_) => Rows::Binary(BinaryRows::new(formats.to_vec())),
            });
        }
        for_each_part(batch, ROWS_BYTES, |part| self.write(part))
    }

    fn shared_columns(&mut self, shape: &ResultShape) -> Result<()> {
        let Some(known) = shape.prepared(KnownColumns::new).filter(|_| !matches!(self.form, RowForm::Cursor(_))) else {
            return self.columns(&shape.columns);
        };
        if self.latin1.is_some() {
            return self.columns(&shape.columns);
        }
        self.shared = Some(known.text.clone());
        self.reply.encoded_columns(&known.packets, 0, self.status)
    }

    fn row_at(&mut self, shape: &ResultShape, at: RowAt<'_, '_>) -> Result<()> {
        if self.latin1.is_some() {
            return self.batch(&shape.one_row(at));
        }
        let Some(known) = shape.prepared(KnownColumns::new) else {
            return Err(Error::internal("columns of another sink"));
        };
        if known.may_be_long {
            let bytes = known.row_bytes(at);
            self.reply.expect_bytes(if bytes > ROWS_BYTES { bytes } else { 0 })?;
        }
        let cell = |i: usize, format: &Format| {
            let (chunk, position) = at(i);
            (resolve_chunk(chunk, false, format), position)
        };
        match &mut self.form {
            RowForm::Text => self.reply.payload_unsent(|out| {
                let mut row = TextRow::new(out);
                for (i, format) in known.text.iter().enumerate() {
                    let (column, position) = cell(i, format);
                    text_rows::write_value(&column, position, &mut row);
                }
            }),
            RowForm::Binary => self.reply.payload_unsent(|out| known.write_binary(out, cell)),
            RowForm::Cursor(Some(cursor)) => cursor.push(|out| known.write_binary(out, cell))?,
            RowForm::Cursor(None) => return Err(Error::internal("rows before their columns")),
        }
        Ok(())
    }

    fn row_done(&mut self) -> Result<()> {
        self.reply.flush_if_long()
    }

    fn end_rows(&mut self, end: &EndInfo) -> Result<()> {
        self.rows = None;
        self.shared = None;
        self.reply.expect_bytes(0)?;
        self.status = status(end.status);
        if matches!(self.form, RowForm::Cursor(_)) {
            self.status |= StatusFlags::CURSOR_EXISTS;
        }
        let warnings = warning_count(end.warnings);
        self.reply.end(&OkPacket { warnings, status: self.status, ..OkPacket::default() })
    }

    fn ok(&mut self, ok: &OkInfo) -> Result<()> {
        self.status = status(ok.status);
        let changes: Vec<_> = ok.schema_changed.as_deref().map(SessionChange::Schema).into_iter().collect();
        self.reply.ok(&OkPacket {
            affected_rows: ok.affected_rows,
            last_insert_id: ok.last_insert_id,
            status: self.status,
            warnings: warning_count(ok.warnings),
            info: &ok.info,
            changes: &changes,
        })
    }

    fn local_infile(&mut self, name: &str) -> Result<Box<dyn Read + Send + '_>> {
        Ok(Box::new(self.reply.local_infile(name.as_bytes())?))
    }
}
