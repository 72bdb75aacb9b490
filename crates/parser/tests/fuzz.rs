//! Token soup and damaged statements: never a panic; whatever parses as a query prints and parses to the same tree.

use parser::ast::*;
use parser::{ParseOptions, parse, parse_bytes, parse_expr};

mod common;

/// FUZZ_SEED and FUZZ_FACTOR make longer and other runs.
fn rng(seed: u64) -> (fastrand::Rng, usize) {
    let var = |name: &str| std::env::var(name).ok().and_then(|s| s.parse::<u64>().ok());
    (fastrand::Rng::with_seed(seed ^ var("FUZZ_SEED").unwrap_or(0)), var("FUZZ_FACTOR").unwrap_or(1) as usize)
}

/// Parses; a query must survive printing.
fn check(sql: &[u8], options: &ParseOptions) -> bool {
    parser::digest::digest_text(sql, options);
    let Ok(statement) = parse_bytes(sql, options) else { return false };
    // Bytes that are no UTF-8 print as x'..', which is another literal.
    if let (Statement::Query(query), true, Ok(sql)) =
        (&statement, *options == ParseOptions::default(), std::str::from_utf8(sql))
    {
        round_trip(query, sql);
    }
    true
}

fn round_trip(query: &Query, sql: &str) {
    let text = query.to_string();
    // Printing adds parentheses, and with them levels.
    let again = match parse(&text, &ParseOptions::default()) {
        Err(e) if matches!(e.code().0, 1436 | 1473) => return,
        other => other,
    };
    match again {
        Ok(Statement::Query(again)) if *again == *query => {}
        other => panic!("{sql}\nprints as\n{text}\nwhich is\n{other:?}\nnot\n{query:?}"),
    }
}

#[test]
fn corpus_queries_round_trip() {
    let mut count = 0;
    for (_, sql) in common::corpus() {
        if let Ok(Statement::Query(query)) = parse(sql, &ParseOptions::default()) {
            round_trip(&query, sql);
            count += 1;
        }
    }
    assert!(count > 50, "{count}");
}

