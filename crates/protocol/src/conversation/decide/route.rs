//! `route`: the conversation changes hands between AI agents, at once. The holder hands it on, or
//! the customer chooses. A loop of agents is stopped.

use crate::conversation::loop_guard::guarded;
use serde_json::{Map, Value};

use super::human::{self, Ask, AskedBy};
use super::shared::open_to;
use crate::agent::Kind;
use crate::canonical;
use crate::conversation::command::Route;
use crate::conversation::customer_text;
use crate::conversation::event::{Event, How, Routed};
use crate::conversation::evolve::merge;
use crate::conversation::not_heard::Why;
use crate::conversation::state::{Conversation, Side};
use crate::facts::Context;
use crate::ids::AgentId;
use crate::notes::check_text;
use crate::rejection::Rejection;

/// Shared data is a note, not a database.
pub const SHARED_BYTES_MAX: usize = 16 * 1024;
pub const SHARED_NAMES_MAX: usize = 64;

pub fn decide(
    state: Option<&Conversation>,
    route: &Route,
    context: Context<'_>,
) -> Result<Vec<Event>, Rejection> {
    let (conversation, side) = open_to(state, context, "route")?;
    let Side::Agent(agent) = side else {
        let who = "the agent that holds the conversation";
        return Err(Rejection::NotAllowed { action: "hand a conversation on", who });
    };
    let epoch = route.epoch.ok_or(Rejection::EpochRequired)?;
    let refused = |why| {
        let holder = conversation.holder.clone();
        Rejection::NotHeard { why, holder, epoch: conversation.epoch }
    };
    if epoch != conversation.epoch {
        return Err(refused(Why::EpochOutdated));
    }
    if conversation.speaker() != Some(agent) {
        return Err(refused(Why::NotHolder));
    }
    if let Some(transfer) = conversation.open_transfer() {
        let status = transfer.status();
        return Err(Rejection::WrongTransferState { action: "route", status });
    }
    let to = check_target(conversation, &route.goto, "goto", context)?;
    if !conversation.setup.topology.allows(agent, to, route.graph) {
        return Err(invalid("goto", "an agent that the topology lets the holder hand to"));
    }
    check_shared(conversation, &route.update)?;
    let how = match conversation.setup.topology.supervisor() {
        Some(supervisor) if supervisor == agent => How::SupervisorRouting,
        Some(_) | None => How::AgentHandoff,
    };
    let reason = check_text("reason", route.reason.as_deref())?.unwrap_or_default();
    let note = check_text("context", route.context.as_deref())?.unwrap_or_default();
    let customer_text = customer_text::check(route.customer_text.as_deref())?;
    let (to, instead_of) = match guarded(conversation, to) {
        Ok(guarded) => guarded,
        Err(refused) => {
            let (by, reason) = (AskedBy::LoopGuard, stopped_because(conversation));
            let ask = Ask { by, reason, queue: None, instead_of: Some(to.clone()) };
            return human::ask(conversation, &ask, context).ok_or(refused);
        }
    };
    let deliver = is_told(&to, context);
    Ok(vec![Event::Routed(Routed {
        holder: agent.clone(),
        to,
        number: conversation.transcript.count + 1,
        epoch: conversation.epoch + 1,
        how,
        reason,
        context: note,
        // A text about another agent is not true of this one.
        customer_text: Some(customer_text).filter(|_| instead_of.is_none()).unwrap_or_default(),
        update: route.update.clone(),
        instead_of,
        route: None,
        deliver,
    })])
}

/// The customer's own choice. It does not count towards a loop.
pub fn select(
    state: Option<&Conversation>,
    agent: &AgentId,
    context: Context<'_>,
) -> Result<Vec<Event>, Rejection> {
    let (conversation, side) = open_to(state, context, "select_agent")?;
    match side {
        Side::Customer => {}
        Side::Agent(_) | Side::Overseer => {
            return Err(Rejection::NotAllowed { action: "select an agent", who: "the customer" });
        }
    }
    if let Some(transfer) = conversation.open_transfer() {
        let status = transfer.status();
        return Err(Rejection::WrongTransferState { action: "select an agent", status });
    }
    let unknown = Rejection::UnknownAgent { field: "agent_id", agent: agent.clone() };
    let known = context.facts.agent.as_ref().ok_or(unknown)?;
    let is_selectable = known.kind == Kind::Worker && known.profile.user_selectable;
    if !is_selectable {
        return Err(Rejection::NotSelectable { agent: agent.clone() });
    }
    if conversation.holder == *agent {
        return Ok(Vec::new());
    }
    Ok(vec![Event::Routed(Routed {
        holder: conversation.holder.clone(),
        to: agent.clone(),
        number: conversation.transcript.count + 1,
        epoch: conversation.epoch + 1,
        how: How::UserSelection,
        reason: String::new(),
        context: String::new(),
        customer_text: String::new(),
        update: Map::new(),
        instead_of: None,
        route: None,
        deliver: is_told(agent, context),
    })])
}

fn check_target<'r>(
    conversation: &Conversation,
    to: &'r AgentId,
    field: &'static str,
    context: Context<'_>,
) -> Result<&'r AgentId, Rejection> {
    let unknown = Rejection::UnknownAgent { field, agent: to.clone() };
    let kind = context.facts.agent.as_ref().map(|agent| agent.kind).ok_or(unknown)?;
    match kind {
        Kind::Worker => {}
        Kind::System if conversation.setup.topology.supervisor() == Some(to) => {}
        Kind::System => return Err(invalid(field, "a worker; a system agent is no target")),
        Kind::Human | Kind::Queue => {
            return Err(invalid(field, "a worker; people are asked for by a transfer"));
        }
    }
    if conversation.holder == *to {
        return Err(invalid(field, "another agent than the holder"));
    }
    Ok(to)
}

fn check_shared(conversation: &Conversation, update: &Map<String, Value>) -> Result<(), Rejection> {
    let mut shared = conversation.shared.clone();
    merge(&mut shared, update);
    let n_names = shared.len();
    let n_bytes = canonical::canonical(&Value::Object(shared)).len();
    if n_names > SHARED_NAMES_MAX || n_bytes > SHARED_BYTES_MAX {
        let expected =
            format!("at most {SHARED_NAMES_MAX} names and {SHARED_BYTES_MAX} bytes in all");
        return Err(invalid("update", &expected));
    }
    Ok(())
}

/// Why a person has it, for that person.
fn stopped_because(conversation: &Conversation) -> String {
    let times = match conversation.setup.hops_max {
        1 => "once".to_owned(),
        hops_max => format!("{hops_max} times"),
    };
    format!(
        "the agents handed the conversation round in a circle, or more than {times} since the \
         customer spoke"
    )
}

/// Whether turns reach an agent at an endpoint.
fn is_told(to: &AgentId, context: Context<'_>) -> bool {
    let named = context.facts.agent.as_ref().filter(|agent| agent.id == *to);
    named.is_some_and(|agent| agent.endpoint.is_some()) || context.facts.at_endpoint.contains(to)
}

fn invalid(field: &str, expected: &str) -> Rejection {
    Rejection::SchemaInvalid { field: field.to_owned(), expected: expected.to_owned() }
}
