//! Folders with files that were deleted, cut, changed, exchanged or replaced by older ones: whatever was acknowledged
//! is there, or the folder is refused with the name of a file, or (where commits were not synced) the loss is told.
//!
//! Each round makes a database on [`SimIo`] and ends it by a shutdown, by the end of its process, or by a power cut;
//! then each kind of harm is done to files of each kind, one at a time, and the folder is opened.
//!
//! DAMAGE_ROUNDS sets how many rounds run, DAMAGE_ROUND runs one alone.

mod common;

use catalog::{TableDef, TableId};
use disk::{Fault, Io, SimIo};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use storage::{
    DefinitionChange, DurableOptions, FlushMode, Object, ObjectKey, ObjectKind, OnTrouble, Report, StorageOptions,
    Store,
};
use types::{Collation, Result, SqlType, Value};

type State = BTreeMap<u64, BTreeMap<u64, Vec<Value>>>;
/// All files of a disk.
type Files = BTreeMap<PathBuf, Vec<u8>>;

const DIR: &str = "/db";
const FRAME_MAGIC: &[u8] = b"NLrf";

fn definition(id: u64) -> Arc<TableDef> {
    let columns = vec![
        common::column("k", SqlType::INT, false),
        common::column("s", SqlType::varchar(100, Collation::Binary), true),
    ];
    common::def(id, columns, vec![common::unique("PRIMARY", &[0])])
}

fn open(disk: &SimIo, flush: FlushMode, accept_loss: bool) -> Result<(Store, Report)> {
    open_in(disk, Path::new(DIR), flush, accept_loss)
}

fn open_in(disk: &SimIo, dir: &Path, flush: FlushMode, accept_loss: bool) -> Result<(Store, Report)> {
    let options = DurableOptions {
        flush,
        accept_loss,
        log_bytes_max: 1 << 40,
        segment_bytes: 2000,
        threads: 1,
        full_wait: Duration::ZERO,
        on_trouble: OnTrouble(Box::new(|_, _| {})),
    };
    let io: Arc<dyn Io> = Arc::new(disk.clone());
    let storage = StorageOptions { leaf_rows: Some(8) };
    let define = &mut |_: &ObjectKey, o: &Object| Ok(definition(o.table_id));
    Store::open(io, dir, storage, options, define, &|_| ())
}

fn state(store: &Store) -> State {
    let snapshot = store.txns().snapshot();
    let rows = |id: &TableId| {
        let table = store.table(*id).expect("it is listed");
        assert_eq!(table.check(), Vec::<String>::new());
        (id.0, common::scan(&table, &snapshot).into_iter().collect())
    };
    store.table_ids().iter().map(rows).collect()
}

fn files(disk: &SimIo) -> Files {
    let paths = disk.paths().into_iter().filter(|p| !p.ends_with("nextleaf.lock"));
    paths.map(|p| (p.clone(), disk.bytes(&p).expect("it is listed"))).collect()
}

fn disk_with(files: &Files) -> SimIo {
    let disk = SimIo::default();
    for (path, bytes) in files {
        disk.create(path).and_then(|f| f.write_at(bytes, 0).and(f.sync())).expect("nothing fails");
    }
    disk.sync_dir(Path::new(DIR)).expect("nothing fails");
    disk
}

/// How a database's process ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ending {
    Shutdown,
    Kill,
    PowerCut,
}

/// A folder, and what it must remember.
struct Made {
    files: Files,
    /// The same folder, earlier.
    older: Vec<Files>,
    states: Vec<State>,
    /// The oldest state that may come back without a word.
    acknowledged: usize,
    mode: FlushMode,
    /// The end that is noted may be an older one: not every loss is refused.
    behind: bool,
}

fn commit(store: &Store, rng: &mut fastrand::Rng) {
    let txn = store.txns().begin();
    for _ in 0..rng.u32(1..5) {
        let id = rng.u64(1..4);
        let table = store.table(TableId(id)).expect("it was made");
        txn.begin_statement();
        let rows = common::scan(&table, &store.txns().current(&txn));
        let some = rows.get(rng.usize(..rows.len().max(1))).map(|r| r.0);
        match (rng.u32(..3), some) {
            (0, Some(row_id)) => drop(table.delete(&txn, row_id).expect("nobody else is there")),
            _ => {
                let text = Value::Bytes((0..rng.usize(..60)).map(|_| rng.u8(..)).collect());
                let row = vec![Value::Int(rng.i64(..1 << 30)), text];
                common::insert(&table, &txn, &[row]).expect("a new key");
            }
        }
    }
    let committed = store.txns().commit(&txn);
    assert!(committed.is_ok() || store.txns().check_writable().is_err(), "only a log that is dead refuses");
}

