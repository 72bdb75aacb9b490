//! Every join method, for every kind of join, over keys with NULLs and many duplicates: the rows are those that the
//! definition of the join says, computed here from the rows that were inserted.

use fastrand::Rng;
use tests::ours::{Ours, configs};

/// A row of either table: number, key, text, value.
#[derive(Clone)]
struct Row {
    id: i64,
    k: Option<i64>,
    s: Option<String>,
    v: i64,
}

fn rows(rng: &mut Rng, n: usize, domain: i64) -> Vec<Row> {
    (0..n as i64)
        .map(|id| Row {
            id,
            k: (rng.u8(0..8) > 0).then(|| rng.i64(-domain..domain)),
            s: (rng.u8(0..8) > 0).then(|| {
                let word = format!("word {} with a tail", rng.i64(0..domain));
                if rng.bool() { word.to_uppercase() } else { word }
            }),
            v: rng.i64(0..10),
        })
        .collect()
}

fn fill(db: &mut Ours, table: &str, rows: &[Row]) {
    for part in rows.chunks(500) {
        let values: Vec<String> = part
            .iter()
            .map(|r| {
                let k = r.k.map_or("NULL".into(), |k| k.to_string());
                let s = r.s.as_ref().map_or("NULL".into(), |s| format!("'{s}'"));
                format!("({}, {k}, {s}, {})", r.id, r.v)
            })
            .collect();
        db.run(&format!("INSERT INTO {table} VALUES {}", values.join(","))).expect("rows are inserted");
    }
}

/// How the rows of `o` and `t` are matched: the condition as SQL, and as it is defined.
struct On {
    sql: &'static str,
    index: &'static str,
    holds: fn(&Row, &Row) -> bool,
}

fn same<T: PartialEq>(a: &Option<T>, b: &Option<T>) -> bool {
    a.is_some() && a == b
}

fn same_text(a: &Row, b: &Row) -> bool {
    let lower = |r: &Row| r.s.as_ref().map(|s| s.to_lowercase());
    same(&lower(a), &lower(b))
}

const ONS: &[On] = &[
    On { sql: "o.k = t.k", index: "k", holds: |o, t| same(&o.k, &t.k) },
    On { sql: "o.k <=> t.k", index: "k", holds: |o, t| o.k == t.k },
    On { sql: "o.k = t.id", index: "PRIMARY", holds: |o, t| o.k == Some(t.id) },
    On { sql: "o.s = t.s", index: "s", holds: same_text },
    On { sql: "o.k = t.k AND o.v < t.v", index: "k", holds: |o, t| same(&o.k, &t.k) && o.v < t.v },
    On { sql: "o.k = t.k AND t.v > 6", index: "k", holds: |o, t| same(&o.k, &t.k) && t.v > 6 },
    On { sql: "o.id = t.u", index: "u", holds: |o, t| o.id == t.id * 3 },
    On { sql: "o.k < t.id AND t.id < 3", index: "k", holds: |o, t| o.k.is_some_and(|k| k < t.id) && t.id < 3 },
];

#[derive(Clone, Copy, Debug)]
enum Kind {
    Inner,
    Left,
    Semi,
    Anti,
    NotIn,
}

/// The query of a kind and the rows that it must have, as text.
fn query(kind: Kind, on: &On, hint: &str, o: &[Row], t: &[Row]) -> (String, Vec<String>) {
    let hint = hint.replace('%', on.index);
    let partners = |a: &Row| t.iter().filter(|b| (on.holds)(a, b)).collect::<Vec<_>>();
    let mut expected = vec![];
    let sql = match kind {
        Kind::Inner | Kind::Left => {
            for a in o {
                let found = partners(a);
                expected.extend(found.iter().map(|b| format!("{}|{}|{}", a.id, b.id, b.v)));
                if found.is_empty() && matches!(kind, Kind::Left) {
                    expected.push(format!("{}|-|-", a.id));
                }
            }
            let join = if matches!(kind, Kind::Left) { "LEFT JOIN" } else { "JOIN" };
            format!("SELECT o.id, t.id, t.v FROM o {join} t {hint} ON {}", on.sql)
        }
        Kind::Semi | Kind::Anti => {
            let wanted = matches!(kind, Kind::Semi);
            expected.extend(o.iter().filter(|a| partners(a).is_empty() != wanted).map(|a| a.id.to_string()));
            let not = if wanted { "" } else { "NOT " };
            format!("SELECT o.id FROM o WHERE {not}EXISTS (SELECT 1 FROM t {hint} WHERE {})", on.sql)
        }
        Kind::NotIn => {
            // Of `k NOT IN (SELECT k ...)`; NULLs on the right are kept out.
            let held: Vec<i64> = t.iter().filter(|b| b.v > 4).filter_map(|b| b.k).collect();
            // Among no values there is none, not even for NULL.
            let out = |a: &&Row| held.is_empty() || a.k.is_some_and(|k| !held.contains(&k));
            expected.extend(o.iter().filter(out).map(|a| a.id.to_string()));
            format!("SELECT id FROM o WHERE k NOT IN (SELECT k FROM t {hint} WHERE v > 4 AND k IS NOT NULL)")
        }
    };
    expected.sort();
    (sql, expected)
}

