//! The lines and fields of a block.
//!
//! ```text
//!   line  = [anything STARTING BY] field (TERMINATED BY field)* LINES TERMINATED BY
//!   field = bytes | ENCLOSED bytes ENCLOSED
//! ```
//! A line end is recognized before a field end where one begins like the other. Inside of an enclosed field neither
//! counts, unless the enclosing character comes right before it; doubled, that character stands for itself. The escape
//! character takes the meaning from the next byte, or gives it one: `\0 \b \n \r \t \Z`, and `\N` alone is NULL. If it
//! is the enclosing character, too, it does so only where it is doubled.

use super::format::Format;

/// A field of the line, as read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Field<'a> {
    pub bytes: &'a [u8],
    pub is_null: bool,
}

/// Walks through a block.
#[derive(Debug)]
pub struct Scanner<'a> {
    format: &'a Format,
    data: &'a [u8],
    at: usize,
    /// The current line has ended.
    line_done: bool,
    /// The last field, where it is not a slice of the block.
    scratch: Vec<u8>,
    /// For each byte, whether it means anything in a field that is not enclosed.
    special: [bool; 256],
}

impl<'a> Scanner<'a> {
    pub fn new(format: &'a Format, data: &'a [u8]) -> Scanner<'a> {
        let mut special = [false; 256];
        special[format.field_end[0] as usize] = true;
        special[format.line_end[0] as usize] = true;
        if let Some(e) = format.escape {
            special[e as usize] = true;
        }
        Scanner { format, data, at: 0, line_done: true, scratch: Vec::new(), special }
    }

    /// Bytes walked through so far.
    pub fn position(&self) -> usize {
        self.at
    }

    /// Goes to the beginning of the next line's fields. False: there is none.
    pub fn next_line(&mut self) -> bool {
        debug_assert!(self.line_done);
        if !self.format.line_start.is_empty() {
            let rest = &self.data[self.at..];
            match find(rest, &self.format.line_start) {
                Some(i) => self.at += i + self.format.line_start.len(),
                None => self.at = self.data.len(),
            }
        }
        self.line_done = self.at == self.data.len();
        !self.line_done
    }

    /// Whether the line has more fields.
    pub fn has_field(&self) -> bool {
        !self.line_done
    }

    fn ends_line(&self, at: usize) -> bool {
        self.data[at..].starts_with(&self.format.line_end)
    }

    fn ends_field(&self, at: usize) -> bool {
        self.data[at..].starts_with(&self.format.field_end)
    }

    /// The next field of the line. There must be one.
    #[inline]
    pub fn next_field(&mut self) -> Field<'_> {
        debug_assert!(!self.line_done);
        let data = self.data;
        if let Some(q) = self.format.enclosed
            && data.get(self.at) == Some(&q)
        {
            return self.enclosed_field(q);
        }
        let start = self.at;
        let mut i = start;
        loop {
            while i < data.len() && !self.special[data[i] as usize] {
                i += 1;
            }
            if i == data.len() || self.ends_line(i) {
                self.at = (i + self.format.line_end.len()).min(data.len());
                self.line_done = true;
                break;
            }
            if self.ends_field(i) {
                self.at = i + self.format.field_end.len();
                // A field end at the very end of a line, as some programs write it, is followed by one more field,
                // which is empty; see Scanner::end_line.
                self.line_done = false;
                break;
            }
            if Some(data[i]) == self.format.escape {
                return self.escaped_field(start, i);
            }
            i += 1;
        }
        let bytes = &data[start..i];
        Field { bytes, is_null: bytes == b"NULL" && self.format.enclosed.is_some() }
    }

    /// A field with escapes, from the first one on at `i`.
    fn escaped_field(&mut self, start: usize, mut i: usize) -> Field<'_> {
        let data = self.data;
        self.scratch.clear();
        self.scratch.extend_from_slice(&data[start..i]);
        let mut null_seen = false;
        loop {
            if i == data.len() || self.ends_line(i) && Some(data[i]) != self.format.escape {
                self.at = (i + self.format.line_end.len()).min(data.len());
                self.line_done = true;
                break;
            }
            if Some(data[i]) == self.format.escape {
                i += 1;
                match data.get(i) {
                    None => self.scratch.push(data[i - 1]),
                    // An escape character that encloses, too, only stands for itself.
                    Some(&b) if self.format.escape == self.format.enclosed => {
                        self.scratch.push(data[i - 1]);
                        i += usize::from(Some(b) == self.format.escape);
                    }
                    Some(&b) => {
                        null_seen |= b == b'N';
                        self.scratch.push(unescape(b));
                        i += 1;
                    }
                }
            } else if self.ends_field(i) {
                self.at = i + self.format.field_end.len();
                break;
            } else {
                self.scratch.push(data[i]);
                i += 1;
            }
        }
        let is_null = null_seen && self.scratch.len() == 1;
        Field { bytes: &self.scratch, is_null }
    }

    fn enclosed_field(&mut self, q: u8) -> Field<'_> {
        let data = self.data;
        self.scratch.clear();
        let mut i = self.at + 1;
        let mut null_seen = false;
        loop {
            let Some(&b) = data.get(i) else {
                // The closing character is missing: everything up to the end belongs to the field.
                self.at = data.len();
                self.line_done = true;
                break;
            };
            if Some(b) == self.format.escape && self.format.escape != Some(q) {
                match data.get(i + 1) {
                    None => {
                        self.scratch.push(b);
                        i += 1;
                    }
                    Some(&e) => {
                        null_seen |= e == b'N';
                        self.scratch.push(unescape(e));
                        i += 2;
                    }
                }
            } else if b == q {
                if data.get(i + 1) == Some(&q) {
                    self.scratch.push(q);
                    i += 2;
                } else if i + 1 == data.len() || self.ends_line(i + 1) {
                    self.at = (i + 1 + self.format.line_end.len()).min(data.len());
                    self.line_done = true;
                    break;
                } else if self.ends_field(i + 1) {
                    self.at = i + 1 + self.format.field_end.len();
                    break;
                } else {
                    self.scratch.push(q);
                    i += 1;
                }
            } else {
                self.scratch.push(b);
                i += 1;
            }
        }
        let is_null = null_seen && self.scratch.len() == 1;
        Field { bytes: &self.scratch, is_null }
    }

    /// Leaves the rest of the line unread; says whether there was any.
    pub fn end_line(&mut self) -> bool {
        if self.line_done {
            return false;
        }
        self.line_done = true;
        let rest = &self.data[self.at..];
        let end = find(rest, &self.format.line_end);
        self.at += end.map_or(rest.len(), |e| e + self.format.line_end.len());
        end.unwrap_or(rest.len()) > 0
    }
}

