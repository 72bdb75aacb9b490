//! KEYWORDS: MySQL 8.4's words ("Keywords and Reserved Words" in its manual). Those that are not reserved are in a
//! file: the parser need not tell most of them from other identifiers.

use super::VirtualTable;
use session::rows::{BIGINT, int, s, text};

static UNRESERVED: &str = include_str!("unreserved_words.txt");

pub const KEYWORDS: VirtualTable = VirtualTable {
    name: "KEYWORDS",
    columns: &[("WORD", text(128)), ("RESERVED", BIGINT)],
    rows: |_, out| {
        let reserved = parser::reserved_words().map(|w| (w, 1));
        let mut words: Vec<(&str, i64)> = UNRESERVED.lines().map(|w| (w, 0)).chain(reserved).collect();
        words.sort_unstable();
        out.rows = words.into_iter().map(|(word, reserved)| vec![s(word), int(reserved)]).collect();
    },
};

#[cfg(test)]
mod tests {
    use super::UNRESERVED;

    #[test]
    fn a_word_is_reserved_or_not() {
        let words: Vec<&str> = UNRESERVED.lines().collect();
        assert!(words.is_sorted() && words.len() > 400);
        for word in parser::reserved_words() {
            assert!(!words.contains(&word), "{word}");
        }
    }
}
