//! What a LIKE pattern begins with bounds an index.

/// The text of a pattern before its first wildcard.
///
/// Without an ESCAPE clause it depends on the session whether a backslash escapes: the text ends there.
pub(in crate::optimize) fn like_prefix(pattern: &[u8], escape: Option<char>) -> Vec<u8> {
    let mut buffer = [0; 4];
    let named = escape.is_some();
    let escape = escape.unwrap_or('\\').encode_utf8(&mut buffer).as_bytes();
    let mut out = Vec::with_capacity(pattern.len());
    let mut rest = pattern;
    while let Some((&b, tail)) = rest.split_first() {
        if rest.starts_with(escape) {
            if !named {
                break;
            }
            // What follows stands for itself; an escape at the very end, too.
            rest = &rest[escape.len()..];
            match rest.split_first() {
                Some((&b, tail)) => {
                    out.push(b);
                    rest = tail;
                }
                None => out.extend_from_slice(escape),
            }
            continue;
        }
        if b == b'%' || b == b'_' {
            break;
        }
        out.push(b);
        rest = tail;
    }
    // Never half a character.
    let whole = std::str::from_utf8(&out).map_or_else(|e| e.valid_up_to(), str::len);
    if std::str::from_utf8(pattern).is_ok() {
        out.truncate(whole);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::like_prefix;

    #[test]
    fn text_before_the_first_wildcard() {
        let prefix = |p: &str| String::from_utf8(like_prefix(p.as_bytes(), None)).expect("text");
        assert_eq!(prefix("abc%"), "abc");
        assert_eq!(prefix("%abc"), "");
        assert_eq!(prefix("a_c"), "a");
        assert_eq!(prefix("a\\%b%"), "a");
        assert_eq!(like_prefix(b"a|%b%", Some('|')), b"a%b");
        assert_eq!(prefix("ä%"), "ä");
        assert_eq!(prefix("abc"), "abc");
    }
}
