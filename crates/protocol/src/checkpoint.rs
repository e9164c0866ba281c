//! Checkpoints: signed statements of the ledger's length and content (C2SP `tlog-checkpoint`).
//!
//! A checkpoint is a signed note: three lines, a blank line, then one line for each signature. It
//! is kept outside the database, so that write access to the database is not enough to rewrite
//! history. Signatures by other keys, such as those of witnesses, may follow ours and are ignored.
//! Extension lines are refused: we write none and cannot interpret them.

pub mod error;

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};

use crate::canonical::Hash;
use crate::cosignature::Cosigner;
use crate::row_mac::RowKey;
use crate::sealed_cursor::CursorKey;
use crate::session::reply_token::ReplyKey;
use crate::signed_note::{
    LOG_KEY, SignatureLine, is_key_name, key_id, parse_verifier_key, signature_line, verifier_key,
};
use crate::wake::WakeKey;

pub use error::CheckpointError;

/// The longest note that is read. C2SP asks verifiers to take 16 signatures of up to 5 kB, which
/// are 110 kB in base64.
pub const NOTE_BYTES_MAX: usize = 128 * 1024;

/// What is signed: a log, its length, and the Merkle root over its entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// Names the log. One line, not empty, without control characters.
    pub origin: String,
    pub size: u64,
    pub root: Hash,
}

/// Signs checkpoints. The seed is erased from memory when this is dropped.
pub struct Signer {
    key_name: String,
    key: SigningKey,
}

impl Signer {
    pub fn new(key_name: &str, seed: &[u8; 32]) -> Result<Signer, CheckpointError> {
        if !is_key_name(key_name) {
            return Err(CheckpointError::KeyName);
        }
        Ok(Signer { key_name: key_name.to_owned(), key: SigningKey::from_bytes(seed) })
    }

    /// Derives the key for reply tokens, with which listeners answer.
    pub fn reply_key(&self) -> ReplyKey {
        ReplyKey::from_seed(self.key.as_bytes())
    }

    /// Derives the key for the cursors that callers are given.
    pub fn cursor_key(&self) -> CursorKey {
        CursorKey::from_seed(self.key.as_bytes())
    }

    /// Derives the key that authenticates the rows of the store.
    pub fn row_key(&self) -> RowKey {
        RowKey::from_seed(self.key.as_bytes())
    }

    /// Derives the key for the secrets that sign wake calls to agents.
    pub fn wake_key(&self) -> WakeKey {
        WakeKey::from_seed(self.key.as_bytes())
    }

    /// Derives the key with which this server cosigns the checkpoints of others.
    pub fn cosigner(&self) -> Cosigner {
        Cosigner::from_seed(self.key.as_bytes(), &self.key_name)
    }

    pub fn key_name(&self) -> &str {
        &self.key_name
    }

    /// The note, ready to be written to a file.
    ///
    /// # Panics
    ///
    /// If the origin is not one line of text. It comes from our configuration, never from a caller.
    pub fn sign(&self, checkpoint: &Checkpoint) -> String {
        let Checkpoint { origin, size, root } = checkpoint;
        assert!(is_origin(origin), "the origin is checked where the configuration is read");
        let body = format!("{origin}\n{size}\n{}\n", STANDARD.encode(root));
        let id = key_id(&self.key_name, LOG_KEY, &self.key.verifying_key());
        let signature = self.key.sign(body.as_bytes()).to_bytes();
        format!("{body}\n{}", signature_line(&self.key_name, id, &signature))
    }

    /// What others need to check our signatures: `name+id+key`, in C2SP's form.
    pub fn verifier_key(&self) -> String {
        verifier_key(&self.key_name, LOG_KEY, &self.key.verifying_key())
    }
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signer").field("key_name", &self.key_name).finish_non_exhaustive()
    }
}

/// Checks checkpoints against one key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verifier {
    key_name: String,
    key: VerifyingKey,
}

impl Verifier {
    /// Reads a verifier key as [`Signer::verifier_key`] writes it.
    pub fn new(verifier_key: &str) -> Result<Verifier, CheckpointError> {
        let (key_name, key) = parse_verifier_key(verifier_key, LOG_KEY)?;
        Ok(Verifier { key_name, key })
    }

    pub fn key_name(&self) -> &str {
        &self.key_name
    }

