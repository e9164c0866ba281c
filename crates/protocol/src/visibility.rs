//! Who may read what. Every gateway asks here before every read: of one thing, a list, a history or
//! the events. `docs/visibility.md` has the table.
//!
//! Most answers follow from the caller and the thing alone. If it matters whether the caller is a
//! human, the answer says so, and the engine looks it up in the directory.

use serde::{Deserialize, Serialize};

use crate::caller::{Caller, Principal, Role};
use crate::handoff::derive::Task;
use crate::handoff::package::{Classification, Policy, Visibility};
use crate::handoff::state::{Approval, Handoff, Made};
use crate::ids::{AgentId, HandoffId};
use crate::ledger::{Entry, Subject};
use crate::message;
use crate::roles::{self, Deed};
use crate::step::State;

/// Who may read a handoff, the fewest first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Readers {
    /// The sender, the target, the owners in the chain and so the delegator, the approvers and
    /// verifiers that were asked, coordinators and operators.
    Private,
    /// The same, and every human of the teamspace.
    HumanAudit,
    /// Every member of the teamspace.
    #[default]
    Team,
}

impl Readers {
    pub fn of(policy: &Policy) -> Self {
        match (policy.visibility, policy.classification) {
            (Some(Visibility::Private), _) => Readers::Private,
            (Some(Visibility::HumanAudit), _) => Readers::HumanAudit,
            (Some(Visibility::Team) | None, Classification::Internal) => Readers::Team,
            // A proposal with `team` is refused.
            (Some(Visibility::Team) | None, Classification::Restricted) => Readers::Private,
        }
    }

    pub fn is_team(&self) -> bool {
        *self == Readers::Team
    }
}

/// Whether a caller may read something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sight {
    Yes,
    No,
    /// Only if the directory lists the caller as a human.
    IfHuman,
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
    /// Only if the caller may read its handoff, and the delegated part that it names, if it names
    /// one.
    AsHandoff {
        part: Option<HandoffId>,
    },
}

/// Who may read a proposed handoff; `None` if it predates this field, so that only its package
/// tells. If its policy is laxer than what was agreed on, it gives no access until a human has
/// approved it.
pub fn readers(made: &Made) -> Option<Readers> {
    let own = made.terms.readers?;
    Some(match (&made.terms.loosens, made.approval) {
        (Some(agreed), Approval::Wanted | Approval::NotNeeded) => own.min(Readers::of(agreed)),
        (Some(_), Approval::Given) | (None, _) => own,
    })
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
        State::Agent(_)
        | State::Token(_)
        | State::Ledger(_)
        | State::Graph(_)
        | State::Teamspace(_) => Sight::Yes,
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
    let deed = Deed::Approve { guarded: made.terms.is_guarded };
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

/// Credentials are for operators, a message is for its sender and recipients, a conversation for
/// its holder at the time, and a draft for its sender. The same holds for past entries.
pub fn of_entry(caller: &Caller, entry: &Entry) -> EntrySight {
    let if_so = |is_so: bool| if is_so { EntrySight::Yes } else { EntrySight::No };
    let is_coordinator = caller.is_coordinator();
    match entry.stream.subject {
        Subject::Token(_) => if_so(caller.is_operator()),
        // The URL of an agent may hold a password.
        Subject::Agent(_) => {
            let names_a_url = ["agent.wake_changed", "agent.endpoint_changed"];
            if_so(caller.is_operator() || !names_a_url.contains(&entry.name.as_ref()))
        }
        Subject::Teamspace | Subject::Graph(_) => EntrySight::Yes,
        // The size of a loss counts the entries of all teamspaces.
        Subject::Ledger => if_so(caller.is_operator()),
        // A subscription concerns only its listener and the server. Other callers get the events of
        // a session through their own subscriptions.
        Subject::Subscription(_) | Subject::Session(_) => {
            if_so(is_coordinator || *entry.actor == *caller.principal.to_string())
        }
        Subject::Message(_) => if_so(
            is_coordinator
                || body::<MessageParties>(entry).is_some_and(|parties| {
                    message::state::concerns(caller, &parties.from, parties.to.iter())
                }),
        ),
        Subject::Conversation(_) => if_so(
            is_coordinator
                || body::<ConversationParties>(entry).is_some_and(|parties| parties.have(caller)),
        ),
        Subject::Handoff(_) => match drafted_by(entry) {
            Some(sender) => {
                let is_sender = caller.agent().is_some_and(|agent| agent.as_str() == sender);
                if_so(is_coordinator || is_sender)
            }
            None => EntrySight::AsHandoff { part: part(entry) },
        },
    }
}

fn body<'e, T: Deserialize<'e>>(entry: &'e Entry) -> Option<T> {
    entry.body.text().and_then(|text| serde_json::from_str(text).ok())
}

/// The agents that an event of a message concerns; every such event has these fields.
#[derive(Deserialize)]
struct MessageParties {
    from: AgentId,
    to: Vec<AgentId>,
}

/// The holder of a conversation when something happened in it, who spoke out of turn, who came
/// next, and who listened.
#[derive(Deserialize)]
struct ConversationParties {
    holder: AgentId,
    #[serde(default)]
    agent: Option<AgentId>,
    #[serde(default)]
    to: Option<AgentId>,
    #[serde(default)]
    listener: Option<AgentId>,
}

impl ConversationParties {
    fn have(&self, caller: &Caller) -> bool {
        let own = caller.agent();
        let named = [self.agent.as_ref(), self.to.as_ref(), self.listener.as_ref()];
        own.is_some() && (own == Some(&self.holder) || named.contains(&own))
    }
}

/// The sender, if this happened to a draft. An erased body names no sender.
fn drafted_by(entry: &Entry) -> Option<String> {
    #[derive(Default, Deserialize)]
    struct Body {
        #[serde(default)]
        from: String,
        #[serde(default)]
        from_status: String,
    }
    let read = || body::<Body>(entry).unwrap_or_default();
    match entry.name.as_ref() {
        "handoff.drafted" => Some(read().from),
        "handoff.closed" => {
            let Body { from, from_status } = read();
            (from_status == "draft").then_some(from)
        }
        _ => None,
    }
}

/// The delegated part that an entry is about.
fn part(entry: &Entry) -> Option<HandoffId> {
    #[derive(Deserialize)]
    struct Body {
        child: HandoffId,
    }
    let names_a_part =
        ["handoff.delegated", "handoff.delegation_ended", "handoff.delegation_reopened"];
    let is_about_a_part = names_a_part.contains(&entry.name.as_ref());
    is_about_a_part.then(|| body::<Body>(entry)).flatten().map(|body| body.child)
}
