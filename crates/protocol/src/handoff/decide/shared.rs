//! What several decisions share.

use crate::facts::Context;
use crate::handoff::command::Command;
use crate::handoff::event::{Event, Parties};
use crate::handoff::package::OfferedWorkState;
use crate::handoff::state::{Handoff, Made};
use crate::ids::{AgentId, HandoffId};
use crate::rejection::Rejection;
use crate::stored::Document;

/// The result of a decision: events to record, and the documents they name by hash.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Decision {
    pub events: Vec<Event>,
    pub document: Option<Document>,
    /// Commands to other handoffs in the same commit; all of it happens or nothing does.
    pub then: Vec<(HandoffId, Command)>,
}

impl Decision {
    pub(super) fn event(event: Event) -> Self {
        Self::events([event])
    }

    pub(super) fn events(events: impl Into<Vec<Event>>) -> Self {
        Self { events: events.into(), ..Self::default() }
    }

    pub(super) fn then(mut self, id: HandoffId, command: Command) -> Self {
        self.then.push((id, command));
        self
    }
}

pub(super) fn existing(state: Option<&Handoff>) -> Result<&Handoff, Rejection> {
    state.ok_or(Rejection::NotFound { what: "handoff" })
}

/// The caller as an agent; operators and customers are not in the directory and hold no work.
pub(super) fn calling_agent<'a>(
    context: Context<'a>,
    action: &'static str,
) -> Result<&'a AgentId, Rejection> {
    context.caller.agent().ok_or(Rejection::NotAllowed { action, who: "an agent" })
}

/// The proposed handoff, if the caller is its target.
pub(super) fn as_target<'a>(
    state: Option<&'a Handoff>,
    context: Context<'_>,
    action: &'static str,
) -> Result<&'a Made, Rejection> {
    let handoff = existing(state)?;
    let not_allowed = Rejection::NotAllowed { action, who: "the agent the task is handed to" };
    if context.caller.agent().is_none() || context.caller.agent() != handoff.to() {
        return Err(not_allowed);
    }
    match handoff {
        Handoff::Made(made) => Ok(made),
        Handoff::Draft(_) | Handoff::Discarded { .. } => Err(Rejection::WrongState {
            action,
            state: handoff.status(),
            needed: "a handoff that was proposed",
        }),
    }
}

/// The latest state of the work: the owner's own values, over those of the package.
pub(super) fn latest(made: &Made, packaged: Option<OfferedWorkState>) -> Option<OfferedWorkState> {
    match &made.work_state {
        Some(said) => Some(said.as_ref().clone().or(packaged.unwrap_or_default())),
        None => packaged,
    }
}

pub(super) fn parties(made: &Made) -> Parties {
    Parties { from: made.terms.from.clone(), to: made.terms.to.clone() }
}
