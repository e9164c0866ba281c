//! The machine: where a transfer stands, what can happen to it, and where it stands then. Whoever
//! shows a transfer, to its customer or to a person who answers, follows this one table.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Nobody has asked for a person.
    Idle,
    /// Asked for. The bot is silent from here on.
    Requested,
    /// Waits for a person.
    Queued,
    /// A person was offered it, or has picked it, and has not said yes yet.
    Ringing,
    Connected,
    OnHold,
    /// Over, and what it was about is settled.
    Completed,
    /// Over without that; so is the conversation.
    Ended,
    /// Nobody could take it.
    Failed,
    /// It is not wanted any more.
    Cancelled,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    Request,
    /// It enters a queue, or goes on to another one.
    Queue,
    Pickup,
    Accept,
    Decline,
    /// Nobody answered the ringing.
    Miss,
    Hold,
    Resume,
    /// The person asks another one in; the customer stays with the first until that one comes.
    Transfer,
    /// The person passes it on unseen, and leaves.
    TransferBlind,
    /// The one who was asked in comes, and the first leaves.
    Join,
    /// The person has lost the connection for good.
    LoseAgent,
    Complete,
    End,
    Fail,
    Cancel,
}

/// Where it stands after that; `None` if that cannot happen there.
pub fn next(from: Status, action: Action) -> Option<Status> {
    use Action::*;
    use Status::*;
    let to = match (from, action) {
        // After the end it is another transfer, unless the conversation ended too.
        (Idle | Completed | Failed | Cancelled, Request) => Requested,
        (Requested | Queued, Queue) => Queued,
        (Queued, Pickup) => Ringing,
        (Ringing, Accept) => Connected,
        (Ringing, Decline | Miss | LoseAgent) => Queued,
        (Connected, Hold) => OnHold,
        (OnHold, Resume) => Connected,
        (Connected | OnHold, Transfer) => from,
        (Connected | OnHold, TransferBlind | LoseAgent) => Queued,
        (Connected | OnHold, Join) => Connected,
        (Connected | OnHold, Complete) => Completed,
        (Connected | OnHold, End) => Ended,
        (Requested | Queued | Ringing | Connected | OnHold, Fail) => Failed,
        (Requested | Queued | Ringing | Connected | OnHold, Cancel) => Cancelled,
        (
            Idle | Requested | Queued | Ringing | Connected | OnHold | Completed | Ended | Failed
            | Cancelled,
            _,
        ) => return None,
    };
    Some(to)
}

/// Where it must have stood before that, if it can only be one place.
pub fn before(action: Action, to: Status) -> Option<Status> {
    let mut known = Status::ALL.into_iter().filter(|from| next(*from, action) == Some(to));
    known.next().filter(|_| known.next().is_none())
}

impl Status {
    pub const ALL: [Status; 10] = [
        Status::Idle,
        Status::Requested,
        Status::Queued,
        Status::Ringing,
        Status::Connected,
        Status::OnHold,
        Status::Completed,
        Status::Ended,
        Status::Failed,
        Status::Cancelled,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Status::Idle => "idle",
            Status::Requested => "requested",
            Status::Queued => "queued",
            Status::Ringing => "ringing",
            Status::Connected => "connected",
            Status::OnHold => "on_hold",
            Status::Completed => "completed",
            Status::Ended => "ended",
            Status::Failed => "failed",
            Status::Cancelled => "cancelled",
        }
    }

    /// Nothing happens to it any more.
    pub fn is_over(self) -> bool {
        match self {
            Status::Completed | Status::Ended | Status::Failed | Status::Cancelled => true,
            Status::Idle
            | Status::Requested
            | Status::Queued
            | Status::Ringing
            | Status::Connected
            | Status::OnHold => false,
        }
    }
}

impl Action {
    pub const ALL: [Action; 16] = [
        Action::Request,
        Action::Queue,
        Action::Pickup,
        Action::Accept,
        Action::Decline,
        Action::Miss,
        Action::Hold,
        Action::Resume,
        Action::Transfer,
        Action::TransferBlind,
        Action::Join,
        Action::LoseAgent,
        Action::Complete,
        Action::End,
        Action::Fail,
        Action::Cancel,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Action::Request => "request",
            Action::Queue => "queue",
            Action::Pickup => "pickup",
            Action::Accept => "accept",
            Action::Decline => "decline",
            Action::Miss => "miss",
            Action::Hold => "hold",
            Action::Resume => "resume",
            Action::Transfer => "transfer",
            Action::TransferBlind => "transfer_blind",
            Action::Join => "join",
            Action::LoseAgent => "lose_agent",
            Action::Complete => "complete",
            Action::End => "end",
            Action::Fail => "fail",
            Action::Cancel => "cancel",
        }
    }
}
