//! What an open handoff waits for: who must act, what they can do, since when, until when, and what
//! happens then. Every answer that leaves a handoff open says it, and the lists of what waits for a
//! caller follow from it.

use std::str::FromStr;

use super::derive::{clocked, due};
use super::state::{Approval, Delegations, Draft, Handoff, Made, REVISIONS_MAX, Stage};
use crate::agent::Kind;
use crate::caller::{Caller, Role};
use crate::ids::{AgentId, HandoffId};
use crate::roles::{self, RoleAction};
use crate::time::Time;

/// One thing that a handoff waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wait {
    pub who: Waiter,
    /// What they can do, by the names of the actions.
    pub actions: &'static [&'static str],
    /// The delegated parts that they do it to; empty for the handoff itself.
    pub parts: Vec<HandoffId>,
    pub since: Time,
    /// When it is overdue. It stays when that has passed.
    pub until: Option<Time>,
    pub then: Then,
}

/// Who must act.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Waiter {
    Agent(AgentId),
    /// A human whose roles allow it, other than the sender.
    Approver {
        guarded: bool,
        sender: AgentId,
    },
    /// The sender, a reviewer or a coordinator, other than the owner.
    Verifier {
        sender: AgentId,
        owner: AgentId,
    },
    Coordinator,
    /// The parts of the task that its owner delegated, which must end first.
    Parts,
    /// It verifies artifacts.
    Server,
}

/// What happens when it is overdue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    /// It has no deadline.
    Nothing,
    Escalates,
    /// That has happened.
    Escalated,
}

impl Then {
    pub fn as_str(self) -> &'static str {
        match self {
            Then::Nothing => "nothing",
            Then::Escalates => "escalates",
            Then::Escalated => "escalated",
        }
    }
}

/// All that a handoff waits for, the next step first. Empty once it is closed.
pub fn waits(handoff: &Handoff) -> Vec<Wait> {
    match handoff {
        Handoff::Draft(Draft { from, drafted_at, .. }) => {
            vec![unlimited(
                Waiter::Agent(from.clone()),
                &["draft", "initiate", "discard"],
                *drafted_at,
            )]
        }
        Handoff::Discarded { .. } => Vec::new(),
        Handoff::Made(made) => of_made(made),
    }
}

fn of_made(made: &Made) -> Vec<Wait> {
    let sender = || Waiter::Agent(made.terms.from.clone());
    let mut all = match &made.stage {
        Stage::Rejected { at, .. } if made.revision < REVISIONS_MAX => {
            vec![unlimited(sender(), &["counter", "close"], *at)]
        }
        Stage::Rejected { .. } => of_last_round(made),
        Stage::Completed { at } => vec![unlimited(sender(), &["close"], *at)],
        Stage::Closed { .. } => Vec::new(),
        Stage::Proposed(_)
        | Stage::Validating(_)
        | Stage::Accepted(_)
        | Stage::Activated(_)
        | Stage::Completing(_) => {
            let next = next(made).into_iter();
            let next = next.filter_map(|(who, actions)| limited(made, who, actions));
            recalled(made).into_iter().chain(next).collect()
        }
    };
    let has_parts = has_open_parts(made);
    let is_escalated = clocked(&made.stage).is_some_and(|(_, waiting)| waiting.escalated);
    if is_escalated {
        let actions: &[_] = match has_parts {
            false => &["extend_sla", "reassign", "close"],
            true => &["extend_sla", "close"],
        };
        all.extend(due_of(made).map(|due| escalated(due, actions)));
    } else if let Some(recall) = made.recall.as_ref().filter(|recall| recall.escalated) {
        let actions: &[_] = match has_parts {
            false => &["reassign", "extend_sla", "close"],
            true => &["extend_sla", "close"],
        };
        all.push(escalated(recall.until, actions));
    }
    all
}

/// What a rejected handoff waits for that cannot be proposed again.
pub fn of_last_round(made: &Made) -> Vec<Wait> {
    let Stage::Rejected { at, .. } = made.stage else { return Vec::new() };
    vec![unlimited(Waiter::Agent(made.terms.from.clone()), &["close"], at)]
}

/// Whether parts of the task are under way. Until they end, the task keeps its owner.
pub fn has_open_parts(made: &Made) -> bool {
    !made.delegations.open.is_empty()
}

/// A coordinator must act since the time has passed, and has as long as it takes.
fn escalated(since: Time, actions: &'static [&'static str]) -> Wait {
    let parts = Vec::new();
    Wait { who: Waiter::Coordinator, actions, parts, since, until: None, then: Then::Escalated }
}

