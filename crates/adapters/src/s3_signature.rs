//! The signature of a request to an object store that speaks S3: AWS Signature Version 4. It is a
//! function of the request, the key, the region and the time. The store computes it again from what
//! it receives, so it refuses a request that was changed on the way, that is signed with another
//! key, or that is too old.

use std::fmt;

use protocol::canonical::hex;
use protocol::keyed::{HmacKey, hmac};
use protocol::time::Time;
use sha2::{Digest, Sha256};

const ALGORITHM: &str = "AWS4-HMAC-SHA256";

/// The last two parts of a scope: what the signature is for.
const SERVICE: &str = "s3";
const TERMINATOR: &str = "aws4_request";

/// What an object store gives to those who may use a bucket.
#[derive(Clone, PartialEq, Eq)]
pub struct S3Key {
    id: String,
    secret: String,
    /// Only keys that expire have one.
    session_token: Option<String>,
}

impl fmt::Debug for S3Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("S3Key").field("id", &self.id).finish_non_exhaustive()
    }
}

/// A request, as far as it is signed.
#[derive(Debug)]
pub struct S3Request<'a> {
    pub method: &'a str,
    /// As it is sent, in the form of [`encoded_path`].
    pub path: &'a str,
    /// As it is sent: sorted, encoded, and with a `=` after each name.
    pub query: &'a str,
    /// The names in lower case. `host` must be one of them.
    pub headers: Vec<(&'a str, &'a str)>,
    pub body: &'a [u8],
}

impl S3Key {
    /// Reads the access key id, the secret and, if there is one, the session token: each on a line.
    pub fn parse(text: &str) -> Option<Self> {
        let mut lines = text.trim_end().lines().map(str::trim);
        let (id, secret) = (lines.next()?, lines.next()?);
        let session_token = lines.next();
        let is_token =
            |text: &str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_graphic());
        // The id is part of a list in a header. A `[` begins a profile, in another form of file.
        let is_valid = is_token(id)
            && !id.contains(['/', ',', '=', '['])
            && is_token(secret)
            && session_token.is_none_or(is_token)
            && lines.next().is_none();
        let session_token = session_token.map(str::to_owned);
        is_valid.then(|| Self { id: id.to_owned(), secret: secret.to_owned(), session_token })
    }
}

/// The headers that a request needs beside its own, `authorization` last.
pub fn sign(
    request: &S3Request<'_>,
    key: &S3Key,
    region: &str,
    now: Time,
) -> Vec<(&'static str, String)> {
    let stamp = stamp(now);
    let day = &stamp[..8];
    let content = hex(&Sha256::digest(request.body));
    let mut added = vec![("x-amz-content-sha256", content.clone()), ("x-amz-date", stamp.clone())];
    added.extend(key.session_token.clone().map(|token| ("x-amz-security-token", token)));

    let mut headers = request.headers.clone();
    headers.extend(added.iter().map(|(name, value)| (*name, value.as_str())));
    headers.sort_unstable();
    let names = headers.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(";");
    let lines = headers.iter().map(|(name, value)| {
        let value = value.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
        format!("{name}:{value}\n")
    });
    let lines = lines.collect::<String>();

    let S3Request { method, path, query, .. } = request;
    let canonical = format!("{method}\n{path}\n{query}\n{lines}\n{names}\n{content}");
    let canonical_hash = hex(&Sha256::digest(canonical));
    let scope = format!("{day}/{region}/{SERVICE}/{TERMINATOR}");
    let signed = format!("{ALGORITHM}\n{stamp}\n{scope}\n{canonical_hash}");

    let first = HmacKey::new(format!("AWS4{}", key.secret).as_bytes()).sign(&[day.as_bytes()]);
    let parts = [region, SERVICE, TERMINATOR];
    let derived = parts.into_iter().fold(first, |key, part| hmac(&key, &[part.as_bytes()]));
    let signature = hex(&hmac(&derived, &[signed.as_bytes()]));
    let credential = format!("{}/{scope}", key.id);
    let parts = format!("Credential={credential},SignedHeaders={names},Signature={signature}");
    added.push(("authorization", format!("{ALGORITHM} {parts}")));
    added
}

/// The path of an object in the one spelling that all stores sign: decoded, and then each byte
/// encoded that is neither a slash nor unreserved. Nothing else is changed: `//` and `..` are part
/// of a name. None if a `%` begins no code of a byte.
pub fn encoded_path(path: &str) -> Option<String> {
    let mut encoded = String::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        let mut byte = *first;
        if byte == b'%' {
            let digits = rest.get(..2).filter(|it| it.iter().all(u8::is_ascii_hexdigit))?;
            byte = u8::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()?;
            rest = &rest[2..];
        }
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                encoded.push(byte.into());
            }
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    Some(encoded)
}

