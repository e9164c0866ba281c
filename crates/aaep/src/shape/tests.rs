//! Shaping, tested with stories and random streams. Here are the shared parts: a producer whose
//! events are real JSON, and a listener that checks everything it gets.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::{Value, json};

use super::super::event::{Boundary, Chunk, Envelope, Event, Link, Payload, Risk, Urgency};
use super::*;

mod burst;
mod random;
mod stories;

/// Makes events of sessions, with their positions and cursors.
#[derive(Debug, Default)]
struct Producer {
    events: Vec<(Arc<Prepared>, Cursor)>,
    /// The text of each output so far.
    texts: BTreeMap<(String, String), String>,
}

impl Producer {
    fn say(&mut self, session: &str, output: &str, chunk: &str) {
        self.chunk(session, output, chunk, json!({"complete": false}));
    }

    fn chunk(&mut self, session: &str, output: &str, chunk: &str, more: Value) {
        let key = (session.to_owned(), output.to_owned());
        let text = self.texts.entry(key).or_default();
        let position = text.chars().count();
        text.push_str(chunk);
        let mut document = json!({"chunk": chunk, "position": position, "output_id": output});
        extend(&mut document, more);
        self.event(session, "output.streaming", document);
    }

    fn progress(&mut self, session: &str, percent: u32) {
        self.event(session, "progress.updated", json!({"progress": {"percent": percent}}));
    }

    fn state(&mut self, session: &str, from: &str, to: &str) {
        self.event(session, "state.changed", json!({"from_state": from, "to_state": to}));
    }

    fn tool(&mut self, session: &str) {
        self.event(
            session,
            "tool.invoked",
            json!({"tool": "search", "summary_normal": "Searching."}),
        );
    }

    fn critical(&mut self, session: &str) {
        let more = json!({"reason": "too hard", "target_kind": "human", "urgency": "critical"});
        self.event(session, "handoff.requested", more);
    }

    fn event(&mut self, session: &str, name: &str, more: Value) {
        let n = self.events.len();
        let name = if name.contains(':') { name.to_owned() } else { format!("aaep:agent.{name}") };
        let mut document = json!({
            "@context": CONTEXT, "type": name, "event_id": format!("evt_{n}"),
            "session_id": session, "timestamp": "2026-11-15T19:00:00.000Z", "sequence_number": n,
            "producer": {"agent_id": "a"}, "localization_hints": {"primary_language": "en"},
        });
        extend(&mut document, more);
        let cursor = Cursor { sequence: 10 + n as u64 / 7, index: n as u32 % 7 };
        self.events.push((prepare(&document), cursor));
    }
}

const CONTEXT: &str = crate::CONTEXT;

fn extend(document: &mut Value, more: Value) {
    let Value::Object(more) = more else { unreachable!("tests add objects") };
    document.as_object_mut().unwrap().extend(more);
}

/// Parses the fields of an event that shaping needs.
fn prepare(document: &Value) -> Arc<Prepared> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned().into();
    let some = |value: &Value| value.as_str().map(|text| text.to_owned().into());
    let payload = match document["type"].as_str().unwrap() {
        "aaep:agent.output.streaming" => Payload::OutputStreaming(Chunk {
            text: text(&document["chunk"]),
            position: document["position"].as_u64().unwrap(),
            complete: document["complete"] == true,
            coalesce_hint: document["coalesce_hint"].as_str().and_then(Boundary::parse),
            output_id: some(&document["output_id"]),
            language: some(&document["language"]),
        }),
        "aaep:agent.progress.updated" => {
            Payload::ProgressUpdated { percent: document["progress"]["percent"].as_f64() }
        }
        "aaep:agent.state.changed" => Payload::StateChanged {
            from: text(&document["from_state"]),
            to: text(&document["to_state"]),
        },
        "aaep:agent.session.completed" => Payload::SessionCompleted,
        "aaep:agent.tool.invoked" => Payload::ToolInvoked {
            tool: text(&document["tool"]),
            tool_call_id: some(&document["tool_call_id"]),
            risk: Risk::Low,
            irreversible: false,
        },
        _ => Payload::Extension { name: text(&document["type"]) },
    };
    let event = Event {
        envelope: Envelope {
            event_id: text(&document["event_id"]),
            session_id: text(&document["session_id"]),
            timestamp_micros: 0,
            agent_id: "a".into(),
            agent_name: None,
            sequence_number: document["sequence_number"].as_u64(),
            verbosity: None,
            urgency: document["urgency"].as_str().and_then(Urgency::parse),
            primary_language: None,
            correlation_id: None,
            link: Link::default(),
        },
        payload,
    };
    Arc::new(Prepared::new(document.to_string().into(), &event))
}

