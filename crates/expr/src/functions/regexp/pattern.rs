//! Patterns as ICU understands them, made of expressions of the `regex` crate.
//!
//! What the crate spells otherwise is [translated](translate): `\Q..\E`, `\R`, `\h`, `\H`, `\v`, `\V`, `\Z`, `\e` and
//! `(?#comments)`. A line ends with LF, CR or CR LF, under the flag `u` with LF alone; `$` and `\Z` match behind the
//! last character and before the line end that the text may close with. The crate knows no such `$`: a text that closes
//! with a line end is searched without it, too ([`Pattern::find_at`]).

use super::long::{Long, Slots};
use regex::{Regex, RegexBuilder};
use std::sync::{Arc, OnceLock};
use types::{Ask, Error, Result};

/// Bytes that a compiled pattern may take.
pub(super) const SIZE_MAX: usize = 16 << 20;

/// Matches after which to look at whether to stop.
pub(super) const MATCHES_ASKED: usize = 1024;

/// Texts of fewer bytes are searched without thinking.
const SHORT_BYTES: usize = 1024;

/// Bytes of text times states of the pattern that the `regex` crate is left alone with.
const STEPS_MAX: usize = 1 << 24;

/// The flags of a pattern; those of `match_type`, applied to what the collation says.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flags {
    pub insensitive: bool,
    pub multi_line: bool,
    pub dot_all: bool,
    pub unix_lines: bool,
}

/// A compiled pattern.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    regex: Regex,
    /// What it was made of.
    text: Arc<str>,
    flags: Flags,
    /// Made for the first long text.
    long: Arc<OnceLock<Option<Long>>>,
    /// It may match before the line end that closes the text.
    anchored: bool,
    unix_lines: bool,
}

/// Where a pattern was found: byte offsets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub start: usize,
    pub end: usize,
}

impl Pattern {
    pub(super) fn new(pattern: &str, flags: Flags) -> Result<Pattern> {
        let (text, anchored) = translate(pattern, flags.multi_line);
        let regex = RegexBuilder::new(&text)
            .case_insensitive(flags.insensitive)
            .multi_line(flags.multi_line)
            .dot_matches_new_line(flags.dot_all)
            .crlf(!flags.unix_lines)
            .size_limit(SIZE_MAX)
            .build()
            .map_err(|e| syntax_error(&e))?;
        Ok(Pattern { regex, text: text.into(), flags, long: Arc::default(), anchored, unix_lines: flags.unix_lines })
    }

    /// What searches `bytes` of text, where that may take long.
    fn long_for(&self, bytes: usize) -> Option<&Long> {
        if bytes < SHORT_BYTES {
            return None;
        }
        let long = self.long.get_or_init(|| Long::new(&self.text, self.flags).ok()).as_ref();
        long.filter(|l| l.states().saturating_mul(bytes) > STEPS_MAX)
    }

