//! An agent as the directory has it.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::kind::Kind;
use super::presence::{Attendance, MISSED, Presence, Reach};
use super::profile::{AgentIdentity, HUMAN_CAPACITY, Profile};
use crate::caller::Role;
use crate::fixed::Fixed;
use crate::handoff::notice_kind::NoticeKind;
use crate::ids::AgentId;
use crate::queue;
use crate::stored::Deadline;
use crate::tools::history_form::HistoryForm;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agent {
    pub id: AgentId,
    pub kind: Kind,
    pub profile: Profile,
    /// It only has a token. It takes no conversations unless it has an endpoint or is connected.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub undeclared: bool,
    #[serde(default)]
    pub roles: BTreeSet<Role>,
    /// Called when the agent is sent something critical. Shown to operators only: it may hold a
    /// password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wake_url: Option<String>,
    /// Where turns of a conversation are delivered. Shown to operators only: it may hold a
    /// password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// The form of the history that goes along with each turn; none when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint_history: Option<HistoryForm>,
    /// The declared presence and the reachability of a human. Empty for other kinds.
    #[serde(default, skip_serializing_if = "is_default")]
    pub attendance: Attendance,
    /// How a queue works, if that was configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<Fixed<queue::Settings>>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub notices: Box<NoticeSettings>,
}

/// Which notices an agent has read, and which it does not want.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoticeSettings {
    /// A cursor of the events. Empty if it has read none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub read_until: String,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub muted: BTreeSet<NoticeKind>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Agent {
    /// An agent with nothing but its profile.
    pub fn new(id: AgentId, kind: Kind, profile: Profile) -> Self {
        Self {
            id,
            kind,
            profile,
            undeclared: false,
            roles: BTreeSet::new(),
            wake_url: None,
            endpoint: None,
            endpoint_history: None,
            attendance: Attendance::default(),
            queue: None,
            notices: Box::default(),
        }
    }

    /// How many conversations it may hold at once; `None` for any number.
    pub fn capacity(&self) -> Option<u16> {
        match self.kind {
            Kind::System => Some(0),
            Kind::Human => Some(self.profile.capacity.unwrap_or(HUMAN_CAPACITY)),
            Kind::Worker | Kind::Queue => self.profile.capacity,
        }
    }

    /// An agent without a name is called by its id.
    pub fn identity(&self) -> AgentIdentity {
        let Profile { name, icon, color, .. } = &self.profile;
        let agent_name = if name.is_empty() { self.id.as_str() } else { name };
        AgentIdentity {
            agent_id: self.id.clone(),
            agent_name: agent_name.to_owned(),
            agent_icon: icon.clone(),
            agent_color: color.clone(),
        }
    }

    /// How a queue works: its own settings, or the defaults.
    pub fn queue_settings(&self) -> queue::Settings {
        self.queue.as_deref().cloned().unwrap_or_default()
    }

    pub(super) fn attending(self, change: impl FnOnce(Attendance) -> Attendance) -> Self {
        Self { attendance: change(self.attendance), ..self }
    }
}

impl Agent {
    /// The effective presence. Workers and queues are always available, system agents always
    /// offline; only that of a human changes.
    pub fn presence(&self) -> Presence {
        match (self.kind, self.attendance.reach) {
            (Kind::Worker | Kind::Queue, _) => Presence::Available,
            (Kind::System, _) | (Kind::Human, Reach::Gone) => Presence::Offline,
            (Kind::Human, Reach::Connected | Reach::Lost { .. } | Reach::Said { .. }) => {
                self.attendance.said
            }
        }
    }

    /// Whether conversations can be given to it: to a worker that was declared as one, that has an
    /// endpoint, or that is connected.
    pub fn is_target(&self) -> bool {
        let is_reached = self.endpoint.is_some() || self.attendance.reach == Reach::Connected;
        self.kind == Kind::Worker && (!self.undeclared || is_reached)
    }

    /// Whether it takes conversations now. A free slot is a separate question.
    pub fn is_available(&self) -> bool {
        self.presence() == Presence::Available
    }

    pub fn deadlines(&self) -> Vec<Deadline> {
        match self.attendance.reach {
            Reach::Lost { until } | Reach::Said { until } => {
                vec![Deadline { name: MISSED.into(), due: until }]
            }
            Reach::Gone | Reach::Connected => Vec::new(),
        }
    }
}
