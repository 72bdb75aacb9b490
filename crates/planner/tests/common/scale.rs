//! Statistics as TPC-H at scale factor 1 has them: fixed, so that plans are.

use catalog::{ColumnStats, IndexForm, KeyBounds, Relation, Statistics, TableDef, TableId, TableStats};
use std::collections::HashMap;
use std::sync::Arc;
use types::{Date, Value};

/// Rows at scale factor 1, and distinct values where they are fewer.
type TableShape = (&'static str, u64, &'static [(&'static str, f64)]);
const TABLES: &[TableShape] = &[
    (
        "lineitem",
        6_001_215,
        &[
            ("l_orderkey", 1.5e6),
            ("l_partkey", 2e5),
            ("l_suppkey", 1e4),
            ("l_linenumber", 7.0),
            ("l_quantity", 50.0),
            ("l_discount", 11.0),
            ("l_tax", 9.0),
            ("l_returnflag", 3.0),
            ("l_linestatus", 2.0),
            ("l_shipdate", 2526.0),
            ("l_commitdate", 2466.0),
            ("l_receiptdate", 2554.0),
            ("l_shipinstruct", 4.0),
            ("l_shipmode", 7.0),
            ("l_extendedprice", 933_900.0),
        ],
    ),
    (
        "orders",
        1_500_000,
        &[
            ("o_custkey", 99_996.0),
            ("o_orderstatus", 3.0),
            ("o_orderdate", 2406.0),
            ("o_orderpriority", 5.0),
            ("o_clerk", 1000.0),
            ("o_shippriority", 1.0),
        ],
    ),
    ("customer", 150_000, &[("c_nationkey", 25.0), ("c_mktsegment", 5.0), ("c_acctbal", 140_187.0)]),
    (
        "part",
        200_000,
        &[("p_mfgr", 5.0), ("p_brand", 25.0), ("p_type", 150.0), ("p_size", 50.0), ("p_container", 40.0)],
    ),
    ("partsupp", 800_000, &[("ps_partkey", 2e5), ("ps_suppkey", 1e4), ("ps_availqty", 9999.0)]),
    ("supplier", 10_000, &[("s_nationkey", 25.0)]),
    ("sbtest", 1_000_000, &[("k", 100_000.0)]),
    ("nation", 25, &[("n_regionkey", 5.0)]),
    ("region", 5, &[]),
];

const SHOP: &[TableShape] = &[
    ("customers", 100_000, &[("city", 2_000.0), ("country", 50.0), ("birth", 20_000.0), ("credit", 10_000.0)]),
    (
        "orders",
        1_000_000,
        &[("customer_id", 90_000.0), ("status", 6.0), ("placed", 2_500.0), ("total", 200_000.0), ("note", 50_000.0)],
    ),
    (
        "items",
        4_000_000,
        &[("order_id", 1e6), ("line", 10.0), ("product_id", 20_000.0), ("qty", 30.0), ("price", 5_000.0)],
    ),
    ("products", 20_000, &[("category_id", 100.0), ("price", 5_000.0)]),
    ("categories", 100, &[("parent_id", 10.0)]),
    ("reviews", 200_000, &[("product_id", 15_000.0), ("customer_id", 40_000.0), ("stars", 5.0)]),
    ("logs", 500_000, &[("level", 5.0)]),
    ("nothing", 0, &[]),
];

pub struct ScaleOne(HashMap<TableId, Arc<TableStats>>, HashMap<TableId, Arc<TableDef>>);

impl Statistics for ScaleOne {
    fn table(&self, id: TableId) -> Option<Arc<TableStats>> {
        self.0.get(&id).cloned()
    }

    fn index_form(&self, _: TableId, _: usize) -> IndexForm {
        IndexForm { ordered: true, clustered: false, complete: true }
    }

    /// As if the first part's integers were evenly spread, one row each, and others selective.
    fn index_estimate(&self, table: TableId, index: usize, bounds: &KeyBounds) -> Option<u64> {
        if let Some(t) = self.1.get(&table) {
            return Some(self.even(t, index, bounds));
        }
        match (bounds.low.values.first(), bounds.high.values.first()) {
            (Some(Value::Int(a)), Some(Value::Int(b))) => Some((b - a).max(0) as u64 * 10 + 10),
            (None, None) => None,
            _ => Some(200_000),
        }
    }
}

impl ScaleOne {
    /// The shop's values are spread evenly, and a range holds a hundredth of them.
    fn even(&self, t: &TableDef, index: usize, bounds: &KeyBounds) -> u64 {
        let stats = &self.0[&t.id];
        let (low, high) = (&bounds.low.values, &bounds.high.values);
        let equal = low.iter().zip(high).take_while(|(a, b)| a == b).count();
        let mut rows = stats.rows as f64;
        for p in &t.indexes[index].parts[..equal] {
            rows /= stats.columns[p.column_idx].distinct.max(1.0);
        }
        if low.len() > equal || high.len() > equal {
            rows /= 100.0;
        }
        rows.ceil() as u64
    }
}

fn date(y: i32, m: i32, d: i32) -> Option<Value> {
    Some(Value::Date(Date(y << 9 | m << 5 | d)))
}

pub fn scale_one(catalog: &catalog::Catalog) -> ScaleOne {
    let (mut all, mut shop) = (HashMap::new(), HashMap::new());
    let shapes = TABLES.iter().map(|t| ("tpch", t)).chain(SHOP.iter().map(|t| ("shop", t)));
    for (schema, (name, rows, distinct)) in shapes {
        let Some(Relation::Table(t)) = catalog.relation(schema, name) else { panic!("no {name}") };
        let columns = t
            .columns
            .iter()
            .map(|c| {
                let is_date = c.ty == types::SqlType::Date;
                ColumnStats {
                    distinct: distinct.iter().find(|d| *d.0 == *c.name).map_or(*rows as f64, |d| d.1),
                    null_fraction: 0.0,
                    min: if is_date { date(1992, 1, 1) } else { None },
                    max: if is_date { date(1998, 12, 1) } else { None },
                    width: match c.ty {
                        types::SqlType::String { len, .. } => len as f64 * 0.7,
                        _ => 8.0,
                    },
                }
            })
            .collect();
        if schema == "shop" {
            shop.insert(t.id, t.clone());
        }
        all.insert(t.id, Arc::new(TableStats::new(*rows, columns, Arc::default())));
    }
    ScaleOne(all, shop)
}
