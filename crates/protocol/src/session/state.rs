//! The state of a session. The announced events are not here but in the ledger. Data that grows
//! with the session is in holds, under the keys of [`hold_key`].

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::event::Handover;
use super::questions::{Accepted, Question};
use super::{ANSWER_DEADLINE, CRITICAL_WINDOW, REFUSED_KEPT_MAX, REFUSED_RESTS, SILENCE};
use crate::caller::Caller;
use crate::canonical;
use crate::conversation::state::Conversation;
use crate::ids::{AgentId, ConversationId, SessionId};
use crate::stored::{Deadline, Effect, HoldState};
use crate::time::{Span, Time};
use aaep::event::{Event, Payload, Text};
use aaep::flaw::{Flaw, Tier};
use aaep::machine::{self, Followed, Used, Weak};
use aaep::read::read;

/// The prefix of an effect's name, before the token of a question. Like turns, it is urgent: a
/// caller waits for it.
const DELIVER_DECISION: &str = "deliver/decision/";

/// How many answers wait for a producer that cannot be reached. It can ask for the others.
pub const TELLING_MAX: usize = 64;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Session {
    pub id: SessionId,
    /// The agent that announces it.
    pub producer: AgentId,
    /// The name by which it introduced itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_name: Option<String>,
    pub started_at: Time,
    /// The conversation in which it happens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<ConversationId>,
    /// The session that began this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<SessionId>,
    pub status: Status,
    pub n_events: u64,
    /// The time of the last event of its producer, or of the last answer. Absent in old sessions
    /// until their next event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heard_at: Option<Time>,
    /// The silence limit of its teamspace when it began, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silence_minutes: Option<u32>,
    /// The length of its stream.
    pub n_entries: u64,
    /// What the record needs of the open questions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<Question>,
    /// Accepted questions whose call was not made yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accepted: Vec<Accepted>,
    /// The result of the last requested handoff.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handover: Option<Handover>,
    /// Questions whose result must still be delivered to the producer's endpoint.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub telling: Vec<String>,
    /// Actions that were refused a short while ago.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<Refused>,
    pub critical: Window,
    pub machine: machine::Session,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The producer goes on.
    Open,
    Completed,
    Errored,
    Cancelled,
}

/// A refused action, by its hash and by its words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action_hash: Option<String>,
    pub action: String,
    pub at: Time,
}

/// The place of an event: the position of its entry in the stream, and its index in the entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct EventPlace {
    pub position: u64,
    pub index: usize,
}

/// How many critical events came since a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    pub since: Time,
    pub n: u32,
}

/// What the first event of a session says about the whole.
pub(super) struct Opening {
    pub producer: AgentId,
    pub conversation: Option<ConversationId>,
    pub parent: Option<SessionId>,
    pub agent_name: Option<String>,
}

impl Session {
    pub(super) fn new(id: &SessionId, opening: Opening, at: Time) -> Self {
        let Opening { producer, conversation, parent, agent_name } = opening;
        Self {
            id: id.clone(),
            producer,
            agent_name,
            started_at: at,
            conversation,
            parent,
            status: Status::Open,
            n_events: 0,
            heard_at: Some(at),
            silence_minutes: None,
            n_entries: 0,
            questions: Vec::new(),
            accepted: Vec::new(),
            handover: None,
            telling: Vec::new(),
            refused: Vec::new(),
            critical: Window { since: at, n: 0 },
            machine: machine::Session::default(),
        }
    }

    /// The producer sees its own sessions, coordinators and operators see all of them.
    pub fn is_shown_to(&self, caller: &Caller) -> bool {
        caller.is_coordinator() || caller.agent() == Some(&self.producer)
    }

    pub fn is_open(&self) -> bool {
        self.status == Status::Open
    }

    pub fn deadlines(&self) -> Vec<Deadline> {
        let of = |question: &machine::Question| Deadline {
            name: format!("{ANSWER_DEADLINE}{}", question.reply_token()).into(),
            due: question.due(),
        };
        let answers = self.machine.pending().iter().map(of);
        let left = self.left_at().map(|due| Deadline { name: SILENCE.into(), due });
        answers.chain(left).collect()
    }

    /// Whether its producer is heard. In an open conversation only the holder is. While the
    /// producer is not heard, listeners get no questions of it, and no answer counts.
    pub fn is_heard(&self, conversation: Option<&Conversation>) -> bool {
        let Some(id) = self.conversation else { return true };
        let conversation = conversation.filter(|it| it.id == id);
        conversation.is_some_and(|it| it.closed.is_none() && it.speaker() == Some(&self.producer))
    }

