//! What the name of an entry tells without reading its event: the event may be erased, and most
//! readers of the ledger want few of its entries.

/// Whether an entry is about a transfer.
pub fn is_of_transfer(name: &str) -> bool {
    name.starts_with("transfer.")
}

/// Whether an entry is about a callback.
pub fn is_of_callback(name: &str) -> bool {
    name.starts_with("callback.")
}

/// Whether an entry may be news to the people of a queue.
pub fn concerns_queue(name: &str) -> bool {
    is_of_transfer(name) || is_of_callback(name) || name == "conversation.reply_overdue"
}

/// Whether the participants of a conversation may have changed.
pub fn changes_sides(name: &str) -> bool {
    is_of_transfer(name) || name == "conversation.routed"
}

/// Whether the places of those who wait in a queue may have changed.
pub fn changes_places(name: &str) -> bool {
    let waits_again = ["transfer.returned", "transfer.passed_on"].contains(&name);
    waits_again || ["transfer.ringing", "transfer.queued", "transfer.over"].contains(&name)
}

/// Whether an entry settles a question: one of a session, or one that an agent asked a human.
pub fn settles_question(name: &str) -> bool {
    let of_agents =
        ["question.answered", "question.defaulted", "question.unanswered", "question.withdrawn"];
    settles_session(name) || of_agents.contains(&name)
}

/// Whether an entry of a session has something for listeners: events, or that a question is
/// settled.
pub fn is_for_listeners(name: &str) -> bool {
    name == "session.announced" || settles_session(name)
}

fn settles_session(name: &str) -> bool {
    ["session.answered", "session.timed_out", "session.withdrawn"].contains(&name)
}

#[cfg(test)]
mod tests;
