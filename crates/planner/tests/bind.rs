//! Golden tests of the binder: statement, then the logical plan or the error.

mod common;

use common::{Variables, fixture, golden, session};
use parser::ast::Statement;
use parser::{ParseOptions, parse};
use plan::logical::display::{display, display_expr};
use planner::bind::Binder;
use std::path::{Path, PathBuf};
use types::Result;

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bind").join(name)
}

/// `set full_group_by off;` in front of a statement switches ONLY_FULL_GROUP_BY off.
fn bind(sql: &str) -> String {
    let mut session = session();
    let sql = match sql.strip_prefix("/* loose */ ") {
        Some(rest) => {
            session.sql_mode.only_full_group_by = false;
            rest
        }
        None => sql,
    };
    if sql.contains("l_orderkey") || sql.contains("_custkey") || sql.contains("_suppkey") {
        session.database = Some("tpch".into());
    }
    if let Some(rest) = sql.strip_prefix("/* no database */ ") {
        session.database = None;
        return answer(bind_with(rest, &session));
    }
    answer(bind_with(sql, &session))
}

fn answer(r: Result<String>) -> String {
    r.unwrap_or_else(|e| e.to_string())
}

fn bind_with(sql: &str, session: &expr::SessionInfo) -> Result<String> {
    let catalog = fixture();
    let binder = Binder::new(&catalog, session, &Variables);
    Ok(match parse(sql, &ParseOptions::default())? {
        Statement::Query(q) => display(&binder.bind_query(&q)?),
        Statement::Update(u) => {
            let b = binder.bind_update(&u)?;
            let mut out = display(&b.query);
            for t in &b.targets {
                out += &format!("target {} as {} row_id {}\n", t.table.name, t.alias, t.row_id);
            }
            for a in &b.assignments {
                out += &format!("set target {} column {} = {:?}\n", a.target, a.column_idx, a.value);
            }
            out
        }
        Statement::Delete(d) => {
            let b = binder.bind_delete(&d)?;
            let mut out = display(&b.query);
            for t in &b.targets {
                out += &format!("target {} as {} row_id {}\n", t.table.name, t.alias, t.row_id);
            }
            out
        }
        Statement::Insert(i) => {
            use catalog::Relation;
            use planner::bind::DuplicateValue;
            let Some(Relation::Table(table)) = catalog.relation("test", &i.table.name) else { panic!("no table") };
            let mut out = String::new();
            let names = planner::bind::DuplicateNames::new(&table, &i);
            for (idx, value) in binder.bind_on_duplicate(&i.on_duplicate, &names)? {
                let e = match value {
                    DuplicateValue::Expr(e) => display_expr(&e, &Default::default()),
                    DuplicateValue::Default => "DEFAULT".into(),
                    DuplicateValue::EachTime(_) => "anew for each row".into(),
                };
                out += &format!("{} = {e}\n", table.columns[idx].name);
            }
            out
        }
        Statement::Do(exprs) => display(&binder.bind_scalar_exprs(&exprs)?),
        other => panic!("{other:?}"),
    })
}

macro_rules! golden_files {
    ($($name:ident)*) => {
        $(#[test] fn $name() {
            golden(&file(concat!(stringify!($name), ".txt")), bind);
        })*
    };
}

golden_files! { names from joins grouping windows subqueries set_operations cte views order expressions dml errors tpch }

/// The file of the TPC-H queries has the very texts of the benchmark.
#[test]
fn tpch_texts_are_the_benchmarks() {
    let golden = std::fs::read_to_string(file("tpch.txt")).unwrap();
    let queries = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bench/queries");
    for n in 1..=22 {
        let text = std::fs::read_to_string(queries.join(format!("q{n:02}.sql"))).unwrap();
        assert!(golden.contains(text.trim_end()), "q{n:02} differs");
    }
}

