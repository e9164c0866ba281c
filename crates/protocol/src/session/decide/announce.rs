//! `announce`: the producer announces events. All of them are recorded, or none. An event that was
//! recorded before, byte for byte, is skipped, so that a producer can safely retry.

use std::cell::RefCell;
use std::collections::HashMap;

use super::shared::Decision;
use super::withdraw;
use crate::agent::Kind;
use crate::caller::{Caller, Principal};
use crate::facts::{Context, Holds};
use crate::hidden::first_hidden;
use crate::ids::{AgentId, SessionId};
use crate::narrator::ours::{self, OWN_TYPES};
use crate::rejection::Rejection;
use crate::session::event::{Announced, Consented, Event, Foreseen, Said, counts_as_critical};
use crate::session::evolve::evolve;
use crate::session::state::{EventPlace, Session, hold_key, no_conversation, opening};
use crate::session::{
    ANNOUNCED_EVENTS_MAX, CLOCK_AHEAD_MAX, CRITICAL_EVENTS_MAX, CRITICAL_WINDOW, SESSION_EVENTS_MAX,
};
use crate::stored::{HoldState, HoldWrite};
use crate::time::{Span, Time};
use aaep::AGENT_ID;
use aaep::event::{self, Payload};
use aaep::flaw::{Flaw, Tier};
use aaep::machine::rules::STARTS;
use aaep::machine::{Followed, Used, Weak};
use aaep::read::read;
use base::lookalike::letters;

pub fn decide(
    id: &SessionId,
    state: Option<&Session>,
    events: &[Said],
    context: Context<'_>,
) -> Result<Decision, Rejection> {
    let producer = &producer(context.caller)?;
    if state.is_some_and(|session| session.producer != *producer) {
        let (action, who) = ("announce events of this session", "the agent that began it");
        return Err(Rejection::NotAllowed { action, who });
    }
    if !(1..=ANNOUNCED_EVENTS_MAX).contains(&events.len()) {
        let expected = format!("1 to {ANNOUNCED_EVENTS_MAX} events");
        return Err(Rejection::SchemaInvalid { field: "events".to_owned(), expected });
    }
    // A producer that has lost its conversation is not kept waiting for an answer.
    let lost = state.map(|session| withdraw::lost(id, session, context)).unwrap_or_default();
    let mut session = state.cloned();
    for event in &lost.events {
        let bad = |_| Rejection::NotFound { what: "question" };
        session = Some(evolve(id, session, event, context.now).map_err(bad)?);
    }
    let mut batch = Batch {
        id,
        producer,
        position: session.as_ref().map_or(0, |session| session.n_entries) + 1,
        session,
        context,
        used: HashMap::new(),
        holds: lost.holds,
        withdrawn: lost.events,
        announced: Announced::new(Vec::with_capacity(events.len())),
    };
    for (index, said) in events.iter().enumerate() {
        batch.take(index, said)?;
    }
    Ok(batch.into_decision())
}

/// The agent of the token. The server has a reserved name of its own.
fn producer(caller: &Caller) -> Result<AgentId, Rejection> {
    match &caller.principal {
        Principal::Agent(id) if id.as_str() != AGENT_ID => Ok(id.clone()),
        Principal::System => Ok(ours::producer()),
        Principal::Agent(_) | Principal::Operator(_) | Principal::Customer(_) => Err(not_allowed()),
    }
}

fn not_allowed() -> Rejection {
    Rejection::NotAllowed { action: "announce a session", who: "a worker or a system agent" }
}

/// The events so far.
struct Batch<'a> {
    id: &'a SessionId,
    producer: &'a AgentId,
    /// The session after these events.
    session: Option<Session>,
    /// The position of their entry.
    position: u64,
    context: Context<'a>,
    /// The keys that they use, and the index of the event that uses each.
    used: HashMap<String, usize>,
    holds: Vec<HoldWrite>,
    /// What comes before them: questions that do not count any more.
    withdrawn: Vec<Event>,
    announced: Announced,
}

