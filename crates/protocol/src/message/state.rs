//! The state of a message: what was sent, which never changes, and the status of each recipient.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::event::Sent;
use crate::caller::{Caller, Principal};
use crate::fixed::Fixed;
use crate::ids::{AgentId, MessageId};
use crate::stored::{Deadline, Effect};
use crate::time::Time;

/// The common mailbox of all agents with that role.
pub const COORDINATORS: &str = "coordinator";

/// The sender of the server's own notices.
pub const SERVER: &str = "system";

/// The name of the only deadline a message has.
pub const EXPIRES: &str = "expires";

/// The prefix of an effect's name, before the agent to wake.
pub const WAKE: &str = "wake/";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    pub id: MessageId,
    pub sent: Fixed<Sent>,
    pub created_at: Time,
    pub updated_at: Time,
    /// At most as many as a broadcast may have.
    pub recipients: BTreeMap<AgentId, Delivery>,
    /// The recipients whose wake call succeeded.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub woken: BTreeSet<AgentId>,
    /// Its retention is over: its content was erased, and no caller sees it any more. It is
    /// remembered so that its id cannot be used again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub purged: bool,
}

/// The status of a message for one recipient.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// Changes when the recipient looks into its inbox, or when it expires.
    Pending,
    /// It was shown in the inbox. Changes when the recipient marks it as read.
    Delivered,
    /// Final.
    Read,
    /// Final: it was not read in time.
    Expired,
    /// It is critical, and all wake calls failed. It is still in the inbox, and changes when the
    /// recipient marks it as read.
    Failed,
}

impl Message {
    /// The status of the message as a whole: that of the recipient that is least far.
    pub fn status(&self) -> Delivery {
        let is_somewhere = |status: &Delivery| self.recipients.values().any(|one| one == status);
        Delivery::ALL.into_iter().find(is_somewhere).unwrap_or(Delivery::Failed)
    }

    /// The recipients for whom it can still expire.
    pub fn waiting(&self) -> Vec<AgentId> {
        let waiting = self.recipients.iter().filter(|(_, it)| !self.purged && it.is_open());
        waiting.map(|(recipient, _)| recipient.clone()).collect()
    }

    pub fn deadlines(&self) -> Vec<Deadline> {
        match self.sent.expires_at {
            Some(due) if !self.waiting().is_empty() => {
                vec![Deadline { name: EXPIRES.into(), due }]
            }
            Some(_) | None => Vec::new(),
        }
    }

    /// The recipients still to be woken: those that are not known to have seen it.
    pub fn to_wake(&self) -> impl Iterator<Item = &AgentId> {
        let is_pending = |name: &AgentId| self.recipients.get(name) == Some(&Delivery::Pending);
        let wake = self.sent.wake.iter().filter(|_| !self.purged);
        wake.filter(move |name| is_pending(name) && !self.woken.contains(*name))
    }

    pub fn effects(&self) -> Vec<Effect> {
        self.to_wake().map(|name| Effect { name: format!("{WAKE}{name}").into() }).collect()
    }

    /// The caller's own status: that of its mailbox that is least far.
    pub fn status_for(&self, caller: &Caller) -> Option<Delivery> {
        mailboxes(caller).iter().filter_map(|name| self.recipients.get(name)).min().copied()
    }

    /// The sender, the recipients, coordinators and operators see a message.
    pub fn is_visible_to(&self, caller: &Caller) -> bool {
        !self.purged && concerns(caller, &self.sent.from, self.recipients.keys())
    }
}

/// Whether a caller may read messages between these agents.
pub fn concerns<'a>(
    caller: &Caller,
    from: &AgentId,
    mut to: impl Iterator<Item = &'a AgentId>,
) -> bool {
    let mailboxes = mailboxes(caller);
    caller.is_coordinator() || mailboxes.contains(from) || to.any(|name| mailboxes.contains(name))
}

/// The names under which a caller receives messages. A reserved name is never an agent's own.
pub fn mailboxes(caller: &Caller) -> Vec<AgentId> {
    let own = match &caller.principal {
        Principal::Agent(id) if !is_reserved(id) => Some(id.clone()),
        Principal::Agent(_)
        | Principal::Operator(_)
        | Principal::Customer(_)
        | Principal::System => None,
    };
    own.into_iter().chain(caller.is_coordinator().then(coordinators)).collect()
}

pub fn is_reserved(name: &AgentId) -> bool {
    [COORDINATORS, SERVER].contains(&name.as_str())
}

pub fn coordinators() -> AgentId {
    COORDINATORS.parse().expect("it is a name")
}

pub fn server() -> AgentId {
    SERVER.parse().expect("it is a name")
}

impl Delivery {
    /// In the order in which a message passes them; the final ones last.
    pub const ALL: [Delivery; 5] = [
        Delivery::Pending,
        Delivery::Delivered,
        Delivery::Read,
        Delivery::Expired,
        Delivery::Failed,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Delivery::Pending => "pending",
            Delivery::Delivered => "delivered",
            Delivery::Read => "read",
            Delivery::Expired => "expired",
            Delivery::Failed => "failed",
        }
    }

    /// Whether it is in the inbox by default.
    pub fn is_in_inbox(self) -> bool {
        match self {
            Delivery::Pending | Delivery::Delivered | Delivery::Failed => true,
            Delivery::Read | Delivery::Expired => false,
        }
    }

    /// Whether it can still expire.
    pub fn is_open(self) -> bool {
        match self {
            Delivery::Pending | Delivery::Delivered => true,
            Delivery::Read | Delivery::Expired | Delivery::Failed => false,
        }
    }
}

impl fmt::Display for Delivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Delivery {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        Delivery::ALL
            .into_iter()
            .find(|status| status.as_str() == text)
            .ok_or_else(|| "expected pending, delivered, read, expired or failed".to_owned())
    }
}