    /// The checkpoint in the note, if our signature on it is valid. The caller compares the origin
    /// with the log it expects: one key may sign for several.
    pub fn open(&self, note: &str) -> Result<Checkpoint, CheckpointError> {
        let expected = "an origin, a size and a root, each on a line";
        let note = Note::parse(note)?;
        self.check_signed(&note)?;
        match (note.checkpoint(), note.has_extensions()) {
            (Some(checkpoint), false) => Ok(checkpoint),
            (Some(_), true) | (None, _) => Err(CheckpointError::Note { expected }),
        }
    }

    /// Whether our signature is on the note, and none by our key is wrong.
    pub fn check_signed(&self, note: &Note<'_>) -> Result<(), CheckpointError> {
        let id = key_id(&self.key_name, LOG_KEY, &self.key);
        let mut signed = Err(CheckpointError::NotSigned { key_name: self.key_name.clone() });
        for by in &note.signatures {
            if by.key_name == self.key_name && by.key_id == id {
                self.verify(note.body, &by.signature)?;
                signed = Ok(());
            }
        }
        signed
    }

    fn verify(&self, body: &str, signature: &[u8]) -> Result<(), CheckpointError> {
        Signature::from_slice(signature)
            .and_then(|signature| self.key.verify_strict(body.as_bytes(), &signature))
            .map_err(|_| CheckpointError::WrongSignature { key_name: self.key_name.clone() })
    }
}

/// Whether a text can be the origin of a checkpoint, for readers of a configuration.
pub fn is_origin(text: &str) -> bool {
    !text.is_empty() && !text.chars().any(char::is_control)
}

/// A note and the lines of its signatures, of which none is checked yet.
#[derive(Debug)]
pub struct Note<'n> {
    /// What is signed, with its last line break.
    pub body: &'n str,
    signatures: Vec<SignatureLine<'n>>,
}

impl<'n> Note<'n> {
    pub fn parse(note: &'n str) -> Result<Self, CheckpointError> {
        let wrong = |expected| CheckpointError::Note { expected };
        if note.len() > NOTE_BYTES_MAX {
            return Err(wrong("a note of at most 128 KiB"));
        }
        if note.chars().any(|character| character < ' ' && character != '\n') {
            return Err(wrong("no control characters"));
        }
        let end = note.rfind("\n\n").ok_or(wrong("a blank line before the signatures"))?;
        let body = &note[..=end];
        let lines = note[end + 2..].strip_suffix('\n').ok_or(wrong("a line break at the end"))?;
        let signatures = lines.split('\n').map(SignatureLine::parse).collect::<Option<_>>();
        let signatures = signatures.ok_or(wrong("signature lines of a dash, a name and base64"))?;
        Ok(Self { body, signatures })
    }

    /// What its first three lines say. Logs of others may add lines, about which we say nothing.
    pub fn checkpoint(&self) -> Option<Checkpoint> {
        let mut lines = self.body.strip_suffix('\n')?.split('\n');
        let (origin, size, root) = (lines.next()?, lines.next()?, lines.next()?);
        let size = parse_size(size)?;
        let root = STANDARD.decode(root).ok()?.try_into().ok()?;
        let is_sound = is_origin(origin) && lines.all(|line| !line.is_empty());
        is_sound.then(|| Checkpoint { origin: origin.to_owned(), size, root })
    }

    fn has_extensions(&self) -> bool {
        self.body.split_terminator('\n').nth(3).is_some()
    }
}

