//! Forks that the ledger itself declares. A checkpoint of the lost part cannot hold any more, and
//! is no evidence against the rest.

use crate::canonical::{self, Hash};
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
    pub lost: LostRange,
    pub reason: String,
}

/// Which entries a fork goes on without.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LostRange {
    /// If new entries had already replaced lost ones, from the first that may be lost.
    Entries { first: u64, last: u64 },
    /// All entries before the fork are there. Without a checkpoint outside the database, it cannot
    /// be told whether there were more.
    Unknown,
}

/// The declared forks so far.
#[derive(Debug, Default)]
pub struct Forks {
    declared: Vec<Fork>,
}

impl Forks {
    /// `root` is that of the entries before it.
    pub fn note(&mut self, seq: u64, entry: &Entry, forked: &Forked, root: &Hash) {
        if entry.stream.subject != Subject::Ledger {
            return;
        }
        let is_whole = forked.lost_size + 1 == seq && forked.lost_root == canonical::hex(root);
        let lost = match is_whole {
            true => LostRange::Unknown,
            false => LostRange::Entries { first: seq, last: forked.lost_size },
        };
        let (actor, reason) = (entry.actor.to_string(), forked.reason.clone());
        self.declared.push(Fork { seq, actor, at: entry.at, lost, reason });
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
        let mut accounted_for = 0;
        for fork in &mut forks {
            let LostRange::Entries { first, last } = &mut fork.lost else { continue };
            let before = sizes.iter().copied().filter(|size| *size < *last);
            let is_replaced = fork.seq > *last;
            if is_replaced {
                *first = before.max().unwrap_or_default() + 1;
            }
            accounted_for = accounted_for.max(*last);
        }
        checkpoints.retain(|one| holds(one) || one.size > accounted_for);
        forks
    }
}
