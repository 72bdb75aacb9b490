//! What a statement costs in this process, beside packets and threads: the same few statements again and again.
//!
//! ```text
//! cargo build --release -p nextleaf-engine --example statement_cost
//! perf stat -e instructions:u target/release/examples/statement_cost prepared 1000000
//! ```
//! Kinds: `prepared` and `text` (a point select by a flat plan), `update` (a flat one), `group` and `join` (small ones
//! for the executor).

use engine::{ColumnMeta, Database, EndInfo, OkInfo, Options, ResultShape, ResultSink, RowAt};
use std::io::Read;
use std::time::Instant;
use types::{Error, Result, SqlType, Value};
use vector::Batch;

/// Looks at what it is sent, and keeps nothing.
#[derive(Default)]
struct Nothing {
    rows: u64,
}

impl ResultSink for Nothing {
    fn columns(&mut self, _: &[ColumnMeta]) -> Result<()> {
        Ok(())
    }

    fn batch(&mut self, batch: &Batch) -> Result<()> {
        self.rows += batch.count() as u64;
        Ok(())
    }

    fn row_at(&mut self, shape: &ResultShape, at: RowAt<'_, '_>) -> Result<()> {
        (0..shape.columns.len()).for_each(|i| {
            std::hint::black_box(at(i));
        });
        self.rows += 1;
        Ok(())
    }

    fn end_rows(&mut self, _: &EndInfo) -> Result<()> {
        Ok(())
    }

    fn ok(&mut self, _: &OkInfo) -> Result<()> {
        Ok(())
    }

    fn local_infile(&mut self, _: &str) -> Result<Box<dyn Read + Send + '_>> {
        Err(Error::not_supported("files here"))
    }
}

const ROWS: i64 = 100_000;

fn main() {
    let mut args = std::env::args().skip(1);
    let kind = args.next().unwrap_or_else(|| "prepared".into());
    let times: i64 = args.next().and_then(|a| a.parse().ok()).unwrap_or(100_000);
    let db = Database::open(Options { workers: Some(0), ..Options::default() }).expect("it opens");
    let mut session = db.system_session();
    let mut sink = Nothing::default();
    let mut run = |sql: &str| session.execute(sql.as_bytes(), true, &mut sink).unwrap_or_else(|e| panic!("{sql}: {e}"));
    run("CREATE DATABASE b; USE b");
    run("CREATE TABLE s (id INT NOT NULL PRIMARY KEY, k INT NOT NULL, c CHAR(120) NOT NULL, KEY k (k))");
    for chunk in 0..ROWS / 1000 {
        let rows = chunk * 1000..(chunk + 1) * 1000;
        let values: Vec<String> = rows.map(|i| format!("({i},{},'{:060}')", i * 7919 % ROWS, i)).collect();
        run(&format!("INSERT INTO s VALUES {}", values.join(",")));
    }
    let statement = |id: &str| match &*kind {
        "prepared" | "text" => format!("SELECT c FROM s WHERE id = {id}"),
        "update" => format!("UPDATE s SET c = 'x' WHERE id = {id}"),
        "group" => format!("SELECT k % 10, COUNT(*) FROM s WHERE id > {id} AND id < 100 GROUP BY 1"),
        "join" => format!("SELECT a.c, b.c FROM s a JOIN s b ON b.id = a.k WHERE a.id = {id}"),
        _ => panic!("no such kind: {kind}"),
    };
    let began = Instant::now();
    if kind == "text" {
        for n in 0..times {
            let sql = statement(&(n * 31 % ROWS).to_string());
            session.execute(sql.as_bytes(), false, &mut sink).expect("it is valid");
        }
    } else {
        let id = session.prepare(statement("?").as_bytes()).expect("it is valid").id;
        for n in 0..times {
            let n = if kind == "group" { n % 100 } else { n * 31 % ROWS };
            session.execute_prepared(id, &[(Value::Int(n), SqlType::BIGINT)], &mut sink).expect("it is valid");
        }
    }
    let took = began.elapsed();
    println!("{:.0} ns each, {} rows", took.as_nanos() as f64 / times as f64, sink.rows);
}
