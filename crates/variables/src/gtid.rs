//! Sets of global transaction identifiers, as gtid_purged takes and shows them.
//!
//! ```text
//! set      = [member (',' member)*]
//! member   = uuid (':' tag | ':' interval)*      an interval belongs to the tag before it, or to none
//! interval = n | n '-' m
//! ```
//! MySQL manual, "GTID Format and Storage". No transaction gets an identifier here: the sets come from dumps of other
//! servers, and are kept for who asks.

use std::collections::BTreeMap;
use std::fmt;
use types::{Error, Result};

/// Transaction numbers are below this.
const NUMBER_END: u64 = i64::MAX as u64;

/// Half-open intervals by (uuid, tag), sorted, with gaps between them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GtidSet(BTreeMap<(String, String), Vec<(u64, u64)>>);

impl GtidSet {
    /// Error 1772.
    pub fn parse(text: &str) -> Result<GtidSet> {
        let malformed = || Error::malformed_gtid_set_specification(text);
        let mut set = GtidSet::default();
        for member in text.split(',').map(str::trim).filter(|m| !m.is_empty()) {
            let mut parts = member.split(':').map(str::trim);
            let uuid = parts.next().and_then(uuid).ok_or_else(malformed)?;
            let mut tag = String::new();
            for part in parts {
                if part.starts_with(|c: char| c.is_ascii_digit()) {
                    let interval = interval(part).ok_or_else(malformed)?;
                    set.0.entry((uuid.clone(), tag.clone())).or_default().extend(interval);
                } else {
                    tag = self::tag(part).ok_or_else(malformed)?;
                }
            }
        }
        set.merge();
        Ok(set)
    }

    /// Neighbours become one interval.
    fn merge(&mut self) {
        for intervals in self.0.values_mut() {
            intervals.sort_unstable();
            let mut merged: Vec<(u64, u64)> = Vec::with_capacity(intervals.len());
            for &(start, end) in intervals.iter() {
                match merged.last_mut() {
                    Some(last) if start <= last.1 => last.1 = last.1.max(end),
                    _ => merged.push((start, end)),
                }
            }
            *intervals = merged;
        }
        self.0.retain(|_, intervals| !intervals.is_empty());
    }

    /// What is in either of them.
    pub fn union(mut self, other: &GtidSet) -> GtidSet {
        for (key, intervals) in &other.0 {
            self.0.entry(key.clone()).or_default().extend(intervals);
        }
        self.merge();
        self
    }

    /// Whether all of `other` is in it.
    pub fn contains(&self, other: &GtidSet) -> bool {
        self.clone().union(other) == *self
    }

    /// Whether a transaction is in both.
    pub fn overlaps(&self, other: &GtidSet) -> bool {
        other.0.iter().any(|(key, theirs)| {
            let ours = self.0.get(key).map_or(&[][..], |i| i);
            theirs.iter().any(|t| ours.iter().any(|o| o.0 < t.1 && t.0 < o.1))
        })
    }
}

impl fmt::Display for GtidSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut before: Option<&str> = None;
        for ((uuid, tag), intervals) in &self.0 {
            if before != Some(uuid) {
                f.write_str(if before.is_some() { ",\n" } else { "" })?;
                f.write_str(uuid)?;
                before = Some(uuid);
            }
            if !tag.is_empty() {
                write!(f, ":{tag}")?;
            }
            for (start, end) in intervals {
                write!(f, ":{start}")?;
                if end - start > 1 {
                    write!(f, "-{}", end - 1)?;
                }
            }
        }
        Ok(())
    }
}

/// The value of gtid_purged after it is assigned `text`, while it is `now`: a set that has all of `now`, or with a `+`
/// before it, one that is added to `now`. Errors 1772, 3546.
pub fn purged(text: &str, now: &str) -> Result<String> {
    let now = GtidSet::parse(now)?;
    let text = text.trim();
    if let Some(added) = text.strip_prefix('+') {
        let added = GtidSet::parse(added)?;
        if now.overlaps(&added) {
            return Err(Error::cant_set_gtid_purged_due_sets_constraints(
                "the added gtid set must not overlap with @@GLOBAL.GTID_EXECUTED",
            ));
        }
        return Ok(now.union(&added).to_string());
    }
    let new = GtidSet::parse(text)?;
    if !new.contains(&now) {
        return Err(Error::cant_set_gtid_purged_due_sets_constraints(
            "the new value must be a superset of the old value",
        ));
    }
    Ok(new.to_string())
}

