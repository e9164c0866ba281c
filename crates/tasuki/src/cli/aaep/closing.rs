//! Which questions a later event closes. If another listener settles a question, the server tells
//! the listeners that could have answered. A listener that only watches infers it from the agent's
//! next event. A question stays open until that is certain.

use aaep::{AGENT_ID, EXTENSION};
use protocol::narrator::settled::QUESTION_SETTLED;
use protocol::time::Time;
use serde_json::Value;

use super::question::Question;
use super::speech::Text;
use super::words::{is_terminal, kind};

/// Questions of each kind that are remembered. Beyond this the oldest is forgotten.
const REMEMBERED_MAX: usize = 32;

/// Questions that are no longer open here.
#[derive(Debug, Default)]
pub struct Answered {
    /// The accepted ones that wait for their call: that call says nothing about other questions.
    accepted: Vec<Question>,
    /// Those that were answered here. The answer may have come too late.
    sent: Vec<Question>,
}

impl Answered {
    pub fn accept(&mut self, question: Question) {
        remember(&mut self.accepted, question);
    }

    pub fn send(&mut self, question: Question) {
        remember(&mut self.sent, question);
    }

    /// The question whose answer did not count, and why. The server tells how a question was
    /// settled to all but the listener whose answer settled it.
    pub fn not_counted(&mut self, event: &Value) -> Option<(usize, Text)> {
        if kind(event) != QUESTION_SETTLED || event["producer"]["agent_id"] != AGENT_ID {
            return None;
        }
        if event["outcome"] != "accepted" {
            self.accepted.retain(|it| !is_of(event, it));
        }
        let at = self.sent.iter().position(|it| is_of(event, it))?;
        Some((self.sent.remove(at).number, why(event)))
    }

    /// The questions that an event closes, by their numbers, and why.
    pub fn closed_by(&mut self, event: &Value, open: &[Question]) -> Vec<(usize, Text)> {
        let is_over = |it: &Question| it.event["session_id"] == event["session_id"];
        let all = |why: Text, is_meant: &dyn Fn(&Question) -> bool| {
            let concerned = open.iter().filter(|it| is_meant(it));
            concerned.map(|it| (it.number, why)).collect::<Vec<_>>()
        };
        match kind(event) {
            _ if is_terminal(event) => {
                self.accepted.retain(|it| !is_over(it));
                all(Text::WhyOver, &is_over)
            }
            "state.changed" if is_withdrawal(event) => {
                self.accepted.retain(|it| !is_after(event, it));
                all(Text::WhySettled, &|it| is_after(event, it))
            }
            "tool.invoked" => self.called(event, open),
            QUESTION_SETTLED if event["producer"]["agent_id"] == AGENT_ID => {
                let settled: Vec<_> = open.iter().filter(|it| is_of(event, it)).collect();
                if event["outcome"] == "accepted" {
                    // Its call says nothing about the others.
                    settled.iter().for_each(|it| self.accept((*it).clone()));
                }
                settled.into_iter().map(|it| (it.number, why(event))).collect()
            }
            _ => Vec::new(),
        }
    }

    /// A call follows from an accepted question: the one that names it, or else the only one that
    /// may be meant.
    fn called(&mut self, call: &Value, open: &[Question]) -> Vec<(usize, Text)> {
        let is_named = |it: &Question| is_after(call, it) && names(it, call);
        let named = open.iter().filter(|it| is_named(it)).map(|it| it.number).collect::<Vec<_>>();
        let n_accepted = self.accepted.len();
        self.accepted.retain(|it| !is_named(it));
        let meant = if !named.is_empty() || self.accepted.len() < n_accepted {
            named
        } else if let Some(at) = self.accepted.iter().position(|it| may_be_meant(it, call)) {
            self.accepted.remove(at);
            Vec::new()
        } else {
            let meant = open.iter().filter(|it| may_be_meant(it, call)).map(|it| it.number);
            Some(meant.collect::<Vec<_>>()).filter(|all| all.len() == 1).unwrap_or_default()
        };
        meant.into_iter().map(|number| (number, Text::WhyAccepted)).collect()
    }
}

fn remember(questions: &mut Vec<Question>, question: Question) {
    if questions.len() >= REMEMBERED_MAX {
        questions.remove(0);
    }
    questions.push(question);
}

