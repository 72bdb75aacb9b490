//! From a folder to tables in memory.
//!
//! ```text
//!   manifest ─▶ scan of the log ─▶ definitions ─▶ images ─▶ replay ─▶ indexes, statistics
//!               (checksums, torn   (those that    (all threads, one leaf each; replay by leaf:
//!                tail cut)          are left)      each thread has its own leaves and their order)
//! ```
//! Tables are made from their last definitions: rows of a table that is gone are not replayed, and an index that was
//! added later is built once. Only commits newer than the manifest's timestamp are replayed. The log is read twice,
//! once to check it and once to replay it, and at no time is more than one segment of it in memory.

use crate::checkpoint::extent::{self, Loc};
use crate::checkpoint::manifest::Manifest;
use crate::definitions::{self, DefinitionChange, Definitions, Object, ObjectKey};
use crate::heap::LeafState;
use crate::image::leaf as leaf_image;
use crate::leaf::Leaf;
use crate::log::changes::{self, Op, OpKind};
use crate::log::end;
use crate::log::frame::Kind;
use crate::log::read::{self, Expected, LogScan, Segment, Torn, Unsettled};
use crate::table::{Table, number_at};
use crate::txn::TxnManager;
use catalog::TableDef;
use disk::{File, Io, corrupt, failed, missing};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use types::{Error, Result};
use vector::StringDict;

/// Makes a table's definition of the bytes that the engine gave for it.
pub type Definer<'a> = &'a mut dyn FnMut(&ObjectKey, &Object) -> Result<Arc<TableDef>>;

/// How far recovery is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    pub phase: &'static str,
    pub done: u64,
    pub total: u64,
}

/// Called now and then, from any of recovery's threads.
pub type OnProgress<'a> = &'a (dyn Fn(Progress) + Sync);

/// What a folder had.
#[derive(Debug)]
pub struct Recovered {
    pub manifest: Manifest,
    pub definitions: Definitions,
    pub tables: Vec<Arc<Table>>,
    pub last_ts: u64,
    pub end_lsn: u64,
    pub next_segment: u64,
    /// The stamp of the segment before the next one.
    pub last_stamp: u64,
    /// What of the log may not be on stable storage.
    pub unsettled: Option<Unsettled>,
    pub report: Report,
}

/// For the log of the server.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    pub images: u64,
    pub commits_replayed: u64,
    pub changes_replayed: u64,
    /// What people must know: what was dropped at the end of the log, and what could not be checked.
    pub warnings: Vec<String>,
}

/// How to recover.
#[derive(Clone, Copy, Debug)]
pub struct How {
    pub threads: usize,
    /// What is missing at the end of the log is given up.
    pub accept_loss: bool,
}

struct Source<'a> {
    io: &'a dyn Io,
    dir: &'a Path,
    threads: usize,
    progress: OnProgress<'a>,
}

/// Reads the folder; changes nothing there.
pub fn recover(
    io: &dyn Io,
    dir: &Path,
    manifest: Manifest,
    txns: &Arc<TxnManager>,
    how: How,
    definer: Definer<'_>,
    progress: OnProgress<'_>,
) -> Result<Recovered> {
    let source = Source { io, dir, threads: how.threads.max(1), progress };
    let mut report = Report::default();
    let scan = read_log(&source, &manifest, how.accept_loss, &mut report.warnings)?;
    let (definitions, logged) = replay_definitions(&scan, &manifest)?;
    let mut tables: BTreeMap<u64, Arc<Table>> = BTreeMap::new();
    for (key, object) in definitions.tables() {
        let def = definer(key, object)?;
        let shift = manifest.tables.get(&object.table_id).map_or(object.leaf_shift, |t| t.leaf_shift);
        let table = Table::new(def, txns.clone(), Some(1 << shift.clamp(0, 10)));
        // One that was logged again may be what it was before, but for a counter that was set back meanwhile.
        let of_images = manifest.tables.get(&object.table_id).filter(|_| !logged.contains(key));
        table.set_auto_increment(of_images.map_or(object.auto_increment, |t| t.auto_increment));
        tables.insert(object.table_id, table);
    }
    let dicts = Dicts::default();
    report.images = load_images(&source, &manifest, &tables, &dicts)?;
    let replayed = replay(&source, &manifest, &scan, &tables, &dicts)?;
    (report.commits_replayed, report.changes_replayed) = (replayed.commits, replayed.changes);
    finish(&source, &tables, &replayed, &dicts);
    let mut definitions = definitions;
    definitions.table_id_max = definitions.table_id_max.max(replayed.table_id_max);
    Ok(Recovered {
        last_ts: scan.last_ts.max(manifest.ts),
        manifest,
        definitions,
        tables: tables.into_values().collect(),
        end_lsn: scan.end_lsn,
        next_segment: scan.next_segment,
        last_stamp: scan.segments.last().map_or(0, |s| s.header.stamp),
        unsettled: scan.unsettled(),
        report,
    })
}