impl Batch<'_> {
    fn take(&mut self, index: usize, said: &Said) -> Result<(), Rejection> {
        let refused = |flaws| Rejection::EventRefused { index, flaws };
        let event = read(said.text()).map_err(refused)?;
        check_names(self.id, self.producer, &event).map_err(|flaw| refused(vec![flaw]))?;
        if self.is_recorded(&event, said).map_err(|flaw| refused(vec![flaw]))? {
            return Ok(());
        }
        check_clock(&event, self.context.now).map_err(|flaw| refused(vec![flaw]))?;
        if self.session.is_none() {
            self.session = Some(self.open(&event).map_err(|error| match error {
                NotOpened::Flawed(flaw) => refused(vec![flaw]),
                NotOpened::NotAllowed => not_allowed(),
            })?);
            let settings = &self.context.facts.settings;
            self.announced.silence_minutes = settings.session_silence_minutes;
        }
        self.check_speaker(&event).map_err(|flaw| refused(vec![flaw]))?;
        self.announced.after_loss |= !self.speaks();
        let place = EventPlace { position: self.position, index: self.announced.events.len() };
        let mut uses = Vec::new();
        let (id, holds, used) = (self.id, &self.context.facts.holds, &self.used);
        let looked_at = RefCell::new(Vec::new());
        let is_used = |one: &Used| {
            let key = hold_key(id, one);
            let is_used = used.contains_key(&key) || holds.is_taken(&key);
            looked_at.borrow_mut().push(key);
            is_used
        };
        let weak = match self.context.facts.settings.strong_consent_required {
            true => Weak::Refused,
            false => Weak::Allowed,
        };
        let session = self.session.as_mut().expect("it was opened above");
        check_limits(session, index, &event, self.context)?;
        let followed = session
            .follow(&event, (place, self.context.now, weak), &is_used, &mut uses)
            .map_err(|flaw| refused(vec![flaw]))?;
        let conversation = self.context.facts.conversation.as_deref();
        let conversation = conversation.filter(|it| session.conversation == Some(it.id));
        let epoch = conversation.map(|it| it.epoch);
        let listed = epoch.is_some();
        if session.asked_in(place, epoch, listed) {
            (self.announced.epoch, self.announced.listed) = (epoch, listed);
        }
        self.record(said, place, followed, &uses);
        self.rely_on(looked_at.into_inner());
        Ok(())
    }

    /// Keys that were assumed to be free must be free when the events are recorded.
    fn rely_on(&mut self, keys: Vec<String>) {
        let free = keys.into_iter().filter(|key| !self.used.contains_key(key));
        let (expected, next) = (HoldState::default(), HoldState::default());
        let compare = |key| HoldWrite { key, expected: expected.clone(), next: next.clone() };
        self.holds.extend(free.map(compare));
    }

    fn record(&mut self, said: &Said, place: EventPlace, followed: Followed, uses: &[Used]) {
        for one in uses {
            let key = hold_key(self.id, one);
            let next = HoldState { holder: None, value: Some(place.to_string()) };
            self.holds.push(HoldWrite { key: key.clone(), expected: HoldState::default(), next });
            self.used.insert(key, place.index);
        }
        self.announced.events.push(said.clone());
        self.announced.consents.extend(followed.consent.map(|consent| Consented {
            index: place.index,
            event_id: consent.event_id,
            reply_token: consent.reply_token,
            binding: consent.binding,
        }));
        let withdrawn = followed.withdrawn.into_iter().map(|settled| settled.reply_token);
        self.announced.withdrawn.extend(withdrawn);
    }

    /// Whether the same event is recorded. Another one with the same id is refused.
    fn is_recorded(&self, event: &event::Event<'_>, said: &Said) -> Result<bool, Flaw> {
        let event_id = event.envelope.event_id.as_ref();
        let key = hold_key(self.id, &Used::Event(event_id.to_owned()));
        let in_batch = self.used.get(&key).map(|index| &self.announced.events[*index]);
        let holds = &self.context.facts.holds;
        let recorded = match in_batch {
            Some(said) => Some(said),
            None if !holds.is_taken(&key) => return Ok(false),
            // An erased event cannot be compared any more, and must not be announced again.
            None => said_at(holds, &key),
        };
        match recorded {
            Some(recorded) if recorded != said => Err(Flaw {
                tier: Tier::Session,
                rule: "tasuki.event_id",
                field: "event_id".to_owned(),
                expected: "an id that no other event of the session has".to_owned(),
            }),
            Some(_) | None => Ok(true),
        }
    }

    fn open(&self, event: &event::Event<'_>) -> Result<Session, NotOpened> {
        let Payload::SessionStarted { .. } = event.payload else {
            return Err(NotOpened::Flawed(Flaw {
                tier: Tier::Session,
                rule: STARTS.number,
                field: "type".to_owned(),
                expected: "aaep:agent.session.started, the first event of a session".to_owned(),
            }));
        };
        let is_server = self.context.caller.principal == Principal::System;
        match self.context.facts.caller.as_ref().map(|agent| agent.kind) {
            Some(Kind::Worker | Kind::System) => {}
            None if is_server => {}
            Some(Kind::Human | Kind::Queue) | None => return Err(NotOpened::NotAllowed),
        }
        if ours::reads_as_ours(self.id) != is_server {
            return Err(NotOpened::Flawed(Flaw {
                tier: Tier::Session,
                rule: "tasuki.session_id",
                field: "session_id".to_owned(),
                expected: format!("an id that does not begin with {}", ours::SESSION_PREFIX),
            }));
        }
        let opening = opening(event, self.producer.clone()).map_err(NotOpened::Flawed)?;
        if let Some(id) = opening.conversation {
            let conversation = self.context.facts.conversation.as_deref();
            let takes_part = conversation
                .is_some_and(|it| it.id == id && it.side(self.context.caller).is_some());
            if !takes_part {
                return Err(NotOpened::Flawed(no_conversation()));
            }
        }
        let silence_minutes = self.context.facts.settings.session_silence_minutes;
        Ok(Session { silence_minutes, ..Session::new(self.id, opening, self.context.now) })
    }

    /// In a conversation only its holder is heard. An agent that has lost it may still end what it
    /// began.
    fn check_speaker(&self, event: &event::Event<'_>) -> Result<(), Flaw> {
        if self.speaks() || ends(&event.payload) {
            return Ok(());
        }
        Err(Flaw {
            tier: Tier::Session,
            rule: "tasuki.holder",
            field: "type".to_owned(),
            expected: "an end of the session or of a call, or a state: another agent answers in \
                       its conversation, or it is closed"
                .to_owned(),
        })
    }

    /// Whether the producer is heard in the conversation of its session, if it has one.
    fn speaks(&self) -> bool {
        let is_server = self.context.caller.principal == Principal::System;
        let conversation = self.context.facts.conversation.as_deref();
        let session = self.session.as_ref().filter(|_| !is_server);
        session.is_none_or(|session| session.is_heard(conversation))
    }

    fn into_decision(self) -> Decision {
        let Self { session, position, mut announced, holds, withdrawn: mut events, .. } = self;
        let Some(mut session) = session.filter(|_| !announced.events.is_empty()) else {
            return Decision::default();
        };
        session.n_entries = position;
        announced.foreseen = Foreseen(Some(Box::new(session)));
        events.push(Event::Announced(Box::new(announced)));
        Decision { events, holds }
    }
}

