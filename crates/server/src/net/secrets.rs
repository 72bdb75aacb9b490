//! What the server keeps to itself: the certificate with its key, and the RSA key for passwords.

use protocol::auth::RsaKey;

use super::listener::TlsOptions;

#[cfg(feature = "tls")]
use super::tls::{PasswordKey, server_config};
#[cfg(feature = "tls")]
use std::sync::Arc;

/// Secrets of one server.
pub(crate) struct Secrets {
    #[cfg(feature = "tls")]
    config: Option<Arc<rustls::ServerConfig>>,
    #[cfg(feature = "tls")]
    password_key: PasswordKey,
}

impl Secrets {
    /// Reads them, or makes them at the first start.
    pub(crate) fn open(options: &TlsOptions) -> Result<Secrets, String> {
        #[cfg(feature = "tls")]
        {
            let config = if options.enabled { Some(server_config(options)?) } else { None };
            Ok(Secrets { config, password_key: PasswordKey::new(options.dir.clone()) })
        }
        #[cfg(not(feature = "tls"))]
        {
            let _ = options;
            Ok(Secrets {})
        }
    }

    pub(crate) fn has_tls(&self) -> bool {
        #[cfg(feature = "tls")]
        return self.config.is_some();
        #[cfg(not(feature = "tls"))]
        return false;
    }

    #[cfg(feature = "tls")]
    pub(crate) fn tls(&self) -> Option<Arc<rustls::ServerConfig>> {
        self.config.clone()
    }
}

impl RsaKey for Secrets {
    fn public_key_pem(&self) -> Option<String> {
        #[cfg(feature = "tls")]
        return self.password_key.public_key_pem();
        #[cfg(not(feature = "tls"))]
        None
    }

    fn decrypt(&self, ciphertext: &[u8]) -> Option<Vec<u8>> {
        #[cfg(feature = "tls")]
        return self.password_key.decrypt(ciphertext);
        #[cfg(not(feature = "tls"))]
        {
            let _ = ciphertext;
            None
        }
    }
}
