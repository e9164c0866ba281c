//! One command against one aggregate. `step` runs decide, evolve and what is derived from the new
//! state, and returns all of it as one value; whoever calls it stores that value whole or not at
//! all. This is the only place that knows which aggregates exist.

mod derived;
mod outcome;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::conversation::telling;
use crate::fork::{self, Forked};
use crate::handoff::command::Looked;
use crate::handoff::decide::Context;
use crate::handoff::package::{Artifact, Priority};
use crate::handoff::workq::{Transfer, Way};
use crate::handoff::{self, Handoff};
use crate::ids::{AgentId, HandoffId, MessageId};
use crate::ledger::{Erased, Recorded, Stream, Subject};
use crate::rejection::Rejection;
use crate::time::Time;
use crate::{agent, codec, conversation, erasure, message, teamspace, token};

use derived::{deadline_changes, effect_changes, hold_changes};

pub use derived::work;
pub use outcome::{Outcome, Refused};

/// What is asked.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    Handoff(handoff::Command),
    Agent(agent::Command),
    Token(token::Command),
    Message(message::Command),
    Conversation(conversation::Command),
    Teamspace(teamspace::Command),
    /// Erases the body of one entry of the stream, for whichever aggregate it belongs to.
    Erase {
        position: u64,
        reason: String,
    },
    Fork(fork::Fork),
}

/// What happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    Handoff(handoff::Event),
    Agent(agent::Event),
    Token(token::Event),
    Message(message::Event),
    Conversation(conversation::Event),
    Teamspace(teamspace::Event),
    Erased(Erased),
    Forked(Forked),
}

/// What is true: the snapshot of one aggregate. Can be rebuilt from its events at any time, so its
/// stored form is no promise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum State {
    Handoff(Box<Handoff>),
    Agent(agent::Agent),
    Token(token::Token),
    Ledger(fork::Forks),
    Message(message::Message),
    Conversation(Box<conversation::Conversation>),
    Teamspace(teamspace::Teamspace),
}

/// A moment at which the server must look again.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Deadline {
    pub name: Cow<'static, str>,
    pub due: Time,
}

/// Something that must happen outside for as long as the state wants it. What comes of it returns
/// as a command.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Effect {
    /// Unique within the stream.
    pub name: Cow<'static, str>,
}

/// What is to be done for an effect, as data.
#[derive(Debug, Clone, PartialEq)]
pub enum Work {
    /// Look at these artifacts.
    Look { looked: Looked, artifacts: Vec<Artifact> },
    /// Ask the work queue to hand over the items that the package with this hash names.
    Transfer { package_hash: String, way: Way, transfer: Transfer },
    /// Call a recipient of a message.
    Wake(Wake),
    /// Tell the holder of a conversation what was said.
    Deliver(Box<telling::Turn>),
}

/// What an agent that is called is told: that there is something, and not what it says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wake {
    pub agent: AgentId,
    pub message: MessageId,
    pub priority: Priority,
    pub kind: message::Kind,
}

/// A unique key that a state occupies or leaves free, with a small value that outlives both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hold {
    pub key: String,
    pub occupied: bool,
    pub value: String,
}

/// What the store knows about a key. `holder` is the id of the stream that occupies it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HoldState {
    pub holder: Option<String>,
    pub value: Option<String>,
}

/// A compare-and-set of one key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HoldWrite {
    pub key: String,
    pub expected: HoldState,
    pub next: HoldState,
}

/// A text that events name by its hash and that is stored beside them, once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    pub hash: String,
    pub text: String,
}

/// What a decision needs to know besides its own aggregate. Read before, handed in.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Facts {
    pub agent: Option<agent::Agent>,
    /// Who asks, as the directory knows it.
    pub caller: Option<agent::Agent>,
    pub hold: HoldState,
    pub document: Option<String>,
    /// Those of the directory that were asked for, as far as they exist.
    pub directory: Vec<AgentId>,
    /// Those of them that can be called.
    pub wakeable: Vec<AgentId>,
    /// Those of them whom turns reach at an endpoint.
    pub at_endpoint: Vec<AgentId>,
    pub message: Option<message::Message>,
    /// What the teamspace says about all its work.
    pub settings: teamspace::Settings,
    /// The lowest free slot of the agent whose slot was asked for; `None` if it has none free, or
    /// as many as it likes.
    pub slot: Option<u16>,
}

