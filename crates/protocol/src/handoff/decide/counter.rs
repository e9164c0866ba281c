//! `counter`: after a rejection the sender proposes again, with a changed package: the same
//! handoff, the same task and the same target. The one way back from `rejected`.

use super::initiate::{Known, propose};
use super::{Context, Decision, existing};
use crate::handoff::derive::{self, Task};
use crate::handoff::event::{Countered, Event};
use crate::handoff::gate::read_package;
use crate::handoff::package::{Offer, Package, changes};
use crate::handoff::state::{Handoff, Made, Stage};
use crate::ids::HandoffId;
use crate::rejection::{Conflict, Rejection};

/// A negotiation that takes more rounds needs a person, not another round.
pub const REVISIONS_MAX: u32 = 16;

pub fn decide(
    id: HandoffId,
    state: Option<&Handoff>,
    offer: &Offer,
    context: Context<'_>,
) -> Result<Decision, Rejection> {
    let made = rejected(state, context)?;
    let before = read_package(context.facts.document.as_deref());
    let offer = changed(offer, made, before.as_ref())?;
    if made.terms.parent.is_some() {
        check_stays_narrow(&offer, made, before.as_ref())?;
    }
    let known = known(id, made, context)?;
    let (proposed, document) = propose(id, &made.terms.from, &offer, known, context)?;
    let after = read_package(Some(&document.text));
    let changes = match (&before, &after) {
        (Some(before), Some(after)) => changes(before, after),
        (_, _) => Vec::new(),
    };
    if before.is_some() && changes.is_empty() {
        return Err(Rejection::SchemaInvalid {
            field: "body".to_owned(),
            expected: "a package that differs from the one that was rejected".to_owned(),
        });
    }
    let revision = made.revision + 1;
    Ok(Decision {
        events: vec![Event::Countered(Box::new(Countered { revision, changes, proposed }))],
        document: Some(document),
        ..Decision::default()
    })
}

/// The handoff, if it was rejected and the caller may propose it again.
fn rejected<'a>(state: Option<&'a Handoff>, context: Context<'_>) -> Result<&'a Made, Rejection> {
    let handoff = existing(state)?;
    if context.caller.agent() != Some(handoff.from()) {
        return Err(Rejection::NotAllowed { action: "counter", who: "the sender" });
    }
    let wrong_state =
        |needed| Rejection::WrongState { action: "counter", state: handoff.status(), needed };
    let Handoff::Made(made) = handoff else { return Err(wrong_state("a rejected one")) };
    match made.stage {
        Stage::Rejected { .. } if made.revision < REVISIONS_MAX => Ok(made),
        Stage::Rejected { .. } => Err(wrong_state("fewer rounds; close it and start anew")),
        Stage::Proposed(_)
        | Stage::Validating(_)
        | Stage::Accepted(_)
        | Stage::Activated(_)
        | Stage::Completing(_)
        | Stage::Completed { .. }
        | Stage::Closed { .. } => Err(wrong_state("a rejected one")),
    }
}

/// A delegated part stays as tightly bound as it was, and so as the whole.
fn check_stays_narrow(
    offer: &Offer,
    made: &Made,
    before: Option<&Package>,
) -> Result<(), Rejection> {
    let before = before.ok_or(Rejection::NotFound { what: "package content" })?;
    let policy = offer.policy.clone().unwrap_or_default();
    policy.check_narrows(&before.policy).map_err(|detail| Rejection::PolicyViolation { detail })?;
    let deadline = offer.deadline.or(offer.task.as_ref().and_then(|task| task.deadline));
    match (deadline, made.terms.deadline) {
        (Some(given), Some(agreed)) if given > agreed => Err(Rejection::SchemaInvalid {
            field: "deadline".to_owned(),
            expected: format!("at most {agreed}, as it was"),
        }),
        (None, Some(agreed)) => Err(Rejection::SchemaInvalid {
            field: "deadline".to_owned(),
            expected: format!("a deadline, at most {agreed}"),
        }),
        (Some(_) | None, _) => Ok(()),
    }
}

