//! Making a checkpoint.

use super::extent::{self, ExtentWriter, Written};
use super::manifest::{self, Manifest, SwitchError};
use crate::definitions::Definitions;
use crate::image::leaf as leaf_image;
use crate::index::ordered::GoOn;
use crate::log::end;
use crate::log::read::LogStart;
use crate::log::segment;
use crate::table::Table;
use crate::txn::Snapshot;
use disk::{Io, failed};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use types::{Error, Result};
use vector::{Bitmap, Selection};

/// More files than this are merged, the smallest first.
const FILES_MAX: usize = 48;

/// What a checkpoint is to hold: the database at one moment.
#[derive(Debug)]
pub struct Moment {
    pub snapshot: Snapshot,
    pub definitions: Definitions,
    /// Logged ones.
    pub tables: Vec<Arc<Table>>,
}

/// What a checkpoint did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CheckpointDone {
    pub leaves_written: u64,
    pub bytes_written: u64,
}

/// A checkpoint in the making: the next manifest.
#[derive(Debug)]
pub struct Draft {
    pub manifest: Manifest,
    writer: ExtentWriter,
    /// Leaves that were marked clean for it.
    cleaned: Vec<(Arc<Table>, u64)>,
    pub done: CheckpointDone,
}

/// A checkpoint could not be finished.
#[derive(Debug)]
pub struct Failed {
    pub error: Error,
    /// `None`: it is not known which manifest stands.
    pub draft: Option<Box<Draft>>,
}

impl Draft {
    /// Begins the one after `last`.
    pub fn new(io: &Arc<dyn Io>, dir: &Path, last: &Manifest) -> Draft {
        let manifest = Manifest { number: last.number + 1, ..last.clone() };
        let writer = ExtentWriter::new(io, dir, manifest.next_file);
        Draft { manifest, writer, cleaned: Vec::new(), done: CheckpointDone::default() }
    }

    /// Writes the leaves that changed since their images were made, and those in files that are to go. `all`: every
    /// leaf, and none is marked clean. `go_on` is asked at every leaf, and its error ends the work.
    pub fn write_leaves(&mut self, moment: &Moment, all: bool, go_on: GoOn<'_>) -> Result<()> {
        self.manifest.ts = moment.snapshot.ts();
        self.manifest.definitions = moment.definitions.clone();
        let there: BTreeSet<u64> = moment.tables.iter().map(|t| t.def().id.0).collect();
        let gone: Vec<u64> = self.manifest.tables.keys().copied().filter(|id| !there.contains(id)).collect();
        gone.into_iter().for_each(|id| self.manifest.drop_table(id));
        let victims = victims(&self.manifest);
        for table in &moment.tables {
            let id = table.def().id.0;
            let images = self.manifest.tables.entry(id).or_default();
            images.leaf_shift = table.leaf_rows().trailing_zeros() as u8;
            images.auto_increment = table.auto_increment();
            for leaf_no in 0..table.leaf_count() {
                go_on()?;
                let dirty = all || table.slot(leaf_no).clean();
                if dirty && !all {
                    self.cleaned.push((table.clone(), leaf_no));
                }
                let loc = self.manifest.tables.get(&id).and_then(|t| t.leaves.get(&leaf_no));
                if dirty || loc.is_some_and(|l| victims.contains(&l.file)) {
                    self.write_leaf(table, leaf_no, &moment.snapshot)?;
                }
            }
        }
        Ok(())
    }

    fn write_leaf(&mut self, table: &Arc<Table>, leaf_no: u64, snapshot: &Snapshot) -> Result<()> {
        let id = table.def().id.0;
        let columns: Vec<usize> = (0..table.types().len()).collect();
        let (seen, ahead) = {
            let state = table.slot(leaf_no).read();
            let leaf = state.leaf();
            (leaf.and_then(|l| l.view(&columns, snapshot)), leaf.is_some_and(|l| l.is_ahead_of(snapshot)))
        };
        if ahead {
            table.slot(leaf_no).set_dirty();
        }
        let Some(seen) = seen else {
            self.manifest.set_image(id, leaf_no, None);
            return Ok(());
        };
        let live = match &seen.selection {
            Selection::All => Bitmap::ones(seen.rows),
            selection => {
                let mut live = Bitmap::zeros(seen.rows);
                selection.for_each(seen.rows, |i| live.set(i, true));
                live
            }
        };
        let put = |out: &mut Vec<u8>| leaf_image::put(seen.rows, &live, seen.columns.iter().map(|c| &**c), out);
        let loc = self.writer.add(id, leaf_no, put)?;
        self.manifest.set_image(id, leaf_no, Some(loc));
        self.done.leaves_written += 1;
        self.done.bytes_written += loc.len;
        Ok(())
    }

