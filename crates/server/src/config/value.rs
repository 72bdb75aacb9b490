//! Values of options: numbers with a unit, switches.

/// A number, with MySQL's units K, M, G, T, P, E (powers of 1024).
pub fn parse_size(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match &text[digits.len()..] {
        "" => 0,
        "k" | "K" => 10,
        "m" | "M" => 20,
        "g" | "G" => 30,
        "t" | "T" => 40,
        "p" | "P" => 50,
        "e" | "E" => 60,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

/// ON, OFF and their other spellings.
pub fn parse_bool(text: &str) -> Option<bool> {
    let is = |words: [&str; 4]| words.iter().any(|word| word.eq_ignore_ascii_case(text.trim()));
    if is(["ON", "1", "TRUE", "YES"]) {
        Some(true)
    } else if is(["OFF", "0", "FALSE", "NO"]) {
        Some(false)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!(parse_size("0"), Some(0));
        assert_eq!(parse_size(" 16M "), Some(16 << 20));
        assert_eq!(parse_size("2g"), Some(2 << 30));
        for wrong in ["", "K", "-1", "1.5G", "12KB", "99999999999E", "é"] {
            assert_eq!(parse_size(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn switches() {
        assert_eq!((parse_bool("on"), parse_bool("0"), parse_bool("2")), (Some(true), Some(false), None));
    }
}
