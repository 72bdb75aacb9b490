//! Certificates and keys, in files named as MySQL names them; private keys are readable by their owner only.
//!
//! ```text
//! ca.pem, ca-key.pem                    an authority of this server's own, made at the first start
//! server-cert.pem, server-key.pem       signed by it; replace the two by your own, or name others by ssl_cert, ssl_key
//! private_key.pem, public_key.pem       RSA, for caching_sha2_password without TLS; made when first asked for
//! ```

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{SystemTime, UNIX_EPOCH};

use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der, PublicKeyX509Der};
use aws_lc_rs::rsa::{KeySize, OAEP_SHA1_MGF1SHA1, OaepPrivateDecryptingKey, PrivateDecryptingKey};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

use super::listener::TlsOptions;
use engine::files::modes;

const VALID_YEARS: i32 = 10;

/// The TLS configuration, from the files of `options` or of its directory; makes the latter where they are missing.
pub(super) fn server_config(options: &TlsOptions) -> Result<Arc<rustls::ServerConfig>, String> {
    let (cert, key) = match (&options.cert, &options.key) {
        (Some(cert), Some(key)) => (cert.clone(), key.clone()),
        (None, None) => {
            let (cert, key) = (options.dir.join("server-cert.pem"), options.dir.join("server-key.pem"));
            if !cert.exists() || !key.exists() {
                warn_of_lost_files(&options.dir);
                make_certificates(&options.dir)
                    .map_err(|e| format!("cannot make a certificate in {}: {e}", options.dir.display()))?;
            }
            (cert, key)
        }
        _ => return Err("ssl_cert and ssl_key must be given together".to_owned()),
    };
    let chain: Vec<_> = CertificateDer::pem_file_iter(&cert)
        .and_then(Iterator::collect)
        .map_err(|e| format!("cannot read the certificate {}: {e}", cert.display()))?;
    let private =
        PrivateKeyDer::from_pem_file(&key).map_err(|e| format!("cannot read the key {}: {e}", key.display()))?;
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map(|builder| builder.with_no_client_auth())
        .and_then(|builder| builder.with_single_cert(chain, private));
    config.map(Arc::new).map_err(|e| format!("cannot use the certificate {}: {e}", cert.display()))
}

/// Some files are there, so others were: clients that know the old ones must be told of the new ones.
fn warn_of_lost_files(dir: &Path) {
    let names = ["ca.pem", "ca-key.pem", "server-cert.pem", "server-key.pem"];
    let (there, lost): (Vec<&str>, Vec<&str>) = names.into_iter().partition(|name| dir.join(name).exists());
    if !there.is_empty() {
        let (dir, lost) = (dir.display(), lost.join(", "));
        crate::log::warning(format_args!(
            "missing in {dir}: {lost}; a new authority and certificate are made, which clients that verify do not know yet"
        ));
    }
}

fn make_certificates(dir: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
    let year = 1970 + i32::try_from(seconds / 31_556_952)?;
    let dated = |names: Vec<String>, common_name: &str| -> Result<CertificateParams, rcgen::Error> {
        let mut params = CertificateParams::new(names)?;
        params.not_before = rcgen::date_time_ymd(year - 1, 1, 1);
        params.not_after = rcgen::date_time_ymd(year + VALID_YEARS, 1, 1);
        params.distinguished_name.push(DnType::CommonName, common_name);
        Ok(params)
    };

    let ca_key = KeyPair::generate()?;
    let mut ca = dated(Vec::new(), "Nextleaf auto-generated CA certificate")?;
    ca.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    ca.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let ca_cert = ca.self_signed(&ca_key)?;

    let mut names = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
    if let Ok(host) = fs::read_to_string("/proc/sys/kernel/hostname") {
        names.push(host.trim().to_owned());
    }
    let server_key = KeyPair::generate()?;
    let mut server = dated(names, "Nextleaf auto-generated server certificate")?;
    server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let server_cert = server.signed_by(&server_key, &Issuer::new(ca, &ca_key))?;

    write(&dir.join("ca-key.pem"), &ca_key.serialize_pem(), modes::SECRET)?;
    write(&dir.join("ca.pem"), &ca_cert.pem(), modes::PUBLIC)?;
    write(&dir.join("server-key.pem"), &server_key.serialize_pem(), modes::SECRET)?;
    write(&dir.join("server-cert.pem"), &server_cert.pem(), modes::PUBLIC)?;
    Ok(())
}

