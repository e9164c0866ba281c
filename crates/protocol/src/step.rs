//! One command against one aggregate. `step` runs decide and evolve, derives what follows from the
//! new state, and returns all of it as one value. The caller stores that value whole or not at all.
//! The road above knows no aggregate: it asks here.

mod derived;
mod elapsed;
mod evolve;
mod outcome;
mod warnings;

use crate::caller::Caller;
use crate::canonical::{self, Hash};
use crate::conversation::turn_delivery;
use crate::fork::{self};
use crate::handoff::command::Looked;
use crate::handoff::package::{self, Artifact, Priority};
use crate::handoff::workq::{Transfer, Way};
use crate::handoff::{self, Handoff};
use crate::ids::{AgentId, HandoffId, MessageId, SessionId};
use crate::ledger::{Erased, Recorded, Stream, Subject};
use crate::rejection::Rejection;
use crate::route::graph::HUMAN;
use crate::{
    agent, codec, conversation, erasure, file, graph, message, question, session, subscription,
    teamspace, token, webhook,
};
use aaep::AGENT_ID;
use base::lookalike::letters;

use derived::{deadline_changes, effect_changes, hold_changes};

pub use crate::aggregate::{Command, Event, State};
pub use crate::facts::{Context, Facts, Holds};
pub use crate::ledger::BadHistory;
pub use crate::needs::{Directory, Needs, QueueOf, SlotOf};
pub use crate::stored::{Deadline, Document, Effect, EffectKind, Hold, HoldState, HoldWrite};
pub use derived::{deadlines, effects, holds_left, work};
pub use elapsed::elapsed;
pub use evolve::evolve;
pub use outcome::{Outcome, Refused, Went};

/// What an effect does, as data.
#[derive(Debug, Clone, PartialEq)]
pub enum Work {
    /// Verify these artifacts.
    Look { looked: Looked, artifacts: Vec<Artifact> },
    /// Ask the work queue to hand over the items that the package with this hash names.
    Transfer { package_hash: String, way: Way, transfer: Transfer },
    /// Call a recipient of a message.
    Wake(Wake),
    /// Tell the holder of a conversation what was said.
    Deliver(Box<turn_delivery::Turn>),
    /// Tell the producer of a session the result of a question.
    Tell(Tell),
    /// Delete the bytes of a file.
    Remove,
}

/// The agent to tell, and the question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tell {
    pub agent: AgentId,
    pub session: SessionId,
    pub reply_token: String,
}

/// What a wake call tells an agent: that there is a message, and not what it says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wake {
    pub agent: AgentId,
    pub message: MessageId,
    pub priority: Priority,
    pub kind: message::Kind,
}

/// All that follows from one command. Empty `events` means: nothing happened, store nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    pub events: Vec<Recorded>,
    pub state: State,
    pub disarm: Vec<Deadline>,
    pub arm: Vec<Deadline>,
    /// Effects that the new state wants and the old one did not, and the reverse.
    pub begin: Vec<Effect>,
    pub end: Vec<Effect>,
    pub holds: Vec<HoldWrite>,
    pub document: Option<Document>,
    pub erase: Option<u64>,
    /// The events that are part of a transcript.
    pub transcript: Vec<NumberedEvent>,
    /// Commands to other streams of the teamspace, in this order. All of it is stored together, or
    /// nothing is.
    pub then: Vec<(Subject, Command)>,
    pub outcome: Outcome,
}

/// A line of a transcript: its number, and the event of the change that it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NumberedEvent {
    pub number: u64,
    pub event: usize,
}

/// Whether a hold is one of several that are alike, such as the slots of an agent.
pub fn is_slot(hold_key: &str) -> bool {
    agent::is_slot(hold_key)
}