const VOCABULARY: &[&str] = &[
    "a",
    "b",
    "t",
    "`x y`",
    "t.a",
    "t.*",
    "s.t.a",
    "1",
    "0",
    "2.5",
    ".5",
    "1e3",
    "18446744073709551616",
    "'x'",
    "'it''s'",
    "'a\\nb\\%'",
    "\"q\"",
    "x'4D'",
    "0xFF",
    "b'101'",
    "N'n'",
    "_latin1'z'",
    "_utf8mb4 x'41'",
    "?",
    "@v",
    "@`v w`",
    "@@sql_mode",
    "@@global.x",
    "NULL",
    "\\N",
    "TRUE",
    "FALSE",
    "DATE '2020-01-01'",
    "{d '2020-01-01'}",
    "(",
    ")",
    "(",
    ")",
    ",",
    ",",
    ".",
    ";",
    "+",
    "-",
    "*",
    "/",
    "%",
    "^",
    "&",
    "|",
    "~",
    "!",
    "=",
    "<",
    ">",
    "<=",
    "<>",
    "!=",
    "<=>",
    "<<",
    ">>",
    "&&",
    "||",
    ":=",
    "->",
    "->>",
    "AND",
    "OR",
    "XOR",
    "NOT",
    "IS",
    "IN",
    "LIKE",
    "ESCAPE",
    "BETWEEN",
    "REGEXP",
    "SOUNDS LIKE",
    "MEMBER OF",
    "DIV",
    "MOD",
    "BINARY",
    "COLLATE",
    "utf8mb4_bin",
    "INTERVAL",
    "DAY",
    "HOUR_SECOND",
    "CASE",
    "WHEN",
    "THEN",
    "ELSE",
    "END",
    "EXISTS",
    "ANY",
    "ALL",
    "ROW",
    "SELECT",
    "SELECT",
    "DISTINCT",
    "FROM",
    "FROM",
    "DUAL",
    "WHERE",
    "GROUP BY",
    "HAVING",
    "ORDER BY",
    "DESC",
    "LIMIT",
    "OFFSET",
    "UNION",
    "INTERSECT",
    "EXCEPT",
    "WITH",
    "RECURSIVE",
    "AS",
    "JOIN",
    "LEFT JOIN",
    "RIGHT JOIN",
    "NATURAL JOIN",
    "CROSS JOIN",
    "STRAIGHT_JOIN",
    "ON",
    "USING",
    "LATERAL",
    "JSON_TABLE(",
    "COLUMNS",
    "PATH",
    "VALUES",
    "TABLE",
    "FOR UPDATE",
    "SKIP LOCKED",
    "INTO",
    "OUTFILE",
    "COUNT(*)",
    "COUNT(",
    "SUM(",
    "GROUP_CONCAT(",
    "SEPARATOR",
    "OVER",
    "OVER (",
    "PARTITION BY",
    "ROWS",
    "UNBOUNDED PRECEDING",
    "CURRENT ROW",
    "ROW_NUMBER()",
    "CAST(",
    "AS CHAR",
    "AS SIGNED",
    "CONVERT(",
    "TRIM(",
    "BOTH",
    "EXTRACT(",
    "SUBSTRING(",
    "FOR",
    "POSITION(",
    "IF(",
    "LEFT(",
    "NOW()",
    "CURRENT_TIMESTAMP",
    "f(",
    "s.f(",
    "MATCH (",
    ") AGAINST (",
    "DATE_ADD(",
    "DEFAULT",
    "/*! 1 */",
    "/*!99999 x */",
    "/* c */",
    "-- c\n",
    "# c\n",
    "/*+ H(a) */",
    "USE INDEX (i)",
    "INSERT",
    "INTO t",
    "UPDATE",
    "SET",
    "DELETE",
    "CREATE",
    "ALTER",
    "DROP",
    "SHOW",
    "INT",
    "VARCHAR(10)",
    "KEY",
    "PRIMARY",
    "INDEX",
    "IGNORE",
    "PARTITION (p)",
    "HASH",
    "RANGE",
    "LESS THAN",
    "u@h",
    "'u'@'h'",
    "GRANT",
    "TO",
    "EXPLAIN",
    "ANALYZE",
    "FORMAT=TREE",
    "BEGIN",
];

const STARTS: &[&str] = &[
    "SELECT",
    "SELECT",
    "SELECT",
    "SELECT",
    "SELECT a FROM",
    "SELECT a FROM t WHERE",
    "(SELECT 1)",
    "WITH c AS (SELECT 1) SELECT",
    "INSERT INTO t",
    "UPDATE t SET",
    "DELETE FROM t",
    "CREATE TABLE t (",
    "ALTER TABLE t",
    "SET",
    "SHOW",
    "EXPLAIN",
    "GRANT",
    "CREATE USER",
    "VALUES ROW(",
];

#[test]
fn token_soup() {
    let (mut rng, factor) = rng(20_260_101);
    let modes = [
        ParseOptions::default(),
        ParseOptions::default(),
        ParseOptions { ansi_quotes: true, pipes_as_concat: true, ..Default::default() },
        ParseOptions {
            no_backslash_escapes: true,
            high_not_precedence: true,
            ignore_space: true,
            ..Default::default()
        },
    ];
    let (mut sql, mut parsed) = (String::new(), 0);
    for _ in 0..150_000 * factor {
        sql.clear();
        sql.push_str(STARTS[rng.usize(..STARTS.len())]);
        for _ in 0..rng.usize(1..14) {
            sql.push(' ');
            sql.push_str(VOCABULARY[rng.usize(..VOCABULARY.len())]);
        }
        parsed += usize::from(check(sql.as_bytes(), &modes[rng.usize(..modes.len())]));
    }
    assert!(parsed > 500, "{parsed}");
}

