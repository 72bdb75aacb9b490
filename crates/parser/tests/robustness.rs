//! Hostile shapes: deep nesting, long chains, huge literals. An answer or an error, on a stack of 2 MiB.

use parser::ast::*;
use parser::{ParseOptions, parse, parse_bytes};
use std::time::{Duration, Instant};

/// Runs `f` on a thread with the smallest stack that the server gives a connection.
fn on_small_stack<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> T {
    std::thread::Builder::new().stack_size(2 << 20).spawn(f).expect("a thread").join().expect("no panic")
}

/// Parses, and if there is a tree does to it all that walks it recursively.
fn exercise(sql: String) -> Result<(), u16> {
    on_small_stack(move || match parse(&sql, &ParseOptions::default()) {
        Ok(tree) => {
            let copy = tree.clone();
            assert!(copy == tree);
            assert!(!format!("{tree:?}").is_empty());
            if let Statement::Query(query) = &tree {
                assert!(!query.to_string().is_empty());
            }
            Ok(())
        }
        Err(e) => Err(e.code().0),
    })
}

fn nest(open: &str, core: &str, close: &str, depth: usize) -> String {
    format!("SELECT {}{core}{}", open.repeat(depth), close.repeat(depth))
}

/// (what opens a level, innermost, what closes it, levels that must work)
const NESTINGS: &[(&str, &str, &str, usize)] = &[
    ("(", "1", ")", 200),
    ("((", "1", "))", 100),
    ("NOT ", "1", "", 200),
    ("! ", "1", "", 200),
    ("- ", "1", "", 200),
    ("~", "1", "", 200),
    ("BINARY ", "1", "", 200),
    ("CASE WHEN ", "1", " THEN 1 END", 200),
    ("CASE 1 WHEN 1 THEN ", "1", " ELSE 2 END", 200),
    ("abs(", "1", ")", 200),
    ("concat(1, ", "1", ")", 200),
    ("count(", "1", ")", 200),
    ("trim(both from ", "1", ")", 200),
    ("cast(", "1", " as char)", 200),
    ("if(1, ", "1", ", 2)", 200),
    ("1 + (", "1", ")", 100),
    ("(1, ", "1", ")", 200),
    ("1 IN (", "1", ")", 100),
    ("1 IN (1, ", "1", ")", 100),
    ("1 BETWEEN 1 AND ", "1", "", 100),
    ("1 LIKE (", "1", ")", 60),
    ("@a := ", "1", "", 200),
    ("INTERVAL 1 DAY + ", "now()", "", 200),
    ("INTERVAL (", "1", ") DAY + now()", 100),
    ("(SELECT ", "1", ")", 60),
    ("EXISTS (SELECT ", "1", ")", 60),
    ("1 IN (SELECT ", "1", ")", 60),
    ("1 = ANY (SELECT ", "1", ")", 30),
    ("(SELECT 1 FROM (SELECT ", "1", ") AS t)", 20),
    ("* FROM (SELECT ", "1", ") AS t", 60),
    ("1 UNION (SELECT ", "1", ")", 60),
    ("{fn ", "1", "}", 200),
    ("sum(1) OVER (ORDER BY ", "1", ")", 100),
    ("row_number() OVER (PARTITION BY ", "1", ")", 100),
];

#[test]
fn nesting_is_an_error_or_a_tree() {
    let in_from = [
        ("(", "t", ")", 200),
        ("(t JOIN ", "t", ")", 150),
        ("((SELECT 1) AS a, ", "t", ")", 30),
        ("{OJ ", "t", "}", 200),
    ];
    for (open, core, close, depth) in NESTINGS.iter().chain(&in_from) {
        let nest = |open: &str, core: &str, close: &str, depth: usize| {
            let from = if core == "t" { "* FROM " } else { "" };
            nest(open, core, close, depth).replacen("SELECT ", &format!("SELECT {from}"), 1)
        };
        for depth in [2, *depth] {
            let sql = nest(open, core, close, depth);
            assert_eq!(
                exercise(sql.clone()),
                Ok(()),
                "{depth} of {open:?}: {:?}",
                parse(&sql, &ParseOptions::default())
            );
        }
        let deep = nest(open, core, close, 10_000);
        let answer = exercise(deep);
        assert!(matches!(answer, Err(1436 | 1473 | 1116)), "{open:?}: {answer:?}");
        // The closing half missing, and only the closing half.
        assert!(exercise(nest(open, core, "", 10_000)).is_err());
        let _ = exercise(nest("", core, close, 10_000));
    }
}

#[test]
fn parenthesised_queries_nest() {
    for (open, close) in [("(", ")"), ("(SELECT 1 UNION ", ")"), ("WITH a AS (", ") SELECT 1")] {
        for depth in [2, 50] {
            let sql = format!("{}SELECT 1{}", open.repeat(depth), close.repeat(depth));
            assert_eq!(exercise(sql), Ok(()), "{open}");
        }
        let sql = format!("{}SELECT 1{}", open.repeat(10_000), close.repeat(10_000));
        assert!(matches!(exercise(sql), Err(1436 | 1473)), "{open}");
    }
}