/// The owner is asked to give the task back, unless it completes it first. While parts of it are
/// under way, the owner takes these back before.
fn recalled(made: &Made) -> Option<Wait> {
    let recall = made.recall.as_ref()?;
    let then = if recall.escalated { Then::Escalated } else { Then::Escalates };
    let until = Some(recall.until);
    let mut parts = to_take_back(made);
    let owner = Waiter::Agent(made.terms.to.clone());
    let (who, actions): (_, &'static [&'static str]) = match made.stage {
        Stage::Activated(_) if !parts.is_empty() => (owner, &["withdraw", "recall"]),
        // The owner has asked for all of them, and waits for them as the handoff does.
        Stage::Activated(_) if has_open_parts(made) => {
            parts.clone_from(&made.delegations.open);
            (Waiter::Parts, &[])
        }
        Stage::Accepted(_) => (owner, &["reject", "activate"]),
        Stage::Activated(_) | Stage::Completing(_) => (owner, &["reject", "complete"]),
        Stage::Proposed(_)
        | Stage::Validating(_)
        | Stage::Rejected { .. }
        | Stage::Completed { .. }
        | Stage::Closed { .. } => return None,
    };
    Some(Wait { who, actions, parts, since: recall.since, until, then })
}

/// The open parts that the owner has not asked back yet.
fn to_take_back(made: &Made) -> Vec<HandoffId> {
    let Delegations { open, recalled, .. } = &made.delegations;
    open.iter().filter(|part| !recalled.contains(part)).copied().collect()
}

/// Who moves a stage whose clock is running, and how. The owner of a recalled task is asked by the
/// recall instead.
fn next(made: &Made) -> Vec<(Waiter, &'static [&'static str])> {
    let target = || Waiter::Agent(made.terms.to.clone());
    let mut all: Vec<(Waiter, &'static [&'static str])> = Vec::new();
    match &made.stage {
        Stage::Proposed(_) => all.push((target(), &["accept", "reject"])),
        Stage::Validating(validating) if validating.checks.is_open() => {
            all.push((Waiter::Server, &["verify"]));
        }
        Stage::Validating(_) => {}
        Stage::Activated(_) if has_open_parts(made) => {
            all.push((Waiter::Parts, &[]));
        }
        Stage::Accepted(_) | Stage::Activated(_) if made.recall.is_some() => {}
        Stage::Accepted(_) => all.push((target(), &["activate", "reject"])),
        Stage::Activated(_) => all.push((target(), &["complete", "delegate", "reject"])),
        Stage::Completing(completing) if completing.checks.is_open() => {
            all.push((Waiter::Server, &["verify"]));
        }
        Stage::Completing(_) => {
            let (sender, owner) = (made.terms.from.clone(), made.terms.to.clone());
            all.push((Waiter::Verifier { sender, owner }, &["confirm", "dispute"]));
        }
        Stage::Rejected { .. } | Stage::Completed { .. } | Stage::Closed { .. } => {}
    }
    let may_be_approved = match &made.stage {
        Stage::Proposed(_) | Stage::Validating(_) => made.approval == Approval::Wanted,
        Stage::Accepted(_)
        | Stage::Activated(_)
        | Stage::Completing(_)
        | Stage::Rejected { .. }
        | Stage::Completed { .. }
        | Stage::Closed { .. } => false,
    };
    if may_be_approved {
        let (guarded, sender) = (made.terms.is_guarded, made.terms.from.clone());
        all.push((Waiter::Approver { guarded, sender }, &["approve", "refuse"]));
    }
    all
}

fn unlimited(who: Waiter, actions: &'static [&'static str], since: Time) -> Wait {
    Wait { who, actions, parts: Vec::new(), since, until: None, then: Then::Nothing }
}

fn limited(made: &Made, who: Waiter, actions: &'static [&'static str]) -> Option<Wait> {
    let (stage, waiting) = clocked(&made.stage)?;
    let then = if waiting.escalated { Then::Escalated } else { Then::Escalates };
    let until = Some(due(&made.terms, stage, waiting));
    let parts = match who {
        Waiter::Parts => made.delegations.open.clone(),
        Waiter::Agent(_)
        | Waiter::Approver { .. }
        | Waiter::Verifier { .. }
        | Waiter::Coordinator
        | Waiter::Server => Vec::new(),
    };
    let since = match who {
        // A human is asked by the proposal, and the target's answer changes nothing about that.
        Waiter::Approver { .. } => made.terms.proposed_at,
        Waiter::Agent(_)
        | Waiter::Verifier { .. }
        | Waiter::Coordinator
        | Waiter::Parts
        | Waiter::Server => waiting.asked_since(),
    };
    Some(Wait { who, actions, parts, since, until, then })
}

/// When the running stage is, or was, overdue.
pub fn due_at(handoff: &Handoff) -> Option<Time> {
    let Handoff::Made(made) = handoff else { return None };
    due_of(made)
}

