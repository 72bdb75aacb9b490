//! Where statements end: `;`, `\g` and `\G` outside quotes and comments, or what DELIMITER names.

/// A piece of input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// A statement, without its terminator. `vertical`: it ended with `\G`.
    Statement { text: Vec<u8>, vertical: bool },
    /// A line that is the shell's own: `source file`, `quit`, `help`, `\q`, ...
    Command(String),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Inside {
    Plain,
    Quote(u8),
    LineComment,
    BlockComment,
}

/// Takes input line by line, gives out pieces.
#[derive(Debug)]
pub struct Splitter {
    buffer: Vec<u8>,
    /// Up to here the buffer has been looked at.
    at: usize,
    inside: Inside,
    delimiter: Vec<u8>,
}

impl Default for Splitter {
    fn default() -> Splitter {
        Splitter { buffer: Vec::new(), at: 0, inside: Inside::Plain, delimiter: b";".to_vec() }
    }
}

/// Words that the shell answers itself when they begin a line and no statement is open.
const COMMANDS: &[&str] = &[
    "source", "quit", "exit", "help", "use", "timing", "status", "clear", "\\.", "\\q", "\\h", "\\u", "\\t", "\\s",
    "\\?", "\\c",
];

impl Splitter {
    pub fn feed(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// A statement has begun and not ended.
    pub fn is_open(&self) -> bool {
        !self.buffer.iter().all(u8::is_ascii_whitespace)
    }

    /// Forgets what has begun.
    pub fn clear(&mut self) {
        self.buffer.clear();
        self.at = 0;
        self.inside = Inside::Plain;
    }

    /// The next complete piece.
    pub fn next(&mut self) -> Option<Piece> {
        if self.at == 0 {
            self.skip_blank();
            if let Some(piece) = self.command() {
                return piece;
            }
        }
        while self.at < self.buffer.len() {
            if let Some(piece) = self.step() {
                return Some(piece);
            }
        }
        None
    }

    /// What is left at the end of input, without a terminator.
    pub fn rest(&mut self) -> Option<Piece> {
        let text = std::mem::take(&mut self.buffer);
        self.clear();
        if text.iter().all(u8::is_ascii_whitespace) { None } else { Some(Piece::Statement { text, vertical: false }) }
    }

    fn skip_blank(&mut self) {
        let n = self.buffer.iter().take_while(|b| b.is_ascii_whitespace()).count();
        self.buffer.drain(..n);
    }

    /// A command of the shell at the start. `Some(None)`: DELIMITER was changed, or the line is not complete.
    fn command(&mut self) -> Option<Option<Piece>> {
        let end = self.buffer.iter().position(|&b| b == b'\n')?;
        let line = String::from_utf8_lossy(&self.buffer[..end]).trim().to_string();
        let word = line.split_whitespace().next()?.trim_end_matches(';').to_ascii_lowercase();
        if word == "delimiter" {
            if let Some(d) = line.split_whitespace().nth(1) {
                self.delimiter = d.as_bytes().to_vec();
            }
            self.buffer.drain(..=end);
            return Some(self.next());
        }
        let is_use = word == "use" && line.contains(';');
        if !COMMANDS.contains(&word.as_str()) || is_use {
            return None;
        }
        self.buffer.drain(..=end);
        Some(Some(Piece::Command(line.trim_end_matches(';').to_string())))
    }

    fn take(&mut self, terminator: usize, vertical: bool) -> Option<Piece> {
        let text = self.buffer[..self.at].to_vec();
        self.buffer.drain(..self.at + terminator);
        self.at = 0;
        self.inside = Inside::Plain;
        if text.iter().all(u8::is_ascii_whitespace) { self.next() } else { Some(Piece::Statement { text, vertical }) }
    }

    /// Looks at one byte.
    fn step(&mut self) -> Option<Piece> {
        let (b, rest) = (self.buffer[self.at], &self.buffer[self.at..]);
        match self.inside {
            Inside::Plain => {
                if rest.starts_with(&self.delimiter) {
                    return self.take(self.delimiter.len(), false);
                }
                match (b, rest.get(1)) {
                    (b'\\', Some(b'G')) => return self.take(2, true),
                    (b'\\', Some(b'g')) => return self.take(2, false),
                    (b'\'' | b'"' | b'`', _) => self.inside = Inside::Quote(b),
                    (b'#', _) => self.inside = Inside::LineComment,
                    (b'-', Some(b'-')) if rest.get(2).is_none_or(u8::is_ascii_whitespace) => {
                        self.inside = Inside::LineComment;
                    }
                    (b'/', Some(b'*')) => {
                        self.inside = Inside::BlockComment;
                        self.at += 1;
                    }
                    _ => {}
                }
            }
            Inside::Quote(q) if b == q => self.inside = Inside::Plain,
            Inside::Quote(q) if b == b'\\' && q != b'`' => self.at += 1,
            Inside::LineComment if b == b'\n' => self.inside = Inside::Plain,
            Inside::BlockComment if b == b'*' && rest.get(1) == Some(&b'/') => {
                self.inside = Inside::Plain;
                self.at += 1;
            }
            _ => {}
        }
        self.at += 1;
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(input: &str) -> Vec<String> {
        let mut s = Splitter::default();
        let mut out = Vec::new();
        for line in input.split_inclusive('\n') {
            s.feed(line.as_bytes());
            while let Some(p) = s.next() {
                out.push(match p {
                    Piece::Statement { text, vertical } => {
                        format!("{}{}", String::from_utf8_lossy(&text), if vertical { "|G" } else { "" })
                    }
                    Piece::Command(c) => format!("!{c}"),
                });
            }
        }
        if let Some(Piece::Statement { text, .. }) = s.rest() {
            out.push(format!("{}...", String::from_utf8_lossy(&text)));
        }
        out
    }

    #[test]
    fn statements_end_outside_quotes_and_comments() {
        assert_eq!(pieces("select 1; select 2\\G\n"), ["select 1", "select 2|G"]);
        assert_eq!(pieces("select ';', \"\\\";\", `;`;\n"), ["select ';', \"\\\";\", `;`"]);
        assert_eq!(pieces("select 1 -- ;\n+1;\n"), ["select 1 -- ;\n+1"]);
        assert_eq!(pieces("select /* ; */ 1 # ;\n;"), ["select /* ; */ 1 # ;\n"]);
        assert_eq!(pieces("select 1--1;\n"), ["select 1--1"]);
        assert_eq!(pieces("select\n1"), ["select\n1..."]);
        assert_eq!(pieces(";;\n;"), Vec::<String>::new());
    }

    #[test]
    fn the_shells_own_commands_are_lines() {
        assert_eq!(pieces("source a.sql\nselect 1;\nquit\n"), ["!source a.sql", "select 1", "!quit"]);
        assert_eq!(pieces("use shop\nuse shop;\n"), ["!use shop", "use shop"]);
        assert_eq!(pieces("use shop; select 1;\n"), ["use shop", "select 1"]);
        assert_eq!(pieces("delimiter //\nselect 1; //\ndelimiter ;\nselect 2;\n"), ["select 1; ", "select 2"]);
    }
}
