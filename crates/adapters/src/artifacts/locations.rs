//! Where a URL leads. It is stricter than the standards: every spelling that two programs may read
//! differently is refused, because the second program may be the resolver or a proxy.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The length that RFC 9110 asks every server to support.
const URL_BYTES_MAX: usize = 8_000;

/// The longest name that fits in a DNS message.
const NAME_BYTES_MAX: usize = 253;
const LABEL_BYTES_MAX: usize = 63;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    pub scheme: Scheme,
    pub host: Host,
    pub port: u16,
    /// The path, and the query if there is one, as they are sent.
    pub target: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    Http,
    Https,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Host {
    Address(IpAddr),
    Name(String),
}

impl Location {
    /// Reads an absolute `http` or `https` URL without a user name.
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() > URL_BYTES_MAX || !text.bytes().all(is_url_byte) {
            return None;
        }
        let (scheme, rest) = without_fragment(text).split_once("://")?;
        let scheme = Scheme::parse(scheme)?;
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, target) = rest.split_at(end);
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (host, parse_port(port)?),
            Some(_) | None => (authority, scheme.default_port()),
        };
        let slash = if target.starts_with('/') { "" } else { "/" };
        let target = format!("{slash}{target}");
        Some(Self { scheme, host: Host::parse(host)?, port, target })
    }

    /// Reads what a server at this location answers as `Location`, absolute or not.
    pub fn follow(&self, reference: &str) -> Option<Self> {
        let reference = without_fragment(reference);
        if reference.is_empty() {
            return Some(self.clone());
        }
        let path_end = self.target.find('?').unwrap_or(self.target.len());
        let path = &self.target[..path_end];
        let (scheme, here) = (self.scheme.name(), self.authority());
        let first_part = reference.split(['/', '?']).next().unwrap_or_default();
        Self::parse(&if first_part.contains(':') {
            reference.to_owned()
        } else if reference.starts_with("//") {
            format!("{scheme}:{reference}")
        } else if reference.starts_with('/') {
            format!("{scheme}://{here}{reference}")
        } else if reference.starts_with('?') {
            format!("{scheme}://{here}{path}{reference}")
        } else {
            let folder = &path[..=path.rfind('/')?];
            format!("{scheme}://{here}{folder}{reference}")
        })
    }

    /// The host, and the port if it is not the usual one, as the `Host` header has them.
    pub fn authority(&self) -> String {
        let host = match &self.host {
            Host::Address(IpAddr::V6(address)) => format!("[{address}]"),
            Host::Address(IpAddr::V4(address)) => address.to_string(),
            Host::Name(name) => name.clone(),
        };
        if self.port == self.scheme.default_port() { host } else { format!("{host}:{}", self.port) }
    }
}

impl Scheme {
    fn parse(text: &str) -> Option<Self> {
        [Self::Http, Self::Https]
            .into_iter()
            .find(|scheme| text.eq_ignore_ascii_case(scheme.name()))
    }

    fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}

impl Host {
    fn parse(text: &str) -> Option<Self> {
        if let Some(inside) = text.strip_prefix('[') {
            let address: Ipv6Addr = inside.strip_suffix(']')?.parse().ok()?;
            return Some(Self::Address(address.into()));
        }
        if let Ok(address) = text.parse::<Ipv4Addr>() {
            return Some(Self::Address(address.into()));
        }
        is_name(text).then(|| Self::Name(text.to_ascii_lowercase()))
    }
}

/// A name whose last label begins with a digit may be an address in disguise, such as `127.1`,
/// `2130706433` or `0x7f.1`, and no top-level domain does.
fn is_name(text: &str) -> bool {
    let is_label = |label: &str| {
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        (1..=LABEL_BYTES_MAX).contains(&label.len()) && label.bytes().all(is_letter)
    };
    let last = text.rsplit('.').next().unwrap_or_default();
    text.len() <= NAME_BYTES_MAX
        && text.split('.').all(is_label)
        && last.starts_with(|first: char| first.is_ascii_alphabetic())
}

