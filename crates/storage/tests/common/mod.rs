//! What the storage tests share: small tables and rows.
#![allow(dead_code)]

use catalog::{ColumnDef, IndexDef, IndexKind, IndexPart, TableDef, TableEngine, TableId};
use std::sync::Arc;
use storage::{Snapshot, StorageOptions, Store, Table, Txn};
use types::{Collation, SqlType, Value};
use vector::{Chunk, ChunkBuilder};

pub fn column(name: &str, ty: SqlType, nullable: bool) -> ColumnDef {
    ColumnDef::plain(name, ty, nullable)
}

pub fn unique(name: &str, columns: &[usize]) -> IndexDef {
    IndexDef {
        name: name.into(),
        kind: if name == "PRIMARY" { IndexKind::Primary } else { IndexKind::Unique },
        parts: columns.iter().map(|&c| IndexPart { column_idx: c, prefix_len: None, descending: false }).collect(),
        algorithm: None,
        comment: "".into(),
        invisible: false,
        made_for_foreign_key: false,
    }
}

pub fn def(id: u64, columns: Vec<ColumnDef>, indexes: Vec<IndexDef>) -> Arc<TableDef> {
    Arc::new(TableDef {
        id: TableId(id),
        schema: "test".into(),
        name: "t".into(),
        columns,
        indexes,
        checks: Vec::new(),
        foreign_keys: Vec::new(),
        engine: TableEngine::InnoDb,
        collation: Collation::Utf8mb4_0900AiCi,
        comment: "".into(),
        options: vec![],
        created_at: 0,
        temporary: false,
    })
}

/// `t (k INT PRIMARY KEY, v BIGINT NULL, s VARCHAR(100) COLLATE binary NULL, UNIQUE (s))`; the unique key on demand.
pub fn kvs(leaf_rows: usize, unique_s: bool) -> (Store, Arc<Table>) {
    let store = Store::new(StorageOptions { leaf_rows: Some(leaf_rows) });
    let columns = vec![
        column("k", SqlType::INT, false),
        column("v", SqlType::BIGINT, true),
        column("s", SqlType::varchar(100, Collation::Binary), true),
    ];
    let mut indexes = vec![unique("PRIMARY", &[0])];
    if unique_s {
        indexes.push(unique("s", &[2]));
    }
    let table = store.create_table(def(1, columns, indexes));
    (store, table)
}

pub fn chunk(table: &Table, column: usize, values: &[Value]) -> Chunk {
    let mut b = ChunkBuilder::new(table.types()[column], values.len());
    values.iter().for_each(|v| b.push(v));
    b.finish()
}

/// One chunk a column of `rows`.
pub fn chunks(table: &Table, rows: &[Vec<Value>]) -> Vec<Chunk> {
    (0..table.types().len()).map(|c| chunk(table, c, &rows.iter().map(|r| r[c].clone()).collect::<Vec<_>>())).collect()
}

pub fn insert(table: &Arc<Table>, txn: &Arc<Txn>, rows: &[Vec<Value>]) -> types::Result<Vec<u64>> {
    let chunks = chunks(table, rows);
    table.insert_rows(txn, &chunks.iter().collect::<Vec<_>>(), rows.len())
}

/// All rows that the snapshot sees: (row id, values).
pub fn scan(table: &Table, snapshot: &Snapshot) -> Vec<(u64, Vec<Value>)> {
    let columns: Vec<usize> = (0..table.types().len()).collect();
    let mut out = Vec::new();
    for leaf_no in 0..table.leaf_count() {
        let counted = table.count_leaf(leaf_no, snapshot);
        let Some(view) = table.scan_leaf(leaf_no, &columns, snapshot) else {
            assert_eq!(counted, 0, "leaf {leaf_no}: counted, but not seen");
            continue;
        };
        assert_eq!(counted, view.selection.count(view.rows), "leaf {leaf_no}: counted and seen");
        view.selection.for_each(view.rows, |i| {
            let row = columns.iter().map(|&c| view.columns[c].value(i, &table.def().columns[c].ty)).collect();
            out.push((view.base_row_id + i as u64, row));
        });
    }
    out
}
