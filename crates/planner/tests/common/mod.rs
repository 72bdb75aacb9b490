//! A small fixed catalog, and golden files of statements with what becomes of them.

#[allow(dead_code)]
pub mod joins;
#[allow(dead_code)]
pub mod json;
#[allow(dead_code)]
pub mod long;
#[allow(dead_code)]
pub mod scale;

use catalog::{
    Catalog, ColumnDef, IndexDef, IndexKind, IndexPart, Relation, SchemaDef, TableDef, TableEngine, ViewDef,
};
use expr::{SessionInfo, SqlMode};
use parser::ast::VarScope;
use planner::bind::SystemVariables;
use std::path::Path;
use std::sync::Arc;
use types::{Collation, Error, IntSize, Result, SqlType, Value};

pub fn session() -> SessionInfo {
    SessionInfo {
        sql_mode: SqlMode::default(),
        statement_time_us: 0,
        time_zone: types::temporal::TimeZone::Utc,
        connection_id: 1,
        user: "root@localhost".into(),
        database: Some("test".into()),
        version: "8.4.0",
        last_insert_id: 0,
        row_count: 0,
        found_rows: 0,
        div_precision_increment: 4,
        group_concat_max_len: 1024,
        max_allowed_packet: 1 << 26,
        default_week_format: 0,
        locale: types::locale::english(),
        collation_connection: Default::default(),
        locks: None,
        stop: Default::default(),
    }
}

pub struct Variables;

impl SystemVariables for Variables {
    fn get(&self, name: &str, _: Option<VarScope>) -> Result<(Value, SqlType)> {
        match name.to_ascii_lowercase().as_str() {
            "autocommit" => Ok((Value::Int(1), SqlType::BIGINT)),
            _ => Err(Error::unknown_system_variable(name)),
        }
    }

    fn user_variable_type(&self, name: &str) -> Option<SqlType> {
        (name == "n").then_some(SqlType::BIGINT)
    }
}

fn column_type(word: &str) -> SqlType {
    let (name, args) = word.split_once('(').map_or((word, ""), |(n, a)| (n, a.trim_end_matches(')')));
    let nums: Vec<u32> = args.split(',').filter_map(|a| a.parse().ok()).collect();
    let collation = Collation::Utf8mb4_0900AiCi;
    match name {
        "int" => SqlType::INT,
        "bigint" => SqlType::BIGINT,
        "tinyint" => SqlType::Int { size: IntSize::I8, unsigned: false },
        "double" => SqlType::Double,
        "date" => SqlType::Date,
        "datetime" => SqlType::DateTime { fsp: 0 },
        "decimal" => SqlType::Decimal { precision: nums[0] as u8, scale: nums[1] as u8 },
        "char" => SqlType::String { kind: types::StringKind::Char, len: nums[0], collation },
        "varchar" => SqlType::varchar(nums[0], collation),
        other => panic!("unknown type {other}"),
    }
}

/// `a int not null, b varchar(10), primary key a, unique b c, index b`
pub fn table(id: u64, schema: &str, name: &str, text: &str) -> TableDef {
    let mut columns: Vec<ColumnDef> = vec![];
    let mut indexes: Vec<IndexDef> = vec![];
    let mut depth = 0;
    let parts = text.split(|c| {
        depth += match c {
            '(' => 1,
            ')' => -1,
            _ => 0,
        };
        c == ',' && depth == 0
    });
    for part in parts {
        let words: Vec<&str> = part.split_whitespace().collect();
        let kind = match words[0] {
            "primary" => Some((IndexKind::Primary, 2)),
            "unique" => Some((IndexKind::Unique, 1)),
            "index" => Some((IndexKind::Plain, 1)),
            _ => None,
        };
        if let Some((kind, skip)) = kind {
            let parts: Vec<IndexPart> = words[skip..]
                .iter()
                .map(|w| IndexPart {
                    column_idx: columns.iter().position(|c| *c.name == **w).expect("the column is defined"),
                    prefix_len: None,
                    descending: false,
                })
                .collect();
            let name = if kind == IndexKind::Primary { "PRIMARY" } else { words[skip] };
            indexes.push(IndexDef {
                name: name.into(),
                kind,
                parts,
                algorithm: None,
                comment: "".into(),
                invisible: false,
                made_for_foreign_key: false,
            });
            continue;
        }
        columns.push(ColumnDef {
            invisible: words.contains(&"invisible"),
            ..ColumnDef::plain(words[0], column_type(words[1]), !words.contains(&"not"))
        });
    }
    TableDef {
        id: catalog::TableId(id),
        schema: schema.into(),
        name: name.into(),
        columns,
        indexes,
        checks: Vec::new(),
        foreign_keys: Vec::new(),
        engine: TableEngine::InnoDb,
        collation: Collation::Utf8mb4_0900AiCi,
        comment: "".into(),
        options: vec![],
        created_at: 0,
        temporary: false,
    }
}

