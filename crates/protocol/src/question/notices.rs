//! Who is told about a step of a question. A pure function of the recorded event, as for handoffs.

use super::event::{Addressee, Event};
use crate::handoff::notices::NoticeKind;
use crate::ids::AgentId;

/// Who is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reader {
    Agent(AgentId),
    /// The humans of the queue.
    Queue(AgentId),
}

/// What is told of an event, and to whom. The asker does not get what it did itself; a claim
/// concerns the workers alone, who see it when they claim.
pub fn notice(event: &Event) -> Option<(NoticeKind, Reader)> {
    let parties = event.parties();
    let asked = || match parties.to_kind {
        Addressee::Person => Reader::Agent(parties.to.clone()),
        Addressee::Queue => Reader::Queue(parties.to.clone()),
    };
    let asker = || Reader::Agent(parties.asker.clone());
    match event {
        Event::Asked(_) => Some((NoticeKind::QuestionAsked, asked())),
        Event::Withdrawn(_) => Some((NoticeKind::QuestionWithdrawn, asked())),
        Event::Answered(_) => Some((NoticeKind::QuestionAnswered, asker())),
        Event::Defaulted(_) | Event::Unanswered(_) => {
            Some((NoticeKind::QuestionUnanswered, asker()))
        }
        Event::Claimed(_) | Event::ClaimRenewed(_) | Event::ClaimLapsed(_) | Event::Finished(_) => {
            None
        }
    }
}
