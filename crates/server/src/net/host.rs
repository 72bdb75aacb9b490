//! Where a client comes from.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

/// The address of a client. Names of hosts are not looked up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClientHost {
    /// A Unix socket.
    Local,
    Tcp(SocketAddr),
}

impl ClientHost {
    /// The host that accounts are matched against: `localhost` for this machine's own addresses, else the address.
    pub fn name(&self) -> String {
        match self.ip() {
            Some(ip) if !ip.is_loopback() => ip.to_string(),
            _ => "localhost".to_owned(),
        }
    }

    /// The address, IPv4 in its own form even where it came through an IPv6 socket.
    pub fn ip(&self) -> Option<IpAddr> {
        match self {
            ClientHost::Local => None,
            ClientHost::Tcp(address) => Some(address.ip().to_canonical()),
        }
    }

    /// From this machine: nobody between can have listened.
    pub fn is_loopback(&self) -> bool {
        self.ip().is_none_or(|ip| ip.is_loopback())
    }
}

/// As SHOW PROCESSLIST shows it: with the port.
impl fmt::Display for ClientHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClientHost::Local => f.write_str("localhost"),
            ClientHost::Tcp(address) => write!(f, "{}:{}", self.name(), address.port()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        let host = |address: &str| ClientHost::Tcp(address.parse().unwrap());
        assert_eq!(host("127.0.0.1:5").name(), "localhost");
        assert_eq!(host("[::1]:5").to_string(), "localhost:5");
        assert_eq!(host("[::ffff:10.1.2.3]:7").to_string(), "10.1.2.3:7");
        assert!(host("[::ffff:127.0.0.1]:7").is_loopback());
        assert!(!host("192.168.0.1:7").is_loopback());
        assert!(ClientHost::Local.is_loopback());
    }
}
