//! Authentication: the exchange of proofs, as a state machine that consumes and produces payloads.
//!
//! ```text
//!            begin(proof of the login)
//!               |  wrong plugin                           login plugin = account's plugin
//!               +-> AuthSwitch -> [Switched] --proof--+--> native: Accept | Deny
//!                                                     |
//!                                                     +--> sha2: digest cached and proof right: FastSuccess, Accept
//!                                                          otherwise FullAuth -> [Password]
//!   [Password]  --password in clear over TLS or a Unix socket--> Accept | Deny
//!               --0x02--> public key -> [Encrypted]
//!               --RSA of password XOR nonce--> Accept | Deny
//!   [Encrypted] --RSA of password XOR nonce--> Accept | Deny
//! ```
//!
//! mysql_native_password proves knowledge of SHA1(password) against the stored SHA1(SHA1(password)).
//! caching_sha2_password does the same with SHA-256, but stores something else, so that the server must once have seen
//! the password in order to check proofs; what it then keeps in memory, SHA256(SHA256(password)), is the
//! [`DigestCache`]. Whoever knew that much could log in without the password, so it is not what is stored: only
//! accounts that have not logged in since it was have it.
//!
//! An unknown user goes through the same exchange with an account that no password fits, so that the traffic does not
//! tell whether the user exists.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::NONCE_LEN;
use crate::crypt::{is_sha2_hash, native_stage2, same_bytes, sha1, sha2_matches, sha256};

/// How an account proves itself.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Plugin {
    NativePassword,
    CachingSha2Password,
}

impl Plugin {
    pub const fn name(self) -> &'static str {
        match self {
            Plugin::NativePassword => "mysql_native_password",
            Plugin::CachingSha2Password => "caching_sha2_password",
        }
    }

    pub fn from_name(name: &[u8]) -> Option<Plugin> {
        [Plugin::NativePassword, Plugin::CachingSha2Password]
            .into_iter()
            .find(|plugin| plugin.name().as_bytes().eq_ignore_ascii_case(name))
    }
}

/// What the server stores instead of a password.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Secret {
    /// There is no password.
    None,
    /// SHA1(SHA1(password)), of mysql_native_password.
    Sha1([u8; 20]),
    /// SHA256(SHA256(password)), as it was stored once. It takes full authentication and no other: the password that is
    /// seen then makes a salted verifier of it, see [`Exchange::take_password`].
    Unsalted([u8; 32]),
    /// The salted and slow form of caching_sha2_password, see [`crate::crypt`].
    Crypt(Vec<u8>),
}

impl Secret {
    /// From MySQL's `authentication_string`; None if the plugin does not store such a thing.
    pub fn from_auth_string(plugin: Plugin, stored: &[u8]) -> Option<Secret> {
        match plugin {
            _ if stored.is_empty() => Some(Secret::None),
            Plugin::NativePassword => native_stage2(stored).map(Secret::Sha1),
            Plugin::CachingSha2Password => is_sha2_hash(stored).then(|| Secret::Crypt(stored.to_vec())),
        }
    }

    fn matches(&self, password: &[u8]) -> bool {
        match self {
            Secret::None => password.is_empty(),
            Secret::Sha1(stored) => same_bytes(&sha1(&[&sha1(&[password])]), stored),
            Secret::Unsalted(stored) => same_bytes(&sha256(&[&sha256(&[password])]), stored),
            Secret::Crypt(stored) => sha2_matches(password, stored),
        }
    }
}

/// What the server stores about an account, as far as logging in goes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Account {
    pub user: String,
    /// The host pattern of the account, such as `localhost` or `%`.
    pub host: String,
    pub plugin: Plugin,
    pub secret: Secret,
    pub locked: bool,
    /// REQUIRE SSL
    pub tls_required: bool,
}

impl Account {
    /// An account that nobody can log in to.
    pub fn decoy(user: &str) -> Account {
        Account {
            user: user.to_owned(),
            host: String::new(),
            plugin: Plugin::CachingSha2Password,
            secret: Secret::Crypt(NO_PASSWORD_FITS.to_vec()),
            locked: false,
            tls_required: false,
        }
    }

    pub fn has_password(&self) -> bool {
        self.secret != Secret::None
    }
}

/// Of the right form, but for a digest that no password has.
const NO_PASSWORD_FITS: &[u8] = b"$A$005$THISISACOMBINATIONOFINVALIDSALTANDPASSWORDTHATMUSTNEVERBRBEUSED";