    /// Syncs the images and switches the manifest. The log must be on stable storage up to the moment's timestamp.
    pub fn finish(mut self, io: &Arc<dyn Io>, dir: &Path, log: LogStart) -> std::result::Result<Manifest, Failed> {
        let files = match self.writer.finish() {
            Ok(files) => files,
            Err(error) => return Err(Failed { error, draft: Some(Box::new(self)) }),
        };
        for Written { number, bytes, stamp } in files {
            let file = self.manifest.files.entry(number).or_default();
            (file.bytes, file.stamp) = (bytes, stamp);
            self.manifest.next_file = self.manifest.next_file.max(number + 1);
        }
        self.manifest.files.retain(|_, f| f.live > 0);
        self.manifest.log = log;
        match self.manifest.switch(&**io, dir) {
            Ok(()) => Ok(self.manifest),
            Err(SwitchError::Before(error)) => Err(Failed { error, draft: Some(Box::new(self)) }),
            Err(SwitchError::After(error)) => Err(Failed { error, draft: None }),
        }
    }

    /// The checkpoint is not to be: its leaves are dirty again.
    pub fn abandon(self) {
        for (table, leaf_no) in &self.cleaned {
            table.slot(*leaf_no).set_dirty();
        }
        self.writer.abandon();
    }
}

/// Files of which less than half is of use, and the smallest if there are too many.
fn victims(manifest: &Manifest) -> BTreeSet<u64> {
    let mut victims: BTreeSet<u64> =
        manifest.files.iter().filter(|(_, f)| f.live * 2 < f.bytes).map(|(number, _)| *number).collect();
    let mut rest: Vec<(u64, u64)> =
        manifest.files.iter().filter(|(n, _)| !victims.contains(n)).map(|(n, f)| (f.live, *n)).collect();
    if rest.len() > FILES_MAX {
        rest.sort_unstable();
        victims.extend(rest[..rest.len() - FILES_MAX / 2].iter().map(|r| r.1));
    }
    victims
}

/// Removes files that neither the manifest nor the log that it names needs.
pub fn remove_unneeded(io: &dyn Io, dir: &Path, manifest: &Manifest) -> Result<()> {
    let names = io.list(dir).map_err(|e| failed("list", dir, &e))?;
    let mut removed = false;
    for name in names {
        let old_log = segment::number_of(&name).is_some_and(|n| n < manifest.log.segment);
        let old_data = extent::number_of(&name).is_some_and(|n| !manifest.files.contains_key(&n));
        if old_log || old_data {
            let path = dir.join(&name);
            io.remove(&path).map_err(|e| failed("remove", &path, &e))?;
            removed = true;
        }
    }
    if removed {
        io.sync_dir(dir).map_err(|e| failed("sync", dir, &e))?;
    }
    Ok(())
}

/// Writes the moment into an empty folder, as a database that was shut down.
pub fn write_copy(io: &Arc<dyn Io>, dir: &Path, moment: &Moment, go_on: GoOn<'_>) -> Result<CheckpointDone> {
    let mut draft = Draft::new(io, dir, &Manifest::empty(0));
    let written = draft.write_leaves(moment, true, go_on).and_then(|()| segment::begin_log(&**io, dir));
    let stamp = match written {
        Ok(stamp) => stamp,
        Err(e) => {
            draft.abandon();
            remove_log(&**io, dir);
            return Err(e);
        }
    };
    let done = draft.done;
    match draft.finish(io, dir, Manifest::empty(stamp).log) {
        Ok(_) => Ok(done),
        Err(failed) => {
            if let Some(draft) = failed.draft {
                draft.abandon();
                remove_log(&**io, dir);
            }
            Err(failed.error)
        }
    }
}

/// Of a copy that was not finished; without a manifest nobody opens what cannot be removed.
fn remove_log(io: &dyn Io, dir: &Path) {
    for path in [segment::path(dir, 1), dir.join(end::NAME), dir.join(manifest::NEW_NAME)] {
        let _ = io.remove(&path);
    }
}
