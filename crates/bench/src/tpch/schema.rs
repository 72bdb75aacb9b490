//! TPC-H's eight tables.

/// Name, columns and primary key of each table (specification, 1.4.1), smallest first.
pub const TABLES: [(&str, &str); 8] = [
    (
        "region",
        "r_regionkey INT NOT NULL, r_name CHAR(25) NOT NULL, r_comment VARCHAR(152) NOT NULL, PRIMARY KEY (r_regionkey)",
    ),
    (
        "nation",
        "n_nationkey INT NOT NULL, n_name CHAR(25) NOT NULL, n_regionkey INT NOT NULL, n_comment VARCHAR(152) NOT NULL, \
         PRIMARY KEY (n_nationkey)",
    ),
    (
        "supplier",
        "s_suppkey INT NOT NULL, s_name CHAR(25) NOT NULL, s_address VARCHAR(40) NOT NULL, s_nationkey INT NOT NULL, \
         s_phone CHAR(15) NOT NULL, s_acctbal DECIMAL(15,2) NOT NULL, s_comment VARCHAR(101) NOT NULL, \
         PRIMARY KEY (s_suppkey)",
    ),
    (
        "part",
        "p_partkey INT NOT NULL, p_name VARCHAR(55) NOT NULL, p_mfgr CHAR(25) NOT NULL, p_brand CHAR(10) NOT NULL, \
         p_type VARCHAR(25) NOT NULL, p_size INT NOT NULL, p_container CHAR(10) NOT NULL, \
         p_retailprice DECIMAL(15,2) NOT NULL, p_comment VARCHAR(23) NOT NULL, PRIMARY KEY (p_partkey)",
    ),
    (
        "customer",
        "c_custkey INT NOT NULL, c_name VARCHAR(25) NOT NULL, c_address VARCHAR(40) NOT NULL, c_nationkey INT NOT NULL, \
         c_phone CHAR(15) NOT NULL, c_acctbal DECIMAL(15,2) NOT NULL, c_mktsegment CHAR(10) NOT NULL, \
         c_comment VARCHAR(117) NOT NULL, PRIMARY KEY (c_custkey)",
    ),
    (
        "partsupp",
        "ps_partkey INT NOT NULL, ps_suppkey INT NOT NULL, ps_availqty INT NOT NULL, ps_supplycost DECIMAL(15,2) NOT NULL, \
         ps_comment VARCHAR(199) NOT NULL, PRIMARY KEY (ps_partkey, ps_suppkey)",
    ),
    (
        "orders",
        "o_orderkey BIGINT NOT NULL, o_custkey INT NOT NULL, o_orderstatus CHAR(1) NOT NULL, \
         o_totalprice DECIMAL(15,2) NOT NULL, o_orderdate DATE NOT NULL, o_orderpriority CHAR(15) NOT NULL, \
         o_clerk CHAR(15) NOT NULL, o_shippriority INT NOT NULL, o_comment VARCHAR(79) NOT NULL, PRIMARY KEY (o_orderkey)",
    ),
    (
        "lineitem",
        "l_orderkey BIGINT NOT NULL, l_partkey INT NOT NULL, l_suppkey INT NOT NULL, l_linenumber INT NOT NULL, \
         l_quantity DECIMAL(15,2) NOT NULL, l_extendedprice DECIMAL(15,2) NOT NULL, l_discount DECIMAL(15,2) NOT NULL, \
         l_tax DECIMAL(15,2) NOT NULL, l_returnflag CHAR(1) NOT NULL, l_linestatus CHAR(1) NOT NULL, \
         l_shipdate DATE NOT NULL, l_commitdate DATE NOT NULL, l_receiptdate DATE NOT NULL, \
         l_shipinstruct CHAR(25) NOT NULL, l_shipmode CHAR(10) NOT NULL, l_comment VARCHAR(44) NOT NULL, \
         PRIMARY KEY (l_orderkey, l_linenumber)",
    ),
];

/// What a rival with ordered indexes gets beside the primary keys, so that it is not measured at its worst.
pub const RIVAL_INDEXES: [&str; 13] = [
    "ALTER TABLE lineitem ADD KEY i_l_partkey (l_partkey, l_quantity, l_shipmode, l_shipinstruct)",
    "ALTER TABLE lineitem ADD KEY i_l_suppkey_partkey (l_partkey, l_suppkey)",
    "ALTER TABLE lineitem ADD KEY i_l_orderkey (l_orderkey)",
    "ALTER TABLE lineitem ADD KEY i_l_shipdate (l_shipdate)",
    "ALTER TABLE lineitem ADD KEY i_l_suppkey (l_suppkey)",
    "ALTER TABLE orders ADD KEY i_o_orderdate (o_orderdate)",
    "ALTER TABLE orders ADD KEY i_o_custkey (o_custkey)",
    "ALTER TABLE partsupp ADD KEY i_ps_partkey (ps_partkey)",
    "ALTER TABLE partsupp ADD KEY i_ps_suppkey (ps_suppkey)",
    "ALTER TABLE customer ADD KEY i_c_nationkey (c_nationkey)",
    "ALTER TABLE supplier ADD KEY i_s_nationkey (s_nationkey)",
    "ALTER TABLE nation ADD KEY i_n_regionkey (n_regionkey)",
    "ANALYZE TABLE region, nation, supplier, part, customer, partsupp, orders, lineitem",
];

/// The statement that creates a table.
pub fn create(name: &str, columns: &str) -> String {
    format!("CREATE TABLE {name} ({columns})")
}

/// Rows of a table at a scale factor; `None` where the generator decides (lineitem).
pub fn rows(name: &str, scale: f64) -> Option<u64> {
    let of = |base: f64| Some((base * scale) as u64);
    match name {
        "region" => Some(5),
        "nation" => Some(25),
        "supplier" => of(10_000.0),
        "part" => of(200_000.0),
        "customer" => of(150_000.0),
        "partsupp" => of(200_000.0).map(|parts| parts * 4),
        "orders" => of(1_500_000.0),
        _ => (scale == 1.0).then_some(6_001_215),
    }
}
