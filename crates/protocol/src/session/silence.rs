//! Sessions that the server ends for their producers: because of a long silence, or because all of
//! it is erased. Open parts are closed first, as the rules require.

use serde_json::{Map, Value, json};

use super::event::{Announced, Said};
use super::state::{EventPlace, Session};
use crate::canonical;
use crate::narrator::ours;
use crate::narrator::texts::{DEFAULT_LANGUAGE, Message, hints};
use crate::teamspace::SESSION_SILENCE_MINUTES;
use crate::time::{Span, Time};
use aaep::machine::Weak;
use aaep::read::read;
use aaep::stamp::stamp;
use aaep::{CONTEXT, EXTENSION, EXTENSION_CONTEXT, VERSION};

/// Why the server ends a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Why {
    Silent,
    Erased,
}

/// The deadline moves in steps of this fraction of the silence limit, so that most events leave it
/// unchanged: with a limit of a day it moves once an hour.
const STEPS: i64 = 24;

impl Session {
    /// When its producer counts as gone. A session that waits for an answer is not silent. The
    /// server's own sessions end with what they report on.
    pub(super) fn left_at(&self) -> Option<Time> {
        let waits = !self.machine.pending().is_empty();
        if !self.is_open() || waits || ours::is_ours(&self.id) {
            return None;
        }
        let heard = self.heard_at?;
        let silence = silence(self.silence_minutes);
        let step = (silence.as_millis() / STEPS).max(1);
        let late = step - heard.as_millis().rem_euclid(step);
        Some(heard.plus(silence).plus(Span::from_millis(late)))
    }

    /// The events with which the server ends a session.
    pub(super) fn ended_for_its_producer(&self, why: Why, now: Time) -> Announced {
        let mut ended = self.clone();
        let position = self.n_entries + 1;
        let mut announced = Announced::new(Vec::new());
        let message = why.message(self.producer.as_str());
        for payload in self.closing(why) {
            let index = announced.events.len();
            let event = ended.by_the_server(&message, payload, index, now);
            let text = Value::Object(event).to_string();
            // The closed parts were open under the same names, so no event is skipped here.
            let Ok(event) = read(&text) else { continue };
            let when = (EventPlace { position, index }, now, Weak::Allowed);
            let followed = ended.follow(&event, when, &|_| false, &mut Vec::new());
            let Ok(followed) = followed else { continue };
            let withdrawn = followed.withdrawn.into_iter().map(|settled| settled.reply_token);
            announced.withdrawn.extend(withdrawn);
            announced.events.extend(Said::new(text));
        }
        announced
    }

    /// What each event has besides the common fields.
    fn closing(&self, why: Why) -> Vec<Value> {
        let ends = self.machine.loose_ends();
        let message = why.message(self.producer.as_str()).in_language(DEFAULT_LANGUAGE).normal;
        let calls = ends.calls.iter().map(|(tool, call)| {
            let mut payload = json!({
                "type": "aaep:agent.tool.completed", "tool": tool, "status": "timeout",
                "error_message": message,
            });
            if let Some(call) = call {
                payload["tool_call_id"] = (*call).into();
            }
            payload
        });
        let outputs = ends.outputs.iter().map(|(output, length)| {
            let mut payload = json!({
                "type": "aaep:agent.output.streaming",
                "chunk": "", "position": length, "complete": true,
            });
            if let Some(output) = output {
                payload["output_id"] = (*output).into();
            }
            payload
        });
        let end = json!({
            "type": "aaep:agent.session.cancelled",
            "cancelled_by": why.by(), "cancellation_reason": why.as_str(),
        });
        calls.chain(outputs).chain([end]).collect()
    }

    /// An event in the name of the producer, marked as made by the server. Its id cannot be
    /// guessed, so no producer has used it.
    fn by_the_server(
        &self,
        message: &Message<'_>,
        payload: Value,
        index: usize,
        now: Time,
    ) -> Map<String, Value> {
        let id = self.id.as_str();
        let moment = format!("{id} {} {index} {}", self.n_entries, now.as_millis());
        let digest = canonical::hex(&canonical::sha256(&[moment.as_bytes()]));
        // The producer's clock may have been ahead of ours.
        let at = now.max(self.machine.last_timestamp());
        let event = json!({
            "@context": [CONTEXT, EXTENSION_CONTEXT],
            "aaep_version": VERSION,
            "event_id": format!("evt_{}", &digest[..32]),
            "session_id": id,
            "timestamp": stamp(at),
            "producer": { "agent_id": self.producer.as_str() },
            "urgency": "normal",
            "localization_hints": hints(DEFAULT_LANGUAGE),
            "extensions": { EXTENSION: { "by": "server" } },
        });
        let (Value::Object(mut event), Value::Object(payload)) = (event, payload) else {
            unreachable!("both are objects");
        };
        if let Some(number) = self.machine.next_number() {
            event.insert("sequence_number".to_owned(), number.into());
        }
        message.put_summaries(DEFAULT_LANGUAGE, &mut event);
        event.extend(payload);
        event
    }
}

impl Why {
    fn as_str(self) -> &'static str {
        match self {
            Why::Silent => "producer_silent",
            Why::Erased => "erased",
        }
    }

    fn by(self) -> &'static str {
        match self {
            Why::Silent => "timeout",
            Why::Erased => "system",
        }
    }

    fn message(self, agent: &str) -> Message<'_> {
        match self {
            Why::Silent => Message::SessionAbandoned { agent },
            Why::Erased => Message::SessionCancelled { agent },
        }
    }
}

