//! Golden files: every shape of every event ever written, as it was written. A test decodes each
//! and encodes it again to the same text. Released files are never edited, because some ledger
//! holds these texts.
//!
//! `UPDATE_GOLDEN=1 cargo test -p tasuki-protocol golden` writes a file for a new event or a new
//! shape. It never changes an existing file.

mod agent_shapes;
mod callback_shapes;
mod completion_shapes;
mod conversation_shapes;
mod delegation_shapes;
mod file_shapes;
mod handoff_shapes;
mod question_shapes;
mod report_shapes;
mod session_shapes;
mod subscription_shapes;
mod transfer_shapes;
mod webhook_shapes;

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use agent_shapes::agent_shapes;
use callback_shapes::callback_shapes;
use completion_shapes::completion_shapes;
use conversation_shapes::conversation_shapes;
use file_shapes::file_shapes;
use handoff_shapes::{agent, handoff_shapes, time};
use question_shapes::question_shapes;
use report_shapes::report_shapes;
use session_shapes::session_shapes;
use subscription_shapes::subscription_shapes;
use transfer_shapes::transfer_shapes;
use webhook_shapes::webhook_shapes;

use super::{decode, encode, is_kind};
use crate::caller::Role;
use crate::conversation::reader::is_between_people;
use crate::fork::Forked;
use crate::handoff::event::Event as HandoffEvent;
use crate::handoff::sla::Slas;
use crate::ledger::Erased;
use crate::quota::{Quota, SetQuotas};
use crate::step::Event;
use crate::teamspace::{self, Configuration, Settings};
use crate::time::Span;
use crate::token::{self, BearerKind, Grant};
use crate::{
    agent, callback, conversation, file, graph, message, question, session, subscription, transfer,
    webhook,
};

/// One list that is both a match and a table: a missing variant does not compile, and a listed one
/// needs a golden file.
macro_rules! events {
    ($($event:pat => $name:literal,)*) => {
        const NAMES: &[&str] = &[$($name),*];

        fn name(event: &Event) -> &'static str {
            match event {
                $($event => $name,)*
            }
        }
    };
}

/// Readers are told apart by names too, once an event is erased.
#[test]
fn the_names_tell_what_is_between_people() {
    for event in transfer_shapes().into_iter().map(|shape| shape.1) {
        if let Event::Conversation(conversation::Event::Transfer(it)) = &event {
            assert_eq!(is_between_people(event.name()), it.is_between_people(), "{event:?}");
        }
    }
}

