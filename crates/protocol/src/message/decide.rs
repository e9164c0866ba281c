//! Decides on a command to a message. One file per command, each with its guards in order of
//! precedence.

mod elapse;
mod receive;
pub mod send;
mod wake;

use super::command::Command;
use super::event::Event;
use super::state::Message;
use crate::facts::Context;
use crate::ids::MessageId;
use crate::rejection::Rejection;

pub fn decide(
    id: MessageId,
    state: Option<&Message>,
    command: &Command,
    context: Context<'_>,
) -> Result<Vec<Event>, Rejection> {
    match command {
        Command::Send(outgoing) => send::decide(id, state, outgoing, context),
        Command::Deliver => receive::deliver(state, context),
        Command::Read => receive::read(state, context),
        Command::Elapse { due } => elapse::decide(state, *due, context),
        Command::Woken { agent } => wake::woken(state, agent, context),
        Command::NotWoken { agent, detail } => wake::not_woken(state, agent, detail, context),
    }
}