#[test]
fn deep_and_wide_statements_answer_errors() {
    let joins = |n: usize| {
        let tables: Vec<String> = (0..n).map(|i| format!("t t{i}")).collect();
        (format!("select 1 from {}", tables.join(", ")), format!("select 1 from {}", tables.join(" join ")))
    };
    let (comma, join) = joins(61);
    assert!(bind(&comma).starts_with("Project"), "{}", bind(&comma));
    assert!(bind(&join).starts_with("Project"));
    for sql in [joins(62).0, joins(62).1, joins(500).0] {
        assert!(bind(&sql).starts_with("ERROR 1116"), "{}", bind(&sql));
    }
    let chain = |n: usize| format!("select {}", vec!["a"; n].join("+"));
    assert!(bind(&(chain(900) + " from t")).starts_with("Project"));
    assert!(bind(&(chain(100_000) + " from t")).starts_with("ERROR 1436"));
    let terms = vec!["a = 1"; 20_000].join(" or ");
    assert!(bind(&format!("select a from t where {terms}")).starts_with("Project"));
    let unions = vec!["select 1"; 5_000].join(" union all ");
    assert!(bind(&unions).starts_with("UnionAll"));
    let mixed = vec!["select 1"; 3_000].join(" except ");
    assert!(bind(&mixed).starts_with("ERROR 1473"), "{}", bind(&mixed));
    // As deep as the parser lets it be: an answer, whatever it is.
    for (open, inner, close) in [
        ("abs(", "a", ")"),
        ("(select ", "a", ")"),
        ("case when ", "a", " then 1 end"),
        ("not (", "a", " is null)"),
        ("exists (select 1 from u where u.a in (select ", "a", " from v))"),
        ("(1, 2) = (select 1, ", "2", ")"),
        ("(select a from (select ", "1 a", ") d)"),
        ("a + (", "1", ")"),
        ("(select max(a) over (order by ", "a", ") from t limit 1)"),
    ] {
        for depth in [10, 60, 63, 64, 100, 500, 2_000, 100_000] {
            let sql = format!("select {}{inner}{} from t", open.repeat(depth), close.repeat(depth));
            let answer = bind(&sql);
            assert!(depth > 10 || !answer.starts_with("ERROR"), "{sql}: {answer}");
        }
    }
    let mut nested = "select 1".to_string();
    for _ in 0..100 {
        nested = format!("select * from ({nested}) d");
    }
    let answer = bind(&nested);
    assert!(answer.starts_with("ERROR 1473") || answer.starts_with("ERROR 1436"), "{answer}");
}

#[test]
fn parameters_are_slots_or_constants() {
    let (catalog, session) = (fixture(), session());
    let sql = "select a + ? from t where a = ? and b = ? limit ?";
    let Statement::Query(q) = parse(sql, &ParseOptions::default()).unwrap() else { panic!() };
    let binder = Binder::new(&catalog, &session, &Variables);
    let slots = binder.with_param_types(&[types::SqlType::BIGINT, types::SqlType::BIGINT]).bind_query(&q).unwrap();
    assert_eq!((slots.param_count, slots.cacheable), (4, false));
    assert!(display(&slots).contains("(t.a#0 = ?1)"), "{}", display(&slots));
    let text = types::SqlType::varchar(1, types::Collation::Utf8mb4_0900AiCi);
    let values = [
        (types::Value::Int(1), types::SqlType::BIGINT),
        (types::Value::Double(7.0), types::SqlType::Double),
        (types::Value::str("8"), text),
        (types::Value::Int(3), types::SqlType::BIGINT),
    ];
    let bound = binder.with_params(&values).bind_query(&q).unwrap();
    assert_eq!((bound.param_count, bound.cacheable), (0, false));
    let plan = display(&bound);
    assert!(plan.contains("Limit 3\n"), "{plan}");
    assert!(plan.contains("Filter (t.a#0 = 7), (t.b#1 = 8)\n"), "{plan}");
    assert!(binder.with_params(&values[..2]).bind_query(&q).is_err());
}

struct NoStatistics;

impl catalog::Statistics for NoStatistics {
    fn table(&self, _: catalog::TableId) -> Option<std::sync::Arc<catalog::TableStats>> {
        None
    }
}

/// Whatever the binder binds, the optimizer plans.
#[test]
fn bound_statements_have_plans() {
    let catalog = fixture();
    let mut faults = vec![];
    for entry in std::fs::read_dir(file("")).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        for case in text.split("\n\n") {
            let sql = case.split("\n----").next().unwrap();
            let sql = sql.lines().filter(|l| !l.starts_with('#')).collect::<Vec<_>>().join("\n");
            let mut session = session();
            if sql.contains("l_orderkey") || sql.contains("_custkey") || sql.contains("_suppkey") {
                session.database = Some("tpch".into());
            }
            let binder = Binder::new(&catalog, &session, &Variables);
            let bound = match parse(&sql, &ParseOptions::default()) {
                Ok(Statement::Query(q)) => binder.bind_query(&q),
                Ok(Statement::Update(u)) => binder.bind_update(&u).map(|b| b.query),
                Ok(Statement::Delete(d)) => binder.bind_delete(&d).map(|b| b.query),
                Ok(Statement::Do(e)) => binder.bind_scalar_exprs(&e),
                _ => continue,
            };
            if let Ok(query) = bound {
                let planned = std::panic::catch_unwind(|| {
                    planner::optimize::optimize(query, &NoStatistics, &planner::optimize::OptimizerSettings::default())
                });
                match planned {
                    Ok(Ok(_)) => {}
                    Ok(Err(e)) => faults.push(format!("{sql}\n  {e}")),
                    Err(_) => faults.push(format!("{sql}\n  panicked")),
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
