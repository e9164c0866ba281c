//! A handoff that an agent requests in its session, translated into a request to the conversation:
//! for a person of a queue, or for another agent. The context that the agent packs is untrusted
//! text, so it is cleaned, and cut to the size limits.

use serde_json::{Map, Value, json};

use crate::agent::{Agent, Kind as AgentKind};
use crate::canonical;
use crate::conversation::command::Route;
use crate::conversation::state::Conversation;
use crate::hidden::is_blank;
use crate::ids::{AgentId, SessionId, TransferId};
use crate::json::{self, Bounds, is_forbidden};
use crate::notes::NOTES_BYTES_MAX;
use crate::time::Time;
use crate::transfer::bundle::{About, SUMMARY_BYTES_MAX, WARM_CONTEXT_BYTES_MAX};
use crate::transfer::command::Request;
use crate::transfer::kind::Kind;
use aaep::event::{HandoffRequest, Risk, TargetKind};

/// `urgency_for_handoff` as a priority. A level of priority is worth five minutes of waiting: an
/// urgent request passes items that came up to a quarter of an hour before it.
const PRIORITY_LOW: i32 = -2;
const PRIORITY_HIGH: i32 = 3;

/// The member of the context that counts the members that did not fit.
const LEFT_OUT: &str = "tasuki_left_out";

/// Room for that member.
const LEFT_OUT_BYTES: usize = 64;

/// The target of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Goal {
    pub to: To,
    /// The requested target does not exist, so it goes to the default queue.
    pub is_unknown: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum To {
    /// The people of a queue; of the default one when absent.
    Queue(Option<AgentId>),
    Agent(AgentId),
}

/// The name in `queue://…` and `agent://…`: the last part of the path. Producers may use the parts
/// before it as they like.
pub fn target(uri: &str) -> Option<AgentId> {
    let (scheme, rest) = uri.split_once("://")?;
    if !["queue", "agent"].iter().any(|known| scheme.eq_ignore_ascii_case(known)) {
        return None;
    }
    let path = rest.split(['?', '#']).next()?.trim_end_matches('/');
    path.rsplit('/').next()?.parse().ok()
}

/// The target of a request. `named` is the directory entry of the name in `target_uri`. A request
/// for a person always gets a person, whatever the name is.
pub fn goal(
    request: &HandoffRequest<'_>,
    named: Option<&Agent>,
    conversation: &Conversation,
) -> Goal {
    let is_specialist = request.target_kind == TargetKind::SpecialistAgent;
    if request.target_uri.is_none() {
        let supervisor = conversation.setup.topology.supervisor();
        let supervisor = supervisor.filter(|agent| **agent != conversation.holder);
        let to = match supervisor {
            Some(agent) if is_specialist => To::Agent(agent.clone()),
            Some(_) | None => To::Queue(None),
        };
        return Goal { to, is_unknown: false };
    }
    let to = named.and_then(|agent| match agent.kind {
        AgentKind::Queue => Some(To::Queue(Some(agent.id.clone()))),
        AgentKind::Worker | AgentKind::System => is_specialist.then(|| To::Agent(agent.id.clone())),
        // A person is reached through a queue.
        AgentKind::Human => None,
    });
    match to {
        Some(to) => Goal { to, is_unknown: false },
        None => Goal { to: To::Queue(None), is_unknown: true },
    }
}

/// The id of the transfer that a request begins; the same for each repeat.
pub fn transfer_id(session: &SessionId, event_id: &str, at: Time) -> TransferId {
    let parts = [session.as_str().as_bytes(), b"\n", event_id.as_bytes()];
    TransferId::from_hash(&canonical::sha256(&parts), at)
}

/// A repeat with the same key changes nothing.
pub fn request_key(session: &SessionId, event_id: &str) -> String {
    format!("aaep/{session}/{event_id}")
}

/// The request for a person.
pub fn transfer(
    request: &HandoffRequest<'_>,
    queue: Option<AgentId>,
    epoch: u64,
    request_key: String,
) -> Request {
    let context = packed(request, WARM_CONTEXT_BYTES_MAX);
    let kind = if context.is_some() { Kind::Warm } else { Kind::BotToHuman };
    let priority = match request.urgency {
        Some(Risk::Low) => PRIORITY_LOW,
        Some(Risk::Medium) | None => 0,
        Some(Risk::High) => PRIORITY_HIGH,
    };
    let summary = request.summary.as_deref().map(|text| cleaned(text, SUMMARY_BYTES_MAX));
    Request {
        queue,
        kind,
        reason: Some(cleaned(&request.reason, NOTES_BYTES_MAX)),
        priority,
        wanted: None,
        epoch: Some(epoch),
        request_key: Some(request_key),
        context: About {
            summary: summary.filter(|text| !is_blank(text)),
            warm_context: context,
            ..About::default()
        },
        words: None,
        customer_text: None,
    }
}

