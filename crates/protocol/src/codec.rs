//! The stored form of events: name, version, JSON body. Every event that was ever written must stay
//! readable, so shapes only grow, and a change that is not an addition gets a new version.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::aggregate::Event;
use crate::fork::Forked;
use crate::ledger::{Erased, Recorded};
use crate::{
    agent, callback, conversation, file, graph, handoff, json, message, question, session,
    subscription, teamspace, token, transfer, webhook,
};

/// The version of every event so far.
const VERSION: u32 = 1;

/// A typical size of an event body, to reserve room.
const BODY_BYTES: usize = 768;

/// An entry that this release cannot read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot read event {name} version {version}: {problem}")]
pub struct Unreadable {
    pub name: String,
    pub version: u32,
    pub problem: String,
}

pub fn encode(event: &Event) -> Recorded {
    let body = match event {
        Event::Handoff(event) => encode_handoff(event),
        Event::Agent(event) => encode_agent(event),
        Event::Token(token::Event::Issued(body)) => text(body),
        Event::Token(token::Event::Revoked(body)) => text(body),
        Event::Message(message::Event::Sent(body)) => text(body),
        Event::Message(message::Event::Delivered(body)) => text(body),
        Event::Message(message::Event::Read(body)) => text(body),
        Event::Message(message::Event::Expired(body)) => text(body),
        Event::Teamspace(teamspace::Event::Created(body)) => text(body),
        Event::Teamspace(teamspace::Event::Configured(body)) => text(body),
        Event::Graph(graph::Event::Saved(body)) => text(body),
        Event::Graph(graph::Event::Removed(body)) => text(body),
        Event::Subscription(subscription::Event::Opened(body)) => text(body),
        Event::Subscription(subscription::Event::Agreed(body)) => text(body),
        Event::Subscription(subscription::Event::Closed(body)) => text(body),
        Event::Session(session::Event::Announced(body)) => text(body),
        Event::Session(session::Event::Answered(body)) => text(body),
        Event::Session(session::Event::TimedOut(body)) => text(body),
        Event::Session(session::Event::Withdrawn(body)) => text(body),
        Event::Session(session::Event::HandedOver(body)) => text(body),
        Event::Session(session::Event::Delivered(body)) => text(body),
        Event::Webhook(event) => encode_webhook(event),
        Event::File(event) => encode_file(event),
        Event::Question(event) => encode_question(event),
        Event::Message(message::Event::Woken(body)) => text(body),
        Event::Message(message::Event::Failed(body)) => text(body),
        Event::Conversation(conversation::Event::Opened(body)) => text(body),
        Event::Conversation(conversation::Event::Said(body)) => text(body),
        Event::Conversation(conversation::Event::NotHeard(body)) => text(body),
        Event::Conversation(conversation::Event::Delivered(body)) => text(body),
        Event::Conversation(conversation::Event::Unreached(body)) => text(body),
        Event::Conversation(conversation::Event::HolderSilent(body)) => text(body),
        Event::Conversation(conversation::Event::Extended(body)) => text(body),
        Event::Conversation(conversation::Event::ReplyOverdue(body)) => text(body),
        Event::Conversation(conversation::Event::Routed(body)) => text(body),
        Event::Conversation(conversation::Event::Updated(body)) => text(body),
        Event::Conversation(conversation::Event::SignalsObserved(body)) => text(body),
        Event::Conversation(conversation::Event::Closed(body)) => text(body),
        Event::Conversation(conversation::Event::Transfer(event)) => encode_transfer(event),
        Event::Conversation(conversation::Event::Callback(callback::Event::Asked(body))) => {
            text(body)
        }
        Event::Conversation(conversation::Event::Callback(callback::Event::Settled(body))) => {
            text(body)
        }
        Event::Erased(body) => text(body),
        Event::Forked(body) => text(body),
    };
    Recorded { name: event.name(), version: VERSION, body }
}

