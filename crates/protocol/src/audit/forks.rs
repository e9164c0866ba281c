//! Forks that the ledger itself declares. A checkpoint of the lost part cannot hold any more, and
//! is no evidence against the rest.

use crate::checkpoint::Checkpoint;
use crate::fork::Forked;
use crate::ledger::{Entry, Subject};
use crate::time::Time;

/// A recorded loss.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fork {
    /// The sequence number of the entry that declares it.
    pub seq: u64,
    pub actor: String,
    pub at: Time,
    /// The first lost entry. If new entries had already replaced lost ones, the first that may be
    /// lost.
    pub first_lost: u64,
    pub last_lost: u64,
    pub reason: String,
}

/// The declared forks so far.
#[derive(Debug, Default)]
pub struct Forks {
    declared: Vec<Fork>,
}

impl Forks {
    pub fn note(&mut self, seq: u64, entry: &Entry, forked: &Forked) {
        if entry.stream.subject != Subject::Ledger {
            return;
        }
        self.declared.push(Fork {
            seq,
            actor: entry.actor.to_string(),
            at: entry.at,
            first_lost: seq,
            last_lost: forked.lost_size,
            reason: forked.reason.clone(),
        });
    }

    /// Removes the checkpoints that a declared fork accounts for, and returns the forks that count.
    /// A fork counts once a checkpoint that holds covers it: then the holder of the key has
    /// confirmed it, and everything before it is vouched for again.
    pub fn account_for(
        self,
        checkpoints: &mut Vec<&Checkpoint>,
        holds: impl Fn(&Checkpoint) -> bool,
    ) -> Vec<Fork> {
        let sizes: Vec<u64> =
            checkpoints.iter().filter(|one| holds(one)).map(|one| one.size).collect();
        let sealed = sizes.iter().copied().max().unwrap_or_default();
        let mut forks = self.declared;
        forks.retain(|fork| fork.seq <= sealed);
        for fork in &mut forks {
            let before = sizes.iter().copied().filter(|size| *size < fork.last_lost);
            let is_replaced = fork.seq > fork.last_lost;
            if is_replaced {
                fork.first_lost = before.max().unwrap_or_default() + 1;
            }
        }
        let accounted_for = forks.iter().map(|fork| fork.last_lost).max().unwrap_or_default();
        checkpoints.retain(|one| holds(one) || one.size > accounted_for);
        forks
    }
}
