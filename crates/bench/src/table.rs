//! Tables of plain text, right-aligned but for the first column.

/// Lays out `rows` under `head`.
pub fn render(head: &[&str], rows: &[Vec<String>]) -> String {
    let width = |c: usize| {
        let cells = rows.iter().filter_map(|r| r.get(c)).map(|t| t.chars().count());
        cells.chain([head[c].chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let mut out = String::new();
    let head = head.iter().map(|h| h.to_string()).collect();
    for row in std::iter::once(&head).chain(rows) {
        let mut line = String::new();
        for (c, cell) in row.iter().enumerate() {
            let w = widths[c];
            line += &if c == 0 { format!("{cell:<w$}") } else { format!("  {cell:>w$}") };
        }
        out += line.trim_end();
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    #[test]
    fn columns_line_up() {
        let rows = [vec!["q1".to_owned(), "12".to_owned()], vec!["q22".to_owned(), "1".to_owned()]];
        assert_eq!(super::render(&["q", "ms"], &rows), "q    ms\nq1   12\nq22   1\n");
    }
}
