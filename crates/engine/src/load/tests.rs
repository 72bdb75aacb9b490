//! Loads of small and of large texts, in one thread and in several.

use super::columns::{ColumnTarget, FileCharset};
use super::format::Format;
use super::run::{FieldTarget, Fill, Load, Loaded};
use catalog::{ColumnDef, IndexDef, IndexKind, IndexPart, TableDef, TableEngine, TableId};
use expr::Warnings;
use parser::ast::FieldsLines;
use std::fmt::Write;
use std::sync::Arc;
use storage::{Store, Table};
use types::temporal::{TemporalMode, TimeZone};
use types::value::ConvertMode;
use types::{Collation, Date, Result, SqlType, StringKind, Value};

fn column(name: &str, ty: SqlType) -> ColumnDef {
    ColumnDef::plain(name, ty, true)
}

fn table(columns: Vec<ColumnDef>, key: &[usize]) -> (Store, Arc<Table>) {
    let store = Store::default();
    let indexes = if key.is_empty() {
        vec![]
    } else {
        vec![IndexDef {
            name: "PRIMARY".into(),
            kind: IndexKind::Primary,
            parts: key.iter().map(|&c| IndexPart { column_idx: c, prefix_len: None, descending: false }).collect(),
            algorithm: None,
            comment: "".into(),
            invisible: false,
            made_for_foreign_key: false,
        }]
    };
    let def = TableDef {
        id: TableId(1),
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
    };
    let table = store.create_table(Arc::new(def));
    (store, table)
}

struct Options {
    format: FieldsLines,
    ignore_lines: u64,
    strict: bool,
    workers: usize,
    /// Bytes that statements may hold.
    memory: usize,
    /// Columns of the fields; `None`: a user variable.
    fields: Option<Vec<Option<usize>>>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            format: FieldsLines::default(),
            ignore_lines: 0,
            strict: true,
            workers: 1,
            memory: 64 << 20,
            fields: None,
        }
    }
}

/// Loads and commits; the warnings are the second part of the answer.
fn load(store: &Store, table: &Arc<Table>, text: &[u8], o: Options) -> (Result<Loaded>, Vec<String>) {
    let def = table.def();
    let columns = &def.columns;
    let fields = o.fields.unwrap_or_else(|| (0..columns.len()).map(Some).collect());
    let mut user_vars = 0;
    let targets = fields
        .iter()
        .map(|f| match f {
            Some(c) => FieldTarget::Column(ColumnTarget::new(*c, &columns[*c])),
            None => {
                user_vars += 1;
                FieldTarget::UserVar(user_vars - 1)
            }
        })
        .collect();
    let fills = (0..columns.len())
        .filter(|c| !fields.contains(&Some(*c)))
        .map(|c| {
            let target = ColumnTarget::new(c, &columns[c]);
            (c, if columns[c].auto_increment { Fill::Next(target) } else { Fill::Value(Value::Null) })
        })
        .collect();
    let txn = store.txns().begin();
    let zone = TimeZone::parse("+00:00").expect("a zone");
    let warnings = Warnings::new(64);
    let temporal = TemporalMode {
        no_zero_date: true,
        no_zero_in_date: true,
        allow_invalid_dates: false,
        truncate_fractional: false,
    };
    let load = Load {
        table,
        txn: &txn,
        format: &Format::new(&o.format).expect("valid"),
        ignore_lines: o.ignore_lines,
        targets,
        fills,
        user_vars,
        compute: None,
        mode: ConvertMode { strict: o.strict, temporal, zone: &zone, today: Date::from_ymd(2024, 1, 1) },
        charset: FileCharset::Utf8,
        ids: changes::AutoIncrement::of(&table.def(), 1, 1),
        no_auto_value_on_zero: false,
        ignore_duplicates: !o.strict,
        warnings: &warnings,
        workers: o.workers,
        memory: executor::MemoryAccountant::new(o.memory),
        check_killed: &|| Ok(()),
        progress: &|_| (),
    };
    let result = load.run(&mut &text[..]);
    match &result {
        Ok(_) => {
            store.txns().commit(&txn).expect("the log can be written");
        }
        Err(_) => store.txns().rollback(&txn),
    }
    (result, warnings.take().into_iter().map(|w| format!("{} {}", w.code.0, w.message)).collect())
}

/// All rows as text, in heap order: values joined by ',', rows by '/'.
fn rows(store: &Store, table: &Table) -> Vec<String> {
    let snapshot = store.txns().snapshot();
    let columns: Vec<usize> = (0..table.types().len()).collect();
    let mut out = vec![];
    for leaf_no in 0..table.leaf_count() {
        let Some(view) = table.scan_leaf(leaf_no, &columns, &snapshot) else { continue };
        view.selection.for_each(view.rows, |i| {
            let row: Vec<String> = columns
                .iter()
                .map(|&c| {
                    let ty = &table.def().columns[c].ty;
                    let mut text = Vec::new();
                    match view.columns[c].value(i, ty) {
                        Value::Null => text.extend_from_slice(b"~"),
                        v => types::render_text(&v, ty, &mut text),
                    }
                    String::from_utf8_lossy(&text).into_owned()
                })
                .collect();
            out.push(row.join(","));
        });
    }
    out
}

