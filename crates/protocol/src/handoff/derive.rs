//! What follows from a state and is therefore not stored: which deadline is armed, and what the
//! handoff holds.

use serde::{Deserialize, Serialize};

use super::command::Child;
use super::package::{Artifact, Package, Policy, TaskKind};
use super::recall::RECALL;
use super::state::{Approval, Completing, Handoff, Made, Stage, Terms, Waiting};
use super::workq::{self, Transfer, Way, Workq};
use crate::handoff::readers::Readers;
use crate::handoff::sla::SlaStage;
use crate::ids::{AgentId, HandoffId, TaskId};
use crate::stored::{Deadline, Effect, Hold};
use crate::time::Time;

/// The prefix of the hold of a task, before its id.
pub const TASK: &str = "task/";

/// The prefix of a deadline that warns, before the name of its stage.
pub const WARN: &str = "warn/";

/// The deadlines that are armed in a state: that of its stage, and that of a recall. Neither is
/// armed again once it has escalated.
pub fn deadlines(handoff: &Handoff) -> Vec<Deadline> {
    let Handoff::Made(made) = handoff else { return Vec::new() };
    let recall = made.recall.iter().filter(|recall| !recall.escalated);
    let recall = recall.map(|recall| Deadline { name: RECALL.into(), due: recall.until });
    of_stage(made).into_iter().chain(recall).collect()
}

fn of_stage(made: &Made) -> Option<Deadline> {
    let (stage, waiting) = clocked(&made.stage)?;
    if waiting.escalated {
        return None;
    }
    let due = due(&made.terms, stage, waiting);
    // One at a time: the warning first, then the limit itself.
    Some(match warning(&made.terms, waiting, due) {
        Some(early) => Deadline { name: format!("{WARN}{}", stage.as_str()).into(), due: early },
        None => Deadline { name: stage.as_str().into(), due },
    })
}

/// When the stage is overdue.
pub fn due(terms: &Terms, stage: SlaStage, waiting: Waiting) -> Time {
    match (waiting.due, stage, terms.deadline) {
        (Some(extended), _, _) => extended,
        (None, SlaStage::Activated, Some(deadline)) => deadline,
        (None, stage, _) => waiting.since.plus(terms.slas.of(stage)),
    }
}

/// When to warn about a stage that is overdue at `due`, unless that was done.
pub fn warning(terms: &Terms, waiting: Waiting, due: Time) -> Option<Time> {
    if waiting.warned { None } else { terms.slas.warning(waiting.since, due) }
}

/// Verifies the artifacts, until their result is known.
const LOOK: &str = "look";

/// The same, if one or more of them are elsewhere. It has places of its own, so that slow URLs
/// delay no look at small files.
const FETCH: &str = "fetch";

/// Asks the work queue, until it has answered or cannot be asked.
pub const TRANSFER: &str = "transfer";

/// Verifies the final artifacts of a completion. Each completion has its own name, so that a new
/// one does not inherit the retry delay of the old one.
fn verify_completion(completing: &Completing, attempt: u32) -> String {
    let is_remote = completing.completion.final_artifacts.iter().any(Artifact::is_remote);
    format!("{}/{attempt}", look(is_remote))
}

fn look(is_remote: bool) -> &'static str {
    if is_remote { FETCH } else { LOOK }
}

/// What must happen outside while the handoff is in this state.
pub fn effects(handoff: &Handoff) -> Vec<Effect> {
    let Handoff::Made(made) = handoff else { return Vec::new() };
    let (look, may_transfer) = match &made.stage {
        Stage::Validating(validating) => {
            let name = || look(made.terms.has_remote_artifacts).into();
            (validating.checks.is_open().then(name), false)
        }
        Stage::Completing(completing) => {
            let name = || verify_completion(completing, made.completions).into();
            (completing.checks.is_open().then(name), true)
        }
        Stage::Activated(_) | Stage::Completed { .. } | Stage::Rejected { .. } => (None, true),
        Stage::Proposed(_) | Stage::Accepted(_) | Stage::Closed { .. } => (None, false),
    };
    let asks = match made.workq {
        Workq::Asked(_) => may_transfer,
        Workq::Idle | Workq::Transferred | Workq::Missing | Workq::Degraded => false,
    };
    let names = look.into_iter().chain(asks.then(|| TRANSFER.into()));
    names.map(|name| Effect { name }).collect()
}

