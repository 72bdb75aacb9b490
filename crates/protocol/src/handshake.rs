//! The connection phase: the server's greeting, the client's login, and COM_CHANGE_USER, which logs in again.
//!
//! ```text
//! server  Greeting     version, connection id, challenge (nonce), capabilities, proposed plugin
//! client  [SslRequest] the first 32 bytes of a login; TLS follows, then the login is sent again inside
//! client  Login        capabilities, user, proof, database, plugin, attributes
//! ```

use crate::NONCE_LEN;
use crate::bytes::{Cursor, Malformed, put_u16, put_u32};
use crate::caps::{Capabilities, StatusFlags};

const PROTOCOL_VERSION: u8 = 10;

/// Length of an SSL request, and of the fixed part of a login.
pub const SSL_REQUEST_LEN: usize = 32;

/// Turns random bytes into a challenge, which travels NUL-terminated and so must not hold NUL (nor `$`, which delimits
/// stored passwords).
pub fn nonce_from_random(random: [u8; NONCE_LEN]) -> [u8; NONCE_LEN] {
    random.map(|byte| match byte & 0x7f {
        0 | b'$' => byte & 0x7f | 1,
        other => other,
    })
}

/// The first packet of a connection, from the server (`Protocol::HandshakeV10`).
#[derive(Clone, Copy, Debug)]
pub struct Greeting<'a> {
    pub server_version: &'a str,
    pub connection_id: u32,
    pub nonce: &'a [u8; NONCE_LEN],
    pub capabilities: Capabilities,
    /// Id of the server's default collation; ids above 255 do not fit and are sent as their low byte.
    pub collation: u16,
    pub status: StatusFlags,
    pub plugin: &'a str,
}

impl Greeting<'_> {
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.push(PROTOCOL_VERSION);
        out.extend_from_slice(self.server_version.as_bytes());
        out.push(0);
        put_u32(out, self.connection_id);
        out.extend_from_slice(&self.nonce[..8]);
        out.push(0);
        put_u16(out, self.capabilities.0 as u16);
        out.push(self.collation as u8);
        put_u16(out, self.status.0);
        put_u16(out, (self.capabilities.0 >> 16) as u16);
        out.push(NONCE_LEN as u8 + 1);
        out.extend_from_slice(&[0; 10]);
        out.extend_from_slice(&self.nonce[8..]);
        out.push(0);
        out.extend_from_slice(self.plugin.as_bytes());
        out.push(0);
    }
}

/// Whether this first packet of a client asks for TLS.
pub fn is_ssl_request(payload: &[u8]) -> bool {
    payload.len() == SSL_REQUEST_LEN
        && Cursor::new(payload).u32().is_ok_and(|caps| Capabilities(caps).has(Capabilities::SSL))
}

/// A connection attribute: name and value, such as `_client_name` and `libmysql`.
pub type Attribute<'a> = (&'a [u8], &'a [u8]);

/// The client's answer to the greeting (`Protocol::HandshakeResponse41`).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Login<'a> {
    pub capabilities: Capabilities,
    pub packet_len_max: u32,
    pub collation: u8,
    pub user: &'a [u8],
    pub proof: &'a [u8],
    pub database: Option<&'a [u8]>,
    pub plugin: Option<&'a [u8]>,
    pub attributes: Vec<Attribute<'a>>,
}

