//! Conditions on user variables: constants for the statement, unless it assigns them.

mod common;

use common::{Client, Remote, database, filled};

#[test]
fn variables_that_are_only_read_use_indexes() {
    let (_db, mut c) = filled();
    c.ok("SET @id = 7, @a = 5, @hi = 6, @none = NULL, @text = '5', @d = 5.0");
    assert_eq!(c.explain("SELECT b FROM t WHERE id = @id")[0][4], "const");
    assert_eq!(c.ok("SELECT b FROM t WHERE id = @id"), ["7"]);
    let row = &c.explain("SELECT SUM(b) FROM t FORCE INDEX (a) WHERE a = @a")[0];
    assert_eq!((&*row[4], &*row[6], &*row[8]), ("ref", "a", "const"), "{row:?}");
    let names = ["Handler_read_rnd_next", "Handler_read_next"];
    assert_eq!(c.counts("SELECT SUM(b) FROM t FORCE INDEX (a) WHERE a BETWEEN @a AND @hi", &names), [0, 40]);
    for (with, without) in [
        ("a = @a", "a = 5"),
        ("a = @a + 1", "a = 6"),
        ("a IN (@a, @hi)", "a IN (5, 6)"),
        ("a = @none", "a = NULL"),
        ("a <=> @none", "a <=> NULL"),
        ("a = @text", "a = '5'"),
        ("a = @d", "a = 5.0"),
        ("a = @unknown", "a = NULL"),
        ("a > @a AND id < @hi * 20", "a > 5 AND id < 120"),
        ("id = @none OR a = @a", "a = 5"),
    ] {
        let of = |w: &str| format!("SELECT COUNT(*), SUM(id) FROM t WHERE {w}");
        assert_eq!(c.ok(&of(with)), c.ok(&of(without)), "{with}");
    }
    c.ok("PREPARE s FROM 'SELECT b FROM t WHERE id = @id'");
    for id in ["11", "12"] {
        c.ok(&format!("SET @id = {id}"));
        assert_eq!(c.ok("EXECUTE s"), [id]);
    }
    c.ok("UPDATE t SET b = -1 WHERE id = @id");
    assert_eq!(c.ok("SELECT id FROM t WHERE b = -1"), ["12"]);
    c.ok("SELECT MAX(id) INTO @id FROM t WHERE id < @id");
    assert_eq!(c.ok("SELECT @id"), ["11"]);
}

#[test]
fn conditions_on_variables_go_below_joins() {
    let (_db, mut c) = filled();
    c.ok("SET @x = 3");
    let join = "SELECT x.id, y.b FROM t x JOIN t y ON x.b = y.b LEFT JOIN t z ON z.id = y.id + 1 WHERE y.a = @x AND x.id < 500";
    let tree = c.tree(join);
    let depth = |text: &str, what: &str| {
        let line = text.lines().find(|l| l.contains(what)).unwrap_or_else(|| panic!("{what} in\n{text}"));
        line.len() - line.trim_start().len()
    };
    assert!(depth(&tree, "@x") > depth(&tree, "join"), "{tree}");
    let literal = join.replace("@x", "3");
    let sorted = |mut rows: Vec<String>| {
        rows.sort();
        rows
    };
    assert_eq!(sorted(c.ok(join)), sorted(c.ok(&literal)));
    let derived = "SELECT * FROM (SELECT a, COUNT(*) n FROM t GROUP BY a) d WHERE d.a = @x";
    assert_eq!(
        c.counts(derived, &["Handler_read_next"]),
        c.counts(&derived.replace("@x", "3"), &["Handler_read_next"])
    );
    assert_eq!(c.ok(derived), ["3,20"]);
    let subquery = "SELECT (SELECT COUNT(*) FROM t y WHERE y.a = x.a AND y.id > @x) n FROM t x WHERE x.id = @x";
    assert_eq!(c.ok(subquery), ["19"]);
}

#[test]
fn variables_that_are_assigned_are_no_constants() {
    let (_db, mut c) = filled();
    c.ok("SET @n = 5, @other = 4");
    // Case does not matter.
    let table = c.explain("SELECT @N := id FROM t WHERE id = @n");
    assert_ne!(table[0][4], "const", "{table:?}");
    assert_eq!(c.explain("SELECT @n := id FROM t WHERE id = @other")[0][4], "const");
    assert_eq!(c.ok("SELECT @n := id FROM t WHERE id = @other"), ["4"]);
    assert_eq!(c.ok("SELECT @n"), ["4"]);
}

/// Who finds its rows anew, because another session changed one of them, assigns variables as if it were for the first
/// time.
#[test]
fn rows_found_anew_assign_anew() {
    let db = database();
    let mut a = Client::new(&db);
    let b = Remote::new(&db);
    a.ok("CREATE TABLE jobs (id INT PRIMARY KEY, taken INT)");
    a.ok("INSERT INTO jobs VALUES (1, 0)");
    b.run("SET @id = NULL, @n = 0").expect("valid");
    let take = "UPDATE jobs SET taken = (@n := @n + 1), id = (@id := id) WHERE taken = 0 LIMIT 1";
    for statement in [take, "SELECT @id := id, @n := @n + 1 FROM jobs WHERE taken = 0 LIMIT 1 FOR UPDATE"] {
        a.ok("BEGIN");
        a.ok("UPDATE jobs SET taken = 7");
        b.start(statement);
        assert!(b.blocks());
        a.ok("COMMIT");
        b.answer().expect("it goes on");
        assert_eq!(b.run("SELECT @id, @n").expect("valid"), ["~,0"], "{statement}");
        a.ok("UPDATE jobs SET taken = 0");
    }
    assert_eq!(b.run(take), Ok(vec![]));
    assert_eq!(b.run("SELECT @id, @n").expect("valid"), ["1,1"]);
}
