//! The fenced blocks of a page.

/// One block: what stands between two fences.
#[derive(Debug)]
pub struct Block {
    /// Its first line, counted from 1.
    pub line: usize,
    /// The first word behind the fence: `sh`, `sql`, `python`, `text`.
    pub language: String,
    /// Behind the fence stands `no-run`, or a language that is not run.
    pub is_shown_only: bool,
    pub text: String,
}

/// A page's blocks in their order.
pub fn blocks(page: &str) -> Vec<Block> {
    let mut found = Vec::new();
    let mut open: Option<Block> = None;
    for (i, line) in page.lines().enumerate() {
        match (line.strip_prefix("```"), open.as_mut()) {
            (Some(""), Some(_)) => found.extend(open.take()),
            (Some(info), None) => {
                let (language, rest) = info.split_once(' ').unwrap_or((info, ""));
                let is_run = ["sh", "sql", "python", "text"].contains(&language);
                let is_shown_only = rest == "no-run" || !is_run;
                open = Some(Block { line: i + 2, language: language.into(), is_shown_only, text: String::new() });
            }
            (None, Some(block)) => {
                block.text.push_str(line);
                block.text.push('\n');
            }
            _ => {}
        }
    }
    assert!(open.is_none(), "a fence is not closed");
    found
}

/// The page with other text in the block that begins at a line.
pub fn replaced(page: &str, block: &Block, text: &str) -> String {
    let mut lines: Vec<&str> = page.lines().collect();
    let from = block.line - 1;
    let count = block.text.lines().count();
    lines.splice(from..from + count, text.lines());
    lines.join("\n") + "\n"
}
