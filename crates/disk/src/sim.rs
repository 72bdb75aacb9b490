//! A disk in memory that fails as real ones do.
//!
//! ```text
//!   write_at ──▶ data (what reads see)  +  writes not synced
//!   sync     ──▶ writes not synced go into `durable`
//!   power cut ──▶ data = durable + any of the sectors not synced, in any order; names likewise, oldest first
//! ```
//! Nothing is random but by the seed: the same calls and the same seed give the same disk.

use super::{File, Io, Lock};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

/// Bytes that a disk writes wholly or not at all.
const SECTOR_BYTES: u64 = 512;

/// What a chosen call does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// The power fails: this call and all after it fail, until [`SimIo::power_on`].
    PowerCut,
    /// EIO. A failed sync drops the writes before it.
    Error,
    /// ENOSPC, after a part of the bytes was written.
    Full,
}

#[derive(Debug, Default)]
struct Node {
    data: Vec<u8>,
    durable: Vec<u8>,
    writes: Vec<(u64, Vec<u8>)>,
}

#[derive(Clone, Debug)]
enum NameOp {
    Set(PathBuf, usize),
    Rename(PathBuf, PathBuf),
    Remove(PathBuf),
}

#[derive(Debug, Default)]
struct Disk {
    nodes: Vec<Node>,
    names: BTreeMap<PathBuf, usize>,
    durable_names: BTreeMap<PathBuf, usize>,
    name_ops: Vec<NameOp>,
    locks: BTreeSet<PathBuf>,
    calls: u64,
    fault: Option<(u64, Fault)>,
    no_power: bool,
    /// How long a sync takes.
    sync_time: Duration,
    /// Counts power cycles and restarts: files and locks of an earlier one are dead.
    cycle: u64,
}

/// See the module head. Clones are the same disk.
#[derive(Clone, Debug, Default)]
pub struct SimIo(Arc<Mutex<Disk>>);

fn apply(names: &mut BTreeMap<PathBuf, usize>, op: NameOp) {
    match op {
        NameOp::Set(path, node) => {
            names.insert(path, node);
        }
        NameOp::Rename(from, to) => {
            if let Some(node) = names.remove(&from) {
                names.insert(to, node);
            }
        }
        NameOp::Remove(path) => {
            names.remove(&path);
        }
    }
}

fn overwrite(data: &mut Vec<u8>, offset: u64, bytes: &[u8]) {
    let (from, to) = (offset as usize, offset as usize + bytes.len());
    if data.len() < to {
        data.resize(to, 0);
    }
    data[from..to].copy_from_slice(bytes);
}

impl Disk {
    /// Counts a call, and says which fault strikes it.
    fn call(&mut self) -> io::Result<Option<Fault>> {
        if self.no_power {
            return Err(io::Error::other("the power is off"));
        }
        self.calls += 1;
        let fault = self.fault.and_then(|(at, f)| (at == self.calls).then_some(f));
        if fault == Some(Fault::PowerCut) {
            self.no_power = true;
        }
        Ok(fault)
    }

    fn simple_call(&mut self) -> io::Result<()> {
        match self.call()? {
            None => Ok(()),
            Some(f) => Err(error_of(f)),
        }
    }

