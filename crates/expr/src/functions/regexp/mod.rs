//! REGEXP and the REGEXP_ functions.
//!
//! MySQL uses ICU's expressions. Ours are those of the `regex` crate: the same for what reports write, linear in time,
//! without look-around and back-references (1235); [`pattern`] sees to what is spelt otherwise. Case matters as the
//! collation says, unless `c` or `i` is asked for. `.` does not match a line end unless `n` is given; `m` lets `^` and
//! `$` match at line ends, of which `u` leaves LF alone. As in ICU an empty match may follow another match at once:
//! `REGEXP_REPLACE('aaa', 'a*', 'x')` is `xx`.

mod long;
mod pattern;

use super::Call;
use super::record::{Nulls, Ret, new, records};
use super::rules::check_charsets;
use crate::Expr;
use crate::eval::strbuf::StrBuf;
use Nulls::Maybe;
use Ret::{Bool, First, Int, Long};
pub(crate) use pattern::Pattern;
use pattern::{Flags, MATCHES_ASKED, next_start};
use types::collation::utf8;
use types::{Collation, Error, Result};
use vector::{Chunk, Vector};

records! {
    REGEXP_LIKE = new(&["REGEXP_LIKE"], 2, 3, "s", Bool, regexp_like).converts(in_like).may_warn();
    REGEXP_INSTR = new(&["REGEXP_INSTR"], 2, 6, "ssiiis", Int, regexp_instr).converts(in_instr).may_warn();
    REGEXP_SUBSTR = new(&["REGEXP_SUBSTR"], 2, 5, "ssiis", First, regexp_substr).converts(in_substr).nulls(Maybe)
        .may_warn();
    REGEXP_REPLACE = new(&["REGEXP_REPLACE"], 3, 6, "sssiis", Long, regexp_replace).converts(in_replace).may_warn();
}

fn in_like(args: &mut [Expr], _: Collation) -> Result<()> {
    check_charsets(args, "regexp_like")
}

fn in_instr(args: &mut [Expr], _: Collation) -> Result<()> {
    check_charsets(args, "regexp_instr")
}

fn in_substr(args: &mut [Expr], _: Collation) -> Result<()> {
    check_charsets(args, "regexp_substr")
}

fn in_replace(args: &mut [Expr], _: Collation) -> Result<()> {
    check_charsets(args, "regexp_replace")
}

/// The compiled pattern of a row; a constant pattern is compiled once.
fn compile(call: &Call, i: usize, flags: Option<usize>) -> Result<Pattern> {
    let pattern = call.bytes(1, i);
    let flags: &[u8] = match flags {
        Some(k) if call.len() > k => call.bytes(k, i),
        _ => b"",
    };
    let mut key = flags.to_vec();
    key.push(0);
    key.extend_from_slice(pattern);
    let mut cached = call.state.regex.lock().map_err(|_| Error::internal("a poisoned lock"))?;
    if let Some((k, r)) = &*cached
        && **k == *key
    {
        return Ok(r.clone());
    }
    let c = call.collation(0);
    let insensitive = !(c.is_bin() || c == Collation::Binary);
    let mut wanted = Flags { insensitive, multi_line: false, dot_all: false, unix_lines: false };
    for f in flags {
        match f {
            b'c' => wanted.insensitive = false,
            b'i' => wanted.insensitive = true,
            b'm' => wanted.multi_line = true,
            b'n' => wanted.dot_all = true,
            b'u' => wanted.unix_lines = true,
            _ => return Err(Error::wrong_arguments(call.name())),
        }
    }
    if pattern.is_empty() {
        return Err(Error::regexp_illegal_argument());
    }
    let built = Pattern::new(&String::from_utf8_lossy(pattern), wanted)?;
    *cached = Some((key.into(), built.clone()));
    Ok(built)
}

/// Byte offset of the 1-based character position; None if it is out of bounds.
fn start_at(call: &Call, s: &[u8], pos: i64) -> Result<usize> {
    if pos < 1 || pos - 1 > utf8::char_count(s) as i64 {
        return Err(if pos < 1 { Error::wrong_arguments(call.name()) } else { Error::regexp_index_outofbounds() });
    }
    Ok(utf8::offset_of_char(s, pos as usize - 1))
}

/// An argument that may be left out.
fn arg(call: &Call, k: usize, i: usize, default: i64) -> i64 {
    if call.len() > k { call.int(k, i) } else { default }
}

