//! What statements write to temporary files is bounded: of one, and of all together.

mod common;

use common::{Client, database};

const DISK_FULL: u16 = 1021;

#[test]
fn statements_that_write_more_than_they_may_fail_alone() {
    let db = database();
    let (mut c, mut other) = (Client::new(&db), Client::new(&db));
    c.ok("CREATE TABLE n (a INT)");
    c.ok(
        "INSERT INTO n WITH RECURSIVE r AS (SELECT 1 AS a UNION ALL SELECT a + 1 FROM r WHERE a < 300) SELECT a FROM r",
    );
    c.ok("CREATE TABLE t (a INT, b VARCHAR(200))");
    c.ok("INSERT INTO t SELECT x.a * 1000 + y.a, REPEAT('x', 100 + x.a % 7) FROM n AS x, n AS y WHERE x.a < 200");
    let sorted = "SELECT * FROM t ORDER BY b, a DESC";
    for session in [&mut c, &mut other] {
        session.ok("SET max_query_memory = 1048576");
    }
    c.ok("SET max_tmp_session_space_usage = 200000");
    assert_eq!(c.run(sorted), Err(DISK_FULL));
    assert_eq!(other.run(sorted).map(|r| r.len()), Ok(59_700), "who has no such limit");
    c.ok("SET max_tmp_session_space_usage = DEFAULT");
    other.ok("SET GLOBAL max_tmp_total_space_usage = 200000");
    assert_eq!(c.run(sorted), Err(DISK_FULL));
    assert_eq!(c.ok("SELECT COUNT(*) FROM t"), ["59700"]);
    other.ok("SET GLOBAL max_tmp_total_space_usage = DEFAULT");
    // What was written is given back.
    other.ok("SET GLOBAL max_tmp_total_space_usage = 100000000");
    for _ in 0..3 {
        assert_eq!(c.run(sorted).map(|r| r.len()), Ok(59_700));
    }
}
