//! Which pages may open a socket. A browser sends the origin of a page; a client that sends none is
//! not a browser.

use axum::http::uri::Authority;
use axum::http::{HeaderMap, header};

use crate::http::shared::problem::Problem;

/// Other origins whose pages may open sockets. The server's own pages always may.
#[derive(Debug, Clone, Default)]
pub struct Origins(Vec<Origin>);

/// A setting that is no origin.
#[derive(Debug, thiserror::Error)]
#[error("`{0}`: expected an origin such as https://shop.example, without a path")]
pub struct InvalidOrigin(String);

/// A scheme, and a host with its port unless that is the scheme's own.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Origin {
    scheme: String,
    place: String,
}

impl Origins {
    pub fn parse(texts: &[String]) -> Result<Self, InvalidOrigin> {
        let parse = |text: &String| Origin::parse(text).ok_or_else(|| InvalidOrigin(text.clone()));
        texts.iter().map(parse).collect::<Result<_, _>>().map(Self)
    }

    /// Refuses pages that are neither the server's own nor listed.
    pub fn check(&self, headers: &HeaderMap) -> Result<(), Problem> {
        let mut given = headers.get_all(header::ORIGIN).iter();
        let Some(first) = given.next() else { return Ok(()) };
        let refused =
            || Problem::new("origin_not_allowed", "pages from this origin may not open sockets");
        let origin = first.to_str().ok().and_then(Origin::parse).ok_or_else(refused)?;
        let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
        let is_own = host.and_then(|host| origin.scheme_place(host)) == Some(origin.place.clone());
        let is_one = given.next().is_none();
        if is_one && (is_own || self.0.contains(&origin)) { Ok(()) } else { Err(refused()) }
    }
}

impl Origin {
    fn parse(text: &str) -> Option<Self> {
        let (scheme, place) = text.trim_end_matches('/').split_once("://")?;
        let scheme = scheme.to_ascii_lowercase();
        let is_known = ["http", "https"].contains(&scheme.as_str());
        let place = place_of(&scheme, place).filter(|_| is_known)?;
        Some(Self { scheme, place })
    }

    /// The host and port of `host`, if it is reached by the scheme of this origin.
    fn scheme_place(&self, host: &str) -> Option<String> {
        place_of(&self.scheme, host)
    }
}

fn place_of(scheme: &str, text: &str) -> Option<String> {
    let authority: Authority = text.parse().ok()?;
    if text.contains('@') || authority.host().is_empty() {
        return None;
    }
    let usual = if scheme == "https" { 443 } else { 80 };
    let host = authority.host().to_ascii_lowercase();
    match authority.port_u16().filter(|port| *port != usual) {
        Some(port) => Some(format!("{host}:{port}")),
        None => Some(host),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_the_servers_own_or_listed_or_refused() {
        let listed = ["https://shop.example".to_owned(), "http://localhost:5173/".to_owned()];
        let origins = Origins::parse(&listed).unwrap();
        let rows = [
            ("tasuki.example", "https://tasuki.example", true),
            ("tasuki.example", "https://TASUKI.example:443", true),
            ("tasuki.example:443", "https://tasuki.example", true),
            ("tasuki.example:7420", "http://tasuki.example:7420", true),
            ("tasuki.example:7420", "http://tasuki.example", false),
            ("tasuki.example:7420", "http://tasuki.example:7421", false),
            ("[::1]:7420", "http://[::1]:7420", true),
            ("tasuki.example", "https://shop.example", true),
            ("tasuki.example", "https://shop.example:443", true),
            ("tasuki.example", "http://shop.example", false),
            ("tasuki.example", "https://shop.example.evil.example", false),
            ("tasuki.example", "https://evil.example", false),
            ("tasuki.example", "http://localhost:5173", true),
            ("tasuki.example", "null", false),
            ("tasuki.example", "", false),
            ("tasuki.example", "https://tasuki.example@evil.example", false),
            ("tasuki.example", "file://tasuki.example", false),
            ("tasuki.example", "https://tasuki.example/path", false),
        ];
        for (host, origin, is_allowed) in rows {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, host.parse().unwrap());
            headers.insert(header::ORIGIN, origin.parse().unwrap());
            assert_eq!(origins.check(&headers).is_ok(), is_allowed, "{origin} at {host}");
        }
        assert!(origins.check(&HeaderMap::new()).is_ok(), "not a browser");
        for text in ["*", "shop.example", "https://", "https://a/b", "ftp://a"] {
            let error = Origins::parse(&[text.to_owned()]).unwrap_err();
            assert!(error.to_string().contains("expected an origin"), "{text}");
        }
    }
}