fn honored(document: Value) -> Capabilities {
    serde_json::from_value(document).expect("the test writes capabilities")
}

/// Gets everything, and checks it.
#[derive(Debug, Default)]
struct Listener {
    /// Event ids that were delivered, alone or merged.
    heard: BTreeSet<String>,
    texts: HashMap<(String, String), String>,
    /// The cursor of the last event of each session, without critical ones.
    newest: HashMap<String, Cursor>,
    times: Vec<i64>,
    n_deliveries: usize,
    n_critical: usize,
    n_events: usize,
}

impl Listener {
    fn hear(&mut self, delivery: &Delivery, terms: &Capabilities, from: &Producer, now: Time) {
        let document: Value = serde_json::from_str(delivery.body.text()).expect("it is JSON");
        check_event(&document, terms);
        self.n_deliveries += 1;
        self.n_events += delivery.n_events as usize;
        let id = document["event_id"].as_str().unwrap().to_owned();
        if delivery.is_critical {
            self.n_critical += 1;
        } else {
            let session = delivery.session_id.to_string();
            let earlier = self.newest.insert(session, delivery.cursor);
            assert!(earlier <= Some(delivery.cursor), "{earlier:?} before {document}");
            self.times.push(now.as_millis());
        }
        if let Some(resume) = &delivery.id {
            assert_eq!(id, **resume);
        }
        self.note_events(&document, delivery, from);
        if document["type"] == "aaep:agent.output.streaming" {
            self.read(&document);
        }
    }

    /// The events in it, from its own note.
    fn note_events(&mut self, document: &Value, delivery: &Delivery, from: &Producer) {
        let merged = &document["extensions"]["tasuki"]["merged"];
        let last = merged["part_of"].as_str().or(document["event_id"].as_str()).unwrap();
        let first = merged["first_event_id"].as_str().unwrap_or(last);
        let number = |id: &str| id.strip_prefix("evt_").unwrap().parse::<usize>().unwrap();
        let end = number(last) + usize::from(merged["part_of"].is_null());
        let base = &from.events[number(last)].0;
        let key = |event: &Prepared| {
            let output = output(event).and_then(|chunk| chunk.output_id.clone());
            (event.session_id.clone(), event.name().to_owned(), output, event.is_critical)
        };
        let all = from.events[number(first).min(end)..end].iter();
        let in_it: Vec<_> = all.filter(|(event, _)| key(event) == key(base)).collect();
        assert_eq!(in_it.len(), delivery.n_events as usize, "{document}");
        assert!(merged.is_null() || merged["n_events"] == delivery.n_events);
        self.heard.extend(in_it.iter().map(|(event, _)| event.event_id.to_string()));
    }

    /// Text continues exactly where it ended, or is repeated word for word.
    fn read(&mut self, document: &Value) {
        let word = |name: &str| document[name].as_str().unwrap_or_default().to_owned();
        let text = self.texts.entry((word("session_id"), word("output_id"))).or_default();
        let position = document["position"].as_u64().unwrap() as usize;
        let known: String = text.chars().skip(position).collect();
        let chunk = word("chunk");
        assert!(position <= text.chars().count(), "a gap before {document}");
        assert!(chunk.starts_with(&known) || known.starts_with(&chunk), "{known:?} {document}");
        text.push_str(chunk.strip_prefix(known.as_str()).unwrap_or_default());
    }

    /// Everything that passes the terms was delivered, and every text to its last character.
    fn check_all(&self, from: &Producer, terms: &Capabilities) {
        let filters = terms.event_filters.clone().unwrap_or_default();
        for (event, _) in &from.events {
            let passes = event.is_critical || filters.pass(event.name());
            assert_eq!(self.heard.contains(&*event.event_id), passes, "{}", event.text);
        }
        if filters.pass("aaep:agent.output.streaming") {
            for ((session, output), text) in &from.texts {
                let heard = self.texts.get(&(session.clone(), output.clone()));
                assert_eq!(heard, Some(text), "{session} {output}");
            }
        }
    }