fn answer(db: &mut Ours, sql: &str) -> Vec<String> {
    let rows = db.run(sql).unwrap_or_else(|e| panic!("{sql}: {e:?}"));
    let cell = |c: &Option<String>| c.clone().unwrap_or("-".into());
    let mut rows: Vec<String> = rows.iter().map(|r| r.iter().map(cell).collect::<Vec<_>>().join("|")).collect();
    rows.sort();
    rows
}

const SETTINGS: &[&str] = &[
    "optimizer_switch='default'",
    "optimizer_switch='default,mrr_cost_based=off'",
    "optimizer_switch='default,mrr_cost_based=off,mrr_sort_keys=off'",
    "optimizer_switch='default,batched_key_access=off'",
    "optimizer_switch='default,hash_join=off'",
    "optimizer_switch='default,block_nested_loop=off'",
    "optimizer_switch='default,hash_join=off,batched_key_access=off'",
];

fn tables(db: &mut Ours, rng: &mut Rng, sizes: (usize, usize)) -> (Vec<Row>, Vec<Row>) {
    let domain = [5, 40, 3000][rng.usize(0..3)].min(sizes.1 as i64).max(1);
    let (o, t) = (rows(rng, sizes.0, domain), rows(rng, sizes.1, domain));
    db.run("CREATE DATABASE j").expect("a database");
    db.run("USE j").expect("the database");
    db.run("CREATE TABLE o (id INT PRIMARY KEY, k INT, s VARCHAR(40), v INT)").expect("a table");
    let text = "CREATE TABLE t (id INT PRIMARY KEY, k INT, s VARCHAR(40), v INT, u INT AS (id * 3) STORED, \
        KEY k (k), KEY s (s), UNIQUE KEY u (u))";
    db.run(text).expect("a table");
    fill(db, "o", &o);
    fill(db, "t (id, k, s, v)", &t);
    (o, t)
}

#[test]
fn joins_by_every_method_have_the_rows_that_their_definition_says() {
    for seed in 0..4u64 {
        let mut rng = Rng::with_seed(seed);
        let config = &configs()[seed as usize % configs().len()];
        let mut db = Ours::open(config);
        let sizes = [(60, 80), (1, 200), (900, 300), (200, 0)][seed as usize];
        let (o, t) = tables(&mut db, &mut rng, sizes);
        for kind in [Kind::Inner, Kind::Left, Kind::Semi, Kind::Anti, Kind::NotIn] {
            for on in ONS {
                for hint in ["FORCE INDEX (%)", ""] {
                    let (sql, expected) = query(kind, on, hint, &o, &t);
                    for setting in SETTINGS {
                        db.run(&format!("SET {setting}")).expect("a setting");
                        db.run("SET join_buffer_size = 1024, read_rnd_buffer_size = 1024").expect("sizes");
                        let got = answer(&mut db, &sql);
                        assert!(
                            got == expected,
                            "seed {seed}, {setting}, {}: {sql}\n{} rows, not {}",
                            config.name,
                            got.len(),
                            expected.len()
                        );
                    }
                }
            }
        }
    }
}

/// The plan, as EXPLAIN FORMAT=TREE prints it.
fn tree(db: &mut Ours, sql: &str) -> String {
    let rows = db.run(&format!("EXPLAIN FORMAT=TREE {sql}")).expect("it is explained");
    rows.iter().flat_map(|r| r.iter().flatten()).cloned().collect::<Vec<_>>().join("\n")
}

fn status(db: &mut Ours, name: &str) -> u64 {
    let rows = db.run(&format!("SHOW GLOBAL STATUS LIKE '{name}'")).expect("a counter");
    rows[0][1].as_ref().and_then(|v| v.parse().ok()).expect("a number")
}

#[test]
fn switches_choose_among_join_methods() {
    let mut db = Ours::open(&configs()[0]);
    tables(&mut db, &mut Rng::with_seed(1), (900, 300));
    let by_index = "SELECT o.id, t.v FROM o JOIN t FORCE INDEX (k) ON o.k = t.k";
    let free = "SELECT o.id, t.v FROM o LEFT JOIN t USE INDEX () ON o.v = t.v";
    let other = "SELECT o.id, t.v FROM o JOIN t ON o.v < t.v";
    for (setting, sql, words) in [
        ("default", by_index, "Batched key access inner join"),
        ("default,batched_key_access=off", by_index, "Nested loop inner join"),
        ("default,mrr=off", by_index, "Nested loop inner join"),
        ("default", free, "hash join"),
        ("default,hash_join=off", free, "Block nested loop left join"),
        ("default,block_nested_loop=off", free, "Nested loop left join"),
        ("default,block_nested_loop=off", other, "Nested loop inner join"),
        ("default", other, "Block nested loop inner join"),
    ] {
        db.run(&format!("SET optimizer_switch='{setting}'")).expect("a setting");
        let plan = tree(&mut db, sql);
        assert!(plan.contains(words), "{setting}: {sql}\n{plan}");
    }
}

