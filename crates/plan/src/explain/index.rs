//! Words for accesses by index.

use super::expression::{Names, expression};
use crate::access::{EntryUse, IndexRange, KeyValue, LastPart, PartTest};
use catalog::{IndexDef, TableDef};
use expr::Expr;
use types::{Collation, SqlType, StringKind, Value};

/// Ranges that are printed one by one.
const RANGES_SHOWN_MAX: usize = 3;

/// How an index's ranges are read, in the terms of EXPLAIN's `type`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Access {
    /// One key, nothing but equalities.
    Lookup,
    /// One key, and the same with NULL in its last part: `a = 1 OR a IS NULL`.
    LookupOrNull,
    Range,
    Whole,
}

pub(crate) fn access(ranges: &[IndexRange]) -> Access {
    match ranges {
        [one] if one.parts() == 0 => Access::Whole,
        [one] if one.last.is_none() => Access::Lookup,
        [a, b] if or_null(a, b) || or_null(b, a) => Access::LookupOrNull,
        _ => Access::Range,
    }
}

/// Does `null` differ from `value` in its last part alone, which it wants to be NULL?
fn or_null(value: &IndexRange, null: &IndexRange) -> bool {
    let is_null = |k: &KeyValue| k.null_safe && k.expr.as_const() == Some(&Value::Null);
    let (Some((v, before)), Some((n, others))) = (value.equal.split_last(), null.equal.split_last()) else {
        return false;
    };
    value.last.is_none() && null.last.is_none() && before == others && is_null(n) && !is_null(v)
}

/// Of the ranges of a [`Access::LookupOrNull`] the one that is not about NULL.
pub(crate) fn value_of(ranges: &[IndexRange]) -> &IndexRange {
    match ranges {
        [a, b] if or_null(b, a) => b,
        _ => &ranges[0],
    }
}

/// The line of FORMAT=TREE.
pub(super) fn scan_words(
    table: &TableDef,
    alias: &str,
    index: &IndexDef,
    ranges: &[IndexRange],
    reverse: bool,
    entries: &EntryUse,
    text: &dyn Fn(&Expr) -> String,
) -> String {
    let back = if reverse { " (reverse)" } else { "" };
    let (covering, capital) = if entries.covering { ("Covering ", "i") } else { ("", "I") };
    let what = match (entries.skip_scan, entries.loose) {
        (_, Some(_)) => "ndex skip scan for grouping",
        (true, None) => "ndex skip scan",
        (false, None) => "ndex scan",
    };
    let pushed = index_condition(table, alias, index, entries, text);
    let back = match (pushed, entries.multi_range) {
        (Some(c), None) => format!("{back}, with index condition: {c}"),
        (Some(c), Some(_)) => format!("{back}, with index condition: {c}, by multi-range read"),
        (None, Some(_)) => format!("{back}, by multi-range read"),
        (None, None) => back.to_string(),
    };
    let back = match entries.give_up {
        Some(n) => format!("{back}, giving up after {n} entries"),
        None => back,
    };
    match access(ranges) {
        Access::Whole => format!("{covering}{capital}{what} on {alias} using {}{back}", index.name),
        Access::Lookup => {
            format!(
                "{covering}{capital}ndex lookup on {alias} using {} ({}){back}",
                index.name,
                lookup_key(table, index, &ranges[0].equal, text)
            )
        }
        Access::LookupOrNull => {
            let key = lookup_key(table, index, &value_of(ranges).equal, text);
            format!("{covering}{capital}ndex lookup on {alias} using {} ({key} or NULL){back}", index.name)
        }
        Access::Range => {
            let what = if entries.loose.is_some() { what } else { "ndex range scan" };
            let over = over(table, index, ranges, text);
            format!("{covering}{capital}{what} on {alias} using {} over {over}{back}", index.name)
        }
    }
}

/// The line of one index among several that are merged.
pub(super) fn range_scan_words(
    table: &TableDef,
    alias: &str,
    index: &IndexDef,
    ranges: &[IndexRange],
    text: &dyn Fn(&Expr) -> String,
) -> String {
    format!("Index range scan on {alias} using {} over {}", index.name, over(table, index, ranges, text))
}

/// `(a = 1) OR (5 < a)`
fn over(table: &TableDef, index: &IndexDef, ranges: &[IndexRange], text: &dyn Fn(&Expr) -> String) -> String {
    let shown = if ranges.len() > RANGES_SHOWN_MAX { RANGES_SHOWN_MAX - 1 } else { ranges.len() };
    let mut words: Vec<String> =
        ranges[..shown].iter().map(|r| format!("({})", range_words(table, index, r, text))).collect();
    if ranges.len() > shown {
        words.push(format!("({} more)", ranges.len() - shown));
    }
    words.join(" OR ")
}

/// What is tested on the entries of an index before rows are read: `(b = 3) and ((c % 2) = 0)`.
pub(super) fn index_condition(
    table: &TableDef,
    alias: &str,
    index: &IndexDef,
    entries: &EntryUse,
    text: &dyn Fn(&Expr) -> String,
) -> Option<String> {
    let mut words = vec![];
    for t in &entries.tests {
        let part = PartTest::index_of_part(index, t.part);
        let shown = t.ranges.len().min(RANGES_SHOWN_MAX);
        let mut some: Vec<String> = t.ranges[..shown].iter().map(|r| range_words(table, &part, r, text)).collect();
        if t.ranges.len() > shown {
            some.push(format!("({} more)", t.ranges.len() - shown));
        }
        words.push(format!("({})", some.join(" OR ")));
    }
    let columns = entries.decoded.iter().map(|p| &table.columns[index.parts[*p].column_idx]);
    let names = Names::owned(columns.map(|c| format!("{alias}.{}", c.shown_name())).collect());
    words.extend(entries.conditions.iter().map(|c| expression(c, &names)));
    (!words.is_empty()).then(|| words.join(" and "))
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

/// Ranges in words, at most a few of them.
pub fn range_texts(table: &TableDef, index: &IndexDef, ranges: &[IndexRange]) -> Vec<String> {
    let names = Names::owned(vec![]);
    let text = |e: &Expr| expression(e, &names);
    let shown = ranges.len().min(RANGE_TEXTS_MAX);
    let mut texts: Vec<String> = ranges[..shown].iter().map(|r| range_words(table, index, r, &text)).collect();
    if ranges.len() > shown {
        texts.push(format!("{} more", ranges.len() - shown));
    }
    texts
}

/// Ranges that [`range_texts`] has.
const RANGE_TEXTS_MAX: usize = 20;

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
    let fixed = u32::from(ty.record().key_bytes);
    match ty {
        SqlType::Decimal { precision, scale } => {
            let digits = |n: u32| n / 9 * 4 + [0, 1, 1, 2, 2, 3, 3, 4, 4][n as usize % 9];
            digits((precision - scale) as u32) + digits(*scale as u32)
        }
        SqlType::Time { fsp } | SqlType::DateTime { fsp } | SqlType::Timestamp { fsp } => fixed + fraction(fsp),
        SqlType::String { kind, len, collation } => {
            let per_char = if *collation == Collation::Binary { 1 } else { collation.charset().max_len() };
            let chars = prefix.unwrap_or(*len);
            let length = if *kind == StringKind::Char { 0 } else { 2 };
            chars.saturating_mul(per_char).saturating_add(length)
        }
        _ => fixed,
    }
}
