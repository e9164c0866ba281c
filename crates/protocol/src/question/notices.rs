//! Who is told about a step of a question. A pure function of the recorded event. The index of
//! notices leaves out what a reader did itself, because a queue is told as one.

use super::event::{Addressee, Event};
use crate::handoff::notice_kind::NoticeKind;
use crate::ids::AgentId;

/// Who is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reader {
    Agent(AgentId),
    /// The humans of the queue.
    Queue(AgentId),
}

/// What is told of an event, and to whom. Those that may
/// go on with an answer learn that there is one, or none in time; a claim concerns the workers
/// alone, who see it when they claim.
pub fn notices(event: &Event) -> Vec<(NoticeKind, Reader)> {
    let parties = event.parties();
    let asked = || match parties.to_kind {
        Addressee::Person => Reader::Agent(parties.to.clone()),
        Addressee::Queue => Reader::Queue(parties.to.clone()),
    };
    let continuing = |kind: NoticeKind, workers: &[AgentId]| {
        let mut all = vec![(kind, Reader::Agent(parties.asker.clone()))];
        for worker in workers.iter().cloned().map(Reader::Agent) {
            if all.iter().all(|(_, told)| *told != worker) {
                all.push((kind, worker));
            }
        }
        all
    };
    match event {
        Event::Asked(_) => vec![(NoticeKind::QuestionAsked, asked())],
        Event::Withdrawn(_) => vec![(NoticeKind::QuestionWithdrawn, asked())],
        Event::Answered(it) => continuing(NoticeKind::QuestionAnswered, &it.workers),
        Event::Defaulted(it) => continuing(NoticeKind::QuestionUnanswered, &it.workers),
        Event::Unanswered(it) => continuing(NoticeKind::QuestionUnanswered, &it.workers),
        Event::Claimed(_) | Event::ClaimRenewed(_) | Event::ClaimLapsed(_) | Event::Finished(_) => {
            Vec::new()
        }
    }
}
