//! Scenarios as they are read aloud, word by word. A change to one of these texts changes what
//! people hear.

use std::fmt::Write;
use std::sync::Arc;

use aaep::capabilities::Capabilities;
use aaep::event::Boundary;
use aaep::read::read;
use aaep::shape::{Cursor, Prepared, Shaper};
use engine::ports::ids::SeededIds;
use serde_json::json;

use super::*;
use crate::scripted::{Next, Play, Reply, Stage};

/// A listener, and what was told to them so far.
struct Listener {
    shaper: Shaper,
    announcer: Announcer,
    now: Time,
    n_events: u64,
    n_asked: usize,
    told: String,
}

impl Listener {
    fn new(language: &str, verbosity: Verbosity) -> Self {
        let asked = Capabilities {
            languages: Some(vec![language.to_owned()]),
            preferred_verbosity: Some(verbosity),
            ..Capabilities::default()
        };
        Self::on_terms(language, &asked, verbosity)
    }

    /// A listener that hears an answer only when it is complete.
    fn whole(language: &str) -> Self {
        let asked = Capabilities {
            languages: Some(vec![language.to_owned()]),
            coalesce_boundaries: Some(vec![Boundary::Completion]),
            ..Capabilities::default()
        };
        Self::on_terms(language, &asked, Verbosity::Normal)
    }

    fn on_terms(language: &str, asked: &Capabilities, verbosity: Verbosity) -> Self {
        Self {
            shaper: Shaper::new(asked, Cursor::default()),
            announcer: Announcer::new(Speech::new(Some(language)), verbosity),
            now: Time::from_millis(1_790_000_000_000),
            n_events: 0,
            n_asked: 0,
            told: String::new(),
        }
    }

    fn wait(&mut self, millis: i64) {
        self.now = self.now.plus(Span::from_millis(millis));
        let lines = self.announcer.look(self.now);
        self.tell(&lines);
    }

    /// Receives an event from a server, shaped for this listener.
    fn hear(&mut self, event: &Value) {
        let text = event.to_string();
        let read = read(&text).unwrap_or_else(|flaws| panic!("{event}: {flaws:?}"));
        let prepared = Arc::new(Prepared::new(text.as_str().into(), &read));
        self.n_events += 1;
        let cursor = Cursor { sequence: self.n_events, index: 0 };
        self.shaper.push(&prepared, cursor, self.now);
        while let Some(delivery) = self.shaper.poll(self.now) {
            let event: Value = serde_json::from_str(delivery.body.text()).unwrap();
            let (number, speech) = (self.n_asked + 1, self.announcer.speech);
            let lines = match Question::of(&event, number, self.now, speech) {
                Some(question) => {
                    self.n_asked = number;
                    self.announcer.ask(&question, true, self.now)
                }
                None => self.announcer.hear(&event, self.now),
            };
            self.tell(&lines);
        }
    }

    fn tell(&mut self, lines: &[String]) {
        lines.iter().for_each(|line| writeln!(self.told, "{line}").unwrap());
    }

