//! Why the ledger may be incomplete: the checkpoint that it does not match.

use protocol::fork::Lost;

/// The size of the ledger, and the checkpoint that it does not match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub struct Behind {
    pub ledger_size: u64,
    /// The ledger is shorter than this, or has another root at this size. Without a witness, all
    /// that there is.
    pub lost: Lost,
    pub doubt: Doubt,
}

/// Why the ledger may not be complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doubt {
    /// A checkpoint vouches for entries that are missing or differ.
    Lost,
    /// The checkpoints outside the database, which must be there, are missing or not of our key.
    NoWitness,
    /// A witness does not answer, so it is not known whether it vouches for more.
    Unreached,
    /// Entries after the last checkpoint were not written by this server.
    Foreign,
}

impl std::fmt::Display for Behind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (size, lost) = (self.ledger_size, self.lost.size);
        match self.doubt {
            Doubt::Lost => {
                write!(f, "the ledger has {size} entries and is behind a checkpoint of {lost}")
            }
            Doubt::Foreign => write!(
                f,
                "the ledger has {size} entries, and some of those after its last checkpoint were \
                 not written by this server"
            ),
            Doubt::NoWitness => write!(
                f,
                "the ledger has {size} entries, and checkpoints outside the database that would \
                 show whether they are all are missing or not signed with its key"
            ),
            Doubt::Unreached => write!(
                f,
                "the ledger has {size} entries, and its witness does not answer whether they are \
                 all"
            ),
        }
    }
}
