//! Names of character sets and collations to what `types` implements.

use types::collation::Charset;
use types::{Collation, Error, ErrorCode, Result};

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

/// The options CHARACTER SET and COLLATE of a table or database, any number of them in any order.
#[derive(Default)]
pub struct Named {
    /// As it was written, or as the collation's is called.
    charset: Option<(Box<str>, Charset)>,
    default: Option<Collation>,
    collation: Option<Collation>,
}

impl Named {
    /// CHARACTER SET; 1302 if another one was named.
    pub fn charset(&mut self, name: &str) -> Result<()> {
        let default = default_collation(name)?;
        let charset = default.charset();
        if let Some((_, before)) = self.charset.replace((name.into(), charset))
            && before != charset
        {
            return Err(conflicting(before, charset));
        }
        self.default = Some(default);
        Ok(())
    }

    /// COLLATE, the last of which holds; 1253 if it is one of another character set.
    pub fn collation(&mut self, name: &str) -> Result<()> {
        let collation = collation(name)?;
        match &self.charset {
            Some((charset, of)) if *of != collation.charset() => {
                return Err(Error::collation_charset_mismatch(name, charset));
            }
            Some(_) => {}
            None => self.charset = Some((collation.charset().name().into(), collation.charset())),
        }
        self.collation = Some(collation);
        Ok(())
    }

    pub fn resolve(self, default: Collation) -> Collation {
        self.collation.or(self.default).unwrap_or(default)
    }
}

/// 1302
pub fn conflicting(charset: Charset, other: Charset) -> Error {
    const CONFLICTING_DECLARATIONS: ErrorCode = ErrorCode(1302);
    let (charset, other) = (charset.name(), other.name());
    let message = format!("Conflicting declarations: 'CHARACTER SET {charset}' and 'CHARACTER SET {other}'");
    Error::new(CONFLICTING_DECLARATIONS, message)
}

/// `[CHARACTER SET cs] [COLLATE c]` over a default; 1253 if they do not go together.
pub fn resolve(charset: Option<&str>, collate: Option<&str>, default: Collation) -> Result<Collation> {
    Ok(Collation::resolve(charset, collate)?.unwrap_or(default))
}
