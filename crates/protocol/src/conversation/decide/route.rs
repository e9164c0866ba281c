//! `route`: a command of the holder. It says its parting words, changes what the agents share, and
//! hands the conversation to another agent or to people, or ends it: all at once, or nothing. The
//! customer may choose an agent, too. A loop of agents is stopped.

use crate::conversation::loop_guard::guarded;
use crate::hidden::is_blank;
use serde_json::{Map, Value};

use super::human::{self, Ask, AskedBy};
use super::shared::open_to;
use super::{close, say};
use crate::agent::Kind;
use crate::agent::kind::TARGET_EXPECTED;
use crate::canonical;
use crate::conversation::command::{Route, Say};
use crate::conversation::customer_text;
use crate::conversation::event::{Event, How, Routed, Updated};
use crate::conversation::evolve::{evolve, merge};
use crate::conversation::not_heard::Why;
use crate::conversation::silence::limit_of;
use crate::conversation::state::{Conversation, Side};
use crate::facts::{Context, Facts};
use crate::ids::{AgentId, TransferId};
use crate::notes::check_text;
use crate::rejection::Rejection;
use crate::transfer::bundle::About;
use crate::transfer::command::Request;
use crate::transfer::decide::HandOn;
use crate::transfer::status::{Action, next};
use crate::transfer::{self, Transfer};

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
    check_fields(route, context)?;
    let Some(said) = parting_words(state, route, epoch, context)? else {
        return decide_next(conversation, route, agent, epoch, context);
    };
    if let Event::NotHeard(_) = &said {
        return Ok(vec![said]);
    }
    let heard = evolve(conversation.id, Some(conversation.clone()), &said, context.now);
    let heard = heard.expect("the conversation goes on");
    let next = decide_next(&heard, route, agent, epoch, context)?;
    Ok(std::iter::once(said).chain(next).collect())
}

/// What the holder says before anything else; it may not speak afterwards.
fn parting_words(
    state: Option<&Conversation>,
    route: &Route,
    epoch: u64,
    context: Context<'_>,
) -> Result<Option<Event>, Rejection> {
    if route.parts.is_empty() {
        return Ok(None);
    }
    let keeps_it = route.goto.is_none() && !route.is_for_person;
    // The next holder answers the customer, so parting words are no answer.
    let in_reply_to = route.in_reply_to.filter(|_| keeps_it);
    let say = Say { parts: route.parts.clone(), epoch: Some(epoch), in_reply_to };
    let mut event = say::decide(state, &say, context)?.pop();
    if let Some(Event::Said(said)) = &mut event
        && !keeps_it
    {
        (said.parting, said.answer_within) = (true, None);
    }
    Ok(event)
}

/// What follows the words.
fn decide_next(
    conversation: &Conversation,
    route: &Route,
    agent: &AgentId,
    epoch: u64,
    context: Context<'_>,
) -> Result<Vec<Event>, Rejection> {
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
    check_shared(conversation, &route.update)?;
    if route.asks_for_person(context.facts.agent.as_ref()) {
        let asked = match conversation.open_transfer() {
            Some(transfer) => to_other_people(conversation, transfer, route, context)?,
            None => to_person(conversation, route, context)?,
        };
        return Ok(updated(conversation, route).into_iter().chain(asked).collect());
    }
    match (&route.goto, conversation.open_transfer()) {
        (None, _) if route.end => {
            let closed = close::decide(Some(conversation), route.reason.as_deref(), context)?;
            Ok(updated(conversation, route).into_iter().chain(closed).collect())
        }
        (None, _) => Ok(updated(conversation, route).into_iter().collect()),
        (Some(goto), Some(transfer)) => {
            let to = check_target(conversation, goto, "goto", context)?;
            let handed = by_person(conversation, transfer, route, to, context)?;
            Ok(updated(conversation, route).into_iter().chain(handed).collect())
        }
        (Some(goto), None) => to_agent(conversation, route, goto, agent, context),
    }
}

/// Shared data that changes although no agent gets the conversation with it.
fn updated(conversation: &Conversation, route: &Route) -> Option<Event> {
    let (holder, epoch) = (conversation.holder.clone(), conversation.epoch);
    let update = route.update.clone();
    (!update.is_empty()).then_some(Event::Updated(Updated { holder, epoch, update }))
}

