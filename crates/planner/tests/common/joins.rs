//! Joins of many tables, in the shapes that make a search for their order quick or slow.

pub const SHAPES: [&str; 5] = ["chain", "star", "snowflake", "cycle", "clique"];

/// The join conditions of `n` tables: pairs of them.
fn pairs(name: &str, n: usize) -> Vec<(usize, usize)> {
    let each = |to: &dyn Fn(usize) -> usize| (1..n).map(|i| (i, to(i))).collect();
    match name {
        "chain" => each(&|i| i - 1),
        "star" => each(&|_| 0),
        // Three tables along each ray.
        "snowflake" => each(&|i| if i % 3 == 1 { 0 } else { i - 1 }),
        "cycle" => (1..n).map(|i| (i, i - 1)).chain([(n - 1, 0)]).collect(),
        _ => (1..n).flat_map(|i| (0..i).map(move |j| (i, j))).collect(),
    }
}

/// Counts the rows of such a join of TPC-H's small tables.
pub fn statement(name: &str, n: usize) -> String {
    let tables = ["nation", "customer", "supplier"];
    let keys = ["n_nationkey", "c_nationkey", "s_nationkey"];
    let others = ["n_regionkey", "c_custkey", "s_suppkey"];
    let from: Vec<String> = (0..n).map(|i| format!("{} t{i}", tables[i % 3])).collect();
    let on: Vec<String> = pairs(name, n)
        .into_iter()
        // All edges of a clique differ: else equalities would make one class of them.
        .map(|(i, j)| match name {
            "clique" => format!("t{i}.{} + {j} = t{j}.{} + {i}", others[i % 3], keys[j % 3]),
            _ => format!("t{i}.{} = t{j}.{}", others[i % 3], keys[j % 3]),
        })
        .collect();
    format!("select count(*) from {} where {}", from.join(", "), on.join(" and "))
}
