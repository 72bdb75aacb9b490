//! Long statements over the TPC-H tables of the fixture, of `n` items each.

fn joined(n: usize, by: &str, each: impl Fn(usize) -> String) -> String {
    (0..n).map(each).collect::<Vec<_>>().join(by)
}

/// Names of shapes, and their texts.
pub fn shapes(n: usize) -> Vec<(&'static str, String)> {
    let of = |condition: String| format!("select o_comment from orders where {condition}");
    let day = |i: usize| format!("'1995-{:02}-{:02}'", 1 + i % 12, 1 + i % 28);
    vec![
        ("IN numbers", of(format!("o_custkey in ({})", joined(n, ",", |i| (i * 7).to_string())))),
        ("IN digits", of(format!("o_custkey in ({})", joined(n, ",", |i| (i % 10).to_string())))),
        ("IN negative", of(format!("o_custkey in ({})", joined(n, ",", |i| format!("-{i}"))))),
        ("IN decimals", of(format!("o_totalprice in ({})", joined(n, ",", |i| format!("{i}.50"))))),
        ("IN strings", of(format!("o_comment in ({})", joined(n, ",", |i| format!("'{i}'"))))),
        ("IN dates", of(format!("o_orderdate in ({})", joined(n, ",", day)))),
        ("IN rows", of(format!("(o_custkey, o_orderkey) in ({})", joined(n, ",", |i| format!("({i},{})", i + 1))))),
        ("OR of two", of(joined(n, " or ", |i| format!("{}={i}", ["o_custkey", "o_orderkey"][i % 2])))),
        ("OR of ranges", of(joined(n, " or ", |i| format!("o_custkey>{i}")))),
        ("OR of pairs", of(joined(n, " or ", |i| format!("(o_custkey={i} and o_orderkey={i})")))),
        ("AND of <>", of(joined(n, " and ", |i| format!("o_custkey<>{i}")))),
        ("AND of ranges", of(joined(n, " and ", |i| format!("o_custkey>{i}")))),
        ("CASE", format!("select case {} end from orders", joined(n, " ", |i| format!("when o_custkey={i} then {i}")))),
        ("VALUES", format!("values {}", joined(n, ",", |i| format!("row({i},'{i}')")))),
    ]
}

/// The same of what has a bound to its number.
pub fn bounded_shapes() -> Vec<(&'static str, String)> {
    let chain = |i: usize| format!("o{i}.o_custkey = o{}.o_orderkey", i + 1);
    vec![
        ("UNION ALL", joined(4000, " union all ", |i| format!("select {i}"))),
        ("UNION", joined(4000, " union ", |i| format!("select o_custkey from orders where o_orderkey={i}"))),
        ("select list", format!("select {} from orders", joined(4000, ",", |i| format!("o_custkey+{i}")))),
        ("sum", format!("select {} from orders", joined(900, "+", |_| "o_custkey".to_string()))),
        (
            "commas",
            format!(
                "select 1 from {} where {}",
                joined(61, ",", |i| format!("orders o{i}")),
                joined(60, " and ", chain)
            ),
        ),
        (
            "star",
            format!(
                "select 1 from {} where {}",
                joined(61, ",", |i| format!("orders o{i}")),
                joined(60, " and ", |i| format!("o0.o_custkey = o{}.o_orderkey", i + 1))
            ),
        ),
        (
            "clique",
            format!(
                "select 1 from {} where {}",
                joined(40, ",", |i| format!("orders o{i}")),
                joined(40 * 40, " and ", |i| format!("o{}.o_custkey + o{}.o_custkey > {i}", i % 40, i / 40))
            ),
        ),
        (
            "left joins",
            format!(
                "select 1 from orders o0 {}",
                joined(60, " ", |i| format!("left join orders o{} on {}", i + 1, chain(i)))
            ),
        ),
    ]
}