    fn node(&self, path: &Path) -> io::Result<usize> {
        self.names.get(path).copied().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

fn error_of(fault: Fault) -> io::Error {
    match fault {
        Fault::PowerCut => io::Error::other("the power failed"),
        Fault::Error => io::Error::from_raw_os_error(5),
        Fault::Full => io::Error::from_raw_os_error(28),
    }
}

impl SimIo {
    fn disk(&self) -> MutexGuard<'_, Disk> {
        self.0.lock().expect("no panic while held")
    }

    /// Calls so far.
    pub fn calls(&self) -> u64 {
        self.disk().calls
    }

    /// Has call number `at` (counted from the disk's beginning, from 1) fail.
    pub fn fail_at(&self, at: u64, fault: Fault) {
        self.disk().fault = Some((at, fault));
    }

    /// Has each sync take so long, as a disk would: others run meanwhile.
    pub fn set_sync_time(&self, time: Duration) {
        self.disk().sync_time = time;
    }

    pub fn has_power(&self) -> bool {
        !self.disk().no_power
    }

    /// The process dies and another one starts: nothing that the disk was given is lost, and all files are closed.
    pub fn restart(&self) {
        let mut disk = self.disk();
        disk.locks.clear();
        disk.fault = None;
        disk.cycle += 1;
    }

    /// The power fails and comes back: what was not synced is lost in part, as `seed` decides.
    pub fn power_on(&self, seed: u64) {
        let mut rng = fastrand::Rng::with_seed(seed);
        let disk = &mut *self.disk();
        let keep_percent = [0, 30, 70, 100][rng.usize(..4)];
        for node in &mut disk.nodes {
            let mut pieces: Vec<(u64, &[u8])> = Vec::new();
            for (offset, bytes) in &node.writes {
                let (mut at, mut rest) = (*offset, &bytes[..]);
                while !rest.is_empty() {
                    let n = ((SECTOR_BYTES - at % SECTOR_BYTES) as usize).min(rest.len());
                    if rng.u32(..100) < keep_percent {
                        pieces.push((at, &rest[..n]));
                    }
                    at += n as u64;
                    rest = &rest[n..];
                }
            }
            let mut image = std::mem::take(&mut node.durable);
            for (at, bytes) in pieces {
                overwrite(&mut image, at, bytes);
            }
            *node = Node { data: image.clone(), durable: image, writes: Vec::new() };
        }
        let kept = rng.usize(..=disk.name_ops.len());
        for op in disk.name_ops.drain(..).take(kept) {
            apply(&mut disk.durable_names, op);
        }
        disk.names = disk.durable_names.clone();
        disk.locks.clear();
        disk.fault = None;
        disk.no_power = false;
        disk.cycle += 1;
    }

    /// The bytes of a file as reads see them; `None` if there is none.
    pub fn bytes(&self, path: &Path) -> Option<Vec<u8>> {
        let disk = self.disk();
        let node = *disk.names.get(path)?;
        Some(disk.nodes[node].data.clone())
    }

    /// Replaces a file's bytes behind its owner's back.
    pub fn set_bytes(&self, path: &Path, bytes: Vec<u8>) {
        let mut disk = self.disk();
        if let Ok(node) = disk.node(path) {
            disk.nodes[node] = Node { data: bytes.clone(), durable: bytes, writes: Vec::new() };
        }
    }

    /// All files.
    pub fn paths(&self) -> Vec<PathBuf> {
        self.disk().names.keys().cloned().collect()
    }

    fn file(&self, node: usize, cycle: u64) -> Arc<dyn File> {
        Arc::new(SimFile { disk: self.clone(), node, cycle })
    }
}

impl Io for SimIo {
    fn create(&self, path: &Path) -> io::Result<Arc<dyn File>> {
        let mut disk = self.disk();
        disk.simple_call()?;
        disk.nodes.push(Node::default());
        let node = disk.nodes.len() - 1;
        disk.names.insert(path.into(), node);
        disk.name_ops.push(NameOp::Set(path.into(), node));
        Ok(self.file(node, disk.cycle))
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn File>> {
        let mut disk = self.disk();
        disk.simple_call()?;
        let node = disk.node(path)?;
        Ok(self.file(node, disk.cycle))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut disk = self.disk();
        disk.simple_call()?;
        let node = disk.node(from)?;
        disk.names.remove(from);
        disk.names.insert(to.into(), node);
        disk.name_ops.push(NameOp::Rename(from.into(), to.into()));
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut disk = self.disk();
        disk.simple_call()?;
        disk.node(path)?;
        disk.names.remove(path);
        disk.name_ops.push(NameOp::Remove(path.into()));
        Ok(())
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        let mut disk = self.disk();
        disk.simple_call()?;
        let inside = disk.names.keys().filter(|p| p.parent() == Some(dir));
        Ok(inside.filter_map(|p| Some(p.file_name()?.to_str()?.to_owned())).collect())
    }

    fn create_dir(&self, _: &Path) -> io::Result<()> {
        self.disk().simple_call()
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        let mut disk = self.disk();
        disk.simple_call()?;
        let inside = |p: &Path| p.parent() == Some(dir);
        let (synced, rest): (Vec<NameOp>, Vec<NameOp>) =
            std::mem::take(&mut disk.name_ops).into_iter().partition(|op| match op {
                NameOp::Set(p, _) | NameOp::Remove(p) => inside(p),
                NameOp::Rename(from, to) => inside(from) || inside(to),
            });
        disk.name_ops = rest;
        for op in synced {
            apply(&mut disk.durable_names, op);
        }
        Ok(())
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn Lock>> {
        let mut disk = self.disk();
        if !disk.locks.insert(path.into()) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        Ok(Box::new(SimLock { disk: self.clone(), path: path.into(), cycle: disk.cycle }))
    }
}

#[derive(Debug)]
struct SimLock {
    disk: SimIo,
    path: PathBuf,
    cycle: u64,
}

impl Lock for SimLock {}

impl Drop for SimLock {
    fn drop(&mut self) {
        let mut disk = self.disk.disk();
        if disk.cycle == self.cycle {
            disk.locks.remove(&self.path);
        }
    }
}

#[derive(Debug)]
struct SimFile {
    disk: SimIo,
    node: usize,
    cycle: u64,
}

impl SimFile {
    fn call(&self) -> io::Result<(MutexGuard<'_, Disk>, Option<Fault>)> {
        let mut disk = self.disk.disk();
        if disk.cycle != self.cycle {
            return Err(io::Error::other("the file was opened before a power cut"));
        }
        let fault = disk.call()?;
        Ok((disk, fault))
    }
}

impl File for SimFile {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let (mut disk, fault) = self.call()?;
        let written = match fault {
            None | Some(Fault::PowerCut) => bytes,
            Some(Fault::Error | Fault::Full) => &bytes[..bytes.len() / 2],
        };
        let node = &mut disk.nodes[self.node];
        overwrite(&mut node.data, offset, written);
        node.writes.push((offset, written.to_vec()));
        fault.map_or(Ok(()), |f| Err(error_of(f)))
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        let (disk, fault) = self.call()?;
        if let Some(f) = fault {
            return Err(error_of(f));
        }
        let data = &disk.nodes[self.node].data;
        let end = (offset as usize).checked_add(buf.len()).filter(|e| *e <= data.len());
        let end = end.ok_or(io::ErrorKind::UnexpectedEof)?;
        buf.copy_from_slice(&data[offset as usize..end]);
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        let (disk, fault) = self.call()?;
        fault.map_or(Ok(disk.nodes[self.node].data.len() as u64), |f| Err(error_of(f)))
    }

    fn sync(&self) -> io::Result<()> {
        let time = self.disk.disk().sync_time;
        if !time.is_zero() {
            std::thread::sleep(time);
        }
        let (mut disk, fault) = self.call()?;
        let node = &mut disk.nodes[self.node];
        match fault {
            None => {
                for (offset, bytes) in std::mem::take(&mut node.writes) {
                    overwrite(&mut node.durable, offset, &bytes);
                }
                Ok(())
            }
            Some(Fault::PowerCut) => Err(error_of(Fault::PowerCut)),
            Some(f) => {
                // The system forgets that these pages are dirty; they never reach the disk.
                node.writes.clear();
                Err(error_of(f))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_synced_surely_survives() {
        let mut survived = [0; 2];
        for seed in 0..100 {
            let io = SimIo::default();
            let (dir, a, b) = (Path::new("/d"), Path::new("/d/a"), Path::new("/d/b"));
            let file = io.create(a).unwrap();
            file.write_at(&[1; 1000], 0).unwrap();
            file.sync().unwrap();
            io.sync_dir(dir).unwrap();
            file.write_at(&[2; 2000], 500).unwrap();
            io.create(b).unwrap().sync().unwrap();
            io.power_on(seed);
            assert!(file.write_at(&[3], 0).is_err(), "an old file is dead");
            let bytes = io.bytes(a).unwrap();
            assert!(bytes.len() >= 1000 && bytes[..500].iter().all(|b| *b == 1));
            survived[0] += usize::from(bytes.len() == 2500 && bytes[500..].iter().all(|b| *b == 2));
            survived[1] += usize::from(io.bytes(b).is_some());
        }
        assert!(survived.iter().all(|n| (10..90).contains(n)), "{survived:?}");
    }

    #[test]
    fn chosen_calls_fail() {
        let io = SimIo::default();
        let file = io.create(Path::new("/a")).unwrap();
        io.fail_at(2, Fault::Full);
        assert_eq!(file.write_at(&[1; 10], 0).unwrap_err().raw_os_error(), Some(28));
        assert_eq!(file.len().unwrap(), 5);
        io.fail_at(4, Fault::PowerCut);
        assert!(file.sync().is_err() && file.sync().is_err() && !io.has_power());
    }
}
