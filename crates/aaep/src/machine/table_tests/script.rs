//! A tiny language for sessions. Steps are separated by `;`:
//!
//! | step | |
//! |---|---|
//! | `start`, `complete`, `error`, `cancel`, `progress`, `handoff`, `extension` | events |
//! | `state idle>thinking` | `state.changed` |
//! | `call transfer c1 irreversible` | `tool.invoked`; the last two may be left out |
//! | `return transfer c1` | `tool.completed` |
//! | `chunk 0 Hello out=o1 last` | `output.streaming`: position and text; `-` is no text |
//! | `confirm t1 irreversible high` | `awaiting.confirmation` with the token `t1` |
//! | `ask t2 kinds=numeric` | `awaiting.clarification` |
//! | `accept t1`, `accept t1 auto`, `reject t1`, `answer t2 12`, `elapse t1` | what others do |
//! | `wait 60` | our clock goes on, in seconds; an accept lasts 60 |
//!
//! Any event may have `id=`, `session=`, `agent=`, `n=` (its number), `urgency=` and `back` (its
//! timestamp is before the last one); a confirmation and a call may have `hash=`.

use std::borrow::Cow;
use std::collections::HashSet;

use crate::event::{
    Boundary, Chunk, Clarification, Confirmation, Decision, Envelope, Event, HandoffRequest, Link,
    Payload, ResponseKind, Reversibility, Risk, TargetKind, ToolStatus, Urgency,
};
use crate::flaw::Flaw;
use crate::machine::{
    Audience, Followed, Lasts, NotSettled, Response, Session, Settled, Used, Weak,
};
use base::time::{Span, Time};

/// How long an accept lasts in a script.
const LASTS: Span = Span::from_minutes(1);

/// One parsed step of a script.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Step {
    Event(Box<Event<'static>>),
    Resolve(String, Decision),
    /// A rule accepts, not a person.
    Automatic(String),
    Answer(String, Answer),
    Elapse(String, Audience),
    Wait(u32),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Answer {
    Text(String),
    Flag(bool),
    Number(f64),
}

/// The result of an accepted step.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Passed {
    Followed(Followed),
    Settled(Settled),
    Waited,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum No {
    Flaw(Flaw),
    NotSettled(NotSettled),
}

/// A session, and the ids that its keeper stores.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct World {
    pub(crate) session: Session,
    pub(crate) used: HashSet<Used>,
    pub(crate) now: Time,
    pub(crate) weak: Weak,
}

impl World {
    pub(crate) fn new(weak: Weak) -> Self {
        let now = Time::from_millis(1_780_000_000_000);
        Self { session: Session::default(), used: HashSet::new(), now, weak }
    }

    pub(crate) fn take(&mut self, step: &Step) -> Result<Passed, No> {
        let settled = match step {
            Step::Event(event) => {
                let mut uses = Vec::new();
                let is_used = |used: &Used| self.used.contains(used);
                let followed = self.session.follow(event, self.now, self.weak, &is_used, &mut uses);
                assert!(followed.is_ok() || uses.is_empty(), "what is refused uses nothing");
                self.used.extend(uses);
                return followed.map(Passed::Followed).map_err(No::Flaw);
            }
            Step::Resolve(token, decision) => {
                let lasts = Lasts::Until(self.now.plus(LASTS));
                self.session.resolve(token, *decision, self.now, lasts)
            }
            Step::Automatic(token) => {
                self.session.resolve(token, Decision::Accept, self.now, Lasts::NotAtAll)
            }
            Step::Answer(token, answer) => self.session.answer(token, answer.response(), self.now),
            Step::Elapse(token, audience) => self.session.elapse(token, self.now, *audience),
            Step::Wait(seconds) => {
                self.now = self.now.plus(Span::from_millis(i64::from(*seconds) * 1000));
                return Ok(Passed::Waited);
            }
        };
        settled.map(Passed::Settled).map_err(No::NotSettled)
    }