/// Checks the log against the manifest and the note of its end.
fn read_log(
    source: &Source<'_>,
    manifest: &Manifest,
    accept_loss: bool,
    warnings: &mut Vec<String>,
) -> Result<LogScan> {
    let (io, dir) = (source.io, source.dir);
    let format_1 = manifest.format == 1;
    let noted = match end::read(io, dir) {
        // One that is there is of an open that did not come to its end.
        _ if format_1 => None,
        Ok(None) if !accept_loss => {
            let why = "it says where the redo log ends, and without it nobody knows whether the log is whole";
            return Err(missing(&dir.join(end::NAME), format_args!("{why} ({})", end::WAY_OUT)));
        }
        Err(e) if !accept_loss => return Err(e),
        Ok(Some(noted)) => Some(noted),
        Ok(None) => {
            let path = dir.join(end::NAME);
            warnings.push(format!("{} is missing: the redo log is taken as it is", path.display()));
            None
        }
        Err(e) => {
            warnings.push(e.message().to_string());
            None
        }
    };
    if let Some(offset) = noted.and_then(|n| n.bad_slot) {
        let path = dir.join(end::NAME);
        warnings.push(format!("{}: the note at offset {offset} is bad, the other one is taken", path.display()));
    }
    let scan = read::scan(io, dir, Expected { start: manifest.log, noted, format_1, accept_loss })?;
    warnings.extend(scan.torn.as_ref().map(told));
    Ok(scan)
}

fn told(Torn { path, offset, bytes }: &Torn) -> String {
    let path = path.display();
    match bytes {
        0 => format!(
            "{path} ends at offset {offset}, where no complete write ends: one was interrupted there, or the file was cut \
             and what followed is lost"
        ),
        _ => format!("{path}: {bytes} bytes from offset {offset} on were not written completely and are dropped"),
    }
}

/// The definitions that are left, and the keys of those that the log has.
fn replay_definitions(scan: &LogScan, manifest: &Manifest) -> Result<(Definitions, HashSet<ObjectKey>)> {
    let mut definitions = manifest.definitions.clone();
    let mut put = HashSet::new();
    for logged in scan.definitions.iter().filter(|d| d.ts > manifest.ts) {
        let changes = definitions::get_changes(&logged.body)
            .ok_or_else(|| corrupt(&logged.path, logged.offset, "the definitions make no sense"))?;
        for change in &changes {
            definitions.apply(change);
            if let DefinitionChange::Put(key, _) = change {
                put.insert(key.clone());
            }
        }
    }
    Ok((definitions, put))
}

/// Dictionaries that leaves share, by table and column: the longest so far, with its entries as they lie in images.
#[derive(Default)]
struct Dicts(Mutex<HashMap<(u64, usize), KnownDict>>);

type KnownDict = (Vec<u8>, Arc<StringDict>);