events! {
    Event::Handoff(HandoffEvent::Drafted(_)) => "handoff.drafted",
    Event::Handoff(HandoffEvent::Proposed(_)) => "handoff.proposed",
    Event::Handoff(HandoffEvent::ValidationStarted(_)) => "handoff.validation_started",
    Event::Handoff(HandoffEvent::VerificationUnavailable(_)) => "handoff.verification_unavailable",
    Event::Handoff(HandoffEvent::Checked(_)) => "handoff.checked",
    Event::Handoff(HandoffEvent::Approved(_)) => "handoff.approved",
    Event::Handoff(HandoffEvent::Refused(_)) => "handoff.refused",
    Event::Handoff(HandoffEvent::Accepted(_)) => "handoff.accepted",
    Event::Handoff(HandoffEvent::Rejected(_)) => "handoff.rejected",
    Event::Handoff(HandoffEvent::Activated(_)) => "handoff.activated",
    Event::Handoff(HandoffEvent::Progressed(_)) => "handoff.progressed",
    Event::Handoff(HandoffEvent::Recalled(_)) => "handoff.recalled",
    Event::Handoff(HandoffEvent::CompletionStarted(_)) => "handoff.completion_started",
    Event::Handoff(HandoffEvent::CompletionChecked(_)) => "handoff.completion_checked",
    Event::Handoff(HandoffEvent::CompletionFailed(_)) => "handoff.completion_failed",
    Event::Handoff(HandoffEvent::Confirmed(_)) => "handoff.confirmed",
    Event::Handoff(HandoffEvent::Disputed(_)) => "handoff.disputed",
    Event::Handoff(HandoffEvent::Completed(_)) => "handoff.completed",
    Event::Handoff(HandoffEvent::Closed(_)) => "handoff.closed",
    Event::Handoff(HandoffEvent::Escalated(_)) => "handoff.escalated",
    Event::Handoff(HandoffEvent::SlaExtended(_)) => "handoff.sla_extended",
    Event::Handoff(HandoffEvent::SlaWarned(_)) => "handoff.sla_warned",
    Event::Handoff(HandoffEvent::Countered(_)) => "handoff.countered",
    Event::Handoff(HandoffEvent::Delegated(_)) => "handoff.delegated",
    Event::Handoff(HandoffEvent::DelegationEnded(_)) => "handoff.delegation_ended",
    Event::Handoff(HandoffEvent::DelegationReopened(_)) => "handoff.delegation_reopened",
    Event::Handoff(HandoffEvent::DelegationRecalled(_)) => "handoff.delegation_recalled",
    Event::Handoff(HandoffEvent::WorkqSettled(_)) => "handoff.workq_settled",
    Event::Handoff(HandoffEvent::WorkqDegraded(_)) => "handoff.workq_degraded",
    Event::Agent(agent::Event::Registered(_)) => "agent.registered",
    Event::Agent(agent::Event::RolesChanged(_)) => "agent.roles_changed",
    Event::Agent(agent::Event::WakeChanged(_)) => "agent.wake_changed",
    Event::Agent(agent::Event::EndpointChanged(_)) => "agent.endpoint_changed",
    Event::Agent(agent::Event::QueueChanged(_)) => "agent.queue_changed",
    Event::Agent(agent::Event::PresenceChanged(_)) => "agent.presence_changed",
    Event::Agent(agent::Event::NoticesRead(_)) => "agent.notices_read",
    Event::Agent(agent::Event::NoticesMuted(_)) => "agent.notices_muted",
    Event::Agent(agent::Event::Connected(_)) => "agent.connected",
    Event::Agent(agent::Event::ConnectionLost(_)) => "agent.connection_lost",
    Event::Agent(agent::Event::Lost(_)) => "agent.lost",
    Event::Token(token::Event::Issued(_)) => "token.issued",
    Event::Token(token::Event::Revoked(_)) => "token.revoked",
    Event::Message(message::Event::Sent(_)) => "message.sent",
    Event::Message(message::Event::Delivered(_)) => "message.delivered",
    Event::Message(message::Event::Read(_)) => "message.read",
    Event::Message(message::Event::Expired(_)) => "message.expired",
    Event::Teamspace(teamspace::Event::Created(_)) => "teamspace.created",
    Event::Teamspace(teamspace::Event::Configured(_)) => "teamspace.configured",
    Event::Graph(graph::Event::Saved(_)) => "graph.saved",
    Event::Graph(graph::Event::Removed(_)) => "graph.removed",
    Event::Session(session::Event::Announced(_)) => "session.announced",
    Event::Session(session::Event::Answered(_)) => "session.answered",
    Event::Session(session::Event::TimedOut(_)) => "session.timed_out",
    Event::Session(session::Event::Withdrawn(_)) => "session.withdrawn",
    Event::Session(session::Event::HandedOver(_)) => "session.handed_over",
    Event::Session(session::Event::Delivered(_)) => "session.delivered",
    Event::Subscription(subscription::Event::Opened(_)) => "subscription.opened",
    Event::Subscription(subscription::Event::Agreed(_)) => "subscription.agreed",
    Event::Subscription(subscription::Event::Closed(_)) => "subscription.closed",
    Event::Webhook(webhook::Event::Created(_)) => "webhook.created",
    Event::Webhook(webhook::Event::Changed(_)) => "webhook.changed",
    Event::Webhook(webhook::Event::KeyRotated(_)) => "webhook.key_rotated",
    Event::Webhook(webhook::Event::Paused(_)) => "webhook.paused",
    Event::Webhook(webhook::Event::Resumed(_)) => "webhook.resumed",
    Event::Webhook(webhook::Event::SetAside(_)) => "webhook.set_aside",
    Event::Webhook(webhook::Event::Settled(_)) => "webhook.settled",
    Event::Webhook(webhook::Event::Removed(_)) => "webhook.removed",
    Event::File(file::Event::Stored(_)) => "file.stored",
    Event::File(file::Event::Referenced(_)) => "file.referenced",
    Event::File(file::Event::Released(_)) => "file.released",
    Event::File(file::Event::Removed(_)) => "file.removed",
    Event::File(file::Event::Deleted(_)) => "file.deleted",
    Event::Question(question::Event::Asked(_)) => "question.asked",
    Event::Question(question::Event::Answered(_)) => "question.answered",
    Event::Question(question::Event::Defaulted(_)) => "question.defaulted",
    Event::Question(question::Event::Unanswered(_)) => "question.unanswered",
    Event::Question(question::Event::Withdrawn(_)) => "question.withdrawn",
    Event::Question(question::Event::Claimed(_)) => "question.claimed",
    Event::Question(question::Event::ClaimRenewed(_)) => "question.claim_renewed",
    Event::Question(question::Event::ClaimLapsed(_)) => "question.claim_lapsed",
    Event::Question(question::Event::Finished(_)) => "question.finished",
    Event::Message(message::Event::Woken(_)) => "message.woken",
    Event::Message(message::Event::Failed(_)) => "message.failed",
    Event::Conversation(conversation::Event::Opened(_)) => "conversation.opened",
    Event::Conversation(conversation::Event::Said(_)) => "conversation.said",
    Event::Conversation(conversation::Event::NotHeard(_)) => "conversation.not_heard",
    Event::Conversation(conversation::Event::Delivered(_)) => "conversation.delivered",
    Event::Conversation(conversation::Event::Unreached(_)) => "conversation.unreached",
    Event::Conversation(conversation::Event::HolderSilent(_)) => "conversation.holder_silent",
    Event::Conversation(conversation::Event::Extended(_)) => "conversation.extended",
    Event::Conversation(conversation::Event::ReplyOverdue(_)) => "conversation.reply_overdue",
    Event::Conversation(conversation::Event::Routed(_)) => "conversation.routed",
    Event::Conversation(conversation::Event::Updated(_)) => "conversation.updated",
    Event::Conversation(conversation::Event::SignalsObserved(_))
        => "conversation.signals_observed",
    Event::Conversation(conversation::Event::Closed(_)) => "conversation.closed",
    Event::Conversation(conversation::Event::Transfer(transfer::Event::Requested(_))) =>
        "transfer.requested",
    Event::Conversation(conversation::Event::Transfer(transfer::Event::Queued(_))) =>
        "transfer.queued",
    Event::Conversation(conversation::Event::Transfer(transfer::Event::Ringing(_))) =>
        "transfer.ringing",
    Event::Conversation(conversation::Event::Transfer(transfer::Event::Returned(_))) =>
        "transfer.returned",
    Event::Conversation(conversation::Event::Transfer(transfer::Event::PassedOn(_))) =>
        "transfer.passed_on",
    Event::Conversation(conversation::Event::Transfer(transfer::Event::Connected(_))) =>
        "transfer.connected",
    Event::Conversation(conversation::Event::Transfer(transfer::Event::Consulted(_))) =>
        "transfer.consulted",
    Event::Conversation(conversation::Event::Transfer(transfer::Event::Held(_))) =>
        "transfer.held",
    Event::Conversation(conversation::Event::Transfer(transfer::Event::Resumed(_))) =>
        "transfer.resumed",
    Event::Conversation(conversation::Event::Transfer(transfer::Event::LegRequested(_))) =>
        "transfer.leg_requested",
    Event::Conversation(conversation::Event::Transfer(transfer::Event::LegEnded(_))) =>
        "transfer.leg_ended",
    Event::Conversation(conversation::Event::Transfer(transfer::Event::Noted(_))) =>
        "transfer.noted",
    Event::Conversation(conversation::Event::Transfer(transfer::Event::Over(_))) =>
        "transfer.over",
    Event::Conversation(conversation::Event::Transfer(transfer::Event::Rated(_))) =>
        "transfer.rated",
    Event::Conversation(conversation::Event::Callback(callback::Event::Asked(_))) =>
        "callback.asked",
    Event::Conversation(conversation::Event::Callback(callback::Event::Settled(_))) =>
        "callback.settled",
    Event::Erased(_) => "ledger.erased",
    Event::Forked(_) => "ledger.forked",
}

