//! The state machine: the status of a transfer, the actions, and the status after each. Every view
//! of a transfer, for its customer or for the person who answers, follows this one table.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// No person was asked for.
    Idle,
    /// Asked for. The bot may not speak from here on.
    Requested,
    /// Waits for a person.
    Queued,
    /// A person was offered it, or has picked it, and has not accepted yet.
    Ringing,
    Connected,
    OnHold,
    /// Over, and the matter is settled.
    Completed,
    /// Over, and the matter is not settled; the conversation is closed too.
    Ended,
    /// No person could take it.
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
    /// The ringing was not answered.
    Miss,
    Hold,
    Resume,
    /// The person asks another one in; the customer stays with the first until the other accepts.
    Transfer,
    /// The person passes it on blindly, and leaves.
    TransferBlind,
    /// The person who was asked in accepts, and the first leaves.
    Join,
    /// The person has lost the connection for good.
    LoseAgent,
    Complete,
    End,
    Fail,
    Cancel,
}

/// The status after an action; `None` if the action is impossible.
pub fn next(from: Status, action: Action) -> Option<Status> {
    use Action::*;
    use Status::*;
    let to = match (from, action) {
        // After the end there can be another transfer, unless the conversation ended too.
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

/// The only status before an action that led here; `None` if several are possible.
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

    /// Whether it is final.
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
