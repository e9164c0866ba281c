//! `extend_sla`: a coordinator gives the running stage more time, and the recall too if there is
//! one. Each limit that ends before the new time moves there; none is ever shortened. A stage or
//! recall that was overdue can be overdue again.

use super::shared::{Decision, existing, parties};
use crate::facts::Context;
use crate::handoff::derive;
use crate::handoff::event::{Event, SlaExtended};
use crate::handoff::state::Handoff;
use crate::hidden::is_blank;
use crate::notes::check_text;
use crate::rejection::Rejection;
use crate::time::{Span, Time};

/// For more time than this, another handoff is better.
pub const EXTENSION_MAX: Span = Span::from_hours(24 * 365);

pub fn decide(
    state: Option<&Handoff>,
    due: Time,
    why: &str,
    context: Context<'_>,
) -> Result<Decision, Rejection> {
    let handoff = existing(state)?;
    if !context.caller.is_coordinator() {
        return Err(Rejection::NotAllowed {
            action: "extend the deadlines",
            who: "a coordinator or an operator",
        });
    }
    let wrong_state = Rejection::WrongState {
        action: "extend_sla",
        state: handoff.status(),
        needed: "one with a deadline running",
    };
    let Handoff::Made(made) = handoff else { return Err(wrong_state) };
    let Some((stage, waiting)) = derive::clocked(&made.stage) else { return Err(wrong_state) };
    if due <= context.now || due > context.now.plus(EXTENSION_MAX) {
        return Err(Rejection::SchemaInvalid {
            field: "due".to_owned(),
            expected: "a time in the future, within a year".to_owned(),
        });
    }
    if is_blank(why) {
        return Err(Rejection::SchemaInvalid {
            field: "why".to_owned(),
            expected: "why it takes longer".to_owned(),
        });
    }
    let why = check_text("why", Some(why))?.unwrap_or_default();
    let (parties, stage_ends) = (parties(made), derive::due(&made.terms, stage, waiting));
    let recall_ends = made.recall.as_ref().map(|recall| recall.until);
    let recall_only = due <= stage_ends && recall_ends.is_some_and(|until| until < due);
    if due > stage_ends || recall_only {
        let extended = SlaExtended { parties, stage, due, why, recall_only };
        return Ok(Decision::event(Event::SlaExtended(extended)));
    }
    if due == stage_ends || Some(due) == recall_ends {
        return Ok(Decision::default());
    }
    let ends = recall_ends.map_or(stage_ends, |until| until.min(stage_ends));
    Err(Rejection::SchemaInvalid {
        field: "due".to_owned(),
        expected: format!("a time in the future, after {ends}, when it is overdue now"),
    })
}
