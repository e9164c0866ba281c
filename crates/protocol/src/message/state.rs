//! A message as it stands: what was sent, which never changes, and how far each recipient is.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::event::Sent;
use crate::caller::{Caller, Principal};
use crate::fixed::Fixed;
use crate::ids::{AgentId, MessageId};
use crate::step::{Deadline, Effect};
use crate::time::Time;

/// The recipient that stands for everyone with the role: their common mailbox.
pub const COORDINATORS: &str = "coordinator";

/// The sender of the server's own notices.
pub const SERVER: &str = "system";

/// The name of the only deadline a message has.
pub const EXPIRES: &str = "expires";

/// Before the name of whom to call, in the name of an effect.
pub const WAKE: &str = "wake/";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    pub id: MessageId,
    pub sent: Fixed<Sent>,
    pub created_at: Time,
    pub updated_at: Time,
    /// At most as many as a broadcast may have.
    pub recipients: BTreeMap<AgentId, Delivery>,
    /// Those who were called and took the call.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub woken: BTreeSet<AgentId>,
    /// It was kept long enough: nobody sees it any more, and what it said was erased. It is
    /// remembered so that nothing can be sent under its id again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub purged: bool,
}

/// How far a message is with one recipient.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// The recipient moves it by looking into its inbox, the server when it expires.
    Pending,
    /// It was shown in the inbox. The recipient moves it by saying that it was read.
    Delivered,
    /// An end.
    Read,
    /// An end: it was not read in time.
    Expired,
    /// It is critical, and its recipient was called in vain. It still lies in the inbox, and the
    /// recipient moves it by saying that it was read.
    Failed,
}

impl Message {
    /// The message as a whole: as far as the recipient that is least far.
    pub fn status(&self) -> Delivery {
        let is_somewhere = |status: &Delivery| self.recipients.values().any(|one| one == status);
        Delivery::ALL.into_iter().find(is_somewhere).unwrap_or(Delivery::Failed)
    }

    /// Those for whom it can still expire.
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

    /// Those who are to be called: told to be woken, and not known to have seen it.
    pub fn to_wake(&self) -> impl Iterator<Item = &AgentId> {
        let is_pending = |name: &AgentId| self.recipients.get(name) == Some(&Delivery::Pending);
        let wake = self.sent.wake.iter().filter(|_| !self.purged);
        wake.filter(move |name| is_pending(name) && !self.woken.contains(*name))
    }

    pub fn effects(&self) -> Vec<Effect> {
        self.to_wake().map(|name| Effect { name: format!("{WAKE}{name}").into() }).collect()
    }

    /// The caller's own part in it: of all its mailboxes, the one that is least far.
    pub fn status_for(&self, caller: &Caller) -> Option<Delivery> {
        mailboxes(caller).iter().filter_map(|name| self.recipients.get(name)).min().copied()
    }

    /// Sender and recipients see a message, and so does whoever answers for the teamspace.
    pub fn is_visible_to(&self, caller: &Caller) -> bool {
        !self.purged && concerns(caller, &self.sent.from, self.recipients.keys())
    }
}

/// Whether a caller may know what passes between these.
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
    /// In the order in which a message passes them; the ends last.
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

    /// Shown in an inbox unless asked for something else.
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
