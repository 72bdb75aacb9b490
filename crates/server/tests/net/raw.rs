//! A client that speaks packets by hand, so that it can misbehave.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

pub struct Raw<S = TcpStream> {
    pub stream: S,
    pub seq: u8,
}

/// Number and message of an ERR packet.
pub fn error_of(payload: &[u8]) -> (u16, String) {
    assert_eq!(payload[0], 0xff, "not an ERR packet: {payload:?}");
    (u16::from_le_bytes([payload[1], payload[2]]), String::from_utf8_lossy(&payload[3..]).into_owned())
}

pub const CAPS: u32 = 1 << 9 | 1 << 15 | 1 << 16 | 1 << 17 | 1 << 19;

pub fn login_payload(caps: u32, user: &str) -> Vec<u8> {
    let mut payload = caps.to_le_bytes().to_vec();
    payload.extend_from_slice(&(1u32 << 30).to_le_bytes());
    payload.push(255);
    payload.extend_from_slice(&[0; 23]);
    payload.extend_from_slice(user.as_bytes());
    payload.extend_from_slice(b"\0\0caching_sha2_password\0");
    payload
}

impl Raw {
    pub fn connect(port: u16) -> Raw {
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        Raw { stream, seq: 0 }
    }

    /// Connects and logs in as root.
    pub fn log_in(port: u16) -> Raw {
        let mut raw = Raw::connect(port);
        assert_eq!(raw.read()[0], 10);
        raw.write(&login_payload(CAPS, "root"));
        assert_eq!(raw.read()[0], 0);
        raw
    }
}

impl<S: Read + Write> Raw<S> {
    pub fn try_read(&mut self) -> std::io::Result<Vec<u8>> {
        let mut header = [0; 4];
        self.stream.read_exact(&mut header)?;
        let len = u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize;
        self.seq = header[3].wrapping_add(1);
        let mut payload = vec![0; len];
        self.stream.read_exact(&mut payload)?;
        Ok(payload)
    }

    pub fn read(&mut self) -> Vec<u8> {
        self.try_read().unwrap()
    }

    pub fn write(&mut self, payload: &[u8]) {
        let mut packet = (payload.len() as u32).to_le_bytes();
        packet[3] = self.seq;
        self.seq = self.seq.wrapping_add(1);
        self.stream.write_all(&[&packet[..], payload].concat()).unwrap();
    }

    pub fn command(&mut self, payload: &[u8]) {
        self.seq = 0;
        self.write(payload);
    }

    pub fn query(&mut self, sql: &str) {
        self.command(&[b"\x03", sql.as_bytes()].concat());
    }

    pub fn is_closed(&mut self) -> bool {
        self.try_read().is_err()
    }
}
