//! What tables hold beside what their rows need: at most half as much again, whatever happened to the rows.

mod common;

use catalog::TableDef;
use common::{chunk, insert, scan};
use disk::{Io, SimIo};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use storage::{
    BulkAppender, DefinitionChange, DurableOptions, FlushMode, LeafView, Object, ObjectKey, ObjectKind, OnTrouble,
    StorageOptions, Store, Table, Txn,
};
use types::{Collation, SqlType, Value};

/// What may be held of what is needed.
const RATIO_MAX: f64 = 1.5;
const ROWS: i64 = 4096;

/// `t (k INT PRIMARY KEY, s VARCHAR(200) NULL, t LONGBLOB NULL, n BIGINT NULL)`
fn definition() -> Arc<TableDef> {
    let columns = vec![
        common::column("k", SqlType::INT, false),
        common::column("s", SqlType::varchar(200, Collation::Binary), true),
        common::column("t", SqlType::varchar(60_000, Collation::Binary), true),
        common::column("n", SqlType::BIGINT, true),
    ];
    common::def(1, columns, vec![common::unique("PRIMARY", &[0])])
}

type Strings = [Option<Vec<u8>>; 2];

struct World {
    rng: fastrand::Rng,
    store: Store,
    table: Arc<Table>,
    /// Key to row id and strings.
    model: BTreeMap<i64, (u64, Strings)>,
    next_key: i64,
    width_max: usize,
    /// What somebody reads meanwhile.
    readers: Vec<LeafView>,
    with_readers: bool,
}

fn value(s: &Option<Vec<u8>>) -> Value {
    s.as_ref().map_or(Value::Null, |bytes| Value::Bytes(bytes.as_slice().into()))
}

impl World {
    fn new(rows: i64, width_max: usize) -> World {
        let store = Store::new(StorageOptions { leaf_rows: None });
        let table = store.create_table(definition());
        World::of(store, table, rows, width_max)
    }

    fn of(store: Store, table: Arc<Table>, rows: i64, width_max: usize) -> World {
        let rng = fastrand::Rng::with_seed(42);
        let model = BTreeMap::new();
        let mut world =
            World { rng, store, table, model, next_key: 0, width_max, readers: Vec::new(), with_readers: false };
        world.insert(rows as usize);
        world
    }

    fn text(&mut self) -> Option<Vec<u8>> {
        let len = match self.rng.u32(..8) {
            0 => return None,
            1 => 0,
            2 => self.rng.usize(..13),
            _ => self.rng.usize(..=self.width_max),
        };
        let first = self.rng.u8(..);
        Some((0..len).map(|i| first.wrapping_add(i as u8)).collect())
    }

    fn strings(&mut self) -> Strings {
        [self.text(), self.text()]
    }

    fn insert(&mut self, rows: usize) {
        for _ in 0..rows.div_ceil(100) {
            let txn = self.store.txns().begin();
            let new: Vec<(i64, Strings)> =
                (0..rows.min(100) as i64).map(|i| (self.next_key + i, self.strings())).collect();
            self.next_key += new.len() as i64;
            let values: Vec<Vec<Value>> =
                new.iter().map(|(k, [s, t])| vec![Value::Int(*k), value(s), value(t), Value::Int(1 << 40)]).collect();
            let ids = insert(&self.table, &txn, &values).expect("no duplicates");
            self.commit(&txn);
            self.model.extend(new.into_iter().zip(ids).map(|((k, strings), id)| (k, (id, strings))));
        }
    }

    fn commit(&mut self, txn: &Arc<Txn>) {
        self.store.txns().commit(txn).expect("the log can be written");
        if self.with_readers {
            let leaf_no = self.rng.u64(..self.table.leaf_count());
            self.readers.extend(self.table.scan_leaf(leaf_no, &[1, 2], &self.store.txns().snapshot()));
            if self.readers.len() > 3 {
                self.readers.remove(0);
            }
        }
    }

    fn put(&mut self, txn: &Arc<Txn>, key: i64, strings: &Strings) {
        let id = self.model[&key].0;
        let [s, t] = [chunk(&self.table, 1, &[value(&strings[0])]), chunk(&self.table, 2, &[value(&strings[1])])];
        assert_eq!(self.table.update(txn, id, &[1, 2], &[&s, &t], 0), Ok(true));
    }

    fn any_key(&mut self) -> i64 {
        let from = self.rng.i64(0..self.next_key);
        *self.model.range(from..).next().or_else(|| self.model.iter().next()).expect("there are rows").0
    }