/// A number of entries in its only spelling.
pub fn parse_size(text: &str) -> Option<u64> {
    text.parse::<u64>().ok().filter(|number| number.to_string() == text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::canonical::sha256;

    const NAME: &str = "tasuki.example/journal";
    const KEY: &str =
        "tasuki.example/journal+1fe7d489+AQOhB7/zzhC+HXDdGOdLwJln5NYwm6UNXx3chmQSVTG4";

    /// Signed by another implementation (Python's `cryptography`) with the same seed.
    const NOTE: &str = "tasuki.example/journal\n\
        42\n\
        UZB4pEBujmpqSY3bvdHMSopY2Pd/DtdkeWzytGKO904=\n\
        \n\
        — tasuki.example/journal H+fUia1rbZkTpJhVOhY+n3Z+ket08tI+sVNiiK0mtD5kdLO5S4f3hkkQC71HGdqe\
        ysF5T9q1YsEchOsNxF9qLLYNTAE=\n";

    /// A checkpoint of the Go checksum database, with the signature of a witness beside it.
    const GO_KEY: &str = "sum.golang.org+033de0ae+Ac4zctda0e5eza+HJyk9SxEdh+s3Ux18htTTAD8OuAn8";
    const GO_NOTE: &str = "go.sum database tree\n\
        15081221\n\
        BoMMe1wd25Tco0mYGROkyqxHZWx+hcSCtMV315Lu6Lg=\n\
        \n\
        — sum.golang.org Az3grilD7vQqTrv66jRgKM84Y80KTprrSt4bKmiOPxgmS5ZVBTeCl6dUvjYnN13R+C8j0jGY\
        1WnUADGMkok3U0m2Zgo=\n\
        — witness.example qTGhC3917mAr6hGh+T55tNjxaej/D/GQivJZRIj7\n";

    #[test]
    fn a_checkpoint_has_one_note() {
        assert_eq!(signer().verifier_key(), KEY);
        assert_eq!(signer().sign(&checkpoint()), NOTE);
        assert_eq!(verifier().open(NOTE), Ok(checkpoint()));
    }

    #[test]
    fn checkpoints_of_other_logs_are_read() {
        let opened = Verifier::new(GO_KEY).unwrap().open(GO_NOTE).unwrap();
        assert_eq!((opened.origin.as_str(), opened.size), ("go.sum database tree", 15_081_221));
    }

    #[test]
    fn every_changed_bit_is_refused() {
        let verifier = verifier();
        for (at, bit) in (0..NOTE.len()).flat_map(|at| (0..8).map(move |bit| (at, bit))) {
            let mut bytes = NOTE.as_bytes().to_vec();
            bytes[at] ^= 1 << bit;
            // Bytes that are not UTF-8 never reach the verifier.
            if let Ok(changed) = str::from_utf8(&bytes) {
                assert!(verifier.open(changed).is_err(), "{changed}");
            }
        }
    }

    #[test]
    fn every_missing_or_added_byte_is_refused() {
        let verifier = verifier();
        for at in (0..=NOTE.len()).filter(|at| NOTE.is_char_boundary(*at)) {
            let (before, after) = NOTE.split_at(at);
            let mut one_less = after.chars();
            if one_less.next().is_some() {
                assert!(verifier.open(&format!("{before}{}", one_less.as_str())).is_err());
            }
            for added in ["\n", " ", "0", "=", "\r", "—"] {
                let longer = format!("{before}{added}{after}");
                assert!(verifier.open(&longer).is_err(), "{longer:?}");
            }
        }
    }

    #[test]
    fn refusals_say_what_was_expected() {
        let stranger = Signer::new(NAME, &[9; 32]).unwrap();
        let ours = "checkpoint: expected a signature by tasuki.example/journal";
        check_note("", "checkpoint: expected a blank line before the signatures");
        check_note(NOTE.trim_end(), "checkpoint: expected a line break at the end");
        check_note(&stranger.sign(&checkpoint()), ours);
        check_note(GO_NOTE, ours);
        check_note(
            &NOTE.replace("\n42\n", "\n43\n"),
            "checkpoint: expected a valid signature by tasuki.example/journal",
        );
        check_note(
            &NOTE.replace('—', "-"),
            "checkpoint: expected signature lines of a dash, a name and base64",
        );
        check_note(&NOTE.replace("42", "\t"), "checkpoint: expected no control characters");
        check_note(
            &"x".repeat(NOTE_BYTES_MAX + 1),
            "checkpoint: expected a note of at most 128 KiB",
        );
    }

    #[test]
    fn signed_text_that_is_no_checkpoint_is_refused() {
        let root = STANDARD.encode([0; 32]);
        for (body, valid) in [
            (format!("log\n0\n{root}\n"), true),
            (format!("log\n18446744073709551615\n{root}\n"), true),
            (format!("log\n18446744073709551616\n{root}\n"), false),
            (format!("log\n01\n{root}\n"), false),
            (format!("log\n+1\n{root}\n"), false),
            (format!("log\n-1\n{root}\n"), false),
            (format!("log\n\n{root}\n"), false),
            (format!("\n1\n{root}\n"), false),
            (format!("lo\u{85}g\n1\n{root}\n"), false),
            (format!("log\n1\n{root}\nextension\n"), false),
            (format!("log\n1\n{}\n", &root[..40]), false),
            ("log\n1\n".to_owned(), false),
        ] {
            assert_eq!(verifier().open(&signed(&body)).is_ok(), valid, "{body:?}");
        }
    }

    #[test]
    fn one_wrong_signature_by_a_known_key_spoils_the_note() {
        let line = NOTE.rsplit_once("\n\n").unwrap().1;
        let wrong = signer().sign(&Checkpoint { size: 43, ..checkpoint() });
        let wrong_line = wrong.rsplit_once("\n\n").unwrap().1;
        assert!(verifier().open(&format!("{NOTE}{line}")).is_ok());
        assert!(verifier().open(&format!("{NOTE}{wrong_line}")).is_err());
    }

    #[test]
    fn verifier_keys_have_one_spelling() {
        for wrong in [
            "",
            "name",
            "name+1fe7d489",
            &KEY.replace("tasuki", "other"),
            &KEY.replace("tasuki", "ta suki"),
            &KEY.replace("1fe7d489", "1FE7D489"),
            &KEY.replace("1fe7d489", "1fe7d48"),
            &KEY.replace("+AQ", "+Ag"),
            &KEY.replace("TG4", "TG5"),
            &KEY.replace("VTG4", ""),
            &format!("{KEY}\n"),
        ] {
            assert!(Verifier::new(wrong).is_err(), "{wrong}");
        }
        let point_of_order_four = STANDARD.encode([&[LOG_KEY][..], &[0; 32]].concat());
        let error = Verifier::new(&format!("name+00000000+{point_of_order_four}")).unwrap_err();
        assert_eq!(error.to_string(), "verifier key: expected a point on the curve, of full order");
    }

    #[test]
    fn key_names_follow_the_rules_of_signed_notes() {
        for (name, valid) in [
            ("tasuki.example/journal", true),
            ("ジャーナル", true),
            ("", false),
            ("a b", false),
            ("a\u{3000}b", false),
            ("a+b", false),
            ("a\n", false),
            ("a\0", false),
        ] {
            assert_eq!(Signer::new(name, &[1; 32]).is_ok(), valid, "{name:?}");
        }
    }

    #[test]
    fn the_seed_is_not_shown() {
        let shown = format!("{:?}", signer());
        assert_eq!(shown, r#"Signer { key_name: "tasuki.example/journal", .. }"#);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        #[test]
        fn every_checkpoint_comes_back(
            origin in r"[^\pC\n]{1,20}",
            size in any::<u64>(),
            root in any::<Hash>(),
            seed in any::<[u8; 32]>(),
        ) {
            let signer = Signer::new(NAME, &seed).unwrap();
            let verifier = Verifier::new(&signer.verifier_key()).unwrap();
            let checkpoint = Checkpoint { origin, size, root };
            prop_assert_eq!(verifier.open(&signer.sign(&checkpoint)), Ok(checkpoint));
        }

        #[test]
        fn any_text_is_answered(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let text = String::from_utf8_lossy(&bytes);
            prop_assert!(verifier().open(&text).is_err());
            prop_assert!(Verifier::new(&text).is_err());
        }

        #[test]
        fn any_text_of_our_parts_is_answered(
            parts in prop::collection::vec(prop::sample::select(parts()), 0..12),
        ) {
            let text = parts.concat();
            let opened = verifier().open(&text);
            prop_assert!(opened.is_err() || opened == Ok(checkpoint()));
            let read = Verifier::new(&text);
            prop_assert!(read.is_err() || text == KEY);
        }
    }

    fn signer() -> Signer {
        let mut seed = [0; 32];
        (0..32).for_each(|n| seed[usize::from(n)] = n);
        Signer::new(NAME, &seed).unwrap()
    }

    fn verifier() -> Verifier {
        Verifier::new(KEY).unwrap()
    }

    fn checkpoint() -> Checkpoint {
        Checkpoint { origin: NAME.to_owned(), size: 42, root: sha256(&[b"tasuki"]) }
    }

    /// A note with a valid signature over the given body.
    fn signed(body: &str) -> String {
        let Signer { key_name, key } = signer();
        let id = key_id(&key_name, LOG_KEY, &key.verifying_key());
        let signature = key.sign(body.as_bytes()).to_bytes();
        format!("{body}\n— {key_name} {}\n", STANDARD.encode([&id[..], &signature].concat()))
    }

    fn check_note(note: &str, expected: &str) {
        assert_eq!(verifier().open(note).unwrap_err().to_string(), expected);
    }

    fn parts() -> Vec<&'static str> {
        let (body, line) = NOTE.split_once("\n\n").unwrap();
        let (name_and_id, key) = KEY.rsplit_once("+AQ").unwrap();
        vec![body, line, name_and_id, key, NAME, "\n", "\n\n", "— ", "+AQ", "+", "AAAA", "="]
    }
}