/// SHA256(SHA256(password)) of accounts that have logged in, by user and host.
#[derive(Default, Debug)]
pub struct DigestCache {
    digests: Mutex<HashMap<(String, String), CachedDigest>>,
    /// How many FLUSH PRIVILEGES there had been when it was last asked.
    flushes: AtomicU64,
}

#[derive(Debug)]
struct CachedDigest {
    /// The digest belongs to this secret, and is forgotten when the account has another.
    secret: Secret,
    digest: [u8; 32],
}

impl DigestCache {
    fn lock(&self) -> MutexGuard<'_, HashMap<(String, String), CachedDigest>> {
        self.digests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn get(&self, account: &Account) -> Option<[u8; 32]> {
        let digests = self.lock();
        let cached = digests.get(&(account.user.clone(), account.host.clone()))?;
        (cached.secret == account.secret).then_some(cached.digest)
    }

    /// The account's password was seen: from now on proofs are checked at once.
    pub fn remember(&self, account: &Account, password: &[u8]) {
        let cached = CachedDigest { secret: account.secret.clone(), digest: sha256(&[&sha256(&[password])]) };
        self.lock().insert((account.user.clone(), account.host.clone()), cached);
    }

    /// To be called before it is asked: forgets everything if there has been a FLUSH PRIVILEGES since.
    pub fn obey_flushes(&self, flushes: u64) {
        if self.flushes.swap(flushes, Ordering::AcqRel) != flushes {
            self.lock().clear();
        }
    }
}

/// The server's RSA key, with which clients without TLS encrypt their password.
pub trait RsaKey {
    /// PEM of the public key (SubjectPublicKeyInfo).
    fn public_key_pem(&self) -> Option<String>;

    /// RSAES-OAEP with SHA-1; None if it cannot be decrypted.
    fn decrypt(&self, ciphertext: &[u8]) -> Option<Vec<u8>>;
}

/// What to do next.
#[derive(PartialEq, Eq, Debug)]
pub enum Step {
    /// Send this payload, then call [`Exchange::resume`] with the client's next one.
    Ask(Vec<u8>),
    /// The client is who it says. Send the payload, if there is one, before the OK packet.
    Accept(Option<Vec<u8>>),
    /// Answer 1045. `password_given` goes into its text.
    Deny { password_given: bool },
}

const AUTH_SWITCH: u8 = 0xfe;
const MORE_DATA: u8 = 0x01;
const REQUEST_PUBLIC_KEY: u8 = 0x02;
const FAST_SUCCESS: u8 = 0x03;
const FULL_AUTH: u8 = 0x04;

/// What an exchange waits for. Whoever lets go of it while the client is silent goes on with [`Exchange::at`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Waiting(State);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Switched,
    Password,
    Encrypted,
}

/// One login attempt.
pub struct Exchange<'a> {
    account: &'a Account,
    nonce: &'a [u8; NONCE_LEN],
    /// TLS or a Unix socket: passwords may travel in clear.
    secure: bool,
    cache: &'a DigestCache,
    rsa: &'a dyn RsaKey,
    state: State,
    password: Option<Box<[u8]>>,
}

