//! One file per command, and what they share.

mod announce;
mod answer;
mod elapse;
mod end;
mod hand_over;

pub use answer::{MODIFIED_ACTION_BYTES_MAX, Unanswered};

use super::command::Command;
use super::event::Event;
use super::state::Session;
use crate::caller::Principal;
use crate::ids::SessionId;
use crate::rejection::Rejection;
use crate::step::{Context, HoldWrite};

/// The result of a decision.
#[derive(Debug, Default)]
pub struct Decision {
    pub events: Vec<Event>,
    pub holds: Vec<HoldWrite>,
}

pub fn decide(
    id: &SessionId,
    state: Option<&Session>,
    command: &Command,
    context: Context<'_>,
) -> Result<Decision, Rejection> {
    match command {
        Command::Announce { events } => announce::decide(id, state, events, context),
        Command::Answer(answer) => answer::decide(id, state, answer, context),
        Command::Elapse { due } => elapse::decide(id, state, *due, context),
        Command::End => end::decide(state, context),
        Command::HandOver(handover) => hand_over::decide(id, state, handover, context),
        Command::Deliver { reply_token } => hand_over::delivered(state, reply_token, context),
    }
}

/// Only the server itself may do this.
fn check_server(context: Context<'_>, action: &'static str) -> Result<(), Rejection> {
    match context.caller.principal {
        Principal::System => Ok(()),
        Principal::Agent(_) | Principal::Operator(_) | Principal::Customer(_) => {
            Err(Rejection::NotAllowed { action, who: "the server" })
        }
    }
}