const TABLES: &[(&str, &str, &str)] = &[
    ("test", "t", "a int not null, b int, c varchar(10), primary key a"),
    ("test", "u", "a int not null, d int, e decimal(10,2), primary key a, index d"),
    ("test", "v", "x int, y double, z date, s varchar(20), hid int invisible"),
    ("test", "T", "big int"),
    ("other", "t", "o int not null, unique o"),
    (
        "tpch",
        "sbtest",
        "id int not null, k int not null, c char(120) not null, pad char(60) not null, d datetime, primary key id, index k, unique d k",
    ),
    (
        "tpch",
        "lineitem",
        "l_orderkey bigint not null, l_partkey bigint not null, l_suppkey bigint not null, l_linenumber int not null, l_quantity decimal(15,2) not null, l_extendedprice decimal(15,2) not null, l_discount decimal(15,2) not null, l_tax decimal(15,2) not null, l_returnflag char(1) not null, l_linestatus char(1) not null, l_shipdate date not null, l_commitdate date not null, l_receiptdate date not null, l_shipinstruct char(25) not null, l_shipmode char(10) not null, l_comment varchar(44) not null, primary key l_orderkey l_linenumber",
    ),
    (
        "tpch",
        "orders",
        "o_orderkey bigint not null, o_custkey bigint not null, o_orderstatus char(1) not null, o_totalprice decimal(15,2) not null, o_orderdate date not null, o_orderpriority char(15) not null, o_clerk char(15) not null, o_shippriority int not null, o_comment varchar(79) not null, primary key o_orderkey",
    ),
    (
        "tpch",
        "customer",
        "c_custkey bigint not null, c_name varchar(25) not null, c_address varchar(40) not null, c_nationkey int not null, c_phone char(15) not null, c_acctbal decimal(15,2) not null, c_mktsegment char(10) not null, c_comment varchar(117) not null, primary key c_custkey",
    ),
    (
        "tpch",
        "part",
        "p_partkey bigint not null, p_name varchar(55) not null, p_mfgr char(25) not null, p_brand char(10) not null, p_type varchar(25) not null, p_size int not null, p_container char(10) not null, p_retailprice decimal(15,2) not null, p_comment varchar(23) not null, primary key p_partkey",
    ),
    (
        "tpch",
        "partsupp",
        "ps_partkey bigint not null, ps_suppkey bigint not null, ps_availqty int not null, ps_supplycost decimal(15,2) not null, ps_comment varchar(199) not null, primary key ps_partkey ps_suppkey",
    ),
    (
        "tpch",
        "supplier",
        "s_suppkey bigint not null, s_name char(25) not null, s_address varchar(40) not null, s_nationkey int not null, s_phone char(15) not null, s_acctbal decimal(15,2) not null, s_comment varchar(101) not null, primary key s_suppkey",
    ),
    (
        "tpch",
        "nation",
        "n_nationkey int not null, n_name char(25) not null, n_regionkey int not null, n_comment varchar(152), primary key n_nationkey",
    ),
    (
        "tpch",
        "region",
        "r_regionkey int not null, r_name char(25) not null, r_comment varchar(152), primary key r_regionkey",
    ),
    (
        "shop",
        "customers",
        "id int not null, name varchar(40) not null, city varchar(30), country char(2) not null, birth date, credit decimal(10,2) not null, primary key id, index city, index country city, index birth",
    ),
    (
        "shop",
        "orders",
        "id bigint not null, customer_id int not null, status tinyint not null, placed date not null, total decimal(10,2) not null, note varchar(200), primary key id, index customer_id, index placed, index status placed",
    ),
    (
        "shop",
        "items",
        "order_id bigint not null, line int not null, product_id int not null, qty int not null, price decimal(10,2) not null, primary key order_id line, index product_id qty",
    ),
    (
        "shop",
        "products",
        "id int not null, sku char(12) not null, category_id int not null, name varchar(60) not null, price decimal(10,2) not null, primary key id, unique sku, index category_id",
    ),
    (
        "shop",
        "categories",
        "id int not null, parent_id int, name varchar(30) not null, primary key id, unique name, index parent_id",
    ),
    (
        "shop",
        "reviews",
        "id int not null, product_id int not null, customer_id int, stars tinyint not null, body varchar(500), primary key id, index product_id, index customer_id",
    ),
    ("shop", "logs", "at datetime not null, level tinyint not null, msg varchar(200)"),
    ("shop", "nothing", "a int, b int"),
];