fn regexp_like(call: &Call) -> Result<Chunk> {
    let ask = || call.ctx.check_killed();
    let r = call.rows();
    let constant = call.args[1..].iter().all(|v| matches!(v, Vector::Const(_)));
    let any = r.valid.as_ref().is_none_or(|v| v.count_ones() > 0);
    let fixed = if constant && any { Some(compile(call, 0, Some(2))?) } else { None };
    r.fixed(|i| {
        let re = match &fixed {
            Some(r) => r,
            None => &compile(call, i, Some(2))?,
        };
        Ok(Some(match std::str::from_utf8(call.bytes(0, i)) {
            Ok(s) => re.is_match(s, &ask)?,
            Err(_) => re.is_match(&String::from_utf8_lossy(call.bytes(0, i)), &ask)?,
        } as i8))
    })
}

fn regexp_instr(call: &Call) -> Result<Chunk> {
    let ask = || call.ctx.check_killed();
    call.rows().fixed(|i| {
        let re = compile(call, i, Some(5))?;
        let s = call.bytes(0, i);
        let text = String::from_utf8_lossy(s);
        let start = start_at(call, text.as_bytes(), arg(call, 2, i, 1))?;
        let occurrence = arg(call, 3, i, 1).max(1) as usize;
        let found = re.nth(&text[start..], occurrence, &ask)?;
        Ok(Some(found.map_or(0, |m| {
            let at = start + if arg(call, 4, i, 0) == 0 { m.start } else { m.end };
            utf8::char_count(&text.as_bytes()[..at]) as i64 + 1
        })))
    })
}

fn regexp_substr(call: &Call) -> Result<Chunk> {
    let ask = || call.ctx.check_killed();
    call.rows().strings(|i, out| {
        let re = compile(call, i, Some(4))?;
        let text = String::from_utf8_lossy(call.bytes(0, i));
        let start = start_at(call, text.as_bytes(), arg(call, 2, i, 1))?;
        let occurrence = arg(call, 3, i, 1).max(1) as usize;
        match re.nth(&text[start..], occurrence, &ask)? {
            Some(m) => {
                out.extend_from_slice(&text.as_bytes()[start + m.start..start + m.end]);
                Ok(true)
            }
            None => Ok(false),
        }
    })
}

fn regexp_replace(call: &Call) -> Result<Chunk> {
    let ask = || call.ctx.check_killed();
    call.rows().strings(|i, out| {
        let re = compile(call, i, Some(5))?;
        let text = String::from_utf8_lossy(call.bytes(0, i));
        let with = String::from_utf8_lossy(call.bytes(2, i));
        let names_groups = with.contains('$');
        let start = start_at(call, text.as_bytes(), arg(call, 3, i, 1))?;
        let occurrence = arg(call, 4, i, 0).max(0) as usize;
        out.extend_from_slice(&text.as_bytes()[..start]);
        let rest = &text[start..];
        let (mut at, mut from, mut k) = (0, Some(0), 0);
        while let Some(begin) = from
            && let Some(m) = re.find_at(rest, begin, &ask)?
        {
            (from, k) = (next_start(rest, m), k + 1);
            if k % MATCHES_ASKED == 0 {
                ask()?;
            }
            if occurrence != 0 && k != occurrence {
                continue;
            }
            out.extend_from_slice(&rest.as_bytes()[at..m.start]);
            let groups = if names_groups { re.groups(rest, m, &ask)? } else { vec![] };
            expand(&with, rest, &groups, out);
            at = m.end;
            if k == occurrence {
                break;
            }
        }
        out.extend_from_slice(&rest.as_bytes()[at..]);
        Ok(true)
    })
}

/// `$1` is a group, `\` takes the next character as it is.
fn expand(with: &str, text: &str, groups: &[Option<usize>], out: &mut StrBuf<'_>) {
    let b = with.as_bytes();
    let mut i = 0;
    while i < b.len() {
        match b[i] {
            b'\\' if i + 1 < b.len() => {
                out.push(b[i + 1]);
                i += 2;
            }
            b'$' if b.get(i + 1).is_some_and(u8::is_ascii_digit) => {
                let group = (b[i + 1] - b'0') as usize;
                if let Some([Some(from), Some(to)]) = groups.get(2 * group..2 * group + 2) {
                    out.extend_from_slice(&text.as_bytes()[*from..*to]);
                }
                i += 2;
            }
            c => {
                out.push(c);
                i += 1;
            }
        }
    }
}
