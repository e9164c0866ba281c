//! What the server says about itself to those who subscribe: its manifest.

use aaep::event::Verbosity;
use aaep::manifest::{KEYS_PATH, Manifest, PATH_PREFIX, SIGNED_PATH, TYPE};
use aaep::{AGENT_ID, CONTEXT, EXTENSION, EXTENSION_CONTEXT, STATES, VERSION};
use serde_json::{Map, json};

use super::texts;

/// The manifest of this server.
pub fn of_server(agent_version: &str, max_concurrent_subscriptions: u32) -> Manifest {
    let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
    let languages = texts::catalogues().iter().map(|one| one.language.to_owned());
    let ours = json!({
        "path_prefix": PATH_PREFIX,
        "signed_manifest": SIGNED_PATH,
        "jwks": KEYS_PATH,
        // Four bytes of length, the highest first, then the JSON.
        "socket_framing": "length-prefix-be32",
        "custom_states": STATES,
        // Each agent has sessions of its own; this member of `session.started` links them.
        "multi_agent_pattern": "session-per-agent",
        "parent_session_member": "extensions.tasuki.parent_session_id",
        "position_unit": "unicode-scalar-value",
    });
    Manifest {
        context: json!([CONTEXT, EXTENSION_CONTEXT]),
        kind: TYPE.to_owned(),
        agent_id: AGENT_ID.to_owned(),
        agent_version: Some(agent_version.to_owned()),
        agent_name: Some("Tasuki".to_owned()),
        aaep_versions_supported: words(&[VERSION]),
        conformance_levels_supported: vec![1, 2, 3],
        transports_supported: words(&["sse", "websocket", "stdio-jsonrpc", "unix-socket"]),
        languages_supported: languages.collect(),
        event_types_emitted: words(&["aaep:agent.*"]),
        extensions_supported: words(&[EXTENSION_CONTEXT]),
        default_verbosity: Some(Verbosity::Normal),
        max_concurrent_subscriptions: Some(max_concurrent_subscriptions),
        contact: None,
        extensions: Map::from_iter([(EXTENSION.to_owned(), ours)]),
        others: Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use aaep::keys::KeyRing;
    use aaep::manifest::{MANIFEST_KIND, verify};
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use serde_json::Value;

    use super::*;
    use crate::time::Time;

    #[test]
    fn it_says_all_that_it_must() {
        let text = of_server("0.1.0", 2_000).text();
        let manifest: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            manifest,
            json!({
                "@context": [CONTEXT, "urn:tasuki:aaep:v1"],
                "type": "aaep:producer.manifest",
                "agent_id": "tasuki",
                "agent_version": "0.1.0",
                "agent_name": "Tasuki",
                "aaep_versions_supported": ["1.0.0"],
                "conformance_levels_supported": [1, 2, 3],
                "transports_supported": ["sse", "websocket", "stdio-jsonrpc", "unix-socket"],
                "languages_supported": ["en", "es", "de", "fr", "ja", "yo"],
                "event_types_emitted": ["aaep:agent.*"],
                "extensions_supported": ["urn:tasuki:aaep:v1"],
                "default_verbosity": "normal",
                "max_concurrent_subscriptions": 2000,
                "extensions": { "tasuki": {
                    "path_prefix": "/aaep/v1",
                    "signed_manifest": "/.well-known/aaep-manifest.jws",
                    "jwks": "/.well-known/aaep-jwks.json",
                    "socket_framing": "length-prefix-be32",
                    "custom_states": ["waiting", "ringing", "connected", "on_hold"],
                    "multi_agent_pattern": "session-per-agent",
                    "parent_session_member": "extensions.tasuki.parent_session_id",
                    "position_unit": "unicode-scalar-value",
                }},
            })
        );
    }

    #[test]
    fn it_is_believed_if_a_published_key_vouches_for_it() {
        let now = Time::from_millis(0);
        let ring = KeyRing::new(&[1; 32], &[2; 32], now);
        let manifest = of_server("0.1.0", 10);
        let signed = manifest.sign(ring.signing());
        let keys = ring.published(now);
        assert_eq!(verify(&signed, &keys, AGENT_ID), Ok(manifest.clone()));
        let rotated = ring.rotated(&[3; 32], now);
        assert_eq!(verify(&signed, &rotated.published(now), AGENT_ID), Ok(manifest.clone()));

        let parts: Vec<&str> = signed.split('.').collect();
        let encode = |text: &str| URL_SAFE_NO_PAD.encode(text);
        let better = Manifest { max_concurrent_subscriptions: Some(11), ..manifest.clone() };
        let other_kind = Manifest { kind: "aaep:other".to_owned(), ..manifest.clone() };
        let elsewhere = KeyRing::new(&[8; 32], &[9; 32], now);
        let unsigned = encode(r#"{"alg":"none","typ":"aaep-manifest+jws"}"#);
        for (jws, agent, code) in [
            (signed.clone(), "somebody-else", "manifest_other_agent"),
            (
                format!("{}.{}.{}", parts[0], encode(&better.text()), parts[2]),
                AGENT_ID,
                "signature_invalid",
            ),
            (format!("{unsigned}.{}.", parts[1]), AGENT_ID, "signature_algorithm"),
            (manifest.sign(elsewhere.signing()), AGENT_ID, "signature_key_unknown"),
            (other_kind.sign(ring.signing()), AGENT_ID, "manifest_malformed"),
            (ring.signing().sign(MANIFEST_KIND, b"[]"), AGENT_ID, "manifest_malformed"),
            // What a key said about its successor is no manifest.
            (rotated.published(now).rotations[0].clone(), AGENT_ID, "signature_malformed"),
        ] {
            let error = verify(&jws, &keys, agent).unwrap_err();
            assert_eq!(error.code(), code, "{error}");
        }
    }

    #[test]
    fn it_has_the_form_that_subscribers_expect() {
        let ring = KeyRing::new(&[1; 32], &[2; 32], Time::from_millis(0));
        let signed = of_server("0.1.0", 10).sign(ring.signing());
        let parts: Vec<&str> = signed.split('.').collect();
        let is_base64url = |part: &&str| {
            !part.is_empty()
                && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
        };
        assert!(parts.len() == 3 && parts.iter().all(is_base64url), "{signed}");
    }
}
