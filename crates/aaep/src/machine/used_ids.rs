//! The ids that a session has used.

/// An id that may occur once in a session.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Used {
    Event(String),
    Call(String),
    /// An output that is complete.
    Output(String),
    Token(String),
}
