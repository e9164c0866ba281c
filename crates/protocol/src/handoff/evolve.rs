//! The state after an event. Total over the histories that [`super::decide`] can write; any other
//! order means a damaged ledger and is an error.

mod beside;
mod completion;

use std::ops::Deref;

use completion::Remembered;

use super::completion::Shown;
use super::event::{Closed, Drafted, Event, Proposed, ValidationStarted};
use super::package::OfferedWorkState;
use super::state::{
    Approval, Checks, Delegations, Draft, Handoff, Made, Note, Stage, Terms, Validating, Waiting,
};
use super::workq::{Way, Workq};
use crate::handoff::status::Status;
use crate::ids::HandoffId;
use crate::ledger::BadHistory;
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
            approval: approval(proposed),
            revision: 1,
            completions: 0,
            verifier_asked: false,
            shown: None,
            notes: Vec::new(),
            delegations: Delegations::default(),
            workq: Workq::Idle,
            work_state: None,
            progress: None,
            n_reports: 0,
            recall: None,
            differences: proposed.differences.clone(),
        })),
        (Some(Handoff::Made(made)), Event::Countered(countered)) => match made.stage {
            Stage::Rejected { .. } => Ok(Handoff::Made(Made {
                terms: terms(id, &countered.proposed, at).into(),
                stage: Stage::Proposed(Waiting::from(at)),
                approval: approval(&countered.proposed),
                revision: countered.revision,
                completions: made.completions,
                verifier_asked: made.verifier_asked,
                shown: None,
                notes: made.notes,
                // None of them is open, and the terms count them.
                delegations: Delegations::default(),
                workq: made.workq.after_counter(),
                // The new package has it.
                work_state: None,
                progress: None,
                n_reports: made.n_reports,
                recall: None,
                differences: countered.proposed.differences.clone(),
            })),
            Stage::Proposed(_)
            | Stage::Validating(_)
            | Stage::Accepted(_)
            | Stage::Activated(_)
            | Stage::Completing(_)
            | Stage::Completed { .. }
            | Stage::Closed { .. } => Err(BadHistory { event: event.name() }),
        },
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
    if event.is_beside_stage() {
        return beside::evolve(made, event, at).ok_or(bad);
    }
    if let Event::CompletionStarted(started) = event {
        made.verifier_asked |= started.needs_verifier;
    }
    made.stage = match (made.stage, event) {
        (Stage::Proposed(_), Event::ValidationStarted(started)) => validating(started, at),
        (Stage::Validating(before), Event::VerificationUnavailable(_)) => {
            Stage::Validating(Validating { checks: Checks::Unavailable, ..before })
        }
        (Stage::Validating(before), Event::Checked(checked)) => Stage::Validating(Validating {
            checks: Checks::Passed,
            passed: checked.passed.clone(),
            ..before
        }),
        (stage @ (Stage::Proposed(_) | Stage::Validating(_)), Event::Approved(_)) => {
            made.approval = Approval::Given;
            stage
        }
        (stage @ (Stage::Proposed(_) | Stage::Validating(_)), Event::Refused(_)) => stage,
        (Stage::Validating(_), Event::Accepted(_)) => Stage::Accepted(Waiting::from(at)),
        (stage, Event::Rejected(rejected)) if stage.status().is_active() => {
            made.notes.push(Note::Rejection(rejected.clone()));
            made.workq = made.workq.after_rejection();
            Stage::Rejected { reason: rejected.reason, at }
        }
        (stage, Event::Closed(closed)) if stage.status() != Status::Closed => {
            close(&mut made.notes, closed, at, &stage)
        }
        (stage, Event::Escalated(_) | Event::SlaExtended(_) | Event::SlaWarned(_)) => {
            if let Event::Escalated(escalated) = event {
                made.notes.push(Note::Escalation(escalated.clone()));
            }
            if let (Event::SlaExtended(extended), Some(recall)) = (event, &mut made.recall) {
                recall.extend(extended.due);
            }
            with_clock(stage, |waiting| clock(waiting, event)).ok_or(bad)?
        }
        (stage, event) => {
            let mut work = Work {
                has_items: made.terms.has_workq_items,
                delegations: &mut made.delegations,
                workq: &mut made.workq,
                completions: &mut made.completions,
                shown: &mut made.shown,
                state: &mut made.work_state,
            };
            work.evolve(stage, event, at).ok_or(bad)?
        }
    };
    if !made.stage.may_be_recalled() {
        made.recall = None;
    }
    Ok(made)
}

/// The parts of a handoff that events about the work change.
struct Work<'m> {
    has_items: bool,
    delegations: &'m mut Delegations,
    workq: &'m mut Workq,
    completions: &'m mut u32,
    shown: &'m mut Option<Box<Shown>>,
    state: &'m mut Option<Box<OfferedWorkState>>,
}

