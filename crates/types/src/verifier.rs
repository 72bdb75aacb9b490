//! Verifiers: what is stored of passwords, and SHA-crypt, which makes one of them slow to guess.
//!
//! ```text
//! mysql_native_password    *HEX(SHA1(SHA1(password)))
//! caching_sha2_password    $A$005$ salt (20 bytes) digest (43 characters of SHA-crypt's base 64)
//! ```
//!
//! `005` are thousands of rounds in hexadecimal. Sources: MySQL's manual on the two plugins; Ulrich Drepper, "Unix
//! crypt using SHA-256 and SHA-512" (2008), whose steps are numbered in the comments below.

use sha1::Sha1;
use sha2::{Digest, Sha256};

/// SHA-1 of the parts, one after the other.
pub fn sha1(parts: &[&[u8]]) -> [u8; 20] {
    let mut hash = Sha1::new();
    parts.iter().for_each(|part| hash.update(part));
    hash.finalize().into()
}

/// SHA-256 of the parts, one after the other.
pub fn sha256(parts: &[&[u8]]) -> [u8; 32] {
    let mut hash = Sha256::new();
    parts.iter().for_each(|part| hash.update(part));
    hash.finalize().into()
}

/// Compares without telling by its time where the difference is.
pub fn same_bytes(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |diff, (x, y)| diff | (x ^ y)) == 0
}

/// Stored form for mysql_native_password. An empty password is stored as nothing.
pub fn native_hash(password: &[u8]) -> String {
    if password.is_empty() {
        return String::new();
    }
    native_from_stage2(&sha1(&[&sha1(&[password])]))
}

const HEX: &[u8; 16] = b"0123456789ABCDEF";

/// The digest in a stored native password; None if it is not one.
pub fn native_stage2(stored: &[u8]) -> Option<[u8; 20]> {
    let hex = stored.strip_prefix(b"*")?;
    let mut stage2 = [0; 20];
    if hex.len() != 40 {
        return None;
    }
    for (byte, pair) in stage2.iter_mut().zip(hex.chunks_exact(2)) {
        let digit = |c: u8| char::from(c).to_digit(16);
        *byte = (digit(pair[0])? << 4 | digit(pair[1])?) as u8;
    }
    Some(stage2)
}

/// Bytes of a salt.
pub const SALT_LEN: usize = 20;
const DIGEST_CHARS: usize = 43;
const ROUNDS_UNIT: u32 = 1000;
const ROUNDS_DEFAULT: u32 = 5;
/// In bytes. Longer passwords are not digested: the work grows with the square of the length.
pub const PASSWORD_LEN_MAX: usize = 256;

/// A salt of random bytes: characters that can be printed, neither NUL nor `$` among them, of 6 random bits each.
pub fn salt_from_random(random: [u8; SALT_LEN]) -> [u8; SALT_LEN] {
    random.map(|byte| ALPHABET[usize::from(byte & 63)])
}

/// Stored form for caching_sha2_password; `salt` must hold neither NUL nor `$`. An empty password is stored as nothing.
pub fn sha2_hash(password: &[u8], salt: &[u8; SALT_LEN]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let mut stored = format!("$A${ROUNDS_DEFAULT:03X}$").into_bytes();
    stored.extend_from_slice(salt);
    stored.extend_from_slice(&sha256_crypt(password, salt, ROUNDS_DEFAULT * ROUNDS_UNIT));
    stored
}

/// Whether `stored` has the form of a caching_sha2_password, with no fewer rounds than MySQL takes.
pub fn is_sha2_hash(stored: &[u8]) -> bool {
    split_sha2(stored).is_some_and(|(rounds, ..)| rounds >= ROUNDS_DEFAULT * ROUNDS_UNIT)
}

/// Whether `stored` has the form of a mysql_native_password.
pub fn is_native_hash(stored: &[u8]) -> bool {
    native_stage2(stored).is_some()
}

/// The stored form of a digest that [`native_stage2`] took from one.
pub fn native_from_stage2(stage2: &[u8; 20]) -> String {
    let mut stored = String::with_capacity(41);
    stored.push('*');
    for byte in stage2 {
        stored.push(char::from(HEX[usize::from(byte >> 4)]));
        stored.push(char::from(HEX[usize::from(byte & 15)]));
    }
    stored
}

fn split_sha2(stored: &[u8]) -> Option<(u32, &[u8], &[u8])> {
    let rest = stored.strip_prefix(b"$A$")?;
    let (rounds, rest) = rest.split_at_checked(3)?;
    let (salt, digest) = rest.strip_prefix(b"$")?.split_at_checked(SALT_LEN)?;
    let rounds = u32::from_str_radix(std::str::from_utf8(rounds).ok()?, 16).ok()?;
    (rounds > 0 && digest.len() == DIGEST_CHARS).then_some((rounds * ROUNDS_UNIT, salt, digest))
}

/// Whether `password` is the one that `stored` was made of. Takes milliseconds, which is its point.
pub fn sha2_matches(password: &[u8], stored: &[u8]) -> bool {
    match split_sha2(stored) {
        Some((rounds, salt, digest)) if password.len() <= PASSWORD_LEN_MAX => {
            same_bytes(&sha256_crypt(password, salt, rounds), digest)
        }
        _ => false,
    }
}