/// The whole offer: what the sender does not mention stays as it was.
fn changed(offer: &Offer, made: &Made, before: Option<&Package>) -> Result<Offer, Rejection> {
    let same = |field: &str| {
        Err(Rejection::SchemaInvalid {
            field: field.to_owned(),
            expected: "to stay as it was; a counter-offer changes the package only".to_owned(),
        })
    };
    if offer.to_agent.as_ref().is_some_and(|to| *to != made.terms.to) {
        return same("to_agent");
    }
    let task = offer.task.as_ref();
    if task.and_then(|task| task.task_id.as_ref()).is_some_and(|id| *id != made.terms.task_id) {
        return same("task.task_id");
    }
    let mut offer = offer.clone();
    offer.to_agent = Some(made.terms.to.clone());
    offer.is_return = made.terms.is_return;
    offer.task.get_or_insert_default().task_id = Some(made.terms.task_id.clone());
    if let Some(before) = before {
        fill_in(&mut offer, before);
    }
    Ok(offer)
}

/// The task may have moved on meanwhile; then it is no longer the sender's to offer.
fn known(id: HandoffId, made: &Made, context: Context<'_>) -> Result<Known, Rejection> {
    let hold = &context.facts.hold;
    if let Some(holder) = hold.holder.as_deref().and_then(|id| id.parse::<HandoffId>().ok())
        && holder != id
    {
        let task_id = made.terms.task_id.clone();
        let conflict = Conflict::Active { handoff: holder };
        return Err(Rejection::OwnershipConflict { task_id, conflict });
    }
    let task = match &hold.value {
        Some(_) => None,
        None => {
            let (chain, kind) = (made.terms.chain.clone(), made.terms.task_kind);
            Some(Task { chain, kind, parts: derive::parts(made) })
        }
    };
    Ok(Known {
        thread_id: Some(made.terms.thread_id.clone()),
        task,
        slas: Some(made.terms.slas),
        parent: made.terms.parent,
        replaces: made.terms.replaces,
    })
}

fn fill_in(offer: &mut Offer, before: &Package) {
    if offer.artifacts.is_empty() {
        offer.artifacts = before.artifacts.clone();
    }
    offer.policy.get_or_insert_with(|| before.policy.clone());
    let old_task = &before.task;
    let task = offer.task.get_or_insert_default();
    task.title = task.title.take().or_else(|| old_task.title.clone());
    task.objective = task.objective.take().or_else(|| old_task.objective.clone());
    if task.success_criteria.is_empty() {
        task.success_criteria = old_task.success_criteria.clone();
    }
    if task.external_refs.is_empty() {
        task.external_refs = old_task.external_refs.clone();
    }
    if offer.deadline.is_none() && task.deadline.is_none() {
        task.deadline = old_task.deadline;
    }
    let context = offer.context.get_or_insert_default();
    context.summary = context.summary.take().or_else(|| before.context.summary.clone());
    let lists = [
        (&mut context.assumptions, &before.context.assumptions),
        (&mut context.constraints, &before.context.constraints),
        (&mut context.known_risks, &before.context.known_risks),
        (&mut context.open_questions, &before.context.open_questions),
    ];
    for (list, old) in lists {
        if list.is_empty() {
            list.clone_from(old);
        }
    }
    let old = &before.work_state;
    let work = offer.work_state.get_or_insert_with(|| old.clone());
    work.status = work.status.or(old.status);
    work.percent_complete = work.percent_complete.or(old.percent_complete);
    work.test_status = work.test_status.or(old.test_status);
    let texts = [
        (&mut work.next_step, &old.next_step),
        (&mut work.branch, &old.branch),
        (&mut work.worktree_path, &old.worktree_path),
    ];
    for (text, old) in texts {
        *text = text.take().or_else(|| old.clone());
    }
    if work.completed_steps.is_empty() {
        work.completed_steps.clone_from(&old.completed_steps);
    }
}