    /// Whether its producer is told the result of a question at its endpoint.
    pub(super) fn tells(&self, at_endpoint: &[AgentId]) -> bool {
        at_endpoint.contains(&self.producer) && self.telling.len() < TELLING_MAX
    }

    pub fn effects(&self) -> Vec<Effect> {
        let of = |token: &String| Effect { name: format!("{DELIVER_DECISION}{token}").into() };
        self.telling.iter().map(of).collect()
    }

    /// The token of the question that an effect is about, if it is still wanted.
    pub fn told_by(&self, effect: &str) -> Option<&str> {
        let token = effect.strip_prefix(DELIVER_DECISION)?;
        self.telling.iter().find(|it| *it == token).map(String::as_str)
    }

    /// Applies one more event; changes nothing if it breaks a rule.
    pub(super) fn follow(
        &mut self,
        event: &Event<'_>,
        (place, at, weak): (EventPlace, Time, Weak),
        is_used: &dyn Fn(&Used) -> bool,
        uses: &mut Vec<Used>,
    ) -> Result<Followed, Flaw> {
        let followed = self.machine.follow(event, at, weak, is_used, uses)?;
        self.forget_used_accepts();
        self.n_events += 1;
        self.heard_at = Some(at);
        if event.is_critical() {
            self.critical = self.critical.at(at);
            self.critical.n += 1;
        }
        self.questions.extend(asked(event, place));
        for settled in &followed.withdrawn {
            self.forget(&settled.reply_token);
        }
        self.status = match &event.payload {
            Payload::SessionCompleted => Status::Completed,
            Payload::SessionErrored => Status::Errored,
            Payload::SessionCancelled => Status::Cancelled,
            Payload::SessionStarted { .. }
            | Payload::StateChanged { .. }
            | Payload::ProgressUpdated { .. }
            | Payload::ToolInvoked { .. }
            | Payload::ToolCompleted { .. }
            | Payload::OutputStreaming(_)
            | Payload::AwaitingConfirmation(_)
            | Payload::AwaitingClarification(_)
            | Payload::HandoffRequested(_)
            | Payload::Extension { .. } => self.status,
        };
        Ok(followed)
    }

    /// A person said no.
    pub(super) fn refuse(&mut self, reply_token: &str, at: Time) {
        let question = self.question(reply_token);
        let refused = question.and_then(|question| {
            let (action_hash, action) = (question.action_hash.clone(), question.action.clone()?);
            Some(Refused { action_hash, action, at })
        });
        self.refused.retain(|one| at.since(one.at) < REFUSED_RESTS);
        self.refused.extend(refused);
        let n_over = self.refused.len().saturating_sub(REFUSED_KEPT_MAX);
        self.refused.drain(..n_over);
    }

    /// How long an event must wait that asks again for an action that was just refused.
    pub(super) fn rests(&self, event: &Event<'_>, now: Time) -> Option<Span> {
        let Payload::AwaitingConfirmation(confirmation) = &event.payload else { return None };
        let hash = event.envelope.link.action_hash.as_deref();
        let recent = self.refused.iter().filter(|one| now.since(one.at) < REFUSED_RESTS);
        let mut recent = recent.peekable();
        recent.peek()?;
        let words = digest(&machine::as_read(&confirmation.action));
        let is_same = |one: &&Refused| match (&one.action_hash, hash) {
            (Some(own), Some(hash)) => own == hash,
            (Some(_) | None, _) => one.action == words,
        };
        let last = recent.filter(is_same).map(|one| one.at.plus(REFUSED_RESTS)).max()?;
        Some(last.since(now))
    }

    /// What remains after an erasure: no text that a person or an agent wrote, and no trace of it.
    pub(crate) fn without_texts(mut self) -> Self {
        self.n_entries += 1;
        self.refused.clear();
        self.machine.forget_default_responses();
        self
    }
}

impl Window {
    /// The same window, or a new one if its time is over.
    pub(super) fn at(self, now: Time) -> Self {
        let is_over = now.since(self.since) >= CRITICAL_WINDOW;
        if is_over { Self { since: now, n: 0 } } else { self }
    }
}

fn asked(event: &Event<'_>, place: EventPlace) -> Option<Question> {
    let owned = |text: &Option<Text<'_>>| text.as_ref().map(|text| text.as_ref().to_owned());
    let link = &event.envelope.link;
    Some(Question {
        reply_token: event.payload.reply_token()?.to_owned(),
        place,
        tool_call_id: owned(&link.tool_call_id),
        action_hash: owned(&link.action_hash),
        action: if let Payload::AwaitingConfirmation(confirmation) = &event.payload {
            Some(digest(&machine::as_read(&confirmation.action)))
        } else {
            None
        },
        epoch: None,
        listed: false,
    })
}

