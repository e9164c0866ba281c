//! Who may read what. Every gateway asks here before every read: of one thing, a list, a history or
//! the events. `docs/visibility.md` has the table.
//!
//! Most answers follow from the caller and the thing alone. If it matters whether the caller is a
//! human, the answer says so, and the engine looks it up in the directory.

pub mod details;
pub mod parties;

use self::details::sees_urls;
use crate::agent::{self, Kind};
use crate::aggregate::{Event, State};
use crate::caller::{Caller, Principal, Role};
use crate::conversation::Conversation;
use crate::conversation::reader::is_between_people;
use crate::handoff::derive::Task;
use crate::handoff::event::About;
use crate::handoff::readers::Readers;
use crate::handoff::state::{Handoff, Made};
use crate::ids::{AgentId, HandoffId};
use crate::ledger::{Entry, Subject};
use crate::question::Question;
use crate::roles::{self, RoleAction};
use crate::session::Session;
use crate::{message, token};

/// Whether a caller may read something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sight {
    Yes,
    No,
    /// Only if the directory lists the caller as a human.
    IfHuman,
    /// Only if the directory lists the caller as a human of the queue that the question asks.
    IfInQueue,
}

impl Sight {
    fn if_so(is_so: bool) -> Self {
        if is_so { Sight::Yes } else { Sight::No }
    }
}

/// Whether a caller may read an entry of the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntrySight {
    Yes,
    No,
    /// Only if the directory lists the caller as a human, or it is an operator: notes and whispers.
    IfPerson,
    /// Only if the caller may read its handoff, and the delegated part that it names, if it names
    /// one.
    AsHandoff {
        part: Option<HandoffId>,
    },
    /// Only if the caller may read its question.
    AsQuestion,
}

/// Whether a caller may read a thing; `readers` applies to a proposed handoff.
pub fn of(caller: &Caller, state: &State, readers: Readers) -> Sight {
    match state {
        State::Handoff(handoff) => of_handoff(caller, handoff, readers),
        State::Message(message) => Sight::if_so(message.is_visible_to(caller)),
        State::Conversation(conversation) => Sight::if_so(conversation.side(caller).is_some()),
        State::Subscription(subscription) => {
            Sight::if_so(subscription.is_of(caller) || caller.is_coordinator())
        }
        State::Session(session) => Sight::if_so(session.is_shown_to(caller)),
        State::Webhook(webhook) => Sight::if_so(webhook.is_shown_to(caller)),
        // Who may read the bytes follows from what refers to them; this is about the record.
        State::File(_) => Sight::if_so(caller.is_operator()),
        State::Question(question) => of_question(caller, question),
        State::Token(_) => Sight::if_so(caller.is_operator()),
        State::Agent(_) | State::Ledger(_) | State::Graph(_) | State::Teamspace(_) => {
            Sight::if_so(!is_customer(caller))
        }
    }
}

fn is_customer(caller: &Caller) -> bool {
    match &caller.principal {
        Principal::Customer(_) => true,
        Principal::Agent(_) | Principal::Operator(_) | Principal::System => false,
    }
}

/// A queue is asked: its humans see the question, too.
fn of_question(caller: &Caller, question: &Question) -> Sight {
    if question.is_known_to(caller) {
        return Sight::Yes;
    }
    match (question.queue(), caller.agent()) {
        (Some(_), Some(_)) => Sight::IfInQueue,
        (Some(_) | None, _) => Sight::No,
    }
}

fn of_handoff(caller: &Caller, handoff: &Handoff, readers: Readers) -> Sight {
    let agent = match &caller.principal {
        Principal::Operator(_) | Principal::System => return Sight::Yes,
        Principal::Customer(_) => return Sight::No,
        Principal::Agent(agent) => agent,
    };
    match handoff {
        // Only its sender and coordinators may read a draft.
        Handoff::Draft(draft) | Handoff::Discarded { draft, .. } => {
            Sight::if_so(draft.from == *agent || caller.is_coordinator())
        }
        Handoff::Made(made) => {
            let is_known = takes_part(made, agent)
                || caller.is_coordinator()
                || is_asked_to_verify(caller, made);
            match readers {
                _ if is_known => Sight::Yes,
                Readers::Team => Sight::Yes,
                Readers::HumanAudit => Sight::IfHuman,
                Readers::Private if is_asked_to_approve(caller, made) => Sight::IfHuman,
                Readers::Private => Sight::No,
            }
        }
    }
}

/// Sender, target and owners. The delegator of a part is among the owners in its chain.
fn takes_part(made: &Made, agent: &AgentId) -> bool {
    let terms = &made.terms;
    terms.from == *agent || terms.to == *agent || terms.chain.contains(agent)
}

/// Whether the caller, if it is a human, is among the approvers that the policy asks for.
fn is_asked_to_approve(caller: &Caller, made: &Made) -> bool {
    let deed = RoleAction::Approve { guarded: made.terms.is_guarded };
    made.terms.needs_human && roles::may(&caller.roles, deed)
}

/// Whether the caller is among the verifiers who were asked to confirm the work.
fn is_asked_to_verify(caller: &Caller, made: &Made) -> bool {
    let is_asked = made.terms.requires_verifier || made.verifier_asked;
    is_asked && caller.roles.contains(&Role::Reviewer)
}

