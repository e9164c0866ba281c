//! Decides on a command. One file per command, each with its guards in order of precedence: the
//! caller, then the state, then the content.

mod accept;
mod activate;
mod approve;
mod close;
mod complete;
mod confirm;
mod counter;
mod delegate;
mod draft;
mod elapse;
mod extend_sla;
mod follow;
pub(crate) mod initiate;
mod reassign;
mod reject;
pub(crate) mod verified;
mod verify_completion;
mod withdraw;
mod workq_answered;

pub use counter::REVISIONS_MAX;
pub use delegate::OPEN_DELEGATIONS_MAX;

use super::command::Command;
use super::event::{Event, Parties};
use super::package::OfferedWorkState;
use super::state::{Handoff, Made};
use crate::ids::{AgentId, HandoffId};
use crate::rejection::Rejection;
use crate::step::{Context, Document};

/// The result of a decision: events to record, and the documents they name by hash.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Decision {
    pub events: Vec<Event>,
    pub document: Option<Document>,
    /// Commands to other handoffs in the same commit; all of it happens or nothing does.
    pub then: Vec<(HandoffId, Command)>,
}

/// People read notes and details; longer text belongs in an artifact.
pub const NOTES_BYTES_MAX: usize = 16 * 1024;

pub fn decide(
    id: HandoffId,
    state: Option<&Handoff>,
    command: &Command,
    context: Context<'_>,
) -> Result<Decision, Rejection> {
    match command {
        Command::Draft { offer } => draft::decide(id, state, offer, context),
        Command::Initiate { offer } => initiate::decide(id, state, offer.as_deref(), context),
        Command::Accept(accept) => accept::decide(state, accept, context),
        Command::Verified { looked, seen } => verified::decide(state, looked, seen, context),
        Command::WorkqAnswered { package_hash, way, answers } => {
            workq_answered::decide(state, package_hash, *way, answers, context)
        }
        Command::Approve { revision, why } => {
            approve::approve(state, *revision, why.as_deref(), context)
        }
        Command::Refuse { revision, why } => approve::refuse(state, *revision, why, context),
        Command::Counter { edit } => counter::decide(id, state, edit, context),
        Command::Withdraw { why } => withdraw::decide(state, why.as_deref(), context),
        Command::ExtendSla { due, why } => extend_sla::decide(state, *due, why, context),
        Command::Delegate { child, offer } => delegate::decide(*child, state, offer, context),
        Command::Reassign(reassign) => reassign::decide(state, reassign, context),
        Command::Follow(follow) => follow::decide(id, state, follow, context),
        Command::Child(child) => delegate::child(state, child),
        Command::Reject(reject) => reject::decide(state, reject, context),
        Command::Activate { work_state_update } => {
            activate::decide(state, work_state_update.as_deref(), context)
        }
        Command::Complete(completion) => complete::decide(state, completion, context),
        Command::Confirm { why } => confirm::confirm(state, why.as_deref(), context),
        Command::Dispute { why } => confirm::dispute(state, why, context),
        Command::Close { closure_notes } => close::decide(state, closure_notes.as_deref(), context),
        Command::Warn { stage, at } => elapse::warn(state, *stage, *at, context),
        Command::Elapse { stage, due } => elapse::decide(state, *stage, *due, context),
    }
}

impl Decision {
    fn event(event: Event) -> Self {
        Self::events([event])
    }

    fn events(events: impl Into<Vec<Event>>) -> Self {
        Self { events: events.into(), ..Self::default() }
    }

    fn then(mut self, id: HandoffId, command: Command) -> Self {
        self.then.push((id, command));
        self
    }
}

fn existing(state: Option<&Handoff>) -> Result<&Handoff, Rejection> {
    state.ok_or(Rejection::NotFound { what: "handoff" })
}

/// The caller as an agent; operators and customers are not in the directory and hold no work.
fn calling_agent<'a>(context: Context<'a>, action: &'static str) -> Result<&'a AgentId, Rejection> {
    context.caller.agent().ok_or(Rejection::NotAllowed { action, who: "an agent" })
}

/// The proposed handoff, if the caller is its target.
fn as_target<'a>(
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
fn latest(made: &Made, packaged: Option<OfferedWorkState>) -> Option<OfferedWorkState> {
    match &made.work_state {
        Some(said) => Some(said.as_ref().clone().or(packaged.unwrap_or_default())),
        None => packaged,
    }
}

fn parties(made: &Made) -> Parties {
    Parties { from: made.terms.from.clone(), to: made.terms.to.clone() }
}

pub(crate) fn check_text(field: &str, text: Option<&str>) -> Result<Option<String>, Rejection> {
    match text {
        Some(text) if text.len() > NOTES_BYTES_MAX => Err(Rejection::SchemaInvalid {
            field: field.to_owned(),
            expected: format!("at most {NOTES_BYTES_MAX} bytes; put more into an artifact"),
        }),
        Some(text) => Ok(Some(text.to_owned())),
        None => Ok(None),
    }
}