#[test]
fn damaged_corpus() {
    let (mut rng, factor) = rng(7);
    let corpus = common::corpus();
    for round in 0..100 * factor {
        for (_, sql) in &corpus {
            let mut bytes = sql.as_bytes().to_vec();
            for _ in 0..rng.usize(1..4) {
                let at = rng.usize(..bytes.len().max(1));
                match rng.u8(..6) {
                    0 => bytes.truncate(at),
                    1 if !bytes.is_empty() => bytes[at] = rng.u8(..),
                    2 => bytes.insert(at.min(bytes.len()), b"'\"`()\\*/@;,.\0\n"[rng.usize(..14)]),
                    3 if !bytes.is_empty() => {
                        bytes.remove(at);
                    }
                    4 => {
                        let other = corpus[rng.usize(..corpus.len())].1.as_bytes();
                        let from = rng.usize(..other.len());
                        let piece = &other[from..(from + 20).min(other.len())];
                        bytes.splice(at..at, piece.iter().copied());
                    }
                    _ => {
                        let to = (at + rng.usize(..20)).min(bytes.len());
                        bytes.drain(at.min(to)..to);
                    }
                }
            }
            check(&bytes, &ParseOptions { ansi_quotes: round % 5 == 0, ..Default::default() });
        }
    }
}

/// Trees that no text need have led to.
#[test]
fn random_expressions_round_trip() {
    let (mut rng, factor) = rng(99);
    for _ in 0..20_000 * factor {
        let tree = random_expr(&mut rng, 5);
        let text = tree.to_string();
        match parse_expr(&text, &ParseOptions::default()) {
            Ok(again) => assert_eq!(again, tree, "{text}"),
            Err(e) => panic!("{text}: {e}\n{tree:?}"),
        }
    }
}

fn e(kind: ExprKind) -> Expr {
    Expr::new(kind, Span::default())
}

