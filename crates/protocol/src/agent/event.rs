//! What happens to an agent of the directory.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::kind::Kind;
use super::presence::Presence;
use super::profile::Profile;
use crate::caller::Role;
use crate::handoff::notice_kind::NoticeKind;
use crate::ids::AgentId;
use crate::queue;
use crate::time::Time;
use crate::tools::history_form::HistoryForm;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    Registered(Registered),
    RolesChanged(RolesChanged),
    WakeChanged(WakeChanged),
    EndpointChanged(EndpointChanged),
    QueueChanged(Box<queue::Settings>),
    PresenceChanged(PresenceChanged),
    NoticesRead(NoticesRead),
    NoticesMuted(NoticesMuted),
    Connected(Connected),
    ConnectionLost(ConnectionLost),
    Lost(Lost),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Registered {
    pub kind: Kind,
    pub profile: Profile,
    /// It only has a token, and no one has said that it takes conversations.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub undeclared: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RolesChanged {
    pub roles: BTreeSet<Role>,
    /// Its roles until then. The first releases did not record them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<BTreeSet<Role>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WakeChanged {
    pub url: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndpointChanged {
    pub url: Option<String>,
    /// The form of the history that goes along with each turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history: Option<HistoryForm>,
}

impl Event {
    pub fn name(&self) -> &'static str {
        match self {
            Event::Registered(_) => "agent.registered",
            Event::RolesChanged(_) => "agent.roles_changed",
            Event::WakeChanged(_) => "agent.wake_changed",
            Event::EndpointChanged(_) => "agent.endpoint_changed",
            Event::QueueChanged(_) => "agent.queue_changed",
            Event::PresenceChanged(_) => "agent.presence_changed",
            Event::NoticesRead(_) => "agent.notices_read",
            Event::NoticesMuted(_) => "agent.notices_muted",
            Event::Connected(_) => "agent.connected",
            Event::ConnectionLost(_) => "agent.connection_lost",
            Event::Lost(_) => "agent.lost",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PresenceChanged {
    pub presence: Presence,
    /// The agent who set it, if another one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<AgentId>,
    /// How long it counts without a connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Time>,
}

/// It has read its notices up to a cursor of the events.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoticesRead {
    pub until: String,
}

/// The kinds of notices that it is not told from now on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoticesMuted {
    pub kinds: BTreeSet<NoticeKind>,
}

/// The first connection of possibly several.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connected {}

/// The last connection ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionLost {
    /// The end of the grace period; absent if the human had declared itself offline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Time>,
}

/// It did not reconnect in time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lost {}