/// The same as a request for a transfer.
fn to_person(
    conversation: &Conversation,
    route: &Route,
    context: Context<'_>,
) -> Result<Vec<Event>, Rejection> {
    let summary = route.context.clone().filter(|text| !is_blank(text));
    let request = Request {
        queue: route.queue.clone(),
        reason: route.reason.clone(),
        customer_text: route.customer_text.clone(),
        context: About { summary, ..About::default() },
        epoch: route.epoch,
        ..Request::default()
    };
    let transfer = TransferId::derived(conversation.id, conversation.epoch, context.now);
    transfer::decide::request::decide(conversation, transfer, &request, context)
}

/// A person passes the customer to a queue and leaves, as with a blind transfer.
fn to_other_people(
    conversation: &Conversation,
    transfer: &Transfer,
    route: &Route,
    context: Context<'_>,
) -> Result<Vec<Event>, Rejection> {
    if route.context.as_deref().is_some_and(|text| !is_blank(text)) {
        let expected = "to be left out by a person; a `warm` transfer takes a context along";
        return Err(invalid("context", expected));
    }
    let queue = transfer::decide::queue_of(context.facts, route.queue.as_ref())?;
    let asking = transfer::command::Transfer {
        kind: transfer::kind::Kind::Blind,
        to: queue.id.clone(),
        reason: route.reason.clone(),
        customer_text: route.customer_text.clone(),
        epoch: route.epoch,
        context: About::default(),
    };
    let facts = Facts { agent: Some(queue.clone()), ..context.facts.clone() };
    let context = Context { facts: &facts, ..context };
    transfer::decide::pass_on(conversation, transfer, &asking, context)
}

/// A person hands the customer to any bot. No topology and no graph binds people.
fn by_person(
    conversation: &Conversation,
    transfer: &Transfer,
    route: &Route,
    to: &AgentId,
    context: Context<'_>,
) -> Result<Vec<Event>, Rejection> {
    let status = transfer.status();
    if next(status, Action::Complete).is_none() {
        return Err(Rejection::WrongTransferState { action: "route", status });
    }
    if route.customer_text.is_some() {
        return Err(invalid("customer_text", "to be left out by a person; say it in `parts`"));
    }
    let asked = HandOn {
        to,
        reason: check_text("reason", route.reason.as_deref())?.unwrap_or_default(),
        summary: check_text("context", route.context.as_deref())?.unwrap_or_default(),
        disposition: None,
        deliver: is_told(to, context),
        answer_within: limit_of(to, None, context.facts),
    };
    Ok(transfer::decide::hand_on(conversation, transfer, asked))
}

fn to_agent(
    conversation: &Conversation,
    route: &Route,
    goto: &AgentId,
    agent: &AgentId,
    context: Context<'_>,
) -> Result<Vec<Event>, Rejection> {
    let to = check_target(conversation, goto, "goto", context)?;
    if !conversation.setup.topology.allows(agent, to, route.graph) {
        return Err(invalid("goto", "an agent that the topology lets the holder hand to"));
    }
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
    let answer_within = limit_of(&to, None, context.facts);
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
        answer_within,
    })])
}

/// Refuses fields that mean nothing together.
fn check_fields(route: &Route, context: Context<'_>) -> Result<(), Rejection> {
    let Route { goto, queue, parts, end, update, .. } = route;
    let is_for_person = route.asks_for_person(context.facts.agent.as_ref());
    let is_handed_on = goto.is_some() || is_for_person;
    if *end && is_handed_on {
        return Err(invalid("end", "to be left out with `goto`"));
    }
    if queue.is_some() && !is_for_person {
        return Err(invalid("queue", "to be left out unless `goto` is `human`"));
    }
    if !is_handed_on && !*end && parts.is_empty() && update.is_empty() {
        return Err(invalid("goto", "an agent or `human`; or `parts`, `update` or `end`"));
    }
    let given = [
        ("reason", route.reason.is_some() && !*end),
        ("customer_text", route.customer_text.is_some()),
        ("context", route.context.is_some()),
    ];
    match given.iter().find(|(_, is_given)| *is_given && !is_handed_on) {
        Some((field, _)) => Err(invalid(field, "to be left out without `goto`")),
        None => Ok(()),
    }
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
    let is_selectable = known.is_target() && known.profile.user_selectable;
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
        answer_within: limit_of(agent, None, context.facts),
    })])
}

fn check_target<'r>(
    conversation: &Conversation,
    to: &'r AgentId,
    field: &'static str,
    context: Context<'_>,
) -> Result<&'r AgentId, Rejection> {
    let unknown = Rejection::UnknownAgent { field, agent: to.clone() };
    let known = context.facts.agent.as_ref().ok_or(unknown)?;
    match known.kind {
        Kind::Worker if known.is_target() => {}
        Kind::Worker => return Err(invalid(field, TARGET_EXPECTED)),
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
