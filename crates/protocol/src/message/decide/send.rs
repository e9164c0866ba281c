//! `send`: an agent, or the server itself, sends a message. Guards: the sender, what it may send,
//! the form, the message it answers, the recipients, and the limits of the sender in the thread.

use serde_json::Value;

use crate::caller::Principal;
use crate::canonical;
use crate::facts::Context;
use crate::handoff::package::Priority;
use crate::ids::{AgentId, MessageId, ThreadId};
use crate::message::command::{
    Address, CONTEXT_BYTES_MAX, Outgoing, PAYLOAD_BYTES_MAX, RECIPIENTS_MAX, VERSIONS_EXPECTED,
};
use crate::message::context::MessageContext;
use crate::message::event::{Event, Sent};
use crate::message::kind::Kind;
use crate::message::state::{self, COORDINATORS, Message};
use crate::message::thread::{self, Count};
use crate::rejection::Rejection;

/// A message keeps a status for each recipient, so the number of recipients is bounded.
pub const BROADCAST_MAX: usize = 256;

/// The version of a message that names none.
const VERSION: &str = "1.0.0";

pub fn decide(
    id: MessageId,
    state: Option<&Message>,
    outgoing: &Outgoing,
    context: Context<'_>,
) -> Result<Vec<Event>, Rejection> {
    if state.is_some() {
        return Err(Rejection::AlreadyExists { what: "a message of that id" });
    }
    let (from, by) = sender(context)?;
    let kind = kind(outgoing, by)?;
    let version = version(outgoing)?;
    check_form(outgoing, context)?;
    let thread_id = thread_id(id, outgoing, context)?;
    let to = recipients(&from, outgoing, context)?;
    match by {
        By::Agent => check_count(&from, &thread_id, outgoing, context)?,
        // The server's own messages are bounded by the events that cause them.
        By::Server => {}
    }
    let wake = match outgoing.priority {
        Priority::Critical => woken(&to, context),
        Priority::Low | Priority::Normal | Priority::High => Vec::new(),
    };
    Ok(vec![Event::Sent(Box::new(Sent {
        version,
        from,
        to,
        broadcast: outgoing.is_broadcast(),
        team: outgoing.team.clone(),
        thread_id,
        reply_to: outgoing.reply_to,
        kind,
        topic: outgoing.topic.clone(),
        priority: outgoing.priority,
        sequence: outgoing.sequence,
        expires_at: outgoing.expires_at,
        payload: outgoing.payload.clone(),
        policy: outgoing.policy.clone(),
        context: outgoing.context.clone(),
        wake,
        per_sender: true,
    }))])
}

/// The recipients that have a wake URL.
fn woken(to: &[AgentId], context: Context<'_>) -> Vec<AgentId> {
    to.iter().filter(|agent| context.facts.wakeable.contains(agent)).cloned().collect()
}

#[derive(Clone, Copy)]
enum By {
    Agent,
    Server,
}

fn sender(context: Context<'_>) -> Result<(AgentId, By), Rejection> {
    let not_allowed = |who| Rejection::NotAllowed { action: "send a message", who };
    match &context.caller.principal {
        Principal::Agent(id) if state::is_reserved(id) => {
            Err(not_allowed("an agent whose name is not reserved"))
        }
        Principal::Agent(id) => Ok((id.clone(), By::Agent)),
        Principal::System => Ok((state::server(), By::Server)),
        Principal::Operator(_) | Principal::Customer(_) => Err(not_allowed("an agent")),
    }
}

fn kind(outgoing: &Outgoing, by: By) -> Result<Kind, Rejection> {
    match (outgoing.kind, by) {
        (Some(kind), By::Agent) if kind.is_the_servers() => Err(Rejection::NotAllowed {
            action: "send messages of a `system` type",
            who: "the server",
        }),
        (Some(kind), By::Agent | By::Server) => Ok(kind),
        (None, _) => Err(invalid("type", "the type of the message")),
    }
}

fn version(outgoing: &Outgoing) -> Result<String, Rejection> {
    if outgoing.protocol.as_deref().is_some_and(|protocol| protocol != "acp") {
        return Err(invalid("protocol", "`acp`"));
    }
    let Some(version) = outgoing.version.as_deref() else { return Ok(VERSION.to_owned()) };
    let parts: Vec<_> = version.split('.').map(str::parse::<u16>).collect();
    match parts.as_slice() {
        [Ok(1), Ok(_), Ok(_)] => Ok(version.to_owned()),
        _ => Err(invalid("version", VERSIONS_EXPECTED)),
    }
}

