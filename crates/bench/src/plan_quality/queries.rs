//! The set of queries: TPC-H's 22, and variations that are hard to plan.
//!
//! Tables beside TPC-H's: `users` (country skewed, city decided by country, age), `events` (a few users have most of
//! them, kinds are skewed, days ascend with ids), `tags` (many a user), `days` (a dimension).

use crate::tpch::QUERIES;

/// A query with the tables of its outermost FROM.
#[derive(Debug)]
pub struct Query {
    pub name: String,
    pub tables: Vec<&'static str>,
    pub sql: String,
}

const TPCH_TABLES: [&str; 22] = [
    "lineitem",
    "part supplier partsupp nation region",
    "customer orders lineitem",
    "orders",
    "customer orders lineitem supplier nation region",
    "lineitem",
    "",
    "",
    "",
    "customer orders lineitem nation",
    "partsupp supplier nation",
    "orders lineitem",
    "",
    "lineitem part",
    "",
    "partsupp part",
    "lineitem part",
    "customer orders lineitem",
    "lineitem part",
    "supplier nation",
    "supplier l1 orders nation",
    "",
];

/// Name, tables, text.
const VARIATIONS: [(&str, &str, &str); 46] = [
    ("order limit by index, rare filter", "events", "SELECT id FROM events WHERE kind = 7 ORDER BY day LIMIT 5"),
    ("order limit by index, common filter", "events", "SELECT id FROM events WHERE kind = 0 ORDER BY day LIMIT 5"),
    ("order limit, nothing matches", "events", "SELECT id FROM events WHERE amount < -1 ORDER BY day LIMIT 5"),
    ("order limit desc, late days", "events", "SELECT id, day FROM events WHERE day < 20 ORDER BY id DESC LIMIT 10"),
    (
        "order limit, filter by other index",
        "events",
        "SELECT day, kind < 100 FROM events WHERE user_id = 17 ORDER BY day DESC LIMIT 3",
    ),
    ("order limit, rare user", "events", "SELECT id FROM events WHERE user_id = 9000 ORDER BY day LIMIT 3"),
    (
        "order limit over a join",
        "orders customer",
        "SELECT o_orderkey FROM orders, customer WHERE o_custkey = c_custkey AND c_mktsegment = 'BUILDING' ORDER BY o_orderdate LIMIT 10",
    ),
    (
        "order limit over a selective join",
        "orders customer",
        "SELECT o_orderkey FROM orders, customer WHERE o_custkey = c_custkey AND c_custkey < 50 ORDER BY o_orderdate LIMIT 10",
    ),
    ("order limit by total price", "orders", "SELECT o_orderkey FROM orders ORDER BY o_totalprice DESC LIMIT 10"),
    (
        "order limit by primary key of join",
        "lineitem orders",
        "SELECT l_orderkey, l_linenumber FROM lineitem, orders WHERE l_orderkey = o_orderkey AND o_orderpriority = '1-URGENT' ORDER BY l_orderkey, l_linenumber LIMIT 20",
    ),
    ("correlated columns", "users", "SELECT COUNT(*) FROM users WHERE country = 0 AND city = 0"),
    (
        "contradicting columns",
        "users events",
        "SELECT COUNT(*) FROM users, events WHERE events.user_id = users.id AND country = 0 AND city = 99",
    ),
    (
        "correlated columns drive a join",
        "users events",
        "SELECT SUM(amount) FROM users, events WHERE events.user_id = users.id AND country = 40 AND city = 40",
    ),
    ("correlated range", "events", "SELECT COUNT(*) FROM events WHERE day BETWEEN 10 AND 12 AND id < 5000"),
    ("skewed key, common value", "events", "SELECT SUM(amount) FROM events WHERE user_id = 0"),
    ("skewed key, rare value", "events", "SELECT SUM(amount) FROM events WHERE user_id = 15000"),
    (
        "skewed join",
        "users events",
        "SELECT COUNT(*) FROM users, events WHERE events.user_id = users.id AND users.id < 3",
    ),
    (
        "rare side of a skewed join",
        "users events",
        "SELECT COUNT(*) FROM users, events WHERE events.user_id = users.id AND users.id BETWEEN 15000 AND 15100",
    ),
    ("short IN list", "events", "SELECT COUNT(*) FROM events WHERE user_id IN (5, 500, 5000, 15000)"),
    ("IN list of common values", "events", "SELECT COUNT(*) FROM events WHERE user_id IN (0, 1, 2, 3, 4, 5)"),
    (
        "IN list over two columns",
        "partsupp",
        "SELECT SUM(ps_availqty) FROM partsupp WHERE (ps_partkey, ps_suppkey) IN ((1, 2), (2, 3), (100, 101), (999, 5))",
    ),
    (
        "IN list of dates",
        "orders",
        "SELECT COUNT(*) FROM orders WHERE o_orderdate IN ('1994-01-01', '1995-01-01', '1996-01-01')",
    ),
    ("OR over two indexes", "events", "SELECT COUNT(*) FROM events WHERE user_id = 14000 OR day = 3"),
    ("OR over unindexed", "events", "SELECT COUNT(*) FROM events WHERE user_id = 14000 OR amount = 3"),
    ("AND over two indexes", "events", "SELECT COUNT(*) FROM events WHERE user_id = 1 AND day = 3"),
    (
        "semi join, small inner",
        "events",
        "SELECT COUNT(*) FROM events WHERE user_id IN (SELECT id FROM users WHERE age = 99)",
    ),
    (
        "semi join, large inner",
        "users",
        "SELECT COUNT(*) FROM users WHERE id IN (SELECT user_id FROM events WHERE amount > 10)",
    ),
    (
        "semi join, rare outer",
        "users",
        "SELECT COUNT(*) FROM users WHERE age = 99 AND EXISTS (SELECT 1 FROM events WHERE user_id = users.id)",
    ),
    (
        "semi join of customers",
        "customer",
        "SELECT COUNT(*) FROM customer WHERE c_custkey IN (SELECT o_custkey FROM orders WHERE o_totalprice > 400000)",
    ),
    (
        "anti join, small inner",
        "users",
        "SELECT COUNT(*) FROM users WHERE id NOT IN (SELECT user_id FROM events WHERE kind = 7)",
    ),
    (
        "anti join, rare outer",
        "customer",
        "SELECT COUNT(*) FROM customer WHERE c_custkey < 100 AND NOT EXISTS (SELECT 1 FROM orders WHERE o_custkey = c_custkey)",
    ),
    (
        "correlated aggregate",
        "users",
        "SELECT id FROM users WHERE age = 99 AND (SELECT COUNT(*) FROM events WHERE user_id = users.id) > 2",
    ),
    (
        "correlated aggregate, large outer",
        "users",
        "SELECT COUNT(*) FROM users WHERE (SELECT SUM(amount) FROM events WHERE user_id = users.id) > 500",
    ),
    (
        "star join, selective dimensions",
        "events users days",
        "SELECT SUM(amount) FROM events, users, days WHERE events.user_id = users.id AND events.day = days.id AND users.age = 99 AND days.month = 3",
    ),
    (
        "star join, one selective dimension",
        "events users days",
        "SELECT SUM(amount) FROM events, users, days WHERE events.user_id = users.id AND events.day = days.id AND days.id = 17",
    ),
    (
        "star join, nothing selective",
        "events users days",
        "SELECT month, country, SUM(amount) FROM events, users, days WHERE events.user_id = users.id AND events.day = days.id GROUP BY month, country",
    ),
    (
        "snowflake",
        "events users tags days",
        "SELECT COUNT(*) FROM events, users, tags, days WHERE events.user_id = users.id AND tags.user_id = users.id AND events.day = days.id AND tag = 9 AND month = 2 AND kind = 6",
    ),
    (
        "many to many",
        "tags events",
        "SELECT COUNT(*) FROM tags, events WHERE tags.user_id = events.user_id AND tag = 9 AND kind = 7",
    ),
    (
        "left join, filter on the left",
        "users events",
        "SELECT COUNT(events.id) FROM users LEFT JOIN events ON events.user_id = users.id AND kind = 6 WHERE age = 98",
    ),
    ("left join, all rows", "users tags", "SELECT COUNT(tag) FROM users LEFT JOIN tags ON tags.user_id = users.id"),
    ("distinct of an indexed column", "events", "SELECT DISTINCT kind FROM events"),
    (
        "group by an indexed column",
        "events",
        "SELECT user_id, MAX(day) FROM events GROUP BY user_id ORDER BY user_id LIMIT 10",
    ),
    (
        "range of an index, two percent",
        "lineitem",
        "SELECT SUM(l_extendedprice) FROM lineitem WHERE l_shipdate BETWEEN '1994-03-01' AND '1994-04-15'",
    ),
    (
        "range of an index, half",
        "lineitem",
        "SELECT SUM(l_extendedprice) FROM lineitem WHERE l_shipdate < '1995-06-01'",
    ),
    (
        "later key part",
        "lineitem",
        "SELECT SUM(l_extendedprice) FROM lineitem WHERE l_partkey < 400 AND l_quantity = 7 AND l_shipmode = 'AIR'",
    ),
    (
        "point and range joined",
        "part lineitem orders",
        "SELECT o_orderkey FROM part, lineitem, orders WHERE p_partkey = l_partkey AND l_orderkey = o_orderkey AND p_partkey = 155 AND o_orderdate < '1995-01-01'",
    ),
];