fn unescape(b: u8) -> u8 {
    match b {
        b'0' => 0,
        b'b' => 8,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'Z' => 26,
        other => other,
    }
}

/// Where `needle`, which is not empty, first occurs.
pub fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    let mut from = 0;
    loop {
        let i = from + haystack[from..].iter().position(|b| *b == needle[0])?;
        if haystack[i..].starts_with(needle) {
            return Some(i);
        }
        from = i + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parser::ast::FieldsLines;

    fn format(field_end: &str, enclosed: &str, escape: &str, line_start: &str, line_end: &str) -> Format {
        let bytes = |s: &str| Some(s.as_bytes().into());
        Format::new(&FieldsLines {
            fields_terminated_by: bytes(field_end),
            enclosed_by: bytes(enclosed),
            optionally_enclosed: false,
            escaped_by: bytes(escape),
            lines_starting_by: bytes(line_start),
            lines_terminated_by: bytes(line_end),
        })
        .expect("valid")
    }

    /// Lines separated by '/', fields by ',', NULL as '~'.
    fn check(format: &Format, text: &str, wanted: &str) {
        let mut s = Scanner::new(format, text.as_bytes());
        let mut lines = vec![];
        while s.next_line() {
            let mut fields = vec![];
            while s.has_field() {
                let f = s.next_field();
                fields.push(if f.is_null { "~".into() } else { String::from_utf8_lossy(f.bytes).into_owned() });
            }
            lines.push(fields.join(","));
        }
        assert_eq!(lines.join("/"), wanted, "{text:?}");
    }

    #[test]
    fn defaults() {
        let f = Format::new(&FieldsLines::default()).expect("valid");
        check(&f, "a\tb\nc\td\n", "a,b/c,d");
        check(&f, "a\tb\nc\td", "a,b/c,d");
        check(&f, "", "");
        check(&f, "\n\na\n", "//a");
        check(&f, "\\N\t\\Nx\tx\\N\tN\n", "~,Nx,xN,N");
        check(&f, "a\\\tb\\\nc\\\\\td\n", "a\tb\nc\\,d");
        check(&f, "\\t\\n\\0\\b\\r\\Z\\q\n", "\t\n\0\u{8}\r\u{1a}q");
        check(&f, "NULL\t\"x\"\n", "NULL,\"x\"");
        check(&f, "x\\", "x\\");
    }

    #[test]
    fn csv() {
        let f = format(",", "\"", "\\", "", "\n");
        check(&f, "1,\"a,b\",NULL,\"NULL\"\n", "1,a,b,~,NULL");
        check(&f, "\"a\"\"b\",\"c\nd\",\"e\\\"f\"\n", "a\"b,c\nd,e\"f");
        check(&f, "\"a\"b\",c\n", "a\"b,c");
        check(&f, "a\"b\",\"\"\n\"\",x", "a\"b\",/,x");
        check(&f, "\"open,\n", "open,\n");
        let f = format(",", "\"", "\"", "", "\r\n");
        check(&f, "\"a\\b\",\"c\"\"d\"\r\nx\\N,y\n\r\n", "a\\b,c\"d/x\\N,y\n");
        check(&f, "9,un\"quoted,9\"\"0,\"N\r\nx\",y\"\r\nz\"", "9,un\"quoted,9\"0,N\r\nx,y\"/z\"");
    }

    #[test]
    fn line_starts_and_long_delimiters() {
        let f = format("||", "", "", ">>", "|\n");
        check(&f, "junk>>a||b\\|\nno start|\n>>c|\n", "a,b\\/c");
        let f = format("|", "", "\\", "", "|\n");
        check(&f, "1|x|\n2|y|\n", "1,x/2,y");
    }

    #[test]
    fn the_rest_of_a_line() {
        let f = format("|", "", "\\", "", "\n");
        let mut s = Scanner::new(&f, b"1|2|\n3|4|5\n6\n7|8");
        for (wanted, rest) in [(b"1", true), (b"3", true), (b"6", false), (b"7", true)] {
            assert!(s.next_line());
            assert_eq!(s.next_field().bytes, wanted);
            assert_eq!(s.end_line(), rest);
        }
        assert!(!s.next_line());
        // A field end right before the line end is no further field.
        let mut s = Scanner::new(&f, b"1|\n");
        assert!(s.next_line());
        s.next_field();
        assert!(!s.end_line());
    }
}
