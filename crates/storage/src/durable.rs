//! What makes a store durable: its folder, log, checkpoints, and the thread that looks after them.
//!
//! ```text
//!   nextleaf.lock   held while the database is open
//!   manifest        which images count, where the log begins
//!   data-N.nlx      leaf images
//!   redo-N.log      commits
//!   redo.end        how far the log goes
//!   *.new           one of them in the making
//! ```
//! Each says what of the others must be there (see [`crate::checkpoint::manifest`], [`crate::log::end`]), so no folder
//! opens that lacks a file, has an older copy of one, or one of another database: the start is refused with the name.
//! A folder without a manifest is a new database only if it has nothing else that was ever in use.

use crate::checkpoint::extent;
use crate::checkpoint::manifest::{self, Manifest};
use crate::checkpoint::run::{self, CheckpointDone, Draft, Moment};
use crate::definitions::{self, DefinitionChange, Definitions, ObjectKey};
use crate::index::ordered::GoOn;
use crate::log::end;
use crate::log::frame::{self, SEGMENT_HEADER_BYTES, SegmentHeader};
use crate::log::group::{FlushMode, OnTrouble, Redo, Trouble};
use crate::log::read::{LogStart, Unsettled};
use crate::log::segment::{self, Writer};
use crate::recovery::{self, Definer, OnProgress, Recovered};
use crate::sync::{AtomicU64, Condvar, Mutex, Ordering, Rank};
use crate::table::Table;
use crate::txn::TxnManager;
use disk::{Io, Lock, failed, missing};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use types::{Error, ErrorCode, Result};

const LOCK_NAME: &str = "nextleaf.lock";

/// How a store is made durable.
#[derive(Debug)]
pub struct DurableOptions {
    pub flush: FlushMode,
    /// A checkpoint begins when the log has grown by half of this since the last one (innodb_redo_log_capacity).
    pub log_bytes_max: u64,
    /// A segment of the log is closed when it has this size.
    pub segment_bytes: u64,
    /// Threads of recovery.
    pub threads: usize,
    pub on_trouble: OnTrouble,
    /// How long commits wait for room in the log on a full disk, until the store is only read.
    pub full_wait: Duration,
    /// What is missing at the end of the log is given up, where the folder would be refused else.
    pub accept_loss: bool,
}

/// Default of innodb_redo_log_capacity.
pub const LOG_BYTES_MAX: u64 = 512 << 20;

impl Default for DurableOptions {
    fn default() -> DurableOptions {
        DurableOptions {
            flush: FlushMode::default(),
            log_bytes_max: LOG_BYTES_MAX,
            segment_bytes: 64 << 20,
            threads: std::thread::available_parallelism().map_or(1, |n| n.get()),
            on_trouble: OnTrouble(Box::new(|trouble, e| match trouble {
                Trouble::Full => eprintln!("nextleaf: {e}; commits wait for room"),
                Trouble::Dead => eprintln!(
                    "nextleaf: {e}; nothing that was acknowledged is lost, but nothing can be changed until a restart"
                ),
            })),
            full_wait: Duration::from_secs(60),
            accept_loss: false,
        }
    }
}

#[derive(Debug)]
struct DefinitionState {
    definitions: Definitions,
    /// A change of them is on its way into the log.
    busy: bool,
}

/// The durable side of a store.
#[derive(Debug)]
pub struct Durable {
    io: Arc<dyn Io>,
    dir: PathBuf,
    redo: Arc<Redo>,
    definitions: Mutex<DefinitionState>,
    definitions_free: Condvar,
    /// Absent while a checkpoint is made.
    manifest: Mutex<Option<Manifest>>,
    manifest_free: Condvar,
    log_bytes_max: AtomicU64,
    /// Where the log of the last checkpoint begins.
    checkpoint_lsn: AtomicU64,
    checkpoints: AtomicU64,
    _lock: Box<dyn Lock>,
}

const WAIT: Duration = Duration::from_secs(1);