impl<'a> Exchange<'a> {
    pub fn new(
        account: &'a Account,
        nonce: &'a [u8; NONCE_LEN],
        secure: bool,
        cache: &'a DigestCache,
        rsa: &'a dyn RsaKey,
    ) -> Exchange<'a> {
        Exchange { account, nonce, secure, cache, rsa, state: State::Switched, password: None }
    }

    /// The password, where it was right and a salted verifier has to be made of it.
    pub fn take_password(&mut self) -> Option<Box<[u8]>> {
        self.password.take()
    }

    /// The same exchange, where it was when [`Exchange::waiting`] gave this.
    pub fn at(self, waiting: Waiting) -> Exchange<'a> {
        Exchange { state: waiting.0, ..self }
    }

    /// Which answer it waits for, after [`Step::Ask`].
    pub fn waiting(&self) -> Waiting {
        Waiting(self.state)
    }

    /// Begins with the proof that came with the login, and the plugin it was made for.
    pub fn begin(&mut self, client_plugin: Option<&[u8]>, proof: &[u8]) -> Step {
        let client_plugin = client_plugin.map_or(Some(Plugin::NativePassword), Plugin::from_name);
        // Nothing to prove, so any plugin will do that the client has. A stand-in, which MariaDB's library sends while
        // another thread loads the plugin that we named, cannot end an exchange: it waits to be told which to use.
        if !self.account.has_password() && is_no_password(proof) {
            return match client_plugin {
                Some(_) => Step::Accept(None),
                None => self.switch_to(Plugin::NativePassword),
            };
        }
        if client_plugin == Some(self.account.plugin) {
            return self.prove(proof);
        }
        self.switch_to(self.account.plugin)
    }

    fn switch_to(&mut self, plugin: Plugin) -> Step {
        self.state = State::Switched;
        let mut payload = vec![AUTH_SWITCH];
        payload.extend_from_slice(plugin.name().as_bytes());
        payload.push(0);
        payload.extend_from_slice(self.nonce);
        payload.push(0);
        Step::Ask(payload)
    }

    /// Goes on with the client's answer to the last [`Step::Ask`].
    pub fn resume(&mut self, answer: &[u8]) -> Step {
        match self.state {
            State::Switched => self.prove(answer),
            State::Password if answer == [REQUEST_PUBLIC_KEY] => match self.rsa.public_key_pem() {
                Some(pem) => {
                    self.state = State::Encrypted;
                    let mut payload = vec![MORE_DATA];
                    payload.extend_from_slice(pem.as_bytes());
                    Step::Ask(payload)
                }
                None => DENIED,
            },
            State::Password if self.secure && answer.ends_with(&[0]) => {
                self.check_password(&answer[..answer.len() - 1])
            }
            State::Password | State::Encrypted => self.check_encrypted(answer),
        }
    }

    fn prove(&mut self, proof: &[u8]) -> Step {
        match (self.account.has_password(), is_no_password(proof)) {
            (false, true) => return Step::Accept(None),
            (true, true) => return Step::Deny { password_given: false },
            (false, false) => return DENIED,
            (true, false) => {}
        }
        let digest = match &self.account.secret {
            Secret::Sha1(stage2) => {
                return if native_proves(proof, self.nonce, stage2) { Step::Accept(None) } else { DENIED };
            }
            Secret::Unsalted(_) => None,
            Secret::Crypt(_) | Secret::None => self.cache.get(self.account),
        };
        if digest.is_some_and(|digest| sha2_proves(proof, self.nonce, &digest)) {
            return Step::Accept(Some(vec![MORE_DATA, FAST_SUCCESS]));
        }
        self.state = State::Password;
        Step::Ask(vec![MORE_DATA, FULL_AUTH])
    }

    fn check_encrypted(&mut self, ciphertext: &[u8]) -> Step {
        let Some(mut password) = self.rsa.decrypt(ciphertext) else { return DENIED };
        for (byte, key) in password.iter_mut().zip(self.nonce.iter().cycle()) {
            *byte ^= key;
        }
        match password.strip_suffix(&[0]) {
            Some(password) => self.check_password(password),
            None => DENIED,
        }
    }

    fn check_password(&mut self, password: &[u8]) -> Step {
        if !self.account.secret.matches(password) {
            return DENIED;
        }
        match self.account.secret {
            Secret::Crypt(_) => self.cache.remember(self.account, password),
            Secret::Unsalted(_) => self.password = Some(password.into()),
            Secret::None | Secret::Sha1(_) => {}
        }
        Step::Accept(None)
    }
}

const DENIED: Step = Step::Deny { password_given: true };

/// Clients say "no password" with an empty proof, or a terminator only.
fn is_no_password(proof: &[u8]) -> bool {
    proof.is_empty() || proof == [0]
}

/// proof = SHA1(password) XOR SHA1(nonce, SHA1(SHA1(password)))
fn native_proves(proof: &[u8], nonce: &[u8], stage2: &[u8; 20]) -> bool {
    let Ok(mut stage1) = <[u8; 20]>::try_from(proof) else { return false };
    for (byte, key) in stage1.iter_mut().zip(sha1(&[nonce, stage2])) {
        *byte ^= key;
    }
    same_bytes(&sha1(&[&stage1]), stage2)
}