/// The recorded event that a hold names.
fn said_at<'a>(holds: &'a Holds, key: &str) -> Option<&'a Said> {
    let place = holds.get(key).value.as_deref().and_then(EventPlace::parse)?;
    holds.announced.get(&place.position)?.get(place.index)
}

/// Why a session cannot begin.
enum NotOpened {
    Flawed(Flaw),
    NotAllowed,
}

/// Whether an event only ends something that was begun.
fn ends(payload: &Payload<'_>) -> bool {
    match payload {
        Payload::SessionCompleted
        | Payload::SessionErrored
        | Payload::SessionCancelled
        | Payload::StateChanged { .. }
        | Payload::ToolCompleted { .. } => true,
        Payload::HandoffRequested(_)
        | Payload::SessionStarted { .. }
        | Payload::ProgressUpdated { .. }
        | Payload::ToolInvoked { .. }
        | Payload::OutputStreaming(_)
        | Payload::AwaitingConfirmation(_)
        | Payload::AwaitingClarification(_)
        | Payload::Extension { .. } => false,
    }
}

/// The event must name the session and the producer of the request.
fn check_names(id: &SessionId, producer: &AgentId, event: &event::Event<'_>) -> Result<(), Flaw> {
    let flaw = |rule, field: &str, expected: String| {
        Err(Flaw { tier: Tier::Session, rule, field: field.to_owned(), expected })
    };
    if event.envelope.session_id != id.as_str() {
        return flaw("tasuki.one_session", "session_id", format!("`{id}`, as the first event has"));
    }
    if event.envelope.agent_id != producer.as_str() {
        let expected = format!("`{producer}`, to whom the token belongs");
        return flaw("tasuki.one_producer", "producer.agent_id", expected);
    }
    let name = event.envelope.agent_name.as_deref().unwrap_or_default();
    if first_hidden(name).is_some() || (is_ours(name) && producer.as_str() != AGENT_ID) {
        let expected = format!("a name that all can see, and not `{AGENT_ID}`, which is ours");
        return flaw("tasuki.own_name", "producer.agent_name", expected);
    }
    let kind = event.payload.name();
    let namespace = kind.split(':').next().unwrap_or_default();
    if first_hidden(kind).is_some() || is_ours(namespace) {
        let expected = format!(
            "a type that all can see, and that does not begin with {OWN_TYPES}: those are ours"
        );
        return flaw("tasuki.own_types", "type", expected);
    }
    Ok(())
}

