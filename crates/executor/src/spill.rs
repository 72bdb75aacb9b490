//! Temporary files: where operators put rows that memory has no room for.
//!
//! A file is unlinked as soon as it is open, so the system frees it when the last handle closes, also after a crash.
//! Batches are appended by any thread and read back by extent.
//!
//! ```text
//!   batch   rows: u32 | column ...
//!   column  form: u8 | has-NULLs: u8 | [validity: u64 words] | values, or string lengths: u32 each | string bytes
//! ```

use crate::columns::{ColumnAppender, for_each_part, string_bytes};
use crate::context::ExecContext;
use crate::memory::check_room;
use crate::temp_space::StatementFiles;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use types::{Error, ErrorCode, I256, PhysType, Result, SqlType};
use vector::{BATCH_ROWS_MAX, Batch, Bitmap, Chunk, Selection, StrHeap, StrValues, StrView, Values, Vector};

static NEXT_FILE: AtomicU64 = AtomicU64::new(0);

/// One temporary file, shared by the threads of an operator.
pub struct SpillFile {
    file: File,
    tail: AtomicU64,
    space: Arc<StatementFiles>,
}

impl Drop for SpillFile {
    fn drop(&mut self) {
        self.space.release(self.bytes());
    }
}

/// Where a batch lies.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    offset: u64,
    pub bytes: u64,
    pub rows: u32,
}

fn io_error(what: &str, e: &std::io::Error) -> Error {
    // 27: EFBIG (a limit of the process), 28: ENOSPC, 122: EDQUOT
    if matches!(e.raw_os_error(), Some(27 | 28 | 122)) {
        return Error::new(ErrorCode::DISK_FULL, format!("Disk full (temporary file); {what}: {e}"));
    }
    Error::internal(format_args!("temporary file: {what}: {e}"))
}

impl SpillFile {
    pub fn create(ctx: &ExecContext<'_>) -> Result<SpillFile> {
        let name = format!("nextleaf-{}-{}.tmp", std::process::id(), NEXT_FILE.fetch_add(1, Ordering::Relaxed));
        let path = ctx.spill_dir.join(name);
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(disk::modes::SECRET)
            .open(&path)
            .map_err(|e| io_error(&format!("cannot create {}", path.display()), &e))?;
        std::fs::remove_file(&path).map_err(|e| io_error("cannot unlink", &e))?;
        Ok(SpillFile { file, tail: AtomicU64::new(0), space: ctx.temp_files.counted().clone() })
    }

    /// Appends the selected rows, and to `extents` where they lie: rows with long strings are written few at a time, so
    /// that neither writing them nor reading them back takes much memory.
    pub fn write(&self, batch: &Batch, ctx: &ExecContext<'_>, extents: &mut Vec<Extent>) -> Result<()> {
        for_each_part(batch, ctx.extent_bytes(), |part| {
            extents.push(self.write_part(part, ctx)?);
            Ok(())
        })
    }

    fn write_part(&self, batch: &Batch, ctx: &ExecContext<'_>) -> Result<Extent> {
        let strings = string_bytes(&batch.columns, batch);
        check_room(strings, "A row that is written to a temporary file")?;
        let mut bytes = Vec::with_capacity(strings.max(1 << 16) + (batch.count() + 64) * batch.columns.len() * 4);
        encode(batch, &mut bytes);
        let offset = self.tail.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        self.space.take(bytes.len() as u64, &self.file)?;
        self.file.write_all_at(&bytes, offset).map_err(|e| io_error("cannot write", &e))?;
        ctx.counters.spilled_bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        Ok(Extent { offset, bytes: bytes.len() as u64, rows: batch.count() as u32 })
    }

    pub fn read(&self, extent: Extent) -> Result<Batch> {
        // What is read is there twice for a moment.
        check_room(2 * extent.bytes as usize, "A row that is read from a temporary file")?;
        let mut bytes = vec![0; extent.bytes as usize];
        self.file.read_exact_at(&mut bytes, extent.offset).map_err(|e| io_error("cannot read", &e))?;
        decode(&bytes).ok_or_else(|| Error::internal("a temporary file came back damaged"))
    }

    pub fn bytes(&self) -> u64 {
        self.tail.load(Ordering::Relaxed)
    }
}

/// Opens the operator's file at its first use.
#[derive(Default)]
pub struct LazyFile {
    file: Mutex<Option<Arc<SpillFile>>>,
    /// Files of one table share it: whether the table has been counted.
    table: Option<Arc<AtomicBool>>,
}

impl LazyFile {
    /// Another file for rows of the same table, which counts but once. For tables that are made in rounds.
    pub fn same_table(&mut self) -> LazyFile {
        LazyFile { file: Mutex::default(), table: Some(self.table.get_or_insert_default().clone()) }
    }

    /// Counts as a temporary table on disk.
    pub fn get(&self, ctx: &ExecContext<'_>) -> Result<Arc<SpillFile>> {
        self.open(ctx, true)
    }

    /// Runs of sorts, partitions of joins and the like are no tables.
    pub fn get_for_runs(&self, ctx: &ExecContext<'_>) -> Result<Arc<SpillFile>> {
        self.open(ctx, false)
    }

