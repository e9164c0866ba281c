//! Where an event stands among all of them.

use std::fmt;

/// The sequence number of the ledger's entry, and the index in it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cursor {
    pub sequence: u64,
    pub index: u32,
}

impl Cursor {
    /// Of an event of an entry, by its number there.
    pub fn at(sequence: u64, index: usize) -> Self {
        Self { sequence, index: u32::try_from(index).expect("an entry has few events") }
    }

    /// `812.3`, in its one spelling.
    pub fn parse(text: &str) -> Option<Self> {
        let (sequence, index) = text.split_once('.')?;
        let cursor = Self { sequence: sequence.parse().ok()?, index: index.parse().ok()? };
        (cursor.to_string() == text).then_some(cursor)
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.sequence, self.index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_has_one_spelling() {
        assert_eq!(Cursor::parse("812.3"), Some(Cursor { sequence: 812, index: 3 }));
        for text in ["", "812", "812.", ".3", "0812.3", "812.03", "812.3.1", "812.-1", "+1.1"] {
            assert_eq!(Cursor::parse(text), None, "{text}");
        }
    }
}
