//! Cosignatures: the statement of a witness that it has seen a log grow up to a checkpoint and
//! never otherwise, with the time (C2SP `tlog-cosignature`, `cosignature/v1`).
//!
//! It is one more signature line of a note. What is signed begins with other words than a
//! checkpoint, and the key has another type, so neither can be passed off as the other.

use std::fmt;

use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};

use crate::checkpoint::error::CheckpointError;
use crate::keyed::hmac;
use crate::signed_note::{
    SignatureLine, WITNESS_KEY, key_id, parse_verifier_key, signature_line, verifier_key,
};
use crate::time::Time;

/// The time in seconds, before the 64 bytes of the signature.
const TIMESTAMP_BYTES: usize = 8;

/// Cosigns the checkpoints of others. The key is erased from memory when this is dropped.
pub struct Cosigner {
    key_name: String,
    key: SigningKey,
}

impl Cosigner {
    /// From a secret that has other uses too. The derived key reveals nothing about it. It must not
    /// be the key of a log: its name is that of the log, and `/witness`.
    pub fn from_seed(seed: &[u8; 32], log_name: &str) -> Self {
        let key = SigningKey::from_bytes(&hmac(seed, &[b"tasuki witness"]));
        Self { key_name: format!("{log_name}/witness"), key }
    }

    /// The signature line over the body of a checkpoint.
    pub fn cosign(&self, body: &str, at: Time) -> String {
        let seconds = u64::try_from(at.as_millis() / 1_000).unwrap_or(0);
        let signature = self.key.sign(message(body, seconds).as_bytes()).to_bytes();
        let timestamped = [seconds.to_be_bytes().as_slice(), &signature].concat();
        let id = key_id(&self.key_name, WITNESS_KEY, &self.key.verifying_key());
        signature_line(&self.key_name, id, &timestamped)
    }

    /// What others need to check the cosignatures, in C2SP's form.
    pub fn verifier_key(&self) -> String {
        verifier_key(&self.key_name, WITNESS_KEY, &self.key.verifying_key())
    }
}

impl fmt::Debug for Cosigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cosigner").field("key_name", &self.key_name).finish_non_exhaustive()
    }
}

/// Checks the cosignatures of one witness.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CosignatureVerifier {
    key_name: String,
    key: VerifyingKey,
}

impl CosignatureVerifier {
    /// Reads a verifier key as [`Cosigner::verifier_key`] writes it.
    pub fn new(verifier_key: &str) -> Result<Self, CheckpointError> {
        let (key_name, key) = parse_verifier_key(verifier_key, WITNESS_KEY)?;
        Ok(Self { key_name, key })
    }

    /// The first of these signature lines that is a valid cosignature of this witness over the body
    /// of a checkpoint. Lines of others do not count.
    pub fn find<'l>(&self, body: &str, lines: &'l str) -> Option<&'l str> {
        lines.lines().find(|line| self.is_valid(body, line))
    }

    fn is_valid(&self, body: &str, line: &str) -> bool {
        let id = key_id(&self.key_name, WITNESS_KEY, &self.key);
        let Some(SignatureLine { key_name, key_id, signature }) = SignatureLine::parse(line) else {
            return false;
        };
        let Some((seconds, signature)) = signature.split_first_chunk::<TIMESTAMP_BYTES>() else {
            return false;
        };
        let message = message(body, u64::from_be_bytes(*seconds));
        let verified = Signature::from_slice(signature)
            .and_then(|signature| self.key.verify_strict(message.as_bytes(), &signature));
        key_name == self.key_name && key_id == id && verified.is_ok()
    }
}

fn message(body: &str, seconds: u64) -> String {
    format!("cosignature/v1\ntime {seconds}\n{body}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkpoint::{Checkpoint, Note, Signer, Verifier};

    #[test]
    fn a_cosignature_is_found_among_others() {
        let (note, cosigner) = (note(), signer(9).cosigner());
        let body = Note::parse(&note).unwrap().body;
        let line = cosigner.cosign(body, at());
        let verifier = CosignatureVerifier::new(&cosigner.verifier_key()).unwrap();
        let others = signer(8).cosigner().cosign(body, at());
        let log = note.rsplit_once("\n\n").unwrap().1;
        for (lines, expected) in [
            (line.clone(), true),
            (format!("{others}{log}{line}"), true),
            (format!("not a line\n{line}"), true),
            (others, false),
            (log.to_owned(), false),
            (cosigner.cosign(&body.replace("42", "43"), at()), false),
            (line.replace('\u{2014}', "-"), false),
            (String::new(), false),
        ] {
            let found = verifier.find(body, &lines);
            assert_eq!(found, expected.then_some(line.trim_end()), "{lines}");
        }
    }

    /// The time is part of what is signed, and so is every other byte.
    #[test]
    fn every_changed_character_is_refused() {
        let (note, cosigner) = (note(), signer(9).cosigner());
        let body = Note::parse(&note).unwrap().body;
        let line = cosigner.cosign(body, at());
        let verifier = CosignatureVerifier::new(&cosigner.verifier_key()).unwrap();
        let line = line.trim_end();
        for (at, character) in line.char_indices() {
            let other = if character == 'A' { "B" } else { "A" };
            let rest = &line[at + character.len_utf8()..];
            let changed = format!("{}{other}{rest}", &line[..at]);
            assert_eq!(verifier.find(body, &changed), None, "{changed}");
        }
    }

    #[test]
    fn the_note_stays_a_note_and_keys_are_not_mixed_up() {
        let (log, note) = (signer(9), note());
        let cosigner = log.cosigner();
        let line = cosigner.cosign(Note::parse(&note).unwrap().body, at());
        let verifier = Verifier::new(&log.verifier_key()).unwrap();
        assert!(verifier.open(&format!("{note}{line}")).is_ok());
        assert!(Verifier::new(&cosigner.verifier_key()).is_err());
        assert!(CosignatureVerifier::new(&log.verifier_key()).is_err());
        assert!(cosigner.verifier_key().starts_with("log-9/witness+"));
    }

    fn at() -> Time {
        Time::from_millis(1_679_315_147_900)
    }

    fn signer(seed: u8) -> Signer {
        Signer::new(&format!("log-{seed}"), &[seed; 32]).unwrap()
    }

    fn note() -> String {
        signer(9).sign(&Checkpoint { origin: "log-9".to_owned(), size: 42, root: [7; 32] })
    }
}