/// Which facts to read for a command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Needs {
    pub agent: Option<AgentId>,
    pub caller: bool,
    pub hold: Option<String>,
    /// The hash of the document, as the aggregate's state names it.
    pub document: Option<String>,
    pub directory: Option<Directory>,
    /// Whether it matters who of them can be called.
    pub wakes: bool,
    pub message: Option<MessageId>,
    pub settings: bool,
    /// Whose slot is to be taken.
    pub slot: Option<AgentId>,
}

/// Which agents to look up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Directory {
    Named(Vec<AgentId>),
    /// All of them, or as many as show that they are too many.
    Everyone,
}

/// All that follows from one command. Empty `events` means: nothing happened, store nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    pub events: Vec<Recorded>,
    pub state: State,
    pub disarm: Vec<Deadline>,
    pub arm: Vec<Deadline>,
    /// Effects that the new state wants and the old one did not, and the other way round.
    pub begin: Vec<Effect>,
    pub end: Vec<Effect>,
    pub holds: Vec<HoldWrite>,
    pub document: Option<Document>,
    pub erase: Option<u64>,
    /// The events that are part of a transcript.
    pub transcript: Vec<Line>,
    /// What is asked of other streams of the teamspace, in this order: all of it is stored
    /// together, or nothing is.
    pub then: Vec<(Subject, Command)>,
    pub outcome: Outcome,
}

/// A line of a transcript: which event of the change is the one with this number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line {
    pub number: u64,
    pub event: usize,
}

/// The ledger holds an order of events that no decision could have produced.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("event {event} does not follow from the events before it")]
pub struct BadHistory {
    pub event: &'static str,
}

impl Command {
    pub fn name(&self) -> &'static str {
        match self {
            Command::Handoff(command) => command.name(),
            Command::Agent(command) => command.name(),
            Command::Token(token::Command::Issue { .. }) => "issue",
            Command::Token(token::Command::Revoke) => "revoke",
            Command::Message(command) => command.name(),
            Command::Conversation(command) => command.name(),
            Command::Teamspace(teamspace::Command::Create { .. }) => "create_teamspace",
            Command::Teamspace(teamspace::Command::Configure { .. }) => "configure_teamspace",
            Command::Erase { .. } => "erase",
            Command::Fork(_) => "fork",
        }
    }
}

/// The facts a command needs, given the state it meets.
pub fn needs(state: Option<&State>, command: &Command) -> Needs {
    let command = match command {
        Command::Handoff(command) => command,
        Command::Message(command) => return command.needs(),
        Command::Conversation(command) => return command.needs(derived::conversation(state)),
        Command::Agent(_)
        | Command::Token(_)
        | Command::Teamspace(_)
        | Command::Erase { .. }
        | Command::Fork(_) => return Needs::default(),
    };
    let handoff = match state {
        Some(State::Handoff(handoff)) => Some(handoff.as_ref()),
        Some(
            State::Agent(_)
            | State::Token(_)
            | State::Ledger(_)
            | State::Message(_)
            | State::Conversation(_)
            | State::Teamspace(_),
        )
        | None => None,
    };
    command.needs(handoff)
}

/// Decides, evolves and derives.
pub fn step(
    stream: &Stream,
    state: Option<&State>,
    command: &Command,
    context: Context<'_>,
) -> Result<Change, Rejection> {
    let Decided { events, document, then } = decide(stream, state, command, context)?;
    let mut next = state.cloned();
    for event in &events {
        next = Some(
            evolve(stream, next, event, context.now)
                .expect("a decision only writes events that follow from its state"),
        );
    }
    let next = next.ok_or(Rejection::NotFound { what: stream.subject.kind() })?;
    let (disarm, arm) = deadline_changes(state, &next);
    let (end, begin) = effect_changes(state, &next);
    let erase = match command {
        Command::Erase { position, .. } => Some(*position),
        Command::Handoff(_)
        | Command::Agent(_)
        | Command::Token(_)
        | Command::Message(_)
        | Command::Conversation(_)
        | Command::Teamspace(_)
        | Command::Fork(_) => None,
    };
    Ok(Change {
        disarm,
        arm,
        begin,
        end,
        holds: hold_changes(stream, state, &next, context.facts),
        document,
        erase,
        then: derived::then(then, state, &next),
        outcome: derived::outcome(&next, &events),
        transcript: derived::transcript(&events),
        events: events.iter().map(codec::encode).collect(),
        state: next,
    })
}

