//! The client address of a request that came through proxies.
//!
//! Anyone can write `X-Forwarded-For`, so it is read only when the connection itself comes from a
//! proxy the operator named, and only as far as named proxies vouch for it. It must not know what
//! the address is used for.

use std::net::IpAddr;

use axum::http::HeaderMap;

const FORWARDED_FOR: &str = "x-forwarded-for";

/// The proxies an operator named. The default trusts none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrustedProxies {
    networks: Vec<Network>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TrustedProxyError {
    #[error(
        "reading trusted proxy {entry:?}: expected an address such as 127.0.0.1 or a network \
         such as 10.0.0.0/8"
    )]
    NotANetwork { entry: String },
    #[error("reading trusted proxy {entry:?}: the network is written {network}")]
    NotTheFirstAddress { entry: String, network: String },
    #[error(
        "reading trusted proxy {entry:?}: this would trust `X-Forwarded-For` from every address"
    )]
    Everyone { entry: String },
}

impl TrustedProxies {
    pub fn parse<Entry: AsRef<str>>(entries: &[Entry]) -> Result<Self, TrustedProxyError> {
        let networks = entries.iter().map(|entry| Network::parse(entry.as_ref()));
        Ok(Self { networks: networks.collect::<Result<_, _>>()? })
    }

    /// The address of the caller: the right-most hop that is not a trusted proxy, because it alone
    /// vouches for every hop further left. `None` if there is no network peer (a Unix socket).
    pub fn client_address(&self, peer: Option<IpAddr>, headers: &HeaderMap) -> Option<IpAddr> {
        let mut nearest = peer?.to_canonical();
        // A list may be spread over several header lines; they count as one, in order.
        let lines = headers.get_all(FORWARDED_FOR).into_iter().rev();
        let mut hops = lines.flat_map(|line| line.as_bytes().rsplit(|byte| *byte == b','));
        while self.trusts(nearest) {
            // A hop that cannot be parsed ends the chain: the last proxy that vouched is the
            // caller.
            let Some(hop) = hops.next().and_then(read_hop) else { break };
            nearest = hop;
        }
        Some(nearest)
    }