/// The request to hand over to another agent.
pub fn route(request: &HandoffRequest<'_>, goto: AgentId, epoch: u64) -> Route {
    let context = packed(request, NOTES_BYTES_MAX);
    Route {
        goto: Some(goto),
        reason: Some(cleaned(&request.reason, NOTES_BYTES_MAX)),
        context: context.map(|context| canonical::canonical(&Value::Object(context))),
        epoch: Some(epoch),
        ..Route::default()
    }
}

/// `packaged_context`, up to the size limit. Members that did not fit are counted in it.
fn packed(request: &HandoffRequest<'_>, bytes_max: usize) -> Option<Map<String, Value>> {
    let context = read(request.packaged_context?)?;
    let mut n_bytes = LEFT_OUT_BYTES;
    let mut n_left_out = 0_u64;
    let mut taken = Map::new();
    for (name, value) in context {
        // With its quotes, a colon and a comma; an escaped name is longer.
        let size = canonical::canonical(&json!([name, value])).len() + 2;
        match n_bytes + size <= bytes_max {
            true => {
                n_bytes += size;
                taken.insert(name, value);
            }
            false => n_left_out += 1,
        }
    }
    if n_left_out > 0 {
        taken.insert(LEFT_OUT.to_owned(), n_left_out.into());
    }
    Some(taken)
}

/// Cleaned, and held to the same limits as other input; if it cannot be parsed, all of it is left
/// out.
fn read(text: &str) -> Option<Map<String, Value>> {
    let value = without_forbidden(serde_json::from_str(text).ok()?);
    match json::parse(value.to_string().as_bytes(), &Bounds::default()) {
        Ok(Value::Object(context)) => Some(context),
        Ok(_) => None,
        Err(_) => Some(Map::from_iter([(LEFT_OUT.to_owned(), 1.into())])),
    }
}

fn without_forbidden(value: Value) -> Value {
    let plain = |text: String| text.chars().filter(|one| !is_forbidden(*one)).collect::<String>();
    match value {
        Value::String(text) => Value::String(plain(text)),
        Value::Array(items) => items.into_iter().map(without_forbidden).collect(),
        Value::Object(members) => {
            let members = members.into_iter();
            members.map(|(name, value)| (plain(name), without_forbidden(value))).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
    }
}

/// Without forbidden characters, and cut to the limit.
fn cleaned(text: &str, bytes_max: usize) -> String {
    let mut out: String = text.chars().filter(|one| !is_forbidden(*one)).collect();
    let mut end = out.len().min(bytes_max);
    while !out.is_char_boundary(end) {
        end -= 1;
    }
    out.truncate(end);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_part_of_the_path_names_the_target() {
        for (uri, expected) in [
            ("queue://customer-service/financial-advisor", Some("financial-advisor")),
            ("agent://specialists/database-admin", Some("database-admin")),
            ("agent://billing", Some("billing")),
            ("QUEUE://billing/", Some("billing")),
            ("queue://billing?x=1#y", Some("billing")),
            ("queue://a/b%2Ec", None),
            ("queue://", None),
            ("queue:billing", None),
            ("https://billing", None),
            ("agent://a b", None),
        ] {
            let found = target(uri);
            assert_eq!(found.as_ref().map(AgentId::as_str), expected, "{uri}");
        }
    }

    fn asking(context: &str) -> Option<Map<String, Value>> {
        let request = HandoffRequest {
            reason: "hm".into(),
            target_kind: TargetKind::Human,
            target_uri: None,
            packaged_context: Some(context),
            urgency: None,
            summary: None,
        };
        packed(&request, 200)
    }

    #[test]
    fn a_context_is_cleaned_and_cut_to_what_is_taken() {
        let long = "x".repeat(100);
        let cut = json!({ "a": 1, "b": long, "c": long, "d": [true] }).to_string();
        for (context, expected) in [
            (r#"{"goal":"refund"}"#, json!({ "goal": "refund" })),
            (r#"{"g\u202eoal":"a\u0000b\u202e"}"#, json!({ "goal": "ab" })),
            (r#"{"account":12345678901234567890}"#, json!({ LEFT_OUT: 1 })),
            (&cut, json!({ "a": 1, "b": long, "d": [true], LEFT_OUT: 1 })),
        ] {
            let packed = asking(context).map(Value::Object);
            assert_eq!(packed, Some(expected), "{context}");
        }
        assert_eq!(asking("[]"), None);
    }

    #[test]
    fn texts_are_cut_between_characters() {
        assert_eq!(cleaned("a\u{202e}\u{e9}\u{e9}", 4), "a\u{e9}");
        assert_eq!(cleaned("abc", 4), "abc");
    }
}
