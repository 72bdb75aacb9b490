//! Answers of the engine on their way to the client.

use std::io::Read;

use engine::{ColumnMeta, EndInfo, OkInfo, ResultSink};
use protocol::{OkPacket, SessionChange, StatusFlags};
use types::{Error, Result};
use vector::Batch;

use super::binary_rows::BinaryRows;
use super::columns::{column, format};
use super::statements::Cursor;
use super::text_rows::TextRows;
use crate::net::{DEFAULT_COLLATION_ID, Reply};

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
}

impl<'a, 'b, 'c> WireSink<'a, 'b, 'c> {
    pub(super) fn new(reply: &'a mut Reply<'b>, status: StatusFlags, form: RowForm<'c>) -> WireSink<'a, 'b, 'c> {
        WireSink { reply, status, form, rows: None }
    }
}

impl ResultSink for WireSink<'_, '_, '_> {
    fn columns(&mut self, columns: &[ColumnMeta]) -> Result<()> {
        let definitions: Vec<_> = columns.iter().map(|meta| column(meta, DEFAULT_COLLATION_ID)).collect();
        let formats = columns.iter().map(format).collect();
        self.rows = Some(match &mut self.form {
            RowForm::Text => Rows::Text(TextRows::new(formats)),
            RowForm::Binary => Rows::Binary(BinaryRows::new(formats)),
            RowForm::Cursor(cursor) => {
                **cursor = Some(Cursor::default());
                self.reply.cursor_columns(&definitions)?;
                self.rows = Some(Rows::Binary(BinaryRows::new(formats)));
                return Ok(());
            }
        });
        self.reply.columns(&definitions, 0, self.status)
    }

    fn batch(&mut self, batch: &Batch) -> Result<()> {
        match (&self.rows, &mut self.form) {
            (Some(Rows::Text(rows)), _) => rows.write(batch, |values| self.reply.row(values)),
            (Some(Rows::Binary(rows)), RowForm::Cursor(Some(cursor))) => rows.write(batch, |write| {
                cursor.push(write);
                Ok(())
            }),
            (Some(Rows::Binary(rows)), _) => rows.write(batch, |write| self.reply.payload(write)),
            (None, _) => Err(Error::internal("rows before their columns")),
        }
    }

    fn end_rows(&mut self, end: &EndInfo) -> Result<()> {
        self.rows = None;
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

/// Keeps a result's columns and drops the rest.
#[derive(Default)]
pub(crate) struct ColumnsOnly {
    pub(crate) columns: Vec<ColumnMeta>,
}

impl ResultSink for ColumnsOnly {
    fn columns(&mut self, columns: &[ColumnMeta]) -> Result<()> {
        self.columns = columns.to_vec();
        Ok(())
    }

    fn batch(&mut self, _: &Batch) -> Result<()> {
        Ok(())
    }

    fn end_rows(&mut self, _: &EndInfo) -> Result<()> {
        Ok(())
    }

    fn ok(&mut self, _: &OkInfo) -> Result<()> {
        Ok(())
    }

    fn local_infile(&mut self, _: &str) -> Result<Box<dyn Read + Send + '_>> {
        Err(Error::client_local_files_disabled())
    }
}
