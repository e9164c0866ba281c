//! What follows from a step besides its events: deadlines, effects, holds and the answer. Each is
//! the difference between what the old state wanted and what the new one wants.

use super::{
    Command, Deadline, Document, Effect, Event, Facts, Hold, HoldState, HoldWrite, NumberedEvent,
    Outcome, Refused, State, Tell, Wake, Went, Work,
};
use crate::conversation::{self, Conversation};
use crate::file::references;
use crate::handoff::command::Looked;
use crate::handoff::workq::Workq;
use crate::handoff::{self, Handoff, Stage, derive};
use crate::ids::{AgentId, HandoffId};
use crate::ledger::{Stream, Subject};
use crate::message::event::Sent;
use crate::message::state::WAKE;
use crate::message::{self, Message, thread};
use crate::rejection::Rejection;
use crate::session::Session;
use crate::time::Time;
use crate::transfer;
use std::sync::Arc;

/// The deadlines of a state.
pub fn deadlines(state: &State) -> Vec<Deadline> {
    match state {
        State::Handoff(handoff) => derive::deadlines(handoff),
        State::Message(message) => message.deadlines(),
        State::Agent(agent) => agent.deadlines(),
        State::Subscription(subscription) => subscription.deadlines(),
        State::Conversation(conversation) => conversation.deadlines(),
        State::Session(session) => session.deadlines(),
        State::File(file) => file.deadlines(),
        State::Question(question) => question.deadlines(),
        State::Token(_)
        | State::Ledger(_)
        | State::Teamspace(_)
        | State::Graph(_)
        | State::Webhook(_) => Vec::new(),
    }
}

pub(super) fn deadline_changes(
    before: Option<&State>,
    after: &State,
) -> (Vec<Deadline>, Vec<Deadline>) {
    let old = before.map(deadlines).unwrap_or_default();
    let new = deadlines(after);
    let disarm = old.iter().filter(|deadline| !new.contains(deadline)).cloned().collect();
    let arm = new.iter().filter(|deadline| !old.contains(deadline)).cloned().collect();
    (disarm, arm)
}

/// The effects that a state wants.
pub fn effects(state: &State) -> Vec<Effect> {
    match state {
        State::Handoff(handoff) => derive::effects(handoff),
        State::Message(message) => message.effects(),
        State::Conversation(conversation) => conversation.effects(),
        State::Session(session) => session.effects(),
        State::File(file) => file.effects(),
        State::Agent(_)
        | State::Token(_)
        | State::Ledger(_)
        | State::Teamspace(_)
        | State::Graph(_)
        | State::Subscription(_)
        | State::Webhook(_)
        | State::Question(_) => Vec::new(),
    }
}

pub(super) fn effect_changes(before: Option<&State>, after: &State) -> (Vec<Effect>, Vec<Effect>) {
    let old = before.map(effects).unwrap_or_default();
    let new = effects(after);
    let end = old.iter().filter(|effect| !new.contains(effect)).cloned().collect();
    let begin = new.iter().filter(|effect| !old.contains(effect)).cloned().collect();
    (end, begin)
}

/// The work of an effect of this state, if the state still wants it.
pub fn work(state: &State, effect: &str, document: Option<&str>) -> Option<Work> {
    let handoff = match state {
        State::Handoff(handoff) => handoff,
        State::Message(message) => return wake(message, effect).map(Work::Wake),
        State::Conversation(conversation) => {
            return conversation.turn_of(effect).map(|turn| Work::Deliver(Box::new(turn)));
        }
        State::Session(session) => return tell(session, effect),
        State::File(file) => {
            let is_wanted = file.effects().iter().any(|wanted| wanted.name == effect);
            return is_wanted.then_some(Work::Remove);
        }
        State::Agent(_)
        | State::Token(_)
        | State::Ledger(_)
        | State::Teamspace(_)
        | State::Graph(_)
        | State::Subscription(_)
        | State::Webhook(_)
        | State::Question(_) => return None,
    };
    let is_wanted = derive::effects(handoff).iter().any(|wanted| wanted.name == effect);
    match handoff.as_ref() {
        Handoff::Made(made) if is_wanted && effect == derive::TRANSFER => {
            let Workq::Asked(way) = made.workq else { return None };
            let package = handoff::gate::read_package(document);
            let transfer = derive::workq_transfer(made, way, package.as_ref());
            Some(Work::Transfer { package_hash: made.terms.package_hash.clone(), way, transfer })
        }
        Handoff::Made(made) if is_wanted => match &made.stage {
            Stage::Validating(validating) => {
                // A package that cannot be read has no artifacts to verify; the rules handle the
                // rest.
                let package = handoff::gate::read_package(document);
                let wanted = |package| handoff::decide::verified::wanted(package, validating);
                let artifacts = package.map(wanted).unwrap_or_default();
                let looked = Looked::Package { hash: made.terms.package_hash.clone() };
                Some(Work::Look { looked, artifacts })
            }
            Stage::Completing(completing) => Some(Work::Look {
                looked: Looked::Completion { attempt: made.completions },
                artifacts: completing.completion.final_artifacts.clone(),
            }),
            Stage::Proposed(_)
            | Stage::Accepted(_)
            | Stage::Activated(_)
            | Stage::Rejected { .. }
            | Stage::Completed { .. }
            | Stage::Closed { .. } => None,
        },
        Handoff::Made(_) | Handoff::Draft(_) | Handoff::Discarded { .. } => None,
    }
}