/// The content of a file.
#[derive(Serialize, Deserialize)]
struct Golden {
    name: String,
    version: u32,
    body: Box<RawValue>,
}

#[test]
fn a_kind_is_the_name_of_an_event_or_its_family() {
    for name in NAMES {
        let family = name.split('.').next().unwrap();
        assert!(is_kind(name) && is_kind(family), "{name}");
    }
    for unknown in ["", "handof", "handoff.", "handoff.lost", "transfer.x", "hand", "Handoff"] {
        assert!(!is_kind(unknown), "{unknown}");
    }
}

#[test]
fn every_shape_ever_written_is_read_and_written_the_same() {
    let mut n_files = 0;
    for entry in fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let golden: Golden = serde_json::from_str(&text).unwrap();
        let event = decode(&golden.name, golden.version, golden.body.get());
        let event = event.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert_eq!(event.name(), name(&event), "names are for ever");
        assert_eq!(event.name(), golden.name, "{}", path.display());
        assert_eq!(file_text(&event), text, "{}", path.display());
        n_files += 1;
    }
    assert!(n_files >= shapes().len());
}

#[test]
fn every_event_has_its_golden_files() {
    for (shape, event) in shapes() {
        let path = folder().join(format!("{}.v1.{shape}.json", event.name()));
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            // An existing file is history: `create_new` leaves it alone.
            if let Ok(mut file) = fs::File::create_new(&path) {
                file.write_all(file_text(&event).as_bytes()).unwrap();
            }
        }
        let text = fs::read_to_string(&path).unwrap_or_default();
        assert!(text == file_text(&event), "{} is missing or differs", path.display());
    }
    let covered: BTreeSet<_> = shapes().iter().map(|(_, event)| name(event)).collect();
    assert_eq!(covered, NAMES.iter().copied().collect());
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("golden")
}