/// Writes a file, all or nothing.
fn write(path: &Path, text: &str, mode: u32) -> io::Result<()> {
    let unfinished = path.with_extension("pem.tmp");
    let _ = fs::remove_file(&unfinished);
    let mut file = modes::open(OpenOptions::new().write(true).create_new(true), &unfinished, mode)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(unfinished, path)
}

/// The RSA key with which clients without TLS encrypt their password. Made or read when first asked for.
pub(super) struct PasswordKey {
    dir: PathBuf,
    key: OnceLock<Option<Key>>,
}

struct Key {
    private: OaepPrivateDecryptingKey,
    public_pem: String,
}

impl PasswordKey {
    pub(super) fn new(dir: PathBuf) -> PasswordKey {
        PasswordKey { dir, key: OnceLock::new() }
    }

    fn key(&self) -> Option<&Key> {
        self.key
            .get_or_init(|| {
                open_password_key(&self.dir)
                    .inspect_err(|e| crate::log::error(format_args!("no RSA key for caching_sha2_password: {e}")))
                    .ok()
            })
            .as_ref()
    }

    pub(super) fn public_key_pem(&self) -> Option<String> {
        self.key().map(|key| key.public_pem.clone())
    }

    pub(super) fn decrypt(&self, ciphertext: &[u8]) -> Option<Vec<u8>> {
        let private = &self.key()?.private;
        let mut plain = vec![0; private.min_output_size()];
        let len = private.decrypt(&OAEP_SHA1_MGF1SHA1, ciphertext, &mut plain, None).ok()?.len();
        plain.truncate(len);
        Some(plain)
    }
}

fn open_password_key(dir: &Path) -> Result<Key, Box<dyn std::error::Error>> {
    let path = dir.join("private_key.pem");
    let private = if path.exists() {
        let unusable = |e: &dyn std::fmt::Display| format!("cannot use {}: {e}", path.display());
        let der = PrivatePkcs8KeyDer::from_pem_file(&path).map_err(|e| unusable(&e))?;
        PrivateDecryptingKey::from_pkcs8(der.secret_pkcs8_der()).map_err(|e| unusable(&e))?
    } else {
        if dir.join("public_key.pem").exists() {
            crate::log::warning(format_args!("{} is missing: a new pair of RSA keys is made", path.display()));
        }
        let private = PrivateDecryptingKey::generate(KeySize::Rsa2048)?;
        let der = AsDer::<Pkcs8V1Der<'_>>::as_der(&private)?;
        write(&path, &pem("PRIVATE KEY", der.as_ref()), modes::SECRET)?;
        private
    };
    let public = AsDer::<PublicKeyX509Der<'_>>::as_der(&private.public_key())?;
    let public_pem = pem("PUBLIC KEY", public.as_ref());
    write(&dir.join("public_key.pem"), &public_pem, modes::PUBLIC)?;
    Ok(Key { private: OaepPrivateDecryptingKey::new(private)?, public_pem })
}

/// RFC 7468.
fn pem(label: &str, der: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const LINE_BYTES: usize = 48;
    let mut text = format!("-----BEGIN {label}-----\n");
    for line in der.chunks(LINE_BYTES) {
        for group in line.chunks(3) {
            let byte = |i: usize| u32::from(group.get(i).copied().unwrap_or(0));
            let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
            for i in 0..4 {
                let char = ALPHABET[(bits >> (18 - 6 * i)) as usize & 63];
                text.push(if i <= group.len() { char::from(char) } else { '=' });
            }
        }
        text.push('\n');
    }
    text.push_str(&format!("-----END {label}-----\n"));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pem_is_read_back() {
        for len in [1, 2, 3, 47, 48, 49, 200] {
            let der: Vec<u8> = (0..len).collect();
            let text = pem("PRIVATE KEY", &der);
            let read = PrivatePkcs8KeyDer::from_pem_slice(text.as_bytes()).unwrap();
            assert_eq!(read.secret_pkcs8_der(), der);
        }
    }
}