fn wake(message: &Message, effect: &str) -> Option<Wake> {
    let name = effect.strip_prefix(WAKE)?;
    let agent = message.to_wake().find(|agent| agent.as_str() == name)?.clone();
    let Sent { priority, kind, .. } = *message.sent;
    Some(Wake { agent, message: message.id, priority, kind })
}

fn tell(session: &Session, effect: &str) -> Option<Work> {
    let (agent, reply_token) = (session.producer.clone(), session.told_by(effect)?.to_owned());
    Some(Work::Tell(Tell { agent, session: session.id.clone(), reply_token }))
}

/// The holds that a state leaves behind, with their keys. The count of messages is not among
/// them: it depends on all messages of the sender in the thread.
pub fn holds_left(stream: &Stream, state: &State) -> Vec<(String, HoldState)> {
    let own = stream.subject.id();
    let holds = match state {
        State::Handoff(handoff) => derive::hold(handoff).into_iter().collect(),
        State::Subscription(subscription) => vec![subscription.hold()],
        State::Webhook(webhook) => vec![webhook.hold()],
        State::Question(question) => vec![question.hold()],
        State::Conversation(conversation) => {
            conversation.transfer.as_ref().map(|it| it.holds(&own)).unwrap_or_default()
        }
        State::Session(session) => {
            let key = session.asking_key();
            key.map(|key| Hold { key, occupied: true, value: None }).into_iter().collect()
        }
        State::File(_)
        | State::Agent(_)
        | State::Token(_)
        | State::Message(_)
        | State::Ledger(_)
        | State::Graph(_)
        | State::Teamspace(_) => Vec::new(),
    };
    let left = |hold: Hold| {
        let holder = hold.occupied.then(|| own.clone());
        (hold.key, HoldState { holder, value: hold.value })
    };
    holds.into_iter().map(left).collect()
}

/// A hold is written when the state changes it. It is compared with what the decision saw: the
/// given fact when the key is taken, its own earlier hold afterwards.
pub(super) fn hold_changes(
    stream: &Stream,
    before: Option<&State>,
    after: &State,
    facts: &Facts,
) -> Vec<HoldWrite> {
    if let (Some(State::Handoff(before)), State::Handoff(after)) = (before, after)
        && !derive::hold_differs(before, after)
    {
        return Vec::new();
    }
    if let State::Message(message) = after {
        return match before {
            None => {
                let found = facts.holds.get(&thread::key_of(&message.sent));
                vec![thread::hold_write(&message.sent, message.created_at, found)]
            }
            Some(_) => Vec::new(),
        };
    }
    if let State::Conversation(after) = after {
        return transfer_hold_changes(stream, before, after);
    }
    if let State::Session(after) = after {
        return asking_hold_changes(stream, before, after);
    }
    let of = |state: &State| match state {
        State::Handoff(handoff) => derive::hold(handoff),
        State::Subscription(subscription) => Some(subscription.hold()),
        State::Webhook(webhook) => Some(webhook.hold()),
        State::Question(question) => Some(question.hold()),
        State::File(_)
        | State::Agent(_)
        | State::Token(_)
        | State::Message(_)
        | State::Conversation(_)
        | State::Ledger(_)
        | State::Graph(_)
        | State::Session(_)
        | State::Teamspace(_) => None,
    };
    let old = before.and_then(of);
    let Some(new) = of(after) else { return Vec::new() };
    if old.as_ref() == Some(&new) {
        return Vec::new();
    }
    let stored = |hold: &Hold| HoldState {
        holder: hold.occupied.then(|| stream.subject.id()),
        value: hold.value.clone(),
    };
    // Another stream may have taken a free key meanwhile; then the fact has the current value.
    let found = facts.holds.get(&new.key);
    let expected = match &old {
        Some(old) if old.occupied || found.value.is_none() => stored(old),
        Some(_) | None => found.clone(),
    };
    vec![HoldWrite { key: new.key.clone(), expected, next: stored(&new) }]
}

