//! Option files in MySQL's format (my.cnf).
//!
//! ```text
//! # comment                     ; comment
//! [group]
//! name
//! name = value # comment        name = "value with # and \n"
//! !include other.cnf            !includedir directory
//! ```
//!
//! Source: MySQL's manual, "Using Option Files".

use std::fs;
use std::path::{Path, PathBuf};

use super::{ConfigError, Setting, Source};

/// Groups whose options concern this server.
const GROUPS: [&str; 3] = ["mysqld", "server", "nextleaf"];
const INCLUDE_DEPTH_MAX: usize = 10;

/// An option of a file, of whatever group.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileOption {
    pub group: String,
    pub name: String,
    pub value: Option<String>,
    pub path: PathBuf,
    pub line: usize,
}

/// Reads a file, and what it includes, for this server.
pub fn read_option_file(path: &Path) -> Result<Vec<Setting>, ConfigError> {
    let mut options = Vec::new();
    read_into(path, &mut options, 0)?;
    let ours = options.into_iter().filter(|option| GROUPS.contains(&option.group.as_str()));
    Ok(ours
        .map(|option| {
            let source = Source::File { path: option.path, line: option.line, group: option.group };
            Setting::new(&option.name, option.value.as_deref(), source)
        })
        .collect())
}

fn read_into(path: &Path, options: &mut Vec<FileOption>, depth: usize) -> Result<(), ConfigError> {
    if depth > INCLUDE_DEPTH_MAX {
        return Err(ConfigError(format!("{}: option files include each other too deeply", path.display())));
    }
    let text = fs::read_to_string(path)
        .map_err(|e| ConfigError(format!("cannot read the option file {}: {e}", path.display())))?;
    let mut group = None;
    for (i, line) in text.lines().enumerate() {
        let wrong = |what: &str| ConfigError(format!("{}:{}: {what}", path.display(), i + 1));
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(directive) = line.strip_prefix('!') {
            include(path, directive, options, depth).map_err(|e| match e {
                Some(e) => e,
                None => wrong("neither !include nor !includedir"),
            })?;
        } else if let Some(rest) = line.strip_prefix('[') {
            let name = rest.split_once(']').ok_or_else(|| wrong("a group without its closing bracket"))?.0;
            group = Some(name.trim().to_ascii_lowercase());
        } else {
            let group = group.clone().ok_or_else(|| wrong("an option before the first group"))?;
            let (name, value) = match without_comment(line).split_once('=') {
                Some((name, value)) => (name.trim(), Some(unquoted(value.trim()))),
                None => (without_comment(line).trim(), None),
            };
            if name.is_empty() {
                return Err(wrong("a value without a name"));
            }
            options.push(FileOption { group, name: name.to_owned(), value, path: path.to_owned(), line: i + 1 });
        }
    }
    Ok(())
}

fn include(
    path: &Path,
    directive: &str,
    options: &mut Vec<FileOption>,
    depth: usize,
) -> Result<(), Option<ConfigError>> {
    let (word, target) = directive.split_once(char::is_whitespace).ok_or(None)?;
    let target = path.parent().unwrap_or(Path::new("")).join(target.trim());
    match word {
        "include" => read_into(&target, options, depth + 1).map_err(Some),
        "includedir" => {
            let entries = fs::read_dir(&target)
                .map_err(|e| ConfigError(format!("cannot read the directory {}: {e}", target.display())))
                .map_err(Some)?;
            let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
            files.retain(|file| file.extension().is_some_and(|extension| extension == "cnf"));
            files.sort();
            files.iter().try_for_each(|file| read_into(file, options, depth + 1)).map_err(Some)
        }
        _ => Err(None),
    }
}

/// The line up to a `#` that is not inside quotes.
fn without_comment(line: &str) -> &str {
    let mut quote = None;
    let mut escaped = false;
    for (at, c) in line.char_indices() {
        match (c, quote) {
            _ if escaped => escaped = false,
            ('\\', Some(_)) => escaped = true,
            ('#', None) => return &line[..at],
            ('\'' | '"', None) => quote = Some(c),
            (_, Some(open)) if c == open => quote = None,
            _ => {}
        }
    }
    line
}

/// Takes enclosing quotes off and resolves escapes.
fn unquoted(value: &str) -> String {
    let inner = ['"', '\''].iter().find_map(|&quote| value.strip_prefix(quote)?.strip_suffix(quote)).unwrap_or(value);
    let mut out = String::with_capacity(inner.len());
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        match (c, chars.as_str().chars().next()) {
            ('\\', Some(next)) if "bntrs\\\"'".contains(next) => {
                chars.next();
                out.push(match next {
                    'b' => '\u{8}',
                    'n' => '\n',
                    't' => '\t',
                    'r' => '\r',
                    's' => ' ',
                    other => other,
                });
            }
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn dir(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("nextleaf-option-file-{}-{name}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        dir
    }

    #[test]
    fn groups_includes_quotes_and_comments() {
        let dir = dir("groups");
        fs::create_dir_all(dir.join("more")).unwrap();
        fs::write(dir.join("more/b.cnf"), "[nextleaf]\nport=2\n").unwrap();
        fs::write(dir.join("more/a.cnf"), "[nextleaf]\nport=1\n").unwrap();
        fs::write(dir.join("more/c.txt"), "nonsense").unwrap();
        let text = "# head\n[client]\nuser=x\n[mysqld]\n bind-address = ::1 # here\nskip-networking\n\
                    socket='a # b'\n[server]\nunheard_of=1\n[nextleaf]\ninit=\"a\\tb\"\n!includedir more\n";
        fs::write(dir.join("my.cnf"), text).unwrap();
        let settings = read_option_file(&dir.join("my.cnf")).unwrap();
        let got: Vec<_> = settings.iter().map(|s| (s.name.as_str(), s.value.as_str(), s.lenient)).collect();
        let expected = [
            ("bind_address", "::1", true),
            ("skip_networking", "ON", true),
            ("socket", "a # b", true),
            ("unheard_of", "1", true),
            ("init", "a\tb", false),
            ("port", "1", false),
            ("port", "2", false),
        ];
        assert_eq!(got, expected);
        assert!(settings[0].source.to_string().ends_with("my.cnf:5"));
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn wrong_files() {
        let dir = dir("wrong");
        let file = dir.join("my.cnf");
        for (text, message) in [
            ("port=1", ":1: an option before the first group"),
            ("[a]\n\n=1", ":3: a value without a name"),
            ("[a", ":1: a group without its closing bracket"),
            ("!nonsense x", ":1: neither !include"),
            ("!include my.cnf", "too deeply"),
            ("!include none.cnf", "cannot read the option file"),
        ] {
            fs::write(&file, text).unwrap();
            let error = read_option_file(&file).unwrap_err();
            assert!(error.0.contains(message), "{error}");
        }
        fs::remove_dir_all(dir).unwrap();
    }

    proptest! {
        #[test]
        fn any_line_does_not_panic(line in "[ -~é]{0,40}") {
            let _ = unquoted(without_comment(&line));
        }
    }
}
