//! What the parts of sql_mode change, several statements in a text, and the small entry points.

use parser::ast::*;
use parser::{ParseOptions, next_statement, parse_expr, parse_multi, parse_next, parse_single};

fn shown(sql: &str, options: ParseOptions) -> String {
    parse_expr(sql, &options).map_or_else(|e| e.code().0.to_string(), |e| e.to_string())
}

#[test]
fn modes_change_the_reading() {
    let default = ParseOptions::default();
    let cases = [
        (ParseOptions { ansi_quotes: true, ..default }, r#""a" = 'b'"#, "`a` = 'b'", "'a' = 'b'"),
        (ParseOptions { ansi_quotes: true, ..default }, r#""a""b"."c""#, "`a\"b`.`c`", "1064"),
        (
            ParseOptions { pipes_as_concat: true, ..default },
            "a || b = c",
            "concat(`a`, `b`) = `c`",
            "`a` or (`b` = `c`)",
        ),
        (
            ParseOptions { pipes_as_concat: true, ..default },
            "-a || b ^ c",
            "concat((-`a`), `b`) ^ `c`",
            "(-`a`) or (`b` ^ `c`)",
        ),
        (
            ParseOptions { pipes_as_concat: true, ..default },
            "a LIKE b || c",
            "`a` like concat(`b`, `c`)",
            "(`a` like `b`) or `c`",
        ),
        (ParseOptions { no_backslash_escapes: true, ..default }, r"'a\'", r"'a\\'", "1064"),
        (ParseOptions { no_backslash_escapes: true, ..default }, r"'\n\%'''", r"'\\n\\%'''", r"'\n\\%'''"),
        (ParseOptions { high_not_precedence: true, ..default }, "NOT a = b", "(not `a`) = `b`", "not (`a` = `b`)"),
        (
            ParseOptions { high_not_precedence: true, ..default },
            "NOT a BETWEEN 1 AND 2",
            "(not `a`) between 1 and 2",
            "not (`a` between 1 and 2)",
        ),
        (ParseOptions { ignore_space: true, ..default }, "COUNT (*)", "count(*)", "1064"),
        (ParseOptions { ignore_space: true, ..default }, "MAX (a)", "max(`a`)", "`max`(`a`)"),
        (
            ParseOptions { real_as_float: true, ..default },
            "CAST(a AS REAL)",
            "cast(`a` as float)",
            "cast(`a` as double)",
        ),
    ];
    for (mode, sql, with, without) in cases {
        assert_eq!(shown(sql, mode), with, "{sql} under {mode:?}");
        assert_eq!(shown(sql, default), without, "{sql}");
    }
}

#[test]
fn several_statements() {
    let options = ParseOptions::default();
    let sql = b" ; SELECT ';' ; /* c; */ ;\n SET @a = 1;;UPDATE t SET a = ? WHERE b = ?; ";
    let all = parse_multi(sql, &options).unwrap();
    let texts: Vec<&str> = all.iter().map(|p| std::str::from_utf8(&sql[p.start..p.end]).unwrap()).collect();
    assert_eq!(texts, ["SELECT ';'", "SET @a = 1", "UPDATE t SET a = ? WHERE b = ?"]);
    assert_eq!(all.iter().map(|p| p.param_count).collect::<Vec<_>>(), [0, 0, 2]);
    assert_eq!(next_statement(sql, all[2].next, &options), None);

    // The second statement's error is counted from its own start.
    let sql = b"SELECT 1;\nSELECT\nFROM t";
    let first = parse_next(sql, 0, &options).unwrap();
    let second = next_statement(sql, first.next, &options).unwrap();
    let error = parse_next(sql, second, &options).unwrap_err();
    assert!(error.message().ends_with("near 'FROM t' at line 2"), "{error}");

    // Dumps have statements in version comments.
    let sql = b"SELECT 1;\n/*!50003 SELECT 2 */; ; /*!80000 SELECT 3 */;/*!99999 SELECT 4 */;/* c */ SELECT 5";
    let all = parse_multi(sql, &options).unwrap();
    let texts: Vec<&str> = all.iter().map(|p| std::str::from_utf8(&sql[p.start..p.end]).unwrap()).collect();
    assert_eq!(texts, ["SELECT 1", "SELECT 2", "SELECT 3", "SELECT 5"]);

    // A routine's body may hold semicolons.
    let sql = b"CREATE TRIGGER t BEFORE INSERT ON u FOR EACH ROW BEGIN SET @a = 1; SET @b = 2; END";
    assert_eq!(parse_multi(sql, &options).unwrap().len(), 1);
}

#[test]
fn parameters_count_in_order() {
    let options = ParseOptions::default();
    let parsed = parse_single(b"SELECT ? + ?, (SELECT ?) FROM t WHERE a IN (?, ?) LIMIT ?", &options).unwrap();
    assert_eq!(parsed.param_count, 6);
}

#[test]
fn output_names_are_mysqls() {
    let sql = "SELECT a, t.b, 'x' 'y', NULL, 1+1, (c), count( * ), a  +  b z, true, `weird name`, 1.50, _latin1'z', \
               a /* c */ + -- d
               b, 'a /* b' FROM t";
    let Ok(Statement::Query(query)) = parser::parse(sql, &ParseOptions::default()) else { panic!() };
    let QueryBody::Select(select) = query.body else { panic!() };
    let names: Vec<String> = select
        .items
        .iter()
        .map(|item| match item {
            SelectItem::Expr(e) => e.name().into_owned(),
            _ => "*".into(),
        })
        .collect();
    assert_eq!(
        names,
        [
            "a",
            "b",
            "xy",
            "NULL",
            "1+1",
            "c",
            "count( * )",
            "z",
            "TRUE",
            "weird name",
            "1.50",
            "z",
            "a  +                b",
            "a /* b"
        ]
    );
}

#[test]
fn spans_cover_their_text() {
    let sql = "SELECT  a + b * (c - 1) , 'x' FROM t WHERE  a IN (1, 2) AND b";
    let Ok(Statement::Query(query)) = parser::parse(sql, &ParseOptions::default()) else { panic!() };
    let QueryBody::Select(select) = &query.body else { panic!() };
    let text = |span: Span| std::str::from_utf8(span.of(sql.as_bytes())).unwrap();
    let SelectItem::Expr(first) = &select.items[0] else { panic!() };
    assert_eq!(text(first.expr.span), "a + b * (c - 1)");
    let ExprKind::Binary(sum) = &first.expr.kind else { panic!() };
    assert_eq!(text(sum.right.span), "b * (c - 1)");
    assert_eq!(text(select.where_.as_ref().unwrap().span), "a IN (1, 2) AND b");
    assert_eq!(text(select.span), sql);
}

#[test]
fn one_nul_may_end_the_text() {
    let parse = |sql: &[u8]| parser::parse_bytes(sql, &ParseOptions::default()).is_ok();
    assert!(parse(b"SELECT 1\0") && parse(b"SELECT 1 ; \0"));
    assert!(!parse(b"SELECT 1\0\0") && !parse(b"SELECT \0 1") && !parse(b"\0"));
    let sql = b"SELECT 1; SELECT 2\0";
    let first = parser::parse_next(sql, 0, &ParseOptions::default()).expect("parses");
    let second = parser::parse_next(sql, first.next, &ParseOptions::default()).expect("parses");
    assert_eq!(second.next, sql.len());
    assert!(parser::next_statement(sql, second.next, &ParseOptions::default()).is_none());
}
