//! Keys and signature lines in the form of C2SP's signed notes, which checkpoints and cosignatures
//! share.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::VerifyingKey;

use crate::canonical::{hex, sha256};
use crate::checkpoint::error::CheckpointError;

/// The type of a key that signs the text itself, with Ed25519.
pub(crate) const LOG_KEY: u8 = 0x01;

/// The type of a key that cosigns with Ed25519.
pub(crate) const WITNESS_KEY: u8 = 0x04;

pub(crate) fn is_key_name(text: &str) -> bool {
    let refused = |c: char| c.is_whitespace() || c.is_control() || c == '+';
    !text.is_empty() && !text.chars().any(refused)
}

/// Tells keys apart. It is too short to authenticate one.
pub(crate) fn key_id(key_name: &str, kind: u8, key: &VerifyingKey) -> [u8; 4] {
    let [a, b, c, d, ..] = sha256(&[key_name.as_bytes(), b"\n", &[kind], key.as_bytes()]);
    [a, b, c, d]
}

pub(crate) fn verifier_key(key_name: &str, kind: u8, key: &VerifyingKey) -> String {
    let id = hex(&key_id(key_name, kind, key));
    let typed_key = STANDARD.encode([&[kind], key.as_bytes().as_slice()].concat());
    format!("{key_name}+{id}+{typed_key}")
}

/// The name and the key in a verifier key for this kind of signature.
pub(crate) fn parse_verifier_key(
    verifier_key: &str,
    kind: u8,
) -> Result<(String, VerifyingKey), CheckpointError> {
    let wrong = |expected| CheckpointError::VerifierKey { expected };
    // Base64 can contain plus signs, so only the first two are separators.
    let mut parts = verifier_key.splitn(3, '+');
    let (Some(key_name), Some(id), Some(encoded)) = (parts.next(), parts.next(), parts.next())
    else {
        return Err(wrong("a name, an id and a key, joined by plus signs"));
    };
    if !is_key_name(key_name) {
        return Err(CheckpointError::KeyName);
    }
    let typed_key = STANDARD.decode(encoded).map_err(|_| wrong("the key in base64"))?;
    let key = match typed_key.split_first() {
        Some((found, key)) if *found == kind => <&[u8; 32]>::try_from(key).ok(),
        Some(_) | None => None,
    };
    let key = key.ok_or(wrong(match kind {
        LOG_KEY => "an Ed25519 key of a log, which is the byte 01 and 32 more",
        _ => "an Ed25519 key of a witness, which is the byte 04 and 32 more",
    }))?;
    // A key of small order accepts forged signatures.
    let key = VerifyingKey::from_bytes(key)
        .ok()
        .filter(|key| !key.is_weak())
        .ok_or(wrong("a point on the curve, of full order"))?;
    if id != hex(&key_id(key_name, kind, &key)) {
        return Err(wrong("an id that fits the name and the key"));
    }
    Ok((key_name.to_owned(), key))
}

#[derive(Debug)]
pub(crate) struct SignatureLine<'n> {
    pub key_name: &'n str,
    pub key_id: [u8; 4],
    pub signature: Vec<u8>,
}

impl SignatureLine<'_> {
    pub fn parse(line: &str) -> Option<SignatureLine<'_>> {
        let (key_name, encoded) = line.strip_prefix("\u{2014} ")?.split_once(' ')?;
        if !is_key_name(key_name) {
            return None;
        }
        let mut key_id = STANDARD.decode(encoded).ok()?;
        let signature = (key_id.len() > 4).then(|| key_id.split_off(4))?;
        Some(SignatureLine { key_name, key_id: key_id.try_into().ok()?, signature })
    }
}

/// A line as [`SignatureLine::parse`] reads it, with its line break.
pub(crate) fn signature_line(key_name: &str, key_id: [u8; 4], signature: &[u8]) -> String {
    let signed = STANDARD.encode([key_id.as_slice(), signature].concat());
    format!("\u{2014} {key_name} {signed}\n")
}