/// Tells actions apart without keeping their words.
fn digest(words: &str) -> String {
    canonical::hex(&canonical::sha256(&[words.as_bytes()]))
}

/// The key that an id of a session occupies. Its value is the place of the event that used it.
pub fn hold_key(session: &SessionId, used: &Used) -> String {
    match used {
        Used::Event(id) => format!("said/{session}/{id}"),
        Used::Call(id) => format!("call/{session}/{id}"),
        Used::Output(id) => format!("output/{session}/{id}"),
        Used::Token(id) => format!("reply/{session}/{id}"),
    }
}

/// The key of a requested handoff; taken once it has a result.
pub fn handover_key(session: &SessionId, event_id: &str) -> String {
    format!("handover/{session}/{event_id}")
}

/// The key of a change of holder that a session asked for, by its place in the transcript. Its
/// value names the session, the event and the outcome.
pub fn handed_key(conversation: ConversationId, number: u64) -> String {
    format!("handed/{conversation}/{number}")
}

/// The keys that a recorded event may occupy; its own comes first.
pub fn keys_of_recorded(session: &SessionId, text: &str) -> Vec<String> {
    read(text).map(|event| hold_keys(session, &event)).unwrap_or_default()
}

/// All keys that an event may occupy or look up.
pub(super) fn hold_keys(session: &SessionId, event: &Event<'_>) -> Vec<String> {
    let mut used = vec![Used::Event(event.envelope.event_id.as_ref().to_owned())];
    if let Payload::ToolInvoked { tool_call_id: Some(id), .. } = &event.payload {
        used.push(Used::Call(id.as_ref().to_owned()));
    }
    if let Payload::OutputStreaming(chunk) = &event.payload {
        used.push(Used::Output(chunk.output_id.as_deref().unwrap_or_default().to_owned()));
    }
    if let Payload::AwaitingConfirmation(_) = &event.payload
        && let Some(id) = &event.envelope.link.tool_call_id
    {
        used.push(Used::Call(id.as_ref().to_owned()));
    }
    used.extend(event.payload.reply_token().map(|token| Used::Token(token.to_owned())));
    used.iter().map(|used| hold_key(session, used)).collect()
}

/// The conversation that the first event names, if it is a valid id.
pub(super) fn conversation_of(event: &Event<'_>) -> Option<ConversationId> {
    event.envelope.link.conversation_id.as_ref()?.parse().ok()
}

/// What a first event says about its session, or a flaw if it is invalid.
pub(super) fn opening(event: &Event<'_>, producer: AgentId) -> Result<Opening, Flaw> {
    let link = &event.envelope.link;
    let conversation = link.conversation_id.as_ref().map(|id| id.parse()).transpose();
    let conversation = conversation.map_err(|_| no_conversation())?;
    let parent = link.parent_session_id.as_ref().map(|id| id.parse()).transpose();
    let parent = parent.map_err(|_| Flaw {
        tier: Tier::Spec,
        rule: "tasuki.parent_session",
        field: "extensions.tasuki.parent_session_id".to_owned(),
        expected: "the id of a session".to_owned(),
    })?;
    let agent_name = event.envelope.agent_name.as_deref().map(str::to_owned);
    Ok(Opening { producer, conversation, parent, agent_name })
}

/// The same for a conversation that does not exist and for one of another caller.
pub(super) fn no_conversation() -> Flaw {
    Flaw {
        tier: Tier::Spec,
        rule: "tasuki.conversation",
        field: "extensions.tasuki.conversation_id".to_owned(),
        expected: "a conversation of the teamspace in which the producer takes part".to_owned(),
    }
}

impl EventPlace {
    /// Parses the place from the value of a hold.
    pub fn parse(value: &str) -> Option<Self> {
        let mut numbers = value.split('.');
        let position = numbers.next()?.parse().ok()?;
        let index = numbers.next()?.parse().ok()?;
        Some(Self { position, index })
    }

    /// The position of the entry that settled the question of a token, from the value of its hold.
    pub fn settled_at(value: &str) -> Option<u64> {
        value.split('.').nth(2)?.parse().ok()
    }
}

/// The position of the entry whose event uses this hold.
pub fn named_entry(hold: &HoldState) -> Option<u64> {
    hold.value.as_deref().and_then(EventPlace::parse).map(|place| place.position)
}

impl fmt::Display for EventPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.position, self.index)
    }
}

impl Status {
    pub fn as_str(self) -> &'static str {
        match self {
            Status::Open => "open",
            Status::Completed => "completed",
            Status::Errored => "errored",
            Status::Cancelled => "cancelled",
        }
    }
}
