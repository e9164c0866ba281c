//! What happened to a transfer, as figures and names: who asked, how long the customer waited, who
//! answered, and how it ended. It is a fold over the events of the transfer, and nothing else, so
//! that the ledger proves it. It contains no text that a person wrote but their code for how it was
//! settled, and stays when the conversation has a newer transfer.

use serde::{Deserialize, Serialize};

use super::event::{Event, Requested, WhyReturned};
use super::kind::Kind;
use super::state::{Limits, Outcome};
use super::status::Status;
use crate::aggregate;
use crate::codec;
use crate::conversation::event::Event as ConversationEvent;
use crate::ids::{AgentId, Disposition, TransferId};
use crate::ledger::Entry;
use crate::time::{Span, Time};

/// People who are remembered as having answered. More than a transfer can have with all its legs.
pub const SERVED_BY_MAX: usize = 64;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    pub transfer: TransferId,
    pub requested_by: String,
    pub requested_at: Time,
    #[serde(rename = "type")]
    pub kind: Kind,
    pub priority: i32,
    pub status: Status,
    /// The queue where it waits, or waited last.
    pub queue: AgentId,
    /// Within this time a person of that queue should answer.
    pub target: Span,
    /// The person for whom it rings, who answers, or who answered last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    /// Since when the customer waits for a person; also while it rings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_since: Option<Time>,
    /// How long the customer has waited before that, in all.
    pub waited: Span,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered: Option<FirstAnswer>,
    /// All people who answered, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub served_by: Vec<AgentId>,
    /// Since when the customer has been with a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub with_person_since: Option<Time>,
    /// How long the customer was with people before that, in all.
    pub handled: Span,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_hold_since: Option<Time>,
    /// How long the customer was on hold before that, in all. It is a part of `handled`.
    pub held: Span,
    /// How often it rang or was picked up, and how often that was not answered.
    pub rings: u32,
    pub missed: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled: Option<Settled>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rating: Option<u8>,
}

/// The first time that a person answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirstAnswer {
    pub at: Time,
    pub by: AgentId,
    /// The queue whose person answered.
    pub queue: AgentId,
    /// Within the time that this queue has for it.
    pub in_time: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settled {
    pub at: Time,
    pub outcome: Outcome,
    /// The code of the person who completed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disposition: Option<Disposition>,
    /// Who ended it, as the ledger names them.
    pub by: String,
}

/// The event of a transfer that an entry records; `None` for other entries, and once it is erased.
pub fn recorded(entry: &Entry) -> Option<Event> {
    if !is_of_transfer(&entry.name) {
        return None;
    }
    let event = codec::decode(&entry.name, entry.version, entry.body.text()?).ok()?;
    let aggregate::Event::Conversation(ConversationEvent::Transfer(event)) = event else {
        return None;
    };
    Some(event)
}

/// Whether entries of this name are events of a transfer.
pub fn is_of_transfer(name: &str) -> bool {
    name.starts_with("transfer.")
}

impl Record {
    pub fn requested(event: &Requested, at: Time) -> Self {
        Self {
            transfer: event.transfer,
            requested_by: event.by.clone(),
            requested_at: at,
            kind: event.kind,
            priority: event.priority,
            status: Status::Requested,
            queue: event.queue.clone(),
            target: event.limits.target(),
            agent: None,
            waiting_since: Some(at),
            waited: Span::from_millis(0),
            answered: None,
            served_by: Vec::new(),
            with_person_since: None,
            handled: Span::from_millis(0),
            on_hold_since: None,
            held: Span::from_millis(0),
            rings: 0,
            missed: 0,
            settled: None,
            rating: None,
        }
    }

