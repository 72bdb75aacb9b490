//! Folders of every format that any version has written open for ever. A fixture is made once, by the version that wrote
//! the format last, and never changed.

use std::path::{Path, PathBuf};
use tests::ours::Ours;

struct Dir(PathBuf);

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A copy of a fixture.
fn copy(format: &str) -> Dir {
    let dir = Dir(std::env::temp_dir().join(format!("nextleaf-{format}-{}", std::process::id())));
    let _ = std::fs::remove_dir_all(&dir.0);
    std::fs::create_dir_all(&dir.0).expect("a folder");
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(format);
    for entry in std::fs::read_dir(fixture).expect("the fixture is there") {
        let from = entry.expect("an entry").path();
        std::fs::copy(&from, dir.0.join(from.file_name().expect("a name"))).expect("copied");
    }
    dir
}

fn rows(ours: &mut Ours, sql: &str) -> Vec<String> {
    let rows = ours.run(sql).unwrap_or_else(|e| panic!("{sql}: {e:?}"));
    let text = |row: &Vec<Option<String>>| {
        row.iter().map(|v| v.clone().unwrap_or_else(|| "NULL".into())).collect::<Vec<_>>().join("|")
    };
    rows.iter().map(text).collect()
}

/// What each fixture has: tables of a checkpoint, changed by the log behind it, and the process was killed.
fn look(ours: &mut Ours) -> Vec<String> {
    let mut all = Vec::new();
    for sql in [
        "SELECT COUNT(*), SUM(price), MIN(made), MAX(made), SUM(LENGTH(note)) FROM shop.item",
        "SELECT id, name, price, made, note FROM shop.item WHERE id IN (1, 10, 11, 35, 36, 41)",
        "SELECT name FROM shop.cheap ORDER BY name",
        "SELECT id FROM shop.item WHERE name = 'item 20'",
        "SELECT COUNT(*), SUM(n), ROUND(SUM(f), 6) FROM shop.word",
        "SELECT w, n, HEX(b) FROM shop.word WHERE w IN ('word 7', 'word 8', 'word 9') ORDER BY w",
        "SELECT * FROM shop.later ORDER BY id",
        "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'shop' ORDER BY 1",
    ] {
        all.push(sql.to_string());
        all.extend(rows(ours, sql));
    }
    for id in ours.database().store().table_ids() {
        let table = ours.database().store().table(id).expect("it is listed");
        assert_eq!(table.check(), Vec::<String>::new(), "{}", table.def().name);
    }
    assert!(ours.database().accounts().find("app", "10.1.2.3").is_some());
    all
}

#[test]
fn format_1_opens() {
    let dir = copy("format-1");
    let mut before = Vec::new();
    // It is brought to the present format, killed, opened, closed, opened.
    for round in 0..4 {
        let mut ours = Ours::open_dir(&dir.0, &[]).expect("the folder opens");
        let found = look(&mut ours);
        let text = found.join("\n");
        assert!(text.contains("36|648.75|2024-01-01|2024-01-28|630") || round > 0, "{text}");
        assert!(text.contains("\n41|late|NULL|NULL|NULL") || round > 0, "{text}");
        assert!(text.contains("word 7|-49|00FF07\nword 9|81|00FF09\n"), "{text}");
        assert!(text.contains("\n1|one\n2|NULL\n") && text.contains("\ncheap\nitem\nlater\nword"), "{text}");
        if round > 0 {
            assert_eq!(found, before);
        }
        ours.run(&format!("INSERT INTO shop.item (name, price) VALUES ('new {round}', 1)")).expect("a row");
        before = look(&mut ours);
        if round == 2 {
            ours.database().close().expect("closes");
        }
    }
}