pub fn decode(name: &str, version: u32, body: &str) -> Result<Event, Unreadable> {
    let unreadable = |problem: String| Unreadable { name: name.to_owned(), version, problem };
    if version != VERSION {
        return Err(unreadable("this release knows version 1 only".to_owned()));
    }
    let event = match name {
        name if name.starts_with("handoff.") => decode_handoff(name, body).map(Event::Handoff),
        name if name.starts_with("agent.") => decode_agent(name, body).map(Event::Agent),
        "token.issued" => read(body).map(token::Event::Issued).map(Event::Token),
        "token.revoked" => read(body).map(token::Event::Revoked).map(Event::Token),
        "message.sent" => {
            read(body).map(|body| Event::Message(message::Event::Sent(Box::new(body))))
        }
        "message.delivered" => read(body).map(message::Event::Delivered).map(Event::Message),
        "message.read" => read(body).map(message::Event::Read).map(Event::Message),
        "message.expired" => read(body).map(message::Event::Expired).map(Event::Message),
        "teamspace.created" => read(body).map(teamspace::Event::Created).map(Event::Teamspace),
        "teamspace.configured" => {
            read(body).map(teamspace::Event::Configured).map(Event::Teamspace)
        }
        "graph.saved" => read(body).map(graph::Event::Saved).map(Event::Graph),
        "graph.removed" => read(body).map(graph::Event::Removed).map(Event::Graph),
        "subscription.opened" => {
            read(body).map(subscription::Event::Opened).map(Event::Subscription)
        }
        "subscription.agreed" => {
            read(body).map(subscription::Event::Agreed).map(Event::Subscription)
        }
        "subscription.closed" => {
            read(body).map(subscription::Event::Closed).map(Event::Subscription)
        }
        "session.announced" => {
            read(body).map(|body| Event::Session(session::Event::Announced(Box::new(body))))
        }
        "session.answered" => {
            read(body).map(|body| Event::Session(session::Event::Answered(Box::new(body))))
        }
        "session.timed_out" => read(body).map(session::Event::TimedOut).map(Event::Session),
        "session.withdrawn" => read(body).map(session::Event::Withdrawn).map(Event::Session),
        "session.handed_over" => read(body).map(session::Event::HandedOver).map(Event::Session),
        "session.delivered" => read(body).map(session::Event::Delivered).map(Event::Session),
        name if name.starts_with("file.") => decode_file(name, body).map(Event::File),
        name if name.starts_with("webhook.") => decode_webhook(name, body).map(Event::Webhook),
        name if name.starts_with("question.") => decode_question(name, body).map(Event::Question),
        "message.woken" => read(body).map(message::Event::Woken).map(Event::Message),
        "message.failed" => read(body).map(message::Event::Failed).map(Event::Message),
        name if name.starts_with("transfer.") => decode_transfer(name, body)
            .map(|event| Event::Conversation(conversation::Event::Transfer(event))),
        "callback.asked" => read(body).map(callback::Event::Asked).map(called),
        "callback.settled" => read(body).map(callback::Event::Settled).map(called),
        name if name.starts_with("conversation.") => {
            decode_conversation(name, body).map(Event::Conversation)
        }
        Erased::NAME => read(body).map(Event::Erased),
        Forked::NAME => read(body).map(Event::Forked),
        _ => Err(UNKNOWN.to_owned()),
    };
    event.map_err(unreadable)
}

/// The first words of event names.
const FAMILIES: [&str; 15] = [
    "agent",
    "callback",
    "conversation",
    "file",
    "graph",
    "handoff",
    "ledger",
    "message",
    "question",
    "session",
    "subscription",
    "teamspace",
    "token",
    "transfer",
    "webhook",
];

/// Whether a text is the name of an event, or of an event family.
pub fn is_kind(text: &str) -> bool {
    let is_name = || decode(text, VERSION, "").is_err_and(|it| it.problem != UNKNOWN);
    FAMILIES.contains(&text) || is_name()
}

fn called(event: callback::Event) -> Event {
    Event::Conversation(conversation::Event::Callback(event))
}

const UNKNOWN: &str = "no event of this name is known";

