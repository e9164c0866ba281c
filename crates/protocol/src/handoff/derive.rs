//! What follows from a state, so that nothing has to be remembered: which deadline is armed, and
//! what the handoff holds.

use super::command::SlaStage;
use super::state::{Checks, Handoff, Made, Stage, Terms, Waiting};
use crate::ids::{AgentId, TaskId};
use crate::step::{Deadline, Effect, Hold};
use crate::time::Time;

/// Deadlines that warn have this before the name of their stage.
pub const WARN: &str = "warn/";

/// The deadlines that are armed in a state. An escalated stage has none: it escalates once.
pub fn deadlines(handoff: &Handoff) -> Vec<Deadline> {
    let Handoff::Made(made) = handoff else { return Vec::new() };
    let Some((stage, waiting)) = clocked(&made.stage) else { return Vec::new() };
    if waiting.escalated {
        return Vec::new();
    }
    let due = due(&made.terms, stage, waiting);
    // One at a time: the warning first, then the limit itself.
    match warning(&made.terms, waiting, due) {
        Some(early) => {
            vec![Deadline { name: format!("{WARN}{}", stage.as_str()).into(), due: early }]
        }
        None => vec![Deadline { name: stage.as_str().into(), due }],
    }
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

/// Looking at the artifacts, as long as nothing is known of them.
pub const LOOK: &str = "look";

/// Looking at the final artifacts of a completion. Each has a name of its own, so that one that
/// replaces another does not wait for as long as the other was put off.
fn final_look(attempt: u32) -> String {
    format!("{LOOK}/{attempt}")
}

/// What must happen outside while the handoff is in this state.
pub fn effects(handoff: &Handoff) -> Vec<Effect> {
    let Handoff::Made(made) = handoff else { return Vec::new() };
    match &made.stage {
        Stage::Validating(validating) => match validating.checks {
            Checks::Running | Checks::Unavailable => vec![Effect { name: LOOK.into() }],
            Checks::Passed => Vec::new(),
        },
        Stage::Completing(completing) => match completing.checks {
            Checks::Running | Checks::Unavailable => {
                vec![Effect { name: final_look(made.completions).into() }]
            }
            Checks::Passed => Vec::new(),
        },
        Stage::Proposed(_)
        | Stage::Accepted(_)
        | Stage::Activated(_)
        | Stage::Rejected { .. }
        | Stage::Completed { .. }
        | Stage::Closed { .. } => Vec::new(),
    }
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

/// The task's hold: occupied while the handoff is active, and always carrying the owner chain.
pub fn hold(handoff: &Handoff) -> Option<Hold> {
    let Handoff::Made(made) = handoff else { return None };
    Some(Hold {
        key: task_key(&made.terms.task_id),
        occupied: made.stage.status().is_active(),
        value: encode_chain(&owners(made)),
    })
}

/// Whether the hold of a proposed handoff differs between two of its states. What was agreed on
/// does not change, so it is enough to look at where it stands.
pub fn hold_differs(before: &Handoff, after: &Handoff) -> bool {
    let place = |handoff: &Handoff| match handoff {
        Handoff::Made(made) => Some((made.stage.status().is_active(), target_owns(made))),
        Handoff::Draft(_) | Handoff::Discarded { .. } => None,
    };
    place(before) != place(after)
}

pub fn task_key(task_id: &TaskId) -> String {
    format!("task/{task_id}")
}

/// The owners of the task as this handoff leaves them. A path, never a walk: nobody is in it twice,
/// and who gives a task back or returns it leaves the path.
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

fn encode_chain(chain: &[AgentId]) -> String {
    serde_json::to_string(chain).expect("a list of names is JSON")
}

/// The chain in a hold's value. One that cannot be read is treated as empty.
pub fn decode_chain(value: &str) -> Vec<AgentId> {
    serde_json::from_str(value).unwrap_or_default()
}
