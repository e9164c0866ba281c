//! Whether a human is there. The declared presence and the reachability are two things. The
//! declared presence stays until the human changes it. The reachability ends with the last
//! connection, or after a long silence. A human is available only if both say so.

use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Agent, Event, Kind};
use crate::caller::{Caller, Principal};
use crate::ids::AgentId;
use crate::rejection::Rejection;
use crate::step::{Context, Deadline};
use crate::time::{Span, Time};

/// The grace period after a lost connection. A reloaded page or a train in a tunnel is back by
/// then, and a customer has not given up yet.
pub const RECONNECT_GRACE: Span = Span::from_millis(30_000);

/// How long the declared presence of a human without a connection counts. Declaring it again renews
/// it.
pub const WORD_KEPT: Span = Span::from_minutes(15);

/// A repeated declaration is recorded only after half of that time, so that a program that repeats
/// it every few seconds does not fill the ledger.
const WORD_RENEWED_AT: Span = Span::from_millis(7 * 60_000 + 30_000);

/// The name of the one deadline of an agent.
pub const MISSED: &str = "missed";

/// The presence that an agent declares, or the effective one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Presence {
    /// Takes conversations.
    Available,
    /// There, but takes no more conversations.
    Busy,
    /// Back soon.
    Away,
    #[default]
    Offline,
}

/// The declared presence and the reachability of a human.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attendance {
    /// The declared presence.
    pub said: Presence,
    /// The agent who set it, if another one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<AgentId>,
    pub reach: Reach,
}

/// Whether a human can be reached.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// Not reachable. Ends when it connects or declares a presence.
    #[default]
    Gone,
    /// It has a connection. Ends with the last one.
    Connected,
    /// Its last connection ended. It counts as gone at that time, unless it reconnects before.
    Lost { until: Time },
    /// It has no connection, but declared a presence. It counts as gone at that time, unless it
    /// declares it again.
    Said { until: Time },
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

/// A human, or a caller who may act for it, sets its presence.
pub(super) fn set(
    state: Option<&Agent>,
    presence: Presence,
    context: Context<'_>,
) -> Result<Vec<Event>, Rejection> {
    let agent = state.ok_or(Rejection::NotFound { what: "agent" })?;
    let is_itself = context.caller.agent() == Some(&agent.id);
    if !is_itself && !context.caller.is_coordinator() {
        let who = "the human itself, a coordinator or an operator";
        return Err(Rejection::NotAllowed { action: "say where a human is", who });
    }
    if agent.kind != Kind::Human {
        let expected = format!("a human; a {} has no presence", agent.kind.as_str());
        return Err(Rejection::SchemaInvalid { field: "agent".to_owned(), expected });
    }
    let is_same = agent.attendance.said == presence;
    let is_kept = match agent.attendance.reach {
        _ if presence == Presence::Offline => true,
        Reach::Connected => true,
        Reach::Said { until } => until.since(context.now) > WORD_RENEWED_AT,
        Reach::Gone | Reach::Lost { .. } => false,
    };
    if is_same && is_kept {
        return Ok(Vec::new());
    }
    let until = match agent.attendance.reach {
        _ if presence == Presence::Offline => None,
        Reach::Connected => None,
        Reach::Gone | Reach::Lost { .. } | Reach::Said { .. } => Some(context.now.plus(WORD_KEPT)),
    };
    let by = if is_itself { None } else { name_of(&context.caller.principal) };
    Ok(vec![Event::PresenceChanged(PresenceChanged { presence, by, until })])
}

/// Only humans have a grace period; the reachability of others does not depend on connections.
pub(super) fn connected(state: Option<&Agent>, caller: &Caller) -> Result<Vec<Event>, Rejection> {
    by_the_server(caller, "say that an agent is connected")?;
    let agent = state.ok_or(Rejection::NotFound { what: "agent" })?;
    match (agent.kind, agent.attendance.reach) {
        (Kind::Human, Reach::Gone | Reach::Lost { .. } | Reach::Said { .. }) => {
            Ok(vec![Event::Connected(Connected {})])
        }
        (Kind::Human, Reach::Connected) | (Kind::Worker | Kind::System | Kind::Queue, _) => {
            Ok(Vec::new())
        }
    }
}

pub(super) fn connection_lost(
    state: Option<&Agent>,
    context: Context<'_>,
) -> Result<Vec<Event>, Rejection> {
    by_the_server(context.caller, "say that a connection is lost")?;
    let agent = state.ok_or(Rejection::NotFound { what: "agent" })?;
    match agent.attendance.reach {
        Reach::Connected => {
            let until = match agent.attendance.said {
                Presence::Available | Presence::Busy | Presence::Away => {
                    Some(context.now.plus(RECONNECT_GRACE))
                }
                Presence::Offline => None,
            };
            Ok(vec![Event::ConnectionLost(ConnectionLost { until })])
        }
        Reach::Gone | Reach::Lost { .. } | Reach::Said { .. } => Ok(Vec::new()),
    }
}

pub(super) fn elapse(
    state: Option<&Agent>,
    due: Time,
    context: Context<'_>,
) -> Result<Vec<Event>, Rejection> {
    by_the_server(context.caller, "miss an agent")?;
    // The state may have changed since the deadline was armed; then nothing happens.
    let armed = state.map(Agent::deadlines).unwrap_or_default();
    let is_due = due <= context.now && armed.iter().any(|deadline| deadline.due == due);
    Ok(if is_due { vec![Event::Lost(Lost {})] } else { Vec::new() })
}

/// Presence after an event.
impl Attendance {
    pub(super) fn said(self, changed: &PresenceChanged) -> Self {
        let reach = match (changed.until, self.reach) {
            (Some(until), _) => Reach::Said { until },
            (None, Reach::Connected) => Reach::Connected,
            (None, Reach::Gone | Reach::Lost { .. } | Reach::Said { .. }) => Reach::Gone,
        };
        Self { said: changed.presence, by: changed.by.clone(), reach }
    }

    pub(super) fn reached(self, reach: Reach) -> Self {
        Self { reach, ..self }
    }

    pub(super) fn without_connection(self, lost: &ConnectionLost) -> Self {
        self.reached(lost.until.map_or(Reach::Gone, |until| Reach::Lost { until }))
    }
}

impl Presence {
    pub const ALL: [Presence; 4] =
        [Presence::Available, Presence::Busy, Presence::Away, Presence::Offline];

    pub fn as_str(self) -> &'static str {
        match self {
            Presence::Available => "available",
            Presence::Busy => "busy",
            Presence::Away => "away",
            Presence::Offline => "offline",
        }
    }
}

impl FromStr for Presence {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        Presence::ALL
            .into_iter()
            .find(|presence| presence.as_str() == text)
            .ok_or_else(|| "expected available, busy, away or offline".to_owned())
    }
}

fn by_the_server(caller: &Caller, action: &'static str) -> Result<(), Rejection> {
    match caller.principal {
        Principal::System => Ok(()),
        Principal::Agent(_) | Principal::Operator(_) | Principal::Customer(_) => {
            Err(Rejection::NotAllowed { action, who: "the server" })
        }
    }
}

fn name_of(principal: &Principal) -> Option<AgentId> {
    match principal {
        Principal::Agent(id) | Principal::Operator(id) | Principal::Customer(id) => {
            Some(id.clone())
        }
        Principal::System => None,
    }
}

#[cfg(test)]
mod table_tests;