    /// The text without the line end that closes it, if `$` may match before that.
    fn open_end<'t>(&self, text: &'t str) -> Option<&'t str> {
        if !self.anchored {
            return None;
        }
        let lf = text.strip_suffix('\n');
        if self.unix_lines {
            return lf;
        }
        lf.map(|t| t.strip_suffix('\r').unwrap_or(t)).or_else(|| text.strip_suffix(LINE_ENDS))
    }

    pub(super) fn is_match(&self, text: &str, ask: Ask<'_>) -> Result<bool> {
        let Some(long) = self.long_for(text.len()) else {
            return Ok(self.regex.is_match(text) || self.open_end(text).is_some_and(|t| self.regex.is_match(t)));
        };
        if long.find(text, 0, true, ask)?.is_some() {
            return Ok(true);
        }
        self.open_end(text).map_or(Ok(false), |t| Ok(long.find(t, 0, true, ask)?.is_some()))
    }

    /// The first match that begins at byte `at` or later.
    pub(super) fn find_at(&self, text: &str, at: usize, ask: Ask<'_>) -> Result<Option<Found>> {
        let find = |text: &str| match self.long_for(text.len() - at) {
            Some(long) => long.find(text, at, false, ask),
            None => Ok(self.regex.find_at(text, at).map(|m| Found { start: m.start(), end: m.end() })),
        };
        let whole = find(text)?;
        let open = self.open_end(text).filter(|t| at <= t.len()).map_or(Ok(None), find)?;
        Ok(match (whole, open) {
            (Some(w), Some(o)) if o.start < w.start => Some(o),
            (w, o) => w.or(o),
        })
    }

    /// The groups of a match: byte offsets, two each.
    pub(super) fn groups(&self, text: &str, found: Found, ask: Ask<'_>) -> Result<Slots> {
        let groups = |text: &str| -> Result<Option<Slots>> {
            if let Some(long) = self.long_for(text.len() - found.start) {
                return long.groups(text, found.start, ask);
            }
            let captures = self.regex.captures_at(text, found.start);
            let ends = |m: Option<regex::Match>| [m.map(|m| m.start()), m.map(|m| m.end())];
            Ok(captures.map(|c| c.iter().flat_map(ends).collect()))
        };
        // Of the text with or without the line end that closes it.
        let whole = groups(text)?.filter(|s| s[..2] == [Some(found.start), Some(found.end)]);
        let open = || self.open_end(text).filter(|t| found.end <= t.len()).map_or(Ok(None), groups);
        Ok(whole.map_or_else(open, |w| Ok(Some(w)))?.unwrap_or_default())
    }

    /// Match number `n`, from 1 on.
    pub(super) fn nth(&self, text: &str, n: usize, ask: Ask<'_>) -> Result<Option<Found>> {
        let mut found = self.find_at(text, 0, ask)?;
        for k in 1..n {
            if k % MATCHES_ASKED == 0 {
                ask()?;
            }
            let Some(from) = found.and_then(|f| next_start(text, f)) else { return Ok(None) };
            found = self.find_at(text, from, ask)?;
        }
        Ok(found)
    }
}

/// Where the search goes on behind a match: an empty one may follow another at once, but not itself.
pub(super) fn next_start(text: &str, found: Found) -> Option<usize> {
    if found.end > found.start {
        return Some(found.end);
    }
    text[found.end..].chars().next().map(|c| found.end + c.len_utf8())
}

const LINE_ENDS: [char; 7] = ['\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}'];
const LINE_END_CLASS: &str = r"\n\x0B\x0C\r\x{85}\x{2028}\x{2029}";
const BLANK_CLASS: &str = r"\t\p{Zs}";

/// The pattern in the crate's spelling; whether it has a `$` or `\Z` that stands for the end of the text.
fn translate(pattern: &str, multi_line: bool) -> (String, bool) {
    let mut out = String::with_capacity(pattern.len() + 8);
    let (mut classes, mut anchored) = (0usize, false);
    let mut rest = pattern;
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        rest = match c {
            '\\' => escape(after, classes > 0, &mut anchored, &mut out),
            '(' if classes == 0 && after.starts_with("?#") => after.find(')').map_or("", |end| &after[end + 1..]),
            _ => {
                match c {
                    '[' => classes += 1,
                    ']' => classes = classes.saturating_sub(1),
                    '$' if classes == 0 => anchored |= !multi_line,
                    _ => {}
                }
                out.push(c);
                after
            }
        };
        // A bracket that closes nothing is itself.
        if c == '[' && classes == 1 {
            let negated = rest.strip_prefix('^');
            let first = negated.unwrap_or(rest);
            if let Some(behind) = first.strip_prefix(']') {
                out.push_str(if negated.is_some() { "^]" } else { "]" });
                rest = behind;
            }
        }
    }
    (out, anchored)
}