fn decode_handoff(name: &str, body: &str) -> Result<handoff::Event, String> {
    match name {
        "handoff.drafted" => read(body).map(handoff::Event::Drafted),
        "handoff.proposed" => read(body).map(|body| handoff::Event::Proposed(Box::new(body))),
        "handoff.validation_started" => read(body).map(handoff::Event::ValidationStarted),
        "handoff.verification_unavailable" => {
            read(body).map(handoff::Event::VerificationUnavailable)
        }
        "handoff.checked" => read(body).map(handoff::Event::Checked),
        "handoff.approved" => read(body).map(handoff::Event::Approved),
        "handoff.refused" => read(body).map(handoff::Event::Refused),
        "handoff.accepted" => read(body).map(handoff::Event::Accepted),
        "handoff.rejected" => read(body).map(handoff::Event::Rejected),
        "handoff.activated" => read(body).map(handoff::Event::Activated),
        "handoff.progressed" => read(body).map(|body| handoff::Event::Progressed(Box::new(body))),
        "handoff.recalled" => read(body).map(handoff::Event::Recalled),
        "handoff.completion_started" => {
            read(body).map(|body| handoff::Event::CompletionStarted(Box::new(body)))
        }
        "handoff.completion_checked" => read(body).map(handoff::Event::CompletionChecked),
        "handoff.completion_failed" => read(body).map(handoff::Event::CompletionFailed),
        "handoff.confirmed" => read(body).map(handoff::Event::Confirmed),
        "handoff.disputed" => read(body).map(handoff::Event::Disputed),
        "handoff.completed" => read(body).map(handoff::Event::Completed),
        "handoff.closed" => read(body).map(handoff::Event::Closed),
        "handoff.escalated" => read(body).map(handoff::Event::Escalated),
        "handoff.sla_extended" => read(body).map(handoff::Event::SlaExtended),
        "handoff.sla_warned" => read(body).map(handoff::Event::SlaWarned),
        "handoff.countered" => read(body).map(|body| handoff::Event::Countered(Box::new(body))),
        "handoff.delegated" => read(body).map(handoff::Event::Delegated),
        "handoff.delegation_ended" => read(body).map(handoff::Event::DelegationEnded),
        "handoff.delegation_reopened" => read(body).map(handoff::Event::DelegationReopened),
        "handoff.delegation_recalled" => read(body).map(handoff::Event::DelegationRecalled),
        "handoff.workq_settled" => read(body).map(handoff::Event::WorkqSettled),
        "handoff.workq_degraded" => read(body).map(handoff::Event::WorkqDegraded),
        _ => Err(UNKNOWN.to_owned()),
    }
}

fn decode_agent(name: &str, body: &str) -> Result<agent::Event, String> {
    match name {
        "agent.registered" => read(body).map(agent::Event::Registered),
        "agent.roles_changed" => read(body).map(agent::Event::RolesChanged),
        "agent.wake_changed" => read(body).map(agent::Event::WakeChanged),
        "agent.endpoint_changed" => read(body).map(agent::Event::EndpointChanged),
        "agent.queue_changed" => read(body).map(|body| agent::Event::QueueChanged(Box::new(body))),
        "agent.presence_changed" => read(body).map(agent::Event::PresenceChanged),
        "agent.notices_read" => read(body).map(agent::Event::NoticesRead),
        "agent.notices_muted" => read(body).map(agent::Event::NoticesMuted),
        "agent.connected" => read(body).map(agent::Event::Connected),
        "agent.connection_lost" => read(body).map(agent::Event::ConnectionLost),
        "agent.lost" => read(body).map(agent::Event::Lost),
        _ => Err(UNKNOWN.to_owned()),
    }
}

fn encode_agent(event: &agent::Event) -> String {
    match event {
        agent::Event::Registered(body) => text(body),
        agent::Event::RolesChanged(body) => text(body),
        agent::Event::WakeChanged(body) => text(body),
        agent::Event::EndpointChanged(body) => text(body),
        agent::Event::QueueChanged(body) => text(body),
        agent::Event::PresenceChanged(body) => text(body),
        agent::Event::NoticesRead(body) => text(body),
        agent::Event::NoticesMuted(body) => text(body),
        agent::Event::Connected(body) => text(body),
        agent::Event::ConnectionLost(body) => text(body),
        agent::Event::Lost(body) => text(body),
    }
}

fn decode_conversation(name: &str, body: &str) -> Result<conversation::Event, String> {
    match name {
        "conversation.opened" => read(body).map(|body| conversation::Event::Opened(Box::new(body))),
        "conversation.said" => read(body).map(conversation::Event::Said),
        "conversation.not_heard" => read(body).map(conversation::Event::NotHeard),
        "conversation.delivered" => read(body).map(conversation::Event::Delivered),
        "conversation.unreached" => read(body).map(conversation::Event::Unreached),
        "conversation.holder_silent" => read(body).map(conversation::Event::HolderSilent),
        "conversation.extended" => read(body).map(conversation::Event::Extended),
        "conversation.reply_overdue" => read(body).map(conversation::Event::ReplyOverdue),
        "conversation.routed" => read(body).map(conversation::Event::Routed),
        "conversation.updated" => read(body).map(conversation::Event::Updated),
        "conversation.signals_observed" => read(body).map(conversation::Event::SignalsObserved),
        "conversation.closed" => read(body).map(conversation::Event::Closed),
        _ => Err(UNKNOWN.to_owned()),
    }
}