/// The keys of the holds that a command looks at. They are first assumed to be free, and read only
/// if the command fails on that assumption.
pub fn holds(
    caller: &Caller,
    stream: &Stream,
    state: Option<&State>,
    command: &Command,
) -> Vec<String> {
    match (&stream.subject, command) {
        (_, Command::Handoff(command)) => {
            command.hold(state.and_then(State::as_handoff)).into_iter().collect()
        }
        (_, Command::Message(command)) => command.hold(caller).into_iter().collect(),
        (Subject::Session(id), Command::Session(command)) => command.holds(id),
        (
            _,
            Command::Agent(_)
            | Command::Token(_)
            | Command::Conversation(_)
            | Command::Teamspace(_)
            | Command::Graph(_)
            | Command::Subscription(_)
            | Command::Session(_)
            | Command::File(_)
            | Command::Webhook(_)
            | Command::Question(_)
            | Command::Erase { .. }
            | Command::Fork(_),
        ) => Vec::new(),
    }
}

/// Whether a text is the document with this hash: a sealed package, or a draft or a graph as it was
/// sent.
pub fn is_document(text: &str, hash: &str) -> bool {
    let is_named = |found: Hash| canonical::hex(&found) == hash;
    package::hash_of_stored(text).is_some_and(is_named)
        || is_named(canonical::sha256(&[text.as_bytes()]))
}

/// Adds an entry that a hold names.
pub fn add_named(holds: &mut Holds, position: u64, event: Event) {
    if let Event::Session(session::Event::Announced(announced)) = event {
        holds.announced.insert(position, announced.events);
    }
}

/// The position of the entry that a hold of this stream names, if a decision compares with it.
pub fn named_entry(stream: &Stream, hold: &HoldState) -> Option<u64> {
    match stream.subject {
        Subject::Session(_) => session::named_entry(hold),
        Subject::Handoff(_)
        | Subject::Agent(_)
        | Subject::Token(_)
        | Subject::Message(_)
        | Subject::Conversation(_)
        | Subject::Teamspace
        | Subject::Graph(_)
        | Subject::Subscription(_)
        | Subject::File(_)
        | Subject::Webhook(_)
        | Subject::Question(_)
        | Subject::Ledger => None,
    }
}

/// The facts a command needs, given the current state.
pub fn needs(state: Option<&State>, command: &Command) -> Needs {
    match command {
        Command::Handoff(command) => command.needs(state.and_then(State::as_handoff)),
        Command::Message(command) => command.needs(),
        Command::Subscription(command) => command.needs(),
        Command::Conversation(command) => command.needs(state.and_then(State::as_conversation)),
        Command::Agent(command) => command.needs(),
        Command::Graph(command) => command.needs(),
        Command::Webhook(command) => command.needs(),
        Command::File(command) => command.needs(state.and_then(State::as_file)),
        Command::Erase { position, .. } => Needs { entry: Some(*position), ..Needs::default() },
        Command::Question(command) => command.needs(state.and_then(State::as_question)),
        Command::Session(command) => command.needs(state.and_then(State::as_session)),
        Command::Token(_) | Command::Teamspace(_) | Command::Fork(_) => Needs::default(),
    }
}

/// Decides, evolves and derives.
pub fn step(
    stream: &Stream,
    state: Option<&State>,
    command: &Command,
    context: Context<'_>,
) -> Result<Change, Rejection> {
    let Decided { events, document, then, mut holds } = decide(stream, state, command, context)?;
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
    holds.extend(hold_changes(stream, state, &next, context.facts));
    let erase = match command {
        Command::Erase { position, .. } => Some(*position),
        Command::Handoff(_)
        | Command::Agent(_)
        | Command::Token(_)
        | Command::Message(_)
        | Command::Conversation(_)
        | Command::Teamspace(_)
        | Command::Graph(_)
        | Command::Subscription(_)
        | Command::Session(_)
        | Command::File(_)
        | Command::Webhook(_)
        | Command::Question(_)
        | Command::Fork(_) => None,
    };
    let mut then = derived::then(then, state, &next);
    let facts = context.facts;
    then.extend(derived::to_files(stream, command, &events, facts, document.as_ref(), &then));
    Ok(Change {
        disarm,
        arm,
        begin,
        end,
        holds,
        document,
        erase,
        then,
        outcome: Outcome {
            warnings: warnings::of(command, context.facts),
            ..derived::outcome(&next, &events)
        },
        transcript: derived::transcript(&events),
        events: events.iter().map(codec::encode).collect(),
        state: next,
    })
}