impl Durable {
    /// Recovers the folder, or begins a database there, and begins a new segment of the log.
    pub fn open(
        io: Arc<dyn Io>,
        dir: &Path,
        txns: &Arc<TxnManager>,
        options: DurableOptions,
        definer: Definer<'_>,
        progress: OnProgress<'_>,
    ) -> Result<(Durable, Recovered)> {
        io.create_dir(dir).map_err(|e| failed("create", dir, &e))?;
        let lock = lock(&*io, dir)?;
        let manifest = match Manifest::read(&*io, dir)? {
            Some(manifest) => manifest,
            None => begin(&*io, dir)?,
        };
        let how = recovery::How { threads: options.threads, accept_loss: options.accept_loss };
        let mut recovered = recovery::recover(&*io, dir, manifest, txns, how, definer, progress)?;
        settle(&*io, dir, &recovered)?;
        let segment = next_segment(&recovered);
        let writer = Writer::begin(&io, dir, options.segment_bytes, segment)?;
        upgrade(&*io, dir, &mut recovered.manifest, segment)?;
        drop_later_segments(&*io, dir, segment.number)?;
        run::remove_unneeded(&*io, dir, &recovered.manifest)?;
        let redo = Redo::new(writer, recovered.last_ts, options.flush, options.on_trouble, options.full_wait);
        let redo = Arc::new(redo);
        txns.set_redo(redo.clone(), recovered.last_ts);
        let durable = Durable {
            io,
            dir: dir.into(),
            redo,
            definitions: Mutex::new(
                Rank::Definitions,
                DefinitionState { definitions: recovered.definitions.clone(), busy: false },
            ),
            definitions_free: Condvar::new(),
            checkpoint_lsn: AtomicU64::new(recovered.manifest.log.lsn),
            manifest: Mutex::new(Rank::Definitions, Some(recovered.manifest.clone())),
            manifest_free: Condvar::new(),
            log_bytes_max: AtomicU64::new(options.log_bytes_max),
            checkpoints: AtomicU64::new(0),
            _lock: lock,
        };
        Ok((durable, recovered))
    }

