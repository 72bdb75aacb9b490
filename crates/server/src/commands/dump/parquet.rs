//! Dumps in Parquet: one file a table, Snappy-compressed, types as in [`crate::arrow_scan`].

use std::io::Write;

use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
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
        .set_max_row_group_row_count(Some(GROUP_ROWS_MAX))
        .set_created_by(concat!("nextleaf ", env!("CARGO_PKG_VERSION")).into())
        .build();
    let failed = |e: parquet::errors::ParquetError| fault(format!("cannot write: {e}"));
    let mut writer = ArrowWriter::try_new(out, scan.schema().clone(), Some(properties)).map_err(failed)?;
    for batch in scan.by_ref() {
        writer.write(&batch?).map_err(failed)?;
        if writer.in_progress_size() >= GROUP_BYTES_MAX {
            writer.flush().map_err(failed)?;
        }
    }
    writer.close().map_err(failed)?;
    Ok(scan.lost())
}