    fn trusts(&self, address: IpAddr) -> bool {
        self.networks.iter().any(|network| network.contains(address))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Network {
    first: IpAddr,
    prefix: u32,
}

impl Network {
    fn parse(entry: &str) -> Result<Self, TrustedProxyError> {
        let not_a_network = || TrustedProxyError::NotANetwork { entry: entry.to_owned() };
        let (address, prefix) = match entry.trim().split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (entry.trim(), None),
        };
        let address: IpAddr = address.parse().map_err(|_| not_a_network())?;
        // Addresses are compared in canonical form, so an entry in the other form never matches.
        if address != address.to_canonical() {
            return Err(not_a_network());
        }
        let bits = n_bits(address);
        let prefix = match prefix {
            Some(digits) => digits.parse().map_err(|_| not_a_network())?,
            None => bits,
        };
        if prefix > bits {
            return Err(not_a_network());
        }
        if prefix == 0 {
            return Err(TrustedProxyError::Everyone { entry: entry.to_owned() });
        }
        let first = masked(address, prefix);
        if first != address {
            let network = format!("{first}/{prefix}");
            let entry = entry.to_owned();
            return Err(TrustedProxyError::NotTheFirstAddress { entry, network });
        }
        Ok(Self { first, prefix })
    }

    fn contains(&self, address: IpAddr) -> bool {
        n_bits(address) == n_bits(self.first) && masked(address, self.prefix) == self.first
    }
}

/// The first address of the network of this size that `address` lies in.
fn masked(address: IpAddr, prefix: u32) -> IpAddr {
    match address {
        IpAddr::V4(v4) => {
            let host_bits = 32 - prefix.min(32);
            let mask = u32::MAX.checked_shl(host_bits).unwrap_or(0);
            IpAddr::V4((v4.to_bits() & mask).into())
        }
        IpAddr::V6(v6) => {
            let host_bits = 128 - prefix.min(128);
            let mask = u128::MAX.checked_shl(host_bits).unwrap_or(0);
            IpAddr::V6((v6.to_bits() & mask).into())
        }
    }
}

fn n_bits(address: IpAddr) -> u32 {
    match address {
        IpAddr::V4(_) => 32,
        IpAddr::V6(_) => 128,
    }
}

/// Reads `192.0.2.1`, `192.0.2.1:4711`, `2001:db8::1`, `[2001:db8::1]` and `[2001:db8::1]:4711`:
/// proxies differ in whether they add the port.
fn read_hop(hop: &[u8]) -> Option<IpAddr> {
    let hop = std::str::from_utf8(hop).ok()?.trim();
    let address = if let Ok(address) = hop.parse::<IpAddr>() {
        address
    } else if let Ok(with_port) = hop.parse::<std::net::SocketAddr>() {
        with_port.ip()
    } else {
        hop.strip_prefix('[')?.strip_suffix(']')?.parse().ok()?
    };
    Some(address.to_canonical())
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn the_client_is_the_right_most_hop_nobody_vouches_for() {
        let trusted =
            TrustedProxies::parse(&["10.0.0.0/8", "127.0.0.1", "::1", "2001:db8:aa00::/40"])
                .expect("a list of proxies");
        // (peer, X-Forwarded-For lines, expected)
        let cases: &[(&str, &[&str], &str)] = &[
            // Without a trusted peer the header is an unproven claim.
            ("203.0.113.9", &[], "203.0.113.9"),
            ("203.0.113.9", &["198.51.100.1"], "203.0.113.9"),
            ("203.0.113.9", &["127.0.0.1"], "203.0.113.9"),
            ("11.0.0.1", &["198.51.100.1"], "11.0.0.1"),
            ("2001:db8:ab00::1", &["198.51.100.1"], "2001:db8:ab00::1"),
            // One proxy.
            ("10.0.0.1", &[], "10.0.0.1"),
            ("10.0.0.1", &[""], "10.0.0.1"),
            ("10.0.0.1", &["198.51.100.1"], "198.51.100.1"),
            ("10.255.255.255", &[" 198.51.100.1 "], "198.51.100.1"),
            ("127.0.0.1", &["198.51.100.1:4711"], "198.51.100.1"),
            ("::1", &["2001:db8::7"], "2001:db8::7"),
            ("::1", &["[2001:db8::7]"], "2001:db8::7"),
            ("::1", &["[2001:db8::7]:4711"], "2001:db8::7"),
            ("2001:db8:aaff::1", &["198.51.100.1"], "198.51.100.1"),
            // A client wrote a header of its own before the proxy appended the truth.
            ("10.0.0.1", &["127.0.0.1, 198.51.100.1"], "198.51.100.1"),
            ("10.0.0.1", &["203.0.113.1, 10.0.0.7, 198.51.100.1"], "198.51.100.1"),
            ("10.0.0.1", &["127.0.0.1", "198.51.100.1"], "198.51.100.1"),
            ("10.0.0.1", &["', \", <script>, 198.51.100.1"], "198.51.100.1"),
            // Several proxies, one or more lines.
            ("10.0.0.1", &["198.51.100.1, 10.0.0.2, 10.0.0.3"], "198.51.100.1"),
            ("10.0.0.1", &["203.0.113.1, 198.51.100.1", "10.0.0.2"], "198.51.100.1"),
            // All hops are trusted: the caller is inside, and the left-most hop is the origin.
            ("10.0.0.1", &["10.0.0.3, 10.0.0.2"], "10.0.0.3"),
            // A hop that cannot be parsed ends the chain at the last proxy that vouched.
            ("10.0.0.1", &["unknown"], "10.0.0.1"),
            ("10.0.0.1", &["198.51.100.1, unknown, 10.0.0.2"], "10.0.0.2"),
            ("10.0.0.1", &["198.51.100.1,"], "10.0.0.1"),
            ("10.0.0.1", &["198.51.100.1.7"], "10.0.0.1"),
            ("10.0.0.1", &["198.51.100.1\u{e9}"], "10.0.0.1"),
            // An IPv4-mapped IPv6 address counts as the IPv4 address, on either side.
            ("::ffff:10.0.0.1", &["::ffff:198.51.100.1"], "198.51.100.1"),
            ("::ffff:203.0.113.9", &["198.51.100.1"], "203.0.113.9"),
        ];
        for (peer, lines, expected) in cases {
            let client = trusted.client_address(Some(address(peer)), &headers(lines));
            assert_eq!(client, Some(address(expected)), "{peer} with {lines:?}");
        }
    }

    #[test]
    fn by_default_nobody_is_believed() {
        let none = TrustedProxies::default();
        let forged = headers(&["198.51.100.1"]);
        let loopback = Some(address("127.0.0.1"));
        assert_eq!(none.client_address(loopback, &forged), loopback);
    }

    #[test]
    fn a_unix_socket_has_no_address_whatever_a_header_says() {
        let trusted = TrustedProxies::parse(&["127.0.0.1"]).expect("a list of proxies");
        assert_eq!(trusted.client_address(None, &headers(&["198.51.100.1"])), None);
    }

    #[test]
    fn other_forwarding_headers_are_not_read() {
        let trusted = TrustedProxies::parse(&["10.0.0.1"]).expect("a list of proxies");
        let mut others = HeaderMap::new();
        others.insert("forwarded", HeaderValue::from_static("for=198.51.100.1"));
        others.insert("x-real-ip", HeaderValue::from_static("198.51.100.1"));
        let peer = Some(address("10.0.0.1"));
        assert_eq!(trusted.client_address(peer, &others), peer);
    }

    #[test]
    fn what_is_not_a_network_is_refused_with_its_reason() {
        let cases = [
            ("10.0.0.0/8", "ok"),
            (" 10.0.0.0/8 ", "ok"),
            ("10.1.2.3/32", "ok"),
            ("::1", "ok"),
            ("fd00::/8", "ok"),
            ("128.0.0.0/1", "ok"),
            ("10.1.2.3/8", "the network is written 10.0.0.0/8"),
            ("fd00::1/8", "the network is written fd00::/8"),
            ("0.0.0.0/0", "this would trust `X-Forwarded-For` from every address"),
            ("::/0", "this would trust `X-Forwarded-For` from every address"),
            ("", "expected an address"),
            ("localhost", "expected an address"),
            ("10.0.0.0/33", "expected an address"),
            ("10.0.0.0/-1", "expected an address"),
            ("10.0.0.0/", "expected an address"),
            ("10.0.0.0/8/8", "expected an address"),
            ("10.0.0", "expected an address"),
            ("::ffff:10.0.0.1", "expected an address"),
        ];
        for (entry, expected) in cases {
            let said = match TrustedProxies::parse(&[entry]) {
                Ok(_) => "ok".to_owned(),
                Err(error) => error.to_string(),
            };
            assert!(said.contains(expected), "{entry:?} gave {said:?}");
        }
    }

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    fn headers(lines: &[&str]) -> HeaderMap {
        let value = |line: &&str| HeaderValue::from_bytes(line.as_bytes()).expect("a value");
        lines.iter().map(|line| (FORWARDED_FOR.parse().expect("a name"), value(line))).collect()
    }
}
