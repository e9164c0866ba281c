//! What a witness of other logs decides about a checkpoint that it is sent (C2SP `tlog-witness`,
//! `add-checkpoint`): it takes one that is signed by a log it knows and continues the last one.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::canonical::Hash;
use crate::checkpoint::{Checkpoint, NOTE_BYTES_MAX, Note, Verifier, parse_size};
use crate::merkle::{Edge, verify_consistency};

/// A tree of as many leaves as a number of 64 bits counts has no longer proof.
pub const PROOF_HASHES_MAX: usize = 63;

/// The longest request: a note, before it the hashes of a proof in lines of 45 bytes, and the line
/// with the old size.
pub const REQUEST_BYTES_MAX: usize = NOTE_BYTES_MAX + 3 * 1024;

/// The room that is left for the cosignature: a record is a note, too.
const COSIGNATURE_BYTES_MAX: usize = 1024;

/// A request to cosign a checkpoint.
#[derive(Debug)]
pub struct AddCheckpoint<'b> {
    /// The size of the last checkpoint that the sender believes the witness to have.
    pub old_size: u64,
    /// Shows that the tree of that size is a prefix of the new one.
    pub proof: Vec<Hash>,
    pub note: &'b str,
}

/// Why a checkpoint is not cosigned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    Malformed {
        expected: &'static str,
    },
    UnknownLog,
    NotSigned,
    /// The last checkpoint has this size, and not the one in the request; or it has another root.
    Conflict {
        size: u64,
    },
    WrongProof,
}

impl<'b> AddCheckpoint<'b> {
    pub fn parse(body: &'b str) -> Result<Self, Refusal> {
        let malformed = |expected| Refusal::Malformed { expected };
        let head = malformed("`old`, a size, a proof of at most 63 hashes and a blank line");
        let (head_lines, note) = body.split_once("\n\n").ok_or(head.clone())?;
        let mut lines = head_lines.split('\n');
        let old_size = lines.next().and_then(|line| parse_size(line.strip_prefix("old ")?));
        let old_size = old_size.ok_or(head.clone())?;
        let hash = |line: &str| STANDARD.decode(line).ok()?.try_into().ok();
        let proof: Option<Vec<Hash>> = lines.map(hash).collect();
        let proof = proof.filter(|proof| proof.len() <= PROOF_HASHES_MAX).ok_or(head)?;
        Ok(Self { old_size, proof, note })
    }

    /// The request as [`AddCheckpoint::parse`] reads it.
    pub fn to_text(&self) -> String {
        let hashes: String =
            self.proof.iter().map(|hash| format!("{}\n", STANDARD.encode(hash))).collect();
        format!("old {}\n{hashes}\n{}", self.old_size, self.note)
    }

    /// The checkpoint, if it is of one of these logs and signed with its key. A log is named like
    /// its key; one that has several keys may use any of them.
    pub fn open(&self, logs: &[Verifier]) -> Result<Checkpoint, Refusal> {
        let malformed = |expected| Refusal::Malformed { expected };
        if self.note.len() > NOTE_BYTES_MAX - COSIGNATURE_BYTES_MAX {
            return Err(malformed("a note of at most 127 KiB"));
        }
        let note = Note::parse(self.note).map_err(|_| malformed("a signed note"))?;
        let checkpoint = note.checkpoint();
        let checkpoint = checkpoint.ok_or(malformed("an origin, a size and a root"))?;
        let mut of_origin =
            logs.iter().filter(|log| log.key_name() == checkpoint.origin).peekable();
        if of_origin.peek().is_none() {
            return Err(Refusal::UnknownLog);
        }
        match of_origin.any(|log| log.check_signed(&note).is_ok()) {
            true => Ok(checkpoint),
            false => Err(Refusal::NotSigned),
        }
    }

