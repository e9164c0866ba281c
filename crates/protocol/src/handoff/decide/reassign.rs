//! `reassign`: a coordinator closes a handoff that makes no progress and hands the task to another
//! agent, with the same package. Both happen or neither does.

use super::delegate::check_no_parts;
use super::shared::{Decision, existing, latest};
use crate::facts::Context;
use crate::handoff::command::{Command, Follow, Reassign};
use crate::handoff::derive;
use crate::handoff::edit::offer_of;
use crate::handoff::event::{Closed, Event};
use crate::handoff::gate::read_package;
use crate::handoff::state::{Handoff, Made, Stage};
use crate::hidden::is_blank;
use crate::notes::check_text;
use crate::rejection::Rejection;
use crate::roles::{self, RoleAction};
use crate::time::Time;

pub fn decide(
    state: Option<&Handoff>,
    reassign: &Reassign,
    context: Context<'_>,
) -> Result<Decision, Rejection> {
    let handoff = existing(state)?;
    if !context.caller.is_coordinator() {
        return Err(Rejection::NotAllowed {
            action: "reassign",
            who: "a coordinator or an operator",
        });
    }
    let made = under_way(handoff)?;
    if made.terms.is_guarded {
        roles::check(context.caller, RoleAction::CloseGuarded, "reassign")?;
    }
    check_no_parts(made, "reassign")?;
    if is_blank(&reassign.why) {
        return Err(Rejection::SchemaInvalid {
            field: "why".to_owned(),
            expected: "why another agent should do it".to_owned(),
        });
    }
    let why = check_text("why", Some(&reassign.why))?;
    let follow = follow(made, reassign, context)?;
    let closed = Closed {
        from: made.terms.from.clone(),
        to: Some(made.terms.to.clone()),
        from_status: made.stage.status(),
        closure_notes: why,
        forced: true,
        withdrawn: false,
        reassigned_to: Some(reassign.successor),
        at: context.now,
    };
    let begin = Command::Follow(Box::new(follow));
    Ok(Decision::event(Event::Closed(closed)).then(reassign.successor, begin))
}

fn under_way(handoff: &Handoff) -> Result<&Made, Rejection> {
    let wrong_state = Rejection::WrongState {
        action: "reassign",
        state: handoff.status(),
        needed: "one that is proposed, validating, accepted or activated",
    };
    let Handoff::Made(made) = handoff else { return Err(wrong_state) };
    match made.stage {
        Stage::Proposed(_)
        | Stage::Validating(_)
        | Stage::Accepted(_)
        | Stage::Activated(_)
        | Stage::Completing(_) => Ok(made),
        Stage::Rejected { .. } | Stage::Completed { .. } | Stage::Closed { .. } => Err(wrong_state),
    }
}

/// The handoff that replaces this one: from the current owner of the task. The owner of a whole
/// stays the sender of its parts, so that it alone takes them back.
fn follow(made: &Made, reassign: &Reassign, context: Context<'_>) -> Result<Follow, Rejection> {
    let terms = &made.terms;
    let gone = Rejection::NotFound { what: "package content" };
    let package = read_package(context.facts.document.as_deref()).ok_or(gone)?;
    let owner = match made.stage {
        Stage::Activated(_) | Stage::Completing(_) => &terms.to,
        Stage::Proposed(_)
        | Stage::Validating(_)
        | Stage::Accepted(_)
        | Stage::Rejected { .. }
        | Stage::Completed { .. }
        | Stage::Closed { .. } => &terms.from,
    };
    let from = if terms.parent.is_none() { owner } else { &terms.from };
    let chain = derive::owners(made);
    let place = chain.iter().position(|entry| entry == owner);
    let previous = place.and_then(|place| place.checked_sub(1)).map(|index| &chain[index]);
    let is_return = previous == Some(&reassign.to);
    let mut offer = offer_of(package);
    if let Some(task) = &mut offer.task {
        task.deadline = deadline(made, reassign, context.now)?;
    }
    offer.to_agent = Some(reassign.to.clone());
    offer.is_return = is_return;
    offer.reason.clone_from(&reassign.why);
    offer.work_state = latest(made, offer.work_state);
    if let Some(work_state) = &reassign.work_state {
        offer.work_state = Some(work_state.clone().or(offer.work_state.unwrap_or_default()));
    }
    Ok(Follow {
        from: from.clone(),
        offer,
        chain,
        kind: terms.task_kind,
        slas: Some(terms.slas),
        parent: terms.parent,
        replaces: Some(terms.id),
        agreed: derive::unapproved(made).cloned(),
    })
}

/// The deadline of the task outlives the handoff. If it has passed, the caller must give a new one.
fn deadline(made: &Made, reassign: &Reassign, now: Time) -> Result<Option<Time>, Rejection> {
    match (reassign.deadline, made.terms.deadline) {
        (None, Some(old)) if old <= now => Err(Rejection::SchemaInvalid {
            field: "deadline".to_owned(),
            expected: format!("a new deadline, because the old one, {old}, has passed"),
        }),
        (Some(given), _) if given <= now => Err(Rejection::SchemaInvalid {
            field: "deadline".to_owned(),
            expected: "a time in the future".to_owned(),
        }),
        (Some(given), _) => Ok(Some(given)),
        (None, old) => Ok(old),
    }
}