/// SHA-crypt with SHA-256, except that the salt may be longer than Drepper's 16 characters, as MySQL's is.
fn sha256_crypt(password: &[u8], salt: &[u8], rounds: u32) -> [u8; DIGEST_CHARS] {
    // steps 4 to 8
    let b = sha256(&[password, salt, password]);
    // steps 1 to 3 and 9 to 12
    let mut a = Sha256::new();
    a.update(password);
    a.update(salt);
    update_repeated(&mut a, &b, password.len());
    let mut bits = password.len();
    while bits > 0 {
        a.update(if bits & 1 == 1 { &b[..] } else { password });
        bits >>= 1;
    }
    let mut digest: [u8; 32] = a.finalize().into();
    // steps 13 to 16
    let mut dp = Sha256::new();
    password.iter().for_each(|_| dp.update(password));
    let p = repeated(&dp.finalize().into(), password.len());
    // steps 17 to 20
    let mut ds = Sha256::new();
    (0..16 + usize::from(digest[0])).for_each(|_| ds.update(salt));
    let s = repeated(&ds.finalize().into(), salt.len());
    // step 21
    for round in 0..rounds {
        let mut c = Sha256::new();
        c.update(if round % 2 == 1 { &p[..] } else { &digest[..] });
        if round % 3 != 0 {
            c.update(&s);
        }
        if round % 7 != 0 {
            c.update(&p);
        }
        c.update(if round % 2 == 1 { &digest[..] } else { &p[..] });
        digest = c.finalize().into();
    }
    base64_crypt(&digest)
}

fn update_repeated(hash: &mut Sha256, block: &[u8; 32], mut len: usize) {
    while len > 32 {
        hash.update(block);
        len -= 32;
    }
    hash.update(&block[..len]);
}

fn repeated(block: &[u8; 32], len: usize) -> Vec<u8> {
    block.iter().copied().cycle().take(len).collect()
}

const ALPHABET: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Step 22: the digest in SHA-crypt's own order and alphabet.
fn base64_crypt(digest: &[u8; 32]) -> [u8; DIGEST_CHARS] {
    let mut out = [0; DIGEST_CHARS];
    let mut put = |at: usize, chars: usize, bits: u32| {
        for i in 0..chars {
            out[at + i] = ALPHABET[(bits >> (6 * i)) as usize & 63];
        }
    };
    let byte = |i: usize| u32::from(digest[i]);
    // groups rotate through thirds of the digest: 0 10 20, 21 1 11, 12 22 2, 3 13 23, ...
    let (mut i, mut j, mut k) = (0, 10, 20);
    for group in 0..10 {
        put(group * 4, 4, byte(i) << 16 | byte(j) << 8 | byte(k));
        (i, j, k) = (k + 1, i + 1, j + 1);
    }
    put(40, 3, byte(31) << 8 | byte(30));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn native_password() {
        // SELECT PASSWORD('mypass'), from MySQL's manual
        assert_eq!(native_hash(b"mypass"), "*6C8989366EAF75BB670AD8EA7A7FC1176A95CEF4");
        assert_eq!(native_stage2(native_hash(b"x").as_bytes()), Some(sha1(&[&sha1(&[b"x"])])));
        assert_eq!(native_stage2(b"*6C89"), None);
        assert_eq!(native_hash(b""), "");
        assert_eq!(native_from_stage2(&sha1(&[&sha1(&[b"x"])])), native_hash(b"x"));
    }

    /// Made with glibc's crypt(3).
    #[test]
    fn glibc_agrees() {
        let crypt = |password: &[u8], salt: &[u8], rounds| {
            String::from_utf8(sha256_crypt(password, salt, rounds).to_vec()).unwrap()
        };
        assert_eq!(crypt(b"Hello world!", b"saltstring", 5000), "5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5");
        assert_eq!(crypt(b"Hello world!", b"saltstringsaltst", 10000), "3xv.VbSHBb41AL9AvLeujZkZRBAwqFMz2.opqey6IcA");
        assert_eq!(
            crypt(b"This is just a test", b"toolongsaltstrin", 5000),
            "Un/5jzAHMgOGZ5.mWJpuVolil07guHPvOW8mGRcvxa5"
        );
        assert_eq!(crypt(&[b'a'; 100], b"ab", 5000), "lBrP/rIkh.gdOJZIbdYxQ7xaYMKZgrNW3dpes1c6mv0");
        assert_eq!(crypt(b"x", b"", 5000), "0Uor7kq6CTPY0DtjOiw.I2DuJSUfiZxCqkrafMVjNc8");
    }

    /// The example that hashcat's documentation gives for its mode 7401, with the password "hashcat".
    #[test]
    fn a_digest_made_by_mysql() {
        let mut stored = b"$A$005$".to_vec();
        let salt = "F9CC98CE08892924F50A213B6BC571A2C11778C5";
        stored.extend((0..20).map(|i| u8::from_str_radix(&salt[2 * i..2 * i + 2], 16).unwrap()));
        stored.extend_from_slice(b"bTy95Y99eAME1dwEkHOA1ndHGBWz.1bxSSRkuTXFGV/");
        assert!(sha2_matches(b"hashcat", &stored));
        assert!(!sha2_matches(b"hashdog", &stored));
    }

    #[test]
    fn sha2_password() {
        let stored = sha2_hash(b"secret", b"abcdefghijklmnopqrst");
        assert_eq!(stored.len(), 70);
        assert!(is_sha2_hash(&stored));
        assert!(sha2_matches(b"secret", &stored));
        assert!(!sha2_matches(b"Secret", &stored));
        assert!(!sha2_matches(b"secret", &stored[..69]));
        assert!(!is_sha2_hash(b"$A$"));
        // Fewer rounds than MySQL takes.
        assert!(!is_sha2_hash(&[b"$A$004$", &stored[7..]].concat()));
        let salt = salt_from_random(std::array::from_fn(|i| (i * 13) as u8));
        assert!(salt.iter().all(|b| b.is_ascii_graphic() && *b != b'$'));
        assert!(sha2_hash(b"", b"abcdefghijklmnopqrst").is_empty());
    }
}
