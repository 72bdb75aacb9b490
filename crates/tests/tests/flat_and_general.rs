//! The statements of the golden files that change rows, by cached plans and the general way: the same answers, rows,
//! counters, warnings and ids.

use engine::{CachedPlans, Collect, LocalFiles};
use std::path::Path;
use tests::golden::parse;
use tests::ours::{Config, Ours, configs};

/// What a client can know of a statement that has run.
#[derive(PartialEq, Eq, Debug)]
struct Outcome {
    /// Affected rows, id, warnings, info; or the error.
    answer: Result<(u64, u64, u64, String), (u16, String)>,
    rows: Vec<Vec<Option<String>>>,
    warnings: Vec<Vec<Option<String>>>,
    /// ROW_COUNT(), LAST_INSERT_ID()
    functions: Vec<Vec<Option<String>>>,
    /// Handler_write and the like.
    counters: Vec<Vec<Option<String>>>,
}

/// An answer or the error's number and text, and the rows as text.
type Ran = (Result<Collect, (u16, String)>, Vec<Vec<Option<String>>>);

fn run(on: &mut Ours, sql: &str) -> Ran {
    let mut sink = Collect::default().with_files(LocalFiles::Opened);
    match on.session().execute(sql.as_bytes(), true, &mut sink) {
        Ok(()) => {
            let texts = sink.texts();
            (Ok(sink), texts)
        }
        Err(e) => (Err((e.code().0, e.message().to_string())), Vec::new()),
    }
}

fn changes_rows(sql: &str) -> bool {
    let word = sql.trim_start().split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
    ["INSERT", "REPLACE", "UPDATE", "DELETE", "LOAD"].iter().any(|w| word.eq_ignore_ascii_case(w))
}

fn outcome(on: &mut Ours, sql: &str) -> Outcome {
    let (answer, rows) = run(on, sql);
    let answer = answer.map(|s| (s.ok.affected_rows, s.ok.last_insert_id, s.warnings, s.ok.info));
    let mut outcome = Outcome { answer, rows, warnings: vec![], functions: vec![], counters: vec![] };
    if changes_rows(sql) {
        outcome.warnings = run(on, "SHOW WARNINGS").1;
        outcome.functions = run(on, "SELECT LAST_INSERT_ID()").1;
        let counted = "SHOW SESSION STATUS WHERE Variable_name IN ('Handler_write', 'Handler_update', 'Handler_delete', \
                       'Innodb_rows_inserted', 'Innodb_rows_updated', 'Innodb_rows_deleted')";
        outcome.counters = run(on, counted).1;
    }
    outcome
}

/// The numbers of rows that tables and indexes say were changed.
fn table_io(on: &mut Ours) -> Vec<Vec<Option<String>>> {
    let sql = "SELECT OBJECT_SCHEMA, OBJECT_NAME, INDEX_NAME, COUNT_INSERT, COUNT_UPDATE, COUNT_DELETE \
               FROM performance_schema.table_io_waits_summary_by_index_usage \
               WHERE COUNT_WRITE > 0 ORDER BY 1, 2, 3";
    run(on, sql).1
}

#[test]
fn cached_plans_do_what_the_general_way_does() {
    let open = |cached_plans| {
        let mut ours = Ours::open(&Config { cached_plans, ..configs()[0].clone() });
        for sql in ["CREATE DATABASE g", "USE g"] {
            ours.run(sql).expect("new");
        }
        ours
    };
    let (mut faults, mut changes, mut by_plans) = (Vec::new(), 0, 0);
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("sql");
    let mut files: Vec<_> = std::fs::read_dir(dir).expect("sql/").map(|e| e.expect("an entry").path()).collect();
    files.sort();
    for path in files {
        let cases = parse(&std::fs::read_to_string(&path).expect("a golden file is readable"));
        // What depends on the cache or on the session's own history would differ for that alone.
        if !cases.iter().any(|c| changes_rows(&c.sql)) {
            continue;
        }
        let (mut flat, mut general) = (open(CachedPlans::AtOnce), open(CachedPlans::Never));
        for on in [&mut flat, &mut general] {
            on.run("SET timestamp = 1700000000").expect("a variable");
        }
        for case in cases {
            let is_status = ["STATUS", "PROCESSLIST", "performance_schema", "RAND()", "UUID"];
            let (a, b) = (outcome(&mut flat, &case.sql), outcome(&mut general, &case.sql));
            changes += usize::from(changes_rows(&case.sql));
            if a != b && !is_status.iter().any(|w| case.sql.contains(w)) {
                faults.push(format!(
                    "{}:{}\n  {}\n  flat    {a:?}\n  general {b:?}",
                    path.display(),
                    case.line,
                    case.sql
                ));
            }
        }
        let (a, b) = (table_io(&mut flat), table_io(&mut general));
        if a != b {
            faults
                .push(format!("{}: rows changed by table and index\n  flat    {a:?}\n  general {b:?}", path.display()));
        }
        let hits = |on: &mut Ours| run(on, "SHOW STATUS LIKE 'Nextleaf_plan_cache_plans'").1[0][1].clone();
        let plans: u64 = hits(&mut flat).and_then(|n| n.parse().ok()).expect("a number");
        assert_eq!(hits(&mut general), Some("0".into()), "no plan is kept");
        by_plans += plans;
    }
    assert!(changes > 500 && by_plans > 200, "{changes} statements, {by_plans} plans");
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults[..faults.len().min(20)].join("\n\n"));
}