fn file_text(event: &Event) -> String {
    let recorded = encode(event);
    let body = RawValue::from_string(recorded.body).expect("a body is JSON");
    let golden = Golden { name: recorded.name.to_owned(), version: recorded.version, body };
    serde_json::to_string(&golden).expect("a golden file is JSON") + "\n"
}

/// `least` has only the required fields, `most` has all of them.
fn shapes() -> Vec<(&'static str, Event)> {
    let mut shapes: Vec<_> = handoff_shapes()
        .into_iter()
        .chain(completion_shapes())
        .chain(report_shapes())
        .map(|(shape, event)| (shape, Event::Handoff(event)))
        .collect();
    shapes.extend(agent_shapes().into_iter().map(|(shape, event)| (shape, Event::Agent(event))));
    shapes.extend([
        ("least", Event::Erased(Erased { position: 3, reason: "asked by its sender".to_owned() })),
        (
            "least",
            Event::Forked(Forked {
                lost_size: 120,
                lost_root: "ab".repeat(32),
                reason: "the disk died".to_owned(),
            }),
        ),
    ]);
    shapes.extend(token_shapes());
    shapes.extend(message_shapes());
    shapes.extend(conversation_shapes());
    shapes.extend(transfer_shapes());
    shapes.extend(subscription_shapes());
    shapes.extend(webhook_shapes());
    shapes.extend(file_shapes());
    shapes.extend(question_shapes());
    shapes.extend(callback_shapes());
    shapes.extend(teamspace_shapes());
    shapes.extend(graph_shapes());
    shapes.extend(session_shapes());
    shapes
}

fn token_shapes() -> Vec<(&'static str, Event)> {
    let issued = |grant| {
        let secret_hash = "cd".repeat(32);
        Event::Token(token::Event::Issued(token::Issued { grant, secret_hash }))
    };
    vec![
        (
            "least",
            issued(Grant {
                bearer: agent("barry"),
                bearer_kind: BearerKind::Agent,
                roles: BTreeSet::new(),
                expires_at: None,
            }),
        ),
        (
            "most",
            issued(Grant {
                bearer: agent("root"),
                bearer_kind: BearerKind::Operator,
                roles: Role::ALL.into_iter().collect(),
                expires_at: Some(time()),
            }),
        ),
        ("least", Event::Token(token::Event::Revoked(token::Revoked {}))),
    ]
}