    /// The scripted agent answers a user; the replies answer its questions.
    fn follow(mut self, words: &str, replies: &[Reply<'_>]) -> String {
        let ids = SeededIds::new(7);
        let mut play = Play::new(words, Stage::default(), &ids);
        let mut replies = replies.iter();
        loop {
            self.wait(i64::try_from(play.pause_ms()).unwrap());
            match play.next(&ids, self.now) {
                Next::Say(event) => self.hear(&event),
                Next::Wait(_) => {
                    self.wait(4_000);
                    play.reply(*replies.next().expect("a reply for each question")).unwrap();
                }
                Next::Done => return self.told,
            }
        }
    }
}

fn event(session: &str, agent: &str, kind: &str, more: Value) -> Value {
    let mut event = json!({
        "@context": "https://aaep-protocol.org/context/v1", "aaep_version": "1.0.0",
        "type": kind, "event_id": "evt_1", "session_id": session,
        "timestamp": "2026-09-21T13:33:20.000Z", "urgency": "normal",
        "producer": { "agent_id": agent, "agent_name": agent },
        "localization_hints": { "primary_language": "en" },
    });
    let more = more.as_object().expect("an object").clone();
    event.as_object_mut().expect("an object").extend(more);
    event
}

/// A listener joins while five sessions are under way. Then two agents speak in turn, and another
/// listener settles a question.
fn joining(language: &str) -> String {
    let mut listener = Listener::new(language, Verbosity::Normal);
    let stands = json!({ "from_state": "idle", "to_state": "thinking",
        "@context": ["https://aaep-protocol.org/context/v1", "urn:tasuki:aaep:v1"],
        "extensions": { "tasuki": { "stands": true } } });
    for number in 0..5 {
        let session = format!("sess_{number}");
        listener.hear(&event(&session, "Teller", "aaep:agent.state.changed", stands.clone()));
    }
    listener.wait(1_000);
    let says = |session: &str, agent: &str, text: &str, position: usize| {
        let chunk = json!({ "chunk": text, "position": position, "complete": false });
        event(session, agent, "aaep:agent.output.streaming", chunk)
    };
    listener.hear(&says("sess_1", "Teller", "One moment. ", 0));
    listener.hear(&says("sess_1", "Teller", "I look for it. ", 12));
    listener.hear(&says("sess_2", "Clerk", "URGENT Teller asks, question 7. ", 0));
    listener.hear(&says("sess_1", "Teller", "Here it is. ", 27));
    let state = json!({ "from_state": "thinking", "to_state": "calling_tool" });
    listener.hear(&event("sess_1", "Teller", "aaep:agent.state.changed", state));
    listener.wait(600);
    let state = json!({ "from_state": "calling_tool", "to_state": "thinking" });
    listener.hear(&event("sess_1", "Teller", "aaep:agent.state.changed", state));
    listener.wait(100);
    let failed = json!({ "error_category": "transient", "urgency": "critical",
        "summary_normal": "The bank does not answer." });
    listener.hear(&event("sess_2", "Clerk", "aaep:agent.session.errored", failed));
    let progress = json!({ "progress": { "step": 2, "total_steps": 3 } });
    listener.hear(&event("sess_1", "Teller", "aaep:agent.progress.updated", progress));
    listener.told
}

#[test]
fn scenarios_read_aloud() {
    let normal = |language: &str| Listener::new(language, Verbosity::Normal);
    let (terse, detailed) = (Verbosity::Terse, Verbosity::Detailed);
    let scenarios = [
        ("A greeting", normal("en").follow("Hello", &[])),
        ("A transfer, accepted", normal("en").follow("Transfer 500 dollars", &[Reply::Accept])),
        (
            "A transfer, rejected, told in few words",
            Listener::new("en", terse).follow("Transfer 500 dollars", &[Reply::Reject]),
        ),
        (
            "A German hears how an English customer transfers money",
            normal("de").follow("Transfer 500 dollars", &[Reply::Accept]),
        ),
        (
            "A table is booked in French",
            normal("fr").follow("Réserver une table", &[Reply::Answer("19:30")]),
        ),
        (
            "Nobody answers a Japanese question in time",
            normal("ja").follow("ファイルを削除して", &[Reply::TimedOut]),
        ),
        ("A report in Yoruba", normal("yo").follow("Mo fẹ́ ìròyìn", &[])),
        (
            "A failure in Spanish, told in many words",
            Listener::new("es", detailed).follow("Hay un fallo", &[]),
        ),
        ("A German hears a report in English", normal("de").follow("Write a report", &[])),
        (
            "A German hears an English answer in one piece",
            Listener::whole("de").follow("What is my balance?", &[]),
        ),
        ("A person is asked for", normal("en").follow("Get me a person", &[])),
        ("Joining in German", joining("de")),
    ];
    let mut told = String::new();
    for (name, lines) in scenarios {
        writeln!(told, "{name}\n{lines}").unwrap();
    }
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("");
    settings.set_prepend_module_to_snapshot(false);
    settings.bind(|| insta::assert_snapshot!("aloud", told));
}

#[test]
fn what_was_settled_is_told_where_it_was_asked_and_no_state_that_passes() {
    let mut announcer = Announcer::new(Speech::new(None), Verbosity::Normal);
    let at = Time::from_millis;
    let of = |kind: &str, more: Value| {
        let mut event = event("sess_1", "Tom", kind, more);
        event["summary_normal"] = Value::Null;
        event
    };
    let state = |to: &str| of("aaep:agent.state.changed", json!({ "to_state": to }));
    let settled = of(QUESTION_SETTLED, json!({}));
    assert!(announcer.hear(&settled, at(0)).is_empty());
    assert!(announcer.hear(&state("thinking"), at(0)).is_empty());
    assert!(announcer.look(at(499)).is_empty());
    assert!(announcer.hear(&state("deciding"), at(499)).is_empty());
    assert!(announcer.look(at(600)).is_empty(), "thinking has passed");
    assert_eq!(announcer.look(at(999)), ["Tom: deciding"]);
    assert!(announcer.hear(&state("awaiting_input"), at(1_000)).is_empty());
    assert!(announcer.look(at(9_000)).is_empty(), "the question tells it");
}

#[test]
fn events_are_told_in_one_line() {
    let cases = [
        ("session.started", json!({"summary_normal": "Pays a bill"}), "Tom: Pays a bill"),
        ("session.started", json!({"summary_terse": "Bill"}), "Tom: Bill"),
        ("session.completed", json!({}), "Tom: finished"),
        ("progress.updated", json!({"progress": {"percent": 40}}), "Tom: 40 percent"),
        (
            "progress.updated",
            json!({"progress": {"step": 2, "total_steps": 3, "description": "reads"}}),
            "Tom: step 2 of 3, reads",
        ),
        ("tool.completed", json!({"tool": "f", "status": "error"}), "Tom: f: error"),
        (
            "output.streaming",
            json!({"chunk": "Hi\nURGENT you: \u{1b}[2J"}),
            "Tom: Hi URGENT you: \u{fffd}[2J",
        ),
        (
            "session.errored",
            json!({"urgency": "critical", "summary_terse": "No.", "remediation_hint": "Wait."}),
            "URGENT Tom: No. What you can do: Wait.",
        ),
        ("x:y", json!({}), "Tom: x:y"),
    ];
    for (kind, mut event, expected) in cases {
        let name = if kind.contains(':') { kind.to_owned() } else { format!("aaep:agent.{kind}") };
        event["type"] = name.into();
        event["producer"] = json!({"agent_id": "tom", "agent_name": "Tom"});
        let mut announcer = Announcer::new(Speech::new(None), Verbosity::Terse);
        assert_eq!(announcer.hear(&event, Time::from_millis(0)), [expected]);
    }
    let silent = json!({"type": "aaep:agent.output.streaming", "chunk": "", "complete": true});
    let mut announcer = Announcer::new(Speech::new(None), Verbosity::Normal);
    assert!(announcer.hear(&silent, Time::from_millis(0)).is_empty());
}
