//! The corpus of statements that the tests share.

/// (name, statement) of each entry: one of every kind of statement, then what well-known clients send.
pub fn corpus() -> Vec<(&'static str, &'static str)> {
    let files = [include_str!("../data/mysql_statements.sql"), include_str!("../data/clients.sql")];
    files
        .iter()
        .flat_map(|text| text.split("\n;;"))
        .filter_map(|entry| {
            let (header, sql) = entry.trim_start().split_once('\n')?;
            Some((header.strip_prefix("-- name: ")?, sql))
        })
        .collect()
}
