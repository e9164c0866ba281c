//! What several decisions share.

use crate::agent::{Agent, Kind};
use crate::conversation::event::Event;
use crate::conversation::not_heard::Why;
use crate::conversation::state::{Conversation, Side};
use crate::facts::Context;
use crate::ids::{AgentId, TransferId};
use crate::queue::choose::{Candidate, Ineligible, eligible};
use crate::rejection::Rejection;
use crate::time::Time;
use crate::transfer::event::Event as TransferEvent;
use crate::transfer::state::Transfer;
use crate::transfer::status::{Action, next};

/// The transfer of that id. One that a later transfer has replaced is gone.
pub(super) fn on_the_record<'c>(
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
pub(super) fn may_know(conversation: &Conversation, context: Context<'_>) -> bool {
    let caller = context.facts.caller.as_ref();
    let is_person = caller.is_some_and(|agent| agent.kind == Kind::Human);
    is_person || conversation.side(context.caller).is_some()
}

/// A command on a transfer, with its context.
#[derive(Clone, Copy)]
pub(super) struct TransferAct<'a> {
    pub conversation: &'a Conversation,
    pub transfer: &'a Transfer,
    pub epoch: Option<u64>,
    pub context: Context<'a>,
}

impl<'a> TransferAct<'a> {
    /// Refuses an action that is impossible in this status, or after the end.
    pub(super) fn may(&self, action: Action) -> Result<(), Rejection> {
        let status = self.transfer.status();
        match next(status, action) {
            Some(_) => Ok(()),
            None if status.is_over() => Err(Rejection::TransferGone { status: Some(status) }),
            None => Err(Rejection::WrongTransferState { action: action.as_str(), status }),
        }
    }

    /// An agent must give the current epoch, to show that it has seen the latest change.
    pub(super) fn has_seen(&self) -> Result<(), Rejection> {
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
    pub(super) fn side(&self) -> Result<Side<'a>, Rejection> {
        let caller = self.context.caller;
        match (self.conversation.side(caller), caller.agent()) {
            (Some(side), _) => Ok(side),
            (None, Some(agent)) if self.may_pick_up() => Ok(Side::Agent(agent)),
            (None, _) => Err(Rejection::NotFound { what: "transfer" }),
        }
    }

    /// Whether it, or its leg, waits in a queue of which the caller is a member.
    pub(super) fn may_pick_up(&self) -> bool {
        let facts = self.context.facts;
        let person = facts.caller.as_ref().filter(|agent| agent.kind == Kind::Human);
        let is_in = |(person, queue)| is_in_queue(person, queue);
        self.transfer.waiting().is_some() && person.zip(facts.queue.as_ref()).is_some_and(is_in)
    }

    /// The caller, if it is the person with whom the customer speaks.
    pub(super) fn as_answering(&self, action: &'static str) -> Result<&'a AgentId, Rejection> {
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

    pub(super) fn holder(&self) -> AgentId {
        self.conversation.holder.clone()
    }

    pub(super) fn next_number(&self) -> u64 {
        self.conversation.transcript.count + 1
    }

    pub(super) fn next_epoch(&self) -> u64 {
        self.conversation.epoch + 1
    }
}

pub(super) fn events(events: impl IntoIterator<Item = TransferEvent>) -> Vec<Event> {
    events.into_iter().map(Event::Transfer).collect()
}

/// Whether a person is a member of a queue. Members may pick any item. The further requirements of
/// an item matter only when the server chooses.
pub fn is_in_queue(person: &Agent, queue: &Agent) -> bool {
    let wanted = queue.queue_settings().wanted;
    let person = Candidate::of(person, 0, Time::from_millis(0));
    let person = Candidate { is_available: true, ..person };
    match eligible(&person, &wanted, &Default::default()) {
        Ok(()) | Err(Ineligible::NoCapacity) => true,
        Err(
            Ineligible::Unavailable
            | Ineligible::Declined
            | Ineligible::OtherTeam
            | Ineligible::OtherLanguage
            | Ineligible::MissingSkill,
        ) => false,
    }
}
