//! Decides on a command. One file per kind of command. Each checks first that the transfer still
//! exists, then the caller, then that the caller's epoch is current.

mod answer;
mod elapse;
mod finish;
mod hold;
mod leg;
mod note;
mod pickup;
pub mod request;

pub use finish::{cancelled, on_close};
pub use note::SCORE_MAX;
pub use pickup::is_in_queue;
pub(crate) use request::queue_of;
pub use request::{Ask, request_for};

use super::command::{Act, Command};
use super::event::Event as TransferEvent;
use super::state::Transfer;
use super::status::{Action, next};
use crate::agent::Kind;
use crate::conversation::event::{Event, Why};
use crate::conversation::state::{Conversation, Side};
use crate::ids::{AgentId, TransferId};
use crate::rejection::Rejection;
use crate::step::Context;

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
            let asked = Asked { conversation, transfer: known, epoch: *epoch, context };
            match act {
                Act::Pickup { accept } => pickup::pickup(&asked, *accept),
                Act::Accept => answer::accept(&asked),
                Act::Decline { reason } => answer::decline(&asked, reason.as_deref()),
                Act::Hold => hold::hold(&asked),
                Act::Resume => hold::resume(&asked),
                Act::Transfer(transfer) => leg::transfer(&asked, transfer),
                Act::Complete { summary } => finish::complete(&asked, summary.as_deref()),
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

/// The transfer of that id. One that a later transfer has replaced is gone.
fn on_the_record<'c>(
    conversation: &'c Conversation,
    id: TransferId,
    context: Context<'_>,
) -> Result<&'c Transfer, Rejection> {
    let no_such = Rejection::NotFound { what: "transfer" };
    let transfer = conversation.transfer.as_deref().ok_or(no_such.clone())?;
    match transfer.id == id {
        true => Ok(transfer),
        false if may_know(conversation, context) => Err(Rejection::TransferGone { status: None }),
        false => Err(no_such),
    }
}

/// Who is told that a transfer is gone: participants of the conversation, and people, for whom it
/// may have rung.
fn may_know(conversation: &Conversation, context: Context<'_>) -> bool {
    let caller = context.facts.caller.as_ref();
    let is_person = caller.is_some_and(|agent| agent.kind == Kind::Human);
    is_person || conversation.side(context.caller).is_some()
}

/// A command on a transfer, with its context.
#[derive(Clone, Copy)]
struct Asked<'a> {
    conversation: &'a Conversation,
    transfer: &'a Transfer,
    epoch: Option<u64>,
    context: Context<'a>,
}

impl<'a> Asked<'a> {
    /// Refuses an action that is impossible in this status, or after the end.
    fn may(&self, action: Action) -> Result<(), Rejection> {
        let status = self.transfer.status();
        match next(status, action) {
            Some(_) => Ok(()),
            None if status.is_over() => Err(Rejection::TransferGone { status: Some(status) }),
            None => Err(Rejection::WrongTransferState { action: action.as_str(), status }),
        }
    }

    /// An agent must give the current epoch, to show that it has seen the latest change.
    fn has_seen(&self) -> Result<(), Rejection> {
        let current = self.conversation.epoch;
        match self.epoch {
            Some(epoch) if epoch == current => Ok(()),
            Some(_) => Err(Rejection::NotHeard {
                why: Why::EpochOutdated,
                holder: self.conversation.holder.clone(),
                epoch: current,
            }),
            None if self.context.caller.agent().is_some() => Err(Rejection::EpochRequired),
            None => Ok(()),
        }
    }

    /// The caller's side. Members of the queue where it waits may know of it without taking part.
    fn side(&self) -> Result<Side<'a>, Rejection> {
        let caller = self.context.caller;
        match (self.conversation.side(caller), caller.agent()) {
            (Some(side), _) => Ok(side),
            (None, Some(agent)) if self.may_pick_up() => Ok(Side::Agent(agent)),
            (None, _) => Err(Rejection::NotFound { what: "transfer" }),
        }
    }

    /// Whether it, or its leg, waits in a queue of which the caller is a member.
    fn may_pick_up(&self) -> bool {
        let facts = self.context.facts;
        let person = facts.caller.as_ref().filter(|agent| agent.kind == Kind::Human);
        let is_in = |(person, queue)| is_in_queue(person, queue);
        self.transfer.waiting().is_some() && person.zip(facts.queue.as_ref()).is_some_and(is_in)
    }

    /// The caller, if it is the person with whom the customer speaks.
    fn as_answering(&self, action: &'static str) -> Result<&'a AgentId, Rejection> {
        self.side()?;
        let answering = self.transfer.answering().map(|claim| &claim.agent);
        match self.context.caller.agent() {
            Some(agent) if Some(agent) == answering => Ok(agent),
            Some(_) | None => {
                let who = "the person with whom the customer speaks";
                Err(Rejection::NotAllowed { action, who })
            }
        }
    }

    fn holder(&self) -> AgentId {
        self.conversation.holder.clone()
    }

    fn next_number(&self) -> u64 {
        self.conversation.transcript.count + 1
    }

    fn next_epoch(&self) -> u64 {
        self.conversation.epoch + 1
    }
}

fn events(events: impl IntoIterator<Item = TransferEvent>) -> Vec<Event> {
    events.into_iter().map(Event::Transfer).collect()
}
