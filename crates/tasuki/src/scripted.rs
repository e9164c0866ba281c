//! An agent that plays from a script, for demos and for the tests of other programs. It says that
//! it is scripted, has no side effects, and gives the same events for the same words, ids and
//! times. The user's words choose the scene and are never repeated.
//!
//! [`Play`] is pure: ask it for the [`Next`] until it waits, tell it the [`Reply`], and go on.

pub mod at_work;
mod choose;
mod closing;
mod scenes;
mod step;
#[cfg(test)]
mod tests;
mod words;

use std::collections::VecDeque;

use aaep::stamp::stamp;
use aaep::{CONTEXT, EXTENSION, EXTENSION_CONTEXT, VERSION};
use engine::ports::ids::Ids;
use protocol::canonical;
use protocol::time::Time;
use serde_json::{Map, Value, json};

pub use choose::{Scene, choose};
use step::{ScriptNames, ScriptedQuestion, Step};

/// What it calls itself.
pub const AGENT_NAME: &str = "Demo";

/// Its default id in the directory.
pub const AGENT_ID: &str = "scripted";

/// The agent that plays, and its setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stage {
    pub agent_id: String,
    /// The conversation in which this happens, if any.
    pub conversation_id: Option<String>,
    /// How long questions wait, if not the timeout of the script.
    pub timeout_seconds: Option<u32>,
}

impl Default for Stage {
    fn default() -> Self {
        Self { agent_id: AGENT_ID.to_owned(), conversation_id: None, timeout_seconds: None }
    }
}

/// One session, as far as it was played.
#[derive(Debug, Clone)]
pub struct Play {
    stage: Stage,
    scene: Scene,
    /// The user's language.
    language: &'static str,
    session_id: String,
    /// The same for all events of a call or an output of this session.
    names: ScriptNames,
    steps: VecDeque<Step>,
    waiting: Option<ScriptedWait>,
    sequence_number: u64,
    last: Time,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// Send this event.
    Say(Value),
    /// Ask again after [`Play::reply`].
    Wait(Wait),
    Done,
}

/// What it waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wait {
    pub kind: WaitKind,
    pub reply_token: String,
    pub timeout_seconds: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitKind {
    Confirmation,
    Clarification,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply<'a> {
    Accept,
    Reject,
    /// The value of a choice.
    Answer(&'a str),
    TimedOut,
}

/// Why a reply changes nothing. The play is still waiting, or still not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotTaken {
    #[error("nothing was asked")]
    NotAsked,
    #[error("expected accept or reject")]
    NotADecision,
    #[error("expected one of the choices")]
    NotAChoice,
}

#[derive(Debug, Clone)]
struct ScriptedWait {
    wait: Wait,
    asked: ScriptedQuestion,
}

impl Play {
    /// Chooses the scene by what the user said.
    pub fn new(words: &str, stage: Stage, ids: &dyn Ids) -> Self {
        let (scene, language) = choose(words);
        Self {
            stage,
            scene,
            language,
            session_id: id("sess_", ids),
            names: ScriptNames {
                first_call: id("call_", ids),
                second_call: id("call_", ids),
                output: id("out_", ids),
            },
            steps: scenes::steps(scene, language).into(),
            waiting: None,
            sequence_number: 0,
            last: Time::from_millis(0),
        }
    }

    /// The same in a session that has its name already.
    pub fn in_session(session_id: &str, words: &str, stage: Stage, ids: &dyn Ids) -> Self {
        Self { session_id: session_id.to_owned(), ..Self::new(words, stage, ids) }
    }

    pub fn scene(&self) -> Scene {
        self.scene
    }

    pub fn session_id(&self) -> &str {
        &self.session_id
    }

    /// What it waits for now.
    pub fn waits_for(&self) -> Option<&Wait> {
        self.waiting.as_ref().map(|waiting| &waiting.wait)
    }

    /// How long to wait before [`Play::next`], so that people can follow; nothing depends on it.
    pub fn pause_ms(&self) -> u64 {
        match (&self.waiting, self.steps.front()) {
            (None, Some(step)) => step.pause_ms(),
            (Some(_), _) | (None, None) => 0,
        }
    }

    /// The next event, with the current time; or that it waits, or is done. A clock that goes back
    /// does not make the session go back.
    pub fn next(&mut self, ids: &dyn Ids, now: Time) -> Next {
        if let Some(waiting) = &self.waiting {
            return Next::Wait(waiting.wait.clone());
        }
        let Some(step) = self.steps.pop_front() else { return Next::Done };
        let mut event = self.envelope(&step, ids, now);
        step.put_into(&mut event, &self.names, self.language);
        if let Step::Ask(asked) = step {
            let reply_token = id("rpl_", ids);
            event.insert("reply_token".to_owned(), reply_token.as_str().into());
            let timeout_seconds = self.stage.timeout_seconds.unwrap_or_else(|| asked.timeout());
            if self.stage.timeout_seconds.is_some() {
                event.insert("timeout_seconds".to_owned(), timeout_seconds.into());
            }
            let wait = Wait { kind: asked.kind(), reply_token, timeout_seconds };
            self.waiting = Some(ScriptedWait { wait, asked: *asked });
        }
        Next::Say(Value::Object(event))
    }

    /// Goes on with an answer, or without one.
    pub fn reply(&mut self, reply: Reply<'_>) -> Result<(), NotTaken> {
        let waiting = self.waiting.as_ref().ok_or(NotTaken::NotAsked)?;
        let steps = waiting.asked.after(reply)?;
        self.waiting = None;
        self.steps = steps.into();
        Ok(())
    }

    /// All events until it waits or is done, and what it waits for.
    pub fn run(&mut self, ids: &dyn Ids, now: Time) -> (Vec<Value>, Option<Wait>) {
        let mut events = Vec::new();
        loop {
            match self.next(ids, now) {
                Next::Say(event) => events.push(event),
                Next::Wait(wait) => return (events, Some(wait)),
                Next::Done => return (events, None),
            }
        }
    }

    fn envelope(&mut self, step: &Step, ids: &dyn Ids, now: Time) -> Map<String, Value> {
        self.last = self.last.max(now);
        let mut event = Map::new();
        let mut put = |key: &str, value: Value| event.insert(key.to_owned(), value);
        put("@context", CONTEXT.into());
        put("aaep_version", VERSION.into());
        put("type", step.name().into());
        put("event_id", id("evt_", ids).into());
        put("session_id", self.session_id.as_str().into());
        put("sequence_number", self.sequence_number.into());
        put("timestamp", stamp(self.last).into());
        put(
            "producer",
            json!({
                "agent_id": self.stage.agent_id,
                "agent_name": AGENT_NAME,
                "agent_version": env!("CARGO_PKG_VERSION"),
            }),
        );
        put("verbosity", "normal".into());
        put("urgency", step.urgency().as_str().into());
        put("localization_hints", step.hints(self.language));
        let mut link = step.link(&self.names, self.language);
        if self.sequence_number == 0
            && let Some(conversation) = &self.stage.conversation_id
        {
            link.insert("conversation_id".to_owned(), conversation.as_str().into());
        }
        if !link.is_empty() {
            put("@context", json!([CONTEXT, EXTENSION_CONTEXT]));
            put("extensions", json!({ EXTENSION: link }));
        }
        self.sequence_number += 1;
        event
    }
}

/// 128 bits, as protocols of this kind recommend.
fn id(prefix: &str, ids: &dyn Ids) -> String {
    format!("{prefix}{}", canonical::hex(&ids.bytes()[..16]))
}
