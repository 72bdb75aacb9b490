//! Names of character sets and collations to what `types` implements.

use types::collation::Charset;
use types::{Collation, Result};

/// A collation by name; 1273 if MySQL has none of that name, 1235 if MySQL has it and Nextleaf does not.
pub fn collation(name: &str) -> Result<Collation> {
    Collation::from_name(name)
}

/// The default collation of a character set; 1115.
pub fn default_collation(charset: &str) -> Result<Collation> {
    Ok(Collation::resolve(Some(charset), None)?.unwrap_or_default())
}

/// The `_bin` collation of the same character set.
pub fn bin_collation(c: Collation) -> Collation {
    match c.charset() {
        Charset::Latin1 => Collation::Latin1Bin,
        Charset::Binary => Collation::Binary,
        Charset::Utf8mb4 => Collation::Utf8mb4Bin,
    }
}

/// `[CHARACTER SET cs] [COLLATE c]` over a default; 1253 if they do not go together.
pub fn resolve(charset: Option<&str>, collate: Option<&str>, default: Collation) -> Result<Collation> {
    Ok(Collation::resolve(charset, collate)?.unwrap_or(default))
}