    /// Runs every step of a script; a refused step is a failure.
    pub(crate) fn run(&mut self, script: &mut Script, text: &str) {
        for line in steps(text) {
            if let Err(no) = self.take(&script.step(line)) {
                panic!("`{line}` of `{text}`: {no:?}");
            }
        }
    }
}

impl Answer {
    pub(crate) fn response(&self) -> Response<'_> {
        match self {
            Answer::Text(text) => Response::Text(text),
            Answer::Flag(flag) => Response::Flag(*flag),
            Answer::Number(number) => Response::Number(*number),
        }
    }
}

pub(crate) fn steps(text: &str) -> impl Iterator<Item = &str> {
    text.split(';').map(str::trim).filter(|step| !step.is_empty())
}

/// Parses steps one after the other; each event has a new id and a later time.
#[derive(Debug, Default, Clone)]
pub(crate) struct Script {
    n_events: u64,
}

impl Script {
    pub(crate) fn step(&mut self, line: &str) -> Step {
        let words: Vec<&str> = line.split_whitespace().collect();
        let token = || format!("rpl_{}", words[1]);
        match words[0] {
            "accept" if words.contains(&"auto") => Step::Automatic(token()),
            "accept" => Step::Resolve(token(), Decision::Accept),
            "reject" => Step::Resolve(token(), Decision::Reject),
            "answer" => Step::Answer(token(), answer(words[2])),
            "elapse" if words.contains(&"nobody") => Step::Elapse(token(), Audience::NoListener),
            "elapse" => Step::Elapse(token(), Audience::Able),
            "wait" => Step::Wait(words[1].parse().expect("seconds")),
            _ => Step::Event(Box::new(self.event(&Words(words)))),
        }
    }

    fn event(&mut self, words: &Words<'_>) -> Event<'static> {
        self.n_events += 1;
        let payload = words.payload();
        let must_be_critical = ["error", "handoff", "confirm", "ask"].contains(&words.0[0]);
        let urgency = match words.value("urgency") {
            Some(word) => Urgency::parse(word),
            None if must_be_critical => Some(Urgency::Critical),
            None => None,
        };
        let timestamp_micros = self.n_events as i64 * 1000;
        let event_id = words.value("id").map_or_else(|| self.n_events.to_string(), str::to_owned);
        let envelope = Envelope {
            event_id: format!("evt_{event_id}").into(),
            session_id: format!("sess_{}", words.value("session").unwrap_or("1")).into(),
            timestamp_micros: if words.has("back") { 1 } else { timestamp_micros },
            agent_id: words.value("agent").unwrap_or("teller").to_owned().into(),
            agent_name: None,
            sequence_number: words.value("n").map(|n| n.parse().expect("a number")),
            verbosity: None,
            urgency,
            primary_language: Some("en".into()),
            correlation_id: None,
            link: Link {
                tool_call_id: words.text("call", "call_"),
                action_hash: words.text("hash", ""),
                ..Link::default()
            },
        };
        Event { envelope, payload }
    }
}

/// The words of one step.
struct Words<'a>(Vec<&'a str>);