/// Chains nest to the left without an opening token.
#[test]
fn left_chains_are_bounded_or_flat() {
    for link in [" IS NULL", " COLLATE binary", " + INTERVAL 1 DAY", " = ANY (SELECT 1)"] {
        assert_eq!(exercise(format!("SELECT a{}", link.repeat(100))), Ok(()), "{link}");
        assert!(exercise(format!("SELECT a{}", link.repeat(100_000))).is_err(), "{link}");
    }
    for link in [
        " + 1",
        " - a",
        " * 2",
        " = 1",
        " <=> a",
        " XOR 1",
        " AND a",
        " OR 1",
        " | 1",
        " DIV 2",
        " || a",
        " AND a OR b",
    ] {
        assert_eq!(exercise(format!("SELECT a{}", link.repeat(100_000))), Ok(()), "{link}");
    }
    assert_eq!(exercise(format!("SELECT 1{}", " UNION SELECT 1".repeat(20_000))), Ok(()));
    assert_eq!(exercise(format!("SELECT 1{}", " INTERSECT SELECT 1".repeat(20_000))), Ok(()));
    assert_eq!(exercise(format!("SELECT * FROM t{}", " JOIN t".repeat(1500))), Ok(()));
    assert_eq!(exercise(format!("SELECT * FROM t{}", " LEFT JOIN t ON a = b".repeat(1500))), Ok(()));
    assert_eq!(exercise(format!("SELECT * FROM t{} ON 1{}", " LEFT JOIN t".repeat(500), " ON 1".repeat(499))), Ok(()));
    assert_eq!(exercise(format!("SELECT * FROM t{}", ", t".repeat(100_000))), Ok(()));
    assert_eq!(exercise(format!("SELECT * FROM t{}", " JOIN t".repeat(100_000))), Err(1116));
    assert_eq!(exercise(format!("SELECT * FROM t{}", " NATURAL JOIN t".repeat(100_000))), Err(1116));
}

/// Height adds up over constructs: each level of parentheses holds a chain of its own.
#[test]
fn height_is_bounded_as_a_whole() {
    let level_close = format!("{})", " IS NULL".repeat(50));
    assert!(exercise(format!("SELECT {}1{}", "(".repeat(50), level_close.repeat(50))).is_err());
}

#[test]
fn long_lists_are_fast() {
    let started = Instant::now();
    let list: Vec<String> = (0..100_000).map(|i| i.to_string()).collect();
    let sql = format!("SELECT * FROM t WHERE a IN ({})", list.join(","));
    let Ok(Statement::Query(query)) = parse(&sql, &ParseOptions::default()) else { panic!() };
    let QueryBody::Select(select) = query.body else { panic!() };
    let Some(Expr { kind: ExprKind::InList(list), .. }) = select.where_ else { panic!() };
    assert_eq!(list.list.len(), 100_000);
    assert!(started.elapsed() < Duration::from_secs(2));
}

#[test]
fn expressions_are_compact() {
    assert!(size_of::<Expr>() <= 32, "{}", size_of::<Expr>());
    assert!(size_of::<Statement>() <= 72, "{}", size_of::<Statement>());
}

#[test]
fn huge_literals_are_taken() {
    let mut sql = b"SELECT '".to_vec();
    sql.resize(64 << 20, b'x');
    sql.extend_from_slice(b"\\n', x'");
    sql.resize(sql.len() + (1 << 20), b'4');
    sql.push(b'\'');
    let tree = parse_bytes(&sql, &ParseOptions::default()).unwrap();
    let Statement::Query(query) = tree else { panic!() };
    let QueryBody::Select(select) = query.body else { panic!() };
    let SelectItem::Expr(item) = &select.items[0] else { panic!() };
    let Some(Literal::Str(s)) = item.expr.as_literal() else { panic!() };
    assert_eq!((s.len(), s.last()), ((64 << 20) - 7, Some(&b'\n')));
}

#[test]
fn bytes_that_are_no_utf8() {
    let options = ParseOptions::default();
    let tree = parse_bytes(b"SELECT _binary'\xff\x00\\0\xfe', '\xff'", &options).unwrap();
    let Statement::Query(query) = tree else { panic!() };
    let QueryBody::Select(select) = query.body else { panic!() };
    let SelectItem::Expr(item) = &select.items[0] else { panic!() };
    let Some(Literal::Introduced(i)) = item.expr.as_literal() else { panic!() };
    assert_eq!(&*i.value, b"\xff\x00\x00\xfe");
    assert_eq!(parse_bytes(b"SELECT \xff", &options).unwrap_err().code().0, 1300);
    assert_eq!(parse_bytes(b"SELECT `\xff`", &options).unwrap_err().code().0, 1300);
    assert_eq!(parse_bytes(b"SELECT 1 \xff\xff, from", &options).unwrap_err().code().0, 1300);
    assert_eq!(parse_bytes(b"SELECT 1, 2 FROM \xff", &options).unwrap_err().code().0, 1300);
}
