//! Addresses that people type, and the ones to give to others.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use super::NetError;

/// A host's address as a person typed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostAddress {
    /// Name or number.
    pub host: String,
    /// TCP port.
    pub port: u16,
}

impl HostAddress {
    /// Reads `HOST`, `HOST:PORT`, `1.2.3.4`, `::1` or `[::1]:PORT`.
    pub fn parse(text: &str, default_port: u16) -> Result<Self, NetError> {
        let text = text.trim();
        let bad = || NetError::BadAddress { address: text.to_owned() };
        if text.parse::<Ipv6Addr>().is_ok() {
            return Ok(Self { host: text.to_owned(), port: default_port });
        }
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) => (host, port.parse::<u16>().ok().filter(|&p| p != 0).ok_or_else(bad)?),
            None => (text, default_port),
        };
        let host = host.strip_prefix('[').and_then(|h| h.strip_suffix(']')).unwrap_or(host);
        let numeric = host.parse::<IpAddr>().is_ok();
        let name = host.len() <= 253
            && !host.is_empty()
            && host.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '.' | '_'))
            // All digits and dots, but not an IP address: a slip, not a name.
            && !host.chars().all(|c| c.is_ascii_digit() || c == '.');
        if numeric || name { Ok(Self { host: host.to_owned(), port }) } else { Err(bad()) }
    }
}

impl std::fmt::Display for HostAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

/// The address to give to others for something that listens at `local`: its
/// own, or, where it listens on all, that of the likeliest network.
pub fn address_to_give(local: SocketAddr) -> IpAddr {
    if !local.ip().is_unspecified() {
        return local.ip().to_canonical();
    }
    let mut addresses: Vec<IpAddr> = if_addrs::get_if_addrs()
        .unwrap_or_default()
        .into_iter()
        .filter(|interface| !interface.is_loopback() && !interface.is_link_local())
        .map(|interface| interface.ip())
        .collect();
    let rank = |ip: &IpAddr| match ip {
        IpAddr::V4(v4) if v4.is_private() && v4.octets()[0] != 172 => 0,
        IpAddr::V4(v4) if v4.is_private() => 1,
        IpAddr::V4(_) => 2,
        IpAddr::V6(_) => 3,
    };
    addresses.sort_by_key(rank);
    addresses.first().copied().unwrap_or(IpAddr::from([127, 0, 0, 1]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms() {
        let parse = |text| HostAddress::parse(text, 21213).map(|a| (a.host, a.port));
        assert_eq!(parse(" 192.168.1.20 "), Ok(("192.168.1.20".into(), 21213)));
        assert_eq!(parse("192.168.1.20:5000"), Ok(("192.168.1.20".into(), 5000)));
        assert_eq!(parse("lab-pc.local"), Ok(("lab-pc.local".into(), 21213)));
        assert_eq!(parse("::1"), Ok(("::1".into(), 21213)));
        assert_eq!(parse("[::1]:5"), Ok(("::1".into(), 5)));
        for bad in ["", ":5", "a:b", "a:0", "a:70000", "192.168.1", "192.168.1.300", "a b", "http://x/"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