/// `20130524T000000Z`
fn stamp(now: Time) -> String {
    let seconds = &now.to_string()[..19];
    format!("{}Z", seconds.replace(['-', ':'], ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The key, the bucket and the moment of the examples that AWS publishes for S3.
    const KEY: &str = "AKIAIOSFODNN7EXAMPLE\nwJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY\n";
    const HOST: (&str, &str) = ("host", "examplebucket.s3.amazonaws.com");
    const MOMENT: &str = "2013-05-24T00:00:00Z";

    fn signed(request: &S3Request<'_>, key: &str) -> Vec<(&'static str, String)> {
        sign(request, &S3Key::parse(key).unwrap(), "us-east-1", MOMENT.parse().unwrap())
    }

    #[test]
    fn the_published_examples_have_the_published_signatures() {
        let get =
            |path, query, headers| S3Request { method: "GET", path, query, headers, body: b"" };
        let put = S3Request {
            method: "PUT",
            path: &encoded_path("/test$file.text").unwrap(),
            query: "",
            headers: vec![
                ("date", "Fri, 24 May 2013 00:00:00 GMT"),
                HOST,
                ("x-amz-storage-class", "REDUCED_REDUNDANCY"),
            ],
            body: b"Welcome to Amazon S3.",
        };
        for (request, names, signature) in [
            (
                get("/test.txt", "", vec![HOST, ("range", "bytes=0-9")]),
                "host;range;x-amz-content-sha256;x-amz-date",
                "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
            ),
            (
                put,
                "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
                "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
            ),
            (
                get("/", "lifecycle=", vec![HOST]),
                "host;x-amz-content-sha256;x-amz-date",
                "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
            ),
            (
                get("/", "max-keys=2&prefix=J", vec![HOST]),
                "host;x-amz-content-sha256;x-amz-date",
                "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
            ),
        ] {
            let headers = signed(&request, KEY);
            let (name, authorization) = headers.last().unwrap();
            let credential = "AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request";
            let expected = format!(
                "AWS4-HMAC-SHA256 Credential={credential},SignedHeaders={names},\
                 Signature={signature}"
            );
            assert_eq!((*name, authorization), ("authorization", &expected));
        }
    }

    #[test]
    fn a_session_token_is_sent_and_signed() {
        let headers = vec![("if-match", "\"a\""), HOST];
        let request = S3Request { method: "PUT", path: "/a", query: "", headers, body: b"" };
        let headers = signed(&request, &format!("{KEY}a/session+token==\n"));
        let names = headers.iter().map(|(name, _)| *name).collect::<Vec<_>>();
        let expected =
            ["x-amz-content-sha256", "x-amz-date", "x-amz-security-token", "authorization"];
        assert_eq!(names, expected);
        assert_eq!(headers[1].1, "20130524T000000Z");
        assert_eq!(headers[2].1, "a/session+token==");
        let signed = "SignedHeaders=host;if-match;x-amz-content-sha256;x-amz-date;\
                      x-amz-security-token,";
        assert!(headers[3].1.contains(signed), "{headers:?}");
    }

    #[test]
    fn a_path_has_one_spelling() {
        for (path, expected) in [
            ("/", Some("/")),
            (
                "/bucket/ledger-tasuki-1_a~/checkpoint",
                Some("/bucket/ledger-tasuki-1_a~/checkpoint"),
            ),
            ("/a$b", Some("/a%24b")),
            ("/a%24b", Some("/a%24b")),
            ("/a%2fb%7E", Some("/a/b~")),
            ("/a+b,c=d@e:f", Some("/a%2Bb%2Cc%3Dd%40e%3Af")),
            ("//a/./../b/", Some("//a/./../b/")),
            ("/%C3%a4", Some("/%C3%A4")),
            ("/%2525", Some("/%2525")),
            ("/%", None),
            ("/%2", None),
            ("/%+1", None),
            ("/%zz", None),
        ] {
            assert_eq!(encoded_path(path).as_deref(), expected, "{path}");
        }
    }

    #[test]
    fn a_key_is_two_or_three_lines() {
        for (text, is_key) in [
            ("id\nsecret", true),
            ("id\r\nsecret\r\ntoken\r\n\r\n", true),
            ("", false),
            ("id", false),
            ("id\n\nsecret", false),
            ("id\nsecret\ntoken\nmore", false),
            ("[default]\naws_access_key_id = id\naws_secret_access_key = secret", false),
            ("[default]\naws_access_key_id=id\naws_secret_access_key=secret", false),
            ("aws_access_key_id=id\naws_secret_access_key=secret", false),
            ("id\nsec ret", false),
            ("id\nsécret", false),
        ] {
            assert_eq!(S3Key::parse(text).is_some(), is_key, "{text:?}");
        }
        let shown = format!("{:?}", S3Key::parse("id\nhidden\nhidden").unwrap());
        assert!(!shown.contains("hidden"), "{shown}");
    }

    proptest::proptest! {
        #[test]
        fn any_path_and_any_key_are_answered(
            path in "[/a%$0-9A-Fé]{0,12}",
            key in "(\\PC|\n){0,9}",
        ) {
            if let Some(encoded) = encoded_path(&path) {
                assert_eq!(encoded_path(&encoded), Some(encoded));
            }
            S3Key::parse(&key);
        }
    }
}