impl<'a> Login<'a> {
    /// Clients older than 4.1 have no `PROTOCOL_41` and are malformed here.
    pub fn parse(payload: &'a [u8]) -> Result<Login<'a>, Malformed> {
        let mut cursor = Cursor::new(payload);
        let capabilities = Capabilities(cursor.u32()?);
        if !capabilities.has(Capabilities::PROTOCOL_41) {
            return Err(Malformed);
        }
        let packet_len_max = cursor.u32()?;
        let collation = cursor.u8()?;
        cursor.take(23)?;
        let user = cursor.nul_bytes()?;
        let proof = if capabilities.has(Capabilities::PLUGIN_AUTH_LENENC) {
            cursor.lenenc_bytes()?
        } else if capabilities.has(Capabilities::SECURE_CONNECTION) {
            let len = cursor.u8()?;
            cursor.take(usize::from(len))?
        } else {
            cursor.nul_bytes()?
        };
        let database = database(&mut cursor, capabilities.has(Capabilities::CONNECT_WITH_DB));
        let plugin = plugin(&mut cursor, capabilities);
        let attributes = attributes(&mut cursor, capabilities)?;
        Ok(Login { capabilities, packet_len_max, collation, user, proof, database, plugin, attributes })
    }
}

/// Payload of COM_CHANGE_USER.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChangeUser<'a> {
    pub user: &'a [u8],
    pub proof: &'a [u8],
    pub database: Option<&'a [u8]>,
    pub collation: Option<u16>,
    pub plugin: Option<&'a [u8]>,
    pub attributes: Vec<Attribute<'a>>,
}

impl<'a> ChangeUser<'a> {
    /// `capabilities` are those of the connection. `payload` begins behind the command byte.
    pub fn parse(payload: &'a [u8], capabilities: Capabilities) -> Result<ChangeUser<'a>, Malformed> {
        let mut cursor = Cursor::new(payload);
        let user = cursor.nul_bytes()?;
        let proof = if capabilities.has(Capabilities::SECURE_CONNECTION) {
            let len = cursor.u8()?;
            cursor.take(usize::from(len))?
        } else {
            cursor.nul_bytes()?
        };
        let database = database(&mut cursor, true);
        let collation = if cursor.is_empty() { None } else { Some(cursor.u16()?) };
        let plugin = plugin(&mut cursor, capabilities);
        let attributes = attributes(&mut cursor, capabilities)?;
        Ok(ChangeUser { user, proof, database, collation, plugin, attributes })
    }
}

fn database<'a>(cursor: &mut Cursor<'a>, present: bool) -> Option<&'a [u8]> {
    Some(cursor).filter(|_| present).map(Cursor::nul_or_rest).filter(|name| !name.is_empty())
}

fn plugin<'a>(cursor: &mut Cursor<'a>, capabilities: Capabilities) -> Option<&'a [u8]> {
    let present = capabilities.has(Capabilities::PLUGIN_AUTH) && !cursor.is_empty();
    Some(cursor).filter(|_| present).map(Cursor::nul_or_rest)
}

