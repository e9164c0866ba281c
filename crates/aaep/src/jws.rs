//! Signed texts in standard form: JWS in its compact form (RFC 7515) with Ed25519 (RFC 8037), and
//! the public keys as a JWK set (RFC 7517). No other algorithm is accepted, so a forger cannot
//! choose one.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use base::canonical;
use base::json::{Bounds, parse};

/// The only supported algorithm.
pub const ALGORITHM: &str = "EdDSA";

/// The longest signed text that is read. Manifests have two kilobytes.
pub const JWS_BYTES_MAX: usize = 64 * 1024;

/// The most keys of a set that are tried. We publish two, and the retired ones.
pub const KEYS_MAX: usize = 64;

/// A public key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Jwk {
    pub kty: String,
    pub crv: String,
    /// The point, in base64url.
    pub x: String,
    pub kid: String,
    #[serde(rename = "use", default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alg: Option<String>,
}

/// Public keys, and the statements that link each to the next.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Jwks {
    /// Keys of unknown kinds may be among them.
    pub keys: Vec<Value>,
    /// Statements of retired keys about their successors, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rotations: Vec<String>,
}

/// Why a signed text is not trusted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JwsError {
    #[error("signed text: expected {expected}")]
    Form { expected: &'static str },
    #[error("signed text: expected alg EdDSA")]
    Algorithm,
    #[error("signed text: expected the kid of a published key")]
    UnknownKey,
    #[error("signed text: expected a valid signature by {kid}")]
    Signature { kid: String },
}

impl JwsError {
    /// Stable.
    pub fn code(&self) -> &'static str {
        match self {
            JwsError::Form { .. } => "signature_malformed",
            JwsError::Algorithm => "signature_algorithm",
            JwsError::UnknownKey => "signature_key_unknown",
            JwsError::Signature { .. } => "signature_invalid",
        }
    }
}

/// A signing key. Its seed is erased from memory when this is dropped.
#[derive(Clone)]
pub struct Key {
    key: SigningKey,
    public: Jwk,
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key").field("kid", &self.public.kid).finish_non_exhaustive()
    }
}

impl Key {
    pub fn new(seed: &[u8; 32]) -> Self {
        let key = SigningKey::from_bytes(seed);
        let public = Jwk::new(key.verifying_key().as_bytes());
        Self { key, public }
    }

    pub fn kid(&self) -> &str {
        &self.public.kid
    }

    pub fn public(&self) -> &Jwk {
        &self.public
    }

    pub(super) fn seed(&self) -> &[u8; 32] {
        self.key.as_bytes()
    }

    /// The compact form. `kind` is its `typ`, so that a text of one kind cannot pass for another.
    pub fn sign(&self, kind: &str, payload: &[u8]) -> String {
        let header = json!({ "alg": ALGORITHM, "kid": self.public.kid, "typ": kind });
        self.compact(&canonical::canonical(&header), payload)
    }

    fn compact(&self, header: &str, payload: &[u8]) -> String {
        let (header, payload) = (URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(payload));
        let signed = format!("{header}.{payload}");
        let signature = self.key.sign(signed.as_bytes()).to_bytes();
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}

impl Jwk {
    /// Named by its thumbprint (RFC 7638), so that a key has one name everywhere.
    pub fn new(point: &[u8; 32]) -> Self {
        let x = URL_SAFE_NO_PAD.encode(point);
        let named = canonical::canonical(&json!({ "crv": "Ed25519", "kty": "OKP", "x": x }));
        Self {
            kty: "OKP".to_owned(),
            crv: "Ed25519".to_owned(),
            x,
            kid: URL_SAFE_NO_PAD.encode(canonical::sha256(&[named.as_bytes()])),
            usage: Some("sig".to_owned()),
            alg: Some(ALGORITHM.to_owned()),
        }
    }

    /// The point, if this is a key that may sign for us.
    fn verifying_key(&self) -> Option<VerifyingKey> {
        let is_ours = self.kty == "OKP"
            && self.crv == "Ed25519"
            && self.usage.as_deref().is_none_or(|usage| usage == "sig")
            && self.alg.as_deref().is_none_or(|alg| alg == ALGORITHM);
        let point = URL_SAFE_NO_PAD.decode(&self.x).ok().filter(|_| is_ours)?;
        let key = VerifyingKey::from_bytes(point.as_slice().try_into().ok()?).ok()?;
        // A key of small order accepts forged signatures.
        Some(key).filter(|key| !key.is_weak())
    }
}

impl Jwks {
    fn key(&self, kid: &str) -> Option<VerifyingKey> {
        let known = self.keys.iter().take(KEYS_MAX);
        let mut known = known.filter_map(|key| Jwk::deserialize(key).ok());
        known.find(|key| key.kid == kid)?.verifying_key()
    }