fn varchar(len: u32) -> SqlType {
    SqlType::varchar(len, Collation::Utf8mb4Bin)
}

#[test]
fn every_type_takes_its_text() {
    let (store, t) = table(
        vec![
            column("i", SqlType::INT),
            column("u", SqlType::BIGINT_UNSIGNED),
            column("d", SqlType::Decimal { precision: 12, scale: 2 }),
            column("w", SqlType::Decimal { precision: 40, scale: 5 }),
            column("f", SqlType::Double),
            column("date", SqlType::Date),
            column("at", SqlType::DateTime { fsp: 3 }),
            column("time", SqlType::Time { fsp: 0 }),
            column("c", SqlType::String { kind: StringKind::Char, len: 5, collation: Collation::Utf8mb4Bin }),
            column("s", varchar(10)),
            column("b", SqlType::String { kind: StringKind::Char, len: 3, collation: Collation::Binary }),
        ],
        &[],
    );
    let text = "-5\t18446744073709551615\t-1.5\t1.23456\t1e3\t2024-02-29\t2024-01-02 03:04:05.678\t-10:00:00\tab  \tåäö\tx\n\
                \\N\t\\N\t\\N\t\\N\t\\N\t\\N\t\\N\t\\N\t\\N\t\\N\t\\N\n";
    let (loaded, warnings) = load(&store, &t, text.as_bytes(), Options::default());
    assert_eq!(loaded.expect("valid").rows, 2);
    assert_eq!(warnings, Vec::<String>::new());
    assert_eq!(
        rows(&store, &t),
        [
            "-5,18446744073709551615,-1.50,1.23456,1000,2024-02-29,2024-01-02 03:04:05.678,-10:00:00,ab,åäö,x\0\0",
            "~,~,~,~,~,~,~,~,~,~,~"
        ]
    );
}

#[test]
fn misfits_are_errors_in_strict_mode_and_warnings_otherwise() {
    let columns = || vec![column("i", SqlType::INT), ColumnDef { nullable: false, ..column("s", varchar(3)) }];
    for (text, code, warning, row) in [
        ("1\ta\nx\tb\n", 1366, "1366 Incorrect integer value: 'x' for column 'i' at row 2", "1,a/0,b"),
        ("1\ta\n2\tlong\n", 1406, "1265 Data truncated for column 's' at row 2", "1,a/2,lon"),
        ("1\ta\n2\n", 1261, "1261 Row 2 doesn't contain data for all columns", "1,a/2,"),
        (
            "1\ta\tx\n2\tb\n",
            1262,
            "1262 Row 1 was truncated; it contained more data than there were input columns",
            "1,a/2,b",
        ),
        ("1\t\\N\n", 1263, "1263 Column set to default value; NULL supplied to NOT NULL column 's' at row 1", "1,"),
        ("1\ta\n1\tb\n2\tc\n", 1062, "1062 Duplicate entry '1' for key 't.PRIMARY'", "1,a/2,c"),
    ] {
        let (store, t) = table(columns(), &[0]);
        let (loaded, _) = load(&store, &t, text.as_bytes(), Options::default());
        assert_eq!(loaded.expect_err(text).code().0, code, "{text}");
        assert_eq!(rows(&store, &t), Vec::<String>::new());
        let (loaded, warnings) = load(&store, &t, text.as_bytes(), Options { strict: false, ..Options::default() });
        let loaded = loaded.expect("not strict");
        assert_eq!(warnings.join("/"), warning);
        assert_eq!(rows(&store, &t).join("/"), row);
        assert_eq!(loaded.skipped, (code == 1062) as u64);
    }
}

#[test]
fn lists_of_columns_skip_and_reorder_fields() {
    let auto = ColumnDef { auto_increment: true, nullable: false, ..column("id", SqlType::INT) };
    let (store, t) = table(vec![auto, column("a", SqlType::INT), column("b", varchar(9))], &[0]);
    let options = Options { fields: Some(vec![Some(2), None, Some(1)]), ignore_lines: 1, ..Options::default() };
    let (loaded, _) = load(&store, &t, b"head\tx\ty\none\tskip\t1\ntwo\tlast\t2\n", options);
    assert_eq!(loaded.expect("valid").user_vars, [Some(b"last".to_vec())]);
    assert_eq!(rows(&store, &t), ["1,1,one", "2,2,two"]);
}

/// A line without end takes what there is, and no more.
#[test]
fn long_lines_are_charged() {
    let (store, t) = table(vec![column("a", SqlType::varchar(30 << 20, Collation::Binary))], &[]);
    let mut text = vec![b'x'; 20 << 20];
    text.push(b'\n');
    for workers in [1, 2] {
        let (loaded, _) = load(&store, &t, &text, Options { workers, memory: 16 << 20, ..Options::default() });
        assert_eq!(loaded.expect_err("it does not fit").code(), types::ErrorCode::CAPACITY_EXCEEDED);
        let (loaded, _) = load(&store, &t, &text, Options { workers, memory: 256 << 20, ..Options::default() });
        assert_eq!(loaded.expect("it fits").rows, 1);
    }
}