/// A session is found by its conversation while it has open questions or unused accepts.
fn asking_hold_changes(stream: &Stream, before: Option<&State>, after: &Session) -> Vec<HoldWrite> {
    let old = match before {
        Some(State::Session(before)) => before.asking_key(),
        Some(_) | None => None,
    };
    let (free, taken) =
        (HoldState::default(), HoldState { holder: Some(stream.subject.id()), value: None });
    match (old, after.asking_key()) {
        (None, Some(key)) => vec![HoldWrite { key, expected: free, next: taken }],
        (Some(key), None) => vec![HoldWrite { key, expected: taken, next: free }],
        (Some(_), Some(_)) | (None, None) => Vec::new(),
    }
}

/// The holds of a transfer. A free slot is as if it had never been taken; the key that maps a
/// transfer to its conversation stays for ever.
fn transfer_hold_changes(
    stream: &Stream,
    before: Option<&State>,
    after: &Conversation,
) -> Vec<HoldWrite> {
    let own = stream.subject.id();
    let of = |conversation: &Conversation| {
        let transfer = conversation.transfer.as_deref();
        transfer.map(|transfer| transfer.holds(&own)).unwrap_or_default()
    };
    let old = match before {
        Some(State::Conversation(before)) if before.transfer == after.transfer => {
            return Vec::new();
        }
        Some(State::Conversation(before)) => of(before),
        Some(_) | None => Vec::new(),
    };
    let new = of(after);
    let stored = |hold: &Hold| HoldState {
        holder: hold.occupied.then(|| own.clone()),
        value: hold.value.clone(),
    };
    let find = |holds: &[Hold], key: &str| holds.iter().find(|hold| hold.key == key).map(stored);
    let taken = new.iter().map(|hold| HoldWrite {
        key: hold.key.clone(),
        expected: find(&old, &hold.key).unwrap_or_default(),
        next: stored(hold),
    });
    let is_left = |hold: &&Hold| hold.value.is_none() && find(&new, &hold.key).is_none();
    let left = old.iter().filter(is_left).map(|hold| HoldWrite {
        key: hold.key.clone(),
        expected: stored(hold),
        next: HoldState::default(),
    });
    // Slots are released before others are taken.
    left.chain(taken).filter(|write| write.expected != write.next).collect()
}

/// Commands to other streams: those of the decision, and, for a delegated part, what the owner of
/// the whole must know.
pub(super) fn then(
    mut then: Vec<(Subject, Command)>,
    before: Option<&State>,
    after: &State,
) -> Vec<(Subject, Command)> {
    if let (Some(State::Handoff(before)), State::Handoff(after)) = (before, after)
        && let (Handoff::Made(before), Handoff::Made(after)) = (before.as_ref(), after.as_ref())
        && let Some(parent) = after.terms.parent
        && let Some(told) = derive::told_parent(before, after, successor(&then))
    {
        let told = Command::Handoff(handoff::Command::Child(told));
        then.push((Subject::Handoff(parent), told));
    }
    then
}

/// Commands to the files that new entries name, and to those that an erased entry named.
pub(super) fn to_files(
    stream: &Stream,
    command: &Command,
    events: &[Event],
    facts: &Facts,
    document: Option<&Document>,
    then: &[(Subject, Command)],
) -> Vec<(Subject, Command)> {
    if let (Command::Erase { .. }, Some(erased)) = (command, facts.entry.as_deref()) {
        return references::release(&stream.subject, erased);
    }
    let package = document.map(|document| document.text.as_str());
    references::refer(&stream.subject, command, events, package, then)
}

/// The handoff that replaces another one, and its target.
fn successor(then: &[(Subject, Command)]) -> Option<(HandoffId, AgentId)> {
    then.iter().find_map(|(subject, command)| {
        let Subject::Handoff(id) = subject else { return None };
        let Command::Handoff(handoff::Command::Follow(follow)) = command else { return None };
        follow.replaces?;
        Some((*id, follow.offer.to_agent.clone()?))
    })
}