fn check_form(outgoing: &Outgoing, context: Context<'_>) -> Result<(), Rejection> {
    let n_bytes = canonical::canonical(&Value::Object(outgoing.payload.clone())).len();
    if n_bytes > PAYLOAD_BYTES_MAX {
        return Err(Rejection::PayloadTooLarge { n_bytes, bytes_max: PAYLOAD_BYTES_MAX });
    }
    let n_bytes = |context: &MessageContext| {
        serde_json::to_string(context).expect("references are plain data").len()
    };
    if outgoing.context.as_ref().is_some_and(|context| n_bytes(context) > CONTEXT_BYTES_MAX) {
        return Err(invalid("context", &format!("at most {CONTEXT_BYTES_MAX} bytes as JSON")));
    }
    if outgoing.expires_at.is_some_and(|expiry| expiry <= context.now) {
        return Err(invalid("expires_at", "a time in the future"));
    }
    Ok(())
}

/// An answer stays in the thread of what it answers, which its sender must be able to see.
fn thread_id(
    id: MessageId,
    outgoing: &Outgoing,
    context: Context<'_>,
) -> Result<ThreadId, Rejection> {
    let named = outgoing.thread_id.clone();
    if outgoing.reply_to.is_some() {
        let answered = context.facts.message.as_ref();
        let answered = answered.filter(|answered| answered.is_visible_to(context.caller));
        let answered = answered.ok_or(Rejection::NotFound { what: "message" })?;
        if named.as_ref() != Some(&answered.sent.thread_id) {
            return Err(invalid("thread_id", "the thread of the message it answers"));
        }
    }
    Ok(named.unwrap_or_else(|| id.to_string().parse().expect("an id is a reference")))
}

/// Only the sender's own messages count, and the one that it answers and sees. So no other caller
/// learns how far a thread is, or uses it up.
fn check_count(
    from: &AgentId,
    thread_id: &ThreadId,
    outgoing: &Outgoing,
    context: Context<'_>,
) -> Result<(), Rejection> {
    let count = Count::of(context.facts.holds.get(&thread::key(from, thread_id)));
    let answered = context.facts.message.as_ref().filter(|_| outgoing.reply_to.is_some());
    count.check(outgoing.sequence, answered.and_then(|it| it.sent.sequence), context.now)
}

fn recipients(
    from: &AgentId,
    outgoing: &Outgoing,
    context: Context<'_>,
) -> Result<Vec<AgentId>, Rejection> {
    let known = &context.facts.directory;
    if outgoing.is_broadcast() {
        let is_urgent = matches!(outgoing.priority, Priority::High | Priority::Critical);
        if outgoing.to.len() > 1 {
            return Err(invalid("to", "`*` alone, or names"));
        }
        if !is_urgent && !context.caller.is_coordinator() {
            let action = "broadcast with a priority below high";
            return Err(Rejection::NotAllowed { action, who: "a coordinator or an operator" });
        }
        // An agent with a reserved name has no mailbox of its own.
        let is_other = |agent: &&AgentId| *agent != from && !state::is_reserved(agent);
        let others: Vec<_> = known.iter().filter(is_other).cloned().collect();
        return match others.len() {
            0 => Err(invalid("to", "another agent in the directory")),
            1..=BROADCAST_MAX => Ok(others),
            _ => Err(invalid("to", &format!("at most {BROADCAST_MAX} agents for a broadcast"))),
        };
    }
    if outgoing.to.is_empty() || outgoing.to.len() > RECIPIENTS_MAX {
        return Err(invalid("to", &format!("1 to {RECIPIENTS_MAX} agents, or [\"*\"]")));
    }
    let mut to = Vec::with_capacity(outgoing.to.len());
    for address in &outgoing.to {
        let Address::Agent(agent) = address else { continue };
        let is_known = match state::is_reserved(agent) {
            true => agent.as_str() == COORDINATORS,
            false => known.contains(agent),
        };
        if !is_known {
            return Err(Rejection::UnknownAgent { field: "to", agent: agent.clone() });
        }
        if !to.contains(agent) {
            to.push(agent.clone());
        }
    }
    Ok(to)
}

fn invalid(field: &str, expected: &str) -> Rejection {
    Rejection::SchemaInvalid { field: field.to_owned(), expected: expected.to_owned() }
}
