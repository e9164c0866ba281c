//! Decides on a command. One file per kind of command. Each checks first that the transfer still
//! exists, then the caller, then that the caller's epoch is current.

mod answer;
mod bundle;
mod elapse;
mod finish;
mod hold;
mod leg;
mod note;
mod pickup;
pub mod request;
mod shared;

pub use finish::{HandOn, called_back_instead, hand_on, on_close};
pub use note::SCORE_MAX;
pub(crate) use request::queue_of;
pub use request::{Ask, request_for};
pub use shared::is_in_queue;
use shared::{TransferAct, on_the_record};

use super::command::{Act, Command, Transfer as PassOn};
use crate::conversation::event::Event;
use crate::conversation::state::Conversation;
use crate::facts::Context;
use crate::rejection::Rejection;
use crate::transfer::state::Transfer;

pub fn decide(
    state: Option<&Conversation>,
    command: &Command,
    context: Context<'_>,
) -> Result<Vec<Event>, Rejection> {
    let no_such = Rejection::NotFound { what: "conversation" };
    let conversation = state.ok_or(no_such)?;
    match command {
        Command::Request { transfer, request } => {
            request::decide(conversation, *transfer, request, context)
        }
        Command::Act { transfer, epoch, act } => {
            let known = on_the_record(conversation, *transfer, context)?;
            let asked = TransferAct { conversation, transfer: known, epoch: *epoch, context };
            match act {
                Act::Pickup { accept } => pickup::pickup(&asked, *accept),
                Act::Accept => answer::accept(&asked),
                Act::Decline { reason } => answer::decline(&asked, reason.as_deref()),
                Act::Hold => hold::hold(&asked),
                Act::Resume => hold::resume(&asked),
                Act::Transfer(transfer) => leg::transfer(&asked, transfer),
                Act::Complete { summary, disposition, to } => {
                    let (summary, disposition) = (summary.as_deref(), disposition.as_ref());
                    finish::complete(&asked, summary, disposition, to.as_ref())
                }
                Act::End { reason } => finish::end(&asked, reason.as_deref()),
                Act::Cancel { reason } => finish::cancel(&asked, reason.as_deref()),
                Act::Fail { reason } => finish::fail(&asked, reason),
                Act::Note { text } => note::note(&asked, text),
                Act::Whisper { text } => note::whisper(&asked, text),
                Act::Rate { score, comment } => note::rate(&asked, *score, comment.as_deref()),
            }
        }
        Command::Ring { transfer, agent } => pickup::ring(conversation, *transfer, agent, context),
        Command::Lose { agent } => elapse::lose(conversation, agent, context),
        Command::Elapse { due } => elapse::elapse(conversation, *due, context),
    }
}

/// The person who has the customer passes them on by another command than one about the transfer.
pub fn pass_on(
    conversation: &Conversation,
    transfer: &Transfer,
    asking: &PassOn,
    context: Context<'_>,
) -> Result<Vec<Event>, Rejection> {
    leg::transfer(&TransferAct { conversation, transfer, epoch: asking.epoch, context }, asking)
}
