//! Why an answer does not count.

/// Why an answer does not count: for the log, never for its sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unanswered {
    NoSession,
    /// A worker, a system agent, the producer itself, or the customer of another conversation.
    NotEntitled,
    /// Never asked, or already settled.
    UnknownToken,
    TooLate,
    /// Another agent answers in its conversation, or it is closed.
    Withdrawn,
    /// A decision for a clarification, a response to a confirmation, or a response of the wrong
    /// kind.
    WrongKind,
    /// Not one of the replies that the question allows.
    NotAllowed,
}