/// The result of a decision.
struct Decided {
    events: Vec<Event>,
    document: Option<Document>,
    then: Vec<(Subject, Command)>,
    /// Keys that the decision itself takes, besides those that follow from the state.
    holds: Vec<HoldWrite>,
}

impl Decided {
    fn events(events: impl IntoIterator<Item = Event>) -> Self {
        Self {
            events: events.into_iter().collect(),
            document: None,
            then: Vec::new(),
            holds: Vec::new(),
        }
    }
}

fn decide(
    stream: &Stream,
    state: Option<&State>,
    command: &Command,
    context: Context<'_>,
) -> Result<Decided, Rejection> {
    let no_such = || Rejection::NotFound { what: stream.subject.kind() };
    // Gateways name streams in the caller's own teamspace. If one ever does not, nothing is found.
    if context.caller.teamspace != stream.teamspace {
        return Err(no_such());
    }
    match (&stream.subject, state, command) {
        (_, None, Command::Erase { .. }) => Err(no_such()),
        (_, Some(state), Command::Erase { position, reason }) => {
            erasure::decide(state, *position, reason, context.caller).map(erased)
        }
        (Subject::Handoff(id), None, Command::Handoff(command)) => {
            decide_handoff(*id, None, command, context)
        }
        (Subject::Handoff(id), Some(State::Handoff(handoff)), Command::Handoff(command)) => {
            decide_handoff(*id, Some(handoff), command, context)
        }
        (Subject::Agent(id), state, Command::Agent(asked)) => {
            decide_agent(id, state, asked, context)
        }
        (Subject::Token(_), state, Command::Token(asked)) => decide_token(state, asked, context),
        (Subject::Ledger, _, Command::Fork(asked)) => {
            Ok(Decided::events([Event::Forked(fork::decide(asked, context.caller)?)]))
        }
        (Subject::Conversation(_), None, Command::Conversation(command)) => {
            Ok(conversations(conversation::decide(None, command, context)?))
        }
        (Subject::Conversation(_), Some(State::Conversation(it)), Command::Conversation(asked)) => {
            Ok(conversations(conversation::decide(Some(it), asked, context)?))
        }
        (Subject::Teamspace, state, Command::Teamspace(asked)) => {
            decide_teamspace(state, asked, context)
        }
        (Subject::Graph(_), state, Command::Graph(asked)) => decide_graph(state, asked, context),
        (Subject::Subscription(_), state, Command::Subscription(asked)) => {
            decide_subscription(state, asked, context)
        }
        (Subject::Session(id), state, Command::Session(it)) => {
            decide_session(id, state, it, context)
        }
        (Subject::Message(id), state, Command::Message(it)) => {
            decide_message(*id, state, it, context)
        }
        (Subject::File(_), state, Command::File(it)) => decide_file(state, it, context),
        (Subject::Webhook(_), state, Command::Webhook(it)) => decide_webhook(state, it, context),
        (Subject::Question(_), state, Command::Question(it)) => decide_question(state, it, context),
        (
            Subject::Handoff(_)
            | Subject::Agent(_)
            | Subject::Token(_)
            | Subject::Message(_)
            | Subject::Conversation(_)
            | Subject::Teamspace
            | Subject::Graph(_)
            | Subject::Subscription(_)
            | Subject::Session(_)
            | Subject::File(_)
            | Subject::Webhook(_)
            | Subject::Question(_)
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
        holds: Vec::new(),
    })
}

fn erased(erased: Erased) -> Decided {
    Decided::events([Event::Erased(erased)])
}