const VIEWS: &[(&str, &str, &str)] = &[
    ("tv", "k n", "select a, count(*) from test.t group by a"),
    ("plain", "a b", "select a, b from test.t where b > 1"),
    ("broken", "x", "select nothing from test.t"),
    ("gone", "x", "select x from test.missing"),
    ("loop1", "x", "select x from test.loop2"),
    ("loop2", "x", "select x from test.loop1"),
];

pub fn fixture() -> Catalog {
    let catalog = Catalog::default();
    let written = catalog.write(|schemas| {
        for name in ["test", "other", "tpch", "shop"] {
            let mut relations = catalog::Directory::default();
            for (i, (schema, table_name, text)) in TABLES.iter().enumerate() {
                if *schema == name {
                    let t = Arc::new(table(i as u64 + 1, schema, table_name, text));
                    relations.insert(Relation::Table(t));
                }
            }
            if name == "test" {
                for (view, columns, text) in VIEWS {
                    let def = ViewDef {
                        schema: "test".into(),
                        name: (*view).into(),
                        columns: columns.split(' ').map(Into::into).collect(),
                        select_text: (*text).into(),
                        collation: Collation::default(),
                        algorithm: "UNDEFINED".into(),
                        definer: "root@localhost".into(),
                        security: "DEFINER".into(),
                        check_option: "NONE".into(),
                    };
                    relations.insert(Relation::View(Arc::new(def)));
                }
            }
            let schema = SchemaDef { name: name.into(), collation: Collation::Utf8mb4_0900AiCi, relations };
            schemas.insert(name.into(), schema);
        }
    });
    written.expect("there is no journal");
    catalog
}

/// Runs `answer` on each statement of a golden file and compares. A file is a list of
/// `statement` / `----` / answer / empty line. UPDATE_GOLDEN=1 rewrites it.
pub fn golden(path: &Path, answer: impl Fn(&str) -> String) {
    let text = std::fs::read_to_string(path).expect("the golden file is readable");
    let mut out = String::new();
    let mut faults = vec![];
    let mut rest = text.as_str();
    while !rest.trim().is_empty() {
        let (head, tail) = rest.split_once("\n----\n").unwrap_or((rest.trim_end(), ""));
        // Comment lines and blank ones between cases stay as they are.
        let sql_start = head
            .split_inclusive('\n')
            .take_while(|l| l.starts_with('#') || l.trim().is_empty())
            .map(str::len)
            .sum::<usize>();
        let (comment, sql) = head.split_at(sql_start);
        let (expected, next) = match tail.strip_prefix('\n') {
            Some(next) => ("", next),
            None => tail.split_once("\n\n").unwrap_or((tail.trim_end(), "")),
        };
        let got = answer(sql);
        let got = got.trim_end();
        if got != expected.trim_end() {
            faults.push(format!("{sql}\n-- expected\n{expected}\n-- got\n{got}\n"));
        }
        out += &format!("{comment}{sql}\n----\n{got}\n\n");
        rest = next;
    }
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(path, out.trim_end().to_string() + "\n").expect("the golden file is writable");
    } else {
        assert!(faults.is_empty(), "{} of {}:\n{}", faults.len(), path.display(), faults.join("\n"));
    }
}