    /// The record after another event of the same transfer, by this actor.
    pub fn apply(&mut self, event: &Event, actor: &str, at: Time) {
        match event {
            Event::Queued(it) => self.wait(&it.queue, &it.limits, at),
            Event::Ringing(it) if it.leg == 0 => {
                self.status = Status::Ringing;
                self.agent = Some(it.agent.clone());
                self.rings = self.rings.saturating_add(1);
            }
            Event::Returned(it) if it.leg == 0 => {
                if it.why == WhyReturned::NotAnswered {
                    self.missed = self.missed.saturating_add(1);
                }
                self.leave_person(at);
                self.agent = self.served_by.last().cloned();
                self.waiting_since.get_or_insert(at);
                self.status = Status::Queued;
            }
            Event::PassedOn(_) => {
                self.leave_person(at);
                self.agent = self.served_by.last().cloned();
                self.waiting_since.get_or_insert(at);
                self.status = Status::Queued;
            }
            Event::Connected(it) => self.connect(&it.agent, at),
            Event::Held(_) => {
                self.status = Status::OnHold;
                self.on_hold_since.get_or_insert(at);
            }
            Event::Resumed(_) => {
                self.status = Status::Connected;
                self.end_hold(at);
            }
            Event::Over(it) => {
                self.end_wait(at);
                self.leave_person(at);
                self.agent = self.served_by.last().cloned();
                self.status = it.outcome.status();
                let (disposition, by) = (it.disposition.clone(), actor.to_owned());
                self.settled = Some(Settled { at, outcome: it.outcome, disposition, by });
            }
            Event::Rated(it) => self.rating = Some(it.score),
            Event::Requested(_)
            | Event::Ringing(_)
            | Event::Returned(_)
            | Event::Consulted(_)
            | Event::LegRequested(_)
            | Event::LegEnded(_)
            | Event::Noted(_) => {}
        }
    }

    /// The queue for which it counts: that of the first answer, or the last one where it waited.
    pub fn counted_in(&self) -> &AgentId {
        self.answered.as_ref().map_or(&self.queue, |answered| &answered.queue)
    }

    /// How long the customer waited for the first answer, if there was one.
    pub fn wait_for_answer(&self) -> Option<Span> {
        self.answered.as_ref().map(|answered| answered.at.since(self.requested_at))
    }

    /// How long the customer has waited for a person in all.
    pub fn waited_until(&self, now: Time) -> Span {
        sum(self.waited, self.waiting_since, now)
    }

    pub fn handled_until(&self, now: Time) -> Span {
        sum(self.handled, self.with_person_since, now)
    }

    pub fn held_until(&self, now: Time) -> Span {
        sum(self.held, self.on_hold_since, now)
    }

    fn wait(&mut self, queue: &AgentId, limits: &Limits, at: Time) {
        self.queue = queue.clone();
        self.target = limits.target();
        self.status = Status::Queued;
        self.waiting_since.get_or_insert(at);
    }

    fn connect(&mut self, agent: &AgentId, at: Time) {
        self.end_hold(at);
        self.end_wait(at);
        if self.answered.is_none() {
            self.answered = Some(FirstAnswer {
                at,
                by: agent.clone(),
                queue: self.queue.clone(),
                in_time: at.since(self.requested_at) <= self.target,
            });
        }
        self.with_person_since.get_or_insert(at);
        if self.served_by.len() < SERVED_BY_MAX {
            self.served_by.push(agent.clone());
        }
        self.agent = Some(agent.clone());
        self.status = Status::Connected;
    }

    fn end_wait(&mut self, at: Time) {
        self.waited = sum(self.waited, self.waiting_since.take(), at);
    }

    fn leave_person(&mut self, at: Time) {
        self.end_hold(at);
        self.handled = sum(self.handled, self.with_person_since.take(), at);
    }

    fn end_hold(&mut self, at: Time) {
        self.held = sum(self.held, self.on_hold_since.take(), at);
    }
}