    /// Changes single rows, a transaction each.
    fn update_some(&mut self, times: usize) {
        for _ in 0..times {
            let (key, strings) = (self.any_key(), self.strings());
            let txn = self.store.txns().begin();
            self.put(&txn, key, &strings);
            self.commit(&txn);
            self.model.get_mut(&key).expect("there").1 = strings;
        }
    }

    fn update_all(&mut self, commit: bool) {
        let txn = self.store.txns().begin();
        for key in self.model.keys().copied().collect::<Vec<_>>() {
            let strings = self.strings();
            self.put(&txn, key, &strings);
            if commit {
                self.model.get_mut(&key).expect("there").1 = strings;
            }
        }
        match commit {
            true => self.commit(&txn),
            false => self.store.txns().rollback(&txn),
        }
    }

    fn delete_some(&mut self, rows: usize) {
        let mut keys: Vec<i64> = self.model.keys().copied().collect();
        self.rng.shuffle(&mut keys);
        for key in &keys[..rows] {
            let id = self.model.remove(key).expect("there").0;
            let txn = self.store.txns().begin();
            assert_eq!(self.table.delete(&txn, id), Ok(true));
            self.commit(&txn);
        }
    }

    /// Bytes that the rows need: their slots, 16 bytes a string, and what of longer strings does not fit these.
    fn needed(&self) -> usize {
        let long = |s: &Option<Vec<u8>>| s.as_ref().map_or(0, Vec::len);
        let of_row = |strings: &Strings| strings.iter().map(long).filter(|n| *n > 12).sum::<usize>();
        self.model.values().map(|(_, strings)| 4 + 8 + 2 * 16 + of_row(strings)).sum()
    }

    fn ratio(&self) -> f64 {
        (self.table.bytes() - self.table.index_bytes()) as f64 / self.needed() as f64
    }

    fn check(&mut self, what: &str) {
        self.readers.clear();
        self.store.txns().collect_garbage(usize::MAX);
        assert_eq!(self.table.check(), Vec::<String>::new());
        let seen: BTreeMap<i64, (u64, Strings)> = scan(&self.table, &self.store.txns().snapshot())
            .into_iter()
            .map(|(id, row)| {
                let Value::Int(k) = row[0] else { panic!("{row:?}") };
                let text = |v: &Value| match v {
                    Value::Bytes(b) => Some(b.to_vec()),
                    _ => None,
                };
                (k, (id, [text(&row[1]), text(&row[2])]))
            })
            .collect();
        assert!(seen == self.model, "{what}: other rows than there should be");
        assert!(self.ratio() < RATIO_MAX, "{what}: {:.2} times what is needed is held", self.ratio());
    }
}

#[test]
fn scattered_updates() {
    for with_readers in [false, true] {
        let mut world = World::new(ROWS, 150);
        world.with_readers = with_readers;
        world.check("inserts");
        for _ in 0..4 {
            world.update_some(ROWS as usize);
            world.check("updates of single rows");
        }
    }
}

#[test]
fn strings_that_grow_and_shrink() {
    let mut world = World::new(ROWS, 100);
    for width_max in [400, 10, 900, 0, 60] {
        world.width_max = width_max;
        world.update_all(true);
        world.check("updates of all rows");
        world.update_some(500);
        world.check("updates of single rows behind");
    }
}

#[test]
fn updates_taken_back() {
    let mut world = World::new(ROWS, 100);
    for _ in 0..3 {
        world.update_all(false);
        world.check("a rollback");
    }
}

#[test]
fn updates_under_a_snapshot() {
    let mut world = World::new(ROWS, 100);
    let snapshot = world.store.txns().snapshot();
    let before = scan(&world.table, &snapshot);
    world.update_some(ROWS as usize * 3);
    world.delete_some(500);
    assert!(scan(&world.table, &snapshot) == before);
    drop(snapshot);
    world.check("the end of a snapshot");
}

#[test]
fn rows_that_come_and_go() {
    let mut world = World::new(ROWS, 150);
    for _ in 0..6 {
        world.delete_some(ROWS as usize / 2);
        world.insert(ROWS as usize / 2);
    }
    world.check("deletes of random halves and as many inserts");
}

