//! What an account stores of its password, to tell whether it is the right one: MySQL's `authentication_string`.
//!
//! ```text
//! mysql_native_password    *HEX(SHA1(SHA1(password)))
//! caching_sha2_password    $A$005$ salt (20) digest (43), of 5000 rounds of SHA-256     types::verifier
//!                          or, as it was stored once: SHA256(SHA256(password))          Unsalted
//! ```
//! Invariant: nothing makes an unsalted verifier any more. One that is found is kept until its account logs in, when
//! the password is there to make a salted one of it ([`super::Accounts::salt`]).

use super::AuthPlugin;
use types::verifier::{self, PASSWORD_LEN_MAX, SALT_LEN};
use types::{Error, Result};

/// Stands where a verifier is not to be shown, and is none.
pub const HIDDEN: &str = "<secret>";

/// See the module head.
#[derive(Clone, PartialEq, Eq, Default)]
pub enum Verifier {
    /// There is no password.
    #[default]
    None,
    /// As MySQL stores it.
    Stored(Box<str>),
    /// SHA256(SHA256(password)) of caching_sha2_password.
    Unsalted([u8; 32]),
}

impl Verifier {
    /// Error 1819 for a password that is too long, which could not be checked.
    pub fn of_password(plugin: AuthPlugin, password: &[u8]) -> Result<Verifier> {
        if password.is_empty() {
            return Ok(Verifier::None);
        }
        if password.len() > PASSWORD_LEN_MAX {
            return Err(Error::not_valid_password());
        }
        let stored = match plugin {
            AuthPlugin::MysqlNativePassword => verifier::native_hash(password),
            AuthPlugin::CachingSha2Password => {
                String::from_utf8(verifier::sha2_hash(password, &salt()?)).expect("salts are ASCII")
            }
        };
        Ok(Verifier::Stored(stored.into()))
    }

    /// One that was made elsewhere: `IDENTIFIED WITH plugin AS`. Error 1827 if the plugin has no such form.
    pub fn taken(plugin: AuthPlugin, stored: &[u8]) -> Result<Verifier> {
        if stored.is_empty() {
            return Ok(Verifier::None);
        }
        let fits = match plugin {
            AuthPlugin::MysqlNativePassword => verifier::is_native_hash(stored),
            AuthPlugin::CachingSha2Password => verifier::is_sha2_hash(stored),
        };
        let text = std::str::from_utf8(stored).ok().filter(|_| fits).ok_or_else(Error::password_format)?;
        Ok(Verifier::Stored(text.into()))
    }

    pub fn is_none(&self) -> bool {
        *self == Verifier::None
    }

    /// `authentication_string`, which is empty without a password. An unsalted one is never shown: it is no form of
    /// MySQL's, and would do for a login.
    pub fn authentication_string(&self) -> &str {
        match self {
            Verifier::None => "",
            Verifier::Stored(text) => text,
            Verifier::Unsalted(_) => HIDDEN,
        }
    }

    /// As definitions keep it.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Verifier::None => &[],
            Verifier::Stored(text) => text.as_bytes(),
            Verifier::Unsalted(digest) => digest,
        }
    }

    /// Back from [`Verifier::bytes`], or from the bare digests that were kept once.
    pub fn from_bytes(plugin: AuthPlugin, bytes: &[u8]) -> Option<Verifier> {
        match plugin {
            AuthPlugin::MysqlNativePassword if bytes.len() == 20 => {
                let stage2 = bytes.try_into().expect("of that length");
                Some(Verifier::Stored(verifier::native_from_stage2(stage2).into()))
            }
            AuthPlugin::CachingSha2Password if bytes.len() == 32 => Some(Verifier::Unsalted(bytes.try_into().ok()?)),
            _ => Verifier::taken(plugin, bytes).ok(),
        }
    }
}

/// Says what it is without saying which.
impl std::fmt::Debug for Verifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Verifier::None => "None",
            Verifier::Stored(_) => "Stored",
            Verifier::Unsalted(_) => "Unsalted",
        })
    }
}

fn salt() -> Result<[u8; SALT_LEN]> {
    let mut random = [0; SALT_LEN];
    getrandom::fill(&mut random).map_err(|e| Error::internal(format_args!("no random numbers: {e}")))?;
    Ok(verifier::salt_from_random(random))
}

#[cfg(test)]
mod tests {
    use super::*;
    use AuthPlugin::{CachingSha2Password, MysqlNativePassword};

    #[test]
    fn verifiers_are_salted_and_come_back_from_bytes() {
        let make = |plugin| Verifier::of_password(plugin, b"pw").expect("is made");
        assert_ne!(make(CachingSha2Password), make(CachingSha2Password));
        for plugin in [CachingSha2Password, MysqlNativePassword] {
            let made = make(plugin);
            assert_eq!(Verifier::from_bytes(plugin, made.bytes()), Some(made.clone()));
            assert_eq!(Verifier::taken(plugin, made.authentication_string().as_bytes()), Ok(made));
        }
        assert_eq!(Verifier::of_password(CachingSha2Password, &[b'x'; 257]), Err(Error::not_valid_password()));
    }

    #[test]
    fn once_there_were_bare_digests() {
        let native = Verifier::from_bytes(MysqlNativePassword, &verifier::sha1(&[&verifier::sha1(&[b"pw"])]));
        assert_eq!(native, Verifier::of_password(MysqlNativePassword, b"pw").ok());
        let unsalted = Verifier::from_bytes(CachingSha2Password, &[7; 32]).expect("is one");
        assert_eq!((unsalted.authentication_string(), unsalted.bytes()), (HIDDEN, &[7; 32][..]));
        assert_eq!(format!("{unsalted:?}"), "Unsalted");
        assert_eq!(Verifier::from_bytes(CachingSha2Password, &[7; 31]), None);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let sha2 = Verifier::of_password(CachingSha2Password, b"pw").expect("is made");
        let stored = sha2.authentication_string();
        for wrong in ["x", HIDDEN, "*0123", &stored[1..], &stored[..69], &stored.replacen("005", "004", 1)] {
            for plugin in [CachingSha2Password, MysqlNativePassword] {
                assert_eq!(Verifier::taken(plugin, wrong.as_bytes()), Err(Error::password_format()), "{wrong}");
            }
        }
        assert_eq!(Verifier::taken(CachingSha2Password, b""), Ok(Verifier::None));
    }
}