fn sum(before: Span, since: Option<Time>, now: Time) -> Span {
    let more = since.map_or(0, |since| now.since(since).as_millis());
    Span::from_millis(before.as_millis().saturating_add(more))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const T: &str = "01938c2e-0000-7000-8000-0000000000f1";

    fn event(name: &str, fields: Value) -> Event {
        let limits = json!({ "ring": "30s", "hold": "10m", "wait": "1h",
            "gives_up_at": "2026-01-01T01:00:00Z" });
        let mut body = match name {
            "requested" => json!({ "queue": "care", "number": 1, "epoch": 2, "by": "agent:bob",
                "kind": "bot_to_human", "priority": 3, "wanted": {}, "limits": limits }),
            "queued" => json!({ "queue": "care", "epoch": 2, "order": 0, "limits": limits }),
            "ringing" => json!({ "leg": 0, "agent": "hana", "until": "2026-01-01T01:00:00Z" }),
            "returned" => json!({ "leg": 0, "agent": "hana", "epoch": 3, "why": "not_answered" }),
            "connected" => json!({ "leg": 0, "agent": "hana", "epoch": 3, "number": 2,
                "kind": "bot_to_human" }),
            "held" => json!({ "until": "2026-01-01T01:00:00Z" }),
            "over" => json!({ "outcome": "completed", "to": "bob", "epoch": 4, "number": 3 }),
            "rated" => json!({ "score": 4 }),
            _ => json!({}),
        };
        body["holder"] = "care".into();
        body["transfer"] = T.into();
        for (field, value) in fields.as_object().unwrap() {
            body[field] = value.clone();
        }
        let name = format!("transfer.{name}");
        let event = codec::decode(&name, 1, &body.to_string()).unwrap();
        let aggregate::Event::Conversation(ConversationEvent::Transfer(event)) = event else {
            panic!("{event:?}")
        };
        event
    }

    /// What happened, at which second; `name {fields}`.
    fn record(script: &[(i64, &str, Value)]) -> Record {
        let mut record = None;
        for (second, name, fields) in script {
            let (event, at) = (event(name, fields.clone()), Time::from_millis(second * 1_000));
            if let Event::Requested(it) = &event {
                record = Some(Record::requested(it, at));
            } else {
                record.as_mut().unwrap().apply(&event, "agent:hana", at);
            }
        }
        record.unwrap()
    }

    fn spans(record: &Record, now: i64) -> [i64; 3] {
        let now = Time::from_millis(now * 1_000);
        [record.waited_until(now), record.handled_until(now), record.held_until(now)]
            .map(|span| span.as_millis() / 1_000)
    }

    #[test]
    fn a_record_counts_each_second_once() {
        let none = || json!({});
        let mut script = vec![(0, "requested", none()), (0, "queued", none())];
        assert_eq!(spans(&record(&script), 5), [5, 0, 0]);
        script.extend([(10, "ringing", none()), (40, "returned", none()), (41, "ringing", none())]);
        script.push((50, "connected", none()));
        let answered = record(&script);
        assert_eq!(spans(&answered, 60), [50, 10, 0]);
        assert_eq!((answered.rings, answered.missed), (2, 1));
        assert!(!answered.answered.as_ref().unwrap().in_time);
        script.extend([(60, "held", none()), (70, "resumed", none()), (75, "held", none())]);
        assert_eq!(spans(&record(&script), 80), [50, 30, 15]);
        // The person disappears while the customer is on hold; another queue takes over.
        script.push((80, "returned", json!({ "why": "agent_lost" })));
        script.push((80, "queued", json!({ "queue": "tax" })));
        let lost = record(&script);
        assert_eq!(spans(&lost, 90), [60, 30, 15]);
        assert_eq!((lost.status, lost.agent.as_ref().unwrap().as_str()), (Status::Queued, "hana"));
        script.push((100, "ringing", json!({ "agent": "ivan" })));
        script.push((110, "connected", json!({ "agent": "ivan" })));
        script.push((130, "over", json!({ "disposition": "refunded" })));
        script.push((140, "rated", none()));
        let over = record(&script);
        assert_eq!(spans(&over, 1_000), [80, 50, 15]);
        let served: Vec<_> = over.served_by.iter().map(AgentId::as_str).collect();
        assert_eq!(served, ["hana", "ivan"]);
        assert_eq!((over.queue.as_str(), over.counted_in().as_str()), ("tax", "care"));
        assert_eq!(over.wait_for_answer().unwrap().as_millis(), 50_000);
        assert_eq!((over.rating, over.status), (Some(4), Status::Completed));
        let settled = over.settled.as_ref().unwrap();
        assert_eq!((settled.at.as_millis(), settled.by.as_str()), (130_000, "agent:hana"));
        assert_eq!(settled.disposition.as_ref().map(Disposition::as_str), Some("refunded"));
        let text = serde_json::to_string(&over).unwrap();
        assert_eq!(serde_json::from_str::<Record>(&text).unwrap(), over);
    }

    #[test]
    fn an_answer_is_in_time_within_the_target_of_its_queue() {
        let cases =
            [(19, None, true), (20, None, true), (21, None, false), (21, Some("60s"), true)];
        for (second, target, expected) in cases {
            let mut limits = json!({ "ring": "30s", "hold": "10m", "wait": "1h",
                "gives_up_at": "2026-01-01T01:00:00Z" });
            if let Some(target) = target {
                limits["target"] = target.into();
            }
            let record = record(&[
                (0, "requested", json!({})),
                (0, "queued", json!({ "limits": limits })),
                (second, "connected", json!({})),
            ]);
            assert_eq!(record.answered.unwrap().in_time, expected, "{second} {target:?}");
        }
    }
}
