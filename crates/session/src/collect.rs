//! A sink that keeps an answer, or throws it away: for programs in the same process, tests, and statements whose answer
//! nobody reads.

use crate::sink::{ColumnMeta, EndInfo, OkInfo, ResultSink};
use std::io::Read;
use types::{Error, Result, render_text};
use vector::Batch;

/// What LOAD DATA LOCAL is given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum LocalFiles {
    /// Error 3948.
    #[default]
    Refused,
    /// The files of that name in this process.
    Opened,
    /// These bytes, whatever the name.
    Bytes(Vec<u8>),
}

/// The last result set of a command, and what its last statement reported.
#[derive(Debug, Default)]
pub struct Collect {
    pub columns: Vec<ColumnMeta>,
    /// Selected rows alone; none if they are dropped.
    pub batches: Vec<Batch>,
    /// Of the last statement without rows.
    pub ok: OkInfo,
    /// Of the last statement.
    pub warnings: u64,
    /// Rows that came, kept or dropped.
    pub row_count: usize,
    local: LocalFiles,
    drops_rows: bool,
}

impl Collect {
    /// Keeps columns, counts rows, and drops them.
    pub fn without_rows() -> Collect {
        Collect { drops_rows: true, ..Collect::default() }
    }

    pub fn with_files(self, local: LocalFiles) -> Collect {
        Collect { local, ..self }
    }

    /// The rows as text clients see them; `None` for NULL.
    pub fn texts(&self) -> Vec<Vec<Option<String>>> {
        let mut rows = Vec::new();
        for batch in &self.batches {
            batch.selection.for_each(batch.rows, |i| {
                let text = |(column, meta): (&vector::Vector, &ColumnMeta)| {
                    let value = column.value(i, &meta.data_ty);
                    let mut out = Vec::new();
                    (!value.is_null()).then(|| {
                        render_text(&value, &meta.data_ty, &mut out);
                        String::from_utf8_lossy(&out).into_owned()
                    })
                };
                rows.push(batch.columns.iter().zip(&self.columns).map(text).collect());
            });
        }
        rows
    }
}

impl ResultSink for Collect {
    fn columns(&mut self, columns: &[ColumnMeta]) -> Result<()> {
        self.columns = columns.to_vec();
        self.batches.clear();
        self.row_count = 0;
        Ok(())
    }

    fn batch(&mut self, batch: &Batch) -> Result<()> {
        self.row_count += batch.count();
        if !self.drops_rows && batch.count() > 0 {
            self.batches.push(batch.compact());
        }
        Ok(())
    }

    fn end_rows(&mut self, end: &EndInfo) -> Result<()> {
        self.warnings = end.warnings;
        Ok(())
    }

    fn ok(&mut self, ok: &OkInfo) -> Result<()> {
        self.ok = ok.clone();
        self.warnings = ok.warnings;
        Ok(())
    }

    fn local_infile(&mut self, name: &str) -> Result<Box<dyn Read + Send + '_>> {
        match &self.local {
            LocalFiles::Refused => Err(Error::client_local_files_disabled()),
            LocalFiles::Opened => open_local(name),
            LocalFiles::Bytes(bytes) => Ok(Box::new(&bytes[..])),
        }
    }
}

/// LOAD DATA LOCAL in this process: the file itself.
pub fn open_local(name: &str) -> Result<Box<dyn Read + Send + 'static>> {
    match std::fs::File::open(name) {
        Ok(f) => Ok(Box::new(f)),
        Err(e) => Err(Error::file_not_found(name, e.raw_os_error().unwrap_or(0), e)),
    }
}
