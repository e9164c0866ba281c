//! The position of an event among all events. Callers of a server get it sealed.

use std::fmt;

/// The sequence number of the ledger's entry, and the index in it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cursor {
    pub sequence: u64,
    pub index: u32,
}

impl Cursor {
    /// The position of an event in an entry.
    pub fn at(sequence: u64, index: usize) -> Self {
        Self { sequence, index: u32::try_from(index).expect("an entry has few events") }
    }

    /// The position of an entry as a whole.
    pub fn of_entry(sequence: u64) -> Self {
        Self { sequence, index: 0 }
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.sequence, self.index)
    }
}