/// The stage whose clock is running, if one is.
pub fn clocked(stage: &Stage) -> Option<(SlaStage, Waiting)> {
    match stage {
        Stage::Proposed(waiting) => Some((SlaStage::Proposed, *waiting)),
        Stage::Validating(validating) => Some((SlaStage::Validating, validating.waiting)),
        Stage::Accepted(waiting) => Some((SlaStage::Accepted, *waiting)),
        Stage::Activated(waiting) => Some((SlaStage::Activated, *waiting)),
        Stage::Completing(completing) => Some((SlaStage::Activated, completing.waiting)),
        Stage::Rejected { .. } | Stage::Completed { .. } | Stage::Closed { .. } => None,
    }
}

/// The task's hold: occupied while the handoff is active, and always with the owner chain and the
/// kind of the task.
pub fn hold(handoff: &Handoff) -> Option<Hold> {
    let Handoff::Made(made) = handoff else { return None };
    Some(Hold {
        key: task_key(&made.terms.task_id),
        occupied: made.stage.status().is_active(),
        value: Some(encode_task(task(made))),
    })
}

/// What this handoff leaves to the next one of its task.
pub fn task(made: &Made) -> Task {
    Task {
        chain: owners(made),
        kind: made.terms.task_kind,
        parts: parts(made),
        gated: gated(made).cloned(),
        // Handoffs of the first releases count as readable by the team.
        readers: readers(made).unwrap_or_default(),
    }
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

/// The policy of this task that a human was last asked about. A policy that is laxer than what was
/// agreed on counts only once a human has approved it.
fn gated(made: &Made) -> Option<&Policy> {
    unapproved(made).or(made.terms.gated.as_deref())
}

/// The policy that was agreed on, if this one is laxer and no human has approved that.
pub fn unapproved(made: &Made) -> Option<&Policy> {
    match made.approval {
        Approval::Wanted | Approval::NotNeeded => made.terms.loosens.as_deref(),
        Approval::Given => None,
    }
}

/// Whether the hold of a proposed handoff differs between two of its states. The terms never
/// change, so it is enough to compare the rest.
pub fn hold_differs(before: &Handoff, after: &Handoff) -> bool {
    let place = |handoff: &Handoff| match handoff {
        Handoff::Made(made) => {
            let is_active = made.stage.status().is_active();
            Some((is_active, target_owns(made), parts(made), unapproved(made).is_some()))
        }
        Handoff::Draft(_) | Handoff::Discarded { .. } => None,
    };
    place(before) != place(after)
}

/// What the parent of this part must be told, if anything. `successor` is the handoff that replaces
/// this one, and its target.
pub fn told_parent(
    before: &Made,
    after: &Made,
    successor: Option<(HandoffId, AgentId)>,
) -> Option<Child> {
    let (child, status) = (after.terms.id, after.stage.status());
    match (before.stage.status().is_active(), status.is_active(), successor) {
        (true, false, Some((by, to))) => {
            let task_id = after.terms.task_id.clone();
            Some(Child::Replaced { child, status, by, task_id, to })
        }
        (true, false, None) => Some(Child::Ended { child, status }),
        (false, true, _) => Some(Child::Reopened { child }),
        (true, true, _) => {
            let is_recalled = before.recall.is_none() && after.recall.is_some();
            is_recalled.then_some(Child::Recalled { child })
        }
        (false, false, _) => None,
    }
}

/// An owner with more open parts needs a plan, not another part.
pub const OPEN_DELEGATIONS_MAX: usize = 16;

pub fn has_room_for_a_part(whole: &Made) -> bool {
    whole.delegations.open.len() < OPEN_DELEGATIONS_MAX
}

/// Whether a part may begin. If the whole is asked back, that would keep its owner from giving it
/// back; a whole that is over has no parts.
pub fn takes_parts(whole: &Made) -> bool {
    matches!(whole.stage, Stage::Activated(_)) && whole.recall.is_none()
}

/// Whether a part that was rejected may be proposed again.
pub fn may_reopen_parts(whole: &Made) -> bool {
    takes_parts(whole) && has_room_for_a_part(whole)
}

pub fn task_key(task_id: &TaskId) -> String {
    [TASK, task_id.as_str()].concat()
}

/// The owners of the task after this handoff. No agent is in the list twice: an agent that rejects
/// or returns a task is removed.
pub fn owners(made: &Made) -> Vec<AgentId> {
    if target_owns(made) { extended(&made.terms) } else { made.terms.chain.clone() }
}

fn target_owns(made: &Made) -> bool {
    match made.stage {
        Stage::Activated(_) | Stage::Completing(_) | Stage::Completed { .. } => true,
        Stage::Closed { was_activated, .. } => was_activated,
        Stage::Proposed(_) | Stage::Validating(_) | Stage::Accepted(_) | Stage::Rejected { .. } => {
            false
        }
    }
}

/// The chain once the target owns the task.
pub fn extended(terms: &Terms) -> Vec<AgentId> {
    let before: &[AgentId] = match terms.chain.iter().position(|owner| *owner == terms.to) {
        Some(position) => &terms.chain[..position],
        None => &terms.chain,
    };
    before.iter().chain(std::iter::once(&terms.to)).cloned().collect()
}

/// The value of a task's hold. Usually the chain alone, as in the first releases.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum TaskHold {
    Chain(Vec<AgentId>),
    More(Task),
}

