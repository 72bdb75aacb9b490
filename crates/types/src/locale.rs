//! Locales: names of months and weekdays, and how numbers are written.
//!
//! MySQL manual, "MySQL Server Locale Support"; the names and separators are the server's, which need not be today's
//! custom of the country.
//!
//! `locale.txt` has five lines for each set of names: the locales that have them, months, months cut short, weekdays
//! from Monday on, weekdays cut short. Behind each locale's name stands how it writes numbers:
//!
//! ```text
//! a  1,234.5     c  1 234,5     e  1'234,5     g  1234,5         i  as b, groups being parted by
//! b  1.234,5     d  1'234.5     f  1234.5      h  12,34,567.8       a byte 0
//! ```

use std::sync::LazyLock;

/// A locale of `lc_time_names` and FORMAT().
#[derive(Debug, PartialEq, Eq)]
pub struct Locale {
    pub name: &'static str,
    pub months: Vec<&'static str>,
    pub months_short: Vec<&'static str>,
    /// Monday first.
    pub days: Vec<&'static str>,
    pub days_short: Vec<&'static str>,
    /// Between a number's whole part and its fraction.
    pub point: u8,
    /// Between groups of digits; `None`: there are no groups.
    pub separator: Option<u8>,
    /// Digits of the groups left of the last one, which has three.
    pub group: usize,
}

static LOCALES: LazyLock<Vec<Locale>> = LazyLock::new(|| {
    let mut lines = include_str!("locale.txt").lines();
    let mut out = Vec::new();
    while let Some(names) = lines.next() {
        let mut list = || lines.next().unwrap_or_default().split(',').collect::<Vec<_>>();
        let (months, months_short, days, days_short) = (list(), list(), list(), list());
        for (name, style) in names.split(' ').filter_map(|n| n.split_once(':')) {
            let (separator, point) = match style {
                "b" => (Some(b'.'), b','),
                "c" => (Some(b' '), b','),
                "d" => (Some(b'\''), b'.'),
                "e" => (Some(b'\''), b','),
                "f" => (None, b'.'),
                "g" => (None, b','),
                "i" => (Some(0), b','),
                _ => (Some(b','), b'.'),
            };
            out.push(Locale {
                name,
                months: months.clone(),
                months_short: months_short.clone(),
                days: days.clone(),
                days_short: days_short.clone(),
                point,
                separator,
                group: if style == "h" { 2 } else { 3 },
            });
        }
    }
    out
});

/// The locale of this name, whatever its case.
pub fn find(name: &str) -> Option<&'static Locale> {
    LOCALES.iter().find(|l| l.name.eq_ignore_ascii_case(name))
}

/// en_US, which everything is in until something else is asked for.
pub fn english() -> &'static Locale {
    static ENGLISH: LazyLock<&'static Locale> = LazyLock::new(|| find("en_US").expect("it is in the table"));
    *ENGLISH
}

impl Default for &'static Locale {
    fn default() -> &'static Locale {
        english()
    }
}

/// Characters of the longest of some names.
pub fn longest(names: &[&str]) -> u32 {
    names.iter().map(|n| n.chars().count() as u32).max().unwrap_or(0)
}

impl Locale {
    /// Appends a number given by its digits: the whole part with separators, then the fraction.
    pub fn write_number(&self, whole: &[u8], fraction: Option<&[u8]>, out: &mut Vec<u8>) {
        for (k, b) in whole.iter().enumerate() {
            let left = whole.len() - k;
            if let Some(s) = self.separator
                && k > 0
                && left >= 3
                && (left - 3).is_multiple_of(self.group)
            {
                out.push(s);
            }
            out.push(*b);
        }
        if let Some(f) = fraction {
            out.push(self.point);
            out.extend_from_slice(f);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_locale_has_all_names() {
        assert_eq!(LOCALES.len(), 111);
        for l in LOCALES.iter() {
            assert_eq!((l.months.len(), l.months_short.len()), (12, 12), "{}", l.name);
            assert_eq!((l.days.len(), l.days_short.len()), (7, 7), "{}", l.name);
        }
    }

    #[test]
    fn numbers_are_grouped() {
        let written = |name: &str| {
            let mut out = vec![];
            find(name).expect("a locale").write_number(b"123456789", Some(b"50"), &mut out);
            String::from_utf8(out).expect("text")
        };
        assert_eq!(written("en_US"), "123,456,789.50");
        assert_eq!(written("DE_de"), "123.456.789,50");
        assert_eq!(written("en_IN"), "12,34,56,789.50");
        assert_eq!(written("fr_FR"), "123456789,50");
    }
}