    pub fn open(&self, ctx: &ExecContext<'_>, is_table: bool) -> Result<Arc<SpillFile>> {
        let mut f = self.file.lock().unwrap_or_else(|p| p.into_inner());
        if f.is_none() {
            *f = Some(Arc::new(SpillFile::create(ctx)?));
            let counted = self.table.as_ref().is_some_and(|t| t.swap(true, Ordering::Relaxed));
            if is_table && !counted {
                ctx.counters.created_tmp_disk_tables.fetch_add(1, Ordering::Relaxed);
            }
        }
        Ok(f.clone().expect("just set"))
    }

    pub fn bytes(&self) -> u64 {
        self.file.lock().unwrap_or_else(|p| p.into_inner()).as_ref().map_or(0, |f| f.bytes())
    }
}

/// Rows on their way to a file, gathered until a write is worth it.
pub struct SpillWriter {
    file: Arc<SpillFile>,
    types: Vec<SqlType>,
    pending: Vec<ColumnAppender>,
    pending_rows: usize,
    pub extents: Vec<Extent>,
}

const PENDING_BYTES_MAX: usize = 32 << 10;

impl SpillWriter {
    pub fn new(file: Arc<SpillFile>, types: &[SqlType]) -> SpillWriter {
        SpillWriter {
            file,
            types: types.to_vec(),
            pending: types.iter().map(|_| ColumnAppender::default()).collect(),
            pending_rows: 0,
            extents: Vec::new(),
        }
    }

    /// Appends the positions `positions` of the columns of a batch of `rows` rows.
    pub fn append(&mut self, columns: &[Vector], positions: &[u16], rows: usize, ctx: &ExecContext<'_>) -> Result<()> {
        let mut rest = positions;
        while !rest.is_empty() {
            let room = BATCH_ROWS_MAX - self.pending_rows;
            let (now, later) = rest.split_at(rest.len().min(room));
            let selection = Selection::Some(now.to_vec());
            for (a, v) in self.pending.iter_mut().zip(columns) {
                a.append(v, &selection, rows);
            }
            self.pending_rows += now.len();
            rest = later;
            let bytes: usize = self.pending.iter().map(ColumnAppender::bytes).sum();
            if self.pending_rows == BATCH_ROWS_MAX || bytes >= PENDING_BYTES_MAX {
                self.flush(ctx)?;
            }
        }
        Ok(())
    }

    pub fn flush(&mut self, ctx: &ExecContext<'_>) -> Result<()> {
        if self.pending_rows == 0 {
            return Ok(());
        }
        let columns = self
            .pending
            .iter_mut()
            .zip(&self.types)
            .map(|(a, ty)| Vector::flat(std::mem::take(a).finish(ty)))
            .collect();
        let batch = Batch::new(self.pending_rows, columns);
        self.pending_rows = 0;
        self.file.write(&batch, ctx, &mut self.extents)
    }

    /// Writes what is pending; the extents are then complete.
    pub fn finish(mut self, ctx: &ExecContext<'_>) -> Result<SpillRun> {
        self.flush(ctx)?;
        Ok(SpillRun { file: self.file, extents: self.extents })
    }
}

/// Batches in a file, in order.
#[derive(Clone)]
pub struct SpillRun {
    pub file: Arc<SpillFile>,
    pub extents: Vec<Extent>,
}

impl SpillRun {
    pub fn rows(&self) -> u64 {
        self.extents.iter().map(|e| e.rows as u64).sum()
    }
}

fn put_words<const N: usize>(out: &mut Vec<u8>, words: impl Iterator<Item = [u8; N]>) {
    words.for_each(|w| out.extend_from_slice(&w));
}

fn encode(batch: &Batch, out: &mut Vec<u8>) {
    let batch = batch.compact();
    out.extend_from_slice(&(batch.rows as u32).to_le_bytes());
    for v in &batch.columns {
        let chunk = v.flatten(batch.rows);
        let tag = match chunk.values.phys() {
            PhysType::I8 => 0u8,
            PhysType::U8 => 1,
            PhysType::I16 => 2,
            PhysType::U16 => 3,
            PhysType::I32 => 4,
            PhysType::U32 => 5,
            PhysType::I64 => 6,
            PhysType::U64 => 7,
            PhysType::I128 => 8,
            PhysType::I256 => 9,
            PhysType::F32 => 10,
            PhysType::F64 => 11,
            PhysType::Str => 12,
        };
        out.push(tag);
        out.push(chunk.validity.is_some() as u8);
        if let Some(b) = &chunk.validity {
            put_words(out, b.words().iter().map(|w| w.to_le_bytes()));
        }
        match &chunk.values {
            Values::I8(v) => put_words(out, v.iter().map(|x| x.to_le_bytes())),
            Values::U8(v) => put_words(out, v.iter().map(|x| x.to_le_bytes())),
            Values::I16(v) => put_words(out, v.iter().map(|x| x.to_le_bytes())),
            Values::U16(v) => put_words(out, v.iter().map(|x| x.to_le_bytes())),
            Values::I32(v) => put_words(out, v.iter().map(|x| x.to_le_bytes())),
            Values::U32(v) => put_words(out, v.iter().map(|x| x.to_le_bytes())),
            Values::I64(v) => put_words(out, v.iter().map(|x| x.to_le_bytes())),
            Values::U64(v) => put_words(out, v.iter().map(|x| x.to_le_bytes())),
            Values::I128(v) => put_words(out, v.iter().map(|x| x.to_le_bytes())),
            Values::I256(v) => {
                for x in v {
                    out.extend_from_slice(&x.lo.to_le_bytes());
                    out.extend_from_slice(&x.hi.to_le_bytes());
                }
            }
            Values::F32(v) => put_words(out, v.iter().map(|x| x.to_le_bytes())),
            Values::F64(v) => put_words(out, v.iter().map(|x| x.to_le_bytes())),
            Values::Str(_) | Values::Dict(_) => {
                let flat = Vector::Flat(chunk.clone());
                (0..batch.rows).for_each(|i| out.extend_from_slice(&(flat.bytes(i).len() as u32).to_le_bytes()));
                (0..batch.rows).for_each(|i| out.extend_from_slice(flat.bytes(i)));
            }
        }
    }
}

struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (head, tail) = self.0.split_at_checked(n)?;
        self.0 = tail;
        Some(head)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }
}

fn decode(bytes: &[u8]) -> Option<Batch> {
    let mut c = Cursor(bytes);
    let rows = u32::from_le_bytes(c.array()?) as usize;
    let mut columns = Vec::new();
    while !c.0.is_empty() {
        let [tag, nulls] = c.array()?;
        let validity = if nulls != 0 {
            let mut b = Bitmap::zeros(rows);
            for w in b.words_mut() {
                *w = u64::from_le_bytes(c.array()?);
            }
            Some(b)
        } else {
            None
        };
        macro_rules! fixed {
            ($t:ty, $variant:ident) => {{
                let raw = c.take(rows * size_of::<$t>())?;
                let get = |b: &[u8]| <$t>::from_le_bytes(b.try_into().expect("chunks of exactly this size"));
                Values::$variant(raw.chunks_exact(size_of::<$t>()).map(get).collect())
            }};
        }
        let values = match tag {
            0 => fixed!(i8, I8),
            1 => fixed!(u8, U8),
            2 => fixed!(i16, I16),
            3 => fixed!(u16, U16),
            4 => fixed!(i32, I32),
            5 => fixed!(u32, U32),
            6 => fixed!(i64, I64),
            7 => fixed!(u64, U64),
            8 => fixed!(i128, I128),
            9 => {
                let mut v = Vec::with_capacity(rows);
                for _ in 0..rows {
                    v.push(I256 { lo: u128::from_le_bytes(c.array()?), hi: i128::from_le_bytes(c.array()?) });
                }
                Values::I256(v)
            }
            10 => fixed!(f32, F32),
            11 => fixed!(f64, F64),
            12 => {
                let lens: Vec<usize> = {
                    let raw = c.take(rows * 4)?;
                    raw.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]) as usize).collect()
                };
                let block = Arc::new(c.take(lens.iter().sum())?.to_vec());
                let mut at = 0;
                let views = lens
                    .iter()
                    .map(|&len| {
                        let s = &block[at..at + len];
                        let view = if len <= 12 { StrView::inline(s) } else { StrView::pointing(s, 0, at as u32) };
                        at += len;
                        view
                    })
                    .collect();
                Values::Str(StrValues { views, heap: Arc::new(StrHeap::of(vec![block])) })
            }
            _ => return None,
        };
        columns.push(Vector::flat(Chunk::new(values, validity)));
    }
    Some(Batch::new(rows, columns))
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::Value;
    use vector::ChunkBuilder;

    #[test]
    fn batches_come_back_as_they_went() {
        let mut ints = ChunkBuilder::new(PhysType::I32, 0);
        let mut strings = ChunkBuilder::new(PhysType::Str, 0);
        for i in 0..100 {
            if i % 7 == 0 {
                ints.push_null()
            } else {
                ints.push(&Value::Int(i))
            }
            strings.push_bytes("x".repeat(i as usize % 30).as_bytes());
        }
        let mut batch = Batch::new(100, vec![Vector::flat(ints.finish()), Vector::flat(strings.finish())]);
        batch.selection = Selection::Some((0..100).step_by(3).collect());
        let mut bytes = Vec::new();
        encode(&batch, &mut bytes);
        let back = decode(&bytes).expect("just encoded");
        assert_eq!(back.rows, 34);
        let (int, text) = (SqlType::INT, SqlType::varchar(30, types::Collation::Binary));
        for (j, i) in (0..100).step_by(3).enumerate() {
            assert_eq!(back.columns[0].value(j, &int), batch.columns[0].value(i, &int));
            assert_eq!(back.columns[1].value(j, &text), batch.columns[1].value(i, &text));
        }
        assert!(decode(&bytes[..bytes.len() - 1]).is_none());
    }
}
