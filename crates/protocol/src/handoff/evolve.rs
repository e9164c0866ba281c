//! What is true after an event. Total over the histories that [`super::decide`] can write; any
//! other order is a damaged ledger, and evolving over it is refused by name.

use std::ops::Deref;

use super::event::{Closed, Drafted, Event, Proposed};
use super::state::{Draft, Handoff, Made, Note, Stage, Terms, Waiting};
use crate::ids::HandoffId;
use crate::step::BadHistory;
use crate::time::Time;

pub fn evolve(
    id: HandoffId,
    state: Option<Handoff>,
    event: &Event,
    at: Time,
) -> Result<Handoff, BadHistory> {
    match (state, event) {
        (None, Event::Drafted(drafted)) => Ok(Handoff::Draft(draft(id, drafted, at))),
        (Some(Handoff::Draft(before)), Event::Drafted(drafted)) => {
            Ok(Handoff::Draft(Draft { drafted_at: before.drafted_at, ..draft(id, drafted, at) }))
        }
        (None | Some(Handoff::Draft(_)), Event::Proposed(proposed)) => Ok(Handoff::Made(Made {
            terms: terms(id, proposed, at).into(),
            stage: Stage::Proposed(Waiting::from(at)),
            notes: Vec::new(),
        })),
        (Some(Handoff::Draft(draft)), Event::Closed(closed)) => {
            Ok(Handoff::Discarded { draft, closed: closed.clone() })
        }
        (Some(Handoff::Made(made)), event) => evolve_made(made, event, at).map(Handoff::Made),
        (None | Some(Handoff::Draft(_) | Handoff::Discarded { .. }), event) => {
            Err(BadHistory { event: event.name() })
        }
    }
}

fn evolve_made(mut made: Made, event: &Event, at: Time) -> Result<Made, BadHistory> {
    let bad = BadHistory { event: event.name() };
    made.stage = match (made.stage, event) {
        (Stage::Proposed(_), Event::ValidationStarted(_)) => Stage::Validating(Waiting::from(at)),
        (Stage::Validating(_), Event::Accepted(_)) => Stage::Accepted(Waiting::from(at)),
        (
            Stage::Proposed(_) | Stage::Validating(_) | Stage::Accepted(_) | Stage::Activated(_),
            Event::Rejected(rejected),
        ) => {
            made.notes.push(Note::Rejection(rejected.clone()));
            Stage::Rejected { reason: rejected.reason, at }
        }
        (Stage::Accepted(_), Event::Activated(_)) => Stage::Activated(Waiting::from(at)),
        (Stage::Activated(_), Event::Completed(_)) => Stage::Completed { at },
        (Stage::Activated(_) | Stage::Completed { .. }, Event::Closed(closed)) => {
            close(&mut made.notes, closed, at, WasActivated::Yes)
        }
        (
            Stage::Proposed(_) | Stage::Validating(_) | Stage::Accepted(_) | Stage::Rejected { .. },
            Event::Closed(closed),
        ) => close(&mut made.notes, closed, at, WasActivated::No),
        (stage, Event::Escalated(escalated)) => {
            made.notes.push(Note::Escalation(escalated.clone()));
            escalate(stage).ok_or(bad)?
        }
        (_, _) => return Err(bad),
    };
    Ok(made)
}

enum WasActivated {
    Yes,
    No,
}

fn close(notes: &mut Vec<Note>, closed: &Closed, at: Time, was: WasActivated) -> Stage {
    notes.push(Note::Closure(closed.clone()));
    let was_activated = match was {
        WasActivated::Yes => true,
        WasActivated::No => false,
    };
    Stage::Closed { at, forced: closed.forced, was_activated }
}

fn escalate(stage: Stage) -> Option<Stage> {
    let escalated = |waiting: Waiting| Waiting { escalated: true, ..waiting };
    match stage {
        Stage::Proposed(waiting) => Some(Stage::Proposed(escalated(waiting))),
        Stage::Validating(waiting) => Some(Stage::Validating(escalated(waiting))),
        Stage::Accepted(waiting) => Some(Stage::Accepted(escalated(waiting))),
        Stage::Activated(waiting) => Some(Stage::Activated(escalated(waiting))),
        Stage::Rejected { .. } | Stage::Completed { .. } | Stage::Closed { .. } => None,
    }
}

fn draft(id: HandoffId, drafted: &Drafted, at: Time) -> Draft {
    Draft {
        id,
        from: drafted.from.clone(),
        thread_id: drafted.thread_id.clone(),
        drafted_at: at,
        offer_hash: drafted.offer_hash.clone(),
        to: drafted.to.clone(),
        task_id: drafted.task_id.clone(),
        title: drafted.title.clone(),
    }
}

fn terms(id: HandoffId, proposed: &Proposed, at: Time) -> Terms {
    Terms {
        id,
        thread_id: proposed.thread_id.clone(),
        task_id: proposed.task_id.clone(),
        from: proposed.parties.from.clone(),
        to: proposed.parties.to.clone(),
        title: proposed.title.clone(),
        reason: proposed.reason.clone(),
        is_return: proposed.is_return,
        needs_human: proposed.needs_human,
        target_is_human: proposed.target_is_human,
        deadline: proposed.deadline,
        chain: proposed.chain.clone(),
        origin_session: proposed.origin_session.clone(),
        package_hash: proposed.package_hash.clone(),
        proposed_at: at,
    }
}

/// What stands where a text was erased.
pub const ERASED: &str = "[erased]";

/// The handoff without what people wrote. Once part of a record is erased its snapshot keeps only
/// what the chain of owners needs: ids, names and times.
pub fn without_texts(handoff: Handoff) -> Handoff {
    let erased = || ERASED.to_owned();
    match handoff {
        Handoff::Draft(draft) => {
            Handoff::Draft(Draft { title: draft.title.map(|_| erased()), ..draft })
        }
        Handoff::Discarded { draft, closed } => Handoff::Discarded {
            draft: Draft { title: draft.title.map(|_| erased()), ..draft },
            closed: Closed { closure_notes: closed.closure_notes.map(|_| erased()), ..closed },
        },
        Handoff::Made(mut made) => {
            let terms = made.terms.deref().clone();
            made.terms = Terms { title: erased(), reason: String::new(), ..terms }.into();
            for note in &mut made.notes {
                match note {
                    Note::Rejection(rejected) => {
                        rejected.detail = erased();
                        rejected.suggested_fix = rejected.suggested_fix.take().map(|_| erased());
                    }
                    Note::Closure(closed) => {
                        closed.closure_notes = closed.closure_notes.take().map(|_| erased());
                    }
                    Note::Escalation(_) => {}
                }
            }
            Handoff::Made(made)
        }
    }
}
