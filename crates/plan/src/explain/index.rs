//! Words for accesses by index.

use crate::access::{IndexRange, KeyValue, LastPart};
use catalog::{IndexDef, TableDef};
use expr::Expr;
use types::{Collation, SqlType, StringKind, Value};

/// Stretches that are printed one by one.
const RANGES_SHOWN_MAX: usize = 3;

/// How an index's stretches are read, in the terms of EXPLAIN's `type`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Access {
    /// One key, nothing but equalities.
    Lookup,
    Range,
    Whole,
}

pub(crate) fn access(ranges: &[IndexRange]) -> Access {
    match ranges {
        [one] if one.parts() == 0 => Access::Whole,
        [one] if one.last.is_none() => Access::Lookup,
        _ => Access::Range,
    }
}

/// The line of FORMAT=TREE.
pub(super) fn scan_words(
    table: &TableDef,
    alias: &str,
    index: &IndexDef,
    ranges: &[IndexRange],
    reverse: bool,
    text: &dyn Fn(&Expr) -> String,
) -> String {
    let back = if reverse { " (reverse)" } else { "" };
    match access(ranges) {
        Access::Whole => format!("Index scan on {alias} using {}{back}", index.name),
        Access::Lookup => {
            format!(
                "Index lookup on {alias} using {} ({}){back}",
                index.name,
                lookup_key(table, index, &ranges[0].equal, text)
            )
        }
        Access::Range => {
            let shown = if ranges.len() > RANGES_SHOWN_MAX { RANGES_SHOWN_MAX - 1 } else { ranges.len() };
            let mut words: Vec<String> =
                ranges[..shown].iter().map(|r| format!("({})", range_words(table, index, r, text))).collect();
            if ranges.len() > shown {
                words.push(format!("({} more)", ranges.len() - shown));
            }
            format!("Index range scan on {alias} using {} over {}{back}", index.name, words.join(" OR "))
        }
    }
}

/// `a=1, b=t.c`
pub(super) fn lookup_key(
    table: &TableDef,
    index: &IndexDef,
    key: &[KeyValue],
    text: &dyn Fn(&Expr) -> String,
) -> String {
    let parts: Vec<String> = index
        .parts
        .iter()
        .zip(key)
        .map(|(p, k)| {
            let sign = if k.null_safe && k.expr.as_const() != Some(&Value::Null) { "<=>" } else { "=" };
            format!("{}{sign}{}", table.columns[p.column_idx].shown_name(), text(&k.expr))
        })
        .collect();
    parts.join(", ")
}

fn range_words(table: &TableDef, index: &IndexDef, range: &IndexRange, text: &dyn Fn(&Expr) -> String) -> String {
    let mut words: Vec<String> = index
        .parts
        .iter()
        .zip(&range.equal)
        .map(|(p, k)| format!("{} = {}", table.columns[p.column_idx].shown_name(), text(&k.expr)))
        .collect();
    if let Some(last) = &range.last {
        let column = &table.columns[index.parts[range.equal.len()].column_idx];
        words.push(match last {
            LastPart::StartsWith(prefix) => match prefix.as_const() {
                Some(Value::Bytes(b)) => format!("{} LIKE '{}%'", column.shown_name(), String::from_utf8_lossy(b)),
                _ => format!("{} LIKE {}%", column.shown_name(), text(prefix)),
            },
            LastPart::Between { low, high } => {
                let sign = |inclusive| if inclusive { "<=" } else { "<" };
                let mut s = match low {
                    Some(e) => format!("{} {} {}", text(&e.expr), sign(e.inclusive), column.shown_name()),
                    None if column.nullable => format!("NULL < {}", column.shown_name()),
                    None => column.shown_name().into_owned(),
                };
                if let Some(e) = high {
                    s += &format!(" {} {}", sign(e.inclusive), text(&e.expr));
                }
                s
            }
        });
    }
    words.join(" AND ")
}

/// Bytes of the leading `parts` parts of a key, as MySQL counts them.
pub(super) fn key_len(table: &TableDef, index: &IndexDef, parts: usize) -> u32 {
    index
        .parts
        .iter()
        .take(parts)
        .map(|p| {
            let c = &table.columns[p.column_idx];
            c.nullable as u32 + part_len(&c.ty, p.prefix_len)
        })
        .sum()
}

pub(super) fn part_len(ty: &SqlType, prefix: Option<u32>) -> u32 {
    // Bytes of a fraction of so many digits.
    let fraction = |fsp: &u8| (*fsp as u32).div_ceil(2);
    match ty {
        SqlType::Null | SqlType::Bool => 1,
        SqlType::Int { size, .. } => size.bytes(),
        SqlType::Decimal { precision, scale } => {
            let digits = |n: u32| n / 9 * 4 + [0, 1, 1, 2, 2, 3, 3, 4, 4][n as usize % 9];
            digits((precision - scale) as u32) + digits(*scale as u32)
        }
        SqlType::Float => 4,
        SqlType::Double => 8,
        SqlType::Date => 3,
        SqlType::Time { fsp } => 3 + fraction(fsp),
        SqlType::DateTime { fsp } => 5 + fraction(fsp),
        SqlType::Timestamp { fsp } => 4 + fraction(fsp),
        SqlType::Year => 1,
        SqlType::String { kind, len, collation } => {
            let per_char = if *collation == Collation::Binary { 1 } else { collation.charset().max_len() };
            let chars = prefix.unwrap_or(*len);
            let length = if *kind == StringKind::Char { 0 } else { 2 };
            chars.saturating_mul(per_char).saturating_add(length)
        }
    }
}