fn create(store: &Store, id: u64) -> Result<()> {
    store.create_table(definition(id));
    let key = ObjectKey { kind: ObjectKind::Table, schema: "test".into(), name: format!("t{id}").into() };
    store.define(vec![DefinitionChange::Put(key, Object::new(id, Box::default()))])
}

fn make(rng: &mut fastrand::Rng, ending: Ending) -> Made {
    let disk = SimIo::default();
    let mode = if rng.u32(..3) == 0 { FlushMode::Write } else { FlushMode::Sync };
    let mut store = open(&disk, mode, false).expect("nothing fails").0;
    (1..4).for_each(|id| create(&store, id).expect("nothing fails"));
    let mut states = vec![state(&store)];
    let mut older = Vec::new();
    let mut synced = 0;
    for step in 0..rng.u32(20..60) {
        match rng.u32(..16) {
            0 => drop(store.checkpoint().expect("nothing fails")),
            1 => older.push(files(&disk)),
            2 if step > 10 => {
                drop(store);
                disk.restart();
                store = open(&disk, mode, false).expect("nothing fails").0;
            }
            3 => {
                store.flush_log().expect("nothing fails");
                synced = states.len() - 1;
            }
            _ => {
                commit(&store, rng);
                states.push(state(&store));
            }
        }
    }
    let last = states.len() - 1;
    if ending == Ending::Shutdown && store.durable().is_some_and(|d| d.log_bytes() > 0) {
        store.checkpoint().expect("nothing fails");
    }
    drop(store);
    match ending {
        Ending::PowerCut => disk.power_on(rng.u64(..)),
        _ => disk.restart(),
    }
    let acknowledged = if ending == Ending::PowerCut && mode != FlushMode::Sync { synced } else { last };
    Made {
        files: files(&disk),
        older,
        states,
        acknowledged,
        mode,
        behind: mode != FlushMode::Sync || ending == Ending::PowerCut,
    }
}

const HARMS: [&str; 12] = [
    "delete",
    "empty",
    "cut",
    "cut at a record",
    "flip a bit",
    "zeros",
    "append",
    "duplicate",
    "exchange",
    "older copy",
    "another database's",
    "rename",
];

/// Does one harm to one file; `None` if it comes to nothing.
fn harm(what: &str, path: &Path, made: &Made, other: &Made, rng: &mut fastrand::Rng) -> Option<Files> {
    let mut files = made.files.clone();
    let bytes = files[path].clone();
    let kind = path.extension();
    match what {
        "delete" => drop(files.remove(path)),
        "empty" => drop(files.insert(path.into(), Vec::new())),
        "cut" => drop(files.insert(path.into(), bytes[..rng.usize(..bytes.len().max(1))].to_vec())),
        "cut at a record" => {
            let at: Vec<usize> = bytes.windows(4).enumerate().filter(|w| w.1 == FRAME_MAGIC).map(|w| w.0).collect();
            files.insert(path.into(), bytes[..*rng.choice(&at)?].to_vec());
        }
        "flip a bit" => {
            let mut bad = bytes.clone();
            // Where something lies: most of a log is room for more.
            let used = bytes.iter().rposition(|b| *b != 0)? + 1;
            bad[rng.usize(..used)] ^= 1 << rng.u32(..8);
            files.insert(path.into(), bad);
        }
        "zeros" => {
            let mut bad = bytes.clone();
            let from = rng.usize(..bad.len());
            bad[from..].fill(0);
            files.insert(path.into(), bad);
        }
        "append" => {
            let garbage = (0..rng.usize(1..600)).map(|_| rng.u8(..));
            files.insert(path.into(), bytes.iter().copied().chain(garbage).collect());
        }
        "duplicate" | "rename" => {
            let last = files.keys().rfind(|p| p.extension() == kind)?.to_str()?.to_owned();
            let at = last.find('-')? + 1;
            let number: u64 = last[at..at + 10].parse().ok()?;
            files.insert(format!("{}{:010}{}", &last[..at], number + rng.u64(1..3), &last[at + 10..]).into(), bytes);
            if what == "rename" {
                files.remove(path);
            }
        }
        "exchange" => {
            let others: Vec<PathBuf> = files.keys().filter(|p| p.extension() == kind && *p != path).cloned().collect();
            let with = rng.choice(&others)?.clone();
            let theirs = files.insert(with, bytes)?;
            files.insert(path.into(), theirs);
        }
        "older copy" => drop(files.insert(path.into(), rng.choice(&made.older)?.get(path)?.clone())),
        _ => drop(files.insert(path.into(), other.files.get(path)?.clone())),
    }
    (files != made.files).then_some(files)
}

/// What a start came to.
#[derive(Default, Debug)]
struct Counts {
    refused: u64,
    whole: u64,
    told: u64,
}