/// The data of a task, across its handoffs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    pub chain: Vec<AgentId>,
    #[serde(default, skip_serializing_if = "TaskKind::is_execution")]
    pub kind: TaskKind,
    /// How many parts of it were delegated, so that each gets a new number.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub parts: u32,
    /// The policy that a human was last asked about, if one was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gated: Option<Policy>,
    /// Who may learn whose task it is.
    #[serde(default, skip_serializing_if = "Readers::is_team")]
    pub readers: Readers,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

fn encode_task(task: Task) -> String {
    let text = match task {
        Task {
            chain,
            kind: TaskKind::Execution,
            parts: 0,
            gated: None,
            readers: Readers::Team,
        } => serde_json::to_string(&chain),
        task => serde_json::to_string(&TaskHold::More(task)),
    };
    text.expect("a list of names is JSON")
}

/// Decodes the value of a hold. An unreadable one counts as empty.
pub fn decode_task(value: &str) -> Task {
    match serde_json::from_str(value) {
        Ok(TaskHold::Chain(chain)) => Task { chain, ..Task::default() },
        Ok(TaskHold::More(task)) => task,
        Err(_) => Task::default(),
    }
}

/// How many parts of the task were delegated, by this handoff and those before it.
pub fn parts(made: &Made) -> u32 {
    made.terms.parts.saturating_add(made.delegations.count)
}

pub fn decode_chain(value: &str) -> Vec<AgentId> {
    decode_task(value).chain
}

/// The request to the queue that moves the items this way.
pub fn workq_transfer(made: &Made, way: Way, package: Option<&Package>) -> Transfer {
    // An unreadable package has no known items, so nothing is asked.
    let items =
        package.map(|package| workq::items(&package.task.external_refs)).unwrap_or_default();
    // A coordinator may hand over what it does not own.
    let before = made.terms.chain.last().unwrap_or(&made.terms.from).clone();
    let target = made.terms.to.clone();
    match way {
        Way::Over => Transfer { items, from: before, to: target },
        Way::Back => Transfer { items, from: target, to: before },
    }
}
