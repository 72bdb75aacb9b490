//! Names and numbers of character sets and collations, as clients know them.
//!
//! `utf8`, `utf8mb3` and `ascii` are accepted as names of utf8mb4, whose subsets they are. Collations whose order is
//! not among ours are known by name and refused (1235); unknown names are 1273 and 1115.

use std::fmt;

use super::Collation;
use crate::{Error, Result};

/// A character set.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Charset {
    Utf8mb4,
    Latin1,
    Binary,
}

impl Charset {
    pub const ALL: [Charset; 3] = [Charset::Utf8mb4, Charset::Latin1, Charset::Binary];

    pub const fn name(self) -> &'static str {
        match self {
            Charset::Utf8mb4 => "utf8mb4",
            Charset::Latin1 => "latin1",
            Charset::Binary => "binary",
        }
    }

    /// As SHOW CHARACTER SET describes it.
    pub const fn description(self) -> &'static str {
        match self {
            Charset::Utf8mb4 => "UTF-8 Unicode",
            Charset::Latin1 => "cp1252 West European",
            Charset::Binary => "Binary pseudo charset",
        }
    }

    /// Most bytes of a character, as clients count (stored strings are UTF-8).
    pub const fn max_len(self) -> u32 {
        match self {
            Charset::Utf8mb4 => 4,
            _ => 1,
        }
    }

    pub const fn default_collation(self) -> Collation {
        match self {
            Charset::Utf8mb4 => Collation::Utf8mb4_0900AiCi,
            Charset::Latin1 => Collation::Latin1SwedishCi,
            Charset::Binary => Collation::Binary,
        }
    }

    /// The collation that `_charset`-BINARY comparisons use: `utf8mb4_bin` and so on.
    pub const fn bin_collation(self) -> Collation {
        match self {
            Charset::Utf8mb4 => Collation::Utf8mb4Bin,
            Charset::Latin1 => Collation::Latin1Bin,
            Charset::Binary => Collation::Binary,
        }
    }

    /// Finds a character set by name, in any case. Names of other sets that MySQL has are 1235, others 1115.
    pub fn from_name(name: &str) -> Result<Charset> {
        let lower = name.to_ascii_lowercase();
        match lower.as_str() {
            "utf8mb4" | "utf8" | "utf8mb3" | "ascii" => Ok(Charset::Utf8mb4),
            "latin1" => Ok(Charset::Latin1),
            "binary" => Ok(Charset::Binary),
            other if OTHER_CHARSETS.contains(&other) => {
                Err(Error::not_supported(format_args!("CHARACTER SET {other}")))
            }
            _ => Err(Error::unknown_character_set(name)),
        }
    }
}

const OTHER_CHARSETS: &[&str] = &[
    "armscii8", "big5", "cp1250", "cp1251", "cp1256", "cp1257", "cp850", "cp852", "cp866", "cp932", "dec8", "eucjpms",
    "euckr", "gb18030", "gb2312", "gbk", "geostd8", "greek", "hebrew", "hp8", "keybcs2", "koi8r", "koi8u", "latin2",
    "latin5", "latin7", "macce", "macroman", "sjis", "swe7", "tis620", "ucs2", "ujis", "utf16", "utf16le", "utf32",
];