fn decode_transfer(name: &str, body: &str) -> Result<transfer::Event, String> {
    match name {
        "transfer.requested" => read(body).map(|body| transfer::Event::Requested(Box::new(body))),
        "transfer.queued" => read(body).map(transfer::Event::Queued),
        "transfer.ringing" => read(body).map(transfer::Event::Ringing),
        "transfer.returned" => read(body).map(transfer::Event::Returned),
        "transfer.passed_on" => read(body).map(transfer::Event::PassedOn),
        "transfer.connected" => read(body).map(transfer::Event::Connected),
        "transfer.consulted" => read(body).map(transfer::Event::Consulted),
        "transfer.held" => read(body).map(transfer::Event::Held),
        "transfer.resumed" => read(body).map(transfer::Event::Resumed),
        "transfer.leg_requested" => {
            read(body).map(|body| transfer::Event::LegRequested(Box::new(body)))
        }
        "transfer.leg_ended" => read(body).map(transfer::Event::LegEnded),
        "transfer.noted" => read(body).map(transfer::Event::Noted),
        "transfer.over" => read(body).map(transfer::Event::Over),
        "transfer.rated" => read(body).map(transfer::Event::Rated),
        _ => Err(UNKNOWN.to_owned()),
    }
}

fn encode_transfer(event: &transfer::Event) -> String {
    match event {
        transfer::Event::Requested(body) => text(body),
        transfer::Event::Queued(body) => text(body),
        transfer::Event::Ringing(body) => text(body),
        transfer::Event::Returned(body) => text(body),
        transfer::Event::PassedOn(body) => text(body),
        transfer::Event::Connected(body) => text(body),
        transfer::Event::Consulted(body) => text(body),
        transfer::Event::Held(body) => text(body),
        transfer::Event::Resumed(body) => text(body),
        transfer::Event::LegRequested(body) => text(body),
        transfer::Event::LegEnded(body) => text(body),
        transfer::Event::Noted(body) => text(body),
        transfer::Event::Over(body) => text(body),
        transfer::Event::Rated(body) => text(body),
    }
}

fn decode_webhook(name: &str, body: &str) -> Result<webhook::Event, String> {
    match name {
        "webhook.created" => read(body).map(|body| webhook::Event::Created(Box::new(body))),
        "webhook.changed" => read(body).map(|body| webhook::Event::Changed(Box::new(body))),
        "webhook.key_rotated" => read(body).map(webhook::Event::KeyRotated),
        "webhook.paused" => read(body).map(webhook::Event::Paused),
        "webhook.resumed" => read(body).map(webhook::Event::Resumed),
        "webhook.set_aside" => read(body).map(webhook::Event::SetAside),
        "webhook.settled" => read(body).map(webhook::Event::Settled),
        "webhook.removed" => read(body).map(webhook::Event::Removed),
        _ => Err(UNKNOWN.to_owned()),
    }
}

fn encode_webhook(event: &webhook::Event) -> String {
    match event {
        webhook::Event::Created(body) => text(body),
        webhook::Event::Changed(body) => text(body),
        webhook::Event::KeyRotated(body) => text(body),
        webhook::Event::Paused(body) => text(body),
        webhook::Event::Resumed(body) => text(body),
        webhook::Event::SetAside(body) => text(body),
        webhook::Event::Settled(body) => text(body),
        webhook::Event::Removed(body) => text(body),
    }
}

fn decode_file(name: &str, body: &str) -> Result<file::Event, String> {
    match name {
        "file.stored" => read(body).map(file::Event::Stored),
        "file.referenced" => read(body).map(file::Event::Referenced),
        "file.released" => read(body).map(file::Event::Released),
        "file.removed" => read(body).map(file::Event::Removed),
        "file.deleted" => read(body).map(file::Event::Deleted),
        _ => Err(UNKNOWN.to_owned()),
    }
}

