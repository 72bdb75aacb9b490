//! A folder of format 2 is brought to the present one at its first start; whatever happens to it meanwhile, it opens
//! and has the same definitions.
//!
//! OLD_DEFINITIONS_STEP sets how many calls of the disk lie between two that fail: 1 tries them all.

mod common;

use common::Client;
use disk::{Fault, Io, SimIo};
use engine::{Database, Options};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use types::Result;

const LOOK: &[&str] = &[
    "SHOW CREATE TABLE shop.every_type",
    "SHOW CREATE TABLE shop.keys_of_each_kind",
    "SHOW CREATE TABLE shop.no_key",
    "SHOW CREATE TABLE shop.child",
    "SHOW CREATE TABLE shop.orphan",
    "SHOW CREATE TABLE shop.checked",
    "SHOW CREATE TABLE shop.counted",
    "SHOW CREATE TABLE shop.later",
    "SHOW CREATE VIEW shop.simple",
    "SHOW CREATE VIEW shop.sums",
    "SELECT * FROM information_schema.COLUMN_STATISTICS ORDER BY 1, 2, 3",
    "SELECT user, host, authentication_string, account_locked FROM mysql.user ORDER BY 1, 2",
    "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'shop' AND TABLE_NAME <> 'new_one' ORDER BY 1",
    "SELECT SUM(g1), SUM(g3), SUM(e1) FROM shop.every_type",
    "SELECT COUNT(*) FROM shop.keys_of_each_kind FORCE INDEX (computed) WHERE a + b = 50",
];

fn look(db: &Arc<Database>) -> Vec<String> {
    let mut client = Client::of(db);
    LOOK.iter().map(|q| format!("{:?}", client.ok(q))).collect()
}

/// A folder of the system for spilling, which nothing here does, and the disk that has its files.
struct Folder {
    dir: PathBuf,
    disk: SimIo,
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

impl Folder {
    /// The fixture, all of it on stable storage.
    fn of_format_2(name: &str) -> Folder {
        let dir = std::env::temp_dir().join(format!("nextleaf-{name}-{}", std::process::id()));
        let disk = SimIo::default();
        disk.create_dir(&dir).expect("nothing fails");
        let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/format-2");
        for entry in std::fs::read_dir(fixture).expect("the fixture is there") {
            let from = entry.expect("an entry").path();
            let bytes = std::fs::read(&from).expect("it can be read");
            let file = disk.create(&dir.join(from.file_name().expect("a name"))).expect("nothing fails");
            file.write_at(&bytes, 0).and(file.sync()).expect("nothing fails");
        }
        disk.sync_dir(&dir).expect("nothing fails");
        Folder { dir, disk }
    }

    fn open(&self) -> Result<Arc<Database>> {
        let disk: Arc<SimIo> = Arc::new(self.disk.clone());
        Database::open(Options {
            dir: Some(self.dir.clone()),
            workers: Some(0),
            disk: Some(disk),
            ..Options::default()
        })
    }

    fn manifest_has(&self, what: &[u8]) -> bool {
        let manifest = self.disk.bytes(&self.dir.join("manifest")).expect("it is there");
        manifest.windows(what.len()).any(|w| w == what)
    }
}

const MAKE: &str = "CREATE TABLE shop.new_one (a INT, b DECIMAL(9,4) AS (a / 3) STORED, CHECK (a <> 7), KEY ((a + 1)))";

/// Opens, makes a table and closes, until something fails. Whether the table was acknowledged.
fn use_it(folder: &Folder) -> bool {
    let Ok(db) = folder.open() else { return false };
    let made = Client::of(&db).run(MAKE).is_ok();
    let _ = db.close();
    made
}

#[test]
fn a_folder_of_format_2_is_converted() {
    let folder = Folder::of_format_2("converted");
    assert!(folder.manifest_has(b"CREATE TABLE") && !folder.manifest_has(b"NLdf"));
    let db = folder.open().expect("opens");
    let before = look(&db);
    assert!(!folder.manifest_has(b"CREATE TABLE") && folder.manifest_has(b"NLdf"));
    drop(db);
    for round in 0..3 {
        folder.disk.restart();
        let db = folder.open().expect("opens");
        assert_eq!(look(&db), before, "round {round}");
    }
}

/// The disk is full when the first start would make its checkpoint: the old form stays, and is read again.
#[test]
fn a_conversion_that_fails_is_made_up_for() {
    let folder = Folder::of_format_2("full-disk");
    let plain = Folder::of_format_2("full-disk-beside");
    plain.open().expect("opens");
    // The last call of an undisturbed start is a part of its checkpoint, and so are those shortly before it.
    let calls = plain.disk.calls();
    let mut stayed = 0;
    for at in (calls - 20..=calls).rev() {
        let folder = Folder::of_format_2("full-disk");
        folder.disk.fail_at(at, Fault::Full);
        let Ok(db) = folder.open() else { continue };
        stayed += folder.manifest_has(b"CREATE TABLE") as usize;
        drop(db);
        folder.disk.restart();
        drop(folder.open().expect("opens"));
        assert!(!folder.manifest_has(b"CREATE TABLE"));
    }
    assert!(stayed > 0);
    drop(folder);
}

#[test]
fn a_crash_while_definitions_are_converted_loses_nothing() {
    let step: u64 = std::env::var("OLD_DEFINITIONS_STEP").ok().and_then(|s| s.parse().ok()).unwrap_or(7);
    let (plain, beside) = (Folder::of_format_2("conversion"), Folder::of_format_2("conversion-beside"));
    let begin = plain.disk.calls();
    assert!(use_it(&plain));
    let end = plain.disk.calls();
    let before = look(&beside.open().expect("opens"));
    let mut converted = [0; 2];
    for (n, fault) in [Fault::PowerCut, Fault::Error, Fault::Full].into_iter().enumerate() {
        for at in (begin + 1 + n as u64..=end).step_by(step as usize) {
            let folder = Folder::of_format_2("conversion-harmed");
            folder.disk.fail_at(at, fault);
            let made = use_it(&folder);
            match fault {
                Fault::PowerCut => folder.disk.power_on(at),
                Fault::Error | Fault::Full => folder.disk.restart(),
            }
            converted[folder.manifest_has(b"NLdf") as usize] += 1;
            let db = folder.open().unwrap_or_else(|e| panic!("{fault:?} at call {at}: {e}"));
            assert_eq!(look(&db), before, "{fault:?} at call {at}");
            let is_there = Client::of(&db).run("SELECT a, b FROM shop.new_one").is_ok();
            assert!(is_there || !made, "{fault:?} at call {at}");
            if !is_there {
                Client::of(&db).ok(MAKE);
            }
            let mut client = Client::of(&db);
            assert_eq!(client.run("INSERT INTO shop.new_one (a) VALUES (7)"), Err(3819));
            client.ok("INSERT INTO shop.new_one (a) VALUES (1)");
            assert_eq!(client.ok("SELECT b FROM shop.new_one WHERE a + 1 = 2"), ["0.3333"]);
        }
    }
    assert!(converted.iter().all(|n| *n > 0), "crashes came before and after: {converted:?}");
}
