//! `delegate`: the owner hands on a part of the task, as a handoff of its own. The owner stays
//! responsible for the whole and cannot complete it before every part has ended.

use super::shared::{Decision, as_target, parties};
use crate::facts::Context;
use crate::handoff::command::{Child, Command, Follow};
use crate::handoff::derive;
use crate::handoff::edit::{self, PolicyEdit};
use crate::handoff::event::{
    Delegated, DelegationEnded, DelegationRecalled, DelegationReopened, Event,
};
use crate::handoff::gate::read_package;
use crate::handoff::package::{Offer, Policy};
use crate::handoff::state::{Handoff, Made, Stage, Terms};
use crate::handoff::status::Status;
use crate::ids::{HandoffId, TaskId};
use crate::rejection::{PARTS_AT_AN_END, Rejection};

pub fn decide(
    child: HandoffId,
    state: Option<&Handoff>,
    offer: &Offer<PolicyEdit>,
    context: Context<'_>,
) -> Result<Decision, Rejection> {
    let made = as_target(state, context, "delegate")?;
    check_active(made, "delegate")?;
    check_has_room(made, "delegate", made.stage.status())?;
    check_not_recalled(made)?;
    let mut offer = narrowed(offer.clone(), &made.terms, context)?;
    let child_task = name_part(&mut offer, made)?;
    let child_to = offer.to_agent.clone().ok_or_else(|| Rejection::SchemaInvalid {
        field: "to_agent".to_owned(),
        expected: "an agent id, but it is missing".to_owned(),
    })?;
    let follow = Follow {
        from: made.terms.to.clone(),
        offer,
        chain: derive::owners(made),
        kind: made.terms.task_kind,
        slas: None,
        parent: Some(made.terms.id),
        replaces: None,
        agreed: None,
    };
    let delegated = Delegated { parties: parties(made), child, child_task, child_to };
    Ok(Decision::event(Event::Delegated(delegated)).then(child, Command::Follow(Box::new(follow))))
}

/// What the parent records about a part.
pub fn child(state: Option<&Handoff>, child: &Child) -> Result<Decision, Rejection> {
    let Some(Handoff::Made(made)) = state else { return Ok(Decision::default()) };
    let ended = |child, status| {
        Event::DelegationEnded(DelegationEnded { parties: parties(made), child, status })
    };
    // A parent that has ended waits for nothing.
    let waits_for =
        |child| matches!(made.stage, Stage::Activated(_)) && made.delegations.open.contains(child);
    match child {
        Child::Reopened { child } => {
            check_may_reopen(made)?;
            check_has_room(made, "counter", Status::Rejected)?;
            let reopened = DelegationReopened { parties: parties(made), child: *child };
            Ok(Decision::event(Event::DelegationReopened(reopened)))
        }
        Child::Recalled { child } if waits_for(child) => {
            let recalled = DelegationRecalled { parties: parties(made), child: *child };
            Ok(Decision::event(Event::DelegationRecalled(recalled)))
        }
        Child::Ended { child, status } if waits_for(child) => {
            Ok(Decision::event(ended(*child, *status)))
        }
        Child::Replaced { child, status, by, task_id, to } if waits_for(child) => {
            let delegated = Delegated {
                parties: parties(made),
                child: *by,
                child_task: task_id.clone(),
                child_to: to.clone(),
            };
            Ok(Decision::events([ended(*child, *status), Event::Delegated(delegated)]))
        }
        Child::Recalled { .. } | Child::Ended { .. } | Child::Replaced { .. } => {
            Ok(Decision::default())
        }
    }
}

/// Refuses an action that would leave open parts without a parent.
pub fn check_no_parts(made: &Made, action: &'static str) -> Result<(), Rejection> {
    if made.delegations.open.is_empty() {
        return Ok(());
    }
    let state = made.stage.status();
    Err(Rejection::WrongState { action, state, needed: PARTS_AT_AN_END })
}

/// `state` is that of the handoff that the caller acts on: the whole, or a rejected part.
fn check_has_room(whole: &Made, action: &'static str, state: Status) -> Result<(), Rejection> {
    if derive::has_room_for_a_part(whole) {
        return Ok(());
    }
    Err(Rejection::WrongState { action, state, needed: "fewer parts of the whole under way" })
}

/// A new part would keep the owner from giving the task back.
fn check_not_recalled(made: &Made) -> Result<(), Rejection> {
    if made.recall.is_none() {
        return Ok(());
    }
    let state = made.stage.status();
    let needed = "one whose sender does not ask for it back";
    Err(Rejection::WrongState { action: "delegate", state, needed })
}

fn check_may_reopen(whole: &Made) -> Result<(), Rejection> {
    if derive::takes_parts(whole) {
        return Ok(());
    }
    // The caller counters the part, so the state is that of the part.
    let needed = "the whole to be activated and not asked back";
    Err(Rejection::WrongState { action: "counter", state: Status::Rejected, needed })
}

fn check_active(made: &Made, action: &'static str) -> Result<(), Rejection> {
    match made.stage {
        Stage::Activated(_) => Ok(()),
        Stage::Proposed(_)
        | Stage::Validating(_)
        | Stage::Accepted(_)
        | Stage::Completing(_)
        | Stage::Rejected { .. }
        | Stage::Completed { .. }
        | Stage::Closed { .. } => Err(Rejection::WrongState {
            action,
            state: made.stage.status(),
            needed: "it to be activated first",
        }),
    }
}

/// The part's own task: as given, or numbered after the whole.
fn name_part(offer: &mut Offer, made: &Made) -> Result<TaskId, Rejection> {
    let whole = &made.terms.task_id;
    let invalid = |expected: &str| Rejection::SchemaInvalid {
        field: "task.task_id".to_owned(),
        expected: expected.to_owned(),
    };
    let task = offer.task.get_or_insert_default();
    let task_id = match task.task_id.take() {
        Some(given) if given == *whole => return Err(invalid("another id than the whole task's")),
        Some(given) => given,
        None => format!("{whole}.{}", derive::parts(made).saturating_add(1))
            .parse()
            .map_err(|_| invalid("an id, because one made from the whole task's is too long"))?,
    };
    task.task_id = Some(task_id.clone());
    Ok(task_id)
}

/// A part may be stricter than the whole, never laxer.
pub fn check_part(part: &Policy, whole: &Policy) -> Result<(), Rejection> {
    part.check_narrows(whole).map_err(|field| Rejection::PolicyViolation {
        field: format!("policy.{field}"),
        rule: "a delegated part may be bound more tightly than the whole, never less".to_owned(),
    })
}

/// The offer of the part, with the whole's policy where it states no other.
fn narrowed(
    offer: Offer<PolicyEdit>,
    terms: &Terms,
    context: Context<'_>,
) -> Result<Offer, Rejection> {
    let gone = Rejection::NotFound { what: "package content" };
    let whole = read_package(context.facts.document.as_deref()).ok_or(gone)?;
    let mut offer = edit::with_policy_of(offer, whole.policy.clone());
    if let Some(policy) = &offer.policy {
        check_part(policy, &whole.policy)?;
    }
    let given = offer.deadline.or(offer.task.as_ref().and_then(|task| task.deadline));
    match (given, terms.deadline) {
        (Some(given), Some(whole)) if given > whole => {
            return Err(Rejection::SchemaInvalid {
                field: "deadline".to_owned(),
                expected: format!("at most {whole}, the deadline of the whole task"),
            });
        }
        (None, Some(whole)) => offer.deadline = Some(whole),
        (Some(_) | None, _) => {}
    }
    Ok(offer)
}