impl Dicts {
    /// A dictionary only grows, so a shorter one's entries are the first of a longer one's.
    fn intern(&self, table: u64, column: usize, count: usize, entries: &[u8]) -> Option<Arc<StringDict>> {
        let mut known = self.0.lock().expect("no panic while held");
        if let Some((bytes, dict)) = known.get(&(table, column)) {
            if bytes.starts_with(entries) {
                return Some(dict.clone());
            }
            if !entries.starts_with(bytes) {
                return leaf_image::read_dict(count, entries);
            }
        }
        let dict = leaf_image::read_dict(count, entries)?;
        known.insert((table, column), (entries.to_vec(), dict.clone()));
        Some(dict)
    }
}

/// Runs `work` on `0..n` with all threads; the first error of the lowest position wins.
fn in_parallel(threads: usize, n: usize, work: impl Fn(usize) -> Result<()> + Sync) -> Result<()> {
    let next = AtomicUsize::new(0);
    let failed: Mutex<Option<(usize, Error)>> = Mutex::new(None);
    let run = || {
        loop {
            let i = next.fetch_add(1, Ordering::Relaxed);
            if i >= n || failed.lock().expect("no panic while held").is_some() {
                return;
            }
            if let Err(e) = work(i) {
                let mut failed = failed.lock().expect("no panic while held");
                if failed.as_ref().is_none_or(|f| i < f.0) {
                    *failed = Some((i, e));
                }
            }
        }
    };
    if threads == 1 || n < 2 {
        run();
    } else {
        std::thread::scope(|s| {
            for _ in 0..threads {
                s.spawn(run);
            }
        });
    }
    failed.into_inner().expect("no panic while held").map_or(Ok(()), |f| Err(f.1))
}

fn get_leaf(table: &Table, dicts: &Dicts, packed: &[u8]) -> Option<Leaf> {
    let id = table.def().id.0;
    let image = leaf_image::get(packed, table.types(), &|c, n, entries| dicts.intern(id, c, n, entries))?;
    (image.rows <= table.leaf_rows()).then(|| Leaf::restored(image.rows, image.live, image.columns))
}

fn put_leaf(table: &Table, leaf_no: u64, leaf: Leaf) -> bool {
    table.heap.make_slots(leaf_no + 1) && {
        *table.slot(leaf_no).write() = LeafState::Resident(Box::new(leaf));
        true
    }
}

fn load_images(
    source: &Source<'_>,
    manifest: &Manifest,
    tables: &BTreeMap<u64, Arc<Table>>,
    dicts: &Dicts,
) -> Result<u64> {
    let mut files: HashMap<u64, Arc<dyn File>> = HashMap::new();
    for (&number, listed) in &manifest.files {
        let path = extent::path(source.dir, number);
        let file = source.io.open(&path).map_err(|e| match e.kind() {
            std::io::ErrorKind::NotFound => missing(&path, "the manifest says that it has rows"),
            _ => failed("open", &path, &e),
        })?;
        let bytes = file.len().map_err(|e| failed("read", &path, &e))?;
        if bytes < listed.bytes {
            let what = format!("the file ends there, and once had {} bytes", listed.bytes);
            return Err(corrupt(&path, bytes, what));
        }
        files.insert(number, file);
    }
    let mut jobs: Vec<(&Arc<Table>, u64, Loc)> = Vec::new();
    for (id, table) in tables.iter().filter(|(_, t)| t.logged()) {
        let images = manifest.tables.get(id);
        jobs.extend(images.into_iter().flat_map(|i| &i.leaves).map(|(leaf_no, loc)| (table, *leaf_no, *loc)));
    }
    let total = jobs.len() as u64;
    let done = AtomicU64::new(0);
    in_parallel(source.threads, jobs.len(), |i| {
        let (table, leaf_no, loc) = jobs[i];
        let path = || extent::path(source.dir, loc.file);
        let file = files.get(&loc.file).ok_or_else(|| corrupt(&path(), 0, "the file is not listed"))?;
        let stamp = manifest.files.get(&loc.file).map_or(0, |f| f.stamp);
        let bytes = extent::read(&**file, source.dir, loc, stamp, table.def().id.0, leaf_no)?;
        let leaf = get_leaf(table, dicts, extent::image(&bytes));
        let placed = leaf.is_some_and(|leaf| put_leaf(table, leaf_no, leaf));
        if !placed {
            return Err(corrupt(&path(), loc.offset, "the image does not fit its table"));
        }
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        if done.is_multiple_of(1024) || done == total {
            (source.progress)(Progress { phase: "reading tables", done, total });
        }
        Ok(())
    })?;
    Ok(total)
}