/// `hidden`: what was written and not synced may be missing without a trace.
fn check(case: &str, made: &Made, files: &Files, hidden: bool, counts: &mut Counts) {
    let disk = disk_with(files);
    let opened = catch_unwind(AssertUnwindSafe(|| open(&disk, made.mode, false)));
    match opened.unwrap_or_else(|_| panic!("{case}: a panic")) {
        Err(e) => {
            assert!(e.message().contains("/db/"), "{case}: {e}");
            counts.refused += 1;
        }
        Ok((store, report)) => {
            let found = state(&store);
            let at = made.states.iter().rposition(|s| *s == found);
            let at = at.unwrap_or_else(|| panic!("{case}: a state that never was"));
            if at >= made.acknowledged {
                counts.whole += 1;
            } else {
                assert!(
                    hidden || !report.warnings.is_empty(),
                    "{case}: state {at} of {} without a word",
                    made.acknowledged
                );
                assert!(made.behind, "{case}: state {at} of {}, {:?}", made.acknowledged, report.warnings);
                counts.told += 1;
            }
            // It goes on as any other.
            commit(&store, &mut fastrand::Rng::with_seed(1));
            let after = state(&store);
            drop(store);
            disk.restart();
            let (store, _) = open(&disk, made.mode, false).unwrap_or_else(|e| panic!("{case}, once more: {e}"));
            assert_eq!(state(&store), after, "{case}, once more");
        }
    }
}

#[test]
fn nothing_is_lost_without_a_word() {
    let setting = |name: &str| std::env::var(name).ok().and_then(|v| v.parse::<u64>().ok());
    let rounds = match setting("DAMAGE_ROUND") {
        Some(round) => round..round + 1,
        None => 0..setting("DAMAGE_ROUNDS").unwrap_or(12),
    };
    let mut all: BTreeMap<(&str, String), Counts> = BTreeMap::new();
    for round in rounds {
        let mut rng = fastrand::Rng::with_seed(round);
        let ending = [Ending::Shutdown, Ending::Kill, Ending::Kill, Ending::PowerCut][round as usize % 4];
        let made = make(&mut rng, ending);
        let other = make(&mut rng, ending);
        check(&format!("round {round}, {ending:?}, as it is"), &made, &made.files, false, &mut Counts::default());
        for _ in 0..8 {
            // A copy that was not finished.
            let mut files = made.files.clone();
            files.retain(|_, _| rng.bool());
            if !files.is_empty() && files.len() < made.files.len() {
                let case = format!("round {round}, {ending:?}, {:?} only", files.keys());
                let counts = all.entry(("half a copy", "all".to_string())).or_default();
                check(&case, &made, &files, false, counts);
                assert_eq!((counts.whole, counts.told), (0, 0), "{case}");
            }
        }
        for what in HARMS {
            for path in made.files.keys() {
                let Some(files) = harm(what, path, &made, &other, &mut rng) else { continue };
                let kind = path.file_name().and_then(|n| n.to_str()).unwrap_or_default();
                let kind = kind.split('-').next().unwrap_or_default().to_string();
                let case = format!("round {round}, {ending:?}, {:?}, {what}: {}", made.mode, path.display());
                // Newest records that are gone whole, with as much room as there was behind them.
                let hidden = matches!(what, "older copy" | "zeros");
                check(&case, &made, &files, hidden, all.entry((what, kind)).or_default());
            }
        }
    }
    for ((what, kind), counts) in &all {
        println!("{what:20} {kind:10} {counts:?}");
    }
    let refused = |what: &str, kind: &str| all.get(&(what, kind.to_string())).map_or(0, |c| c.refused);
    for kind in ["manifest", "redo", "data", "redo.end"] {
        assert!(refused("delete", kind) > 0 && refused("empty", kind) > 0, "{kind}");
    }
}

/// A refused folder opens if its owner gives up what is missing at the log's end.
#[test]
fn a_loss_can_be_accepted() {
    let mut rng = fastrand::Rng::with_seed(3);
    let made = make(&mut rng, Ending::Kill);
    let last = made.files.keys().rfind(|p| p.extension().is_some_and(|e| e == "log")).expect("there is one").clone();
    for lost in [last, Path::new(DIR).join("redo.end")] {
        let mut files = made.files.clone();
        files.remove(&lost);
        let disk = disk_with(&files);
        let name = lost.file_name().and_then(|n| n.to_str()).expect("a name");
        let e = open(&disk, made.mode, false).expect_err("a file is missing");
        assert!(e.message().contains(name) && e.message().contains("is missing"), "{e}");
        let (store, report) = open(&disk, made.mode, true).expect("it is accepted");
        let found = state(&store);
        assert!(made.states.contains(&found));
        assert!(!report.warnings.is_empty(), "{name}");
        drop(store);
        disk.restart();
        let (store, report) = open(&disk, made.mode, false).expect("it is whole again");
        assert_eq!((state(&store), report.warnings), (found, Vec::new()));
    }
}