/// The whole set.
pub fn set() -> Vec<Query> {
    let words = |t: &'static str| t.split_whitespace().collect();
    let tpch = QUERIES.iter().zip(TPCH_TABLES).enumerate().map(|(i, (sql, tables))| Query {
        name: format!("TPC-H Q{}", i + 1),
        tables: words(tables),
        sql: sql.trim_end().trim_end_matches(';').to_owned(),
    });
    let others = VARIATIONS.iter().map(|(name, tables, sql)| Query {
        name: name.to_string(),
        tables: words(tables),
        sql: sql.to_string(),
    });
    tpch.chain(others).collect()
}

/// Statements that make the tables beside TPC-H's; `scale` as theirs.
pub fn tables(scale: f64) -> Vec<String> {
    let (users, events) = ((200_000.0 * scale) as u64, (3_000_000.0 * scale) as u64);
    let mut out: Vec<String> = [
        "CREATE TABLE users (id INT NOT NULL PRIMARY KEY, country INT, city INT, age INT, name VARCHAR(20), KEY (country), KEY (city), KEY (age))",
        "CREATE TABLE events (id INT NOT NULL PRIMARY KEY, user_id INT, kind INT, day INT, amount DECIMAL(10,2), note VARCHAR(40), KEY (user_id), KEY (kind), KEY (day), KEY user_day (user_id, day))",
        "CREATE TABLE tags (user_id INT NOT NULL, tag INT NOT NULL, PRIMARY KEY (user_id, tag), KEY (tag))",
        "CREATE TABLE days (id INT NOT NULL PRIMARY KEY, month INT, KEY (month))",
    ]
    .map(str::to_owned)
    .into();
    let scatter = crate::filter::scatter;
    let mut insert = |table: &str, n: u64, row: &dyn Fn(u64) -> String| {
        for from in (0..n).step_by(2000) {
            let rows: Vec<String> = (from..n.min(from + 2000)).map(row).collect();
            out.push(format!("INSERT INTO {table} VALUES {}", rows.join(",")));
        }
    };
    // a number below n, small ones far more often
    let skewed = |seed: u64, n: u64| {
        let u = (scatter(seed) % 1_000_003) as f64 / 1_000_003.0;
        (u.powi(4) * n as f64) as u64
    };
    insert("users", users, &|i| {
        let country = skewed(i, 50);
        let city = if country % 2 == 0 { country } else { country * 10 + i % 10 };
        format!("({i},{country},{city},{},'user {i}')", scatter(i + 7) % 100)
    });
    insert("events", events, &|i| {
        let (user, kind) = (skewed(i * 3 + 1, users), skewed(i * 5 + 2, 8));
        let amount = scatter(i) % 10_000;
        format!("({i},{user},{kind},{},{}.{:02},'note {}')", i * 365 / events, amount / 100, amount % 100, i % 977)
    });
    insert("tags", users, &|i| format!("({},{})", i / 2, (i % 2) * 5 + scatter(i / 2) % 5));
    insert("days", 365, &|i| format!("({i},{})", i / 31));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_set_is_large_and_its_names_differ() {
        let set = set();
        assert!(set.len() >= 60);
        let names: std::collections::BTreeSet<&String> = set.iter().map(|q| &q.name).collect();
        assert_eq!(names.len(), set.len());
    }
}