#[derive(Default)]
struct Replayed {
    commits: u64,
    changes: u64,
    table_id_max: u64,
    /// (table, leaf)
    touched: HashSet<(u64, u64)>,
}

/// A commit of the log: its bytes, which may be those of several frames.
struct Commit<'a> {
    offset: u64,
    body: Cow<'a, [u8]>,
}

/// A transaction's parts lie in one segment.
fn commits<'a>(segment: &'a Segment<'_>) -> Vec<Commit<'a>> {
    let mut out = Vec::with_capacity(segment.frames.len());
    let mut parts: Vec<u8> = Vec::new();
    for frame in &segment.frames {
        let (offset, body) = (frame.offset(), segment.body(frame));
        match frame.kind {
            Kind::Definitions => {}
            Kind::Part => parts.extend_from_slice(body),
            Kind::Commit if parts.is_empty() => out.push(Commit { offset, body: Cow::Borrowed(body) }),
            Kind::Commit => {
                parts.extend_from_slice(body);
                out.push(Commit { offset, body: Cow::Owned(std::mem::take(&mut parts)) });
            }
        }
    }
    out
}

fn replay(
    source: &Source<'_>,
    manifest: &Manifest,
    scan: &LogScan,
    tables: &BTreeMap<u64, Arc<Table>>,
    dicts: &Dicts,
) -> Result<Replayed> {
    let tables: HashMap<u64, &Arc<Table>> = tables.iter().map(|(id, t)| (*id, t)).collect();
    let mut all = Replayed::default();
    for segment in &scan.segments {
        let segment = segment.read(source.io, manifest.ts)?;
        replay_segment(source, &segment, &tables, dicts, &mut all)?;
        (source.progress)(Progress { phase: "replaying", done: all.commits, total: scan.frames });
    }
    Ok(all)
}

fn replay_segment(
    source: &Source<'_>,
    segment: &Segment<'_>,
    tables: &HashMap<u64, &Arc<Table>>,
    dicts: &Dicts,
    all: &mut Replayed,
) -> Result<()> {
    let commits = commits(segment);
    let threads = if commits.len() < 64 { 1 } else { source.threads };
    let shared = Mutex::new(&mut *all);
    in_parallel(threads, threads, |worker| {
        let mut own = Replayed::default();
        for commit in &commits {
            let mine = |op: &Op<'_>| (op.table.wrapping_mul(31) + op.leaf_no) % threads as u64 == worker as u64;
            replay_commit(commit, tables, dicts, mine, &mut own)
                .ok_or_else(|| corrupt(segment.path, commit.offset, "a change does not fit its table"))?;
        }
        let mut all = shared.lock().expect("no panic while held");
        all.changes += own.changes;
        all.table_id_max = all.table_id_max.max(own.table_id_max);
        all.touched.extend(own.touched);
        Ok(())
    })?;
    all.commits += commits.len() as u64;
    Ok(())
}