/// Whether the server says that this question is settled.
fn is_of(event: &Value, question: &Question) -> bool {
    let asked = &question.event;
    event["session_id"] == asked["session_id"] && event["question"] == asked["event_id"]
}

fn why(event: &Value) -> Text {
    match (event["settled_by"].as_str(), event["outcome"].as_str()) {
        (Some("time"), _) => Text::WhyTime,
        (_, Some("withdrawn")) => Text::WhyWithdrawn,
        (_, Some("accepted")) => Text::WhyAccepted,
        (_, Some("rejected")) => Text::WhyRejected,
        (_, _) => Text::WhyAnswered,
    }
}

/// Whether an event is of the question's session, and later than the question.
fn is_after(event: &Value, question: &Question) -> bool {
    let at = |event: &Value| event["timestamp"].as_str()?.parse::<Time>().ok();
    let asked = &question.event;
    let is_later = at(event).is_some_and(|later| at(asked).is_some_and(|asked| later > asked));
    is_later && event["session_id"] == asked["session_id"] && event["event_id"] != asked["event_id"]
}

/// A change to any other state withdraws nothing.
fn is_withdrawal(event: &Value) -> bool {
    let is_back = matches!(event["to_state"].as_str(), Some("thinking" | "deciding"));
    // Several changes merged into one event may have withdrawn nothing.
    let is_one = event["extensions"][EXTENSION]["merged"].is_null();
    event["from_state"] == "awaiting_input" && is_back && is_one
}

fn names(question: &Question, call: &Value) -> bool {
    let (link, of_call) = (&question.event["extensions"]["tasuki"], &call["extensions"]["tasuki"]);
    let same = |one: &Value, other: &Value| one.is_string() && one == other;
    same(&link["tool_call_id"], &call["tool_call_id"])
        || same(&link["action_hash"], &of_call["action_hash"])
}

