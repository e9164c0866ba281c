//! `counter`: after a rejection the sender proposes again, with a changed package: the same
//! handoff, the same task and the same target. It is the only way back from `rejected`.
//!
//! Fields that the sender does not mention stay. A policy that is laxer than the one before needs a
//! human's approval, whatever it says itself.

use super::delegate::check_part;
use super::initiate::{EarlierTerms, propose};
use super::shared::{Decision, existing, latest};
use crate::facts::Context;
use crate::handoff::derive::{self, Task};
use crate::handoff::edit::{Difference, Edit, OfferEdit, differences, offer_of};
use crate::handoff::event::{Countered, Event, Proposed};
use crate::handoff::gate::read_package;
use crate::handoff::package::{Offer, Package};
use crate::handoff::sla::Slas;
use crate::handoff::state::{Handoff, Made, REVISIONS_MAX, Stage};
use crate::ids::HandoffId;
use crate::rejection::{Conflict, Rejection};
use serde_json::{Value, json};

pub fn decide(
    id: HandoffId,
    state: Option<&Handoff>,
    edit: &OfferEdit,
    context: Context<'_>,
) -> Result<Decision, Rejection> {
    let made = rejected(state, context)?;
    let before = read_package(context.facts.document.as_deref());
    let offer = merged(edit, made, before.as_ref())?;
    if made.terms.parent.is_some() {
        check_stays_narrow(&offer, made, before.as_ref())?;
    }
    let mut known = known(id, made, before.as_ref(), context)?;
    if edit.sla == Edit::Clear {
        known.slas = None;
    }
    let (mut proposed, document) = propose(id, &made.terms.from, &offer, known, context)?;
    let after = read_package(Some(&document.text));
    let mut changed = Vec::new();
    if let (Some(before), Some(after)) = (&before, &after) {
        changed = differences(before, after);
        changed.extend(terms_differences(made, &proposed));
        if changed.is_empty() {
            return Err(Rejection::SchemaInvalid {
                field: "body".to_owned(),
                expected: "an offer that differs from the one that was rejected".to_owned(),
            });
        }
    }
    let changes = changed.iter().map(|one| one.field.clone()).collect();
    // Fields that are laxer than what was agreed on stay listed until a human approves them,
    // whichever round introduced them.
    let loosened = |one: &Difference| proposed.differences.iter().any(|it| it.field == one.field);
    changed.retain(|one| !loosened(one));
    proposed.differences.append(&mut changed);
    let revision = made.revision + 1;
    Ok(Decision {
        events: vec![Event::Countered(Box::new(Countered { revision, changes, proposed }))],
        document: Some(document),
        ..Decision::default()
    })
}

/// The differences outside of the package: the reason, and how long each stage may take.
fn terms_differences(made: &Made, proposed: &Proposed) -> Vec<Difference> {
    let value = |slas: Slas, reason: &str| {
        let reason = Some(reason).filter(|reason| !reason.is_empty());
        json!({ "reason": reason, "sla": slas })
    };
    let before = value(made.terms.slas.in_full(), &made.terms.reason);
    let after = value(proposed.slas.in_full(), &proposed.reason);
    let given = |value: &Value| Some(value).filter(|value| !value.is_null()).cloned();
    let fields = ["proposed", "validating", "accepted", "activated", "warn_percent"];
    let places = fields.map(|name| (format!("sla.{name}"), format!("/sla/{name}")));
    let places = places.into_iter().chain([("reason".to_owned(), "/reason".to_owned())]);
    let difference = |(field, place): (String, String)| {
        let at = |value: &Value| value.pointer(&place).and_then(given);
        Difference { field, before: at(&before), after: at(&after) }
    };
    places.map(difference).filter(|it| it.before != it.after).collect()
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

/// A delegated part stays at least as strict as it was, and so as the whole.
fn check_stays_narrow(
    offer: &Offer,
    made: &Made,
    before: Option<&Package>,
) -> Result<(), Rejection> {
    let before = before.ok_or(Rejection::NotFound { what: "package content" })?;
    check_part(&offer.policy.clone().unwrap_or_default(), &before.policy)?;
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

/// The whole offer: fields that the sender does not mention stay as they were.
fn merged(edit: &OfferEdit, made: &Made, before: Option<&Package>) -> Result<Offer, Rejection> {
    let terms = &made.terms;
    let mut offer = before.cloned().map(offer_of).unwrap_or_default();
    offer.to_agent = Some(terms.to.clone());
    offer.thread_id = Some(terms.thread_id.clone());
    offer.is_return = terms.is_return;
    offer.reason.clone_from(&terms.reason);
    offer.task.get_or_insert_default().task_id = Some(terms.task_id.clone());
    offer.work_state = latest(made, offer.work_state);
    if before.is_none() {
        offer.policy = terms.gated.as_deref().cloned();
    }
    if edit.sla != Edit::Stay {
        // Each limit as it was agreed on, even if the teamspace's limits have changed.
        offer.sla = Some(terms.slas.in_full());
    }
    let mut offer = edit.clone().applied_to(offer);
    // A policy that was cleared is the default one, not the one that the task had.
    offer.policy.get_or_insert_default();
    let task_id = offer.task.as_ref().and_then(|task| task.task_id.as_ref());
    let same = [
        ("to_agent", offer.to_agent.as_ref() == Some(&terms.to)),
        ("task.task_id", task_id == Some(&terms.task_id)),
        ("thread_id", offer.thread_id.as_ref() == Some(&terms.thread_id)),
        ("return", offer.is_return == terms.is_return),
    ];
    match same.into_iter().find(|(_, is_same)| !is_same) {
        Some((field, _)) => Err(Rejection::SchemaInvalid {
            field: field.to_owned(),
            expected: "to stay as it was; a counter-offer is for the same task and target"
                .to_owned(),
        }),
        None => Ok(offer),
    }
}

/// The task may have changed hands meanwhile; then the sender may no longer offer it.
fn known(
    id: HandoffId,
    made: &Made,
    before: Option<&Package>,
    context: Context<'_>,
) -> Result<EarlierTerms, Rejection> {
    let hold = context.facts.holds.get(&derive::task_key(&made.terms.task_id));
    if let Some(holder) = hold.holder.as_deref().and_then(|id| id.parse::<HandoffId>().ok())
        && holder != id
    {
        let task_id = made.terms.task_id.clone();
        let conflict = Conflict::Active { handoff: holder };
        return Err(Rejection::OwnershipConflict { task_id, conflict });
    }
    let task = match &hold.value {
        Some(_) => None,
        None => Some(Task { chain: made.terms.chain.clone(), ..derive::task(made) }),
    };
    let agreed = derive::unapproved(made).or(before.map(|before| &before.policy));
    Ok(EarlierTerms {
        thread_id: Some(made.terms.thread_id.clone()),
        task,
        slas: Some(made.terms.slas),
        parent: made.terms.parent,
        replaces: made.terms.replaces,
        agreed: agreed.cloned(),
    })
}
