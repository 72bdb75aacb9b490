//! Whatever the golden files leave in a database is there after a restart: every definition as SHOW CREATE prints it,
//! every row, every index. Half of the databases are closed, half are left as a crash would leave them.

use std::path::{Path, PathBuf};
use tests::golden::{parse, render};
use tests::ours::Ours;

const BUILT_IN: &str = "('information_schema', 'mysql', 'performance_schema', 'sys')";

/// Definitions and rows of all tables and views.
fn contents(ours: &mut Ours) -> Vec<String> {
    ours.run("SET SESSION sql_mode = DEFAULT, timestamp = 1000000000, time_zone = '+00:00'").expect("settings");
    // What SHOW CREATE VIEW says depends on it.
    ours.run("USE information_schema").expect("it is there");
    let all = format!(
        "SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE, ENGINE FROM information_schema.TABLES \
         WHERE TABLE_SCHEMA NOT IN {BUILT_IN} ORDER BY 1, 2"
    );
    let mut out = Vec::new();
    for table in ours.run(&all).expect("a list") {
        let text = |i: usize| table[i].clone().unwrap_or_default();
        let name = format!("`{}`.`{}`", text(0), text(1).replace('`', "``"));
        let what = if text(2) == "VIEW" { "VIEW" } else { "TABLE" };
        let create = ours.run(&format!("SHOW CREATE {what} {name}"));
        // A counter may have run ahead of the rows that were committed.
        let counter = |l: &str| {
            let at = l.find(" AUTO_INCREMENT=").map(|i| (i, l[i + 16..].find(' ').map_or(l.len(), |n| i + 16 + n)));
            at.map_or(l.to_string(), |(from, to)| format!("{}{}", &l[..from], &l[to..]))
        };
        out.push(format!("{name}: {:?}", create.map(|r| render(&r).iter().map(|l| counter(l)).collect::<Vec<_>>())));
        if text(3) == "MEMORY" {
            continue;
        }
        let rows = ours.run(&format!("SELECT * FROM {name}"));
        let mut rows = rows.map(|r| render(&r)).unwrap_or_else(|e| vec![format!("{e:?}")]);
        rows.sort();
        out.push(format!("{name}: {rows:?}"));
    }
    out
}

struct Dir(PathBuf);

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn golden_databases_come_back() {
    let sql = Path::new(env!("CARGO_MANIFEST_DIR")).join("sql");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(sql).expect("sql/ is readable").map(|e| e.expect("an entry").path()).collect();
    files.sort();
    let dir = Dir(std::env::temp_dir().join(format!("nextleaf-restart-{}", std::process::id())));
    let mut objects = 0;
    for (i, path) in files.iter().enumerate() {
        let _ = std::fs::remove_dir_all(&dir.0);
        let open = || Ours::open_dir(&dir.0, &[("innodb_flush_log_at_trx_commit", "2")]).expect("the database opens");
        let mut ours = open();
        ours.run("CREATE DATABASE g").expect("a database");
        ours.run("USE g").expect("the database");
        for case in parse(&std::fs::read_to_string(path).expect("a golden file is readable")) {
            // What it answers is another test's matter. DROPs at the end of a file would leave nothing to look at, and
            // temporary tables would hide what is to come back.
            let sql = case.sql.trim_start().to_ascii_uppercase();
            if !["DROP TABLE", "CREATE TEMPORARY TABLE"].iter().any(|s| sql.starts_with(s)) {
                let _ = ours.run(&case.sql);
            }
        }
        let _ = ours.run("COMMIT");
        let before = contents(&mut ours);
        if i % 2 == 0 {
            ours.database().close().expect("the disk is not full");
        } else if i % 3 == 0 {
            ours.database().store().checkpoint().expect("the disk is not full");
        }
        drop(ours);
        let mut ours = open();
        let after = contents(&mut ours);
        assert_eq!(before.len(), after.len(), "{}", path.display());
        for (b, a) in before.iter().zip(&after) {
            assert_eq!(b, a, "{}", path.display());
        }
        objects += before.len();
        let store = ours.database().store();
        for id in store.table_ids() {
            let table = store.table(id).expect("it is listed");
            assert_eq!(table.check(), Vec::<String>::new(), "{}: {}", path.display(), table.def().name);
        }
    }
    assert!(objects > 50, "only {objects} tables and views");
}