/// What a decision came to.
struct Decided {
    events: Vec<Event>,
    document: Option<Document>,
    then: Vec<(Subject, Command)>,
}

impl Decided {
    fn events(events: impl IntoIterator<Item = Event>) -> Self {
        Self { events: events.into_iter().collect(), document: None, then: Vec::new() }
    }
}

fn decide(
    stream: &Stream,
    state: Option<&State>,
    command: &Command,
    context: Context<'_>,
) -> Result<Decided, Rejection> {
    let no_such = || Rejection::NotFound { what: stream.subject.kind() };
    // Gateways name streams in the caller's own teamspace; should one ever not, nothing is found.
    if context.caller.teamspace != stream.teamspace {
        return Err(no_such());
    }
    match (&stream.subject, state, command) {
        (_, state, Command::Erase { position, reason }) => {
            let state = state.ok_or_else(no_such)?;
            let erased = erasure::decide(state, *position, reason, context.caller)?;
            Ok(Decided::events([Event::Erased(erased)]))
        }
        (Subject::Handoff(id), None, Command::Handoff(command)) => {
            decide_handoff(*id, None, command, context)
        }
        (Subject::Handoff(id), Some(State::Handoff(handoff)), Command::Handoff(command)) => {
            decide_handoff(*id, Some(handoff), command, context)
        }
        (Subject::Agent(_), None, Command::Agent(command)) => {
            Ok(agents(agent::decide(None, command, context)?))
        }
        (Subject::Agent(_), Some(State::Agent(agent)), Command::Agent(command)) => {
            Ok(agents(agent::decide(Some(agent), command, context)?))
        }
        (Subject::Token(_), None, Command::Token(command)) => {
            Ok(tokens(token::decide(None, command, context.caller, context.now)?))
        }
        (Subject::Token(_), Some(State::Token(token)), Command::Token(command)) => {
            Ok(tokens(token::decide(Some(token), command, context.caller, context.now)?))
        }
        (Subject::Ledger, _, Command::Fork(fork)) => {
            Ok(Decided::events([Event::Forked(fork::decide(fork, context.caller)?)]))
        }
        (Subject::Message(id), None, Command::Message(command)) => {
            Ok(messages(message::decide(*id, None, command, context)?))
        }
        (Subject::Message(id), Some(State::Message(message)), Command::Message(command)) => {
            Ok(messages(message::decide(*id, Some(message), command, context)?))
        }
        (Subject::Conversation(_), None, Command::Conversation(command)) => {
            Ok(conversations(conversation::decide(None, command, context)?))
        }
        (Subject::Conversation(_), Some(State::Conversation(it)), Command::Conversation(asked)) => {
            Ok(conversations(conversation::decide(Some(it), asked, context)?))
        }
        (Subject::Teamspace, None, Command::Teamspace(command)) => {
            Ok(teamspaces(teamspace::decide(None, command, context.caller)?))
        }
        (Subject::Teamspace, Some(State::Teamspace(known)), Command::Teamspace(command)) => {
            Ok(teamspaces(teamspace::decide(Some(known), command, context.caller)?))
        }
        (
            Subject::Handoff(_)
            | Subject::Agent(_)
            | Subject::Token(_)
            | Subject::Message(_)
            | Subject::Conversation(_)
            | Subject::Teamspace
            | Subject::Ledger,
            _,
            _,
        ) => Err(no_such()),
    }
}