fn decide_agent(
    id: &AgentId,
    state: Option<&State>,
    command: &agent::Command,
    context: Context<'_>,
) -> Result<Decided, Rejection> {
    let known = if let Some(State::Agent(known)) = state { Some(known) } else { None };
    // The server announces and sends under names of its own; one is the coordinators' address.
    let is_ours = || letters(id.as_str()).contains(AGENT_ID) || message::state::is_reserved(id);
    if known.is_none() && is_ours() {
        let expected = format!("a name that the server does not use, without `{AGENT_ID}` in it");
        return Err(Rejection::SchemaInvalid { field: "agent".to_owned(), expected });
    }
    if known.is_none() && id.as_str() == HUMAN {
        let expected = format!("another name; `{HUMAN}` stands for a person of a queue");
        return Err(Rejection::SchemaInvalid { field: "agent".to_owned(), expected });
    }
    let events = agent::decide(known, command, context)?;
    Ok(Decided::events(events.into_iter().map(Event::Agent)))
}

fn decide_message(
    id: MessageId,
    state: Option<&State>,
    command: &message::Command,
    context: Context<'_>,
) -> Result<Decided, Rejection> {
    let events = message::decide(id, state.and_then(State::as_message), command, context)?;
    Ok(Decided::events(events.into_iter().map(Event::Message)))
}

fn conversations(events: Vec<conversation::Event>) -> Decided {
    Decided::events(events.into_iter().map(Event::Conversation))
}

fn decide_token(
    state: Option<&State>,
    command: &token::Command,
    context: Context<'_>,
) -> Result<Decided, Rejection> {
    let known = if let Some(State::Token(known)) = state { Some(known) } else { None };
    let events = token::decide(known, command, context.caller, context.now)?;
    Ok(Decided::events(events.into_iter().map(Event::Token)))
}

fn decide_teamspace(
    state: Option<&State>,
    command: &teamspace::Command,
    context: Context<'_>,
) -> Result<Decided, Rejection> {
    let known = if let Some(State::Teamspace(known)) = state { Some(known) } else { None };
    let events = teamspace::decide(known, command, context.caller)?;
    Ok(Decided::events(events.into_iter().map(Event::Teamspace)))
}

fn decide_session(
    id: &SessionId,
    state: Option<&State>,
    command: &session::Command,
    context: Context<'_>,
) -> Result<Decided, Rejection> {
    let known = state.and_then(State::as_session);
    let session::Decision { events, holds } = session::decide(id, known, command, context)?;
    Ok(Decided { holds, ..Decided::events(events.into_iter().map(Event::Session)) })
}

fn decide_graph(
    state: Option<&State>,
    command: &graph::Command,
    context: Context<'_>,
) -> Result<Decided, Rejection> {
    let known = if let Some(State::Graph(known)) = state { Some(known) } else { None };
    let (events, document) = graph::decide(known, command, context)?;
    Ok(Decided { document, ..Decided::events(events.into_iter().map(Event::Graph)) })
}

fn decide_subscription(
    state: Option<&State>,
    command: &subscription::Command,
    context: Context<'_>,
) -> Result<Decided, Rejection> {
    let known = if let Some(State::Subscription(known)) = state { Some(&**known) } else { None };
    let events = subscription::decide(known, command, context)?;
    Ok(Decided::events(events.into_iter().map(Event::Subscription)))
}

fn decide_webhook(
    state: Option<&State>,
    command: &webhook::Command,
    context: Context<'_>,
) -> Result<Decided, Rejection> {
    let event = webhook::decide(state.and_then(State::as_webhook), command, context)?;
    Ok(Decided::events(event.map(Event::Webhook)))
}

fn decide_file(
    state: Option<&State>,
    command: &file::Command,
    context: Context<'_>,
) -> Result<Decided, Rejection> {
    let events = file::decide(state.and_then(State::as_file), command, context)?;
    Ok(Decided::events(events.into_iter().map(Event::File)))
}

fn decide_question(
    state: Option<&State>,
    command: &question::Command,
    context: Context<'_>,
) -> Result<Decided, Rejection> {
    let event = question::decide(state.and_then(State::as_question), command, context)?;
    Ok(Decided::events(event.map(Event::Question)))
}
