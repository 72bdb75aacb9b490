//! What accesses by index cost, in process: `cargo run --release --example index_speed [rows [text]]`.

use engine::{Collect, Database, Options};
use std::time::Instant;

fn main() {
    let rows: usize = std::env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(1_000_000);
    let db = Database::open(Options { workers: Some(0), ..Options::default() }).expect("it opens");
    let mut session = db.system_session();
    let mut run = |sql: &str| {
        let mut sink = Collect::without_rows();
        session.execute(sql.as_bytes(), true, &mut sink).unwrap_or_else(|e| panic!("{sql}: {e}"));
        sink.row_count
    };
    run("CREATE DATABASE b; USE b");
    run(
        "CREATE TABLE s (id INT NOT NULL PRIMARY KEY, k INT NOT NULL, c CHAR(120) NOT NULL, pad CHAR(60) NOT NULL, KEY k (k))",
    );
    let mut x = 1u64;
    for chunk in 0..rows / 1000 {
        let values: Vec<String> = (0..1000)
            .map(|i| {
                x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                format!("({},{},'{:060}','pad{}')", chunk * 1000 + i, (x >> 33) as usize % rows, x, x >> 50)
            })
            .collect();
        run(&format!("INSERT INTO s VALUES {}", values.join(",")));
    }
    run("CREATE TABLE p (a INT NOT NULL, b INT NOT NULL, v INT NOT NULL, PRIMARY KEY (a, b))");
    run("INSERT INTO p SELECT id DIV 4, id MOD 4, k FROM s ORDER BY id");
    let r = rows;
    let statements = [
        format!("SELECT c FROM s WHERE id = {}", r / 2),
        format!("SELECT c FROM s WHERE id BETWEEN {} AND {}", r / 2, r / 2 + 99),
        format!("SELECT SUM(k) FROM s WHERE id BETWEEN {} AND {}", r / 2, r / 2 + 99),
        format!("SELECT c FROM s WHERE id BETWEEN {} AND {} ORDER BY c", r / 2, r / 2 + 99),
        format!("SELECT DISTINCT c FROM s WHERE id BETWEEN {} AND {} ORDER BY c", r / 2, r / 2 + 99),
        format!("SELECT c FROM s WHERE id BETWEEN {} AND {} AND k = 5", r / 2, r / 2 + 9_999),
        format!("SELECT c FROM s WHERE k = {}", r / 2),
        format!("SELECT c FROM s WHERE k BETWEEN {} AND {}", r / 2, r / 2 + 99),
        format!("SELECT SUM(id) FROM s FORCE INDEX (k) WHERE k BETWEEN {} AND {}", r / 2, r / 2 + r / 100),
        format!("SELECT COUNT(*) FROM s FORCE INDEX (k) WHERE k BETWEEN {} AND {}", r / 2, r / 2 + r / 100),
        format!("SELECT SUM(id) FROM s IGNORE INDEX (k) WHERE k BETWEEN {} AND {}", r / 2, r / 2 + r / 100),
        "SELECT id, k FROM s ORDER BY k LIMIT 10".to_string(),
        "SELECT * FROM s ORDER BY id DESC LIMIT 10".to_string(),
        "SELECT MIN(k), MAX(k) FROM s".to_string(),
        "SELECT id FROM s ORDER BY id".to_string(),
        "SELECT * FROM s ORDER BY pad LIMIT 10".to_string(),
        format!("SELECT COUNT(*) FROM s a JOIN s b ON a.id = b.k WHERE a.id < {}", r / 100),
        format!("SELECT SUM(b.id) FROM s a STRAIGHT_JOIN s b FORCE INDEX (k) ON a.k = b.k WHERE a.id < {}", r / 100),
        format!(
            "SELECT SUM(b.k) FROM s a STRAIGHT_JOIN s b FORCE INDEX (PRIMARY) ON a.k = b.id WHERE a.id < {}",
            r / 100
        ),
        format!("SELECT SUM(v) FROM s STRAIGHT_JOIN p FORCE INDEX (PRIMARY) ON p.a = s.k WHERE id < {}", r / 100),
        format!("SELECT SUM(v) FROM s STRAIGHT_JOIN p IGNORE INDEX (PRIMARY) ON p.a = s.k WHERE id < {}", r / 100),
        format!(
            "SELECT SUM(v) FROM p FORCE INDEX (PRIMARY) WHERE a IN ({})",
            (1..200).map(|i| (i * 37).to_string()).collect::<Vec<_>>().join(",")
        ),
    ];
    // With a second argument: only statements that contain it, for long enough to be watched.
    let only = std::env::args().nth(2);
    let (times_max, ms) = if only.is_some() { (u32::MAX, 4000) } else { (2000, 400) };
    for sql in statements.iter().filter(|s| only.as_ref().is_none_or(|o| s.contains(o.as_str()))) {
        let mut found = run(sql);
        let started = Instant::now();
        let mut times = 0;
        let mut best = f64::MAX;
        while times < times_max && started.elapsed().as_millis() < ms || times < 3 {
            let since = Instant::now();
            found = run(sql);
            best = best.min(since.elapsed().as_nanos() as f64);
            times += 1;
        }
        println!("{:10.1} us  {found:8} rows  {sql}", best / 1000.0);
    }
}
