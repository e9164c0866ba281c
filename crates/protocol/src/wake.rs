//! Wake calls to an agent: their URL, and their signature. A call is signed as Standard Webhooks
//! define it, with a secret of the agent's own. The secret derives from one key of the server, so
//! none is stored.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use schemars::Schema;

use crate::canonical::{self, Hash};
use crate::form;
use crate::ids::{AgentId, MessageId, TeamspaceId, WebhookId};
use crate::keyed::hmac;
use crate::rejection::Rejection;
use crate::time::Time;

/// Longer than the URLs that people and programs make.
pub const URL_BYTES_MAX: usize = 2_000;

/// The key that the secrets of all agents derive from.
#[derive(Clone, PartialEq, Eq)]
pub struct WakeKey(Hash);

impl fmt::Debug for WakeKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WakeKey")
    }
}

/// The secret shared with the woken agent.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Hash);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

impl WakeKey {
    /// From a secret that has other uses too. The derived key reveals nothing about it.
    pub fn from_seed(seed: &[u8; 32]) -> Self {
        Self(hmac(seed, &[b"tasuki wake secrets"]))
    }

    pub fn secret(&self, teamspace: &TeamspaceId, agent: &AgentId) -> Secret {
        let (teamspace, agent) = (teamspace.as_str().as_bytes(), agent.as_str().as_bytes());
        Secret(hmac(&self.0, &[teamspace, b"\n", agent]))
    }

    /// The secret of a webhook. No agent has this name.
    pub fn webhook_secret(&self, teamspace: &TeamspaceId, id: WebhookId, key: u32) -> Secret {
        let name = format!("webhook/{id}/{key}");
        Secret(hmac(&self.0, &[teamspace.as_str().as_bytes(), b"\n", name.as_bytes()]))
    }
}

impl Secret {
    /// In the form that tools for Standard Webhooks take.
    pub fn text(&self) -> String {
        format!("whsec_{}", STANDARD.encode(self.0))
    }

    /// The value of `webhook-signature`.
    pub fn signature(&self, id: &str, at: Time, body: &[u8]) -> String {
        let at = seconds(at).to_string();
        let signed = hmac(&self.0, &[id.as_bytes(), b".", at.as_bytes(), b".", body]);
        format!("v1,{}", STANDARD.encode(signed))
    }
}

/// The value of `webhook-timestamp`.
pub fn seconds(at: Time) -> i64 {
    at.as_millis().div_euclid(1_000)
}

/// The value of `webhook-id`: the same for each retry, and different for each recipient.
pub fn id(message: MessageId, agent: &AgentId) -> String {
    let recipient = canonical::hex(&canonical::sha256(&[agent.as_str().as_bytes()]));
    format!("{message}_{}", &recipient[..16])
}

/// What a URL of an agent is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UrlUse {
    /// Wake calls, when the agent is sent something critical.
    Call,
    /// Turns of its conversations.
    Turns,
}

/// What [`check_url`] checks: a host or an address, a port from 1 to 65535, and visible ASCII.
const URL: &str = concat!(
    r"^https?://([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])",
    r"(:([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]))?",
    r"([/?#][!-~]*)?$",
);

fn url_expected() -> String {
    format!("an http or https URL without a user name, of at most {URL_BYTES_MAX} bytes")
}

/// The form of a field that holds such a URL.
pub fn url_form(schema: &mut Schema) {
    form::patterned(URL, URL_BYTES_MAX, url_expected())(schema);
}

/// The form of a field that holds such a URL, or `null`.
pub fn url_or_null_form(schema: &mut Schema) {
    form::patterned(URL, URL_BYTES_MAX, format!("{}, or null", url_expected()))(schema);
}

/// Where the host points to is checked when the URL is called, because DNS names change.
pub fn check_url(url: &str) -> Result<(), Rejection> {
    let rest = ["https://", "http://"].iter().find_map(|scheme| url.strip_prefix(scheme));
    let authority = rest.and_then(|rest| rest.split(['/', '?', '#']).next()).unwrap_or_default();
    let is_url = url.len() <= URL_BYTES_MAX
        && url.bytes().all(|byte| byte.is_ascii_graphic())
        && is_authority(authority);
    if is_url {
        return Ok(());
    }
    Err(Rejection::SchemaInvalid { field: "url".to_owned(), expected: url_expected() })
}

/// A host or an address, and a port if there is one.
fn is_authority(authority: &str) -> bool {
    let in_brackets = authority.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let (is_host, after) = match in_brackets {
        Some((address, after)) => {
            let is_of_address = |byte: u8| byte.is_ascii_hexdigit() || b":.".contains(&byte);
            (!address.is_empty() && address.bytes().all(is_of_address), after)
        }
        None => {
            let (host, after) = authority.split_at(authority.find(':').unwrap_or(authority.len()));
            let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
            (!host.is_empty() && host.bytes().all(is_of_name), after)
        }
    };
    let is_port = after.strip_prefix(':').map_or(after.is_empty(), |port| {
        !port.starts_with(['0', '+']) && port.parse::<u16>().is_ok()
    });
    is_host && is_port
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the Standard Webhooks specification, and a key of RFC 4231, which HMAC pads
    /// with zeros by itself.
    #[test]
    fn it_is_the_hmac_that_others_compute() {
        let mut key = [0; 32];
        key[..4].copy_from_slice(b"Jefe");
        let known = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        let parts: [&[u8]; 2] = [b"what do ya want ", b"for nothing?"];
        assert_eq!(canonical::hex(&hmac(&key, &parts)), known);
        let mut key = [0; 32];
        key[..24].copy_from_slice(&STANDARD.decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap());
        let at = Time::from_millis(1_614_265_330_000);
        let body = br#"{"test": 2432232314}"#;
        let signature = Secret(key).signature("msg_p5jXN8AQM9LWM0D4loKWxJek", at, body);
        assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn everybody_has_a_secret_of_its_own() {
        let key = WakeKey::from_seed(&[7; 32]);
        let secret = |teamspace: &str, agent: &str| {
            key.secret(&teamspace.parse().unwrap(), &agent.parse().unwrap()).text()
        };
        assert!(secret("red", "bob").starts_with("whsec_"));
        assert_eq!(secret("red", "bob"), secret("red", "bob"));
        assert_ne!(secret("red", "bob"), secret("red", "eve"));
        assert_ne!(secret("red", "bob"), secret("blue", "bob"));
        assert_ne!(WakeKey::from_seed(&[8; 32]), key);
        assert_eq!(format!("{key:?} {:?}", Secret([7; 32])), "WakeKey Secret");
    }

    #[test]
    fn only_plain_urls_are_called() {
        let long = format!("https://a/{}", "x".repeat(URL_BYTES_MAX));
        for (url, expected) in [
            ("https://agents.example/wake/bob?x=1", true),
            ("http://agents.example:8080", true),
            ("https://[2001:db8::1]:8443/wake", true),
            ("https://[::1", false),
            ("https://[agents]/", false),
            ("https://agents.example:0/", false),
            ("https://agents.example:65536/", false),
            ("https://agents.example:", false),
            ("https://agents,example/", false),
            ("https://", false),
            ("https:///path", false),
            ("ftp://agents.example", false),
            ("file:///etc/passwd", false),
            ("agents.example", false),
            ("https://user:secret@agents.example", false),
            ("https://agents.example/a b", false),
            ("https://agents.example/\n", false),
            ("", false),
            (&long, false),
        ] {
            assert_eq!(check_url(url).is_ok(), expected, "{url}");
        }
    }
}