/// When the first of its running limits is, or was, over: that of the stage or that of a recall.
fn overdue_at(handoff: &Handoff) -> Option<Time> {
    let Handoff::Made(made) = handoff else { return None };
    let recall = made.recall.as_ref().map(|recall| recall.until);
    due_of(made).into_iter().chain(recall).min()
}

fn due_of(made: &Made) -> Option<Time> {
    let (stage, waiting) = clocked(&made.stage)?;
    Some(due(&made.terms, stage, waiting))
}

pub const WAITING_FOR_EXPECTED: &str = "me, agent:ID, or role:ROLE with one of coordinator, \
                                        researcher, executor, reviewer, integrator";

/// Which open handoffs are wanted in a list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OpenFilter {
    pub waiting_for: Option<WaitingFor>,
    pub is_approval_wanted: bool,
    pub is_overdue: Option<bool>,
}

/// Whom a handoff waits for, as a filter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WaitingFor {
    Caller,
    Agent(AgentId),
    /// Those who have this role.
    Role(Role),
}

impl FromStr for WaitingFor {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        let agent = || text.strip_prefix("agent:")?.parse().ok().map(WaitingFor::Agent);
        let role = || text.strip_prefix("role:")?.parse().ok().map(WaitingFor::Role);
        let is_me = (text == "me").then_some(WaitingFor::Caller);
        is_me.or_else(agent).or_else(role).ok_or(WAITING_FOR_EXPECTED)
    }
}

impl OpenFilter {
    /// Whether a handoff is wanted by a caller. `kind` is that of the caller in the directory.
    pub fn keeps(&self, handoff: &Handoff, caller: &Caller, kind: Option<Kind>, now: Time) -> bool {
        let all = waits(handoff);
        let is_waited_for = |whom: &WaitingFor| {
            all.iter().any(|wait| match whom {
                WaitingFor::Caller => wait.who.is(caller, kind),
                WaitingFor::Agent(agent) => wait.who.is_agent(agent),
                WaitingFor::Role(role) => wait.who.is_open_to(*role),
            })
        };
        let is_approver = |wait: &Wait| matches!(wait.who, Waiter::Approver { .. });
        let is_overdue = overdue_at(handoff).is_some_and(|due| due <= now);
        !all.is_empty()
            && self.waiting_for.as_ref().is_none_or(is_waited_for)
            && (!self.is_approval_wanted || all.iter().any(is_approver))
            && self.is_overdue.is_none_or(|wanted| wanted == is_overdue)
    }
}

impl Waiter {
    /// As answers name it.
    pub fn describe(&self) -> String {
        match self {
            Waiter::Agent(agent) => format!("agent:{agent}"),
            Waiter::Approver { .. } => "approver".to_owned(),
            Waiter::Verifier { .. } => "verifier".to_owned(),
            Waiter::Coordinator => "coordinator".to_owned(),
            Waiter::Parts => "parts".to_owned(),
            Waiter::Server => "server".to_owned(),
        }
    }

    /// Whether it waits for this caller. `kind` is that of the caller in the directory.
    pub fn is(&self, caller: &Caller, kind: Option<Kind>) -> bool {
        let agent = caller.agent();
        match self {
            Waiter::Agent(it) => agent == Some(it),
            Waiter::Approver { guarded, sender } => {
                let deed = RoleAction::Approve { guarded: *guarded };
                let is_human = agent.is_some() && kind == Some(Kind::Human);
                is_human && agent != Some(sender) && roles::may(&caller.roles, deed)
            }
            Waiter::Verifier { sender, owner } => {
                let is_reviewer = agent.is_some() && caller.roles.contains(&Role::Reviewer);
                let is_asked = agent == Some(sender) || is_reviewer || caller.is_coordinator();
                is_asked && agent != Some(owner)
            }
            Waiter::Coordinator => caller.is_coordinator(),
            Waiter::Parts | Waiter::Server => false,
        }
    }

    /// Whether it waits for an agent, whatever its roles are.
    pub fn is_agent(&self, agent: &AgentId) -> bool {
        match self {
            Waiter::Agent(it) => it == agent,
            Waiter::Verifier { sender, .. } => sender == agent,
            Waiter::Approver { .. } | Waiter::Coordinator | Waiter::Parts | Waiter::Server => false,
        }
    }

    /// Whether it waits for those who have a role.
    pub fn is_open_to(&self, role: Role) -> bool {
        match self {
            Waiter::Approver { guarded, .. } => {
                RoleAction::Approve { guarded: *guarded }.is_open_to(role)
            }
            Waiter::Verifier { .. } => match role {
                Role::Reviewer | Role::Coordinator => true,
                Role::Researcher | Role::Executor | Role::Integrator => false,
            },
            Waiter::Coordinator => role == Role::Coordinator,
            Waiter::Agent(_) | Waiter::Parts | Waiter::Server => false,
        }
    }
}