pub(super) fn outcome(state: &State, events: &[Event]) -> Outcome {
    let mut outcome = match state {
        State::Handoff(handoff) => Outcome {
            status: Some(handoff.status()),
            escalated: handoff.has_escalated(),
            workq: handoff.workq_status(),
            ..Outcome::default()
        },
        State::Conversation(conversation) => Outcome {
            holder: Some(conversation.holder.clone()),
            epoch: Some(conversation.epoch),
            ..Outcome::default()
        },
        State::Question(question) => {
            let epoch = question.continuation.epoch;
            Outcome { epoch: (epoch > 0).then_some(epoch), ..Outcome::default() }
        }
        State::Agent(_)
        | State::Token(_)
        | State::Message(_)
        | State::Ledger(_)
        | State::Graph(_)
        | State::Subscription(_)
        | State::Session(_)
        | State::File(_)
        | State::Webhook(_)
        | State::Teamspace(_) => Outcome::default(),
    };
    // The gate decides in the same step in which it starts; a target's own reject comes later.
    let went_through_gate = events
        .iter()
        .any(|event| matches!(event, Event::Handoff(handoff::Event::ValidationStarted(_))));
    for event in events {
        if let Event::Conversation(event) = event {
            // The message comes first, and what follows from it after.
            outcome.number = outcome.number.or(event.number());
            outcome.refused = not_heard(event);
            went(&mut outcome, event);
        }
        let Event::Handoff(event) = event else { continue };
        if let handoff::Event::Delegated(delegated) = event {
            outcome.began = Some(delegated.child);
        }
        if let handoff::Event::Closed(closed) = event {
            outcome.began = closed.reassigned_to;
        }
        if let handoff::Event::Accepted(accepted) = event {
            outcome.passed.clone_from(&accepted.passed);
        }
        if let handoff::Event::Rejected(rejected) = event
            && went_through_gate
        {
            outcome.passed.clone_from(&rejected.passed);
            outcome.failed.clone_from(&rejected.failed);
            outcome.refused = Some(Refused {
                code: rejected.reason.as_str().to_owned(),
                detail: rejected.detail.clone(),
            });
        }
    }
    outcome
}

/// Where a conversation went, if not where it should have gone.
fn went(outcome: &mut Outcome, event: &conversation::Event) {
    if let conversation::Event::Routed(routed) = event
        && let Some(instead_of) = &routed.instead_of
    {
        let went = Went { transfer: None, instead_of: Some(instead_of.clone()) };
        outcome.went = Some(Box::new(went));
    }
    if let conversation::Event::Transfer(transfer::Event::Requested(requested)) = event {
        let instead_of = requested.instead_of.clone();
        let went = Went { transfer: Some(requested.transfer), instead_of };
        outcome.went = Some(Box::new(went));
    }
}

fn not_heard(event: &conversation::Event) -> Option<Refused> {
    let conversation::Event::NotHeard(it) = event else { return None };
    let holder = it.holder.clone();
    let rejection = Rejection::NotHeard { why: it.why, holder, epoch: it.current };
    Some(Refused { code: rejection.code().to_owned(), detail: rejection.to_string() })
}

/// The events that are lines of a transcript.
pub(super) fn transcript(events: &[Event]) -> Vec<NumberedEvent> {
    let numbered = events.iter().enumerate().filter_map(|(index, event)| {
        let Event::Conversation(event) = event else { return None };
        Some(NumberedEvent { number: event.number()?, event: index })
    });
    numbered.collect()
}

/// What remains of a state after an entry of its stream was erased.
pub(super) fn without_texts(state: State, at: Time) -> State {
    match state {
        State::Handoff(handoff) => {
            State::Handoff(Box::new(handoff::evolve::without_texts(*handoff)))
        }
        State::Message(message) => State::Message(message::evolve::purged(message, at)),
        State::Conversation(conversation) => {
            let conversation = Arc::unwrap_or_clone(conversation);
            State::Conversation(Arc::new(conversation::evolve::without_texts(conversation)))
        }
        State::Session(session) => State::Session(Box::new(session.without_texts())),
        State::Question(question) => State::Question(Box::new(question.without_texts())),
        State::Agent(_)
        | State::Token(_)
        | State::Ledger(_)
        | State::Graph(_)
        | State::Subscription(_)
        | State::File(_)
        | State::Webhook(_)
        | State::Teamspace(_) => state,
    }
}