/// The value of gtid_next after it is assigned `text`: AUTOMATIC or ANONYMOUS. 1774 for what is none of its values;
/// 1781 for an identifier, which no transaction can have here.
pub fn next(text: &str) -> Result<&'static str> {
    let trimmed = text.trim();
    for name in ["AUTOMATIC", "ANONYMOUS"] {
        if trimmed.eq_ignore_ascii_case(name) {
            return Ok(name);
        }
    }
    let is_gtid = trimmed.rsplit_once(':').is_some_and(|(source, number)| {
        let (id, tagged) = source.split_once(':').map_or((source, None), |(id, tag)| (id, Some(tag)));
        uuid(id).is_some() && tagged.is_none_or(|t| tag(t).is_some()) && number.trim().parse().is_ok_and(|n: u64| n > 0)
    });
    Err(if is_gtid {
        Error::cant_set_gtid_next_to_gtid_when_gtid_mode_is_off()
    } else {
        Error::malformed_gtid_specification(text)
    })
}

/// 32 hexadecimal digits in groups of 8, 4, 4, 4, 12; in lower case.
fn uuid(text: &str) -> Option<String> {
    let text = text.trim();
    let groups: Vec<&str> = text.split('-').collect();
    let shaped = groups.len() == 5 && groups.iter().zip([8, 4, 4, 4, 12]).all(|(g, n)| g.len() == n);
    let digits = text.bytes().all(|b| b == b'-' || b.is_ascii_hexdigit());
    (shaped && digits).then(|| text.to_ascii_lowercase())
}

/// A letter or underscore, then at most 31 of them or of digits; in lower case.
fn tag(text: &str) -> Option<String> {
    let text = text.trim();
    let first = text.bytes().next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_');
    let rest = text.len() <= 32 && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    (first && rest).then(|| text.to_ascii_lowercase())
}

/// None: it is malformed; an interval that ends before it begins has nothing in it.
fn interval(text: &str) -> Option<Option<(u64, u64)>> {
    let number = |t: &str| t.trim().parse::<u64>().ok().filter(|n| (1..NUMBER_END).contains(n));
    let (start, last) = match text.split_once('-') {
        Some((start, last)) => (number(start)?, last.trim().parse::<u64>().ok().filter(|n| *n < NUMBER_END)?),
        None => (number(text)?, number(text)?),
    };
    Some((start <= last).then_some((start, last + 1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "3E11FA47-71CA-11E1-9E33-C80AA9429562";
    const B: &str = "2174b383-5441-11e8-b90a-c80aa9429562";

    fn shown(text: &str) -> String {
        GtidSet::parse(text).map_or_else(|e| e.code().0.to_string(), |s| s.to_string())
    }

    #[test]
    fn sets() {
        let a = A.to_lowercase();
        for (text, wanted) in [
            ("", String::new()),
            (&format!("{A}:1-5:11-18,\n{B}:23"), format!("{B}:23,\n{a}:1-5:11-18")),
            (&format!("{A}:4-6:1-3:9"), format!("{a}:1-6:9")),
            (&format!("{A}:5-4"), String::new()),
            (&format!("{A}:1-3:Tag:1-2:5, {A}:7"), format!("{a}:1-3:7:tag:1-2:5")),
            ("x:1", "1772".into()),
            (&format!("{A}:0"), "1772".into()),
            (&format!("{A}:1-x"), "1772".into()),
            (&format!("{A}:9223372036854775807"), "1772".into()),
        ] {
            assert_eq!(shown(text), wanted, "{text}");
        }
    }

    #[test]
    fn assignments() {
        let a = A.to_lowercase();
        let now = format!("{A}:1-5");
        let code = |r: Result<String>| r.expect_err("refused").code().0;
        assert_eq!(purged(&format!("+{A}:6-9"), &now), Ok(format!("{a}:1-9")));
        assert_eq!(purged(&format!("{A}:1-9"), &now), Ok(format!("{a}:1-9")));
        assert_eq!(code(purged(&format!("+{A}:5-9"), &now)), 3546);
        assert_eq!(code(purged(&format!("{A}:2-9"), &now)), 3546);
        assert_eq!(code(purged("", &now)), 3546);
        assert_eq!(next("automatic"), Ok("AUTOMATIC"));
        assert_eq!(next(&format!("{A}:7")).expect_err("refused").code().0, 1781);
        assert_eq!(next("x").expect_err("refused").code().0, 1774);
    }
}