fn attributes<'a>(cursor: &mut Cursor<'a>, capabilities: Capabilities) -> Result<Vec<Attribute<'a>>, Malformed> {
    let mut attributes = Vec::new();
    if capabilities.has(Capabilities::CONNECT_ATTRS) && !cursor.is_empty() {
        let mut pairs = Cursor::new(cursor.lenenc_bytes()?);
        while !pairs.is_empty() {
            attributes.push((pairs.lenenc_bytes()?, pairs.lenenc_bytes()?));
        }
    }
    Ok(attributes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::put_lenenc_bytes;
    use proptest::prelude::*;

    fn login(capabilities: Capabilities) -> Vec<u8> {
        let mut out = Vec::new();
        put_u32(&mut out, capabilities.0);
        put_u32(&mut out, 1 << 24);
        out.push(255);
        out.extend_from_slice(&[0; 23]);
        out.extend_from_slice(b"root\0");
        put_lenenc_bytes(&mut out, &[9; 20]);
        if capabilities.has(Capabilities::CONNECT_WITH_DB) {
            out.extend_from_slice(b"tpch\0");
        }
        if capabilities.has(Capabilities::PLUGIN_AUTH) {
            out.extend_from_slice(b"mysql_native_password\0");
        }
        if capabilities.has(Capabilities::CONNECT_ATTRS) {
            let mut pairs = Vec::new();
            put_lenenc_bytes(&mut pairs, b"_client_name");
            put_lenenc_bytes(&mut pairs, b"libmysql");
            put_lenenc_bytes(&mut out, &pairs);
        }
        out
    }

    const CLIENT: Capabilities = Capabilities(
        Capabilities::PROTOCOL_41.0
            | Capabilities::SECURE_CONNECTION.0
            | Capabilities::PLUGIN_AUTH.0
            | Capabilities::PLUGIN_AUTH_LENENC.0
            | Capabilities::CONNECT_ATTRS.0,
    );

    #[test]
    fn logins() {
        let bytes = login(CLIENT | Capabilities::CONNECT_WITH_DB);
        let login_with_db = Login::parse(&bytes).unwrap();
        assert_eq!(login_with_db.user, b"root");
        assert_eq!(login_with_db.proof, [9; 20]);
        assert_eq!(login_with_db.database, Some(&b"tpch"[..]));
        assert_eq!(login_with_db.plugin, Some(&b"mysql_native_password"[..]));
        assert_eq!(login_with_db.attributes, [(&b"_client_name"[..], &b"libmysql"[..])]);
        assert_eq!(login_with_db.collation, 255);

        let bytes = login(CLIENT.without(Capabilities::CONNECT_ATTRS | Capabilities::PLUGIN_AUTH));
        let plain = Login::parse(&bytes).unwrap();
        assert_eq!((plain.database, plain.plugin, plain.attributes.len()), (None, None, 0));

        assert_eq!(Login::parse(&login(Capabilities::SECURE_CONNECTION)), Err(Malformed));
        for len in 0..SSL_REQUEST_LEN + 20 {
            assert_eq!(Login::parse(&bytes[..len]), Err(Malformed), "{len}");
        }
        assert!(!is_ssl_request(&bytes));
        assert!(is_ssl_request(&login(CLIENT | Capabilities::SSL)[..SSL_REQUEST_LEN]));
    }

    #[test]
    fn greeting_layout() {
        let mut out = Vec::new();
        let nonce = nonce_from_random([0; NONCE_LEN]);
        Greeting {
            server_version: "8.4.0-x",
            connection_id: 0x01020304,
            nonce: &nonce,
            capabilities: Capabilities(0xaabb_ccdd),
            collation: 255,
            status: StatusFlags::AUTOCOMMIT,
            plugin: "p",
        }
        .encode(&mut out);
        let mut expected = b"\x0a8.4.0-x\0\x04\x03\x02\x01".to_vec();
        expected.extend_from_slice(&[1; 8]);
        expected.extend_from_slice(b"\0\xdd\xcc\xff\x02\0\xbb\xaa\x15\0\0\0\0\0\0\0\0\0\0");
        expected.extend_from_slice(&[1; 12]);
        expected.extend_from_slice(b"\0p\0");
        assert_eq!(out, expected);
    }

    #[test]
    fn change_user() {
        let payload = b"joe\0\x02xydb\0\x2d\0mysql_native_password\0";
        let change = ChangeUser::parse(payload, CLIENT).unwrap();
        assert_eq!((change.user, change.proof, change.database), (&b"joe"[..], &b"xy"[..], Some(&b"db"[..])));
        assert_eq!((change.collation, change.plugin), (Some(45), Some(&b"mysql_native_password"[..])));
        assert_eq!(ChangeUser::parse(b"joe\0\0\0", CLIENT).unwrap().collation, None);
    }

    proptest! {
        #[test]
        fn any_bytes_do_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300), caps: u32) {
            let _ = Login::parse(&bytes);
            let _ = ChangeUser::parse(&bytes, Capabilities(caps));
        }

        #[test]
        fn damaged_logins_do_not_panic(caps: u32, at in 0usize..100, byte: u8, len in 0usize..130) {
            let mut bytes = login(Capabilities(caps) | Capabilities::PROTOCOL_41);
            bytes.truncate(len);
            if let Some(slot) = bytes.get_mut(at) {
                *slot = byte;
            }
            let _ = Login::parse(&bytes);
        }

        #[test]
        fn nonces_hold_no_delimiter(random: [u8; NONCE_LEN]) {
            let nonce = nonce_from_random(random);
            prop_assert!(!nonce.contains(&0) && !nonce.contains(&b'$'));
        }
    }
}
