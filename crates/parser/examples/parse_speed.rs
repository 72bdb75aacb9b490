//! How fast statements parse: `cargo run --release -p nextleaf-parser --example parse_speed`.
//!
//! Prints nanoseconds per statement (best of many short rounds) and MB/s.

use parser::{ParseOptions, parse_bytes};
use std::hint::black_box;
use std::time::Instant;

const Q19: &str = "select sum(l_extendedprice* (1 - l_discount)) as revenue from lineitem, part where ( p_partkey = l_partkey \
    and p_brand = 'Brand#12' and p_container in ('SM CASE', 'SM BOX', 'SM PACK', 'SM PKG') and l_quantity >= 1 and l_quantity <= 1 \
    + 10 and p_size between 1 and 5 and l_shipmode in ('AIR', 'AIR REG') and l_shipinstruct = 'DELIVER IN PERSON' ) or ( p_partkey \
    = l_partkey and p_brand = 'Brand#23' and p_container in ('MED BAG', 'MED BOX', 'MED PKG', 'MED PACK') and l_quantity >= 10 and \
    l_quantity <= 10 + 10 and p_size between 1 and 10 and l_shipmode in ('AIR', 'AIR REG') and l_shipinstruct = 'DELIVER IN PERSON' \
    ) or ( p_partkey = l_partkey and p_brand = 'Brand#34' and p_container in ('LG CASE', 'LG BOX', 'LG PACK', 'LG PKG') and \
    l_quantity >= 20 and l_quantity <= 20 + 10 and p_size between 1 and 15 and l_shipmode in ('AIR', 'AIR REG') and \
    l_shipinstruct = 'DELIVER IN PERSON' )";

fn main() {
    let row = "(12345, 67890, '68487932199-96439406143-93774651418-41631865787-96406072701-20604855487-25459966574-28203206787-\
               41238978918-19503783441', '22195207048-70116052123-74140395089-76317954521-98694025897')";
    let insert = format!("INSERT INTO sbtest1 (k, id, c, pad) VALUES {}", vec![row; 1000].join(","));
    let numbers = format!("INSERT INTO t VALUES {}", vec!["(1,2,3.5,NULL,'ab',-7)"; 10_000].join(","));
    let list = (0..100_000).map(|i| i.to_string()).collect::<Vec<_>>().join(",");
    let in_list = format!("SELECT * FROM t WHERE a IN ({list})");
    let cases = [
        ("point select", "SELECT c FROM sbtest1 WHERE id=123"),
        ("update", "UPDATE sbtest1 SET k=k+1 WHERE id=501"),
        ("range sum", "SELECT SUM(k) FROM sbtest1 WHERE id BETWEEN 100 AND 199"),
        ("set", "SET autocommit=1"),
        ("begin", "BEGIN"),
        ("TPC-H Q19", Q19),
        ("insert of 1000 sbtest rows", insert.as_str()),
        ("insert of 10000 small rows", numbers.as_str()),
        ("IN list of 100000", in_list.as_str()),
    ];
    let options = ParseOptions::default();
    for (name, sql) in cases {
        let repeat = (40_000 / sql.len()).clamp(1, 1000);
        let best = (0..200)
            .map(|_| {
                let started = Instant::now();
                for _ in 0..repeat {
                    black_box(parse_bytes(black_box(sql.as_bytes()), &options)).expect("the statement is sound");
                }
                started.elapsed().as_nanos() as f64 / repeat as f64
            })
            .fold(f64::INFINITY, f64::min);
        println!("{name:28} {best:12.0} ns  {:8.1} MB/s", sql.len() as f64 * 1e3 / best);
    }
}