impl Words<'_> {
    fn has(&self, word: &str) -> bool {
        self.0.contains(&word)
    }

    fn value(&self, key: &str) -> Option<&str> {
        self.0.iter().find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
    }

    fn text(&self, key: &str, prefix: &str) -> Option<Cow<'static, str>> {
        self.value(key).map(|value| format!("{prefix}{value}").into())
    }

    /// The id of a call: `c` and a number.
    fn call_id(&self) -> Option<Cow<'static, str>> {
        let is_id =
            |word: &&&str| word.strip_prefix('c').is_some_and(|rest| rest.parse::<u32>().is_ok());
        self.0.iter().skip(2).find(is_id).map(|word| format!("call_{word}").into())
    }

    fn risk(&self) -> Option<Risk> {
        self.0.iter().find_map(|word| Risk::parse(word))
    }

    fn payload(&self) -> Payload<'static> {
        let word = |index: usize| -> Cow<'static, str> { self.0[index].to_owned().into() };
        match self.0[0] {
            "start" => Payload::SessionStarted { requested_by: None },
            "complete" => Payload::SessionCompleted,
            "error" => Payload::SessionErrored,
            "cancel" => Payload::SessionCancelled,
            "progress" => Payload::ProgressUpdated { percent: Some(50.0) },
            "extension" => Payload::Extension { name: "medai:alert".into() },
            "handoff" => handoff(),
            "state" => {
                let (from, to) = self.0[1].split_once('>').expect("from>to");
                Payload::StateChanged { from: from.to_owned().into(), to: to.to_owned().into() }
            }
            "call" => Payload::ToolInvoked {
                tool: word(1),
                tool_call_id: self.call_id(),
                risk: self.risk().unwrap_or(Risk::Low),
                irreversible: self.has("irreversible"),
            },
            "return" => Payload::ToolCompleted {
                tool: word(1),
                tool_call_id: self.call_id(),
                status: self
                    .0
                    .iter()
                    .find_map(|word| ToolStatus::parse(word))
                    .unwrap_or(ToolStatus::Success),
            },
            "chunk" => Payload::OutputStreaming(self.chunk()),
            "confirm" => Payload::AwaitingConfirmation(Box::new(self.confirmation())),
            "ask" => Payload::AwaitingClarification(Box::new(self.clarification())),
            other => panic!("no step is called `{other}`"),
        }
    }

    fn chunk(&self) -> Chunk<'static> {
        Chunk {
            text: self.0[2].replace('-', "").into(),
            position: self.0[1].parse().expect("a position"),
            complete: self.has("last"),
            coalesce_hint: Some(Boundary::Sentence),
            output_id: self.text("out", "out_"),
            language: None,
        }
    }

    fn confirmation(&self) -> Confirmation<'static> {
        Confirmation {
            action: self.value("about").unwrap_or(self.0[1]).to_owned().into(),
            reply_token: format!("rpl_{}", self.0[1]).into(),
            timeout_seconds: self.seconds(),
            default_decision: match self.value("default") {
                Some(word) => Decision::parse(word).expect("a decision"),
                None => Decision::Reject,
            },
            risk: self.risk(),
            irreversible: self.has("irreversible"),
            said_reversible: self.has("undoable"),
            reversibility: self.value("reversal").and_then(Reversibility::parse),
            allowed_replies: self
                .value("only")
                .map(|word| word.to_owned().into())
                .into_iter()
                .collect(),
        }
    }

    fn clarification(&self) -> Clarification<'static> {
        let list = |key| self.value(key).into_iter().flat_map(|list| list.split(','));
        Clarification {
            question: self.0[1].to_owned().into(),
            reply_token: format!("rpl_{}", self.0[1]).into(),
            timeout_seconds: self.seconds(),
            accepted_kinds: list("kinds").filter_map(ResponseKind::parse).collect(),
            choices: list("choices").map(|choice| choice.to_owned().into()).collect(),
            default_response: None,
        }
    }

    fn seconds(&self) -> u32 {
        self.value("timeout").map_or(300, |seconds| seconds.parse().expect("seconds"))
    }
}

fn handoff() -> Payload<'static> {
    Payload::HandoffRequested(Box::new(HandoffRequest {
        reason: "beyond me".into(),
        target_kind: TargetKind::Human,
        target_uri: None,
        packaged_context: None,
        urgency: None,
        summary: None,
    }))
}

fn answer(word: &str) -> Answer {
    match (word, word.parse()) {
        ("yes", _) => Answer::Flag(true),
        ("no", _) => Answer::Flag(false),
        (_, Ok(number)) => Answer::Number(number),
        (text, Err(_)) => Answer::Text(text.replace('-', "")),
    }
}