fn replay_commit(
    commit: &Commit<'_>,
    tables: &HashMap<u64, &Arc<Table>>,
    dicts: &Dicts,
    mine: impl Fn(&Op<'_>) -> bool,
    own: &mut Replayed,
) -> Option<()> {
    let mut get = disk::codec::Get(&commit.body);
    let mut last: Option<(u64, u64)> = None;
    while !get.is_empty() {
        let op = changes::next_op(&mut get)?;
        if !mine(&op) {
            continue;
        }
        own.table_id_max = own.table_id_max.max(op.table);
        let Some(table) = tables.get(&op.table) else { continue };
        own.changes += 1;
        if last != Some((op.table, op.leaf_no)) {
            last = Some((op.table, op.leaf_no));
            own.touched.insert((op.table, op.leaf_no));
        }
        if op.kind == OpKind::Leaf {
            put_leaf(table, op.leaf_no, get_leaf(table, dicts, op.image)?).then_some(())?;
            continue;
        }
        if !table.heap.make_slots(op.leaf_no + 1) {
            return None;
        }
        let mut state = table.slot(op.leaf_no).write();
        if state.leaf().is_none() {
            *state = LeafState::Resident(Box::new(Leaf::new(table.types())));
        }
        changes::apply(&op, table.types(), table.leaf_rows(), state.leaf_mut()?)?;
        if op.kind != OpKind::Delete
            && let Some(c) = table.auto_increment_column()
        {
            table.observe_auto_increment(number_at(&state.leaf()?.column(c).values, op.slot));
        }
    }
    Some(())
}

/// Makes what is not in images: zone maps, counters, free leaves, indexes, statistics.
fn finish(source: &Source<'_>, tables: &BTreeMap<u64, Arc<Table>>, replayed: &Replayed, dicts: &Dicts) {
    for ((id, column), (_, dict)) in dicts.0.lock().expect("no panic while held").iter() {
        if let Some(shared) = tables.get(id).and_then(|t| t.dicts.get(*column)?.as_ref()) {
            shared.restore(dict);
        }
    }
    for (id, leaf_no) in &replayed.touched {
        let Some(slot) = tables.get(id).and_then(|t| t.heap.slot(*leaf_no)) else { continue };
        slot.set_dirty();
        if let Some(leaf) = slot.write().leaf_mut() {
            leaf.end_replay();
        }
    }
    let jobs: Vec<(&Arc<Table>, u64)> =
        tables.values().flat_map(|t| (0..t.leaf_count()).map(move |leaf_no| (t, leaf_no))).collect();
    let done = AtomicU64::new(0);
    let finished = in_parallel(source.threads, jobs.len(), |i| {
        let (table, leaf_no) = jobs[i];
        table.finish_leaf(leaf_no);
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        if done.is_multiple_of(4096) {
            (source.progress)(Progress { phase: "building indexes", done, total: jobs.len() as u64 });
        }
        Ok(())
    });
    debug_assert!(finished.is_ok(), "building cannot fail");
    tables.values().for_each(|t| t.finish_recovery());
}

impl Table {
    /// Recovery: counts the leaf's rows and makes them findable.
    fn finish_leaf(&self, leaf_no: u64) {
        let (chunks, slots) = {
            let state = self.slot(leaf_no).read();
            let Some(leaf) = state.leaf() else { return };
            self.add_rows(leaf.live_count() as u64);
            let (rows, live, chunks) = leaf.contents();
            let slots: Vec<u16> = live.iter_ones().map(|i| i as u16).collect();
            match slots.len() == rows {
                true => (chunks, slots),
                // Values of rows that are gone are nobody's.
                false => (chunks.iter().map(|c| Arc::new(c.gather(&slots))).collect(), slots),
            }
        };
        let low = self.stats.observe(&chunks.iter().map(|c| &**c).collect::<Vec<_>>());
        self.stats.sample.keep(low, slots.len(), |i| self.row_id(leaf_no, slots[i] as usize));
        for index in self.indexes().unique.iter() {
            index.rebuild_leaf(self.rows(), leaf_no);
        }
    }

    /// Recovery: finds the slots without leaves, the leaf where rows are appended, and leaves with free slots.
    fn finish_recovery(&self) {
        let mut tail = self.tail.lock();
        let leaves = |n: &u64| self.slot(*n).read().leaf().map(Leaf::rows);
        tail.free = (0..self.leaf_count()).rev().filter(|n| leaves(n).is_none()).collect();
        tail.leaf_no = (0..self.leaf_count()).rev().find(|n| leaves(n).is_some_and(|rows| rows < self.leaf_rows()));
        self.find_own_tails(&mut tail);
        self.list_all_sparse(&mut tail);
    }
}