/// Whether an irreversible call that no question names may follow from this one.
fn may_be_meant(question: &Question, call: &Value) -> bool {
    let asked = &question.event;
    let link = &asked["extensions"]["tasuki"];
    let is_linked = link["tool_call_id"].is_string() || link["action_hash"].is_string();
    call["irreversible"] == true
        && kind(asked) == "awaiting.confirmation"
        && !is_linked
        && asked["irreversible"] != false
        && is_after(call, question)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn asked(number: usize, more: &Value) -> Question {
        let event = with(
            json!({
                "type": "aaep:agent.awaiting.confirmation", "event_id": format!("evt_{number}"),
                "session_id": "sess_1", "timestamp": "2026-05-24T14:22:00Z", "timeout_seconds": 60,
            }),
            more,
        );
        let speech = crate::cli::aaep::speech::Speech::new(None);
        Question::of(&event, number, Time::from_millis(0), speech).expect("it asks")
    }

    fn with(mut event: Value, more: &Value) -> Value {
        for (name, value) in more.as_object().expect("an object") {
            event[name] = value.clone();
        }
        event
    }

    fn link(name: &str, value: &str) -> Value {
        json!({ "extensions": { "tasuki": { name: value } } })
    }

    #[test]
    fn a_later_event_closes_what_it_is_about() {
        let plain = json!({});
        let (one, two) = (json!({"extensions": {"tasuki": {"tool_call_id": "call_1"}}}), &plain);
        let (aa, bb) = (link("action_hash", "aa"), link("action_hash", "bb"));
        let kept = json!({"irreversible": false});
        let clarify = json!({"type": "aaep:agent.awaiting.clarification"});
        let other = json!({"session_id": "sess_2"});
        let state = |from: &str, to: &str| json!({"from_state": from, "to_state": to});
        let call = |more: Value| with(json!({"irreversible": true}), &more);
        let call_1 = call(json!({"tool_call_id": "call_1"}));
        let settled =
            |question: &str, by: &str| json!({"question": question, "producer": {"agent_id": by}});
        let mut merged = state("awaiting_input", "thinking");
        merged["extensions"] = json!({"tasuki": {"merged": {"n_events": 2}}});
        let at_once = call(json!({"timestamp": "2026-05-24T14:22:00Z"}));
        let early = call(json!({"timestamp": "2026-05-24T14:21:59Z"}));
        // what waits, what was accepted here, the later event, what it closes
        type Row<'a> = (&'a [&'a Value], &'a [&'a Value], &'a str, Value, &'a [usize]);
        let rows: [Row<'_>; 23] = [
            (&[&plain, &clarify], &[], "session.completed", json!({}), &[1, 2]),
            (&[&plain, &other], &[], "session.cancelled", json!({}), &[1]),
            (
                &[&plain, &clarify],
                &[],
                "state.changed",
                state("awaiting_input", "thinking"),
                &[1, 2],
            ),
            (&[&plain], &[], "state.changed", state("awaiting_input", "deciding"), &[1]),
            (&[&plain], &[], "state.changed", state("awaiting_input", "calling_tool"), &[]),
            (&[&plain], &[], "state.changed", state("calling_tool", "thinking"), &[]),
            (&[&plain], &[], "tool.invoked", call(json!({})), &[1]),
            (&[&plain], &[], "tool.invoked", early, &[]),
            (&[&plain], &[], "tool.invoked", json!({}), &[]),
            (&[&plain, two], &[], "tool.invoked", call(json!({})), &[]),
            (&[&plain], &[two], "tool.invoked", call(json!({})), &[]),
            (&[&plain], &[&one], "tool.invoked", call_1.clone(), &[]),
            (&[&one, &plain], &[], "tool.invoked", call_1, &[1]),
            (&[&one], &[], "tool.invoked", call(json!({"tool_call_id": "call_2"})), &[]),
            (&[&aa, &bb], &[], "tool.invoked", call(bb.clone()), &[2]),
            (&[&aa], &[], "tool.invoked", bb.clone(), &[]),
            (&[&aa], &[], "tool.invoked", aa.clone(), &[1]),
            (&[&kept], &[], "tool.invoked", call(json!({})), &[]),
            (&[&clarify], &[], "tool.invoked", call(json!({})), &[]),
            (&[&plain, &plain], &[], QUESTION_SETTLED, settled("evt_2", AGENT_ID), &[2]),
            (&[&plain, &plain], &[], QUESTION_SETTLED, settled("evt_2", "teller"), &[]),
            (&[&plain], &[], "state.changed", merged, &[]),
            (&[&plain], &[], "tool.invoked", at_once, &[]),
        ];
        for (open, accepted, kind, more, expected) in rows {
            let open: Vec<_> = (1..).zip(open).map(|(n, more)| asked(n, more)).collect();
            let kind = match kind.contains(':') {
                true => kind.to_owned(),
                false => format!("aaep:agent.{kind}"),
            };
            let mut here = Answered::default();
            (10..).zip(accepted).for_each(|(number, more)| here.accept(asked(number, more)));
            let event = with(
                json!({"type": kind, "event_id": "evt_9",
                    "session_id": "sess_1", "timestamp": "2026-05-24T14:22:01Z"}),
                &more,
            );
            let closed = here.closed_by(&event, &open);
            let closed: Vec<usize> = closed.into_iter().map(|(number, _)| number).collect();
            assert_eq!(closed, expected, "{open:?} and {event}");
        }
    }

    /// An answer that came too late is not left as "sent".
    #[test]
    fn an_answer_that_did_not_count_is_told() {
        let settled = |by: &str, outcome: &str, question: &str, producer: &str| {
            json!({
                "type": QUESTION_SETTLED, "session_id": "sess_1", "question": question,
                "settled_by": by, "outcome": outcome, "producer": {"agent_id": producer},
            })
        };
        for (event, expected) in [
            (settled("conversation", "withdrawn", "evt_1", AGENT_ID), Some(Text::WhyWithdrawn)),
            (settled("time", "rejected", "evt_1", AGENT_ID), Some(Text::WhyTime)),
            (settled("answer", "rejected", "evt_1", AGENT_ID), Some(Text::WhyRejected)),
            (settled("answer", "rejected", "evt_2", AGENT_ID), None),
            (settled("conversation", "withdrawn", "evt_1", "teller"), None),
        ] {
            let mut here = Answered::default();
            here.send(asked(1, &json!({})));
            here.accept(asked(1, &json!({})));
            let told = here.not_counted(&event);
            assert_eq!(told, expected.map(|why| (1, why)), "{event}");
            assert_eq!(here.accepted.is_empty(), expected.is_some(), "{event}");
            assert_eq!(here.not_counted(&event), None, "once: {event}");
        }
    }
}
