//! One file per command, and what they share.

mod announce;
mod answer;
mod elapse;
mod end;
mod hand_over;
mod shared;
mod withdraw;

pub use answer::MODIFIED_ACTION_BYTES_MAX;
pub use shared::Decision;

use super::command::Command;
use super::state::Session;
use crate::facts::Context;
use crate::ids::SessionId;
use crate::rejection::Rejection;

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
        Command::Withdraw => withdraw::decide(id, state, context),
        Command::End => end::decide(state, context),
        Command::HandOver(handover) => hand_over::decide(id, state, handover, context),
        Command::Deliver { reply_token } => hand_over::delivered(state, reply_token, context),
    }
}
