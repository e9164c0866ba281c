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
mod discard;
mod draft;
mod elapse;
mod extend_sla;
mod follow;
pub(crate) mod initiate;
mod progress;
mod reassign;
mod recall;
mod reject;
mod shared;
pub(crate) mod verified;
mod verify_completion;
mod withdraw;
mod workq_answered;

pub use shared::Decision;

use super::command::Command;
use super::state::Handoff;
use crate::facts::Context;
use crate::ids::HandoffId;
use crate::rejection::Rejection;

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
        Command::Progress(report) => progress::decide(state, report, context),
        Command::Recall { reason } => recall::decide(state, reason, context),
        Command::Complete(completion) => complete::decide(state, completion, context),
        Command::Confirm { why } => confirm::confirm(state, why.as_deref(), context),
        Command::Dispute { why } => confirm::dispute(state, why, context),
        Command::Close { closure_notes } => close::decide(state, closure_notes.as_deref(), context),
        Command::Discard { why } => discard::decide(state, why.as_deref(), context),
        Command::Warn { stage, at } => elapse::warn(state, *stage, *at, context),
        Command::Elapse { stage, due } => elapse::decide(state, *stage, *due, context),
        Command::ElapseRecall { due } => recall::elapse(state, *due, context),
    }
}
