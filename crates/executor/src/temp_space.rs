//! What temporary files may take of the disk.
//!
//! ```text
//! a file ──▶ its statement (max_tmp_session_space_usage) ──▶ all statements (max_tmp_total_space_usage) ──▶ the volume
//! ```
//! Bytes are asked for before they are written, and given back when their file closes. Files never take what the volume
//! has last, [`kept_free`]: the redo log may lie there as well. A refusal is error 1021, as for a disk that is full.

use std::fs::File;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use types::{Error, ErrorCode, Result};

/// Bytes that are written between two looks at the volume.
const LOOK_BYTES: u64 = 16 << 20;

/// The share of a volume that is kept free, and the most of it.
const KEPT_SHARE: u64 = 20;
const KEPT_BYTES_MAX: u64 = 1 << 30;

/// The temporary files of all statements.
#[derive(Debug, Default)]
pub struct TempSpace {
    /// 0: no limit but the volume's.
    limit_bytes: AtomicU64,
    used_bytes: AtomicU64,
    /// Written since the volume was looked at.
    unlooked_bytes: AtomicU64,
}

impl TempSpace {
    /// All files together may have `bytes`; 0: what the volume has.
    pub fn set_limit(&self, bytes: u64) {
        self.limit_bytes.store(bytes, Relaxed);
    }

    pub fn used_bytes(&self) -> u64 {
        self.used_bytes.load(Relaxed)
    }

    fn check(&self, more: u64, file: &File) -> Result<()> {
        let limit = self.limit_bytes.load(Relaxed);
        if limit != 0 && self.used_bytes() > limit {
            return Err(full(format_args!("max_tmp_total_space_usage, {limit} bytes, is reached")));
        }
        let unlooked = self.unlooked_bytes.fetch_add(more, Relaxed);
        if unlooked == 0 || unlooked + more >= LOOK_BYTES {
            if leaves_too_little(file, more) {
                // The next one looks, too.
                self.unlooked_bytes.store(0, Relaxed);
                return Err(full("the volume has too little left"));
            }
            self.unlooked_bytes.store(1, Relaxed);
        }
        Ok(())
    }
}

/// What a statement's files may take, for its context: most statements have none.
#[derive(Debug)]
pub struct TempFiles<'a> {
    all: &'a Arc<TempSpace>,
    limit_bytes: u64,
    files: OnceLock<Arc<StatementFiles>>,
}

impl<'a> TempFiles<'a> {
    /// Of a statement whose files may have `limit_bytes` together; 0: as much as there is.
    pub fn new(all: &'a Arc<TempSpace>, limit_bytes: u64) -> TempFiles<'a> {
        TempFiles { all, limit_bytes, files: OnceLock::new() }
    }

    pub(crate) fn counted(&self) -> &Arc<StatementFiles> {
        self.files.get_or_init(|| StatementFiles::new(self.all, self.limit_bytes))
    }
}

/// The files of one statement.
#[derive(Debug)]
pub(crate) struct StatementFiles {
    all: Arc<TempSpace>,
    /// 0: no limit of its own.
    limit_bytes: u64,
    used_bytes: AtomicU64,
}

impl StatementFiles {
    pub fn new(all: &Arc<TempSpace>, limit_bytes: u64) -> Arc<StatementFiles> {
        Arc::new(StatementFiles { all: all.clone(), limit_bytes, used_bytes: AtomicU64::new(0) })
    }

    /// Room for `bytes` more in `file`: error 1021 if there is none. They are given back by [`StatementFiles::release`]
    /// in either case.
    pub fn take(&self, bytes: u64, file: &File) -> Result<()> {
        let used = self.used_bytes.fetch_add(bytes, Relaxed) + bytes;
        self.all.used_bytes.fetch_add(bytes, Relaxed);
        if self.limit_bytes != 0 && used > self.limit_bytes {
            return Err(full(format_args!("max_tmp_session_space_usage, {} bytes, is reached", self.limit_bytes)));
        }
        self.all.check(bytes, file)
    }

    pub fn release(&self, bytes: u64) {
        self.used_bytes.fetch_sub(bytes, Relaxed);
        self.all.used_bytes.fetch_sub(bytes, Relaxed);
    }
}

fn full(why: impl std::fmt::Display) -> Error {
    Error::new(ErrorCode::DISK_FULL, format!("Disk full (temporary file); {why}"))
}

/// What temporary files leave of a volume of `bytes`.
fn kept_free(bytes: u64) -> u64 {
    (bytes / KEPT_SHARE).min(KEPT_BYTES_MAX)
}

fn leaves_too_little(file: &File, more: u64) -> bool {
    let Ok(volume) = rustix::fs::fstatvfs(file) else { return false };
    let bytes = |blocks: u64| blocks.saturating_mul(volume.f_frsize);
    bytes(volume.f_bavail) < kept_free(bytes(volume.f_blocks)).saturating_add(more)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_take_no_more_than_their_statement_and_all_may() {
        let path = std::env::temp_dir().join(format!("nextleaf-space-{}", std::process::id()));
        let file = File::create(&path).expect("a file");
        let all = Arc::new(TempSpace::default());
        let (a, b) = (StatementFiles::new(&all, 100), StatementFiles::new(&all, 0));
        assert!(a.take(100, &file).is_ok());
        assert_eq!(a.take(1, &file).map_err(|e| e.code()), Err(ErrorCode::DISK_FULL));
        assert!(b.take(1000, &file).is_ok());
        all.set_limit(1200);
        assert!(b.take(200, &file).is_err());
        b.release(1200);
        assert!(b.take(99, &file).is_ok());
        assert!(b.take(u64::MAX / 4, &file).is_err(), "no volume has so much");
        b.release(u64::MAX / 4);
        a.release(101);
        b.release(99);
        assert_eq!(all.used_bytes(), 0);
        assert_eq!((kept_free(1000), kept_free(u64::MAX)), (50, KEPT_BYTES_MAX));
        std::fs::remove_file(path).expect("it was made");
    }
}