/// Translates what follows a backslash; the answer is what is left.
fn escape<'p>(after: &'p str, in_class: bool, anchored: &mut bool, out: &mut String) -> &'p str {
    let Some(c) = after.chars().next() else {
        out.push('\\');
        return after;
    };
    let rest = &after[c.len_utf8()..];
    let class = |set: &str, negated: bool, out: &mut String| match (in_class, negated) {
        (true, false) => out.push_str(set),
        (_, false) => out.extend(["[", set, "]"]),
        (_, true) => out.extend(["[^", set, "]"]),
    };
    match c {
        'Q' => {
            let (quoted, behind) = rest.split_once("\\E").unwrap_or((rest, ""));
            out.push_str(&regex::escape(quoted));
            return behind;
        }
        'E' => {}
        'e' => out.push_str("\\x1B"),
        'h' | 'H' => class(BLANK_CLASS, c == 'H', out),
        'v' | 'V' => class(LINE_END_CLASS, c == 'V', out),
        'R' if !in_class => out.extend(["(?:\\r\\n|[", LINE_END_CLASS, "])"]),
        'Z' if !in_class => {
            *anchored = true;
            out.push_str("\\z");
        }
        _ => out.extend(['\\', c]),
    }
    rest
}

fn syntax_error(e: &regex::Error) -> Error {
    let text = e.to_string();
    if text.contains("look-around") || text.contains("backreferences") {
        Error::not_supported("look-around and back-references in regular expressions")
    } else if text.contains("unclosed group") || text.contains("unopened group") {
        Error::regexp_mismatched_paren()
    } else if text.contains("unclosed character class") {
        Error::regexp_missing_close_bracket()
    } else if text.contains("invalid character class range") {
        Error::regexp_invalid_range()
    } else if text.contains("repetition quantifier") || text.contains("invalid repetition count range") {
        Error::regexp_bad_interval()
    } else if text.contains("unrecognized escape") {
        Error::regexp_bad_escape_sequence()
    } else {
        Error::regexp_rule_syntax(1, 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Flags = Flags { insensitive: false, multi_line: false, dot_all: false, unix_lines: false };

    #[test]
    fn spellings() {
        for (icu, ours) in [
            (r"a.b$", r"a.b$"),
            (r"\Qa.b\E+", r"a\.b+"),
            (r"\Qa[b", r"a\[b"),
            (r"a(?#one [ two)b", r"ab"),
            (r"[(?#)]", r"[(?#)]"),
            (r"[]$]x", r"[]$]x"),
            (r"[^]$]x", r"[^]$]x"),
            (r"[[:alpha:]$]", r"[[:alpha:]$]"),
            (r"\h[\h]\H", r"[\t\p{Zs}][\t\p{Zs}][^\t\p{Zs}]"),
            (r"\d\$\", r"\d\$\"),
        ] {
            assert_eq!(translate(icu, false).0, ours, "{icu}");
        }
        for (pattern, anchored) in [("a$", true), (r"a\$", false), ("[$]", false), (r"a\Z", true), (r"a\z", false)] {
            assert_eq!(translate(pattern, false).1, anchored, "{pattern}");
        }
        assert!(!translate("a$", true).1);
    }

    #[test]
    fn ends_of_lines() {
        let find = |pattern: &str, text: &str, flags: Flags| {
            Pattern::new(pattern, flags).unwrap().find_at(text, 0, &|| Ok(())).unwrap().map(|f| (f.start, f.end))
        };
        let unix = Flags { unix_lines: true, ..PLAIN };
        let lines = Flags { multi_line: true, ..PLAIN };
        for (pattern, text, flags, expected) in [
            ("c$", "abc\r\n", PLAIN, Some((2, 3))),
            ("c$", "abc\r\n", unix, None),
            ("c$", "abc\n", unix, Some((2, 3))),
            ("c$", "abc\n\n", PLAIN, None),
            ("c\\Z", "abc\u{2028}", PLAIN, Some((2, 3))),
            ("c\\z", "abc\n", PLAIN, None),
            ("b?c$", "abc\nbc\n", PLAIN, Some((4, 6))),
            ("a$", "a\r\nb", lines, Some((0, 1))),
            ("a$", "a\rb", lines, Some((0, 1))),
            ("a.b", "a\rb", PLAIN, None),
            ("a.b", "a\rb", unix, Some((0, 3))),
            ("a\\Rb", "a\r\nb", PLAIN, Some((0, 4))),
        ] {
            assert_eq!(find(pattern, text, flags), expected, "{pattern} in {text:?}");
        }
    }
}