/// proof = SHA256(password) XOR SHA256(SHA256(SHA256(password)), nonce)
fn sha2_proves(proof: &[u8], nonce: &[u8], digest: &[u8; 32]) -> bool {
    let Ok(mut stage1) = <[u8; 32]>::try_from(proof) else { return false };
    for (byte, key) in stage1.iter_mut().zip(sha256(&[digest, nonce])) {
        *byte ^= key;
    }
    same_bytes(&sha256(&[&stage1]), digest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypt::{native_hash, sha2_hash};
    use proptest::prelude::*;

    const NONCE: [u8; NONCE_LEN] = *b"abcdefghij0123456789";

    /// "Encrypts" by adding one to each byte.
    struct ToyRsa;

    impl RsaKey for ToyRsa {
        fn public_key_pem(&self) -> Option<String> {
            Some("PEM".to_owned())
        }

        fn decrypt(&self, ciphertext: &[u8]) -> Option<Vec<u8>> {
            Some(ciphertext.iter().map(|byte| byte.wrapping_sub(1)).collect())
        }
    }

    fn toy_encrypt(password: &[u8]) -> Vec<u8> {
        let plain = password.iter().chain(&[0]);
        plain.zip(NONCE.iter().cycle()).map(|(byte, key)| (byte ^ key).wrapping_add(1)).collect()
    }

    fn account(plugin: Plugin, password: &[u8]) -> Account {
        let stored = match plugin {
            Plugin::NativePassword => native_hash(password).into_bytes(),
            Plugin::CachingSha2Password => sha2_hash(password, &NONCE),
        };
        let secret = Secret::from_auth_string(plugin, &stored).unwrap();
        Account { plugin, secret, host: "%".to_owned(), ..Account::decoy("joe") }
    }

    fn native_proof(password: &[u8]) -> Vec<u8> {
        let stage1 = sha1(&[password]);
        stage1.iter().zip(sha1(&[&NONCE, &sha1(&[&stage1])])).map(|(a, b)| a ^ b).collect()
    }

    fn sha2_proof(password: &[u8]) -> Vec<u8> {
        let stage1 = sha256(&[password]);
        stage1.iter().zip(sha256(&[&sha256(&[&stage1]), &NONCE])).map(|(a, b)| a ^ b).collect()
    }

    const NATIVE: Option<&[u8]> = Some(b"mysql_native_password");
    const SHA2: Option<&[u8]> = Some(b"caching_sha2_password");

    #[test]
    fn native() {
        let (account, cache) = (account(Plugin::NativePassword, b"pw"), DigestCache::default());
        let exchange = || Exchange::new(&account, &NONCE, false, &cache, &ToyRsa);
        assert_eq!(exchange().begin(NATIVE, &native_proof(b"pw")), Step::Accept(None));
        assert_eq!(exchange().begin(None, &native_proof(b"pw")), Step::Accept(None));
        assert_eq!(exchange().begin(NATIVE, &native_proof(b"wp")), DENIED);
        assert_eq!(exchange().begin(NATIVE, b""), Step::Deny { password_given: false });
        assert_eq!(exchange().begin(NATIVE, b"short"), DENIED);
        let mut switched = exchange();
        let Step::Ask(payload) = switched.begin(SHA2, &sha2_proof(b"pw")) else { panic!("no switch") };
        assert_eq!(payload, b"\xfemysql_native_password\0abcdefghij0123456789\0");
        assert_eq!(switched.resume(&native_proof(b"pw")), Step::Accept(None));
    }

    #[test]
    fn sha2_over_a_secure_channel_then_from_the_cache() {
        let (account, cache) = (account(Plugin::CachingSha2Password, b"pw"), DigestCache::default());
        let mut first = Exchange::new(&account, &NONCE, true, &cache, &ToyRsa);
        assert_eq!(first.begin(SHA2, &sha2_proof(b"pw")), Step::Ask(vec![1, 4]));
        assert_eq!(first.resume(b"pw\0"), Step::Accept(None));
        let mut second = Exchange::new(&account, &NONCE, false, &cache, &ToyRsa);
        assert_eq!(second.begin(SHA2, &sha2_proof(b"pw")), Step::Accept(Some(vec![1, 3])));
        let mut wrong = Exchange::new(&account, &NONCE, true, &cache, &ToyRsa);
        assert_eq!(wrong.begin(SHA2, &sha2_proof(b"no")), Step::Ask(vec![1, 4]));
        assert_eq!(wrong.resume(b"no\0"), DENIED);
        // a changed password makes the cached digest stale
        let changed = Account { secret: Secret::Crypt(sha2_hash(b"new", &NONCE)), ..account.clone() };
        let mut stale = Exchange::new(&changed, &NONCE, true, &cache, &ToyRsa);
        assert_eq!(stale.begin(SHA2, &sha2_proof(b"pw")), Step::Ask(vec![1, 4]));
    }

    #[test]
    fn sha2_with_rsa() {
        let (account, cache) = (account(Plugin::CachingSha2Password, b"a longer password"), DigestCache::default());
        let begin = || {
            let mut exchange = Exchange::new(&account, &NONCE, false, &cache, &ToyRsa);
            assert_eq!(exchange.begin(SHA2, &sha2_proof(b"x")), Step::Ask(vec![1, 4]));
            exchange
        };
        let mut asks_key = begin();
        assert_eq!(asks_key.resume(&[2]), Step::Ask(b"\x01PEM".to_vec()));
        let again = || Exchange::new(&account, &NONCE, false, &cache, &ToyRsa);
        let mut later = again().at(asks_key.waiting());
        assert_eq!(later.resume(&toy_encrypt(b"a longer password")), Step::Accept(None));
        assert_eq!(asks_key.resume(&toy_encrypt(b"a longer password")), Step::Accept(None));
        assert_eq!(begin().resume(&toy_encrypt(b"a longer passwort")), DENIED);
        // in clear over an insecure channel: not even if it is right
        assert_eq!(begin().resume(b"a longer password\0"), DENIED);
    }

    #[test]
    fn an_unsalted_digest_takes_the_password_itself() {
        let secret = Secret::Unsalted(sha256(&[&sha256(&[b"pw"])]));
        let account = Account { secret, ..account(Plugin::CachingSha2Password, b"x") };
        let cache = DigestCache::default();
        // Whoever has read the digest has this proof, too.
        let full = |password: &[u8]| {
            let mut exchange = Exchange::new(&account, &NONCE, true, &cache, &ToyRsa);
            assert_eq!(exchange.begin(SHA2, &sha2_proof(b"pw")), Step::Ask(vec![1, 4]));
            (exchange.resume(password), exchange.take_password())
        };
        assert_eq!(full(b"no\0"), (DENIED, None));
        assert_eq!(full(b"pw\0"), (Step::Accept(None), Some(b"pw"[..].into())));
        // Nor is it quick the second time, until there is a salted one.
        assert_eq!(full(b"pw\0").0, Step::Accept(None));
        let salted = Secret::Crypt(sha2_hash(b"pw", &NONCE));
        let account = Account { secret: salted, ..account.clone() };
        cache.remember(&account, b"pw");
        let mut quick = Exchange::new(&account, &NONCE, false, &cache, &ToyRsa);
        assert_eq!(quick.begin(SHA2, &sha2_proof(b"pw")), Step::Accept(Some(vec![1, 3])));
        assert_eq!(Secret::from_auth_string(Plugin::NativePassword, b"$A$"), None);
    }

    #[test]
    fn no_password() {
        let (account, cache) = (account(Plugin::CachingSha2Password, b""), DigestCache::default());
        let begin = |plugin, proof: &[u8]| Exchange::new(&account, &NONCE, false, &cache, &ToyRsa).begin(plugin, proof);
        assert_eq!(begin(NATIVE, b""), Step::Accept(None));
        assert_eq!(begin(SHA2, b"\0"), Step::Accept(None));
        assert_eq!(begin(SHA2, &sha2_proof(b"x")), DENIED);
        let Step::Ask(switch) = begin(Some(b"dummy_fallback_auth"), b"") else { panic!("it waits for a plugin") };
        assert!(switch.starts_with(b"\xfemysql_native_password\0"));
        let mut exchange = Exchange::new(&account, &NONCE, false, &cache, &ToyRsa);
        exchange.begin(Some(b"dummy_fallback_auth"), b"");
        assert_eq!(exchange.resume(b""), Step::Accept(None));
    }

    #[test]
    fn nobody_is_the_decoy() {
        let (account, cache) = (Account::decoy("x"), DigestCache::default());
        let mut exchange = Exchange::new(&account, &NONCE, true, &cache, &ToyRsa);
        assert_eq!(exchange.begin(SHA2, b""), Step::Deny { password_given: false });
        assert_eq!(exchange.begin(SHA2, &[1; 32]), Step::Ask(vec![1, 4]));
        assert_eq!(exchange.resume(b"anything\0"), DENIED);
        assert!(is_sha2_hash(NO_PASSWORD_FITS));
    }

    proptest! {
        #[test]
        fn no_answer_panics_or_is_accepted(
            answers in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 1..4),
            secure: bool,
            native: bool,
        ) {
            let plugin = if native { Plugin::NativePassword } else { Plugin::CachingSha2Password };
            let (account, cache) = (account(plugin, b"not to be guessed"), DigestCache::default());
            let mut exchange = Exchange::new(&account, &NONCE, secure, &cache, &ToyRsa);
            let mut step = exchange.begin(SHA2, &answers[0]);
            for answer in &answers[1..] {
                if !matches!(step, Step::Ask(_)) {
                    break;
                }
                step = exchange.resume(answer);
            }
            prop_assert!(!matches!(step, Step::Accept(_)));
        }
    }
}
