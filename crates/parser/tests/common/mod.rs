//! The corpus of statements that the tests share.

/// (name, statement) of each entry.
pub fn corpus() -> Vec<(&'static str, &'static str)> {
    let text = include_str!("../data/mysql_statements.sql");
    text.split("\n;;")
        .filter_map(|entry| {
            let (header, sql) = entry.trim_start().split_once('\n')?;
            Some((header.strip_prefix("-- name: ")?, sql))
        })
        .collect()
}