/// The same where the new rows come in loads, which make leaves of their own otherwise.
#[test]
fn rows_that_go_and_loads() {
    let mut world = World::new(ROWS * 3, 20);
    for _ in 0..5 {
        world.delete_some(ROWS as usize * 3 / 2);
        world.store.txns().collect_garbage(usize::MAX);
        let txn = world.store.txns().begin();
        let table = world.table.clone();
        let mut load = BulkAppender::new(&table, &txn);
        for _ in 0..ROWS * 3 / 2 {
            let (key, strings) = (world.next_key, world.strings());
            world.next_key += 1;
            let row = [Value::Int(key), value(&strings[0]), value(&strings[1]), Value::Int(1 << 40)];
            row.iter().enumerate().for_each(|(c, v)| load.push_value(c, v));
            load.end_row().expect("no duplicates");
            world.model.insert(key, (0, strings));
        }
        load.finish().expect("no duplicates");
        world.commit(&txn);
        let places = scan(&world.table, &world.store.txns().snapshot());
        for (id, row) in places {
            let Value::Int(k) = row[0] else { panic!("{row:?}") };
            world.model.get_mut(&k).expect("a row of the model").0 = id;
        }
    }
    world.check("deletes of random halves and loads of as many");
}

/// No row comes for those that went: their strings go nevertheless, their slots stay.
#[test]
fn rows_that_go() {
    let mut world = World::new(ROWS, 250);
    world.delete_some(ROWS as usize / 2);
    world.check("deletes of a random half");
    let long = ROWS as usize * 2 * 16;
    world.delete_some(ROWS as usize * 3 / 8);
    world.store.txns().collect_garbage(usize::MAX);
    let slots = ROWS as usize * (4 + 8 + 2 * 16);
    let held = world.table.bytes() - world.table.index_bytes();
    assert!(held < slots + world.needed() * 3 / 2 + long / 8, "{held} bytes held");
}

#[test]
fn long_strings() {
    let mut world = World::new(100, 300_000);
    for with_readers in [false, true] {
        world.with_readers = with_readers;
        world.update_some(300);
        world.check("updates of long strings");
        world.delete_some(40);
        world.check("deletes of long strings");
        world.insert(100);
        world.update_all(true);
        world.check("updates of all long strings");
        world.delete_some(60);
    }
}

/// Rows that came as codes of a dictionary, and get other strings one by one.
#[test]
fn codes_that_become_strings() {
    let store = Store::new(StorageOptions { leaf_rows: None });
    let table = store.create_table(definition());
    let mut world = World::of(store, table, 0, 60);
    let txn = world.store.txns().begin();
    let mut load = BulkAppender::new(&world.table, &txn);
    for k in 0..ROWS {
        let s = Some(format!("one of a few strings, {}", k % 200).into_bytes());
        let row = [Value::Int(k), value(&s), value(&None), Value::Int(1 << 40)];
        row.iter().enumerate().for_each(|(c, v)| load.push_value(c, v));
        load.end_row().expect("no duplicates");
        world.model.insert(k, (k as u64, [s, None]));
    }
    load.finish().expect("no duplicates");
    world.commit(&txn);
    world.next_key = ROWS;
    world.check("a load");
    for _ in 0..3 {
        world.update_some(ROWS as usize);
        world.check("updates of single rows");
    }
}

fn open(io: &SimIo) -> Store {
    let io: Arc<dyn Io> = Arc::new(io.clone());
    let options = DurableOptions {
        flush: FlushMode::Sync,
        log_bytes_max: 1 << 40,
        segment_bytes: 1 << 20,
        threads: 2,
        on_trouble: OnTrouble(Box::new(|_, _| ())),
        full_wait: Duration::ZERO,
        accept_loss: false,
    };
    let define = &mut |_: &ObjectKey, _: &Object| Ok(definition());
    let storage = StorageOptions { leaf_rows: None };
    Store::open(io, Path::new("/db"), storage, options, define, &|_| ()).expect("it opens").0
}

#[test]
fn rows_that_come_back() {
    let io = SimIo::default();
    let store = open(&io);
    let table = store.create_table(definition());
    let key = ObjectKey { kind: ObjectKind::Table, schema: "test".into(), name: "t".into() };
    let object = Object::new(1, Box::default());
    store.define(vec![DefinitionChange::Put(key, object)]).expect("the log can be written");
    let mut world = World::of(store, table, ROWS, 150);
    for round in 0..4 {
        world.update_some(ROWS as usize);
        world.delete_some(ROWS as usize / 2);
        if round % 2 == 1 {
            world.store.checkpoint().expect("the disk works");
            world.update_some(300);
        }
        let id = world.table.def().id;
        world.store = Store::default();
        world.table = world.store.create_table(definition());
        io.restart();
        world.store = open(&io);
        world.table = world.store.table(id).expect("it is back");
        world.check("recovery");
        world.insert(ROWS as usize / 2);
        world.check("inserts after recovery");
    }
}
