//! Decides on a command. One file per command.

mod close;
mod deliver;
mod fallback;
pub mod human;
mod observe_signals;
pub mod open;
mod route;
mod say;
pub(crate) mod shared;
mod silent;
mod turn;

pub use route::{SHARED_BYTES_MAX, SHARED_NAMES_MAX};
pub use say::NOT_HEARD_MAX;

use super::command::Command;
use super::event::Event;
use super::state::Conversation;
use crate::facts::Context;
use crate::rejection::Rejection;
use crate::{callback, transfer};

pub fn decide(
    state: Option<&Conversation>,
    command: &Command,
    context: Context<'_>,
) -> Result<Vec<Event>, Rejection> {
    match command {
        Command::Open(open) => open::decide(state, open, context),
        Command::Say(say) => say::decide(state, say, context),
        Command::Route(route) => route::decide(state, route, context),
        Command::Select { agent } => route::select(state, agent, context),
        Command::Close { reason } => close::decide(state, reason.as_deref(), context),
        Command::ObserveSignals(observe) => observe_signals::decide(state, observe, context),
        Command::Transfer(command) => transfer::decide(state, command, context),
        Command::Callback(command) => callback::decide(state, command, context),
        Command::Delivered { epoch, through } => {
            deliver::delivered(state, *epoch, *through, context)
        }
        Command::NotDelivered { epoch, through, detail } => {
            deliver::not_delivered(state, *epoch, *through, detail, context)
        }
        Command::ShowProgress { epoch } => silent::show_progress(state, *epoch, context),
        Command::MissAnswer { due } => silent::miss_answer(state, *due, context),
        Command::RemindPerson { due } => silent::remind_person(state, *due, context),
    }
}