/// Whether a person would read it as the server's own name.
fn is_ours(name: &str) -> bool {
    letters(name).contains(AGENT_ID)
}

/// An event must not lie in the future.
fn check_clock(event: &event::Event<'_>, now: Time) -> Result<(), Flaw> {
    let latest = now.plus(CLOCK_AHEAD_MAX);
    if event.envelope.timestamp_micros <= latest.as_millis().saturating_mul(1_000) {
        return Ok(());
    }
    Err(Flaw {
        tier: Tier::Session,
        rule: "tasuki.clock",
        field: "timestamp".to_owned(),
        expected: format!("at most {CLOCK_AHEAD_MAX} ahead of the server, where it is {now}"),
    })
}

fn check_limits(
    session: &Session,
    index: usize,
    event: &event::Event<'_>,
    context: Context<'_>,
) -> Result<(), Rejection> {
    let full =
        |what, n_max, retry_after| Err(Rejection::SessionFull { index, what, n_max, retry_after });
    // An open part can always be ended; other rules limit how many there are.
    let ends_part = match &event.payload {
        Payload::ToolCompleted { .. } => true,
        Payload::OutputStreaming(chunk) => chunk.complete && chunk.text.is_empty(),
        Payload::SessionStarted { .. }
        | Payload::SessionCompleted
        | Payload::SessionErrored
        | Payload::SessionCancelled
        | Payload::StateChanged { .. }
        | Payload::ProgressUpdated { .. }
        | Payload::ToolInvoked { .. }
        | Payload::AwaitingConfirmation(_)
        | Payload::AwaitingClarification(_)
        | Payload::HandoffRequested(_)
        | Payload::Extension { .. } => false,
    };
    let ends = ends_part || event.payload.is_terminal();
    if !ends && session.n_events + 1 >= SESSION_EVENTS_MAX {
        return full("events", SESSION_EVENTS_MAX, None);
    }
    if let Some(left) = session.rests(event, context.now) {
        return full("question about an action shortly after a no", 1, Some(left));
    }
    let window = session.critical.at(context.now);
    if counts_as_critical(event) && window.n >= CRITICAL_EVENTS_MAX {
        let until = window.since.plus(CRITICAL_WINDOW).as_millis();
        let left = Span::from_millis((until - context.now.as_millis()).max(0));
        return full("critical events in a minute", u64::from(CRITICAL_EVENTS_MAX), Some(left));
    }
    Ok(())
}
