//! A human declares its presence, or the server notices that it connects, disconnects or is silent.

use crate::agent::event::{Connected, ConnectionLost, Event, Lost, PresenceChanged};
use crate::agent::kind::Kind;
use crate::agent::presence::{Presence, Reach};
use crate::agent::state::Agent;
use crate::caller::{Caller, Principal};
use crate::facts::Context;
use crate::ids::AgentId;
use crate::rejection::Rejection;
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

/// Only humans have a grace period. The connections of a worker are recorded only while nothing
/// else makes it a target for conversations.
pub(super) fn connected(state: Option<&Agent>, caller: &Caller) -> Result<Vec<Event>, Rejection> {
    by_the_server(caller, "say that an agent is connected")?;
    let agent = state.ok_or(Rejection::NotFound { what: "agent" })?;
    match (agent.kind, agent.attendance.reach) {
        (Kind::Human, Reach::Gone | Reach::Lost { .. } | Reach::Said { .. }) => {
            Ok(vec![Event::Connected(Connected {})])
        }
        (Kind::Worker, Reach::Gone | Reach::Lost { .. } | Reach::Said { .. })
            if agent.undeclared =>
        {
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