impl Collation {
    pub const ALL: [Collation; 7] = [
        Collation::Utf8mb4_0900AiCi,
        Collation::Utf8mb4GeneralCi,
        Collation::Utf8mb4Bin,
        Collation::Utf8mb4_0900Bin,
        Collation::Latin1SwedishCi,
        Collation::Latin1Bin,
        Collation::Binary,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Collation::Utf8mb4_0900AiCi => "utf8mb4_0900_ai_ci",
            Collation::Utf8mb4GeneralCi => "utf8mb4_general_ci",
            Collation::Utf8mb4Bin => "utf8mb4_bin",
            Collation::Utf8mb4_0900Bin => "utf8mb4_0900_bin",
            Collation::Latin1SwedishCi => "latin1_swedish_ci",
            Collation::Latin1Bin => "latin1_bin",
            Collation::Binary => "binary",
        }
    }

    /// MySQL's number of the collation, as the protocol sends it.
    pub const fn id(self) -> u16 {
        match self {
            Collation::Utf8mb4_0900AiCi => 255,
            Collation::Utf8mb4GeneralCi => 45,
            Collation::Utf8mb4Bin => 46,
            Collation::Utf8mb4_0900Bin => 309,
            Collation::Latin1SwedishCi => 8,
            Collation::Latin1Bin => 47,
            Collation::Binary => 63,
        }
    }

    /// The collation of a number that a client asks for at login. Clients of utf8mb3 (33, 83), of ascii (11, 65) and of
    /// other utf8mb4 collations get ours of the same family, for the number only names the session's default.
    pub const fn from_id(id: u16) -> Option<Collation> {
        match id {
            8 => Some(Collation::Latin1SwedishCi),
            47 => Some(Collation::Latin1Bin),
            63 => Some(Collation::Binary),
            11 | 33 | 45 => Some(Collation::Utf8mb4GeneralCi),
            46 | 65 | 83 => Some(Collation::Utf8mb4Bin),
            309 => Some(Collation::Utf8mb4_0900Bin),
            224..=247 | 255..=323 => Some(Collation::Utf8mb4_0900AiCi),
            _ => None,
        }
    }

    pub const fn charset(self) -> Charset {
        match self {
            Collation::Latin1SwedishCi | Collation::Latin1Bin => Charset::Latin1,
            Collation::Binary => Charset::Binary,
            _ => Charset::Utf8mb4,
        }
    }

    /// The default collation of its character set.
    pub fn is_default(self) -> bool {
        self.charset().default_collation() == self
    }

    /// Finds a collation by name, in any case.
    pub fn from_name(name: &str) -> Result<Collation> {
        let lower = name.to_ascii_lowercase();
        if let Some(c) = Collation::ALL.into_iter().find(|c| c.name() == lower) {
            return Ok(c);
        }
        match lower.as_str() {
            "utf8_general_ci" | "utf8mb3_general_ci" | "ascii_general_ci" => return Ok(Collation::Utf8mb4GeneralCi),
            "utf8_bin" | "utf8mb3_bin" | "ascii_bin" => return Ok(Collation::Utf8mb4Bin),
            _ => {}
        }
        let charset = lower.split('_').next().unwrap_or_default();
        let known =
            matches!(charset, "utf8mb4" | "utf8" | "utf8mb3" | "latin1" | "ascii") || OTHER_CHARSETS.contains(&charset);
        let shaped = ["_ci", "_cs", "_bin", "_as_ci", "_ai_ci", "_as_cs", "_ks"].iter().any(|s| lower.ends_with(s));
        if known && shaped {
            return Err(Error::not_supported(format_args!("COLLATE {lower}")));
        }
        Err(Error::unknown_collation(name))
    }

    /// The collation for CHARACTER SET and COLLATE clauses, either of which may be missing. 1253 if they disagree.
    pub fn resolve(charset: Option<&str>, collation: Option<&str>) -> Result<Option<Collation>> {
        match (charset, collation) {
            (None, None) => Ok(None),
            (Some(s), None) => {
                let charset = Charset::from_name(s)?;
                // The default of the older sets is their general_ci.
                let older = ["utf8", "utf8mb3", "ascii"].iter().any(|o| o.eq_ignore_ascii_case(s));
                Ok(Some(if older { Collation::Utf8mb4GeneralCi } else { charset.default_collation() }))
            }
            (None, Some(c)) => Collation::from_name(c).map(Some),
            (Some(s), Some(c)) => {
                let collation = Collation::from_name(c)?;
                if collation.charset() != Charset::from_name(s)? {
                    return Err(Error::collation_charset_mismatch(c, s));
                }
                Ok(Some(collation))
            }
        }
    }
}

impl fmt::Display for Collation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Display for Charset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