/// Blocks finish in any order; rows, warnings and the first error are those of one thread.
#[test]
fn threads_do_not_show() {
    let n = 250_000;
    let mut text = String::new();
    for i in 0..n {
        let number = if i % 50_000 == 49_999 { "x".to_owned() } else { (i * 2).to_string() };
        writeln!(text, "{i},{number},\"a \"\"quoted\"\", string\nof two lines {i}\"").expect("memory");
    }
    assert!(text.len() > 5 * super::blocks::BLOCK_BYTES);
    let format = || FieldsLines {
        fields_terminated_by: Some(b",".as_slice().into()),
        enclosed_by: Some(b"\"".as_slice().into()),
        ..FieldsLines::default()
    };
    let columns = || vec![column("i", SqlType::INT), column("n", SqlType::INT), column("s", varchar(100))];
    for workers in [1, 4] {
        let (store, t) = table(columns(), &[0]);
        let options = |strict| Options { format: format(), workers, strict, ..Options::default() };
        let (loaded, _) = load(&store, &t, text.as_bytes(), options(true));
        let error = loaded.expect_err("an x is no number");
        assert_eq!(error.message(), "Incorrect integer value: 'x' for column 'n' at row 50000");
        assert_eq!(t.row_count(), 0);
        let (loaded, warnings) = load(&store, &t, text.as_bytes(), options(false));
        assert_eq!(loaded.expect("not strict").rows, n as u64);
        let at: Vec<&str> = warnings.iter().filter_map(|w| w.rsplit(' ').next()).collect();
        assert_eq!(at, ["50000", "100000", "150000", "200000", "250000"]);
        assert_eq!(t.check(), Vec::<String>::new());
        let mut found = rows(&store, &t);
        found.sort_by_key(|r| r.split(',').next().and_then(|i| i.parse::<u32>().ok()));
        assert_eq!(found.len(), n);
        assert_eq!(found[7], "7,14,a \"quoted\", string\nof two lines 7");
        assert_eq!(found[n - 1], format!("{},0,a \"quoted\", string\nof two lines {}", n - 1, n - 1));
    }
}

/// `cargo test -p nextleaf-engine --release load_rate -- --ignored --nocapture`
#[test]
#[ignore = "a measurement"]
fn load_rate() {
    let money = SqlType::Decimal { precision: 15, scale: 2 };
    let char = |len| SqlType::String { kind: StringKind::Char, len, collation: Collation::Utf8mb4_0900AiCi };
    let columns = vec![
        column("l_orderkey", SqlType::INT),
        column("l_partkey", SqlType::INT),
        column("l_suppkey", SqlType::INT),
        column("l_linenumber", SqlType::INT),
        column("l_quantity", money),
        column("l_extendedprice", money),
        column("l_discount", money),
        column("l_tax", money),
        column("l_returnflag", char(1)),
        column("l_linestatus", char(1)),
        column("l_shipdate", SqlType::Date),
        column("l_commitdate", SqlType::Date),
        column("l_receiptdate", SqlType::Date),
        column("l_shipinstruct", char(25)),
        column("l_shipmode", char(10)),
        column("l_comment", SqlType::varchar(44, Collation::Utf8mb4_0900AiCi)),
    ];
    let mut text = String::new();
    let mut x = 1u64;
    for i in 0..2_000_000u64 {
        x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let r = x >> 33;
        writeln!(
            text,
            "{}|{}|{}|{}|{}|{}.{:02}|0.0{}|0.0{}|{}|{}|199{}-0{}-1{}|1996-02-12|1996-03-22|{}|{}|egular courts {} above the{}|",
            i / 4 + 1, r % 200000, r % 10000, i % 4 + 1, r % 50 + 1, r % 90000, r % 100, r % 10, r % 9,
            ["A", "N", "R"][r as usize % 3], ["F", "O"][r as usize % 2], r % 8, r % 9 + 1, r % 10,
            ["DELIVER IN PERSON", "TAKE BACK RETURN", "NONE", "COLLECT COD"][r as usize % 4],
            ["TRUCK", "MAIL", "REG AIR", "AIR", "FOB", "RAIL", "SHIP"][r as usize % 7],
            ["quickly", "slyly", "carefully"][r as usize % 3], r % 1000,
        )
        .expect("memory");
    }
    for workers in [1, 2] {
        let (store, t) = table(columns.clone(), &[0, 3]);
        let format = FieldsLines { fields_terminated_by: Some(b"|".as_slice().into()), ..FieldsLines::default() };
        let begun = std::time::Instant::now();
        let (loaded, _) = load(&store, &t, text.as_bytes(), Options { format, workers, ..Options::default() });
        let seconds = begun.elapsed().as_secs_f64();
        println!(
            "{workers} workers: {} rows, {:.0} MB/s, {:.2} M rows/s, {:.1} bytes a row, index {} bytes",
            loaded.expect("valid").rows,
            text.len() as f64 / 1e6 / seconds,
            2.0 / seconds,
            t.bytes() as f64 / 2e6,
            t.index_bytes(),
        );
    }
}