fn teamspace_shapes() -> Vec<(&'static str, Event)> {
    let least = Configuration::default();
    let day = Some(Span::from_hours(24));
    let most = Configuration {
        name: "Red".to_owned(),
        description: "Mends builds".to_owned(),
        settings: Settings {
            answer_within: None,
            consent_seconds: None,
            evidence_required: true,
            message_retention_days: Some(30),
            session_silence_minutes: None,
            sla: Slas {
                accepted: day,
                activated: day,
                proposed: day,
                validating: day,
                warn_percent: Some(80),
            },
            strong_consent_required: false,
            verifier_required: true,
        },
        quotas: SetQuotas::new(),
    };
    vec![
        ("least", Event::Teamspace(teamspace::Event::Created(least.clone()))),
        ("most", Event::Teamspace(teamspace::Event::Created(most.clone()))),
        ("least", Event::Teamspace(teamspace::Event::Configured(least))),
        ("most", Event::Teamspace(teamspace::Event::Configured(most.clone()))),
        ("consent", Event::Teamspace(teamspace::Event::Configured(consent(most.clone())))),
        ("quotas", Event::Teamspace(teamspace::Event::Configured(quotas(most.clone())))),
        ("silence", Event::Teamspace(teamspace::Event::Configured(silence(most)))),
    ]
}

fn consent(configuration: Configuration) -> Configuration {
    let settings = Settings {
        consent_seconds: Some(30),
        strong_consent_required: true,
        ..configuration.settings
    };
    Configuration { settings, ..configuration }
}

fn quotas(configuration: Configuration) -> Configuration {
    let quotas = SetQuotas::from([(Quota::TeamspaceStoredMib, 1024), (Quota::MemberDrafts, 0)]);
    Configuration { quotas, ..configuration }
}

fn silence(configuration: Configuration) -> Configuration {
    let settings = Settings { session_silence_minutes: Some(60), ..configuration.settings };
    Configuration { settings, ..configuration }
}

fn message_shapes() -> Vec<(&'static str, Event)> {
    let sent = |text: &str| {
        let sent = serde_json::from_str(text).expect("a sent message");
        Event::Message(message::Event::Sent(Box::new(sent)))
    };
    let (from, to) = (agent("barry"), vec![agent("tim")]);
    let delivered = message::event::Delivered { from: from.clone(), to: to.clone() };
    let read = message::event::Read { from: from.clone(), to: to.clone() };
    let woken = message::event::Woken { from: from.clone(), to: to.clone() };
    let detail = "the server failed with 500".to_owned();
    let failed = message::event::Failed { from: from.clone(), to: to.clone(), detail };
    vec![
        (
            "least",
            sent(
                r#"{"version":"1.0.0","from":"barry","to":["tim"],"thread_id":"t",
                    "type":"status.update","priority":"normal","payload":{}}"#,
            ),
        ),
        (
            "most",
            sent(
                r#"{"version":"1.0.0","from":"barry","to":["tim","tom"],"broadcast":true,
                    "team":"red","thread_id":"t","type":"knowledge.push","topic":"builds",
                    "reply_to":"01938c2e-0000-7000-8000-000000000001","priority":"critical",
                    "sequence":7,"expires_at":"2026-02-21T14:00:00Z",
                    "payload":{"a":[1,2.5,null],"b":"x"},
                    "policy":{"visibility":"private","sensitivity":"high","human_gate":"required"},
                    "context":{"session_id":"s","external_refs":[{"type":"url","value":"u"}],
                               "artifacts":[{"type":"file","path":"/log"}]}}"#,
            ),
        ),
        ("least", Event::Message(message::Event::Delivered(delivered))),
        ("least", Event::Message(message::Event::Read(read))),
        (
            "waking",
            sent(
                r#"{"version":"1.0.0","from":"barry","to":["tim"],"thread_id":"t",
                    "type":"status.blocked","priority":"critical","payload":{},"wake":["tim"]}"#,
            ),
        ),
        (
            "per_sender",
            sent(
                r#"{"version":"1.0.0","from":"barry","to":["tim"],"thread_id":"t",
                    "type":"status.update","priority":"normal","payload":{},"per_sender":true}"#,
            ),
        ),
        ("least", Event::Message(message::Event::Woken(woken))),
        ("least", Event::Message(message::Event::Failed(failed))),
        ("least", Event::Message(message::Event::Expired(message::event::Expired { from, to }))),
    ]
}

fn graph_shapes() -> Vec<(&'static str, Event)> {
    let saved = graph::Saved {
        version: 2,
        hash: "ab".repeat(32),
        size_bytes: 812,
        n_routers: 1,
        n_specialists: 2,
        n_rules: 3,
        n_signals: 1,
    };
    let removed = graph::Removed { version: 2 };
    vec![
        ("least", Event::Graph(graph::Event::Saved(saved))),
        ("least", Event::Graph(graph::Event::Removed(removed))),
    ]
}