/// Something durable that is done while one call fails.
type Step = fn(&Store) -> Result<()>;

const STEPS: [(&str, Step); 5] = [
    ("open", |_| Ok(())),
    ("checkpoint", |s| s.checkpoint().map(drop)),
    ("define", |s| create(s, 9)),
    ("switch segments", |s| {
        // Each is longer than half a segment.
        (0..4).try_for_each(|i| {
            let txn = s.txns().begin();
            let table = s.table(TableId(1)).expect("it was made");
            txn.begin_statement();
            let rows = (0..16).map(|n| vec![Value::Int(-1 - i * 16 - n), Value::Bytes([b'x'; 90].into())]);
            common::insert(&table, &txn, &rows.collect::<Vec<_>>()).expect("new keys");
            s.txns().commit(&txn).map(drop)
        })
    }),
    ("backup", |s| s.backup(Path::new("/copy"), &|| Ok(())).map(drop)),
];

/// Whichever call of a durable step fails: the folder opens, with what was before or what is after; a copy opens only
/// if it is whole.
#[test]
fn a_folder_opens_whichever_call_failed() {
    let made = make(&mut fastrand::Rng::with_seed(1), Ending::Kill);
    let before = made.states.last().expect("there is one").clone();
    let mut struck = BTreeMap::new();
    for (what, step) in STEPS {
        for fault in [Fault::Full, Fault::Error, Fault::PowerCut] {
            for call in 1.. {
                let case = format!("{what}, {fault:?} at call {call}");
                let disk = disk_with(&made.files);
                if what == "open" {
                    disk.fail_at(disk.calls() + call, fault);
                }
                let opened = open(&disk, FlushMode::Sync, false);
                assert!(what == "open" || opened.is_ok(), "{case}");
                let from = disk.calls();
                if what != "open" {
                    disk.fail_at(from + call, fault);
                }
                let done = opened.as_ref().map_err(|e| e.clone()).and_then(|(store, _)| step(store));
                let seen = opened.as_ref().map(|(store, _)| state(store)).unwrap_or_default();
                drop(opened);
                let was_struck = done.is_err() || what != "open" && disk.calls() >= from + call;
                if !disk.has_power() {
                    disk.power_on(call)
                } else {
                    disk.restart()
                }
                let (store, _) = open(&disk, FlushMode::Sync, false).unwrap_or_else(|e| panic!("{case}: {e}"));
                let found = state(&store);
                assert!(done.is_err() || found == seen, "{case}: what was acknowledged is not there");
                let some = |s: &State| s.iter().all(|(id, rows)| rows.iter().all(|(k, v)| found[id].get(k) == Some(v)));
                assert!(some(&before), "{case}: what was there is there no more");
                commit(&store, &mut fastrand::Rng::with_seed(call));
                drop(store);
                let copy = if what == "backup" {
                    open_in(&disk, Path::new("/copy"), FlushMode::Sync, false).ok()
                } else {
                    None
                };
                if let Some((copy, _)) = copy {
                    // Where nothing is there yet, a new database begins.
                    let copied = state(&copy);
                    assert!(copied == seen || copied.is_empty() && done.is_err(), "{case}: half a copy opened");
                }
                if !was_struck {
                    break;
                }
                *struck.entry((what, format!("{fault:?}"))).or_insert(0) += 1;
            }
        }
    }
    println!("{struck:?}");
    assert_eq!(struck.len(), STEPS.len() * 3);
}

/// A copy that was stopped leaves nothing behind, and can be made again in the same folder.
#[test]
fn a_copy_can_be_stopped_at_any_leaf() {
    let made = make(&mut fastrand::Rng::with_seed(1), Ending::Kill);
    let disk = disk_with(&made.files);
    let (store, _) = open(&disk, FlushMode::Sync, false).expect("it is whole");
    let copy = Path::new("/copy");
    let mut stops = 0;
    for leaves in 0.. {
        let left = std::sync::atomic::AtomicI64::new(leaves);
        let go_on = || match left.fetch_sub(1, std::sync::atomic::Ordering::Relaxed) {
            ..=0 => Err(types::Error::query_interrupted()),
            _ => Ok(()),
        };
        match store.backup(copy, &go_on) {
            Ok(_) => break,
            Err(e) => assert_eq!(e.code(), types::Error::query_interrupted().code(), "{e}"),
        }
        assert_eq!(disk.paths().into_iter().filter(|p| p.starts_with(copy)).collect::<Vec<_>>(), Vec::<PathBuf>::new());
        stops += 1;
    }
    assert!(stops > 0, "it has leaves");
    let (copied, _) = open_in(&disk, copy, FlushMode::Sync, false).expect("the copy is whole");
    assert_eq!(state(&copied), state(&store));
}