fn decide_handoff(
    id: HandoffId,
    state: Option<&Handoff>,
    command: &handoff::Command,
    context: Context<'_>,
) -> Result<Decided, Rejection> {
    let decision = handoff::decide(id, state, command, context)?;
    let then = decision.then.into_iter();
    Ok(Decided {
        events: decision.events.into_iter().map(Event::Handoff).collect(),
        document: decision.document,
        then: then.map(|(id, next)| (Subject::Handoff(id), Command::Handoff(next))).collect(),
    })
}

fn agents(events: Vec<agent::Event>) -> Decided {
    Decided::events(events.into_iter().map(Event::Agent))
}

fn tokens(events: Vec<token::Event>) -> Decided {
    Decided::events(events.into_iter().map(Event::Token))
}

fn messages(events: Vec<message::Event>) -> Decided {
    Decided::events(events.into_iter().map(Event::Message))
}

fn conversations(events: Vec<conversation::Event>) -> Decided {
    Decided::events(events.into_iter().map(Event::Conversation))
}

fn teamspaces(events: Vec<teamspace::Event>) -> Decided {
    Decided::events(events.into_iter().map(Event::Teamspace))
}

/// What is true after one more event of a stream.
pub fn evolve(
    stream: &Stream,
    state: Option<State>,
    event: &Event,
    at: Time,
) -> Result<State, BadHistory> {
    let bad = BadHistory { event: event.name() };
    match (&stream.subject, state, event) {
        (_, Some(state), Event::Erased(_)) => Ok(derived::without_texts(state, at)),
        (Subject::Handoff(id), None, Event::Handoff(event)) => {
            Ok(State::Handoff(Box::new(handoff::evolve(*id, None, event, at)?)))
        }
        (Subject::Handoff(id), Some(State::Handoff(handoff)), Event::Handoff(event)) => {
            Ok(State::Handoff(Box::new(handoff::evolve(*id, Some(*handoff), event, at)?)))
        }
        (Subject::Agent(id), None, Event::Agent(event)) => {
            Ok(State::Agent(agent::evolve(id.clone(), None, event)?))
        }
        (Subject::Agent(id), Some(State::Agent(agent)), Event::Agent(event)) => {
            Ok(State::Agent(agent::evolve(id.clone(), Some(agent), event)?))
        }
        (Subject::Token(id), None, Event::Token(event)) => {
            Ok(State::Token(token::evolve(*id, None, event, at)?))
        }
        (Subject::Token(id), Some(State::Token(token)), Event::Token(event)) => {
            Ok(State::Token(token::evolve(*id, Some(token), event, at)?))
        }
        (Subject::Ledger, None, Event::Forked(forked)) => {
            Ok(State::Ledger(fork::evolve(None, forked)))
        }
        (Subject::Ledger, Some(State::Ledger(forks)), Event::Forked(forked)) => {
            Ok(State::Ledger(fork::evolve(Some(forks), forked)))
        }
        (Subject::Message(id), None, Event::Message(event)) => {
            Ok(State::Message(message::evolve(*id, None, event, at)?))
        }
        (Subject::Message(id), Some(State::Message(message)), Event::Message(event)) => {
            Ok(State::Message(message::evolve(*id, Some(message), event, at)?))
        }
        (Subject::Conversation(id), None, Event::Conversation(event)) => {
            Ok(State::Conversation(Box::new(conversation::evolve(*id, None, event, at)?)))
        }
        (Subject::Conversation(id), Some(State::Conversation(it)), Event::Conversation(event)) => {
            Ok(State::Conversation(Box::new(conversation::evolve(*id, Some(*it), event, at)?)))
        }
        (Subject::Teamspace, None, Event::Teamspace(event)) => {
            Ok(State::Teamspace(teamspace::evolve(None, event)?))
        }
        (Subject::Teamspace, Some(State::Teamspace(known)), Event::Teamspace(event)) => {
            Ok(State::Teamspace(teamspace::evolve(Some(known), event)?))
        }
        (
            Subject::Handoff(_)
            | Subject::Agent(_)
            | Subject::Token(_)
            | Subject::Message(_)
            | Subject::Conversation(_)
            | Subject::Teamspace
            | Subject::Ledger,
            _,
            _,
        ) => Err(bad),
    }
}