    pub fn redo(&self) -> &Arc<Redo> {
        &self.redo
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    pub fn set_log_bytes_max(&self, bytes: u64) {
        self.log_bytes_max.store(bytes, Ordering::Relaxed);
    }

    /// Checkpoints since the start.
    pub fn checkpoints(&self) -> u64 {
        self.checkpoints.load(Ordering::Relaxed)
    }

    /// Bytes of log that a recovery would read.
    pub fn log_bytes(&self) -> u64 {
        self.redo.lsn().saturating_sub(self.checkpoint_lsn.load(Ordering::Relaxed))
    }

    /// The log has grown so that a checkpoint is due.
    pub fn is_checkpoint_due(&self) -> bool {
        self.log_bytes() > self.log_bytes_max.load(Ordering::Relaxed) / 2
    }

    pub fn definitions(&self) -> Definitions {
        self.definitions.lock().definitions.clone()
    }

    /// Definitions that were read in an older form are known in the present one from now on. Nothing is written: the
    /// log and the manifest have the old form until the next checkpoint, which writes all definitions.
    pub fn restate(&self, bodies: Vec<(ObjectKey, Box<[u8]>)>) {
        let mut state = self.definitions.lock();
        while state.busy {
            state = self.definitions_free.wait(state, WAIT);
        }
        bodies.into_iter().for_each(|(key, body)| state.definitions.restate(&key, body));
    }

    /// Logs one statement's changes of definitions; they are on stable storage when this returns.
    pub fn define(&self, txns: &TxnManager, changes: &[DefinitionChange]) -> Result<()> {
        let mut body = Vec::new();
        definitions::put_changes(changes, &mut body);
        {
            let mut state = self.definitions.lock();
            while state.busy {
                state = self.definitions_free.wait(state, WAIT);
            }
            state.busy = true;
        }
        let logged = self.redo.define(txns, body);
        let mut state = self.definitions.lock();
        state.busy = false;
        if logged.is_ok() {
            changes.iter().for_each(|c| state.definitions.apply(c));
        }
        drop(state);
        self.definitions_free.notify_all();
        logged.map(|_| ())
    }

    /// The database now: a snapshot, and the definitions that go with it.
    pub fn moment(&self, txns: &Arc<TxnManager>, tables: impl FnOnce() -> Vec<Arc<Table>>, id_max: u64) -> Moment {
        let mut state = self.definitions.lock();
        while state.busy {
            state = self.definitions_free.wait(state, WAIT);
        }
        // No definition is on its way, so those that are there are exactly those up to the snapshot.
        let mut definitions = state.definitions.clone();
        definitions.table_id_max = definitions.table_id_max.max(id_max);
        let tables = tables();
        Moment { snapshot: txns.snapshot(), definitions, tables }
    }

    /// Makes a checkpoint. `moment` is called once the log's new segment has begun.
    pub fn checkpoint(&self, txns: &Arc<TxnManager>, moment: impl FnOnce() -> Moment) -> Result<CheckpointDone> {
        let last = {
            let mut slot = self.manifest.lock();
            loop {
                match slot.take() {
                    Some(manifest) => break manifest,
                    None => slot = self.manifest_free.wait(slot, WAIT),
                }
            }
        };
        let made = self.make_checkpoint(txns, &last, moment);
        let (manifest, result) = match made {
            Ok((manifest, done)) => (manifest, Ok(done)),
            Err(e) => (last, Err(e)),
        };
        *self.manifest.lock() = Some(manifest.clone());
        self.manifest_free.notify_all();
        let done = result?;
        self.checkpoints.fetch_add(1, Ordering::Relaxed);
        run::remove_unneeded(&*self.io, &self.dir, &manifest)?;
        Ok(done)
    }

    fn make_checkpoint(
        &self,
        txns: &Arc<TxnManager>,
        last: &Manifest,
        moment: impl FnOnce() -> Moment,
    ) -> Result<(Manifest, CheckpointDone)> {
        let segment = self.redo.flush(txns, true)?;
        let moment = moment();
        let mut draft = Draft::new(&self.io, &self.dir, last);
        let synced = draft.write_leaves(&moment, false, &|| Ok(())).and_then(|()| self.redo.flush(txns, false));
        if let Err(e) = synced {
            draft.abandon();
            return Err(e);
        }
        let done = draft.done;
        let SegmentHeader { number, start_lsn: lsn, stamp, .. } = segment;
        let log = LogStart { segment: number, lsn, synced_lsn: self.redo.synced_lsn(), stamp };
        match draft.finish(&self.io, &self.dir, log) {
            Ok(manifest) => {
                self.checkpoint_lsn.store(segment.start_lsn, Ordering::Relaxed);
                Ok((manifest, done))
            }
            Err(run::Failed { error, draft: Some(draft) }) => {
                draft.abandon();
                Err(error)
            }
            Err(run::Failed { error, draft: None }) => {
                self.redo.die(&error);
                Err(error)
            }
        }
    }

    /// Writes a copy of the database into `to`, which must be empty or not there.
    pub fn backup(&self, to: &Path, moment: &Moment, go_on: GoOn<'_>) -> Result<CheckpointDone> {
        self.io.create_dir(to).map_err(|e| failed("create", to, &e))?;
        let names = self.io.list(to).map_err(|e| failed("list", to, &e))?;
        if let Some(name) = names.first() {
            return Err(Error::new(
                ErrorCode::GET_ERRNO,
                format!("the folder {} is not empty: it has {name}", to.display()),
            ));
        }
        run::write_copy(&self.io, to, moment, go_on)
    }
}

fn lock(io: &dyn Io, dir: &Path) -> Result<Box<dyn Lock>> {
    let path = dir.join(LOCK_NAME);
    io.lock(&path).map_err(|e| match e.kind() {
        std::io::ErrorKind::WouldBlock => {
            Error::new(ErrorCode::GET_ERRNO, format!("the database in {} is open in another process", dir.display()))
        }
        _ => failed("lock", &path, &e),
    })
}

/// What was recovered is acknowledged from now on, so it must not be in the system's memory alone. It is written again:
/// if a sync failed before a restart, the system may take pages for written that are not.
fn settle(io: &dyn Io, dir: &Path, recovered: &Recovered) -> Result<()> {
    const PIECE_BYTES: u64 = 1 << 20;
    let Some(Unsettled { path, header, frames }) = &recovered.unsettled else { return Ok(()) };
    let file = io.open(path).map_err(|e| failed("open", path, &e))?;
    file.write_at(&header.to_bytes(), 0).map_err(|e| failed("write", path, &e))?;
    for at in frames.clone().step_by(PIECE_BYTES as usize) {
        let mut bytes = vec![0; (frames.end - at).min(PIECE_BYTES) as usize];
        file.read_at(&mut bytes, at).map_err(|e| failed("read", path, &e))?;
        file.write_at(&bytes, at).map_err(|e| failed("write", path, &e))?;
    }
    file.sync().map_err(|e| failed("sync", path, &e))?;
    io.sync_dir(dir).map_err(|e| failed("sync", dir, &e))
}

/// The segment that is to be begun. A log without a record begins anew where it began: a folder that is only read does
/// not gather segments.
fn next_segment(recovered: &Recovered) -> SegmentHeader {
    let (log, start_lsn) = (recovered.manifest.log, recovered.end_lsn);
    let new = |stamp| if stamp == 0 { frame::new_stamp() } else { stamp };
    if start_lsn == log.lsn {
        return SegmentHeader { number: log.segment, start_lsn, stamp: new(log.stamp), previous: 0 };
    }
    let (number, previous) = (recovered.next_segment, recovered.last_stamp);
    SegmentHeader { number, start_lsn, stamp: new(0), previous }
}

/// A folder of an older format gets the present one. `segment`: the one that was begun.
fn upgrade(io: &dyn Io, dir: &Path, manifest: &mut Manifest, segment: SegmentHeader) -> Result<()> {
    if manifest.format == manifest::FORMAT {
        return Ok(());
    }
    if manifest.log.segment == segment.number {
        manifest.log.stamp = segment.stamp;
    }
    manifest.format = manifest::FORMAT;
    switch(io, dir, manifest)
}

fn switch(io: &dyn Io, dir: &Path, manifest: &Manifest) -> Result<()> {
    manifest.switch(io, dir).map_err(|e| match e {
        manifest::SwitchError::Before(e) | manifest::SwitchError::After(e) => e,
    })
}

/// Removes segments without records that an earlier process began behind the one that is begun again.
fn drop_later_segments(io: &dyn Io, dir: &Path, newest: u64) -> Result<()> {
    let names = io.list(dir).map_err(|e| failed("list", dir, &e))?;
    let mut numbers: Vec<u64> = names.iter().filter_map(|n| segment::number_of(n)).filter(|n| *n > newest).collect();
    // The last one first: at no time is there a gap.
    numbers.sort_unstable();
    for number in numbers.into_iter().rev() {
        let path = segment::path(dir, number);
        io.remove(&path).map_err(|e| failed("remove", &path, &e))?;
        io.sync_dir(dir).map_err(|e| failed("sync", dir, &e))?;
    }
    Ok(())
}

/// A new database. A folder that has a database's files but no manifest has lost it.
fn begin(io: &dyn Io, dir: &Path) -> Result<Manifest> {
    let names = io.list(dir).map_err(|e| failed("list", dir, &e))?;
    let is_data = |n: &&String| segment::number_of(n).is_some() || extent::number_of(n).is_some() || **n == end::NAME;
    for name in names.iter().filter(is_data) {
        if !was_begun_only(io, dir, name)? {
            return Err(missing(&dir.join(manifest::NAME), format_args!("{name} is there")));
        }
    }
    let manifest = Manifest::empty(segment::begin_log(io, dir)?);
    switch(io, dir, &manifest)?;
    Ok(manifest)
}

/// Whether the file is of a database that was being made when the power failed.
fn was_begun_only(io: &dyn Io, dir: &Path, name: &str) -> Result<bool> {
    if name == end::NAME {
        return Ok(end::read(io, dir)?.is_some_and(|n| n.end.segment == 1 && n.end.synced_lsn == 0));
    }
    let path = dir.join(name);
    let bytes = disk::read_all(io, &path).map_err(|e| failed("read", &path, &e))?;
    let frames = bytes.get(SEGMENT_HEADER_BYTES as usize..);
    Ok(segment::number_of(name) == Some(1) && frames.is_some_and(|f| f.iter().all(|b| *b == 0)))
}
