//! `confirm` and `dispute`: a verifier, who is not the owner, says whether the work is done, if
//! that is required. Confirming completes the handoff; disputing leaves the work with its owner,
//! who may report it again.

use super::shared::{Decision, existing, parties};
use crate::caller::{Caller, Principal, Role};
use crate::facts::Context;
use crate::handoff::event::{Completed, Confirmed, Disputed, Event};
use crate::handoff::state::{Checks, Completing, Handoff, Made, Stage};
use crate::hidden::is_blank;
use crate::notes::check_text;
use crate::rejection::Rejection;

pub fn confirm(
    state: Option<&Handoff>,
    why: Option<&str>,
    context: Context<'_>,
) -> Result<Decision, Rejection> {
    let (made, completing) = awaiting(state, context, "confirm")?;
    let why = check_text("why", why)?;
    let confirmed = Event::Confirmed(Confirmed { parties: parties(made), why });
    let by = context.caller.principal.to_string();
    Ok(Decision::events([confirmed, completed(made, completing, Some(by))]))
}

pub fn dispute(
    state: Option<&Handoff>,
    why: &str,
    context: Context<'_>,
) -> Result<Decision, Rejection> {
    let (made, _) = awaiting(state, context, "dispute")?;
    if is_blank(why) {
        return Err(Rejection::SchemaInvalid {
            field: "why".to_owned(),
            expected: "a reason that the owner can act on".to_owned(),
        });
    }
    let why = check_text("why", Some(why))?.unwrap_or_default();
    Ok(Decision::event(Event::Disputed(Disputed { parties: parties(made), why })))
}

/// The event that ends a completion.
pub fn completed(made: &Made, completing: &Completing, confirmed_by: Option<String>) -> Event {
    Event::Completed(Completed {
        parties: parties(made),
        completion_notes: completing.completion.notes.clone(),
        final_artifacts: completing.completion.final_artifacts.clone(),
        evidence: completing.completion.evidence.clone(),
        passed: completing.passed.clone(),
        confirmed_by,
    })
}

/// The handoff, if its completion waits for a verifier and the caller may be that verifier.
fn awaiting<'a>(
    state: Option<&'a Handoff>,
    context: Context<'_>,
    action: &'static str,
) -> Result<(&'a Made, &'a Completing), Rejection> {
    let handoff = existing(state)?;
    let agent = context.caller.agent();
    if agent.is_some() && agent == handoff.to() {
        return Err(Rejection::NotAllowed { action, who: "somebody other than the owner" });
    }
    let is_sender = agent == Some(handoff.from());
    if !is_sender && !context.caller.is_coordinator() && !is_reviewer(context.caller) {
        let who = "the sender, a coordinator or a reviewer";
        return Err(Rejection::NotAllowed { action, who });
    }
    let wrong_state = Rejection::WrongState {
        action,
        state: handoff.status(),
        needed: "one whose completion waits to be confirmed",
    };
    let Handoff::Made(made) = handoff else { return Err(wrong_state) };
    let Stage::Completing(completing) = &made.stage else { return Err(wrong_state) };
    match completing.checks {
        Checks::Passed => Ok((made, completing)),
        Checks::Running | Checks::Unavailable => Err(wrong_state),
    }
}

fn is_reviewer(caller: &Caller) -> bool {
    match caller.principal {
        Principal::Agent(_) => caller.roles.contains(&Role::Reviewer),
        Principal::Operator(_) | Principal::Customer(_) | Principal::System => false,
    }
}