/// Whether a caller may learn the past owners of a task that no handoff holds now.
pub fn of_task(caller: &Caller, task: &Task) -> Sight {
    let is_owner = caller.agent().is_some_and(|agent| task.chain.contains(agent));
    match task.readers {
        _ if is_owner || caller.is_coordinator() => Sight::Yes,
        Readers::Team => Sight::Yes,
        Readers::HumanAudit => Sight::IfHuman,
        Readers::Private => Sight::No,
    }
}

/// Whether a caller may hear what is announced in a session. If the session belongs to a
/// conversation, its participants may; otherwise the people of the teamspace. The producer and
/// coordinators always may. `kind` is the caller's in the directory.
pub fn may_hear(
    caller: &Caller,
    session: &Session,
    conversation: Option<&Conversation>,
    kind: Option<Kind>,
) -> bool {
    if caller.is_coordinator() || caller.agent() == Some(&session.producer) {
        return true;
    }
    match (session.conversation, &caller.principal) {
        (Some(id), _) => conversation.is_some_and(|it| it.id == id && it.side(caller).is_some()),
        (None, Principal::Agent(_)) => kind == Some(Kind::Human),
        (None, Principal::Operator(_) | Principal::Customer(_) | Principal::System) => false,
    }
}

/// Credentials are for operators, a message is for its sender and recipients, a conversation for
/// its holder at the time, and a draft for its sender. The same holds for past entries. `event` is
/// what the entry records; `None` once it is erased.
pub fn of_entry(caller: &Caller, entry: &Entry, event: Option<&Event>) -> EntrySight {
    let if_so = |is_so: bool| if is_so { EntrySight::Yes } else { EntrySight::No };
    let is_coordinator = caller.is_coordinator();
    let is_actor = || *entry.actor == *caller.principal.to_string();
    match event {
        Some(Event::Token(token::Event::Issued(_) | token::Event::Revoked(_))) => {
            if_so(caller.is_operator())
        }
        Some(Event::Agent(event)) => if_so(sees_urls(caller) || !names_a_url(event)),
        Some(Event::Teamspace(_) | Event::Graph(_)) => if_so(!is_customer(caller)),
        // The size of a loss counts the entries of all teamspaces.
        Some(Event::Forked(_)) => if_so(caller.is_operator()),
        // A subscription concerns only its listener and the server. Other callers get the events of
        // a session through their own subscriptions.
        Some(Event::Subscription(_) | Event::Session(_)) => if_so(is_coordinator || is_actor()),
        // Its URL may hold a password.
        Some(Event::Webhook(_)) => if_so(caller.is_operator() || is_actor()),
        // It names the streams that refer to the file, which others may not know of.
        Some(Event::File(_)) => if_so(caller.is_operator()),
        Some(Event::Question(event)) => {
            let asker = &event.parties().asker;
            let is_known = is_coordinator || caller.agent() == Some(asker);
            if is_known { EntrySight::Yes } else { EntrySight::AsQuestion }
        }
        Some(Event::Message(event)) => {
            let (from, to) = event.parties();
            if_so(is_coordinator || message::state::concerns(caller, from, to.iter()))
        }
        Some(Event::Conversation(event)) => {
            let takes_part =
                |own: &AgentId| event.parties().into_iter().flatten().any(|it| it == own);
            match is_coordinator || caller.agent().is_some_and(takes_part) {
                true if event.is_between_people() => EntrySight::IfPerson,
                is_so => if_so(is_so),
            }
        }
        Some(Event::Handoff(event)) => match event.about() {
            About::Draft(sender) => if_so(is_coordinator || caller.agent() == Some(sender)),
            About::Part(part) => EntrySight::AsHandoff { part: Some(part) },
            About::Handoff => EntrySight::AsHandoff { part: None },
        },
        Some(Event::Erased(_)) | None => match &entry.stream.subject {
            Subject::Token(_)
            | Subject::Agent(_)
            | Subject::Ledger
            | Subject::File(_)
            | Subject::Webhook(_) => if_so(caller.is_operator()),
            Subject::Teamspace | Subject::Graph(_) => if_so(!is_customer(caller)),
            Subject::Subscription(_) | Subject::Session(_) => if_so(is_coordinator || is_actor()),
            // Whom it concerned is erased too.
            Subject::Conversation(_) if is_coordinator && is_between_people(&entry.name) => {
                EntrySight::IfPerson
            }
            Subject::Question(_) => EntrySight::AsQuestion,
            Subject::Message(_) | Subject::Conversation(_) => if_so(is_coordinator),
            Subject::Handoff(_) if entry.name == DRAFTED => if_so(is_coordinator),
            Subject::Handoff(_) => EntrySight::AsHandoff { part: None },
        },
    }
}

const DRAFTED: &str = "handoff.drafted";

/// The URL of an agent may hold a password.
fn names_a_url(event: &agent::Event) -> bool {
    match event {
        agent::Event::WakeChanged(_) | agent::Event::EndpointChanged(_) => true,
        agent::Event::Registered(_)
        | agent::Event::RolesChanged(_)
        | agent::Event::QueueChanged(_)
        | agent::Event::PresenceChanged(_)
        | agent::Event::NoticesRead(_)
        | agent::Event::NoticesMuted(_)
        | agent::Event::Connected(_)
        | agent::Event::ConnectionLost(_)
        | agent::Event::Lost(_) => false,
    }
}

#[cfg(test)]
mod tests;