fn parse_port(text: &str) -> Option<u16> {
    let port = text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok());
    port.flatten().filter(|port| *port != 0)
}

/// The characters that RFC 3986 allows in a URL.
fn is_url_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&'()*+,;=%".contains(&byte)
}

fn without_fragment(text: &str) -> &str {
    text.split_once('#').map_or(text, |(before, _)| before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_read_in_one_way_only() {
        let rows = [
            ("http://a.test", "http a.test 80 /"),
            ("HTTPS://A.Test/x?y#z", "https a.test 443 /x?y"),
            ("http://a.test:8080?q", "http a.test:8080 8080 /?q"),
            ("https://a.test:443/", "https a.test 443 /"),
            ("http://127.0.0.1:1/", "http 127.0.0.1:1 1 /"),
            ("http://[::1]/", "http [::1] 80 /"),
            ("http://[::1]:81/", "http [::1]:81 81 /"),
            ("http://a.test/@b:c", "http a.test 80 /@b:c"),
        ];
        for (text, expected) in rows {
            let location = Location::parse(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(shown(&location), expected, "{text}");
        }
    }

    #[test]
    fn what_can_be_read_twice_is_refused() {
        let rows = "a.test /etc/passwd file:///etc/passwd ftp://a.test gopher://a.test http:a.test
            http:/a.test http:// http:/// http://? http://:80/ http://a.test:/ http://a.test:0/
            http://a.test:65536/ http://a.test:+80/ http://a.test:80:80/ http://u@a.test/
            http://u:p@a.test/ http://@a.test/ http://a.test\\@b.test/ http://a%2etest/
            http://127.1/ http://2130706433/ http://0x7f000001/ http://0x7f.1/ http://0177.0.0.1/
            http://127.0.0.1./ http://1.2.3.4.5/ http://a..test/ http://.a.test/ http://a.test./
            http://[::1/ http://::1/ http://[::1]x/ http://[fe80::1%25eth0]/ http://[127.0.0.1]/
            http://ä.test/ http://a.test/ä http://a.test/{x} http://a.test/\"x\"";
        for text in rows.split_whitespace() {
            assert_eq!(Location::parse(text), None, "{text}");
        }
        for text in
            ["http://a.test/a b", "http://a.test/\r\nHost: b", " http://a.test", "http://a\0"]
        {
            assert_eq!(Location::parse(text), None, "{text:?}");
        }
        let long = format!("http://a.test/{}", "x".repeat(URL_BYTES_MAX));
        assert_eq!(Location::parse(&long), None);
        let long = format!("http://{}test/", "a.".repeat(NAME_BYTES_MAX));
        assert_eq!(Location::parse(&long), None);
    }

    #[test]
    fn a_redirect_is_read_from_where_it_was_found() {
        let rows = [
            ("https://b.test/c", Some("https b.test 443 /c")),
            ("//b.test/c", Some("http b.test 80 /c")),
            ("/c", Some("http a.test:81 81 /c")),
            ("c?d", Some("http a.test:81 81 /x/c?d")),
            ("?d", Some("http a.test:81 81 /x/y?d")),
            ("#d", Some("http a.test:81 81 /x/y?z")),
            ("file:///etc/passwd", None),
            ("javascript:alert(1)", None),
            ("http://u@b.test/", None),
            ("//u@b.test/", None),
            ("/\\b.test", None),
        ];
        let here = Location::parse("http://a.test:81/x/y?z").unwrap();
        for (reference, expected) in rows {
            let location = here.follow(reference).as_ref().map(shown);
            assert_eq!(location.as_deref(), expected, "{reference}");
        }
    }

    fn shown(location: &Location) -> String {
        let Location { scheme, port, target, .. } = location;
        format!("{} {} {port} {target}", scheme.name(), location.authority())
    }
}
