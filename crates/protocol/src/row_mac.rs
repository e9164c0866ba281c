//! Authentication of stored rows. Snapshots decide who may do what, and recorded outcomes answer
//! retries. Each carries a MAC by a key that is not in the database, so that a row which was
//! written past the server is not believed.
//!
//! A row that is put back as it was at an earlier time has a valid MAC. The store does not load a
//! snapshot whose stream has later entries.

use std::fmt;

use crate::canonical::Hash;
use crate::ledger::Stream;
use crate::time::Time;

/// The first half of a keyed BLAKE3, which costs a commit a fifth of an HMAC-SHA-256 where the
/// processor has no instructions for SHA.
pub type Mac = [u8; MAC_BYTES];

pub const MAC_BYTES: usize = 16;

/// How rows are signed. Those that were signed in another way are signed again.
pub const METHOD: &str = "blake3";

/// What the key is derived for.
const CONTEXT: &str = "tasuki 2026-11-18 rows of the database";

/// The key of all rows.
#[derive(Clone)]
pub struct RowKey([u8; 32]);

/// What the MAC of a snapshot covers. The columns beside the state follow from it.
#[derive(Debug, Clone, Copy)]
pub struct SnapshotRow<'a> {
    pub stream: &'a Stream,
    pub position: u64,
    pub head: &'a Hash,
    pub at: Time,
    pub state_text: &'a str,
}

/// What the MAC of a recorded outcome covers.
#[derive(Debug, Clone, Copy)]
pub struct OutcomeRow<'a> {
    pub teamspace: &'a str,
    pub caller: &'a str,
    pub key: &'a str,
    pub fingerprint: &'a Hash,
    pub outcome: &'a str,
}

impl fmt::Debug for RowKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RowKey")
    }
}

impl RowKey {
    pub fn from_seed(seed: &[u8; 32]) -> Self {
        Self(blake3::derive_key(CONTEXT, seed))
    }

    pub fn of_snapshot(&self, row: SnapshotRow<'_>) -> Mac {
        self.sign([
            b"snapshot",
            row.stream.teamspace.as_str().as_bytes(),
            row.stream.subject.text().as_bytes(),
            &row.position.to_be_bytes(),
            row.head,
            &row.at.as_millis().to_be_bytes(),
            row.state_text.as_bytes(),
        ])
    }

    pub fn of_outcome(&self, row: OutcomeRow<'_>) -> Mac {
        self.sign([
            b"outcome",
            row.teamspace.as_bytes(),
            row.caller.as_bytes(),
            row.key.as_bytes(),
            row.fingerprint,
            row.outcome.as_bytes(),
        ])
    }

    /// The lengths come first, so that no two rows give the same bytes.
    fn sign<const N: usize>(&self, parts: [&[u8]; N]) -> Mac {
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        let lengths = parts.map(|part| (part.len() as u64).to_be_bytes());
        hasher.update(lengths.as_flattened());
        for part in parts {
            hasher.update(part);
        }
        *hasher.finalize().as_bytes().first_chunk().expect("the half of 32 bytes")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::TeamspaceId;
    use crate::ledger::Subject;

    #[test]
    fn every_part_of_a_row_counts() {
        let key = RowKey::from_seed(&[7; 32]);
        let stream =
            Stream { teamspace: TeamspaceId::default_teamspace(), subject: Subject::Ledger };
        let other = Stream { subject: Subject::Teamspace, ..stream.clone() };
        let at = Time::from_millis(1_000);
        let row =
            SnapshotRow { stream: &stream, position: 3, head: &[1; 32], at, state_text: "{}" };
        let mac = key.of_snapshot(row);
        assert_eq!(mac, key.of_snapshot(row));
        let changed = [
            SnapshotRow { stream: &other, ..row },
            SnapshotRow { position: 4, ..row },
            SnapshotRow { head: &[2; 32], ..row },
            SnapshotRow { at: Time::from_millis(1_001), ..row },
            SnapshotRow { state_text: "{ }", ..row },
        ];
        for changed in changed {
            assert_ne!(mac, key.of_snapshot(changed), "{changed:?}");
        }
        assert_ne!(mac, RowKey::from_seed(&[8; 32]).of_snapshot(row));
        let row = OutcomeRow {
            teamspace: "default",
            caller: "agent:a",
            key: "k1",
            fingerprint: &[1; 32],
            outcome: "done",
        };
        let mac = key.of_outcome(row);
        let changed = [
            OutcomeRow { teamspace: "defaul", caller: "tagent:a", ..row },
            OutcomeRow { caller: "agent:", key: "ak1", ..row },
            OutcomeRow { key: "k2", ..row },
            OutcomeRow { fingerprint: &[2; 32], ..row },
            OutcomeRow { outcome: "gone", ..row },
        ];
        for changed in changed {
            assert_ne!(mac, key.of_outcome(changed), "{changed:?}");
        }
    }
}