/// The plan reckons with few outer rows; all of them come.
#[test]
fn a_join_by_index_of_more_rows_than_expected_becomes_a_hash_join() {
    for config in &configs()[..2] {
        let mut db = Ours::open(config);
        let (o, t) = tables(&mut db, &mut Rng::with_seed(5), (3000, 3000));
        db.run("ALTER TABLE o ADD KEY v (v)").expect("an index");
        db.run("SET @low = -1, @high = 100").expect("variables");
        let on = "o.k = t.k";
        let sqls = [
            format!("SELECT o.id, t.id, t.v FROM o JOIN t ON {on} WHERE o.v BETWEEN @low AND @high"),
            format!("SELECT o.id, t.id, t.v FROM o LEFT JOIN t ON {on} WHERE o.v BETWEEN @low AND @high"),
        ];
        for (sql, kind) in sqls.iter().zip([Kind::Inner, Kind::Left]) {
            let plan = tree(&mut db, sql);
            let before = status(&mut db, "Handler_read_key");
            let got = answer(&mut db, sql);
            let lookups = status(&mut db, "Handler_read_key") - before;
            let (_, expected) = query(kind, &ONS[0], "", &o, &t);
            assert_eq!(got.len(), expected.len(), "{}: {sql}\n{plan}", config.name);
            assert!(got == expected, "{}: {sql}\n{plan}", config.name);
            if plan.contains("Nested loop") && config.query_memory_bytes.is_none() {
                assert!(lookups < 2500, "{}: {lookups} lookups\n{plan}", config.name);
            }
        }
    }
}

/// The first leaves of `t` hold their numbers in arrays of 8 and 16 bits, later ones need more. Of `o`, the group that
/// `a` asks for is most of the table, where others have one row.
#[test]
fn a_rescued_join_takes_leaves_of_all_widths() {
    const INNER: i64 = 40_000;
    const OUTER: i64 = 6_000;
    let mut db = Ours::open(&configs()[0]);
    let mut run = |sql: &str| drop(db.run(sql).unwrap_or_else(|e| panic!("{sql}: {e:?}")));
    run("CREATE DATABASE j");
    run("USE j");
    run("SET cte_max_recursion_depth = 100000");
    run("CREATE TABLE t (id INT PRIMARY KEY, k INT, b BIGINT, s VARCHAR(20), d DECIMAL(20,2), KEY k (k))");
    run("CREATE TABLE o (id INT PRIMARY KEY, k INT, g INT)");
    run("CREATE TABLE a (g INT PRIMARY KEY)");
    let numbers =
        |n: i64| format!("WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < {})", n - 1);
    run(&format!(
        "INSERT INTO t {} SELECT i, i * 3, IF(i < 1000, i % 100, i * 1000000), CONCAT('s', i % 7), i / 4 FROM n",
        numbers(INNER)
    ));
    run(&format!("INSERT INTO o {} SELECT i, i * 11 % {}, IF(i % 6 = 0, i, -1) FROM n", numbers(OUTER), INNER * 3));
    run("INSERT INTO a VALUES (-1), (6), (-6)");
    for (join, kind) in [("JOIN", Kind::Inner), ("LEFT JOIN", Kind::Left)] {
        let sql = format!("SELECT o.id, t.id, t.b, t.s, t.d FROM a JOIN o ON a.g = o.g {join} t ON o.k = t.k");
        let plan = tree(&mut db, &sql);
        assert!(
            plan.contains("index lookup") || plan.contains("Index lookup") || plan.contains("key access"),
            "{plan}"
        );
        let before = status(&mut db, "Handler_read_key");
        let got = answer(&mut db, &sql);
        let lookups = status(&mut db, "Handler_read_key") - before;
        assert!((1..OUTER / 2).contains(&(lookups as i64)), "{lookups} lookups: it was not rescued\n{plan}");
        let mut expected: Vec<String> = (0..OUTER)
            .filter(|o| o % 6 != 0 || *o == 6)
            .filter_map(|o| {
                let k = o * 11 % (INNER * 3);
                match (k % 3 == 0, kind) {
                    (true, _) => {
                        let i = k / 3;
                        let b = if i < 1000 { i % 100 } else { i * 1_000_000 };
                        Some(format!("{o}|{i}|{b}|s{}|{}.{:02}", i % 7, i / 4, i % 4 * 25))
                    }
                    (false, Kind::Left) => Some(format!("{o}|-|-|-|-")),
                    (false, _) => None,
                }
            })
            .collect();
        expected.sort();
        assert!(got == expected, "{} rows, not {}: {sql}\n{plan}", got.len(), expected.len());
    }
}