    /// Never more than the rate, and never more than 1.2 times as many in any time that is long
    /// enough to tell.
    fn check_rate(&self, rate: u32) {
        let rate = f64::from(rate);
        let burst = (rate / 10.0).floor().max(1.0);
        for (n, first) in self.times.iter().enumerate() {
            for (m, last) in
                self.times.iter().enumerate().skip(n).step_by(1 + self.times.len() / 300)
            {
                let (count, seconds) = ((m - n + 1) as f64, (last - first) as f64 / 1000.0);
                assert!(count <= rate * seconds + burst + 0.001, "{count} in {seconds} s");
                if seconds >= 1.0 && rate * seconds >= 5.0 {
                    assert!(count <= 1.2 * rate * seconds + 0.001, "{count} in {seconds} s");
                }
            }
        }
    }
}

/// What every event must fulfil, and what the terms require of it.
fn check_event(document: &Value, terms: &Capabilities) {
    let one = || vec![document["@context"].clone()];
    let contexts = document["@context"].as_array().cloned().unwrap_or_else(one);
    assert_eq!(contexts[0], CONTEXT);
    let id = document["event_id"].as_str().unwrap();
    let body = id.strip_prefix("evt_").unwrap();
    assert!((1..=64).contains(&body.len()) && body.bytes().all(|b| b.is_ascii_alphanumeric()));
    for name in ["type", "session_id", "timestamp"] {
        assert!(document[name].is_string(), "{name} in {document}");
    }
    if let Some(extensions) = document.get("extensions") {
        assert!(extensions.as_object().unwrap().values().all(Value::is_object));
        assert!(contexts.iter().any(|one| one == crate::EXTENSION_CONTEXT));
    }
    assert_eq!(document.get("sequence_number").is_some(), Terms::new(terms).keeps_numbers);
    if document["type"] == "aaep:agent.output.streaming" {
        assert!(document["chunk"].as_str().unwrap().chars().count() as u64 <= CHUNK_CHARS_MAX);
        assert!(document["position"].is_u64() && document["complete"].is_boolean());
        let hint = document["coalesce_hint"].as_str().map(|word| Boundary::parse(word).unwrap());
        let default = vec![Boundary::Sentence, Boundary::Completion];
        let set = terms.coalesce_boundaries.as_ref().unwrap_or(&default);
        assert!(hint.is_none_or(|hint| set.contains(&hint)), "{document}");
    }
}

/// Does what the hub does: reads ahead while the shaper wants more, and beyond that looks for
/// critical events.
#[derive(Debug)]
struct Driver<'a> {
    from: &'a Producer,
    shaper: Shaper,
    next: usize,
    scout: usize,
    terms: &'a Capabilities,
}

impl<'a> Driver<'a> {
    fn new(from: &'a Producer, terms: &'a Capabilities, start: Cursor) -> Self {
        let next = from.events.partition_point(|(_, cursor)| *cursor <= start);
        Self { from, shaper: Shaper::new(terms, start), next, scout: next, terms }
    }

    /// Pushes the events up to `end`.
    fn read(&mut self, end: usize, now: Time) {
        while self.next < end && self.shaper.wants_more() {
            let (event, cursor) = &self.from.events[self.next];
            self.shaper.push(event, *cursor, now);
            self.next += 1;
            assert!(self.shaper.n_bytes() <= HELD_BYTES_MAX + 2 * crate::EVENT_BYTES_MAX);
            assert!(self.shaper.n_held() <= HELD_EVENTS_MAX + CRITICAL_MAX);
        }
        self.scout = self.scout.max(self.next);
        while self.scout < end && self.shaper.wants_critical() {
            let (event, cursor) = &self.from.events[self.scout];
            self.shaper.push_critical(event, *cursor);
            self.scout += 1;
        }
    }

    fn poll(&mut self, listener: &mut Listener, now: Time) -> bool {
        let Some(delivery) = self.shaper.poll(now) else { return false };
        listener.hear(&delivery, self.terms, self.from, now);
        true
    }

    /// Delivers everything that is left, at the times that the shaper names.
    fn drain(&mut self, listener: &mut Listener, mut now: Time) -> Time {
        for _ in 0..1_000_000 {
            self.read(self.from.events.len(), now);
            if self.poll(listener, now) {
                continue;
            }
            let Some(next) = self.shaper.next_at(now) else {
                assert_eq!(self.next, self.from.events.len(), "it wants more when it is empty");
                return now;
            };
            assert!(next > now, "asked again at once, and nothing came");
            now = next;
        }
        panic!("it never ends");
    }
}

fn at(millis: i64) -> Time {
    Time::from_millis(1_000_000 + millis)
}