fn silence(minutes: Option<u32>) -> Span {
    Span::from_minutes(i64::from(minutes.unwrap_or(SESSION_SILENCE_MINUTES)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::state::opening;
    use crate::session::{Status, evolve};
    use crate::time::Span;

    /// With any open parts, any names, and any producer clock.
    #[test]
    fn every_session_can_be_ended() {
        let longest = "x_.-".repeat(16);
        let long = "x".repeat(64);
        let call = |tool: &str, id: Option<&str>| {
            let mut call = json!({ "type": "aaep:agent.tool.invoked", "tool": tool });
            if let Some(id) = id {
                call["tool_call_id"] = format!("call_{id}").into();
            }
            call
        };
        let chunk = |id: Option<&str>| {
            let mut chunk = json!({
                "type": "aaep:agent.output.streaming",
                "chunk": "añ日🦀", "position": 0, "complete": false,
            });
            if let Some(id) = id {
                chunk["output_id"] = format!("out_{id}").into();
            }
            chunk
        };
        let many = |n: usize, of: &dyn Fn(&str) -> Value| -> Vec<Value> {
            (0..n).map(|number| of(&number.to_string())).collect()
        };
        let cases = [
            ("nothing", Vec::new()),
            ("a call", vec![call("pay", None)]),
            ("two alike", vec![call("pay", None), call("pay", None)]),
            ("long names", vec![call(&longest, Some(&long)), chunk(Some(&long))]),
            ("an output of each kind", vec![chunk(None), chunk(Some("1"))]),
            ("as many calls as there can be", many(64, &|id| call("pay", Some(id)))),
            ("as many outputs as there can be", many(32, &|id| chunk(Some(id)))),
        ];
        for (what, payloads) in cases {
            for (is_numbered, timestamp) in [
                (true, "2026-05-24T14:22:01.000Z"),
                (false, "2026-05-24T14:22:01.000Z"),
                (false, "2199-01-01T00:00:00.999Z"),
            ] {
                let session = said(&payloads, is_numbered, timestamp);
                assert!(session.is_open(), "{what}");
                let now = session.left_at().expect("it is silent");
                let ended = session.ended_for_its_producer(Why::Silent, now);
                assert_eq!(ended.events.len(), payloads.len() + 1, "{what}: {ended:?}");
                let all = ended.events.iter().all(|said| said.text().contains("\"by\":\"server\""));
                assert!(all, "{what}");
                let event = super::super::Event::Announced(Box::new(ended));
                let id = session.id.clone();
                let session = evolve(&id, Some(session), &event, now).expect("a history");
                assert_eq!(
                    (session.status, session.left_at()),
                    (Status::Cancelled, None),
                    "{what}"
                );
            }
        }
    }

    /// The deadline is after the silence limit, by less than a step, and moves once in a step.
    #[test]
    fn the_deadline_moves_seldom() {
        let mut session = said(&[], true, "2026-05-24T14:22:01.000Z");
        let start = session.started_at;
        let mut dues = std::collections::BTreeSet::new();
        let (silence, step) = (silence(None), Span::from_hours(1));
        for minutes in 0..24 * 60 {
            let at = start.plus(Span::from_minutes(minutes));
            session.heard_at = Some(at);
            let due = session.left_at().expect("it is silent");
            let late = due.since(at.plus(silence));
            assert!(late.as_millis() > 0 && late <= step, "{late:?}");
            dues.insert(due);
        }
        assert!(dues.len() <= 25, "{}", dues.len());
        session.silence_minutes = Some(1);
        assert!(session.left_at().expect("it is silent").since(start) < Span::from_hours(25));
    }

    fn said(payloads: &[Value], is_numbered: bool, timestamp: &str) -> Session {
        let at: Time = "2026-05-24T14:22:02Z".parse().expect("a time");
        let start = json!({ "type": "aaep:agent.session.started" });
        let mut session: Option<Session> = None;
        for (number, payload) in std::iter::once(&start).chain(payloads).enumerate() {
            let mut event = json!({
                "@context": CONTEXT, "event_id": format!("evt_{number}"), "session_id": "sess_1",
                "timestamp": timestamp, "producer": { "agent_id": "teller" },
                "summary_normal": "At work.", "risk_level": "low",
            });
            let fields = event.as_object_mut().expect("an object");
            fields.extend(payload.as_object().expect("an object").clone());
            if is_numbered {
                fields.insert("sequence_number".to_owned(), number.into());
            }
            let text = event.to_string();
            let event = read(&text).unwrap_or_else(|flaws| panic!("{text}: {flaws:?}"));
            let session = session.get_or_insert_with(|| {
                let opening = opening(&event, "teller".parse().expect("a name")).expect("a start");
                Session::new(&"sess_1".parse().expect("an id"), opening, at)
            });
            let when = (EventPlace { position: 1, index: number }, at, Weak::Allowed);
            let followed = session.follow(&event, when, &|_| false, &mut Vec::new());
            followed.unwrap_or_else(|flaw| panic!("{text}: {flaw:?}"));
        }
        session.expect("it has begun")
    }
}