fn encode_question(event: &question::Event) -> String {
    match event {
        question::Event::Asked(body) => text(body),
        question::Event::Answered(body) => text(body),
        question::Event::Defaulted(body) => text(body),
        question::Event::Unanswered(body) => text(body),
        question::Event::Withdrawn(body) => text(body),
        question::Event::Claimed(body) => text(body),
        question::Event::ClaimRenewed(body) => text(body),
        question::Event::ClaimLapsed(body) => text(body),
        question::Event::Finished(body) => text(body),
    }
}

fn decode_question(name: &str, body: &str) -> Result<question::Event, String> {
    match name {
        "question.asked" => read(body).map(|body| question::Event::Asked(Box::new(body))),
        "question.answered" => read(body).map(|body| question::Event::Answered(Box::new(body))),
        "question.defaulted" => read(body).map(question::Event::Defaulted),
        "question.unanswered" => read(body).map(question::Event::Unanswered),
        "question.withdrawn" => read(body).map(question::Event::Withdrawn),
        "question.claimed" => read(body).map(question::Event::Claimed),
        "question.claim_renewed" => read(body).map(question::Event::ClaimRenewed),
        "question.claim_lapsed" => read(body).map(question::Event::ClaimLapsed),
        "question.finished" => read(body).map(question::Event::Finished),
        _ => Err(UNKNOWN.to_owned()),
    }
}

fn encode_file(event: &file::Event) -> String {
    match event {
        file::Event::Stored(body) => text(body),
        file::Event::Referenced(body) => text(body),
        file::Event::Released(body) => text(body),
        file::Event::Removed(body) => text(body),
        file::Event::Deleted(body) => text(body),
    }
}

fn encode_handoff(event: &handoff::Event) -> String {
    match event {
        handoff::Event::Drafted(body) => text(body),
        handoff::Event::Proposed(body) => text(body),
        handoff::Event::ValidationStarted(body) => text(body),
        handoff::Event::VerificationUnavailable(body) => text(body),
        handoff::Event::Checked(body) => text(body),
        handoff::Event::Approved(body) => text(body),
        handoff::Event::Refused(body) => text(body),
        handoff::Event::Accepted(body) => text(body),
        handoff::Event::Rejected(body) => text(body),
        handoff::Event::Activated(body) => text(body),
        handoff::Event::Progressed(body) => text(body),
        handoff::Event::Recalled(body) => text(body),
        handoff::Event::CompletionStarted(body) => text(body),
        handoff::Event::CompletionChecked(body) => text(body),
        handoff::Event::CompletionFailed(body) => text(body),
        handoff::Event::Confirmed(body) => text(body),
        handoff::Event::Disputed(body) => text(body),
        handoff::Event::Completed(body) => text(body),
        handoff::Event::Closed(body) => text(body),
        handoff::Event::Escalated(body) => text(body),
        handoff::Event::SlaExtended(body) => text(body),
        handoff::Event::SlaWarned(body) => text(body),
        handoff::Event::Countered(body) => text(body),
        handoff::Event::Delegated(body) => text(body),
        handoff::Event::DelegationEnded(body) => text(body),
        handoff::Event::DelegationReopened(body) => text(body),
        handoff::Event::DelegationRecalled(body) => text(body),
        handoff::Event::WorkqSettled(body) => text(body),
        handoff::Event::WorkqDegraded(body) => text(body),
    }
}

fn text(body: &impl Serialize) -> String {
    json::text_of(body, BODY_BYTES)
}

fn read<T: DeserializeOwned>(body: &str) -> Result<T, String> {
    serde_json::from_str(body).map_err(|error| error.to_string())
}

impl Event {
    pub fn name(&self) -> &'static str {
        match self {
            Event::Handoff(event) => event.name(),
            Event::Agent(event) => event.name(),
            Event::Token(event) => event.name(),
            Event::Message(event) => event.name(),
            Event::Conversation(event) => event.name(),
            Event::Teamspace(event) => event.name(),
            Event::Graph(event) => event.name(),
            Event::Subscription(event) => event.name(),
            Event::Session(event) => event.name(),
            Event::Webhook(event) => event.name(),
            Event::File(event) => event.name(),
            Event::Question(event) => event.name(),
            Event::Erased(_) => Erased::NAME,
            Event::Forked(_) => Forked::NAME,
        }
    }
}

#[cfg(test)]
mod golden_tests;
#[cfg(test)]
mod property_tests;