    /// The payload of a signed text of this kind and the id of its key, if the signature is valid.
    pub fn open(&self, kind: &str, jws: &str) -> Result<(String, Vec<u8>), JwsError> {
        let wrong = |expected| JwsError::Form { expected };
        if jws.len() > JWS_BYTES_MAX {
            return Err(wrong("at most 64 KiB"));
        }
        let mut parts = jws.split('.');
        let (Some(header), Some(payload), Some(signature), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(wrong("three parts, joined by full stops"));
        };
        let decode = |part| URL_SAFE_NO_PAD.decode(part).map_err(|_| wrong("parts in base64url"));
        let named = parse(&decode(header)?, &Bounds::default()).map_err(|_| wrong("a header"))?;
        if named["alg"] != ALGORITHM {
            return Err(JwsError::Algorithm);
        }
        // We support no critical header parameters.
        if named.get("crit").is_some() {
            return Err(wrong("a header without crit"));
        }
        // Signers need not set `typ`; we always do.
        if named.get("typ").is_some_and(|typ| typ != kind) {
            return Err(wrong("the typ of what was asked for"));
        }
        let kid = named["kid"].as_str().ok_or(JwsError::UnknownKey)?;
        let key = self.key(kid).ok_or(JwsError::UnknownKey)?;
        let failed = || JwsError::Signature { kid: kid.to_owned() };
        let signed = &jws[..header.len() + 1 + payload.len()];
        let signature = Signature::from_slice(&decode(signature)?).map_err(|_| failed())?;
        key.verify_strict(signed.as_bytes(), &signature).map_err(|_| failed())?;
        Ok((kid.to_owned(), decode(payload)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The key of RFC 8037, appendix A.
    fn of_the_rfc() -> Key {
        let seed = URL_SAFE_NO_PAD.decode("nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A").unwrap();
        Key::new(&seed.try_into().unwrap())
    }

    #[test]
    fn the_examples_of_the_rfc() {
        let key = of_the_rfc();
        assert_eq!(key.public().x, "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo");
        assert_eq!(key.kid(), "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k");
        assert_eq!(
            key.compact(r#"{"alg":"EdDSA"}"#, b"Example of Ed25519 signing"),
            "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.\
             hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt\
             9g7sVvpAr_MuM0KAg"
        );
    }

    #[test]
    fn what_is_forged_is_not_believed() {
        let key = of_the_rfc();
        let other = Key::new(&[9; 32]);
        let keys =
            Jwks { keys: vec![json!({"kty": "EC"}), json!(key.public())], rotations: vec![] };
        let good = key.sign("thing", b"payload");
        let kid = key.kid().to_owned();
        let untyped = key.compact(&json!({"alg": "EdDSA", "kid": kid}).to_string(), b"payload");
        assert!(keys.open("thing", &untyped).is_ok());
        assert_eq!(keys.open("thing", &good), Ok((kid.clone(), b"payload".to_vec())));

        let with = |header: Value| key.compact(&header.to_string(), b"payload");
        let parts: Vec<&str> = good.split('.').collect();
        let encoded = |text: &str| URL_SAFE_NO_PAD.encode(text);
        let none = encoded(r#"{"alg":"none"}"#);
        let tampered = format!("{}.{}.{}", parts[0], encoded("payloaD"), parts[2]);
        let own =
            json!({"alg": "EdDSA", "jwk": other.public(), "kid": other.kid(), "typ": "thing"});
        let as_ours = json!({"alg": "EdDSA", "kid": kid, "typ": "thing"}).to_string();
        for (what, jws, code) in [
            ("another payload", tampered, "signature_invalid"),
            ("no algorithm", format!("{none}.{}.", parts[1]), "signature_algorithm"),
            ("a shared secret", with(json!({"alg": "HS256", "kid": kid})), "signature_algorithm"),
            ("another case", with(json!({"alg": "eddsa", "kid": kid})), "signature_algorithm"),
            ("an unknown key", other.sign("thing", b"payload"), "signature_key_unknown"),
            ("a key of its own", other.compact(&own.to_string(), b"x"), "signature_key_unknown"),
            ("no kid", with(json!({"alg": "EdDSA", "typ": "thing"})), "signature_key_unknown"),
            ("another's name", other.compact(&as_ours, b"payload"), "signature_invalid"),
            ("another kind", key.sign("other", b"payload"), "signature_malformed"),
            (
                "something critical",
                with(json!({"alg": "EdDSA", "kid": kid, "typ": "thing", "crit": ["b64"]})),
                "signature_malformed",
            ),
            (
                "alg twice",
                key.compact(r#"{"alg":"none","alg":"EdDSA"}"#, b""),
                "signature_malformed",
            ),
            ("two parts", format!("{}.{}", parts[0], parts[1]), "signature_malformed"),
            ("four parts", format!("{good}.x"), "signature_malformed"),
            ("padding", format!("{good}="), "signature_malformed"),
            ("no signature", format!("{}.{}.", parts[0], parts[1]), "signature_invalid"),
            ("too long", "a".repeat(JWS_BYTES_MAX + 1), "signature_malformed"),
            ("nothing", String::new(), "signature_malformed"),
        ] {
            let error = keys.open("thing", &jws).unwrap_err();
            assert_eq!(error.code(), code, "{what}: {error}");
        }
        let mut weak = key.public().clone();
        weak.x = URL_SAFE_NO_PAD.encode([0; 32]);
        let mut for_encryption = key.public().clone();
        for_encryption.usage = Some("enc".to_owned());
        for unfit in [weak, for_encryption] {
            let keys = Jwks { keys: vec![json!(unfit)], rotations: vec![] };
            assert_eq!(keys.open("thing", &good), Err(JwsError::UnknownKey));
        }
    }
}