    /// Whether the checkpoint continues the last one.
    pub fn check_continues(
        &self,
        last: Option<&Checkpoint>,
        checkpoint: &Checkpoint,
    ) -> Result<(), Refusal> {
        let Checkpoint { size, root, .. } = checkpoint;
        let (last_size, last_root) =
            last.map_or_else(|| (0, Edge::empty().root()), |last| (last.size, last.root));
        if self.old_size > *size {
            return Err(Refusal::Malformed {
                expected: "an old size up to that of the checkpoint",
            });
        }
        let is_split = last_size == *size && last_root != *root;
        if self.old_size != last_size || is_split {
            return Err(Refusal::Conflict { size: last_size });
        }
        match verify_consistency(last_size, &last_root, *size, root, &self.proof) {
            true => Ok(()),
            false => Err(Refusal::WrongProof),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkpoint::Signer;
    use crate::merkle::ConsistencyProver;

    #[test]
    fn a_request_has_one_spelling() {
        let note = signed(&log(), 5);
        let request = AddCheckpoint { old_size: 3, proof: vec![[1; 32], [2; 32]], note: &note };
        let text = request.to_text();
        let read = AddCheckpoint::parse(&text).unwrap();
        assert_eq!((read.old_size, &read.proof, read.note), (3, &request.proof, note.as_str()));
        let hash = format!("{}\n", STANDARD.encode([1; 32]));
        for wrong in [
            String::new(),
            "old 3".to_owned(),
            text.replace("old 3", "old 03"),
            text.replace("old 3", "old +3"),
            text.replace("old 3", "old -3"),
            text.replace("old 3", "new 3"),
            text.replace("old 3\n", ""),
            text.replace("old 3", "old 18446744073709551616"),
            text.replace(&hash, "AAAA\n"),
            text.replace(&hash, "a proof\n"),
            text.replace(&hash, &hash.repeat(PROOF_HASHES_MAX)),
            text.replace('\n', "\r\n"),
        ] {
            assert!(AddCheckpoint::parse(&wrong).is_err(), "{wrong}");
        }
        let longest = text.replace(&hash, &hash.repeat(PROOF_HASHES_MAX - 1));
        assert!(AddCheckpoint::parse(&longest).is_ok());
    }

    #[test]
    fn only_known_logs_are_opened() {
        let known = [log().verifier_key(), other("log", 8).verifier_key()];
        let known = known.map(|key| Verifier::new(&key).unwrap());
        let garbled = signed(&log(), 5).replace("\n5\n", "\n6\n");
        let extended = signed(&log(), 5).replace("\n\n", "\nmore\n\n");
        for (note, expected) in [
            (signed(&log(), 5), Ok(5)),
            (signed(&other("log", 8), 5), Ok(5)),
            (signed(&other("log", 9), 5), Err(Refusal::NotSigned)),
            (signed(&other("elsewhere", 7), 5), Err(Refusal::UnknownLog)),
            (garbled, Err(Refusal::NotSigned)),
            // Of a sound form, so it is the signature that is wrong.
            (extended, Err(Refusal::NotSigned)),
            (String::new(), Err(Refusal::Malformed { expected: "a signed note" })),
        ] {
            let request = AddCheckpoint { old_size: 0, proof: Vec::new(), note: &note };
            assert_eq!(request.open(&known).map(|opened| opened.size), expected, "{note}");
        }
    }

    #[test]
    fn a_checkpoint_continues_the_last_one_or_is_refused() {
        let conflict = |size| Err(Refusal::Conflict { size });
        let malformed =
            Err(Refusal::Malformed { expected: "an old size up to that of the checkpoint" });
        let none = 0;
        for (last, old, new, proven, expected) in [
            (none, 0, 5, 0, Ok(())),
            (none, 0, 0, 0, Ok(())),
            (3, 3, 5, 3, Ok(())),
            (3, 3, 3, 3, Ok(())),
            (none, 3, 5, 3, conflict(0)),
            (3, 0, 5, 0, conflict(3)),
            (3, 4, 5, 4, conflict(3)),
            (7, 5, 5, 5, conflict(7)),
            (7, 7, 5, 5, malformed),
            (3, 3, 5, 2, Err(Refusal::WrongProof)),
            (none, 0, 5, 3, Err(Refusal::WrongProof)),
            (3, 3, 3, 2, Err(Refusal::WrongProof)),
        ] {
            let request = AddCheckpoint { old_size: old, proof: proof(proven, new), note: "" };
            let last_one = (last > 0).then(|| checkpoint(last));
            let decided = request.check_continues(last_one.as_ref(), &checkpoint(new));
            assert_eq!(decided, expected, "{last} {old} {new} {proven}");
        }
        let request = AddCheckpoint { old_size: 3, proof: Vec::new(), note: "" };
        let split = Checkpoint { root: [9; 32], ..checkpoint(3) };
        assert_eq!(request.check_continues(Some(&checkpoint(3)), &split), conflict(3));
        let request = AddCheckpoint { old_size: 3, proof: proof(3, 5), note: "" };
        let decided = request.check_continues(Some(&split), &checkpoint(5));
        assert_eq!(decided, Err(Refusal::WrongProof));
    }

    fn log() -> Signer {
        other("log", 7)
    }

    fn other(name: &str, seed: u8) -> Signer {
        Signer::new(name, &[seed; 32]).unwrap()
    }

    fn signed(by: &Signer, size: u64) -> String {
        by.sign(&Checkpoint { origin: by.key_name().to_owned(), ..checkpoint(size) })
    }

    fn edge(size: u64) -> Edge {
        let mut edge = Edge::empty();
        (0..size).for_each(|leaf| edge.push(&leaf.to_be_bytes()));
        edge
    }

    fn checkpoint(size: u64) -> Checkpoint {
        Checkpoint { origin: "log".to_owned(), size, root: edge(size).root() }
    }

    fn proof(old: u64, new: u64) -> Vec<Hash> {
        let mut prover = ConsistencyProver::new(edge(old), new).unwrap();
        (old..new).for_each(|leaf| prover.push(&leaf.to_be_bytes()));
        prover.finish().unwrap().0
    }
}
