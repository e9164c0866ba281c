//! The commands of an agent of the directory, and the facts that they need.

use std::collections::BTreeSet;

use super::kind::Kind;
use super::presence::Presence;
use super::profile::Profile;
use crate::caller::Role;
use crate::handoff::notice_kind::NoticeKind;
use crate::needs::{Directory, Needs};
use crate::queue;
use crate::time::Time;
use crate::tools::history_form::HistoryForm;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Adds an agent, or changes what a known one shows.
    Register { kind: Kind, profile: Profile },
    /// Adds a worker that gets a token. That alone does not make it a target for conversations.
    Introduce,
    /// Sets the roles of a member, in place of its old ones.
    SetRoles { roles: BTreeSet<Role> },
    /// Sets or removes the URL that is called when the agent is sent something critical.
    SetWake { url: Option<String> },
    /// Sets or removes the URL that turns are delivered to, and the form of the history that goes
    /// along with each of them.
    SetEndpoint { url: Option<String>, history: Option<HistoryForm> },
    /// Sets how a queue works.
    SetQueue { settings: Box<queue::Settings> },
    /// Sets the presence that a human declares.
    SetPresence { presence: Presence },
    /// The agent has read its notices up to the cursor `until`, which lies behind `after`. It
    /// changes nothing unless `after` is what the agent has read so far, so that two calls at once
    /// cannot move the cursor back.
    ReadNotices { until: String, after: String },
    /// Sets the kinds of notices that the agent is not told, in place of the old ones.
    MuteNotices { kinds: BTreeSet<NoticeKind> },
    /// The server has a connection to it, and had none before.
    Connect,
    /// The server has lost its last connection to it.
    LoseConnection,
    /// The time to reconnect is over.
    Elapse { due: Time },
}

impl Command {
    /// The facts it needs besides the agent: the kinds of the queues that a queue forwards to.
    pub fn needs(&self) -> Needs {
        let directory = match self {
            Command::SetQueue { settings } => {
                let named = settings.patience.named().into_iter().map(|named| named.agent);
                Some(Directory::Named(named.collect()))
            }
            Command::Register { .. }
            | Command::Introduce
            | Command::SetRoles { .. }
            | Command::SetWake { .. }
            | Command::SetEndpoint { .. }
            | Command::SetPresence { .. }
            | Command::ReadNotices { .. }
            | Command::MuteNotices { .. }
            | Command::Connect
            | Command::LoseConnection
            | Command::Elapse { .. } => None,
        };
        Needs { directory, ..Needs::default() }
    }

    pub fn name(&self) -> &'static str {
        match self {
            Command::Register { .. } => "register",
            Command::Introduce => "introduce",
            Command::SetRoles { .. } => "set_roles",
            Command::SetWake { .. } => "set_wake",
            Command::SetEndpoint { .. } => "set_endpoint",
            Command::SetQueue { .. } => "set_queue",
            Command::SetPresence { .. } => "set_presence",
            Command::ReadNotices { .. } => "read_notices",
            Command::MuteNotices { .. } => "mute_notices",
            Command::Connect => "connect",
            Command::LoseConnection => "lose_connection",
            Command::Elapse { .. } => "miss",
        }
    }
}