fn random_expr(rng: &mut fastrand::Rng, depth: u32) -> Expr {
    use BinaryOp::*;
    const OPS: [BinaryOp; 22] = [
        Xor, Eq, NullSafeEq, Ne, Lt, Le, Gt, Ge, BitOr, BitAnd, BitXor, ShiftLeft, ShiftRight, Add, Sub, Mul, Div,
        IntDiv, Mod, MemberOf, SoundsLike, Add,
    ];
    let column = |rng: &mut fastrand::Rng| ColumnRef {
        schema: None,
        table: if rng.bool() { Some("t`x".into()) } else { None },
        name: ["a", "select", "b c", "é"][rng.usize(..4)].into(),
    };
    if depth == 0 || rng.u8(..6) == 0 {
        return e(match rng.u8(..12) {
            0 => ExprKind::Literal(Literal::Null),
            1 => ExprKind::Literal(Literal::Bool(rng.bool())),
            2 => ExprKind::Literal(Literal::Int(rng.u64(..))),
            3 => ExprKind::Literal(Literal::Decimal(["1.50", ".5", "99999999999999999999"][rng.usize(..3)].into())),
            4 => ExprKind::Literal(Literal::Float(rng.f64() * 1e10)),
            5 => {
                ExprKind::Literal(Literal::Str(["", "a'b", "\\%\n\0", "日本\x1a\r"][rng.usize(..4)].as_bytes().into()))
            }
            6 => ExprKind::Literal(Literal::Hex([77, 0, 255][..rng.usize(..4)].into())),
            7 => ExprKind::Literal(Literal::Bit([5, 128][..rng.usize(1..3)].into())),
            8 => ExprKind::Literal(Literal::Temporal(TemporalKind::DateTime, "2020-01-01 00:00:00".into())),
            9 => ExprKind::UserVar(["v", "a.b$c", "x y", "q`q"][rng.usize(..4)].into()),
            10 => ExprKind::SysVar(Box::new(SysVar {
                scope: [None, Some(VarScope::Global), Some(VarScope::Session)][rng.usize(..3)],
                component: None,
                name: "sql_mode".into(),
            })),
            _ => ExprKind::Column(Box::new(column(rng))),
        });
    }
    let x = |rng: &mut fastrand::Rng| random_expr(rng, depth - 1);
    let several =
        |rng: &mut fastrand::Rng| -> Vec<Expr> { (0..rng.usize(2..4)).map(|_| random_expr(rng, depth - 1)).collect() };
    let negated = rng.bool();
    e(match rng.u8(..24) {
        0..=4 => ExprKind::Binary(BinaryExpr::new(OPS[rng.usize(..OPS.len())], x(rng), x(rng))),
        5 => ExprKind::And(several(rng).into()),
        6 => ExprKind::Or(several(rng).into()),
        7 => {
            use UnaryOp::*;
            ExprKind::Unary([Neg, Plus, BitNot, Not, Binary][rng.usize(..5)], Box::new(x(rng)))
        }
        8 => {
            let test = [IsTest::Null, IsTest::True, IsTest::False, IsTest::Unknown][rng.usize(..4)];
            ExprKind::Is(Box::new(Is { expr: x(rng), test, negated }))
        }
        9 => ExprKind::InList(Box::new(InList { expr: x(rng), list: several(rng), negated })),
        10 => ExprKind::Between(Box::new(Between { expr: x(rng), low: x(rng), high: x(rng), negated })),
        11 => {
            let escape = if rng.bool() { Some(x(rng)) } else { None };
            ExprKind::Like(Box::new(Like { expr: x(rng), pattern: x(rng), escape, negated }))
        }
        12 => ExprKind::Regexp(Box::new(Regexp { expr: x(rng), pattern: x(rng), negated })),
        13 => ExprKind::Row(several(rng).into()),
        14 => {
            let operand = if rng.bool() { Some(x(rng)) } else { None };
            let else_expr = if rng.bool() { Some(x(rng)) } else { None };
            ExprKind::Case(Box::new(Case { operand, whens: vec![(x(rng), x(rng))], else_expr }))
        }
        15 => {
            let target = [
                CastType::Signed,
                CastType::Char { len: Some(3), charset: Some("latin1".into()) },
                CastType::Decimal { precision: Some(10), scale: Some(2) },
                CastType::DateTime { fsp: Some(6) },
                CastType::Json,
            ];
            let target = target[rng.usize(..5)].clone();
            ExprKind::Cast(Box::new(Cast { expr: x(rng), target, array: false, at_time_zone: None }))
        }
        16 => ExprKind::Collate(Box::new((x(rng), "utf8mb4_bin".into()))),
        17 => {
            let unit = IntervalUnit::ALL[rng.usize(..20)];
            // A row is no interval: INTERVAL (a, b) is the function.
            let value = random_expr(rng, 0);
            ExprKind::DateArith(Box::new(DateArith { date: x(rng), value, unit, subtract: negated }))
        }
        18 => {
            let names =
                ["concat", "if", "interval", "count", "my func", "select", "_utf8mb4", "1f", "replace", "trim", "now"];
            let name = names[rng.usize(..names.len())];
            let args = match name {
                "if" | "replace" => vec![x(rng), x(rng), x(rng)],
                "now" => vec![x(rng)],
                _ => several(rng),
            };
            ExprKind::Function(Box::new(FunctionCall { schema: None, name: name.into(), args }))
        }
        19 => ExprKind::Aggregate(Box::new(AggregateCall {
            func: AggregateFunc::GroupConcat,
            distinct: negated,
            args: several(rng),
            order_by: vec![OrderItem { expr: x(rng), desc: true }],
            separator: Some(b"', '".as_slice().into()),
            over: None,
        })),
        20 => ExprKind::Trim(Box::new(Trim {
            side: TrimSide::Leading,
            what: if negated { Some(x(rng)) } else { None },
            expr: x(rng),
        })),
        21 => ExprKind::Assign(Box::new(("v".into(), x(rng)))),
        22 => ExprKind::Window(Box::new(WindowCall {
            func: WindowFunc::Lag,
            args: vec![x(rng)],
            from_last: false,
            ignore_nulls: negated,
            over: Over::Spec(Box::new(WindowSpec {
                base: None,
                partition_by: several(rng),
                order_by: vec![],
                frame: Some(Frame {
                    unit: FrameUnit::Rows,
                    start: FrameBound::Preceding(FrameOffset::Value(random_expr(rng, 0))),
                    end: None,
                    exclude: None,
                }),
            })),
        })),
        _ => ExprKind::Extract(IntervalUnit::DaySecond, Box::new(x(rng))),
    })
}
