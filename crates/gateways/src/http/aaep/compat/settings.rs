//! Who answers on this layout, and who may come without a token.

use protocol::caller::Caller;
use protocol::ids::{AgentId, SessionId, TeamspaceId};
use tokio::sync::mpsc;

#[derive(Debug, Default)]
pub struct Settings {
    /// The agent that any program on this machine may talk to without a token.
    pub open: Option<Open>,
    /// The agent that runs within this process and handles user input.
    pub player: Option<Player>,
}

#[derive(Debug)]
pub struct Open {
    pub agent: AgentId,
    /// The caller that requests without a token count as.
    pub caller: Caller,
}

#[derive(Debug)]
pub struct Player {
    pub teamspace: TeamspaceId,
    pub agent: AgentId,
    pub words: mpsc::Sender<Words>,
}

/// The input of a user, and the session in which it is handled.
#[derive(Debug)]
pub struct Words {
    pub session: SessionId,
    pub text: String,
}
