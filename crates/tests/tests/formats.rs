//! Folders of every format that any version has written open for ever. A fixture is made once, by the version that
//! wrote the format last, and never changed.
//!
//! Those of format 2 and later hold what `fixtures/tables.sql` says, in a checkpoint, and what `fixtures/later.sql`
//! says, in the log behind it; the process was killed. `fixtures/answers.txt` has what the version that wrote format 2
//! answered to `fixtures/questions.sql`. [`write_a_fixture`] makes one of the present format.

use std::path::{Path, PathBuf};
use tests::ours::Ours;
use types::verifier::{native_hash, sha2_matches};

struct Dir(PathBuf);

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

fn fixture_text(name: &str) -> String {
    std::fs::read_to_string(fixtures().join(name)).expect("the fixture is there")
}

/// A copy of a fixture.
fn copy(format: &str) -> Dir {
    copy_for(format, "opens")
}

fn copy_for(format: &str, test: &str) -> Dir {
    let dir = Dir(std::env::temp_dir().join(format!("nextleaf-{format}-{test}-{}", std::process::id())));
    let _ = std::fs::remove_dir_all(&dir.0);
    std::fs::create_dir_all(&dir.0).expect("a folder");
    for entry in std::fs::read_dir(fixtures().join(format)).expect("the fixture is there") {
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

/// The answers to all questions, as `nextleaf sql --batch` prints rows.
fn answers(ours: &mut Ours) -> String {
    let mut out = String::new();
    for question in fixture_text("questions.sql").lines() {
        out += &format!("-- {question}\n");
        let rows = ours.run(question.trim_end_matches(';')).unwrap_or_else(|e| panic!("{question}: {e:?}"));
        for row in rows {
            let cell = |v: &Option<String>| {
                let v = v.as_deref().unwrap_or("NULL");
                v.replace('\\', "\\\\").replace('\t', "\\t").replace('\n', "\\n").replace('\0', "\\0")
            };
            out += &(row.iter().map(cell).collect::<Vec<_>>().join("\t") + "\n");
        }
    }
    out
}

fn assert_same(found: &str, expected: &str) {
    for (i, (found, expected)) in found.lines().zip(expected.lines()).enumerate() {
        assert_eq!(found, expected, "line {}", i + 1);
    }
    assert_eq!(found.lines().count(), expected.lines().count());
}

/// That constraints, counters and passwords are not only shown.
fn check_that_it_works(ours: &mut Ours) {
    let mut fails = |sql: &str| ours.run(sql).expect_err(sql).0;
    assert_eq!(fails("INSERT INTO shop.checked (a, c) VALUES (3, 2)"), 3819);
    assert_eq!(fails("INSERT INTO shop.checked (a, c, b) VALUES (1, 2, 'a%x')"), 3819);
    assert_eq!(fails("INSERT INTO shop.later (id_of) VALUES (1000)"), 3819);
    assert_eq!(fails("INSERT INTO shop.child (parent_id, own) VALUES (9, 3)"), 1452);
    assert_eq!(fails("DELETE FROM shop.parent WHERE id = 3"), 1451);
    assert_eq!(fails("INSERT INTO shop.bounded VALUES (8, NULL)"), 1369);
    assert_eq!(fails("INSERT INTO shop.keys_of_each_kind (a, b, c) VALUES (2, 2, 'other')"), 1062);
    assert_eq!(fails("INSERT INTO shop.keys_of_each_kind (a, b, c) VALUES (900, 2, 'C2')"), 1062);
    let mut run = |sql: &str| rows(ours, sql);
    run("BEGIN");
    run("INSERT INTO shop.every_type (v, ti) VALUES ('new', 4)");
    let columns = "id, e1, e2, HEX(e3), g1, g2, ts, d3, dt > '2020-01-01', t3 > '2020-01-01'";
    let e3 = "6CCD780CBABA102695645B8C656024DB";
    let new = format!("5001|5|itnew|{e3}|8|NEW|2001-02-03 04:05:06|1999-12-31 23:59:59.999|1|1");
    assert_eq!(run(&format!("SELECT {columns} FROM shop.every_type WHERE id = LAST_INSERT_ID()")), [new]);
    run("INSERT INTO shop.checked (a, c, b) VALUES (3, 4, 'b%z')");
    run("INSERT INTO shop.later VALUES ()");
    assert_eq!(run("SELECT id, id_of, g FROM shop.later WHERE id_of + 1 = 3 AND id > 4"), ["5|2|4"]);
    run("UPDATE shop.parent SET id = 11 WHERE id = 1");
    assert_eq!(run("SELECT id, parent_id, code FROM shop.child WHERE id = 1"), ["1|11|aaa"]);
    run("UPDATE shop.child SET up = NULL");
    run("DELETE FROM shop.parent WHERE id = 2");
    assert_eq!(run("SELECT COUNT(*) FROM shop.child"), ["2"]);
    run("ROLLBACK");
    let verifier = |user: &str, host: &str| {
        let account = ours.database().accounts().get(user, host).unwrap_or_else(|| panic!("{user} is there"));
        account.verifier.authentication_string().to_string()
    };
    assert!(sha2_matches(b"secret", verifier("app", "10.%").as_bytes()));
    assert!(sha2_matches(b"barred", verifier("barred", "localhost").as_bytes()));
    assert!(sha2_matches(b"late", verifier("late", "%").as_bytes()));
    assert_eq!(verifier("old", "%"), native_hash(b"native"));
    assert_eq!(verifier("root", "localhost"), "");
    for id in ours.database().store().table_ids() {
        let table = ours.database().store().table(id).expect("it is listed");
        assert_eq!(table.check(), Vec::<String>::new(), "{}", table.def().name);
    }
}

/// Opened, killed, opened, closed, opened: it answers the same every time, and has no texts in it any more.
fn opens_and_answers(format: &str) {
    let dir = copy(format);
    let expected = fixture_text("answers.txt");
    for round in 0..4 {
        let mut ours = Ours::open_dir(&dir.0, &[]).expect("the folder opens");
        assert_same(&answers(&mut ours), &expected);
        check_that_it_works(&mut ours);
        if round == 1 {
            ours.database().close().expect("closes");
        }
        let manifest = std::fs::read(dir.0.join("manifest")).expect("it is there");
        assert_eq!(manifest[20], 3, "the format");
        assert!(round == 0 || !contains(&manifest, b"CREATE TABLE"), "round {round}");
        assert!(contains(&manifest, b"NLdf"), "round {round}");
        // Counters moved, and nothing else.
        for (table, next) in [("every_type", 5001), ("later", 4), ("child", 4)] {
            ours.run(&format!("ALTER TABLE shop.{table} AUTO_INCREMENT = {next}")).expect("no row has more");
        }
    }
}

fn contains(bytes: &[u8], what: &[u8]) -> bool {
    bytes.windows(what.len()).any(|w| w == what)
}

#[test]
fn format_2_opens() {
    opens_and_answers("format-2");
}

#[test]
fn format_3_opens() {
    opens_and_answers("format-3");
}

/// Makes a folder of the present format, to become `fixtures/format-N` before the format changes again.
#[test]
#[ignore = "writes a fixture"]
fn write_a_fixture() {
    let dir = std::env::temp_dir().join("nextleaf-fixture");
    let _ = std::fs::remove_dir_all(&dir);
    let run = |name: &str| {
        let mut ours = Ours::open_dir(&dir, &[]).expect("opens");
        ours.run("CREATE DATABASE IF NOT EXISTS test").expect("as the shell makes it");
        let text = fixture_text(name);
        for statement in text.split_inclusive(";\n").filter(|s| s.trim_end().ends_with(';')) {
            ours.run(statement.trim_end().trim_end_matches(';')).unwrap_or_else(|e| panic!("{statement}: {e:?}"));
        }
        ours
    };
    run("tables.sql").database().close().expect("closes");
    let ours = run("later.sql");
    println!("{} has the fixture; left out are nextleaf.lock and folders", dir.display());
    std::mem::forget(ours);
}