impl Work<'_> {
    /// The stage after an event about the work, if the event may follow.
    fn evolve(&mut self, stage: Stage, event: &Event, at: Time) -> Option<Stage> {
        match (stage, event) {
            (Stage::Accepted(_), Event::Activated(activated)) => {
                if self.has_items {
                    *self.workq = Workq::Asked(Way::Over);
                }
                self.state.clone_from(&activated.work_state_update);
                Some(Stage::Activated(Waiting::from(at)))
            }
            (stage, Event::WorkqSettled(settled)) if may_have_asked(&stage) => {
                *self.workq = settled.outcome();
                Some(stage)
            }
            (stage, Event::WorkqDegraded(_)) if may_have_asked(&stage) => {
                *self.workq = Workq::Degraded;
                Some(stage)
            }
            (
                stage @ (Stage::Activated(_) | Stage::Completing(_)),
                Event::VerificationUnavailable(_)
                | Event::CompletionStarted(_)
                | Event::CompletionChecked(_)
                | Event::CompletionFailed(_)
                | Event::Confirmed(_)
                | Event::Disputed(_)
                | Event::Completed(_),
            ) => {
                let remembered = Remembered { completions: self.completions, shown: self.shown };
                completion::evolve(stage, event, remembered, at)
            }
            (
                Stage::Activated(waiting),
                Event::Delegated(_)
                | Event::DelegationEnded(_)
                | Event::DelegationReopened(_)
                | Event::DelegationRecalled(_),
            ) => {
                let had_parts = !self.delegations.open.is_empty();
                self.delegations.follow(event);
                let has_parts = !self.delegations.open.is_empty();
                // The owner waits for its parts, or the handoff waits for the owner again.
                let turns = had_parts != has_parts;
                Some(Stage::Activated(if turns { waiting.asking(at) } else { waiting }))
            }
            (_, _) => None,
        }
    }
}

/// The clock of a stage after an event about its limit.
fn clock(before: Waiting, event: &Event) -> Waiting {
    if let Event::SlaExtended(extended) = event {
        if extended.recall_only {
            return before;
        }
        return Waiting { due: Some(extended.due), escalated: false, warned: false, ..before };
    }
    let is_warning = matches!(event, Event::SlaWarned(_));
    let is_escalation = matches!(event, Event::Escalated(_));
    Waiting {
        warned: before.warned || is_warning,
        escalated: before.escalated || is_escalation,
        ..before
    }
}

impl Delegations {
    fn follow(&mut self, event: &Event) {
        if let Event::Delegated(delegated) = event {
            self.count += 1;
            self.open.push(delegated.child);
        }
        if let Event::DelegationEnded(ended) = event {
            self.open.retain(|child| *child != ended.child);
            self.recalled.retain(|child| *child != ended.child);
        }
        if let Event::DelegationReopened(reopened) = event {
            self.open.push(reopened.child);
        }
        if let Event::DelegationRecalled(recalled) = event {
            self.recalled.push(recalled.child);
        }
    }
}

/// Whether the work queue may have been asked about the items.
fn may_have_asked(stage: &Stage) -> bool {
    match stage {
        Stage::Activated(_)
        | Stage::Completing(_)
        | Stage::Completed { .. }
        | Stage::Rejected { .. } => true,
        Stage::Proposed(_) | Stage::Validating(_) | Stage::Accepted(_) | Stage::Closed { .. } => {
            false
        }
    }
}

fn validating(started: &ValidationStarted, at: Time) -> Stage {
    Stage::Validating(Validating {
        waiting: Waiting::from(at),
        checks: Checks::Running,
        passed: Vec::new(),
        artifacts: started.artifacts.clone(),
    })
}

fn close(notes: &mut Vec<Note>, closed: &Closed, at: Time, was: &Stage) -> Stage {
    notes.push(Note::Closure(closed.clone()));
    let was_activated = match was {
        Stage::Activated(_) | Stage::Completing(_) | Stage::Completed { .. } => true,
        Stage::Proposed(_)
        | Stage::Validating(_)
        | Stage::Accepted(_)
        | Stage::Rejected { .. }
        | Stage::Closed { .. } => false,
    };
    Stage::Closed { at, forced: closed.forced, was_activated }
}

/// The stage with its clock changed, if it has one.
fn with_clock(stage: Stage, change: impl Fn(Waiting) -> Waiting) -> Option<Stage> {
    match stage {
        Stage::Proposed(waiting) => Some(Stage::Proposed(change(waiting))),
        Stage::Validating(before) => {
            Some(Stage::Validating(Validating { waiting: change(before.waiting), ..before }))
        }
        Stage::Accepted(waiting) => Some(Stage::Accepted(change(waiting))),
        Stage::Activated(waiting) => Some(Stage::Activated(change(waiting))),
        Stage::Completing(mut completing) => {
            completing.waiting = change(completing.waiting);
            Some(Stage::Completing(completing))
        }
        Stage::Rejected { .. } | Stage::Completed { .. } | Stage::Closed { .. } => None,
    }
}

fn approval(proposed: &Proposed) -> Approval {
    if proposed.needs_human { Approval::Wanted } else { Approval::NotNeeded }
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
        has_artifacts: proposed.has_artifacts,
        has_remote_artifacts: proposed.has_remote_artifacts,
        has_workq_items: proposed.has_workq_items,
        is_guarded: proposed.is_guarded,
        task_kind: proposed.task_kind,
        requires_evidence: proposed.requires_evidence,
        requires_verifier: proposed.requires_verifier,
        deadline: proposed.deadline,
        slas: proposed.slas,
        chain: proposed.chain.clone(),
        parts: proposed.parts,
        origin_session: proposed.origin_session.clone(),
        package_hash: proposed.package_hash.clone(),
        proposed_at: at,
        parent: proposed.parent,
        replaces: proposed.replaces,
        readers: proposed.readers,
        gated: proposed.gated.clone(),
        loosens: proposed.loosens.clone(),
    }
}

/// Replaces an erased text.
pub const ERASED: &str = "[erased]";

/// The handoff without what people wrote. Once part of a record is erased, its snapshot keeps only
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
            made.shown = None;
            made.work_state = None;
            made.progress = None;
            made.differences.clear();
            if let Some(recall) = &mut made.recall {
                recall.reason = erased();
            }
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
